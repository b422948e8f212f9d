// Parsers that are put together by hand: what they match, the nodes of that, their grammar, and the message in it.
#include "check.h"

#include "chat-peg-parser.h"
#include "chat.h"
#include "json-schema-to-grammar.h"
#include "peg-parser.h"

#include <sstream>

using json = common_json;

// Type, reach and nodes of a parse, e.g. "success 3: line[0-3] key[0-1]".
static std::string shown(const common_peg_arena & parser, const std::string & text, common_peg_parse_flags flags = COMMON_PEG_PARSE_FLAG_NONE) {
    common_peg_parse_context ctx(text, flags);
    const auto result = parser.parse(ctx);
    std::ostringstream out;
    out << common_peg_parse_result_type_name(result.type) << ' ' << result.end << ':';
    ctx.ast.visit(result, [&](const common_peg_ast_node & node) {
        CHECK(node.text == std::string_view(ctx.input).substr(node.start, node.end - node.start));
        CHECK(node.rule.empty() != node.tag.empty() && ctx.ast.get(node.id).id == node.id);
        out << ' ' << node.rule << node.tag << '[' << node.start << '-' << node.end << ']' << (node.is_partial ? "~" : "");
    });
    return out.str();
}

static void expressions() {
    // As a file of settings is read.
    const auto settings = build_peg_parser([](auto & p) {
        auto newline = p.rule("newline", p.literal("\r\n") | "\n");
        auto key     = p.tag("key", p.chars("[a-z_.-]"));
        auto value   = p.tag("value", p.zero_or_more(p.negate(newline | p.end()) + p.any()));
        auto line    = p.rule("key line", key + p.space() + "=" + value + (newline | p.end()));
        return p.zero_or_more(line) + p.end();
    });
    CHECK(shown(settings, "a = b\n") == "success 6: key-line[0-6] key[0-1] value[3-5] newline[5-6]");
    CHECK(shown(settings, "a=b") == "success 3: key-line[0-3] key[0-1] value[2-3]");
    CHECK(shown(settings, "A=b") == "fail 0:");
    CHECK(shown(settings, "a", COMMON_PEG_PARSE_FLAG_LENIENT) == "need_more_input 1: key-line[0-1]~ key[0-1]");

    // Rules that refer to themselves, and to rules that come later.
    const auto lists = build_peg_parser([](common_peg_parser_builder & p) {
        p.rule("item", [&]() { return ("[" + p.ref("items") + "]") | "x"; });
        p.rule("items", p.optional(p.ref("item") << p.zero_or_more("," << p.ref("item"))));
        CHECK(p.rule("item", [&]() -> common_peg_parser { throw std::logic_error("built twice"); }).id() != 0);
        return p.ref("item") + p.end();
    });
    CHECK(shown(lists, "[x ,[]]").rfind("success 7:", 0) == 0 && shown(lists, "[x").rfind("fail", 0) == 0);

    const auto matches = [](const std::function<common_peg_parser(common_peg_parser_builder &)> & fn, const std::string & text) {
        common_peg_parse_context ctx(text);
        return build_peg_parser([&](common_peg_parser_builder & p) { return fn(p) + p.end(); }).parse(ctx).success();
    };
    CHECK(matches([](auto & p) { return p.python_value(); }, "{'a': [True, None]}"));
    CHECK(!matches([](auto & p) { return p.python_value(); }, "true") && matches([](auto & p) { return p.json(); }, "true"));
    CHECK(matches([](auto & p) { return p.json_member("k", p.json_number()); }, "\"k\" : 1.5"));
    CHECK(matches([](auto & p) { return p.quoted_string() + p.marker(); }, "'a\\''<m>"));
    CHECK(matches([](auto & p) { return p.repeat(p.any(), 2); }, "\xC3\xA9x") && !matches([](auto & p) { return p.choice(); }, ""));
    CHECK(matches([](auto & p) { return p.start() + p.until("") + p.peek(p.literal("b")) + p.rest(); }, "bc"));
    // A rule of that name says what strings are.
    CHECK(matches([](auto & p) { p.rule("json-string", p.python_string()); return p.json(); }, "{'a': 'b'}"));

    THROWS(std::invalid_argument, "\"nowhere\"", build_peg_parser([](auto & p) { return p.ref("nowhere"); }));
    THROWS(std::invalid_argument, "[z-a]", build_peg_parser([](auto & p) { return p.chars("[z-a]") + "x"; }));
}

