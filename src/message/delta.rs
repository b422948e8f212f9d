//! What a piece of output adds to the message.

use std::ops::Range;

/// Which part of the message grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
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
    /// After a rollback only, as all that follow: the text is to be taken from the end of `reasoning_content`.
    ReasoningWithdrawn,
    /// The text is to be taken from the end of `content`.
    ContentWithdrawn,
    /// The last call, of this name, is to be removed, with its id and its arguments.
    CallWithdrawn,
    /// The id of a call is to be removed.
    ToolIdWithdrawn,
    /// The text is to be taken from the end of a call's arguments.
    ToolArgumentsWithdrawn,
    /// A call is not whole any more.
    ToolEndWithdrawn,
}

impl DeltaKind {
    /// Whether it is about a call.
    pub fn is_of_call(self) -> bool {
        !matches!(self.withdrawn(), DeltaKind::ReasoningWithdrawn | DeltaKind::ContentWithdrawn)
    }

    /// What takes back a delta of this kind.
    pub fn withdrawn(self) -> DeltaKind {
        match self {
            DeltaKind::Reasoning => DeltaKind::ReasoningWithdrawn,
            DeltaKind::Content => DeltaKind::ContentWithdrawn,
            DeltaKind::ToolName => DeltaKind::CallWithdrawn,
            DeltaKind::ToolId => DeltaKind::ToolIdWithdrawn,
            DeltaKind::ToolArguments => DeltaKind::ToolArgumentsWithdrawn,
            DeltaKind::ToolEnd => DeltaKind::ToolEndWithdrawn,
            withdrawn => withdrawn,
        }
    }

    /// Whether it takes something back.
    pub fn is_withdrawn(self) -> bool {
        self == self.withdrawn()
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
            DeltaKind::ReasoningWithdrawn => "reasoning_withdrawn",
            DeltaKind::ContentWithdrawn => "content_withdrawn",
            DeltaKind::CallWithdrawn => "call_withdrawn",
            DeltaKind::ToolIdWithdrawn => "tool_id_withdrawn",
            DeltaKind::ToolArgumentsWithdrawn => "tool_arguments_withdrawn",
            DeltaKind::ToolEndWithdrawn => "tool_end_withdrawn",
        }
    }
}

/// Text to append. Deltas never take anything back unless the caller rolls the stream back: appended in order they make up the
/// message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delta<'a> {
    /// The part that grows.
    pub kind: DeltaKind,
    /// Index of the call, from 0; 0 for content and reasoning.
    pub call: usize,
    /// What to append, or what to take away; empty for the end of a call alone.
    pub text: &'a str,
    /// The bytes of the raw output that it came from; empty where it stands for markup (a closing brace, say).
    pub span: Range<usize>,
}
