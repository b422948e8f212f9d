//! Converts JSON to template values.

use std::fmt::Display;
use std::sync::Arc;

use minijinja::ErrorKind;
use minijinja::value::Value;
use serde_json::Value as Json;

use super::memo::{Part, ToolMemo};
use super::numbers::whole;
use super::pyobject::{Source, Text, nested_dict, nested_list, unread_dict};
use super::scalar::Scalar;
use crate::fault::Result;
use crate::probe::labels::Labels;
use crate::probe::trace::Trace;
use chatparse_base::number;

/// Converts JSON, whose texts may contain labels. Integers stay integers.
pub fn labelled(json: &Json, labels: Option<&Labels>) -> Result<Value> {
    Ok(build(json, None, labels, false)?.0)
}

/// Converts JSON to a value that records accesses in `trace`.
pub fn traced(json: &Json, trace: Trace) -> Result<Value> {
    Ok(build(json, Some(trace), None, false)?.0)
}

/// Values, and the greatest of their depths.
fn deepest<T>(all: impl Iterator<Item = Result<(T, usize)>>) -> Result<(Vec<T>, usize)> {
    let (mut values, mut below) = (Vec::with_capacity(all.size_hint().0), 0);
    for one in all {
        let (value, levels) = one?;
        below = below.max(levels);
        values.push(value);
    }
    Ok((values, below))
}

/// A list at the top level. Each item comes with its depth, and knows that it is inside a list.
pub fn list_of(items: impl Iterator<Item = Result<(Value, usize)>>) -> Result<Value> {
    let (items, below) = deepest(items)?;
    Ok(nested_list(items, below, false, None)?.0)
}

/// JSON as an item for [`list_of`].
pub fn of_json(json: &Json, labels: Option<&Labels>) -> Result<(Value, usize)> {
    build(json, None, labels, true)
}

/// A map of JSON with this depth that is converted once somebody reads it.
pub fn unread_json(
    json: &Arc<Json>,
    levels: usize,
    memo: Option<(Arc<ToolMemo>, Part)>,
) -> Result<(Value, usize)> {
    unread_dict(
        Source::Json(Arc::clone(json), pairs_of),
        levels.saturating_sub(1),
        memo,
    )
}

/// The depth that [`build`] gives.
pub fn depth(json: &Json) -> usize {
    match json {
        Json::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Json::Object(map) if !number::is(json) => {
            1 + map.values().map(depth).max().unwrap_or_default()
        }
        _ => 0,
    }
}

/// The pairs of a map that [`unread_json`] has not converted. Only labels and depth, which it looks
/// at, can fail.
fn pairs_of(json: &Json) -> Vec<(Value, Value)> {
    let pairs = json.as_object().into_iter().flatten();
    pairs
        .filter_map(|(key, item)| Some((Value::from(key.as_str()), of_json(item, None).ok()?.0)))
        .collect()
}

/// A map of texts as an item for [`list_of`]; the names must be distinct.
pub fn of_texts(texts: &[(&str, Value)]) -> Result<(Value, usize)> {
    of_pairs(
        texts
            .iter()
            .map(|(name, text)| Ok((*name, (text.clone(), 0)))),
        None,
    )
}

/// Values with distinct names as an item for [`list_of`], or as one of these values.
pub fn of_pairs<'n>(
    named: impl Iterator<Item = Result<(&'n str, (Value, usize))>>,
    memo: Option<(Arc<ToolMemo>, Part)>,
) -> Result<(Value, usize)> {
    let named =
        named.map(|one| one.map(|(name, (value, levels))| ((Value::from(name), value), levels)));
    let (pairs, below) = deepest(named)?;
    nested_dict(pairs, below, true, None, memo)
}

/// A value and its depth. `inside`: a container is inside of another one.
fn build(
    json: &Json,
    trace: Option<Trace>,
    labels: Option<&Labels>,
    inside: bool,
) -> Result<(Value, usize)> {
    let child = |key: &dyn Display| {
        trace
            .as_ref()
            .and_then(|trace| trace.child(&key.to_string()))
    };
    let value = match json {
        Json::Null => Value::from(()),
        Json::Bool(value) => Value::from(*value),
        json if number::is(json) => match json.as_i64() {
            Some(value) => Value::from(value),
            None => number_of(&number::of(json).unwrap_or_default()),
        },
        Json::Number(_) => Value::UNDEFINED,
        Json::String(text) => match (
            &trace,
            labels.and_then(|labels| Some((labels, labels.read_scalar(text)?))),
        ) {
            (Some(trace), _) if trace.watches_text() => Value::from_object(Text {
                text: text.clone(),
                trace: trace.clone(),
            }),
            (_, Some((labels, (json, number)))) => {
                let json = number::read(json).map_err(|_| ErrorKind::InvalidOperation)?;
                Value::from_object(Scalar::new(labelled(&json, None)?, number, *labels))
            }
            _ => Value::from(text.as_str()),
        },
        Json::Array(array) => {
            let items = array
                .iter()
                .enumerate()
                .map(|(index, item)| build(item, child(&index), labels, true));
            let (items, below) = deepest(items)?;
            return nested_list(items, below, inside, trace);
        }
        Json::Object(map) => {
            let pairs = map.iter().map(|(key, item)| {
                let (value, levels) = build(item, child(key), labels, true)?;
                Ok(((Value::from(key.as_str()), value), levels))
            });
            let (pairs, below) = deepest(pairs)?;
            return nested_dict(pairs, below, inside, trace, None);
        }
    };
    Ok((value, 0))
}

/// Integers of more than 128 bits become floats, although Python's are unbounded.
fn number_of(text: &str) -> Value {
    text.parse().map_or_else(
        |_| Value::from(text.parse::<f64>().unwrap_or_default()),
        whole,
    )
}
