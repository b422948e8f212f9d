// The examples of the header's comments. documented.sh looks that they stand here as they stand there.
#include "support.h"

static chat_parser *of_expressions(chat_error *error) {
  // Content up to a call such as [weather]{"city": "Oslo"}[/weather], or to the end.
  chat_expr_builder *b = NULL;
  chat_parser *parser = NULL;
  if (chat_expr_builder_new(&b, &error) != CHAT_STATUS_OK) return NULL;
  const chat_str call[] = {{"[weather]", 9}};
  const chat_expr open = chat_expr_tag(b, CHAT_TAG_TOOL_OPEN, chat_expr_sequence(b, (const chat_expr[]){
      chat_expr_literal(b, "[", 1), chat_expr_tag(b, CHAT_TAG_TOOL_NAME, chat_expr_literal(b, "weather", 7)),
      chat_expr_literal(b, "]", 1)}, 3));
  const chat_expr parts[] = {
    chat_expr_tag(b, CHAT_TAG_CONTENT, chat_expr_until(b, call, 1)),
    chat_expr_repeat(b, chat_expr_sequence(b, (const chat_expr[]){
        chat_expr_atomic(b, open), chat_expr_tag(b, CHAT_TAG_TOOL_ARGUMENTS, chat_expr_json(b, "", 0, "{}", 2)),
        chat_expr_tag(b, CHAT_TAG_TOOL_CLOSE, chat_expr_literal(b, "[/weather]", 10))}, 3), 0, 1),
    chat_expr_end(b),
  };
  const chat_status status = chat_expr_build(b, chat_expr_sequence(b, parts, 3), "", 0, &parser, &error);
  chat_expr_builder_free(b);
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
  chat_parser *parser = of_expressions(NULL);
  OK(chat_parser_parse(parser, TEXT("Wait. [weather]{\"city\": \"Oslo\"}[/weather]"), CHAT_PARSE_STRICT, &message, &error));
  CHECK(chat_message_outcome(message) == CHAT_OUTCOME_COMPLETE);
  CHECK(is(chat_message_content(message), "Wait. ") && chat_message_tool_call_count(message) == 1);
  CHECK(is(chat_message_tool_call_name(message, 0), "weather"));
  CHECK(is(chat_message_tool_call_arguments(message, 0), "{\"city\": \"Oslo\"}"));
  chat_message_free(message);
  OK(chat_parser_parse(parser, TEXT("No call [weather."), CHAT_PARSE_STRICT, &message, &error));
  CHECK(is(chat_message_content(message), "No call [weather.") && chat_message_tool_call_count(message) == 0);
  chat_message_free(message);
  chat_parser_free(parser);

  chat_grammar *grammar = of_rules(TEXT("{\"const\": 7}"), NULL);
  CHECK(contains(chat_grammar_text(grammar), "root ::= \"<answer>\" answer \"</answer>\"\n"));
  chat_grammar_free(grammar);

  of_errors(TEXT("{% if %}"));
  return 0;
}
