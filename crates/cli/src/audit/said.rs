//! What an answer says, in whichever API: one list, in the order of its events.

use chatparse::api::Api;
use chatparse::message::number;
use serde_json::Value;

/// A field of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    Reasoning,
    Content,
    /// The arguments of a call.
    Call,
    /// What is none of these, such as a search that the server runs.
    Other,
}

/// Where a text belongs: the number of the call, or, where the API has items or blocks, of that, and of the part in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub index: u64,
    pub part: u64,
    pub field: Field,
}

/// What is said of a call or an item besides its text. What is not said is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The id of the item.
    pub item: String,
    /// The id that a result of the call refers to.
    pub id: String,
    pub name: String,
    pub namespace: String,
    pub custom: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Usage {
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub total: Option<u64>,
    pub cached: Option<u64>,
    pub reasoning: Option<u64>,
}

#[derive(Clone, Debug)]
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
    BeginPart(Place),
    Text(Place, String),
    /// All of a text, whose deltas were before.
    Whole(Place, String),
    EndPart(Place),
    End(u64),
    Finish(String),
    /// The stop text at which it ended.
    StopText(String),
    /// The ids of calls without an end.
    Incomplete(Vec<String>),
    Usage(Usage),
    /// The whole answer, which was streamed before.
    Final(Vec<Said>),
    Last,
    /// The server says that it failed.
    Failed,
    /// The event has not the form that its API asks for.
    Wrong(&'static str, String),
}

/// One thing that an answer says.
#[derive(Clone, Debug)]
pub struct Said {
    /// The number of the event, from 1; 0 in an answer that is not streamed.
    pub event: usize,
    pub choice: u64,
    pub what: What,
}

/// An event, and the name that stands in front of it in a stream.
pub struct Event {
    pub name: Option<String>,
    pub data: Value,
}

impl Event {
    /// An event of a list: its data, or an object with `event` and `data`.
    pub fn of(mut listed: Value) -> Event {
        let name = listed["event"].as_str().map(str::to_owned);
        match listed.get_mut("data").map(Value::take) {
            Some(Value::String(data)) => Event { name, data: number::read(&data).unwrap_or(Value::String(data)) },
            Some(data) => Event { name, data },
            None => Event { name, data: listed },
        }
    }
}

/// The events in the text of a stream.
///
/// # Errors
/// The number of the event that is no JSON, and why.
pub fn events(stream: &str) -> Result<Vec<Event>, (usize, String)> {
    let stream = stream.replace("\r\n", "\n");
    let field = |block: &str, name: &str| {
        let lines = block.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let values: Vec<&str> = lines.map(|value| value.strip_prefix(' ').unwrap_or(value)).collect();
        (!values.is_empty()).then(|| values.join("\n"))
    };
    let blocks = stream.split("\n\n").filter_map(|block| Some((block, field(block, "data")?)));
    let read = |(at, (block, data)): (usize, (&str, String))| {
        let data = if data == DONE { Ok(DONE.into()) } else { number::read(&data) };
        Ok(Event { name: field(block, "event"), data: data.map_err(|error| (at + 1, error.to_string()))? })
    };
    blocks.enumerate().map(read).collect()
}

const DONE: &str = "[DONE]";

/// Whose API a request and what answers it are of.
pub fn api_of(request: &Value, answer: &Value) -> Api {
    let kind = answer["type"].as_str().unwrap_or_default();
    let is_message = matches!(kind, "message" | "ping") || kind.starts_with("message_") || kind.starts_with("content_");
    match () {
        () if answer.get("choices").is_some() => Api::ChatCompletions,
        () if kind.starts_with("response.") || answer["object"] == "response" => Api::Responses,
        () if is_message => Api::Messages,
        () if request.get("input").is_some() => Api::Responses,
        () if request["tools"][0].get("input_schema").is_some() || request.get("system").is_some() => Api::Messages,
        () => Api::ChatCompletions,
    }
}

