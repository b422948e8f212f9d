//! What a `not` excludes, as far as rules can follow it.

use serde_json::Value;

use super::types;
use crate::regular::Pattern;
use crate::schema::{Draft, Keywords, is_free};

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
    let [name] = fields.get("required")?.as_array()?.as_slice() else {
        return None;
    };
    for (key, value) in fields {
        let is_neutral = match (key.as_str(), value) {
            ("required", _) => true,
            ("properties", Value::Object(schemas)) => schemas.values().all(is_free),
            ("properties", _) => false,
            (key, _) => ANNOTATIONS.contains(&key) || !draft.knows(key),
        };
        if !is_neutral {
            return None;
        }
    }
    name.as_str()
}

/// The pattern that a `not` excludes, if it says nothing else of texts.
pub fn not_matching(not: &Value, draft: Draft) -> Option<Pattern> {
    let fields = not.as_object()?;
    let types = fields.get("type").map_or(Some(types::ALL), types::of)?;
    if !has_only(Keywords { fields, draft }, &["pattern", "type"]) || types & types::STRING == 0 {
        return None;
    }
    let pattern = Pattern::parse(fields.get("pattern")?.as_str()?).ok()?;
    (!pattern.pinned).then_some(pattern)
}

/// The strings that a `not` excludes; `None` if it excludes other values.
pub fn excluded(not: &Value, draft: Draft) -> Option<Vec<&str>> {
    let fields = not.as_object()?;
    let listed = Keywords { fields, draft }.listed()?;
    Some(listed.iter().filter_map(Value::as_str).collect())
}

/// Whether a schema has only these keywords and annotations.
pub fn has_only(keywords: Keywords, keys: &[&str]) -> bool {
    keywords
        .fields
        .keys()
        .map(String::as_str)
        .all(|key| keys.contains(&key) || ANNOTATIONS.contains(&key) || !keywords.draft.knows(key))
}
