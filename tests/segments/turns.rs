//! Where a turn begins and ends in a prompt, by what small templates write.

use chatparse::{ChatTemplate, MaskParts, Request, TemplateOptions};
use serde_json::{Value, json};

/// The masked texts of a conversation without a generation prompt.
fn masked(source: &str, eos: &str, messages: &Value) -> Vec<String> {
    masked_by(&ChatTemplate::new(source, "", eos).unwrap(), messages)
}

fn masked_by(template: &ChatTemplate, messages: &Value) -> Vec<String> {
    let body = json!({"messages": messages, "now": 0, "add_generation_prompt": false});
    let request = Request::from_json_with(&body, &json!({"plain": true})).unwrap();
    let found = template.segments(&request).unwrap();
    found
        .mask(MaskParts::default())
        .into_iter()
        .map(|bytes| found.prompt[bytes].to_owned())
        .collect()
}

/// The masked texts of a conversation without a generation prompt, where these tokens end outputs.
fn masked_with(source: &str, ends: &Value, messages: &Value) -> Vec<String> {
    let options = TemplateOptions::from_text(&json!({"ends": ends}).to_string()).unwrap();
    masked_by(
        &ChatTemplate::with_options(source, &options).unwrap(),
        messages,
    )
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn said(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

fn called() -> Value {
    json!({"role": "assistant", "content": "", "tool_calls": [{"id": "call00001", "type": "function", "function": {"name": "look", "arguments": {"a": "b"}}}]})
}

fn result() -> Value {
    json!({"role": "tool", "name": "look", "tool_call_id": "call00001", "content": "wet"})
}

const PLAIN: &str = "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}\
    {% if add_generation_prompt %}<|assistant|>\n{% endif %}";

/// The last turn shows no end, and that of a turn with calls is another one than that of an answer.
#[test]
fn several_tokens_end_turns() {
    let source = "{% for m in messages %}{{ m.role }}: {{ m.content }}{% for c in m.tool_calls or [] %}\
        {{ c.function | tojson }}{% endfor %}{% if not loop.last and m.role == 'assistant' %}\
        {{ '(eom)' if m.tool_calls else '(eot)' }}{% endif %} {% endfor %}{% if add_generation_prompt %}assistant: {% endif %}";
    let messages = json!([
        user("a"),
        called(),
        result(),
        said("b"),
        user("c"),
        said("d")
    ]);
    let call = r#"{"name": "look", "arguments": {"a": "b"}}"#;
    assert_eq!(masked(source, "(eot)", &messages), [call, "b(eot)", "d"]);
    let expected = [format!("{call}(eom)"), "b(eot)".to_owned(), "d".to_owned()];
    assert_eq!(
        masked_with(source, &json!(["(eot)", "(eom)"]), &messages),
        expected
    );
    // Whichever is named first.
    assert_eq!(
        masked_with(source, &json!(["(eom)", "(eot)"]), &messages),
        expected
    );
}

#[test]
fn a_turn_without_a_value_has_its_end() {
    let messages = json!([user("Say nothing"), said(""), user("More"), said("x")]);
    // The host's token for the end is another one than the template writes.
    for eos in ["<|end|>", "<|endoftext|>", ""] {
        assert_eq!(
            masked(PLAIN, eos, &messages),
            ["<|end|>", "x<|end|>"],
            "{eos}"
        );
    }
    assert_eq!(
        masked(PLAIN, "", &json!([user("a"), said("  "), user("b")])),
        ["  <|end|>"]
    );
}

#[test]
fn a_turn_does_not_begin_inside_of_a_marker() {
    let source = "{% for m in messages %}<|{{ m.role }}|>{% for c in m.tool_calls or [] %}<tool>{{ c.function.name }}</tool>{% endfor %}\
        {{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|><think>{% endif %}";
    assert_eq!(
        masked(source, "", &json!([user("a"), called()])),
        ["<tool>look</tool><|end|>"]
    );
}

#[test]
fn what_opens_a_result_is_not_the_models() {
    let source = "{% for m in messages %}{% if m.role == 'tool' %}{{ m.name }}:{{ m.content }}<|end|>{% else %}<|{{ m.role }}|>{{ m.content }}\
        {% for c in m.tool_calls or [] %}<call>{{ c.function.name }}{{ c.function.arguments | tojson }}</call><result>{{ c.function.name }}{% endfor %}\
        {% if not m.tool_calls %}<|end|>{% endif %}{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";
    let messages = json!([user("Rain?"), called(), result(), said("It rains.")]);
    let mask = masked(source, "", &messages);
    assert!(
        mask[0].starts_with("<call>look{\"a\": \"b\"}</call>") && !mask[0].contains("wet"),
        "{mask:?}"
    );
    assert_eq!(mask.last().unwrap(), "It rains.<|end|>");
}

#[test]
fn the_last_turn_may_end_otherwise() {
    let source = "{% for m in messages %}<|start|>{{ m.role }}<|message|>{{ m.content }}\
        {% if loop.last and m.role == 'assistant' %}<|return|>{% else %}<|end|>{% endif %}{% endfor %}\
        {% if add_generation_prompt %}<|start|>assistant{% endif %}";
    let messages = json!([user("a"), said("One"), user("b"), said("Two")]);
    assert_eq!(
        masked(source, "", &messages),
        ["<|message|>One<|end|>", "<|message|>Two<|return|>"]
    );
}
