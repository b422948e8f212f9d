import { ChatError, kindOf } from "./error.js";
import { APIS } from "./names.js";

// How the C functions of the module are called. It imports nothing, and pages that a host adds to its memory are the host's own: what
// is passed lies there, and so do results. Texts are copied by the library, so the room is used again by each call. A function that
// returns a struct takes the address for it as its first argument.

/** What a function is passed: a number, a text, bytes, a list, or where to put its result. */
/** @typedef {number | bigint | string | Uint8Array | ListItem[] | Room | typeof OUT} Argument */

/** A list is all texts, all numbers, or all pairs of numbers. @typedef {string | number | [number, number]} ListItem */

/** Stands for the address of a result. */
export const OUT = Symbol("out");

/** Stands for the address of a list that a function fills, of a length that is known before. */
export class Room {
  /** Where the list is, once the function was called; until the next call. */
  at = 0;

  /** @param {number} size in bytes */
  constructor(size) {
    this.size = size;
  }
}

const PAGE = 65536;
const OUT_AT = 0;
export const ERROR_AT = 8;
const STRUCT_AT = 16;
export const ARGUMENTS_AT = 80;
/** Texts up to this length are read and written here: the platform's coders cost more than so few letters. */
const SHORT = 48;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** One instance of the module, and the host's memory in it. */
export class Wasm {
  /** @type {Record<string, (...args: (number | bigint)[]) => number>} */
  functions;
  /** The memory as bytes. Made anew where the memory has grown. */
  bytes = new Uint8Array(0);
  /** The memory as words, little-endian as WebAssembly has them. */
  words = new DataView(this.bytes.buffer);
  /** Where the host's part of the memory begins. */
  base = 0;
  /** Its size in bytes. */
  #room = 0;
  /** @type {WebAssembly.Memory} */
  #memory;
  /** Whether the instance has stopped for good. */
  trapped = false;
  /** @type {unknown} At what. */
  #trap;

  /** @param {WebAssembly.Instance} instance */
  constructor(instance) {
    const { memory, ...functions } = instance.exports;
    this.#memory = /** @type {WebAssembly.Memory} */ (memory);
    this.functions = /** @type {any} */ (functions);
    if (!functions.chat_version) throw new ChatError("argument", "this module is not that of chatparse");
    this.reserve(PAGE);
  }

  /**
   * Calls a function.
   * @param {string} name
   * @param {(number | bigint)[]} args
   * @returns {number}
   */
  invoke(name, args) {
    if (this.trapped) this.refuse();
    const called = this.functions[name];
    // A text counts as two arguments, so something else in its place shows.
    if (args.length !== called.length) throw new ChatError("argument", `${name}: a text is expected`);
    try {
      const result = called(...args);
      this.look();
      return result;
    } catch (trap) {
      // Before the function begins: an argument that is no number.
      if (trap instanceof TypeError) throw new ChatError("argument", `${name}: ${trap.message}`);
      this.stop(name, trap);
    }
  }

  /**
   * Whatever else a function throws is a trap: a defect of the library, after which the instance answers nothing any more, as nobody knows
   * what state its memory is in.
   * @param {string} name
   * @param {unknown} trap
   * @returns {never}
   */
  stop(name, trap) {
    this.trapped = true;
    this.#trap = trap;
    this.look();
    throw new ChatError("internal", `the library stopped at a defect of its own in ${name}; load another instance`, { cause: trap });
  }

