//! What an expression can begin with, so that a choice need not enter what the next byte rules out.
//!
//! The answers are exact where it matters: a byte outside the set makes the expression fail, or match nothing, after a look at
//! that byte only, or at the character it begins. So leaving the expression out changes neither what matches nor how far was
//! looked.

use std::fmt;

use super::check::Checked;
use super::expr::{Arena, CharSet, Expr, ExprId};
use crate::limits;

/// A set of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Bytes([u64; 4]);

impl Bytes {
    pub const ALL: Bytes = Bytes([u64::MAX; 4]);
    /// Bytes that are no character by themselves.
    pub const WIDE: Bytes = Bytes([0, 0, u64::MAX, u64::MAX]);

    pub fn contains(self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] & 1 << (byte & 63) != 0
    }

    pub fn or(self, other: Bytes) -> Bytes {
        Bytes(std::array::from_fn(|at| self.0[at] | other.0[at]))
    }

    fn add(&mut self, range: std::ops::RangeInclusive<u8>) {
        range.for_each(|byte| self.0[usize::from(byte >> 6)] |= 1 << (byte & 63));
    }

    fn of(range: std::ops::RangeInclusive<u8>) -> Bytes {
        let mut bytes = Bytes::default();
        bytes.add(range);
        bytes
    }
}

/// The bytes as ranges.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<u8> = (0..=u8::MAX).filter(|&byte| self.contains(byte)).collect();
        f.write_str("[")?;
        for run in all.chunk_by(|low, high| low + 1 == *high) {
            write!(f, "{}", run[0].escape_ascii())?;
            if let [_, .., last] = run {
                write!(f, "-{}", last.escape_ascii())?;
            }
        }
        f.write_str("]")
    }
}

/// How an expression begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct First {
    /// The bytes that it may do anything with. What is said below holds where the next byte is none of them.
    pub bytes: Bytes,
    /// It matches nothing; otherwise it fails.
    pub passes: bool,
    /// It asks for a byte before it does either, and waits where there is none.
    pub looks: bool,
    /// It asks for the whole character that the byte begins.
    pub wide: bool,
}

impl First {
    /// Nothing can be told.
    const UNKNOWN: First = First { bytes: Bytes::ALL, passes: true, looks: false, wide: false };
    /// Matches without a look.
    const EMPTY: First = First { bytes: Bytes([0; 4]), passes: true, looks: false, wide: false };
    /// Fails without a look.
    const FAIL: First = First { passes: false, ..First::EMPTY };

    fn looking(bytes: Bytes, passes: bool) -> First {
        First { bytes, passes, looks: true, wide: false }
    }

    fn of_characters(bytes: Bytes) -> First {
        First { wide: true, ..First::looking(bytes, false) }
    }

    /// One, or else another.
    pub fn or(self, other: First) -> First {
        First {
            bytes: self.bytes.or(other.bytes),
            passes: self.passes | other.passes,
            looks: self.looks,
            wide: self.wide | (!self.passes & other.wide),
        }
    }

    /// Some rounds of it.
    fn rounds(self, min: u32) -> First {
        First { looks: true, passes: min == 0, ..self }
    }

    /// One, and what follows it.
    fn then(self, next: First) -> First {
        if !self.passes {
            return self;
        }
        First {
            bytes: self.bytes.or(next.bytes),
            passes: next.passes,
            looks: self.looks | (self == First::EMPTY && next.looks),
            wide: self.wide | next.wide,
        }
    }

    /// With which bytes it may be entered.
    pub fn enters(&self) -> Bytes {
        if self.passes { Bytes::ALL } else { self.bytes }
    }

    /// With which bytes it must be tried once another alternative has failed: also those that it looks further at.
    pub fn tries(&self) -> Bytes {
        if self.wide { self.enters().or(Bytes::WIDE) } else { self.enters() }
    }
}

/// The first bytes of the characters of a set, and some that are not, beyond ASCII.
fn heads(set: &CharSet) -> Bytes {
    let mut bytes = Bytes::default();
    if set.negated {
        (0..0x80).filter(|&byte| set.contains(char::from(byte))).for_each(|byte| bytes.add(byte..=byte));
        bytes.add(0xC2..=0xF4);
    } else {
        let head = |c: char| c.encode_utf8(&mut [0; 4]).as_bytes()[0];
        set.ranges.iter().filter(|(low, high)| low <= high).for_each(|&(low, high)| bytes.add(head(low)..=head(high)));
    }
    bytes
}

