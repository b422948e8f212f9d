// What an answer is made of is in `chatparse replay --help`.
#include "answer.h"

#include "parts.h"
#include "support.h"

static yyjson_mut_val *string(yyjson_mut_doc *doc, chat_str text) {
  yyjson_mut_val *value = yyjson_mut_strncpy(doc, text.len > 0 ? text.data : "", text.len);
  CHECK(value != NULL);
  return value;
}

// JSON that the library wrote, as it is.
static yyjson_mut_val *raw(yyjson_mut_doc *doc, chat_str json) {
  yyjson_mut_val *value = yyjson_mut_rawncpy(doc, json.data, json.len);
  CHECK(value != NULL);
  return value;
}

static void put(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, yyjson_mut_val *value) {
  CHECK(yyjson_mut_obj_add_val(doc, object, name, value));
}

// Whether a call was a success. If not, `why` is the sentence that the library has for it.
static bool done(chat_status status, chat_error **error, buffer *why) {
  if (status == CHAT_STATUS_OK) return true;
  buffer_add(why, chat_error_message(*error));
  chat_error_free(*error);
  *error = NULL;
  return false;
}

static bool source_of(const answerer *answers, yyjson_val *scenario, buffer *source, buffer *why) {
  yyjson_val *text = yyjson_obj_get(scenario, "template_source"), *name = yyjson_obj_get(scenario, "template");
  if (yyjson_is_str(text)) {
    buffer_add(source, string_of(text));
    return true;
  }
  if (!yyjson_is_str(name)) {
    buffer_add(why, text_at("the scenario names no template"));
    return false;
  }
  buffer path = {0};
  if (answers->dir != NULL) buffer_add(&path, text_at(answers->dir));
  buffer_add(&path, string_of(name));
  buffer_add(&path, (chat_str){"", 1});
  const bool read = read_file(path.data, source);
  if (!read) {
    buffer_add(why, text_at(path.data));
    buffer_add(why, text_at(": cannot be read"));
  }
  buffer_free(&path);
  return read;
}

// NULL where there is none, and why.
static const chat_template *template_of(answerer *answers, yyjson_val *scenario, buffer *why) {
  // The source and the texts of its tokens, with a NUL between them.
  buffer key = {0};
  if (!source_of(answers, scenario, &key, why)) {
    buffer_free(&key);
    return NULL;
  }
  const size_t source = key.len;
  const chat_str bos = string_at(scenario, "bos"), eos = string_at(scenario, "eos");
  buffer_add(&key, (chat_str){"", 1});
  buffer_add(&key, bos);
  buffer_add(&key, (chat_str){"", 1});
  buffer_add(&key, eos);
  known_template *entry = known_of(&answers->templates, key);
  if (entry->chat == NULL && entry->why.len == 0) {
    chat_error *error = NULL;
    const chat_status status = chat_template_new(entry->key.data, source, bos.data, bos.len, eos.data, eos.len, &entry->chat, &error);
    done(status, &error, &entry->why);
  }
  buffer_add(why, text_in(&entry->why));
  return entry->chat;
}

static bool in_call(chat_delta_kind kind) { return kind != CHAT_DELTA_KIND_REASONING && kind != CHAT_DELTA_KIND_CONTENT; }

static const char *key_of(chat_delta_kind kind) {
  switch (kind) {
    case CHAT_DELTA_KIND_REASONING: return "+reasoning_content";
    case CHAT_DELTA_KIND_CONTENT: return "+content";
    case CHAT_DELTA_KIND_TOOL_NAME: return "+name";
    case CHAT_DELTA_KIND_TOOL_ID: return "+id";
    default: CHECK(kind == CHAT_DELTA_KIND_TOOL_ARGUMENTS);
  }
  return "+arguments";
}