static void arenas() {
    common_peg_arena parser = build_peg_parser([](auto & p) { return p.tag("outer", p.literal("<") + p.tag("inner", p.until(">"))); });
    const common_peg_arena copy = parser;
    CHECK(!copy.empty() && copy.root() != COMMON_PEG_INVALID_PARSER_ID && !copy.dump(copy.root()).empty());
    // What is attached to one is not attached to its copies.
    parser.attachment() = std::make_shared<int>(1);
    CHECK(!copy.attachment() && !common_peg_arena(parser).attachment() && parser.attachment());

    const common_peg_arena empty;
    common_peg_parse_context ctx("<a>");
    CHECK(empty.empty() && empty.root() == COMMON_PEG_INVALID_PARSER_ID);
    THROWS(std::runtime_error, "No root", empty.parse(ctx));
    THROWS(std::invalid_argument, "not a parser", parser.load("{}"));
    CHECK(!parser.empty());

    common_peg_arena loaded;
    loaded.load(copy.save());
    CHECK(shown(loaded, "<a>") == "success 2: outer[0-2] inner[1-2]");
    CHECK(shown(common_peg_arena::from_json(copy.to_json()), "<a>") == shown(copy, "<a>"));

    const auto result = loaded.parse(ctx);
    const auto & outer = ctx.ast.get(result.nodes.at(0));
    CHECK(ctx.ast.find_by_tag(outer, "inner") == outer.children.at(0));
    CHECK(ctx.ast.find_by_rule(outer, "inner") == COMMON_PEG_INVALID_AST_ID);
    // A second parse adds its nodes.
    common_peg_parse_context twice("<a<b");
    loaded.parse(twice);
    CHECK(twice.ast.get(loaded.parse(twice, 2).nodes.at(0)).start == 2 && twice.ast.size() == 4);
    CHECK(twice.ast.dump().find("NODE 3 (tag inner) ['b']") != std::string::npos);
}

static void grammars() {
    const auto parser = build_peg_parser([](auto & p) {
        auto number = p.rule("n", p.schema(p.json(), "number", json::parse(R"({"type": "integer", "minimum": 1, "maximum": 3})")));
        auto call   = p.trigger_rule("call", p.literal("<") + number + p.ac(p.until(">") + ">", ">"));
        return p.gbnf(p.space(), "") + p.gbnf(p.any(), "[xy]") + call;
    });
    const auto whole = build_grammar([&](const common_grammar_builder & b) { parser.build_grammar(b); });
    CHECK(whole.find("root ::= [xy] call\n") != std::string::npos && whole.find("call ::= \"<\" n c-mbm\n") != std::string::npos);
    const auto lazy = build_grammar([&](const common_grammar_builder & b) { parser.build_grammar(b, true); });
    CHECK(lazy.find("root ::= call\n") != std::string::npos && lazy.find("[xy]") == std::string::npos);
    THROWS(std::invalid_argument, "builder", parser.build_grammar(common_grammar_builder{}));
}

static void broken_text() {
    const auto parser = build_peg_parser([](auto & p) { return p.tag("body", p.until("<")) + p.optional(p.literal("<")); });
    common_peg_parse_context ctx("a\xFF\xE4\xB8" "b\xC3\xA9\xF0\x9F\x98<");
    const auto result = parser.parse(ctx);
    CHECK(result.invalid_utf8.size() == 3 && result.invalid_utf8[1].pos == 2 && result.invalid_utf8[1].len == 2);
#if CHATPARSE_LLAMA == CHATPARSE_LLAMA_IK
    CHECK(result.fail() && result.nodes.empty());
#else
    CHECK(result.success() && ctx.ast.get(result.nodes.at(0)).invalid_utf8.size() == 3);
    CHECK(ctx.ast.get(result.nodes.at(0)).sanitized_text() == "a\xEF\xBF\xBD\xEF\xBF\xBD" "b\xC3\xA9\xEF\xBF\xBD");
#endif
    // Surrogates, overlong forms and numbers that are too large are no UTF-8.
    CHECK(chatparse_llama::invalid_utf8("\xED\xA0\x80\xC0\x80\xF4\x90\x80\x80\xEF\xBF\xBD", 0, 12).size() == 9);
}

