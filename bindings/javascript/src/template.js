import { ChatError } from "./error.js";
import { Handle } from "./handle.js";
import { REPORTS } from "./names.js";
import { Params } from "./params.js";
import { Segments } from "./segments.js";
import { OUT } from "./wasm.js";

/** @import { Wasm } from "./wasm.js" */

/**
 * An OpenAI chat-completions body, or its JSON text, which keeps numbers as they are written (1.0 stays 1.0).
 * @typedef {string | { messages?: unknown, [field: string]: unknown }} ChatRequest
 */

/**
 * The host's options; each counts before the body's field of that name. All of them are described at `chat_params_from_template` in
 * `chatparse.h`. `now` is in Unix seconds; the clock of the platform, unless it is said.
 * @typedef {{ reasoning_format?: "none" | "auto" | "deepseek" | "deepseek-legacy", enable_thinking?: boolean,
 *   add_generation_prompt?: boolean, continue_final_message?: boolean | "content" | "reasoning_content", compat?: "off" | "llama.cpp",
 *   chat_template_kwargs?: object, plain?: boolean, for_training?: boolean, append?: "template" | "always", json_schema?: object, grammar?: string,
 *   grammar_style?: "faithful" | "llama.cpp", force_pure_content?: boolean, now?: number, media_marker?: string,
 *   malformed_arguments?: "keep" | "empty" | "error", dialects?: "off" | "recover" | "tail" | "always",
 *   unknown_tools?: "call" | "content", calls_in_reasoning?: "at_end" | "off" | "always" | "llama.cpp",
 *   bare_calls?: "off" | "whole" | "anywhere", opening_again?: "marker" | "reasoning", incomplete_calls?: "keep" | "drop" | "content", nearly_json?: "mend" | "keep", prose?: boolean,
 *   json_spacing?: "template" | "free" | "compact",
 *   revealed_tools?: "inline" | "listed", roles?: "fit" | "as_sent", effort?: "fit" | "as_sent", hosted_tools?: "refuse" | "keep" }} RequestOptions
 */

/**
 * Whether what a template writes is read back: of `cases` messages, `read_back` come back; `failures` says what is wrong with others.
 * @typedef {{ reader: string, cases: number, read_back: number, with_calls: number, recovered: number, alike: number,
 *   failures: { probe: string, thinking: string, turn: string, expected: string, got: string, why: string }[],
 *   [count: string]: unknown }} Proof
 */

/**
 * A law that a template breaks. `rule`: its name; `docs/lint.md` lists them. `message`: what is wrong, `effect`: the cost to users.
 * `request`: the smallest one that shows it, or null. `shown`: what is expected and what is there instead. `places`: those in the
 * template's source. `fault`: false for a note.
 * @typedef {{ rule: string, fault: boolean, message: string, effect: string, request: Record<string, any> | null,
 *   shown: { from: string, text: string }[], places: { line: number, column: number, excerpt: string }[] }} Finding
 */

/**
 * For authors of templates. `faults` counts the findings that are faults. `laws`: the verdict for each law. Each of `cases` is a message
 * that was rendered and read back. `chatparse.h` lists the fields.
 * @typedef {{ faults: number, laws: Record<string, "fault" | "note" | "holds" | "not asked">, findings: Finding[],
 *   cases: { probe: string, thinking: string, turn: string, outcome: string, fault: boolean, at: number | null,
 *   expected: string, got: string }[] }} Lint
 */

/** A compiled chat template: it renders prompts, and what it shows of the model's format is learnt from it once. */
export class Template extends Handle {
  /** @internal @param {Wasm} wasm @param {number} pointer */
  constructor(wasm, pointer) {
    super(wasm, pointer, "chat_template_free");
  }

  /** The text as it is used: line feeds only, none at its end, known faults mended. */
  get source() {
    return this.wasm.text("chat_template_source", this.pointer);
  }

