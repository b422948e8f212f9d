//! Rules for numbers between bounds and for multiples of a number.

use serde_json::Value;

use super::conjunction::Conjunction;
use super::range::{Digits, Range};
use super::{Lowering, UNFOLLOWED, types};

use crate::rules::Rule;
use chatparse_base::number;

const NUMBERS: &[&str] = &[
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "divisibleBy",
];

impl<'a> Lowering<'_, 'a> {
    /// The rule for numbers; `None` if no number fits.
    pub fn number(&mut self, all: &Conjunction<'a>, types: u8, name: &str) -> Option<Rule> {
        let mut range = Range {
            whole: types & types::NUMBER == types::INTEGER,
            fraction: types & types::NUMBER == types::FRACTION,
            ..Range::default()
        };
        for (part, keywords) in all.keywords() {
            for (is_upper, key, exclusive) in [
                (false, "minimum", "exclusiveMinimum"),
                (true, "maximum", "exclusiveMaximum"),
            ] {
                // Up to draft 4, this flag excluded the other bound itself.
                let is_open = keywords.get(exclusive) == Some(&Value::Bool(true));
                for (key, includes) in [(key, !is_open), (exclusive, false)] {
                    if let Some(bound) = keywords.get(key).and_then(Digits::of) {
                        range.narrow(is_upper, (bound, includes));
                    }
                }
            }
            for key in ["multipleOf", "divisibleBy"] {
                let divisor = keywords.get(key).and_then(Digits::of);
                range.multiple_of.extend(divisor);
            }
            for key in NUMBERS {
                if keywords
                    .get(key)
                    .is_some_and(|bound| number::is(bound) && Digits::of(bound).is_none())
                {
                    self.widened(part.place, key, "too large for a grammar; not followed");
                }
            }
        }
        let shared = if range.whole { "integer" } else { "number" };
        if range.is_free() {
            return Some(self.builder.shared(shared));
        }
        let mut dfa = range.automaton(&self.room);
        if dfa.is_none() && !range.multiple_of.is_empty() {
            range.multiple_of.clear();
            self.widened_all(all, "multipleOf", UNFOLLOWED);
            dfa = range.automaton(&self.room);
        }
        let mut limiting = all.keywords().filter(|(_, keywords)| {
            keywords.has("not") || NUMBERS.iter().any(|key| keywords.has(key))
        });
        if !range.has_exponent()
            && !range.whole
            && let Some((part, _)) = limiting.next()
        {
            self.narrowed(
                part.place,
                "",
                "a number that is limited is written without an exponent",
            );
        }
        match dfa {
            Some(dfa) if dfa.accepts_nothing() => None,
            Some(dfa) => Some(self.plain(name, &dfa)),
            None => {
                if let Some((part, _)) = all.keywords().next() {
                    self.widened(part.place, "", "the bounds are too large for a grammar");
                }
                Some(self.builder.shared(shared))
            }
        }
    }
}
