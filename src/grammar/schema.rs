//! What a JSON schema allows.

use serde_json::{Value, json};

use crate::limits;

/// The parameters of a tool as a schema: a tool without any, or with an empty `{}`, takes no arguments.
pub fn parameters(given: &Value) -> Value {
    match given {
        Value::Object(fields) if !fields.is_empty() => given.clone(),
        _ => json!({"type": "object", "properties": {}}),
    }
}

/// Whether a value that matches `schema` may be a string, by any of its branches. `root` is where `$ref` points into.
/// A reference that leads nowhere, or in a circle, counts as no string.
pub fn may_be_string(schema: &Value, root: &Value) -> bool {
    allows_string(schema, root, 0)
}

fn allows_string(schema: &Value, root: &Value, depth: usize) -> bool {
    if depth > limits::JSON_DEPTH {
        return false;
    }
    let any = |branches: &Value| {
        branches.as_array().is_some_and(|all| all.iter().any(|branch| allows_string(branch, root, depth + 1)))
    };
    if let Some(target) = schema.get("$ref") {
        let target = target.as_str().and_then(|target| target.strip_prefix('#')).and_then(|path| root.pointer(path));
        return target.is_some_and(|target| allows_string(target, root, depth + 1));
    }
    if let Some(branches) = schema.get("oneOf").or_else(|| schema.get("anyOf")) {
        return any(branches);
    }
    if let Some(Value::Array(types)) = schema.get("type") {
        return types.iter().any(|one| {
            let mut single = schema.clone();
            single["type"] = one.clone();
            allows_string(&single, root, depth + 1)
        });
    }
    if let Some(value) = schema.get("const") {
        return value.is_string();
    }
    if let Some(Value::Array(values)) = schema.get("enum") {
        return values.iter().any(Value::is_string);
    }
    let name = schema.get("type").and_then(Value::as_str).unwrap_or("");
    let object = schema.get("properties").is_some()
        || schema.get("additionalProperties").is_some_and(|allowed| *allowed != Value::Bool(true));
    let all_of = schema.get("allOf").filter(|_| matches!(name, "" | "string") && !object);
    if let Some(Value::Array(branches)) = all_of {
        // Every branch must allow a string, and one that says nothing does not make it one.
        let mut said = branches.iter().filter(|branch| !says_nothing(branch)).peekable();
        return said.peek().is_some() && said.all(|branch| allows_string(branch, root, depth + 1));
    }
    match name {
        "string" => true,
        "" => !object && schema.get("items").or(schema.get("prefixItems")).is_none() && says_string(schema),
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
