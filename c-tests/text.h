// Texts, and JSON as yyjson reads it.
#ifndef TEXT_H
#define TEXT_H

#include <stdio.h>
#include <string.h>

#include <chatparse.h>
#include <yyjson.h>

// Text that grows. Start with {0}; `data` is NULL as long as nothing was added.
typedef struct {
  char *data;
  size_t len, size;
} buffer;

void buffer_add(buffer *out, chat_str text);
void buffer_free(buffer *out);

// A template, which is compiled once for all that share it. `key` says where it is from, `why` why there is none.
typedef struct known_template {
  buffer key, why;
  chat_template *chat;
  struct known_template *next;
} known_template;

// The entry of this key, which moves into the list; a new one has neither a template nor a reason.
known_template *known_of(known_template **list, buffer key);
void known_free(known_template *list);

static inline chat_str text_at(const char *text) { return (chat_str){text, strlen(text)}; }

static inline chat_str text_in(const buffer *buffer) { return (chat_str){buffer->data, buffer->len}; }

static inline bool same_texts(chat_str a, chat_str b) {
  return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

// The next line that is not blank, without its line feed.
bool read_line(FILE *file, buffer *line);

// Appends the bytes of a file; false where it cannot be read.
bool read_file(const char *path, buffer *out);

// The JSON value that the text is, with numbers that are too large as they are written; NULL where it is none.
yyjson_doc *read_json(chat_str text);

// What a string says; empty where the value is none.
static inline chat_str string_of(yyjson_val *value) {
  return yyjson_is_str(value) ? (chat_str){yyjson_get_str(value), yyjson_get_len(value)} : (chat_str){NULL, 0};
}

static inline chat_str string_at(yyjson_val *object, const char *name) { return string_of(yyjson_obj_get(object, name)); }

#endif
