// NULL anywhere is an error or an empty value, never a crash, and errors nobody wants are not made.
#include "support.h"

static void handles(void) {
  chat_template *template = NULL;
  chat_params *params = NULL;
  chat_message *message = NULL;
  chat_stream *stream = NULL;
  chat_answer *answer = NULL;
  chat_grammar *grammar = NULL;
  chat_grammar_builder *builder = NULL;
  chat_parser *parser = NULL;
  bool allows = false;
  chat_str text;
  size_t count;
  BAD(chat_template_report(NULL, CHAT_REPORT_CAPS, &text, &error));
  BAD(chat_template_to_bytes(NULL, &text, &error));
  BAD(chat_template_reader(NULL, &text, &error));
  BAD(chat_template_proof(NULL, &count, &count, &error));
  BAD(chat_params_from_template(NULL, TEXT("{}"), &params, &error));
  BAD(chat_params_from_template_with(NULL, TEXT("{}"), TEXT("{}"), &params, &error));
  BAD(chat_params_continue(NULL, TEXT(""), TEXT("[]"), 0, &params, &error));
  BAD(chat_params_follow(NULL, TEXT(""), TEXT("{}"), TEXT("{}"), &count, &params, &error));
  BAD(chat_params_for_prompt(NULL, TEXT(""), TEXT("{}"), &params, &error));
  chat_segments *segments;
  BAD(chat_segments_from_template(NULL, TEXT("{}"), NULL, 0, &segments, &error));
  CHECK(chat_segments_mask(NULL, 15, NULL, 0) == 0);
  chat_segment_token token;
  BAD(chat_segments_batch(NULL, NULL, 0, NULL, 0, 1, NULL, &error));
  BAD(chat_segments_tokens(NULL, 15, NULL, 0, false, &token, &error));
  chat_segments_free(NULL);
  chat_matcher *matcher;
  chat_byte_set bytes;
  BAD(chat_params_matcher(NULL, &matcher, &error));
  BAD(chat_matcher_new(NULL, 1, &matcher, &error));
  BAD(chat_matcher_feed(NULL, TEXT("a"), &count, &error));
  BAD(chat_matcher_allowed(NULL, &bytes, &error));
  BAD(chat_matcher_clone(NULL, &matcher, &error));
  CHECK(!chat_matcher_can(NULL, TEXT("a")) && chat_matcher_forced(NULL, NULL, 0) == 0);
  CHECK(!chat_matcher_may_end(NULL) && !chat_matcher_ended(NULL));
  chat_matcher_free(NULL);
  BAD(chat_params_json(NULL, &text, &error));
  BAD(chat_params_grammar(NULL, CHAT_DIALECT_GBNF, &grammar, &error));
  BAD(chat_params_grammar(NULL, CHAT_DIALECT_LARK, &grammar, &error));
  BAD(chat_grammar_as(NULL, CHAT_DIALECT_LARK, &grammar, &error));
  BAD(chat_grammar_builder_add_rule(NULL, TEXT("a"), TEXT("b"), &text, &error));
  BAD(chat_grammar_builder_add_literal(NULL, TEXT("a"), TEXT("b"), &text, &error));
  BAD(chat_grammar_builder_add_schema(NULL, TEXT("a"), TEXT("{}"), &text, &error));
  BAD(chat_grammar_builder_build(NULL, &grammar, &error));
  BAD(chat_parse_partial(NULL, TEXT(""), 0, &message, &error));
  BAD(chat_message_json(NULL, &text, &error));
  BAD(chat_message_report_json(NULL, &text, &error));
  BAD(chat_stream_new(NULL, &stream, &error));
  BAD(chat_stream_feed(NULL, TEXT("x"), &error));
  BAD(chat_stream_feed_marked(NULL, TEXT("x"), NULL, 0, &error));
  BAD(chat_stream_set_special_tokens(NULL, NULL, 0, &error));
  BAD(chat_stream_finish(NULL, 0, &error));
  BAD(chat_stream_message(NULL, &message, &error));
  BAD(chat_stream_clone(NULL, &stream, &error));
  BAD(chat_stream_reset(NULL, &error));
  BAD(chat_stream_checkpoint(NULL, &error));
  BAD(chat_stream_rollback(NULL, 0, &error));
  BAD(chat_stream_set_budget(NULL, 0, 0, &error));
  BAD(chat_stream_chunk_json(NULL, &text, &error));
  BAD(chat_stream_state_json(NULL, &text, &error));
  BAD(chat_stream_schema_json(NULL, &text, &error));
  BAD(chat_stream_close_json(NULL, &text, &error));
  BAD(chat_stream_grammar(NULL, CHAT_DIALECT_GBNF, &grammar, &error));
  BAD(chat_matcher_grammar(NULL, CHAT_DIALECT_GBNF, &grammar, &error));
  BAD(chat_stream_from_parser(NULL, &stream, &error));
  BAD(chat_params_parser(NULL, &parser, &error));
  BAD(chat_parser_json(NULL, &text, &error));
  BAD(chat_parser_grammar(NULL, false, &grammar, &error));
  BAD(chat_parser_parse(NULL, TEXT(""), 0, &message, &error));
  BAD(chat_grammar_builder_add_parser(NULL, NULL, false, &error));
  BAD(chat_parser_tagged(NULL, TEXT(""), 0, 0, &message, &error));
  BAD(chat_message_tree_json(NULL, &text, &error));
  BAD(chat_schema_allows_string(NULL, 1, &allows, &error));
  BAD(chat_schema_allows_string(TEXT("{}"), NULL, &error));
  BAD(chat_answer_new(CHAT_API_RESPONSES, TEXT("{}"), TEXT(""), NULL, &error));
  BAD(chat_answer_begin(NULL, 0, &error));
  BAD(chat_answer_token(NULL, 0, 1, TEXT("{}"), &error));
  BAD(chat_answer_deltas(NULL, NULL, &error));
  BAD(chat_answer_finish(NULL, NULL, TEXT(""), &error));
  BAD(chat_answer_fail(NULL, 500, TEXT("x"), &error));
  BAD(chat_answer_ping(NULL, &error));
  BAD(chat_answer_sse(NULL, &text, &error));
  BAD(chat_answer_body(NULL, NULL, TEXT(""), &text, &error));
  OK(chat_answer_new(CHAT_API_RESPONSES, TEXT("{\"input\": \"Hi\"}"), NULL, 0, &answer, &error));
  OK(chat_answer_begin(answer, 0, &error));
  BAD(chat_answer_token(answer, 0, 1, TEXT("no JSON"), &error));
  BAD(chat_answer_deltas(answer, NULL, &error));
  BAD(chat_answer_finish(answer, NULL, NULL, 0, &error));
  BAD(chat_answer_fail(answer, 500, NULL, 1, &error));
  BAD(chat_answer_sse(answer, NULL, &error));
  BAD(chat_answer_body(answer, NULL, NULL, 0, &text, &error));
  chat_answer_free(answer);
  CHECK(!allows);
  CHECK(parser == NULL);
  CHECK(template == NULL && params == NULL && message == NULL && stream == NULL);
  CHECK(grammar == NULL && builder == NULL);
}

