// Grammars of JSON schemas and of rules.
#include "check.h"

#include "json-schema-to-grammar.h"

using json = common_json;

static void schemas() {
    CHECK(json_schema_to_grammar(json::parse(R"({"type": "integer", "minimum": 0, "maximum": 23})"), true) ==
          "root ::= ([0-9] | ([1] [0-9] | [2] [0-3]))\nspace ::= | \" \" | \"\\n\"{1,2} [ \\t]{0,20}\n");
    THROWS(std::invalid_argument, "JSON schema conversion failed:\n", json_schema_to_grammar(json::parse(R"({"type": "kaboom"})"), true));
    THROWS(std::invalid_argument, "#/properties/a", json_schema_to_grammar(json::parse(R"({"properties": {"a": {"$ref": "#/nowhere"}}})"), true));
#ifdef LLAMA_USE_LLGUIDANCE
    CHECK(json_schema_to_grammar(json::parse(R"({"type": "null"})")) == "%llguidance {}\nstart: %json {\"type\":\"null\"}");
#else
    CHECK(json_schema_to_grammar(json::parse(R"({"type": "null"})")).rfind("root ::= \"null\"\n", 0) == 0);
#endif

    // A reader that does not know an escaped minus gets its number.
    const auto minus = json_schema_to_grammar(json::parse(R"({"type": "string", "pattern": "^[a\\-\\\\]$"})"), true);
    const bool by_number = CHATPARSE_LLAMA == CHATPARSE_LLAMA_IK;
    CHECK(minus.find(by_number ? R"([a\x2D\\])" : R"([a\-\\])") != std::string::npos);

#if CHATPARSE_LLAMA == CHATPARSE_LLAMA_IK
    common_schema_info info;
    auto schema = json::parse(R"({"anyOf": [{"type": "null"}, {"$ref": "#/$defs/s"}], "$defs": {"s": {"enum": [1, "x"]}}})");
    info.resolve_refs(schema);
    CHECK(info.resolves_to_string(json::parse(R"({"format": "email"})")));
    CHECK(json_schema_to_grammar(json::parse("{}"), true).rfind("root ::= object\n") != std::string::npos);
    CHECK(json_schema_to_grammar(json::parse(R"({"items": {"anyOf": [{}, {"type": "null"}]}})"), true).find("item-0 ::= object\n") != std::string::npos);
    CHECK(info.resolves_to_string(schema) && !info.resolves_to_string(json::parse(R"({"type": "object"})")));
#endif
}

// Adds a schema in the way of the version.
static std::string add(const common_grammar_builder & b, const std::string & name, const char * schema) {
    auto json = json::parse(schema);
#if CHATPARSE_LLAMA == CHATPARSE_LLAMA_IK
    b.resolve_refs(json);
    return b.add_schema(name, json);
#else
    return b.add_schema(name, *common_chat_schema_from_json(json).root);
#endif
}

static void rules() {
    const auto grammar = build_grammar([](const common_grammar_builder & b) {
        const auto answer = add(b, "the answer", R"({"const": 1})");
        CHECK(answer == "the-answer" && b.add_rule("string", "\"s\"") == "string-");
        b.add_rule("root", gbnf_format_literal("a\"\n\\") + " " + answer);
    });
    CHECK(grammar.find("root ::= \"a\\\"\\n\\\\\" the-answer\n") != std::string::npos);
    THROWS(std::invalid_argument, "byte 2", build_grammar([](const common_grammar_builder & b) { b.add_rule("root", "a("); }));
    THROWS(std::invalid_argument, "conversion failed", build_grammar([](const common_grammar_builder & b) { add(b, "s", R"({"pattern": "^(a$"})"); }));
    THROWS(std::invalid_argument, "root", build_grammar([](const common_grammar_builder &) {}));
}

void test_schemas() {
    schemas();
    rules();
}
