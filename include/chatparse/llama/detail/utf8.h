// Bytes that are no UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// So many bytes that one U+FFFD stands for.
struct common_peg_invalid_utf8 {
    size_t pos;
    size_t len;
};

namespace chatparse_llama {

// The length of the character at `at`; not `valid`: of what has begun as one, at least a byte.
inline size_t character(std::string_view text, size_t at, bool & valid) {
    const auto byte = [&](size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
    const unsigned first  = byte(0);
    const size_t   length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    unsigned       lowest  = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;  // of the second byte
    unsigned       highest = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    for (size_t i = 1; i < length; i++) {
        if (byte(i) < lowest || byte(i) > highest) {
            valid = false;
            return i;
        }
        lowest  = 0x80;
        highest = 0xBF;
    }
    valid = length > 0;
    return valid ? length : 1;
}

// What is no UTF-8 in the text from `begin` to `end`, in its order.
inline std::vector<common_peg_invalid_utf8> invalid_utf8(std::string_view text, size_t begin, size_t end) {
    std::vector<common_peg_invalid_utf8> found;
    for (size_t at = begin; at < end;) {
        bool         valid  = true;
        const size_t length = character(text.substr(0, end), at, valid);
        if (!valid) {
            found.push_back({ at, length });
        }
        at += length;
    }
    return found;
}

// The text, with U+FFFD for what is no UTF-8.
inline std::string sanitized(std::string_view text) {
    std::string out;
    size_t      copied = 0;
    for (const auto & run : invalid_utf8(text, 0, text.size())) {
        out.append(text, copied, run.pos - copied);
        out += "\xEF\xBF\xBD";
        copied = run.pos + run.len;
    }
    return out.append(text, copied, std::string_view::npos);
}

}  // namespace chatparse_llama
