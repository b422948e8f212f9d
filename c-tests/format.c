// Formats of the host's own, each described in one text: what they read, as a stream and whole, their grammars and trees, what goes
// wrong, and formats that nobody would write.
#include "support.h"

#include <stdarg.h>

// A text in which ' is written for ", and how long it is. The texts that it gives are good until it has given four others.
static chat_str json(const char *text) {
  static char made[4][8192];
  static int turn = 0;
  char *to = made[turn++ % 4];
  const size_t len = strlen(text);
  CHECK(len < sizeof made[0]);
  for (size_t i = 0; i <= len; i++) to[i] = text[i] == '\'' ? '"' : text[i];
  const chat_str view = {to, len};
  return view;
}

// The parser of a format with this root.
static chat_parser *parser_of(const char *root) {
  char text[4096];
  chat_parser *parser = NULL;
  CHECK(snprintf(text, sizeof text, "{'format': {'root': %s}}", root) < (int)sizeof text);
  const chat_str made = json(text);
  OK(chat_parser_from_json(made.data, made.len, &parser, &error));
  return parser;
}

static chat_message *parse(const chat_parser *parser, const char *output) {
  chat_message *message = NULL;
  OK(chat_parser_parse(parser, output, strlen(output), 0, &message, &error));
  return message;
}

static chat_message *tagged(const chat_parser *parser, const char *text, size_t from, uint32_t flags) {
  chat_message *message = NULL;
  OK(chat_parser_tagged(parser, text, strlen(text), from, flags, &message, &error));
  return message;
}

// Whether the tree of the message has this in it, in which ' is written for ".
static int tree_has(const chat_message *message, const char *part) {
  chat_str tree;
  OK(chat_message_tree_json(message, &tree, &error));
  return contains(tree, json(part).data);
}

// Without an end, what follows is content.
static void without_end(void) {
  chat_parser *parser = parser_of("{'sequence': [{'tag': ['reasoning', {'until': ['|']}]}, {'literal': '|'}]}");
  chat_message *message = parse(parser, "why|what");
  CHECK(is(chat_message_view(message)->reasoning, "why") && is(chat_message_view(message)->content, "what"));
  CHECK(tree_has(message, "") && !tree_has(message, "{"));
  chat_message_free(message);
  chat_parser_free(parser);
}