// There are fields, and all of them are 0.
#define ZERO(type, fields)                                                               \
  do {                                                                                   \
    static const type zero;                                                              \
    const type *seen = (fields);                                                         \
    CHECK(seen != NULL && memcmp(seen, &zero, sizeof zero) == 0);                        \
  } while (0)

static void fields(void) {
  ZERO(chat_params_fields, chat_params_view(NULL));
  ZERO(chat_turn_fields, chat_params_turn(NULL));
  ZERO(chat_message_fields, chat_message_view(NULL));
  ZERO(chat_report_fields, chat_message_report(NULL));
  ZERO(chat_stream_fields, chat_stream_view(NULL));
  ZERO(chat_segments_fields, chat_segments_view(NULL));
  ZERO(chat_grammar_fields, chat_grammar_view(NULL));
  ZERO(chat_answer_fields, chat_answer_view(NULL));
  CHECK(chat_message_view(NULL)->outcome == CHAT_OUTCOME_NONE && chat_params_turn(NULL)->reason == CHAT_REASON_NONE);
  CHECK(chat_params_media(NULL).data == NULL && chat_params_media(NULL).len == 0);
  CHECK(chat_message_spans(NULL, CHAT_DELTA_KIND_CONTENT, 0, NULL, 0) == 0);
  CHECK(is(chat_template_source(NULL), ""));
  CHECK(is(chat_error_message(NULL), "") && chat_error_message(NULL).data != NULL);
  CHECK(is(chat_params_end_of_turn(NULL), ""));
  chat_params_warm(NULL);
  CHECK(chat_error_status(NULL) == CHAT_STATUS_INVALID_ARGUMENT && chat_error_http_status(NULL) == 400);
  CHECK(is(chat_error_body(NULL, CHAT_API_MESSAGES), ""));
}

