//! Reads fields of JSON objects, with errors that name the field.

use std::collections::HashSet;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use chatparse_base::limits;
use chatparse_base::{Error, Result, json, number};

/// An object of the request, and its place for errors.
pub struct Fields<'a> {
    pub map: &'a Map<String, Value>,
    /// Fields that replace fields of `map`.
    over: Option<&'a Map<String, Value>>,
    place: FieldPath<'a>,
}

/// The place of an object. Formatted only when an error needs it.
#[derive(Clone, Copy)]
enum FieldPath<'a> {
    /// The whole input, which errors call this; the name of the request is empty.
    Whole(&'static str),
    /// At a key of another object.
    Key(&'a Fields<'a>, &'a str),
    /// In a list at a key of another object.
    Item(&'a Fields<'a>, &'a str, usize),
}

/// The number of fields up to which a linear search is faster than hashing.
const FEW: usize = 16;

fn field<'a>(map: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if map.len() > FEW {
        return map.get(name);
    }
    map.iter()
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
}

impl<'a> Fields<'a> {
    /// The fields of an object that errors call `name`.
    pub fn new(value: &'a Value, name: &'static str) -> Result<Fields<'a>> {
        Fields::at(value, FieldPath::Whole(name))
    }

    /// The same with the fields of `over` in front.
    pub fn under(self, over: &'a Map<String, Value>) -> Fields<'a> {
        Fields {
            over: Some(over),
            ..self
        }
    }

    /// The fields of another object, which errors find in the place of this one.
    pub fn instead(&self, other: &'a Value) -> Result<Fields<'a>> {
        Fields::at(other, self.place)
    }

    fn at(value: &'a Value, place: FieldPath<'a>) -> Result<Fields<'a>> {
        match value {
            Value::Object(map) => Ok(Fields {
                map,
                over: None,
                place,
            }),
            other => Err(wrong(&place.path(), "an object", other)),
        }
    }

    pub fn own_path(&self) -> String {
        self.place.path()
    }

    pub fn path(&self, name: &str) -> String {
        let own = self.own_path();
        if own.is_empty() {
            name.to_owned()
        } else {
            format!("{own}.{name}")
        }
    }

    /// The field, unless it is missing or null.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        let over = self.over.and_then(|over| field(over, name));
        over.or_else(|| field(self.map, name))
            .filter(|value| !value.is_null())
    }

    /// The object at a key, if there is one.
    pub fn object<'s>(&'s self, name: &'s str) -> Result<Option<Fields<'s>>> {
        let value = self.get(name);
        value.map(|_| self.required_object(name)).transpose()
    }

    /// The object at a key, which must exist.
    pub fn required_object<'s>(&'s self, name: &'s str) -> Result<Fields<'s>> {
        Fields::at(self.required(name)?, FieldPath::Key(self, name))
    }

    pub fn required(&self, name: &str) -> Result<&'a Value> {
        self.get(name).ok_or_else(|| self.refuse(name, "missing"))
    }

    /// The field as `read` takes it; an error says what is `expected`.
    pub(super) fn typed<T>(
        &self,
        name: &str,
        expected: &str,
        read: fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>> {
        self.get(name)
            .map(|value| read(value).ok_or_else(|| wrong(&self.path(name), expected, value)))
            .transpose()
    }

    pub fn text(&self, name: &str) -> Result<Option<&'a str>> {
        self.typed(name, "a string", Value::as_str)
    }

    pub fn required_text(&self, name: &str) -> Result<&'a str> {
        self.required(name)?;
        Ok(self.text(name)?.unwrap_or_default())
    }

    /// The id of a call. Ids may repeat, because some engines count the calls of each turn anew. A
    /// result may have the id of a call that is no longer in the history.
    pub fn call_id(&self, name: &str) -> Result<Option<&'a str>> {
        self.text(name)?
            .map(|id| self.short(name, id, limits::CALL_ID_BYTES))
            .transpose()
    }

    pub fn required_call_id(&self, name: &str) -> Result<&'a str> {
        self.required(name)?;
        Ok(self.call_id(name)?.unwrap_or_default())
    }

    /// The text of a field that may have so many bytes.
    fn short(&self, name: &str, text: &'a str, most: usize) -> Result<&'a str> {
        if text.len() <= most {
            return Ok(text);
        }
        let (path, len) = (self.path(name), text.len());
        let message = format!("{path}: must have at most {most} bytes, not {len}");
        Err(Error::limit(message))
    }

    pub fn text_or_empty(&self, name: &str) -> Result<String> {
        Ok(self.text(name)?.unwrap_or_default().to_owned())
    }

    pub fn flag(&self, name: &str, other: bool) -> Result<bool> {
        let flag = self.typed(name, "true or false", Value::as_bool)?;
        Ok(flag.unwrap_or(other))
    }

    /// A non-negative whole number.
    pub fn number(&self, name: &str) -> Result<Option<u64>> {
        self.typed(name, "a whole number", Value::as_u64)
    }

    /// The objects of an array; empty if the field is missing.
    pub fn items<'s>(&'s self, name: &'s str) -> Result<Vec<Fields<'s>>> {
        let items = self.typed(name, "an array", Value::as_array)?;
        let items = items.into_iter().flatten().enumerate();
        items
            .map(|(index, item)| self.item(name, index, item))
            .collect()
    }

    /// The results of `read` for the objects of an array.
    pub(super) fn each<T>(
        &self,
        name: &str,
        read: impl Fn(&Fields) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.items(name)?.iter().map(read).collect()
    }

    /// An object in an array at a key.
    pub fn item<'s>(&'s self, name: &'s str, index: usize, item: &'s Value) -> Result<Fields<'s>> {
        Fields::at(item, FieldPath::Item(self, name, index))
    }

    /// A text, or the objects of an array.
    pub fn text_or_items<'s>(&'s self, name: &'s str) -> Result<TextOrItems<'s>> {
        match self.get(name) {
            Some(Value::String(text)) => Ok(TextOrItems::Text(text)),
            Some(Value::Array(_)) | None => Ok(TextOrItems::Items(self.items(name)?)),
            Some(other) => Err(wrong(&self.path(name), "a string or an array", other)),
        }
    }

    /// An error about the field.
    pub fn refuse(&self, name: &str, why: &str) -> Error {
        Error::invalid(format!("{}: {why}", self.path(name)))
    }

    /// The error for an unknown value of the field.
    pub fn unknown(&self, name: &str, known: &str) -> Error {
        let value = self.get(name).unwrap_or(&Value::Null);
        self.refuse(name, &format!("must be {known}, not {value}"))
    }

    /// The `function` of a tool or a call, whose `type` must be `function`.
    pub fn function(&self) -> Result<Fields<'_>> {
        match self.required_text("type")? {
            "function" => self.required_object("function"),
            kind => {
                let why = format!("only \"function\" is supported, not {kind:?}");
                Err(self.refuse("type", &why))
            }
        }
    }
}

