//! Filters, tests, functions and methods.

use std::rc::Rc;

use minijinja::formatting::FormatStyle;

use super::eval::{Call, Run, compares, is_in, item, two};
use super::json::{self, Layout};
use super::text::{Buf, TEMPLATE, Text};
use super::value::{Dict, Form, List, Made, Value, order};
use crate::budget;
use crate::python::numbers::from_end;
use crate::python::pystr::{self, Ends, byte_of};
use crate::python::{chars, spec, strftime};

pub const FUNCTIONS: [&str; 5] = [
    "dict",
    "namespace",
    "raise_exception",
    "range",
    "strftime_now",
];
pub const OF_TEXTS: &[&str] = &[
    "endswith",
    "lower",
    "replace",
    "split",
    "startswith",
    "strip",
    "upper",
];
pub const OF_LISTS: &[&str] = &["append", "clear", "copy", "pop"];
pub const OF_MAPS: &[&str] = &[
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
const FILTERS: &str = "abs attr batch capitalize count d default dictsort e escape first float \
    format groupby indent int items join last length list lower map max min random reject \
    rejectattr replace reverse round safe select selectattr slice sort string sum title tojson \
    trim truncate unique upper wordcount";
const TESTS: &str = "boolean callable defined divisibleby eq equalto == escaped even false filter \
    float ge >= gt greaterthan > in integer iterable le <= lt lessthan < lower mapping ne != none \
    number odd sameas sequence string test true undefined upper";
/// Before the text of an error that the template raised itself.
pub const RAISED: &str = "raised: ";

impl Call {
    /// An argument by place or name; undefined if it is missing.
    fn get(&self, index: usize, name: &str) -> Value {
        let named = || self.named.iter().find(|(known, _)| &**known == name);
        let given = self
            .given
            .get(index)
            .or_else(|| named().map(|(_, value)| value));
        given.cloned().unwrap_or(Value::Undefined)
    }

    fn some(&self, index: usize, name: &str) -> Option<Value> {
        Some(self.get(index, name)).filter(|value| !value.is_undefined() && !value.is_none())
    }

    fn int(&self, index: usize, name: &str) -> Made<Option<i64>> {
        match self.some(index, name) {
            None => Ok(None),
            Some(value) => match value.int() {
                Some(number) => Ok(Some(number as i64)),
                None => Err(format!("{name} must be an integer")),
            },
        }
    }

    fn text(&self, index: usize, name: &str) -> Made<Option<Text>> {
        match self.some(index, name) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(_) => Err(format!("{name} must be a string")),
        }
    }

    fn required(&self, index: usize, name: &str) -> Made<Text> {
        self.text(index, name)?
            .ok_or_else(|| format!("argument {name} is missing"))
    }

    fn flag(&self, index: usize, name: &str) -> bool {
        self.get(index, name).is_true()
    }

    fn indention(&self, index: usize, name: &str) -> Made<Option<Text>> {
        match self.get(index, name) {
            Value::Text(text) => Ok(Some(text)),
            _ => {
                let count = self.int(index, name)?;
                Ok(count.map(|count| " ".repeat(count.max(0) as usize).into()))
            }
        }
    }
}

/// Writes a text with HTML's special characters as entities.
pub fn escape(out: &mut Buf, text: &Text) {
    super::value::escaped(out, text, |c, code| {
        code.push_str(match c {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '\'' => "&#39;",
            '"' => "&#34;",
            _ => "",
        });
    });
}

fn letters(value: &Value, change: impl Fn(&str) -> String) -> Value {
    let text = value.text();
    let changed = change(&text);
    Value::Text(text.with_letters(changed))
}

fn strip(text: &Text, ends: Ends, of: Option<&Text>) -> Made {
    let kept = pystr::strip(text, ends, of.map(|of| &**of)).map_err(|error| error.to_string())?;
    Ok(Value::Text(text.sub(kept)))
}

