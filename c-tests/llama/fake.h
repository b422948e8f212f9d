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
};

// How often something was logged at this level.
int logged(ggml_log_level level);
