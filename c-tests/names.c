#include "names.h"

#include "support.h"

// How a name stands in the list: a line feed in front, a tab behind.
static void add_name(buffer *names, chat_str name) {
  buffer_add(names, text_at("\n"));
  buffer_add(names, name);
  buffer_add(names, text_at("\t"));
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
    if (tab != NULL) add_name(names, (chat_str){line.data, (size_t)(tab - line.data)});
  }
  buffer_free(&line);
  fclose(file);
  return true;
}

bool names_have(const buffer *names, chat_str name) {
  buffer entry = {0};
  add_name(&entry, name);
  bool found = false;
  for (size_t i = 0; !found && i + entry.len <= names->len; i++)
    found = names->data[i] == '\n' && memcmp(names->data + i, entry.data, entry.len) == 0;
  buffer_free(&entry);
  return found;
}
