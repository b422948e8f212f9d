// Whose text a prompt is, and what of it a model should learn.
#include "support.h"

static const char REQUEST[] =
    "{\"messages\": [{\"role\": \"user\", \"content\": \"What <|im_end|>?\"}, {\"role\": \"assistant\", \"content\": \"That.\"}, "
    "{\"role\": \"user\", \"content\": \"So\"}]}";

static chat_segments *made(const chat_template *template, const char *options) {
  chat_segments *segments;
  const size_t len = options == NULL ? 0 : strlen(options);
  OK(chat_segments_from_template(template, TEXT(REQUEST), options, len, &segments, &error));
  return segments;
}

// Each byte is in one segment, and those of messages hold their texts.
static void check_segments(const chat_segments *segments) {
  static const char *const texts[] = {"What <|im_end|>?", "That.", "So"};
  const chat_str prompt = chat_segments_view(segments)->prompt;
  size_t at = 0, seen = 0;
  for (size_t i = 0; i < chat_segments_view(segments)->segments.len; i++) {
    const chat_segment segment = chat_segments_view(segments)->segments.data[i];
    CHECK(segment.begin == at && segment.end > at);
    at = segment.end;
    if (segment.origin != CHAT_TEXT_ORIGIN_MESSAGE) {
      CHECK(segment.origin == CHAT_TEXT_ORIGIN_TEMPLATE && segment.path.len == 0);
      continue;
    }
    const chat_str text = {prompt.data + segment.begin, segment.end - segment.begin};
    CHECK(segment.index == seen && is(segment.path, "/content") && is(text, texts[seen]));
    seen++;
  }
  CHECK(seen == 3 && at == prompt.len);
}

static void check_mask(const chat_segments *segments, uint32_t parts, const char *text) {
  chat_span spans[2] = {{9, 9}, {9, 9}};
  const chat_str prompt = chat_segments_view(segments)->prompt;
  CHECK(chat_segments_mask(segments, parts, spans, 2) == 1 && chat_segments_mask(segments, parts, NULL, 0) == 1);
  const chat_str masked = {prompt.data + spans[0].begin, spans[0].end - spans[0].begin};
  CHECK(is(masked, text) && spans[1].begin == 9);
}

// Two tokens of the answer, one of the template's, and the character behind them.
static void check_tokens(const chat_segments *segments) {
  const chat_str prompt = chat_segments_view(segments)->prompt;
  chat_span answer;
  CHECK(chat_segments_mask(segments, CHAT_MASK_CONTENT, &answer, 1) == 1);
  const chat_span places[] = {{0, 1}, {answer.begin, answer.begin + 2}, {answer.begin + 2, answer.end + 3}, {answer.end, answer.end + 1}};
  chat_segment_token tokens[4];
  for (int in_chars = 0; in_chars < 2; in_chars++) {
    OK(chat_segments_tokens(segments, CHAT_MASK_CONTENT | CHAT_MASK_END, places, 4, in_chars, tokens, &error));
    CHECK(tokens[0].origin == CHAT_TEXT_ORIGIN_TEMPLATE && !tokens[0].sampled && tokens[0].message == SIZE_MAX);
    for (size_t i = 1; i < 4; i++) CHECK(tokens[i].sampled && tokens[i].message == 1);
    CHECK(tokens[2].origin == CHAT_TEXT_ORIGIN_MESSAGE && tokens[3].origin == CHAT_TEXT_ORIGIN_TEMPLATE);
  }
  const chat_span wrong[] = {{0, 0}, {prompt.len, prompt.len + 1}};
  OK(chat_segments_tokens(segments, CHAT_MASK_CONTENT, wrong, 1, false, tokens, &error));
  CHECK(!tokens[0].sampled);
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "offsets[1]", chat_segments_tokens(segments, CHAT_MASK_CONTENT, wrong, 2, true, tokens, &error));
  BAD(chat_segments_tokens(segments, CHAT_MASK_CONTENT, wrong, 1, true, NULL, &error));
  OK(chat_segments_tokens(segments, CHAT_MASK_CONTENT, NULL, 0, true, NULL, &error));
  CHECK(chat_segments_view(segments)->limit.len == 0);
}

// Each request has its segments, however many threads there are, and a bad one fails alone.
static void check_batch(const chat_template *template) {
  const chat_str good = {REQUEST, strlen(REQUEST)}, bad = {"{}", 2};
  const chat_str requests[] = {good, bad, good, bad, good};
  for (size_t threads = 0; threads < 9; threads += 4) {
    chat_segments *all[5];
    SAYS(CHAT_STATUS_INVALID_ARGUMENT, "requests[1]", chat_segments_batch(template, requests, 5, NULL, 0, threads, all, &error));
    CHECK(all[1] == NULL && all[3] == NULL);
    for (size_t i = 0; i < 5; i += 2) check_segments(all[i]);
    for (size_t i = 0; i < 5; i++) chat_segments_free(all[i]);
  }
  chat_segments *one;
  OK(chat_segments_batch(template, &good, 1, TEXT("{\"for_training\": true}"), 1, &one, &error));
  const chat_str prompt = chat_segments_view(one)->prompt;
  CHECK(prompt.len > 11 && memcmp(prompt.data + prompt.len - 11, "<|im_end|>\n", 11) == 0);
  chat_segments_free(one);
  OK(chat_segments_batch(template, NULL, 0, NULL, 0, 1, NULL, &error));
}

int main(void) {
  chat_template *template;
  OK(chat_template_builtin(TEXT("chatml"), &template, &error));
  chat_segments *segments = made(template, NULL), *plain = made(template, "{\"plain\": true}");
  chat_segments *unknown = NULL;
  BAD(chat_segments_from_template(template, TEXT("{}"), NULL, 0, &unknown, &error));
  BAD(chat_segments_from_template(template, TEXT(REQUEST), TEXT("{\"plane\": true}"), &unknown, &error));
  CHECK(unknown == NULL);
  check_batch(template);
  // They need no template.
  chat_template_free(template);
  check_segments(segments);
  check_segments(plain);
  check_tokens(segments);
  const uint32_t all = CHAT_MASK_REASONING | CHAT_MASK_CONTENT | CHAT_MASK_CALLS | CHAT_MASK_END;
  check_mask(segments, all, "That.<|im_end|>");
  check_mask(segments, all | CHAT_MASK_LAST_ONLY, "That.<|im_end|>");
  check_mask(segments, CHAT_MASK_CONTENT, "That.");
  check_mask(segments, CHAT_MASK_END, "<|im_end|>");
  CHECK(chat_segments_mask(segments, CHAT_MASK_CALLS, NULL, 0) == 0);
  chat_segments_free(segments);
  chat_segments_free(plain);
  return 0;
}
