//! What an answer says, in whichever API: one list, in the order of its events.

use chatparse::api::Api;
use chatparse::message::number;
use serde_json::Value;

use crate::At;

/// A field of the message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    Reasoning,
    Content,
    /// The arguments of a call.
    Call,
    /// What is none of these, such as a search that the server runs.
    Other,
}

/// Where a text belongs: the number of the call, or, where the API has items or blocks, of that,
/// and of the part in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub index: u64,
    pub part: u64,
    pub field: Field,
}

impl Place {
    fn new(index: u64, part: u64, field: Field) -> Place {
        Place { index, part, field }
    }
}

/// What is said of a call or an item besides its text. What is not said is empty.
#[derive(Clone, Default)]
pub struct Head {
    /// The id of the item.
    pub item: String,
    /// The id that a result of the call refers to.
    pub id: String,
    pub name: String,
    pub namespace: String,
    pub custom: bool,
}

impl Head {
    /// What an object says of its call: its fields with the ids of the item and of the call.
    fn of(said: &Value, item: &str, id: &str) -> Head {
        let [item, id, name, namespace] = texts(said, [item, id, "name", "namespace"]);
        Head {
            item,
            id,
            name,
            namespace,
            custom: false,
        }
    }
}

pub enum What {
    /// The event that streams of the API begin with.
    First,
    /// The id of the whole answer.
    Answer(String),
    Sequence(Option<u64>),
    Role(String),
    Begin(Place, Head),
    /// The head of an item again, at its end.
    Again(u64, Head),
    Text(Place, String),
    /// All of a text, whose deltas were before.
    Whole(Place, String),
    /// A part of an item begins, or ends.
    Part(Place, bool),
    End(u64),
    Finish(String),
    /// The stop text at which it ended.
    StopText(String),
    Usage(Value),
    /// The whole answer, which was streamed before.
    Final(Vec<Said>),
    Last,
    /// The server says that it failed, and why.
    Failed(String),
    /// The event has not the form that its API asks for, perhaps at a place.
    Wrong(Option<Place>, &'static str, &'static str),
}

/// One thing that an answer says.
pub struct Said {
    /// The event, which is 0 in an answer that is not streamed, and the choice.
    pub at: At,
    pub what: What,
}

/// An event, and the name that stands in front of it in a stream.
pub struct Event {
    pub name: Option<String>,
    pub data: Value,
}

const DONE: &str = "[DONE]";

impl Event {
    /// An event of a list: its data, or an object with `event` and `data`.
    pub fn of(mut listed: Value) -> Event {
        let name = listed["event"].as_str().map(str::to_owned);
        let data = match listed.get_mut("data").map(Value::take) {
            Some(Value::String(data)) => number::read(&data).unwrap_or(Value::String(data)),
            data => data.unwrap_or(listed),
        };
        Event { name, data }
    }
}

/// The events in the text of a stream.
///
/// # Errors
/// The number of the event that is no JSON.
pub fn events(stream: &str) -> Result<Vec<Event>, usize> {
    let stream = stream.replace("\r\n", "\n");
    let mut events = Vec::new();
    for block in stream.split("\n\n") {
        let Some(data) = field(block, "data") else {
            continue;
        };
        let data = match &*data {
            DONE => DONE.into(),
            data => number::read(data).map_err(|_| events.len() + 1)?,
        };
        events.push(Event {
            name: field(block, "event"),
            data,
        });
    }
    Ok(events)
}

/// The lines of a field of a server-sent event.
fn field(block: &str, name: &str) -> Option<String> {
    let mut values = Vec::new();
    for line in block.lines() {
        if let Some(value) = line.strip_prefix(name)
            && let Some(value) = value.strip_prefix(':')
        {
            values.push(value.strip_prefix(' ').unwrap_or(value));
        }
    }
    (!values.is_empty()).then(|| values.join("\n"))
}

