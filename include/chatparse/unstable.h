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

/* == Grammar builder =============================================================================================== */

/*
 * Each rule has a unique name. The functions that add a rule write its name to `*out`: use that one in other rules. It
 * is the name you asked for, changed as follows: characters that names cannot have become dashes; a name of the rules
 * that schemas share (`string`, `object`, ...) gets a dash at its end; a name that another rule has gets a number. An
 * equal rule of that name is used again. The name `root`, or an empty one, is the start of the grammar.
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
 * Sets the `chat_grammar_style` of the schemas to come. The default is `CHAT_GRAMMAR_STYLE_FAITHFUL`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` after something was added.
 */
CHAT_MUST_USE chat_status chat_grammar_builder_set_style(chat_grammar_builder *builder, uint32_t style,
                                                         chat_error **error);

/**
 * Adds a rule. `body` is the part of a GBNF rule after `::=`, on one line, e.g. `"yes" | "no" | number{1,3}`; it may
 * refer to rules that are added later. Use `chat_grammar_builder_add_literal` for text with quotes or backslashes. A
 * refused rule changes nothing.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT`, with the byte, for a body that is not GBNF, is blank, has a line break or a
 * comment outside of literals, or ends with an empty alternative. Tokens (`<think>`) are not supported: write them as
 * literals.
 */
CHAT_MUST_USE chat_status chat_grammar_builder_add_rule(chat_grammar_builder *builder, const char *name,
                                                        size_t name_len, const char *body, size_t body_len,
                                                        chat_str *out, chat_error **error);

/** Adds a rule for exactly this text. It may hold quotes, backslashes, line breaks and NUL. */
CHAT_MUST_USE chat_status chat_grammar_builder_add_literal(chat_grammar_builder *builder, const char *name,
                                                           size_t name_len, const char *text, size_t text_len,
                                                           chat_str *out, chat_error **error);

/**
 * Adds the rules of a JSON schema and writes the name of the one for the whole schema. Each schema gets rules of its
 * own, even if names or `$ref`s are the same. The grammar's report lists departures under `name`. A refused schema
 * changes nothing.
 *
 * Errors: as `chat_grammar_from_json_schema`.
 */
CHAT_MUST_USE chat_status chat_grammar_builder_add_schema(chat_grammar_builder *builder, const char *name,
                                                          size_t name_len, const char *schema, size_t schema_len,
                                                          chat_str *out, chat_error **error);

/**
 * Adds the rules of `chat_parser_grammar`, with the same `lazy`. The top rule is `root`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` if there is a rule `root`.
 */
CHAT_MUST_USE chat_status chat_grammar_builder_add_parser(chat_grammar_builder *builder, const chat_parser *parser,
                                                          bool lazy, chat_error **error);

/**
 * Makes the grammar of all rules so far. The builder can add more; grammars that it made do not change.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for a grammar that llama.cpp refuses: no rule `root`, a reference to a
 * missing rule, or a rule that begins with itself; `CHAT_STATUS_LIMIT` for one that is too large.
 */
CHAT_MUST_USE chat_status chat_grammar_builder_build(const chat_grammar_builder *builder, chat_grammar **out,
                                                     chat_error **error);

/** Frees the builder. Grammars that it made stay valid. */
void chat_grammar_builder_free(chat_grammar_builder *builder);

/* == Formats of your own =========================================================================================== */

/*
 * The expressions are those of a parsing expression grammar (PEG). Tags select the text of the message. Each function
 * adds an expression and returns its number, for use in others. A function that fails, also for NULL or text that is
 * not UTF-8, returns `CHAT_EXPR_NONE`; all others accept and return it, and `chat_expr_build` reports the first
 * failure. So calls can be nested:
 *
 * ```c
 * // Content up to a call such as [weather]{"city": "Oslo"}[/weather], or to the end.
 * chat_expr_builder *b = NULL;
 * chat_parser *parser = NULL;
 * if (chat_expr_builder_new(&b, &error) != CHAT_STATUS_OK) return NULL;
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
 * const chat_status status = chat_expr_build(b, chat_expr_sequence(b, parts, 3), "", 0, &parser, &error);
 * chat_expr_builder_free(b);
 * ```
 *
 * An output that does not match the format still becomes a message: see `CHAT_OUTCOME_RECOVERED`.
 */

