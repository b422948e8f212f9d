// Answers scenarios as `chatparse replay` does, a JSON line each, with the C functions of a module for wasm32-unknown-unknown:
//
//     node wasm.mjs chatparse.wasm < SCENARIOS
//
// It also shows how a host without C calls them. The module imports nothing and exports no malloc: memory that the host grows is
// the host's own, the library never touches it. Structs that C returns are written to an address that is the first argument.
import { readFileSync } from "node:fs";

const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), {});
const { memory, ...chat } = instance.exports;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

// The host's memory: two words for results, room for a struct, and texts behind it, which last until the next call.
const PAGE = 65536;
let base = 0, room = 0, used = 0;
const OUT = 0, ERROR = 4, STRUCT = 8, TEXTS = 64;
function reserve(bytes) {
  if (bytes <= room) return;
  const pages = Math.ceil(bytes / PAGE);
  base = memory.grow(pages) * PAGE;
  room = pages * PAGE;
}
const word = (at) => new DataView(memory.buffer).getUint32(base + at, true);
const view = (at) => decoder.decode(new Uint8Array(memory.buffer, word(at), word(at + 4)));

// The same where the library has it, and the addresses of a list's items.
const there = (at) => word(at - base);
const said = (at) => view(at - base);
const items = (at, size) => Array.from({ length: there(at + 4) }, (_, i) => there(at) + i * size);

// Texts become a pointer and a length; `RESULT` is where the function puts its result.
const RESULT = Symbol();
function flat(args) {
  const texts = args.map((arg) => (typeof arg === "string" ? encoder.encode(arg) : arg));
  reserve(texts.reduce((sum, text) => sum + (text instanceof Uint8Array ? text.length : 0), TEXTS));
  used = TEXTS;
  return texts.flatMap((arg) => {
    if (arg === RESULT) return [base + OUT];
    if (!(arg instanceof Uint8Array)) return [arg];
    new Uint8Array(memory.buffer, base + used, arg.length).set(arg);
    used += arg.length;
    return [base + used - arg.length, arg.length];
  });
}

// A function that returns a chat_str.
function text(name, ...args) {
  const rest = flat(args);
  chat[name](base + STRUCT, ...rest);
  return view(STRUCT);
}

// A function that can fail, and its result.
function work(name, ...args) {
  const rest = flat(args);
  if (chat[name](...rest, base + ERROR) === 0) return word(OUT);
  const error = word(ERROR);
  const message = text("chat_error_message", error);
  chat.chat_error_free(error);
  throw new Error(message);
}

// A function whose result is a text.
function json(name, ...args) {
  flat([]);
  if (chat[name](...args, base + STRUCT, 0) !== 0) throw new Error(name);
  return view(STRUCT);
}

// The members of a JSON object as they are written: a number that JavaScript reads might be written otherwise.
function members(object) {
  const found = {};
  const skip = /"(?:[^"\\]|\\.)*"|[\[\]{}]|,|[^"\[\]{},]+/gy;
  const key = /\s*[{,]\s*("(?:[^"\\]|\\.)*")\s*:\s*/gy;
  let match;
  while ((match = key.exec(object))) {
    const begin = key.lastIndex;
    let depth = 0, end = begin;
    for (skip.lastIndex = begin; ; end = skip.lastIndex) {
      const token = skip.exec(object)[0];
      if (depth === 0 && (token === "," || token === "}")) break;
      depth += token === "{" || token === "[" ? 1 : token === "}" || token === "]" ? -1 : 0;
    }
    found[JSON.parse(match[1])] = object.slice(begin, end).trim();
    key.lastIndex = end;
  }
  return found;
}

const KEYS = { 1: "+reasoning_content", 2: "+content", 3: "+name", 4: "+id", 5: "+arguments" };

