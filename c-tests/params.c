// Params: each accessor, and that the JSON of all of them says the same.
#include "support.h"

// JSON text, written from what the accessors say.
typedef struct {
  char *text;
  size_t len;
} writer;

static void put(writer *out, const char *text, size_t len) {
  out->text = realloc(out->text, out->len + len + 1);
  CHECK(out->text != NULL);
  memcpy(out->text + out->len, text, len);
  out->len += len;
  out->text[out->len] = '\0';
}

static void raw(writer *out, const char *text) { put(out, text, strlen(text)); }

static void quoted(writer *out, chat_str text) {
  raw(out, "\"");
  for (size_t i = 0; i < text.len; i++) {
    const char c = text.data[i];
    if (c == '\n') {
      raw(out, "\\n");
    } else if (c == '\t') {
      raw(out, "\\t");
    } else {
      CHECK((unsigned char)c >= ' ');
      if (c == '"' || c == '\\') raw(out, "\\");
      put(out, &c, 1);
    }
  }
  raw(out, "\"");
}

static void list(writer *out, const char *field, chat_str_list texts) {
  raw(out, ",\"");
  raw(out, field);
  raw(out, "\":[");
  for (size_t i = 0; i < texts.len; i++) {
    if (i > 0) raw(out, ",");
    quoted(out, texts.data[i]);
  }
  raw(out, "]");
}

static void field(writer *out, const char *name, chat_str text) {
  raw(out, name);
  quoted(out, text);
}

static const char *truth(bool value) { return value ? "true" : "false"; }

static void grammar(writer *out, const chat_params *params) {
  chat_grammar *grammar = NULL;
  OK(chat_params_grammar(params, CHAT_DIALECT_GBNF, &grammar, &error));
  field(out, ",\"grammar\":", chat_grammar_view(grammar)->text);
  raw(out, ",\"grammar_lazy\":");
  raw(out, truth(chat_params_view(params)->grammar_lazy));
  raw(out, ",\"grammar_triggers\":[");
  const size_t triggers = chat_params_view(params)->grammar_triggers.len;
  for (size_t i = 0; i < triggers; i++) {
    const chat_trigger trigger = chat_params_view(params)->grammar_triggers.data[i];
    CHECK(trigger.kind == CHAT_TRIGGER_KIND_WORD || trigger.kind == CHAT_TRIGGER_KIND_PATTERN);
    raw(out, i > 0 ? ",{\"type\":" : "{\"type\":");
    raw(out, trigger.kind == CHAT_TRIGGER_KIND_WORD ? "\"word\"" : "\"pattern\"");
    field(out, ",\"value\":", trigger.value);
    raw(out, "}");
  }
  raw(out, "],\"grammar_report\":[");
  for (size_t i = 0; i < chat_grammar_view(grammar)->report.len; i++) {
    const chat_fidelity entry = chat_grammar_view(grammar)->report.data[i];
    raw(out, i > 0 ? "," : "");
    field(out, "{\"schema\":", entry.schema);
    field(out, ",\"pointer\":", entry.pointer);
    raw(out, entry.kind == CHAT_FIDELITY_KIND_REFUSED    ? ",\"kind\":\"refused\""
             : entry.kind == CHAT_FIDELITY_KIND_NARROWED ? ",\"kind\":\"narrowed\""
                                                         : ",\"kind\":\"widened\"");
    field(out, ",\"message\":", entry.message);
    raw(out, "}");
  }
  raw(out, "]");
  chat_grammar_free(grammar);
}

// The JSON object that the accessors make up is the one that the library writes, but for fields that it may have behind them.
static void agree(const chat_params *params) {
  writer out = {NULL, 0};
  chat_str json, again;
  field(&out, "{\"prompt\":", chat_params_view(params)->prompt);
  field(&out, ",\"generation_prompt\":", chat_params_view(params)->generation_prompt);
  field(&out, ",\"format\":", chat_params_view(params)->format);
  grammar(&out, params);
  list(&out, "preserved_tokens", chat_params_view(params)->preserved_tokens);
  list(&out, "additional_stops", chat_params_view(params)->additional_stops);
  raw(&out, ",\"supports_thinking\":");
  raw(&out, truth(chat_params_view(params)->supports_thinking));
  field(&out, ",\"thinking_start_tag\":", chat_params_view(params)->thinking_start_tag);
  list(&out, "thinking_end_tags", chat_params_view(params)->thinking_end_tags);
  raw(&out, ",\"message_delimiters\":[");
  const size_t delimiters = chat_params_view(params)->message_delimiters.len;
  for (size_t i = 0; i < delimiters; i++) {
    field(&out, i > 0 ? ",{\"role\":" : "{\"role\":", chat_params_view(params)->message_delimiters.data[i].role);
    field(&out, ",\"delimiter\":", chat_params_view(params)->message_delimiters.data[i].text);
    raw(&out, "}");
  }
  field(&out, "],\"end_of_turn\":", chat_params_end_of_turn(params));

  OK(chat_params_json(params, &json, &error));
  CHECK(contains(json, out.text));
  OK(chat_params_json(params, &again, &error));
  CHECK(json.data == again.data && json.len == again.len);
  free(out.text);
}

