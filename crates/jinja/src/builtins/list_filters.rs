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
use crate::python::pyobject::{Form, List, as_list, as_text, end_item, items, pairs};
use crate::python::scalar::{bare, labels};
use crate::python::strings::joined;
use crate::python::{numbers, ops, pyrepr};
use crate::reading;

/// Name and code of each filter.
pub const FILTERS: &[(&str, Call)] = &[
    ("attr", |_, args| {
        Ok(attribute(&args.subject(), &args.get(1, "name")))
    }),
    ("batch", batch),
    ("count", length),
    ("dictsort", dictsort),
    ("first", |_, args| end_item(&args.subject(), false)),
    ("groupby", group_by),
    ("items", |_, args| pair_list(&args.subject())),
    ("join", join),
    ("last", |_, args| end_item(&args.subject(), true)),
    ("length", length),
    ("list", |_, args| List::of(items(&args.subject())?)),
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
    let count = args
        .integer(1, name)?
        .and_then(|count| usize::try_from(count).ok())
        .filter(|count| *count > 0);
    let count = count.ok_or_else(|| invalid(format!("{name} must be positive")))?;
    let fill = args.given(2, "fill_with").filter(|fill| !fill.is_none());
    Ok((List::of(items(&args.subject())?)?, count, fill))
}

/// The engine's list of lists as one of ours.
fn lists(parts: Value) -> Result<Value> {
    let parts = parts
        .try_iter()?
        .map(|part| List::of(part.try_iter()?.collect()));
    List::of(parts.collect::<Result<_>>()?)
}

/// `batch(linecount, fill_with)`: lists of so many items; the last one is filled up.
fn batch(state: &mut State, args: &Args) -> Result<Value> {
    let (all, count, fill) = parts(args, "linecount")?;
    charge_items(if fill.is_some() { count } else { 0 })?;
    lists(minijinja::filters::batch(state, all, count, fill)?)
}

/// `slice(slices, fill_with)`: so many lists of equal length; the first ones have the items that
/// are left, the others are filled up.
fn slices(state: &mut State, args: &Args) -> Result<Value> {
    let (all, count, fill) = parts(args, "slices")?;
    // Each is a list.
    (0..count).try_for_each(|_| charge_container(1))?;
    lists(minijinja::filters::slice(state, all, count, fill)?)
}

/// `sum(attribute, start)`.
fn sum(_: &mut State, args: &Args) -> Result<Value> {
    let (name, start) = (args.get(1, "attribute"), args.get(2, "start"));
    let mut sum = if start.is_undefined() {
        Value::from(0)
    } else {
        start
    };
    for item in items(&args.subject())? {
        let value = if name.is_undefined() || name.is_none() {
            item
        } else {
            attribute(&item, &name)
        };
        if !value.is_undefined() {
            sum = ops::add_two(&sum, &value)?;
        }
    }
    Ok(sum)
}

/// The units of work for calling a filter or a test.
const CALL: usize = 64;

/// `value.a.b` for `"a.b"`, `value[0]` for a number; undefined if it is missing.
fn attribute(value: &Value, name: &Value) -> Value {
    budget::note(name.as_str().map_or(0, str::len) as u64);
    match name.as_str() {
        Some(path) => path.split('.').fold(value.clone(), |value, part| {
            let key = part
                .parse::<usize>()
                .map_or_else(|_| Value::from(part), Value::from);
            value.get_item(&key).unwrap_or_default()
        }),
        None => value.get_item(name).unwrap_or_default(),
    }
}

/// The same, or another value where it is missing.
fn attribute_or(value: &Value, name: &Value, other: &Value) -> Value {
    Some(attribute(value, name))
        .filter(|found| !found.is_undefined())
        .unwrap_or_else(|| other.clone())
}

fn length(_: &mut State, args: &Args) -> Result<Value> {
    let value = args.subject();
    let length = match as_text(&value) {
        Some(text) => Some(text.chars().count()),
        None if value.is_undefined() => Some(0),
        None => value.len(),
    };
    length
        .map(Value::from)
        .ok_or_else(|| invalid(format!("{} has no length", value.kind())))
}

