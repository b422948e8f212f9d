import { existsSync } from "node:fs";
import { load } from "../src/node.js";

const there = existsSync(new URL("../chatparse.wasm", import.meta.url));

/** Options of a test that needs the module. */
export const needsModule = { skip: there ? false : "there is no chatparse.wasm: npm run build makes it" };

export const chat = there ? await load() : /** @type {never} */ (undefined);

export const REQUEST = {
  messages: [{ role: "user", content: "Is it raining in Oslo?" }],
  tools: [
    {
      type: "function",
      function: {
        name: "weather",
        parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      },
    },
  ],
};

export const PIECES = ["I will look. <tool", '_call>\n{"name": "wea', 'ther", "arguments": {"city"', ': "Oslo"}}\n</tool_call>'];

/**
 * The message that deltas make, as they are applied.
 * @param {Iterable<import("../src/stream.js").Delta>} deltas
 */
export function applied(deltas, message = { reasoning: "", content: "", calls: /** @type {any[]} */ ([]) }) {
  const { calls } = message;
  const less = (/** @type {string} */ text, /** @type {string} */ end) => text.slice(0, text.length - end.length);
  for (const { kind, call, text } of deltas) {
    if (kind === "reasoning") message.reasoning += text;
    else if (kind === "content") message.content += text;
    else if (kind === "tool_name") calls[call] = { name: text, id: "", arguments: "", whole: false };
    else if (kind === "tool_id") calls[call].id = text;
    else if (kind === "tool_arguments") calls[call].arguments += text;
    else if (kind === "tool_end") calls[call].whole = true;
    else if (kind === "reasoning_withdrawn") message.reasoning = less(message.reasoning, text);
    else if (kind === "content_withdrawn") message.content = less(message.content, text);
    else if (kind === "call_withdrawn") calls.pop();
    else if (kind === "tool_id_withdrawn") calls[call].id = "";
    else if (kind === "tool_arguments_withdrawn") calls[call].arguments = less(calls[call].arguments, text);
    else if (kind === "tool_end_withdrawn") calls[call].whole = false;
    else throw new Error(kind);
  }
  return message;
}
