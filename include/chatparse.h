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
 * This file is the manual. The rules that hold everywhere:
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
 * its empty value (0, false). WebAssembly has no unwinding: there a defect is a trap, and the instance is lost.
 *
 * Windows. This header serves the DLL and the static library: only functions are exported, and they need no __declspec(dllimport).
 *
 * WebAssembly. The module for wasm32-unknown-unknown imports nothing. It has no clock: the request says `now`. Memory that the host has
 * grown (memory.grow) is the host's: texts go in, and results come out, through that. c-tests/wasm.mjs does so.
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

/**
 * Major version of this header.
 */
#define CHAT_VERSION_MAJOR 0

/**
 * Minor version of this header.
 */
#define CHAT_VERSION_MINOR 1

/**
 * Patch version of this header.
 */
#define CHAT_VERSION_PATCH 0

/**
 * In a mask: the reasoning of answers, with what opens and closes it.
 */
#define CHAT_MASK_REASONING 1

/**
 * In a mask: the content of answers.
 */
#define CHAT_MASK_CONTENT 2

/**
 * In a mask: the calls, with the markup around them.
 */
#define CHAT_MASK_CALLS 4

/**
 * In a mask: what ends a turn.
 */
#define CHAT_MASK_END 8

/**
 * In a mask: the last turn alone.
 */
#define CHAT_MASK_LAST_ONLY 16

/**
 * For `chat_params_continue`: where the template was found to write the next turn without a look at what is further up, only
 * the system's message, the user's last one and what is new are rendered, so the cost does not grow with the conversation.
 * It was found out in conversations of some thirty messages; a template that only counts further than that would not be
 * noticed. Such conversations are rendered once for a template, some hundred in all; `chat_params_short` tells whether they
 * settled it.
 */
#define CHAT_CONTINUE_LEARNT 1

/**
 * No expression: what a function returns that could not make one.
 */
#define CHAT_EXPR_NONE 0

/**
 * No upper bound, for `chat_expr_repeat`.
 */
#define CHAT_EXPR_UNBOUNDED UINT32_MAX

/**
 * Flag: the output is not whole. More of it is to come, or a token limit cut it off.
 */
#define CHAT_PARSE_PARTIAL 1

/**
 * Flag: an output that does not fit the template's format is an error (`CHAT_STATUS_PARSE`). Without it such an output gives a
 * message that holds all of it, and `CHAT_OUTCOME_RECOVERED`.
 */
#define CHAT_PARSE_STRICT 2

/**
 * An API that a server speaks.
 */
enum chat_api
#ifdef __cplusplus
  : uint32_t
#endif // __cplusplus
 {
  /**
   * OpenAI's chat completions (`/v1/chat/completions`).
   */
  CHAT_API_CHAT_COMPLETIONS = 1,
  /**
   * OpenAI's Responses (`/v1/responses`).
   */
  CHAT_API_RESPONSES = 2,
  /**
   * Anthropic's Messages (`/v1/messages`).
   */
  CHAT_API_MESSAGES = 3,
};
#ifndef __cplusplus
typedef uint32_t chat_api;
#endif // __cplusplus

/**
 * Which part of the message a delta adds to, or takes from. Later versions may add kinds: pass over those that you do not know.
 */
enum chat_delta_kind
#ifdef __cplusplus
  : uint32_t
#endif // __cplusplus
 {
  /**
   * `reasoning_content`.
   */
  CHAT_DELTA_KIND_REASONING = 1,
  /**
   * `content`.
   */
  CHAT_DELTA_KIND_CONTENT = 2,
  /**
   * The name of a tool call, all of it: the first delta of each call.
   */
  CHAT_DELTA_KIND_TOOL_NAME = 3,
  /**
   * The id of a tool call, all of it; at most once a call.
   */
  CHAT_DELTA_KIND_TOOL_ID = 4,
  /**
   * A piece of the arguments of a tool call, as JSON text.
   */
  CHAT_DELTA_KIND_TOOL_ARGUMENTS = 5,
  /**
   * The tool call is whole: its last delta, with an empty text. A call that the output breaks off has none.
   */
  CHAT_DELTA_KIND_TOOL_END = 6,
  /**
   * After `chat_stream_rollback` only, as all that follow: the text is to be taken from the end of `reasoning_content`.
   */
  CHAT_DELTA_KIND_REASONING_WITHDRAWN = 101,
  /**
   * The text is to be taken from the end of `content`.
   */
  CHAT_DELTA_KIND_CONTENT_WITHDRAWN = 102,
  /**
   * The last tool call, of this name, is to be removed, with its id and its arguments.
   */
  CHAT_DELTA_KIND_CALL_WITHDRAWN = 103,
  /**
   * The id of a tool call is to be removed.
   */
  CHAT_DELTA_KIND_TOOL_ID_WITHDRAWN = 104,
  /**
   * The text is to be taken from the end of the arguments of a tool call.
   */
  CHAT_DELTA_KIND_TOOL_ARGUMENTS_WITHDRAWN = 105,
  /**
   * A tool call is not whole any more; the text is empty.
   */
  CHAT_DELTA_KIND_TOOL_END_WITHDRAWN = 106,
};
#ifndef __cplusplus
typedef uint32_t chat_delta_kind;
#endif // __cplusplus

/**
 * What kind of thing a diagnostic tells. Later versions may add kinds: take those that you do not know for remarks.
 */
enum chat_diagnostic_kind
#ifdef __cplusplus
  : uint32_t
#endif // __cplusplus
 {
  /**
   * From here on the output did not fit the format.
   */
  CHAT_DIAGNOSTIC_KIND_LEFT_FORMAT = 1,
  /**
   * A call that was read although it was written in another way than the template's, or in another place.
   */
  CHAT_DIAGNOSTIC_KIND_DIALECT = 2,
  /**
   * A call inside reasoning that was never closed.
   */
  CHAT_DIAGNOSTIC_KIND_CALL_IN_REASONING = 3,
  /**
   * A call without its end.
   */
  CHAT_DIAGNOSTIC_KIND_UNFINISHED_CALL = 4,
  /**
   * A call of a tool that the request does not offer.
   */
  CHAT_DIAGNOSTIC_KIND_UNKNOWN_TOOL = 5,
  /**
   * Arguments that are no JSON object, or that violate the tool's schema.
   */
  CHAT_DIAGNOSTIC_KIND_INVALID_ARGUMENTS = 6,
  /**
   * An argument that was given more than once. Readers of JSON take the last.
   */
  CHAT_DIAGNOSTIC_KIND_DUPLICATE_ARGUMENT = 7,
  /**
   * The parser's budget was used up here: the rest of the output is content, whatever it says.
   */
  CHAT_DIAGNOSTIC_KIND_LIMIT = 8,
};
#ifndef __cplusplus
typedef uint32_t chat_diagnostic_kind;
#endif // __cplusplus

/**
 * A notation of grammars.
 */
enum chat_dialect
#ifdef __cplusplus
  : uint32_t
#endif // __cplusplus
 {
  /**
   * GBNF as llama.cpp writes it.
   */
  CHAT_DIALECT_GBNF = 1,
  /**
   * GBNF that llama.cpp of every version reads, and XGrammar.
   */
  CHAT_DIALECT_PORTABLE_GBNF = 2,
  /**
   * Lark as llguidance reads it, and XGrammar and vLLM.
   */
  CHAT_DIALECT_LARK = 3,
  /**
   * XGrammar's structural tag, as JSON: `{"type": "structural_tag", "format": ...}`.
   */
  CHAT_DIALECT_STRUCTURAL_TAG = 4,
  /**
   * Its older form, which llguidance reads, too: `{"structures": [...], "triggers": [...]}`.
   */
  CHAT_DIALECT_STRUCTURAL_TAG_OLD = 5,
};
#ifndef __cplusplus
typedef uint32_t chat_dialect;
#endif // __cplusplus

/**
 * How a grammar departs from a schema.
 */
enum chat_fidelity_kind
#ifdef __cplusplus
  : uint32_t
#endif // __cplusplus
 {
  /**
   * It allows more than the schema.
   */
  CHAT_FIDELITY_KIND_WIDENED = 1,
  /**
   * The part could not be used at all, and something else stands for it.
   */
  CHAT_FIDELITY_KIND_REFUSED = 2,
  /**
   * It allows less than the schema.
   */
  CHAT_FIDELITY_KIND_NARROWED = 3,
};
#ifndef __cplusplus
typedef uint32_t chat_fidelity_kind;
#endif // __cplusplus

/**
 * How schemas become rules.
 */
enum chat_grammar_style
#ifdef __cplusplus
  : uint32_t
#endif // __cplusplus
 {
  /**
   * What the schema allows, as nearly as a grammar can.
   */
  CHAT_GRAMMAR_STYLE_FAITHFUL = 1,
  /**
   * The text that llama.cpp makes of the schema, from 0.5.0 on.
   */
  CHAT_GRAMMAR_STYLE_LLAMA_CPP = 2,
  /**
   * The text of the versions before, such as b10587: as there, but `{}` is any object.
   */
  CHAT_GRAMMAR_STYLE_LLAMA_CPP_B10587 = 3,
};
#ifndef __cplusplus
typedef uint32_t chat_grammar_style;
#endif // __cplusplus

/**
 * What a grammar says of a text.
 */
enum chat_grammar_verdict
#ifdef __cplusplus
  : uint32_t
