/*
 * Unstable: any release may change or remove what is in this file, also where the SONAME stays. chatparse.h does not include
 * it. A program that does should be linked to the library of one release. Otherwise the rules of chatparse.h hold here, too.
 */

#ifndef CHATPARSE_UNSTABLE_H
#define CHATPARSE_UNSTABLE_H

#include "../chatparse.h"

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/* == Grammar builder =========================================================================== */

/*
 * Each rule has a unique name. The functions that add a rule write its name to `*out`: use that
 * one in other rules. It is the name you asked for, changed as follows: characters that names
 * cannot have become dashes; a name of the rules that schemas share (`string`, `object`, ...) gets
 * a dash at its end; a name that another rule has gets a number. An equal rule of that name is
 * used again. The name `root`, or an empty one, is the start of the grammar.
 *
 * ```c
 * // An answer by a schema, between tags:
 * chat_grammar_builder *builder = NULL;
 * chat_grammar *grammar = NULL;
 * chat_str name;
 * char body[128];
 * chat_status status = chat_grammar_builder_new(&builder, &error);
 * if (status == CHAT_STATUS_OK)
 *   status = chat_grammar_builder_add_schema(builder, "answer", 6, schema, schema_len, &name, &error);
 * if (status == CHAT_STATUS_OK) {
 *   snprintf(body, sizeof body, "\"<answer>\" %.*s \"</answer>\"", (int)name.len, name.data);
 *   status = chat_grammar_builder_add_rule(builder, "root", 4, body, strlen(body), &name, &error);
 * }
 * if (status == CHAT_STATUS_OK) status = chat_grammar_builder_build(builder, &grammar, &error);
 * chat_grammar_builder_free(builder);
 * ```
 */

/** A builder of grammars from rules, texts and JSON schemas. One thread at a time. */
typedef struct chatparse_grammar_builder chat_grammar_builder;
/** Makes a builder. It has one rule, `space`: the blanks between the parts of a JSON value. */
CHAT_MUST_USE chat_status chat_grammar_builder_new(chat_grammar_builder **out, chat_error **error);

/**
 * Sets the `chat_grammar_style` of the schemas to come. The default is
 * `CHAT_GRAMMAR_STYLE_FAITHFUL`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` after something was added.
 */
CHAT_MUST_USE chat_status chat_grammar_builder_set_style(chat_grammar_builder *builder,
                                                         uint32_t style, chat_error **error);

/**
 * Adds a rule. `body` is the part of a GBNF rule after `::=`, on one line, e.g. `"yes" | "no" |
 * number{1,3}`; it may refer to rules that are added later. Use `chat_grammar_builder_add_literal`
 * for text with quotes or backslashes. A refused rule changes nothing.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT`, with the byte, for a body that is not GBNF, is blank,
 * has a line break or a comment outside of literals, or ends with an empty alternative. Tokens
 * (`<think>`) are not supported: write them as literals.
 */
CHAT_MUST_USE chat_status chat_grammar_builder_add_rule(chat_grammar_builder *builder,
                                                        const char *name, size_t name_len,
                                                        const char *body, size_t body_len,
                                                        chat_str *out, chat_error **error);

/** Adds a rule for exactly this text. It may hold quotes, backslashes, line breaks and NUL. */
CHAT_MUST_USE chat_status chat_grammar_builder_add_literal(chat_grammar_builder *builder,
                                                           const char *name, size_t name_len,
                                                           const char *text, size_t text_len,
                                                           chat_str *out, chat_error **error);

/**
 * Adds the rules of a JSON schema and writes the name of the one for the whole schema. Each schema
 * gets rules of its own, even if names or `$ref`s are the same. The grammar's report lists
 * departures under `name`. A refused schema changes nothing.
 *
 * Errors: as `chat_grammar_from_json_schema`.
 */
CHAT_MUST_USE chat_status chat_grammar_builder_add_schema(chat_grammar_builder *builder,
                                                          const char *name, size_t name_len,
                                                          const char *schema, size_t schema_len,
                                                          chat_str *out, chat_error **error);

/**
 * Adds the rules of `chat_parser_grammar`, with the same `lazy`. The top rule is `root`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` if there is a rule `root`.
 */
CHAT_MUST_USE chat_status chat_grammar_builder_add_parser(chat_grammar_builder *builder,
                                                          const chat_parser *parser, bool lazy,
                                                          chat_error **error);

