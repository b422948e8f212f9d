//! Handles `not`, and finds the keywords that no rule expresses.

use serde_json::Value;

use super::all::All;
use super::places::Fields;
use super::text::not_matching;
use super::{Lowering, types, values};
use crate::grammar::builder::FidelityKind;

/// The types that the keywords of all parts apply to.
pub(super) fn types_of_keywords(all: &All) -> u8 {
    all.fields().flat_map(|(_, fields)| fields.keys()).fold(0, |constrained, key| constrained | types_of_keyword(key))
}

/// The types that a keyword applies to; none for `type` and annotations.
fn types_of_keyword(key: &str) -> u8 {
    match key {
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => types::NUMBER,
        "minLength" | "maxLength" | "pattern" | "format" => types::STRING,
        "contentEncoding" | "contentMediaType" | "contentSchema" => types::STRING,
        "items" | "prefixItems" | "additionalItems" | "minItems" | "maxItems" | "uniqueItems" | "contains"
        | "unevaluatedItems" => types::ARRAY,
        "properties"
        | "required"
        | "additionalProperties"
        | "minProperties"
        | "maxProperties"
        | "patternProperties"
        | "propertyNames"
        | "dependencies"
        | "dependentRequired"
        | "dependentSchemas"
        | "unevaluatedProperties" => types::OBJECT,
        "enum" | "const" | "not" | "if" | "$dynamicRef" | "$recursiveRef" => types::ALL,
        _ => 0,
    }
}

/// Keywords without rules.
const UNFOLLOWED: &[&str] = &[
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "if",
    "$dynamicRef",
    "$recursiveRef",
];
/// Annotations.
pub(super) const ANNOTATIONS: &[&str] = &["title", "description", "default", "examples", "$comment", "deprecated"];

impl<'a> Lowering<'_, 'a> {
    /// Reports the keywords that no rule expresses.
    pub(super) fn left_out(&mut self, all: &All<'a>, types: u8) {
        let parts: Vec<_> = all.fields().collect();
        for (part, fields) in parts {
            for key in UNFOLLOWED {
                let is_given = || fields.get(*key).is_some_and(|value| !is_free(value));
                let is_chosen = || self.places.conditions.has(part.schema, key);
                if types & types_of_keyword(key) != 0 && is_given() && !is_chosen() {
                    self.note(part.place, key, FidelityKind::Widened, "not followed by the grammar".to_owned());
                }
            }
            if let Some(not) = fields.get("not")
                && !self.places.conditions.has(part.schema, "not")
                && !self.is_followed(not, types)
            {
                self.note(part.place, "not", FidelityKind::Widened, "not followed by the grammar".to_owned());
            }
        }
    }

    /// Whether the rules exclude all that `not` excludes.
    fn is_followed(&self, not: &Value, types: u8) -> bool {
        let Some(fields) = not.as_object() else { return true };
        excluded_types(not) != 0
            || types & !types::OBJECT == 0 && forbidden(not).is_some()
            || types & !types::STRING == 0
                && (has_only(fields, &["enum", "const", "type"]) && values::excluded(not).is_some()
                    || not_matching(not).is_some())
    }
}

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

/// Whether a schema has only these keywords and annotations.
pub(super) fn has_only(fields: &Fields, keys: &[&str]) -> bool {
    fields.keys().all(|key| keys.contains(&key.as_str()) || ANNOTATIONS.contains(&key.as_str()))
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

/// Whether a schema obviously allows any value.
fn is_free(schema: &Value) -> bool {
    *schema == Value::Bool(true) || schema.as_object().is_some_and(|fields| fields.is_empty())
}
