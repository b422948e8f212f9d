// llama.cpp's common/peg-parser.h on chatparse: parsers put together from expressions, what they make of a text, and their grammar.
// Here expressions get llama.cpp's names and become one JSON text, which the library makes a parser of (chat_parser_from_json of
// chatparse.h); it parses the texts and writes the grammars. C++17; needs llama.cpp's llama.h and JSON.
//
// What is other than in llama.cpp:
// - An arena is a compiled parser. Its expressions cannot be looked at one by one, and root() is just a number.
// - save() and to_json() give chatparse's form of a parser, which load() and from_json() of the same version read. They also
//   read a description: docs/formats.md.
// - Without COMMON_PEG_PARSE_FLAG_LENIENT, until() takes half a delimiter at the very end, too.
// - For ik_llama.cpp, a match that has broken UTF-8 in it fails, whatever matched it.
// - Errors in expressions are thrown when the parser is built.
// - COMMON_PEG_PARSE_FLAG_DEBUG does nothing.
#pragma once

#include <chatparse.h>
#include <chatparse/unstable.h>

#include "detail/utf8.h"
#include "detail/version.h"
#if CHATPARSE_LLAMA != CHATPARSE_LLAMA_IK
#    include "json-schema.h"
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct common_grammar_builder;

class common_peg_parser_builder;

using common_peg_parser_id = size_t;
constexpr common_peg_parser_id COMMON_PEG_INVALID_PARSER_ID = static_cast<common_peg_parser_id>(-1);

using common_peg_ast_id = size_t;
constexpr common_peg_ast_id COMMON_PEG_INVALID_AST_ID = static_cast<common_peg_ast_id>(-1);

namespace chatparse_llama {

inline std::string to_string(chat_str text) { return std::string(text.data, text.len); }

// A list of the C surface, for a loop.
template <class List> struct list_items {
    List list;

    auto begin() const { return list.data; }
    auto end() const { return list.data + list.len; }
};
template <class List> list_items<List> items(List list) { return { list }; }

// Throws what llama.cpp throws: std::invalid_argument where the caller's input is wrong, std::runtime_error otherwise.
[[noreturn]] inline void raise(chat_status status, chat_error * error) {
    const std::string message = to_string(chat_error_message(error));
    chat_error_free(error);
    switch (status) {
        case CHAT_STATUS_INVALID_ARGUMENT:
        case CHAT_STATUS_SCHEMA:
        case CHAT_STATUS_LIMIT:
            throw std::invalid_argument(message);
        default:
            throw std::runtime_error(message);
    }
}

// `error` is read after the call that gave the status, whatever the order in which arguments are evaluated.
inline void check(chat_status status, chat_error * const & error) {
    if (status != CHAT_STATUS_OK) {
        raise(status, error);
    }
}

// A handle that copies share.
inline std::shared_ptr<const chat_parser> own(chat_parser * parser) {
    return std::shared_ptr<const chat_parser>(parser, [parser](const chat_parser *) { chat_parser_free(parser); });
}

// A name as rules may have it: each run of what no name has becomes a dash.
inline std::string rule_name(const std::string & name) {
    std::string out;
    bool        replaced = false;
    for (const char c : name) {
        const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
        if (fits || !replaced) {
            out += fits ? c : '-';
        }
        replaced = !fits;
    }
    return out;
}

inline std::vector<chat_str> views(const std::vector<std::string> & texts) {
    std::vector<chat_str> out;
    for (const auto & text : texts) {
        out.push_back({ text.data(), text.size() });
    }
    return out;
}

// A text in JSON. What is no UTF-8 in it stays: the library refuses it.
inline std::string quoted(const std::string & text) {
    const char * const digits = "0123456789abcdef";
    std::string out = "\"";
    for (const char c : text) {
        if (static_cast<unsigned char>(c) < 0x20) {
            out += std::string("\\u00") + digits[c >> 4] + digits[c & 15];
        } else {
            out += c == '"' || c == '\\' ? std::string{ '\\', c } : std::string(1, c);
        }
    }
    return out + "\"";
}

// A list in JSON, of what `write` makes of each.
template <typename List, typename Write> std::string listed(const List & list, const Write & write) {
    std::string out = "[";
    for (const auto & item : list) {
        out += (out.size() > 1 ? "," : "") + write(item);
    }
    return out + "]";
}

inline std::string quoted(const std::vector<std::string> & texts) {
    return listed(texts, [](const std::string & text) { return quoted(text); });
}

}  // namespace chatparse_llama

