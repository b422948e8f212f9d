// Formats of the host's own: each kind of expression, both ways to write arguments, the grammar of them, what goes wrong, and
// formats that nobody would write.
#include "support.h"

static chat_expr_builder *b;

// Shorthands for the builder at hand.
#define LITERAL(text) chat_expr_literal(b, TEXT(text))
#define TAG(tag, child) chat_expr_tag(b, CHAT_TAG_##tag, (child))
#define COUNT(...) (sizeof((const chat_expr[]){__VA_ARGS__}) / sizeof(chat_expr))
#define SEQUENCE(...) chat_expr_sequence(b, (const chat_expr[]){__VA_ARGS__}, COUNT(__VA_ARGS__))
#define CHOICE(...) chat_expr_choice(b, (const chat_expr[]){__VA_ARGS__}, COUNT(__VA_ARGS__))

static chat_expr until(const char *marker) {
  const chat_str markers[] = {{marker, strlen(marker)}};
  return chat_expr_until(b, markers, 1);
}

static chat_expr rest(void) { return chat_expr_until(b, NULL, 0); }

static void begin(void) { OK(chat_expr_builder_new(&b, &error)); }

static chat_parser *built(chat_expr root) {
  chat_parser *parser = NULL;
  OK(chat_expr_build(b, root, TEXT(""), &parser, &error));
  return parser;
}

static void end(void) {
  chat_expr_builder_free(b);
  b = NULL;
}

static chat_message *parse(const chat_parser *parser, const char *output) {
  chat_message *message = NULL;
  OK(chat_parser_parse(parser, output, strlen(output), 0, &message, &error));
  return message;
}

// Whether a format that is only this, and the end, has the output; what matches is content.
static int matches(chat_expr root, const char *output) {
  chat_parser *parser = built(SEQUENCE(TAG(CONTENT, root), chat_expr_end(b)));
  chat_message *message = parse(parser, output);
  const int complete = chat_message_outcome(message) == CHAT_OUTCOME_COMPLETE;
  // Nothing is lost either way.
  CHECK(is(chat_message_content(message), output));
  chat_message_free(message);
  chat_parser_free(parser);
  return complete;
}

