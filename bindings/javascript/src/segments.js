import { Handle } from "./handle.js";
import { MASK_LAST_ONLY, MASK_PARTS, NO_MESSAGE, TEXT_ORIGINS } from "./names.js";
import { Room } from "./wasm.js";

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
export class Segments extends Handle {
  /** @internal @param {Wasm} wasm @param {number} pointer */
  constructor(wasm, pointer) {
    super(wasm, pointer, "chat_segments_free");
  }

  get prompt() {
    return this.wasm.view(this.#fields);
  }

  /** The segments in the order of the prompt. They cover it, and none is empty. @returns {Segment[]} */
  get list() {
    const { wasm } = this;
    const prompt = this.#start();
    return wasm.list(this.#fields + 8, 24, (at) => {
      const { begin, end } = wasm.span(at);
      const origin = TEXT_ORIGINS[wasm.word(at + 8)] ?? "unknown";
      const index = wasm.word(at + 12);
      return { begin, end, text: wasm.decode(prompt + begin, end - begin), origin, index, path: wasm.view(at + 16) };
    });
  }

  /**
   * The bytes of the prompt that models wrote, for training.
   * @param {MaskPart[]} [parts] by default the first four
   * @param {{ lastOnly?: boolean }} [options] `lastOnly`: of the last turn alone
   * @returns {Masked[]}
   */
  mask(parts = ["reasoning", "content", "calls", "end"], { lastOnly = false } = {}) {
    const { wasm, pointer } = this;
    const kinds = bits(parts, lastOnly);
    const count = wasm.invoke("chat_segments_mask", [pointer, kinds, 0, 0]);
    const list = new Room(8 * count);
    wasm.call("chat_segments_mask", pointer, kinds, list, count);
    const spans = Array.from({ length: count }, (_, i) => wasm.span(list.at + 8 * i));
    const prompt = this.#start();
    return spans.map(({ begin, end }) => ({ begin, end, text: wasm.decode(prompt + begin, end - begin) }));
  }

  /**
   * What the tokens at these places of the prompt are, of any tokenizer.
   * @param {[begin: number, end: number][]} offsets in characters (code points, not JavaScript's units), as tokenizers of transformers give
   *   them, or in bytes
   * @param {MaskPart[]} [parts] what counts as sampled, as for `mask`
   * @param {{ lastOnly?: boolean, inBytes?: boolean }} [options]
   * @returns {Token[]}
   */
  tokens(offsets, parts = ["reasoning", "content", "calls", "end"], { lastOnly = false, inBytes = false } = {}) {
    const { wasm, pointer } = this;
    const places = offsets.map(([begin, end]) => /** @type {[number, number]} */ ([begin, end]));
    const list = new Room(12 * places.length);
    wasm.work("chat_segments_tokens", pointer, bits(parts, lastOnly), places, inBytes ? 0 : 1, list);
    return places.map((_, i) => {
      const at = list.at + 12 * i;
      const message = wasm.word(at + 4);
      return {
        origin: TEXT_ORIGINS[wasm.word(at)] ?? "unknown",
        message: message === NO_MESSAGE ? null : message,
        sampled: wasm.bytes[at + 8] !== 0,
      };
    });
  }

  /**
   * What ran out in search of origins and turns, as a sentence; empty where nothing did. If something did, more is "unknown" than need be, or
   * turns are missing in masks.
   */
  get limit() {
    return this.wasm.view(this.#fields + 16);
  }

  /** The address of `chat_segments_fields`. */
  get #fields() {
    return this.wasm.invoke("chat_segments_view", [this.pointer]);
  }

  /** Where the prompt lies in memory. */
  #start() {
    return this.wasm.word(this.#fields);
  }
}

/** @param {MaskPart[]} parts @param {boolean} lastOnly */
function bits(parts, lastOnly) {
  return parts.reduce((sum, part) => sum | MASK_PARTS[part], lastOnly ? MASK_LAST_ONLY : 0);
}
