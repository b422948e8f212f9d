import { Handle } from "./handle.js";
import { Message } from "./message.js";
export type Node = {
    name: string;
    rule: boolean;
    begin: number;
    end: number;
    parent: number | null;
    partial: boolean;
};
export type TreeOptions = {
    from?: number;
    partial?: boolean;
};
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
export declare class Tree extends Handle {
    #private;
    /** How the text relates to the format. `partial`: it ended before the match did. */
    get match(): import("./names.js").Match;
    /** The byte behind the match; of a text that does not match, how far it could have matched. */
    get end(): number;
    /** In the order of their first bytes, the outer before the inner. @returns {Node[]} */
    get nodes(): Node[];
    /** The text of a node. @param {{ begin: number, end: number }} node */
    text({ begin, end }: {
        begin: number;
        end: number;
    }): string;
    /** The message of the tagged text alone. Of a text that does not match, it is an error of the kind `parse`. */
    message(): Message;
}