fn join(_: &mut State, args: &Args) -> Result<Value> {
    let name = args.get(2, "attribute");
    let separator = args.get(1, "d");
    let separator = pyrepr::text(&separator);
    let mut all = items(&args.subject())?;
    if !name.is_undefined() {
        all.iter_mut()
            .for_each(|item| *item = attribute(item, &name));
    }
    Ok(Value::from(joined(&separator, all.iter())?))
}

/// `map(attribute=name, default=value)` or `map(filter, arguments...)`.
fn map(state: &mut State, args: &Args) -> Result<Value> {
    let all = any_items(&args.get(0, "value"))?;
    let name = args.named("attribute");
    if !name.is_undefined() {
        let other = args.named("default");
        return List::of(
            all.iter()
                .map(|item| attribute_or(item, &name, &other))
                .collect(),
        );
    }
    let filter = args.required_text(1, "filter")?;
    let is_known = is_filter(&filter);
    let mapped = all.into_iter().map(|item| {
        if !is_known {
            return Err(Error::new(
                ErrorKind::UnknownFilter,
                format!("filter {filter} is unknown"),
            ));
        }
        budget::work(CALL)?;
        let mut call = vec![item];
        call.extend_from_slice(args.after(2));
        state.apply_filter(&filter, &call)
    });
    List::of(mapped.collect::<Result<_, _>>()?)
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
    kept(
        state,
        any_items(&args.subject())?,
        Value::clone,
        args.after(1),
        keep,
    )
}

/// Filters items by a test of an attribute, or by its truth without one.
fn select_by(state: &mut State, args: &Args, keep: bool) -> Result<Value> {
    let value = args.subject();
    if let Some(trace) = as_list(&value).and_then(|list| list.trace.as_ref()) {
        trace.index();
    }
    let name = args.get(1, "attribute");
    kept(
        state,
        items(&value)?,
        |item| attribute(item, &name),
        args.after(2),
        keep,
    )
}

/// The items whose tested value passes; or those whose value does not, unless `keep`.
fn kept(
    state: &mut State,
    all: Vec<Value>,
    tested: impl Fn(&Value) -> Value,
    test: &[Value],
    keep: bool,
) -> Result<Value> {
    let mut kept = Vec::new();
    for item in all {
        if passes(state, &tested(&item), test)? == keep {
            kept.push(item);
        }
    }
    List::of(kept)
}

fn passes(state: &mut State, value: &Value, test: &[Value]) -> Result<bool> {
    match test.split_first() {
        None => Ok(value.is_true()),
        Some((name, rest)) => {
            let name = name
                .as_str()
                .ok_or_else(|| invalid("a test's name is needed"))?;
            budget::work(CALL)?;
            let mut call = vec![value.clone()];
            call.extend_from_slice(rest);
            state.perform_test(name, &call)
        }
    }
}

