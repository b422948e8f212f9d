// The tool that tests offer.
#pragma once

#include "chat.h"

static const common_chat_tool weather = {
    "weather", "Tells it", R"({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})"
};
