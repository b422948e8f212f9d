//! Each rule of the table of what models write beside their templates has a case, which is read
//! otherwise without it.

use std::collections::HashSet;

use chatparse::internals::format::{params_without, rules};
use chatparse::{ChatTemplate, EndedBy, Params, Request};
use serde_json::{Value, json};

/// A rule, a template of the library or its text (`source`), options of the request, an output, and
/// what is read of it.
const CASES: &str = include_str!("rules.jsonl");

fn request(options: &Value) -> Request {
    let weather = json!({"type": "object", "required": ["city"], "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "wind": {"type": ["boolean", "null"]},
        "places": {"type": "array", "items": {"type": "string"}},
        "box": {"type": "object", "properties": {"north": {"type": "number"}, "name": {"type": "string"}}},
        "any": {},
    }});
    let say = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let mut body = json!({
        "messages": [{"role": "user", "content": "Hi"}],
        "reasoning_format": "auto",
        "tools": [
            {"type": "function", "function": {"name": "weather", "parameters": weather}},
            {"type": "function", "function": {"name": "clock", "parameters": {"type": "object", "properties": {}}}},
            {"type": "function", "function": {"name": "say \"hi\"", "parameters": say}},
        ],
    });
    body.as_object_mut()
        .unwrap()
        .extend(options.as_object().unwrap().clone());
    Request::from_json(&body).unwrap()
}

fn template_of(case: &Value) -> ChatTemplate {
    match case["source"].as_str() {
        Some(source) => ChatTemplate::new(source, "<s>", "</s>").unwrap(),
        None => ChatTemplate::builtin(case["template"].as_str().unwrap()).unwrap(),
    }
}

fn read(params: &Params, output: &str) -> (String, Value) {
    let ended = params.parser.read(output.as_bytes(), EndedBy::Model);
    (ended.status.name().to_owned(), ended.message.to_json())
}

#[test]
fn each_rule_reads_what_nothing_else_does() {
    let mut rest: HashSet<&str> = rules::all().map(|(_, rule)| rule).collect();
    assert_eq!(rest.len(), rules::all().count(), "a name is given twice");
    for case in CASES.lines() {
        let case: Value = serde_json::from_str(case).unwrap();
        let [name, output] = ["rule", "output"].map(|key| case[key].as_str().unwrap());
        let rule = rules::all()
            .find(|(_, rule)| *rule == name)
            .unwrap_or_else(|| panic!("no rule {name}"))
            .1;
        let template = template_of(&case);
        let request = request(case.get("options").unwrap_or(&json!({})));
        let whole = read(&template.params(&request).unwrap(), output);
        assert_eq!(
            json!([whole.0, whole.1]),
            json!([case["status"], case["message"]]),
            "{name}: {output}"
        );
        let without = read(&params_without(&template, &request, rule).unwrap(), output);
        assert_ne!(without, whole, "{name} is not needed for {output}");
        rest.remove(name);
    }
    assert!(rest.is_empty(), "rules without a case: {rest:?}");
}
