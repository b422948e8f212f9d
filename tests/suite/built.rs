//! Formats that are put together by hand: what they show as a tree, their grammars, and calls in a
//! described turn.

use chatparse::expr::{Arena, Builder, Notation, Outcome, Region, SchemaRef};
use chatparse::grammar::{FidelityKind, Recogniser};
use chatparse::internals::grammar::from_arena;
use chatparse::{EndedBy, ErrorKind, Parser, Status};
use serde_json::{Value, json};

fn request(more: &str) -> Value {
    let parameters = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}});
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": parameters}});
    let mut body = json!({"messages": [], "tools": [tool], "tool_choice": "required", "parallel_tool_calls": true});
    body["tool_choice"] = more.into();
    body
}

/// Calls as the turn writes them, after text without a bracket.
fn parser(request: &Value, turn: &Value) -> chatparse::Result<Parser> {
    let calls = json!({"calls": {"request": request, "turn": turn}});
    let root = json!({"sequence": [{"until": ["["]}, calls, "end"]});
    Parser::from_text(&json!({"format": {"root": root}}).to_string())
}

fn turn(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn described_turns_read_calls() {
    let calls = |written: &str, output: &str| -> Vec<String> {
        let ended = parser(&request("required"), &turn(written))
            .unwrap()
            .read(output.as_bytes(), EndedBy::Model);
        ended.strict(EndedBy::Model).unwrap();
        ended
            .message
            .tool_calls
            .iter()
            .map(|call| format!("{} {} {}", call.id, call.name, call.arguments))
            .collect()
    };
    let json = r#"{"edges": [["prompt", "[c][{", "call"], ["call", ", {", "call"], ["call", "]", "end"]], "calls": [
        [[{"glue": "\"id\": \""}, "id", {"glue": "\", \"fn\": \""}, "name", {"glue": "\", \"in\": "},
            {"arguments": {"quoted": false}}], "}"],
        {"pieces": [{"glue": "\"fn\": \""}, "name", {"glue": "\", \"in\": "}, {"arguments": {"quoted": false}}],
            "close": "}"}]}"#;
    let output = r#"[c][{"id": "1", "fn": "f", "in": {"a": 1}}, {"fn": "f", "in": {}}]"#;
    assert_eq!(calls(json, output), [r#"1 f {"a": 1}"#, " f {}"]);
    let tagged = r#"{"edges": [["prompt", "[<", "call"], ["call", "<", "call"], ["call", "]", "end"]], "calls": [
        {"pieces": ["name", {"members": {"first": ">(", "next": "(",
            "slots": [[["text", "integer"], {"open": "=", "close": ")"}]]}}], "close": "</>"},
        {"pieces": ["name"], "close": "></>"}]}"#;
    assert_eq!(
        calls(tagged, "[<f>(b=x)(a=1)</><f></>]"),
        [r#" f {"b":"x","a":1}"#, " f {}"]
    );
    let with_json = r#"{"edges": [["prompt", "[", "call"]],
        "calls": [{"pieces": ["name", {"glue": "]"}, {"arguments": {"quoted": false}}], "close": "[/]"}]}"#;
    assert_eq!(calls(with_json, r#"[f]{"a": 1}[/]"#), [r#" f {"a": 1}"#]);
    let python = r#"{"edges": [["prompt", "[", "call"], ["call", ", ", "call"], ["call", "]", "end"]], "calls": [
        {"pieces": ["name", {"members": {"first": "(", "next": ", ",
            "slots": [[["text", "integer"], {"open": "=", "encoding": "quoted"}]]}}], "close": ")"}]}"#;
    assert_eq!(
        calls(python, "[f(a=1), f(b='x')]"),
        [r#" f {"a":1}"#, r#" f {"b":"x"}"#]
    );
}

