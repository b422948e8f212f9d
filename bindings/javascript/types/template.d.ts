import { Handle } from "./handle.js";
import { Params } from "./params.js";
import { Segments } from "./segments.js";
export type ChatRequest = string | {
    messages?: unknown;
    [field: string]: unknown;
};
export type RequestOptions = {
    reasoning_format?: "none" | "auto" | "deepseek" | "deepseek-legacy";
    enable_thinking?: boolean;
    add_generation_prompt?: boolean;
    continue_final_message?: boolean | "content" | "reasoning_content";
    compat?: "off" | "llama.cpp";
    chat_template_kwargs?: object;
    plain?: boolean;
    for_training?: boolean;
    append?: "template" | "always";
    json_schema?: object;
    grammar?: string;
    grammar_style?: "faithful" | "llama.cpp";
    force_pure_content?: boolean;
    now?: number;
    media_marker?: string;
    malformed_arguments?: "keep" | "empty" | "error";
    dialects?: "off" | "recover" | "tail" | "always";
    unknown_tools?: "call" | "content";
    calls_in_reasoning?: "at_end" | "off" | "always" | "llama.cpp";
    bare_calls?: "off" | "whole" | "anywhere";
    opening_again?: "marker" | "reasoning";
    incomplete_calls?: "keep" | "drop" | "content";
    nearly_json?: "mend" | "keep";
    prose?: boolean;
    json_spacing?: "template" | "free" | "compact";
    revealed_tools?: "inline" | "listed";
    roles?: "fit" | "as_sent";
    effort?: "fit" | "as_sent";
    hosted_tools?: "refuse" | "keep";
};
export type Proof = {
    reader: string;
    cases: number;
    read_back: number;
    with_calls: number;
    recovered: number;
    alike: number;
    failures: {
        probe: string;
        thinking: string;
        turn: string;
        expected: string;
        got: string;
        why: string;
    }[];
    [count: string]: unknown;
};
export type Finding = {
    rule: string;
    fault: boolean;
    message: string;
    effect: string;
    request: Record<string, any> | null;
    shown: {
        from: string;
        text: string;
    }[];
    places: {
        line: number;
        column: number;
        excerpt: string;
    }[];
};
export type Lint = {
    faults: number;
    laws: Record<string, "fault" | "note" | "holds" | "not asked">;
    findings: Finding[];
    cases: {
        probe: string;
        thinking: string;
        turn: string;
        outcome: string;
        fault: boolean;
        at: number | null;
        expected: string;
        got: string;
    }[];
};
/** @import { Wasm } from "./wasm.js" */
/**
 * An OpenAI chat-completions body, or its JSON text, which keeps numbers as they are written (1.0 stays 1.0).
 * @typedef {string | { messages?: unknown, [field: string]: unknown }} ChatRequest
 */
/**
 * The host's options; each counts before the body's field of that name. All of them are described at `chat_params_from_template` in
 * `chatparse.h`. `now` is in Unix seconds; the clock of the platform, unless it is said.
 * @typedef {{ reasoning_format?: "none" | "auto" | "deepseek" | "deepseek-legacy", enable_thinking?: boolean,
 *   add_generation_prompt?: boolean, continue_final_message?: boolean | "content" | "reasoning_content", compat?: "off" | "llama.cpp",
 *   chat_template_kwargs?: object, plain?: boolean, for_training?: boolean, append?: "template" | "always", json_schema?: object, grammar?: string,
 *   grammar_style?: "faithful" | "llama.cpp", force_pure_content?: boolean, now?: number, media_marker?: string,
 *   malformed_arguments?: "keep" | "empty" | "error", dialects?: "off" | "recover" | "tail" | "always",
 *   unknown_tools?: "call" | "content", calls_in_reasoning?: "at_end" | "off" | "always" | "llama.cpp",
 *   bare_calls?: "off" | "whole" | "anywhere", opening_again?: "marker" | "reasoning", incomplete_calls?: "keep" | "drop" | "content", nearly_json?: "mend" | "keep", prose?: boolean,
 *   json_spacing?: "template" | "free" | "compact",
 *   revealed_tools?: "inline" | "listed", roles?: "fit" | "as_sent", effort?: "fit" | "as_sent", hosted_tools?: "refuse" | "keep" }} RequestOptions
 */
