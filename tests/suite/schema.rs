//! Grammars of JSON schemas in llama.cpp's style: what they allow, what is refused, what is
//! reported, and that nothing takes for ever.

use chatparse::grammar::{FidelityKind, Grammar, Recogniser, from_json_schema_as};
use chatparse::internals::grammar::{Builder, Rule, Undeclared, Walk, letter};
use chatparse::{ChatTemplate, Error, ErrorKind, GrammarStyle, Request, builtin};
use serde_json::{Map, Value, json};

fn from_json_schema(schema: &Value) -> Result<Grammar, Error> {
    from_json_schema_as(schema, GrammarStyle::LlamaCpp)
}

fn grammar(schema: &Value) -> Grammar {
    from_json_schema(schema).unwrap_or_else(|error| panic!("{schema}: {error}"))
}

#[track_caller]
fn allows(schema: Value, yes: &[&str], no: &[&str]) {
    let grammar = grammar(&schema);
    let recogniser = Recogniser::new(&grammar.text)
        .unwrap_or_else(|error| panic!("{schema}: {error}\n{}", grammar.text));
    for text in yes {
        assert!(
            recogniser.accepts(text),
            "{schema} must allow {text}\n{}",
            grammar.text
        );
    }
    for text in no {
        assert!(
            !recogniser.accepts(text),
            "{schema} must not allow {text}\n{}",
            grammar.text
        );
    }
}

#[track_caller]
fn refused(schema: Value, parts: &[&str]) {
    let error = from_json_schema(&schema).expect_err(&schema.to_string());
    assert_eq!(error.kind(), ErrorKind::Schema, "{schema}: {error}");
    for part in parts {
        assert!(
            error.message().contains(part),
            "{schema}: {part:?} is not in {error}"
        );
    }
}

#[track_caller]
fn reported(schema: Value, expected: &[(&str, FidelityKind)]) {
    let report = grammar(&schema).report;
    let found: Vec<_> = report
        .iter()
        .map(|entry| (&*entry.pointer, entry.kind))
        .collect();
    assert_eq!(found, expected, "{schema}: {report:?}");
}

const WIDENED: FidelityKind = FidelityKind::Widened;
const REFUSED: FidelityKind = FidelityKind::Refused;

#[test]
fn a_schema_may_refer_to_itself_and_end_its_items() {
    let tree = json!({"type": "object", "properties": {"next": {"$ref": "#"}}, "required": []});
    allows(
        tree,
        &["{}", "{\"next\": {\"next\": {}}}"],
        &["{\"next\": 1}", "[]"],
    );
    let pair = json!({"prefixItems": [{"type": "null"}, {"type": "boolean"}], "items": false});
    allows(pair, &["[null, true]"], &["[null, true, 1]", "[true]"]);
    allows(json!({"type": "array", "items": false}), &["[]"], &["[1]"]);
    refused(json!({"$ref": "#"}), &["back to itself"]);
}

#[test]
fn scalars() {
    allows(
        json!({"type": "boolean"}),
        &["true", "false"],
        &["null", "1", ""],
    );
    allows(json!({"type": "null"}), &["null"], &["0"]);
    allows(
        json!({"type": "number"}),
        &["0", "-1.50", "2e-9"],
        &["01", "1.", "\"1\""],
    );
    allows(json!({"type": "integer"}), &["0", "-17"], &["1.0", "+1"]);
    allows(
        json!({"type": ["string", "null"]}),
        &["\"\"", "\"\\u00e9\\n\"", "null"],
        &["\"\n\"", "\"\\x\"", "1"],
    );
    allows(
        json!({}),
        &["{}", "[1, \"a\", {\"b\": null}]"],
        &["", "[1,]"],
    );
    allows(
        json!({"const": {"a": [1.0, 1e20, "é\""]}}),
        &["{\"a\":[1.0,1e+20,\"é\\\"\"]}"],
        &["{\"a\": []}"],
    );
    allows(
        json!({"enum": ["a", 1, null]}),
        &["\"a\"", "1", "null"],
        &["\"1\""],
    );
}

