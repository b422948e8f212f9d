// Nothing is decided here: what the answer is made of is told by `chatparse replay --help`.
#include "answer.h"

#include "support.h"

static bool same(chat_str text, const char *data, size_t len) {
  return text.len == len && (len == 0 || memcmp(text.data, data, len) == 0);
}

static bool equal(const buffer *a, const buffer *b) { return same((chat_str){a->data, a->len}, b->data, b->len); }

static void quote(buffer *out, chat_str text) { json_quote(out, text.data, text.len); }

static void print_text(buffer *out, chat_str text) { buffer_add(out, text.data, text.len); }

// Whether a call was a success. If not, `why` is the sentence that the library has for it.
static bool done(chat_status status, chat_error **error, buffer *why) {
  if (status == CHAT_STATUS_OK) return true;
  print_text(why, chat_error_message(*error));
  chat_error_free(*error);
  *error = NULL;
  return false;
}

// Templates are compiled once for all scenarios that share them.
struct known_template {
  buffer source, bos, eos;
  chat_template *chat;
  // Why there is no template.
  buffer why;
  known_template *next;
};

static void known_free(known_template *entry) {
  buffer_free(&entry->source);
  buffer_free(&entry->bos);
  buffer_free(&entry->eos);
  buffer_free(&entry->why);
  chat_template_free(entry->chat);
  free(entry);
}

static bool read_file(const char *path, buffer *out) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return false;
  char bytes[4096];
  size_t n;
  while ((n = fread(bytes, 1, sizeof bytes, file)) > 0) buffer_add(out, bytes, n);
  const bool read = !ferror(file);
  fclose(file);
  return read;
}

static bool source_of(const answerer *answers, json scenario, buffer *source, buffer *why) {
  if (json_text(json_member(scenario, "template_source"), source)) return true;
  buffer path = {0};
  if (answers->dir != NULL) buffer_print(&path, answers->dir);
  const bool named = json_text(json_member(scenario, "template"), &path);
  buffer_add(&path, "", 1);
  const bool read = named && read_file(path.data, source);
  if (!named) {
    buffer_print(why, "the scenario names no template");
  } else if (!read) {
    buffer_print(why, path.data);
    buffer_print(why, ": cannot be read");
  }
  buffer_free(&path);
  return read;
}

// NULL where there is none, and why.
static const chat_template *template_of(answerer *answers, json scenario, buffer *why) {
  known_template *wanted = calloc(1, sizeof *wanted);
  CHECK(wanted != NULL);
  if (!source_of(answers, scenario, &wanted->source, why)) {
    known_free(wanted);
    return NULL;
  }
  json_text(json_member(scenario, "bos"), &wanted->bos);
  json_text(json_member(scenario, "eos"), &wanted->eos);
  known_template *entry = answers->templates;
  while (entry != NULL && !(equal(&entry->source, &wanted->source) && equal(&entry->bos, &wanted->bos) &&
                            equal(&entry->eos, &wanted->eos)))
    entry = entry->next;
  if (entry != NULL) {
    known_free(wanted);
  } else {
    entry = wanted;
    entry->next = answers->templates;
    answers->templates = entry;
    chat_error *error = NULL;
    const buffer *source = &entry->source, *bos = &entry->bos, *eos = &entry->eos;
    const chat_status status =
        chat_template_new(source->data, source->len, bos->data, bos->len, eos->data, eos->len, &entry->chat, &error);
    done(status, &error, &entry->why);
  }
  buffer_add(why, entry->why.data, entry->why.len);
  return entry->chat;
}

// What deltas add up to: a text for each part of the message, in the order in which they appeared.
typedef struct {
  chat_delta_kind kind;
  size_t call;
  buffer text;
} piece;

typedef struct {
  piece *pieces;
  size_t count;
} row;

static piece *row_find(const row *row, chat_delta_kind kind, size_t call) {
  for (size_t i = row->count; i-- > 0;)
    if (row->pieces[i].kind == kind && row->pieces[i].call == call) return &row->pieces[i];
  return NULL;
}

