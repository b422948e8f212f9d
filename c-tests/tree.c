// Trees: what an output is made of, by the rules, tags and labels of a format of one's own; and the kinds of expressions that such
// formats are put together from.
#include "support.h"

static chat_expr_builder *b;

#define LITERAL(text) chat_expr_literal(b, TEXT(text))
#define LABEL(name, child) chat_expr_label(b, TEXT(name), (child))
#define COUNT(...) (sizeof((const chat_expr[]){__VA_ARGS__}) / sizeof(chat_expr))
#define SEQUENCE(...) chat_expr_sequence(b, (const chat_expr[]){__VA_ARGS__}, COUNT(__VA_ARGS__))
#define CLASS(text, min, max) chat_expr_repeat(b, chat_expr_class(b, TEXT(text)), (min), (max))

static void begin(void) { OK(chat_expr_builder_new(&b, &error)); }

static chat_parser *built(chat_expr root) {
  chat_parser *parser = NULL;
  OK(chat_expr_build(b, root, TEXT(""), &parser, &error));
  chat_expr_builder_free(b);
  b = NULL;
  return parser;
}

static chat_tree *tree_of(const chat_parser *parser, const char *text, size_t from, uint32_t flags) {
  chat_tree *tree = NULL;
  OK(chat_parser_tree(parser, text, strlen(text), from, flags, &tree, &error));
  return tree;
}

// Whether there is such a node.
static int node_is(const chat_tree *tree, size_t index, const char *rule, const char *tag, size_t first, size_t last, size_t parent) {
  chat_node node;
  OK(chat_tree_node(tree, index, &node, &error));
  return is(node.rule, rule) && is(node.tag, tag) && node.begin == first && node.end == last && node.parent == parent;
}

// Lines such as `key = value`, between a start and an end.
static chat_parser *settings(void) {
  begin();
  const chat_str newline[] = {{"\n", 1}};
  const chat_expr key = LABEL("key", CLASS("[a-z_]", 1, CHAT_EXPR_UNBOUNDED));
  const chat_expr value = LABEL("value", chat_expr_until(b, newline, 1));
  const chat_expr line = chat_expr_rule(b, TEXT("line"), SEQUENCE(key, CLASS("[ \\t]", 0, CHAT_EXPR_UNBOUNDED), LITERAL("="), value,
                                                                  LITERAL("\n")), false);
  return built(SEQUENCE(chat_expr_start(b), chat_expr_repeat(b, line, 0, CHAT_EXPR_UNBOUNDED), chat_expr_end(b)));
}

static void nodes(void) {
  chat_parser *parser = settings();
  chat_node node;
  chat_tree *tree = tree_of(parser, "a =1\nbb=\n", 0, 0);
  CHECK(chat_tree_outcome(tree) == CHAT_MATCH_MATCHED && chat_tree_end(tree) == 9 && chat_tree_node_count(tree) == 6);
  // The tree needs neither the parser nor the text.
  chat_parser_free(parser);
  CHECK(node_is(tree, 0, "line", "", 0, 5, 0) && node_is(tree, 1, "", "key", 0, 1, 0) && node_is(tree, 2, "", "value", 3, 4, 0));
  CHECK(node_is(tree, 3, "line", "", 5, 9, 3) && node_is(tree, 4, "", "key", 5, 7, 3) && node_is(tree, 5, "", "value", 8, 8, 3));
  OK(chat_tree_node(tree, 5, &node, &error));
  CHECK(!node.partial);
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "6 nodes", chat_tree_node(tree, 6, &node, &error));
  BAD(chat_tree_node(tree, 0, NULL, &error));
  chat_tree_free(tree);

  parser = settings();
  tree = tree_of(parser, "a=1\nbb=2", 0, CHAT_PARSE_PARTIAL);
  CHECK(chat_tree_outcome(tree) == CHAT_MATCH_PARTIAL && chat_tree_end(tree) == 8 && chat_tree_node_count(tree) == 6);
  OK(chat_tree_node(tree, 2, &node, &error));
  CHECK(!node.partial);
  OK(chat_tree_node(tree, 5, &node, &error));
  CHECK(node.partial && node.begin == 7 && node.end == 8);
  chat_tree_free(tree);

  // Without the flag the same is no match, and there are no nodes.
  tree = tree_of(parser, "a=1\nbb=2", 0, 0);
  CHECK(chat_tree_outcome(tree) == CHAT_MATCH_FAILED && chat_tree_node_count(tree) == 0);
  chat_tree_free(tree);
  tree = tree_of(parser, "a=1\nB", 0, CHAT_PARSE_PARTIAL);
  CHECK(chat_tree_outcome(tree) == CHAT_MATCH_FAILED && chat_tree_end(tree) == 4);
  chat_tree_free(tree);
  // A later start is not the start.
  tree = tree_of(parser, "\na=1\n", 1, 0);
  CHECK(chat_tree_outcome(tree) == CHAT_MATCH_FAILED);
  chat_tree_free(tree);
  tree = NULL;
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "behind the end of the text", chat_parser_tree(parser, TEXT("a"), 2, 0, &tree, &error));
  BAD(chat_parser_tree(parser, TEXT("a"), 0, 4, &tree, &error));
  BAD(chat_parser_tree(parser, TEXT("a"), 0, 0, NULL, &error));
  CHECK(tree == NULL);

  // Labels survive the text of a parser.
  chat_parser *again = NULL;
  chat_str text;
  OK(chat_parser_text(parser, &text, &error));
  OK(chat_parser_from_text(text.data, text.len, &again, &error));
  tree = tree_of(again, "k=v\n", 0, 0);
  CHECK(node_is(tree, 1, "", "key", 0, 1, 0));
  chat_tree_free(tree);
  chat_parser_free(again);
  chat_parser_free(parser);
}

