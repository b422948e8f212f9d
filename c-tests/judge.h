// Answers compared with what llama.cpp answered to the same scenarios. The parity data's own check.py does
// the same.
#ifndef JUDGE_H
#define JUDGE_H

#include "timeline.h"

enum { MAX_FIELDS = 32 };

typedef struct {
  const char *field;
  size_t right, wrong;
} figure;

typedef struct {
  // What is printed of an answer that differs: nothing, its id, or both answers.
  enum { PRINT_NOTHING, PRINT_ID, PRINT_ALL } print;
  // The ids of outputs that differ on purpose (names.h): their messages are not compared, but must lose no more words.
  buffer exempt;
  figure figures[MAX_FIELDS];
  size_t count;
  delay behind;
} judge;

// Judges the answer to a scenario.
void judge_answer(judge *judge, yyjson_val *scenario, yyjson_val *recorded, yyjson_val *answer);

// Prints a table, a row for each field that was compared, and how much that is in all.
void judge_print(judge *judge);

// The share of right answers in percent, of a field or of one that never appeared.
double judge_share(const judge *judge, const char *field);

#endif