// The deltas of the last feed, put together.
function row(stream) {
  const row = {};
  for (const delta of items(chat.chat_stream_view(stream), 24)) {
    const kind = there(delta);
    const key = KEYS[kind];
    const index = there(delta + 4);
    if (key === undefined) continue; // the end of a call has no text
    let part = row;
    if (kind > 2) {
      row.tool_calls ??= [];
      part = row.tool_calls.find((call) => call.index === index);
      if (!part) row.tool_calls.push((part = { index }));
    }
    part[key] = (part[key] ?? "") + said(delta + 8);
  }
  return row;
}

function message(handle) {
  const fields = chat.chat_message_view(handle);
  const tool_calls = items(fields + 20, 24).map((at) => ({ name: said(at), arguments: said(at + 16), id: said(at + 8) }));
  return { content: said(fields + 4), reasoning_content: said(fields + 12), tool_calls };
}

function parse(params, output, withTimeline) {
  const bytes = encoder.encode(typeof output === "string" ? output : output.text);
  const { partial = false, step = 1 } = output;
  const stream = work("chat_stream_new", params, RESULT);
  const timeline = [];
  // In steps, no character in two. The step that makes a whole output whole is not noted.
  for (let fed = 0, goal = 0; fed < bytes.length; ) {
    goal = Math.min(goal + step, bytes.length);
    let end = goal;
    while (end < bytes.length && (bytes[end] & 0xc0) === 0x80) end--;
    if (end === fed) continue;
    work("chat_stream_feed", stream, bytes.subarray(fed, end));
    fed = end;
    const added = row(stream);
    if (Object.keys(added).length > 0 && (partial || goal < bytes.length)) timeline.push([fed, added]);
  }
  work("chat_stream_finish", stream, partial ? 1 : 0);
  const handle = work("chat_stream_message", stream, RESULT);
  const status = { 1: "complete", 2: "partial", 3: "recovered" }[there(chat.chat_message_view(handle))];
  const parsed = { message: message(handle), status, ...(withTimeline && { timeline }) };
  chat.chat_message_free(handle);
  chat.chat_stream_free(stream);
  return JSON.stringify(parsed);
}

function answer(line) {
  const raw = members(line);
  const scenario = JSON.parse(line);
  if (scenario.schema !== undefined) {
    const grammar = work("chat_grammar_from_json_schema", raw.schema, 2, RESULT);
    const rules = said(chat.chat_grammar_view(grammar));
    chat.chat_grammar_free(grammar);
    return `"grammar":${JSON.stringify(rules)}`;
  }
  const { template_source = "", bos = "", eos = "", request, outputs = [], timeline, want_caps } = scenario;
  const template = work("chat_template_new", template_source, bos, eos, RESULT);
  const ask = (body, options) => work("chat_params_from_template_with", template, body, JSON.stringify(options), RESULT);
  // As llama.cpp reads a request that was recorded with it.
  const again = request.opening_again === undefined ? { opening_again: "marker" } : {};
  const params = ask(raw.request, { ...again, compat: "llama.cpp" });
  const fields = [`"params":${json("chat_params_json", params)}`];
  if (want_caps) {
    const plain = ask('{"messages":[{"role":"user","content":"test"}],"reasoning_format":"deepseek"}', { now: 0 });
    fields.push(`"caps":${json("chat_template_report", template, 1)}`);
    fields.push(`"supports_enable_thinking":${JSON.parse(json("chat_params_json", plain)).supports_thinking}`);
    chat.chat_params_free(plain);
  }
  fields.push(`"parses":[${outputs.map((output) => parse(params, output, timeline !== false))}]`);
  chat.chat_params_free(params);
  chat.chat_template_free(template);
  return fields.join();
}

for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  let fields;
  try {
    fields = answer(line);
  } catch (error) {
    if (!(error.constructor === Error)) throw error; // a trap: the instance is lost
    fields = `"error":${JSON.stringify(error.message)}`;
  }
  console.log(`{"id":${JSON.stringify(JSON.parse(line).id)},${fields}}`);
}
