/** @import { Api } from "./names.js" */
import type { Api } from "./names.js";
export type ErrorKind = "argument" | "template" | "schema" | "limit" | "parse" | "internal";
/** Why a call failed. What a model writes is never an error: it gives a message. */
export declare class ChatError extends Error {
    #private;
    /** What a server answers with: 400 where the client's input is at fault. @readonly */
    httpStatus: number;
    /** @readonly */
    kind: ErrorKind;
    /**
     * @param {ErrorKind} kind
     * @param {string} message
     * @param {ErrorOptions & { httpStatus?: number, bodies?: Partial<Record<Api, string>> }} [options]
     */
    constructor(kind: ErrorKind, message: string, { httpStatus, bodies, ...options }?: ErrorOptions & {
        httpStatus?: number;
        bodies?: Partial<Record<Api, string>>;
    });
    /** The body of a server's answer, JSON text; empty for an error that the library itself did not raise. @param {Api} api */
    body(api: Api): string;
}
/**
 * @param {number} status
 * @returns {ErrorKind}
 */
export declare function kindOf(status: number): ErrorKind;
