// llama.cpp's common/chat.h, on chatparse: the same names, members, numbers and exceptions, without a source file to compile.
// What differs for users is told in cmake/LLAMA.md.
//
// CHATPARSE_STRICT, if defined, in all sources alike: an output that does not fit its format, and arguments of earlier calls that
// are no JSON, are errors as in llama.cpp; calls written in another way, or of tools that the request does not offer, are not read.
// Without it a final parse never throws: see CHAT_OUTCOME_RECOVERED in chatparse.h.
#pragma once

#include "common.h"

#include "jinja/caps.h"
#include "jinja/parser.h"
#include "jinja/runtime.h"
#include "json-schema-to-grammar.h"
#include "peg-parser.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Sources of llama.cpp have these from its chat.h without asking for them.
#include <cassert>
#include <cctype>
#include <cmath>
#include <cstring>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <unordered_map>
#include <variant>

using chat_template_caps = jinja::caps;
#if CHATPARSE_LLAMA == CHATPARSE_LLAMA_IK
using json = nlohmann::ordered_json;
#endif

struct common_chat_templates;

struct common_chat_tool_call {
    std::string name;
    std::string arguments;  // JSON text
    std::string id;

    bool operator==(const common_chat_tool_call & other) const {
        return name == other.name && arguments == other.arguments && id == other.id;
    }
};

struct common_chat_msg_content_part {
    std::string type;       // "text", "media_marker" or, from 0.8.0 on, "tool_reference"
    std::string text;
    std::string name = {};  // of a tool_reference: the tool of the request

    bool operator==(const common_chat_msg_content_part & other) const {
        return type == other.type && text == other.text && name == other.name;
    }
};

// A compiled template. Copies share it.
struct common_chat_template {
    jinja::program prog;
    std::string    bos_tok;
    std::string    eos_tok;
    std::string    src;
    jinja::caps    caps;

    common_chat_template(const std::string & src, const std::string & bos_token, const std::string & eos_token) :
        prog(src, bos_token, eos_token),
        bos_tok(bos_token),
        eos_tok(eos_token),
        src(prog.source()),
        caps(jinja::caps_get(prog)) {}

    const std::string & source() const { return src; }
    const std::string & bos_token() const { return bos_tok; }
    const std::string & eos_token() const { return eos_tok; }

    jinja::caps original_caps() const { return caps; }
};

struct common_chat_msg {
    std::string                               role;
    std::string                               content;
    std::vector<common_chat_msg_content_part> content_parts;
    std::vector<common_chat_tool_call>        tool_calls;
    std::string                               reasoning_content;
    std::string                               tool_name;
    std::string                               tool_call_id;
    std::string                               extra_json = {};  // 0.8.0: further members, a JSON object, for templates that read them

    // The message as OpenAI JSON; `content` is always there. Parts become one text if that is asked for, or if media is among
    // them. std::runtime_error where there are both content and parts.
    common_json to_json_oaicompat(bool concat_typed_text = false) const;

    // The content, or the text parts with the delimiter between them. std::runtime_error where there are both.
    std::string render_content(const std::string & delimiter = "\n\n") const;

    // Whether there is nothing in it; the role does not count.
    bool empty() const {
        return content.empty() && content_parts.empty() && tool_calls.empty() && reasoning_content.empty() && tool_name.empty() &&
               tool_call_id.empty();
    }

    bool contains_media() const {
        for (const auto & part : content_parts) {
            if (part.type == "media_marker") {
                return true;
            }
        }
        return false;
    }

    // Each call gets the id that it had when it was first seen, its own or one of the generator's; the cache remembers them.
    void set_tool_call_ids(std::vector<std::string> & ids_cache, const std::function<std::string()> & gen_tool_call_id) {
        for (size_t i = 0; i < tool_calls.size(); i++) {
            if (i == ids_cache.size()) {
                ids_cache.push_back(tool_calls[i].id.empty() ? gen_tool_call_id() : tool_calls[i].id);
            }
            tool_calls[i].id = ids_cache[i];
        }
    }

