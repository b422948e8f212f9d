//! Turns model output into a message, piece by piece.
//!
//! Two parsers send the same kind of events to one message builder: the format's parser, and the
//! fallback parser, which reads text that has left the format or that may contain calls in other
//! formats. A [`Stream`] keeps the output and decides which of them reads it.

mod ended;
mod format_parser;
mod marks;
mod special;
mod state;

use std::ops::Range;
use std::sync::Arc;

pub use chatparse_peg::Budget;
pub use ended::Ended;
pub use special::{Begun, SpecialTokens, TextSearch};
pub use state::{Closing, Missing, OpenPart, StreamState};

use crate::delta::Delta;
use crate::fallback::{CallRules, End, FallbackConfig, FallbackParser};
use crate::output::{CaptureReader, Channel, Event, MessageBuilder, Parsed, Sink, Text};
use crate::parser::Parser;
use crate::report::{EndedBy, Status};
use chatparse_base::{Error, Result, brackets};
use chatparse_message::{IncompleteCalls, Message};
use chatparse_peg::{Machine, State, incomplete_tail};
use ended::FormatExit;
use format_parser::{FormatParser, ParserState};
use marks::Marks;
use state::Held;

/// A parse in progress. One owner at a time; clone it to fork the parse.
///
/// ```
/// use chatparse::{ChatTemplate, DeltaKind, EndedBy, Message, Request, Status, Stream};
/// let template = ChatTemplate::builtin("json-call").unwrap();
/// let params = template.params(&Request::new(vec![Message::new("user", "Rain?")]))?;
/// let mut stream = Stream::new(&params.parser);
/// let mut thought = String::new();
/// for piece in ["<thi", "nk>\nI do not", " know.\n</think>\n\nNo."] {
///     let deltas = stream.feed(piece.as_bytes()).filter(|delta| delta.kind == DeltaKind::Reasoning);
///     thought.extend(deltas.map(|delta| delta.text));
/// }
/// assert_eq!(thought.trim(), "I do not know.");
/// let ended = stream.finish(EndedBy::Model);
/// assert_eq!((ended.status, &*ended.message.content), (Status::Complete, "No."));
/// # Ok::<(), chatparse::Error>(())
/// ```
#[derive(Clone)]
pub struct Stream {
    parser: Parser,
    /// The prefill and the output.
    output: Vec<u8>,
    /// The bytes that came from special tokens, if the host marks them.
    marks: Option<Box<Marks>>,
    written: ParserState,
    at: Progress,
    checkpoint: Option<Box<Checkpoint>>,
    /// The grammar at a byte of the output, if the host has asked.
    held: Option<Box<Held>>,
    /// Nothing was fed yet: the deltas of the prompt's part of the message are still due.
    fresh: bool,
}

/// How far the output was read, and by which parser.
#[derive(Clone)]
struct Progress {
    format: FormatParser,
    /// The position up to which the parsers have the output. The rest may become a special token,
    /// or the end of the output.
    read: usize,
    /// The position at which the output left the format.
    left: Option<usize>,
    /// It left the format because the budget was used up.
    limit: bool,
    /// If the output left the format: everything before this position is in the message or is
    /// markup.
    covered: usize,
}

/// A saved state of a parse, without its texts.
#[derive(Clone)]
struct Checkpoint {
    /// The length of the prefill and the output.
    length: usize,
    mark: Option<Begun>,
    at: Progress,
    fallback: Option<Box<FallbackParser>>,
    limit: Option<usize>,
}

impl Parser {
    /// Parses a text: its message, and whether it matches the format.
    pub fn parse(&self, text: &[u8], by: EndedBy) -> (Message, Status) {
        let ended = self.read(text, by);
        (ended.message, ended.status)
    }

    /// Parses a text, with the report. For an error where the text does not match, see
    /// [`Ended::strict`].
    pub fn read(&self, text: &[u8], by: EndedBy) -> Ended {
        let mut stream = Stream::new(self);
        stream.written.builder.turn_off_deltas();
        let _ = stream.feed(text);
        stream.finish(by)
    }