// The object of a call in a row of the timeline; appended where there is none.
static yyjson_mut_val *call_in(yyjson_mut_doc *doc, yyjson_mut_val *change, size_t index) {
  yyjson_mut_val *calls = yyjson_mut_obj_get(change, "tool_calls"), *call;
  if (calls == NULL) put(doc, change, "tool_calls", calls = yyjson_mut_arr(doc));
  size_t i, count;
  yyjson_mut_arr_foreach(calls, i, count, call) {
    if (yyjson_mut_get_uint(yyjson_mut_obj_get(call, "index")) == index) return call;
  }
  call = yyjson_mut_arr_add_obj(doc, calls);
  put(doc, call, "index", yyjson_mut_uint(doc, index));
  return call;
}

static void add_delta(yyjson_mut_doc *doc, yyjson_mut_val *change, const chat_delta *delta) {
  yyjson_mut_val *object = in_call(delta->kind) ? call_in(doc, change, delta->call) : change;
  yyjson_mut_val *before = yyjson_mut_obj_get(object, key_of(delta->kind));
  if (before == NULL) {
    put(doc, object, key_of(delta->kind), string(doc, delta->text));
    return;
  }
  buffer text = {0};
  buffer_add(&text, (chat_str){yyjson_mut_get_str(before), yyjson_mut_get_len(before)});
  buffer_add(&text, delta->text);
  yyjson_mut_val *joined = string(doc, text_in(&text));
  yyjson_mut_set_strn(before, yyjson_mut_get_str(joined), text.len);
  buffer_free(&text);
}

// What the deltas of the last feed or finish change. `sum` has those of all the output.
static yyjson_mut_val *take(yyjson_mut_doc *doc, const chat_stream *stream, parts *sum) {
  yyjson_mut_val *change = yyjson_mut_obj(doc);
  const size_t count = chat_stream_view(stream)->deltas.len;
  for (size_t i = 0; i < count; i++) {
    const chat_delta delta = chat_stream_view(stream)->deltas.data[i];
    if (delta.kind == CHAT_DELTA_KIND_TOOL_END) continue; // says nothing that the recorded rows could hold
    parts_add(sum, delta.kind, delta.call, delta.text);
    add_delta(doc, change, &delta);
  }
  return change;
}

// Feeds the text in steps, no character in two, and notes what each adds. The step that makes a whole output whole is not noted.
static yyjson_mut_val *feed(yyjson_mut_doc *doc, chat_stream *stream, chat_str text, bool partial, size_t step, parts *sum) {
  yyjson_mut_val *timeline = yyjson_mut_arr(doc);
  size_t fed = 0, goal = 0;
  while (fed < text.len) {
    goal = step < text.len - goal ? goal + step : text.len;
    size_t end = goal;
    while (end < text.len && ((unsigned char)text.data[end] & 0xc0) == 0x80) end--;
    if (end == fed) continue;
    OK(chat_stream_feed(stream, text.data + fed, end - fed, &error));
    fed = end;
    yyjson_mut_val *change = take(doc, stream, sum);
    if (yyjson_mut_obj_size(change) == 0 || (!partial && goal == text.len)) continue;
    yyjson_mut_val *row = yyjson_mut_arr_add_arr(doc, timeline);
    CHECK(yyjson_mut_arr_add_uint(doc, row, fed) && yyjson_mut_arr_append(row, change));
  }
  return timeline;
}

static void check_part(const buffer *part, chat_str text) { CHECK(same_texts(text_in(part), text)); }

