/*
 * chatparse: chat templates of language models, from C.
 *
 * A chat_template is compiled once from the model's template and learns from it how the model writes. For each request it gives
 * chat_params: the prompt, and what is needed to parse the answer. A chat_stream takes the answer in pieces and says what each
 * adds to the message; chat_stream_checkpoint and chat_stream_rollback take back a draft that was not accepted, and
 * chat_stream_feed_marked tells special tokens from text that spells one out.
 * chat_parse_partial does the same in one call for a text that is there. chat_template_proof says how far what was learnt holds.
 * chat_segments tell of each byte of a prompt whose text it is: for tokenisers that make special tokens of the template's text alone,
 * and for training masks.
 * A chat_grammar says what a sampler may let the model
 * write: as the params want it, by a JSON schema, or by rules of a chat_grammar_builder. A chat_parser is what params parse
 * with, by itself: to be kept as a text, or of a format of your own, which a chat_expr_builder puts together; a chat_tree says
 * what such a format found in a text. A chat_answer takes a request of an API that servers speak (OpenAI's chat completions and
 * Responses, Anthropic's Messages) and gives what is streamed, or the message, in the shape of that API.
 *
 * This file is the manual. Its sections (search for "== Title"):
 *
 *     Version              of the header and of the library
 *     Handles              the objects of the library
 *     Texts                views of text, positions in text
 *     Errors               statuses and error objects
 *     Templates            compiled once for each model
 *     Params               one request: its prompt, and what parses and constrains the output
 *     Messages             what a model wrote: content, reasoning, tool calls, diagnostics
 *     Streaming            a message while the model writes it
 *     The next turn        the prompt of the next request, with the model's cache kept
 *     Segments             which bytes of a prompt come from the template, and training masks
 *     Grammars             from JSON schemas; printed, checked and converted
 *     Parsers              what parses an output, without its params
 *     Grammar builder      grammars from rules and schemas (chatparse/format.h)
 *     Formats of your own  parsers from expressions, for formats that no template shows (chatparse/format.h)
 *     Trees                syntax trees, for outputs that are not messages (chatparse/format.h)
 *     Servers' APIs        requests and answers of OpenAI's and Anthropic's APIs (chatparse/server.h)
 *
 * The rules that hold everywhere:
 *
 * Ownership. A function that fills a pointer to a handle (chat_..._new, _clone, _from_template, ...) gives you an object. The _free
 * of its noun takes it back, once; it accepts NULL. No object needs another to stay alive: free them in any order.
 *
 * Names. All begin with chat_ or CHAT_; the tags of handles begin with chatparse_, so a `struct chat_message` of your own is another
 * type in C, and an error in C++. For C++ there is chatparse.hpp.
 *
 * Views. A chat_str is borrowed from the handle that it was asked of: never free it. From an immutable handle it is valid until
 * that handle is freed; from a stream, an answer or a grammar builder until the next call that takes it without const.
 *
 * Errors. A function that does work returns a chat_status: CHAT_STATUS_OK, or why not. It writes its outputs on CHAT_STATUS_OK
 * only, and *error on any other status only; error may be NULL. Functions that return a value directly cannot fail; those that
 * return a chat_expr leave it to chat_expr_build to say what went wrong.
 * What a model writes is never an error: it gives a message and a chat_outcome.
 *
 * NULL. A NULL handle or output is CHAT_STATUS_INVALID_ARGUMENT, never a crash. A function that returns a value directly gives an
 * empty one.
 *
 * Threads. A handle that a function takes as const may be in use by any number of threads at once. One that it takes without const
 * has one user at a time. That is the whole rule: templates, params, parsers, trees, grammars, messages and errors are shared freely, a
 * stream, an answer and a builder have one owner each.
 *
 * Text. Always a pointer and a length in bytes; it may hold NUL and has none at its end. NULL with length 0 is an empty text.
 * Templates, tokens, names, rules, schemas, requests and parsers must be UTF-8. What a model writes may be any bytes; what comes out is
 * UTF-8, with U+FFFD for bytes that are none.
 *
 * Defects of the library (Rust panics) do not unwind into your code: the call returns CHAT_STATUS_INTERNAL, and a handle that it was
 * changing answers so from then on. What was passed as const stays usable. Functions that return a plain value have no status: they give
 * its empty value (0, false).
 *
 * A whole program:
 *
 *     #include <stdio.h>
 *     #include <string.h>
 *
 *     #include <chatparse.h>
 *
 *     // A template as a model vendor ships it. How this model writes a tool call is learnt from the text.
 *     static const char source[] =
 *         "{%- for tool in tools or [] -%}\n"
 *         "Tool: {{ tool.function | tojson }}\n"
 *         "{% endfor -%}\n"
 *         "{%- for message in messages -%}\n"
 *         "<|{{ message.role }}|>{{ message.content or '' }}\n"
 *         "{%- for call in message.tool_calls or [] -%}\n"
 *         "<tool_call>{\"name\": \"{{ call.function.name }}\", \"arguments\": {{ call.function.arguments | tojson }}}</tool_call>\n"
 *         "{%- endfor -%}\n"
 *         "<|end|>\n"
 *         "{%- endfor -%}\n"
 *         "{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}\n";
 *
 *     // An OpenAI chat-completions body.
 *     static const char request[] =
 *         "{\"messages\": [{\"role\": \"user\", \"content\": \"Is it raining in Oslo?\"}],"
 *         " \"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"weather\", \"parameters\": {\"type\": \"object\","
 *         " \"properties\": {\"city\": {\"type\": \"string\"}}, \"required\": [\"city\"]}}}]}";
 *
 *     // What the model writes, in pieces as they come.
 *     static const char *const pieces[] = {
 *         "I will look. <tool", "_call>{\"name\": \"wea", "ther\", \"arguments\": {\"city\"", ": \"Oslo\"}}</tool_call>",
 *     };
 *
 *     static void print_deltas(const chat_stream *stream) {
 *       for (size_t i = 0; i < chat_stream_delta_count(stream); i++) {
 *         chat_delta delta;
 *         if (chat_stream_delta(stream, i, &delta, NULL) == CHAT_STATUS_OK)
 *           printf("part %u, call %zu: %.*s\n", (unsigned)delta.kind, delta.call, (int)delta.text.len, delta.text.data);
 *       }
 *     }
 *
 *     int main(void) {
 *       chat_template *chat = NULL;
 *       chat_params *params = NULL;
 *       chat_stream *stream = NULL;
 *       chat_message *message = NULL;
 *       chat_error *error = NULL;
 *       chat_str text;
 *
 *       // Once for each model:
 *       chat_status status = chat_template_new(source, strlen(source), "", 0, "<|end|>", 7, &chat, &error);
 *
 *       // Once for each request:
 *       if (status == CHAT_STATUS_OK) status = chat_params_from_template(chat, request, strlen(request), &params, &error);
 *       if (status == CHAT_STATUS_OK) {
 *         text = chat_params_prompt(params);
 *         printf("%.*s\n", (int)text.len, text.data);
 *         status = chat_stream_new(params, &stream, &error);
 *       }
 *
 *       // As the model writes:
 *       for (size_t i = 0; status == CHAT_STATUS_OK && i < sizeof pieces / sizeof *pieces; i++) {
 *         status = chat_stream_feed(stream, pieces[i], strlen(pieces[i]), &error);
 *         print_deltas(stream);
 *       }
 *       if (status == CHAT_STATUS_OK) {
 *         status = chat_stream_finish(stream, 0, &error);
 *         print_deltas(stream);
 *       }
 *
 *       // And the message as a whole:
 *       if (status == CHAT_STATUS_OK) status = chat_stream_message(stream, &message, &error);
 *       if (status == CHAT_STATUS_OK) status = chat_message_json(message, &text, &error);
 *       if (status == CHAT_STATUS_OK) {
 *         printf("%.*s\n", (int)text.len, text.data);
 *       } else {
 *         text = chat_error_message(error);
 *         fprintf(stderr, "%s: %.*s\n", chat_status_name(status), (int)text.len, text.data);
 *       }
 *
 *       chat_error_free(error);
 *       chat_message_free(message);
 *       chat_stream_free(stream);
 *       chat_params_free(params);
 *       chat_template_free(chat);
 *       return status == CHAT_STATUS_OK ? 0 : 1;
 *     }
 */

#ifndef CHATPARSE_H
#define CHATPARSE_H

/* Written by cbindgen from src/ffi: change it there. The text above is in cbindgen.toml. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Enumerations are uint32_t, in C and in C++. */
#ifdef __cplusplus
#define CHAT_ENUM(name) enum name : uint32_t
#else
#define CHAT_ENUM(name) typedef uint32_t name; enum name
#endif

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/* == Version ======================================================================================================= */

