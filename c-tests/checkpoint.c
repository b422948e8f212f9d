// Checkpoints, as a host that guesses ahead uses them: what is verified, a draft, what of the draft is accepted. And budgets.
#include "support.h"

static const char REQUEST[] = TOOL_REQUEST(", \"reasoning_format\": \"auto\", \"parallel_tool_calls\": true");

// Two calls, thinking before, a character of three bytes.
static const char OUTPUT[] =
    "<think>\nHm \xe2\x98\x94.\n</think>\n\nLet me < see.\n"
    "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>\n"
    "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 22}}\n</tool_call>";

enum { CALLS = 4, SIZE = 512, LENGTH = sizeof OUTPUT - 1 };

// A message as a client puts it together.
typedef struct {
  char reasoning[SIZE], content[SIZE], name[CALLS][SIZE], id[CALLS][SIZE], arguments[CALLS][SIZE];
  bool ended[CALLS];
  size_t calls;
} client;

static void append(char *part, chat_str text) {
  CHECK(text.len > 0 && strlen(part) + text.len < SIZE);
  strncat(part, text.data, text.len);
}

static void cut(char *part, chat_str text) {
  const size_t len = strlen(part);
  CHECK(text.len > 0 && text.len <= len && memcmp(part + len - text.len, text.data, text.len) == 0);
  part[len - text.len] = '\0';
}

// `back`: the deltas are those of a rollback, of these bytes of the output.
static void take(client *client, const chat_stream *stream, bool back, size_t begin, size_t end) {
  size_t last_call = SIZE_MAX;
  for (size_t i = 0; i < chat_stream_view(stream)->deltas.len; i++) {
    const chat_delta delta = chat_stream_view(stream)->deltas.data[i];
    CHECK(delta.call < CALLS && back == (delta.kind > 100));
    if (back) CHECK(delta.span_begin == begin && delta.span_end == end);
    const size_t call = delta.call;
    switch (delta.kind) {
      case CHAT_DELTA_KIND_REASONING: append(client->reasoning, delta.text); break;
      case CHAT_DELTA_KIND_CONTENT: append(client->content, delta.text); break;
      case CHAT_DELTA_KIND_TOOL_NAME:
        CHECK(call == client->calls++);
        append(client->name[call], delta.text);
        break;
      case CHAT_DELTA_KIND_TOOL_ID: append(client->id[call], delta.text); break;
      case CHAT_DELTA_KIND_TOOL_ARGUMENTS: append(client->arguments[call], delta.text); break;
      case CHAT_DELTA_KIND_TOOL_END:
        CHECK(!client->ended[call]);
        client->ended[call] = true;
        break;
      case CHAT_DELTA_KIND_REASONING_WITHDRAWN: cut(client->reasoning, delta.text); break;
      case CHAT_DELTA_KIND_CONTENT_WITHDRAWN: cut(client->content, delta.text); break;
      case CHAT_DELTA_KIND_CALL_WITHDRAWN:
        CHECK(call + 1 == client->calls-- && is(delta.text, client->name[call]));
        memset(client->name[call], 0, SIZE);
        memset(client->id[call], 0, SIZE);
        memset(client->arguments[call], 0, SIZE);
        client->ended[call] = false;
        break;
      case CHAT_DELTA_KIND_TOOL_ID_WITHDRAWN: cut(client->id[call], delta.text); break;
      case CHAT_DELTA_KIND_TOOL_ARGUMENTS_WITHDRAWN: cut(client->arguments[call], delta.text); break;
      case CHAT_DELTA_KIND_TOOL_END_WITHDRAWN:
        CHECK(client->ended[call] && delta.text.len == 0);
        client->ended[call] = false;
        break;
      default: CHECK(!"a kind of delta");
    }
    // Calls from the last one on, then texts.
    if (back && (delta.kind == CHAT_DELTA_KIND_CONTENT_WITHDRAWN || delta.kind == CHAT_DELTA_KIND_REASONING_WITHDRAWN)) {
      last_call = 0;
    } else if (back) {
      CHECK(call <= last_call);
      last_call = call;
    }
  }
}

