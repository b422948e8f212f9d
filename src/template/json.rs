//! `tojson`: what Python's `json.dumps` writes, without the HTML escapes of Jinja's own filter.

use std::fmt::Write;

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind};

use super::print::{float, float_text, text};
use super::value::{as_text, items, pairs};

/// How the text is laid out.
pub(super) struct Layout {
    /// Everything outside ASCII as `\u` escapes.
    pub(super) ascii: bool,
    /// Spaces per level, each item on its own line; `None`: all on one line.
    pub(super) indent: Option<usize>,
    /// Between items.
    pub(super) item: String,
    /// Between a key and its value.
    pub(super) key: String,
    /// Keys in order of their text.
    pub(super) sort: bool,
    /// Longest result, in bytes.
    pub(super) limit: usize,
}

/// `value` as JSON text; undefined and what is not data is an error.
pub(super) fn dumps(value: &Value, layout: &Layout) -> Result<String, Error> {
    let mut out = String::new();
    write(&mut out, value, layout, 0)?;
    Ok(out)
}

fn write(out: &mut String, value: &Value, layout: &Layout, level: usize) -> Result<(), Error> {
    if out.len() > layout.limit {
        return Err(Error::new(ErrorKind::OutOfFuel, "the result of tojson is too long"));
    }
    if let Some(text) = as_text(value) {
        write_string(out, text, layout.ascii);
        return Ok(());
    }
    match value.kind() {
        ValueKind::None => out.push_str("null"),
        ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number => match float(value) {
            Some(number) if number.is_nan() => out.push_str("NaN"),
            Some(number) if number.is_infinite() => out.push_str(if number > 0.0 { "Infinity" } else { "-Infinity" }),
            Some(number) => out.push_str(&float_text(number)),
            None => {
                let _ = write!(out, "{value}");
            }
        },
        ValueKind::Seq | ValueKind::Iterable => {
            let items = items(value)?;
            bracket(out, ['[', ']'], layout, level, items.len(), |out, index| {
                write(out, &items[index], layout, level + 1)
            })?;
        }
        ValueKind::Map => {
            let mut pairs = pairs(value)?;
            if layout.sort {
                pairs.sort_by_cached_key(|(key, _)| text(key));
            }
            bracket(out, ['{', '}'], layout, level, pairs.len(), |out, index| {
                let (key, item) = &pairs[index];
                write_string(out, &key_text(key), layout.ascii);
                out.push_str(&layout.key);
                write(out, item, layout, level + 1)
            })?;
        }
        kind => return Err(Error::new(ErrorKind::BadSerialization, format!("{kind} is not JSON serializable"))),
    }
    Ok(())
}

/// JSON's spelling of keys that are not strings.
fn key_text(key: &Value) -> String {
    match key.kind() {
        ValueKind::None => "null".to_owned(),
        ValueKind::Bool => if key.is_true() { "true" } else { "false" }.to_owned(),
        _ => text(key),
    }
}

fn bracket(
    out: &mut String,
    ends: [char; 2],
    layout: &Layout,
    level: usize,
    len: usize,
    mut item: impl FnMut(&mut String, usize) -> Result<(), Error>,
) -> Result<(), Error> {
    let new_line = |out: &mut String, level: usize| {
        if let Some(width) = layout.indent {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', width.saturating_mul(level).min(layout.limit)));
        }
    };
    out.push(ends[0]);
    for index in 0..len {
        if index > 0 {
            out.push_str(&layout.item);
        }
        new_line(out, level + 1);
        item(out, index)?;
    }
    if len > 0 {
        new_line(out, level);
    }
    out.push(ends[1]);
    Ok(())
}

fn write_string(out: &mut String, text: &str, ascii: bool) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 || (ascii && c as u32 >= 0x7f) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
