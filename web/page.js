import { ChatError, Chatparse } from "../bindings/javascript/src/chatparse.js";
import { deltaRow, element, facts, failureList, find, messageParts, promptText, rows, showError } from "./show.js";

/** @import { Params } from "../bindings/javascript/src/params.js" */
/** @import { Delta, Stream } from "../bindings/javascript/src/stream.js" */
/** @import { Template } from "../bindings/javascript/src/template.js" */
/** @import { Dialect } from "../bindings/javascript/src/names.js" */

const FIRST = "json-call";
/** How long a field must rest before what was typed counts, in milliseconds. */
const REST = 250;
/** The list of deltas keeps the last ones. */
const MOST_DELTAS = 300;
const SPEEDS = [5, 20, 60, 200];
const PIECE = 4;

const REQUEST = {
  messages: [
    { role: "system", content: "Answer briefly." },
    { role: "user", content: "Is it raining in Oslo?" },
  ],
  tools: [
    {
      type: "function",
      function: {
        name: "weather",
        description: "The weather of a city.",
        parameters: { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } }, required: ["city"] },
      },
    },
  ],
};
const CALL = { id: "call00001", type: "function", function: { name: "weather", arguments: { city: "Oslo", days: 1 } } };
/** What an example answers, from most to least: templates refuse or leave out what their models do not write. */
const ANSWERS = [
  { role: "assistant", reasoning_content: "They ask for the weather. I look it up.", content: "One moment.", tool_calls: [CALL] },
  { role: "assistant", content: "One moment.", tool_calls: [CALL] },
  { role: "assistant", content: "", tool_calls: [CALL] },
  { role: "assistant", content: "I cannot tell." },
];

const source = find("source", HTMLTextAreaElement);
const request = find("request", HTMLTextAreaElement);
const output = find("output", HTMLTextAreaElement);
const builtin = find("builtin", HTMLSelectElement);
const bos = find("bos", HTMLInputElement);
const eos = find("eos", HTMLInputElement);
const ended = find("ended", HTMLInputElement);
const speed = find("speed", HTMLInputElement);
const play = find("play", HTMLButtonElement);
const dialect = find("dialect", HTMLSelectElement);
const status = find("status", HTMLElement);
const deltas = find("deltas", HTMLOListElement);

const module = await compiled();
let chat = new Chatparse(await WebAssembly.instantiate(module));
/** @type {Template | undefined} */
let template;
/** @type {Params | undefined} */
let params;
/** @type {Stream | undefined} */
let stream;
/** What was fed to the stream. */
let fed = "";
/** @type {ReturnType<typeof setTimeout> | undefined} */
let playing;

/** The module lies in the page, packed. */
async function compiled() {
  const packed = Uint8Array.from(atob(find("wasm", HTMLScriptElement).text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

/**
 * Does something with what was typed. An error shows beside the field; a defect of the library costs its instance, so there is another.
 * @param {string} place where an error shows
 * @param {() => void} work
 */
function tried(place, work) {
  try {
    work();
    showError(place, "");
    return true;
  } catch (error) {
    if (!(error instanceof ChatError || error instanceof SyntaxError)) throw error;
    showError(place, error.message);
    if (error instanceof ChatError && error.kind === "internal") {
      template = params = stream = undefined;
      WebAssembly.instantiate(module).then((instance) => (chat = new Chatparse(instance)));
    }
    return false;
  }
}

/** @param {() => void} work */
function rested(work) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, REST);
  };
}

/** @param {boolean} example whether the output is to be one of the template's own */
function learn(example) {
  stop();
  const started = performance.now();
  const fine = tried("template-error", () => {
    template = chat.template(source.value, { bos: bos.value, eos: eos.value });
    rows(template);
  });
  find("learnt", HTMLElement).setAttribute("aria-busy", String(fine));
  if (!fine || !template) {
    status.textContent = "The template cannot be used; below is the last one that could.";
    return;
  }
  status.textContent = `Learnt in ${Math.round(performance.now() - started)} ms.`;
  document.documentElement.dataset.learnt = (performance.now() - started).toFixed(1);
  facts(template);
  const asked = template;
  params = stream = undefined;
  // The layout shows before there is a prompt, and before some sixty messages are tried.
  setTimeout(() => {
    if (template !== asked) return;
    ask(example);
    tried("template-error", () => {
      facts(asked, asked.proof);
      failureList(asked.proof);
    });
    find("learnt", HTMLElement).setAttribute("aria-busy", "false");
  }, 30);
}

