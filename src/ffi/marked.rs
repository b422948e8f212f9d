//! Output of which is known what came from special tokens.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ops::Range;

use smallvec::SmallVec;

use super::error::chat_error;
use super::guard::guard;
use super::ptr::required;
use super::sources::chat_span;
use super::status::chat_status;
use super::stream::chat_stream;
use super::text::{array, bytes, chat_str, texts};
use crate::stream::SpecialTokens;

/// The texts of the model's special tokens (UTF-8; copied), for `chat_stream_feed_marked`: what the tokeniser writes for each, a megabyte
/// together at most. They stay when the stream is reset, and a clone has them, too. White space around a text does not count, as it
/// is free at markers: one that is nothing else is no token here; of one with white space inside, its first word counts.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for an empty text, for one that is no UTF-8, and where output was fed;
/// `CHAT_STATUS_LIMIT` for too much text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_stream_set_special_tokens(
    stream: Option<&mut chat_stream>,
    tokens: *const chat_str,
    token_count: usize,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let stream = required(stream, "stream")?;
        // SAFETY: the caller's array and the texts in it, by the contract.
        let tokens = unsafe { texts(tokens, token_count, "tokens") }?;
        let tokens = SpecialTokens::new(&tokens)?;
        stream.change(|stream| stream.set_special_tokens(&tokens))
    })
}

/// As `chat_stream_feed` where it is known which bytes came from special tokens: `spans`, positions in `bytes`, in order and apart
/// (copied). All other bytes are text. A marker that is a special token, or holds one, counts only where that came as one: the
/// reasoning may quote `</think>`, an argument `</tool_call>`. Markers without special tokens count as ever.
///
/// Text that may yet spell out a special token waits until that is certain. A token may be cut, with a span for each part: the
/// result does not depend on how the output was cut. What `chat_stream_feed` appends in between counts as ever, and so do the
/// markers that the prompt has at its end. Costs as much as the new bytes.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for a stream that is finished or has no special tokens
/// (`chat_stream_set_special_tokens`), and for spans that overlap, are not in order or do not lie within `bytes`. Nothing is fed
/// then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_stream_feed_marked(
    stream: Option<&mut chat_stream>,
    bytes: *const c_char,
    bytes_len: usize,
    spans: *const chat_span,
    span_count: usize,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let stream = required(stream, "stream")?;
        // SAFETY: the caller's bytes and array, by the contract.
        let (bytes, spans) = unsafe { (self::bytes(bytes, bytes_len, "bytes")?, array(spans, span_count, "spans")?) };
        let spans: SmallVec<[Range<usize>; 8]> = spans.iter().map(|span| span.begin..span.end).collect();
        stream.change(|stream| stream.feed_marked(bytes, &spans).map(drop))
    })
}