/**
 * Makes the grammar of all rules so far. The builder can add more; grammars that it made do not
 * change.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for a grammar that llama.cpp refuses: no rule `root`, a
 * reference to a missing rule, or a rule that begins with itself; `CHAT_STATUS_LIMIT` for one that
 * is too large.
 */
CHAT_MUST_USE chat_status chat_grammar_builder_build(const chat_grammar_builder *builder,
                                                     chat_grammar **out, chat_error **error);

/** Frees the builder. Grammars that it made stay valid. */
void chat_grammar_builder_free(chat_grammar_builder *builder);

/* == Formats of your own ======================================================================= */

/**
 * Writes whether a schema (JSON text) allows any string, in any of its branches. Tagged formats
 * write such values as raw text. A reference without a target, or in a circle, counts as no
 * string.
 */
CHAT_MUST_USE chat_status chat_schema_allows_string(const char *schema, size_t schema_len,
                                                    bool *out, chat_error **error);

/**
 * Makes the grammar of the outputs that the parser accepts. If `lazy`, the grammar describes only
 * what may follow a trigger: the rules with `trigger`. Otherwise it describes the prefill and the
 * output together.
 */
CHAT_MUST_USE chat_status chat_parser_grammar(const chat_parser *parser, bool lazy,
                                              chat_grammar **out, chat_error **error);

/**
 * Parses a text to the message of its tagged parts alone; `chat_message_tree_json` has all that
 * matched. `text` is the whole text of the format, prefill included, any bytes, of which bytes
 * before `from` are not read. `flags` is 0 for a complete text or `CHAT_PARSE_PARTIAL`. The
 * message of a text that does not match is empty, and `CHAT_OUTCOME_RECOVERED`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for a `from` above `text_len`; `CHAT_STATUS_LIMIT` for a
 * format with too many rules.
 */
CHAT_MUST_USE chat_status chat_parser_tagged(const chat_parser *parser, const char *text,
                                             size_t text_len, size_t from, uint32_t flags,
                                             chat_message **out, chat_error **error);

/**
 * Writes the syntax tree of a message of `chat_parser_tagged` as a JSON object; of other messages,
 * empty text.
 *
 * - `outcome`: `matched`; `partial` if the text ended before the match did, without a mismatch
 *   (only with `CHAT_PARSE_PARTIAL`); `failed` if it does not match. Text after a match is ignored
 *   unless the format ends with `end`;
 * - `end`: the position after the match; of a text that does not match, how far it could have
 *   matched;
 * - `nodes`: an object for each rule, tag and label that matched, in the order of their first
 *   bytes, the outer before the inner: `rule` or `tag` (the name), `begin`, `end`, `parent` (the
 *   index of the node around it, or null) and `partial` (the text ended inside of it). A text that
 *   does not match has none.
 */
CHAT_MUST_USE chat_status chat_message_tree_json(const chat_message *message, chat_str *out,
                                                 chat_error **error);

/* == Conversations in token ids ================================================================ */

/** Where a tokenizer puts what it is asked for. */
typedef struct chatparse_token_sink chat_token_sink;

/*
 * Begin with `chat_conversation_prompt`, sample, give what was sampled to
 * `chat_conversation_observe`, go on with `chat_conversation_extend`. Nothing that was sent or
 * sampled is encoded again.
 */

/**
 * A conversation in token ids. One thread at a time. A conversation copies what it needs of the
 * template and of the tokenizer.
 */
typedef struct chatparse_conversation chat_conversation;

/**
 * What a token of a conversation is a part of. Later versions may add some: treat unknown ones as
 * `CHAT_FIELD_MARKUP`.
 */
CHAT_ENUM(chat_field) {
  CHAT_FIELD_TEMPLATE = 1,       /**< Sent: the template's own text. */
  CHAT_FIELD_VALUE = 2,          /**< Sent: text of a message, a tool or a variable. */
  CHAT_FIELD_MARKUP = 3,         /**< Sampled: text of no field, such as markers, and the end of the
                                      turn. */
  CHAT_FIELD_REASONING = 4,      /**< Sampled: the reasoning. */
  CHAT_FIELD_CONTENT = 5,        /**< Sampled: the content. */
  CHAT_FIELD_TOOL_NAME = 6,      /**< Sampled: the name of a call. */
  CHAT_FIELD_TOOL_ID = 7,        /**< Sampled: the id of a call. */
  CHAT_FIELD_TOOL_ARGUMENTS = 8, /**< Sampled: the arguments of a call. */
};

