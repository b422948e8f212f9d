import assert from "node:assert/strict";
import { test } from "node:test";
import { PIECES, REQUEST, chat, needsModule } from "./support.js";

const DATED = "{{ strftime_now('%Y-%m-%d') }}{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}";
const HI = { messages: [{ role: "user", content: "Hi" }] };

test("how well a template is read back", needsModule, () => {
  const { cases, read_back, failures } = chat.builtin("json-call").proof;
  assert.ok(cases > 20 && read_back === cases && failures.length === 0);
  // Its reasoning begins without a word, so an answer without reasoning reads like one with it.
  const silent = chat.builtin("tag-json").proof;
  assert.equal(silent.failures.length, silent.cases - silent.read_back);
  assert.equal(silent.failures[0].why, "the content, the reasoning");
});

test("what is learnt of a template", needsModule, () => {
  const template = chat.builtin("json-call");
  assert.equal(template.reader, "turn");
  assert.equal(template.layout.tools.format, "json_native");
  assert.equal(template.caps.supports_tools, true);
  assert.equal(template.lint.faults, 0);
  assert.match(template.turn?.call?.[0] ?? "", /‹name›.*‹arguments›/);
  const family = chat.template(chat.builtin("gpt-oss").source, { learn_only: true });
  assert.equal(family.reader, "turn");
  assert.ok(family.turn?.call?.length);
});

test("a prompt, and what a sampler must know", needsModule, () => {
  const params = chat.builtin("json-call").params(REQUEST);
  assert.ok(params.prompt.includes("Is it raining in Oslo?") && params.prompt.endsWith(params.generationPrompt));
  assert.equal(params.supportsThinking, true);
  assert.equal(params.endOfTurn, "<|im_end|>");
  assert.deepEqual([params.thinkingStartTag.trim(), params.thinkingEndTags.length > 0], ["<think>", true]);
  assert.equal(params.grammarLazy, true);
  assert.equal(params.grammarTriggers[0].kind, "word");
  assert.ok(params.preservedTokens.includes("<tool_call>"));
  assert.ok(Array.isArray(params.additionalStops));
  assert.match(params.grammar().text, /^root ::=/m);
  assert.match(params.grammar("lark").text, /start/);
  const json = params.toJSON();
  assert.deepEqual([json.prompt, json.format], [params.prompt, params.format]);
});

test("the clock is the platform's unless the request or the host says the time", needsModule, () => {
  const template = chat.template(DATED);
  const today = new Date().toISOString().slice(0, 10);
  const date = (/** @type {any} */ request, /** @type {any} */ options = undefined) => template.params(request, options).prompt.slice(0, 10);
  assert.ok([today, new Date().toISOString().slice(0, 10)].includes(date(HI)));
  assert.equal(date({ ...HI, now: 0 }), "1970-01-01");
  assert.equal(date(JSON.stringify({ ...HI, now: 86400 })), "1970-01-02");
  assert.equal(date({ ...HI, now: 0 }, { now: 172800 }), "1970-01-03");
  assert.equal(date(JSON.stringify({ messages: [{ role: "user", content: 'a "now" in a text' }] }), { now: 0 }), "1970-01-01");
  assert.equal(template.segments({ ...HI, now: 0 }).prompt.slice(0, 10), "1970-01-01");
});

test("numbers of a JSON text stay as they are written", needsModule, () => {
  const template = chat.template("{{ messages[0].tool_calls[0].function.arguments | tojson }}{{ messages[0].content }}");
  const call = '{"type":"function","function":{"name":"f","arguments":{"x":1.0,"y":12345678901234567890}}}';
  const params = template.params(`{"messages":[{"role":"assistant","content":"","tool_calls":[${call}]}]}`, { plain: true });
  assert.equal(params.prompt, '{"x": 1.0, "y": 12345678901234567890}');
});

