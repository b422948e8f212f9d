//! Grammars in other dialects. What the engines themselves make of them checks
//! `judges/dialects.py`; here is what can be seen without.

use std::fs;
use std::path::Path;

use chatparse::chat::Constraint;
use chatparse::grammar::{
    Dialect, FidelityKind, Grammar, Recogniser, Start, Trigger, TriggerKind, from_json_schema,
};
use chatparse::internals::grammar::Walk;
use chatparse::internals::grammar::{Builder, Rule};
use chatparse::{ChatTemplate, Params, Request, builtin};
use serde_json::{Value, json};

const WALKS: usize = 40;
const SIZE: usize = 100;

fn params(template: &ChatTemplate, more: Value) -> Params {
    let mut body = json!({
        "messages": [{"role": "user", "content": "Hi"}],
        "reasoning_format": "auto",
        "tools": [
            {"type": "function", "function": {"name": "get", "parameters": {"type": "object", "properties": {
                "key": {"type": "string"}, "n": {"type": "integer"}, "mode": {"enum": ["fast", "slow"]},
            }, "required": ["key"]}}},
            {"type": "function", "function": {"name": "get_all"}},
        ],
    });
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    template
        .params(&Request::from_json(&body).unwrap())
        .unwrap()
}

fn requests() -> [Value; 4] {
    [
        json!({}),
        json!({"tool_choice": "required"}),
        json!({"parallel_tool_calls": true}),
        json!({"tool_choice": "required", "enable_thinking": false}),
    ]
}

/// What the grammar of a request says of an output, with triggers that are words; `None` where it
/// says nothing.
fn allows(params: &Params, grammar: &Recogniser, output: &str) -> bool {
    match &params.constraint {
        Constraint::Free => true,
        Constraint::Strict(_) => grammar.accepts(&(params.parser.prefill().to_owned() + output)),
        Constraint::Lazy(triggers) => {
            let first = triggers
                .iter()
                .filter_map(|trigger| output.find(&trigger.value))
                .min();
            first.is_none_or(|at| grammar.accepts(&output[at..]))
        }
    }
}

#[test]
fn portable_grammars_of_requests_say_what_grammars_and_triggers_say() {
    for name in builtin::names() {
        let template = ChatTemplate::builtin(name).unwrap();
        for request in requests() {
            let params = params(&template, request.clone());
            let text = params.grammar_as(Dialect::PortableGbnf).unwrap().text;
            if text.is_empty() {
                assert!(params.grammar().text.is_empty());
                continue;
            }
            assert!(
                !text.contains("\\-") && !text.contains("::= |") && !text.contains(" . "),
                "{text}"
            );
            let (whole, portable) = (
                Recogniser::new(&params.grammar().text).unwrap(),
                Recogniser::new(&text).unwrap(),
            );
            let patterns = params
                .constraint
                .triggers()
                .iter()
                .any(|trigger| trigger.kind == TriggerKind::Pattern);
            let mut walk = Walk::new(&portable, 7);
            for output in (0..WALKS).filter_map(|_| walk.text(SIZE)) {
                assert!(
                    patterns || allows(&params, &whole, &output),
                    "{name}, {request}: {output:?}\n{text}"
                );
            }
            let mut walk = Walk::new(&whole, 8);
            for text in (0..WALKS).filter_map(|_| walk.text(SIZE)) {
                let output = match &params.constraint {
                    Constraint::Strict(_) => text
                        .strip_prefix(params.parser.prefill())
                        .map(str::to_owned),
                    _ => Some(format!("Well. {text}")),
                };
                assert!(
                    output.is_none_or(|output| portable.accepts(&output)),
                    "{name}, {request}: {text:?}"
                );
            }
        }
    }
}

#[test]
fn every_dialect_of_every_built_in_template() {
    for name in builtin::names() {
        let template = ChatTemplate::builtin(name).unwrap();
        // The Lark of some takes its time in a build for tests.
        for request in requests().into_iter().take(2) {
            let params = params(&template, request);
            assert_eq!(
                params.grammar_as(Dialect::Gbnf).unwrap().text,
                params.grammar().text
            );
            let lark = params.grammar_as(Dialect::Lark).unwrap();
            assert!(
                lark.text.is_empty()
                    || lark.text.starts_with("start: ") && !lark.text.contains("::="),
                "{name}"
            );
            let tag = params.grammar_as(Dialect::StructuralTag).unwrap().text;
            assert!(
                tag.is_empty() || tag.starts_with("{\"type\":\"structural_tag\",\"format\":{"),
                "{name}: {tag}"
            );
        }
    }
}