/// Whose API a request and what answers it are of.
pub fn api_of(request: &Value, answer: &Value) -> Api {
    let kind = answer["type"].as_str().unwrap_or_default();
    match () {
        () if answer.get("choices").is_some() => Api::ChatCompletions,
        () if kind.starts_with("response.") || answer["object"] == "response" => Api::Responses,
        () if kind.starts_with("message")
            || kind.starts_with("content_block")
            || kind == "ping" =>
        {
            Api::Messages
        }
        () if request.get("input").is_some() => Api::Responses,
        () if request["tools"][0].get("input_schema").is_some()
            || request.get("system").is_some() =>
        {
            Api::Messages
        }
        () => Api::ChatCompletions,
    }
}

/// What an event says; number 0 is an answer that is not streamed.
pub fn read(api: Api, event: usize, data: &Value) -> Vec<Said> {
    let mut list = List {
        at: At::event(event),
        said: Vec::new(),
    };
    match api {
        _ if has_failed(data) => list.failed(data),
        _ if data == DONE => list.add(What::Last),
        Api::Responses if event == 0 => list.response(data),
        Api::Responses => list.responses(data),
        Api::Messages if event == 0 => list.message(data),
        Api::Messages => list.messages(data),
        _ => list.chat(data),
    }
    list.said
}

/// Whether an answer or an event is an error, in the ways of servers.
fn has_failed(data: &Value) -> bool {
    !data["error"].is_null() || data["object"] == "error" || data["type"] == "error"
}

fn texts<const N: usize>(of: &Value, names: [&str; N]) -> [String; N] {
    names.map(|name| of[name].as_str().unwrap_or_default().to_owned())
}