#endif // __cplusplus
 {
  /**
   * It allows the text.
   */
  CHAT_GRAMMAR_VERDICT_ALLOWED = 1,
  /**
   * It does not allow the text yet: some longer text that begins so is allowed.
   */
  CHAT_GRAMMAR_VERDICT_PREFIX = 2,
  /**
   * It allows no text that begins so.
   */
  CHAT_GRAMMAR_VERDICT_REFUSED = 3,
};
#ifndef __cplusplus
typedef uint32_t chat_grammar_verdict;
#endif // __cplusplus

/**
 * How a text related to the format, by its tree.
 */
enum chat_match
#ifdef __cplusplus
  : uint32_t
#endif // __cplusplus
 {
  /**
   * It did not match; there are no nodes.
   */
  CHAT_MATCH_FAILED = 0,
  /**
   * It matched. What follows the match is nobody's business, unless the format ends with `chat_expr_end`.
   */
  CHAT_MATCH_MATCHED = 1,
  /**
   * It was cut off before anything was wrong (`CHAT_PARSE_PARTIAL` only).
   */
  CHAT_MATCH_PARTIAL = 2,
};
#ifndef __cplusplus
typedef uint32_t chat_match;
#endif // __cplusplus

/**
 * How a call was marked as one. What a model only quotes may read like a bare call.
 */
enum chat_origin
#ifdef __cplusplus
  : uint32_t
#endif // __cplusplus
 {
  /**
   * There is no such call.
   */
  CHAT_ORIGIN_NONE = 0,
  /**
   * The template's own way: read where the template writes its calls, or behind the marker that they begin with.
   */
  CHAT_ORIGIN_FORMAT = 1,
  /**
   * Another way, with a marker of its own, or a JSON object between tags or special tokens.
   */
  CHAT_ORIGIN_DIALECT = 2,
  /**
   * No marker: a JSON object or a Python call in running text, also where the template's own calls look like that.
   */
  CHAT_ORIGIN_BARE = 3,
};
#ifndef __cplusplus
typedef uint32_t chat_origin;
#endif // __cplusplus

/**
 * How an output related to the template's format.
 */
enum chat_outcome
#ifdef __cplusplus
  : uint32_t
#endif // __cplusplus
 {
  /**
   * There is no message: the handle was NULL, or unusable.
   */
  CHAT_OUTCOME_NONE = 0,
  /**
   * The whole output matched.
   */
  CHAT_OUTCOME_COMPLETE = 1,
  /**
   * It was cut off, or is still coming: what is there is there. The arguments of an unfinished tool call are a prefix of JSON
   * text.
   */
  CHAT_OUTCOME_PARTIAL = 2,
  /**
   * It left the format. What fits nowhere is content; a call that reads like one is a call all the same; nothing is lost.
   * `chat_message_diagnostic` says what and where.
   */
  CHAT_OUTCOME_RECOVERED = 3,
};
#ifndef __cplusplus
typedef uint32_t chat_outcome;
#endif // __cplusplus

/**
 * What a part of an output is. Later versions may add kinds: pass over those that you do not know.
 */
enum chat_part_kind
#ifdef __cplusplus
  : uint32_t
#endif // __cplusplus
 {
  /**
   * Text of the reasoning.
   */
  CHAT_PART_KIND_REASONING = 1,
  /**
   * Text of the content.
   */
  CHAT_PART_KIND_CONTENT = 2,
  /**
   * A tool call.
   */
  CHAT_PART_KIND_CALL = 3,
};
#ifndef __cplusplus
typedef uint32_t chat_part_kind;
#endif // __cplusplus

/**
 * Why a template writes anew what was sent. Later versions may add reasons: take those that you do not know for
 * `CHAT_REASON_CHANGED`.
 */
enum chat_reason
#ifdef __cplusplus
  : uint32_t
#endif // __cplusplus
 {
  /**
   * It does not.
   */
  CHAT_REASON_NONE = 0,
  /**
   * The reasoning of an earlier turn is left out.
   */
  CHAT_REASON_REASONING = 1,
  /**
   * The turn opens otherwise than the prompt opened it, e.g. without an empty thought.
   */
  CHAT_REASON_OPENING = 2,
  /**
   * What was sent comes further on, behind something else.
   */
  CHAT_REASON_MOVED = 3,
  /**
   * Other text stands there.
   */
  CHAT_REASON_CHANGED = 4,
  /**
   * The template does not write the turn as the model did: it leaves a part out, or writes it in a way that cannot be told
   * to be the same.
   */
  CHAT_REASON_OUTPUT = 5,
};
#ifndef __cplusplus
typedef uint32_t chat_reason;
#endif // __cplusplus

/**
 * How a call went. Numbers are grouped by hundreds and never change their meaning; later versions may add some, so treat
 * one that you do not know like the first of its hundred.
 */
enum chat_status
#ifdef __cplusplus
  : uint32_t
#endif // __cplusplus
 {
  /**
   * All went well; the outputs are written.
   */
  CHAT_STATUS_OK = 0,
  /**
   * The caller's input has the wrong shape: a NULL handle, a text that is not UTF-8, a request that is no JSON or lacks a
   * field, an unknown flag, an index that is out of range. (HTTP: 400.)
   */
  CHAT_STATUS_INVALID_ARGUMENT = 100,
  /**
   * The template does not parse, raises an error, or fails while it renders. (HTTP: 400 for a template of the client's, 500
   * for the server's own.)
   */
  CHAT_STATUS_TEMPLATE = 200,
  /**
   * A JSON schema cannot be used. (HTTP: 400.)
   */
  CHAT_STATUS_SCHEMA = 300,
  /**
   * A limit was reached: the input is too long, too deep or too costly. (HTTP: 400 or 413.)
   */
  CHAT_STATUS_LIMIT = 400,
  /**
   * Only with `CHAT_PARSE_STRICT`: the model's output does not fit the template's format. (HTTP: 500.)
   */
  CHAT_STATUS_PARSE = 500,
  /**
   * A defect of the library. If the call had a handle without `const`, that handle answers with this status from now on and
   * is good for nothing but its `_free`. (HTTP: 500.)
   */
  CHAT_STATUS_INTERNAL = 900,
};
#ifndef __cplusplus
typedef uint32_t chat_status;
#endif // __cplusplus

/**
 * What a tagged part of an output means. A call is: `CHAT_TAG_TOOL_OPEN`, with the name in it, the arguments in one of two ways,
 * and `CHAT_TAG_TOOL_CLOSE`. The arguments are one JSON object under `CHAT_TAG_TOOL_ARGUMENTS`, or each a name and a value under
 * `CHAT_TAG_ARGUMENT_...`, of which the library makes an object. Parts of a call that stand outside of one mean nothing.
 */
enum chat_tag
#ifdef __cplusplus
  : uint32_t
#endif // __cplusplus
 {
  /**
   * Text of `reasoning_content`.
   */
  CHAT_TAG_REASONING = 1,
  /**
   * Text of `content`.
   */
  CHAT_TAG_CONTENT = 2,
  /**
   * What a call begins with. It may match nothing.
   */
  CHAT_TAG_TOOL_OPEN = 3,
  /**
   * What a call ends with. It may match nothing; without it the call counts as cut off.
   */
  CHAT_TAG_TOOL_CLOSE = 4,
  /**
   * The call's name.
   */
  CHAT_TAG_TOOL_NAME = 5,
  /**
   * The call's id, with or without quotes.
   */
  CHAT_TAG_TOOL_ID = 6,
  /**
   * The call's arguments, a JSON object.
   */
  CHAT_TAG_TOOL_ARGUMENTS = 7,
  /**
   * The name of one argument.
   */
  CHAT_TAG_ARGUMENT_NAME = 8,
  /**
   * The value of one argument, as JSON or as a Python literal.
   */
  CHAT_TAG_ARGUMENT_JSON = 9,
  /**
   * The value of one argument, as raw text: it becomes a JSON string.
   */
  CHAT_TAG_ARGUMENT_TEXT = 10,
  /**
   * What follows a value and ends it. It may match nothing.
   */
  CHAT_TAG_ARGUMENT_CLOSE = 11,
};
#ifndef __cplusplus
typedef uint32_t chat_tag;
#endif // __cplusplus

/**
 * Where a part of a prompt comes from. Later versions may have more: take a number that is not known for
 * `CHAT_TEXT_ORIGIN_UNKNOWN`.
 */
enum chat_text_origin
#ifdef __cplusplus
  : uint32_t
#endif // __cplusplus
 {
  /**
   * The template's own words, special tokens among them.
   */
  CHAT_TEXT_ORIGIN_TEMPLATE = 1,
  /**
   * A message of the request.
   */
  CHAT_TEXT_ORIGIN_MESSAGE = 2,
  /**
   * A tool of the request.
   */
  CHAT_TEXT_ORIGIN_TOOL = 3,
  /**
   * A template variable that the request sets, or its documents.
   */
  CHAT_TEXT_ORIGIN_KWARG = 4,
  /**
   * The template changes a value in a way that cannot be followed. Never the text of the template alone.
   */
  CHAT_TEXT_ORIGIN_UNKNOWN = 5,
};
#ifndef __cplusplus
typedef uint32_t chat_text_origin;
#endif // __cplusplus

/**
 * How the value of a trigger is read.
 */
enum chat_trigger_kind
#ifdef __cplusplus
  : uint32_t
#endif // __cplusplus
 {
  /**
   * A text that appears in the output.
   */
  CHAT_TRIGGER_KIND_WORD = 1,
  /**
   * A regular expression (ECMAScript) that is searched for in the output. The grammar starts at its first group that takes
   * part, or at its beginning.
   */
  CHAT_TRIGGER_KIND_PATTERN = 2,
};
#ifndef __cplusplus
typedef uint32_t chat_trigger_kind;
#endif // __cplusplus