#[test]
fn what_a_template_was_learnt_to_write_describes_calls() {
    let template = chatparse::ChatTemplate::builtin("json-call").unwrap();
    let turn = &template.report(chatparse::ReportKind::Layout)["turn"];
    let calls = r#"<tool_call>
{"name": "f", "arguments": {"a": 1}}
</tool_call>"#;
    let format = json!({"root": {"calls": {"request": request("required"), "turn": turn}}});
    let parser = Parser::from_text(&json!({"format": format}).to_string()).unwrap();
    let (message, status) = parser.parse(calls.as_bytes(), EndedBy::Model);
    assert_eq!(status, Status::Complete);
    assert_eq!(
        (
            &*message.tool_calls[0].name,
            &*message.tool_calls[0].arguments
        ),
        ("f", r#"{"a": 1}"#)
    );
}

#[test]
fn calls_that_nobody_may_make_are_nothing() {
    let written = r#"{"edges": [["prompt", "[{\"name\": \"", "call"]], "calls": [
        {"pieces": ["name", {"glue": "\", \"arguments\": "}, {"arguments": {"quoted": false}}], "close": "}"}]}"#;
    let parser = parser(&request("none"), &turn(written)).unwrap();
    let (_, status) = parser.parse(b"text", EndedBy::Model);
    assert_eq!(status, Status::Complete);
    let (_, status) = parser.parse(br#"[{"name": "f", "arguments": {}}"#, EndedBy::Model);
    assert_ne!(status, Status::Complete);
}