/// What an event says; number 0 is an answer that is not streamed.
pub fn read(api: Api, event: usize, data: &Value) -> Vec<Said> {
    let mut list = List { event, choice: 0, said: Vec::new() };
    if data.get("error").is_some_and(|error| !error.is_null()) {
        list.add(What::Failed);
    } else if data == DONE {
        list.add(What::Last);
    } else {
        match api {
            Api::Responses if event == 0 => list.response(data),
            Api::Responses => list.responses(data),
            Api::Messages if event == 0 => list.message(data),
            Api::Messages => list.messages(data),
            _ => list.chat(data),
        }
    }
    list.said
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// What is said so far of one event.
struct List {
    event: usize,
    choice: u64,
    said: Vec<Said>,
}

impl List {
    fn add(&mut self, what: What) {
        self.said.push(Said { event: self.event, choice: self.choice, what });
    }

    fn add_text(&mut self, place: Place, value: &Value) {
        match value {
            Value::String(text) => self.add(What::Text(place, text.clone())),
            Value::Null => {}
            other => {
                self.add(What::Wrong(super::NOT_JSON, format!("a text is to stand where {} is", kind_of(other))));
                self.add(What::Text(place, number::write(other)));
            }
        }
    }

    /// A field that is a text, if it is there.
    fn add_if(&mut self, value: &Value, what: fn(String) -> What) {
        if let Value::String(text) = value {
            self.add(what(text.clone()));
        }
    }

    fn usage(&mut self, usage: &Value) {
        if usage.is_object() {
            let number = |names: [&str; 2]| names.into_iter().find_map(|name| usage[name].as_u64());
            let inside = |groups: [&str; 2], name| groups.into_iter().find_map(|group| usage[group][name].as_u64());
            self.add(What::Usage(Usage {
                input: number(["prompt_tokens", "input_tokens"]),
                output: number(["completion_tokens", "output_tokens"]),
                total: usage["total_tokens"].as_u64(),
                cached: inside(["prompt_tokens_details", "input_tokens_details"], "cached_tokens"),
                reasoning: inside(["completion_tokens_details", "output_tokens_details"], "reasoning_tokens"),
            }));
        }
    }

    fn incomplete(&mut self, ids: &Value) {
        if let Value::Array(ids) = ids {
            self.add(What::Incomplete(ids.iter().map(text).collect()));
        }
    }

    /// A chunk of chat completions, or a body.
    fn chat(&mut self, data: &Value) {
        self.add_if(&data["id"], What::Answer);
        for (at, choice) in data["choices"].as_array().into_iter().flatten().enumerate() {
            self.choice = choice["index"].as_u64().unwrap_or(at as u64);
            let said = if self.event == 0 { &choice["message"] } else { &choice["delta"] };
            self.add_if(&said["role"], What::Role);
            let thought = ["reasoning_content", "reasoning"].map(|name| &said[name]);
            let place = |field, index| Place { index, part: 0, field };
            self.add_text(place(Field::Reasoning, 0), thought.into_iter().find(|text| text.is_string()).unwrap_or(&Value::Null));
            self.add_text(place(Field::Content, 0), &said["content"]);
            self.add_text(Place { part: 1, ..place(Field::Content, 0) }, &said["refusal"]);
            for (at, call) in said["tool_calls"].as_array().into_iter().flatten().enumerate() {
                let index = call["index"].as_u64().or((self.event == 0).then_some(at as u64));
                if index.is_none() {
                    self.add(What::Wrong(super::INDEX, "a call has no index".into()));
                }
                let custom = call.get("custom").is_some();
                let (function, field) = if custom { (&call["custom"], "input") } else { (&call["function"], "arguments") };
                let [id, name] = [&call["id"], &function["name"]].map(text);
                let place = place(Field::Call, index.unwrap_or(at as u64));
                if self.event == 0 || !id.is_empty() || !name.is_empty() {
                    let namespace = text(&function["namespace"]);
                    self.add(What::Begin(place, Head { item: String::new(), id, name, namespace, custom }));
                }
                self.add_text(place, &function[field]);
            }
            self.incomplete(&choice["incomplete_calls"]);
            self.add_if(&choice["finish_reason"], What::Finish);
        }
        self.choice = 0;
        self.usage(&data["usage"]);
    }

    fn message(&mut self, data: &Value) {
        self.add_if(&data["id"], What::Answer);
        self.add_if(&data["role"], What::Role);
        for (index, block) in (0..).zip(data["content"].as_array().into_iter().flatten()) {
            self.block(index, block);
            self.add(What::End(index));
        }
        self.stop(data);
        self.usage(&data["usage"]);
    }

    fn block(&mut self, index: u64, block: &Value) {
        let (field, value) = match block["type"].as_str() {
            Some("text") => (Field::Content, &block["text"]),
            Some("thinking") => (Field::Reasoning, &block["thinking"]),
            Some("tool_use") => (Field::Call, &block["input"]),
            _ => (Field::Other, &Value::Null),
        };
        let [id, name, namespace] = ["id", "name", "namespace"].map(|name| text(&block[name]));
        let place = Place { index, part: 0, field };
        self.add(What::Begin(place, Head { id, name, namespace, ..Head::default() }));
        match value {
            // In a stream an empty object stands for what is to come.
            Value::Object(input) if self.event > 0 && input.is_empty() => {}
            Value::Object(_) => self.add(What::Text(place, number::write(value))),
            Value::Null if field == Field::Call => self.add(What::Wrong(super::NOT_JSON, "a call has no input".into())),
            value => self.add_text(place, value),
        }
    }

    fn stop(&mut self, data: &Value) {
        self.incomplete(&data["incomplete_calls"]);
        self.add_if(&data["stop_sequence"], What::StopText);
        self.add_if(&data["stop_reason"], What::Finish);
    }

    fn messages(&mut self, data: &Value) {
        let index = data["index"].as_u64().unwrap_or(u64::MAX);
        match data["type"].as_str().unwrap_or_default() {
            "message_start" => {
                self.add(What::First);
                self.message(&data["message"]);
            }
            "content_block_start" => self.block(index, &data["content_block"]),
            "content_block_delta" => {
                let delta = &data["delta"];
                let place = |field| Place { index, part: 0, field };
                match delta["type"].as_str().unwrap_or_default() {
                    "text_delta" => self.add_text(place(Field::Content), &delta["text"]),
                    "thinking_delta" => self.add_text(place(Field::Reasoning), &delta["thinking"]),
                    "input_json_delta" => self.add_text(place(Field::Call), &delta["partial_json"]),
                    _ => {}
                }
            }
            "content_block_stop" => self.add(What::End(index)),
            "message_delta" => {
                self.stop(&data["delta"]);
                self.usage(&data["usage"]);
            }
            "message_stop" => self.add(What::Last),
            _ => {}
        }
    }

    fn response(&mut self, data: &Value) {
        self.add_if(&data["id"], What::Answer);
        for (index, item) in (0..).zip(data["output"].as_array().into_iter().flatten()) {
            let (field, head, texts) = item_of(item);
            let place = |part| Place { index, part, field };
            self.add(What::Begin(place(0), head));
            for (part, value) in texts {
                self.add_text(place(part), value);
            }
            self.add(What::End(index));
            // A message says whose it is; what else an item is, it is of the model.
            self.add_if(&item["role"], What::Role);
        }
        self.usage(&data["usage"]);
        self.add_if(&data["status"], What::Finish);
    }

    fn responses(&mut self, data: &Value) {
        self.add(What::Sequence(data["sequence_number"].as_u64()));
        let number = |name: &str| data[name].as_u64().unwrap_or_default();
        let index = data["output_index"].as_u64().unwrap_or(u64::MAX);
        let name = data["type"].as_str().and_then(|name| name.strip_prefix("response.")).unwrap_or_default();
        let part = if name.starts_with("reasoning_summary") { SUMMARY + number("summary_index") } else { number("content_index") };
        let (of, step) = name.rsplit_once('.').unwrap_or((name, ""));
        let field = match of {
            "output_text" | "refusal" => Field::Content,
            "reasoning_text" | "reasoning_summary_text" | "reasoning_summary_part" => Field::Reasoning,
            "function_call_arguments" | "custom_tool_call_input" => Field::Call,
            "content_part" if data["part"]["type"] == "reasoning_text" => Field::Reasoning,
            "content_part" => Field::Content,
            _ => Field::Other,
        };
        let place = Place { index, part, field };
        if let Value::String(id) = &data["item_id"] {
            self.add(What::Again(index, Head { item: id.clone(), ..Head::default() }));
        }
        match (of, step) {
            ("created", _) => {
                self.add(What::First);
                self.add_if(&data["response"]["id"], What::Answer);
            }
            ("completed" | "incomplete" | "failed" | "cancelled", _) => {
                let answer = &data["response"];
                if answer["status"] != of {
                    let status = &answer["status"];
                    self.add(What::Wrong(super::WRONG_FINISH, format!("response.{of} has a response of status {status}")));
                }
                self.add(What::Final(read(Api::Responses, 0, answer)));
                self.usage(&answer["usage"]);
                self.add(if of == "failed" { What::Failed } else { What::Finish(of.to_owned()) });
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
                    self.add(What::Whole(Place { index, part, field }, text(value)));
                }
                self.add(What::End(index));
            }
            ("content_part" | "reasoning_summary_part", "added") => self.add(What::BeginPart(place)),
            ("content_part" | "reasoning_summary_part", "done") => {
                self.add(What::Whole(place, text(part_of(&data["part"]))));
                self.add(What::EndPart(place));
            }
            (_, "delta") if field != Field::Other => self.add_text(place, &data["delta"]),
            (_, "done") if field != Field::Other => {
                let whole = ["text", "refusal", "arguments", "input"].into_iter().find_map(|name| data[name].as_str());
                self.add(What::Whole(place, whole.unwrap_or_default().to_owned()));
            }
            _ => {}
        }
    }
}

