//! `tojson`.

use super::text::{Buf, Text};
use super::value::{Made, Value, escaped, order};
use crate::python::pyrepr::float_text;
use chatparse_base::json_string::push_json_string;

pub struct Layout {
    pub ascii: bool,
    pub indent: Option<String>,
    pub item: String,
    pub key: String,
    pub sort: bool,
}

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
        Value::List(list) => {
            let items = list.items.borrow();
            bracket(out, ["[", "]"], layout, level, items.iter(), |out, item| {
                write(out, item, layout, level + 1)
            })?;
        }
        Value::Dict(dict) => {
            let pairs = dict.pairs.borrow();
            let mut pairs: Vec<&(Value, Value)> = pairs.iter().collect();
            if layout.sort {
                pairs.sort_by(|a, b| order(&a.0, &b.0));
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
                        Value::List(_) | Value::Dict(_) => {
                            return Err("a tuple cannot be a key in JSON".to_owned());
                        }
                        key => {
                            let mut text = Buf::default();
                            write(&mut text, key, layout, level)?;
                            write_text(out, &text.text(), layout);
                        }
                    }
                    out.push(&layout.key);
                    write(out, item, layout, level + 1)
                },
            )?;
        }
        other => return Err(format!("{} is not JSON serializable", other.kind())),
    }
    Ok(())
}

fn write_text(out: &mut Buf, text: &Text, layout: &Layout) {
    if text.is_plain() {
        let mut quoted = String::with_capacity(text.len() + 2);
        push_json_string(text, &mut quoted, layout.ascii);
        return out.push(&quoted);
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
