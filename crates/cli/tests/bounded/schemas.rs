//! Schemas that grow: keywords, sizes and nesting by chance, in every dialect, through the program.
//! It ends with a grammar or an error, and never otherwise.

use chatparse::grammar::Dialect;
use serde_json::{Value, json};

use super::{choices, failure, seeds};
use crate::cases::choices::Choices;

/// A keyword whose value grows with `n`; what it has inside is `inner`.
fn grown(choices: &mut Choices, n: usize, inner: &Value) -> Value {
    let list = |each: &dyn Fn(usize) -> Value| (0..n).map(each).collect::<Value>();
    let map = |each: &dyn Fn(usize) -> Value| {
        (0..n)
            .map(|i| (format!("p{i}"), each(i)))
            .collect::<Value>()
    };
    let names = || list(&|i| json!(format!("p{i}")));
    match choices.below(24) {
        0 => json!({"enum": list(&|i| json!(format!("v{i}")))}),
        1 => json!({"enum": list(&|i| json!(i))}),
        2 => json!({"enum": list(&|i| json!({"a": i, "b": [i]}))}),
        3 => json!({"const": "x\n".repeat(n)}),
        4 => {
            json!({"type": "array", "prefixItems": list(&|i| json!({"type": "integer", "minimum": i}))})
        }
        5 => json!({"type": "array", "prefixItems": list(&|_| inner.clone()), "minItems": n / 2}),
        6 => json!({"type": "object", "properties": map(&|_| inner.clone())}),
        7 => {
            json!({"type": "object", "properties": map(&|i| json!({"const": i})), "required": names(), "additionalProperties": false})
        }
        8 => {
            json!({"anyOf": list(&|i| json!({"properties": {format!("a{i}"): inner}, "required": [format!("a{i}")]}))})
        }
        9 => {
            json!({"oneOf": list(&|i| json!({"properties": {"k": {"const": i}, "v": {"$ref": "#"}}}))})
        }
        10 => json!({"allOf": list(&|i| json!({"properties": {format!("a{}", i % 7): inner}}))}),
        11 => json!({"allOf": list(&|i| json!({"anyOf": [{"minimum": i}, {"maximum": i}]}))}),
        12 => json!({"type": "string", "pattern": format!("^((a{{1,{n}}}){{1,60}}b?){{1,60}}$")}),
        13 => {
            json!({"allOf": list(&|i| json!({"type": "string", "pattern": format!("^(.*{i}){{9}}.*$")}))})
        }
        14 => {
            json!({"type": "string", "pattern": format!("^{}$", "[a-f]?".repeat(n)), "minLength": n / 2})
        }
        15 => {
            json!({"type": "number", "multipleOf": 1.0 / n as f64, "minimum": 1, "maximum": 1e300})
        }
        16 => json!({"type": "string", "not": {"enum": list(&|i| json!(format!("v{i}")))}}),
        17 => {
            json!({"type": "object", "patternProperties": map(&|_| inner.clone()), "minProperties": n})
        }
        18 => {
            json!({"type": "object", "properties": map(&|_| inner.clone()), "maxProperties": n / 2, "propertyNames": {"maxLength": 4}})
        }
        19 => {
            json!({"type": "array", "items": inner, "minItems": n, "maxItems": 2 * n, "uniqueItems": true})
        }
        20 => {
            json!({"$defs": map(&|i| json!({"items": {"$ref": format!("#/$defs/p{}", i + 1)}})), "$ref": "#/$defs/p0"})
        }
        21 => json!({"allOf": [{"enum": names()}, {"enum": names()}], "maxLength": 5}),
        22 => {
            json!({"type": "string", "minLength": n, "maxLength": 1_000 * n, "format": "date-time"})
        }
        _ => json!({"type": "object", "required": names(), "additionalProperties": inner}),
    }
}

fn schema(bytes: &[u8]) -> Value {
    let mut choices = Choices::new(bytes);
    let mut schema = json!({"type": "string"});
    for _ in 0..=choices.below(3) {
        // What is inside is written out as often as there are places for it.
        let room = 300_000 / schema.to_string().len().max(10);
        let n = choices.size().min(room.max(2));
        schema = grown(&mut choices, n, &schema);
    }
    schema
}

#[test]
fn schemas_that_grow_end_with_a_grammar_or_an_error() {
    let mut wrong = Vec::new();
    for seed in seeds(6) {
        let schema = schema(&choices(seed)).to_string();
        let dialects =
            Dialect::ALL.map(|dialect| vec!["grammar", "-", "--dialect", dialect.name()]);
        for arguments in dialects
            .into_iter()
            .chain([vec!["grammar", "-", "--llama"]])
        {
            wrong.extend(failure(seed, 1_536, &schema, &arguments));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
