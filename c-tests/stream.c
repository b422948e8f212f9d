// Streams: deltas, their spans, the end of calls, chunks, clones, resets, and that nothing depends on how the output was cut.
#include "support.h"

static const char REQUEST[] = TOOL_REQUEST(", \"reasoning_format\": \"auto\", \"parallel_tool_calls\": true");

// Two calls, thinking before, a character of three bytes.
static const char OUTPUT[] =
    "<think>\nHm \xe2\x98\x94.\n</think>\n\nLet me < see.\n"
    "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>\n"
    "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 22}}\n</tool_call>";

enum { CALLS = 2, SIZE = 256 };

// A message as a client puts it together.
typedef struct {
  char reasoning[SIZE], content[SIZE], name[CALLS][SIZE], arguments[CALLS][SIZE];
  size_t deltas, ended[CALLS], spans;
} client;

static void append(char *part, chat_str text) {
  CHECK(strlen(part) + text.len < SIZE);
  strncat(part, text.data, text.len);
}

static void take(client *client, const chat_stream *stream, size_t fed) {
  for (size_t i = 0; i < chat_stream_view(stream)->deltas.len; i++) {
    const chat_delta delta = chat_stream_view(stream)->deltas.data[i];
    CHECK(delta.call < CALLS && (delta.text.len > 0) == (delta.kind != CHAT_DELTA_KIND_TOOL_END));
    // Spans are of what was fed, and go forward.
    CHECK(client->spans <= delta.span_begin && delta.span_begin <= delta.span_end && delta.span_end <= fed);
    client->spans = delta.span_end;
    client->deltas++;
    // A call that has ended gets no more.
    CHECK(delta.kind < CHAT_DELTA_KIND_TOOL_NAME || client->ended[delta.call] == 0);
    switch (delta.kind) {
      case CHAT_DELTA_KIND_REASONING: append(client->reasoning, delta.text); break;
      case CHAT_DELTA_KIND_CONTENT: append(client->content, delta.text); break;
      case CHAT_DELTA_KIND_TOOL_NAME:
        CHECK(client->name[delta.call][0] == '\0' && client->arguments[delta.call][0] == '\0');
        append(client->name[delta.call], delta.text);
        break;
      case CHAT_DELTA_KIND_TOOL_ARGUMENTS: append(client->arguments[delta.call], delta.text); break;
      case CHAT_DELTA_KIND_TOOL_END: client->ended[delta.call]++; break;
      default: CHECK(!"a kind of delta");
    }
  }
}

// What the client has is the message.
static void agree(const client *client, const chat_message *message) {
  CHECK(is(chat_message_view(message)->reasoning, client->reasoning));
  CHECK(is(chat_message_view(message)->content, client->content));
  const chat_tool_call_list calls = chat_message_view(message)->calls;
  CHECK(calls.len <= CALLS);
  for (size_t i = 0; i < CALLS; i++) {
    if (i < calls.len) {
      CHECK(is(calls.data[i].name, client->name[i]) && is(calls.data[i].arguments, client->arguments[i]));
    } else {
      CHECK(client->name[i][0] == 0 && client->arguments[i][0] == 0);
    }
  }
}

// The output cut at two places: after each piece what was shown is the message so far, and in the end the message is the same.
static void cut(const chat_params *params, size_t first, size_t second, chat_str expected) {
  const size_t end = sizeof OUTPUT - 1, ends[] = {first, second, end};
  client client = {0};
  chat_stream *stream = NULL;
  chat_message *message = NULL;
  chat_str json;
  size_t at = 0;
  OK(chat_stream_new(params, &stream, &error));
  for (size_t i = 0; i < 3; i++) {
    OK(chat_stream_feed(stream, OUTPUT + at, ends[i] - at, &error));
    at = ends[i];
    take(&client, stream, at);
    OK(chat_stream_message(stream, &message, &error));
    CHECK(chat_message_view(message)->outcome == CHAT_OUTCOME_PARTIAL);
    agree(&client, message);
    chat_message_free(message);
  }
  OK(chat_stream_finish(stream, CHAT_PARSE_STRICT, &error));
  take(&client, stream, at);
  OK(chat_stream_message(stream, &message, &error));
  agree(&client, message);
  CHECK(client.ended[0] == 1 && client.ended[1] == 1);
  CHECK(chat_message_view(message)->outcome == CHAT_OUTCOME_COMPLETE && chat_stream_view(stream)->outcome == CHAT_OUTCOME_COMPLETE);
  OK(chat_message_json(message, &json, &error));
  CHECK(same_text(json, expected));
  chat_message_free(message);
  chat_stream_free(stream);
}

