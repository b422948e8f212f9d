//! What a conversation says is in the prompt, with its origin, or has a note; and what was arranged
//! stays so in the next turn.

use chatparse::segments::{Origin, Segments};
use chatparse::{ChatTemplate, Request};
use serde_json::{Value, json};

use super::written::tool;

fn said(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

fn call(name: &str, word: &str, id: &str) -> Value {
    let function = json!({"name": name, "arguments": json!({"word": word}).to_string()});
    json!({"type": "function", "id": id, "function": function})
}

fn result(text: &str, id: &str) -> Value {
    json!({"role": "tool", "content": text, "tool_call_id": id})
}

/// Each text that counts begins with a Q.
fn conversations() -> [Value; 5] {
    let calls = json!([
        call("get_weather", "Qargone", "call00001"),
        call("look_up", "Qargtwo", "call00002")
    ]);
    let two = |text: &str| json!({"role": "assistant", "content": text, "tool_calls": calls});
    let user = || said("user", "Quserone");
    let (first, second) = (
        result("Qresone", "call00001"),
        result("Qrestwo", "call00002"),
    );
    [
        json!([
            said("system", "Qsysone"),
            said("developer", "Qdevone"),
            user()
        ]),
        json!([
            user(),
            said("assistant", "Qtextone"),
            said("system", "Qsysone"),
            said("user", "Qusertwo")
        ]),
        json!([user(), two(""), first, second]),
        json!([user(), two(""), second, first]),
        json!([
            said("system", "Qsysone"),
            user(),
            two("Qtextone"),
            second,
            first,
            said("assistant", "Qtexttwo"),
            said("user", "Qusertwo")
        ]),
    ]
}

/// The texts of a message.
fn texts(message: &Value) -> Vec<String> {
    let text = message.to_string();
    let words = text
        .split(|c: char| !c.is_ascii_alphabetic())
        .filter(|word| word.starts_with('Q'));
    words.map(str::to_owned).collect()
}

/// Whether a text is of this message wherever it is in the prompt, or of an unknown one.
fn is_of(segments: &Segments, text: &str, message: usize) -> bool {
    segments.prompt.match_indices(text).all(|(at, _)| {
        let segment = segments
            .segments
            .iter()
            .find(|segment| segment.bytes.contains(&at));
        segment.is_some_and(|segment| match &segment.origin {
            Origin::Message { index, .. } => *index == message,
            Origin::Unknown => true,
            _ => false,
        })
    })
}

/// What is wrong, and how many requests were looked at.
pub fn check(template: &ChatTemplate) -> (Vec<String>, usize) {
    let tools =
        ["get_weather", "look_up"].map(|name| tool(name, &json!({"word": {"type": "string"}})));
    let (mut wrong, mut looked) = (Vec::new(), 0);
    for messages in conversations() {
        for roles in ["fit", "as_sent"] {
            let body = json!({"messages": messages, "tools": tools, "roles": roles, "now": 0});
            let request = Request::from_json(&body).unwrap();
            let Ok(params) = template.params(&request) else {
                continue;
            };
            let segments = template.segments(&request).expect("it has params");
            looked += 1;
            if segments.prompt != params.prompt {
                wrong.push(format!(
                    "{roles}: segments of another prompt: {:?}\n{:?}",
                    segments.prompt, params.prompt
                ));
            }
            for (index, message) in messages.as_array().unwrap().iter().enumerate() {
                let noted = params
                    .notes
                    .iter()
                    .any(|note| note.starts_with(&format!("messages[{index}].")));
                for text in texts(message) {
                    if !noted && !params.prompt.contains(&text) {
                        wrong.push(format!(
                            "{roles}: {text} is lost: {:?}\n{:?}",
                            params.prompt, params.notes
                        ));
                    }
                    if !is_of(&segments, &text, index) {
                        wrong.push(format!(
                            "{roles}: {text} is of another message: {:?}",
                            segments.segments
                        ));
                    }
                }
            }
        }
    }
    (wrong, looked)
}