    bool operator==(const common_chat_msg & other) const {
        return role == other.role && content == other.content && content_parts == other.content_parts &&
               tool_calls == other.tool_calls && reasoning_content == other.reasoning_content && tool_name == other.tool_name &&
               tool_call_id == other.tool_call_id;
    }

    bool operator!=(const common_chat_msg & other) const { return !(*this == other); }
};

struct common_chat_msg_diff {
    std::string           reasoning_content_delta;
    std::string           content_delta;
    size_t                tool_call_index = std::string::npos;
    common_chat_tool_call tool_call_delta;

    // What leads from one message to a later state of it. std::runtime_error where something was taken back.
    static std::vector<common_chat_msg_diff> compute_diffs(const common_chat_msg & msg_prv, const common_chat_msg & msg_new);

    bool operator==(const common_chat_msg_diff & other) const {
        return content_delta == other.content_delta && tool_call_index == other.tool_call_index &&
               tool_call_delta == other.tool_call_delta;
    }
};

enum common_chat_role {
    COMMON_CHAT_ROLE_UNKNOWN,
    COMMON_CHAT_ROLE_SYSTEM,
    COMMON_CHAT_ROLE_ASSISTANT,
    COMMON_CHAT_ROLE_USER,
    COMMON_CHAT_ROLE_TOOL
};

// "system", "assistant", "user", "tool"; anything else is unknown, and unknown is "".
common_chat_role common_chat_role_from_string(const std::string & role);
const char *     common_chat_role_to_string(common_chat_role role);

struct common_chat_msg_span {
    common_chat_role role = COMMON_CHAT_ROLE_UNKNOWN;
    std::size_t      pos  = 0;
    std::size_t      len  = 0;

    bool valid() const { return role != COMMON_CHAT_ROLE_UNKNOWN; }
};

struct common_chat_msg_spans {
    std::vector<common_chat_msg_span> spans;

    void add(common_chat_role role, size_t pos, size_t len) { spans.push_back({ role, pos, len }); }

    bool is_user_start(int32_t pos) const {
        for (const auto & span : spans) {
            if (span.role == COMMON_CHAT_ROLE_USER && static_cast<int32_t>(span.pos) == pos) {
                return true;
            }
        }
        return false;
    }

    // -1 where no user has spoken.
    int32_t last_user_message_pos() const {
        for (auto span = spans.rbegin(); span != spans.rend(); ++span) {
            if (span->role == COMMON_CHAT_ROLE_USER) {
                return static_cast<int32_t>(span->pos);
            }
        }
        return -1;
    }
};

struct common_chat_msg_delimiter {
    common_chat_role role = COMMON_CHAT_ROLE_UNKNOWN;
    std::string      delimiter;
    llama_tokens     tokens = {};
};

struct common_chat_msg_delimiters {
    std::vector<common_chat_msg_delimiter> delimiters;

    common_chat_msg_delimiters() = default;
    common_chat_msg_delimiters(std::initializer_list<common_chat_msg_delimiter> list) : delimiters(list) {}

    void add(common_chat_role role, const std::string & delimiter) { delimiters.push_back({ role, delimiter }); }

    // Fills the `tokens` of each.
    void tokenize(const llama_vocab * vocab);

    // The messages of a prompt: each goes from one delimiter to the next. `skips` maps where a region begins that holds no text
    // (media) to its length.
    common_chat_msg_spans split(const llama_tokens & tokens, const std::map<size_t, size_t> & skips = {}) const;

#if CHATPARSE_LLAMA < CHATPARSE_LLAMA_B11549
    common_json to_json() const;
#endif
};

struct common_chat_tool {
    std::string name;
    std::string description;
    std::string parameters;             // a JSON schema
    bool        defer_loading = false;  // from 0.8.0 on: not in the system prompt; a tool_reference shows it later
};

