// JSON for programs that only pick values out of it: nothing is built, a value is the stretch of text that it takes.
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>

// Text that grows. Start with {0}; `data` is NULL as long as nothing was added.
typedef struct {
  char *data;
  size_t len, size;
} buffer;

void buffer_add(buffer *out, const char *data, size_t len);
void buffer_print(buffer *out, const char *text);
void buffer_number(buffer *out, size_t number);
void buffer_free(buffer *out);

// A value inside a text that somebody else keeps; `len` is 0 where there is none.
typedef struct {
  const char *data;
  size_t len;
} json;

// The only value in the text, checked to the last byte (RFC 8259, UTF-8, whole surrogate pairs, at most 127 levels); none where
// the text is anything else. The functions below take such values and their parts.
json json_read(const char *text, size_t len);

// A member of an object, by a name without escapes; the last one where there are several. None where the value is no object.
json json_member(json object, const char *name);

// Steps through an object: `*item` is none before the first call. False at the end, and where the value is no object.
bool json_next_member(json object, json *name, json *item);

// Steps through an array: `*item` is none before the first call. False at the end, and where the value is no array.
bool json_next(json array, json *item);

// Whether the value is written so, e.g. `true`.
bool json_is(json value, const char *text);

// Appends what a string says, without quotes and escapes. False where the value is no string.
bool json_text(json value, buffer *out);

// Appends the value so that equal values have equal texts, whatever their blanks, escapes and ways to write a number; with
// `sorted`, whatever the order of members, too. False where there is no value. The text is for comparing only.
bool json_canon(json value, bool sorted, buffer *out);

// A whole number that is not negative; `otherwise` where the value is none, or too large.
size_t json_count(json value, size_t otherwise);

// Appends a text, which must be UTF-8, as a JSON string.
void json_quote(buffer *out, const char *data, size_t len);

#endif
