//! The program that a machine runs: a flat list of instructions and the constants they refer to.

use std::fmt;
use std::sync::{Arc, OnceLock};

use smol_str::SmolStr;

use super::expr::{CharSet, TagId, texts_bytes};
use super::select::Table;
use super::until::Markers;
use chatparse_base::bytes::Bytes;

/// One instruction. `u32` operands are addresses or indices of constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Match this literal.
    Literal(u32),
    /// Match one character of this set.
    Char(u32),
    /// Match characters of this set, as many as follow.
    Span(u32),
    /// Match one character.
    Any,
    /// Match white space, as much as follows.
    Space,
    /// Match the inside of a string up to either of these delimiters.
    StringBody(u8, u8),
    /// Match text up to one of these markers.
    Until(u32),
    /// Match the start of the output.
    Start,
    /// Match the end of the output.
    End,
    /// Push the alternative at this address.
    Choice(u32),
    /// Like `Choice`, but skips alternatives that the next byte rules out, and pushes only
    /// alternatives that must be tried.
    Test(u32),
    /// Enter the first alternative of this table that the output does not rule out, beginning with
    /// the next one.
    Select(u32),
    /// Pop the last alternative and jump to this address.
    Commit(u32),
    /// Enter a repetition.
    RepeatBegin,
    /// Start the next round of this repetition, or leave it.
    RepeatNext(u32),
    /// End a round of a repetition: count it and jump to this address.
    RepeatEnd(u32),
    /// Begin a positive look ahead.
    AndBegin,
    /// The look ahead matched: go back to where it began.
    AndEnd,
    /// Begin a negative look ahead. If its expression fails, jump to this address.
    NotBegin(u32),
    /// The expression of a negative look ahead matched: fail.
    NotEnd,
    /// Hide captures from here on.
    AtomicBegin,
    /// Make them visible.
    AtomicEnd,
    /// Begin a captured region.
    Open(TagId),
    /// End it.
    Close(TagId),
    /// Call a rule.
    Call(u32),
    /// Call a part that is compiled by then.
    Late(u32),
    /// Return from a rule.
    Return,
    /// Fail.
    Fail,
    /// Accept: the whole output has matched.
    Accept,
}

/// Bounds and exit of a repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub min: u32,
    pub max: Option<u32>,
    pub exit: u32,
    /// The beginning of a round.
    pub begin: u32,
}

/// The tests of a choice on the next byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Test {
    /// The beginning of the next alternative.
    pub begin: u32,
    /// The beginnings of the other alternatives.
    pub later: u32,
    /// The address of the other alternatives.
    pub other: u32,
}

/// The beginning of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Begin {
    pub bytes: Bytes,
    /// Whether the whole character is needed to reject it.
    pub wide: bool,
}

impl Begin {
    /// A number below 64 that differs for most sets.
    pub fn hash(&self) -> usize {
        let mixed = self
            .bytes
            .words()
            .iter()
            .fold(u64::from(self.wide), |mixed, word| {
                (mixed.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15)
            });
        (mixed >> 58) as usize
    }
}

/// A compiled [`super::Arena`]: immutable, shared by any number of machines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    pub(super) ops: Vec<Op>,
    pub(super) literals: Vec<SmolStr>,
    pub(super) sets: Vec<CharSet>,
    pub(super) markers: Vec<Markers>,
    pub(super) repeats: Vec<Bounds>,
    /// The number of alternatives of the widest choice.
    pub(super) widest: u32,
    pub(super) tests: Vec<Test>,
    pub(super) begins: Vec<Begin>,
    pub(super) selects: Vec<Table>,
    pub(super) late: Option<Arc<Late>>,
}

/// The parts of a program that are compiled when a machine first enters them.
pub struct Late {
    make: Box<dyn Fn(u32) -> Option<Arc<Program>> + Send + Sync>,
    parts: Box<[OnceLock<Option<Arc<Program>>>]>,
}

impl Late {
    /// `make` compiles a part.
    pub fn new(
        parts: u32,
        make: impl Fn(u32) -> Option<Arc<Program>> + Send + Sync + 'static,
    ) -> Self {
        Late {
            make: Box::new(make),
            parts: (0..parts).map(|_| OnceLock::new()).collect(),
        }
    }

    /// Threads that ask for the same part at the same time each compile it: none waits for another.
    fn part(&self, number: u32) -> Option<&Arc<Program>> {
        let part = self.parts.get(number as usize)?;
        if part.get().is_none() {
            let _ = part.set((self.make)(number));
        }
        part.get()?.as_ref()
    }

    fn compiled(&self) -> impl Iterator<Item = &Arc<Program>> {
        self.parts.iter().filter_map(|part| part.get()?.as_ref())
    }
}

impl PartialEq for Late {
    fn eq(&self, other: &Late) -> bool {
        std::ptr::eq(self, other)
    }
}

impl fmt::Debug for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} parts", self.parts.len())
    }
}

impl Program {
    /// A part, compiled by now; `None` if it cannot be.
    pub(super) fn part(&self, number: u32) -> Option<&Arc<Program>> {
        self.late.as_ref()?.part(number)
    }

    /// Builds the parts that are otherwise built on first use.
    pub fn warm(&self) {
        self.markers.iter().for_each(Markers::warm);
    }

    /// Approximate memory use in bytes.
    pub fn bytes(&self) -> usize {
        let Program {
            ops,
            literals,
            sets,
            markers,
            repeats,
            tests,
            begins,
            selects,
            widest: _,
            late,
        } = self;
        size_of_val(ops.as_slice())
            + size_of_val(repeats.as_slice())
            + size_of_val(tests.as_slice())
            + size_of_val(begins.as_slice())
            + texts_bytes(literals)
            + sets
                .iter()
                .map(|set| size_of::<CharSet>() + size_of_val(set.ranges.as_slice()))
                .sum::<usize>()
            + markers.iter().map(Markers::bytes).sum::<usize>()
            + selects.iter().map(Table::bytes).sum::<usize>()
            + late.as_ref().map_or(0, |late| size_of_val(&*late.parts))
    }

    /// The same for the parts that were built on first use so far.
    pub fn late_bytes(&self) -> usize {
        let mut bytes = 0;
        for part in self.late.iter().flat_map(|late| late.compiled()) {
            bytes += part.bytes() + part.late_bytes();
        }
        self.markers.iter().map(Markers::late_bytes).sum::<usize>() + bytes
    }
}
