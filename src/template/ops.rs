//! The operators that the source pass turns into filters: `+`, `~`, `*`, `%`, `<`, `in`, slices and literals of lists and
//! maps. They follow Python, with llama.cpp's leniency where templates rely on it.

use std::cmp::Ordering;

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use super::budget::{charge, charge_items, check_text};
use super::numbers::{arithmetic, compare, integer, remainder, signed, unsupported};
use super::printf;
use super::pyobject::{Dict, List, as_text, items, pairs};
use super::pyrepr::text;

/// `a ~ b ~ c`: concatenates the texts.
pub(super) fn concat(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    join(state, args.iter())
}

fn join<'v>(state: &mut State, values: impl Iterator<Item = &'v Value> + Clone) -> Result<Value, Error> {
    let bytes = values.clone().filter_map(as_text).map(str::len).sum();
    check_text(bytes)?;
    let mut out = String::with_capacity(bytes);
    for value in values {
        out.push_str(&text(value));
        check_text(out.len())?;
    }
    charge(state, out.len())?;
    Ok(Value::from(out))
}

/// `a + b + c`. If one operand is a text, the others are converted to text and undefined is empty, because templates rely on
/// both.
pub(super) fn add(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let (first, rest) = args.split_first().ok_or(ErrorKind::MissingArgument)?;
    let mut sum = first.clone();
    for (index, term) in rest.iter().enumerate() {
        if as_text(&sum).is_some() || as_text(term).is_some() {
            let terms = std::iter::once(&sum).chain(&rest[index..]);
            return join(state, terms.filter(|term| !term.is_none()));
        }
        sum = add_two(state, &sum, term)?;
    }
    Ok(sum)
}

fn add_two(state: &mut State, left: &Value, right: &Value) -> Result<Value, Error> {
    match (left.kind(), right.kind()) {
        (ValueKind::Seq | ValueKind::Iterable, ValueKind::Seq | ValueKind::Iterable) => {
            charge_items(state, left.len().unwrap_or(0).saturating_add(right.len().unwrap_or(0)))?;
            let mut sum = items(left)?;
            sum.extend(items(right)?);
            if is_tuple(left) && is_tuple(right) { List::tuple(sum) } else { List::of(sum) }
        }
        _ => arithmetic("+", left, right, i128::checked_add, |a, b| a + b),
    }
}

/// `a * b`: the product of numbers, or a repeated text or list.
pub(super) fn multiply(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let (left, right) = two(args)?;
    let (thing, times) = if integer(left).is_some() { (right, left) } else { (left, right) };
    let is_list = matches!(thing.kind(), ValueKind::Seq | ValueKind::Iterable);
    if as_text(thing).is_none() && !is_list {
        return arithmetic("*", left, right, i128::checked_mul, |a, b| a * b);
    }
    let times = integer(times).ok_or_else(|| unsupported("*", left, right))?;
    let times = usize::try_from(times).unwrap_or(0);
    if let Some(text) = as_text(thing) {
        check_text(text.len().saturating_mul(times))?;
        charge(state, text.len() * times)?;
        return Ok(Value::from(text.repeat(times)));
    }
    let once = items(thing)?;
    charge_items(state, once.len().saturating_mul(times))?;
    let all = std::iter::repeat_n(once, times).flatten().collect();
    if is_tuple(thing) { List::tuple(all) } else { List::of(all) }
}

/// `a % b`: the remainder of a division, or a formatted text.
pub(super) fn modulo(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let (left, right) = two(args)?;
    let Some(text) = as_text(left) else { return remainder(left, right) };
    let text = printf::format(text, right)?;
    charge(state, text.len())?;
    Ok(Value::from(text))
}

/// `-a`.
pub(super) fn minus(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    signed(args.first().unwrap_or(&Value::UNDEFINED), true)
}

/// `+a`.
pub(super) fn plus(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    signed(args.first().unwrap_or(&Value::UNDEFINED), false)
}

/// `a < b` and the like: `holds` decides by the order of both.
pub(super) fn compares(args: &[Value], holds: fn(Ordering) -> bool) -> Result<Value, Error> {
    let (left, right) = two(args)?;
    Ok(Value::from(compare(left, right).is_some_and(holds)))
}

/// `b in a`: a substring, an item of a list, a key of a map; false for undefined `a`.
pub(super) fn contains(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let (whole, part) = two(args)?;
    is_in(whole, part).map(Value::from)
}

