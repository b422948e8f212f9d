//! What there is to say of a message: which calls can be used, and what is unusual.

use super::text::{chat_str, view};
use super::view::{Lists, chat_list};
use chatparse_stream::Ended;

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
    /// How the output marks it as a call. Run a bare call only where it is harmless to run a call
    /// that the model only quotes; the option `bare_calls` of the request decides which of them are
    /// calls.
    pub origin: chat_origin,
    /// Whether the output has its end. Without it, the arguments may be a prefix: do not run it.
    pub complete: bool,
    /// Whether the request offers its tool. True if the parser has no list of tools.
    pub known: bool,
    /// Whether it is complete and its arguments are a JSON object that does not certainly violate
    /// the tool's schema.
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

impl chat_report_fields {
    pub(super) fn of(ended: &Ended, lists: &mut Lists) -> Self {
        chat_report_fields {
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
        }
    }
}
