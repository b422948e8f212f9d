//! Whether values are what schemas ask for: the verdicts, the places and words, and that nothing
//! takes for ever.

use chatparse::grammar::valid::{check, schema_at};
use chatparse::internals::limits;
use serde_json::{Map, Value, json};

#[track_caller]
fn judge(schema: Value, valid: &[Value], invalid: &[Value]) {
    for value in valid {
        assert_eq!(check(&schema, value), [], "{schema} must allow {value}");
    }
    for value in invalid {
        assert_ne!(check(&schema, value), [], "{schema} must not allow {value}");
    }
}

#[test]
fn types() {
    judge(
        json!({"type": "string"}),
        &[json!("")],
        &[json!(1), json!(null)],
    );
    judge(
        json!({"type": "integer"}),
        &[json!(1), json!(1.0), json!(u64::MAX), json!(1e300)],
        &[json!(1.5), json!("1")],
    );
    judge(
        json!({"type": "number"}),
        &[json!(1), json!(1.5)],
        &[json!(true)],
    );
    judge(
        json!({"type": ["null", "boolean"]}),
        &[json!(null), json!(false)],
        &[json!(0), json!({})],
    );
    judge(json!({"type": "object"}), &[json!({"a": 1})], &[json!([])]);
    judge(json!({"type": "array"}), &[json!([1])], &[json!({})]);
    judge(json!({"type": "banana"}), &[json!(1)], &[]);
    judge(json!({"type": ["banana", "null"]}), &[json!(1)], &[]);
    judge(json!(true), &[json!(1)], &[]);
    judge(json!(false), &[], &[json!(1)]);
    for nothing in [
        json!({}),
        json!(null),
        json!(1),
        json!([]),
        json!({"type": 1}),
    ] {
        judge(nothing, &[json!(1), json!({"a": []})], &[]);
    }
}

#[test]
fn values() {
    judge(
        json!({"const": {"a": [1, "x"]}}),
        &[json!({"a": [1.0, "x"]})],
        &[json!({"a": [1, "y"]}), json!({"a": 1})],
    );
    judge(
        json!({"enum": ["a", 1, null]}),
        &[json!("a"), json!(1.0), json!(null)],
        &[json!("1"), json!(false)],
    );
    judge(
        json!({"enum": [{"a": 1, "b": 2}]}),
        &[json!({"b": 2, "a": 1})],
        &[json!({"a": 1}), json!({"a": 1, "c": 2})],
    );
    judge(json!({"enum": []}), &[], &[json!(1)]);
    judge(
        json!({"const": 9_007_199_254_740_993_u64}),
        &[],
        &[json!(9_007_199_254_740_992_u64)],
    );
}

#[test]
fn strings() {
    judge(
        json!({"minLength": 2, "maxLength": 3}),
        &[json!("éü"), json!("abc"), json!(1)],
        &[json!("é"), json!("abcd")],
    );
    judge(
        json!({"pattern": "^\\d{4}-[\\w-]+$"}),
        &[json!("2024-a-b"), json!(1)],
        &[json!("204-a"), json!("x2024-a")],
    );
    judge(json!({"pattern": "b"}), &[json!("abc")], &[json!("ac")]);
    // What this engine does not read, or reads in another way, stays open.
    for pattern in [
        "a(?=a)b$",
        "^(a)\\1$",
        "(",
        "^\\<a\\>$",
        "^\\z$",
        "[[:alpha:]]",
        "(a{999}){999}",
        "\\p{L}",
    ] {
        judge(json!({"pattern": pattern}), &[json!("z"), json!("")], &[]);
        judge(
            json!({"not": {"pattern": pattern}}),
            &[json!("z"), json!("")],
            &[],
        );
    }
    judge(json!({"pattern": 1, "minLength": "x"}), &[json!("a")], &[]);
}

