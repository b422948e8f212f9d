// Messages: what they hold, ids where the format has them, and that they do not change.
#include "support.h"

static chat_message *parsed(const char *template, const char *request, const char *output, uint32_t flags) {
  chat_params *params = builtin_params(template, request);
  chat_message *message = NULL;
  OK(chat_parse_partial(params, output, strlen(output), flags, &message, &error));
  chat_params_free(params);
  return message;
}

static void content_only(void) {
  chat_str first, second;
  chat_message *message = parsed("chatml", HI_REQUEST, "Hello \"you\"", 0);
  CHECK(chat_message_view(message)->outcome == CHAT_OUTCOME_COMPLETE);
  CHECK(is(chat_message_view(message)->content, "Hello \"you\"") && is(chat_message_view(message)->reasoning, ""));
  CHECK(chat_message_view(message)->calls.len == 0);
  OK(chat_message_json(message, &first, &error));
  CHECK(is(first, "{\"role\":\"assistant\",\"content\":\"Hello \\\"you\\\"\"}"));
  OK(chat_message_json(message, &second, &error));
  CHECK(first.data == second.data && first.len == second.len);
  chat_message_free(message);
}

static void calls_with_ids(void) {
  chat_str json;
  chat_message *message = parsed("tag-json-id", TOOL_REQUEST(", \"parallel_tool_calls\": true"),
                                 "[TOOL_CALLS]f[CALL_ID]abc123def[ARGS]{\"a\": 1}[TOOL_CALLS]f[CALL_ID]000000002[ARGS]{}", 0);
  CHECK(chat_message_view(message)->outcome == CHAT_OUTCOME_COMPLETE);
  CHECK(chat_message_view(message)->calls.len == 2);
  CHECK(is(chat_message_view(message)->calls.data[0].name, "f") && is(chat_message_view(message)->calls.data[1].name, "f"));
  CHECK(is(chat_message_view(message)->calls.data[0].id, "abc123def") && is(chat_message_view(message)->calls.data[1].id, "000000002"));
  CHECK(is(chat_message_view(message)->calls.data[0].arguments, "{\"a\": 1}"));
  CHECK(is(chat_message_view(message)->calls.data[1].arguments, "{}"));
  OK(chat_message_json(message, &json, &error));
  CHECK(contains(json, "\"id\":\"abc123def\"") && contains(json, "\"arguments\":\"{\\\"a\\\": 1}\""));
  chat_message_free(message);
}

static void reasoning(void) {
  static const char output[] = "<think>\nHm.\n</think>\n\nHello";
  chat_str json;
  chat_message *message = parsed("json-call", TOOL_REQUEST(", \"reasoning_format\": \"auto\""), output, 0);
  CHECK(is(chat_message_view(message)->reasoning, "Hm.\n") && is(chat_message_view(message)->content, "Hello"));
  OK(chat_message_json(message, &json, &error));
  CHECK(contains(json, "\"reasoning_content\":\"Hm.\\n\""));
  chat_message_free(message);
}

// All of an output that leaves the format is there, broken bytes replaced.
static void recovered(void) {
  chat_message *message = parsed("json-call", TOOL_REQUEST(""), "<tool_call>\n{\"name\": oh \xff no", 0);
  CHECK(chat_message_view(message)->outcome == CHAT_OUTCOME_RECOVERED);
  CHECK(is(chat_message_view(message)->content, "<tool_call>\n{\"name\": oh \xef\xbf\xbd no"));
  chat_message_free(message);
}

// A message that was taken while the output came does not grow with the stream.
static void a_copy(void) {
  chat_params *params = builtin_params("chatml", HI_REQUEST);
  chat_stream *stream = NULL;
  chat_message *early = NULL, *late = NULL;
  OK(chat_stream_new(params, &stream, &error));
  chat_params_free(params);
  OK(chat_stream_feed(stream, TEXT("One"), &error));
  OK(chat_stream_message(stream, &early, &error));
  const chat_str view = chat_message_view(early)->content;
  OK(chat_stream_feed(stream, TEXT(" two"), &error));
  OK(chat_stream_finish(stream, 0, &error));
  OK(chat_stream_message(stream, &late, &error));
  chat_stream_free(stream);
  CHECK(is(view, "One") && chat_message_view(early)->outcome == CHAT_OUTCOME_PARTIAL);
  CHECK(is(chat_message_view(late)->content, "One two") && chat_message_view(late)->outcome == CHAT_OUTCOME_COMPLETE);
  chat_message_free(early);
  chat_message_free(late);
}

int main(void) {
  content_only();
  calls_with_ids();
  reasoning();
  recovered();
  a_copy();
  return 0;
}