    /// The tagged parts of [`Parser::tree`] for the same text, as a message. It is empty and
    /// [`Status::Recovered`] if the text does not match.
    pub fn tagged(&self, text: &[u8], from: usize, by: EndedBy) -> Ended {
        let config = FallbackConfig::new(
            Arc::clone(self.fallback.compiled()),
            None,
            CallRules::default(),
        );
        let mut machine =
            Machine::whole(Arc::clone(self.program()), text, from, by == EndedBy::Limit);
        let status = match machine.state() {
            State::Failed | State::Limit => Status::Recovered,
            State::Waiting | State::Undoing => Status::Partial,
            State::Accepted(_) => Status::Complete,
        };
        let mut builder = MessageBuilder::new(0);
        if status != Status::Recovered {
            CaptureReader::new(0, false).read_all(&mut machine, text, &mut builder);
        }
        Ended::new(
            &builder,
            text,
            Arc::new(config),
            status,
            IncompleteCalls::Keep,
            FormatExit::default(),
        )
    }
}

/// Bytes that the format's parser runs over before its captures are read. This bounds the memory
/// for captures.
const PIECE: usize = 64 << 10;

/// How many ways to continue are tried at the end of an output.
const WAYS: usize = 8;

impl Stream {
    /// A parse at the start of the output. The part of the message that is in the prompt (a
    /// prefill) comes with the first feed.
    pub fn new(parser: &Parser) -> Self {
        let prefill = parser.prefill().len();
        let format = FormatParser::new(parser.program(), prefill, parser.fallback.mends());
        let mut stream = Stream {
            parser: parser.clone(),
            output: parser.prefill().as_bytes().to_vec(),
            marks: None,
            written: ParserState::new(prefill, Arc::clone(&parser.fallback)),
            at: Progress {
                format,
                read: 0,
                left: None,
                limit: false,
                covered: prefill,
            },
            checkpoint: None,
            held: None,
            fresh: true,
        };
        stream.read_to(prefill);
        stream
    }

    /// Sets the budget of work for the whole parse so far and from here on: see [`Budget`]. When it
    /// is used up, the rest of the output becomes content, with a diagnostic
    /// ([`crate::DiagnosticKind::Limit`]).
    pub fn set_budget(&mut self, budget: Budget) {
        self.written.budget = Some(budget);
        self.at.format.machine.set_budget(budget);
        let fallback = self.written.fallback.take();
        self.written.set_fallback(fallback.map(|parser| *parser));
    }

    /// The work so far: instructions, bytes passed and captures taken back by the parsing machines,
    /// and text taken back. It never decreases before [`Stream::reset`]: the work on output that
    /// was rolled back still counts.
    pub fn work(&self) -> u64 {
        self.at.format.machine.work() + self.written.work() + self.written.builder.undone
    }

