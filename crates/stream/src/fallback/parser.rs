//! Parses text that may contain calls, piece by piece.
//!
//! White space before a call belongs to the call, so white space waits for the text after it.
//! If a call is interrupted, the part that was read stays, and the parser starts again after it.
//! No byte is read more than five times.
//!
//! If calls count only at the end of the text, the parser records where they begin and reads them
//! at the end.

use std::ops::Range;
use std::sync::Arc;

use super::FallbackConfig;
use super::dialects::{self, Seen};
use super::text::{Prefilter, Scope, Sight, counts_bare};
use crate::output::{
    CallRecord, CaptureReader, Channel, Event, MessageBuilder, Parsed, Sink, Text, report,
};
use chatparse_message::Dialects;
use chatparse_peg::{Budget, Machine, State, incomplete_tail};

/// The reason why a text ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The output continues with another region.
    Region,
    /// The output is complete.
    Output,
    /// The output was cut off: the beginning of a possible call is left out, like half a marker.
    Cut,
}

/// How often a parser begins anew to read one dialect more, before it reads all.
const LEARNT: u8 = 4;

/// Bytes that a machine reads before its captures are read. This bounds the memory for captures.
const PIECE: usize = 16 << 10;

/// A parser of text that may contain calls. All positions are in the parsed text.
#[derive(Clone)]
pub struct FallbackParser {
    config: Arc<FallbackConfig>,
    scope: Scope,
    /// The scope of its program.
    reads: Scope,
    /// The dialects whose calls its program reads, and where the search for other dialects
    /// continues.
    seen: Seen,
    looked: usize,
    /// No text ends before it that calls of other dialects begin with.
    clear: usize,
    /// All that was read since is the rest of an interrupted call.
    in_rest: bool,
    /// How often it began anew to read another one.
    learnt: u8,
    /// No call can have begun yet.
    prefilter: Option<Arc<Prefilter>>,
    /// The position where its machine began.
    start: usize,
    /// Reads calls, once one may have begun.
    machine: Option<Machine>,
    /// The budget of the machines, if the host has set one.
    budget: Option<Budget>,
    /// The positions up to which its machine has the text, and up to which that was read.
    fed: usize,
    pub read_to: usize,
    /// Work of machines before this one, and of other parsers.
    work: u64,
    reader: CaptureReader,
    pub prose: Prose,
    /// If calls count at the end only: where the calls begin. From there on all waits.
    candidates: Option<usize>,
    /// From here on all text is plain.
    gave_up: bool,
    /// Its region of the format has ended inside of a possible call.
    pub paused: bool,
    /// The format was left inside of it.
    left: bool,
    /// The position where the budget ended the search for calls.
    pub limit: Option<usize>,
}

/// Text outside of calls.
#[derive(Clone, Debug)]
pub struct Prose {
    pub channel: Channel,
    /// The end of the text that is in the message.
    shown: usize,
    /// The text up to here is white space that belongs to a call if one follows.
    known: usize,
}

impl Prose {
    /// Adds a span that is not part of a call.
    fn extend(&mut self, span: Range<usize>, output: &[u8], builder: &mut MessageBuilder) {
        // Markup that is no call's may be between.
        if self.known < span.start {
            self.show(self.known, output, builder);
        }
        if self.shown == self.known {
            self.shown = span.start;
        }
        self.known = span.end;
        if let Some(last) = output[span.clone()]
            .iter()
            .rposition(|byte| !matches!(byte, b' ' | b'\n' | b'\t' | b'\r'))
        {
            self.show(span.start + last + 1, output, builder);
        }
    }

    /// Adds the waiting text up to `to` to the message.
    fn show(&mut self, to: usize, output: &[u8], builder: &mut MessageBuilder) {
        if self.shown < to {
            let span = self.shown..to;
            builder.event(Event::Text(self.channel, Text::raw(output, &span), span));
            self.shown = to;
        }
        self.known = self.known.max(to);
    }
}

/// The first end of a character at or after `at`.
fn whole_character(text: &[u8], at: usize) -> usize {
    (at..text.len())
        .find(|&end| incomplete_tail(&text[..end]) == 0)
        .unwrap_or(text.len())
}

