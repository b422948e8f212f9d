//! Python methods of lists, maps and numbers. Methods of strings are in `strings`.

use std::fmt;
use std::sync::Arc;

use minijinja::value::{Object, ObjectRepr, Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use super::args::{Args, exactly};
use super::filters::pair_list;
use crate::budget::{self, charge_items};
use crate::fault::{Result, invalid};
use crate::python::numbers::{self, integer};
use crate::python::pyobject::{Dict, List, as_dict, as_list, as_text, items, own, pairs};
use crate::python::{pyrepr, strings};
use crate::reading::{self, charge_value};

/// Methods that templates may access without calling them. They take precedence over keys of a map.
pub const NAMES: &[&str] = &[
    "append",
    "clear",
    "copy",
    "endswith",
    "get",
    "items",
    "keys",
    "lower",
    "pop",
    "replace",
    "setdefault",
    "split",
    "startswith",
    "strip",
    "update",
    "upper",
    "values",
];

/// A method that was not called. It can be bound to a text only: a list with a method of its own
/// would be a cycle.
#[derive(Debug)]
struct Method(Option<Value>, String);

impl Object for Method {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, state: &mut State, args: &[Value]) -> Result<Value> {
        match &self.0 {
            Some(text) => call(state, text, &self.1, args),
            None => Err(invalid(format!(
                "{} must be called where it is accessed",
                self.1
            ))),
        }
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<method {}>", self.1)
    }
}

/// `value.name`, for one of [`NAMES`].
pub fn attribute(_: &mut State, args: &[Value]) -> Result<Value> {
    let [value, name] = exactly(args)?;
    let name = name.as_str().unwrap_or_default();
    let is_text = as_text(value).is_some();
    let of_text = [
        "endswith",
        "lower",
        "replace",
        "split",
        "startswith",
        "strip",
        "upper",
    ]
    .contains(&name);
    let has = if is_text {
        of_text
    } else if as_dict(value).is_some() {
        !of_text && name != "append"
    } else {
        as_list(value).is_some() && ["append", "clear", "copy", "pop"].contains(&name)
    };
    match has {
        true => Ok(Value::from_object(Method(
            is_text.then(|| value.clone()),
            name.to_owned(),
        ))),
        false => Ok(value.get_attr(name).unwrap_or_default()),
    }
}

/// `value.name(args)`.
pub fn call(_: &mut State, value: &Value, name: &str, args: &[Value]) -> Result<Value> {
    reading::touch(std::iter::once(value).chain(args), strings::reads(name))?;
    let args = &Args::new(args)?;
    let result = if let Some(text) = as_text(value) {
        strings::call(text, name, args)
    } else if let Some(dict) = as_dict(value) {
        map(dict, value, name, args)
    } else if let Some(list) = as_list(value) {
        sequence(list, name, args)
    } else if value.kind() == ValueKind::Map {
        native_map(value, name, args)
    } else if (value.is_undefined() || value.is_none()) && name == "items" {
        List::of(Vec::new())
    } else {
        number(value, name)
    }?;
    charge_value(&result)?;
    Ok(result)
}

fn map(dict: &Dict, value: &Value, name: &str, args: &Args) -> Result<Value> {
    let key = || args.get(0, "key");
    let keep = |value: Value| {
        if value.is_undefined() {
            Ok(Value::from(()))
        } else {
            own(value)
        }
    };
    match name {
        "pop" => {
            let found = dict.get(&key());
            // Names of equal length are compared to their end.
            let length = as_text(&key()).map_or(0, str::len);
            budget::scan(length.saturating_mul(dict.map().len()))?;
            dict.change(&[], |pairs| pairs.retain(|(name, _)| *name != key()))?;
            found
                .or_else(|| args.positional().get(1).cloned())
                .ok_or_else(|| no_key(&key()))
        }
        "setdefault" => {
            if let Some(found) = dict.get(&key()) {
                return Ok(found);
            }
            let pair = (key(), keep(args.get(1, "default"))?);
            dict.change(std::slice::from_ref(&pair), |pairs| {
                pairs.push(pair.clone())
            })?;
            Ok(pair.1)
        }
        "update" => {
            let mut added = match args.positional().first() {
                Some(other) => pairs(other)?,
                None => Vec::new(),
            };
            added.extend(args.pairs());
            let added = added
                .into_iter()
                .map(|(key, value)| Ok((key, keep(value)?)))
                .collect::<Result<Vec<_>>>()?;
            dict.change(&added, |pairs| pairs.extend(added.iter().cloned()))?;
            Ok(Value::from(()))
        }
        "clear" => dict.change(&[], Vec::clear).map(|()| Value::from(())),
        "get" => {
            if let (Some(trace), Some(name)) = (&dict.trace, key().as_str()) {
                trace.read_child(name);
            }
            Ok(dict.get(&key()).unwrap_or_else(|| second(args)))
        }
        _ => native_map(value, name, args),
    }
}

