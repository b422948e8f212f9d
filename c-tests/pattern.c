#include "pattern.h"

#include "support.h"

pcre2_code *pattern_new(chat_str pattern, uint32_t options) {
  int error;
  size_t at;
  PCRE2_SPTR text = (PCRE2_SPTR)(pattern.len > 0 ? pattern.data : "");
  // PCRE2 does not take these with a literal, which needs none of them.
  if (options != PCRE2_LITERAL) options |= PCRE2_UTF | PCRE2_UCP;
  pcre2_code *compiled = pcre2_compile(text, pattern.len, options, &error, &at, NULL);
  CHECK(compiled != NULL);
  return compiled;
}

bool pattern_find(const pcre2_code *pattern, chat_str text, size_t from, chat_span *out) {
  pcre2_match_data *match = pcre2_match_data_create_from_pattern(pattern, NULL);
  CHECK(match != NULL);
  PCRE2_SPTR data = (PCRE2_SPTR)(text.len > 0 ? text.data : "");
  const int groups = pcre2_match(pattern, data, text.len, from, PCRE2_NO_UTF_CHECK, match, NULL);
  CHECK(groups > 0 || groups == PCRE2_ERROR_NOMATCH);
  const size_t *ends = pcre2_get_ovector_pointer(match);
  int group = 1;
  while (group < groups && (ends[2 * group] == PCRE2_UNSET || ends[2 * group] == ends[2 * group + 1])) group++;
  if (group >= groups) group = 0;
  if (groups > 0) *out = (chat_span){ends[2 * group], ends[2 * group + 1]};
  pcre2_match_data_free(match);
  return groups > 0;
}
