//! Filters of lists and maps.

use super::args::{Call, path, touch};
use super::filters::{self, joined};
use super::tests::test;
use crate::budget;
use crate::fault::{Made, fail};
use crate::ops::two;
use crate::text::Buf;
use crate::value::{Form, Value, order};

fn sort_key(value: &Value, case_sensitive: bool) -> Value {
    match value {
        Value::Text(text) if !case_sensitive => text.to_lowercase().into(),
        value => value.clone(),
    }
}

/// Applies a filter; `now`: the render's clock.
pub fn filter(now: Option<i64>, name: &str, value: Value, call: Call) -> Made<Value> {
    touch(&value, name, &call)?;
    Ok(match name {
        // Parts of a list.
        "batch" | "slice" => {
            let items = value.items()?;
            let count = call.int(0, "linecount")?.unwrap_or(1).max(1) as usize;
            let fill = call.some(1, "fill_with");
            let mut lists = Vec::new();
            if name == "batch" {
                for part in items.chunks(count) {
                    let mut part = part.to_vec();
                    if let Some(fill) = &fill {
                        budget::container(count);
                        budget::check()?;
                        part.resize(count, fill.clone());
                    }
                    lists.push(Value::list(part));
                }
            } else {
                let (each, more) = (items.len() / count, items.len() % count);
                let mut rest = items.into_iter();
                budget::container(count);
                budget::check()?;
                for index in 0..count {
                    let mut part: Vec<Value> = rest
                        .by_ref()
                        .take(each + usize::from(index < more))
                        .collect();
                    if let (Some(fill), true) = (&fill, index >= more && more > 0) {
                        part.push(fill.clone());
                    }
                    lists.push(Value::list(part));
                }
            }
            Value::list(lists)
        }
        "count" | "length" => match value.len() {
            Some(length) => length.into(),
            None => fail!("{} has no length", value.kind()),
        },
        // Orders and groups.
        "dictsort" => {
            let by_value = match call.text(1, "by")?.as_deref() {
                None | Some("key") => false,
                Some("value") => true,
                Some(_) => fail!("dictsort sorts by key or value"),
            };
            if !matches!(value, Value::Dict(_)) {
                fail!("dictsort needs a map, not {}", value.kind());
            }
            let case_sensitive = call.flag(0, "case_sensitive");
            let mut all: Vec<(Value, (Value, Value))> = Vec::new();
            for pair in value.pairs()? {
                let key = if by_value { &pair.1 } else { &pair.0 };
                all.push((sort_key(key, case_sensitive), pair));
            }
            let reverse = call.flag(2, "reverse");
            all.sort_by(|a, b| {
                if reverse {
                    order(&b.0, &a.0)
                } else {
                    order(&a.0, &b.0)
                }
            });
            Value::list(
                all.into_iter()
                    .map(|(_, (key, item))| Value::tuple(vec![key, item]))
                    .collect(),
            )
        }
        "first" | "last" => {
            let items = value.items()?;
            let found = if name == "first" {
                items.first()
            } else {
                items.last()
            };
            found.cloned().unwrap_or(Value::Undefined)
        }
        "groupby" => {
            let (attribute, other) = (call.get(0, "attribute"), call.get(1, "default"));
            let case_sensitive = call.flag(2, "case_sensitive");
            let mut all: Vec<(Value, Value, Value)> = Vec::new();
            for one in value.items()? {
                let found = match path(&one, &attribute) {
                    Value::Undefined => other.clone(),
                    found => found,
                };
                all.push((sort_key(&found, case_sensitive), found, one));
            }
            all.sort_by(|a, b| order(&a.0, &b.0));
            let mut groups = Vec::new();
            for group in all.chunk_by(|a, b| a.0 == b.0) {
                let items = group.iter().map(|(.., item)| item.clone()).collect();
                groups.push(Value::form(
                    vec![group[0].1.clone(), Value::list(items)],
                    Form::Group,
                ));
            }
            Value::list(groups)
        }
        "items" => pair_list(&value)?,
        "join" => {
            let mut all = value.items()?;
            if let Some(name) = call.some(1, "attribute") {
                for item in &mut all {
                    *item = path(item, &name);
                }
            }
            joined(&call.get(0, "d").text(), &all)
        }
        "list" => Value::list(value.items()?),
        "map" => {
            let mut all = if value.is_true() {
                value.items()?
            } else {
                Vec::new()
            };
            let attribute = call.get(usize::MAX, "attribute");
            if !attribute.is_undefined() {
                let other = call.get(usize::MAX, "default");
                for item in &mut all {
                    *item = match path(item, &attribute) {
                        Value::Undefined => other.clone(),
                        found => found,
                    };
                }
                return Ok(Value::list(all));
            }
            let name = call.required(0, "filter")?;
            for item in &mut all {
                let inner = Call {
                    given: call.given[1..].to_vec(),
                    named: call.named.clone(),
                };
                *item = filter(now, &name, item.clone(), inner)?;
            }
            Value::list(all)
        }
        "max" | "min" => {
            let (attribute, case_sensitive) =
                (call.get(1, "attribute"), call.flag(0, "case_sensitive"));
            let items = value.items()?;
            let key = |value: &Value| {
                let found = if attribute.is_undefined() {
                    value.clone()
                } else {
                    path(value, &attribute)
                };
                sort_key(&found, case_sensitive)
            };
            let mut best: Option<Value> = None;
            for item in items {
                let better = best.as_ref().is_none_or(|best| {
                    let order = order(&key(&item), &key(best));
                    if name == "max" {
                        order.is_gt()
                    } else {
                        order.is_lt()
                    }
                });
                if better {
                    best = Some(item);
                }
            }
            best.unwrap_or(Value::Undefined)
        }
        "random" => {
            let items = value.items()?;
            let index = now
                .unwrap_or_default()
                .checked_rem_euclid(items.len() as i64)
                .unwrap_or(0);
            items
                .get(index as usize)
                .cloned()
                .unwrap_or(Value::Undefined)
        }
        // Choices, by a test or by truth.
        "select" | "reject" | "selectattr" | "rejectattr" => {
            let by_attribute = name.ends_with("attr");
            let skipped = usize::from(by_attribute);
            let attribute = call.get(0, "attribute");
            let all = if value.is_true() {
                value.items()?
            } else {
                Vec::new()
            };
            let mut kept = Vec::new();
            for item in all {
                let subject = if by_attribute {
                    path(&item, &attribute)
                } else {
                    item.clone()
                };
                let passes = match call.given.get(skipped) {
                    None => subject.is_true(),
                    Some(Value::Text(name)) => test(name, &subject, call.given.get(skipped + 1))?,
                    Some(_) => fail!("a test's name is needed"),
                };
                if passes == name.starts_with("select") {
                    kept.push(item);
                }
            }
            Value::list(kept)
        }
        "reverse" => match &value {
            Value::Text(text) => {
                let mut out = Buf::default();
                for (at, c) in text.char_indices().rev() {
                    out.push_part(text, at..at + c.len_utf8());
                }
                Value::Text(out.text())
            }
            value => {
                let mut all = value.items()?;
                all.reverse();
                Value::list(all)
            }
        },
        "sort" => {
            let case_sensitive = call.flag(1, "case_sensitive");
            let names: Vec<Value> = match call.get(2, "attribute") {
                Value::Text(names) => names.split(',').map(Value::from).collect(),
                other => vec![other],
            };
            let mut all: Vec<(Vec<Value>, Value)> = Vec::new();
            for item in value.items()? {
                let key = |name: &Value| match name {
                    Value::Undefined => sort_key(&item, case_sensitive),
                    name => sort_key(&path(&item, name), case_sensitive),
                };
                all.push((names.iter().map(key).collect(), item));
            }
            let reverse = call.flag(0, "reverse");
            all.sort_by(|a, b| {
                let mut orders = a.0.iter().zip(&b.0).map(|(a, b)| order(a, b));
                let order = orders
                    .find(|order| order.is_ne())
                    .unwrap_or(std::cmp::Ordering::Equal);
                if reverse { order.reverse() } else { order }
            });
            Value::list(all.into_iter().map(|(_, item)| item).collect())
        }
        "sum" => {
            let mut sum = match call.get(1, "start") {
                Value::Undefined => 0.into(),
                start => start,
            };
            for item in value.items()? {
                let item = match call.some(0, "attribute") {
                    Some(name) => path(&item, &name),
                    None => item,
                };
                if item.as_text().is_some() {
                    fail!("texts have no sum");
                }
                if !item.is_undefined() {
                    sum = two("+", sum, item)?;
                }
            }
            sum
        }
        "unique" => {
            let (attribute, case_sensitive) =
                (call.get(1, "attribute"), call.flag(0, "case_sensitive"));
            let (mut seen, mut kept) = (Vec::new(), Vec::new());
            for item in value.items()? {
                let found = if attribute.is_undefined() {
                    item.clone()
                } else {
                    path(&item, &attribute)
                };
                let key = sort_key(&found, case_sensitive);
                if !seen.contains(&key) {
                    seen.push(key);
                    kept.push(item);
                }
            }
            Value::list(kept)
        }
        _ => return filters::filter(name, value, call),
    })
}

pub fn pair_list(value: &Value) -> Made<Value> {
    let pairs = value.pairs()?.into_iter();
    Ok(Value::list(
        pairs
            .map(|(key, item)| Value::tuple(vec![key, item]))
            .collect(),
    ))
}
