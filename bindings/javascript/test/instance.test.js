import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { ChatError, load } from "../src/node.js";
import { REQUEST, chat, needsModule } from "./support.js";

const own = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));
const WASM = new URL("../chatparse.wasm", import.meta.url);

test("the package has the version of its module", needsModule, () => assert.equal(chat.version, own.version));

test("errors say what and where", needsModule, () => {
  const cases = [
    [() => chat.template("a\n{% if %}"), "template", /line 2/],
    [() => chat.template("x", /** @type {any} */ ({ bso: "" })), "argument", /bso/],
    [() => chat.builtin("none"), "argument", /chatml/],
    [() => chat.builtin("chatml").params({ messages: [{ role: "user" }, 7] }), "argument", /messages\[1\]/],
    [() => chat.grammar({ type: "object", properties: { a: { type: "nothing" } } }), "schema", /#\/properties\/a/],
    [() => chat.template(" ".repeat(2 ** 21)), "limit", /./],
    [() => chat.template(/** @type {any} */ (undefined)), "argument", /a text is expected/],
    [() => chat.template(/** @type {any} */ (7)), "argument", /a text is expected/],
    [() => chat.builtin("chatml").params(REQUEST).parse("").spans("content", /** @type {any} */ (1n)), "argument", /BigInt/],
    [() => chat.builtin("chatml").params(REQUEST).stream().rollback(/** @type {any} */ (undefined)), "argument", /rollback/],
    [() => chat.builtin("chatml").params(REQUEST).stream().feed(/** @type {any} */ (7)), "argument", /a text or a Uint8Array/],
    [() => chat.builtin("chatml").params(REQUEST).parse(/** @type {any} */ (null)), "argument", /a text or a Uint8Array/],
    [() => chat.grammar({}, /** @type {any} */ ({ style: "none" })), "argument", /style/],
  ];
  for (const [call, kind, message] of /** @type {[() => unknown, string, RegExp][]} */ (cases)) {
    assert.throws(call, (error) => error instanceof ChatError && error.kind === kind && message.test(error.message));
  }
});

test("what has been freed is refused, and freed once", needsModule, () => {
  const template = chat.builtin("chatml");
  const params = template.params(REQUEST);
  template.free();
  template.free();
  assert.throws(() => template.source, { kind: "argument", message: "this Template has been freed" });
  assert.equal(params.parse("Hi").content, "Hi");
  if (Symbol.dispose) params[Symbol.dispose]();
  else params.free();
  assert.throws(() => params.prompt, { kind: "argument" });
});

test("memory comes back", needsModule, async () => {
  const other = await load(await readFile(WASM));
  const template = other.builtin("json-call");
  /** @param {number} times */
  const work = (times) => {
    for (let i = 0; i < times; i++) {
      const params = template.params(REQUEST);
      const stream = params.stream();
      stream.feed("x".repeat(100_000));
      const message = stream.message();
      for (const handle of [message, stream, params]) handle.free();
    }
    return memory(other);
  };
  assert.equal(work(20), work(200));
});

test("a trap ends the instance, and not others", needsModule, async () => {
  const other = await load(await WebAssembly.compile(await readFile(WASM)));
  const template = other.builtin("chatml");
  // An address that is none stands for a defect of the library.
  Object.defineProperty(template, "pointer", { value: 0xfffffff0 });
  assert.throws(() => template.source, { name: "ChatError", kind: "internal", message: /load another/ });
  assert.throws(() => other.builtins, { kind: "internal", message: /has stopped/ });
  assert.throws(() => other.builtin("x".repeat(10_000_000)), { kind: "internal" });
  template.free();
  assert.ok(chat.builtins.length > 0);
  assert.deepEqual((await load()).builtins, chat.builtins);
});

/** The size of an instance's memory in bytes. @param {import("../src/node.js").Chatparse} instance */
function memory(instance) {
  const template = instance.builtin("chatml");
  const { length } = template.wasm.bytes;
  template.free();
  return length;
}
