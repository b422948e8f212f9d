//! Checks the keywords for numbers.

use std::cmp::Ordering;

use serde_json::Value;

use super::run::Check;
use super::run::Verdict::{self, No, Open, Yes};
use crate::schema::Draft;
use chatparse_base::decimal::Decimal;
use chatparse_base::number;

impl Check<'_, '_, '_, '_> {
    /// Checks the bounds of a number, and `multipleOf`.
    pub fn bounds(&mut self, number: &Value) {
        let keywords = self.keywords;
        let bound = |key: &str| keywords.get(key).filter(|bound| number::is(bound));
        let shown = |bound| number::of(bound).unwrap_or_default();
        for (key, exclusive, beyond, than) in [
            ("minimum", "exclusiveMinimum", Ordering::Less, "at least"),
            ("maximum", "exclusiveMaximum", Ordering::Greater, "at most"),
        ] {
            let word = if beyond == Ordering::Less {
                "more than"
            } else {
                "less than"
            };
            // In old drafts, `exclusive...` is a flag beside the bound.
            let strict = keywords.get(exclusive) == Some(&Value::Bool(true));
            match bound(key).map(|bound| (bound, compare(number, bound))) {
                Some((bound, Ordering::Equal)) if strict => {
                    self.wrong(format!("must be {word} {}", shown(bound)))
                }
                Some((bound, order)) if order == beyond => {
                    self.wrong(format!("must be {than} {}", shown(bound)))
                }
                _ => {}
            }
            match bound(exclusive).map(|bound| (bound, compare(number, bound))) {
                // A number cannot be a flag; whether it counts as a bound is unspecified.
                Some(_) if keywords.draft <= Draft::Four => self.run.open(),
                Some((bound, order)) if order == beyond || order == Ordering::Equal => {
                    self.wrong(format!("must be {word} {}", shown(bound)));
                }
                _ => {}
            }
        }
        for step in ["multipleOf", "divisibleBy"].into_iter().filter_map(bound) {
            self.holds(multiple(number, step), || {
                format!("must be a multiple of {}", shown(step))
            });
        }
    }
}

/// Exact, on decimal digits: in binary, 0.3 is not a multiple of 0.1.
fn multiple(number: &Value, step: &Value) -> Verdict {
    let (Some(number), Some(step)) = (Scaled::of(number), Scaled::of(step)) else {
        return Open;
    };
    if step.digits == 0 || step.is_negative {
        return Open;
    }
    let rest = match u32::try_from(number.exponent - step.exponent) {
        // Both are below 2^64, so this cannot overflow.
        Ok(zeros) => (0..zeros).fold(number.digits % step.digits, |rest, _| {
            rest * 10 % step.digits
        }),
        Err(_) => {
            let zeros = (step.exponent - number.exponent).unsigned_abs();
            let step = 10_u128
                .checked_pow(zeros)
                .and_then(|power| power.checked_mul(step.digits));
            step.map_or(number.digits, |step| number.digits % step)
        }
    };
    match rest {
        0 => Yes,
        _ if number.may_be_rounded || step.may_be_rounded => Open,
        _ => No,
    }
}

/// A number as `digits * 10^exponent`; the digits fit in 64 bits.
struct Scaled {
    digits: u128,
    exponent: i32,
    is_negative: bool,
    /// A calculated number, or one written with more digits.
    may_be_rounded: bool,
}

/// The most places by which the point is moved.
const PLACES: i32 = 400;
/// From so many digits on a number with a fraction may be rounded.
const ROUNDED: usize = 16;

impl Scaled {
    /// `None` if it has too many digits.
    fn of(number: &Value) -> Option<Scaled> {
        let Decimal {
            negative,
            digits,
            point,
        } = number::decimal(number)?;
        let may_be_rounded = digits.len() >= ROUNDED && !(number.is_i64() || number.is_u64());
        let exponent = i32::try_from(point - digits.len() as i128)
            .ok()
            .filter(|places| places.abs() <= PLACES)?;
        let value = digits.iter().try_fold(0_u64, |value, digit| {
            value.checked_mul(10)?.checked_add((*digit).into())
        })?;
        Some(Scaled {
            digits: value.into(),
            exponent,
            is_negative: negative,
            may_be_rounded,
        })
    }
}

/// Compares two numbers.
pub fn compare(left: &Value, right: &Value) -> Ordering {
    match (left.as_i64(), right.as_i64()) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => number::decimal(left).cmp(&number::decimal(right)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Value {
        number::read(text).unwrap()
    }

    #[test]
    fn numbers_are_compared_exactly() {
        for (left, right, order) in [
            (
                json!(u64::MAX),
                json!(18_446_744_073_709_551_616.0),
                Ordering::Less,
            ),
            (
                json!(9_007_199_254_740_993_i64),
                json!(9_007_199_254_740_992.0),
                Ordering::Greater,
            ),
            (json!(-1), json!(-1.5), Ordering::Greater),
            (json!(i64::MIN), json!(-1e300), Ordering::Greater),
            (json!(2), json!(2.0), Ordering::Equal),
            (json!(0.0), json!(-0.0), Ordering::Equal),
            (json!(5), read("1e400"), Ordering::Less),
            (json!(5), read("-1e9223372036854775807"), Ordering::Greater),
        ] {
            assert_eq!(compare(&left, &right), order, "{left} {right}");
            assert_eq!(compare(&right, &left), order.reverse(), "{right} {left}");
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
            assert_eq!(multiple(&value, &step), expected, "{value} {step}");
        }
    }
}