static void frees(void) {
  chat_error_free(NULL);
  chat_template_free(NULL);
  chat_params_free(NULL);
  chat_grammar_free(NULL);
  chat_grammar_builder_free(NULL);
  chat_message_free(NULL);
  chat_stream_free(NULL);
  chat_answer_free(NULL);
  chat_parser_free(NULL);
}

// These take no pointers, and never give one that is NULL.
static void no_pointers(void) {
  CHECK(chat_version_check(0, NULL) == CHAT_STATUS_INVALID_ARGUMENT);
  CHECK(chat_template_builtins().len > 0 && is(chat_template_builtins().data[0], "chatml"));
  CHECK(chat_version() != NULL && chat_status_name(12345) != NULL && chat_delta_kind_name(12345) != NULL);
}

// Outputs and texts, on handles that are fine.
static void outputs_and_texts(void) {
  chat_template *template = NULL;
  chat_params *params = NULL;
  chat_message *message = NULL;
  chat_stream *stream = NULL;
  BAD(chat_template_new(TEXT("a"), TEXT(""), TEXT(""), NULL, &error));
  BAD(chat_template_builtin(TEXT("chatml"), NULL, &error));
  BAD(chat_template_builtin(NULL, 6, &template, &error));
  BAD(chat_template_new(NULL, 1, TEXT(""), TEXT(""), &template, &error));
  BAD(chat_template_from_bytes(TEXT("a"), NULL, &error));
  BAD(chat_template_from_bytes(NULL, 1, &template, &error));
  BAD(chat_template_with_options(TEXT("a"), TEXT("{}"), NULL, &error));
  BAD(chat_template_with_options(NULL, 1, TEXT("{}"), &template, &error));
  BAD(chat_template_with_options(TEXT("a"), NULL, 1, &template, &error));
  BAD(chat_template_new(NULL, 0, NULL, 0, NULL, 0, &template, &error));

  chat_str text;
  OK(chat_template_builtin(TEXT("chatml"), &template, &error));
  BAD(chat_template_report(template, CHAT_REPORT_CAPS, NULL, &error));
  BAD(chat_template_report(template, 0, &text, &error));
  BAD(chat_template_report(template, CHAT_REPORT_RESPONSE_TEMPLATE_SGLANG + 1, &text, &error));
  BAD(chat_log_set(NULL, NULL, 0, &error));
  BAD(chat_template_to_bytes(template, NULL, &error));
  BAD(chat_template_reader(template, NULL, &error));
  size_t count = 7;
  BAD(chat_template_proof(template, NULL, &count, &error));
  BAD(chat_template_proof(template, &count, NULL, &error));
  CHECK(count == 7);
  BAD(chat_params_from_template(template, TEXT("{\"messages\": []}"), NULL, &error));
  BAD(chat_params_from_template(template, NULL, 2, &params, &error));
  BAD(chat_params_from_template(template, NULL, 0, &params, &error));
  OK(chat_params_from_template(template, TEXT("{\"messages\": []}"), &params, &error));
  BAD(chat_params_from_template_with(template, TEXT("{\"messages\": []}"), NULL, 2, &params, &error));
  BAD(chat_params_from_template_with(template, TEXT("{\"messages\": []}"), TEXT("{}"), NULL, &error));
  BAD(chat_params_json(params, NULL, &error));
  BAD(chat_params_grammar(params, CHAT_DIALECT_LARK, NULL, &error));
  BAD(chat_parse_partial(params, TEXT(""), 0, NULL, &error));
  BAD(chat_parse_partial(params, NULL, 1, 0, &message, &error));
  OK(chat_parse_partial(params, NULL, 0, CHAT_PARSE_PARTIAL, &message, &error));
  BAD(chat_message_json(message, NULL, &error));
  BAD(chat_message_report_json(message, NULL, &error));
  BAD(chat_stream_new(params, NULL, &error));
  OK(chat_stream_new(params, &stream, &error));
  BAD(chat_stream_feed(stream, NULL, 1, &error));
  OK(chat_stream_feed(stream, NULL, 0, &error));
  OK(chat_stream_feed(stream, TEXT("x"), &error));
  BAD(chat_stream_set_special_tokens(stream, NULL, 1, &error));
  BAD(chat_stream_message(stream, NULL, &error));
  BAD(chat_stream_clone(stream, NULL, &error));
  BAD(chat_stream_chunk_json(stream, NULL, &error));

  // The same calls without anybody who wants to know why.
  CHECK(chat_stream_feed(stream, NULL, 1, NULL) == CHAT_STATUS_INVALID_ARGUMENT);
  CHECK(chat_stream_clone(stream, NULL, NULL) == CHAT_STATUS_INVALID_ARGUMENT);
  CHECK(chat_stream_reset(NULL, NULL) == CHAT_STATUS_INVALID_ARGUMENT);
  CHECK(chat_stream_rollback(stream, 0, NULL) == CHAT_STATUS_INVALID_ARGUMENT);

  chat_stream_free(stream);
  chat_message_free(message);
  chat_params_free(params);
  chat_template_free(template);
}

