//! Templates rendered as Python's Jinja2 renders them, set up as transformers sets it up: `jinja/cases.jsonl` holds what it
//! made of each case (`c-tests/jinja.py` writes that file). Where we differ by design, `jinja/exceptions.txt` says why.

use std::collections::BTreeMap;

use chatparse::internals::template::{Conversation, Template};
use serde_json::{Map, Value, json};

const CASES: &str = include_str!("../jinja/cases.jsonl");
const EXCEPTIONS: &str = include_str!("../jinja/exceptions.txt");

fn render(template: &str, variables: &Map<String, Value>) -> Option<String> {
    let conversation = Conversation {
        messages: json!([]).into(),
        tools: Value::Null.into(),
        enable_thinking: true,
        add_generation_prompt: false,
        plain: false,
        extra: variables.clone(),
        now: Some(1_787_356_800),
    };
    Template::new(template, "", "").and_then(|template| template.render(&conversation)).ok()
}

/// Each template that may differ, by the reason: a line that begins with `#`, above the templates as JSON texts.
fn exceptions() -> BTreeMap<String, &'static str> {
    let mut reason = "";
    let mut named = BTreeMap::new();
    for line in EXCEPTIONS.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("# ") {
            Some(text) => reason = text,
            None => {
                named.insert(serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")), reason);
            }
        }
    }
    named
}

#[test]
fn templates_render_as_in_python() {
    let mut lines = CASES.lines();
    let variables: Map<String, Value> = serde_json::from_str(lines.next().unwrap()).unwrap();
    let mut exceptions = exceptions();
    let (mut count, mut same, mut wrong) = (0, 0, Vec::new());
    for line in lines {
        let (template, expected): (String, Option<String>) = serde_json::from_str(line).unwrap();
        let shown = render(&template, &variables);
        count += 1;
        let excused = exceptions.remove(&template).is_some();
        match (shown == expected, excused) {
            (true, false) => same += 1,
            (true, true) => wrong.push(format!("{template:?} is no exception any more")),
            (false, true) => {}
            (false, false) => wrong.push(format!("{template:?}\n  Jinja2 {expected:?}\n  we     {shown:?}")),
        }
    }
    wrong.extend(exceptions.keys().map(|template| format!("{template:?} is an exception and no case")));
    println!("{same} of {count} templates render the same");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
