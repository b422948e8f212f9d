/*
 * chatparse: chat templates of language models, from C. This file is the manual.
 *
 * A chat_template is compiled once for each model and learns the model's output format. For each request it makes
 * chat_params: the prompt, the sampling grammar, and the parser of the output. A chat_stream parses the output while
 * the model writes it. The result is a chat_message.
 *
 * Sections (search for "== Title"):
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
 *     The next bytes       what may come next in an output, and what must
 *     Parsers              what parses an output, without its params
 *     Log                  what the library decides and is surprised by
 *     Grammar builder      grammars from rules and schemas (chatparse/unstable.h)
 *     Formats of your own  syntax trees and grammars, for formats that no template shows (chatparse/unstable.h)
 *     Conversations in token ids ids in, ids out: what was sent and sampled stays; only in a library with the part `conversation` (chatparse/unstable.h)
 *     Servers' APIs        requests and answers of OpenAI's and Anthropic's APIs (chatparse/server.h)
 *
 * These rules hold for all functions. Their comments do not repeat them.
 *
 * Ownership. A function with an output `T **out` makes a new object, which is yours. Free it once with the function
 * `_free` of its noun, which accepts NULL. No object needs another one to stay alive: free them in any order. The
 * library copies the texts and arrays that you pass.
 *
 * Views. A chat_str, a list or a struct of fields that a function returns, writes to `*out` or puts into a struct belongs
 * to the object of the call: do not free it. If that object is a stream, an answer, a conversation or a grammar builder, the
 * view is valid until the next call that takes the object without const, and otherwise until the object is freed.
 *
 * Fields. What an object holds is read in a struct, e.g. `chat_message_view(message)->content`. The function of an
 * immutable object makes the struct when it is first called, and later returns the same. Lists are arrays, with `len` items
 * at `data`, which is NULL if there are none. Their items are in the order of the text that they are about.
 *
 * Errors. A function that can fail returns a chat_status. It writes its outputs only on CHAT_STATUS_OK, and `*error`
 * only on another status; `error` may be NULL. Use the status: CHAT_MUST_USE makes compilers warn where you do not.
 * CHAT_STATUS_INVALID_ARGUMENT means in every function: a handle or an output is NULL, a text is NULL with a length
 * above 0, is not UTF-8 (at which byte) or not JSON where it must be, an index is out of range, or a flag or the
 * number of an enumeration is unknown. "Errors:" lists what else a function returns. The model's output is never an
 * error, except with CHAT_PARSE_STRICT.
 *
 * Values. A function that returns a value directly cannot fail. For a NULL handle it returns 0, false, an empty text or
 * list, or a struct whose fields are all 0, which is not NULL; if its comment has no other value.
 *
 * Threads. Any number of threads may use an object at once in calls that take it as const. A call that takes it
 * without const needs it alone. So templates, params, parsers, trees, grammars, segments, messages and errors can be
 * shared; a stream, an answer and a builder belong to one thread at a time.
 *
 * Stack. No call needs more than 128 KiB of the caller's stack, whatever templates, requests and schemas hold. What nests deeply,
 * and a template while it is compiled, is worked on by a thread of the library with 1 MiB, which ends before the call
 * does. WebAssembly has no threads: there all is on the program's own stack, of 1 MiB.
 *
 * Texts. A pointer and a length in bytes. They may hold NUL and need none at the end. NULL with length 0 is an empty
 * text. A model's output may be any bytes; all other input must be UTF-8. Texts of the library are UTF-8, with U+FFFD
 * for other bytes of the output.
 *
 * Numbers. Positions and lengths are in bytes. Ranges include the first position and exclude the last. Indexes start
 * at 0.
 *
 * Defects of the library (Rust panics) do not unwind into your code. The call returns CHAT_STATUS_INTERNAL, and so do
 * all later calls on an object that the call was changing; other objects stay usable. A function without a status
 * returns the empty value, as for a NULL handle. WebAssembly has no unwinding: there a defect is a trap, and the instance cannot be used
 * further.
 *
 * Cost. The time and memory of a call are proportional to the texts that you pass and that it returns, unless its
 * comment says otherwise.
 *
 * Compatibility. Structs that a program makes, and items of lists, never change. A struct of fields, which the library
 * makes, may get more of them at its end: do not copy it by its size. Enumerations may grow, and JSON objects may
 * get new fields. A release 0.y may break the ABI of the release before it, and then has another SONAME; from 1.0 on,
 * functions are only added. A function exists since 0.1 unless its comment names a later version. Anything in
 * chatparse/unstable.h may change in any release.
 *
 * Systems. On Windows this header serves the DLL and the static library: only functions are exported, and they need no
 * __declspec(dllimport). The module for wasm32-unknown-unknown imports nothing and has no clock: the request has
 * `now`. A host passes texts and outputs in memory that it has added (memory.grow), as in c-tests/wasm.mjs.
 *
 * Parts. A build for a small device may leave out the server APIs (chat_answer, chat_error_body,
 * chat_error_http_status), segments, the next turn, the lint, and grammars in other notations than GBNF. Then those
 * functions are missing, and a program that calls them does not link; asking for such a report or notation is
 * CHAT_STATUS_INVALID_ARGUMENT.
 *
 * Names begin with chat_ or CHAT_. The struct tags of handles begin with chatparse_, so that a program can have its
 * own `struct chat_message` in C (in C++, the compiler reports the clash). chatparse.hpp wraps this file for C++17.
 *
 * A whole program:
 *
 *     #include <stdio.h>
 *     #include <string.h>
 *
 *     #include <chatparse.h>
 *
 *     // A template as a model vendor ships it. How this model writes reasoning and tool calls is learnt from the text.
 *     static const char source[] =
 *         "{%- for tool in tools or [] -%}\n"
 *         "Tool: {{ tool.function | tojson }}\n"
 *         "{% endfor -%}\n"
 *         "{%- for message in messages -%}\n"
 *         "<|{{ message.role }}|>\n"
 *         "{%- if message.reasoning_content -%}<think>{{ message.reasoning_content }}</think>{%- endif -%}\n"
 *         "{{- message.content or '' }}\n"
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
 *         "<think>Rain? Let me", " look.</think>One moment. <tool",
 *         "_call>{\"name\": \"wea", "ther\", \"arguments\": {\"city\"", ": \"Oslo\"}}</tool_call>",
 *     };
 *
 *     static void print_deltas(const chat_stream *stream) {
 *       const chat_delta_list deltas = chat_stream_view(stream)->deltas;
 *       for (size_t i = 0; i < deltas.len; i++) {
 *         const chat_delta *delta = &deltas.data[i];
 *         printf("%s: %.*s\n", chat_delta_kind_name(delta->kind), (int)delta->text.len, delta->text.data);
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
 *         text = chat_params_view(params)->prompt;
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

/* Marks functions that can fail: the compiler warns where a program ignores their status. Define it as nothing before the
   #include to turn these warnings off. */
#ifndef CHAT_MUST_USE
#if defined(__GNUC__)
#define CHAT_MUST_USE __attribute__((warn_unused_result))
#else
#define CHAT_MUST_USE
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/* == Version =================================================================================== */

/** Major version of this header. */
#define CHAT_VERSION_MAJOR 0
/** Minor version of this header. */
#define CHAT_VERSION_MINOR 1
/** Patch version of this header. */
#define CHAT_VERSION_PATCH 0
/** Version of this header as one number, for comparisons: major * 10000 + minor * 100 + patch. */
#define CHAT_VERSION_NUMBER (((CHAT_VERSION_MAJOR * 10000) + (CHAT_VERSION_MINOR * 100)) + CHAT_VERSION_PATCH)

/**
 * Returns the version of the linked library, e.g. `0.1.0`. The text is static and ends with NUL.
 */
const char *chat_version(void);

/* == Handles =================================================================================== */

/** A status and a sentence about a call that failed. Immutable. */
typedef struct chatparse_error chat_error;
/** A sampling grammar and a report on where it differs from its schemas. Immutable. */
typedef struct chatparse_grammar chat_grammar;

/**
 * Follows an output under its grammar: feed it what the model writes, and it says which bytes may
 * come next, and which text must come next. For engines that have no grammars, and for drafts:
 * text that must come need not be sampled.
 */
typedef struct chatparse_matcher chat_matcher;

/** One message of a model: reasoning, content, tool calls, diagnostics. Immutable. */
typedef struct chatparse_message chat_message;

/**
 * One request: its prompt, what the sampler and the tokeniser need, and the output's parser.
 * Immutable.
 */
typedef struct chatparse_params chat_params;

/** A parser of outputs, without the rest of the params. Immutable. */
typedef struct chatparse_parser chat_parser;

/**
 * A prompt with the source of each byte: the template, or a message, tool or variable of the
 * request. Immutable.
 */
typedef struct chatparse_segments chat_segments;

/**
 * A parser of one output in pieces: takes bytes, returns what they add to the message. One thread
 * at a time.
 */
typedef struct chatparse_stream chat_stream;

/** A compiled chat template: renders prompts, and learns the model's output format. Immutable. */
typedef struct chatparse_template chat_template;

/* == Texts ===================================================================================== */

/**
 * A view of text. See the rules above for its lifetime. Print it with `printf("%.*s",
 * (int)text.len, text.data)`.
 */
typedef struct {
  const char *data; /**< The first byte; never NULL in a view that the library returns, except in
                         the fields of a NULL handle. */
  size_t len;       /**< Length in bytes. */
} chat_str;

/** Several of them: an array of the object that they were asked of. */
typedef struct { const chat_str *data; size_t len; } chat_str_list;

/** A range of bytes in an output, or in a piece of it. */
typedef struct {
  size_t begin; /**< Position of the first byte. */
  size_t end;   /**< Position after the last byte. */
} chat_span;

/* == Errors ==================================================================================== */

/*
 * Functions that can fail take `chat_error **error` last. Pass NULL if the status is enough.
 * Otherwise a call that fails stores a new object there, whatever the old value is; free it with
 * `chat_error_free`. A call that succeeds leaves `*error` alone.
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
 * The result of a call. Each hundred is one kind of error. Numbers never change their meaning;
 * later versions may add some. Treat an unknown number as its hundred: 203 as 200.
 */
