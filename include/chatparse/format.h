/* A part of chatparse.h, which includes this file: its rules hold here, too. */

#ifndef CHATPARSE_FORMAT_H
#define CHATPARSE_FORMAT_H

#include "../chatparse.h"

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/* == Grammar builder =============================================================================================== */

/*
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
chat_status chat_grammar_builder_add_rule(chat_grammar_builder *builder, const char *name, size_t name_len,
                                          const char *body, size_t body_len, chat_str *out, chat_error **error);

/**
 * Adds a rule for exactly this text; it may hold quotes, backslashes, line breaks and NUL. Name and text are copied.
 *
 * On success `*out` is the rule's actual name, valid until the next call that takes the builder without `const`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for text that is not UTF-8.
 */
chat_status chat_grammar_builder_add_literal(chat_grammar_builder *builder, const char *name, size_t name_len,
                                             const char *text, size_t text_len, chat_str *out, chat_error **error);

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
chat_status chat_grammar_builder_add_schema(chat_grammar_builder *builder, const char *name, size_t name_len,
                                            const char *schema, size_t schema_len, chat_str *out, chat_error **error);

/**
 * Adds the rules of what a parser reads, as `chat_parser_grammar` has them. The one that stands for all of it is `root`, so add them
 * to a builder that has none.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and where there is a rule `root` already.
 */
chat_status chat_grammar_builder_add_parser(chat_grammar_builder *builder, const chat_parser *parser, bool lazy,
                                            chat_error **error);

/**
 * The grammar of all that was added so far. It does not change with the builder, to which more may be added.
 *
 * On success `*out` is a new grammar, to be freed with `chat_grammar_free`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for what llama.cpp's reader of grammars refuses: no rule is called `root`, a
 * rule refers to one that is not there, or begins with itself; `CHAT_STATUS_LIMIT` where they are too large.
 */
chat_status chat_grammar_builder_build(const chat_grammar_builder *builder, chat_grammar **out, chat_error **error);

/** Frees the builder. Grammars that it has built stay valid. NULL is fine. */
void chat_grammar_builder_free(chat_grammar_builder *builder);

/* == Formats of your own =========================================================================================== */

/*
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

/** No expression: what a function returns that could not make one. */
#define CHAT_EXPR_NONE 0
/** No upper bound, for `chat_expr_repeat`. */
#define CHAT_EXPR_UNBOUNDED UINT32_MAX

/**
 * What a tagged part of an output means. A call is: `CHAT_TAG_TOOL_OPEN`, with the name in it, the arguments in one of two ways,
 * and `CHAT_TAG_TOOL_CLOSE`. The arguments are one JSON object under `CHAT_TAG_TOOL_ARGUMENTS`, or each a name and a value under
 * `CHAT_TAG_ARGUMENT_...`, of which the library makes an object. Parts of a call that stand outside of one mean nothing.
 */
CHAT_ENUM(chat_tag) {
  CHAT_TAG_REASONING = 1,       /**< Text of `reasoning_content`. */
  CHAT_TAG_CONTENT = 2,         /**< Text of `content`. */
  CHAT_TAG_TOOL_OPEN = 3,       /**< What a call begins with. It may match nothing. */
  CHAT_TAG_TOOL_CLOSE = 4,      /**< What a call ends with. It may match nothing; without it the call counts as cut off.
                                     */
  CHAT_TAG_TOOL_NAME = 5,       /**< The call's name. */
  CHAT_TAG_TOOL_ID = 6,         /**< The call's id, with or without quotes. */
  CHAT_TAG_TOOL_ARGUMENTS = 7,  /**< The call's arguments, a JSON object. */
  CHAT_TAG_ARGUMENT_NAME = 8,   /**< The name of one argument. */
  CHAT_TAG_ARGUMENT_JSON = 9,   /**< The value of one argument, as JSON or as a Python literal. */
  CHAT_TAG_ARGUMENT_TEXT = 10,  /**< The value of one argument, as raw text: it becomes a JSON string. */
  CHAT_TAG_ARGUMENT_CLOSE = 11, /**< What follows a value and ends it. It may match nothing. */
};

/** What a value may look like. */
CHAT_ENUM(chat_value_kind) {
  CHAT_VALUE_KIND_JSON = 1,            /**< Any JSON value. */
  CHAT_VALUE_KIND_JSON_OBJECT = 2,     /**< A JSON object. */
  CHAT_VALUE_KIND_JSON_ARRAY = 3,      /**< A JSON array. */
  CHAT_VALUE_KIND_JSON_STRING = 4,     /**< A JSON string, quotes included. */
  CHAT_VALUE_KIND_JSON_NUMBER = 5,     /**< A JSON number. It ends only where a character follows that cannot extend it.
                                            */
  CHAT_VALUE_KIND_PYTHON = 6,          /**< Any Python literal: `{'a': [True, None]}`. */
  CHAT_VALUE_KIND_PYTHON_DICT = 7,     /**< A Python dict. */
  CHAT_VALUE_KIND_PYTHON_LIST = 8,     /**< A Python list. */
  CHAT_VALUE_KIND_PYTHON_STRING = 9,   /**< A string in double or single quotes. */
  CHAT_VALUE_KIND_PYTHON_OR_JSON = 10, /**< Any value, as JSON or as a Python literal. */
};

