// No object needs another: whatever order they are freed in, those that are left work, and so do their views.
#include "support.h"

static const char OUTPUT[] = "Wait. <tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>";

enum { TEMPLATE, PARAMS, PARSER, GRAMMAR, STREAM, MESSAGE, KINDS };

typedef struct {
  chat_template *template;
  chat_params *params;
  chat_parser *parser;
  chat_grammar *grammar;
  chat_stream *stream;
  chat_message *message;
} all;

static all made(void) {
  all all = {0};
  OK(chat_template_new(TEXT(TOOL_TEMPLATE), TEXT(""), TEXT("<|end|>"), &all.template, &error));
  OK(chat_params_from_template(all.template, TEXT(TOOL_REQUEST("")), &all.params, &error));
  OK(chat_params_parser(all.params, &all.parser, &error));
  OK(chat_params_grammar(all.params, CHAT_DIALECT_GBNF, &all.grammar, &error));
  OK(chat_stream_from_parser(all.parser, &all.stream, &error));
  OK(chat_stream_feed(all.stream, OUTPUT, 20, &error));
  OK(chat_stream_message(all.stream, &all.message, &error));
  return all;
}

// Uses what is there.
static void use(const all *all) {
  chat_str text;
  if (all->template != NULL) {
    chat_params *params = NULL;
    OK(chat_params_from_template(all->template, TEXT(TOOL_REQUEST("")), &params, &error));
    chat_params_free(params);
  }
  if (all->params != NULL) {
    CHECK(contains(chat_params_view(all->params)->prompt, "Hi"));
    OK(chat_params_json(all->params, &text, &error));
  }
  if (all->parser != NULL) {
    chat_message *message = NULL;
    OK(chat_parser_parse(all->parser, TEXT(OUTPUT), CHAT_PARSE_STRICT, &message, &error));
    OK(chat_parser_json(all->parser, &text, &error));
    CHECK(is(chat_message_view(message)->calls.data[0].name, "f"));
    chat_message_free(message);
  }
  if (all->grammar != NULL) CHECK(contains(chat_grammar_view(all->grammar)->text, "root ::= "));
  if (all->stream != NULL) {
    chat_stream *stream = NULL;
    chat_message *message = NULL;
    OK(chat_stream_clone(all->stream, &stream, &error));
    OK(chat_stream_feed(stream, OUTPUT + 20, sizeof OUTPUT - 21, &error));
    OK(chat_stream_finish(stream, CHAT_PARSE_STRICT, &error));
    OK(chat_stream_message(stream, &message, &error));
    chat_stream_free(stream);
    CHECK(is(chat_message_view(message)->calls.data[0].arguments, "{\"a\": 1}"));
    chat_message_free(message);
    OK(chat_stream_reset(all->stream, &error));
    OK(chat_stream_feed(all->stream, OUTPUT, 20, &error));
  }
  if (all->message != NULL) {
    CHECK(contains(chat_message_view(all->message)->content, "Wait."));
    OK(chat_message_json(all->message, &text, &error));
  }
}

static void drop(all *all, int kind) {
  switch (kind) {
    case TEMPLATE: chat_template_free(all->template); all->template = NULL; break;
    case PARAMS: chat_params_free(all->params); all->params = NULL; break;
    case PARSER: chat_parser_free(all->parser); all->parser = NULL; break;
    case GRAMMAR: chat_grammar_free(all->grammar); all->grammar = NULL; break;
    case STREAM: chat_stream_free(all->stream); all->stream = NULL; break;
    default: chat_message_free(all->message); all->message = NULL; break;
  }
}

// Each order that begins with two that were chosen: the rest follows from the first to the last, or backwards.
static void orders(void) {
  for (int number = 0; number < 2 * KINDS * KINDS; number++) {
    const int chosen[] = {number / 2 % KINDS, number / 2 / KINDS};
    all all = made();
    for (int i = 0; i < 2; i++) {
      drop(&all, chosen[i]);
      use(&all);
    }
    for (int i = 0; i < KINDS; i++) {
      drop(&all, number % 2 ? i : KINDS - 1 - i);
      use(&all);
    }
  }
}

// What builders have built does not change with them, nor need them.
static void builders(void) {
  chat_grammar_builder *rules = NULL;
  chat_grammar *grammar = NULL;
  chat_parser *parser = NULL;
  chat_message *message = NULL;
  chat_error *kept = NULL;
  chat_str name;
  OK(chat_grammar_builder_new(&rules, &error));
  OK(chat_grammar_builder_add_literal(rules, TEXT("root"), TEXT("x"), &name, &error));
  OK(chat_grammar_builder_build(rules, &grammar, &error));
  CHECK(chat_grammar_builder_add_rule(rules, TEXT("a"), TEXT("("), &name, &kept) == CHAT_STATUS_INVALID_ARGUMENT);
  chat_grammar_builder_free(rules);
  CHECK(contains(chat_grammar_view(grammar)->text, "root ::= \"x\"") && chat_error_message(kept).len > 0);
  chat_grammar_free(grammar);
  CHECK(chat_error_status(kept) == CHAT_STATUS_INVALID_ARGUMENT);
  chat_error_free(kept);

  // A text may be gone as soon as the call is over.
  char text[] = "{\"format\": {\"root\": {\"sequence\": [{\"tag\": [\"reasoning\", {\"until\": [\"|\"]}]}, {\"literal\": \"|\"}]}}}";
  OK(chat_parser_from_json(text, sizeof text - 1, &parser, &error));
  memset(text, 'x', sizeof text);
  OK(chat_parser_parse(parser, TEXT("a|b"), 0, &message, &error));
  chat_parser_free(parser);
  CHECK(is(chat_message_view(message)->reasoning, "a") && is(chat_message_view(message)->content, "b"));
  chat_message_free(message);
}

// Whatever was made and not used can be freed as it is.
static void unused(void) {
  all all = made();
  chat_stream *stream = NULL;
  OK(chat_stream_new(all.params, &stream, &error));
  chat_stream_free(stream);
  for (int i = KINDS - 1; i >= 0; i--) drop(&all, i);
}

int main(void) {
  orders();
  builders();
  unused();
  return 0;
}
