//! A parse in progress.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use super::error::chat_error;
use super::guard::{Guarded, guard};
use super::message::{Flags, chat_message, chat_outcome};
use super::params::chat_params;
use super::parser::chat_parser;
use super::ptr::{give, out_of_range, required};
use super::status::chat_status;
use super::text::{bytes, chat_str, view};
use crate::error::{Error, Result};
use crate::message::{DeltaKind, Status, chunk_delta};
use crate::parser::Parser;
use crate::stream::{Budget, Ended, Stream};

/// A parse in progress: bytes of the output in, what they add to the message out. It reads each byte once, takes nothing back
/// that it has shown unless it is asked to (`chat_stream_rollback`), and gives the same message however the output is cut.
///
/// One thread at a time. The life of a stream:
///
/// ```c
/// chat_stream_new(params, &stream, &error);
/// while (the model writes) {
///   chat_stream_feed(stream, bytes, len, &error);
///   for (size_t i = 0; i < chat_stream_delta_count(stream); i++) {
///     chat_delta delta;
///     chat_stream_delta(stream, i, &delta, &error);
///     ... send delta.text on ...
///   }
/// }
/// chat_stream_finish(stream, flags, &error);
/// ... deltas once more: what was held back because it could have become a marker ...
/// chat_stream_message(stream, &message, &error);
/// chat_stream_free(stream);
/// ```
pub struct chat_stream(Guarded<Parse>);

#[derive(Clone)]
struct Parse {
    stream: Stream,
    /// How it ended, once it has.
    ended: Option<Ended>,
    /// What `chat_stream_chunk_json` said last.
    chunk: String,
}

impl Parse {
    fn running(&mut self) -> Result<&mut Stream> {
        match &self.ended {
            None => Ok(&mut self.stream),
            Some(_) => Err(Error::invalid("stream: it is finished; reset it for another output")),
        }
    }

    fn outcome(&self) -> chat_outcome {
        self.ended.as_ref().map_or(chat_outcome::Partial, |ended| ended.status.into())
    }
}

impl chat_stream {
    fn new(parser: &Parser) -> Self {
        chat_stream(Guarded::new(Parse { stream: Stream::new(parser), ended: None, chunk: String::new() }))
    }

    pub(super) fn stream(&self) -> Result<&Stream> {
        Ok(&self.0.get()?.stream)
    }

    pub(super) fn change<T>(&mut self, change: impl FnOnce(&mut Stream) -> Result<T>) -> Result<T> {
        self.0.change(|parse| change(parse.running()?))
    }

    fn usable(stream: Option<&Self>) -> Option<&Parse> {
        stream?.0.get().ok()
    }
}

/// Which part of the message a delta adds to, or takes from. Later versions may add kinds: pass over those that you do not know.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum chat_delta_kind {
    /// `reasoning_content`.
    Reasoning = 1,
    /// `content`.
    Content = 2,
    /// The name of a tool call, all of it: the first delta of each call.
    ToolName = 3,
    /// The id of a tool call, all of it; at most once a call.
    ToolId = 4,
    /// A piece of the arguments of a tool call, as JSON text.
    ToolArguments = 5,
    /// The tool call is whole: its last delta, with an empty text. A call that the output breaks off has none.
    ToolEnd = 6,
    /// After `chat_stream_rollback` only, as all that follow: the text is to be taken from the end of `reasoning_content`.
    ReasoningWithdrawn = 101,
    /// The text is to be taken from the end of `content`.
    ContentWithdrawn = 102,
    /// The last tool call, of this name, is to be removed, with its id and its arguments.
    CallWithdrawn = 103,
    /// The id of a tool call is to be removed.
    ToolIdWithdrawn = 104,
    /// The text is to be taken from the end of the arguments of a tool call.
    ToolArgumentsWithdrawn = 105,
    /// A tool call is not whole any more; the text is empty.
    ToolEndWithdrawn = 106,
}

impl From<DeltaKind> for chat_delta_kind {
    fn from(kind: DeltaKind) -> Self {
        match kind {
            DeltaKind::Reasoning => chat_delta_kind::Reasoning,
            DeltaKind::Content => chat_delta_kind::Content,
            DeltaKind::ToolName => chat_delta_kind::ToolName,
            DeltaKind::ToolId => chat_delta_kind::ToolId,
            DeltaKind::ToolArguments => chat_delta_kind::ToolArguments,
            DeltaKind::ToolEnd => chat_delta_kind::ToolEnd,
            DeltaKind::ReasoningWithdrawn => chat_delta_kind::ReasoningWithdrawn,
            DeltaKind::ContentWithdrawn => chat_delta_kind::ContentWithdrawn,
            DeltaKind::CallWithdrawn => chat_delta_kind::CallWithdrawn,
            DeltaKind::ToolIdWithdrawn => chat_delta_kind::ToolIdWithdrawn,
            DeltaKind::ToolArgumentsWithdrawn => chat_delta_kind::ToolArgumentsWithdrawn,
            DeltaKind::ToolEndWithdrawn => chat_delta_kind::ToolEndWithdrawn,
        }
    }
}

