//! Python methods of strings, lists and maps.

use minijinja::formatting::{FormatStyle, format};
use minijinja::value::Value;
use minijinja::{Error, ErrorKind, State};

use super::args::Args;
use super::budget::{charge_items, charge_value, check_text};
use super::filters::{check_format, pair_list};
use super::print;
use super::text::{self, Ends};
use super::value::{Dict, List, as_text, items, own, pairs};

/// `value.name(args)`.
pub(super) fn call(state: &mut State, value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    let result = if let Some(text) = as_text(value) {
        string(text, name, args)
    } else if let Some(dict) = value.downcast_object_ref::<Dict>() {
        map(dict, value, name, args)
    } else if let Some(list) = value.downcast_object_ref::<List>() {
        charge_items(state, args.len())?;
        sequence(list, name, args)
    } else if value.kind() == minijinja::value::ValueKind::Map {
        native_map(value, name, args)
    } else if (value.is_undefined() || value.is_none()) && name == "items" {
        List::of(Vec::new())
    } else {
        Err(Error::from(ErrorKind::UnknownMethod))
    }?;
    charge_value(state, &result)?;
    Ok(result)
}

fn string(this: &str, name: &str, args: &[Value]) -> Result<Value, Error> {
    let args = Args::new(args)?;
    let all = |test: fn(char) -> bool| Value::from(!this.is_empty() && this.chars().all(test));
    let cased = |wanted: fn(char) -> bool, unwanted: fn(char) -> bool| {
        Value::from(this.chars().any(wanted) && !this.chars().any(unwanted))
    };
    let strip = |left: bool, right: bool| {
        let chars = args.text(0, "chars")?;
        Ok(Value::from(text::strip(this, Ends { left, right }, chars.as_deref())))
    };
    let list = |texts: Vec<String>| List::of(texts.into_iter().map(Value::from).collect());
    Ok(match name {
        "upper" => Value::from(this.to_uppercase()),
        "lower" | "casefold" => Value::from(this.to_lowercase()),
        "capitalize" => Value::from(text::capitalize(this)),
        "title" => Value::from(text::title(this, |c| !c.is_alphabetic())),
        "strip" => return strip(true, true),
        "lstrip" => return strip(true, false),
        "rstrip" => return strip(false, true),
        "startswith" => Value::from(any_of(&args, |part| this.starts_with(part))?),
        "endswith" => Value::from(any_of(&args, |part| this.ends_with(part))?),
        "removeprefix" => Value::from(this.strip_prefix(&*args.required_text(0, "prefix")?).unwrap_or(this)),
        "removesuffix" => Value::from(this.strip_suffix(&*args.required_text(0, "suffix")?).unwrap_or(this)),
        "split" | "rsplit" => {
            let separator = args.text(0, "sep")?;
            let pieces = text::split(this, separator.as_deref(), args.integer(1, "maxsplit")?, name == "rsplit")?;
            return list(pieces);
        }
        "splitlines" => return list(text::lines(this, args.flag(0, "keepends"))),
        "partition" | "rpartition" => return partition(this, &args.required_text(0, "sep")?, name == "rpartition"),
        "replace" => {
            let (old, new) = (args.required_text(0, "old")?, args.required_text(1, "new")?);
            Value::from(text::replace(this, &old, &new, args.integer(2, "count")?)?)
        }
        "find" | "rfind" | "index" => {
            let part = args.required_text(0, "sub")?;
            let at = if name == "rfind" { this.rfind(&*part) } else { this.find(&*part) };
            match at.map(|at| this[..at].chars().count() as i64) {
                None if name == "index" => return Err(Error::new(ErrorKind::InvalidOperation, "substring not found")),
                at => Value::from(at.unwrap_or(-1)),
            }
        }
        "count" => Value::from(this.matches(&*args.required_text(0, "sub")?).count()),
        "join" => {
            let all = items(&args.get(0, "iterable"))?;
            let parts: Vec<_> = all.iter().map(print::text).collect();
            check_text(parts.iter().map(|part| part.len() + this.len()).sum())?;
            Value::from(parts.join(this))
        }
        "format" => {
            check_format(this)?;
            let mut values: Vec<Value> = args.positional().to_vec();
            let named: Vec<(String, Value)> = args.names().map(|n| (n.to_owned(), args.named(n))).collect();
            if !named.is_empty() {
                values.push(Value::from(named.into_iter().collect::<minijinja::value::Kwargs>()));
            }
            check_text(values.iter().map(|value| print::text(value).len()).sum::<usize>().saturating_mul(this.len()))?;
            Value::from(format(FormatStyle::StrFormat, this, &values)?)
        }
        "isdigit" | "isnumeric" | "isdecimal" => all(char::is_numeric),
        "isalpha" => all(char::is_alphabetic),
        "isalnum" => all(char::is_alphanumeric),
        "isspace" => all(char::is_whitespace),
        "isascii" => Value::from(this.is_ascii()),
        "islower" => cased(char::is_lowercase, char::is_uppercase),
        "isupper" => cased(char::is_uppercase, char::is_lowercase),
        "zfill" | "ljust" | "rjust" | "center" => return pad(this, name, &args),
        _ => return Err(Error::from(ErrorKind::UnknownMethod)),
    })
}

