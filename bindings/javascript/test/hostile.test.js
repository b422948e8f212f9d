import assert from "node:assert/strict";
import { test } from "node:test";
import { ChatError } from "../src/node.js";
import { REQUEST, chat, needsModule } from "./support.js";

const DEEP = 100_000;
const nested = (/** @type {number} */ depth) => "[".repeat(depth) + "]".repeat(depth);
const ask = (/** @type {string} */ source, /** @type {string} */ content = "x") =>
  chat.template(source).params({ messages: [{ role: "user", content }] }).prompt;

/** Each is an answer or an error, and never the end of the instance, whose stack is small. */
const CASES = /** @type {[string, () => unknown][]} */ ([
  ["a deep expression", () => ask(`{{ ${"(".repeat(DEEP)}1${")".repeat(DEEP)} }}`)],
  ["an expression as deep as is allowed", () => [10, 50, 100, 140, 150, 200].map((d) => tried(() => ask(`{{ ${"(".repeat(d)}1${")".repeat(d)} }}`)))],
  ["deep lists in a template", () => [50, 100, 140, 200, DEEP].map((d) => tried(() => ask(`{{ ${nested(d)} | tojson }}`)))],
  ["deep blocks", () => [50, 100, 200, 10_000].map((d) => tried(() => ask("{% if 1 %}".repeat(d) + "{% endif %}".repeat(d))))],
  ["negations", () => ask(`{{ ${"not ".repeat(DEEP)}1 }}`)],
  ["filters", () => ask(`{{ "a"${"|upper".repeat(10_000)} }}`)],
  ["a macro that calls itself", () => ask("{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}")],
  ["a list in itself", () => ask("{% set n = namespace(x=[]) %}{% for i in range(100000) %}{% set n.x = [n.x] %}{% endfor %}{{ n.x | tojson }}")],
  ["a deep request", () => chat.builtin("chatml").params(`{"messages": ${nested(DEEP)}}`)],
  ["deep arguments in a request", () => [60, 120, 126, 130].map((d) => tried(() => deepCall(d)))],
  ["a deep schema", () => [50, 100, 200].map((d) => tried(() => chat.grammar('{"items":'.repeat(d) + "{}" + "}".repeat(d))))],
  ["a schema of itself", () => chat.grammar({ $ref: "#" })],
  ["a deep output", () => output('<tool_call>\n{"name": "weather", "arguments": ' + "[".repeat(DEEP))],
  ["an output of markers", () => output("<tool_call>\n".repeat(10_000) + "<think>".repeat(10_000))],
  ["a deep pattern", () => chat.grammar({ type: "string", pattern: "(".repeat(10_000) + ")".repeat(10_000) })],
  ["a grammar of nested groups", () => chat.check(`root ::= ${"(".repeat(10_000)}"a"${")".repeat(10_000)}`, "a")],
]);

/** @param {() => unknown} work */
function tried(work) {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ChatError) || error.kind === "internal") throw error;
    return error.kind;
  }
}

/** @param {number} depth */
function deepCall(depth) {
  const call = { type: "function", function: { name: "f", arguments: JSON.stringify({ x: JSON.parse(nested(depth)) }) } };
  const template = chat.builtin("json-call");
  return template.params({ messages: [{ role: "user", content: "x" }, { role: "assistant", content: "", tool_calls: [call] }] }).prompt;
}

/** @param {string} text */
function output(text) {
  const stream = chat.builtin("json-call").params(REQUEST).stream();
  for (let i = 0; i < text.length; i += 1000) stream.feed(text.slice(i, i + 1000));
  stream.finish();
  const message = stream.message();
  assert.ok(message.content.length + message.reasoning.length + message.toolCalls.length > 0);
  return message.report;
}

for (const [name, work] of CASES) {
  test(`${name} is no trap`, needsModule, () => {
    tried(work);
    assert.ok(chat.builtins.length > 0);
  });
}
