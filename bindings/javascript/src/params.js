import { Grammar } from "./grammar.js";
import { Handle } from "./handle.js";
import { Matcher } from "./matcher.js";
import { Message } from "./message.js";
import { DIALECTS, NO_MESSAGE, REWRITE_REASONS } from "./names.js";
import { Parser } from "./parser.js";
import { Stream, flags } from "./stream.js";
import { OUT } from "./wasm.js";

/** @import { Wasm } from "./wasm.js" */
/** @import { End, StreamOptions } from "./stream.js" */
/** @import { Dialect, RewriteReason } from "./names.js" */

/**
 * What makes a lazy grammar start: a text, or a regular expression that is searched for in the output.
 * @typedef {{ kind: "word" | "pattern", value: string }} Trigger
 */

/**
 * A piece of media that the prompt wants: `text` stands for it there, in the template's own words or as the option `media_marker`;
 * `source` is the part of the request, number `part` of message `message`.
 * @typedef {{ kind: string, text: string, source: unknown, message: number, part: number, native: boolean }} Media
 */

/**
 * Why a template writes anew what was sent, and at which message of the conversation; null: in the template's own words.
 * @typedef {{ reason: RewriteReason, words: string, message: number | null }} Rewrite
 */

/** What one request needs: its prompt, what a sampler and a tokeniser must know, and the parser of the output. */
export class Params extends Handle {
  /** @internal @param {Wasm} wasm @param {number} pointer */
  constructor(wasm, pointer) {
    super(wasm, pointer, "chat_params_free");
  }

  /** The address of `chat_params_fields`. */
  get #fields() {
    return this.wasm.invoke("chat_params_view", [this.pointer]);
  }

  /** The address of `chat_turn_fields`. */
  get #turn() {
    return this.wasm.invoke("chat_params_turn", [this.pointer]);
  }

  /** What the model is given. */
  get prompt() {
    return this.wasm.view(this.#fields);
  }

  /** The end of the prompt that is already the assistant's turn. Streams know it: do not feed it to them. */
  get generationPrompt() {
    return this.wasm.view(this.#fields + 8);
  }

  /** The name of the way the output is parsed in, for logs. */
  get format() {
    return this.wasm.view(this.#fields + 16);
  }

  /** Texts that end the output besides the end-of-turn token. */
  get additionalStops() {
    return this.wasm.texts(this.#fields + 32);
  }

  /** Texts that the tokeniser must keep whole and the detokeniser must print. */
  get preservedTokens() {
    return this.wasm.texts(this.#fields + 24);
  }

  /** What the template writes to end the assistant's turn; empty where nothing does, or where that is unknown. */
  get endOfTurn() {
    return this.wasm.text("chat_params_end_of_turn", this.pointer);
  }

  /** Whether the template knows reasoning. */
  get supportsThinking() {
    const at = this.#fields + 73;
    return this.wasm.bytes[at] !== 0;
  }

  /** What opens reasoning; empty where nothing does. */
  get thinkingStartTag() {
    return this.wasm.view(this.#fields + 40);
  }

  /** What closes it: any of these does. */
  get thinkingEndTags() {
    return this.wasm.texts(this.#fields + 48);
  }

  /** @returns {Media[]} */
  get media() {
    const { wasm } = this;
    return wasm.list(wasm.struct("chat_params_media", this.pointer), 36, (at) => {
      const [kind, text, source] = [at, at + 8, at + 16].map((place) => wasm.view(place));
      const [message, part] = [wasm.word(at + 24), wasm.word(at + 28)];
      return { kind, text, source: JSON.parse(source), message, part, native: wasm.bytes[at + 32] !== 0 };
    });
  }

  /**
   * The grammar that the sampler should hold the output to; its text is empty where nothing constrains the output. Without a dialect,
   * `grammarLazy` says from where on it holds; in a dialect it holds from the output's first byte on.
   * @param {Dialect} [dialect]
   */
  grammar(dialect) {
    const { wasm, pointer } = this;
    return new Grammar(wasm, wasm.work("chat_params_grammar", pointer, DIALECTS[dialect ?? "gbnf"], OUT));
  }

  /** Whether the grammar waits for a trigger. If not, let the sampler accept `generationPrompt` first. */
  get grammarLazy() {
    const at = this.#fields + 72;
    return this.wasm.bytes[at] !== 0;
  }

  /** @returns {Trigger[]} */
  get grammarTriggers() {
    const { wasm } = this;
    return wasm.list(this.#fields + 64, 12, (at) => ({
      kind: wasm.word(at) === 1 ? "word" : "pattern",
      value: wasm.view(at + 4),
    }));
  }

  /** What may come next in the output, and what must. Each call makes it anew; keep it, and clone it. */
  matcher() {
    return new Matcher(this.wasm, this.wasm.work("chat_params_matcher", this.pointer, OUT));
  }

  /**
   * A stream at the start of an output.
   * @param {StreamOptions} [options]
   */
  stream(options) {
    return new Stream(this.wasm, this.wasm.work("chat_stream_new", this.pointer, OUT), options);
  }

  /**
   * The message of an output that is there as a whole.
   * @param {string | Uint8Array} output
   * @param {End} [end]
   */
  parse(output, end = {}) {
    return new Message(this.wasm, this.wasm.work("chat_parse_partial", this.pointer, output, flags(end), OUT));
  }

  /** The parser by itself, to be kept as a text. */
  parser() {
    return new Parser(this.wasm, this.wasm.work("chat_params_parser", this.pointer, OUT));
  }

  /**
   * Goes on behind an output, so that nothing that was sent is written anew where the template allows it: send `append` of the new
   * params behind the first `kept` bytes of what was sent.
   * @param {string | Uint8Array} output what the model wrote
   * @param {object[]} messages what follows: results of tools, or what the user says
   */
  next(output, messages) {
    const text = JSON.stringify(messages);
    return new Params(this.wasm, this.wasm.work("chat_params_continue", this.pointer, output, text, 0, OUT));
  }

  /** How many bytes stand of what was sent before `next`, prompt and output. */
  get kept() {
    return this.wasm.word(this.#turn);
  }

  /** What to send behind these. */
  get append() {
    return this.wasm.view(this.#turn + 4);
  }

  /** The prompt as the template renders the whole conversation; another one where the request's option `append` is `always`. */
  get rendered() {
    return this.wasm.view(this.#turn + 12);
  }

  /** Why the template does not keep all that was sent before `next`; null where it does. @returns {Rewrite | null} */
  get rewrite() {
    const { wasm } = this;
    const at = this.#turn;
    const reason = wasm.word(at + 20);
    if (reason === 0) return null;
    const words = wasm.view(at + 24);
    const message = wasm.word(at + 32);
    return { reason: REWRITE_REASONS[reason] ?? "unknown", words, message: message === NO_MESSAGE ? null : message };
  }

  /** All of the params as one object, with the names of the C library's `chat_params_json`. @returns {Record<string, unknown>} */
  toJSON() {
    return JSON.parse(this.wasm.workText("chat_params_json", this.pointer, OUT));
  }
}
