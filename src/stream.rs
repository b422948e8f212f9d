//! Model output to message, piece by piece.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use crate::error::{Error, ErrorKind, Result};
use crate::format::verdict::{self, Seen};
use crate::format::{Assembler, Recovery};
use crate::message::{CallReport, Delta, Diagnostic, Leniency, Message, Report, Status};
use crate::parser::Parser;
use crate::peg::{Machine, State, incomplete_tail};

/// A parse in progress. One owner at a time; clone it to fork the parse.
#[derive(Clone)]
pub struct Stream {
    machine: Machine,
    assembler: Assembler,
    prefill: usize,
    /// The output left the format; from this position on it is content.
    spilt: Option<usize>,
    /// Nothing was fed yet: what the prompt has begun is still to be told.
    fresh: bool,
    parser: Parser,
}

/// How a parse ended.
#[derive(Clone)]
pub struct Ended {
    /// The message: all deltas put together.
    pub message: Message,
    /// How the output related to the format.
    pub status: Status,
    /// Where it left the format, in bytes of the output: there, or at a call that the format does not have.
    pub left_at: Option<usize>,
    seen: Vec<Seen>,
    /// What is behind the format.
    left: Option<Range<usize>>,
    asked: Arc<Recovery>,
    report: OnceLock<Report>,
}

impl Ended {
    fn new(read: &Assembler, output: &[u8], asked: Arc<Recovery>, status: Status, left: Option<Range<usize>>) -> Self {
        let seen: Vec<Seen> = read.calls().collect();
        let left_at = left.as_ref().map(|left| left.start).into_iter().chain(verdict::first_stray(&seen)).min();
        let status = if left_at.is_some() { Status::Recovered } else { status };
        Ended { message: read.message(output), status, left_at, seen, left, asked, report: OnceLock::new() }
    }

    /// What there is to say of each call of the message. The first look at a report checks the arguments.
    pub fn calls(&self) -> &[CallReport] {
        &self.report().calls
    }

    /// What a host may want to know or log, in the order of the output.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.report().diagnostics
    }

    fn report(&self) -> &Report {
        self.report.get_or_init(|| verdict::judge(&self.message, &self.seen, &self.asked, self.left.clone()))
    }

    /// The error that a strict caller reports for an output that left the format.
    pub fn mismatch(&self) -> Error {
        let at = self.left_at.unwrap_or(0);
        Error::new(
            ErrorKind::Parse,
            format!("the model's output does not match the template's format from byte {at} on"),
        )
    }

    /// What the C library and the program tell as one JSON object: `status`, `left_at`, `calls` and `diagnostics`, with the
    /// fields' names.
    pub fn report_json(&self) -> Value {
        let calls = self.calls().iter();
        let calls = calls.map(|call| json!({"complete": call.complete, "known": call.known, "valid": call.valid}));
        let diagnostics = self.diagnostics().iter().map(|found| {
            let span = [found.span.start, found.span.end];
            json!({"kind": found.kind.name(), "call": found.call, "span": span, "message": found.message})
        });
        json!({
            "status": self.status.name(),
            "left_at": self.left_at,
            "calls": calls.collect::<Vec<_>>(),
            "diagnostics": diagnostics.collect::<Vec<_>>(),
        })
    }
}

impl PartialEq for Ended {
    /// The report follows from the rest.
    fn eq(&self, other: &Self) -> bool {
        let all = |ended: &Ended| (ended.status, ended.left_at, ended.left.clone());
        all(self) == all(other) && self.message == other.message && self.seen == other.seen
    }
}

impl fmt::Debug for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ended { message, status, left_at, .. } = self;
        let mut out = f.debug_struct("Ended");
        out.field("message", message).field("status", status).field("left_at", left_at);
        out.field("report", self.report()).finish()
    }
}

impl Parser {
    /// Parses text that is all there.
    ///
    /// `partial`: more of it is still to come, or it was cut off. Otherwise the model ended it.
    ///
    /// # Errors
    /// None, unless `strict`: then [`ErrorKind::Parse`] for an output that does not fit the format.
    pub fn parse(&self, text: &[u8], partial: bool, strict: bool) -> Result<(Message, Status)> {
        self.read(text, partial, strict).map(|ended| (ended.message, ended.status))
    }

    /// The same with all that there is to say of the output.
    ///
    /// # Errors
    /// As [`Parser::parse`].
    pub fn read(&self, text: &[u8], partial: bool, strict: bool) -> Result<Ended> {
        let mut stream = Stream::new(self);
        stream.assembler.silence();
        let _ = stream.feed(text);
        let ended = stream.finish(partial);
        if strict && ended.status == Status::Recovered { Err(ended.mismatch()) } else { Ok(ended) }
    }

