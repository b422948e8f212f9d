/* A part of chatparse.h, which includes this file: its rules hold here, too. */

#ifndef CHATPARSE_SERVER_H
#define CHATPARSE_SERVER_H

#include "../chatparse.h"

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/* == Servers' APIs ============================================================================= */

/*
 * The life of a streamed answer in outline, without the checks of statuses:
 *
 * ```c
 * chat_answer_new(CHAT_API_MESSAGES, body, body_len, options, options_len, &answer, &error);
 * request = chat_answer_view(answer)->request;
 * chat_params_from_template(template, request.data, request.len, &params, &error);
 * chat_stream_new(params, &stream, &error);
 * chat_answer_begin(answer, input_tokens, &error);
 * ... send chat_answer_sse ...
 * while (the model writes) {
 *   chat_stream_feed(stream, bytes, len, &error);
 *   chat_answer_deltas(answer, stream, &error);
 *   ... send chat_answer_sse ...
 * }
 * chat_stream_finish(stream, flags, &error);
 * chat_answer_deltas(answer, stream, &error);
 * ... send chat_answer_sse ...
 * chat_stream_message(stream, &message, &error);
 * chat_answer_finish(answer, message, end, end_len, &error);
 * ... send chat_answer_sse ...
 * chat_answer_free(answer);
 * ```
 *
 * For an answer that is not streamed, `chat_answer_body` replaces begin, deltas and finish.
 *
 * Each call keeps one id: the model's, if it wrote one before the arguments that no earlier call
 * has, else one that the library makes from the options. An id that the model writes after the
 * arguments counts only in answers that are not streamed.
 *
 * Calls that are cut off stay as far as they came, and the finish reason reports it. Clients of
 * Messages read JSON, so there the arguments are a beginning of a JSON object at any time: they
 * end with the first byte that is not JSON, what is open there is closed, and control characters
 * in texts are escaped. Calls of OpenAI's custom tools have their text, which is streamed in one
 * piece once it is complete.
 */

/**
 * One request to a server's API, and its answer in the form of that API: events or a body. One
 * thread at a time.
 */
typedef struct chatparse_answer chat_answer;

/** The APIs of servers. */
CHAT_ENUM(chat_api) {
  CHAT_API_CHAT_COMPLETIONS = 1, /**< OpenAI's chat completions (`/v1/chat/completions`). */
  CHAT_API_RESPONSES = 2,        /**< OpenAI's Responses (`/v1/responses`). */
  CHAT_API_MESSAGES = 3,         /**< Anthropic's Messages (`/v1/messages`). */
};

/** One event of a streamed answer. */
typedef struct {
  chat_str name; /**< Its name, e.g. `response.output_text.delta`; empty in chat completions, whose
                      events have none. */
  chat_str data; /**< JSON text on one line; `[DONE]` in the last event of chat completions. */
} chat_event;

/** Several of them: an array of the object that they were asked of. */
typedef struct { const chat_event *data; size_t len; } chat_event_list;

/** What an answer says. All is valid until the next call that takes the answer without const. */
typedef struct {
  chat_str request;       /**< The request as a chat-completions body, for
                               `chat_params_from_template`. One of chat completions is unchanged.
                               From the others come `max_completion_tokens` (the limit of tokens),
                               `stop`, `parallel_tool_calls` (true unless the request has it off),
                               `model`, `stream`, `temperature`, `top_p` and this library's options;
                               unknown fields are dropped. */
  chat_str stopped;       /**< The client's stop text (`stop`, `stop_sequences`) that has ended the
                               content, which is cut where it begins; else empty. Look after
                               `chat_answer_deltas`: the model need not write on. What follows is
                               not in the answer, and the finish has this reason. Stop texts in
                               reasoning and in calls are text. */
  chat_event_list events; /**< The events of the last call that makes some. */
} chat_answer_fields;

/**
 * Makes an empty answer to a request. `api` is a `chat_api`, and `request` the client's body, JSON
 * text.
 *
 * `options` is a JSON object, or empty. Fields, all optional: `id` (of the answer; default made
 * from `seed`), `model` (default the request's), `created` (Unix seconds), `seed` (a whole
 * number), `call_id_prefix`, `choice` (the `index` in chat completions), and `omit_request` (true:
 * Responses repeats neither tools nor instructions of the request); others are ignored. An id that
 * the library makes for a call is the prefix and nine letters and digits, the only form that some
 * templates (Mistral's) render. It depends on `id`, `seed`, `choice` and the number of the call
 * alone, not on a clock or chance: give each answer another `id` or `seed`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT`, with the path of a field that is wrong or not supported,
 * e.g. `input[3].type` or `previous_response_id`. `chat_params_from_template` checks the fields
 * that the answer only passes on.
 */