#[test]
fn strings() {
    allows(
        json!({"minLength": 2, "maxLength": 3}),
        &["\"ab\"", "\"a\\\"c\""],
        &["\"a\"", "\"abcd\""],
    );
    allows(
        json!({"type": "string", "maxLength": 0}),
        &["\"\""],
        &["\"a\""],
    );
    allows(
        json!({"format": "date"}),
        &["\"2024-02-29\""],
        &["\"2024-13-01\"", "\"2024-2-1\""],
    );
    allows(
        json!({"format": "time"}),
        &["\"23:59:59Z\"", "\"00:00:00.123+02:00\""],
        &["\"24:00:00Z\"", "\"12:00\""],
    );
    allows(
        json!({"format": "date-time"}),
        &["\"2024-01-01T00:00:00Z\""],
        &["\"2024-01-01\""],
    );
    allows(
        json!({"type": "string", "format": "uuid4"}),
        &["\"123e4567-e89b-12d3-a456-426614174000\""],
        &["\"123e4567\""],
    );
}

#[test]
fn objects() {
    let properties =
        json!({"a": {"type": "integer"}, "b": {"type": "null"}, "c": {"type": "boolean"}});
    allows(
        json!({"type": "object", "properties": properties, "required": ["b"]}),
        &[
            "{\"b\":null}",
            "{ \"b\": null, \"a\": 1, \"c\": true }",
            "{\"b\":null,\"c\":false}",
        ],
        &[
            "{}",
            "{\"a\":1,\"b\":null}",
            "{\"b\":null,\"x\":1}",
            "{\"b\":null,}",
        ],
    );
    allows(
        json!({"properties": properties}),
        &[
            "{}",
            "{\"a\":1}",
            "{\"a\":1,\"c\":true}",
            "{\"b\":null,\"c\":true}",
        ],
        &["{\"c\":true,\"a\":1}"],
    );
    allows(
        json!({"type": "object", "properties": {}}),
        &["{}", "{ }"],
        &["{\"a\":1}"],
    );
    allows(json!({"type": "object"}), &["{}", "{\"x\": [1]}"], &["1"]);
    allows(
        json!({"type": "object", "additionalProperties": {"type": "integer"}}),
        &["{}", "{\"x\": 1, \"y\": 2}"],
        &["{\"x\": \"1\"}"],
    );
    allows(
        json!({"properties": {"ab": {"type": "null"}, "c-]^\\": {}}, "additionalProperties": {"type": "integer"}}),
        &["{\"ab\":null,\"abc\":1,\"x\":2}", "{\"ac\":1}", "{}"],
        &["{\"ab\":1}"],
    );
    allows(
        json!({"properties": {"*": {"type": "null"}, "yes": true, "never": false}}),
        &["{\"*\":null}", "{\"yes\":[]}"],
        &["{\"*\":null,\"*\":null}", "{\"never\":1}"],
    );
}

#[test]
fn arrays() {
    let of = |rest: Value| {
        let mut schema = json!({"items": {"type": "integer"}});
        schema
            .as_object_mut()
            .unwrap()
            .extend(rest.as_object().unwrap().clone());
        schema
    };
    allows(
        of(json!({})),
        &["[]", "[1]", "[ 1, 2,3 ]"],
        &["[1,]", "[\"a\"]"],
    );
    allows(
        of(json!({"minItems": 2})),
        &["[1,2]", "[1,2,3]"],
        &["[]", "[1]"],
    );
    allows(of(json!({"maxItems": 0})), &["[]"], &["[1]"]);
    allows(of(json!({"maxItems": 1})), &["[]", "[1]"], &["[1,2]"]);
    allows(
        of(json!({"minItems": 1, "maxItems": 1})),
        &["[1]"],
        &["[]", "[1,2]"],
    );
    allows(
        of(json!({"minItems": 2, "maxItems": 4})),
        &["[1,2]", "[1,2,3,4]"],
        &["[1]", "[1,2,3,4,5]"],
    );
    allows(
        json!({"prefixItems": [{"type": "null"}, {"const": 1}]}),
        &["[null, 1]"],
        &["[null]", "[null,1,1]"],
    );
    allows(json!({"items": []}), &["[]"], &["[1]"]);
}

#[test]
fn combinations() {
    allows(
        json!({"anyOf": [{"const": 1}, {"type": "null"}]}),
        &["1", "null"],
        &["2"],
    );
    let part = |name: &str| json!({"type": "object", "properties": {name: {"const": name}}});
    allows(
        json!({"allOf": [part("a"), {"$ref": "#/$defs/b"}, {"anyOf": [part("c"), part("d")]}], "$defs": {"b": part("b")}}),
        &[
            "{\"a\":\"a\",\"b\":\"b\"}",
            "{\"a\":\"a\",\"b\":\"b\",\"d\":\"d\"}",
        ],
        &["{\"a\":\"a\"}"],
    );
    allows(
        json!({"allOf": [{"enum": [1, 2, 3]}, {"enum": [2, 3, 4]}]}),
        &["2", "3"],
        &["1", "4"],
    );
}

