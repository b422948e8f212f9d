//! Conversations on which templates raise, or of which they leave out a text: with `roles: "fit"`
//! they are rendered, and no text of what is changed is lost. All others are rendered as sent.

use chatparse::message::Roles;
use chatparse::{ChatTemplate, ErrorKind, Request};
use serde_json::{Value, json};

use super::written::tool;

/// The message has a text of its own, `qz` and its number.
fn messages(roles: &str) -> Value {
    let call = |id: &str| {
        let function = json!({"name": "get_weather", "arguments": "{\"qk1town\": \"Oslo\"}"});
        json!({"type": "function", "id": id, "function": function})
    };
    let result = |text: &str, id: &str| json!({"role": "tool", "content": text, "tool_call_id": id, "name": "get_weather"});
    let message = |(index, role): (usize, &str)| {
        let text = format!("qz{index}q");
        match role {
            "c" => json!({"role": "assistant", "content": "", "tool_calls": [call("call00001")]}),
            "o" => {
                json!({"role": "assistant", "content": "", "tool_calls": [call("toolu_01_an-odd_id")]})
            }
            "t" => result(&text, "call00001"),
            "r" => result(&text, "toolu_01_an-odd_id"),
            "s" => json!({"role": "system", "content": text}),
            "d" => json!({"role": "developer", "content": text}),
            "p" => json!({"role": "user", "content": [{"type": "text", "text": text}]}),
            "a" => json!({"role": "assistant", "content": text}),
            _ => json!({"role": "user", "content": text}),
        }
    };
    roles
        .split("")
        .filter(|role| !role.is_empty())
        .enumerate()
        .map(message)
        .collect()
}

/// System messages in the middle and at the end, two of them, developers; neighbours of one role;
/// nobody else's turn first; no user; odd ids; users behind results and calls; results without
/// calls.
const CONVERSATIONS: [&str; 24] = [
    "su", "us", "usu", "suasu", "uaus", "ssu", "du", "sdu", "suadu", "uu", "upu", "uaau", "au",
    "sau", "sa", "s", "uor", "uctu", "scta", "ct", "ucu", "tu", "ucst", "uctcu",
];

/// What is wrong, and how many requests were looked at.
pub fn check(template: &ChatTemplate) -> (Vec<String>, usize) {
    let tools = json!([tool("get_weather", &json!({"qk1town": {"type": "string"}}))]);
    let (mut wrong, mut looked) = (Vec::new(), 0);
    for roles in CONVERSATIONS {
        let messages = messages(roles);
        let with = |more: Value| {
            let mut body = json!({"messages": messages, "now": 0});
            if roles.contains(['c', 'o', 't']) {
                body["tools"] = tools.clone();
            }
            body.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            Request::from_json(&body).unwrap()
        };
        looked += 1;
        let (sent, fit) = (with(json!({"roles": "as_sent"})), with(json!({})));
        let found = match (template.params(&sent), template.params(&fit)) {
            (Ok(sent), Ok(fit)) if sent.prompt == fit.prompt && fit.notes == sent.notes => Ok(()),
            (Ok(sent), Ok(params)) if !sent.notes.is_empty() => is_fit(template, &fit, &params),
            (Err(sent), Err(fit)) if sent.message() == fit.message() => Ok(()),
            (Err(error), Ok(params)) if error.kind() == ErrorKind::Template => {
                is_fit(template, &fit, &params)
            }
            (sent, fit) => Err(format!(
                "{:?}, {:?}",
                sent.map(|sent| sent.prompt),
                fit.map(|fit| fit.notes)
            )),
        };
        wrong.extend(found.err().map(|found| format!("{roles}: {found}")));
    }
    (wrong, looked)
}

fn is_fit(
    template: &ChatTemplate,
    request: &Request,
    params: &chatparse::Params,
) -> Result<(), String> {
    let prompt = &params.prompt;
    let told = |what: &str| Err(format!("{what}: {:?} {prompt:?}", params.notes));
    if params.notes.is_empty() {
        return told("no note");
    }
    for (index, message) in request.messages.iter().enumerate() {
        let text = message.text();
        // A template may leave out what stays as it was sent.
        let is_changed = params
            .notes
            .iter()
            .any(|note| note.starts_with(&format!("messages[{index}] ")));
        let count = prompt.matches(&text).count();
        if !text.is_empty() && (count > 1 || is_changed && count == 0) {
            return told(&text);
        }
    }
    if template.prompt(request).as_ref() != Ok(prompt) {
        return told("another prompt");
    }
    let segments = template
        .segments(request)
        .map_err(|error| error.to_string())?;
    if segments.prompt != *prompt {
        return told("the segments' prompt");
    }
    for segment in &segments.segments {
        if let chatparse::segments::Origin::Message { index, path } = &segment.origin {
            let text = request.messages[*index].text();
            let shown = prompt[segment.bytes.clone()].trim();
            if path.starts_with("/content") && !text.contains(shown) {
                return told(&format!(
                    "the segment of messages[{index}]{path}: {shown:?}"
                ));
            }
        }
    }
    // The history of a session is what was sent.
    let session = template
        .session(request.clone())
        .map_err(|error| error.to_string())?;
    let next = session.next(b"Yes.", &json!([{"role": "user", "content": "Sure?"}]));
    match next {
        Ok(next) if next.session.params.prompt.contains("Sure?") => Ok(()),
        Ok(_) => told("the next turn"),
        // No change makes room for another turn.
        Err(error) if error.kind() == ErrorKind::Template && raises(template, request) => Ok(()),
        Err(error) => told(&error.to_string()),
    }
}

/// Whether the template raises on a request as it was sent.
fn raises(template: &ChatTemplate, request: &Request) -> bool {
    let mut sent = request.clone();
    sent.roles = Roles::AsSent;
    template.params(&sent).is_err()
}
