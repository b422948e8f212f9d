//! Where the parts of a message came from.

use std::ops::Range;

use super::guard::{answer, filled};
use super::message::chat_message;
use super::ptr::{ErrorOut, Out, item};
use super::status::chat_status;
use super::stream::chat_delta_kind;
use super::text::{chat_str, view};
use chatparse_stream::{DeltaKind, OutputPart, PartKind};

/// The kinds of part. Later versions may add some: skip unknown ones.
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

same_names!(PartKind => chat_part_kind: Reasoning, Content, Call);

/// A range of the output that became reasoning, content or a call.
#[repr(C)]
pub struct chat_part {
    /// Its kind.
    pub kind: chat_part_kind,
    /// The tool call; 0 for text.
    pub call: usize,
    /// Its text, a part of the reasoning or of the content; empty for a call.
    pub text: chat_str,
    /// Position of its first byte that is in the message, counted over all bytes fed.
    pub span_begin: usize,
    /// Position after the last such byte. Equal to `span_begin` for text of the prompt.
    pub span_end: usize,
}

/// A range of bytes in an output, or in a piece of it.
#[repr(C)]
pub struct chat_span {
    /// Position of the first byte.
    pub begin: usize,
    /// Position after the last byte.
    pub end: usize,
}

/// Returns how many parts the output has: ranges of reasoning and of content, and calls.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_part_count(message: Option<&chat_message>) -> usize {
    message.map_or(0, |message| message.ended().parts().len())
}

/// Fills `*out` with part `index`. Parts keep the order in which a model thinks, calls and answers; the other functions
/// return all reasoning, all content and all calls.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_part(
    message: Option<&chat_message>,
    index: usize,
    out: Out<chat_part>,
    error: ErrorOut,
) -> chat_status {
    filled(message, "message", out, error, |message| {
        let ended = message.ended();
        let OutputPart { kind, call, text, span } = item(ended.parts(), index, "parts")?;
        let text = match kind {
            PartKind::Reasoning => &ended.message.reasoning_content[text.clone()],
            PartKind::Content => &ended.message.content[text.clone()],
            PartKind::Call => "",
        };
        Ok(chat_part {
            kind: (*kind).into(),
            call: *call,
            text: view(Some(text)),
            span_begin: span.start,
            span_end: span.end,
        })
    })
}

/// In place of a field: the bytes of the output that became no field. These are markers, white space and other texts
/// around the parts, the end of the turn, and, of an output that was cut off, what was held back at its end. Together
/// with the ranges of all fields this is the whole output, without calls that `incomplete_calls` of the request drops.
pub const CHAT_SPANS_STRUCTURE: u32 = 255;

/// Returns how many ranges of the output a field of the message comes from. `field` is `CHAT_DELTA_KIND_REASONING` or
/// `CHAT_DELTA_KIND_CONTENT` (with `call` 0), or `CHAT_DELTA_KIND_TOOL_NAME`, `CHAT_DELTA_KIND_TOOL_ID` or
/// `CHAT_DELTA_KIND_TOOL_ARGUMENTS` of a call, or `CHAT_SPANS_STRUCTURE`; 0 for others. The first call on a message
/// computes the ranges of all fields.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_span_count(message: Option<&chat_message>, field: u32, call: usize) -> usize {
    answer(|| message.map_or(0, |message| spans(message, field, call).len()))
}

/// Fills `*out` with range `index` of a field (see `chat_message_span_count`), in the order of its text: to find the
/// tokens of a field. Ranges hold no markup, and nothing that the output does not have: a brace that the library added,
/// text of the prompt. The range of a name may be a part of that of the id.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_span(
    message: Option<&chat_message>,
    field: u32,
    call: usize,
    index: usize,
    out: Out<chat_span>,
    error: ErrorOut,
) -> chat_status {
    filled(message, "message", out, error, |message| {
        let span = item(spans(message, field, call), index, "spans")?;
        Ok(chat_span { begin: span.start, end: span.end })
    })
}

fn spans(message: &chat_message, field: u32, call: usize) -> &[Range<usize>] {
    if field == CHAT_SPANS_STRUCTURE {
        return message.ended().structure();
    }
    let fields =
        [DeltaKind::Reasoning, DeltaKind::Content, DeltaKind::ToolName, DeltaKind::ToolId, DeltaKind::ToolArguments];
    let field = fields.into_iter().find(|kind| chat_delta_kind::from(*kind) as u32 == field);
    field.map_or(&[], |field| message.ended().spans(field, call))
}