CHAT_MUST_USE chat_status chat_answer_new(uint32_t api, const char *request, size_t request_len,
                                          const char *options, size_t options_len,
                                          chat_answer **out, chat_error **error);

/** Returns what the answer says. */
const chat_answer_fields *chat_answer_view(const chat_answer *answer);

/**
 * Makes the first events. `input_tokens` is the length of the prompt in tokens; only Messages
 * sends it at the start.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for an answer that has begun.
 */
CHAT_MUST_USE chat_status chat_answer_begin(chat_answer *answer, uint64_t input_tokens,
                                            chat_error **error);

/**
 * Takes the log probability of a token, before `chat_answer_deltas` for the feed that has its
 * text. The token is the bytes `begin` to `end` of the output, and `entry` the JSON object that
 * the API has in `logprobs.content`. Entries of tokens of the content are in the events and, after
 * these, in the body of chat completions and Responses.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for an entry that is not JSON.
 */
CHAT_MUST_USE chat_status chat_answer_token(chat_answer *answer, size_t begin, size_t end,
                                            const char *entry, size_t entry_len,
                                            chat_error **error);

/**
 * Makes the events of the stream's current deltas, maybe none. Call it once after each feed, and
 * after finish. Costs as much as the deltas.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for an answer that has not begun or is finished, for
 * deltas of a rollback, and for deltas that do not follow the last ones. After the last two, the
 * answer cannot be used further.
 */
CHAT_MUST_USE chat_status chat_answer_deltas(chat_answer *answer, const chat_stream *stream,
                                             chat_error **error);

/**
 * Makes the last events. `message` is the stream's, after its finish. `end` is a JSON object, or
 * empty. Its fields are optional: `reason` (`stop`, the default: the model ended its turn, or
 * `length`: a limit cut it off), `stop_sequence` (the client's text that the model wrote), and
 * `usage`, an object of the numbers `input_tokens`, `output_tokens`, `cached_tokens` and
 * `reasoning_tokens`. The finish reason follows from `end` and the message. Chat completions send
 * usage if the request has `stream_options.include_usage`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for an answer that has not begun or is finished, and,
 * with the field, for a wrong `end`.
 */
CHAT_MUST_USE chat_status chat_answer_finish(chat_answer *answer, const chat_message *message,
                                             const char *end, size_t end_len, chat_error **error);

/**
 * Makes the last events of an answer that the server breaks off. `http_status` is the code that it
 * would have sent at the start, 400 to 599, and `text` the reason.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for another code, and for an answer that has not begun or
 * is finished.
 */
CHAT_MUST_USE chat_status chat_answer_fail(chat_answer *answer, uint32_t http_status,
                                           const char *text, size_t text_len, chat_error **error);

/**
 * Makes an event that keeps the connection open. Only Messages has one; there are no events in
 * other APIs.
 */
CHAT_MUST_USE chat_status chat_answer_ping(chat_answer *answer, chat_error **error);

/**
 * Writes the events of the last call that makes some as the bytes that a server sends
 * (`text/event-stream`): for each `event: ...`, if it has a name, `data: ...` and an empty line.
 * Empty if there are none.
 */
CHAT_MUST_USE chat_status chat_answer_sse(chat_answer *answer, chat_str *out, chat_error **error);

/**
 * Writes the answer as one JSON body. `message` is the whole message, and `end` is as for
 * `chat_answer_finish`. After a streamed answer, the body agrees with the events. Costs as much as
 * the message.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT`, with the field, for a wrong `end`.
 */
CHAT_MUST_USE chat_status chat_answer_body(chat_answer *answer, const chat_message *message,
                                           const char *end, size_t end_len, chat_str *out,
                                           chat_error **error);

/** Frees the answer. */
void chat_answer_free(chat_answer *answer);

/**
 * Returns the error as the body of a response in the form of a `chat_api`. Its HTTP code is
 * `chat_error_http_status`. Empty for an unknown API.
 */
chat_str chat_error_body(const chat_error *error, uint32_t api);

/** Returns the HTTP code of the error: 400 for a fault of the client's, else 500. 400 for NULL. */
uint32_t chat_error_http_status(const chat_error *error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CHATPARSE_SERVER_H */
