// llama.cpp's common/chat-peg-parser.h on chatparse: parsers of chat outputs that are put together by hand, and the message that is in
// what they matched. C++17.
//
// What is other than in llama.cpp:
// - Tool calls in the ways that models share (standard_json_tools() and the like) are built in the library. Arguments are typed by the
//   tools' parameters, ids may be strings or numbers, and what may follow in any order may do so in all of them.
// - The mapper asks the library for the message. It maps a whole parse, not a node, and knows the tags of the builder.
#pragma once

#include "chat.h"
#include "peg-parser.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

// Puts what is tagged in a match into a message.
class common_chat_peg_mapper {
  public:
    common_chat_msg & result;

    common_chat_peg_mapper(common_chat_msg & msg) : result(msg) {}
    virtual ~common_chat_peg_mapper() = default;

    virtual void from_ast(const common_peg_ast_arena &, const common_peg_parse_result & parsed) {
        if (parsed.fail()) {
            return;
        }
        const chat_message * handle = parsed.message.get();
        result.reasoning_content += chatparse_llama::to_string(chat_message_view(handle)->reasoning);
        result.content += chatparse_llama::to_string(chat_message_view(handle)->content);
        for (const chat_tool_call & given : chatparse_llama::items(chat_message_view(handle)->calls)) {
            common_chat_tool_call call;
            call.name = chatparse_llama::to_string(given.name);
            call.arguments = chatparse_llama::to_string(given.arguments);
            call.id = chatparse_llama::to_string(given.id);
            result.tool_calls.push_back(call);
        }
    }
};

// The message of a parse is the same for all formats; these are for programs that choose one by the format.
class common_chat_peg_gemma4_mapper : public common_chat_peg_mapper {
  public:
    using common_chat_peg_mapper::common_chat_peg_mapper;
};

// Up to so many parsers permute() takes in any order.
constexpr size_t COMMON_CHAT_MAX_PERMUTE = 6;

class common_chat_peg_builder : public common_peg_parser_builder {
    common_peg_parser whole(const char * name, const common_peg_parser & p) { return atomic(tag(name, p)); }

    static std::string quoted(const std::string & text) { return chatparse_llama::quoted(text); }

    // A form of a call for calls(): its text, with signs for its parts. `members`: arguments one by one, in place of their sign.
    static std::string form(const std::string & text, const std::string & members = "{\"arguments\":{\"quoted\":false}}") {
        std::string pieces;
        size_t from = 0;
        for (size_t at; (at = text.find_first_of("\1\2\3", from)) != std::string::npos; from = at + 1) {
            if (at > from) {
                pieces += ",{\"glue\":" + quoted(text.substr(from, at - from)) + "}";
            }
            pieces += "," + (text[at] == '\1' ? "\"name\"" : text[at] == '\2' ? members : "\"id\"");
        }
        return "{\"pieces\":[" + pieces.substr(1) + "],\"close\":" + quoted(text.substr(from)) + "}";
    }

    // Arguments one by one: the text in front of the first and of each other, around a value, and how that is written.
    static std::string members(const std::string & first, const std::string & next, const std::string & open, const std::string & close, const char * how) {
        return "{\"members\":{\"first\":" + quoted(first) + ",\"next\":" + quoted(next) +
            ",\"slots\":[[[\"text\",\"integer\",\"number\",\"boolean\",\"null\",\"array\",\"object\"],{\"open\":" + quoted(open) +
            ",\"close\":" + quoted(close) + ",\"encoding\":\"" + how + "\"}]]}}";
    }

    // The library's expression for calls in these forms: the text in front of the first, between two, and behind the last.
    common_peg_parser calls(const common_json & tools, bool parallel, bool force, const std::string & open, const std::string & between,
                            const std::string & close, const std::vector<std::string> & forms) {
        auto known = common_json::array();
        if (tools.is_array()) {
            for (const auto & tool : tools) {
                if (tool.contains("function")) {
                    known.push_back(tool);
                }
            }
        }
        auto request = common_json::object();
        request["messages"] = common_json::array();
        request["tools"] = known;
        request["tool_choice"] = force ? "required" : "auto";
        request["parallel_tool_calls"] = parallel;
        std::string written = "{\"edges\":[[\"prompt\"," + quoted(open) + ",\"call\"],[\"call\"," + quoted(between) +
            ",\"call\"],[\"call\"," + quoted(close) + ",\"end\"]],\"calls\":[";
        for (size_t i = 0; i < forms.size(); i++) {
            written += (i > 0 ? "," : "") + forms[i];
        }
        written += "]}";
        return node("calls", "{\"request\":" + request.dump() + ",\"turn\":" + written + "}");
    }