CHAT_ENUM(chat_status) {
  CHAT_STATUS_OK = 0,                 /**< The call succeeded and wrote its outputs. */
  CHAT_STATUS_INVALID_ARGUMENT = 100, /**< The input has the wrong form; the error's message names
                                           what and where. (HTTP: 400.) */
  CHAT_STATUS_TEMPLATE = 200,         /**< The template does not parse, raises an error, or fails
                                           while it renders. (HTTP: 400 for a client's template, 500
                                           for the server's own.) */
  CHAT_STATUS_SCHEMA = 300,           /**< A JSON schema cannot be used. (HTTP: 400.) */
  CHAT_STATUS_LIMIT = 400,            /**< The input is too long, too deep or too costly. (HTTP: 400
                                           or 413.) */
  CHAT_STATUS_PARSE = 500,            /**< The output does not match the format, and the caller set
                                           `CHAT_PARSE_STRICT`; or a tree that did not match has no
                                           message. (HTTP: 500.) */
  CHAT_STATUS_INTERNAL = 900,         /**< A defect of the library. A handle that the call took
                                           without `const` can only be freed now. (HTTP: 500.) */
};

/**
 * Returns the lower-case name of a status, e.g. `invalid_argument`, or `unknown`; static, with NUL
 * at its end.
 */
const char *chat_status_name(uint32_t status);

/**
 * Checks that a program compiled with the header version `header` can use the library that was
 * loaded: pass `CHAT_VERSION_NUMBER`. A library can be used by programs for its own version, and
 * for older versions with the same ABI.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT`, with both versions, if it cannot.
 */
CHAT_MUST_USE chat_status chat_version_check(uint32_t header, chat_error **error);

/** Returns the status that the failed call returned. `CHAT_STATUS_INVALID_ARGUMENT` for NULL. */
chat_status chat_error_status(const chat_error *error);

/**
 * Returns what is wrong and where, as one sentence for people. The words may change between
 * versions.
 */
chat_str chat_error_message(const chat_error *error);

/** Frees the error. */
void chat_error_free(chat_error *error);

/* == Templates ================================================================================= */

/*
 * Make one template for each model and share it between threads. It learns the format once, at the
 * first request.
 */

/** The reports of `chat_template_report`. Each is a JSON object. */
CHAT_ENUM(chat_report) {
  CHAT_REPORT_CAPS = 1,                        /**< What the template accepts. Costs a few
                                                    renders. */
  CHAT_REPORT_TURN = 2,                        /**< What the library learnt about an assistant's
                                                    turn. Costs some thirty renders, unless a
                                                    request made them. */
  CHAT_REPORT_LAYOUT = 3,                      /**< The same under llama.cpp's names. Costs as
                                                    much. */
  CHAT_REPORT_PROOF = 4,                       /**< How well the library reads what the template
                                                    writes. Costs some sixty renders and parses. */
  CHAT_REPORT_LINT = 5,                        /**< A check for authors of templates. Costs some
                                                    hundred renders and parses. Only if the library
                                                    was built with its part `lint`
                                                    (docs/packaging.md). */
  CHAT_REPORT_RESPONSE_TEMPLATE = 6,           /**< How outputs are read, as a response template for
                                                    other programs. Costs as much as the turn. */
  CHAT_REPORT_RESPONSE_TEMPLATE_VLLM = 7,      /**< The same, limited to what vLLM's server in
                                                    Python supports. */
  CHAT_REPORT_RESPONSE_TEMPLATE_VLLM_RUST = 8, /**< The same, limited to what vLLM's server in Rust
                                                    supports. */
  CHAT_REPORT_RESPONSE_TEMPLATE_SGLANG = 9,    /**< The same, limited to what SGLang supports. */
};

/**
 * Compiles a template. `source` is Jinja, or the text of a `tokenizer_config.json` or
 * `chat_template.json` that holds a template. `bos` and `eos` are the texts of the model's special
 * tokens, e.g. `<s>` and `</s>`; with length 0, those of the file are used, if it has them.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for a JSON object without a template;
 * `CHAT_STATUS_TEMPLATE`, with the line, for text that does not parse; `CHAT_STATUS_LIMIT` for
 * text that is too long.
 */
CHAT_MUST_USE chat_status chat_template_new(const char *source, size_t source_len, const char *bos,
                                            size_t bos_len, const char *eos, size_t eos_len,
                                            chat_template **out, chat_error **error);

/**
 * Compiles a template with options. `options` is a JSON object with any of these fields:
 *
 * - `name` (text, default `default`): which of several named templates of a
 *   `tokenizer_config.json`;
 * - `bos`, `eos` (text, default empty): as for `chat_template_new`;
 * - `ends` (array of strings, default empty): the texts of further tokens that end the model's
 *   output, e.g. those of all ids that `eos_token_id` of a `generation_config.json` lists.
 *   Templates do not see them; masks, the next turn and the parser do;
 * - `learn_only` (boolean, default false): use only what the template's text shows, and no
 *   built-in rules of a template family;
 * - `prove` (boolean, default true): if there are several readers for the format, render test
 *   messages at the first request and take the reader that reads most of them back. False takes
 *   the first reader;
 * - `response_template` (object, default null): a response template as transformers has it
 *   (version 1), in place of that of a `tokenizer_config.json`. It is the first reader; `source`
 *   may then be empty;
 * - `special_tokens` (array of strings, default empty): those of the vocabulary, for
 *   `CHAT_REPORT_LINT`, in place of those of a `tokenizer_config.json`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for options that are unknown or have the wrong type;
 * otherwise as `chat_template_new`.
 */
CHAT_MUST_USE chat_status chat_template_with_options(const char *source, size_t source_len,
                                                     const char *options, size_t options_len,
                                                     chat_template **out, chat_error **error);

/**
 * Writes the template with what was learnt from it, for `chat_template_from_bytes` of the same
 * library version, in any process. So a server that starts with many models need not learn them
 * again. The first call learns what was not needed yet, in some hundred renders; later ones return
 * the same. The bytes live as long as the template. Keep the template's source, too: other
 * versions refuse the bytes.
 */
CHAT_MUST_USE chat_status chat_template_to_bytes(const chat_template *template_, chat_str *out,
                                                 chat_error **error);

/**
 * Makes a template from the bytes of `chat_template_to_bytes`. It is compiled when it first
 * renders, and learns again only for requests that set template variables. The bytes may come from
 * an untrusted source, as a template's source may.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for bytes of another library version, for damaged bytes,
 * and for bytes that are no template; `CHAT_STATUS_LIMIT` for too many bytes.
 */
CHAT_MUST_USE chat_status chat_template_from_bytes(const char *data, size_t data_len,
                                                   chat_template **out, chat_error **error);

/**
 * Makes one of the built-in templates, by its name, e.g. `chatml`: for a model that has none.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for an unknown name; the message lists the known ones.
 */
CHAT_MUST_USE chat_status chat_template_builtin(const char *name, size_t name_len,
                                                chat_template **out, chat_error **error);

/** Returns the names of the built-in templates, valid for ever. */
chat_str_list chat_template_builtins(void);

/**
 * Returns the text of the template as the library renders it: line feeds only, no line feed at its
 * end, known faults corrected.
 */
chat_str chat_template_source(const chat_template *template_);

/**
 * Writes the name of the reader of the model's output: `turn` for a learnt format,
 * `response-template`, or the name of a template family. If there are several readers to choose
 * from, the first call compares them in about ten renders, unless `chat_params_from_template` has
 * done so. The view is valid for ever.
 */
CHAT_MUST_USE chat_status chat_template_reader(const chat_template *template_, chat_str *out,
                                               chat_error **error);

/**
 * Tests how well the library reads what the template writes: it renders messages of many kinds,
 * and parses the renders. `*cases` is the number of messages, `*read_back` the number that parse
 * to the same message. Messages that the template refuses, and those whose turn does not begin
 * where the prompt ends, do not count. A host may refuse a template if the numbers differ or are
 * 0; `CHAT_REPORT_PROOF` has the reasons. The first call renders and parses about sixty messages;
 * later ones return the same.
 */
CHAT_MUST_USE chat_status chat_template_proof(const chat_template *template_, size_t *read_back,
                                              size_t *cases, chat_error **error);

/**
 * Writes a report about the template, a `chat_report`, as a JSON object. The first call for a
 * report makes it; later ones return the same text.
 *
 * `CHAT_REPORT_CAPS` has booleans: `supports_string_content`, `supports_typed_content`,
 * `supports_tools`, `supports_tool_calls`, `supports_parallel_tool_calls`, `supports_system_role`,
 * `supports_preserve_reasoning`, `supports_reasoning_effort` and `supports_object_arguments`
 * (arguments must be an object, not JSON text). Beside them is `reasoning_effort_levels`, a list:
 * those of `minimal`, `low`, `medium`, `high`, `xhigh` and `max` for which the template renders
 * different prompts.
 *
 * `CHAT_REPORT_TURN` is for people. It has a list of texts for each part of the turn, such as
 * `reasoning`, `call` or `argument: string`, and for what is between two of them, such as `content
 * → call`. Parts that the library could not learn are missing. The parser uses it if
 * `chat_template_reader` is `turn`.
 *
 * `CHAT_REPORT_LAYOUT` has `reasoning` and `tools`, objects, and `user_start`, `assistant_start`,
 * `preserved_tokens` and `additional_stops`: what llama.cpp tells hosts of the turn; and `turn`:
 * how it is written, as descriptions (docs/formats.md) take it.
 *
 * `CHAT_REPORT_PROOF` has the result of `chat_template_proof` in full:
 *
 * - `reader`: as `chat_template_reader`;
 * - `cases`, `read_back`: as `chat_template_proof`; `with_calls`: the cases with tool calls;
 * - `recovered`: those that are read back although they break the reader's format; grammars do not
 *   cover them, and streams show them late;
 * - `grammar_cases`: the messages of calls alone that the grammar of required calls was asked
 *   about; `grammar_right`: those that it takes, without a beginning that is no answer;
 *   `grammar_fault`: what it does with the first other one;
 * - `alike`: messages that do not count, because another one comes back that the template renders
 *   to the same text;
 * - `no_turn`, `omitted`, `refused`: messages that do not count, because the turn does not begin
 *   where the prompt ends, because the template leaves out a part of them, or because it raises an
 *   error; `refusal`: the first of these errors, or empty;
 * - `failures`: an array of objects with `probe` (the kind of message), `thinking` (`off`,
 *   `silent` or `on`: reasoning is disabled, absent, or present), `turn` (the rendered text),
 *   `expected` and `got` (messages as JSON text), and `why`.
 *
 * `CHAT_REPORT_LINT` asks laws about renders and reads (docs/lint.md lists them):
 * - `faults`: the number of findings that are faults;
 * - `laws`: an object with `fault`, `note`, `holds` or `not asked` for each law;
 * - `findings`: an array of objects with `rule` (the law), `fault` (false for a note), `message`,
 *   `effect` (the cost to users), `request` (the smallest one that shows it, or null), `shown`
 *   (texts: `from`, e.g. `expected` and `got`, and `text`) and `places` in the template's source
 *   (`line`, `column`, `excerpt`);
 * - `cases`: an array with an object for each message of the proof and each `thinking`: `probe`
 *   (the kind of message), `turn` (the rendered text), `outcome` (`survives`, `omitted`,
 *   `no_turn`, `lost`, `alike`, `spaced`, `rewritten` or `refused`), `fault`, `at` (the first byte
 *   that differs, or null), `expected` (a text, or the part that is omitted) and `got` (a text, or
 *   the error).
 *
 * `CHAT_REPORT_RESPONSE_TEMPLATE` has `response_template`: how outputs are read, in the form of
 * transformers (version 1), or null with an `error` if no response template can express the calls;
 * and `limits`: an array of objects with `field` (of the message) and `message`, which says what
 * may be read differently. `CHAT_REPORT_RESPONSE_TEMPLATE_VLLM` and the reports after it have the
 * same for other engines; their `limits` also list what is lost in that engine.
 */
