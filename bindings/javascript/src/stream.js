import { ChatError } from "./error.js";
import { Grammar } from "./grammar.js";
import { Handle } from "./handle.js";
import { Message } from "./message.js";
import { DELTA_KINDS, DIALECTS, STATUSES } from "./names.js";
import { ARGUMENTS_AT, ERROR_AT, OUT } from "./wasm.js";

/** @import { Wasm } from "./wasm.js" */
/** @import { DeltaKind, Dialect } from "./names.js" */
/** @import { Span } from "./message.js" */

/**
 * What a piece of output adds to the message; after a rollback, what is to be taken from its end. `call` is the number of the tool call,
 * or 0. `begin` and `end` are the bytes of the output that the text comes from; they are equal where it stands for markup.
 * @typedef {{ kind: DeltaKind, call: number, text: string, begin: number, end: number }} Delta
 */

/**
 * How an output ended. `partial`: a limit or the caller cut it off. `strict`: one that does not fit its format is an error.
 * @typedef {{ partial?: boolean, strict?: boolean }} End
 */

/**
 * What a stream is to know from its start. `specialTokens`: the texts of the model's special tokens, for `feedMarked`.
 * @typedef {{ specialTokens?: string[] }} StreamOptions
 */

/**
 * In what an output stands. `call` is the number of the call that is open and has a name, `tool` its name, `pointer` a JSON pointer into its
 * arguments, `in_string` whether a string there is open. `left_at` is the byte at which the output has left its format.
 * @typedef {{ part: "reasoning" | "content" | "markup" | "name" | "key" | "value", call: number | null, tool: string, pointer: string,
 *   in_string: boolean, left_at: number | null }} State
 */

/**
 * What closes an output. `text` is to be appended, `complete` says whether the output is complete behind it, and `reason`, one sentence, why
 * not. `missing` has the values that only the model can choose, up to which the text goes.
 * @typedef {{ text: string, complete: boolean, missing: { tool: string, pointer: string, begun: boolean }[], reason: string }} Closing
 */

/** @param {End} end */
export const flags = ({ partial = false, strict = false }) => (partial ? 1 : 0) | (strict ? 2 : 0);

/**
 * A parse in progress: output in, deltas out. It reads each byte once, takes nothing back that it has shown unless it is asked to
 * (`rollback`), and gives the same message however the output is cut.
 */
export class Stream extends Handle {
  /** The first half of a character that the last piece ended inside of. */
  #half = "";

  /** @internal @param {Wasm} wasm @param {number} pointer @param {StreamOptions} [options] */
  constructor(wasm, pointer, { specialTokens } = {}) {
    super(wasm, pointer, "chat_stream_free");
    if (specialTokens) wasm.work("chat_stream_set_special_tokens", pointer, specialTokens);
  }

