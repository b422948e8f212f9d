// The parts of an OpenAI request, from and to JSON.
#pragma once

namespace chatparse_llama {

// JSON for an error message, which may be answered to a client: not longer than a few lines, in whole characters.
inline std::string excerpt(const common_json & json) {
    std::string text = dump_safe(json);
    size_t      end  = 1000;
    if (text.size() <= end) {
        return text;
    }
    while ((text[end] & 0xC0) == 0x80) {
        end--;
    }
    return text.substr(0, end) + "...";
}

inline const common_json & member(const common_json & object, const char * name) {
    if (!object.is_object()) {
        throw std::invalid_argument("must be an object: " + excerpt(object));
    }
    if (!object.contains(name)) {
        throw std::invalid_argument("missing '" + std::string(name) + "': " + excerpt(object));
    }
    return object.at(name);
}

inline std::string text_of(const common_json & object, const char * name) {
    const common_json & value = member(object, name);
    if (!value.is_string()) {
        throw std::invalid_argument("'" + std::string(name) + "' must be a string: " + excerpt(object));
    }
    return value.get<std::string>();
}

inline std::string text_or_empty(const common_json & object, const char * name) {
    return object.contains(name) ? text_of(object, name) : std::string();
}

// The `function` of a tool or of a call, which must be one.
inline const common_json & function_of(const common_json & object) {
    if (text_of(object, "type") != "function") {
        throw std::invalid_argument("'type' must be \"function\": " + excerpt(object));
    }
    return member(object, "function");
}

inline common_chat_msg message_from_json(const common_json & json) {
    common_chat_msg message;
    message.role = text_of(json, "role");

    const bool has_calls = json.contains("tool_calls");
    if (json.contains("content")) {
        const common_json & content = json.at("content");
        if (content.is_string()) {
            message.content = content.get<std::string>();
        } else if (content.is_array()) {
            for (const auto & part : content) {
                const std::string type = text_of(part, "type");
                if (CHATPARSE_LLAMA >= CHATPARSE_LLAMA_0_8_0 && type == "tool_reference") {
                    message.content_parts.push_back({ type, "", text_of(part, "name") });
                } else if (type == "text" || type == "media_marker") {
                    message.content_parts.push_back({ type, text_of(part, "text"), "" });
                } else {
                    throw std::invalid_argument("unsupported content part type: " + excerpt(type));
                }
            }
        } else if (!content.is_null()) {
            throw std::invalid_argument("'content' must be a string or an array: " + excerpt(content));
        }
    } else if (!has_calls) {
        throw std::invalid_argument("a message needs 'content' or 'tool_calls'");
    }
    if (has_calls && !json.at("tool_calls").is_null()) {
        if (!json.at("tool_calls").is_array()) {
            throw std::invalid_argument("'tool_calls' must be an array: " + excerpt(json));
        }
        for (const auto & entry : json.at("tool_calls")) {
            const common_json &   function  = function_of(entry);
            const common_json &   arguments = member(function, "arguments");
            common_chat_tool_call call;
            call.name      = text_of(function, "name");
            call.arguments = arguments.is_string() ? arguments.get<std::string>() : arguments.dump();
            call.id        = text_or_empty(entry, "id");
            message.tool_calls.push_back(std::move(call));
        }
    }
    message.reasoning_content = text_or_empty(json, "reasoning_content");
    message.tool_name         = text_or_empty(json, "name");
    message.tool_call_id      = text_or_empty(json, "tool_call_id");
#if CHATPARSE_LLAMA >= CHATPARSE_LLAMA_0_8_0
    static const std::set<std::string> known = { "role", "content", "tool_calls", "reasoning_content", "name", "tool_call_id" };
    common_json                        extra = common_json::object();
    for (const auto & member : json.items()) {
        if (known.count(member.key()) == 0) {
            extra[member.key()] = member.value();
        }
    }
    if (!extra.empty()) {
        message.extra_json = extra.dump();
    }
#endif
    return message;
}

}  // namespace chatparse_llama

