#include "judge.h"

#include "names.h"
#include "space.h"
#include "support.h"
#include "timeline.h"
#include "verdict.h"
#include "words.h"

// Fields of the params that must be equal as values.
static const char *const fields[] = {
    "prompt", "generation_prompt", "format", "grammar_lazy", "grammar_triggers", "additional_stops", "supports_thinking",
    "thinking_start_tag", "thinking_end_tags", "message_delimiters",
};

// What is being compared.
typedef struct scene {
  judge *judge;
  // The scenario's id, and the number of the output; none where it is about all of them.
  chat_str id;
  yyjson_val *expected, *got;
} scene;

static figure *figure_of(judge *judge, const char *field) {
  for (size_t i = 0; i < judge->count; i++)
    if (strcmp(judge->figures[i].field, field) == 0) return &judge->figures[i];
  CHECK(judge->count < MAX_FIELDS);
  judge->figures[judge->count] = (figure){field, 0, 0};
  return &judge->figures[judge->count++];
}

// Whether both answers are to be printed, too.
static bool count(const scene *scene, const char *field, bool right) {
  figure *figure = figure_of(scene->judge, field);
  if (right) figure->right++;
  else figure->wrong++;
  // Texts of grammars mostly differ, and a message that differs is printed as one: both only have a figure.
  if (right || scene->judge->print == PRINT_NOTHING) return false;
  if (strcmp(field, "grammar_text") == 0 || strcmp(field, "white_space") == 0) return false;
  printf("%s: %.*s\n", field, (int)scene->id.len, scene->id.data);
  return scene->judge->print == PRINT_ALL;
}

static void print_value(const char *label, yyjson_val *value) {
  char *text = value != NULL ? yyjson_val_write(value, YYJSON_WRITE_NOFLAG, NULL) : NULL;
  printf("  %s %s\n", label, text != NULL ? text : "none");
  free(text);
}

static void count_values(const scene *scene, const char *field, yyjson_val *expected, yyjson_val *got, bool right) {
  if (!count(scene, field, right)) return;
  print_value("expected:", expected);
  print_value("got:     ", got);
}

// Compares a member of both answers.
static void count_member(const scene *scene, const char *field, const char *name) {
  yyjson_val *expected = yyjson_obj_get(scene->expected, name), *got = yyjson_obj_get(scene->got, name);
  count_values(scene, field, expected, got, yyjson_equals(expected, got));
}

// Compares the answers themselves.
static void count_whole(const scene *scene, const char *field, bool right) {
  count_values(scene, field, scene->expected, scene->got, right);
}

static bool is_there(yyjson_val *object, const char *name) { return yyjson_obj_get(object, name) != NULL; }

static bool has_item(yyjson_val *array, yyjson_val *expected) {
  size_t i, count;
  yyjson_val *item;
  yyjson_arr_foreach(array, i, count, item) {
    if (yyjson_equals(item, expected)) return true;
  }
  return false;
}

static bool has_items(yyjson_val *array, yyjson_val *expected) {
  size_t i, count;
  yyjson_val *item;
  yyjson_arr_foreach(expected, i, count, item) {
    if (!has_item(array, item)) return false;
  }
  return true;
}

static bool same_strings(yyjson_val *a, yyjson_val *b, const char *name) {
  return same_texts(string_at(a, name), string_at(b, name));
}

// Arguments are values where they are JSON; the order of members counts.
static bool same_arguments(chat_str a, chat_str b) {
  if (same_texts(a, b)) return true;
  yyjson_doc *one = read_json(a), *other = read_json(b);
  char *left = yyjson_write(one, YYJSON_WRITE_NOFLAG, NULL), *right = yyjson_write(other, YYJSON_WRITE_NOFLAG, NULL);
  const bool same = left != NULL && right != NULL && strcmp(left, right) == 0;
  free(left);
  free(right);
  yyjson_doc_free(one);
  yyjson_doc_free(other);
  return same;
}

// White space around content and reasoning does not count: whose it is, is a choice.
static bool same_words(yyjson_val *a, yyjson_val *b, const char *name) {
  return same_texts(without_space_around(string_at(a, name)), without_space_around(string_at(b, name)));
}

