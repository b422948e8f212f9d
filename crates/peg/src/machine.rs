//! Runs a program over an output that arrives in pieces. The head of [`super`] explains the method.

mod budget;
mod captured;
mod scan;
mod select;
mod test;

use std::sync::Arc;

pub use budget::Budget;

use super::capture::{Capture, CaptureLog};
use super::expr::TagId;
use super::program::{Op, Program};
use super::select::Walk;
use super::utf8::Decoded;
use chatparse_base::limits;
use scan::Searches;

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Waiting for more output.
    Waiting,
    /// The program has accepted. It ignores the output from this position on.
    Accepted(usize),
    /// About to go back past visible captures: the next call does it.
    Undoing,
    /// The output does not match, whatever follows.
    Failed,
    /// The run exceeded its budget of work or its stack. Whether the output matches is unknown.
    Limit,
}

/// The meaning of the end of the available output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Eof {
    /// More may follow: stop there and wait.
    NeedMore,
    /// The output was cut off: the bytes so far count, and a half-matched rest stays open.
    Truncated,
    /// The output is complete: a half-matched rest does not match.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Choice,
    Return,
    Repeat,
    Atomic,
    And,
    Not,
}

/// A stack entry: the state to restore, and the address to continue at.
#[derive(Clone, Copy, Debug)]
struct Frame {
    kind: Kind,
    /// The part whose address it is.
    part: u16,
    ip: u32,
    /// Completed rounds, for a repetition.
    count: u32,
    captures: u32,
    pos: usize,
}

const NONE: u32 = u32::MAX;

/// A run over one output. The caller keeps the output and passes it to each call. A clone forks the
/// run; it costs as much as the run's stack and captures.
#[derive(Clone)]
pub struct Machine {
    /// The running program: the whole one, or one of its parts.
    program: Arc<Program>,
    /// The whole program.
    whole: Arc<Program>,
    /// The number of the part plus 1; 0 for the program.
    part: u16,
    /// The position where the run began. It counts as the start of the text.
    start: usize,
    origin: usize,
    ip: u32,
    pos: usize,
    stack: Vec<Frame>,
    captures: CaptureLog,
    state: State,
    /// Bytes of the waiting literal that have matched.
    matched: usize,
    /// How far the waiting choice has looked.
    walk: Option<Walk>,
    /// The lowest stack entry that hides the captures above it, or `NONE`.
    hiding: u32,
    /// The lowest stack entry that is a look ahead, or `NONE`.
    looking: u32,
    /// How far the captured text reaches while waiting: `pos`, or the end of a half-matched
    /// literal.
    visible_end: usize,
    /// One more than the position of the furthest byte looked at.
    furthest: usize,
    /// Whether going back past a visible capture is a failure.
    committed: bool,
    /// The number of captures that were visible while the furthest byte was missing, and how far
    /// they reached; `None` once the run has gone back past them.
    shown: Option<(usize, usize)>,
    /// Captures below this index are unchanged since the last call of [`Machine::take_kept`].
    kept: usize,
    work: u64,
    budget: Budget,
    searches: Searches,
}

impl Machine {
    /// A run from position `start` of an output. It runs when it is first fed.
    pub fn new(program: Arc<Program>, start: usize) -> Self {
        Machine {
            budget: program.budget(),
            whole: Arc::clone(&program),
            program,
            part: 0,
            start,
            origin: start,
            ip: 0,
            pos: start,
            stack: Vec::new(),
            captures: CaptureLog::default(),
            state: State::Waiting,
            matched: 0,
            walk: None,
            hiding: NONE,
            looking: NONE,
            visible_end: start,
            furthest: start,
            committed: false,
            shown: None,
            kept: 0,
            work: 0,
            searches: Searches::default(),
        }
    }

    /// Runs over a text that is complete, or that was cut off, from a position on. The machine
    /// cannot be fed after that.
    pub fn whole(program: Arc<Program>, text: &[u8], start: usize, cut: bool) -> Self {
        let mut machine = Machine {
            origin: 0,
            ..Machine::new(program, start)
        };
        machine.run(text, if cut { Eof::Truncated } else { Eof::End });
        machine
    }

    /// A run that fails instead of going back past a visible capture. A capture counts as visible
    /// if it was visible when the machine needed a further byte, so this does not depend on how the
    /// output is cut.
    pub fn committed(program: Arc<Program>, start: usize) -> Self {
        Machine {
            committed: true,
            ..Machine::new(program, start)
        }
    }

    /// Runs as far as `output` decides. `output` is the whole output so far; it must begin with the
    /// bytes that were passed before.
    pub fn feed(&mut self, output: &[u8]) -> State {
        while self.feed_to_undo(output) == State::Undoing {}
        self.state
    }