// What the client has is the message of the stream.
static void agree(const client *client, const chat_stream *stream) {
  chat_message *message = NULL;
  OK(chat_stream_message(stream, &message, &error));
  CHECK(is(chat_message_view(message)->reasoning, client->reasoning));
  CHECK(is(chat_message_view(message)->content, client->content));
  CHECK(chat_message_view(message)->calls.len == client->calls);
  for (size_t i = 0; i < client->calls; i++) {
    CHECK(is(chat_message_view(message)->calls.data[i].name, client->name[i]));
    CHECK(is(chat_message_view(message)->calls.data[i].id, client->id[i]));
    CHECK(is(chat_message_view(message)->calls.data[i].arguments, client->arguments[i]));
    CHECK(chat_message_report(message)->calls.data[i].complete == client->ended[i]);
  }
  chat_message_free(message);
}

static void feed(chat_stream *stream, client *client, const char *bytes, size_t len) {
  OK(chat_stream_feed(stream, bytes, len, &error));
  take(client, stream, false, 0, 0);
}

// The host knows the output as far as a large model has read it. A small model guesses `draft` bytes more, of which `good` are
// what the large model will say and the rest is `wrong`; `ends`: it guesses the end, too.
static void speculate(const chat_params *params, size_t draft, size_t good, const char *wrong, bool ends, const char *expected) {
  client client = {0};
  chat_stream *stream = NULL;
  chat_message *message = NULL;
  chat_str json;
  OK(chat_stream_new(params, &stream, &error));
  for (size_t verified = 0; verified < LENGTH;) {
    const size_t left = LENGTH - verified, accepted = good < left ? good : left;
    OK(chat_stream_checkpoint(stream, &error));
    feed(stream, &client, OUTPUT + verified, accepted);
    feed(stream, &client, wrong, draft - good);
    if (ends) {
      OK(chat_stream_finish(stream, 0, &error));
      take(&client, stream, false, 0, 0);
    }
    agree(&client, stream);
    const size_t fed = verified + accepted + draft - good;
    verified += accepted;
    OK(chat_stream_rollback(stream, verified, &error));
    CHECK(chat_stream_view(stream)->outcome == CHAT_OUTCOME_PARTIAL);
    take(&client, stream, true, verified, fed);
    agree(&client, stream);
    // The large model says one byte itself.
    if (verified < LENGTH) feed(stream, &client, OUTPUT + verified++, 1);
  }
  OK(chat_stream_finish(stream, CHAT_PARSE_STRICT, &error));
  take(&client, stream, false, 0, 0);
  agree(&client, stream);
  OK(chat_stream_message(stream, &message, &error));
  OK(chat_message_json(message, &json, &error));
  CHECK(is(json, expected));
  chat_message_free(message);
  chat_stream_free(stream);
}

static void drafts(const chat_params *params) {
  // Thinking, calls, text that leaves the format, and half a character.
  static const char *const wrong[] = {
      "</think>\n\nNo <tool_call>\n{\"name\": \"f\", \"arguments\": {\"b\": [3]}}\n</tool_call>",
      "<think></think>\n\n<tool_call>\n{\"name\": no", "\xe2\x98", "}}\n</tool_call>\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}",
  };
  chat_message *whole = NULL;
  chat_str json;
  OK(chat_parse_partial(params, TEXT(OUTPUT), CHAT_PARSE_STRICT, &whole, &error));
  OK(chat_message_json(whole, &json, &error));
  char *expected = malloc(json.len + 1);
  CHECK(expected != NULL);
  memcpy(expected, json.data, json.len);
  expected[json.len] = '\0';
  chat_message_free(whole);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    for (size_t good = 0; good < 9; good += 2)
      for (size_t bad = 0; bad <= strlen(wrong[i]); bad += 5)
        for (int ends = 0; ends < 2; ends++) speculate(params, good + bad, good, wrong[i], ends, expected);
  free(expected);
}

