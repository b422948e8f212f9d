// What a piece costs: `node bench/feed.js`. 64 KB of output in pieces of 4 characters, as a model writes tokens, each fed and its deltas
// read. Others use the machine, too, so stretches of the output are timed by themselves, and the best of many rounds counts of each.
import { load } from "../src/node.js";

const SIZE = 1 << 16;
const CHUNK = 4;
const ROUNDS = 60;
const STRETCH = 256;
const CODE = '    println!("{total} <= {}", 385); // of all that is squared\n';
const TOOLS = [
  { type: "function", function: { name: "write_file", parameters: { type: "object", properties: { text: { type: "string" } } } } },
];
const CASES = [
  ["content", "", CODE, ""],
  ["reasoning", "<think>\n", CODE, "\n</think>\n\nDone."],
  ["JSON call", '<tool_call>\n{"name": "write_file", "arguments": {"text": "', JSON.stringify(CODE).slice(1, -1), '"}}\n</tool_call>'],
  ["Japanese", "", "ここに書くのは日本語の文章です。", ""],
];

const chat = await load();
const params = chat.builtin("json-call").params({ messages: [{ role: "user", content: "Write it." }], tools: TOOLS });

for (const [name, before, line, after] of CASES) {
  const output = before + line.repeat(SIZE / line.length) + after;
  const pieces = output.match(new RegExp(`[^]{1,${CHUNK}}`, "gu")) ?? [];
  for (const [form, given] of /** @type {const} */ ([
    ["text", pieces],
    ["bytes", pieces.map((piece) => new TextEncoder().encode(piece))],
  ])) {
    /** @type {number[]} */
    const best = [];
    for (let round = 0; round < ROUNDS; round++) {
      let read = 0;
      const stream = params.stream();
      for (let from = 0; from < given.length; from += STRETCH) {
        const pieces = given.slice(from, from + STRETCH);
        const started = performance.now();
        for (const piece of pieces) for (const delta of stream.feed(piece)) read += delta.text.length;
        best[from / STRETCH] = Math.min(best[from / STRETCH] ?? Infinity, performance.now() - started);
      }
      stream.finish();
      if (stream.status !== "complete" || read === 0) throw new Error(`${name}: ${stream.status}`);
      stream.free();
    }
    const total = best.reduce((sum, time) => sum + time, 0);
    console.log(`${name}, ${form}: ${((total * 1000) / given.length).toFixed(3)} µs a piece`);
  }
}
