// What may come next in an output, and what must.
#include "support.h"

#define PARAMETERS "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"}},\"required\":[\"city\"]}"

static const char REQUEST[] =
    "{\"messages\": [{\"role\": \"user\", \"content\": \"Rain?\"}], \"tool_choice\": \"required\", \"enable_thinking\": false, \"tools\": [{\"type\": \"function\","
    "\"function\": {\"name\": \"weather\", \"parameters\": " PARAMETERS "}}]}";

static size_t fed(chat_matcher *matcher, const char *text) {
  size_t taken = 99;
  OK(chat_matcher_feed(matcher, text, strlen(text), &taken, &error));
  return taken;
}

static bool forces(const chat_matcher *matcher, const char *text) {
  char bytes[200];
  const size_t len = chat_matcher_forced(matcher, bytes, sizeof(bytes));
  CHECK(len == chat_matcher_forced(matcher, NULL, 0));
  return len == strlen(text) && memcmp(bytes, text, len) == 0;
}

static void grammar(void) {
  chat_matcher *matcher = NULL, *copy = NULL;
  chat_byte_set bytes;
  OK(chat_matcher_new(TEXT("root ::= \"say \" (\"yes\" | \"yellow\" | \"\u00e9\")"), &matcher, &error));
  CHECK(forces(matcher, "say ") && !chat_matcher_may_end(matcher));
  CHECK(fed(matcher, "say ") == 4 && forces(matcher, ""));
  OK(chat_matcher_allowed(matcher, &bytes, &error));
  CHECK(bytes.words[0] == 0 && bytes.words[1] == UINT64_C(1) << ('y' - 64) && bytes.words[2] == 0);
  CHECK(bytes.words[3] == UINT64_C(1) << (0xc3 - 192));
  CHECK(chat_matcher_can(matcher, TEXT("yel")) && !chat_matcher_can(matcher, TEXT("yek")));
  OK(chat_matcher_clone(matcher, &copy, &error));
  CHECK(fed(matcher, "yex") == 2 && fed(matcher, "s") == 1);
  CHECK(chat_matcher_may_end(matcher) && chat_matcher_ended(matcher) && fed(matcher, "s") == 0);
  CHECK(fed(copy, "\xc3") == 1 && forces(copy, "\xa9") && !chat_matcher_ended(copy));
  chat_matcher_free(matcher);
  chat_matcher_free(copy);
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "\"b\"", chat_matcher_new(TEXT("a ::= b"), &matcher, &error));
}

static void request(void) {
  chat_params *params = builtin_params("qwen3-coder", REQUEST);
  chat_matcher *matcher = NULL;
  OK(chat_params_matcher(params, &matcher, &error));
  chat_params_free(params);
  CHECK(forces(matcher, "<") && !chat_matcher_may_end(matcher));
  char bytes[200];
  CHECK(fed(matcher, "<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n</f") > 0);
  const size_t len = chat_matcher_forced(matcher, bytes, 7);
  CHECK(len >= 7 && memcmp(bytes, "unction", 7) == 0);
  chat_grammar *rest = NULL;
  OK(chat_matcher_grammar(matcher, CHAT_DIALECT_PORTABLE_GBNF, &rest, &error));
  const chat_str text = chat_grammar_view(rest)->text;
  chat_matcher_free(matcher);
  OK(chat_matcher_new(text.data, text.len, &matcher, &error));
  CHECK(fed(matcher, "unction>\n</tool_call>") == 21 && chat_matcher_may_end(matcher));
  chat_grammar_free(rest);
  chat_matcher_free(matcher);
}

static void stands(chat_stream *stream, const char *state, const char *schema, const char *closing) {
  chat_str said;
  OK(chat_stream_state_json(stream, &said, &error));
  CHECK(contains(said, state));
  OK(chat_stream_schema_json(stream, &said, &error));
  CHECK(is(said, schema));
  OK(chat_stream_close_json(stream, &said, &error));
  CHECK(contains(said, closing));
}

static void stream(void) {
  chat_params *params = builtin_params("qwen3-coder", REQUEST);
  chat_stream *stream = NULL;
  chat_grammar *rest = NULL;
  OK(chat_stream_new(params, &stream, &error));
  chat_params_free(params);
  OK(chat_stream_feed(stream, TEXT("<tool_call>\n"), &error));
  stands(stream, "\"call\":null", "null", "lacks \\\"/city\\\"");
  OK(chat_stream_feed(stream, TEXT("<function=weather>\n"), &error));
  stands(stream, "\"part\":\"markup\"", PARAMETERS, "lacks \\\"/city\\\"");
  OK(chat_stream_feed(stream, TEXT("<parameter=city>\nOs"), &error));
  stands(stream, "\"pointer\":\"/city\"", "{\"type\":\"string\"}", "\"text\":\"\\n</parameter>\\n</function>\\n</tool_call>\"");
  OK(chat_stream_grammar(stream, CHAT_DIALECT_LARK, &rest, &error));
  CHECK(contains(chat_grammar_view(rest)->text, "</function>"));
  chat_grammar_free(rest);
  chat_stream_free(stream);
}

int main(void) {
  grammar();
  request();
  stream();
  return 0;
}