static bool same_messages(yyjson_val *a, yyjson_val *b) {
  yyjson_val *calls = yyjson_obj_get(a, "tool_calls"), *others = yyjson_obj_get(b, "tool_calls");
  bool same = same_words(a, b, "content") && same_words(a, b, "reasoning_content") &&
              yyjson_arr_size(calls) == yyjson_arr_size(others);
  for (size_t i = 0; same && i < yyjson_arr_size(calls); i++) {
    yyjson_val *call = yyjson_arr_get(calls, i), *other = yyjson_arr_get(others, i);
    same = same_strings(call, other, "name") && same_strings(call, other, "id") &&
           same_arguments(string_at(call, "arguments"), string_at(other, "arguments"));
  }
  return same;
}

static bool same_to_the_byte(yyjson_val *a, yyjson_val *b) {
  return same_messages(a, b) && same_strings(a, b, "content") && same_strings(a, b, "reasoning_content");
}

static void judge_params(const scene *scene) {
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) count_member(scene, fields[i], fields[i]);
  yyjson_val *tokens = yyjson_obj_get(scene->expected, "preserved_tokens"), *ours = yyjson_obj_get(scene->got, "preserved_tokens");
  count_values(scene, "preserved_tokens", tokens, ours, yyjson_is_arr(ours) && has_items(tokens, ours) && has_items(ours, tokens));

  yyjson_val *grammar = yyjson_obj_get(scene->expected, "grammar"), *our_grammar = yyjson_obj_get(scene->got, "grammar");
  const bool present = string_of(grammar).len > 0;
  count_values(scene, "grammar_present", grammar, our_grammar, present == (string_of(our_grammar).len > 0));
  if (present) count_member(scene, "grammar_text", "grammar");
}

// Both grammars say the same of an output that the reference could read. Lazy ones are asked where the output has calls.
static void judge_grammars(const scene *scene, chat_str text, yyjson_val *message) {
  yyjson_val *params[] = {scene->expected, scene->got};
  const chat_str rules[] = {string_at(params[0], "grammar"), string_at(params[1], "grammar")};
  const bool called = yyjson_arr_size(yyjson_obj_get(message, "tool_calls")) > 0;
  if (rules[0].len == 0 || rules[1].len == 0) return;
  if (!called && yyjson_is_true(yyjson_obj_get(params[0], "grammar_lazy"))) return;
  const bool reasoned = string_at(message, "reasoning_content").len > 0;
  buffer verdicts[] = {{0}, {0}};
  bool starts[2];
  for (size_t i = 0; i < 2; i++) {
    buffer part = {0};
    starts[i] = constrained(params[i], text, reasoned, &part);
    if (starts[i]) verdict(rules[i], text_in(&part), &verdicts[i]);
    else buffer_add(&verdicts[i], text_at("no trigger"));
    buffer_free(&part);
  }
  const chat_str expected = text_in(&verdicts[0]), got = text_in(&verdicts[1]);
  if (starts[0] && count(scene, "grammar_verdict", same_texts(expected, got)))
    printf("  expected: %.*s\n  got:      %.*s\n", (int)expected.len, expected.data, (int)got.len, got.data);
  buffer_free(&verdicts[0]);
  buffer_free(&verdicts[1]);
}

// Where the reference never took anything back, no more than a name or a marker may be shown later than there.
static void judge_growth(const scene *scene, yyjson_val *theirs, yyjson_val *ours) {
  if (theirs == NULL || timeline_retracts(theirs) || timeline_fails(theirs)) return;
  size_t at = 0;
  const bool in_time = timeline_in_time(theirs, ours, &scene->judge->behind, &at);
  if (count(scene, "timeline", in_time)) printf("  from byte %zu on\n", at);
}