#[test]
fn references() {
    let tree = json!({"$ref": "#/$defs/node", "$defs": {"node": {
        "properties": {"value": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}, "required": ["value"]}}});
    allows(
        tree,
        &["{\"value\":1}", "{\"value\":1,\"next\":{\"value\":2}}"],
        &["{\"value\":1,\"next\":null}"],
    );
    allows(
        json!({"anyOf": [{"const": 1}, {"items": {"$ref": "#/anyOf/0"}}]}),
        &["1", "[1,1]"],
        &["[2]"],
    );
    allows(
        json!({"$ref": "#/$defs/a~1b%25", "$defs": {"a/b%": {"const": 1}}}),
        &["1"],
        &["2"],
    );
    // Names that look the same in the grammar are kept apart.
    let near = json!({"prefixItems": [{"$ref": "#/$defs/a b"}, {"$ref": "#/$defs/a-b"}],
        "$defs": {"a b": {"const": 1}, "a-b": {"const": 2}}});
    allows(near, &["[1,2]"], &["[1,1]", "[2,2]"]);
    // A circle through allOf, as generators of schemas make them.
    let person = json!({"$ref": "#/definitions/person", "definitions": {"person": {
        "properties": {"name": {"type": "string"}, "boss": {"allOf": [{"$ref": "#/definitions/person"}]}}}}});
    allows(
        person,
        &[
            "{}",
            "{\"boss\":{\"name\":\"a\",\"boss\":{\"boss\":{\"name\":\"b\"}}}}",
        ],
        &["[]"],
    );
}

#[test]
fn refusals_name_the_place() {
    refused(json!(true), &["#:", "must be an object"]);
    refused(json!(false), &["must be an object"]);
    refused(json!({"type": "banana"}), &["at #:", "banana"]);
    refused(
        json!({"properties": {"a/b": {"items": {"type": 1}}}}),
        &["#/properties/a~1b/items"],
    );
    refused(json!({"anyOf": [{}, {"type": []}]}), &["#/anyOf/1"]);
    refused(json!({"oneOf": []}), &["at #", "oneOf"]);
    refused(json!({"enum": []}), &["enum"]);
    refused(json!({"properties": []}), &["properties must be an object"]);
    refused(
        json!({"additionalProperties": 1}),
        &["additionalProperties"],
    );
    refused(json!({"items": {}, "minItems": -1}), &["minItems"]);
    refused(
        json!({"items": {}, "minItems": 2, "maxItems": 1}),
        &["minItems is larger"],
    );
    refused(
        json!({"type": "integer", "minimum": 3, "maximum": 2}),
        &["nothing fits"],
    );
    refused(
        json!({"type": "integer", "minimum": "3"}),
        &["minimum must be a number"],
    );
    refused(json!({"type": "string", "format": 1}), &["format"]);
    refused(
        json!({"$ref": "https://example.com/a"}),
        &["https://example.com/a", "leads out"],
    );
    refused(
        json!({"$ref": "#/$defs/no"}),
        &["leads nowhere", "\"$defs\""],
    );
    refused(
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}),
        &["back to itself"],
    );
    for pattern in [
        "^(a$", "^a)$", "^*a$", "^a**$", "^[a$", "^[b-a]$", "^a{2,1}$", "^a\\$", "^a|*$",
    ] {
        refused(
            json!({"properties": {"p": {"pattern": pattern}}}),
            &["#/properties/p", "not a regular expression"],
        );
    }
}