#[test]
fn numbers() {
    judge(
        json!({"minimum": 1, "maximum": 2.5}),
        &[json!(1), json!(2.5), json!("9")],
        &[json!(0.9), json!(3), json!(-1)],
    );
    judge(
        json!({"exclusiveMinimum": 1, "exclusiveMaximum": 3}),
        &[json!(2)],
        &[json!(1), json!(3), json!(0), json!(4)],
    );
    judge(
        json!({"minimum": 1, "exclusiveMinimum": true}),
        &[json!(2)],
        &[json!(1), json!(0)],
    );
    judge(
        json!({"maximum": 18_446_744_073_709_551_614_u64}),
        &[json!(-1)],
        &[json!(u64::MAX)],
    );
    judge(
        json!({"multipleOf": 3}),
        &[json!(9), json!(-3), json!(9.0)],
        &[json!(10), json!(1.5)],
    );
    judge(
        json!({"multipleOf": 0.01}),
        &[json!(19.99), json!(4.35), json!(7)],
        &[json!(19.995)],
    );
    for odd in [json!(0), json!(-2), json!("3"), json!(0.0)] {
        judge(
            json!({"multipleOf": odd}),
            &[json!(7), json!(7.5), json!(1e308)],
            &[],
        );
    }
}

#[test]
fn objects() {
    let schema = json!({"properties": {"a": {"type": "integer"}, "no": false}, "required": ["a"]});
    judge(
        schema,
        &[json!({"a": 1, "x": 2}), json!(7)],
        &[json!({}), json!({"a": "1"}), json!({"a": 1, "no": 1})],
    );
    let closed = json!({"properties": {"a": {}}, "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": false});
    judge(
        closed,
        &[json!({"a": 1, "x-y": "z"})],
        &[json!({"b": 1}), json!({"x-y": 1})],
    );
    let typed = json!({"properties": {"a": {}}, "additionalProperties": {"type": "integer"}});
    judge(typed, &[json!({"a": "x", "b": 1})], &[json!({"b": "x"})]);
    judge(
        json!({"minProperties": 1, "maxProperties": 2}),
        &[json!({"a": 1})],
        &[json!({}), json!({"a": 1, "b": 2, "c": 3})],
    );
    // Whether the name is described is unknown.
    judge(
        json!({"patternProperties": {"^(?!a)": {}}, "additionalProperties": false}),
        &[json!({"b": 1})],
        &[],
    );
    judge(
        json!({"properties": 1, "required": "a", "additionalProperties": 3}),
        &[json!({"b": 1})],
        &[],
    );
}

#[test]
fn arrays() {
    judge(
        json!({"items": {"type": "integer"}}),
        &[json!([]), json!([1, 2])],
        &[json!([1, "2"])],
    );
    judge(
        json!({"prefixItems": [{"const": 1}], "items": {"const": 2}}),
        &[json!([1, 2, 2])],
        &[json!([2]), json!([1, 1])],
    );
    judge(
        json!({"items": [{"const": 1}], "additionalItems": false}),
        &[json!([1])],
        &[json!([2]), json!([1, 1])],
    );
    judge(json!({"items": false}), &[json!([])], &[json!([1])]);
    judge(
        json!({"minItems": 1, "maxItems": 2}),
        &[json!([1])],
        &[json!([]), json!([1, 2, 3])],
    );
    judge(
        json!({"uniqueItems": true}),
        &[json!([1, "1", true, [1], [2], {"a": 1}, {"a": 2}, null])],
        &[
            json!([1, 2, 1.0]),
            json!([0.0, -0.0]),
            json!([{"a": 1, "b": 2}, {"b": 2, "a": 1}]),
            json!(["x", "x"]),
        ],
    );
    judge(json!({"uniqueItems": false}), &[json!([1, 1])], &[]);
}

