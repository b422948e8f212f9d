// Marked output: what came as a special token is one, what only spells one out is text. And where the parts of a message came from.
#include "support.h"

static const char REQUEST[] = TOOL_REQUEST(", \"reasoning_format\": \"auto\", \"parallel_tool_calls\": true");

// Special tokens are between bars, which are left out.
static const char OUTPUT[] =
    "|<think>|\nIs </think> the end, or <|x|>?|</think>|\n\nI would write <tool_call>{} here.\n"
    "|<tool_call>|\n{\"name\": \"f\", \"arguments\": {\"a\": \"</tool_call>\"}}\n|</tool_call>|\n"
    "|<tool_call>|\n{\"name\": \"f\", \"arguments\": {\"a\": 22}}\n|</tool_call>|";

enum { SIZE = 512, SPANS = 16 };

typedef struct {
  char bytes[SIZE];
  size_t len, count;
  chat_span spans[SPANS];
} output;

static output without_bars(const char *text) {
  output made = {.len = 0};
  bool special = false;
  for (; *text != '\0'; text++) {
    // Not those of <|x|>.
    if (*text != '|' || text[1] == 'x' || text[1] == '>') {
      made.bytes[made.len++] = *text;
      continue;
    }
    special = !special;
    if (special) made.spans[made.count].begin = made.len;
    else made.spans[made.count++].end = made.len;
  }
  return made;
}

static void set_tokens(chat_stream *stream) {
  const chat_str tokens[] = {{TEXT("<think>")}, {TEXT("</think>")}, {TEXT("<tool_call>")}, {TEXT("</tool_call>")}, {TEXT("\n")}};
  OK(chat_stream_set_special_tokens(stream, tokens, 5, &error));
}

// The bytes from `from` to `to`, which may cut a token.
static void feed(chat_stream *stream, const output *output, size_t from, size_t to) {
  chat_span spans[SPANS];
  size_t count = 0;
  for (size_t i = 0; i < output->count; i++) {
    const size_t begin = output->spans[i].begin < from ? from : output->spans[i].begin;
    const size_t end = output->spans[i].end > to ? to : output->spans[i].end;
    if (begin < end) spans[count++] = (chat_span){begin - from, end - from};
  }
  OK(chat_stream_feed_marked(stream, output->bytes + from, to - from, spans, count, &error));
}

static void check_part(const chat_message *message, size_t index, chat_part_kind kind, const char *text) {
  const chat_part part = chat_message_view(message)->parts.data[index];
  CHECK(part.kind == kind && part.span_begin < part.span_end && is(part.text, text));
}

// A field came from one stretch, which is this text.
static void check_span(const chat_message *message, const output *output, chat_delta_kind field, size_t call, const char *text) {
  chat_span span;
  CHECK(chat_message_spans(message, field, call, &span, 1) == 1);
  CHECK(span.end - span.begin == strlen(text) && memcmp(output->bytes + span.begin, text, strlen(text)) == 0);
}

static void check(const chat_message *message, const output *output) {
  static const char thought[] = "Is </think> the end, or <|x|>?", said[] = "I would write <tool_call>{} here.";
  CHECK(chat_message_view(message)->outcome == CHAT_OUTCOME_COMPLETE);
  CHECK(is(chat_message_view(message)->reasoning, thought) && is(chat_message_view(message)->content, said));
  CHECK(is(chat_message_view(message)->calls.data[0].arguments, "{\"a\": \"</tool_call>\"}"));
  CHECK(is(chat_message_view(message)->calls.data[1].arguments, "{\"a\": 22}"));
  CHECK(chat_message_view(message)->calls.len == 2 && chat_message_view(message)->parts.len == 4);
  check_part(message, 0, CHAT_PART_KIND_REASONING, thought);
  check_part(message, 1, CHAT_PART_KIND_CONTENT, said);
  check_part(message, 2, CHAT_PART_KIND_CALL, "");
  check_part(message, 3, CHAT_PART_KIND_CALL, "");
  const chat_part part = chat_message_view(message)->parts.data[3];
  CHECK(part.call == 1);
  check_span(message, output, CHAT_DELTA_KIND_REASONING, 0, thought);
  check_span(message, output, CHAT_DELTA_KIND_CONTENT, 0, said);
  check_span(message, output, CHAT_DELTA_KIND_TOOL_NAME, 0, "f");
  check_span(message, output, CHAT_DELTA_KIND_TOOL_ARGUMENTS, 0, "{\"a\": \"</tool_call>\"}");
  check_span(message, output, CHAT_DELTA_KIND_TOOL_ARGUMENTS, 1, "{\"a\": 22}");
  size_t structure = 0;
  chat_span spans[32];
  const size_t count = chat_message_spans(message, CHAT_SPANS_STRUCTURE, 0, spans, 32);
  CHECK(count <= 32 && count == chat_message_spans(message, CHAT_SPANS_STRUCTURE, 0, NULL, 7));
  for (size_t i = 0; i < count; i++) structure += spans[i].end - spans[i].begin;
  const size_t calls = 2 * strlen("f") + strlen("{\"a\": \"</tool_call>\"}") + strlen("{\"a\": 22}");
  CHECK(structure + strlen(thought) + strlen(said) + calls == output->len);
  CHECK(chat_message_spans(message, CHAT_DELTA_KIND_TOOL_ID, 0, NULL, 0) == 0);
  CHECK(chat_message_spans(message, CHAT_DELTA_KIND_TOOL_NAME, 2, NULL, 0) == 0);
  CHECK(chat_message_spans(message, CHAT_DELTA_KIND_TOOL_END, 0, NULL, 0) == 0 && chat_message_spans(message, 99, 0, NULL, 0) == 0);
}

