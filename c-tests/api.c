// Requests and answers in the shape of an API.
#include "support.h"

#define TOOLS                                                                                             \
  "\"tools\": [{\"name\": \"f\", \"input_schema\": {\"type\": \"object\", \"properties\": {\"a\": {\"type\": " \
  "\"integer\"}}}}]"

#define REQUEST "{\"model\": \"m\", \"max_tokens\": 9, \"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}], " TOOLS "}"

static const char output[] = "Wait. <tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>";

static chat_answer *answer_to(const char *request) {
  chat_answer *answer = NULL;
  OK(chat_answer_new(CHAT_API_MESSAGES, request, strlen(request), TEXT("{\"id\": \"msg_1\"}"), &answer,
                     &error));
  return answer;
}

static chat_params *params_of(const chat_answer *answer) {
  const chat_str request = chat_answer_view(answer)->request;
  chat_template *template = NULL;
  chat_params *params = NULL;
  OK(chat_template_new(TEXT(TOOL_TEMPLATE), TEXT(""), TEXT("<|end|>"), &template, &error));
  OK(chat_params_from_template(template, request.data, request.len, &params, &error));
  chat_template_free(template);
  return params;
}

// The name of each event, with what sends it.
static void expect_events(chat_answer *answer, const char *const *names, size_t count) {
  chat_str sse;
  size_t at = 0;
  OK(chat_answer_sse(answer, &sse, &error));
  CHECK(chat_answer_view(answer)->events.len == count);
  for (size_t i = 0; i < count; i++) {
    chat_event event;
    char head[64];
    event = chat_answer_view(answer)->events.data[i];
    CHECK(is(event.name, names[i]));
    const int len = snprintf(head, sizeof head, "event: %s\ndata: ", names[i]);
    CHECK(sse.len - at >= (size_t)len + event.data.len + 2 && memcmp(sse.data + at, head, (size_t)len) == 0);
    at += (size_t)len;
    CHECK(memcmp(sse.data + at, event.data.data, event.data.len) == 0);
    at += event.data.len;
    CHECK(memcmp(sse.data + at, "\n\n", 2) == 0);
    at += 2;
  }
  CHECK(at == sse.len);
}

#define EVENTS(answer, ...)                                                \
  do {                                                                     \
    const char *const names[] = {__VA_ARGS__};                             \
    expect_events((answer), names, sizeof names / sizeof *names);          \
  } while (0)

static void streamed(void) {
  chat_answer *answer = answer_to(REQUEST);
  CHECK(contains(chat_answer_view(answer)->request, "\"max_completion_tokens\":9"));
  CHECK(contains(chat_answer_view(answer)->request, "\"parameters\":{\"type\":\"object\""));
  chat_params *params = params_of(answer);
  chat_stream *stream = NULL;
  chat_message *message = NULL;
  chat_event event;
  chat_str body;
  OK(chat_stream_new(params, &stream, &error));

  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "it has not begun", chat_answer_deltas(answer, stream, &error));
  OK(chat_answer_begin(answer, 3, &error));
  EVENTS(answer, "message_start");
  OK(chat_answer_ping(answer, &error));
  EVENTS(answer, "ping");
  OK(chat_stream_feed(stream, output, 4, &error));
  OK(chat_answer_deltas(answer, stream, &error));
  EVENTS(answer, "content_block_start", "content_block_delta");
  OK(chat_stream_feed(stream, output + 4, sizeof output - 5, &error));
  OK(chat_answer_deltas(answer, stream, &error));
  CHECK(chat_answer_view(answer)->events.len > 4);
  OK(chat_stream_finish(stream, 0, &error));
  OK(chat_answer_deltas(answer, stream, &error));
  OK(chat_stream_message(stream, &message, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "reason: must be", chat_answer_finish(answer, message, TEXT("{\"reason\": \"?\"}"), &error));
  OK(chat_answer_finish(answer, message, TEXT("{\"usage\": {\"output_tokens\": 5}}"), &error));
  EVENTS(answer, "message_delta", "message_stop");
  event = chat_answer_view(answer)->events.data[0];
  CHECK(contains(event.data, "\"stop_reason\":\"tool_use\"") && contains(event.data, "\"output_tokens\":5"));
  BAD(chat_answer_finish(answer, message, NULL, 0, &error));

  OK(chat_answer_body(answer, message, NULL, 0, &body, &error));
  CHECK(contains(body, "\"id\":\"msg_1\"") && contains(body, "\"input\":{\"a\":1}"));
  chat_message_free(message);
  chat_stream_free(stream);
  chat_params_free(params);
  chat_answer_free(answer);
}

static void as_a_body(void) {
  chat_answer *answer = answer_to(REQUEST);
  chat_params *params = params_of(answer);
  chat_message *message = NULL;
  chat_str body;
  OK(chat_parse_partial(params, output, sizeof output - 10, CHAT_PARSE_PARTIAL, &message, &error));
  OK(chat_answer_body(answer, message, TEXT("{\"reason\": \"length\"}"), &body, &error));
  CHECK(contains(body, "\"stop_reason\":\"max_tokens\"") && contains(body, "\"text\":\"Wait. \""));
  chat_message_free(message);
  chat_params_free(params);
  chat_answer_free(answer);
}

static void failures(void) {
  chat_answer *answer = NULL;
  chat_error *error = NULL;
  static const char body[] = "{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"smell\"}]}]}";
  CHECK(chat_answer_new(CHAT_API_MESSAGES, body, sizeof body - 1, NULL, 0, &answer, &error) == CHAT_STATUS_INVALID_ARGUMENT);
  CHECK(chat_error_http_status(error) == 400);
  CHECK(contains(chat_error_body(error, CHAT_API_MESSAGES), "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\""));
  CHECK(contains(chat_error_body(error, CHAT_API_RESPONSES), "\"param\":\"messages[0].content[0].type\""));
  CHECK(is(chat_error_body(error, 7), ""));
  chat_error_free(error);
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "api: 0 is unknown", chat_answer_new(0, TEXT("{}"), NULL, 0, &answer, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "the request: not JSON", chat_answer_new(1, TEXT("{"), NULL, 0, &answer, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "options: not JSON", chat_answer_new(1, TEXT("{}"), TEXT("{"), &answer, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "options.id: ", chat_answer_new(1, TEXT("{}"), TEXT("{\"id\": 1}"), &answer, &error));
  CHECK(answer == NULL);

  answer = answer_to(REQUEST);
  OK(chat_answer_begin(answer, 3, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "200 is no error's", chat_answer_fail(answer, 200, TEXT("Fine."), &error));
  OK(chat_answer_fail(answer, 503, TEXT("The machine is on fire."), &error));
  EVENTS(answer, "error");
  chat_answer_free(answer);
}

int main(void) {
  streamed();
  as_a_body();
  failures();
  return 0;
}
