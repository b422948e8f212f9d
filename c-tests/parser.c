// Parsers by themselves: of params, as text, in this process and in another (parser_shared write | parser_static read), and of
// text that is none.
#include "support.h"

static const char REQUEST[] = TOOL_REQUEST(", \"reasoning_format\": \"auto\"");

static const char OUTPUT[] = "<think>\nHm.\n</think>\n\nOK.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";

static chat_parser *parser_of(const char *template, const char *request) {
  chat_params *params = builtin_params(template, request);
  chat_parser *parser = NULL;
  OK(chat_params_parser(params, &parser, &error));
  chat_params_free(params);
  return parser;
}

static void check_call(const chat_parser *parser) {
  chat_message *message = NULL;
  OK(chat_parser_parse(parser, TEXT(OUTPUT), CHAT_PARSE_STRICT, &message, &error));
  CHECK(chat_message_view(message)->outcome == CHAT_OUTCOME_COMPLETE);
  CHECK(is(chat_message_view(message)->reasoning, "Hm.\n") && is(chat_message_view(message)->content, "OK."));
  CHECK(is(chat_message_view(message)->calls.data[0].arguments, "{\"a\": 1}"));
  chat_message_free(message);
}

// A stream of a parser and one of its params are the same.
static void streams(void) {
  chat_params *params = builtin_params("json-call", REQUEST);
  chat_parser *parser = NULL;
  chat_stream *one = NULL, *other = NULL;
  chat_grammar *of_params = NULL, *of_parser = NULL;
  OK(chat_params_parser(params, &parser, &error));
  OK(chat_stream_new(params, &one, &error));
  OK(chat_stream_from_parser(parser, &other, &error));
  for (size_t i = 0; i < sizeof OUTPUT - 1; i++) {
    OK(chat_stream_feed(one, OUTPUT + i, 1, &error));
    OK(chat_stream_feed(other, OUTPUT + i, 1, &error));
    CHECK(chat_stream_view(one)->deltas.len == chat_stream_view(other)->deltas.len);
    for (size_t d = 0; d < chat_stream_view(one)->deltas.len; d++) {
      chat_delta a, b;
      a = chat_stream_view(one)->deltas.data[d];
      b = chat_stream_view(other)->deltas.data[d];
      CHECK(a.kind == b.kind && a.call == b.call && same_text(a.text, b.text));
      CHECK(a.span_begin == b.span_begin && a.span_end == b.span_end);
    }
  }
  chat_stream_free(one);
  chat_stream_free(other);

  // And so is the grammar.
  CHECK(chat_params_view(params)->grammar_lazy);
  OK(chat_params_grammar(params, CHAT_DIALECT_GBNF, &of_params, &error));
  OK(chat_parser_grammar(parser, true, &of_parser, &error));
  CHECK(same_text(chat_grammar_view(of_params)->text, chat_grammar_view(of_parser)->text));
  chat_grammar_free(of_parser);
  OK(chat_parser_grammar(parser, false, &of_parser, &error));
  CHECK(contains(chat_grammar_view(of_parser)->text, "root ::= "));
  chat_grammar_free(of_params);
  chat_grammar_free(of_parser);
  chat_parser_free(parser);
  chat_params_free(params);
}

// Each built-in's parser, written and read, writes the same and parses the same.
static void round_trips(void) {
  for (size_t i = 0; i < chat_template_builtins().len; i++) {
    char name[64];
    const chat_str view = chat_template_builtins().data[i];
    snprintf(name, sizeof name, "%.*s", (int)view.len, view.data);
    chat_parser *parser = parser_of(name, REQUEST), *again = NULL;
    chat_message *one = NULL, *other = NULL;
    chat_str text, second, one_json, other_json;
    OK(chat_parser_json(parser, &text, &error));
    OK(chat_parser_json(parser, &second, &error));
    CHECK(text.len > 0 && text.data == second.data);
    OK(chat_parser_from_json(text.data, text.len, &again, &error));
    OK(chat_parser_json(again, &second, &error));
    CHECK(same_text(text, second));
    OK(chat_parser_parse(parser, TEXT(OUTPUT), CHAT_PARSE_PARTIAL, &one, &error));
    OK(chat_parser_parse(again, TEXT(OUTPUT), CHAT_PARSE_PARTIAL, &other, &error));
    OK(chat_message_json(one, &one_json, &error));
    OK(chat_message_json(other, &other_json, &error));
    CHECK(same_text(one_json, other_json) && chat_message_view(one)->outcome == chat_message_view(other)->outcome);
    chat_message_free(one);
    chat_message_free(other);
    chat_parser_free(again);
    chat_parser_free(parser);
  }
}

