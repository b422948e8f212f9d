//! Output of which is known what came from special tokens.

use std::ffi::c_char;
use std::ops::Range;

use smallvec::SmallVec;

use super::guard::guard;
use super::ptr::{ErrorOut, required};
use super::sources::chat_span;
use super::status::chat_status;
use super::stream::chat_stream;
use super::text::{array, bytes, chat_str, texts};
use chatparse_stream::SpecialTokens;

/// Sets the texts of the model's special tokens for `chat_stream_feed_marked`, as the tokeniser
/// writes them. They stay after a reset, and a clone has them. White space around a text does not
/// count. Of a text with white space inside, its first word counts; a text of white space only is
/// ignored.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for an empty text, and after output was fed;
/// `CHAT_STATUS_LIMIT` for more than a megabyte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_stream_set_special_tokens(
    stream: Option<&mut chat_stream>,
    tokens: *const chat_str,
    token_count: usize,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        let stream = required(stream, "stream")?;
        // SAFETY: the caller's array and the texts in it, by the contract.
        let tokens = unsafe { texts(tokens, token_count, "tokens") }?;
        let tokens = SpecialTokens::new(&tokens)?;
        stream.change(|stream| stream.set_special_tokens(&tokens))
    })
}

/// As `chat_stream_feed`, with the positions of special tokens: `spans`, ranges of `bytes` in order
/// and without overlap. All other bytes are plain text. A marker that is or holds a special token
/// counts only if it came as one: so reasoning may quote `</think>`, and an argument
/// `</tool_call>`. Markers without special tokens, output of `chat_stream_feed` and markers at the
/// end of the prompt count as without spans.
///
/// A token may be cut between two calls, with a span for each part. Text that may become the text
/// of a special token is delayed. Costs as much as the new bytes.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for a stream that is finished or has no special tokens,
/// and for spans that overlap, are not in order or lie outside of `bytes`. The stream does not
/// change then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_stream_feed_marked(
    stream: Option<&mut chat_stream>,
    bytes: *const c_char,
    bytes_len: usize,
    spans: *const chat_span,
    span_count: usize,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        let stream = required(stream, "stream")?;
        // SAFETY: the caller's bytes and array, by the contract.
        let (bytes, spans) = unsafe {
            (
                self::bytes(bytes, bytes_len, "bytes")?,
                array(spans, span_count, "spans")?,
            )
        };
        let spans: SmallVec<[Range<usize>; 8]> =
            spans.iter().map(|span| span.begin..span.end).collect();
        stream.change(|stream| stream.feed_marked(bytes, &spans).map(drop))
    })
}
