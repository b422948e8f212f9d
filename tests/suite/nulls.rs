//! Null among arguments that are written one by one: as JSON's word or Python's, or as nothing
//! where no text is allowed.

use chatparse::{ChatTemplate, EndedBy, Request, Stream};
use serde_json::{Value, json};

/// Built-in templates that write arguments one by one.
const TEMPLATES: &[&str] = &[
    "tag-arguments",
    "tag-parameters",
    "qwen3-coder",
    "ling-3",
    "minicpm5",
    "minimax-m3",
];

fn request(answer: Option<Value>) -> Request {
    let question = json!({"role": "user", "content": "Well?"});
    let schema = |kind: &str| json!({"type": [kind, "null"]});
    let parameters = json!({"type": "object", "properties": {"many": schema("integer"), "text": schema("string")}});
    let tool = json!({"type": "function", "function": {"name": "note", "description": "Notes", "parameters": parameters}});
    let messages: Vec<Value> = [question].into_iter().chain(answer.clone()).collect();
    let prompt = answer.is_none();
    let request = json!({"messages": messages, "tools": [tool], "add_generation_prompt": prompt, "now": 0,
        "reasoning_format": "none"});
    Request::from_json(&request).unwrap()
}

/// The arguments that are read where `many` stands as one text, and `text` as another.
fn read(name: &str, many: &str, text: &str) -> Value {
    let template = ChatTemplate::builtin(name).unwrap();
    let arguments = json!({"many": 71303, "text": "zqzq"}).to_string();
    let call = json!({"id": "call00001", "type": "function", "function": {"name": "note", "arguments": arguments}});
    let answer = json!({"role": "assistant", "content": "", "tool_calls": [call]});
    let params = template.params(&request(None)).unwrap();
    let whole = template.prompt(&request(Some(answer))).unwrap();
    let turn = whole
        .strip_prefix(params.prompt.as_str())
        .unwrap_or_else(|| {
            let call = whole
                .find("71303")
                .map_or(0, |at| whole[..at].rfind("note").unwrap());
            let start = whole[..call]
                .rfind(['\n', '>'])
                .map_or(0, |at| whole[..=at].rfind('<').unwrap_or(at));
            &whole[start..]
        });
    let turn = turn.replace("71303", many).replace("zqzq", text);
    let mut stream = Stream::new(&params.parser);
    let _ = stream.feed(turn.as_bytes());
    let message = stream.finish(EndedBy::Model).message;
    let call = message
        .tool_calls
        .first()
        .unwrap_or_else(|| panic!("{name}: no call in {turn:?}"));
    serde_json::from_str(&call.arguments)
        .unwrap_or_else(|error| panic!("{name}: {error}: {}", call.arguments))
}

#[test]
fn words_for_null() {
    for name in TEMPLATES {
        for word in ["null", "None"] {
            assert_eq!(
                read(name, word, "a"),
                json!({"many": null, "text": "a"}),
                "{name}, {word}"
            );
            assert_eq!(
                read(name, "3", word),
                json!({"many": 3, "text": null}),
                "{name}, {word}"
            );
        }
        assert_eq!(
            read(name, "3", "nullable"),
            json!({"many": 3, "text": "nullable"}),
            "{name}"
        );
    }
}

#[test]
fn nothing_is_null_where_no_text_is_allowed() {
    for name in TEMPLATES {
        assert_eq!(
            read(name, "", "a"),
            json!({"many": null, "text": "a"}),
            "{name}"
        );
        assert_eq!(
            read(name, "3", ""),
            json!({"many": 3, "text": ""}),
            "{name}"
        );
    }
}