static void row_append(row *row, const chat_delta *delta) {
  if (delta->kind == CHAT_DELTA_KIND_TOOL_END) return; // says nothing that the recorded rows could hold
  piece *piece = row_find(row, delta->kind, delta->call);
  if (piece == NULL) {
    row->pieces = realloc(row->pieces, (row->count + 1) * sizeof *row->pieces);
    CHECK(row->pieces != NULL);
    piece = &row->pieces[row->count++];
    piece->kind = delta->kind;
    piece->call = delta->call;
    piece->text = (buffer){0};
  }
  print_text(&piece->text, delta->text);
}

static void row_free(row *row) {
  for (size_t i = 0; i < row->count; i++) buffer_free(&row->pieces[i].text);
  free(row->pieces);
  row->pieces = NULL;
  row->count = 0;
}

static bool in_call(const piece *piece) {
  return piece->kind != CHAT_DELTA_KIND_REASONING && piece->kind != CHAT_DELTA_KIND_CONTENT;
}

static const char *key_of(chat_delta_kind kind) {
  switch (kind) {
    case CHAT_DELTA_KIND_REASONING: return "+reasoning_content";
    case CHAT_DELTA_KIND_CONTENT: return "+content";
    case CHAT_DELTA_KIND_TOOL_NAME: return "+name";
    case CHAT_DELTA_KIND_TOOL_ID: return "+id";
    case CHAT_DELTA_KIND_TOOL_ARGUMENTS: return "+arguments";
    case CHAT_DELTA_KIND_TOOL_END: break; // row_append leaves it out
  }
  CHECK(!"a kind of delta with a text");
  return "";
}

static void print_piece(buffer *out, const piece *piece) {
  buffer_print(out, "\"");
  buffer_print(out, key_of(piece->kind));
  buffer_print(out, "\":");
  json_quote(out, piece->text.data, piece->text.len);
}

static bool first_of_its_call(const row *row, size_t index) {
  for (size_t i = 0; i < index; i++)
    if (in_call(&row->pieces[i]) && row->pieces[i].call == row->pieces[index].call) return false;
  return true;
}

static void print_calls(buffer *out, const row *row) {
  const char *comma = "";
  buffer_print(out, "\"tool_calls\":[");
  for (size_t i = 0; i < row->count; i++) {
    const size_t call = row->pieces[i].call;
    if (!in_call(&row->pieces[i]) || !first_of_its_call(row, i)) continue;
    buffer_print(out, comma);
    buffer_print(out, "{\"index\":");
    buffer_number(out, call);
    for (size_t j = i; j < row->count; j++) {
      if (!in_call(&row->pieces[j]) || row->pieces[j].call != call) continue;
      buffer_print(out, ",");
      print_piece(out, &row->pieces[j]);
    }
    buffer_print(out, "}");
    comma = ",";
  }
  buffer_print(out, "]");
}

static void print_row(buffer *out, size_t fed, const row *row) {
  bool calls = false;
  const char *comma = "";
  buffer_print(out, "[");
  buffer_number(out, fed);
  buffer_print(out, ",{");
  for (size_t i = 0; i < row->count; i++) {
    if (in_call(&row->pieces[i]) && calls) continue;
    buffer_print(out, comma);
    comma = ",";
    if (in_call(&row->pieces[i])) {
      print_calls(out, row);
      calls = true;
    } else {
      print_piece(out, &row->pieces[i]);
    }
  }
  buffer_print(out, "}]");
}

// The deltas of the last feed or finish. `sum` has those of all the output.
static void take(const chat_stream *stream, row *added, row *sum) {
  const size_t count = chat_stream_delta_count(stream);
  for (size_t i = 0; i < count; i++) {
    chat_delta delta;
    OK(chat_stream_delta(stream, i, &delta, &error));
    row_append(added, &delta);
    row_append(sum, &delta);
  }
}