static void parsers(void) {
  chat_params *params = builtin_params("chatml", HI_REQUEST);
  chat_parser *parser = NULL, *other = NULL;
  chat_message *message = NULL;
  BAD(chat_params_parser(params, NULL, &error));
  OK(chat_params_parser(params, &parser, &error));
  chat_params_free(params);
  BAD(chat_parser_json(parser, NULL, &error));
  BAD(chat_parser_grammar(parser, false, NULL, &error));
  BAD(chat_parser_parse(parser, TEXT("x"), 0, NULL, &error));
  BAD(chat_parser_parse(parser, NULL, 1, 0, &message, &error));
  OK(chat_parser_parse(parser, NULL, 0, 0, &message, &error));
  BAD(chat_message_tree_json(message, NULL, &error));
  chat_message_free(message);
  message = NULL;
  BAD(chat_parser_from_json(TEXT("{}"), NULL, &error));
  BAD(chat_parser_from_json(NULL, 2, &other, &error));
  BAD(chat_parser_from_json(NULL, 0, &other, &error));
  BAD(chat_stream_from_parser(parser, NULL, &error));
  BAD(chat_parser_tagged(parser, TEXT("x"), 0, 0, NULL, &error));
  BAD(chat_parser_tagged(parser, NULL, 1, 0, 0, &message, &error));
  CHECK(chat_parser_json(parser, NULL, NULL) == CHAT_STATUS_INVALID_ARGUMENT);
  chat_parser_free(parser);
}

