// Answers scenarios, a JSON line each, as `chatparse replay` does, flushed line by line:
//
//     replay < SCENARIOS
#include "answer.h"
#include "support.h"

int main(void) {
  answerer answers = {0};
  buffer line = {0};
  while (read_line(stdin, &line)) {
    yyjson_doc *scenario = read_json(text_in(&line));
    CHECK(scenario != NULL);
    size_t len;
    char *text = answer(&answers, yyjson_doc_get_root(scenario), &len);
    const bool wrote = fwrite(text, 1, len, stdout) == len && putchar('\n') != EOF && fflush(stdout) == 0;
    CHECK(wrote);
    free(text);
    yyjson_doc_free(scenario);
  }
  buffer_free(&line);
  answerer_free(&answers);
  return 0;
}
