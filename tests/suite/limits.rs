//! Bounds. The first tests are what is known to bring such libraries down, by number, each on a
//! stack as small as hosts' threads may have: it ends with an error, or with all of the text. The
//! others are the bounds themselves, at their edges.

use std::fs;
use std::path::Path;

use chatparse::grammar::{Recogniser, from_json_schema};
use chatparse::internals::grammar::schema;
use chatparse::internals::limits;
use chatparse::{
    ChatTemplate, EndedBy, Error, ErrorKind, Parser, Request, Result, Status, builtin,
};
use serde_json::{Value, json};

/// Unoptimized code has frames many times the size.
const STACK: usize = if cfg!(debug_assertions) {
    8 << 20
} else {
    1 << 20
};

fn on_a_small_stack<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        thread.spawn_scoped(scope, run).unwrap().join().unwrap()
    })
}

#[track_caller]
fn fails<T>(result: Result<T>, kind: ErrorKind) -> Error {
    let Err(error) = result else {
        panic!("no error")
    };
    assert_eq!(error.kind(), kind, "{error}");
    error
}

fn request(more: Value) -> Request {
    let mut body =
        json!({"messages": [{"role": "user", "content": "Hi"}], "reasoning_format": "auto"});
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    Request::from_json(&body).unwrap()
}

fn tool(parameters: Value) -> Value {
    json!([{"type": "function", "function": {"name": "f", "parameters": parameters}}])
}

fn render(source: &str) -> Result<String> {
    let template = ChatTemplate::new(source, "", "")?;
    template.caps();
    template.layout();
    Ok(template
        .params(&request(json!({"tools": tool(json!({}))})))?
        .prompt)
}

