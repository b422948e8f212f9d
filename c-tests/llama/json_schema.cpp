// JSON schemas as trees, and what is written of their parts.
#include "check.h"

#include "chat.h"

#if CHATPARSE_LLAMA == CHATPARSE_LLAMA_IK
void test_json_schema() {}
#else

using json = common_json;
using schema = common_chat_schema;

static common_chat_schema_document read(const std::string & text) { return common_chat_schema_from_json(json::parse(text)); }

// The same as JSON, which tells what was understood.
static std::string written(const std::string & text) { return chatparse_llama::schema_writer().write(*read(text).root).dump(); }

static void trees() {
    CHECK(written("{}") == "{}" && written(R"({"title": "x", "format": "email"})") == "{}");
    CHECK(written(R"({"type": ["null", "integer"], "exclusiveMinimum": 1.5, "maximum": 2.5})") ==
          R"({"anyOf":[{"type":"null"},{"type":"integer","minimum":2,"maximum":2}]})");
    CHECK(written(R"({"type": "integer", "minimum": 1e300, "exclusiveMaximum": -9223372036854775808})") ==
          R"({"type":"integer","maximum":-9223372036854775808})");
    CHECK(written(R"({"minLength": 1, "maxLength": 2, "format": "uuid4"})") == R"({"type":"string","format":"uuid","minLength":1,"maxLength":2})");
    CHECK(written(R"({"items": {"const": [1]}, "maxItems": 2})") == R"({"type":"array","items":{"const":[1]},"maxItems":2})");
    CHECK(written(R"({"prefixItems": [{"enum": [1, "a"]}, {"type": "number"}]})") == R"({"prefixItems":[{"enum":[1,"a"]},{"type":"number"}]})");
    CHECK(written(R"({"allOf": [{"type": "boolean"}]})") == R"({"allOf":[{"type":"boolean"}]})");
    CHECK(written(R"({"properties": {"b": {"type": "null"}, "a": {}}, "required": ["a", 1]})") ==
          R"({"type":"object","properties":{"b":{"type":"null"},"a":{}},"required":["a"],"additionalProperties":false})");
    CHECK(written(R"({"type": "object"})") == R"({"type":"object"})");
    CHECK(std::string(schema::kind_name(read("{}").root->kind())) == "any" && std::string(schema::type_name(schema::TYPE_ARRAY)) == "array");
}

static void references() {
    // Definitions keep their names; other places become definitions.
    CHECK(written(R"({"properties": {"a": {"$ref": "#/properties/b"}, "b": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"items": {"$ref": "#/$defs/n"}}}})") ==
          R"({"type":"object","properties":{"a":{"$ref":"#/$defs/#~1properties~1b"},"b":{"$ref":"#/$defs/n"}},"required":[],"additionalProperties":false,)"
          R"("$defs":{"n":{"type":"array","items":{"$ref":"#/$defs/n"}},"#/properties/b":{"$ref":"#/$defs/n"}}})");
    auto moved = read(R"({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "string"}}})");
    const auto document = std::move(moved);
    const auto & ref = static_cast<const common_chat_schema_ref &>(*document.root);
    CHECK(ref.target == document.refs.at("#/$defs/a~1b").get() && ref.may_be_string());

    // Circles, and chains that are as long as somebody likes.
    CHECK(read(R"({"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}], "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}, {"type": "string"}]},
                   "b": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "integer"}]}}})").root->value_types() ==
          schema::type_set({ schema::TYPE_STRING, schema::TYPE_INTEGER }));
    CHECK(read(R"({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}})").root->value_types().empty());
    json chain = json::object();
    for (int i = 0; i < 3000; i++) {
        chain["$defs"][std::to_string(i)]["$ref"] = "#/$defs/" + std::to_string(i + 1);
    }
    chain["$defs"]["3000"]["type"] = "null";
    chain["$ref"] = "#/$defs/0";
    CHECK(common_chat_schema_from_json(chain).root->may_be_string());
}

static void errors() {
    const auto fails = [](const std::string & text, const char * why) { THROWS(std::runtime_error, why, read(text)); };
    fails("[]", "#: schema must be an object");
    fails(R"({"anyOf": [{}, {"items": {"type": "x"}}]})", "#/anyOf/1/items: unrecognized type x");
    fails(R"({"type": "array", "maxItems": 99999999999})", "#: maxItems must be a non-negative integer");
    fails(R"({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a/b"}}})", "#/$defs/a: cannot resolve $ref #/$defs/a/b, b not found");
    fails(R"({"oneOf": [{}, {"$ref": "#/oneOf/18446744073709551616"}]})", "out of range");
    // What is short and would be huge, or too deep.
    std::string deep = R"({"type": "null"})";
    for (int i = 0; i < 40; i++) {
        deep = R"({"type": ["object", "string"], "allOf": [)" + deep + "]}";
    }
    fails(deep, "more than");
    for (int i = 0; i < 600; i++) {
        deep = R"({"items": )" + deep + "}";
    }
    fails(deep, "deeper than");
}

static void grammars() {
    const std::string text = R"({"properties": {"item": {"$ref": "#/$defs/i"}}, "$defs": {"i": {"type": "array", "items": {"type": "integer"}}}})";
    const auto document = std::make_shared<const common_chat_schema_document>(read(text));
    CHECK(json_schema_to_grammar(*document) == json_schema_to_grammar(json::parse(text), true));
    const auto & item = *static_cast<const common_chat_schema_object &>(*document->root).properties.at(0).schema;
    CHECK(build_grammar([&](const common_grammar_builder & b) { b.add_schema("root", item); }).find("root ::= ref-defs-i\n") != std::string::npos);
    const auto parser = build_peg_parser([&](auto & p) { return p.schema(p.json(), "item", document, item); });
    CHECK(build_grammar([&](const common_grammar_builder & b) { parser.build_grammar(b); }).find("ref-defs-i ::=") != std::string::npos);
}

void test_json_schema() {
    trees();
    references();
    errors();
    grammars();
}
#endif
