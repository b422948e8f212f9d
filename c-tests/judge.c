#include "judge.h"

#include "names.h"
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
  buffer id;
  json wanted, got;
} scene;

static figure *figure_of(judge *judge, const char *field) {
  for (size_t i = 0; i < judge->count; i++)
    if (strcmp(judge->figures[i].field, field) == 0) return &judge->figures[i];
  CHECK(judge->count < MAX_FIELDS);
  judge->figures[judge->count] = (figure){field, 0, 0};
  return &judge->figures[judge->count++];
}

static void count(const scene *scene, const char *field, bool right) {
  figure *figure = figure_of(scene->judge, field);
  if (right) figure->right++;
  else figure->wrong++;
  // Whose text is another is the rule for grammars: what they allow is judged by itself.
  if (right || scene->judge->tell == TELL_NOTHING || strcmp(field, "grammar_text") == 0) return;
  printf("%s: %.*s\n", field, (int)scene->id.len, scene->id.data);
  if (scene->judge->tell == TELL_ALL)
    printf("  wanted: %.*s\n  got:    %.*s\n", (int)scene->wanted.len, scene->wanted.data, (int)scene->got.len, scene->got.data);
}

// The same of a pair inside the pair that is being compared.
static void count_inner(const scene *outer, const char *field, json wanted, json got, bool right) {
  const scene inner = {outer->judge, outer->id, wanted, got};
  count(&inner, field, right);
}

static bool is_there(json object, const char *name) { return json_member(object, name).len > 0; }

static bool same_buffers(const buffer *a, const buffer *b) {
  return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

static bool same_values(json a, json b) {
  buffer one = {0}, other = {0};
  const bool same = json_canon(a, true, &one) && json_canon(b, true, &other) && same_buffers(&one, &other);
  buffer_free(&one);
  buffer_free(&other);
  return same;
}

static bool has_item(json array, json wanted) {
  json item = {0};
  while (json_next(array, &item))
    if (same_values(item, wanted)) return true;
  return false;
}

static bool has_items(json array, json wanted) {
  json item = {0};
  while (json_next(wanted, &item))
    if (!has_item(array, item)) return false;
  return true;
}

// Empty where there is none, as in the reference.
static void text_of(json object, const char *name, buffer *out) { json_text(json_member(object, name), out); }

static void add_text(json object, const char *name, buffer *out) {
  buffer text = {0};
  text_of(object, name, &text);
  json_quote(out, text.data, text.len);
  buffer_free(&text);
}

// A message as text, so that equal ones are equal. Arguments are values where they are JSON.
static void add_message(json message, buffer *out) {
  add_text(message, "content", out);
  add_text(message, "reasoning_content", out);
  json call = {0};
  for (const json calls = json_member(message, "tool_calls"); json_next(calls, &call);) {
    buffer arguments = {0};
    buffer_print(out, "\n");
    add_text(call, "name", out);
    add_text(call, "id", out);
    text_of(call, "arguments", &arguments);
    if (!json_canon(json_read(arguments.data, arguments.len), false, out)) buffer_add(out, arguments.data, arguments.len);
    buffer_free(&arguments);
  }
}

static bool same_messages(json a, json b) {
  buffer one = {0}, other = {0};
  add_message(a, &one);
  add_message(b, &other);
  const bool same = same_buffers(&one, &other);
  buffer_free(&one);
  buffer_free(&other);
  return same;
}

static void judge_params(const scene *scene) {
  const json wanted = scene->wanted, got = scene->got;
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    const json want = json_member(wanted, fields[i]), have = json_member(got, fields[i]);
    count_inner(scene, fields[i], want, have, same_values(want, have));
  }
  const json want = json_member(wanted, "preserved_tokens"), have = json_member(got, "preserved_tokens");
  count_inner(scene, "preserved_tokens", want, have, has_items(want, have) && has_items(have, want));

  const json rules = json_member(wanted, "grammar"), ours = json_member(got, "grammar");
  count_inner(scene, "grammar_present", rules, ours, json_is(rules, "\"\"") == json_is(ours, "\"\""));
  if (!json_is(rules, "\"\"")) count_inner(scene, "grammar_text", rules, ours, same_values(rules, ours));
}

