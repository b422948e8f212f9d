//! The next turn of a conversation.

use std::ffi::c_char;

use serde_json::Value;

use super::message::known_flags;
use super::params::{Continued, chat_params};
use super::status::{ErrorOut, Out, chat_status, filled, give};
use super::text::{bytes, seen, utf8, view};
use super::turn::{chat_reason, chat_turn_fields};
use crate::next::Next;
use chatparse_base::{Result, number};

/// Makes the params of the next turn without a change to what the model has already read, if the
/// template allows it, so a server's key-value cache stays valid. Send `append` of
/// `chat_params_turn` of the new params after the prompt of `params` and `output`.
///
/// `output` is what the model wrote after that prompt, any bytes, with or without the text of the
/// end-of-turn token. It stays as written, even if the template would render the parsed message
/// with other white space or another order of keys. If it was cut off, the library closes what is
/// open as the template does. `messages` is the JSON text of an array of new messages: results of
/// tools, or the user's; or of an object with them in `messages`. Its other fields replace those of
/// the request from this turn on: `tools`, e.g. with those that a `tool_reference` reveals,
/// `tool_choice`, `parallel_tool_calls`, `response_format`, `json_schema`, `grammar`,
/// `reasoning_effort`, `enable_thinking`, `hosted_tools`, `continue_final_message` (for this turn
/// alone), and each variable of `chat_template_kwargs`; other options stay for all turns. Calls
/// without an id get the ids of the results, in order.
///
/// Some templates change earlier turns once other messages follow, e.g. drop their reasoning. This
/// is not an error: `chat_params_turn` has the `reason`, and in `kept` how many bytes stay. Remove
/// the tokens after them, and the one that crosses the border, then send `append`. With the option
/// `append: always` of the request, everything stays instead, except for half a character at the
/// end of `output`. The end of the turn, and all after it, is as the template writes it; `rendered`
/// is the prompt that the template alone would give.
///
/// `flags` is 0; no other value is known yet. The library renders and compares the whole
/// conversation, so no change goes unnoticed. The template's clock is that of the first request.
/// The new params hold the whole prompt; `params` can be continued with another output.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT`, with the path of the field, for wrong messages;
/// `CHAT_STATUS_TEMPLATE` if the template raises or fails; `CHAT_STATUS_LIMIT` if the prompt is too
/// long, too deep or too costly.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_params_continue(
    params: Option<&chat_params>,
    output: *const c_char,
    output_len: usize,
    messages: *const c_char,
    messages_len: usize,
    flags: u32,
    out: Out<*mut chat_params>,
    error: ErrorOut,
) -> chat_status {
    filled(params, "params", out, error, |params| {
        // SAFETY: the caller's texts, by the contract.
        let (output, messages) = unsafe {
            (
                bytes(output, output_len, "output")?,
                messages_of(messages, messages_len)?,
            )
        };
        known_flags(flags, 0)?;
        Ok(of_next(params.session.next(output, &messages)?))
    })
}

/// Makes the params of the next turn from a whole request, such as servers get each turn. The
/// library finds the new messages, and continues `params` and `output` with them as
/// `chat_params_continue` does.
///
/// `request` is a body as for `chat_params_from_template`; `chat_answer_view` has that of a body of
/// another API. `options` is an object of the host's options, as for
/// `chat_params_from_template_with`. The request goes on if it begins with the messages that were
/// sent, then has the output as the assistant's message, and the template writes the same earlier
/// prompt with its tools and options. What counts is what messages say: a client may move
/// `cache_control`, write a text as parts (one a line) or parts as a text, leave out null and empty
/// fields, write arguments as other text of the same JSON, and have other ids for calls and their
/// results. In the assistant's messages it may trim the texts and leave the reasoning out: what was
/// sent stays, and `notes` in `chat_params_json` say so. The template's clock stays that of the
/// first request.
///
/// If the request goes on, `*first` is the index of its first new message. Otherwise `*first` is
/// `SIZE_MAX`, and the new params are those of the request alone, as
/// `chat_params_from_template_with` makes them. Of `chat_params_turn`, `kept` is how many bytes of
/// the earlier prompt and output the new prompt begins with, also with `append: always`; `reason`
/// is `CHAT_REASON_REQUEST`, and `message` the first that differs (`SIZE_MAX` for an option or a
/// tool); and `notes` name the field. `first` may be null.
///
/// The new params hold the whole prompt, and keep no pointer to the texts; `params` can be
/// continued with another output. The caller frees them with `chat_params_free`. The cost is linear
/// in both conversations, as that of a render.
///
/// Errors: as `chat_params_from_template_with`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_params_follow(
    params: Option<&chat_params>,
    output: *const c_char,
    output_len: usize,
    request: *const c_char,
    request_len: usize,
    options: *const c_char,
    options_len: usize,
    first: Out<usize>,
    out: Out<*mut chat_params>,
    error: ErrorOut,
) -> chat_status {
    filled(params, "params", out, error, |params| {
        // SAFETY: the caller's texts, by the contract.
        let (output, [request, options]) = unsafe {
            let texts = [
                utf8(request, request_len, "request")?,
                utf8(options, options_len, "options")?,
            ];
            (bytes(output, output_len, "output")?, texts)
        };
        let request = params.session.template().request(request, options)?;
        let next = params.session.follow(output, request)?;
        first.map(|first| first.write(next.first.unwrap_or(usize::MAX)));
        Ok(of_next(next))
    })
}

/// The params of a next turn.
/// The messages of a conversation.
///
/// # Safety
/// As [`utf8`].
pub(super) unsafe fn messages_of(data: *const c_char, len: usize) -> Result<Value> {
    // SAFETY: this function's contract is the same.
    let messages = unsafe { utf8(data, len, "messages") }?;
    number::parse(messages, "messages")
}

fn of_next(next: Next) -> *mut chat_params {
    let mut params = chat_params::new(next.session);
    params.next = Some(Continued {
        kept: next.kept,
        rewrite: next.rewrite,
    });
    give(params)
}

/// Returns how the params go on behind those that they continue.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_turn(params: Option<&chat_params>) -> *const chat_turn_fields {
    seen(params, |params| {
        let next = params.next.as_ref();
        let kept = next.map_or(0, |next| next.kept);
        let rewrite = next.and_then(|next| next.rewrite.as_ref());
        let message = rewrite.and_then(|rewrite| rewrite.message);
        Some(params.turn.get(|_| chat_turn_fields {
            kept,
            append: view(params.params().prompt.get(kept..).unwrap_or_default()),
            rendered: view(params.session.rendered()),
            reason: rewrite.map_or(chat_reason::None, |rewrite| rewrite.reason.into()),
            words: view(rewrite.map_or("", |rewrite| rewrite.reason.words())),
            message: message.unwrap_or(usize::MAX),
        }))
    })
}