/** Major version of this header. */
#define CHAT_VERSION_MAJOR 0
/** Minor version of this header. */
#define CHAT_VERSION_MINOR 1
/** Patch version of this header. */
#define CHAT_VERSION_PATCH 0

/**
 * The version of the library that is linked, e.g. `0.1.0`; the macros are that of the header. The text is static and ends
 * with NUL.
 */
const char *chat_version(void);

/* == Handles ======================================================================================================= */

/** One request of an API, and its answer in the API's shape: the deltas of a stream as events, a message as a body. */
typedef struct chatparse_answer chat_answer;
/** What went wrong: a status and a sentence. Immutable; may be used by several threads at once. */
typedef struct chatparse_error chat_error;

/**
 * Puts a format together, for a model whose template does not show one: expressions of a parsing expression grammar (PEG) that
 * say what an output looks like, with tags on what is to be in the message. One thread at a time.
 */
typedef struct chatparse_expr_builder chat_expr_builder;

/**
 * A grammar in GBNF, the notation of llama.cpp's grammars, and where it is not exactly what its schemas ask for; or one that was
 * printed in another dialect, and what that cannot say. Immutable; may be used by several threads at once.
 */
typedef struct chatparse_grammar chat_grammar;

/** Puts a grammar together from rules, texts and JSON schemas. One thread at a time. */
typedef struct chatparse_grammar_builder chat_grammar_builder;
/** What a model said: reasoning, content and tool calls. Immutable; may be used by several threads at once. */
typedef struct chatparse_message chat_message;

/**
 * What one request needs: its prompt, what the sampler and the tokeniser must know, the parser of the output, and the messages, for
 * `chat_params_continue`. Immutable; may be shared between threads, e.g. by the streams of several choices of one request.
 */
typedef struct chatparse_params chat_params;

/**
 * What an output is parsed with, without the rest of the params: to be kept or sent elsewhere as a text, or made by a
 * `chat_expr_builder` from a format that no template shows. Immutable; may be used by several threads at once.
 */
typedef struct chatparse_parser chat_parser;

/** A prompt with the origin of each of its bytes. Immutable; may be used by several threads at once. */
typedef struct chatparse_segments chat_segments;

/**
 * A parse in progress: bytes of the output in, what they add to the message out. It reads each byte once, takes nothing back
 * that it has shown unless it is asked to (`chat_stream_rollback`), and gives the same message however the output is cut.
 */
typedef struct chatparse_stream chat_stream;

/**
 * A compiled chat template: it renders prompts, and what it shows of the model's format is learnt from it once. Immutable;
 * make one for each model and share it between threads.
 */
typedef struct chatparse_template chat_template;

/**
 * What an output is made of: a node for each rule and each tag or label of the format that took part, and how far the match reached.
 * For formats of your own whose outputs are no messages. Immutable; may be used by several threads at once.
 */
typedef struct chatparse_tree chat_tree;

/* == Texts ========================================================================================================= */

/**
 * A text that belongs to the handle it was asked of: do not free it. It is UTF-8, may hold NUL bytes, and has no NUL at its
 * end: print it with `printf("%.*s", (int)text.len, text.data)`.
 *
 * `data` is never NULL; an empty text has `len` 0.
 */
typedef struct {
  const char *data; /**< The first byte. */
  size_t len;       /**< How many bytes there are. */
} chat_str;

/** Bytes of an output, or of a piece of it. */
typedef struct {
  size_t begin; /**< Position of the first. */
  size_t end;   /**< And the position after the last. */
} chat_span;

/* == Errors ======================================================================================================== */

/*
 * Functions that can fail take `chat_error **error` last. Pass NULL if the status is enough. Otherwise a call that does not
 * return `CHAT_STATUS_OK` puts a new object there, which is yours: free it with `chat_error_free`. What the variable held
 * before is not looked at. A call that returns `CHAT_STATUS_OK` leaves it alone.
 *
 * ```c
 * chat_error *error = NULL;
 * if (chat_template_new(text, len, "", 0, "", 0, &template, &error) != CHAT_STATUS_OK) {
 *   chat_str message = chat_error_message(error);
 *   fprintf(stderr, "%.*s\n", (int)message.len, message.data);
 *   chat_error_free(error);
 * }
 * ```
 */

/**
 * How a call went. Numbers are grouped by hundreds and never change their meaning; later versions may add some, so treat
 * one that you do not know like the first of its hundred.
 */
CHAT_ENUM(chat_status) {
  CHAT_STATUS_OK = 0,                 /**< All went well; the outputs are written. */
  CHAT_STATUS_INVALID_ARGUMENT = 100, /**< The caller's input has the wrong shape: a NULL handle, a text that is not
                                           UTF-8, a request that is no JSON or lacks a field, an unknown flag, an index
                                           that is out of range. (HTTP: 400.) */
  CHAT_STATUS_TEMPLATE = 200,         /**< The template does not parse, raises an error, or fails while it renders.
                                           (HTTP: 400 for a template of the client's, 500 for the server's own.) */
  CHAT_STATUS_SCHEMA = 300,           /**< A JSON schema cannot be used. (HTTP: 400.) */
  CHAT_STATUS_LIMIT = 400,            /**< A limit was reached: the input is too long, too deep or too costly. (HTTP:
                                           400 or 413.) */
  CHAT_STATUS_PARSE = 500,            /**< Only with `CHAT_PARSE_STRICT`: the model's output does not fit the template's
                                           format. (HTTP: 500.) */
  CHAT_STATUS_INTERNAL = 900,         /**< A defect of the library. If the call had a handle without `const`, that
                                           handle answers with this status from now on and is good for nothing but its
                                           `_free`. (HTTP: 500.) */
};

/**
 * The lower-case name of a status, e.g. `invalid_argument`; `unknown` for a number that is none. The text is static and ends
 * with NUL.
 */
const char *chat_status_name(uint32_t status);

/** The status that the failed call returned. `CHAT_STATUS_INVALID_ARGUMENT` for NULL. */
chat_status chat_error_status(const chat_error *error);

/**
 * What is wrong and where, as one sentence for people; its words may change between versions. The view is valid until the
 * error is freed. Empty for NULL.
 */
chat_str chat_error_message(const chat_error *error);

/** Frees the error. NULL is fine. */
void chat_error_free(chat_error *error);

/* == Templates ===================================================================================================== */

/**
 * Compiles a template from its text: Jinja, as model vendors ship it, or the text of a `tokenizer_config.json` or
 * `chat_template.json` that holds it. `bos` and `eos` are the texts of the model's special tokens that templates may refer to, e.g.
 * `<s>` and `</s>`; length 0 where the model has none, or for those of the file. The texts are copied.
 *
 * On success `*out` is a new template, to be freed with `chat_template_free`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for text that is not UTF-8, with the position of the first wrong byte, and for a
 * JSON object without a template; `CHAT_STATUS_TEMPLATE` with the line where the text does not parse; `CHAT_STATUS_LIMIT` where
 * it is too long.
 */
chat_status chat_template_new(const char *source, size_t source_len, const char *bos, size_t bos_len, const char *eos,
                              size_t eos_len, chat_template **out, chat_error **error);

/**
 * Compiles a template that is to be taken in a certain way.
 *
 * `options` is a JSON object; what it leaves out has its default. `name` says which of several named templates of a
 * `tokenizer_config.json` is meant (default: `default`). `bos` and `eos` are the texts of the model's special tokens
 * (default: empty). With `learn_only` (default false) only what the template shows by itself counts: no family of templates and
 * no work-around is looked up. Where there are several ways to read the template's model, the first request lets them read what
 * the template renders and takes the best; with `prove` false (default true) the first way is taken unproved. The texts are
 * copied.
 *
 * On success `*out` is a new template, to be freed with `chat_template_free`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for text that is not UTF-8, and for options that are no JSON object, of a wrong
 * type or unknown, naming them; otherwise as `chat_template_new`.
 */
chat_status chat_template_with_options(const char *source, size_t source_len, const char *options, size_t options_len,
                                       chat_template **out, chat_error **error);

/**
 * A template that the library brings along, by its name, e.g. `chatml`: for a model that has none.
 *
 * On success `*out` is a new template, to be freed with `chat_template_free`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an unknown name; the message lists the known ones.
 */
chat_status chat_template_builtin(const char *name, size_t name_len, chat_template **out, chat_error **error);

/** How many templates the library brings along. */
size_t chat_template_builtin_count(void);

