//! Tools beside the schema of a response: a call, or an answer that the schema allows.

use chatparse::grammar::Recogniser;
use chatparse::{ChatTemplate, EndedBy, Status};
use serde_json::{Value, json};

use super::written::{Written, calls, tool, turn_of};

const ANSWER: &str = r#"{"answer": "rain", "score": 4}"#;

fn fields(tool_choice: &str) -> Value {
    let town = json!({"qk1town": {"type": "string"}, "qk2days": {"type": "integer"}});
    let schema = json!({"type": "object", "properties": {"answer": {"type": "string"}, "score": {"type": "integer"}},
                        "required": ["answer", "score"], "additionalProperties": false});
    json!({"tools": [tool("get_weather", &town)], "tool_choice": tool_choice,
           "response_format": {"type": "json_schema", "json_schema": {"schema": schema}}})
}

/// What is wrong, and how many outputs were looked at.
pub fn check(template: &ChatTemplate, written: &Written) -> (Vec<String>, usize) {
    let (mut wrong, mut looked) = (Vec::new(), 0);
    // The tool of the first call, without its list, which a template may write as no JSON.
    let call = [(
        written.calls[0].0.clone(),
        json!({"qk1town": "qz1a", "qk2days": 70431}),
    )];
    for choice in ["auto", "required"] {
        // A template may write text in front of all calls, which no schema asks for.
        let alone = json!({"tools": fields(choice)["tools"], "tool_choice": "required"});
        let Some((alone, _)) = turn_of(template, &alone, &[""], &call) else {
            continue;
        };
        let Some((params, output)) = turn_of(template, &fields(choice), &[""], &call) else {
            wrong.push(format!("{choice}: the call is not read"));
            continue;
        };
        looked += 1;
        let grammar = params.grammar();
        if params.constraint.is_lazy() || grammar.text.is_empty() {
            wrong.push(format!(
                "{choice}: {:?}, {:?}",
                params.constraint, grammar.report
            ));
            continue;
        }
        let texts = [&grammar.text, &alone.grammar().text];
        let [grammar, without] = texts.map(|text| Recogniser::new(text).expect("it is one"));
        let text = |output: &str| format!("{}{output}", params.generation_prompt);
        // As far as a request without the schema allows it: behind that are tokens that end the
        // turn.
        let (reach, before) = (
            grammar.reach(&text(&output)).unwrap(),
            without.reach(&text(&output)).unwrap(),
        );
        let thinks = params
            .thinking
            .iter()
            .flat_map(|thinking| &thinking.ends)
            .any(|end| output.contains(end.trim()));
        if reach < before && !(choice == "auto" && thinks) {
            wrong.push(format!("{choice}: the grammar has no {output:?}"));
        }
        // What closes an answer may have to follow.
        let answers = if choice == "auto" {
            grammar.prefix(&text(ANSWER))
        } else {
            grammar.accepts(&text(ANSWER))
        };
        if answers != (choice == "auto") {
            wrong.push(format!("{choice}: the grammar, of the answer"));
        }
        let ended = params.parser.read(ANSWER.as_bytes(), EndedBy::Model);
        let read = ended.message.content == ANSWER && calls(&ended.message).is_empty();
        if choice == "auto" && !(read && ended.status == Status::Complete) {
            wrong.push(format!("{choice}: the answer is {ended:?}"));
        }
    }
    (wrong, looked)
}