    /// Appends output and returns the deltas. The cost is linear in the new bytes. Bytes may be cut
    /// anywhere, also inside a character. Markers count whether or not they came as special tokens.
    pub fn feed(&mut self, bytes: &[u8]) -> impl ExactSizeIterator<Item = Delta<'_>> {
        self.begin();
        if self.marks.is_some() {
            self.extend(bytes, std::slice::from_ref(&(0..bytes.len())));
        } else {
            self.output.extend_from_slice(bytes);
            self.read_to(self.ready());
        }
        self.written.builder.deltas()
    }

    /// Sets the texts of the model's special tokens, for [`Stream::feed_marked`]. They are kept by
    /// [`Stream::reset`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if output was fed already.
    pub fn set_special_tokens(&mut self, tokens: &SpecialTokens) -> Result<()> {
        if !self.fresh {
            return Err(Error::invalid(
                "special tokens: they must be set before output is fed",
            ));
        }
        let marks = self.marks.insert(Box::new(Marks::new(tokens)));
        if let Some(checkpoint) = &mut self.checkpoint {
            checkpoint.mark = Some(marks.checkpoint());
        }
        Ok(())
    }

    /// Like [`Stream::feed`], for hosts that know which bytes came from special tokens: `spans`, in
    /// order and disjoint. All other bytes are text. A marker that is or contains a special token
    /// counts only if the token is marked: the reasoning may quote `</think>`, an argument
    /// `</tool_call>`. Markers without special tokens always count.
    ///
    /// Text that may become a special token waits until that is certain. A token may be cut, with a
    /// span for each part; the result does not depend on how the output was cut. Pieces passed to
    /// [`Stream::feed`] in between are read as usual. Markers in the prompt always count.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if no special tokens are set
    /// ([`Stream::set_special_tokens`]), or if spans overlap, are out of order or outside of
    /// `bytes`. Nothing is fed then.
    pub fn feed_marked(
        &mut self,
        bytes: &[u8],
        spans: &[Range<usize>],
    ) -> Result<impl ExactSizeIterator<Item = Delta<'_>>> {
        if self.marks.is_none() {
            return Err(Error::invalid("stream: no special tokens are set"));
        }
        let mut from = 0;
        let length = bytes.len();
        for (index, &Range { start, end }) in spans.iter().enumerate() {
            if start < from || end < start || end > length {
                return Err(Error::invalid(format!(
                    "spans: number {index}, {start} to {end}, is not within {from} to {length}"
                )));
            }
            from = end;
        }
        self.begin();
        self.extend(bytes, spans);
        Ok(self.written.builder.deltas())
    }

    #[inline(never)]
    fn extend(&mut self, bytes: &[u8], spans: &[Range<usize>]) {
        let length = self.output.len();
        self.output.extend_from_slice(bytes);
        if let Some(marks) = &mut self.marks {
            marks.extend(&self.output, length, spans);
        }
        self.read_to(self.ready());
    }

    /// How much of the output the parsers may read: text at its end may have to wait for the next
    /// piece.
    fn ready(&self) -> usize {
        let whole = self.output.len() - self.marks.as_ref().map_or(0, |marks| marks.waiting());
        self.parser.ends.begin(
            parsed(&self.marks, &self.output[..whole]).seen,
            self.at.read,
        )
    }

    fn read_to(&mut self, end: usize) {
        let mut to = self.at.read;
        loop {
            to = end.min(to + PIECE);
            self.advance(to);
            if to == end {
                break;
            }
        }
        self.at.read = end;
    }

    /// Ends the output. [`Stream::deltas`] has the last additions. Bytes fed after that are
    /// ignored.
    pub fn finish(&mut self, by: EndedBy) -> Ended {
        let status = self.end(by);
        self.ended(status, self.written.config.rules.leniency.incomplete_calls)
    }

    fn end(&mut self, by: EndedBy) -> Status {
        self.begin();
        let cut_off = by == EndedBy::Limit;
        if let Some(marks) = &mut self.marks {
            marks.end(&self.output, !cut_off);
        }
        let (ready, length) = (self.ready(), self.output.len());
        if !self
            .parser
            .ends
            .has(&parsed(&self.marks, &self.output).seen[ready..])
        {
            return self.end_at(if cut_off { ready } else { length }, cut_off);
        }
        let (work, mut closed) = (self.work(), self.clone());
        let status = self.end_at(ready, cut_off);
        if cut_off
            || status != Status::Partial && self.at.format.reader.last_reasoning(ready).is_none()
        {
            return status;
        }
        // The end may close open parts of the format.
        let is_whole = closed.end_at(length, false) == Status::Complete;
        let places = closed.written.builder.places();
        if is_whole && places.iter().all(|place| place.span.end <= ready) {
            std::mem::swap(self, &mut closed);
            self.written.gone += closed.work() - work;
            return Status::Complete;
        }
        self.written.gone += closed.work() - work;
        status
    }

    fn end_at(&mut self, to: usize, cut_off: bool) -> Status {
        self.read_to(to);
        let prefill = self.prefill();
        let Stream {
            at,
            written,
            output,
            marks,
            ..
        } = self;
        let output = parsed(marks, &output[..to]);
        let end = if cut_off { End::Cut } else { End::Output };
        written.whole = Some(output.len()).filter(|_| !cut_off);
        let status = at
            .finish_format(end, prefill, written, output)
            .unwrap_or_else(|| {
                at.feed_fallback(output.len(), written, output);
                Status::Recovered
            });
        // Half a marker at a cut is not read.
        written.close_fallback(end, if cut_off { 0 } else { output.len() }, output);
        status
    }

    /// The additions of the last [`Stream::feed`] or [`Stream::finish`], or the removals of the
    /// last [`Stream::rollback`].
    pub fn deltas(&self) -> impl ExactSizeIterator<Item = Delta<'_>> {
        let all = self.written.builder.deltas();
        // The deltas of the prompt wait for the first feed.
        let waiting = if self.fresh { all.len() } else { 0 };
        all.skip(waiting)
    }

    /// One of [`Stream::deltas`], in constant time.
    pub fn delta(&self, index: usize) -> Option<Delta<'_>> {
        self.written.builder.delta(index).filter(|_| !self.fresh)
    }

    /// The last bytes of the output that are in no delta yet, and are not known to be markup
    /// either: a host that stops parsing here must show them.
    pub fn pending(&self) -> &[u8] {
        let covered = if self.at.left.is_none() {
            self.at.format.covered()
        } else {
            0
        };
        let from = covered
            .max(self.written.builder.at.reported_to)
            .max(self.prefill());
        let to = self.written.whole.unwrap_or(self.output.len());
        &self.output[from.min(to)..to]
    }

    /// The message so far.
    pub fn message(&self) -> Message {
        self.written.builder.message(&self.output)
    }

    /// The message so far, with its report. Costs as much as the message.
    pub fn so_far(&self) -> Ended {
        let config = Arc::clone(&self.written.config);
        let builder = &self.written.builder;
        Ended::new(
            builder,
            &self.output,
            config,
            Status::Partial,
            IncompleteCalls::Keep,
            FormatExit::default(),
        )
    }

    fn ended(&self, status: Status, incomplete: IncompleteCalls) -> Ended {
        let reasoning = self.at.format.reader.last_reasoning(self.at.read);
        let exit = if self.at.limit {
            FormatExit {
                limit: self.rest_from(self.at.left),
                ..FormatExit::default()
            }
        } else {
            FormatExit {
                format: self.rest_from(self.at.left),
                limit: self.rest_from(self.written.limit),
                reasoning: self.rest_from(reasoning.filter(|_| self.at.left.is_none())),
            }
        };
        let config = Arc::clone(&self.written.config);
        Ended::new(
            &self.written.builder,
            &self.output,
            config,
            status,
            incomplete,
            exit,
        )
    }

    /// The output from a position of the parsed text on.
    fn rest_from(&self, at: Option<usize>) -> Option<Range<usize>> {
        let prefill = self.prefill();
        Some(at?.saturating_sub(prefill)..self.output.len() - prefill)
    }

    /// Goes back to the start of the output.
    pub fn reset(&mut self) {
        let (budget, marks) = (self.written.budget, self.marks.take());
        *self = Stream::new(&self.parser.clone());
        self.marks = marks.map(|marks| Box::new(Marks::new(&marks.tokens)));
        if let Some(budget) = budget {
            self.set_budget(budget);
        }
    }

    /// Sets a checkpoint: [`Stream::rollback`] can go back to this byte of the output, or to any
    /// later one. It replaces the previous checkpoint. The cost depends on the parser's open state,
    /// not on the length of the output.
    pub fn checkpoint(&mut self) {
        let length = self.output.len();
        self.written.builder.set_checkpoint();
        self.checkpoint = Some(Box::new(Checkpoint {
            length,
            mark: self.marks.as_mut().map(|marks| marks.checkpoint()),
            at: self.at.clone(),
            fallback: self.written.fallback.clone(),
            limit: self.written.limit,
        }));
    }

    /// Takes back all output after its first `length` bytes, as if they had not been fed, even
    /// after the end. Returns the removals from the message: calls from the last one on, then
    /// texts. The cost is linear in the text since the checkpoint, which stays.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] without a checkpoint, or if the length is not between
    /// the checkpoint's and the output's.
    pub fn rollback(&mut self, length: usize) -> Result<impl ExactSizeIterator<Item = Delta<'_>>> {
        let prefill = self.prefill();
        let written = self.output.len() - prefill;
        let Some(checkpoint) = &self.checkpoint else {
            return Err(Error::invalid(
                "stream: there is no checkpoint to roll back to",
            ));
        };
        let first = checkpoint.length - prefill;
        if !(first..=written).contains(&length) {
            return Err(Error::invalid(format!(
                "length: {length} is not between {first}, the checkpoint, and {written}"
            )));
        }
        if self.fresh {
            return Ok(self.deltas());
        }
        let Checkpoint {
            length: noted,
            mark,
            at,
            fallback,
            limit,
        } = Checkpoint::clone(checkpoint);
        let shown = self.written.builder.rollback(&self.output);
        // Work done and the budget stay.
        self.written.gone += self.at.format.machine.work() - at.format.machine.work();
        self.written.restore_fallback(fallback.as_deref());
        (self.at, self.written.limit, self.written.whole) = (at, limit, None);
        if let Some(budget) = self.written.budget {
            self.at.format.machine.set_budget(budget);
        }
        self.held = self.held.take().filter(|held| held.to <= prefill + length);
        let again = self.output[noted..prefill + length].to_vec();
        self.output.truncate(noted);
        let spans = match self.marks.as_mut().zip(mark) {
            Some((marks, mark)) => marks.rollback(mark, &self.output, again.len()),
            None => Vec::new(),
        };
        self.extend(&again, &spans);
        self.written.builder.withdraw(shown, &(length..written));
        Ok(self.deltas())
    }

    fn prefill(&self) -> usize {
        self.parser.prefill().len()
    }

    /// Drops the last deltas. The first time, the deltas of the prompt are kept, because the caller
    /// has not seen them.
    fn begin(&mut self) {
        if !std::mem::take(&mut self.fresh) {
            self.written.builder.clear_deltas();
        }
    }

    /// Parses up to `to`. Inlined, because most pieces are one step.
    #[inline(always)]
    fn advance(&mut self, to: usize) {
        let Stream {
            at,
            written,
            output,
            marks,
            ..
        } = self;
        let output = parsed(marks, &output[..to]);
        if !at.feed_format(written, output) {
            at.feed_fallback(to - incomplete_tail(output.raw), written, output);
        }
    }
}

