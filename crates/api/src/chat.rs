//! Answers in the shape of OpenAI's chat completions.

use serde_json::{Map, Value};

use super::called;
use super::items::{CallHead, Items, Part, Step};
use super::wire::{AnswerOptions, Event, Finish, Usage};
use chatparse_message::Message;

/// The common part of an answer's chunks, serialised once, because there are many and most hold a
/// word.
#[derive(Clone, Debug)]
pub(super) struct Writer {
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
        vec![self.chunk(
            items,
            &json!({"role": "assistant", "content": null}),
            &Value::Null,
            "null",
        )]
    }

    /// Converts all steps to one chunk, unless they are empty. `logprobs`: of tokens of the
    /// content.
    pub fn steps(&self, items: &mut Items, steps: &[Step]) -> Vec<Event> {
        let delta = delta(items, steps);
        if delta.is_empty() {
            return Vec::new();
        }
        let logprobs = match delta.contains_key("content") {
            true => logprobs_json(&items.logprobs.send(0)),
            false => Value::Null,
        };
        vec![self.chunk(items, &delta.into(), &logprobs, "null")]
    }

    pub fn finish(&self, items: &Items, finish: &Finish) -> Vec<Event> {
        let mut reason = format!("\"{}\"", finish_reason(items, finish));
        let incomplete = items.incomplete_calls();
        if !incomplete.is_empty() {
            reason += &format!(",\"incomplete_calls\":{}", json!(incomplete));
        }
        let mut events = vec![self.chunk(items, &json!({}), &Value::Null, &reason)];
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

    /// `reason` is JSON, which fields of the choice may follow.
    fn chunk(&self, items: &Items, delta: &Value, logprobs: &Value, reason: &str) -> Event {
        let (head, index) = (&self.head, items.options.choice);
        let choice = format!(
            "\"index\":{index},\"delta\":{delta},\"logprobs\":{logprobs},\"finish_reason\":{reason}"
        );
        Event {
            name: "",
            data: format!("{head},\"choices\":[{{{choice}}}]}}"),
        }
    }
}

/// The `delta` of a chunk for these steps, which are in the order of their calls.
fn delta(items: &Items, steps: &[Step]) -> Map<String, Value> {
    let (mut delta, mut calls) = (Map::new(), Vec::<Value>::new());
    for step in steps {
        match *step {
            Step::Begin(item) => {
                if let Part::Call(call) = items.items[item].part {
                    let head = &items.calls[call];
                    // Some clients append to the arguments without checking that they exist.
                    let (kind, called) = called_as(head, String::new());
                    calls.push(json!({"index": call, "id": head.id, "type": kind, kind: called}));
                }
            }
            Step::Text(item, ref text) => {
                let said = match items.items[item].part {
                    Part::Reasoning => delta
                        .entry("reasoning_content")
                        .or_insert_with(|| "".into()),
                    Part::Content => delta.entry("content").or_insert_with(|| "".into()),
                    Part::Call(call) => {
                        if calls.last().is_none_or(|last| last["index"] != call) {
                            calls.push(json!({"index": call}));
                        }
                        let (kind, field) = names(&items.calls[call]);
                        let last = calls.len() - 1;
                        &mut calls[last][kind][field]
                    }
                };
                *said = [said.as_str().unwrap_or_default(), text].concat().into();
            }
            Step::End(_) => {}
        }
    }
    if !calls.is_empty() {
        delta.insert("tool_calls".to_owned(), calls.into());
    }
    delta
}

/// The kind of a call, and its field for what the model has written.
fn names(head: &CallHead) -> (&'static str, &'static str) {
    if head.tool.custom {
        ("custom", "input")
    } else {
        ("function", "arguments")
    }
}

/// The kind of a call, and the object of that name, with what the model has written.
fn called_as(head: &CallHead, written: String) -> (&'static str, Value) {
    let (kind, field) = names(head);
    let mut called = json!({"name": head.tool.name, field: written});
    head.tool.set_namespace(&mut called);
    (kind, called)
}

/// The last event of every stream.
pub(super) fn done() -> Event {
    Event {
        name: "",
        data: "[DONE]".to_owned(),
    }
}

pub(super) fn body(items: &Items, message: &Message, finish: &Finish) -> Value {
    let mut calls = Vec::new();
    for (head, call) in items.calls.iter().zip(&message.tool_calls) {
        let text = match head.tool.custom {
            true => called::input(&call.arguments),
            false => call.arguments.clone(),
        };
        let (kind, called) = called_as(head, text);
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
    let reason = finish_reason(items, finish);
    let mut body = head(&items.options, "chat.completion");
    let logprobs = logprobs_json(&items.logprobs.of(0..1));
    let mut choice = json!({"index": items.options.choice, "message": said, "logprobs": logprobs, "finish_reason": reason});
    items.set_incomplete(&mut choice);
    body["choices"] = json!([choice]);
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

fn finish_reason(items: &Items, finish: &Finish) -> &'static str {
    match () {
        () if finish.is_cut() => "length",
        () if items.calls.is_empty() => "stop",
        () => "tool_calls",
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
