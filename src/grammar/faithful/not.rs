//! What a `not` excludes, as far as rules can follow it.

use serde_json::{Map, Value};

use super::types;
use crate::grammar::regular::Pattern;

/// Annotations.
pub(super) const ANNOTATIONS: &[&str] = &["title", "description", "default", "examples", "$comment", "deprecated"];

/// The types that a `not` excludes.
pub(super) fn excluded_types(not: &Value) -> u8 {
    match not {
        Value::Bool(true) => types::ALL,
        Value::Object(fields) if has_only(fields, &["type"]) => {
            fields.get("type").map_or(types::ALL, |given| types::of(given).unwrap_or(0))
        }
        _ => 0,
    }
}

/// The property that a `not` excludes, if it excludes nothing else.
pub(super) fn forbidden(not: &Value) -> Option<&str> {
    let fields = not.as_object()?;
    let is_neutral = |(key, value): (&String, &Value)| match key.as_str() {
        "required" => true,
        "properties" => value.as_object().is_some_and(|schemas| schemas.values().all(is_free)),
        key => ANNOTATIONS.contains(&key),
    };
    match fields.get("required")?.as_array()?.as_slice() {
        [name] if fields.iter().all(is_neutral) => name.as_str(),
        _ => None,
    }
}

/// The pattern that a `not` excludes, if it says nothing else of texts.
pub(super) fn not_matching(not: &Value) -> Option<Pattern> {
    let fields = not.as_object().filter(|fields| has_only(fields, &["pattern", "type"]))?;
    let is_text =
        fields.get("type").is_none_or(|given| types::of(given).is_some_and(|types| types & types::STRING != 0));
    let pattern = fields.get("pattern")?.as_str().filter(|_| is_text)?;
    Pattern::parse(pattern).ok().filter(|pattern| !pattern.pinned)
}

/// The strings that a `not` excludes; `None` if it excludes other values.
pub(super) fn excluded(not: &Value) -> Option<Vec<&str>> {
    let listed = not.get("const").map(|value| vec![value]);
    let listed = listed.or_else(|| Some(not.get("enum")?.as_array()?.iter().collect()))?;
    Some(listed.into_iter().filter_map(Value::as_str).collect())
}

/// Whether a schema has only these keywords and annotations.
pub(super) fn has_only(fields: &Map<String, Value>, keys: &[&str]) -> bool {
    fields.keys().all(|key| keys.contains(&key.as_str()) || ANNOTATIONS.contains(&key.as_str()))
}

/// Whether a schema obviously allows any value.
pub(super) fn is_free(schema: &Value) -> bool {
    *schema == Value::Bool(true) || schema.as_object().is_some_and(|fields| fields.is_empty())
}
