//! Filters on texts, numbers and JSON, as Jinja2 defines them. Filters on lists are in `sequences`.

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind, State, filters};

use super::args::{Args, Call};
use super::budget::check_text;
use super::json::{self, Layout};
use super::print;
use super::text::{self, Ends};
use super::value::{Dict, List, as_text, items, pairs};
use crate::limits::PROMPT_BYTES;

/// Name and code of each filter.
pub(super) const FILTERS: &[(&str, Call)] = &[
    ("abs", |state, args| native(state, args, Value::from_function(filters::abs))),
    ("capitalize", |_, args| on_text(args, text::capitalize)),
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
    ("round", |state, args| native(state, args, Value::from_function(filters::round))),
    ("safe", |_, args| Ok(subject(args))),
    ("string", string),
    ("title", |_, args| on_text(args, |text| text::title(text, |c| c.is_whitespace() || "-({[<".contains(c)))),
    ("tojson", tojson),
    ("trim", trim),
    ("upper", |_, args| on_text(args, str::to_uppercase)),
    ("wordcount", wordcount),
];

/// What the filter is applied to.
pub(super) fn subject(args: &[Value]) -> Value {
    args.first().cloned().unwrap_or_default()
}

/// A filter of the engine's, with plain strings in place of ours.
pub(super) fn native(state: &mut State, args: &[Value], filter: Value) -> Result<Value, Error> {
    filter.call(state, args)
}

fn on_text(args: &[Value], change: impl Fn(&str) -> String) -> Result<Value, Error> {
    Ok(Value::from(change(&print::text(&subject(args)))))
}

fn default(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let args = Args::new(args)?;
    let value = args.get(0, "value");
    if !value.is_undefined() && (!args.flag(2, "boolean") || value.is_true()) {
        return Ok(value);
    }
    let other = args.get(1, "default_value");
    Ok(if other.is_undefined() { Value::from("") } else { other })
}

fn escape(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    on_text(args, |text| {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        text.replace('\'', "&#39;").replace('"', "&#34;")
    })
}

fn float(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let args = Args::new(args)?;
    let value = args.get(0, "value");
    let number = match as_text(&value) {
        Some(text) => text::parse_float(text),
        None => f64::try_from(value).ok(),
    };
    let other = args.get(1, "default");
    Ok(number.map_or(if other.is_undefined() { Value::from(0.0) } else { other }, Value::from))
}

fn int(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let args = Args::new(args)?;
    let value = args.get(0, "value");
    let base = args.integer(2, "base")?.and_then(|base| u32::try_from(base).ok()).unwrap_or(10);
    let whole = |number: f64| (number.is_finite() && number.abs() < 9e18).then_some(number as i64);
    let number = match as_text(&value) {
        Some(text) => text::parse_int(text, base).or_else(|| text::parse_float(text).and_then(whole)),
        None if value.kind() == ValueKind::Bool => Some(i64::from(value.is_true())),
        None => print::float(&value).map_or_else(|| value.as_i64(), whole),
    };
    let other = args.get(1, "default");
    Ok(number.map_or(if other.is_undefined() { Value::from(0) } else { other }, Value::from))
}

/// `%` formatting. Widths are bounded: a number in the format text decides how long the result gets.
fn format(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    check_format(&print::text(&subject(args)))?;
    native(state, args, Value::from_function(filters::format))
}

/// Refuses a format text with a width of five digits, or one that an argument gives.
pub(super) fn check_format(text: &str) -> Result<(), Error> {
    let digits = text.split(|c: char| !c.is_ascii_digit()).map(str::len).max().unwrap_or(0);
    if digits > 4 || text.contains('*') {
        return Err(Error::new(ErrorKind::InvalidOperation, "a width in a format text is too large"));
    }
    Ok(())
}

fn indent(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let args = Args::new(args)?;
    let width = args.get(1, "width");
    let indention = match as_text(&width) {
        Some(text) => text.to_owned(),
        None => {
            let width = args.integer(1, "width")?.map_or(4, |width| usize::try_from(width).unwrap_or(0));
            check_text(width)?;
            " ".repeat(width)
        }
    };
    let value = args.get(0, "s");
    Ok(Value::from(text::indent(&print::text(&value), &indention, args.flag(2, "first"), args.flag(3, "blank"))?))
}

fn replace(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let args = Args::new(args)?;
    let values = [(0, "s"), (1, "old"), (2, "new")].map(|(index, name)| args.get(index, name));
    let [value, old, new] = values.each_ref().map(print::text);
    Ok(Value::from(text::replace(&value, &old, &new, args.integer(3, "count")?)?))
}

fn string(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let value = subject(args);
    read_deeply(&value);
    Ok(Value::from(print::text(&value)))
}

/// A whole value that becomes text has been looked at in every part.
fn read_deeply(value: &Value) {
    if let Some(list) = value.downcast_object_ref::<List>().filter(|list| list.trace.is_some()) {
        list.read_items();
        list.look(|items| items.iter().for_each(read_deeply));
    } else if let Some(dict) = value.downcast_object_ref::<Dict>().filter(|dict| dict.trace.is_some()) {
        dict.read_values();
        dict.look(|pairs| pairs.iter().for_each(|(_, item)| read_deeply(item)));
    }
}

fn tojson(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let args = Args::new(args)?;
    let value = args.get(0, "value");
    let indent = args.get(2, "indent");
    let indent = match as_text(&indent) {
        Some(text) => Some(text.len()),
        None => args.integer(2, "indent")?.map(|indent| usize::try_from(indent).unwrap_or(0)),
    };
    let separators = args.get(3, "separators");
    let separators = if separators.is_none() { Vec::new() } else { items(&separators)? };
    let separator =
        |index: usize, other: &str| separators.get(index).map_or(other.to_owned(), |s| print::text(s).into_owned());
    let layout = Layout {
        ascii: args.flag(1, "ensure_ascii"),
        indent,
        item: separator(0, if indent.is_some() { "," } else { ", " }),
        key: separator(1, ": "),
        sort: args.flag(4, "sort_keys"),
        limit: PROMPT_BYTES,
    };
    Ok(Value::from(json::dumps(&value, &layout)?))
}

fn trim(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let args = Args::new(args)?;
    let chars = args.text(1, "chars")?;
    let value = args.get(0, "value");
    Ok(Value::from(text::strip(&print::text(&value), Ends { left: true, right: true }, chars.as_deref())))
}

fn wordcount(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let value = subject(args);
    let text = print::text(&value);
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    Ok(Value::from(words.count()))
}

/// The pairs of a map as tuples.
pub(super) fn pair_list(value: &Value) -> Result<Value, Error> {
    List::of(pairs(value)?.into_iter().map(|(key, item)| List::tuple(vec![key, item])).collect::<Result<_, _>>()?)
}
