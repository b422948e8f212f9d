// What the caller gets wrong is a status and a sentence that says where, and changes no output.
#include "support.h"

static void templates(void) {
  chat_template *template = NULL;
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "source: not UTF-8 at byte 3",
       chat_template_new(TEXT("abc\xff"), TEXT(""), TEXT(""), &template, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "eos", chat_template_new(TEXT("a"), TEXT(""), TEXT("\xc3"), &template, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "bos", chat_template_new(TEXT("a"), NULL, 1, TEXT(""), &template, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "length", chat_template_new("a", SIZE_MAX, TEXT(""), TEXT(""), &template, &error));
  SAYS(CHAT_STATUS_TEMPLATE, "line 2", chat_template_new(TEXT("\n{% if %}"), TEXT(""), TEXT(""), &template, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "chatml", chat_template_builtin(TEXT("no such"), &template, &error));
  CHECK(template == NULL);

  const size_t long_len = (size_t)2 << 20;
  char *long_text = malloc(long_len);
  CHECK(long_text != NULL);
  memset(long_text, 'x', long_len);
  SAYS(CHAT_STATUS_LIMIT, "bytes", chat_template_new(long_text, long_len, TEXT(""), TEXT(""), &template, &error));
  free(long_text);
  CHECK(template == NULL);
}

static void requests(void) {
  chat_template *template = NULL;
  chat_params *params = NULL;
  OK(chat_template_new(TEXT("{{ raise_exception('roles must alternate') }}"), TEXT(""), TEXT(""), &template, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "JSON", chat_params_from_template(template, TEXT("{"), &params, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "request: not UTF-8 at byte 1",
       chat_params_from_template(template, TEXT("{\x80}"), &params, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "messages: missing", chat_params_from_template(template, TEXT("{}"), &params, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "messages[0].role",
       chat_params_from_template(template, TEXT("{\"messages\": [{\"content\": \"\"}]}"), &params, &error));
  SAYS(CHAT_STATUS_TEMPLATE, "roles must alternate",
       chat_params_from_template(template, TEXT("{\"messages\": [{\"role\": \"user\", \"content\": \"\"}]}"), &params, &error));
  CHECK(params == NULL);
  chat_template_free(template);
}

// An output that leaves the format: a message with all of it, or, if strict, an error, and still the message.
static void outputs(void) {
  static const char output[] = "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": nonsense";
  chat_template *template = NULL;
  chat_params *params = NULL;
  chat_message *message = NULL;
  chat_stream *stream = NULL;
  OK(chat_template_new(TEXT(TOOL_TEMPLATE), TEXT(""), TEXT("<|end|>"), &template, &error));
  OK(chat_params_from_template(template, TEXT(TOOL_REQUEST("")), &params, &error));
  chat_template_free(template);

  SAYS(CHAT_STATUS_PARSE, "byte", chat_parse_partial(params, TEXT(output), CHAT_PARSE_STRICT, &message, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "flags", chat_parse_partial(params, TEXT(output), 0x80000000u, &message, &error));
  CHECK(message == NULL);
  OK(chat_parse_partial(params, TEXT(output), 0, &message, &error));
  CHECK(chat_message_view(message)->outcome == CHAT_OUTCOME_RECOVERED);
  chat_message_free(message);
  OK(chat_parse_partial(params, TEXT("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1"), CHAT_PARSE_PARTIAL, &message, &error));
  CHECK(chat_message_view(message)->outcome == CHAT_OUTCOME_PARTIAL);
  CHECK(chat_message_view(message)->calls.len == 1);
  chat_message_free(message);

  OK(chat_stream_new(params, &stream, &error));
  chat_params_free(params);
  OK(chat_stream_feed(stream, TEXT(output), &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "flags", chat_stream_finish(stream, 4, &error));
  SAYS(CHAT_STATUS_PARSE, "byte", chat_stream_finish(stream, CHAT_PARSE_STRICT, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "finished", chat_stream_feed(stream, TEXT("x"), &error));
  OK(chat_stream_message(stream, &message, &error));
  CHECK(chat_message_view(message)->outcome == CHAT_OUTCOME_RECOVERED);
  chat_message_free(message);
  chat_stream_free(stream);
}

int main(void) {
  templates();
  requests();
  outputs();
  return 0;
}