static void grammars(void) {
  static const char widened[] = "{\"pattern\": \"^\\\\p{L}\"}";
  chat_grammar *grammar = NULL;
  chat_grammar_builder *builder = NULL;
  chat_str name = {NULL, 0};
  BAD(chat_grammar_builder_set_style(NULL, CHAT_GRAMMAR_STYLE_FAITHFUL, &error));
  BAD(chat_grammar_from_json_schema(TEXT("{}"), 0, &grammar, &error));
  BAD(chat_grammar_from_json_schema(TEXT("{}"), CHAT_GRAMMAR_STYLE_FAITHFUL, NULL, &error));
  BAD(chat_grammar_from_json_schema(NULL, 2, CHAT_GRAMMAR_STYLE_FAITHFUL, &grammar, &error));
  BAD(chat_grammar_from_json_schema(NULL, 0, CHAT_GRAMMAR_STYLE_FAITHFUL, &grammar, &error));
  CHECK(grammar == NULL);
  OK(chat_grammar_from_json_schema(TEXT(widened), CHAT_GRAMMAR_STYLE_FAITHFUL, &grammar, &error));
  CHECK(chat_grammar_view(grammar)->report.len > 0);
  BAD(chat_grammar_as(grammar, CHAT_DIALECT_LARK, NULL, &error));
  chat_grammar_free(grammar);
  grammar = NULL;

  chat_grammar_verdict verdict = CHAT_GRAMMAR_VERDICT_REFUSED;
  BAD(chat_grammar_check(TEXT("root ::= \"a\""), TEXT("a"), NULL, &error));
  BAD(chat_grammar_check(NULL, 1, TEXT("a"), &verdict, &error));
  BAD(chat_grammar_check(NULL, 0, TEXT("a"), &verdict, &error));
  BAD(chat_grammar_check(TEXT("root ::= \"a\""), NULL, 1, &verdict, &error));
  CHECK(verdict == CHAT_GRAMMAR_VERDICT_REFUSED);
  OK(chat_grammar_check(TEXT("root ::= \"a\""), NULL, 0, &verdict, &error));
  CHECK(verdict == CHAT_GRAMMAR_VERDICT_PREFIX);

  BAD(chat_grammar_builder_new(NULL, &error));
  OK(chat_grammar_builder_new(&builder, &error));
  BAD(chat_grammar_builder_add_rule(builder, NULL, 1, TEXT("b"), &name, &error));
  BAD(chat_grammar_builder_add_rule(builder, TEXT("a"), NULL, 1, &name, &error));
  BAD(chat_grammar_builder_add_rule(builder, TEXT("a"), NULL, 0, &name, &error));
  BAD(chat_grammar_builder_add_rule(builder, TEXT("a"), TEXT("b"), NULL, &error));
  BAD(chat_grammar_builder_add_literal(builder, NULL, 1, TEXT("b"), &name, &error));
  BAD(chat_grammar_builder_add_literal(builder, TEXT("a"), NULL, 1, &name, &error));
  BAD(chat_grammar_builder_add_literal(builder, TEXT("a"), TEXT("b"), NULL, &error));
  BAD(chat_grammar_builder_add_schema(builder, NULL, 1, TEXT("{}"), &name, &error));
  BAD(chat_grammar_builder_add_schema(builder, TEXT("a"), NULL, 2, &name, &error));
  BAD(chat_grammar_builder_add_schema(builder, TEXT("a"), TEXT("{}"), NULL, &error));
  BAD(chat_grammar_builder_build(builder, &grammar, &error));
  CHECK(name.data == NULL && grammar == NULL);
  // No text is a text, and no name is the root's.
  OK(chat_grammar_builder_add_literal(builder, NULL, 0, NULL, 0, &name, &error));
  CHECK(is(name, "root"));
  BAD(chat_grammar_builder_build(builder, NULL, &error));
  chat_grammar_builder_free(builder);
}

int main(void) {
  handles();
  fields();
  frees();
  no_pointers();
  outputs_and_texts();
  parsers();
  grammars();
  return 0;
}
