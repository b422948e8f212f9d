//! What there is to say of a message: which calls can be used, and what is unusual.

use super::guard::filled;
use super::message::chat_message;
use super::ptr::{ErrorOut, Out};
use super::status::chat_status;
use super::text::{chat_str, view};
use super::view::{chat_list, seen};

/// The kinds of diagnostic. Later versions may add some: treat unknown ones as remarks.
pub use chatparse_stream::DiagnosticKind as chat_diagnostic_kind;

/// How the output marks a call as a call. Text that a model only quotes may look like a bare call.
pub use chatparse_stream::CallOrigin as chat_origin;

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

/// What there is to say of a tool call.
#[repr(C)]
pub struct chat_call_report {
    /// How the output marks it as a call. Run a bare call only where it is harmless to run a call that the model only
    /// quotes; the option `bare_calls` of the request decides which of them are calls.
    pub origin: chat_origin,
    /// Whether the output has its end. Without it, the arguments may be a prefix: do not run it.
    pub complete: bool,
    /// Whether the request offers its tool. True if the parser has no list of tools.
    pub known: bool,
    /// Whether it is complete and its arguments are a JSON object that does not certainly violate the tool's schema.
    pub valid: bool,
}

/// What there is to say of a message: which calls can be used, and what is unusual.
#[repr(C)]
pub struct chat_report_fields {
    /// Of each tool call, in their order.
    pub calls: chat_list<chat_call_report>,
    /// Remarks, in the order of the output.
    pub diagnostics: chat_list<chat_diagnostic>,
}

/// Returns what there is to say of the message. The first call checks the values of all calls against their schemas. All is
/// valid as long as the message.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_report(message: Option<&chat_message>) -> *const chat_report_fields {
    seen(message, |message| {
        let ended = message.ended();
        Some(message.judged.get(|lists| chat_report_fields {
            calls: lists.keep(ended.calls().iter().map(|call| chat_call_report {
                origin: call.origin,
                complete: call.complete,
                known: call.known,
                valid: call.valid,
            })),
            diagnostics: lists.keep(ended.diagnostics().iter().map(|found| chat_diagnostic {
                kind: found.kind,
                call: found.call.unwrap_or(usize::MAX),
                span_begin: found.span.start,
                span_end: found.span.end,
                message: view(&found.message),
            })),
        }))
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
    filled(message, "message", out, error, |message| Ok(view(message.report_json())))
}
