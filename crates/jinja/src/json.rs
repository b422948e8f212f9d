//! `tojson`: writes JSON like Python's `json.dumps`, without the HTML escapes of Jinja's filter.

use serde_json::Value as Json;

use crate::budget;
use crate::fault::{Made, fail};
use crate::given::Given;
use crate::memo::{Layout, Written};
use crate::probe::trace::Trace;
use crate::python::pyrepr::float_text;
use crate::text::{Buf, Text};
use crate::value::{Dict, Late, Value, escaped};
use chatparse_base::json_string::push_json_string;
use chatparse_base::number;

/// Writes a value as JSON; an error for undefined and for values that are not data.
pub fn write(out: &mut Buf, value: &Value, layout: &Layout, level: usize) -> Made<()> {
    match value {
        Value::Text(text) => write_text(out, text, layout),
        Value::None(from) => out.push_from("null", *from, 0),
        Value::Bool(value, from) => out.push_from(if *value { "true" } else { "false" }, *from, 0),
        Value::Int(number, from) => out.push_from(&number.to_string(), *from, 0),
        Value::Float(number, from) => match *number {
            number if number.is_nan() => out.push("NaN"),
            f64::INFINITY => out.push("Infinity"),
            f64::NEG_INFINITY => out.push("-Infinity"),
            number => out.push_from(&float_text(number), *from, 0),
        },
        Value::List(_) | Value::Dict(_) => {
            budget::work(budget::ITEM)?;
            if !budget::deeper() {
                budget::check()?;
            }
            write_items(out, value, layout, level)?;
            budget::shallower();
        }
        other => fail!("{} is not JSON serializable", other.kind()),
    }
    budget::check()
}

fn write_items(out: &mut Buf, value: &Value, layout: &Layout, level: usize) -> Made<()> {
    match value {
        Value::List(list) => {
            let items = list.items();
            list.trace.read_items(items.len());
            bracket(out, ["[", "]"], layout, level, items.iter(), |out, item| {
                write(out, item, layout, level + 1)
            })
        }
        // Sorting takes more than work.
        Value::Dict(dict) if !layout.sort => write_known(out, dict, layout, level),
        Value::Dict(dict) => write_pairs(out, dict, layout, level),
        _ => Ok(()),
    }
}

/// Writes a map whose text may be known. That takes the same work, and meets the same limits.
fn write_known(out: &mut Buf, dict: &Dict, layout: &Layout, level: usize) -> Made<()> {
    // A deeper map is a part of a known text.
    let Some(known) = dict.known().filter(|_| level < 2) else {
        return write_unread(out, dict, layout, level);
    };
    let (memo, part) = known.memo();
    let written = Written(part, layout.clone(), level);
    if let Some((text, work)) = memo.text(&written) {
        budget::work(work)?;
        out.push(&text);
        return Ok(());
    }
    let (start, before) = (out.len(), budget::spent());
    write_unread(out, dict, layout, level)?;
    budget::check()?;
    let work = usize::try_from(budget::spent() - before).unwrap_or(usize::MAX);
    memo.keep(written, &out[start..], work);
    Ok(())
}

/// Writes a map, from its JSON if nobody has read it.
fn write_unread(out: &mut Buf, dict: &Dict, layout: &Layout, level: usize) -> Made<()> {
    match dict.known().and_then(Late::json) {
        Some(json) if dict.is_unread() => write_json(out, json, layout, level),
        _ => write_pairs(out, dict, layout, level),
    }
}

fn write_pairs(out: &mut Buf, dict: &Dict, layout: &Layout, level: usize) -> Made<()> {
    dict.read_values();
    let pairs = dict.pairs();
    let mut pairs: Vec<&(Value, Value)> = pairs.iter().collect();
    if layout.sort {
        budget::container(2 * pairs.len());
        chatparse_base::sort::by_key(&mut pairs, |(key, _)| key.text().to_string());
    }
    bracket(
        out,
        ["{", "}"],
        layout,
        level,
        pairs.into_iter(),
        |out, (key, item)| {
            match key {
                Value::Text(key) => write_text(out, key, layout),
                Value::List(_) | Value::Dict(_) => fail!("a tuple cannot be a key in JSON"),
                key => {
                    let mut text = Buf::default();
                    write(&mut text, key, layout, level)?;
                    write_text(out, &text.text(), layout);
                }
            }
            out.push(&layout.key);
            write(out, item, layout, level + 1)
        },
    )
}

/// As [`write`], for JSON that no template has seen.
fn write_json(out: &mut Buf, json: &Json, layout: &Layout, level: usize) -> Made<()> {
    budget::work(budget::ITEM)?;
    if !budget::deeper() {
        budget::check()?;
    }
    let written = match json {
        Json::Array(items) => bracket(out, ["[", "]"], layout, level, items.iter(), |out, item| {
            write_json(out, item, layout, level + 1)
        }),
        Json::Object(members) if !number::is(json) => bracket(
            out,
            ["{", "}"],
            layout,
            level,
            members.iter(),
            |out, (key, item)| {
                push_text(out, key, layout);
                out.push(&layout.key);
                write_json(out, item, layout, level + 1)
            },
        ),
        Json::String(text) => {
            push_text(out, text, layout);
            Ok(())
        }
        scalar => {
            let value = Given::default().value(scalar, &Trace::default());
            write(out, &value, layout, level)
        }
    };
    budget::shallower();
    written
}

fn write_text(out: &mut Buf, text: &Text, layout: &Layout) {
    if text.is_plain() {
        return push_text(out, text, layout);
    }
    out.push("\"");
    escaped(out, text, |c, code| {
        if matches!(c, ..' ' | '"' | '\\' | '\u{7f}') || layout.ascii && !c.is_ascii() {
            push_json_string(c.encode_utf8(&mut [0; 4]), code, layout.ascii);
            code.remove(0);
            code.pop();
            if code.chars().eq([c]) {
                code.clear();
            }
        }
    });
    out.push("\"");
}

/// Writes a text of the template.
fn push_text(out: &mut Buf, text: &str, layout: &Layout) {
    if budget::note(text.len()) {
        let mut quoted = String::with_capacity(text.len() + 2);
        push_json_string(text, &mut quoted, layout.ascii);
        out.push(&quoted);
    }
}

fn bracket<T>(
    out: &mut Buf,
    ends: [&str; 2],
    layout: &Layout,
    level: usize,
    all: impl Iterator<Item = T>,
    one: impl Fn(&mut Buf, T) -> Made<()>,
) -> Made<()> {
    out.push(ends[0]);
    let mut is_empty = true;
    for item in all {
        if !std::mem::replace(&mut is_empty, false) {
            out.push(&layout.item);
        }
        new_line(out, layout, level + 1);
        one(out, item)?;
    }
    if !is_empty {
        new_line(out, layout, level);
    }
    out.push(ends[1]);
    Ok(())
}

fn new_line(out: &mut Buf, layout: &Layout, level: usize) {
    if let Some(indent) = &layout.indent {
        out.push("\n");
        (0..level).for_each(|_| out.push(indent));
    }
}
