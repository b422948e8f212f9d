//! The types of the values that a schema allows.

use std::cell::Cell;

use serde_json::Value;

use super::Fields;
use super::pointer::target;
use chatparse_base::{limits, number};

/// The types that a JSON value may have. Whole numbers count as numbers.
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

    /// Whether `other` is a subset.
    pub fn has(self, other: Types) -> bool {
        self.0 & other.0 == other.0
    }

    /// The union.
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
        Types::named(type_name(value))
    }
}

/// The type of a value, except that whole numbers are numbers.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) if number::long(value).is_none() => "object",
        Value::Number(_) | Value::Object(_) => "number",
    }
}

/// The types of the values that `schema` allows. References are resolved in `root`; one that cannot
/// be resolved, or is circular, adds none.
pub fn types(schema: &Value, root: &Value) -> Types {
    Walk {
        root,
        untyped: Types::ALL,
        left: Cell::new(limits::TYPE_STEPS),
    }
    .types(schema, 0)
}

/// Whether a schema mentions strings in any of its branches; one without types does not. `root` and
/// references as in [`types`].
pub fn may_be_string(schema: &Value, root: &Value) -> bool {
    Walk {
        root,
        untyped: Types::NONE,
        left: Cell::new(limits::TYPE_STEPS),
    }
    .types(schema, 0)
    .has(Types::STRING)
}

/// A walk through a schema and its references. If several keywords compete, the one that the rules
/// are made from counts.
struct Walk<'a> {
    root: &'a Value,
    /// The types of a schema that mentions none.
    untyped: Types,
    /// The number of parts that may still be visited.
    left: Cell<usize>,
}

impl Walk<'_> {
    fn types(&self, schema: &Value, depth: usize) -> Types {
        self.left.set(self.left.get().saturating_sub(1));
        if depth > limits::JSON_DEPTH || self.left.get() == 0 {
            return Types::NONE;
        }
        let Value::Object(fields) = schema else {
            return self.untyped;
        };
        let inner = |schema: &Value| self.types(schema, depth + 1);
        if let Some(reference) = fields.get("$ref") {
            return target(reference, self.root).map_or(Types::NONE, inner);
        }
        if let Some(Value::Array(branches)) = fields.get("oneOf").or_else(|| fields.get("anyOf")) {
            return branches.iter().map(inner).fold(Types::NONE, Types::or);
        }
        if let Some(value) = fields.get("const") {
            return Types::of(value);
        }
        if let Some(Value::Array(values)) = fields.get("enum") {
            return values.iter().map(Types::of).fold(Types::NONE, Types::or);
        }
        match fields.get("type") {
            Some(Value::Array(names)) => {
                let names = names.iter().filter_map(Value::as_str);
                names
                    .map(|name| self.of_type(fields, name, depth))
                    .fold(Types::NONE, Types::or)
            }
            kind => self.of_type(fields, kind.and_then(Value::as_str).unwrap_or(""), depth),
        }
    }

    /// The types as if `type` were `name`; empty: without `type`.
    fn of_type(&self, fields: &Fields, name: &str, depth: usize) -> Types {
        if let Some(Value::Array(branches)) = all_of(fields, name) {
            let (mut types, mut is_free) = (Types::ALL, true);
            if !name.is_empty() {
                (types, is_free) = (Types::named(name), false);
            }
            for branch in branches.iter().filter(|branch| !is_unconstrained(branch)) {
                types = types.and(self.types(branch, depth + 1));
                is_free = false;
            }
            return if is_free { self.untyped } else { types };
        }
        match name {
            "" if has_object_keywords(fields) => Types::OBJECT,
            "" if fields.contains_key("items") || fields.contains_key("prefixItems") => {
                Types::ARRAY
            }
            "" if has_string_keywords(fields) => Types::STRING,
            "" => self.untyped,
            name => Types::named(name),
        }
    }
}