// Arguments each for itself: call f(id) k=json; t:text.
static void single_arguments(void) {
  static const char root[] =
    "{'sequence': [{'tag': ['content', {'until': ['call ']}]},"
    " {'repeat': [{'rule': {'name': 'calls', 'trigger': true, 'child': {'repeat': [{'sequence': ["
    "   {'atomic': {'tag': ['tool-open', {'sequence': [{'literal': 'call '},"
    "     {'tag': ['tool-name', {'repeat': [{'char': '[a-z]'}, 1, null]}]}, {'literal': '('},"
    "     {'tag': ['tool-id', {'repeat': [{'char': '[a-z]'}, 1, null]}]}, {'literal': ') '}]}]}},"
    "   {'repeat': [{'sequence': ["
    "     {'choice': ["
    "       {'sequence': [{'atomic': {'sequence': [{'tag': ['tool-arg-name', {'char': '[a-z]'}]}, {'literal': '='}]}},"
    "         {'tag': ['tool-arg-value', 'json']}]},"
    "       {'sequence': [{'atomic': {'sequence': [{'tag': ['tool-arg-name', {'char': '[a-z]'}]}, {'literal': ':'}]}},"
    "         {'tag': ['tool-arg-string-value', {'until': ['; ']}]}]}]},"
    "     {'atomic': {'tag': ['tool-arg-close', {'literal': '; '}]}}]}, 0, null]},"
    "   {'tag': ['tool-close', {'literal': '.'}]}]}, 1, 3]}}}, 0, 1]}, 'end']}";
  static const char output[] = "Hm. call f(x) a=[1]; b:it's \"so\"; .call g(y) .";
  chat_parser *parser = parser_of(root);
  chat_message *message = parse(parser, output), *other = NULL;
  CHECK(chat_message_view(message)->outcome == CHAT_OUTCOME_COMPLETE && chat_message_view(message)->calls.len == 2);
  CHECK(is(chat_message_view(message)->content, "Hm. "));
  CHECK(is(chat_message_view(message)->calls.data[0].name, "f") && is(chat_message_view(message)->calls.data[0].id, "x"));
  CHECK(is(chat_message_view(message)->calls.data[0].arguments, "{\"a\":[1],\"b\":\"it's \\\"so\\\"\"}"));
  CHECK(is(chat_message_view(message)->calls.data[1].name, "g") && is(chat_message_view(message)->calls.data[1].arguments, "{}"));

  // As a stream, and after a journey as text.
  chat_parser *again = NULL;
  chat_stream *stream = NULL;
  chat_str text, one_json, other_json;
  OK(chat_parser_json(parser, &text, &error));
  OK(chat_parser_from_json(text.data, text.len, &again, &error));
  OK(chat_stream_from_parser(again, &stream, &error));
  size_t ends = 0;
  for (size_t i = 0; i < sizeof output - 1; i++) {
    OK(chat_stream_feed(stream, output + i, 1, &error));
    for (size_t d = 0; d < chat_stream_view(stream)->deltas.len; d++) {
      const chat_delta delta = chat_stream_view(stream)->deltas.data[d];
      ends += delta.kind == CHAT_DELTA_KIND_TOOL_END;
    }
  }
  OK(chat_stream_finish(stream, CHAT_PARSE_STRICT, &error));
  OK(chat_stream_message(stream, &other, &error));
  OK(chat_message_json(message, &one_json, &error));
  OK(chat_message_json(other, &other_json, &error));
  CHECK(ends == 2 && same_text(one_json, other_json));
  chat_message_free(other);
  chat_stream_free(stream);
  chat_parser_free(again);
  chat_message_free(message);

  // The tagged parts alone are the same message, as far as the text matches.
  message = tagged(parser, output, 0, 0);
  CHECK(chat_message_view(message)->calls.len == 2 && chat_message_view(message)->outcome == CHAT_OUTCOME_COMPLETE);
  chat_message_free(message);
  message = tagged(parser, "Hm. call f(x) a=[1", 0, CHAT_PARSE_PARTIAL);
  CHECK(chat_message_view(message)->outcome == CHAT_OUTCOME_PARTIAL && is(chat_message_view(message)->calls.data[0].arguments, "{\"a\":[1"));
  chat_message_free(message);
  message = tagged(parser, "Hm. call f(x) a=", 0, 0);
  CHECK(chat_message_view(message)->outcome == CHAT_OUTCOME_RECOVERED && chat_message_view(message)->calls.len == 0);
  CHECK(is(chat_message_view(message)->content, "") && tree_has(message, "'outcome':'failed'"));
  chat_message_free(message);

  // The grammar: of the whole, and of what a trigger starts.
  chat_grammar *grammar = NULL;
  OK(chat_parser_grammar(parser, false, &grammar, &error));
  CHECK(contains(chat_grammar_view(grammar)->text, "root ::= ") && contains(chat_grammar_view(grammar)->text, "calls"));
  chat_grammar_free(grammar);
  OK(chat_parser_grammar(parser, true, &grammar, &error));
  CHECK(contains(chat_grammar_view(grammar)->text, "root ::= calls\n") && contains(chat_grammar_view(grammar)->text, "\"call \""));
  chat_grammar_free(grammar);
  chat_parser_free(parser);
}

// Parser and grammar come from one description: the schema shows in the one, and the prefill is in both.
static void grammar_and_prefill(void) {
  chat_parser *parser = NULL;
  chat_grammar *grammar = NULL;
  const chat_str text = json(
    "{'prefill': '<a>', 'format': {'schemas': [{'enum': ['yes', 'no']}], 'root': {'sequence': [{'literal': '<a>'},"
    " {'tag': ['content', {'schema': {'name': 'answer', 'child': 'json', 'schema': {'document': 0}}}]}, 'end']}}}");
  OK(chat_parser_from_json(text.data, text.len, &parser, &error));
  OK(chat_parser_grammar(parser, false, &grammar, &error));
  CHECK(contains(chat_grammar_view(grammar)->text, "answer ::= ") && contains(chat_grammar_view(grammar)->text, "\"<a>\""));
  CHECK(chat_grammar_view(grammar)->report.len == 0);
  chat_grammar_free(grammar);
  chat_message *message = parse(parser, "\"yes\"");
  CHECK(chat_message_view(message)->outcome == CHAT_OUTCOME_COMPLETE && is(chat_message_view(message)->content, "\"yes\""));
  chat_message_free(message);
  chat_parser_free(parser);

  // A schema that no grammar can follow is reported.
  parser = parser_of("{'schema': {'name': 'answer', 'child': 'json', 'schema': {'document': {'$ref': '#/nowhere'}}}}");
  OK(chat_parser_grammar(parser, false, &grammar, &error));
  CHECK(chat_grammar_view(grammar)->report.len == 1);
  chat_grammar_free(grammar);
  chat_parser_free(parser);
}

