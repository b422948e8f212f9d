// llama.cpp's common/jinja/lexer.h, on chatparse, as far as its chat layer shows it to others.
#pragma once

#include <string>

namespace jinja {

struct lexer_result {
    std::string source;
};

// There is nothing to do yet: chatparse compiles a template in one go. See parse_from_tokens.
struct lexer {
    lexer_result tokenize(const std::string & source) { return { source }; }
};

}  // namespace jinja
