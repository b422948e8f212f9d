import { ChatError } from "./error.js";
import { TAGS, VALUE_KINDS } from "./names.js";

/** @import { Schema } from "./grammar.js" */
/** @import { ChatRequest } from "./template.js" */
/** @import { Tag, ValueKind } from "./names.js" */
/** @import { Wasm } from "./wasm.js" */

/** An expression; a text stands for itself. @typedef {Expr | string} Like */

/** What a function of the library takes for an expression. @typedef {Expr | Expr[] | string | string[] | number | [number, number][]} Part */

const UNBOUNDED = 0xffffffff;

/** @param {Like} like */
function expr(like) {
  if (like instanceof Expr) return like;
  if (typeof like === "string") return Expr.literal(like);
  throw new ChatError("argument", "an expression or a text is expected");
}

/** @param {object | string | boolean} value */
const json = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/**
 * A part of a format of your own: an expression of a parsing expression grammar, whose tags say what becomes of the text.
 * `Chatparse.parserOf` makes a parser of it. Expressions never change, belong to no instance, and may stand in several places.
 */
export class Expr {
  /** The library's function for it. @internal @readonly */
  name;
  /** What that takes, in its order. @internal @readonly @type {Part[]} */
  parts;

  /** @internal @param {string} name @param {Part[]} parts */
  constructor(name, ...parts) {
    this.name = name;
    this.parts = parts;
  }

  /** Exactly this text, which may be empty. @param {string} text */
  static literal(text) {
    return new Expr("chat_expr_literal", text);
  }

  /**
   * Text up to the first of the markers or up to the end of the output, without the marker. Without markers: all text.
   * @param {string[]} markers
   */
  static until(...markers) {
    return new Expr("chat_expr_until", markers);
  }

  /** One character of a class, e.g. `[a-z_]`, `[^"\\]`, `[\u4E00-\u9FFF]`. @param {string} text */
  static charClass(text) {
    return new Expr("chat_expr_class", text);
  }

  /**
   * One character in one of the ranges, each a character or two, such as `"az"`; `without`: in none of them.
   * @param {string[]} ranges
   * @param {{ without?: boolean }} [options]
   */
  static character(ranges, { without = false } = {}) {
    const pairs = ranges.map((range) => {
      const ends = Array.from(range, (end) => /** @type {number} */ (end.codePointAt(0)));
      if (ends.length < 1 || ends.length > 2) throw new ChatError("argument", `character: ${JSON.stringify(range)} is no range`);
      return /** @type {[number, number]} */ ([ends[0], ends[ends.length - 1]]);
    });
    return new Expr("chat_expr_character", pairs, without ? 1 : 0);
  }

  /**
   * The inside of a quoted string up to `quote`, without it: text with JSON's escapes.
   * @param {string} quote a character of ASCII
   */
  static stringBody(quote) {
    if (!/^[\x00-\x7f]$/.test(quote)) throw new ChatError("argument", `stringBody: ${JSON.stringify(quote)} is no quote`);
    return new Expr("chat_expr_string_body", quote.charCodeAt(0));
  }

  /** All white space at this place, also none. */
  static space() {
    return new Expr("chat_expr_space");
  }

  /** Empty text at the start of the output, or of the prefill. */
  static start() {
    return new Expr("chat_expr_start");
  }

  /** Empty text at the end of the output. Text behind the match of a format without it becomes content. */
  static end() {
    return new Expr("chat_expr_end");
  }

  /** All of them, in order. @param {Like[]} parts */
  static sequence(...parts) {
    return new Expr("chat_expr_sequence", parts.map(expr));
  }

  /**
   * The first that matches. What an alternative captures is streamed before it has matched: where two capture the same bytes
   * differently, make them `atomic`. Without alternatives it never matches.
   * @param {Like[]} alternatives
   */
  static choice(...alternatives) {
    return new Expr("chat_expr_choice", alternatives.map(expr));
  }

  /**
   * A JSON value. Grammars hold it to the schema, in a rule of this name.
   * @param {Schema} [schema]
   * @param {string} [name]
   */
  static json(schema = {}, name = "") {
    return new Expr("chat_expr_json", name, json(schema));
  }

  /**
   * A value in a notation. A rule `json-string` among the `rules` of the parser replaces the strings of JSON.
   * @param {ValueKind} kind
   */
  static value(kind) {
    return new Expr("chat_expr_value", VALUE_KINDS[kind]);
  }

