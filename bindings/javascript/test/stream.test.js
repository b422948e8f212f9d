import assert from "node:assert/strict";
import { test } from "node:test";
import { PIECES, REQUEST, applied, chat, needsModule } from "./support.js";

const OUTPUT = `<think>\nHm, æøå 日本 😀.</think>\n${PIECES.join("")}`;
const params = () => chat.builtin("json-call").params(REQUEST);

test("deltas make the message, as OpenAI has it", needsModule, () => {
  const stream = params().stream();
  const deltas = PIECES.flatMap((piece) => stream.feed(piece));
  deltas.push(...stream.finish());
  const message = stream.message();
  assert.deepEqual(applied(deltas), {
    reasoning: "",
    content: message.content,
    calls: [{ name: "weather", id: "", arguments: '{"city": "Oslo"}', whole: true }],
  });
  assert.equal(deltas.filter((delta) => delta.kind === "tool_end").length, 1);
  assert.equal(stream.status, "complete");
  const [call] = message.toolCalls;
  assert.deepEqual(call, {
    id: "",
    name: "weather",
    arguments: '{"city": "Oslo"}',
    complete: true,
    known: true,
    valid: true,
    origin: "format",
  });
  assert.equal(message.toJSON().tool_calls?.[0].function.name, "weather");
  assert.equal(JSON.parse(JSON.stringify(message)).role, "assistant");
});

test("the message is the same however the output is cut, as text and as bytes", needsModule, () => {
  const whole = params().parse(OUTPUT);
  assert.match(whole.reasoning, /日本 😀/);
  const bytes = new TextEncoder().encode(OUTPUT);
  for (const step of [1, 2, 3, 7, 100, 1000]) {
    for (const output of [OUTPUT, bytes]) {
      const stream = params().stream();
      const deltas = [];
      for (let i = 0; i < output.length; i += step) deltas.push(...stream.feed(output.slice(i, i + step)));
      deltas.push(...stream.finish());
      const { reasoning, content, calls } = applied(deltas);
      assert.deepEqual(stream.message().toJSON(), whole.toJSON());
      assert.deepEqual([reasoning, content, calls.length], [whole.reasoning, whole.content, 1]);
    }
  }
});

test("half a character of a text waits for the other, and stands alone where none comes", needsModule, () => {
  const stream = params().stream();
  assert.deepEqual(stream.feed("\ud83d"), []);
  assert.equal(stream.clone().feed("\ude00")[0].text, "😀");
  assert.equal(stream.feed(new TextEncoder().encode("!"))[0].text, "\ufffd!");
  assert.deepEqual(stream.feed("\ud83d"), []);
  assert.equal(applied(stream.finish()).content, "\ufffd");
});

test("long texts, and texts that are not ASCII, cross whole", needsModule, () => {
  for (const text of ["é".repeat(47), "x".repeat(48) + "é", "a\0b\ufeffc", "y".repeat(300_000), "日".repeat(100_000)]) {
    assert.equal(params().parse(text).content, text);
    const stream = params().stream();
    assert.equal(applied([...stream.feed(text), ...stream.finish()]).content, text);
  }
});

test("an output is read from pieces as they come", needsModule, async () => {
  const seen = [];
  async function* pieces() {
    yield* PIECES;
  }
  const stream = params().stream();
  for await (const delta of stream.read(pieces())) seen.push(delta);
  assert.equal(applied(seen).calls[0].name, "weather");
  assert.equal(stream.status, "complete");
  const cut = params().stream();
  for await (const delta of cut.read(PIECES.slice(0, 3), { partial: true })) assert.ok(delta.kind);
  assert.equal(cut.status, "partial");
  assert.equal(cut.message().toolCalls[0].complete, false);
});

test("a draft is taken back", needsModule, () => {
  const stream = params().stream();
  const draft = stream.feed("I will");
  stream.checkpoint();
  draft.push(...stream.feed(" look."), ...PIECES.slice(1).flatMap((piece) => stream.feed(piece)));
  draft.push(...stream.rollback("I will look".length));
  assert.deepEqual(applied(draft), { reasoning: "", content: "I will look", calls: [] });
  assert.throws(() => stream.rollback(1), { name: "ChatError", kind: "argument" });
  assert.equal(applied(stream.feed(" up")).content, " up");
});

