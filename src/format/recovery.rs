//! Calls where the format has none: in text that is not in the format, and, where the request asks for it, in content and in
//! reasoning.
//!
//! A [`Sieve`] reads such text with a description of its own ([`super::dialects`]) and passes on what it finds. Where a call
//! breaks off, what was read of it stands, and the sieve starts anew behind it.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::assemble::Assembler;
use super::dialects::{self, Place};
use super::draft::{Draft, Stray};
use super::field::Text;
use super::tag::Tag;
use crate::message::{CallsInReasoning, DeltaKind, Dialects, Leniency, Tool};
use crate::peg::{self, Arena, Machine, Program, State, lossy};

/// What a parser needs to read calls outside its format. The programs are made when the first output needs them.
#[derive(Debug)]
pub struct Recovery {
    format: Arc<Arena>,
    /// The tools on offer. None: nothing is looked for.
    pub tools: Vec<Tool>,
    /// What is asked for.
    pub leniency: Leniency,
    anywhere: OnceLock<Option<Arc<Program>>>,
    at_end: OnceLock<Option<Arc<Program>>>,
}

impl Recovery {
    /// For a format and a request with these tools.
    pub fn new(format: Arc<Arena>, tools: Vec<Tool>, leniency: Leniency) -> Self {
        Recovery { format, tools, leniency, anywhere: OnceLock::new(), at_end: OnceLock::new() }
    }

    /// What the output should look like.
    pub fn format(&self) -> &Arc<Arena> {
        &self.format
    }

    /// A program for calls in `place`; `None` where there are none to look for, or where the tools are too many.
    fn program(&self, place: Place) -> Option<Arc<Program>> {
        let cell = if place == Place::AtEnd { &self.at_end } else { &self.anywhere };
        let make = || peg::compile(&dialects::text_with_calls(&self.format, &self.tools, self.leniency, place)).ok();
        cell.get_or_init(|| if self.tools.is_empty() { None } else { make().map(Arc::new) }).clone()
    }

    /// What looks for calls from this position of the parsed text on: in a region of the format, or in what has left it. `None`
    /// where the request does not ask for it.
    pub(super) fn sieve(&self, region: Option<Tag>, at: usize) -> Option<Box<Sieve>> {
        let Leniency { dialects, calls_in_reasoning, .. } = self.leniency;
        let (prose, place) = match (region, dialects, calls_in_reasoning) {
            (None, Dialects::Recover | Dialects::Always, _) => (Tag::Content, Place::Anywhere),
            (Some(Tag::Content), Dialects::Always, _) => (Tag::Content, Place::Anywhere),
            (Some(Tag::Reasoning), _, CallsInReasoning::Always) => (Tag::Reasoning, Place::Anywhere),
            (Some(Tag::Reasoning), _, CallsInReasoning::AtEnd) => (Tag::Reasoning, Place::AtEnd),
            _ => return None,
        };
        self.program(place).map(|program| Box::new(Sieve::new(program, at, prose, place)))
    }
}

/// Bytes that are read before a sieve may start anew: bounds what is read twice.
const PIECE: usize = 1 << 10;

/// What ends a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The output goes on with something else.
    Region,
    /// The output is whole.
    Output,
    /// The output was cut off: what may become a call is left out, as half a marker is.
    Cut,
}

/// Text in which there may be calls.
#[derive(Clone)]
pub(super) struct Sieve {
    program: Arc<Program>,
    machine: Machine,
    reader: Box<Assembler>,
    /// Where in the parsed text the machine's text begins.
    start: usize,
    /// What text is that is no call.
    prose: Tag,
    place: Place,
    /// What the machine cannot take is text.
    gave_up: bool,
}

impl Sieve {
    fn new(program: Arc<Program>, start: usize, prose: Tag, place: Place) -> Self {
        let machine = Machine::committed(Arc::clone(&program));
        Sieve { program, machine, reader: Box::default(), start, prose, place, gave_up: false }
    }

    /// Whether what it finds to be text is content.
    pub fn is_content(&self) -> bool {
        self.prose == Tag::Content
    }

    /// Reads on.
    pub fn feed(&mut self, bytes: &[u8], draft: &mut Draft) {
        for piece in bytes.chunks(PIECE) {
            if self.gave_up {
                self.say(piece, 0, draft);
                self.start += piece.len();
                continue;
            }
            self.machine.feed(piece);
            while self.machine.state() == State::Failed {
                self.start_anew(draft);
            }
            self.read(draft);
        }
    }

    /// Ends the text.
    pub fn close(&mut self, end: End, draft: &mut Draft) {
        if self.gave_up || (end, self.place) == (End::Cut, Place::Anywhere) {
            return;
        }
        let counts = end == End::Output || self.place == Place::Anywhere;
        if counts && self.machine.finish(self.reader.captures_read(), 0) {
            self.read(draft);
            return;
        }
        let rest = self.machine.output()[self.reader.covered()..].to_vec();
        // Behind arguments that are not whole, white space is nothing.
        if !self.reader.in_call() || !rest.trim_ascii().is_empty() {
            self.say(&rest, self.reader.covered(), draft);
        }
    }

    fn read(&mut self, draft: &mut Draft) {
        self.reader.read(&mut self.machine);
        self.pass_on(draft);
    }

    /// A call broke off. What could be seen of it before the byte that did not fit stands.
    fn start_anew(&mut self, draft: &mut Draft) {
        let output = self.machine.output();
        let fits = self.machine.examined().saturating_sub(1).min(output.len());
        let mut before = Machine::committed(Arc::clone(&self.program));
        before.feed(&output[..fits]);
        let covered = self.reader.reread(&mut before);
        let rest = output[covered..].to_vec();
        self.pass_on(draft);
        self.start += covered;
        let next = Sieve::new(Arc::clone(&self.program), self.start, self.prose, self.place);
        *self = Sieve { gave_up: covered == 0, ..next };
        if self.gave_up {
            self.say(&rest, 0, draft);
            self.start += rest.len();
        } else {
            self.machine.feed(&rest);
        }
    }

    fn pass_on(&mut self, draft: &mut Draft) {
        for delta in self.reader.deltas() {
            let span = self.start + delta.span.start..self.start + delta.span.end;
            match delta.kind {
                DeltaKind::ToolName => {
                    draft.call(delta.text, "", "", span);
                    let found = self.reader.stray(delta.call);
                    draft.mark(Stray { recovered: true, in_reasoning: !self.is_content(), ..found });
                }
                DeltaKind::ToolId => draft.id(delta.text, span),
                DeltaKind::ToolArguments => draft.arguments(Text::Own(delta.text), span),
                DeltaKind::ToolEnd => draft.end_call(span.end),
                DeltaKind::Reasoning | DeltaKind::Content => prose(self.prose, delta.text, span, draft),
            }
        }
        self.reader.clear_deltas();
    }

    fn say(&self, bytes: &[u8], at: usize, draft: &mut Draft) {
        let at = self.start + at;
        prose(self.prose, &lossy(bytes), at..at + bytes.len(), draft);
    }
}

fn prose(tag: Tag, text: &str, span: Range<usize>, draft: &mut Draft) {
    let text = Text::Own(text);
    if tag == Tag::Reasoning { draft.reasoning(text, span) } else { draft.content(text, span) }
}