#[test]
fn what_is_not_followed_is_reported() {
    reported(json!({"type": "string"}), &[]);
    for pattern in [
        "abc",
        "^\\d+$",
        "^(?=a)b$",
        "^[\\w]$",
        "^a\\b$",
        "^a]$",
        "^[^]$",
        "^a{x}$",
        "^\\1$",
        "^(a?)*$",
        "^(a|b*){2,}$",
    ] {
        reported(json!({"pattern": pattern}), &[("#/pattern", WIDENED)]);
        allows(json!({"pattern": pattern}), &["\"anything\""], &["1"]);
    }
    reported(
        json!({"pattern": "^[a-z]+$", "minLength": 3}),
        &[("#/minLength", WIDENED)],
    );
    reported(json!({"pattern": "^.$"}), &[("#/pattern", WIDENED)]);
    reported(
        json!({"type": "number", "minimum": 1}),
        &[("#/minimum", WIDENED)],
    );
    reported(
        json!({"type": ["number", "null"], "minimum": 1}),
        &[("#/minimum", WIDENED)],
    );
    reported(
        json!({"type": "string", "format": "email"}),
        &[("#/format", WIDENED)],
    );
    reported(
        json!({"items": {"type": "null"}, "uniqueItems": true}),
        &[("#/uniqueItems", WIDENED)],
    );
    reported(
        json!({"items": {"type": "null"}, "uniqueItems": false}),
        &[],
    );
    reported(
        json!({"anyOf": [{"required": ["a"]}]}),
        &[("#/anyOf/0/required", WIDENED)],
    );
    reported(
        json!({"allOf": [{"type": "string"}]}),
        &[("#/allOf/0", REFUSED)],
    );
    reported(
        json!({"properties": {"a": {}}, "required": ["b"]}),
        &[("#/required", WIDENED)],
    );
    reported(
        json!({"prefixItems": [{}], "minItems": 2}),
        &[("#/minItems", WIDENED)],
    );
    reported(
        json!({"prefixItems": [{}, {}], "maxItems": 1}),
        &[("#/maxItems", WIDENED)],
    );
    reported(
        json!({"prefixItems": [{}], "minItems": 1, "maxItems": 1}),
        &[],
    );
    reported(
        json!({"type": "string", "const": 1}),
        &[("#/const", WIDENED)],
    );
    reported(
        json!({"enum": [1, 2, 3], "minimum": 2}),
        &[("#/enum", WIDENED)],
    );
    reported(
        json!({"enum": [[1]], "minItems": 2}),
        &[("#/enum", WIDENED)],
    );
    reported(
        json!({"type": "integer", "enum": [2, 3], "minimum": 2}),
        &[],
    );
    let closed = json!({"properties": {"a": {}}, "additionalProperties": {"type": "null"}});
    reported(
        json!({"allOf": [closed, {"properties": {"b": {}}}]}),
        &[("#/allOf/0/additionalProperties", WIDENED)],
    );
    reported(
        json!({"allOf": [closed, {"properties": {"a": {"type": "null"}}}]}),
        &[],
    );
    let twice =
        json!([{"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"type": "null"}}}]);
    reported(json!({"allOf": twice}), &[("#/allOf", WIDENED)]);
    let shut = json!({"properties": {"a": {}}, "additionalProperties": false});
    reported(
        json!({"allOf": [shut, {"properties": {"b": {}}}]}),
        &[("#/allOf", WIDENED)],
    );
    reported(json!({"allOf": [shut, shut]}), &[]);
    reported(
        json!({"allOf": [{"enum": [1, 1]}, {"enum": [2]}]}),
        &[("#", REFUSED)],
    );
    reported(
        json!({"type": "integer", "maximum": -100}),
        &[("#", WIDENED)],
    );
    reported(
        json!({"minLength": 5000, "maxLength": 9000}),
        &[("#/minLength", WIDENED), ("#/maxLength", WIDENED)],
    );
}

#[test]
fn repetitions_can_always_be_read() {
    let three = |schema: Value| json!({"items": schema, "maxItems": 2000});
    for schema in [
        json!({"type": "string", "maxLength": 2000}),
        json!({"type": "string", "minLength": 10_000, "maxLength": 20_000}),
        json!({"type": "string", "minLength": 18_446_744_073_709_551_615_u64}),
        three(json!({"type": "string"})),
        three(three(three(json!({"type": "string", "maxLength": 2000})))),
        json!({"items": {}, "minItems": 2001}),
        json!({"pattern": "^((a{0,100}){0,100}){0,100}$"}),
        json!({"pattern": "^([0-9]{1,2000})?$"}),
        json!({"pattern": "^(d(a?b?c?){700})*$"}),
    ] {
        let grammar = grammar(&schema);
        assert!(
            Recogniser::new(&grammar.text).is_ok(),
            "{schema}\n{}",
            grammar.text
        );
    }
    allows(
        json!({"items": {"const": 1}, "maxItems": 1999}),
        &["[]", "[1,1]"],
        &["[1 1]"],
    );
    allows(
        json!({"pattern": "^((a?b){2}){3}$"}),
        &["\"bbbbbb\"", "\"abbabbbb\""],
        &["\"bbbbb\""],
    );
}

#[test]
fn before_0_5_0_an_empty_schema_is_an_object() {
    let nested = json!({"properties": {"a": {}}, "required": ["a"]});
    for (schema, object, other) in [
        (json!({}), "{\"x\":1}", "1"),
        (json!({"items": {}}), "[{\"x\":1}]", "[1]"),
        (nested, "{\"a\":{}}", "{\"a\":1}"),
    ] {
        for (style, any) in [
            (GrammarStyle::LlamaCpp, true),
            (GrammarStyle::LlamaCppB10587, false),
        ] {
            let recogniser =
                Recogniser::new(&from_json_schema_as(&schema, style).unwrap().text).unwrap();
            assert!(recogniser.accepts(object), "{schema}, {style:?}");
            assert_eq!(recogniser.accepts(other), any, "{schema}, {style:?}");
        }
    }
}

#[test]
fn values_of_any_type_are_no_schemas_that_cannot_be_used() {
    let request = json!({"messages": [], "grammar_style": "llama.cpp", "tool_choice": "required", "tools": [
        {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {
            "any": {}, "list": {"type": "array"}, "map": {"type": "object"}, "either": {"type": ["object", "string"]}}}}}]});
    for name in builtin::names() {
        let template = ChatTemplate::builtin(name).unwrap();
        let params = template
            .params(&Request::from_json(&request).unwrap())
            .unwrap();
        let refused: Vec<_> = params
            .grammar()
            .report
            .iter()
            .filter(|entry| entry.kind == REFUSED)
            .collect();
        assert!(
            refused.is_empty() || refused[0].pointer.is_empty(),
            "{name}: {refused:?}"
        );
    }
}

#[test]
fn schemas_of_one_grammar_do_not_meet() {
    let tool = |value: i32| {
        json!({"properties": {"x": {"$ref": "#/$defs/x"}, "string": {"type": "object", "properties": {}}},
            "required": ["x", "string"], "$defs": {"x": {"items": {"anyOf": [{"const": value}, {"$ref": "#/$defs/x"}]}}}})
    };
    let mut builder = Builder::with_letter(letter(GrammarStyle::LlamaCpp));
    let names = [1, 2, 1].map(|value| builder.add_schema("tool", &tool(value)).unwrap());
    assert_eq!(names[0], names[2]);
    assert_ne!(names[0], names[1]);
    assert!(
        builder
            .add_schema(
                "bad",
                &json!({"properties": {"a": {}, "b": {"pattern": "^($"}}})
            )
            .is_err()
    );
    builder.add_rule(
        "root",
        Rule::sequence([Rule::reference(&*names[0]), Rule::reference(&*names[1])]),
    );
    let grammar = builder.finish();
    assert!(
        !grammar.text.contains("bad"),
        "nothing stays of a schema that was refused\n{}",
        grammar.text
    );
    let recogniser = Recogniser::new(&grammar.text).unwrap();
    let call = |value: &str| format!("{{\"x\":{value},\"string\":{{}}}}");
    assert!(recogniser.accepts(&(call("[1,[1]]") + &call("[[2]]"))));
    assert!(!recogniser.accepts(&(call("[1,[2]]") + &call("[[2]]"))));
    assert!(!recogniser.accepts(&(call("[1]") + &call("[1]"))));
}

#[test]
fn a_part_of_a_schema_keeps_its_references() {
    let root = json!({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"const": 7}}});
    let mut builder = Builder::with_letter(letter(GrammarStyle::LlamaCpp));
    let rule = builder
        .add_schema_within(
            "argument",
            &root["properties"]["a"],
            &root,
            Undeclared::Allowed,
        )
        .unwrap();
    builder.add_rule("root", Rule::Reference(rule));
    assert!(
        Recogniser::new(&builder.finish().text)
            .unwrap()
            .accepts("7")
    );
}

