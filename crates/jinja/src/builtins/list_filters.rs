//! Filters for lists and maps, as Jinja2 defines them. They return lists instead of the engine's
//! lazy iterables.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use super::args::{Args, Call};
use super::filters::{self, pair_list, tuples};
use super::functions::now;
use crate::budget::{self, charge, charge_container, charge_items, check_text};
use crate::fault::{Result, invalid};
use crate::probe::labels::Labels;
use crate::python::pyobject::{Form, List, as_list, as_text, end_item, item_at, items, pairs};
use crate::python::scalar::{bare, labels};

use crate::python::strings::joined;
use crate::python::{numbers, ops, pyrepr};
use crate::reading;

/// Name and code of each filter.
pub const FILTERS: &[(&str, Call)] = &[
    ("attr", |_, args| {
        Ok(attribute(args.subject(), &args.get(1, "name")))
    }),
    ("batch", batch),
    ("count", length),
    ("dictsort", dictsort),
    ("first", |_, args| end_item(args.subject(), false)),
    ("groupby", group_by),
    ("items", |_, args| pair_list(args.subject())),
    ("join", join),
    ("last", |_, args| end_item(args.subject(), true)),
    ("length", length),
    ("list", |_, args| List::of(items(args.subject())?)),
    ("map", map),
    ("max", |_, args| extreme(args, Ordering::Greater)),
    ("min", |_, args| extreme(args, Ordering::Less)),
    ("random", random),
    ("reject", |state, args| select(state, args, false)),
    ("rejectattr", |state, args| select_by(state, args, false)),
    ("reverse", reverse),
    ("select", |state, args| select(state, args, true)),
    ("selectattr", |state, args| select_by(state, args, true)),
    ("slice", slices),
    ("sort", sort),
    ("sum", sum),
    ("unique", unique),
];

/// Whether a template may use the filter.
pub fn is_filter(name: &str) -> bool {
    filters::FILTERS
        .iter()
        .chain(FILTERS)
        .any(|(known, _)| *known == name)
}

/// The items that `batch` and `slice` are given, the number of parts, and the value to fill them up
/// with.
fn parts(args: &Args, name: &str) -> Result<(Value, usize, Option<Value>)> {
    match usize::try_from(args.integer(1, name)?.unwrap_or(0)) {
        Ok(count @ 1..) => {
            let fill = args.some(2, "fill_with");
            Ok((List::of(items(args.subject())?)?, count, fill))
        }
        _ => Err(invalid(format!("{name} must be positive"))),
    }
}

/// The engine's list of lists as one of ours.
fn lists(parts: Value) -> Result<Value> {
    let mut lists = Vec::new();
    for part in parts.try_iter()? {
        lists.push(List::of(part.try_iter()?.collect())?);
    }
    List::of(lists)
}

/// `batch(linecount, fill_with)`: lists of so many items; the last one is filled up.
fn batch(state: &mut State, args: &Args) -> Result<Value> {
    let (all, count, fill) = parts(args, "linecount")?;
    charge_items(if fill.is_some() { count } else { 0 })?;
    lists(minijinja::filters::batch(state, all, count, fill)?)
}

/// `slice(slices, fill_with)`: so many lists of equal length; the first lists have the remaining
/// items, the last lists are filled up.
fn slices(state: &mut State, args: &Args) -> Result<Value> {
    let (all, count, fill) = parts(args, "slices")?;
    // Each is a list.
    (0..count).try_for_each(|_| charge_container(1))?;
    lists(minijinja::filters::slice(state, all, count, fill)?)
}

/// `sum(attribute, start)`.
fn sum(_: &mut State, args: &Args) -> Result<Value> {
    let name = args.some(1, "attribute");
    let mut sum = args.given(2, "start").unwrap_or_else(|| 0.into());
    for mut item in items(args.subject())? {
        if let Some(name) = &name {
            item = attribute(&item, name);
        }
        if !item.is_undefined() {
            sum = ops::add_two(&sum, &item)?;
        }
    }
    Ok(sum)
}

/// The units of work for calling a filter or a test.
const CALL: usize = 64;

/// `value.a.b` for `"a.b"`, `value[0]` for a number; undefined if it is missing.
fn attribute(value: &Value, name: &Value) -> Value {
    let Some(path) = name.as_str() else {
        return value.get_item(name).unwrap_or_default();
    };
    budget::note(path.len() as u64);
    let mut found = value.clone();
    for key in path.split('.') {
        found = item_at(&found, key);
    }
    found
}

/// The same, or another value where it is missing.
fn attribute_or(value: &Value, name: &Value, other: &Value) -> Value {
    match attribute(value, name) {
        found if found.is_undefined() => other.clone(),
        found => found,
    }
}

