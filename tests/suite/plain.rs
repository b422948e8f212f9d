//! Plain requests: the template sees what transformers would show it, and nothing else.

use chatparse::{ChatTemplate, EndedBy, Request};
use serde_json::json;

#[test]
fn the_parser_knows_the_tools_and_the_opening() {
    let template = ChatTemplate::builtin("json-call").unwrap();
    let body = json!({"messages": [{"role": "user", "content": "Hi"}], "tools": [{"name": "f", "parameters": {"type": "object",
        "properties": {"a": {"type": "integer"}}}}], "plain": true});
    let params = template
        .params(&Request::from_json(&body).unwrap())
        .unwrap();
    assert!(
        params.prompt.ends_with(&params.generation_prompt) && !params.generation_prompt.is_empty()
    );
    let call = r#"<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>"#;
    let (message, _) = params.parser.parse(call.as_bytes(), EndedBy::Model);
    assert_eq!(message.tool_calls[0].arguments, r#"{"a": 1}"#);
}

/// Where no text marks a call, no grammar holds it, and the report says so.
#[test]
fn a_missing_grammar_has_a_reason() {
    let plain =
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}<|assistant|>";
    let template = ChatTemplate::new(plain, "", "<|end|>").unwrap();
    let grammar = |choice: &str| {
        let body = json!({"messages": [{"role": "user", "content": "Hi"}], "tool_choice": choice,
            "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]});
        template
            .params(&Request::from_json(&body).unwrap())
            .unwrap()
            .grammar()
            .clone()
    };
    for (choice, reason) in [
        ("auto", "the template writes no calls"),
        ("required", "the template writes no calls"),
    ] {
        let grammar = grammar(choice);
        let told: Vec<&str> = grammar.report.iter().map(|entry| &*entry.message).collect();
        assert!(
            grammar.text.is_empty() && told.len() == 1 && told[0].starts_with(reason),
            "{choice}: {told:?}"
        );
    }
    assert!(grammar("none").report.is_empty());
}
