//! A parsing engine for text that arrives in pieces. It knows nothing of chats: expressions in, captured regions out.
//!
//! ```text
//! Arena ──check, compile──▶ Program ──Arc──▶ Machine ◀── feed(output so far)
//! (expr, json)              (flat code)       │
//!                                             └──▶ visible(): captures, and how far the open ones reach
//! ```
//!
//! # Expressions
//! Parsing expressions (PEG): ordered choice, greedy repetition, look ahead, rules that may recurse; for model output there
//! are text up to the first of several markers ([`Expr::Until`]), the inside of a quoted string, and JSON. A region of
//! interest is wrapped in a tag. The same arena is printed as a grammar elsewhere, so it says more than parsing needs.
//!
//! # The machine
//! A program is a flat list of instructions; a machine is an instruction pointer, a position, a stack of alternatives and
//! calls, and a log of captures. There is no host recursion, so it can stop at any instruction and go on later.
//!
//! **Waiting.** An instruction that needs a byte which has not come stops the machine *at that instruction*. All it did
//! before was decided by the bytes that are there, so whatever follows, it need not be done again. An instruction that had
//! got part of the way (scanning for a marker, inside a string, skipping white space, in a literal) keeps the position it
//! reached; only a half-matched marker is looked at again. So a feed costs its new bytes, plus at most one marker. The output
//! itself belongs to the caller, who passes all of it to each call; several machines may run over one output.
//!
//! **What shows.** While the machine waits, [`Machine::visible`] gives the captures so far, of which the innermost may
//! still be open, and how far those reach: text up to a half-matched marker, or up to an unfinished character, and no
//! further. Nothing of it depends on how the bytes were cut, because it is a function of what was decided. Captures inside an
//! [`Expr::Atomic`] that is not through yet, or in a look ahead, are left out. Text shows as soon as it is read; a format
//! must therefore not show in one alternative what another would read differently. `Atomic` is the tool for that.
//!
//! **Looking ahead of a choice.** A choice of which the next byte decides waits for that byte before it enters an alternative, passes
//! over those that cannot begin with it, and remembers nothing to go back to where only one is left. So nothing shows of an
//! alternative that the next byte rules out. What an expression begins with is worked out when the program is compiled (`first`).
//! A choice between many texts goes further: it reads as many bytes as it takes to know the first that fits (`lead`, `select`).
//!
//! **Going back.** A failure restores the last alternative, as in every PEG. The log is cut back to where it was then;
//! [`Machine::take_kept`] tells a reader how much of what it has read still stands, and [`Machine::restore_points`] to which
//! captures the machine may still come back, so that the reader can note how it stood there. What was read is
//! forgotten ([`Machine::forget`]). If no alternative is left the output does
//! not match, and [`Machine::examined`] is the length of the shortest prefix that does not: a property of the bytes, not of
//! their chunks, on which a caller can build a fallback that is the same for every chunking. What showed just before it,
//! [`Rewindable`] tells.
//!
//! **The end.** [`Machine::finish`] tries the rest of the program with "no more bytes" as a fact: half a marker is text
//! then, half a literal is a mismatch. Where that fails, [`Machine::cut`] takes what is there as it stands.
//!
//! # Limits
//! A run has a budget of work ([`Budget`]), counted alike however the output is cut, and a stack of bounded height
//! ([`crate::limits::PARSE_STACK`]): past either it ends in [`State::Limit`].

mod builder;
mod capture;
mod check;
mod class;
mod compile;
mod expr;
mod first;
mod json;
mod lead;
mod machine;
mod marker;
mod program;
mod python;
mod select;
mod stored;
mod tree;
mod until;
mod utf8;

use crate::find;

pub use builder::Builder;
pub use capture::{Capture, Visible};
pub use compile::{Region, compile};
pub use expr::{Annotated, Arena, CharSet, Children, Expr, ExprId, SchemaRef, TagId};
pub(crate) use find::find;
pub use machine::{Budget, Machine, Rewindable, State};
pub use program::Program;
pub use tree::{Node, Outcome, Tree, TreeParser};
pub use utf8::{incomplete_tail, lossy};
