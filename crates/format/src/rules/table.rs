//! What a table of rules is, and how the lowering asks it.

use crate::builder::FormatBuilder;
use chatparse_peg::ExprId;

/// A rule: its name, and what makes the other way that it reads.
pub type Rule<W> = (&'static str, W);

/// The other way, where the rule applies.
pub type Way = Option<ExprId>;

/// Sites by the part of an output that they are in, each with what it knows and its rules in the
/// order in which they are tried.
macro_rules! sites {
    ($($part:literal { $($(#[$doc:meta])* $table:ident: ($($at:ty),*) = { $($rule:ident,)* })* })*) => {
        $($(
            $(#[$doc])*
            pub const $table: &[Rule<fn($($at),*) -> Way>] =
                &[$((stringify!($rule), $rule)),*];
        )*)*

        /// Every rule: its part of an output, and its name.
        pub const RULES: &[(&str, &str)] = &[$($($(($part, stringify!($rule)),)*)*)*];
    };
}

impl FormatBuilder {
    /// What the rules of a site read, in their order.
    pub fn ways<W: Copy>(&self, rules: &[Rule<W>], way: impl Fn(W) -> Way) -> Vec<ExprId> {
        let mut ways = Vec::new();
        for (name, rule) in rules {
            if *name != self.without && !self.late.is_of_grammar() {
                ways.extend(way(*rule).map(|way| self.tolerated(way)));
            }
        }
        ways
    }

    /// What the template writes, or else what the rules of a site read.
    pub fn or<W: Copy>(
        &self,
        written: ExprId,
        rules: &[Rule<W>],
        way: impl Fn(W) -> Way,
    ) -> ExprId {
        self.choice([written].into_iter().chain(self.ways(rules, way)))
    }

    /// What the rules of a site read, or else what the template writes.
    pub fn rather<W: Copy>(
        &self,
        written: ExprId,
        rules: &[Rule<W>],
        way: impl Fn(W) -> Way,
    ) -> ExprId {
        self.choice(self.ways(rules, way).into_iter().chain([written]))
    }

    /// What the rules of a site read between two parts of the template's text, where each also
    /// matches nothing.
    pub fn between<W: Copy>(&self, rules: &[Rule<W>], way: impl Fn(W) -> Way) -> ExprId {
        match self.ways(rules, way) {
            ways if ways.is_empty() => self.empty(),
            ways => self.sequence(ways),
        }
    }
}