static const char * const TOOLS = R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}}}])";

static common_chat_msg message_of(const common_peg_arena & parser, const std::string & text, common_peg_parse_flags flags = COMMON_PEG_PARSE_FLAG_NONE) {
    common_peg_parse_context ctx(text, flags);
    common_chat_msg msg;
    common_chat_peg_mapper(msg).from_ast(ctx.ast, parser.parse(ctx));
    return msg;
}

static void messages() {
    const auto tools = json::parse(TOOLS);
    const auto by_hand = build_chat_peg_parser([](common_chat_peg_builder & p) {
        auto arg = p.tool_arg(p.tool_arg_open("<" + p.tool_arg_name(p.chars("[a-z]")) + ">") + p.tool_arg_string_value(p.until("</")) +
                              p.tool_arg_close("</" + p.chars("[a-z]") + ">"));
        auto call = p.tool(p.tool_open("!" + p.tool_name(p.chars("[a-z]")) + " ") + p.tool_args(p.zero_or_more(arg)) + p.tool_close(p.literal("!")));
        return p.optional("(" + p.reasoning(p.until(")")) + ")") + p.content(p.until("!")) + p.zero_or_more(call) + p.end();
    });
    const auto msg = message_of(by_hand, "(hm)Hi !f <a>1\"</a><b></b>!!g !");
    CHECK(msg.reasoning_content == "hm" && msg.content == "Hi " && msg.tool_calls.size() == 2);
    CHECK(msg.tool_calls[0].name == "f" && msg.tool_calls[0].arguments == R"({"a":"1\"","b":""})");
    CHECK(msg.tool_calls[1].name == "g" && msg.tool_calls[1].arguments == "{}");
    const auto half = message_of(by_hand, "Hi !f <a>1", COMMON_PEG_PARSE_FLAG_LENIENT);
    CHECK(half.tool_calls.size() == 1 && half.tool_calls[0].arguments == R"({"a":"1)");
    CHECK(message_of(by_hand, "Hi !f").empty());

    const auto one_call = [&](const std::function<common_peg_parser(common_chat_peg_builder &)> & calls, const std::string & text) {
        const auto parser = build_chat_peg_parser([&](auto & p) { return p.content(p.until("[")) + calls(p) + p.end(); });
        const auto msg    = message_of(parser, text);
        return msg.tool_calls.size() == 1 ? msg.content + "|" + msg.tool_calls[0].name + "|" + msg.tool_calls[0].arguments + "|" + msg.tool_calls[0].id : "";
    };
    CHECK(one_call([&](auto & p) { return p.standard_json_tools("[c]", "[/c]", tools, false, true); },
                   R"(Hi[c]{"name": "f", "arguments": {"city": "Oslo"}}[/c])") == R"(Hi|f|{"city": "Oslo"}|)");
    CHECK(one_call([&](auto & p) { return p.standard_json_tools("[c]", "", tools, true, false, "fn.name", "fn.args", true, false, "id"); },
                   R"([c][{"id": "7", "fn": {"name": "f", "args": {}}}])") == "|f|{}|7");
    CHECK(one_call([&](auto & p) { return p.standard_json_tools("[c]", "", tools, false, true, "", "", false, true); },
                   R"([c]{"f": {"days": 1}})") == R"(|f|{"days": 1}|)");
    CHECK(one_call([&](auto & p) { return p.standard_constructed_tools({ { "tool_call_start_marker", "[c]" }, { "tool_call_end_marker", "" } }, tools, false, true); },
                   "[c]<function=f><param=days>2</param><param=city>Oslo</param></function>") == R"(|f|{"days":2,"city":"Oslo"}|)");
    CHECK(one_call([&](auto & p) { return p.python_style_tool_calls(tools, false, true); }, "[f(city='Oslo', days=2)]") ==
          R"(|f|{"city":"Oslo","days":2}|)");
    CHECK(message_of(build_chat_peg_parser([&](auto & p) { return p.content(p.rest()) + p.standard_json_tools("[c]", "", json::array(), false, true); }), "[c]").content == "[c]");

    const auto any_order = build_chat_peg_parser([](auto & p) {
        return p.permute("abc", { p.literal("a"), p.literal("b"), p.literal("c") }) + p.optspace(" x\n") + p.prefix("y|z", "|") + p.end();
    });
    CHECK(shown(any_order, "cabxy").rfind("success", 0) == 0 && shown(any_order, "abc x\ny").rfind("success", 0) == 0);
    CHECK(shown(any_order, "aabxy").rfind("fail", 0) == 0);
    const auto safe = build_chat_peg_parser([](auto & p) { return p.tag_with_safe_content("text", "<", p.literal("<b>")) + p.end(); });
    CHECK(message_of(safe, "a<b>cd").content == "acd");
    const auto either = build_chat_peg_parser([](auto & p) { return p.python_or_json_value() + p.end(); });
    CHECK(shown(either, "{'a': [true, None]}").rfind("success", 0) == 0);
}

