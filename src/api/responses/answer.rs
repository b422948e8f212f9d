//! Answers in the shape of the Responses API. An item of the answer is an item of its output. Events announce its beginning,
//! its text and its end, in order; the last event holds the whole answer.

use serde_json::{Map, Value};

use crate::api::items::{Item, Items, Part, Step};
use crate::api::messages::object;
use crate::api::wire::{AnswerOptions, Event, Finish, Usage};
use chatparse_message::Message;

/// Fields of the request that an answer repeats, and their defaults.
const REPEATED: &[(&str, &str)] = &[
    ("instructions", "null"),
    ("max_output_tokens", "null"),
    ("metadata", "{}"),
    ("parallel_tool_calls", "true"),
    ("reasoning", r#"{"effort": null, "summary": null}"#),
    ("temperature", "1"),
    ("text", r#"{"format": {"type": "text"}}"#),
    ("tool_choice", "\"auto\""),
    ("top_p", "1"),
    ("truncation", "\"disabled\""),
];

/// The state between the events of a stream.
#[derive(Clone, Debug, Default)]
pub(in crate::api) struct Writer {
    sequence: u64,
    /// The text of the open item, which the event of its end repeats.
    text: String,
}

impl Writer {
    pub fn begin(&mut self, options: &AnswerOptions) -> Vec<Event> {
        let response = response(options, "in_progress", Vec::new(), None);
        vec![
            self.event("response.created", json!({"response": response})),
            self.event("response.in_progress", json!({"response": response})),
        ]
    }

    pub fn steps(&mut self, items: &Items, steps: &[Step]) -> Vec<Event> {
        let mut events = Vec::new();
        for step in steps {
            match step {
                Step::Begin(item) => self.open(items, *item, &mut events),
                Step::Text(item, text) => {
                    self.text.push_str(text);
                    if items.client(*item).is_some() {
                        continue;
                    }
                    let (name, data) = match items.items[*item].part {
                        Part::Reasoning => ("response.reasoning_text.delta", json!({"content_index": 0})),
                        Part::Content => ("response.output_text.delta", json!({"content_index": 0, "logprobs": []})),
                        Part::Call(call) if items.calls[call].tool.custom => {
                            ("response.custom_tool_call_input.delta", json!({}))
                        }
                        Part::Call(_) => ("response.function_call_arguments.delta", json!({})),
                    };
                    events.push(self.of_item(name, items, *item, data, ("delta", text.as_ref().into())));
                }
                Step::End(item) => self.close(items, *item, &mut events),
            }
        }
        events
    }

    pub fn finish(&mut self, options: &AnswerOptions, items: &Items, message: &Message, finish: &Finish) -> Vec<Event> {
        let name = if finish.is_cut() { "response.incomplete" } else { "response.completed" };
        vec![self.event(name, json!({"response": body(options, items, message, finish)}))]
    }

    pub fn fail(&mut self, options: &AnswerOptions, code: &str, message: &str) -> Vec<Event> {
        let mut response = response(options, "failed", Vec::new(), None);
        response["error"] = json!({"code": code, "message": message});
        vec![self.event("response.failed", json!({"response": response}))]
    }

    fn open(&mut self, items: &Items, index: usize, events: &mut Vec<Event>) {
        self.text.clear();
        let item = item_json(items, index, "in_progress", None);
        events.push(self.event("response.output_item.added", json!({"output_index": index, "item": item})));
        if let Some(part) = part_json(&items.items[index], "") {
            let data = json!({"content_index": 0});
            events.push(self.of_item("response.content_part.added", items, index, data, ("part", part)));
        }
    }

    fn close(&mut self, items: &Items, index: usize, events: &mut Vec<Event>) {
        let text = std::mem::take(&mut self.text);
        let item = &items.items[index];
        match item.part {
            // All of it is in the item.
            Part::Call(_) if items.client(index).is_some() => {}
            Part::Call(call) if items.calls[call].tool.custom => {
                let name = "response.custom_tool_call_input.done";
                events.push(self.of_item(name, items, index, json!({}), ("input", text.as_str().into())));
            }
            Part::Call(call) => {
                let data = json!({"name": items.calls[call].tool.name});
                let name = "response.function_call_arguments.done";
                events.push(self.of_item(name, items, index, data, ("arguments", text.as_str().into())));
            }
            Part::Reasoning => {
                let data = json!({"content_index": 0});
                let name = "response.reasoning_text.done";
                events.push(self.of_item(name, items, index, data, ("text", text.as_str().into())));
            }
            Part::Content => {
                let data = json!({"content_index": 0, "logprobs": []});
                let name = "response.output_text.done";
                events.push(self.of_item(name, items, index, data, ("text", text.as_str().into())));
            }
        }
        if let Some(part) = part_json(item, &text) {
            let data = json!({"content_index": 0});
            events.push(self.of_item("response.content_part.done", items, index, data, ("part", part)));
        }
        let item = item_json(items, index, status(item), Some(&text));
        events.push(self.event("response.output_item.done", json!({"output_index": index, "item": item})));
    }

    /// An event about the item with this index.
    fn of_item(
        &mut self,
        name: &'static str,
        items: &Items,
        index: usize,
        mut data: Value,
        (field, value): (&str, Value),
    ) -> Event {
        data["output_index"] = index.into();
        data["item_id"] = items.item_id(index).into();
        data[field] = value;
        self.event(name, data)
    }

    fn event(&mut self, name: &'static str, data: Value) -> Event {
        let mut all = Map::new();
        all.insert("type".to_owned(), name.into());
        all.insert("sequence_number".to_owned(), self.sequence.into());
        self.sequence += 1;
        if let Value::Object(data) = data {
            all.extend(data);
        }
        Event::new(name, &Value::Object(all))
    }
}

pub(in crate::api) fn body(options: &AnswerOptions, items: &Items, message: &Message, finish: &Finish) -> Value {
    let output = items.items.iter().enumerate();
    let output = output.map(|(index, item)| item_json(items, index, status(item), Some(&items.text_of(item, message))));
    let status = if finish.is_cut() { "incomplete" } else { "completed" };
    let mut body = response(options, status, output.collect(), finish.usage.as_ref());
    if finish.is_cut() {
        body["incomplete_details"] = json!({"reason": "max_output_tokens"});
    }
    body
}

fn response(options: &AnswerOptions, status: &str, output: Vec<Value>, usage: Option<&Usage>) -> Value {
    let mut response = json!({
        "id": options.id,
        "object": "response",
        "created_at": options.created,
        "status": status,
        "error": null,
        "incomplete_details": null,
        "model": options.model,
        "previous_response_id": null,
        "store": false,
        "tools": tools(&options.request),
        "output": output,
        "usage": usage.map(usage_json),
    });
    for (name, other) in REPEATED {
        response[*name] = match &options.request[*name] {
            Value::Null => serde_json::from_str(other).unwrap_or_default(),
            value => value.clone(),
        };
    }
    response
}

/// The tools of the request, each with the fields that clients expect.
fn tools(request: &Value) -> Vec<Value> {
    let tools = request["tools"].as_array().into_iter().flatten().filter_map(Value::as_object);
    let tools = tools.map(|tool| {
        let mut tool = tool.clone();
        let defaults: &[&str] =
            if tool.get("type") == Some(&"function".into()) { &["parameters", "strict"] } else { &[] };
        for name in defaults {
            tool.entry(*name).or_insert(Value::Null);
        }
        Value::Object(tool)
    });
    tools.collect()
}

fn status(item: &Item) -> &'static str {
    if item.whole { "completed" } else { "incomplete" }
}

/// An item with its text, or at its beginning.
fn item_json(items: &Items, index: usize, status: &str, text: Option<&str>) -> Value {
    let item = &items.items[index];
    let content: Vec<Value> = text.and_then(|text| part_json(item, text)).into_iter().collect();
    let id = items.item_id(index);
    match item.part {
        Part::Reasoning => json!({"id": id, "type": "reasoning", "status": status, "summary": [], "content": content}),
        Part::Content => {
            json!({"id": id, "type": "message", "status": status, "role": "assistant", "content": content})
        }
        Part::Call(call) => {
            let head = &items.calls[call];
            let text = text.unwrap_or_default();
            if let Some((kind, field)) = head.tool.client {
                let mut item = json!({"id": id, "type": kind, "status": status, "call_id": head.id});
                item[field] = object(text).into();
                if kind == "tool_search_call" {
                    item["execution"] = "client".into();
                }
                return item;
            }
            let (kind, field) =
                if head.tool.custom { ("custom_tool_call", "input") } else { ("function_call", "arguments") };
            let name = &head.tool.name;
            let mut item =
                json!({"id": id, "type": kind, "status": status, "call_id": head.id, "name": name, field: text});
            if !head.tool.namespace.is_empty() {
                item["namespace"] = head.tool.namespace.as_str().into();
            }
            item
        }
    }
}

/// The object with an item's text; calls have none.
fn part_json(item: &Item, text: &str) -> Option<Value> {
    match item.part {
        Part::Reasoning => Some(json!({"type": "reasoning_text", "text": text})),
        Part::Content => Some(json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})),
        Part::Call(_) => None,
    }
}

fn usage_json(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": 0},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input.saturating_add(usage.output),
    })
}
