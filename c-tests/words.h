// The words of an output that its message kept, and those that it lost.
#ifndef WORDS_H
#define WORDS_H

#include "json.h"

// How many words of the text are nowhere in the message; one that stands there twice has to be kept twice. A word is made of
// ASCII letters, digits, underscores and whatever is not ASCII. check.py knows which of the latter are letters, so it cuts finer;
// which of two messages loses more is the same over all that was recorded, or `.ci/run` would say so.
size_t words_lost(const buffer *text, json message);

#endif
