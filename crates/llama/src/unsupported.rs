//! Finds the keywords of a schema that its rules do not express.

use std::cmp::Ordering;
use std::collections::HashSet;

use serde_json::{Map, Value};

use super::schema_graph::Node;
use chatparse_base::limits;
use chatparse_grammar::valid;

const OF_STRINGS: &[&str] = &["minLength", "maxLength", "pattern", "format"];
const OF_NUMBERS: &[&str] = &[
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
];
const OF_ARRAYS: &[&str] = &[
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "uniqueItems",
    "contains",
];
const OF_OBJECTS: &[&str] = &[
    "properties",
    "required",
    "additionalProperties",
    "minProperties",
    "maxProperties",
    "patternProperties",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
];
const OF_ALL: &[&[&str]] = &[
    OF_STRINGS,
    OF_NUMBERS,
    OF_ARRAYS,
    OF_OBJECTS,
    &["const", "enum"],
];

/// The keywords of `fields` that would narrow `node`, each with what is done instead.
pub fn lost(node: &Node, fields: &Map<String, Value>) -> Vec<(&'static str, String)> {
    // A `type` with several names is judged for each name separately.
    if matches!(node, Node::AnyOf(_))
        && !fields.contains_key("anyOf")
        && !fields.contains_key("oneOf")
    {
        return Vec::new();
    }
    let (lists, combined): (&[&[&'static str]], &[&'static str]) = match node {
        Node::Ref(_) => (OF_ALL, &["oneOf", "anyOf", "allOf"]),
        Node::AnyOf(_) if fields.contains_key("oneOf") => (OF_ALL, &["anyOf", "allOf"]),
        Node::AnyOf(_) => (OF_ALL, &["allOf"]),
        Node::Any => (&[OF_NUMBERS, OF_ARRAYS, OF_OBJECTS], &[]),
        Node::AllOf(_) => (&[OF_STRINGS, &OF_OBJECTS[3..]], &[]),
        Node::Const(_) | Node::Enum(_) | Node::Null | Node::Boolean => (&[], &["allOf"]),
        Node::Number => (&[OF_NUMBERS], &["allOf"]),
        Node::Integer(..) => (&[], &["multipleOf", "allOf"]),
        Node::String(text) if text.pattern.is_some() => {
            (&[], &["minLength", "maxLength", "format"])
        }
        Node::String(text) if text.format.is_some() => (&[], &["minLength", "maxLength"]),
        Node::String(_) => (&[], &["format"]),
        Node::Array(..) | Node::Tuple(_) => (&[], &["uniqueItems", "contains", "allOf"]),
        Node::Object(..) => (&[&OF_OBJECTS[3..]], &["allOf"]),
    };
    let has = |key: &str| fields.get(key).is_some_and(|value| narrows(key, value));
    let mut lost = Vec::new();
    for key in lists
        .iter()
        .copied()
        .flatten()
        .chain(combined)
        .chain(&["not", "if"])
    {
        if has(key) {
            lost.push(plain(key));
        }
    }
    if let Node::Integer(..) = node {
        for (first, second) in [
            ("minimum", "exclusiveMinimum"),
            ("maximum", "exclusiveMaximum"),
        ] {
            if fields.contains_key(first) && has(second) {
                lost.push((second, format!("not followed next to {first}")));
            }
        }
    }
    let (key, listed) = match node {
        Node::Const(value) => ("const", std::slice::from_ref(*value)),
        Node::Enum(values) => ("enum", *values),
        _ => ("", &[][..]),
    };
    if excludes_listed(listed, fields) {
        lost.push((
            key,
            "values that other keywords exclude are not left out".to_owned(),
        ));
    }
    if let Node::Tuple(items) = node {
        for (key, lost_order) in [
            ("minItems", Ordering::Greater),
            ("maxItems", Ordering::Less),
        ] {
            let bound = fields.get(key).and_then(Value::as_u64);
            if bound.is_some_and(|bound| bound.cmp(&(items.len() as u64)) == lost_order) {
                lost.push(plain(key));
            }
        }
    }
    if let (Node::AllOf(_), Some(Value::Array(parts))) = (node, fields.get("allOf"))
        && excludes_others(parts)
    {
        lost.push((
            "allOf",
            "properties that one part excludes are not left out".to_owned(),
        ));
    }
    if let (Node::Object(properties, _), Some(Value::Array(names))) = (node, fields.get("required"))
    {
        let names = names.iter().filter_map(Value::as_str);
        let mut names = names.take(limits::CHECKED_NAMES);
        if let Some(name) = names.find(|name| properties.iter().all(|one| one.name != *name)) {
            let message = format!("{name:?} is not among the properties and may be left out");
            lost.push(("required", message));
        }
    }
    lost
}

/// Whether a part of an `allOf` forbids additional properties, and other parts have or allow some.
fn excludes_others(parts: &[Value]) -> bool {
    let mut all = HashSet::new();
    // A part without properties may have any.
    let mut others = false;
    for part in parts {
        match properties_of(part) {
            Some(properties) => all.extend(properties.keys()),
            None => others |= part.get("properties").is_none() && *part != Value::Bool(true),
        }
    }
    parts.iter().any(|part| {
        part.get("additionalProperties") == Some(&Value::Bool(false))
            && (others && parts.len() > 1 || properties_of(part).map_or(0, Map::len) < all.len())
    })
}

fn properties_of(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

/// Whether a keyword beside `const` or `enum` excludes one of the values. Keywords with subschemas
/// are assumed to.
fn excludes_listed(values: &[Value], fields: &Map<String, Value>) -> bool {
    let mut flat = Map::new();
    for key in OF_STRINGS.iter().chain(OF_NUMBERS).chain(&["type"]) {
        if let Some(value) = fields.get(*key) {
            flat.insert(key.to_string(), value.clone());
        }
    }
    let flat = Value::Object(flat);
    values.iter().any(|value| {
        let of_its_type = match value {
            Value::Array(_) => OF_ARRAYS,
            Value::Object(_) => OF_OBJECTS,
            _ => &[],
        };
        of_its_type.iter().any(|key| fields.contains_key(*key))
            || !valid::check(&flat, value).is_empty()
    })
}

fn plain(key: &'static str) -> (&'static str, String) {
    (key, "not followed by the grammar".to_owned())
}

/// Whether a keyword with this value excludes anything.
fn narrows(key: &str, value: &Value) -> bool {
    match (key, value) {
        (_, Value::Bool(true)) if key == "additionalProperties" || key == "items" => false,
        (_, Value::Bool(value)) => *value,
        ("minProperties" | "minItems" | "minLength", value) => value.as_u64() != Some(0),
        (_, Value::Array(items)) => !items.is_empty(),
        (_, Value::Object(fields)) => !fields.is_empty() || key == "not",
        _ => true,
    }
}
