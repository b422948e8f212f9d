// What the page asks of the library, in a thread of its own, which the page ends where it takes too long. It keeps what it was asked for last,
// and each question has all that it depends on: one that is asked again of a new thread has the same answer.
import { ChatError, Chatparse } from "../bindings/javascript/src/chatparse.js";

/** @import { Params } from "../bindings/javascript/src/params.js" */
/** @import { Delta, Stream } from "../bindings/javascript/src/stream.js" */
/** @import { Template } from "../bindings/javascript/src/template.js" */
/** @import { Dialect, Field } from "../bindings/javascript/src/names.js" */
/** @import { Message } from "../bindings/javascript/src/message.js" */

/** A template as it was typed. @typedef {{ source: string, bos: string, eos: string }} Given */

/** More than that is not shown: a page that holds it would not answer. */
const MOST_LETTERS = 200_000;
const MOST_SEGMENTS = 5000;
const MOST_ROWS = 300;
const MOST_IN_A_ROW = 2000;
/** A longer output has one colour. */
const MOST_INKED = 50_000;

const CALL = { id: "call00001", type: "function", function: { name: "weather", arguments: { city: "Oslo", days: 1 } } };
/** What an example answers, from most to least: templates refuse or leave out what their models do not write. */
const ANSWERS = [
  { role: "assistant", reasoning_content: "They ask for the weather. I look it up.", content: "One moment.", tool_calls: [CALL] },
  { role: "assistant", content: "One moment.", tool_calls: [CALL] },
  { role: "assistant", content: "", tool_calls: [CALL] },
  { role: "assistant", content: "I cannot tell." },
];

/** @type {Chatparse} */
let chat;
/** @type {Given | undefined} */
let given;
/** @type {Template} */
let template;
/** @type {string | undefined} */
let request;
/** @type {Params} */
let params;
/** @type {Stream | undefined} */
let stream;
/** What was fed to the stream. */
let fed = "";

/** @param {string} text */
const cut = (text, most = MOST_LETTERS) => (text.length > most ? `${text.slice(0, most)} … and ${text.length - most} more` : text);

/** @param {Given} asked */
function templateOf({ source, bos, eos }) {
  if (given?.source === source && given.bos === bos && given.eos === eos) return template;
  template = chat.template(source, { bos, eos });
  given = { source, bos, eos };
  request = stream = undefined;
  return template;
}

/** @param {Given} asked @param {string} body */
function paramsOf(asked, body) {
  const by = templateOf(asked);
  if (request === body) return params;
  params = by.params(body);
  request = body;
  stream = undefined;
  return params;
}

/** What the page asks for. */
export const questions = {
  /** The templates that the library brings along. */
  builtins: () => chat.builtins,

  /** The text of one of them. @param {string} name */
  builtin: (name) => chat.builtin(name).source,

  /** How a template writes: the parts of a turn, and what else was learnt of it, without what is empty. @param {Given} asked */
  learn(asked) {
    const { reader, turn, caps } = templateOf(asked);
    const said = Object.entries(turn).filter(([, value]) => ![undefined, null, "", false, "none"].includes(/** @type {any} */ (value)) && String(value) !== "");
    const rows = said.map(([name, value]) => /** @type {[string, string[]]} */ ([name === "written" ? "a turn" : name, [value].flat().map((item) => cut(shown(item), MOST_IN_A_ROW))]));
    return { reader, caps, rows };
  },

  /** @param {Given} asked */
  prove(asked) {
    const { read_back, cases, failures, ...more } = templateOf(asked).proof;
    const { no_turn, omitted, refused, refusal } = /** @type {Record<string, any>} */ (more);
    const short = (/** @type {string} */ text) => cut(text, MOST_IN_A_ROW);
    const rows = failures.slice(0, MOST_ROWS).map((failure) => ({ ...failure, turn: short(failure.turn), why: short(failure.why) }));
    // What nobody reads is hardly the template of a chat.
    const shows = cases + no_turn > 0;
    const why = refused > 0 ? `The template refuses all ${refused} messages; the first: ${refusal}` : `The template renders none of the ${omitted} messages; is it a chat template?`;
    return { read_back, cases, failed: failures.length, failures: rows, fault: shows ? "" : short(why) };
  },

  /** The prompt, and what the model might write behind it. @param {Given} asked @param {string} body */
  ask(asked, body) {
    const { prompt } = paramsOf(asked, body);
    let left = MOST_LETTERS;
    const segments = [];
    for (const { text, origin, index, path } of template.segments(body).list) {
      if (left <= 0 || segments.length === MOST_SEGMENTS) break;
      segments.push({ text: text.slice(0, left), origin, index, path });
      left -= text.length;
    }
    const shownLetters = segments.reduce((sum, { text }) => sum + text.length, 0);
    return { segments, more: prompt.length - shownLetters, example: written(body, prompt) };
  },

  /** @param {Given} asked @param {string} body @param {Dialect} dialect */
  constrain(asked, body, dialect) {
    const by = paramsOf(asked, body);
    const triggers = by.grammarTriggers.map(({ kind, value }) => (kind === "pattern" ? `/${escaped(value)}/` : JSON.stringify(value))).join(", ");
    const lazy = by.grammarLazy && dialect === "gbnf";
    const { text } = by.grammar(dialect);
    if (!text) return { text: "The request does not constrain the output.", starts: "" };
    return { text: cut(text), starts: lazy ? `applies from ${triggers} on` : "applies from the first byte on" };
  },

  /**
   * Reads an output; only what is new of it, where it goes on with the last one.
   * @param {Given} asked @param {string} body @param {string} output
   * @param {{ anew: boolean, most: number, end: "none" | "cut" | "whole" }} how `end`: what is to be thought behind it
   */
  read(asked, body, output, { anew, most, end }) {
    const by = paramsOf(asked, body);
    const restarted = anew || !stream || !output.startsWith(fed);
    if (restarted) {
      stream = by.stream();
      fed = "";
    }
    const reading = /** @type {Stream} */ (stream);
    const added = reading.feed(output.slice(fed.length)).slice(-most);
    fed = output;
    const ended = reading.clone();
    /** @type {Delta[]} */
    const last = end === "none" ? [] : ended.finish({ partial: end === "cut" }).slice(-most);
    const message = ended.message();
    const { status, parts, toolCalls, report } = message;
    const ink = inked(output, message);
    const json = JSON.stringify(message, null, 2);
    message.free();
    ended.free();
    return { restarted, added, last, status, parts, toolCalls, diagnostics: report.diagnostics, json, ink };
  },
};

