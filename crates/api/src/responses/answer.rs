//! Answers in the shape of the Responses API. An item of the answer is an item of its output.
//! Events announce its beginning, its text and its end, in order; the last event holds the whole
//! answer.

use serde_json::Value;

use crate::items::{Items, Part, Step};
use crate::messages::object;
use crate::wire::{Event, Finish, Usage};
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
pub const SEAL: &str = "chatparse:";

/// Whether the client wants reasoning as a summary.
fn wants_summary(items: &Items) -> bool {
    items.options.request["reasoning"]["summary"].is_string()
}

/// Whether the client wants reasoning sealed, for the way back.
fn wants_seal(items: &Items) -> bool {
    let include = items.options.request["include"].as_array();
    include.is_some_and(|names| names.contains(&"reasoning.encrypted_content".into()))
}

/// The names for a text whose events are called `response.`, this, and `.delta` or `.done`.
macro_rules! text_events {
    ($kind:literal, $field:literal, $events:literal, $part:expr) => {
        TextEvents {
            kind: $kind,
            field: $field,
            delta: concat!("response.", $events, ".delta"),
            done: concat!("response.", $events, ".done"),
            part: $part,
        }
    };
}

/// The names for the text of an item; `None` for a call of a tool that the API knows: all of it is
/// in the item.
fn names(items: &Items, index: usize) -> Option<&'static TextEvents> {
    Some(match items.items[index].part {
        Part::Content => &text_events!("output_text", "text", "output_text", Some(CONTENT)),
        Part::Reasoning if wants_summary(items) => &text_events!(
            "summary_text",
            "text",
            "reasoning_summary_text",
            Some(SUMMARY)
        ),
        Part::Reasoning => &text_events!("reasoning_text", "text", "reasoning_text", Some(CONTENT)),
        Part::Call(call) => match &items.calls[call].tool {
            tool if tool.client.is_some() => return None,
            tool if tool.custom => {
                &text_events!("custom_tool_call", "input", "custom_tool_call_input", None)
            }
            _ => &text_events!(
                "function_call",
                "arguments",
                "function_call_arguments",
                None
            ),
        },
    })
}

/// The names that the API has for a text of an item.
struct TextEvents {
    /// Of the part with the text, or of the call.
    kind: &'static str,
    field: &'static str,
    delta: &'static str,
    done: &'static str,
    part: Option<PartEvents>,
}

/// The names for a part of an item.
struct PartEvents {
    /// The field with its place in the item.
    index: &'static str,
    added: &'static str,
    done: &'static str,
}

impl TextEvents {
    fn place(&self) -> Value {
        let mut data = json!({});
        if let Some(part) = &self.part {
            data[part.index] = 0.into();
        }
        data
    }
}

const CONTENT: PartEvents = PartEvents {
    index: "content_index",
    added: "response.content_part.added",
    done: "response.content_part.done",
};
const SUMMARY: PartEvents = PartEvents {
    index: "summary_index",
    added: "response.reasoning_summary_part.added",
    done: "response.reasoning_summary_part.done",
};
/// The state between the events of a stream.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    sequence: u64,
    /// The text of the open item, which the event of its end repeats.
    text: String,
}

impl Writer {
    pub fn begin(&mut self, items: &Items) -> Vec<Event> {
        let response = json!({"response": response(items, "in_progress", Vec::new(), None)});
        ["response.created", "response.in_progress"]
            .map(|name| self.event(name, response.clone()))
            .into()
    }

    pub fn steps(&mut self, items: &mut Items, steps: &[Step]) -> Vec<Event> {
        let mut events = Vec::new();
        for step in steps {
            match step {
                Step::Begin(item) => self.open(items, *item, &mut events),
                Step::Text(item, text) => {
                    self.text.push_str(text);
                    let Some(names) = names(items, *item) else {
                        continue;
                    };
                    let mut data = names.place();
                    if items.items[*item].part == Part::Content {
                        data["logprobs"] = items.logprobs.send(*item).into();
                    }
                    events.push(self.of_item(
                        names.delta,
                        items,
                        *item,
                        data,
                        ("delta", text.as_ref().into()),
                    ));
                }
                Step::End(item) => self.close(items, *item, &mut events),
            }
        }
        events
    }

    pub fn finish(&mut self, items: &Items, message: &Message, finish: &Finish) -> Vec<Event> {
        let name = if finish.is_cut() {
            "response.incomplete"
        } else {
            "response.completed"
        };
        vec![self.event(name, json!({"response": body(items, message, finish)}))]
    }

    pub fn fail(&mut self, items: &Items, code: &str, message: &str) -> Vec<Event> {
        let mut response = response(items, "failed", Vec::new(), None);
        response["error"] = json!({"code": code, "message": message});
        vec![self.event("response.failed", json!({"response": response}))]
    }