/// The first argument is a text, or a tuple of which one is enough.
fn any_of(args: &Args, test: impl Fn(&str) -> bool) -> Result<bool, Error> {
    let parts = args.get(0, "prefix");
    match as_text(&parts) {
        Some(part) => Ok(test(part)),
        None => Ok(items(&parts)?.iter().any(|part| as_text(part).is_some_and(&test))),
    }
}

fn partition(this: &str, separator: &str, right: bool) -> Result<Value, Error> {
    if separator.is_empty() {
        return Err(Error::new(ErrorKind::InvalidOperation, "empty separator"));
    }
    let cut = if right { this.rsplit_once(separator) } else { this.split_once(separator) };
    let parts = match cut {
        Some((before, after)) => [before, separator, after],
        None if right => ["", "", this],
        None => [this, "", ""],
    };
    List::tuple(parts.into_iter().map(Value::from).collect())
}

fn pad(this: &str, name: &str, args: &Args) -> Result<Value, Error> {
    let width = args.integer(0, "width")?.and_then(|width| usize::try_from(width).ok()).unwrap_or(0);
    let fill = args.text(1, "fillchar")?.and_then(|fill| fill.chars().next()).unwrap_or(' ');
    let missing = width.saturating_sub(this.chars().count());
    check_text(missing.saturating_mul(fill.len_utf8()))?;
    let run = |count: usize, fill: char| fill.to_string().repeat(count);
    Ok(Value::from(match name {
        "zfill" => {
            let (sign, digits) = this.split_at(usize::from(this.starts_with(['+', '-'])));
            format!("{sign}{}{digits}", run(missing, '0'))
        }
        "ljust" => format!("{this}{}", run(missing, fill)),
        "rjust" => format!("{}{this}", run(missing, fill)),
        _ => format!("{}{this}{}", run(missing / 2, fill), run(missing - missing / 2, fill)),
    }))
}