CHAT_MUST_USE chat_status chat_template_report(const chat_template *template_, uint32_t report,
                                               chat_str *out, chat_error **error);

/** Frees the template. Params that were made from it stay valid. */
void chat_template_free(chat_template *template_);

/* == Params ==================================================================================== */

/* Several choices of one request may use the same params, on several threads. */

/** The kinds of trigger. */
CHAT_ENUM(chat_trigger_kind) {
  CHAT_TRIGGER_KIND_WORD = 1,    /**< A text in the output. */
  CHAT_TRIGGER_KIND_PATTERN = 2, /**< A regular expression (ECMAScript) to search for in the output.
                                      The grammar applies from the match's first group that took
                                      part, or else from the start of the match. */
};

/** The text at the start of a role's turns in a prompt. */
typedef struct {
  chat_str role; /**< The role: `user`, `assistant`, `system` or `tool`. */
  chat_str text; /**< The text. */
} chat_delimiter;

/** Several of them: an array of the object that they were asked of. */
typedef struct { const chat_delimiter *data; size_t len; } chat_delimiter_list;

/** A place in the output from which a lazy grammar applies. */
typedef struct {
  chat_trigger_kind kind; /**< How to read `value`. */
  chat_str value;         /**< The word or the regular expression. */
} chat_trigger;

/** Several of them: an array of the object that they were asked of. */
typedef struct { const chat_trigger *data; size_t len; } chat_trigger_list;

/** What a host reads of the params. Views and arrays are valid as long as the params. */
typedef struct {
  chat_str prompt;                        /**< The prompt: the text for the model. */
  chat_str generation_prompt;             /**< The end of the prompt that belongs to the assistant's
                                               turn. Streams know it: do not feed it to them. */
  chat_str format;                        /**< The name of the output's format, for logs:
                                               `peg-native`, `peg-gemma4` or `peg-minimax-m3`. */
  chat_str_list preserved_tokens;         /**< Texts that the tokeniser must keep as single tokens
                                               and the detokeniser must print. */
  chat_str_list additional_stops;         /**< Texts that end the output besides the end-of-turn
                                               token. */
  chat_str thinking_start_tag;            /**< The text that opens reasoning, e.g. `<think>`; empty
                                               if there is none. */
  chat_str_list thinking_end_tags;        /**< The texts that close reasoning; each of them alone
                                               does. */
  chat_delimiter_list message_delimiters; /**< The texts at the start of a role's turns in a
                                               prompt. */
  chat_trigger_list grammar_triggers;     /**< The places from which a lazy grammar applies. Ignore
                                               them if the grammar is not lazy. */
  bool grammar_lazy;                      /**< Whether the output is free up to the first trigger,
                                               and the grammar applies from there. If false, the
                                               grammar describes the generation prompt and the
                                               output together: let the sampler accept
                                               `generation_prompt` first. */
  bool supports_thinking;                 /**< Whether the template has reasoning. */
} chat_params_fields;

/** A piece of media that the prompt refers to. */
typedef struct {
  chat_str kind;   /**< `image`, `audio`, `video` or `file`. */
  chat_str text;   /**< Its placeholder in the prompt. Several may have the same text; they come in
                        the prompt's order. */
  chat_str source; /**< The part of the request as JSON, e.g. `{"type": "image_url", "image_url":
                        {"url": ...}}`. */
  size_t message;  /**< Index of its message in the request. */
  size_t part;     /**< Index of its part in that message's content. */
  bool native;     /**< True if the template wrote `text`; false if it is the option
                        `media_marker`. */
} chat_media;

/** Several of them: an array of the object that they were asked of. */
typedef struct { const chat_media *data; size_t len; } chat_media_list;

/**
 * Renders the prompt of a request and builds the parser of its output. The first call on a
 * template also learns its format.
 *
 * `request` is the JSON text of an OpenAI chat-completions body. The library reads these fields:
 *
 * - `messages` (required): `role`, `content` (a text, or parts `text`, `refusal`, `thinking`,
 *   `image_url`, `input_audio`, `file` and vendors' names for them: see `chat_params_media`),
 *   `reasoning_content` (or `reasoning`, `thinking`), `tool_calls`, `function_call`, `name`,
 *   `tool_call_id`, `refusal`;
 * - `tools`: of type `function` (with `strict`, `return`); `custom`, which becomes a function with
 *   one argument `input`, whose format may be a regular expression or a Lark grammar; `namespace`,
 *   a list of tools whose names it precedes; and tools of clients that the APIs know by their
 *   type, such as `apply_patch`. A tool with `defer_loading` is unknown until a part
 *   `tool_reference` reveals it;
 * - `tool_choice`: `auto`, `required`, `none`, a tool by its name, or `allowed_tools`;
 *   `parallel_tool_calls` (default true; false narrows the grammar only);
 * - `response_format`: `text`, `json_object` or `json_schema`; beside tools, the output is a call
 *   or such a response (`tool_choice`: `auto`), or a call (`required`); `reasoning_effort`.
 *
 * It also reads these options, which may instead be in a JSON of their own
 * (`chat_params_from_template_with`):
 *
 * - `reasoning_format`: `none` leaves reasoning in the content; `auto` (default), `deepseek` and
 *   `deepseek-legacy` separate it;
 * - `enable_thinking`, `add_generation_prompt` (default true); `chat_template_kwargs`: an object
 *   of further template variables. If one of them changes the format, the parser and the grammar
 *   follow it;
 * - `roles`: what the library does if the template raises an error on the messages, or leaves out
 *   what they say. `fit` (default): it makes the fewest changes with which the prompt has all
 *   texts: it puts results in the order of their calls, changes ids of calls to the form that the
 *   template demands, makes turns of several calls of a turn, joins system and developer messages
 *   or makes them the user's, joins consecutive messages of one role, and adds empty messages.
 *   `chat_params_json` notes what was changed, and what is not in the prompt. `as_sent` (the
 *   default of `plain` requests and of `compat`: `llama.cpp`): nothing is changed;
 * - `effort`: `fit` (default): `reasoning_effort` `none` turns thinking off where the template has
 *   the switch, and a level that the template refuses becomes the nearest one that it takes.
 *   `as_sent`: it stays;
 * - `continue_final_message`: true, `content` or `reasoning_content`: the model continues that
 *   text of the last message: the prompt ends where the text ends, as in transformers. The parsed
 *   message includes the text that the prompt has;
 * - `compat`: `off` (default), or `llama.cpp`, which sets the defaults of llama.cpp's own request
 *   (`reasoning_format`: `none`, `parallel_tool_calls`: false, `grammar_style`: `llama.cpp`,
 *   `opening_again`: `reasoning`, `calls_in_reasoning`: `llama.cpp`, `nearly_json`: `keep`), a
 *   continued message follows the generation prompt, no tool can be called beside a
 *   `response_format`, and the end of the turn stays in the content;
 * - `plain` (default false): the template gets `messages`, `tools`, `documents` and
 *   `chat_template_kwargs` unchanged, in any form, and no other variable, as in transformers;
 * - `for_training` (default false): if true, the default of `plain` is true and that of
 *   `add_generation_prompt` is false: for segments and masks of conversations as transformers
 *   renders them;
 * - `append`: what `chat_params_continue` does if the template would rewrite earlier text.
 *   `template` (default): from there on the prompt is the template's. `always`: the earlier text
 *   stays;
 * - `json_schema`, `grammar` (GBNF): constrain the content; `grammar_style`: `faithful` (default),
 *   `llama.cpp` or `llama.cpp-b10587`, see `chat_grammar_style`; `force_pure_content`: parse the
 *   output as content only;
 * - `prose` (default false): a faithful grammar allows content before a required call;
 * - `json_spacing`: white space in the JSON of a faithful grammar. `template` (default): as the
 *   template writes it, if it writes JSON on one line and there is no response schema; otherwise
 *   `free`. `free`: any. `compact`: none;
 * - `now`: Unix seconds, the only clock that the template sees; default the system's. On a system
 *   without one (`wasm32-unknown-unknown`), a template that asks for the date fails without `now`;
 * - `media_marker`: placeholder of media that the template does not render; default `<__media__>`;
 * - `malformed_arguments`: arguments of earlier calls that are not a JSON object. `keep`
 *   (default): as text. `empty`: as `{}`. `error`: the request fails;
 * - `dialects`: where the library looks for tool calls in formats other than the template's.
 *   `recover` (default): only after the first byte that breaks the template's format. `tail`: also
 *   at the end of the content, for complete and valid calls of offered tools with nothing after
 *   them. `always`: in all content; text that may start a call is delayed. `off`: nowhere;
 * - `unknown_tools`: calls of tools that the request does not offer are a `call` (default) or
 *   `content`;
 * - `calls_in_reasoning`: calls inside reasoning. `at_end` (default): calls of offered tools are
 *   calls if the output ends and the reasoning was not closed, and wait for that. `off`: they are
 *   reasoning. `always`: they are calls. `llama.cpp`: they are calls for the models that llama.cpp
 *   lists, otherwise reasoning;
 * - `bare_calls`: JSON objects without a marker that look like calls. `off`: they are text.
 *   `whole` (default): they are calls if the answer holds nothing else and the request offers
 *   their tools. `anywhere`: they are calls in all text that `dialects` searches;
 * - `opening_again`: a second opening marker inside the reasoning. `marker` (default): it is left
 *   out. `reasoning`: it is text of the reasoning;
 * - `incomplete_calls`: a call that is unfinished when the output ends. `keep` (default): it is a
 *   call that is not complete. `drop`: it is not in the final message, and a diagnostic has its
 *   bytes. `content`: its text is content of the final message. The deltas have shown it in any
 *   case;
 * - `nearly_json`: arguments that are almost JSON. `mend` (default): the library mends control
 *   characters in strings, a last comma, comments, Python's words and quotes, and the text of an
 *   object where the schema has no text. `keep`: it reads them as llama.cpp does;
 * - `revealed_tools`: where the prompt shows a deferred tool once it is revealed, if the template
 *   does not support such tools. `inline` (default): where it is revealed. `listed`: after the
 *   other tools, which rewrites the prompt from there on;
 * - `hosted_tools`: tools that a server must run, such as `web_search`. `refuse` (default): the
 *   request fails. `keep`: they are left to the host, and the model does not see them.
 *
 * A misspelled field is an error, and so is an unsupported field that would change what the model
 * sees.
 *
 * The template remembers tools, up to some megabytes, so that those that are sent again cost
 * little.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT`, with the path of the wrong field, e.g.
 * `messages[2].tool_calls[0].function.name`; `CHAT_STATUS_TEMPLATE` if the template raises or
 * fails; `CHAT_STATUS_SCHEMA` for a `json_schema` that cannot be used; `CHAT_STATUS_LIMIT` if the
 * request or the prompt is too long, too deep or too costly.
 */