/**
 * What a value may look like.
 */
enum chat_value_kind
#ifdef __cplusplus
  : uint32_t
#endif // __cplusplus
 {
  /**
   * Any JSON value.
   */
  CHAT_VALUE_KIND_JSON = 1,
  /**
   * A JSON object.
   */
  CHAT_VALUE_KIND_JSON_OBJECT = 2,
  /**
   * A JSON array.
   */
  CHAT_VALUE_KIND_JSON_ARRAY = 3,
  /**
   * A JSON string, quotes included.
   */
  CHAT_VALUE_KIND_JSON_STRING = 4,
  /**
   * A JSON number. It ends only where a character follows that cannot extend it.
   */
  CHAT_VALUE_KIND_JSON_NUMBER = 5,
  /**
   * Any Python literal: `{'a': [True, None]}`.
   */
  CHAT_VALUE_KIND_PYTHON = 6,
  /**
   * A Python dict.
   */
  CHAT_VALUE_KIND_PYTHON_DICT = 7,
  /**
   * A Python list.
   */
  CHAT_VALUE_KIND_PYTHON_LIST = 8,
  /**
   * A string in double or single quotes.
   */
  CHAT_VALUE_KIND_PYTHON_STRING = 9,
  /**
   * Any value, as JSON or as a Python literal.
   */
  CHAT_VALUE_KIND_PYTHON_OR_JSON = 10,
};
#ifndef __cplusplus
typedef uint32_t chat_value_kind;
#endif // __cplusplus

/**
 * One request of an API, and its answer in the API's shape: the deltas of a stream as events, a message as a body.
 *
 * One thread at a time. The life of an answer that is streamed:
 *
 * ```c
 * chat_answer_new(CHAT_API_MESSAGES, body, body_len, options, options_len, &answer, &error);
 * request = chat_answer_request(answer);
 * chat_params_from_template(template, request.data, request.len, &params, &error);
 * chat_stream_new(params, &stream, &error);
 * chat_answer_begin(answer, input_tokens, &error);
 * ... send chat_answer_sse ...
 * while (the model writes) {
 *   chat_stream_feed(stream, bytes, len, &error);
 *   chat_answer_deltas(answer, stream, &error);
 *   ... send chat_answer_sse ...
 * }
 * chat_stream_finish(stream, flags, &error);
 * chat_answer_deltas(answer, stream, &error);
 * ... send chat_answer_sse ...
 * chat_stream_message(stream, &message, &error);
 * chat_answer_finish(answer, message, end, end_len, &error);
 * ... send chat_answer_sse ...
 * chat_answer_free(answer);
 * ```
 *
 * One that is not streamed is `chat_answer_body` alone.
 *
 * Each call has one id for good. It is the one that the model wrote in front of its arguments; where it wrote none there, or one that
 * an earlier call of the answer has, the id is made, of the options. An id that the model writes behind the arguments counts in
 * answers that are not streamed only, as others have been shown.
 *
 * Calls that are cut off are there as far as they came; the finish reason tells. In the body of Messages, which has no place for half
 * an object, they have their whole members, and arguments that are no JSON object are `{}`. Calls of OpenAI's custom tools have their text,
 * in one piece once it is whole.
 */
typedef struct chatparse_answer chat_answer;

/**
 * What went wrong: a status and a sentence. Immutable; may be used by several threads at once.
 *
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
typedef struct chatparse_error chat_error;

/**
 * Puts a format together, for a model whose template does not show one: expressions of a parsing expression grammar (PEG) that
 * say what an output looks like, with tags on what is to be in the message. One thread at a time.
 *
 * Each function adds an expression and returns its number, for use in others. A function that cannot do its work returns
 * `CHAT_EXPR_NONE`, which every other function takes and passes on; `chat_expr_build` then says what went wrong first. So
 * calls nest as the expressions do:
 *
 * ```c
 * // Content up to a call such as [weather]{"city": "Oslo"}[/weather], or to the end.
 * chat_expr_builder *b = NULL;
 * chat_parser *parser = NULL;
 * chat_expr_builder_new(&b, &error);
 * const chat_str call[] = {{"[weather]", 9}};
 * const chat_expr open = chat_expr_tag(b, CHAT_TAG_TOOL_OPEN, chat_expr_sequence(b, (const chat_expr[]){
 *     chat_expr_literal(b, "[", 1), chat_expr_tag(b, CHAT_TAG_TOOL_NAME, chat_expr_literal(b, "weather", 7)),
 *     chat_expr_literal(b, "]", 1)}, 3));
 * const chat_expr parts[] = {
 *   chat_expr_tag(b, CHAT_TAG_CONTENT, chat_expr_until(b, call, 1)),
 *   chat_expr_repeat(b, chat_expr_sequence(b, (const chat_expr[]){
 *       chat_expr_atomic(b, open), chat_expr_tag(b, CHAT_TAG_TOOL_ARGUMENTS, chat_expr_json(b, "", 0, "{}", 2)),
 *       chat_expr_tag(b, CHAT_TAG_TOOL_CLOSE, chat_expr_literal(b, "[/weather]", 10))}, 3), 0, 1),
 *   chat_expr_end(b),
 * };
 * chat_expr_build(b, chat_expr_sequence(b, parts, 3), "", 0, &parser, &error);
 * chat_expr_builder_free(b);
 * ```
 *
 * An output that the format does not match still becomes a message: see `CHAT_OUTCOME_RECOVERED`.
 */
typedef struct chatparse_expr_builder chat_expr_builder;

/**
 * A grammar in GBNF, the notation of llama.cpp's grammars, and where it is not exactly what its schemas ask for; or one that was
 * printed in another dialect, and what that cannot say. Immutable; may be used by several threads at once.
 */
typedef struct chatparse_grammar chat_grammar;

/**
 * Puts a grammar together from rules, texts and JSON schemas. One thread at a time.
 *
 * Each rule gets a name of its own, and the functions that add one tell it: refer to the rule by that name, not by the one that
 * was asked for. It is the asked one with characters that names cannot have replaced by dashes, a dash behind it where it is
 * the name of a rule that schemas share (`string`, `object`, ...), and a number where another rule has the name already. A
 * rule that is there already, under that name, is used again. The name `root`, or none, is where the grammar starts.
 *
 * ```c
 * // An answer by a schema, between tags:
 * chat_grammar_builder *builder = NULL;
 * chat_grammar *grammar = NULL;
 * chat_str name;
 * char body[128];
 * chat_grammar_builder_new(&builder, &error);
 * chat_grammar_builder_add_schema(builder, "answer", 6, schema, schema_len, &name, &error);
 * snprintf(body, sizeof body, "\"<answer>\" %.*s \"</answer>\"", (int)name.len, name.data);
 * chat_grammar_builder_add_rule(builder, "root", 4, body, strlen(body), &name, &error);
 * chat_grammar_builder_build(builder, &grammar, &error);
 * chat_grammar_builder_free(builder);
 * ```
 */
typedef struct chatparse_grammar_builder chat_grammar_builder;

/**
 * What a model said: reasoning, content and tool calls. Immutable; may be used by several threads at once.
 */
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

/**
 * A prompt with the origin of each of its bytes. Immutable; may be used by several threads at once.
 */
typedef struct chatparse_segments chat_segments;

/**
 * A parse in progress: bytes of the output in, what they add to the message out. It reads each byte once, takes nothing back
 * that it has shown unless it is asked to (`chat_stream_rollback`), and gives the same message however the output is cut.
 *
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

/**
 * A text that belongs to the handle it was asked of: do not free it. It is UTF-8, may hold NUL bytes, and has no NUL at its
 * end: print it with `printf("%.*s", (int)text.len, text.data)`.
 *
 * `data` is never NULL; an empty text has `len` 0.
 */
typedef struct {
  /**
   * The first byte.
   */
  const char *data;
  /**
   * How many bytes there are.
   */
  size_t len;
} chat_str;

/**
 * A place of a schema that the grammar does not follow to the letter. Places without an entry are followed.
 */
typedef struct {
  /**
   * In which way.
   */
  chat_fidelity_kind kind;
  /**
   * The rule or tool that the schema was added as; empty for a grammar's only schema.
   */
  chat_str schema;
  /**
   * The place inside the schema, as a JSON pointer with `#` in front.
   */
  chat_str pointer;
  /**
   * What stands there instead, for people.
   */
  chat_str message;
} chat_fidelity;

/**
 * A piece of media that the prompt wants. The texts are valid until the params that it was asked of are freed.
 */
typedef struct {
  /**
   * `image`, `audio`, `video` or `file`.
   */
  chat_str kind;
  /**
   * What stands in the prompt for it. Several may have the same text: they come in the prompt's order.
   */
  chat_str text;
  /**
   * The part of the request as JSON, e.g. `{"type": "image_url", "image_url": {"url": ...}}`.
   */
  chat_str source;
  /**
   * Index of its message in the request.
   */
  size_t message;
  /**
   * Index of its part in that message's content.
   */
  size_t part;
  /**
   * Whether the template wrote `text`; otherwise it is the option `media_marker`.
   */
  bool native;
} chat_media;

/**
 * What makes a lazily applied grammar start.
 */
typedef struct {
  /**
   * How `value` is read.
   */
  chat_trigger_kind kind;
  /**
   * The word or the regular expression. Valid until the params that it was asked of are freed.
   */
  chat_str value;
} chat_trigger;