#[test]
fn hostile_1_tools_of_three_thousand_brackets() {
    on_a_small_stack(|| {
        for (end, kind) in [
            (String::new(), ErrorKind::InvalidArgument),
            ("]".repeat(3_000), ErrorKind::Limit),
        ] {
            let body = format!(r#"{{"messages": [], "tools": {}{end}}}"#, "[".repeat(3_000));
            fails(Request::from_text(&body), kind);
        }
    });
}

#[test]
fn hostile_2_schemas_ten_thousand_deep() {
    on_a_small_stack(|| {
        for (open, close) in [
            ("{\"items\":", "}"),
            ("{\"properties\":{\"a\":", "}}"),
            ("{\"anyOf\":[", "]}"),
        ] {
            let text = format!("{}{{}}{}", open.repeat(10_000), close.repeat(10_000));
            fails(schema::from_text(&text), ErrorKind::Limit);
            let body = format!(
                r#"{{"messages": [], "tools": [{{"type": "function", "function": {{"name": "f", "parameters": {text}}}}}]}}"#
            );
            fails(Request::from_text(&body), ErrorKind::Limit);
        }
        // As deep without nesting.
        let rules = (0..10_000).map(|n| {
            (
                format!("d{n}"),
                json!({"items": {"$ref": format!("#/$defs/d{}", n + 1)}}),
            )
        });
        let mut rules: serde_json::Map<String, Value> = rules.collect();
        rules.insert("d10000".to_owned(), json!({"type": "null"}));
        let schema = json!({"$ref": "#/$defs/d0", "$defs": rules});
        let grammar = Recogniser::new(&from_json_schema(&schema).unwrap().text).unwrap();
        assert!(grammar.accepts("[]") && grammar.prefix(&"[".repeat(500)));
    });
}

#[test]
fn deep_arguments_are_not_wrong() {
    on_a_small_stack(|| {
        let template = ChatTemplate::builtin("json-call").unwrap();
        let params = template
            .params(&request(json!({"tools": tool(json!({"type": "object"}))})))
            .unwrap();
        let read = |value: &str| {
            let output = format!(
                "<tool_call>\n{{\"name\": \"f\", \"arguments\": {{\"a\": {value}}}}}\n</tool_call>"
            );
            let ended = params.parser.read(output.as_bytes(), EndedBy::Model);
            (
                ended.status,
                ended.calls().to_vec(),
                ended.diagnostics().len(),
            )
        };
        let deep = |depth: usize| format!("{}\"]\"{}", "[".repeat(depth), "]".repeat(depth));
        for depth in [10, 126, 127, 128, 5_000] {
            let (status, calls, diagnostics) = read(&deep(depth));
            assert_eq!(
                (status, calls.len(), diagnostics),
                (Status::Complete, 1, 0),
                "{depth} levels"
            );
            assert!(
                calls[0].complete && calls[0].known && calls[0].valid,
                "{depth} levels"
            );
        }
    });
}

#[test]
fn hostile_3_a_macro_that_calls_itself() {
    on_a_small_stack(|| {
        fails(
            render("{% macro x() %}{{ x() }}{% endmacro %}{{ x() }}"),
            ErrorKind::Limit,
        );
    });
}

#[test]
fn hostile_4_closing_parentheses_without_end() {
    on_a_small_stack(|| {
        let closing = ")".repeat(150);
        fails(
            render(&format!("{{{{ 1{closing} }}}}")),
            ErrorKind::Template,
        );
        assert!(
            render(&format!(
                "{{{{ '{closing}' }}}}{{{{ messages[0].content }}}}"
            ))
            .unwrap()
            .contains(&closing)
        );
        fails(
            from_json_schema(&json!({"type": "string", "pattern": format!("^{closing}$")})),
            ErrorKind::Schema,
        );
        fails(
            Recogniser::new(&format!("root ::= \"a\"{closing}")),
            ErrorKind::InvalidArgument,
        );
        for name in builtin::names() {
            let template = ChatTemplate::builtin(name).unwrap();
            let params = template
                .params(&request(json!({"tools": tool(json!({}))})))
                .unwrap();
            let (message, _) = params.parser.parse(closing.as_bytes(), EndedBy::Model);
            assert_eq!(
                message.reasoning_content + &message.content,
                closing,
                "{name}"
            );
        }
    });
}

#[test]
fn hostile_5_a_loop_that_makes_a_gigabyte() {
    on_a_small_stack(|| {
        let request = request(json!({}));
        for (count, text) in [(10_000, "'x' * 100000"), (100_000_000, "'0123456789'")] {
            let source = format!("{{% for a in range({count}) %}}{{{{ {text} }}}}{{% endfor %}}");
            let template = ChatTemplate::new(&source, "", "").unwrap();
            fails(template.prompt(&request), ErrorKind::Limit);
        }
    });
}

#[test]
fn hostile_6_a_stored_parser_whose_child_is_itself() {
    on_a_small_stack(|| {
        for node in [
            json!({"atomic": 0}),
            json!({"sequence": [0]}),
            json!({"repeat": [0, 0, null]}),
            json!({"not": 0}),
        ] {
            let format = json!({"root": 0, "nodes": [node], "schemas": []});
            let text = json!({"chatparse_parser": 1, "prefill": "", "format": format}).to_string();
            let error = fails(Parser::from_text(&text), ErrorKind::InvalidArgument);
            assert!(error.message().contains("node 0"), "{error}");
        }
        let nodes = json!([{"ref": "a"}, {"rule": {"name": "a", "child": 0, "trigger": false}}]);
        let format = json!({"root": 1, "nodes": nodes, "schemas": []});
        let text = json!({"chatparse_parser": 1, "prefill": "", "format": format}).to_string();
        assert!(
            fails(Parser::from_text(&text), ErrorKind::InvalidArgument)
                .message()
                .contains("left recursion")
        );
    });
}

#[test]
fn hostile_7_a_grammar_of_sixty_thousand_levels() {
    on_a_small_stack(|| {
        let groups = format!("root ::= {}\"a\"{}", "(".repeat(60_000), ")".repeat(60_000));
        fails(Recogniser::new(&groups), ErrorKind::Limit);
        fails(
            Recogniser::new(&format!("root ::= {}", "(".repeat(60_000))),
            ErrorKind::Limit,
        );
        let repeated = format!("root ::= {}\"a\"{}", "(".repeat(200), "){9}".repeat(200));
        // A rule for each: as many letters as atoms in the world, and few parts.
        assert!(Recogniser::new(&repeated).unwrap().prefix("aaa"));
    });
}

#[test]
fn hostile_8_half_a_megabyte_of_what_almost_fits() {
    // Unoptimized code gets a tenth.
    let size = if cfg!(debug_assertions) {
        52_000
    } else {
        520_000
    };
    let parts = [
        "[",
        "{",
        "<",
        "<think>",
        "</think",
        "a</think",
        "<|channel|>",
        "[{\"",
        "{\"a\":",
        "\\",
        "\"",
        "\u{1F600}",
        "<function=f>",
        "<parameter=x>",
        "[f(x=[",
        "]<]minimax[>[<tool_call>",
        "<|tool_call_start|>[f(",
        "<tool_call>",
        "<tool_call>\n",
        "<tool_call>\n{\"name\": \"f\", \"arguments\": {",
    ];
    let parameters =
        json!({"properties": {"a": {}, "x": {"type": "string"}, "y": {"type": "array"}}});
    for name in builtin::names() {
        let template = ChatTemplate::builtin(name).unwrap();
        let params = template
            .params(&request(json!({"tools": tool(parameters.clone())})))
            .unwrap();
        on_a_small_stack(|| {
            // No field keeps them.
            for markup in ["</think>", "\n"] {
                params.parser.parse(
                    markup.repeat(size / markup.len()).as_bytes(),
                    EndedBy::Model,
                );
            }
            for part in parts {
                let output = part.repeat(size / part.len());
                let (message, status) = params.parser.parse(output.as_bytes(), EndedBy::Model);
                let arguments: usize = message
                    .tool_calls
                    .iter()
                    .map(|call| call.arguments.len())
                    .sum();
                let kept = message.content.len() + message.reasoning_content.len() + arguments;
                // What is markup of a call that broke off.
                let markup = message.tool_calls.len() * part.len();
                assert!(
                    kept + markup + 100 > output.len(),
                    "{name}, {part:?}: {kept} of {} bytes, {status:?}",
                    output.len()
                );
                assert!(
                    status != Status::Complete || kept <= output.len() + 100,
                    "{name}, {part:?}"
                );
            }
        });
    }
}

#[test]
fn templates_up_to_their_bounds() {
    let nested = |open: &str, close: &str, depth: usize| {
        format!("{{{{ {}1{} }}}}", open.repeat(depth), close.repeat(depth))
    };
    let elifs = |count: usize| format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(count));
    for (fits, too_much) in [
        (
            "x".repeat(limits::TEMPLATE_BYTES),
            "x".repeat(limits::TEMPLATE_BYTES + 1),
        ),
        (
            nested("[", "]", limits::EXPRESSION_BRACKETS / 4),
            nested("(", ")", limits::EXPRESSION_BRACKETS + 1),
        ),
        (elifs(limits::OPEN_ELIFS), elifs(limits::OPEN_ELIFS + 1)),
        (
            format!(
                "{{{{ bos_token{} }}}}",
                "|trim".repeat(limits::EXPRESSION_HEIGHT / 2)
            ),
            format!(
                "{{{{ bos_token{} }}}}",
                "|trim".repeat(limits::EXPRESSION_HEIGHT + 1)
            ),
        ),
    ] {
        ChatTemplate::new(&fits, "", "").unwrap_or_else(|error| panic!("{}: {error}", &fits[..20]));
        let error = ChatTemplate::new(&too_much, "", "")
            .err()
            .unwrap_or_else(|| panic!("{}: no error", &too_much[..20]));
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    }
    let request = request(json!({}));
    let long =
        |bytes: usize| ChatTemplate::new(&format!("{{{{ 'x' * {bytes} }}}}"), "", "").unwrap();
    assert_eq!(
        long(limits::PROMPT_BYTES).prompt(&request).unwrap().len(),
        limits::PROMPT_BYTES
    );
    fails(
        long(limits::PROMPT_BYTES + 1).prompt(&request),
        ErrorKind::Limit,
    );
}