#[test]
fn combinations() {
    judge(
        json!({"anyOf": [{"type": "null"}, {"minimum": 3}]}),
        &[json!(null), json!(3), json!("x")],
        &[json!(2)],
    );
    judge(
        json!({"oneOf": [{"type": "integer"}, {"minimum": 3}]}),
        &[json!(1), json!(3.5)],
        &[json!(4), json!(2.5)],
    );
    judge(
        json!({"allOf": [{"minimum": 1}, {"maximum": 3}]}),
        &[json!(2)],
        &[json!(0), json!(4)],
    );
    judge(
        json!({"not": {"type": "null"}}),
        &[json!(1)],
        &[json!(null)],
    );
    judge(
        json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}}),
        &[json!({"a": 1, "b": 1}), json!({"c": 1})],
        &[json!({"a": 1}), json!({})],
    );
    // What is not followed decides nothing.
    let date = json!({"type": "string", "format": "date"});
    judge(
        json!({"oneOf": [date, {"type": "string", "format": "time"}]}),
        &[json!("x")],
        &[json!(1)],
    );
    judge(json!({"not": date}), &[json!("x"), json!(1)], &[]);
    judge(
        json!({"if": date, "then": false, "else": false}),
        &[json!("x")],
        &[json!(1)],
    );
    judge(
        json!({"anyOf": [], "oneOf": {}, "allOf": 1}),
        &[json!(1)],
        &[],
    );
    // Nor does what leads back to itself.
    judge(
        json!({"anyOf": [{"type": "null"}, {"$ref": "#"}, {"$ref": "#"}]}),
        &[json!(null), json!(1)],
        &[],
    );
}

#[test]
fn references() {
    let tree = json!({"$ref": "#/$defs/node", "$defs": {"node": {
        "properties": {"value": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}, "required": ["value"]}}});
    judge(
        tree,
        &[json!({"value": 1, "next": {"value": 2}})],
        &[json!({"value": 1, "next": {}}), json!({"next": 1})],
    );
    judge(
        json!({"items": {"$ref": "#"}, "type": "array"}),
        &[json!([[], [[]]])],
        &[json!([[1]])],
    );
    let escaped = json!({"$ref": "#/$defs/a~1b%25", "$defs": {"a/b%": {"const": 1}}});
    judge(escaped, &[json!(1)], &[json!(2)]);
    judge(
        json!({"$ref": "#/$defs/a%20b", "type": "integer", "$defs": {"a b": {"minimum": 1}}}),
        &[json!(1)],
        &[json!(0), json!(1.5)],
    );
    for nowhere in [
        "#/$defs/no",
        "https://127.0.0.1:1/schema.json",
        "other.json#/a",
        "#name",
        "",
        "#/%zz",
    ] {
        judge(json!({"$ref": nowhere}), &[json!(1)], &[]);
        judge(
            json!({"$ref": nowhere, "type": "string"}),
            &[json!("a")],
            &[json!(1)],
        );
        judge(json!({"not": {"$ref": nowhere}}), &[json!(1)], &[]);
    }
    judge(json!({"$ref": 7}), &[json!(1)], &[]);
}

/// A schema of a draft, by the name that its URI has.
fn of_draft(name: &str, mut schema: Value) -> Value {
    schema["$schema"] = format!("http://json-schema.org/{name}/schema#").into();
    schema
}

