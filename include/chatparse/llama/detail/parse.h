// Outputs to messages.
#pragma once

#include "log.h"

namespace chatparse_llama {

struct free_stream {
    void operator()(chat_stream * stream) const { chat_stream_free(stream); }
};

// What is unusual about an output: warnings where it does not fit its format, else for who debugs. A log is not filled by one output.
inline void log_diagnostics(const chat_message * message, bool warn) {
    constexpr size_t MOST = 20;
    const auto diagnostics = chat_message_report(message)->diagnostics;
    for (const chat_diagnostic & found : items(chat_diagnostic_list{ diagnostics.data, std::min(diagnostics.len, MOST) })) {
        const std::string text = sanitized(to_string(found.message));
        if (warn) {
            LOG_WRN("%s: byte %zu of the output: %s\n", __func__, found.span_begin, text.c_str());
        } else {
            LOG_DBG("%s: byte %zu of the output: %s\n", __func__, found.span_begin, text.c_str());
        }
    }
}

// Whether an output ends inside of its reasoning or of a call. For llama.cpp it is whole.
inline bool ends_inside(const chat_message * message) {
    bool ends = false;
    for (const chat_diagnostic & found : items(chat_message_report(message)->diagnostics)) {
        ends = ends || found.kind == CHAT_DIAGNOSTIC_KIND_UNFINISHED_REASONING || found.kind == CHAT_DIAGNOSTIC_KIND_UNFINISHED_CALL;
    }
    return ends && chat_message_view(message)->outcome == CHAT_OUTCOME_PARTIAL;
}

// Where an output has special tokens.
struct token_spans {
    std::vector<chat_span> spans;
    bool                   known = false;  // otherwise nobody knows which tokens it is of
};

// A stream with all that it was given and has told: what the next text is compared with and added to.
class live_parse {
    std::unique_ptr<chat_stream, free_stream> stream_;
    std::string                               read_;
    common_chat_msg                           message_;

    // Where a call would be in the content, and where the text or the call after it begins in the output.
    struct place {
        size_t content;
        size_t end;
    };
    std::vector<place> places_;
    size_t             shown_ = 0;  // so many calls are with the caller

    void add(const chat_delta & delta) {
        const bool is_text = delta.kind == CHAT_DELTA_KIND_REASONING || delta.kind == CHAT_DELTA_KIND_CONTENT;
        if ((is_text || delta.call == places_.size()) && !places_.empty()) {
            places_.back().end = std::min(places_.back().end, delta.span_begin);
        }
        if (delta.kind == CHAT_DELTA_KIND_REASONING) {
            message_.reasoning_content.append(delta.text.data, delta.text.len);
        } else if (delta.kind == CHAT_DELTA_KIND_CONTENT) {
            message_.content.append(delta.text.data, delta.text.len);
        } else {
            while (message_.tool_calls.size() <= delta.call) {
                message_.tool_calls.emplace_back();
                places_.push_back({ message_.content.size(), std::string::npos });
            }
            auto & call = message_.tool_calls[delta.call];
            if (delta.kind == CHAT_DELTA_KIND_TOOL_NAME) {
                call.name.append(delta.text.data, delta.text.len);
            } else if (delta.kind == CHAT_DELTA_KIND_TOOL_ID) {
                call.id.append(delta.text.data, delta.text.len);
            } else if (delta.kind == CHAT_DELTA_KIND_TOOL_ARGUMENTS) {
                call.arguments.append(delta.text.data, delta.text.len);
            }
        }
    }

    void add_deltas() {
        for (const chat_delta & delta : items(chat_stream_view(stream_.get())->deltas)) {
            add(delta);
        }
    }

    // An output that left its format: calls without an end become text, as the arguments of a call that a client gets are to be
    // JSON. The caller has those that were shown, and cannot give them back.
    void judge_calls(const chat_message * handle) {
        std::vector<common_chat_tool_call> whole;
        size_t added = 0;  // to the content
        size_t taken = 0;  // of the output, up to here
        for (size_t i = 0; i < message_.tool_calls.size(); i++) {
            if (chat_message_report(handle)->calls.data[i].complete || i < shown_) {
                whole.push_back(std::move(message_.tool_calls[i]));
                continue;
            }
            const std::string text = sanitized(written(handle, i, taken));
            message_.content.insert(places_[i].content + added, text);
            added += text.size();
        }
        message_.tool_calls = std::move(whole);
    }

    // A call without an end, as the model wrote it, with the markup around it.
    std::string written(const chat_message * handle, size_t call, size_t & taken) const {
        for (const chat_diagnostic & found : items(chat_message_report(handle)->diagnostics)) {
            if (found.kind == CHAT_DIAGNOSTIC_KIND_UNFINISHED_CALL && found.call == call) {
                const size_t begin = std::min(std::max(found.span_begin, taken), read_.size());
                taken = std::max({ begin, found.span_end, std::min(places_[call].end, read_.size()) });
                return read_.substr(begin, taken - begin);
            }
        }
        return {};
    }

  public:
    live_parse() = default;

    explicit live_parse(const chat_parser * parser) {
        chat_stream * stream = nullptr;
        chat_error *  error  = nullptr;
        check(chat_stream_from_parser(parser, &stream, &error), error);
        stream_.reset(stream);
        message_.role = "assistant";
    }