static void each_kind(void) {
  begin();
  CHECK(matches(LITERAL("abc"), "abc") && !matches(LITERAL("abc"), "abd") && !matches(LITERAL("abc"), "abcd"));
  CHECK(matches(LITERAL(""), "") && matches(LITERAL("a\"\\\n"), "a\"\\\n"));
  CHECK(matches(SEQUENCE(until("."), LITERAL(".")), "abc.") && !matches(SEQUENCE(until("."), LITERAL(".")), "abc"));
  const chat_str two[] = {{"--", 2}, {"==", 2}};
  CHECK(matches(SEQUENCE(chat_expr_until(b, two, 2), LITERAL("==")), "a-b=c=="));
  CHECK(matches(rest(), "any <thing>\n") && matches(rest(), ""));

  const chat_char_range hex[] = {{'0', '9'}, {'a', 'f'}, {0x2614, 0x2614}};
  CHECK(matches(chat_expr_character(b, hex, 3, false), "b") && matches(chat_expr_character(b, hex, 3, false), "\xe2\x98\x94"));
  CHECK(!matches(chat_expr_character(b, hex, 3, false), "g") && matches(chat_expr_character(b, hex, 3, true), "g"));
  CHECK(matches(chat_expr_character(b, NULL, 0, true), "x") && !matches(chat_expr_character(b, NULL, 0, true), ""));
  CHECK(matches(chat_expr_space(b), " \t\r\n ") && matches(chat_expr_space(b), "") && !matches(chat_expr_space(b), " x"));
  CHECK(matches(chat_expr_json(b, "", 0, TEXT("{}")), "{\"a\": [1, null, \"x\\n\"]}"));
  CHECK(!matches(chat_expr_json(b, "", 0, TEXT("{}")), "{\"a\": }"));
  // The schema is for the grammar; what is parsed is any JSON.
  CHECK(matches(chat_expr_json(b, "n", 1, TEXT("{\"type\": \"integer\"}")), "\"text\""));

  CHECK(matches(CHOICE(LITERAL("a"), LITERAL("b")), "b") && !matches(CHOICE(LITERAL("a"), LITERAL("b")), "c"));
  CHECK(!matches(chat_expr_choice(b, NULL, 0), "a") && !matches(chat_expr_choice(b, NULL, 0), ""));
  // The first that matches has it.
  CHECK(!matches(CHOICE(LITERAL("a"), LITERAL("ab")), "ab"));
  CHECK(matches(chat_expr_sequence(b, NULL, 0), ""));
  const chat_expr ab = LITERAL("ab");
  CHECK(matches(chat_expr_repeat(b, ab, 0, 1), "") && matches(chat_expr_repeat(b, ab, 0, 1), "ab"));
  CHECK(!matches(chat_expr_repeat(b, ab, 0, 1), "abab") && !matches(chat_expr_repeat(b, ab, 2, 3), "ab"));
  CHECK(matches(chat_expr_repeat(b, ab, 2, 3), "ababab"));
  CHECK(matches(chat_expr_repeat(b, ab, 0, CHAT_EXPR_UNBOUNDED), "abababababab"));
  // What matches nothing is not repeated for ever.
  CHECK(matches(chat_expr_repeat(b, chat_expr_space(b), 0, CHAT_EXPR_UNBOUNDED), "  "));
  CHECK(matches(SEQUENCE(chat_expr_lookahead(b, ab, false), rest()), "abc"));
  CHECK(!matches(SEQUENCE(chat_expr_lookahead(b, ab, false), rest()), "ba"));
  CHECK(matches(SEQUENCE(chat_expr_lookahead(b, ab, true), rest()), "ba"));
  CHECK(!matches(SEQUENCE(chat_expr_lookahead(b, ab, true), rest()), "abc"));
  CHECK(matches(chat_expr_atomic(b, ab), "ab"));

  // A rule may be referred to before it is there, and from inside itself; the second of a name counts.
  const chat_expr list = chat_expr_reference(b, TEXT("list"));
  chat_expr_rule(b, TEXT("list"), LITERAL("replaced"), false);
  chat_expr_rule(b, TEXT("list"), SEQUENCE(LITERAL("("), chat_expr_repeat(b, list, 0, CHAT_EXPR_UNBOUNDED), LITERAL(")")), false);
  CHECK(matches(list, "(()(()))") && !matches(list, "(()") && !matches(list, "replaced"));
  end();
}

// Without an end, what follows is content.
static void without_end(void) {
  begin();
  chat_parser *parser = built(SEQUENCE(TAG(REASONING, until("|")), LITERAL("|")));
  end();
  chat_message *message = parse(parser, "why|what");
  CHECK(is(chat_message_reasoning(message), "why") && is(chat_message_content(message), "what"));
  chat_message_free(message);
  chat_parser_free(parser);
}