/**
 * A part of a prompt that comes from one place.
 */
typedef struct {
  /**
   * Position of its first byte in the prompt.
   */
  size_t begin;
  /**
   * And the position after its last byte.
   */
  size_t end;
  /**
   * Where it comes from.
   */
  chat_text_origin origin;
  /**
   * Which message or tool of the request, from 0; 0 for others.
   */
  size_t index;
  /**
   * Of a message: the field, as a JSON pointer into it, e.g. `/content`, `/content/1/text`, `/reasoning_content`,
   * `/tool_calls/0/function/arguments/city`. Of a variable: its name. Empty for others. Valid until the segments are freed.
   */
  chat_str path;
} chat_segment;

/**
 * Bytes of an output, or of a piece of it.
 */
typedef struct {
  /**
   * Position of the first.
   */
  size_t begin;
  /**
   * And the position after the last.
   */
  size_t end;
} chat_span;

/**
 * What a template writes anew.
 */
typedef struct {
  /**
   * Why; `CHAT_REASON_NONE` where all that was sent stands.
   */
  chat_reason reason;
  /**
   * The same in words, valid for ever.
   */
  chat_str words;
  /**
   * The message that stands where the first byte is another one, by its number in the conversation, from 0; `SIZE_MAX`
   * where the template's own words stand there, and where there is no rewrite.
   */
  size_t message;
} chat_rewrite;

/**
 * The number of an expression in its builder.
 */
typedef uint32_t chat_expr;

/**
 * An inclusive range of characters, as Unicode code points.
 */
typedef struct {
  /**
   * The first.
   */
  uint32_t first;
  /**
   * The last.
   */
  uint32_t last;
} chat_char_range;

/**
 * One rule or tag that took part in a match. Its texts are valid until the tree is freed.
 */
typedef struct {
  /**
   * The rule's name; empty for a tag.
   */
  chat_str rule;
  /**
   * The tag's name (`content`, `tool-name`, ..., see `chat_tag`) or the label; empty for a rule.
   */
  chat_str tag;
  /**
   * Where it begins, in bytes of the text.
   */
  size_t begin;
  /**
   * Where it ends.
   */
  size_t end;
  /**
   * The index of the node around it, which is lower than its own; its own where there is none.
   */
  size_t parent;
  /**
   * The text was cut off in it.
   */
  bool partial;
} chat_node;

/**
 * Something about an output that a host, or somebody who reads its logs, may want to know.
 */
typedef struct {
  /**
   * What kind of thing.
   */
  chat_diagnostic_kind kind;
  /**
   * Which tool call it is about, from 0; `SIZE_MAX` for none.
   */
  size_t call;
  /**
   * The bytes of the output that it is about: position of the first.
   */
  size_t span_begin;
  /**
   * And the position after the last.
   */
  size_t span_end;
  /**
   * In words. Valid until the message is freed.
   */
  chat_str message;
} chat_diagnostic;

/**
 * A stretch of the output that became one kind of thing.
 */
typedef struct {
  /**
   * What it is.
   */
  chat_part_kind kind;
  /**
   * Which tool call, from 0; 0 for text.
   */
  size_t call;
  /**
   * Its text, a part of the reasoning or of the content; empty for a call. Valid until the message is freed.
   */
  chat_str text;
  /**
   * The bytes of the output from the first that is in the message, counted over all bytes fed ...
   */
  size_t span_begin;
  /**
   * ... to behind the last. Equal to `span_begin` for text that the prompt holds already.
   */
  size_t span_end;
} chat_part;

/**
 * A text to append to the message or, after `chat_stream_rollback`, to take from its end. All deltas of a stream, applied in
 * order, are its message.
 */
typedef struct {
  /**
   * Which part of the message it is about.
   */
  chat_delta_kind kind;
  /**
   * Which tool call, from 0; 0 for content and reasoning.
   */
  size_t call;
  /**
   * What to append or to take away; whole UTF-8 characters. Valid until the next call that takes the stream without `const`.
   */
  chat_str text;
  /**
   * Where in the output the text comes from: position of the first byte, counted over all bytes fed. What is withdrawn has the
   * span of the output that was taken back.
   */
  size_t span_begin;
  /**
   * And the position after the last byte. Equal to `span_begin` where the text stands for markup (a closing brace, say).
   */
  size_t span_end;
} chat_delta;

/**
 * One event of a streamed answer. The views are valid until the next call that takes the answer without `const`.
 */
typedef struct {
  /**
   * Its name, e.g. `response.output_text.delta`; empty in chat completions, whose events have none.
   */
  chat_str name;
  /**
   * JSON text on one line; `[DONE]` in the last event of chat completions.
   */
  chat_str data;
} chat_event;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The lower-case name of a status, e.g. `invalid_argument`; `unknown` for a number that is none. The text is static and ends
 * with NUL.
 */
const char *chat_status_name(uint32_t status);

/**
 * The version of the library that is linked, e.g. `0.1.0`; the macros are that of the header. The text is static and ends
 * with NUL.
 */
const char *chat_version(void);

/**
 * The status that the failed call returned. `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_error_status(const chat_error *error);

/**
 * What is wrong and where, as one sentence for people; its words may change between versions. The view is valid until the
 * error is freed. Empty for NULL.
 */
chat_str chat_error_message(const chat_error *error);

/**
 * Frees the error. NULL is fine.
 */
void chat_error_free(chat_error *error);

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
chat_status chat_template_new(const char *source,
                              size_t source_len,
                              const char *bos,
                              size_t bos_len,
                              const char *eos,
                              size_t eos_len,
                              chat_template **out,
                              chat_error **error);

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
chat_status chat_template_with_options(const char *source,
                                       size_t source_len,
                                       const char *options,
                                       size_t options_len,
                                       chat_template **out,
                                       chat_error **error);

/**
 * A template that the library brings along, by its name, e.g. `chatml`: for a model that has none.
 *
 * On success `*out` is a new template, to be freed with `chat_template_free`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an unknown name; the message lists the known ones.
 */
chat_status chat_template_builtin(const char *name, size_t name_len, chat_template **out, chat_error **error);

/**
 * How many templates the library brings along.
 */
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
chat_status chat_template_caps_json(const chat_template *template_,
                                    chat_str *out,
                                    chat_error **error);

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
chat_status chat_template_reader(const chat_template *template_,
                                 chat_str *out,
                                 chat_error **error);

/**
 * How well what the template writes is read back: it renders messages of many kinds as the model would write them, and those
 * are parsed. Of `*cases` messages, `*read_back` come back. Messages that the template refuses, and those whose beginning cannot
 * be told from the prompt, are no cases; a template that renders nothing has none. A host may refuse a template where the numbers
 * differ, or are 0; `chat_template_proof_json` says what is wrong. The first call renders and parses some sixty messages; later
 * ones return the same.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_template_proof(const chat_template *template_,
                                size_t *read_back,
                                size_t *cases,
                                chat_error **error);

/**
 * The same in full, as a JSON object: `reader`, `cases`, `read_back`, and `failures`, an array of objects with `probe` (what the
 * message shows), `thinking` (`off`, `silent` or `on`: the model is asked not to think, does not, or thinks), `turn` (what the
 * template writes), `expected` and `got` (the messages, as JSON text) and `why`. Of the cases, `with_calls` make calls. Of those
 * that come back, `recovered` are not in the reader's format, so that neither streaming nor grammars know them, and `alike` come
 * back as another message that the template writes alike. What is no case is counted, too: in `no_turn` messages that do not
 * begin where the prompt ends, in `omitted` those whose calls are left out, in `refused` those that the template refuses;
 * `refusal` says why the first was.
 *
 * On success `*out` is a view, valid until the template is freed.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_template_proof_json(const chat_template *template_,
                                     chat_str *out,
                                     chat_error **error);

/**
 * What was learnt of the template by comparing its renders, as a JSON object of groups of fields: `reasoning`, `content`, `tools`,
 * `function`, `arguments`, `call_id` and more. They say what opens and closes each part of an answer, and how calls are written, for people
 * and for `chat_expr_calls`. Where `chat_template_reader` is another than `layout`, something else reads the output. The first call
 * finds out, with some renders, unless a request did before; later ones return the same.
 *
 * On success `*out` is a view, valid until the template is freed.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_template_layout_json(const chat_template *template_,
                                      chat_str *out,
                                      chat_error **error);

/**
 * What was learnt of the way in which the template writes an assistant's turn, as a JSON object, for people: a list of texts for each
 * thing that it writes, such as `reasoning`, `call`, `argument: string` or `content → call`, what stands between the two; `null` where
 * no turn was learnt. This is what reads the output where `chat_template_reader` is `turn`. The first call finds out, with some renders,
 * unless a request did before; later ones return the same.
 *
 * On success `*out` is a view, valid until the template is freed.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_template_turn_json(const chat_template *template_,
                                    chat_str *out,
                                    chat_error **error);

/**
 * For authors of templates, as a JSON object: whether what the template writes is read back, and rendered again to the same bytes,
 * and whether prompts only grow as a conversation does. `faults` counts the `cases` to look at. Each case has `probe` (what the message
 * shows), `thinking`, `turn` (what the template writes), `outcome` (`survives`, `unsaid`, `no_turn`, `lost`, `spaced`, `rewritten` or
 * `refused`) and, where there is more to say, `at` (the first byte that differs), `wanted`, `got`, `part` or `error`. `next` says for
 * each kind of turn whether what was sent is `preserved`, and `untraced` has texts of a prompt whose origin cannot be told. The first
 * call renders some hundred conversations; later ones return the same.
 *
 * On success `*out` is a view, valid until the template is freed.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_template_lint_json(const chat_template *template_,
                                    chat_str *out,
                                    chat_error **error);

/**
 * Frees the template. Params that were made from it stay valid. NULL is fine.
 */
