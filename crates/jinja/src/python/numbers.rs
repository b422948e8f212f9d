//! Python's numbers: integers are exact up to 128 bits, true and false count as 1 and 0.

use std::cmp::Ordering;

use crate::fault::{Result, invalid};
use minijinja::Error;
use minijinja::value::{Value, ValueKind};

/// The value as an integer; true and false count as 1 and 0.
pub fn integer(value: &Value) -> Option<i128> {
    match value.kind() {
        ValueKind::Bool => Some(i128::from(value.is_true())),
        ValueKind::Number if value.is_integer() => i128::try_from(value.clone()).ok(),
        _ => None,
    }
}

/// The value as a float, if it is one.
pub fn float(value: &Value) -> Option<f64> {
    match value.kind() {
        ValueKind::Number if !value.is_integer() => f64::try_from(value.clone()).ok(),
        _ => None,
    }
}

/// Any number as a float.
pub fn real(value: &Value) -> Option<f64> {
    float(value).or_else(|| integer(value).map(|number| number as f64))
}

/// An integer as an engine value, in the smallest type.
pub fn whole(number: i128) -> Value {
    i64::try_from(number).map_or_else(|_| Value::from(number), Value::from)
}

/// A place in `len` items: a negative one counts from their end.
pub fn from_end(at: i64, len: usize) -> i64 {
    if at < 0 {
        at.saturating_add(len as i64)
    } else {
        at
    }
}

/// The integer part; `None` for infinite, undefined or too large numbers.
pub fn truncate(number: f64) -> Option<i128> {
    (number.abs() < i128::MAX as f64).then_some(number as i128)
}

/// `left sign right`. Integers use `exact`, which returns `None` on overflow.
pub fn arithmetic(
    sign: &str,
    left: &Value,
    right: &Value,
    exact: impl Fn(i128, i128) -> Option<i128>,
    rough: impl Fn(f64, f64) -> f64,
) -> Result<Value> {
    if let (Some(a), Some(b)) = (integer(left), integer(right)) {
        return exact(a, b)
            .map(whole)
            .ok_or_else(|| invalid("a number of more than 128 bits"));
    }
    match (real(left), real(right)) {
        (Some(a), Some(b)) => Ok(Value::from(rough(a, b))),
        _ => Err(unsupported(sign, left, right)),
    }
}

/// `left % right`, with the sign of `right`.
pub fn remainder(left: &Value, right: &Value) -> Result<Value> {
    if real(left).is_some() && real(right) == Some(0.0) {
        return Err(invalid("division by zero"));
    }
    arithmetic("%", left, right, exact_remainder, |a, b| match a % b {
        0.0 => 0_f64.copysign(b),
        rest if (rest < 0.0) != (b < 0.0) => rest + b,
        rest => rest,
    })
}

fn exact_remainder(a: i128, b: i128) -> Option<i128> {
    let rest = a.checked_rem(b).unwrap_or(0);
    let is_opposite = rest != 0 && (rest < 0) != (b < 0);
    Some(if is_opposite { rest + b } else { rest })
}

/// `-value` if `negative`, otherwise `+value`.
pub fn signed(value: &Value, negative: bool) -> Result<Value> {
    let sign = if negative { -1 } else { 1 };
    match (integer(value), float(value)) {
        (Some(number), _) => number.checked_mul(sign).map(whole),
        (_, Some(number)) => Some(Value::from(number * sign as f64)),
        _ => None,
    }
    .ok_or_else(|| invalid(format!("{} has no sign", value.kind())))
}

/// Converts true and false to numbers.
pub fn plain(value: &Value) -> Value {
    if value.kind() == ValueKind::Bool {
        Value::from(i64::from(value.is_true()))
    } else {
        value.clone()
    }
}

/// Compares two numbers; `None` for other values. Values of different types also have an order, on
/// which templates rely.
pub fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    if float(left).is_some_and(f64::is_nan) || float(right).is_some_and(f64::is_nan) {
        return None;
    }
    Some(match (left.kind(), right.kind()) {
        (ValueKind::Bool, ValueKind::Number) | (ValueKind::Number, ValueKind::Bool) => {
            plain(left).cmp(&plain(right))
        }
        _ => left.cmp(right),
    })
}

/// The error for operands of unsupported types.
pub fn unsupported(sign: &str, left: &Value, right: &Value) -> Error {
    let [left, right] = [left, right].map(Value::kind);
    invalid(format!("{left} {sign} {right} is not possible"))
}