fn reverse(_: &mut State, args: &Args) -> Result<Value> {
    let value = args.subject();
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
    /// The key of each item.
    fn of_all<'v>(&self, items: impl Iterator<Item = &'v Value>) -> Result<Vec<Value>> {
        items.map(|item| self.of(item)).collect()
    }

    fn of(&self, item: &Value) -> Result<Value> {
        if self.name.is_undefined() {
            self.plain(item)
        } else {
            self.plain(&attribute(item, &self.name))
        }
    }

    fn plain(&self, value: &Value) -> Result<Value> {
        charge_items(1)?;
        let length = as_text(value).map_or(0, str::len);
        check_text(length)?;
        charge(length)?;
        budget::work(length)?;
        let value = self
            .labels
            .map_or_else(|| value.clone(), |labels| bare(value, &labels));
        Ok(match as_text(&value) {
            Some(text) if !self.case_sensitive => Value::from(text.to_lowercase()),
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
    all.sort_by(|(a, _), (b, _)| {
        let order = keys
            .iter()
            .map(|keys| keys[*a].cmp(&keys[*b]))
            .find(|order| order.is_ne());
        let order = order.unwrap_or(Ordering::Equal);
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
    let labels = labels(state);
    let keys: Vec<SortKey> = names
        .into_iter()
        .map(|name| SortKey {
            name,
            case_sensitive,
            labels,
        })
        .collect();
    let all = items(&args.subject())?;
    let keys = keys
        .iter()
        .map(|key| key.of_all(all.iter()))
        .collect::<Result<Vec<_>, _>>()?;
    List::of(sorted(all, &keys, args.flag(1, "reverse"))?)
}

/// `groupby(attribute, default, case_sensitive)`: for each value of the attribute, in order, its
/// items.
fn group_by(state: &mut State, args: &Args) -> Result<Value> {
    let (name, other) = (args.get(1, "attribute"), args.get(2, "default"));
    let case_sensitive = args.flag(3, "case_sensitive");
    let key = SortKey {
        name: Value::UNDEFINED,
        case_sensitive,
        labels: labels(state),
    };
    let all = items(&args.subject())?;
    let values: Vec<Value> = all
        .iter()
        .map(|item| attribute_or(item, &name, &other))
        .collect();
    let keys = key.of_all(values.iter())?;
    charge_items(3 * all.len())?;
    let all = keys.iter().cloned().zip(values).zip(all).collect();
    let all = sorted(all, &[keys], false)?;
    let groups = all.chunk_by(|((a, _), _), ((b, _), _)| a == b);
    let group = |group: &[((Value, Value), Value)]| {
        let items = group.iter().map(|(_, item)| item.clone()).collect();
        let ((_, value), _) = &group[0];
        List::make(vec![value.clone(), List::of(items)?], Form::Group)
    };
    List::of(groups.map(group).collect::<Result<_, _>>()?)
}

/// A random item. It depends on the render's clock only, so that prompts are reproducible.
fn random(state: &mut State, args: &Args) -> Result<Value> {
    let all = items(&args.subject())?;
    let at = now(state)
        .unwrap_or_default()
        .checked_rem_euclid(all.len() as i64)
        .unwrap_or(0);
    Ok(all.get(at as usize).cloned().unwrap_or_default())
}

fn dictsort(state: &mut State, args: &Args) -> Result<Value> {
    let by_value = match args.text(2, "by")?.as_deref() {
        None | Some("key") => false,
        Some("value") => true,
        Some(_) => return Err(invalid("dictsort sorts by key or value")),
    };
    let value = args.subject();
    if value.kind() != ValueKind::Map {
        return Err(invalid(format!(
            "dictsort needs a map, not {}",
            value.kind()
        )));
    }
    let all = pairs(&value)?;
    let case_sensitive = args.flag(1, "case_sensitive");
    let key = SortKey {
        name: Value::UNDEFINED,
        case_sensitive,
        labels: labels(state),
    };
    let keys = key.of_all(
        all.iter()
            .map(|(name, value)| if by_value { value } else { name }),
    )?;
    tuples(sorted(all, &[keys], args.flag(3, "reverse"))?)
}

/// The items of a value, and what `min`, `max` and `unique` compare.
fn keyed(args: &Args) -> Result<(Vec<Value>, Vec<Value>)> {
    let key = SortKey {
        name: args.get(2, "attribute"),
        case_sensitive: args.flag(1, "case_sensitive"),
        labels: None,
    };
    let all = items(&args.subject())?;
    let keys = key.of_all(all.iter())?;
    Ok((all, keys))
}

fn extreme(args: &Args, expected: Ordering) -> Result<Value> {
    let (all, keys) = keyed(args)?;
    keys.iter().try_for_each(reading::read)?;
    let best = (0..all.len()).reduce(|best, at| {
        if keys[at].cmp(&keys[best]) == expected {
            at
        } else {
            best
        }
    });
    Ok(best.map(|at| all[at].clone()).unwrap_or_default())
}

fn unique(_: &mut State, args: &Args) -> Result<Value> {
    let (all, keys) = keyed(args)?;
    reading::sort(keys.iter())?;
    let mut seen = BTreeSet::new();
    List::of(
        all.into_iter()
            .zip(&keys)
            .filter(|(_, key)| seen.insert(*key))
            .map(|(item, _)| item)
            .collect(),
    )
}
