// `const` means concurrent: threads with small stacks share a template that nobody has used yet,
// params and a parser; grammars and messages go from one to another.
#include <pthread.h>

#include "support.h"

enum { THREADS = 4, ROUNDS = 8, STACK_BYTES = 1 << 20 };

static const char REQUEST[] = TOOL_REQUEST("");

static const char OUTPUT[] = "One call. <tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>";

typedef struct {
  const chat_template *template;
  const chat_params *params;
  const chat_parser *parser;
  // Whatever a thread has made another may free.
  chat_message *message;
} shared;

static void parse(const chat_params *params) {
  chat_stream *stream = NULL;
  chat_message *message = NULL;
  OK(chat_stream_new(params, &stream, &error));
  for (size_t i = 0; i < sizeof OUTPUT - 1; i++) OK(chat_stream_feed(stream, OUTPUT + i, 1, &error));
  OK(chat_stream_finish(stream, CHAT_PARSE_STRICT, &error));
  OK(chat_stream_message(stream, &message, &error));
  CHECK(is(chat_message_tool_call_arguments(message, 0), "{\"a\": 1}"));
  chat_message_free(message);
  chat_stream_free(stream);
}

// What several make at once for the first time is the same for all.
static void read_shared(const chat_params *params, const chat_parser *parser) {
  chat_grammar *grammar = NULL, *other = NULL;
  chat_stream *stream = NULL;
  chat_parser *again = NULL;
  chat_str text;
  OK(chat_params_grammar(params, &grammar, &error));
  OK(chat_parser_grammar(parser, true, &other, &error));
  CHECK(same_text(chat_grammar_text(grammar), chat_grammar_text(other)));
  chat_grammar_free(grammar);
  chat_grammar_free(other);
  OK(chat_parser_text(parser, &text, &error));
  OK(chat_parser_from_text(text.data, text.len, &again, &error));
  OK(chat_stream_from_parser(parser, &stream, &error));
  OK(chat_stream_feed(stream, TEXT(OUTPUT), &error));
  chat_stream_free(stream);
  chat_parser_free(again);
}

static void *work(void *data) {
  shared *shared = data;
  for (int i = 0; i < ROUNDS; i++) {
    chat_params *own = NULL;
    chat_str caps, json;
    OK(chat_template_caps_json(shared->template, &caps, &error));
    OK(chat_params_json(shared->params, &json, &error));
    OK(chat_params_from_template(shared->template, TEXT(REQUEST), &own, &error));
    parse(own);
    chat_params_free(own);
    parse(shared->params);
    read_shared(shared->params, shared->parser);
  }
  OK(chat_parser_parse(shared->parser, TEXT(OUTPUT), CHAT_PARSE_STRICT, &shared->message, &error));
  return NULL;
}

int main(void) {
  chat_template *template = NULL, *first = NULL;
  chat_params *params = NULL;
  chat_parser *parser = NULL;
  pthread_t threads[THREADS];
  pthread_attr_t small;
  OK(chat_template_new(TEXT(TOOL_TEMPLATE), TEXT(""), TEXT("<|end|>"), &template, &error));
  OK(chat_template_new(TEXT(TOOL_TEMPLATE), TEXT(""), TEXT("<|end|>"), &first, &error));
  OK(chat_params_from_template(first, TEXT(REQUEST), &params, &error));
  chat_template_free(first);
  OK(chat_params_parser(params, &parser, &error));

  shared shared[THREADS];
  for (int i = 0; i < THREADS; i++) {
    shared[i].template = template;
    shared[i].params = params;
    shared[i].parser = parser;
    shared[i].message = NULL;
  }
  CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, STACK_BYTES) == 0);
  for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], &small, work, &shared[i]) == 0);
  for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  pthread_attr_destroy(&small);

  chat_parser_free(parser);
  chat_params_free(params);
  chat_template_free(template);
  for (int i = 0; i < THREADS; i++) {
    CHECK(is(chat_message_tool_call_name(shared[i].message, 0), "f"));
    chat_message_free(shared[i].message);
  }
  return 0;
}