fn replace(text: &Text, old: &str, new: &Text, count: Option<i64>) -> Made {
    let count = count
        .and_then(|count| usize::try_from(count).ok())
        .unwrap_or(usize::MAX);
    if !text.contains(old) {
        return Ok(Value::Text(text.clone()));
    }
    let hits = text.matches(old).take(count).count();
    budget::check_text(text.len().saturating_add(hits.saturating_mul(new.len())))
        .and_then(|()| budget::work(hits.saturating_mul(budget::ITEM)))
        .map_err(|error| error.to_string())?;
    let (mut out, mut start) = (Buf::with_capacity(text.len()), 0);
    for (at, found) in text.match_indices(old).take(count) {
        out.push_part(text, start..at);
        out.push_text(new);
        start = at + found.len();
    }
    out.push_part(text, start..text.len());
    Ok(Value::Text(out.text()))
}

fn indent(text: &Text, indention: &Text, first: bool, blank: bool) -> Value {
    let mut out = Buf::with_capacity(text.len());
    let mut lines: Vec<&str> = pystr::lines(text, false).collect();
    let ends = pystr::lines(text, true).last().map_or("", |line| line);
    if text.is_empty() || ends.len() != lines.last().map_or(0, |line| line.len()) {
        lines.push("");
    }
    for (index, line) in lines.into_iter().enumerate() {
        if index > 0 {
            out.push("\n");
        }
        if index == 0 && first || index > 0 && (blank || !line.is_empty()) {
            out.push_text(indention);
        }
        out.push_part(text, text.range(line));
    }
    Value::Text(out.text())
}

fn joined(separator: &Text, values: &[Value]) -> Value {
    let mut out = Buf::default();
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push_text(separator);
        }
        value.print(&mut out);
    }
    Value::Text(out.text())
}

fn path(value: &Value, name: &Value) -> Value {
    let Some(names) = name.as_str() else {
        return item(value, name);
    };
    let mut found = value.clone();
    for key in names.split('.') {
        found = match (&found, key.parse::<usize>()) {
            (Value::List(_), Ok(index)) => item(&found, &index.into()),
            _ => item(&found, &key.into()),
        };
    }
    found
}

fn sort_key(value: &Value, case_sensitive: bool) -> Value {
    match value {
        Value::Text(text) if !case_sensitive => text.to_lowercase().into(),
        value => value.clone(),
    }
}

