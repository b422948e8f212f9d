//! Any schema: a grammar that can be read, or an error that says where; and where the report has
//! nothing to say, what the grammar allows is valid.

use chatparse::ErrorKind;
use chatparse::grammar::{Dialect, FidelityKind, Recogniser, from_json_schema, valid};
use chatparse::internals::grammar::{Builder, Rule, Undeclared, Walk, schema};
use chatparse::internals::limits;
use chatparse::message::number;
use serde_json::{Map, Value, json};

use super::choices::Choices;

const WORDS: &[&str] = &[
    "type",
    "string",
    "integer",
    "number",
    "boolean",
    "null",
    "array",
    "object",
    "properties",
    "required",
    "items",
    "prefixItems",
    "additionalProperties",
    "anyOf",
    "oneOf",
    "allOf",
    "$ref",
    "#",
    "#/$defs/n",
    "#/$defs/m",
    "#/properties/a",
    "$defs",
    "n",
    "m",
    "a",
    "ab",
    "abc",
    "enum",
    "const",
    "pattern",
    "^a+$",
    "^[^\"\\\\]{2,3}|x?$",
    "^(\\d{1,3}\\.){3}\\w\\s$",
    "(",
    "format",
    "date",
    "time",
    "date-time",
    "uuid",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "not",
    "if",
    "then",
    "else",
    "patternProperties",
    "minProperties",
    "maxProperties",
    "\"",
    "\\",
    "é😀",
    "\n",
    "",
];

const DRAFTS: &[&str] = &[
    "http://json-schema.org/draft-03/schema#",
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
    "https://example.com/another",
];

pub fn case(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let mut schema = match Choices::text(bytes) {
        Some(text) => match schema::from_text(text) {
            Ok(schema) => schema,
            Err(_) => return,
        },
        None => {
            let mut schema = node(&mut choices, 3);
            if let Some(fields) = schema.as_object_mut() {
                fields.insert(
                    "$defs".to_owned(),
                    json!({"n": node(&mut choices, 2), "m": node(&mut choices, 1)}),
                );
                if choices.once_in(4) {
                    fields.insert("$schema".to_owned(), (*choices.pick(DRAFTS)).into());
                }
            }
            schema
        }
    };
    let changes = choices.below(4).saturating_sub(1);
    for _ in 0..changes {
        choices.mutate_json(&mut schema, WORDS);
    }
    let value = choices.json(3, WORDS);
    assert!(valid::check(&schema, &value).len() <= limits::VIOLATIONS);
    schema::types(&schema, &schema);
    match from_json_schema(&schema) {
        Ok(grammar) => {
            let recogniser = read(&schema, &grammar.text);
            for dialect in Dialect::ALL {
                if let Err(error) = grammar.print(dialect) {
                    assert_eq!(
                        error.kind(),
                        ErrorKind::Limit,
                        "{schema}: {dialect:?}: {error}"
                    );
                }
            }
            // What keywords of the wrong type mean is anybody's guess.
            let is_wider = grammar
                .report
                .iter()
                .any(|entry| entry.kind == FidelityKind::Widened);
            if !is_wider && changes == 0 {
                texts_are_valid(&schema, &recogniser, &mut choices, &grammar.text);
                let text = value.to_string();
                // Where validation leaves something open, it says nothing.
                let is_open = ["format", "$schema", "$dynamicRef", "$recursiveRef", "$id"]
                    .iter()
                    .any(|key| schema.to_string().contains(key));
                // Integers are written as digits, exponents up to 299.
                let is_far = ["e+", "e-", ".0"].iter().any(|far| text.contains(far));
                if !is_far
                    && grammar.report.is_empty()
                    && !is_open
                    && valid::check(&schema, &value).is_empty()
                {
                    assert!(
                        recogniser.accepts(&text),
                        "{schema} does not allow {text}\n{}",
                        grammar.text
                    );
                }
            }
        }
        Err(error) => {
            let kind = error.kind();
            assert!(
                matches!(kind, ErrorKind::Schema | ErrorKind::Limit),
                "{schema}: {kind:?}: {error}"
            );
            assert!(error.message().contains('#'), "{schema}: {error}");
        }
    }
    let mut builder = Builder::new();
    if let Ok(rule) = builder.add_schema_within("tool", &schema, &schema, Undeclared::LeftOut) {
        builder.add_rule("root", Rule::reference(rule));
        let grammar = builder
            .build()
            .unwrap_or_else(|error| panic!("{schema}: {error}"));
        read(&schema, &grammar.text);
    }
}