/**
 * The name of built-in template number `index` (from 0). The view is valid for ever. Empty for an index that is out of range.
 */
chat_str chat_template_builtin_name(size_t index);

/**
 * The text of the template as it is used: line feeds only, none at its end, known faults mended. The view is valid until the
 * template is freed. Empty for NULL.
 */
chat_str chat_template_source(const chat_template *template_);

/**
 * What the template accepts, as a JSON object of booleans: `supports_tools`, `supports_system_role`, and so on. The first
 * call finds out, with a few renders; later ones return the same text.
 *
 * On success `*out` is a view, valid until the template is freed.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_template_caps_json(const chat_template *template_, chat_str *out, chat_error **error);

/**
 * The name of what reads the model's output: `layout` or `turn` for what was learnt of the template, else the name of a family of
 * templates that is known. Where there are several ways to read it, the first call lets them read what the template renders
 * until one has turned out best, which takes some ten renders; so does the first `chat_params_from_template`, unless this was
 * called before. Later calls return the same.
 *
 * On success `*out` is a view, valid for ever.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_template_reader(const chat_template *template_, chat_str *out, chat_error **error);

/**
 * How well what the template writes is read back: it renders messages of many kinds as the model would write them, and those
 * are parsed. Of `*cases` messages, `*read_back` come back. Messages that the template refuses, and those whose beginning cannot
 * be told from the prompt, are no cases; a template that renders nothing has none. A host may refuse a template where the numbers
 * differ, or are 0; `chat_template_proof_json` says what is wrong. The first call renders and parses some sixty messages; later
 * ones return the same.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_template_proof(const chat_template *template_, size_t *read_back, size_t *cases, chat_error **error);

/**
 * The same in full, as a JSON object: `reader`, `cases`, `read_back`, and `failures`, an array of objects with `probe` (what the
 * message shows), `thinking` (`off`, `silent` or `on`: the model is asked not to think, does not, or thinks), `turn` (what the
 * template writes), `wanted` and `got` (the messages, as JSON text) and `why`. Of the cases, `with_calls` make calls. Of those
 * that come back, `recovered` are not in the reader's format, so that neither streaming nor grammars know them, and `alike` come
 * back as another message that the template writes alike. What is no case is counted, too: in `no_turn` messages that do not
 * begin where the prompt ends, in `unsaid` those whose calls are left out, in `refused` those that the template refuses;
 * `refusal` says why the first was.
 *
 * On success `*out` is a view, valid until the template is freed.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_template_proof_json(const chat_template *template_, chat_str *out, chat_error **error);

/** Frees the template. Params that were made from it stay valid. NULL is fine. */
void chat_template_free(chat_template *template_);

/* == Params ======================================================================================================== */

/** How the value of a trigger is read. */
CHAT_ENUM(chat_trigger_kind) {
  CHAT_TRIGGER_KIND_WORD = 1,    /**< A text that appears in the output. */
  CHAT_TRIGGER_KIND_PATTERN = 2, /**< A regular expression (ECMAScript) that is searched for in the output. The grammar
                                      starts at its first group that takes part, or at its beginning. */
};

/** A piece of media that the prompt wants. The texts are valid until the params that it was asked of are freed. */
typedef struct {
  chat_str kind;   /**< `image`, `audio`, `video` or `file`. */
  chat_str text;   /**< What stands in the prompt for it. Several may have the same text: they come in the prompt's
                        order. */
  chat_str source; /**< The part of the request as JSON, e.g. `{"type": "image_url", "image_url": {"url": ...}}`. */
  size_t message;  /**< Index of its message in the request. */
  size_t part;     /**< Index of its part in that message's content. */
  bool native;     /**< Whether the template wrote `text`; otherwise it is the option `media_marker`. */
} chat_media;

/** What makes a lazily applied grammar start. */
typedef struct {
  chat_trigger_kind kind; /**< How `value` is read. */
  chat_str value;         /**< The word or the regular expression. Valid until the params that it was asked of are
                               freed. */
} chat_trigger;

/**
 * Renders the prompt of a request and builds the parser of its output. The first call on a template also learns the
 * template's format.
 *
 * `request` is the JSON text of an OpenAI chat-completions body. Read are
 * - `messages` (required): `role`, `content` (a text, or parts `text`, `refusal`, `thinking`, `image_url`, `input_audio`, `file` and
 *   what vendors call such: see `chat_params_media`), `reasoning_content` (or `reasoning`, `thinking`), `tool_calls`, `function_call`, `name`,
 *   `tool_call_id`, `refusal`;
 * - `tools`: of type `function` (with `strict`, `return`), or `custom`, which becomes a function with one argument `input`: its format
 *   may be a regular expression, not a Lark grammar;
 * - `tool_choice`: `auto`, `required`, `none`, a tool by its name, or `allowed_tools`; `parallel_tool_calls` (default false);
 * - `response_format`: `text`, `json_object` or `json_schema`; `reasoning_effort`;
 *
 * and the host's options, which may also stand beside the body (`chat_params_from_template_with`):
 * - `reasoning_format`: `none`, `auto`, `deepseek` or `deepseek-legacy`; anything but `none` tells reasoning from content; default
 *   `auto`;
 * - `enable_thinking` (default true), `add_generation_prompt` (default true), `continue_final_message` (true, `content` or
 *   `reasoning_content`), `chat_template_kwargs` (an object of further template variables);
 * - `plain`: the template sees `messages`, `tools`, `documents` and `chat_template_kwargs` as they are, of any form, and no other
 *   variable, as with transformers; default false;
 * - `json_schema`, `grammar` (GBNF), `grammar_style` (`faithful` or `llama.cpp`: how schemas become rules; default `faithful`),
 *   `force_pure_content`;
 * - `now`: Unix seconds, the only clock that the template sees; default the system's;
 * - `media_marker`: what stands in the prompt for media that the template does not show; default `<__media__>`;
 * - `malformed_arguments`: `keep`, `empty` or `error`: whether arguments of earlier calls that are no JSON object stay as text,
 *   become `{}`, or make the request fail; default `keep`;
 * - `dialects`: `off`, `recover` or `always`: whether calls that are written in another way than the template's are read nowhere,
 *   once the output has left the format, or in all content; default `recover`;
 * - `unknown_tools`: `call` or `content`: what calls of tools are that the request does not offer; default `call`;
 * - `calls_in_reasoning`: `off`, `at_end` or `always`: whether calls inside reasoning are reasoning, calls where the output ends with
 *   them and the reasoning was not closed, or calls; default `off`;
 * - `bare_calls`: `off`, `whole` or `anywhere`: whether a JSON object that no marker tells from a quotation is a call nowhere, where
 *   the whole answer is nothing but calls of the tools on offer, or wherever other ways are read; default `whole`.
 *
 * Other fields are ignored, unless one is but a slip away from an option. The text is copied.
 *
 * On success `*out` is a new object, to be freed with `chat_params_free`. It does not need the template any more.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, naming the field that is wrong, e.g. `messages[2].tool_calls[0].function.name`, or
 * the first byte that is not UTF-8; `CHAT_STATUS_TEMPLATE` where the template raises or fails; `CHAT_STATUS_SCHEMA` where
 * `json_schema` cannot be used; `CHAT_STATUS_LIMIT` where the request or the prompt is too long, too deep or too costly.
 */
chat_status chat_params_from_template(const chat_template *template_, const char *request, size_t request_len,
                                      chat_params **out, chat_error **error);

/**
 * The same with the host's options beside the client's body: `options` is a JSON object of the options above, each of which
 * counts before the body's field of that name.
 *
 * On success `*out` is a new object, to be freed with `chat_params_free`. It does not need the template any more.
 *
 * Errors: as `chat_params_from_template`; `CHAT_STATUS_INVALID_ARGUMENT` for an option that there is not.
 */
chat_status chat_params_from_template_with(const chat_template *template_, const char *request, size_t request_len,
                                           const char *options, size_t options_len, chat_params **out,
                                           chat_error **error);

/** The prompt: what the model is given. The view is valid until the params are freed. Empty for NULL. */
chat_str chat_params_prompt(const chat_params *params);

/**
 * The end of the prompt that is already the assistant's turn. Streams made from these params know it: do not feed it to
 * them. The view is valid until the params are freed. Empty for NULL.
 */
chat_str chat_params_generation_prompt(const chat_params *params);

/** How many pieces of media the prompt wants. 0 for NULL, and for a plain request: its media is the host's. */
size_t chat_params_media_count(const chat_params *params);

/**
 * Number `index` (from 0) of the media, in the order of the prompt.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
 */
chat_status chat_params_media(const chat_params *params, size_t index, chat_media *out, chat_error **error);

