import { Handle } from "./handle.js";
import { MASK_LAST_ONLY, MASK_PARTS, TEXT_ORIGINS } from "./names.js";
import { ARGUMENTS_AT } from "./wasm.js";

/** @import { Wasm } from "./wasm.js" */
/** @import { MaskPart, TextOrigin } from "./names.js" */

/**
 * A part of a prompt that comes from one place. `begin` and `end` are bytes of the prompt. `index` says which message or tool of the request;
 * `path` is a JSON pointer to the field of the message, or the name of a variable.
 * @typedef {{ begin: number, end: number, text: string, origin: TextOrigin, index: number, path: string }} Segment
 */

/** @typedef {{ begin: number, end: number, text: string }} Masked bytes of a prompt that a model wrote */

/** A prompt with the origin of each of its bytes. */
export class Segments extends Handle {
  /** @internal @param {Wasm} wasm @param {number} pointer */
  constructor(wasm, pointer) {
    super(wasm, pointer, "chat_segments_free");
  }

  get prompt() {
    return this.wasm.text("chat_segments_prompt", this.pointer);
  }

  /** The segments in the order of the prompt. They cover it, and none is empty. @returns {Segment[]} */
  get list() {
    const { wasm, pointer } = this;
    const prompt = this.#start();
    return Array.from({ length: wasm.invoke("chat_segments_count", [pointer]) }, (_, i) => {
      const at = wasm.fill("chat_segments_at", pointer, i);
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
    const kinds = parts.reduce((sum, part) => sum | MASK_PARTS[part], lastOnly ? MASK_LAST_ONLY : 0);
    const count = wasm.invoke("chat_segments_mask", [pointer, kinds, 0, 0]);
    wasm.reserve(ARGUMENTS_AT + 8 * count);
    const list = wasm.base + ARGUMENTS_AT;
    wasm.invoke("chat_segments_mask", [pointer, kinds, list, count]);
    const spans = Array.from({ length: count }, (_, i) => wasm.span(list + 8 * i));
    const prompt = this.#start();
    return spans.map(({ begin, end }) => ({ begin, end, text: wasm.decode(prompt + begin, end - begin) }));
  }

  /** Where the prompt lies in memory. */
  #start() {
    return this.wasm.word(this.wasm.struct("chat_segments_prompt", this.pointer));
  }
}
