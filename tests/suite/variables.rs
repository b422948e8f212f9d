//! Variables of a request under which the template's model writes otherwise.

use std::time::Instant;

use chatparse::{ChatTemplate, EndedBy, Request, Status};
use serde_json::{Map, Value, json};

/// Writes calls in two ways, and a date.
const WAYS: &str = "{{ today }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% for c in m.tool_calls %}\
    {% if way == 'tags' %}<call name=\"{{ c.function.name }}\">{% for k, v in c.function.arguments.items() %}<arg {{ k }}>{{ v }}</arg>\
    {% endfor %}</call>{% else %}<tool_call>{\"name\": \"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments|tojson }}}\
    </tool_call>{% endif %}{% endfor %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}{{ tools|tojson if false }}";

const TAGS: &str = "<call name=\"f\"><arg x>Oslo</arg></call>";
const JSON: &str = "<tool_call>{\"name\": \"f\", \"arguments\": {\"x\": \"Oslo\"}}</tool_call>";

fn request(variables: Value) -> Request {
    let tool = json!({"type": "function", "function": {"name": "f", "description": "D",
        "parameters": {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}}});
    let body = json!({"messages": [{"role": "user", "content": "Hi"}], "tools": [tool], "tool_choice": "required",
        "chat_template_kwargs": variables, "now": 0});
    Request::from_json(&body).unwrap()
}

#[test]
fn calls_are_read_as_the_request_has_them_written() {
    let template = ChatTemplate::new(WAYS, "", "").unwrap();
    for (variables, written, other) in [
        (json!({}), JSON, TAGS),
        (json!({"way": "tags"}), TAGS, JSON),
        (json!({"way": "json"}), JSON, TAGS),
        (
            json!({"way": "tags", "today": "Monday", "unknown": "x"}),
            TAGS,
            JSON,
        ),
        (json!({"today": "Tuesday"}), JSON, TAGS),
    ] {
        let params = template.params(&request(variables.clone())).unwrap();
        let ended = params.parser.read(written.as_bytes(), EndedBy::Model);
        assert_eq!(
            (ended.status, ended.message.tool_calls.len()),
            (Status::Complete, 1),
            "{variables}"
        );
        assert_eq!(
            ended.message.tool_calls[0].arguments.replace(' ', ""),
            "{\"x\":\"Oslo\"}"
        );
        let grammar = chatparse::grammar::Recogniser::new(&params.grammar().text).unwrap();
        let accepts =
            |output: &str| grammar.accepts(&format!("{}{output}", params.generation_prompt));
        assert!(
            accepts(written) && !accepts(other),
            "{variables}: {}",
            params.grammar().text
        );
    }
}

#[test]
fn what_does_not_matter_shares_a_format() {
    let template = ChatTemplate::new(WAYS, "", "").unwrap();
    let text = |variables: Value| {
        std::sync::Arc::as_ptr(template.params(&request(variables)).unwrap().grammar()) as usize
    };
    let first = text(json!({}));
    assert_eq!(text(json!({"today": "Monday"})), first);
    assert_eq!(text(json!({"today": "Tuesday"})), first);
    assert_ne!(text(json!({"way": "tags"})), first);
}

#[test]
fn hostile_variables_cost_little() {
    let template = ChatTemplate::new(WAYS, "", "").unwrap();
    template.params(&request(json!({"way": "tags"}))).unwrap();
    let started = Instant::now();
    let many = |prefix: &str| {
        (0..20_000)
            .map(|n| (format!("{prefix}{n}"), json!(n)))
            .collect::<Map<_, _>>()
    };
    template.params(&request(many("v").into())).unwrap();
    for n in 0..300 {
        let long = "x".repeat(100_000);
        let deep = json!({"way": [[n]], "today": n.to_string() + &long, "name": {"a": n}});
        template.params(&request(deep)).unwrap();
        template
            .params(&request(
                json!({"today": format!("day {n}"), "way": "tags"}),
            ))
            .unwrap();
    }
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}
