// Answers compared with what llama.cpp answered to the same scenarios. How is told where the fields are judged; the parity data's
// own check.py does the same.
#ifndef JUDGE_H
#define JUDGE_H

#include "json.h"

enum { MAX_FIELDS = 32 };

typedef struct {
  const char *field;
  size_t right, wrong;
} figure;

typedef struct {
  // What is told of an answer that is another: nothing, which it is, or both answers.
  enum { TELL_NOTHING, TELL_NAME, TELL_ALL } tell;
  // The ids of outputs that differ on purpose (names.h): their messages are not compared, but must lose no more words.
  buffer exempt;
  figure figures[MAX_FIELDS];
  size_t count;
} judge;

// Judges the answer to a scenario.
void judge_answer(judge *judge, json scenario, json recorded, json answer);

// Prints a table, a row for each field that was compared, and how much that is in all.
void judge_print(judge *judge);

// The share of right answers in percent, of a field or of one that never appeared.
double judge_share(const judge *judge, const char *field);

#endif
