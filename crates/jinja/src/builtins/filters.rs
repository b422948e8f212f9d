//! Filters for texts, numbers and JSON, as Jinja2 defines them. Filters for lists are in
//! `list_filters`.

use minijinja::State;
use minijinja::value::Value;

use super::args::{Args, Call};
use super::json;
use crate::budget::{check_text, work};
use crate::fault::{Result, invalid};
use crate::python::memo::Layout;
use crate::python::numbers::{self, integer, real, signed, truncate, whole};
use crate::python::pyobject::{Dict, List, as_dict, as_list, as_text, items, pairs};
use crate::python::pystr::{self, Ends};
use crate::python::scalar::labels;
use crate::python::{printf, pyrepr};
use crate::reading;

/// Name and code of each filter.
pub const FILTERS: &[(&str, Call)] = &[
    ("abs", absolute),
    ("capitalize", |_, args| on_text(args, pystr::capitalize)),
    ("d", default),
    ("default", default),
    ("e", escape),
    ("escape", escape),
    ("float", float),
    ("format", format),
    ("indent", indent),
    ("int", int),
    ("lower", |_, args| on_text(args, str::to_lowercase)),
    ("replace", replace),
    ("round", round),
    ("safe", safe),
    ("string", string),
    ("title", |_, args| on_text(args, pystr::words_upper)),
    ("tojson", tojson),
    ("trim", trim),
    ("truncate", truncated),
    ("upper", |_, args| on_text(args, str::to_uppercase)),
    ("wordcount", wordcount),
];

fn on_text(args: &Args, change: impl Fn(&str) -> String) -> Result<Value> {
    let value = args.subject();
    let text = pyrepr::text(&value);
    // A changed letter may be longer.
    check_text(text.len().saturating_mul(2))?;
    Ok(Value::from(change(&text)))
}

fn default(_: &mut State, args: &Args) -> Result<Value> {
    let value = args.subject();
    if !value.is_undefined() && (!args.flag(2, "boolean") || value.is_true()) {
        return Ok(value);
    }
    Ok(args.given(1, "default_value").unwrap_or_else(|| "".into()))
}

fn absolute(_: &mut State, args: &Args) -> Result<Value> {
    let value = args.subject();
    signed(
        &value,
        real(&value).is_some_and(|number| number.is_sign_negative()),
    )
}

fn float(_: &mut State, args: &Args) -> Result<Value> {
    let value = args.subject();
    let number = match as_text(&value) {
        Some(text) => pystr::parse_float(text),
        None => real(&value),
    };
    Ok(number
        .map(Value::from)
        .or_else(|| args.given(1, "default"))
        .unwrap_or_else(|| 0.0.into()))
}

fn int(_: &mut State, args: &Args) -> Result<Value> {
    let value = args.subject();
    let base = args
        .integer(2, "base")?
        .and_then(|base| u32::try_from(base).ok())
        .unwrap_or(10);
    let number = match as_text(&value) {
        Some(text) => {
            pystr::parse_int(text, base).or_else(|| pystr::parse_float(text).and_then(truncate))
        }
        None => integer(&value).or_else(|| numbers::float(&value).and_then(truncate)),
    };
    Ok(number
        .map(whole)
        .or_else(|| args.given(1, "default"))
        .unwrap_or_else(|| 0.into()))
}

/// `round(precision, method)`: halves are rounded to even, as in Python.
fn round(_: &mut State, args: &Args) -> Result<Value> {
    let value = args.subject();
    let places = args.integer(1, "precision")?.unwrap_or(0).clamp(-400, 400) as i32;
    let number = real(&value).ok_or_else(|| invalid("only a number can be rounded"))?;
    let scaled = |change: fn(f64) -> f64| {
        let power = 10_f64.powi(places);
        // Adding zero turns Rust's minus zero into zero.
        Ok(Value::from((change(number * power) + 0.0) / power))
    };
    match args.text(2, "method")?.as_deref() {
        Some("ceil") => scaled(f64::ceil),
        Some("floor") => scaled(f64::floor),
        None | Some("common") => minijinja::filters::round(
            numbers::plain(&value),
            Some(places),
            None,
            std::iter::empty::<(String, Value)>().collect(),
        ),
        Some(_) => Err(invalid("a number is rounded by common, ceil or floor")),
    }
}

/// `%` formatting, with values as arguments.
fn format(_: &mut State, args: &Args) -> Result<Value> {
    let named: Vec<_> = args.pairs().collect();
    let positional = args.positional().get(1..).unwrap_or_default().to_vec();
    let values = match named.is_empty() {
        true => List::tuple(positional)?,
        false if positional.is_empty() => Dict::of(named)?,
        false => return Err(invalid("format takes values or named values, not both")),
    };
    Ok(Value::from(printf::format(
        &pyrepr::text(&args.subject()),
        &values,
    )?))
}

fn indent(_: &mut State, args: &Args) -> Result<Value> {
    let indention = indention(args, 1, "width")?.unwrap_or_else(|| " ".repeat(4));
    let value = args.subject();
    Ok(Value::from(pystr::indent(
        &pyrepr::text(&value),
        &indention,
        args.flag(2, "first"),
        args.flag(3, "blank"),
    )?))
}

/// An argument that is a text or a number of blanks.
fn indention(args: &Args, index: usize, name: &str) -> Result<Option<String>> {
    if let Some(text) = as_text(&args.get(index, name)) {
        return Ok(Some(text.to_owned()));
    }
    let Some(count) = args.integer(index, name)? else {
        return Ok(None);
    };
    let count = usize::try_from(count).unwrap_or(0);
    check_text(count)?;
    Ok(Some(" ".repeat(count)))
}