/** The number of an expression in its builder. */
typedef uint32_t chat_expr;

/** An inclusive range of characters, as Unicode code points. */
typedef struct {
  uint32_t first; /**< The first. */
  uint32_t last;  /**< The last. */
} chat_char_range;

/**
 * A builder without expressions.
 *
 * On success `*out` is a new object, to be freed with `chat_expr_builder_free`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_expr_builder_new(chat_expr_builder **out, chat_error **error);

/** Matches exactly this text (UTF-8; copied), which may be empty. */
chat_expr chat_expr_literal(chat_expr_builder *builder, const char *text, size_t text_len);

/**
 * Matches text up to the first of these markers (UTF-8; copied), which it does not consume, or up to the end of the output. Without
 * markers: everything that is left.
 */
chat_expr chat_expr_until(chat_expr_builder *builder, const chat_str *markers, size_t marker_count);

/** Matches one character that is in one of the ranges or, if `negated`, in none: without ranges, any character. */
chat_expr chat_expr_character(chat_expr_builder *builder, const chat_char_range *ranges, size_t range_count,
                              bool negated);

/**
 * Matches one character of a class, e.g. `[a-z_]`, `[^"\\]` or `[\u4E00-\u9FFF]` (UTF-8). The brackets may be left out. A backslash makes
 * the character behind it mean itself, but for `\n`, `\t`, `\r`, `\xHH`, `\uHHHH` and `\UHHHHHHHH`. The class must not be empty.
 */
chat_expr chat_expr_class(chat_expr_builder *builder, const char *text, size_t text_len);

/**
 * Matches the inside of a quoted string, up to `quote`, which it does not consume: any text, with JSON's escapes behind
 * backslashes, and `quote` behind one. `quote` must be ASCII.
 */
chat_expr chat_expr_string_body(chat_expr_builder *builder, char quote);

/** Matches white space, as much as there is. */
chat_expr chat_expr_space(chat_expr_builder *builder);
/** Matches the start of the output only, that of the prefill if there is one. */
chat_expr chat_expr_start(chat_expr_builder *builder);

/**
 * Matches the end of the output only. A format that does not end with it leaves what follows its match to the content.
 */
chat_expr chat_expr_end(chat_expr_builder *builder);

/** Matches all of the expressions, in order. */
chat_expr chat_expr_sequence(chat_expr_builder *builder, const chat_expr *children, size_t child_count);

/**
 * Matches what the first of the expressions matches that does. What one of them shows while it is still going on must be what
 * the others would make of it, too: put `chat_expr_atomic` around what is not certain yet. A choice of none never matches; in a
 * grammar it stands for nothing.
 */
chat_expr chat_expr_choice(chat_expr_builder *builder, const chat_expr *children, size_t child_count);

/** Matches the expression as often as it does, at least `min` and at most `max` times (`CHAT_EXPR_UNBOUNDED`). */
chat_expr chat_expr_repeat(chat_expr_builder *builder, chat_expr child, uint32_t min, uint32_t max);
/** Matches nothing, where the expression would match or, if `negated`, would not. */
chat_expr chat_expr_lookahead(chat_expr_builder *builder, chat_expr child, bool negated);

/**
 * Matches as the expression does, and what is tagged in it shows only once all of it has matched. A tag around it shows its text as
 * it comes.
 */
chat_expr chat_expr_atomic(chat_expr_builder *builder, chat_expr child);

/** Matches as the expression does, and gives it a meaning: a `chat_tag`. */
chat_expr chat_expr_tag(chat_expr_builder *builder, uint32_t tag, chat_expr child);

/**
 * Matches as the expression does, and names it (UTF-8; copied) for `chat_parser_tree`. The names of tags (`chat_tag`), such as
 * `tool-name` for `CHAT_TAG_TOOL_NAME`, give it that meaning, too; a part of a call shows as it comes then, unless it is atomic.
 */
chat_expr chat_expr_label(chat_expr_builder *builder, const char *label, size_t label_len, chat_expr child);

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
chat_status chat_expr_build(chat_expr_builder *builder, chat_expr root, const char *prefill, size_t prefill_len,
                            chat_parser **out, chat_error **error);

/** Frees the builder. Parsers that it has built stay valid. NULL is fine. */
void chat_expr_builder_free(chat_expr_builder *builder);

/**
 * Matches one JSON value. In a grammar the schema speaks (JSON text, `{}` for any value), under the rule name `name`, which may be
 * empty. Texts are copied.
 */
chat_expr chat_expr_json(chat_expr_builder *builder, const char *name, size_t name_len, const char *schema,
                         size_t schema_len);

/**
 * Matches a value: a `chat_value_kind`. A grammar has it as it is parsed; `chat_expr_json` is for a schema of it. An earlier
 * `chat_expr_rule` of the name `json-string` says what the strings in JSON look like.
 */
chat_expr chat_expr_value(chat_expr_builder *builder, uint32_t kind);

