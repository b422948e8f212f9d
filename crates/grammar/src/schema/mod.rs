//! JSON schemas as grammars and checks of values read them: drafts, keywords, identifiers,
//! references, types.
//!
//! A `Document` is read only. Who follows a schema's references carries its `Base` along.

mod document;
mod draft;
mod keywords;
mod pointer;
mod types;
mod uri;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

pub(super) use self::document::{Base, Document, Steps, draft_within};
pub(super) use self::draft::{Draft, Fields};
pub(super) use self::keywords::Keywords;
use self::pointer::place;
pub use self::pointer::{Places, Step, find};
pub(super) use self::types::SAY_NOTHING;
pub use self::types::{
    Types, all_of, allows_any_string, format_rule, has_object_keywords, has_string_keywords,
    may_be_string, type_name, types,
};
use chatparse_base::{Error, ErrorKind, number};
use chatparse_peg::SchemaRef;

/// Parses a schema.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] where it is no JSON, and [`crate::ErrorKind::Limit`] where
/// it nests too deep.
pub fn from_text(text: &str) -> Result<Value, Error> {
    number::parse(text, "the schema")
}

/// Whether a schema obviously allows any value.
pub fn is_free(schema: &Value) -> bool {
    *schema == Value::Bool(true) || schema.as_object().is_some_and(Fields::is_empty)
}

/// An error about the schema at `pointer`.
pub fn refused(pointer: &str, message: &str) -> Error {
    Error::new(
        ErrorKind::Schema,
        format!("JSON schema error at {pointer}: {message}"),
    )
}

/// The parameters of a tool as a schema: a tool without parameters, or with `{}`, takes no
/// arguments.
pub fn parameters(given: &Arc<Value>) -> Arc<Value> {
    let has_parameters = given.as_object().is_some_and(|fields| !fields.is_empty());
    if has_parameters {
        Arc::clone(given)
    } else {
        Arc::new(json!({"type": "object", "properties": {}}))
    }
}

/// The places in its document of a schema and of those that it combines, and whether each must
/// hold. `refers`: also those that it refers to.
pub fn places(schema: &SchemaRef, refers: bool) -> Vec<(SchemaRef, bool)> {
    let mut pending = vec![(schema.clone(), true)];
    let (mut seen, mut places) = (BTreeSet::new(), Vec::new());
    while let Some((schema, must)) = pending.pop() {
        if !seen.insert(schema.pointer.clone()) {
            continue;
        }
        for key in ["oneOf", "anyOf", "allOf"] {
            let branches = schema.get().get(key).and_then(Value::as_array);
            let branches = branches.map_or(&[][..], Vec::as_slice);
            let mut must = must;
            if key != "allOf" {
                let others = branches
                    .iter()
                    .filter(|branch| branch.get("type").is_none_or(|kind| kind != "null"));
                must &= others.count() < 2;
            }
            for index in (0..branches.len()).rev() {
                pending.push((schema.within(&[key, &index.to_string()]), must));
            }
        }
        if refers
            && let Some(target) = schema.get().get("$ref")
            && let Some(pointer) = place(target, &schema.document)
        {
            let target = SchemaRef {
                pointer: pointer.into(),
                ..schema.clone()
            };
            pending.push((target, must));
        }
        places.push((schema, must));
    }
    places
}

/// The properties of an object schema, in order, and whether each is required.
pub fn members(schema: &Value) -> impl Iterator<Item = (&str, &Value, bool)> {
    let required = schema.get("required").and_then(Value::as_array);
    let members = schema.get("properties").and_then(Value::as_object);
    members.into_iter().flatten().map(move |(name, member)| {
        let must = required.is_some_and(|names| names.iter().any(|one| one == name));
        (name.as_str(), member, must)
    })
}
