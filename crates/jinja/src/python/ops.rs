//! The operators that the source pass turns into filters and tests: `+`, `~`, `*`, `%`, `<`, `in`,
//! slices and literals of lists and maps. They follow Python, with llama.cpp's leniency where
//! templates rely on it.

use std::cmp::Ordering;

use minijinja::State;
use minijinja::value::{Value, ValueKind};

use super::numbers::{self, arithmetic, compare, integer, remainder, signed, unsupported};
use super::printf;
use super::pyobject::{Dict, Form, List, as_dict, as_list, as_text, items, pairs};
use super::pyrepr::text;
use super::pystr::byte_of;
use crate::budget::{self, charge, charge_items, check_text};
use crate::builtins::args::exactly;
use crate::builtins::filters::escaped;
use crate::fault::{Result, invalid};
use crate::reading;

/// `a ~ b ~ c`: concatenates the texts.
pub fn concat(_: &mut State, args: &[Value]) -> Result<Value> {
    join(args.iter(), false)
}

/// The variable that a prompt as transformers renders it has: a text that is added to a safe one is
/// escaped, and what Python or its sandbox refuses is an error. The space keeps templates from
/// naming it.
pub const STRICT: &str = " strict";

pub fn is_strict(state: &State) -> bool {
    state.lookup(STRICT).is_some()
}

fn join<'v>(values: impl Iterator<Item = &'v Value> + Clone, escapes: bool) -> Result<Value> {
    let bytes = values.clone().filter_map(as_text).map(str::len).sum();
    check_text(bytes)?;
    let mut out = String::with_capacity(bytes);
    for value in values {
        match escapes && !value.is_safe() {
            true => out.push_str(&escaped(&text(value))?),
            false => out.push_str(&text(value)),
        }
        check_text(out.len())?;
    }
    let joined = budget::text(out)?;
    match joined.as_str() {
        Some(text) if escapes => Ok(Value::from_safe_string(text.to_owned())),
        _ => Ok(joined),
    }
}

/// `a + b + c`. If one operand is a text, the others are converted to text and undefined is empty,
/// because templates rely on both; unless [`STRICT`].
pub fn add(state: &mut State, args: &[Value]) -> Result<Value> {
    let [first, rest @ ..] = args else {
        return Ok(Value::UNDEFINED);
    };
    let mut sum = first.clone();
    for (index, term) in rest.iter().enumerate() {
        if as_text(&sum).is_some() || as_text(term).is_some() {
            let terms = std::iter::once(&sum).chain(&rest[index..]);
            // Texts are added most often, and need no variable.
            let has_safe = args.iter().any(Value::is_safe);
            let other = terms.clone().find(|term| as_text(term).is_none());
            let is_strict = (has_safe || other.is_some()) && is_strict(state);
            if let Some(other) = other.filter(|_| is_strict) {
                let why = format!("{} cannot be added to a string", other.kind());
                return Err(invalid(why));
            }
            return join(terms.filter(|term| !term.is_none()), is_strict && has_safe);
        }
        sum = add_two(&sum, term)?;
    }
    Ok(sum)
}

pub fn add_two(left: &Value, right: &Value) -> Result<Value> {
    match (left.kind(), right.kind()) {
        (ValueKind::Seq | ValueKind::Iterable, ValueKind::Seq | ValueKind::Iterable) => {
            let mut sum = items(left)?;
            sum.extend(items(right)?);
            sequence(sum, is_tuple(left) && is_tuple(right))
        }
        _ => arithmetic("+", left, right, i128::checked_add, |a, b| a + b),
    }
}

/// `a * b`: the product of numbers, or a repeated text or list.
pub fn multiply(_: &mut State, args: &[Value]) -> Result<Value> {
    let [left, right] = exactly(args)?;
    let (thing, times) = if integer(left).is_some() {
        (right, left)
    } else {
        (left, right)
    };
    let is_list = matches!(thing.kind(), ValueKind::Seq | ValueKind::Iterable);
    if as_text(thing).is_none() && !is_list {
        return arithmetic("*", left, right, i128::checked_mul, |a, b| a * b);
    }
    let times = integer(times).ok_or_else(|| unsupported("*", left, right))?;
    let times = usize::try_from(times).unwrap_or(0);
    if let Some(text) = as_text(thing) {
        check_text(text.len().saturating_mul(times))?;
        charge(text.len() * times)?;
        return Ok(text.repeat(times).into());
    }
    let once = items(thing)?;
    let count = once.len().saturating_mul(times);
    charge_items(count)?;
    let all = once.iter().cycle().take(count).cloned();
    sequence(all.collect(), is_tuple(thing))
}