void chat_template_free(chat_template *template_);

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
chat_status chat_grammar_from_json_schema(const char *schema,
                                          size_t schema_len,
                                          chat_grammar **out,
                                          chat_error **error);

/**
 * `chat_grammar_from_json_schema` in the style of that number, a `chat_grammar_style`.
 *
 * Errors: as there, and `CHAT_STATUS_INVALID_ARGUMENT` for a number without a style.
 */
chat_status chat_grammar_from_json_schema_with(const char *schema,
                                               size_t schema_len,
                                               uint32_t style,
                                               chat_grammar **out,
                                               chat_error **error);

/**
 * Whether a value that the schema (JSON text) allows may be a string, by any of its branches. Tagged formats write such values as raw
 * text.
 *
 * On success `*out` is the answer. A reference that leads nowhere, or in a circle, counts as no string.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for text that is no JSON or not UTF-8.
 */
chat_status chat_schema_allows_string(const char *schema,
                                      size_t schema_len,
                                      bool *out,
                                      chat_error **error);

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
chat_status chat_grammar_check(const char *grammar,
                               size_t grammar_len,
                               const char *text,
                               size_t text_len,
                               chat_grammar_verdict *out,
                               chat_error **error);

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
chat_status chat_grammar_as(const chat_grammar *grammar,
                            uint32_t dialect,
                            chat_grammar **out,
                            chat_error **error);

/**
 * In how many places the grammar departs from its schemas. 0 for NULL.
 */
size_t chat_grammar_report_count(const chat_grammar *grammar);

/**
 * Place number `index` (from 0) where the grammar departs from a schema.
 *
 * On success `*out` is filled; its texts are valid until the grammar is freed.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
 */
chat_status chat_grammar_report(const chat_grammar *grammar, size_t index, chat_fidelity *out, chat_error **error);

/**
 * Frees the grammar. NULL is fine.
 */
void chat_grammar_free(chat_grammar *grammar);

/**
 * A builder without rules but for `space`: the blanks that may stand between the parts of a JSON value.
 *
 * On success `*out` is a new builder, to be freed with `chat_grammar_builder_free`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_grammar_builder_new(chat_grammar_builder **out, chat_error **error);

/**
 * Schemas that are added from now on become rules in this style, a `chat_grammar_style`; a new builder is faithful.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for a number without a style, and where something was added before.
 */
chat_status chat_grammar_builder_set_style(chat_grammar_builder *builder, uint32_t style, chat_error **error);

/**
 * Adds a rule. `body` is what GBNF has right of `::=`, in one line, e.g. `"yes" | "no" | number{1,3}`; it may refer to rules that
 * are added later. Use `chat_grammar_builder_add_literal` for a text that may hold quotes or backslashes. Name and body are copied.
 *
 * On success `*out` is the rule's actual name, valid until the next call that takes the builder without `const`. A rule that is
 * refused changes nothing.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for text that is not UTF-8, and, with the byte where it goes wrong, for a body
 * that is no GBNF, or not one rule: it is blank, has a line break or a comment outside of literals, or ends with an empty
 * alternative. Tokens (`<think>`) are not supported: write them as literals.
 */
chat_status chat_grammar_builder_add_rule(chat_grammar_builder *builder,
                                          const char *name,
                                          size_t name_len,
                                          const char *body,
                                          size_t body_len,
                                          chat_str *out,
                                          chat_error **error);

/**
 * Adds a rule for exactly this text; it may hold quotes, backslashes, line breaks and NUL. Name and text are copied.
 *
 * On success `*out` is the rule's actual name, valid until the next call that takes the builder without `const`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for text that is not UTF-8.
 */
chat_status chat_grammar_builder_add_literal(chat_grammar_builder *builder,
                                             const char *name,
                                             size_t name_len,
                                             const char *text,
                                             size_t text_len,
                                             chat_str *out,
                                             chat_error **error);

/**
 * Adds the rules of a JSON schema. Schemas may be added under one name and have equal `$ref`s; each gets rules of its own.
 * `schema` is JSON text; name and schema are copied.
 *
 * On success `*out` is the actual name of the rule that stands for the whole schema, valid until the next call that takes the
 * builder without `const`. Where the rules allow more than the schema, the report of the grammar says so, under `name`. A schema
 * that is refused changes nothing.
 *
 * Errors: as `chat_grammar_from_json_schema`.
 */
chat_status chat_grammar_builder_add_schema(chat_grammar_builder *builder,
                                            const char *name,
                                            size_t name_len,
                                            const char *schema,
                                            size_t schema_len,
                                            chat_str *out,
                                            chat_error **error);

/**
 * Adds the rules of what a parser reads, as `chat_parser_grammar` has them. The one that stands for all of it is `root`, so add them
 * to a builder that has none.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and where there is a rule `root` already.
 */
chat_status chat_grammar_builder_add_parser(chat_grammar_builder *builder,
                                            const chat_parser *parser,
                                            bool lazy,
                                            chat_error **error);

/**
 * The grammar of all that was added so far. It does not change with the builder, to which more may be added.
 *
 * On success `*out` is a new grammar, to be freed with `chat_grammar_free`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for what llama.cpp's reader of grammars refuses: no rule is called `root`, a
 * rule refers to one that is not there, or begins with itself; `CHAT_STATUS_LIMIT` where they are too large.
 */
chat_status chat_grammar_builder_build(const chat_grammar_builder *builder,
                                       chat_grammar **out,
                                       chat_error **error);

/**
 * Frees the builder. Grammars that it has built stay valid. NULL is fine.
 */
void chat_grammar_builder_free(chat_grammar_builder *builder);

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
 * - `json_schema`, `grammar` (GBNF), `grammar_style` (`faithful`, `llama.cpp` or `llama.cpp-b10587`: how schemas become rules; default
 *   `faithful`), `force_pure_content`;
 * - `now`: Unix seconds, the only clock that the template sees; default the system's. Where there is none (`wasm32-unknown-unknown`),
 *   a template that asks for the date fails without `now`;
 * - `media_marker`: what stands in the prompt for media that the template does not show; default `<__media__>`;
 * - `malformed_arguments`: `keep`, `empty` or `error`: whether arguments of earlier calls that are no JSON object stay as text,
 *   become `{}`, or make the request fail; default `keep`;
 * - `dialects`: `off`, `recover` or `always`: whether calls that are written in another way than the template's are read nowhere,
 *   once the output has left the format, or in all content; default `recover`;
 * - `unknown_tools`: `call` or `content`: what calls of tools are that the request does not offer; default `call`;
 * - `calls_in_reasoning`: `off`, `at_end` or `always`: whether calls inside reasoning are reasoning, calls where the output ends with
 *   them and the reasoning was not closed, or calls; default `off`;
 * - `bare_calls`: `off`, `whole` or `anywhere`: whether a JSON object that no marker tells from a quotation is a call nowhere, where
 *   the whole answer is nothing but calls of the tools on offer, or wherever other ways are read; default `whole`;
 * - `opening_again`: `marker` or `reasoning`: whether the opening of the reasoning, where the model writes it once more, is left out or
 *   text of the reasoning; default `marker`.
 *
 * Other fields are ignored, unless one is but a slip away from an option. The text is copied.
 *
 * On success `*out` is a new object, to be freed with `chat_params_free`. It does not need the template any more.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, naming the field that is wrong, e.g. `messages[2].tool_calls[0].function.name`, or
 * the first byte that is not UTF-8; `CHAT_STATUS_TEMPLATE` where the template raises or fails; `CHAT_STATUS_SCHEMA` where
 * `json_schema` cannot be used; `CHAT_STATUS_LIMIT` where the request or the prompt is too long, too deep or too costly.
 */
chat_status chat_params_from_template(const chat_template *template_,
                                      const char *request,
                                      size_t request_len,
                                      chat_params **out,
                                      chat_error **error);

/**
 * The same with the host's options beside the client's body: `options` is a JSON object of the options above, each of which
 * counts before the body's field of that name.
 *
 * On success `*out` is a new object, to be freed with `chat_params_free`. It does not need the template any more.
 *
 * Errors: as `chat_params_from_template`; `CHAT_STATUS_INVALID_ARGUMENT` for an option that there is not.
 */
chat_status chat_params_from_template_with(const chat_template *template_,
                                           const char *request,
                                           size_t request_len,
                                           const char *options,
                                           size_t options_len,
                                           chat_params **out,
                                           chat_error **error);

/**
 * The prompt: what the model is given. The view is valid until the params are freed. Empty for NULL.
 */
chat_str chat_params_prompt(const chat_params *params);

/**
 * The end of the prompt that is already the assistant's turn. Streams made from these params know it: do not feed it to
 * them. The view is valid until the params are freed. Empty for NULL.
 */
chat_str chat_params_generation_prompt(const chat_params *params);

/**
 * How many pieces of media the prompt wants. 0 for NULL, and for a plain request: its media is the host's.
 */
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
chat_status chat_params_grammar(const chat_params *params,
                                chat_grammar **out,
                                chat_error **error);

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
chat_status chat_params_grammar_as(const chat_params *params,
                                   uint32_t dialect,
                                   chat_grammar **out,
                                   chat_error **error);

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
chat_str chat_params_preserved_token(const chat_params *params,
                                     size_t index);

