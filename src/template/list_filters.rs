//! Filters for lists and maps, as Jinja2 defines them. They return lists instead of the engine's lazy iterables.

use std::cmp::Ordering;

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind, State, filters};

use super::args::{Args, Call, subject};
use super::budget::check_text;
use super::bytes::Bytes;
use super::context::NOW;
use super::filters::pair_list;
use super::labels::Labels;
use super::numbers;
use super::pyobject::{Form, List, as_text, items, own, pairs};
use super::pyrepr;
use super::scalar::{bare, labels};

/// Name and code of each filter.
pub(super) const FILTERS: &[(&str, Call)] = &[
    ("attr", |_, args| Ok(attribute(&subject(args), &Args::new(args)?.get(1, "name")))),
    ("batch", |state, args| native(state, args, Value::from_function(filters::batch)).and_then(own)),
    ("count", length),
    ("dictsort", dictsort),
    ("first", |_, args| Ok(items(&subject(args))?.first().cloned().unwrap_or_default())),
    ("groupby", group_by),
    ("items", |_, args| pair_list(&subject(args))),
    ("join", join),
    ("last", |_, args| Ok(items(&subject(args))?.last().cloned().unwrap_or_default())),
    ("length", length),
    ("list", |_, args| List::of(items(&subject(args))?)),
    ("map", map),
    ("max", |_, args| extreme(args, Ordering::Greater)),
    ("min", |_, args| extreme(args, Ordering::Less)),
    ("random", random),
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

/// Calls a filter of the engine.
fn native(state: &mut State, args: &[Value], filter: Value) -> Result<Value, Error> {
    filter.call(state, args)
}

/// `value.a.b` for `"a.b"`, `value[0]` for a number; undefined if it is missing.
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
    let separator = pyrepr::text(&separator);
    let mut out = String::new();
    for (index, item) in items(&args.get(0, "value"))?.iter().enumerate() {
        if index > 0 {
            out.push_str(&separator);
        }
        out.push_str(&pyrepr::text(&if name.is_undefined() { item.clone() } else { attribute(item, &name) }));
        check_text(out.len())?;
    }
    Ok(Value::from(out))
}

