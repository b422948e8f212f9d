// What a grammar says of an output.
#ifndef VERDICT_H
#define VERDICT_H

#include "text.h"

// Appends the part of an output that the grammar of the params would see: all of it, or what comes from the first trigger on.
// False where nothing triggers it.
bool constrained(yyjson_val *params, chat_str output, bool reasoned, buffer *part);

// Appends `full`, `prefix` or `reject`, or why the grammar cannot be used.
void verdict(chat_str grammar, chat_str text, buffer *out);

#endif