/**
 * How many texts there are that end the output besides the end-of-turn token. 0 for NULL.
 */
size_t chat_params_additional_stop_count(const chat_params *params);

/**
 * Number `index` (from 0) of these texts. As `chat_params_preserved_token`.
 */
chat_str chat_params_additional_stop(const chat_params *params, size_t index);

/**
 * Whether the template knows reasoning. False for NULL.
 */
bool chat_params_supports_thinking(const chat_params *params);

/**
 * What opens reasoning, e.g. `<think>`; empty where nothing does. The view is valid until the params are freed. Empty for NULL.
 */
chat_str chat_params_thinking_start_tag(const chat_params *params);

/**
 * How many texts close reasoning: any of them does. 0 for NULL.
 */
size_t chat_params_thinking_end_tag_count(const chat_params *params);

/**
 * Number `index` (from 0) of these texts. As `chat_params_preserved_token`.
 */
chat_str chat_params_thinking_end_tag(const chat_params *params, size_t index);

/**
 * How many message delimiters there are: texts that the turns of a role begin with in a prompt. 0 for NULL.
 */
size_t chat_params_message_delimiter_count(const chat_params *params);

/**
 * The role of message delimiter number `index` (from 0): `user`, `assistant`, `system` or `tool`. As `chat_params_preserved_token`.
 */
chat_str chat_params_message_delimiter_role(const chat_params *params,
                                            size_t index);

/**
 * The text of message delimiter number `index` (from 0). As `chat_params_preserved_token`.
 */
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
chat_status chat_params_json(const chat_params *params,
                             chat_str *out,
                             chat_error **error);

/**
 * Frees the params. Streams, messages, grammars and parsers that were made with them stay valid. NULL is fine.
 */
void chat_params_free(chat_params *params);

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
chat_status chat_segments_from_template(const chat_template *template_,
                                        const char *request,
                                        size_t request_len,
                                        const char *options,
                                        size_t options_len,
                                        chat_segments **out,
                                        chat_error **error);

/**
 * The prompt. Empty for NULL; valid until the segments are freed.
 */
chat_str chat_segments_prompt(const chat_segments *segments);

/**
 * How many segments the prompt has. 0 for NULL.
 */
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
size_t chat_segments_mask(const chat_segments *segments,
                          uint32_t parts,
                          chat_span *out,
                          size_t capacity);

/**
 * Frees the segments. NULL is fine.
 */
void chat_segments_free(chat_segments *segments);

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
chat_status chat_params_continue(const chat_params *params,
                                 const char *output,
                                 size_t output_len,
                                 const char *messages,
                                 size_t messages_len,
                                 uint32_t flags,
                                 chat_params **out,
                                 chat_error **error);

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
chat_status chat_parser_from_text(const char *text,
                                  size_t text_len,
                                  chat_parser **out,
                                  chat_error **error);

/**
 * The parser as a text for `chat_parser_from_text`, in this process or in another one whose library has the same version. What
 * it looks like is not promised. The first call writes the text; later ones return the same.
 *
 * On success `*out` is a view, valid until the parser is freed.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_parser_text(const chat_parser *parser,
                             chat_str *out,
                             chat_error **error);

/**
 * The grammar of what the parser reads: parser and grammar come from one description. With `lazy`, of what may follow a trigger
 * only, that is of the rules that were marked as such (`chat_expr_rule`); otherwise of the prefill together with the output.
 *
 * On success `*out` is a new handle, to be freed with `chat_grammar_free`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_parser_grammar(const chat_parser *parser,
                                bool lazy,
                                chat_grammar **out,
                                chat_error **error);

/**
 * As `chat_parse_partial`, with a parser instead of params.
 */
chat_status chat_parser_parse(const chat_parser *parser,
                              const char *text,
                              size_t text_len,
                              uint32_t flags,
                              chat_message **out,
                              chat_error **error);

/**
 * Frees the parser. Streams, messages and grammars that were made with it stay valid. NULL is fine.
 */
void chat_parser_free(chat_parser *parser);

/**
 * A builder without expressions.
 *
 * On success `*out` is a new object, to be freed with `chat_expr_builder_free`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_expr_builder_new(chat_expr_builder **out, chat_error **error);

/**
 * Matches exactly this text (UTF-8; copied), which may be empty.
 */
chat_expr chat_expr_literal(chat_expr_builder *builder, const char *text, size_t text_len);

/**
 * Matches text up to the first of these markers (UTF-8; copied), which it does not consume, or up to the end of the output. Without
 * markers: everything that is left.
 */
chat_expr chat_expr_until(chat_expr_builder *builder,
                          const chat_str *markers,
                          size_t marker_count);

/**
 * Matches one character that is in one of the ranges or, if `negated`, in none: without ranges, any character.
 */
chat_expr chat_expr_character(chat_expr_builder *builder,
                              const chat_char_range *ranges,
                              size_t range_count,
                              bool negated);

/**
 * Matches one character of a class, e.g. `[a-z_]`, `[^"\\]` or `[\u4E00-\u9FFF]` (UTF-8). The brackets may be left out. A backslash makes
 * the character behind it mean itself, but for `\n`, `\t`, `\r`, `\xHH`, `\uHHHH` and `\UHHHHHHHH`. The class must not be empty.
 */
chat_expr chat_expr_class(chat_expr_builder *builder,
                          const char *text,
                          size_t text_len);

/**
 * Matches the inside of a quoted string, up to `quote`, which it does not consume: any text, with JSON's escapes behind
 * backslashes, and `quote` behind one. `quote` must be ASCII.
 */
chat_expr chat_expr_string_body(chat_expr_builder *builder, char quote);

/**
 * Matches white space, as much as there is.
 */
chat_expr chat_expr_space(chat_expr_builder *builder);

/**
 * Matches the start of the output only, that of the prefill if there is one.
 */
chat_expr chat_expr_start(chat_expr_builder *builder);

/**
 * Matches the end of the output only. A format that does not end with it leaves what follows its match to the content.
 */
chat_expr chat_expr_end(chat_expr_builder *builder);

/**
 * Matches all of the expressions, in order.
 */
chat_expr chat_expr_sequence(chat_expr_builder *builder, const chat_expr *children, size_t child_count);

/**
 * Matches what the first of the expressions matches that does. What one of them shows while it is still going on must be what
 * the others would make of it, too: put `chat_expr_atomic` around what is not certain yet. A choice of none never matches; in a
 * grammar it stands for nothing.
 */
chat_expr chat_expr_choice(chat_expr_builder *builder,
                           const chat_expr *children,
                           size_t child_count);

/**
 * Matches the expression as often as it does, at least `min` and at most `max` times (`CHAT_EXPR_UNBOUNDED`).
 */
chat_expr chat_expr_repeat(chat_expr_builder *builder, chat_expr child, uint32_t min, uint32_t max);

/**
 * Matches nothing, where the expression would match or, if `negated`, would not.
 */
chat_expr chat_expr_lookahead(chat_expr_builder *builder, chat_expr child, bool negated);

/**
 * Matches as the expression does, and what is tagged in it shows only once all of it has matched. A tag around it shows its text as
 * it comes.
 */
chat_expr chat_expr_atomic(chat_expr_builder *builder,
                           chat_expr child);

/**
 * Matches as the expression does, and gives it a meaning: a `chat_tag`.
 */
chat_expr chat_expr_tag(chat_expr_builder *builder, uint32_t tag, chat_expr child);

/**
 * Matches as the expression does, and names it (UTF-8; copied) for `chat_parser_tree`. The names of tags (`chat_tag`), such as
 * `tool-name` for `CHAT_TAG_TOOL_NAME`, give it that meaning, too; a part of a call shows as it comes then, unless it is atomic.
 */
chat_expr chat_expr_label(chat_expr_builder *builder,
                          const char *label,
                          size_t label_len,
                          chat_expr child);

/**
 * A parser of the format that `root` describes. The builder keeps its expressions; more may be added for another format.
 *
 * `prefill` (UTF-8; copied) is what of the model's turn the prompt holds already: it is parsed as if the model had written it.
 *
 * On success `*out` is a new object, to be freed with `chat_parser_free`.
 *
 * Errors: why the first of the builder's functions failed that did, with its name; such a builder builds nothing any more.
 * `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for a root that is no expression of the builder, for a reference to no rule, and for a
 * rule that begins with itself; `CHAT_STATUS_LIMIT` for a format that is too deep or too long.
 */
chat_status chat_expr_build(chat_expr_builder *builder,
                            chat_expr root,
                            const char *prefill,
                            size_t prefill_len,
                            chat_parser **out,
                            chat_error **error);

/**
 * Frees the builder. Parsers that it has built stay valid. NULL is fine.
 */
void chat_expr_builder_free(chat_expr_builder *builder);

/**
 * Matches one JSON value. In a grammar the schema speaks (JSON text, `{}` for any value), under the rule name `name`, which may be
 * empty. Texts are copied.
 */
chat_expr chat_expr_json(chat_expr_builder *builder,
                         const char *name,
                         size_t name_len,
                         const char *schema,
                         size_t schema_len);

/**
 * Matches a value: a `chat_value_kind`. A grammar has it as it is parsed; `chat_expr_json` is for a schema of it. An earlier
 * `chat_expr_rule` of the name `json-string` says what the strings in JSON look like.
 */
