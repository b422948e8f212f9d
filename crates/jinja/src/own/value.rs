//! Values as Python has them.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value as Json;

use super::Sources;
use super::eval::{Loop, Macro};
use super::text::{Buf, From, TEMPLATE, Text};
use crate::python::chars;
use crate::python::pyrepr::{escape, float_text};
use chatparse_base::number;

pub type Made<T = Value> = Result<T, String>;

#[derive(Clone)]
pub enum Value {
    Undefined,
    None(From),
    Bool(bool, From),
    Int(i128, From),
    Float(f64, From),
    Text(Text),
    List(Rc<List>),
    Dict(Rc<Dict>),
    Method(Rc<(Value, Arc<str>)>),
    Macro(Rc<Macro>),
    Function(&'static str),
    Loop(Rc<Loop>),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    List,
    Tuple,
    /// Of `groupby`: a tuple with names.
    Group,
    Range(i64, i64, i64),
}

pub struct List {
    pub items: RefCell<Vec<Value>>,
    pub form: Form,
}

pub struct Dict {
    pub pairs: RefCell<Vec<(Value, Value)>>,
    pub is_namespace: bool,
}

impl Dict {
    pub fn get(&self, key: &str) -> Option<Value> {
        let pairs = self.pairs.borrow();
        let found = pairs.iter().find(|(name, _)| name.as_str() == Some(key));
        found.map(|(_, value)| value.clone())
    }

    pub fn get_value(&self, key: &Value) -> Option<Value> {
        match key.as_str() {
            Some(key) => self.get(key),
            None => {
                let pairs = self.pairs.borrow();
                let found = pairs.iter().find(|(name, _)| name == key);
                found.map(|(_, value)| value.clone())
            }
        }
    }

    pub fn set(&self, key: Value, value: Value) {
        let mut pairs = self.pairs.borrow_mut();
        match pairs.iter_mut().find(|(name, _)| *name == key) {
            Some((_, old)) => *old = value,
            None => pairs.push((key, value)),
        }
    }
}

impl std::convert::From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl std::convert::From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text.into())
    }
}

impl std::convert::From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value, TEMPLATE)
    }
}

impl std::convert::From<usize> for Value {
    fn from(value: usize) -> Value {
        Value::Int(value as i128, TEMPLATE)
    }
}

impl Value {
    pub fn list(items: Vec<Value>) -> Value {
        Value::form(items, Form::List)
    }

    pub fn tuple(items: Vec<Value>) -> Value {
        Value::form(items, Form::Tuple)
    }

    pub fn form(items: Vec<Value>, form: Form) -> Value {
        let items = RefCell::new(items);
        Value::List(Rc::new(List { items, form }))
    }

    /// Later values replace earlier ones.
    pub fn dict(pairs: Vec<(Value, Value)>, is_namespace: bool) -> Value {
        let dict = Dict {
            pairs: RefCell::new(Vec::with_capacity(pairs.len())),
            is_namespace,
        };
        for (key, value) in pairs {
            dict.set(key, value);
        }
        Value::Dict(Rc::new(dict))
    }

    pub fn as_str(&self) -> Option<&str> {
        self.as_text().map(|text| &**text)
    }

    pub fn as_text(&self) -> Option<&Text> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn is_undefined(&self) -> bool {
        matches!(self, Value::Undefined)
    }

    pub fn is_none(&self) -> bool {
        matches!(self, Value::None(_))
    }

    pub fn is_true(&self) -> bool {
        match self {
            Value::Undefined | Value::None(_) => false,
            Value::Bool(value, _) => *value,
            Value::Int(value, _) => *value != 0,
            Value::Float(value, _) => *value != 0.0,
            Value::Text(text) => !text.is_empty(),
            Value::List(list) => !list.items.borrow().is_empty(),
            Value::Dict(dict) => dict.is_namespace || !dict.pairs.borrow().is_empty(),
            _ => true,
        }
    }

    pub fn int(&self) -> Option<i128> {
        match self {
            Value::Bool(value, _) => Some((*value).into()),
            Value::Int(value, _) => Some(*value),
            _ => None,
        }
    }

    pub fn real(&self) -> Option<f64> {
        match self {
            Value::Float(value, _) => Some(*value),
            other => other.int().map(|value| value as f64),
        }
    }

    pub fn whole(&self) -> From {
        match self {
            Value::None(from) | Value::Bool(_, from) | Value::Int(_, from) => *from,
            Value::Float(_, from) => *from,
            Value::Text(text) => text.whole(),
            _ => TEMPLATE,
        }
    }

