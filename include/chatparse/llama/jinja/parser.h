// llama.cpp's common/jinja/parser.h, on chatparse.
#pragma once

#include "../peg-parser.h"
#include "lexer.h"

#include <chatparse.h>

#include <memory>
#include <string>

namespace jinja {

// A compiled template. Copies share it; it may be used by several threads at once.
class program {
    std::shared_ptr<const chat_template> chat_;

  public:
    program() = default;

    // std::runtime_error where the template does not parse.
    program(const std::string & source, const std::string & bos, const std::string & eos) {
        chat_template * chat  = nullptr;
        chat_error *    error = nullptr;
        chatparse_llama::check(
            chat_template_new(source.data(), source.size(), bos.data(), bos.size(), eos.data(), eos.size(), &chat, &error), error);
        chat_.reset(chat, [](const chat_template * t) { chat_template_free(const_cast<chat_template *>(t)); });
    }

    // For calls of chatparse.h; NULL where there is no template.
    const chat_template * handle() const { return chat_.get(); }

    std::string source() const { return chatparse_llama::to_string(chat_template_source(chat_.get())); }
};

inline program parse_from_tokens(const lexer_result & tokens) { return program(tokens.source, "", ""); }

}  // namespace jinja
