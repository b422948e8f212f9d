#include "text.h"

#include "support.h"

void buffer_add(buffer *out, chat_str text) {
  if (text.len == 0) return;
  CHECK(text.len <= SIZE_MAX / 4 - out->len);
  if (out->len + text.len > out->size) {
    out->size = 2 * (out->len + text.len);
    out->data = realloc(out->data, out->size);
    CHECK(out->data != NULL);
  }
  memcpy(out->data + out->len, text.data, text.len);
  out->len += text.len;
}

void buffer_free(buffer *out) {
  free(out->data);
  *out = (buffer){0};
}

known_template *known_of(known_template **list, buffer key) {
  for (known_template *entry = *list; entry != NULL; entry = entry->next) {
    if (!same_texts(text_in(&entry->key), text_in(&key))) continue;
    buffer_free(&key);
    return entry;
  }
  known_template *entry = calloc(1, sizeof *entry);
  CHECK(entry != NULL);
  *entry = (known_template){.key = key, .next = *list};
  return *list = entry;
}

void known_free(known_template *list) {
  while (list != NULL) {
    known_template *next = list->next;
    buffer_free(&list->key);
    buffer_free(&list->why);
    chat_template_free(list->chat);
    free(list);
    list = next;
  }
}

bool read_line(FILE *file, buffer *line) {
  int c;
  do {
    bool blank = true;
    line->len = 0;
    while ((c = getc(file)) != EOF && c != '\n') {
      const char byte = (char)c;
      blank = blank && (c == ' ' || c == '\t' || c == '\r');
      buffer_add(line, (chat_str){&byte, 1});
    }
    if (!blank) return true;
  } while (c != EOF);
  CHECK(!ferror(file));
  return false;
}

bool read_file(const char *path, buffer *out) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return false;
  char bytes[4096];
  size_t n;
  while ((n = fread(bytes, 1, sizeof bytes, file)) > 0) buffer_add(out, (chat_str){bytes, n});
  const bool read = !ferror(file);
  fclose(file);
  return read;
}

yyjson_doc *read_json(chat_str text) { return yyjson_read(text.data, text.len, YYJSON_READ_BIGNUM_AS_RAW); }