CHAT_MUST_USE chat_status chat_params_from_template(const chat_template *template_,
                                                    const char *request, size_t request_len,
                                                    chat_params **out, chat_error **error);

/**
 * As `chat_params_from_template`, with the options in a JSON object of their own. They take
 * precedence over fields of the body.
 *
 * Errors: as `chat_params_from_template`; `CHAT_STATUS_INVALID_ARGUMENT` for an unknown option.
 */
CHAT_MUST_USE chat_status chat_params_from_template_with(const chat_template *template_,
                                                         const char *request, size_t request_len,
                                                         const char *options, size_t options_len,
                                                         chat_params **out, chat_error **error);

/**
 * Makes the params of a prompt that the host has rendered itself. The library reads from the end
 * of the prompt what it leaves open, such as reasoning or a text to continue; it renders nothing.
 * `request` is a body as for `chat_params_from_template`; the library reads its tools and options,
 * and `messages` may be empty. The params keep no pointer to the texts.
 *
 * Errors: as `chat_params_from_template`, except those of renders.
 */
CHAT_MUST_USE chat_status chat_params_for_prompt(const chat_template *template_, const char *prompt,
                                                 size_t prompt_len, const char *request,
                                                 size_t request_len, chat_params **out,
                                                 chat_error **error);

/** Returns what a host reads of the params. */
const chat_params_fields *chat_params_view(const chat_params *params);

/**
 * Returns the pieces of media that the prompt refers to, in its order; none for a `plain` request.
 * They are valid as long as the params.
 */
chat_media_list chat_params_media(const chat_params *params);

/**
 * Makes the sampling grammar in a `chat_dialect`. Its text is empty if the output is
 * unconstrained. The grammar in GBNF is made by the first call; later ones are quick.
 *
 * GBNF is for engines that know `grammar_lazy` of `chat_params_fields`: if it is true, apply the
 * grammar from the first trigger on; otherwise from the first byte of the generation prompt. A
 * tool whose schema cannot be converted is replaced by "any JSON object" and listed in the
 * grammar's report; other tools are unaffected.
 *
 * Other dialects are for engines that see only the output: the grammar applies from the output's
 * first byte on, lazy or not, and allows free text before a trigger. The report lists what the
 * dialect cannot express, but not where the grammar departs from schemas.
 *
 * Errors: `CHAT_STATUS_LIMIT` if the grammar is too large for the dialect.
 */
CHAT_MUST_USE chat_status chat_params_grammar(const chat_params *params, uint32_t dialect,
                                              chat_grammar **out, chat_error **error);

/**
 * Returns what the template writes to end the assistant's turn, e.g. `<|im_end|>`; empty if it
 * writes nothing, or if the end is unknown. If the engine does not stop at this token anyway, make
 * it a stop. The first call may have to learn the format of turns. The view is valid as long as
 * the params.
 */
chat_str chat_params_end_of_turn(const chat_params *params);

/**
 * Builds what a stream otherwise builds when an output first needs it, such as the parser of calls
 * in other formats. This takes a few milliseconds: call it while the model reads the prompt, so
 * that no piece of the first output waits for it. It serves the streams and parsers of all params
 * that share the format. Thread-safe; NULL does nothing.
 */
void chat_params_warm(const chat_params *params);

/**
 * Writes all of the params as one JSON object. Later versions may add fields. The first call
 * writes the text; later ones return the same.
 *
 * - `prompt`, `generation_prompt`, `format`, `preserved_tokens`, `additional_stops`,
 *   `supports_thinking`, `thinking_start_tag`, `thinking_end_tags`, `grammar_lazy`: as in
 *   `chat_params_fields`;
 * - `grammar_triggers`: objects with `type`, `word` or `pattern`, and `value`;
 * - `message_delimiters`: objects with `role` and `delimiter`; `end_of_turn`: as the function of
 *   that name;
 * - `grammar`: the text of the grammar in GBNF;
 * - `grammar_report`: objects with `schema`, `pointer`, `kind` (`widened`, `narrowed` or
 *   `refused`) and `message`;
 * - `notes`: sentences on the request: which messages were changed because the template demands it
 *   (see `roles`); and each option that has no effect: its field, a colon, and the reason.
 */
CHAT_MUST_USE chat_status chat_params_json(const chat_params *params, chat_str *out,
                                           chat_error **error);

/**
 * Frees the params. Streams, messages, grammars and parsers that were made with them stay valid.
 */
void chat_params_free(chat_params *params);

/* == Messages ================================================================================== */

/* Calls are numbered from 0, in the order of the output. */

/** Flag: the output is not complete. More of it will come, or a limit cut it off. */
#define CHAT_PARSE_PARTIAL 1

/**
 * Flag: an output that does not match the format is an error (`CHAT_STATUS_PARSE`); without
 * `CHAT_PARSE_PARTIAL` also one that ends where the format does not. Without this flag, such an
 * output becomes a message with all of its text, and `CHAT_OUTCOME_RECOVERED` or
 * `CHAT_OUTCOME_PARTIAL`.
 */
#define CHAT_PARSE_STRICT 2

/**
 * In place of a field: the bytes of the output that became no field. These are markers, white
 * space and other texts around the parts, the end of the turn, and, of an output that was cut off,
 * what was held back at its end. Together with the ranges of all fields this is the whole output,
 * without calls that `incomplete_calls` of the request drops.
 */
#define CHAT_SPANS_STRUCTURE 255

/** The kinds of diagnostic. Later versions may add some: treat unknown ones as remarks. */
CHAT_ENUM(chat_diagnostic_kind) {
  CHAT_DIAGNOSTIC_KIND_LEFT_FORMAT = 1,          /**< From this byte on, the output does not match
                                                      the format. Unusual text before it has
                                                      diagnostics of its own. */
  CHAT_DIAGNOSTIC_KIND_DIALECT = 2,              /**< A call in another format than the template's,
                                                      or in another place. */
  CHAT_DIAGNOSTIC_KIND_CALL_IN_REASONING = 3,    /**< A call inside reasoning that was not
                                                      closed. */
  CHAT_DIAGNOSTIC_KIND_UNFINISHED_CALL = 4,      /**< A call without its end. */
  CHAT_DIAGNOSTIC_KIND_UNKNOWN_TOOL = 5,         /**< A call of a tool that the request does not
                                                      offer. */
  CHAT_DIAGNOSTIC_KIND_INVALID_ARGUMENTS = 6,    /**< Arguments that are not a JSON object, or
                                                      violate the tool's schema. */
  CHAT_DIAGNOSTIC_KIND_DUPLICATE_ARGUMENT = 7,   /**< An argument that occurs more than once. JSON
                                                      readers take the last one. */
  CHAT_DIAGNOSTIC_KIND_LIMIT = 8,                /**< The parser used up its budget here: the rest
                                                      of the output is content. */
  CHAT_DIAGNOSTIC_KIND_UNFINISHED_REASONING = 9, /**< The output ends inside the reasoning. */
  CHAT_DIAGNOSTIC_KIND_MENDED_ARGUMENTS = 10,    /**< Arguments that were almost JSON. The call has
                                                      the mended JSON. */
};

/**
 * How the output marks a call as a call. Text that a model only quotes may look like a bare call.
 */
CHAT_ENUM(chat_origin) {
  CHAT_ORIGIN_FORMAT = 1,  /**< By the template's own markers. */
  CHAT_ORIGIN_DIALECT = 2, /**< By other markers, tags or special tokens. */
  CHAT_ORIGIN_BARE = 3,    /**< By none: a JSON object or a Python call in text, even if the
                                template's own calls look like that. */
};

/** How an output relates to the template's format. */
CHAT_ENUM(chat_outcome) {
  CHAT_OUTCOME_NONE = 0,      /**< There is no message: the handle is NULL or unusable. */
  CHAT_OUTCOME_COMPLETE = 1,  /**< The whole output matches. */
  CHAT_OUTCOME_PARTIAL = 2,   /**< The output was cut off, is not complete yet, or stops before the
                                   format ends, e.g. inside the reasoning. The arguments of an
                                   unfinished call are a prefix of JSON text. */
  CHAT_OUTCOME_RECOVERED = 3, /**< The output breaks the format. No text is lost: calls in another
                                   known format are calls, all else is content.
                                   `chat_message_report` says what and where. */
};

/** The kinds of part. Later versions may add some: skip unknown ones. */
CHAT_ENUM(chat_part_kind) {
  CHAT_PART_KIND_REASONING = 1, /**< Text of the reasoning. */
  CHAT_PART_KIND_CONTENT = 2,   /**< Text of the content. */
  CHAT_PART_KIND_CALL = 3,      /**< A tool call. */
};

/** A tool call. */
typedef struct {
  chat_str name;      /**< The name of the tool. */
  chat_str id;        /**< The id; empty if the model wrote none. */
  chat_str arguments; /**< The arguments as JSON text, or a prefix of it if the output was cut
                           off. */
} chat_tool_call;

/** Several of them: an array of the object that they were asked of. */
typedef struct { const chat_tool_call *data; size_t len; } chat_tool_call_list;

/** A range of the output that became reasoning, content or a call. */
typedef struct {
  chat_part_kind kind; /**< Its kind. */
  size_t call;         /**< The tool call; 0 for text. */
  chat_str text;       /**< Its text, a part of the reasoning or of the content; empty for a
                            call. */
  size_t span_begin;   /**< Position of its first byte that is in the message, counted over all
                            bytes fed. */
  size_t span_end;     /**< Position after the last such byte. Equal to `span_begin` for text of the
                            prompt. */
} chat_part;

/** Several of them: an array of the object that they were asked of. */
typedef struct { const chat_part *data; size_t len; } chat_part_list;

