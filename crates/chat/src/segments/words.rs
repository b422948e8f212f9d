//! Words that requests and templates share: names of fields and roles, and keywords of JSON Schema.

/// Keywords of JSON Schema and fields of tools.
const KEYWORDS: &[&str] = &[
    "$id",
    "$ref",
    "$schema",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "default",
    "deprecated",
    "description",
    "else",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "function",
    "if",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "name",
    "not",
    "nullable",
    "oneOf",
    "parameters",
    "pattern",
    "prefixItems",
    "propertyNames",
    "readOnly",
    "required",
    "response",
    "return",
    "strict",
    "then",
    "title",
    "type",
    "uniqueItems",
    "writeOnly",
];

/// The values of `type`.
const TYPES: &[&str] = &[
    "array", "boolean", "function", "integer", "null", "number", "object", "string",
];

/// Keywords whose members are named by the schema's author.
const NAMED: &[&str] = &[
    "$defs",
    "definitions",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word) || names_members(word)
}

pub(super) fn is_type(word: &str) -> bool {
    TYPES.contains(&word)
}

/// Whether the members of the value at this key are named by the author.
pub(super) fn names_members(key: &str) -> bool {
    NAMED.contains(&key)
}

/// Whether the text is a word that templates may compare. Special tokens are not.
pub(super) fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
