#include "verdict.h"

#include "pattern.h"
#include "support.h"

// Where the last of the tags ends that end the reasoning.
static size_t reasoning_end(yyjson_val *params, chat_str text) {
  size_t end = 0, i, count;
  yyjson_val *tag;
  yyjson_arr_foreach(yyjson_obj_get(params, "thinking_end_tags"), i, count, tag) {
    pcre2_code *pattern = pattern_new(string_of(tag), PCRE2_LITERAL);
    chat_span found;
    for (size_t from = 0; from <= text.len && pattern_find(pattern, text, from, &found); from = found.begin + 1)
      if (found.end > end) end = found.end;
    pcre2_code_free(pattern);
  }
  return end;
}

// Words of the reasoning trigger only where there are no others.
static bool triggers(yyjson_val *trigger, chat_str text, size_t floor, chat_span *found) {
  const chat_str kind = string_at(trigger, "type");
  const bool word = same_texts(kind, text_at("word"));
  CHECK(word || same_texts(kind, text_at("pattern")));
  pcre2_code *pattern = pattern_new(string_at(trigger, "value"), word ? PCRE2_LITERAL : 0);
  const bool there = (word && pattern_find(pattern, text, floor, found)) || pattern_find(pattern, text, 0, found);
  pcre2_code_free(pattern);
  return there;
}

bool constrained(yyjson_val *params, chat_str output, bool reasoned, buffer *part) {
  const chat_str prompt = string_at(params, "generation_prompt");
  buffer all = {0};
  buffer_add(&all, prompt);
  buffer_add(&all, output);
  const chat_str text = text_in(&all);
  bool starts = !yyjson_is_true(yyjson_obj_get(params, "grammar_lazy"));
  size_t first = 0;
  if (!starts) {
    const size_t floor = reasoned ? reasoning_end(params, text) : 0;
    size_t i, count;
    yyjson_val *trigger;
    chat_span found;
    yyjson_arr_foreach(yyjson_obj_get(params, "grammar_triggers"), i, count, trigger) {
      if (!triggers(trigger, text, floor, &found)) continue;
      if (!starts || found.begin < first) first = found.begin;
      starts = true;
    }
    if (first < prompt.len) first = prompt.len;
  }
  if (starts && text.len > first) buffer_add(part, (chat_str){text.data + first, text.len - first});
  buffer_free(&all);
  return starts;
}

void verdict(chat_str grammar, chat_str text, buffer *out) {
  chat_grammar_verdict given = CHAT_GRAMMAR_VERDICT_REFUSED;
  chat_error *error = NULL;
  const chat_status status = chat_grammar_check(grammar.data, grammar.len, text.data, text.len, &given, &error);
  switch (given) {
    case CHAT_GRAMMAR_VERDICT_ALLOWED: buffer_add(out, text_at("full")); break;
    case CHAT_GRAMMAR_VERDICT_PREFIX: buffer_add(out, text_at("prefix")); break;
    default: buffer_add(out, text_at(status == CHAT_STATUS_OK ? "reject" : "no grammar: ")); break;
  }
  buffer_add(out, chat_error_message(error));
  chat_error_free(error);
}