  public:
    static constexpr const char * REASONING_BLOCK       = "reasoning-block";
    static constexpr const char * REASONING             = "reasoning";
    static constexpr const char * CONTENT               = "content";
    static constexpr const char * TOOL                  = "tool";
    static constexpr const char * TOOL_OPEN             = "tool-open";
    static constexpr const char * TOOL_CLOSE            = "tool-close";
    static constexpr const char * TOOL_ID               = "tool-id";
    static constexpr const char * TOOL_NAME             = "tool-name";
    static constexpr const char * TOOL_ARGS             = "tool-args";
    static constexpr const char * TOOL_ARG              = "tool-arg";
    static constexpr const char * TOOL_ARG_OPEN         = "tool-arg-open";
    static constexpr const char * TOOL_ARG_CLOSE        = "tool-arg-close";
    static constexpr const char * TOOL_ARG_NAME         = "tool-arg-name";
    static constexpr const char * TOOL_ARG_VALUE        = "tool-arg-value";
    static constexpr const char * TOOL_ARG_STRING_VALUE = "tool-arg-string-value";

    // Text of the message.
    common_peg_parser reasoning_block(const common_peg_parser & p) { return tag(REASONING_BLOCK, p); }
    common_peg_parser reasoning(const common_peg_parser & p) { return tag(REASONING, p); }
    common_peg_parser content(const common_peg_parser & p) { return tag(CONTENT, p); }

    // A call and its parts. The arguments are one JSON object, tool_args, or each a name and a value.
    common_peg_parser tool(const common_peg_parser & p) { return tag(TOOL, p); }
    common_peg_parser tool_open(const common_peg_parser & p) { return whole(TOOL_OPEN, p); }
    common_peg_parser tool_close(const common_peg_parser & p) { return whole(TOOL_CLOSE, p); }
    common_peg_parser tool_id(const common_peg_parser & p) { return whole(TOOL_ID, p); }
    common_peg_parser tool_name(const common_peg_parser & p) { return whole(TOOL_NAME, p); }
    common_peg_parser tool_args(const common_peg_parser & p) { return tag(TOOL_ARGS, p); }
    common_peg_parser tool_arg(const common_peg_parser & p) { return tag(TOOL_ARG, p); }
    common_peg_parser tool_arg_open(const common_peg_parser & p) { return whole(TOOL_ARG_OPEN, p); }
    common_peg_parser tool_arg_close(const common_peg_parser & p) { return whole(TOOL_ARG_CLOSE, p); }
    common_peg_parser tool_arg_name(const common_peg_parser & p) { return whole(TOOL_ARG_NAME, p); }
    common_peg_parser tool_arg_value(const common_peg_parser & p) { return tag(TOOL_ARG_VALUE, p); }
    common_peg_parser tool_arg_json_value(const common_peg_parser & p) { return tag(TOOL_ARG_VALUE, p); }
    common_peg_parser tool_arg_string_value(const common_peg_parser & p) { return tag(TOOL_ARG_STRING_VALUE, p); }

    // p as often as it matches; what stands between is content, up to where the marker is the next time.
    common_peg_parser tag_with_safe_content(const std::string & tag_name, const std::string & marker, const common_peg_parser & p) {
        auto piece = marker.empty() ? any() : negate(literal(marker)) + any() + until(marker);
        return zero_or_more(p | rule(tag_name, content(piece)));
    }

    // Each of them once, in any order; more than COMMON_CHAT_MAX_PERMUTE only as given. There is a rule for each set of those that are
    // still to come.
    common_peg_parser permute(const std::string & rule_prefix, const std::vector<common_peg_parser> & parsers) {
        if (parsers.size() < 2 || parsers.size() > COMMON_CHAT_MAX_PERMUTE) {
            return sequence(parsers);
        }
        std::vector<common_peg_parser> rules{ eps() };
        for (size_t set = 1; set < size_t{ 1 } << parsers.size(); set++) {
            std::vector<common_peg_parser> next;
            for (size_t i = 0; i < parsers.size(); i++) {
                if (set >> i & 1) {
                    next.push_back(parsers[i] + rules[set & ~(size_t{ 1 } << i)]);
                }
            }
            rules.push_back(rule(rule_prefix + "-" + std::to_string(set), choice(next)));
        }
        return rules.back();
    }

