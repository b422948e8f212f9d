//! Content as parts: one text part is rendered as its text, and no part as data.

use chatparse::{ChatTemplate, Params, Request};
use serde_json::{Value, json};

use super::written::tool;

const TEXT: &str = "Be brief.";
const ROLES: [&str; 4] = ["system", "user", "assistant", "tool"];

fn messages(role: &str, content: &Value) -> Value {
    let user = json!({"role": "user", "content": "Well?"});
    let message = json!({"role": role, "content": content});
    match role {
        "system" => json!([message, user]),
        "user" => json!([message]),
        "assistant" => json!([user, message, user]),
        _ => {
            let function = json!({"name": "get_weather", "arguments": "{\"town\": \"Oslo\"}"});
            let call = json!({"type": "function", "id": "call00001", "function": function});
            let result = json!({"role": "tool", "content": content, "tool_call_id": "call00001", "name": "get_weather"});
            json!([user, {"role": "assistant", "content": "", "tool_calls": [call]}, result])
        }
    }
}

/// What is wrong, and how many requests were looked at.
pub fn check(template: &ChatTemplate) -> (Vec<String>, usize) {
    let tools = json!([tool("get_weather", &json!({"town": {"type": "string"}}))]);
    let (mut wrong, mut looked) = (Vec::new(), 0);
    for role in ROLES {
        for tools in [&tools, &json!([])]
            .into_iter()
            .take(if role == "tool" { 1 } else { 2 })
        {
            let prompt = |content: Value| {
                let body = json!({"messages": messages(role, &content), "tools": tools, "now": 0});
                template.prompt(&Request::from_json(&body).unwrap())
            };
            // A template may not know the role, or leave such messages out.
            let Ok(text) = prompt(json!(TEXT)).map_err(drop) else {
                continue;
            };
            if !text.contains(TEXT) {
                continue;
            }
            looked += 1;
            let part = |text: &str| json!({"type": "text", "text": text});
            match prompt(json!([part(TEXT)])) {
                Ok(parts) if parts == text => {}
                other => wrong.push(format!("{role}: {text:?}\n  as a part: {other:?}")),
            }
            let two = prompt(json!([part(TEXT), part("And kind.")]));
            let count = |prompt: &str| {
                ["type\"", "type'", "type:"].map(|data| prompt.matches(data).count())
            };
            let printed = |two: &String| count(two) != count(&text);
            if !two
                .as_ref()
                .is_ok_and(|two| two.contains("And kind.") && !printed(two))
            {
                wrong.push(format!("{role}: two parts: {two:?}"));
            }
        }
    }
    (wrong, looked)
}

/// Media beside a text, and alone: the text is shown, and each medium has its place.
pub fn check_media(template: &ChatTemplate) -> (Vec<String>, usize) {
    let tools = json!([tool("get_weather", &json!({"town": {"type": "string"}}))]);
    let image = || json!({"type": "image_url", "image_url": {"url": "data:,"}});
    let text = |text: &str| json!({"type": "text", "text": text});
    let (mut wrong, mut looked) = (Vec::new(), 0);
    for role in ROLES {
        let params = |content: Value| {
            let body = json!({"messages": messages(role, &content), "tools": tools, "now": 0});
            template.params(&Request::from_json(&body).unwrap())
        };
        let times = |params: &Params, text: &str| params.prompt.matches(text).count();
        let Ok(plain) = params(json!(TEXT)) else {
            continue;
        };
        let once = times(&plain, TEXT);
        if once == 0 {
            continue;
        }
        let shapes = [
            json!([text(TEXT), image()]),
            json!([image(), text(TEXT)]),
            json!([text(TEXT), image(), text("And kind."), {"type": "input_audio", "input_audio": {"data": ""}}]),
            json!([image(), image(), text(TEXT), {"type": "file", "file": {}}]),
        ];
        for shape in shapes {
            looked += 1;
            let count = shape
                .as_array()
                .unwrap()
                .iter()
                .filter(|part| part["type"] != "text")
                .count();
            let found = params(shape.clone());
            let is_right = found.as_ref().is_ok_and(|found| {
                let each = |text: &str| {
                    found
                        .media
                        .iter()
                        .filter(|media| media.text == text)
                        .count()
                        * once
                };
                times(found, TEXT) == once
                    && found.media.len() == count
                    && found
                        .media
                        .iter()
                        .all(|media| times(found, &media.text) == each(&media.text))
            });
            if !is_right {
                wrong.push(format!(
                    "{role}: {shape}: {:?}",
                    found.map(|found| (found.prompt, found.media))
                ));
            }
        }
    }
    (wrong, looked)
}
