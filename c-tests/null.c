// NULL anywhere is an error or an empty value, never a crash, and errors nobody wants are not made.
#include "support.h"

static void handles(void) {
  chat_template *template = NULL;
  chat_params *params = NULL;
  chat_message *message = NULL;
  chat_stream *stream = NULL;
  chat_grammar *grammar = NULL;
  chat_grammar_builder *builder = NULL;
  chat_fidelity fidelity;
  chat_trigger trigger;
  chat_delta delta;
  chat_str text;
  BAD(chat_template_caps_json(NULL, &text, &error));
  BAD(chat_params_from_template(NULL, TEXT("{}"), &params, &error));
  BAD(chat_params_json(NULL, &text, &error));
  BAD(chat_params_grammar(NULL, &grammar, &error));
  BAD(chat_params_grammar_trigger(NULL, 0, &trigger, &error));
  BAD(chat_grammar_report(NULL, 0, &fidelity, &error));
  BAD(chat_grammar_builder_add_rule(NULL, TEXT("a"), TEXT("b"), &text, &error));
  BAD(chat_grammar_builder_add_literal(NULL, TEXT("a"), TEXT("b"), &text, &error));
  BAD(chat_grammar_builder_add_schema(NULL, TEXT("a"), TEXT("{}"), &text, &error));
  BAD(chat_grammar_builder_build(NULL, &grammar, &error));
  BAD(chat_parse_partial(NULL, TEXT(""), 0, &message, &error));
  BAD(chat_message_json(NULL, &text, &error));
  BAD(chat_stream_new(NULL, &stream, &error));
  BAD(chat_stream_feed(NULL, TEXT("x"), &error));
  BAD(chat_stream_finish(NULL, 0, &error));
  BAD(chat_stream_delta(NULL, 0, &delta, &error));
  BAD(chat_stream_message(NULL, &message, &error));
  BAD(chat_stream_clone(NULL, &stream, &error));
  BAD(chat_stream_reset(NULL, &error));
  CHECK(template == NULL && params == NULL && message == NULL && stream == NULL);
  CHECK(grammar == NULL && builder == NULL);
}

static void fields(void) {
  CHECK(is(chat_template_source(NULL), ""));
  CHECK(is(chat_params_prompt(NULL), ""));
  CHECK(is(chat_params_generation_prompt(NULL), ""));
  CHECK(is(chat_grammar_text(NULL), ""));
  CHECK(is(chat_message_content(NULL), ""));
  CHECK(is(chat_message_reasoning(NULL), ""));
  CHECK(is(chat_message_tool_call_name(NULL, 0), ""));
  CHECK(is(chat_message_tool_call_id(NULL, 0), ""));
  CHECK(is(chat_message_tool_call_arguments(NULL, 0), ""));
  CHECK(is(chat_error_message(NULL), ""));
  CHECK(chat_message_content(NULL).data != NULL);
  CHECK(!chat_params_grammar_lazy(NULL));
  CHECK(chat_params_grammar_trigger_count(NULL) == 0);
  CHECK(chat_grammar_report_count(NULL) == 0);
  CHECK(chat_message_tool_call_count(NULL) == 0);
  CHECK(chat_stream_delta_count(NULL) == 0);
  CHECK(chat_message_outcome(NULL) == CHAT_OUTCOME_NONE);
  CHECK(chat_stream_outcome(NULL) == CHAT_OUTCOME_NONE);
  CHECK(chat_error_status(NULL) == CHAT_STATUS_INVALID_ARGUMENT);
}

static void frees(void) {
  chat_error_free(NULL);
  chat_template_free(NULL);
  chat_params_free(NULL);
  chat_grammar_free(NULL);
  chat_grammar_builder_free(NULL);
  chat_message_free(NULL);
  chat_stream_free(NULL);
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
  OK(chat_template_new(NULL, 0, NULL, 0, NULL, 0, &template, &error));
  chat_template_free(template);

  OK(chat_template_builtin(TEXT("chatml"), &template, &error));
  BAD(chat_template_caps_json(template, NULL, &error));
  BAD(chat_params_from_template(template, TEXT("{\"messages\": []}"), NULL, &error));
  BAD(chat_params_from_template(template, NULL, 2, &params, &error));
  BAD(chat_params_from_template(template, NULL, 0, &params, &error));
  OK(chat_params_from_template(template, TEXT("{\"messages\": []}"), &params, &error));
  BAD(chat_params_json(params, NULL, &error));
  BAD(chat_params_grammar(params, NULL, &error));
  BAD(chat_params_grammar_trigger(params, 0, NULL, &error));
  BAD(chat_parse_partial(params, TEXT(""), 0, NULL, &error));
  BAD(chat_parse_partial(params, NULL, 1, 0, &message, &error));
  OK(chat_parse_partial(params, NULL, 0, CHAT_PARSE_PARTIAL, &message, &error));
  BAD(chat_message_json(message, NULL, &error));
  BAD(chat_stream_new(params, NULL, &error));
  OK(chat_stream_new(params, &stream, &error));
  BAD(chat_stream_feed(stream, NULL, 1, &error));
  OK(chat_stream_feed(stream, NULL, 0, &error));
  OK(chat_stream_feed(stream, TEXT("x"), &error));
  BAD(chat_stream_delta(stream, 0, NULL, &error));
  BAD(chat_stream_message(stream, NULL, &error));
  BAD(chat_stream_clone(stream, NULL, &error));

  // The same calls without anybody who wants to know why.
  CHECK(chat_stream_feed(stream, NULL, 1, NULL) == CHAT_STATUS_INVALID_ARGUMENT);
  CHECK(chat_stream_clone(stream, NULL, NULL) == CHAT_STATUS_INVALID_ARGUMENT);
  CHECK(chat_stream_reset(NULL, NULL) == CHAT_STATUS_INVALID_ARGUMENT);

  chat_stream_free(stream);
  chat_message_free(message);
  chat_params_free(params);
  chat_template_free(template);
}

static void grammars(void) {
  static const char widened[] = "{\"pattern\": \"^(?=a)\"}";
  chat_grammar *grammar = NULL;
  chat_grammar_builder *builder = NULL;
  chat_str name = {NULL, 0};
  BAD(chat_grammar_from_json_schema(TEXT("{}"), NULL, &error));
  BAD(chat_grammar_from_json_schema(NULL, 2, &grammar, &error));
  BAD(chat_grammar_from_json_schema(NULL, 0, &grammar, &error));
  CHECK(grammar == NULL);
  OK(chat_grammar_from_json_schema(TEXT(widened), &grammar, &error));
  CHECK(chat_grammar_report_count(grammar) == 1);
  BAD(chat_grammar_report(grammar, 0, NULL, &error));
  chat_grammar_free(grammar);
  grammar = NULL;

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
  outputs_and_texts();
  grammars();
  return 0;
}
