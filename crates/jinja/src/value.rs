//! Values as Python has them.

use std::cell::{Cell, Ref, RefCell};
use std::cmp::Ordering;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::budget;
use crate::fault::{Made, fail};
use crate::memo::{Part, ToolMemo};
use crate::probe::trace::{self, Trace, Use};
use crate::python::chars;
use crate::python::pyrepr::{escape, float_text};
use crate::text::{Buf, From, TEMPLATE, Text};
use crate::tree::{For, MacroDef};

const _: () = assert!(size_of::<Value>() == budget::VALUE_BYTES);

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

#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    #[default]
    List,
    Tuple,
    /// Of `groupby`: a tuple with names.
    Group,
    Range(i64, i64, i64),
}

/// The part of the stack of variables that code sees.
pub struct Frame {
    /// The first scope of its own.
    pub base: usize,
    /// Where it was defined: so many scopes of that frame are seen, too.
    pub outer: Option<(usize, Rc<Frame>)>,
}

/// A macro, or the body of a call block.
pub struct Macro {
    pub def: Arc<MacroDef>,
    pub scopes: usize,
    pub frame: Rc<Frame>,
}

/// The state of a loop.
pub struct Loop {
    pub items: Vec<Value>,
    pub index: Cell<usize>,
    pub depth: usize,
    pub changed: RefCell<Option<Vec<Value>>>,
    pub node: Arc<For>,
}

/// A map of the request's that becomes values once somebody reads it.
pub trait Late {
    /// Its names and values.
    fn pairs(&self) -> Pairs;

    /// The JSON that it is, if it is nothing else.
    fn json(&self) -> Option<&Json>;

    /// What is known of its tool, and which part of that it is.
    fn memo(&self) -> (&ToolMemo, Part);
}

/// A list, a tuple or a range.
pub struct List {
    items: RefCell<Vec<Value>>,
    pub form: Form,
    /// What a trial records of it.
    pub trace: Trace,
}

/// A map or a namespace.
pub struct Dict {
    pairs: RefCell<Pairs>,
    pub is_namespace: bool,
    /// What a trial records of it.
    pub trace: Trace,
    /// What it is made of once it is read, and whose JSON is kept.
    known: Option<Box<dyn Late>>,
    is_read: Cell<bool>,
}

pub type Pairs = Vec<(Value, Value)>;

impl List {
    /// Its items.
    pub fn items(&self) -> Ref<'_, Vec<Value>> {
        self.items.borrow()
    }

    /// Changes its items; `added` are among them afterwards.
    pub fn change<R>(
        self: &Rc<Self>,
        added: &[Value],
        change: impl FnOnce(&mut Vec<Value>) -> R,
    ) -> Made<R> {
        budget::note_given_changed();
        added
            .iter()
            .try_for_each(|value| value.clone().data().map(drop))?;
        budget::container(added.len());
        budget::check()?;
        hold(Container::List(Rc::clone(self)), added);
        Ok(change(&mut self.items.borrow_mut()))
    }
}

impl Dict {
    /// A map that is made once somebody reads it.
    pub fn unread(known: impl Late + 'static) -> Value {
        Value::Dict(Rc::new(Dict::new(
            Pairs::new(),
            false,
            Trace::default(),
            Some(Box::new(known)),
        )))
    }

    fn new(pairs: Pairs, is_namespace: bool, trace: Trace, known: Option<Box<dyn Late>>) -> Dict {
        Dict {
            pairs: RefCell::new(pairs),
            is_namespace,
            trace,
            known,
            is_read: Cell::new(false),
        }
    }