// An expression: its number, and the builder that it belongs to.
class common_peg_parser {
    common_peg_parser_id id_;
    common_peg_parser_builder & builder_;

  public:
    common_peg_parser(const common_peg_parser & other) = default;
    common_peg_parser(common_peg_parser_id id, common_peg_parser_builder & builder) : id_(id), builder_(builder) {}

    common_peg_parser & operator=(const common_peg_parser & other) {
        id_ = other.id_;
        return *this;
    }
    common_peg_parser & operator+=(const common_peg_parser & other) { return *this = *this + other; }
    common_peg_parser & operator|=(const common_peg_parser & other) { return *this = *this | other; }

    operator common_peg_parser_id() const { return id_; }
    common_peg_parser_id id() const { return id_; }

    common_peg_parser_builder & builder() const { return builder_; }

    // One after the other; with white space between; the first that matches.
    inline common_peg_parser operator+(const common_peg_parser & other) const;
    inline common_peg_parser operator<<(const common_peg_parser & other) const;
    inline common_peg_parser operator|(const common_peg_parser & other) const;

    inline common_peg_parser operator+(const std::string & text) const;
    inline common_peg_parser operator<<(const std::string & text) const;
    inline common_peg_parser operator|(const std::string & text) const;
    common_peg_parser operator+(const char * text) const { return *this + std::string(text); }
    common_peg_parser operator<<(const char * text) const { return *this << std::string(text); }
    common_peg_parser operator|(const char * text) const { return *this | std::string(text); }
};

enum common_peg_parse_result_type {
    COMMON_PEG_PARSE_RESULT_FAIL            = 0,
    COMMON_PEG_PARSE_RESULT_SUCCESS         = 1,
    COMMON_PEG_PARSE_RESULT_NEED_MORE_INPUT = 2,
};

inline const char * common_peg_parse_result_type_name(common_peg_parse_result_type type) {
    switch (type) {
        case COMMON_PEG_PARSE_RESULT_FAIL:            return "fail";
        case COMMON_PEG_PARSE_RESULT_SUCCESS:         return "success";
        case COMMON_PEG_PARSE_RESULT_NEED_MORE_INPUT: return "need_more_input";
    }
    return "unknown";
}

// A rule or a tag that took part. `text` points into the input of the context that was parsed.
struct common_peg_ast_node {
    common_peg_ast_id id;
    std::string rule;
    std::string tag;
    size_t start;
    size_t end;
    std::string_view text;
    std::vector<common_peg_ast_id> children;

    bool is_partial = false;

    // What is no UTF-8 in it, by its place in the input.
    std::vector<common_peg_invalid_utf8> invalid_utf8 = {};

    // The text, with U+FFFD for that.
    std::string sanitized_text() const { return chatparse_llama::sanitized(text); }
};

struct common_peg_parse_result {
    common_peg_parse_result_type type = COMMON_PEG_PARSE_RESULT_FAIL;
    size_t start = 0;
    size_t end = 0;

    // The outermost nodes.
    std::vector<common_peg_ast_id> nodes;

    // What is no UTF-8 between `start` and `end`.
    std::vector<common_peg_invalid_utf8> invalid_utf8;

    // The tagged parts of what was parsed, for calls of chatparse.h; NULL without a parse.
    std::shared_ptr<const chat_message> message;

    bool fail() const { return type == COMMON_PEG_PARSE_RESULT_FAIL; }
    bool need_more_input() const { return type == COMMON_PEG_PARSE_RESULT_NEED_MORE_INPUT; }
    bool success() const { return type == COMMON_PEG_PARSE_RESULT_SUCCESS; }
};

using common_peg_ast_visitor = std::function<void(const common_peg_ast_node & node)>;

class common_peg_ast_arena {
    std::vector<common_peg_ast_node> nodes_;

    template <typename Matches>
    common_peg_ast_id find(const common_peg_ast_node & parent, int max_depth, const Matches & matches) const {
        for (const auto id : parent.children) {
            const auto & child = get(id);
            if (matches(child)) {
                return id;
            }
            const auto below = max_depth > 1 ? find(child, max_depth - 1, matches) : COMMON_PEG_INVALID_AST_ID;
            if (below != COMMON_PEG_INVALID_AST_ID) {
                return below;
            }
        }
        return COMMON_PEG_INVALID_AST_ID;
    }