/// Passes events to the builder; text goes through [`Prose`].
struct Found<'a> {
    prose: &'a mut Prose,
    in_rest: &'a mut bool,
    /// Where the calls begin, if they only count at the end.
    candidates: Option<&'a mut Option<usize>>,
    config: &'a FallbackConfig,
    output: &'a [u8],
    builder: &'a mut MessageBuilder,
}

impl Sink for Found<'_> {
    fn event(&mut self, mut event: Event<'_>) {
        if let Some(candidates) = &mut self.candidates {
            match event {
                // A name that announces a call is read with the call.
                Event::Text(_, _, span)
                    if candidates.is_some() || self.prose.known < span.start => {}
                Event::Text(_, _, span) => self.prose.extend(span, self.output, self.builder),
                Event::Call { .. } => drop(candidates.get_or_insert(self.prose.known)),
                _ => {}
            }
            return;
        }
        *self.in_rest &= matches!(event, Event::Broken(..));
        match &mut event {
            Event::Text(Channel::Content, _, span) => {
                return self.prose.extend(span.clone(), self.output, self.builder);
            }
            Event::Call { flags, .. } => {
                self.prose.shown = self.prose.known;
                flags.recovered = true;
                flags.in_reasoning = self.prose.channel == Channel::Reasoning;
                flags.origin = self.config.origin(flags.dialect);
            }
            _ => {}
        }
        self.builder.event(event);
    }
}

impl FallbackParser {
    /// Returns `None` if there are no calls to search for.
    pub(super) fn new(
        config: Arc<FallbackConfig>,
        channel: Channel,
        scope: Scope,
        at: usize,
    ) -> Option<Self> {
        // After a call, another one or its rest may come at once.
        let at_once = matches!(
            scope,
            Scope::BehindCall | Scope::BehindWrapped | Scope::InCall
        );
        let seen = Seen::default();
        let (prefilter, machine) = if at_once {
            let program = config.program(scope, seen)?;
            (None, Some(Machine::committed(program, at)))
        } else {
            (Some(config.prefilter(scope)?), None)
        };
        let mends = config.mends();
        Some(FallbackParser {
            config,
            scope,
            reads: scope,
            seen,
            looked: at,
            clear: at,
            in_rest: scope == Scope::InCall,
            learnt: 0,
            prefilter,
            start: at,
            machine,
            budget: None,
            fed: at,
            read_to: at,
            work: 0,
            reader: CaptureReader::new(at, mends),
            prose: Prose {
                channel,
                shown: at,
                known: at,
            },
            candidates: None,
            gave_up: false,
            paused: false,
            left: false,
            limit: None,
        })
    }

    /// Sets the budget for the rest of the run, if there is one.
    pub fn budgeted(mut self, budget: Option<Budget>) -> Self {
        self.budget = budget.or(self.budget);
        if let Some((machine, budget)) = self.machine.as_mut().zip(budget) {
            machine.set_budget(budget);
        }
        self
    }

    /// Whether everything read so far is in the message and everything that follows is plain text.
    pub fn is_text(&self) -> bool {
        self.gave_up && self.prose.shown == self.read_to
    }

    /// The work so far.
    pub fn work(&self) -> u64 {
        self.work + self.machine.as_ref().map_or(0, Machine::work)
    }

    /// Called where the region ends in which it reads content. Returns whether it waits there,
    /// because a call may have begun.
    pub fn pause(&mut self, output: &[u8]) -> bool {
        let waiting = &output[self.prose.shown..self.read_to];
        self.paused = self.prose.channel == Channel::Content
            && !self.gave_up
            && (self.reader.in_call() || !waiting.trim_ascii().is_empty());
        self.paused
    }

    /// Goes on where the region has ended, because the output has left the format; returns that
    /// position.
    pub fn resume(&mut self) -> Option<usize> {
        self.left |= self.paused;
        std::mem::take(&mut self.paused).then_some(self.read_to)
    }

