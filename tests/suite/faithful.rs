//! Faithful grammars of JSON schemas: what they allow and refuse, and what the report says of the
//! rest.

use chatparse::grammar::{Dialect, FidelityKind, Grammar, Recogniser, from_json_schema, valid};
use chatparse::internals::grammar::Walk;
use chatparse::internals::grammar::{Builder, Rule, Undeclared};
use chatparse::{ChatTemplate, EndedBy, ErrorKind, Request};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn grammar(schema: &Value) -> Grammar {
    from_json_schema(schema).unwrap_or_else(|error| panic!("{schema}: {error}"))
}

/// Checks what the grammar of `schema` allows and refuses.
#[track_caller]
fn judges(schema: Value, yes: &[&str], no: &[&str]) {
    let grammar = grammar(&schema);
    let recogniser =
        Recogniser::new(&grammar.text).unwrap_or_else(|error| panic!("{error}\n{}", grammar.text));
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

/// Checks that the report has an entry of this kind at this place.
#[track_caller]
fn tells(schema: Value, kind: FidelityKind, pointer: &str) {
    let report = grammar(&schema).report;
    let found = report
        .iter()
        .any(|entry| entry.kind == kind && entry.pointer == pointer);
    assert!(
        found,
        "{schema}: no {} at {pointer} in {report:?}",
        kind.name()
    );
}

#[test]
fn properties_stand_in_their_order() {
    let schema = json!({"type": "object", "additionalProperties": false, "required": ["b"], "properties": {
        "a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"type": "integer"},
    }});
    let yes = [
        r#"{"b": 1}"#,
        r#"{"a":1,"b":1}"#,
        r#"{"a": 1, "b": 1, "c": 1}"#,
        "{\n  \"b\": 1,\n  \"c\": 1\n}",
    ];
    judges(
        schema.clone(),
        &yes,
        &[
            "{}",
            r#"{"a":1}"#,
            r#"{"b":1,"a":1}"#,
            r#"{"b":1,"z":1}"#,
            r#"{"b":"x"}"#,
        ],
    );
    tells(schema, FidelityKind::Narrowed, "#/properties");
    let optional =
        json!({"properties": {"a": {}, "b": {}}, "additionalProperties": false, "type": "object"});
    judges(
        optional,
        &["{}", r#"{"a":1}"#, r#"{"b":1}"#, r#"{"a":1,"b":[]}"#],
        &["1", r#"{,"a":1}"#, r#"{"a":1,}"#],
    );
}

#[test]
fn other_properties_are_what_the_schema_says() {
    let open = json!({"type": "object", "properties": {"ab": {"type": "integer"}}});
    judges(
        open,
        &[
            r#"{"z":"x"}"#,
            r#"{"z":1,"ab":1,"a":"x","abc":2}"#,
            r#"{"ac":[]}"#,
        ],
        &[r#"{"ab":"x"}"#],
    );
    let typed = json!({"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "integer"}});
    judges(
        typed,
        &[r#"{"a":"x","b":1}"#, r#"{"é":1}"#],
        &[r#"{"b":"x"}"#],
    );
    let patterns = json!({"type": "object", "properties": {"ax": {}}, "patternProperties": {"^a": {"type": "integer"}},
        "additionalProperties": false});
    judges(
        patterns,
        &[r#"{"ax":2,"ab":1}"#, "{}"],
        &[r#"{"ax":"x"}"#, r#"{"b":1}"#, r#"{"ab":"x"}"#],
    );
    let both = json!({"type": "object", "patternProperties": {"^a": {"type": "integer"}, "z$": {"type": "null"}}});
    judges(
        both,
        &[r#"{"ab":1,"xz":null,"q":"x"}"#],
        &[r#"{"ab":null}"#, r#"{"xz":1}"#],
    );
    let names = json!({"type": "object", "propertyNames": {"pattern": "^[a-z]{2}$"}});
    judges(names, &[r#"{"ab":1}"#], &[r#"{"abc":1}"#, r#"{"A":1}"#]);
    let undeclared = json!({"type": "object", "properties": {"a": {}}, "required": ["a", "b"]});
    judges(undeclared, &[r#"{"a":1,"b":1}"#], &[r#"{"a":1}"#]);
    let false_one = json!({"type": "object", "properties": {"a": false}});
    judges(false_one, &["{}", r#"{"b":1}"#], &[r#"{"a":1}"#]);
}

#[test]
fn how_many_properties_there_are_is_counted() {
    let some = json!({"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": false, "minProperties": 1});
    judges(some, &[r#"{"a":1}"#, r#"{"b":1}"#], &["{}"]);
    let two = json!({"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "minProperties": 2, "maxProperties": 2});
    let yes = [r#"{"a":1,"c":1}"#, r#"{"b":1,"z":1}"#, r#"{"y":1,"z":1}"#];
    judges(
        two,
        &yes,
        &[
            "{}",
            r#"{"a":1}"#,
            r#"{"a":1,"b":1,"c":1}"#,
            r#"{"x":1,"y":1,"z":1}"#,
        ],
    );
    judges(
        json!({"type": "object", "maxProperties": 1}),
        &["{}", r#"{"a":1}"#],
        &[r#"{"a":1,"b":1}"#],
    );
}

#[test]
fn schemas_hold_together() {
    let merged = json!({"allOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"type": "object"}]});
    judges(
        merged,
        &[r#"{"a":1}"#, r#"{"a":1,"z":1}"#],
        &["{}", r#"{"a":"x"}"#, "1"],
    );
    judges(
        json!({"allOf": [{"type": "string"}, {"minLength": 2}]}),
        &[r#""ab""#],
        &[r#""a""#, "12"],
    );
    let beside = json!({"$defs": {"a": {"properties": {"a": {"type": "integer"}}}}, "$ref": "#/$defs/a", "type": "object",
        "properties": {"b": {"const": 1}}});
    judges(
        beside,
        &[r#"{"a":1,"b":1}"#],
        &[r#"{"a":"x"}"#, r#"{"b":2}"#],
    );
    let branches = json!({"type": "object", "properties": {"k": {"const": "x"}}, "anyOf": [{"required": ["k"]},
        {"properties": {"a": {"const": 1}}, "required": ["a"], "additionalProperties": false}]});
    judges(
        branches,
        &[r#"{"k":"x"}"#, r#"{"a":1}"#],
        &["{}", r#"{"k":"y"}"#],
    );
    let one =
        json!({"oneOf": [{"type": "integer", "minimum": 0}, {"type": "integer", "maximum": 9}]});
    judges(one, &["-1", "10"], &["0", "9", "\"a\""]);
    let apart = json!({"oneOf": [{"type": "integer"}, {"type": "string"}]});
    assert!(grammar(&apart).report.is_empty());
    judges(
        json!({"enum": ["a", "bb", 3], "type": "string", "maxLength": 1}),
        &[r#""a""#],
        &[r#""bb""#, "3"],
    );
    judges(
        json!({"not": {"type": "string"}}),
        &["1", "null"],
        &[r#""a""#],
    );
    judges(
        json!({"type": "string", "not": {"enum": ["a"]}}),
        &[r#""b""#, r#""aa""#],
        &[r#""a""#],
    );
    let without = json!({"type": "object", "not": {"required": ["a"]}});
    judges(without, &[r#"{"b":1}"#], &[r#"{"a":1}"#]);
}

#[test]
fn references() {
    let tree = json!({"type": "object", "properties": {"c": {"$ref": "#"}}, "additionalProperties": false});
    judges(tree, &[r#"{"c":{"c":{}}}"#], &[r#"{"c":1}"#]);
    let anchor = json!({"$defs": {"x": {"$anchor": "n", "type": "integer"}}, "$ref": "#n"});
    judges(anchor, &["1"], &[r#""a""#]);
    let id = json!({"$id": "http://x.y/root.json", "$ref": "item.json", "$defs": {"a": {"$id": "item.json", "$ref": "#/$defs/b",
        "$defs": {"b": {"type": "null"}}}}});
    judges(id, &["null"], &["1"]);
    judges(
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"const": 1}]}}}),
        &["1"],
        &[],
    );
    judges(
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a", "type": "null",
        "definitions": {"a": {"type": "integer"}}}),
        &["1"],
        &["null"],
    );
    assert!(
        from_json_schema(&json!({"$ref": "#/nowhere"}))
            .unwrap_err()
            .message()
            .contains("nowhere")
    );
    judges(
        json!({"$ref": "http://elsewhere.org/x"}),
        &["1", "{}"],
        &["x"],
    );
    tells(
        json!({"$ref": "http://elsewhere.org/x"}),
        FidelityKind::Widened,
        "#/$ref",
    );
}

#[test]
fn dynamic_references_lead_to_the_outermost_schema_of_that_name() {
    let tree = json!({"$id": "tree", "$dynamicAnchor": "node", "type": "object", "additionalProperties": {"$dynamicRef": "#node"}});
    let strict = json!({"$id": "http://x.y/strict", "$dynamicAnchor": "node", "$ref": "tree", "maxProperties": 1, "$defs": {"t": tree}});
    judges(
        strict,
        &["{}", r#"{"a":{"b":{}}}"#],
        &[r#"{"a":1}"#, r#"{"a":{"b":{},"c":{}}}"#],
    );
    judges(tree, &[r#"{"a":{"b":{},"c":{}}}"#], &[r#"{"a":1}"#]);
    let marked = json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "$id": "http://x.y/s", "$recursiveAnchor": true,
        "type": "array", "items": {"$recursiveRef": "#"}});
    judges(marked, &["[[],[[]]]"], &["[1]"]);
}

/// What a keyword means, and whether there is one, is a matter of the draft.
#[test]
fn keywords_are_those_of_the_draft() {
    let draft = |name: &str, mut schema: Value| {
        schema["$schema"] = name.into();
        schema
    };
    let (three, four) = (
        "http://json-schema.org/draft-03/schema#",
        "http://json-schema.org/draft-04/schema#",
    );
    let required = json!({"type": "object", "properties": {"a": {"required": true}}, "extends": {"properties": {"b": {"type": "null"}}}});
    judges(
        draft(three, required),
        &[r#"{"a":1}"#],
        &["{}", r#"{"a":1,"b":1}"#],
    );
    judges(
        draft(three, json!({"type": "integer", "divisibleBy": 2})),
        &["4"],
        &["5"],
    );
    tells(
        draft(three, json!({"disallow": "string"})),
        FidelityKind::Widened,
        "#/disallow",
    );
    tells(
        draft(three, json!({"type": ["string", {"minimum": 3}]})),
        FidelityKind::Widened,
        "#/type",
    );
    let constant = draft(four, json!({"const": 1}));
    judges(constant.clone(), &["1", "2"], &[]);
    tells(constant, FidelityKind::Widened, "#/const");
    let old = json!({"definitions": {"a": {"id": "#n", "type": "null"}}, "items": {"$ref": "#n"}, "type": "array"});
    judges(draft(four, old), &["[null]"], &["[1]"]);
    // A schema without an identifier is of its document's draft, in conditions as elsewhere.
    let inner = json!({"$schema": four, "if": {"required": ["a"]}, "then": {"required": ["b"]}});
    judges(
        json!({"type": "object", "allOf": [inner]}),
        &["{}", r#"{"a":1,"b":1}"#],
        &[r#"{"a":1}"#],
    );
}

#[test]
fn what_is_no_schema_is_refused() {
    for (schema, place) in [
        (json!({"properties": {"a": 5}}), "#/properties/a"),
        (json!({"items": "x"}), "#/items"),
        (json!({"prefixItems": [{}, 1]}), "#/prefixItems/1"),
        (json!({"type": "object", "allOf": [{}, null]}), "#/allOf/1"),
        (json!({"anyOf": [{"type": "null"}, []]}), "#/anyOf/1"),
        (
            json!({"$defs": {"a": 1}, "items": {"$ref": "#/$defs/a"}}),
            "#/$defs/a",
        ),
    ] {
        let error = from_json_schema(&schema).expect_err(place);
        assert!(
            error
                .message()
                .contains(&format!("at {place}: a schema must be an object")),
            "{error}"
        );
    }
}

#[test]
fn arrays() {
    let tuple = json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": {"type": "null"}});
    judges(
        tuple,
        &["[]", r#"["a"]"#, r#"["a",1]"#, r#"["a", 1, null, null]"#],
        &["[1]", r#"["a",1,2]"#],
    );
    let closed = json!({"type": "array", "items": [{"const": 1}, {"const": 2}], "additionalItems": false, "minItems": 1});
    judges(closed, &["[1]", "[1,2]"], &["[]", "[1,2,3]", "[2]"]);
    judges(
        json!({"type": "array", "minItems": 2, "maxItems": 3}),
        &["[1,2]", "[1,2,3]"],
        &["[1]", "[1,2,3,4]"],
    );
    judges(
        json!({"type": "array", "contains": {"const": 7}}),
        &["[7]", "[1,7,2]"],
        &["[]", "[1]"],
    );
    let few = json!({"type": "array", "contains": {"type": "integer", "minimum": 5}, "minContains": 2, "maxContains": 3});
    judges(
        few,
        &["[5,6]", r#"[1,5,"a",6,7,null]"#],
        &["[]", "[5]", "[5,6,7,8]", "[5,1,1]"],
    );
    judges(
        json!({"type": "array", "contains": {}, "maxContains": 1}),
        &["[1]"],
        &["[]", "[1,1]"],
    );
    judges(
        json!({"type": "array", "contains": {}, "minContains": 0}),
        &["[]", "[1]"],
        &[],
    );
    judges(json!({"type": "array", "items": false}), &["[]"], &["[1]"]);
    let once = json!({"type": "array", "items": {"enum": ["a", 1, 1.0]}, "uniqueItems": true, "minItems": 1});
    judges(
        once,
        &["[1]", r#"["a",1.0]"#, r#"[1,"a"]"#],
        &["[]", "[1,1]", "[1,1.0]", r#"["a","a"]"#],
    );
    tells(
        json!({"type": "array", "items": {"enum": [1, 2, 3, 4, 5, 6, 7]}, "uniqueItems": true}),
        FidelityKind::Widened,
        "#/uniqueItems",
    );
    tells(
        json!({"type": "array", "uniqueItems": true}),
        FidelityKind::Widened,
        "#/uniqueItems",
    );
    let long: Vec<Value> = (0..100).map(|i| json!({"const": i})).collect();
    let text: Vec<String> = (0..100).map(|i| i.to_string()).collect();
    judges(
        json!({"type": "array", "prefixItems": long}),
        &[&format!("[{}]", text.join(",")), "[0]"],
        &["[1]"],
    );
}

#[test]
fn strings() {
    judges(
        json!({"type": "string", "pattern": "^\\d{3}$"}),
        &[r#""123""#],
        &[r#""12""#, r#""abc""#],
    );
    judges(
        json!({"type": "string", "pattern": "abc"}),
        &[r#""xabcy""#],
        &[r#""ab""#],
    );
    judges(
        json!({"type": "string", "pattern": "^a|b$"}),
        &[r#""axx""#, r#""xb""#],
        &[r#""xax""#],
    );
    judges(
        json!({"type": "string", "pattern": "^(.*)$"}),
        &[r#""x\"y""#, r#""é😀""#],
        &["\"x\"y\"", r#""\x""#],
    );
    judges(
        json!({"type": "string", "pattern": "^[^;]*$"}),
        &[r#""a\n""#, r#""\u00e9""#],
        &[r#""a;""#, r#""\u003b""#, "\"\n\""],
    );
    judges(
        json!({"type": "string", "pattern": "^a\"b$"}),
        &[r#""a\"b""#],
        &[r#""a"b""#],
    );
    judges(
        json!({"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 3}),
        &[r#""ab""#, r#""abc""#],
        &[r#""a""#, r#""abcd""#],
    );
    judges(
        json!({"type": "string", "pattern": "^(ab|c)*$", "maxLength": 3}),
        &[r#""abc""#, r#""""#],
        &[r#""abab""#],
    );
    judges(
        json!({"type": "string", "pattern": "^(?!x)[a-z]+$"}),
        &[r#""ax""#],
        &[r#""xa""#],
    );
    judges(
        json!({"type": "string", "minLength": 1}),
        &[r#""\/""#, "\"\u{7f}\""],
        &[r#""""#],
    );
    judges(
        json!({"type": "string", "format": "date"}),
        &[r#""2024-02-29""#],
        &[r#""2022-02-31""#, r#""x""#],
    );
    judges(
        json!({"format": "email"}),
        &[r#""a@b.c""#, "1"],
        &[r#""no mail""#],
    );
    tells(
        json!({"type": "string", "pattern": "^\\p{L}$"}),
        FidelityKind::Widened,
        "#/pattern",
    );
    assert_eq!(
        from_json_schema(&json!({"pattern": "("}))
            .unwrap_err()
            .kind(),
        ErrorKind::Schema
    );
}

#[test]
fn numbers() {
    judges(
        json!({"type": "number"}),
        &["1e-06", "12345678901234567890", "0.12345678901234567", "-0"],
        &["01", ".5", "1."],
    );
    judges(
        json!({"type": "number", "minimum": 0}),
        &["0", "1.5", "1e-06"],
        &["-1"],
    );
    judges(
        json!({"type": "integer", "minimum": 100, "maximum": 250}),
        &["100", "199", "250"],
        &["99", "251", "1000"],
    );
    judges(
        json!({"type": "number", "exclusiveMinimum": 1.5}),
        &["1.51", "2"],
        &["1.5", "1"],
    );
    judges(
        json!({"type": "integer", "multipleOf": 5}),
        &["0", "-15", "100"],
        &["3", "51"],
    );
    judges(
        json!({"type": "number", "minimum": 2, "exclusiveMinimum": true}),
        &["2.1"],
        &["2"],
    );
    tells(
        json!({"type": "number", "minimum": 1}),
        FidelityKind::Narrowed,
        "#",
    );
}

#[test]
fn listed_values() {
    judges(
        json!({"enum": ["ab", "abc", "b", 1, null, {"a": [1]}]}),
        &[r#""ab""#, r#""abc""#, "1", "null", r#"{ "a": [1] }"#],
        &[r#""a""#, "2"],
    );
    // Values that begin alike share their beginning.
    let values: Vec<String> = (0..500).map(|i| format!("a-long-beginning-{i}")).collect();
    let text = grammar(&json!({"enum": values})).text;
    assert_eq!(text.matches("a-long-beginning-").count(), 1, "{text}");
}

#[test]
fn a_tools_arguments_are_those_that_it_declares() {
    let parameters = json!({"type": "object", "properties": {"a": {"properties": {"b": {}}, "type": "object"}, "m": {"type": "object"}}});
    let mut builder = Builder::new();
    let rule = builder
        .add_schema_within("f", &parameters, &parameters, Undeclared::LeftOut)
        .unwrap();
    builder.add_rule("root", Rule::Reference(rule));
    let grammar = builder.finish();
    let recogniser = Recogniser::new(&grammar.text).unwrap();
    assert!(recogniser.accepts(r#"{"a":{"b":1},"m":{"x":1}}"#));
    assert!(!recogniser.accepts(r#"{"z":1}"#) && !recogniser.accepts(r#"{"a":{"z":1}}"#));
    let closed: Vec<&str> = grammar
        .report
        .iter()
        .filter(|entry| entry.message.contains("left out"))
        .map(|entry| &*entry.pointer)
        .collect();
    assert_eq!(closed, ["#/properties", "#/properties/a/properties"]);
}

#[test]
fn arguments_in_a_string_hold_to_their_schema() {
    let source = "{%- if tools -%}{{ tools|tojson }}{%- endif -%}{%- for m in messages -%}<|{{ m.role }}|>{%- for c in m.tool_calls -%}\
        {%- set a = c.function.arguments -%}<call>{\"name\": \"{{ c.function.name }}\", \"arguments\": \
        {{ (a if a is string else a|tojson)|tojson }}}</call>{%- endfor -%}{{ m.content }}<|end|>{%- endfor -%}\
        {%- if add_generation_prompt -%}<|assistant|>{%- endif -%}";
    let properties = json!({"city": {"type": "string"}, "days": {"type": "integer", "maximum": 9}});
    let parameters = json!({"type": "object", "properties": properties, "required": ["city"]});
    let tool = json!({"type": "function", "function": {"name": "look", "parameters": parameters}});
    let body = json!({"messages": [{"role": "user", "content": "Hi"}], "tools": [tool], "tool_choice": "required"});
    let request = Request::from_json(&body).unwrap();
    let params = ChatTemplate::new(source, "", "")
        .unwrap()
        .params(&request)
        .unwrap();
    let recogniser = Recogniser::new(&params.grammar().text).unwrap();
    assert!(
        params
            .grammar()
            .report
            .iter()
            .all(|entry| entry.kind != FidelityKind::Widened)
    );
    for (arguments, allowed) in [
        (
            json!({"city": "a \"quote\", a \\, é and\n😀", "days": 3}),
            true,
        ),
        (json!({"city": ""}), true),
        (json!({"city": 3}), false),
        (json!({"city": "", "days": 10}), false),
        (json!({"days": 3}), false),
        (json!("city"), false),
    ] {
        let arguments = arguments.to_string();
        let output = format!(
            r#"<call>{{"name": "look", "arguments": {}}}</call>"#,
            json!(arguments)
        );
        let text = format!("{}{output}", params.parser.prefill());
        assert_eq!(
            recogniser.accepts(&text),
            allowed,
            "{text}\n{}",
            params.grammar().text
        );
        let read = params
            .parser
            .read(output.as_bytes(), EndedBy::Model)
            .message;
        assert!(
            !allowed || read.tool_calls[0].arguments == arguments,
            "{read:?}"
        );
    }
    assert!(!recogniser.accepts(&format!(
        r#"{}<call>{{"name": "look", "arguments": "x"}}</call>"#,
        params.parser.prefill()
    )));
}

#[test]
fn what_depends_on_the_value_is_a_choice() {
    let object = |fields: Value| {
        let mut schema = json!({"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "additionalProperties": false});
        schema
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().cloned().unwrap());
        schema
    };
    let (needs, lacks) = (
        [r#"{"b":1}"#, r#"{"a":1,"b":1}"#, "{}"],
        [r#"{"a":1}"#, r#"{"a":1,"c":1}"#],
    );
    judges(
        object(json!({"dependencies": {"a": ["b"]}})),
        &needs,
        &lacks,
    );
    judges(
        object(json!({"dependentRequired": {"a": ["b"]}})),
        &needs,
        &lacks,
    );
    judges(
        object(json!({"dependentSchemas": {"a": {"required": ["b"]}}})),
        &needs,
        &lacks,
    );
    judges(
        object(json!({"dependentSchemas": {"a": false}})),
        &["{}", r#"{"b":1}"#],
        &[r#"{"a":1}"#],
    );
    let kind = json!({"if": {"properties": {"a": {"const": "x"}}, "required": ["a"]}, "then": {"required": ["b"]},
        "else": {"required": ["c"]}});
    judges(
        object(kind),
        &[r#"{"a":"x","b":1}"#, r#"{"a":"y","c":1}"#, r#"{"c":1}"#],
        &[r#"{"a":"x"}"#, "{}", r#"{"b":1}"#],
    );
    let number =
        json!({"if": {"exclusiveMaximum": 0}, "else": {"multipleOf": 2}, "type": "integer"});
    judges(number, &["-1", "2", "0"], &["1", "3"]);
    let text = json!({"if": {"pattern": "^a"}, "then": {"pattern": "z$"}, "type": "string"});
    judges(text, &[r#""az""#, r#""b""#, r#""""#], &[r#""ab""#]);
    judges(
        json!({"not": {"enum": ["a", true, null]}}),
        &["1", "false", r#""b""#, "[]"],
        &[r#""a""#, "true", "null"],
    );
    judges(
        json!({"not": {"type": "object", "properties": {"a": {"type": "string"}}}}),
        &["1", r#"{"a":1}"#],
        &["{}"],
    );
    let either = json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
    judges(
        object(either),
        &[r#"{"a":1}"#, r#"{"b":1,"c":1}"#],
        &["{}", r#"{"a":1,"b":1}"#],
    );
    for schema in [
        object(json!({"dependentRequired": {"a": ["b"]}})),
        json!({"not": {"enum": ["a", true, null]}}),
    ] {
        let report = grammar(&schema).report;
        assert!(
            report
                .iter()
                .all(|entry| entry.kind == FidelityKind::Narrowed),
            "{schema}: {report:?}"
        );
    }
}

#[test]
fn what_is_not_evaluated_is_what_nothing_beside_describes() {
    let both = json!({"type": "object", "properties": {"a": {}}, "allOf": [{"properties": {"b": {}}}],
        "unevaluatedProperties": {"type": "integer"}});
    judges(
        both,
        &[r#"{"a":"x","b":"y"}"#, r#"{"z":1}"#],
        &[r#"{"z":"x"}"#],
    );
    let cousin = json!({"type": "object", "allOf": [{"properties": {"a": {}}, "unevaluatedProperties": false}],
        "properties": {"b": {}}});
    judges(cousin, &[r#"{"a":1}"#, "{}"], &[r#"{"b":1}"#, r#"{"z":1}"#]);
    let chosen = json!({"type": "object", "unevaluatedProperties": false, "if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
        "then": {"properties": {"b": {}}}, "else": {"properties": {"c": {}}}});
    judges(
        chosen,
        &[r#"{"a":1,"b":2}"#, r#"{"c":2}"#],
        &[r#"{"a":1,"c":2}"#, r#"{"a":2}"#, r#"{"b":2}"#],
    );
    let items = json!({"type": "array", "prefixItems": [{}], "allOf": [{"prefixItems": [{}, {"type": "null"}]}], "unevaluatedItems": false});
    judges(items, &["[1,null]", "[1]"], &["[1,null,2]", "[1,2]"]);
    tells(
        json!({"type": "object", "anyOf": [{"properties": {"a": {}}}], "unevaluatedProperties": false}),
        FidelityKind::Narrowed,
        "#/unevaluatedProperties",
    );
}

#[test]
fn what_no_rule_follows_is_told() {
    for (schema, pointer) in [
        (
            json!({"if": {"format": "date"}, "then": {"minLength": 2}}),
            "#/if",
        ),
        (
            json!({"if": {"format": "date"}, "then": {"minLength": 2}, "else": {"minLength": 3}}),
            "#/if",
        ),
        (json!({"not": {"format": "date"}}), "#/not"),
        (
            json!({"oneOf": [{"format": "date"}, {"format": "time"}]}),
            "#/oneOf",
        ),
        (
            json!({"type": "array", "contains": {"format": "date"}, "maxContains": 1}),
            "#/contains",
        ),
        (
            json!({"type": "array", "contains": {"const": 1}, "maxItems": 3}),
            "#/contains",
        ),
        (
            json!({"type": "array", "contains": {"const": 1}, "unevaluatedItems": false}),
            "#/unevaluatedItems",
        ),
        (
            json!({"type": "object", "if": {"required": ["a"]}, "unevaluatedProperties": false}),
            "#/unevaluatedProperties",
        ),
        (json!({"$dynamicRef": "#x"}), "#/$dynamicRef"),
    ] {
        tells(schema, FidelityKind::Widened, pointer);
    }
    for (schema, pointer) in [
        (json!({"type": "null", "minimum": 3}), ""),
        (json!({"type": "integer", "title": "x"}), ""),
    ] {
        assert!(grammar(&schema).report.is_empty(), "{schema}{pointer}");
    }
}

#[test]
fn walks_are_valid() {
    for schema in [
        json!({"type": "object", "properties": {"a": {"type": "integer", "minimum": -5, "maximum": 1234},
            "b": {"enum": ["x\"", 1.5]}, "c": {"type": "array", "items": {"format": "date-time", "type": "string"}, "maxItems": 3}},
            "required": ["b"], "additionalProperties": {"type": "number", "multipleOf": 0.25}}),
        json!({"type": "array", "items": {"type": "string", "pattern": "[^a]\\w+|^x$", "maxLength": 9}, "minItems": 1}),
        json!({"anyOf": [{"type": "object", "minProperties": 1}, {"type": "array", "contains": {"const": 1}}]}),
    ] {
        let recogniser = Recogniser::new(&grammar(&schema).text).unwrap();
        let mut walk = Walk::new(&recogniser, 7);
        for _ in 0..100 {
            let text = walk.text(200).expect("some text is allowed");
            let value: Value = serde_json::from_str(&text)
                .unwrap_or_else(|error| panic!("{schema}: {error}: {text}"));
            assert_eq!(valid::check(&schema, &value), [], "{schema}: {text}");
        }
    }
}

/// Parts that most patterns are made of.
const PARTS: &[&str] = &[
    "a", "b", " ", "\\n", "^", "$", "\\b", "\\B", ".", "(", "(", ")", ")", "|", "*", "+", "?",
    "{1,2}", "{2}", "[^a]", "[a-b]", "\\w", "\\S", "(?=b)", "(?!a)", "\u{2028}",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Where nothing is reported, the grammar allows the texts that are valid, and no other.
    #[test]
    fn grammars_and_validation_agree_on_patterns(
        parts in prop::collection::vec(prop::sample::select(PARTS), 1..9),
        texts in prop::collection::vec("[ab \n\u{2028}]{0,4}", 8),
    ) {
        let schema = json!({"type": "string", "pattern": parts.concat()});
        let Ok(grammar) = from_json_schema(&schema) else { return Ok(()) };
        if !grammar.report.is_empty() {
            return Ok(());
        }
        let recogniser = Recogniser::new(&grammar.text).unwrap();
        for text in texts {
            let valid = valid::check(&schema, &json!(text)).is_empty();
            prop_assert_eq!(recogniser.accepts(&json!(text).to_string()), valid, "{}: {:?}\n{}", schema, text, grammar.text);
        }
    }
}

#[test]
fn hostile_schemas_end() {
    let deep =
        |depth: usize| (0..depth).fold(json!({"type": "null"}), |inner, _| json!({"items": inner}));
    assert!(
        Recogniser::new(&grammar(&deep(100)).text)
            .unwrap()
            .accepts("[[[]]]")
    );
    // Numbers that no type of ours holds.
    for number in [
        "1e999999999",
        "-1e9223372036854775807",
        "1e-9223372036854775808",
        "0.1e99999999999999999999",
    ] {
        for key in [
            "minimum",
            "maximum",
            "multipleOf",
            "const",
            "exclusiveMinimum",
        ] {
            let schema =
                chatparse::message::number::read(&format!("{{\"{key}\": {number}}}")).unwrap();
            drop(from_json_schema(&schema));
        }
    }
    assert!(
        from_json_schema(&deep(300))
            .unwrap_err()
            .message()
            .contains("nested")
    );
    let wide: Map<String, Value> = (0..20_000)
        .map(|i| (format!("p{i}"), json!({"type": "string"})))
        .collect();
    assert!(grammar(&json!({"properties": wide})).text.len() < 20_000_000);
    let names: Map<String, Value> = (0..3_000)
        .map(|i| (format!("{}", 7919 * i), json!({})))
        .collect();
    Recogniser::new(&grammar(&json!({"properties": names})).text).expect("engines can read it");
    let parts: Vec<Value> = (0..20_000)
        .map(|i| json!({"properties": {format!("p{i}"): {}}}))
        .collect();
    drop(from_json_schema(&json!({"allOf": parts})));
    let parts: Vec<Value> = (0..20_000)
        .map(|_| json!({"properties": {"a": {"$ref": "#/$defs/x"}, "b": {"minLength": 1}}}))
        .collect();
    drop(from_json_schema(
        &json!({"allOf": parts, "$defs": {"x": {"type": "string"}}}),
    ));
    let choices: Vec<Value> = (0..60)
        .map(|i| json!({"anyOf": [{"minLength": i}, {"maxLength": 2 * i}, {"type": "null"}]}))
        .collect();
    tells(
        json!({"allOf": choices}),
        FidelityKind::Widened,
        "#/allOf/6/anyOf",
    );
    let patterns: Map<String, Value> = (0..2_000)
        .map(|i| (format!("a{i}.*b{i}"), json!({})))
        .collect();
    tells(
        json!({"patternProperties": patterns}),
        FidelityKind::Widened,
        "#/patternProperties",
    );
    for key in [
        "minProperties",
        "maxProperties",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
    ] {
        let grammar = grammar(&json!({key: 1_000_000_000}));
        Recogniser::new(&grammar.text)
            .unwrap_or_else(|error| panic!("{key}: {error}\n{}", grammar.text));
        assert!(
            grammar
                .report
                .iter()
                .any(|entry| entry.pointer == format!("#/{key}")),
            "{key}: {:?}",
            grammar.report
        );
    }
    let chain: Map<String, Value> = (0..5_000)
        .map(|i| {
            (
                format!("d{i}"),
                json!({"properties": {"x": {"allOf": [{"$ref": format!("#/$defs/d{}", i + 1)}]}}}),
            )
        })
        .chain([("d5000".to_owned(), json!({"const": 1}))])
        .collect();
    assert!(from_json_schema(&json!({"$ref": "#/$defs/d0", "$defs": chain})).is_ok());
    for pattern in [
        "(".repeat(100_000),
        "(a*)*".repeat(3_000),
        "(?:a|a)+".repeat(1_000),
        "(.*a.{30})+".to_owned(),
    ] {
        drop(from_json_schema(
            &json!({"type": "string", "minLength": 40, "pattern": format!("^{pattern}$")}),
        ));
    }
    let enumerated: Vec<String> = (0..3_000).map(|i| "a".repeat(i)).collect();
    drop(grammar(&json!({"enum": enumerated})));
}

#[test]
fn listed_values_may_nest() {
    for depth in [20, 33, 40, 100] {
        let value = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let schema: Value = serde_json::from_str(&format!("{{\"const\": {value}}}")).unwrap();
        judges(
            schema,
            &[&value, &value.replacen('[', "[ ", 1)],
            &["1", "[]", &value[1..value.len() - 1]],
        );
        let listed: Value =
            serde_json::from_str(&format!("{{\"enum\": [2, {{\"a\": {value}}}]}}")).unwrap();
        judges(listed, &["2", &format!("{{\"a\":{value}}}")], &[&value]);
    }
}

#[test]
fn a_name_that_is_excluded_excludes_no_escapes() {
    let escaped = [
        r#"{"\"":1}"#,
        r#"{"\\":1}"#,
        r#"{"\n":1}"#,
        r#"{"\u0001":1}"#,
        r#"{"\u001fc":1}"#,
        "{}",
    ];
    for schema in [
        json!({"type": "object", "properties": {"c": false}}),
        json!({"type": "object", "dependentSchemas": {"c": false}}),
    ] {
        judges(schema, &escaped, &[r#"{"c":1}"#]);
    }
    let more = json!({"type": "object", "properties": {"ab": false}});
    judges(
        more,
        &[r#"{"a\n":1}"#, r#"{"a":1}"#, r#"{"ab\n":1}"#],
        &[r#"{"ab":1}"#],
    );
    let own = json!({"type": "object", "properties": {"\n": false}});
    judges(
        own,
        &[r#"{"\t":1}"#, r#"{"\"":1}"#, r#"{"n":1}"#],
        &[r#"{"\n":1}"#, r#"{"\u000a":1}"#],
    );
}

#[test]
fn characters_that_patterns_escape() {
    let schema = json!({"type": "string", "pattern": r"\cA[\b]\x41\u0041"});
    judges(
        schema,
        &[r#""\u0001\bAA""#, r#""x\u0001\bAAy""#],
        &[r#""AA""#],
    );
}

#[test]
fn numbers_of_any_length_are_exact() {
    let long: Value = chatparse::message::number::read(
        r#"{"enum": [12345678901234567890123, 1e400, {"a": -1e-400}]}"#,
    )
    .unwrap();
    let yes = ["12345678901234567890123", "1e400", r#"{"a": -1e-400}"#];
    judges(
        long,
        &yes,
        &[
            "12345678901234567890124",
            "1e401",
            "1.2345678901234568e+22",
            "{}",
        ],
    );
}

/// The schemas of README's table, in words of our own. Each makes llama-server refuse a whole
/// request.
#[test]
fn tools_that_stop_llama_server_are_constrained() {
    let tool = |name: &str, key: &str, schema: Value| {
        let parameters = json!({"type": "object", "properties": {key: schema}, "required": [key]});
        json!({"type": "function", "function": {"name": name, "parameters": parameters}})
    };
    let mail = r"^(?!-)(?!.*--)[a-z0-9-]+@([a-z0-9]+\.)+[a-z]{2,}$";
    let hints =
        json!({"type": "object", "properties": {"hint": {"type": "string", "maxLength": 10_000}}});
    let tools = json!([
        tool(
            "invite",
            "address",
            json!({"type": "string", "pattern": mail})
        ),
        tool(
            "crawl",
            "pages",
            json!({"type": "array", "maxItems": 100, "items": hints})
        ),
        tool(
            "purge",
            "ids",
            json!({"type": "array", "items": {"type": "string", "pattern": r"^(\d+|box:[\w-]+)$"}})
        ),
        tool("find", "label", json!({"type": "string", "pattern": r"\S"})),
    ]);
    let cases = [
        ("invite", "address", json!("ann-lee@example.org"), true),
        ("invite", "address", json!("ann--lee@example.org"), false),
        ("invite", "address", json!("-ann@example.org"), false),
        (
            "crawl",
            "pages",
            json!([{"hint": "x".repeat(9_000)}, {"hint": "y"}]),
            true,
        ),
        ("crawl", "pages", json!([{"hint": 1}]), false),
        ("purge", "ids", json!(["12", "box:a-1"]), true),
        ("purge", "ids", json!(["12", "tin:a-1"]), false),
        ("find", "label", json!(" a "), true),
        ("find", "label", json!("  "), false),
    ];
    for name in ["json-call", "qwen3-coder"] {
        let template = ChatTemplate::builtin(name).unwrap();
        let messages = json!([{"role": "user", "content": "Hi"}]);
        let choice =
            json!({"tool_choice": "required", "enable_thinking": false, "json_spacing": "free"});
        let mut body = json!({"messages": messages, "tools": tools});
        body.as_object_mut()
            .unwrap()
            .extend(choice.as_object().unwrap().clone());
        let params = template
            .params(&Request::from_json(&body).unwrap())
            .unwrap();
        for dialect in [Dialect::PortableGbnf, Dialect::Lark, Dialect::StructuralTag] {
            params
                .grammar_as(dialect)
                .unwrap_or_else(|error| panic!("{name}, {}: {error}", dialect.name()));
        }
        let grammar = params.grammar();
        let start = params.matcher().unwrap();
        for (tool, key, value, fits) in &cases {
            let raw = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            let call = match name {
                "json-call" => {
                    format!("{{\"name\": \"{tool}\", \"arguments\": {{\"{key}\": {value}}}}}")
                }
                _ => format!(
                    "<function={tool}>\n<parameter={key}>\n{raw}\n</parameter>\n</function>"
                ),
            };
            let output = format!("<tool_call>\n{call}\n</tool_call>");
            let mut matcher = start.clone();
            let allowed =
                matcher.feed(output.as_bytes()).unwrap() == output.len() && matcher.may_end();
            assert_eq!(allowed, *fits, "{name}: {output:.200}\n{}", grammar.text);
        }
        let told = |pointer: &str| {
            grammar
                .report
                .iter()
                .any(|entry| entry.pointer.ends_with(pointer))
        };
        assert!(told("/hint/maxLength"), "{:?}", grammar.report);
    }
}
