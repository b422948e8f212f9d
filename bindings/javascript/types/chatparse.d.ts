import { Answer } from "./answer.js";
import { Grammar, GrammarBuilder } from "./grammar.js";
import { Matcher } from "./matcher.js";
import { Parser } from "./parser.js";
import { Template } from "./template.js";
export type Diagnostic = import("./message.js").Diagnostic;
export type ToolCall = import("./message.js").ToolCall;
export type Tree = import("./message.js").Tree;
export type CallOrigin = import("./names.js").CallOrigin;
export type DeltaKind = import("./names.js").DeltaKind;
export type Dialect = import("./names.js").Dialect;
export type Status = import("./names.js").Status;
export type TextOrigin = import("./names.js").TextOrigin;
export type Segment = import("./segments.js").Segment;
export type Token = import("./segments.js").Token;
export type Closing = import("./stream.js").Closing;
export type Delta = import("./stream.js").Delta;
export type State = import("./stream.js").State;
export type Finding = import("./template.js").Finding;
export type Lint = import("./template.js").Lint;
import type { AnswerOptions } from "./answer.js";
import type { Schema } from "./grammar.js";
import type { Api, GrammarStyle, Verdict } from "./names.js";
import type { ChatRequest } from "./template.js";
/** @typedef {import("./message.js").Diagnostic} Diagnostic */
/** @typedef {import("./message.js").ToolCall} ToolCall */
/** @typedef {import("./message.js").Tree} Tree */
/** @typedef {import("./names.js").CallOrigin} CallOrigin */
/** @typedef {import("./names.js").DeltaKind} DeltaKind */
/** @typedef {import("./names.js").Dialect} Dialect */
/** @typedef {import("./names.js").Status} Status */
/** @typedef {import("./names.js").TextOrigin} TextOrigin */
/** @typedef {import("./segments.js").Segment} Segment */
/** @typedef {import("./segments.js").Token} Token */
/** @typedef {import("./stream.js").Closing} Closing */
/** @typedef {import("./stream.js").Delta} Delta */
/** @typedef {import("./stream.js").State} State */
/** @typedef {import("./template.js").Finding} Finding */
/** @typedef {import("./template.js").Lint} Lint */
/** @import { AnswerOptions } from "./answer.js" */
/** @import { Schema } from "./grammar.js" */
/** @import { Api, GrammarStyle, Verdict } from "./names.js" */
/** @import { ChatRequest } from "./template.js" */
export { Answer } from "./answer.js";
export { ChatError } from "./error.js";
export { Grammar, GrammarBuilder } from "./grammar.js";
export { Matcher } from "./matcher.js";
export { Message } from "./message.js";
export { Params } from "./params.js";
export { Parser } from "./parser.js";
export { Segments } from "./segments.js";
export { Stream } from "./stream.js";
export { Template } from "./template.js";
export type TemplateOptions = {
    bos?: string;
    eos?: string;
    ends?: string[];
    special_tokens?: string[];
    name?: string;
    learn_only?: boolean;
    prove?: boolean;
    response_template?: object;
};
/**
 * How a template is to be taken. `bos`, `eos`: the texts of the model's special tokens that templates may refer to; `ends`: those of
 * further tokens that end its output. `special_tokens`: those of the vocabulary, for `lint`. `name`: which of several named templates of a
 * `tokenizer_config.json`. `learn_only`: only what the template shows by itself counts. `prove`, by
 * default true: where there are several ways to read it, what it renders decides. `response_template`: how the model's output is read, as
 * transformers has it; the template may then be empty.
 * @typedef {{ bos?: string, eos?: string, ends?: string[], special_tokens?: string[], name?: string, learn_only?: boolean, prove?: boolean,
 *   response_template?: object }} TemplateOptions
 */
/**
 * An instance of the library, with a memory of its own: what was made by one is of no use to another. A defect of the library stops
 * its instance for good: that call and all later ones throw a `ChatError` of the kind `internal`. Load another then.
 */
export declare class Chatparse {
    #private;
    /** @param {WebAssembly.Instance} instance of `chatparse.wasm`; it has no imports. `load` makes one */
    constructor(instance: WebAssembly.Instance);
    /** The version of the library. */
    get version(): string;
    /** The names of the templates that the library brings along, for models that have none. */
    get builtins(): string[];
    /**
     * A template that the library brings along.
     * @param {string} name
     */
    builtin(name: string): Template;
    /**
     * Compiles a template, once for each model.
     * @param {string} source Jinja, as vendors ship it, or the text of a `tokenizer_config.json` or `chat_template.json`
     * @param {TemplateOptions} [options]
     */
    template(source: string, options?: TemplateOptions): Template;
    /**
     * The parser that `Parser.text` of the same version wrote, or that of a format of your own, which docs/formats.md describes.
     * @param {string | object} text
     */
    parser(text: string | object): Parser;
    /**
     * The answer to a client's request in the form of an API.
     * @param {Api} api
     * @param {ChatRequest} request the client's body
     * @param {AnswerOptions} [options]
     */
    answer(api: Api, request: ChatRequest, options?: AnswerOptions): Answer;
    /**
     * The grammar of the JSON values that a schema allows.
     * @param {Schema} schema
     * @param {{ style?: GrammarStyle }} [options]
     */
    grammar(schema: Schema, { style }?: {
        style?: GrammarStyle;
    }): Grammar;
    /** @param {{ style?: GrammarStyle }} [options] how schemas become rules */
    grammarBuilder({ style }?: {
        style?: GrammarStyle;
    }): GrammarBuilder;
    /**
     * The matcher of a grammar, which must be GBNF.
     * @param {string} grammar
     */
    matcher(grammar: string): Matcher;
    /**
     * What a grammar in GBNF says of a text.
     * @param {string} grammar
     * @param {string} text
     * @returns {Verdict}
     */
    check(grammar: string, text: string): Verdict;
}