    /// Like `feed`, but stops before it goes back past visible captures. Their visibility does not
    /// depend on how the output is cut, so a caller that reads them then reads the same of any
    /// pieces.
    pub fn feed_to_undo(&mut self, output: &[u8]) -> State {
        match self.state {
            State::Waiting => self.resume(output),
            State::Undoing => {
                (self.state, self.shown) = (State::Waiting, None);
                let flow = self.fail(output, Eof::NeedMore);
                if self.proceed(flow, output.len()) {
                    self.run(output, Eof::NeedMore);
                }
            }
            _ => {}
        }
        self.state
    }

    /// Ends the run because the model has ended the output. Returns `true` if the whole output
    /// matches, the first `read` captures are unchanged, and further ones begin at `from` or later.
    /// Otherwise the machine is unchanged, unless it reached its limit.
    pub fn finish(&mut self, output: &[u8], read: usize, from: usize) -> bool {
        match self.state {
            State::Accepted(end) => end == output.len(),
            State::Failed | State::Limit => false,
            State::Waiting | State::Undoing => {
                let mut trial = self.clone();
                trial.run(output, Eof::End);
                let matched = trial.state == State::Accepted(output.len())
                    && trial.kept >= read
                    && trial
                        .captures
                        .from(read)
                        .iter()
                        .all(|capture| !capture.opens || capture.pos >= from);
                if matched {
                    *self = trial;
                } else {
                    self.work = trial.work;
                    if trial.state == State::Limit {
                        self.state = State::Limit;
                    }
                }
                matched
            }
        }
    }

    /// Whether it waits in a look ahead.
    pub fn is_looking(&self) -> bool {
        self.looking != NONE
    }

    /// The end of the output refutes the waiting instruction: the next feed tries another
    /// alternative.
    pub fn refute(&mut self) {
        if self.state == State::Waiting {
            (self.state, self.matched, self.walk, self.searches.begun) =
                (State::Undoing, 0, None, None);
        }
    }

    /// Ends the run because the output was cut off; the captures so far count. Returns `false` if
    /// the output is not the beginning of a match.
    pub fn cut(&mut self, output: &[u8]) -> bool {
        if self.state == State::Waiting {
            self.run(output, Eof::Truncated);
        }
        !matches!(self.state, State::Failed | State::Limit)
    }

    /// The state of the run.
    pub fn state(&self) -> State {
        self.state
    }

    /// One more than the position of the furthest byte looked at. After a failure: the length of
    /// the shortest prefix that fails.
    pub fn furthest(&self) -> usize {
        self.furthest
    }

    #[inline(always)]
    fn capture(&mut self, tag: TagId, opens: bool) {
        let pos = self.pos;
        self.captures.push(Capture { tag, pos, opens });
    }

    fn push(&mut self, kind: Kind, ip: u32) {
        let frame = Frame {
            kind,
            part: self.part,
            ip,
            count: 0,
            captures: self.captures.len() as u32,
            pos: self.pos,
        };
        let index = self.stack.len() as u32;
        if matches!(kind, Kind::Atomic | Kind::And | Kind::Not) {
            self.hiding = self.hiding.min(index);
            if kind != Kind::Atomic {
                self.looking = self.looking.min(index);
            }
        }
        self.stack.push(frame);
    }

    fn pop(&mut self) -> Option<Frame> {
        let frame = self.stack.pop()?;
        let height = self.stack.len() as u32;
        if height <= self.hiding {
            self.hiding = NONE;
        }
        if height <= self.looking {
            self.looking = NONE;
        }
        Some(frame)
    }

    fn truncate_captures(&mut self, count: u32) {
        self.work += (self.captures.len() - count as usize) as u64;
        self.captures.truncate(count as usize);
        self.kept = self.kept.min(count as usize);
    }

    /// Goes back to the last alternative, if one is left.
    fn fail(&mut self, output: &[u8], eof: Eof) -> Flow {
        while let Some(&frame) = self.stack.last() {
            if matches!(frame.kind, Kind::Return | Kind::Atomic | Kind::And) {
                self.pop();
                continue;
            }
            if let Some((shown, reach)) = self.shown {
                let behind = (frame.captures as usize) < shown;
                if self.committed && behind {
                    break;
                }
                if eof == Eof::NeedMore && !self.committed && (behind || frame.pos < reach) {
                    self.state = State::Undoing;
                    return Flow::Stop;
                }
            }
            self.pop();
            self.truncate_captures(frame.captures);
            self.pos = frame.pos;
            self.go_to(frame.part);
            if frame.kind != Kind::Repeat {
                self.ip = frame.ip;
                return Flow::Go;
            }
            let flow = self.leave_repeat(frame, output, eof);
            if !matches!(flow, Flow::Fail) {
                return flow;
            }
        }
        self.state = State::Failed;
        Flow::Stop
    }

