//! Objects of a client's JSON, each with the path to it: errors name the field.

use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// An object, and where it stands in the body.
#[derive(Clone)]
pub(super) struct Fields<'a> {
    pub map: &'a Map<String, Value>,
    path: String,
}

impl<'a> Fields<'a> {
    pub fn new(value: &'a Value, path: impl Into<String>) -> Result<Fields<'a>> {
        let path = path.into();
        match value {
            Value::Object(map) => Ok(Fields { map, path }),
            other => Err(wrong(&path, "an object", other)),
        }
    }

    pub fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// The field, where it is there and not null.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    pub fn required(&self, name: &str) -> Result<&'a Value> {
        self.get(name).ok_or_else(|| self.refuse(name, "missing"))
    }

    pub fn text(&self, name: &str) -> Result<Option<&'a str>> {
        self.get(name).map(|value| value.as_str().ok_or_else(|| wrong(&self.path(name), "a string", value))).transpose()
    }

    pub fn required_text(&self, name: &str) -> Result<&'a str> {
        self.required(name)?;
        Ok(self.text(name)?.unwrap_or_default())
    }

    pub fn flag(&self, name: &str, other: bool) -> Result<bool> {
        match self.get(name) {
            None => Ok(other),
            Some(value) => value.as_bool().ok_or_else(|| wrong(&self.path(name), "true or false", value)),
        }
    }

    /// A whole number, 0 or more.
    pub fn number(&self, name: &str) -> Result<Option<u64>> {
        let number = |value: &Value| value.as_u64().ok_or_else(|| wrong(&self.path(name), "a whole number", value));
        self.get(name).map(number).transpose()
    }

    pub fn object(&self, name: &str) -> Result<Option<Fields<'a>>> {
        self.get(name).map(|value| Fields::new(value, self.path(name))).transpose()
    }

    /// The items of an array; none where the field is missing.
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

    /// A text, or the items of an array.
    pub fn text_or_items(&self, name: &str) -> Result<TextOrItems<'a>> {
        match self.get(name) {
            Some(Value::String(text)) => Ok(TextOrItems::Text(text)),
            Some(Value::Array(_)) | None => Ok(TextOrItems::Items(self.items(name)?)),
            Some(other) => Err(wrong(&self.path(name), "a string or an array", other)),
        }
    }

    /// The error that the field cannot be as it is.
    pub fn refuse(&self, name: &str, why: &str) -> Error {
        Error::invalid(format!("{}: {why}", self.path(name)))
    }

    /// The error that the field has none of the values that are known.
    pub fn unknown(&self, name: &str, known: &str) -> Error {
        let value = self.map.get(name).unwrap_or(&Value::Null);
        Error::invalid(format!("{}: must be {known}, not {value}", self.path(name)))
    }

    /// Takes the fields that are there over into `body`.
    pub fn copy(&self, names: &[&str], body: &mut Map<String, Value>) {
        for name in names {
            if let Some(value) = self.get(name) {
                body.insert((*name).to_owned(), value.clone());
            }
        }
    }
}

/// What many fields may be.
pub(super) enum TextOrItems<'a> {
    Text(&'a str),
    Items(Vec<Fields<'a>>),
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

/// Fields of ours, and of samplers, that mean the same in each API.
pub(super) const SHARED: &[&str] = &[
    "model",
    "stream",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "user",
    "metadata",
    "service_tier",
    "malformed_arguments",
    "dialects",
    "unknown_tools",
    "calls_in_reasoning",
    "bare_calls",
    "enable_thinking",
    "grammar",
    "grammar_style",
    "chat_template_kwargs",
    "force_pure_content",
    "now",
];

/// A chat-completions body with the fields of `body` that mean the same there. Reasoning is told from content unless the body
/// says otherwise: both other APIs have a place for it.
pub(super) fn chat_body(body: &Fields) -> Map<String, Value> {
    let mut chat = Map::new();
    body.copy(SHARED, &mut chat);
    chat.insert("reasoning_format".to_owned(), "auto".into());
    body.copy(&["reasoning_format"], &mut chat);
    chat
}

/// How much the model should think, for templates that ask: as the standard field, and as the variable that they look at.
pub(super) fn set_effort(effort: &str, chat: &mut Map<String, Value>) {
    if effort == "none" {
        chat.entry("enable_thinking").or_insert(false.into());
        return;
    }
    chat.insert("reasoning_effort".to_owned(), effort.into());
    let kwargs = chat.entry("chat_template_kwargs").or_insert_with(|| Value::Object(Map::new()));
    // One of another type is refused where the body is read.
    if let Value::Object(kwargs) = kwargs {
        kwargs.entry("reasoning_effort").or_insert(effort.into());
    }
}