/** A special token: a template's, which no user may write. */
typedef struct {
  chat_str text;     /**< Its text. */
  uint32_t id;       /**< Its id. */
  bool strips_left;  /**< The tokenizer drops white space in front of it. */
  bool strips_right; /**< The tokenizer drops white space behind it. */
} chat_special_token;

/**
 * A tokenizer of the caller's. Its functions may be called by any thread that uses a conversation
 * with it, by several at once. They return whether they were successful; a failure ends the call
 * that needed them.
 */
typedef struct {
  void *user;                                                                      /**< What the
                                                                                        functions
                                                                                        are
                                                                                        given. */
  bool (*encode)(void *user, const char *text, size_t len, chat_token_sink *sink); /**< Puts the ids
                                                                                        of a text
                                                                                        into `sink`,
                                                                                        as if it had
                                                                                        no special
                                                                                        tokens, and
                                                                                        with nothing
                                                                                        in front of
                                                                                        it or behind
                                                                                        it. */
  bool (*token_bytes)(void *user, uint32_t id, chat_token_sink *sink);             /**< Puts the
                                                                                        bytes of a
                                                                                        token into
                                                                                        `sink`. It
                                                                                        is not asked
                                                                                        for those of
                                                                                        special
                                                                                        tokens. */
  void (*release)(void *user);                                                     /**< Called when
                                                                                        no
                                                                                        conversation
                                                                                        uses the
                                                                                        tokenizer
                                                                                        any more;
                                                                                        may be
                                                                                        NULL. */
  const chat_special_token *special;                                               /**< The special
                                                                                        tokens,
                                                                                        copied: all
                                                                                        that the
                                                                                        tokenizer
                                                                                        would look
                                                                                        for in a
                                                                                        text. */
  size_t special_count;                                                            /**< How many
                                                                                        there
                                                                                        are. */
} chat_tokenizer;

/** What stays of a conversation that goes on. */
typedef struct {
  size_t kept;     /**< How many ids stay. Those behind them, in `chat_conversation_view`, are to be
                        sent. */
  size_t token;    /**< The first token whose text the template changes; `SIZE_MAX` if it changes
                        nothing. */
  size_t at;       /**< The first byte that it changes. */
  size_t message;  /**< Index of the message at that byte; `SIZE_MAX` for text of the template, and
                        if nothing changes. */
  chat_str reason; /**< The lower-case name of the reason, as those of `chat_reason`; empty if
                        nothing changes; valid for ever. */
  chat_str words;  /**< The reason as a sentence; valid for ever. */
} chat_extended;

/** Several of them: an array of the object that they were asked of. */
typedef struct { const uint32_t *data; size_t len; } chat_id_list;

/** What a conversation has. All is valid until the conversation changes. */
typedef struct {
  chat_id_list ids;       /**< All ids, sent and sampled. */
  size_t prompt_count;    /**< How many of them are in front of the last output. */
  chat_str text;          /**< The text in front of the last output. */
  chat_str output;        /**< The bytes of the last output. */
  chat_delta_list deltas; /**< The deltas of the last `chat_conversation_observe` or
                               `chat_conversation_finish`. */
  bool ended;             /**< Whether the last output ends with a special token that ends
                               outputs. */
} chat_conversation_fields;

/** A token of a conversation. */
typedef struct {
  size_t end;        /**< Where its text ends in the conversation's, in bytes. */
  size_t call;       /**< The call that it is a part of; `SIZE_MAX` if none. */
  chat_str argument; /**< The argument of the call whose value it is; empty if none. Valid until the
                          conversation changes. */
  chat_field field;  /**< What it is a part of. */
  float logprob;     /**< Its log probability; NaN if it was not told. */
  bool sampled;      /**< Whether it was sampled. */
} chat_id_token;

/** Several of them: an array of the object that they were asked of. */
typedef struct { const chat_id_token *data; size_t len; } chat_id_token_list;
/** Puts ids into a sink, behind those that are there. */
void chat_token_sink_ids(chat_token_sink *sink, const uint32_t *ids, size_t count);
/** Puts bytes into a sink, behind those that are there. */
void chat_token_sink_bytes(chat_token_sink *sink, const char *data, size_t len);

/**
 * Makes a conversation without messages so far. `request` is JSON as for
 * `chat_params_from_template`, with the tools and the options; its messages may be missing, and
 * are not used. `options` is as for `chat_params_from_template_with`, or NULL. `tokenizer` is
 * copied, its special tokens too. Its `user` must last until `release`, which is called even if
 * this function fails, unless `encode` or `token_bytes` is NULL.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for a wrong request, a tokenizer without functions, a
 * special token without text.
 */
