//! A response template from its JSON. An error names the place.

use serde_json::{Map, Value};

use super::{Anchor, Field, ResponseTemplate};
use chatparse_base::limits::{RESPONSE_PATTERN_BYTES, RESPONSE_WAYS};
use chatparse_base::{Error, Result};
use chatparse_message::fields::Fields;

/// The error at a place of the template, e.g. `fields.content.close`.
pub fn wrong(place: &str, what: impl std::fmt::Display) -> Error {
    let place = if place.is_empty() {
        String::new()
    } else {
        format!(".{place}")
    };
    Error::invalid(format!("response_template{place}: {what}"))
}

/// The members of a template and of a field. Null counts as missing.
const TEMPLATE: &[&str] = &[
    "version",
    "defaults",
    "start_anchor",
    "start_anchor_pattern",
    "fields",
];
const FIELD: &[&str] = &[
    "open",
    "open_pattern",
    "close",
    "close_pattern",
    "content",
    "content_args",
    "repeats",
    "join",
    "optional",
    "transform",
    "transform_each",
];

/// The error for a member that an object does not have.
fn known(members: &Fields, known: &[&str]) -> Result<()> {
    match members
        .map
        .keys()
        .find(|name| !known.contains(&name.as_str()))
    {
        Some(name) => Err(members.refuse(name, "there is no such member")),
        None => Ok(()),
    }
}

/// The object of `name`, which may be missing.
fn map_at(members: &Fields, name: &str) -> Result<Map<String, Value>> {
    let object = members.object(name)?;
    Ok(object.map_or_else(Map::new, |object| object.map.clone()))
}

/// The texts of `name`, or the expression of `name_pattern`.
fn anchor(members: &Fields, name: &str) -> Result<Option<Anchor>> {
    let pattern = members.text(&format!("{name}_pattern"))?;
    let texts: Vec<String> = match members.get(name) {
        None => return Ok(pattern.map(|pattern| Anchor::Pattern(pattern.to_owned()))),
        Some(_) if pattern.is_some() => {
            return Err(members.refuse(name, &format!("there is {name}_pattern as well")));
        }
        Some(Value::String(text)) => vec![text.clone()],
        Some(texts) => serde_json::from_value(texts.clone())
            .map_err(|_| members.refuse(name, "neither a text nor a list of texts"))?,
    };
    if texts.is_empty() || texts.iter().any(String::is_empty) {
        return Err(members.refuse(name, "an empty text, or none"));
    }
    let bytes: usize = texts.iter().map(String::len).sum();
    if texts.len() > RESPONSE_WAYS || bytes > RESPONSE_PATTERN_BYTES {
        return Err(members.refuse(
            name,
            &format!("{} texts of {bytes} bytes are too many", texts.len()),
        ));
    }
    Ok(Some(Anchor::Texts(texts)))
}

impl ResponseTemplate {
    /// Reads a response template of version 1.
    ///
    /// # Errors
    /// [`chatparse_base::ErrorKind::InvalidArgument`] for another version or shape, with the place.
    pub fn from_json(json: &Value) -> Result<ResponseTemplate> {
        let members = Fields::new(json, "response_template")?;
        known(&members, TEMPLATE)?;
        if let Some(version) = members.get("version").filter(|version| **version != 1) {
            return Err(members.refuse("version", &format!("{version} is not known; 1 is")));
        }
        let start = anchor(&members, "start_anchor")?.ok_or_else(|| {
            members.refuse("start_anchor", "missing, and so is start_anchor_pattern")
        })?;
        let defaults = map_at(&members, "defaults")?;
        let given = members.required_object("fields")?;
        let mut fields: Vec<(String, Field)> = Vec::new();
        for name in given.map.keys() {
            let field = Field::read(&given.required_object(name)?)?;
            if field.open.is_none() && fields.iter().any(|(_, before)| before.open.is_none()) {
                return Err(given.refuse(name, "a second field without an opening"));
            }
            fields.push((name.clone(), field));
        }
        if fields.is_empty() {
            return Err(members.refuse("fields", "there are none"));
        }
        Ok(ResponseTemplate {
            start,
            defaults,
            fields,
        })
    }
}

impl Field {
    fn read(members: &Fields) -> Result<Field> {
        known(members, FIELD)?;
        Ok(Field {
            open: anchor(members, "open")?,
            close: anchor(members, "close")?,
            content: members.text_or_empty("content")?,
            content_args: map_at(members, "content_args")?,
            repeats: members.flag("repeats", false)?,
            join: members.text("join")?.map(str::to_owned),
            required: !members.flag("optional", true)?,
            transform: members.get("transform").cloned(),
            transform_each: members.flag("transform_each", false)?,
        })
    }
}
