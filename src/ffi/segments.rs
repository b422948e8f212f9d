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
use crate::message::Request;
use crate::segments::{MaskParts, Origin, Segment, Segments};

/// A prompt with the origin of each of its bytes. Immutable; may be used by several threads at once.
pub struct chat_segments(Segments);

/// Where a part of a prompt comes from. Later versions may have more: take a number that is not known for
/// `CHAT_TEXT_ORIGIN_UNKNOWN`.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum chat_text_origin {
    /// The template's own words, special tokens among them.
    Template = 1,
    /// A message of the request.
    Message = 2,
    /// A tool of the request.
    Tool = 3,
    /// A template variable that the request sets, or its documents.
    Kwarg = 4,
    /// The template changes a value in a way that cannot be followed. Never the text of the template alone.
    Unknown = 5,
}

/// A part of a prompt that comes from one place.
#[repr(C)]
pub struct chat_segment {
    /// Position of its first byte in the prompt.
    pub begin: usize,
    /// And the position after its last byte.
    pub end: usize,
    /// Where it comes from.
    pub origin: chat_text_origin,
    /// Which message or tool of the request, from 0; 0 for others.
    pub index: usize,
    /// Of a message: the field, as a JSON pointer into it, e.g. `/content`, `/content/1/text`, `/reasoning_content`,
    /// `/tool_calls/0/function/arguments/city`. Of a variable: its name. Empty for others. Valid until the segments are freed.
    pub path: chat_str,
}

/// In a mask: the reasoning of answers, with what opens and closes it.
pub const CHAT_MASK_REASONING: u32 = 1;
/// In a mask: the content of answers.
pub const CHAT_MASK_CONTENT: u32 = 2;
/// In a mask: the calls, with the markup around them.
pub const CHAT_MASK_CALLS: u32 = 4;
/// In a mask: what ends a turn.
pub const CHAT_MASK_END: u32 = 8;
/// In a mask: the last turn alone.
pub const CHAT_MASK_LAST_ONLY: u32 = 16;

/// Renders the prompt of a request and tells where each byte of it comes from: the template, or which message, field, tool or variable. So
/// a host may make special tokens of the template's text alone, and no text of a user ever becomes one. The prompt is that of
/// `chat_params_from_template` for the same request. Takes two to forty renders.
///
/// `request` and `options` are JSON as for `chat_params_from_template_with`; `options` may be NULL.
///
/// On success `*out` is a new object, to be freed with `chat_segments_free`. It does not need the template any more.
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

/// The prompt. Empty for NULL; valid until the segments are freed.
#[unsafe(no_mangle)]
pub extern "C" fn chat_segments_prompt(segments: Option<&chat_segments>) -> chat_str {
    view(segments.map(|segments| segments.0.prompt.as_str()))
}

/// How many segments the prompt has. 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_segments_count(segments: Option<&chat_segments>) -> usize {
    segments.map_or(0, |segments| segments.0.segments.len())
}

/// Segment number `index` (from 0), in the order of the prompt. They cover it, and none is empty.
///
/// On success `*out` is filled; its text is valid until the segments are freed.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
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

/// The bytes of the prompt that models wrote, for training: which of them a model should learn. `parts` is a sum of `CHAT_MASK_REASONING`,
/// `CHAT_MASK_CONTENT`, `CHAT_MASK_CALLS`, `CHAT_MASK_END` and `CHAT_MASK_LAST_ONLY`; other bits are of no meaning. Where the template has `{% generation %}`
/// blocks, no byte outside of them counts, and the first four parts together are just these blocks.
///
/// Fills the first `capacity` spans of `out`, in order and apart from each other, and returns how many there are. `out` may be NULL where
/// `capacity` is 0. Returns 0 for NULL segments.
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

/// Frees the segments. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn chat_segments_free(segments: Option<Box<chat_segments>>) {
    drop(segments);
}
