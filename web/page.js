import { Failure, Library } from "./library.js";
import { packed, unpacked } from "./link.js";
import { deltaRow, element, facts, failureList, find, inkText, messageParts, promptText, rows, showError } from "./show.js";

/** @import { Delta } from "../bindings/javascript/src/stream.js" */
/** @import { Dialect } from "../bindings/javascript/src/names.js" */
/** @import { Given } from "./worker.js" */

const FIRST = "json-call";
/** Templates that show a form are named after it: for whom it is, as far as many know them. */
const FORMS = /^(chatml$|json-|tag-|wrapped-)/;
/** @type {Record<string, string>} */
const WRITTEN_BY = { "json-call": "Qwen3, Hermes", "tag-arguments": "GLM-4", "tag-invoke": "MiniMax-M2", "tag-parameters": "Seed-OSS" };
const OWN = "your own";
/** How long a field must rest before what was typed counts, in milliseconds. */
const REST = 250;
/** What takes longer can be stopped by a button. */
const PATIENCE = 500;
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
const source = find("source", HTMLTextAreaElement);
const request = find("request", HTMLTextAreaElement);
const output = find("output", HTMLTextAreaElement);
const builtin = find("builtin", HTMLSelectElement);
const bos = find("bos", HTMLInputElement);
const eos = find("eos", HTMLInputElement);
const ended = find("ended", HTMLInputElement);
const speed = find("speed", HTMLInputElement);
const play = find("play", HTMLButtonElement);
const share = find("share", HTMLButtonElement);
const dialect = find("dialect", HTMLSelectElement);
const status = find("status", HTMLElement);
const cancel = find("cancel", HTMLButtonElement);
const deltas = find("deltas", HTMLOListElement);

/** @type {Given | undefined} The template that was learnt last. */
let learnt;
/** @type {string | undefined} The request that there is a prompt for. */
let asked;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let playing;
/** The list of deltas is to begin anew. */
let anew = true;
/** An output is being read; what was typed meanwhile comes next. */
let reading = false;
let typed = false;