/**
 * The grammar that the sampler should hold the output to; its text is empty where nothing constrains the output. Ask
 * `chat_params_grammar_lazy` from where on. A tool whose schema cannot be used spoils no other: the grammar's report names it.
 * The first call makes the grammar; later ones are quick.
 *
 * On success `*out` is a new handle, to be freed with `chat_grammar_free`. It does not need the params any more.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_params_grammar(const chat_params *params, chat_grammar **out, chat_error **error);

/**
 * The grammar in another dialect, one of `chat_dialect`, for an engine that sees nothing but the output: free text in front of a trigger is a
 * part of it, and it starts behind the generation prompt. So it applies from the output's first byte on, whatever
 * `chat_params_grammar_lazy` says. Only `CHAT_DIALECT_GBNF` is the grammar of `chat_params_grammar` as it is. The text is empty where
 * nothing constrains the output. The report has what the dialect cannot say, and not what the grammar leaves of the schemas.
 *
 * On success `*out` is a new handle, to be freed with `chat_grammar_free`. It does not need the params any more.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for a dialect that there is not, and, with the reason, where
 * `CHAT_DIALECT_STRUCTURAL_TAG_OLD` does not fit: it takes one trigger and calls whose arguments are one JSON object;
 * `CHAT_STATUS_LIMIT` where the grammar is too large.
 */
chat_status chat_params_grammar_as(const chat_params *params, uint32_t dialect, chat_grammar **out, chat_error **error);

/**
 * Whether the grammar applies from the first trigger on only, and the output is free before it. Where it is not lazy, it
 * describes the generation prompt together with the output: let the sampler accept `chat_params_generation_prompt` first.
 * False for NULL.
 */
bool chat_params_grammar_lazy(const chat_params *params);

/**
 * How many triggers there are. A grammar that is not lazy may have some, too; it does not wait for them. 0 for NULL.
 */
size_t chat_params_grammar_trigger_count(const chat_params *params);

/**
 * Trigger number `index` (from 0).
 *
 * On success `*out` is filled; its text is valid until the params are freed.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
 */
chat_status chat_params_grammar_trigger(const chat_params *params, size_t index, chat_trigger *out, chat_error **error);

/**
 * The name of the way the output is parsed in, for logs: `peg-native`, `Content-only`, ... The view is valid until the params are
 * freed. Empty for NULL.
 */
chat_str chat_params_format(const chat_params *params);

/**
 * How many texts there are that the tokeniser must keep as single tokens and the detokeniser must print. 0 for NULL.
 */
size_t chat_params_preserved_token_count(const chat_params *params);

/**
 * Number `index` (from 0) of these texts. The view is valid until the params are freed. Empty for NULL and for an index that is out
 * of range.
 */
chat_str chat_params_preserved_token(const chat_params *params, size_t index);

/** How many texts there are that end the output besides the end-of-turn token. 0 for NULL. */
size_t chat_params_additional_stop_count(const chat_params *params);
/** Number `index` (from 0) of these texts. As `chat_params_preserved_token`. */
chat_str chat_params_additional_stop(const chat_params *params, size_t index);
/** Whether the template knows reasoning. False for NULL. */
bool chat_params_supports_thinking(const chat_params *params);

/**
 * What opens reasoning, e.g. `<think>`; empty where nothing does. The view is valid until the params are freed. Empty for NULL.
 */
chat_str chat_params_thinking_start_tag(const chat_params *params);

/** How many texts close reasoning: any of them does. 0 for NULL. */
size_t chat_params_thinking_end_tag_count(const chat_params *params);
/** Number `index` (from 0) of these texts. As `chat_params_preserved_token`. */
chat_str chat_params_thinking_end_tag(const chat_params *params, size_t index);
/** How many message delimiters there are: texts that the turns of a role begin with in a prompt. 0 for NULL. */
size_t chat_params_message_delimiter_count(const chat_params *params);

/**
 * The role of message delimiter number `index` (from 0): `user`, `assistant`, `system` or `tool`. As `chat_params_preserved_token`.
 */
chat_str chat_params_message_delimiter_role(const chat_params *params, size_t index);

/** The text of message delimiter number `index` (from 0). As `chat_params_preserved_token`. */
chat_str chat_params_message_delimiter(const chat_params *params, size_t index);

/**
 * All of the params as one JSON object:
 *
 * - `prompt`, `generation_prompt`: as the functions of that name;
 * - `grammar`: the text of `chat_params_grammar`, empty where nothing constrains the output;
 * - `grammar_lazy`, `grammar_triggers` (objects with `type`, `word` or `pattern`, and `value`): where the grammar starts;
 * - `grammar_report` (objects with `schema`, `pointer`, `kind`, `widened`, `narrowed` or `refused`, and `message`): where the grammar is
 *   not exactly what the schemas ask for;
 * - `preserved_tokens`: texts that the tokeniser must keep whole and the detokeniser must print;
 * - `additional_stops`: texts that end the output besides the end-of-turn token;
 * - `supports_thinking`, `thinking_start_tag`, `thinking_end_tags`: the markers of reasoning;
 * - `message_delimiters` (objects with `role` and `delimiter`): how turns begin in a prompt;
 * - `format`: how the output is parsed.
 *
 * Later versions may add fields. The first call writes the text; later ones return the same.
 *
 * On success `*out` is a view, valid until the params are freed.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_params_json(const chat_params *params, chat_str *out, chat_error **error);

/** Frees the params. Streams, messages, grammars and parsers that were made with them stay valid. NULL is fine. */
void chat_params_free(chat_params *params);

/* == Messages ====================================================================================================== */

/** Flag: the output is not whole. More of it is to come, or a token limit cut it off. */
#define CHAT_PARSE_PARTIAL 1

/**
 * Flag: an output that does not fit the template's format is an error (`CHAT_STATUS_PARSE`). Without it such an output gives a
 * message that holds all of it, and `CHAT_OUTCOME_RECOVERED`.
 */
#define CHAT_PARSE_STRICT 2

/** What kind of thing a diagnostic tells. Later versions may add kinds: take those that you do not know for remarks. */
CHAT_ENUM(chat_diagnostic_kind) {
  CHAT_DIAGNOSTIC_KIND_LEFT_FORMAT = 1,        /**< From here on the output did not fit the format. */
  CHAT_DIAGNOSTIC_KIND_DIALECT = 2,            /**< A call that was read although it was written in another way than the
                                                    template's, or in another place. */
  CHAT_DIAGNOSTIC_KIND_CALL_IN_REASONING = 3,  /**< A call inside reasoning that was never closed. */
  CHAT_DIAGNOSTIC_KIND_UNFINISHED_CALL = 4,    /**< A call without its end. */
  CHAT_DIAGNOSTIC_KIND_UNKNOWN_TOOL = 5,       /**< A call of a tool that the request does not offer. */
  CHAT_DIAGNOSTIC_KIND_INVALID_ARGUMENTS = 6,  /**< Arguments that are no JSON object, or that violate the tool's
                                                    schema. */
  CHAT_DIAGNOSTIC_KIND_DUPLICATE_ARGUMENT = 7, /**< An argument that was given more than once. Readers of JSON take the
                                                    last. */
  CHAT_DIAGNOSTIC_KIND_LIMIT = 8,              /**< The parser's budget was used up here: the rest of the output is
                                                    content, whatever it says. */
};

/** How a call was marked as one. What a model only quotes may read like a bare call. */
CHAT_ENUM(chat_origin) {
  CHAT_ORIGIN_NONE = 0,    /**< There is no such call. */
  CHAT_ORIGIN_FORMAT = 1,  /**< The template's own way: read where the template writes its calls, or behind the marker
                                that they begin with. */
  CHAT_ORIGIN_DIALECT = 2, /**< Another way, with a marker of its own, or a JSON object between tags or special tokens.
                                */
  CHAT_ORIGIN_BARE = 3,    /**< No marker: a JSON object or a Python call in running text, also where the template's own
                                calls look like that. */
};

/** How an output related to the template's format. */
CHAT_ENUM(chat_outcome) {
  CHAT_OUTCOME_NONE = 0,      /**< There is no message: the handle was NULL, or unusable. */
  CHAT_OUTCOME_COMPLETE = 1,  /**< The whole output matched. */
  CHAT_OUTCOME_PARTIAL = 2,   /**< It was cut off, or is still coming: what is there is there. The arguments of an
                                   unfinished tool call are a prefix of JSON text. */
  CHAT_OUTCOME_RECOVERED = 3, /**< It left the format. What fits nowhere is content; a call that reads like one is a
                                   call all the same; nothing is lost. `chat_message_diagnostic` says what and where. */
};