// Arguments each for itself: call f(id) k=json; t:text.
static void single_arguments(void) {
  begin();
  const chat_char_range letters[] = {{'a', 'z'}};
  const chat_expr word = chat_expr_repeat(b, chat_expr_character(b, letters, 1, false), 1, CHAT_EXPR_UNBOUNDED);
  const chat_expr json = SEQUENCE(chat_expr_atomic(b, SEQUENCE(TAG(ARGUMENT_NAME, word), LITERAL("="))),
                                  TAG(ARGUMENT_JSON, chat_expr_json(b, TEXT("value"), TEXT("{}"))), TAG(ARGUMENT_CLOSE, LITERAL("; ")));
  const chat_expr text = SEQUENCE(chat_expr_atomic(b, SEQUENCE(TAG(ARGUMENT_NAME, word), LITERAL(":"))),
                                  TAG(ARGUMENT_TEXT, until("; ")), TAG(ARGUMENT_CLOSE, LITERAL("; ")));
  const chat_expr open = TAG(TOOL_OPEN, SEQUENCE(LITERAL("call "), TAG(TOOL_NAME, word), LITERAL("("),
                                                 TAG(TOOL_ID, word), LITERAL(") ")));
  const chat_expr arguments = chat_expr_repeat(b, CHOICE(json, text), 0, CHAT_EXPR_UNBOUNDED);
  const chat_expr call = SEQUENCE(chat_expr_atomic(b, open), arguments, TAG(TOOL_CLOSE, LITERAL(".")));
  const chat_expr calls = chat_expr_rule(b, TEXT("calls"), chat_expr_repeat(b, call, 1, 3), true);
  chat_parser *parser = built(SEQUENCE(TAG(CONTENT, until("call ")), chat_expr_repeat(b, calls, 0, 1), chat_expr_end(b)));
  end();

  static const char output[] = "Hm. call f(x) a=[1]; b:it's \"so\"; .call g(y) .";
  chat_message *message = parse(parser, output), *other = NULL;
  CHECK(chat_message_outcome(message) == CHAT_OUTCOME_COMPLETE && chat_message_tool_call_count(message) == 2);
  CHECK(is(chat_message_content(message), "Hm. "));
  CHECK(is(chat_message_tool_call_name(message, 0), "f") && is(chat_message_tool_call_id(message, 0), "x"));
  CHECK(is(chat_message_tool_call_arguments(message, 0), "{\"a\":[1],\"b\":\"it's \\\"so\\\"\"}"));
  CHECK(is(chat_message_tool_call_name(message, 1), "g") && is(chat_message_tool_call_arguments(message, 1), "{}"));

  // As a stream, and after a journey as text.
  chat_parser *again = NULL;
  chat_stream *stream = NULL;
  chat_str text_of;
  OK(chat_parser_text(parser, &text_of, &error));
  OK(chat_parser_from_text(text_of.data, text_of.len, &again, &error));
  OK(chat_stream_from_parser(again, &stream, &error));
  size_t ends = 0;
  for (size_t i = 0; i < sizeof output - 1; i++) {
    OK(chat_stream_feed(stream, output + i, 1, &error));
    for (size_t d = 0; d < chat_stream_delta_count(stream); d++) {
      chat_delta delta;
      OK(chat_stream_delta(stream, d, &delta, &error));
      ends += delta.kind == CHAT_DELTA_KIND_TOOL_END;
    }
  }
  OK(chat_stream_finish(stream, CHAT_PARSE_STRICT, &error));
  OK(chat_stream_message(stream, &other, &error));
  CHECK(ends == 2);
  chat_str one_json, other_json;
  OK(chat_message_json(message, &one_json, &error));
  OK(chat_message_json(other, &other_json, &error));
  CHECK(same_text(one_json, other_json));
  chat_message_free(other);
  chat_stream_free(stream);
  chat_parser_free(again);
  chat_message_free(message);

  // The grammar: of the whole, and of what a trigger starts.
  chat_grammar *grammar = NULL;
  OK(chat_parser_grammar(parser, false, &grammar, &error));
  CHECK(contains(chat_grammar_text(grammar), "root ::= ") && contains(chat_grammar_text(grammar), "calls"));
  chat_grammar_free(grammar);
  OK(chat_parser_grammar(parser, true, &grammar, &error));
  CHECK(contains(chat_grammar_text(grammar), "root ::= calls\n") && contains(chat_grammar_text(grammar), "\"call \""));
  chat_grammar_free(grammar);
  chat_parser_free(parser);
}

// Parser and grammar come from one description: the schema shows in the one, and the prefill is in both.
static void grammar_and_prefill(void) {
  chat_parser *parser = NULL;
  chat_grammar *grammar = NULL;
  begin();
  const chat_expr answer = chat_expr_json(b, TEXT("answer"), TEXT("{\"enum\": [\"yes\", \"no\"]}"));
  const chat_expr root = SEQUENCE(LITERAL("<a>"), TAG(CONTENT, answer), chat_expr_end(b));
  OK(chat_expr_build(b, root, TEXT("<a>"), &parser, &error));
  end();
  OK(chat_parser_grammar(parser, false, &grammar, &error));
  CHECK(contains(chat_grammar_text(grammar), "answer ::= ") && contains(chat_grammar_text(grammar), "\"<a>\""));
  CHECK(chat_grammar_report_count(grammar) == 0);
  chat_grammar_free(grammar);
  chat_message *message = parse(parser, "\"yes\"");
  CHECK(chat_message_outcome(message) == CHAT_OUTCOME_COMPLETE && is(chat_message_content(message), "\"yes\""));
  chat_message_free(message);
  chat_parser_free(parser);

  // A schema that no grammar can follow is reported.
  begin();
  parser = built(chat_expr_json(b, TEXT("answer"), TEXT("{\"$ref\": \"#/nowhere\"}")));
  end();
  OK(chat_parser_grammar(parser, false, &grammar, &error));
  CHECK(chat_grammar_report_count(grammar) == 1);
  chat_grammar_free(grammar);
  chat_parser_free(parser);
}