    /// Ends a repetition whose frame was popped: continues at its exit after enough rounds, fails
    /// otherwise.
    fn leave_repeat(&mut self, frame: Frame, output: &[u8], eof: Eof) -> Flow {
        let bounds = self.program.repeats[frame.ip as usize];
        if frame.count >= bounds.min {
            self.ip = bounds.exit;
            return Flow::Go;
        }
        if self.pos == output.len() && eof == Eof::Truncated {
            return Flow::Wait(self.pos);
        }
        Flow::Fail
    }

    fn run(&mut self, output: &[u8], eof: Eof) {
        loop {
            let from = self.pos;
            let flow = self.step(output, eof);
            if !self.follow(flow, from, output, eof) {
                return;
            }
        }
    }

    /// Handles the outcome of an instruction that began at `from`. Returns whether the run
    /// continues.
    #[inline(always)]
    fn follow(&mut self, mut flow: Flow, from: usize, output: &[u8], eof: Eof) -> bool {
        // An instruction that waits is counted when it completes, so that the count does not depend
        // on the pieces.
        self.work +=
            self.pos.saturating_sub(from) as u64 + u64::from(!matches!(flow, Flow::Wait(_)));
        if matches!(flow, Flow::Fail) {
            flow = self.fail(output, eof);
        }
        self.proceed(flow, output.len())
    }

    #[inline(always)]
    fn proceed(&mut self, flow: Flow, length: usize) -> bool {
        match flow {
            Flow::Go => {}
            Flow::Wait(end) => {
                self.visible_end = end;
                self.examine_to(length, end.min(length.saturating_sub(1)));
                return false;
            }
            Flow::Fail | Flow::Stop => return false,
        }
        if self.stack.len() > limits::PARSE_STACK || self.overdraft() > self.budget.base {
            self.state = State::Limit;
            return false;
        }
        true
    }

