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

test("a parser leaves as a text and comes back", needsModule, () => {
  const parser = chat.builtin("json-call").params(REQUEST).parser();
  const copy = chat.parser(parser.text);
  assert.deepEqual(copy.parse(PIECES.join("")).toJSON(), parser.parse(PIECES.join("")).toJSON());
  assert.equal(copy.stream().feed("Hi")[0].text, "Hi");
  assert.match(copy.grammar({ lazy: true }).text, /root ::=/);
  assert.throws(() => chat.parser("no parser"), { kind: "argument" });
});
