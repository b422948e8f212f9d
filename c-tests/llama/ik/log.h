// The log without the class of JSON that it declares: ik_llama.cpp has nlohmann's, and the headers call that common_json.
#pragma once

#define common_json common_json_of_the_log
#include_next "log.h"
#undef common_json