/// Whether `part` is in `whole`.
pub(super) fn is_in(whole: &Value, part: &Value) -> Result<bool, Error> {
    let found = match (as_text(whole), as_text(part)) {
        (Some(whole), Some(part)) => whole.contains(part),
        (Some(_), None) if part.is_undefined() => false,
        (Some(_), None) => {
            let message = format!("'in' needs a string on the left of a string, not {}", part.kind());
            return Err(Error::new(ErrorKind::InvalidOperation, message));
        }
        (None, _) => match whole.downcast_object_ref::<Dict>() {
            Some(dict) => dict.get(part).is_some(),
            None => match whole.kind() {
                ValueKind::Map => pairs(whole)?.iter().any(|(key, _)| key == part),
                ValueKind::Undefined => false,
                ValueKind::None | ValueKind::Bool | ValueKind::Number => {
                    let message = format!("nothing can be in {}", whole.kind());
                    return Err(Error::new(ErrorKind::InvalidOperation, message));
                }
                _ => items(whole)?.contains(part),
            },
        },
    };
    Ok(found)
}

/// `a[start:stop:step]`.
pub(super) fn slice(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value, start, stop, step] = args else { return Err(Error::from(ErrorKind::MissingArgument)) };
    let bound = |value: &Value| match integer(value) {
        Some(number) => Ok(Some(number)),
        None if value.is_none() || value.is_undefined() => Ok(None),
        None => Err(Error::new(ErrorKind::InvalidOperation, "slice bounds must be integers")),
    };
    let bound = |value: &Value| Ok::<_, Error>(bound(value)?.map(clamp));
    let (start, stop, step) = (bound(start)?, bound(stop)?, bound(step)?.unwrap_or(1));
    if step == 0 {
        return Err(Error::new(ErrorKind::InvalidOperation, "slice step cannot be zero"));
    }
    if let Some(text) = as_text(value) {
        let chars: Vec<char> = text.chars().collect();
        let part: String = picks(chars.len(), start, stop, step).map(|index| chars[index]).collect();
        charge(state, part.len())?;
        return Ok(Value::from(part));
    }
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Undefined => {
            let all = items(value)?;
            let part: Vec<Value> = picks(all.len(), start, stop, step).map(|index| all[index].clone()).collect();
            charge_items(state, part.len())?;
            if is_tuple(value) { List::tuple(part) } else { List::of(part) }
        }
        // Like a missing item.
        ValueKind::None | ValueKind::Number | ValueKind::Bool => Ok(Value::UNDEFINED),
        kind => Err(Error::new(ErrorKind::InvalidOperation, format!("{kind} cannot be sliced"))),
    }
}

fn is_tuple(value: &Value) -> bool {
    value.downcast_object_ref::<List>().is_some_and(|list| list.form.is_tuple())
}

/// Bounds beyond any length stay so.
fn clamp(bound: i128) -> i64 {
    bound.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// The indices of a Python slice of `len` items.
fn picks(len: usize, start: Option<i64>, stop: Option<i64>, step: i64) -> impl Iterator<Item = usize> {
    let len = len as i64;
    let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
    let clamp = |bound: i64| if bound < 0 { bound.saturating_add(len).max(low) } else { bound.min(high) };
    let start = start.map_or(if step > 0 { low } else { high }, clamp);
    let stop = stop.map_or(if step > 0 { high } else { low }, clamp);
    let mut next = Some(start);
    std::iter::from_fn(move || {
        let at = next.filter(|&at| if step > 0 { at < stop } else { at > stop })?;
        next = at.checked_add(step);
        usize::try_from(at).ok()
    })
}

/// `[a, b]`.
pub(super) fn list(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    List::of(literal(args)?)
}

/// `(a, b)`.
pub(super) fn tuple(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    List::tuple(literal(args)?)
}

/// `{a: b}`, written as `(a, b)`.
pub(super) fn dict(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let flat = literal(args)?;
    Dict::of(flat.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect())
}

/// The undefined value.
pub(super) fn absent(_: &mut State, _: &[Value]) -> Result<Value, Error> {
    Ok(Value::UNDEFINED)
}

/// `for x in a`. Unlike in the engine, strings are lists of characters, and none is an error.
pub(super) fn each(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let value = args.first().cloned().unwrap_or_default();
    match as_text(&value) {
        Some(_) => List::of(items(&value)?),
        None if value.is_none() => Err(Error::new(ErrorKind::InvalidOperation, "none cannot be looped over")),
        None => Ok(value),
    }
}

/// Counts `n` bytes of text that follow in a capture.
pub(super) fn spend(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    charge(state, args.first().and_then(Value::as_usize).unwrap_or_default())?;
    Ok(Value::UNDEFINED)
}

fn literal(args: &[Value]) -> Result<Vec<Value>, Error> {
    args.first().map(items).transpose().map(Option::unwrap_or_default)
}

fn two(args: &[Value]) -> Result<(&Value, &Value), Error> {
    match args {
        [left, right] => Ok((left, right)),
        _ => Err(Error::from(ErrorKind::MissingArgument)),
    }
}
