//! What there is to say of a message: which calls can be used, and what is unusual.

use super::guard::{answer, filled};
use super::message::chat_message;
use super::ptr::{ErrorOut, Out, item};
use super::status::chat_status;
use super::text::{chat_str, view};
use chatparse_stream::{CallOrigin, CallReport, DiagnosticKind};

/// The kinds of diagnostic. Later versions may add some: treat unknown ones as remarks.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum chat_diagnostic_kind {
    /// From this byte on, the output does not match the format.
    LeftFormat = 1,
    /// A call in another format than the template's, or in another place.
    Dialect = 2,
    /// A call inside reasoning that was not closed.
    CallInReasoning = 3,
    /// A call without its end.
    UnfinishedCall = 4,
    /// A call of a tool that the request does not offer.
    UnknownTool = 5,
    /// Arguments that are not a JSON object, or violate the tool's schema.
    InvalidArguments = 6,
    /// An argument that occurs more than once. JSON readers take the last one.
    DuplicateArgument = 7,
    /// The parser used up its budget here: the rest of the output is content.
    Limit = 8,
    /// The output ends inside the reasoning.
    UnfinishedReasoning = 9,
    /// Arguments that were almost JSON. The call has the mended JSON.
    MendedArguments = 10,
}

same_names!(
    DiagnosticKind => chat_diagnostic_kind:
    LeftFormat, Dialect, CallInReasoning, UnfinishedCall, UnknownTool, InvalidArguments, DuplicateArgument, Limit,
    UnfinishedReasoning, MendedArguments
);

/// How the output marks a call as a call. Text that a model only quotes may look like a bare call.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum chat_origin {
    /// There is no such call.
    #[default]
    None = 0,
    /// By the template's own markers.
    Format = 1,
    /// By other markers, tags or special tokens.
    Dialect = 2,
    /// By none: a JSON object or a Python call in text, even if the template's own calls look like that.
    Bare = 3,
}

same_names!(CallOrigin => chat_origin: Format, Dialect, Bare);

/// A remark about an output, for hosts and for their logs.
#[repr(C)]
pub struct chat_diagnostic {
    /// Its kind.
    pub kind: chat_diagnostic_kind,
    /// The tool call that it is about; `SIZE_MAX` for none.
    pub call: usize,
    /// Position of the first byte of the output that it is about.
    pub span_begin: usize,
    /// Position after the last byte.
    pub span_end: usize,
    /// One sentence for people.
    pub message: chat_str,
}

/// What there is to say of a call. The first question of a message judges it, which checks values against schemas.
fn of_call<T: Default>(message: Option<&chat_message>, index: usize, what: impl FnOnce(&CallReport) -> T) -> T {
    answer(|| message.and_then(|message| message.ended().calls().get(index)).map(what).unwrap_or_default())
}

/// Returns whether the output has the end of call `index`. Without it, the arguments may be a prefix: do not run it.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_tool_call_complete(message: Option<&chat_message>, index: usize) -> bool {
    of_call(message, index, |call| call.complete)
}

/// Returns whether the request offers the tool of call `index`. True if the parser has no list of tools.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_tool_call_known(message: Option<&chat_message>, index: usize) -> bool {
    of_call(message, index, |call| call.known)
}

/// Returns whether call `index` is complete and its arguments are a JSON object that does not certainly violate the
/// tool's schema. The first question about a message checks all of its calls.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_tool_call_valid(message: Option<&chat_message>, index: usize) -> bool {
    of_call(message, index, |call| call.valid)
}

/// Returns how the output marks call `index` as a call. Run a bare call only where it is harmless to run a call that
/// the model only quotes; the option `bare_calls` of the request decides which of them are calls.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_tool_call_origin(message: Option<&chat_message>, index: usize) -> chat_origin {
    of_call(message, index, |call| call.origin.into())
}

/// Returns how many diagnostics there are.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_diagnostic_count(message: Option<&chat_message>) -> usize {
    answer(|| message.map_or(0, |message| message.ended().diagnostics().len()))
}

/// Fills `*out` with diagnostic `index`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_diagnostic(
    message: Option<&chat_message>,
    index: usize,
    out: Out<chat_diagnostic>,
    error: ErrorOut,
) -> chat_status {
    filled(message, "message", out, error, |message| {
        let found = item(message.ended().diagnostics(), index, "diagnostics")?;
        Ok(chat_diagnostic {
            kind: found.kind.into(),
            call: found.call.unwrap_or(usize::MAX),
            span_begin: found.span.start,
            span_end: found.span.end,
            message: view(Some(&found.message)),
        })
    })
}

/// Writes the report as a JSON object. The first call writes the text; later ones return the same.
///
/// - `status`: `complete`, `partial` or `recovered`;
/// - `left_at`: the offset of the first byte that breaks the format, or null if `status` is not `recovered`. It may be
///   that of a call in another format, or of an unknown tool, after which the output matches again; the diagnostic
///   `left_format` begins where the parser gave up the format for the rest of the output;
/// - `calls`: an object for each call with the booleans `complete`, `known`, `valid`, and `origin`: `format`, `dialect`
///   or `bare`;
/// - `diagnostics`: an object for each with `kind` (the name in lower case, e.g. `left_format`), `call` (a number, or
///   null), `span` (an array of two positions) and `message`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_report_json(
    message: Option<&chat_message>,
    out: Out<chat_str>,
    error: ErrorOut,
) -> chat_status {
    filled(message, "message", out, error, |message| Ok(view(Some(message.report_json()))))
}