fn length(_: &mut State, args: &Args) -> Result<Value> {
    let value = args.subject();
    match as_text(value) {
        Some(text) => Ok(text.chars().count().into()),
        None if value.is_undefined() => Ok(0.into()),
        None => match value.len() {
            Some(length) => Ok(length.into()),
            None => Err(invalid(format!("{} has no length", value.kind()))),
        },
    }
}

fn join(_: &mut State, args: &Args) -> Result<Value> {
    let separator = args.get(1, "d");
    let mut all = items(args.subject())?;
    if let Some(name) = args.given(2, "attribute") {
        for item in &mut all {
            *item = attribute(item, &name);
        }
    }
    Ok(joined(&pyrepr::text(&separator), &all)?.into())
}

/// `map(attribute=name, default=value)` or `map(filter, arguments...)`.
fn map(state: &mut State, args: &Args) -> Result<Value> {
    let mut all = any_items(&args.get(0, "value"))?;
    let name = args.named("attribute");
    if !name.is_undefined() {
        let other = args.named("default");
        for item in &mut all {
            *item = attribute_or(item, &name, &other);
        }
        return List::of(all);
    }
    let filter = args.required_text(1, "filter")?;
    if !all.is_empty() && !is_filter(&filter) {
        let why = format!("filter {filter} is unknown");
        return Err(Error::new(ErrorKind::UnknownFilter, why));
    }
    for item in &mut all {
        budget::work(CALL)?;
        let call = [std::slice::from_ref(item), args.after(2)].concat();
        *item = state.apply_filter(&filter, &call)?;
    }
    List::of(all)
}

/// The items of a value; false values need not be lists.
fn any_items(value: &Value) -> Result<Vec<Value>> {
    if value.is_true() {
        items(value)
    } else {
        Ok(Vec::new())
    }
}

/// Filters items by a test, or by truth without one.
fn select(state: &mut State, args: &Args, keep: bool) -> Result<Value> {
    let mut kept = Vec::new();
    for item in any_items(args.subject())? {
        if passes(state, item.clone(), args.after(1))? == keep {
            kept.push(item);
        }
    }
    List::of(kept)
}

/// Filters items by a test of an attribute, or by its truth without one.
fn select_by(state: &mut State, args: &Args, keep: bool) -> Result<Value> {
    let value = args.subject();
    if let Some(list) = as_list(value) {
        list.trace.index();
    }
    let name = args.get(1, "attribute");
    let mut kept = Vec::new();
    for item in items(value)? {
        if passes(state, attribute(&item, &name), args.after(2))? == keep {
            kept.push(item);
        }
    }
    List::of(kept)
}

/// Whether a value passes a test with its arguments; without a test, whether it is true.
fn passes(state: &mut State, value: Value, test: &[Value]) -> Result<bool> {
    let Some((name, rest)) = test.split_first() else {
        return Ok(value.is_true());
    };
    let Some(name) = name.as_str() else {
        return Err(invalid("a test's name is needed"));
    };
    budget::work(CALL)?;
    state.perform_test(name, &[&[value], rest].concat())
}

fn reverse(_: &mut State, args: &Args) -> Result<Value> {
    let value = args.subject();
    if let Some(text) = as_text(value) {
        return Ok(text.chars().rev().collect::<String>().into());
    }
    let mut all = items(value)?;
    all.reverse();
    List::of(all)
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
    /// The items themselves are compared.
    fn of_items(state: &State, case_sensitive: bool) -> SortKey {
        SortKey {
            name: Value::UNDEFINED,
            case_sensitive,
            labels: labels(state),
        }
    }

    /// The key of each item.
    fn of_all<'v>(&self, items: impl IntoIterator<Item = &'v Value>) -> Result<Vec<Value>> {
        items.into_iter().map(|item| self.of(item)).collect()
    }

    fn of(&self, item: &Value) -> Result<Value> {
        let mut value = item.clone();
        if !self.name.is_undefined() {
            value = attribute(item, &self.name);
        }
        charge_items(1)?;
        let length = as_text(&value).map_or(0, str::len);
        check_text(length)?;
        charge(length)?;
        budget::work(length)?;
        value = bare(&value, self.labels.as_ref());
        Ok(match as_text(&value) {
            Some(text) if !self.case_sensitive => text.to_lowercase().into(),
            _ => numbers::plain(&value),
        })
    }
}

/// Sorts `all` by the first of `keys` that differs, each with the key of every item. Equal items
/// keep their order.
fn sorted<T>(all: Vec<T>, keys: &[Vec<Value>], reverse: bool) -> Result<Vec<T>> {
    reading::sort(keys.iter().flatten())?;
    charge_items(2 * all.len())?;
    let mut all: Vec<(usize, T)> = all.into_iter().enumerate().collect();
    chatparse_base::sort::by(&mut all, |(a, _), (b, _)| {
        let mut orders = keys.iter().map(|keys| keys[*a].cmp(&keys[*b]));
        let order = orders
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal);
        if reverse { order.reverse() } else { order }
    });
    Ok(all.into_iter().map(|(_, item)| item).collect())
}