fn deep(depth: usize) -> Value {
    (0..depth).fold(json!({"type": "null"}), |inner, _| {
        Value::Object(Map::from_iter([("items".to_owned(), inner)]))
    })
}

/// Runs on a stack as small as hosts' threads may have.
fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn hostile_schemas_end() {
    // Values that are nested so deeply need more stack than that to be dropped.
    let reader = std::thread::Builder::new().stack_size(64 << 20).spawn(|| {
        let very_deep = deep(10_000);
        std::thread::scope(|scope| {
            let small = std::thread::Builder::new().stack_size(1 << 20);
            let small = small.spawn_scoped(scope, || {
                assert!(
                    from_json_schema(&very_deep)
                        .unwrap_err()
                        .message()
                        .contains("nested")
                );
                assert!(
                    Builder::with_letter(letter(GrammarStyle::LlamaCpp))
                        .add_schema_within(
                            "a",
                            &json!({"const": 1}),
                            &very_deep,
                            Undeclared::Allowed
                        )
                        .is_ok()
                );
            });
            small.unwrap().join().unwrap();
        });
    });
    reader.unwrap().join().unwrap();
    on_a_small_stack(move || {
        assert!(
            Recogniser::new(&grammar(&deep(128)).text)
                .unwrap()
                .accepts("[[[]]]")
        );

        let wide: Map<String, Value> = (0..50_000)
            .map(|i| (format!("p{i}"), json!({"type": "string"})))
            .collect();
        let text = grammar(&json!({"properties": wide})).text;
        assert!(text.len() < 20_000_000);
        let names: Map<String, Value> = (0..20_000)
            .map(|i| ("é".repeat(1 + i % 7) + &"ü".repeat(i / 7), json!({})))
            .collect();
        drop(from_json_schema(
            &json!({"properties": names.into_iter().take(5_000).collect::<Map<_, _>>()}),
        ));

        // A long chain of references, each in a property of the one before.
        let chain: Map<String, Value> = (0..5_000)
            .map(|i| {
                (
                    format!("d{i}"),
                    json!({"properties": {"x": {"$ref": format!("#/$defs/d{}", i + 1)}}}),
                )
            })
            .chain([("d5000".to_owned(), json!({"const": 1}))])
            .collect();
        assert!(from_json_schema(&json!({"$ref": "#/$defs/d0", "$defs": chain})).is_ok());
        let chain: Map<String, Value> = (0..5_000)
            .map(|i| {
                (format!("d{i}"), json!({"properties": {"x": {"allOf": [{"$ref": format!("#/$defs/d{}", i + 1)}]}}}))
            })
            .chain([("d5000".to_owned(), json!({"const": 1}))])
            .collect();
        drop(from_json_schema(
            &json!({"$ref": "#/$defs/d0", "$defs": chain}),
        ));

        // Twice as much on every level.
        let double: Map<String, Value> = (0..60)
            .map(|i| {
                let next = json!({"allOf": [{"$ref": format!("#/$defs/d{}", i + 1)}]});
                (
                    format!("d{i}"),
                    json!({"properties": {"x": next, "y": next}}),
                )
            })
            .chain([("d60".to_owned(), json!({"properties": {}}))])
            .collect();
        let error = from_json_schema(&json!({"$ref": "#/$defs/d0", "$defs": double})).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        let types = (0..40).fold(
            json!({}),
            |inner, _| json!({"type": ["array", "array", "array"], "items": inner}),
        );
        assert_eq!(
            from_json_schema(&types).unwrap_err().kind(),
            ErrorKind::Limit
        );

        for pattern in [
            "(".repeat(100_000),
            "(a*)*".repeat(10_000),
            "(?:a|a)+".repeat(5_000),
            "[".repeat(100_000),
        ] {
            drop(from_json_schema(
                &json!({"pattern": format!("^{pattern}$")}),
            ));
        }
        let nested = format!("^{}a{}$", "(".repeat(100), ")*".repeat(100));
        drop(
            from_json_schema(&json!({"pattern": nested}))
                .map(|grammar| Recogniser::new(&grammar.text).is_ok()),
        );
    });
}

#[test]
fn walks_are_allowed_and_are_json() {
    for schema in [
        json!({}),
        json!({"type": "object", "properties": {"a": {"type": "integer", "minimum": -5, "maximum": 1234},
            "b": {"enum": ["x\"", 1.5]}, "c": {"items": {"format": "date-time"}, "maxItems": 3}},
            "required": ["b"], "additionalProperties": {"type": "number"}}),
        json!({"anyOf": [{"type": "string", "minLength": 2}, {"prefixItems": [{"format": "uuid"}, {}]}]}),
    ] {
        let recogniser = Recogniser::new(&grammar(&schema).text).unwrap();
        let mut walk = Walk::new(&recogniser, 7);
        for _ in 0..200 {
            let text = walk.text(200).unwrap();
            assert!(recogniser.accepts(&text), "{text}");
        }
    }
    let recogniser = Recogniser::new("root ::= \"a\" root").unwrap();
    assert_eq!(Walk::new(&recogniser, 1).text(10), None);
}