enum common_chat_tool_choice {
    COMMON_CHAT_TOOL_CHOICE_AUTO,
    COMMON_CHAT_TOOL_CHOICE_REQUIRED,
    COMMON_CHAT_TOOL_CHOICE_NONE,
};

enum common_chat_format {
    COMMON_CHAT_FORMAT_CONTENT_ONLY,
    COMMON_CHAT_FORMAT_PEG_SIMPLE,
    COMMON_CHAT_FORMAT_PEG_NATIVE,
    COMMON_CHAT_FORMAT_PEG_GEMMA4,
    COMMON_CHAT_FORMAT_PEG_MINIMAX_M3,
    COMMON_CHAT_FORMAT_COUNT,
};

// How the last message is continued.
enum common_chat_continuation {
    COMMON_CHAT_CONTINUATION_NONE,
    COMMON_CHAT_CONTINUATION_AUTO,
    COMMON_CHAT_CONTINUATION_REASONING,
    COMMON_CHAT_CONTINUATION_CONTENT,
};

struct common_chat_templates_inputs {
    std::vector<common_chat_msg>          messages;
    std::string                           grammar;
    std::string                           json_schema;
    bool                                  add_generation_prompt  = true;
    common_chat_continuation              continue_final_message = COMMON_CHAT_CONTINUATION_NONE;
    bool                                  use_jinja              = true;
    // From here on: with use_jinja only.
    std::vector<common_chat_tool>         tools;
    common_chat_tool_choice               tool_choice         = COMMON_CHAT_TOOL_CHOICE_AUTO;
    bool                                  parallel_tool_calls = false;
    common_reasoning_format               reasoning_format    = COMMON_REASONING_FORMAT_NONE;
    bool                                  enable_thinking     = true;
    std::chrono::system_clock::time_point now                 = std::chrono::system_clock::now();
    std::map<std::string, std::string>    chat_template_kwargs;  // values are JSON texts
    bool                                  add_bos            = false;  // not read: the model says so itself
    bool                                  add_eos            = false;  // not read
    bool                                  force_pure_content = false;
};

#if CHATPARSE_LLAMA >= CHATPARSE_LLAMA_0_8_0
struct common_chat_prompt_part {
    std::string text;
    bool        is_input = false;  // a value of the request: special tokens in it are text
};

// A prompt as the template's own text and what came from the request.
struct common_chat_prompt {
    std::vector<common_chat_prompt_part> parts;

    common_chat_prompt() = default;
    explicit common_chat_prompt(std::string text) { parts.push_back({ std::move(text), false }); }

    std::string str() const;

    // Adds to the last part, if it is of the same kind.
    void append(const std::string & text, bool is_input = false);

    // Replaces the last occurrence in the template's own text.
    void replace_last(const std::string & from, const std::string & to);
};
#else
using common_chat_prompt = std::string;
#endif

struct common_chat_params {
    common_chat_format                  format = COMMON_CHAT_FORMAT_CONTENT_ONLY;
    common_chat_prompt                  prompt;
    std::string                         grammar;
    bool                                grammar_lazy = false;
    std::string                         generation_prompt;
    bool                                supports_thinking = false;
    std::string                         thinking_start_tag;
#if CHATPARSE_LLAMA == CHATPARSE_LLAMA_IK
    std::string                         thinking_end_tag;  // the first of them
#else
    std::vector<std::string>            thinking_end_tags;
#endif
    std::vector<common_grammar_trigger> grammar_triggers;
    std::vector<std::string>            preserved_tokens;
    std::vector<std::string>            additional_stops;
#if CHATPARSE_LLAMA >= CHATPARSE_LLAMA_B11549
    common_peg_arena                    parser;
#else
    std::string                         parser;  // for common_peg_arena::load
#endif
    common_chat_msg_delimiters          message_delimiters;
};

