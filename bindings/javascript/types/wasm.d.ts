export type Argument = number | bigint | string | Uint8Array | ListItem[] | Room | typeof OUT;
export type ListItem = string | number | [number, number];
/** What a function is passed: a number, a text, bytes, a list, or where to put its result. */
/** @typedef {number | bigint | string | Uint8Array | ListItem[] | Room | typeof OUT} Argument */
/** A list is all texts, all numbers, or all pairs of numbers. @typedef {string | number | [number, number]} ListItem */
/** Stands for the address of a result. */
export declare const OUT: unique symbol;
/** Stands for the address of a list that a function fills, of a length that is known before. */
export declare class Room {
    size: number;
    /** Where the list is, once the function was called; until the next call. */
    at: number;
    /** @param {number} size in bytes */
    constructor(size: number);
}
export declare const ERROR_AT = 8;
export declare const ARGUMENTS_AT = 80;
/** One instance of the module, and the host's memory in it. */
export declare class Wasm {
    #private;
    /** @type {Record<string, (...args: (number | bigint)[]) => number>} */
    functions: Record<string, (...args: (number | bigint)[]) => number>;
    /** The memory as bytes. Made anew where the memory has grown. */
    bytes: Uint8Array<ArrayBuffer>;
    /** The memory as words, little-endian as WebAssembly has them. */
    words: DataView<ArrayBuffer>;
    /** Where the host's part of the memory begins. */
    base: number;
    /** Whether the instance has stopped for good. */
    trapped: boolean;
    /** @param {WebAssembly.Instance} instance */
    constructor(instance: WebAssembly.Instance);
    /**
     * Calls a function.
     * @param {string} name
     * @param {(number | bigint)[]} args
     * @returns {number}
     */
    invoke(name: string, args: (number | bigint)[]): number;
    /**
     * Whatever else a function throws is a trap: a defect of the library, after which the instance answers nothing any more, as nobody knows
     * what state its memory is in.
     * @param {string} name
     * @param {unknown} trap
     * @returns {never}
     */
    stop(name: string, trap: unknown): never;
    /** Looks at the memory anew where a call has made it larger, which takes the old views away. */
    look(): void;
    /** @returns {never} */
    refuse(): never;
    /**
     * Calls a function that returns a number.
     * @param {string} name
     * @param {Argument[]} args
     */
    call(name: string, ...args: Argument[]): number;
    /**
     * Calls a function that can fail, and returns the word that it puts at `OUT`.
     * @param {string} name
     * @param {Argument[]} args
     */
    work(name: string, ...args: Argument[]): number;
    /**
     * Calls a function that can fail, and whose result at `OUT` is a text.
     * @param {string} name
     * @param {Argument[]} args
     */
    workText(name: string, ...args: Argument[]): string;
    /**
     * Calls a function that returns a text.
     * @param {string} name
     * @param {Argument[]} args
     */
    text(name: string, ...args: Argument[]): string;
    /**
     * Calls a function that returns a struct, and returns its address. It is valid until the next call.
     * @param {string} name
     * @param {Argument[]} args
     */
    struct(name: string, ...args: Argument[]): number;
    /**
     * Calls a function that fills a struct behind its other arguments, and returns its address. It is valid until the next call.
     * @param {string} name
     * @param {Argument[]} args
     */
    fill(name: string, ...args: Argument[]): number;
    /**
     * The items of the list at this address.
     * @template T
     * @param {number} at
     * @param {number} size of an item in bytes
     * @param {(at: number) => T} read
     */
    list<T>(at: number, size: number, read: (at: number) => T): T[];
    /**
     * The texts of the list at this address.
     * @param {number} at
     */
    texts(at: number): string[];
    /**
     * Throws the error that a call has left, if it has.
     * @param {number} status
     */
    check(status: number): void;
    /**
     * @param {number} at
     * @returns {number}
     */
    word(at: number): number;
    /**
     * Two words, as structs of the host's have them.
     * @param {number} at
     * @param {number} first
     * @param {number} second
     */
    setWords(at: number, first: number, second: number): void;
    /**
     * A `chat_span`, or two words like one.
     * @param {number} at
     */
    span(at: number): {
        begin: number;
        end: number;
    };
    /**
     * The text that a `chat_str` at this address shows.
     * @param {number} at
     */
    view(at: number): string;
    /**
     * @param {number} at
     * @param {number} length in bytes
     */
    decode(at: number, length: number): string;
    /**
     * Puts a text or bytes behind what was passed already, and returns how many bytes it takes.
     * @param {string | Uint8Array} data
     * @param {number} used where it goes, counted from `base`
     * @returns {number}
     */
    put(data: string | Uint8Array, used: number): number;
    /**
     * Makes room for so many bytes, counted from `base`. What lies there stays.
     * @param {number} bytes
     */
    reserve(bytes: number): void;
}