/** The module lies in the page, packed. */
async function compiled() {
  const packed = Uint8Array.from(atob(find("wasm", HTMLScriptElement).text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

const module = compiled();
/** How long an answer of the library may take: `?seconds=` in the page's address. */
const seconds = Number(new URLSearchParams(location.search).get("seconds")) || 10;
const library = new Library(module, find("worker", HTMLScriptElement).text, seconds);
// Nothing is asked before, as answers may take so long only.
await module;

/**
 * Does something with what was typed; whether that went well. An error shows beside the field.
 * @param {string} place where an error shows
 * @param {() => Promise<void>} work
 */
async function tried(place, work) {
  try {
    await work();
    showError(place, "");
    return true;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (error.kind !== "superseded") showError(place, error.message);
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

/** @param {string} place @param {boolean} yes */
const busy = (place, yes) => find(place, HTMLElement).setAttribute("aria-busy", String(yes));

/** The template that was given last counts, and does not wait for those before it. */
function supersede() {
  if (library.busy) library.stop("superseded", "");
}

/** How many templates were to be learnt. */
let lessons = 0;

/**
 * @param {"kept" | "example" | "played"} output whether the output is to be one of the template's own, and to be played
 * @param {string} [name] one of the library's own templates, instead of what the fields say
 */
async function learn(output, name) {
  stop();
  const lesson = ++lessons;
  supersede();
  busy("learnt", true);
  /** @type {Given | undefined} */
  let given;
  const patience = setTimeout(() => {
    cancel.hidden = false;
    if (!given || learnt !== given) status.textContent = "Learning…";
  }, PATIENCE);
  let failed = "";
  const fine = await tried("template-error", async () => {
    if (name !== undefined) {
      source.value = await library.call("builtin", name);
      bos.value = eos.value = "";
    }
    const started = performance.now();
    given = { source: source.value, bos: bos.value, eos: eos.value };
    const found = await library.call("learn", given).catch((error) => {
      failed = error.kind;
      throw error;
    });
    const took = performance.now() - started;
    learnt = given;
    document.body.classList.remove("old");
    rows(found);
    facts(found);
    status.textContent = `Learnt in ${Math.round(took)} ms.`;
    document.documentElement.dataset.learnt = took.toFixed(1);
    // The layout shows before there is a prompt, and before some sixty messages are tried.
    const { stops } = library;
    await ask(output);
    if (library.stops !== stops) throw new Failure(lesson === lessons ? "stopped" : "superseded", "stopped");
    const proof = await library.call("prove", given);
    facts(found, proof);
    failureList(proof);
    if (proof.fault) throw new Failure("fault", proof.fault);
  });
  clearTimeout(patience);
  if (lesson !== lessons) return;
  cancel.hidden = true;
  if (!fine && given && learnt === given) status.textContent = "Learnt, but not tried.";
  else if (failed === "stopped" && learnt) {
    status.textContent = "The template cannot be used; below is the last one that could.";
    document.body.classList.add("old");
  } else if (!fine) {
    status.textContent = "The template cannot be used.";
    learnt = asked = undefined;
    clear();
  }
  busy("learnt", false);
}

/** Shows nothing of a template that is there no more. */
function clear() {
  for (const place of ["facts", "message", "deltas", "prompt", "grammar", "starts", "json", "outcome"]) find(place, HTMLElement).replaceChildren();
  find("layout", HTMLTableElement).tBodies[0].replaceChildren();
  find("failures", HTMLDetailsElement).hidden = true;
  find("outcome", HTMLElement).className = "badge";
  inkText([["", output.value]]);
}

/** @param {"kept" | "example" | "played"} how */
async function ask(how) {
  stop();
  const given = learnt;
  const body = request.value;
  asked = undefined;
  await tried("request-error", async () => {
    if (!given) return;
    const { segments, more, example: written } = await library.call("ask", given, body);
    asked = body;
    promptText(segments, more);
    if (how !== "kept") output.value = written;
  });
  if (how === "played") start();
  else restart();
  await showGrammar();
}

async function showGrammar() {
  const place = find("grammar", HTMLElement);
  const starts = find("starts", HTMLElement);
  busy("grammar", true);
  place.textContent = starts.textContent = "";
  await tried("grammar-error", async () => {
    if (!learnt || asked === undefined) return;
    const grammar = await library.call("constrain", learnt, asked, /** @type {Dialect} */ (dialect.value));
    place.textContent = grammar.text;
    starts.textContent = grammar.starts;
  });
  busy("grammar", false);
}

/** Reads the output anew, from its first byte. */
function restart() {
  anew = true;
  type();
}

/** Reads what was typed since the last time. */
async function type() {
  typed = true;
  // What is not read yet has no colour yet, but shows.
  const ink = [...find("ink", HTMLElement).querySelectorAll("span")].map((span) => /** @type {[string, string]} */ ([span.className, span.textContent ?? ""]));
  const inked = ink.map(([, text]) => text).join("");
  if (output.value !== inked) inkText(output.value.startsWith(inked) ? [...ink, ["", output.value.slice(inked.length)]] : [["", output.value]]);
  if (reading) return;
  reading = true;
  busy("message", true);
  while (typed && learnt && asked !== undefined) {
    typed = false;
    await tried("output-error", () => read(/** @type {Given} */ (learnt), /** @type {string} */ (asked)));
  }
  busy("message", false);
  reading = false;
}

/** @param {Given} given @param {string} body */
async function read(given, body) {
  /** @type {"none" | "cut" | "whole"} */
  const end = playing !== undefined ? "none" : ended.checked ? "whole" : "cut";
  // What is not there yet is nothing to be alarmed by.
  const writing = end === "none";
  const how = { anew, most: MOST_DELTAS, end };
  anew = false;
  const found = await library.call("read", given, body, output.value, how);
  if (found.restarted) deltas.replaceChildren();
  for (const item of deltas.querySelectorAll(".last")) item.remove();
  show(found.added, "");
  show(found.last, "last");
  const outcome = find("outcome", HTMLElement);
  const calm = writing && found.status === "partial";
  outcome.textContent = calm ? "writing …" : found.status;
  outcome.className = `badge ${calm ? "writing" : found.status}`;
  messageParts(found.parts, found.toolCalls, writing ? [] : found.diagnostics, writing);
  if (!typed) inkText(found.ink);
  find("json", HTMLElement).textContent = found.json;
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
  played("Play");
}

/** @param {"Play" | "Stop"} next what the button does next */
function played(next) {
  play.textContent = next;
  play.classList.toggle("quiet", next === "Stop");
}

/** Writes the output as a model would: a few characters at a time. */
function start() {
  const letters = [...output.value];
  let written = 0;
  output.value = "";
  played("Stop");
  const step = () => {
    written += PIECE;
    playing = written < letters.length ? setTimeout(step, 1000 / SPEEDS[Number(speed.value) - 1]) : undefined;
    if (playing === undefined) played("Play");
    output.value = letters.slice(0, written).join("");
    type();
  };
  playing = setTimeout(step);
  restart();
}

builtin.addEventListener("change", () => (builtin.value === OWN ? source.select() : learn("example", builtin.value)));
const learnLater = rested(() => learn("example"));
for (const field of [source, bos, eos]) {
  field.addEventListener("input", () => {
    builtin.value = OWN;
    learnLater();
  });
}
request.addEventListener("input", rested(() => ask("kept")));
output.addEventListener("input", () => {
  stop();
  type();
});
ended.addEventListener("change", type);
cancel.addEventListener("click", () => library.stop("stopped", "stopped"));
speed.addEventListener("input", () => speed.setAttribute("aria-valuetext", `${SPEEDS[Number(speed.value) - 1]} pieces a second`));
dialect.addEventListener("change", showGrammar);
play.addEventListener("click", () => {
  if (playing === undefined) return start();
  stop();
  type();
});

share.addEventListener("click", async () => {
  const own = builtin.value === OWN;
  const template = own ? { source: source.value, bos: bos.value, eos: eos.value } : { builtin: builtin.value };
  link = `#${await packed({ ...template, request: request.value, output: output.value })}`;
  location.hash = link;
  // A page on a disk may have no clipboard.
  const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
  status.textContent = copied ? "The link is copied." : "The link is the page's address now.";
});
/** The link that was made last. Another one, in this tab, shows what is in it. */
let link = location.hash;
addEventListener("hashchange", () => {
  if (location.hash !== link) location.reload();
});

/** @param {string} name */
const option = (name) => {
  const made = /** @type {HTMLOptionElement} */ (element("option", "", WRITTEN_BY[name] ? `${WRITTEN_BY[name]} (${name})` : name));
  made.value = name;
  return made;
};
/** @param {string} label @param {string[]} names */
const group = (label, names) => {
  const made = element("optgroup", "", ...names.map(option));
  made.setAttribute("label", label);
  return made;
};

const given = link.length > 1 ? await unpacked(link.slice(1)) : undefined;
request.value = given?.request ?? JSON.stringify(REQUEST, null, 2);
const names = await library.call("builtins");
const known = (/** @type {string} */ name) => Boolean(WRITTEN_BY[name]) || !FORMS.test(name);
builtin.append(group("models", names.filter(known)), group("forms", names.filter((name) => !known(name))), option(OWN));
const named = names.find((name) => name === given?.builtin) ?? (given ? undefined : FIRST);
builtin.value = named ?? OWN;
source.value = named ? await library.call("builtin", named) : (given?.source ?? "");
bos.value = (!named && given?.bos) || "";
eos.value = (!named && given?.eos) || "";
if (given) output.value = given.output;
const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
await learn(given ? "kept" : still ? "example" : "played");
if (!given && link.length > 1) status.textContent = "The link cannot be read; this is an example.";