    // A text up to where a delimiter is in it, if there is one.
    common_peg_parser prefix(const std::string & s, const std::string & delimiter = {}) {
        return literal(delimiter.empty() ? s : s.substr(0, s.find(delimiter)));
    }

    // A marker whose outer white space may be missing, character by character.
    common_peg_parser optspace(const std::string & marker) {
        const auto is_space = [&](size_t i) { return std::isspace(static_cast<unsigned char>(marker[i])) != 0; };
        size_t begin = 0;
        size_t end = marker.size();
        while (begin < end && is_space(begin)) {
            begin++;
        }
        while (end > begin && is_space(end - 1)) {
            end--;
        }
        std::vector<common_peg_parser> parts;
        for (size_t i = 0; i < begin; i++) {
            parts.push_back(optional(literal(marker.substr(i, 1))));
        }
        parts.push_back(literal(marker.substr(begin, end - begin)));
        for (size_t i = end; i < marker.size(); i++) {
            parts.push_back(optional(literal(marker.substr(i, 1))));
        }
        return sequence(parts);
    }

    // Calls that are JSON throughout, e.g. {"name": "f", "arguments": {}}. A key of a field in another object has a dot in it.
    common_peg_parser standard_json_tools(const std::string & section_start,
                                          const std::string & section_end,
                                          const common_json & tools,
                                          bool parallel_tool_calls,
                                          bool force_tool_calls,
                                          const std::string & name_key = "",
                                          const std::string & args_key = "",
                                          bool array_wrapped = false,
                                          bool function_is_key = false,
                                          const std::string & call_id_key = "",
                                          const std::string & gen_call_id_key = "",
                                          const std::vector<std::string> & parameters_order = {},
                                          bool accept_openai_wrapper = false) {
        const std::string name = name_key.empty() ? "name" : name_key;
        const std::string args = args_key.empty() ? "arguments" : args_key;
        const auto holder_of = [](const std::string & key) { return key.find('.') == std::string::npos ? "" : key.substr(0, key.find('.')); };
        const auto key_of = [](const std::string & key) { return key.substr(key.find('.') + 1); };
        const auto member = [&](const std::string & key) {
            return quoted(key_of(key)) + ": " + (key == args ? "\2" : key == name ? "\"\1\"" : "\"\3\"");
        };
        const auto listed = [&](const std::vector<std::string> & keys) {
            std::string all;
            for (const auto & key : keys) {
                all += (all.empty() ? "" : ", ") + member(key);
            }
            return all;
        };
        const std::string holder = holder_of(name).empty() ? holder_of(args) : holder_of(name);
        std::vector<std::string> ids;
        for (const auto & id : { call_id_key, gen_call_id_key }) {
            if (!id.empty() && (holder.empty() || id.find('.') == std::string::npos)) {
                ids.push_back(id);
            }
        }
        std::vector<std::string> forms;
        // A model may leave out ids.
        for (size_t set = size_t{ 1 } << ids.size(); set-- > 0;) {
            std::vector<std::string> keys;
            for (size_t i = 0; i < ids.size(); i++) {
                if (set >> i & 1) {
                    keys.push_back(ids[i]);
                }
            }
            std::string text;
            if (function_is_key) {
                keys.push_back(args);
                text = args_key.empty() ? "\"\1\": \2}" : "\"\1\": {" + listed(keys) + "}}";
            } else if (!holder.empty()) {
                text = listed(keys) + (keys.empty() ? "" : ", ") + quoted(holder) + ": {" + listed({ name, args }) + "}}";
            } else {
                keys.insert(keys.begin(), { name, args });
                std::stable_sort(keys.begin(), keys.end(), [&](const std::string & a, const std::string & b) {
                    const auto & order = parameters_order;
                    return std::find(order.begin(), order.end(), a) < std::find(order.begin(), order.end(), b);
                });
                text = listed(keys) + "}";
            }
            forms.push_back(form(text));
            if (accept_openai_wrapper) {
                forms.push_back(form("\"type\": \"function\", " + text));
            }
        }
        return calls(tools, parallel_tool_calls, force_tool_calls, section_start + (array_wrapped ? "[{" : "{"), ", {",
                     (array_wrapped ? "]" : "") + section_end, forms);
    }

