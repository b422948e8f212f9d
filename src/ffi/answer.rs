//! Answers in the shape of an API that servers speak.

use std::ffi::c_char;

use serde_json::Value;

use super::message::chat_message;
use super::status::{
    ErrorOut, Guarded, Out, answer, chat_error, chat_status, filled, give, guard, numbered,
    required, written,
};
use super::stream::chat_stream;
use super::text::{View, chat_list, chat_str, seen, utf8, view};
use chatparse_api::{Answer, AnswerOptions, Event, Finish, http_status};
use chatparse_base::{Error, Result, number};

/// The APIs of servers.
pub use chatparse_api::Api as chat_api;

/// C may pass any number.
fn api(number: u32) -> Result<chat_api> {
    numbered(
        "api",
        number,
        &[
            chat_api::ChatCompletions,
            chat_api::Responses,
            chat_api::Messages,
        ],
    )
}

/// One request to a server's API, and its answer in the form of that API: events or a body. One
/// thread at a time.
///
/// The life of a streamed answer in outline, without the checks of statuses:
///
/// ```c
/// chat_answer_new(CHAT_API_MESSAGES, body, body_len, options, options_len, &answer, &error);
/// request = chat_answer_view(answer)->request;
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
/// For an answer that is not streamed, `chat_answer_body` replaces begin, deltas and finish.
///
/// Each call keeps one id: the model's, if it wrote one before the arguments that no earlier call
/// has, else one that the library makes from the options. An id that the model writes after the
/// arguments counts only in answers that are not streamed.
///
/// Calls that are cut off stay as far as they came, and the finish reason reports it. Clients of
/// Messages read JSON, so there the arguments are a beginning of a JSON object at any time: they
/// end with the first byte that is not JSON, what is open there is closed, and control characters
/// in texts are escaped. Calls of OpenAI's custom tools have their text, which is streamed in one
/// piece once it is complete.
pub struct chat_answer(Guarded<AnswerState>);

struct AnswerState {
    answer: Answer,
    /// The chat-completions body.
    request: String,
    /// Those of the last call that made some.
    events: Vec<Event>,
    /// As text, or the body.
    written: String,
    fields: View<chat_answer_fields>,
}

impl chat_answer {
    /// Makes the next events.
    fn events(&mut self, make: impl FnOnce(&mut Answer) -> Result<Vec<Event>>) -> Result<()> {
        self.0.change(|state| {
            state.fields = View::default();
            state.events = make(&mut state.answer)?;
            Ok(())
        })
    }
}

/// JSON text, or nothing for an empty object.
fn object(text: &str, name: &str) -> Result<Value> {
    let text = if text.is_empty() { "{}" } else { text };
    number::parse(text, name)
}

/// How an output ended.
///
/// # Safety
/// As [`utf8`].
unsafe fn finish(data: *const c_char, len: usize) -> Result<Finish> {
    // SAFETY: this function's contract is the same.
    Finish::from_json(&object(unsafe { utf8(data, len, "end") }?, "end")?)
}

/// One event of a streamed answer.
#[repr(C)]
pub struct chat_event {
    /// Its name, e.g. `response.output_text.delta`; empty in chat completions, whose events have
    /// none.
    pub name: chat_str,
    /// JSON text on one line; `[DONE]` in the last event of chat completions.
    pub data: chat_str,
}

/// Makes an empty answer to a request. `api` is a `chat_api`, and `request` the client's body, JSON
/// text.
///
/// `options` is a JSON object, or empty. Fields, all optional: `id` (of the answer; default made
/// from `seed`), `model` (default the request's), `created` (Unix seconds), `seed` (a whole
/// number), `call_id_prefix`, `choice` (the `index` in chat completions), and `omit_request` (true:
/// Responses repeats neither tools nor instructions of the request); others are ignored. An id that
/// the library makes for a call is the prefix and nine letters and digits, the only form that some
/// templates (Mistral's) render. It depends on `id`, `seed`, `choice` and the number of the call
/// alone, not on a clock or chance: give each answer another `id` or `seed`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT`, with the path of a field that is wrong or not supported,
/// e.g. `input[3].type` or `previous_response_id`. `chat_params_from_template` checks the fields
/// that the answer only passes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_answer_new(
    api: u32,
    request: *const c_char,
    request_len: usize,
    options: *const c_char,
    options_len: usize,
    out: Out<*mut chat_answer>,
    error: ErrorOut,
) -> chat_status {
    written(out, error, || {
        // SAFETY: the caller's texts, by the contract.
        let (request, options) = unsafe {
            (
                utf8(request, request_len, "request")?,
                utf8(options, options_len, "options")?,
            )
        };
        let api = self::api(api)?;
        let body = number::parse(request, "the request")?;
        let chat = number::write(&api.request(&body)?);
        let mut options = AnswerOptions::from_json(&object(options, "options")?)?;
        options.request = body;
        Ok(give(chat_answer(Guarded::new(AnswerState {
            answer: Answer::new(api, options),
            request: chat,
            events: Vec::new(),
            written: String::new(),
            fields: View::default(),
        }))))
    })
}

