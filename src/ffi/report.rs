//! What there is to say of a message: which calls can be used, and what is unusual.

use std::mem::MaybeUninit;

use super::error::chat_error;
use super::guard::{answer, guard};
use super::message::chat_message;
use super::ptr::{item, required};
use super::status::chat_status;
use super::text::{chat_str, view};
use crate::message::{CallOrigin, CallReport, DiagnosticKind};

/// What kind of thing a diagnostic tells. Later versions may add kinds: take those that you do not know for remarks.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum chat_diagnostic_kind {
    /// From here on the output did not fit the format.
    LeftFormat = 1,
    /// A call that was read although it was written in another way than the template's, or in another place.
    Dialect = 2,
    /// A call inside reasoning that was never closed.
    CallInReasoning = 3,
    /// A call without its end.
    UnfinishedCall = 4,
    /// A call of a tool that the request does not offer.
    UnknownTool = 5,
    /// Arguments that are no JSON object, or that violate the tool's schema.
    InvalidArguments = 6,
    /// An argument that was given more than once. Readers of JSON take the last.
    DuplicateArgument = 7,
    /// The parser's budget was used up here: the rest of the output is content, whatever it says.
    Limit = 8,
}

impl From<DiagnosticKind> for chat_diagnostic_kind {
    fn from(kind: DiagnosticKind) -> Self {
        match kind {
            DiagnosticKind::LeftFormat => chat_diagnostic_kind::LeftFormat,
            DiagnosticKind::Dialect => chat_diagnostic_kind::Dialect,
            DiagnosticKind::CallInReasoning => chat_diagnostic_kind::CallInReasoning,
            DiagnosticKind::UnfinishedCall => chat_diagnostic_kind::UnfinishedCall,
            DiagnosticKind::UnknownTool => chat_diagnostic_kind::UnknownTool,
            DiagnosticKind::InvalidArguments => chat_diagnostic_kind::InvalidArguments,
            DiagnosticKind::DuplicateArgument => chat_diagnostic_kind::DuplicateArgument,
            DiagnosticKind::Limit => chat_diagnostic_kind::Limit,
        }
    }
}

/// How a call was marked as one. What a model only quotes may read like a bare call.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum chat_origin {
    /// There is no such call.
    #[default]
    None = 0,
    /// The template's own way: read where the template writes its calls, or behind the marker that they begin with.
    Format = 1,
    /// Another way, with a marker of its own, or a JSON object between tags or special tokens.
    Dialect = 2,
    /// No marker: a JSON object or a Python call in running text, also where the template's own calls look like that.
    Bare = 3,
}

impl From<CallOrigin> for chat_origin {
    fn from(origin: CallOrigin) -> Self {
        match origin {
            CallOrigin::Format => chat_origin::Format,
            CallOrigin::Dialect => chat_origin::Dialect,
            CallOrigin::Bare => chat_origin::Bare,
        }
    }
}

/// Something about an output that a host, or somebody who reads its logs, may want to know.
#[repr(C)]
pub struct chat_diagnostic {
    /// What kind of thing.
    pub kind: chat_diagnostic_kind,
    /// Which tool call it is about, from 0; `SIZE_MAX` for none.
    pub call: usize,
    /// The bytes of the output that it is about: position of the first.
    pub span_begin: usize,
    /// And the position after the last.
    pub span_end: usize,
    /// In words. Valid until the message is freed.
    pub message: chat_str,
}

/// What there is to say of a call. The first question of a message judges it, which checks values against schemas.
fn of_call<T: Default>(message: Option<&chat_message>, index: usize, what: impl FnOnce(&CallReport) -> T) -> T {
    answer(|| message.and_then(|message| message.ended().calls().get(index)).map(what).unwrap_or_default())
}

/// Whether the end of call number `index` (from 0) was there. A call without it was broken off: its arguments are a prefix, and
/// running it may do half of what the model meant. False for NULL and for an index that is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_tool_call_complete(message: Option<&chat_message>, index: usize) -> bool {
    of_call(message, index, |call| call.complete)
}

/// Whether the request offers the tool that call number `index` calls. True where the parser knows no tools. False for NULL and
/// for an index that is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_tool_call_known(message: Option<&chat_message>, index: usize) -> bool {
    of_call(message, index, |call| call.known)
}

/// Whether call number `index` is complete and its arguments are a JSON object that does not certainly violate the tool's
/// schema. False for NULL and for an index that is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_tool_call_valid(message: Option<&chat_message>, index: usize) -> bool {
    of_call(message, index, |call| call.valid)
}

/// How call number `index` (from 0) was marked as a call. `CHAT_ORIGIN_NONE` for NULL and for an index that is out of range.
///
/// A call that is complete, known and valid may be run if it is in the format, and was most likely meant as a call in a dialect. Run a
/// bare one only where quoting a text that reads like a call does no harm; `bare_calls` of the request says which of them are calls.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_tool_call_origin(message: Option<&chat_message>, index: usize) -> chat_origin {
    of_call(message, index, |call| call.origin.into())
}

/// How many diagnostics there are. 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_diagnostic_count(message: Option<&chat_message>) -> usize {
    answer(|| message.map_or(0, |message| message.ended().diagnostics().len()))
}

/// Diagnostic number `index` (from 0), in the order of the output.
///
/// On success `*out` is filled; its text is valid until the message is freed.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_diagnostic(
    message: Option<&chat_message>,
    index: usize,
    out: Option<&mut MaybeUninit<chat_diagnostic>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (message, out) = (required(message, "message")?, required(out, "out")?);
        let found = item(message.ended().diagnostics(), index, "diagnostics")?;
        out.write(chat_diagnostic {
            kind: found.kind.into(),
            call: found.call.unwrap_or(usize::MAX),
            span_begin: found.span.start,
            span_end: found.span.end,
            message: view(Some(&found.message)),
        });
        Ok(())
    })
}

/// All of it as JSON: `status` (`complete`, `partial` or `recovered`), `left_at` (the byte where the output left the format, or
/// null), `calls` (an object each: `complete`, `known`, `valid`, and `origin`, which is `format`, `dialect` or `bare`) and
/// `diagnostics` (an object each: `kind`, `call`, `span`, `message`). The first call writes the text; later ones return the same.
///
/// On success `*out` is a view, valid until the message is freed.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_report_json(
    message: Option<&chat_message>,
    out: Option<&mut MaybeUninit<chat_str>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (message, out) = (required(message, "message")?, required(out, "out")?);
        out.write(view(Some(message.report_json())));
        Ok(())
    })
}
