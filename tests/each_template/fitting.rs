//! The grammar of a request holds a call to its tool's schema, in whatever way the template writes
//! values.

use chatparse::ChatTemplate;
use chatparse::grammar::{FidelityKind, Recogniser};
use serde_json::{Value, json};

use super::written::{tool, turn_of};

/// Schemas, each with a value that fits and a text of it that another text makes wrong.
fn schemas() -> [(Value, Value, [&'static str; 2]); 6] {
    [
        (
            json!({"enum": ["qz1good", "qz1well"]}),
            json!("qz1good"),
            ["qz1good", "qz1evil"],
        ),
        (
            json!({"type": "string", "pattern": "^qz2[a-d]{3}$"}),
            json!("qz2abc"),
            ["qz2abc", "qz2xyz"],
        ),
        (
            json!({"type": "string", "maxLength": 6}),
            json!("qz3abc"),
            ["qz3abc", "qz3abcdefgh"],
        ),
        (
            json!({"type": "string", "format": "date"}),
            json!("2031-07-09"),
            ["2031-07-09", "2031-77-99"],
        ),
        (
            json!({"type": "integer", "maximum": 70_999}),
            json!(70_431),
            ["70431", "90431"],
        ),
        (
            json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            json!(70_431),
            ["70431", "7x431"],
        ),
    ]
}

/// What is wrong, and how many outputs were looked at.
pub fn check(template: &ChatTemplate) -> (Vec<String>, usize) {
    let (mut wrong, mut looked) = (Vec::new(), 0);
    for (schema, value, [good, bad]) in schemas() {
        let mut tools = json!([tool(
            "do_it",
            &json!({"qk1": schema, "qk2": {"type": "string"}})
        )]);
        tools[0]["function"]["parameters"]["required"] = json!(["qk1"]);
        let fields = json!({"tools": tools, "tool_choice": "required"});
        let call = |arguments: Value| [("do_it".to_owned(), arguments)];
        let Some((params, output)) =
            turn_of(template, &fields, &[""], &call(json!({"qk1": value})))
        else {
            continue;
        };
        looked += 1;
        let grammar = params.grammar();
        let widened = grammar
            .report
            .iter()
            .any(|entry| entry.kind == FidelityKind::Widened);
        let recogniser = Recogniser::new(&grammar.text).expect("it is one");
        let text = |output: &str| format!("{}{output}", params.generation_prompt);
        // Behind the value there is what closes the call; a template may go on behind that.
        let behind =
            output.rfind(good).map_or(0, |at| at + good.len()) + params.generation_prompt.len();
        if recogniser.reach(&text(&output)).unwrap() <= behind.min(text(&output).len() - 1) {
            wrong.push(format!("{schema}: the grammar has no {output:?}"));
        }
        let spoilt = output.replacen(good, bad, 1);
        if !widened && recogniser.reach(&text(&spoilt)).unwrap() >= text(&spoilt).len() {
            wrong.push(format!("{schema}: the grammar has {spoilt:?}"));
        }
        let without = turn_of(template, &fields, &[""], &call(json!({"qk2": "Quince"})));
        let without = without.filter(|(_, output)| !widened && recogniser.accepts(&text(output)));
        wrong.extend(without.map(|(_, output)| format!("{schema}: the grammar has {output:?}")));
    }
    (wrong, looked)
}