static void every_builtin(const char *request) {
  for (size_t i = 0; i < chat_template_builtins().len; i++) {
    char name[64];
    const chat_str text = chat_template_builtins().data[i];
    snprintf(name, sizeof name, "%.*s", (int)text.len, text.data);
    chat_params *params = builtin_params(name, request);
    agree(params);
    chat_params_free(params);
  }
}

static void what_they_say(void) {
  chat_trigger trigger;
  chat_params *params = builtin_params("ling-3", TOOL_REQUEST(", \"reasoning_format\": \"auto\""));
  CHECK(chat_params_view(params)->additional_stops.len == 1 && is(chat_params_view(params)->additional_stops.data[0], "<|role_end|>"));
  CHECK(chat_params_view(params)->supports_thinking && is(chat_params_view(params)->thinking_start_tag, "<think>"));
  CHECK(chat_params_view(params)->thinking_end_tags.len == 2 && is(chat_params_view(params)->thinking_end_tags.data[0], "</think>"));
  CHECK(is(chat_params_view(params)->thinking_end_tags.data[1], "<tool_call>"));
  CHECK(chat_params_view(params)->format.len > 0);
  agree(params);
  chat_params_free(params);

  params = builtin_params("gpt-oss", TOOL_REQUEST(""));
  CHECK(chat_params_view(params)->grammar_lazy);
  trigger = chat_params_view(params)->grammar_triggers.data[0];
  CHECK(trigger.kind == CHAT_TRIGGER_KIND_PATTERN);
  CHECK(is(chat_params_view(params)->preserved_tokens.data[0], "<|channel|>"));
  CHECK(is(chat_params_view(params)->message_delimiters.data[0].role, "assistant"));
  CHECK(is(chat_params_view(params)->message_delimiters.data[0].text, "<|start|>assistant"));
  chat_params_free(params);

  // Nothing to constrain, nothing to keep.
  params = builtin_params("chatml", HI_REQUEST);
  CHECK(!chat_params_view(params)->supports_thinking && is(chat_params_view(params)->thinking_start_tag, ""));
  CHECK(chat_params_view(params)->thinking_end_tags.len == 0 && chat_params_view(params)->additional_stops.len == 0);
  CHECK(!chat_params_view(params)->grammar_lazy && chat_params_view(params)->grammar_triggers.len == 0);
  chat_params_free(params);
}

