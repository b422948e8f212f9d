//! What a `not` excludes, as far as rules can follow it.

use serde_json::Value;

use super::types;
use crate::regular::Pattern;
use crate::schema::{Draft, Keywords};

/// Annotations.
pub const ANNOTATIONS: &[&str] = &[
    "title",
    "description",
    "default",
    "examples",
    "$comment",
    "deprecated",
];

/// The types that a `not` excludes.
pub fn excluded_types(not: &Value, draft: Draft) -> u8 {
    match not {
        Value::Bool(true) => types::ALL,
        Value::Object(fields) if has_only(Keywords { fields, draft }, &["type"]) => fields
            .get("type")
            .map_or(types::ALL, |given| types::of(given).unwrap_or(0)),
        _ => 0,
    }
}

/// The property that a `not` excludes, if it excludes nothing else.
pub fn forbidden(not: &Value, draft: Draft) -> Option<&str> {
    let fields = not.as_object()?;
    let is_neutral = |(key, value): (&String, &Value)| match key.as_str() {
        "required" => true,
        "properties" => value
            .as_object()
            .is_some_and(|schemas| schemas.values().all(is_free)),
        key => ANNOTATIONS.contains(&key) || !draft.knows(key),
    };
    match fields.get("required")?.as_array()?.as_slice() {
        [name] if fields.iter().all(is_neutral) => name.as_str(),
        _ => None,
    }
}

/// The pattern that a `not` excludes, if it says nothing else of texts.
pub fn not_matching(not: &Value, draft: Draft) -> Option<Pattern> {
    let fields = not
        .as_object()
        .filter(|fields| has_only(Keywords { fields, draft }, &["pattern", "type"]))?;
    let is_text = fields
        .get("type")
        .is_none_or(|given| types::of(given).is_some_and(|types| types & types::STRING != 0));
    let pattern = fields.get("pattern")?.as_str().filter(|_| is_text)?;
    Pattern::parse(pattern)
        .ok()
        .filter(|pattern| !pattern.pinned)
}

/// The strings that a `not` excludes; `None` if it excludes other values.
pub fn excluded(not: &Value, draft: Draft) -> Option<Vec<&str>> {
    let listed = Keywords {
        fields: not.as_object()?,
        draft,
    }
    .listed()?;
    Some(listed.iter().filter_map(Value::as_str).collect())
}

/// Whether a schema has only these keywords and annotations.
pub fn has_only(keywords: Keywords, keys: &[&str]) -> bool {
    let is_one =
        |key: &str| keys.contains(&key) || ANNOTATIONS.contains(&key) || !keywords.draft.knows(key);
    keywords.fields.keys().all(|key| is_one(key))
}

/// Whether a schema obviously allows any value.
pub fn is_free(schema: &Value) -> bool {
    *schema == Value::Bool(true) || schema.as_object().is_some_and(|fields| fields.is_empty())
}
