export type DeltaKind = AddingKind | WithdrawingKind | "unknown";
export type AddingKind = "reasoning" | "content" | "tool_name" | "tool_id" | "tool_arguments" | "tool_end";
export type WithdrawingKind = `${"reasoning" | "content" | "call" | "tool_id" | "tool_arguments" | "tool_end"}_withdrawn`;
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
export declare const DELTA_KINDS: Record<number, DeltaKind>;
export type Status = "complete" | "partial" | "recovered" | "unknown";
/**
 * How an output related to the template's format. `partial`: it was cut off, is still coming, or stopped inside the reasoning.
 * `recovered`: it broke the format; the message holds all of it, and its report says where.
 * @typedef {"complete" | "partial" | "recovered" | "unknown"} Status
 */
/** @type {Record<number, Status>} */
export declare const STATUSES: Record<number, Status>;
export type CallOrigin = "format" | "dialect" | "bare" | "unknown";
/**
 * How a call was marked as one: in the template's own way, in another way with a marker, or not at all. Run bare calls only where quoting
 * a text that reads like a call does no harm.
 * @typedef {"format" | "dialect" | "bare" | "unknown"} CallOrigin
 */
/** @type {Record<number, CallOrigin>} */
export declare const CALL_ORIGINS: Record<number, CallOrigin>;
export type TextOrigin = "template" | "message" | "tool" | "kwarg" | "unknown";
/**
 * Where a part of a prompt comes from. `unknown`: take it for a user's text.
 * @typedef {"template" | "message" | "tool" | "kwarg" | "unknown"} TextOrigin
 */
/** @type {Record<number, TextOrigin>} */
export declare const TEXT_ORIGINS: Record<number, TextOrigin>;
export type RewriteReason = "reasoning" | "opening" | "moved" | "changed" | "output" | "request" | "unknown";
/**
 * Why a template writes anew what was sent.
 * @typedef {"reasoning" | "opening" | "moved" | "changed" | "output" | "request" | "unknown"} RewriteReason
 */
/** @type {Record<number, RewriteReason>} */
export declare const REWRITE_REASONS: Record<number, RewriteReason>;
export type PartKind = "reasoning" | "content" | "call" | "unknown";
/**
 * What a part of an output became.
 * @typedef {"reasoning" | "content" | "call" | "unknown"} PartKind
 */
/** @type {Record<number, PartKind>} */
export declare const PART_KINDS: Record<number, PartKind>;
export type Fidelity = "widened" | "refused" | "narrowed" | "unknown";
/**
 * How a grammar departs from a schema: it allows more, could not use the part at all, or allows less.
 * @typedef {"widened" | "refused" | "narrowed" | "unknown"} Fidelity
 */
/** @type {Record<number, Fidelity>} */
export declare const FIDELITIES: Record<number, Fidelity>;
export type Dialect = "gbnf" | "portable_gbnf" | "lark" | "structural_tag";
/**
 * A notation of grammars: llama.cpp's GBNF; GBNF that XGrammar reads, too; Lark for llguidance, XGrammar and vLLM; XGrammar's structural
 * tags, and their older form.
 * @typedef {"gbnf" | "portable_gbnf" | "lark" | "structural_tag"} Dialect
 */
/** @type {Record<Dialect, number>} */
export declare const DIALECTS: Record<Dialect, number>;
export type GrammarStyle = "faithful" | "llama.cpp";
/**
 * How schemas become rules: what the schema allows, as nearly as a grammar can, or the text that llama.cpp makes of it.
 * @typedef {"faithful" | "llama.cpp"} GrammarStyle
 */
/** @type {Record<GrammarStyle, number>} */
export declare const GRAMMAR_STYLES: Record<GrammarStyle, number>;
export type Verdict = "allowed" | "prefix" | "refused" | "unknown";
/**
 * What a grammar says of a text: it allows it, allows a longer one that begins so, or none that does.
 * @typedef {"allowed" | "prefix" | "refused" | "unknown"} Verdict
 */
/** @type {Record<number, Verdict>} */
export declare const VERDICTS: Record<number, Verdict>;
export type MaskPart = "reasoning" | "content" | "calls" | "end" | "prefill" | "space";
/**
 * What models wrote, as masks tell it apart; `end` is what ends a turn. `prefill` is what the prompt has already written of it, `space` the
 * white space behind it.
 * @typedef {"reasoning" | "content" | "calls" | "end" | "prefill" | "space"} MaskPart
 */
/** @type {Record<MaskPart, number>} */
export declare const MASK_PARTS: Record<MaskPart, number>;
export declare const MASK_LAST_ONLY = 16;
/** The index that stands for none. */
export declare const NO_MESSAGE = 4294967295;
export type Api = "chat_completions" | "responses" | "messages";
/** An API of servers: OpenAI's chat completions and Responses, Anthropic's Messages. @typedef {"chat_completions" | "responses" | "messages"} Api */
/** @type {Record<Api, number>} */
export declare const APIS: Record<Api, number>;
export type Field = "reasoning" | "content" | "tool_name" | "tool_id" | "tool_arguments";
/** @typedef {"reasoning" | "content" | "tool_name" | "tool_id" | "tool_arguments"} Field a field of a message */
/** @type {Record<Field, number>} */
export declare const FIELDS: Record<Field, number>;
export declare const REPORTS: {
    caps: number;
    turn: number;
    layout: number;
    proof: number;
    lint: number;
    response_template: number;
};
