// Templates, and what they make of requests.
#pragma once

#include "log.h"

struct common_chat_templates {
    bool                                  add_bos               = false;  // the tokeniser adds it, so prompts must not
    bool                                  add_eos               = false;
    bool                                  has_explicit_template = false;
    std::unique_ptr<common_chat_template> template_default;
    std::unique_ptr<common_chat_template> template_tool_use;  // may be missing
    std::unique_ptr<common_chat_template> template_tts;       // from 0.8.0 on; may be missing
};

namespace chatparse_llama {

struct free_params {
    void operator()(chat_params * params) const { chat_params_free(params); }
};

// The text of the library's own ChatML template.
inline std::string chatml() {
    chat_template * chat  = nullptr;
    chat_error *    error = nullptr;
    check(chat_template_builtin("chatml", 6, &chat, &error), error);
    const std::string source = to_string(chat_template_source(chat));
    chat_template_free(chat);
    return source;
}

inline std::string special_token(const llama_vocab * vocab, llama_token token, const char * variable, const std::string & sources) {
    if (token != LLAMA_TOKEN_NULL) {
        return common_token_to_piece(vocab, token, /* special = */ true);
    }
    if (sources.find(variable) != std::string::npos) {
        LOG_WRN("%s: the chat template uses %s, which the model does not have\n", __func__, variable);
    }
    return "";
}

// Templates print the time as it is on the clocks here, and the library takes its seconds for what it prints.
inline int64_t wall_clock(std::chrono::system_clock::time_point now) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    std::tm           here    = {};
    std::tm           utc     = {};
#ifdef _WIN32
    localtime_s(&here, &seconds);
    gmtime_s(&utc, &seconds);
#else
    localtime_r(&seconds, &here);
    gmtime_r(&seconds, &utc);
#endif
    const int days = here.tm_year != utc.tm_year ? (here.tm_year > utc.tm_year ? 1 : -1) : here.tm_yday - utc.tm_yday;
    const int time = (here.tm_hour - utc.tm_hour) * 3600 + (here.tm_min - utc.tm_min) * 60 + here.tm_sec - utc.tm_sec;
    return static_cast<int64_t>(seconds) + days * 86400 + time;
}

// The request as chat_params_from_template reads it.
inline std::string request_json(const common_chat_templates_inputs & inputs, const jinja::caps & caps) {
    const bool  joins = caps.supports_string_content && !caps.supports_typed_content;
    common_json request;
    common_json messages = common_json::array();
    for (const auto & message : inputs.messages) {
        common_json entry = message.to_json_oaicompat(joins);
        const auto & parts = message.content_parts;
        const bool   texts = std::all_of(parts.begin(), parts.end(), [](const auto & part) { return part.type == "text"; });
        if (!parts.empty() && !(joins && texts)) {
            // The library joins media and references to tools with texts, after it has prepared them.
            entry["content"] = parts_json(parts);
        }
        if (!message.extra_json.empty()) {
            const common_json extra = common_json::parse(message.extra_json);
            for (const auto & member : extra.items()) {
                if (!entry.contains(member.key())) {
                    entry[member.key()] = member.value();
                }
            }
        }
        messages.push_back(entry);
    }
    request["messages"] = messages;
    if (!inputs.tools.empty()) {
        request["tools"] = common_chat_tools_to_json_oaicompat(inputs.tools);
    }
    request["tool_choice"] = inputs.tool_choice == COMMON_CHAT_TOOL_CHOICE_REQUIRED ? "required" :
                             inputs.tool_choice == COMMON_CHAT_TOOL_CHOICE_NONE     ? "none" :
                                                                                      "auto";
    request["parallel_tool_calls"]   = inputs.parallel_tool_calls;
    request["reasoning_format"]      = common_reasoning_format_name(inputs.reasoning_format);
    request["enable_thinking"]       = inputs.enable_thinking;
    request["add_generation_prompt"] = inputs.add_generation_prompt;
    request["force_pure_content"]    = inputs.force_pure_content;
    request["now"]                   = wall_clock(inputs.now);
    request["grammar"]               = inputs.grammar;
    request["grammar_style"]         = STYLE_NAME;
    request["compat"]                = "llama.cpp";
    if (!inputs.json_schema.empty()) {
        request["json_schema"] = common_json::parse(inputs.json_schema);
    }
    switch (inputs.continue_final_message) {
        case COMMON_CHAT_CONTINUATION_NONE:      break;
        case COMMON_CHAT_CONTINUATION_AUTO:      request["continue_final_message"] = true; break;
        case COMMON_CHAT_CONTINUATION_REASONING: request["continue_final_message"] = "reasoning_content"; break;
        case COMMON_CHAT_CONTINUATION_CONTENT:   request["continue_final_message"] = "content"; break;
    }
    if (!inputs.chat_template_kwargs.empty()) {
        common_json kwargs;
        for (const auto & kwarg : inputs.chat_template_kwargs) {
            kwargs[kwarg.first] = common_json::parse(kwarg.second);
        }
        request["chat_template_kwargs"] = kwargs;
    }
#ifdef CHATPARSE_STRICT
    request["malformed_arguments"] = "error";
    request["dialects"]            = "off";
    request["unknown_tools"]       = "content";
#endif
    // What is no UTF-8 in it becomes U+FFFD, rather than an error.
    return dump_safe(request);
}

