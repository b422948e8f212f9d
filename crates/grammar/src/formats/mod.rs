//! Formats to rules.

pub(crate) mod automaton;
mod escaped;
pub(crate) mod from_peg;
pub(crate) mod nullable;
