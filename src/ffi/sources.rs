//! Where the parts of a message came from.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::error::chat_error;
use super::guard::{answer, guard};
use super::message::chat_message;
use super::ptr::{item, required};
use super::status::chat_status;
use super::stream::chat_delta_kind;
use super::text::{chat_str, view};
use crate::message::{DeltaKind, OutputPart, PartKind};

/// What a part of an output is. Later versions may add kinds: pass over those that you do not know.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum chat_part_kind {
    /// Text of the reasoning.
    Reasoning = 1,
    /// Text of the content.
    Content = 2,
    /// A tool call.
    Call = 3,
}

impl From<PartKind> for chat_part_kind {
    fn from(kind: PartKind) -> Self {
        match kind {
            PartKind::Reasoning => chat_part_kind::Reasoning,
            PartKind::Content => chat_part_kind::Content,
            PartKind::Call => chat_part_kind::Call,
        }
    }
}

/// A stretch of the output that became one kind of thing.
#[repr(C)]
pub struct chat_part {
    /// What it is.
    pub kind: chat_part_kind,
    /// Which tool call, from 0; 0 for text.
    pub call: usize,
    /// Its text, a part of the reasoning or of the content; empty for a call. Valid until the message is freed.
    pub text: chat_str,
    /// The bytes of the output from the first that is in the message, counted over all bytes fed ...
    pub span_begin: usize,
    /// ... to behind the last. Equal to `span_begin` for text that the prompt holds already.
    pub span_end: usize,
}

/// Bytes of an output, or of a piece of it.
#[repr(C)]
pub struct chat_span {
    /// Position of the first.
    pub begin: usize,
    /// And the position after the last.
    pub end: usize,
}

/// How many parts the output has: stretches of reasoning and of text, and calls. 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_part_count(message: Option<&chat_message>) -> usize {
    message.map_or(0, |message| message.ended().parts().len())
}

/// Part number `index` (from 0), in the order of the output. A model may think, call, think again and answer; the message has its
/// reasoning, its content and its calls apart.
///
/// On success `*out` is filled; its text is valid until the message is freed.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_part(
    message: Option<&chat_message>,
    index: usize,
    out: Option<&mut MaybeUninit<chat_part>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (message, out) = (required(message, "message")?, required(out, "out")?);
        let ended = message.ended();
        let OutputPart { kind, call, text, span } = item(ended.parts(), index, "parts")?;
        let text = match kind {
            PartKind::Reasoning => &ended.message.reasoning_content[text.clone()],
            PartKind::Content => &ended.message.content[text.clone()],
            PartKind::Call => "",
        };
        out.write(chat_part {
            kind: (*kind).into(),
            call: *call,
            text: view(Some(text)),
            span_begin: span.start,
            span_end: span.end,
        });
        Ok(())
    })
}

/// How many stretches of the output a field of the message came from. `field` is one of `CHAT_DELTA_KIND_REASONING`,
/// `CHAT_DELTA_KIND_CONTENT` (`call` is 0), `CHAT_DELTA_KIND_TOOL_NAME`, `CHAT_DELTA_KIND_TOOL_ID` and
/// `CHAT_DELTA_KIND_TOOL_ARGUMENTS` of call number `call` (from 0). 0 for NULL, for a call that is out of range and for other numbers.
/// The first question of a message takes all of it apart.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_span_count(message: Option<&chat_message>, field: u32, call: usize) -> usize {
    answer(|| message.map_or(0, |message| spans(message, field, call).len()))
}

/// Stretch number `index` (from 0) of a field (as for `chat_message_span_count`), in the order of its text: to find the tokens that a
/// field came from. Stretches hold no markup. What the message has beyond them is not written in the output: a brace that
/// closes arguments, text that the prompt holds already. The name may be a part of the id.
///
/// On success `*out` is filled.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_span(
    message: Option<&chat_message>,
    field: u32,
    call: usize,
    index: usize,
    out: Option<&mut MaybeUninit<chat_span>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (message, out) = (required(message, "message")?, required(out, "out")?);
        let span = item(spans(message, field, call), index, "spans")?;
        out.write(chat_span { begin: span.start, end: span.end });
        Ok(())
    })
}

fn spans(message: &chat_message, field: u32, call: usize) -> &[Range<usize>] {
    let fields =
        [DeltaKind::Reasoning, DeltaKind::Content, DeltaKind::ToolName, DeltaKind::ToolId, DeltaKind::ToolArguments];
    let field = fields.into_iter().find(|kind| chat_delta_kind::from(*kind) as u32 == field);
    field.map_or(&[], |field| message.ended().spans(field, call))
}
