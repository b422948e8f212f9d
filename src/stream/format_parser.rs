//! Reads an output as its format says, and takes back what the machine takes back.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::fallback::{End, FallbackConfig, FallbackParser};
use crate::format::Tag;
use crate::output::{BuilderMark, CaptureReader, Event, MessageBuilder, ReaderMark, Sink};
use crate::peg::{Budget, Capture, Machine, Program, State};

/// What both parsers write to.
#[derive(Clone)]
pub(super) struct Written {
    pub builder: MessageBuilder,
    pub config: Arc<FallbackConfig>,
    /// Reads the region at hand, or what is behind the format.
    pub fallback: Option<Box<FallbackParser>>,
    /// The length of the output, once it is whole.
    pub whole: Option<usize>,
    /// The host's, if it has set one.
    pub budget: Option<Budget>,
    /// Work of fallback parsers that are gone, and where the first of them gave up.
    pub work: u64,
    pub limit: Option<usize>,
}

impl Written {
    pub fn new(prefill: usize, config: Arc<FallbackConfig>) -> Self {
        let builder = MessageBuilder::new(prefill);
        Written { builder, config, fallback: None, whole: None, budget: None, work: 0, limit: None }
    }

    /// Text goes to this fallback parser from now on.
    pub fn set_fallback(&mut self, parser: Option<FallbackParser>) {
        let budgeted = |parser: FallbackParser| match self.budget {
            Some(budget) => parser.with_budget(budget),
            None => parser,
        };
        self.fallback = parser.map(|parser| Box::new(budgeted(parser)));
    }

    /// Ends the fallback parser at hand, if there is one, where its text ends: at `to`, or where it has read to. Gives that position.
    pub fn close_fallback(&mut self, end: End, to: usize, output: &[u8]) -> usize {
        let Some(mut parser) = self.fallback.take() else { return to };
        let to = to.max(parser.read_to());
        parser.close(end, &output[..to], &mut self.builder);
        self.work += parser.work();
        self.limit = self.limit.or(parser.limit());
        to
    }
}

/// Passes events on to the builder, and text in which calls are looked for to the fallback parser.
struct Routed<'a> {
    written: &'a mut Written,
    output: &'a [u8],
}

impl Sink for Routed<'_> {
    /// In place, so that only the arm of the event at hand is left.
    #[inline(always)]
    fn event(&mut self, event: Event<'_>) {
        let Routed { written, output } = self;
        match event {
            Event::Begin(channel, at) => {
                let parser = written.config.in_region(channel, at);
                written.set_fallback(parser);
            }
            Event::Text(channel, text, span) => match &mut written.fallback {
                Some(parser) => parser.feed(span.end, output, &mut written.builder),
                None => written.builder.event(Event::Text(channel, text, span)),
            },
            Event::End(at) => {
                let end = if written.whole == Some(at) { End::Output } else { End::Region };
                written.close_fallback(end, at, output);
            }
            other => written.builder.event(other),
        }
    }
}

/// The state of everything at a capture that the machine may come back to.
#[derive(Clone)]
struct Snapshot {
    reader: ReaderMark,
    builder: BuilderMark,
    fallback: Option<Box<FallbackParser>>,
}

/// The captures to which a machine may come back.
struct RestorePoints {
    /// Among those that are read next, the last one first.
    at: SmallVec<[usize; 8]>,
    /// The last one before them.
    below: Option<usize>,
}

fn restore_points(machine: &Machine, from: usize, to: usize) -> RestorePoints {
    let mut points = RestorePoints { at: SmallVec::new(), below: None };
    for point in machine.restore_points(from) {
        if point < from {
            points.below = Some(point);
        } else if point < to && points.at.last() != Some(&point) {
            points.at.push(point);
        }
    }
    points
}

/// Bytes between two states of the machine that are kept to run it again from: as many as were read, within bounds.
const FIRST_STRIDE: usize = 1 << 10;
const STRIDE: usize = 64 << 10;

#[derive(Clone)]
pub(super) struct FormatParser {
    machine: Machine,
    /// The machine as it was some time ago, and how far it had read.
    earlier: Machine,
    earlier_at: usize,
    reader: CaptureReader,
    read_to: usize,
    /// The outermost first. Some may be of no use any more.
    snapshots: Vec<Snapshot>,
    /// Work of machines that are gone.
    work: u64,
}

impl FormatParser {
    /// A parser of a text whose first `prefill` bytes are not output.
    pub fn new(program: &Arc<Program>, prefill: usize) -> Self {
        let machine = Machine::new(Arc::clone(program), 0);
        FormatParser {
            earlier: machine.clone(),
            earlier_at: 0,
            machine,
            reader: CaptureReader::new(prefill),
            read_to: 0,
            snapshots: Vec::new(),
            work: 0,
        }
    }