/** A builder of parsers for formats that no template shows, from expressions with tags. One thread at a time. */
typedef struct chatparse_expr_builder chat_expr_builder;
/** The number that a function returns if it could not add an expression. */
#define CHAT_EXPR_NONE 0
/** No upper bound, for `chat_expr_repeat`. */
#define CHAT_EXPR_UNBOUNDED UINT32_MAX

/**
 * The meaning of a part of an output. A call is `CHAT_TAG_TOOL_OPEN` with the name inside, then the arguments, then
 * `CHAT_TAG_TOOL_CLOSE`. The arguments are either one JSON object (`CHAT_TAG_TOOL_ARGUMENTS`), or pairs of name and
 * value (`CHAT_TAG_ARGUMENT_...`), which the library makes an object. Tags of a call have no effect outside of one.
 */
CHAT_ENUM(chat_tag) {
  CHAT_TAG_REASONING = 1,       /**< Text of `reasoning_content`. */
  CHAT_TAG_CONTENT = 2,         /**< Text of `content`. */
  CHAT_TAG_TOOL_OPEN = 3,       /**< The start of a call. It may match empty text. */
  CHAT_TAG_TOOL_CLOSE = 4,      /**< The end of a call. It may match empty text; without it the call counts as cut
                                     off. */
  CHAT_TAG_TOOL_NAME = 5,       /**< The call's name. */
  CHAT_TAG_TOOL_ID = 6,         /**< The call's id, with or without quotes. */
  CHAT_TAG_TOOL_ARGUMENTS = 7,  /**< The call's arguments, a JSON object. */
  CHAT_TAG_ARGUMENT_NAME = 8,   /**< The name of one argument. */
  CHAT_TAG_ARGUMENT_JSON = 9,   /**< The value of one argument, as JSON or as a Python literal. */
  CHAT_TAG_ARGUMENT_TEXT = 10,  /**< The value of one argument as raw text: becomes a JSON string. */
  CHAT_TAG_ARGUMENT_CLOSE = 11, /**< The end of a value. It may match empty text. */
};

/** The notations of a value. */
CHAT_ENUM(chat_value_kind) {
  CHAT_VALUE_KIND_JSON = 1,            /**< Any JSON value. */
  CHAT_VALUE_KIND_JSON_OBJECT = 2,     /**< A JSON object. */
  CHAT_VALUE_KIND_JSON_ARRAY = 3,      /**< A JSON array. */
  CHAT_VALUE_KIND_JSON_STRING = 4,     /**< A JSON string with its quotes. */
  CHAT_VALUE_KIND_JSON_NUMBER = 5,     /**< A JSON number, up to a character that cannot extend it. */
  CHAT_VALUE_KIND_PYTHON = 6,          /**< Any Python literal: `{'a': [True, None]}`. */
  CHAT_VALUE_KIND_PYTHON_DICT = 7,     /**< A Python dict. */
  CHAT_VALUE_KIND_PYTHON_LIST = 8,     /**< A Python list. */
  CHAT_VALUE_KIND_PYTHON_STRING = 9,   /**< A string in double or single quotes. */
  CHAT_VALUE_KIND_PYTHON_OR_JSON = 10, /**< Any value, as JSON or as a Python literal. */
};

/** The number of an expression in its builder. */
typedef uint32_t chat_expr;

/** An inclusive range of characters. */
typedef struct {
  uint32_t first; /**< The first, as a Unicode code point. */
  uint32_t last;  /**< The last. */
} chat_char_range;

/**
 * Makes the grammar of the outputs that the parser accepts. If `lazy`, the grammar describes only what may follow a
 * trigger: the rules with `trigger` set in `chat_expr_rule`. Otherwise it describes the prefill and the output
 * together.
 */
CHAT_MUST_USE chat_status chat_parser_grammar(const chat_parser *parser, bool lazy, chat_grammar **out,
                                              chat_error **error);

