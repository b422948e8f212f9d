//! Any body of an API: an error that says where, or a request. What servers answer fits the API,
//! whatever the model wrote.

use chatparse::api::{Answer, AnswerOptions, Api, Finish};
use chatparse::{EndedBy, ErrorKind, Request, Stream};
use serde_json::{Value, json};

use super::choices::Choices;
use super::known;

const WORDS: &[&str] = &[
    "input",
    "instructions",
    "messages",
    "system",
    "role",
    "user",
    "assistant",
    "tool",
    "content",
    "type",
    "text",
    "message",
    "input_text",
    "output_text",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "call_id",
    "id",
    "name",
    "f",
    "arguments",
    "{}",
    "output",
    "reasoning",
    "summary",
    "tool_use",
    "tool_result",
    "tool_use_id",
    "input_schema",
    "thinking",
    "signature",
    "tools",
    "function",
    "parameters",
    "custom",
    "format",
    "grammar",
    "tool_choice",
    "auto",
    "any",
    "required",
    "none",
    "max_tokens",
    "stream",
    "status",
    "completed",
    "image_url",
    "source",
    "base64",
    "is_error",
    "cache_control",
    "previous_response_id",
    "strict",
    "parallel_tool_calls",
    "reasoning_effort",
];

/// A body of each API with a call, its result, and a tool.
fn body(api: Api) -> Value {
    let schema = json!({"type": "object", "properties": {"x": {"type": "string"}}});
    match api {
        Api::Responses => json!({
            "instructions": "Be brief.",
            "input": [
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
                {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Why"}]},
                {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "1", "output": "4"},
            ],
            "tools": [{"type": "function", "name": "f", "parameters": schema}, {"type": "custom", "name": "g"}],
        }),
        Api::Messages => json!({
            "system": "Be brief.",
            "messages": [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "4"}]},
            ],
            "tools": [{"name": "f", "input_schema": schema}],
        }),
        _ => known::request(1),
    }
}

pub fn case(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let api = *choices.pick(&[Api::ChatCompletions, Api::Responses, Api::Messages]);
    let mut body = match Choices::text(bytes).map(serde_json::from_str) {
        Some(Ok(body)) => body,
        Some(Err(_)) => return,
        None => body(api),
    };
    for _ in 0..choices.below(6) {
        choices.mutate_json(&mut body, WORDS);
    }
    let read = api
        .request(&body)
        .and_then(|chat| Request::from_json(&chat));
    let request = match read {
        Ok(request) => request,
        Err(error) => {
            assert!(
                matches!(error.kind(), ErrorKind::InvalidArgument | ErrorKind::Limit),
                "{body}: {error}"
            );
            assert!(!error.message().is_empty(), "{body}");
            return;
        }
    };
    let Ok(params) = known::template(choices.below(known::templates())).params(&request) else {
        return;
    };
    let mut stream = Stream::new(&params.parser);
    let mut answer = Answer::new(api, AnswerOptions::default());
    let said = choices.bytes(100);
    let events = answer
        .begin(1)
        .and_then(|_| answer.deltas(stream.feed(said)));
    events.unwrap_or_else(|error| panic!("{body}: {error}"));
    let ended = stream.finish(EndedBy::Model);
    answer
        .finish(&ended, &Finish::default())
        .unwrap_or_else(|error| panic!("{body}: {error}"));
}