pub fn filter(run: &mut Run, name: &str, value: Value, call: Call) -> Made {
    Ok(match name {
        "abs" => match &value {
            Value::Float(number, from) => Value::Float(number.abs(), *from),
            value => match value.int() {
                Some(number) => Value::Int(number.abs(), value.whole()),
                None => return Err(format!("{} has no sign", value.kind())),
            },
        },
        "capitalize" => letters(&value, pystr::capitalize),
        "lower" => letters(&value, str::to_lowercase),
        "upper" => letters(&value, str::to_uppercase),
        "title" => letters(&value, pystr::words_upper),
        "d" | "default" => {
            if !value.is_undefined() && (!call.flag(1, "boolean") || value.is_true()) {
                return Ok(value);
            }
            match call.get(0, "default_value") {
                Value::Undefined => "".into(),
                other => other,
            }
        }
        "e" | "escape" => {
            let (text, mut out) = (value.text(), Buf::default());
            match text.is_safe() {
                true => out.push_text(&text),
                false => self::escape(&mut out, &text),
            }
            Value::Text(out.text().safe())
        }
        "safe" => match value {
            Value::Text(text) => Value::Text(text.safe()),
            value => value,
        },
        "string" => Value::Text(value.text()),
        "float" => {
            let number = match &value {
                Value::Text(text) => pystr::parse_float(text),
                value => value.real(),
            };
            match number {
                Some(number) => Value::Float(number, value.whole()),
                None => call
                    .some(0, "default")
                    .unwrap_or(Value::Float(0.0, TEMPLATE)),
            }
        }
        "int" => {
            let base = call.int(1, "base")?.unwrap_or(10) as u32;
            let truncate = |number: f64| number.is_finite().then_some(number as i128);
            let number = match &value {
                Value::Text(text) => pystr::parse_int(text, base)
                    .or_else(|| pystr::parse_float(text).and_then(truncate)),
                value => value.int().or_else(|| value.real().and_then(truncate)),
            };
            match number {
                Some(number) => Value::Int(number, value.whole()),
                None => call.some(0, "default").unwrap_or(Value::Int(0, TEMPLATE)),
            }
        }
        "round" => {
            let places = call.int(0, "precision")?.unwrap_or(0) as i32;
            let number = value.real().ok_or("only a number can be rounded")?;
            let power = 10_f64.powi(places.clamp(-400, 400));
            let scaled = number * power;
            let rounded = match (call.text(1, "method")?.as_deref(), value.int()) {
                (Some("ceil"), _) => scaled.ceil(),
                (Some("floor"), _) => scaled.floor(),
                (None | Some("common"), Some(_)) if places >= 0 => {
                    return two("+", value, 0.into());
                }
                (None | Some("common"), Some(_)) => {
                    let rounded = scaled.round_ties_even() / power;
                    return Ok(Value::Int(rounded as i128, value.whole()));
                }
                (None | Some("common"), _) => {
                    let rounded = match usize::try_from(places) {
                        Ok(places) => format!("{number:.*}", places.min(400))
                            .parse()
                            .unwrap_or(number),
                        Err(_) => scaled.round_ties_even() / power,
                    };
                    return Ok(Value::Float(rounded, value.whole()));
                }
                _ => return Err("a number is rounded by common, ceil or floor".to_owned()),
            };
            Value::Float((rounded + 0.0) / power, value.whole())
        }
        "format" => {
            let values = match call.named.is_empty() {
                true => Value::tuple(call.given),
                false => Value::dict(
                    call.named
                        .into_iter()
                        .map(|(name, value)| ((&*name).into(), value))
                        .collect(),
                    false,
                ),
            };
            return printf(&value.text(), &values);
        }
        "indent" => {
            let indention = call.indention(0, "width")?.unwrap_or_else(|| "    ".into());
            indent(
                &value.text(),
                &indention,
                call.flag(1, "first"),
                call.flag(2, "blank"),
            )
        }
        "replace" => {
            let [old, new] = [(0, "old"), (1, "new")].map(|(at, name)| call.get(at, name).text());
            replace(&value.text(), &old, &new, call.int(2, "count")?)?
        }
        "tojson" => {
            let indent = call.indention(1, "indent")?;
            let usual = [if indent.is_some() { "," } else { ", " }, ": "];
            let mut separators = usual.map(Text::from);
            for (separator, given) in separators
                .iter_mut()
                .zip(call.get(2, "separators").items()?)
            {
                *separator = given.text();
            }
            let [between, key] = separators;
            let layout = Layout {
                ascii: call.flag(0, "ensure_ascii"),
                indent: indent.map(|text| text.to_string()),
                item: between.to_string(),
                key: key.to_string(),
                sort: call.flag(3, "sort_keys"),
            };
            let mut out = Buf::with_capacity(256);
            json::write(&mut out, &value, &layout, 0)?;
            Value::Text(out.text())
        }
        "trim" => strip(&value.text(), Ends::BOTH, call.text(0, "chars")?.as_ref())?,
        "truncate" => {
            let width = |index, name, usual| {
                let width = call.int(index, name)?.unwrap_or(usual);
                usize::try_from(width).map_err(|_| "a width is negative".to_owned())
            };
            let length = width(0, "length", 255)?;
            let end = call.text(2, "end")?.unwrap_or_else(|| "...".into());
            let most = length.saturating_add(width(3, "leeway", 5)?);
            let Some(kept) = length.checked_sub(end.chars().count()) else {
                return Err("the end is longer than the text may be".to_owned());
            };
            let text = match &value {
                Value::Text(_) | Value::Undefined => value.text(),
                _ if value.len().is_some_and(|len| len <= most) => return Ok(value),
                _ => return Err("only a text can be truncated".to_owned()),
            };
            if text.chars().count() <= most {
                return Ok(Value::Text(text));
            }
            let mut cut = &text[..byte_of(&text, kept)];
            if !call.flag(1, "killwords") {
                cut = cut.rsplit_once(' ').map_or(cut, |(before, _)| before);
            }
            let mut out = Buf::default();
            out.push_part(&text, 0..cut.len());
            out.push_text(&end);
            Value::Text(out.text())
        }
        "wordcount" => {
            let text = value.text();
            let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
            words.filter(|word| !word.is_empty()).count().into()
        }
        "attr" => path(&value, &call.get(0, "name")),
        "batch" | "slice" => {
            let items = value.items()?;
            let count = call.int(0, "linecount")?.unwrap_or(1).max(1) as usize;
            let fill = call.some(1, "fill_with");
            let mut lists = Vec::new();
            if name == "batch" {
                for part in items.chunks(count) {
                    let mut part = part.to_vec();
                    if let Some(fill) = &fill {
                        part.resize(count, fill.clone());
                    }
                    lists.push(Value::list(part));
                }
            } else {
                let (each, more) = (items.len() / count, items.len() % count);
                let mut rest = items.into_iter();
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
            None => return Err(format!("{} has no length", value.kind())),
        },
        "dictsort" => {
            let by_value = match call.text(1, "by")?.as_deref() {
                None | Some("key") => false,
                Some("value") => true,
                Some(_) => return Err("dictsort sorts by key or value".to_owned()),
            };
            if !matches!(value, Value::Dict(_)) {
                return Err(format!("dictsort needs a map, not {}", value.kind()));
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
                *item = filter(run, &name, item.clone(), inner)?;
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
            let index = run
                .now
                .unwrap_or_default()
                .checked_rem_euclid(items.len() as i64)
                .unwrap_or(0);
            items
                .get(index as usize)
                .cloned()
                .unwrap_or(Value::Undefined)
        }
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
                    Some(_) => return Err("a test's name is needed".to_owned()),
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
                    return Err("texts have no sum".to_owned());
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
        _ => return Err(format!("filter {name} is unknown")),
    })
}

fn pair_list(value: &Value) -> Made {
    let pairs = value.pairs()?.into_iter();
    Ok(Value::list(
        pairs
            .map(|(key, item)| Value::tuple(vec![key, item]))
            .collect(),
    ))
}

pub fn test(name: &str, value: &Value, other: Option<&Value>) -> Made<bool> {
    let needed = || other.ok_or_else(|| "the test needs something to compare with".to_owned());
    let rest = |by: Value| match value {
        Value::Text(_) => Err("a text has no remainder".to_owned()),
        value => two("%", value.clone(), by).map(|rest| rest.real()),
    };
    let half = || rest(2.into());
    Ok(match name {
        "boolean" => matches!(value, Value::Bool(..)),
        "callable" => !matches!(
            value,
            Value::None(_)
                | Value::Bool(..)
                | Value::Int(..)
                | Value::Float(..)
                | Value::Text(_)
                | Value::List(_)
                | Value::Dict(_)
        ),
        "defined" => !value.is_undefined(),
        "undefined" => value.is_undefined(),
        "divisibleby" => rest(needed()?.clone())? == Some(0.0),
        "eq" | "equalto" | "==" => *value == *needed()?,
        "ne" | "!=" => *value != *needed()?,
        "lt" | "lessthan" | "<" => compares("<", value, needed()?)?,
        "le" | "<=" => compares("<=", value, needed()?)?,
        "gt" | "greaterthan" | ">" => compares(">", value, needed()?)?,
        "ge" | ">=" => compares(">=", value, needed()?)?,
        "in" => is_in(needed()?, value)?,
        "escaped" => value.as_text().is_some_and(Text::is_safe),
        "even" => half()? == Some(0.0),
        "odd" => half()? == Some(1.0),
        "false" => matches!(value, Value::Bool(false, _)),
        "true" => matches!(value, Value::Bool(true, _)),
        "float" => matches!(value, Value::Float(..)),
        "integer" => matches!(value, Value::Int(..)),
        "number" => matches!(value, Value::Bool(..) | Value::Int(..) | Value::Float(..)),
        "iterable" | "sequence" => matches!(
            value,
            Value::Text(_) | Value::List(_) | Value::Dict(_) | Value::Undefined
        ),
        "lower" => pystr::cased(&value.text(), char::is_lowercase, char::is_uppercase),
        "upper" => pystr::cased(&value.text(), char::is_uppercase, char::is_lowercase),
        "mapping" => matches!(value, Value::Dict(_)),
        "none" => value.is_none(),
        "string" => value.as_str().is_some(),
        "sameas" => match (value, needed()?) {
            (Value::List(a), Value::List(b)) => Rc::ptr_eq(a, b),
            (a, b) => a.kind() == b.kind() && a == b,
        },
        "filter" => value
            .as_str()
            .is_some_and(|name| FILTERS.split(' ').any(|known| known == name)),
        "test" => value
            .as_str()
            .is_some_and(|name| TESTS.split(' ').any(|known| known == name)),
        _ => return Err(format!("test {name} is unknown")),
    })
}

pub fn function(run: &mut Run, name: &str, call: Call) -> Made {
    Ok(match name {
        "raise_exception" => return Err(format!("{RAISED}{}", &*call.get(0, "message").text())),
        "strftime_now" => {
            let now = run.now.ok_or("strftime_now: this system has no clock")?;
            let format = call.required(0, "format")?;
            strftime::format(now, &format)
                .map_err(|error| error.to_string())?
                .into()
        }
        "range" => {
            let first = call.int(0, "range")?.ok_or("range needs a bound")?;
            let (start, stop) = match call.int(1, "range")? {
                Some(stop) => (first, stop),
                None => (0, first),
            };
            let step = call.int(2, "range")?.unwrap_or(1);
            if step == 0 {
                return Err("range needs a step other than zero".to_owned());
            }
            let [wide_start, wide_stop, wide_step] = [start, stop, step].map(i128::from);
            let len =
                ((wide_stop - wide_start + wide_step - wide_step.signum()) / wide_step).max(0);
            if len > 1_000_000 {
                return Err("a range of more than 1000000 numbers".to_owned());
            }
            let items = (0..len).map(|index| Value::Int(wide_start + index * wide_step, TEMPLATE));
            Value::form(items.collect(), Form::Range(start, stop, step))
        }
        _ => {
            let mut entries = Vec::new();
            for value in &call.given {
                if let Value::Dict(_) = value {
                    entries.extend(value.pairs()?);
                    continue;
                }
                for pair in value.items()? {
                    match pair.items()?.as_slice() {
                        [key, item] => entries.push((key.clone(), item.clone())),
                        _ => return Err("a map is made of pairs".to_owned()),
                    }
                }
            }
            entries.extend(
                call.named
                    .into_iter()
                    .map(|(name, value)| ((&*name).into(), value)),
            );
            Value::dict(entries, name == "namespace")
        }
    })
}

pub fn method(value: &Value, name: &str, call: Call) -> Made {
    match value {
        Value::Text(text) => of_text(text, name, call),
        Value::Dict(dict) => of_map(dict, value, name, call),
        Value::List(list) => of_list(list, name, call),
        Value::Undefined | Value::None(_) if name == "items" => Ok(Value::list(Vec::new())),
        value => match (name, value) {
            ("is_integer", Value::Float(number, _)) => Ok((number.fract() == 0.0).into()),
            ("is_integer", Value::Int(..)) => Ok(true.into()),
            ("bit_length", Value::Int(number, _)) => {
                Ok(((u128::BITS - number.unsigned_abs().leading_zeros()) as usize).into())
            }
            _ => Err(format!("{} has no method {name}", value.kind())),
        },
    }
}

fn of_map(dict: &Rc<Dict>, value: &Value, name: &str, call: Call) -> Made {
    let key = call.get(0, "key");
    let second = || call.given.get(1).cloned().unwrap_or(Value::None(TEMPLATE));
    Ok(match name {
        "get" => dict.get_value(&key).unwrap_or_else(second),
        "items" => pair_list(value)?,
        "keys" => Value::list(value.items()?),
        "values" => Value::list(value.pairs()?.into_iter().map(|(_, item)| item).collect()),
        "copy" => Value::dict(value.pairs()?, false),
        "pop" => {
            let found = dict.get_value(&key);
            dict.pairs.borrow_mut().retain(|(name, _)| *name != key);
            found
                .or_else(|| call.given.get(1).cloned())
                .ok_or("the map has no such key")?
        }
        "setdefault" => match dict.get_value(&key) {
            Some(found) => found,
            None => {
                let value = second();
                dict.set(key, value.clone());
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
            added
                .into_iter()
                .for_each(|(key, value)| dict.set(key, value));
            Value::None(TEMPLATE)
        }
        "clear" => {
            dict.pairs.borrow_mut().clear();
            Value::None(TEMPLATE)
        }
        "fromkeys" => {
            let items = call.get(0, "iterable").items()?;
            Value::dict(
                items.into_iter().map(|key| (key, second())).collect(),
                false,
            )
        }
        _ => match dict.get(name) {
            Some(_) => return Err(format!("{name} cannot be called")),
            None => return Err(format!("the map has no method {name}")),
        },
    })
}

fn of_list(list: &Rc<List>, name: &str, call: Call) -> Made {
    let first = call.get(0, "value");
    let place = |items: &[Value]| items.iter().position(|item| *item == first);
    const MISSING: &str = "the list has no such item";
    let mut items = list.items.borrow_mut();
    if list.form != Form::List && !matches!(name, "index" | "count") {
        return Err(format!("a tuple has no method {name}"));
    }
    match name {
        "append" => items.push(first),
        "extend" => {
            drop(items);
            let added = first.items()?;
            list.items.borrow_mut().extend(added);
        }
        "insert" => {
            let at = from_end(call.int(0, "index")?.unwrap_or(0), items.len()).max(0) as usize;
            let at = at.min(items.len());
            items.insert(at, call.get(1, "object"));
        }
        "pop" => {
            let at = from_end(call.int(0, "index")?.unwrap_or(-1), items.len());
            return match usize::try_from(at) {
                Ok(at) if at < items.len() => Ok(items.remove(at)),
                _ => Err(MISSING.to_owned()),
            };
        }
        "remove" => {
            let at = place(&items).ok_or(MISSING)?;
            items.remove(at);
        }
        "index" => {
            let length = items.len();
            let [start, stop] = [
                call.int(1, "start")?.unwrap_or(0),
                call.int(2, "stop")?.unwrap_or(i64::MAX),
            ]
            .map(|at| from_end(at, length).max(0) as usize);
            let mut places = (start..stop.min(length)).filter(|at| items[*at] == first);
            return places
                .next()
                .map(|at| at.into())
                .ok_or_else(|| MISSING.to_owned());
        }
        "count" => return Ok(items.iter().filter(|item| **item == first).count().into()),
        "reverse" => items.reverse(),
        "clear" => items.clear(),
        "copy" => return Ok(Value::list(items.clone())),
        _ => return Err(format!("the list has no method {name}")),
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

fn any_of(text: &str, call: &Call, test: impl Fn(&str, &str) -> bool) -> Made {
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

fn of_text(text: &Text, name: &str, call: Call) -> Made {
    let parts = |parts: Vec<&str>| {
        let all = parts.into_iter().map(|part| Value::Text(text.sub(part)));
        Value::list(all.collect())
    };
    let this = Value::Text(text.clone());
    Ok(match name {
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
        "split" | "rsplit" => {
            let (separator, limit) = (call.text(0, "sep")?, call.int(1, "maxsplit")?);
            let pieces = pystr::split(text, separator.as_deref(), limit, name == "rsplit");
            parts(pieces.map_err(|error| error.to_string())?)
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
                None if name.ends_with("index") => return Err("substring not found".to_owned()),
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
                    out.push(&" ".repeat(fill));
                    column += fill;
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
                return Err("translate needs a map".to_owned());
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
            out.push(&fill.repeat(left));
            out.push_part(text, sign..text.len());
            out.push(&fill.repeat(missing - left));
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
                _ => return Err(format!("string has no method {name}")),
            };
            (!text.is_empty() && text.chars().all(test)).into()
        }
    })
}

fn engine(value: &Value) -> minijinja::Value {
    match value {
        Value::Float(number, _) => (*number).into(),
        Value::Bool(value, _) => (*value).into(),
        value => match value.int() {
            Some(number) => minijinja::Value::from(number),
            None => minijinja::Value::from(&*value.text()),
        },
    }
}

/// `text % values`.
pub fn printf(text: &Text, values: &Value) -> Made {
    let is_tuple = matches!(values, Value::List(list) if list.form != Form::List);
    let mut needs_all = is_tuple || !matches!(values, Value::List(_) | Value::Dict(_));
    let mut given = match values {
        Value::List(list) if is_tuple => list.items.borrow().clone(),
        value => vec![value.clone()],
    }
    .into_iter();
    let (mut out, mut start) = (Buf::default(), 0);
    while let Some(at) = text[start..].find('%').map(|at| start + at) {
        out.push_part(text, start..at);
        let rest = &text[at + 1..];
        let (name, rest) = match rest.strip_prefix('(') {
            Some(rest) => rest
                .split_once(')')
                .map(|(name, rest)| (Some(name), rest))
                .ok_or("a name has no end")?,
            None => (None, rest),
        };
        let len = rest
            .find(|c: char| c.is_ascii_alphabetic() && !matches!(c, 'h' | 'l' | 'L') || c == '%')
            .ok_or("format: the text ends behind %")?;
        let (flags, kind) = (
            rest[..len].trim_end_matches(['h', 'l', 'L']),
            rest[len..].chars().next().unwrap_or('s'),
        );
        let mut flags = flags.to_owned();
        while flags.contains('*') {
            let size = given
                .next()
                .and_then(|size| size.int())
                .ok_or("format: * needs an integer")?;
            flags = flags.replacen('*', &size.to_string(), 1);
        }
        let flags = &*flags;
        start = text.len() - rest.len() + len + 1;
        if kind == '%' {
            out.push("%");
            continue;
        }
        let value = match (name, values) {
            (Some(name), Value::Dict(dict)) => {
                needs_all = false;
                dict.get(name)
            }
            (Some(_), _) => return Err("format: names need a map".to_owned()),
            (None, _) => given.next(),
        };
        let value = value.ok_or("format: there are not enough values")?;
        match kind {
            's' if flags.is_empty() => value.print(&mut out),
            'r' if flags.is_empty() => value.repr(&mut out),
            's' | 'r' | 'a' => {
                let mut text = value.text();
                if kind != 's' {
                    let mut made = Buf::default();
                    value.repr(&mut made);
                    text = made.text();
                }
                if kind == 'a' && !text.is_ascii() {
                    let mut made = Buf::default();
                    super::value::escaped(&mut made, &text, |c, code| {
                        if !c.is_ascii() {
                            crate::python::pyrepr::escape(code, c);
                        }
                    });
                    text = made.text();
                }
                laid(
                    &mut out,
                    spec::text(FormatStyle::Printf, flags, &text),
                    &text,
                )?;
            }
            'c' => {
                let c = match &value {
                    Value::Text(text) if text.chars().count() == 1 => text.clone(),
                    value => match value.int().and_then(|code| char::from_u32(code as u32)) {
                        Some(c) => Text::of(&c.to_string(), value.whole()),
                        None => return Err("%c needs a character or its number".to_owned()),
                    },
                };
                laid(&mut out, spec::text(FormatStyle::Printf, flags, &c), &c)?;
            }
            kind => {
                let kind = if matches!(kind, 'i' | 'u') { 'd' } else { kind };
                let number = match (kind, &value) {
                    ('d', Value::Float(number, _)) => minijinja::Value::from(*number as i64),
                    _ => engine(&value),
                };
                let made = spec::number(FormatStyle::Printf, flags, Some(kind), &number);
                out.push_from(&made.map_err(|error| error.to_string())?, value.whole(), 0);
            }
        }
    }
    if given.next().is_some() && needs_all {
        return Err("format: there are more values than places for them".to_owned());
    }
    out.push_part(text, start..text.len());
    Ok(Value::Text(out.text()))
}

/// Writes a text that was padded or cut as the text that it is.
fn laid(out: &mut Buf, made: Result<String, minijinja::Error>, text: &Text) -> Made<()> {
    let made = made.map_err(|error| error.to_string())?;
    // Only its beginning may be there.
    let inner = made.trim_matches(' ');
    let common = chatparse_base::find::shared(inner, text.trim_matches(' '));
    match made.find(inner).filter(|_| common == inner.len()) {
        Some(at) => {
            let start = text.find(text.trim_matches(' ')).unwrap_or_default();
            out.push(&made[..at]);
            out.push_part(text, start..start + common);
            out.push(&made[at + common..]);
        }
        None => out.push_from(&made, text.whole(), 0),
    }
    Ok(())
}

/// `text.format(...)`.
fn str_format(text: &Text, call: &Call) -> Made {
    let (mut out, mut start, mut counted, mut numbered) = (Buf::default(), 0, 0, false);
    while let Some(at) = text[start..].find(['{', '}']).map(|at| start + at) {
        out.push_part(text, start..at);
        let brace = &text[at..at + 1];
        if text[at + 1..].starts_with(brace) {
            out.push(brace);
            start = at + 2;
            continue;
        }
        if brace == "}" {
            return Err("format: a } has no {".to_owned());
        }
        let (mut open, mut len) = (0, 0);
        for byte in text[at..].bytes() {
            open += i32::from(byte == b'{') - i32::from(byte == b'}');
            if open == 0 {
                break;
            }
            len += 1;
        }
        if open != 0 {
            return Err("format: a { has no }".to_owned());
        }
        let inside = &text[at + 1..at + len];
        start = at + len + 1;
        let (name, layout) = inside.split_once(':').unwrap_or((inside, ""));
        let (name, conversion) = match name.split_once('!') {
            Some((name, conversion)) => (name, conversion),
            None => (name, "s"),
        };
        let mut field = |name: &str| -> Made {
            let (first, rest) = name.split_at(name.find(['.', '[']).unwrap_or(name.len()));
            let mut value = match first.parse::<usize>() {
                Ok(index) => {
                    numbered = true;
                    call.get(index, "")
                }
                Err(_) if first.is_empty() => {
                    counted += 1;
                    call.get(counted - 1, "")
                }
                Err(_) => call.get(usize::MAX, first),
            };
            if numbered && counted > 0 {
                return Err("format: fields with and without numbers".to_owned());
            }
            if value.is_undefined() {
                return Err(format!("format: there is no value {first:?}"));
            }
            for key in rest.split(['.', '[']).skip(1) {
                value = path(&value, &key.trim_end_matches(']').into());
            }
            Ok(value)
        };
        let value = field(name)?;
        let (mut whole, mut more) = (String::new(), layout);
        while let Some((before, behind)) = more.split_once('{') {
            let (name, behind) = behind.split_once('}').ok_or("format: a { has no }")?;
            whole = whole + before + &field(name)?.text();
            more = behind;
        }
        whole += more;
        let layout = &*whole;
        if layout.is_empty() {
            match conversion {
                "r" => value.repr(&mut out),
                _ => value.print(&mut out),
            }
            continue;
        }
        let kind = layout
            .chars()
            .next_back()
            .filter(|c| c.is_ascii_alphabetic() || *c == '%');
        let sized = &layout[..layout.len() - kind.map_or(0, char::len_utf8)];
        match &value {
            Value::Text(text) if matches!(kind, None | Some('s')) => {
                let rest = sized
                    .split_once(['<', '>', '^', '='])
                    .map_or(sized, |(_, rest)| rest);
                if rest.contains(['+', ' ', '#', ',', '_']) {
                    return Err("format: a text has neither sign nor digits".to_owned());
                }
                // Zeros follow a text.
                let sized = match sized.strip_prefix('0') {
                    Some(width) => format!("0<{width}"),
                    None => sized.to_owned(),
                };
                laid(
                    &mut out,
                    spec::text(FormatStyle::StrFormat, &sized, text),
                    text,
                )?;
            }
            Value::Bool(..) | Value::Int(..) | Value::Float(..) => {
                let is_whole = value.int().is_some()
                    && matches!(kind, None | Some('b' | 'o' | 'x' | 'X' | 'd' | 'n'));
                if is_whole && sized.contains('.') {
                    return Err("format: an integer has no digits behind the point".to_owned());
                }
                let made = match (kind, value.int()) {
                    (Some('c'), Some(code)) => {
                        let c = char::from_u32(code as u32).ok_or("format: no character")?;
                        spec::text(FormatStyle::StrFormat, sized, &c.to_string())
                    }
                    _ => spec::number(FormatStyle::StrFormat, sized, kind, &engine(&value)),
                };
                out.push_from(&made.map_err(|error| error.to_string())?, value.whole(), 0);
            }
            value => return Err(format!("format: {} cannot be formatted", value.kind())),
        }
    }
    out.push_part(text, start..text.len());
    Ok(Value::Text(out.text()))
}
