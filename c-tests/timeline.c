#include "timeline.h"

#include "support.h"

// The two parts of a row.
static json part_of(json row, bool second) {
  json item = {0};
  json_next(row, &item);
  if (second) json_next(row, &item);
  return item;
}

// A key with `=` in front of it replaces instead of appending.
static bool replaces(json object) {
  json key, item = {0};
  bool found = false;
  while (json_next_member(object, &key, &item)) found = found || (key.len > 1 && key.data[1] == '=');
  return found;
}

bool timeline_retracts(json timeline) {
  json row = {0};
  while (json_next(timeline, &row)) {
    const json change = part_of(row, true);
    if (replaces(change)) return true;
    json call = {0};
    for (const json calls = json_member(change, "tool_calls"); json_next(calls, &call);)
      if (replaces(call)) return true;
  }
  return false;
}

bool timeline_fails(json timeline) {
  json row = {0};
  while (json_next(timeline, &row))
    if (json_member(part_of(row, true), "error").len > 0) return true;
  return false;
}

typedef struct {
  buffer name, id, arguments;
} call;

// A message as far as it was shown, and the row that comes next.
typedef struct {
  json timeline, row;
  buffer content, reasoning;
  call *calls;
  size_t count;
} view;

static void append(json change, const char *key, buffer *out) { json_text(json_member(change, key), out); }

static void apply(view *view) {
  const json change = part_of(view->row, true);
  append(change, "+content", &view->content);
  append(change, "+reasoning_content", &view->reasoning);
  json item = {0};
  for (const json calls = json_member(change, "tool_calls"); json_next(calls, &item);) {
    const size_t index = json_count(json_member(item, "index"), 0);
    for (; view->count <= index; view->count++) {
      view->calls = realloc(view->calls, (view->count + 1) * sizeof *view->calls);
      CHECK(view->calls != NULL);
      view->calls[view->count] = (call){{0}, {0}, {0}};
    }
    append(item, "+name", &view->calls[index].name);
    append(item, "+id", &view->calls[index].id);
    append(item, "+arguments", &view->calls[index].arguments);
  }
  if (!json_next(view->timeline, &view->row)) view->row = (json){0};
}

static view view_new(json timeline) {
  view view = {timeline, {0}, {0}, {0}, NULL, 0};
  json_next(timeline, &view.row);
  return view;
}

static void view_free(view *view) {
  buffer_free(&view->content);
  buffer_free(&view->reasoning);
  for (size_t i = 0; i < view->count; i++) {
    buffer_free(&view->calls[i].name);
    buffer_free(&view->calls[i].id);
    buffer_free(&view->calls[i].arguments);
  }
  free(view->calls);
}

static bool same_bytes(const buffer *a, const buffer *b) {
  return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

static bool same_view(const view *a, const view *b) {
  bool same = same_bytes(&a->content, &b->content) && same_bytes(&a->reasoning, &b->reasoning) && a->count == b->count;
  for (size_t i = 0; same && i < a->count; i++)
    same = same_bytes(&a->calls[i].name, &b->calls[i].name) && same_bytes(&a->calls[i].id, &b->calls[i].id) &&
           same_bytes(&a->calls[i].arguments, &b->calls[i].arguments);
  return same;
}

static size_t next_at(const view *view) { return json_count(part_of(view->row, false), SIZE_MAX); }

bool timeline_same(json a, json b, size_t *at) {
  view one = view_new(a), other = view_new(b);
  bool same = true;
  while (same && (one.row.len > 0 || other.row.len > 0)) {
    *at = next_at(&one) < next_at(&other) ? next_at(&one) : next_at(&other);
    while (one.row.len > 0 && next_at(&one) == *at) apply(&one);
    while (other.row.len > 0 && next_at(&other) == *at) apply(&other);
    same = same_view(&one, &other);
  }
  view_free(&one);
  view_free(&other);
  return same;
}
