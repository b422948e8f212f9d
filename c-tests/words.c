#include "words.h"

#include "support.h"

typedef struct {
  json *items;
  size_t count;
} words;

static bool in_word(unsigned char c) {
  return c >= 0x80 || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int by_bytes(const void *a, const void *b) {
  const json *one = a, *other = b;
  const int order = memcmp(one->data, other->data, one->len < other->len ? one->len : other->len);
  if (order != 0) return order;
  return (one->len > other->len) - (one->len < other->len);
}

// In order of their bytes.
static words words_of(const buffer *text) {
  // No text has more words than it has bytes.
  words found = {calloc(text->len + 1, sizeof *found.items), 0};
  CHECK(found.items != NULL);
  for (size_t i = 0; i < text->len;) {
    const size_t start = i;
    while (i < text->len && in_word((unsigned char)text->data[i])) i++;
    if (i > start) found.items[found.count++] = (json){text->data + start, i - start};
    else i++;
  }
  qsort(found.items, found.count, sizeof *found.items, by_bytes);
  return found;
}

static void add_part(json object, const char *name, buffer *out) {
  json_text(json_member(object, name), out);
  buffer_print(out, " ");
}

size_t words_lost(const buffer *text, json message) {
  buffer kept = {0};
  add_part(message, "content", &kept);
  add_part(message, "reasoning_content", &kept);
  json call = {0};
  for (const json calls = json_member(message, "tool_calls"); json_next(calls, &call);) {
    add_part(call, "name", &kept);
    add_part(call, "id", &kept);
    add_part(call, "arguments", &kept);
  }
  const words wanted = words_of(text), have = words_of(&kept);
  size_t lost = 0, at = 0;
  for (size_t i = 0; i < wanted.count; i++) {
    while (at < have.count && by_bytes(&have.items[at], &wanted.items[i]) < 0) at++;
    if (at < have.count && by_bytes(&have.items[at], &wanted.items[i]) == 0) at++;
    else lost++;
  }
  free(wanted.items);
  free(have.items);
  buffer_free(&kept);
  return lost;
}