  /**
   * The calls of a message, with their markers and tags.
   * @param {ChatRequest} request of which `tools`, `tool_choice` and `parallel_tool_calls` count
   * @param {object | string} turn how they are written, as `Template.layout.turn` has it; only `calls` must be there
   */
  static calls(request, turn) {
    return new Expr("chat_expr_calls", json(request), json(turn));
  }

  /** The rule of that name, which may stand around the reference or anywhere else in the format. @param {string} name */
  static reference(name) {
    return new Expr("chat_expr_reference", name);
  }

  /** The same, and these behind it. @param {Like[]} parts */
  then(...parts) {
    return Expr.sequence(this, ...parts);
  }

  /** This or, if it does not match, the first of these that does. @param {Like[]} alternatives */
  or(...alternatives) {
    return Expr.choice(this, ...alternatives);
  }

  /** The same, with a meaning: what becomes of the text. @param {Tag} tag */
  tag(tag) {
    return new Expr("chat_expr_tag", TAGS[tag], this);
  }

  /** The same, with a name in the `Tree`. The name of a tag, such as `tool-name`, gives it that meaning as well. @param {string} name */
  label(name) {
    return new Expr("chat_expr_label", name, this);
  }

  /**
   * As often as possible, at least `min` and at most `max` times.
   * @param {number} [min]
   * @param {number} [max]
   */
  repeat(min = 0, max = Infinity) {
    const counts = [min, max === Infinity ? UNBOUNDED : max];
    const wrong = counts.find((count) => !Number.isInteger(count) || count < 0 || count > UNBOUNDED);
    if (wrong !== undefined) throw new ChatError("argument", `repeat: ${wrong} is no number of times`);
    return new Expr("chat_expr_repeat", this, ...counts);
  }

  /** Once, or not at all. */
  optional() {
    return this.repeat(0, 1);
  }

  /** The same, but the text of its tags shows only once all of it has matched. */
  atomic() {
    return new Expr("chat_expr_atomic", this);
  }

  /** Empty text where this matches. */
  ahead() {
    return new Expr("chat_expr_lookahead", this, 0);
  }

  /** Empty text where this does not match. */
  notAhead() {
    return new Expr("chat_expr_lookahead", this, 1);
  }

  /**
   * The same as a rule, for `reference`, also from inside it.
   * @param {string} name
   * @param {{ trigger?: boolean }} [options] `trigger`: a lazy grammar may start here
   */
  rule(name, { trigger = false } = {}) {
    return new Expr("chat_expr_rule", name, this, trigger ? 1 : 0);
  }

  /**
   * The same to parse; grammars have the schema instead, as the rule `name`.
   * @param {string} name
   * @param {Schema} schema
   * @param {{ raw?: boolean }} [options] `raw`: strings are written without JSON's quotes
   */
  withSchema(name, schema, { raw = false } = {}) {
    return new Expr("chat_expr_schema", this, name, json(schema), raw ? 1 : 0);
  }

  /** The same to parse; grammars have `body` instead: what GBNF has right of `::=`. @param {string} body */
  withGbnf(body) {
    return new Expr("chat_expr_gbnf", this, body);
  }

  /**
   * The same to parse, which must match up to and with the first of the markers; grammars have text that ends with the first.
   * @param {string[]} markers
   */
  excluding(...markers) {
    return new Expr("chat_expr_excluding", this, markers);
  }
}

/**
 * Adds expressions and all that they are made of, each once; the number of the last.
 * @param {Wasm} wasm
 * @param {number} builder
 * @param {Like[]} roots
 */
export function put(wasm, builder, roots) {
  const waiting = roots.map(expr).reverse();
  const [last] = waiting;
  /** @type {Map<Part, number>} */
  const numbers = new Map();
  const number = (/** @type {Expr} */ part) => /** @type {number} */ (numbers.get(part));
  // As deep as it may be: no function that calls itself.
  for (let next; (next = waiting.at(-1)); ) {
    const missing = next.parts.flat().filter((part) => part instanceof Expr).filter((part) => !numbers.has(part));
    for (const part of missing.reverse()) waiting.push(part);
    if (missing.length > 0) continue;
    waiting.pop();
    if (numbers.has(next)) continue;
    const parts = next.parts.map((part) => {
      if (part instanceof Expr) return number(part);
      return Array.isArray(part) && part[0] instanceof Expr ? /** @type {Expr[]} */ (part).map(number) : part;
    });
    numbers.set(next, wasm.call(next.name, builder, .../** @type {import("./wasm.js").Argument[]} */ (parts)));
  }
  return number(last);
}
