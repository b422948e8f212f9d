//! Python methods of lists, maps and numbers. Methods of strings are in `strings`.

use std::fmt;
use std::sync::Arc;

use minijinja::value::{Object, ObjectRepr, Value, ValueKind};
use minijinja::{ErrorKind, State};

use super::args::{Args, exactly};
use super::filters::pair_list;
use crate::budget::{self, charge_items};
use crate::fault::{Result, invalid};
use crate::python::numbers::{self, integer};
use crate::python::ops::is_strict;
use crate::python::pyobject::{Dict, List, as_dict, as_list, as_text, items, own, pairs};
use crate::python::{pyrepr, strings};
use crate::reading::{self, charge_value};

/// Methods of texts that templates may access without calling them.
const OF_TEXTS: &[&str] = &[
    "endswith",
    "lower",
    "replace",
    "split",
    "startswith",
    "strip",
    "upper",
];

/// The same of lists and maps.
const OF_LISTS: &[&str] = &["append", "clear", "copy", "pop"];
const OF_MAPS: &[&str] = &[
    "clear",
    "copy",
    "get",
    "items",
    "keys",
    "pop",
    "setdefault",
    "update",
    "values",
];

/// Methods that change a list or a map. Transformers' sandbox refuses them.
const CHANGING: &[&str] = &[
    "append",
    "clear",
    "extend",
    "insert",
    "pop",
    "remove",
    "reverse",
    "setdefault",
    "update",
];

/// Whether templates may access a method of this name without calling it. It takes precedence over
/// a key of a map.
pub fn is_accessible(name: &str) -> bool {
    [OF_TEXTS, OF_LISTS, OF_MAPS]
        .iter()
        .any(|names| names.contains(&name))
}

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

/// `value.name`, for a method that [`is_accessible`].
pub fn attribute(_: &mut State, args: &[Value]) -> Result<Value> {
    let [value, name] = exactly(args)?;
    let name = name.as_str().unwrap_or_default();
    let text = as_text(value).map(|_| value.clone());
    let methods = match (&text, as_dict(value), as_list(value)) {
        (Some(_), ..) => OF_TEXTS,
        (_, Some(_), _) => OF_MAPS,
        (.., Some(_)) => OF_LISTS,
        _ => &[],
    };
    Ok(match methods.contains(&name) {
        true => Value::from_object(Method(text, name.to_owned())),
        false => value.get_attr(name).unwrap_or_default(),
    })
}

/// `value.name(args)`.
pub fn call(state: &mut State, value: &Value, name: &str, args: &[Value]) -> Result<Value> {
    reading::touch(std::iter::once(value).chain(args), strings::reads(name))?;
    let plain = args;
    let args = &Args::new(args)?;
    let result = if let Some(text) = as_text(value) {
        strings::call(text, name, args)
    } else if CHANGING.contains(&name) && is_strict(state) {
        Err(invalid(format!(
            "transformers refuses {name}: it changes a value"
        )))
    } else if let Some(dict) = as_dict(value) {
        map(dict, value, name, args)
    } else if let Some(list) = as_list(value) {
        sequence(list, name, args)
    } else if value.kind() == ValueKind::Map {
        native_map(value, name, args)
    } else if (value.is_undefined() || value.is_none()) && name == "items" && !is_strict(state) {
        List::of(Vec::new())
    } else if value.kind() == ValueKind::Plain {
        value.call_method(state, name, plain)
    } else {
        number(value, name)
    }?;
    charge_value(&result)?;
    Ok(result)
}

fn map(dict: &Dict, value: &Value, name: &str, args: &Args) -> Result<Value> {
    let key = &args.get(0, "key");
    match name {
        "pop" => {
            let found = dict.get(key);
            // Names of equal length are compared to their end.
            let length = as_text(key).map_or(0, str::len);
            budget::scan(length.saturating_mul(dict.map().len()))?;
            dict.change(&[], |pairs| pairs.retain(|(name, _)| name != key))?;
            found
                .or_else(|| args.positional().get(1).cloned())
                .ok_or_else(|| invalid(format!("the map has no key {}", pyrepr::repr(key))))
        }
        "setdefault" => {
            if let Some(found) = dict.get(key) {
                return Ok(found);
            }
            let pair = (key.clone(), own_or_none(args.get(1, "default"))?);
            let value = pair.1.clone();
            dict.extend(vec![pair])?;
            Ok(value)
        }
        "update" => {
            let mut added = match args.positional().first() {
                Some(other) => pairs(other)?,
                None => Vec::new(),
            };
            added.extend(args.pairs());
            for (_, value) in &mut added {
                *value = own_or_none(std::mem::take(value))?;
            }
            dict.extend(added)?;
            Ok(().into())
        }
        "clear" => Ok(dict.change(&[], Vec::clear)?.into()),
        "get" => {
            if let Some(name) = key.as_str() {
                dict.trace.read_child(name);
            }
            Ok(dict.get(key).unwrap_or_else(|| second(args)))
        }
        _ => native_map(value, name, args),
    }
}