// One checkpoint serves several drafts, and a clone has it too.
static void one_checkpoint(const chat_params *params) {
  chat_stream *stream = NULL, *clone = NULL;
  client first = {0}, second;
  OK(chat_stream_new(params, &stream, &error));
  feed(stream, &first, TEXT("One "));
  OK(chat_stream_checkpoint(stream, &error));
  feed(stream, &first, TEXT("two three"));
  OK(chat_stream_clone(stream, &clone, &error));
  second = first;
  OK(chat_stream_rollback(stream, 8, &error));
  take(&first, stream, true, 8, 13);
  feed(stream, &first, TEXT("four"));
  OK(chat_stream_rollback(stream, 4, &error));
  take(&first, stream, true, 4, 12);
  CHECK(strcmp(first.content, "One ") == 0);
  agree(&first, stream);
  chat_stream_free(stream);
  OK(chat_stream_rollback(clone, 7, &error));
  take(&second, clone, true, 7, 13);
  CHECK(strcmp(second.content, "One two") == 0);
  agree(&second, clone);
  chat_stream_free(clone);
}

// Work grows with the output, the same in pieces. Where the budget is used up the rest is content, and a diagnostic says so.
static void budgets(const chat_params *params) {
  client client = {0};
  chat_stream *stream = NULL, *other = NULL;
  chat_message *message = NULL;
  chat_diagnostic diagnostic;
  uint64_t work = 0;
  OK(chat_stream_new(params, &stream, &error));
  for (size_t i = 0; i < LENGTH; i++) {
    OK(chat_stream_feed(stream, OUTPUT + i, 1, &error));
    CHECK(chat_stream_view(stream)->work >= work);
    work = chat_stream_view(stream)->work;
  }
  CHECK(work > LENGTH && work < 100 * LENGTH);
  OK(chat_stream_new(params, &other, &error));
  OK(chat_stream_feed(other, TEXT(OUTPUT), &error));
  CHECK(chat_stream_view(other)->work == work);

  // It stays when the stream begins again.
  for (int round = 0; round < 2; round++) {
    OK(chat_stream_reset(other, &error));
    if (round == 0) OK(chat_stream_set_budget(other, 20, 1, &error));
    memset(&client, 0, sizeof client);
    feed(other, &client, TEXT(OUTPUT));
    OK(chat_stream_finish(other, 0, &error));
    take(&client, other, false, 0, 0);
    agree(&client, other);
    CHECK(chat_stream_view(other)->outcome == CHAT_OUTCOME_RECOVERED && client.calls == 0);
    CHECK(strstr(client.content, "{\"name\": \"f\", \"arguments\": {\"a\": 22}}\n</tool_call>") != NULL);
    OK(chat_stream_message(other, &message, &error));
    CHECK(chat_message_report(message)->diagnostics.len == 1);
    diagnostic = chat_message_report(message)->diagnostics.data[0];
    CHECK(diagnostic.kind == CHAT_DIAGNOSTIC_KIND_LIMIT && diagnostic.call == SIZE_MAX && diagnostic.span_end == LENGTH);
    CHECK(contains(diagnostic.message, "budget"));
    chat_message_free(message);
  }

  // A larger one from here on.
  OK(chat_stream_reset(other, &error));
  OK(chat_stream_set_budget(other, UINT64_MAX, UINT64_MAX, &error));
  OK(chat_stream_feed(other, TEXT(OUTPUT), &error));
  OK(chat_stream_finish(other, CHAT_PARSE_STRICT, &error));
  chat_stream_free(other);
  chat_stream_free(stream);
}

int main(void) {
  chat_params *params = builtin_params("json-call", REQUEST);
  drafts(params);
  one_checkpoint(params);
  budgets(params);
  chat_params_free(params);
  return 0;
}
