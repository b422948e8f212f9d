import { Handle } from "./handle.js";
import type { Message } from "./message.js";
import type { Stream } from "./stream.js";
export type Event = {
    name: string;
    data: string;
};
export type AnswerOptions = {
    id?: string;
    model?: string;
    created?: number;
    seed?: number;
    call_id_prefix?: string;
    choice?: number;
    omit_request?: boolean;
};
export type AnswerEnd = {
    reason?: "stop" | "length";
    stop_sequence?: string;
    usage?: {
        input_tokens?: number;
        output_tokens?: number;
        cached_tokens?: number;
        reasoning_tokens?: number;
    };
};
/** @import { Api } from "./names.js" */
/** @import { Message } from "./message.js" */
/** @import { ChatRequest } from "./template.js" */
/** @import { Stream } from "./stream.js" */
/** @import { Wasm } from "./wasm.js" */
/**
 * An event of a streamed answer. `name` is empty in chat completions; `data` is JSON text on one line, or `[DONE]`, the last one there.
 * @typedef {{ name: string, data: string }} Event
 */
/**
 * Of an answer. `created` counts Unix seconds, `choice` is the `index` in chat completions, `model` the request's if it is left out. What
 * the library makes up itself, such as the ids of calls, depends on `id` and `seed` alone: give each answer another. With `omit_request`,
 * Responses repeats neither the tools nor the instructions of the request.
 * @typedef {{ id?: string, model?: string, created?: number, seed?: number, call_id_prefix?: string, choice?: number, omit_request?: boolean }} AnswerOptions
 */
/**
 * How an answer ended. `reason`: the model ended its turn (`stop`, the default), or a limit cut it off. `stop_sequence`: the client's text
 * that the model wrote. `usage`: numbers of tokens.
 * @typedef {{ reason?: "stop" | "length", stop_sequence?: string,
 *   usage?: { input_tokens?: number, output_tokens?: number, cached_tokens?: number, reasoning_tokens?: number } }} AnswerEnd
 */
/**
 * The answer to a client's request in the form of an API: `begin`, `deltas` after each `feed` and `finish` of a stream, then `finish`; or `body`
 * alone. `Chatparse.answer` makes it.
 */
export declare class Answer extends Handle {
    #private;
    /** The request as a chat-completions body, JSON text, for `Template.params`. */
    get request(): string;
    /** The first events. Only `messages` sends the length of the prompt at the start. @param {number} [inputTokens] */
    begin(inputTokens?: number): Event[];
    /** The client's stop text (`stop`, `stop_sequences`) that has ended the content, or nothing. The model need not write on. */
    get stopped(): string;
    /**
     * Takes the log probability of a token, before the deltas of its text.
     * @param {number} begin the token's bytes of the output
     * @param {number} end
     * @param {object} entry what the API has in `logprobs.content`
     */
    token(begin: number, end: number, entry: object): void;
    /** The events of what the stream's last `feed` or `finish` added, maybe none. Call it once after each. @param {Stream} stream */
    deltas(stream: Stream): Event[];
    /**
     * The last events.
     * @param {Message} message the stream's, after its end
     * @param {AnswerEnd} [end]
     */
    finish(message: Message, end?: AnswerEnd): Event[];
    /**
     * The last events of an answer that the server breaks off.
     * @param {number} httpStatus the code that it would have sent at the start
     * @param {string} reason
     */
    fail(httpStatus: number, reason: string): Event[];
    /** An event that keeps the connection open; none where the API has no such event. */
    ping(): Event[];
    /** The events of the last call as a server sends them (`text/event-stream`). */
    sse(): string;
    /**
     * The whole answer as one JSON body.
     * @param {Message} message
     * @param {AnswerEnd} [end]
     */
    body(message: Message, end?: AnswerEnd): string;
}
