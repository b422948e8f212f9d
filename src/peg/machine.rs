//! Runs a program over an output that comes in pieces. See the module's essay for the ideas.

mod scan;

use std::sync::Arc;

use super::capture::{Capture, Visible};
use super::program::{Op, Program};
use super::utf8::Decoded;
use crate::limits;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits for more output.
    Waiting,
    /// The program has accepted; output from this position on is none of its business.
    Accepted(usize),
    /// The output does not match, whatever may follow.
    Failed,
}

/// What the end of the available output means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    /// More may come: stop there and wait.
    Open,
    /// The output was cut off: what is there counts, a half-matched rest is left open.
    Cut,
    /// The output is whole: a half-matched rest does not match.
    Final,
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

/// An entry of the stack: what to restore, and where to go on.
#[derive(Clone, Copy, Debug)]
struct Frame {
    kind: Kind,
    ip: u32,
    /// Rounds done, for a repetition.
    count: u32,
    captures: u32,
    pos: usize,
}

const NONE: u32 = u32::MAX;

/// A run over one output. Cloning it forks the run; the cost is that of its buffer.
#[derive(Clone)]
pub struct Machine {
    program: Arc<Program>,
    output: Vec<u8>,
    ip: u32,
    pos: usize,
    stack: Vec<Frame>,
    captures: Vec<Capture>,
    state: State,
    /// The lowest stack entry that hides the captures above it, or `NONE`.
    hiding: u32,
    /// The lowest stack entry that is a look ahead, or `NONE`.
    looking: u32,
    /// How far the captured text reaches while waiting: `pos`, or the end of a half-matched literal.
    reach: usize,
    /// One more than the furthest byte looked at.
    examined: usize,
    /// Whether going back behind what has shown is a failure, and how many captures have.
    committed: bool,
    shown: usize,
    /// Captures below this index are the same as at the last call of [`Machine::take_kept`].
    kept: usize,
    steps: u64,
}

impl Machine {
    /// A run at the start of an empty output.
    pub fn new(program: Arc<Program>) -> Self {
        Machine::begin(program, Vec::new(), 0, Edge::Open)
    }

    /// A run over a text that is all there, or that was cut off, from a position in it on. It does not go on.
    pub fn whole(program: Arc<Program>, text: &[u8], from: usize, cut: bool) -> Self {
        Machine::begin(program, text.to_vec(), from, if cut { Edge::Cut } else { Edge::Final })
    }

    fn begin(program: Arc<Program>, output: Vec<u8>, pos: usize, edge: Edge) -> Self {
        let mut machine = Machine {
            program,
            output,
            ip: 0,
            pos,
            stack: Vec::new(),
            captures: Vec::new(),
            state: State::Waiting,
            hiding: NONE,
            looking: NONE,
            reach: 0,
            examined: pos,
            committed: false,
            shown: 0,
            kept: 0,
            steps: 0,
        };
        machine.run(edge);
        machine
    }

    /// A run that fails rather than go back behind a capture that has shown. What has shown is what was visible when a further
    /// byte was needed, so it does not depend on how the output is cut.
    pub fn committed(program: Arc<Program>) -> Self {
        Machine { committed: true, ..Machine::new(program) }
    }

    /// Appends output and runs as far as it decides. After an end of the run, output is only stored.
    pub fn feed(&mut self, bytes: &[u8]) -> State {
        self.output.extend_from_slice(bytes);
        if self.state == State::Waiting {
            self.run(Edge::Open);
        }
        self.state
    }

    /// Says that no more output comes because the model has ended it. `true`: the whole output matches, the first `shown`
    /// captures stay as they are, and further ones begin at `from` or later. Otherwise the machine is as before.
    pub fn finish(&mut self, shown: usize, from: usize) -> bool {
        match self.state {
            State::Accepted(end) => end == self.output.len(),
            State::Failed => false,
            State::Waiting => {
                let output = std::mem::take(&mut self.output);
                let mut trial = self.clone();
                trial.output = output;
                trial.run(Edge::Final);
                let added = trial.captures.get(shown..).unwrap_or_default();
                let in_place = trial.kept >= shown && added.iter().all(|capture| !capture.opens || capture.pos >= from);
                if trial.state == State::Accepted(trial.output.len()) && in_place {
                    *self = trial;
                    return true;
                }
                self.output = trial.output;
                false
            }
        }
    }

