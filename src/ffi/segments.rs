//! Whose text a prompt is.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use super::error::chat_error;
use super::guard::{answer, guard};
use super::ptr::{give, item, required};
use super::sources::chat_span;
use super::status::chat_status;
use super::template::chat_template;
use super::text::{chat_str, utf8, view};
use crate::segments::{MaskParts, Origin, Segment, Segments};
use chatparse_message::Request;

/// A prompt with the source of each byte: the template, or a message, tool or variable of the request. Immutable.
///
/// A tokeniser should encode special tokens only in segments of `CHAT_TEXT_ORIGIN_TEMPLATE`: then no text of a user
/// becomes one.
pub struct chat_segments(Segments);

/// The source of a part of a prompt. Later versions may add some: treat unknown ones as `CHAT_TEXT_ORIGIN_UNKNOWN`.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum chat_text_origin {
    /// The template's own text, special tokens included.
    Template = 1,
    /// A message of the request.
    Message = 2,
    /// A tool of the request.
    Tool = 3,
    /// A template variable that the request sets, or its documents.
    Kwarg = 4,
    /// A value that the template changed in a way the library cannot follow. Never the template's text alone.
    Unknown = 5,
}

/// A part of a prompt from one source.
#[repr(C)]
pub struct chat_segment {
    /// Position of its first byte in the prompt.
    pub begin: usize,
    /// Position after its last byte.
    pub end: usize,
    /// Its source.
    pub origin: chat_text_origin,
    /// Index of the message or tool in the request; 0 for others.
    pub index: usize,
    /// Of a message: the field as a JSON pointer, e.g. `/content/1/text` or `/tool_calls/0/function/arguments/city`.
    /// Of a variable: its name. Else empty.
    pub path: chat_str,
}

/// In a mask: the reasoning of answers, with its markers.
pub const CHAT_MASK_REASONING: u32 = 1;
/// In a mask: the content of answers.
pub const CHAT_MASK_CONTENT: u32 = 2;
/// In a mask: the tool calls, with their markers.
pub const CHAT_MASK_CALLS: u32 = 4;
/// In a mask: the end of a turn.
pub const CHAT_MASK_END: u32 = 8;
/// In a mask: only the last turn.
pub const CHAT_MASK_LAST_ONLY: u32 = 16;

/// Renders the prompt of a request and finds the source of each byte. The prompt is that of
/// `chat_params_from_template`. Takes two to five renders, and up to some 160 if the template inspects values. `request` and `options` are as for
/// `chat_params_from_template_with`; `options` may be NULL.
///
/// Errors: as `chat_params_from_template_with`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_segments_from_template(
    template: Option<&chat_template>,
    request: *const c_char,
    request_len: usize,
    options: *const c_char,
    options_len: usize,
    out: Option<&mut MaybeUninit<*mut chat_segments>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (template, out) = (required(template, "template")?, required(out, "out")?);
        // SAFETY: the caller's text, by the contract.
        let request = unsafe { utf8(request, request_len, "request") }?;
        let request = if options.is_null() {
            Request::from_text(request)?
        } else {
            // SAFETY: as above.
            Request::from_text_with(request, unsafe { utf8(options, options_len, "options") }?)?
        };
        out.write(give(chat_segments(template.template.segments(&request)?)));
        Ok(())
    })
}

/// Returns the prompt.
#[unsafe(no_mangle)]
pub extern "C" fn chat_segments_prompt(segments: Option<&chat_segments>) -> chat_str {
    view(segments.map(|segments| segments.0.prompt.as_str()))
}

/// Returns how many segments the prompt has.
#[unsafe(no_mangle)]
pub extern "C" fn chat_segments_count(segments: Option<&chat_segments>) -> usize {
    segments.map_or(0, |segments| segments.0.segments.len())
}

/// Fills `*out` with segment `index`, in the order of the prompt. Segments cover the prompt, and none is empty.
#[unsafe(no_mangle)]
pub extern "C" fn chat_segments_at(
    segments: Option<&chat_segments>,
    index: usize,
    out: Option<&mut MaybeUninit<chat_segment>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (segments, out) = (required(segments, "segments")?, required(out, "out")?);
        let Segment { bytes, origin } = item(&segments.0.segments, index, "segments")?;
        let (kind, index, path) = match origin {
            Origin::Template => (chat_text_origin::Template, 0, ""),
            Origin::Message { index, path } => (chat_text_origin::Message, *index, path.as_str()),
            Origin::Tool(index) => (chat_text_origin::Tool, *index, ""),
            Origin::Kwarg(name) => (chat_text_origin::Kwarg, 0, name.as_str()),
            Origin::Unknown => (chat_text_origin::Unknown, 0, ""),
        };
        out.write(chat_segment { begin: bytes.start, end: bytes.end, origin: kind, index, path: view(Some(path)) });
        Ok(())
    })
}

/// Finds the bytes of the prompt that models wrote, for training: those that the loss should count. `parts` is a sum of
/// `CHAT_MASK_...`; other bits are ignored. If the template has `{% generation %}` blocks, bytes outside of them never
/// count, and the first four parts together are exactly these blocks.
///
/// Fills the first `capacity` spans of `out`, in order and without overlap, and returns how many there are. `out` may
/// be NULL if `capacity` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_segments_mask(
    segments: Option<&chat_segments>,
    parts: u32,
    out: *mut chat_span,
    capacity: usize,
) -> usize {
    answer(|| {
        let Some(segments) = segments else { return 0 };
        let has = |part: u32| parts & part != 0;
        let mask = segments.0.mask(MaskParts {
            reasoning: has(CHAT_MASK_REASONING),
            content: has(CHAT_MASK_CONTENT),
            calls: has(CHAT_MASK_CALLS),
            end: has(CHAT_MASK_END),
            last_only: has(CHAT_MASK_LAST_ONLY),
        });
        let capacity = if out.is_null() { 0 } else { capacity };
        for (index, span) in mask.iter().take(capacity).enumerate() {
            // SAFETY: the caller's array has `capacity` places, by the contract.
            unsafe { out.add(index).write(chat_span { begin: span.start, end: span.end }) };
        }
        mask.len()
    })
}

/// Frees the segments.
#[unsafe(no_mangle)]
pub extern "C" fn chat_segments_free(segments: Option<Box<chat_segments>>) {
    drop(segments);
}
