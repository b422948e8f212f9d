//! The keywords of a schema, as its draft has them, and which of them contain schemas.

use serde_json::Value;

use super::draft::{Draft, Fields};
use chatparse_base::number;

/// The keywords of one schema, as its draft has them.
#[derive(Clone, Copy, Debug)]
pub struct Keywords<'a> {
    pub fields: &'a Fields,
    pub draft: Draft,
}

impl<'a> Keywords<'a> {
    /// The value of a keyword, if the draft has it.
    pub fn get(&self, keyword: &str) -> Option<&'a Value> {
        // In a few names, one is found sooner than its hash.
        let found = match self.fields.len() {
            ..=8 => self
                .fields
                .iter()
                .find(|(name, _)| *name == keyword)
                .map(|(_, value)| value),
            _ => self.fields.get(keyword),
        };
        found.filter(|_| self.draft.knows(keyword))
    }

    /// Whether the draft has the keyword, and the schema too.
    pub fn has(&self, keyword: &str) -> bool {
        self.get(keyword).is_some()
    }

    pub fn text(&self, keyword: &str) -> Option<&'a str> {
        self.get(keyword)?.as_str()
    }

    pub fn number(&self, keyword: &str) -> Option<f64> {
        self.get(keyword)?.as_f64()
    }

    pub fn map(&self, keyword: &str) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
        self.get(keyword)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
    }

    pub fn list(&self, keyword: &str) -> &'a [Value] {
        self.get(keyword)
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    /// The values that a schema lists, of `const` or `enum`.
    pub fn listed(&self) -> Option<&'a [Value]> {
        let one = self.get("const").map(std::slice::from_ref);
        one.or_else(|| self.get("enum")?.as_array().map(Vec::as_slice))
    }

    /// The schemas of the first items, and the schema of the remaining ones.
    pub fn items(&self) -> (&'a [Value], Option<&'a Value>) {
        let (first, rest) = self.item_keys();
        (self.list(first), self.get(rest))
    }

    /// The keywords of both.
    pub fn item_keys(&self) -> (&'static str, &'static str) {
        match (self.get("prefixItems"), self.get("items")) {
            // Earlier, `items` was the array of schemas, and `additionalItems` the schema of the
            // remaining items.
            (None, Some(Value::Array(_))) => ("items", "additionalItems"),
            _ => ("prefixItems", "items"),
        }
    }

    /// The identifier of the schema: a URI, which may be empty, and a name within it.
    pub fn id(&self) -> Option<(&'a str, Option<&'a str>)> {
        let id = self.text(self.draft.id())?;
        if self.draft.lone_ref() && self.fields.contains_key("$ref") {
            return None;
        }
        let (uri, name) = id.split_once('#').unwrap_or((id, ""));
        Some((
            uri,
            Some(name).filter(|name| !name.is_empty() && !name.starts_with('/')),
        ))
    }

    /// The names of the members that an object must have.
    pub fn required(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        // In draft 3, `required` is a keyword of the property.
        let is_old = self.draft == Draft::Three;
        let own = self.map("properties").filter(move |_| is_old);
        let own = own.filter(|(_, schema)| schema.get("required") == Some(&Value::Bool(true)));
        let names = self
            .list("required")
            .iter()
            .filter_map(Value::as_str)
            .filter(move |_| !is_old);
        names.chain(own.map(|(name, _)| name.as_str()))
    }

    /// What is wrong with the first keyword whose value cannot be used.
    pub fn misused(&self) -> Option<String> {
        for (key, value) in self.fields.iter().filter(|(key, _)| self.draft.knows(key)) {
            let is_full = value.as_array().is_some_and(|list| !list.is_empty());
            let (fits, what) = match key.as_str() {
                "$ref" | "pattern" | "format" => (value.is_string(), "a string"),
                "properties" | "patternProperties" => (value.is_object(), "an object of schemas"),
                "anyOf" | "oneOf" | "allOf" => (is_full, "an array with at least one schema"),
                "enum" => (is_full, "an array with at least one value"),
                "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
                | "maxProperties" => (
                    number::float(value).is_some_and(|size| size >= 0.0 && size.fract() == 0.0),
                    "a whole number that is not negative",
                ),
                "minimum" | "maximum" | "multipleOf" => (number::is(value), "a number"),
                "exclusiveMinimum" | "exclusiveMaximum" => {
                    (number::is(value) || value.is_boolean(), "a number")
                }
                "additionalProperties" => (
                    value.is_object() || value.is_boolean(),
                    "a boolean or a schema",
                ),
                _ => continue,
            };
            if !fits {
                return Some(format!("{key} must be {what}"));
            }
        }
        None
    }

    /// Calls `each` with every direct subschema.
    pub fn each_inside(&self, mut each: impl FnMut(&'a Value)) {
        for keyword in ONE {
            self.get(keyword)
                .filter(|inside| inside.is_object())
                .into_iter()
                .for_each(&mut each);
        }
        for keyword in LISTS {
            self.list(keyword).iter().for_each(&mut each);
        }
        for keyword in MAPS {
            self.map(keyword).for_each(|(_, inside)| each(inside));
        }
    }
}

/// Keywords with a schema as value.
const ONE: &[&str] = &[
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "extends",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords with a list that contains schemas.
const LISTS: &[&str] = &[
    "allOf",
    "anyOf",
    "disallow",
    "extends",
    "items",
    "oneOf",
    "prefixItems",
    "type",
];
/// Keywords with a map from names to schemas.
const MAPS: &[&str] = &[
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
];
