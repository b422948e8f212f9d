import { Handle } from "./handle.js";
import type { MaskPart, TextOrigin } from "./names.js";
export type Segment = {
    begin: number;
    end: number;
    text: string;
    origin: TextOrigin;
    index: number;
    path: string;
};
export type Masked = {
    begin: number;
    end: number;
    text: string;
};
export type Token = {
    origin: TextOrigin;
    message: number | null;
    sampled: boolean;
};
/** @import { Wasm } from "./wasm.js" */
/** @import { MaskPart, TextOrigin } from "./names.js" */
/**
 * A part of a prompt that comes from one place. `begin` and `end` are bytes of the prompt. `index` says which message or tool of the request;
 * `path` is a JSON pointer to the field of the message, or the name of a variable.
 * @typedef {{ begin: number, end: number, text: string, origin: TextOrigin, index: number, path: string }} Segment
 */
/** @typedef {{ begin: number, end: number, text: string }} Masked bytes of a prompt that a model wrote */
/**
 * What a token is. `origin`: whose text; with a byte of a value it is never the template's. `message`: which one it comes from, or in whose turn
 * it is; null for others. `sampled`: whether a model wrote a byte of it.
 * @typedef {{ origin: TextOrigin, message: number | null, sampled: boolean }} Token
 */
/** A prompt with the origin of each of its bytes. */
export declare class Segments extends Handle {
    #private;
    get prompt(): string;
    /** The segments in the order of the prompt. They cover it, and none is empty. @returns {Segment[]} */
    get list(): Segment[];
    /**
     * The bytes of the prompt that models wrote, for training.
     * @param {MaskPart[]} [parts] by default the first four
     * @param {{ lastOnly?: boolean }} [options] `lastOnly`: of the last turn alone
     * @returns {Masked[]}
     */
    mask(parts?: MaskPart[], { lastOnly }?: {
        lastOnly?: boolean;
    }): Masked[];
    /**
     * What the tokens at these places of the prompt are, of any tokenizer.
     * @param {[begin: number, end: number][]} offsets in characters (code points, not JavaScript's units), as tokenizers of transformers give
     *   them, or in bytes
     * @param {MaskPart[]} [parts] what counts as sampled, as for `mask`
     * @param {{ lastOnly?: boolean, inBytes?: boolean }} [options]
     * @returns {Token[]}
     */
    tokens(offsets: [begin: number, end: number][], parts?: MaskPart[], { lastOnly, inBytes }?: {
        lastOnly?: boolean;
        inBytes?: boolean;
    }): Token[];
    /**
     * What ran out in search of origins and turns, as a sentence; empty where nothing did. If something did, more is "unknown" than need be, or
     * turns are missing in masks.
     */
    get limit(): string;
}
