//! A parse in progress.

use std::ffi::c_char;
use std::ops::Range;

use smallvec::SmallVec;

use super::grammar::{self, chat_grammar};
use super::message::{Flags, chat_message, chat_outcome, chat_span};
use super::params::chat_params;
use super::parser::chat_parser;
use super::status::{
    ErrorOut, Guarded, Names, Out, chat_status, filled, give, guard, name_of, named, required,
};
use super::text::{
    Pointers, array, bytes, chat_list, chat_str, list, seen, utf8, view, view_bytes,
};
use chatparse_base::{Error, Result};
use chatparse_stream::{Budget, Delta, Ended, Parser, SpecialTokens, Stream, chunk_delta};

/// A parser of one output in pieces: takes bytes, returns what they add to the message. One thread
/// at a time.
///
/// The cost of a piece does not depend on the length of the output before it, and the message does
/// not depend on where the output is cut into pieces. The stream takes text back only on request
/// (`chat_stream_rollback`). In outline, without the checks of statuses:
///
/// ```c
/// chat_stream_new(params, &stream, &error);
/// while (the model writes) {
///   chat_stream_feed(stream, bytes, len, &error);
///   const chat_stream_fields *now = chat_stream_view(stream);
///   for (size_t i = 0; i < now->deltas.len; i++) ... send now->deltas.data[i].text on ...
/// }
/// chat_stream_finish(stream, flags, &error);
/// ... deltas once more: text that could have become a marker ...
/// chat_stream_message(stream, &message, &error);
/// chat_stream_free(stream);
/// ```
pub struct chat_stream(Guarded<Parse>);

#[derive(Clone)]
struct Parse {
    stream: Stream,
    /// How it ended, once it has.
    ended: Option<Ended>,
    /// What `chat_stream_chunk_json` or one of its kin said last.
    said: String,
    /// What C reads of the stream as it is, and the deltas.
    shown: Pointers<(chat_stream_fields, Vec<chat_delta>)>,
}

impl Parse {
    fn running(&mut self) -> Result<&mut Stream> {
        match &self.ended {
            None => Ok(&mut self.stream),
            Some(_) => Err(Error::invalid(
                "stream: it is finished; reset it for another output",
            )),
        }
    }

    /// Shows C how the stream is now. The array of deltas is used again: a piece of output costs no
    /// new one.
    fn show(&mut self) {
        let (fields, deltas) = &mut self.shown.0;
        deltas.clear();
        deltas.extend(self.stream.deltas().map(chat_delta::from));
        fields.deltas = list(deltas);
        let running = self.ended.is_none();
        fields.outcome = self
            .ended
            .as_ref()
            .map_or(chat_outcome::Partial, |ended| ended.status.into());
        fields.pending = view_bytes(if running { self.stream.pending() } else { &[] });
        fields.work = self.stream.work();
    }
}

impl chat_stream {
    fn new(parser: &Parser) -> Self {
        chat_stream::of(Parse {
            stream: Stream::new(parser),
            ended: None,
            said: String::new(),
            shown: Pointers((
                chat_stream_fields {
                    deltas: chat_list::default(),
                    outcome: chat_outcome::Partial,
                    pending: view(""),
                    work: 0,
                },
                Vec::new(),
            )),
        })
    }

    fn of(mut parse: Parse) -> Self {
        parse.show();
        chat_stream(Guarded::new(parse))
    }

    pub(super) fn stream(&self) -> Result<&Stream> {
        Ok(&self.0.get()?.stream)
    }

    fn parse<T>(&mut self, change: impl FnOnce(&mut Parse) -> Result<T>) -> Result<T> {
        self.0.change(|parse| {
            let changed = change(parse);
            parse.show();
            changed
        })
    }

    pub(super) fn change<T>(&mut self, change: impl FnOnce(&mut Stream) -> Result<T>) -> Result<T> {
        self.parse(|parse| change(parse.running()?))
    }
}

/// The part of the message that a delta changes. Later versions may add kinds: skip unknown ones.
/// The kinds from 101 on occur after `chat_stream_rollback` only.
pub use chatparse_stream::DeltaKind as chat_delta_kind;

