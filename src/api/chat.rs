//! Answers in the shape of OpenAI's chat completions.

use serde_json::{Map, Value, json};

use super::items::{Items, Part, Step};
use super::wire::{AnswerOptions, Event, Finish, Usage};
use crate::message::{Delta, DeltaKind, Message, chunk_delta};

/// The data of the last event of every stream.
const DONE: &str = "[DONE]";

pub(super) fn begin(options: &AnswerOptions) -> Vec<Event> {
    vec![chunk(options, json!({"role": "assistant", "content": null}), Value::Null)]
}

/// All steps as one chunk, if there is anything in them.
pub(super) fn steps(options: &AnswerOptions, items: &Items, steps: &[Step]) -> Vec<Event> {
    let delta = |kind, call, text| Delta { kind, call, text, span: 0..0 };
    let deltas = steps.iter().flat_map(|step| match *step {
        Step::Begin(item) => match items.items[item].part {
            Part::Call(call) => {
                let head = &items.calls[call];
                // Some clients add to the arguments before they are there.
                let begin = delta(DeltaKind::ToolArguments, call, "");
                vec![delta(DeltaKind::ToolName, call, &head.name), delta(DeltaKind::ToolId, call, &head.id), begin]
            }
            _ => Vec::new(),
        },
        Step::Text(item, text) => vec![match items.items[item].part {
            Part::Reasoning => delta(DeltaKind::Reasoning, 0, text),
            Part::Content => delta(DeltaKind::Content, 0, text),
            Part::Call(call) => delta(DeltaKind::ToolArguments, call, text),
        }],
        Step::End(_) => Vec::new(),
    });
    let delta = chunk_delta(deltas);
    if delta.as_object().is_some_and(Map::is_empty) {
        return Vec::new();
    }
    vec![chunk(options, delta, Value::Null)]
}

pub(super) fn finish(options: &AnswerOptions, items: &Items, finish: &Finish) -> Vec<Event> {
    let mut events = vec![chunk(options, json!({}), finish_reason(items, finish).into())];
    // A client that has not asked for it may not expect a chunk without choices.
    let wanted = options.request.is_null() || options.request["stream_options"]["include_usage"] == true;
    if let Some(tokens) = finish.usage.as_ref().filter(|_| wanted) {
        let mut last = head(options, "chat.completion.chunk");
        last.insert("choices".to_owned(), json!([]));
        last.insert("usage".to_owned(), usage(tokens));
        events.push(Event::new("", &Value::Object(last)));
    }
    events.push(done());
    events
}

pub(super) fn done() -> Event {
    Event { name: "", data: DONE.to_owned() }
}

pub(super) fn body(options: &AnswerOptions, items: &Items, message: &Message, finish: &Finish) -> Value {
    let calls = items.calls.iter().zip(&message.tool_calls).map(|(head, call)| {
        json!({"id": head.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}})
    });
    let calls: Vec<Value> = calls.collect();
    let no_content = message.content.is_empty() && !calls.is_empty();
    let content = if no_content { Value::Null } else { message.content.as_str().into() };
    let mut said = json!({"role": "assistant", "content": content, "refusal": null});
    if !message.reasoning_content.is_empty() {
        said["reasoning_content"] = message.reasoning_content.as_str().into();
    }
    if !calls.is_empty() {
        said["tool_calls"] = calls.into();
    }
    let reason = finish_reason(items, finish);
    let mut body = head(options, "chat.completion");
    let choice = json!({"index": options.choice, "message": said, "logprobs": null, "finish_reason": reason});
    body.insert("choices".to_owned(), json!([choice]));
    if let Some(tokens) = &finish.usage {
        body.insert("usage".to_owned(), usage(tokens));
    }
    Value::Object(body)
}

fn finish_reason(items: &Items, finish: &Finish) -> &'static str {
    match () {
        () if finish.is_cut() => "length",
        () if items.calls.is_empty() => "stop",
        () => "tool_calls",
    }
}

fn chunk(options: &AnswerOptions, delta: Value, reason: Value) -> Event {
    let mut chunk = head(options, "chat.completion.chunk");
    let choice = json!({"index": options.choice, "delta": delta, "logprobs": null, "finish_reason": reason});
    chunk.insert("choices".to_owned(), json!([choice]));
    Event::new("", &Value::Object(chunk))
}

fn head(options: &AnswerOptions, object: &str) -> Map<String, Value> {
    let mut head = Map::new();
    head.insert("id".to_owned(), options.id.as_str().into());
    head.insert("object".to_owned(), object.into());
    head.insert("created".to_owned(), options.created.into());
    head.insert("model".to_owned(), options.model.as_str().into());
    head
}

fn usage(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input.saturating_add(usage.output),
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    })
}
