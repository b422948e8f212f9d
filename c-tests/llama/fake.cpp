// What the headers call of llama.cpp, so that the tests need not link it. Tokens of a text are its bytes.
#include "fake.h"

#include "common.h"
#include "log.h"

#include <cstdarg>
#include <cstdlib>
#include <cstring>

static constexpr llama_token BOS = 1001, EOS = 1002;
static constexpr char        THINK_END_TEXT[] = "</think>";
static int counts[16];

int logged(ggml_log_level level) { return counts[level]; }

const char * llama_model_chat_template(const llama_model * model, const char * name) {
    if (!name) {
        return model->chat_template;
    }
    return strcmp(name, "tool_use") == 0 ? model->tool_use : strcmp(name, "tts") == 0 ? model->tts : nullptr;
}
const llama_vocab * llama_model_get_vocab(const llama_model * model) { return &model->vocab; }
llama_token llama_vocab_bos(const llama_vocab * vocab) { return vocab->has_bos ? BOS : LLAMA_TOKEN_NULL; }
llama_token llama_vocab_eos(const llama_vocab *) { return EOS; }
bool llama_vocab_get_add_bos(const llama_vocab * vocab) { return vocab->add_bos; }
bool llama_vocab_get_add_eos(const llama_vocab * vocab) { return vocab->add_eos; }

std::string common_token_to_piece(const llama_vocab *, llama_token token, bool special) {
    return !special ? "" : token == BOS ? "<s>" : token == EOS ? "</s>" : token == THINK_END ? THINK_END_TEXT : std::string(1, static_cast<char>(token));
}

std::vector<llama_token> common_tokenize(const llama_vocab *, const std::string & text, bool add_special, bool parse_special) {
    if (add_special || !parse_special) {
        abort();
    }
    if (text == THINK_END_TEXT) {
        return { THINK_END };
    }
    return { text.begin(), text.end() };
}
bool llama_vocab_is_control(const llama_vocab *, llama_token token) { return token >= BOS; }

void common_sampling_add_preserved_tokens(common_params_sampling & sampling, const llama_vocab * vocab, const std::vector<std::string> & tokens) {
    for (const auto & text : tokens) {
        const auto ids = common_tokenize(vocab, text, false, true);
        if (ids.size() == 1) {
            sampling.preserved_tokens.insert(ids[0]);
        }
    }
}
void common_sampling_add_grammar_triggers(common_params_sampling & sampling, const llama_vocab *, std::vector<common_grammar_trigger> triggers) {
    sampling.grammar_triggers = std::move(triggers);
}

// Knows the template that is called "plain".
int32_t llama_chat_apply_template(const char * tmpl, const llama_chat_message * chat, size_t n_msg, bool add_ass, char * buf, int32_t length) {
    if (strcmp(tmpl, "plain") != 0) {
        return -1;
    }
    std::string text;
    for (size_t i = 0; i < n_msg; i++) {
        text += std::string(chat[i].role) + ": " + chat[i].content + "\n";
    }
    text += add_ass ? "assistant: " : "";
    if (buf) {
        strncpy(buf, text.c_str(), length);
    }
    return static_cast<int32_t>(text.size());
}

int common_log_get_verbosity_thold() { return LOG_LEVEL_DEBUG; }
common_log * common_log_main() { return nullptr; }
void common_log_add(common_log *, ggml_log_level level, const char *, ...) { counts[level]++; }

[[noreturn]] void ggml_abort(const char * file, int line, const char * format, ...) {
    va_list values;
    va_start(values, format);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, values);
    abort();
}
