import { Grammar } from "./grammar.js";
import { Handle } from "./handle.js";
import type { Dialect } from "./names.js";
/** @import { Dialect } from "./names.js" */
/** @import { Wasm } from "./wasm.js" */
/** What may come next in an output, and what must. `Params.matcher` has that of a request, at the output's first byte. */
export declare class Matcher extends Handle {
    /**
     * Goes on behind this output. Returns how many of its bytes are allowed; if those are not all, it stands in front of the first that is not.
     * @param {string | Uint8Array} output bytes may be cut anywhere; a text must not be cut inside a character
     * @returns {number}
     */
    feed(output: string | Uint8Array): number;
    /** Whether all of this may come next. @param {string | Uint8Array} output */
    can(output: string | Uint8Array): boolean;
    /** The bytes that may come next, each once, in order. @returns {Uint8Array} */
    get allowed(): Uint8Array;
    /**
     * The longest text that must come next; empty where there is a choice, or where the output may end. It may end inside a character.
     * @returns {Uint8Array}
     */
    get forced(): Uint8Array;
    /** Whether the output may end here. */
    get mayEnd(): boolean;
    /** Whether the output must end here. */
    get ended(): boolean;
    /**
     * What may follow what was fed, for an engine that begins there.
     * @param {Dialect} dialect
     */
    grammar(dialect: Dialect): Grammar;
    /** A second matcher at this place, to go back to; it is cheap. */
    clone(): Matcher;
}
