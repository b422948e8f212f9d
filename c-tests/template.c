// Templates: of a text, and those that the library brings along; what they say about themselves; what is no template.
#include "support.h"

static chat_template *compiled(const char *source) {
  chat_template *template = NULL;
  OK(chat_template_new(source, strlen(source), TEXT("<s>"), TEXT("</s>"), &template, &error));
  return template;
}

static void source_is_told_as_used(void) {
  chat_template *template = compiled("{{ bos_token }}\r\nline\rtwo\n");
  CHECK(is(chat_template_source(template), "{{ bos_token }}\nline\ntwo"));
  // A view of the handle: the same at each call.
  CHECK(chat_template_source(template).data == chat_template_source(template).data);
  chat_template_free(template);

  template = compiled("{# #}");
  CHECK(is(chat_template_source(template), "{# #}") && chat_template_source(template).data != NULL);
  chat_template_free(template);
}

// The texts are copied: what the caller does to them later does not matter.
static void texts_are_copied(void) {
  char source[] = "{{ bos_token }}{{ eos_token }}", bos[] = "<s>", eos[] = "</s>";
  chat_template *template = NULL;
  chat_params *params = NULL;
  OK(chat_template_new(source, strlen(source), bos, strlen(bos), eos, strlen(eos), &template, &error));
  memset(source, 'x', sizeof source);
  memset(bos, 'x', sizeof bos);
  memset(eos, 'x', sizeof eos);
  OK(chat_params_from_template(template, TEXT(HI_REQUEST), &params, &error));
  CHECK(is(chat_params_view(params)->prompt, "<s></s>"));
  chat_params_free(params);
  chat_template_free(template);
}

static void stored(void) {
  chat_template *template = NULL, *again = NULL;
  chat_params *first = NULL, *second = NULL;
  chat_str bytes, same;
  OK(chat_template_builtin(TEXT("json-call"), &template, &error));
  OK(chat_template_to_bytes(template, &bytes, &error));
  OK(chat_template_to_bytes(template, &same, &error));
  CHECK(bytes.data == same.data && bytes.len == same.len);
  OK(chat_template_from_bytes(bytes.data, bytes.len, &again, &error));
  OK(chat_params_from_template(template, TEXT(HI_REQUEST), &first, &error));
  OK(chat_params_from_template(again, TEXT(HI_REQUEST), &second, &error));
  CHECK(same_text(chat_params_view(first)->prompt, chat_params_view(second)->prompt));
  chat_params_free(first);
  chat_params_free(second);
  chat_template_free(again);

  again = NULL;
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "damaged", chat_template_from_bytes(bytes.data, bytes.len - 1, &again, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "no stored template", chat_template_from_bytes(TEXT("{}"), &again, &error));
  CHECK(again == NULL);
  chat_template_free(template);
}

static void caps(void) {
  chat_template *template = NULL;
  chat_str first, second;
  OK(chat_template_builtin(TEXT("json-call"), &template, &error));
  OK(chat_template_report(template, CHAT_REPORT_CAPS, &first, &error));
  CHECK(contains(first, "\"supports_tools\":true") && contains(first, "\"supports_parallel_tool_calls\":true"));
  CHECK(contains(first, "\"supports_system_role\":true") && contains(first, "\"supports_typed_content\":false"));
  // Found out once.
  OK(chat_template_report(template, CHAT_REPORT_CAPS, &second, &error));
  CHECK(first.data == second.data && first.len == second.len);
  chat_template_free(template);

  OK(chat_template_builtin(TEXT("chatml"), &template, &error));
  OK(chat_template_report(template, CHAT_REPORT_CAPS, &first, &error));
  CHECK(contains(first, "\"supports_tools\":false") && contains(first, "\"supports_string_content\":true"));
  chat_template_free(template);
}

static void options(void) {
  const char *source = "{{ bos_token }}|{{ eos_token }}";
  chat_template *template = NULL;
  chat_params *params = NULL;
  OK(chat_template_with_options(source, strlen(source), TEXT("{\"eos\": \"</s>\", \"ends\": [\"<eom>\"], \"prove\": false}"), &template, &error));
  OK(chat_params_from_template(template, TEXT(HI_REQUEST), &params, &error));
  CHECK(is(chat_params_view(params)->prompt, "|</s>"));
  chat_params_free(params);
  chat_template_free(template);

  template = NULL;
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "learn", chat_template_with_options("", 0, TEXT("{\"learn\": true}"), &template, &error));
  BAD(chat_template_with_options("", 0, TEXT("[]"), &template, &error));
  BAD(chat_template_with_options("", 0, TEXT(""), &template, &error));
  BAD(chat_template_with_options("", 0, TEXT("{\"bos\": 1}"), &template, &error));
  BAD(chat_template_with_options("", 0, TEXT("{\"ends\": \"</s>\"}"), &template, &error));
  SAYS(CHAT_STATUS_TEMPLATE, "line 1", chat_template_with_options("{% if %}", 8, TEXT("{}"), &template, &error));
  CHECK(template == NULL);
}

