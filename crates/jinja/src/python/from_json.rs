//! Converts JSON to template values.

use std::sync::Arc;

use minijinja::ErrorKind;
use minijinja::value::Value;
use serde_json::Value as Json;

use super::numbers::whole;
use super::pyobject::{KnownPart, Pairs, Source, Text, nested_dict, nested_list, unread_dict};
use super::scalar::Scalar;
use crate::fault::Result;
use crate::probe::labels::Labels;
use crate::probe::trace::Trace;
use chatparse_base::number;

/// Converts JSON, whose texts may contain labels. Integers stay integers.
pub fn labelled(json: &Json, labels: Option<&Labels>) -> Result<Value> {
    Ok(build(json, Trace::default(), labels, false)?.0)
}

/// Converts JSON to a value that records accesses in `trace`.
pub fn traced(json: &Json, trace: Trace) -> Result<Value> {
    Ok(build(json, trace, None, false)?.0)
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
    Ok(nested_list(items, below, false, Trace::default())?.0)
}

/// JSON as an item for [`list_of`].
pub fn of_json(json: &Json, labels: Option<&Labels>) -> Result<(Value, usize)> {
    build(json, Trace::default(), labels, true)
}

/// A map of JSON with this depth that is converted once somebody reads it.
pub fn unread_json(
    json: &Arc<Json>,
    levels: usize,
    memo: Option<KnownPart>,
) -> Result<(Value, usize)> {
    let source = Source::Json(Arc::clone(json), pairs_of);
    unread_dict(source, levels.saturating_sub(1), memo)
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
fn pairs_of(json: &Json) -> Pairs {
    let mut pairs = Vec::new();
    for (key, item) in json.as_object().into_iter().flatten() {
        if let Ok((item, _)) = of_json(item, None) {
            pairs.push((key.as_str().into(), item));
        }
    }
    pairs
}

/// A map of texts as an item for [`list_of`]; the names must be distinct.
pub fn of_texts(texts: &[(&str, Value)]) -> Result<(Value, usize)> {
    let texts = texts.iter();
    of_pairs(
        texts.map(|(name, text)| Ok((*name, (text.clone(), 0)))),
        None,
    )
}

/// Values with distinct names as an item for [`list_of`], or as a value for this function.
pub fn of_pairs<'n>(
    named: impl Iterator<Item = Result<(&'n str, (Value, usize))>>,
    memo: Option<KnownPart>,
) -> Result<(Value, usize)> {
    let (pairs, below) = deepest(named.map(|one| {
        let (name, (value, levels)) = one?;
        Ok(((name.into(), value), levels))
    }))?;
    nested_dict(pairs, below, true, Trace::default(), memo)
}

/// A value and its depth. `inside`: a container is inside of another one.
fn build(
    json: &Json,
    trace: Trace,
    labels: Option<&Labels>,
    inside: bool,
) -> Result<(Value, usize)> {
    let value = match json {
        Json::Null => ().into(),
        Json::Bool(value) => (*value).into(),
        json if number::is(json) => match json.as_i64() {
            Some(value) => value.into(),
            None => number_of(&number::of(json).unwrap_or_default()),
        },
        Json::Number(_) => Value::UNDEFINED,
        Json::String(text) => text_of(text, trace, labels)?,
        Json::Array(array) => {
            let (items, below) = deepest(
                array
                    .iter()
                    .enumerate()
                    .map(|(index, item)| build(item, trace.child(index), labels, true)),
            )?;
            return nested_list(items, below, inside, trace);
        }
        Json::Object(map) => {
            let (pairs, below) = deepest(map.iter().map(|(key, item)| {
                let (value, levels) = build(item, trace.child(key), labels, true)?;
                Ok(((key.as_str().into(), value), levels))
            }))?;
            return nested_dict(pairs, below, inside, trace, None);
        }
    };
    Ok((value, 0))
}

fn text_of(text: &str, trace: Trace, labels: Option<&Labels>) -> Result<Value> {
    if trace.watches_text() {
        let text = text.to_owned();
        return Ok(Value::from_object(Text { text, trace }));
    }
    if let Some(labels) = labels
        && let Some((json, number)) = labels.read_scalar(text)
    {
        let json = number::read(json).map_err(|_| ErrorKind::InvalidOperation)?;
        let scalar = Scalar::new(labelled(&json, None)?, number, *labels);
        return Ok(Value::from_object(scalar));
    }
    Ok(text.into())
}

/// Integers of more than 128 bits become floats, although Python's are unbounded.
fn number_of(text: &str) -> Value {
    match text.parse() {
        Ok(number) => whole(number),
        Err(_) => text.parse::<f64>().unwrap_or_default().into(),
    }
}