// However it is cut, with a draft that is taken back, after a reset, and in a clone.
static void quotes(const chat_params *params) {
  const output output = without_bars(OUTPUT);
  chat_stream *stream = NULL, *clone = NULL;
  chat_message *message = NULL;
  OK(chat_stream_new(params, &stream, &error));
  set_tokens(stream);
  for (size_t cut = 0; cut <= output.len; cut++) {
    feed(stream, &output, 0, cut);
    OK(chat_stream_checkpoint(stream, &error));
    OK(chat_stream_feed_marked(stream, TEXT("think></think>"), NULL, 0, &error));
    OK(chat_stream_rollback(stream, cut, &error));
    OK(chat_stream_clone(stream, &clone, &error));
    feed(clone, &output, cut, output.len);
    OK(chat_stream_finish(clone, CHAT_PARSE_STRICT, &error));
    OK(chat_stream_message(clone, &message, &error));
    check(message, &output);
    chat_message_free(message);
    chat_stream_free(clone);
    OK(chat_stream_reset(stream, &error));
  }
  chat_stream_free(stream);
}

static void misuse(const chat_params *params) {
  static const chat_span outside = {0, 4}, reversed = {2, 1}, twice[] = {{0, 2}, {1, 3}}, whole = {0, 3};
  const chat_str empty[] = {{TEXT("<a>")}, {TEXT("")}}, broken = {TEXT("\xff")}, token = {TEXT("<a>")};
  chat_stream *stream = NULL;
  OK(chat_stream_new(params, &stream, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "no special tokens", chat_stream_feed_marked(stream, TEXT("<a>"), &whole, 1, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "number 1", chat_stream_set_special_tokens(stream, empty, 2, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "UTF-8", chat_stream_set_special_tokens(stream, &broken, 1, &error));
  BAD(chat_stream_set_special_tokens(stream, NULL, 1, &error));
  OK(chat_stream_set_special_tokens(stream, NULL, 0, &error));
  OK(chat_stream_set_special_tokens(stream, &token, 1, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "number 0", chat_stream_feed_marked(stream, TEXT("abc"), &outside, 1, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "number 0", chat_stream_feed_marked(stream, TEXT("abc"), &reversed, 1, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "number 1", chat_stream_feed_marked(stream, TEXT("abc"), twice, 2, &error));
  BAD(chat_stream_feed_marked(stream, TEXT("abc"), NULL, 1, &error));
  BAD(chat_stream_feed_marked(stream, NULL, 3, &whole, 1, &error));
  OK(chat_stream_feed_marked(stream, NULL, 0, NULL, 0, &error));
  OK(chat_stream_feed_marked(stream, TEXT("abc"), &whole, 1, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "before output", chat_stream_set_special_tokens(stream, &token, 1, &error));
  OK(chat_stream_finish(stream, 0, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "finished", chat_stream_feed_marked(stream, TEXT("abc"), NULL, 0, &error));
  chat_stream_free(stream);
}

int main(void) {
  chat_params *params = builtin_params("json-call", REQUEST);
  quotes(params);
  misuse(params);
  chat_params_free(params);
  return 0;
}
