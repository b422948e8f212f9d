// What a client sees while an output streams in: rows `[bytes fed, what they changed]`.
#ifndef TIMELINE_H
#define TIMELINE_H

#include "text.h"

// Whether something that was shown is taken back.
bool timeline_retracts(yyjson_val *timeline);

// Whether the parser gave up on the way.
bool timeline_fails(yyjson_val *timeline);

// Whether two timelines that only append show the same message after each byte. If not, `*at` is where they part.
bool timeline_same(yyjson_val *a, yyjson_val *b, size_t *at);

#endif