    /// What is tagged in [`Parser::tree`] of the same text, as a message. There is none in a text that does not match.
    pub fn tagged(&self, text: &[u8], from: usize, cut: bool) -> Option<Ended> {
        let recovery = Recovery::new(Arc::clone(self.recovery().format()), Vec::new(), Leniency::default());
        let recovery = Arc::new(recovery);
        let mut machine = Machine::whole(Arc::clone(self.program()), text, from, cut);
        let mut assembler = Assembler::new(0, Arc::clone(&recovery));
        let status = match machine.state() {
            State::Failed => return None,
            State::Waiting => Status::Partial,
            State::Accepted(_) => Status::Complete,
        };
        assembler.read(&mut machine);
        Some(Ended::new(&assembler, machine.output(), recovery, status, None))
    }
}

impl Stream {
    /// A parse at the start of the output. What the prompt has begun (a prefilled message) shows with the first feed.
    pub fn new(parser: &Parser) -> Self {
        let mut machine = Machine::new(Arc::clone(parser.program()));
        machine.feed(parser.prefill().as_bytes());
        let prefill = parser.prefill().len();
        let assembler = Assembler::new(prefill, Arc::clone(parser.recovery()));
        let mut stream = Stream { machine, assembler, prefill, spilt: None, fresh: true, parser: parser.clone() };
        stream.advance();
        stream
    }

    /// Appends output and says what it adds to the message. Costs as much as the new bytes. Bytes may be cut anywhere, also
    /// inside a character.
    pub fn feed(&mut self, bytes: &[u8]) -> impl ExactSizeIterator<Item = Delta<'_>> {
        self.begin();
        self.machine.feed(bytes);
        self.advance();
        self.assembler.deltas()
    }

    /// Ends the output: `cut_off` where a limit ended it and not the model. What that still adds is in
    /// [`Stream::deltas`]; feeding on is of no use.
    pub fn finish(&mut self, cut_off: bool) -> Ended {
        self.begin();
        if !cut_off {
            self.assembler.end();
        }
        let mut status = Status::Recovered;
        if self.spilt.is_none() {
            if !cut_off && self.machine.finish(self.assembler.captures_read(), self.prefill) {
                status = Status::Complete;
            } else if self.machine.cut() {
                status = Status::Partial;
            } else {
                self.spilt = Some(self.assembler.covered());
            }
            self.advance();
        }
        let output = self.machine.output();
        if self.spilt.is_some() {
            status = Status::Recovered;
            self.assembler.spill(self.assembler.covered(), output.len(), output);
        }
        self.assembler.finish();
        let left_at = self.spilt.map(|at| at.saturating_sub(self.prefill));
        let written = output.len().saturating_sub(self.prefill);
        self.ended(status, left_at.map(|at| at..written))
    }

    /// What the last [`Stream::feed`] or [`Stream::finish`] added.
    pub fn deltas(&self) -> impl ExactSizeIterator<Item = Delta<'_>> {
        self.assembler.deltas()
    }

    /// One of [`Stream::deltas`], without counting up to it.
    pub fn delta(&self, index: usize) -> Option<Delta<'_>> {
        self.assembler.delta(index)
    }

    /// The message so far.
    pub fn message(&self) -> Message {
        self.assembler.message(self.machine.output())
    }

    /// The message so far and what can be said of it by now. Costs as much as the message.
    pub fn so_far(&self) -> Ended {
        self.ended(Status::Partial, None)
    }

    fn ended(&self, status: Status, left: Option<Range<usize>>) -> Ended {
        Ended::new(&self.assembler, self.machine.output(), Arc::clone(self.parser.recovery()), status, left)
    }

    /// Back to the start of the output.
    pub fn reset(&mut self) {
        *self = Stream::new(&self.parser.clone());
    }

    /// Forgets the last deltas; the first time there are those of the prompt, which nobody has seen.
    fn begin(&mut self) {
        if !std::mem::take(&mut self.fresh) {
            self.assembler.clear_deltas();
        }
    }

    /// Reads on in the machine, or spills where the output has left the format.
    fn advance(&mut self) {
        if self.spilt.is_none() {
            match self.machine.state() {
                State::Failed => self.leave(),
                State::Waiting => {
                    if !self.assembler.read(&mut self.machine) {
                        self.spilt = Some(self.assembler.covered());
                    }
                }
                State::Accepted(end) => {
                    let agrees = self.assembler.read(&mut self.machine);
                    if !agrees || end < self.machine.output().len() {
                        self.spilt = Some(if agrees { end } else { self.assembler.covered() });
                    }
                }
            }
        }
        if let Some(from) = self.spilt {
            let output = self.machine.output();
            let from = from.max(self.assembler.covered());
            let to = output.len() - incomplete_tail(output);
            self.assembler.spill(from, to, output);
        }
    }

    /// The output has left the format. What was shown just before the first byte that did not fit stands; the rest is
    /// content. The parse up to that byte is run again, once, so that nothing depends on how the output was cut.
    fn leave(&mut self) {
        let fits = self.machine.examined().saturating_sub(1).min(self.machine.output().len());
        let mut before = Machine::new(Arc::clone(self.parser.program()));
        before.feed(&self.machine.output()[..fits]);
        self.assembler.reread(&mut before);
        self.spilt = Some(self.assembler.covered());
    }
}