// A family's own template, as it is taken with these options.
static chat_template *of_a_family(const char *options) {
  chat_template *known = NULL, *template = NULL;
  OK(chat_template_builtin(TEXT("gpt-oss"), &known, &error));
  const chat_str source = chat_template_source(known);
  OK(chat_template_with_options(source.data, source.len, options, strlen(options), &template, &error));
  chat_template_free(known);
  return template;
}

static void readers_and_proofs(void) {
  static const struct {
    const char *options, *reader;
    bool whole;
  } ways[] = {{"{}", "gpt-oss", true}, {"{\"prove\": false}", "gpt-oss", true}, {"{\"learn_only\": true}", "turn", true},
              {"{\"learn_only\": true, \"prove\": false}", "turn", true}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    chat_template *template = of_a_family(ways[i].options);
    chat_str reader, json, again;
    size_t read_back = 0, cases = 0;
    OK(chat_template_reader(template, &reader, &error));
    CHECK(is(reader, ways[i].reader));
    OK(chat_template_proof(template, &read_back, &cases, &error));
    CHECK(cases > 20 && (read_back == cases) == ways[i].whole);
    OK(chat_template_report(template, CHAT_REPORT_PROOF, &json, &error));
    CHECK(contains(json, "\"reader\":\"") && contains(json, ways[i].reader) && contains(json, "\"cases\":"));
    CHECK(contains(json, "\"failures\":[]") == ways[i].whole && contains(json, "\"why\":") != ways[i].whole);
    OK(chat_template_report(template, CHAT_REPORT_PROOF, &again, &error));
    CHECK(json.data == again.data && json.len == again.len);
    chat_template_free(template);
    // The name needs no template.
    CHECK(is(reader, ways[i].reader));
  }
  // What renders nothing has no cases.
  chat_template *template = compiled("{{ raise_exception('never') }}");
  size_t read_back = 1, cases = 1;
  chat_str json;
  OK(chat_template_proof(template, &read_back, &cases, &error));
  CHECK(read_back == 0 && cases == 0);
  OK(chat_template_report(template, CHAT_REPORT_PROOF, &json, &error));
  CHECK(contains(json, "never"));
  chat_template_free(template);
}

// What was learnt, and the warnings for an author of templates.
static void learnt(void) {
  chat_template *template = NULL;
  chat_str json, again;
  OK(chat_template_builtin(TEXT("json-call"), &template, &error));
  OK(chat_template_report(template, CHAT_REPORT_LAYOUT, &json, &error));
  CHECK(contains(json, "\"format\":\"json_native\"") && contains(json, "<tool_call>"));
  OK(chat_template_report(template, CHAT_REPORT_LAYOUT, &again, &error));
  CHECK(json.data == again.data);
  OK(chat_template_report(template, CHAT_REPORT_TURN, &json, &error));
  CHECK(contains(json, "\"call\":[\""));
  OK(chat_template_report(template, CHAT_REPORT_TURN, &again, &error));
  CHECK(json.data == again.data);
  OK(chat_template_report(template, CHAT_REPORT_LINT, &json, &error));
  CHECK(contains(json, "\"faults\":0") && contains(json, "\"outcome\":\"survives\"") && contains(json, "\"read\":\"holds\""));
  OK(chat_template_report(template, CHAT_REPORT_LINT, &again, &error));
  CHECK(json.data == again.data);
  OK(chat_template_report(template, CHAT_REPORT_RESPONSE_TEMPLATE, &json, &error));
  CHECK(contains(json, "\"open\":\"<tool_call>\"") && contains(json, "\"limits\":[]"));
  for (uint32_t engine = CHAT_REPORT_RESPONSE_TEMPLATE_VLLM; engine <= CHAT_REPORT_RESPONSE_TEMPLATE_SGLANG; engine++) {
    OK(chat_template_report(template, engine, &json, &error));
    CHECK(contains(json, "\"thinking\":{") && !contains(json, "\"join\"") && contains(json, "\"limits\":[]"));
  }
  chat_template_free(template);
}

