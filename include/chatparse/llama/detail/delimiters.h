// Where the messages of a prompt begin.
#pragma once

inline void common_chat_msg_delimiters::tokenize(const llama_vocab * vocab) {
    for (auto & delimiter : delimiters) {
        delimiter.tokens = common_tokenize(vocab, delimiter.delimiter, /* add_special = */ false, /* parse_special = */ true);
    }
}

inline common_chat_msg_spans common_chat_msg_delimiters::split(const llama_tokens &             tokens,
                                                               const std::map<size_t, size_t> & skips) const {
    common_chat_msg_spans found;
    auto                  skip = skips.begin();
    for (size_t at = 0; at < tokens.size();) {
        while (skip != skips.end() && skip->first < at) {
            ++skip;
        }
        if (skip != skips.end() && skip->first == at && skip->second > 0) {
            at += skip->second;
            continue;
        }
        for (const auto & delimiter : delimiters) {
            const auto & wanted = delimiter.tokens;
            if (wanted.size() <= tokens.size() - at && std::equal(wanted.begin(), wanted.end(), tokens.begin() + at)) {
                found.add(delimiter.role, at, 0);
                break;
            }
        }
        at++;
    }
    for (size_t i = 0; i < found.spans.size(); i++) {
        const size_t end   = i + 1 < found.spans.size() ? found.spans[i + 1].pos : tokens.size();
        found.spans[i].len = end - found.spans[i].pos;
    }
    return found;
}

#if CHATPARSE_LLAMA < CHATPARSE_LLAMA_B11549
inline common_json common_chat_msg_delimiters::to_json() const {
    common_json list = common_json::array();
    for (const auto & delimiter : delimiters) {
        common_json entry;
        entry["role"]      = common_chat_role_to_string(delimiter.role);
        entry["delimiter"] = delimiter.delimiter;
        list.push_back(entry);
    }
    return list;
}

inline common_chat_msg_delimiters common_chat_msg_delimiters_parse(const common_json & delimiters) {
    common_chat_msg_delimiters parsed;
    if (delimiters.is_array()) {
        for (const auto & entry : delimiters) {
            if (entry.is_object()) {
                parsed.add(common_chat_role_from_string(entry.value("role", "")), entry.value("delimiter", ""));
            }
        }
    }
    return parsed;
}
#endif
