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