  /**
   * What the template accepts, e.g. `supports_tools`; and `reasoning_effort_levels`, the levels that it renders each in its own way.
   * @returns {Record<string, boolean> & { reasoning_effort_levels: string[] }}
   */
  get caps() {
    return this.#report("caps");
  }

  /** What reads the model's output: `turn`, what was learnt, or the name of a known family of templates. */
  get reader() {
    return this.wasm.workText("chat_template_reader", this.pointer, OUT);
  }

  /** What was learnt by comparing renders: what opens and closes each part, how calls are written. @returns {Record<string, any>} */
  get layout() {
    return this.#report("layout");
  }

  /**
   * What was learnt of the way in which the template writes an answer: texts for each thing. This is what
   * counts where `reader` is `turn`.
   * @returns {Record<string, string[]>}
   */
  get turn() {
    return this.#report("turn");
  }

  /** How well what the template writes is read back. The first question renders and parses some sixty messages. @returns {Proof} */
  get proof() {
    return this.#report("proof");
  }

  /** For authors of templates: which laws about renders and reads it breaks. @returns {Lint} */
  get lint() {
    return this.#report("lint");
  }

  /**
   * How outputs are read, as a `response_template` for transformers, and its `limits`: what may be read otherwise by it. If no response
   * template can say it, that is null, and there is an `error`.
   * @returns {{ response_template: Record<string, any> | null, limits: { field: string, message: string }[], error?: string }}
   */
  get responseTemplate() {
    return this.#report("response_template");
  }

  /**
   * The prompt of a request, and what parses its output.
   * @param {ChatRequest} request
   * @param {RequestOptions} [options]
   */
  params(request, options = {}) {
    return new Params(this.wasm, this.#asked("chat_params_from_template_with", request, options));
  }

  /**
   * The params of a prompt that the host has rendered itself: what its end leaves open, reasoning or a text, is read from it.
   * @param {string} prompt
   * @param {ChatRequest} [request] of which the tools and the options count; its messages may be empty
   */
  paramsFor(prompt, request = { messages: [] }) {
    const text = typeof request === "string" ? request : JSON.stringify(request);
    return new Params(this.wasm, this.wasm.work("chat_params_for_prompt", this.pointer, prompt, text, OUT));
  }

  /**
   * The prompt of a request, with the origin of each byte.
   * @param {ChatRequest} request
   * @param {RequestOptions} [options]
   */
  segments(request, options = {}) {
    return new Segments(this.wasm, this.#asked("chat_segments_from_template", request, options));
  }

  /**
   * The segments of each request. The first one that fails throws, with its index. An instance has one thread, so that takes as long as one
   * by one.
   * @param {ChatRequest[]} requests
   * @param {RequestOptions} [options] for all of them
   */
  segmentsBatch(requests, options = {}) {
    /** @type {Segments[]} */
    const all = [];
    try {
      for (const request of requests) all.push(this.segments(request, options));
      return all;
    } catch (error) {
      for (const made of all) made.free();
      if (error instanceof ChatError) error.message = `requests[${all.length}]: ${error.message}`;
      throw error;
    }
  }

  /** @param {string} name @param {ChatRequest} request @param {RequestOptions} options */
  #asked(name, request, options) {
    const text = typeof request === "string" ? request : JSON.stringify(request);
    const host = options.now !== undefined || saysNow(request) ? options : { ...options, now: Math.floor(Date.now() / 1000) };
    return this.wasm.work(name, this.pointer, text, JSON.stringify(host), OUT);
  }

  /** @param {keyof typeof REPORTS} name */
  #report(name) {
    return JSON.parse(this.wasm.workText("chat_template_report", this.pointer, REPORTS[name], OUT));
  }
}

/**
 * Whether a request says the time. WebAssembly has no clock of its own, so this package adds it.
 * @param {ChatRequest} request
 */
function saysNow(request) {
  if (typeof request !== "string") return (request.now ?? null) !== null;
  if (!request.includes('"now"')) return false;
  try {
    return (JSON.parse(request)?.now ?? null) !== null;
  } catch {
    return false; // The library says what is wrong with the text.
  }
}
