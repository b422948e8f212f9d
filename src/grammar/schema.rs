//! What a JSON schema allows.

use std::cell::Cell;
use std::sync::Arc;

use serde_json::{Value, json};

use super::pointer::target;
use crate::error::{Error, Result};
use crate::limits;

/// Reads the text of a schema.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] where it is no JSON, or nested too deep.
pub fn from_text(text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|error| Error::invalid(format!("the schema cannot be read: {error}")))
}

/// The parameters of a tool as a schema: a tool without any, or with an empty `{}`, takes no arguments.
pub fn parameters(given: &Arc<Value>) -> Arc<Value> {
    if has_parameters(given) { Arc::clone(given) } else { Arc::new(no_parameters()) }
}

/// Whether these are parameters at all.
pub(super) fn has_parameters(given: &Value) -> bool {
    given.as_object().is_some_and(|fields| !fields.is_empty())
}

/// The schema of no arguments.
pub(super) fn no_parameters() -> Value {
    json!({"type": "object", "properties": {}})
}

/// The members that an object's schema names, in its order, and whether each must be there.
pub fn members(schema: &Value) -> impl Iterator<Item = (&str, &Value, bool)> {
    let required = schema.get("required").and_then(Value::as_array);
    let members = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    members.map(move |(name, member)| {
        let must = required.is_some_and(|names| names.iter().any(|one| one == name));
        (name.as_str(), member, must)
    })
}

/// The types that a JSON value may have. A whole number is a number, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Types(u8);

impl Types {
    /// No type.
    pub const NONE: Types = Types(0);
    /// `null`.
    pub const NULL: Types = Types(1);
    /// `true` and `false`.
    pub const BOOLEAN: Types = Types(2);
    /// Numbers.
    pub const NUMBER: Types = Types(4);
    /// Strings.
    pub const STRING: Types = Types(8);
    /// Arrays.
    pub const ARRAY: Types = Types(16);
    /// Objects.
    pub const OBJECT: Types = Types(32);
    /// Any value.
    pub const ALL: Types = Types(63);

    /// Whether every type of `other` is among these.
    pub fn has(self, other: Types) -> bool {
        self.0 & other.0 == other.0
    }

    /// These and those.
    pub fn or(self, other: Types) -> Types {
        Types(self.0 | other.0)
    }

    fn and(self, other: Types) -> Types {
        Types(self.0 & other.0)
    }

    fn named(name: &str) -> Types {
        match name {
            "null" => Types::NULL,
            "boolean" => Types::BOOLEAN,
            "number" | "integer" => Types::NUMBER,
            "string" => Types::STRING,
            "array" => Types::ARRAY,
            "object" => Types::OBJECT,
            _ => Types::NONE,
        }
    }

    fn of(value: &Value) -> Types {
        match value {
            Value::Null => Types::NULL,
            Value::Bool(_) => Types::BOOLEAN,
            Value::Number(_) => Types::NUMBER,
            Value::String(_) => Types::STRING,
            Value::Array(_) => Types::ARRAY,
            Value::Object(_) => Types::OBJECT,
        }
    }
}

/// The types that a value matching `schema` may have. `root` is where `$ref` points into; a reference that leads nowhere, or
/// in a circle, adds none.
pub fn types(schema: &Value, root: &Value) -> Types {
    types_within(schema, root, 0, &Cell::new(limits::TYPE_STEPS))
}

fn types_within(schema: &Value, root: &Value, depth: usize, left: &Cell<usize>) -> Types {
    if depth > limits::JSON_DEPTH || !step(left) {
        return Types::NONE;
    }
    let inner = |schema: &Value| types_within(schema, root, depth + 1, left);
    if let Some(reference) = schema.get("$ref") {
        return target(reference, root).map_or(Types::NONE, inner);
    }
    if let Some(Value::Array(branches)) = schema.get("oneOf").or_else(|| schema.get("anyOf")) {
        return branches.iter().map(inner).fold(Types::NONE, Types::or);
    }
    if let Some(Value::Array(names)) = schema.get("type") {
        return names.iter().filter_map(Value::as_str).map(Types::named).fold(Types::NONE, Types::or);
    }
    if let Some(value) = schema.get("const") {
        return Types::of(value);
    }
    if let Some(Value::Array(values)) = schema.get("enum") {
        return values.iter().map(Types::of).fold(Types::NONE, Types::or);
    }
    let name = schema.get("type").and_then(Value::as_str).unwrap_or("");
    if let Some(Value::Array(branches)) = all_of(schema, name) {
        return branches.iter().map(inner).fold(Types::ALL, Types::and);
    }
    match name {
        "" if says_object(schema) => Types::OBJECT,
        "" if schema.get("items").or(schema.get("prefixItems")).is_some() => Types::ARRAY,
        "" if says_string(schema) => Types::STRING,
        "" => Types::ALL,
        name => Types::named(name),
    }
}

/// Whether one more part of a schema may be looked at.
fn step(left: &Cell<usize>) -> bool {
    left.set(left.get().saturating_sub(1));
    left.get() > 0
}

/// Whether a schema has a key that only means something for objects.
fn says_object(schema: &Value) -> bool {
    schema.get("properties").is_some()
        || schema.get("additionalProperties").is_some_and(|allowed| *allowed != Value::Bool(true))
}