static void nested_arguments() {
    using mapper = common_chat_peg_minimax_m3_mapper;
    const auto parser = build_chat_peg_parser([](common_chat_peg_builder & p) {
        const auto name = [&]() { return p.tool_arg_name(p.chars("[a-z]")) + "="; };
        const auto text = [&]() { return "'" + p.tool_arg_string_value(p.until("'")) + "'"; };
        auto item = p.tag(mapper::TOOL_ARG_ITEM, text() | p.tool_arg_value(p.chars("[0-9]"))) + p.optional(p.literal(","));
        auto list = p.tag(mapper::TOOL_ARG_ARRAY, "[" + p.zero_or_more(item) + "]");
        auto inner = p.tag(mapper::TOOL_ARG_OBJECT, "{" + p.tool_arg(name() + list) + "}");
        auto args = p.tool_args(p.zero_or_more(p.tool_arg(name() + (inner | list | text())) + p.space()));
        return p.content(p.until("!")) + p.tool(p.tool_open("!" + p.tool_name(p.chars("[a-z]")) + " ") + args) + p.end();
    });
    const auto parsed = [&](const std::string & text, common_peg_parse_flags flags) {
        common_peg_parse_context ctx(text, flags);
        common_chat_msg msg;
        mapper(msg).from_ast(ctx.ast, parser.parse(ctx));
        return msg.tool_calls.size() == 1 ? msg.content + "|" + msg.tool_calls[0].name + "|" + msg.tool_calls[0].arguments : "";
    };
    CHECK(parsed("Hi!f a={b=['x\"',7]} c='d' e=[]", COMMON_PEG_PARSE_FLAG_NONE) == R"(Hi|f|{"a":{"b":["x\"",7]},"c":"d","e":[]})");
    CHECK(parsed("!f a={b=['x", COMMON_PEG_PARSE_FLAG_LENIENT) == R"(|f|{"a":{"b":["x)");
}

static void tags() {
    const auto parser = build_tagged_peg_parser([](auto & p) { return p.tag("key", p.chars("[a-z]")) + "=" + p.tag("value", p.chars("[0-9]")); });
    const auto found = parser.parse_anywhere_and_extract("?? ab=12;");
    CHECK(found.result.success() && found.result.start == 3 && found.tags.at("key") == "ab" && found.tags.at("value") == "12");
    CHECK(parser.parse_anywhere_and_extract("none").result.fail() && parser.parse_anywhere_and_extract("").result.fail());
    CHECK(parser.parse_and_extract("a=", COMMON_PEG_PARSE_FLAG_LENIENT).tags.at("key") == "a");
}

void test_peg() {
    expressions();
    arenas();
    grammars();
    broken_text();
    nested_arguments();
    messages();
    tags();
}
