//! Answers in the shape of the Responses API. An item of the answer is an item of its output. Events announce its beginning,
//! its text and its end, in order; the last event holds the whole answer.

use serde_json::{Map, Value};

use crate::api::items::{Item, Items, Part, Step};
use crate::api::logprobs::Logprobs;
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

/// What `encrypted_content` begins with; the reasoning follows.
pub(super) const SEAL: &str = "chatparse:";

/// How the client wants reasoning: as a summary, and sealed for the way back.
#[derive(Clone, Copy)]
struct Shape {
    summary: bool,
    seal: bool,
}

impl Shape {
    fn of(options: &AnswerOptions) -> Shape {
        let include = options.request["include"].as_array();
        Shape {
            summary: options.request["reasoning"]["summary"].is_string(),
            seal: include.is_some_and(|names| names.contains(&"reasoning.encrypted_content".into())),
        }
    }

    fn names(self, part: Part) -> Option<&'static TextEvents> {
        match part {
            Part::Content => Some(&CONTENT),
            Part::Reasoning => Some(if self.summary { &SUMMARY } else { &REASONING }),
            Part::Call(_) => None,
        }
    }
}

/// The names that the API has for a text of an item.
struct TextEvents {
    kind: &'static str,
    /// The field with its place in the item.
    index: &'static str,
    added: &'static str,
    delta: &'static str,
    done: &'static str,
    part_done: &'static str,
}

impl TextEvents {
    fn place(&self) -> Value {
        let mut data = json!({});
        data[self.index] = 0.into();
        data
    }
}

const CONTENT: TextEvents = TextEvents {
    kind: "output_text",
    index: "content_index",
    added: "response.content_part.added",
    delta: "response.output_text.delta",
    done: "response.output_text.done",
    part_done: "response.content_part.done",
};

const REASONING: TextEvents = TextEvents {
    kind: "reasoning_text",
    delta: "response.reasoning_text.delta",
    done: "response.reasoning_text.done",
    ..CONTENT
};

