// The few calls of llama.cpp's chat layer that are measured, as C functions.

#include "chat.h"
#include "log.h"
#include "json-schema-to-grammar.h"

#include <algorithm>
#include <memory>
#include <string>

struct peer_params {
    common_chat_params        made;
    std::string               prompt;
    common_chat_parser_params parsing;
};

struct peer_message {
    common_chat_msg message;
    size_t          deltas = 0;
};

static std::string text_of(const char * data, size_t len) {
    return std::string(data, len);
}

// Every function gives nothing where llama.cpp throws.
template <typename F> static auto guarded(F && body) -> decltype(body()) {
    try {
        return body();
    } catch (const std::exception &) {
        return {};
    }
}

extern "C" {

void peer_quiet() {
    common_log_set_verbosity_thold(-1);
}

common_chat_templates * peer_template_new(const char * source, size_t len, const char * bos, const char * eos) {
    return guarded([&] { return common_chat_templates_init(nullptr, text_of(source, len), bos, eos).release(); });
}

void peer_template_free(common_chat_templates * templates) {
    common_chat_templates_free(templates);
}

// `body`: an OpenAI request.
common_chat_templates_inputs * peer_request_new(const char * body, size_t len) {
    return guarded([&]() -> common_chat_templates_inputs * {
        auto json   = common_json::parse(text_of(body, len));
        auto inputs = std::make_unique<common_chat_templates_inputs>();
        inputs->messages         = common_chat_msgs_parse_oaicompat(json.at("messages"));
        inputs->reasoning_format = COMMON_REASONING_FORMAT_AUTO;
        if (json.contains("tools")) {
            inputs->tools = common_chat_tools_parse_oaicompat(json.at("tools"));
        }
        if (json.contains("enable_thinking")) {
            inputs->enable_thinking = json.at("enable_thinking").get<bool>();
        }
        return inputs.release();
    });
}

void peer_request_free(common_chat_templates_inputs * inputs) {
    delete inputs;
}

peer_params * peer_apply(const common_chat_templates * templates, const common_chat_templates_inputs * inputs) {
    return guarded([&]() -> peer_params * {
        auto params  = std::make_unique<peer_params>();
        params->made = common_chat_templates_apply(templates, *inputs);
        return params.release();
    });
}

void peer_params_free(peer_params * params) {
    delete params;
}

const char * peer_prompt(peer_params * params, size_t * len) {
    params->prompt = params->made.prompt.str();
    *len           = params->prompt.size();
    return params->prompt.data();
}

size_t peer_grammar_len(const peer_params * params) {
    return params->made.grammar.size();
}

// Makes the parser ready, as a server does once a request.
bool peer_ready(peer_params * params) {
    return guarded([&] {
        params->parsing        = common_chat_parser_params(params->made);
        params->parsing.parser = params->made.parser;
        return true;
    });
}

peer_message * peer_parse(const peer_params * params, const char * text, size_t len) {
    return guarded([&]() -> peer_message * {
        auto parsed     = std::make_unique<peer_message>();
        parsed->message = common_chat_parse(common_chat_input(text_of(text, len)), false, params->parsing);
        return parsed.release();
    });
}

// What a server's session does for each piece of `step` bytes: it appends the piece and parses all that there is; and what the server
// does then: it takes the difference to the message before. Stops before `most` bytes; 0: does not stop.
peer_message * peer_stream(const peer_params * params, const char * text, size_t len, size_t step, size_t most) {
    return guarded([&]() -> peer_message * {
        auto        parsed = std::make_unique<peer_message>();
        common_chat_input generated;
        for (size_t at = 0; at < len && (most == 0 || at < most); at += step) {
            generated.append(common_chat_input(text_of(text + at, std::min(step, len - at))));
            const bool            partial  = generated.size() < len;
            const common_chat_msg previous = parsed->message;
            parsed->message = common_chat_parse(generated, partial, params->parsing);
            parsed->deltas += common_chat_msg_diff::compute_diffs(previous, parsed->message).size();
        }
        return parsed.release();
    });
}

void peer_message_free(peer_message * message) {
    delete message;
}

// `field`: 0 content, 1 reasoning, 2 name and 3 arguments of the first call.
const char * peer_field(const peer_message * message, int field, size_t * len) {
    static const std::string none;
    const auto &             m     = message->message;
    const bool               calls = !m.tool_calls.empty();
    const std::string &      text  = field == 0 ? m.content
                                   : field == 1 ? m.reasoning_content
                                   : !calls     ? none
                                   : field == 2 ? m.tool_calls[0].name
                                                : m.tool_calls[0].arguments;
    *len = text.size();
    return text.data();
}

size_t peer_deltas(const peer_message * message) {
    return message->deltas;
}

// The length of the schema's grammar; 0 where there is none.
size_t peer_schema(const char * schema, size_t len) {
    return guarded([&] { return json_schema_to_grammar(common_json::parse(text_of(schema, len)), true).size(); });
}

}
