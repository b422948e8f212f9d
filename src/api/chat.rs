//! Answers in the shape of OpenAI's chat completions.

use serde_json::{Map, Value};

use super::called;
use super::items::{Items, Part, Step};
use super::logprobs::Logprobs;
use super::wire::{AnswerOptions, Event, Finish, Usage};
use chatparse_message::Message;
use chatparse_stream::{Delta, DeltaKind, chunk_delta};

/// The data of the last event of every stream.
const DONE: &str = "[DONE]";

/// The common part of an answer's chunks, serialised once, because there are many and most hold a word.
#[derive(Clone, Debug, Default)]
pub(super) struct Writer {
    head: String,
}

impl Writer {
    pub fn new(options: &AnswerOptions) -> Writer {
        let mut head = Value::Object(head(options, "chat.completion.chunk")).to_string();
        // The rest of the object follows.
        head.pop();
        Writer { head }
    }

    pub fn begin(&self, options: &AnswerOptions) -> Vec<Event> {
        vec![self.chunk(options, &json!({"role": "assistant", "content": null}), &Value::Null, "null")]
    }

    /// Converts all steps to one chunk, unless they are empty. `logprobs`: of tokens of the content.
    pub fn steps(&self, options: &AnswerOptions, items: &Items, steps: &[Step], logprobs: &mut Logprobs) -> Vec<Event> {
        let delta = delta(items, steps);
        if delta.as_object().is_some_and(Map::is_empty) {
            return Vec::new();
        }
        let sent = if delta.get("content").is_some() { logprobs.send(0) } else { Vec::new() };
        vec![self.chunk(options, &delta, &logprobs_json(&sent), "null")]
    }

    pub fn finish(&self, options: &AnswerOptions, items: &Items, finish: &Finish) -> Vec<Event> {
        let reason = format!("\"{}\"", finish_reason(items, finish));
        let incomplete = items.incomplete_calls();
        let reason = match incomplete.is_empty() {
            true => reason,
            false => format!("{reason},\"incomplete_calls\":{}", json!(incomplete)),
        };
        let mut events = vec![self.chunk(options, &json!({}), &Value::Null, &reason)];
        // Clients that did not request it may not accept a chunk without choices.
        let includes_usage = options.request.is_null() || options.request["stream_options"]["include_usage"] == true;
        if let Some(tokens) = finish.usage.as_ref().filter(|_| includes_usage) {
            let data = format!("{},\"choices\":[],\"usage\":{}}}", self.head, usage(tokens));
            events.push(Event { name: "", data });
        }
        events.push(done());
        events
    }

    /// `reason` is JSON, which fields of the choice may follow.
    fn chunk(&self, options: &AnswerOptions, delta: &Value, logprobs: &Value, reason: &str) -> Event {
        let (head, index) = (&self.head, options.choice);
        let choice = format!("\"index\":{index},\"delta\":{delta},\"logprobs\":{logprobs},\"finish_reason\":{reason}");
        Event { name: "", data: format!("{head},\"choices\":[{{{choice}}}]}}") }
    }
}

/// The `delta` of a chunk for these steps.
fn delta(items: &Items, steps: &[Step]) -> Value {
    let delta = |kind, call, text| Delta { kind, call, text, span: 0..0 };
    let deltas = steps.iter().flat_map(|step| match step {
        Step::Begin(item) => match items.items[*item].part {
            Part::Call(call) => {
                let head = &items.calls[call];
                // Some clients append to the arguments without checking that they exist.
                let begin = delta(DeltaKind::ToolArguments, call, "");
                vec![delta(DeltaKind::ToolName, call, &head.tool.name), delta(DeltaKind::ToolId, call, &head.id), begin]
            }
            _ => Vec::new(),
        },
        Step::Text(item, text) => vec![match items.items[*item].part {
            Part::Reasoning => delta(DeltaKind::Reasoning, 0, text),
            Part::Content => delta(DeltaKind::Content, 0, text),
            Part::Call(call) => delta(DeltaKind::ToolArguments, call, text),
        }],
        Step::End(_) => Vec::new(),
    });
    let mut delta = chunk_delta(deltas);
    for call in delta.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten() {
        let index = call["index"].as_u64().and_then(|index| usize::try_from(index).ok());
        let Some(head) = index.and_then(|index| items.calls.get(index)) else { continue };
        if call["function"]["name"].is_string() {
            set_namespace(&mut call["function"], &head.tool.namespace);
        }
        if head.tool.custom {
            make_custom(call);
        }
    }
    delta
}

fn set_namespace(function: &mut Value, namespace: &str) {
    if !namespace.is_empty() {
        function["namespace"] = namespace.into();
    }
}

/// Converts the call in a chunk to one of a custom tool.
fn make_custom(call: &mut Value) {
    let Some(call) = call.as_object_mut() else { return };
    if let Some(kind) = call.get_mut("type") {
        *kind = "custom".into();
    }
    if let Some(Value::Object(mut function)) = call.remove("function") {
        if let Some(text) = function.remove("arguments") {
            function.insert("input".to_owned(), text);
        }
        call.insert("custom".to_owned(), function.into());
    }
}

pub(super) fn done() -> Event {
    Event { name: "", data: DONE.to_owned() }
}

pub(super) fn body(
    options: &AnswerOptions,
    items: &Items,
    message: &Message,
    logprobs: &Logprobs,
    finish: &Finish,
) -> Value {
    let calls = items.calls.iter().zip(&message.tool_calls).map(|(head, call)| {
        let (kind, field) = if head.tool.custom { ("custom", "input") } else { ("function", "arguments") };
        let text = if head.tool.custom { called::input(&call.arguments) } else { call.arguments.clone() };
        let mut function = json!({"name": head.tool.name, field: text});
        set_namespace(&mut function, &head.tool.namespace);
        json!({"id": head.id, "type": kind, kind: function})
    });
    let calls: Vec<Value> = calls.collect();
    let (reasoning, content) = items.texts(message);
    let no_content = content.is_empty() && !calls.is_empty();
    let content = if no_content { Value::Null } else { content.into() };
    let mut said = json!({"role": "assistant", "content": content, "refusal": null});
    if !reasoning.is_empty() {
        said["reasoning_content"] = reasoning.into();
    }
    if !calls.is_empty() {
        said["tool_calls"] = calls.into();
    }
    let reason = finish_reason(items, finish);
    let mut body = head(options, "chat.completion");
    let logprobs = logprobs_json(&logprobs.of(0..1));
    let mut choice = json!({"index": options.choice, "message": said, "logprobs": logprobs, "finish_reason": reason});
    let incomplete = items.incomplete_calls();
    if !incomplete.is_empty() {
        choice["incomplete_calls"] = json!(incomplete);
    }
    body.insert("choices".to_owned(), json!([choice]));
    if let Some(tokens) = &finish.usage {
        body.insert("usage".to_owned(), usage(tokens));
    }
    Value::Object(body)
}

fn logprobs_json(entries: &[Value]) -> Value {
    if entries.is_empty() { Value::Null } else { json!({"content": entries, "refusal": null}) }
}

fn finish_reason(items: &Items, finish: &Finish) -> &'static str {
    match () {
        () if finish.is_cut() => "length",
        () if items.calls.is_empty() => "stop",
        () => "tool_calls",
    }
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