#[test]
fn keywords_count_in_their_drafts() {
    let drafts = [
        "draft-03",
        "draft-04",
        "draft-06",
        "draft-07",
        "draft/2019-09",
        "draft/2020-12",
    ];
    // A schema, a value that it does not allow, and the drafts that know it.
    for (schema, value, known) in [
        (json!({"extends": {"type": "null"}}), json!(1), 0..1),
        (
            json!({"disallow": ["string", {"minimum": 1}]}),
            json!(1),
            0..1,
        ),
        (json!({"type": ["string", {"maximum": 0}]}), json!(1), 0..1),
        (json!({"divisibleBy": 2}), json!(1), 0..1),
        (
            json!({"properties": {"a": {"required": true}}}),
            json!({}),
            0..1,
        ),
        (json!({"dependencies": {"a": "b"}}), json!({"a": 1}), 0..1),
        (json!({"required": ["a"]}), json!({}), 1..6),
        (json!({"not": {"type": "integer"}}), json!(1), 1..6),
        (json!({"const": 2}), json!(1), 2..6),
        (json!({"contains": {"type": "null"}}), json!([1]), 2..6),
        (
            json!({"propertyNames": {"maxLength": 1}}),
            json!({"ab": 1}),
            2..6,
        ),
        (json!({"exclusiveMinimum": 1}), json!(1), 2..6),
        (
            json!({"if": true, "then": {"type": "null"}}),
            json!(1),
            3..6,
        ),
        (json!({"dependencies": {"a": ["b"]}}), json!({"a": 1}), 0..6),
        (
            json!({"dependencies": {"a": {"maxProperties": 1, "extends": {"disallow": "object"}}}}),
            json!({"a": 1}),
            0..1,
        ),
        (
            json!({"dependentRequired": {"a": ["b"]}}),
            json!({"a": 1}),
            4..6,
        ),
        (
            json!({"dependentSchemas": {"a": {"maxProperties": 0}}}),
            json!({"a": 1}),
            4..6,
        ),
        (
            json!({"unevaluatedProperties": false}),
            json!({"a": 1}),
            4..6,
        ),
        (
            json!({"items": [{}], "additionalItems": {"type": "null"}}),
            json!([1, 1]),
            0..6,
        ),
        (json!({"prefixItems": [{"type": "null"}]}), json!([1]), 5..6),
        // What stands beside a reference.
        (
            json!({"$ref": "#/definitions/a", "type": "null", "definitions": {"a": {}}}),
            json!(1),
            4..6,
        ),
        (
            json!({"$ref": "#a", "definitions": {"a": {"$anchor": "a", "type": "null"}}}),
            json!(1),
            4..6,
        ),
        (
            json!({"$ref": "a", "definitions": {"a": {"$id": "a", "type": "null"}}}),
            json!(1),
            2..6,
        ),
        (
            json!({"$ref": "a", "definitions": {"a": {"id": "a", "type": "null"}}}),
            json!(1),
            0..2,
        ),
    ] {
        for (index, name) in drafts.iter().enumerate() {
            let schema = of_draft(name, schema.clone());
            assert_eq!(
                check(&schema, &value).is_empty(),
                !known.contains(&index),
                "{schema} {value}"
            );
        }
        let newest = check(&schema, &value).is_empty();
        assert_eq!(newest, !known.contains(&5), "{schema} {value}");
        // Nobody knows what these keywords mean.
        judge(of_draft("draft-05", schema), &[value], &[]);
    }
    let strict = of_draft("draft-04", json!({"minimum": 1, "exclusiveMinimum": true}));
    judge(strict, &[json!(2)], &[json!(1)]);
    judge(
        of_draft("draft-04", json!({"type": "integer"})),
        &[json!(1), json!(1.0)],
        &[json!(1.5)],
    );
    judge(
        of_draft("draft-04", json!({"not": {"type": "integer"}})),
        &[json!(1.0), json!(1.5)],
        &[json!(1)],
    );
}

#[test]
fn names_and_bases() {
    let schema = json!({"$id": "http://x.example/a/root.json", "$defs": {
        "item": {"$id": "item.json", "$defs": {"n": {"type": "integer"}}, "items": {"$ref": "#/$defs/n"}},
        "n": {"type": "string"}, "named": {"$anchor": "here", "minLength": 2}},
        "properties": {"items": {"$ref": "/a/item.json"}, "named": {"$ref": "root.json#here"}, "n": {"$ref": "#/$defs/n"},
            "inner": {"$ref": "#/$defs/item/$defs/n"}, "away": {"$ref": "http://x.example/b.json"}}});
    judge(
        schema,
        &[json!({"items": [1], "named": "ab", "n": "x", "inner": 1, "away": 7})],
        &[
            json!({"items": ["x"]}),
            json!({"named": "a"}),
            json!({"n": 1}),
            json!({"inner": "x"}),
        ],
    );
    // Of two with the same name, nobody knows which is meant.
    let twice = json!({"$ref": "#a", "$defs": {"x": {"$anchor": "a", "type": "null"}, "y": {"$anchor": "a"}}});
    judge(twice, &[json!(1)], &[]);
    let twice =
        json!({"$ref": "a", "$defs": {"x": {"$id": "a", "type": "null"}, "y": {"$id": "a"}}});
    judge(twice, &[json!(1)], &[]);
    // What is no schema has no name.
    judge(
        json!({"$ref": "a", "const": {"$id": "a", "type": "null"}}),
        &[json!({"$id": "a", "type": "null"})],
        &[json!(1)],
    );
    // Where this leads depends on the draft, and that is not said.
    let either = json!({"$defs": {"a": {"$id": "a", "type": "null"}}, "allOf": [{"$id": "x/", "$ref": "a"}]});
    judge(either, &[json!(1)], &[]);
}

