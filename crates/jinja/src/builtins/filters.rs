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
    let text = args.subject_text();
    // A changed letter may be longer.
    check_text(text.len().saturating_mul(2))?;
    Ok(change(&text).into())
}

fn default(_: &mut State, args: &Args) -> Result<Value> {
    let value = args.subject();
    if !value.is_undefined() && (!args.flag(2, "boolean") || value.is_true()) {
        return Ok(value.clone());
    }
    Ok(args.given(1, "default_value").unwrap_or_else(|| "".into()))
}

fn absolute(_: &mut State, args: &Args) -> Result<Value> {
    let value = args.subject();
    signed(value, real(value).is_some_and(f64::is_sign_negative))
}

fn float(_: &mut State, args: &Args) -> Result<Value> {
    let value = args.subject();
    let number = match as_text(value) {
        Some(text) => pystr::parse_float(text),
        None => real(value),
    };
    Ok(or_default(number.map(Value::from), args, 0.0.into()))
}

fn int(_: &mut State, args: &Args) -> Result<Value> {
    let value = args.subject();
    let base = args
        .integer(2, "base")?
        .and_then(|base| base.try_into().ok());
    let number = match as_text(value) {
        Some(text) => pystr::parse_int(text, base.unwrap_or(10))
            .or_else(|| pystr::parse_float(text).and_then(truncate)),
        None => integer(value).or_else(|| numbers::float(value).and_then(truncate)),
    };
    Ok(or_default(number.map(whole), args, 0.into()))
}

/// A number; else the second argument, or `usual` if it is missing.
fn or_default(number: Option<Value>, args: &Args, usual: Value) -> Value {
    number.or_else(|| args.given(1, "default")).unwrap_or(usual)
}

/// `round(precision, method)`: halves are rounded to even, as in Python.
fn round(_: &mut State, args: &Args) -> Result<Value> {
    let value = args.subject();
    let places = args.integer(1, "precision")?.unwrap_or(0).clamp(-400, 400) as i32;
    let number = real(value).ok_or_else(|| invalid("only a number can be rounded"))?;
    let power = 10_f64.powi(places);
    let scaled = match args.text(2, "method")?.as_deref() {
        Some("ceil") => (number * power).ceil(),
        Some("floor") => (number * power).floor(),
        None | Some("common") => {
            let named = std::iter::empty::<(String, Value)>().collect();
            return minijinja::filters::round(numbers::plain(value), Some(places), None, named);
        }
        Some(_) => return Err(invalid("a number is rounded by common, ceil or floor")),
    };
    // Adding zero turns Rust's minus zero into zero.
    Ok(((scaled + 0.0) / power).into())
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
    Ok(printf::format(&args.subject_text(), &values)?.into())
}

fn indent(_: &mut State, args: &Args) -> Result<Value> {
    let indention = indention(args, 1, "width")?.unwrap_or_else(|| " ".repeat(4));
    let (first, blank) = (args.flag(2, "first"), args.flag(3, "blank"));
    Ok(pystr::indent(&args.subject_text(), &indention, first, blank)?.into())
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
    Ok(pystr::replace(&value, &old, &new, args.integer(3, "count")?)?.into())
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
    let mut length = text.len();
    for (c, entity) in ENTITIES {
        length = length.saturating_add(text.matches(c).count() * (entity.len() - 1));
    }
    check_text(length)?;
    let mut escaped = text.to_owned();
    for (c, entity) in ENTITIES {
        escaped = escaped.replace(c, entity);
    }
    Ok(escaped)
}

/// `e`: the result is marked as escaped, for the test `escaped`.
fn escape(_: &mut State, args: &Args) -> Result<Value> {
    let text = args.subject_text();
    Ok(Value::from_safe_string(match args.subject().is_safe() {
        true => text.into_owned(),
        false => escaped(&text)?,
    }))
}