fn read(schema: &Value, grammar: &str) -> Recogniser {
    Recogniser::new(grammar).unwrap_or_else(|error| panic!("{schema}: {error}\n{grammar}"))
}

const NO_FAULT: [&str; 3] = ["out of range", "surrogate", "hex escape"];

/// What a grammar allows is valid, also if it is only close to what a walk finds.
fn texts_are_valid(schema: &Value, recogniser: &Recogniser, choices: &mut Choices, grammar: &str) {
    let mut walk = Walk::new(recogniser, u64::from(choices.byte()));
    for size in [5, 60] {
        let Some(text) = walk.text(size) else {
            continue;
        };
        let mut value = match number::read::<Value>(&text) {
            Ok(value) => value,
            // Numbers beyond what is held, half characters in escapes, and names of members that no
            // schema describes: there the grammar is llama.cpp's, which lets any character but the
            // quote stand.
            Err(error) => {
                let error = error.to_string();
                let known = grammar.contains("-k ::= [\"]")
                    || NO_FAULT.iter().any(|known| error.contains(known));
                assert!(known, "{schema} allows {text:?}: {error}\n{grammar}");
                continue;
            }
        };
        assert_eq!(
            valid::check(schema, &value),
            [],
            "{schema} allows {text}\n{grammar}"
        );
        choices.mutate_json(&mut value, WORDS);
        let text = number::write(&value);
        if recogniser.accepts(&text) {
            assert_eq!(
                valid::check(schema, &value),
                [],
                "{schema} allows {text}\n{grammar}"
            );
        }
    }
}

/// A schema, more often sound than not.
fn node(choices: &mut Choices, depth: usize) -> Value {
    let mut fields = Map::new();
    let kinds = if depth == 0 { 6 } else { 11 };
    let number = |choices: &mut Choices| {
        *choices.pick(&[
            0,
            1,
            2,
            3,
            10,
            -1,
            -17,
            99,
            100,
            1_234,
            65_535,
            1_000_000_007,
            2_001,
        ])
    };
    match choices.below(kinds) {
        0 => {
            fields.insert(
                "type".into(),
                (*choices.pick(&["boolean", "null", "string", "object", "array"])).into(),
            );
        }
        1 => {
            fields.insert("type".into(), "string".into());
            for _ in 0..choices.below(3) {
                let (name, value) = match choices.below(4) {
                    0 => ("minLength", json!(choices.below(6))),
                    1 => ("maxLength", json!(choices.below(12))),
                    2 => ("pattern", json!(pattern(choices))),
                    _ => (
                        "format",
                        json!(*choices.pick(&["date", "time", "date-time", "uuid", "email"])),
                    ),
                };
                fields.insert(name.into(), value);
            }
        }
        2 => {
            fields.insert(
                "type".into(),
                (*choices.pick(&["integer", "number"])).into(),
            );
            for _ in 0..choices.below(3) {
                let name =
                    *choices.pick(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]);
                fields.insert(name.into(), number(choices).into());
            }
        }
        3 => drop(
            fields.insert(
                "enum".into(),
                (0..choices.below(4))
                    .map(|_| choices.json(2, WORDS))
                    .collect(),
            ),
        ),
        4 => drop(fields.insert("const".into(), choices.json(2, WORDS))),
        5 => drop(fields.insert(
            "$ref".into(),
            (*choices.pick(&["#/$defs/n", "#/$defs/m", "#", "#/properties/a", "#x", "y"])).into(),
        )),
        6 => {
            let name = *choices.pick(&["anyOf", "oneOf", "allOf"]);
            fields.insert(
                name.into(),
                (0..choices.below(4))
                    .map(|_| node(choices, depth - 1))
                    .collect(),
            );
        }
        7 => {
            fields.insert("type".into(), "array".into());
            let items = if choices.once_in(3) {
                (
                    "prefixItems",
                    (0..choices.below(4))
                        .map(|_| node(choices, depth - 1))
                        .collect(),
                )
            } else {
                ("items", node(choices, depth - 1))
            };
            fields.insert(items.0.into(), items.1);
            for name in ["minItems", "maxItems"] {
                if choices.once_in(2) {
                    fields.insert(name.into(), choices.below(4).into());
                }
            }
        }
        8 => {
            let types = (0..1 + choices.below(3)).map(|_| {
                Value::from(*choices.pick(&["string", "null", "integer", "object", "array"]))
            });
            fields.insert("type".into(), types.collect());
        }
        _ => {
            let names = ["a", "ab", "abc", "b", "\"", "é"];
            let mut properties = Map::new();
            for _ in 0..choices.below(4) {
                properties.insert((*choices.pick(&names)).into(), node(choices, depth - 1));
            }
            let required: Vec<&str> = (0..choices.below(3))
                .map(|_| *choices.pick(&names))
                .collect();
            fields.insert("type".into(), "object".into());
            fields.insert("properties".into(), properties.into());
            if !required.is_empty() {
                fields.insert("required".into(), json!(required));
            }
            if choices.once_in(2) {
                let additional = if choices.once_in(2) {
                    Value::Bool(choices.once_in(2))
                } else {
                    node(choices, depth - 1)
                };
                fields.insert("additionalProperties".into(), additional);
            }
        }
    }
    if depth > 0 && choices.once_in(3) {
        condition(choices, depth - 1, &mut fields);
    }
    fields.into()
}