#[test]
fn dynamic_references() {
    let tree = |leaf: Value| {
        json!({"$id": "http://x.example/leaf", "$ref": "tree", "$defs": {
            "leaf": leaf,
            "tree": {"$id": "tree", "$dynamicAnchor": "node", "items": {"$dynamicRef": "#node"}}}})
    };
    judge(
        tree(json!({"$dynamicAnchor": "node", "type": "array"})),
        &[json!([[]])],
        &[json!([1])],
    );
    judge(
        tree(json!({"$anchor": "node", "type": "array"})),
        &[json!([[], 1])],
        &[],
    );
    let tree = json!({"$id": "http://x.example/strict", "$recursiveAnchor": true, "$ref": "tree", "maxItems": 1, "$defs": {
        "tree": {"$id": "tree", "$recursiveAnchor": true, "items": {"$recursiveRef": "#"}}}});
    judge(
        of_draft("draft/2019-09", tree),
        &[json!([[1]])],
        &[json!([[1, 2]])],
    );
}

#[test]
fn items_that_are_asked_for() {
    judge(
        json!({"contains": {"const": 1}}),
        &[json!([2, 1]), json!("x")],
        &[json!([2]), json!([])],
    );
    let few = json!({"contains": {"const": 1}, "minContains": 2, "maxContains": 3});
    judge(
        few,
        &[json!([1, 1]), json!([1, 0, 1, 1])],
        &[json!([1]), json!([1, 1, 1, 1])],
    );
    judge(
        json!({"contains": {"const": 1}, "minContains": 0}),
        &[json!([])],
        &[],
    );
    let open = json!({"contains": {"format": "date", "type": "string"}, "maxContains": 1});
    judge(open, &[json!(["a"]), json!(["a", "b"])], &[json!([1])]);
}

#[test]
fn what_no_keyword_looks_at() {
    let closed = json!({"allOf": [{"properties": {"a": {}}}], "anyOf": [{"properties": {"b": {"type": "null"}}}, {"required": ["c"]}],
        "if": {"required": ["d"]}, "then": {"patternProperties": {"^d": {}}}, "unevaluatedProperties": false});
    judge(
        closed,
        &[
            json!({"a": 1}),
            json!({"a": 1, "b": null}),
            json!({"b": null, "d": 1, "de": 1}),
        ],
        &[
            json!({"b": 1, "c": 1}),
            json!({"de": 1}),
            json!({"c": null}),
        ],
    );
    let rest = json!({"prefixItems": [{}], "contains": {"type": "string"}, "unevaluatedItems": {"type": "null"}});
    judge(rest, &[json!([1, null, "a"])], &[json!([1, 1, "a"])]);
    // Whether something looks at it is unknown.
    let open = json!({"anyOf": [{"format": "date", "properties": {"a": {}}}, {}], "unevaluatedProperties": false});
    judge(open, &[json!({"a": 1})], &[json!({"b": 1})]);
    judge(
        json!({"$ref": "http://x.example/", "unevaluatedItems": false}),
        &[json!([1])],
        &[],
    );
}

#[test]
fn places_and_words() {
    let schema = json!({"type": "object", "required": ["city", "unit"], "additionalProperties": false, "properties": {
        "city": {"type": ["string", "null"], "minLength": 1, "pattern": "^[A-Z]"}, "unit": {"enum": ["c", "f"]},
        "days": {"items": {"type": "integer", "minimum": 1, "exclusiveMaximum": 8}, "maxItems": 3},
        "a/b~": {"const": 1}, "any": {"anyOf": [{"type": "null"}]}}});
    let found = |value: Value| -> Vec<String> {
        check(&schema, &value)
            .into_iter()
            .map(|found| format!("{}: {}", found.pointer, found.message))
            .collect()
    };
    assert_eq!(found(json!([])), [": must be an object, not an array"]);
    assert_eq!(
        found(json!({})),
        [": \"city\" is missing", ": \"unit\" is missing"]
    );
    assert_eq!(
        found(
            json!({"city": "", "unit": "k", "days": [0, 8, 1.5, "x"], "a/b~": 2, "any": 1, "more": 1})
        ),
        [
            ": must not have \"more\"",
            "/city: must have at least 1 character, not 0",
            "/city: must match ^[A-Z]",
            "/unit: must be one of \"c\", \"f\"",
            "/days: must have at most 3 items, not 4",
            "/a~1b~0: must be 1",
            "/any: fits no schema of anyOf",
            "/days/0: must be at least 1",
            "/days/1: must be less than 8",
            "/days/2: must be a whole number, not a fraction",
            "/days/3: must be a whole number, not a string",
        ]
    );
    assert_eq!(
        found(json!({"city": 1, "unit": "c"})),
        ["/city: must be a string or null, not a number"]
    );
    // As much as a host can want to show.
    let many: Vec<i32> = (0..1000).collect();
    let found = check(&json!({"items": {"type": "string"}}), &json!(many));
    assert_eq!(found.len(), limits::VIOLATIONS);
    let found = check(&json!({"enum": vec!["x".repeat(50); 1000]}), &json!(1));
    assert!(
        found[0].message.len() < 300 && found[0].message.ends_with("..."),
        "{}",
        found[0].message
    );
}

