// The numbers of a llama.cpp, of which there may be none.
#pragma once

#define LLAMA_SESSION_VERSION SESSION
#define LLAMA_STATE_SEQ_VERSION 4