fn listed(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// What is said so far of one event.
struct List {
    at: At,
    said: Vec<Said>,
}

impl List {
    fn add(&mut self, what: What) {
        self.said.push(Said { at: self.at, what });
    }

    fn failed(&mut self, data: &Value) {
        let error = if data["error"].is_null() {
            data
        } else {
            &data["error"]
        };
        let said = error["message"].as_str().or(error.as_str());
        self.add(What::Failed(
            said.map_or_else(|| number::write(error), str::to_owned),
        ));
    }

    fn add_text(&mut self, place: Place, value: &Value) {
        match value {
            Value::String(text) => self.add(What::Text(place, text.clone())),
            Value::Null => {}
            other => {
                self.add(What::Wrong(
                    Some(place),
                    "not-json",
                    "another value stands where a text is to be",
                ));
                self.add(What::Text(place, number::write(other)));
            }
        }
    }

    /// All of a text, which is empty if the value is none.
    fn whole(&mut self, place: Place, value: &Value) {
        self.add(What::Whole(
            place,
            value.as_str().unwrap_or_default().to_owned(),
        ));
    }

    /// A field that is a text, if it is there.
    fn add_if(&mut self, value: &Value, what: fn(String) -> What) {
        if let Value::String(text) = value {
            self.add(what(text.clone()));
        }
    }

    fn usage(&mut self, data: &Value) {
        if data["usage"].is_object() {
            self.add(What::Usage(data["usage"].clone()));
        }
    }

    /// A chunk of chat completions, or a body.
    fn chat(&mut self, data: &Value) {
        let whole = self.at.event == 0;
        self.add_if(&data["id"], What::Answer);
        for (at, choice) in (0..).zip(listed(&data["choices"])) {
            self.at.choice = choice["index"].as_u64().unwrap_or(at);
            let said = &choice[if whole { "message" } else { "delta" }];
            self.add_if(&said["role"], What::Role);
            let name = if said["reasoning_content"].is_string() {
                "reasoning_content"
            } else {
                "reasoning"
            };
            self.add_text(Place::new(0, 0, Field::Reasoning), &said[name]);
            for (part, text) in (0..).zip([
                &said["content"],
                &said["refusal"],
                &said["audio"]["transcript"],
            ]) {
                self.add_text(Place::new(0, part, Field::Content), text);
            }
            for (at, call) in (0..).zip(listed(&said["tool_calls"])) {
                if call["index"].is_null() && !whole {
                    self.add(What::Wrong(None, "index", "a call has no index"));
                }
                let custom = call.get("custom").is_some();
                let (called, text) = if custom {
                    (&call["custom"], "input")
                } else {
                    (&call["function"], "arguments")
                };
                let [id] = texts(call, ["id"]);
                let head = Head {
                    id,
                    custom,
                    ..Head::of(called, "", "")
                };
                let place = Place::new(call["index"].as_u64().unwrap_or(at), 0, Field::Call);
                if whole || !head.id.is_empty() || !head.name.is_empty() {
                    self.add(What::Begin(place, head));
                }
                self.add_text(place, &called[text]);
            }
            self.add_if(&choice["finish_reason"], What::Finish);
        }
        self.at.choice = 0;
        self.usage(data);
    }

    fn message(&mut self, data: &Value) {
        self.add_if(&data["id"], What::Answer);
        self.add_if(&data["role"], What::Role);
        for (index, block) in (0..).zip(listed(&data["content"])) {
            self.block(index, block);
            self.add(What::End(index));
        }
        self.usage(data);
        self.stop(data);
    }

    fn stop(&mut self, data: &Value) {
        self.add_if(&data["stop_sequence"], What::StopText);
        self.add_if(&data["stop_reason"], What::Finish);
    }

    fn block(&mut self, index: u64, block: &Value) {
        let (field, name) = match block["type"].as_str() {
            Some("text") => (Field::Content, "text"),
            Some("thinking") => (Field::Reasoning, "thinking"),
            Some("tool_use") => (Field::Call, "input"),
            _ => (Field::Other, ""),
        };
        let place = Place::new(index, 0, field);
        self.add(What::Begin(place, Head::of(block, "", "id")));
        match &block[name] {
            // In a stream an empty object stands for what is to come.
            Value::Object(input) if self.at.event > 0 && input.is_empty() => {}
            value if value.is_object() => self.add(What::Text(place, number::write(value))),
            value => {
                if field == Field::Call && value.is_string() {
                    self.add(What::Wrong(
                        Some(place),
                        "not-object",
                        "the input is a text, and no object",
                    ));
                }
                self.add_text(place, value);
            }
        }
    }

    fn messages(&mut self, data: &Value) {
        let index = data["index"].as_u64().unwrap_or(u64::MAX);
        let delta = &data["delta"];
        match data["type"].as_str().unwrap_or_default() {
            "message_start" => {
                self.add(What::First);
                self.message(&data["message"]);
            }
            "content_block_start" => self.block(index, &data["content_block"]),
            "content_block_delta" => {
                let (field, name) = match delta["type"].as_str() {
                    Some("text_delta") => (Field::Content, "text"),
                    Some("thinking_delta") => (Field::Reasoning, "thinking"),
                    Some("input_json_delta") => (Field::Call, "partial_json"),
                    _ => return,
                };
                self.add_text(Place::new(index, 0, field), &delta[name]);
            }
            "content_block_stop" => self.add(What::End(index)),
            "message_delta" => {
                self.usage(data);
                self.stop(delta);
            }
            "message_stop" => self.add(What::Last),
            _ => {}
        }
    }

    fn response(&mut self, data: &Value) {
        self.add_if(&data["id"], What::Answer);
        for (index, item) in (0..).zip(listed(&data["output"])) {
            let (field, head, texts) = item_of(item);
            self.add(What::Begin(Place::new(index, 0, field), head));
            for (part, value) in texts {
                self.add_text(Place::new(index, part, field), value);
            }
            self.add(What::End(index));
            self.add_if(&item["role"], What::Role);
        }
        self.status(data);
    }

    fn status(&mut self, response: &Value) {
        self.usage(response);
        let (why, status) = (
            &response["incomplete_details"]["reason"],
            &response["status"],
        );
        self.add_if(
            if why == "content_filter" { why } else { status },
            What::Finish,
        );
    }

    fn responses(&mut self, data: &Value) {
        self.add(What::Sequence(data["sequence_number"].as_u64()));
        let index = data["output_index"].as_u64().unwrap_or(u64::MAX);
        let name = data["type"].as_str().unwrap_or_default();
        let name = name.strip_prefix("response.").unwrap_or_default();
        // `output_text.delta`: the part of the answer, and what happens to it.
        let (of, step) = name.rsplit_once('.').unwrap_or((name, ""));
        let part = if of.starts_with("reasoning_summary") {
            SUMMARY.saturating_add(data["summary_index"].as_u64().unwrap_or(0))
        } else {
            data["content_index"].as_u64().unwrap_or(0)
        };
        let field = match of {
            "reasoning_text" | "reasoning_summary_text" | "reasoning_summary_part" => {
                Field::Reasoning
            }
            "content_part" if data["part"]["type"] == "reasoning_text" => Field::Reasoning,
            "output_text" | "refusal" | "content_part" => Field::Content,
            "function_call_arguments" | "custom_tool_call_input" => Field::Call,
            _ => Field::Other,
        };
        let place = Place::new(index, part, field);
        if let [item] = texts(data, ["item_id"])
            && !item.is_empty()
        {
            self.add(What::Again(
                index,
                Head {
                    item,
                    ..Head::default()
                },
            ));
        }
        match (of, step) {
            ("created", _) => {
                self.add(What::First);
                self.add_if(&data["response"]["id"], What::Answer);
            }
            ("failed", _) => self.failed(&data["response"]),
            ("completed" | "incomplete" | "cancelled", _) => {
                let answer = &data["response"];
                if answer["status"] != of {
                    let message = "the response has another status than its event says";
                    self.add(What::Wrong(None, "wrong-finish", message));
                }
                self.add_if(&answer["id"], What::Answer);
                self.add(What::Final(read(Api::Responses, 0, answer)));
                self.status(answer);
                self.add(What::Last);
            }
            ("output_item", "added") => {
                let (field, head, _) = item_of(&data["item"]);
                self.add(What::Begin(Place { field, ..place }, head));
                self.add_if(&data["item"]["role"], What::Role);
            }
            ("output_item", "done") => {
                let (field, head, texts) = item_of(&data["item"]);
                self.add(What::Again(index, head));
                for (part, value) in texts {
                    self.whole(Place::new(index, part, field), value);
                }
                self.add(What::End(index));
            }
            ("content_part" | "reasoning_summary_part", "added") => {
                self.add(What::Part(place, true))
            }
            ("content_part" | "reasoning_summary_part", "done") => {
                self.whole(place, part_of(&data["part"]));
                self.add(What::Part(place, false));
            }
            (_, "delta") if field != Field::Other => self.add_text(place, &data["delta"]),
            (_, "done") if field != Field::Other => {
                self.add(What::Whole(
                    place,
                    texts(data, ["text", "refusal", "arguments", "input"]).concat(),
                ));
            }
            _ => {}
        }
    }
}

/// Summaries are numbered after the parts of the reasoning itself.
pub const SUMMARY: u64 = 1 << 32;

/// The field of an item of Responses, its head, and its texts by their part.
fn item_of(item: &Value) -> (Field, Head, Vec<(u64, &Value)>) {
    let kind = item["type"].as_str().unwrap_or_default();
    let head = Head {
        custom: kind == "custom_tool_call",
        ..Head::of(item, "id", "call_id")
    };
    let (field, texts) = match kind {
        "reasoning" => {
            let mut texts = parts(item, "content", 0);
            texts.extend(parts(item, "summary", SUMMARY));
            (Field::Reasoning, texts)
        }
        "message" => (Field::Content, parts(item, "content", 0)),
        "function_call" => (Field::Call, vec![(0, &item["arguments"])]),
        "custom_tool_call" => (Field::Call, vec![(0, &item["input"])]),
        _ => (Field::Other, Vec::new()),
    };
    (field, head, texts)
}

/// The texts in a list of parts, numbered from `first` on.
fn parts<'a>(item: &'a Value, name: &str, first: u64) -> Vec<(u64, &'a Value)> {
    (first..).zip(listed(&item[name]).map(part_of)).collect()
}

fn part_of(part: &Value) -> &Value {
    &part[if part["type"] == "refusal" {
        "refusal"
    } else {
        "text"
    }]
}
