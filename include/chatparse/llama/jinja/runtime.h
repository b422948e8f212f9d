// llama.cpp's common/jinja/runtime.h, on chatparse, as far as programs render a template by themselves with it.
//
// A render goes the way of every request: `messages` (required), `tools`, `add_generation_prompt`, `bos_token` and `eos_token` of the
// context are what they are there, and all else is handed to the template as it is. So messages are prepared for the template
// here, too, which llama.cpp's own engine does not do.
#pragma once

#include "parser.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace jinja {

// chatparse says what is wrong in its errors; there is no more to print.
inline void enable_debug(bool) {}

// A piece of a rendered text. llama.cpp tells what came from the input; here it is all one piece.
struct string_part {
    bool        is_input = false;
    std::string val;
};

struct string {
    std::vector<string_part> parts;

    std::string str() const {
        std::string text;
        for (const auto & part : parts) {
            text += part.val;
        }
        return text;
    }
};

// Values are texts: what renders give.
struct value_string_t {
    string val;

    value_string_t() = default;
    explicit value_string_t(const std::string & text) { val.parts.push_back({ false, text }); }

    const string & as_string() const { return val; }
};

using value_string = std::shared_ptr<value_string_t>;
using value        = value_string;

template <typename T, typename... Args> T mk_val(Args &&... args) {
    return std::make_shared<typename T::element_type>(std::forward<Args>(args)...);
}

// The variables of a render.
struct context {
    common_json vars = common_json::object();

    context() = default;
    explicit context(const std::string & /* source */) {}
};

inline void global_from_json(context & ctx, const common_json & vars, bool /* mark_input */) {
    for (const auto & var : vars.items()) {
        ctx.vars[var.key()] = var.value();
    }
}

class runtime {
    const context & ctx_;

    std::string text(const char * name) const { return ctx_.vars.contains(name) ? ctx_.vars.at(name).get<std::string>() : ""; }

  public:
    explicit runtime(const context & ctx) : ctx_(ctx) {}

    // std::invalid_argument where the variables are no request, std::runtime_error where the template fails.
    value execute(const program & prog) const {
        common_json request = common_json::object();
        common_json others  = common_json::object();
        request["add_generation_prompt"] = false;
        for (const auto & var : ctx_.vars.items()) {
            const std::string & name = var.key();
            if (name == "messages" || name == "tools" || name == "add_generation_prompt") {
                request[name] = var.value();
            } else if (name != "bos_token" && name != "eos_token") {
                others[name] = var.value();
            }
        }
        request["chat_template_kwargs"] = others;
        const std::string body          = chatparse_llama::dump_safe(request);
        const program     with_tokens(prog.source(), text("bos_token"), text("eos_token"));

        chat_params * params = nullptr;
        chat_error *  error  = nullptr;
        chatparse_llama::check(chat_params_from_template(with_tokens.handle(), body.data(), body.size(), &params, &error), error);
        const std::string prompt = chatparse_llama::to_string(chat_params_view(params)->prompt);
        chat_params_free(params);
        return mk_val<value_string>(prompt);
    }

    static value_string gather_string_parts(const value & rendered) { return rendered; }

    // The template as it is used: line feeds only, known faults mended.
    static std::string debug_dump_program(const program & prog, const std::string & /* source */) { return prog.source(); }
};

}  // namespace jinja