/// What an answer says. All is valid until the next call that takes the answer without const.
#[repr(C)]
pub struct chat_answer_fields {
    /// The request as a chat-completions body, for `chat_params_from_template`. One of chat
    /// completions is unchanged. From the others come `max_completion_tokens` (the limit of
    /// tokens), `stop`, `parallel_tool_calls` (true unless the request has it off), `model`,
    /// `stream`, `temperature`, `top_p` and this library's options; unknown fields are dropped.
    pub request: chat_str,
    /// The client's stop text (`stop`, `stop_sequences`) that has ended the content, which is cut
    /// where it begins; else empty. Look after `chat_answer_deltas`: the model need not write on.
    /// What follows is not in the answer, and the finish has this reason. Stop texts in reasoning
    /// and in calls are text.
    pub stopped: chat_str,
    /// The events of the last call that makes some.
    pub events: chat_list<chat_event>,
}

/// Returns what the answer says.
#[unsafe(no_mangle)]
pub extern "C" fn chat_answer_view(answer: Option<&chat_answer>) -> *const chat_answer_fields {
    seen(answer, |answer| {
        let state = answer.0.get().ok()?;
        let events = state.events.iter();
        Some(state.fields.get(|lists| chat_answer_fields {
            request: view(&state.request),
            stopped: view(state.answer.stopped().unwrap_or_default()),
            events: lists.keep(events.map(|event| chat_event {
                name: view(event.name),
                data: view(&event.data),
            })),
        }))
    })
}

/// Makes the first events. `input_tokens` is the length of the prompt in tokens; only Messages
/// sends it at the start.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for an answer that has begun.
#[unsafe(no_mangle)]
pub extern "C" fn chat_answer_begin(
    answer: Option<&mut chat_answer>,
    input_tokens: u64,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        required(answer, "answer")?.events(|answer| answer.begin(input_tokens))
    })
}

/// Takes the log probability of a token, before `chat_answer_deltas` for the feed that has its
/// text. The token is the bytes `begin` to `end` of the output, and `entry` the JSON object that
/// the API has in `logprobs.content`. Entries of tokens of the content are in the events and, after
/// these, in the body of chat completions and Responses.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for an entry that is not JSON.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_answer_token(
    answer: Option<&mut chat_answer>,
    begin: usize,
    end: usize,
    entry: *const c_char,
    entry_len: usize,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        let answer = required(answer, "answer")?;
        // SAFETY: the caller's text, by the contract.
        let entry = object(unsafe { utf8(entry, entry_len, "entry") }?, "entry")?;
        answer.0.change(|state| {
            state.answer.token(begin..end, entry);
            Ok(())
        })
    })
}

/// Makes the events of the stream's current deltas, maybe none. Call it once after each feed, and
/// after finish. Costs as much as the deltas.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for an answer that has not begun or is finished, for
/// deltas of a rollback, and for deltas that do not follow the last ones. After the last two, the
/// answer cannot be used further.
#[unsafe(no_mangle)]
pub extern "C" fn chat_answer_deltas(
    answer: Option<&mut chat_answer>,
    stream: Option<&chat_stream>,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        let (answer, stream) = (
            required(answer, "answer")?,
            required(stream, "stream")?.stream()?,
        );
        answer.events(|answer| answer.deltas(stream.deltas()))
    })
}

