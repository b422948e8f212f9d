#include "timeline.h"

#include "parts.h"
#include "support.h"

static yyjson_val *change_of(yyjson_val *row) { return yyjson_arr_get(row, 1); }

// A key with `=` in front of it replaces instead of appending.
static bool replaces(yyjson_val *object) {
  size_t i, count;
  yyjson_val *key, *value;
  yyjson_obj_foreach(object, i, count, key, value) {
    if (yyjson_get_str(key)[0] == '=') return true;
  }
  return false;
}

bool timeline_retracts(yyjson_val *timeline) {
  size_t i, rows, j, calls;
  yyjson_val *row, *call;
  yyjson_arr_foreach(timeline, i, rows, row) {
    if (replaces(change_of(row))) return true;
    yyjson_arr_foreach(yyjson_obj_get(change_of(row), "tool_calls"), j, calls, call) {
      if (replaces(call)) return true;
    }
  }
  return false;
}

bool timeline_fails(yyjson_val *timeline) {
  size_t i, rows;
  yyjson_val *row;
  yyjson_arr_foreach(timeline, i, rows, row) {
    if (yyjson_obj_get(change_of(row), "error") != NULL) return true;
  }
  return false;
}

// A message as far as it was shown, the row that comes next, and the rows behind that.
typedef struct {
  parts shown;
  yyjson_val *row;
  yyjson_arr_iter rows;
} view;

static view view_new(yyjson_val *timeline) {
  view view = {.rows = yyjson_arr_iter_with(timeline)};
  view.row = yyjson_arr_iter_next(&view.rows);
  return view;
}

static size_t next_at(const view *view) {
  return view->row == NULL ? SIZE_MAX : (size_t)yyjson_get_uint(yyjson_arr_get_first(view->row));
}

static void apply(view *view) {
  yyjson_val *change = change_of(view->row), *call;
  parts_add(&view->shown, CHAT_DELTA_KIND_CONTENT, 0, string_at(change, "+content"));
  parts_add(&view->shown, CHAT_DELTA_KIND_REASONING, 0, string_at(change, "+reasoning_content"));
  size_t i, count;
  yyjson_arr_foreach(yyjson_obj_get(change, "tool_calls"), i, count, call) {
    const size_t index = (size_t)yyjson_get_uint(yyjson_obj_get(call, "index"));
    parts_add(&view->shown, CHAT_DELTA_KIND_TOOL_NAME, index, string_at(call, "+name"));
    parts_add(&view->shown, CHAT_DELTA_KIND_TOOL_ID, index, string_at(call, "+id"));
    parts_add(&view->shown, CHAT_DELTA_KIND_TOOL_ARGUMENTS, index, string_at(call, "+arguments"));
  }
  view->row = yyjson_arr_iter_next(&view->rows);
}

bool timeline_same(yyjson_val *a, yyjson_val *b, size_t *at) {
  view one = view_new(a), other = view_new(b);
  bool same = true;
  while (same && (one.row != NULL || other.row != NULL)) {
    *at = next_at(&one) < next_at(&other) ? next_at(&one) : next_at(&other);
    while (one.row != NULL && next_at(&one) == *at) apply(&one);
    while (other.row != NULL && next_at(&other) == *at) apply(&other);
    same = parts_equal(&one.shown, &other.shown);
  }
  parts_free(&one.shown);
  parts_free(&other.shown);
  return same;
}
