// Inputs with tokens, prompts in parts, and the session: one request and its answer, from b11549 on.
#pragma once

#include "sampling.h"

inline void common_chat_input::append(const std::string & piece, llama_token token) {
    if (!piece.empty()) {
        text += piece;
        tokens.push_back(token);
        tokens.resize(text.size(), LLAMA_TOKEN_NULL);
    }
}

inline void common_chat_input::append(const common_chat_input & chunk) {
    text += chunk.text;
    tokens.insert(tokens.end(), chunk.tokens.begin(), chunk.tokens.end());
}

inline void common_chat_input::prepend(const std::string & prefix) { prepend(common_chat_input(prefix)); }

inline void common_chat_input::prepend(const common_chat_input & prefix) {
    text.insert(0, prefix.text);
    tokens.insert(tokens.begin(), prefix.tokens.begin(), prefix.tokens.end());
}

inline void common_chat_input::truncate(size_t pos) {
    if (pos < text.size()) {
        text.resize(pos);
        tokens.resize(pos);
    }
}

inline common_chat_input common_chat_input::substr(size_t pos, size_t n) const {
    common_chat_input part;
    part.text = text.substr(pos, n);
    part.tokens.assign(tokens.begin() + pos, tokens.begin() + pos + part.size());
    return part;
}

inline common_chat_input common_chat_input_tokenize(const llama_vocab * vocab, const std::string & text) {
    const auto is_space = [](const std::string & of) { return !of.empty() && std::isspace(static_cast<unsigned char>(of[0])); };
    const auto tokens   = common_tokenize(vocab, text, /* add_special = */ false, /* parse_special = */ true);

    common_chat_input input;
    for (size_t i = 0; i < tokens.size(); i++) {
        const std::string piece = common_token_to_piece(vocab, tokens[i], /* special = */ true);
        // Some tokenizers put a space in front.
        if (i > 0 || !is_space(piece) || is_space(text)) {
            input.append(piece, tokens[i]);
        }
    }
    return input.text == text ? input : common_chat_input(text);
}

#if CHATPARSE_LLAMA >= CHATPARSE_LLAMA_0_8_0
inline std::string common_chat_prompt::str() const {
    std::string text;
    for (const auto & part : parts) {
        text += part.text;
    }
    return text;
}

inline void common_chat_prompt::append(const std::string & text, bool is_input) {
    if (text.empty()) {
        return;
    }
    if (parts.empty() || parts.back().is_input != is_input) {
        parts.push_back({ "", is_input });
    }
    parts.back().text += text;
}

inline void common_chat_prompt::replace_last(const std::string & from, const std::string & to) {
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        const size_t at = part->is_input ? std::string::npos : part->text.rfind(from);
        if (at != std::string::npos) {
            part->text.replace(at, from.size(), to);
            return;
        }
    }
}
#endif

struct common_chat_session_params {
    bool echo   = false;  // whether what a continued message begins with is in the output, too
    bool debug  = false;  // not read here
    // chatparse's own: a marker that is a control token of the vocabulary counts only where the model wrote that token, so that it may
    // quote the marker as text. Chunks without tokens are read as texts.
    bool marked = true;
};

// What a request needs and what became of its answer. Each piece that is fed costs what is new in it. A copy goes on by itself.
class common_chat_session {
  public:
    common_chat_session() { result_.role = "assistant"; }

    // Throws as common_chat_templates_apply does. The vocabulary may be NULL: then there are no tokens.
    common_chat_session(const common_chat_templates *        tmpls,
                        const llama_vocab *                  vocab,
                        const common_chat_templates_inputs & inputs,
                        const common_chat_session_params &   params = {}) :
        common_chat_session() {
        applied_   = common_chat_templates_apply(tmpls, inputs);
        templated_ = true;
        if (vocab) {
            common_params_sampling resolved;
            resolved.grammar_lazy = applied_.grammar_lazy;
            common_sampling_add_preserved_tokens(resolved, vocab, applied_.preserved_tokens);
            common_sampling_add_grammar_triggers(resolved, vocab, applied_.grammar_triggers);
            preserved_                = std::move(resolved.preserved_tokens);
            applied_.grammar_triggers = std::move(resolved.grammar_triggers);
            applied_.message_delimiters.tokenize(vocab);
        }
        if (!applied_.parser.empty()) {
            live_ = chatparse_llama::live_parse(applied_.parser.handle());
            if (vocab && params.marked && live_.know_tokens(special_tokens(vocab))) {
                vocab_ = vocab;
            }
        }
        if (inputs.continue_final_message != COMMON_CHAT_CONTINUATION_NONE && !params.echo) {
            feed({});
        }
    }