    void print(common_peg_ast_id id, size_t depth, std::string & out) const {
        const auto & node = get(id);
        out += std::string(2 * depth, ' ') + "NODE " + std::to_string(id);
        out += node.rule.empty() ? "" : " (rule " + node.rule + ")";
        out += node.tag.empty() ? "" : " (tag " + node.tag + ")";
        out += " ['" + std::string(node.text) + "']\n";
        for (const auto child : node.children) {
            print(child, depth + 1, out);
        }
    }

    friend class common_peg_arena;

    // Adds the nodes of a tree; returns the outermost ones. `invalid` is what is no UTF-8 in all of it.
    std::vector<common_peg_ast_id> add(const common_json & tree,
                                       std::string_view input,
                                       const std::vector<common_peg_invalid_utf8> & invalid) {
        const auto is_before = [](const common_peg_invalid_utf8 & run, size_t at) { return run.pos < at; };
        const size_t first = nodes_.size();
        std::vector<common_peg_ast_id> roots;
        for (const auto & node : tree.at("nodes")) {
            const auto   begin = node.at("begin").get<size_t>();
            const auto   end   = node.at("end").get<size_t>();
            const auto   from  = std::lower_bound(invalid.begin(), invalid.end(), begin, is_before);
            const auto   to    = std::lower_bound(from, invalid.end(), end, is_before);
            const size_t id    = nodes_.size();
            nodes_.push_back({ id, node.value("rule", ""), node.value("tag", ""), begin, end, input.substr(begin, end - begin), {},
                               node.at("partial").get<bool>(), { from, to } });
            const auto & parent = node.at("parent");
            (parent.is_null() ? roots : nodes_[first + parent.get<size_t>()].children).push_back(id);
        }
        return roots;
    }

  public:
    const common_peg_ast_node & get(common_peg_ast_id id) const { return nodes_.at(id); }

    // The first node below `parent`, at most `max_depth` levels, that has the tag or is of the rule.
    common_peg_ast_id find_by_tag(const common_peg_ast_node & parent, const std::string & tag, int max_depth = 3) const {
        return find(parent, max_depth, [&](const common_peg_ast_node & node) { return node.tag == tag; });
    }
    common_peg_ast_id find_by_rule(const common_peg_ast_node & parent, const std::string & rule, int max_depth = 3) const {
        return find(parent, max_depth, [&](const common_peg_ast_node & node) { return node.rule == rule; });
    }

    size_t size() const { return nodes_.size(); }

    void clear() { nodes_.clear(); }

    // A node, then what is in it.
    void visit(common_peg_ast_id id, const common_peg_ast_visitor & visitor) const {
        if (id == COMMON_PEG_INVALID_AST_ID) {
            return;
        }
        visitor(get(id));
        for (const auto child : get(id).children) {
            visit(child, visitor);
        }
    }
    void visit(const common_peg_parse_result & result, const common_peg_ast_visitor & visitor) const {
        for (const auto id : result.nodes) {
            visit(id, visitor);
        }
    }

    std::string dump() const {
        std::string out;
        for (const auto & node : nodes_) {
            print(node.id, 0, out);
        }
        return out;
    }
};

enum common_peg_parse_flags {
    COMMON_PEG_PARSE_FLAG_NONE     = 0,
    COMMON_PEG_PARSE_FLAG_LENIENT  = 1 << 0,
    COMMON_PEG_PARSE_FLAG_DEBUG    = 1 << 1,
    COMMON_PEG_PARSE_FLAG_COMPLETE = 1 << 2,  // from 0.8.0 on: the text is all there, so half a marker at its end is text
};

inline common_peg_parse_flags operator|(common_peg_parse_flags a, common_peg_parse_flags b) {
    return static_cast<common_peg_parse_flags>(int(a) | int(b));
}

inline common_peg_parse_flags & operator|=(common_peg_parse_flags & a, common_peg_parse_flags b) { return a = a | b; }

inline common_peg_parse_flags operator&(common_peg_parse_flags a, common_peg_parse_flags b) {
    return static_cast<common_peg_parse_flags>(int(a) & int(b));
}

inline common_peg_parse_flags operator~(common_peg_parse_flags a) { return static_cast<common_peg_parse_flags>(~int(a)); }

// A text to parse, and where the nodes go.
struct common_peg_parse_context {
    std::string input;
    common_peg_parse_flags flags;
    common_peg_ast_arena ast;

