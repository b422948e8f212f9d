import { Grammar } from "./grammar.js";
import { Handle } from "./handle.js";
import { Message } from "./message.js";
import type { DeltaKind, Dialect } from "./names.js";
import type { Span } from "./message.js";
export type Delta = {
    kind: DeltaKind;
    call: number;
    text: string;
    begin: number;
    end: number;
};
export type End = {
    partial?: boolean;
    strict?: boolean;
};
export type StreamOptions = {
    specialTokens?: string[];
};
export type State = {
    part: "reasoning" | "content" | "markup" | "name" | "key" | "value";
    call: number | null;
    tool: string;
    pointer: string;
    in_string: boolean;
    left_at: number | null;
};
export type Closing = {
    text: string;
    complete: boolean;
    missing: {
        tool: string;
        pointer: string;
        begun: boolean;
    }[];
    reason: string;
};
/** @import { Wasm } from "./wasm.js" */
/** @import { DeltaKind, Dialect } from "./names.js" */
/** @import { Span } from "./message.js" */
/**
 * What a piece of output adds to the message; after a rollback, what is to be taken from its end. `call` is the number of the tool call,
 * or 0. `begin` and `end` are the bytes of the output that the text comes from; they are equal where it stands for markup.
 * @typedef {{ kind: DeltaKind, call: number, text: string, begin: number, end: number }} Delta
 */
/**
 * How an output ended. `partial`: a limit or the caller cut it off. `strict`: one that does not fit its format is an error.
 * @typedef {{ partial?: boolean, strict?: boolean }} End
 */
/**
 * What a stream is to know from its start. `specialTokens`: the texts of the model's special tokens, for `feedMarked`.
 * @typedef {{ specialTokens?: string[] }} StreamOptions
 */
/**
 * In what an output stands. `call` is the number of the call that is open and has a name, `tool` its name, `pointer` a JSON pointer into its
 * arguments, `in_string` whether a string there is open. `left_at` is the byte at which the output has left its format.
 * @typedef {{ part: "reasoning" | "content" | "markup" | "name" | "key" | "value", call: number | null, tool: string, pointer: string,
 *   in_string: boolean, left_at: number | null }} State
 */
/**
 * What closes an output. `text` is to be appended, `complete` says whether the output is complete behind it, and `reason`, one sentence, why
 * not. `missing` has the values that only the model can choose, up to which the text goes.
 * @typedef {{ text: string, complete: boolean, missing: { tool: string, pointer: string, begun: boolean }[], reason: string }} Closing
 */
/** @param {End} end */
export declare const flags: ({ partial, strict }: End) => number;
/**
 * A parse in progress: output in, deltas out. It reads each byte once, takes nothing back that it has shown unless it is asked to
 * (`rollback`), and gives the same message however the output is cut.
 */
export declare class Stream extends Handle {
    #private;
    /**
     * Appends output, which may be cut anywhere. Costs as much as the new bytes.
     * @param {string | Uint8Array} piece
     * @returns {Delta[]}
     */
    feed(piece: string | Uint8Array): Delta[];
    /**
     * As `feed`, where it is known which bytes came from special tokens: a marker that is one counts only there, so a model may quote
     * it. The stream must have been made with `specialTokens`. A text must not be cut inside a character.
     * @param {string | Uint8Array} piece
     * @param {Span[]} spans bytes of the piece in UTF-8, in order and apart
     * @returns {Delta[]}
     */
    feedMarked(piece: string | Uint8Array, spans: Span[]): Delta[];
    /**
     * Ends the output. The deltas are what was held back because it could have become a marker.
     * @param {End} [end]
     * @returns {Delta[]}
     */
    finish(end?: End): Delta[];
    /**
     * Feeds pieces as they come, ends the output, and yields all deltas.
     * @param {Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>} pieces
     * @param {End} [end]
     * @returns {AsyncGenerator<Delta, void, void>}
     */
    read(pieces: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>, end?: End): AsyncGenerator<Delta, void, void>;
    /**
     * The deltas of the last `feed` or `finish` as the `delta` object of an OpenAI chunk; empty where they add nothing.
     * @returns {Record<string, unknown>}
     */
    chunk(): Record<string, unknown>;
    /**
     * The last bytes fed that are in no delta yet, and are not known to be markup either: what a host that stops parsing here still has to
     * show. They may end inside a character.
     * @returns {Uint8Array}
     */
    get pending(): Uint8Array;
    /** In what the output stands now. @returns {State} */
    state(): State;
    /**
     * The schema of the value at the pointer of `state()`: what the tool asks of it. `true` where it asks nothing, `false` where no value may be,
     * null where no call is open or its tool is not known.
     * @returns {object | boolean | null}
     */
    schema(): object | boolean | null;
    /** What closes the output now, in the model's own words. The stream does not change; `free` is what ends it. @returns {Closing} */
    close(): Closing;
    /**
     * What may follow what was fed, for an engine that begins here: all of the format, also where the request's grammar is lazy.
     * @param {Dialect} dialect
     */
    grammar(dialect: Dialect): Grammar;
    /** How the output related to the format; `partial` until it is finished. */
    get status(): import("./names.js").Status;
    /** The message so far, or, after `finish`, the message. The stream does not change it. */
    message(): Message;
    /** A second stream in the same state; the two then go their own ways. */
    clone(): Stream;
    /** From now on `rollback` goes back to this byte of the output or to any later one. There is one checkpoint at a time. */
    checkpoint(): void;
    /**
     * Takes back all output behind its first bytes, as if it had not been fed. The deltas say what is withdrawn.
     * @param {number} length bytes of UTF-8, counted over all that was fed
     * @returns {Delta[]}
     */
    rollback(length: number): Delta[];
    /** Back to the start of the output, for another one. */
    reset(): void;
    /**
     * Sets how much work the parse may take: `base`, and `perByte` for each byte of output. Behind that, output is content.
     * @param {number} base instructions of the parser, by default 1,000,000
     * @param {number} perByte by default 200, and more for many tools
     */
    setBudget(base: number, perByte: number): void;
    /** The work that the parse has taken so far. */
    get work(): number;
}
