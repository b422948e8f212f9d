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
/** @import { Wasm } from "./wasm.js" */
/** @import { MaskPart, TextOrigin } from "./names.js" */
/**
 * A part of a prompt that comes from one place. `begin` and `end` are bytes of the prompt. `index` says which message or tool of the request;
 * `path` is a JSON pointer to the field of the message, or the name of a variable.
 * @typedef {{ begin: number, end: number, text: string, origin: TextOrigin, index: number, path: string }} Segment
 */
/** @typedef {{ begin: number, end: number, text: string }} Masked bytes of a prompt that a model wrote */
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
}
