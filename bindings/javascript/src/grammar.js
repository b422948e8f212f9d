import { Handle } from "./handle.js";
import { DIALECTS, FIDELITIES, GRAMMAR_STYLES } from "./names.js";
import { OUT } from "./wasm.js";

/** @import { Wasm } from "./wasm.js" */
/** @import { Dialect, Fidelity, GrammarStyle } from "./names.js" */

/**
 * A place of a schema that a grammar does not follow to the letter. `schema` is the rule or tool that it was added as, `pointer` the
 * place inside, `message` what stands there instead.
 * @typedef {{ kind: Fidelity, schema: string, pointer: string, message: string }} Departure
 */

/** A JSON schema: a value, or its JSON text, which keeps the numbers as they are written. @typedef {string | object | boolean} Schema */

/** @param {Schema} schema */
export const schemaText = (schema) => (typeof schema === "string" ? schema : JSON.stringify(schema));

/** A grammar for a sampler, and where it is not exactly what its schemas ask for. */
export class Grammar extends Handle {
  /** @internal @param {Wasm} wasm @param {number} pointer */
  constructor(wasm, pointer) {
    super(wasm, pointer, "chat_grammar_free");
  }

  /** The address of `chat_grammar_fields`. */
  get #fields() {
    return this.wasm.invoke("chat_grammar_view", [this.pointer]);
  }

  /** The rules; those of GBNF start at `root`. Empty where nothing is constrained. */
  get text() {
    return this.wasm.view(this.#fields);
  }

  /** @returns {Departure[]} */
  get report() {
    const { wasm } = this;
    return wasm.list(this.#fields + 8, 28, (at) => {
      const kind = FIDELITIES[wasm.word(at)] ?? "unknown";
      return { kind, schema: wasm.view(at + 4), pointer: wasm.view(at + 12), message: wasm.view(at + 20) };
    });
  }

  /**
   * The same grammar in another dialect; only its text and its report are of use.
   * @param {Dialect} dialect
   */
  as(dialect) {
    return new Grammar(this.wasm, this.wasm.work("chat_grammar_as", this.pointer, DIALECTS[dialect], OUT));
  }

  toString() {
    return this.text;
  }
}

/**
 * Puts a grammar together from rules, texts and schemas. Each function that adds a rule returns its actual name: refer to it by that.
 * The grammar starts at the rule `root`.
 */
export class GrammarBuilder extends Handle {
  /** @internal @param {Wasm} wasm @param {GrammarStyle} style */
  constructor(wasm, style) {
    super(wasm, wasm.work("chat_grammar_builder_new", OUT), "chat_grammar_builder_free");
    wasm.work("chat_grammar_builder_set_style", this.pointer, GRAMMAR_STYLES[style]);
  }

  /**
   * @param {string} name
   * @param {string} body what GBNF has right of `::=`; it may refer to rules that are added later
   */
  addRule(name, body) {
    return this.wasm.workText("chat_grammar_builder_add_rule", this.pointer, name, body, OUT);
  }

  /**
   * @param {string} name
   * @param {string} text exactly what it allows
   */
  addLiteral(name, text) {
    return this.wasm.workText("chat_grammar_builder_add_literal", this.pointer, name, text, OUT);
  }

  /**
   * @param {string} name
   * @param {Schema} schema
   */
  addSchema(name, schema) {
    return this.wasm.workText("chat_grammar_builder_add_schema", this.pointer, name, schemaText(schema), OUT);
  }

  /** The grammar of all that was added so far. */
  build() {
    return new Grammar(this.wasm, this.wasm.work("chat_grammar_builder_build", this.pointer, OUT));
  }
}
