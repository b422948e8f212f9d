#include "json.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 127 };

void buffer_add(buffer *out, const char *data, size_t len) {
  if (len > SIZE_MAX / 4 - out->len) abort();
  if (out->len + len > out->size) {
    out->size = 2 * (out->len + len);
    out->data = realloc(out->data, out->size);
    if (out->data == NULL) abort();
  }
  if (len > 0) memcpy(out->data + out->len, data, len);
  out->len += len;
}

void buffer_print(buffer *out, const char *text) { buffer_add(out, text, strlen(text)); }

void buffer_number(buffer *out, size_t number) {
  char digits[32];
  buffer_add(out, digits, (size_t)snprintf(digits, sizeof digits, "%zu", number));
}

void buffer_free(buffer *out) {
  free(out->data);
  *out = (buffer){0};
}

// What is still to be read. The functions below step over what they are named after, or return false somewhere in it.
typedef struct {
  const char *at, *end;
  unsigned depth;
} reader;

static bool value(reader *in);

static bool next_is(const reader *in, char wanted) { return in->at < in->end && *in->at == wanted; }

static bool byte(reader *in, char wanted) {
  const bool there = next_is(in, wanted);
  if (there) in->at++;
  return there;
}

static bool word(reader *in, const char *wanted) {
  while (*wanted != '\0')
    if (!byte(in, *wanted++)) return false;
  return true;
}

static void blanks(reader *in) {
  while (byte(in, ' ') || byte(in, '\t') || byte(in, '\n') || byte(in, '\r')) continue;
}

static bool digits(reader *in) {
  const char *begin = in->at;
  while (in->at < in->end && *in->at >= '0' && *in->at <= '9') in->at++;
  return in->at > begin;
}

static bool number(reader *in) {
  byte(in, '-');
  if (!byte(in, '0') && !digits(in)) return false;
  if (byte(in, '.') && !digits(in)) return false;
  if (byte(in, 'e') || byte(in, 'E')) {
    if (!byte(in, '+')) byte(in, '-');
    return digits(in);
  }
  return true;
}

static bool hex4(reader *in, uint32_t *unit) {
  *unit = 0;
  for (int i = 0; i < 4; i++, in->at++) {
    if (in->at == in->end) return false;
    const char c = *in->at;
    static const char names[] = "0123456789abcdef0123456789ABCDEF";
    const char *digit = c != '\0' ? strchr(names, c) : NULL;
    if (digit == NULL) return false;
    *unit = *unit << 4 | (uint32_t)((digit - names) & 0xf);
  }
  return true;
}

static void add_utf8(buffer *out, uint32_t c) {
  if (c < 0x80) {
    buffer_add(out, (char[]){(char)c}, 1);
  } else if (c < 0x800) {
    buffer_add(out, (char[]){(char)(0xc0 | c >> 6), (char)(0x80 | (c & 0x3f))}, 2);
  } else if (c < 0x10000) {
    buffer_add(out, (char[]){(char)(0xe0 | c >> 12), (char)(0x80 | (c >> 6 & 0x3f)), (char)(0x80 | (c & 0x3f))}, 3);
  } else {
    const char bytes[] = {(char)(0xf0 | c >> 18), (char)(0x80 | (c >> 12 & 0x3f)), (char)(0x80 | (c >> 6 & 0x3f)),
                          (char)(0x80 | (c & 0x3f))};
    buffer_add(out, bytes, 4);
  }
}

static bool escape(reader *in, buffer *out) {
  static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
  if (byte(in, 'u')) {
    uint32_t c, low;
    if (!hex4(in, &c) || (c >= 0xdc00 && c < 0xe000)) return false;
    if (c >= 0xd800 && c < 0xdc00) {
      if (!word(in, "\\u") || !hex4(in, &low) || low < 0xdc00 || low >= 0xe000) return false;
      c = 0x10000 + ((c - 0xd800) << 10 | (low - 0xdc00));
    }
    if (out != NULL) add_utf8(out, c);
    return true;
  }
  const char *name = in->at < in->end && *in->at != '\0' ? strchr(names, *in->at) : NULL;
  if (name == NULL) return false;
  in->at++;
  if (out != NULL) buffer_add(out, &meanings[name - names], 1);
  return true;
}

// A UTF-8 character beyond ASCII: none that is written too long, no surrogate, none above U+10FFFF.
static bool wide(reader *in) {
  const unsigned char *at = (const unsigned char *)in->at;
  const size_t left = (size_t)(in->end - in->at);
  const size_t len = at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 0;
  if (len == 0 || len > left) return false;
  for (size_t i = 1; i < len; i++)
    if ((at[i] & 0xc0) != 0x80) return false;
  if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f)) return false;
  if ((at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f)) return false;
  in->at += len;
  return true;
}