inline std::unique_ptr<chat_params, free_params> params_of(const common_chat_template & chat, const std::string & request) {
    chat_params *     params = nullptr;
    chat_error *      error  = nullptr;
    const chat_status status = chat_params_from_template(chat.prog.handle(), request.data(), request.size(), &params, &error);
    if (status == CHAT_STATUS_TEMPLATE) {
        // The template compiles: it is this request that it refuses, e.g. because roles do not alternate.
        const std::string why = to_string(chat_error_message(error));
        chat_error_free(error);
        throw std::invalid_argument(why);
    }
    check(status, error);
    return std::unique_ptr<chat_params, free_params>(params);
}

// A prompt without the tokens at its ends that the tokeniser adds.
inline std::string without_tokens(std::string prompt, const common_chat_template & chat, bool adds_bos, bool adds_eos) {
    const std::string & bos = chat.bos_tok;
    const std::string & eos = chat.eos_tok;
    if (adds_bos && !bos.empty() && prompt.compare(0, bos.size(), bos) == 0) {
        prompt.erase(0, bos.size());
    }
    if (adds_eos && !eos.empty() && prompt.size() >= eos.size() && prompt.compare(prompt.size() - eos.size(), eos.size(), eos) == 0) {
        prompt.erase(prompt.size() - eos.size());
    }
    return prompt;
}

// The prompt of a request, which is `text`.
inline common_chat_prompt prompt_of(const common_chat_template & chat, const std::string & request, std::string text, bool adds_bos, bool adds_eos) {
    const std::string trimmed = without_tokens(text, chat, adds_bos, adds_eos);
#if CHATPARSE_LLAMA >= CHATPARSE_LLAMA_0_8_0
    chat_segments * segments = nullptr;
    chat_error *    error    = nullptr;
    check(chat_segments_from_template(chat.prog.handle(), request.data(), request.size(), nullptr, 0, &segments, &error), error);
    const std::unique_ptr<chat_segments, void (*)(chat_segments *)> freed(segments, chat_segments_free);
    // What the tokeniser adds is the template's text, at both ends.
    const size_t       from = adds_bos && text.compare(0, chat.bos_tok.size(), chat.bos_tok) == 0 ? chat.bos_tok.size() : 0;
    common_chat_prompt prompt;
    for (const chat_segment & segment : items(chat_segments_view(segments)->segments)) {
        const size_t begin = std::max(segment.begin, from) - from;
        const size_t end   = std::min(std::max(segment.end, from) - from, trimmed.size());
        if (begin < end) {
            prompt.append(trimmed.substr(begin, end - begin), segment.origin != CHAT_TEXT_ORIGIN_TEMPLATE);
        }
    }
    return prompt;
#else
    (void) request;
    return trimmed;
#endif
}

