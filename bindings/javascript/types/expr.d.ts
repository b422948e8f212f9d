import type { Schema } from "./grammar.js";
import type { ChatRequest } from "./template.js";
import type { Tag, ValueKind } from "./names.js";
import type { Wasm } from "./wasm.js";
export type Like = Expr | string;
export type Part = Expr | Expr[] | string | string[] | number | [number, number][];
/**
 * A part of a format of your own: an expression of a parsing expression grammar, whose tags say what becomes of the text.
 * `Chatparse.parserOf` makes a parser of it. Expressions never change, belong to no instance, and may stand in several places.
 */
export declare class Expr {
    /** Exactly this text, which may be empty. @param {string} text */
    static literal(text: string): Expr;
    /**
     * Text up to the first of the markers or up to the end of the output, without the marker. Without markers: all text.
     * @param {string[]} markers
     */
    static until(...markers: string[]): Expr;
    /** One character of a class, e.g. `[a-z_]`, `[^"\\]`, `[\u4E00-\u9FFF]`. @param {string} text */
    static charClass(text: string): Expr;
    /**
     * One character in one of the ranges, each a character or two, such as `"az"`; `without`: in none of them.
     * @param {string[]} ranges
     * @param {{ without?: boolean }} [options]
     */
    static character(ranges: string[], { without }?: {
        without?: boolean;
    }): Expr;
    /**
     * The inside of a quoted string up to `quote`, without it: text with JSON's escapes.
     * @param {string} quote a character of ASCII
     */
    static stringBody(quote: string): Expr;
    /** All white space at this place, also none. */
    static space(): Expr;
    /** Empty text at the start of the output, or of the prefill. */
    static start(): Expr;
    /** Empty text at the end of the output. Text behind the match of a format without it becomes content. */
    static end(): Expr;
    /** All of them, in order. @param {Like[]} parts */
    static sequence(...parts: Like[]): Expr;
    /**
     * The first that matches. What an alternative captures is streamed before it has matched: where two capture the same bytes
     * differently, make them `atomic`. Without alternatives it never matches.
     * @param {Like[]} alternatives
     */
    static choice(...alternatives: Like[]): Expr;
    /**
     * A JSON value. Grammars hold it to the schema, in a rule of this name.
     * @param {Schema} [schema]
     * @param {string} [name]
     */
    static json(schema?: Schema, name?: string): Expr;
    /**
     * A value in a notation. A rule `json-string` among the `rules` of the parser replaces the strings of JSON.
     * @param {ValueKind} kind
     */
    static value(kind: ValueKind): Expr;
    /**
     * The calls of a message, with their markers and tags.
     * @param {ChatRequest} request of which `tools`, `tool_choice` and `parallel_tool_calls` count
     * @param {object | string} turn how they are written, as `Template.layout.turn` has it; only `calls` must be there
     */
    static calls(request: ChatRequest, turn: object | string): Expr;
    /** The rule of that name, which may stand around the reference or anywhere else in the format. @param {string} name */
    static reference(name: string): Expr;
    /** The same, and these behind it. @param {Like[]} parts */
    then(...parts: Like[]): Expr;
    /** This or, if it does not match, the first of these that does. @param {Like[]} alternatives */
    or(...alternatives: Like[]): Expr;
    /** The same, with a meaning: what becomes of the text. @param {Tag} tag */
    tag(tag: Tag): Expr;
    /** The same, with a name in the `Tree`. The name of a tag, such as `tool-name`, gives it that meaning as well. @param {string} name */
    label(name: string): Expr;
    /**
     * As often as possible, at least `min` and at most `max` times.
     * @param {number} [min]
     * @param {number} [max]
     */
    repeat(min?: number, max?: number): Expr;
    /** Once, or not at all. */
    optional(): Expr;
    /** The same, but the text of its tags shows only once all of it has matched. */
    atomic(): Expr;
    /** Empty text where this matches. */
    ahead(): Expr;
    /** Empty text where this does not match. */
    notAhead(): Expr;
    /**
     * The same as a rule, for `reference`, also from inside it.
     * @param {string} name
     * @param {{ trigger?: boolean }} [options] `trigger`: a lazy grammar may start here
     */
    rule(name: string, { trigger }?: {
        trigger?: boolean;
    }): Expr;
    /**
     * The same to parse; grammars have the schema instead, as the rule `name`.
     * @param {string} name
     * @param {Schema} schema
     * @param {{ raw?: boolean }} [options] `raw`: strings are written without JSON's quotes
     */
    withSchema(name: string, schema: Schema, { raw }?: {
        raw?: boolean;
    }): Expr;
    /** The same to parse; grammars have `body` instead: what GBNF has right of `::=`. @param {string} body */
    withGbnf(body: string): Expr;
    /**
     * The same to parse, which must match up to and with the first of the markers; grammars have text that ends with the first.
     * @param {string[]} markers
     */
    excluding(...markers: string[]): Expr;
}
/**
 * Adds expressions and all that they are made of, each once; the number of the last.
 * @param {Wasm} wasm
 * @param {number} builder
 * @param {Like[]} roots
 */
export declare function put(wasm: Wasm, builder: number, roots: Like[]): number;
