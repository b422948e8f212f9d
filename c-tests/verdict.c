#include "verdict.h"

#include "pattern.h"
#include "support.h"

static bool find(const buffer *text, const buffer *word, size_t from, size_t *at) {
  for (size_t i = from; i + word->len <= text->len; i++) {
    if (word->len > 0 && memcmp(text->data + i, word->data, word->len) != 0) continue;
    *at = i;
    return true;
  }
  return false;
}

// Where the last of the tags ends that end the reasoning.
static size_t reasoning_end(json params, const buffer *text) {
  size_t end = 0;
  json item = {0};
  for (const json tags = json_member(params, "thinking_end_tags"); json_next(tags, &item);) {
    buffer tag = {0};
    json_text(item, &tag);
    for (size_t at, from = 0; find(text, &tag, from, &at); from = at + 1)
      if (at + tag.len > end) end = at + tag.len;
    buffer_free(&tag);
  }
  return end;
}

bool constrained(json params, const buffer *output, bool reasoned, buffer *part) {
  buffer text = {0};
  json_text(json_member(params, "generation_prompt"), &text);
  const size_t prompt = text.len;
  buffer_add(&text, output->data, output->len);
  bool starts = !json_is(json_member(params, "grammar_lazy"), "true");
  size_t first = 0;
  if (!starts) {
    const size_t floor = reasoned ? reasoning_end(params, &text) : 0;
    json item = {0};
    for (const json triggers = json_member(params, "grammar_triggers"); json_next(triggers, &item);) {
      const json type = json_member(item, "type");
      buffer value = {0};
      size_t at = 0;
      json_text(json_member(item, "value"), &value);
      CHECK(json_is(type, "\"word\"") || json_is(type, "\"pattern\""));
      const bool found = json_is(type, "\"word\"") ? find(&text, &value, floor, &at) || find(&text, &value, 0, &at)
                                                   : pattern_find(&value, &text, &at);
      if (found && (!starts || at < first)) first = at;
      starts = starts || found;
      buffer_free(&value);
    }
    if (first < prompt) first = prompt;
  }
  if (starts) buffer_add(part, text.data + first, text.len - first);
  buffer_free(&text);
  return starts;
}

void verdict(const buffer *grammar, const buffer *text, buffer *out) {
  chat_grammar_verdict said = CHAT_GRAMMAR_VERDICT_REFUSED;
  chat_error *error = NULL;
  const chat_status status = chat_grammar_check(grammar->data, grammar->len, text->data, text->len, &said, &error);
  const chat_str why = chat_error_message(error);
  switch (said) {
    case CHAT_GRAMMAR_VERDICT_ALLOWED: buffer_print(out, "full"); break;
    case CHAT_GRAMMAR_VERDICT_PREFIX: buffer_print(out, "prefix"); break;
    default: buffer_print(out, status == CHAT_STATUS_OK ? "reject" : "no grammar: "); break;
  }
  buffer_add(out, why.data, why.len);
  chat_error_free(error);
}