    /// Reads up to `to`, which must be at the border of a character.
    pub fn feed(&mut self, to: usize, output: Parsed<'_>, builder: &mut MessageBuilder) {
        if self.candidates.is_some() {
            self.read_to = to;
            return;
        }
        while self.read_to < to && !self.gave_up {
            let end = to.min(self.read_to + PIECE);
            self.advance(output.to(end), builder);
        }
        if self.gave_up {
            self.prose.show(to, output.raw, builder);
            self.read_to = to;
        }
    }

    /// Ends the text, all of which must have been read.
    pub fn close(&mut self, end: End, output: Parsed<'_>, builder: &mut MessageBuilder) {
        let raw = output.raw;
        match (self.scope, end) {
            _ if self.gave_up => self.prose.show(raw.len(), raw, builder),
            (scope, End::Cut) if !scope.waits_for_end() => {}
            (scope, _) if !scope.waits_for_end() => self.close_anywhere(output, builder),
            (_, End::Output) if self.candidates.is_some() || self.finish(output.seen) => {
                if self.candidates.is_none() {
                    self.read(raw, builder);
                }
                match (self.candidates, self.scope) {
                    (Some(from), _) => self.read_candidates(from, output, builder),
                    (None, Scope::Whole) if self.machine.is_some() => self.end_calls(raw, builder),
                    (None, _) => self.prose.show(raw.len(), raw, builder),
                }
            }
            _ if self.looks_anywhere() => {
                self.feed(raw.len(), output, builder);
                self.close(end, output, builder);
            }
            (_, End::Cut) => self
                .prose
                .show(raw.len() - incomplete_tail(raw), raw, builder),
            _ => self.prose.show(raw.len(), raw, builder),
        }
    }

    /// Whether all of the text was read in this scope.
    fn finish(&mut self, output: &[u8]) -> bool {
        match &mut self.machine {
            Some(machine) => machine.finish(output, self.reader.captures_read(), 0),
            None => self.scope != Scope::Whole || self.fed == output.len(),
        }
    }

    fn state(&self) -> Option<State> {
        self.machine.as_ref().map(Machine::state)
    }

    /// Whether its machine reads no further.
    fn has_stopped(&self) -> bool {
        matches!(self.state(), Some(State::Failed | State::Limit))
    }

    fn close_anywhere(&mut self, output: Parsed<'_>, builder: &mut MessageBuilder) {
        let raw = output.raw;
        if self.prefilter.is_some() {
            return self.prose.show(raw.len(), raw, builder);
        }
        let whole = self.finish(output.seen);
        if whole {
            self.read(raw, builder);
        }
        self.end_calls(raw, builder);
        let rest = self.reader.covered();
        if self.state() == Some(State::Limit) {
            self.limit = Some(rest);
        }
        // White space after incomplete arguments is dropped.
        let nothing = self.reader.in_call() && raw[rest..].trim_ascii().is_empty();
        if !(whole || nothing) {
            self.prose.shown = rest;
            self.prose.show(raw.len(), raw, builder);
        }
    }

    /// Shows the text that waits.
    fn end_calls(&mut self, output: &[u8], builder: &mut MessageBuilder) {
        self.reader.end_word(builder);
        self.prose.show(self.prose.known, output, builder);
    }

    fn advance(&mut self, output: Parsed<'_>, builder: &mut MessageBuilder) {
        if self.prefilter.is_some() {
            self.look(output, builder);
        }
        while self.prefilter.is_none() && !self.gave_up && self.candidates.is_none() {
            if self.has_stopped() {
                self.start_anew(output.to(self.fed), builder);
                continue;
            }
            // The program learns to read a dialect before it sees the end of the text that begins
            // the call. So the result is a function of the bytes, however they are cut.
            let start = self.find(output.seen, self.looked.max(self.clear));
            let last = start.as_ref().map_or(output.len(), |start| {
                let before = &output.seen[..start.span.end - 1];
                before.len() - incomplete_tail(before)
            });
            self.clear = last;
            if self.fed < last {
                self.fed = last;
                if let Some(machine) = &mut self.machine {
                    machine.feed(&output.seen[..last]);
                }
                if self.has_stopped() {
                    continue;
                }
            }
            self.read_to = self.fed;
            self.read(&output.raw[..self.fed], builder);
            let Some(start) = start else { break };
            self.looked = start.span.end;
            // In the arguments of a call it is their text.
            if self.candidates.is_none() && !self.reader.in_call() {
                let scope = if self.reader.covered() <= self.start {
                    self.reads
                } else {
                    self.goes_on()
                };
                self.gave_up = !self.begin(scope, output.to(start.span.end));
            }
        }
        if self.candidates.is_some() {
            // All waits for the end.
            self.read_to = output.len();
        }
        if self.gave_up {
            self.looks_anywhere();
        }
    }

