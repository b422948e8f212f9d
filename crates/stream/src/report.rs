//! The report on a parsed output: its status, its calls and parts, and diagnostics.

use std::ops::Range;

use serde::{Serialize, Serializer};

chatparse_base::names! {
    /// Whether an output matched its format.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Status {
        /// The whole output matched.
        Complete = "complete",
        /// The output was cut off, or ended at a place where the format does not, e.g. inside of
        /// the reasoning: the message has all text so far.
        Partial = "partial",
        /// The output left the format. The rest was read as content and as calls in known dialects.
        Recovered = "recovered",
    }
}

chatparse_base::names! {
    /// How a call was recognised. A host uses it to decide which calls to run: a quotation may look
    /// like a bare call.
    #[repr(u32)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum CallOrigin {
        /// By the template's own markers.
        #[default]
        Format(1) = "format",
        /// By other markers, tags or special tokens.
        Dialect(2) = "dialect",
        /// By none: a JSON object or a Python call in text, even if the template's own calls look
        /// like that.
        Bare(3) = "bare",
    }
}

/// Who ended an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// The model: the output is whole.
    Model,
    /// A limit, e.g. of tokens: the output is cut off, or more may follow.
    Limit,
}

impl EndedBy {
    /// A limit, if the output was cut off.
    pub fn limit_if(cut_off: bool) -> Self {
        if cut_off {
            EndedBy::Limit
        } else {
            EndedBy::Model
        }
    }
}

/// The report on one call of the message. The host decides whether to run the call: an interrupted
/// call may look harmless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CallReport {
    /// The call has its end. Otherwise the arguments are the beginning of JSON text, or of the
    /// model's text in place of it.
    pub complete: bool,
    /// The request offers a tool of this name. True if the parser has no list of tools.
    pub known: bool,
    /// The arguments are JSON and do not certainly violate the tool's schema. False for incomplete
    /// calls. Constraints beyond `chatparse::grammar::valid` count as met.
    pub valid: bool,
    /// How it was recognised.
    pub origin: CallOrigin,
}

chatparse_base::names! {
    /// The kind of a diagnostic.
    #[repr(u32)]
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum DiagnosticKind {
        /// From this byte on, the output does not match the format. Unusual text before it has
        /// diagnostics of its own.
        LeftFormat(1) = "left_format",
        /// A call in another format than the template's, or in another place.
        Dialect(2) = "dialect",
        /// A call inside reasoning that was not closed.
        CallInReasoning(3) = "call_in_reasoning",
        /// A call without its end.
        UnfinishedCall(4) = "unfinished_call",
        /// A call of a tool that the request does not offer.
        UnknownTool(5) = "unknown_tool",
        /// Arguments that are not a JSON object, or violate the tool's schema.
        InvalidArguments(6) = "invalid_arguments",
        /// An argument that occurs more than once. JSON readers take the last one.
        DuplicateArgument(7) = "duplicate_argument",
        /// The parser used up its budget here: the rest of the output is content.
        Limit(8) = "limit",
        /// The output ends inside the reasoning.
        UnfinishedReasoning(9) = "unfinished_reasoning",
        /// Arguments that were almost JSON. The call has the mended JSON.
        MendedArguments(10) = "mended_arguments",
    }
}

/// A finding about an output, for hosts and logs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Diagnostic {
    /// Its kind.
    pub kind: DiagnosticKind,
    /// The index of the call.
    pub call: Option<usize>,
    /// The bytes of the output.
    #[serde(serialize_with = "as_pair")]
    pub span: Range<usize>,
    /// A description, e.g. `"/city" must be a string, not a number`.
    pub message: String,
}

/// As JSON, a range is its begin and its end.
fn as_pair<S: Serializer>(range: &Range<usize>, to: S) -> Result<S::Ok, S::Error> {
    [range.start, range.end].serialize(to)
}

chatparse_base::names! {
    /// The kind of an output's part.
    #[repr(u32)]
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PartKind {
        /// Text of the reasoning.
        Reasoning(1) = "reasoning",
        /// Text of the content.
        Content(2) = "content",
        /// A tool call.
        Call(3) = "call",
    }
}

/// A part of an output. A model may think, call, think again and answer: the message separates
/// texts and calls, and the parts keep the order of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputPart {
    /// Its kind.
    pub kind: PartKind,
    /// The index of the call, from 0; 0 for text.
    pub call: usize,
    /// The range of its text in `reasoning_content` or `content`; empty for a call.
    pub text: Range<usize>,
    /// The bytes of the output from the first to the last that is in the message. Empty for text
    /// from the prompt.
    pub span: Range<usize>,
}

/// The report on an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// One report for each call of the message.
    pub calls: Vec<CallReport>,
    /// Findings in the order of the output.
    pub diagnostics: Vec<Diagnostic>,
}
