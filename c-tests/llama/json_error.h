// What a tree throws for a text that is no JSON.
#pragma once

#include "chat.h"

#if CHATPARSE_LLAMA == CHATPARSE_LLAMA_IK
using json_error = nlohmann::detail::parse_error;
#else
using json_error = common_json_error;
#endif