    int parse_depth = 0;

    common_peg_parse_context(common_peg_parse_flags flags = COMMON_PEG_PARSE_FLAG_NONE) : flags(flags) {}
    common_peg_parse_context(const std::string & input, common_peg_parse_flags flags = COMMON_PEG_PARSE_FLAG_NONE) :
        input(input), flags(flags) {}
#if CHATPARSE_LLAMA >= CHATPARSE_LLAMA_B11549
    std::vector<llama_token> tokens;  // not read: parsers of expressions know texts alone

    common_peg_parse_context(std::string input, std::vector<llama_token> tokens, common_peg_parse_flags flags = COMMON_PEG_PARSE_FLAG_NONE) :
        input(std::move(input)), flags(flags), tokens(std::move(tokens)) {}
#endif

    bool is_lenient() const { return flags & COMMON_PEG_PARSE_FLAG_LENIENT; }
    bool is_debug() const { return flags & COMMON_PEG_PARSE_FLAG_DEBUG; }
    bool is_complete() const { return flags & COMMON_PEG_PARSE_FLAG_COMPLETE; }
};

// A compiled parser. Copies share it: it never changes. An arena without one is empty.
class common_peg_arena {
    std::shared_ptr<const chat_parser> parser_;
    mutable std::shared_ptr<void> attachment_;

  public:
    common_peg_arena() = default;
    explicit common_peg_arena(std::shared_ptr<const chat_parser> parser) : parser_(std::move(parser)) {}
    common_peg_arena(const common_peg_arena & other) : parser_(other.parser_) {}
    common_peg_arena(common_peg_arena &&) noexcept = default;
    common_peg_arena & operator=(const common_peg_arena & other) {
        parser_ = other.parser_;
        attachment_.reset();
        return *this;
    }
    common_peg_arena & operator=(common_peg_arena &&) noexcept = default;

    bool empty() const { return !parser_; }

    // The parser itself, for calls of chatparse.h; NULL where the arena is empty.
    const chat_parser * handle() const { return parser_.get(); }

    // A place for what a user of this very arena keeps between calls, e.g. a stream. A copy begins without; so two copies never
    // share it, and threads that have an arena each need no lock.
    std::shared_ptr<void> & attachment() const { return attachment_; }

    common_peg_parser_id root() const { return empty() ? COMMON_PEG_INVALID_PARSER_ID : 0; }

    common_peg_parse_result parse(common_peg_parse_context & ctx, size_t start = 0) const {
        if (empty()) {
            throw std::runtime_error("No root parser set");
        }
        chat_message * message = nullptr;
        chat_error * error = nullptr;
        const uint32_t flags = ctx.is_lenient() && !ctx.is_complete() ? CHAT_PARSE_PARTIAL : 0;
        chatparse_llama::check(
            chat_parser_tagged(handle(), ctx.input.data(), ctx.input.size(), start, flags, &message, &error), error);
        common_peg_parse_result result;
        result.message = std::shared_ptr<const chat_message>(message, [message](const chat_message *) { chat_message_free(message); });
        chat_str text;
        chatparse_llama::check(chat_message_tree_json(message, &text, &error), error);
        const auto tree    = common_json::parse(chatparse_llama::to_string(text));
        const auto outcome = tree.at("outcome").get<std::string>();
        result.start = start;
        result.end = tree.at("end").get<size_t>();
        result.type = outcome == "matched" ? COMMON_PEG_PARSE_RESULT_SUCCESS :
                      outcome == "partial" ? COMMON_PEG_PARSE_RESULT_NEED_MORE_INPUT : COMMON_PEG_PARSE_RESULT_FAIL;
        result.invalid_utf8 = chatparse_llama::invalid_utf8(ctx.input, start, result.end);
#if CHATPARSE_LLAMA == CHATPARSE_LLAMA_IK
        if (!result.invalid_utf8.empty()) {
            result.type = COMMON_PEG_PARSE_RESULT_FAIL;
            return result;
        }
#endif
        result.nodes = ctx.ast.add(tree, ctx.input, result.invalid_utf8);
        return result;
    }

    // Whether the grammar has a rule of this name.
    bool has_rule(const std::string & name) const {
        chat_grammar * grammar = nullptr;
        chat_error *   error   = nullptr;
        chatparse_llama::check(chat_parser_grammar(handle(), false, &grammar, &error), error);
        const std::string text = "\n" + chatparse_llama::to_string(chat_grammar_view(grammar)->text);
        chat_grammar_free(grammar);
        return text.find("\n" + name + " ::=") != std::string::npos;
    }

