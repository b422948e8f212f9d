// How things look. All texts are put as texts: a template or an output is nobody's markup.

/** @import { Diagnostic, Part, ToolCall } from "../bindings/javascript/src/message.js" */
/** @import { Delta } from "../bindings/javascript/src/stream.js" */
/** @import { Questions } from "./library.js" */

/** @typedef {ReturnType<Questions["learn"]>} Learnt */
/** @typedef {ReturnType<Questions["prove"]>} Proof */
/** @typedef {ReturnType<Questions["ask"]>} Prompt */

/**
 * The element of the page with this id.
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} type
 */
export function find(id, type) {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`the page has no ${id}`);
  return found;
}

/**
 * @param {string} name
 * @param {string} className
 * @param {(string | Node)[]} children
 */
export function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

/**
 * @param {string} place
 * @param {string} message empty: all is well
 */
export function showError(place, message) {
  const field = find(place, HTMLElement);
  if (field.textContent !== message) field.textContent = message;
  field.hidden = message === "";
}

/** Line breaks and tabs as they are escaped. @param {string} text */
const escaped = (text) => text.replace(/\n/g, "\\n").replace(/\t/g, "\\t");

/** The format. @param {Learnt} learnt */
export function rows({ rows }) {
  const lines = rows.map(([name, values]) => {
    const head = element("th", "", name);
    head.setAttribute("scope", "row");
    return element("tr", "", head, element("td", "", ...values.map((value) => element("div", "", value))));
  });
  find("layout", HTMLTableElement).tBodies[0].replaceChildren(...lines);
}

/** @param {Learnt} learnt @param {Proof} [proof] */
export function facts({ reader, caps }, proof) {
  const learnt = reader === "turn";
  const accepts = Object.entries(caps).filter(([, yes]) => yes === true).map(([name]) => name.replace("supports_", "").replaceAll("_", " "));
  const pairs = [
    ["read by", learnt ? `what was learnt (${reader})` : `built-in rules (${reader}); what would be learnt is below`],
    ["read back", proof ? `${proof.read_back} of ${proof.cases} messages` : "…"],
    ["accepts", accepts.join(", ") || "only text"],
  ];
  const lost = proof !== undefined && proof.read_back < proof.cases;
  const looks = (/** @type {string} */ name) => (lost && name === "read back" ? "lost" : "");
  find("facts", HTMLElement).replaceChildren(...pairs.flatMap(([name, text]) => [element("dt", "", name), element("dd", looks(name), text)]));
}

/** @param {Proof} proof */
export function failureList({ failed, failures }) {
  const list = find("failures", HTMLDetailsElement);
  list.hidden = failed === 0;
  list.open = failed > 0;
  const [summary, items] = list.children;
  summary.textContent = `${failed} messages that are not read back`;
  items.replaceChildren(
    ...failures.map(({ probe, thinking, turn, why }) =>
      element("li", "", `${probe}, thinking ${thinking}: ${why} `, element("code", "", escaped(turn))),
    ),
  );
}

/** @param {Prompt["segments"]} segments @param {number} more letters that are left out */
export function promptText(segments, more) {
  const parts = segments.map(({ text, origin, index, path }) => {
    const part = element("span", origin, text);
    part.title = origin === "message" || origin === "tool" ? `${origin} ${index} ${path}` : `${origin} ${path}`;
    return part;
  });
  find("prompt", HTMLElement).replaceChildren(...parts, more > 0 ? ` … and ${more} more` : "");
}

/** An output in the colours of what became of it. @param {[className: string, text: string][]} pieces */
export function inkText(pieces) {
  // The line behind a last line break shows only if something is in it.
  find("ink", HTMLElement).replaceChildren(...pieces.map(([className, text]) => element("span", className, text)), "\u200b");
}

/** @param {Delta} delta @param {string} className */
export function deltaRow({ kind, call, text }, className) {
  const name = kind.startsWith("tool") ? `${kind.replace("_", " ")} ${call + 1}` : kind;
  return element("li", className, element("span", "kind", name), element("span", "text", escaped(text)));
}

/**
 * A message in the order in which it was written.
 * @param {Part[]} parts
 * @param {ToolCall[]} toolCalls
 * @param {Diagnostic[]} diagnostics
 * @param {boolean} writing more of it will come
 */
export function messageParts(parts, toolCalls, diagnostics, writing) {
  const shownParts = parts.map(({ kind, call, text }) => {
    if (kind !== "call") return element("div", `part ${kind}`, element("h3", "", kind), element("pre", "", text));
    const { name, id, arguments: given, complete, known, valid, origin } = toolCalls[call];
    const remarks = [!complete && !writing && "not complete", !known && "no tool of this name", complete && !valid && "not valid", origin !== "format" && origin];
    const title = [`call ${call + 1}: ${name}`, id && `id ${id}`, ...remarks].filter(Boolean).join(", ");
    return element("div", "part call", element("h3", "", title), element("pre", "tool_arguments", given));
  });
  const rows = diagnostics.map(({ kind, message }) => element("p", "error", `${kind.replaceAll("_", " ")}: ${message}`));
  find("message", HTMLElement).replaceChildren(...shownParts, ...rows);
}