    /// Searches for the first place where a call may begin.
    fn look(&mut self, output: Parsed<'_>, builder: &mut MessageBuilder) {
        let from = self.fed;
        let Some(sight) = self
            .prefilter
            .as_ref()
            .map(|prefilter| prefilter.look(output.seen, from))
        else {
            return;
        };
        let (Sight::Text(to) | Sight::Call(to, _) | Sight::Nothing(to)) = sight;
        self.work += (to - from) as u64;
        (self.fed, self.read_to) = (to, output.len());
        match self.scope {
            Scope::Whole => self.prose.show(to, output.raw, builder),
            _ => self.prose.extend(from..to, output.raw, builder),
        }
        match sight {
            Sight::Text(_) => {}
            Sight::Nothing(_) => self.gave_up = true,
            Sight::Call(start, end) => {
                (self.prefilter, self.read_to) = (None, start);
                self.reader = CaptureReader::new(start, self.config.mends());
                self.gave_up =
                    !self.begin(self.scope, output.to(whole_character(output.seen, end)));
            }
        }
    }

    /// Text that is not all calls may have some, where the request asks for that. Nothing but white
    /// space was shown of it.
    fn looks_anywhere(&mut self) -> bool {
        let scope = match self.config.rules.leniency.dialects {
            Dialects::Always => Scope::Anywhere,
            Dialects::Tail => Scope::AtEnd,
            Dialects::Recover if self.left => Scope::Anywhere,
            _ => return false,
        };
        if self.scope != Scope::Whole || self.limit.is_some() {
            return false;
        }
        let (channel, from) = (self.prose.channel, self.prose.shown);
        let next = FallbackParser::new(Arc::clone(&self.config), channel, scope, from);
        let Some(next) = next else { return false };
        *self = FallbackParser {
            work: self.work(),
            ..next.budgeted(self.budget)
        };
        true
    }

    fn read(&mut self, output: &[u8], builder: &mut MessageBuilder) {
        let Some(machine) = &mut self.machine else {
            return;
        };
        let at_end = self.scope == Scope::AtEnd;
        let mut found = Found {
            prose: &mut self.prose,
            in_rest: &mut self.in_rest,
            candidates: at_end.then_some(&mut self.candidates),
            config: &self.config,
            output,
            builder,
        };
        self.reader.read_all(machine, output, &mut found);
    }

    /// Called where a call may begin, or is interrupted. Keeps the captures that were visible
    /// before the byte that did not match.
    fn start_anew(&mut self, output: Parsed<'_>, builder: &mut MessageBuilder) {
        let limit = self.state() == Some(State::Limit);
        let furthest = self.machine.as_ref().map_or(0, Machine::furthest);
        self.read_to = furthest.saturating_sub(1).clamp(self.read_to, output.len());
        self.read(&output.raw[..self.read_to], builder);
        if self.candidates.is_some() {
            return;
        }
        let covered = self.reader.covered();
        // Up to the character that did not match.
        let output = output.to(whole_character(
            output.seen,
            furthest.clamp(self.read_to, output.len()),
        ));
        let nothing = limit || covered <= self.start || self.scope == Scope::Whole;
        let scope = (!nothing).then(|| self.goes_on());
        if scope.is_none_or(|scope| !self.begin(scope, output)) {
            self.gave_up = true;
            self.limit = limit.then_some(covered);
            // The seeming calls at the end are text.
            if !self.scope.waits_for_end() {
                self.prose.show(self.prose.known, output.raw, builder);
                self.prose.shown = covered.max(self.prose.shown);
            }
        }
    }