/** What a part of an output is. Later versions may add kinds: pass over those that you do not know. */
CHAT_ENUM(chat_part_kind) {
  CHAT_PART_KIND_REASONING = 1, /**< Text of the reasoning. */
  CHAT_PART_KIND_CONTENT = 2,   /**< Text of the content. */
  CHAT_PART_KIND_CALL = 3,      /**< A tool call. */
};

/** Something about an output that a host, or somebody who reads its logs, may want to know. */
typedef struct {
  chat_diagnostic_kind kind; /**< What kind of thing. */
  size_t call;               /**< Which tool call it is about, from 0; `SIZE_MAX` for none. */
  size_t span_begin;         /**< The bytes of the output that it is about: position of the first. */
  size_t span_end;           /**< And the position after the last. */
  chat_str message;          /**< In words. Valid until the message is freed. */
} chat_diagnostic;

/** A stretch of the output that became one kind of thing. */
typedef struct {
  chat_part_kind kind; /**< What it is. */
  size_t call;         /**< Which tool call, from 0; 0 for text. */
  chat_str text;       /**< Its text, a part of the reasoning or of the content; empty for a call. Valid until the
                            message is freed. */
  size_t span_begin;   /**< The bytes of the output from the first that is in the message, counted over all bytes fed
                            ... */
  size_t span_end;     /**< ... to behind the last. Equal to `span_begin` for text that the prompt holds already. */
} chat_part;

/**
 * Parses an output, or all of it that has come so far, in one call. For an output that comes in pieces, `chat_stream` gives
 * the same message without reading old bytes again.
 *
 * `text` is what the model wrote after the prompt; it may hold any bytes. `flags` is 0 for an output that the model has ended,
 * or a combination of `CHAT_PARSE_PARTIAL` and `CHAT_PARSE_STRICT`.
 *
 * On success `*out` is a new message, to be freed with `chat_message_free`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for unknown flags; `CHAT_STATUS_PARSE` with `CHAT_PARSE_STRICT` only.
 */
chat_status chat_parse_partial(const chat_params *params, const char *text, size_t text_len, uint32_t flags,
                               chat_message **out, chat_error **error);

/** How the output related to the format. `CHAT_OUTCOME_NONE` for NULL. */
chat_outcome chat_message_outcome(const chat_message *message);
/** The content. The view is valid until the message is freed. Empty for NULL. */
chat_str chat_message_content(const chat_message *message);

/**
 * The reasoning, where the request asked for it to be told from the content. The view is valid until the message is freed.
 * Empty for NULL.
 */
chat_str chat_message_reasoning(const chat_message *message);

/** How many tools the message calls. 0 for NULL. */
size_t chat_message_tool_call_count(const chat_message *message);

/**
 * The name of the tool that call number `index` (from 0) calls. The view is valid until the message is freed. Empty for NULL
 * and for an index that is out of range.
 */
chat_str chat_message_tool_call_name(const chat_message *message, size_t index);

/**
 * The id of call number `index`, empty where the model's format has none. Otherwise as `chat_message_tool_call_name`.
 */
chat_str chat_message_tool_call_id(const chat_message *message, size_t index);

/**
 * The arguments of call number `index` as JSON text, or as a prefix of it where the output was cut off. Otherwise as
 * `chat_message_tool_call_name`.
 */
chat_str chat_message_tool_call_arguments(const chat_message *message, size_t index);

/**
 * The message as OpenAI JSON: `role` and `content` always, `reasoning_content` and `tool_calls` where there are any. The first
 * call writes the text; later ones return the same.
 *
 * On success `*out` is a view, valid until the message is freed.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_message_json(const chat_message *message, chat_str *out, chat_error **error);

/** Frees the message. NULL is fine. */
void chat_message_free(chat_message *message);

/**
 * Whether the end of call number `index` (from 0) was there. A call without it was broken off: its arguments are a prefix, and
 * running it may do half of what the model meant. False for NULL and for an index that is out of range.
 */
bool chat_message_tool_call_complete(const chat_message *message, size_t index);

/**
 * Whether the request offers the tool that call number `index` calls. True where the parser knows no tools. False for NULL and
 * for an index that is out of range.
 */
bool chat_message_tool_call_known(const chat_message *message, size_t index);

/**
 * Whether call number `index` is complete and its arguments are a JSON object that does not certainly violate the tool's
 * schema. False for NULL and for an index that is out of range.
 */
bool chat_message_tool_call_valid(const chat_message *message, size_t index);

/**
 * How call number `index` (from 0) was marked as a call. `CHAT_ORIGIN_NONE` for NULL and for an index that is out of range.
 *
 * A call that is complete, known and valid may be run if it is in the format, and was most likely meant as a call in a dialect. Run a
 * bare one only where quoting a text that reads like a call does no harm; `bare_calls` of the request says which of them are calls.
 */
chat_origin chat_message_tool_call_origin(const chat_message *message, size_t index);

/** How many diagnostics there are. 0 for NULL. */
size_t chat_message_diagnostic_count(const chat_message *message);

/**
 * Diagnostic number `index` (from 0), in the order of the output.
 *
 * On success `*out` is filled; its text is valid until the message is freed.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
 */
chat_status chat_message_diagnostic(const chat_message *message, size_t index, chat_diagnostic *out,
                                    chat_error **error);

/**
 * All of it as JSON: `status` (`complete`, `partial` or `recovered`), `left_at` (the byte where the output left the format, or
 * null), `calls` (an object each: `complete`, `known`, `valid`, and `origin`, which is `format`, `dialect` or `bare`) and
 * `diagnostics` (an object each: `kind`, `call`, `span`, `message`). The first call writes the text; later ones return the same.
 *
 * On success `*out` is a view, valid until the message is freed.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_message_report_json(const chat_message *message, chat_str *out, chat_error **error);

/** How many parts the output has: stretches of reasoning and of text, and calls. 0 for NULL. */
size_t chat_message_part_count(const chat_message *message);

/**
 * Part number `index` (from 0), in the order of the output. A model may think, call, think again and answer; the message has its
 * reasoning, its content and its calls apart.
 *
 * On success `*out` is filled; its text is valid until the message is freed.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
 */
chat_status chat_message_part(const chat_message *message, size_t index, chat_part *out, chat_error **error);

/**
 * How many stretches of the output a field of the message came from. `field` is one of `CHAT_DELTA_KIND_REASONING`,
 * `CHAT_DELTA_KIND_CONTENT` (`call` is 0), `CHAT_DELTA_KIND_TOOL_NAME`, `CHAT_DELTA_KIND_TOOL_ID` and
 * `CHAT_DELTA_KIND_TOOL_ARGUMENTS` of call number `call` (from 0). 0 for NULL, for a call that is out of range and for other numbers.
 * The first question of a message takes all of it apart.
 */
size_t chat_message_span_count(const chat_message *message, uint32_t field, size_t call);

/**
 * Stretch number `index` (from 0) of a field (as for `chat_message_span_count`), in the order of its text: to find the tokens that a
 * field came from. Stretches hold no markup. What the message has beyond them is not written in the output: a brace that
 * closes arguments, text that the prompt holds already. The name may be a part of the id.
 *
 * On success `*out` is filled.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
 */
chat_status chat_message_span(const chat_message *message, uint32_t field, size_t call, size_t index, chat_span *out,
                              chat_error **error);

/* == Streaming ===================================================================================================== */

/*
 * One thread at a time. The life of a stream:
 *
 * ```c
 * chat_stream_new(params, &stream, &error);
 * while (the model writes) {
 *   chat_stream_feed(stream, bytes, len, &error);
 *   for (size_t i = 0; i < chat_stream_delta_count(stream); i++) {
 *     chat_delta delta;
 *     chat_stream_delta(stream, i, &delta, &error);
 *     ... send delta.text on ...
 *   }
 * }
 * chat_stream_finish(stream, flags, &error);
 * ... deltas once more: what was held back because it could have become a marker ...
 * chat_stream_message(stream, &message, &error);
 * chat_stream_free(stream);
 * ```
 */

/**
 * Which part of the message a delta adds to, or takes from. Later versions may add kinds: pass over those that you do not know.
 */