/// Makes the last events. `message` is the stream's, after its finish. `end` is a JSON object, or
/// empty. Its fields are optional: `reason` (`stop`, the default: the model ended its turn, or
/// `length`: a limit cut it off), `stop_sequence` (the client's text that the model wrote), and
/// `usage`, an object of the numbers `input_tokens`, `output_tokens`, `cached_tokens` and
/// `reasoning_tokens`. The finish reason follows from `end` and the message. Chat completions send
/// usage if the request has `stream_options.include_usage`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for an answer that has not begun or is finished, and,
/// with the field, for a wrong `end`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_answer_finish(
    answer: Option<&mut chat_answer>,
    message: Option<&chat_message>,
    end: *const c_char,
    end_len: usize,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        let (answer, message) = (required(answer, "answer")?, required(message, "message")?);
        // SAFETY: the caller's text, by the contract.
        let end = unsafe { finish(end, end_len) }?;
        answer.events(|answer| answer.finish(&message.ended, &end))
    })
}

/// Makes the last events of an answer that the server breaks off. `http_status` is the code that it
/// would have sent at the start, 400 to 599, and `text` the reason.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for another code, and for an answer that has not begun or
/// is finished.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_answer_fail(
    answer: Option<&mut chat_answer>,
    http_status: u32,
    text: *const c_char,
    text_len: usize,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        let answer = required(answer, "answer")?;
        // SAFETY: the caller's text, by the contract.
        let text = unsafe { utf8(text, text_len, "text") }?;
        let code = u16::try_from(http_status)
            .ok()
            .filter(|code| (400..600).contains(code));
        let code = code
            .ok_or_else(|| Error::invalid(format!("http_status: {http_status} is no error's")))?;
        answer.events(|answer| answer.fail(code, text))
    })
}

/// Makes an event that keeps the connection open. Only Messages has one; there are no events in
/// other APIs.
#[unsafe(no_mangle)]
pub extern "C" fn chat_answer_ping(
    answer: Option<&mut chat_answer>,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        required(answer, "answer")?.events(|answer| Ok(answer.ping()))
    })
}

/// Writes the events of the last call that makes some as the bytes that a server sends
/// (`text/event-stream`): for each `event: ...`, if it has a name, `data: ...` and an empty line.
/// Empty if there are none.
#[unsafe(no_mangle)]
pub extern "C" fn chat_answer_sse(
    answer: Option<&mut chat_answer>,
    out: Out<chat_str>,
    error: ErrorOut,
) -> chat_status {
    filled(answer, "answer", out, error, |answer| {
        answer.0.change(|state| {
            state.written = state.events.iter().map(Event::sse).collect();
            Ok(view(&state.written))
        })
    })
}

/// Writes the answer as one JSON body. `message` is the whole message, and `end` is as for
/// `chat_answer_finish`. After a streamed answer, the body agrees with the events. Costs as much as
/// the message.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT`, with the field, for a wrong `end`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_answer_body(
    answer: Option<&mut chat_answer>,
    message: Option<&chat_message>,
    end: *const c_char,
    end_len: usize,
    out: Out<chat_str>,
    error: ErrorOut,
) -> chat_status {
    filled(answer, "answer", out, error, |answer| {
        let message = required(message, "message")?;
        // SAFETY: the caller's text, by the contract.
        let end = unsafe { finish(end, end_len) }?;
        answer.0.change(|state| {
            state.written = number::write(&state.answer.body(&message.ended, &end));
            Ok(view(&state.written))
        })
    })
}

/// Frees the answer.
#[unsafe(no_mangle)]
pub extern "C" fn chat_answer_free(answer: Option<Box<chat_answer>>) {
    drop(answer);
}

/// Returns the error as the body of a response in the form of a `chat_api`. Its HTTP code is
/// `chat_error_http_status`. Empty for an unknown API.
#[unsafe(no_mangle)]
pub extern "C" fn chat_error_body(error: Option<&chat_error>, api: u32) -> chat_str {
    let asked = error.zip(self::api(api).ok());
    view(answer(asked, |(chat_error(error, bodies), api)| {
        let body = bodies[api as usize - 1].get_or_init(|| {
            api.error_body(http_status(error), error.message())
                .to_string()
        });
        body.as_str()
    }))
}

/// Returns the HTTP code of the error: 400 for a fault of the client's, else 500. 400 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_error_http_status(error: Option<&chat_error>) -> u32 {
    error.map_or(400, |error| http_status(&error.0).into())
}
