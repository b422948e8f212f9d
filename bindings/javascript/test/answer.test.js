import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ChatError } from "../src/node.js";
import { PIECES, REQUEST, chat, needsModule } from "./support.js";

/** @import { Answer } from "../src/answer.js" */

const [{ function: TOOL }] = REQUEST.tools;
const MESSAGES = { model: "m", max_tokens: 99, messages: REQUEST.messages, tools: [{ name: TOOL.name, input_schema: TOOL.parameters }] };
const RESPONSES = { model: "m", input: "Hi", tools: [{ type: "function", ...TOOL }] };
const CHAT = { ...REQUEST, stream_options: { include_usage: true } };
const USAGE = { input_tokens: 5, output_tokens: 7 };

/** All events of an answer, the same as text, and the message. @param {Answer} answer */
function streamed(answer) {
  const stream = chat.builtin("json-call").params(answer.request).stream();
  const events = answer.begin(5);
  let sse = answer.sse();
  for (const piece of [...PIECES, undefined]) {
    if (piece === undefined) stream.finish();
    else stream.feed(piece);
    events.push(...answer.deltas(stream));
    sse += answer.sse();
  }
  const message = stream.message();
  events.push(...answer.finish(message, { usage: USAGE }));
  return { events, sse: sse + answer.sse(), message };
}

for (const [api, body] of /** @type {const} */ ([["chat_completions", CHAT], ["responses", RESPONSES], ["messages", MESSAGES]])) {
  test(`an answer of ${api} as events and as a body`, needsModule, () => {
    const answer = chat.answer(api, body, { id: "a1", created: 7 });
    const { events, sse, message } = streamed(answer);
    assert.equal(sse, events.map(({ name, data }) => `${name && `event: ${name}\n`}data: ${data}\n\n`).join(""));
    for (const { data } of events) if (data !== "[DONE]") JSON.parse(data);
    const whole = JSON.parse(answer.body(message, { usage: USAGE }));
    assert.equal(whole.id, "a1");
    assert.match(JSON.stringify(whole), /Oslo/);
    assert.deepEqual(JSON.parse(chat.answer(api, JSON.stringify(body), { id: "a1", created: 7 }).body(message, { usage: USAGE })), whole);
    assert.throws(() => answer.begin(), { kind: "argument" });
  });
}

test("each API has its own events and fields", needsModule, () => {
  const completions = streamed(chat.answer("chat_completions", CHAT, { seed: 1, choice: 2 })).events;
  assert.deepEqual(completions.at(-1), { name: "", data: "[DONE]" });
  assert.equal(JSON.parse(completions[0].data).choices[0].index, 2);
  assert.equal(JSON.parse(completions[completions.length - 2].data).usage.completion_tokens, 7);
  const responses = streamed(chat.answer("responses", RESPONSES)).events;
  assert.deepEqual([responses[0].name, responses.at(-1)?.name], ["response.created", "response.completed"]);
  const answer = chat.answer("messages", MESSAGES, { model: "other", call_id_prefix: "toolu_" });
  const { events, message } = streamed(answer);
  assert.deepEqual([events[0].name, events.at(-1)?.name], ["message_start", "message_stop"]);
  assert.equal(JSON.parse(events[0].data).message.usage.input_tokens, 5);
  const body = JSON.parse(answer.body(message, { reason: "length" }));
  assert.deepEqual([body.model, body.stop_reason, body.content.at(-1).id.startsWith("toolu_")], ["other", "max_tokens", true]);
});

test("an answer can be broken off", needsModule, () => {
  const answer = chat.answer("messages", MESSAGES);
  answer.begin();
  assert.deepEqual(answer.ping().map(({ name }) => name), ["ping"]);
  const [event] = answer.fail(529, "too busy");
  assert.deepEqual([event.name, JSON.parse(event.data).error.type], ["error", "overloaded_error"]);
  const other = chat.answer("chat_completions", REQUEST);
  other.begin();
  assert.deepEqual([other.ping(), other.sse()], [[], ""]);
  assert.throws(() => other.fail(200, "fine"), { kind: "argument", message: /http_status/ });
});

test("what is wrong is refused, in the words of the API", needsModule, () => {
  assert.throws(
    () => chat.answer("responses", { input: [{ type: "none" }] }),
    (error) => error instanceof ChatError && error.httpStatus === 400 && JSON.parse(error.body("responses")).error.param === "input[0].type",
  );
  assert.throws(() => chat.builtin("none"), (error) => error instanceof ChatError && JSON.parse(error.body("messages")).type === "error");
  assert.equal(new ChatError("argument", "mine").body("messages"), "");
  const answer = chat.answer("responses", RESPONSES);
  const stream = chat.builtin("json-call").params(answer.request).stream();
  assert.throws(() => answer.deltas(stream), { kind: "argument" });
  answer.begin();
  assert.throws(() => answer.finish(stream.message(), /** @type {any} */ ({ reason: "because" })), { kind: "argument", message: /reason/ });
  assert.throws(() => chat.answer(/** @type {any} */ ("none"), {}), { kind: "argument" });
});

test("the README's answer", needsModule, () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const [, code] = [...readme.matchAll(/```js\n([^]*?)```/g)].map(([, code]) => code);
  let sent = "";
  const send = (/** @type {string} */ text) => (sent += text);
  new Function("chat", "template", "body", "pieces", "send", code)(chat, chat.builtin("json-call"), MESSAGES, PIECES, send);
  assert.match(sent, /^event: message_start[^]*tool_use[^]*message_stop/);
});