CHAT_ENUM(chat_delta_kind) {
  CHAT_DELTA_KIND_REASONING = 1,                  /**< `reasoning_content`. */
  CHAT_DELTA_KIND_CONTENT = 2,                    /**< `content`. */
  CHAT_DELTA_KIND_TOOL_NAME = 3,                  /**< The name of a tool call, all of it: the first delta of each call.
                                                       */
  CHAT_DELTA_KIND_TOOL_ID = 4,                    /**< The id of a tool call, all of it; at most once a call. */
  CHAT_DELTA_KIND_TOOL_ARGUMENTS = 5,             /**< A piece of the arguments of a tool call, as JSON text. */
  CHAT_DELTA_KIND_TOOL_END = 6,                   /**< The tool call is whole: its last delta, with an empty text. A
                                                       call that the output breaks off has none. */
  CHAT_DELTA_KIND_REASONING_WITHDRAWN = 101,      /**< After `chat_stream_rollback` only, as all that follow: the text
                                                       is to be taken from the end of `reasoning_content`. */
  CHAT_DELTA_KIND_CONTENT_WITHDRAWN = 102,        /**< The text is to be taken from the end of `content`. */
  CHAT_DELTA_KIND_CALL_WITHDRAWN = 103,           /**< The last tool call, of this name, is to be removed, with its id
                                                       and its arguments. */
  CHAT_DELTA_KIND_TOOL_ID_WITHDRAWN = 104,        /**< The id of a tool call is to be removed. */
  CHAT_DELTA_KIND_TOOL_ARGUMENTS_WITHDRAWN = 105, /**< The text is to be taken from the end of the arguments of a tool
                                                       call. */
  CHAT_DELTA_KIND_TOOL_END_WITHDRAWN = 106,       /**< A tool call is not whole any more; the text is empty. */
};

/**
 * A text to append to the message or, after `chat_stream_rollback`, to take from its end. All deltas of a stream, applied in
 * order, are its message.
 */
typedef struct {
  chat_delta_kind kind; /**< Which part of the message it is about. */
  size_t call;          /**< Which tool call, from 0; 0 for content and reasoning. */
  chat_str text;        /**< What to append or to take away; whole UTF-8 characters. Valid until the next call that
                             takes the stream without `const`. */
  size_t span_begin;    /**< Where in the output the text comes from: position of the first byte, counted over all bytes
                             fed. What is withdrawn has the span of the output that was taken back. */
  size_t span_end;      /**< And the position after the last byte. Equal to `span_begin` where the text stands for
                             markup (a closing brace, say). */
} chat_delta;

/**
 * A stream at the start of an output. What the prompt has begun already (a prefilled message) shows with the first feed.
 *
 * On success `*out` is a new stream, to be freed with `chat_stream_free`. It does not need the params any more.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_stream_new(const chat_params *params, chat_stream **out, chat_error **error);

/** As `chat_stream_new`, with a parser instead of params. */
chat_status chat_stream_from_parser(const chat_parser *parser, chat_stream **out, chat_error **error);

/**
 * Appends output. What it adds to the message is then in `chat_stream_delta`, until the next feed, finish or rollback. The bytes may be
 * cut anywhere, also inside a character, and are copied; they must not be a view into this same stream.
 *
 * Costs as much as the new bytes, however long the output is by now.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for a stream that is finished. Model output is never an error.
 */
chat_status chat_stream_feed(chat_stream *stream, const char *bytes, size_t bytes_len, chat_error **error);

/**
 * Ends the output. `flags` is 0 where the model ended it, `CHAT_PARSE_PARTIAL` where a limit or the caller cut it off. What was
 * held back because it could have become a marker is then in `chat_stream_delta`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for unknown flags, and for a stream that is finished; `CHAT_STATUS_PARSE` with
 * `CHAT_PARSE_STRICT` for an output that does not fit the format. The stream is finished then, and its message there, all the
 * same.
 */
chat_status chat_stream_finish(chat_stream *stream, uint32_t flags, chat_error **error);

/** How many deltas the last feed, finish or rollback gave. 0 for NULL. */
size_t chat_stream_delta_count(const chat_stream *stream);

/**
 * Delta number `index` (from 0) of the last feed, finish or rollback.
 *
 * On success `*out` is filled; its text is valid until the next call that takes the stream without `const`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
 */
chat_status chat_stream_delta(const chat_stream *stream, size_t index, chat_delta *out, chat_error **error);

/**
 * All deltas of the last feed or finish (none of a rollback) as the `delta` object of one OpenAI chunk, e.g.
 * `{"content":"Hi","tool_calls":[{"index":0,"type":"function","function":{"name":"f","arguments":"{"}}]}`, or `{}` where they
 * add nothing. An `id` is there where and when the model writes one, which may be behind the arguments; many clients want one
 * with the name, and take no second one: `chat_answer` gives whole chunks, with ids as clients want them.
 *
 * On success `*out` is a view, valid until the next call that takes the stream without `const`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_stream_chunk_json(chat_stream *stream, chat_str *out, chat_error **error);

/**
 * How the output related to the format; `CHAT_OUTCOME_PARTIAL` until the stream is finished. `CHAT_OUTCOME_NONE` for NULL.
 */
chat_outcome chat_stream_outcome(const chat_stream *stream);

/**
 * The message so far, or, after finish, the message. It is a copy that the stream does not change.
 *
 * On success `*out` is a new message, to be freed with `chat_message_free`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_stream_message(const chat_stream *stream, chat_message **out, chat_error **error);

/**
 * A second stream in the same state, deltas included; the two then go their own ways. For speculative decoding, and for several
 * choices that share a beginning.
 *
 * On success `*out` is a new stream, to be freed with `chat_stream_free`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_stream_clone(const chat_stream *stream, chat_stream **out, chat_error **error);

/**
 * Notes how the parse stands: from now on `chat_stream_rollback` goes back to this byte of the output or to any later one. There
 * is one checkpoint at a time; a new one takes the place of the old one. For speculative decoding: set it where the output is
 * certain, feed the draft, roll back to the last byte that was accepted.
 *
 * Costs what the parser holds open (the depth of nesting), not the length of the output.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for a stream that is finished.
 */
chat_status chat_stream_checkpoint(chat_stream *stream, chat_error **error);

/**
 * Takes back all output behind its first `output_len` bytes, counted over all bytes fed, as if they had not been fed; a stream
 * that is finished goes on. What that takes away from the message is then in `chat_stream_delta`, with the kinds that say
 * "withdrawn" and no others: calls from the last one on, then texts.
 *
 * Costs what is taken back since the checkpoint, which stays.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, without a checkpoint, and for a length that is less than the checkpoint's or
 * more than there is. Nothing changes then.
 */
chat_status chat_stream_rollback(chat_stream *stream, size_t output_len, chat_error **error);

/**
 * Sets how much work the parse may take: `base`, and `per_byte` for each byte of output; what it has taken by now counts. The
 * units are instructions of the parser, bytes it moves over and attempts it takes back. Formats take 1 to 10 a byte, with 100
 * tools up to 100. Where the budget is used up, the rest of the output is content, and a diagnostic of the kind
 * `CHAT_DIAGNOSTIC_KIND_LIMIT` says so. The default is 1,000,000 and 200, and 8 more for each tool or, if those are more, each argument of a tool.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_stream_set_budget(chat_stream *stream, uint64_t base, uint64_t per_byte, chat_error **error);

/**
 * The work that the parse has taken so far, in the units of `chat_stream_set_budget`. It never falls before `chat_stream_reset`:
 * what `chat_stream_rollback` takes back was done and counts, here, while the budget is for the output as it stands. 0 for NULL.
 */
uint64_t chat_stream_work(const chat_stream *stream);

/**
 * Back to the start of the output, as if the stream were new but for its budget and its special tokens, which stay.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_stream_reset(chat_stream *stream, chat_error **error);

/** Frees the stream. Messages that were taken from it stay valid. NULL is fine. */
void chat_stream_free(chat_stream *stream);

/**
 * The texts of the model's special tokens (UTF-8; copied), for `chat_stream_feed_marked`: what the tokeniser writes for each, a megabyte
 * together at most. They stay when the stream is reset, and a clone has them, too. White space around a text does not count, as it
 * is free at markers: one that is nothing else is no token here; of one with white space inside, its first word counts.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for an empty text, for one that is no UTF-8, and where output was fed;
 * `CHAT_STATUS_LIMIT` for too much text.
 */
chat_status chat_stream_set_special_tokens(chat_stream *stream, const chat_str *tokens, size_t token_count,
                                           chat_error **error);

/**
 * As `chat_stream_feed` where it is known which bytes came from special tokens: `spans`, positions in `bytes`, in order and apart
 * (copied). All other bytes are text. A marker that is a special token, or holds one, counts only where that came as one: the
 * reasoning may quote `</think>`, an argument `</tool_call>`. Markers without special tokens count as ever.
 *
 * Text that may yet spell out a special token waits until that is certain. A token may be cut, with a span for each part: the
 * result does not depend on how the output was cut. What `chat_stream_feed` appends in between counts as ever, and so do the
 * markers that the prompt has at its end. Costs as much as the new bytes.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for a stream that is finished or has no special tokens
 * (`chat_stream_set_special_tokens`), and for spans that overlap, are not in order or do not lie within `bytes`. Nothing is fed
 * then.
 */