#if CHATPARSE_LLAMA >= CHATPARSE_LLAMA_B11549
// An output with its tokens: for each byte the token that begins there, or LLAMA_TOKEN_NULL.
struct common_chat_input {
    std::string              text;
    std::vector<llama_token> tokens;

    common_chat_input() = default;
    explicit common_chat_input(std::string text) : text(std::move(text)), tokens(this->text.size(), LLAMA_TOKEN_NULL) {}

    size_t size() const { return text.size(); }
    bool   empty() const { return text.empty(); }

    void append(const std::string & piece, llama_token token);
    void append(const common_chat_input & chunk);

    void prepend(const std::string & prefix);
    void prepend(const common_chat_input & prefix);

    void truncate(size_t pos);

    common_chat_input substr(size_t pos, size_t n = std::string::npos) const;
};

// The text as the vocabulary cuts it; without tokens where their pieces are not the text.
common_chat_input common_chat_input_tokenize(const llama_vocab * vocab, const std::string & text);

// What an output is parsed with. A copy parses by itself; see common_chat_parse.
struct common_chat_parser_params {
    common_chat_format format = COMMON_CHAT_FORMAT_CONTENT_ONLY;
    common_chat_input  generation_prompt;
    bool               debug  = false;  // not read here
    common_peg_arena   parser = {};

    common_chat_parser_params() = default;
    common_chat_parser_params(const common_chat_params & chat_params) :
        format(chat_params.format), generation_prompt(chat_params.generation_prompt) {}
};
#else
using common_chat_input = std::string;

// What an output is parsed with. A copy parses by itself; see common_chat_parse.
struct common_chat_parser_params {
    common_chat_format      format               = COMMON_CHAT_FORMAT_CONTENT_ONLY;
    common_reasoning_format reasoning_format     = COMMON_REASONING_FORMAT_NONE;  // not read here: apply's says it all
    bool                    reasoning_in_content = false;                         // not read here
    std::string             generation_prompt;
    bool                    parse_tool_calls = true;   // not read here
    bool                    is_continuation  = false;  // not read here
    bool                    echo             = false;  // not read here
    bool                    debug            = false;  // not read here
    common_peg_arena        parser           = {};

    common_chat_parser_params() = default;
    common_chat_parser_params(const common_chat_params & chat_params) :
        format(chat_params.format), generation_prompt(chat_params.generation_prompt) {}
};
#endif

// Whether the template can be used: with Jinja if it renders a message, without if libllama knows it.
bool common_chat_verify_template(const std::string & tmpl, bool use_jinja);

void common_chat_templates_free(struct common_chat_templates * tmpls);

struct common_chat_templates_deleter {
    void operator()(common_chat_templates * tmpls) { common_chat_templates_free(tmpls); }
};

typedef std::unique_ptr<struct common_chat_templates, common_chat_templates_deleter> common_chat_templates_ptr;

// The templates of a model, or the one that overrides them; then `model` may be NULL. With a model, bos and eos are the model's.
// std::runtime_error where the template does not parse. The result may be used by several threads at once.
common_chat_templates_ptr common_chat_templates_init(const struct llama_model * model,
                                                     const std::string &        chat_template_override,
                                                     const std::string &        bos_token_override = "",
                                                     const std::string &        eos_token_override = "");

bool        common_chat_templates_was_explicit(const struct common_chat_templates * tmpls);
std::string common_chat_templates_source(const struct common_chat_templates * tmpls, const std::string & variant = "");

// Prompt, grammar and parser of a request. std::invalid_argument where the request is wrong or the template refuses it.
struct common_chat_params common_chat_templates_apply(const struct common_chat_templates *        tmpls,
                                                      const struct common_chat_templates_inputs & inputs);