fn map(dict: &Dict, value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    let parsed = Args::new(args)?;
    let key = || parsed.get(0, "key");
    let keep = |value: Value| if value.is_undefined() { Ok(Value::from(())) } else { own(value) };
    match name {
        "pop" => {
            let found = dict.get(&key());
            dict.change(&[], |pairs| pairs.retain(|(name, _)| *name != key()))?;
            found.or_else(|| parsed.positional().get(1).cloned()).ok_or_else(|| no_key(&key()))
        }
        "setdefault" => {
            if let Some(found) = dict.get(&key()) {
                return Ok(found);
            }
            let pair = (key(), keep(parsed.get(1, "default"))?);
            dict.change(std::slice::from_ref(&pair), |pairs| pairs.push(pair.clone()))?;
            Ok(pair.1)
        }
        "update" => {
            let mut added = match parsed.positional().first() {
                Some(other) => pairs(other)?,
                None => Vec::new(),
            };
            added.extend(parsed.names().map(|name| (Value::from(name), parsed.named(name))));
            let added =
                added.into_iter().map(|(key, value)| Ok((key, keep(value)?))).collect::<Result<Vec<_>, Error>>()?;
            dict.change(&added, |pairs| pairs.extend(added.iter().cloned()))?;
            Ok(Value::from(()))
        }
        "clear" => dict.change(&[], Vec::clear).map(|()| Value::from(())),
        "get" => {
            if let (Some(trace), Some(name)) = (&dict.trace, key().as_str()) {
                trace.read_child(name);
            }
            let other = || parsed.positional().get(1).cloned().unwrap_or_else(|| Value::from(()));
            Ok(dict.get(&key()).unwrap_or_else(other))
        }
        _ => native_map(value, name, args),
    }
}

/// What every map can do, a namespace too.
fn native_map(value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    let args = Args::new(args)?;
    match name {
        "get" => {
            let found = value.get_item(&args.get(0, "key")).unwrap_or_default();
            let other = || args.positional().get(1).cloned().unwrap_or_else(|| Value::from(()));
            Ok(if found.is_undefined() { other() } else { found })
        }
        "items" => pair_list(value),
        "keys" => List::of(pairs(value)?.into_iter().map(|(key, _)| key).collect()),
        "values" => List::of(pairs(value)?.into_iter().map(|(_, item)| item).collect()),
        "copy" => Dict::of(pairs(value)?),
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    }
}

fn no_key(key: &Value) -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("the map has no key {}", print::repr(key)))
}

fn sequence(list: &List, name: &str, args: &[Value]) -> Result<Value, Error> {
    let args = Args::new(args)?;
    let first = || args.get(0, "value");
    let nothing = || Value::from(());
    let position = |list: &List| list.items().iter().position(|item| *item == first());
    let missing = || Error::new(ErrorKind::InvalidOperation, "the list has no such item");
    match name {
        "append" => {
            let item = own(first())?;
            list.change(std::slice::from_ref(&item), |items| items.push(item.clone())).map(|()| nothing())
        }
        "extend" => {
            let added = items(&first())?.into_iter().map(own).collect::<Result<Vec<_>, _>>()?;
            list.change(&added, |items| items.extend(added.iter().cloned())).map(|()| nothing())
        }
        "insert" => {
            let at = args.integer(0, "index")?.unwrap_or(0);
            let item = own(args.get(1, "object"))?;
            let put = |items: &mut Vec<Value>| {
                let at = if at < 0 { at.saturating_add(items.len() as i64).max(0) } else { at };
                items.insert(usize::try_from(at).unwrap_or(usize::MAX).min(items.len()), item.clone());
            };
            list.change(std::slice::from_ref(&item), put).map(|()| nothing())
        }
        "pop" => {
            let at = args.integer(0, "index")?.unwrap_or(-1);
            let take = |items: &mut Vec<Value>| {
                let at = if at < 0 { at.saturating_add(items.len() as i64) } else { at };
                usize::try_from(at).ok().filter(|&at| at < items.len()).map(|at| items.remove(at))
            };
            list.change(&[], take)?.ok_or_else(missing)
        }
        "remove" => {
            let at = position(list).ok_or_else(missing)?;
            list.change(&[], |items| items.remove(at)).map(|_| nothing())
        }
        "index" => position(list).map(Value::from).ok_or_else(missing),
        "count" => Ok(Value::from(list.items().iter().filter(|item| **item == first()).count())),
        "reverse" => list.change(&[], |items| items.reverse()).map(|()| nothing()),
        "clear" => list.change(&[], Vec::clear).map(|()| nothing()),
        "copy" => List::of(list.items()),
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    }
}
