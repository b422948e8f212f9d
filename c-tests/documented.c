// The examples of the header's comments. documented.sh looks that they stand here as they stand there.
#include "support.h"

static chat_parser *of_description(chat_error *error) {
  // Content up to a call such as [weather]{"city": "Oslo"}[/weather], or to the end.
  static const char text[] =
    "{\"format\": {\"root\": {\"sequence\": ["
    "  {\"tag\": [\"content\", {\"until\": [\"[weather]\"]}]},"
    "  {\"repeat\": [{\"sequence\": ["
    "    {\"atomic\": {\"tag\": [\"tool-open\", {\"sequence\": ["
    "      {\"literal\": \"[\"}, {\"tag\": [\"tool-name\", {\"literal\": \"weather\"}]}, {\"literal\": \"]\"}]}]}},"
    "    {\"tag\": [\"tool-args\", \"json\"]},"
    "    {\"tag\": [\"tool-close\", {\"literal\": \"[/weather]\"}]}]}, 0, 1]},"
    "  \"end\"]}}}";
  chat_parser *parser = NULL;
  const chat_status status = chat_parser_from_json(text, sizeof text - 1, &parser, &error);
  CHECK(status == CHAT_STATUS_OK);
  return parser;
}

static chat_grammar *of_rules(const char *schema, size_t schema_len, chat_error *error) {
  // An answer by a schema, between tags:
  chat_grammar_builder *builder = NULL;
  chat_grammar *grammar = NULL;
  chat_str name;
  char body[128];
  chat_status status = chat_grammar_builder_new(&builder, &error);
  if (status == CHAT_STATUS_OK)
    status = chat_grammar_builder_add_schema(builder, "answer", 6, schema, schema_len, &name, &error);
  if (status == CHAT_STATUS_OK) {
    snprintf(body, sizeof body, "\"<answer>\" %.*s \"</answer>\"", (int)name.len, name.data);
    status = chat_grammar_builder_add_rule(builder, "root", 4, body, strlen(body), &name, &error);
  }
  if (status == CHAT_STATUS_OK) status = chat_grammar_builder_build(builder, &grammar, &error);
  chat_grammar_builder_free(builder);
  CHECK(status == CHAT_STATUS_OK);
  return grammar;
}

static void of_errors(const char *text, size_t len) {
  chat_template *template = NULL;
  chat_error *error = NULL;
  if (chat_template_new(text, len, "", 0, "", 0, &template, &error) != CHAT_STATUS_OK) {
    chat_str message = chat_error_message(error);
    fprintf(stderr, "%.*s\n", (int)message.len, message.data);
    chat_error_free(error);
  }
  CHECK(template == NULL);
}

int main(void) {
  chat_message *message = NULL;
  chat_parser *parser = of_description(NULL);
  OK(chat_parser_parse(parser, TEXT("Wait. [weather]{\"city\": \"Oslo\"}[/weather]"), CHAT_PARSE_STRICT, &message, &error));
  CHECK(chat_message_view(message)->outcome == CHAT_OUTCOME_COMPLETE);
  CHECK(is(chat_message_view(message)->content, "Wait. ") && chat_message_view(message)->calls.len == 1);
  CHECK(is(chat_message_view(message)->calls.data[0].name, "weather"));
  CHECK(is(chat_message_view(message)->calls.data[0].arguments, "{\"city\": \"Oslo\"}"));
  chat_message_free(message);
  OK(chat_parser_parse(parser, TEXT("No call [weather."), CHAT_PARSE_STRICT, &message, &error));
  CHECK(is(chat_message_view(message)->content, "No call [weather.") && chat_message_view(message)->calls.len == 0);
  chat_message_free(message);
  chat_parser_free(parser);

  chat_grammar *grammar = of_rules(TEXT("{\"const\": 7}"), NULL);
  CHECK(contains(chat_grammar_view(grammar)->text, "root ::= \"<answer>\" answer \"</answer>\"\n"));
  chat_grammar_free(grammar);

  of_errors(TEXT("{% if %}"));
  return 0;
}
