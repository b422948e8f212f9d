#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

typedef struct {
  buffer name;
  json item;
} entry;

static int by_name(const void *a, const void *b) {
  const buffer *left = &((const entry *)a)->name, *right = &((const entry *)b)->name;
  const int order = memcmp(left->data, right->data, left->len < right->len ? left->len : right->len);
  return order != 0 ? order : (left->len > right->len) - (left->len < right->len);
}

// Of members with one name the last one counts, in the place of the first.
static void object(json value, bool sorted, buffer *out) {
  entry *entries = NULL;
  size_t count = 0;
  json key, item = {0};
  while (json_next_member(value, &key, &item)) {
    entries = realloc(entries, (count + 1) * sizeof *entries);
    if (entries == NULL) abort();
    entry *added = &entries[count];
    *added = (entry){{0}, item};
    json_canon(key, sorted, &added->name);
    size_t i = 0;
    while (by_name(&entries[i], added) != 0) i++;
    if (i < count) {
      entries[i].item = item;
      buffer_free(&added->name);
    } else {
      count++;
    }
  }
  if (sorted && count > 0) qsort(entries, count, sizeof *entries, by_name);
  buffer_print(out, "{");
  for (size_t i = 0; i < count; i++) {
    if (i > 0) buffer_print(out, ",");
    buffer_add(out, entries[i].name.data, entries[i].name.len);
    buffer_print(out, ":");
    json_canon(entries[i].item, sorted, out);
    buffer_free(&entries[i].name);
  }
  buffer_print(out, "}");
  free(entries);
}

static void array(json value, bool sorted, buffer *out) {
  const char *comma = "";
  json item = {0};
  buffer_print(out, "[");
  while (json_next(value, &item)) {
    buffer_print(out, comma);
    comma = ",";
    json_canon(item, sorted, out);
  }
  buffer_print(out, "]");
}

// Whole numbers of any length are themselves; the others are what they are as a double.
static void number(json value, buffer *out) {
  bool whole = true;
  for (size_t i = 0; i < value.len; i++) whole = whole && strchr(".eE", value.data[i]) == NULL;
  if (json_is(value, "-0")) {
    buffer_print(out, "0");
  } else if (whole) {
    buffer_add(out, value.data, value.len);
  } else {
    buffer text = {0};
    buffer_add(&text, value.data, value.len);
    buffer_add(&text, "", 1);
    char digits[48];
    const int len = snprintf(digits, sizeof digits, "%.17g as a double", strtod(text.data, NULL));
    buffer_add(out, digits, (size_t)len);
    buffer_free(&text);
  }
}

bool json_canon(json value, bool sorted, buffer *out) {
  if (value.len == 0) return false;
  buffer text = {0};
  switch (value.data[0]) {
    case '{': object(value, sorted, out); break;
    case '[': array(value, sorted, out); break;
    case '"':
      json_text(value, &text);
      json_quote(out, text.data, text.len);
      buffer_free(&text);
      break;
    case 't':
    case 'f':
    case 'n': buffer_add(out, value.data, value.len); break;
    default: number(value, out);
  }
  return true;
}