    /// Another budget from here on. The machine is run again from here at the earliest: from further back, a smaller budget would
    /// end the run before it is here.
    pub fn set_budget(&mut self, budget: Budget) {
        self.machine.set_budget(budget);
        self.earlier.clone_from(&self.machine);
        self.earlier_at = self.read_to;
    }

    /// Work so far.
    pub fn work(&self) -> u64 {
        self.work + self.machine.work()
    }

    /// Everything before this position is in the message or is its markup.
    pub fn covered(&self) -> usize {
        self.reader.covered()
    }

    /// Whether the budget ended the run.
    pub fn is_over_budget(&self) -> bool {
        self.machine.state() == State::Limit
    }

    /// Runs the machine over more of the output.
    pub fn feed(&mut self, output: &[u8]) -> State {
        self.machine.feed(output)
    }

    /// The model has ended the output. Whether all of it matches.
    pub fn finish(&mut self, output: &[u8], prefill: usize) -> bool {
        self.machine.finish(output, self.reader.captures_read(), prefill)
    }

    /// The output was cut off. Whether it is the beginning of a match.
    pub fn cut(&mut self, output: &[u8]) -> bool {
        self.machine.cut(output)
    }

    /// Whether a text has begun, with a byte or more of it, that does not show.
    pub fn hides_text(&self, output: &[u8]) -> bool {
        let begins = |capture: &Capture| capture.opens && capture.pos < output.len();
        let mut hidden = self.machine.visible().hidden().iter().filter(|capture| begins(capture));
        hidden.any(|capture| Tag::from_id(capture.tag).is_some_and(Tag::streams))
    }

    /// Reads what the machine shows. `false`: it contradicts what the message says already.
    pub fn read(&mut self, written: &mut Written, output: &[u8]) -> bool {
        let kept = self.machine.take_kept();
        if kept < self.reader.captures_read() && !self.undo(kept, written, output) {
            return false;
        }
        if self.reader.captures_read() < self.machine.visible().count {
            self.read_captures(written, output);
        }
        self.reader.read_text(self.machine.visible().reach, output, &mut Routed { written, output });
        self.read_to = output.len();
        let stride = self.earlier_at.clamp(FIRST_STRIDE, STRIDE);
        if self.read_to - self.earlier_at >= stride && self.read_to - self.earlier_at >= self.machine.held() {
            self.earlier.clone_from(&self.machine);
            self.earlier_at = self.read_to;
        }
        !written.builder.contradicted()
    }

    fn read_captures(&mut self, written: &mut Written, output: &[u8]) {
        let (read, visible) = (self.reader.captures_read(), self.machine.visible());
        let mut points = restore_points(&self.machine, read, visible.count);
        let needed = |snapshot: &Snapshot| points.below.is_some_and(|below| snapshot.reader.captures_read() <= below);
        while self.snapshots.pop_if(|snapshot| !needed(snapshot)).is_some() {}
        self.reader.keep(self.snapshots.last().map(|snapshot| &snapshot.reader));
        for (number, capture) in (read..).zip(visible.from(read)) {
            if points.at.last() == Some(&number) {
                points.at.pop();
                self.snapshots.push(Snapshot {
                    reader: self.reader.mark(),
                    builder: written.builder.mark(),
                    fallback: written.fallback.clone(),
                });
                self.reader.keep(self.snapshots.last().map(|snapshot| &snapshot.reader));
            }
            self.reader.read(capture, output, &mut Routed { written, output });
        }
        self.machine.forget(self.reader.captures_read());
    }

    /// Takes back what was read behind the first `kept` captures.
    fn undo(&mut self, kept: usize, written: &mut Written, output: &[u8]) -> bool {
        while self.snapshots.pop_if(|snapshot| snapshot.reader.captures_read() > kept).is_some() {}
        let snapshot = self.snapshots.last().filter(|snapshot| snapshot.reader.captures_read() == kept);
        debug_assert!(snapshot.is_some(), "the machine comes back to its alternatives only");
        let Some(snapshot) = snapshot else { return false };
        self.reader.restore(&snapshot.reader);
        written.builder.undo(snapshot.builder, output);
        written.fallback.clone_from(&snapshot.fallback);
        true
    }

    /// The output does not match any more. What could be seen just before the first byte that does not fit stands, so nothing
    /// depends on how the output was cut; to see it, the machine runs once more over the last bytes.
    pub fn leave(&mut self, written: &mut Written, output: &[u8]) {
        let fits = self.machine.examined().saturating_sub(1).clamp(self.read_to, output.len());
        if fits > self.read_to {
            self.work += self.machine.work();
            self.machine = self.earlier.clone();
            self.machine.feed(&output[..self.read_to]);
            self.machine.take_kept();
            self.machine.feed(&output[..fits]);
            self.read(written, &output[..fits]);
        }
    }
}