/**
 * Whether what a template writes is read back: of `cases` messages, `read_back` come back; `failures` says what is wrong with others.
 * @typedef {{ reader: string, cases: number, read_back: number, with_calls: number, recovered: number, alike: number,
 *   failures: { probe: string, thinking: string, turn: string, expected: string, got: string, why: string }[],
 *   [count: string]: unknown }} Proof
 */
/**
 * A law that a template breaks. `rule`: its name; `docs/lint.md` lists them. `message`: what is wrong, `effect`: the cost to users.
 * `request`: the smallest one that shows it, or null. `shown`: what is expected and what is there instead. `places`: those in the
 * template's source. `fault`: false for a note.
 * @typedef {{ rule: string, fault: boolean, message: string, effect: string, request: Record<string, any> | null,
 *   shown: { from: string, text: string }[], places: { line: number, column: number, excerpt: string }[] }} Finding
 */
/**
 * For authors of templates. `faults` counts the findings that are faults. `laws`: the verdict for each law. Each of `cases` is a message
 * that was rendered and read back. `chatparse.h` lists the fields.
 * @typedef {{ faults: number, laws: Record<string, "fault" | "note" | "holds" | "not asked">, findings: Finding[],
 *   cases: { probe: string, thinking: string, turn: string, outcome: string, fault: boolean, at: number | null,
 *   expected: string, got: string }[] }} Lint
 */
/** A compiled chat template: it renders prompts, and what it shows of the model's format is learnt from it once. */
export declare class Template extends Handle {
    #private;
    /** The text as it is used: line feeds only, none at its end, known faults mended. */
    get source(): string;
    /**
     * What the template accepts, e.g. `supports_tools`; and `reasoning_effort_levels`, the levels that it renders each in its own way.
     * @returns {Record<string, boolean> & { reasoning_effort_levels: string[] }}
     */
    get caps(): Record<string, boolean> & {
        reasoning_effort_levels: string[];
    };
    /** What reads the model's output: `turn`, what was learnt, or the name of a known family of templates. */
    get reader(): string;
    /** What was learnt by comparing renders: what opens and closes each part, how calls are written. @returns {Record<string, any>} */
    get layout(): Record<string, any>;
    /**
     * What was learnt of the way in which the template writes an answer: texts for each thing. This is what
     * counts where `reader` is `turn`.
     * @returns {Record<string, string[]>}
     */
    get turn(): Record<string, string[]>;
    /** How well what the template writes is read back. The first question renders and parses some sixty messages. @returns {Proof} */
    get proof(): Proof;
    /** For authors of templates: which laws about renders and reads it breaks. @returns {Lint} */
    get lint(): Lint;
    /**
     * How outputs are read, as a `response_template` for transformers, and its `limits`: what may be read otherwise by it. If no response
     * template can say it, that is null, and there is an `error`.
     * @returns {{ response_template: Record<string, any> | null, limits: { field: string, message: string }[], error?: string }}
     */
    get responseTemplate(): {
        response_template: Record<string, any> | null;
        limits: {
            field: string;
            message: string;
        }[];
        error?: string;
    };
    /**
     * The prompt of a request, and what parses its output.
     * @param {ChatRequest} request
     * @param {RequestOptions} [options]
     */
    params(request: ChatRequest, options?: RequestOptions): Params;
    /**
     * The params of a prompt that the host has rendered itself: what its end leaves open, reasoning or a text, is read from it.
     * @param {string} prompt
     * @param {ChatRequest} [request] of which the tools and the options count; its messages may be empty
     */
    paramsFor(prompt: string, request?: ChatRequest): Params;
    /**
     * The prompt of a request, with the origin of each byte.
     * @param {ChatRequest} request
     * @param {RequestOptions} [options]
     */
    segments(request: ChatRequest, options?: RequestOptions): Segments;
    /**
     * The segments of each request. The first one that fails throws, with its index. An instance has one thread, so that takes as long as one
     * by one.
     * @param {ChatRequest[]} requests
     * @param {RequestOptions} [options] for all of them
     */
    segmentsBatch(requests: ChatRequest[], options?: RequestOptions): Segments[];
}
