import { Handle } from "./handle.js";
import type { CallOrigin, Field, PartKind, Status } from "./names.js";
export type ToolCall = {
    id: string;
    name: string;
    arguments: string;
    complete: boolean;
    known: boolean;
    valid: boolean;
    origin: CallOrigin;
};
export type Diagnostic = {
    kind: string;
    call: number | null;
    span: [number, number];
    message: string;
};
export type Report = {
    status: Status;
    left_at: number | null;
    diagnostics: Diagnostic[];
    calls: {
        complete: boolean;
        known: boolean;
        valid: boolean;
        origin: CallOrigin;
    }[];
};
export type Span = {
    begin: number;
    end: number;
};
export type Part = {
    kind: PartKind;
    call: number;
    text: string;
    begin: number;
    end: number;
};
export type OpenAIMessage = {
    role: string;
    content: string | null;
    reasoning_content?: string;
    tool_calls?: {
        id?: string;
        type: string;
        function: {
            name: string;
            arguments: string;
        };
    }[];
};
export type Tree = {
    outcome: "matched" | "partial" | "failed";
    end: number;
    nodes: {
        rule?: string;
        tag?: string;
        begin: number;
        end: number;
        parent: number | null;
        partial: boolean;
    }[];
};
/** @import { Wasm } from "./wasm.js" */
/** @import { CallOrigin, Field, PartKind, Status } from "./names.js" */
/**
 * A call that a message makes. `arguments` is JSON text, or a prefix of it where the output was cut off. `complete`: its end was there.
 * `known`: the request offers the tool. `valid`: it is complete, and its arguments are an object that does not certainly violate
 * the tool's schema. A call that is all three may be run; look at `origin` first.
 * @typedef {{ id: string, name: string, arguments: string, complete: boolean, known: boolean, valid: boolean, origin: CallOrigin
 * }} ToolCall
 */
/**
 * What is unusual about an output. `span` has bytes of the output: the first, and behind the last.
 * @typedef {{ kind: string, call: number | null, span: [number, number], message: string }} Diagnostic
 */
/**
 * How well an output fitted its format. `left_at` is the first byte that the format does not have; the diagnostic
 * `left_format` begins where the format was given up for good.
 * @typedef {{ status: Status, left_at: number | null, diagnostics: Diagnostic[],
 *   calls: { complete: boolean, known: boolean, valid: boolean, origin: CallOrigin }[] }} Report
 */
/** @typedef {{ begin: number, end: number }} Span bytes of an output: the first, and behind the last */
/**
 * A stretch of the output that became one kind of thing. `text` is empty for a call, `call` is its number, or 0.
 * @typedef {{ kind: PartKind, call: number, text: string, begin: number, end: number }} Part
 */
/**
 * A message as OpenAI's chat completions have it.
 * @typedef {{ role: string, content: string | null, reasoning_content?: string,
 *   tool_calls?: { id?: string, type: string, function: { name: string, arguments: string } }[] }} OpenAIMessage
 */
/**
 * What a text is made of. `outcome`: `partial` where it ended before the match did. `end`: the byte behind the match; of a text that does not
 * match, how far it could have matched. `nodes`: the rules, tags and labels that matched, in the order of their first bytes, the outer before
 * the inner. `begin` and `end` are bytes of the text; `parent` is the number of the node around it; `partial`: the text ended inside of it.
 * @typedef {{ outcome: "matched" | "partial" | "failed", end: number, nodes: { rule?: string, tag?: string, begin: number, end: number,
 *   parent: number | null, partial: boolean }[] }} Tree
 */
/** What a model said: reasoning, content and tool calls. */
export declare class Message extends Handle {
    #private;
    /** How the output related to the format. */
    get status(): Status;
    get content(): string;
    /** Empty if the request keeps reasoning in the content. */
    get reasoning(): string;
    /** @returns {ToolCall[]} */
    get toolCalls(): ToolCall[];
    /** How well the output fitted, call by call, and what was unusual. @returns {Report} */
    get report(): Report;
    /** What matched, of a message of `Parser.tagged`; `null` for others. @returns {Tree | null} */
    get tree(): Tree | null;
    /** What the output became, in its order: a model may think, call, and think again. @returns {Part[]} */
    get parts(): Part[];
    /**
     * The bytes of the output that a field came from, without markup, in the order of its text.
     * @param {Field} field
     * @param {number} [call] of which call, from 0
     * @returns {Span[]}
     */
    spans(field: Field, call?: number): Span[];
    /** The message as OpenAI's chat completions have it. @returns {OpenAIMessage} */
    toJSON(): OpenAIMessage;
}