// Feeds the text in steps, no character in two, and notes what each adds. The step that makes a whole output whole is not noted.
static void feed(chat_stream *stream, const buffer *text, bool partial, size_t step, row *sum, buffer *timeline) {
  const char *comma = "";
  size_t fed = 0, goal = 0;
  while (fed < text->len) {
    goal = step < text->len - goal ? goal + step : text->len;
    size_t end = goal;
    while (end < text->len && ((unsigned char)text->data[end] & 0xc0) == 0x80) end--;
    if (end == fed) continue;
    OK(chat_stream_feed(stream, text->data + fed, end - fed, &error));
    fed = end;
    row added = {0};
    take(stream, &added, sum);
    if (added.count > 0 && (partial || goal < text->len)) {
      buffer_print(timeline, comma);
      comma = ",";
      print_row(timeline, fed, &added);
    }
    row_free(&added);
  }
}

static void check_part(const row *sum, chat_delta_kind kind, size_t call, chat_str text) {
  const piece *piece = row_find(sum, kind, call);
  CHECK(piece == NULL ? text.len == 0 : same(text, piece->text.data, piece->text.len));
}

// The deltas put together are the message, and the one-call parse gives it too.
static void check_message(const chat_params *params, const buffer *text, bool partial, const row *sum,
                          const chat_message *message) {
  check_part(sum, CHAT_DELTA_KIND_REASONING, 0, chat_message_reasoning(message));
  check_part(sum, CHAT_DELTA_KIND_CONTENT, 0, chat_message_content(message));
  const size_t calls = chat_message_tool_call_count(message);
  for (size_t i = 0; i < calls; i++) {
    CHECK(row_find(sum, CHAT_DELTA_KIND_TOOL_NAME, i) != NULL);
    check_part(sum, CHAT_DELTA_KIND_TOOL_NAME, i, chat_message_tool_call_name(message, i));
    check_part(sum, CHAT_DELTA_KIND_TOOL_ID, i, chat_message_tool_call_id(message, i));
    check_part(sum, CHAT_DELTA_KIND_TOOL_ARGUMENTS, i, chat_message_tool_call_arguments(message, i));
  }
  for (size_t i = 0; i < sum->count; i++) CHECK(!in_call(&sum->pieces[i]) || sum->pieces[i].call < calls);

  chat_message *parsed = NULL;
  chat_str streamed, at_once;
  OK(chat_parse_partial(params, text->data, text->len, partial ? CHAT_PARSE_PARTIAL : 0, &parsed, &error));
  OK(chat_message_json(message, &streamed, &error));
  OK(chat_message_json(parsed, &at_once, &error));
  CHECK(same(at_once, streamed.data, streamed.len) && chat_message_outcome(parsed) == chat_message_outcome(message));
  chat_message_free(parsed);
}

static const char *outcome_name(chat_outcome outcome) {
  switch (outcome) {
    case CHAT_OUTCOME_COMPLETE: return "complete";
    case CHAT_OUTCOME_PARTIAL: return "partial";
    case CHAT_OUTCOME_RECOVERED: return "recovered";
  }
  CHECK(!"an outcome that a message can have");
  return "";
}

static void print_message(buffer *out, const chat_message *message) {
  buffer_print(out, "{\"message\":{\"content\":");
  quote(out, chat_message_content(message));
  buffer_print(out, ",\"reasoning_content\":");
  quote(out, chat_message_reasoning(message));
  buffer_print(out, ",\"tool_calls\":[");
  for (size_t i = 0; i < chat_message_tool_call_count(message); i++) {
    buffer_print(out, i > 0 ? ",{\"name\":" : "{\"name\":");
    quote(out, chat_message_tool_call_name(message, i));
    buffer_print(out, ",\"arguments\":");
    quote(out, chat_message_tool_call_arguments(message, i));
    buffer_print(out, ",\"id\":");
    quote(out, chat_message_tool_call_id(message, i));
    buffer_print(out, "}");
  }
  buffer_print(out, "]},\"status\":\"");
  buffer_print(out, outcome_name(chat_message_outcome(message)));
  buffer_print(out, "\"");
}

static void print_error(buffer *out, const buffer *why) {
  buffer_print(out, "\"error\":");
  json_quote(out, why->data, why->len);
  buffer_print(out, "}");
}

