//! Formats to rules.

pub mod automaton;
mod escaped;
pub mod from_peg;
pub mod nullable;