// A tag's name means what the tag means.
static void message(void) {
  begin();
  const chat_str call[] = {{"<", 1}};
  const chat_expr name = chat_expr_atomic(b, LABEL("tool-name", CLASS("[a-z]", 1, CHAT_EXPR_UNBOUNDED)));
  const chat_expr open = chat_expr_atomic(b, LABEL("tool-open", SEQUENCE(LITERAL("<"), name, LITERAL(" "))));
  const chat_expr first = SEQUENCE(LABEL("tool-arg-name", CLASS("a-z", 1, CHAT_EXPR_UNBOUNDED)), LITERAL("="),
                                   LABEL("tool-arg-string-value", CLASS("[^>]", 0, CHAT_EXPR_UNBOUNDED)),
                                   LABEL("tool-arg-close", LITERAL("")));
  // The text around arguments that have tags of their own adds nothing.
  const chat_expr close = chat_expr_atomic(b, LABEL("tool-close", LITERAL(">")));
  chat_parser *parser = built(SEQUENCE(chat_expr_tag(b, CHAT_TAG_CONTENT, chat_expr_until(b, call, 1)), open,
                                       LABEL("tool-args", first), close, chat_expr_end(b)));
  chat_message *message = NULL;
  chat_tree *tree = tree_of(parser, "Hi <f a=x\">", 0, 0);
  CHECK(node_is(tree, 0, "", "content", 0, 3, 0));
  OK(chat_tree_message(tree, &message, &error));
  CHECK(chat_message_outcome(message) == CHAT_OUTCOME_COMPLETE && is(chat_message_content(message), "Hi "));
  CHECK(chat_message_tool_call_count(message) == 1 && is(chat_message_tool_call_name(message, 0), "f"));
  CHECK(is(chat_message_tool_call_arguments(message, 0), "{\"a\":\"x\\\"\"}"));
  chat_message_free(message);
  BAD(chat_tree_message(tree, NULL, &error));
  chat_tree_free(tree);

  tree = tree_of(parser, "Hi <f a=x", 0, CHAT_PARSE_PARTIAL);
  OK(chat_tree_message(tree, &message, &error));
  CHECK(chat_message_outcome(message) == CHAT_OUTCOME_PARTIAL && is(chat_message_tool_call_arguments(message, 0), "{\"a\":\"x\""));
  chat_message_free(message);
  chat_tree_free(tree);

  message = NULL;
  tree = tree_of(parser, "Hi <f a", 0, 0);
  EXPECT(CHAT_STATUS_PARSE, chat_tree_message(tree, &message, &error));
  CHECK(message == NULL);
  chat_tree_free(tree);
  chat_parser_free(parser);
}

// Whether all of the text is of that kind.
static int value_is(uint32_t kind, const char *text) {
  begin();
  chat_parser *parser = built(SEQUENCE(chat_expr_value(b, kind), chat_expr_end(b)));
  chat_tree *tree = tree_of(parser, text, 0, 0);
  const int matched = chat_tree_outcome(tree) == CHAT_MATCH_MATCHED;
  chat_tree_free(tree);
  chat_parser_free(parser);
  return matched;
}