/// Nothing is escaped automatically: only the test `escaped` and, in a plain request, a sum with
/// the text see the mark.
fn safe(_: &mut State, args: &Args) -> Result<Value> {
    let value = args.subject();
    Ok(match value.as_str() {
        Some(text) => Value::from_safe_string(text.to_owned()),
        None => value.clone(),
    })
}

fn string(_: &mut State, args: &Args) -> Result<Value> {
    reading::read(args.subject())?;
    read_deeply(args.subject());
    Ok(args.subject_text().into())
}

/// Records that the template accessed all parts of the value.
fn read_deeply(value: &Value) {
    if let Some(list) = as_list(value).filter(|list| list.trace.is_on()) {
        list.read_items();
        list.look(|items| items.iter().for_each(read_deeply));
    } else if let Some(dict) = as_dict(value).filter(|dict| dict.trace.is_on()) {
        dict.read_values();
        dict.look(|pairs| pairs.iter().for_each(|(_, item)| read_deeply(item)));
    }
}

fn tojson(state: &mut State, args: &Args) -> Result<Value> {
    let indent = indention(args, 2, "indent")?;
    let usual = [if indent.is_some() { "," } else { ", " }, ": "];
    let mut separators = usual.map(str::to_owned);
    // None has no items.
    let given = items(&args.get(3, "separators"))?;
    for (separator, given) in separators.iter_mut().zip(&given) {
        *separator = pyrepr::text(given).into_owned();
    }
    let [item, key] = separators;
    let layout = Layout {
        ascii: args.flag(1, "ensure_ascii"),
        item,
        key,
        sort: args.flag(4, "sort_keys"),
        labels: labels(state),
        indent,
    };
    Ok(json::dumps(args.subject(), &layout)?.into())
}

fn trim(_: &mut State, args: &Args) -> Result<Value> {
    let chars = args.text(1, "chars")?;
    Ok(pystr::strip(&args.subject_text(), Ends::BOTH, chars.as_deref())?.into())
}

fn wordcount(_: &mut State, args: &Args) -> Result<Value> {
    let text = args.subject_text();
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    Ok(words.filter(|word| !word.is_empty()).count().into())
}

/// The pairs of a map as tuples.
pub fn pair_list(value: &Value) -> Result<Value> {
    tuples(pairs(value)?)
}

pub fn tuples(pairs: Vec<(Value, Value)>) -> Result<Value> {
    let tuples = pairs
        .into_iter()
        .map(|(key, item)| List::tuple(vec![key, item]));
    List::of(tuples.collect::<Result<_>>()?)
}

/// A width, which must not be negative.
fn width(args: &Args, index: usize, name: &str, usual: i64) -> Result<usize> {
    let width = args.integer(index, name)?.unwrap_or(usual);
    usize::try_from(width).map_err(|_| invalid("a width is negative"))
}

/// `truncate(length, killwords, end, leeway)`.
fn truncated(_: &mut State, args: &Args) -> Result<Value> {
    let value = args.subject();
    let length = width(args, 1, "length", 255)?;
    let end = args.text(3, "end")?.unwrap_or("...".into());
    let leeway = width(args, 4, "leeway", 5)?;
    let Some(kept) = length.checked_sub(end.chars().count()) else {
        return Err(invalid("the end is longer than the text may be"));
    };
    let most = length.saturating_add(leeway);
    let text = match as_text(value) {
        Some(text) => text,
        None if value.is_undefined() => "",
        None if value.len().is_some_and(|len| len <= most) => return Ok(value.clone()),
        None => return Err(invalid("only a text can be truncated")),
    };
    if text.chars().nth(most).is_none() {
        return Ok(text.into());
    }
    let mut cut = &text[..pystr::byte_of(text, kept)];
    if !args.flag(2, "killwords") {
        cut = cut.rsplit_once(' ').map_or(cut, |(before, _)| before);
    }
    Ok(format!("{cut}{end}").into())
}
