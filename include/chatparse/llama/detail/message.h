// A message as JSON, and what was added to one.
#pragma once

namespace chatparse_llama {

// What follows in a text that has grown. Nothing where it has become shorter: a stop word that had begun to show was taken off.
inline std::string grown(const std::string & before, const std::string & now) {
    if (now.compare(0, before.size(), before) == 0) {
        return now.substr(before.size());
    }
    if (before.compare(0, now.size(), now) == 0) {
        return "";
    }
    throw std::runtime_error("Invalid diff: '" + before + "' is not what '" + now + "' begins with");
}

inline std::string joined(const std::vector<common_chat_msg_content_part> & parts) {
    std::string text;
    bool        behind_media = false;
    for (const auto & part : parts) {
        const bool is_media = part.type == "media_marker";
        if (!is_media && part.type != "text") {
            continue;
        }
        if (!is_media && !behind_media && !text.empty()) {
            text += '\n';
        }
        text += part.text;
        behind_media = is_media;
    }
    return text;
}

inline common_json parts_json(const std::vector<common_chat_msg_content_part> & parts) {
    common_json list = common_json::array();
    for (const auto & part : parts) {
        common_json entry;
        entry["type"] = part.type;
        if (part.type == "tool_reference") {
            entry["name"] = part.name;
        } else {
            entry["text"] = part.text;
        }
        list.push_back(entry);
    }
    return list;
}

inline void refuse_content_beside_parts(const common_chat_msg & message) {
    if (!message.content.empty() && !message.content_parts.empty()) {
        throw std::runtime_error("Cannot specify both content and content_parts");
    }
}

}  // namespace chatparse_llama

inline common_json common_chat_msg::to_json_oaicompat(bool concat_typed_text) const {
    chatparse_llama::refuse_content_beside_parts(*this);
    common_json message;
    message["role"] = role;
    if (content_parts.empty()) {
        message["content"] = content;
    } else if (concat_typed_text || contains_media()) {
        message["content"] = chatparse_llama::joined(content_parts);
    } else {
        message["content"] = chatparse_llama::parts_json(content_parts);
    }
    if (!reasoning_content.empty()) {
        message["reasoning_content"] = reasoning_content;
    }
    if (!tool_name.empty()) {
        message["name"] = tool_name;
    }
    if (!tool_call_id.empty()) {
        message["tool_call_id"] = tool_call_id;
    }
    if (!tool_calls.empty()) {
        common_json calls = common_json::array();
        for (const auto & call : tool_calls) {
            common_json function;
            function["name"]      = call.name;
            function["arguments"] = call.arguments;
            common_json entry;
            entry["type"]     = "function";
            entry["function"] = function;
            if (!call.id.empty()) {
                entry["id"] = call.id;
            }
            calls.push_back(entry);
        }
        message["tool_calls"] = calls;
    }
    return message;
}

inline std::string common_chat_msg::render_content(const std::string & delimiter) const {
    chatparse_llama::refuse_content_beside_parts(*this);
    std::string text = content;
    for (const auto & part : content_parts) {
        if (part.type == "text") {
            text += text.empty() ? part.text : delimiter + part.text;
        }
    }
    return text;
}

inline std::vector<common_chat_msg_diff> common_chat_msg_diff::compute_diffs(const common_chat_msg & msg_prv,
                                                                             const common_chat_msg & msg_new) {
    std::vector<common_chat_msg_diff> diffs;
    if (msg_new.reasoning_content != msg_prv.reasoning_content) {
        diffs.emplace_back().reasoning_content_delta =
            chatparse_llama::grown(msg_prv.reasoning_content, msg_new.reasoning_content);
    }
    if (msg_new.content != msg_prv.content) {
        diffs.emplace_back().content_delta = chatparse_llama::grown(msg_prv.content, msg_new.content);
    }

    const size_t known = msg_prv.tool_calls.size();
    if (msg_new.tool_calls.size() < known) {
        throw std::runtime_error("Invalid diff: " + std::to_string(msg_new.tool_calls.size()) + " tool calls, where there were " +
                                 std::to_string(known));
    }
    if (known > 0) {
        const auto & before = msg_prv.tool_calls[known - 1];
        const auto & now    = msg_new.tool_calls[known - 1];
        if (!now.name.empty() && now.name.compare(0, before.name.size(), before.name) != 0) {
            throw std::runtime_error("Invalid diff: tool call '" + before.name + "' has become '" + now.name + "'");
        }
        common_chat_msg_diff diff;
        diff.tool_call_index           = known - 1;
        diff.tool_call_delta.arguments = chatparse_llama::grown(before.arguments, now.arguments);
        const bool renamed             = now.name != before.name || now.id != before.id;
        if (renamed) {
            diff.tool_call_delta.name = now.name;
            diff.tool_call_delta.id   = now.id;
        }
        if (renamed || !diff.tool_call_delta.arguments.empty()) {
            diffs.push_back(std::move(diff));
        }
    }
    for (size_t i = known; i < msg_new.tool_calls.size(); i++) {
        auto & diff          = diffs.emplace_back();
        diff.tool_call_index = i;
        diff.tool_call_delta = msg_new.tool_calls[i];
    }
    return diffs;
}
