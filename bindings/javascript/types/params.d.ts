import { Grammar } from "./grammar.js";
import { Handle } from "./handle.js";
import { Matcher } from "./matcher.js";
import { Message } from "./message.js";
import { Parser } from "./parser.js";
import { Stream } from "./stream.js";
import type { End, StreamOptions } from "./stream.js";
import type { Dialect, RewriteReason } from "./names.js";
export type Trigger = {
    kind: "word" | "pattern";
    value: string;
};
export type Media = {
    kind: string;
    text: string;
    source: unknown;
    message: number;
    part: number;
    native: boolean;
};
export type Rewrite = {
    reason: RewriteReason;
    words: string;
    message: number | null;
};
/** @import { Wasm } from "./wasm.js" */
/** @import { End, StreamOptions } from "./stream.js" */
/** @import { Dialect, RewriteReason } from "./names.js" */
/**
 * What makes a lazy grammar start: a text, or a regular expression that is searched for in the output.
 * @typedef {{ kind: "word" | "pattern", value: string }} Trigger
 */
/**
 * A piece of media that the prompt wants: `text` stands for it there, in the template's own words or as the option `media_marker`;
 * `source` is the part of the request, number `part` of message `message`.
 * @typedef {{ kind: string, text: string, source: unknown, message: number, part: number, native: boolean }} Media
 */
/**
 * Why a template writes anew what was sent, and at which message of the conversation; null: in the template's own words.
 * @typedef {{ reason: RewriteReason, words: string, message: number | null }} Rewrite
 */
/** What one request needs: its prompt, what a sampler and a tokeniser must know, and the parser of the output. */
export declare class Params extends Handle {
    #private;
    /** What the model is given. */
    get prompt(): string;
    /** The end of the prompt that is already the assistant's turn. Streams know it: do not feed it to them. */
    get generationPrompt(): string;
    /** The name of the way the output is parsed in, for logs. */
    get format(): string;
    /** Texts that end the output besides the end-of-turn token. */
    get additionalStops(): string[];
    /** Texts that the tokeniser must keep whole and the detokeniser must print. */
    get preservedTokens(): string[];
    /** What the template writes to end the assistant's turn; empty where nothing does, or where that is unknown. */
    get endOfTurn(): string;
    /** Whether the template knows reasoning. */
    get supportsThinking(): boolean;
    /** What opens reasoning; empty where nothing does. */
    get thinkingStartTag(): string;
    /** What closes it: any of these does. */
    get thinkingEndTags(): string[];
    /** @returns {Media[]} */
    get media(): Media[];
    /**
     * The grammar that the sampler should hold the output to; its text is empty where nothing constrains the output. Without a dialect,
     * `grammarLazy` says from where on it holds; in a dialect it holds from the output's first byte on.
     * @param {Dialect} [dialect]
     */
    grammar(dialect?: Dialect): Grammar;
    /** Whether the grammar waits for a trigger. If not, let the sampler accept `generationPrompt` first. */
    get grammarLazy(): boolean;
    /** @returns {Trigger[]} */
    get grammarTriggers(): Trigger[];
    /** What may come next in the output, and what must. Each call makes it anew; keep it, and clone it. */
    matcher(): Matcher;
    /**
     * A stream at the start of an output.
     * @param {StreamOptions} [options]
     */
    stream(options?: StreamOptions): Stream;
    /**
     * The message of an output that is there as a whole.
     * @param {string | Uint8Array} output
     * @param {End} [end]
     */
    parse(output: string | Uint8Array, end?: End): Message;
    /** The parser by itself, to be kept as a text. */
    parser(): Parser;
    /**
     * Goes on behind an output, so that nothing that was sent is written anew where the template allows it: send `append` of the new
     * params behind the first `kept` bytes of what was sent.
     * @param {string | Uint8Array} output what the model wrote
     * @param {object[]} messages what follows: results of tools, or what the user says
     */
    next(output: string | Uint8Array, messages: object[]): Params;
    /** How many bytes stand of what was sent before `next`, prompt and output. */
    get kept(): number;
    /** What to send behind these. */
    get append(): string;
    /** The prompt as the template renders the whole conversation; another one where the request's option `append` is `always`. */
    get rendered(): string;
    /** Why the template does not keep all that was sent before `next`; null where it does. @returns {Rewrite | null} */
    get rewrite(): Rewrite | null;
    /** All of the params as one object, with the names of the C library's `chat_params_json`. @returns {Record<string, unknown>} */
    toJSON(): Record<string, unknown>;
}
