// Template, params, stream fed byte by byte, message: the job that the library is for. Deltas put together are the message, and
// the one-call parse of the same text gives it too.
#include "support.h"

static const char TEMPLATE[] =
    "{%- if tools -%}<|im_start|>system\nTools:\n{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}<|im_end|>\n{% endif -%}\n"
    "{%- for message in messages -%}\n"
    "<|im_start|>{{ message.role }}\n"
    "{%- if message.reasoning_content %}\n<think>\n{{ message.reasoning_content }}\n</think>\n{% endif -%}\n"
    "{{ '\\n' + (message.content or '') }}\n"
    "{%- for call in message.tool_calls or [] %}\n"
    "<tool_call>\n"
    "{\"name\": \"{{ call.function.name }}\", \"arguments\": {{ call.function.arguments | tojson }}}\n"
    "</tool_call>\n"
    "{%- endfor -%}\n"
    "<|im_end|>\n"
    "{% endfor -%}\n"
    "{%- if add_generation_prompt -%}<|im_start|>assistant\n{% endif -%}\n";

static const char REQUEST[] =
    "{\"messages\": [{\"role\": \"user\", \"content\": \"Weather in \\u00c5s?\"}], \"reasoning_format\": \"auto\","
    " \"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"weather\", \"description\": \"now\","
    " \"parameters\": {\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\"}}, \"required\": [\"city\"]}}}]}";

static const char OUTPUT[] =
    "<think>\nThe user wants the weather.\n</think>\nLet me look \xe2\x98\x94\n"
    "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"\xc3\x85s\"}}\n</tool_call>";

// What a client keeps: the parts of a message with at most one call.
typedef struct {
  char reasoning[256], content[256], name[256], id[256], arguments[256];
  size_t fed, deltas, ends;
} client;

static void take(client *client, const chat_stream *stream) {
  size_t count = chat_stream_view(stream)->deltas.len;
  client->deltas += count;
  for (size_t i = 0; i < count; i++) {
    const chat_delta delta = chat_stream_view(stream)->deltas.data[i];
    CHECK(delta.call == 0 && delta.span_begin <= delta.span_end && delta.span_end <= client->fed);
    char *part = NULL;
    switch (delta.kind) {
      case CHAT_DELTA_KIND_REASONING: part = client->reasoning; break;
      case CHAT_DELTA_KIND_CONTENT: part = client->content; break;
      case CHAT_DELTA_KIND_TOOL_NAME: part = client->name; break;
      case CHAT_DELTA_KIND_TOOL_ID: part = client->id; break;
      case CHAT_DELTA_KIND_TOOL_ARGUMENTS: part = client->arguments; break;
      case CHAT_DELTA_KIND_TOOL_END: part = client->arguments; client->ends++; break;
    }
    CHECK(part != NULL && strlen(part) + delta.text.len < sizeof client->content);
    strncat(part, delta.text.data, delta.text.len);
  }
}

static void feed(chat_stream *stream, client *client, const char *bytes, size_t len, size_t step) {
  for (size_t at = 0; at < len; at += step) {
    const size_t n = len - at < step ? len - at : step;
    OK(chat_stream_feed(stream, bytes + at, n, &error));
    client->fed += n;
    take(client, stream);
  }
}

static void check_message(const chat_message *message) {
  chat_str json;
  CHECK(chat_message_view(message)->outcome == CHAT_OUTCOME_COMPLETE);
  CHECK(contains(chat_message_view(message)->reasoning, "The user wants the weather."));
  CHECK(contains(chat_message_view(message)->content, "Let me look \xe2\x98\x94"));
  CHECK(chat_message_view(message)->calls.len == 1);
  CHECK(is(chat_message_view(message)->calls.data[0].name, "weather"));
  CHECK(is(chat_message_view(message)->calls.data[0].arguments, "{\"city\": \"\xc3\x85s\"}"));
  CHECK(is(chat_message_view(message)->calls.data[0].id, ""));
  OK(chat_message_json(message, &json, &error));
  CHECK(contains(json, "\"role\":\"assistant\"") && contains(json, "\"tool_calls\":[{\"type\":\"function\""));
}

