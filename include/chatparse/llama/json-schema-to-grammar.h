// llama.cpp's common/json-schema-to-grammar.h on chatparse: grammars of JSON schemas and of rules. The schemas are read and the
// grammars written in the library; here they get llama.cpp's names. C++17; needs llama.cpp's JSON.
//
// What is other than in llama.cpp: a schema's references point into that schema, so there is nothing to resolve beforehand; rules that
// are no GBNF, or a grammar that could not be loaded, are an error here and not in the sampler.
#pragma once

#include "peg-parser.h"

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

// What build_grammar() lends to its callback. add_rule and add_schema return the name that the rule got.
struct common_grammar_builder {
    std::function<std::string(const std::string & name, const std::string & body)> add_rule;
#if CHATPARSE_LLAMA != CHATPARSE_LLAMA_IK
    std::function<std::string(const std::string & name, const common_chat_schema & schema)> add_schema;
#else
    std::function<std::string(const std::string & name, const common_json & schema)> add_schema;
    std::function<void(common_json & schema)> resolve_refs;
#endif

    // For calls of chatparse.h.
    chat_grammar_builder * handle = nullptr;
};

// There is nothing to choose: `.` matches line breaks in llama.cpp's grammars.
struct common_grammar_options {
    bool dotall = false;
};

namespace chatparse_llama {

// The text of a grammar, in spellings that the version's reader knows.
inline std::string text_of(const chat_grammar * grammar) {
    const std::string text = to_string(chat_grammar_view(grammar)->text);
#if CHATPARSE_LLAMA != CHATPARSE_LLAMA_IK
    return text;
#else
    std::string out;
    for (size_t i = 0; i < text.size(); i++) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            out += text[i];
        } else {
            i++;
            out += text[i] == '-' ? "\\x2D" : std::string{ '\\', text[i] };
        }
    }
    return out;
#endif
}

inline std::string text_and_free(chat_grammar * grammar) {
    const std::unique_ptr<chat_grammar, void (*)(chat_grammar *)> freed(grammar, chat_grammar_free);
    return text_of(grammar);
}

// How the version's grammars are written.
#if CHATPARSE_LLAMA == CHATPARSE_LLAMA_IK
constexpr chat_grammar_style STYLE = CHAT_GRAMMAR_STYLE_LLAMA_CPP_B10587;
constexpr char STYLE_NAME[]        = "llama.cpp-b10587";
#else
constexpr chat_grammar_style STYLE = CHAT_GRAMMAR_STYLE_LLAMA_CPP;
constexpr char STYLE_NAME[]        = "llama.cpp";
#endif

// llama.cpp's words for a schema that cannot be used.
inline void check_schema(chat_status status, chat_error * const & error) {
    if (status == CHAT_STATUS_OK) {
        return;
    }
    const std::string message = to_string(chat_error_message(error));
    chat_error_free(error);
    throw std::invalid_argument("JSON schema conversion failed:\n" + message);
}

}  // namespace chatparse_llama

// The grammar of what a schema allows. Where llama.cpp is built with llguidance, that takes the schema itself, unless force_gbnf.
// Throws std::invalid_argument for a schema that cannot be used.
inline std::string json_schema_to_grammar(const common_json & schema, bool force_gbnf = false) {
#ifdef LLAMA_USE_LLGUIDANCE
    if (!force_gbnf) {
        return "%llguidance {}\nstart: %json " + schema.dump();
    }
#else
    (void) force_gbnf;
#endif
    const std::string text = schema.dump();
    chat_grammar * grammar = nullptr;
    chat_error * error = nullptr;
    chatparse_llama::check_schema(
        chat_grammar_from_json_schema(text.data(), text.size(), chatparse_llama::STYLE, &grammar, &error), error);
    return chatparse_llama::text_and_free(grammar);
}

#if CHATPARSE_LLAMA != CHATPARSE_LLAMA_IK
// The GBNF of a schema that has been read.
inline std::string json_schema_to_grammar(const common_chat_schema_document & schema) {
    return json_schema_to_grammar(chatparse_llama::schema_writer().write(*schema.root), true);
}
#endif

// The grammar of what a callback adds. Throws std::invalid_argument for schemas and rules that cannot be used.
inline std::string build_grammar(const std::function<void(const common_grammar_builder &)> & fn,
                                 const common_grammar_options & = {}) {
    chat_grammar_builder * handle = nullptr;
    chat_error * error = nullptr;
    chatparse_llama::check(chat_grammar_builder_new(&handle, &error), error);
    const std::unique_ptr<chat_grammar_builder, void (*)(chat_grammar_builder *)> freed(handle, chat_grammar_builder_free);
    chatparse_llama::check(chat_grammar_builder_set_style(handle, chatparse_llama::STYLE, &error), error);

    common_grammar_builder builder;
    builder.handle = handle;
    builder.add_rule = [handle](const std::string & name, const std::string & body) {
        chat_str actual;
        chat_error * error = nullptr;
        chatparse_llama::check(chat_grammar_builder_add_rule(handle, name.data(), name.size(), body.data(), body.size(), &actual,
                                                             &error), error);
        return chatparse_llama::to_string(actual);
    };
    const auto add_json = [handle](const std::string & name, const common_json & schema) {
        const std::string text = schema.dump();
        chat_str actual;
        chat_error * error = nullptr;
        chatparse_llama::check_schema(chat_grammar_builder_add_schema(handle, name.data(), name.size(), text.data(), text.size(),
                                                                      &actual, &error), error);
        return chatparse_llama::to_string(actual);
    };
#if CHATPARSE_LLAMA != CHATPARSE_LLAMA_IK
    builder.add_schema = [add_json](const std::string & name, const common_chat_schema & schema) {
        return add_json(name, chatparse_llama::schema_writer().write(schema));
    };
#else
    builder.add_schema = add_json;
    builder.resolve_refs = [](common_json &) {};
#endif
    fn(builder);

    chat_grammar * grammar = nullptr;
    chatparse_llama::check(chat_grammar_builder_build(handle, &grammar, &error), error);
    return chatparse_llama::text_and_free(grammar);
}

inline void common_peg_arena::build_grammar(const common_grammar_builder & builder, bool lazy) const {
    chat_error * error = nullptr;
    chatparse_llama::check(chat_grammar_builder_add_parser(builder.handle, handle(), lazy, &error), error);
}

#if CHATPARSE_LLAMA == CHATPARSE_LLAMA_IK
// What a schema says of its values.
class common_schema_info {
  public:
    void resolve_refs(common_json &) {}

    // Whether a value may be a string, by any branch of the schema. Any `format` says so where there is no type.
    bool resolves_to_string(const common_json & schema) const {
        const std::string text = schema.dump();
        bool allows = false;
        chat_error * error = nullptr;
        chatparse_llama::check(chat_schema_allows_string(text.data(), text.size(), &allows, &error), error);
        return allows || (schema.is_object() && schema.contains("format") && !schema.contains("type"));
    }
};
#endif

inline std::string gbnf_format_rule_name(const std::string & name) { return chatparse_llama::rule_name(name); }

// A text as a literal of a grammar.
inline std::string gbnf_format_literal(const std::string & text) {
    std::string out = "\"";
    for (const char c : text) {
        switch (c) {
            case '\r': out += "\\r"; break;
            case '\n': out += "\\n"; break;
            case '"':
            case '\\': out += '\\'; out += c; break;
            default:   out += c; break;
        }
    }
    return out + "\"";
}