/// Finds out how expressions begin, each once.
pub(super) struct Firsts<'a> {
    arena: &'a Arena,
    checked: &'a Checked,
    /// By expression: its place in the list, counted from 1, or 0.
    known: Vec<u32>,
    list: Vec<First>,
}

impl<'a> Firsts<'a> {
    pub fn new(arena: &'a Arena, checked: &'a Checked) -> Self {
        Firsts { arena, checked, known: Vec::new(), list: Vec::new() }
    }

    /// How an expression begins.
    pub fn of(&mut self, id: ExprId) -> First {
        self.below(id, 0)
    }

    /// How a choice between expressions begins.
    pub fn of_any(&mut self, ids: &[ExprId]) -> First {
        self.any(ids.iter().copied(), 0)
    }

    fn below(&mut self, id: ExprId, depth: usize) -> First {
        let arena = self.arena;
        match arena.get(id) {
            Expr::Empty => First::EMPTY,
            Expr::Start => First::UNKNOWN,
            Expr::End => First::looking(Bytes::default(), false),
            Expr::Literal(text) => {
                text.bytes().next().map_or(First::EMPTY, |head| First::looking(Bytes::of(head..=head), false))
            }
            Expr::Any => First::of_characters(Bytes::of(0..=0xF4)),
            Expr::Char(set) => First::of_characters(heads(set)),
            Expr::Space => {
                let mut bytes = Bytes::of(b'\t'..=b'\r');
                bytes.add(b' '..=b' ');
                First::looking(bytes, true)
            }
            Expr::StringBody(_) | Expr::StringLine(_) | Expr::Until(_) => First::looking(Bytes::ALL, true),
            _ if depth > limits::EXPR_DEPTH => First::UNKNOWN,
            _ => self.remembered(id, depth + 1),
        }
    }

    fn remembered(&mut self, id: ExprId, depth: usize) -> First {
        if self.known.is_empty() {
            self.known.resize(self.arena.len(), 0);
        }
        let known = self.known[id.index()];
        if known != 0 {
            return self.list[known as usize - 1];
        }
        let first = self.inner(id, depth);
        self.list.push(first);
        self.known[id.index()] = self.list.len() as u32;
        first
    }

    fn inner(&mut self, id: ExprId, depth: usize) -> First {
        let arena = self.arena;
        match arena.get(id) {
            Expr::Sequence(children) => {
                let mut first = First::EMPTY;
                for &child in children {
                    if !first.passes || first.bytes == Bytes::ALL {
                        break;
                    }
                    first = first.then(self.below(child, depth));
                }
                first
            }
            Expr::Choice(children) => self.any(children.iter().copied(), depth),
            Expr::Unordered(parts) if parts.0.is_empty() && parts.1.is_empty() => First::EMPTY,
            Expr::Unordered(_) => self.any(arena.get(id).children(), depth).rounds(0),
            Expr::Repeat(_, _, Some(0)) => First::EMPTY,
            Expr::Repeat(child, min, _) => self.below(*child, depth).rounds(*min),
            Expr::Not(child) => {
                let first = self.below(*child, depth);
                First { passes: !first.passes, ..first }
            }
            Expr::Ref(_) => self.below(self.checked.target(id), depth),
            Expr::Schema(value) => self.below(value.child, depth),
            Expr::And(child)
            | Expr::Tag(_, child)
            | Expr::Atomic(child)
            | Expr::Tolerated(child)
            | Expr::Rule { child, .. }
            | Expr::Excluding(child, _)
            | Expr::Gbnf(child, _) => self.below(*child, depth),
            _ => First::UNKNOWN,
        }
    }

    fn any(&mut self, children: impl Iterator<Item = ExprId>, depth: usize) -> First {
        let mut firsts = children.map(|child| self.below(child, depth));
        let Some(first) = firsts.next() else { return First::FAIL };
        firsts.fold(first, First::or)
    }
}
