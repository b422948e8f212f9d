//! Filters on lists and maps, as Jinja2 defines them. They give lists, where the engine's own give lazy iterables.

use std::cmp::Ordering;

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind, State, filters};

use super::args::{Args, Call, subject};
use super::budget::check_text;
use super::bytes::Bytes;
use super::filters::pair_list;
use super::print;
use super::value::{List, as_text, items, own, pairs};

/// Name and code of each filter.
pub(super) const FILTERS: &[(&str, Call)] = &[
    ("attr", |_, args| Ok(attribute(&subject(args), &Args::new(args)?.get(1, "name")))),
    ("batch", |state, args| native(state, args, Value::from_function(filters::batch)).and_then(own)),
    ("count", length),
    ("dictsort", dictsort),
    ("first", |_, args| Ok(items(&subject(args))?.first().cloned().unwrap_or_default())),
    ("groupby", |state, args| native(state, args, Value::from_function(filters::groupby)).and_then(own)),
    ("items", |_, args| pair_list(&subject(args))),
    ("join", join),
    ("last", |_, args| Ok(items(&subject(args))?.last().cloned().unwrap_or_default())),
    ("length", length),
    ("list", |_, args| List::of(items(&subject(args))?)),
    ("map", map),
    ("max", |_, args| extreme(args, Ordering::Greater)),
    ("min", |_, args| extreme(args, Ordering::Less)),
    ("reject", |state, args| select(state, args, false)),
    ("rejectattr", |state, args| select_by(state, args, false)),
    ("reverse", reverse),
    ("select", |state, args| select(state, args, true)),
    ("selectattr", |state, args| select_by(state, args, true)),
    ("slice", |state, args| native(state, args, Value::from_function(filters::slice)).and_then(own)),
    ("sort", sort),
    ("sum", |state, args| native(state, args, Value::from_function(filters::sum))),
    ("unique", unique),
];

/// A filter of the engine's.
fn native(state: &mut State, args: &[Value], filter: Value) -> Result<Value, Error> {
    filter.call(state, args)
}

/// `value.a.b` for `"a.b"`, `value[0]` for a number; undefined where it is missing.
fn attribute(value: &Value, name: &Value) -> Value {
    match name.as_str() {
        Some(path) => path.split('.').fold(value.clone(), |value, part| {
            let key = part.parse::<usize>().map_or_else(|_| Value::from(part), Value::from);
            value.get_item(&key).unwrap_or_default()
        }),
        None => value.get_item(name).unwrap_or_default(),
    }
}

fn length(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let value = subject(args);
    let length = match as_text(&value) {
        Some(text) => Some(text.chars().count()),
        None if value.is_undefined() => Some(0),
        None => value.downcast_object_ref::<Bytes>().map(|bytes| bytes.0.len()).or_else(|| value.len()),
    };
    match length {
        Some(length) => Ok(Value::from(length)),
        None => Err(Error::new(ErrorKind::InvalidOperation, format!("{} has no length", value.kind()))),
    }
}

fn join(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let args = Args::new(args)?;
    let name = args.get(2, "attribute");
    let separator = args.get(1, "d");
    let separator = print::text(&separator);
    let mut out = String::new();
    for (index, item) in items(&args.get(0, "value"))?.iter().enumerate() {
        if index > 0 {
            out.push_str(&separator);
        }
        out.push_str(&print::text(&if name.is_undefined() { item.clone() } else { attribute(item, &name) }));
        check_text(out.len())?;
    }
    Ok(Value::from(out))
}

/// `map(attribute=name, default=value)` or `map(filter, arguments...)`.
fn map(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let parsed = Args::new(args)?;
    let all = items(&parsed.get(0, "value"))?;
    let name = parsed.named("attribute");
    if !name.is_undefined() {
        let other = parsed.named("default");
        let pick = |item: &Value| match attribute(item, &name) {
            value if value.is_undefined() => other.clone(),
            value => value,
        };
        return List::of(all.iter().map(pick).collect());
    }
    let filter = parsed.required_text(1, "filter")?;
    let mapped = all.into_iter().map(|item| {
        let mut call = vec![item];
        call.extend_from_slice(&args[2..]);
        state.apply_filter(&filter, &call)
    });
    List::of(mapped.collect::<Result<_, _>>()?)
}