    pub fn kind(&self) -> &'static str {
        match self {
            Value::Undefined => "undefined",
            Value::None(_) => "none",
            Value::Bool(..) => "bool",
            Value::Int(..) | Value::Float(..) => "number",
            Value::Text(_) => "string",
            Value::List(_) => "sequence",
            Value::Dict(_) => "map",
            _ => "plain object",
        }
    }

    /// The items that a loop has.
    pub fn items(&self) -> Made<Vec<Value>> {
        match self {
            Value::List(list) => Ok(list.items.borrow().clone()),
            Value::Dict(dict) => {
                let pairs = dict.pairs.borrow();
                Ok(pairs.iter().map(|(key, _)| key.clone()).collect())
            }
            Value::Text(text) => {
                let chars = text.char_indices();
                let parts = chars.map(|(at, c)| Value::Text(text.part(at..at + c.len_utf8())));
                Ok(parts.collect())
            }
            Value::Undefined | Value::None(_) => Ok(Vec::new()),
            other => Err(format!("{} has no items", other.kind())),
        }
    }

    pub fn pairs(&self) -> Made<Vec<(Value, Value)>> {
        match self {
            Value::Dict(dict) => Ok(dict.pairs.borrow().clone()),
            Value::Undefined | Value::None(_) => Ok(Vec::new()),
            other => Err(format!("{} has no pairs", other.kind())),
        }
    }

    pub fn len(&self) -> Option<usize> {
        match self {
            Value::Text(text) => Some(text.chars().count()),
            Value::List(list) => Some(list.items.borrow().len()),
            Value::Dict(dict) => Some(dict.pairs.borrow().len()),
            Value::Undefined => Some(0),
            _ => None,
        }
    }

    /// `str(value)`; undefined is empty.
    pub fn print(&self, out: &mut Buf) {
        match self {
            Value::Text(text) => out.push_text(text),
            Value::Undefined => {}
            other => other.repr(out),
        }
    }

    /// `str(value)`.
    pub fn text(&self) -> Text {
        match self {
            Value::Text(text) => text.clone(),
            other => {
                let mut out = Buf::default();
                other.print(&mut out);
                out.text()
            }
        }
    }

    pub fn repr(&self, out: &mut Buf) {
        match self {
            Value::Undefined => out.push("Undefined"),
            Value::None(from) => out.push_from("None", *from, 0),
            Value::Bool(value, from) => {
                out.push_from(if *value { "True" } else { "False" }, *from, 0);
            }
            Value::Int(value, from) => out.push_from(&value.to_string(), *from, 0),
            Value::Float(value, from) => out.push_from(&float_text(*value), *from, 0),
            Value::Text(text) => quote(out, text),
            Value::List(list) => {
                if let Form::Range(start, stop, step) = list.form {
                    return out.push(&match step {
                        1 => format!("range({start}, {stop})"),
                        _ => format!("range({start}, {stop}, {step})"),
                    });
                }
                let items = list.items.borrow();
                let is_tuple = list.form != Form::List;
                out.push(if is_tuple { "(" } else { "[" });
                for (index, item) in items.iter().enumerate() {
                    out.push(if index > 0 { ", " } else { "" });
                    item.repr(out);
                }
                out.push(match (is_tuple, items.len()) {
                    (false, _) => "]",
                    (true, 1) => ",)",
                    (true, _) => ")",
                });
            }
            Value::Dict(dict) => {
                out.push(if dict.is_namespace {
                    "<Namespace {"
                } else {
                    "{"
                });
                for (index, (key, item)) in dict.pairs.borrow().iter().enumerate() {
                    out.push(if index > 0 { ", " } else { "" });
                    key.repr(out);
                    out.push(": ");
                    item.repr(out);
                }
                out.push(if dict.is_namespace { "}>" } else { "}" });
            }
            Value::Method(method) => out.push(&format!("<method {}>", method.1)),
            Value::Function(name) => out.push(&format!("<function {name}>")),
            Value::Macro(_) => out.push("<macro>"),
            Value::Loop(_) => out.push("<loop>"),
        }
    }

    /// JSON of the conversation, whose texts and scalars are numbered.
    pub fn of_json(json: &Json, path: &mut String, sources: &mut Sources) -> Value {
        match json {
            Json::Null => Value::None(sources.number(path, false)),
            Json::Bool(value) => Value::Bool(*value, sources.number(path, false)),
            Json::String(text) => Value::Text(Text::of(text, sources.number(path, false))),
            json if number::is(json) => {
                let from = sources.number(path, false);
                let text = number::of(json).unwrap_or_default();
                match text.parse() {
                    Ok(number) => Value::Int(number, from),
                    Err(_) => Value::Float(text.parse().unwrap_or_default(), from),
                }
            }
            Json::Number(_) => Value::Undefined,
            Json::Array(items) => {
                let mut all = Vec::with_capacity(items.len());
                let length = path.len();
                for (index, item) in items.iter().enumerate() {
                    sources.step(path, &index);
                    all.push(Value::of_json(item, path, sources));
                    path.truncate(length);
                }
                Value::list(all)
            }
            Json::Object(members) => {
                let mut pairs = Vec::with_capacity(members.len());
                let length = path.len();
                for (key, item) in members {
                    sources.step(path, key);
                    let name = Text::of(key, sources.number(path, true));
                    pairs.push((Value::Text(name), Value::of_json(item, path, sources)));
                    path.truncate(length);
                }
                Value::Dict(Rc::new(Dict {
                    pairs: RefCell::new(pairs),
                    is_namespace: false,
                }))
            }
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Text(a), Value::Text(b)) => **a == **b,
            (Value::Undefined, Value::Undefined) | (Value::None(_), Value::None(_)) => true,
            (Value::List(a), Value::List(b)) => {
                Rc::ptr_eq(a, b)
                    || (a.form == Form::List) == (b.form == Form::List)
                        && *a.items.borrow() == *b.items.borrow()
            }
            (Value::Dict(a), Value::Dict(b)) => {
                let (left, right) = (a.pairs.borrow(), b.pairs.borrow());
                Rc::ptr_eq(a, b)
                    || left.len() == right.len()
                        && left.iter().all(|(key, value)| {
                            b.get_value(key).is_some_and(|other| other == *value)
                        })
            }
            (a, b) => match (a.int(), b.int(), a.real(), b.real()) {
                (Some(a), Some(b), ..) => a == b,
                (_, _, Some(a), Some(b)) => a == b,
                _ => false,
            },
        }
    }
}