chat_status chat_stream_feed_marked(chat_stream *stream, const char *bytes, size_t bytes_len, const chat_span *spans,
                                    size_t span_count, chat_error **error);

/* == The next turn ================================================================================================= */

/**
 * For `chat_params_continue`: where the template was found to write the next turn without a look at what is further up, only
 * the system's message, the user's last one and what is new are rendered, so the cost does not grow with the conversation.
 * It was found out in conversations of some thirty messages; a template that only counts further than that would not be
 * noticed. Such conversations are rendered once for a template, some hundred in all; `chat_params_short` tells whether they
 * settled it.
 */
#define CHAT_CONTINUE_LEARNT 1

/**
 * Why a template writes anew what was sent. Later versions may add reasons: take those that you do not know for
 * `CHAT_REASON_CHANGED`.
 */
CHAT_ENUM(chat_reason) {
  CHAT_REASON_NONE = 0,      /**< It does not. */
  CHAT_REASON_REASONING = 1, /**< The reasoning of an earlier turn is left out. */
  CHAT_REASON_OPENING = 2,   /**< The turn opens otherwise than the prompt opened it, e.g. without an empty thought. */
  CHAT_REASON_MOVED = 3,     /**< What was sent comes further on, behind something else. */
  CHAT_REASON_CHANGED = 4,   /**< Other text stands there. */
  CHAT_REASON_OUTPUT = 5,    /**< The template does not write the turn as the model did: it leaves a part out, or writes
                                  it in a way that cannot be told to be the same. */
};

/** What a template writes anew. */
typedef struct {
  chat_reason reason; /**< Why; `CHAT_REASON_NONE` where all that was sent stands. */
  chat_str words;     /**< The same in words, valid for ever. */
  size_t message;     /**< The message that stands where the first byte is another one, by its number in the
                           conversation, from 0; `SIZE_MAX` where the template's own words stand there, and where there
                           is no rewrite. */
} chat_rewrite;

/**
 * Goes on behind an output so that nothing that was sent is written anew, and what a server keeps of what its model has read
 * stays good: `chat_params_append` of the new params is what to send behind the prompt of `params` and `output`.
 *
 * `output` is what the model wrote behind that prompt, any bytes, with or without the text of the token that ended it. It
 * stays as it was written, also where the message that was read of it would be rendered with other white space or another
 * order of keys. It may have been cut off: what is open then is closed as the template closes it. `messages` is the JSON
 * text of an array of messages as in a request: results of tools, or what the user says. Calls to which the model gave no id
 * have those that the results answer, in their order. Both texts are copied.
 *
 * Some templates write anew what was sent once other messages follow: they drop the reasoning of earlier turns, say. That is
 * no failure: then `chat_params_rewrite` tells why, and `chat_params_kept` how many bytes of what was sent stand; those
 * behind them are to be taken back, a token that reaches behind them included, and `chat_params_append` sent instead.
 *
 * With `flags` 0, the whole conversation is rendered and compared, so nothing is written anew without being told; the other
 * value is `CHAT_CONTINUE_LEARNT`. The clock that the template sees is that of the first request.
 *
 * On success `*out` is a new object, to be freed with `chat_params_free`: it has the whole prompt, and what parses the next
 * output. `params` stays as it is, for another output. Neither needs the other, nor the template.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for unknown flags, and for messages that are no JSON array of messages,
 * naming the field; `CHAT_STATUS_TEMPLATE` where the template raises or fails; `CHAT_STATUS_LIMIT` where the prompt is too
 * long, too deep or too costly.
 */
chat_status chat_params_continue(const chat_params *params, const char *output, size_t output_len, const char *messages,
                                 size_t messages_len, uint32_t flags, chat_params **out, chat_error **error);

/**
 * How many bytes stand of what was sent before `chat_params_continue`, which is the prompt and the output: all of them where
 * there is no rewrite. The prompt begins with them. 0 for NULL, and for params that go on behind no others.
 */
size_t chat_params_kept(const chat_params *params);

/**
 * What to send behind what stands: the prompt from byte `chat_params_kept` on. The view is valid until the params are freed.
 * Empty for NULL.
 */
chat_str chat_params_append(const chat_params *params);

/**
 * Whether `CHAT_CONTINUE_LEARNT` spared the render of the whole conversation. False for NULL, and for params that go on
 * behind no others.
 */
bool chat_params_short(const chat_params *params);

/**
 * Why not all that was sent before `chat_params_continue` stands, if so. The first byte that does not is `chat_params_kept`. No
 * reason for NULL, and for params that go on behind no others.
 */
chat_rewrite chat_params_rewrite(const chat_params *params);

/* == Segments ====================================================================================================== */

/** In a mask: the reasoning of answers, with what opens and closes it. */
#define CHAT_MASK_REASONING 1
/** In a mask: the content of answers. */
#define CHAT_MASK_CONTENT 2
/** In a mask: the calls, with the markup around them. */
#define CHAT_MASK_CALLS 4
/** In a mask: what ends a turn. */
#define CHAT_MASK_END 8
/** In a mask: the last turn alone. */
#define CHAT_MASK_LAST_ONLY 16

/**
 * Where a part of a prompt comes from. Later versions may have more: take a number that is not known for
 * `CHAT_TEXT_ORIGIN_UNKNOWN`.
 */
CHAT_ENUM(chat_text_origin) {
  CHAT_TEXT_ORIGIN_TEMPLATE = 1, /**< The template's own words, special tokens among them. */
  CHAT_TEXT_ORIGIN_MESSAGE = 2,  /**< A message of the request. */
  CHAT_TEXT_ORIGIN_TOOL = 3,     /**< A tool of the request. */
  CHAT_TEXT_ORIGIN_KWARG = 4,    /**< A template variable that the request sets, or its documents. */
  CHAT_TEXT_ORIGIN_UNKNOWN = 5,  /**< The template changes a value in a way that cannot be followed. Never the text of
                                      the template alone. */
};

/** A part of a prompt that comes from one place. */
typedef struct {
  size_t begin;            /**< Position of its first byte in the prompt. */
  size_t end;              /**< And the position after its last byte. */
  chat_text_origin origin; /**< Where it comes from. */
  size_t index;            /**< Which message or tool of the request, from 0; 0 for others. */
  chat_str path;           /**< Of a message: the field, as a JSON pointer into it, e.g. `/content`, `/content/1/text`,
                                `/reasoning_content`, `/tool_calls/0/function/arguments/city`. Of a variable: its name.
                                Empty for others. Valid until the segments are freed. */
} chat_segment;

/**
 * Renders the prompt of a request and tells where each byte of it comes from: the template, or which message, field, tool or variable. So
 * a host may make special tokens of the template's text alone, and no text of a user ever becomes one. The prompt is that of
 * `chat_params_from_template` for the same request. Takes two to forty renders.
 *
 * `request` and `options` are JSON as for `chat_params_from_template_with`; `options` may be NULL.
 *
 * On success `*out` is a new object, to be freed with `chat_segments_free`. It does not need the template any more.
 *
 * Errors: as `chat_params_from_template_with`.
 */
chat_status chat_segments_from_template(const chat_template *template_, const char *request, size_t request_len,
                                        const char *options, size_t options_len, chat_segments **out,
                                        chat_error **error);

/** The prompt. Empty for NULL; valid until the segments are freed. */
chat_str chat_segments_prompt(const chat_segments *segments);
/** How many segments the prompt has. 0 for NULL. */
size_t chat_segments_count(const chat_segments *segments);

/**
 * Segment number `index` (from 0), in the order of the prompt. They cover it, and none is empty.
 *
 * On success `*out` is filled; its text is valid until the segments are freed.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
 */
chat_status chat_segments_at(const chat_segments *segments, size_t index, chat_segment *out, chat_error **error);

/**
 * The bytes of the prompt that models wrote, for training: which of them a model should learn. `parts` is a sum of `CHAT_MASK_REASONING`,
 * `CHAT_MASK_CONTENT`, `CHAT_MASK_CALLS`, `CHAT_MASK_END` and `CHAT_MASK_LAST_ONLY`; other bits are of no meaning. Where the template has `{% generation %}`
 * blocks, no byte outside of them counts, and the first four parts together are just these blocks.
 *
 * Fills the first `capacity` spans of `out`, in order and apart from each other, and returns how many there are. `out` may be NULL where
 * `capacity` is 0. Returns 0 for NULL segments.
 */
