//! Runs the format's machine, and passes events to the builder. When the machine goes back, it
//! resets builder and reader to a snapshot.

use std::borrow::Cow;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::fallback::{End, FallbackConfig, FallbackParser};
use crate::output::{
    BuilderMark, CaptureReader, Event, MessageBuilder, Parsed, ReaderMark, Sink, Text, is_of_name,
};
use chatparse_format::Tag;
use chatparse_peg::{Budget, Machine, Program, Visible, lossy};

/// The state that both parsers write to.
#[derive(Clone)]
pub(super) struct ParserState {
    pub builder: MessageBuilder,
    pub config: Arc<FallbackConfig>,
    /// The fallback parser for the current region, or for the output after the format.
    pub fallback: Option<Box<FallbackParser>>,
    /// The length of the output, once it is complete.
    pub whole: Option<usize>,
    /// The budget that the host has set.
    pub budget: Option<Budget>,
    /// Work of dropped parsers, and where the first dropped fallback parser gave up.
    pub gone: u64,
    pub limit: Option<usize>,
}

impl ParserState {
    pub fn new(prefill: usize, config: Arc<FallbackConfig>) -> Self {
        let builder = MessageBuilder::new(prefill);
        ParserState {
            builder,
            config,
            fallback: None,
            whole: None,
            budget: None,
            gone: 0,
            limit: None,
        }
    }

    /// Sends text to this fallback parser from now on, with the current budget.
    pub fn set_fallback(&mut self, parser: Option<FallbackParser>) {
        self.fallback = parser.map(|parser| Box::new(parser.budgeted(self.budget)));
    }

    /// Adds the work of a parser that is dropped.
    fn account(&mut self, parser: &FallbackParser) {
        self.gone += parser.work();
        self.limit = self.limit.or(parser.limit);
    }

    /// Resets the fallback parser to an earlier state. The work since then still counts.
    pub fn restore_fallback(&mut self, earlier: Option<&FallbackParser>) {
        let work = self.work();
        self.set_fallback(earlier.cloned());
        self.gone = 0;
        self.gone = work - self.work();
    }

    /// The work so far without the format's parser. Includes work that was undone.
    pub fn work(&self) -> u64 {
        self.gone + self.fallback.as_ref().map_or(0, |parser| parser.work())
    }

    /// Ends the fallback parser, if there is one, at `to` or at the position it has read to.
    /// Returns that position. One whose region has ended ends there.
    pub fn close_fallback(&mut self, end: End, to: usize, output: Parsed<'_>) -> usize {
        let Some(mut parser) = self.fallback.take() else {
            return to;
        };
        let read_to = parser.read_to;
        if parser.paused {
            parser.close(End::Region, output.to(read_to), &mut self.builder)
        } else {
            parser.close(end, output.to(to.max(read_to)), &mut self.builder)
        }
        self.account(&parser);
        to.max(read_to)
    }

    /// Ends a fallback parser whose region has ended: the format continues.
    fn go_on(&mut self, output: Parsed<'_>) {
        if self.fallback.as_ref().is_some_and(|parser| parser.paused) {
            self.close_fallback(End::Region, 0, output);
        }
    }
}

/// Passes events to the builder, and text that may have calls to the fallback parser.
struct Routed<'a> {
    written: &'a mut ParserState,
    output: Parsed<'a>,
}

impl Sink for Routed<'_> {
    /// Inlined, so that only the branch of the event remains.
    #[inline(always)]
    fn event(&mut self, event: Event<'_>) {
        let Routed { written, output } = self;
        match event {
            Event::Begin(channel, at) => {
                written.go_on(*output);
                let begins = written.builder.is_blank();
                let parser =
                    written
                        .config
                        .in_region(channel, begins, written.builder.has_calls(), at);
                written.set_fallback(parser);
            }
            Event::Text(channel, text, span) => match &mut written.fallback {
                Some(parser)
                    if parser.prose.channel == channel && !matches!(text, Text::Owned(_)) =>
                {
                    parser.feed(span.end, *output, &mut written.builder);
                    // It has found no call.
                    if let Some(parser) = written.fallback.take_if(|parser| parser.is_text()) {
                        written.account(&parser);
                    }
                }
                _ => {
                    written.go_on(*output);
                    written.builder.event(Event::Text(channel, text, span));
                }
            },
            Event::End(at) => {
                let end = if written.whole == Some(at) {
                    End::Output
                } else {
                    End::Region
                };
                // A call of the format may be a part of a call that has begun in the region.
                let paused = end == End::Region
                    && written
                        .fallback
                        .as_mut()
                        .is_some_and(|parser| parser.pause(output.raw));
                if !paused {
                    written.close_fallback(end, at, *output);
                }
            }
            other => {
                written.go_on(*output);
                written.builder.event(other);
            }
        }
    }
}

/// The state of all parts at a capture that the machine may go back to.
#[derive(Clone)]
struct Snapshot {
    reader: ReaderMark,
    builder: BuilderMark,
    fallback: Option<Box<FallbackParser>>,
}

