//! Grammars for constrained sampling: when they start, and what schemas allow.

mod automaton;
mod builder;
mod from_peg;
mod primitive;
mod rule;
pub mod schema;

pub use builder::{Builder, Fidelity, FidelityKind, Grammar};
pub use from_peg::from_arena;
pub use rule::{Bounds, Pad, Rule, spelled};

/// What makes a lazily applied grammar start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// How `value` is to be read.
    pub kind: TriggerKind,
    /// A word or a regular expression.
    pub value: String,
}

impl Trigger {
    /// Starts where this text appears.
    pub fn word(value: impl Into<String>) -> Self {
        Trigger { kind: TriggerKind::Word, value: value.into() }
    }

    /// Starts where this regular expression matches: at its first group that takes part, or at its beginning.
    pub fn pattern(value: impl Into<String>) -> Self {
        Trigger { kind: TriggerKind::Pattern, value: value.into() }
    }
}

/// How a trigger's value is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerKind {
    /// A text that appears in the output.
    Word,
    /// A regular expression (ECMAScript) that is searched for in the output.
    Pattern,
}

impl TriggerKind {
    /// `word` or `pattern`.
    pub fn name(self) -> &'static str {
        match self {
            TriggerKind::Word => "word",
            TriggerKind::Pattern => "pattern",
        }
    }
}
