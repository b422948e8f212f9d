// What the C tests share: a check that says where it failed, and texts with their lengths.
#ifndef SUPPORT_H
#define SUPPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <chatparse.h>
#include <chatparse/unstable.h>

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

// The call gives the status that was expected, and an error object exactly where that is not OK. `error` is in scope.
#define EXPECT(expected, call)                                                                             \
  do {                                                                                                     \
    chat_error *error = NULL;                                                                              \
    const chat_status got = (call);                                                                        \
    const chat_str said = chat_error_message(error);                                                       \
    if (got != (expected)) {                                                                               \
      fprintf(stderr, "%s:%d: %s instead of %s: %.*s\n", __FILE__, __LINE__, chat_status_name(got),        \
              chat_status_name(expected), (int)said.len, said.data);                                       \
      exit(1);                                                                                             \
    }                                                                                                      \
    CHECK((error == NULL) == (got == CHAT_STATUS_OK));                                                     \
    CHECK(error == NULL || (chat_error_status(error) == got && said.len > 0));                             \
    chat_error_free(error);                                                                                \
  } while (0)

#define OK(call) EXPECT(CHAT_STATUS_OK, call)

#define BAD(call) EXPECT(CHAT_STATUS_INVALID_ARGUMENT, call)

// The call fails in this way, and its sentence has this in it.
#define SAYS(expected, part, call)                      \
  do {                                                  \
    chat_error *error = NULL;                           \
    CHECK((call) == (expected));                        \
    CHECK(chat_error_status(error) == (expected));      \
    CHECK(contains(chat_error_message(error), (part))); \
    chat_error_free(error);                             \
  } while (0)

// A literal as pointer and length.
#define TEXT(literal) (literal), sizeof(literal) - 1

// A template that writes calls as JSON between tags.
#define TOOL_TEMPLATE                                                                                                      \
  "{%- for tool in tools or [] %}{{ tool | tojson }}\n{% endfor %}"                                                        \
  "{%- for message in messages %}<|{{ message.role }}|>{{ message.content or '' }}"                                        \
  "{%- for call in message.tool_calls or [] %}"                                                                            \
  "<tool_call>{\"name\": \"{{ call.function.name }}\", \"arguments\": {{ call.function.arguments | tojson }}}</tool_call>" \
  "{% endfor %}<|end|>\n{% endfor %}"                                                                                      \
  "{%- if add_generation_prompt %}<|assistant|>{% endif %}"

// A request with one tool, f(a: integer), and, where it is not empty, more fields.
#define TOOL_REQUEST(more)                                                                                       \
  "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]" more                                            \
  ", \"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"f\", \"parameters\": {\"type\": \"object\"," \
  " \"properties\": {\"a\": {\"type\": \"integer\"}}}}}]}"

#define HI_REQUEST "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}"

// The params of a request to a built-in template.
static inline chat_params *builtin_params(const char *name, const char *request) {
  chat_template *template = NULL;
  chat_params *params = NULL;
  OK(chat_template_builtin(name, strlen(name), &template, &error));
  OK(chat_params_from_template(template, request, strlen(request), &params, &error));
  chat_template_free(template);
  return params;
}

static inline int same_text(chat_str a, chat_str b) {
  const int equal = a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
  if (!equal) fprintf(stderr, "one:   %.*s\nother: %.*s\n", (int)a.len, a.data, (int)b.len, b.data);
  return equal;
}

static inline int is(chat_str text, const char *expected) {
  const int same = text.len == strlen(expected) && memcmp(text.data, expected, text.len) == 0;
  if (!same) fprintf(stderr, "got:      %.*s\nexpected: %s\n", (int)text.len, text.data, expected);
  return same;
}

static inline int contains(chat_str text, const char *part) {
  const size_t len = strlen(part);
  for (size_t i = 0; i + len <= text.len; i++)
    if (memcmp(text.data + i, part, len) == 0) return 1;
  fprintf(stderr, "got:    %.*s\nwithout %s\n", (int)text.len, text.data, part);
  return 0;
}

#endif
