//! A parsed message.

use std::ffi::c_char;
use std::ops::Range;
use std::sync::OnceLock;

use super::params::chat_params;
use super::status::{ErrorOut, Out, answer, chat_status, filled, give};
use super::text::{View, bytes, chat_list, chat_str, fill, seen, view};
use chatparse_base::{Error, Result};
use chatparse_message::Message;
use chatparse_stream::{DeltaKind, Ended, EndedBy, OutputPart, Parser, PartKind, Status};

/// Flag: the output is not complete. More of it will come, or a limit cut it off.
pub const CHAT_PARSE_PARTIAL: u32 = 1;
/// Flag: an output that does not match the format is an error (`CHAT_STATUS_PARSE`); without
/// `CHAT_PARSE_PARTIAL` also one that ends where the format does not. Without this flag, such an
/// output becomes a message with all of its text, and `CHAT_OUTCOME_RECOVERED` or
/// `CHAT_OUTCOME_PARTIAL`.
pub const CHAT_PARSE_STRICT: u32 = 2;

/// The flags of a parse, by name.
pub(super) struct Flags {
    pub by: EndedBy,
    strict: bool,
}

impl Flags {
    pub fn from_bits(bits: u32) -> Result<Self> {
        known_flags(bits, CHAT_PARSE_PARTIAL | CHAT_PARSE_STRICT)?;
        Ok(Flags {
            by: EndedBy::limit_if(bits & CHAT_PARSE_PARTIAL != 0),
            strict: bits & CHAT_PARSE_STRICT != 0,
        })
    }

    pub fn judge(&self, ended: &Ended) -> Result<()> {
        if self.strict {
            ended.strict(self.by)
        } else {
            Ok(())
        }
    }
}

/// How an output relates to the template's format.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum chat_outcome {
    /// There is no message: the handle is NULL or unusable.
    #[allow(dead_code, reason = "C finds it in the fields of a NULL handle")]
    None = 0,
    /// The whole output matches.
    Complete = 1,
    /// The output was cut off, is not complete yet, or stops before the format ends, e.g. inside
    /// the reasoning. The arguments of an unfinished call are a prefix of JSON text.
    Partial = 2,
    /// The output breaks the format. No text is lost: calls in another known format are calls, all
    /// else is content. `chat_message_report` says what and where.
    Recovered = 3,
}

same_names!(Status => chat_outcome: Complete, Partial, Recovered);

/// One message of a model: reasoning, content, tool calls, diagnostics. Immutable.
///
/// Calls are numbered from 0, in the order of the output.
pub struct chat_message {
    pub(super) ended: Ended,
    fields: View<chat_message_fields>,
    judged: View<chat_report_fields>,
    json: OnceLock<String>,
    report: OnceLock<String>,
    pub(super) tree: String,
}

pub(super) fn known_flags(bits: u32, known: u32) -> Result<()> {
    match bits & !known {
        0 => Ok(()),
        unknown => Err(Error::invalid(format!("flags: {unknown:#x} is unknown"))),
    }
}

impl chat_message {
    pub(super) fn new(ended: Ended) -> Self {
        chat_message {
            ended,
            fields: View::default(),
            judged: View::default(),
            json: OnceLock::new(),
            report: OnceLock::new(),
            tree: String::new(),
        }
    }

    pub(super) fn parse(parser: &Parser, text: &[u8], flags: u32) -> Result<*mut Self> {
        let flags = Flags::from_bits(flags)?;
        let ended = parser.read(text, flags.by);
        flags.judge(&ended)?;
        Ok(give(chat_message::new(ended)))
    }
}

/// Parses an output, or the part of it that has come so far, in one call. `text` is what the model
/// wrote after the prompt, any bytes. `flags` is 0 for an output that the model ended, or a
/// combination of `CHAT_PARSE_PARTIAL` and `CHAT_PARSE_STRICT`. For output in pieces use
/// `chat_stream`: it gives the same message and does not parse old bytes again.
///
/// Errors: `CHAT_STATUS_PARSE`, only with `CHAT_PARSE_STRICT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_parse_partial(
    params: Option<&chat_params>,
    text: *const c_char,
    text_len: usize,
    flags: u32,
    out: Out<*mut chat_message>,
    error: ErrorOut,
) -> chat_status {
    filled(params, "params", out, error, |params| {
        // SAFETY: the caller's bytes, by the contract.
        let text = unsafe { bytes(text, text_len, "text") }?;
        chat_message::parse(&params.params().parser, text, flags)
    })
}

/// A tool call.
#[repr(C)]
pub struct chat_tool_call {
    /// The name of the tool.
    pub name: chat_str,
    /// The id; empty if the model wrote none.
    pub id: chat_str,
    /// The arguments as JSON text, or a prefix of it if the output was cut off.
    pub arguments: chat_str,
}

/// What a message says. All is valid as long as the message.
#[repr(C)]
pub struct chat_message_fields {
    /// How the output relates to the format. `CHAT_OUTCOME_NONE` for a NULL message.
    pub outcome: chat_outcome,
    /// The content.
    pub content: chat_str,
    /// The reasoning, if the request separates it from the content (`reasoning_format`).
    pub reasoning: chat_str,
    /// The tool calls. `chat_message_report` says which can be run.
    pub calls: chat_list<chat_tool_call>,
    /// Reasoning, content and calls in the order in which a model thinks, calls and answers.
    pub parts: chat_list<chat_part>,
}