// What the prompt has begun is in the text.
static void prefill(void) {
  chat_parser *parser = parser_of("chatml", "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"},"
                                            " {\"role\": \"assistant\", \"content\": \"Well\"}],"
                                            " \"continue_final_message\": true, \"add_generation_prompt\": false}");
  chat_parser *again = NULL;
  chat_message *message = NULL;
  chat_str text;
  OK(chat_parser_json(parser, &text, &error));
  OK(chat_parser_from_json(text.data, text.len, &again, &error));
  chat_parser_free(parser);
  OK(chat_parser_parse(again, TEXT(", hello"), 0, &message, &error));
  CHECK(is(chat_message_view(message)->content, "Well, hello"));
  chat_message_free(message);
  chat_parser_free(again);
}

static void refused(const char *text, size_t len, const char *part) {
  chat_parser *parser = NULL;
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, part, chat_parser_from_json(text, len, &parser, &error));
  CHECK(parser == NULL);
}

// Text that is none of ours is refused; text that nearly is gives an error or a parser, and that parser works.
static void hostile(void) {
  refused(TEXT(""), "parser");
  refused(TEXT("null"), "parser");
  refused(TEXT("{}"), "parser");
  refused(TEXT("\xff{}"), "not UTF-8 at byte 0");
  refused(TEXT("{\"chatparse_parser\":9,\"prefill\":\"\",\"format\":null}"), "9");
  refused(TEXT("{\"chatparse_parser\":1,\"prefill\":\"\",\"format\":null}"), "format");
  refused(TEXT("{\"chatparse_parser\":1,\"prefill\":\"\",\"format\":{\"root\":0,\"nodes\":[],\"schemas\":[]}}"), "root");

  chat_parser *parser = parser_of("json-call", REQUEST);
  chat_str text;
  OK(chat_parser_json(parser, &text, &error));
  // Cut off anywhere.
  for (size_t len = 0; len < text.len; len += 1 + len / 64) {
    chat_parser *cut = NULL;
    BAD(chat_parser_from_json(text.data, len, &cut, &error));
    CHECK(cut == NULL);
  }
  // A byte is another: digits make other references, letters other kinds and texts.
  static const char bytes[] = "09\"[]{},xT\\";
  char *copy = malloc(text.len);
  CHECK(copy != NULL);
  size_t accepted = 0;
  for (size_t at = 0, turn = 0; at < text.len; at += 1 + text.len / 500, turn++) {
    chat_parser *other = NULL;
    chat_error *error = NULL;
    memcpy(copy, text.data, text.len);
    copy[at] = bytes[turn % (sizeof bytes - 1)];
    const chat_status status = chat_parser_from_json(copy, text.len, &other, &error);
    CHECK(status == CHAT_STATUS_OK || status == CHAT_STATUS_INVALID_ARGUMENT || status == CHAT_STATUS_LIMIT);
    CHECK((other != NULL) == (status == CHAT_STATUS_OK) && (error != NULL) == (status != CHAT_STATUS_OK));
    chat_error_free(error);
    if (other != NULL) {
      chat_message *message = NULL;
      chat_grammar *grammar = NULL;
      OK(chat_parser_parse(other, TEXT(OUTPUT), 0, &message, &error));
      OK(chat_parser_grammar(other, turn % 2 == 0, &grammar, &error));
      chat_message_free(message);
      chat_grammar_free(grammar);
      accepted++;
    }
    chat_parser_free(other);
  }
  CHECK(accepted > 0);
  free(copy);
  chat_parser_free(parser);
}

// What one process has written, another reads.
static int write_text(void) {
  chat_parser *parser = parser_of("json-call", REQUEST);
  chat_str text;
  OK(chat_parser_json(parser, &text, &error));
  CHECK(fwrite(text.data, 1, text.len, stdout) == text.len && fflush(stdout) == 0);
  chat_parser_free(parser);
  return 0;
}

static int read_text(void) {
  static char text[1 << 20];
  const size_t len = fread(text, 1, sizeof text, stdin);
  chat_parser *parser = NULL;
  OK(chat_parser_from_json(text, len, &parser, &error));
  memset(text, 'x', len);
  check_call(parser);
  chat_parser_free(parser);
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 1) return strcmp(argv[1], "write") == 0 ? write_text() : read_text();
  chat_parser *parser = parser_of("json-call", REQUEST);
  check_call(parser);
  chat_parser_free(parser);
  streams();
  round_trips();
  prefill();
  hostile();
  return 0;
}
