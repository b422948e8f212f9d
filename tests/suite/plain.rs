//! Plain requests: the template sees what transformers would show it, and nothing else.

use chatparse::{ChatTemplate, EndedBy, ErrorKind, Request};
use serde_json::{Value, json};

fn prompt(source: &str, body: Value) -> Result<String, chatparse::Error> {
    let template = ChatTemplate::new(source, "<s>", "").unwrap();
    let request = Request::from_json_with(&body, &json!({"plain": true}))?;
    let prompt = template.prompt(&request)?;
    assert_eq!(template.params(&request)?.prompt, prompt);
    Ok(prompt)
}

#[test]
fn only_what_the_request_names_is_defined() {
    let names = [
        "messages",
        "tools",
        "documents",
        "add_generation_prompt",
        "bos_token",
        "eos_token",
        "enable_thinking",
    ];
    let names = names.iter().chain(&[
        "datetime",
        "date_string",
        "reasoning_effort",
        "reasoning_strength",
    ]);
    let source: String = names
        .map(|name| format!("{{{{ '{name} ' if {name} is defined }}}}"))
        .collect();
    let shown = |body: Value| prompt(&source, body).unwrap();
    assert_eq!(
        shown(json!({"messages": []})),
        "messages tools documents add_generation_prompt bos_token "
    );
    let kwargs = json!({"reasoning_effort": "low", "date_string": "x"});
    let more =
        shown(json!({"messages": [], "enable_thinking": false, "chat_template_kwargs": kwargs}));
    assert_eq!(
        more,
        "messages tools documents add_generation_prompt bos_token enable_thinking date_string reasoning_effort "
    );
    let values = "{{ tools }}|{{ documents }}|{{ add_generation_prompt }}";
    assert_eq!(
        prompt(values, json!({"messages": []})).unwrap(),
        "None|None|True"
    );
    let given = json!({"messages": [], "tools": [{"name": "f"}], "documents": [{"a": 1}], "add_generation_prompt": false});
    assert_eq!(
        prompt(values, given).unwrap(),
        "[{'name': 'f'}]|[{'a': 1}]|False"
    );
}

#[test]
fn messages_are_as_they_are() {
    let messages =
        json!([{"role": "r", "content": [{"type": "image", "x": 1}], "odd": null}, {"content": 7}]);
    let expected =
        "[{'role': 'r', 'content': [{'type': 'image', 'x': 1}], 'odd': None}, {'content': 7}]";
    assert_eq!(
        prompt("{{ messages }}", json!({"messages": messages})).unwrap(),
        expected
    );
    for (field, expected) in [
        (
            "reasoning",
            "[{'thinking': 't', 'reasoning': 't', 'reasoning_content': 't'}]",
        ),
        ("thinking", "[{'thinking': 't', 'reasoning_content': 't'}]"),
        (
            "reasoning_content",
            "[{'thinking': 't', 'reasoning_content': 't'}]",
        ),
    ] {
        assert_eq!(
            prompt("{{ messages }}", json!({"messages": [{field: "t"}]})).unwrap(),
            expected,
            "{field}"
        );
    }
    let error = prompt("{# #}", json!({"messages": [1]})).unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (
            ErrorKind::InvalidArgument,
            "messages[0]: must be an object, not a number"
        )
    );
}

#[test]
fn python_and_its_sandbox_refuse() {
    for (source, part) in [
        ("{{ 'a' + nothing }}", "undefined cannot be added"),
        (
            "{% macro m() %}{{ 'a' + 1 + 'b' }}{% endmacro %}{{ m() }}",
            "number cannot be added",
        ),
        ("{% set x = [] %}{{ x.append(1) }}", "refuses append"),
        (
            "{% for name, item in nothing.items() %}{% endfor %}",
            "items",
        ),
    ] {
        let error = prompt(source, json!({"messages": []})).unwrap_err();
        assert!(error.message().contains(part), "{source}: {error}");
        let template = ChatTemplate::new(source, "", "").unwrap();
        let request = Request::from_json(&json!({"messages": []})).unwrap();
        assert!(template.prompt(&request).is_ok(), "{source}");
    }
}

#[test]
fn a_message_is_continued_where_it_ends() {
    let source = "{% for m in messages %}<{{ m.role }}>{{ m.content if m.content is string else m.content[0].text }}{% if m.thinking %}\
        ({{ m.thinking }}){% endif %}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
    let body = |content: Value, field: Value| {
        json!({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": content, "reasoning": "Hm"}],
            "continue_final_message": field})
    };
    assert_eq!(
        prompt(source, body(json!("It is "), json!(true))).unwrap(),
        "<user>Hi</><assistant>It is "
    );
    let parts = json!([{"type": "text", "text": "It is"}]);
    assert_eq!(
        prompt(source, body(parts, json!("content"))).unwrap(),
        "<user>Hi</><assistant>It is"
    );
    let thought = prompt(source, body(json!("x"), json!("reasoning_content"))).unwrap();
    assert_eq!(thought, "<user>Hi</><assistant>x(Hm");
    let trimmed = source.replace("m.content if", "m.content|trim if");
    assert_eq!(
        prompt(&trimmed, body(json!("It is "), json!(true))).unwrap(),
        "<user>Hi</><assistant>It is"
    );
    for (source, body, part) in [
        ("x", body(json!("It is"), json!(true)), "does not show"),
        (source, body(json!(null), json!(true)), "has no content"),
        (
            source,
            json!({"messages": [], "continue_final_message": true}),
            "there is no message",
        ),
    ] {
        assert!(
            prompt(source, body).unwrap_err().message().contains(part),
            "{part}"
        );
    }
}

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