chat_expr chat_expr_value(chat_expr_builder *builder,
                          uint32_t kind);

/**
 * Matches the tool calls of a message, with the markers around them, and tags them (`chat_tag`). `request` is JSON as
 * `chat_params_from_template` takes it; `tools`, `tool_choice` and `parallel_tool_calls` count, and `messages` may be empty. Without tools, or
 * with `tool_choice` `none`, it matches nothing. The calls are a rule `tool-call` that triggers a lazy grammar.
 *
 * `layout` is a JSON object that says how calls are written, with the groups and fields that `chat_template_layout_json` prints: `tools`,
 * `function`, `arguments`, `call_id`; what is left out is empty. `tools.format` must be there. Besides those of templates it may be
 * `pythonic`: a list like `[f(x=1, s='text'), g()]`. E.g. for `<tool_call>{"name": "f", "arguments": {}}</tool_call>`:
 * `{"tools": {"format": "json_native", "section_start": "<tool_call>", "section_end": "</tool_call>"}}`.
 */
chat_expr chat_expr_calls(chat_expr_builder *builder,
                          const char *request,
                          size_t request_len,
                          const char *layout,
                          size_t layout_len);

/**
 * Matches as the expression does. In a grammar the schema speaks (JSON text), under the rule name `name`; but with `raw`, where the
 * value is written as raw text unless it cannot be a string, the grammar has the expression of a value that may be one. Texts are
 * copied.
 */
chat_expr chat_expr_schema(chat_expr_builder *builder,
                           chat_expr child,
                           const char *name,
                           size_t name_len,
                           const char *schema,
                           size_t schema_len,
                           bool raw);

/**
 * Matches as the expression does. A grammar has this body in its place: what GBNF has right of `::=` (UTF-8; copied), or nothing
 * where it is empty. The rules that it refers to must be there by their names, see `chat_expr_rule`.
 */
chat_expr chat_expr_gbnf(chat_expr_builder *builder,
                         chat_expr child,
                         const char *body,
                         size_t body_len);

/**
 * Matches as the expression does, which is to be text up to the first of these markers, and the marker (UTF-8; copied). A grammar has
 * text that ends with the first marker in it, so that it ends where the parser does.
 */
chat_expr chat_expr_excluding(chat_expr_builder *builder,
                              chat_expr child,
                              const chat_str *markers,
                              size_t marker_count);

/**
 * Names the expression (UTF-8; copied) and matches as it does. `chat_expr_reference` may refer to it, also from inside it. With
 * `trigger`, a lazy grammar may start here. A second rule of a name replaces the first.
 */
chat_expr chat_expr_rule(chat_expr_builder *builder,
                         const char *name,
                         size_t name_len,
                         chat_expr child,
                         bool trigger);

/**
 * Matches as the rule of that name (UTF-8; copied) does, which may be added later.
 */
chat_expr chat_expr_reference(chat_expr_builder *builder, const char *name, size_t name_len);

/**
 * Parses a text to a tree, from byte `from` on. `text` is the whole of what the format describes, a prefill included; it may hold any
 * bytes, and is copied. `flags` is 0 for a text that is all there, or `CHAT_PARSE_PARTIAL` for one that was cut off.
 *
 * On success, which says nothing about whether the text matches, `*out` is a new object, to be freed with `chat_tree_free`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for unknown flags and for a `from` behind the text; `CHAT_STATUS_LIMIT` for a format
 * with too many rules.
 */
chat_status chat_parser_tree(const chat_parser *parser,
                             const char *text,
                             size_t text_len,
                             size_t from,
                             uint32_t flags,
                             chat_tree **out,
                             chat_error **error);

/**
 * How the text related to the format. `CHAT_MATCH_FAILED` for NULL.
 */
chat_match chat_tree_outcome(const chat_tree *tree);

/**
 * How far the match reached, in bytes of the text; where it failed, up to where the text could still have been one. 0 for NULL.
 */
size_t chat_tree_end(const chat_tree *tree);

/**
 * How many nodes there are. 0 for NULL.
 */
size_t chat_tree_node_count(const chat_tree *tree);

/**
 * Node number `index` (from 0). Nodes come in the order in which they begin, the outer before the inner.
 *
 * On success `*out` is filled.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
 */
chat_status chat_tree_node(const chat_tree *tree, size_t index, chat_node *out, chat_error **error);

/**
 * What is tagged in the tree as a message. In contrast to `chat_parser_parse` there is nothing in it but that.
 *
 * On success `*out` is a new message, to be freed with `chat_message_free`; its outcome is `CHAT_OUTCOME_PARTIAL` where the text was cut
 * off.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL; `CHAT_STATUS_PARSE` where the text did not match.
 */
chat_status chat_tree_message(const chat_tree *tree,
                              chat_message **out,
                              chat_error **error);

/**
 * Frees the tree. Messages that were made of it stay valid. NULL is fine.
 */
void chat_tree_free(chat_tree *tree);

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
chat_status chat_parse_partial(const chat_params *params,
                               const char *text,
                               size_t text_len,
                               uint32_t flags,
                               chat_message **out,
                               chat_error **error);

/**
 * How the output related to the format. `CHAT_OUTCOME_NONE` for NULL.
 */
chat_outcome chat_message_outcome(const chat_message *message);

/**
 * The content. The view is valid until the message is freed. Empty for NULL.
 */
chat_str chat_message_content(const chat_message *message);

/**
 * The reasoning, where the request asked for it to be told from the content. The view is valid until the message is freed.
 * Empty for NULL.
 */
chat_str chat_message_reasoning(const chat_message *message);

/**
 * How many tools the message calls. 0 for NULL.
 */
size_t chat_message_tool_call_count(const chat_message *message);

/**
 * The name of the tool that call number `index` (from 0) calls. The view is valid until the message is freed. Empty for NULL
 * and for an index that is out of range.
 */
chat_str chat_message_tool_call_name(const chat_message *message,
                                     size_t index);

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
chat_status chat_message_json(const chat_message *message,
                              chat_str *out,
                              chat_error **error);

/**
 * Frees the message. NULL is fine.
 */
void chat_message_free(chat_message *message);

/**
 * Whether the end of call number `index` (from 0) was there. A call without it was broken off: its arguments are a prefix, and
 * running it may do half of what the model meant. False for NULL and for an index that is out of range.
 */
bool chat_message_tool_call_complete(const chat_message *message,
                                     size_t index);

/**
 * Whether the request offers the tool that call number `index` calls. True where the parser knows no tools. False for NULL and
 * for an index that is out of range.
 */
bool chat_message_tool_call_known(const chat_message *message,
                                  size_t index);

/**
 * Whether call number `index` is complete and its arguments are a JSON object that does not certainly violate the tool's
 * schema. False for NULL and for an index that is out of range.
 */
bool chat_message_tool_call_valid(const chat_message *message,
                                  size_t index);

/**
 * How call number `index` (from 0) was marked as a call. `CHAT_ORIGIN_NONE` for NULL and for an index that is out of range.
 *
 * A call that is complete, known and valid may be run if it is in the format, and was most likely meant as a call in a dialect. Run a
 * bare one only where quoting a text that reads like a call does no harm; `bare_calls` of the request says which of them are calls.
 */
chat_origin chat_message_tool_call_origin(const chat_message *message,
                                          size_t index);

/**
 * How many diagnostics there are. 0 for NULL.
 */
size_t chat_message_diagnostic_count(const chat_message *message);

/**
 * Diagnostic number `index` (from 0), in the order of the output.
 *
 * On success `*out` is filled; its text is valid until the message is freed.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
 */