// As in llama.cpp, a tool with a schema that cannot be used makes the request an error. Where the grammar is not just what a schema
// says is told to who debugs.
inline void refuse_schemas(const chat_grammar * grammar) {
    for (const chat_fidelity & found : items(chat_grammar_view(grammar)->report)) {
        const std::string text = to_string(found.schema) + ", " + to_string(found.pointer) + ": " + to_string(found.message);
        if (found.kind == CHAT_FIDELITY_KIND_REFUSED) {
            throw std::invalid_argument("JSON schema conversion failed:\n" + text);
        }
        LOG_DBG("%s: the grammar allows %s than the schema of %s\n", __func__,
                found.kind == CHAT_FIDELITY_KIND_NARROWED ? "less" : "more", text.c_str());
    }
}

inline std::string grammar_of(const chat_params * params) {
    chat_grammar * grammar = nullptr;
    chat_error *   error   = nullptr;
    check(chat_params_grammar(params, CHAT_DIALECT_GBNF, &grammar, &error), error);
    const std::unique_ptr<chat_grammar, void (*)(chat_grammar *)> freed(grammar, chat_grammar_free);
    refuse_schemas(grammar);
    return text_of(grammar);
}

inline common_peg_arena parser_of(const chat_params * params) {
    chat_parser * parser = nullptr;
    chat_error *  error  = nullptr;
    check(chat_params_parser(params, &parser, &error), error);
    return common_peg_arena(own(parser));
}

inline std::vector<common_grammar_trigger> triggers_of(const chat_params * params) {
    std::vector<common_grammar_trigger> triggers;
    for (const chat_trigger & found : items(chat_params_view(params)->grammar_triggers)) {
        common_grammar_trigger trigger;
        trigger.type  = found.kind == CHAT_TRIGGER_KIND_WORD ? COMMON_GRAMMAR_TRIGGER_TYPE_WORD : COMMON_GRAMMAR_TRIGGER_TYPE_PATTERN;
        trigger.value = to_string(found.value);
        triggers.push_back(std::move(trigger));
    }
    return triggers;
}

inline std::vector<std::string> texts(chat_str_list list) {
    std::vector<std::string> all;
    for (const chat_str & text : items(list)) {
        all.push_back(to_string(text));
    }
    return all;
}

inline common_chat_params apply_jinja(const common_chat_templates & tmpls, const common_chat_templates_inputs & inputs) {
    const auto & chat   = !inputs.tools.empty() && tmpls.template_tool_use ? *tmpls.template_tool_use : *tmpls.template_default;
    const auto   request = request_json(inputs, chat.caps);
    const auto   handle  = params_of(chat, request);
    const auto * params = handle.get();
    const auto * fields = chat_params_view(params);

    common_chat_params result;
    result.format            = format_from_name(to_string(fields->format));
    result.generation_prompt = to_string(fields->generation_prompt);
    result.grammar           = grammar_of(params);
    result.grammar_lazy      = fields->grammar_lazy;
    result.grammar_triggers  = triggers_of(params);
    result.supports_thinking = fields->supports_thinking;
#if CHATPARSE_LLAMA >= CHATPARSE_LLAMA_B11549
    result.parser            = parser_of(params);
#else
    result.parser            = parser_of(params).save();
#endif
    result.thinking_start_tag = to_string(fields->thinking_start_tag);
#if CHATPARSE_LLAMA == CHATPARSE_LLAMA_IK
    result.thinking_end_tag   = fields->thinking_end_tags.len > 0 ? to_string(fields->thinking_end_tags.data[0]) : "";
#else
    result.thinking_end_tags  = texts(fields->thinking_end_tags);
#endif
    result.preserved_tokens   = texts(fields->preserved_tokens);
    result.additional_stops   = texts(fields->additional_stops);
    for (const chat_delimiter & delimiter : items(fields->message_delimiters)) {
        result.message_delimiters.add(common_chat_role_from_string(to_string(delimiter.role)), to_string(delimiter.text));
    }

    result.prompt = prompt_of(chat, request, to_string(fields->prompt), tmpls.add_bos, tmpls.add_eos);
    return result;
}

