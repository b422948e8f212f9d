//! Checks the keywords for numbers.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::draft::{Draft, Keywords};
use super::run::Run;
use super::run::Verdict::{self, No, Open, Yes};
use crate::grammar::json::real;

/// Checks the bounds of a number, and `multipleOf`.
pub(super) fn bounds(run: &mut Run, keywords: Keywords, number: &Number, place: usize) {
    let bound = |key: &str| match keywords.get(key) {
        Some(Value::Number(bound)) => Some(bound),
        _ => None,
    };
    for (key, exclusive, beyond, than) in [
        ("minimum", "exclusiveMinimum", Ordering::Less, "at least"),
        ("maximum", "exclusiveMaximum", Ordering::Greater, "at most"),
    ] {
        let word = if beyond == Ordering::Less { "more than" } else { "less than" };
        // In old drafts, `exclusive...` is a flag beside the bound.
        let strict = keywords.get(exclusive) == Some(&Value::Bool(true));
        match bound(key).map(|bound| (bound, compare(number, bound))) {
            Some((bound, Ordering::Equal)) if strict => run.wrong(place, format!("must be {word} {bound}")),
            Some((bound, order)) if order == beyond => run.wrong(place, format!("must be {than} {bound}")),
            _ => {}
        }
        match bound(exclusive).map(|bound| (bound, compare(number, bound))) {
            // A number cannot be a flag; whether it counts as a bound is unspecified.
            Some(_) if keywords.draft <= Draft::Four => run.open(),
            Some((bound, order)) if order == beyond || order == Ordering::Equal => {
                run.wrong(place, format!("must be {word} {bound}"));
            }
            _ => {}
        }
    }
    for step in ["multipleOf", "divisibleBy"].into_iter().filter_map(bound) {
        run.holds(multiple(number, step), place, || format!("must be a multiple of {step}"));
    }
}

/// Exact, on decimal digits: in binary, 0.3 is not a multiple of 0.1.
fn multiple(number: &Number, step: &Number) -> Verdict {
    let (number, step) = (Decimal::of(number), Decimal::of(step));
    let (Some(number), Some(step)) = (number, step) else { return Open };
    if step.digits == 0 || step.is_negative {
        return Open;
    }
    let rest = match u32::try_from(number.exponent - step.exponent) {
        // Both are below 2^64, so this cannot overflow.
        Ok(zeros) => (0..zeros).fold(number.digits % step.digits, |rest, _| rest * 10 % step.digits),
        Err(_) => {
            let zeros = (step.exponent - number.exponent).unsigned_abs();
            let step = 10_u128.checked_pow(zeros).and_then(|power| power.checked_mul(step.digits));
            step.map_or(number.digits, |step| number.digits % step)
        }
    };
    match rest {
        0 => Yes,
        _ if number.is_rounded() || step.is_rounded() => Open,
        _ => No,
    }
}

/// A number as `digits * 10^exponent`; the digits fit in 64 bits.
struct Decimal {
    digits: u128,
    exponent: i32,
    is_negative: bool,
    is_float: bool,
}

impl Decimal {
    fn of(number: &Number) -> Option<Self> {
        if let Some(number) = integer(number) {
            let is_negative = number < 0;
            return Some(Decimal { digits: number.unsigned_abs(), exponent: 0, is_negative, is_float: false });
        }
        let text = format!("{:e}", number.as_f64()?);
        let (digits, exponent) = text.split_once('e')?;
        let fraction = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        let is_negative = digits.starts_with('-');
        let digits: String = digits.chars().filter(char::is_ascii_digit).collect();
        let exponent = exponent.parse::<i32>().ok()? - i32::try_from(fraction).ok()?;
        Some(Decimal { digits: digits.parse().ok()?, exponent, is_negative, is_float: true })
    }

    /// Whether it may be rounded: a calculated number, or one written with more digits.
    fn is_rounded(&self) -> bool {
        self.is_float && self.digits >= 10_u128.pow(15)
    }
}

pub(super) fn is_whole(number: &Number) -> bool {
    integer(number).is_some() || real(number).is_infinite() || real(number).fract() == 0.0
}

fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or(number.as_u64().map(i128::from))
}

/// Exact comparison, for numbers of any length.
pub(super) fn compare(left: &Number, right: &Number) -> Ordering {
    match (integer(left), integer(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(left), None) => against(left, real(right)),
        (None, Some(right)) => against(right, real(left)).reverse(),
        (None, None) => match (real(left), real(right)) {
            // Beyond the range of floats: they may be equal.
            (a, b) if a.is_infinite() && a == b => left.as_str().cmp(right.as_str()),
            (a, b) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
        },
    }
}

#[expect(clippy::cast_possible_truncation, reason = "what does not fit is beyond all numbers of 64 bits anyway")]
fn against(left: i128, right: f64) -> Ordering {
    let below = right.floor();
    left.cmp(&(below as i128)).then(if right > below { Ordering::Less } else { Ordering::Equal })
}

#[cfg(test)]
mod tests {

    use super::*;

    #[track_caller]
    fn number(value: &Value) -> &Number {
        value.as_number().expect("a number")
    }

    fn read(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn numbers_are_compared_exactly() {
        for (left, right, order) in [
            (json!(u64::MAX), json!(18_446_744_073_709_551_616.0), Ordering::Less),
            (json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992.0), Ordering::Greater),
            (json!(-1), json!(-1.5), Ordering::Greater),
            (json!(i64::MIN), json!(-1e300), Ordering::Greater),
            (json!(2), json!(2.0), Ordering::Equal),
            (json!(0.0), json!(-0.0), Ordering::Equal),
            (json!(5), read("1e400"), Ordering::Less),
            (json!(5), read("-1e9223372036854775807"), Ordering::Greater),
        ] {
            assert_eq!(compare(number(&left), number(&right)), order, "{left} {right}");
            assert_eq!(compare(number(&right), number(&left)), order.reverse(), "{right} {left}");
        }
    }

    #[test]
    fn multiples_are_exact() {
        for (value, step, expected) in [
            (json!(0.3), json!(0.1), Yes),
            (json!(-0.3), json!(0.1), Yes),
            (json!(0.35), json!(0.1), No),
            (json!(0), json!(7.5), Yes),
            (json!(1e300), json!(0.5), Yes),
            (json!(1e308), json!(0.123_456_789), No),
            (json!(1e-300), json!(1e300), No),
            (json!(1_000_000_000_000_001_i64), json!(0.01), Yes),
            (json!(1_000_000_000_000_001_i64), json!(10), No),
            // The result of a calculation.
            (json!(0.1 + 0.2), json!(0.1), Open),
            (json!(1), json!(-1), Open),
            (json!(1), json!(0.0), Open),
            (read("1e999999999"), json!(7), Open),
            (json!(7), read("1e-999999999"), Open),
        ] {
            assert_eq!(multiple(number(&value), number(&step)), expected, "{value} {step}");
        }
    }
}
