//! Whose text a prompt is.

use std::ffi::c_char;
use std::ops::Range;

use super::message::chat_span;
use super::status::{ErrorOut, Out, answer, chat_status, filled, give, guard, required};
use super::template::chat_template;
use super::text::{self, View, array, chat_list, chat_str, fill, seen, utf8, view};
use crate::segments::{Limit, MaskParts, Offsets, Origin, Segment, Segments, in_threads};
use chatparse_base::Result;

/// A prompt with the source of each byte: the template, or a message, tool or variable of the
/// request. Immutable.
///
/// A tokeniser should encode special tokens only in segments of `CHAT_TEXT_ORIGIN_TEMPLATE`: then
/// no text of a user becomes one.
pub struct chat_segments {
    found: Segments,
    fields: View<chat_segments_fields>,
}

impl From<Segments> for chat_segments {
    fn from(found: Segments) -> Self {
        chat_segments {
            found,
            fields: View::default(),
        }
    }
}

/// The source of a part of a prompt. Later versions may add some: treat unknown ones as
/// `CHAT_TEXT_ORIGIN_UNKNOWN`.
#[repr(u32)]
pub enum chat_text_origin {
    /// The template's own text, special tokens included.
    Template = 1,
    /// A message of the request.
    Message = 2,
    /// A tool of the request.
    Tool = 3,
    /// A template variable that the request sets, or its documents.
    Kwarg = 4,
    /// A value that the template changed in a way the library cannot follow. Never the template's
    /// text alone.
    Unknown = 5,
}

impl From<&Origin> for chat_text_origin {
    fn from(origin: &Origin) -> Self {
        match origin {
            Origin::Template => chat_text_origin::Template,
            Origin::Message { .. } => chat_text_origin::Message,
            Origin::Tool(_) => chat_text_origin::Tool,
            Origin::Kwarg(_) => chat_text_origin::Kwarg,
            _ => chat_text_origin::Unknown,
        }
    }
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
    /// Of a message: the field as a JSON pointer, e.g. `/content/1/text` or
    /// `/tool_calls/0/function/arguments/city`. Of a variable: its name. Else empty.
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
/// In a mask: what the prompt has already written of a turn, such as the opening of its reasoning.
pub const CHAT_MASK_PREFILL: u32 = 32;
/// In a mask: the white space behind the end of a turn.
pub const CHAT_MASK_SPACE: u32 = 64;

/// Renders the prompt of a request and finds the source of each byte. The prompt is that of
/// `chat_params_from_template`. Takes two to five renders, and up to some 160 if the template
/// inspects values. `request` and `options` are as for `chat_params_from_template_with`; `options`
/// may be NULL.
///
/// Errors: as `chat_params_from_template_with`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_segments_from_template(
    template: Option<&chat_template>,
    request: *const c_char,
    request_len: usize,
    options: *const c_char,
    options_len: usize,
    out: Out<*mut chat_segments>,
    error: ErrorOut,
) -> chat_status {
    filled(template, "template", out, error, |template| {
        // SAFETY: the caller's text, by the contract.
        let request = unsafe { utf8(request, request_len, "request") }?;
        // SAFETY: as above.
        let options = unsafe { text::options(options, options_len) }?;
        let request = template.template.request(request, options)?;
        Ok(give(template.template.segments(&request)?.into()))
    })
}

/// As `chat_segments_from_template`, for each of the `count` requests at `requests`, on at most
/// `threads` threads, of which the caller's is one; 0: on as many as the machine runs at once. The
/// other threads end before the function returns.
///
/// `out` has `count` places, and each is filled: with segments, to be freed one by one, or with
/// NULL if the request failed, also if the function fails. `options` holds for all requests.
///
/// Errors: those of the first request that failed, with its index in the message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_segments_batch(
    template: Option<&chat_template>,
    requests: *const chat_str,
    count: usize,
    options: *const c_char,
    options_len: usize,
    threads: usize,
    out: *mut *mut chat_segments,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        let template = required(template, "template")?;
        // SAFETY: the caller's array, by the contract.
        let requests = unsafe { array(requests, count, "requests") }?;
        let out = required((count == 0 || !out.is_null()).then_some(out), "out")?;
        // SAFETY: the caller's array has `count` places, by the contract.
        let put = |index: usize, segments| unsafe { out.add(index).write(segments) };
        (0..count).for_each(|index| put(index, std::ptr::null_mut()));
        // SAFETY: the caller's text, by the contract.
        let options = unsafe { text::options(options, options_len) }?;
        // SAFETY: the caller's texts, by the contract.
        let requests = requests
            .iter()
            .map(|request| unsafe { utf8(request.data, request.len, "request") });
        let requests: Vec<Result<&str>> = requests.collect();
        let found = in_threads(count, threads, &|index| {
            let request = requests[index].clone()?;
            template
                .template
                .segments(&template.template.request(request, options)?)
        });
        let mut failed = None;
        for (index, found) in found.into_iter().enumerate() {
            match found {
                Ok(found) => put(index, give(found.into())),
                Err(error) => drop(failed.get_or_insert((index, error))),
            }
        }
        failed.map_or(Ok(()), |(index, error)| {
            Err(error.within(&format!("requests[{index}]")))
        })
    })
}

