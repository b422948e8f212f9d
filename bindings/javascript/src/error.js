/** @import { Api } from "./names.js" */

/**
 * What kind of thing went wrong. `argument`: what was passed has the wrong shape; the message names the field or the byte.
 * `template`: the template does not parse, or fails while it renders. `schema`: a JSON schema cannot be used. `limit`: something is
 * too long, too deep or too costly. `parse`: an output does not fit its format, where `strict` was asked for. `internal`: a defect of
 * the library; the instance is of no use any more. Later versions may add kinds.
 * @typedef {"argument" | "template" | "schema" | "limit" | "parse" | "internal"} ErrorKind
 */

/** @type {Record<number, ErrorKind>} By the hundreds of the C library's status. */
const KINDS = { 1: "argument", 2: "template", 3: "schema", 4: "limit", 5: "parse", 9: "internal" };

/** Why a call failed. What a model writes is never an error: it gives a message. */
export class ChatError extends Error {
  #bodies;

  /**
   * @param {ErrorKind} kind
   * @param {string} message
   * @param {ErrorOptions & { httpStatus?: number, bodies?: Partial<Record<Api, string>> }} [options]
   */
  constructor(kind, message, { httpStatus = 500, bodies = {}, ...options } = {}) {
    super(message, options);
    this.name = "ChatError";
    /** What a server answers with: 400 where the client's input is at fault. @readonly */
    this.httpStatus = httpStatus;
    this.#bodies = bodies;
    /** @readonly */
    this.kind = kind;
  }

  /** The body of a server's answer, JSON text; empty for an error that the library itself did not raise. @param {Api} api */
  body(api) {
    return this.#bodies[api] ?? "";
  }
}

/**
 * @param {number} status
 * @returns {ErrorKind}
 */
export function kindOf(status) {
  return KINDS[Math.floor(status / 100)] ?? "internal";
}