/// `a % b`: the remainder of a division, or a formatted text.
pub fn modulo(_: &mut State, args: &[Value]) -> Result<Value> {
    let [left, right] = exactly(args)?;
    let Some(text) = as_text(left) else {
        return remainder(left, right);
    };
    let text = printf::format(text, right)?;
    charge(text.len())?;
    Ok(text.into())
}

/// `-a` or `+a`, and whether it is the first.
pub fn sign(_: &mut State, args: &[Value]) -> Result<Value> {
    let [value, negative] = exactly(args)?;
    signed(value, negative.is_true())
}

/// `a < b` and the like: `holds` decides by the order of both.
pub fn compares(args: &[Value], holds: fn(Ordering) -> bool) -> Result<bool> {
    let [left, right] = exactly(args)?;
    reading::compare(left, right)?;
    Ok(compare(left, right).is_some_and(holds))
}

/// `part in whole`: a substring, an item of a list, a key of a map; false for undefined `whole`.
pub fn is_in(whole: &Value, part: &Value) -> Result<bool> {
    match (as_text(whole), as_text(part)) {
        (Some(whole), Some(part)) => {
            budget::search(whole.len())?;
            budget::work(part.len())?;
            return Ok(whole.contains(part));
        }
        (Some(_), None) if part.is_undefined() => return Ok(false),
        (Some(_), None) => {
            let kind = part.kind();
            let why = format!("'in' needs a string on the left of a string, not {kind}");
            return Err(invalid(why));
        }
        (None, _) => {}
    }
    if let Some(dict) = as_dict(whole) {
        return Ok(dict.get(part).is_some());
    }
    // A list may be looked for in itself.
    if let Some(list) = as_list(whole).filter(|_| part.as_object().is_none()) {
        list.read_items();
        return list.look(|items| any(items.iter(), part));
    }
    match whole.kind() {
        ValueKind::Map => any(pairs(whole)?.iter().map(|(key, _)| key), part),
        ValueKind::Undefined => Ok(false),
        ValueKind::None | ValueKind::Bool | ValueKind::Number => {
            Err(invalid(format!("nothing can be in {}", whole.kind())))
        }
        _ => any(items(whole)?.iter(), part),
    }
}