/** Makes a builder without expressions. */
CHAT_MUST_USE chat_status chat_expr_builder_new(chat_expr_builder **out, chat_error **error);
/** Matches exactly this text, which may be empty. */
chat_expr chat_expr_literal(chat_expr_builder *builder, const char *text, size_t text_len);

/**
 * Matches text up to the first of these markers or up to the end of the output, without the marker. Without markers:
 * all text.
 */
chat_expr chat_expr_until(chat_expr_builder *builder, const chat_str *markers, size_t marker_count);

/** Matches one character in one of the ranges or, if `negated`, in none of them: without ranges, any character. */
chat_expr chat_expr_character(chat_expr_builder *builder, const chat_char_range *ranges, size_t range_count,
                              bool negated);

/**
 * Matches one character of a class, e.g. `[a-z_]`, `[^"\\]` or `[\u4E00-\u9FFF]`. The brackets are optional. After a
 * backslash a character is literal, except in `\n`, `\t`, `\r`, `\xHH`, `\uHHHH` and `\UHHHHHHHH`. The class must not
 * be empty.
 */
chat_expr chat_expr_class(chat_expr_builder *builder, const char *text, size_t text_len);

/**
 * Matches the inside of a quoted string up to `quote` (ASCII), without it: text with JSON's escapes, and with `quote`
 * after a backslash. Any other escape ends it.
 */
chat_expr chat_expr_string_body(chat_expr_builder *builder, char quote);

/** Matches all white space at this place, also none. */
chat_expr chat_expr_space(chat_expr_builder *builder);
/** Matches empty text at the start of the output, or of the prefill if there is one. */
chat_expr chat_expr_start(chat_expr_builder *builder);
/** Matches empty text at the end of the output. Text after the match of a format without it becomes content. */
chat_expr chat_expr_end(chat_expr_builder *builder);
/** Matches all of the expressions, in order. */
chat_expr chat_expr_sequence(chat_expr_builder *builder, const chat_expr *children, size_t child_count);

/**
 * Ordered choice: tries each expression in turn and keeps the first that matches. Text that an alternative captures is
 * streamed to the caller before the alternative has matched. If two alternatives capture the same bytes differently,
 * wrap them in `chat_expr_atomic`. Without expressions it never matches; the grammar has empty text then.
 */
chat_expr chat_expr_choice(chat_expr_builder *builder, const chat_expr *children, size_t child_count);

/** Matches the expression as often as possible, at least `min` and at most `max` times (`CHAT_EXPR_UNBOUNDED`). */
chat_expr chat_expr_repeat(chat_expr_builder *builder, chat_expr child, uint32_t min, uint32_t max);
/** Matches empty text where the expression matches or, if `negated`, does not match. */
chat_expr chat_expr_lookahead(chat_expr_builder *builder, chat_expr child, bool negated);

/**
 * Matches the expression, and delays the text of its tags until it has matched. The text of a tag around it is not
 * delayed.
 */
chat_expr chat_expr_atomic(chat_expr_builder *builder, chat_expr child);

/** Matches the expression and gives it a meaning, a `chat_tag`. */
chat_expr chat_expr_tag(chat_expr_builder *builder, uint32_t tag, chat_expr child);

/**
 * Matches the expression and labels its node in `chat_parser_tree`. A label that is the name of a `chat_tag`, e.g.
 * `tool-name` for `CHAT_TAG_TOOL_NAME`, also gives it that meaning; the text is streamed as it comes, unless it is
 * inside of `chat_expr_atomic`.
 */
chat_expr chat_expr_label(chat_expr_builder *builder, const char *label, size_t label_len, chat_expr child);

/**
 * Makes the parser of the format `root`. `prefill` is the part of the model's turn that the prompt holds: the parser
 * reads it as if the model had written it. The builder keeps its expressions and can build other formats.
 *
 * Errors: the first failure of the builder's functions, with the function's name; such a builder builds nothing more.
 * `CHAT_STATUS_INVALID_ARGUMENT` for a root that is not an expression of the builder, a reference to a missing rule,
 * and a rule that begins with itself; `CHAT_STATUS_LIMIT` for a format that is too deep or too long.
 */
CHAT_MUST_USE chat_status chat_expr_build(chat_expr_builder *builder, chat_expr root, const char *prefill,
                                          size_t prefill_len, chat_parser **out, chat_error **error);

