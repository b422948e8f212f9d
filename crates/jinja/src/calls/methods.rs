//! Methods of texts, lists, maps and numbers.

use std::rc::Rc;

use super::args::{Call, touch};
use super::filters::{joined, letters, replace, strip};
use super::format::str_format;
use super::lists::pair_list;
use crate::budget;
use crate::fault::{Made, fail};
use crate::python::chars;
use crate::python::numbers::from_end;
use crate::python::pystr::{self, Ends, byte_of};
use crate::text::{Buf, TEMPLATE, Text};
use crate::value::{Dict, Form, List, Pairs, Value};

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

/// `value.name(call)`; `is_plain`: as transformers' sandbox has it.
pub fn method(value: &Value, name: &str, call: Call, is_plain: bool) -> Made<Value> {
    touch(value, name, &call)?;
    if is_plain && CHANGING.contains(&name) && matches!(value, Value::List(_) | Value::Dict(_)) {
        fail!("transformers refuses {name}: it changes a value");
    }
    match value {
        Value::Text(text) => of_text(text, name, call),
        Value::Dict(dict) => of_map(dict, value, name, call),
        Value::List(list) => of_list(list, name, call),
        Value::Undefined | Value::None(_) if name == "items" && !is_plain => {
            Ok(Value::list(Vec::new()))
        }
        value => match (name, value) {
            ("is_integer", Value::Float(number, _)) => Ok((number.fract() == 0.0).into()),
            ("is_integer", Value::Int(..)) => Ok(true.into()),
            ("bit_length", Value::Int(number, _)) => {
                Ok(((u128::BITS - number.unsigned_abs().leading_zeros()) as usize).into())
            }
            _ => Err(format!("{} has no method {name}", value.kind()).into()),
        },
    }
}

fn of_map(dict: &Rc<Dict>, value: &Value, name: &str, call: Call) -> Made<Value> {
    let key = call.get(0, "key");
    let second = || call.given.get(1).cloned().unwrap_or(Value::None(TEMPLATE));
    Ok(match name {
        "get" => dict.get_value(&key).unwrap_or_else(second),
        "items" => pair_list(value)?,
        "keys" => Value::list(value.items()?),
        "values" => Value::list(value.pairs()?.into_iter().map(|(_, item)| item).collect()),
        "copy" => Value::dict(value.pairs()?),
        "pop" => {
            let found = dict.get_value(&key);
            dict.change(&[], |pairs| pairs.retain(|(name, _)| *name != key))?;
            found
                .or_else(|| call.given.get(1).cloned())
                .ok_or("the map has no such key")?
        }
        "setdefault" => match dict.get_value(&key) {
            Some(found) => found,
            None => {
                let value = second();
                dict.set(key, value.clone())?;
                value
            }
        },
        "update" => {
            let mut added = match call.given.first() {
                Some(other) => other.pairs()?,
                None => Vec::new(),
            };
            added.extend(
                call.named
                    .into_iter()
                    .map(|(name, value)| ((&*name).into(), value)),
            );
            for (key, value) in added {
                dict.set(key, value)?;
            }
            Value::None(TEMPLATE)
        }
        "clear" => {
            dict.change(&[], Pairs::clear)?;
            Value::None(TEMPLATE)
        }
        "fromkeys" => {
            let items = call.get(0, "iterable").items()?;
            Value::dict(items.into_iter().map(|key| (key, second())).collect())
        }
        _ => match dict.get(name) {
            Some(_) => fail!("{name} cannot be called"),
            None => fail!("the map has no method {name}"),
        },
    })
}