    // Calls with name and arguments in tags of their own, e.g. <function=f><param=x>1</param></function>.
    common_peg_parser standard_constructed_tools(const std::map<std::string, std::string> & markers,
                                                 const common_json & tools,
                                                 bool parallel_tool_calls,
                                                 bool force_tool_calls) {
        const auto marker = [&](const char * name, const char * otherwise) {
            const auto found = markers.find(name);
            return found == markers.end() ? std::string(otherwise) : found->second;
        };
        const std::string opener = marker("function_opener", "<function=");
        const std::string suffix = marker("function_name_suffix", ">");
        const std::string closer = marker("function_closer", "</function>");
        const std::string key    = marker("parameter_key_prefix", "<param=");
        const std::string each   = members(suffix + key, key, marker("parameter_key_suffix", ">"), marker("parameter_closer", "</param>"), "raw");
        return calls(tools, parallel_tool_calls, force_tool_calls, marker("tool_call_start_marker", "<tool_call>") + opener, opener,
                     marker("tool_call_end_marker", "</tool_call>"), { form("\1\2" + closer, each), form("\1" + suffix + closer) });
    }

    // Python's literals, and JSON's true, false and null.
    common_peg_parser python_or_json_value() { return plain("python_or_json"); }

    // Calls as a Python list: [f(x=1, s='text'), g()]. JSON's literals are taken, too, whatever `allow_json_literals` says.
    common_peg_parser python_style_tool_calls(const common_json & tools, bool parallel_tool_calls, bool /* allow_json_literals */ = true) {
        return calls(tools, parallel_tool_calls, true, "[", ", ", "]", { form("\1\2)", members("(", ", ", "=", "", "quoted")), form("\1()") });
    }
};

// A value is of the tags of the builder, which say whether it is text or JSON, or has one of these: an object has TOOL_ARG in it, an
// array TOOL_ARG_ITEM. So is a call's object of arguments.
class common_chat_peg_minimax_m3_mapper : public common_chat_peg_mapper {
    using tags = common_chat_peg_builder;

  public:
    static constexpr const char * TOOL_ARG_OBJECT = "tool-arg-object";
    static constexpr const char * TOOL_ARG_ARRAY  = "tool-arg-array";
    static constexpr const char * TOOL_ARG_ITEM   = "tool-arg-item";

    using common_chat_peg_mapper::common_chat_peg_mapper;

    void from_ast(const common_peg_ast_arena & arena, const common_peg_parse_result & parsed) override {
        if (parsed.fail()) {
            return;
        }
        for (const auto id : parsed.nodes) {
            add(arena, arena.get(id));
        }
    }

  private:
    using node = common_peg_ast_node;

    static bool is_value(const node & at) {
        return at.tag == TOOL_ARG_OBJECT || at.tag == TOOL_ARG_ARRAY || at.tag == tags::TOOL_ARG_VALUE || at.tag == tags::TOOL_ARG_STRING_VALUE;
    }

    // The nearest ones below that `fits`.
    template <typename Fits>
    static void nearest(const common_peg_ast_arena & arena, const node & parent, const Fits & fits, std::vector<const node *> & found) {
        for (const auto id : parent.children) {
            const auto & child = arena.get(id);
            if (fits(child)) {
                found.push_back(&child);
            } else if (!is_value(child)) {
                nearest(arena, child, fits, found);
            }
        }
    }

    static std::string quoted(const std::string & text, bool closed) {
        std::string json = chatparse_llama::dump_safe(common_json(text));
        if (!closed) {
            json.pop_back();
        }
        return json;
    }

    // A value that has not come to its end is written as far as it goes.
    static std::string value(const common_peg_ast_arena & arena, const node & at, bool closed) {
        if (at.tag == TOOL_ARG_OBJECT || at.tag == TOOL_ARG_ARRAY) {
            return container(arena, at, at.tag == TOOL_ARG_OBJECT, closed);
        }
        return at.tag == tags::TOOL_ARG_STRING_VALUE ? quoted(at.sanitized_text(), closed) : at.sanitized_text();
    }