/// The second argument, or none.
fn second(args: &Args) -> Value {
    args.positional()
        .get(1)
        .cloned()
        .unwrap_or_else(|| Value::from(()))
}

/// The methods of every map, including namespaces.
fn native_map(value: &Value, name: &str, args: &Args) -> Result<Value> {
    match name {
        "get" => {
            let found = value.get_item(&args.get(0, "key")).unwrap_or_default();
            Ok(if found.is_undefined() {
                second(args)
            } else {
                found
            })
        }
        "items" => pair_list(value),
        "keys" => List::of(pairs(value)?.into_iter().map(|(key, _)| key).collect()),
        "values" => List::of(pairs(value)?.into_iter().map(|(_, item)| item).collect()),
        "copy" => Dict::of(pairs(value)?),
        "fromkeys" => {
            let item = own(second(args))?;
            let keys = items(&args.get(0, "iterable"))?;
            charge_items(2 * keys.len())?;
            Dict::of(keys.into_iter().map(|key| (key, item.clone())).collect())
        }
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    }
}

fn number(value: &Value, name: &str) -> Result<Value> {
    match (name, integer(value), numbers::float(value)) {
        ("bit_length", Some(number), _) => Ok(Value::from(
            u128::BITS - number.unsigned_abs().leading_zeros(),
        )),
        ("is_integer", Some(_), _) => Ok(Value::from(true)),
        ("is_integer", _, Some(number)) => {
            Ok(Value::from(number.is_finite() && number.fract() == 0.0))
        }
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    }
}

fn no_key(key: &Value) -> Error {
    invalid(format!("the map has no key {}", pyrepr::repr(key)))
}

/// The items of a list that is searched for a value.
fn searched(list: &List, value: &Value) -> Result<Vec<Value>> {
    let items = list.items()?;
    items
        .iter()
        .try_for_each(|item| reading::compare(item, value))?;
    Ok(items)
}

fn sequence(list: &List, name: &str, args: &Args) -> Result<Value> {
    let first = || args.get(0, "value");
    let missing = || invalid("the list has no such item");
    match name {
        "append" => {
            let item = own(first())?;
            list.change(std::slice::from_ref(&item), |items| {
                items.push(item.clone())
            })?;
        }
        "extend" => {
            let added = items(&first())?
                .into_iter()
                .map(own)
                .collect::<Result<Vec<_>, _>>()?;
            list.change(&added, |items| items.extend(added.iter().cloned()))?;
        }
        "insert" => {
            let at = args.integer(0, "index")?.unwrap_or(0);
            let item = own(args.get(1, "object"))?;
            list.change(std::slice::from_ref(&item), |items| {
                let at = if at < 0 {
                    at.saturating_add(items.len() as i64).max(0)
                } else {
                    at
                };
                items.insert(
                    usize::try_from(at).unwrap_or(usize::MAX).min(items.len()),
                    item.clone(),
                );
            })?;
        }
        "pop" => {
            let at = args.integer(0, "index")?.unwrap_or(-1);
            let taken = list.change(&[], |items| {
                let at = if at < 0 {
                    at.saturating_add(items.len() as i64)
                } else {
                    at
                };
                usize::try_from(at)
                    .ok()
                    .filter(|&at| at < items.len())
                    .map(|at| items.remove(at))
            })?;
            return taken.ok_or_else(missing);
        }
        "remove" => {
            let at = searched(list, &first())?
                .iter()
                .position(|item| *item == first())
                .ok_or_else(missing)?;
            list.change(&[], |items| drop(items.remove(at)))?;
        }
        "index" => {
            let bound =
                |index, name, usual| Ok::<_, Error>(args.integer(index, name)?.unwrap_or(usual));
            let found = searched(list, &first())?;
            let place = |at: i64| {
                if at < 0 {
                    at.saturating_add(found.len() as i64).max(0)
                } else {
                    at
                }
            };
            let range = place(bound(1, "start", 0)?)..place(bound(2, "stop", i64::MAX)?);
            let at = found
                .iter()
                .enumerate()
                .position(|(at, item)| range.contains(&(at as i64)) && *item == first());
            return at.map(Value::from).ok_or_else(missing);
        }
        "count" => {
            return Ok(Value::from(
                searched(list, &first())?
                    .iter()
                    .filter(|item| **item == first())
                    .count(),
            ));
        }
        "reverse" => list.change(&[], |items| items.reverse())?,
        "clear" => list.change(&[], Vec::clear)?,
        "copy" => return List::of(list.items()?),
        _ => return Err(Error::from(ErrorKind::UnknownMethod)),
    }
    Ok(Value::from(()))
}
