import { Handle } from "./handle.js";
import { APIS } from "./names.js";
import { OUT } from "./wasm.js";

/** @import { Api } from "./names.js" */
/** @import { Message } from "./message.js" */
/** @import { ChatRequest } from "./template.js" */
/** @import { Stream } from "./stream.js" */
/** @import { Wasm } from "./wasm.js" */

/**
 * An event of a streamed answer. `name` is empty in chat completions; `data` is JSON text on one line, or `[DONE]`, the last one there.
 * @typedef {{ name: string, data: string }} Event
 */

/**
 * Of an answer. `created` counts Unix seconds, `choice` is the `index` in chat completions, `model` the request's if it is left out. What
 * the library makes up itself, such as the ids of calls, depends on `id` and `seed` alone: give each answer another. With `omit_request`,
 * Responses repeats neither the tools nor the instructions of the request.
 * @typedef {{ id?: string, model?: string, created?: number, seed?: number, call_id_prefix?: string, choice?: number, omit_request?: boolean }} AnswerOptions
 */

/**
 * How an answer ended. `reason`: the model ended its turn (`stop`, the default), or a limit cut it off. `stop_sequence`: the client's text
 * that the model wrote. `usage`: numbers of tokens.
 * @typedef {{ reason?: "stop" | "length", stop_sequence?: string,
 *   usage?: { input_tokens?: number, output_tokens?: number, cached_tokens?: number, reasoning_tokens?: number } }} AnswerEnd
 */

/**
 * The answer to a client's request in the form of an API: `begin`, `deltas` after each `feed` and `finish` of a stream, then `finish`; or `body`
 * alone. `Chatparse.answer` makes it.
 */
export class Answer extends Handle {
  /** @internal @param {Wasm} wasm @param {Api} api @param {ChatRequest} request @param {AnswerOptions} options */
  constructor(wasm, api, request, options) {
    const body = typeof request === "string" ? request : JSON.stringify(request);
    super(wasm, wasm.work("chat_answer_new", APIS[api], body, JSON.stringify(options), OUT), "chat_answer_free");
  }

  /** The address of `chat_answer_fields`. */
  get #fields() {
    return this.wasm.invoke("chat_answer_view", [this.pointer]);
  }

  /** The request as a chat-completions body, JSON text, for `Template.params`. */
  get request() {
    return this.wasm.view(this.#fields);
  }

  /** The first events. Only `messages` sends the length of the prompt at the start. @param {number} [inputTokens] */
  begin(inputTokens = 0) {
    this.wasm.work("chat_answer_begin", this.pointer, BigInt(inputTokens));
    return this.#events();
  }

  /** The client's stop text (`stop`, `stop_sequences`) that has ended the content, or nothing. The model need not write on. */
  get stopped() {
    return this.wasm.view(this.#fields + 8);
  }

  /**
   * Takes the log probability of a token, before the deltas of its text.
   * @param {number} begin the token's bytes of the output
   * @param {number} end
   * @param {object} entry what the API has in `logprobs.content`
   */
  token(begin, end, entry) {
    this.wasm.work("chat_answer_token", this.pointer, begin, end, JSON.stringify(entry));
  }

  /** The events of what the stream's last `feed` or `finish` added, maybe none. Call it once after each. @param {Stream} stream */
  deltas(stream) {
    this.wasm.work("chat_answer_deltas", this.pointer, stream.pointer);
    return this.#events();
  }

  /**
   * The last events.
   * @param {Message} message the stream's, after its end
   * @param {AnswerEnd} [end]
   */
  finish(message, end = {}) {
    this.wasm.work("chat_answer_finish", this.pointer, message.pointer, JSON.stringify(end));
    return this.#events();
  }

  /**
   * The last events of an answer that the server breaks off.
   * @param {number} httpStatus the code that it would have sent at the start
   * @param {string} reason
   */
  fail(httpStatus, reason) {
    this.wasm.work("chat_answer_fail", this.pointer, httpStatus, reason);
    return this.#events();
  }

  /** An event that keeps the connection open; none where the API has no such event. */
  ping() {
    this.wasm.work("chat_answer_ping", this.pointer);
    return this.#events();
  }

  /** The events of the last call as a server sends them (`text/event-stream`). */
  sse() {
    return this.wasm.workText("chat_answer_sse", this.pointer, OUT);
  }

  /**
   * The whole answer as one JSON body.
   * @param {Message} message
   * @param {AnswerEnd} [end]
   */
  body(message, end = {}) {
    return this.wasm.workText("chat_answer_body", this.pointer, message.pointer, JSON.stringify(end), OUT);
  }

  /** @returns {Event[]} */
  #events() {
    const { wasm } = this;
    return wasm.list(this.#fields + 16, 16, (at) => ({ name: wasm.view(at), data: wasm.view(at + 8) }));
  }
}
