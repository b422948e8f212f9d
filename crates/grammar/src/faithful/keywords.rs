//! Handles `not`, and finds the keywords that no rule expresses.

use serde_json::Value;

use super::conjunction::Conjunction;
use super::not::{excluded, excluded_types, forbidden, has_only, not_matching};
use super::{Lowering, types};
use crate::schema::{Draft, Keywords, is_free};

/// The types that the keywords of all parts apply to.
pub fn types_of_keywords(all: &Conjunction) -> u8 {
    let mut types = 0;
    for (_, keywords) in all.keywords() {
        if has_schemas_as_types(keywords) {
            types = types::ALL;
        }
        for key in keywords.fields.keys() {
            types |= types_of_keyword(key);
        }
    }
    types
}

/// Whether a type is a schema, as it may be in draft 3.
fn has_schemas_as_types(keywords: Keywords) -> bool {
    keywords.list("type").iter().any(Value::is_object)
}

/// The types that a keyword applies to; none for `type` and annotations.
fn types_of_keyword(key: &str) -> u8 {
    match key {
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf"
        | "divisibleBy" => types::NUMBER,
        "minLength" | "maxLength" | "pattern" | "format" => types::STRING,
        "contentEncoding" | "contentMediaType" | "contentSchema" => types::STRING,
        "items" | "prefixItems" | "additionalItems" | "minItems" | "maxItems" | "uniqueItems"
        | "contains" | "unevaluatedItems" => types::ARRAY,
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
        "enum" | "const" | "not" | "if" | "disallow" => types::ALL,
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
    "disallow",
];

impl<'a> Lowering<'_, 'a> {
    /// Reports the keywords that no rule expresses.
    pub fn left_out(&mut self, all: &Conjunction<'a>, types: u8) {
        for (part, keywords) in all.keywords() {
            if has_schemas_as_types(keywords) {
                self.widened(
                    part.place,
                    "type",
                    "types that are schemas are not followed by the grammar",
                );
            }
            for (key, value) in keywords.fields {
                let message = match key.as_str() {
                    key if types & types_of_keyword(key) == 0 => continue,
                    key if is_free(value) && key != "disallow" => continue,
                    key if !keywords.draft.knows(key) => "not a keyword of the draft; not followed",
                    key if UNFOLLOWED.contains(&key)
                        && !self.places.conditions.has(part.schema, key) =>
                    {
                        "not followed by the grammar"
                    }
                    _ => continue,
                };
                self.widened(part.place, key, message);
            }
            if let Some(not) = keywords.get("not")
                && !self.places.conditions.has(part.schema, "not")
                && !self.is_followed(not, keywords.draft, types)
            {
                self.unfollowed(part.place, "not");
            }
        }
    }

    /// Whether the rules exclude all that `not` excludes.
    fn is_followed(&self, not: &Value, draft: Draft, types: u8) -> bool {
        let Some(fields) = not.as_object() else {
            return true;
        };
        excluded_types(not, draft) != 0
            || types & !types::OBJECT == 0 && forbidden(not, draft).is_some()
            || types & !types::STRING == 0
                && (has_only(Keywords { fields, draft }, &["enum", "const", "type"])
                    && excluded(not, draft).is_some()
                    || not_matching(not, draft).is_some())
    }
}