/// A prefix of the output, as received and as the machines see it.
fn parsed<'a>(marks: &'a Option<Box<Marks>>, raw: &'a [u8]) -> Parsed<'a> {
    Parsed {
        raw,
        seen: marks.as_ref().map_or(raw, |marks| marks.seen(raw)),
    }
}

impl Progress {
    /// Feeds the format's parser. Returns `false` if the output has left the format.
    #[inline(always)]
    fn feed_format(&mut self, written: &mut ParserState, output: Parsed<'_>) -> bool {
        if self.left.is_some() {
            return false;
        }
        let mut undone = false;
        loop {
            // While text that was taken back waits to be confirmed, the first byte that contradicts
            // it counts.
            let waits = undone || written.builder.is_taken_back();
            let to = if waits {
                output.len().min(self.format.read_to() + 1)
            } else {
                output.len()
            };
            let part = output.to(to);
            let state = self.format.machine.feed_to_undo(part.seen);
            let at = match state {
                State::Failed | State::Limit => {
                    self.limit = state == State::Limit;
                    self.format.leave(written, part);
                    self.format.covered()
                }
                State::Undoing => {
                    undone = true;
                    if self.format.read_undone(written, part) {
                        continue;
                    }
                    self.format.covered()
                }
                _ if !self.format.read(written, part) => self.format.covered(),
                State::Accepted(end) if end < output.len() => end,
                _ if to < output.len() => {
                    undone = false;
                    continue;
                }
                _ => return true,
            };
            self.leave_at(at, written, output);
            return false;
        }
    }