// Without Jinja: libllama knows how some templates write, by words in their text.
inline common_chat_params apply_by_name(const common_chat_templates & tmpls, const common_chat_templates_inputs & inputs) {
    std::vector<std::string> contents;
    for (const auto & message : inputs.messages) {
        std::string text = message.content;
        for (const auto & part : message.content_parts) {
            if (part.type == "text" || part.type == "media_marker") {
                text += text.empty() ? part.text : "\n" + part.text;
            }
        }
        contents.push_back(std::move(text));
    }
    std::vector<llama_chat_message> chat;
    for (size_t i = 0; i < contents.size(); i++) {
        chat.push_back({ inputs.messages[i].role.c_str(), contents[i].c_str() });
    }
    const std::string & source = tmpls.template_default->source();
    const auto          render = [&](std::string & into) {
        return llama_chat_apply_template(source.c_str(), chat.data(), chat.size(), inputs.add_generation_prompt, &into[0],
                                         static_cast<int32_t>(into.size()));
    };

    std::string prompt(256, '\0');
    int32_t     length = render(prompt);
    if (length > static_cast<int32_t>(prompt.size())) {
        prompt.resize(length);
        length = render(prompt);
    }
    if (length < 0) {
        throw std::runtime_error("this custom template is not supported, try using --jinja");
    }
    prompt.resize(length);
    common_chat_params result;
    result.prompt  = common_chat_prompt(prompt);
    result.grammar = inputs.json_schema.empty() ? inputs.grammar : json_schema_to_grammar(common_json::parse(inputs.json_schema));
    return result;
}

}  // namespace chatparse_llama

inline common_chat_templates_ptr common_chat_templates_init(const struct llama_model * model,
                                                            const std::string &        chat_template_override,
                                                            const std::string &        bos_token_override,
                                                            const std::string &        eos_token_override) {
    std::string source = chat_template_override;
    std::string tool_use;
    if (source.empty()) {
        GGML_ASSERT(model != nullptr);
        const char * own       = llama_model_chat_template(model, nullptr);
        const char * for_tools = llama_model_chat_template(model, "tool_use");
        source                 = own ? own : "";
        tool_use               = for_tools ? for_tools : "";
    }
    common_chat_templates_ptr tmpls(new common_chat_templates());
    tmpls->has_explicit_template = !source.empty() || !tool_use.empty();
    if (source.empty() || source == "chatml") {
        source = tool_use.empty() ? chatparse_llama::chatml() : tool_use;
    }

    std::string bos = bos_token_override;
    std::string eos = eos_token_override;
    if (model) {
        const llama_vocab * vocab = llama_model_get_vocab(model);
        bos            = chatparse_llama::special_token(vocab, llama_vocab_bos(vocab), "bos_token", source + tool_use);
        eos            = chatparse_llama::special_token(vocab, llama_vocab_eos(vocab), "eos_token", source + tool_use);
        tmpls->add_bos = llama_vocab_get_add_bos(vocab);
        tmpls->add_eos = llama_vocab_get_add_eos(vocab);
    }

    try {
        tmpls->template_default.reset(new common_chat_template(source, bos, eos));
    } catch (const std::exception & error) {
        LOG_ERR("%s: the chat template cannot be used: %s\n", __func__, error.what());
        LOG_ERR("%s: try --no-jinja, or another template\n", __func__);
        throw;
    }
    const auto add = [&](const std::string & text, const char * what, std::unique_ptr<common_chat_template> & into) {
        if (!text.empty()) {
            try {
                into.reset(new common_chat_template(text, bos, eos));
            } catch (const std::exception & error) {
                LOG_ERR("%s: the chat template for %s cannot be used, and is not: %s\n", "common_chat_templates_init", what, error.what());
            }
        }
    };
    add(tool_use, "tools", tmpls->template_tool_use);
    if (CHATPARSE_LLAMA >= CHATPARSE_LLAMA_0_8_0 && model) {
        const char * speech = llama_model_chat_template(model, "tts");
        add(speech ? speech : "", "speech", tmpls->template_tts);
    }
    return tmpls;
}

