//! A parsed message.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

use super::error::chat_error;
use super::guard::guard;
use super::params::chat_params;
use super::ptr::{give, required};
use super::status::chat_status;
use super::text::{bytes, chat_str, view};
use crate::error::{Error, Result};
use crate::message::{Status, ToolCall};
use crate::parser::Parser;
use crate::stream::Ended;

/// Flag: the output is not whole. More of it is to come, or a token limit cut it off.
pub const CHAT_PARSE_PARTIAL: u32 = 1;
/// Flag: an output that does not fit the template's format is an error (`CHAT_STATUS_PARSE`). Without it such an output gives a
/// message that holds all of it, and `CHAT_OUTCOME_RECOVERED`.
pub const CHAT_PARSE_STRICT: u32 = 2;

/// The flags of a parse, by name.
pub(super) struct Flags {
    pub partial: bool,
    pub strict: bool,
}

impl Flags {
    pub fn from_bits(bits: u32) -> Result<Self> {
        let unknown = bits & !(CHAT_PARSE_PARTIAL | CHAT_PARSE_STRICT);
        if unknown != 0 {
            return Err(Error::invalid(format!("flags: {unknown:#x} is unknown")));
        }
        Ok(Flags { partial: bits & CHAT_PARSE_PARTIAL != 0, strict: bits & CHAT_PARSE_STRICT != 0 })
    }
}

/// How an output related to the template's format.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum chat_outcome {
    /// There is no message: the handle was NULL, or unusable.
    None = 0,
    /// The whole output matched.
    Complete = 1,
    /// It was cut off, or is still coming: what is there is there. The arguments of an unfinished tool call are a prefix of JSON
    /// text.
    Partial = 2,
    /// It left the format. What fits nowhere is content; a call that reads like one is a call all the same; nothing is lost.
    /// `chat_message_diagnostic` says what and where.
    Recovered = 3,
}

impl From<Status> for chat_outcome {
    fn from(status: Status) -> Self {
        match status {
            Status::Complete => chat_outcome::Complete,
            Status::Partial => chat_outcome::Partial,
            Status::Recovered => chat_outcome::Recovered,
        }
    }
}

/// What a model said: reasoning, content and tool calls. Immutable; may be used by several threads at once.
pub struct chat_message {
    ended: Ended,
    json: OnceLock<String>,
    report: OnceLock<String>,
}

impl chat_message {
    pub(super) fn new(ended: Ended) -> Self {
        chat_message { ended, json: OnceLock::new(), report: OnceLock::new() }
    }

    pub(super) fn parse(parser: &Parser, text: &[u8], flags: Flags) -> Result<Self> {
        Ok(chat_message::new(parser.read(text, flags.partial, flags.strict)?))
    }

    pub(super) fn ended(&self) -> &Ended {
        &self.ended
    }

    pub(super) fn report_json(&self) -> &str {
        self.report.get_or_init(|| self.ended.report_json().to_string())
    }
}

/// Parses an output, or all of it that has come so far, in one call. For an output that comes in pieces, `chat_stream` gives
/// the same message without reading old bytes again.
///
/// `text` is what the model wrote after the prompt; it may hold any bytes. `flags` is 0 for an output that the model has ended,
/// or a combination of `CHAT_PARSE_PARTIAL` and `CHAT_PARSE_STRICT`.
///
/// On success `*out` is a new message, to be freed with `chat_message_free`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for unknown flags; `CHAT_STATUS_PARSE` with `CHAT_PARSE_STRICT` only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_parse_partial(
    params: Option<&chat_params>,
    text: *const c_char,
    text_len: usize,
    flags: u32,
    out: Option<&mut MaybeUninit<*mut chat_message>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (params, out) = (required(params, "params")?, required(out, "out")?);
        // SAFETY: the caller's bytes, by the contract.
        let text = unsafe { bytes(text, text_len, "text") }?;
        out.write(give(chat_message::parse(&params.params().parser, text, Flags::from_bits(flags)?)?));
        Ok(())
    })
}

/// How the output related to the format. `CHAT_OUTCOME_NONE` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_outcome(message: Option<&chat_message>) -> chat_outcome {
    message.map_or(chat_outcome::None, |message| message.ended.status.into())
}

/// The content. The view is valid until the message is freed. Empty for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_content(message: Option<&chat_message>) -> chat_str {
    view(message.map(|message| message.ended.message.content.as_str()))
}

/// The reasoning, where the request asked for it to be told from the content. The view is valid until the message is freed.
/// Empty for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_reasoning(message: Option<&chat_message>) -> chat_str {
    view(message.map(|message| message.ended.message.reasoning_content.as_str()))
}

/// How many tools the message calls. 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_tool_call_count(message: Option<&chat_message>) -> usize {
    message.map_or(0, |message| message.ended.message.tool_calls.len())
}

/// The name of the tool that call number `index` (from 0) calls. The view is valid until the message is freed. Empty for NULL
/// and for an index that is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_tool_call_name(message: Option<&chat_message>, index: usize) -> chat_str {
    view(call(message, index).map(|call| call.name.as_str()))
}

/// The id of call number `index`, empty where the model's format has none. Otherwise as `chat_message_tool_call_name`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_tool_call_id(message: Option<&chat_message>, index: usize) -> chat_str {
    view(call(message, index).map(|call| call.id.as_str()))
}

/// The arguments of call number `index` as JSON text, or as a prefix of it where the output was cut off. Otherwise as
/// `chat_message_tool_call_name`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_tool_call_arguments(message: Option<&chat_message>, index: usize) -> chat_str {
    view(call(message, index).map(|call| call.arguments.as_str()))
}

fn call(message: Option<&chat_message>, index: usize) -> Option<&ToolCall> {
    message?.ended.message.tool_calls.get(index)
}

/// The message as OpenAI JSON: `role` and `content` always, `reasoning_content` and `tool_calls` where there are any. The first
/// call writes the text; later ones return the same.
///
/// On success `*out` is a view, valid until the message is freed.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_json(
    message: Option<&chat_message>,
    out: Option<&mut MaybeUninit<chat_str>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (message, out) = (required(message, "message")?, required(out, "out")?);
        let json = message.json.get_or_init(|| message.ended.message.to_json().to_string());
        out.write(view(Some(json)));
        Ok(())
    })
}

/// Frees the message. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_free(message: Option<Box<chat_message>>) {
    drop(message);
}