const SUMMARY: TextEvents = TextEvents {
    kind: "summary_text",
    index: "summary_index",
    added: "response.reasoning_summary_part.added",
    delta: "response.reasoning_summary_text.delta",
    done: "response.reasoning_summary_text.done",
    part_done: "response.reasoning_summary_part.done",
};

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

    pub fn steps(
        &mut self,
        options: &AnswerOptions,
        items: &Items,
        steps: &[Step],
        logprobs: &mut Logprobs,
    ) -> Vec<Event> {
        let shape = Shape::of(options);
        let mut events = Vec::new();
        for step in steps {
            match step {
                Step::Begin(item) => self.open(shape, items, *item, &mut events),
                Step::Text(item, text) => {
                    self.text.push_str(text);
                    if items.client(*item).is_some() {
                        continue;
                    }
                    let part = items.items[*item].part;
                    let (name, mut data) = match (shape.names(part), part) {
                        (Some(names), _) => (names.delta, names.place()),
                        (None, Part::Call(call)) if items.calls[call].tool.custom => {
                            ("response.custom_tool_call_input.delta", json!({}))
                        }
                        (None, _) => ("response.function_call_arguments.delta", json!({})),
                    };
                    if part == Part::Content {
                        data["logprobs"] = logprobs.send(*item).into();
                    }
                    events.push(self.of_item(name, items, *item, data, ("delta", text.as_ref().into())));
                }
                Step::End(item) => self.close(shape, items, *item, logprobs, &mut events),
            }
        }
        events
    }

    pub fn finish(
        &mut self,
        options: &AnswerOptions,
        items: &Items,
        message: &Message,
        logprobs: &Logprobs,
        finish: &Finish,
    ) -> Vec<Event> {
        let name = if finish.is_cut() { "response.incomplete" } else { "response.completed" };
        vec![self.event(name, json!({"response": body(options, items, message, logprobs, finish)}))]
    }

    pub fn fail(&mut self, options: &AnswerOptions, code: &str, message: &str) -> Vec<Event> {
        let mut response = response(options, "failed", Vec::new(), None);
        response["error"] = json!({"code": code, "message": message});
        vec![self.event("response.failed", json!({"response": response}))]
    }

    fn open(&mut self, shape: Shape, items: &Items, index: usize, events: &mut Vec<Event>) {
        self.text.clear();
        let item = item_json(shape, items, index, "in_progress", None);
        events.push(self.event("response.output_item.added", json!({"output_index": index, "item": item})));
        if let Some(names) = shape.names(items.items[index].part) {
            let part = ("part", part_json(names, "", &[]));
            events.push(self.of_item(names.added, items, index, names.place(), part));
        }
    }

    fn close(&mut self, shape: Shape, items: &Items, index: usize, logprobs: &Logprobs, events: &mut Vec<Event>) {
        let text = std::mem::take(&mut self.text);
        let item = &items.items[index];
        let logprobs = logprobs.of(index..index + 1);
        match (shape.names(item.part), item.part) {
            (Some(names), part) => {
                let mut data = names.place();
                if part == Part::Content {
                    data["logprobs"] = logprobs.as_slice().into();
                }
                events.push(self.of_item(names.done, items, index, data, ("text", text.as_str().into())));
                let part = ("part", part_json(names, &text, &logprobs));
                events.push(self.of_item(names.part_done, items, index, names.place(), part));
            }
            // All of it is in the item.
            _ if items.client(index).is_some() => {}
            (None, Part::Call(call)) if items.calls[call].tool.custom => {
                let name = "response.custom_tool_call_input.done";
                events.push(self.of_item(name, items, index, json!({}), ("input", text.as_str().into())));
            }
            (None, Part::Call(call)) => {
                let data = json!({"name": items.calls[call].tool.name});
                let name = "response.function_call_arguments.done";
                events.push(self.of_item(name, items, index, data, ("arguments", text.as_str().into())));
            }
            (None, _) => {}
        }
        let item = item_json(shape, items, index, status(item), Some((&text, &logprobs)));
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

pub(in crate::api) fn body(
    options: &AnswerOptions,
    items: &Items,
    message: &Message,
    logprobs: &Logprobs,
    finish: &Finish,
) -> Value {
    let shape = Shape::of(options);
    let output = items.items.iter().enumerate().map(|(index, item)| {
        let text = items.text_of(item, message);
        item_json(shape, items, index, status(item), Some((&text, &logprobs.of(index..index + 1))))
    });
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
        "tools": if options.omit_request { Vec::new() } else { tools(&options.request) },
        "output": output,
        "usage": usage.map(usage_json),
    });
    for (name, other) in REPEATED {
        let omitted = options.omit_request && *name == "instructions";
        response[*name] = match &options.request[*name] {
            Value::Null => serde_json::from_str(other).unwrap_or_default(),
            _ if omitted => Value::Null,
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

/// An item with its text and log probabilities, or at its beginning.
fn item_json(shape: Shape, items: &Items, index: usize, status: &str, said: Option<(&str, &[Value])>) -> Value {
    let item = &items.items[index];
    let names = shape.names(item.part);
    let content: Vec<Value> =
        said.zip(names).map(|((text, logprobs), names)| part_json(names, text, logprobs)).into_iter().collect();
    let id = items.item_id(index);
    match item.part {
        Part::Reasoning => {
            let (summary, content) = if shape.summary { (content, Vec::new()) } else { (Vec::new(), content) };
            let mut item =
                json!({"id": id, "type": "reasoning", "status": status, "summary": summary, "content": content});
            if let Some((text, _)) = said.filter(|_| shape.seal) {
                item["encrypted_content"] = format!("{SEAL}{text}").into();
            }
            item
        }
        Part::Content => {
            json!({"id": id, "type": "message", "status": status, "role": "assistant", "content": content})
        }
        Part::Call(call) => {
            let head = &items.calls[call];
            let text = said.map_or("", |(text, _)| text);
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

/// The object with an item's text.
fn part_json(names: &TextEvents, text: &str, logprobs: &[Value]) -> Value {
    let mut part = json!({"type": names.kind, "text": text});
    if names.kind == CONTENT.kind {
        part["annotations"] = json!([]);
        part["logprobs"] = logprobs.into();
    }
    part
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
