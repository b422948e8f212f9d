// The words of an output that its message kept, and those that it lost.
#ifndef WORDS_H
#define WORDS_H

#include "text.h"

// How many words of the text are nowhere in the message; one that stands there twice has to be kept twice.
size_t words_lost(chat_str text, yyjson_val *message);

#endif
