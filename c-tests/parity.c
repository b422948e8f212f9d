// Holds the library to what llama.cpp did, as it was recorded, as an engine would use it: through chatparse.h alone.
//
//     parity --compare DIR < PACK    compares: PACK has lines {"in": scenario, "out": what llama.cpp answered}, and DIR the
//                                    templates. Prints a figure for each field, in the words of the parity data's check.py.
//         --list                     also print the id of each answer that is another
//         --show                     also print both answers then
//         --learnt FILE              leave out the templates whose names, to the first tab, are lines of FILE
//         --except FILE              outputs whose ids, to the first tab, are lines of FILE differ on purpose: they are not
//                                    compared; `on_purpose` counts those that lose no more words than with llama.cpp
//         --min=FIELD=PERCENT        exit with 1 where less of a field is right; may be given more than once
#include "answer.h"
#include "judge.h"
#include "names.h"
#include "support.h"

typedef struct {
  char **minima;
  size_t count;
  judge judge;
  // The names of templates that are left out.
  buffer dedicated;
} options;

static bool is_dedicated(const options *options, yyjson_val *scenario) {
  static const char ending[] = ".jinja";
  chat_str name = string_at(scenario, "template");
  if (name.len >= strlen(ending)) name.len -= strlen(ending);
  return names_have(&options->dedicated, name);
}

static bool reached(const options *options) {
  bool all = true;
  for (size_t i = 0; i < options->count; i++) {
    char *minimum = options->minima[i], *equals = strchr(minimum, '=');
    *equals = '\0';
    const double share = judge_share(&options->judge, minimum);
    if (share < strtod(equals + 1, NULL)) {
      printf("below the bar: %s %.2f < %s\n", minimum, share, equals + 1);
      all = false;
    }
    *equals = '=';
  }
  return all;
}

static void compare(answerer *answers, judge *judge, yyjson_val *scenario, yyjson_val *recorded) {
  size_t len;
  char *text = answer(answers, scenario, &len);
  yyjson_doc *given = read_json((chat_str){text, len});
  CHECK(given != NULL);
  judge_answer(judge, scenario, recorded, yyjson_doc_get_root(given));
  yyjson_doc_free(given);
  free(text);
}

static int compare_all(answerer *answers, options *options) {
  buffer line = {0};
  size_t rows = 0;
  for (; read_line(stdin, &line); rows++) {
    yyjson_doc *row = read_json(text_in(&line));
    yyjson_val *root = yyjson_doc_get_root(row);
    yyjson_val *scenario = yyjson_obj_get(root, "in"), *recorded = yyjson_obj_get(root, "out");
    CHECK(scenario != NULL && recorded != NULL);
    if (!is_dedicated(options, scenario)) compare(answers, &options->judge, scenario, recorded);
    yyjson_doc_free(row);
  }
  buffer_free(&line);
  judge_print(&options->judge);
  return rows > 0 && reached(options) ? 0 : 1;
}

// False where the command line is none; `*dir` is the folder of templates.
static bool read_options(int argc, char **argv, options *options, const char **dir) {
  static const char minimum[] = "--min=";
  for (int i = 2; i < argc; i++) {
    const bool more = i + 1 < argc;
    if (strcmp(argv[i], "--list") == 0) {
      options->judge.print = PRINT_ID;
    } else if (strcmp(argv[i], "--show") == 0) {
      options->judge.print = PRINT_ALL;
    } else if (strcmp(argv[i], "--learnt") == 0 && more) {
      if (!names_read(&options->dedicated, argv[++i])) return false;
    } else if (strcmp(argv[i], "--except") == 0 && more) {
      if (!names_read(&options->judge.exempt, argv[++i])) return false;
    } else if (strncmp(argv[i], minimum, strlen(minimum)) == 0 && strchr(argv[i] + strlen(minimum), '=') != NULL) {
      options->minima[options->count++] = argv[i] + strlen(minimum);
    } else if (argv[i][0] != '-' && *dir == NULL) {
      *dir = argv[i];
    } else {
      return false;
    }
  }
  return *dir != NULL && strcmp(argv[1], "--compare") == 0;
}

int main(int argc, char **argv) {
  answerer answers = {0};
  options options = {0};
  buffer dir = {0};
  int code = 2;
  const char *name = NULL;
  options.minima = calloc((size_t)argc + 1, sizeof *options.minima);
  CHECK(options.minima != NULL);
  if (argc > 1 && read_options(argc, argv, &options, &name)) {
    buffer_add(&dir, text_at(name));
    buffer_add(&dir, (chat_str){"/", 2});
    answers.dir = dir.data;
    code = compare_all(&answers, &options);
  } else {
    fprintf(stderr, "usage: parity --compare DIR [--list | --show] [--learnt FILE] [--except FILE] [--min=FIELD=PERCENT]... < PACK\n");
  }
  answerer_free(&answers);
  buffer_free(&options.dedicated);
  buffer_free(&options.judge.exempt);
  buffer_free(&dir);
  free(options.minima);
  return code;
}
