//! What there is to say of a parsed output besides its message.

use std::ops::Range;

/// How the output related to its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// The whole output matched.
    Complete,
    /// It was cut off, or ended where the format does not end: what is there is there.
    Partial,
    /// It left the format. What fits nowhere is content; a call that reads like one is a call all the same.
    Recovered,
}

impl Status {
    /// `complete`, `partial` or `recovered`.
    pub fn name(self) -> &'static str {
        match self {
            Status::Complete => "complete",
            Status::Partial => "partial",
            Status::Recovered => "recovered",
        }
    }
}

/// How far a call was marked as one. A host decides by it what to run: what a model only quotes may read like a bare call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallOrigin {
    /// The template's own way: read where the template writes its calls, or behind the marker that they begin with.
    #[default]
    Format,
    /// Another way, with a marker of its own, or a JSON object between tags or special tokens.
    Dialect,
    /// No marker: a JSON object or a Python call in running text, also where the template's own calls look like that.
    Bare,
}

impl CallOrigin {
    /// `format`, `dialect` or `bare`.
    pub fn name(self) -> &'static str {
        match self {
            CallOrigin::Format => "format",
            CallOrigin::Dialect => "dialect",
            CallOrigin::Bare => "bare",
        }
    }
}

/// What there is to say of one call of the message. Whether to run it is the host's decision: a call that was broken off may
/// look harmless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallReport {
    /// Its end was there. The arguments of any other call are a raw prefix.
    pub complete: bool,
    /// The request offers a tool of that name. True where the parser knows no tools.
    pub known: bool,
    /// The arguments are JSON and do not certainly violate the tool's schema. False for calls that are not complete; what a
    /// schema asks for beyond [`crate::grammar::valid`] counts as satisfied.
    pub valid: bool,
    /// How it was marked as a call.
    pub origin: CallOrigin,
}

/// What kind of thing a diagnostic tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiagnosticKind {
    /// From here on the output did not fit the format.
    LeftFormat,
    /// A call that was read although it was written in another way than the template's, or in another place.
    Dialect,
    /// A call inside reasoning that was never closed.
    CallInReasoning,
    /// A call without its end.
    UnfinishedCall,
    /// A call of a tool that the request does not offer.
    UnknownTool,
    /// Arguments that are no JSON object, or that violate the tool's schema.
    InvalidArguments,
    /// An argument that was given more than once. Readers of JSON take the last.
    DuplicateArgument,
    /// The parser's budget was used up here: the rest of the output is content, whatever it says.
    Limit,
}

impl DiagnosticKind {
    /// A stable lower-case name, e.g. `left_format`.
    pub fn name(self) -> &'static str {
        match self {
            DiagnosticKind::LeftFormat => "left_format",
            DiagnosticKind::Dialect => "dialect",
            DiagnosticKind::CallInReasoning => "call_in_reasoning",
            DiagnosticKind::UnfinishedCall => "unfinished_call",
            DiagnosticKind::UnknownTool => "unknown_tool",
            DiagnosticKind::InvalidArguments => "invalid_arguments",
            DiagnosticKind::DuplicateArgument => "duplicate_argument",
            DiagnosticKind::Limit => "limit",
        }
    }
}

/// Something about an output that a host, or somebody who looks into its logs, may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// What kind of thing.
    pub kind: DiagnosticKind,
    /// The call it is about.
    pub call: Option<usize>,
    /// The bytes of the output that it is about.
    pub span: Range<usize>,
    /// In words, e.g. `"/city" must be a string, not a number`.
    pub message: String,
}

/// What a part of an output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartKind {
    /// Text of `reasoning_content`.
    Reasoning,
    /// Text of `content`.
    Content,
    /// A call.
    Call,
}

impl PartKind {
    /// `reasoning`, `content` or `call`.
    pub fn name(self) -> &'static str {
        match self {
            PartKind::Reasoning => "reasoning",
            PartKind::Content => "content",
            PartKind::Call => "call",
        }
    }
}

/// A stretch of an output that became one kind of thing. A model may think, call, think again and answer: a message has its texts
/// and its calls apart, its parts are in the order of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutputPart {
    /// What it is.
    pub kind: PartKind,
    /// Which call, from 0; 0 for text.
    pub call: usize,
    /// Which bytes of `reasoning_content` or `content` its text is; empty for a call.
    pub text: Range<usize>,
    /// The bytes of the output from the first to the last that is in the message. Empty for text that the prompt holds already.
    pub span: Range<usize>,
}

/// What there is to say of an output besides its message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Of each call of the message.
    pub calls: Vec<CallReport>,
    /// What a host may want to know or log, in the order of the output.
    pub diagnostics: Vec<Diagnostic>,
}
