//! Regular languages: patterns as JSON Schema writes them, automata over characters, and how both become rules.
//!
//! `pattern` reads an ECMAScript expression, `dfa` makes and combines automata, `write` prints either as rules. A text is a
//! sequence of characters here; [`Spelling`] says how they stand in the grammar's text.

mod build;
mod chars;
mod dfa;
mod names;
mod pattern;
mod write;

pub(super) use build::automaton;
pub(super) use chars::Chars;
pub(super) use dfa::{Dfa, Machine};
pub(super) use names::none_of;
pub(super) use pattern::{Expr, Pattern, Unusable};
pub(super) use write::{Spelling, of_automaton, of_pattern};