    // Adds the rules to what build_grammar() of json-schema-to-grammar.h builds; lazy: of the trigger rules only. Defined there.
    inline void build_grammar(const common_grammar_builder & builder, bool lazy = false) const;

    // The whole parser as a text, for people; `id` is root()'s.
    std::string dump(common_peg_parser_id) const { return save(); }

    std::string save() const {
        chat_str text;
        chat_error * error = nullptr;
        chatparse_llama::check(chat_parser_json(handle(), &text, &error), error);
        return chatparse_llama::to_string(text);
    }

    void load(const std::string & data) {
        chat_parser * parser = nullptr;
        chat_error * error = nullptr;
        chatparse_llama::check(chat_parser_from_json(data.data(), data.size(), &parser, &error), error);
        *this = common_peg_arena(chatparse_llama::own(parser));
    }

#if CHATPARSE_LLAMA == CHATPARSE_LLAMA_IK
    using json_type = nlohmann::json;
#else
    using json_type = common_json;
#endif

    json_type to_json() const { return json_type::parse(save()); }

    static common_peg_arena from_json(const json_type & json) {
        common_peg_arena arena;
        arena.load(json.dump());
        return arena;
    }
};

// Puts expressions together. Each call adds one; build() makes a parser of what the root reaches.
class common_peg_parser_builder {
    // In JSON; the number of an expression is its place here.
    std::vector<std::string> nodes_;
    common_peg_parser_id root_ = COMMON_PEG_INVALID_PARSER_ID;
    // Names of rules, also of those that are being built.
    std::set<std::string> rules_;

    template <typename List> common_peg_parser list(const char * kind, const List & parsers) {
        return node(kind, chatparse_llama::listed(parsers, [](common_peg_parser_id id) { return std::to_string(id); }));
    }

    // An expression around another, with what else it takes.
    common_peg_parser around(const char * kind, const common_peg_parser & p, const std::string & more) {
        return node(kind, "[" + number(p) + "," + more + "]");
    }

    common_peg_parser add_rule(const std::string & name, const common_peg_parser & p, bool trigger) {
        rules_.insert(name);
        return node("rule", "{\"name\":" + chatparse_llama::quoted(name) + ",\"child\":" + number(p) +
                                ",\"trigger\":" + (trigger ? "true}" : "false}"));
    }

  protected:
    static std::string number(const common_peg_parser & p) { return std::to_string(p.id()); }
    common_peg_parser node(const std::string & json) {
        nodes_.push_back(json);
        return common_peg_parser(nodes_.size() - 1, *this);
    }
    common_peg_parser node(const char * kind, const std::string & json) { return node("{\"" + std::string(kind) + "\":" + json + "}"); }
    common_peg_parser plain(const char * kind) { return node("\"" + std::string(kind) + "\""); }

  public:
    common_peg_parser_builder() = default;
    // Expressions refer to their builder.
    common_peg_parser_builder(const common_peg_parser_builder &) = delete;
    common_peg_parser_builder & operator=(const common_peg_parser_builder &) = delete;

    // Nothing; the start and the end of the input; exactly this text.
    common_peg_parser eps() { return literal(""); }
    common_peg_parser start() { return plain("start"); }
    common_peg_parser end() { return plain("end"); }
    common_peg_parser literal(const std::string & text) { return node("literal", chatparse_llama::quoted(text)); }

    // All of them, in order.
    common_peg_parser sequence() { return list("sequence", std::vector<common_peg_parser_id>()); }
    common_peg_parser sequence(const std::vector<common_peg_parser_id> & parsers) { return list("sequence", parsers); }
    common_peg_parser sequence(const std::vector<common_peg_parser> & parsers) { return list("sequence", parsers); }
    common_peg_parser sequence(std::initializer_list<common_peg_parser> parsers) { return list("sequence", parsers); }

    // The first of them that matches.
    common_peg_parser choice() { return list("choice", std::vector<common_peg_parser_id>()); }
    common_peg_parser choice(const std::vector<common_peg_parser_id> & parsers) { return list("choice", parsers); }
    common_peg_parser choice(const std::vector<common_peg_parser> & parsers) { return list("choice", parsers); }
    common_peg_parser choice(std::initializer_list<common_peg_parser> parsers) { return list("choice", parsers); }

