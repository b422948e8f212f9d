// Grammars: of a schema, of rules put together, and of what params let a model write.
#include "support.h"

static void schemas(void) {
  chat_grammar *grammar = NULL;
  OK(chat_grammar_from_json_schema(TEXT("{\"type\": \"integer\", \"minimum\": 0, \"maximum\": 23}"), CHAT_GRAMMAR_STYLE_FAITHFUL, &grammar, &error));
  CHECK(is(chat_grammar_view(grammar)->text, "root ::= ([03-9] | \"1\" [0-9]? | \"2\" [0-3]?)\n"));
  CHECK(chat_grammar_view(grammar)->report.len == 0);
  chat_grammar_free(grammar);
  OK(chat_grammar_from_json_schema(TEXT("{\"type\": \"integer\", \"minimum\": 0, \"maximum\": 23}"),
                                        CHAT_GRAMMAR_STYLE_LLAMA_CPP, &grammar, &error));
  CHECK(contains(chat_grammar_view(grammar)->text, "root ::= ([0-9] | ([1] [0-9] | [2] [0-3]))\n"));
  chat_grammar_free(grammar);

  grammar = NULL;
  SAYS(CHAT_STATUS_SCHEMA, "#/properties/age",
       chat_grammar_from_json_schema(TEXT("{\"properties\": {\"age\": {\"type\": \"integer\", \"minimum\": \"no\"}}}"),
                                     CHAT_GRAMMAR_STYLE_FAITHFUL, &grammar, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "schema", chat_grammar_from_json_schema(TEXT("{"), CHAT_GRAMMAR_STYLE_FAITHFUL, &grammar, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "not UTF-8 at byte 1",
       chat_grammar_from_json_schema(TEXT("\"\xff\""), CHAT_GRAMMAR_STYLE_FAITHFUL, &grammar, &error));
  CHECK(grammar == NULL);
}

// A pattern that no grammar can say becomes any string, and the report tells.
static void report(void) {
  static const char schema[] = "{\"properties\": {\"code\": {\"type\": \"string\", \"pattern\": \"(?<=a)b\"}},"
                               "\"additionalProperties\": false, \"type\": \"object\"}";
  chat_grammar *grammar = NULL;
  chat_fidelity entry;
  OK(chat_grammar_from_json_schema(TEXT(schema), CHAT_GRAMMAR_STYLE_FAITHFUL, &grammar, &error));
  CHECK(chat_grammar_view(grammar)->report.len == 1);
  entry = chat_grammar_view(grammar)->report.data[0];
  CHECK(entry.kind == CHAT_FIDELITY_KIND_WIDENED);
  CHECK(is(entry.schema, "") && contains(entry.pointer, "#/properties/code") && entry.message.len > 0);
  chat_grammar_free(grammar);
}

static chat_grammar_verdict verdict(const char *grammar, const char *text) {
  chat_grammar_verdict verdict;
  OK(chat_grammar_check(grammar, strlen(grammar), text, strlen(text), &verdict, &error));
  return verdict;
}

static void check(void) {
  static const char number[] = "root ::= \"-\"? [0-9]{2,3} # a comment";
  CHECK(verdict(number, "-12") == CHAT_GRAMMAR_VERDICT_ALLOWED && verdict(number, "123") == CHAT_GRAMMAR_VERDICT_ALLOWED);
  CHECK(verdict(number, "-1") == CHAT_GRAMMAR_VERDICT_PREFIX && verdict(number, "") == CHAT_GRAMMAR_VERDICT_PREFIX);
  CHECK(verdict(number, "x") == CHAT_GRAMMAR_VERDICT_REFUSED && verdict(number, "1234") == CHAT_GRAMMAR_VERDICT_REFUSED);

  chat_grammar *grammar = NULL;
  OK(chat_grammar_from_json_schema(TEXT("{\"const\": \"\u00e5\"}"), CHAT_GRAMMAR_STYLE_FAITHFUL, &grammar, &error));
  chat_grammar_verdict said = CHAT_GRAMMAR_VERDICT_REFUSED;
  const chat_str text = chat_grammar_view(grammar)->text;
  OK(chat_grammar_check(text.data, text.len, TEXT("\"\xc3\xa5\""), &said, &error));
  CHECK(said == CHAT_GRAMMAR_VERDICT_ALLOWED);
  chat_grammar_free(grammar);

  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "line 2", chat_grammar_check(TEXT("root ::= a\na = b"), TEXT(""), &said, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "\"root\"", chat_grammar_check(TEXT(""), TEXT(""), &said, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "text: not UTF-8", chat_grammar_check(TEXT(number), TEXT("\xff"), &said, &error));
}

static void builder(void) {
  chat_grammar_builder *builder = NULL;
  chat_grammar *first = NULL, *second = NULL;
  chat_fidelity entry;
  chat_str name = {NULL, 0};
  OK(chat_grammar_builder_new(&builder, &error));

  // Names: equal rules share one, others get a number; what a name cannot hold becomes a dash.
  OK(chat_grammar_builder_add_literal(builder, TEXT("say hi!"), TEXT("\"hi\"\n\\"), &name, &error));
  CHECK(is(name, "say-hi-"));
  OK(chat_grammar_builder_add_literal(builder, TEXT("say hi!"), TEXT("\"hi\"\n\\"), &name, &error));
  CHECK(is(name, "say-hi-"));
  OK(chat_grammar_builder_add_rule(builder, TEXT("say hi!"), TEXT(" [a-z]{2,8} | \"\n\"\n"), &name, &error));
  CHECK(is(name, "say-hi-0"));
  OK(chat_grammar_builder_add_literal(builder, TEXT("string"), TEXT("a\0b"), &name, &error));
  CHECK(is(name, "string-"));
  OK(chat_grammar_builder_add_schema(builder, TEXT("place"), TEXT("{\"const\": 1}"), &name, &error));
  CHECK(is(name, "place"));
  OK(chat_grammar_builder_add_schema(builder, TEXT("place"), TEXT("{\"pattern\": \"(?<=a)b\"}"), &name, &error));
  CHECK(is(name, "place0"));

  // What is refused changes nothing, not even the last name.
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "blank",
       chat_grammar_builder_add_rule(builder, TEXT("bad"), TEXT(" \n"), &name, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "byte 3: unexpected '\\n'",
       chat_grammar_builder_add_rule(builder, TEXT("bad"), TEXT("\"a\"\nroot ::= \"b\""), &name, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "inside quotes",
       chat_grammar_builder_add_rule(builder, TEXT("bad"), TEXT("(a) \"b"), &name, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "body: not UTF-8",
       chat_grammar_builder_add_rule(builder, TEXT("bad"), TEXT("\xff"), &name, &error));
  SAYS(CHAT_STATUS_SCHEMA, "#/items",
       chat_grammar_builder_add_schema(builder, TEXT("bad"), TEXT("{\"items\": {\"type\": 1}}"), &name, &error));

  // A grammar starts somewhere and lacks no rule.
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "\"root\"", chat_grammar_builder_build(builder, &first, &error));
  OK(chat_grammar_builder_add_rule(builder, TEXT("root"), TEXT("say-hi- (string- | more)*"), &name, &error));
  CHECK(is(name, "root"));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "\"more\"", chat_grammar_builder_build(builder, &first, &error));
  CHECK(first == NULL);
  OK(chat_grammar_builder_add_rule(builder, TEXT("more"), TEXT("\"(\" root \")\""), &name, &error));
  OK(chat_grammar_builder_build(builder, &first, &error));

  // A grammar does not change with its builder.
  OK(chat_grammar_builder_add_rule(builder, TEXT("late"), TEXT("place | place0"), &name, &error));
  OK(chat_grammar_builder_build(builder, &second, &error));
  chat_grammar_builder_free(builder);
  const chat_str text = chat_grammar_view(first)->text;
  CHECK(contains(text, "say-hi- ::= \"\\\"hi\\\"\\n\\\\\"\n"));
  CHECK(contains(text, "say-hi-0 ::= [a-z]{2,8} | \"\n\"\n"));
  CHECK(contains(text, "string- ::= \"a\\x00b\"\n"));
  CHECK(contains(text, "more ::= \"(\" root \")\"\n"));
  CHECK(contains(text, "place ::= \"1\""));
  CHECK(chat_grammar_view(second)->text.len > text.len && contains(chat_grammar_view(second)->text, "late ::= place | place0\n"));
  CHECK(chat_grammar_view(first)->report.len == 1);
  entry = chat_grammar_view(first)->report.data[0];
  CHECK(is(entry.schema, "place") && entry.kind == CHAT_FIDELITY_KIND_WIDENED);
  chat_grammar_free(first);
  chat_grammar_free(second);
}

static void dialects(void) {
  chat_grammar *grammar = NULL, *lark = NULL, *again = NULL;
  OK(chat_grammar_from_json_schema(TEXT("{\"type\": \"boolean\"}"), CHAT_GRAMMAR_STYLE_FAITHFUL, &grammar, &error));
  OK(chat_grammar_as(grammar, CHAT_DIALECT_GBNF, &again, &error));
  CHECK(is(chat_grammar_view(again)->text, "root ::= (\"true\" | \"false\")\n"));
  chat_grammar_free(again);
  OK(chat_grammar_as(grammar, CHAT_DIALECT_PORTABLE_GBNF, &again, &error));
  CHECK(is(chat_grammar_view(again)->text, "root ::= \"true\" | \"false\"\n"));
  chat_grammar_free(again);
  OK(chat_grammar_as(grammar, CHAT_DIALECT_LARK, &lark, &error));
  CHECK(contains(chat_grammar_view(lark)->text, "start: ") && chat_grammar_view(lark)->report.len == 0);
  // What was printed is no GBNF any more.
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "grammar", chat_grammar_as(lark, CHAT_DIALECT_LARK, &again, &error));
  SAYS(CHAT_STATUS_INVALID_ARGUMENT, "dialect: 9", chat_grammar_as(grammar, 9, &again, &error));
  chat_grammar_free(grammar);
  chat_grammar_free(lark);
}

// Two tools; the parameters of the second cannot be used.
#define REQUEST(more)                                                                                      \
  "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]" more                                        \
  ", \"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"good\", \"parameters\": {\"type\":"   \
  " \"object\", \"properties\": {\"a\": {\"type\": \"integer\"}}, \"required\": [\"a\"]}}},"               \
  " {\"type\": \"function\", \"function\": {\"name\": \"bad\", \"parameters\": {\"type\": \"object\","     \
  " \"properties\": {\"b\": {\"$ref\": \"#/nowhere\"}}}}}]}"

static const char LAZY[] = REQUEST("");
static const char REQUIRED[] = REQUEST(", \"tool_choice\": \"required\"");
static const char FREE[] = "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}";

static void params(void) {
  chat_template *template = NULL;
  chat_params *lazy = NULL, *required = NULL, *unconstrained = NULL;
  chat_grammar *grammar = NULL;
  chat_fidelity entry;
  chat_trigger trigger;
  chat_str json;
  OK(chat_template_new(TEXT(TOOL_TEMPLATE), TEXT(""), TEXT("<|end|>"), &template, &error));
  OK(chat_params_from_template(template, TEXT(LAZY), &lazy, &error));
  OK(chat_params_from_template(template, TEXT(REQUIRED), &required, &error));
  OK(chat_params_from_template(template, TEXT(FREE), &unconstrained, &error));
  chat_template_free(template);

  CHECK(chat_params_view(lazy)->grammar_lazy);
  CHECK(chat_params_view(lazy)->grammar_triggers.len == 1);
  trigger = chat_params_view(lazy)->grammar_triggers.data[0];
  CHECK(trigger.kind == CHAT_TRIGGER_KIND_WORD && is(trigger.value, "<tool_call>"));
  OK(chat_params_json(lazy, &json, &error));
  CHECK(contains(json, "\"grammar_lazy\":true") && contains(json, "\"grammar\":\"") && contains(json, "root ::= "));
  CHECK(contains(json, "\"grammar_report\":[{\"schema\":"));
  // An engine that knows no triggers gets them as a part of the grammar.
  OK(chat_params_grammar(lazy, CHAT_DIALECT_STRUCTURAL_TAG, &grammar, &error));
  CHECK(contains(chat_grammar_view(grammar)->text, "\"excludes\":[\"<tool_call>\"]"));
  chat_grammar_free(grammar);
  // The grammar outlives the params, which give the same one each time.
  OK(chat_params_grammar(lazy, CHAT_DIALECT_GBNF, &grammar, &error));
  chat_params_free(lazy);
  CHECK(contains(chat_grammar_view(grammar)->text, "<tool_call>"));
  // The good one has no properties but its own, the bad one could not be used.
  CHECK(chat_grammar_view(grammar)->report.len == 2);
  for (size_t i = 0; i < 2; i++) {
    entry = chat_grammar_view(grammar)->report.data[i];
    CHECK(entry.kind == CHAT_FIDELITY_KIND_REFUSED
              ? contains(entry.schema, "bad") && contains(entry.message, "nowhere")
              : entry.kind == CHAT_FIDELITY_KIND_NARROWED && contains(entry.schema, "good"));
  }
  chat_grammar_free(grammar);

  CHECK(!chat_params_view(required)->grammar_lazy);
  CHECK(chat_params_view(required)->grammar_triggers.len == 0);
  OK(chat_params_grammar(required, CHAT_DIALECT_GBNF, &grammar, &error));
  CHECK(contains(chat_grammar_view(grammar)->text, "<tool_call>") && contains(chat_grammar_view(grammar)->text, "good"));
  chat_grammar_free(grammar);
  chat_params_free(required);

  CHECK(!chat_params_view(unconstrained)->grammar_lazy);
  OK(chat_params_grammar(unconstrained, CHAT_DIALECT_GBNF, &grammar, &error));
  CHECK(is(chat_grammar_view(grammar)->text, "") && chat_grammar_view(grammar)->report.len == 0);
  chat_grammar_free(grammar);
  OK(chat_params_json(unconstrained, &json, &error));
  CHECK(contains(json, "\"grammar\":\"\",\"grammar_lazy\":false,\"grammar_triggers\":[],\"grammar_report\":[]"));
  chat_params_free(unconstrained);
}

int main(void) {
  dialects();
  schemas();
  report();
  check();
  builder();
  params();
  return 0;
}