static void every_cut(const chat_params *params) {
  chat_message *whole = NULL;
  chat_str json;
  OK(chat_parse_partial(params, TEXT(OUTPUT), CHAT_PARSE_STRICT, &whole, &error));
  CHECK(chat_message_view(whole)->calls.len == CALLS && is(chat_message_view(whole)->calls.data[1].arguments, "{\"a\": 22}"));
  CHECK(contains(chat_message_view(whole)->reasoning, "Hm \xe2\x98\x94.") && contains(chat_message_view(whole)->content, "Let me < see."));
  OK(chat_message_json(whole, &json, &error));
  for (size_t first = 0; first < sizeof OUTPUT; first++) cut(params, first, first, json);
  for (size_t first = 0; first < sizeof OUTPUT; first += 7)
    for (size_t second = first; second < sizeof OUTPUT; second += 11) cut(params, first, second, json);
  chat_message_free(whole);
}

// A delta's span is where its text stands.
static void spans(const chat_params *params) {
  static const char output[] = "One \xe2\x98\x94 two";
  chat_stream *stream = NULL;
  chat_delta delta;
  size_t seen = 0;
  OK(chat_stream_new(params, &stream, &error));
  for (size_t i = 0; i < sizeof output - 1; i++) {
    OK(chat_stream_feed(stream, output + i, 1, &error));
    for (size_t d = 0; d < chat_stream_view(stream)->deltas.len; d++) {
      delta = chat_stream_view(stream)->deltas.data[d];
      CHECK(delta.span_begin == seen && delta.span_end - delta.span_begin == delta.text.len);
      CHECK(memcmp(output + delta.span_begin, delta.text.data, delta.text.len) == 0);
      seen = delta.span_end;
    }
  }
  chat_stream_free(stream);
  CHECK(seen == sizeof output - 1);
}

#define CHUNK(expected)                                 \
  do {                                                  \
    chat_str json;                                      \
    OK(chat_stream_chunk_json(stream, &json, &error));  \
    CHECK(is(json, (expected)));                        \
  } while (0)

#define FEED(text) OK(chat_stream_feed(stream, TEXT(text), &error))

// The chunks that a server of OpenAI's protocol sends.
static void chunks(const chat_params *params) {
  chat_stream *stream = NULL;
  OK(chat_stream_new(params, &stream, &error));
  CHUNK("{}");
  FEED("<think>\nHm.");
  CHUNK("{\"reasoning_content\":\"Hm.\"}");
  FEED("\n</think>\n\n\"Go\"\n on.");
  CHUNK("{\"reasoning_content\":\"\\n\",\"content\":\"\\\"Go\\\"\\n on.\"}");
  // The same deltas, the same chunk; and the deltas are still there.
  CHUNK("{\"reasoning_content\":\"\\n\",\"content\":\"\\\"Go\\\"\\n on.\"}");
  CHECK(chat_stream_view(stream)->deltas.len > 0);
  FEED("<tool_call>\n{\"name\": \"f");
  CHUNK("{}");
  FEED("\", \"arguments\": {");
  CHUNK("{\"tool_calls\":[{\"index\":0,\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}]}");
  FEED("\"a\": 1");
  CHUNK("{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"a\\\": 1\"}}]}");
  FEED("}");
  CHUNK("{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"}\"}}]}");
  // The end of a call has no place in a chunk.
  FEED("}\n</tool_call>");
  CHECK(chat_stream_view(stream)->deltas.len == 1);
  CHUNK("{}");
  OK(chat_stream_finish(stream, 0, &error));
  CHUNK("{}");
  OK(chat_stream_reset(stream, &error));
  CHUNK("{}");
  chat_stream_free(stream);
}

// A call that the output breaks off does not end. One that is closed does, whether its tag comes or not.
static void ends(const chat_params *params) {
  static const char call[] = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";
  const size_t closed = (size_t)(strstr(call, "}}") + 2 - call);
  for (size_t len = 0; len < sizeof call; len++) {
    client client = {0};
    chat_stream *stream = NULL;
    OK(chat_stream_new(params, &stream, &error));
    OK(chat_stream_feed(stream, call, len, &error));
    take(&client, stream, len);
    OK(chat_stream_finish(stream, CHAT_PARSE_PARTIAL, &error));
    take(&client, stream, len);
    CHECK(client.ended[0] == (len >= closed));
    chat_stream_free(stream);
  }
}

