//! Arguments of filters, functions and methods, by position or by name, as Python passes them.

use std::borrow::Cow;

use minijinja::value::{Kwargs, Value};
use minijinja::{Error, ErrorKind, State};

use crate::fault::{Result, invalid};
use crate::python::pyobject::as_text;
use crate::python::pyrepr;

/// The Rust function of a filter or a function.
pub type Call = fn(&mut State, &Args) -> Result<Value>;

/// The arguments of an operator that has `COUNT` of them.
pub fn exactly<const COUNT: usize>(args: &[Value]) -> Result<&[Value; COUNT]> {
    args.try_into()
        .map_err(|_| ErrorKind::MissingArgument.into())
}

/// The error for an argument that is missing.
pub fn missing(what: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::MissingArgument, what)
}

/// Positional and named arguments.
pub struct Args<'a> {
    all: &'a [Value],
    positional: &'a [Value],
    named: Option<Kwargs>,
}

impl<'a> Args<'a> {
    pub fn new(all: &'a [Value]) -> Result<Args<'a>> {
        let (positional, named) = match all.split_last() {
            Some((last, rest)) if last.is_kwargs() => (rest, Some(Kwargs::try_from(last.clone())?)),
            _ => (all, None),
        };
        Ok(Args {
            all,
            positional,
            named,
        })
    }

    /// The value that a filter is applied to.
    pub fn subject(&self) -> &'a Value {
        const MISSING: &Value = &Value::UNDEFINED;
        self.positional.first().unwrap_or(MISSING)
    }

    /// The text of that value.
    pub fn subject_text(&self) -> Cow<'a, str> {
        pyrepr::text(self.subject())
    }

    /// All arguments after the first ones, to pass on.
    pub fn after(&self, count: usize) -> &'a [Value] {
        self.all.get(count..).unwrap_or_default()
    }

    /// The positional arguments.
    pub fn positional(&self) -> &'a [Value] {
        self.positional
    }

    /// The named arguments.
    pub fn pairs(&self) -> impl Iterator<Item = (Value, Value)> {
        self.names()
            .map(|name| (Value::from(name), self.named(name)))
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.named.iter().flat_map(Kwargs::args)
    }

    /// The argument at `index` or with this name; undefined if it is missing.
    pub fn get(&self, index: usize, name: &str) -> Value {
        let positional = self.positional.get(index).cloned();
        positional.unwrap_or_else(|| self.named(name))
    }

    /// The same, unless it is missing.
    pub fn given(&self, index: usize, name: &str) -> Option<Value> {
        Some(self.get(index, name)).filter(|value| !value.is_undefined())
    }

    /// The same, unless it is missing or none.
    pub fn some(&self, index: usize, name: &str) -> Option<Value> {
        self.given(index, name).filter(|value| !value.is_none())
    }

    /// The argument with this name, which cannot be positional.
    pub fn named(&self, name: &str) -> Value {
        let named = self.named.as_ref();
        named
            .and_then(|named| named.peek(name).ok())
            .unwrap_or_default()
    }

    /// A whole number, if the argument is given.
    pub fn integer(&self, index: usize, name: &str) -> Result<Option<i64>> {
        match self.some(index, name).map(|value| value.as_i64()) {
            Some(None) => Err(invalid(format!("{name} must be an integer"))),
            number => Ok(number.flatten()),
        }
    }

    /// A text, if the argument is given.
    pub fn text(&self, index: usize, name: &str) -> Result<Option<Cow<'a, str>>> {
        if let Some(text) = self.positional.get(index).and_then(as_text) {
            return Ok(Some(Cow::Borrowed(text)));
        }
        match self.some(index, name) {
            None => Ok(None),
            Some(value) => match as_text(&value) {
                Some(text) => Ok(Some(text.to_owned().into())),
                None => Err(invalid(format!("{name} must be a string"))),
            },
        }
    }

    /// A text; an error if it is missing.
    pub fn required_text(&self, index: usize, name: &str) -> Result<Cow<'a, str>> {
        self.text(index, name)?
            .ok_or_else(|| missing(format!("argument {name} is missing")))
    }

    /// Whether the argument is given and true.
    pub fn flag(&self, index: usize, name: &str) -> bool {
        self.get(index, name).is_true()
    }
}