inline std::vector<common_chat_msg> common_chat_msgs_parse_oaicompat(const common_json & messages) {
    try {
        if (!messages.is_array()) {
            throw std::invalid_argument("'messages' must be an array: " + chatparse_llama::excerpt(messages));
        }
        std::vector<common_chat_msg> parsed;
        for (const auto & message : messages) {
            parsed.push_back(chatparse_llama::message_from_json(message));
        }
        return parsed;
    } catch (const std::exception & error) {
        throw std::runtime_error("Failed to parse messages: " + std::string(error.what()));
    }
}

inline std::vector<common_chat_tool> common_chat_tools_parse_oaicompat(const common_json & tools) {
    std::vector<common_chat_tool> parsed;
    if (tools.is_null()) {
        return parsed;
    }
    try {
        if (!tools.is_array()) {
            throw std::invalid_argument("'tools' must be an array");
        }
        for (const auto & tool : tools) {
            const common_json & function = chatparse_llama::function_of(tool);
            common_chat_tool    entry;
            entry.name        = chatparse_llama::text_of(function, "name");
            entry.description = chatparse_llama::text_or_empty(function, "description");
            entry.parameters  = function.contains("parameters") ? function.at("parameters").dump() : "{}";
#if CHATPARSE_LLAMA >= CHATPARSE_LLAMA_0_8_0
            // The function's own counts before the one beside it.
            const common_json & holder = function.contains("defer_loading") ? function : tool;
            if (holder.contains("defer_loading")) {
                const common_json & defer = holder.at("defer_loading");
                if (!defer.is_boolean()) {
                    throw std::invalid_argument("'defer_loading' must be a boolean: " + chatparse_llama::excerpt(defer));
                }
                entry.defer_loading = defer.get<bool>();
            }
#endif
            parsed.push_back(std::move(entry));
        }
        return parsed;
    } catch (const std::exception & error) {
        throw std::runtime_error("Failed to parse tools: " + std::string(error.what()) + "; tools = " + chatparse_llama::excerpt(tools));
    }
}

inline common_chat_continuation common_chat_continuation_parse(const common_json & value) {
    if (value.is_boolean()) {
        return value.get<bool>() ? COMMON_CHAT_CONTINUATION_AUTO : COMMON_CHAT_CONTINUATION_NONE;
    }
    if (value.is_string()) {
        const auto part = value.get<std::string>();
        if (part == "reasoning_content") {
            return COMMON_CHAT_CONTINUATION_REASONING;
        }
        if (part == "content") {
            return COMMON_CHAT_CONTINUATION_CONTENT;
        }
    }
    return COMMON_CHAT_CONTINUATION_NONE;
}

inline common_json common_chat_tool_parameters(const common_json & function) {
    if (function.contains("parameters")) {
        const common_json & parameters = function.at("parameters");
        if (!parameters.is_null() && !(parameters.is_object() && parameters.empty())) {
            return parameters;
        }
    }
    common_json nothing;
    nothing["type"]       = "object";
    nothing["properties"] = common_json::object();
    return nothing;
}

inline common_json common_chat_msgs_to_json_oaicompat(const std::vector<common_chat_msg> & msgs, bool concat_typed_text) {
    common_json list = common_json::array();
    for (const auto & message : msgs) {
        list.push_back(message.to_json_oaicompat(concat_typed_text));
    }
    return list;
}

inline common_json common_chat_tools_to_json_oaicompat(const std::vector<common_chat_tool> & tools) {
    if (tools.empty()) {
        return common_json();
    }
    common_json list = common_json::array();
    for (const auto & tool : tools) {
        common_json function;
        function["name"]        = tool.name;
        function["description"] = tool.description;
        function["parameters"]  = common_json::parse(tool.parameters);
        if (tool.defer_loading) {
            function["defer_loading"] = true;
        }
        common_json entry;
        entry["type"]     = "function";
        entry["function"] = function;
        list.push_back(entry);
    }
    return list;
}
