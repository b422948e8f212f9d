import { Grammar } from "./grammar.js";
import { Handle } from "./handle.js";
import { Message } from "./message.js";
import { Stream, flags } from "./stream.js";
import { OUT } from "./wasm.js";

/** @import { Wasm } from "./wasm.js" */
/** @import { End, StreamOptions } from "./stream.js" */

/** What an output is parsed with, without the rest of the params: to be kept, or sent elsewhere, as a text. */
export class Parser extends Handle {
  /** @internal @param {Wasm} wasm @param {number} pointer */
  constructor(wasm, pointer) {
    super(wasm, pointer, "chat_parser_free");
  }

  /** The parser as a text for `Chatparse.parser` of the same version. */
  get text() {
    return this.wasm.workText("chat_parser_json", this.pointer, OUT);
  }

  /**
   * The grammar of what the parser reads.
   * @param {{ lazy?: boolean }} [options] `lazy`: of what may follow a trigger only
   */
  grammar({ lazy = false } = {}) {
    return new Grammar(this.wasm, this.wasm.work("chat_parser_grammar", this.pointer, lazy ? 1 : 0, OUT));
  }

  /**
   * A stream at the start of an output.
   * @param {StreamOptions} [options]
   */
  stream(options) {
    return new Stream(this.wasm, this.wasm.work("chat_stream_from_parser", this.pointer, OUT), options);
  }

  /**
   * The message of an output that is there as a whole.
   * @param {string | Uint8Array} output
   * @param {End} [end]
   */
  parse(output, end = {}) {
    return new Message(this.wasm, this.wasm.work("chat_parser_parse", this.pointer, output, flags(end), OUT));
  }

  /**
   * The message of the tagged parts of a text alone; its `tree` has all that matched. It is the whole text of the format, with the prefill.
   * @param {string | Uint8Array} text
   * @param {{ from?: number, partial?: boolean }} [options] `from`: the byte where it begins. `partial`: it is cut off
   */
  tagged(text, { from = 0, partial = false } = {}) {
    return new Message(this.wasm, this.wasm.work("chat_parser_tagged", this.pointer, text, from, flags({ partial }), OUT));
  }
}