/// Returns what the message says.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_view(message: Option<&chat_message>) -> *const chat_message_fields {
    seen(message, |message| {
        let ended = &message.ended;
        let Message {
            content,
            reasoning_content: reasoning,
            tool_calls,
            ..
        } = &ended.message;
        Some(message.fields.get(|lists| chat_message_fields {
            outcome: ended.status.into(),
            content: view(content),
            reasoning: view(reasoning),
            calls: lists.keep(tool_calls.iter().map(|call| chat_tool_call {
                name: view(&call.name),
                id: view(&call.id),
                arguments: view(&call.arguments),
            })),
            parts: lists.keep(ended.parts().iter().map(
                |OutputPart {
                     kind,
                     call,
                     text,
                     span,
                 }| chat_part {
                    kind: *kind,
                    call: *call,
                    text: view(match kind {
                        PartKind::Reasoning => &reasoning[text.clone()],
                        PartKind::Content => &content[text.clone()],
                        PartKind::Call => "",
                    }),
                    span_begin: span.start,
                    span_end: span.end,
                },
            )),
        }))
    })
}

/// Writes the message as OpenAI JSON: `role` and `content` always, `reasoning_content` and
/// `tool_calls` if there are any. The first call writes the text; later ones return the same.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_json(
    message: Option<&chat_message>,
    out: Out<chat_str>,
    error: ErrorOut,
) -> chat_status {
    filled(message, "message", out, error, |message| {
        let json = &message.json;
        Ok(view(json.get_or_init(|| {
            message.ended.message.to_json().to_string()
        })))
    })
}

/// Writes the syntax tree of a message of `chat_parser_tagged` as a JSON object; of other messages,
/// empty text.
///
/// - `outcome`: `matched`; `partial` if the text ended before the match did, without a mismatch
///   (only with `CHAT_PARSE_PARTIAL`); `failed` if it does not match. Text after a match is ignored
///   unless the format ends with `end`;
/// - `end`: the position after the match; of a text that does not match, how far it could have
///   matched;
/// - `nodes`: an object for each rule, tag and label that matched, in the order of their first
///   bytes, the outer before the inner: `rule` or `tag` (the name), `begin`, `end`, `parent` (the
///   index of the node around it, or null) and `partial` (the text ended inside of it). A text that
///   does not match has none.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_tree_json(
    message: Option<&chat_message>,
    out: Out<chat_str>,
    error: ErrorOut,
) -> chat_status {
    filled(message, "message", out, error, |message| {
        Ok(view(&message.tree))
    })
}

/// Frees the message.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_free(message: Option<Box<chat_message>>) {
    drop(message);
}

/// Returns what there is to say of the message. The first call checks the values of all calls
/// against their schemas. All is valid as long as the message.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_report(message: Option<&chat_message>) -> *const chat_report_fields {
    seen(message, |message| {
        let ended = &message.ended;
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
/// - `left_at`: the offset of the first byte that breaks the format, or null if `status` is not
///   `recovered`. It may be that of a call in another format, or of an unknown tool, after which
///   the output matches again; the diagnostic `left_format` begins where the parser gave up the
///   format for the rest of the output;
/// - `calls`: an object for each call with the booleans `complete`, `known`, `valid`, and `origin`:
///   `format`, `dialect` or `bare`;
/// - `diagnostics`: an object for each with `kind` (the name in lower case, e.g. `left_format`),
///   `call` (a number, or null), `span` (an array of two positions) and `message`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_message_report_json(
    message: Option<&chat_message>,
    out: Out<chat_str>,
    error: ErrorOut,
) -> chat_status {
    filled(message, "message", out, error, |message| {
        let report = &message.report;
        Ok(view(
            report.get_or_init(|| message.ended.report_json().to_string()),
        ))
    })
}

/// Finds the ranges of the output that a field of the message comes from, in the order of its text:
/// to find the tokens of a field. `field` is `CHAT_DELTA_KIND_REASONING` or
/// `CHAT_DELTA_KIND_CONTENT` (with `call` 0), or `CHAT_DELTA_KIND_TOOL_NAME`,
/// `CHAT_DELTA_KIND_TOOL_ID` or `CHAT_DELTA_KIND_TOOL_ARGUMENTS` of a call, or
/// `CHAT_SPANS_STRUCTURE`; there are no ranges of others. Ranges hold no markup, and nothing that
/// the output does not have: a brace that the library added, text of the prompt. The range of a
/// name may be a part of that of the id.
///
/// Fills the first `capacity` ranges of `out`, and returns how many there are. `out` may be NULL if
/// `capacity` is 0. The first call on a message computes the ranges of all fields.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_message_spans(
    message: Option<&chat_message>,
    field: u32,
    call: usize,
    out: *mut chat_span,
    capacity: usize,
) -> usize {
    answer(message, |message| {
        let ended = &message.ended;
        let mut kinds = DeltaKind::ALL.into_iter();
        let spans = match kinds.find(|kind| *kind as u32 == field) {
            Some(kind) => ended.spans(kind, call),
            None if field == CHAT_SPANS_STRUCTURE => ended.structure(),
            None => &[],
        };
        // SAFETY: the caller's array, by the contract.
        unsafe { fill(spans.iter().map(chat_span::from), out, capacity) }
    })
}

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