static void grammars(void) {
  chat_grammar_builder *rules = NULL;
  chat_grammar *grammar = NULL;
  chat_str name;
  chat_parser *parser = parser_of(
    "{'sequence': [{'excluding': [{'sequence': [{'until': ['b']}, {'literal': 'b'}]}, [['b'], []]]},"
    " {'schema': {'name': 's', 'child': {'repeat': [{'char': '[x-z]'}, 1, null]}, 'notation': 'json_or_child',"
    "  'schema': {'document': {'type': 'string'}}}},"
    " {'gbnf': [{'literal': '-'}, '[-+] | \\'?\\'']},"
    " {'schema': {'name': 'n', 'child': 'json', 'schema': {'document': {'const': 2}}}},"
    " {'gbnf': [{'literal': '!'}, '']}]}");
  OK(chat_grammar_builder_new(&rules, &error));
  OK(chat_grammar_builder_add_rule(rules, TEXT("n"), TEXT("\"1\""), &name, &error));
  BAD(chat_grammar_builder_add_parser(rules, NULL, false, &error));
  OK(chat_grammar_builder_add_parser(rules, parser, false, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "root", chat_grammar_builder_add_parser(rules, parser, false, &error));
  OK(chat_grammar_builder_build(rules, &grammar, &error));
  const chat_str gbnf = chat_grammar_view(grammar)->text;
  // What the builder has under a name stays.
  CHECK(contains(gbnf, "n ::= \"1\"\n") && contains(gbnf, "root ::= c-mm2 [x-z]+ ([-+] | \"?\") n0\n"));
  CHECK(contains(gbnf, "c-mm2 ::= [^b]* p-mm2\n"));
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

// Lines such as `key = value`, between a start and an end.
static const char SETTINGS[] =
  "{'sequence': ['start', {'repeat': [{'rule': {'name': 'line', 'child': {'sequence': ["
  " {'tag': ['key', {'repeat': [{'char': '[a-z_]'}, 1, null]}]}, {'repeat': [{'char': '[ \\\\t]'}, 0, null]}, {'literal': '='},"
  " {'tag': ['value', {'until': ['\\n']}]}, {'literal': '\\n'}]}}}, 0, null]}, 'end']}";

static void trees(void) {
  chat_parser *parser = parser_of(SETTINGS), *again = NULL;
  chat_message *message = tagged(parser, "a =1\nbb=\n", 0, 0);
  CHECK(tree_has(message, "'outcome':'matched'") && tree_has(message, "'end':9"));
  CHECK(tree_has(message, "{'begin':0,'end':5,'parent':null,'partial':false,'rule':'line'}"));
  CHECK(tree_has(message, "{'begin':0,'end':1,'parent':0,'partial':false,'tag':'key'}"));
  CHECK(tree_has(message, "{'begin':5,'end':9,'parent':null,'partial':false,'rule':'line'}"));
  CHECK(tree_has(message, "{'begin':8,'end':8,'parent':3,'partial':false,'tag':'value'}"));
  BAD(chat_message_tree_json(message, NULL, &error));
  chat_message_free(message);

  message = tagged(parser, "a=1\nbb=2", 0, CHAT_PARSE_PARTIAL);
  CHECK(tree_has(message, "'outcome':'partial'") && tree_has(message, "{'begin':7,'end':8,'parent':3,'partial':true,'tag':'value'}"));
  chat_message_free(message);
  // Without the flag the same is no match, and there are no nodes.
  message = tagged(parser, "a=1\nbb=2", 0, 0);
  CHECK(tree_has(message, "'outcome':'failed'") && tree_has(message, "'nodes':[]"));
  chat_message_free(message);
  message = tagged(parser, "a=1\nB", 0, CHAT_PARSE_PARTIAL);
  CHECK(tree_has(message, "'outcome':'failed'") && tree_has(message, "'end':4"));
  chat_message_free(message);
  // A later start is not the start.
  message = tagged(parser, "\na=1\n", 1, 0);
  CHECK(tree_has(message, "'outcome':'failed'"));
  chat_message_free(message);
  message = NULL;
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "behind the end of the text", chat_parser_tagged(parser, TEXT("a"), 2, 0, &message, &error));
  BAD(chat_parser_tagged(parser, TEXT("a"), 0, 4, &message, &error));
  CHECK(message == NULL);

  // Labels survive the text of a parser.
  chat_str text;
  OK(chat_parser_json(parser, &text, &error));
  OK(chat_parser_from_json(text.data, text.len, &again, &error));
  message = tagged(again, "k=v\n", 0, 0);
  CHECK(tree_has(message, "'tag':'key'"));
  chat_message_free(message);
  chat_parser_free(again);
  chat_parser_free(parser);
}

// Calls in a turn that no template shows.
static void calls_are(const char *turn, const char *output) {
  static const char tools[] =
    "[{'type': 'function', 'function': {'name': 'f', 'parameters': {'type': 'object', 'properties': {'a': {'type': 'integer'}}}}}]";
  char root[2048];
  snprintf(root, sizeof root, "{'sequence': [{'calls': {'turn': %s, 'request': {'messages': [], 'tool_choice': 'required', 'tools': %s}}}, 'end']}",
           turn, tools);
  chat_parser *parser = parser_of(root);
  chat_message *message = parse(parser, output);
  CHECK(chat_message_view(message)->outcome == CHAT_OUTCOME_COMPLETE && chat_message_view(message)->calls.len == 1);
  CHECK(is(chat_message_view(message)->calls.data[0].name, "f") && contains(chat_message_view(message)->calls.data[0].arguments, "\"a\":"));
  chat_message_free(message);
  chat_parser_free(parser);
}

static void calls(void) {
  calls_are("{'edges': [['prompt', '<c>{\\'name\\': \\'', 'call'], ['call', '</c>', 'end']],"
            " 'calls': [{'pieces': ['name', {'glue': '\\', \\'arguments\\': '}, {'arguments': {'quoted': false}}],"
            " 'close': '}'}]}",
            "<c>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</c>");
  calls_are("{'edges': [['prompt', '<f=', 'call']], 'calls': [{'pieces': ['name', {'members': {'first': '><p=',"
            " 'next': '<p=', 'slots': [[['text', 'integer'], {'open': '>', 'close': '</p>'}]]}}], 'close': '</f>'}]}",
            "<f=f><p=a>1</p></f>");
}

static void refused(chat_status expected, const char *part, const char *text) {
  chat_parser *parser = NULL;
  const chat_str made = json(text);
  SAYS(expected, part, chat_parser_from_json(made.data, made.len, &parser, &error));
  CHECK(parser == NULL);
}

static void errors(void) {
  refused(CHAT_STATUS_INVALID_ARGUMENT, "not a parser", "{'format': {'root': ");
  refused(CHAT_STATUS_INVALID_ARGUMENT, "not UTF-8", "{'format': {'root': {'literal': '\xff'}}}");
  refused(CHAT_STATUS_INVALID_ARGUMENT, "root", "{'format': {'nodes': ['any']}}");
  refused(CHAT_STATUS_INVALID_ARGUMENT, "root", "{'format': {'nodes': ['any'], 'root': 1}}");
  refused(CHAT_STATUS_INVALID_ARGUMENT, "nothing", "{'format': {'root': {'sequence': ['nothing']}}}");
  refused(CHAT_STATUS_INVALID_ARGUMENT, "node 1", "{'format': {'nodes': ['any', {'atomic': 1}], 'root': 0}}");
  refused(CHAT_STATUS_INVALID_ARGUMENT, "node 0", "{'format': {'root': {'gbnf': ['any', '(']}}}");
  refused(CHAT_STATUS_INVALID_ARGUMENT, "[z-a]", "{'format': {'root': {'char': '[z-a]'}}}");
  refused(CHAT_STATUS_INVALID_ARGUMENT, "missing", "{'format': {'root': {'calls': {'request': {'messages': []}, 'turn': {}}}}}");
  refused(CHAT_STATUS_INVALID_ARGUMENT, "\"missing\"", "{'format': {'root': {'ref': 'missing'}}}");
  refused(CHAT_STATUS_INVALID_ARGUMENT, "\"left\"",
          "{'format': {'root': {'rule': {'name': 'left', 'child': {'sequence': ['space', {'ref': 'left'}]}}}}}");

  // Too deep, too long.
  const size_t size = 4 << 20;
  char *text = malloc(size);
  CHECK(text != NULL);
  chat_parser *parser = NULL;
  size_t len = (size_t)snprintf(text, size, "{\"format\":{\"root\":100000,\"nodes\":[\"any\"");
  for (int i = 0; i < 100000; i++) len += (size_t)snprintf(text + len, size - len, ",{\"atomic\":%d}", i);
  len += (size_t)snprintf(text + len, size - len, "]}}");
  EXPECT(CHAT_STATUS_LIMIT, chat_parser_from_json(text, len, &parser, &error));
  len = (size_t)snprintf(text, size, "{\"format\":{\"root\":40,\"nodes\":[{\"literal\":\"0123456789abcdef\"}");
  for (int i = 0; i < 40; i++) len += (size_t)snprintf(text + len, size - len, ",{\"sequence\":[%d,%d]}", i, i);
  len += (size_t)snprintf(text + len, size - len, "]}}");
  EXPECT(CHAT_STATUS_LIMIT, chat_parser_from_json(text, len, &parser, &error));
  free(text);
  CHECK(parser == NULL);
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

static char format[1 << 16];
static size_t written;

static void put(const char *words, ...) {
  va_list arguments;
  va_start(arguments, words);
  written += (size_t)vsnprintf(format + written, sizeof format - written, words, arguments);
  va_end(arguments);
  CHECK(written < sizeof format);
}

static void any_node(int depth);

static void certain(int depth) {
  put(sensible ? "{\"atomic\":" : "");
  any_node(depth);
  put(sensible ? "}" : "");
}

static void any_node(int depth) {
  static const char *const plain[] = {"\"space\"", "\"end\"", "\"json\"", "\"any\"", "\"start\"", "\"python\""};
  static const char *const literals[] = {"a", "ab", "<b>", "{", "\\\"", ""};
  static const char *const classes[] = {"[a-c]", "[^a-c]", "[{-}]"};
  static const char *const markers[] = {"", "\"a\"", "\"a\",\"<b\"", "\"}\""};
  static const char *const tags[] = {"reasoning", "content", "tool-open", "tool-close", "tool-name", "tool-id", "tool-args", "tool-arg-name",
                                     "tool-arg-value", "tool-arg-string-value", "tool-arg-close", "label"};
  switch (any(depth > 0 ? 16 : 6)) {
    case 0:
    case 1: put("{\"literal\":\"%s\"}", literals[any(6)]); return;
    case 2: put("{\"until\":[%s]}", markers[any(4)]); return;
    case 3: put("{\"char\":\"%s\"}", classes[any(3)]); return;
    case 4: put("%s", plain[any(6)]); return;
    case 5: put("{\"ref\":\"%c\"}", any(2) ? 'r' : 's'); return;
    case 6:
    case 7:
      put(sensible ? "{\"atomic\":{\"tag\":[\"%s\"," : "{\"tag\":[\"%s\",", tags[any(sensible ? 2 : 12)]);
      any_node(depth - 1);
      put(sensible ? "]}}" : "]}");
      return;
    case 8: put("{\"repeat\":["); certain(depth - 1); put(any(2) ? ",%d,null]}" : ",%d,2]}", any(2)); return;
    case 9: put(any(2) ? "{\"and\":" : "{\"not\":"); certain(depth - 1); put("}"); return;
    case 10: put("{\"atomic\":"); any_node(depth - 1); put("}"); return;
    case 11:
      put("{\"rule\":{\"name\":\"%c\",\"trigger\":%s,\"child\":", any(2) ? 'r' : 's', any(2) ? "true" : "false");
      any_node(depth - 1);
      put("}}");
      return;
    default:
      put(any(4) ? "{\"sequence\":[" : "{\"choice\":[");
      for (int i = 0; i < 3; i++) {
        put(i ? "," : "");
        certain(depth - 1);
      }
      put("]}");
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
    written = 0;
    put("{\"prefill\":\"%s\",\"format\":{\"nodes\":[{\"rule\":{\"name\":\"r\",\"child\":", any(2) ? "a" : "");
    any_node(2);
    put("}},{\"rule\":{\"name\":\"s\",\"child\":");
    any_node(2);
    put("}}],\"root\":");
    any_node(5);
    put("}}");
    const chat_status status = chat_parser_from_json(format, written, &parser, &error);
    CHECK(status == CHAT_STATUS_OK || status == CHAT_STATUS_INVALID_ARGUMENT);
    chat_error_free(error);
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
      message = tagged(parser, outputs[o], 0, any(2));
      CHECK(tree_has(message, "'outcome':"));
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
  without_end();
  single_arguments();
  grammar_and_prefill();
  grammars();
  trees();
  calls();
  errors();
  any_format();
  sensible = true;
  any_format();
  return 0;
}