impl FieldPath<'_> {
    fn path(&self) -> String {
        match self {
            FieldPath::Whole(name) => (*name).to_owned(),
            FieldPath::Key(inside, name) => inside.path(name),
            FieldPath::Item(inside, name, index) => format!("{}[{index}]", inside.path(name)),
        }
    }
}

/// The names of the tools of a request, which differ: calls say no more of their tool.
#[derive(Default)]
pub struct ToolNames(HashSet<(String, String)>);

impl ToolNames {
    /// The name of one more tool in a namespace, which may be empty.
    pub fn read(&mut self, tool: &Fields, namespace: &str) -> Result<String> {
        let name = tool.short("name", tool.required_text("name")?, limits::TOOL_NAME_BYTES)?;
        if name.trim().is_empty() {
            return Err(tool.refuse("name", "must not be empty"));
        }
        if !self.add(namespace, name) {
            return Err(tool.refuse("name", &format!("there is another tool {name:?}")));
        }
        Ok(name.to_owned())
    }

    /// Adds a name that was read before, if it is not there yet.
    pub fn add(&mut self, namespace: &str, name: &str) -> bool {
        self.0.insert((namespace.to_owned(), name.to_owned()))
    }

    /// Whether this tool in the form of chat completions, or the first one of this namespace, is
    /// not there yet.
    pub fn read_found(&mut self, tool: &Value) -> bool {
        let (namespace, tool) = match tool["tools"].get(0) {
            Some(inner) => (tool["name"].as_str(), inner),
            None => (None, tool),
        };
        let kind = tool["type"].as_str().unwrap_or_default();
        let function = tool.get(kind).unwrap_or(tool);
        let name = function["name"].as_str().or(tool["server_label"].as_str());
        let namespace = namespace.or(function["namespace"].as_str());
        self.add(namespace.unwrap_or_default(), name.unwrap_or(kind))
    }
}

/// The value of fields that may have several types.
pub enum TextOrItems<'a> {
    Text(&'a str),
    Items(Vec<Fields<'a>>),
}

pub fn wrong(path: &str, expected: &str, got: &Value) -> Error {
    let got = match got {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) if number::long(got).is_none() => "an object",
        Value::Number(_) | Value::Object(_) => "a number",
    };
    let path = if path.is_empty() { "the request" } else { path };
    Error::invalid(format!("{path}: must be {expected}, not {got}"))
}

/// The choice that a field names; `other` if it is missing.
pub(super) fn choice<T: DeserializeOwned>(body: &Fields, name: &str, other: T) -> Result<T> {
    let Some(text) = body.text(name)? else {
        return Ok(other);
    };
    serde_json::from_value(text.into()).map_err(|error| json::wrong(body.path(name), &error))
}

/// Whether a field names the second of two choices; the first one is the default.
pub(super) fn is_second(body: &Fields, name: &str, choices: [&str; 2]) -> Result<bool> {
    match body.get(name) {
        None => Ok(false),
        Some(value) if choices.iter().any(|known| value == known) => Ok(value == choices[1]),
        Some(_) => Err(body.unknown(name, &choices.join(" or "))),
    }
}
