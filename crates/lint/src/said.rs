//! The law that nothing that was said is lost.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::bench::{Bench, around, conversations, escaped, last};
use crate::law::{Finding, Law};
use chatparse_base::json_string::push_json_string;

/// Reports each text that is in no form in the prompt, in the smallest conversation that has it.
pub fn shown(bench: &mut Bench) {
    let mut told = BTreeSet::new();
    for request in conversations(bench.takes_tools) {
        // What a template refuses, it does not lose in silence.
        if let Ok(prompt) = bench.render(&request) {
            bench.ask(Law::Shown);
            each_text(&request, &prompt, bench, &mut told);
        }
    }
}

/// Reports the texts of a request that its prompt does not have, the first of each kind.
fn each_text(request: &Value, prompt: &str, bench: &mut Bench, told: &mut BTreeSet<String>) {
    let mut all = Vec::new();
    let mut said = 0;
    let [messages, tools] =
        ["messages", "tools"].map(|name| request[name].as_array().into_iter().flatten());
    for (index, message) in messages.enumerate() {
        // Templates of models that know no developer have no place for one.
        let role = message["role"].as_str().unwrap_or_default();
        let mut found = Vec::new();
        texts(message, format!("messages[{index}]"), &mut found);
        for (place, text) in found {
            // The names of calls are those of tools, which come earlier.
            let from = if place.ends_with("function.name") {
                said
            } else {
                0
            };
            all.push((role, role != "developer", place, text, from));
        }
        let content = message["content"].as_str().unwrap_or_default();
        said = last(prompt, content).map_or(said, |place| place.end);
    }
    for (index, tool) in tools.enumerate() {
        let mut found = Vec::new();
        texts(tool, format!("tools[{index}]"), &mut found);
        for (place, text) in found {
            let is_fault = bench.lists_tools && place.ends_with("function.name");
            all.push(("tool", is_fault, place, text, 0));
        }
    }
    for (role, is_fault, place, text, from) in all {
        // Places of one role that differ in their indexes are of one kind.
        let kind = place.chars().filter(|c| !c.is_ascii_digit());
        if is_in(text, &prompt[from..])
            || !told.insert(format!("{role} {}", String::from_iter(kind)))
        {
            continue;
        }
        let message = format!("{place} ({role}) is not in the prompt.");
        let mut finding = Finding::new(Law::Shown, is_fault, message);
        finding.request = request.clone();
        let finding = finding.with("expected", text);
        bench
            .findings
            .push(finding.with("prompt", around(prompt, prompt.len())));
    }
}

/// The texts of a message or tool, by their places.
fn texts<'r>(value: &'r Value, place: String, all: &mut Vec<(String, &'r str)>) {
    match value {
        Value::String(text) => all.push((place, text)),
        Value::Array(list) => {
            for (index, element) in list.iter().enumerate() {
                texts(element, format!("{place}[{index}]"), all);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                // Names of roles and types are the template's business; a result has a name by its
                // call.
                let is_text = match &**key {
                    "role" | "type" | "id" | "tool_call_id" | "required" => false,
                    "name" => !fields.contains_key("role"),
                    _ => true,
                };
                if is_text {
                    texts(field, format!("{place}.{key}"), all);
                }
            }
        }
        _ => {}
    }
}

/// Whether a text is in a prompt as it is, or as JSON, Python or XML write it.
fn is_in(text: &str, prompt: &str) -> bool {
    let json = escaped(text);
    let mut ascii = String::new();
    push_json_string(text, &mut ascii, true);
    let ascii = &ascii[1..ascii.len() - 1];
    let python = text.replace('\\', "\\\\").replace('\n', "\\n");
    let xml = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let quotes = xml.replace('"', "&quot;").replace('\'', "&#39;");
    let forms = [
        text,
        &escaped(&json),
        &escaped(ascii),
        &json,
        ascii,
        &python,
        &python.replace('\'', "\\'"),
        &xml,
        &quotes,
    ];
    forms.into_iter().any(|form| prompt.contains(form))
}