// The builder keeps what it has: several formats of one.
static void several(void) {
  begin();
  const chat_expr word = TAG(CONTENT, until("|"));
  chat_parser *one = built(SEQUENCE(word, LITERAL("|1"), chat_expr_end(b)));
  chat_parser *other = built(SEQUENCE(word, LITERAL("|2"), chat_expr_end(b)));
  end();
  chat_message *message = parse(one, "a|1");
  CHECK(chat_message_outcome(message) == CHAT_OUTCOME_COMPLETE);
  chat_message_free(message);
  message = parse(other, "a|1");
  CHECK(chat_message_outcome(message) == CHAT_OUTCOME_RECOVERED);
  chat_message_free(message);
  chat_parser_free(one);
  chat_parser_free(other);
}

// The call gives no expression, what is made of it is none, and the build says which function failed, and why.
#define WRONG(function, part, call)                                                                                  \
  do {                                                                                                               \
    chat_parser *parser = NULL;                                                                                      \
    begin();                                                                                                         \
    const chat_expr good = LITERAL("x");                                                                             \
    const chat_expr wrong = (call);                                                                                  \
    CHECK(good != CHAT_EXPR_NONE && wrong == CHAT_EXPR_NONE);                                                        \
    CHECK(SEQUENCE(good, wrong) == CHAT_EXPR_NONE && CHOICE(wrong) == CHAT_EXPR_NONE);                               \
    CHECK(chat_expr_repeat(b, wrong, 0, 1) == CHAT_EXPR_NONE && chat_expr_atomic(b, wrong) == CHAT_EXPR_NONE);       \
    CHECK(chat_expr_lookahead(b, wrong, true) == CHAT_EXPR_NONE && TAG(CONTENT, wrong) == CHAT_EXPR_NONE);           \
    CHECK(chat_expr_rule(b, TEXT("r"), wrong, false) == CHAT_EXPR_NONE);                                             \
    /* The first failure counts, also for a root that is fine. */                                                    \
    CHECK(chat_expr_literal(b, TEXT("\xff")) == CHAT_EXPR_NONE);                                                     \
    SAYS(CHAT_STATUS_INVALID_ARGUMENT, function ": ", chat_expr_build(b, good, "", 0, &parser, &error));             \
    SAYS(CHAT_STATUS_INVALID_ARGUMENT, part, chat_expr_build(b, wrong, "", 0, &parser, &error));                     \
    CHECK(parser == NULL);                                                                                           \
    end();                                                                                                           \
  } while (0)