/** Frees the builder. Parsers that it made stay valid. */
void chat_expr_builder_free(chat_expr_builder *builder);

/**
 * Matches one JSON value. The grammar gets the rules of `schema` (JSON text, `{}` for any value) under the rule name
 * `name`, which may be empty.
 */
chat_expr chat_expr_json(chat_expr_builder *builder, const char *name, size_t name_len, const char *schema,
                         size_t schema_len);

/**
 * Writes whether a schema (JSON text) allows any string, in any of its branches. Tagged formats write such values as
 * raw text. A reference without a target, or in a circle, counts as no string.
 */
CHAT_MUST_USE chat_status chat_schema_allows_string(const char *schema, size_t schema_len, bool *out,
                                                    chat_error **error);

/**
 * Matches a value in one of the notations `chat_value_kind`, the same in the grammar; for a schema use
 * `chat_expr_json`. A rule `json-string` (`chat_expr_rule`) that was added before replaces the strings of JSON.
 */
chat_expr chat_expr_value(chat_expr_builder *builder, uint32_t kind);

/**
 * Matches the tool calls of a message with their markers, and tags them. `request` is as for
 * `chat_params_from_template`; only `tools`, `tool_choice` and `parallel_tool_calls` count, and `messages` may be
 * empty. Without tools, or with `tool_choice` `none`, it matches empty text. The rule of a call is `tool-call`, a
 * trigger of lazy grammars.
 *
 * `turn` is a JSON object: how the calls are written, as the field `turn` of `CHAT_REPORT_LAYOUT` of
 * `chat_template_report` has it. Of its fields only `calls` must be there.
 *
 * - `calls`: the ways to write a call, each an object of `pieces` and `close`, the text after the call. A piece is
 *   `"name"`, `"id"`, `{"arguments": {"quoted": false}}` (a JSON object; `true`: as a JSON string), `{"glue": ...}`, the
 *   text between two of them, or `{"members": ...}` for arguments one by one;
 * - `members` has `first` and `next`, the texts before the name of the first argument and of each other one, and `slots`:
 *   pairs of the kinds of values (`text`, `integer`, `number`, `boolean`, `null`, `array`, `object`) and an object: the
 *   text `before` the name, `open` between name and value, `close` after the value, and its `encoding`: `raw`, `quoted`
 *   or `python`;
 * - `edges`: the texts around calls, each an array of a place, a text, and the place after it: `["prompt", "<calls>",
 *   "call"]`, `["call", ", ", "call"]`, `["call", "</calls>", "end"]`.
 *
 * E.g. `{"edges": [["prompt", "<tool_call>{\"name\": \"", "call"], ["call", "</tool_call>", "end"]], "calls": [{"pieces":
 * ["name", {"glue": "\", \"arguments\": "}, {"arguments": {"quoted": false}}], "close": "}"}]}`.
 */
chat_expr chat_expr_calls(chat_expr_builder *builder, const char *request, size_t request_len, const char *turn,
                          size_t turn_len);

/**
 * Uses `child` to parse, and `schema` (JSON text) to generate the grammar rule `name`. Set `raw` if strings are
 * written without JSON quotes: then, if the schema allows strings, the grammar uses `child` instead of the schema.
 */
chat_expr chat_expr_schema(chat_expr_builder *builder, chat_expr child, const char *name, size_t name_len,
                           const char *schema, size_t schema_len, bool raw);

/**
 * Uses `child` to parse, and `body` in the grammar: the part of a GBNF rule after `::=`, or empty text. It refers to
 * rules by their names in `chat_expr_rule`, which must exist.
 */
chat_expr chat_expr_gbnf(chat_expr_builder *builder, chat_expr child, const char *body, size_t body_len);

/**
 * Uses `child` to parse: it must match text up to and including the first of these markers. The grammar gets text that
 * ends with the first marker, so that it ends where the parser does.
 */
chat_expr chat_expr_excluding(chat_expr_builder *builder, chat_expr child, const chat_str *markers,
                              size_t marker_count);

/**
 * Matches the expression as a rule, for `chat_expr_reference`, also from inside it. If `trigger`, a lazy grammar may
 * start at this rule. A second rule of the same name replaces the first.
 */
