//! Checks types, sizes and equality of values.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use super::number::compare;
use super::run::Check;
use super::run::Verdict::{self, No, Open, Yes};
use crate::rules::json;
use crate::schema::{Draft, Steps, type_name};
use chatparse_base::decimal::Decimal;
use chatparse_base::number;

/// The types with their articles, for messages.
pub const TYPES: &[(&str, &str)] = &[
    ("null", "null"),
    ("boolean", "a boolean"),
    ("integer", "a whole number"),
    ("number", "a number"),
    ("string", "a string"),
    ("array", "an array"),
    ("object", "an object"),
];

impl Check<'_, '_, '_, '_> {
    /// Checks `type` for drafts after 3.
    pub fn kind_by_name(&mut self) {
        let (value, draft) = (self.task.value, self.keywords.draft);
        let names = match self.keywords.get("type") {
            Some(Value::Array(names)) => &names[..],
            Some(name) => std::slice::from_ref(name),
            None => &[],
        };
        let known = |name: &str| TYPES.iter().find(|(known, _)| *known == name);
        let expected: Vec<_> = names.iter().map(|name| known(name.as_str()?)).collect();
        if expected.is_empty() {
            return;
        }
        let verdict = expected
            .iter()
            .map(|kind| kind.map_or(Open, |(name, _)| is_of(value, name, draft)));
        self.holds(verdict.max().unwrap_or(Open), || {
            let expected: Vec<&str> = expected.iter().flatten().map(|(_, words)| *words).collect();
            let found = known(type_name(value)).map_or("", |(_, words)| words);
            let found = if expected == ["a whole number"] && number::is(value) {
                "a fraction"
            } else {
                found
            };
            format!("must be {}, not {found}", expected.join(" or "))
        });
    }

    /// Checks a count against its bounds.
    pub fn counted(&mut self, bounds: [&str; 2], thing: &str, count: usize) {
        for (key, side, words) in [
            (bounds[0], Ordering::Less, "at least"),
            (bounds[1], Ordering::Greater, "at most"),
        ] {
            let Some(bound) = self.keywords.number(key) else {
                continue;
            };
            if (count as f64).partial_cmp(&bound) == Some(side) {
                let plural = if bound == 1.0 { "" } else { "s" };
                self.wrong(format!(
                    "must have {words} {bound} {thing}{plural}, not {count}"
                ));
            }
        }
    }
}

pub fn is_of(value: &Value, kind: &str, draft: Draft) -> Verdict {
    match number::of(value).filter(|_| kind == "integer") {
        // In drafts up to 4, `1.0` is not an integer for implementations that can tell it from `1`.
        Some(text)
            if Decimal::of(&text).is_whole()
                && !number::is_whole(&text)
                && draft <= Draft::Four =>
        {
            Open
        }
        Some(text) if Decimal::of(&text).is_whole() => Yes,
        None if type_name(value) == kind => Yes,
        _ => No,
    }
}

/// Whether two values are equal; numbers by value, not by notation. `spend` returns whether another
/// step is allowed.
pub fn same(left: &Value, right: &Value, mut spend: impl FnMut() -> bool) -> Verdict {
    let mut pairs = vec![(left, right)];
    while let Some((left, right)) = pairs.pop() {
        if !spend() {
            return Open;
        }
        let equal = match (left, right) {
            (left, right) if number::is(left) && number::is(right) => {
                compare(left, right) == Ordering::Equal
            }
            (Value::Array(left), Value::Array(right)) => {
                pairs.extend(left.iter().zip(right));
                left.len() == right.len()
            }
            (Value::Object(left), Value::Object(right)) => {
                pairs.extend(
                    left.iter()
                        .filter_map(|(name, member)| Some((member, right.get(name)?))),
                );
                left.len() == right.len() && left.keys().all(|name| right.contains_key(name))
            }
            (Value::Null, Value::Null) => true,
            (Value::Bool(left), Value::Bool(right)) => left == right,
            (Value::String(left), Value::String(right)) => left == right,
            _ => false,
        };
        if !equal {
            return No;
        }
    }
    Yes
}

/// The nesting up to which [`alike`] tells values apart.
const ALIKE_DEPTH: usize = 8;

/// A number that equal values share, and hardly any others, to find candidates quickly; `None` if
/// there are too few steps.
pub fn alike(value: &Value, steps: &mut Steps) -> Option<u64> {
    alike_inside(value, ALIKE_DEPTH, steps)
}

fn alike_inside(value: &Value, depth: usize, steps: &mut Steps) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    type_name(value).hash(&mut hasher);
    let mut enough = true;
    match value {
        Value::Null => {}
        Value::Bool(yes) => yes.hash(&mut hasher),
        Value::String(text) => {
            enough = steps.spend_on(text.len());
            text.hash(&mut hasher);
        }
        Value::Array(items) => {
            items.len().hash(&mut hasher);
            for item in items.iter().filter(|_| depth > 0) {
                alike_inside(item, depth - 1, steps)?.hash(&mut hasher);
            }
        }
        Value::Object(members) if number::long(value).is_none() => {
            members.len().hash(&mut hasher);
            // In any order.
            let mut sum = 0_u64;
            for (name, member) in members.iter().filter(|_| depth > 0) {
                let mut hasher = DefaultHasher::new();
                (name, alike_inside(member, depth - 1, steps)?).hash(&mut hasher);
                sum = sum.wrapping_add(hasher.finish());
            }
            sum.hash(&mut hasher);
        }
        number => number::decimal(number).hash(&mut hasher),
    }
    (enough && steps.spend(1)).then(|| hasher.finish())
}

/// The allowed values for a message, if they are short.
pub fn listed(values: &[Value]) -> String {
    let mut text = String::new();
    for (index, value) in values.iter().enumerate() {
        let one = json::print(value).filter(|one| text.len() + one.len() <= LISTED_BYTES);
        text.push_str(if index > 0 { ", " } else { "" });
        match one {
            Some(one) => text.push_str(&one),
            None => return text + "...",
        }
    }
    text
}

/// Maximum length of the list of allowed values in a message.
const LISTED_BYTES: usize = 200;