/// Returns the lower-case name of a kind, e.g. `tool_arguments`, or `unknown`; static, with NUL at
/// its end.
#[unsafe(no_mangle)]
pub extern "C" fn chat_delta_kind_name(kind: u32) -> *const c_char {
    static NAMES: Names =
        Names::new(|| named(chat_delta_kind::ALL.map(|kind| (kind as u32, kind.name()))));
    name_of(kind, &NAMES)
}

/// One change of the message. All deltas of a stream, applied in order, are its message.
#[repr(C)]
#[derive(Clone)]
pub struct chat_delta {
    /// The part of the message, and whether to append or to remove.
    pub kind: chat_delta_kind,
    /// The tool call, from 0; 0 for content and reasoning.
    pub call: usize,
    /// The text to append or to remove; whole UTF-8 characters.
    pub text: chat_str,
    /// Position of the text's first byte in the output, counted over all bytes fed. Of a removal:
    /// of the output taken back.
    pub span_begin: usize,
    /// Position after the last byte. Equal to `span_begin` for text that the output does not have,
    /// e.g. an added closing brace.
    pub span_end: usize,
}

impl From<Delta<'_>> for chat_delta {
    fn from(delta: Delta) -> Self {
        chat_delta {
            kind: delta.kind,
            call: delta.call,
            text: view(delta.text),
            span_begin: delta.span.start,
            span_end: delta.span.end,
        }
    }
}

/// How a parse stands. All is valid until the next call that takes the stream without const.
#[repr(C)]
#[derive(Clone)]
pub struct chat_stream_fields {
    /// The deltas of the last feed, finish or rollback.
    pub deltas: chat_list<chat_delta>,
    /// How the output relates to the format: `CHAT_OUTCOME_PARTIAL` until the stream is finished.
    pub outcome: chat_outcome,
    /// The last bytes that were fed, are in no delta yet, and are not known to be markup: a host
    /// that stops parsing here still has to show them. They may end inside a character. Empty for a
    /// finished stream.
    pub pending: chat_str,
    /// The work of the parse so far, in the units of `chat_stream_set_budget`.
    /// `chat_stream_rollback` does not lower it; `chat_stream_reset` does. The budget counts only
    /// the work for the output as it is.
    pub work: u64,
}

/// Returns how the parse stands. The address is the same for the life of the stream; what is there
/// changes with it.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_view(stream: Option<&chat_stream>) -> *const chat_stream_fields {
    seen(stream, |stream| Some(&stream.0.get().ok()?.shown.0.0))
}

/// Makes a stream at the start of an output. A message that the prompt has begun
/// (`continue_final_message`) comes with the deltas of the first feed.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_new(
    params: Option<&chat_params>,
    out: Out<*mut chat_stream>,
    error: ErrorOut,
) -> chat_status {
    filled(params, "params", out, error, |params| {
        Ok(give(chat_stream::new(&params.params().parser)))
    })
}

/// As `chat_stream_new`, with a parser instead of params.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_from_parser(
    parser: Option<&chat_parser>,
    out: Out<*mut chat_stream>,
    error: ErrorOut,
) -> chat_status {
    filled(parser, "parser", out, error, |parser| {
        Ok(give(chat_stream::new(&parser.parser)))
    })
}

/// Appends output and replaces the deltas. The bytes may be cut anywhere, also inside a character;
/// they must not be a view into this stream. The model's output is never an error. Costs as much as
/// the new bytes, however long the output is.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for a stream that is finished.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_stream_feed(
    stream: Option<&mut chat_stream>,
    bytes: *const c_char,
    bytes_len: usize,
    error: ErrorOut,
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

