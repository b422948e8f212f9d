#include "words.h"

#include "pattern.h"
#include "support.h"

typedef struct {
  chat_str *items;
  size_t count;
} words;

static int by_bytes(const void *a, const void *b) {
  const chat_str *one = a, *other = b;
  const int order = memcmp(one->data, other->data, one->len < other->len ? one->len : other->len);
  if (order != 0) return order;
  return (one->len > other->len) - (one->len < other->len);
}

// In order of their bytes.
static words words_of(const pcre2_code *word, chat_str text) {
  // No text has more words than it has bytes.
  words found = {calloc(text.len + 1, sizeof *found.items), 0};
  CHECK(found.items != NULL);
  chat_span at = {0, 0};
  while (pattern_find(word, text, at.end, &at)) found.items[found.count++] = (chat_str){text.data + at.begin, at.end - at.begin};
  qsort(found.items, found.count, sizeof *found.items, by_bytes);
  return found;
}

static void add_part(yyjson_val *object, const char *name, buffer *out) {
  buffer_add(out, string_at(object, name));
  buffer_add(out, text_at(" "));
}

size_t words_lost(chat_str text, yyjson_val *message) {
  buffer kept = {0};
  add_part(message, "content", &kept);
  add_part(message, "reasoning_content", &kept);
  size_t i, count;
  yyjson_val *call;
  yyjson_arr_foreach(yyjson_obj_get(message, "tool_calls"), i, count, call) {
    add_part(call, "name", &kept);
    add_part(call, "id", &kept);
    add_part(call, "arguments", &kept);
  }
  pcre2_code *word = pattern_new(text_at("\\w+"), 0);
  const words expected = words_of(word, text), have = words_of(word, text_in(&kept));
  size_t lost = 0, at = 0;
  for (i = 0; i < expected.count; i++) {
    while (at < have.count && by_bytes(&have.items[at], &expected.items[i]) < 0) at++;
    if (at < have.count && by_bytes(&have.items[at], &expected.items[i]) == 0) at++;
    else lost++;
  }
  pcre2_code_free(word);
  free(expected.items);
  free(have.items);
  buffer_free(&kept);
  return lost;
}