    fn open(&mut self, items: &Items, index: usize, events: &mut Vec<Event>) {
        self.text.clear();
        let item = item_json(items, index, None);
        events.push(self.event(
            "response.output_item.added",
            json!({"output_index": index, "item": item}),
        ));
        if let Some(names) = names(items, index)
            && let Some(part) = &names.part
        {
            let said = ("part", part_json(items, index, names, ""));
            events.push(self.of_item(part.added, items, index, names.place(), said));
        }
    }

    fn close(&mut self, items: &Items, index: usize, events: &mut Vec<Event>) {
        let text = std::mem::take(&mut self.text);
        if let Some(names) = names(items, index) {
            let mut data = names.place();
            match items.items[index].part {
                Part::Content => data["logprobs"] = items.logprobs.of(index).into(),
                Part::Call(call) if !items.calls[call].tool.custom => {
                    data["name"] = json!(items.calls[call].tool.name)
                }
                _ => {}
            }
            events.push(self.of_item(
                names.done,
                items,
                index,
                data,
                (names.field, text.as_str().into()),
            ));
            if let Some(part) = &names.part {
                let said = ("part", part_json(items, index, names, &text));
                events.push(self.of_item(part.done, items, index, names.place(), said));
            }
        }
        let item = item_json(items, index, Some(&text));
        events.push(self.event(
            "response.output_item.done",
            json!({"output_index": index, "item": item}),
        ));
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
        let event = Event::typed(name, json!({"sequence_number": self.sequence}), data);
        self.sequence += 1;
        event
    }
}

pub fn body(items: &Items, message: &Message, finish: &Finish) -> Value {
    let mut output = Vec::new();
    for (index, item) in items.items.iter().enumerate() {
        output.push(item_json(items, index, Some(&items.text_of(item, message))));
    }
    let status = if finish.is_cut() {
        "incomplete"
    } else {
        "completed"
    };
    let mut body = response(items, status, output, finish.usage.as_ref());
    if finish.is_cut() {
        body["incomplete_details"] = json!({"reason": "max_output_tokens"});
    }
    body
}

fn response(items: &Items, status: &str, output: Vec<Value>, usage: Option<&Usage>) -> Value {
    let options = &items.options;
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
    let mut tools = request["tools"].as_array().cloned().unwrap_or_default();
    tools.retain(Value::is_object);
    for tool in tools.iter_mut().filter(|tool| tool["type"] == "function") {
        for name in ["parameters", "strict"] {
            tool[name] = tool[name].take();
        }
    }
    tools
}

/// An item with its text and log probabilities, or at its beginning.
fn item_json(items: &Items, index: usize, said: Option<&str>) -> Value {
    let item = &items.items[index];
    let names = names(items, index);
    let status = match said {
        None => "in_progress",
        Some(_) if item.whole => "completed",
        Some(_) => "incomplete",
    };
    let mut json = json!({"id": items.item_id(index), "type": "message", "status": status});
    if let Part::Call(call) = item.part {
        let head = &items.calls[call];
        let text = said.unwrap_or_default();
        json["call_id"] = head.id.as_str().into();
        match (head.tool.client, names) {
            (None, Some(names)) => {
                (json["type"], json["name"]) = (names.kind.into(), head.tool.name.as_str().into());
                json[names.field] = text.into();
                head.tool.set_namespace(&mut json);
            }
            (client, _) => {
                let (kind, field) = client.unwrap_or_default();
                (json["type"], json[field]) = (kind.into(), object(text).into());
                if kind == "tool_search_call" {
                    json["execution"] = "client".into();
                }
            }
        }
        return json;
    }
    let mut content = Vec::new();
    if let (Some(text), Some(names)) = (said, names) {
        content.push(part_json(items, index, names, text));
    }
    if item.part == Part::Content {
        (json["role"], json["content"]) = ("assistant".into(), content.into());
        return json;
    }
    let mut summary = Vec::new();
    if wants_summary(items) {
        std::mem::swap(&mut summary, &mut content);
    }
    (json["type"], json["summary"], json["content"]) =
        ("reasoning".into(), summary.into(), content.into());
    if let Some(text) = said.filter(|_| wants_seal(items)) {
        json["encrypted_content"] = format!("{SEAL}{text}").into();
    }
    json
}

/// The object with an item's text.
fn part_json(items: &Items, index: usize, names: &TextEvents, text: &str) -> Value {
    let mut part = json!({"type": names.kind, "text": text});
    if items.items[index].part == Part::Content {
        part["annotations"] = json!([]);
        part["logprobs"] = items.logprobs.of(index).into();
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