#[test]
fn the_schema_of_a_place() {
    let schema = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 1},
            "unit": {"$ref": "#/$defs/unit", "description": "Which?"},
            "maybe": {"anyOf": [{"$ref": "#/$defs/unit"}, {"type": "null"}], "default": null},
            "a/b~": {"const": 1},
            "pair": {"prefixItems": [{"type": "integer"}], "items": {"type": "boolean"}},
            "tree": {"$ref": "#/$defs/tree"},
            "shape": {"oneOf": [
                {"properties": {"kind": {"const": "dot"}, "at": {"type": "number"}}, "additionalProperties": false},
                {"properties": {"kind": {"const": "line"}, "to": {"type": "number"}}, "additionalProperties": false},
                {"type": "null"},
            ]},
            "both": {"allOf": [{"properties": {"n": {"minimum": 1}}}, {"properties": {"n": {"maximum": 9}}}]},
            "far": {"$ref": "http://127.0.0.1:9/schema", "type": "string"},
            "round": {"$ref": "#/properties/round"},
        },
        "patternProperties": {"^x-": {"type": "string"}},
        "additionalProperties": {"type": "integer"},
        "$defs": {
            "unit": {"enum": ["C", "F"], "description": "A unit"},
            "tree": {"properties": {"name": {"type": "string"}, "next": {"items": {"$ref": "#/$defs/tree"}}}},
        },
    });
    let unit = json!({"enum": ["C", "F"], "description": "A unit"});
    for (pointer, expected) in [
        ("/city", json!({"type": "string", "minLength": 1})),
        (
            "/unit",
            json!({"enum": ["C", "F"], "description": "Which?"}),
        ),
        (
            "/maybe",
            json!({"anyOf": [unit, {"type": "null"}], "default": null}),
        ),
        ("/a~1b~0", json!({"const": 1})),
        ("/pair/0", json!({"type": "integer"})),
        ("/pair/7", json!({"type": "boolean"})),
        ("/tree/next/3/next/0/name", json!({"type": "string"})),
        ("/tree/next/3", schema["$defs"]["tree"].clone()),
        ("/tree/next/3/other", json!(true)),
        (
            "/shape/kind",
            json!({"anyOf": [{"const": "dot"}, {"const": "line"}]}),
        ),
        ("/shape/to", json!({"type": "number"})),
        ("/shape/none", json!(false)),
        (
            "/both/n",
            json!({"allOf": [{"minimum": 1}, {"maximum": 9}]}),
        ),
        ("/far", schema["properties"]["far"].clone()),
        ("/round", json!(true)),
        ("/x-more", json!({"type": "string"})),
        ("/more", json!({"type": "integer"})),
        ("/city/0", json!(false)),
        ("", schema.clone()),
    ] {
        assert_eq!(schema_at(&schema, pointer), expected, "{pointer}");
    }
    // Draft 7 looks at nothing beside a reference.
    let old = json!({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"$ref": "#/definitions/b", "type": "null",
        "title": "A"}}, "definitions": {"b": {"type": "string"}}});
    assert_eq!(
        schema_at(&old, "/a"),
        json!({"type": "string", "title": "A"})
    );
    assert_eq!(schema_at(&json!(null), "/a"), json!(true));
}