    // Between min and max times; -1 for no maximum.
    common_peg_parser repeat(const common_peg_parser & p, int min, int max) {
        return around("repeat", p, std::to_string(std::max(min, 0)) + "," + (max < 0 ? "null" : std::to_string(max)));
    }
    common_peg_parser repeat(const common_peg_parser & p, int n) { return repeat(p, n, n); }
    common_peg_parser one_or_more(const common_peg_parser & p) { return repeat(p, 1, -1); }
    common_peg_parser zero_or_more(const common_peg_parser & p) { return repeat(p, 0, -1); }
    common_peg_parser optional(const common_peg_parser & p) { return repeat(p, 0, 1); }

    // Looks ahead: where p matches, and where it does not.
    common_peg_parser peek(const common_peg_parser & p) { return node("and", number(p)); }
    common_peg_parser negate(const common_peg_parser & p) { return node("not", number(p)); }

    // Any character; characters of a class such as "[a-z]"; white space, as much as there is.
    common_peg_parser any() { return plain("any"); }
    common_peg_parser chars(const std::string & classes, int min = 1, int max = -1) {
        const auto one = node("char", chatparse_llama::quoted(classes));
        return min == 1 && max == 1 ? one : repeat(one, min, max);
    }
    common_peg_parser space() { return plain("space"); }

    // Text up to a delimiter, or to the end. An empty delimiter is found at once.
    common_peg_parser until(const std::string & delimiter) { return until_one_of({ delimiter }); }
    common_peg_parser until_one_of(const std::vector<std::string> & delimiters) {
        for (const auto & delimiter : delimiters) {
            if (delimiter.empty()) {
                return eps();
            }
        }
        return node("until", chatparse_llama::quoted(delimiters));
    }
    common_peg_parser rest() { return until_one_of({}); }

    // Strings in quotes, and what stands between the quotes.
    common_peg_parser string_content(char delimiter) { return node("string_body", std::to_string(static_cast<unsigned char>(delimiter))); }
    common_peg_parser double_quoted_string() {
        return rule("double-quoted-string", [this]() { return literal("\"") + string_content('"') + literal("\""); });
    }
    common_peg_parser single_quoted_string() {
        return rule("single-quoted-string", [this]() { return literal("'") + string_content('\'') + literal("'"); });
    }
    common_peg_parser quoted_string() {
        return rule("quoted-string", [this]() { return double_quoted_string() | single_quoted_string(); });
    }

    // JSON. A member is `"key": p`.
    common_peg_parser json() { return plain("json"); }
    common_peg_parser json_object() { return plain("json_object"); }
    common_peg_parser json_array() { return plain("json_array"); }
    common_peg_parser json_string() {
        return rule("json-string", [this]() { return plain("json_string"); });
    }
    common_peg_parser json_number() { return plain("json_number"); }
    common_peg_parser json_bool() {
        return rule("json-bool", [this]() { return literal("true") | literal("false"); });
    }
    common_peg_parser json_null() {
        return rule("json-null", [this]() { return literal("null"); });
    }
    common_peg_parser json_member(const std::string & key, const common_peg_parser & p) {
        return literal("\"" + key + "\"") << literal(":") << p;
    }

    // Python's literals.
    common_peg_parser python_value() { return plain("python"); }
    common_peg_parser python_dict() { return plain("python_dict"); }
    common_peg_parser python_array() { return plain("python_list"); }
    common_peg_parser python_string() {
        return rule("python-string", [this]() { return plain("python_string"); });
    }
    common_peg_parser python_number() { return json_number(); }
    common_peg_parser python_bool() {
        return rule("python-bool", [this]() { return literal("True") | literal("False"); });
    }
    common_peg_parser python_null() {
        return rule("python-none", [this]() { return literal("None"); });
    }

    // <text> or [text].
    common_peg_parser marker() {
        return (literal("<") + until(">") + literal(">")) | (literal("[") + until("]") + literal("]"));
    }

    // As p parses; in a grammar the schema speaks, or with `raw` p where a value may be a string.
    common_peg_parser schema(const common_peg_parser & p, const std::string & name, const common_json & schema, bool raw = false) {
        return node("schema", "{\"child\":" + number(p) + ",\"name\":" + chatparse_llama::quoted(name) + ",\"schema\":{\"document\":" +
                                  schema.dump() + "},\"notation\":\"" + (raw ? "json_or_child\"}" : "json\"}"));
    }
#if CHATPARSE_LLAMA != CHATPARSE_LLAMA_IK
    common_peg_parser schema(const common_peg_parser & p,
                             const std::string & name,
                             common_chat_schema_document_ptr /* has the node, which is copied here */,
                             const common_chat_schema & node,
                             bool raw = false) {
        return schema(p, name, chatparse_llama::schema_writer().write(node), raw);
    }
#endif

