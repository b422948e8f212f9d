//! Text in which there may be calls, as it comes.
//!
//! White space in front of a call goes with the call, so white space waits for what comes behind it. Where a call breaks off,
//! what was read of it stands, and the parser starts anew behind it: no byte is read more than three times.
//!
//! Calls that count at the end of their text only are noted where they begin, and read once that end is there.

use std::ops::Range;
use std::sync::Arc;

use super::FallbackConfig;
use super::text::{CANDIDATE, Place};
use crate::output::{CallFlags, CaptureReader, Channel, Event, MessageBuilder, Parsed, Sink, Text};
use crate::peg::{Budget, Machine, Program, Rewindable, State, incomplete_tail};

/// What ends a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The output goes on with something else.
    Region,
    /// The output is whole.
    Output,
    /// The output was cut off: what may become a call is left out, as half a marker is.
    Cut,
}

/// Bytes that a machine reads before its captures are read: bounds what they take in memory.
const PIECE: usize = 16 << 10;

/// Reads text in which there may be calls. All positions are those of the parsed text.
#[derive(Clone)]
pub(crate) struct FallbackParser {
    config: Arc<FallbackConfig>,
    program: Arc<Program>,
    place: Place,
    /// Where its machine began.
    start: usize,
    run: Rewindable,
    reader: CaptureReader,
    prose: Prose,
    /// Where the calls begin that end the text so far, if calls count there only.
    candidates: Option<usize>,
    /// From here on everything is text.
    gave_up: bool,
    limit: Option<usize>,
}

/// Text that is no call.
#[derive(Clone, Debug)]
struct Prose {
    channel: Channel,
    /// It is in the message up to here.
    shown: usize,
    /// What lies between is white space that goes with a call, if one follows.
    known: usize,
}

impl Prose {
    /// What stands here is no part of a call.
    fn extend(&mut self, span: Range<usize>, output: &[u8], builder: &mut MessageBuilder) {
        if self.shown == self.known {
            self.shown = span.start;
        }
        self.known = span.end;
        if let Some(last) = output[span.clone()].iter().rposition(|byte| !is_white_space(*byte)) {
            self.show(span.start + last + 1, output, builder);
        }
    }

    /// What waits up to `to` is text.
    fn show(&mut self, to: usize, output: &[u8], builder: &mut MessageBuilder) {
        if self.shown < to {
            let span = self.shown..to;
            builder.event(Event::Text(self.channel, Text::Raw(&output[span.clone()], span.start), span));
            self.shown = to;
        }
        self.known = self.known.max(to);
    }
}

fn is_white_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r')
}

/// Passes events on to the builder, text by way of [`Prose`].
struct Found<'a> {
    prose: &'a mut Prose,
    config: &'a FallbackConfig,
    output: &'a [u8],
    builder: &'a mut MessageBuilder,
}

impl Sink for Found<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text(_, _, span) => self.prose.extend(span, self.output, self.builder),
            Event::Call { name, early, flags, span } => {
                self.prose.shown = self.prose.known;
                let in_reasoning = self.prose.channel == Channel::Reasoning;
                let origin = self.config.origin(flags.dialect);
                let flags = CallFlags { recovered: true, in_reasoning, origin, ..flags };
                self.builder.event(Event::Call { name, early, flags, span });
            }
            other => self.builder.event(other),
        }
    }
}

/// Passes on text alone, and what seemed to be calls in front of it.
struct Noted<'a> {
    prose: &'a mut Prose,
    candidates: &'a mut Option<usize>,
    /// White space waits for nothing.
    at_once: bool,
    output: &'a [u8],
    builder: &'a mut MessageBuilder,
}

impl Sink for Noted<'_> {
    fn event(&mut self, event: Event<'_>) {
        let Event::Text(_, text, span) = event else { return };
        if self.at_once {
            self.prose.show(span.end, self.output, self.builder);
        } else if let Some(last) = text.bytes().iter().rposition(|byte| !is_white_space(*byte)) {
            *self.candidates = None;
            self.prose.show(span.start + last + 1, self.output, self.builder);
        }
    }
}

impl FallbackParser {
    /// `None` where there are no calls to look for.
    pub(super) fn new(config: Arc<FallbackConfig>, channel: Channel, place: Place, at: usize) -> Option<Self> {
        let program = config.program(place)?;
        let run = Rewindable::new(Machine::committed(Arc::clone(&program), at));
        Some(FallbackParser {
            config,
            program,
            place,
            start: at,
            run,
            reader: CaptureReader::new(at),
            prose: Prose { channel, shown: at, known: at },
            candidates: None,
            gave_up: false,
            limit: None,
        })
    }

    /// The same with another budget from here on.
    pub fn with_budget(mut self, budget: Budget) -> Self {
        self.run.set_budget(budget);
        self
    }

    /// Whether all that is read from now on is text, and what was read is in the message.
    pub fn is_text(&self) -> bool {
        self.gave_up && self.prose.shown == self.run.read_to()
    }

    /// Which text is read.
    pub fn channel(&self) -> Channel {
        self.prose.channel
    }

    /// How far the text was read.
    pub fn read_to(&self) -> usize {
        self.run.read_to()
    }

    /// Where the budget ended the search for calls.
    pub fn limit(&self) -> Option<usize> {
        self.limit
    }

    /// Work so far.
    pub fn work(&self) -> u64 {
        self.run.work()
    }

