// Regular expressions as far as triggers use them: characters, \s, sets, `.`, `^`, `$`, alternatives, groups of the kinds (...),
// (?:...) and (?!...), and *, + and ? behind single characters, lazy or not. The program ends at any other.
#ifndef PATTERN_H
#define PATTERN_H

#include "json.h"

// Where the text matches first: `*at` is where the first group begins that is not empty, or else the match.
bool pattern_find(const buffer *pattern, const buffer *text, size_t *at);

#endif
