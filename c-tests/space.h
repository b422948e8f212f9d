// White space as Unicode and Python have it.
#ifndef SPACE_H
#define SPACE_H

#include "text.h"

// The text without the white space at its start and its end.
chat_str without_space_around(chat_str text);

// How many characters of the text, which is UTF-8, are no white space.
size_t count_without_space(chat_str text);

#endif