/// The branches of `allOf`, if no other keyword determines the rules of a schema of the type `name`
/// or without one.
pub fn all_of<'a>(fields: &'a Fields, name: &str) -> Option<&'a Value> {
    fields.get("allOf").filter(|_| {
        name == "string" || matches!(name, "" | "object") && !has_object_keywords(fields)
    })
}

/// Whether a schema has a keyword for objects.
pub fn has_object_keywords(fields: &Fields) -> bool {
    fields.contains_key("properties")
        || fields
            .get("additionalProperties")
            .is_some_and(|allowed| *allowed != Value::Bool(true))
}

/// Whether a schema has a keyword for strings.
pub fn has_string_keywords(fields: &Fields) -> bool {
    ["pattern", "minLength", "maxLength"]
        .iter()
        .any(|key| fields.contains_key(*key))
        || fields
            .get("format")
            .and_then(Value::as_str)
            .and_then(format_rule)
            .is_some()
}

/// The shared rule of a format that llama.cpp has a rule for.
pub fn format_rule(name: &str) -> Option<&'static str> {
    match name {
        "date" => Some("date-string"),
        "time" => Some("time-string"),
        "date-time" => Some("date-time-string"),
        "uuid" | "uuid1" | "uuid2" | "uuid3" | "uuid4" | "uuid5" => Some("uuid"),
        _ => None,
    }
}

/// Whether a schema allows any value.
fn is_unconstrained(schema: &Value) -> bool {
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
    schema.as_object().is_none_or(|fields| {
        keys.iter().all(|key| !fields.contains_key(*key)) && !has_string_keywords(fields)
    })
}

/// Keywords that say nothing of the values of one type.
pub const SAY_NOTHING: [&str; 8] = [
    "type",
    "nullable",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
];

/// Whether a schema says nothing of its strings.
pub fn allows_any_string(schema: &Value) -> bool {
    let Value::Object(keywords) = schema else {
        return *schema == Value::Bool(true);
    };
    keywords.iter().all(|(key, value)| match value {
        _ if SAY_NOTHING.contains(&&**key) => true,
        Value::Array(branches) if key == "anyOf" => branches
            .iter()
            .any(|branch| has_strings(branch) && allows_any_string(branch)),
        _ => false,
    })
}

/// Whether the type of a schema includes strings.
fn has_strings(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::Array(types)) => types.contains(&"string".into()),
        kind => kind.is_none_or(|kind| kind == "string"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_unions_and_references() {
        let root =
            json!({"$defs": {"s": {"type": ["string", "null"]}, "loop": {"$ref": "#/$defs/loop"}}});
        for (schema, expected) in [
            (json!({}), Types::ALL),
            (json!({"type": "integer"}), Types::NUMBER),
            (json!({"$ref": "#/$defs/s"}), Types::STRING.or(Types::NULL)),
            (
                json!({"$ref": "#/%24defs/s"}),
                Types::STRING.or(Types::NULL),
            ),
            (json!({"$ref": "#/$defs/loop"}), Types::NONE),
            (
                json!({"anyOf": [{"type": "object"}, {"enum": [1, true]}]}),
                Types::OBJECT.or(Types::NUMBER).or(Types::BOOLEAN),
            ),
            (json!({"allOf": [{}, {"type": "array"}]}), Types::ARRAY),
            (json!({"type": "object", "allOf": [{}]}), Types::OBJECT),
            (
                json!({"type": ["string", "null"], "enum": [null]}),
                Types::NULL,
            ),
            (
                json!({"type": ["string", "array"], "allOf": [{"minLength": 1}]}),
                Types::STRING.or(Types::ARRAY),
            ),
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
            json!({"type": "string", "allOf": [{}]}),
            json!({"$ref": "#/$defs/s", "$defs": {"s": {"type": "string"}}}),
        ];
        let no = [
            json!({}),
            json!(true),
            json!({"type": "integer"}),
            json!({"enum": [1, 2]}),
            json!({"type": ["string", "integer"], "enum": [1, 2]}),
            json!({"allOf": [{}]}),
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
