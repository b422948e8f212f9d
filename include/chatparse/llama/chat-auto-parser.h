// llama.cpp's common/chat-auto-parser.h, for sources that include it without using it. What a template shows is learnt inside of
// chatparse; `chatparse inspect` tells what, and how.
#pragma once

#include "chat.h"
