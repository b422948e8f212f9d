//! What a piece of output adds to the message.

use std::ops::Range;

/// Which part of the message grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeltaKind {
    /// `reasoning_content`.
    Reasoning,
    /// `content`.
    Content,
    /// The name of a call; the first delta of each call, and its only one of this kind.
    ToolName,
    /// The id of a call, at most once.
    ToolId,
    /// A piece of a call's arguments, as JSON text.
    ToolArguments,
    /// The call is whole: its last delta, with no text. A call that the output breaks off has none.
    ToolEnd,
}

impl DeltaKind {
    /// Whether it is about a call.
    pub fn is_of_call(self) -> bool {
        !matches!(self, DeltaKind::Reasoning | DeltaKind::Content)
    }

    /// A stable lower-case name, e.g. `tool_arguments`.
    pub fn name(self) -> &'static str {
        match self {
            DeltaKind::Reasoning => "reasoning",
            DeltaKind::Content => "content",
            DeltaKind::ToolName => "tool_name",
            DeltaKind::ToolId => "tool_id",
            DeltaKind::ToolArguments => "tool_arguments",
            DeltaKind::ToolEnd => "tool_end",
        }
    }
}

/// Text to append. Deltas never take anything back: appended in order they make up the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta<'a> {
    /// The part that grows.
    pub kind: DeltaKind,
    /// Index of the call, from 0; 0 for content and reasoning.
    pub call: usize,
    /// What to append; empty for [`DeltaKind::ToolEnd`] alone.
    pub text: &'a str,
    /// The bytes of the raw output that it came from; empty where it stands for markup (a closing brace, say).
    pub span: Range<usize>,
}
