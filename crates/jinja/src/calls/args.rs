//! Arguments of calls, and what every call does with values.

use std::sync::Arc;

use crate::budget;
use crate::fault::{Made, fail};
use crate::ops::item;
use crate::text::{Buf, Text};
use crate::value::Value;

/// Arguments of a call.
#[derive(Clone, Default)]
pub struct Call {
    pub given: Vec<Value>,
    pub named: Vec<(Arc<str>, Value)>,
}

impl Call {
    /// An argument by place or name; undefined if it is missing.
    pub fn get(&self, index: usize, name: &str) -> Value {
        let named = || self.named.iter().find(|(known, _)| &**known == name);
        let given = self
            .given
            .get(index)
            .or_else(|| named().map(|(_, value)| value));
        given.cloned().unwrap_or(Value::Undefined)
    }

    pub fn some(&self, index: usize, name: &str) -> Option<Value> {
        Some(self.get(index, name)).filter(|value| !value.is_undefined() && !value.is_none())
    }

    pub fn int(&self, index: usize, name: &str) -> Made<Option<i64>> {
        match self.some(index, name) {
            None => Ok(None),
            Some(value) => match value.int() {
                Some(number) => Ok(Some(number as i64)),
                None => Err(format!("{name} must be an integer").into()),
            },
        }
    }

    pub fn text(&self, index: usize, name: &str) -> Made<Option<Text>> {
        match self.some(index, name) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(_) => Err(format!("{name} must be a string").into()),
        }
    }

    pub fn required(&self, index: usize, name: &str) -> Made<Text> {
        match self.text(index, name)? {
            Some(text) => Ok(text),
            None => fail!("argument {name} is missing"),
        }
    }

    pub fn width(&self, index: usize, name: &str, usual: i64) -> Made<usize> {
        let width = self.int(index, name)?.unwrap_or(usual);
        Ok(usize::try_from(width).map_err(|_| "a width is negative")?)
    }

    pub fn flag(&self, index: usize, name: &str) -> bool {
        self.get(index, name).is_true()
    }

    pub fn indention(&self, index: usize, name: &str) -> Made<Option<Text>> {
        match self.get(index, name) {
            Value::Text(text) => Ok(Some(text)),
            _ => {
                let count = self.int(index, name)?;
                Ok(count.map(|count| {
                    let mut indention = Buf::default();
                    indention.fill(" ", count.max(0) as usize);
                    indention.text()
                }))
            }
        }
    }
}

/// The value at a name with dots.
pub fn path(value: &Value, name: &Value) -> Value {
    let Some(names) = name.as_str() else {
        return item(value, name);
    };
    let mut found = value.clone();
    for key in names.split('.') {
        found = match (&found, key.parse::<usize>()) {
            (Value::List(_), Ok(index)) => item(&found, &index.into()),
            _ => item(&found, &key.into()),
        };
    }
    found
}

/// Counts the texts that a filter or a method reads, before it does.
pub fn touch(value: &Value, name: &str, call: &Call) -> Made<()> {
    let mut units = 0_usize;
    let args = call
        .given
        .iter()
        .chain(call.named.iter().map(|(_, value)| value));
    for (index, arg) in std::iter::once(value).chain(args).enumerate() {
        let Some(text) = arg.as_text() else { continue };
        units = units.saturating_add(match name {
            "append" | "copy" | "d" | "default" | "extend" | "first" | "get" | "insert"
            | "items" | "keys" | "last" | "pop" | "remove" | "safe" | "setdefault" | "string"
            | "update" => 0,
            "count" | "endswith" | "length" | "lstrip" | "removeprefix" | "removesuffix"
            | "rstrip" | "startswith" | "strip" | "trim" => text.len() / budget::COMPARED,
            "find" | "index" | "join" | "partition" | "replace" | "rfind" | "rindex"
            | "rpartition" | "rsplit" | "split"
                if index == 0 =>
            {
                text.len() / budget::SEARCHED
            }
            "capitalize" | "casefold" | "istitle" | "swapcase" | "title" => {
                text.len().saturating_mul(4)
            }
            // A text that is searched for is prepared byte by byte.
            _ => text.len(),
        });
    }
    budget::work(units)
}