  /**
   * Appends output, which may be cut anywhere. Costs as much as the new bytes.
   * @param {string | Uint8Array} piece
   * @returns {Delta[]}
   */
  feed(piece) {
    const { wasm, pointer } = this;
    const length = wasm.put(this.#whole(piece), ARGUMENTS_AT);
    const { base, functions } = wasm;
    if (wasm.trapped) wasm.refuse();
    let status;
    // Called by hand, as this is what is called most.
    try {
      status = functions.chat_stream_feed(pointer, base + ARGUMENTS_AT, length, base + ERROR_AT);
    } catch (trap) {
      return wasm.stop("chat_stream_feed", trap);
    }
    wasm.look();
    if (status !== 0) wasm.check(status);
    return this.#deltas();
  }

  /**
   * As `feed`, where it is known which bytes came from special tokens: a marker that is one counts only there, so a model may quote
   * it. The stream must have been made with `specialTokens`. A text must not be cut inside a character.
   * @param {string | Uint8Array} piece
   * @param {Span[]} spans bytes of the piece in UTF-8, in order and apart
   * @returns {Delta[]}
   */
  feedMarked(piece, spans) {
    const { wasm, pointer } = this;
    if (this.#half) throw new ChatError("argument", "feedMarked: the piece before ended inside a character");
    // By hand, as it is called for each piece.
    const at = ARGUMENTS_AT + 8 * spans.length;
    const length = wasm.put(piece, at);
    const list = wasm.base + ARGUMENTS_AT;
    spans.forEach(({ begin, end }, i) => wasm.setWords(list + 8 * i, begin, end));
    const args = [pointer, wasm.base + at, length, list, spans.length, wasm.base + ERROR_AT];
    wasm.check(wasm.invoke("chat_stream_feed_marked", args));
    return this.#deltas();
  }

  /**
   * Ends the output. The deltas are what was held back because it could have become a marker.
   * @param {End} [end]
   * @returns {Delta[]}
   */
  finish(end = {}) {
    const first = this.#half ? this.feed(new Uint8Array(0)) : [];
    this.wasm.work("chat_stream_finish", this.pointer, flags(end));
    return [...first, ...this.#deltas()];
  }

  /**
   * Feeds pieces as they come, ends the output, and yields all deltas.
   * @param {Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>} pieces
   * @param {End} [end]
   * @returns {AsyncGenerator<Delta, void, void>}
   */
  async *read(pieces, end = {}) {
    for await (const piece of pieces) yield* this.feed(piece);
    yield* this.finish(end);
  }

  /**
   * The deltas of the last `feed` or `finish` as the `delta` object of an OpenAI chunk; empty where they add nothing.
   * @returns {Record<string, unknown>}
   */
  chunk() {
    return JSON.parse(this.wasm.workText("chat_stream_chunk_json", this.pointer, OUT));
  }

  /**
   * The last bytes fed that are in no delta yet, and are not known to be markup either: what a host that stops parsing here still has to
   * show. They may end inside a character.
   * @returns {Uint8Array}
   */
  get pending() {
    const { wasm } = this;
    const { begin, end: length } = wasm.span(wasm.invoke("chat_stream_view", [this.pointer]) + 12);
    return wasm.bytes.slice(begin, begin + length);
  }

  /** In what the output stands now. @returns {State} */
  state() {
    return JSON.parse(this.wasm.workText("chat_stream_state_json", this.pointer, OUT));
  }

  /**
   * The schema of the value at the pointer of `state()`: what the tool asks of it. `true` where it asks nothing, `false` where no value may be,
   * null where no call is open or its tool is not known.
   * @returns {object | boolean | null}
   */
  schema() {
    return JSON.parse(this.wasm.workText("chat_stream_schema_json", this.pointer, OUT));
  }

  /** What closes the output now, in the model's own words. The stream does not change; `free` is what ends it. @returns {Closing} */
  close() {
    return JSON.parse(this.wasm.workText("chat_stream_close_json", this.pointer, OUT));
  }

  /**
   * What may follow what was fed, for an engine that begins here: all of the format, also where the request's grammar is lazy.
   * @param {Dialect} dialect
   */
  grammar(dialect) {
    return new Grammar(this.wasm, this.wasm.work("chat_stream_grammar", this.pointer, DIALECTS[dialect], OUT));
  }

  /** How the output related to the format; `partial` until it is finished. */
  get status() {
    return STATUSES[this.wasm.word(this.wasm.invoke("chat_stream_view", [this.pointer]) + 8)] ?? "unknown";
  }

  /** The message so far, or, after `finish`, the message. The stream does not change it. */
  message() {
    return new Message(this.wasm, this.wasm.work("chat_stream_message", this.pointer, OUT));
  }

  /** A second stream in the same state; the two then go their own ways. */
  clone() {
    const stream = new Stream(this.wasm, this.wasm.work("chat_stream_clone", this.pointer, OUT));
    stream.#half = this.#half;
    return stream;
  }

  /** From now on `rollback` goes back to this byte of the output or to any later one. There is one checkpoint at a time. */
  checkpoint() {
    this.wasm.work("chat_stream_checkpoint", this.pointer);
  }

  /**
   * Takes back all output behind its first bytes, as if it had not been fed. The deltas say what is withdrawn.
   * @param {number} length bytes of UTF-8, counted over all that was fed
   * @returns {Delta[]}
   */
  rollback(length) {
    if (!Number.isSafeInteger(length)) throw new ChatError("argument", `rollback: ${length} is no number of bytes`);
    this.wasm.work("chat_stream_rollback", this.pointer, length);
    this.#half = "";
    return this.#deltas();
  }

  /** Back to the start of the output, for another one. */
  reset() {
    this.wasm.work("chat_stream_reset", this.pointer);
    this.#half = "";
  }

  /**
   * Sets how much work the parse may take: `base`, and `perByte` for each byte of output. Behind that, output is content.
   * @param {number} base instructions of the parser, by default 1,000,000
   * @param {number} perByte by default 200, and more for many tools
   */
  setBudget(base, perByte) {
    this.wasm.work("chat_stream_set_budget", this.pointer, BigInt(base), BigInt(perByte));
  }

  /** The work that the parse has taken so far. */
  get work() {
    const at = this.wasm.invoke("chat_stream_view", [this.pointer]) + 24;
    return Number(this.wasm.words.getBigUint64(at, true));
  }

  /** @param {string | Uint8Array} piece */
  #whole(piece) {
    if (typeof piece !== "string") {
      if (!this.#half) return piece;
      // Bytes do not go on with a character of a text: its first half stands alone.
      const half = new TextEncoder().encode(this.#half);
      this.#half = "";
      const bytes = new Uint8Array(half.length + piece.length);
      bytes.set(half);
      bytes.set(piece, half.length);
      return bytes;
    }
    const text = this.#half === "" ? piece : this.#half + piece;
    const last = text.charCodeAt(text.length - 1);
    const cut = last >= 0xd800 && last < 0xdc00;
    this.#half = cut ? text.slice(-1) : "";
    return cut ? text.slice(0, -1) : text;
  }

  #deltas() {
    const { wasm, pointer } = this;
    const { functions, words } = wasm;
    /** @type {Delta[]} */
    const deltas = [];
    // Called by hand, too. It looks at what is there, so it neither fails nor needs memory.
    try {
      const list = functions.chat_stream_view(pointer);
      const first = words.getUint32(list, true);
      const end = first + 24 * words.getUint32(list + 4, true);
      for (let at = first; at < end; at += 24) {
        deltas.push({
          kind: DELTA_KINDS[words.getUint32(at, true)] ?? "unknown",
          call: words.getUint32(at + 4, true),
          text: wasm.decode(words.getUint32(at + 8, true), words.getUint32(at + 12, true)),
          begin: words.getUint32(at + 16, true),
          end: words.getUint32(at + 20, true),
        });
      }
    } catch (trap) {
      wasm.stop("chat_stream_view", trap);
    }
    return deltas;
  }
}