fn of_list(list: &Rc<List>, name: &str, call: Call) -> Made<Value> {
    const MISSING: &str = "the list has no such item";
    let first = call.get(0, "value");
    let added = std::slice::from_ref(&first);
    let length = list.items().len();
    budget::note(length);
    if list.form != Form::List && !matches!(name, "index" | "count") {
        fail!("a tuple has no method {name}");
    }
    match name {
        "append" => list.change(added, |items| items.push(first.clone()))?,
        "extend" => {
            let added = first.items()?;
            list.change(&added, |items| items.extend_from_slice(&added))?;
        }
        "insert" => {
            let at = from_end(call.int(0, "index")?.unwrap_or(0), length).max(0) as usize;
            let item = call.get(1, "object");
            list.change(&[item.clone()], |items| items.insert(at.min(length), item))?;
        }
        "pop" => {
            let at = from_end(call.int(0, "index")?.unwrap_or(-1), length);
            return match usize::try_from(at) {
                Ok(at) if at < length => list.change(&[], |items| items.remove(at)),
                _ => Err(MISSING.into()),
            };
        }
        "remove" => {
            let at = list.items().iter().position(|item| *item == first);
            let at = at.ok_or(MISSING)?;
            list.change(&[], |items| drop(items.remove(at)))?;
        }
        "index" => {
            let (start, stop) = (call.int(1, "start")?, call.int(2, "stop")?);
            let [start, stop] = [start.unwrap_or(0), stop.unwrap_or(i64::MAX)]
                .map(|at| from_end(at, length).max(0) as usize);
            let mut places = start..stop.min(length);
            let place = places.find(|at| list.items()[*at] == first);
            return Ok(place.ok_or(MISSING)?.into());
        }
        "count" => {
            let count = list.items().iter().filter(|item| **item == first).count();
            return Ok(count.into());
        }
        "reverse" => list.change(&[], |items| items.reverse())?,
        "clear" => list.change(&[], Vec::clear)?,
        "copy" => return Ok(Value::list(list.items().clone())),
        _ => fail!("the list has no method {name}"),
    }
    Ok(Value::None(TEMPLATE))
}

/// The part of a text between two arguments, and the number of characters before it.
fn window<'t>(text: &'t str, call: &Call) -> Made<Option<(usize, &'t str)>> {
    let (start, stop) = (call.int(1, "start")?, call.int(2, "end")?);
    if start.is_none() && stop.is_none() {
        return Ok(Some((0, text)));
    }
    let len = text.chars().count();
    let [start, stop] = [start.unwrap_or(0), stop.unwrap_or(len as i64)]
        .map(|at| from_end(at, len).max(0) as usize);
    let stop = stop.min(len);
    Ok((start <= stop).then(|| (start, &text[byte_of(text, start)..byte_of(text, stop)])))
}

fn any_of(text: &str, call: &Call, test: impl Fn(&str, &str) -> bool) -> Made<Value> {
    let Some((_, text)) = window(text, call)? else {
        return Ok(false.into());
    };
    let parts = match call.get(0, "prefix") {
        Value::Text(part) => return Ok(test(text, &part).into()),
        parts => parts.items()?,
    };
    Ok(parts
        .iter()
        .filter_map(Value::as_str)
        .any(|part| test(text, part))
        .into())
}