/// Whether one of `values` equals `part`.
fn any<'v>(values: impl Iterator<Item = &'v Value>, part: &Value) -> Result<bool> {
    for value in values {
        reading::compare(value, part)?;
        if value == part {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `a[index]`, whose index may be any value.
pub fn item(_: &mut State, args: &[Value]) -> Result<Value> {
    let [value, index] = exactly(args)?;
    reading::read(index)?;
    if let Some(text) = as_text(value) {
        let place = index.as_i64().unwrap_or(0);
        // From the end, all characters are counted first.
        let read = usize::try_from(place).map_or(2 * text.len(), |place| {
            text.len().min(place.saturating_mul(4))
        });
        budget::work(read)?;
    }
    Ok(value.get_item(index).unwrap_or_default())
}

/// The operand of a comparison that the engine does, or the argument of a function of its own,
/// which counts here.
pub fn read(_: &mut State, args: &[Value]) -> Result<Value> {
    let [value] = exactly(args)?;
    reading::read(value)?;
    Ok(value.clone())
}

/// `a[start:stop:step]`.
pub fn slice(_: &mut State, args: &[Value]) -> Result<Value> {
    let [value, start, stop, step] = exactly(args)?;
    let slice = Slice {
        start: bound(start)?,
        stop: bound(stop)?,
        step: bound(step)?.unwrap_or(1),
    };
    if slice.step == 0 {
        return Err(invalid("slice step cannot be zero"));
    }
    if let Some(text) = as_text(value) {
        budget::work(2 * text.len())?;
        let count = text.chars().count();
        let mut places = slice.places(count);
        if slice.step != 1 {
            charge(count.saturating_mul(size_of::<char>()))?;
            let chars: Vec<char> = text.chars().collect();
            let part: String = places.map(|index| chars[index]).collect();
            charge(part.len())?;
            return Ok(part.into());
        }
        let Some(first) = places.next() else {
            return Ok("".into());
        };
        let rest = &text[byte_of(text, first)..];
        let part = &rest[..byte_of(rest, 1 + places.count())];
        charge(part.len())?;
        return Ok(part.into());
    }
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Undefined => {
            let part = match as_list(value) {
                Some(list) => {
                    list.read_items();
                    list.look(|all| slice.of(all))?
                }
                None => slice.of(&items(value)?)?,
            };
            sequence(part, is_tuple(value))
        }
        // Like a missing item.
        ValueKind::None | ValueKind::Number | ValueKind::Bool => Ok(Value::UNDEFINED),
        kind => Err(invalid(format!("{kind} cannot be sliced"))),
    }
}

fn bound(value: &Value) -> Result<Option<i64>> {
    match integer(value) {
        // Bounds beyond any length stay so.
        Some(number) => Ok(Some(number.clamp(i64::MIN.into(), i64::MAX.into()) as i64)),
        None if value.is_none() || value.is_undefined() => Ok(None),
        None => Err(invalid("slice bounds must be integers")),
    }
}

fn is_tuple(value: &Value) -> bool {
    as_list(value).is_some_and(|list| list.form.is_tuple())
}

fn sequence(items: Vec<Value>, is_tuple: bool) -> Result<Value> {
    List::make(items, if is_tuple { Form::Tuple } else { Form::List })
}

/// The bounds of a Python slice.
struct Slice {
    start: Option<i64>,
    stop: Option<i64>,
    step: i64,
}

impl Slice {
    /// The indices among `len` items.
    fn places(&self, len: usize) -> impl Iterator<Item = usize> + use<> {
        let (step, end) = (self.step, len as i64);
        let (low, high) = if step > 0 { (0, end) } else { (-1, end - 1) };
        let [start, stop] = [self.start, self.stop]
            .map(|bound| bound.map(|at| numbers::from_end(at, len).clamp(low, high)));
        let (first, last) = if step > 0 { (low, high) } else { (high, low) };
        let (mut next, stop) = (start.or(Some(first)), stop.unwrap_or(last));
        std::iter::from_fn(move || {
            let at = next.filter(|&at| if step > 0 { at < stop } else { at > stop })?;
            next = at.checked_add(step);
            usize::try_from(at).ok()
        })
    }

    /// Copies of the items that are in it.
    fn of(&self, all: &[Value]) -> Result<Vec<Value>> {
        let places = self.places(all.len());
        let part = places.map(|index| charge_items(1).map(|()| all[index].clone()));
        part.collect()
    }
}

/// `[a, b]`.
pub fn list(_: &mut State, args: &[Value]) -> Result<Value> {
    List::of(literal(args)?)
}

/// `(a, b)`.
pub fn tuple(_: &mut State, args: &[Value]) -> Result<Value> {
    List::tuple(literal(args)?)
}

/// `{a: b}`, written as `(a, b)`.
pub fn dict(_: &mut State, args: &[Value]) -> Result<Value> {
    let flat = literal(args)?;
    let pairs = flat
        .chunks_exact(2)
        .map(|pair| (pair[0].clone(), pair[1].clone()));
    Dict::of(pairs.collect())
}

/// The undefined value.
pub fn absent(_: &mut State, _: &[Value]) -> Result<Value> {
    Ok(Value::UNDEFINED)
}

/// `for x in a`. Unlike in the engine, strings are lists of characters, and none is an error.
pub fn each(_: &mut State, args: &[Value]) -> Result<Value> {
    let [value] = exactly(args)?;
    match as_text(value) {
        Some(_) => List::of(items(value)?),
        None if value.is_none() => Err(invalid("none cannot be looped over")),
        None => Ok(value.clone()),
    }
}

/// Counts `n` bytes of text that follow in a capture.
pub fn spend(_: &mut State, args: &[Value]) -> Result<Value> {
    let [bytes] = exactly(args)?;
    budget::charge_output(bytes.as_usize().unwrap_or_default())?;
    Ok(Value::UNDEFINED)
}

fn literal(args: &[Value]) -> Result<Vec<Value>> {
    let [all] = exactly(args)?;
    items(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_have_the_places_that_python_gives_them() {
        let places = |start, stop, step, len| -> Vec<usize> {
            Slice { start, stop, step }.places(len).collect()
        };
        assert_eq!(places(None, None, -1, 3), [2, 1, 0]);
        assert_eq!(places(Some(-2), None, 1, 3), [1, 2]);
        assert_eq!(places(Some(5), Some(-10), -2, 5), [4, 2, 0]);
        assert_eq!(places(Some(i64::MIN), Some(i64::MAX), 2, 4), [0, 2]);
        assert!(places(None, Some(2), -1, 0).is_empty());
    }
}