// Half a marker at the end: text if the model ended there, nothing if it was cut off. Never an error but for the strict.
static void finish_flags(const chat_params *params) {
  static const struct {
    const char *output;
    uint32_t flags;
    chat_status status;
    chat_outcome outcome;
    const char *content;
  } cases[] = {
      {"Hi <tool", 0, CHAT_STATUS_OK, CHAT_OUTCOME_COMPLETE, "Hi <tool"},
      {"Hi <tool", CHAT_PARSE_PARTIAL, CHAT_STATUS_OK, CHAT_OUTCOME_PARTIAL, "Hi "},
      {"Hi <tool", CHAT_PARSE_STRICT, CHAT_STATUS_OK, CHAT_OUTCOME_COMPLETE, "Hi <tool"},
      {"Hi <tool", CHAT_PARSE_PARTIAL | CHAT_PARSE_STRICT, CHAT_STATUS_OK, CHAT_OUTCOME_PARTIAL, "Hi "},
      {"", 0, CHAT_STATUS_OK, CHAT_OUTCOME_COMPLETE, ""},
      {"", CHAT_PARSE_PARTIAL, CHAT_STATUS_OK, CHAT_OUTCOME_PARTIAL, ""},
      {"<tool_call>\n\"no", 0, CHAT_STATUS_OK, CHAT_OUTCOME_RECOVERED, "<tool_call>\n\"no"},
      {"<tool_call>\n\"no", CHAT_PARSE_PARTIAL, CHAT_STATUS_OK, CHAT_OUTCOME_RECOVERED, "<tool_call>\n\"no"},
      {"<tool_call>\n\"no", CHAT_PARSE_STRICT, CHAT_STATUS_PARSE, CHAT_OUTCOME_RECOVERED, "<tool_call>\n\"no"},
      {"Hi <tool_call>\n{\"name\": \"f\", \"arguments\": {", CHAT_PARSE_STRICT, CHAT_STATUS_PARSE, CHAT_OUTCOME_PARTIAL, "Hi "},
      {"<tool_call>\n\"no", CHAT_PARSE_PARTIAL | CHAT_PARSE_STRICT, CHAT_STATUS_PARSE, CHAT_OUTCOME_RECOVERED, "<tool_call>\n\"no"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    chat_stream *stream = NULL;
    chat_message *message = NULL, *at_once = NULL;
    const size_t len = strlen(cases[i].output);
    OK(chat_stream_new(params, &stream, &error));
    OK(chat_stream_feed(stream, cases[i].output, len, &error));
    CHECK(chat_stream_view(stream)->outcome == CHAT_OUTCOME_PARTIAL);
    EXPECT(cases[i].status, chat_stream_finish(stream, cases[i].flags, &error));
    CHECK(chat_stream_view(stream)->outcome == cases[i].outcome);
    OK(chat_stream_message(stream, &message, &error));
    CHECK(chat_message_view(message)->outcome == cases[i].outcome);
    CHECK(is(chat_message_view(message)->content, cases[i].content));
    // In one call it is the same.
    EXPECT(cases[i].status, chat_parse_partial(params, cases[i].output, len, cases[i].flags, &at_once, &error));
    CHECK((at_once == NULL) == (cases[i].status != CHAT_STATUS_OK));
    if (at_once != NULL) {
      CHECK(chat_message_view(at_once)->outcome == cases[i].outcome);
      CHECK(same_text(chat_message_view(at_once)->content, chat_message_view(message)->content));
    }
    chat_message_free(at_once);
    chat_message_free(message);
    chat_stream_free(stream);
  }
}

// Clones at each byte go on by themselves, on either side.
static void clones(const chat_params *params) {
  chat_message *expected = NULL;
  chat_stream *stream = NULL;
  chat_str json, other;
  OK(chat_parse_partial(params, TEXT(OUTPUT), 0, &expected, &error));
  OK(chat_message_json(expected, &json, &error));
  OK(chat_stream_new(params, &stream, &error));
  for (size_t at = 0; at < sizeof OUTPUT - 1; at++) {
    chat_stream *clone = NULL;
    chat_message *message = NULL;
    OK(chat_stream_feed(stream, OUTPUT + at, 1, &error));
    OK(chat_stream_clone(stream, &clone, &error));
    CHECK(chat_stream_view(clone)->deltas.len == chat_stream_view(stream)->deltas.len);
    OK(chat_stream_feed(clone, OUTPUT + at + 1, sizeof OUTPUT - 2 - at, &error));
    OK(chat_stream_finish(clone, 0, &error));
    OK(chat_stream_message(clone, &message, &error));
    OK(chat_message_json(message, &other, &error));
    CHECK(same_text(json, other));
    chat_message_free(message);
    chat_stream_free(clone);
  }
  // The one that was cloned is where it was; and a clone of a finished stream is finished.
  OK(chat_stream_finish(stream, CHAT_PARSE_STRICT, &error));
  chat_stream *clone = NULL;
  OK(chat_stream_clone(stream, &clone, &error));
  CHECK(chat_stream_view(clone)->outcome == CHAT_OUTCOME_COMPLETE);
  BAD(chat_stream_feed(clone, TEXT("x"), &error));
  // A reset one is new, and the other is not touched.
  OK(chat_stream_reset(clone, &error));
  CHECK(chat_stream_view(clone)->outcome == CHAT_OUTCOME_PARTIAL && chat_stream_view(stream)->outcome == CHAT_OUTCOME_COMPLETE);
  OK(chat_stream_feed(clone, TEXT(OUTPUT), &error));
  OK(chat_stream_finish(clone, CHAT_PARSE_STRICT, &error));
  chat_stream_free(clone);
  chat_stream_free(stream);
  chat_message_free(expected);
}

int main(void) {
  chat_params *params = builtin_params("json-call", REQUEST);
  every_cut(params);
  spans(params);
  chunks(params);
  ends(params);
  finish_flags(params);
  chat_params_warm(params);
  clones(params);
  chat_params_free(params);
  return 0;
}
