// Regular expressions, by PCRE2.
#ifndef PATTERN_H
#define PATTERN_H

#include <chatparse.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

// The program ends where the text is no pattern. `options` are PCRE2's, beside those for Unicode.
pcre2_code *pattern_new(chat_str pattern, uint32_t options);

// Where the text, which is UTF-8, matches first from a byte on: the first group that is not empty, or else the whole match.
bool pattern_find(const pcre2_code *pattern, chat_str text, size_t from, chat_span *out);

#endif