/// The value as data, or none if it is missing.
fn own_or_none(value: Value) -> Result<Value> {
    match value.is_undefined() {
        true => Ok(().into()),
        false => own(value),
    }
}

/// The second argument, or none.
fn second(args: &Args) -> Value {
    let second = args.positional().get(1).cloned();
    second.unwrap_or_else(|| ().into())
}

/// The methods of every map, including namespaces.
fn native_map(value: &Value, name: &str, args: &Args) -> Result<Value> {
    match name {
        "get" => match value.get_item(&args.get(0, "key")).unwrap_or_default() {
            found if found.is_undefined() => Ok(second(args)),
            found => Ok(found),
        },
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
        _ => Err(ErrorKind::UnknownMethod.into()),
    }
}

fn number(value: &Value, name: &str) -> Result<Value> {
    match (name, integer(value), numbers::float(value)) {
        ("bit_length", Some(number), _) => {
            Ok((u128::BITS - number.unsigned_abs().leading_zeros()).into())
        }
        ("is_integer", Some(_), _) => Ok(true.into()),
        ("is_integer", _, Some(number)) => Ok((number.is_finite() && number.fract() == 0.0).into()),
        _ => Err(ErrorKind::UnknownMethod.into()),
    }
}

/// The places of a value in a list.
fn places(list: &List, value: &Value) -> Result<Vec<usize>> {
    let items = list.items()?;
    for item in &items {
        reading::compare(item, value)?;
    }
    let places = 0..items.len();
    Ok(places.filter(|index| items[*index] == *value).collect())
}

fn sequence(list: &List, name: &str, args: &Args) -> Result<Value> {
    const MISSING: &str = "the list has no such item";
    let first = args.get(0, "value");
    match name {
        "append" => list.extend(vec![own(first)?])?,
        "extend" => {
            let added = items(&first)?.into_iter().map(own);
            list.extend(added.collect::<Result<_>>()?)?;
        }
        "insert" => {
            let at = args.integer(0, "index")?.unwrap_or(0);
            let item = own(args.get(1, "object"))?;
            list.change(std::slice::from_ref(&item), |items| {
                let at = numbers::from_end(at, items.len()).max(0);
                let at = usize::try_from(at).unwrap_or(usize::MAX).min(items.len());
                items.insert(at, item.clone());
            })?;
        }
        "pop" => {
            let at = args.integer(0, "index")?.unwrap_or(-1);
            let taken = list.change(&[], |items| {
                let at = usize::try_from(numbers::from_end(at, items.len())).ok()?;
                (at < items.len()).then(|| items.remove(at))
            })?;
            return taken.ok_or_else(|| invalid(MISSING));
        }
        "remove" => match places(list, &first)?.first() {
            Some(at) => list.change(&[], |items| drop(items.remove(*at)))?,
            None => return Err(invalid(MISSING)),
        },
        "index" => {
            let places = places(list, &first)?;
            let length = list.look(<[_]>::len);
            let start = args.integer(1, "start")?.unwrap_or(0);
            let stop = args.integer(2, "stop")?.unwrap_or(i64::MAX);
            let [start, stop] = [start, stop].map(|at| numbers::from_end(at, length).max(0));
            let mut places = places.into_iter();
            let place = places.find(|at| (start..stop).contains(&(*at as i64)));
            return place.map(Value::from).ok_or_else(|| invalid(MISSING));
        }
        "count" => return Ok(places(list, &first)?.len().into()),
        "reverse" => list.change(&[], |items| items.reverse())?,
        "clear" => list.change(&[], Vec::clear)?,
        "copy" => return List::of(list.items()?),
        _ => return Err(ErrorKind::UnknownMethod.into()),
    }
    Ok(().into())
}