size_t chat_segments_mask(const chat_segments *segments, uint32_t parts, chat_span *out, size_t capacity);

/** Frees the segments. NULL is fine. */
void chat_segments_free(chat_segments *segments);

/* == Grammars ====================================================================================================== */

/** A notation of grammars. */
CHAT_ENUM(chat_dialect) {
  CHAT_DIALECT_GBNF = 1,               /**< GBNF as llama.cpp writes it. */
  CHAT_DIALECT_PORTABLE_GBNF = 2,      /**< GBNF that llama.cpp of every version reads, and XGrammar. */
  CHAT_DIALECT_LARK = 3,               /**< Lark as llguidance reads it, and XGrammar and vLLM. */
  CHAT_DIALECT_STRUCTURAL_TAG = 4,     /**< XGrammar's structural tag, as JSON: `{"type": "structural_tag", "format":
                                            ...}`. */
  CHAT_DIALECT_STRUCTURAL_TAG_OLD = 5, /**< Its older form, which llguidance reads, too: `{"structures": [...],
                                            "triggers": [...]}`. */
};

/** How a grammar departs from a schema. */
CHAT_ENUM(chat_fidelity_kind) {
  CHAT_FIDELITY_KIND_WIDENED = 1,  /**< It allows more than the schema. */
  CHAT_FIDELITY_KIND_REFUSED = 2,  /**< The part could not be used at all, and something else stands for it. */
  CHAT_FIDELITY_KIND_NARROWED = 3, /**< It allows less than the schema. */
};

/** How schemas become rules. */
CHAT_ENUM(chat_grammar_style) {
  CHAT_GRAMMAR_STYLE_FAITHFUL = 1,  /**< What the schema allows, as nearly as a grammar can. */
  CHAT_GRAMMAR_STYLE_LLAMA_CPP = 2, /**< The text that llama.cpp makes of the schema. */
};

/** What a grammar says of a text. */
CHAT_ENUM(chat_grammar_verdict) {
  CHAT_GRAMMAR_VERDICT_ALLOWED = 1, /**< It allows the text. */
  CHAT_GRAMMAR_VERDICT_PREFIX = 2,  /**< It does not allow the text yet: some longer text that begins so is allowed. */
  CHAT_GRAMMAR_VERDICT_REFUSED = 3, /**< It allows no text that begins so. */
};

/** A place of a schema that the grammar does not follow to the letter. Places without an entry are followed. */
typedef struct {
  chat_fidelity_kind kind; /**< In which way. */
  chat_str schema;         /**< The rule or tool that the schema was added as; empty for a grammar's only schema. */
  chat_str pointer;        /**< The place inside the schema, as a JSON pointer with `#` in front. */
  chat_str message;        /**< What stands there instead, for people. */
} chat_fidelity;

/**
 * The grammar of the JSON values that a schema allows, compact or pretty. `schema` is JSON text; it is copied.
 *
 * Properties stand in the order in which the schema declares them, and others where the schema allows them. What a grammar cannot
 * say, or no sampler could carry, is told by `chat_grammar_report`: where the grammar allows more than the schema, and where less.
 *
 * On success `*out` is a new grammar, to be freed with `chat_grammar_free`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for text that is no JSON or not UTF-8; `CHAT_STATUS_SCHEMA` for a schema
 * that contradicts itself or is wrong, with the JSON pointer of the place, e.g. `#/properties/age`; `CHAT_STATUS_LIMIT` for one
 * that is too deep or too large.
 */
chat_status chat_grammar_from_json_schema(const char *schema, size_t schema_len, chat_grammar **out,
                                          chat_error **error);

/**
 * `chat_grammar_from_json_schema` in the style of that number, a `chat_grammar_style`.
 *
 * Errors: as there, and `CHAT_STATUS_INVALID_ARGUMENT` for a number without a style.
 */
chat_status chat_grammar_from_json_schema_with(const char *schema, size_t schema_len, uint32_t style,
                                               chat_grammar **out, chat_error **error);

/**
 * Whether a value that the schema (JSON text) allows may be a string, by any of its branches. Tagged formats write such values as raw
 * text.
 *
 * On success `*out` is the answer. A reference that leads nowhere, or in a circle, counts as no string.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for text that is no JSON or not UTF-8.
 */
chat_status chat_schema_allows_string(const char *schema, size_t schema_len, bool *out, chat_error **error);

/**
 * The rules as GBNF, a line each; it starts at the rule `root`. Empty where nothing is constrained. The view is valid until
 * the grammar is freed. Empty for NULL.
 */
chat_str chat_grammar_text(const chat_grammar *grammar);

/**
 * What a grammar says of a text, for tests of grammars and of what was written under them. `grammar` is GBNF, from
 * `chat_grammar_text` or from anywhere else, and is read anew by each call, as llama.cpp reads it. Grammar and text are only
 * looked at; may be called by several threads at once.
 *
 * On success `*out` is the verdict. A text that would take too long to check counts as refused.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for text that is not UTF-8, and, with the line, for a grammar that llama.cpp
 * could not use: it is no GBNF, has no rule `root`, a rule refers to one that is not there, or begins with itself;
 * `CHAT_STATUS_LIMIT`.
 */
chat_status chat_grammar_check(const char *grammar, size_t grammar_len, const char *text, size_t text_len,
                               chat_grammar_verdict *out, chat_error **error);

/**
 * The same grammar in another dialect, one of `chat_dialect`. It allows exactly the same texts; its report has what the dialect cannot say,
 * and not what the grammar itself leaves of its schemas. A tag holds the grammar as one part.
 *
 * On success `*out` is a new grammar, to be freed with `chat_grammar_free`; only its text and its report are of use, as GBNF is the
 * one dialect that is read.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for a dialect that there is not, for a grammar that llama.cpp could not use or
 * that was printed in another dialect, and for `CHAT_DIALECT_STRUCTURAL_TAG_OLD`, which holds no grammars; `CHAT_STATUS_LIMIT`
 * where it is too large.
 */
chat_status chat_grammar_as(const chat_grammar *grammar, uint32_t dialect, chat_grammar **out, chat_error **error);

/** In how many places the grammar departs from its schemas. 0 for NULL. */
size_t chat_grammar_report_count(const chat_grammar *grammar);

/**
 * Place number `index` (from 0) where the grammar departs from a schema.
 *
 * On success `*out` is filled; its texts are valid until the grammar is freed.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
 */
chat_status chat_grammar_report(const chat_grammar *grammar, size_t index, chat_fidelity *out, chat_error **error);

/** Frees the grammar. NULL is fine. */
void chat_grammar_free(chat_grammar *grammar);

/* == Parsers ======================================================================================================= */

/**
 * The parser of these params.
 *
 * On success `*out` is a new object, to be freed with `chat_parser_free`. It does not need the params any more.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_params_parser(const chat_params *params, chat_parser **out, chat_error **error);

/**
 * The parser that `chat_parser_text` wrote. The text may come from anywhere: it is checked, and is copied.
 *
 * On success `*out` is a new object, to be freed with `chat_parser_free`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for text that no `chat_parser_text` of this version writes, and for a format
 * that cannot be used, e.g. because a rule begins with itself; `CHAT_STATUS_LIMIT` for one that is too deep or too long.
 */
chat_status chat_parser_from_text(const char *text, size_t text_len, chat_parser **out, chat_error **error);

/**
 * The parser as a text for `chat_parser_from_text`, in this process or in another one whose library has the same version. What
 * it looks like is not promised. The first call writes the text; later ones return the same.
 *
 * On success `*out` is a view, valid until the parser is freed.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_parser_text(const chat_parser *parser, chat_str *out, chat_error **error);

/**
 * The grammar of what the parser reads: parser and grammar come from one description. With `lazy`, of what may follow a trigger
 * only, that is of the rules that were marked as such (`chat_expr_rule`); otherwise of the prefill together with the output.
 *
 * On success `*out` is a new handle, to be freed with `chat_grammar_free`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_parser_grammar(const chat_parser *parser, bool lazy, chat_grammar **out, chat_error **error);

/** As `chat_parse_partial`, with a parser instead of params. */
chat_status chat_parser_parse(const chat_parser *parser, const char *text, size_t text_len, uint32_t flags,
                              chat_message **out, chat_error **error);

/** Frees the parser. Streams, messages and grammars that were made with it stay valid. NULL is fine. */
void chat_parser_free(chat_parser *parser);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#include "chatparse/format.h"
#include "chatparse/server.h"

#endif  /* CHATPARSE_H */