#[test]
fn schemas_and_grammars_up_to_their_bounds() {
    let many =
        |count: usize| from_json_schema(&json!({"anyOf": vec![json!({"type": "null"}); count]}));
    assert!(many(limits::SCHEMA_NODES / 2).is_ok());
    fails(many(limits::SCHEMA_NODES + 1), ErrorKind::Limit);
    let groups = |depth: usize| {
        Recogniser::new(&format!(
            "root ::= {}\"a\"{}",
            "(".repeat(depth),
            ")".repeat(depth)
        ))
    };
    assert!(groups(limits::GBNF_DEPTH - 1).is_ok());
    fails(groups(limits::GBNF_DEPTH + 1), ErrorKind::Limit);
    let times = |count: u64| Recogniser::new(&format!("root ::= \"a\"{{{count}}}"));
    assert!(times(limits::GBNF_REPETITIONS).is_ok());
    fails(
        times(limits::GBNF_REPETITIONS + 1),
        ErrorKind::InvalidArgument,
    );
}

#[test]
fn a_limit_that_tools_reach_names_them() {
    let tool = |index: usize| json!({"type": "function", "function": {"name": format!("f{index}"), "parameters": {}}});
    let tools: Vec<Value> = (0..100_000).map(tool).collect();
    let error = fails(
        ChatTemplate::builtin("json-call")
            .unwrap()
            .params(&request(json!({"tools": tools}))),
        ErrorKind::Limit,
    );
    assert!(error.message().starts_with("tools: "), "{error}");
}

#[test]
fn every_bound_is_used() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join("src"), root.join("crates")];
    let mut code = String::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && !path.ends_with("limits.rs")
            {
                code += &fs::read_to_string(path).unwrap();
            }
        }
    }
    let bounds = fs::read_to_string(root.join("crates/base/src/limits.rs")).unwrap();
    let names = bounds
        .lines()
        .filter_map(|line| line.strip_prefix("pub const ")?.split(':').next());
    let unused: Vec<&str> = names.filter(|name| !code.contains(name)).collect();
    assert!(unused.is_empty(), "{unused:?}");
}