static void print_parse(buffer *out, const chat_params *params, json output, bool with_timeline, bool strict) {
  buffer text = {0}, timeline = {0}, why = {0};
  if (!json_text(output, &text)) json_text(json_member(output, "text"), &text);
  const bool partial = json_is(json_member(output, "partial"), "true");
  const size_t step = json_count(json_member(output, "step"), 1);

  chat_stream *stream = NULL;
  chat_error *error = NULL;
  row sum = {0}, last = {0};
  OK(chat_stream_new(params, &stream, &error));
  feed(stream, &text, partial, step > 0 ? step : 1, &sum, &timeline);
  const uint32_t flags = (partial ? CHAT_PARSE_PARTIAL : 0) | (strict ? CHAT_PARSE_STRICT : 0);
  const chat_status status = chat_stream_finish(stream, flags, &error);
  CHECK(status == CHAT_STATUS_OK || (strict && status == CHAT_STATUS_PARSE));
  take(stream, &last, &sum);

  chat_message *message = NULL;
  OK(chat_stream_message(stream, &message, &error));
  CHECK(chat_message_outcome(message) == chat_stream_outcome(stream));
  check_message(params, &text, partial, &sum, message);
  if (done(status, &error, &why)) {
    print_message(out, message);
    if (with_timeline) {
      buffer_print(out, ",\"timeline\":[");
      buffer_add(out, timeline.data, timeline.len);
      buffer_print(out, "]");
    }
    buffer_print(out, "}");
  } else {
    buffer_print(out, "{");
    print_error(out, &why);
  }

  chat_message_free(message);
  chat_stream_free(stream);
  row_free(&last);
  row_free(&sum);
  buffer_free(&why);
  buffer_free(&timeline);
  buffer_free(&text);
}

static void check_text(json all, const char *name, chat_str text) {
  buffer said = {0};
  CHECK(json_text(json_member(all, name), &said) && same(text, said.data, said.len));
  buffer_free(&said);
}

// Params have some fields on their own, too.
static void check_params(const chat_params *params, json all) {
  chat_grammar *grammar = NULL;
  OK(chat_params_grammar(params, &grammar, &error));
  check_text(all, "grammar", chat_grammar_text(grammar));
  chat_grammar_free(grammar);
  check_text(all, "prompt", chat_params_prompt(params));
  check_text(all, "generation_prompt", chat_params_generation_prompt(params));
  CHECK(json_is(json_member(all, "grammar_lazy"), chat_params_grammar_lazy(params) ? "true" : "false"));

  json item = {0};
  size_t count = 0;
  for (const json triggers = json_member(all, "grammar_triggers"); json_next(triggers, &item); count++) {
    chat_trigger trigger;
    OK(chat_params_grammar_trigger(params, count, &trigger, &error));
    CHECK(json_is(json_member(item, "type"), trigger.kind == CHAT_TRIGGER_KIND_WORD ? "\"word\"" : "\"pattern\""));
    check_text(item, "value", trigger.value);
  }
  CHECK(count == chat_params_grammar_trigger_count(params));
}

static json params_json(const chat_params *params) {
  chat_str text;
  OK(chat_params_json(params, &text, &error));
  const json all = json_read(text.data, text.len);
  CHECK(all.len == text.len);
  return all;
}

