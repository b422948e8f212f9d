import { Grammar } from "./grammar.js";
import { Handle } from "./handle.js";
import { DIALECTS } from "./names.js";
import { OUT, Room } from "./wasm.js";

/** @import { Dialect } from "./names.js" */
/** @import { Wasm } from "./wasm.js" */

/** What may come next in an output, and what must. `Params.matcher` has that of a request, at the output's first byte. */
export class Matcher extends Handle {
  /** @internal @param {Wasm} wasm @param {number} pointer */
  constructor(wasm, pointer) {
    super(wasm, pointer, "chat_matcher_free");
  }

  /**
   * Goes on behind this output. Returns how many of its bytes are allowed; if those are not all, it stands in front of the first that is not.
   * @param {string | Uint8Array} output bytes may be cut anywhere; a text must not be cut inside a character
   * @returns {number}
   */
  feed(output) {
    return this.wasm.work("chat_matcher_feed", this.pointer, output, OUT);
  }

  /** Whether all of this may come next. @param {string | Uint8Array} output */
  can(output) {
    return this.wasm.call("chat_matcher_can", this.pointer, output) !== 0;
  }

  /** The bytes that may come next, each once, in order. @returns {Uint8Array} */
  get allowed() {
    const { wasm } = this;
    const at = wasm.fill("chat_matcher_allowed", this.pointer);
    return Uint8Array.from({ length: 256 }, (_, byte) => byte).filter((byte) => (wasm.bytes[at + (byte >> 3)] >> (byte & 7)) & 1);
  }

  /**
   * The longest text that must come next; empty where there is a choice, or where the output may end. It may end inside a character.
   * @returns {Uint8Array}
   */
  get forced() {
    const { wasm, pointer } = this;
    const list = new Room(wasm.invoke("chat_matcher_forced", [pointer, 0, 0]));
    wasm.call("chat_matcher_forced", pointer, list, list.size);
    return wasm.bytes.slice(list.at, list.at + list.size);
  }

  /** Whether the output may end here. */
  get mayEnd() {
    return this.wasm.invoke("chat_matcher_may_end", [this.pointer]) !== 0;
  }

  /** Whether the output must end here. */
  get ended() {
    return this.wasm.invoke("chat_matcher_ended", [this.pointer]) !== 0;
  }

  /**
   * What may follow what was fed, for an engine that begins there.
   * @param {Dialect} dialect
   */
  grammar(dialect) {
    return new Grammar(this.wasm, this.wasm.work("chat_matcher_grammar", this.pointer, DIALECTS[dialect], OUT));
  }

  /** A second matcher at this place, to go back to; it is cheap. */
  clone() {
    return new Matcher(this.wasm, this.wasm.work("chat_matcher_clone", this.pointer, OUT));
  }
}