CHAT_MUST_USE chat_status chat_conversation_new(const chat_template *template_,
                                                const chat_tokenizer *tokenizer,
                                                const char *request, size_t request_len,
                                                const char *options, size_t options_len,
                                                chat_conversation **out, chat_error **error);

/** Makes a second conversation in the same state; the two then go their own ways. */
CHAT_MUST_USE chat_status chat_conversation_clone(const chat_conversation *conversation,
                                                  chat_conversation **out, chat_error **error);

/**
 * Begins with these messages, JSON text of an array, and forgets what there was: the ids in
 * `chat_conversation_view` are those of the prompt. The template's own special tokens are such;
 * what messages say is text.
 *
 * Errors: as `chat_params_from_template`; `CHAT_STATUS_INVALID_ARGUMENT` if the tokenizer failed.
 */
CHAT_MUST_USE chat_status chat_conversation_prompt(chat_conversation *conversation,
                                                   const char *messages, size_t messages_len,
                                                   chat_error **error);

/**
 * Takes ids as they were sampled, and replaces the deltas. `logprobs` has one for each id, or is
 * NULL.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` before a prompt, behind `chat_conversation_finish`, and
 * for an id that the tokenizer does not know. Then nothing is taken.
 */
CHAT_MUST_USE chat_status chat_conversation_observe(chat_conversation *conversation,
                                                    const uint32_t *ids, const float *logprobs,
                                                    size_t count, chat_error **error);

/**
 * Ends the output and replaces the deltas: they hold the text that could have become a marker.
 * `flags` is 0, or `CHAT_PARSE_PARTIAL` if the output was cut off. `chat_conversation_extend` does
 * so by itself.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` before a prompt.
 */
CHAT_MUST_USE chat_status chat_conversation_finish(chat_conversation *conversation, uint32_t flags,
                                                   chat_error **error);

/**
 * Appends what is to be sent behind the output in order to go on with `messages`, JSON text of an
 * array. If the template changes what was sent, `*out` says from which token on, and why; with the
 * option `append: always` all ids stay nevertheless.
 *
 * Errors: as `chat_params_continue`; `CHAT_STATUS_INVALID_ARGUMENT` if the tokenizer failed. Then
 * nothing has changed.
 */
CHAT_MUST_USE chat_status chat_conversation_extend(chat_conversation *conversation,
                                                   const char *messages, size_t messages_len,
                                                   chat_extended *out, chat_error **error);

/**
 * Takes back what was sampled behind the first `length` ids, also behind
 * `chat_conversation_finish`. To go back further, keep a clone.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` if these ids do not end in the last output.
 */
CHAT_MUST_USE chat_status chat_conversation_rewind(chat_conversation *conversation, size_t length,
                                                   chat_error **error);

/** Returns what the conversation has. */
const chat_conversation_fields *chat_conversation_view(const chat_conversation *conversation);

/**
 * Returns what is known of each id; valid until the conversation changes. The first call after a
 * change costs as much as the conversation is long.
 */
chat_id_token_list chat_conversation_tokens(const chat_conversation *conversation);

/**
 * Writes the last output as a message, JSON text as OpenAI has it, to `*out`; valid until the
 * conversation changes.
 */
CHAT_MUST_USE chat_status chat_conversation_message_json(chat_conversation *conversation,
                                                         chat_str *out, chat_error **error);

/**
 * Checks whether the tokenizer goes with the template, with the tools and options of the
 * conversation, and writes what stands between them to `*out`, JSON text; valid until the
 * conversation changes. It is an array of objects: `kind` (`end`, `marker`: the end of the turn,
 * or another marker, is no special token; `seam`: ids turn by turn are not those of the whole;
 * `rewrite`: the template changes what was sent), `words`, the smallest of the conversations that
 * were tried which shows it as `messages`, and `token`, the first token that differs, or null. The
 * conversation itself stays as it is.
 *
 * Errors: as `chat_params_from_template`; `CHAT_STATUS_INVALID_ARGUMENT` if the tokenizer failed.
 */
CHAT_MUST_USE chat_status chat_conversation_check_json(chat_conversation *conversation,
                                                       chat_str *out, chat_error **error);

/** Frees a conversation. NULL is fine. */
void chat_conversation_free(chat_conversation *conversation);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CHATPARSE_UNSTABLE_H */