static void tool_call(void) {
  chat_template *template = NULL;
  chat_params *params = NULL;
  chat_message *whole = NULL;
  chat_str json;

  OK(chat_template_new(TEXT(TEMPLATE), TEXT(""), TEXT("<|im_end|>"), &template, &error));
  CHECK(contains(chat_template_source(template), "<tool_call>"));
  OK(chat_template_report(template, CHAT_REPORT_CAPS, &json, &error));
  CHECK(contains(json, "\"supports_tools\":true"));

  OK(chat_params_from_template(template, TEXT(REQUEST), &params, &error));
  chat_template_free(template);
  CHECK(contains(chat_params_view(params)->prompt, "Weather in \xc3\x85s?"));
  CHECK(is(chat_params_view(params)->generation_prompt, "<|im_start|>assistant\n"));
  OK(chat_params_json(params, &json, &error));
  CHECK(contains(json, "\"prompt\":\"<|im_start|>system"));

  OK(chat_parse_partial(params, TEXT(OUTPUT), CHAT_PARSE_STRICT, &whole, &error));
  check_message(whole);

  // However the output is cut: the same message, and the deltas are that message.
  for (size_t step = 1; step < sizeof OUTPUT; step = step * 2 + 1) {
    chat_stream *stream = NULL;
    chat_message *message = NULL;
    client client = {0};
    chat_str whole_json;
    OK(chat_stream_new(params, &stream, &error));
    feed(stream, &client, TEXT(OUTPUT), step);
    OK(chat_stream_finish(stream, CHAT_PARSE_STRICT, &error));
    take(&client, stream);
    OK(chat_stream_message(stream, &message, &error));
    chat_stream_free(stream);

    CHECK(is(chat_message_view(message)->reasoning, client.reasoning));
    CHECK(is(chat_message_view(message)->content, client.content));
    CHECK(is(chat_message_view(message)->calls.data[0].name, client.name));
    CHECK(is(chat_message_view(message)->calls.data[0].arguments, client.arguments) && client.ends == 1);
    OK(chat_message_json(message, &json, &error));
    OK(chat_message_json(whole, &whole_json, &error));
    CHECK(json.len == whole_json.len && memcmp(json.data, whole_json.data, json.len) == 0);
    check_message(message);
    chat_message_free(message);
  }
  chat_params_free(params);
  check_message(whole);
  chat_message_free(whole);
}

// Broken bytes and NUL in the output are text; an unfinished character waits for its rest.
static void bytes_of_any_kind(const chat_params *params) {
  static const char output[] = "a\0b\xff" "c\xe2\x98";
  chat_stream *stream = NULL;
  chat_message *message = NULL;
  chat_str content;
  OK(chat_stream_new(params, &stream, &error));
  for (size_t i = 0; i < sizeof output - 1; i++) OK(chat_stream_feed(stream, output + i, 1, &error));
  OK(chat_stream_message(stream, &message, &error));
  content = chat_message_view(message)->content;
  CHECK(content.len == 7 && memcmp(content.data, "a\0b\xef\xbf\xbd" "c", 7) == 0);
  CHECK(chat_message_view(message)->outcome == CHAT_OUTCOME_PARTIAL);
  chat_message_free(message);

  OK(chat_stream_feed(stream, "\x94", 1, &error));
  CHECK(chat_stream_view(stream)->deltas.len == 1);
  {
    const chat_delta delta = chat_stream_view(stream)->deltas.data[0];
    CHECK(is(delta.text, "\xe2\x98\x94") && delta.span_begin == 5 && delta.span_end == 8);
  }
  chat_stream_free(stream);
}

// A clone goes its own way; a reset stream is a new one; a finished stream takes no more.
static void clone_and_reset(const chat_params *params) {
  chat_stream *stream = NULL, *other = NULL;
  chat_message *message = NULL;
  OK(chat_stream_new(params, &stream, &error));
  OK(chat_stream_feed(stream, TEXT("Hello"), &error));
  OK(chat_stream_clone(stream, &other, &error));
  CHECK(chat_stream_view(other)->deltas.len == 1);
  OK(chat_stream_feed(stream, TEXT(" world"), &error));
  OK(chat_stream_feed(other, TEXT(" moon"), &error));
  CHECK(chat_stream_view(other)->outcome == CHAT_OUTCOME_PARTIAL);
  OK(chat_stream_finish(other, 0, &error));
  CHECK(chat_stream_view(other)->outcome == CHAT_OUTCOME_COMPLETE);
  BAD(chat_stream_feed(other, TEXT("!"), &error));
  BAD(chat_stream_finish(other, 0, &error));

  OK(chat_stream_message(stream, &message, &error));
  CHECK(is(chat_message_view(message)->content, "Hello world"));
  chat_message_free(message);
  OK(chat_stream_message(other, &message, &error));
  CHECK(is(chat_message_view(message)->content, "Hello moon"));
  chat_message_free(message);

  OK(chat_stream_reset(other, &error));
  CHECK(chat_stream_view(other)->deltas.len == 0);
  OK(chat_stream_feed(other, TEXT("Again"), &error));
  OK(chat_stream_finish(other, CHAT_PARSE_PARTIAL, &error));
  OK(chat_stream_message(other, &message, &error));
  CHECK(is(chat_message_view(message)->content, "Again"));
  chat_message_free(message);
  chat_stream_free(other);
  chat_stream_free(stream);
}

static void builtin(void) {
  chat_template *template = NULL;
  chat_params *params = NULL;
  OK(chat_template_builtin(TEXT("chatml"), &template, &error));
  OK(chat_params_from_template(template, TEXT("{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}"), &params, &error));
  chat_template_free(template);
  CHECK(is(chat_params_view(params)->prompt, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"));
  bytes_of_any_kind(params);
  clone_and_reset(params);
  chat_params_free(params);
}

int main(void) {
  tool_call();
  builtin();
  return 0;
}