/**
 * Matches the tool calls of a message, with the markers around them, and tags them (`chat_tag`). `request` is JSON as
 * `chat_params_from_template` takes it; `tools`, `tool_choice` and `parallel_tool_calls` count, and `messages` may be empty. Without tools, or
 * with `tool_choice` `none`, it matches nothing. The calls are a rule `tool-call` that triggers a lazy grammar.
 *
 * `layout` is a JSON object that says how calls are written, with the groups and fields that `chat_template_layout` prints: `tools`,
 * `function`, `arguments`, `call_id`; what is left out is empty. `tools.format` must be there. Besides those of templates it may be
 * `pythonic`: a list like `[f(x=1, s='text'), g()]`. E.g. for `<tool_call>{"name": "f", "arguments": {}}</tool_call>`:
 * `{"tools": {"format": "json_native", "section_start": "<tool_call>", "section_end": "</tool_call>"}}`.
 */
chat_expr chat_expr_calls(chat_expr_builder *builder, const char *request, size_t request_len, const char *layout,
                          size_t layout_len);

/**
 * Matches as the expression does. In a grammar the schema speaks (JSON text), under the rule name `name`; but with `raw`, where the
 * value is written as raw text unless it cannot be a string, the grammar has the expression of a value that may be one. Texts are
 * copied.
 */
chat_expr chat_expr_schema(chat_expr_builder *builder, chat_expr child, const char *name, size_t name_len,
                           const char *schema, size_t schema_len, bool raw);

/**
 * Matches as the expression does. A grammar has this body in its place: what GBNF has right of `::=` (UTF-8; copied), or nothing
 * where it is empty. The rules that it refers to must be there by their names, see `chat_expr_rule`.
 */
chat_expr chat_expr_gbnf(chat_expr_builder *builder, chat_expr child, const char *body, size_t body_len);

/**
 * Matches as the expression does, which is to be text up to the first of these markers, and the marker (UTF-8; copied). A grammar has
 * text that ends with the first marker in it, so that it ends where the parser does.
 */
chat_expr chat_expr_excluding(chat_expr_builder *builder, chat_expr child, const chat_str *markers,
                              size_t marker_count);

/**
 * Names the expression (UTF-8; copied) and matches as it does. `chat_expr_reference` may refer to it, also from inside it. With
 * `trigger`, a lazy grammar may start here. A second rule of a name replaces the first.
 */
chat_expr chat_expr_rule(chat_expr_builder *builder, const char *name, size_t name_len, chat_expr child, bool trigger);

/** Matches as the rule of that name (UTF-8; copied) does, which may be added later. */
chat_expr chat_expr_reference(chat_expr_builder *builder, const char *name, size_t name_len);

/* == Trees ========================================================================================================= */

/** How a text related to the format, by its tree. */
CHAT_ENUM(chat_match) {
  CHAT_MATCH_FAILED = 0,  /**< It did not match; there are no nodes. */
  CHAT_MATCH_MATCHED = 1, /**< It matched. What follows the match is nobody's business, unless the format ends with
                               `chat_expr_end`. */
  CHAT_MATCH_PARTIAL = 2, /**< It was cut off before anything was wrong (`CHAT_PARSE_PARTIAL` only). */
};

/** One rule or tag that took part in a match. Its texts are valid until the tree is freed. */
typedef struct {
  chat_str rule; /**< The rule's name; empty for a tag. */
  chat_str tag;  /**< The tag's name (`content`, `tool-name`, ..., see `chat_tag`) or the label; empty for a rule. */
  size_t begin;  /**< Where it begins, in bytes of the text. */
  size_t end;    /**< Where it ends. */
  size_t parent; /**< The index of the node around it, which is lower than its own; its own where there is none. */
  bool partial;  /**< The text was cut off in it. */
} chat_node;

/**
 * Parses a text to a tree, from byte `from` on. `text` is the whole of what the format describes, a prefill included; it may hold any
 * bytes, and is copied. `flags` is 0 for a text that is all there, or `CHAT_PARSE_PARTIAL` for one that was cut off.
 *
 * On success, which says nothing about whether the text matches, `*out` is a new object, to be freed with `chat_tree_free`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for unknown flags and for a `from` behind the text; `CHAT_STATUS_LIMIT` for a format
 * with too many rules.
 */
chat_status chat_parser_tree(const chat_parser *parser, const char *text, size_t text_len, size_t from, uint32_t flags,
                             chat_tree **out, chat_error **error);

/** How the text related to the format. `CHAT_MATCH_FAILED` for NULL. */
chat_match chat_tree_outcome(const chat_tree *tree);

/**
 * How far the match reached, in bytes of the text; where it failed, up to where the text could still have been one. 0 for NULL.
 */
size_t chat_tree_end(const chat_tree *tree);

/** How many nodes there are. 0 for NULL. */
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
chat_status chat_tree_message(const chat_tree *tree, chat_message **out, chat_error **error);

/** Frees the tree. Messages that were made of it stay valid. NULL is fine. */
void chat_tree_free(chat_tree *tree);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CHATPARSE_FORMAT_H */
