// What no caller should do, and some will: numbers that mean nothing, indices out of range, texts that are no UTF-8, outputs that
// were in use, streams that are finished. A status each time, and what was there is as it was.
#include "support.h"

static void unknown_numbers(const chat_params *params) {
  static const uint32_t unknown[] = {4, 8, 7, 0x80000000u, UINT32_MAX};
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
    chat_message *message = NULL;
    chat_parser *parser = NULL;
    chat_stream *stream = NULL;
    SAYS(CHAT_STATUS_INVALID_ARGUMENT, "flags: 0x", chat_parse_partial(params, TEXT("x"), unknown[i], &message, &error));
    OK(chat_params_parser(params, &parser, &error));
    SAYS(CHAT_STATUS_INVALID_ARGUMENT, "flags: 0x", chat_parser_parse(parser, TEXT("x"), unknown[i], &message, &error));
    chat_parser_free(parser);
    CHECK(message == NULL);
    OK(chat_stream_new(params, &stream, &error));
    SAYS(CHAT_STATUS_INVALID_ARGUMENT, "flags: 0x", chat_stream_finish(stream, unknown[i], &error));
    // That did not finish it.
    OK(chat_stream_feed(stream, TEXT("x"), &error));
    OK(chat_stream_finish(stream, 0, &error));
    chat_stream_free(stream);
    CHECK(strcmp(chat_status_name(unknown[i]), "unknown") == 0);
  }
}

