// The texts of a message, put together from deltas.
#ifndef PARTS_H
#define PARTS_H

#include "text.h"

typedef struct {
  buffer name, id, arguments;
} call_parts;

// Start with {0}.
typedef struct {
  buffer content, reasoning;
  call_parts *calls;
  size_t count;
} parts;

// Adds what a delta of a kind with a text appends; a call that is new comes with it.
void parts_add(parts *parts, chat_delta_kind kind, size_t call, chat_str text);

void parts_free(parts *parts);

#endif
