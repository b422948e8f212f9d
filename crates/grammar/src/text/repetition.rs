//! Moves repetitions that are too large for llama.cpp's reader into rules.
//!
//! The reader unrolls a repetition into as many rules as its upper bound. It rejects the grammar if
//! the size of the repeated part, times that bound, exceeds [`limits::GBNF_REPETITIONS`]. A part in
//! parentheses counts with every name that was not read before; a rule's name counts once. So a
//! group that is too large becomes a rule; the language stays the same.

use std::collections::HashSet;

use smol_str::SmolStr;

use crate::rules::{Bounds, Rule, SPACE};
use chatparse_base::limits;

/// Counts like llama.cpp's reader, in the order of the rules' text.
#[derive(Default)]
pub struct Reader {
    names: HashSet<SmolStr>,
    unrolled: u64,
}

impl Reader {
    /// Reads the rule `name`. Calls `hoist` with each body that is too large; it returns the name
    /// of the rule that the body has become.
    pub fn read(
        &mut self,
        name: &SmolStr,
        body: &mut Rule,
        hoist: &mut dyn FnMut(Rule) -> SmolStr,
    ) {
        self.names.insert(name.clone());
        self.part(body, hoist);
    }

    fn count(&self) -> u64 {
        self.names.len() as u64 + self.unrolled
    }

    /// The size of a part if it is repeated.
    fn part(&mut self, part: &mut Rule, hoist: &mut dyn FnMut(Rule) -> SmolStr) -> u64 {
        match part {
            Rule::Reference(name) => {
                self.names.insert(name.clone());
                1
            }
            Rule::Blank(_) => {
                self.names.insert(SmolStr::new_static(SPACE));
                1
            }
            Rule::Sequence(parts) | Rule::Choice(parts) => {
                parts.iter_mut().fold(1, |_, part| self.part(part, hoist))
            }
            Rule::Group(body, _) => {
                let before = self.count();
                self.unrolled += 1;
                self.part(body, hoist);
                self.count() - before
            }
            Rule::Repeat(body, bounds) => {
                let size = self.part(body, hoist);
                let (times, rules) = unrolled(bounds);
                self.unrolled += rules;
                if size.saturating_mul(times) <= limits::GBNF_REPETITIONS
                    || matches!(**body, Rule::Reference(_))
                {
                    return size.saturating_mul(times);
                }
                let inner = match std::mem::replace(&mut **body, Rule::Empty) {
                    Rule::Group(inner, _) => *inner,
                    other => other,
                };
                **body = Rule::Reference(hoist(inner));
                times
            }
            // A body written by hand was checked when it was added.
            _ => 1,
        }
    }
}

/// The factor of a bound, and the number of rules it adds.
fn unrolled(bounds: &Bounds) -> (u64, u64) {
    let max = bounds.max.filter(|max| *max <= limits::GBNF_REPETITIONS);
    match max {
        Some(max) => (
            if max > 0 { max } else { bounds.min.max(1) },
            max.saturating_sub(bounds.min),
        ),
        None => (bounds.min.max(1), 1),
    }
}