    /// Ends the format's parser. Returns whether the output matched, unless it has left the format.
    fn finish_format(
        &mut self,
        end: End,
        prefill: usize,
        written: &mut ParserState,
        output: Parsed<'_>,
    ) -> Option<Status> {
        if self.left.is_some() {
            return None;
        }
        let whole = end == End::Output;
        let mut complete = whole && self.format.finish(output.seen, prefill);
        if whole && !complete && self.format.in_call() {
            let waiting = self.format.waiting(output);
            let is_list = waiting.trim_start_matches('"').starts_with(['{', '[']);
            match self.finish_earlier(is_list, prefill, written, output) {
                Some(is_whole) => complete = is_whole,
                None if self.format.reader.in_json() && waiting.starts_with(brackets::opens) => {
                    self.leave_at(self.format.covered(), written, output);
                    return None;
                }
                None => {}
            }
        }
        let matches = complete || self.format.machine.cut(output.seen);
        self.limit = self.format.machine.state() == State::Limit;
        if matches
            && self.format.read(written, output)
            && (complete || !whole || !self.loses_text(written, output))
        {
            self.format.read_held(whole, written, output);
            return Some(if complete {
                Status::Complete
            } else {
                Status::Partial
            });
        }
        self.leave_at(self.format.covered(), written, output);
        None
    }

