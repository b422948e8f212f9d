//! Answers in the shape of an API that servers speak.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use serde_json::Value;

use super::error::chat_error;
use super::guard::{Guarded, answer, guard};
use super::message::chat_message;
use super::ptr::{give, item, required};
use super::status::chat_status;
use super::stream::chat_stream;
use super::text::{chat_str, utf8, view};
use crate::api::{Answer, AnswerOptions, Api, Event, Finish};
use crate::error::{Error, Result};

/// An API that a server speaks.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum chat_api {
    /// OpenAI's chat completions (`/v1/chat/completions`).
    ChatCompletions = 1,
    /// OpenAI's Responses (`/v1/responses`).
    Responses = 2,
    /// Anthropic's Messages (`/v1/messages`).
    Messages = 3,
}

/// C may pass any number.
pub(super) fn api(number: u32) -> Result<Api> {
    match number {
        _ if number == chat_api::ChatCompletions as u32 => Ok(Api::ChatCompletions),
        _ if number == chat_api::Responses as u32 => Ok(Api::Responses),
        _ if number == chat_api::Messages as u32 => Ok(Api::Messages),
        _ => Err(Error::invalid(format!("api: {number} is none"))),
    }
}

/// One request of an API, and its answer in the API's shape: the deltas of a stream as events, a message as a body.
///
/// One thread at a time. The life of an answer that is streamed:
///
/// ```c
/// chat_answer_new(CHAT_API_MESSAGES, body, body_len, options, options_len, &answer, &error);
/// request = chat_answer_request(answer);
/// chat_params_from_template(template, request.data, request.len, &params, &error);
/// chat_stream_new(params, &stream, &error);
/// chat_answer_begin(answer, input_tokens, &error);
/// ... send chat_answer_sse ...
/// while (the model writes) {
///   chat_stream_feed(stream, bytes, len, &error);
///   chat_answer_deltas(answer, stream, &error);
///   ... send chat_answer_sse ...
/// }
/// chat_stream_finish(stream, flags, &error);
/// chat_answer_deltas(answer, stream, &error);
/// ... send chat_answer_sse ...
/// chat_stream_message(stream, &message, &error);
/// chat_answer_finish(answer, message, end, end_len, &error);
/// ... send chat_answer_sse ...
/// chat_answer_free(answer);
/// ```
///
/// One that is not streamed is `chat_answer_body` alone.
///
/// Each call has one id for good. It is the one that the model wrote in front of its arguments; where it wrote none there, or one that
/// an earlier call of the answer has, the id is made, of the options. An id that the model writes behind the arguments counts in
/// answers that are not streamed only, as others have been shown.
///
/// Calls that are cut off are there as far as they came; the finish reason tells. In the body of Messages, which has no place for half
/// an object, they have their whole members, and arguments that are no JSON object are `{}`. Calls of OpenAI's custom tools have their text,
/// in one piece once it is whole.
pub struct chat_answer(Guarded<State>);

struct State {
    answer: Answer,
    /// The chat-completions body.
    request: String,
    /// Those of the last call that made some.
    events: Vec<Event>,
    sse: String,
    body: String,
}

impl chat_answer {
    fn new(api: Api, request: &str, options: &str) -> Result<Self> {
        let body: Value = serde_json::from_str(request)
            .map_err(|error| Error::invalid(format!("the request is no JSON: {error}")))?;
        let chat = api.request(&body)?.to_string();
        let options = AnswerOptions { request: body, ..AnswerOptions::from_json(&object(options, "options")?)? };
        let answer = Answer::new(api, options);
        Ok(chat_answer(Guarded::new(State {
            answer,
            request: chat,
            events: Vec::new(),
            sse: String::new(),
            body: String::new(),
        })))
    }

    /// Makes the next events.
    fn events(&mut self, make: impl FnOnce(&mut Answer) -> Result<Vec<Event>>) -> Result<()> {
        self.0.change(|state| {
            state.events = make(&mut state.answer)?;
            Ok(())
        })
    }
}

/// JSON text, or nothing for an empty object.
fn object(text: &str, name: &str) -> Result<Value> {
    let text = if text.is_empty() { "{}" } else { text };
    serde_json::from_str(text).map_err(|error| Error::invalid(format!("{name}: no JSON: {error}")))
}