#[derive(Clone)]
pub(super) struct FormatParser {
    pub machine: Machine,
    /// The position up to which the output was read.
    read_to: usize,
    pub reader: CaptureReader,
    /// The outermost first. Some may be outdated.
    snapshots: Vec<Snapshot>,
}

impl FormatParser {
    /// Makes a parser of a text that begins with `prefill` bytes of the prompt. `mends`: arguments
    /// may be nearly JSON.
    pub fn new(program: &Arc<Program>, prefill: usize, mends: bool) -> Self {
        let machine = Machine::new(Arc::clone(program), 0);
        FormatParser {
            machine,
            read_to: 0,
            reader: CaptureReader::new(prefill, mends),
            snapshots: Vec::new(),
        }
    }

    /// Whether a call is visible and not finished.
    pub fn in_call(&self) -> bool {
        self.reader.in_call()
    }

    /// The position up to which the output was read.
    pub fn read_to(&self) -> usize {
        self.read_to
    }

    /// Everything before this position is in the message or is markup.
    pub fn covered(&self) -> usize {
        self.reader.covered()
    }

    /// The innermost region at the end of the read text, in the machine's current alternative.
    pub fn region(&self) -> Option<Tag> {
        let (mut open, mut gone) = (Vec::new(), 0);
        for capture in self.machine.visible().hidden() {
            if capture.opens {
                open.push(Tag::from_id(capture.tag))
            } else {
                gone += usize::from(open.pop().is_none())
            }
        }
        open.pop().unwrap_or_else(|| self.reader.region(gone))
    }

    /// Ends the run because the model has ended the output. Returns whether all of it matches.
    pub fn finish(&mut self, output: &[u8], prefill: usize) -> bool {
        self.machine
            .finish(output, self.reader.captures_read(), prefill)
    }

