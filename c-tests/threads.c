// `const` means concurrent: threads with small stacks share a template that nobody has used yet, params, a parser and messages;
// grammars and messages go from one to another. What several of them make first, all of them make at once.
#include <pthread.h>

#include "support.h"

// Under a checker of threads, each round counts.
#ifndef ROUNDS
#define ROUNDS 8
#endif
enum { THREADS = 4, STACK_BYTES = 1 << 20, REQUESTS = 3 };

// The second finds its format where the first left it, the third does not.
static const char *const requests[REQUESTS] = {
    TOOL_REQUEST(""),
    "{\"messages\": [{\"role\": \"user\", \"content\": \"Again\"}], \"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"f\","
    " \"parameters\": {\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"integer\"}}}}}]}",
    TOOL_REQUEST(", \"parallel_tool_calls\": true, \"dialects\": \"always\", \"calls_in_reasoning\": \"always\""),
};

static const char OUTPUT[] = "One call. <tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>";

// Leaves the format, and has a call in another dialect behind that.
static const char LEAVES[] =
    "Two. <tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call> So.\n<function=f>\n<parameter=a>\n22\n</parameter>\n</function>";

// Lets all threads through once all have come.
typedef struct {
  pthread_mutex_t mutex;
  pthread_cond_t all;
  int waiting, opened;
} gate;

static void come_together(gate *gate) {
  CHECK(pthread_mutex_lock(&gate->mutex) == 0);
  const int opened = gate->opened;
  if (++gate->waiting == THREADS) {
    gate->waiting = 0;
    gate->opened++;
    CHECK(pthread_cond_broadcast(&gate->all) == 0);
  }
  while (gate->opened == opened) CHECK(pthread_cond_wait(&gate->all, &gate->mutex) == 0);
  CHECK(pthread_mutex_unlock(&gate->mutex) == 0);
}

typedef struct {
  gate *gate;
  // Of each round, and used by nobody before.
  chat_template *const *templates, *const *families;
  chat_params *const *params;
  chat_parser *const *parsers;
  chat_message *const *messages;
  int number;
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
  CHECK(is(chat_message_view(message)->calls.data[0].arguments, "{\"a\": 1}"));
  chat_message_free(message);
  chat_stream_free(stream);
}

// What is read where the format has ended is compiled when the first output gets there.
static void leave_format(const chat_parser *parser) {
  chat_stream *stream = NULL;
  chat_message *message = NULL;
  OK(chat_stream_from_parser(parser, &stream, &error));
  OK(chat_stream_feed(stream, LEAVES, 20, &error));
  OK(chat_stream_checkpoint(stream, &error));
  OK(chat_stream_feed(stream, LEAVES + 20, sizeof LEAVES - 21, &error));
  OK(chat_stream_rollback(stream, 30, &error));
  OK(chat_stream_feed(stream, LEAVES + 30, sizeof LEAVES - 31, &error));
  OK(chat_stream_finish(stream, 0, &error));
  OK(chat_stream_message(stream, &message, &error));
  CHECK(chat_message_view(message)->outcome == CHAT_OUTCOME_RECOVERED && chat_message_view(message)->calls.len == 2);
  CHECK(chat_message_report(message)->calls.data[1].valid);
  chat_message_free(message);
  chat_stream_free(stream);
}

// What several make at once for the first time is the same for all.
static void read_shared(const chat_params *params, const chat_parser *parser) {
  chat_grammar *grammar = NULL, *other = NULL;
  chat_parser *again = NULL;
  chat_str text;
  OK(chat_params_grammar(params, CHAT_DIALECT_GBNF, &grammar, &error));
  OK(chat_parser_grammar(parser, true, &other, &error));
  // The same rules, in another order.
  CHECK(chat_grammar_view(grammar)->text.len == chat_grammar_view(other)->text.len);
  chat_grammar_free(grammar);
  chat_grammar_free(other);
  OK(chat_params_json(params, &text, &error));
  OK(chat_parser_json(parser, &text, &error));
  OK(chat_parser_from_json(text.data, text.len, &again, &error));
  chat_parser_free(again);
}