    /// Its names and values.
    pub fn pairs(&self) -> Ref<'_, Pairs> {
        if let (Some(known), false) = (&self.known, self.is_read.replace(true)) {
            *self.pairs.borrow_mut() = known.pairs();
        }
        self.pairs.borrow()
    }

    /// What it is made of, unless the template changes what it is given.
    pub fn known(&self) -> Option<&dyn Late> {
        self.known.as_deref().filter(|_| !budget::given_changed())
    }

    /// Whether nobody has read it yet.
    pub fn is_unread(&self) -> bool {
        !self.is_read.get()
    }

    /// Changes its pairs; `added` are among them afterwards.
    pub fn change<R>(
        self: &Rc<Self>,
        added: &[Value],
        change: impl FnOnce(&mut Pairs) -> R,
    ) -> Made<R> {
        if !self.is_namespace {
            budget::note_given_changed();
        }
        added
            .iter()
            .try_for_each(|value| value.clone().data().map(drop))?;
        budget::container(2 * added.len());
        budget::check()?;
        hold(Container::Dict(Rc::clone(self)), added);
        drop(self.pairs());
        Ok(change(&mut self.pairs.borrow_mut()))
    }

    /// Records that all its values are read.
    pub fn read_values(&self) {
        if self.trace.is_on() {
            for (key, _) in self.pairs().iter() {
                self.trace.read_child(key.as_str().unwrap_or_default());
            }
        }
    }

    /// The value of a name.
    pub fn get(&self, key: &str) -> Option<Value> {
        self.trace.read_child(key);
        let pairs = self.pairs();
        budget::note(pairs.len());
        let found = pairs.iter().find(|(name, _)| name.as_str() == Some(key));
        found.map(|(_, value)| value.clone())
    }

    pub fn get_value(&self, key: &Value) -> Option<Value> {
        match key.as_str() {
            Some(key) => self.get(key),
            None => {
                let pairs = self.pairs();
                let found = pairs.iter().find(|(name, _)| name == key);
                found.map(|(_, value)| value.clone())
            }
        }
    }

    /// Sets a value.
    pub fn set(self: &Rc<Self>, key: Value, value: Value) -> Made<()> {
        self.change(&[value.clone()], |pairs| set(pairs, key, value))
    }
}

/// Sets the value of a name.
pub fn set(pairs: &mut Pairs, key: Value, value: Value) {
    budget::note(pairs.len());
    match pairs.iter_mut().find(|(name, _)| *name == key) {
        Some((_, old)) => *old = value,
        None => pairs.push((key, value)),
    }
}

/// A list or map that changes.
pub enum Container {
    List(Rc<List>),
    Dict(Rc<Dict>),
}

thread_local! {
    /// Lists and maps that got other ones: they may form circles.
    static CHANGED: RefCell<Vec<Container>> = const { RefCell::new(Vec::new()) };
}

/// Notes a container that gets other containers, so that [`clear`] takes circles apart.
fn hold(container: Container, added: &[Value]) {
    if added.iter().any(|value| !value.is_plain()) {
        CHANGED.with_borrow_mut(|all| all.push(container));
    }
}

/// Takes apart what a render has put together.
pub fn clear() {
    for container in CHANGED.take() {
        match container {
            Container::List(list) => drop(list.items.take()),
            Container::Dict(dict) => drop(dict.pairs.take()),
        }
    }
}

/// Drops values without recursion, however deep they nest.
fn unnest(mut values: Vec<Value>) {
    while let Some(value) = values.pop() {
        match value {
            Value::List(list) => {
                if let Some(list) = Rc::into_inner(list) {
                    values.append(&mut list.items.take());
                }
            }
            Value::Dict(dict) => {
                if let Some(dict) = Rc::into_inner(dict) {
                    values.extend(dict.pairs.take().into_iter().map(|(_, value)| value));
                }
            }
            _ => {}
        }
    }
}

impl Drop for List {
    fn drop(&mut self) {
        let items = self.items.take();
        if items.iter().any(|item| !item.is_plain()) {
            unnest(items);
        }
    }
}