// The deltas put together are the message, and the one-call parse gives it too.
static void check_message(const chat_params *params, chat_str text, bool partial, const parts *sum, const chat_message *message) {
  check_part(&sum->reasoning, chat_message_view(message)->reasoning);
  check_part(&sum->content, chat_message_view(message)->content);
  CHECK(chat_message_view(message)->calls.len == sum->count);
  for (size_t i = 0; i < sum->count; i++) {
    check_part(&sum->calls[i].name, chat_message_view(message)->calls.data[i].name);
    check_part(&sum->calls[i].id, chat_message_view(message)->calls.data[i].id);
    check_part(&sum->calls[i].arguments, chat_message_view(message)->calls.data[i].arguments);
  }

  chat_message *parsed = NULL;
  chat_str streamed, at_once;
  OK(chat_parse_partial(params, text.data, text.len, partial ? CHAT_PARSE_PARTIAL : 0, &parsed, &error));
  OK(chat_message_json(message, &streamed, &error));
  OK(chat_message_json(parsed, &at_once, &error));
  CHECK(same_texts(at_once, streamed) && chat_message_view(parsed)->outcome == chat_message_view(message)->outcome);
  chat_message_free(parsed);
}

static const char *outcome_name(chat_outcome outcome) {
  switch (outcome) {
    case CHAT_OUTCOME_COMPLETE: return "complete";
    case CHAT_OUTCOME_PARTIAL: return "partial";
    default: CHECK(outcome == CHAT_OUTCOME_RECOVERED);
  }
  return "recovered";
}

static yyjson_mut_val *message_of(yyjson_mut_doc *doc, const chat_message *message) {
  yyjson_mut_val *object = yyjson_mut_obj(doc), *calls = yyjson_mut_arr(doc);
  put(doc, object, "content", string(doc, chat_message_view(message)->content));
  put(doc, object, "reasoning_content", string(doc, chat_message_view(message)->reasoning));
  put(doc, object, "tool_calls", calls);
  for (size_t i = 0; i < chat_message_view(message)->calls.len; i++) {
    yyjson_mut_val *call = yyjson_mut_arr_add_obj(doc, calls);
    put(doc, call, "name", string(doc, chat_message_view(message)->calls.data[i].name));
    put(doc, call, "arguments", string(doc, chat_message_view(message)->calls.data[i].arguments));
    put(doc, call, "id", string(doc, chat_message_view(message)->calls.data[i].id));
  }
  return object;
}

static yyjson_mut_val *parse_of(yyjson_mut_doc *doc, const chat_params *params, yyjson_val *output, bool with_timeline,
                                bool strict) {
  const chat_str text = yyjson_is_str(output) ? string_of(output) : string_at(output, "text");
  const bool partial = yyjson_is_true(yyjson_obj_get(output, "partial"));
  const size_t step = (size_t)yyjson_get_uint(yyjson_obj_get(output, "step"));

  yyjson_mut_val *object = yyjson_mut_obj(doc);
  chat_stream *stream = NULL;
  chat_error *error = NULL;
  buffer why = {0};
  parts sum = {0};
  OK(chat_stream_new(params, &stream, &error));
  yyjson_mut_val *timeline = feed(doc, stream, text, partial, step > 0 ? step : 1, &sum);
  const uint32_t flags = (partial ? CHAT_PARSE_PARTIAL : 0) | (strict ? CHAT_PARSE_STRICT : 0);
  const chat_status status = chat_stream_finish(stream, flags, &error);
  CHECK(status == CHAT_STATUS_OK || (strict && status == CHAT_STATUS_PARSE));
  take(doc, stream, &sum);

  chat_message *message = NULL;
  OK(chat_stream_message(stream, &message, &error));
  CHECK(chat_message_view(message)->outcome == chat_stream_view(stream)->outcome);
  check_message(params, text, partial, &sum, message);
  if (done(status, &error, &why)) {
    put(doc, object, "message", message_of(doc, message));
    put(doc, object, "status", yyjson_mut_str(doc, outcome_name(chat_message_view(message)->outcome)));
    if (with_timeline) put(doc, object, "timeline", timeline);
  } else {
    put(doc, object, "error", string(doc, text_in(&why)));
  }

  chat_message_free(message);
  chat_stream_free(stream);
  parts_free(&sum);
  buffer_free(&why);
  return object;
}

static void check_text(yyjson_val *all, const char *name, chat_str text) {
  yyjson_val *value = yyjson_obj_get(all, name);
  CHECK(yyjson_is_str(value) && same_texts(string_of(value), text));
}

