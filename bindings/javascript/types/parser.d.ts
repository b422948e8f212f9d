import { Grammar } from "./grammar.js";
import { Handle } from "./handle.js";
import { Message } from "./message.js";
import { Stream } from "./stream.js";
import type { End, StreamOptions } from "./stream.js";
/** @import { Wasm } from "./wasm.js" */
/** @import { End, StreamOptions } from "./stream.js" */
/** What an output is parsed with, without the rest of the params: to be kept, or sent elsewhere, as a text. */
export declare class Parser extends Handle {
    /** The parser as a text for `Chatparse.parser` of the same version. */
    get text(): string;
    /**
     * The grammar of what the parser reads.
     * @param {{ lazy?: boolean }} [options] `lazy`: of what may follow a trigger only
     */
    grammar({ lazy }?: {
        lazy?: boolean;
    }): Grammar;
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
    /**
     * The message of the tagged parts of a text alone; its `tree` has all that matched. It is the whole text of the format, with the prefill.
     * @param {string | Uint8Array} text
     * @param {{ from?: number, partial?: boolean }} [options] `from`: the byte where it begins. `partial`: it is cut off
     */
    tagged(text: string | Uint8Array, { from, partial }?: {
        from?: number;
        partial?: boolean;
    }): Message;
}
