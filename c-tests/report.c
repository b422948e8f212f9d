// What there is to say of a message: which calls can be used, and what is unusual, with its place.
#include "support.h"

static chat_message *parsed(const char *output, uint32_t flags) {
  chat_params *params = builtin_params("json-call", TOOL_REQUEST(""));
  chat_message *message = NULL;
  OK(chat_parse_partial(params, output, strlen(output), flags, &message, &error));
  chat_params_free(params);
  return message;
}

#define CALL(name, arguments) "<tool_call>\n{\"name\": \"" name "\", \"arguments\": " arguments "}\n</tool_call>"

static void a_good_call(void) {
  chat_str json;
  chat_message *message = parsed(CALL("f", "{\"a\": 1}"), 0);
  CHECK(chat_message_report(message)->calls.data[0].complete && chat_message_report(message)->calls.data[0].known);
  CHECK(chat_message_report(message)->calls.data[0].valid && chat_message_report(message)->diagnostics.len == 0);
  CHECK(chat_message_report(message)->calls.data[0].origin == CHAT_ORIGIN_FORMAT);
  OK(chat_message_report_json(message, &json, &error));
  CHECK(is(json, "{\"status\":\"complete\",\"left_at\":null,"
                 "\"calls\":[{\"complete\":true,\"known\":true,\"valid\":true,\"origin\":\"format\"}],\"diagnostics\":[]}"));
  chat_message_free(message);
}

static void check_diagnostic(const chat_message *message, size_t index, chat_diagnostic_kind kind, size_t call, size_t begin) {
  const chat_diagnostic found = chat_message_report(message)->diagnostics.data[index];
  CHECK(found.kind == kind && found.call == call && found.span_begin == begin && found.span_end > begin);
  CHECK(found.message.len > 0);
}

static void wrong_arguments(void) {
  chat_message *message = parsed(CALL("f", "{\"a\": \"x\"}"), 0);
  CHECK(chat_message_view(message)->outcome == CHAT_OUTCOME_COMPLETE && chat_message_report(message)->calls.data[0].complete);
  CHECK(!chat_message_report(message)->calls.data[0].valid && chat_message_report(message)->diagnostics.len == 1);
  check_diagnostic(message, 0, CHAT_DIAGNOSTIC_KIND_INVALID_ARGUMENTS, 0, 22);
  chat_message_free(message);
}

static void an_unknown_tool(void) {
  chat_message *message = parsed(CALL("g", "{}"), 0);
  CHECK(chat_message_view(message)->outcome == CHAT_OUTCOME_RECOVERED);
  CHECK(is(chat_message_view(message)->calls.data[0].name, "g") && chat_message_report(message)->calls.data[0].complete);
  CHECK(!chat_message_report(message)->calls.data[0].known);
  check_diagnostic(message, 0, CHAT_DIAGNOSTIC_KIND_UNKNOWN_TOOL, 0, 22);
  chat_message_free(message);
}

static void a_broken_off_call(void) {
  chat_message *message = parsed("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1", CHAT_PARSE_PARTIAL);
  CHECK(!chat_message_report(message)->calls.data[0].complete && !chat_message_report(message)->calls.data[0].valid);
  check_diagnostic(message, 0, CHAT_DIAGNOSTIC_KIND_UNFINISHED_CALL, 0, 0);
  chat_message_free(message);
}

static void another_dialect(void) {
  static const char output[] = "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call> Done.";
  chat_message *message = parsed(output, 0);
  CHECK(chat_message_view(message)->outcome == CHAT_OUTCOME_RECOVERED && is(chat_message_view(message)->content, " Done."));
  CHECK(is(chat_message_view(message)->calls.data[0].arguments, "{\"a\":1}") && chat_message_report(message)->calls.data[0].valid);
  CHECK(chat_message_report(message)->calls.data[0].origin == CHAT_ORIGIN_DIALECT);
  check_diagnostic(message, 0, CHAT_DIAGNOSTIC_KIND_LEFT_FORMAT, SIZE_MAX, 0);
  check_diagnostic(message, 1, CHAT_DIAGNOSTIC_KIND_DIALECT, 0, 22);
  CHECK(chat_message_report(message)->diagnostics.len == 2);
  chat_message_free(message);
}

// A call that nothing marks is one where it is the whole answer.
static void a_bare_call(void) {
  chat_message *message = parsed("{\"name\": \"f\", \"arguments\": {\"a\": 1}}", 0);
  CHECK(chat_message_view(message)->calls.len == 1 && chat_message_report(message)->calls.data[0].valid);
  CHECK(chat_message_report(message)->calls.data[0].origin == CHAT_ORIGIN_BARE);
  chat_message_free(message);
}

int main(void) {
  a_good_call();
  wrong_arguments();
  an_unknown_tool();
  a_broken_off_call();
  another_dialect();
  a_bare_call();
  return 0;
}