// An output that the reference could not read must at least be taken. One that differs on purpose must lose no more words.
static void judge_parse(const scene *scene, yyjson_val *output, const struct scene *params) {
  yyjson_val *message = yyjson_obj_get(scene->expected, "message"), *our_message = yyjson_obj_get(scene->got, "message");
  const bool failed = is_there(scene->expected, "error"), taken = our_message != NULL;
  const bool exempt = names_have(&scene->judge->exempt, scene->id);
  const chat_str text = yyjson_is_str(output) ? string_of(output) : string_at(output, "text");
  if (failed) count_whole(scene, "tolerated", taken);
  else if (taken && exempt) count_whole(scene, "on_purpose", words_lost(text, our_message) <= words_lost(text, message));
  else count_whole(scene, "message", taken && same_messages(message, our_message));
  if (!failed && taken && !exempt) count_whole(scene, "white_space", same_to_the_byte(message, our_message));

  yyjson_val *ours = yyjson_obj_get(scene->got, "timeline");
  if (taken && ours != NULL) {
    count_whole(scene, "append_only", !timeline_retracts(ours));
    if (!failed && !exempt) judge_growth(scene, yyjson_obj_get(scene->expected, "timeline"), ours);
  }
  if (taken && !failed && !exempt && !yyjson_is_true(yyjson_obj_get(output, "partial"))) {
    const struct scene both = {scene->judge, scene->id, params->expected, params->got};
    judge_grammars(&both, text, message);
  }
}

static void judge_parses(const scene *scene, yyjson_val *scenario, const struct scene *params) {
  yyjson_val *theirs = yyjson_obj_get(scene->expected, "parses"), *ours = yyjson_obj_get(scene->got, "parses");
  yyjson_val *outputs = yyjson_obj_get(scenario, "outputs");
  for (size_t i = 0; i < yyjson_arr_size(theirs) && i < yyjson_arr_size(outputs); i++) {
    CHECK(i < yyjson_arr_size(ours));
    char number[32];
    snprintf(number, sizeof number, "#%zu", i);
    buffer id = {0};
    buffer_add(&id, scene->id);
    buffer_add(&id, text_at(number));
    const struct scene one = {scene->judge, text_in(&id), yyjson_arr_get(theirs, i), yyjson_arr_get(ours, i)};
    judge_parse(&one, yyjson_arr_get(outputs, i), params);
    buffer_free(&id);
  }
}

void judge_answer(judge *judge, yyjson_val *scenario, yyjson_val *recorded, yyjson_val *answer) {
  const scene scene = {judge, string_at(scenario, "id"), recorded, answer};
  const bool refused = is_there(recorded, "error"), failed = is_there(answer, "error");
  count_whole(&scene, "answered", true);
  if (is_there(scenario, "schema")) {
    if (refused) count_whole(&scene, "schema_refused", failed);
    else count_member(&scene, "schema_text", "grammar");
    return;
  }
  // Where the reference gives up, whatever we do is judged elsewhere.
  if (refused) return;
  count_whole(&scene, "params", !failed);
  if (failed) return;
  const struct scene params = {judge, scene.id, yyjson_obj_get(recorded, "params"), yyjson_obj_get(answer, "params")};
  judge_params(&params);
  yyjson_val *caps = yyjson_obj_get(recorded, "caps");
  if (caps != NULL && !yyjson_is_null(caps)) count_member(&scene, "caps", "caps");
  judge_parses(&scene, scenario, &params);
}

static int by_field(const void *a, const void *b) { return strcmp(((const figure *)a)->field, ((const figure *)b)->field); }

void judge_print(judge *judge) {
  int width = 5;
  size_t right = 0, wrong = 0;
  qsort(judge->figures, judge->count, sizeof *judge->figures, by_field);
  for (size_t i = 0; i < judge->count; i++) {
    const int len = (int)strlen(judge->figures[i].field);
    if (len > width) width = len;
  }
  for (size_t i = 0; i < judge->count; i++) {
    const figure *figure = &judge->figures[i];
    const size_t all = figure->right + figure->wrong;
    printf("%-*s  %6zu / %6zu  %6.2f %%\n", width, figure->field, figure->right, all, 100.0 * (double)figure->right / (double)all);
    right += figure->right;
    wrong += figure->wrong;
  }
  const delay behind = judge->behind;
  if (behind.steps > 0) {
    const double mean = (double)behind.characters / (double)behind.steps;
    printf("characters behind the reference, in the mean of %zu steps: %.2f\n", behind.steps, mean);
  }
  printf("%zu passed, %zu failed\n", right, wrong);
}

double judge_share(const judge *judge, const char *field) {
  for (size_t i = 0; i < judge->count; i++) {
    const figure *figure = &judge->figures[i];
    if (strcmp(figure->field, field) == 0) return 100.0 * (double)figure->right / (double)(figure->right + figure->wrong);
  }
  return 0;
}