static void values(void) {
  CHECK(value_is(CHAT_VALUE_KIND_JSON, "[1, {\"a\": null}]") && !value_is(CHAT_VALUE_KIND_JSON, "['a']"));
  CHECK(value_is(CHAT_VALUE_KIND_JSON_OBJECT, "{}") && !value_is(CHAT_VALUE_KIND_JSON_OBJECT, "[]"));
  CHECK(value_is(CHAT_VALUE_KIND_JSON_ARRAY, "[]") && !value_is(CHAT_VALUE_KIND_JSON_ARRAY, "{}"));
  CHECK(value_is(CHAT_VALUE_KIND_JSON_STRING, "\"\\u00e9\"") && !value_is(CHAT_VALUE_KIND_JSON_STRING, "1"));
  CHECK(value_is(CHAT_VALUE_KIND_JSON_NUMBER, "-1.5e3") && !value_is(CHAT_VALUE_KIND_JSON_NUMBER, "01"));
  CHECK(value_is(CHAT_VALUE_KIND_PYTHON, "{'a': [True, None]}") && !value_is(CHAT_VALUE_KIND_PYTHON, "[true]"));
  CHECK(value_is(CHAT_VALUE_KIND_PYTHON_OR_JSON, "[true, True]"));
  CHECK(value_is(CHAT_VALUE_KIND_PYTHON_DICT, "{'a': 1}") && !value_is(CHAT_VALUE_KIND_PYTHON_DICT, "[1]"));
  CHECK(value_is(CHAT_VALUE_KIND_PYTHON_LIST, "['a']") && !value_is(CHAT_VALUE_KIND_PYTHON_LIST, "{}"));
  CHECK(value_is(CHAT_VALUE_KIND_PYTHON_STRING, "'a\"'") && !value_is(CHAT_VALUE_KIND_PYTHON_STRING, "a"));
  begin();
  const chat_expr inside = SEQUENCE(LITERAL("`"), chat_expr_string_body(b, '`'), LITERAL("`"), chat_expr_end(b));
  chat_parser *parser = built(inside);
  chat_tree *tree = tree_of(parser, "`a\\`\\n`", 0, 0);
  CHECK(chat_tree_outcome(tree) == CHAT_MATCH_MATCHED);
  chat_tree_free(tree);
  chat_parser_free(parser);
}

#define TOOLS                                                                                            \
  "{\"messages\": [], \"tool_choice\": \"required\", \"tools\": [{\"type\": \"function\", \"function\":" \
  " {\"name\": \"f\", \"parameters\": {\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"integer\"}}}}}]}"

// Calls in a turn that no template shows.
static void calls_are(const char *turn, const char *output) {
  begin();
  chat_parser *parser = built(SEQUENCE(chat_expr_calls(b, TEXT(TOOLS), turn, strlen(turn)), chat_expr_end(b)));
  chat_message *message = NULL;
  OK(chat_parser_parse(parser, output, strlen(output), 0, &message, &error));
  CHECK(chat_message_outcome(message) == CHAT_OUTCOME_COMPLETE && chat_message_tool_call_count(message) == 1);
  CHECK(is(chat_message_tool_call_name(message, 0), "f") && contains(chat_message_tool_call_arguments(message, 0), "\"a\":"));
  chat_message_free(message);
  chat_parser_free(parser);
}

static void calls(void) {
  calls_are("{\"edges\": [[\"prompt\", \"<c>{\\\"name\\\": \\\"\", \"call\"], [\"call\", \"</c>\", \"end\"]],"
            " \"calls\": [{\"pieces\": [\"name\", {\"glue\": \"\\\", \\\"arguments\\\": \"}, {\"arguments\": {\"quoted\": false}}],"
            " \"close\": \"}\"}]}",
            "<c>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</c>");
  calls_are("{\"edges\": [[\"prompt\", \"<f=\", \"call\"]], \"calls\": [{\"pieces\": [\"name\", {\"members\": {\"first\": \"><p=\","
            " \"next\": \"<p=\", \"slots\": [[[\"text\", \"integer\"], {\"open\": \">\", \"close\": \"</p>\"}]]}}], \"close\": \"</f>\"}]}",
            "<f=f><p=a>1</p></f>");
}