/// `map(attribute=name, default=value)` or `map(filter, arguments...)`.
fn map(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let parsed = Args::new(args)?;
    let all = any_items(&parsed.get(0, "value"))?;
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

/// The items of a value; false values need not be lists.
fn any_items(value: &Value) -> Result<Vec<Value>, Error> {
    if value.is_true() { items(value) } else { Ok(Vec::new()) }
}

/// Filters items by a test, or by truth without one.
fn select(state: &mut State, args: &[Value], keep: bool) -> Result<Value, Error> {
    let mut kept = Vec::new();
    for item in any_items(&subject(args))? {
        if passes(state, &item, args.get(1..).unwrap_or_default())? == keep {
            kept.push(item);
        }
    }
    List::of(kept)
}

/// Filters items by a test of an attribute, or by its truth without one.
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

/// The sort key of an item: the item or an attribute, with case ignored unless requested.
struct SortKey {
    /// Undefined: the item.
    name: Value,
    case_sensitive: bool,
    /// The labels that texts may contain; they are ignored in sorting.
    labels: Option<Labels>,
}

impl SortKey {
    fn of(&self, item: &Value) -> Value {
        if self.name.is_undefined() { self.plain(item) } else { self.plain(&attribute(item, &self.name)) }
    }

    fn plain(&self, value: &Value) -> Value {
        let value = self.labels.map_or_else(|| value.clone(), |labels| bare(value, &labels));
        match as_text(&value) {
            Some(text) if !self.case_sensitive => Value::from(text.to_lowercase()),
            _ => numbers::plain(&value),
        }
    }
}

/// Sorts `all` by the first of `keys` that differs. Equal items keep their order: what is reversed is reversed before, too.
fn sort_by<T>(all: &mut [T], reverse: bool, keys: &dyn Fn(&T) -> Vec<Value>) {
    if reverse {
        all.reverse();
    }
    all.sort_by_cached_key(keys);
    if reverse {
        all.reverse();
    }
}

/// The maximum number of attributes to sort by.
const SORT_NAMES: usize = 32;

/// `sort(reverse, case_sensitive, attribute)`: `attribute` may be a list separated by commas; the first that differs
/// decides.
fn sort(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let args = Args::new(args)?;
    let (name, case_sensitive) = (args.get(3, "attribute"), args.flag(2, "case_sensitive"));
    let names = match as_text(&name) {
        Some(names) if names.matches(',').count() >= SORT_NAMES => {
            return Err(Error::new(ErrorKind::InvalidOperation, "too many attributes to sort by"));
        }
        Some(names) => names.split(',').map(Value::from).collect(),
        None => vec![name],
    };
    let labels = labels(state);
    let keys: Vec<SortKey> = names.into_iter().map(|name| SortKey { name, case_sensitive, labels }).collect();
    let mut all = items(&args.get(0, "value"))?;
    sort_by(&mut all, args.flag(1, "reverse"), &|item| keys.iter().map(|key| key.of(item)).collect());
    List::of(all)
}

/// `groupby(attribute, default, case_sensitive)`: for each value of the attribute, in order, its items.
fn group_by(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let args = Args::new(args)?;
    let (name, other) = (args.get(1, "attribute"), args.get(2, "default"));
    let case_sensitive = args.flag(3, "case_sensitive");
    let key = SortKey { name: Value::UNDEFINED, case_sensitive, labels: labels(state) };
    let of = |item: &Value| match attribute(item, &name) {
        value if value.is_undefined() => other.clone(),
        value => value,
    };
    let mut all: Vec<(Value, Value)> =
        items(&args.get(0, "value"))?.into_iter().map(|item| (of(&item), item)).collect();
    sort_by(&mut all, false, &|(value, _)| vec![key.of(value)]);
    let groups = all.chunk_by(|(a, _), (b, _)| key.of(a) == key.of(b));
    let group = |group: &[(Value, Value)]| {
        let items = group.iter().map(|(_, item)| item.clone()).collect();
        List::make(vec![group[0].0.clone(), List::of(items)?], Form::Group)
    };
    List::of(groups.map(group).collect::<Result<_, _>>()?)
}

/// A random item. It depends on the render's clock only, so that prompts are reproducible.
fn random(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let all = items(&subject(args))?;
    let now = state.lookup(NOW).and_then(|now| now.as_i64()).unwrap_or_default();
    let at = now.checked_rem_euclid(all.len() as i64).unwrap_or(0);
    Ok(all.get(at as usize).cloned().unwrap_or_default())
}

fn dictsort(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let args = Args::new(args)?;
    let by_value = match args.text(2, "by")?.as_deref() {
        None | Some("key") => false,
        Some("value") => true,
        Some(_) => return Err(Error::new(ErrorKind::InvalidOperation, "dictsort sorts by key or value")),
    };
    let value = args.get(0, "value");
    if value.kind() != ValueKind::Map {
        return Err(Error::new(ErrorKind::InvalidOperation, format!("dictsort needs a map, not {}", value.kind())));
    }
    let mut all = pairs(&value)?;
    let case_sensitive = args.flag(1, "case_sensitive");
    let key = SortKey { name: Value::UNDEFINED, case_sensitive, labels: labels(state) };
    sort_by(&mut all, args.flag(3, "reverse"), &|(name, value)| vec![key.of(if by_value { value } else { name })]);
    List::of(all.into_iter().map(|(key, item)| List::tuple(vec![key, item])).collect::<Result<_, _>>()?)
}

fn extreme(args: &[Value], expected: Ordering) -> Result<Value, Error> {
    let args = Args::new(args)?;
    let key = SortKey { name: args.get(2, "attribute"), case_sensitive: args.flag(1, "case_sensitive"), labels: None };
    let best = items(&args.get(0, "value"))?
        .into_iter()
        .reduce(|best, item| if key.of(&item).cmp(&key.of(&best)) == expected { item } else { best });
    Ok(best.unwrap_or_default())
}

fn unique(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let args = Args::new(args)?;
    let key = SortKey { name: args.get(2, "attribute"), case_sensitive: args.flag(1, "case_sensitive"), labels: None };
    let mut seen = std::collections::BTreeSet::new();
    let mut all = items(&args.get(0, "value"))?;
    all.retain(|item| seen.insert(key.of(item)));
    List::of(all)
}
