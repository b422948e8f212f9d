//! Regular languages: patterns of JSON Schema, automata over characters, and rules made from both.
//!
//! `pattern` reads an ECMAScript expression, `dfa` builds and combines automata, `write` turns
//! either into rules. Texts are sequences of characters here; [`Spelling`] chooses how they are
//! written in the output.

mod dfa;
mod names;
mod nfa;
mod pattern;
mod write;

pub use dfa::{Dfa, LazyAutomaton, StateBudget};
pub use names::none_of;
pub use nfa::{Finder, automaton};
pub use pattern::{Expr, Pattern, Unusable};
pub use write::{Spelling, add_texts, characters, item, literal, of_automaton, of_pattern, onward};