// Params have some fields on their own, too.
static void check_params(const chat_params *params, yyjson_val *all) {
  chat_grammar *grammar = NULL;
  OK(chat_params_grammar(params, CHAT_DIALECT_GBNF, &grammar, &error));
  check_text(all, "grammar", chat_grammar_view(grammar)->text);
  chat_grammar_free(grammar);
  check_text(all, "prompt", chat_params_view(params)->prompt);
  check_text(all, "generation_prompt", chat_params_view(params)->generation_prompt);
  yyjson_val *lazy = yyjson_obj_get(all, "grammar_lazy"), *triggers = yyjson_obj_get(all, "grammar_triggers"), *item;
  CHECK(yyjson_is_bool(lazy) && yyjson_get_bool(lazy) == chat_params_view(params)->grammar_lazy);

  CHECK(yyjson_is_arr(triggers) && yyjson_arr_size(triggers) == chat_params_view(params)->grammar_triggers.len);
  size_t i, count;
  yyjson_arr_foreach(triggers, i, count, item) {
    const chat_trigger trigger = chat_params_view(params)->grammar_triggers.data[i];
    check_text(item, "type", text_at(trigger.kind == CHAT_TRIGGER_KIND_WORD ? "word" : "pattern"));
    check_text(item, "value", trigger.value);
  }
}

// The params as JSON; `*read` is what they say.
static chat_str params_json(const chat_params *params, yyjson_doc **read) {
  chat_str text;
  OK(chat_params_json(params, &text, &error));
  *read = read_json(text);
  CHECK(*read != NULL);
  return text;
}