#[test]
fn turns_of_another_shape_are_refused() {
    for (written, says) in [
        ("7", "turn: must be an object, not integer `7`"),
        ("{}", "turn.calls: missing"),
        (r#"{"calls": []}"#, "turn.calls: missing"),
        (
            r#"{"calls": [{"pieces": ["nam"]}]}"#,
            "turn: must be one of `glue`, `name`,",
        ),
        (
            r#"{"calls": [{"pieces": ["name"]}], "edges": [["front", "", "call"]]}"#,
            "`call`, `end`, not `front`",
        ),
        (
            r#"{"calls": [{"pieces": ["name"]}], "edge": []}"#,
            "`hides_last_calls`, not `edge`",
        ),
    ] {
        let error = parser(&request("auto"), &turn(written)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains(says), "{written}: {error}");
    }
    let calls = vec![r#"{"pieces": ["name"]}"#; 65].join(", ");
    let error = parser(
        &request("auto"),
        &turn(&format!("{{\"calls\": [{calls}]}}")),
    )
    .unwrap_err();
    assert!(error.message().contains("more than 64 parts"), "{error}");
}

fn text_of(arena: &Arena) -> String {
    let grammar = from_arena(arena, false, None);
    assert!(grammar.report.is_empty(), "{:?}", grammar.report);
    grammar.text
}

#[test]
fn grammars_have_the_names_and_classes_of_llama_cpp() {
    let p = Builder::new();
    let text = p.until("<-");
    let odd = p.one_of(&[('^', '^'), ('a', 'z'), ('é', 'é'), ('😀', '😀'), ('-', '-')]);
    let root = p.sequence([
        text,
        p.literal("<-"),
        p.repeat(odd, 2, Some(2)),
        p.repeat(p.any(), 1, Some(1)),
    ]);
    let grammar = text_of(&p.finish(root));
    for line in [
        "root ::= u-fan \"<-\" [\\x5Ea-z\\xE9\\U0001F600-]{2} .\n",
        "p-fan ::= \"<\" (p-fan | [^\\x2D<] u-fan)?\n",
        "u-fan ::= [^<]* p-fan?\n",
    ] {
        assert!(grammar.contains(line), "{line}{grammar}");
    }
}

#[test]
fn rules_of_texts_and_of_formats_may_have_one_name() {
    for text_first in [true, false] {
        let p = Builder::new();
        let own = p.rule("u-fan", p.literal("x"));
        let text = p.sequence([p.until("<-"), p.literal("<-")]);
        let root = p.sequence(if text_first { [text, own] } else { [own, text] });
        let grammar = text_of(&p.finish(root));
        let recogniser = Recogniser::new(&grammar).unwrap();
        let (right, wrong) = if text_first {
            ("ab<-x", "ab<-ab")
        } else {
            ("xab<-", "abab<-")
        };
        assert!(
            recogniser.accepts(right) && !recogniser.accepts(wrong),
            "{grammar}"
        );
    }
}

#[test]
fn grammars_have_what_their_author_wrote() {
    let p = Builder::new();
    let digit = p.one_of(&[('0', '9')]);
    let schema = |kind: &str| SchemaRef::from(json!({"type": kind, "minLength": 1}));
    let parts = [
        p.gbnf(digit, "[1-3] | x"),
        p.gbnf(digit, ""),
        p.rule("x", p.literal("x")),
        p.schema(
            p.some(digit),
            "text",
            schema("string"),
            Notation::JsonOrChild,
        ),
        p.repeat(p.gbnf(digit, "[7] [8]"), 0, None),
        p.start(),
    ];
    let grammar = text_of(&p.finish(p.sequence(parts)));
    assert!(
        grammar.contains("root ::= ([1-3] | x) x [0-9]+ ([7] [8])*\n"),
        "{grammar}"
    );

    // Where it is no GBNF, as a stored format may have it, the expression speaks.
    let p = Builder::new();
    let grammar = from_arena(&p.finish(p.gbnf(p.literal("y"), "(")), false, None);
    assert!(
        grammar.text.contains("root ::= \"y\"\n"),
        "{}",
        grammar.text
    );
    assert_eq!(grammar.report[0].kind, FidelityKind::Refused);
}

#[test]
fn lists_in_lists_are_one_list_until_they_are_long() {
    let p = Builder::new();
    let [a, b, c] = ["a", "b", "c"].map(|text| p.literal(text));
    let grammar = text_of(&p.finish(p.choice([p.choice([p.choice([]), a]), p.choice([b, c])])));
    assert!(
        grammar.contains("root ::= \"a\" | \"b\" | \"c\"\n"),
        "{grammar}"
    );

    // Twice the list on each level: shared, or it would not fit in memory.
    let p = Builder::new();
    let mut twice = p.literal("a");
    for _ in 0..100 {
        twice = p.sequence([twice, twice]);
    }
    let error = Parser::new(p.finish(twice), "").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
fn text_that_ends_with_a_marker_needs_one() {
    let p = Builder::new();
    let text = p.excluding(p.sequence([p.until("<x>"), p.literal("<x>")]), ["<x>"]);
    let stored = Parser::new(p.finish(text), "").unwrap().to_text();
    assert!(Parser::from_text(&stored).is_ok());
    let none = stored.replacen(
        "\"excluding\":[2,[[\"<x>\"],[]]]",
        "\"excluding\":[2,[[],[]]]",
        1,
    );
    assert_ne!(none, stored);
    let error = Parser::from_text(&none).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("no markers"), "{error}");
}

#[test]
fn labels_outlive_the_process_and_are_counted() {
    let p = Builder::new();
    let word = p.labelled("word", p.some(p.one_of(&[('a', 'z')]))).unwrap();
    let parser = Parser::new(p.finish(p.rule("line", p.sequence([word, p.end()]))), "").unwrap();
    let again = Parser::from_text(&parser.to_text()).unwrap();
    for parser in [parser, again] {
        let tree = parser.tree(b"ab", 0, EndedBy::Model).unwrap();
        assert_eq!(
            (tree.outcome, tree.nodes[0].region.clone()),
            (Outcome::Matched, Region::Rule("line".into()))
        );
        let Region::Tag(tag) = tree.nodes[1].region else {
            panic!("no tag")
        };
        assert_eq!(parser.label(tag), Some("word"));
        let json = parser.tree_json(b"ab", 0, EndedBy::Model).unwrap();
        assert_eq!(
            json["nodes"][1],
            json!({"tag": "word", "begin": 0, "end": 2, "parent": 0, "partial": false})
        );
        assert!(parser.tagged(b"ab", 0, EndedBy::Model).message.is_empty());
        assert_eq!(
            parser.tagged(b"7", 0, EndedBy::Model).status,
            Status::Recovered
        );
    }

    let p = Builder::new();
    let empty = p.empty();
    let labels = (0..)
        .take_while(|n| p.labelled(&n.to_string(), empty).is_some())
        .count();
    assert!((500..5000).contains(&labels), "{labels}");
    assert!(p.labelled("0", empty).is_some());
    let text = Parser::new(p.finish(empty), "").unwrap().to_text();
    for (from, to) in [
        ("\"0\"", "\"1\""),
        ("\"labels\":[", "\"labels\":[\"one more\","),
    ] {
        let error = Parser::from_text(&text.replacen(from, to, 1)).unwrap_err();
        assert!(error.message().contains("label"), "{error}");
    }
}