// The first question about a call judges the message.
static void judge(const chat_message *message) {
  chat_diagnostic diagnostic;
  chat_str report;
  CHECK(chat_message_view(message)->calls.len == 2 && chat_message_report(message)->calls.data[0].valid);
  CHECK(chat_message_report(message)->diagnostics.len > 0);
  diagnostic = chat_message_report(message)->diagnostics.data[0];
  CHECK(diagnostic.message.len > 0);
  OK(chat_message_report_json(message, &report, &error));
  CHECK(contains(report, "\"status\":\"recovered\""));
}

// Candidates prove themselves, then the one that was taken does.
static void prove(const chat_template *family) {
  chat_params *params = NULL;
  chat_str reader, proof;
  OK(chat_params_from_template(family, TEXT(TOOL_REQUEST("")), &params, &error));
  chat_params_free(params);
  OK(chat_template_reader(family, &reader, &error));
  CHECK(is(reader, "kimi-k2"));
  OK(chat_template_report(family, CHAT_REPORT_PROOF, &proof, &error));
  CHECK(contains(proof, "\"failures\":[]"));
}

static void *work(void *data) {
  shared *shared = data;
  for (int i = 0; i < ROUNDS; i++) {
    chat_str caps;
    come_together(shared->gate);
    judge(shared->messages[i]);
    come_together(shared->gate);
    leave_format(shared->parsers[i]);
    come_together(shared->gate);
    read_shared(shared->params[i], shared->parsers[i]);
    parse(shared->params[i]);
    come_together(shared->gate);
    for (int request = 0; request < REQUESTS; request++) {
      const char *text = requests[(request + shared->number) % REQUESTS];
      chat_params *own = NULL;
      OK(chat_params_from_template(shared->templates[i], text, strlen(text), &own, &error));
      parse(own);
      chat_params_free(own);
    }
    OK(chat_template_report(shared->templates[i], CHAT_REPORT_CAPS, &caps, &error));
    come_together(shared->gate);
    prove(shared->families[i]);
  }
  OK(chat_parser_parse(shared->parsers[0], TEXT(OUTPUT), CHAT_PARSE_STRICT, &shared->message, &error));
  return NULL;
}

int main(void) {
  chat_template *templates[ROUNDS], *families[ROUNDS], *first = NULL;
  chat_params *params[ROUNDS];
  chat_parser *parsers[ROUNDS];
  chat_message *messages[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    chat_parser *parser = NULL;
    chat_str text;
    OK(chat_template_new(TEXT(TOOL_TEMPLATE), TEXT(""), TEXT("<|end|>"), &templates[i], &error));
    OK(chat_template_builtin(TEXT("kimi-k2"), &families[i], &error));
    OK(chat_template_new(TEXT(TOOL_TEMPLATE), TEXT(""), TEXT("<|end|>"), &first, &error));
    OK(chat_params_from_template(first, requests[0], strlen(requests[0]), &params[i], &error));
    chat_template_free(first);
    OK(chat_parse_partial(params[i], TEXT(LEAVES), 0, &messages[i], &error));
    // One that has compiled nothing.
    OK(chat_params_parser(params[i], &parser, &error));
    OK(chat_parser_json(parser, &text, &error));
    OK(chat_parser_from_json(text.data, text.len, &parsers[i], &error));
    chat_parser_free(parser);
  }

  gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
  shared shared[THREADS];
  pthread_t threads[THREADS];
  pthread_attr_t small;
  CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, STACK_BYTES) == 0);
  for (int i = 0; i < THREADS; i++) {
    shared[i].gate = &gate;
    shared[i].templates = templates;
    shared[i].families = families;
    shared[i].params = params;
    shared[i].parsers = parsers;
    shared[i].messages = messages;
    shared[i].number = i;
    shared[i].message = NULL;
    CHECK(pthread_create(&threads[i], &small, work, &shared[i]) == 0);
  }
  for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  pthread_attr_destroy(&small);

  for (int i = 0; i < ROUNDS; i++) {
    chat_message_free(messages[i]);
    chat_parser_free(parsers[i]);
    chat_params_free(params[i]);
    chat_template_free(templates[i]);
    chat_template_free(families[i]);
  }
  for (int i = 0; i < THREADS; i++) {
    CHECK(is(chat_message_view(shared[i].message)->calls.data[0].name, "f"));
    chat_message_free(shared[i].message);
  }
  return 0;
}