// What one more message adds to the prompt of the ones before it.
std::string common_chat_format_single(const struct common_chat_templates * tmpls,
                                      const std::vector<common_chat_msg> & past_msg,
                                      const common_chat_msg &              new_msg,
                                      bool                                 add_ass,
                                      bool                                 use_jinja);

// The prompt of a short conversation, for people to look at.
std::string common_chat_format_example(const struct common_chat_templates *       tmpls,
                                       bool                                       use_jinja,
                                       const std::map<std::string, std::string> & chat_template_kwargs);

const char * common_chat_format_name(common_chat_format format);

// The message of an output, or of what has come of it so far (`is_partial`). The stream behind `params.parser` stays where the last
// partial parse has left it, so a text that begins with the last one costs its new bytes only; any other is read from its
// start, with the same message. Only a final parse of an output that does not fit depends on what was shown: half a call that a
// partial parse has shown stays, any other is content. Safe to call by several threads at once; with params of their own each is fast.
common_chat_msg common_chat_parse(const common_chat_input & input, bool is_partial, const common_chat_parser_params & params);
common_chat_msg common_chat_peg_parse(const common_peg_arena &          src_parser,
                                      const common_chat_input &         input,
                                      bool                              is_partial,
                                      const common_chat_parser_params & params);

const char *            common_reasoning_format_name(common_reasoning_format format);
common_reasoning_format common_reasoning_format_from_name(const std::string & format);

common_chat_tool_choice common_chat_tool_choice_parse_oaicompat(const std::string & tool_choice);

bool common_chat_templates_support_enable_thinking(const common_chat_templates * chat_templates);

// The `messages`, the `tools` and `continue_final_message` of an OpenAI request. std::runtime_error where they are malformed.
std::vector<common_chat_msg>  common_chat_msgs_parse_oaicompat(const common_json & messages);
std::vector<common_chat_tool> common_chat_tools_parse_oaicompat(const common_json & tools);
common_chat_continuation      common_chat_continuation_parse(const common_json & value);

// A tool without parameters, or with an empty `{}`, takes no arguments: the schema that says so; else the function's own.
common_json common_chat_tool_parameters(const common_json & function);

common_json common_chat_msgs_to_json_oaicompat(const std::vector<common_chat_msg> & msgs, bool concat_typed_text = false);
common_json common_chat_tools_to_json_oaicompat(const std::vector<common_chat_tool> & tools);

// What the templates accept, by name: `supports_tools`, `supports_system_role`, ...; in JSON, also `reasoning_effort_levels`.
#if CHATPARSE_LLAMA >= CHATPARSE_LLAMA_0_8_0
common_json common_chat_templates_get_caps(const common_chat_templates * chat_templates);
#else
std::map<std::string, bool> common_chat_templates_get_caps(const common_chat_templates * chat_templates);
#endif

struct common_chat_prompt_preset {
    std::string system;
    std::string user;
    bool        has_language = false;  // the texts name the language
};

// What to ask a model that transcribes speech.
common_chat_prompt_preset common_chat_get_asr_prompt(const common_chat_templates * chat_templates, const std::string & language = "");

#if CHATPARSE_LLAMA >= CHATPARSE_LLAMA_0_8_0
// What to ask a model that speaks: its template for speech with the text; empty where it has none.
std::string common_chat_get_tts_prompt(const common_chat_templates * chat_templates,
                                       const std::string &           text,
                                       const std::string &           language = "",
                                       const std::string &           voice    = "");
#endif

#if CHATPARSE_LLAMA < CHATPARSE_LLAMA_B11549
common_chat_msg_delimiters common_chat_msg_delimiters_parse(const common_json & delimiters);
#endif

#include "detail/delimiters.h"
#include "detail/message.h"
#include "detail/names.h"
#include "detail/openai.h"
#include "detail/parse.h"
#include "detail/templates.h"
#if CHATPARSE_LLAMA >= CHATPARSE_LLAMA_B11549
#    include "detail/session.h"
#endif