/// The order of two values; values of different types have one as well.
pub fn order(a: &Value, b: &Value) -> Ordering {
    let class = |value: &Value| match value {
        Value::Undefined => 0,
        Value::None(_) => 1,
        Value::Bool(..) | Value::Int(..) | Value::Float(..) => 3,
        Value::Text(_) => 4,
        Value::List(_) => 6,
        _ => 7,
    };
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => (**a).cmp(&**b),
        (Value::List(a), Value::List(b)) => {
            let (a, b) = (a.items.borrow(), b.items.borrow());
            let mut each = a.iter().zip(b.iter()).map(|(a, b)| order(a, b));
            let first = each.find(|order| order.is_ne());
            first.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (a, b) => match (a.int(), b.int(), a.real(), b.real()) {
            (Some(a), Some(b), ..) => a.cmp(&b),
            (_, _, Some(a), Some(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
            _ => class(a).cmp(&class(b)),
        },
    }
}

/// Uses single quotes, unless double quotes avoid escapes.
fn quote(out: &mut Buf, text: &Text) {
    let is_double = text.contains('\'') && !text.contains('"');
    let quote = if is_double { '"' } else { '\'' };
    let mut ends = [0; 4];
    let ends = &*quote.encode_utf8(&mut ends);
    out.push(ends);
    escaped(out, text, |c, code| match c {
        '\\' => code.push_str("\\\\"),
        '\n' => code.push_str("\\n"),
        '\r' => code.push_str("\\r"),
        '\t' => code.push_str("\\t"),
        c if c == quote => code.extend(['\\', c]),
        c if chars::printable(c) => {}
        c => escape(code, c),
    });
    out.push(ends);
}

/// Writes a text, some of whose characters have an escape.
pub fn escaped(out: &mut Buf, text: &Text, escape: impl Fn(char, &mut String)) {
    let mut code = String::new();
    for (bytes, from, at) in text.stretches(0..text.len()) {
        let part = &text[bytes];
        let mut start = 0;
        for (place, c) in part.char_indices() {
            if c.is_ascii_alphanumeric() || c == ' ' {
                continue;
            }
            code.clear();
            escape(c, &mut code);
            if !code.is_empty() {
                out.push_from(&part[start..place], from, at + start as u32);
                out.push_from(&code, from, at + place as u32);
                start = place + c.len_utf8();
            }
        }
        out.push_from(&part[start..], from, at + start as u32);
    }
}