/// One event of a streamed answer. The views are valid until the next call that takes the answer without `const`.
#[repr(C)]
pub struct chat_event {
    /// Its name, e.g. `response.output_text.delta`; empty in chat completions, whose events have none.
    pub name: chat_str,
    /// JSON text on one line; `[DONE]` in the last event of chat completions.
    pub data: chat_str,
}

/// An answer to a request of which nothing is there. `api` is one of `chat_api`, and `request` the body that the client sent, as
/// JSON text. `chat_answer_request` has it as a chat-completions body.
///
/// `options` is a JSON object, or empty. All of its fields may be missing: `id` (the answer's), `model` (the request's), `created` (Unix
/// seconds), `seed` (a whole number), `call_id_prefix`, `choice` (the `index` in chat completions, where a request has several
/// answers). Others are ignored. Ids that are made are of
/// nine letters and digits, as some templates (Mistral's) render no others, behind the prefix. They are made of `id`, `seed`, `choice` and
/// the number of the call, so `id` or `seed` should be another one in each answer: the library looks at no clock and makes nothing
/// up by chance. Without `id`, the answer's is made of `seed`.
///
/// On success `*out` is a new answer, to be freed with `chat_answer_free`. Both texts are copied.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for an API that there is not, for texts that are not UTF-8 or no JSON, and naming
/// the field that is wrong or cannot be had, e.g. `input[3].type` or `previous_response_id`. The fields of a chat-completions body,
/// and what is passed on of others, are looked at by `chat_params_from_template`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_answer_new(
    api: u32,
    request: *const c_char,
    request_len: usize,
    options: *const c_char,
    options_len: usize,
    out: Option<&mut MaybeUninit<*mut chat_answer>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let out = required(out, "out")?;
        // SAFETY: the caller's texts, by the contract.
        let (request, options) =
            unsafe { (utf8(request, request_len, "request")?, utf8(options, options_len, "options")?) };
        out.write(give(chat_answer::new(self::api(api)?, request, options)?));
        Ok(())
    })
}

/// The request as a chat-completions body, for `chat_params_from_template`; one of chat completions is as it was. Of the others,
/// several calls are allowed unless the body says otherwise, the limit of tokens is `max_completion_tokens`, texts to stop at are `stop`,
/// and `model`, `stream`, `temperature`, `top_p` and options of this library pass by their names; fields that are not known are left
/// out. The view is valid until the answer is freed. Empty for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_answer_request(answer: Option<&chat_answer>) -> chat_str {
    view(answer.and_then(|answer| answer.0.get().ok()).map(|state| state.request.as_str()))
}

/// Makes the events that stand in front of everything else. `input_tokens`, those of the prompt, show in Messages; other APIs tell them
/// at the end.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an answer that has begun.
#[unsafe(no_mangle)]
pub extern "C" fn chat_answer_begin(
    answer: Option<&mut chat_answer>,
    input_tokens: u64,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || required(answer, "answer")?.events(|answer| answer.begin(input_tokens)))
}

/// Makes the events that tell of the deltas that the stream has now: those of its last feed or finish. Each is to be passed once. There
/// are no events where they add nothing that shows. Costs as much as the deltas.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for an answer that has not begun or is finished, for deltas of a rollback, and for
/// those that do not follow on those before. In the last two cases the answer is of no use any more.
#[unsafe(no_mangle)]
pub extern "C" fn chat_answer_deltas(
    answer: Option<&mut chat_answer>,
    stream: Option<&chat_stream>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (answer, stream) = (required(answer, "answer")?, required(stream, "stream")?.stream()?);
        answer.events(|answer| answer.deltas(stream.deltas()))
    })
}

/// Makes the events of the end. `message` is the stream's, after its finish. `end` is a JSON object, or empty: `reason` (`stop`, the
/// default, where the model ended its turn, or `length` where a limit of tokens cut it off), `stop_sequence` (the text of the client's
/// that the model wrote), and `usage`, an object of `input_tokens`, `output_tokens`, `cached_tokens` and `reasoning_tokens`. The finish
/// reason follows from it and from the message. In chat completions, usage shows where the request has
/// `stream_options.include_usage`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for an answer that has not begun or is finished, and for `end`, naming the field.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_answer_finish(
    answer: Option<&mut chat_answer>,
    message: Option<&chat_message>,
    end: *const c_char,
    end_len: usize,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (answer, message) = (required(answer, "answer")?, required(message, "message")?);
        // SAFETY: the caller's text, by the contract.
        let end = Finish::from_json(&object(unsafe { utf8(end, end_len, "end") }?, "end")?)?;
        answer.events(|answer| answer.finish(message.ended(), &end))
    })
}