    // A copy goes on by itself.
    live_parse(const live_parse & other) :
        read_(other.read_), message_(other.message_), places_(other.places_), shown_(other.shown_) {
        if (other.stream_) {
            chat_stream * stream = nullptr;
            chat_error *  error  = nullptr;
            check(chat_stream_clone(other.stream_.get(), &stream, &error), error);
            stream_.reset(stream);
        }
    }
    live_parse(live_parse &&) = default;
    live_parse & operator=(live_parse other) {
        std::swap(stream_, other.stream_);
        std::swap(read_, other.read_);
        std::swap(message_, other.message_);
        std::swap(places_, other.places_);
        std::swap(shown_, other.shown_);
        return *this;
    }

    // Without a parser.
    bool is_empty() const { return !stream_; }

    const common_chat_msg & message() const { return message_; }

    // Tells the stream the texts of special tokens, before anything else. False if there are none.
    bool know_tokens(const std::vector<std::string> & texts) {
        if (texts.empty()) {
            return false;
        }
        const auto   list  = views(texts);
        chat_error * error = nullptr;
        check(chat_stream_set_special_tokens(stream_.get(), list.data(), list.size(), &error), error);
        return true;
    }

    // Reads what follows.
    const common_chat_msg & feed(const std::string & piece, const token_spans & tokens = {}) {
        chat_error * error = nullptr;
        check(tokens.known ? chat_stream_feed_marked(stream_.get(), piece.data(), piece.size(), tokens.spans.data(), tokens.spans.size(), &error) :
                             chat_stream_feed(stream_.get(), piece.data(), piece.size(), &error),
              error);
        add_deltas();
        read_ += piece;
        return message_;
    }

    // Whether the stream can go on to this text from where it is.
    bool leads_to(const std::string & text) const { return text.compare(0, read_.size(), read_) == 0; }

    // Reads up to the end of this text, which it leads to.
    const common_chat_msg & read(const std::string & text) { return feed(text.substr(read_.size())); }

    // The caller has what there is.
    void show() { shown_ = message_.tool_calls.size(); }

    // What the model meant, now that it has ended; it is good for nothing else then.
    common_chat_msg finish(common_chat_format format) {
#ifdef CHATPARSE_STRICT
        const uint32_t flags = CHAT_PARSE_STRICT;
#else
        const uint32_t flags = 0;
#endif
        chat_error *      error  = nullptr;
        const chat_status status = chat_stream_finish(stream_.get(), flags, &error);
        std::string       why;
        if (status == CHAT_STATUS_PARSE) {
            why = to_string(chat_error_message(error));
            chat_error_free(error);
            error = nullptr;
        } else {
            check(status, error);
        }
        chat_message * handle = nullptr;
        check(chat_stream_message(stream_.get(), &handle, &error), error);
        const std::unique_ptr<chat_message, void (*)(chat_message *)> message(handle, chat_message_free);
        if (status == CHAT_STATUS_PARSE && !ends_inside(handle)) {
            throw std::runtime_error("The model produced output that does not match the expected " +
                                     std::string(common_chat_format_name(format)) + " format: " + why);
        }
        add_deltas();
        const bool left_format = chat_stream_view(stream_.get())->outcome == CHAT_OUTCOME_RECOVERED;
        log_diagnostics(handle, left_format);
        if (left_format) {
            judge_calls(handle);
        }
        return std::move(message_);
    }
};

inline const std::string & text_of(const std::string & text) { return text; }
#if CHATPARSE_LLAMA >= CHATPARSE_LLAMA_B11549
inline const std::string & text_of(const common_chat_input & input) { return input.text; }
#endif
#if CHATPARSE_LLAMA >= CHATPARSE_LLAMA_0_8_0
inline std::string text_of(const common_chat_prompt & prompt) { return prompt.str(); }
#endif

}  // namespace chatparse_llama

inline common_chat_msg common_chat_peg_parse(const common_peg_arena &          src_parser,
                                             const common_chat_input &         input,
                                             bool                              is_partial,
                                             const common_chat_parser_params & params) {
    const std::string & text = chatparse_llama::text_of(input);
    if (src_parser.empty()) {
        common_chat_msg message;
        message.role    = "assistant";
        message.content = chatparse_llama::text_of(params.generation_prompt) + text;
        return message;
    }
    // Taken out while it is in use: another thread that comes by with the same params finds nothing, and begins anew.
    std::shared_ptr<void> & place = src_parser.attachment();
    auto live = std::static_pointer_cast<chatparse_llama::live_parse>(std::atomic_exchange(&place, std::shared_ptr<void>()));
    if (!live || !live->leads_to(text)) {
        live = std::make_shared<chatparse_llama::live_parse>(src_parser.handle());
    }
    const common_chat_msg & so_far = live->read(text);
    if (!is_partial) {
        return live->finish(params.format);
    }
    common_chat_msg message = so_far;
    live->show();
    std::atomic_store(&place, std::shared_ptr<void>(std::move(live)));
    return message;
}

inline common_chat_msg common_chat_parse(const common_chat_input & input, bool is_partial, const common_chat_parser_params & params) {
    return common_chat_peg_parse(params.parser, input, is_partial, params);
}
