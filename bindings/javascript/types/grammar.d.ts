import { Handle } from "./handle.js";
import type { Dialect, Fidelity } from "./names.js";
export type Departure = {
    kind: Fidelity;
    schema: string;
    pointer: string;
    message: string;
};
export type Schema = string | object | boolean;
/** @import { Wasm } from "./wasm.js" */
/** @import { Dialect, Fidelity, GrammarStyle } from "./names.js" */
/**
 * A place of a schema that a grammar does not follow to the letter. `schema` is the rule or tool that it was added as, `pointer` the
 * place inside, `message` what stands there instead.
 * @typedef {{ kind: Fidelity, schema: string, pointer: string, message: string }} Departure
 */
/** A JSON schema: a value, or its JSON text, which keeps the numbers as they are written. @typedef {string | object | boolean} Schema */
/** @param {Schema} schema */
export declare const schemaText: (schema: Schema) => string;
/** A grammar for a sampler, and where it is not exactly what its schemas ask for. */
export declare class Grammar extends Handle {
    #private;
    /** The rules; those of GBNF start at `root`. Empty where nothing is constrained. */
    get text(): string;
    /** @returns {Departure[]} */
    get report(): Departure[];
    /**
     * The same grammar in another dialect; only its text and its report are of use.
     * @param {Dialect} dialect
     */
    as(dialect: Dialect): Grammar;
    toString(): string;
}
/**
 * Puts a grammar together from rules, texts and schemas. Each function that adds a rule returns its actual name: refer to it by that.
 * The grammar starts at the rule `root`.
 */
export declare class GrammarBuilder extends Handle {
    /**
     * @param {string} name
     * @param {string} body what GBNF has right of `::=`; it may refer to rules that are added later
     */
    addRule(name: string, body: string): string;
    /**
     * @param {string} name
     * @param {string} text exactly what it allows
     */
    addLiteral(name: string, text: string): string;
    /**
     * @param {string} name
     * @param {Schema} schema
     */
    addSchema(name: string, schema: Schema): string;
    /** The grammar of all that was added so far. */
    build(): Grammar;
}
