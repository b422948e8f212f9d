//! Global functions.

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use super::args::{Args, Call, missing};
use crate::budget::charge_items;
use crate::fault::{Result, invalid};
use crate::python::namespace::Namespace;
use crate::python::pyobject::{Dict, Form, List, items, own, pairs};
use crate::python::{pyrepr, strftime};
use crate::request::context::NOW;

/// Name and code of each function.
pub const FUNCTIONS: &[(&str, Call)] = &[
    ("dict", |_, args| Dict::of(entries(args)?)),
    ("namespace", |_, args| Namespace::of(entries(args)?)),
    ("raise_exception", raise),
    ("range", range),
    ("strftime_now", strftime_now),
];

/// Prefix of errors that the template raised itself.
pub const RAISED: &str = "raised: ";

fn raise(_: &mut State, args: &Args) -> Result<Value> {
    let message = args.get(0, "message");
    Err(invalid(RAISED.to_owned() + &pyrepr::text(&message)))
}

/// The render's clock.
pub fn now(state: &State) -> Option<i64> {
    state.lookup(NOW)?.as_i64()
}

fn strftime_now(state: &mut State, args: &Args) -> Result<Value> {
    let format = args.required_text(0, "format")?;
    let now = now(state).ok_or_else(|| strftime::missing("strftime_now"))?;
    Ok(strftime::format(now, &format)?.into())
}

/// The maximum length of a `range`.
const RANGE: i128 = 1_000_000;

fn range(_: &mut State, args: &Args) -> Result<Value> {
    let Some(first) = args.integer(0, "range")? else {
        return Err(missing("range needs a bound"));
    };
    let (start, stop) = match args.integer(1, "range")? {
        Some(stop) => (first, stop),
        None => (0, first),
    };
    let step = args.integer(2, "range")?.unwrap_or(1);
    if step == 0 {
        return Err(invalid("range needs a step other than zero"));
    }
    let form = Form::Range(start, stop, step);
    let [start, stop, step] = [start, stop, step].map(i128::from);
    let len = ((stop - start + step - step.signum()) / step).max(0);
    if len > RANGE {
        let why = format!("a range of more than {RANGE} numbers");
        return Err(Error::new(ErrorKind::OutOfFuel, why));
    }
    charge_items(len as usize)?;
    let items = (0..len).map(|index| Value::from((start + index * step) as i64));
    List::make(items.collect(), form)
}

/// The entries of `dict` and `namespace`: the entries of a map or a list of pairs, then the named
/// arguments.
fn entries(args: &Args) -> Result<Vec<(Value, Value)>> {
    let mut entries = Vec::new();
    for value in args.positional() {
        if value.kind() == ValueKind::Map {
            entries.extend(pairs(value)?);
            continue;
        }
        for pair in items(value)? {
            match items(&pair)?.as_slice() {
                [key, item] => entries.push((key.clone(), item.clone())),
                _ => return Err(invalid("a map is made of pairs")),
            }
        }
    }
    entries.extend(args.pairs());
    let entries = entries.into_iter();
    entries.map(|(key, value)| Ok((key, own(value)?))).collect()
}