    /// Runs one instruction. If a byte is missing, it returns `Wait`, but at the output's end it
    /// decides.
    fn step(&mut self, output: &[u8], eof: Eof) -> Flow {
        let len = output.len();
        match self.program.ops[self.ip as usize] {
            Op::Literal(index) => {
                let literal = self.program.literals[index as usize].as_bytes();
                let rest = &output[self.pos..];
                let known = std::mem::take(&mut self.matched);
                let same = known + common_prefix(&literal[known..], &rest[known..]);
                if same == literal.len() {
                    self.pos += same;
                    self.examine_to(self.pos, self.pos.saturating_sub(1));
                } else if same == rest.len() {
                    if eof == Eof::End {
                        return Flow::Fail;
                    }
                    self.matched = same;
                    return Flow::Wait(len);
                } else {
                    self.work += same as u64;
                    self.examine_to(self.pos + same + 1, self.pos + same);
                    return Flow::Fail;
                }
            }
            Op::Char(index) => match self.character(output) {
                Decoded::Char(c, length) if self.program.sets[index as usize].contains(c) => {
                    self.pos += length
                }
                Decoded::Incomplete if eof != Eof::End => return Flow::Wait(self.pos),
                _ => return Flow::Fail,
            },
            Op::Span(index) => loop {
                match self.character(output) {
                    Decoded::Char(c, length) if self.program.sets[index as usize].contains(c) => {
                        self.pos += length
                    }
                    Decoded::Incomplete if eof == Eof::NeedMore => return Flow::Wait(self.pos),
                    _ => break,
                }
            },
            Op::Any => match self.character(output) {
                Decoded::Char(_, length) => self.pos += length,
                Decoded::Incomplete if eof != Eof::End => return Flow::Wait(self.pos),
                _ => return Flow::Fail,
            },
            Op::Space => {
                let mut rest = output[self.pos..].iter();
                match rest.position(|byte| !matches!(byte, b' ' | b'\t'..=b'\r')) {
                    Some(length) => {
                        self.pos += length;
                        self.examine(self.pos + 1);
                    }
                    None => {
                        self.pos = len;
                        if eof == Eof::NeedMore {
                            return Flow::Wait(len);
                        }
                    }
                }
            }
            Op::StringBody(delimiter, other) => {
                return self.string_body(output, [delimiter, other], eof);
            }
            Op::Until(index) => return self.until(output, index, eof),
            Op::Start if self.pos == self.origin => {}
            Op::End => {
                if self.pos < len {
                    self.examine(self.pos + 1);
                    return Flow::Fail;
                }
                if eof == Eof::NeedMore {
                    return Flow::Wait(self.pos);
                }
            }
            Op::Choice(other) => self.push(Kind::Choice, other),
            Op::Test(index) => return self.test(output, index, eof),
            Op::Select(index) => return self.select(output, index, eof),
            Op::Commit(to) => {
                self.pop();
                self.ip = to;
                return Flow::Go;
            }
            Op::RepeatBegin => {
                let Op::RepeatNext(index) = self.program.ops[self.ip as usize + 1] else {
                    unreachable!("a repetition's first instruction is followed by its second");
                };
                self.push(Kind::Repeat, index);
            }
            Op::RepeatNext(index) => {
                let bounds = self.program.repeats[index as usize];
                let mut frame = *self
                    .stack
                    .last()
                    .expect("a repetition runs above its frame");
                if bounds.max.is_some_and(|max| frame.count >= max) {
                    self.pop();
                    self.ip = bounds.exit;
                    return Flow::Go;
                }
                if self.pos == len {
                    if eof == Eof::NeedMore {
                        return Flow::Wait(self.pos);
                    }
                    self.pop();
                    return self.leave_repeat(frame, output, eof);
                }
                match self.may_begin(output, bounds.begin) {
                    Some(true) => {}
                    None if eof == Eof::NeedMore => return Flow::Wait(self.pos),
                    None => {}
                    Some(false) => {
                        self.pop();
                        return self.leave_repeat(frame, output, eof);
                    }
                }
                frame.pos = self.pos;
                frame.captures = self.captures.len() as u32;
                *self.stack.last_mut().expect("as above") = frame;
            }
            Op::RepeatEnd(next) => {
                let frame = self
                    .stack
                    .last_mut()
                    .expect("a repetition runs above its frame");
                // A round that read nothing is none.
                if frame.pos == self.pos {
                    return Flow::Fail;
                }
                frame.count = frame.count.saturating_add(1);
                self.ip = next;
                return Flow::Go;
            }
            Op::AndBegin => self.push(Kind::And, 0),
            Op::AndEnd => {
                if let Some(frame) = self.pop() {
                    self.truncate_captures(frame.captures);
                    self.pos = frame.pos;
                }
            }
            Op::NotBegin(after) => self.push(Kind::Not, after),
            Op::NotEnd => {
                self.pop();
                return Flow::Fail;
            }
            Op::AtomicBegin => self.push(Kind::Atomic, 0),
            Op::AtomicEnd => drop(self.pop()),
            Op::Open(tag) => self.capture(tag, true),
            Op::Close(tag) => self.capture(tag, false),
            Op::Call(to) => {
                self.push(Kind::Return, self.ip + 1);
                self.ip = to;
                return Flow::Go;
            }
            Op::Return => {
                let (part, ip) = self.pop().map_or((0, 0), |frame| (frame.part, frame.ip));
                self.go_to(part);
                self.ip = ip;
                return Flow::Go;
            }
            Op::Late(number) => {
                let number = number as u16;
                self.push(Kind::Return, self.ip + 1);
                let Some(part) = self.whole.part(number.into()) else {
                    self.state = State::Limit;
                    return Flow::Stop;
                };
                (self.program, self.part, self.ip) = (Arc::clone(part), number + 1, 0);
                return Flow::Go;
            }
            Op::Start | Op::Fail => return Flow::Fail,
            Op::Accept => {
                self.visible_end = self.pos;
                self.state = State::Accepted(self.pos);
                return Flow::Stop;
            }
        }
        self.ip += 1;
        Flow::Go
    }

    /// Goes on in this part, which was entered before, or in the program.
    #[inline(always)]
    fn go_to(&mut self, part: u16) {
        if self.part != part {
            let entered = part
                .checked_sub(1)
                .and_then(|number| self.whole.part(number.into()));
            self.program = Arc::clone(entered.unwrap_or(&self.whole));
            self.part = part;
        }
    }

    fn examine(&mut self, end: usize) {
        self.examine_to(end, self.pos);
    }

    /// Notes that the bytes up to `end` were looked at, and up to where text was visible while the
    /// last of them was missing.
    fn examine_to(&mut self, end: usize, visible: usize) {
        if end > self.furthest {
            self.furthest = end;
            let reach = if self.looking == NONE {
                visible
            } else {
                self.stack[self.looking as usize].pos
            };
            self.shown = Some((self.visible_count(), reach));
        }
    }
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    if b.starts_with(a) {
        a.len()
    } else {
        a.iter().zip(b).take_while(|(a, b)| a == b).count()
    }
}

/// The outcome of an instruction.
enum Flow {
    Go,
    Fail,
    /// A byte is missing; captured text reaches this position.
    Wait(usize),
    Stop,
}
