//! Converts values to text: Python's `str` and `repr`.

use std::borrow::Cow;
use std::fmt::Write;

use minijinja::value::Value;

use super::chars;
use super::numbers::float;
use super::pyobject::{Form, as_dict, as_list, as_text};
use super::scalar::Scalar;
use crate::budget::{PRINTED, check_text, note};

/// `str(value)`, as `{{ value }}` writes it. Undefined is empty.
pub fn text(value: &Value) -> Cow<'_, str> {
    match as_text(value) {
        Some(text) => Cow::Borrowed(text),
        None if value.is_undefined() => Cow::Borrowed(""),
        None => Cow::Owned(repr(value)),
    }
}

/// `repr(value)`.
pub fn repr(value: &Value) -> String {
    let mut out = String::new();
    write_repr(&mut out, value);
    out
}

fn write_repr(out: &mut String, value: &Value) {
    // A list may contain one text many times. A render without work or room left fails at its end,
    // so the rest is skipped.
    if check_text(out.len()).is_err() || !note(PRINTED as u64) {
        return;
    }
    if let Some(text) = as_text(value) {
        // An escape is up to four times as long.
        if !note(text.len() as u64)
            || check_text(out.len().saturating_add(text.len().saturating_mul(4))).is_err()
        {
            return;
        }
        return write_quoted(out, text);
    }
    if let Some(list) = as_list(value) {
        let tuple = list.form.is_tuple();
        if let Form::Range(start, stop, step) = list.form {
            *out += &match step {
                1 => format!("range({start}, {stop})"),
                _ => format!("range({start}, {stop}, {step})"),
            };
            return;
        }
        return list.look(|items| {
            out.push(if tuple { '(' } else { '[' });
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                write_repr(out, item);
            }
            out.push_str(match (tuple, items.len()) {
                (false, _) => "]",
                (true, 1) => ",)",
                (true, _) => ")",
            });
        });
    }
    if let Some(dict) = as_dict(value) {
        return dict.look(|pairs| {
            out.push('{');
            for (index, (key, item)) in pairs.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                write_repr(out, key);
                out.push_str(": ");
                write_repr(out, item);
            }
            out.push('}');
        });
    }
    if let Some(scalar) = value.downcast_object_ref::<Scalar>() {
        return out.push_str(&scalar.labelled(repr));
    }
    match float(value) {
        Some(number) => out.push_str(&float_text(number)),
        None if value.is_undefined() => out.push_str("Undefined"),
        None => {
            let _ = write!(out, "{value}");
        }
    }
}

/// Uses single quotes, unless double quotes avoid escapes.
fn write_quoted(out: &mut String, text: &str) {
    let is_double = text.contains('\'') && !text.contains('"');
    let quote = if is_double { '"' } else { '\'' };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            c if chars::printable(c) => out.push(c),
            c => escape(out, c),
        }
    }
    out.push(quote);
}

/// Writes the escape of a character, with as many hexadecimal digits as Python.
pub fn escape(out: &mut String, c: char) {
    let _ = match u32::from(c) {
        code @ ..=0xff => write!(out, "\\x{code:02x}"),
        code @ ..=0xffff => write!(out, "\\u{code:04x}"),
        code => write!(out, "\\U{code:08x}"),
    };
}

/// The shortest text that round-trips, with an exponent where Python uses one.
pub fn float_text(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    let size = number.abs();
    if number == 0.0 || number.is_infinite() || (1e-4..1e16).contains(&size) {
        return format!("{number:?}");
    }
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    match exponent.strip_prefix('-') {
        Some(exponent) => format!("{digits}e-{exponent:0>2}"),
        None => format!("{digits}e+{exponent:0>2}"),
    }
}