static void deferred_errors(void) {
  const chat_str empty[] = {{"", 0}}, broken[] = {{"\xff", 1}}, null[] = {{NULL, 1}};
  const chat_char_range surrogate[] = {{0xd800, 0xdfff}}, beyond[] = {{'a', 0x110000}}, backwards[] = {{'z', 'a'}};
  WRONG("chat_expr_literal", "text: not UTF-8 at byte 1", chat_expr_literal(b, TEXT("a\xff")));
  WRONG("chat_expr_literal", "NULL", chat_expr_literal(b, NULL, 1));
  WRONG("chat_expr_until", "empty", chat_expr_until(b, empty, 1));
  WRONG("chat_expr_until", "not UTF-8", chat_expr_until(b, broken, 1));
  WRONG("chat_expr_until", "NULL", chat_expr_until(b, null, 1));
  WRONG("chat_expr_until", "NULL", chat_expr_until(b, NULL, 2));
  WRONG("chat_expr_until", "memory", chat_expr_until(b, empty, SIZE_MAX));
  WRONG("chat_expr_character", "0xd800", chat_expr_character(b, surrogate, 1, false));
  WRONG("chat_expr_character", "0x110000", chat_expr_character(b, beyond, 1, true));
  WRONG("chat_expr_character", "0x7a", chat_expr_character(b, backwards, 1, false));
  WRONG("chat_expr_character", "NULL", chat_expr_character(b, NULL, 1, false));
  WRONG("chat_expr_character", "empty", chat_expr_character(b, NULL, 0, false));
  WRONG("chat_expr_json", "schema cannot be read", chat_expr_json(b, "", 0, TEXT("{")));
  WRONG("chat_expr_json", "name: not UTF-8", chat_expr_json(b, TEXT("\xff"), TEXT("{}")));
  WRONG("chat_expr_json", "schema", chat_expr_json(b, "", 0, NULL, 0));
  WRONG("chat_expr_sequence", "99", SEQUENCE(good, 99));
  WRONG("chat_expr_sequence", "NULL", chat_expr_sequence(b, NULL, 3));
  WRONG("chat_expr_sequence", "memory", chat_expr_sequence(b, &good, SIZE_MAX));
  WRONG("chat_expr_choice", "99", CHOICE(99));
  WRONG("chat_expr_repeat", "99", chat_expr_repeat(b, 99, 0, 1));
  WRONG("chat_expr_repeat", "3", chat_expr_repeat(b, good, 3, 2));
  WRONG("chat_expr_lookahead", "4294967295", chat_expr_lookahead(b, UINT32_MAX, false));
  WRONG("chat_expr_atomic", "99", chat_expr_atomic(b, 99));
  WRONG("chat_expr_tag", "tag: 0", chat_expr_tag(b, 0, good));
  WRONG("chat_expr_tag", "tag: 12", chat_expr_tag(b, 12, good));
  WRONG("chat_expr_tag", "99", TAG(CONTENT, 99));
  WRONG("chat_expr_rule", "name: not UTF-8", chat_expr_rule(b, TEXT("\xff"), good, false));
  WRONG("chat_expr_rule", "99", chat_expr_rule(b, TEXT("r"), 99, false));
  WRONG("chat_expr_reference", "name: not UTF-8", chat_expr_reference(b, TEXT("\xff")));
}

// What only the whole shows.
static void build_errors(void) {
  chat_parser *parser = NULL;
  begin();
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "root", chat_expr_build(b, CHAT_EXPR_NONE, "", 0, &parser, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "1", chat_expr_build(b, 1, "", 0, &parser, &error));
  const chat_expr missing = chat_expr_reference(b, TEXT("missing"));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "\"missing\"", chat_expr_build(b, missing, "", 0, &parser, &error));
  const chat_expr left = chat_expr_rule(b, TEXT("left"), SEQUENCE(chat_expr_space(b), chat_expr_reference(b, TEXT("left"))), false);
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "\"left\"", chat_expr_build(b, left, "", 0, &parser, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "prefill: not UTF-8", chat_expr_build(b, LITERAL("x"), TEXT("\xff"), &parser, &error));
  // Those do no harm.
  CHECK(parser == NULL && matches(LITERAL("x"), "x"));

  // Too deep, too long.
  chat_expr deep = LITERAL("x");
  for (int i = 0; i < 100000; i++) deep = chat_expr_atomic(b, deep);
  EXPECT(CHAT_STATUS_LIMIT, chat_expr_build(b, deep, "", 0, &parser, &error));
  chat_expr wide = LITERAL("0123456789abcdef");
  for (int i = 0; i < 40; i++) wide = SEQUENCE(wide, wide);
  EXPECT(CHAT_STATUS_LIMIT, chat_expr_build(b, wide, "", 0, &parser, &error));
  CHECK(parser == NULL);
  end();
}

static uint32_t seed = 1;

static uint32_t any(uint32_t below) {
  seed ^= seed << 13;
  seed ^= seed >> 17;
  seed ^= seed << 5;
  return seed % below;
}

// Sensible formats show what is certain, and have calls nowhere; the others have anything anywhere.
static bool sensible;

static chat_expr certain(chat_expr child) { return sensible ? chat_expr_atomic(b, child) : child; }