/// The branches of `allOf`, where nothing that comes before it speaks.
fn all_of<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    schema.get("allOf").filter(|_| name == "string" || matches!(name, "" | "object") && !says_object(schema))
}

/// Whether a value that matches `schema` may be a string, by any of its branches. `root` is where `$ref` points into.
/// A reference that leads nowhere, or in a circle, counts as no string.
pub fn may_be_string(schema: &Value, root: &Value) -> bool {
    allows_string(schema, root, 0, &Cell::new(limits::TYPE_STEPS))
}

fn allows_string(schema: &Value, root: &Value, depth: usize, left: &Cell<usize>) -> bool {
    if depth > limits::JSON_DEPTH || !step(left) {
        return false;
    }
    let inner = |schema: &Value| allows_string(schema, root, depth + 1, left);
    let any = |branches: &Value| branches.as_array().is_some_and(|all| all.iter().any(inner));
    if let Some(reference) = schema.get("$ref") {
        return target(reference, root).is_some_and(inner);
    }
    if let Some(branches) = schema.get("oneOf").or_else(|| schema.get("anyOf")) {
        return any(branches);
    }
    if let Some(Value::Array(types)) = schema.get("type") {
        return types.iter().any(|one| {
            let mut single = schema.clone();
            single["type"] = one.clone();
            inner(&single)
        });
    }
    if let Some(value) = schema.get("const") {
        return value.is_string();
    }
    if let Some(Value::Array(values)) = schema.get("enum") {
        return values.iter().any(Value::is_string);
    }
    let name = schema.get("type").and_then(Value::as_str).unwrap_or("");
    if let Some(Value::Array(branches)) = all_of(schema, name) {
        // Every branch must allow a string, and one that says nothing does not make it one.
        let mut said = branches.iter().filter(|branch| !says_nothing(branch)).peekable();
        return said.peek().is_some() && said.all(inner);
    }
    match name {
        "string" => true,
        "" => {
            !says_object(schema) && schema.get("items").or(schema.get("prefixItems")).is_none() && says_string(schema)
        }
        _ => false,
    }
}

/// Whether an untyped schema has a key that only means something for strings.
fn says_string(schema: &Value) -> bool {
    let known = |format: &str| matches!(format, "date" | "time" | "date-time" | "uuid") || is_uuid_version(format);
    ["pattern", "minLength", "maxLength"].iter().any(|key| schema.get(key).is_some())
        || schema.get("format").and_then(Value::as_str).is_some_and(known)
}

fn is_uuid_version(format: &str) -> bool {
    format.strip_prefix("uuid").is_some_and(|version| matches!(version, "1" | "2" | "3" | "4" | "5"))
}

/// Whether a schema allows any value.
fn says_nothing(schema: &Value) -> bool {
    let keys = [
        "$ref",
        "oneOf",
        "anyOf",
        "allOf",
        "type",
        "const",
        "enum",
        "properties",
        "additionalProperties",
        "items",
        "prefixItems",
    ];
    keys.iter().all(|key| schema.get(key).is_none()) && !says_string(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_unions_and_references() {
        let root = json!({"$defs": {"s": {"type": ["string", "null"]}, "loop": {"$ref": "#/$defs/loop"}}});
        for (schema, expected) in [
            (json!({}), Types::ALL),
            (json!({"type": "integer"}), Types::NUMBER),
            (json!({"$ref": "#/$defs/s"}), Types::STRING.or(Types::NULL)),
            (json!({"$ref": "#/%24defs/s"}), Types::STRING.or(Types::NULL)),
            (json!({"$ref": "#/$defs/loop"}), Types::NONE),
            (
                json!({"anyOf": [{"type": "object"}, {"enum": [1, true]}]}),
                Types::OBJECT.or(Types::NUMBER).or(Types::BOOLEAN),
            ),
            (json!({"allOf": [{}, {"type": "array"}]}), Types::ARRAY),
            (json!({"properties": {}}), Types::OBJECT),
            (json!({"minLength": 1}), Types::STRING),
        ] {
            assert_eq!(types(&schema, &root), expected, "{schema}");
        }
    }

    #[test]
    fn strings_by_any_branch() {
        let yes = [
            json!({"type": "string"}),
            json!({"type": ["string", "null"]}),
            json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}),
            json!({"enum": [1, "a"]}),
            json!({"const": "a"}),
            json!({"pattern": "^a$"}),
            json!({"format": "uuid4"}),
            json!({"allOf": [{}, {"type": "string"}]}),
            json!({"$ref": "#/$defs/s", "$defs": {"s": {"type": "string"}}}),
        ];
        let no = [
            json!({}),
            json!(true),
            json!({"type": "integer"}),
            json!({"enum": [1, 2]}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}}),
            json!({"allOf": [{"type": "string"}, {"type": "integer"}]}),
            json!({"$ref": "#"}),
            json!({"$ref": "#/nowhere"}),
        ];
        for schema in &yes {
            assert!(may_be_string(schema, schema), "{schema}");
        }
        for schema in &no {
            assert!(!may_be_string(schema, schema), "{schema}");
        }
    }
}