inline void common_chat_templates_free(struct common_chat_templates * tmpls) { delete tmpls; }

inline bool common_chat_templates_was_explicit(const struct common_chat_templates * tmpls) { return tmpls->has_explicit_template; }

inline std::string common_chat_templates_source(const struct common_chat_templates * tmpls, const std::string & variant) {
    if (variant == "tool_use") {
        return tmpls->template_tool_use ? tmpls->template_tool_use->source() : "";
    }
    return tmpls->template_default->source();
}

#if CHATPARSE_LLAMA >= CHATPARSE_LLAMA_0_8_0
inline common_json common_chat_templates_get_caps(const common_chat_templates * chat_templates) {
#else
inline std::map<std::string, bool> common_chat_templates_get_caps(const common_chat_templates * chat_templates) {
#endif
    GGML_ASSERT(chat_templates != nullptr);
    const auto & most = chat_templates->template_tool_use ? chat_templates->template_tool_use : chat_templates->template_default;
#if CHATPARSE_LLAMA >= CHATPARSE_LLAMA_0_8_0
    common_json caps                = most->caps.to_map();
    caps["reasoning_effort_levels"] = most->caps.reasoning_effort_levels;
    return caps;
#else
    return most->caps.to_map();
#endif
}

inline struct common_chat_params common_chat_templates_apply(const struct common_chat_templates *        tmpls,
                                                             const struct common_chat_templates_inputs & inputs) {
    GGML_ASSERT(tmpls != nullptr);
    return inputs.use_jinja ? chatparse_llama::apply_jinja(*tmpls, inputs) : chatparse_llama::apply_by_name(*tmpls, inputs);
}

inline bool common_chat_templates_support_enable_thinking(const common_chat_templates * chat_templates) {
    common_chat_templates_inputs inputs;
    inputs.reasoning_format = COMMON_REASONING_FORMAT_DEEPSEEK;
    inputs.messages.resize(1);
    inputs.messages[0].role    = "user";
    inputs.messages[0].content = "test";
    return common_chat_templates_apply(chat_templates, inputs).supports_thinking;
}

inline bool common_chat_verify_template(const std::string & tmpl, bool use_jinja) {
    if (!use_jinja) {
        const llama_chat_message message = { "user", "test" };
        return llama_chat_apply_template(tmpl.c_str(), &message, 1, /* add_ass = */ true, nullptr, 0) >= 0;
    }
    try {
        common_chat_templates_inputs inputs;
        inputs.messages.resize(1);
        inputs.messages[0].role    = "user";
        inputs.messages[0].content = "test";
        common_chat_templates_apply(common_chat_templates_init(nullptr, tmpl).get(), inputs);
        return true;
    } catch (const std::exception & error) {
        LOG_ERR("%s: %s\n", __func__, error.what());
        return false;
    }
}

inline std::string common_chat_format_single(const struct common_chat_templates * tmpls,
                                             const std::vector<common_chat_msg> & past_msg,
                                             const common_chat_msg &              new_msg,
                                             bool                                 add_ass,
                                             bool                                 use_jinja) {
    common_chat_templates_inputs inputs;
    inputs.use_jinja = use_jinja;
    inputs.messages  = past_msg;

    std::string past;
    if (!past_msg.empty()) {
        inputs.add_generation_prompt = false;
        past                         = chatparse_llama::text_of(common_chat_templates_apply(tmpls, inputs).prompt);
    }
    inputs.messages.push_back(new_msg);
    inputs.add_generation_prompt = add_ass;
    const std::string added      = chatparse_llama::text_of(common_chat_templates_apply(tmpls, inputs).prompt).substr(past.size());
    // The line break behind the model's last turn: the model has not written it.
    return add_ass && !past.empty() && past.back() == '\n' ? "\n" + added : added;
}

inline std::string common_chat_format_example(const struct common_chat_templates *       tmpls,
                                              bool                                       use_jinja,
                                              const std::map<std::string, std::string> & chat_template_kwargs) {
    static const char * const turns[][2] = {
        { "system", "You are a helpful assistant" },
        { "user", "Hello" },
        { "assistant", "Hi there" },
        { "user", "How are you?" },
    };
    common_chat_templates_inputs inputs;
    inputs.use_jinja            = use_jinja;
    inputs.chat_template_kwargs = chat_template_kwargs;
    for (const auto & turn : turns) {
        common_chat_msg message;
        message.role    = turn[0];
        message.content = turn[1];
        inputs.messages.push_back(message);
    }
    return chatparse_llama::text_of(common_chat_templates_apply(tmpls, inputs).prompt);
}

inline common_chat_prompt_preset common_chat_get_asr_prompt(const common_chat_templates * chat_templates, const std::string & language) {
    common_chat_prompt_preset preset;
    const std::string source = chat_templates ? common_chat_templates_source(chat_templates) : "";
    const auto        has    = [&](const char * text) { return source.find(text) != std::string::npos; };
    if (has("<|tool_list_start|>") && has("<|tool_list_end|>")) {
        // LFM2 models are told in the system prompt.
        preset.system = "Perform ASR.";
    } else if (CHATPARSE_LLAMA >= CHATPARSE_LLAMA_0_8_0 && has("<additional_tools>")) {
        // So are LFM3's, with the language by its name.
        static const std::map<std::string, const char *> names = {
            { "ar", "Arabic" },   { "da", "Danish" },   { "de", "German" },     { "el", "Greek" },   { "en", "English" },
            { "es", "Spanish" },  { "fi", "Finnish" },  { "fr", "French" },     { "he", "Hebrew" },  { "it", "Italian" },
            { "ja", "Japanese" }, { "ko", "Korean" },   { "nl", "Dutch" },      { "pl", "Polish" },  { "pt", "Portuguese" },
            { "sv", "Swedish" },  { "tr", "Turkish" },  { "zh", "Chinese" },
        };
        std::string code = language;
        for (char & c : code) {
            c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        }
        const auto name     = names.find(code);
        preset.system       = language.empty() ? "Perform ASR." : "Perform ASR in " + (name != names.end() ? name->second : language) + ".";
        preset.has_language = true;
    } else {
        preset.user = "Transcribe audio to text";
    }
    return preset;
}

#if CHATPARSE_LLAMA >= CHATPARSE_LLAMA_0_8_0
inline std::string common_chat_get_tts_prompt(const common_chat_templates * chat_templates,
                                              const std::string &           text,
                                              const std::string &           language,
                                              const std::string &           voice) {
    if (!chat_templates || !chat_templates->template_tts) {
        return "";
    }
    common_json message;
    message["role"]    = "user";
    message["content"] = text;
    common_json variables;
    variables["language"] = language;
    variables["voice"]    = voice;
    common_json request;
    request["messages"]              = common_json::array();
    request["messages"].push_back(message);
    request["chat_template_kwargs"]  = variables;
    request["add_generation_prompt"] = false;
    const auto params = chatparse_llama::params_of(*chat_templates->template_tts, chatparse_llama::dump_safe(request));
    return chatparse_llama::to_string(chat_params_view(params.get())->prompt);
}
#endif
