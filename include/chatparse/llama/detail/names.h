// Enums and their names.
#pragma once

inline const char * common_chat_format_name(common_chat_format format) {
    switch (format) {
        case COMMON_CHAT_FORMAT_CONTENT_ONLY:   return "Content-only";
        case COMMON_CHAT_FORMAT_PEG_SIMPLE:     return "peg-simple";
        case COMMON_CHAT_FORMAT_PEG_NATIVE:     return "peg-native";
        case COMMON_CHAT_FORMAT_PEG_GEMMA4:     return "peg-gemma4";
        case COMMON_CHAT_FORMAT_PEG_MINIMAX_M3: return "peg-minimax-m3";
        case COMMON_CHAT_FORMAT_COUNT:          break;
    }
    throw std::runtime_error("Unknown chat format");
}

namespace chatparse_llama {

inline common_chat_format format_from_name(const std::string & name) {
    for (int format = 0; format < COMMON_CHAT_FORMAT_COUNT; format++) {
        if (name == common_chat_format_name(static_cast<common_chat_format>(format))) {
            return static_cast<common_chat_format>(format);
        }
    }
    return COMMON_CHAT_FORMAT_PEG_NATIVE;
}

}  // namespace chatparse_llama

inline const char * common_reasoning_format_name(common_reasoning_format format) {
    switch (format) {
        case COMMON_REASONING_FORMAT_NONE:            return "none";
        case COMMON_REASONING_FORMAT_AUTO:            return "auto";
        case COMMON_REASONING_FORMAT_DEEPSEEK:        return "deepseek";
        case COMMON_REASONING_FORMAT_DEEPSEEK_LEGACY: return "deepseek-legacy";
    }
    throw std::runtime_error("Unknown reasoning format");
}

inline common_reasoning_format common_reasoning_format_from_name(const std::string & name) {
    for (auto format : { COMMON_REASONING_FORMAT_NONE, COMMON_REASONING_FORMAT_AUTO, COMMON_REASONING_FORMAT_DEEPSEEK,
                         COMMON_REASONING_FORMAT_DEEPSEEK_LEGACY }) {
        if (name == common_reasoning_format_name(format)) {
            return format;
        }
    }
    throw std::runtime_error("Unknown reasoning format: " + name);
}

inline common_chat_tool_choice common_chat_tool_choice_parse_oaicompat(const std::string & tool_choice) {
    if (tool_choice == "auto") {
        return COMMON_CHAT_TOOL_CHOICE_AUTO;
    }
    if (tool_choice == "required") {
        return COMMON_CHAT_TOOL_CHOICE_REQUIRED;
    }
    if (tool_choice == "none") {
        return COMMON_CHAT_TOOL_CHOICE_NONE;
    }
    throw std::invalid_argument("tool_choice: must be auto, required or none, not \"" + tool_choice + "\"");
}

inline const char * common_chat_role_to_string(common_chat_role role) {
    switch (role) {
        case COMMON_CHAT_ROLE_SYSTEM:    return "system";
        case COMMON_CHAT_ROLE_ASSISTANT: return "assistant";
        case COMMON_CHAT_ROLE_USER:      return "user";
        case COMMON_CHAT_ROLE_TOOL:      return "tool";
        case COMMON_CHAT_ROLE_UNKNOWN:   break;
    }
    return "";
}

inline common_chat_role common_chat_role_from_string(const std::string & role) {
    for (auto known :
         { COMMON_CHAT_ROLE_SYSTEM, COMMON_CHAT_ROLE_ASSISTANT, COMMON_CHAT_ROLE_USER, COMMON_CHAT_ROLE_TOOL }) {
        if (role == common_chat_role_to_string(known)) {
            return known;
        }
    }
    return COMMON_CHAT_ROLE_UNKNOWN;
}