/// Those that pass a test, or are true where none is named.
fn select(state: &mut State, args: &[Value], keep: bool) -> Result<Value, Error> {
    let mut kept = Vec::new();
    for item in items(&subject(args))? {
        if passes(state, &item, args.get(1..).unwrap_or_default())? == keep {
            kept.push(item);
        }
    }
    List::of(kept)
}

/// Those with an attribute that passes a test, or is true where none is named.
fn select_by(state: &mut State, args: &[Value], keep: bool) -> Result<Value, Error> {
    let value = subject(args);
    if let Some(trace) = value.downcast_object_ref::<List>().and_then(|list| list.trace.as_ref()) {
        trace.index();
    }
    let name = Args::new(args)?.get(1, "attribute");
    let mut kept = Vec::new();
    for item in items(&value)? {
        if passes(state, &attribute(&item, &name), args.get(2..).unwrap_or_default())? == keep {
            kept.push(item);
        }
    }
    List::of(kept)
}

fn passes(state: &mut State, value: &Value, test: &[Value]) -> Result<bool, Error> {
    match test.split_first() {
        None => Ok(value.is_true()),
        Some((name, rest)) => {
            let name =
                name.as_str().ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "a test's name is needed"))?;
            let mut call = vec![value.clone()];
            call.extend_from_slice(rest);
            state.perform_test(name, &call)
        }
    }
}

fn reverse(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let value = subject(args);
    match as_text(&value) {
        Some(text) => Ok(Value::from(text.chars().rev().collect::<String>())),
        None => List::of(items(&value)?.into_iter().rev().collect()),
    }
}

/// The key that a value sorts by: texts without regard to case, unless asked otherwise.
fn sort_key(value: &Value, case_sensitive: bool) -> Value {
    match as_text(value) {
        Some(text) if !case_sensitive => Value::from(text.to_lowercase()),
        _ => value.clone(),
    }
}

fn sort(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let args = Args::new(args)?;
    let name = args.get(3, "attribute");
    let case_sensitive = args.flag(2, "case_sensitive");
    let mut all = items(&args.get(0, "value"))?;
    let key = |item: &Value| match &name {
        name if name.is_undefined() => sort_key(item, case_sensitive),
        name => sort_key(&attribute(item, name), case_sensitive),
    };
    // Reversing the order, not the list, keeps equal items as they were.
    if args.flag(1, "reverse") {
        all.sort_by_cached_key(|item| std::cmp::Reverse(key(item)));
    } else {
        all.sort_by_cached_key(key);
    }
    List::of(all)
}

fn dictsort(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let args = Args::new(args)?;
    let case_sensitive = args.flag(1, "case_sensitive");
    let by_value = args.text(2, "by")?.as_deref() == Some("value");
    let value = args.get(0, "value");
    if value.kind() != ValueKind::Map {
        return Err(Error::new(ErrorKind::InvalidOperation, format!("dictsort needs a map, not {}", value.kind())));
    }
    let mut all = pairs(&value)?;
    let key = |pair: &(Value, Value)| sort_key(if by_value { &pair.1 } else { &pair.0 }, case_sensitive);
    if args.flag(3, "reverse") {
        all.sort_by_cached_key(|pair| std::cmp::Reverse(key(pair)));
    } else {
        all.sort_by_cached_key(key);
    }
    List::of(all.into_iter().map(|(key, item)| List::tuple(vec![key, item])).collect::<Result<_, _>>()?)
}

fn extreme(args: &[Value], wanted: Ordering) -> Result<Value, Error> {
    let args = Args::new(args)?;
    let (case_sensitive, name) = (args.flag(1, "case_sensitive"), args.get(2, "attribute"));
    let key = |item: &Value| match &name {
        name if name.is_undefined() => sort_key(item, case_sensitive),
        name => sort_key(&attribute(item, name), case_sensitive),
    };
    let best = items(&args.get(0, "value"))?
        .into_iter()
        .reduce(|best, item| if key(&item).cmp(&key(&best)) == wanted { item } else { best });
    Ok(best.unwrap_or_default())
}

fn unique(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let args = Args::new(args)?;
    let (case_sensitive, name) = (args.flag(1, "case_sensitive"), args.get(2, "attribute"));
    let mut seen = std::collections::BTreeSet::new();
    let mut all = items(&args.get(0, "value"))?;
    all.retain(|item| {
        let value = if name.is_undefined() { item.clone() } else { attribute(item, &name) };
        seen.insert(sort_key(&value, case_sensitive))
    });
    List::of(all)
}