/// The prompt has the first message's role, here without a space before it. In what follows, the
/// model writes some.
#[test]
fn messages_after_the_first_may_have_spaces_before_their_role() {
    let source = builtin::find("llm-jp-harmony")
        .unwrap()
        .source
        .replace("<|start|> ", "<|start|>");
    let template = ChatTemplate::new(&source, "", "").unwrap();
    let params = params(
        &template,
        json!({"tool_choice": "required", "parallel_tool_calls": true}),
    );
    let grammar = Recogniser::new(&params.grammar().text).unwrap();
    let call = "<|start|> assistant to=functions.get_all<|channel|> commentary <|constrain|>  json<|message|> {}";
    assert!(allows(
        &params,
        &grammar,
        &format!("<|channel|> analysis<|message|> Hm<|end|>{call}<|end|>{call}")
    ));
    assert!(!grammar.accepts(call), "the prompt has no space");
}

#[test]
fn a_lazy_format_is_free_text_without_its_trigger_and_then_a_call() {
    let template = ChatTemplate::builtin("json-call").unwrap();
    let tag = params(&template, json!({}))
        .grammar_as(Dialect::StructuralTag)
        .unwrap();
    let tag: Value = serde_json::from_str(&tag.text).unwrap();
    let parts = &tag["format"]["elements"];
    assert_eq!(
        parts[0],
        json!({"type": "any_text", "excludes": ["<tool_call>\n"]}),
        "{tag}"
    );
    assert!(
        parts[1]["grammar"]
            .as_str()
            .unwrap()
            .starts_with("root ::= "),
        "{tag}"
    );
}

/// Templates beside the repository, where they are, and the built-in ones.
fn templates() -> Vec<(String, ChatTemplate)> {
    let built_in =
        builtin::names().map(|name| (name.to_owned(), ChatTemplate::builtin(name).unwrap()));
    let mut all: Vec<_> = built_in.collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/templates");
    match fs::read_dir(&folder) {
        Ok(files) if !cfg!(debug_assertions) => all.extend(files.flatten().filter_map(|file| {
            let template =
                ChatTemplate::new(&fs::read_to_string(file.path()).ok()?, "<s>", "</s>").ok()?;
            Some((file.file_name().to_string_lossy().into_owned(), template))
        })),
        _ => println!(
            "skipped: {} is not there, or this build is slow",
            folder.display()
        ),
    }
    all
}

/// The length of a request's grammar in each dialect, with so many tools alike. 0: there is none.
fn lengths(template: &ChatTemplate, mut request: Value, tools: usize) -> Option<Vec<usize>> {
    let tool = |number: usize| {
        let [first, second] = [1, 2].map(|argument| format!("argument_{argument}_of_{number}"));
        let properties = json!({&first: {"type": "string"}, &second: {"type": "integer"}});
        let parameters = json!({"type": "object", "properties": properties, "required": [first]});
        json!({"type": "function", "function": {"name": format!("tool_{number}"), "parameters": parameters}})
    };
    request["tools"] = (100..100 + tools).map(tool).collect();
    request["messages"] = json!([{"role": "user", "content": "Hi"}]);
    let params = template
        .params(&Request::from_json(&request).unwrap())
        .ok()?;
    let printed = Dialect::ALL.map(|dialect| params.grammar_as(dialect));
    Some(
        printed
            .into_iter()
            .map(|printed| printed.map_or(0, |printed| printed.text.len()))
            .collect(),
    )
}

/// Twice the tools are twice the text: what calls have in common is written once.
#[test]
fn a_grammar_grows_as_its_tools_do() {
    let few = if cfg!(debug_assertions) { 5 } else { 20 };
    let (mut wrong, mut run) = (Vec::new(), 0);
    for (name, template) in templates() {
        for request in [
            json!({}),
            json!({"parallel_tool_calls": true}),
            json!({"tool_choice": "required"}),
        ] {
            let lengths = [few, 2 * few].map(|tools| lengths(&template, request.clone(), tools));
            let [Some(once), Some(twice)] = lengths else {
                continue;
            };
            for (dialect, (once, twice)) in
                Dialect::ALL.into_iter().zip(once.into_iter().zip(twice))
            {
                run += usize::from(twice > 0);
                if twice * 10 > once * 22 || twice > 2 * few * 10_000 {
                    wrong.push(format!(
                        "{name}, {request}, {}: {once} bytes, then {twice}",
                        dialect.name()
                    ));
                }
            }
        }
    }
    assert!(
        run > 100 && wrong.is_empty(),
        "{run} run: {}",
        wrong.join("\n")
    );
}

/// A grammar of two calls, and a text that is free.
fn called() -> Grammar {
    let mut builder = Builder::new();
    builder.add_rule(
        "root",
        Rule::sequence([
            Rule::literal(" to="),
            Rule::choice([Rule::literal("get!"), Rule::literal("put!")]).group(),
        ]),
    );
    builder.build().unwrap()
}

