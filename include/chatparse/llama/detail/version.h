// Which llama.cpp the headers stand in for. CHATPARSE_LLAMA_VERSION says it, in all sources alike: cmake/llama/replace.sh reads it from
// the tree that it changes, and common/CMakeLists.txt hands it on. Without it, the headers that llama.cpp keeps tell, where they
// can. A version that is not known is an error, as its classes may be others.
#pragma once

#include "llama.h"

#include <string>

// In the order in which their chat layers came to be.
#define CHATPARSE_LLAMA_IK     1  // ik_llama.cpp, whose chat layer has nlohmann's JSON
#define CHATPARSE_LLAMA_0_6_0  2
#define CHATPARSE_LLAMA_B11549 3  // llama.cpp's master at build 11549: the session, inputs with tokens
#define CHATPARSE_LLAMA_0_8_0  4  // b12032: prompts in parts

#define CHATPARSE_LLAMA_JOIN(version) CHATPARSE_LLAMA_##version
#define CHATPARSE_LLAMA_NAMED(version) CHATPARSE_LLAMA_JOIN(version)
#define CHATPARSE_LLAMA_QUOTE(text) #text
#define CHATPARSE_LLAMA_TEXT(text) CHATPARSE_LLAMA_QUOTE(text)

#ifdef CHATPARSE_LLAMA_VERSION
#    define CHATPARSE_LLAMA CHATPARSE_LLAMA_NAMED(CHATPARSE_LLAMA_VERSION)
#    if CHATPARSE_LLAMA == 0
#        pragma message("chatparse: CHATPARSE_LLAMA_VERSION is " CHATPARSE_LLAMA_TEXT(CHATPARSE_LLAMA_VERSION))
#        error "CHATPARSE_LLAMA_VERSION is none of 0_6_0, B11549, 0_8_0, IK"
#    endif
#elif defined(LLAMA_SERVER_MAGIC)
#    define CHATPARSE_LLAMA CHATPARSE_LLAMA_IK
#elif __has_include("file-lock.h") && LLAMA_SESSION_VERSION == 11 && LLAMA_STATE_SEQ_VERSION == 4
#    define CHATPARSE_LLAMA CHATPARSE_LLAMA_0_8_0
#else
#    pragma message("chatparse: llama.cpp has LLAMA_SESSION_VERSION " CHATPARSE_LLAMA_TEXT( \
        LLAMA_SESSION_VERSION) " and LLAMA_STATE_SEQ_VERSION " CHATPARSE_LLAMA_TEXT(LLAMA_STATE_SEQ_VERSION))
#    error "the headers of this llama.cpp do not tell its version: define CHATPARSE_LLAMA_VERSION as 0_6_0, B11549, 0_8_0 or IK, or use replace.sh"
#endif

// The tree's JSON, by the name that llama.cpp has for it.
#if CHATPARSE_LLAMA == CHATPARSE_LLAMA_IK
#    include <nlohmann/json.hpp>
using common_json = nlohmann::ordered_json;
#else
#    include "json.h"
#endif

namespace chatparse_llama {

// JSON as text; what is no UTF-8 in it becomes U+FFFD.
inline std::string dump_safe(const common_json & json) {
#if CHATPARSE_LLAMA == CHATPARSE_LLAMA_IK
    return json.dump(-1, ' ', false, common_json::error_handler_t::replace);
#else
    return json.dump_safe();
#endif
}

}  // namespace chatparse_llama