/// What there is to say of a prompt. All is valid as long as the segments, `limit` for ever.
#[repr(C)]
pub struct chat_segments_fields {
    /// The prompt.
    pub prompt: chat_str,
    /// Its segments, in its order. They cover the prompt, and none is empty.
    pub segments: chat_list<chat_segment>,
    /// Which limit the search for origins and turns reached, as a sentence; empty if it reached
    /// none. If it did, more bytes than necessary are `CHAT_TEXT_ORIGIN_UNKNOWN`, or turns are
    /// missing in masks.
    pub limit: chat_str,
}

/// Returns what there is to say of the prompt.
#[unsafe(no_mangle)]
pub extern "C" fn chat_segments_view(
    segments: Option<&chat_segments>,
) -> *const chat_segments_fields {
    seen(segments, |chat_segments { found, fields }| {
        Some(fields.get(|lists| chat_segments_fields {
            prompt: view(&found.prompt),
            segments: lists.keep(found.segments.iter().map(|Segment { bytes, origin, .. }| {
                let (index, path) = match origin {
                    Origin::Message { index, path } => (*index, path.as_str()),
                    Origin::Tool(index) => (*index, ""),
                    Origin::Kwarg(name) => (0, name.as_str()),
                    _ => (0, ""),
                };
                chat_segment {
                    begin: bytes.start,
                    end: bytes.end,
                    origin: origin.into(),
                    index,
                    path: view(path),
                }
            })),
            limit: view(found.limit.map_or("", Limit::words)),
        }))
    })
}

/// Finds the bytes of the prompt that models wrote, for training: those that the loss should count.
/// `parts` is a sum of `CHAT_MASK_...`; other bits are ignored. If the template has `{% generation
/// %}` blocks, bytes outside of them never count, and the first four parts together are exactly
/// these blocks.
///
/// Fills the first `capacity` spans of `out`, in order and without overlap, and returns how many
/// there are. `out` may be NULL if `capacity` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_segments_mask(
    segments: Option<&chat_segments>,
    parts: u32,
    out: *mut chat_span,
    capacity: usize,
) -> usize {
    answer(segments, |segments| {
        let mask = segments.found.mask(mask_parts(parts));
        // SAFETY: the caller's array, by the contract.
        unsafe { fill(mask.iter().map(chat_span::from), out, capacity) }
    })
}

fn mask_parts(parts: u32) -> MaskParts {
    let has = |part: u32| parts & part != 0;
    let mut mask = MaskParts::default();
    mask.reasoning = has(CHAT_MASK_REASONING);
    mask.content = has(CHAT_MASK_CONTENT);
    mask.calls = has(CHAT_MASK_CALLS);
    mask.end = has(CHAT_MASK_END);
    mask.prefill = has(CHAT_MASK_PREFILL);
    mask.space = has(CHAT_MASK_SPACE);
    mask.last_only = has(CHAT_MASK_LAST_ONLY);
    mask
}

/// What a token of a prompt is.
#[repr(C)]
pub struct chat_segment_token {
    /// The source of its text. `CHAT_TEXT_ORIGIN_TEMPLATE` is scaffold, all else body. A token with
    /// a byte of a value is never the template's.
    pub origin: chat_text_origin,
    /// Index of the message that it comes from, or whose turn it is in; `SIZE_MAX` for others.
    pub message: usize,
    /// Whether a model wrote a byte of it, by the mask.
    pub sampled: bool,
}

/// Labels the tokens of the prompt, of any tokenizer: `offsets` has the range of each of the
/// `count` tokens, in characters if `in_chars` is true, as tokenizers of transformers give them,
/// otherwise in bytes. `parts` is as for `chat_segments_mask`: what counts as sampled. Fills the
/// `count` places of `out`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT`, with the token's index, for a place that is not in the
/// prompt; then `out` is unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_segments_tokens(
    segments: Option<&chat_segments>,
    parts: u32,
    offsets: *const chat_span,
    count: usize,
    in_chars: bool,
    out: *mut chat_segment_token,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        let segments = required(segments, "segments")?;
        // SAFETY: the caller's array, by the contract.
        let offsets = unsafe { array(offsets, count, "offsets") }?;
        let out = required((count == 0 || !out.is_null()).then_some(out), "out")?;
        let offsets: Vec<Range<usize>> = offsets.iter().map(|span| span.begin..span.end).collect();
        let offsets = if in_chars {
            Offsets::Chars(&offsets)
        } else {
            Offsets::Bytes(&offsets)
        };
        let tokens = segments.found.tokens(offsets, mask_parts(parts))?;
        let tokens = tokens.into_iter().map(|token| chat_segment_token {
            origin: token.origin.into(),
            message: token.message.unwrap_or(usize::MAX),
            sampled: token.sampled,
        });
        // SAFETY: the caller's array, by the contract.
        unsafe { fill(tokens, out, count) };
        Ok(())
    })
}

/// Frees the segments.
#[unsafe(no_mangle)]
pub extern "C" fn chat_segments_free(segments: Option<Box<chat_segments>>) {
    drop(segments);
}