    static std::string container(const common_peg_ast_arena & arena, const node & parent, bool is_object, bool closed) {
        const std::string entry_tag = is_object ? tags::TOOL_ARG : TOOL_ARG_ITEM;
        std::vector<const node *> entries;
        nearest(arena, parent, [&](const node & at) { return at.tag == entry_tag; }, entries);
        std::string json(1, is_object ? '{' : '[');
        for (const auto * entry : entries) {
            std::vector<const node *> names;
            std::vector<const node *> values;
            nearest(arena, *entry, [](const node & at) { return at.tag == tags::TOOL_ARG_NAME; }, names);
            nearest(arena, *entry, is_value, values);
            if (values.empty() || (is_object && names.empty())) {
                continue;
            }
            json += json.size() > 1 ? "," : "";
            json += is_object ? quoted(names[0]->sanitized_text(), true) + ":" : "";
            json += value(arena, *values[0], !values[0]->is_partial);
        }
        return closed ? json + (is_object ? "}" : "]") : json;
    }

    void add(const common_peg_ast_arena & arena, const node & at) {
        if (at.tag == tags::REASONING) {
            result.reasoning_content += at.sanitized_text();
        } else if (at.tag == tags::CONTENT) {
            result.content += at.sanitized_text();
        } else if (at.tag == tags::TOOL) {
            std::vector<const node *> names;
            nearest(arena, at, [](const node & below) { return below.tag == tags::TOOL_NAME; }, names);
            if (!names.empty()) {
                common_chat_tool_call call;
                call.name = names[0]->sanitized_text();
                call.arguments = container(arena, at, true, !at.is_partial);
                result.tool_calls.push_back(call);
            }
        } else {
            for (const auto id : at.children) {
                add(arena, arena.get(id));
            }
        }
    }
};

inline common_peg_arena build_chat_peg_parser(const std::function<common_peg_parser(common_chat_peg_builder & builder)> & fn) {
    common_chat_peg_builder builder;
    builder.set_root(fn(builder));
    return builder.build();
}

// The text of each tag; of several with the same tag, the last.
class tag_based_peg_mapper {
  public:
    std::map<std::string, std::string> tags;

    void from_ast(const common_peg_ast_arena & arena, const common_peg_parse_result & result) {
        arena.visit(result, [this](const common_peg_ast_node & node) {
            if (!node.tag.empty()) {
                tags[node.tag] = std::string(node.text);
            }
        });
    }
};

struct tagged_parse_result {
    common_peg_parse_result result;
    std::map<std::string, std::string> tags;
};

struct tagged_peg_parser {
    common_peg_arena arena;
    common_peg_parse_flags flags = COMMON_PEG_PARSE_FLAG_NONE;

    tagged_peg_parser & withDebug() {
        flags |= COMMON_PEG_PARSE_FLAG_DEBUG;
        return *this;
    }
    tagged_peg_parser & withoutDebug() {
        flags = flags & ~COMMON_PEG_PARSE_FLAG_DEBUG;
        return *this;
    }

    tagged_parse_result parse_and_extract(const std::string & input,
                                          common_peg_parse_flags extra_flags = COMMON_PEG_PARSE_FLAG_NONE) const {
        return extract(input, flags | extra_flags, 0);
    }

    // From the first place where it matches.
    tagged_parse_result parse_anywhere_and_extract(const std::string & input) const {
        for (size_t start = 0; start + 1 < input.size(); start++) {
            auto found = extract(input, flags, start);
            if (found.result.success()) {
                return found;
            }
        }
        return extract(input, flags, input.empty() ? 0 : input.size() - 1);
    }

  private:
    tagged_parse_result extract(const std::string & input, common_peg_parse_flags all_flags, size_t start) const {
        common_peg_parse_context ctx(input, all_flags);
        const auto result = arena.parse(ctx, start);
        tag_based_peg_mapper mapper;
        mapper.from_ast(ctx.ast, result);
        return { result, mapper.tags };
    }
};

inline tagged_peg_parser build_tagged_peg_parser(
    const std::function<common_peg_parser(common_peg_parser_builder & builder)> & fn) {
    tagged_peg_parser parser;
    parser.arena = build_peg_parser(fn);
    return parser;
}