typedef struct {
  size_t warnings, decisions;
} events;

static void take_event(uint32_t level, chat_str text, void *data) {
  events *seen = data;
  CHECK(level >= CHAT_LOG_LEVEL_ERROR && level <= CHAT_LOG_LEVEL_INFO);
  if (level == CHAT_LOG_LEVEL_INFO && contains(text, "read by turn")) seen->decisions++;
  if (level == CHAT_LOG_LEVEL_WARN && contains(text, "0 of 0 test messages")) seen->warnings++;
}

// What is decided and what is not read, by level, once for each template, until the function is taken away.
static void logged(void) {
  static const struct {
    bool set;
    chat_log_level level;
    events expected;
  } rounds[] = {{true, CHAT_LOG_LEVEL_INFO, {1, 1}}, {true, CHAT_LOG_LEVEL_WARN, {1, 0}}, {true, CHAT_LOG_LEVEL_ERROR, {0, 0}},
                {false, CHAT_LOG_LEVEL_INFO, {0, 0}}};
  for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
    events seen = {0, 0};
    OK(chat_log_set(rounds[i].set ? take_event : NULL, &seen, rounds[i].level, &error));
    chat_template *template = compiled("{{ raise_exception('never') }}");
    for (int again = 0; again < 2; again++) {
      chat_str reader;
      size_t read_back, cases;
      OK(chat_template_reader(template, &reader, &error));
      OK(chat_template_proof(template, &read_back, &cases, &error));
    }
    chat_template_free(template);
    OK(chat_log_set(NULL, NULL, CHAT_LOG_LEVEL_INFO, &error));
    CHECK(seen.warnings == rounds[i].expected.warnings && seen.decisions == rounds[i].expected.decisions);
  }
}

// Each has a name of its own, compiles by it, renders, and takes part in a parse.
static void builtins(void) {
  const size_t count = chat_template_builtins().len;
  CHECK(count > 10);
  for (size_t i = 0; i < count; i++) {
    const chat_str name = chat_template_builtins().data[i];
    chat_template *template = NULL;
    chat_params *params = NULL;
    chat_message *message = NULL;
    CHECK(name.len > 0);
    for (size_t other = 0; other < i; other++) {
      const chat_str earlier = chat_template_builtins().data[other];
      CHECK(earlier.len != name.len || memcmp(earlier.data, name.data, name.len) != 0);
    }
    OK(chat_template_builtin(name.data, name.len, &template, &error));
    CHECK(chat_template_source(template).len > 0);
    OK(chat_params_from_template(template, TEXT(TOOL_REQUEST("")), &params, &error));
    CHECK(contains(chat_params_view(params)->prompt, "Hi"));
    OK(chat_parse_partial(params, TEXT("Hello"), CHAT_PARSE_PARTIAL, &message, &error));
    chat_message_free(message);
    chat_params_free(params);
    chat_template_free(template);
  }
}

static void what_is_none(void) {
  static const struct {
    const char *source, *part;
  } wrong[] = {
      {"{% if %}", "line 1"},
      {"a\n\n{% for x in %}{% endfor %}", "line 3"},
      {"{{ 'open }}", "line 1"},
      {"{% unknown %}", "line 1"},
      {"{% if true %}\nno end", "line 2"},
  };
  chat_template *template = NULL;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    SAYS(CHAT_STATUS_TEMPLATE, wrong[i].part,
         chat_template_new(wrong[i].source, strlen(wrong[i].source), "", 0, "", 0, &template, &error));
  // All of the names are in the sentence.
  for (size_t i = 0; i < chat_template_builtins().len; i++) {
    char name[64];
    const chat_str text = chat_template_builtins().data[i];
    snprintf(name, sizeof name, "%.*s", (int)text.len, text.data);
    SAYS(CHAT_STATUS_INVALID_ARGUMENT, name, chat_template_builtin(TEXT("none"), &template, &error));
  }
  BAD(chat_template_builtin(TEXT(""), &template, &error));
  BAD(chat_template_builtin(TEXT("chatml\0"), &template, &error));
  BAD(chat_template_builtin(TEXT("\xff"), &template, &error));
  CHECK(template == NULL);
}

int main(void) {
  source_is_told_as_used();
  texts_are_copied();
  stored();
  caps();
  options();
  readers_and_proofs();
  learnt();
  logged();
  builtins();
  what_is_none();
  return 0;
}
