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
  /**
   * @param {ErrorKind} kind
   * @param {string} message
   * @param {ErrorOptions} [options]
   */
  constructor(kind, message, options) {
    super(message, options);
    this.name = "ChatError";
    /** @readonly */
    this.kind = kind;
  }
}

/**
 * @param {number} status
 * @returns {ErrorKind}
 */
export function kindOf(status) {
  return KINDS[Math.floor(status / 100)] ?? "internal";
}
