import { Answer } from "./answer.js";
import { Grammar, GrammarBuilder, schemaText } from "./grammar.js";
import { Matcher } from "./matcher.js";
import { GRAMMAR_STYLES, VERDICTS } from "./names.js";
import { Parser } from "./parser.js";
import { Template } from "./template.js";
import { OUT, Wasm } from "./wasm.js";

// What programs in TypeScript name.
/** @typedef {import("./message.js").Diagnostic} Diagnostic */
/** @typedef {import("./message.js").ToolCall} ToolCall */
/** @typedef {import("./message.js").Tree} Tree */
/** @typedef {import("./names.js").CallOrigin} CallOrigin */
/** @typedef {import("./names.js").DeltaKind} DeltaKind */
/** @typedef {import("./names.js").Dialect} Dialect */
/** @typedef {import("./names.js").Status} Status */
/** @typedef {import("./names.js").TextOrigin} TextOrigin */
/** @typedef {import("./segments.js").Segment} Segment */
/** @typedef {import("./segments.js").Token} Token */
/** @typedef {import("./stream.js").Closing} Closing */
/** @typedef {import("./stream.js").Delta} Delta */
/** @typedef {import("./stream.js").State} State */
/** @typedef {import("./template.js").Finding} Finding */
/** @typedef {import("./template.js").Lint} Lint */

/** @import { AnswerOptions } from "./answer.js" */
/** @import { Schema } from "./grammar.js" */
/** @import { Api, GrammarStyle, Verdict } from "./names.js" */
/** @import { ChatRequest } from "./template.js" */

export { Answer } from "./answer.js";
export { ChatError } from "./error.js";
export { Grammar, GrammarBuilder } from "./grammar.js";
export { Matcher } from "./matcher.js";
export { Message } from "./message.js";
export { Params } from "./params.js";
export { Parser } from "./parser.js";
export { Segments } from "./segments.js";
export { Stream } from "./stream.js";
export { Template } from "./template.js";

/**
 * How a template is to be taken. `bos`, `eos`: the texts of the model's special tokens that templates may refer to; `ends`: those of
 * further tokens that end its output. `special_tokens`: those of the vocabulary, for `lint`. `name`: which of several named templates of a
 * `tokenizer_config.json`. `learn_only`: only what the template shows by itself counts. `prove`, by
 * default true: where there are several ways to read it, what it renders decides. `response_template`: how the model's output is read, as
 * transformers has it; the template may then be empty.
 * @typedef {{ bos?: string, eos?: string, ends?: string[], special_tokens?: string[], name?: string, learn_only?: boolean, prove?: boolean,
 *   response_template?: object }} TemplateOptions
 */

/**
 * An instance of the library, with a memory of its own: what was made by one is of no use to another. A defect of the library stops
 * its instance for good: that call and all later ones throw a `ChatError` of the kind `internal`. Load another then.
 */
export class Chatparse {
  #wasm;

  /** @param {WebAssembly.Instance} instance of `chatparse.wasm`; it has no imports. `load` makes one */
  constructor(instance) {
    this.#wasm = new Wasm(instance);
  }

  /** The version of the library. */
  get version() {
    const at = this.#wasm.invoke("chat_version", []);
    return this.#wasm.decode(at, this.#wasm.bytes.indexOf(0, at) - at);
  }

  /** The names of the templates that the library brings along, for models that have none. */
  get builtins() {
    const wasm = this.#wasm;
    return wasm.texts(wasm.struct("chat_template_builtins"));
  }

  /**
   * A template that the library brings along.
   * @param {string} name
   */
  builtin(name) {
    return new Template(this.#wasm, this.#wasm.work("chat_template_builtin", name, OUT));
  }

  /**
   * Compiles a template, once for each model.
   * @param {string} source Jinja, as vendors ship it, or the text of a `tokenizer_config.json` or `chat_template.json`
   * @param {TemplateOptions} [options]
   */
  template(source, options = {}) {
    const pointer = this.#wasm.work("chat_template_with_options", source, JSON.stringify(options), OUT);
    return new Template(this.#wasm, pointer);
  }

  /**
   * The parser that `Parser.text` of the same version wrote, or that of a format of your own, which docs/formats.md describes.
   * @param {string | object} text
   */
  parser(text) {
    const json = typeof text === "string" ? text : JSON.stringify(text);
    return new Parser(this.#wasm, this.#wasm.work("chat_parser_from_json", json, OUT));
  }

  /**
   * The answer to a client's request in the form of an API.
   * @param {Api} api
   * @param {ChatRequest} request the client's body
   * @param {AnswerOptions} [options]
   */
  answer(api, request, options = {}) {
    return new Answer(this.#wasm, api, request, options);
  }

  /**
   * The grammar of the JSON values that a schema allows.
   * @param {Schema} schema
   * @param {{ style?: GrammarStyle }} [options]
   */
  grammar(schema, { style = "faithful" } = {}) {
    const text = schemaText(schema);
    const pointer = this.#wasm.work("chat_grammar_from_json_schema", text, GRAMMAR_STYLES[style], OUT);
    return new Grammar(this.#wasm, pointer);
  }

  /** @param {{ style?: GrammarStyle }} [options] how schemas become rules */
  grammarBuilder({ style = "faithful" } = {}) {
    return new GrammarBuilder(this.#wasm, style);
  }

  /**
   * The matcher of a grammar, which must be GBNF.
   * @param {string} grammar
   */
  matcher(grammar) {
    return new Matcher(this.#wasm, this.#wasm.work("chat_matcher_new", grammar, OUT));
  }

  /**
   * What a grammar in GBNF says of a text.
   * @param {string} grammar
   * @param {string} text
   * @returns {Verdict}
   */
  check(grammar, text) {
    return VERDICTS[this.#wasm.work("chat_grammar_check", grammar, text, OUT)] ?? "unknown";
  }
}