    /// Reads on, up to `to`, which is not inside of a character.
    pub fn feed(&mut self, to: usize, output: Parsed<'_>, builder: &mut MessageBuilder) {
        while self.read_to() < to && !self.gave_up {
            let end = to.min(self.read_to() + PIECE);
            self.advance(output.to(end), builder);
        }
        if self.gave_up && self.read_to() < to {
            self.prose.show(to, output.raw, builder);
            self.run.set_read_to(to);
        }
    }

    /// Ends the text, all of which was read.
    pub fn close(&mut self, end: End, output: Parsed<'_>, builder: &mut MessageBuilder) {
        let raw = output.raw;
        match (self.place, end) {
            _ if self.gave_up => self.prose.show(raw.len(), raw, builder),
            (place, End::Cut) if !place.waits_for_end() => {}
            (place, _) if !place.waits_for_end() => self.close_anywhere(output, builder),
            (_, End::Output) if self.run.machine.finish(output.seen, self.reader.captures_read(), 0) => {
                self.note_candidates(raw, builder);
                match self.candidates {
                    Some(from) => self.read_candidates(from, output, builder),
                    None => self.prose.show(raw.len(), raw, builder),
                }
            }
            (_, End::Cut) => self.prose.show(raw.len() - incomplete_tail(raw), raw, builder),
            _ => self.prose.show(raw.len(), raw, builder),
        }
    }

    fn close_anywhere(&mut self, output: Parsed<'_>, builder: &mut MessageBuilder) {
        let raw = output.raw;
        let whole = self.run.machine.finish(output.seen, self.reader.captures_read(), 0);
        if whole {
            self.read(raw, builder);
        }
        self.prose.show(self.prose.known, raw, builder);
        let rest = self.reader.covered();
        if self.run.machine.state() == State::Limit {
            self.limit = Some(rest);
        }
        // Behind arguments that are not whole, white space is nothing.
        let nothing = self.reader.in_call() && raw[rest..].trim_ascii().is_empty();
        if !(whole || nothing) {
            self.prose.shown = rest;
            self.prose.show(raw.len(), raw, builder);
        }
    }

    fn advance(&mut self, output: Parsed<'_>, builder: &mut MessageBuilder) {
        self.run.machine.feed(output.seen);
        while matches!(self.run.machine.state(), State::Failed | State::Limit) && !self.gave_up {
            self.start_anew(output, builder);
        }
        if !self.gave_up {
            self.read(output.raw, builder);
            self.run.set_read_to(output.len());
        }
    }

    fn read(&mut self, output: &[u8], builder: &mut MessageBuilder) {
        if self.place.waits_for_end() {
            return self.note_candidates(output, builder);
        }
        let mut found = Found { prose: &mut self.prose, config: &self.config, output, builder };
        self.reader.read_all(&mut self.run.machine, output, &mut found);
    }

    /// A call broke off. What could be seen of it before the byte that did not fit stands.
    fn start_anew(&mut self, output: Parsed<'_>, builder: &mut MessageBuilder) {
        let limit = self.run.machine.state() == State::Limit;
        let fits = self.run.rewind(output.seen);
        self.read(&output.raw[..fits], builder);
        let covered = self.reader.covered();
        if limit || covered <= self.start || self.place == Place::Whole {
            self.gave_up = true;
            self.limit = limit.then_some(covered);
            // What seemed to be calls at the end is text, too.
            if !self.place.waits_for_end() {
                self.prose.show(self.prose.known, output.raw, builder);
                self.prose.shown = covered.max(self.prose.shown);
            }
            return;
        }
        // What broke off within a call goes with it.
        let place = if self.reader.in_call() { Place::InCall } else { Place::Anywhere };
        // Only then is a program made: the first one for a place is compiled.
        if !self.place.waits_for_end()
            && let Some(program) = self.config.program(place)
        {
            self.program = program;
        }
        let (budget, spent) = (self.run.machine.budget(), self.run.machine.overdraft());
        self.run.replace(Machine::committed(Arc::clone(&self.program), covered).with_budget(budget, spent));
        (self.start, self.reader) = (covered, CaptureReader::new(covered));
        self.run.machine.feed(output.seen);
    }

    /// Notes where the calls begin that no text follows.
    fn note_candidates(&mut self, output: &[u8], builder: &mut MessageBuilder) {
        let at_once = self.place == Place::Whole;
        self.run.machine.take_kept();
        let visible = self.run.machine.visible();
        for capture in visible.from(self.reader.captures_read()) {
            if capture.tag == CANDIDATE {
                self.candidates = self.candidates.or(Some(capture.pos));
            }
            let mut noted =
                Noted { prose: &mut self.prose, candidates: &mut self.candidates, at_once, output, builder };
            self.reader.read(capture, output, &mut noted);
        }
        let mut noted = Noted { prose: &mut self.prose, candidates: &mut self.candidates, at_once, output, builder };
        self.reader.read_text(visible.reach, output, &mut noted);
        self.run.machine.forget(self.reader.captures_read());
    }

    fn read_candidates(&mut self, from: usize, output: Parsed<'_>, builder: &mut MessageBuilder) {
        let place = if self.place == Place::Whole { Place::Only } else { Place::Anywhere };
        let parser = FallbackParser::new(Arc::clone(&self.config), self.prose.channel, place, from);
        if let Some(parser) = parser {
            let mut parser = parser.with_budget(self.run.machine.budget());
            parser.feed(output.len(), output, builder);
            parser.close(End::Output, output, builder);
            self.run.add_work(parser.work());
        }
    }
}