chat_expr chat_expr_rule(chat_expr_builder *builder, const char *name, size_t name_len, chat_expr child, bool trigger);

/** Matches the rule of that name, which may be added later. */
chat_expr chat_expr_reference(chat_expr_builder *builder, const char *name, size_t name_len);

/* == Trees ========================================================================================================= */

/** A syntax tree of a text: a node for each rule, tag and label that matched. Immutable. */
typedef struct chatparse_tree chat_tree;

/** How a text relates to the format of a tree. */
CHAT_ENUM(chat_match) {
  CHAT_MATCH_FAILED = 0,  /**< It does not match; the tree has no nodes. */
  CHAT_MATCH_MATCHED = 1, /**< It matches. Text after the match is ignored unless the format ends with
                               `chat_expr_end`. */
  CHAT_MATCH_PARTIAL = 2, /**< It ended before the match did, without a mismatch (only with `CHAT_PARSE_PARTIAL`). */
};

/** One rule, tag or label that matched. */
typedef struct {
  chat_str rule; /**< The rule's name; empty for a tag or label. */
  chat_str tag;  /**< The tag's name (`content`, `tool-name`, ...) or the label; empty for a rule. */
  size_t begin;  /**< Position of its first byte in the text. */
  size_t end;    /**< Position after its last byte. */
  size_t parent; /**< Index of the node around it, which is lower than its own; its own if there is none. */
  bool partial;  /**< The text ended inside of it. */
} chat_node;

/**
 * Parses a text to a tree, from byte `from` on. `text` is the whole text of the format, prefill included, any bytes.
 * `flags` is 0 for a complete text or `CHAT_PARSE_PARTIAL`. The call succeeds even if the text does not match: see
 * `chat_tree_outcome`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for a `from` above `text_len`; `CHAT_STATUS_LIMIT` for a format with too many
 * rules.
 */
CHAT_MUST_USE chat_status chat_parser_tree(const chat_parser *parser, const char *text, size_t text_len, size_t from,
                                           uint32_t flags, chat_tree **out, chat_error **error);

/** Returns how the text relates to the format. `CHAT_MATCH_FAILED` for NULL. */
chat_match chat_tree_outcome(const chat_tree *tree);
/** Returns the position after the match; of a text that does not match, how far it could have matched. */
size_t chat_tree_end(const chat_tree *tree);
/** Returns how many nodes there are. */
size_t chat_tree_node_count(const chat_tree *tree);
/** Fills `*out` with node `index`. Nodes are in the order of their first bytes, the outer before the inner. */
CHAT_MUST_USE chat_status chat_tree_node(const chat_tree *tree, size_t index, chat_node *out, chat_error **error);

/**
 * Makes a message of the tagged text alone. Its outcome is `CHAT_OUTCOME_PARTIAL` if the text was cut off.
 *
 * Errors: `CHAT_STATUS_PARSE` for a text that does not match.
 */
CHAT_MUST_USE chat_status chat_tree_message(const chat_tree *tree, chat_message **out, chat_error **error);

/** Frees the tree. Messages that were made from it stay valid. */
void chat_tree_free(chat_tree *tree);

/* == Conversations in token ids ==================================================================================== */

/** Where a tokenizer puts what it is asked for. */
typedef struct chatparse_token_sink chat_token_sink;

/*
 * Begin with `chat_conversation_prompt`, sample, give what was sampled to `chat_conversation_observe`, go on with
 * `chat_conversation_extend`. Nothing that was sent or sampled is encoded again.
 */

/**
 * A conversation in token ids. One thread at a time. A conversation copies what it needs of the template and of the tokenizer.
 */
typedef struct chatparse_conversation chat_conversation;

/**
 * What a token of a conversation is a part of. Later versions may add some: treat unknown ones as `CHAT_FIELD_MARKUP`.
 */
