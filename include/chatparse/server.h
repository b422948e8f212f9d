/* A part of chatparse.h, which includes this file: its rules hold here, too. */

#ifndef CHATPARSE_SERVER_H
#define CHATPARSE_SERVER_H

#include "../chatparse.h"

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/* == Servers' APIs ================================================================================================= */

/*
 * One thread at a time. The life of an answer that is streamed:
 *
 * ```c
 * chat_answer_new(CHAT_API_MESSAGES, body, body_len, options, options_len, &answer, &error);
 * request = chat_answer_request(answer);
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
 * One that is not streamed is `chat_answer_body` alone.
 *
 * Each call has one id for good. It is the one that the model wrote in front of its arguments; where it wrote none there, or one that
 * an earlier call of the answer has, the id is made, of the options. An id that the model writes behind the arguments counts in
 * answers that are not streamed only, as others have been shown.
 *
 * Calls that are cut off are there as far as they came; the finish reason tells. In the body of Messages, which has no place for half
 * an object, they have their whole members, and arguments that are no JSON object are `{}`. Calls of OpenAI's custom tools have their text,
 * in one piece once it is whole.
 */

/** An API that a server speaks. */
CHAT_ENUM(chat_api) {
  CHAT_API_CHAT_COMPLETIONS = 1, /**< OpenAI's chat completions (`/v1/chat/completions`). */
  CHAT_API_RESPONSES = 2,        /**< OpenAI's Responses (`/v1/responses`). */
  CHAT_API_MESSAGES = 3,         /**< Anthropic's Messages (`/v1/messages`). */
};

/** One event of a streamed answer. The views are valid until the next call that takes the answer without `const`. */
typedef struct {
  chat_str name; /**< Its name, e.g. `response.output_text.delta`; empty in chat completions, whose events have none. */
  chat_str data; /**< JSON text on one line; `[DONE]` in the last event of chat completions. */
} chat_event;

/**
 * An answer to a request of which nothing is there. `api` is one of `chat_api`, and `request` the body that the client sent, as
 * JSON text. `chat_answer_request` has it as a chat-completions body.
 *
 * `options` is a JSON object, or empty. All of its fields may be missing: `id` (the answer's), `model` (the request's), `created` (Unix
 * seconds), `seed` (a whole number), `call_id_prefix`, `choice` (the `index` in chat completions, where a request has several
 * answers). Others are ignored. Ids that are made are of
 * nine letters and digits, as some templates (Mistral's) render no others, behind the prefix. They are made of `id`, `seed`, `choice` and
 * the number of the call, so `id` or `seed` should be another one in each answer: the library looks at no clock and makes nothing
 * up by chance. Without `id`, the answer's is made of `seed`.
 *
 * On success `*out` is a new answer, to be freed with `chat_answer_free`. Both texts are copied.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for an API that there is not, for texts that are not UTF-8 or no JSON, and naming
 * the field that is wrong or cannot be had, e.g. `input[3].type` or `previous_response_id`. The fields of a chat-completions body,
 * and what is passed on of others, are looked at by `chat_params_from_template`.
 */
chat_status chat_answer_new(uint32_t api, const char *request, size_t request_len, const char *options,
                            size_t options_len, chat_answer **out, chat_error **error);

/**
 * The request as a chat-completions body, for `chat_params_from_template`; one of chat completions is as it was. Of the others,
 * several calls are allowed unless the body says otherwise, the limit of tokens is `max_completion_tokens`, texts to stop at are `stop`,
 * and `model`, `stream`, `temperature`, `top_p` and options of this library pass by their names; fields that are not known are left
 * out. The view is valid until the answer is freed. Empty for NULL.
 */
chat_str chat_answer_request(const chat_answer *answer);

/**
 * Makes the events that stand in front of everything else. `input_tokens`, those of the prompt, show in Messages; other APIs tell them
 * at the end.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an answer that has begun.
 */
chat_status chat_answer_begin(chat_answer *answer, uint64_t input_tokens, chat_error **error);

/**
 * Makes the events that tell of the deltas that the stream has now: those of its last feed or finish. Each is to be passed once. There
 * are no events where they add nothing that shows. Costs as much as the deltas.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for an answer that has not begun or is finished, for deltas of a rollback, and for
 * those that do not follow on those before. In the last two cases the answer is of no use any more.
 */
chat_status chat_answer_deltas(chat_answer *answer, const chat_stream *stream, chat_error **error);

/**
 * Makes the events of the end. `message` is the stream's, after its finish. `end` is a JSON object, or empty: `reason` (`stop`, the
 * default, where the model ended its turn, or `length` where a limit of tokens cut it off), `stop_sequence` (the text of the client's
 * that the model wrote), and `usage`, an object of `input_tokens`, `output_tokens`, `cached_tokens` and `reasoning_tokens`. The finish
 * reason follows from it and from the message. In chat completions, usage shows where the request has
 * `stream_options.include_usage`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for an answer that has not begun or is finished, and for `end`, naming the field.
 */
chat_status chat_answer_finish(chat_answer *answer, const chat_message *message, const char *end, size_t end_len,
                               chat_error **error);

/**
 * Makes the last events of an answer that breaks off for a reason of the server's. `http_status` is the code that it would have
 * answered with at the beginning, and `text` says why.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for a text that is not UTF-8, for a code that is none from 400 to 599, and for an answer
 * that has not begun or is finished.
 */
chat_status chat_answer_fail(chat_answer *answer, uint32_t http_status, const char *text, size_t text_len,
                             chat_error **error);

/**
 * Makes an event that says nothing but that the server is alive. Only Messages has one; the others have no event then.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_answer_ping(chat_answer *answer, chat_error **error);

/** How many events the last call made that makes some. 0 for NULL. */
size_t chat_answer_event_count(const chat_answer *answer);

/**
 * Event number `index` (from 0) of these.
 *
 * On success `*out` is filled; its views are valid until the next call that takes the answer without `const`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
 */
chat_status chat_answer_event(const chat_answer *answer, size_t index, chat_event *out, chat_error **error);

/**
 * All of these events as the bytes that a server sends (`text/event-stream`): for each `event: ...`, where it has a name, `data: ...`
 * and an empty line. Empty where there are none.
 *
 * On success `*out` is a view, valid until the next call that takes the answer without `const`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
 */
chat_status chat_answer_sse(chat_answer *answer, chat_str *out, chat_error **error);

/**
 * The answer as one JSON body. `message` is all of it, and `end` as in `chat_answer_finish`. Of an answer that was streamed, the body says
 * what the events said. Costs as much as the message.
 *
 * On success `*out` is a view, valid until the next call that takes the answer without `const`.
 *
 * Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, and for `end`, naming the field.
 */
chat_status chat_answer_body(chat_answer *answer, const chat_message *message, const char *end, size_t end_len,
                             chat_str *out, chat_error **error);

/** Frees the answer. NULL is fine. */
void chat_answer_free(chat_answer *answer);

/**
 * The error as the body of a response in the shape of an API, one of `chat_api`; `chat_error_http_status` is its code. The view is
 * valid until the error is freed. Empty for NULL and for an API that there is not.
 */
chat_str chat_error_body(const chat_error *error, uint32_t api);

/** The HTTP code for the error: 400 for what the client sent, 500 for what is not the client's doing. 400 for NULL. */
uint32_t chat_error_http_status(const chat_error *error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CHATPARSE_SERVER_H */