static void grammars(void) {
  chat_grammar_builder *rules = NULL;
  chat_grammar *grammar = NULL;
  chat_str name;
  const chat_str end[] = {{"b", 1}};
  begin();
  const chat_expr text = chat_expr_excluding(b, SEQUENCE(chat_expr_until(b, end, 1), LITERAL("b")), end, 1);
  const chat_expr raw = chat_expr_schema(b, CLASS("[x-z]", 1, CHAT_EXPR_UNBOUNDED), TEXT("s"), TEXT("{\"type\": \"string\"}"), true);
  const chat_expr own = chat_expr_gbnf(b, LITERAL("-"), TEXT("[-+] | \"?\""));
  const chat_expr typed = chat_expr_schema(b, chat_expr_value(b, CHAT_VALUE_KIND_JSON), TEXT("n"), TEXT("{\"const\": 2}"), false);
  chat_parser *parser = built(SEQUENCE(text, raw, own, typed, chat_expr_gbnf(b, LITERAL("!"), "", 0)));
  OK(chat_grammar_builder_new(&rules, &error));
  OK(chat_grammar_builder_add_rule(rules, TEXT("n"), TEXT("\"1\""), &name, &error));
  BAD(chat_grammar_builder_add_parser(rules, NULL, false, &error));
  OK(chat_grammar_builder_add_parser(rules, parser, false, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "root", chat_grammar_builder_add_parser(rules, parser, false, &error));
  OK(chat_grammar_builder_build(rules, &grammar, &error));
  const chat_str gbnf = chat_grammar_text(grammar);
  // What the builder has under a name stays.
  CHECK(contains(gbnf, "n ::= \"1\"\n") && contains(gbnf, "root ::= c0 [x-z]+ ([-+] | \"?\") n0\n"));
  CHECK(contains(gbnf, "c0 ::= [b] | [^b] c0\n"));
  chat_grammar_free(grammar);
  chat_grammar_builder_free(rules);
  chat_parser_free(parser);

  bool allows = false;
  OK(chat_schema_allows_string(TEXT("{\"type\": [\"null\", \"string\"]}"), &allows, &error));
  CHECK(allows);
  OK(chat_schema_allows_string(TEXT("{\"type\": \"integer\"}"), &allows, &error));
  CHECK(!allows);
  BAD(chat_schema_allows_string(TEXT("{"), &allows, &error));
}

// As in expr.c: the call gives none, and the build says which function failed, and why.
#define WRONG(function, part, call)                                                                              \
  do {                                                                                                           \
    chat_parser *parser = NULL;                                                                                  \
    begin();                                                                                                     \
    const chat_expr good = LITERAL("x");                                                                         \
    CHECK((call) == CHAT_EXPR_NONE);                                                                             \
    SAYS(CHAT_STATUS_INVALID_ARGUMENT, function ": ", chat_expr_build(b, good, TEXT(""), &parser, &error));      \
    SAYS(CHAT_STATUS_INVALID_ARGUMENT, part, chat_expr_build(b, good, TEXT(""), &parser, &error));               \
    chat_expr_builder_free(b);                                                                                   \
  } while (0)

static void deferred_errors(void) {
  const chat_str empty[] = {{"", 0}};
  WRONG("chat_expr_class", "empty", chat_expr_class(b, TEXT("[^]")));
  WRONG("chat_expr_class", "comes after", chat_expr_class(b, TEXT("[z-a]")));
  WRONG("chat_expr_string_body", "ASCII", chat_expr_string_body(b, '\xe9'));
  WRONG("chat_expr_label", "99", chat_expr_label(b, TEXT("l"), 99));
  WRONG("chat_expr_value", "77 is unknown", chat_expr_value(b, 77));
  WRONG("chat_expr_schema", "schema cannot be read", chat_expr_schema(b, good, TEXT("s"), TEXT("{"), false));
  WRONG("chat_expr_gbnf", "", chat_expr_gbnf(b, good, TEXT("(")));
  WRONG("chat_expr_excluding", "none", chat_expr_excluding(b, good, NULL, 0));
  WRONG("chat_expr_excluding", "empty", chat_expr_excluding(b, good, empty, 1));
  WRONG("chat_expr_calls", "messages", chat_expr_calls(b, TEXT("{}"), TEXT("{}")));
  WRONG("chat_expr_calls", "calls: missing", chat_expr_calls(b, TEXT(TOOLS), TEXT("{}")));
  WRONG("chat_expr_calls", "unknown variant", chat_expr_calls(b, TEXT(TOOLS), TEXT("{\"calls\": [{\"pieces\": [\"nam\"]}]}")));
}

int main(void) {
  nodes();
  message();
  values();
  calls();
  grammars();
  deferred_errors();
  return 0;
}