/// Ends the output and replaces the deltas: they hold the text that could have become a marker.
/// `flags` is 0 if the model ended the output, or a combination of `CHAT_PARSE_PARTIAL` (it was cut
/// off) and `CHAT_PARSE_STRICT`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for a stream that is finished; `CHAT_STATUS_PARSE`, only
/// with `CHAT_PARSE_STRICT`: the stream is finished all the same and has its message.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_finish(
    stream: Option<&mut chat_stream>,
    flags: u32,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        let flags = Flags::from_bits(flags)?;
        required(stream, "stream")?.parse(|parse| {
            let ended = parse.running()?.finish(flags.by);
            let result = flags.judge(&ended);
            parse.ended = Some(ended);
            result
        })
    })
}

/// Writes the deltas of the last feed or finish as the `delta` object of one OpenAI chunk, e.g.
/// `{"content":"Hi","tool_calls":[{"index":0,"type":"function","function":{"name":"f","arguments":"{"}}]}`;
/// `{}` if there are none, and after a rollback. An `id` comes when the model writes one, which may
/// be after the arguments, or never; many clients need it with the name. `chat_answer` makes whole
/// chunks with such ids.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_chunk_json(
    stream: Option<&mut chat_stream>,
    out: Out<chat_str>,
    error: ErrorOut,
) -> chat_status {
    said(stream, out, error, |parse| {
        Ok(chunk_delta(parse.stream.deltas()))
    })
}

/// Writes where the output stands now, as one JSON object: `part` (`reasoning`, `content`,
/// `markup`, `name` of a call, `key` or `value` among its arguments); `call`, the number of the
/// call that is open and has a name, or null; `tool`, its name; `pointer`, a JSON pointer into its
/// arguments; `in_string`; and `left_at`, the offset of the first byte that breaks the format, or
/// null. Costs as much as the arguments of that call. The text is valid until the next call that
/// takes the stream without const.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_state_json(
    stream: Option<&mut chat_stream>,
    out: Out<chat_str>,
    error: ErrorOut,
) -> chat_status {
    said(stream, out, error, |parse| {
        Ok(parse.running()?.state().to_json())
    })
}

/// Writes the schema of the value at the `pointer` of `chat_stream_state_json`, as JSON: what the
/// tool asks of it, each `$ref` for it resolved; schemas that all hold in an `allOf`, alternatives
/// in an `anyOf`. `true` if any value may stand there, `false` if none may, `null` if no call is
/// open or its tool is unknown. What depends on other values (`if`) is left out; a schema that
/// takes more than a million steps, or nests more than 256 deep, counts as `true`. The text is
/// valid as that of `chat_stream_state_json`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_schema_json(
    stream: Option<&mut chat_stream>,
    out: Out<chat_str>,
    error: ErrorOut,
) -> chat_status {
    said(stream, out, error, |parse| {
        Ok(parse.running()?.schema().unwrap_or_default())
    })
}

/// Writes what closes the output now, in the model's own format, as one JSON object: `text`, to be
/// appended; `complete`, whether the output is complete after it; `missing`, the first 64 values
/// that only the model can choose, each with `tool`, `pointer` and `begun`; and `reason`, one
/// sentence, if it is not complete. In that case `text` closes the reasoning, or ends before the
/// first missing value. Costs as much as the output; the first call for a parser also makes its
/// grammar. The text is valid as that of `chat_stream_state_json`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_close_json(
    stream: Option<&mut chat_stream>,
    out: Out<chat_str>,
    error: ErrorOut,
) -> chat_status {
    said(stream, out, error, |parse| {
        Ok(parse.running()?.close().to_json())
    })
}

/// Writes JSON that a stream says; the stream keeps the text until the next call.
fn said(
    stream: Option<&mut chat_stream>,
    out: Out<chat_str>,
    error: ErrorOut,
    say: impl FnOnce(&mut Parse) -> Result<serde_json::Value>,
) -> chat_status {
    filled(stream, "stream", out, error, |stream| {
        stream.0.change(|parse| {
            parse.said = say(parse)?.to_string();
            Ok(view(&parse.said))
        })
    })
}

