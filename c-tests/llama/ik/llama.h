// The library's header with what tells ik_llama.cpp from others.
#pragma once

#include_next "llama.h"

#define LLAMA_SERVER_MAGIC 1
#undef LLAMA_SESSION_VERSION
#define LLAMA_SESSION_VERSION 10
#undef LLAMA_STATE_SEQ_VERSION
#define LLAMA_STATE_SEQ_VERSION 4