test("the next turn goes on behind what was sent", needsModule, () => {
  const params = chat.builtin("json-call").params(REQUEST);
  const output = PIECES.join("");
  const after = params.next(output, [{ role: "tool", content: "Rain, é." }]);
  assert.equal(after.rewrite, null);
  assert.equal(after.kept, new TextEncoder().encode(params.prompt + output).length);
  assert.equal(after.prompt, params.prompt + output + after.append);
  assert.equal(after.parse("It rains.").content, "It rains.");
  const forgets = chat.template(
    "{% for m in messages %}<{{ m.role }}>{% if loop.last and m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}" +
      "{{ m.content }}<end>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}",
  );
  const next = forgets.params(HI).next("<think>Hm.</think>Hello<end>", [{ role: "user", content: "Bye" }]);
  assert.equal(next.rewrite?.reason, "reasoning");
  assert.ok(next.kept < forgets.params(HI).prompt.length + 10);
});

test("whose text a prompt is, and what models wrote of it", needsModule, () => {
  const request = { messages: [{ role: "user", content: "Si, é 😀 <|im_end|>" }, { role: "assistant", content: "Jå." }] };
  const segments = chat.builtin("chatml").segments(request);
  const list = segments.list;
  assert.equal(list.map(({ text }) => text).join(""), segments.prompt);
  assert.ok(list.every(({ begin, end }, i) => begin < end && begin === (i && list[i - 1].end)));
  const user = list.find(({ origin, index }) => origin === "message" && index === 0);
  assert.deepEqual([user?.text, user?.path], ["Si, é 😀 <|im_end|>", "/content"]);
  assert.deepEqual(segments.mask(["content"]).map(({ text }) => text), ["Jå."]);
  assert.match(segments.mask()[0].text, /^Jå\.<\|im_end\|>/);
  assert.deepEqual(segments.mask(["reasoning"], { lastOnly: true }), []);
  assert.equal(segments.limit, "");
});

test("what tokens are, of many requests", needsModule, () => {
  const said = [{ role: "user", content: "Hå 😀" }, { role: "assistant", content: "Né." }];
  const template = chat.builtin("chatml");
  const batch = template.segmentsBatch([{ messages: said }, JSON.stringify({ messages: said.slice(0, 1) })], { for_training: true });
  const [{ prompt }, first] = batch;
  assert.ok(prompt.startsWith(first.prompt) && first.prompt.endsWith("😀<|im_end|>\n"));
  const characters = [...prompt];
  const labels = batch[0].tokens(characters.map((_, i) => [i, i + 1]));
  assert.equal(characters.filter((_, i) => labels[i].sampled).join(""), "Né.<|im_end|>");
  assert.equal(characters.filter((_, i) => labels[i].origin === "message").join(""), "Hå 😀Né.");
  assert.deepEqual(labels[0], { origin: "template", message: null, sampled: false });
  const [{ begin, end }] = batch[0].mask(["content"]);
  assert.deepEqual(batch[0].tokens([[begin, end]], ["content"], { inBytes: true }), [{ origin: "message", message: 1, sampled: true }]);
  assert.deepEqual(batch[0].tokens([[begin, end]], ["calls"], { inBytes: true })[0].sampled, false);
  assert.deepEqual(batch[0].tokens([]), []);
  assert.throws(() => batch[0].tokens([[0, 1], [0, characters.length + 1]]), { kind: "argument", message: /offsets\[1\]/ });
  assert.throws(() => template.segmentsBatch([{ messages: said }, {}]), { kind: "argument", message: /^requests\[1\]: / });
});

test("what a template does to calls", needsModule, () => {
  const turns = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% for c in m.tool_calls or [] %}{% endfor %}";
  const { faults, findings } = chat.template(turns + "<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}").lint;
  const [{ rule, fault, request, shown }] = findings;
  assert.deepEqual([rule, fault, shown.map(({ from }) => from)], ["shown", true, ["expected", "prompt"]]);
  assert.ok(faults === findings.filter((finding) => finding.fault).length && request?.messages.length === 3);
});

test("media are listed in the order of the prompt", needsModule, () => {
  const image = { type: "image_url", image_url: { url: "data:," } };
  const params = chat.builtin("chatml").params({ messages: [{ role: "user", content: [{ type: "text", text: "See" }, image] }] });
  assert.deepEqual(params.media, [
    { kind: "image", text: "<__media__>", source: image, message: 0, part: 1, native: false },
  ]);
});