/// A text to append to the message or, after `chat_stream_rollback`, to take from its end. All deltas of a stream, applied in
/// order, are its message.
#[repr(C)]
pub struct chat_delta {
    /// Which part of the message it is about.
    pub kind: chat_delta_kind,
    /// Which tool call, from 0; 0 for content and reasoning.
    pub call: usize,
    /// What to append or to take away; whole UTF-8 characters. Valid until the next call that takes the stream without `const`.
    pub text: chat_str,
    /// Where in the output the text comes from: position of the first byte, counted over all bytes fed. What is withdrawn has the
    /// span of the output that was taken back.
    pub span_begin: usize,
    /// And the position after the last byte. Equal to `span_begin` where the text stands for markup (a closing brace, say).
    pub span_end: usize,
}

/// A stream at the start of an output. What the prompt has begun already (a prefilled message) shows with the first feed.
///
/// On success `*out` is a new stream, to be freed with `chat_stream_free`. It does not need the params any more.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_new(
    params: Option<&chat_params>,
    out: Option<&mut MaybeUninit<*mut chat_stream>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (params, out) = (required(params, "params")?, required(out, "out")?);
        out.write(give(chat_stream::new(&params.params().parser)));
        Ok(())
    })
}

/// As `chat_stream_new`, with a parser instead of params.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_from_parser(
    parser: Option<&chat_parser>,
    out: Option<&mut MaybeUninit<*mut chat_stream>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (parser, out) = (required(parser, "parser")?, required(out, "out")?);
        out.write(give(chat_stream::new(&parser.parser)));
        Ok(())
    })
}

/// Appends output. What it adds to the message is then in `chat_stream_delta`, until the next feed, finish or rollback. The bytes may be
/// cut anywhere, also inside a character, and are copied; they must not be a view into this same stream.
///
/// Costs as much as the new bytes, however long the output is by now.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for a stream that is finished. Model output is never an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_stream_feed(
    stream: Option<&mut chat_stream>,
    bytes: *const c_char,
    bytes_len: usize,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let stream = required(stream, "stream")?;
        // SAFETY: the caller's bytes, by the contract.
        let bytes = unsafe { self::bytes(bytes, bytes_len, "bytes") }?;
        stream.change(|stream| {
            let _ = stream.feed(bytes);
            Ok(())
        })
    })
}

/// Ends the output. `flags` is 0 where the model ended it, `CHAT_PARSE_PARTIAL` where a limit or the caller cut it off. What was
/// held back because it could have become a marker is then in `chat_stream_delta`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for unknown flags, and for a stream that is finished; `CHAT_STATUS_PARSE` with
/// `CHAT_PARSE_STRICT` for an output that does not fit the format. The stream is finished then, and its message there, all the
/// same.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_finish(
    stream: Option<&mut chat_stream>,
    flags: u32,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let flags = Flags::from_bits(flags)?;
        required(stream, "stream")?.0.change(|parse| {
            let ended = parse.running()?.finish(flags.partial);
            let refused = flags.strict && ended.status == Status::Recovered;
            let result = if refused { Err(ended.mismatch()) } else { Ok(()) };
            parse.ended = Some(ended);
            result
        })
    })
}

/// How many deltas the last feed, finish or rollback gave. 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_delta_count(stream: Option<&chat_stream>) -> usize {
    chat_stream::usable(stream).map_or(0, |parse| parse.stream.deltas().len())
}

/// Delta number `index` (from 0) of the last feed, finish or rollback.
///
/// On success `*out` is filled; its text is valid until the next call that takes the stream without `const`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_delta(
    stream: Option<&chat_stream>,
    index: usize,
    out: Option<&mut MaybeUninit<chat_delta>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (stream, out) = (required(stream, "stream")?, required(out, "out")?);
        let stream = &stream.0.get()?.stream;
        let delta = stream.delta(index).ok_or_else(|| out_of_range(index, stream.deltas().len(), "deltas"))?;
        out.write(chat_delta {
            kind: delta.kind.into(),
            call: delta.call,
            text: view(Some(delta.text)),
            span_begin: delta.span.start,
            span_end: delta.span.end,
        });
        Ok(())
    })
}

