//! A parsing engine for text that arrives in pieces: expressions in, captured regions out. It is
//! independent of chats.
//!
//! - **In:** an [`Arena`] of expressions, and an output in pieces.
//! - **Out:** captures that only grow, and whether the output matches.
//! - **Never:** it knows no chat word and no template.
//!
//! ```text
//! Arena ──check, compile──▶ Program ──Arc──▶ Machine ◀── feed(output so far)
//! (expr, json)              (flat code)       │
//!                                             └──▶ visible(): captures, and how far the open ones reach
//! ```
//!
//! # Expressions
//! Parsing expressions (PEG): ordered choice, greedy repetition, look ahead, recursive rules. For
//! model output there are also text up to the first of several markers ([`Expr::Until`]), the
//! inside of a quoted string, and JSON. A tag wraps each region of interest. The grammar stage
//! prints the same arena, so it holds more than the parser needs.
//!
//! # The machine
//! A program is a flat list of instructions. A machine has an instruction pointer, a position, a
//! stack of alternatives and calls, and a log of captures. It does not recurse on the host's stack,
//! so it can stop at any instruction and continue later.
//!
//! **Waiting.** An instruction that needs a byte which has not arrived stops the machine *at that
//! instruction*. The bytes that are there decided all earlier steps, so these need not be repeated.
//! An instruction that was in the middle of its work (scanning for a marker, inside a string,
//! skipping white space, in a literal) keeps its position; only a half-matched marker is compared
//! again. So a feed costs its new bytes, plus at most one marker. The caller keeps the output and
//! passes all of it to each call; several machines may run over one output.
//!
//! **Visible captures.** While the machine waits, [`Machine::visible`] returns the captures so far,
//! of which the innermost may still be open, and how far the open ones reach: up to a half-matched
//! marker or an unfinished character. The result does not depend on how the bytes were cut.
//! Captures inside an unfinished [`Expr::Atomic`] or in a look ahead are left out. Text is visible
//! as soon as it is read, so two alternatives must not capture the same bytes differently; wrap
//! them in `Atomic` if they do.
//!
//! **Choices look before they enter.** If the next byte can decide a choice, the machine waits for
//! it. Then it skips the alternatives that cannot begin with that byte, and pushes no frame if only
//! one is left. So an alternative that the next byte rules out never has visible captures. The
//! compiler computes the first bytes of expressions (`first`). A choice between many texts reads as
//! many bytes as it needs to find the first text that matches (`lead`, `select`).
//!
//! **Going back.** A failure restores the last alternative, as in every PEG, and cuts the log back
//! to its length at that time. [`Machine::take_kept`] returns how many of the captures are
//! unchanged, and [`Machine::restore_points`] the captures to which the machine may still go back,
//! so that a reader can save its state there. [`Machine::feed_to_undo`] stops before it goes back
//! past visible captures, so that a reader reads the same from any pieces. A reader drops the
//! captures that it has read ([`Machine::forget`]). If no alternative is left the output does not
//! match, and [`Machine::furthest`] is the length of the shortest prefix that does not. That
//! depends on the bytes, not on their chunks, so a caller can start a fallback there;
//! [`Machine::visible`] then returns the captures that were visible just before.
//!
//! **Late parts.** A program may lack parts ([`Expr::Late`]), which are built and compiled where a
//! machine first enters one: of many tools, an output calls a few. A part is called like a rule,
//! and has instructions and constants of its own, so a stack entry says whose its address is. The
//! rest of their calls differs in a name ([`Expr::Named`]): it is compiled for the first tool, and
//! copied for the others.
//!
//! **The end.** [`Machine::finish`] runs the rest of the program with the end of the output as a
//! fact: half a marker is text then, half a literal is a mismatch. If that fails, [`Machine::cut`]
//! accepts the captures so far.
//!
//! # Limits
//! A run has a budget of work ([`Budget`]) and a bounded stack
//! ([`chatparse_base::limits::PARSE_STACK`]). The count does not depend on how the output was cut.
//! A run that exceeds either ends in [`State::Limit`].
#![forbid(unsafe_code)]

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

use chatparse_base::find;

pub use builder::Builder;
pub use capture::{Capture, Visible};
pub use chatparse_base::{Error, ErrorKind, Result};
pub use compile::{Region, compile, compile_late, compile_part};
pub use expr::{
    Annotated, Arena, CharSet, Children, Expr, ExprId, Literals, Notation, Parts, SchemaRef,
    Spacing, TagId,
};
pub use find::find;
pub use machine::{Budget, Machine, State};
pub use program::Program;
pub use tree::{Node, Outcome, Tree, TreeParser};
pub use until::{Found, Markers};
pub use utf8::{incomplete_tail, lossy};
