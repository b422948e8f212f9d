//! Where the parts of a message came from.

use std::ops::Range;

use super::text::chat_str;
use chatparse_stream::{DeltaKind, Ended};

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
        chat_span {
            begin: range.start,
            end: range.end,
        }
    }
}

/// In place of a field: the bytes of the output that became no field. These are markers, white
/// space and other texts around the parts, the end of the turn, and, of an output that was cut off,
/// what was held back at its end. Together with the ranges of all fields this is the whole output,
/// without calls that `incomplete_calls` of the request drops.
pub const CHAT_SPANS_STRUCTURE: u32 = 255;

/// The ranges that a field comes from, or what became none.
pub(super) fn spans(ended: &Ended, field: u32, call: usize) -> &[Range<usize>] {
    if field == CHAT_SPANS_STRUCTURE {
        return ended.structure();
    }
    let fields = [
        DeltaKind::Reasoning,
        DeltaKind::Content,
        DeltaKind::ToolName,
        DeltaKind::ToolId,
        DeltaKind::ToolArguments,
    ];
    let field = fields.into_iter().find(|kind| *kind as u32 == field);
    field.map_or(&[], |field| ended.spans(field, call))
}