// The generation prompt ends the prompt, and a message that is continued belongs to it.
static void prompts(void) {
  chat_params *params = builtin_params(
      "chatml", "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}, {\"role\": \"assistant\", \"content\": \"Well\"}],"
                " \"continue_final_message\": true, \"add_generation_prompt\": false}");
  chat_stream *stream = NULL;
  chat_delta delta;
  CHECK(is(chat_params_view(params)->prompt, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nWell"));
  CHECK(contains(chat_params_view(params)->generation_prompt, "Well"));
  agree(params);
  // The stream tells it first.
  OK(chat_stream_new(params, &stream, &error));
  OK(chat_stream_feed(stream, TEXT(", hello"), &error));
  delta = chat_stream_view(stream)->deltas.data[0];
  CHECK(delta.kind == CHAT_DELTA_KIND_CONTENT && contains(delta.text, "Well") && delta.span_begin == 0);
  chat_stream_free(stream);
  chat_params_free(params);
}

// Options count before the body; media that no template shows stands as a marker, in order.
static void options_and_media(void) {
  static const char request[] =
    "{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"What is it?\"},"
    "{\"type\": \"image_url\", \"image_url\": {\"url\": \"x.png\"}}]}], \"media_marker\": \"<body>\"}";
  chat_template *template = NULL;
  chat_params *params = NULL;
  chat_media media;
  OK(chat_template_builtin(TEXT("chatml"), &template, &error));
  OK(chat_params_from_template_with(template, TEXT(request), TEXT("{\"media_marker\": \"<option>\"}"), &params, &error));
  CHECK(contains(chat_params_view(params)->prompt, "What is it?<option><|im_end|>"));
  CHECK(chat_params_media(params).len == 1);
  media = chat_params_media(params).data[0];
  CHECK(is(media.kind, "image") && is(media.text, "<option>") && contains(media.source, "x.png"));
  CHECK(media.message == 0 && media.part == 1 && !media.native);
  chat_params_free(params);
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "options.dialect",
       chat_params_from_template_with(template, TEXT(request), TEXT("{\"dialect\": \"off\"}"), &params, &error));
  // The template gets the number, and adds it to a text.
  SAYS(CHAT_STATUS_TEMPLATE, "number cannot be added to a string",
       chat_params_from_template_with(template, TEXT("{\"messages\": [{\"role\": \"user\", \"content\": 7}]}"),
                                      TEXT("{\"plain\": true}"), &params, &error));
  chat_template_free(template);
}

static const char USER[] = "[{\"role\": \"user\", \"content\": \"Go on.\"}]";

// The output stays as it was written, whatever was read of it, and the prompt goes on behind it.
static void next_turn(void) {
  static const char output[] = "<tool_call>{\"arguments\": {\"b\":1},  \"name\": \"f\"}</tool_call>";
  static const char result[] = "[{\"role\": \"tool\", \"content\": \"Rain.\"}]";
  chat_template *template = NULL;
  chat_params *params = NULL, *next = NULL, *last = NULL;
  OK(chat_template_new(TEXT(TOOL_TEMPLATE), TEXT(""), TEXT("<|end|>"), &template, &error));
  OK(chat_params_from_template(template, TEXT(TOOL_REQUEST("")), &params, &error));
  chat_template_free(template);
  CHECK(chat_params_turn(params)->kept == 0 && chat_params_turn(params)->append.len == chat_params_view(params)->prompt.len);
  CHECK(chat_params_turn(params)->reason == CHAT_REASON_NONE);

  OK(chat_params_continue(params, TEXT("Hi, you"), TEXT(USER), 0, &next, &error));
  CHECK(chat_params_turn(next)->kept == chat_params_view(params)->prompt.len + 7);
  CHECK(chat_params_turn(next)->reason == CHAT_REASON_NONE && chat_params_turn(next)->message == SIZE_MAX);
  CHECK(contains(chat_params_turn(next)->append, "Go on."));
  OK(chat_params_continue(next, TEXT(output), TEXT(result), 0, &last, &error));
  chat_params_free(next);
  CHECK(contains(chat_params_view(last)->prompt, output) && contains(chat_params_turn(last)->append, "Rain."));
  CHECK(chat_params_turn(last)->kept + chat_params_turn(last)->append.len == chat_params_view(last)->prompt.len);
  OK(chat_params_continue(last, TEXT("Bye"), TEXT(USER), 0, &next, &error));
  CHECK(contains(chat_params_view(next)->prompt, output) && chat_params_turn(next)->reason == CHAT_REASON_NONE);
  chat_params_free(next);
  chat_params_free(last);

  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "messages[0]", chat_params_continue(params, TEXT(""), TEXT("[7]"), 0, &next, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "not JSON", chat_params_continue(params, TEXT(""), TEXT("["), 0, &next, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "0x1", chat_params_continue(params, TEXT(""), TEXT("[]"), 1, &next, &error));
  chat_params_free(params);
}

// A server gets the whole conversation each turn, and the client has written it in its own way.
static void followed(void) {
#define ANSWERED(said) "{\"messages\": [{\"role\": \"user\", \"content\": " said "}, {\"role\": \"assistant\", \"content\": \"Hi, you\"}, "
  chat_params *params = builtin_params("chatml", HI_REQUEST), *next = NULL;
  size_t first = 0;
  OK(chat_params_follow(
      params, TEXT("Hi, you"), TEXT(ANSWERED("[{\"type\": \"text\", \"text\": \"Hi\"}]") "{\"role\": \"user\", \"content\": \"Go on.\"}]}"),
      TEXT("{\"now\": 7}"), &first, &next, &error));
  CHECK(first == 2 && chat_params_turn(next)->reason == CHAT_REASON_NONE);
  CHECK(chat_params_turn(next)->kept == chat_params_view(params)->prompt.len + 7 && contains(chat_params_turn(next)->append, "Go on."));
  chat_params_free(next);
  OK(chat_params_follow(
      params, TEXT("Hi, you"), TEXT(ANSWERED("\"Ho\"") "{\"role\": \"user\", \"content\": \"Go on.\"}]}"), TEXT("{}"), &first, &next, &error));
  CHECK(first == SIZE_MAX && chat_params_turn(next)->reason == CHAT_REASON_REQUEST && chat_params_turn(next)->message == 0);
  CHECK(contains(chat_params_view(next)->prompt, "Ho") && chat_params_turn(next)->kept < chat_params_view(params)->prompt.len);
  chat_params_free(next);
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "messages", chat_params_follow(params, TEXT(""), TEXT("{}"), TEXT("{}"), &first, &next, &error));
  chat_params_free(params);
}

// A template that drops reasoning says so, and where.
static void rewritten(void) {
  static const char source[] =
      "{% for m in messages %}<{{ m.role }}>{% if loop.last and m.reasoning_content %}<think>{{ m.reasoning_content }}</think>"
      "{% endif %}{{ m.content }}<end>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
  chat_template *template = NULL;
  chat_params *params = NULL, *next = NULL;
  OK(chat_template_new(TEXT(source), TEXT(""), TEXT("<end>"), &template, &error));
  OK(chat_params_from_template(template, TEXT(HI_REQUEST), &params, &error));
  OK(chat_params_continue(params, TEXT("<think>Who?</think>I"), TEXT(USER), 0, &next, &error));
  const chat_turn_fields *turn = chat_params_turn(next);
  CHECK(turn->reason == CHAT_REASON_REASONING && turn->message == 1 && contains(turn->words, "reasoning"));
  CHECK(chat_params_turn(next)->kept == chat_params_view(params)->prompt.len);
  CHECK(is(chat_params_turn(next)->append, "I<end><user>Go on.<end><assistant>"));
  CHECK(chat_params_turn(next)->rendered.len == chat_params_view(next)->prompt.len);
  chat_params_free(params);
  chat_params_free(next);

  // It keeps the reasoning if it must, and says what the template has in its place.
  OK(chat_params_from_template_with(template, TEXT(HI_REQUEST), TEXT("{\"append\": \"always\"}"), &params, &error));
  chat_template_free(template);
  OK(chat_params_continue(params, TEXT("<think>Who?</think>I"), TEXT(USER), 0, &next, &error));
  CHECK(chat_params_turn(next)->reason == CHAT_REASON_REASONING && chat_params_turn(next)->kept == chat_params_view(params)->prompt.len + 20);
  CHECK(is(chat_params_turn(next)->append, "<end><user>Go on.<end><assistant>"));
  CHECK(contains(chat_params_turn(next)->rendered, "<assistant>I<end>") && contains(chat_params_view(next)->prompt, "Who?"));
  chat_params_free(params);
  chat_params_free(next);
}

// A prompt that the host has rendered, in whose end the model thinks.
static void own_prompt(void) {
  static const char prompt[] = "<|im_start|>user\nRain?<|im_end|>\n<|im_start|>assistant\n<think>\nLet me";
  chat_template *template = NULL;
  chat_params *params = NULL;
  chat_stream *stream = NULL;
  chat_message *message = NULL;
  OK(chat_template_builtin(TEXT("json-call"), &template, &error));
  OK(chat_params_for_prompt(template, TEXT(prompt), TEXT("{\"messages\": [], \"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"f\", \"parameters\": {\"type\": \"object\"}}}]}"), &params, &error));
  CHECK(is(chat_params_view(params)->prompt, prompt));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "messages", chat_params_for_prompt(template, TEXT(prompt), TEXT("{}"), &params, &error));
  OK(chat_stream_new(params, &stream, &error));
  OK(chat_stream_feed(stream, TEXT(" see.\n</think>\n\nNo. <tool_"), &error));
  CHECK(contains(chat_stream_view(stream)->pending, "<tool_"));
  OK(chat_stream_finish(stream, CHAT_PARSE_PARTIAL, &error));
  CHECK(chat_stream_view(stream)->pending.len == 0);
  OK(chat_stream_message(stream, &message, &error));
  CHECK(is(chat_message_view(message)->reasoning, "Let me see.\n") && contains(chat_message_view(message)->content, "No."));
  chat_message_free(message);
  chat_stream_free(stream);
  chat_params_free(params);
  chat_template_free(template);
}

int main(void) {
  own_prompt();
  next_turn();
  followed();
  rewritten();
  options_and_media();
  every_builtin(TOOL_REQUEST(", \"reasoning_format\": \"auto\""));
  every_builtin(TOOL_REQUEST(", \"tool_choice\": \"required\""));
  every_builtin(HI_REQUEST);
  what_they_say();
  prompts();
  return 0;
}
