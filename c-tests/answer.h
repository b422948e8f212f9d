// Scenarios answered as `chatparse replay` answers them, but as an engine would get at the answers: through chatparse.h alone.
#ifndef ANSWER_H
#define ANSWER_H

#include "text.h"

typedef struct {
  // Where the templates are, with a slash behind; NULL where scenarios have whole paths.
  const char *dir;
  // Compiled once for all scenarios that share them.
  known_template *templates;
} answerer;

// The answer to a scenario as JSON in one line without its end; free() it. On the way it is checked that the library says the same
// wherever one thing can be asked for in two ways; where it does not, the program ends at once.
char *answer(answerer *answers, yyjson_val *scenario, size_t *len);

void answerer_free(answerer *answers);

#endif
