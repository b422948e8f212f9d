//! A response template from its JSON. An error names the place.

use serde_json::{Map, Value};

use super::{Anchor, Field, ResponseTemplate};
use chatparse_base::limits::{RESPONSE_PATTERN_BYTES, RESPONSE_WAYS};
use chatparse_base::{Error, Result};

/// The error at a place of the template, e.g. `fields.content.close`.
pub(super) fn wrong(place: &str, what: impl std::fmt::Display) -> Error {
    let place = if place.is_empty() { String::new() } else { format!(".{place}") };
    Error::invalid(format!("response_template{place}: {what}"))
}

/// The members of an object, of which each is taken once and none may be left.
struct Members<'v> {
    place: String,
    left: Map<String, Value>,
    of: &'v str,
}

impl<'v> Members<'v> {
    fn of(value: &Value, place: &str, of: &'v str) -> Result<Self> {
        match value {
            Value::Object(members) => Ok(Members { place: place.to_owned(), left: members.clone(), of }),
            _ => Err(wrong(place, format_args!("{of} is a JSON object"))),
        }
    }

    fn at(&self, name: &str) -> String {
        if self.place.is_empty() { name.to_owned() } else { format!("{}.{name}", self.place) }
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.left.shift_remove(name)
    }

    fn text(&mut self, name: &str) -> Result<Option<String>> {
        match self.take(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(wrong(&self.at(name), "not a text")),
        }
    }

    fn flag(&mut self, name: &str, otherwise: bool) -> Result<bool> {
        match self.take(name) {
            None => Ok(otherwise),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(wrong(&self.at(name), "neither true nor false")),
        }
    }

    fn object(&mut self, name: &str) -> Result<Map<String, Value>> {
        match self.take(name) {
            None => Ok(Map::new()),
            Some(Value::Object(object)) => Ok(object),
            Some(_) => Err(wrong(&self.at(name), "not a JSON object")),
        }
    }

    /// The texts of `name`, or the expression of `name_pattern`.
    fn anchor(&mut self, name: &str) -> Result<Option<Anchor>> {
        let pattern = self.text(&format!("{name}_pattern"))?;
        let texts = match self.take(name) {
            None => return Ok(pattern.map(Anchor::Pattern)),
            Some(Value::String(text)) => vec![text],
            Some(Value::Array(texts)) => {
                let all = texts.iter().map(|text| text.as_str().map(str::to_owned)).collect::<Option<_>>();
                all.ok_or_else(|| wrong(&self.at(name), "not a list of texts"))?
            }
            Some(_) => return Err(wrong(&self.at(name), "neither a text nor a list of texts")),
        };
        if pattern.is_some() {
            return Err(wrong(&self.at(name), format_args!("there is {name}_pattern as well")));
        }
        if texts.is_empty() || texts.iter().any(String::is_empty) {
            return Err(wrong(&self.at(name), "an empty text, or none"));
        }
        let bytes: usize = texts.iter().map(String::len).sum();
        if texts.len() > RESPONSE_WAYS || bytes > RESPONSE_PATTERN_BYTES {
            return Err(wrong(&self.at(name), format_args!("{} texts of {bytes} bytes are too many", texts.len())));
        }
        Ok(Some(Anchor::Texts(texts)))
    }

    fn end(self) -> Result<()> {
        match self.left.keys().next() {
            Some(name) => Err(wrong(&self.at(name), format_args!("{} has no such member", self.of))),
            None => Ok(()),
        }
    }
}

impl ResponseTemplate {
    /// Reads a response template of version 1.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] for another version or shape, with the place.
    pub fn from_json(json: &Value) -> Result<ResponseTemplate> {
        let mut members = Members::of(json, "", "a response template")?;
        match members.take("version") {
            None => {}
            Some(version) if version == 1 => {}
            Some(version) => return Err(wrong("version", format_args!("{version} is not known; 1 is"))),
        }
        let defaults = members.object("defaults")?;
        let start = members.anchor("start_anchor")?;
        let start = start.ok_or_else(|| wrong("start_anchor", "missing, and so is start_anchor_pattern"))?;
        let mut fields = Vec::new();
        for (name, field) in members.object("fields")? {
            fields.push((name.clone(), Field::from_json(&field, &format!("fields.{name}"))?));
        }
        members.end()?;
        if fields.is_empty() {
            return Err(wrong("fields", "there are none"));
        }
        let mut unopened = fields.iter().filter(|(_, field)| field.open.is_none()).skip(1);
        if let Some((name, _)) = unopened.next() {
            return Err(wrong(&format!("fields.{name}"), "a second field without an opening"));
        }
        Ok(ResponseTemplate { start, defaults, fields })
    }
}

impl Field {
    fn from_json(json: &Value, place: &str) -> Result<Field> {
        let mut members = Members::of(json, place, "a field")?;
        let field = Field {
            open: members.anchor("open")?,
            close: members.anchor("close")?,
            content: members.text("content")?.unwrap_or_default(),
            content_args: members.object("content_args")?,
            repeats: members.flag("repeats", false)?,
            join: members.text("join")?,
            required: !members.flag("optional", true)?,
            transform: members.take("transform").filter(|transform| !transform.is_null()),
            transform_each: members.flag("transform_each", false)?,
        };
        members.end()?;
        Ok(field)
    }
}