/// The maximum number of attributes to sort by.
const SORT_NAMES: usize = 32;

/// `sort(reverse, case_sensitive, attribute)`: `attribute` may be a list separated by commas; the
/// first that differs decides.
fn sort(state: &mut State, args: &Args) -> Result<Value> {
    let (name, case_sensitive) = (args.get(3, "attribute"), args.flag(2, "case_sensitive"));
    let names = match as_text(&name) {
        Some(names) if names.matches(',').count() >= SORT_NAMES => {
            return Err(invalid("too many attributes to sort by"));
        }
        Some(names) => names.split(',').map(Value::from).collect(),
        None => vec![name],
    };
    let all = items(args.subject())?;
    let mut key = SortKey::of_items(state, case_sensitive);
    let mut keys = Vec::with_capacity(names.len());
    for name in names {
        key.name = name;
        keys.push(key.of_all(&all)?);
    }
    List::of(sorted(all, &keys, args.flag(1, "reverse"))?)
}

/// `groupby(attribute, default, case_sensitive)`: for each value of the attribute, in order, its
/// items.
fn group_by(state: &mut State, args: &Args) -> Result<Value> {
    let (name, other) = (args.get(1, "attribute"), args.get(2, "default"));
    let key = SortKey::of_items(state, args.flag(3, "case_sensitive"));
    let all = items(args.subject())?;
    let values: Vec<Value> = all
        .iter()
        .map(|item| attribute_or(item, &name, &other))
        .collect();
    let keys = key.of_all(&values)?;
    charge_items(3 * all.len())?;
    let all = keys.iter().cloned().zip(values).zip(all).collect();
    let all = sorted(all, &[keys], false)?;
    let mut groups = Vec::new();
    for group in all.chunk_by(|((a, _), _), ((b, _), _)| a == b) {
        let items = group.iter().map(|(_, item)| item.clone()).collect();
        let ((_, value), _) = &group[0];
        groups.push(List::make(
            vec![value.clone(), List::of(items)?],
            Form::Group,
        )?);
    }
    List::of(groups)
}

/// A random item. It depends on the render's clock only, so that prompts are reproducible.
fn random(state: &mut State, args: &Args) -> Result<Value> {
    let all = items(args.subject())?;
    let now = now(state).unwrap_or_default();
    let index = now.checked_rem_euclid(all.len() as i64).unwrap_or(0);
    Ok(all.get(index as usize).cloned().unwrap_or_default())
}

fn dictsort(state: &mut State, args: &Args) -> Result<Value> {
    let by_value = match args.text(2, "by")?.as_deref() {
        None | Some("key") => false,
        Some("value") => true,
        Some(_) => return Err(invalid("dictsort sorts by key or value")),
    };
    let value = args.subject();
    if value.kind() != ValueKind::Map {
        let why = format!("dictsort needs a map, not {}", value.kind());
        return Err(invalid(why));
    }
    let all = pairs(value)?;
    let compared = all
        .iter()
        .map(|(name, value)| if by_value { value } else { name });
    let key = SortKey::of_items(state, args.flag(1, "case_sensitive"));
    let keys = key.of_all(compared)?;
    tuples(sorted(all, &[keys], args.flag(3, "reverse"))?)
}

/// The items of a value, and their keys, which `min`, `max` and `unique` compare.
fn keyed(args: &Args) -> Result<(Vec<Value>, Vec<Value>)> {
    let key = SortKey {
        name: args.get(2, "attribute"),
        case_sensitive: args.flag(1, "case_sensitive"),
        labels: None,
    };
    let all = items(args.subject())?;
    let keys = key.of_all(&all)?;
    Ok((all, keys))
}

fn extreme(args: &Args, expected: Ordering) -> Result<Value> {
    let (all, keys) = keyed(args)?;
    keys.iter().try_for_each(reading::read)?;
    let mut best = 0;
    for (index, key) in keys.iter().enumerate() {
        if key.cmp(&keys[best]) == expected {
            best = index;
        }
    }
    Ok(all.get(best).cloned().unwrap_or_default())
}

fn unique(_: &mut State, args: &Args) -> Result<Value> {
    let (mut all, keys) = keyed(args)?;
    reading::sort(keys.iter())?;
    let (mut seen, mut each_key) = (BTreeSet::new(), keys.iter());
    all.retain(|_| each_key.next().is_some_and(|key| seen.insert(key)));
    List::of(all)
}