    /// Says that no more output comes because it was cut off. What is captured so far counts as it stands.
    /// `false`: what came is not even the beginning of a match.
    pub fn cut(&mut self) -> bool {
        if self.state == State::Waiting {
            self.run(Edge::Cut);
        }
        self.state != State::Failed
    }

    /// All output so far.
    pub fn output(&self) -> &[u8] {
        &self.output
    }

    /// How the run stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// One more than the furthest byte looked at. After a failure: the shortest prefix that fails.
    pub fn examined(&self) -> usize {
        self.examined
    }

    /// What of the captures shows now.
    pub fn visible(&self) -> Visible<'_> {
        let mut count = self.captures.len();
        if self.hiding != NONE {
            count = self.stack[self.hiding as usize].captures as usize;
        }
        let reach = if self.looking == NONE { self.reach } else { self.stack[self.looking as usize].pos };
        Visible { captures: &self.captures[..count], reach }
    }

    /// How many of the captures are untouched since the last call.
    pub fn take_kept(&mut self) -> usize {
        std::mem::replace(&mut self.kept, self.captures.len())
    }

    fn push(&mut self, kind: Kind, ip: u32) {
        let frame = Frame { kind, ip, count: 0, captures: self.captures.len() as u32, pos: self.pos };
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
        self.captures.truncate(count as usize);
        self.kept = self.kept.min(count as usize);
    }

    /// Goes back to the last alternative, if one is left.
    fn fail(&mut self, edge: Edge) -> Flow {
        while let Some(frame) = self.pop() {
            if matches!(frame.kind, Kind::Return | Kind::Atomic | Kind::And) {
                continue;
            }
            if (frame.captures as usize) < self.shown {
                break;
            }
            self.truncate_captures(frame.captures);
            self.pos = frame.pos;
            if frame.kind != Kind::Repeat {
                self.ip = frame.ip;
                return Flow::Go;
            }
            let flow = self.leave_repeat(frame, edge);
            if !matches!(flow, Flow::Fail) {
                return flow;
            }
        }
        self.state = State::Failed;
        Flow::Stop
    }

    /// Ends a repetition whose frame is popped: on at its exit where there were rounds enough.
    fn leave_repeat(&mut self, frame: Frame, edge: Edge) -> Flow {
        let bounds = self.program.repeats[frame.ip as usize];
        if frame.count >= bounds.min {
            self.ip = bounds.exit;
            return Flow::Go;
        }
        if self.pos == self.output.len() && edge == Edge::Cut {
            return Flow::Wait(self.pos);
        }
        Flow::Fail
    }

    fn run(&mut self, edge: Edge) {
        loop {
            self.steps += 1;
            let mut flow = self.step(edge);
            if matches!(flow, Flow::Fail) {
                flow = self.fail(edge);
            }
            match flow {
                Flow::Go => {}
                Flow::Wait(reach) => {
                    self.reach = reach;
                    self.examine(self.output.len());
                    return;
                }
                Flow::Fail | Flow::Stop => return,
            }
            let budget = limits::PARSE_STEPS_BASE + limits::PARSE_STEPS_PER_BYTE * self.examined as u64;
            if self.stack.len() > limits::PARSE_STACK || self.steps > budget {
                self.state = State::Failed;
                return;
            }
        }
    }

    /// One instruction. Where it needs a byte that is not there: `Wait` if the edge is open or cut, a decision if final.
    fn step(&mut self, edge: Edge) -> Flow {
        let len = self.output.len();
        match self.program.ops[self.ip as usize] {
            Op::Literal(index) => {
                let literal = self.program.literals[index as usize].as_bytes();
                let rest = &self.output[self.pos..];
                if rest.starts_with(literal) {
                    self.pos += literal.len();
                    self.examine(self.pos);
                } else if literal.starts_with(rest) {
                    return if edge == Edge::Final { Flow::Fail } else { Flow::Wait(len) };
                } else {
                    let same = literal.iter().zip(rest).take_while(|(a, b)| a == b).count();
                    self.examine(self.pos + same + 1);
                    return Flow::Fail;
                }
            }
            Op::Char(index) => match self.character() {
                Decoded::Char(c, length) if self.program.sets[index as usize].contains(c) => self.pos += length,
                Decoded::Incomplete if edge != Edge::Final => return Flow::Wait(self.pos),
                _ => return Flow::Fail,
            },
            Op::Span(index) => loop {
                match self.character() {
                    Decoded::Char(c, length) if self.program.sets[index as usize].contains(c) => self.pos += length,
                    Decoded::Incomplete if edge == Edge::Open => return Flow::Wait(self.pos),
                    _ => break,
                }
            },
            Op::Any => match self.character() {
                Decoded::Char(_, length) => self.pos += length,
                Decoded::Incomplete if edge != Edge::Final => return Flow::Wait(self.pos),
                _ => return Flow::Fail,
            },
            Op::Space => {
                let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
                match self.output[self.pos..].iter().position(|byte| !is_space(byte)) {
                    Some(length) => {
                        self.pos += length;
                        self.examine(self.pos + 1);
                    }
                    None => {
                        self.pos = len;
                        if edge == Edge::Open {
                            return Flow::Wait(len);
                        }
                    }
                }
            }
            Op::StringBody(delimiter, other) => return self.string_body([delimiter, other], edge),
            Op::Until(index) => return self.until(index, edge),
            Op::Start if self.pos == 0 => {}
            Op::End => {
                if self.pos < len {
                    self.examine(self.pos + 1);
                    return Flow::Fail;
                }
                if edge == Edge::Open {
                    return Flow::Wait(self.pos);
                }
            }
            Op::Choice(other) => self.push(Kind::Choice, other),
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
                let mut frame = *self.stack.last().expect("a repetition runs above its frame");
                if bounds.max.is_some_and(|max| frame.count >= max) {
                    self.pop();
                    self.ip = bounds.exit;
                    return Flow::Go;
                }
                if self.pos == len {
                    if edge == Edge::Open {
                        return Flow::Wait(self.pos);
                    }
                    self.pop();
                    return self.leave_repeat(frame, edge);
                }
                self.examine(self.pos + 1);
                frame.pos = self.pos;
                frame.captures = self.captures.len() as u32;
                *self.stack.last_mut().expect("as above") = frame;
            }
            Op::RepeatEnd(next) => {
                let frame = self.stack.last_mut().expect("a repetition runs above its frame");
                if frame.pos == self.pos {
                    let frame = *frame;
                    self.pop();
                    self.truncate_captures(frame.captures);
                    return self.leave_repeat(frame, edge);
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
            Op::Open(tag) => self.captures.push(Capture { tag, pos: self.pos, opens: true }),
            Op::Close(tag) => self.captures.push(Capture { tag, pos: self.pos, opens: false }),
            Op::Call(to) => {
                self.push(Kind::Return, self.ip + 1);
                self.ip = to;
                return Flow::Go;
            }
            Op::Return => {
                self.ip = self.pop().map_or(0, |frame| frame.ip);
                return Flow::Go;
            }
            Op::Start | Op::Fail => return Flow::Fail,
            Op::Accept => {
                self.reach = self.pos;
                self.state = State::Accepted(self.pos);
                return Flow::Stop;
            }
        }
        self.ip += 1;
        Flow::Go
    }

    fn examine(&mut self, end: usize) {
        if end > self.examined {
            self.examined = end;
            if self.committed {
                self.shown = self.visible().captures.len();
            }
        }
    }
}

/// What an instruction asks for next.
enum Flow {
    Go,
    Fail,
    /// A byte is missing; captured text reaches this far.
    Wait(usize),
    Stop,
}
