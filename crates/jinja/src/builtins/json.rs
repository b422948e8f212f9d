//! `tojson`: writes JSON like Python's `json.dumps`, without the HTML escapes of Jinja's filter.

use std::borrow::Cow;
use std::fmt::Write;

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind};
use serde_json::Value as Json;

use crate::budget::{self, check_text};
use crate::fault::Result;
use crate::python::from_json::labelled;
use crate::python::memo::{Layout, Written};
use crate::python::numbers::float;
use crate::python::pyobject::{Dict, as_dict, as_list, as_text, items, pairs};
use crate::python::pyrepr::{float_text, text};
use crate::python::scalar::{Scalar, bare};
use crate::reading;
use chatparse_base::json_string::push_json_string;
use chatparse_base::number;

/// `value` as JSON text; an error for undefined and for values that are not data.
pub fn dumps(value: &Value, layout: &Layout) -> Result<String> {
    // Enough for most tools.
    let mut out = String::with_capacity(256);
    write_known(&mut out, value, layout, 0)?;
    Ok(out)
}

/// As [`write`], of a value whose text may be known. That takes the same work, and meets the
/// same limits.
fn write_known(out: &mut String, value: &Value, layout: &Layout, level: usize) -> Result<()> {
    // Sorting takes more than work.
    let known = as_dict(value)
        .filter(|_| !layout.sort)
        .and_then(Dict::known);
    let Some((tool, part)) = known else {
        return write(out, value, layout, level);
    };
    let written = Written(part, layout.clone(), level);
    if let Some((text, work)) = tool.text(&written)
        && budget::has_room_for(out.len() + ESCAPED * text.len() + layout.key.len())
    {
        budget::work(work)?;
        out.push_str(&text);
        return Ok(());
    }
    let (start, before) = (out.len(), budget::spent());
    write(out, value, layout, level)?;
    let work = usize::try_from(budget::spent() - before).unwrap_or(usize::MAX);
    tool.keep(written, &out[start..], work);
    Ok(())
}

fn write(out: &mut String, value: &Value, layout: &Layout, level: usize) -> Result<()> {
    if let Some(text) = as_text(value) {
        return write_text(out, text, layout);
    }
    budget::work(budget::PRINTED)?;
    if let Some(list) = as_list(value) {
        list.read_items();
        return list.look(|items| write_items(out, items, layout, level));
    }
    if let Some(dict) = as_dict(value) {
        if let Some(json) = dict.unread().filter(|_| !layout.sort) {
            return write_json(out, json, layout, level);
        }
        dict.read_values();
        return dict.look(|pairs| write_pairs(out, pairs, layout, level));
    }
    if let Some(scalar) = value.downcast_object_ref::<Scalar>() {
        out.push_str(&scalar.labelled(|value| dumps(value, layout).unwrap_or_default()));
        return Ok(());
    }
    match value.kind() {
        ValueKind::None | ValueKind::Bool => out.push_str(&key_text(value)),
        ValueKind::Number => match float(value) {
            Some(number) if number.is_nan() => out.push_str("NaN"),
            Some(f64::INFINITY) => out.push_str("Infinity"),
            Some(f64::NEG_INFINITY) => out.push_str("-Infinity"),
            Some(number) => out.push_str(&float_text(number)),
            None => {
                let _ = write!(out, "{value}");
            }
        },
        ValueKind::Seq | ValueKind::Iterable => write_items(out, &items(value)?, layout, level)?,
        ValueKind::Map => write_pairs(out, &pairs(value)?, layout, level)?,
        kind => {
            return Err(Error::new(
                ErrorKind::BadSerialization,
                format!("{kind} is not JSON serializable"),
            ));
        }
    }
    Ok(())
}

