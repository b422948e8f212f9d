// The C library's numbers as words. Later versions may add some: those are "unknown".

/**
 * What a delta adds to, or, after a rollback, takes from. `tool_name` is the first of each call and has all of the name, `tool_id` has
 * all of the id, `tool_end` says that the call is whole.
 * @typedef {AddingKind | WithdrawingKind | "unknown"} DeltaKind
 */

/**
 * What a delta adds to.
 * @typedef {"reasoning" | "content" | "tool_name" | "tool_id" | "tool_arguments" | "tool_end"} AddingKind
 */

/**
 * What a delta takes from; `call` takes all of a call.
 * @typedef {`${"reasoning" | "content" | "call" | "tool_id" | "tool_arguments" | "tool_end"}_withdrawn`} WithdrawingKind
 */

/** @type {Record<number, DeltaKind>} */
export const DELTA_KINDS = {
  1: "reasoning",
  2: "content",
  3: "tool_name",
  4: "tool_id",
  5: "tool_arguments",
  6: "tool_end",
  101: "reasoning_withdrawn",
  102: "content_withdrawn",
  103: "call_withdrawn",
  104: "tool_id_withdrawn",
  105: "tool_arguments_withdrawn",
  106: "tool_end_withdrawn",
};

/**
 * How an output related to the template's format. `partial`: it was cut off, is still coming, or stopped inside the reasoning.
 * `recovered`: it broke the format; the message holds all of it, and its report says where.
 * @typedef {"complete" | "partial" | "recovered" | "unknown"} Status
 */

/** @type {Record<number, Status>} */
export const STATUSES = { 1: "complete", 2: "partial", 3: "recovered" };

/**
 * How a call was marked as one: in the template's own way, in another way with a marker, or not at all. Run bare calls only where quoting
 * a text that reads like a call does no harm.
 * @typedef {"format" | "dialect" | "bare" | "unknown"} CallOrigin
 */

/** @type {Record<number, CallOrigin>} */
export const CALL_ORIGINS = { 1: "format", 2: "dialect", 3: "bare" };

/**
 * Where a part of a prompt comes from. `unknown`: take it for a user's text.
 * @typedef {"template" | "message" | "tool" | "kwarg" | "unknown"} TextOrigin
 */

/** @type {Record<number, TextOrigin>} */
export const TEXT_ORIGINS = { 1: "template", 2: "message", 3: "tool", 4: "kwarg" };

/**
 * Why a template writes anew what was sent.
 * @typedef {"reasoning" | "opening" | "moved" | "changed" | "output" | "request" | "unknown"} RewriteReason
 */

/** @type {Record<number, RewriteReason>} */
export const REWRITE_REASONS = { 1: "reasoning", 2: "opening", 3: "moved", 4: "changed", 5: "output", 6: "request" };

/**
 * What a part of an output became.
 * @typedef {"reasoning" | "content" | "call" | "unknown"} PartKind
 */

/** @type {Record<number, PartKind>} */
export const PART_KINDS = { 1: "reasoning", 2: "content", 3: "call" };

/**
 * How a grammar departs from a schema: it allows more, could not use the part at all, or allows less.
 * @typedef {"widened" | "refused" | "narrowed" | "unknown"} Fidelity
 */

/** @type {Record<number, Fidelity>} */
export const FIDELITIES = { 1: "widened", 2: "refused", 3: "narrowed" };

/**
 * A notation of grammars: llama.cpp's GBNF; GBNF that XGrammar reads, too; Lark for llguidance, XGrammar and vLLM; XGrammar's structural
 * tags, and their older form.
 * @typedef {"gbnf" | "portable_gbnf" | "lark" | "structural_tag"} Dialect
 */

/** @type {Record<Dialect, number>} */
export const DIALECTS = { gbnf: 1, portable_gbnf: 2, lark: 3, structural_tag: 4 };

/**
 * How schemas become rules: what the schema allows, as nearly as a grammar can, or the text that llama.cpp makes of it.
 * @typedef {"faithful" | "llama.cpp"} GrammarStyle
 */

/** @type {Record<GrammarStyle, number>} */
export const GRAMMAR_STYLES = { faithful: 1, "llama.cpp": 2 };

/**
 * What a grammar says of a text: it allows it, allows a longer one that begins so, or none that does.
 * @typedef {"allowed" | "prefix" | "refused" | "unknown"} Verdict
 */

/** @type {Record<number, Verdict>} */
export const VERDICTS = { 1: "allowed", 2: "prefix", 3: "refused" };

/**
 * What models wrote, as masks tell it apart; `end` is what ends a turn. `prefill` is what the prompt has already written of it, `space` the
 * white space behind it.
 * @typedef {"reasoning" | "content" | "calls" | "end" | "prefill" | "space"} MaskPart
 */

/** @type {Record<MaskPart, number>} */
export const MASK_PARTS = { reasoning: 1, content: 2, calls: 4, end: 8, prefill: 32, space: 64 };
export const MASK_LAST_ONLY = 16;

/** The index that stands for none. */
export const NO_MESSAGE = 0xffffffff;

/** An API of servers: OpenAI's chat completions and Responses, Anthropic's Messages. @typedef {"chat_completions" | "responses" | "messages"} Api */

/** @type {Record<Api, number>} */
export const APIS = { chat_completions: 1, responses: 2, messages: 3 };

/** @typedef {"reasoning" | "content" | "tool_name" | "tool_id" | "tool_arguments"} Field a field of a message */

/** @type {Record<Field, number>} */
export const FIELDS = { reasoning: 1, content: 2, tool_name: 3, tool_id: 4, tool_arguments: 5 };

export const REPORTS = { caps: 1, turn: 2, layout: 3, proof: 4, lint: 5, response_template: 6 };
