#include "names.h"

#include "support.h"

bool read_line(FILE *file, buffer *line) {
  int c;
  do {
    bool blank = true;
    line->len = 0;
    while ((c = getc(file)) != EOF && c != '\n') {
      const char byte = (char)c;
      blank = blank && (c == ' ' || c == '\t' || c == '\r');
      buffer_add(line, &byte, 1);
    }
    if (!blank) return true;
  } while (c != EOF);
  CHECK(!ferror(file));
  return false;
}

// How a name stands in the list: a line feed in front, a tab behind.
static void add_name(buffer *names, const char *name, size_t len) {
  buffer_print(names, "\n");
  buffer_add(names, name, len);
  buffer_print(names, "\t");
}

bool names_read(buffer *names, const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    return false;
  }
  buffer line = {0};
  while (read_line(file, &line)) {
    const char *tab = memchr(line.data, '\t', line.len);
    if (tab != NULL) add_name(names, line.data, (size_t)(tab - line.data));
  }
  buffer_free(&line);
  fclose(file);
  return true;
}

bool names_have(const buffer *names, const buffer *name) {
  buffer entry = {0};
  add_name(&entry, name->data, name->len);
  bool found = false;
  for (size_t i = 0; !found && i + entry.len <= names->len; i++)
    found = names->data[i] == '\n' && memcmp(names->data + i, entry.data, entry.len) == 0;
  buffer_free(&entry);
  return found;
}
