import { Handle } from "./handle.js";
import { Message } from "./message.js";
import { MATCHES } from "./names.js";
import { flags } from "./stream.js";
import { OUT } from "./wasm.js";

/** @import { Wasm } from "./wasm.js" */

/**
 * A rule, tag or label that matched. `name` is the rule's, the tag's (`content`, `tool-name`, ...) or the label; `begin` and `end` are bytes
 * of the text; `parent` is the number of the node around it, which is lower than its own; `partial`: the text ended inside of it.
 * @typedef {{ name: string, rule: boolean, begin: number, end: number, parent: number | null, partial: boolean }} Node
 */

/**
 * Of a text. `from`: the byte where it begins. `partial`: it is cut off.
 * @typedef {{ from?: number, partial?: boolean }} TreeOptions
 */

/** What a text is made of. `Parser.tree` makes it. */
export class Tree extends Handle {
  #text;

  /** @internal @param {Wasm} wasm @param {number} parser @param {string | Uint8Array} text @param {TreeOptions} options */
  constructor(wasm, parser, text, { from = 0, partial = false }) {
    const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
    super(wasm, wasm.work("chat_parser_tree", parser, bytes, from, flags({ partial }), OUT), "chat_tree_free");
    this.#text = bytes;
  }

  /** How the text relates to the format. `partial`: it ended before the match did. */
  get match() {
    return MATCHES[this.wasm.invoke("chat_tree_outcome", [this.pointer])] ?? "unknown";
  }

  /** The byte behind the match; of a text that does not match, how far it could have matched. */
  get end() {
    return this.wasm.invoke("chat_tree_end", [this.pointer]);
  }

  /** In the order of their first bytes, the outer before the inner. @returns {Node[]} */
  get nodes() {
    const { wasm, pointer } = this;
    return Array.from({ length: wasm.invoke("chat_tree_node_count", [pointer]) }, (_, i) => {
      const at = wasm.fill("chat_tree_node", pointer, i);
      const rule = wasm.view(at);
      const parent = wasm.word(at + 24);
      return {
        name: rule || wasm.view(at + 8),
        rule: rule !== "",
        ...wasm.span(at + 16),
        parent: parent === i ? null : parent,
        partial: wasm.bytes[at + 28] !== 0,
      };
    });
  }

  /** The text of a node. @param {{ begin: number, end: number }} node */
  text({ begin, end }) {
    return new TextDecoder().decode(this.#text.subarray(begin, end));
  }

  /** The message of the tagged text alone. Of a text that does not match, it is an error of the kind `parse`. */
  message() {
    return new Message(this.wasm, this.wasm.work("chat_tree_message", this.pointer, OUT));
  }
}