    /// Tries other ways to read the end of the open call: a value that continues to the end may end
    /// before it. Returns whether the whole output matches in the way that is taken, if one is.
    /// `is_list`: a list or an object waits, of which a way may show more.
    fn finish_earlier(
        &mut self,
        is_list: bool,
        prefill: usize,
        written: &mut ParserState,
        output: Parsed<'_>,
    ) -> Option<bool> {
        let (mut at, mut other) = (self.clone(), written.clone());
        for _ in 0..WAYS {
            at.format.machine.refute();
            if !at.feed_format(&mut other, output) {
                break;
            }
            let complete = at.format.finish(output.seen, prefill);
            if complete || is_list && at.format.covered() > self.format.covered() {
                // Text that was shown stays.
                if at.format.read(&mut other, output) {
                    (*self, *written) = (at, other);
                    return Some(complete);
                }
                break;
            }
        }
        None
    }

    /// Whether text at the end would be in no field. Half a marker may wait there, and the part of
    /// a call that is not shown.
    fn loses_text(&self, written: &ParserState, output: Parsed<'_>) -> bool {
        let waits = self.format.in_call() && !self.format.waits_for_name();
        self.format.hides_text(output, &written.config)
            && (!waits || self.is_broken(written, output))
    }

    /// Whether the open call ends before the output does, other than in half a marker, if its text
    /// is read as that of a broken call.
    fn is_broken(&self, written: &ParserState, output: Parsed<'_>) -> bool {
        let (mut at, mut left) = (self.clone(), written.clone());
        at.leave_at(at.format.covered(), &mut left, output);
        at.feed_fallback(output.len(), &mut left, output);
        left.close_fallback(End::Output, output.len(), output);
        let end =
            left.builder.calls().last().map_or(0, |call| call.span.end) + left.builder.prefill;
        if left.builder.calls().count() > written.builder.calls().count() {
            return true;
        }
        let before = written.builder.message(output.raw).content.len();
        let content = left.builder.message(output.raw).content;
        let added = content.get(before..).unwrap_or_default();
        end < output.raw.trim_ascii_end().len() && !written.config.is_half_marker(added.trim())
    }

    /// From here on, the output counts as text after the format.
    fn leave_at(&mut self, at: usize, written: &mut ParserState, output: Parsed<'_>) {
        self.left = Some(at);
        self.covered = self.format.covered().max(at);
        written.builder.settle();
        // A fallback parser that reads content continues.
        if let Some(parser) = &mut written.fallback
            && !self.limit
            && parser.prose.channel == Channel::Content
        {
            self.covered = parser.resume().unwrap_or(self.covered);
            return;
        }
        self.covered = written.close_fallback(End::Region, self.covered, output);
        if !self.limit {
            let prefill = written.builder.prefill;
            let before = written.builder.calls().map(|call| {
                let markup = call.begin + prefill..call.span.start + prefill;
                output.raw.get(markup).unwrap_or_default()
            });
            let parser = written
                .config
                .behind_format(self.covered, self.format.in_call(), before);
            written.set_fallback(parser);
        }
    }

    /// Feeds output after the format, up to `to`, to the fallback parser, or adds it to the
    /// content.
    fn feed_fallback(&mut self, to: usize, written: &mut ParserState, output: Parsed<'_>) {
        if self.covered < to {
            let span = self.covered..to;
            match &mut written.fallback {
                Some(parser) => parser.feed(to, output, &mut written.builder),
                None => {
                    written.builder.event(Event::Text(
                        Channel::Content,
                        Text::raw(output.raw, &span),
                        span,
                    ));
                }
            }
            self.covered = to;
        }
    }
}
