// `const` means concurrent: threads with small stacks share a template that nobody has used yet, and params.
#include <pthread.h>

#include "support.h"

enum { THREADS = 4, ROUNDS = 8, STACK_BYTES = 1 << 20 };

static const char REQUEST[] =
    "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}],"
    " \"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"f\", \"parameters\": {\"type\": \"object\","
    " \"properties\": {\"a\": {\"type\": \"integer\"}}}}}]}";

static const char OUTPUT[] = "One call. <tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>";

typedef struct {
  const chat_template *template;
  const chat_params *params;
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

static void *work(void *data) {
  const shared *shared = data;
  for (int i = 0; i < ROUNDS; i++) {
    chat_params *own = NULL;
    chat_str caps, json;
    OK(chat_template_caps_json(shared->template, &caps, &error));
    OK(chat_params_json(shared->params, &json, &error));
    OK(chat_params_from_template(shared->template, TEXT(REQUEST), &own, &error));
    parse(own);
    chat_params_free(own);
    parse(shared->params);
  }
  return NULL;
}

int main(void) {
  chat_template *template = NULL, *first = NULL;
  chat_params *params = NULL;
  pthread_t threads[THREADS];
  pthread_attr_t small;
  OK(chat_template_new(TEXT(TOOL_TEMPLATE), TEXT(""), TEXT("<|end|>"), &template, &error));
  OK(chat_template_new(TEXT(TOOL_TEMPLATE), TEXT(""), TEXT("<|end|>"), &first, &error));
  OK(chat_params_from_template(first, TEXT(REQUEST), &params, &error));
  chat_template_free(first);

  shared shared = {template, params};
  CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, STACK_BYTES) == 0);
  for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], &small, work, &shared) == 0);
  for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  pthread_attr_destroy(&small);

  chat_params_free(params);
  chat_template_free(template);
  return 0;
}
