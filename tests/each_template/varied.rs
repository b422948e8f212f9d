//! Variables of requests: what a template writes with each of their values is read, and its grammar
//! has it.

use std::collections::BTreeSet;

use chatparse::grammar::Recogniser;
use chatparse::{ChatTemplate, Request};
use serde_json::{Value, json};

use super::written::{tool, turn_of};

/// The variables that the source looks at and does not set, each with what the source compares it
/// with. What has a text as its default gets all literals that anything is compared with, for it
/// may have another name there.
fn variables(source: &str) -> Vec<(String, Value)> {
    let found = |expression: &str| {
        let expression = regex::Regex::new(expression).unwrap();
        let all = expression
            .captures_iter(source)
            .map(|found| found[1].to_owned());
        all.collect::<BTreeSet<String>>()
    };
    let mut set = found(r"(?:set|for|for \w+,) *([A-Za-z_]\w*)");
    // What a request has in its own fields.
    set.extend(["messages", "tools", "loop", "enable_thinking"].map(str::to_owned));
    let looked = r#"[^\w.'"]([a-z_]\w{3,}) *(?:\| *default|==|!=|is (?:not )?(?:defined|none|true|false|string)|in \[)"#;
    let looked = found(looked)
        .into_iter()
        .filter(|name| !set.contains(name) && !source.contains(&format!("{name}=")));
    let mut all = Vec::new();
    for name in looked {
        let mut literals = found(&format!(r#"\b{name} *(?:==|!=) *['"]([a-z_]+)['"]"#));
        if !found(&format!(r#"\b({name}) *\| *default\(['"]"#)).is_empty() {
            literals.extend(
                found(r#"(?:==|!=|, *|in \[) *['"]([a-z_]{2,12})['"]"#)
                    .into_iter()
                    .take(24),
            );
        }
        let values =
            literals
                .into_iter()
                .map(Value::from)
                .chain([json!(true), json!(false), json!(0)]);
        all.extend(values.map(|value| (name.clone(), value)));
    }
    all
}

/// What is wrong, and how many outputs were looked at.
pub fn check(template: &ChatTemplate) -> (Vec<String>, usize) {
    let tools = json!([tool(
        "do_it",
        &json!({"qk1": {"type": "string"}, "qk2": {"type": "integer"}})
    )]);
    let calls = [("do_it".to_owned(), json!({"qk1": "qz1", "qk2": 70_431}))];
    let (mut wrong, mut looked) = (Vec::new(), 0);
    let usual = turn_of(template, &json!({"tools": tools}), &[""], &calls);
    let Some((_, usual)) = usual else {
        return (wrong, looked);
    };
    for (name, value) in variables(template.source()) {
        let fields = json!({"tools": tools, "chat_template_kwargs": {&*name: value}});
        let mut body = fields.clone();
        body["messages"] = json!([{"role": "user", "content": "Well?"}, {"role": "assistant", "content": "",
            "tool_calls": [{"type": "function", "id": "abc000000",
                "function": {"name": "do_it", "arguments": calls[0].1.to_string()}}]}]);
        body["now"] = json!(0);
        body["add_generation_prompt"] = json!(false);
        let mut request = Request::from_json(&body).expect("it is one");
        // What is written as always is looked at elsewhere.
        let Ok(rendered) = template.prompt(&request) else {
            continue;
        };
        request.messages.truncate(1);
        request.add_generation_prompt = true;
        // A history may have other turns than the prompt opens.
        let begins = template
            .prompt(&request)
            .is_ok_and(|prompt| rendered.starts_with(&prompt));
        if rendered.contains(&usual) || !begins {
            continue;
        }
        looked += 1;
        let Some((params, output)) = turn_of(template, &fields, &[""], &calls) else {
            let end = rendered.len() - rendered.len().min(300);
            wrong.push(format!(
                "{name} = {value}: not read: {:?}",
                rendered.get(end..)
            ));
            continue;
        };
        let text = format!("{}{output}", params.generation_prompt);
        let required = json!({"tool_choice": "required"});
        let mut fields = fields;
        fields
            .as_object_mut()
            .unwrap()
            .extend(required.as_object().unwrap().clone());
        let Some((params, _)) = turn_of(template, &fields, &[""], &calls) else {
            continue;
        };
        let grammar = Recogniser::new(&params.grammar().text).expect("it is one");
        if grammar.reach(&text).unwrap()
            < text
                .trim_end()
                .len()
                .min(text.rfind("70431").map_or(0, |at| at + 6))
        {
            wrong.push(format!("{name} = {value}: the grammar has no {output:?}"));
        }
    }
    (wrong, looked)
}