fn of_text(text: &Text, name: &str, call: Call) -> Made<Value> {
    let parts = |parts: Vec<&str>| {
        let all = parts.into_iter().map(|part| Value::Text(text.sub(part)));
        Value::list(all.collect())
    };
    let this = Value::Text(text.clone());
    Ok(match name {
        // Letters and ends.
        "upper" => letters(&this, str::to_uppercase),
        "lower" => letters(&this, str::to_lowercase),
        "casefold" => letters(&this, pystr::casefold),
        "swapcase" => letters(&this, pystr::swapcase),
        "capitalize" => letters(&this, pystr::capitalize),
        "title" => letters(&this, pystr::title),
        "strip" | "lstrip" | "rstrip" => {
            let ends = Ends {
                left: name != "rstrip",
                right: name != "lstrip",
            };
            strip(text, ends, call.text(0, "chars")?.as_ref())?
        }
        "startswith" => any_of(text, &call, |text, part| text.starts_with(part))?,
        "endswith" => any_of(text, &call, |text, part| text.ends_with(part))?,
        "removeprefix" => {
            let rest = text.strip_prefix(&*call.required(0, "prefix")?);
            Value::Text(text.sub(rest.unwrap_or(text)))
        }
        "removesuffix" => {
            let rest = text.strip_suffix(&*call.required(0, "suffix")?);
            Value::Text(text.sub(rest.unwrap_or(text)))
        }
        // Parts.
        "split" | "rsplit" => {
            let (separator, limit) = (call.text(0, "sep")?, call.int(1, "maxsplit")?);
            let pieces = pystr::split(text, separator.as_deref(), limit, name == "rsplit");
            parts(pieces?)
        }
        "splitlines" => parts(pystr::lines(text, call.flag(0, "keepends")).collect()),
        "partition" | "rpartition" => {
            let separator = call.required(0, "sep")?;
            let is_right = name == "rpartition";
            let cut = match is_right {
                true => text.rfind(&*separator),
                false => text.find(&*separator),
            };
            let (len, empty) = (text.len(), || 0..0);
            let ranges = match cut {
                Some(at) => [0..at, at..at + separator.len(), at + separator.len()..len],
                None if is_right => [empty(), empty(), 0..len],
                None => [0..len, empty(), empty()],
            };
            Value::tuple(ranges.map(|range| Value::Text(text.part(range))).to_vec())
        }
        "replace" => {
            let (old, new) = (call.required(0, "old")?, call.required(1, "new")?);
            replace(text, &old, &new, call.int(2, "count")?)?
        }
        // Places, counted in characters.
        "find" | "index" | "rfind" | "rindex" => {
            let part = call.required(0, "sub")?;
            let found = window(text, &call)?.and_then(|(before, text)| {
                let at = match name.starts_with('r') {
                    true => text.rfind(&*part),
                    false => text.find(&*part),
                };
                at.map(|at| before + text[..at].chars().count())
            });
            match found {
                Some(at) => at.into(),
                None if name.ends_with("index") => fail!("substring not found"),
                None => Value::Int(-1, TEMPLATE),
            }
        }
        "count" => {
            let part = call.required(0, "sub")?;
            let text = window(text, &call)?.map(|(_, text)| text);
            text.map_or(0, |text| text.matches(&*part).count()).into()
        }
        "join" => joined(text, &call.get(0, "iterable").items()?),
        "format" => str_format(text, &call)?,
        "format_map" => {
            let pairs = call.get(0, "mapping").pairs()?.into_iter();
            let named = pairs.filter_map(|(key, value)| Some((key.as_str()?.into(), value)));
            let call = Call {
                given: Vec::new(),
                named: named.collect(),
            };
            str_format(text, &call)?
        }
        "expandtabs" => {
            let width = call.int(0, "tabsize")?.unwrap_or(8).max(0) as usize;
            let (mut out, mut column) = (Buf::default(), 0_usize);
            for (at, c) in text.char_indices() {
                if c == '\t' {
                    let fill = width - column.checked_rem(width).unwrap_or(0);
                    out.fill(" ", fill);
                    column = column.saturating_add(fill);
                } else {
                    out.push_part(text, at..at + c.len_utf8());
                    column = if matches!(c, '\n' | '\r') {
                        0
                    } else {
                        column + 1
                    };
                }
            }
            Value::Text(out.text())
        }
        "translate" => {
            let Value::Dict(table) = call.get(0, "table") else {
                fail!("translate needs a map");
            };
            let mut out = Buf::default();
            for (at, c) in text.char_indices() {
                match table.get_value(&(c as usize).into()) {
                    None => out.push_part(text, at..at + c.len_utf8()),
                    Some(Value::None(_)) => {}
                    Some(Value::Text(other)) => out.push_text(&other),
                    Some(other) => {
                        let code = other.int().and_then(|code| char::from_u32(code as u32));
                        out.push(
                            &code
                                .ok_or("a character becomes a text, a number or none")?
                                .to_string(),
                        );
                    }
                }
            }
            Value::Text(out.text())
        }
        "zfill" | "ljust" | "rjust" | "center" => {
            let width = call.int(0, "width")?.unwrap_or(0).max(0) as usize;
            let fill = call.text(1, "fillchar")?;
            let fill = fill.and_then(|fill| fill.chars().next()).unwrap_or(' ');
            let missing = width.saturating_sub(text.chars().count());
            let is_number = name == "zfill";
            let sign = usize::from(is_number && text.starts_with(['+', '-']));
            let fill = String::from(if is_number { '0' } else { fill });
            let left = match name {
                "ljust" => 0,
                "center" => missing / 2 + (missing & width & 1),
                _ => missing,
            };
            let mut out = Buf::default();
            out.push_part(text, 0..sign);
            out.fill(&fill, left);
            out.push_part(text, sign..text.len());
            out.fill(&fill, missing - left);
            Value::Text(out.text())
        }
        _ => {
            let test: fn(char) -> bool = match name {
                "isdecimal" => chars::decimal,
                "isdigit" => chars::digit,
                "isnumeric" => chars::numeric,
                "isalpha" => chars::alpha,
                "isalnum" => |c| chars::alpha(c) || chars::numeric(c),
                "isspace" => chars::space,
                "isidentifier" => return Ok(pystr::is_identifier(text).into()),
                "isprintable" => return Ok(text.chars().all(chars::printable).into()),
                "isascii" => return Ok(text.is_ascii().into()),
                "islower" => {
                    return Ok(pystr::cased(text, char::is_lowercase, char::is_uppercase).into());
                }
                "isupper" => {
                    return Ok(pystr::cased(text, char::is_uppercase, char::is_lowercase).into());
                }
                "istitle" => return Ok(pystr::is_title(text).into()),
                _ => fail!("string has no method {name}"),
            };
            (!text.is_empty() && text.chars().all(test)).into()
        }
    })
}
