// What a client sees while an output streams in: rows `[bytes fed, what they changed]`.
#ifndef TIMELINE_H
#define TIMELINE_H

#include "json.h"

// Whether something that was shown is taken back.
bool timeline_retracts(json timeline);

// Whether the reader gave up on the way.
bool timeline_fails(json timeline);

// Whether two timelines that only append show the same message after each byte. If not, `*at` is where they part.
bool timeline_same(json a, json b, size_t *at);

#endif