test("where an output stands, what closes it, and what may follow", needsModule, () => {
  const { tools, messages } = structuredClone(REQUEST);
  const { parameters } = tools[0].function;
  Object.assign(parameters.properties, { days: { type: "integer" } });
  parameters.required.push("days");
  const stream = chat.builtin("json-call").params({ messages, tools }).stream();
  stream.feed("<think>\nWhere is it");
  assert.equal(stream.state().part, "reasoning");
  const end = stream.close();
  assert.deepEqual([end.complete, end.text.trim()], [true, "</think>"]);
  stream.feed(`${end.text}<tool_call>\n{"name": "weather", "arguments": {"city": "Os`);
  const call = { part: "value", call: 0, tool: "weather", pointer: "/city", in_string: true, left_at: null };
  assert.deepEqual(stream.state(), call);
  assert.deepEqual(stream.schema(), { type: "string" });
  const closing = stream.close();
  assert.deepEqual([closing.complete, closing.missing], [false, [{ tool: "weather", pointer: "/days", begun: false }]]);
  assert.match(closing.reason, /\/days/);
  assert.match(stream.grammar("lark").text, /days/);
  stream.feed(`${closing.text}2`);
  assert.deepEqual(stream.close(), { text: "}}\n</tool_call>", complete: true, missing: [], reason: "" });
});

test("a prompt of the host's own is gone on with", needsModule, () => {
  const template = chat.builtin("json-call");
  const stream = template.paramsFor("<|im_start|>assistant\n<think>\nLet me", { messages: [], tools: REQUEST.tools }).stream();
  stream.feed(" see.\n</think>\n\nNo. <tool_");
  assert.equal(stream.message().reasoning, "Let me see.\n");
  assert.match(new TextDecoder().decode(stream.pending), /<tool_$/);
  stream.finish();
  assert.equal(stream.pending.length, 0);
  assert.equal(template.paramsFor("Hi").parse("Hello").content, "Hello");
});

test("what a special token did not write is text", needsModule, () => {
  const marked = (/** @type {boolean} */ isToken) => {
    const stream = params().stream({ specialTokens: ["<think>", "</think>", "<tool_call>", "</tool_call>"] });
    stream.feedMarked("<think>", [{ begin: 0, end: 7 }]);
    stream.feedMarked("I close it with </think>, é. ", isToken ? [{ begin: 16, end: 24 }] : []);
    stream.feedMarked("</think>Done.", [{ begin: 0, end: 8 }]);
    stream.finish();
    return stream.message();
  };
  assert.match(marked(false).reasoning, /<\/think>, é/);
  assert.equal(marked(false).content, "Done.");
  assert.match(marked(true).reasoning, /^I close it with ?$/);
  const stream = params().stream({ specialTokens: ["</think>"] });
  assert.throws(() => stream.feedMarked("ab", [{ begin: 1, end: 3 }]), { kind: "argument" });
  assert.throws(() => params().stream().feedMarked("ab", []), { kind: "argument" });
  assert.throws(() => params().stream({ specialTokens: [""] }), { kind: "argument" });
});

test("streams are cloned, reset and bounded", needsModule, () => {
  const stream = params().stream();
  stream.feed(PIECES[0]);
  const other = stream.clone();
  other.feed(PIECES.slice(1).join(""));
  assert.equal(other.message().toolCalls.length, 1);
  assert.deepEqual(stream.message().toolCalls, []);
  assert.ok(other.work > stream.work && stream.work > 0);
  stream.reset();
  assert.deepEqual(stream.chunk(), {});
  stream.setBudget(1, 0);
  stream.feed(OUTPUT);
  stream.finish();
  assert.ok(stream.message().report.diagnostics.some(({ kind }) => kind === "limit"));
  assert.throws(() => stream.feed("more"), { kind: "argument", message: /finished/ });
});

test("chunks are OpenAI's", needsModule, () => {
  const stream = params().stream();
  stream.feed(PIECES.join(""));
  const chunk = stream.chunk();
  assert.match(String(chunk.content), /^I will look\./);
  assert.equal(/** @type {any} */ (chunk.tool_calls)[0].function.name, "weather");
});

test("what a message came from, and how well it fitted", needsModule, () => {
  const message = params().parse(OUTPUT + "\nAnd more.");
  const bytes = new TextEncoder().encode(OUTPUT);
  const shown = (/** @type {{ begin: number, end: number }[]} */ spans) =>
    spans.map(({ begin, end }) => new TextDecoder().decode(bytes.subarray(begin, end))).join("");
  assert.equal(shown(message.spans("tool_name")), "weather");
  assert.equal(shown(message.spans("tool_arguments", 0)), '{"city": "Oslo"}');
  assert.equal(shown(message.spans("reasoning")), message.reasoning);
  assert.deepEqual(message.spans("tool_name", 1), []);
  assert.ok(message.parts.some(({ kind, call }) => kind === "call" && call === 0));
  assert.equal(message.report.status, message.status);
  assert.throws(() => params().stream().finish({ partial: true }) && params().parse("<tool_call>x", { strict: true }), {
    kind: "parse",
  });
});
