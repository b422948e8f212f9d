/**
 * What kind of thing went wrong. `argument`: what was passed has the wrong shape; the message names the field or the byte.
 * `template`: the template does not parse, or fails while it renders. `schema`: a JSON schema cannot be used. `limit`: something is
 * too long, too deep or too costly. `parse`: an output does not fit its format, where `strict` was asked for. `internal`: a defect of
 * the library; the instance is of no use any more. Later versions may add kinds.
 * @typedef {"argument" | "template" | "schema" | "limit" | "parse" | "internal"} ErrorKind
 */
export type ErrorKind = "argument" | "template" | "schema" | "limit" | "parse" | "internal";
/** Why a call failed. What a model writes is never an error: it gives a message. */
export declare class ChatError extends Error {
    /** @readonly */
    kind: ErrorKind;
    /**
     * @param {ErrorKind} kind
     * @param {string} message
     * @param {ErrorOptions} [options]
     */
    constructor(kind: ErrorKind, message: string, options?: ErrorOptions);
}
/**
 * @param {number} status
 * @returns {ErrorKind}
 */
export declare function kindOf(status: number): ErrorKind;