    /// The scope of the text that follows.
    fn goes_on(&self) -> Scope {
        match self.scope.waits_for_end() {
            true => self.scope,
            // The rest of an interrupted call belongs to it.
            false if self.reader.in_call() || self.in_rest => Scope::InCall,
            false if self.prose.known < self.reader.covered() => Scope::BehindFound,
            false => Scope::Anywhere,
        }
    }

    /// The first text after `from` that calls of a dialect begin with which is not read yet.
    fn find(&self, output: &[u8], from: usize) -> Option<dialects::Start> {
        dialects::find(output, from, self.seen, |name| self.config.offers(name))
    }

    /// Begins anew after the text that was read. Returns whether there is a program for it.
    fn begin(&mut self, scope: Scope, output: Parsed<'_>) -> bool {
        let covered = self.reader.covered();
        self.looked = covered;
        // Calls that begin with names are compiled where a text begins with one.
        let rules = &self.config.rules;
        let text = output.seen[covered..].trim_ascii_start();
        let mut tools = rules.tools.iter();
        let named =
            scope != Scope::Whole || tools.any(|tool| text.starts_with(tool.name.as_bytes()));
        if named && counts_bare(rules.leniency, scope) {
            self.seen = self.seen.and(dialects::named());
        }
        let before = self.seen;
        while let Some(start) = self.find(output.seen, self.looked) {
            (self.looked, self.seen) = (start.span.end, self.seen.and(start.rows));
        }
        // Who writes in so many ways may write in any.
        self.learnt = self.learnt.saturating_add(u8::from(self.seen != before));
        if self.learnt > LEARNT {
            self.seen = Seen::ALL;
        }
        self.looked = output.len();
        let Some(program) = self.config.program(scope, self.seen) else {
            return false;
        };
        // A budget that was set counts for all of the run.
        let budget = self.budget.unwrap_or(program.budget());
        let spent = self.machine.as_ref().map_or(0, Machine::overdraft);
        self.work = self.work() - spent;
        let mut machine = Machine::committed(program, covered).with_budget(budget, spent);
        machine.feed(output.seen);
        let reader = CaptureReader::new(covered, self.config.mends());
        (self.machine, self.reads, self.start, self.reader) =
            (Some(machine), scope, covered, reader);
        (self.in_rest, self.fed) = (scope == Scope::InCall, output.len());
        true
    }

    /// Whether all that `after` has and `before` has not is calls, and all of these can be run.
    fn are_whole(&self, before: &MessageBuilder, after: &MessageBuilder, output: &[u8]) -> bool {
        let [text, message] = [before, after].map(|builder| builder.message(output));
        let records: Vec<CallRecord> = after.calls().collect();
        let calls = report(
            &message,
            &records,
            &self.config.rules.tools,
            Vec::new(),
            dialects::name,
        )
        .calls;
        let mut added = calls[text.tool_calls.len()..].iter();
        added.all(|call| call.complete && call.known && call.valid)
            && message.content.trim_end() == text.content.trim_end()
    }

    fn read_candidates(&mut self, from: usize, output: Parsed<'_>, builder: &mut MessageBuilder) {
        let (config, channel) = (Arc::clone(&self.config), self.prose.channel);
        if let Some(parser) = FallbackParser::new(config, channel, Scope::Anywhere, from) {
            // In content, only calls that can be run, with nothing after them.
            let before = (channel == Channel::Content).then(|| builder.clone());
            let mut parser = parser.budgeted(self.budget);
            parser.feed(output.len(), output, builder);
            parser.close(End::Output, output, builder);
            self.work += parser.work();
            if let Some(before) =
                before.filter(|before| !self.are_whole(before, builder, output.raw))
            {
                *builder = before;
                self.prose.show(output.len(), output.raw, builder);
            }
        }
    }
}