/// Makes the last events of an answer that breaks off for a reason of the server's. `http_status` is the code that it would have
/// answered with at the beginning, and `text` says why.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for a text that is not UTF-8, for a code that is none from 400 to 599, and for an answer
/// that has not begun or is finished.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_answer_fail(
    answer: Option<&mut chat_answer>,
    http_status: u32,
    text: *const c_char,
    text_len: usize,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let answer = required(answer, "answer")?;
        // SAFETY: the caller's text, by the contract.
        let text = unsafe { utf8(text, text_len, "text") }?;
        let code = u16::try_from(http_status).ok().filter(|code| (400..600).contains(code));
        let code = code.ok_or_else(|| Error::invalid(format!("http_status: {http_status} is no error's")))?;
        answer.events(|answer| answer.fail(code, text))
    })
}

/// Makes an event that says nothing but that the server is alive. Only Messages has one; the others have no event then.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_answer_ping(
    answer: Option<&mut chat_answer>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || required(answer, "answer")?.events(|answer| Ok(answer.ping())))
}

/// How many events the last call made that makes some. 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_answer_event_count(answer: Option<&chat_answer>) -> usize {
    answer.and_then(|answer| answer.0.get().ok()).map_or(0, |state| state.events.len())
}

/// Event number `index` (from 0) of these.
///
/// On success `*out` is filled; its views are valid until the next call that takes the answer without `const`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn chat_answer_event(
    answer: Option<&chat_answer>,
    index: usize,
    out: Option<&mut MaybeUninit<chat_event>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (answer, out) = (required(answer, "answer")?, required(out, "out")?);
        let event = item(&answer.0.get()?.events, index, "events")?;
        out.write(chat_event { name: view(Some(event.name)), data: view(Some(&event.data)) });
        Ok(())
    })
}

/// All of these events as the bytes that a server sends (`text/event-stream`): for each `event: ...`, where it has a name, `data: ...`
/// and an empty line. Empty where there are none.
///
/// On success `*out` is a view, valid until the next call that takes the answer without `const`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_answer_sse(
    answer: Option<&mut chat_answer>,
    out: Option<&mut MaybeUninit<chat_str>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (answer, out) = (required(answer, "answer")?, required(out, "out")?);
        answer.0.change(|state| {
            state.sse = state.events.iter().map(Event::sse).collect();
            out.write(view(Some(&state.sse)));
            Ok(())
        })
    })
}

/// The answer as one JSON body. `message` is all of it, and `end` as in `chat_answer_finish`. Of an answer that was streamed, the body says
/// what the events said. Costs as much as the message.
///
/// On success `*out` is a view, valid until the next call that takes the answer without `const`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, and for `end`, naming the field.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_answer_body(
    answer: Option<&mut chat_answer>,
    message: Option<&chat_message>,
    end: *const c_char,
    end_len: usize,
    out: Option<&mut MaybeUninit<chat_str>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (answer, message) = (required(answer, "answer")?, required(message, "message")?);
        let out = required(out, "out")?;
        // SAFETY: the caller's text, by the contract.
        let end = Finish::from_json(&object(unsafe { utf8(end, end_len, "end") }?, "end")?)?;
        answer.0.change(|state| {
            state.body = state.answer.body(message.ended(), &end).to_string();
            out.write(view(Some(&state.body)));
            Ok(())
        })
    })
}

/// Frees the answer. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn chat_answer_free(answer: Option<Box<chat_answer>>) {
    drop(answer);
}

/// The error as the body of a response in the shape of an API, one of `chat_api`; `chat_error_http_status` is its code. The view is
/// valid until the error is freed. Empty for NULL and for an API that there is not.
#[unsafe(no_mangle)]
pub extern "C" fn chat_error_body(error: Option<&chat_error>, api: u32) -> chat_str {
    view(answer(|| error.zip(self::api(api).ok()).map(|(error, api)| error.body(api))))
}

/// The HTTP code for the error: 400 for what the client sent, 500 for what is not the client's doing. 400 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_error_http_status(error: Option<&chat_error>) -> u32 {
    error.map_or(400, |error| crate::api::http_status(&error.0).into())
}