    const common_chat_prompt & prompt() const { return applied_.prompt; }
    common_chat_format         format() const { return applied_.format; }
    const common_chat_msg &    msg() const { return live_.is_empty() || finished_ ? result_ : live_.message(); }
    const common_peg_arena &   parser() const { return applied_.parser; }

    const std::string &              grammar() const { return applied_.grammar; }
    const std::string &              generation_prompt() const { return applied_.generation_prompt; }
    const std::string &              thinking_start_tag() const { return applied_.thinking_start_tag; }
    const std::vector<std::string> & thinking_end_tags() const { return applied_.thinking_end_tags; }
    const std::vector<std::string> & additional_stops() const { return applied_.additional_stops; }

    const common_chat_msg_delimiters & message_delimiters() const { return applied_.message_delimiters; }

    // Adds what the request asks of the sampler.
    void apply_sampling(common_params_sampling & sampling) const {
        if (!templated_) {
            return;
        }
        if (!applied_.grammar.empty()) {
            sampling.grammar = { COMMON_GRAMMAR_TYPE_TOOL_CALLS, applied_.grammar };
        }
        sampling.grammar_lazy      = applied_.grammar_lazy;
        sampling.generation_prompt = applied_.generation_prompt;
        sampling.preserved_tokens.insert(preserved_.begin(), preserved_.end());
        sampling.grammar_triggers.insert(sampling.grammar_triggers.end(), applied_.grammar_triggers.begin(),
                                         applied_.grammar_triggers.end());
    }

    bool has_template() const { return templated_; }

    // The message so far.
    const common_chat_msg & feed(const common_chat_input & chunk) {
        read(chunk);
        live_.show();
        return msg();
    }

    // The whole message.
    const common_chat_msg & finish(const common_chat_input & chunk = {}) {
        // What comes with the end is not with the caller before the end.
        read(chunk);
        if (!live_.is_empty()) {
            result_ = live_.finish(applied_.format);
        }
        finished_ = true;
        return result_;
    }

  private:
    common_chat_params          applied_;
    std::set<llama_token>       preserved_;
    chatparse_llama::live_parse live_;
    const llama_vocab *         vocab_ = nullptr;  // if control tokens are told apart
    common_chat_msg             result_;
    bool                        templated_ = false;
    bool                        finished_  = false;

    void read(const common_chat_input & chunk) {
        GGML_ASSERT(!finished_ && "a session that is finished goes on");
        if (live_.is_empty()) {
            result_.content += chunk.text;
        } else {
            live_.feed(chunk.text, control_tokens(chunk));
        }
    }

    // The texts of the format that are one control token each.
    std::vector<std::string> special_tokens(const llama_vocab * vocab) const {
        std::set<std::string> texts(applied_.preserved_tokens.begin(), applied_.preserved_tokens.end());
        texts.insert(applied_.additional_stops.begin(), applied_.additional_stops.end());
        texts.insert(applied_.thinking_end_tags.begin(), applied_.thinking_end_tags.end());
        texts.insert(applied_.thinking_start_tag);
        std::vector<std::string> special;
        for (const auto & text : texts) {
            const auto tokens = common_tokenize(vocab, text, /* add_special = */ false, /* parse_special = */ true);
            if (tokens.size() == 1 && llama_vocab_is_control(vocab, tokens[0])) {
                special.push_back(text);
            }
        }
        return special;
    }

    // Where the control tokens of a chunk are.
    chatparse_llama::token_spans control_tokens(const common_chat_input & chunk) const {
        chatparse_llama::token_spans found;
        if (!vocab_) {
            return found;
        }
        bool is_open = false;
        for (size_t i = 0; i < chunk.tokens.size(); i++) {
            if (chunk.tokens[i] == LLAMA_TOKEN_NULL) {
                continue;
            }
            found.known = true;
            if (is_open) {
                found.spans.back().end = i;
            }
            is_open = llama_vocab_is_control(vocab_, chunk.tokens[i]);
            if (is_open) {
                found.spans.push_back({ i, chunk.size() });
            }
        }
        return found;
    }
};