// Both grammars say the same of an output that the reference could read. Lazy ones are asked where the output has calls.
static void judge_grammars(const scene *scene, const buffer *text, json message) {
  const json params[] = {scene->wanted, scene->got};
  buffer rules[] = {{0}, {0}}, parts[] = {{0}, {0}}, verdicts[] = {{0}, {0}};
  const bool reasoned = !json_is(json_member(message, "reasoning_content"), "\"\"");
  const bool called = !json_is(json_member(message, "tool_calls"), "[]");
  for (size_t i = 0; i < 2; i++) text_of(params[i], "grammar", &rules[i]);
  if (rules[0].len > 0 && rules[1].len > 0 && (called || json_is(json_member(params[0], "grammar_lazy"), "false"))) {
    bool starts[2];
    for (size_t i = 0; i < 2; i++) {
      starts[i] = constrained(params[i], text, reasoned, &parts[i]);
      if (starts[i]) verdict(&rules[i], &parts[i], &verdicts[i]);
      else buffer_print(&verdicts[i], "no trigger");
    }
    const json said[] = {{verdicts[0].data, verdicts[0].len}, {verdicts[1].data, verdicts[1].len}};
    if (starts[0]) count_inner(scene, "grammar_verdict", said[0], said[1], same_buffers(&verdicts[0], &verdicts[1]));
  }
  for (size_t i = 0; i < 2; i++) {
    buffer_free(&rules[i]);
    buffer_free(&parts[i]);
    buffer_free(&verdicts[i]);
  }
}

// How the message grows is compared where the reference never took anything back.
static void judge_growth(const scene *scene, json theirs, json ours) {
  if (theirs.len == 0 || timeline_retracts(theirs) || timeline_fails(theirs)) return;
  size_t at = 0;
  const bool same = timeline_same(theirs, ours, &at);
  count(scene, "timeline", same);
  if (!same && scene->judge->tell == TELL_ALL) printf("  from byte %zu on\n", at);
}

// An output that the reference could not read must at least be taken. One that differs on purpose must lose no more words.
static void judge_parse(const scene *scene, json output, json params, json our_params) {
  const json wanted = scene->wanted, got = scene->got;
  const json message = json_member(wanted, "message"), our_message = json_member(got, "message");
  const bool failed = is_there(wanted, "error"), taken = our_message.len > 0;
  const bool exempt = names_have(&scene->judge->exempt, &scene->id);
  buffer text = {0};
  if (!json_text(output, &text)) text_of(output, "text", &text);
  if (failed) count(scene, "tolerated", taken);
  else if (taken && exempt) count(scene, "on_purpose", words_lost(&text, our_message) <= words_lost(&text, message));
  else count(scene, "message", taken && same_messages(message, our_message));

  const json ours = json_member(got, "timeline");
  if (taken && ours.len > 0) {
    count(scene, "append_only", !timeline_retracts(ours));
    if (!failed && !exempt) judge_growth(scene, json_member(wanted, "timeline"), ours);
  }
  const struct scene both = {scene->judge, scene->id, params, our_params};
  if (taken && !failed && !exempt && !json_is(json_member(output, "partial"), "true")) judge_grammars(&both, &text, message);
  buffer_free(&text);
}

static void judge_parses(const scene *scene, json scenario) {
  const json theirs = json_member(scene->wanted, "parses"), ours = json_member(scene->got, "parses");
  const json params = json_member(scene->wanted, "params"), our_params = json_member(scene->got, "params");
  json wanted = {0}, got = {0}, output = {0};
  const json outputs = json_member(scenario, "outputs");
  for (size_t i = 0; json_next(theirs, &wanted) && json_next(outputs, &output); i++) {
    CHECK(json_next(ours, &got));
    struct scene one = {scene->judge, {0}, wanted, got};
    buffer_add(&one.id, scene->id.data, scene->id.len);
    buffer_print(&one.id, "#");
    buffer_number(&one.id, i);
    judge_parse(&one, output, params, our_params);
    buffer_free(&one.id);
  }
}

static void judge_scene(const scene *scene, json scenario) {
  const json wanted = scene->wanted, got = scene->got;
  const bool refused = is_there(wanted, "error"), failed = is_there(got, "error");
  count(scene, "answered", got.len > 0);
  if (is_there(scenario, "schema")) {
    if (refused) count(scene, "schema_refused", failed);
    else count(scene, "schema_text", same_values(json_member(wanted, "grammar"), json_member(got, "grammar")));
    return;
  }
  // Where the reference gives up, whatever we do is judged elsewhere.
  if (refused) return;
  count(scene, "params", !failed);
  if (failed) return;
  const struct scene params = {scene->judge, scene->id, json_member(wanted, "params"), json_member(got, "params")};
  judge_params(&params);
  const json caps = json_member(wanted, "caps"), our_caps = json_member(got, "caps");
  if (caps.len > 0 && !json_is(caps, "null")) count_inner(scene, "caps", caps, our_caps, same_values(caps, our_caps));
  judge_parses(scene, scenario);
}

void judge_answer(judge *judge, json scenario, json recorded, json answer) {
  struct scene scene = {judge, {0}, recorded, answer};
  text_of(scenario, "id", &scene.id);
  judge_scene(&scene, scenario);
  buffer_free(&scene.id);
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
  printf("%zu passed, %zu failed\n", right, wrong);
}

double judge_share(const judge *judge, const char *field) {
  for (size_t i = 0; i < judge->count; i++) {
    const figure *figure = &judge->figures[i];
    if (strcmp(figure->field, field) == 0) return 100.0 * (double)figure->right / (double)(figure->right + figure->wrong);
  }
  return 0;
}