fn replace(_: &mut State, args: &Args) -> Result<Value> {
    let values = [(0, "s"), (1, "old"), (2, "new")].map(|(index, name)| args.get(index, name));
    let [value, old, new] = values.each_ref().map(pyrepr::text);
    Ok(Value::from(pystr::replace(
        &value,
        &old,
        &new,
        args.integer(3, "count")?,
    )?))
}

/// `text` with HTML's special characters as entities.
pub fn escaped(text: &str) -> Result<String> {
    const ENTITIES: [(char, &str); 5] = [
        ('&', "&amp;"),
        ('<', "&lt;"),
        ('>', "&gt;"),
        ('\'', "&#39;"),
        ('"', "&#34;"),
    ];
    work(ENTITIES.len() * text.len())?;
    let longer: usize = ENTITIES
        .iter()
        .map(|(c, entity)| text.matches(*c).count() * (entity.len() - 1))
        .sum();
    check_text(text.len().saturating_add(longer))?;
    Ok(ENTITIES.iter().fold(text.to_owned(), |text, (c, entity)| {
        text.replace(*c, entity)
    }))
}

/// `e`: the result is marked as escaped, for the test `escaped`.
fn escape(_: &mut State, args: &Args) -> Result<Value> {
    let value = args.subject();
    match as_text(&value) {
        Some(text) if value.is_safe() => Ok(Value::from_safe_string(text.to_owned())),
        _ => Ok(Value::from_safe_string(escaped(&pyrepr::text(&value))?)),
    }
}

/// Nothing is escaped automatically: the test `escaped` sees a difference, and what the text is
/// added to in a plain request.
fn safe(_: &mut State, args: &Args) -> Result<Value> {
    let value = args.subject();
    Ok(value.as_str().map_or(value.clone(), |text| {
        Value::from_safe_string(text.to_owned())
    }))
}

fn string(_: &mut State, args: &Args) -> Result<Value> {
    let value = args.subject();
    reading::read(&value)?;
    read_deeply(&value);
    Ok(Value::from(pyrepr::text(&value)))
}

/// Records that the template accessed all parts of the value.
fn read_deeply(value: &Value) {
    if let Some(list) = as_list(value).filter(|list| list.trace.is_some()) {
        list.read_items();
        list.look(|items| items.iter().for_each(read_deeply));
    } else if let Some(dict) = as_dict(value).filter(|dict| dict.trace.is_some()) {
        dict.read_values();
        dict.look(|pairs| pairs.iter().for_each(|(_, item)| read_deeply(item)));
    }
}

fn tojson(state: &mut State, args: &Args) -> Result<Value> {
    let value = args.subject();
    let indent = indention(args, 2, "indent")?;
    let separators = args.get(3, "separators");
    let separators = if separators.is_none() {
        Vec::new()
    } else {
        items(&separators)?
    };
    let separator = |index: usize, other: &str| {
        separators
            .get(index)
            .map_or(other.to_owned(), |s| pyrepr::text(s).into_owned())
    };
    let layout = Layout {
        ascii: args.flag(1, "ensure_ascii"),
        item: separator(0, if indent.is_some() { "," } else { ", " }),
        key: separator(1, ": "),
        sort: args.flag(4, "sort_keys"),
        labels: labels(state),
        indent,
    };
    Ok(Value::from(json::dumps(&value, &layout)?))
}

fn trim(_: &mut State, args: &Args) -> Result<Value> {
    let chars = args.text(1, "chars")?;
    let value = args.subject();
    Ok(Value::from(pystr::strip(
        &pyrepr::text(&value),
        Ends {
            left: true,
            right: true,
        },
        chars.as_deref(),
    )?))
}

fn wordcount(_: &mut State, args: &Args) -> Result<Value> {
    let value = args.subject();
    let text = pyrepr::text(&value);
    let words = text
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty());
    Ok(Value::from(words.count()))
}

/// The pairs of a map as tuples.
pub fn pair_list(value: &Value) -> Result<Value> {
    tuples(pairs(value)?)
}

pub fn tuples(pairs: Vec<(Value, Value)>) -> Result<Value> {
    List::of(
        pairs
            .into_iter()
            .map(|(key, item)| List::tuple(vec![key, item]))
            .collect::<Result<_, _>>()?,
    )
}

/// A width, which must not be negative.
fn width(args: &Args, index: usize, name: &str, usual: usize) -> Result<usize> {
    match args.integer(index, name)? {
        None => Ok(usual),
        Some(number) => usize::try_from(number).map_err(|_| invalid("a width is negative")),
    }
}

/// `truncate(length, killwords, end, leeway)`.
fn truncated(_: &mut State, args: &Args) -> Result<Value> {
    let value = args.subject();
    let length = width(args, 1, "length", 255)?;
    let end = args.text(3, "end")?.unwrap_or("...".into());
    let leeway = width(args, 4, "leeway", 5)?;
    let end_length = end.chars().count();
    let Some(kept) = length.checked_sub(end_length) else {
        return Err(invalid("the end is longer than the text may be"));
    };
    let text = match as_text(&value) {
        Some(text) => text,
        None if value.is_undefined() => "",
        None if value
            .len()
            .is_some_and(|len| len <= length.saturating_add(leeway)) =>
        {
            return Ok(value);
        }
        None => return Err(invalid("only a text can be truncated")),
    };
    if text.chars().nth(length.saturating_add(leeway)).is_none() {
        return Ok(Value::from(text));
    }
    let cut = text
        .char_indices()
        .nth(kept)
        .map_or(text, |(at, _)| &text[..at]);
    let cut = if args.flag(2, "killwords") {
        cut
    } else {
        cut.rsplit_once(' ').map_or(cut, |(before, _)| before)
    };
    Ok(Value::from(format!("{cut}{end}")))
}
