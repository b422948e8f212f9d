//! Answers in the shape of OpenAI's chat completions.

use serde_json::Value;

use super::items::{CallHead, Items, Part, Step};
use super::shared::field_of;
use super::wire::{AnswerOptions, Event, Finish, Usage};
use chatparse_message::Message;

/// The common part of an answer's chunks, serialised once, because there are many and most hold a
/// word.
#[derive(Clone, Debug)]
pub struct Writer {
    head: String,
}

impl Writer {
    pub fn new(options: &AnswerOptions) -> Writer {
        let mut head = head(options, "chat.completion.chunk").to_string();
        // The rest of the object follows.
        head.pop();
        Writer { head }
    }

    pub fn begin(&self, items: &Items) -> Vec<Event> {
        let delta = json!({"role": "assistant", "content": null});
        vec![self.chunk(&choice(items, "delta", delta, Value::Null, None))]
    }

    /// Converts all steps to one chunk, unless they are empty. `logprobs`: of tokens of the
    /// content.
    pub fn steps(&self, items: &mut Items, steps: &[Step]) -> Vec<Event> {
        let delta = delta(items, steps);
        if delta == json!({}) {
            return Vec::new();
        }
        let logprobs = match delta["content"] {
            Value::Null => Value::Null,
            _ => logprobs_json(&items.logprobs.send(0)),
        };
        vec![self.chunk(&choice(items, "delta", delta, logprobs, None))]
    }

    pub fn finish(&self, items: &Items, finish: &Finish) -> Vec<Event> {
        let choice = choice(items, "delta", json!({}), Value::Null, Some(finish));
        let mut events = vec![self.chunk(&choice)];
        // Clients that did not request it may not accept a chunk without choices.
        let request = &items.options.request;
        let includes_usage =
            request.is_null() || request["stream_options"]["include_usage"] == true;
        if let Some(tokens) = finish.usage.as_ref().filter(|_| includes_usage) {
            let data = format!("{},\"choices\":[],\"usage\":{}}}", self.head, usage(tokens));
            events.push(Event { name: "", data });
        }
        events.push(done());
        events
    }

    fn chunk(&self, choice: &Value) -> Event {
        Event {
            name: "",
            data: format!("{},\"choices\":[{choice}]}}", self.head),
        }
    }
}

/// The choice with what is said: the field with this name. `finish`: how it ended, if it has.
fn choice(
    items: &Items,
    name: &str,
    said: Value,
    logprobs: Value,
    finish: Option<&Finish>,
) -> Value {
    let reason = finish.map(|finish| match () {
        () if finish.is_cut() => "length",
        () if items.calls.is_empty() => "stop",
        () => "tool_calls",
    });
    let mut choice = json!({"index": items.options.choice, name: said, "logprobs": logprobs, "finish_reason": reason});
    if finish.is_some() {
        items.set_incomplete(&mut choice);
    }
    choice
}

/// The `delta` of a chunk for these steps, which are in the order of their calls.
fn delta(items: &Items, steps: &[Step]) -> Value {
    let (mut delta, mut calls) = (json!({}), Vec::<Value>::new());
    for step in steps {
        match *step {
            Step::Begin(item) => {
                if let Part::Call(call) = items.items[item].part {
                    let head = &items.calls[call];
                    // Some clients append to the arguments without checking that they exist.
                    let (kind, called) = called_as(head, "");
                    calls.push(json!({"index": call, "id": head.id, "type": kind, kind: called}));
                }
            }
            Step::Text(item, ref text) => {
                let said = match items.items[item].part {
                    Part::Reasoning => &mut delta["reasoning_content"],
                    Part::Content => &mut delta["content"],
                    Part::Call(call) => {
                        if calls.last().is_none_or(|last| last["index"] != call) {
                            calls.push(json!({"index": call}));
                        }
                        let (kind, field) = names(&items.calls[call]);
                        let last = calls.len() - 1;
                        &mut calls[last][kind][field]
                    }
                };
                match said {
                    Value::String(said) => said.push_str(text),
                    missing => *missing = text.as_ref().into(),
                }
            }
            Step::End(_) => {}
        }
    }
    if !calls.is_empty() {
        delta["tool_calls"] = calls.into();
    }
    delta
}

/// The kind of a call, and its field for what the model has written.
fn names(head: &CallHead) -> (&'static str, &'static str) {
    let kind = if head.tool.custom {
        "custom"
    } else {
        "function"
    };
    (kind, field_of(kind))
}

/// The kind of a call, and the object of that name, with what the model has written.
fn called_as(head: &CallHead, written: &str) -> (&'static str, Value) {
    let (kind, field) = names(head);
    let mut called = json!({"name": head.tool.name, field: written});
    head.tool.set_namespace(&mut called);
    (kind, called)
}

/// The last event of every stream.
pub fn done() -> Event {
    Event {
        name: "",
        data: "[DONE]".to_owned(),
    }
}

pub fn body(items: &Items, message: &Message, finish: &Finish) -> Value {
    let mut calls = Vec::new();
    for (head, _) in items.calls.iter().zip(&message.tool_calls) {
        let text = items.text_of(&items.items[head.item], message);
        let (kind, called) = called_as(head, &text);
        calls.push(json!({"id": head.id, "type": kind, kind: called}));
    }
    let (reasoning, content) = items.texts(message);
    let content = Some(content).filter(|text| !text.is_empty() || calls.is_empty());
    let mut said = json!({"role": "assistant", "content": content, "refusal": null});
    if !reasoning.is_empty() {
        said["reasoning_content"] = reasoning.into();
    }
    if !calls.is_empty() {
        said["tool_calls"] = calls.into();
    }
    let mut body = head(&items.options, "chat.completion");
    let logprobs = logprobs_json(&items.logprobs.of(0));
    body["choices"] = json!([choice(items, "message", said, logprobs, Some(finish))]);
    if let Some(tokens) = &finish.usage {
        body["usage"] = usage(tokens);
    }
    body
}

fn logprobs_json(entries: &[Value]) -> Value {
    if entries.is_empty() {
        Value::Null
    } else {
        json!({"content": entries, "refusal": null})
    }
}

fn head(options: &AnswerOptions, object: &str) -> Value {
    json!({"id": options.id, "object": object, "created": options.created, "model": options.model})
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