/// All deltas of the last feed or finish (none of a rollback) as the `delta` object of one OpenAI chunk, e.g.
/// `{"content":"Hi","tool_calls":[{"index":0,"type":"function","function":{"name":"f","arguments":"{"}}]}`, or `{}` where they
/// add nothing. An `id` is there where and when the model writes one, which may be behind the arguments; many clients want one
/// with the name, and take no second one: `chat_answer` gives whole chunks, with ids as clients want them.
///
/// On success `*out` is a view, valid until the next call that takes the stream without `const`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_chunk_json(
    stream: Option<&mut chat_stream>,
    out: Option<&mut MaybeUninit<chat_str>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (stream, out) = (required(stream, "stream")?, required(out, "out")?);
        stream.0.change(|parse| {
            parse.chunk = chunk_delta(parse.stream.deltas()).to_string();
            out.write(view(Some(&parse.chunk)));
            Ok(())
        })
    })
}

/// How the output related to the format; `CHAT_OUTCOME_PARTIAL` until the stream is finished. `CHAT_OUTCOME_NONE` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_outcome(stream: Option<&chat_stream>) -> chat_outcome {
    chat_stream::usable(stream).map_or(chat_outcome::None, Parse::outcome)
}

/// The message so far, or, after finish, the message. It is a copy that the stream does not change.
///
/// On success `*out` is a new message, to be freed with `chat_message_free`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_message(
    stream: Option<&chat_stream>,
    out: Option<&mut MaybeUninit<*mut chat_message>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (stream, out) = (required(stream, "stream")?, required(out, "out")?);
        let parse = stream.0.get()?;
        out.write(give(chat_message::new(parse.ended.clone().unwrap_or_else(|| parse.stream.so_far()))));
        Ok(())
    })
}

/// A second stream in the same state, deltas included; the two then go their own ways. For speculative decoding, and for several
/// choices that share a beginning.
///
/// On success `*out` is a new stream, to be freed with `chat_stream_free`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_clone(
    stream: Option<&chat_stream>,
    out: Option<&mut MaybeUninit<*mut chat_stream>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (stream, out) = (required(stream, "stream")?, required(out, "out")?);
        out.write(give(chat_stream(Guarded::new(stream.0.get()?.clone()))));
        Ok(())
    })
}

/// Notes how the parse stands: from now on `chat_stream_rollback` goes back to this byte of the output or to any later one. There
/// is one checkpoint at a time; a new one takes the place of the old one. For speculative decoding: set it where the output is
/// certain, feed the draft, roll back to the last byte that was accepted.
///
/// Costs what the parser holds open (the depth of nesting), not the length of the output.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for a stream that is finished.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_checkpoint(
    stream: Option<&mut chat_stream>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        required(stream, "stream")?.0.change(|parse| {
            parse.running()?.checkpoint();
            Ok(())
        })
    })
}

/// Takes back all output behind its first `output_len` bytes, counted over all bytes fed, as if they had not been fed; a stream
/// that is finished goes on. What that takes away from the message is then in `chat_stream_delta`, with the kinds that say
/// "withdrawn" and no others: calls from the last one on, then texts.
///
/// Costs what is taken back since the checkpoint, which stays.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, without a checkpoint, and for a length that is less than the checkpoint's or
/// more than there is. Nothing changes then.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_rollback(
    stream: Option<&mut chat_stream>,
    output_len: usize,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        required(stream, "stream")?.0.change(|parse| {
            let _ = parse.stream.rollback(output_len)?;
            parse.ended = None;
            Ok(())
        })
    })
}

/// Sets how much work the parse may take: `base`, and `per_byte` for each byte of output; what it has taken by now counts. The
/// units are instructions of the parser, bytes it moves over and attempts it takes back. Formats take 1 to 10 a byte, with 100
/// tools up to 100. Where the budget is used up, the rest of the output is content, and a diagnostic of the kind
/// `CHAT_DIAGNOSTIC_KIND_LIMIT` says so. The default is 1,000,000 and 200, and 8 more for each tool or, if those are more, each argument of a tool.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_set_budget(
    stream: Option<&mut chat_stream>,
    base: u64,
    per_byte: u64,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        required(stream, "stream")?.0.change(|parse| {
            parse.stream.set_budget(Budget { base, per_byte });
            Ok(())
        })
    })
}

/// The work that the parse has taken so far, in the units of `chat_stream_set_budget`. It never falls before `chat_stream_reset`:
/// what `chat_stream_rollback` takes back was done and counts, here, while the budget is for the output as it stands. 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_work(stream: Option<&chat_stream>) -> u64 {
    chat_stream::usable(stream).map_or(0, |parse| parse.stream.work())
}

/// Back to the start of the output, as if the stream were new but for its budget and its special tokens, which stay.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_reset(
    stream: Option<&mut chat_stream>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        required(stream, "stream")?.0.change(|parse| {
            parse.stream.reset();
            parse.ended = None;
            Ok(())
        })
    })
}

/// Frees the stream. Messages that were taken from it stay valid. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_free(stream: Option<Box<chat_stream>>) {
    drop(stream);
}
