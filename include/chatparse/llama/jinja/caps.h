// llama.cpp's common/jinja/caps.h, on chatparse.
#pragma once

#include "parser.h"

#include <map>
#include <string>
#include <vector>

namespace jinja {

// What a template accepts.
struct caps {
    bool supports_tools               = true;
    bool supports_tool_calls          = true;
    bool supports_system_role         = true;
    bool supports_parallel_tool_calls = true;
    bool supports_preserve_reasoning  = false;
    bool supports_reasoning_effort    = false;
    bool supports_string_content      = true;
    bool supports_typed_content       = false;
    bool supports_object_arguments    = false;

    // The levels of effort that the template renders each in its own way, from the lowest.
    std::vector<std::string> reasoning_effort_levels;

    std::map<std::string, bool> to_map() const {
        return {
            { "supports_tools",               supports_tools               },
            { "supports_tool_calls",          supports_tool_calls          },
            { "supports_system_role",         supports_system_role         },
            { "supports_parallel_tool_calls", supports_parallel_tool_calls },
            { "supports_preserve_reasoning",  supports_preserve_reasoning  },
            { "supports_reasoning_effort",    supports_reasoning_effort    },
            { "supports_string_content",      supports_string_content      },
            { "supports_typed_content",       supports_typed_content       },
            { "supports_object_arguments",    supports_object_arguments    },
        };
    }

    // A line each.
    std::string to_string() const {
        std::string text;
        for (const auto & cap : to_map()) {
            text += cap.first + ": " + (cap.second ? "true" : "false") + "\n";
        }
        return text;
    }
};

// The first call for a program takes a few renders.
inline caps caps_get(const program & prog) {
    chat_str     text;
    chat_error * error = nullptr;
    chatparse_llama::check(chat_template_report(prog.handle(), CHAT_REPORT_CAPS, &text, &error), error);
    const common_json json = common_json::parse(chatparse_llama::to_string(text));

    caps       found;
    const auto read = [&](const char * name, bool & into) { into = json.value(name, into); };
    read("supports_tools", found.supports_tools);
    read("supports_tool_calls", found.supports_tool_calls);
    read("supports_system_role", found.supports_system_role);
    read("supports_parallel_tool_calls", found.supports_parallel_tool_calls);
    read("supports_preserve_reasoning", found.supports_preserve_reasoning);
    read("supports_reasoning_effort", found.supports_reasoning_effort);
    read("supports_string_content", found.supports_string_content);
    read("supports_typed_content", found.supports_typed_content);
    read("supports_object_arguments", found.supports_object_arguments);
    for (const auto & level : json.at("reasoning_effort_levels")) {
        found.reasoning_effort_levels.push_back(level.get<std::string>());
    }
#if CHATPARSE_LLAMA == CHATPARSE_LLAMA_IK
    // A template that takes a text is not asked for lists.
    found.supports_typed_content = found.supports_typed_content && !found.supports_string_content;
#endif
    return found;
}

}  // namespace jinja
