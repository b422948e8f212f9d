//! Formats as hosts describe them, in JSON.

use serde_json::Value;

use super::calls::described;
use super::tag::Tag;
use chatparse_base::{Error, Result};
use chatparse_grammar::Rule;
use chatparse_message::Request;
use chatparse_peg::{Arena, Builder, CharSet, ExprId, TagId};

type MakeValue = fn(&Builder) -> ExprId;

/// Values in a notation, by the names that descriptions have for them.
const VALUES: [(&str, MakeValue); 10] = [
    ("json", Builder::json),
    ("json_object", Builder::json_object),
    ("json_array", Builder::json_array),
    ("json_string", Builder::json_string),
    ("json_number", Builder::json_number),
    ("python", Builder::python_literal),
    ("python_dict", Builder::python_dict),
    ("python_list", Builder::python_list),
    ("python_string", Builder::python_string),
    ("python_or_json", Builder::python),
];

/// Reads a format: what [`Arena::to_json`] wrote, or a description, which also has tags and labels
/// by name, values in a notation, and the calls of a request.
///
/// # Errors
/// As [`Arena::from_json`]; those of a class of characters, of GBNF, and of the request and the
/// turn of calls; [`chatparse_base::ErrorKind::Limit`] for too many labels.
pub fn from_json(json: Value) -> Result<Arena> {
    Arena::from_json(json, read_kind)
}

fn read_kind(builder: &mut Builder, node: &mut Value) -> Result<Option<ExprId>> {
    if let Some(tag) = node.pointer_mut("/tag/0") {
        if let Some(name) = tag.as_str() {
            let known = Tag::named(name)
                .map(TagId::from)
                .or_else(|| builder.label(name));
            *tag = known
                .ok_or_else(|| Error::limit("has one label too many"))?
                .0
                .into();
        }
        return Ok(None);
    }
    if let Some(class) = node.get("char").and_then(Value::as_str) {
        return Ok(Some(builder.character(CharSet::parse(class)?)));
    }
    if let Some(calls) = node.get("calls") {
        let request = Request::from_json(&calls["request"])?;
        return described(builder, &request, &calls["turn"]).map(Some);
    }
    if let Some(body) = node
        .pointer("/gbnf/1")
        .and_then(Value::as_str)
        .filter(|body| !body.is_empty())
    {
        Rule::gbnf(body)?;
    }
    let value = VALUES.iter().find(|(name, _)| node.as_str() == Some(name));
    Ok(value.map(|(_, make)| make(builder)))
}