/** What a message says. All is valid as long as the message. */
typedef struct {
  chat_outcome outcome;      /**< How the output relates to the format. `CHAT_OUTCOME_NONE` for a
                                  NULL message. */
  chat_str content;          /**< The content. */
  chat_str reasoning;        /**< The reasoning, if the request separates it from the content
                                  (`reasoning_format`). */
  chat_tool_call_list calls; /**< The tool calls. `chat_message_report` says which can be run. */
  chat_part_list parts;      /**< Reasoning, content and calls in the order in which a model thinks,
                                  calls and answers. */
} chat_message_fields;

/** What there is to say of a tool call. */
typedef struct {
  chat_origin origin; /**< How the output marks it as a call. Run a bare call only where it is
                           harmless to run a call that the model only quotes; the option
                           `bare_calls` of the request decides which of them are calls. */
  bool complete;      /**< Whether the output has its end. Without it, the arguments may be a
                           prefix: do not run it. */
  bool known;         /**< Whether the request offers its tool. True if the parser has no list of
                           tools. */
  bool valid;         /**< Whether it is complete and its arguments are a JSON object that does not
                           certainly violate the tool's schema. */
} chat_call_report;

/** Several of them: an array of the object that they were asked of. */
typedef struct { const chat_call_report *data; size_t len; } chat_call_report_list;

/** A remark about an output, for hosts and for their logs. */
typedef struct {
  chat_diagnostic_kind kind; /**< Its kind. */
  size_t call;               /**< The tool call that it is about; `SIZE_MAX` for none. */
  size_t span_begin;         /**< Position of the first byte of the output that it is about. */
  size_t span_end;           /**< Position after the last byte. */
  chat_str message;          /**< One sentence for people. */
} chat_diagnostic;

/** Several of them: an array of the object that they were asked of. */
typedef struct { const chat_diagnostic *data; size_t len; } chat_diagnostic_list;

/** What there is to say of a message: which calls can be used, and what is unusual. */
typedef struct {
  chat_call_report_list calls;      /**< Of each tool call, in their order. */
  chat_diagnostic_list diagnostics; /**< Remarks, in the order of the output. */
} chat_report_fields;

/**
 * Parses an output, or the part of it that has come so far, in one call. `text` is what the model
 * wrote after the prompt, any bytes. `flags` is 0 for an output that the model ended, or a
 * combination of `CHAT_PARSE_PARTIAL` and `CHAT_PARSE_STRICT`. For output in pieces use
 * `chat_stream`: it gives the same message and does not parse old bytes again.
 *
 * Errors: `CHAT_STATUS_PARSE`, only with `CHAT_PARSE_STRICT`.
 */
CHAT_MUST_USE chat_status chat_parse_partial(const chat_params *params, const char *text,
                                             size_t text_len, uint32_t flags, chat_message **out,
                                             chat_error **error);

/** Returns what the message says. */
const chat_message_fields *chat_message_view(const chat_message *message);

/**
 * Writes the message as OpenAI JSON: `role` and `content` always, `reasoning_content` and
 * `tool_calls` if there are any. The first call writes the text; later ones return the same.
 */
CHAT_MUST_USE chat_status chat_message_json(const chat_message *message, chat_str *out,
                                            chat_error **error);

/** Frees the message. */
void chat_message_free(chat_message *message);

/**
 * Returns what there is to say of the message. The first call checks the values of all calls
 * against their schemas. All is valid as long as the message.
 */
const chat_report_fields *chat_message_report(const chat_message *message);

/**
 * Writes the report as a JSON object. The first call writes the text; later ones return the same.
 *
 * - `status`: `complete`, `partial` or `recovered`;
 * - `left_at`: the offset of the first byte that breaks the format, or null if `status` is not
 *   `recovered`. It may be that of a call in another format, or of an unknown tool, after which
 *   the output matches again; the diagnostic `left_format` begins where the parser gave up the
 *   format for the rest of the output;
 * - `calls`: an object for each call with the booleans `complete`, `known`, `valid`, and `origin`:
 *   `format`, `dialect` or `bare`;
 * - `diagnostics`: an object for each with `kind` (the name in lower case, e.g. `left_format`),
 *   `call` (a number, or null), `span` (an array of two positions) and `message`.
 */
CHAT_MUST_USE chat_status chat_message_report_json(const chat_message *message, chat_str *out,
                                                   chat_error **error);

/**
 * Finds the ranges of the output that a field of the message comes from, in the order of its text:
 * to find the tokens of a field. `field` is `CHAT_DELTA_KIND_REASONING` or
 * `CHAT_DELTA_KIND_CONTENT` (with `call` 0), or `CHAT_DELTA_KIND_TOOL_NAME`,
 * `CHAT_DELTA_KIND_TOOL_ID` or `CHAT_DELTA_KIND_TOOL_ARGUMENTS` of a call, or
 * `CHAT_SPANS_STRUCTURE`; there are no ranges of others. Ranges hold no markup, and nothing that
 * the output does not have: a brace that the library added, text of the prompt. The range of a
 * name may be a part of that of the id.
 *
 * Fills the first `capacity` ranges of `out`, and returns how many there are. `out` may be NULL if
 * `capacity` is 0. The first call on a message computes the ranges of all fields.
 */
size_t chat_message_spans(const chat_message *message, uint32_t field, size_t call, chat_span *out,
                          size_t capacity);

/* == Streaming ================================================================================= */

/*
 * The cost of a piece does not depend on the length of the output before it, and the message does
 * not depend on where the output is cut into pieces. The stream takes text back only on request
 * (`chat_stream_rollback`). In outline, without the checks of statuses:
 *
 * ```c
 * chat_stream_new(params, &stream, &error);
 * while (the model writes) {
 *   chat_stream_feed(stream, bytes, len, &error);
 *   const chat_stream_fields *now = chat_stream_view(stream);
 *   for (size_t i = 0; i < now->deltas.len; i++) ... send now->deltas.data[i].text on ...
 * }
 * chat_stream_finish(stream, flags, &error);
 * ... deltas once more: text that could have become a marker ...
 * chat_stream_message(stream, &message, &error);
 * chat_stream_free(stream);
 * ```
 */

/**
 * The part of the message that a delta changes. Later versions may add kinds: skip unknown ones.
 * The kinds from 101 on occur after `chat_stream_rollback` only.
 */
CHAT_ENUM(chat_delta_kind) {
  CHAT_DELTA_KIND_REASONING = 1,                  /**< Append to `reasoning_content`. */
  CHAT_DELTA_KIND_CONTENT = 2,                    /**< Append to `content`. */
  CHAT_DELTA_KIND_TOOL_NAME = 3,                  /**< The whole name of a tool call: the first
                                                       delta of each call. */
  CHAT_DELTA_KIND_TOOL_ID = 4,                    /**< The whole id of a tool call; at most once for
                                                       each call. */
  CHAT_DELTA_KIND_TOOL_ARGUMENTS = 5,             /**< Append to the arguments of a tool call (JSON
                                                       text). */
  CHAT_DELTA_KIND_TOOL_END = 6,                   /**< The tool call is complete: its last delta,
                                                       with an empty text; only an id after the call
                                                       may follow. Unfinished calls have none. */
  CHAT_DELTA_KIND_REASONING_WITHDRAWN = 101,      /**< Remove the text from the end of
                                                       `reasoning_content`. */
  CHAT_DELTA_KIND_CONTENT_WITHDRAWN = 102,        /**< Remove the text from the end of `content`. */
  CHAT_DELTA_KIND_CALL_WITHDRAWN = 103,           /**< Remove the last tool call, which has this
                                                       name, with its id and its arguments. */
  CHAT_DELTA_KIND_TOOL_ID_WITHDRAWN = 104,        /**< Remove the id of a tool call. */
  CHAT_DELTA_KIND_TOOL_ARGUMENTS_WITHDRAWN = 105, /**< Remove the text from the end of the arguments
                                                       of a tool call. */
  CHAT_DELTA_KIND_TOOL_END_WITHDRAWN = 106,       /**< The tool call is not complete any more; the
                                                       text is empty. */
};

/** One change of the message. All deltas of a stream, applied in order, are its message. */
typedef struct {
  chat_delta_kind kind; /**< The part of the message, and whether to append or to remove. */
  size_t call;          /**< The tool call, from 0; 0 for content and reasoning. */
  chat_str text;        /**< The text to append or to remove; whole UTF-8 characters. */
  size_t span_begin;    /**< Position of the text's first byte in the output, counted over all bytes
                             fed. Of a removal: of the output taken back. */
  size_t span_end;      /**< Position after the last byte. Equal to `span_begin` for text that the
                             output does not have, e.g. an added closing brace. */
} chat_delta;

/** Several of them: an array of the object that they were asked of. */
typedef struct { const chat_delta *data; size_t len; } chat_delta_list;

/** How a parse stands. All is valid until the next call that takes the stream without const. */
typedef struct {
  chat_delta_list deltas; /**< The deltas of the last feed, finish or rollback. */
  chat_outcome outcome;   /**< How the output relates to the format: `CHAT_OUTCOME_PARTIAL` until
                               the stream is finished. */
  chat_str pending;       /**< The last bytes that were fed, are in no delta yet, and are not known
                               to be markup: a host that stops parsing here still has to show them.
                               They may end inside a character. Empty for a finished stream. */
  uint64_t work;          /**< The work of the parse so far, in the units of
                               `chat_stream_set_budget`. `chat_stream_rollback` does not lower it;
                               `chat_stream_reset` does. The budget counts only the work for the
                               output as it is. */
} chat_stream_fields;

/**
 * Returns the lower-case name of a kind, e.g. `tool_arguments`, or `unknown`; static, with NUL at
 * its end.
 */
const char *chat_delta_kind_name(uint32_t kind);

/**
 * Returns how the parse stands. The address is the same for the life of the stream; what is there
 * changes with it.
 */
const chat_stream_fields *chat_stream_view(const chat_stream *stream);

/**
 * Makes a stream at the start of an output. A message that the prompt has begun
 * (`continue_final_message`) comes with the deltas of the first feed.
 */
CHAT_MUST_USE chat_status chat_stream_new(const chat_params *params, chat_stream **out,
                                          chat_error **error);

/** As `chat_stream_new`, with a parser instead of params. */
CHAT_MUST_USE chat_status chat_stream_from_parser(const chat_parser *parser, chat_stream **out,
                                                  chat_error **error);

/**
 * Appends output and replaces the deltas. The bytes may be cut anywhere, also inside a character;
 * they must not be a view into this stream. The model's output is never an error. Costs as much as
 * the new bytes, however long the output is.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for a stream that is finished.
 */
CHAT_MUST_USE chat_status chat_stream_feed(chat_stream *stream, const char *bytes, size_t bytes_len,
                                           chat_error **error);

