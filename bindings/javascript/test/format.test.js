import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ChatError, Expr } from "../src/node.js";
import { REQUEST, applied, chat, needsModule } from "./support.js";

/** @import { Like } from "../src/expr.js" */

const open = Expr.sequence("[", Expr.literal("weather").tag("tool_name"), "]").tag("tool_open");
const close = Expr.literal("[/weather]").tag("tool_close");
const call = Expr.sequence(open.atomic(), Expr.json().tag("tool_arguments"), close);
const FORMAT = Expr.until("[weather]").tag("content").then(call.optional(), Expr.end());
const OUTPUT = 'I look. [weather]{"city": "Oslo"}[/weather]';

test("a format of one's own parses, streams and constrains", needsModule, () => {
  const parser = chat.parserOf(FORMAT);
  const { toolCalls, content, status } = parser.parse(OUTPUT);
  assert.deepEqual([content, status, toolCalls.length], ["I look. ", "complete", 1]);
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
/** An expression, a text that it matches, and one that it does not. */
const CASES = /** @type {[string, Like, string, string?][]} */ ([
  ["literal", 'a"\\é日😀', 'a"\\é日😀', "a"],
  ["sequence and choice", Expr.sequence("a", Expr.literal("b").or("c")), "ac", "ad"],
  ["until", Expr.until("b", "cc").then("cc"), "acc", "abc"],
  ["until the end", Expr.until(), "all of it"],
  ["character", Expr.character(["az", "😀"]), "😀", "A"],
  ["no such character", Expr.character(["az", "äé"], { without: true }), "A", "ä"],
  ["any character", Expr.character([], { without: true }), "日", ""],
  ["class", Expr.charClass("[^\\x00-\\x1F]"), "a", "\n"],
  ["repeat", Expr.literal("x").repeat(2, 3), "xxx", "xxxx"],
  ["repeat without end", Expr.literal("x").repeat(1), "xxxx", ""],
  ["string body", Expr.sequence("'", Expr.stringBody("'"), "'"), "'a\\'b'", "'a"],
  ["start and space", Expr.start().then(Expr.space(), "a"), " a", "b"],
  ["ahead", Expr.literal("a").ahead().then(Expr.until()), "ab", "b"],
  ["not ahead", Expr.literal("a").notAhead().then(Expr.until()), "b", "ab"],
  ["value", Expr.value("python_dict"), "{'a': [True, None]}", "[1]"],
  ["json", Expr.json({ type: "integer" }, "number"), "7", "}"],
  ["rule and reference", Expr.sequence("(", Expr.reference("r").or("x"), ")").rule("r"), "((x))", "((x)"],
  ["schema", Expr.until().withSchema("number", { type: "integer" }, { raw: true }), "7"],
  ["gbnf", Expr.charClass("[0-9]").repeat(1).withGbnf("[0-9]+"), "42", "x"],
  ["excluding", Expr.until("b").then("b").excluding("b"), "ab", "ac"],
  ["label", Expr.until().label("content"), "a"],
  ["calls", Expr.calls(REQUEST, TURN), '<{"name": "weather", "arguments": {"city": "Oslo"}}>', "<{}>"],
]);
for (const [name, expr, good, bad] of CASES) {
  test(`expression: ${name}`, needsModule, () => {
    const parser = chat.parserOf(Expr.sequence(expr, Expr.end()));
    assert.equal(parser.tree(good).match, "matched");
    if (bad !== undefined) assert.equal(parser.tree(bad).match, "failed");
    assert.equal(chat.check(parser.grammar().text, good), "allowed");
  });
}

test("rules that only references mention, triggers, and a prefill", needsModule, () => {
  const name = Expr.charClass("[a-z]").repeat(1).rule("name");
  const parser = chat.parserOf(Expr.sequence("<", Expr.reference("name"), ">"), { prefill: "<", rules: ["unused", name, name] });
  assert.equal(parser.tree("<abc>").match, "matched");
  assert.match(parser.grammar().text, /^name ::=/m);
  const mark = Expr.sequence("<", Expr.until()).rule("mark", { trigger: true });
  const { text } = chat.parserOf(Expr.until("<").then(mark)).grammar({ lazy: true });
  assert.deepEqual([chat.check(text, "<a"), chat.check(text, "a<")], ["allowed", "refused"]);
});

test("what is no format is refused", needsModule, () => {
  const wrong = /** @type {any} */ (7);
  const cases = /** @type {[() => unknown, RegExp][]} */ ([
    [() => chat.parserOf(Expr.reference("nowhere")), /nowhere/],
    [() => chat.parserOf(Expr.json("{")), /chat_expr_json/],
    [() => chat.parserOf(Expr.until("")), /empty/],
    [() => chat.parserOf(wrong), /an expression or a text/],
    [() => chat.parserOf(Expr.sequence("a", wrong)), /./],
    [() => chat.parserOf(Expr.literal(wrong)), /a text is expected/],
    [() => Expr.character(["abc"]), /no range/],
    [() => Expr.stringBody("«"), /no quote/],
    [() => Expr.literal("a").repeat(-1), /no number of times/],
    [() => Expr.literal("a").repeat(0, 2 ** 32), /no number of times/],
    [() => chat.parserOf(Expr.end().tag(wrong)), /./],
  ]);
  for (const [work, message] of cases) {
    assert.throws(work, (error) => error instanceof ChatError && error.kind === "argument" && message.test(error.message), String(work));
  }
});

test("a format as deep and as wide as it may be", needsModule, () => {
  let deep = Expr.end();
  for (let i = 0; i < 100_000; i++) deep = deep.atomic();
  assert.throws(() => chat.parserOf(deep), { kind: "limit" });
  const wide = Array.from({ length: 5000 }, () => "ab");
  assert.equal(chat.parserOf(Expr.sequence(...wide)).tree("ab".repeat(5000)).match, "matched");
  let twice = Expr.literal("a");
  for (let i = 0; i < 10; i++) twice = twice.atomic().then(twice.atomic());
  assert.equal(chat.parserOf(twice).tree("a".repeat(1024)).match, "matched");
  // Lists that make the host's memory move while they are passed.
  const markers = Array.from({ length: 300 }, (_, i) => "x".repeat(1000) + i);
  assert.equal(chat.parserOf(Expr.until(...markers).then(markers[299])).tree(`a${markers[299]}`).match, "matched");
});

test("a tree has nodes with their texts", needsModule, () => {
  const tree = chat.parserOf(Expr.sequence("é", FORMAT.label("all")).rule("turn")).tree("é" + OUTPUT);
  assert.deepEqual([tree.match, tree.end], ["matched", OUTPUT.length + 2]);
  const { nodes } = tree;
  assert.deepEqual(nodes[0], { name: "turn", rule: true, begin: 0, end: OUTPUT.length + 2, parent: null, partial: false });
  assert.deepEqual([nodes[1].name, nodes[1].begin, nodes[1].parent], ["all", 2, 0]);
  const tags = nodes.slice(2).filter(({ rule }) => !rule);
  assert.deepEqual(tags.map(({ name }) => name), ["content", "tool-open", "tool-name", "tool-args", "tool-close"]);
  assert.equal(tree.text(tags[2]), "weather");
  assert.equal(tree.message().toolCalls[0].name, "weather");
});

test("a text that is cut off or does not match has a tree, too", needsModule, () => {
  const parser = chat.parserOf(FORMAT);
  const cut = parser.tree(new TextEncoder().encode(OUTPUT.slice(0, 30)), { partial: true });
  assert.deepEqual([cut.match, cut.end, cut.nodes.at(-1)?.partial, cut.message().status], ["partial", 30, true, "partial"]);
  const wrong = parser.tree("[weather]x");
  assert.deepEqual([wrong.match, wrong.nodes, wrong.end], ["failed", [], 9]);
  assert.throws(() => wrong.message(), { kind: "parse", httpStatus: 500 });
  assert.throws(() => parser.tree("abc", { from: 99 }), { kind: "argument" });
  assert.equal(parser.tree(`xx${OUTPUT}`, { from: 2 }).nodes[0].begin, 2);
});

test("the README's format", needsModule, () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const [, , code] = [...readme.matchAll(/```js\n([^]*?)```/g)].map(([, code]) => code);
  const made = new Function("chat", "Expr", `${code.replace(/^import .*$/m, "")}; return parser`)(chat, Expr);
  assert.equal(made.parse(OUTPUT).toolCalls[0].arguments, '{"city": "Oslo"}');
});