/// Alternatives that lead to the same schemas need no more time on each level. Very deep ones count
/// as true.
#[test]
fn schemas_at_places_in_recursive_alternatives() {
    let node = json!({"$ref": "#/$defs/node"});
    let branches = ["k0", "k1", "k2", "k3"].map(
        |key| json!({"type": "object", "properties": {key: node}, "additionalProperties": node}),
    );
    let schema = json!({"properties": {"a": node}, "$defs": {"node": {"anyOf": branches}}});
    for (depth, expected) in [
        (1, &schema["$defs"]["node"]),
        (8, &schema["$defs"]["node"]),
        (60, &schema["$defs"]["node"]),
        (300, &json!(true)),
    ] {
        assert_eq!(
            &schema_at(&schema, &format!("/a{}", "/q".repeat(depth))),
            expected,
            "{depth}"
        );
    }
}

/// Runs on a stack as small as hosts' threads may have; what is nested deeply is made and dropped
/// outside of it.
fn on_a_small_stack(cases: Vec<(&'static str, Value, Value)>) {
    let outer = std::thread::Builder::new()
        .stack_size(256 << 20)
        .spawn(move || {
            for (name, schema, value) in &cases {
                std::thread::scope(|scope| {
                    let small = std::thread::Builder::new().stack_size(1 << 20);
                    eprintln!("{name}");
                    let small = small.spawn_scoped(scope, || {
                        for pointer in ["", "/0", "/p1/0/1", "/not/items/a"] {
                            let _ = schema_at(schema, pointer);
                        }
                        check(schema, value)
                    });
                    assert!(
                        small.unwrap().join().unwrap().len() <= limits::VIOLATIONS,
                        "{name}"
                    );
                });
            }
        });
    outer.unwrap().join().unwrap();
}

fn nested(depth: usize, wrap: impl Fn(Value) -> Value, inner: Value) -> Value {
    (0..depth).fold(inner, |inner, _| wrap(inner))
}

fn object(name: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(name.to_owned(), value)]))
}

fn array(value: Value) -> Value {
    Value::Array(vec![value])
}

