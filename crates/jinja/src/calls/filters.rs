//! Filters of texts and numbers.

use super::args::{Call, path};
use super::format::printf;
use crate::budget;
use crate::fault::{Made, fail};
use crate::json;
use crate::memo::Layout;
use crate::ops::two;
use crate::python::pystr::{self, Ends, byte_of};
use crate::text::{Buf, TEMPLATE, Text};
use crate::value::{Value, escaped};

/// Writes a text with HTML's special characters as entities.
pub fn escape(out: &mut Buf, text: &Text) {
    escaped(out, text, |c, code| {
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

pub fn letters(value: &Value, change: impl Fn(&str) -> String) -> Value {
    let text = value.text();
    let changed = change(&text);
    Value::Text(text.with_letters(changed))
}

pub fn strip(text: &Text, ends: Ends, of: Option<&Text>) -> Made<Value> {
    let kept = pystr::strip(text, ends, of.map(|of| &**of))?;
    Ok(Value::Text(text.sub(kept)))
}

pub fn replace(text: &Text, old: &str, new: &Text, count: Option<i64>) -> Made<Value> {
    let count = count
        .and_then(|count| usize::try_from(count).ok())
        .unwrap_or(usize::MAX);
    if !text.contains(old) {
        return Ok(Value::Text(text.clone()));
    }
    let hits = text.matches(old).take(count).count();
    budget::check_text(text.len().saturating_add(hits.saturating_mul(new.len())))
        .and_then(|()| budget::work(hits.saturating_mul(budget::ITEM)))?;
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

pub fn joined(separator: &Text, values: &[Value]) -> Value {
    let mut out = Buf::default();
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push_text(separator);
        }
        value.print(&mut out);
    }
    Value::Text(out.text())
}

/// Applies a filter of one value.
pub fn filter(name: &str, value: Value, call: Call) -> Made<Value> {
    Ok(match name {
        // Numbers keep the origin of what they are made of.
        "abs" => match &value {
            Value::Float(number, from) => Value::Float(number.abs(), *from),
            value => match value.int() {
                Some(number) => Value::Int(number.abs(), value.whole()),
                None => fail!("{} has no sign", value.kind()),
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
        "string" => {
            value.read_deeply();
            Value::Text(value.text())
        }
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
                _ => fail!("a number is rounded by common, ceil or floor"),
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
                ),
            };
            return printf(&value.text(), &values);
        }
        // Texts keep the origin of each part.
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
        // Words are cut at white space, unless they may be cut anywhere.
        "truncate" => {
            let length = call.width(0, "length", 255)?;
            let end = call.text(2, "end")?.unwrap_or_else(|| "...".into());
            let most = length.saturating_add(call.width(3, "leeway", 5)?);
            let Some(kept) = length.checked_sub(end.chars().count()) else {
                fail!("the end is longer than the text may be");
            };
            let text = match &value {
                Value::Text(_) | Value::Undefined => value.text(),
                _ if value.len().is_some_and(|len| len <= most) => return Ok(value),
                _ => fail!("only a text can be truncated"),
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
        _ => fail!("filter {name} is unknown"),
    })
}