  /** Looks at the memory anew where a call has made it larger, which takes the old views away. */
  look() {
    if (this.bytes.length > 0) return;
    this.bytes = new Uint8Array(this.#memory.buffer);
    this.words = new DataView(this.#memory.buffer);
  }

  /** @returns {never} */
  refuse() {
    throw new ChatError("internal", "this instance has stopped at a defect of the library; load another one", { cause: this.#trap });
  }

  /**
   * Calls a function that returns a number.
   * @param {string} name
   * @param {Argument[]} args
   */
  call(name, ...args) {
    return this.invoke(name, this.#flat(args));
  }

  /**
   * Calls a function that can fail, and returns the word that it puts at `OUT`.
   * @param {string} name
   * @param {Argument[]} args
   */
  work(name, ...args) {
    const flat = this.#flat(args);
    flat.push(this.base + ERROR_AT);
    this.check(this.invoke(name, flat));
    return this.word(this.base + OUT_AT);
  }

  /**
   * Calls a function that can fail, and whose result at `OUT` is a text.
   * @param {string} name
   * @param {Argument[]} args
   */
  workText(name, ...args) {
    this.work(name, ...args);
    return this.view(this.base + OUT_AT);
  }

  /**
   * Calls a function that returns a text.
   * @param {string} name
   * @param {Argument[]} args
   */
  text(name, ...args) {
    this.struct(name, ...args);
    return this.view(this.base + STRUCT_AT);
  }

  /**
   * Calls a function that returns a struct, and returns its address. It is valid until the next call.
   * @param {string} name
   * @param {Argument[]} args
   */
  struct(name, ...args) {
    const flat = this.#flat(args);
    flat.unshift(this.base + STRUCT_AT);
    this.invoke(name, flat);
    return this.base + STRUCT_AT;
  }

  /**
   * Calls a function that fills a struct behind its other arguments, and returns its address. It is valid until the next call.
   * @param {string} name
   * @param {Argument[]} args
   */
  fill(name, ...args) {
    const flat = this.#flat(args);
    flat.push(this.base + STRUCT_AT, this.base + ERROR_AT);
    this.check(this.invoke(name, flat));
    return this.base + STRUCT_AT;
  }

  /**
   * The items of the list at this address.
   * @template T
   * @param {number} at
   * @param {number} size of an item in bytes
   * @param {(at: number) => T} read
   */
  list(at, size, read) {
    const first = this.word(at);
    return Array.from({ length: this.word(at + 4) }, (_, index) => read(first + index * size));
  }

  /**
   * The texts of the list at this address.
   * @param {number} at
   */
  texts(at) {
    return this.list(at, 8, (text) => this.view(text));
  }

  /**
   * Throws the error that a call has left, if it has.
   * @param {number} status
   */
  check(status) {
    if (status === 0) return;
    const error = this.word(this.base + ERROR_AT);
    const message = this.text("chat_error_message", error);
    const httpStatus = this.invoke("chat_error_http_status", [error]);
    const bodies = Object.fromEntries(Object.entries(APIS).map(([api, number]) => [api, this.text("chat_error_body", error, number)]));
    this.invoke("chat_error_free", [error]);
    throw new ChatError(kindOf(status), message, { httpStatus, bodies });
  }

  /**
   * @param {number} at
   * @returns {number}
   */
  word(at) {
    return this.words.getUint32(at, true);
  }

  /**
   * Two words, as structs of the host's have them.
   * @param {number} at
   * @param {number} first
   * @param {number} second
   */
  setWords(at, first, second) {
    this.words.setUint32(at, first, true);
    this.words.setUint32(at + 4, second, true);
  }

  /**
   * A `chat_span`, or two words like one.
   * @param {number} at
   */
  span(at) {
    return { begin: this.word(at), end: this.word(at + 4) };
  }

  /**
   * The text that a `chat_str` at this address shows.
   * @param {number} at
   */
  view(at) {
    return this.decode(this.word(at), this.word(at + 4));
  }

  /**
   * @param {number} at
   * @param {number} length in bytes
   */
  decode(at, length) {
    const { bytes } = this;
    const end = at + length;
    if (length > SHORT) return decoder.decode(bytes.subarray(at, end));
    // The library's texts are UTF-8.
    let text = "";
    for (let i = at; i < end; ) {
      const first = bytes[i++];
      if (first < 0x80) text += String.fromCharCode(first);
      else if (first < 0xe0) text += String.fromCharCode(((first & 0x1f) << 6) | (bytes[i++] & 0x3f));
      else if (first < 0xf0) text += String.fromCharCode(((first & 0xf) << 12) | ((bytes[i++] & 0x3f) << 6) | (bytes[i++] & 0x3f));
      else {
        const high = ((first & 7) << 18) | ((bytes[i++] & 0x3f) << 12);
        text += String.fromCodePoint(high | ((bytes[i++] & 0x3f) << 6) | (bytes[i++] & 0x3f));
      }
    }
    return text;
  }

  /**
   * Puts a text or bytes behind what was passed already, and returns how many bytes it takes.
   * @param {string | Uint8Array} data
   * @param {number} used where it goes, counted from `base`
   * @returns {number}
   */
  put(data, used) {
    if (typeof data !== "string") {
      if (data?.BYTES_PER_ELEMENT !== 1) throw new ChatError("argument", "a text or a Uint8Array is expected");
      this.reserve(used + data.length);
      this.bytes.set(data, this.base + used);
      return data.length;
    }
    // Memory never shrinks, so a long text does not get the room that it might need.
    if (data.length > PAGE) return this.put(encoder.encode(data), used);
    this.reserve(used + data.length * 3);
    const start = this.base + used;
    const { bytes } = this;
    if (data.length > SHORT) return encoder.encodeInto(data, bytes.subarray(start)).written;
    let at = start;
    for (let i = 0; i < data.length; i++) {
      const code = data.charCodeAt(i);
      if (code < 0x80) bytes[at++] = code;
      else if (code < 0x800) {
        bytes[at++] = 0xc0 | (code >> 6);
        bytes[at++] = 0x80 | (code & 0x3f);
      } else if (code < 0xd800 || code > 0xdfff) {
        bytes[at++] = 0xe0 | (code >> 12);
        bytes[at++] = 0x80 | ((code >> 6) & 0x3f);
        bytes[at++] = 0x80 | (code & 0x3f);
      } else {
        // Half a character, or a character of two halves.
        return at - start + encoder.encodeInto(data.slice(i), bytes.subarray(at)).written;
      }
    }
    return at - start;
  }

  /**
   * Makes room for so many bytes, counted from `base`. What lies there stays.
   * @param {number} bytes
   */
  reserve(bytes) {
    if (bytes <= this.#room) return;
    if (this.trapped) this.refuse();
    // Pages behind our own make these larger; where the library has taken those, there are new ones, twice as many.
    const behind = this.base + this.#room === this.#memory.buffer.byteLength && this.#room > 0;
    const size = Math.max(bytes, 2 * this.#room) - (behind ? this.#room : 0);
    const pages = Math.ceil(size / PAGE);
    let first;
    try {
      first = this.#memory.grow(pages);
    } catch (cause) {
      throw new ChatError("limit", `there is no memory for ${bytes} bytes of input`, { cause });
    }
    const old = this.base;
    const kept = this.#room;
    this.#room = pages * PAGE + (behind ? kept : 0);
    this.look();
    if (behind) return;
    this.base = first * PAGE;
    this.bytes.copyWithin(this.base, old, old + kept);
  }

  /**
   * Puts a list behind what was passed already, and returns how many bytes are used then.
   * @param {ListItem[]} list
   * @param {number} at where it goes, counted from `base`
   * @param {number[]} moved gets the places of words that are counted from `base`
   */
  #putList(list, at, moved) {
    let used = at + 8 * list.length;
    this.reserve(used);
    list.forEach((item, i) => {
      if (typeof item === "number") return this.words.setUint32(this.base + at + 4 * i, item, true);
      const place = at + 8 * i;
      if (typeof item !== "string") return this.setWords(this.base + place, item[0], item[1]);
      const length = this.put(item, used);
      this.setWords(this.base + place, used, length);
      moved.push(place);
      used += length;
    });
    return used;
  }

  /**
   * Texts and lists become a pointer and a length.
   * @param {Argument[]} args
   */
  #flat(args) {
    // The addresses are known once all is there, as making room may move it.
    const flat = [];
    const moved = [];
    /** @type {number[]} */
    const movedWords = [];
    /** @type {Room[]} */
    const rooms = [];
    let used = ARGUMENTS_AT;
    for (const arg of args) {
      if (arg === OUT) {
        moved.push(flat.length);
        flat.push(OUT_AT);
      } else if (Array.isArray(arg)) {
        const at = Math.ceil(used / 8) * 8;
        moved.push(flat.length);
        flat.push(at, arg.length);
        used = this.#putList(arg, at, movedWords);
      } else if (arg instanceof Room) {
        arg.at = Math.ceil(used / 8) * 8;
        moved.push(flat.length);
        flat.push(arg.at);
        rooms.push(arg);
        used = arg.at + arg.size;
        this.reserve(used);
      } else if (typeof arg === "string" || typeof arg === "object") {
        const length = this.put(arg, used);
        moved.push(flat.length);
        flat.push(used, length);
        used += length;
      } else {
        flat.push(arg);
      }
    }
    for (const i of moved) flat[i] = this.base + /** @type {number} */ (flat[i]);
    for (const room of rooms) room.at += this.base;
    for (const at of movedWords) this.words.setUint32(this.base + at, this.base + this.word(this.base + at), true);
    return /** @type {(number | bigint)[]} */ (flat);
  }
}
