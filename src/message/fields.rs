//! Reading fields of JSON objects, with errors that name the field.

use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// An object of the request, and the path to it for errors.
pub(super) struct Fields<'a> {
    pub map: &'a Map<String, Value>,
    /// Fields that count before those of `map`.
    pub over: Option<&'a Map<String, Value>>,
    pub path: String,
}

impl<'a> Fields<'a> {
    pub fn new(value: &'a Value, path: impl Into<String>) -> Result<Fields<'a>> {
        let path = path.into();
        match value {
            Value::Object(map) => Ok(Fields { map, over: None, path }),
            other => Err(wrong(&path, "an object", other)),
        }
    }

    pub fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// The field, where it is there and not null.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        let over = self.over.and_then(|over| over.get(name));
        over.or_else(|| self.map.get(name)).filter(|value| !value.is_null())
    }

    pub fn required(&self, name: &str) -> Result<&'a Value> {
        self.get(name).ok_or_else(|| Error::invalid(format!("{}: missing", self.path(name))))
    }

    pub fn text(&self, name: &str) -> Result<Option<&'a str>> {
        self.get(name).map(|value| value.as_str().ok_or_else(|| wrong(&self.path(name), "a string", value))).transpose()
    }

    pub fn required_text(&self, name: &str) -> Result<&'a str> {
        self.required(name)?;
        Ok(self.text(name)?.unwrap_or_default())
    }

    pub fn text_or_empty(&self, name: &str) -> Result<String> {
        Ok(self.text(name)?.unwrap_or_default().to_owned())
    }

    pub fn flag(&self, name: &str, other: bool) -> Result<bool> {
        match self.get(name) {
            None => Ok(other),
            Some(value) => value.as_bool().ok_or_else(|| wrong(&self.path(name), "true or false", value)),
        }
    }

    /// The items of an array and their paths; none where the field is missing.
    pub fn items(&self, name: &str) -> Result<Vec<Fields<'a>>> {
        let path = self.path(name);
        match self.get(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => {
                items.iter().enumerate().map(|(index, item)| Fields::new(item, format!("{path}[{index}]"))).collect()
            }
            Some(other) => Err(wrong(&path, "an array", other)),
        }
    }

    /// The `function` of a tool or a call, whose `type` must say that it is one.
    pub fn function(&self) -> Result<Fields<'a>> {
        let kind = self.required_text("type")?;
        if kind != "function" {
            return Err(Error::invalid(format!("{}: only \"function\" is supported, not {kind:?}", self.path("type"))));
        }
        Fields::new(self.required("function")?, self.path("function"))
    }
}

pub(super) fn wrong(path: &str, wanted: &str, got: &Value) -> Error {
    let got = match got {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    let path = if path.is_empty() { "the request" } else { path };
    Error::invalid(format!("{path}: must be {wanted}, not {got}"))
}

/// The choice that a field names; `other` where it is missing.
pub(super) fn choice<T: Copy>(body: &Fields, name: &str, choices: &[(&str, T)], other: T) -> Result<T> {
    let Some(text) = body.text(name)? else { return Ok(other) };
    match choices.iter().find(|(known, _)| *known == text) {
        Some((_, choice)) => Ok(*choice),
        None => {
            let known: Vec<&str> = choices.iter().map(|(known, _)| *known).collect();
            Err(Error::invalid(format!("{}: must be one of {}, not {text:?}", body.path(name), known.join(", "))))
        }
    }
}
