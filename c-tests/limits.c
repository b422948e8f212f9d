// Input that is too long, too deep or too costly ends with a status, in bounded time, on a small stack; what a model writes is
// never refused.
#include <pthread.h>

#include "support.h"

// Text put together of one that is repeated.
static char *repeated(const char *before, const char *part, size_t count, const char *after, size_t *len) {
  const size_t size = strlen(part);
  char *text = malloc(strlen(before) + size * count + strlen(after) + 1);
  CHECK(text != NULL);
  char *at = text + strlen(strcpy(text, before));
  for (size_t i = 0; i < count; i++, at += size) memcpy(at, part, size);
  strcpy(at, after);
  *len = (size_t)(at - text) + strlen(after);
  return text;
}

static void templates(void) {
  chat_template *template = NULL;
  chat_params *params = NULL;
  size_t len;
  char *source = repeated("", "x", (size_t)1 << 20, "", &len);
  OK(chat_template_new(source, len, "", 0, "", 0, &template, &error));
  chat_template_free(template);
  free(source);
  template = NULL;
  source = repeated("", "x", ((size_t)1 << 20) + 1, "", &len);
  EXPECT(CHAT_STATUS_LIMIT, chat_template_new(source, len, "", 0, "", 0, &template, &error));
  free(source);

  // Nested deeply: whatever it is called, it is refused.
  static const char *const nested[][2] = {{"{% if x %}", "{% endif %}"}, {"{{ (((((((((", ""}, {"{{ -------", ""}, {"{{ [[[[[[[[", ""}};
  for (size_t i = 0; i < sizeof nested / sizeof *nested; i++) {
    source = repeated("", nested[i][0], 20000, nested[i][1], &len);
    const chat_status status = chat_template_new(source, len, "", 0, "", 0, &template, NULL);
    CHECK(status == CHAT_STATUS_TEMPLATE || status == CHAT_STATUS_LIMIT);
    free(source);
  }
  CHECK(template == NULL);

  // A template that never ends.
  OK(chat_template_new(TEXT("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"), "", 0, "", 0, &template, &error));
  const chat_status status = chat_params_from_template(template, TEXT(HI_REQUEST), &params, NULL);
  CHECK(status == CHAT_STATUS_LIMIT || status == CHAT_STATUS_TEMPLATE);
  chat_template_free(template);
  CHECK(params == NULL);
}

// Too deep, be it in a message, in a tool, or in nothing that anybody reads.
static void requests(void) {
  chat_template *template = NULL;
  chat_params *params = NULL;
  size_t len;
  OK(chat_template_builtin(TEXT("json-call"), &template, &error));
  static const char *const around[][2] = {
      {"", ""},
      {"{\"messages\": [], \"unread\": ", "}"},
      {"{\"messages\": [{\"role\": \"user\", \"content\": ", "}]}"},
      {"{\"messages\": [], \"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"f\", \"parameters\": {\"default\": ", "}}}]}"},
      {"{\"messages\": [], \"chat_template_kwargs\": {\"x\": ", "}}"},
  };
  for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
    char *request = repeated(around[i][0], "[", 100000, around[i][1], &len);
    const chat_status status = chat_params_from_template(template, request, len, &params, NULL);
    CHECK(status == CHAT_STATUS_LIMIT || status == CHAT_STATUS_INVALID_ARGUMENT);
    free(request);
  }
  char *deep = repeated("", "[", 200, "1", &len), *closed = repeated(deep, "]", 200, "}}", &len);
  char *request = repeated("{\"messages\": [], \"chat_template_kwargs\": {\"x\": ", closed, 1, "", &len);
  const chat_status status = chat_params_from_template(template, request, len, &params, NULL);
  CHECK(status == CHAT_STATUS_LIMIT || status == CHAT_STATUS_INVALID_ARGUMENT);
  CHECK(params == NULL);
  free(request);
  free(closed);
  free(deep);
  chat_template_free(template);
}