    /// The text that waits in a look ahead: the beginning of a value, or its possible end.
    pub fn waiting<'a>(&self, output: Parsed<'a>) -> Cow<'a, str> {
        let from = if self.machine.is_looking() {
            self.covered()
        } else {
            output.len()
        };
        lossy(output.seen[from.min(output.len())..].trim_ascii_start())
    }

    /// Whether the name of a tool has ended, and the output ends before more shows that a call has
    /// begun.
    fn names_call(&self, length: usize) -> bool {
        let last = self.machine.visible().hidden().last();
        last.is_some_and(|last| {
            !last.opens && last.pos < length && Tag::from_id(last.tag) == Some(Tag::ToolName)
        })
    }

    /// Whether the text of an argument waits for its name.
    pub fn waits_for_name(&self) -> bool {
        let hidden = self.machine.visible().hidden();
        hidden
            .iter()
            .any(|capture| Tag::from_id(capture.tag) == Some(Tag::Unnamed))
    }

    /// Whether a text of the message with at least one byte has begun and is not visible, or half
    /// of a name is at the end, after the markup before names, and not in half a marker. From the
    /// end of a tool's name on, the text that opens a call is no text of the message.
    pub fn hides_text(&self, output: Parsed<'_>, config: &FallbackConfig) -> bool {
        if self.names_call(output.len()) {
            return false;
        }
        let waiting = String::from_utf8_lossy(&output.raw[self.covered().min(output.len())..]);
        if self.last_name(output, b"\"'=>:").is_some() && !config.is_half_marker(waiting.trim()) {
            return true;
        }
        self.machine.visible().hidden().iter().any(|capture| {
            let has_text = capture.opens && capture.pos < output.len();
            has_text && Tag::from_id(capture.tag).is_some_and(Tag::is_text)
        })
    }

    /// Where the name begins that the output ends in, if it is not in the message and follows one
    /// of these signs.
    fn last_name(&self, output: Parsed<'_>, signs: &[u8]) -> Option<usize> {
        let from = self.covered().min(output.len());
        let rest = &output.raw[from..];
        let name = rest
            .iter()
            .rposition(|byte| !is_of_name(*byte))
            .map_or(0, |sign| sign + 1);
        let follows =
            name < rest.len() && rest[..name].last().is_some_and(|sign| signs.contains(sign));
        follows.then_some(from + name)
    }

    /// Reads the text that waits inside a call, because no more output comes: a value, e.g. a
    /// number, and, of an output that is `whole`, the tool's name, the name of an argument or an
    /// id, or half of one of the last two.
    pub fn read_held(&mut self, whole: bool, written: &mut ParserState, output: Parsed<'_>) {
        let (hidden, length) = (self.machine.visible().hidden(), output.len());
        let waits = match hidden.first() {
            // Nothing is hidden if the machine only looks ahead at the value.
            None => self.reader.in_json(),
            Some(first) => match Tag::from_id(first.tag) {
                Some(Tag::ArgJson | Tag::ArgText) => true,
                Some(Tag::ArgName | Tag::ToolId | Tag::ArgNull) => whole && first.pos < length,
                _ => false,
            },
        };
        if self.in_call() && waits || whole && self.names_call(length) {
            for capture in hidden {
                self.reader
                    .read(capture, output.raw, &mut Routed { written, output });
            }
            self.reader
                .text(length, output.raw, false, &mut Routed { written, output });
        }
        if whole && self.in_call() {
            // A name may only be looked at, unless markup is before it.
            let name = self.last_name(output, b"\"', ").filter(|name| {
                let before = &output.raw[self.covered()..*name];
                !before.iter().any(|byte| b"<[|".contains(byte))
            });
            self.reader
                .read_half_word(name, output.raw, &mut Routed { written, output });
        }
        // At a cut, half a word may become one that is mended.
        if whole {
            self.reader.end_word(&mut Routed { written, output });
        }
    }

    /// Reads the visible captures. Returns `false` if they contradict the message so far. Inlined,
    /// because most pieces need little work.
    #[inline(always)]
    pub fn read(&mut self, written: &mut ParserState, output: Parsed<'_>) -> bool {
        let fits = self.read_visible(written, output);
        self.read_to = output.len();
        fits
    }

    /// Reads the captures that the machine is about to take back. Returns `false` if they
    /// contradict the message so far.
    #[cold]
    pub fn read_undone(&mut self, written: &mut ParserState, output: Parsed<'_>) -> bool {
        self.read_to = self.read_to.max(self.machine.furthest() - 1);
        self.read_visible(written, output.to(self.read_to))
    }

    #[inline(always)]
    fn read_visible(&mut self, written: &mut ParserState, output: Parsed<'_>) -> bool {
        let (in_call, covered) = (self.in_call(), self.covered());
        let kept = self.machine.take_kept();
        if kept < self.reader.captures_read() && !self.undo(kept, written, output.raw) {
            return false;
        }
        let Visible { count, end, .. } = self.machine.visible();
        if self.reader.captures_read() < count {
            self.read_captures(written, output);
        }
        self.reader
            .text(end, output.raw, false, &mut Routed { written, output });
        let contradicted = written.builder.at.contradicted;
        if contradicted {
            self.reader.set_back(in_call, covered);
        }
        !contradicted
    }

    #[inline(never)]
    fn read_captures(&mut self, written: &mut ParserState, output: Parsed<'_>) {
        let (read, visible) = (self.reader.captures_read(), self.machine.visible());
        // The captures that the machine may go back to: the last one before the unread captures,
        // and the ones among them, in reverse.
        let (mut before, mut points) = (None, SmallVec::<[usize; 8]>::new());
        for point in self.machine.restore_points(read) {
            if point < read {
                before = Some(point);
            } else if point < visible.count && points.last() != Some(&point) {
                points.push(point);
            }
        }
        drop_later(&mut self.snapshots, before);
        self.reader
            .keep(self.snapshots.last().map(|snapshot| &snapshot.reader));
        for (number, capture) in (read..).zip(visible.from(read)) {
            if points.last() == Some(&number) {
                points.pop();
                self.snapshots.push(Snapshot {
                    reader: self.reader.mark(),
                    builder: written.builder.mark(),
                    fallback: written.fallback.clone(),
                });
                self.reader
                    .keep(self.snapshots.last().map(|snapshot| &snapshot.reader));
            }
            self.reader
                .read(capture, output.raw, &mut Routed { written, output });
        }
        self.machine.forget(self.reader.captures_read());
    }

    /// Undoes the text after the first `kept` captures.
    #[cold]
    fn undo(&mut self, kept: usize, written: &mut ParserState, output: &[u8]) -> bool {
        drop_later(&mut self.snapshots, Some(kept));
        let snapshot = self
            .snapshots
            .last()
            .filter(|snapshot| snapshot.reader.captures_read() == kept);
        debug_assert!(
            snapshot.is_some(),
            "the machine comes back to its alternatives only"
        );
        let Some(snapshot) = snapshot else {
            return false;
        };
        self.reader.restore(&snapshot.reader);
        written.builder.undo(snapshot.builder, output);
        written.restore_fallback(snapshot.fallback.as_deref());
        true
    }

    /// Called when the output does not match any more. Restores the captures that were visible
    /// before the first byte that does not match, so that the result does not depend on how the
    /// output was cut.
    pub fn leave(&mut self, written: &mut ParserState, output: Parsed<'_>) {
        if self.machine.has_shown() {
            let fits = self
                .machine
                .furthest()
                .saturating_sub(1)
                .clamp(self.read_to, output.len());
            self.read(written, output.to(fits));
        }
    }
}

/// Drops the snapshots that were made after so many captures; all, if it is `None`.
fn drop_later(snapshots: &mut Vec<Snapshot>, read: Option<usize>) {
    while snapshots
        .pop_if(|last| read.is_none_or(|read| last.reader.captures_read() > read))
        .is_some()
    {}
}