/** @param {boolean} example */
function ask(example) {
  stop();
  params = undefined;
  tried("request-error", () => {
    if (!template) return;
    params = template.params(request.value);
    promptText(template.segments(request.value).list);
    if (example) output.value = written();
  });
  showGrammar();
  restart();
}

/** What the template writes for an answer behind the prompt: what its model would write. */
function written() {
  const asked = JSON.parse(request.value);
  for (const answer of ANSWERS) {
    try {
      const whole = template?.params({ ...asked, messages: [...asked.messages, answer], add_generation_prompt: false }).prompt;
      if (params && whole?.startsWith(params.prompt)) return whole.slice(params.prompt.length).trimEnd();
    } catch (error) {
      if (!(error instanceof ChatError) || error.kind === "internal") throw error;
    }
  }
  return "It is raining.";
}

function showGrammar() {
  const name = /** @type {Dialect} */ (dialect.value);
  const place = find("grammar", HTMLElement);
  const starts = find("starts", HTMLElement);
  place.textContent = "";
  starts.textContent = "";
  tried("grammar-error", () => {
    if (!params) return;
    const triggers = params.grammarTriggers.map(({ value }) => JSON.stringify(value)).join(", ");
    const lazy = params.grammarLazy && name === "gbnf";
    starts.textContent = lazy ? `holds from ${triggers} on` : "holds from the first byte on";
    place.textContent = params.grammar(name).text || "The request lets the model write anything.";
    if (place.textContent.startsWith("The request")) starts.textContent = "";
  });
}

/** Reads the output anew, from its first byte. */
function restart() {
  stream = params?.stream();
  fed = "";
  deltas.replaceChildren();
  type();
}

/** Feeds what was typed since the last time. */
function type() {
  if (!params) return;
  if (!output.value.startsWith(fed)) return restart();
  tried("output-error", () => {
    if (!stream) return;
    show(stream.feed(output.value.slice(fed.length)), "");
    fed = output.value;
    const whole = playing === undefined && ended.checked;
    const message = stream.clone();
    for (const item of deltas.querySelectorAll(".last")) item.remove();
    if (playing === undefined) show(message.finish({ partial: !whole }), "last");
    const read = message.message();
    const outcome = find("outcome", HTMLElement);
    outcome.textContent = read.status;
    outcome.className = `badge ${read.status}`;
    messageParts(read.parts, read.toolCalls, read.report.diagnostics);
    find("json", HTMLElement).textContent = JSON.stringify(read, null, 2);
    read.free();
    message.free();
  });
}

/**
 * @param {Delta[]} added
 * @param {string} className
 */
function show(added, className) {
  if (added.length === 0) return;
  deltas.append(...added.slice(-MOST_DELTAS).map((delta) => deltaRow(delta, className)));
  while (deltas.children.length > MOST_DELTAS) deltas.firstElementChild?.remove();
  deltas.scrollTop = deltas.scrollHeight;
}

function stop() {
  clearTimeout(playing);
  playing = undefined;
  play.textContent = "Play";
}

/** Writes the output as a model would: a few characters at a time. */
function start() {
  const letters = [...output.value];
  let written = 0;
  output.value = "";
  play.textContent = "Stop";
  const step = () => {
    written += PIECE;
    playing = written < letters.length ? setTimeout(step, 1000 / SPEEDS[Number(speed.value) - 1]) : undefined;
    if (playing === undefined) play.textContent = "Play";
    output.value = letters.slice(0, written).join("");
    type();
  };
  playing = setTimeout(step);
  restart();
}

builtin.append(...chat.builtins.map((name) => element("option", "", name)), element("option", "", "your own"));
builtin.addEventListener("change", () => {
  if (builtin.value === "your own") return source.select();
  source.value = chat.builtin(builtin.value).source;
  bos.value = eos.value = "";
  learn(true);
});
const learnLater = rested(() => learn(true));
for (const field of [source, bos, eos]) {
  field.addEventListener("input", () => {
    builtin.value = "your own";
    learnLater();
  });
}
request.addEventListener("input", rested(() => ask(false)));
output.addEventListener("input", () => {
  stop();
  type();
});
ended.addEventListener("change", type);
speed.addEventListener("input", () => speed.setAttribute("aria-valuetext", `${SPEEDS[Number(speed.value) - 1]} pieces a second`));
dialect.addEventListener("change", showGrammar);
play.addEventListener("click", () => {
  if (playing === undefined) return start();
  stop();
  type();
});

request.value = JSON.stringify(REQUEST, null, 2);
builtin.value = FIRST;
source.value = chat.builtin(FIRST).source;
learn(true);