static void schemas(void) {
  chat_grammar *grammar = NULL;
  chat_grammar_builder *builder = NULL;
  chat_str name = {NULL, 0};
  size_t len;
  char *schema = repeated("", "{\"items\":", 10000, "{}", &len);
  const chat_status status = chat_grammar_from_json_schema(schema, len, CHAT_GRAMMAR_STYLE_FAITHFUL, &grammar, NULL);
  CHECK(status == CHAT_STATUS_LIMIT || status == CHAT_STATUS_INVALID_ARGUMENT);
  free(schema);
  // Parts count as often as they are written out.
  static const char wide[] = "{\"$defs\": {\"a\": {\"anyOf\": [{\"$ref\": \"#/$defs/b\"}, {\"$ref\": \"#/$defs/b\"}]}, \"b\": {}}, "
                             "\"allOf\": [";
  schema = repeated(wide, "{\"anyOf\": [{\"const\": 1}, {\"const\": 2}, {\"const\": 3}, {\"const\": 4}]},", 40, "true]}", &len);
  const chat_status costly = chat_grammar_from_json_schema(schema, len, CHAT_GRAMMAR_STYLE_FAITHFUL, &grammar, NULL);
  CHECK(costly != CHAT_STATUS_INTERNAL);
  if (costly == CHAT_STATUS_OK) chat_grammar_free(grammar);
  free(schema);

  OK(chat_grammar_builder_new(&builder, &error));
  char *body = repeated("", "(", 100000, "\"a\"", &len);
  const chat_status nested = chat_grammar_builder_add_rule(builder, TEXT("root"), body, len, &name, NULL);
  CHECK(nested == CHAT_STATUS_LIMIT || nested == CHAT_STATUS_INVALID_ARGUMENT);
  CHECK(name.data == NULL);
  free(body);
  chat_grammar_builder_free(builder);
}

static void parsers(void) {
  chat_parser *parser = NULL;
  size_t len;
  char *text = repeated("{\"chatparse_parser\":1,\"prefill\":\"\",\"format\":", "[", 100000, "", &len);
  const chat_status status = chat_parser_from_json(text, len, &parser, NULL);
  CHECK(status == CHAT_STATUS_LIMIT || status == CHAT_STATUS_INVALID_ARGUMENT);
  CHECK(parser == NULL);
  free(text);
}

// A model may write what it likes: long, deep, or the beginnings of calls over and over.
static void outputs(void) {
  static const struct {
    const char *before, *part;
    size_t count;
  } wild[] = {
      {"", "x", 1 << 20},
      {"", "<tool_call>", 20000},
      {"<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": ", "[", 200000},
      {"<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": ", "{\"a\":", 50000},
      {"<think>", "<think>", 20000},
      {"", "\xff", 100000},
  };
  chat_params *params = builtin_params("json-call", TOOL_REQUEST(", \"reasoning_format\": \"auto\""));
  for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
    chat_message *message = NULL;
    chat_stream *stream = NULL;
    size_t len;
    char *output = repeated(wild[i].before, wild[i].part, wild[i].count, "", &len);
    OK(chat_parse_partial(params, output, len, 0, &message, &error));
    CHECK(chat_message_view(message)->outcome != CHAT_OUTCOME_NONE);
    chat_message_free(message);
    OK(chat_stream_new(params, &stream, &error));
    for (size_t at = 0; at < len; at += 1000) OK(chat_stream_feed(stream, output + at, len - at < 1000 ? len - at : 1000, &error));
    OK(chat_stream_finish(stream, CHAT_PARSE_PARTIAL, &error));
    chat_stream_free(stream);
    free(output);
  }
  chat_params_free(params);
}

static void *all(void *unused) {
  templates();
  requests();
  schemas();
  parsers();
  outputs();
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_attr_t small;
  CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, (size_t)128 << 10) == 0);
  CHECK(pthread_create(&thread, &small, all, NULL) == 0 && pthread_join(thread, NULL) == 0);
  pthread_attr_destroy(&small);
  return 0;
}
