#include "timeline.h"

#include "space.h"
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

// How many characters a stream may be behind: a number, a name or a marker may wait until it is certain.
enum { BEHIND = 32 };

// How many characters were shown, the row that comes next, and the rows behind that.
typedef struct {
  size_t shown;
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

static size_t shown_in(yyjson_val *object, const char *name) { return count_without_space(string_at(object, name)); }

// Goes on to what is shown after `at` bytes.
static void apply_until(view *view, size_t at) {
  for (; view->row != NULL && next_at(view) <= at; view->row = yyjson_arr_iter_next(&view->rows)) {
    yyjson_val *change = change_of(view->row), *call;
    view->shown += shown_in(change, "+content") + shown_in(change, "+reasoning_content");
    size_t i, count;
    yyjson_arr_foreach(yyjson_obj_get(change, "tool_calls"), i, count, call) {
      view->shown += shown_in(call, "+name") + shown_in(call, "+arguments");
    }
  }
}

bool timeline_in_time(yyjson_val *reference, yyjson_val *timeline, delay *behind, size_t *at) {
  view theirs = view_new(reference), ours = view_new(timeline);
  bool in_time = true;
  while (theirs.row != NULL || ours.row != NULL) {
    const size_t step = next_at(&theirs) < next_at(&ours) ? next_at(&theirs) : next_at(&ours);
    apply_until(&theirs, step);
    apply_until(&ours, step);
    const size_t late = theirs.shown > ours.shown ? theirs.shown - ours.shown : 0;
    behind->characters += late;
    behind->steps++;
    if (in_time && late > BEHIND) {
      in_time = false;
      *at = step;
    }
  }
  return in_time;
}