// Appends the text to `out` unless that is NULL.
static bool string(reader *in, buffer *out) {
  if (!byte(in, '"')) return false;
  while (in->at < in->end && *in->at != '"') {
    const char *begin = in->at;
    const unsigned char c = (unsigned char)*begin;
    if (c < 0x20) return false;
    if (c == '\\') {
      in->at++;
      if (!escape(in, out)) return false;
      continue;
    }
    if (c < 0x80) in->at++;
    else if (!wide(in)) return false;
    if (out != NULL) buffer_add(out, begin, (size_t)(in->at - begin));
  }
  return byte(in, '"');
}

static bool member(reader *in) {
  blanks(in);
  if (!string(in, NULL)) return false;
  blanks(in);
  return byte(in, ':') && value(in);
}

// An array or an object.
static bool list(reader *in, char open, char close, bool (*item)(reader *in)) {
  if (!byte(in, open) || in->depth == MAX_DEPTH) return false;
  in->depth++;
  blanks(in);
  if (!next_is(in, close)) {
    do {
      if (!item(in)) return false;
    } while (byte(in, ','));
  }
  in->depth--;
  return byte(in, close);
}

static bool value(reader *in) {
  blanks(in);
  if (in->at == in->end) return false;
  bool right;
  switch (*in->at) {
    case '{': right = list(in, '{', '}', member); break;
    case '[': right = list(in, '[', ']', value); break;
    case '"': right = string(in, NULL); break;
    case 't': right = word(in, "true"); break;
    case 'f': right = word(in, "false"); break;
    case 'n': right = word(in, "null"); break;
    default: right = number(in);
  }
  blanks(in);
  return right;
}

// The value that the reader is at, without the blanks around it.
static json here(reader *in) {
  blanks(in);
  const char *begin = in->at;
  if (!value(in)) return (json){0};
  const char *end = in->at;
  while (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\n' || end[-1] == '\r') end--;
  return (json){begin, (size_t)(end - begin)};
}

json json_read(const char *text, size_t len) {
  if (len == 0) return (json){0};
  reader in = {text, text + len, 0};
  const json whole = here(&in);
  return in.at == in.end ? whole : (json){0};
}

bool json_next_member(json object, json *name, json *item) {
  if (object.len == 0 || object.data[0] != '{') return false;
  reader in = {object.data + 1, object.data + object.len, 0};
  if (item->len > 0) {
    in.at = item->data + item->len;
    blanks(&in);
    if (!byte(&in, ',')) return false;
  }
  blanks(&in);
  if (next_is(&in, '}')) return false;
  *name = here(&in);
  byte(&in, ':');
  *item = here(&in);
  return true;
}

json json_member(json object, const char *name) {
  json found = {0}, key, item = {0};
  buffer said = {0};
  while (json_next_member(object, &key, &item)) {
    said.len = 0;
    json_text(key, &said);
    if (said.len == strlen(name) && (said.len == 0 || memcmp(said.data, name, said.len) == 0)) found = item;
  }
  buffer_free(&said);
  return found;
}

bool json_next(json array, json *item) {
  if (array.len == 0 || array.data[0] != '[') return false;
  reader in = {array.data + 1, array.data + array.len, 0};
  if (item->len > 0) {
    in.at = item->data + item->len;
    blanks(&in);
    if (!byte(&in, ',')) return false;
  }
  blanks(&in);
  if (next_is(&in, ']')) return false;
  *item = here(&in);
  return true;
}

bool json_is(json value, const char *text) { return value.len == strlen(text) && memcmp(value.data, text, value.len) == 0; }

bool json_text(json value, buffer *out) {
  if (value.len == 0) return false;
  reader in = {value.data, value.data + value.len, 0};
  return string(&in, out);
}

size_t json_count(json value, size_t otherwise) {
  size_t count = 0;
  for (size_t i = 0; i < value.len; i++) {
    const char c = value.data[i];
    if (c < '0' || c > '9' || count > (SIZE_MAX - 9) / 10) return otherwise;
    count = 10 * count + (size_t)(c - '0');
  }
  return value.len > 0 ? count : otherwise;
}

void json_quote(buffer *out, const char *data, size_t len) {
  buffer_add(out, "\"", 1);
  for (size_t i = 0; i < len; i++) {
    const char c = data[i];
    char code[8];
    switch (c) {
      case '"': buffer_print(out, "\\\""); break;
      case '\\': buffer_print(out, "\\\\"); break;
      case '\b': buffer_print(out, "\\b"); break;
      case '\f': buffer_print(out, "\\f"); break;
      case '\n': buffer_print(out, "\\n"); break;
      case '\r': buffer_print(out, "\\r"); break;
      case '\t': buffer_print(out, "\\t"); break;
      default:
        if ((unsigned char)c >= 0x20) {
          buffer_add(out, &c, 1);
        } else {
          snprintf(code, sizeof code, "\\u%04x", (unsigned)(unsigned char)c);
          buffer_print(out, code);
        }
    }
  }
  buffer_add(out, "\"", 1);
}
