import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ChatError } from "../src/node.js";
import { REQUEST, applied, chat, needsModule } from "./support.js";

const open = { sequence: [{ literal: "[" }, { tag: ["tool-name", { literal: "weather" }] }, { literal: "]" }] };
const close = { tag: ["tool-close", { literal: "[/weather]" }] };
const call = { sequence: [{ atomic: { tag: ["tool-open", open] } }, { tag: ["tool-args", "json"] }, close] };
const FORMAT = { sequence: [{ tag: ["content", { until: ["[weather]"] }] }, { repeat: [call, 0, 1] }, "end"] };
const OUTPUT = 'I look. [weather]{"city": "Oslo"}[/weather]';

/** The parser of a format with this root. @param {unknown} root @param {object} [more] */
const parserOf = (root, more) => chat.parser({ format: { root }, ...more });

test("a format of one's own parses, streams and constrains", needsModule, () => {
  const parser = parserOf(FORMAT);
  const { toolCalls, content, status, tree } = parser.parse(OUTPUT);
  assert.deepEqual([content, status, toolCalls.length, tree], ["I look. ", "complete", 1, null]);
  const [{ name, complete, origin, ...made }] = toolCalls;
  assert.deepEqual([name, made.arguments, complete, origin], ["weather", '{"city": "Oslo"}', true, "format"]);
  const stream = parser.stream();
  const deltas = [...OUTPUT].flatMap((letter) => stream.feed(letter));
  assert.equal(applied([...deltas, ...stream.finish()]).calls[0].arguments, '{"city": "Oslo"}');
  const { text } = parser.grammar();
  assert.deepEqual([chat.check(text, OUTPUT), chat.check(text, "[weather]x")], ["allowed", "refused"]);
  assert.equal(parser.parse("[weather]x").status, "recovered");
  assert.deepEqual(chat.parser(parser.text).parse(OUTPUT).toJSON(), parser.parse(OUTPUT).toJSON());
});

const TURN = {
  edges: [["prompt", '<{"name": "', "call"], ["call", ">", "end"]],
  calls: [{ pieces: ["name", { glue: '", "arguments": ' }, { arguments: { quoted: false } }], close: "}" }],
};
/** A node, a text that it matches, and one that it does not. */
const CASES = /** @type {[string, unknown, string, string][]} */ ([
  ["literal", { literal: 'a"\\é日😀' }, 'a"\\é日😀', "a"],
  ["sequence and choice", { sequence: [{ literal: "a" }, { choice: [{ literal: "b" }, { literal: "c" }] }] }, "ac", "ad"],
  ["class", { char: "[^\\x00-\\x1F]" }, "a", "\n"],
  ["value", "python_dict", "{'a': [True, None]}", "[1]"],
  ["schema", { schema: { name: "number", child: "json", schema: { document: { type: "integer" } } } }, "7", "}"],
  ["calls", { calls: { request: REQUEST, turn: TURN } }, '<{"name": "weather", "arguments": {"city": "Oslo"}}>', "<{}>"],
]);
for (const [name, root, good, bad] of CASES) {
  test(`node: ${name}`, needsModule, () => {
    const parser = parserOf({ sequence: [root, "end"] });
    assert.deepEqual([good, bad].map((text) => parser.tagged(text).tree?.outcome), ["matched", "failed"]);
    assert.equal(chat.check(parser.grammar().text, good), "allowed");
  });
}

test("a prefill, and triggers", needsModule, () => {
  const format = { sequence: [{ literal: "<" }, { tag: ["content", { until: [] }] }] };
  assert.equal(parserOf(format, { prefill: "<" }).parse("a").content, "a");
  const mark = { rule: { name: "mark", trigger: true, child: { sequence: [{ literal: "<" }, { until: [] }] } } };
  const { text } = parserOf({ sequence: [{ until: ["<"] }, mark] }).grammar({ lazy: true });
  assert.deepEqual([chat.check(text, "<a"), chat.check(text, "a<")], ["allowed", "refused"]);
});

test("what is no format is refused", needsModule, () => {
  const cases = /** @type {[unknown, RegExp][]} */ ([[{ ref: "nowhere" }, /nowhere/], ["nothing", /nothing/], [{ char: "[z-a]" }, /z-a/], [7, /root/]]);
  for (const [root, message] of cases) {
    assert.throws(() => parserOf(root), (error) => error instanceof ChatError && error.kind === "argument" && message.test(error.message));
  }
  const deep = Array.from({ length: 1000 }, (_, below) => ({ atomic: below }));
  assert.throws(() => chat.parser({ format: { root: 1000, nodes: ["end", ...deep] } }), { kind: "limit" });
  const wide = Array.from({ length: 5000 }, () => ({ literal: "ab" }));
  assert.equal(parserOf({ sequence: wide }).tagged("ab".repeat(5000)).tree?.outcome, "matched");
});

test("a tree has nodes with their names", needsModule, () => {
  const parser = parserOf({ rule: { name: "turn", child: { sequence: [{ literal: "é" }, { tag: ["all", FORMAT] }] } } });
  const message = parser.tagged("é" + OUTPUT);
  const { tree } = message;
  assert.deepEqual([tree?.outcome, tree?.end], ["matched", OUTPUT.length + 2]);
  const nodes = tree?.nodes ?? [];
  assert.deepEqual(nodes[0], { rule: "turn", begin: 0, end: OUTPUT.length + 2, parent: null, partial: false });
  assert.deepEqual([nodes[1].tag, nodes[1].begin, nodes[1].parent], ["all", 2, 0]);
  const tags = nodes.slice(2).flatMap(({ tag }) => tag ?? []);
  assert.deepEqual(tags, ["content", "tool-open", "tool-name", "tool-args", "tool-close"]);
  assert.equal(message.toolCalls[0].name, "weather");
});

test("a text that is cut off or does not match has a tree, too", needsModule, () => {
  const parser = parserOf(FORMAT);
  const cut = parser.tagged(new TextEncoder().encode(OUTPUT.slice(0, 30)), { partial: true });
  assert.deepEqual([cut.tree?.outcome, cut.tree?.end, cut.tree?.nodes.at(-1)?.partial, cut.status], ["partial", 30, true, "partial"]);
  const wrong = parser.tagged("[weather]x");
  assert.deepEqual([wrong.tree, wrong.status], [{ outcome: "failed", end: 9, nodes: [] }, "recovered"]);
  assert.throws(() => parser.tagged("abc", { from: 99 }), { kind: "argument" });
  assert.equal(parser.tagged(`xx${OUTPUT}`, { from: 2 }).tree?.nodes[0].begin, 2);
});

test("the README's format", needsModule, () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const [, , code] = [...readme.matchAll(/```js\n([^]*?)```/g)].map(([, code]) => code);
  const made = new Function("chat", `${code}; return parser`)(chat);
  assert.equal(made.parse(OUTPUT).toolCalls[0].arguments, '{"city": "Oslo"}');
});
