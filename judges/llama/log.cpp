// In place of llama.cpp's log, which has a thread: what the tests say, at once, with the last of each level for chat.cpp.
#include "log.h"

#include <cstdarg>
#include <cstdlib>
#include <string>

std::string last_logged[16];

int          common_log_get_verbosity_thold() { return LOG_LEVEL_INFO; }
void         common_log_set_verbosity_thold(int) {}
bool         common_log_get_jsonl() { return false; }
common_log * common_log_main() { return nullptr; }
void         common_log_flush(common_log *) {}

void common_log_add(common_log *, ggml_log_level level, const char * format, ...) {
    char    text[4096];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    last_logged[level] = text;
    fputs(text, stderr);
}

[[noreturn]] void ggml_abort(const char * file, int line, const char *, ...) {
    fprintf(stderr, "%s:%d: aborted\n", file, line);
    abort();
}