CHAT_ENUM(chat_field) {
  CHAT_FIELD_TEMPLATE = 1,       /**< Sent: the template's own text. */
  CHAT_FIELD_VALUE = 2,          /**< Sent: text of a message, a tool or a variable. */
  CHAT_FIELD_MARKUP = 3,         /**< Sampled: what no field has, such as markers, and the end of the turn. */
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
 * A tokenizer of the caller's. Its functions may be called by any thread that uses a conversation with it, by several at once.
 * They return whether they were successful; a failure ends the call that needed them.
 */
typedef struct {
  void *user;                                                                      /**< What the functions are given. */
  bool (*encode)(void *user, const char *text, size_t len, chat_token_sink *sink); /**< Puts the ids of a text into
                                                                                        `sink`, as if it had no special
                                                                                        tokens, and with nothing in
                                                                                        front of it or behind it. */
  bool (*token_bytes)(void *user, uint32_t id, chat_token_sink *sink);             /**< Puts the bytes of a token into
                                                                                        `sink`. It is not asked for
                                                                                        those of special tokens. */
  void (*release)(void *user);                                                     /**< Called when no conversation uses
                                                                                        the tokenizer any more; may be
                                                                                        NULL. */
  const chat_special_token *special;                                               /**< The special tokens, copied: all
                                                                                        that the tokenizer would look
                                                                                        for in a text. */
  size_t special_count;                                                            /**< How many there are. */
} chat_tokenizer;

/** What stays of a conversation that goes on. */
typedef struct {
  size_t kept;     /**< How many ids stay. Those of `chat_conversation_ids` behind them are to be sent. */
  size_t token;    /**< The first token whose text the template changes; `SIZE_MAX` if it changes nothing. */
  size_t at;       /**< The first byte that it changes. */
  size_t message;  /**< Index of the message at that byte; `SIZE_MAX` for text of the template, and if nothing
                        changes. */
  chat_str reason; /**< The lower-case name of the reason, as those of `chat_reason`; empty if nothing changes; valid
                        for ever. */
  chat_str words;  /**< The reason as a sentence; valid for ever. */
} chat_extended;

/** A view of ids; valid until the conversation changes. */
typedef struct {
  const uint32_t *data; /**< The first of them; not NULL. */
  size_t len;           /**< How many there are. */
} chat_ids;

/** A token of a conversation. */
typedef struct {
  size_t end;        /**< Where its text ends in the conversation's, in bytes. */
  size_t call;       /**< The call that it is a part of; `SIZE_MAX` if none. */
  chat_str argument; /**< The argument of the call whose value it is; empty if none. Valid until the conversation
                          changes. */
  chat_field field;  /**< What it is a part of. */
  float logprob;     /**< Its log probability; NaN if it was not told. */
  bool sampled;      /**< Whether it was sampled. */
} chat_id_token;

/** Puts ids into a sink, behind those that are there. */
void chat_token_sink_ids(chat_token_sink *sink, const uint32_t *ids, size_t count);
/** Puts bytes into a sink, behind those that are there. */
void chat_token_sink_bytes(chat_token_sink *sink, const char *data, size_t len);

/**
 * Makes a conversation without messages so far. `request` is JSON as for `chat_params_from_template`, with the tools and the
 * options; its messages may be missing, and are not used. `options` is as for `chat_params_from_template_with`, or NULL. `tokenizer` is copied, its
 * special tokens too. Its `user` must last until `release`, which is called even if this function fails, unless `encode` or `token_bytes` is NULL.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for a wrong request, a tokenizer without functions, a special token without text.
 */
CHAT_MUST_USE chat_status chat_conversation_new(const chat_template *template_, const chat_tokenizer *tokenizer,
                                                const char *request, size_t request_len, const char *options,
                                                size_t options_len, chat_conversation **out, chat_error **error);

/** Makes a second conversation in the same state; the two then go their own ways. */
CHAT_MUST_USE chat_status chat_conversation_clone(const chat_conversation *conversation, chat_conversation **out,
                                                  chat_error **error);

/**
 * Begins with these messages, JSON text of an array, and forgets what there was: `chat_conversation_ids` are those of the prompt.
 * The template's own special tokens are such; what messages say is text.
 *
 * Errors: as `chat_params_from_template`; `CHAT_STATUS_INVALID_ARGUMENT` if the tokenizer failed.
 */
CHAT_MUST_USE chat_status chat_conversation_prompt(chat_conversation *conversation, const char *messages,
                                                   size_t messages_len, chat_error **error);

/**
 * Takes ids as they were sampled, and replaces the deltas. `logprobs` has one for each id, or is NULL.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` before a prompt, behind `chat_conversation_finish`, and for an id that the tokenizer does
 * not know. Then nothing is taken.
 */
CHAT_MUST_USE chat_status chat_conversation_observe(chat_conversation *conversation, const uint32_t *ids,
                                                    const float *logprobs, size_t count, chat_error **error);

/**
 * Ends the output and replaces the deltas: they hold the text that could have become a marker. `flags` is 0, or
 * `CHAT_PARSE_PARTIAL` if the output was cut off. `chat_conversation_extend` does so by itself.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` before a prompt.
 */
CHAT_MUST_USE chat_status chat_conversation_finish(chat_conversation *conversation, uint32_t flags, chat_error **error);

/**
 * Appends what is to be sent behind the output in order to go on with `messages`, JSON text of an array. If the template changes what
 * was sent, `*out` says from which token on, and why; with the option `append: always` all ids stay nevertheless.
 *
 * Errors: as `chat_params_continue`; `CHAT_STATUS_INVALID_ARGUMENT` if the tokenizer failed. Then nothing has changed.
 */
CHAT_MUST_USE chat_status chat_conversation_extend(chat_conversation *conversation, const char *messages,
                                                   size_t messages_len, chat_extended *out, chat_error **error);

/**
 * Takes back what was sampled behind the first `length` ids, also behind `chat_conversation_finish`. To go back further, keep a clone.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` if these ids do not end in the last output.
 */
CHAT_MUST_USE chat_status chat_conversation_rewind(chat_conversation *conversation, size_t length, chat_error **error);

/** Returns all ids, sent and sampled. */
chat_ids chat_conversation_ids(const chat_conversation *conversation);
/** Returns how many ids are in front of the last output. */
size_t chat_conversation_prompt_count(const chat_conversation *conversation);
/** Returns the text in front of the last output; valid until the conversation changes. */
chat_str chat_conversation_text(const chat_conversation *conversation);
/** Returns the bytes of the last output; valid until the conversation changes. */
chat_str chat_conversation_output(const chat_conversation *conversation);
/** Returns whether the last output ends with a special token that ends outputs. */
bool chat_conversation_ended(const chat_conversation *conversation);

/** Fills `*out` with what is known of the token of this index. */
CHAT_MUST_USE chat_status chat_conversation_token(const chat_conversation *conversation, size_t index,
                                                  chat_id_token *out, chat_error **error);

/** Returns the number of deltas of the last `chat_conversation_observe` or `chat_conversation_finish`. */
size_t chat_conversation_delta_count(const chat_conversation *conversation);

/** Fills `*out` with one of them; its text is valid until the conversation changes. */
CHAT_MUST_USE chat_status chat_conversation_delta(const chat_conversation *conversation, size_t index, chat_delta *out,
                                                  chat_error **error);

/** Writes the last output as a message, JSON text as OpenAI has it, to `*out`; valid until the conversation changes. */
CHAT_MUST_USE chat_status chat_conversation_message_json(chat_conversation *conversation, chat_str *out,
                                                         chat_error **error);

/**
 * Checks whether the tokenizer goes with the template, with the tools and options of the conversation, and writes what stands between them to
 * `*out`, JSON text; valid until the conversation changes. It is an array of objects: `kind` (`end`, `marker`: the end of the turn,
 * or another marker, is no special token; `seam`: ids turn by turn are not those of the whole; `rewrite`: the template changes what
 * was sent), `words`, the smallest of the conversations that were tried which shows it as `messages`, and `token`, the first token that
 * differs, or null. The conversation itself stays as it is.
 *
 * Errors: as `chat_params_from_template`; `CHAT_STATUS_INVALID_ARGUMENT` if the tokenizer failed.
 */
CHAT_MUST_USE chat_status chat_conversation_check_json(chat_conversation *conversation, chat_str *out,
                                                       chat_error **error);

/** Frees a conversation. NULL is fine. */
void chat_conversation_free(chat_conversation *conversation);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CHATPARSE_UNSTABLE_H */