/**
 * What became of each byte of an output: pieces, with the field of the message that each is in; `lost` is what does not follow the format.
 * @param {string} output @param {Message} message @returns {[className: string, text: string][]}
 */
function inked(output, message) {
  if (output.length > MOST_INKED) return [["", output]];
  const bytes = new TextEncoder().encode(output);
  const read = new TextDecoder();
  const fields = /** @type {Field[]} */ (["reasoning", "content"]).flatMap((field) => message.spans(field).map((span) => ({ ...span, field })));
  const ofCalls = message.toolCalls.flatMap((_, call) =>
    /** @type {Field[]} */ (["tool_name", "tool_id", "tool_arguments"]).flatMap((field) => message.spans(field, call).map((span) => ({ ...span, field }))),
  );
  const odd = message.report.diagnostics.filter(({ kind }) => kind === "left_format").map(({ span }) => span);
  /** @type {[string, string][]} */
  const pieces = [];
  /** @param {string} name @param {number} from @param {number} to */
  const put = (name, from, to) => {
    // A border inside of a character is behind it.
    while (to < bytes.length && (bytes[to] & 0xc0) === 0x80) to += 1;
    const lost = name === "markup" && odd.some(([begin, end]) => begin < to && from < end);
    if (from < to) pieces.push([lost ? "lost" : name, read.decode(bytes.subarray(from, to))]);
    return Math.max(from, to);
  };
  let at = 0;
  for (const { begin, end, field } of [...fields, ...ofCalls].sort((a, b) => a.begin - b.begin)) {
    at = put("markup", at, begin);
    at = put(field, at, end);
  }
  put("markup", at, bytes.length);
  return pieces;
}

/** What the template writes for an answer behind the prompt: what its model would write. @param {string} body @param {string} prompt */
function written(body, prompt) {
  const asked = JSON.parse(body);
  for (const answer of ANSWERS) {
    try {
      const whole = template.params({ ...asked, messages: [...asked.messages, answer], add_generation_prompt: false }).prompt;
      if (whole.startsWith(prompt) && whole.length - prompt.length < MOST_LETTERS) return whole.slice(prompt.length).trimEnd();
    } catch (error) {
      if (!(error instanceof ChatError) || error.kind === "internal") throw error;
    }
  }
  return "It is raining.";
}

/** Line breaks and tabs as they are escaped. @param {string} text */
const escaped = (text) => text.replace(/\n/g, "\\n").replace(/\t/g, "\\t");

/** @param {unknown} value */
function shown(value) {
  return typeof value === "string" ? escaped(value) : JSON.stringify(value);
}

/** @type {(instance: WebAssembly.Instance) => void} */
let load;
const loaded = new Promise((/** @type {typeof load} */ resolve) => (load = resolve)).then((instance) => (chat = new Chatparse(instance)));
addEventListener("message", async ({ data: { module, number, name, args } }) => {
  if (module) {
    const compiled = /** @type {WebAssembly.Module} */ (module);
    return WebAssembly.instantiate(compiled).then(load);
  }
  await loaded;
  try {
    postMessage({ number, value: /** @type {any} */ (questions)[name](...args) });
  } catch (error) {
    const known = error instanceof ChatError || error instanceof SyntaxError;
    const kind = error instanceof ChatError ? error.kind : known ? "argument" : "internal";
    postMessage({ number, error: { kind, message: String(known ? error.message : error) } });
  }
});