    // Names an expression; ref() refers to it. A lazy grammar may start at a trigger. The second form is for rules that refer to
    // themselves: the function is called unless there is a rule of the name.
    common_peg_parser rule(const std::string & name, const common_peg_parser & p, bool trigger = false) {
        return add_rule(chatparse_llama::rule_name(name), p, trigger);
    }
    common_peg_parser rule(const std::string & name, const std::function<common_peg_parser()> & builder, bool trigger = false) {
        const std::string cleaned = chatparse_llama::rule_name(name);
        return rules_.insert(cleaned).second ? add_rule(cleaned, builder(), trigger) : ref(cleaned);
    }
    common_peg_parser trigger_rule(const std::string & name, const common_peg_parser & p) { return rule(name, p, true); }
    common_peg_parser trigger_rule(const std::string & name, const std::function<common_peg_parser()> & builder) {
        return rule(name, builder, true);
    }
    common_peg_parser ref(const std::string & name) { return node("ref", chatparse_llama::quoted(name)); }

    // No nodes of what has only begun to match; a node with this tag.
    common_peg_parser atomic(const common_peg_parser & p) { return node("atomic", number(p)); }
    common_peg_parser tag(const std::string & tag, const common_peg_parser & p) {
        return node("tag", "[" + chatparse_llama::quoted(tag) + "," + number(p) + "]");
    }

    // As p parses; a grammar has this GBNF in its place, or text that ends with the first delimiter.
    common_peg_parser gbnf(const common_peg_parser & p, const std::string & grammar) {
        return around("gbnf", p, chatparse_llama::quoted(grammar));
    }
    common_peg_parser ac(const common_peg_parser & p, const std::vector<std::string> & delimiters) {
        return around("excluding", p, "[" + chatparse_llama::quoted(delimiters) + ",[]]");
    }
    common_peg_parser ac(const common_peg_parser & p, const std::string & delimiter) {
        return ac(p, std::vector<std::string>{ delimiter });
    }

    void set_root(const common_peg_parser & p) { root_ = p.id(); }

    common_peg_arena build() {
        const auto nodes = chatparse_llama::listed(nodes_, [](const std::string & json) { return json; });
        common_peg_arena arena;
        arena.load("{\"format\":{\"root\":" + std::to_string(root_) + ",\"nodes\":" + nodes + "}}");
        return arena;
    }
};

inline common_peg_parser common_peg_parser::operator+(const common_peg_parser & other) const {
    return builder_.sequence({ *this, other });
}
inline common_peg_parser common_peg_parser::operator<<(const common_peg_parser & other) const {
    return builder_.sequence({ *this, builder_.space(), other });
}
inline common_peg_parser common_peg_parser::operator|(const common_peg_parser & other) const {
    return builder_.choice({ *this, other });
}
inline common_peg_parser common_peg_parser::operator+(const std::string & text) const { return *this + builder_.literal(text); }
inline common_peg_parser common_peg_parser::operator<<(const std::string & text) const { return *this << builder_.literal(text); }
inline common_peg_parser common_peg_parser::operator|(const std::string & text) const { return *this | builder_.literal(text); }

inline common_peg_parser operator+(const std::string & text, const common_peg_parser & p) { return p.builder().literal(text) + p; }
inline common_peg_parser operator<<(const std::string & text, const common_peg_parser & p) { return p.builder().literal(text) << p; }
inline common_peg_parser operator|(const std::string & text, const common_peg_parser & p) { return p.builder().literal(text) | p; }
inline common_peg_parser operator+(const char * text, const common_peg_parser & p) { return std::string(text) + p; }
inline common_peg_parser operator<<(const char * text, const common_peg_parser & p) { return std::string(text) << p; }
inline common_peg_parser operator|(const char * text, const common_peg_parser & p) { return std::string(text) | p; }

inline common_peg_arena build_peg_parser(const std::function<common_peg_parser(common_peg_parser_builder & builder)> & fn) {
    common_peg_parser_builder builder;
    builder.set_root(fn(builder));
    return builder.build();
}