chat_status chat_message_diagnostic(const chat_message *message,
                                    size_t index,
                                    chat_diagnostic *out,
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
chat_status chat_message_report_json(const chat_message *message,
                                     chat_str *out,
                                     chat_error **error);

/**
 * How many parts the output has: stretches of reasoning and of text, and calls. 0 for NULL.
 */
size_t chat_message_part_count(const chat_message *message);

/**
 * Part number `index` (from 0), in the order of the output. A model may think, call, think again and answer; the message has its
 * reasoning, its content and its calls apart.
 *
 * On success `*out` is filled; its text is valid until the message is freed.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
 */
chat_status chat_message_part(const chat_message *message,
                              size_t index,
                              chat_part *out,
                              chat_error **error);

/**
 * How many stretches of the output a field of the message came from. `field` is one of `CHAT_DELTA_KIND_REASONING`,
 * `CHAT_DELTA_KIND_CONTENT` (`call` is 0), `CHAT_DELTA_KIND_TOOL_NAME`, `CHAT_DELTA_KIND_TOOL_ID` and
 * `CHAT_DELTA_KIND_TOOL_ARGUMENTS` of call number `call` (from 0). 0 for NULL, for a call that is out of range and for other numbers.
 * The first question of a message takes all of it apart.
 */
size_t chat_message_span_count(const chat_message *message,
                               uint32_t field,
                               size_t call);

/**
 * Stretch number `index` (from 0) of a field (as for `chat_message_span_count`), in the order of its text: to find the tokens that a
 * field came from. Stretches hold no markup. What the message has beyond them is not written in the output: a brace that
 * closes arguments, text that the prompt holds already. The name may be a part of the id.
 *
 * On success `*out` is filled.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
 */
chat_status chat_message_span(const chat_message *message,
                              uint32_t field,
                              size_t call,
                              size_t index,
                              chat_span *out,
                              chat_error **error);

/**
 * A stream at the start of an output. What the prompt has begun already (a prefilled message) shows with the first feed.
 *
 * On success `*out` is a new stream, to be freed with `chat_stream_free`. It does not need the params any more.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_stream_new(const chat_params *params,
                            chat_stream **out,
                            chat_error **error);

/**
 * As `chat_stream_new`, with a parser instead of params.
 */
chat_status chat_stream_from_parser(const chat_parser *parser, chat_stream **out, chat_error **error);

/**
 * Appends output. What it adds to the message is then in `chat_stream_delta`, until the next feed, finish or rollback. The bytes may be
 * cut anywhere, also inside a character, and are copied; they must not be a view into this same stream.
 *
 * Costs as much as the new bytes, however long the output is by now.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for a stream that is finished. Model output is never an error.
 */
chat_status chat_stream_feed(chat_stream *stream,
                             const char *bytes,
                             size_t bytes_len,
                             chat_error **error);

/**
 * Ends the output. `flags` is 0 where the model ended it, `CHAT_PARSE_PARTIAL` where a limit or the caller cut it off. What was
 * held back because it could have become a marker is then in `chat_stream_delta`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for unknown flags, and for a stream that is finished; `CHAT_STATUS_PARSE` with
 * `CHAT_PARSE_STRICT` for an output that does not fit the format. The stream is finished then, and its message there, all the
 * same.
 */
chat_status chat_stream_finish(chat_stream *stream,
                               uint32_t flags,
                               chat_error **error);

/**
 * How many deltas the last feed, finish or rollback gave. 0 for NULL.
 */
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
chat_status chat_stream_chunk_json(chat_stream *stream,
                                   chat_str *out,
                                   chat_error **error);

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
chat_status chat_stream_clone(const chat_stream *stream,
                              chat_stream **out,
                              chat_error **error);

/**
 * Notes how the parse stands: from now on `chat_stream_rollback` goes back to this byte of the output or to any later one. There
 * is one checkpoint at a time; a new one takes the place of the old one. For speculative decoding: set it where the output is
 * certain, feed the draft, roll back to the last byte that was accepted.
 *
 * Costs what the parser holds open (the depth of nesting), not the length of the output.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for a stream that is finished.
 */
chat_status chat_stream_checkpoint(chat_stream *stream,
                                   chat_error **error);

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
chat_status chat_stream_rollback(chat_stream *stream,
                                 size_t output_len,
                                 chat_error **error);

/**
 * Sets how much work the parse may take: `base`, and `per_byte` for each byte of output; what it has taken by now counts. The
 * units are instructions of the parser, bytes it moves over and attempts it takes back. Formats take 1 to 10 a byte, with 100
 * tools up to 100. Where the budget is used up, the rest of the output is content, and a diagnostic of the kind
 * `CHAT_DIAGNOSTIC_KIND_LIMIT` says so. The default is 1,000,000 and 200, and 8 more for each tool or, if those are more, each argument of a tool.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_stream_set_budget(chat_stream *stream,
                                   uint64_t base,
                                   uint64_t per_byte,
                                   chat_error **error);

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

/**
 * Frees the stream. Messages that were taken from it stay valid. NULL is fine.
 */
void chat_stream_free(chat_stream *stream);

/**
 * The texts of the model's special tokens (UTF-8; copied), for `chat_stream_feed_marked`: what the tokeniser writes for each, a megabyte
 * together at most. They stay when the stream is reset, and a clone has them, too. White space around a text does not count, as it
 * is free at markers: one that is nothing else is no token here; of one with white space inside, its first word counts.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for an empty text, for one that is no UTF-8, and where output was fed;
 * `CHAT_STATUS_LIMIT` for too much text.
 */
chat_status chat_stream_set_special_tokens(chat_stream *stream,
                                           const chat_str *tokens,
                                           size_t token_count,
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
chat_status chat_stream_feed_marked(chat_stream *stream,
                                    const char *bytes,
                                    size_t bytes_len,
                                    const chat_span *spans,
                                    size_t span_count,
                                    chat_error **error);

/**
 * An answer to a request of which nothing is there. `api` is one of `chat_api`, and `request` the body that the client sent, as
 * JSON text. `chat_answer_request` has it as a chat-completions body.
 *
 * `options` is a JSON object, or empty. All of its fields may be missing: `id` (the answer's), `model` (the request's), `created` (Unix
 * seconds), `seed` (a whole number), `call_id_prefix`, `choice` (the `index` in chat completions, where a request has several
 * answers). Others are ignored. Ids that are made are of
 * nine letters and digits, as some templates (Mistral's) render no others, behind the prefix. They are made of `id`, `seed`, `choice` and
 * the number of the call, so `id` or `seed` should be another one in each answer: the library looks at no clock and makes nothing
 * up by chance. Without `id`, the answer's is made of `seed`.
 *
 * On success `*out` is a new answer, to be freed with `chat_answer_free`. Both texts are copied.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for an API that there is not, for texts that are not UTF-8 or no JSON, and naming
 * the field that is wrong or cannot be had, e.g. `input[3].type` or `previous_response_id`. The fields of a chat-completions body,
 * and what is passed on of others, are looked at by `chat_params_from_template`.
 */
chat_status chat_answer_new(uint32_t api,
                            const char *request,
                            size_t request_len,
                            const char *options,
                            size_t options_len,
                            chat_answer **out,
                            chat_error **error);

/**
 * The request as a chat-completions body, for `chat_params_from_template`; one of chat completions is as it was. Of the others,
 * several calls are allowed unless the body says otherwise, the limit of tokens is `max_completion_tokens`, texts to stop at are `stop`,
 * and `model`, `stream`, `temperature`, `top_p` and options of this library pass by their names; fields that are not known are left
 * out. The view is valid until the answer is freed. Empty for NULL.
 */
chat_str chat_answer_request(const chat_answer *answer);

/**
 * Makes the events that stand in front of everything else. `input_tokens`, those of the prompt, show in Messages; other APIs tell them
 * at the end.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an answer that has begun.
 */
chat_status chat_answer_begin(chat_answer *answer,
                              uint64_t input_tokens,
                              chat_error **error);

/**
 * Makes the events that tell of the deltas that the stream has now: those of its last feed or finish. Each is to be passed once. There
 * are no events where they add nothing that shows. Costs as much as the deltas.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for an answer that has not begun or is finished, for deltas of a rollback, and for
 * those that do not follow on those before. In the last two cases the answer is of no use any more.
 */
chat_status chat_answer_deltas(chat_answer *answer,
                               const chat_stream *stream,
                               chat_error **error);

/**
 * Makes the events of the end. `message` is the stream's, after its finish. `end` is a JSON object, or empty: `reason` (`stop`, the
 * default, where the model ended its turn, or `length` where a limit of tokens cut it off), `stop_sequence` (the text of the client's
 * that the model wrote), and `usage`, an object of `input_tokens`, `output_tokens`, `cached_tokens` and `reasoning_tokens`. The finish
 * reason follows from it and from the message. In chat completions, usage shows where the request has
 * `stream_options.include_usage`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for an answer that has not begun or is finished, and for `end`, naming the field.
 */
chat_status chat_answer_finish(chat_answer *answer,
                               const chat_message *message,
                               const char *end,
                               size_t end_len,
                               chat_error **error);

/**
 * Makes the last events of an answer that breaks off for a reason of the server's. `http_status` is the code that it would have
 * answered with at the beginning, and `text` says why.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for a text that is not UTF-8, for a code that is none from 400 to 599, and for an answer
 * that has not begun or is finished.
 */
chat_status chat_answer_fail(chat_answer *answer,
                             uint32_t http_status,
                             const char *text,
                             size_t text_len,
                             chat_error **error);

/**
 * Makes an event that says nothing but that the server is alive. Only Messages has one; the others have no event then.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_answer_ping(chat_answer *answer, chat_error **error);

/**
 * How many events the last call made that makes some. 0 for NULL.
 */
size_t chat_answer_event_count(const chat_answer *answer);

/**
 * Event number `index` (from 0) of these.
 *
 * On success `*out` is filled; its views are valid until the next call that takes the answer without `const`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
 */
chat_status chat_answer_event(const chat_answer *answer, size_t index, chat_event *out, chat_error **error);

/**
 * All of these events as the bytes that a server sends (`text/event-stream`): for each `event: ...`, where it has a name, `data: ...`
 * and an empty line. Empty where there are none.
 *
 * On success `*out` is a view, valid until the next call that takes the answer without `const`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_answer_sse(chat_answer *answer,
                            chat_str *out,
                            chat_error **error);

/**
 * The answer as one JSON body. `message` is all of it, and `end` as in `chat_answer_finish`. Of an answer that was streamed, the body says
 * what the events said. Costs as much as the message.
 *
 * On success `*out` is a view, valid until the next call that takes the answer without `const`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, and for `end`, naming the field.
 */
chat_status chat_answer_body(chat_answer *answer,
                             const chat_message *message,
                             const char *end,
                             size_t end_len,
                             chat_str *out,
                             chat_error **error);

/**
 * Frees the answer. NULL is fine.
 */
void chat_answer_free(chat_answer *answer);

/**
 * The error as the body of a response in the shape of an API, one of `chat_api`; `chat_error_http_status` is its code. The view is
 * valid until the error is freed. Empty for NULL and for an API that there is not.
 */
chat_str chat_error_body(const chat_error *error,
                         uint32_t api);

/**
 * The HTTP code for the error: 400 for what the client sent, 500 for what is not the client's doing. 400 for NULL.
 */
uint32_t chat_error_http_status(const chat_error *error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CHATPARSE_H */