/**
 * Ends the output and replaces the deltas: they hold the text that could have become a marker.
 * `flags` is 0 if the model ended the output, or a combination of `CHAT_PARSE_PARTIAL` (it was cut
 * off) and `CHAT_PARSE_STRICT`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for a stream that is finished; `CHAT_STATUS_PARSE`, only
 * with `CHAT_PARSE_STRICT`: the stream is finished all the same and has its message.
 */
CHAT_MUST_USE chat_status chat_stream_finish(chat_stream *stream, uint32_t flags,
                                             chat_error **error);

/**
 * Writes the deltas of the last feed or finish as the `delta` object of one OpenAI chunk, e.g.
 * `{"content":"Hi","tool_calls":[{"index":0,"type":"function","function":{"name":"f","arguments":"{"}}]}`;
 * `{}` if there are none, and after a rollback. An `id` comes when the model writes one, which may
 * be after the arguments, or never; many clients need it with the name. `chat_answer` makes whole
 * chunks with such ids.
 */
CHAT_MUST_USE chat_status chat_stream_chunk_json(chat_stream *stream, chat_str *out,
                                                 chat_error **error);

/**
 * Writes where the output stands now, as one JSON object: `part` (`reasoning`, `content`,
 * `markup`, `name` of a call, `key` or `value` among its arguments); `call`, the number of the
 * call that is open and has a name, or null; `tool`, its name; `pointer`, a JSON pointer into its
 * arguments; `in_string`; and `left_at`, the offset of the first byte that breaks the format, or
 * null. Costs as much as the arguments of that call. The text is valid until the next call that
 * takes the stream without const.
 */
CHAT_MUST_USE chat_status chat_stream_state_json(chat_stream *stream, chat_str *out,
                                                 chat_error **error);

/**
 * Writes the schema of the value at the `pointer` of `chat_stream_state_json`, as JSON: what the
 * tool asks of it, each `$ref` for it resolved; schemas that all hold in an `allOf`, alternatives
 * in an `anyOf`. `true` if any value may stand there, `false` if none may, `null` if no call is
 * open or its tool is unknown. What depends on other values (`if`) is left out; a schema that
 * takes more than a million steps, or nests more than 256 deep, counts as `true`. The text is
 * valid as that of `chat_stream_state_json`.
 */
CHAT_MUST_USE chat_status chat_stream_schema_json(chat_stream *stream, chat_str *out,
                                                  chat_error **error);

/**
 * Writes what closes the output now, in the model's own format, as one JSON object: `text`, to be
 * appended; `complete`, whether the output is complete after it; `missing`, the first 64 values
 * that only the model can choose, each with `tool`, `pointer` and `begun`; and `reason`, one
 * sentence, if it is not complete. In that case `text` closes the reasoning, or ends before the
 * first missing value. Costs as much as the output; the first call for a parser also makes its
 * grammar. The text is valid as that of `chat_stream_state_json`.
 */
CHAT_MUST_USE chat_status chat_stream_close_json(chat_stream *stream, chat_str *out,
                                                 chat_error **error);

/**
 * Makes the grammar of what may follow the bytes that were fed, in a `chat_dialect`, for an engine
 * that continues from here. It covers the whole format, even if the request's grammar is lazy. For
 * the request's own constraint see `chat_matcher_grammar`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` if the grammar does not allow the output, or if it ends
 * inside a character; `CHAT_STATUS_LIMIT`.
 */
CHAT_MUST_USE chat_status chat_stream_grammar(chat_stream *stream, uint32_t dialect,
                                              chat_grammar **out, chat_error **error);

/** Copies the message so far, or, after finish, the message. Costs as much as the message. */
CHAT_MUST_USE chat_status chat_stream_message(const chat_stream *stream, chat_message **out,
                                              chat_error **error);

/** Copies the stream with its output and its deltas: for choices that share a beginning. */
CHAT_MUST_USE chat_status chat_stream_clone(const chat_stream *stream, chat_stream **out,
                                            chat_error **error);

/**
 * Sets the earliest position that `chat_stream_rollback` can go back to: the end of the output so
 * far. A stream has one checkpoint; a new one replaces it. For speculative decoding: set it where
 * the output is certain, feed the draft, and roll back to the last byte that was accepted. Costs
 * as much as the depth of nesting, however long the output is.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for a stream that is finished.
 */
CHAT_MUST_USE chat_status chat_stream_checkpoint(chat_stream *stream, chat_error **error);

/**
 * Takes back all output after its first `output_len` bytes, counted over all bytes fed, and
 * replaces the deltas with removals: calls from the last one on, then texts. A finished stream is
 * open again. The checkpoint stays. Costs as much as the output since the checkpoint.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` without a checkpoint, and for a length below the
 * checkpoint or above the output's. The stream does not change then.
 */
CHAT_MUST_USE chat_status chat_stream_rollback(chat_stream *stream, size_t output_len,
                                               chat_error **error);

/**
 * Limits the work of the parse to `base` plus `per_byte` for each byte of output; past work
 * counts. One unit is an instruction of the parser, a byte it reads, or an attempt it takes back.
 * Formats need 1 to 10 units a byte, with 100 tools up to 100. When the budget is used up, the
 * rest of the output is content, with a diagnostic `CHAT_DIAGNOSTIC_KIND_LIMIT`. Default:
 * 1,000,000 and 200, plus 8 for each tool, or for each argument of a tool if these are more.
 */
CHAT_MUST_USE chat_status chat_stream_set_budget(chat_stream *stream, uint64_t base,
                                                 uint64_t per_byte, chat_error **error);

/** Takes the stream back to the start of the output. Its budget and its special tokens stay. */
CHAT_MUST_USE chat_status chat_stream_reset(chat_stream *stream, chat_error **error);
/** Frees the stream. Messages that were made from it stay valid. */
void chat_stream_free(chat_stream *stream);

/**
 * Sets the texts of the model's special tokens for `chat_stream_feed_marked`, as the tokeniser
 * writes them. They stay after a reset, and a clone has them. White space around a text does not
 * count. Of a text with white space inside, its first word counts; a text of white space only is
 * ignored.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for an empty text, and after output was fed;
 * `CHAT_STATUS_LIMIT` for more than a megabyte.
 */
CHAT_MUST_USE chat_status chat_stream_set_special_tokens(chat_stream *stream,
                                                         const chat_str *tokens, size_t token_count,
                                                         chat_error **error);

/**
 * As `chat_stream_feed`, with the positions of special tokens: `spans`, ranges of `bytes` in order
 * and without overlap. All other bytes are plain text. A marker that is or holds a special token
 * counts only if it came as one: so reasoning may quote `</think>`, and an argument
 * `</tool_call>`. Markers without special tokens, output of `chat_stream_feed` and markers at the
 * end of the prompt count as without spans.
 *
 * A token may be cut between two calls, with a span for each part. Text that may become the text
 * of a special token is delayed. Costs as much as the new bytes.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for a stream that is finished or has no special tokens,
 * and for spans that overlap, are not in order or lie outside of `bytes`. The stream does not
 * change then.
 */
CHAT_MUST_USE chat_status chat_stream_feed_marked(chat_stream *stream, const char *bytes,
                                                  size_t bytes_len, const chat_span *spans,
                                                  size_t span_count, chat_error **error);

/* == The next turn ============================================================================= */

/**
 * Why a template renders a part of the earlier prompt and output differently. Later versions may
 * add reasons: treat unknown ones as `CHAT_REASON_CHANGED`.
 */
CHAT_ENUM(chat_reason) {
  CHAT_REASON_NONE = 0,      /**< It does not: nothing is different. */
  CHAT_REASON_REASONING = 1, /**< The template leaves out the reasoning of an earlier turn. */
  CHAT_REASON_OPENING = 2,   /**< The turn opens differently than in the prompt, e.g. without empty
                                  reasoning. */
  CHAT_REASON_MOVED = 3,     /**< The text is further on, after something else. */
  CHAT_REASON_CHANGED = 4,   /**< There is other text. */
  CHAT_REASON_OUTPUT = 5,    /**< The template does not render the turn as the model wrote it: it
                                  leaves a part out, or the library cannot tell that the two are
                                  equivalent. */
  CHAT_REASON_REQUEST = 6,   /**< The request does not go on from the earlier prompt and output: see
                                  `chat_params_follow`. */
};

/**
 * How params of a next turn go on behind the earlier prompt and output. Views are valid as long as
 * the params, `words` for ever.
 */
typedef struct {
  size_t kept;        /**< How many bytes of the earlier prompt and output the new prompt begins
                           with: all of them if there is no rewrite, or if the request says `append:
                           always`. 0 for params that do not continue others. */
  chat_str append;    /**< The prompt from byte `kept` on. */
  chat_str rendered;  /**< The prompt as the template renders the whole conversation. It differs
                           from `prompt` of the params where an output was not written as the
                           template writes it, or where `append: always` kept what the template
                           would change. */
  chat_reason reason; /**< Why the template changes the earlier prompt and output; `kept` is the
                           position of the first different byte, unless the request says `append:
                           always`. `CHAT_REASON_NONE` if it does not, and for params that do not
                           continue others. */
  chat_str words;     /**< The reason as a sentence. */
  size_t message;     /**< Index of the message that holds the first different byte; `SIZE_MAX` for
                           text of the template, and if nothing differs. */
} chat_turn_fields;

/**
 * Makes the params of the next turn without a change to what the model has already read, if the
 * template allows it, so a server's key-value cache stays valid. Send `append` of
 * `chat_params_turn` of the new params after the prompt of `params` and `output`.
 *
 * `output` is what the model wrote after that prompt, any bytes, with or without the text of the
 * end-of-turn token. It stays as written, even if the template would render the parsed message
 * with other white space or another order of keys. If it was cut off, the library closes what is
 * open as the template does. `messages` is the JSON text of an array of new messages: results of
 * tools, or the user's; or of an object with them in `messages`. Its other fields replace those of
 * the request from this turn on: `tools`, e.g. with those that a `tool_reference` reveals,
 * `tool_choice`, `parallel_tool_calls`, `response_format`, `json_schema`, `grammar`,
 * `reasoning_effort`, `enable_thinking`, `hosted_tools`, `continue_final_message` (for this turn
 * alone), and each variable of `chat_template_kwargs`; other options stay for all turns. Calls
 * without an id get the ids of the results, in order.
 *
 * Some templates change earlier turns once other messages follow, e.g. drop their reasoning. This
 * is not an error: `chat_params_turn` has the `reason`, and in `kept` how many bytes stay. Remove
 * the tokens after them, and the one that crosses the border, then send `append`. With the option
 * `append: always` of the request, everything stays instead, except for half a character at the
 * end of `output`. The end of the turn, and all after it, is as the template writes it; `rendered`
 * is the prompt that the template alone would give.
 *
 * `flags` is 0; no other value is known yet. The library renders and compares the whole
 * conversation, so no change goes unnoticed. The template's clock is that of the first request.
 * The new params hold the whole prompt; `params` can be continued with another output.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT`, with the path of the field, for wrong messages;
 * `CHAT_STATUS_TEMPLATE` if the template raises or fails; `CHAT_STATUS_LIMIT` if the prompt is too
 * long, too deep or too costly.
 */
