// What a client sees while an output streams in: rows `[bytes fed, what they changed]`.
#ifndef TIMELINE_H
#define TIMELINE_H

#include "text.h"

// Whether something that was shown is taken back.
bool timeline_retracts(yyjson_val *timeline);

// Whether the parser gave up on the way.
bool timeline_fails(yyjson_val *timeline);

// How much later text was shown than the reference shows it, summed over the steps of timelines.
typedef struct {
  size_t characters, steps;
} delay;

// Whether a timeline is never far behind what the reference shows; both only append. White space and ids of calls do not count.
// Adds to `behind`. If it is not, `*at` is the first byte where it is too far behind.
bool timeline_in_time(yyjson_val *reference, yyjson_val *timeline, delay *behind, size_t *at);

#endif