static chat_expr any_expr(int depth) {
  static const chat_str markers[] = {{"a", 1}, {"<b", 2}, {"}", 1}};
  static const chat_char_range ranges[] = {{'a', 'c'}, {'{', '}'}};
  static const char *const names[] = {"r", "s"};
  static const char *const literals[] = {"a", "ab", "<b>", "{", "\"", ""};
  const uint32_t kind = any(depth > 0 ? 16 : 6);
  const char *name = names[any(2)], *literal = literals[any(6)];
  chat_expr children[3];
  size_t count = 0;
  switch (kind) {
    case 0:
    case 1: return chat_expr_literal(b, literal, strlen(literal));
    case 2: return chat_expr_until(b, markers, any(4));
    case 3: return chat_expr_character(b, ranges, 1 + any(2), any(2));
    case 4: return any(2) ? chat_expr_space(b) : chat_expr_end(b);
    case 5: return any(2) ? chat_expr_json(b, "", 0, TEXT("{}")) : chat_expr_reference(b, name, 1);
    case 6:
    case 7: return certain(chat_expr_tag(b, 1 + any(sensible ? 2 : 11), any_expr(depth - 1)));
    case 8: return chat_expr_repeat(b, certain(any_expr(depth - 1)), any(2), 1 + (any(2) ? any(3) : CHAT_EXPR_UNBOUNDED - 1));
    case 9: return chat_expr_lookahead(b, certain(any_expr(depth - 1)), any(2));
    case 10: return chat_expr_atomic(b, any_expr(depth - 1));
    case 11: return chat_expr_rule(b, name, 1, any_expr(depth - 1), any(2));
    default:
      for (count = 0; count < 3; count++) children[count] = certain(any_expr(depth - 1));
      return kind < 15 ? chat_expr_sequence(b, children, count) : chat_expr_choice(b, children, count);
  }
}

// Whatever the format, tags where they make no sense included: it is refused or it parses, and nothing is a defect. What a
// sensible one reads does not depend on how the output was cut.
static void any_format(void) {
  static const char *const outputs[] = {"", "ab<b>{\"a\":1}", "a {\"\"} b", "\xff{{{\"", "<b><b><b>aaaabbb \"x\" }"};
  size_t formats = 0;
  for (int i = 0; i < 500; i++) {
    chat_parser *parser = NULL;
    chat_error *error = NULL;
    begin();
    for (int rules = 0; rules < 2; rules++) chat_expr_rule(b, rules ? "s" : "r", 1, any_expr(2), false);
    const chat_status status = chat_expr_build(b, any_expr(5), any(2) ? "a" : "", any(2), &parser, &error);
    CHECK(status == CHAT_STATUS_OK || status == CHAT_STATUS_INVALID_ARGUMENT);
    chat_error_free(error);
    end();
    if (parser == NULL) continue;
    formats++;
    for (size_t o = 0; o < sizeof outputs / sizeof *outputs; o++) {
      chat_message *whole = NULL, *message = NULL;
      chat_stream *stream = NULL;
      chat_str one, other;
      const size_t len = strlen(outputs[o]);
      OK(chat_parser_parse(parser, outputs[o], len, 0, &whole, &error));
      OK(chat_stream_from_parser(parser, &stream, &error));
      for (size_t at = 0; at < len; at++) {
        OK(chat_stream_feed(stream, outputs[o] + at, 1, &error));
        OK(chat_stream_chunk_json(stream, &one, &error));
      }
      OK(chat_stream_finish(stream, 0, &error));
      OK(chat_stream_message(stream, &message, &error));
      OK(chat_message_json(whole, &one, &error));
      OK(chat_message_json(message, &other, &error));
      CHECK(!sensible || same_text(one, other));
      chat_message_free(whole);
      chat_message_free(message);
      chat_stream_free(stream);
    }
    chat_grammar *grammar = NULL;
    OK(chat_parser_grammar(parser, any(2), &grammar, &error));
    chat_grammar_free(grammar);
    chat_parser_free(parser);
  }
  CHECK(formats > 50);
}

int main(void) {
  each_kind();
  without_end();
  single_arguments();
  grammar_and_prefill();
  several();
  deferred_errors();
  build_errors();
  any_format();
  sensible = true;
  any_format();
  return 0;
}