CHAT_MUST_USE chat_status chat_params_continue(const chat_params *params, const char *output,
                                               size_t output_len, const char *messages,
                                               size_t messages_len, uint32_t flags,
                                               chat_params **out, chat_error **error);

/**
 * Makes the params of the next turn from a whole request, such as servers get each turn. The
 * library finds the new messages, and continues `params` and `output` with them as
 * `chat_params_continue` does.
 *
 * `request` is a body as for `chat_params_from_template`; `chat_answer_view` has that of a body of
 * another API. `options` is an object of the host's options, as for
 * `chat_params_from_template_with`. The request goes on if it begins with the messages that were
 * sent, then has the output as the assistant's message, and the template writes the same earlier
 * prompt with its tools and options. What counts is what messages say: a client may move
 * `cache_control`, write a text as parts (one a line) or parts as a text, leave out null and empty
 * fields, write arguments as other text of the same JSON, and have other ids for calls and their
 * results. In the assistant's messages it may trim the texts and leave the reasoning out: what was
 * sent stays, and `notes` in `chat_params_json` say so. The template's clock stays that of the
 * first request.
 *
 * If the request goes on, `*first` is the index of its first new message. Otherwise `*first` is
 * `SIZE_MAX`, and the new params are those of the request alone, as
 * `chat_params_from_template_with` makes them. Of `chat_params_turn`, `kept` is how many bytes of
 * the earlier prompt and output the new prompt begins with, also with `append: always`; `reason`
 * is `CHAT_REASON_REQUEST`, and `message` the first that differs (`SIZE_MAX` for an option or a
 * tool); and `notes` name the field. `first` may be null.
 *
 * The new params hold the whole prompt, and keep no pointer to the texts; `params` can be
 * continued with another output. The caller frees them with `chat_params_free`. The cost is linear
 * in both conversations, as that of a render.
 *
 * Errors: as `chat_params_from_template_with`.
 */
CHAT_MUST_USE chat_status chat_params_follow(const chat_params *params, const char *output,
                                             size_t output_len, const char *request,
                                             size_t request_len, const char *options,
                                             size_t options_len, size_t *first, chat_params **out,
                                             chat_error **error);

/** Returns how the params go on behind those that they continue. */
const chat_turn_fields *chat_params_turn(const chat_params *params);

/* == Segments ================================================================================== */

/*
 * A tokeniser should encode special tokens only in segments of `CHAT_TEXT_ORIGIN_TEMPLATE`: then
 * no text of a user becomes one.
 */

/** In a mask: the reasoning of answers, with its markers. */
#define CHAT_MASK_REASONING 1
/** In a mask: the content of answers. */
#define CHAT_MASK_CONTENT 2
/** In a mask: the tool calls, with their markers. */
#define CHAT_MASK_CALLS 4
/** In a mask: the end of a turn. */
#define CHAT_MASK_END 8
/** In a mask: only the last turn. */
#define CHAT_MASK_LAST_ONLY 16

/**
 * In a mask: what the prompt has already written of a turn, such as the opening of its reasoning.
 */
#define CHAT_MASK_PREFILL 32

/** In a mask: the white space behind the end of a turn. */
#define CHAT_MASK_SPACE 64

/**
 * The source of a part of a prompt. Later versions may add some: treat unknown ones as
 * `CHAT_TEXT_ORIGIN_UNKNOWN`.
 */
CHAT_ENUM(chat_text_origin) {
  CHAT_TEXT_ORIGIN_TEMPLATE = 1, /**< The template's own text, special tokens included. */
  CHAT_TEXT_ORIGIN_MESSAGE = 2,  /**< A message of the request. */
  CHAT_TEXT_ORIGIN_TOOL = 3,     /**< A tool of the request. */
  CHAT_TEXT_ORIGIN_KWARG = 4,    /**< A template variable that the request sets, or its
                                      documents. */
  CHAT_TEXT_ORIGIN_UNKNOWN = 5,  /**< A value that the template changed in a way the library cannot
                                      follow. Never the template's text alone. */
};

/** A part of a prompt from one source. */
typedef struct {
  size_t begin;            /**< Position of its first byte in the prompt. */
  size_t end;              /**< Position after its last byte. */
  chat_text_origin origin; /**< Its source. */
  size_t index;            /**< Index of the message or tool in the request; 0 for others. */
  chat_str path;           /**< Of a message: the field as a JSON pointer, e.g. `/content/1/text` or
                                `/tool_calls/0/function/arguments/city`. Of a variable: its name.
                                Else empty. */
} chat_segment;

/** Several of them: an array of the object that they were asked of. */
typedef struct { const chat_segment *data; size_t len; } chat_segment_list;

/** What there is to say of a prompt. All is valid as long as the segments, `limit` for ever. */
typedef struct {
  chat_str prompt;            /**< The prompt. */
  chat_segment_list segments; /**< Its segments, in its order. They cover the prompt, and none is
                                   empty. */
  chat_str limit;             /**< Which limit the search for origins and turns reached, as a
                                   sentence; empty if it reached none. If it did, more bytes than
                                   necessary are `CHAT_TEXT_ORIGIN_UNKNOWN`, or turns are missing in
                                   masks. */
} chat_segments_fields;

/** What a token of a prompt is. */
typedef struct {
  chat_text_origin origin; /**< The source of its text. `CHAT_TEXT_ORIGIN_TEMPLATE` is scaffold, all
                                else body. A token with a byte of a value is never the
                                template's. */
  size_t message;          /**< Index of the message that it comes from, or whose turn it is in;
                                `SIZE_MAX` for others. */
  bool sampled;            /**< Whether a model wrote a byte of it, by the mask. */
} chat_segment_token;

/**
 * Renders the prompt of a request and finds the source of each byte. The prompt is that of
 * `chat_params_from_template`. Takes two to five renders, and up to some 160 if the template
 * inspects values. `request` and `options` are as for `chat_params_from_template_with`; `options`
 * may be NULL.
 *
 * Errors: as `chat_params_from_template_with`.
 */
CHAT_MUST_USE chat_status chat_segments_from_template(const chat_template *template_,
                                                      const char *request, size_t request_len,
                                                      const char *options, size_t options_len,
                                                      chat_segments **out, chat_error **error);

/**
 * As `chat_segments_from_template`, for each of the `count` requests at `requests`, on at most
 * `threads` threads, of which the caller's is one; 0: on as many as the machine runs at once. The
 * other threads end before the function returns.
 *
 * `out` has `count` places, and each is filled: with segments, to be freed one by one, or with
 * NULL if the request failed, also if the function fails. `options` holds for all requests.
 *
 * Errors: those of the first request that failed, with its index in the message.
 */
CHAT_MUST_USE chat_status chat_segments_batch(const chat_template *template_,
                                              const chat_str *requests, size_t count,
                                              const char *options, size_t options_len,
                                              size_t threads, chat_segments **out,
                                              chat_error **error);

/** Returns what there is to say of the prompt. */
const chat_segments_fields *chat_segments_view(const chat_segments *segments);

/**
 * Finds the bytes of the prompt that models wrote, for training: those that the loss should count.
 * `parts` is a sum of `CHAT_MASK_...`; other bits are ignored. If the template has `{% generation
 * %}` blocks, bytes outside of them never count, and the first four parts together are exactly
 * these blocks.
 *
 * Fills the first `capacity` spans of `out`, in order and without overlap, and returns how many
 * there are. `out` may be NULL if `capacity` is 0.
 */
size_t chat_segments_mask(const chat_segments *segments, uint32_t parts, chat_span *out,
                          size_t capacity);

/**
 * Labels the tokens of the prompt, of any tokenizer: `offsets` has the range of each of the
 * `count` tokens, in characters if `in_chars` is true, as tokenizers of transformers give them,
 * otherwise in bytes. `parts` is as for `chat_segments_mask`: what counts as sampled. Fills the
 * `count` places of `out`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT`, with the token's index, for a place that is not in the
 * prompt; then `out` is unchanged.
 */
CHAT_MUST_USE chat_status chat_segments_tokens(const chat_segments *segments, uint32_t parts,
                                               const chat_span *offsets, size_t count,
                                               bool in_chars, chat_segment_token *out,
                                               chat_error **error);

/** Frees the segments. */
void chat_segments_free(chat_segments *segments);

/* == Grammars ================================================================================== */

/*
 * Grammars are in GBNF, llama.cpp's notation, or converted to another dialect; of a converted one
 * only its text and its report can be used.
 */

/** The notations of grammars. */
CHAT_ENUM(chat_dialect) {
  CHAT_DIALECT_GBNF = 1,           /**< GBNF as llama.cpp writes it. */
  CHAT_DIALECT_PORTABLE_GBNF = 2,  /**< GBNF for all versions of llama.cpp and for XGrammar. */
  CHAT_DIALECT_LARK = 3,           /**< Lark for llguidance, XGrammar and vLLM. */
  CHAT_DIALECT_STRUCTURAL_TAG = 4, /**< XGrammar's structural tag, as JSON: `{"type":
                                        "structural_tag", "format": ...}`. */
};

/** How a grammar departs from a schema. */
CHAT_ENUM(chat_fidelity_kind) {
  CHAT_FIDELITY_KIND_WIDENED = 1,  /**< It allows more than the schema. */
  CHAT_FIDELITY_KIND_REFUSED = 2,  /**< The library could not use this part and replaced it; or no
                                        value fits it, and what needs it is left out. */
  CHAT_FIDELITY_KIND_NARROWED = 3, /**< It allows less than the schema. */
};

/** How the library converts schemas to rules. */
CHAT_ENUM(chat_grammar_style) {
  CHAT_GRAMMAR_STYLE_FAITHFUL = 1,         /**< Follow the schema as closely as a grammar can. */
  CHAT_GRAMMAR_STYLE_LLAMA_CPP = 2,        /**< Write the same text as llama.cpp from 0.5.0 on. */
  CHAT_GRAMMAR_STYLE_LLAMA_CPP_B10587 = 3, /**< Write the same text as llama.cpp before that, e.g.
                                                b10587: `{}` is any object. */
};

