import assert from "node:assert/strict";
import { test } from "node:test";
import { PIECES, REQUEST, chat, needsModule } from "./support.js";

const SCHEMA = { type: "object", properties: { age: { type: "integer", minimum: 1 } }, required: ["age"], additionalProperties: false };

test("a grammar allows what its schema allows", needsModule, () => {
  const { text } = chat.grammar(SCHEMA);
  assert.equal(chat.check(text, '{"age": 7}'), "allowed");
  assert.equal(chat.check(text, '{"age": '), "prefix");
  assert.equal(chat.check(text, '{"age": 0}'), "refused");
  assert.notEqual(chat.grammar(JSON.stringify(SCHEMA), { style: "llama.cpp" }).text, text);
  assert.match(chat.grammar(SCHEMA).as("lark").text, /start/);
});

test("a grammar reports where it differs from its schema", needsModule, () => {
  const [departure] = chat.grammar({ type: "array", uniqueItems: true }).report;
  assert.deepEqual([departure.kind, departure.pointer.startsWith("#")], ["widened", true]);
  assert.ok(departure.message.length > 0);
});

test("a grammar is put together", needsModule, () => {
  const builder = chat.grammarBuilder();
  const person = builder.addSchema("person", SCHEMA);
  const open = builder.addLiteral("open", '<"é">');
  assert.equal(builder.addRule("root", `${open} ${person}`), "root");
  assert.equal(chat.check(String(builder.build()), '<"é">{"age": 30}'), "allowed");
  assert.throws(() => builder.addRule("bad", '"open'), { kind: "argument" });
});

test("a matcher says what may come next, and what must", needsModule, () => {
  const bytes = (/** @type {string} */ text) => new TextEncoder().encode(text);
  const matcher = chat.matcher('root ::= "say " ("yes" | "yellow" | "é")');
  assert.deepEqual([matcher.forced, matcher.allowed, matcher.mayEnd], [bytes("say "), bytes("s"), false]);
  assert.equal(matcher.feed("say "), 4);
  assert.deepEqual([matcher.forced, matcher.allowed], [bytes(""), Uint8Array.of(0x79, 0xc3)]);
  const before = matcher.clone();
  assert.deepEqual([matcher.can("yell"), matcher.can(bytes("yelp"))], [true, false]);
  assert.equal(matcher.feed(bytes("yes!")), 3);
  assert.deepEqual([matcher.mayEnd, matcher.ended, matcher.allowed.length], [true, true, 0]);
  const rest = chat.matcher(before.grammar("portable_gbnf").text);
  assert.equal(before.feed(Uint8Array.of(0xc3)), 1);
  assert.deepEqual(before.forced, Uint8Array.of(0xa9));
  assert.deepEqual([rest.can("é"), rest.can("say ")], [true, false]);
  assert.throws(() => chat.matcher('a ::= "b"'), { kind: "argument" });
});

test("the matcher of a request holds the output to its tools", needsModule, () => {
  const matcher = chat.builtin("json-call").params({ ...REQUEST, tool_choice: "required" }).matcher();
  assert.equal(matcher.feed('<tool_call>\n{"name": "w'), 23);
  assert.equal(matcher.can("et"), false);
  assert.match(new TextDecoder().decode(matcher.forced), /^eather/);
  const free = chat.builtin("chatml").params({ messages: REQUEST.messages }).matcher();
  assert.deepEqual([free.feed("anything"), free.forced.length, free.mayEnd, free.ended], [8, 0, true, false]);
});

test("a parser leaves as a text and comes back", needsModule, () => {
  const parser = chat.builtin("json-call").params(REQUEST).parser();
  const copy = chat.parser(parser.text);
  assert.deepEqual(copy.parse(PIECES.join("")).toJSON(), parser.parse(PIECES.join("")).toJSON());
  assert.equal(copy.stream().feed("Hi")[0].text, "Hi");
  assert.match(copy.grammar({ lazy: true }).text, /root ::=/);
  assert.throws(() => chat.parser("no parser"), { kind: "argument" });
});
