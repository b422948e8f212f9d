//! What schemas say about single values: their type, size and number, and whether two are equal.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::run::Run;
use super::run::Verdict::{self, No, Open, Yes};
use crate::grammar::json;

type Fields = Map<String, Value>;

/// The types, with their articles.
pub(super) const TYPES: &[(&str, &str)] = &[
    ("null", "null"),
    ("boolean", "a boolean"),
    ("integer", "a whole number"),
    ("number", "a number"),
    ("string", "a string"),
    ("array", "an array"),
    ("object", "an object"),
];

pub(super) fn is_of(value: &Value, kind: &str) -> bool {
    match value {
        Value::Number(number) if kind == "integer" => {
            integer(number).is_some() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        value => name_of(value) == kind,
    }
}

pub(super) fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Checks a number of things against its bounds.
pub(super) fn counted(run: &mut Run, fields: &Fields, bounds: [&str; 2], thing: &str, count: usize, place: usize) {
    let [least, most] = bounds.map(|key| fields.get(key).and_then(Value::as_f64));
    let things = |bound: f64| if bound == 1.0 { thing.to_owned() } else { format!("{thing}s") };
    if let Some(least) = least.filter(|least| (count as f64) < *least) {
        run.wrong(place, format!("must have at least {least} {}, not {count}", things(least)));
    }
    if let Some(most) = most.filter(|most| count as f64 > *most) {
        run.wrong(place, format!("must have at most {most} {}, not {count}", things(most)));
    }
}

pub(super) fn numeric(run: &mut Run, fields: &Fields, number: &Number, place: usize) {
    let bound = |key: &str| match fields.get(key) {
        Some(Value::Number(bound)) => Some(bound),
        _ => None,
    };
    let against = |bound: &Number| compare(number, bound);
    // Once, `exclusive...` was a flag beside the bound.
    let strict = |key: &str| fields.get(key) == Some(&Value::Bool(true));
    for (key, exclusive, beyond, than) in [
        ("minimum", "exclusiveMinimum", Ordering::Less, "at least"),
        ("maximum", "exclusiveMaximum", Ordering::Greater, "at most"),
    ] {
        let word = if beyond == Ordering::Less { "more than" } else { "less than" };
        match bound(key).and_then(|bound| Some((bound, against(bound)?))) {
            Some((bound, Ordering::Equal)) if strict(exclusive) => run.wrong(place, format!("must be {word} {bound}")),
            Some((bound, order)) if order == beyond => run.wrong(place, format!("must be {than} {bound}")),
            _ => {}
        }
        match bound(exclusive).and_then(|bound| Some((bound, against(bound)?))) {
            Some((bound, order)) if order == beyond || order == Ordering::Equal => {
                run.wrong(place, format!("must be {word} {bound}"));
            }
            _ => {}
        }
    }
    if let Some(step) = bound("multipleOf") {
        let verdict = match (integer(number), integer(step)) {
            (_, Some(..=0)) => Open,
            (Some(number), Some(step)) => {
                if number % step == 0 {
                    Yes
                } else {
                    No
                }
            }
            _ => multiple(number.as_f64().unwrap_or_default(), step.as_f64().unwrap_or_default()),
        };
        run.holds(verdict, place, || format!("must be a multiple of {step}"));
    }
}

/// Decimal fractions are not exact: what is off by no more than that may be meant.
fn multiple(number: f64, step: f64) -> Verdict {
    let times = number / step;
    let off = (times - times.round()).abs();
    if off <= 1e-9 * times.abs().max(1.0) {
        Yes
    } else if step > 0.0 && times.is_finite() {
        No
    } else {
        Open
    }
}

fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or(number.as_u64().map(i128::from))
}

fn compare(left: &Number, right: &Number) -> Option<Ordering> {
    match (integer(left), integer(right)) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

/// Whether two values are equal; numbers by what they are, not by how they are written. `spend` says whether one more step may
/// be taken.
pub(super) fn same(left: &Value, right: &Value, mut spend: impl FnMut() -> bool) -> Verdict {
    let mut pairs = vec![(left, right)];
    while let Some((left, right)) = pairs.pop() {
        if !spend() {
            return Open;
        }
        let equal = match (left, right) {
            (Value::Number(left), Value::Number(right)) => compare(left, right) == Some(Ordering::Equal),
            (Value::Array(left), Value::Array(right)) => {
                pairs.extend(left.iter().zip(right));
                left.len() == right.len()
            }
            (Value::Object(left), Value::Object(right)) => {
                pairs.extend(left.iter().filter_map(|(name, member)| Some((member, right.get(name)?))));
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
/// What equal values have in common, to find them quickly.
pub(super) type Outside<'a> = (&'static str, usize, &'a str, u64);

pub(super) fn outside(value: &Value) -> Outside<'_> {
    let name = name_of(value);
    match value {
        Value::Null => (name, 0, "", 0),
        Value::Bool(yes) => (name, usize::from(*yes), "", 0),
        // Zero has two signs.
        Value::Number(number) => (name, 0, "", (number.as_f64().unwrap_or_default() + 0.0).to_bits()),
        Value::String(text) => (name, 0, text, 0),
        Value::Array(items) => (name, items.len(), "", 0),
        Value::Object(members) => (name, members.len(), "", 0),
    }
}

/// The allowed values, as far as they are short.
pub(super) fn listed(values: &[Value]) -> String {
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

/// Longest list of allowed values in a message.
const LISTED_BYTES: usize = 200;