/** Whether a grammar allows a text. */
CHAT_ENUM(chat_grammar_verdict) {
  CHAT_GRAMMAR_VERDICT_ALLOWED = 1, /**< It allows the text. */
  CHAT_GRAMMAR_VERDICT_PREFIX = 2,  /**< It does not allow the text, but some longer text that
                                         begins with it. */
  CHAT_GRAMMAR_VERDICT_REFUSED = 3, /**< It allows no text that begins with it. */
};

/** A place of a schema where the grammar departs from it. At all other places they agree. */
typedef struct {
  chat_fidelity_kind kind; /**< How. */
  chat_str schema;         /**< The rule or tool that the schema belongs to; empty for a grammar's
                                only schema. */
  chat_str pointer;        /**< The place in the schema: `#` and a JSON pointer. */
  chat_str message;        /**< What the grammar has there instead, for people. */
} chat_fidelity;

/** Several of them: an array of the object that they were asked of. */
typedef struct { const chat_fidelity *data; size_t len; } chat_fidelity_list;

/** What a grammar says. All is valid as long as the grammar. */
typedef struct {
  chat_str text;             /**< Its text. GBNF has a line for each rule and starts at `root`.
                                  Empty if nothing is constrained. */
  chat_fidelity_list report; /**< Where it departs from its schemas, or what its dialect cannot
                                  express. */
} chat_grammar_fields;

/**
 * Makes the grammar of the JSON values that a schema (JSON text) allows, compact or pretty.
 * Declared properties keep the order of the schema; others are allowed where the schema allows
 * them. The grammar's report lists where it allows more or less than the schema. `style` is a
 * `chat_grammar_style`; take `CHAT_GRAMMAR_STYLE_FAITHFUL`.
 *
 * Errors: `CHAT_STATUS_SCHEMA`, with the JSON pointer of the place, e.g. `#/properties/age`, for a
 * schema that is wrong or contradicts itself; `CHAT_STATUS_LIMIT` for one that is too deep or too
 * large.
 */
CHAT_MUST_USE chat_status chat_grammar_from_json_schema(const char *schema, size_t schema_len,
                                                        uint32_t style, chat_grammar **out,
                                                        chat_error **error);

/** Returns what the grammar says. */
const chat_grammar_fields *chat_grammar_view(const chat_grammar *grammar);

/**
 * Writes whether a grammar allows a text: for tests of grammars, and of outputs. `grammar` is GBNF
 * from any source; each call reads it anew, as llama.cpp does.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT`, with the line, for a grammar that llama.cpp cannot use:
 * not GBNF, no rule `root`, a reference to a missing rule, or a rule that begins with itself;
 * `CHAT_STATUS_LIMIT`, also where the text can be read in too many ways to be checked.
 */
CHAT_MUST_USE chat_status chat_grammar_check(const char *grammar, size_t grammar_len,
                                             const char *text, size_t text_len,
                                             chat_grammar_verdict *out, chat_error **error);

/**
 * Converts a grammar to another dialect, a `chat_dialect`. The result allows exactly the same
 * texts; its report lists what the dialect cannot express, but not where the grammar departs from
 * schemas. In a structural tag, the grammar is one part.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for a grammar that llama.cpp cannot use or that was
 * converted already; `CHAT_STATUS_LIMIT` if it is too large.
 */
CHAT_MUST_USE chat_status chat_grammar_as(const chat_grammar *grammar, uint32_t dialect,
                                          chat_grammar **out, chat_error **error);

/** Frees the grammar. */
void chat_grammar_free(chat_grammar *grammar);

/* == The next bytes ============================================================================ */

/*
 * The cost of a byte does not depend on its position. A clone is cheap, and serves as a
 * checkpoint. One thread at a time may feed a matcher; several threads may use clones of it.
 */

/** A set of bytes: byte `b` is in it if bit `b % 64` of word `b / 64` is set. */
typedef struct {
  uint64_t words[4]; /**< The bits. */
} chat_byte_set;

/**
 * Makes the matcher of a request, at the output's first byte. With a lazy grammar it allows any
 * text up to a trigger; without a grammar it allows any text. Each call makes it anew, which takes
 * as long as making the grammar.
 *
 * Errors: `CHAT_STATUS_LIMIT`; `CHAT_STATUS_INVALID_ARGUMENT` for a lazy grammar in a library
 * without other dialects than GBNF.
 */
CHAT_MUST_USE chat_status chat_params_matcher(const chat_params *params, chat_matcher **out,
                                              chat_error **error);

/**
 * Makes the matcher of a grammar in GBNF.
 *
 * Errors: as `chat_grammar_check`.
 */
CHAT_MUST_USE chat_status chat_matcher_new(const char *grammar, size_t grammar_len,
                                           chat_matcher **out, chat_error **error);

/**
 * Advances over these bytes of the output, which may be cut anywhere, and writes into `*taken` how
 * many of them are allowed. If not all are, the matcher stops before the first that is not.
 *
 * Errors: `CHAT_STATUS_LIMIT` where the grammar can be read in too many ways, or too much is open;
 * the matcher is unchanged.
 */
CHAT_MUST_USE chat_status chat_matcher_feed(chat_matcher *matcher, const char *bytes,
                                            size_t bytes_len, size_t *taken, chat_error **error);

/** Returns whether all these bytes may come next. False where a feed would fail. */
bool chat_matcher_can(const chat_matcher *matcher, const char *bytes, size_t bytes_len);

/** Fills `*out` with the bytes that may come next. */
CHAT_MUST_USE chat_status chat_matcher_allowed(const chat_matcher *matcher, chat_byte_set *out,
                                               chat_error **error);

/**
 * Finds the longest text that must come next, up to 64 KiB; none if there is a choice, or if the
 * output may end. It may end inside a character. Fills the first `capacity` bytes of `out`, and
 * returns how many there are. `out` may be NULL if `capacity` is 0.
 */
size_t chat_matcher_forced(const chat_matcher *matcher, char *out, size_t capacity);

/** Returns whether the output may end here. */
bool chat_matcher_may_end(const chat_matcher *matcher);
/** Returns whether the output must end here. */
bool chat_matcher_ended(const chat_matcher *matcher);

/**
 * Makes the grammar of what may follow the bytes that were fed, in a `chat_dialect`, for an engine
 * that continues from there. It ends where the matcher's grammar ends. Costs as much as making the
 * matcher.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` inside a character; `CHAT_STATUS_LIMIT`.
 */
CHAT_MUST_USE chat_status chat_matcher_grammar(const chat_matcher *matcher, uint32_t dialect,
                                               chat_grammar **out, chat_error **error);

/**
 * Copies a matcher and its position, as a checkpoint or for another output of the same request.
 * Copies share a cache.
 */
CHAT_MUST_USE chat_status chat_matcher_clone(const chat_matcher *matcher, chat_matcher **out,
                                             chat_error **error);

/** Frees the matcher. */
void chat_matcher_free(chat_matcher *matcher);

/* == Parsers =================================================================================== */

/*
 * Store a parser as a text, send it to another process, or describe one for a format that no
 * template shows.
 */

/** Makes the parser of these params. */
CHAT_MUST_USE chat_status chat_params_parser(const chat_params *params, chat_parser **out,
                                             chat_error **error);

/**
 * Makes a parser from JSON text: that of `chat_parser_json`, or a description of a format of your
 * own. The text may come from an untrusted source: the library checks it. docs/formats.md has all
 * kinds of nodes.
 *
 * ```c
 * // Content up to a call such as [weather]{"city": "Oslo"}[/weather], or to the end.
 * static const char text[] =
 *   "{\"format\": {\"root\": {\"sequence\": ["
 *   "  {\"tag\": [\"content\", {\"until\": [\"[weather]\"]}]},"
 *   "  {\"repeat\": [{\"sequence\": ["
 *   "    {\"atomic\": {\"tag\": [\"tool-open\", {\"sequence\": ["
 *   "      {\"literal\": \"[\"}, {\"tag\": [\"tool-name\", {\"literal\": \"weather\"}]}, {\"literal\": \"]\"}]}]}},"
 *   "    {\"tag\": [\"tool-args\", \"json\"]},"
 *   "    {\"tag\": [\"tool-close\", {\"literal\": \"[/weather]\"}]}]}, 0, 1]},"
 *   "  \"end\"]}}}";
 * chat_parser *parser = NULL;
 * const chat_status status = chat_parser_from_json(text, sizeof text - 1, &parser, &error);
 * ```
 *
 * An output that does not match the format still becomes a message: see `CHAT_OUTCOME_RECOVERED`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for text of another shape or version, with the number of
 * the node, and for a format that cannot be used, e.g. with a rule that begins with itself;
 * `CHAT_STATUS_LIMIT` for one that is too deep or too long.
 */
CHAT_MUST_USE chat_status chat_parser_from_json(const char *text, size_t text_len,
                                                chat_parser **out, chat_error **error);

/**
 * Writes the parser as JSON text for `chat_parser_from_json` of the same library version, in any
 * process. Its form may change between versions. The first call writes the text; later ones return
 * the same.
 */
CHAT_MUST_USE chat_status chat_parser_json(const chat_parser *parser, chat_str *out,
                                           chat_error **error);

/** As `chat_parse_partial`, with a parser instead of params. */
CHAT_MUST_USE chat_status chat_parser_parse(const chat_parser *parser, const char *text,
                                            size_t text_len, uint32_t flags, chat_message **out,
                                            chat_error **error);

/** Frees the parser. Streams, messages and grammars that were made with it stay valid. */
void chat_parser_free(chat_parser *parser);

/* == Log ======================================================================================= */

/** How much an event of the log matters. */
CHAT_ENUM(chat_log_level) {
  CHAT_LOG_LEVEL_ERROR = 1, /**< A defect of the library; the call returns
                                 `CHAT_STATUS_INTERNAL`. */
  CHAT_LOG_LEVEL_WARN = 2,  /**< Something that may surprise the host: messages of a template that
                                 are not read back, a grammar that differs from its schemas. */
  CHAT_LOG_LEVEL_INFO = 3,  /**< What the library decided, e.g. the reader of a template. */
};

/**
 * Takes an event of the log: its `chat_log_level`, its words, which are valid during the call, and
 * the `data` that was set.
 */
typedef void (*chat_log)(uint32_t level, chat_str text, void *data);

/**
 * Sets the function that takes the library's log, for the whole process; NULL for none, as at the
 * start. It gets events of `level`, a `chat_log_level`, and of lower numbers.
 *
 * Any thread may call the function, during calls of the library, and several threads at once. The
 * function must not call `chat_log_set`. When `chat_log_set` returns, the earlier function is not
 * running any more, and will not be called again.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` in a Rust program that has set its own logger: that
 * logger gets the events.
 */
CHAT_MUST_USE chat_status chat_log_set(chat_log log, void *data, uint32_t level,
                                       chat_error **error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#include "chatparse/server.h"

#endif  /* CHATPARSE_H */