/// Adds a keyword that depends on the value.
fn condition(choices: &mut Choices, depth: usize, fields: &mut Map<String, Value>) {
    let name = *choices.pick(&["a", "ab", "b", "é"]);
    let mut add = |key: &str, value: Value| drop(fields.insert(key.into(), value));
    match choices.below(13) {
        0 => add("not", node(choices, depth)),
        1 => {
            for key in ["if", "then", "else"] {
                if key == "if" || choices.once_in(2) {
                    add(key, node(choices, depth));
                }
            }
        }
        2 => add(
            "dependentRequired",
            json!({name: [*choices.pick(&["a", "abc", "é"])]}),
        ),
        3 => add("dependentSchemas", json!({name: node(choices, depth)})),
        4 => add(
            "dependencies",
            json!({name: [*choices.pick(&["b", "abc"])], "b": node(choices, depth)}),
        ),
        5 => add(
            "unevaluatedProperties",
            if choices.once_in(2) {
                false.into()
            } else {
                node(choices, depth)
            },
        ),
        6 => add(
            "unevaluatedItems",
            if choices.once_in(2) {
                false.into()
            } else {
                node(choices, depth)
            },
        ),
        7 => {
            add("contains", node(choices, depth));
            for key in ["minContains", "maxContains"] {
                if choices.once_in(2) {
                    add(key, choices.below(4).into());
                }
            }
        }
        8 => add("uniqueItems", true.into()),
        9 => add("$dynamicRef", (*choices.pick(&["#x", "y#x"])).into()),
        10 => add(
            if choices.once_in(2) {
                "$dynamicAnchor"
            } else {
                "$anchor"
            },
            "x".into(),
        ),
        11 => add(
            if choices.once_in(2) { "$id" } else { "id" },
            (*choices.pick(&["y", "#x"])).into(),
        ),
        _ => {
            const OLD: [&str; 4] = ["extends", "disallow", "divisibleBy", "$recursiveRef"];
            add(OLD[choices.below(OLD.len())], choices.json(2, WORDS));
        }
    }
}

/// A pattern, put together from parts.
fn pattern(choices: &mut Choices) -> String {
    const PARTS: &[&str] = &[
        "a", "b", ".", "\\d", "\\w", "\\s", "[a-c]", "[^a-c]", "[\\d.-]", "(a|b)", "(?:ab)", "*",
        "+", "?", "{2}", "{1,3}", "{2,}", "|", "\\.", "\\\\", "\"", "é", "(", ")", "[", "^", "$",
        "\\b", "(?=a)", "\\u0041", "\\x41", "*?", "[]", "\\D", "\\S", " ", "-", "/",
    ];
    let middle: String = (0..choices.below(6))
        .map(|_| *choices.pick(PARTS))
        .collect();
    if choices.once_in(5) {
        middle
    } else {
        format!("^{middle}$")
    }
}
