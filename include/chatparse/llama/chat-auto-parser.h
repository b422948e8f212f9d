// llama.cpp's common/chat-auto-parser.h on chatparse: prompts of a template by itself. What a template shows is learnt inside of
// chatparse; `chatparse inspect` tells what, and how.
#pragma once

#include "chat.h"

namespace autoparser {

// A request, with messages and tools as OpenAI's JSON. Prompts are made of what is read here; the rest is for programs that set it.
struct generation_params {
    common_json                           messages;
    common_json                           tools;
    common_chat_tool_choice               tool_choice = COMMON_CHAT_TOOL_CHOICE_AUTO;  // not read
    common_json                           json_schema;                                 // not read
    bool                                  parallel_tool_calls    = true;               // not read
    common_reasoning_format               reasoning_format       = COMMON_REASONING_FORMAT_AUTO;  // not read
    bool                                  stream                 = true;  // not read
    std::string                           grammar;                        // not read
    bool                                  add_generation_prompt  = false;
    common_chat_continuation              continue_final_message = COMMON_CHAT_CONTINUATION_NONE;  // not read
    common_chat_msg                       continue_msg;                                            // not read
    bool                                  enable_thinking        = true;
    std::chrono::system_clock::time_point now                    = std::chrono::system_clock::now();
    common_json                           extra_context;  // an object, or null: further variables
    bool                                  add_bos       = false;
    bool                                  add_eos       = false;
    bool                                  is_inference  = true;   // not read
    bool                                  add_inference = false;  // not read
    bool                                  mark_input    = true;   // not read

    bool has_continuation() const { return continue_final_message != COMMON_CHAT_CONTINUATION_NONE && !continue_msg.empty(); }
};

}  // namespace autoparser

namespace chatparse_llama {

inline std::string request_json(const autoparser::generation_params & inputs) {
    auto request        = common_json::object();
    request["messages"] = inputs.messages;
    if (!inputs.tools.empty()) {
        request["tools"] = inputs.tools;
    }
    if (inputs.extra_context.is_object()) {
        request["chat_template_kwargs"] = inputs.extra_context;
    }
    request["add_generation_prompt"] = inputs.add_generation_prompt;
    request["enable_thinking"]       = inputs.enable_thinking;
    request["now"]                   = wall_clock(inputs.now);
    return dump_safe(request);
}

}  // namespace chatparse_llama

// The prompt. Throws as common_chat_templates_apply does.
inline common_chat_prompt common_chat_template_direct_apply(const common_chat_template & tmpl, const autoparser::generation_params & inputs) {
    const auto request = chatparse_llama::request_json(inputs);
    const auto params  = chatparse_llama::params_of(tmpl, request);
    return chatparse_llama::prompt_of(tmpl, request, chatparse_llama::to_string(chat_params_view(params.get())->prompt), inputs.add_bos, inputs.add_eos);
}

// What a prompt for the model's turn has more than one without.
inline std::string common_chat_template_generation_prompt(const common_chat_template & tmpl, const autoparser::generation_params & inputs) {
    auto with                  = inputs;
    with.add_generation_prompt = true;
    const auto params          = chatparse_llama::params_of(tmpl, chatparse_llama::request_json(with));
    return chatparse_llama::to_string(chat_params_view(params.get())->generation_prompt);
}