#[test]
fn hostile_schemas_and_values_end() {
    let deep = || nested(10_000, array, json!(1));
    let members = |count: usize| -> Value {
        (0..count)
            .map(|i| (format!("p{i}"), json!(i)))
            .collect::<Map<_, _>>()
            .into()
    };
    let ladder: Map<String, Value> = (0..10_000)
        .map(|i| {
            (
                format!("d{i}"),
                json!({"$ref": format!("#/$defs/d{}", i + 1)}),
            )
        })
        .chain([("d10000".to_owned(), json!({"const": 1}))])
        .collect();
    let double = |key: &str| {
        let steps = (0..60).map(|i| {
            let next = json!({"$ref": format!("#/$defs/d{}", i + 1)});
            (format!("d{i}"), object(key, json!([next, next])))
        });
        let defs: Map<String, Value> = steps
            .chain([("d60".to_owned(), json!({"type": "string"}))])
            .collect();
        json!({"$ref": "#/$defs/d0", "$defs": defs})
    };
    let named = |inner| {
        Value::Object(Map::from_iter([
            ("$id".to_owned(), json!("a/")),
            ("not".to_owned(), inner),
        ]))
    };
    let unevaluated = |inner: Value| json!({"unevaluatedItems": false, "anyOf": [inner]});
    let names: Vec<String> = (0..1_000).map(|i| format!("p{i}")).collect();
    let on_all: Map<String, Value> = names
        .iter()
        .map(|name| (name.clone(), json!(names)))
        .collect();
    let chain = nested(
        200,
        |inner| json!({"$id": "a/", "$dynamicAnchor": "n", "allOf": [{"$dynamicRef": "#n"}, inner]}),
        json!({}),
    );
    // Unoptimized code gets a tenth.
    let programs = if cfg!(debug_assertions) {
        2_000
    } else {
        20_000
    };
    let patterns: Vec<Value> = (0..programs)
        .map(|i| json!({"pattern": format!("^((a{{0,99}}){{0,99}}){{0,{i}}}$")}))
        .collect();
    on_a_small_stack(vec![
        (
            "items, deep",
            nested(10_000, |inner| object("items", inner), json!({"const": 2})),
            deep(),
        ),
        (
            "anyOf, deep",
            nested(
                10_000,
                |inner| object("anyOf", array(inner)),
                json!({"const": 2}),
            ),
            json!(1),
        ),
        (
            "allOf, deep",
            nested(
                10_000,
                |inner| object("allOf", array(inner)),
                json!({"const": 2}),
            ),
            json!(1),
        ),
        (
            "not, deep",
            nested(10_001, |inner| object("not", inner), json!({"const": 2})),
            json!(1),
        ),
        (
            "if, deep",
            nested(10_000, |inner| object("if", inner), json!({"const": 2})),
            json!(1),
        ),
        ("a deep constant", object("const", deep()), json!(1)),
        ("two deep constants", json!({"enum": [2, 3]}), deep()),
        ("deep equals", object("const", deep()), deep()),
        ("a circle", json!({"$ref": "#"}), json!(1)),
        (
            "circles of alternatives",
            json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}], "not": {"$ref": "#"}}),
            deep(),
        ),
        (
            "alternatives all the way",
            json!({"anyOf": [{"type": "null"}, {"items": {"$ref": "#"}}]}),
            deep(),
        ),
        (
            "references in a row",
            json!({"$ref": "#/$defs/d0", "$defs": ladder}),
            json!(2),
        ),
        ("allOf, doubling", double("allOf"), json!(1)),
        ("anyOf, doubling", double("anyOf"), json!(1)),
        ("oneOf, doubling", double("oneOf"), json!(1)),
        (
            "a pattern that backtracks",
            json!({"pattern": "^(a+)+$"}),
            json!("a".repeat(100_000) + "b"),
        ),
        (
            "counts in counts",
            json!({"pattern": "^((a{0,999}){0,999}){0,999}$"}),
            json!("a".repeat(100_000)),
        ),
        (
            "a large program",
            json!({"pattern": "(.?){500}b"}),
            json!("a".repeat(200_000)),
        ),
        (
            "parentheses",
            json!({"pattern": "(".repeat(100_000)}),
            json!("a"),
        ),
        (
            "nested groups",
            json!({"pattern": format!("{}a{}", "(".repeat(50_000), ")".repeat(50_000))}),
            json!("a"),
        ),
        (
            "patterns for all names",
            json!({"patternProperties": (0..2_000).map(|i| (format!("^(a|p{i})+$"), json!({}))).collect::<Map<_, _>>()}),
            members(5_000),
        ),
        (
            "a million items",
            json!({"uniqueItems": true, "items": {"type": "integer"}}),
            (0..1_000_000).collect(),
        ),
        (
            "items alike",
            json!({"uniqueItems": true}),
            (0..20_000).map(|i| json!([i])).collect(),
        ),
        (
            "required by everyone",
            json!({"items": {"required": vec!["x"; 20_000]}}),
            json!(vec![json!({"x": 1}); 20_000]),
        ),
        (
            "a remote reference",
            json!({"$ref": "http://127.0.0.1:9/schema"}),
            json!(1),
        ),
        (
            "contains, deep",
            nested(
                10_000,
                |inner| object("contains", inner),
                json!({"const": 2}),
            ),
            deep(),
        ),
        (
            "unevaluated, deep",
            nested(300, unevaluated, json!({"const": 2})),
            json!([1]),
        ),
        (
            "unevaluated, doubling",
            double("unevaluatedItems"),
            json!([1]),
        ),
        (
            "propertyNames of many",
            json!({"propertyNames": {"pattern": "^(a|b)+$"}}),
            members(100_000),
        ),
        (
            "dependencies of all on all",
            json!({"dependentRequired": on_all}),
            members(1_000),
        ),
        (
            "names in names",
            nested(10_000, named, json!({"$ref": "b"})),
            json!(1),
        ),
        (
            "names on the way",
            json!({"items": chain}),
            json!(vec![1; 1_000]),
        ),
        (
            "a long reference",
            json!({"items": {"$ref": format!("#{}", "/a".repeat(500_000))}}),
            json!(vec![1; 10_000]),
        ),
        (
            "many programs",
            json!({"items": {"allOf": patterns}}),
            json!(["aaaa"]),
        ),
    ]);
}
