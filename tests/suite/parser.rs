//! Parsers as text: what is read is what was written, and text from anywhere is safe to read.

use std::collections::BTreeMap;

use chatparse::grammar::Recogniser;
use chatparse::internals::peg::program_of;
use chatparse::{ChatTemplate, EndedBy, ErrorKind, Parser, Request, Status, builtin};
use serde_json::{Value, json};

const REQUEST: &str = r##"{
    "messages": [{"role": "user", "content": "Hi"}],
    "reasoning_format": "auto",
    "tools": [{"type": "function", "function": {"name": "get", "parameters": {"type": "object", "properties": {
        "key": {"$ref": "#/$defs/key"}, "n": {"type": "integer"}}, "$defs": {"key": {"type": "string"}}}}}]
}"##;

/// The rules by their names, in any order, without rules that only name another one: a linked
/// grammar has none.
fn rules(text: &str) -> BTreeMap<String, String> {
    let mut rules: BTreeMap<String, String> = BTreeMap::new();
    for line in text.lines() {
        let (name, body) = line.split_once(" ::= ").expect("a line is a rule");
        rules.insert(name.to_owned(), body.to_owned());
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
    while let Some((alias, target)) = rules
        .iter()
        .find(|(name, body)| *name != "root" && rules.contains_key(*body))
        .map(|(a, b)| (a.clone(), b.clone()))
    {
        rules.remove(&alias);
        for body in rules.values_mut() {
            let mut pieces = Vec::new();
            for piece in body.split_inclusive(|c| !is_name(c)) {
                let word = piece.trim_end_matches(|c| !is_name(c));
                pieces.push(if word == alias {
                    piece.replacen(word, &target, 1)
                } else {
                    piece.to_owned()
                });
            }
            *body = pieces.concat();
        }
    }
    rules
}

#[test]
fn a_parser_outlives_its_process() {
    for name in builtin::names() {
        let params = ChatTemplate::builtin(name)
            .unwrap()
            .params(&Request::from_text(REQUEST).unwrap())
            .unwrap();
        let text = params.parser.to_text();
        let read = Parser::from_text(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(read.prefill(), params.generation_prompt, "{name}");
        for lazy in [false, true] {
            let [own, again] = [&params.parser, &read].map(|parser| parser.grammar(lazy));
            assert_eq!(
                own.report, again.report,
                "{name}: the report is another, lazy: {lazy}"
            );
            assert_eq!(
                rules(&own.text),
                rules(&again.text),
                "{name}: the grammar is another, lazy: {lazy}"
            );
        }
        assert_eq!(read.to_text(), text, "{name}");
    }
}

#[test]
fn schemas_are_written_once() {
    let properties = (0..100).map(|n| {
        (
            format!("argument-{n}"),
            json!({"type": "string", "description": "d".repeat(100)}),
        )
    });
    let parameters = json!({"type": "object", "properties": Value::Object(properties.collect())});
    let size = parameters.to_string().len();
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": parameters}});
    let request = json!({"messages": [{"role": "user", "content": "Hi"}], "tools": [tool]});
    let template = ChatTemplate::builtin("tag-arguments").unwrap();
    let text = template
        .params(&Request::from_json(&request).unwrap())
        .unwrap()
        .parser
        .to_text();
    assert!(
        text.len() < 12 * size,
        "{} bytes for a schema of {size}",
        text.len()
    );
}

fn stored(nodes: Value, root: u32) -> String {
    json!({"chatparse_parser": 1, "prefill": "", "format": {"root": root, "nodes": nodes, "schemas": []}}).to_string()
}

#[track_caller]
fn refused(text: &str, kind: ErrorKind, why: &str) {
    let error = Parser::from_text(text).expect_err(why);
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.message().contains(why), "{error}");
}

#[test]
fn what_no_library_wrote_is_refused() {
    use ErrorKind::{InvalidArgument, Limit};
    refused("", InvalidArgument, "not a parser");
    refused("[]", InvalidArgument, "not a parser");
    refused(
        r#"{"chatparse_parser": 2, "prefill": "", "format": null}"#,
        InvalidArgument,
        "version 2",
    );
    refused(
        &stored(json!([{"unheard_of": 1}]), 0),
        InvalidArgument,
        "unheard_of",
    );
    refused(&stored(json!([]), 0), InvalidArgument, "the root");
    refused(
        &stored(json!([{"atomic": 0}]), 0),
        InvalidArgument,
        "node 0 must refer to nodes before it",
    );
    refused(
        &stored(json!(["empty", {"sequence": [0, 7]}]), 1),
        InvalidArgument,
        "node 1",
    );
    refused(
        &stored(json!([{"ref": "nowhere"}]), 0),
        InvalidArgument,
        "nowhere",
    );
    refused(
        &stored(json!([{"string_body": 200}]), 0),
        InvalidArgument,
        "ASCII",
    );
    let dangling = json!(["empty", {"schema": {"child": 0, "name": "n", "schema": {"document": 3, "pointer": ""}, "notation": "json"}}]);
    refused(&stored(dangling, 1), InvalidArgument, "schema");
    let circle = json!([{"ref": "a"}, {"rule": {"name": "a", "child": 0, "trigger": false}}]);
    refused(&stored(circle, 1), InvalidArgument, "left recursion");
    // Not below the root, but a grammar may begin there.
    let circle = json!([{"ref": "a"}, {"rule": {"name": "a", "child": 0, "trigger": true}}, "any"]);
    refused(&stored(circle, 2), InvalidArgument, "left recursion");
    refused(
        &stored(json!(["any", {"repeat": [0, 2, 1]}]), 1),
        InvalidArgument,
        "at least 2 and at most 1",
    );

    let mut deep = vec![json!("any")];
    deep.extend((0..100_000).map(|below| json!({"atomic": below})));
    refused(&stored(deep.into(), 100_000), Limit, "deeper");
    let mut wide = vec![json!("any")];
    wide.extend((0..100).map(|below| json!({"sequence": [below, below]})));
    refused(&stored(wide.into(), 100), Limit, "longer");
    let long = json!([{"literal": "x".repeat(100_000)}, {"sequence": vec![0; 1_000]}]);
    refused(&stored(long, 1), Limit, "longer");
}

#[test]
fn a_format_of_the_hosts_own() {
    // Tag 1 is content.
    let nodes = json!([{"until": ["<"]}, {"tag": [1, 0]}, {"literal": "<"}, "end", {"sequence": [1, 2, 3]}]);
    let parser = Parser::from_text(&stored(nodes, 4)).unwrap();
    let (message, status) = parser.parse(b"text<", EndedBy::Model);
    assert_eq!(
        (message.content.as_str(), status),
        ("text", Status::Complete)
    );
    let (message, status) = parser.parse(b"text<more", EndedBy::Model);
    assert_eq!(
        (message.content.as_str(), status),
        ("text<more", Status::Recovered)
    );
}

/// Grammars of formats that no library wrote, with parts that may be nothing: they can be read, and
/// allow what is parsed.
#[test]
fn grammars_of_parts_that_may_be_nothing() {
    let a = json!({"literal": "a"});
    fn unordered<const N: usize>(child: usize, required: [usize; N], optional: &[usize]) -> Value {
        json!({"unordered": [child, {"required": required.to_vec(), "optional": optional, "between": null}]})
    }
    for (nodes, yes, no) in [
        (
            json!([a, {"repeat": [0, 0, 2]}, {"literal": ""}, unordered(0, [0, 1], &[2, 1])]),
            "aaa",
            "b",
        ),
        (
            json!([a, unordered(0, [0; 0], &[0]), {"repeat": [1, 0, null]}, {"sequence": [2, 0]}]),
            "aaa",
            "",
        ),
        (
            json!([a, {"repeat": [0, 0, 1]}, unordered(0, [1, 1], &[0]), {"repeat": [2, 0, null]}]),
            "aaa",
            "b",
        ),
        (
            json!([{"until": [""]}, a, {"choice": [1, 0]}, {"repeat": [2, 0, null]}]),
            "aa",
            "b",
        ),
        (
            json!([a, {"excluding": [0, [["", "b"], []]]}, {"choice": [0, 1]}, {"repeat": [2, 0, null]}]),
            "aa",
            "b",
        ),
        (
            json!([a, "empty", {"choice": [1, 0]}, {"choice": [0, 2, 1]}]),
            "a",
            "b",
        ),
        (
            json!([a, {"rule": {"name": "", "child": 0, "trigger": false}}, {"ref": ""}, {"sequence": [0, 2]}]),
            "aa",
            "b",
        ),
        (
            json!([a, {"string_body": 34}, {"choice": [0, 1]}, {"repeat": [2, 0, null]}]),
            "ab\\n",
            "\"",
        ),
    ] {
        let parser = Parser::from_text(&stored(nodes.clone(), 3))
            .unwrap_or_else(|error| panic!("{nodes}: {error}"));
        let text = parser.grammar(false).text;
        let grammar =
            Recogniser::new(&text).unwrap_or_else(|error| panic!("{nodes}: {error}\n{text}"));
        assert!(grammar.accepts(yes), "{nodes}: {yes:?}\n{text}");
        assert!(!grammar.accepts(no), "{nodes}: {no:?}\n{text}");
    }
}

/// A description: nodes in nodes, names of tags, labels, values and classes.
fn described(root: Value) -> Value {
    json!({"format": {"root": root}})
}

#[test]
fn a_format_is_described_in_one_text() {
    let opening = json!({"sequence": [{"literal": "["}, {"tag": ["tool-name", {"literal": "weather"}]}, {"literal": "]"}]});
    let call = json!({"sequence": [
        {"atomic": {"tag": ["tool-open", opening]}},
        {"tag": ["tool-args", {"schema": {"child": "json", "name": "city", "schema": {"document": {"type": "object"}}}}]},
        {"tag": ["tool-close", {"literal": "[/weather]"}]}]});
    let content = json!({"tag": ["content", {"until": ["[weather]"]}]});
    let root = json!({"sequence": [content, {"repeat": [{"tag": ["whole", call]}, 0, 1]}, "end"]});
    let parser = Parser::from_text(&described(root).to_string()).unwrap();
    let again = Parser::from_text(&parser.to_text()).unwrap();
    assert_eq!(
        (program_of(&again), again.to_text()),
        (program_of(&parser), parser.to_text())
    );
    let output = br#"I look. [weather]{"city": "Oslo"}[/weather]"#;
    let (message, status) = parser.parse(output, EndedBy::Model);
    assert_eq!(
        (message.content.as_str(), status),
        ("I look. ", Status::Complete)
    );
    assert_eq!(
        (
            &*message.tool_calls[0].name,
            &*message.tool_calls[0].arguments
        ),
        ("weather", r#"{"city": "Oslo"}"#)
    );
    let nodes = parser.tree_json(output, 0, EndedBy::Model).unwrap();
    let tags: Vec<&str> = nodes["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|node| node["tag"].as_str())
        .collect();
    assert_eq!(
        tags,
        [
            "content",
            "whole",
            "tool-open",
            "tool-name",
            "tool-args",
            "tool-close"
        ]
    );
    let grammar = Recogniser::new(&parser.grammar(false).text).unwrap();
    assert!(
        grammar.accepts(r#"x[weather]{}[/weather]"#)
            && !grammar.accepts(r#"x[weather][][/weather]"#)
    );
}

#[test]
fn each_kind_of_a_description() {
    let digits = json!({"repeat": [{"char": "[0-9]"}, 1, null]});
    let rules = json!([{"rule": {"name": "r", "child": {"literal": "replaced"}}},
        {"rule": {"name": "r", "child": {"sequence": [{"literal": "("}, {"repeat": [{"ref": "r"}, 0, null]}, {"literal": ")"}]}}}]);
    for (root, good, bad) in [
        (json!({"char": r"[^\x00-\x1F]"}), "a", "\n"),
        (
            json!({"char": {"ranges": [["a", "f"]], "negated": true}}),
            "g",
            "a",
        ),
        (
            json!({"choice": [{"literal": "a"}, "json_number"]}),
            "1.5",
            "b",
        ),
        (json!("json"), r#"{"a": [null]}"#, "'a'"),
        (json!("json_object"), "{}", "[]"),
        (json!("json_array"), "[1]", "{}"),
        (json!("json_string"), r#""x""#, "x"),
        (json!("python"), "{'a': [True, None]}", "true"),
        (json!("python_dict"), "{'a': 1}", "[1]"),
        (json!("python_list"), "[True]", "{}"),
        (json!("python_string"), "'x'", "x"),
        (json!("python_or_json"), "true", "x"),
        (
            json!({"sequence": [{"and": {"literal": "a"}}, {"until": []}]}),
            "ab",
            "b",
        ),
        (
            json!({"sequence": [{"not": {"literal": "a"}}, "any", "space"]}),
            "b ",
            "a",
        ),
        (json!({"gbnf": [digits, "[0-9]+"]}), "42", "x"),
        (
            json!({"excluding": [{"sequence": [{"until": ["b"]}, {"literal": "b"}]}, [["b"], []]]}),
            "ab",
            "ac",
        ),
        // A rule by its index is that of its name: the last.
        (json!(0), "(()(()))", "replaced"),
        (json!({"sequence": ["start", 1]}), "()", "(()"),
    ] {
        let format = json!({"root": {"sequence": [root, "end"]}, "nodes": rules});
        let parser = Parser::from_text(&json!({"format": format}).to_string())
            .unwrap_or_else(|error| panic!("{root}: {error}"));
        let outcome = |text: &str| {
            parser
                .tree_json(text.as_bytes(), 0, EndedBy::Model)
                .unwrap()["outcome"]
                .clone()
        };
        assert_eq!(
            (outcome(good), outcome(bad)),
            (json!("matched"), json!("failed")),
            "{root}"
        );
        assert!(
            Recogniser::new(&parser.grammar(false).text)
                .unwrap()
                .accepts(good),
            "{root}"
        );
    }
}

#[test]
fn what_is_no_description_is_refused() {
    use ErrorKind::{InvalidArgument, Limit};
    for (root, why) in [
        (json!({"char": "[z-a]"}), "node 0"),
        (
            json!({"char": "[a"}),
            "node 0: character class \"[a\": has no end",
        ),
        (json!({"sequence": ["nothing"]}), "nothing"),
        (
            json!({"sequence": "end"}),
            "node 0: must be an array, not string",
        ),
        (
            json!({"rule": ["r", 7, false]}),
            "node 0: must be an object",
        ),
        (json!({"tag": ["content"]}), "node 0: must be an array"),
        (json!({"calls": {"turn": {}}}), "node 0"),
        (
            json!({"schema": {"child": "json", "name": "n", "schema": {"document": 0}}}),
            "schema",
        ),
        (json!(null), "format"),
        (json!(-1), "format"),
    ] {
        refused(&described(root).to_string(), InvalidArgument, why);
    }
    let labels: Vec<Value> = (0..2000)
        .map(|n| json!({"tag": [format!("label {n}"), "empty"]}))
        .collect();
    refused(
        &described(json!({"sequence": labels})).to_string(),
        Limit,
        "label",
    );
}