/// Makes the grammar of what may follow the bytes that were fed, in a `chat_dialect`, for an engine
/// that continues from here. It covers the whole format, even if the request's grammar is lazy. For
/// the request's own constraint see `chat_matcher_grammar`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` if the grammar does not allow the output, or if it ends
/// inside a character; `CHAT_STATUS_LIMIT`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_grammar(
    stream: Option<&mut chat_stream>,
    dialect: u32,
    out: Out<*mut chat_grammar>,
    error: ErrorOut,
) -> chat_status {
    filled(stream, "stream", out, error, |stream| {
        stream.change(|stream| {
            Ok(grammar::printed(
                stream.grammar(grammar::dialect(dialect)?)?,
            ))
        })
    })
}

/// Copies the message so far, or, after finish, the message. Costs as much as the message.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_message(
    stream: Option<&chat_stream>,
    out: Out<*mut chat_message>,
    error: ErrorOut,
) -> chat_status {
    filled(stream, "stream", out, error, |stream| {
        let parse = stream.0.get()?;
        Ok(give(chat_message::new(
            parse.ended.clone().unwrap_or_else(|| parse.stream.so_far()),
        )))
    })
}

/// Copies the stream with its output and its deltas: for choices that share a beginning.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_clone(
    stream: Option<&chat_stream>,
    out: Out<*mut chat_stream>,
    error: ErrorOut,
) -> chat_status {
    filled(stream, "stream", out, error, |stream| {
        Ok(give(chat_stream::of(stream.0.get()?.clone())))
    })
}

/// Sets the earliest position that `chat_stream_rollback` can go back to: the end of the output so
/// far. A stream has one checkpoint; a new one replaces it. For speculative decoding: set it where
/// the output is certain, feed the draft, and roll back to the last byte that was accepted. Costs
/// as much as the depth of nesting, however long the output is.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for a stream that is finished.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_checkpoint(
    stream: Option<&mut chat_stream>,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        required(stream, "stream")?.parse(|parse| {
            parse.running()?.checkpoint();
            Ok(())
        })
    })
}

/// Takes back all output after its first `output_len` bytes, counted over all bytes fed, and
/// replaces the deltas with removals: calls from the last one on, then texts. A finished stream is
/// open again. The checkpoint stays. Costs as much as the output since the checkpoint.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` without a checkpoint, and for a length below the
/// checkpoint or above the output's. The stream does not change then.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_rollback(
    stream: Option<&mut chat_stream>,
    output_len: usize,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        required(stream, "stream")?.parse(|parse| {
            let _ = parse.stream.rollback(output_len)?;
            parse.ended = None;
            Ok(())
        })
    })
}

/// Limits the work of the parse to `base` plus `per_byte` for each byte of output; past work
/// counts. One unit is an instruction of the parser, a byte it reads, or an attempt it takes back.
/// Formats need 1 to 10 units a byte, with 100 tools up to 100. When the budget is used up, the
/// rest of the output is content, with a diagnostic `CHAT_DIAGNOSTIC_KIND_LIMIT`. Default:
/// 1,000,000 and 200, plus 8 for each tool, or for each argument of a tool if these are more.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_set_budget(
    stream: Option<&mut chat_stream>,
    base: u64,
    per_byte: u64,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        required(stream, "stream")?.parse(|parse| {
            parse.stream.set_budget(Budget { base, per_byte });
            Ok(())
        })
    })
}

/// Takes the stream back to the start of the output. Its budget and its special tokens stay.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_reset(
    stream: Option<&mut chat_stream>,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        required(stream, "stream")?.parse(|parse| {
            parse.stream.reset();
            parse.ended = None;
            Ok(())
        })
    })
}

/// Frees the stream. Messages that were made from it stay valid.
#[unsafe(no_mangle)]
pub extern "C" fn chat_stream_free(stream: Option<Box<chat_stream>>) {
    drop(stream);
}

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
        // SAFETY: the caller's array, by the contract.
        let tokens = unsafe { array(tokens, token_count, "tokens") }?;
        // SAFETY: the caller's texts, by the contract.
        let tokens = tokens
            .iter()
            .map(|token| unsafe { utf8(token.data, token.len, "tokens") });
        let tokens = SpecialTokens::new(&tokens.collect::<Result<Vec<_>>>()?)?;
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