#[test]
fn a_trigger_that_is_a_pattern_holds_what_follows_it() {
    let grammar = called();
    let triggers = [
        Trigger::pattern(r"^\s+to$"),
        Trigger::pattern(r"<s>(\s+to=(?!me)(?!my)[^!]*!)"),
        Trigger::word("=put"),
    ];
    let portable = grammar
        .print_output(Dialect::PortableGbnf, Start::AtTrigger(&triggers))
        .unwrap();
    assert!(portable.report.is_empty());
    let portable = Recogniser::new(&portable.text).unwrap();
    let matcher = grammar.matcher(Start::AtTrigger(&triggers)).unwrap();
    for (text, allowed) in [
        ("", true),
        ("Well.", true),
        ("We go to=nobody", true),
        (" t", true),
        (" to=get!", true),
        ("  to", false),
        (" to=gone!", false),
        ("Well.<s>", true),
        ("Well.<s> to=put!", true),
        ("<s> to=get! and on", false),
        ("<s> to=m", true),
        ("<s> to=me", true),
        ("<s> to=my own", true),
        ("<s> to=mx!", false),
        ("<s> to=nope!", false),
        // The grammar may begin behind some of the space.
        ("<s>\n to=get!", true),
        ("a=put!", false),
        ("a to=put!", true),
    ] {
        assert_eq!(portable.accepts(text), allowed, "{text:?}");
        let mut matcher = matcher.clone();
        let taken = matcher.feed(text.as_bytes()).unwrap();
        assert_eq!(
            taken == text.len() && matcher.may_end(),
            allowed,
            "{text:?}: {taken}"
        );
    }
}

#[test]
fn a_pattern_that_cannot_be_followed_is_reported() {
    for pattern in [r"(?<=x) to", r"(\w)\1", "(?!a+) to"] {
        let triggers = [Trigger::pattern(pattern)];
        for dialect in [Dialect::PortableGbnf, Dialect::Lark, Dialect::StructuralTag] {
            let printed = called()
                .print_output(dialect, Start::AtTrigger(&triggers))
                .unwrap();
            assert_eq!(printed.report[0].kind, FidelityKind::Widened, "{pattern}");
        }
        let mut matcher = called().matcher(Start::AtTrigger(&triggers)).unwrap();
        assert_eq!(matcher.feed(b"x to=nope!").unwrap(), 10);
    }
}

#[test]
fn a_grammar_is_printed_once_for_the_same_tools() {
    let template = ChatTemplate::builtin("gpt-oss").unwrap();
    let tools: Vec<Value> = (0..40)
        .map(|index| {
            json!({"type": "function", "function": {"name": format!("tool_{index}"),
        "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}})
        })
        .collect();
    let lark = || {
        let params = params(&template, json!({"tools": tools}));
        let begun = std::time::Instant::now();
        (params.grammar_as(Dialect::Lark).unwrap(), begun.elapsed())
    };
    let ((first, made), (again, found)) = (lark(), lark());
    assert_eq!(first, again);
    assert!(found * 10 < made, "{found:?}, {made:?}");
}

#[test]
fn schemas_in_portable_gbnf_stay_what_they_are() {
    for schema in [
        json!({}),
        json!({"type": "object", "properties": {"a-Ü": {"pattern": "^[a\\-z]*?.{2}$"}, "b": {"type": "number"}}}),
        json!({"$ref": "#/$defs/n", "$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}}, "type": "object"}}}),
        json!({"enum": ["::=", "/", "#", "\\", "\u{7}"]}),
        json!({"type": "integer", "minimum": -3, "maximum": 1200}),
        json!({"type": "string", "format": "date-time"}),
    ] {
        let grammar = from_json_schema(&schema).unwrap();
        let portable = grammar.print(Dialect::PortableGbnf).unwrap();
        assert!(portable.report.is_empty());
        let [one, other] =
            [&grammar.text, &portable.text].map(|text| Recogniser::new(text).unwrap());
        for (from, to) in [(&one, &other), (&other, &one)] {
            let mut walk = Walk::new(from, 3);
            for text in (0..WALKS).filter_map(|_| walk.text(SIZE)) {
                assert!(to.accepts(&text), "{schema}: {text:?}\n{}", portable.text);
            }
        }
    }
}

#[test]
fn hand_written_rules_in_every_dialect() {
    let mut builder = Builder::new();
    builder.add_rule("list", Rule::gbnf(r#"[a-c\-] ("," list)? .{0,2}"#).unwrap());
    builder.add_rule("root", Rule::reference("list"));
    let grammar = builder.build().unwrap();
    assert_eq!(
        grammar.print(Dialect::PortableGbnf).unwrap().text,
        "root ::= list\nlist ::= [\\u002Da-c] (\",\" list)? [\\u0000-\\U0010FFFF]{0,2}\n"
    );
    assert!(
        grammar
            .print(Dialect::Lark)
            .unwrap()
            .text
            .starts_with("start: list\n")
    );
    for dialect in Dialect::ALL {
        assert_eq!(dialect.to_string().parse(), Ok(dialect));
    }
}
