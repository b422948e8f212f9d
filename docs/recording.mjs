// The recording in the README: an output of a model as it streams in, and what becomes of it. `node docs/recording.mjs` writes
// docs/recording.svg anew from what the library says to each piece, and `--check` says whether the file is that. It needs the JavaScript
// package, built. Where motion is not wanted, and as recording.svg#still, the picture shows the end.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { load } from "../bindings/javascript/src/node.js";

const FILE = new URL("recording.svg", import.meta.url);
const REQUEST = {
  messages: [{ role: "user", content: "Do I need an umbrella in Oslo?" }],
  tools: [
    {
      type: "function",
      function: {
        name: "weather",
        parameters: { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } }, required: ["city"] },
      },
    },
  ],
};
const OUTPUT = `<think>
They ask about rain, so I look at the forecast.
</think>

Let me look.
<tool_call>
{"name": "weather", "arguments": {"city": "Oslo", "days": 1}}
</tool_call>`;
const PIECE = 4;
/** Seconds: of a piece, before the first, and of the whole behind the last. */
const [STEP, BEFORE, AFTER] = [0.16, 0.6, 4];
const [WIDTH, LEFT, LABELS, LINE, TOP] = [840, 24, 170, 22, 34];
const ROWS = ["reasoning", "content", "tool_name", "tool_arguments", "tool_end"];

const params = (await load()).builtin("json-call").params(REQUEST);
const stream = params.stream();
const pieces = OUTPUT.match(new RegExp(`[^]{1,${PIECE}}`, "g")) ?? [];
/** What each piece gave; the last has what the end gave, too. */
const deltas = pieces.map((piece) => stream.feed(piece));
deltas[deltas.length - 1].push(...stream.finish());
const message = stream.message();
const [{ complete, known, valid }] = message.toolCalls;
const remarks = [complete && "the call is complete", known && "its tool is known", valid && "its arguments are valid"].filter(Boolean);

const escaped = (text) => text.replace(/[&<>]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[letter]);
const span = (step, kind, text) => `<tspan class="p${step} ${kind}">${escaped(text)}</tspan>`;
const line = (x, y, inside) => `<text x="${x}" y="${y}">${inside}</text>`;

// The output, letter by letter in the colour of what it became; letters are bytes here.
if (/[^\x00-\x7f]/.test(OUTPUT)) throw new Error("positions are those of bytes: the output must be ASCII");
const became = Array(OUTPUT.length).fill("markup");
for (const { kind, begin, end } of deltas.flat()) became.fill(kind, begin, end);
const lines = [];
let at = 0;
for (const text of OUTPUT.split("\n")) {
  let inside = "";
  for (let i = at; i < at + text.length; ) {
    const [step, kind] = [Math.floor(i / PIECE), became[i]];
    let end = i + 1;
    while (end < at + text.length && Math.floor(end / PIECE) === step && became[end] === kind) end++;
    inside += span(step, kind, OUTPUT.slice(i, end));
    i = end;
  }
  lines.push(inside);
  at += text.length + 1;
}

const rows = ROWS.map((row) =>
  deltas.map((given, step) => given.filter(({ kind }) => kind === row).map(({ text }) => span(step, row, text.replace(/\n/g, " ") || "✓")).join("")).join(""),
);
const last = pieces.length;
const status = span(last, "status", [message.status, remarks.join(", ")].join(": "));

const seconds = BEFORE + pieces.length * STEP + AFTER;
const steps = Array.from({ length: last + 1 }, (_, step) => {
  const percent = ((BEFORE + step * STEP) / seconds) * 100;
  return `@keyframes p${step}{0%{fill-opacity:0}${percent.toFixed(2)}%{fill-opacity:1}}.p${step}{animation:p${step} var(--all) step-end infinite}`;
});
const middle = TOP + LINE + lines.length * LINE + 14;
const height = middle + LINE * (ROWS.length + 2) + 30;
const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" xml:space="preserve">
<!-- Written by docs/recording.mjs. -->
<title>An output as it streams in, and the message that it becomes</title>
<style>
svg{--all:${seconds.toFixed(2)}s;--back:#fff;--line:#d0d7de;--text:#1f2328;--soft:#656d76;--reasoning:#8250df;--content:#1f2328;--call:#0550ae;--arguments:#116329}
@media (prefers-color-scheme:dark){svg{--back:#0d1117;--line:#30363d;--text:#e6edf3;--soft:#8b949e;--reasoning:#d2a8ff;--content:#e6edf3;--call:#79c0ff;--arguments:#7ee787}}
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;white-space:pre;fill:var(--text)}
.title{font:600 13px system-ui,"Segoe UI","Helvetica Neue",Arial,sans-serif}
.title,.label,.markup{fill:var(--soft)}
.reasoning{fill:var(--reasoning)}.content{fill:var(--content)}.tool_name,.tool_end{fill:var(--call)}.tool_arguments{fill:var(--arguments)}
@media (prefers-reduced-motion:no-preference){
${steps.join("\n")}
}
#still:target tspan{animation:none}
</style>
<g id="still">
<rect x=".5" y=".5" width="${WIDTH - 1}" height="${height - 1}" rx="8" fill="var(--back)" stroke="var(--line)"/>
<path d="M0 ${middle}h${WIDTH}" stroke="var(--line)"/>
<text x="${LEFT}" y="${TOP}" class="title">What the model writes, ${PIECE} letters at a time</text>
${lines.map((inside, i) => line(LEFT, TOP + (i + 1) * LINE + 4, inside)).join("\n")}
<text x="${LEFT}" y="${middle + LINE + 8}" class="title">What each piece adds to the message, at once and for good</text>
${rows.map((inside, i) => `<text x="${LEFT}" y="${middle + (i + 2) * LINE + 14}" class="label">${ROWS[i]}</text>${line(LABELS, middle + (i + 2) * LINE + 14, inside)}`).join("\n")}
<text x="${LEFT}" y="${middle + (ROWS.length + 2) * LINE + 14}" class="label">status</text>${line(LABELS, middle + (ROWS.length + 2) * LINE + 14, status)}
</g>
</svg>
`;

if (!process.argv.includes("--check")) {
  writeFileSync(FILE, svg);
  console.log(`docs/recording.svg: ${svg.length} bytes, ${seconds.toFixed(1)} seconds`);
} else if (!existsSync(FILE) || readFileSync(FILE, "utf8") !== svg) {
  console.error("docs/recording.svg is not what the library says: node docs/recording.mjs writes it anew");
  process.exit(1);
}