// What the template can do, and whether a plain request shows that it knows reasoning.
static bool print_caps(buffer *out, const chat_template *chat, buffer *why) {
  static const char plain[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"test\"}],\"reasoning_format\":\"deepseek\"}";
  chat_params *params = NULL;
  chat_error *error = NULL;
  chat_str caps;
  OK(chat_template_caps_json(chat, &caps, &error));
  if (!done(chat_params_from_template(chat, TEXT(plain), &params, &error), &error, why)) return false;
  const json thinking = json_member(params_json(params), "supports_thinking");
  buffer_print(out, ",\"caps\":");
  print_text(out, caps);
  buffer_print(out, ",\"supports_enable_thinking\":");
  buffer_add(out, thinking.data, thinking.len);
  chat_params_free(params);
  return true;
}

// The fields of an answer, each with a comma in front.
static bool print_params(buffer *out, const chat_template *chat, json scenario, buffer *why) {
  json request = json_member(scenario, "request");
  if (request.len == 0) request = json_read(TEXT("null"));
  // A field that a recorded request does not have means what it means to llama.cpp.
  buffer options = {0};
  buffer_print(&options, "{\"plain\":");
  buffer_print(&options, json_is(json_member(scenario, "plain"), "true") ? "true" : "false");
  if (!json_is(json_member(scenario, "faithful"), "true")) buffer_print(&options, ",\"grammar_style\":\"llama.cpp\"");
  if (json_member(request, "reasoning_format").len == 0) buffer_print(&options, ",\"reasoning_format\":\"none\"");
  buffer_print(&options, "}");
  chat_params *params = NULL;
  chat_error *error = NULL;
  const chat_status status = chat_params_from_template_with(chat, request.data, request.len, options.data, options.len,
                                                            &params, &error);
  const bool made = done(status, &error, why);
  buffer_free(&options);
  if (!made) return false;

  const json all = params_json(params);
  check_params(params, all);
  buffer_print(out, ",\"params\":");
  buffer_add(out, all.data, all.len);
  const bool fine = !json_is(json_member(scenario, "want_caps"), "true") || print_caps(out, chat, why);
  const json outputs = json_member(scenario, "outputs");
  if (fine && outputs.len > 0 && outputs.data[0] == '[') {
    const bool timeline = !json_is(json_member(scenario, "timeline"), "false");
    const bool strict = json_is(json_member(scenario, "strict"), "true");
    const char *comma = "";
    json output = {0};
    buffer_print(out, ",\"parses\":[");
    while (json_next(outputs, &output)) {
      buffer_print(out, comma);
      comma = ",";
      print_parse(out, params, output, timeline, strict);
    }
    buffer_print(out, "]");
  }
  chat_params_free(params);
  return fine;
}

static bool print_grammar(buffer *out, json schema, bool faithful, buffer *why) {
  const chat_grammar_style style = faithful ? CHAT_GRAMMAR_STYLE_FAITHFUL : CHAT_GRAMMAR_STYLE_LLAMA_CPP;
  chat_grammar *grammar = NULL;
  chat_error *error = NULL;
  const chat_status status = chat_grammar_from_json_schema_with(schema.data, schema.len, style, &grammar, &error);
  if (!done(status, &error, why)) return false;
  buffer_print(out, ",\"grammar\":");
  quote(out, chat_grammar_text(grammar));
  chat_grammar_free(grammar);
  return true;
}

static bool print_fields(buffer *out, answerer *answers, json scenario, buffer *why) {
  if (scenario.len == 0) {
    buffer_print(why, "not a scenario");
    return false;
  }
  const json schema = json_member(scenario, "schema");
  if (schema.len > 0) return print_grammar(out, schema, json_is(json_member(scenario, "faithful"), "true"), why);
  const chat_template *chat = template_of(answers, scenario, why);
  return chat != NULL && print_params(out, chat, scenario, why);
}

void answer(answerer *answers, json scenario, buffer *out) {
  buffer why = {0}, id = {0};
  const json name = json_member(scenario, "id");
  buffer_print(out, "{\"id\":");
  if (json_text(name, &id)) json_quote(out, id.data, id.len);
  else if (name.len > 0) buffer_add(out, name.data, name.len);
  else buffer_print(out, "null");
  buffer_free(&id);

  const size_t begin = out->len;
  if (print_fields(out, answers, scenario, &why)) {
    buffer_print(out, "}");
  } else {
    out->len = begin;
    buffer_print(out, ",");
    print_error(out, &why);
  }
  buffer_free(&why);
}

void answerer_free(answerer *answers) {
  while (answers->templates != NULL) {
    known_template *entry = answers->templates;
    answers->templates = entry->next;
    known_free(entry);
  }
}