// A rollback needs a checkpoint and a length between it and the end; otherwise nothing changes, the deltas neither.
static void rollbacks(const chat_params *params) {
  static const size_t wrong[] = {0, 1, 7, SIZE_MAX / 2, SIZE_MAX};
  chat_stream *stream = NULL;
  chat_message *message = NULL;
  OK(chat_stream_new(params, &stream, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "checkpoint", chat_stream_rollback(stream, 0, &error));
  OK(chat_stream_feed(stream, TEXT("Hi"), &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "checkpoint", chat_stream_rollback(stream, 2, &error));
  OK(chat_stream_checkpoint(stream, &error));
  OK(chat_stream_feed(stream, TEXT(" you"), &error));
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    SAYS(CHAT_STATUS_INVALID_ARGUMENT, "length: ", chat_stream_rollback(stream, wrong[i], &error));
    CHECK(chat_stream_view(stream)->deltas.len == 1);
  }
  // A finished stream takes no checkpoint, and keeps the one that it has.
  OK(chat_stream_finish(stream, 0, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "finished", chat_stream_checkpoint(stream, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "length: ", chat_stream_rollback(stream, 7, &error));
  CHECK(chat_stream_view(stream)->outcome == CHAT_OUTCOME_COMPLETE);
  OK(chat_stream_message(stream, &message, &error));
  CHECK(is(chat_message_view(message)->content, "Hi you"));
  chat_message_free(message);
  // The checkpoint goes with the output.
  OK(chat_stream_reset(stream, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "checkpoint", chat_stream_rollback(stream, 0, &error));
  chat_stream_free(stream);
}

// A finished stream takes nothing more, says so, and keeps what it has.
static void finished(const chat_params *params) {
  chat_stream *stream = NULL;
  chat_message *message = NULL;
  OK(chat_stream_new(params, &stream, &error));
  OK(chat_stream_feed(stream, TEXT("Hi <tool"), &error));
  OK(chat_stream_finish(stream, 0, &error));
  const size_t deltas = chat_stream_view(stream)->deltas.len;
  CHECK(deltas > 0);
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "finished", chat_stream_feed(stream, TEXT("more"), &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "finished", chat_stream_feed(stream, TEXT(""), &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "finished", chat_stream_finish(stream, CHAT_PARSE_PARTIAL, &error));
  CHECK(chat_stream_view(stream)->deltas.len == deltas && chat_stream_view(stream)->outcome == CHAT_OUTCOME_COMPLETE);
  OK(chat_stream_message(stream, &message, &error));
  CHECK(is(chat_message_view(message)->content, "Hi <tool"));
  chat_message_free(message);
  chat_stream_free(stream);
}

// What the variables for outputs held is not looked at, and not touched by a call that fails.
static void outputs_in_use(const chat_params *params) {
  chat_stream *const marked = (chat_stream *)(void *)&marked;
  chat_stream *stream = marked;
  chat_error *const stale = (chat_error *)(void *)&stale;
  chat_error *error = stale;
  CHECK(chat_stream_new(NULL, &stream, &error) == CHAT_STATUS_INVALID_ARGUMENT);
  CHECK(stream == marked && error != stale && contains(chat_error_message(error), "params"));
  chat_error_free(error);
  error = stale;
  CHECK(chat_stream_new(params, &stream, &error) == CHAT_STATUS_OK);
  CHECK(stream != marked && error == stale);
  chat_stream_free(stream);
}

// Each text is named by its error.
static void texts(const chat_template *template) {
  chat_template *other = NULL;
  chat_params *params = NULL;
  chat_grammar *grammar = NULL;
  chat_parser *parser = NULL;
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "source: ", chat_template_new(NULL, 1, "", 0, "", 0, &other, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "bos: ", chat_template_new("", 0, "\xff", 1, "", 0, &other, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "eos: ", chat_template_new("", 0, "", 0, "x", SIZE_MAX, &other, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "name: ", chat_template_builtin(NULL, 3, &other, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "request: ", chat_params_from_template(template, NULL, 3, &params, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "schema: ", chat_grammar_from_json_schema(NULL, 3, CHAT_GRAMMAR_STYLE_FAITHFUL, &grammar, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "text: ", chat_parser_from_json(NULL, 3, &parser, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "out: ", chat_parser_from_json(TEXT("{}"), NULL, &error));
  CHECK(other == NULL && params == NULL && grammar == NULL && parser == NULL);
}

// Requests of wrong shapes; the field is named.
static void requests(const chat_template *template) {
  static const struct {
    const char *request, *part;
  } wrong[] = {
      {"[]", "request"},
      {"{\"messages\": {}}", "messages"},
      {"{\"messages\": [1]}", "messages[0]"},
      {"{\"messages\": [{\"role\": 1, \"content\": \"\"}]}", "messages[0].role"},
      {"{\"messages\": [{\"role\": \"user\", \"content\": 1}]}", "messages[0].content"},
      {"{\"messages\": [], \"tools\": {}}", "tools"},
      {"{\"messages\": [], \"tools\": [{}]}", "tools[0]"},
      {"{\"messages\": [], \"tool_choice\": 7}", "tool_choice"},
      {"{\"messages\": [], \"reasoning_format\": \"no\"}", "reasoning_format"},
      {"{\"messages\": [], \"enable_thinking\": 1}", "enable_thinking"},
      {"{\"messages\": []} x", "JSON"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    chat_params *params = NULL;
    SAYS(CHAT_STATUS_INVALID_ARGUMENT, wrong[i].part,
         chat_params_from_template(template, wrong[i].request, strlen(wrong[i].request), &params, &error));
    CHECK(params == NULL);
  }
}

// Outputs of the caller's that the library gave it: a chunk of one stream is text for another.
static void views_as_inputs(const chat_params *params) {
  chat_stream *one = NULL, *other = NULL;
  chat_message *message = NULL;
  chat_str chunk;
  OK(chat_stream_new(params, &one, &error));
  OK(chat_stream_new(params, &other, &error));
  OK(chat_stream_feed(one, TEXT("Hi"), &error));
  OK(chat_stream_chunk_json(one, &chunk, &error));
  OK(chat_stream_feed(other, chunk.data, chunk.len, &error));
  OK(chat_stream_message(other, &message, &error));
  CHECK(is(chat_message_view(message)->content, "{\"content\":\"Hi\"}"));
  chat_message_free(message);
  chat_stream_free(one);
  chat_stream_free(other);
}

int main(void) {
  chat_template *template = NULL;
  chat_params *params = NULL;
  OK(chat_template_builtin(TEXT("json-call"), &template, &error));
  OK(chat_params_from_template(template, TEXT(TOOL_REQUEST("")), &params, &error));
  unknown_numbers(params);
  rollbacks(params);
  finished(params);
  outputs_in_use(params);
  texts(template);
  requests(template);
  views_as_inputs(params);
  chat_params_free(params);
  chat_template_free(template);
  return 0;
}