/// Summaries are numbered behind the parts of the reasoning itself.
const SUMMARY: u64 = 1 << 32;

/// The field of an item of Responses, its head, and its texts by their part.
fn item_of(item: &Value) -> (Field, Head, Vec<(u64, &Value)>) {
    let parts = |name: &str, from: u64| (from..).zip(item[name].as_array().into_iter().flatten().map(part_of));
    let [kind, own, id, name, namespace] = ["type", "id", "call_id", "name", "namespace"].map(|name| text(&item[name]));
    let custom = kind == "custom_tool_call";
    let head = Head { item: own, id, name, namespace, custom };
    match &*kind {
        "reasoning" => (Field::Reasoning, head, parts("content", 0).chain(parts("summary", SUMMARY)).collect()),
        "message" => (Field::Content, head, parts("content", 0).collect()),
        "function_call" => (Field::Call, head, vec![(0, &item["arguments"])]),
        "custom_tool_call" => (Field::Call, head, vec![(0, &item["input"])]),
        _ => (Field::Other, head, Vec::new()),
    }
}

fn part_of(part: &Value) -> &Value {
    if part["type"] == "refusal" { &part["refusal"] } else { &part["text"] }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Object(_) => "an object",
        Value::Array(_) => "a list",
        _ => "another value",
    }
}
