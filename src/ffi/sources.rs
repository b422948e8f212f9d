//! Where the parts of a message came from.

use std::ops::Range;

use super::guard::answer;
use super::message::chat_message;
use super::text::{chat_str, fill};
use chatparse_stream::DeltaKind;

/// The kinds of part. Later versions may add some: skip unknown ones.
pub use chatparse_stream::PartKind as chat_part_kind;

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

impl From<&Range<usize>> for chat_span {
    fn from(range: &Range<usize>) -> Self {
        chat_span { begin: range.start, end: range.end }
    }
}

/// In place of a field: the bytes of the output that became no field. These are markers, white space and other texts
/// around the parts, the end of the turn, and, of an output that was cut off, what was held back at its end. Together
/// with the ranges of all fields this is the whole output, without calls that `incomplete_calls` of the request drops.
pub const CHAT_SPANS_STRUCTURE: u32 = 255;

/// Finds the ranges of the output that a field of the message comes from, in the order of its text: to find the tokens of a
/// field. `field` is `CHAT_DELTA_KIND_REASONING` or `CHAT_DELTA_KIND_CONTENT` (with `call` 0), or
/// `CHAT_DELTA_KIND_TOOL_NAME`, `CHAT_DELTA_KIND_TOOL_ID` or `CHAT_DELTA_KIND_TOOL_ARGUMENTS` of a call, or
/// `CHAT_SPANS_STRUCTURE`; there are no ranges of others. Ranges hold no markup, and nothing that the output does not have: a
/// brace that the library added, text of the prompt. The range of a name may be a part of that of the id.
///
/// Fills the first `capacity` ranges of `out`, and returns how many there are. `out` may be NULL if `capacity` is 0. The
/// first call on a message computes the ranges of all fields.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_message_spans(
    message: Option<&chat_message>,
    field: u32,
    call: usize,
    out: *mut chat_span,
    capacity: usize,
) -> usize {
    answer(|| {
        let Some(message) = message else { return 0 };
        let spans = spans(message, field, call).iter().map(chat_span::from);
        // SAFETY: the caller's array, by the contract.
        unsafe { fill(spans, out, capacity) }
    })
}

fn spans(message: &chat_message, field: u32, call: usize) -> &[Range<usize>] {
    if field == CHAT_SPANS_STRUCTURE {
        return message.ended().structure();
    }
    let fields =
        [DeltaKind::Reasoning, DeltaKind::Content, DeltaKind::ToolName, DeltaKind::ToolId, DeltaKind::ToolArguments];
    let field = fields.into_iter().find(|kind| *kind as u32 == field);
    field.map_or(&[], |field| message.ended().spans(field, call))
}