// What the template can do, and whether a plain request shows that it knows reasoning.
static bool add_caps(yyjson_mut_doc *doc, yyjson_mut_val *object, const chat_template *chat, buffer *why) {
  static const char plain[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"test\"}],\"reasoning_format\":\"deepseek\"}";
  chat_params *params = NULL;
  chat_error *error = NULL;
  chat_str caps;
  OK(chat_template_report(chat, CHAT_REPORT_CAPS, &caps, &error));
  if (!done(chat_params_from_template(chat, TEXT(plain), &params, &error), &error, why)) return false;
  yyjson_doc *all;
  params_json(params, &all);
  yyjson_val *thinking = yyjson_obj_get(yyjson_doc_get_root(all), "supports_thinking");
  CHECK(yyjson_is_bool(thinking));
  put(doc, object, "caps", raw(doc, caps));
  put(doc, object, "supports_enable_thinking", yyjson_mut_bool(doc, yyjson_get_bool(thinking)));
  yyjson_doc_free(all);
  chat_params_free(params);
  return true;
}

static void add_parses(yyjson_mut_doc *doc, yyjson_mut_val *object, const chat_params *params, yyjson_val *scenario) {
  yyjson_val *outputs = yyjson_obj_get(scenario, "outputs"), *output;
  if (!yyjson_is_arr(outputs)) return;
  const bool timeline = !yyjson_is_false(yyjson_obj_get(scenario, "timeline"));
  const bool strict = yyjson_is_true(yyjson_obj_get(scenario, "strict"));
  yyjson_mut_val *parses = yyjson_mut_arr(doc);
  put(doc, object, "parses", parses);
  size_t i, count;
  yyjson_arr_foreach(outputs, i, count, output) {
    CHECK(yyjson_mut_arr_append(parses, parse_of(doc, params, output, timeline, strict)));
  }
}

// A part of a scenario as JSON text, which is the caller's.
static char *written(yyjson_val *value, size_t *len) {
  char *text = yyjson_val_write(value, YYJSON_WRITE_NOFLAG, len);
  CHECK(text != NULL);
  return text;
}

static bool add_params(yyjson_mut_doc *doc, yyjson_mut_val *object, const chat_template *chat, yyjson_val *scenario,
                       buffer *why) {
  yyjson_val *request = yyjson_obj_get(scenario, "request");
  // A field that a recorded request does not have means what it means to llama.cpp, but for one.
  char options[128];
  const bool recorded = !yyjson_equals_str(yyjson_obj_get(scenario, "defaults"), "library");
  snprintf(options, sizeof options, "{\"plain\":%s%s%s%s}", yyjson_is_true(yyjson_obj_get(scenario, "plain")) ? "true" : "false",
           recorded ? ",\"compat\":\"llama.cpp\"" : "",
           recorded && yyjson_obj_get(request, "opening_again") == NULL ? ",\"opening_again\":\"marker\"" : "",
           yyjson_is_true(yyjson_obj_get(scenario, "faithful")) ? ",\"grammar_style\":\"faithful\"" : "");
  size_t len = 0;
  char *text = request != NULL ? written(request, &len) : NULL;
  const chat_str body = text != NULL ? (chat_str){text, len} : text_at("null");
  chat_params *params = NULL;
  chat_error *error = NULL;
  const chat_status status =
      chat_params_from_template_with(chat, body.data, body.len, options, strlen(options), &params, &error);
  free(text);
  if (!done(status, &error, why)) return false;

  yyjson_doc *all;
  put(doc, object, "params", raw(doc, params_json(params, &all)));
  check_params(params, yyjson_doc_get_root(all));
  yyjson_doc_free(all);
  const bool fine = !yyjson_is_true(yyjson_obj_get(scenario, "want_caps")) || add_caps(doc, object, chat, why);
  if (fine) add_parses(doc, object, params, scenario);
  chat_params_free(params);
  return fine;
}

static bool add_grammar(yyjson_mut_doc *doc, yyjson_mut_val *object, yyjson_val *schema, bool faithful, buffer *why) {
  const chat_grammar_style style = faithful ? CHAT_GRAMMAR_STYLE_FAITHFUL : CHAT_GRAMMAR_STYLE_LLAMA_CPP;
  chat_grammar *grammar = NULL;
  chat_error *error = NULL;
  size_t len;
  char *text = written(schema, &len);
  const chat_status status = chat_grammar_from_json_schema(text, len, style, &grammar, &error);
  free(text);
  if (!done(status, &error, why)) return false;
  put(doc, object, "grammar", string(doc, chat_grammar_view(grammar)->text));
  chat_grammar_free(grammar);
  return true;
}

static bool add_fields(yyjson_mut_doc *doc, yyjson_mut_val *object, answerer *answers, yyjson_val *scenario, buffer *why) {
  yyjson_val *schema = yyjson_obj_get(scenario, "schema");
  if (schema != NULL) return add_grammar(doc, object, schema, yyjson_is_true(yyjson_obj_get(scenario, "faithful")), why);
  const chat_template *chat = template_of(answers, scenario, why);
  return chat != NULL && add_params(doc, object, chat, scenario, why);
}

static yyjson_mut_val *with_id(yyjson_mut_doc *doc, yyjson_val *scenario) {
  yyjson_mut_val *object = yyjson_mut_obj(doc);
  yyjson_val *id = yyjson_obj_get(scenario, "id");
  put(doc, object, "id", id != NULL ? yyjson_val_mut_copy(doc, id) : yyjson_mut_null(doc));
  return object;
}

char *answer(answerer *answers, yyjson_val *scenario, size_t *len) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
  CHECK(doc != NULL);
  buffer why = {0};
  yyjson_mut_val *object = with_id(doc, scenario);
  if (!add_fields(doc, object, answers, scenario, &why)) {
    object = with_id(doc, scenario);
    put(doc, object, "error", string(doc, text_in(&why)));
  }
  buffer_free(&why);
  char *text = yyjson_mut_val_write(object, YYJSON_WRITE_NOFLAG, len);
  CHECK(text != NULL);
  yyjson_mut_doc_free(doc);
  return text;
}

void answerer_free(answerer *answers) { known_free(answers->templates); }
