// As much of a model as templates ask for.
#pragma once

#include "llama.h"

struct llama_vocab {
    bool has_bos;
    bool add_bos;
    bool add_eos;
};

struct llama_model {
    llama_vocab  vocab;
    const char * chat_template;  // may be NULL
    const char * tool_use;       // may be NULL
    const char * tts = nullptr;
};

// The only token besides those at the ends that is no byte: `</think>`.
constexpr llama_token THINK_END = 1003;

// How often something was logged at this level.
int logged(ggml_log_level level);