/// As [`write`], for JSON that no template has seen. The caller counts the outermost value.
fn write_json(out: &mut String, json: &Json, layout: &Layout, level: usize) -> Result<()> {
    let inner = |out: &mut String, json: &Json| match json {
        Json::String(text) => write_text(out, text, layout),
        Json::Array(_) | Json::Object(_) if !number::is(json) => {
            budget::work(budget::PRINTED)?;
            write_json(out, json, layout, level + 1)
        }
        scalar => write(out, &labelled(scalar, None)?, layout, level + 1),
    };
    match json {
        Json::Array(items) => bracket(out, ['[', ']'], layout, level, items.iter(), inner),
        json => bracket(
            out,
            ['{', '}'],
            layout,
            level,
            json.as_object().into_iter().flatten(),
            |out, (key, item)| {
                write_text(out, key, layout)?;
                out.push_str(&layout.key);
                inner(out, item)
            },
        ),
    }
}

fn write_items(out: &mut String, items: &[Value], layout: &Layout, level: usize) -> Result<()> {
    // A deeper map is a part of a known text.
    let one = if level == 0 { write_known } else { write };
    bracket(out, ['[', ']'], layout, level, items.iter(), |out, item| {
        one(out, item, layout, level + 1)
    })
}

fn write_pairs(
    out: &mut String,
    pairs: &[(Value, Value)],
    layout: &Layout,
    level: usize,
) -> Result<()> {
    let mut pairs: Cow<[(Value, Value)]> = pairs.into();
    if layout.sort {
        budget::charge_items(2 * pairs.len())?;
        reading::sort(pairs.iter().map(|(key, _)| key))?;
        chatparse_base::sort::by_key(pairs.to_mut(), |(key, _)| {
            text(&bare(key, layout.labels.as_ref())).into_owned()
        });
    }
    bracket(
        out,
        ['{', '}'],
        layout,
        level,
        pairs.iter(),
        |out, (key, item)| {
            if key.as_object().is_some() && as_text(key).is_none() {
                return Err(Error::new(
                    ErrorKind::BadSerialization,
                    "a tuple cannot be a key in JSON",
                ));
            }
            write_text(out, &key_text(key), layout)?;
            out.push_str(&layout.key);
            write(out, item, layout, level + 1)
        },
    )
}

/// Writes a text, whose escapes may be longer than it.
fn write_text(out: &mut String, text: &str, layout: &Layout) -> Result<()> {
    budget::work(text.len())?;
    let mut more = text.len();
    if more > SHORT {
        let escaped = text.bytes().filter(|byte| {
            matches!(byte, ..b' ' | b'"' | b'\\') || layout.ascii && !byte.is_ascii()
        });
        more = escaped.count();
    }
    let length = text.len().saturating_add(more.saturating_mul(ESCAPED - 1));
    check_text(out.len().saturating_add(length))?;
    push_json_string(text, out, layout.ascii);
    Ok(())
}

/// The bytes that one may become as an escape.
const ESCAPED: usize = 6;

/// The length up to which all characters of a text may become escapes.
const SHORT: usize = 4 << 10;

/// The text of a key, which may be other than a string.
fn key_text(key: &Value) -> Cow<'_, str> {
    match key.kind() {
        ValueKind::None => "null".into(),
        ValueKind::Bool => if key.is_true() { "true" } else { "false" }.into(),
        _ => text(key),
    }
}

fn bracket<T>(
    out: &mut String,
    ends: [char; 2],
    layout: &Layout,
    level: usize,
    all: impl Iterator<Item = T>,
    write_one: impl Fn(&mut String, T) -> Result<()>,
) -> Result<()> {
    out.push(ends[0]);
    let mut is_empty = true;
    for one in all {
        if !std::mem::replace(&mut is_empty, false) {
            let separators = layout.item.len() + layout.key.len();
            check_text(out.len().saturating_add(separators))?;
            out.push_str(&layout.item);
        }
        new_line(out, layout, level + 1)?;
        write_one(out, one)?;
    }
    if !is_empty {
        new_line(out, layout, level)?;
    }
    out.push(ends[1]);
    Ok(())
}

fn new_line(out: &mut String, layout: &Layout, level: usize) -> Result<()> {
    if let Some(indent) = &layout.indent {
        check_text(out.len().saturating_add(level.saturating_mul(indent.len())))?;
        out.push('\n');
        out.extend(std::iter::repeat_n(indent.as_str(), level));
    }
    Ok(())
}
