// Which llama.cpp the headers stand in for. Its own headers tell: the numbers of its state files change with its versions.
// Where they do not, e.g. as a tree lies between two versions, CHATPARSE_LLAMA_VERSION says it: B10587, 0_5_0, 0_6_0 or IK, in all
// sources alike. A version that is none of them is an error, as its classes may be others.
#pragma once

#include "llama.h"

#include <string>

// In the order in which their chat layers came to be.
#define CHATPARSE_LLAMA_IK     1  // ik_llama.cpp, whose chat layer has nlohmann's JSON
#define CHATPARSE_LLAMA_B10587 2  // llama.cpp's master at build 10587, 0.2.0
#define CHATPARSE_LLAMA_0_5_0  3
#define CHATPARSE_LLAMA_0_6_0  4

#define CHATPARSE_LLAMA_JOIN(version) CHATPARSE_LLAMA_##version
#define CHATPARSE_LLAMA_NAMED(version) CHATPARSE_LLAMA_JOIN(version)
#define CHATPARSE_LLAMA_QUOTE(text) #text
#define CHATPARSE_LLAMA_TEXT(text) CHATPARSE_LLAMA_QUOTE(text)

#ifdef CHATPARSE_LLAMA_VERSION
#    define CHATPARSE_LLAMA CHATPARSE_LLAMA_NAMED(CHATPARSE_LLAMA_VERSION)
#    if CHATPARSE_LLAMA == 0
#        pragma message("chatparse: CHATPARSE_LLAMA_VERSION is " CHATPARSE_LLAMA_TEXT(CHATPARSE_LLAMA_VERSION))
#        error "CHATPARSE_LLAMA_VERSION is none of B10587, 0_5_0, 0_6_0, IK"
#    endif
#elif defined(LLAMA_SERVER_MAGIC) && LLAMA_SESSION_VERSION == 10 && LLAMA_STATE_SEQ_VERSION == 4
#    define CHATPARSE_LLAMA CHATPARSE_LLAMA_IK
#elif !__has_include("json.h")
#    error "this llama.cpp is older than b10587: it has no common/json.h"
#elif LLAMA_SESSION_VERSION == 9 && LLAMA_STATE_SEQ_VERSION == 2
#    define CHATPARSE_LLAMA CHATPARSE_LLAMA_B10587
#elif LLAMA_SESSION_VERSION == 10 && LLAMA_STATE_SEQ_VERSION == 3
#    define CHATPARSE_LLAMA CHATPARSE_LLAMA_0_5_0
#elif LLAMA_SESSION_VERSION == 11 && LLAMA_STATE_SEQ_VERSION == 4
#    define CHATPARSE_LLAMA CHATPARSE_LLAMA_0_6_0
#else
#    pragma message("chatparse: llama.cpp has LLAMA_SESSION_VERSION " CHATPARSE_LLAMA_TEXT( \
        LLAMA_SESSION_VERSION) " and LLAMA_STATE_SEQ_VERSION " CHATPARSE_LLAMA_TEXT(LLAMA_STATE_SEQ_VERSION))
#    error "this llama.cpp is none of b10587 (9, 2), 0.5.0 (10, 3), 0.6.0 (11, 4), ik_llama.cpp; CHATPARSE_LLAMA_VERSION can name the nearest"
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