impl Drop for Dict {
    fn drop(&mut self) {
        let pairs = self.pairs.take();
        if pairs.iter().any(|(_, value)| !value.is_plain()) {
            unnest(pairs.into_iter().map(|(_, value)| value).collect());
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
        budget::container(items.len());
        Value::List(Rc::new(List {
            items: RefCell::new(items),
            form,
            trace: Trace::default(),
        }))
    }

    /// A list of the conversation's.
    pub fn list_of_given(items: Vec<Value>, trace: Trace) -> Value {
        Value::List(Rc::new(List {
            items: RefCell::new(items),
            form: Form::List,
            trace,
        }))
    }

    /// A map of the conversation's; the names are distinct.
    pub fn dict_of_given(pairs: Pairs, trace: Trace) -> Value {
        Value::Dict(Rc::new(Dict::new(pairs, false, trace, None)))
    }

    /// A map; later values replace earlier ones of the same name.
    pub fn dict(pairs: Pairs) -> Value {
        Value::dict_of(pairs, false)
    }

    /// A map, or a namespace.
    pub fn dict_of(all: Pairs, is_namespace: bool) -> Value {
        let mut pairs = Pairs::with_capacity(all.len());
        for (key, value) in all {
            set(&mut pairs, key, value);
        }
        budget::container(2 * pairs.len());
        Value::Dict(Rc::new(Dict::new(
            pairs,
            is_namespace,
            Trace::default(),
            None,
        )))
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

    /// Whether it is neither a list nor a map.
    fn is_plain(&self) -> bool {
        !matches!(self, Value::List(_) | Value::Dict(_))
    }

    /// Fails unless it is data, which lists, maps and namespaces may keep.
    pub fn data(self) -> Made<Value> {
        match self {
            Value::Method(_) | Value::Macro(_) | Value::Function(_) | Value::Loop(_) => {
                fail!("only data can be kept in a list, a map or a namespace")
            }
            value => Ok(value),
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
            Value::List(list) => !list.items().is_empty(),
            Value::Dict(dict) => dict.is_namespace || !dict.pairs().is_empty(),
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

    /// Where values of its type are among those of others.
    fn class(&self) -> u8 {
        match self {
            Value::Undefined => 0,
            Value::None(_) => 1,
            Value::Bool(..) | Value::Int(..) | Value::Float(..) => 2,
            Value::Text(_) => 3,
            Value::List(_) => 4,
            _ => 5,
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

    /// Records that the template reads all parts of the value.
    pub fn read_deeply(&self) {
        match self {
            Value::List(list) if list.trace.is_on() => {
                let items = list.items();
                list.trace.read_items(items.len());
                items.iter().for_each(Value::read_deeply);
            }
            Value::Dict(dict) if dict.trace.is_on() => {
                dict.read_values();
                dict.pairs().iter().for_each(|(_, item)| item.read_deeply());
            }
            _ => {}
        }
    }

    /// Its items, the names of a map or the characters of a text, as a loop has them.
    pub fn items(&self) -> Made<Vec<Value>> {
        let items = match self {
            Value::List(list) => {
                let items = list.items().clone();
                list.trace.index();
                list.trace.read_items(items.len());
                items
            }
            Value::Dict(dict) => {
                dict.trace.index();
                dict.pairs().iter().map(|(key, _)| key.clone()).collect()
            }
            Value::Text(text) => {
                trace::text(text, Use::Index);
                budget::work(text.len().saturating_mul(8))?;
                let mut items = Vec::new();
                for (at, c) in text.char_indices() {
                    items.push(Value::Text(text.part(at..at + c.len_utf8())));
                }
                items
            }
            Value::Undefined | Value::None(_) => Vec::new(),
            other => fail!("{} has no items", other.kind()),
        };
        budget::container(items.len());
        budget::check()?;
        Ok(items)
    }

    /// The pairs of a map.
    pub fn pairs(&self) -> Made<Pairs> {
        let pairs = match self {
            Value::Dict(dict) => {
                let pairs = dict.pairs().clone();
                dict.read_values();
                pairs
            }
            Value::Undefined | Value::None(_) => Vec::new(),
            other => fail!("a map is needed here, not {}", other.kind()),
        };
        budget::container(2 * pairs.len());
        budget::check()?;
        Ok(pairs)
    }

    pub fn len(&self) -> Option<usize> {
        match self {
            Value::Text(text) => {
                budget::note(text.len() / budget::SEARCHED);
                Some(text.chars().count())
            }
            Value::List(list) => Some(list.items().len()),
            Value::Dict(dict) => Some(dict.pairs().len()),
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

    /// `repr(value)`. Where the render may not go on, the rest is skipped.
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
            Value::List(_) | Value::Dict(_) => {
                if budget::deeper() && budget::note(budget::ITEM) {
                    self.repr_items(out);
                }
                budget::shallower();
            }
            Value::Method(method) => out.push(&format!("<method {}>", method.1)),
            Value::Function(name) => out.push(&format!("<function {name}>")),
            Value::Macro(_) => out.push("<macro>"),
            Value::Loop(_) => out.push("<loop>"),
        }
    }

    fn repr_items(&self, out: &mut Buf) {
        let (mut start, mut end) = match self {
            Value::Dict(dict) if dict.is_namespace => ("<Namespace {", "}>"),
            Value::List(list) if list.form == Form::List => ("[", "]"),
            Value::List(_) => ("(", ")"),
            _ => ("{", "}"),
        };
        match self {
            Value::List(list) => {
                if let Form::Range(start, stop, step) = list.form {
                    return out.push(&match step {
                        1 => format!("range({start}, {stop})"),
                        _ => format!("range({start}, {stop}, {step})"),
                    });
                }
                let items = list.items();
                if start == "(" && items.len() == 1 {
                    end = ",)";
                }
                for item in items.iter() {
                    out.push(start);
                    start = ", ";
                    item.repr(out);
                }
            }
            Value::Dict(dict) => {
                for (key, item) in dict.pairs().iter() {
                    out.push(start);
                    start = ", ";
                    key.repr(out);
                    out.push(": ");
                    item.repr(out);
                }
            }
            _ => {}
        }
        if start != ", " {
            out.push(start);
        }
        out.push(end);
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        if !budget::note(1) {
            return false;
        }
        match (self, other) {
            (Value::Text(a), Value::Text(b)) => a == b,
            (Value::Undefined, Value::Undefined) | (Value::None(_), Value::None(_)) => true,
            (Value::List(_), Value::List(_)) | (Value::Dict(_), Value::Dict(_)) => {
                let is_equal = budget::deeper() && self.has_items_of(other);
                budget::shallower();
                is_equal
            }
            (a, b) => match (a.int(), b.int(), a.real(), b.real()) {
                (Some(a), Some(b), ..) => a == b,
                (_, _, Some(a), Some(b)) => a == b,
                _ => false,
            },
        }
    }
}

impl Value {
    fn has_items_of(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::List(a), Value::List(b)) => {
                Rc::ptr_eq(a, b)
                    || (a.form == Form::List) == (b.form == Form::List) && *a.items() == *b.items()
            }
            (Value::Dict(a), Value::Dict(b)) => {
                if Rc::ptr_eq(a, b) {
                    return true;
                }
                let (left, right) = (a.pairs(), b.pairs());
                let mut pairs = left.iter();
                left.len() == right.len()
                    && pairs
                        .all(|(key, value)| b.get_value(key).is_some_and(|other| other == *value))
            }
            _ => false,
        }
    }
}

/// The order of two values; values of different types have one as well.
pub fn order(a: &Value, b: &Value) -> Ordering {
    budget::note(1);
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => {
            budget::note(1 + a.len().min(b.len()) / budget::COMPARED);
            (**a).cmp(&**b)
        }
        (Value::List(a), Value::List(b)) if budget::deeper() => {
            let (a, b) = (a.items(), b.items());
            let mut each = a.iter().zip(b.iter()).map(|(a, b)| order(a, b));
            let first = each.find(|order| order.is_ne());
            budget::shallower();
            first.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (a, b) => match (a.int(), b.int(), a.real(), b.real()) {
            (Some(a), Some(b), ..) => a.cmp(&b),
            (_, _, Some(a), Some(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
            _ => a.class().cmp(&b.class()),
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
