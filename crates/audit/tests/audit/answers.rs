//! Requests in three APIs, and answers to them: what a template's model writes, as this library
//! reads it and sends it.

use chatparse::api::{Answer, AnswerOptions, Api, Event, Finish, Reason, Usage};
use chatparse::message::{Message, PartKind, Request, ToolCall};
use chatparse::{ChatTemplate, Delta, DeltaKind, Ended, EndedBy, Params, Status, Stream};
use serde_json::{Value, json};

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed);
        // Seeds that are near each other begin alike.
        (0..4).for_each(|_| _ = random.below(2));
        random
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) as usize % end
    }

    pub fn one<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// The limit of tokens that each request has.
pub const LIMIT: u64 = 64;

/// A request and its answer, on the way to a line.
pub struct Case {
    pub api: Api,
    pub request: Value,
    pub params: Params,
    pub output: String,
    pub deltas: Vec<(DeltaKind, usize, String)>,
    ended: Ended,
    pub finish: Finish,
    /// The events by name and data, and the body.
    pub events: Vec<(String, Value)>,
    pub body: Value,
    pub with_body: bool,
    pub with_output: bool,
    pub raw: bool,
}

const CONTENTS: [&str; 9] = [
    "Grüße, <b>you</b>! 😀 This is what I found for you.",
    "Done.",
    "1 < 2 and 3 > 2, as far as I know; see [1] and [2].",
    "Here is the code:\n\n```rust\nfn main() {\n    println!(\"{}\", 1);\n}\n```\n\nRun it with `cargo run`.",
    "| a | b |\n| --- | --- |\n| 1 | 2 |",
    "日本語のテキストです。",
    "A JSON object such as {\"name\": \"value\"} has braces.",
    "First, second, third; and then the rest of the list, which is long enough to be cut into many pieces.",
    "ha ha ha ha ha ha ha ha ha ha ha ha",
];

const THOUGHTS: [&str; 4] = [
    "Let me see: 1 < 2.",
    "The user asks for something, so I look it up first.",
    "Hm.\n\nTwo paragraphs of thought, the second one with \"quotes\".",
    "Why?",
];

const VALUES: [&str; 6] = [
    "Oslo",
    "a \"b\" </x>\n",
    "{\"q\": 1}",
    "日本",
    "<b>bold</b>",
    "x = [1, 2, 3]  # three",
];

const TOOLS: [&str; 3] = ["get", "look_up_all", "write_note"];

fn schema(tool: &str) -> Value {
    match tool {
        "get" => {
            json!({"type": "object", "properties": {"key": {"type": "string"}, "n": {"type": "integer"}}, "required": ["key"]})
        }
        "write_note" => json!({"type": "object", "properties": {"text": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}}}, "required": ["text"]}),
        _ => json!({"type": "object", "properties": {}}),
    }
}

/// The schema of answers.
fn answer_schema() -> Value {
    json!({"type": "object", "properties": {"answer": {"type": "string"}, "n": {"type": "integer"}}, "required": ["answer", "n"]})
}

/// How the tools of a request may be called.
#[derive(Clone, Copy, PartialEq)]
pub enum Choice {
    Auto,
    Required,
    None,
    Named,
    Schema,
}

pub fn set_choice(api: Api, request: &mut Value, choice: Choice, parallel: bool) {
    let name = TOOLS[0];
    let word = match choice {
        Choice::Required => "required",
        Choice::None => "none",
        _ => "auto",
    };
    request["tool_choice"] = match (api, choice) {
        (Api::Messages, Choice::Named) => json!({"type": "tool", "name": name}),
        (Api::Messages, Choice::Required) => json!({"type": "any"}),
        (Api::Messages, _) => json!({"type": word}),
        (Api::Responses, Choice::Named) => json!({"type": "function", "name": name}),
        (_, Choice::Named) => json!({"type": "function", "function": {"name": name}}),
        _ => word.into(),
    };
    match api {
        Api::Messages => request["tool_choice"]["disable_parallel_tool_use"] = (!parallel).into(),
        _ => request["parallel_tool_calls"] = parallel.into(),
    }
}

fn request(api: Api, choice: Choice, parallel: bool) -> Value {
    let said = json!([{"role": "user", "content": "What is the weather in Oslo, and why?"}]);
    let mut request = match api {
        Api::ChatCompletions => {
            json!({"model": "m", "messages": said, "max_completion_tokens": LIMIT, "stream_options": {"include_usage": true}})
        }
        Api::Responses => json!({"model": "m", "input": said, "max_output_tokens": LIMIT}),
        _ => json!({"model": "m", "messages": said, "max_tokens": LIMIT, "system": "Be brief."}),
    };
    if choice == Choice::Schema {
        let schema = answer_schema();
        match api {
            Api::ChatCompletions => {
                request["response_format"] =
                    json!({"type": "json_schema", "json_schema": {"name": "a", "schema": schema}});
            }
            Api::Responses => {
                request["text"] =
                    json!({"format": {"type": "json_schema", "name": "a", "schema": schema}})
            }
            _ => {
                request["output_config"] =
                    json!({"format": {"type": "json_schema", "schema": schema}})
            }
        }
        return request;
    }
    let tools = TOOLS.map(|name| match (api, schema(name)) {
        (Api::ChatCompletions, schema) => {
            json!({"type": "function", "function": {"name": name, "description": "Tool.", "parameters": schema}})
        }
        (Api::Responses, schema) => {
            json!({"type": "function", "name": name, "description": "Tool.", "parameters": schema})
        }
        (_, schema) => json!({"name": name, "description": "Tool.", "input_schema": schema}),
    });
    request["tools"] = json!(tools);
    set_choice(api, &mut request, choice, parallel);
    request
}

fn call(random: &mut Random, name: &str) -> ToolCall {
    let arguments = match name {
        "get" => json!({"key": random.one(&VALUES), "n": random.below(1000)}),
        "write_note" => json!({"text": random.one(&VALUES), "tags": [random.one(&VALUES), "b"]}),
        _ => json!({}),
    };
    let letters = b"abcdefghijkmnpqrstuvwxyz0123456789";
    let id = (0..9)
        .map(|_| char::from(*random.one(letters)))
        .collect::<String>();
    ToolCall::new(name, arguments.to_string(), id)
}

fn message(random: &mut Random, choice: Choice, parallel: bool) -> Message {
    let mut message = Message::new("assistant", "");
    if choice == Choice::Schema {
        message.content = json!({"answer": random.one(&VALUES), "n": random.below(9)}).to_string();
        return message;
    }
    let most = if parallel { 3 } else { 1 };
    let calls = match choice {
        Choice::None => 0,
        Choice::Auto => random.below(most + 1),
        _ => 1 + random.below(most),
    };
    for _ in 0..calls {
        let name = if choice == Choice::Named {
            TOOLS[0]
        } else {
            *random.one(&TOOLS)
        };
        message.tool_calls.push(call(random, name));
    }
    if calls == 0 || choice == Choice::Auto && random.below(2) == 0 {
        message.content = (*random.one(&CONTENTS)).to_owned();
    }
    if random.below(2) == 0 {
        message.reasoning_content = (*random.one(&THOUGHTS)).to_owned();
    }
    message
}

impl Case {
    /// A case of this template; `None` if it does not write what was chosen.
    pub fn new(template: &ChatTemplate, random: &mut Random) -> Option<Case> {
        let api = *random.one(&[Api::ChatCompletions, Api::Responses, Api::Messages]);
        let choices = [
            Choice::Auto,
            Choice::Auto,
            Choice::Auto,
            Choice::Required,
            Choice::None,
            Choice::Named,
            Choice::Schema,
        ];
        let (choice, parallel) = (*random.one(&choices), random.below(3) > 0);
        let request = request(api, choice, parallel);
        let chat = Request::from_json(&api.request(&request).unwrap()).unwrap();
        let params = template.params(&chat).ok()?;
        let message = message(random, choice, parallel);
        let mut output = rendered(template, chat, &message, &params)?;
        let is_cut = choice == Choice::Auto && random.below(8) == 0;
        if is_cut {
            let end = (0..=random.below(output.len() + 1))
                .rev()
                .find(|end| output.is_char_boundary(*end))?;
            output.truncate(end);
        }
        let mut stream = Stream::new(&params.parser);
        let mut deltas = Vec::new();
        let longest = 1 + random.below(24);
        let mut at = 0;
        while at < output.len() {
            let end = (at + 1 + random.below(longest)).min(output.len());
            deltas.extend(stream.feed(&output.as_bytes()[at..end]).map(owned));
            at = end;
        }
        let ended = stream.finish(EndedBy::limit_if(is_cut));
        deltas.extend(stream.deltas().map(owned));
        let read = &ended.message;
        let same = |(read, said): (&ToolCall, &ToolCall)| {
            let value = |call: &ToolCall| serde_json::from_str::<Value>(&call.arguments).ok();
            read.name == said.name && value(read) == value(said)
        };
        let is_read = ended.status == Status::Complete
            && read.content.trim() == message.content.trim()
            && read.tool_calls.len() == message.tool_calls.len()
            && read.tool_calls.iter().zip(&message.tool_calls).all(same);
        if !is_read && !is_cut {
            return None;
        }
        let reason = if is_cut { Reason::Length } else { Reason::Stop };
        let mut usage = Usage::new(
            20,
            if is_cut {
                LIMIT
            } else {
                (output.len() as u64 / 4 + 1).min(LIMIT - 1)
            },
        );
        (usage.cached, usage.reasoning) = (5, usage.output.min(1));
        let finish = Finish::new(reason, Some(usage));
        let (with_body, with_output, raw) = (
            random.below(2) == 0,
            random.below(3) == 0,
            random.below(3) == 0,
        );
        let (events, body) = Default::default();
        Some(Case {
            api,
            request,
            params,
            output,
            deltas,
            ended,
            finish,
            events,
            body,
            with_body,
            with_output,
            raw,
        })
    }

    /// Whether a limit has cut the answer.
    pub fn is_cut(&self) -> bool {
        self.finish.reason == Reason::Length
    }

    /// All of a field, or of a call's arguments.
    pub fn text(&self, kind: DeltaKind, call: usize) -> String {
        let of = self
            .deltas
            .iter()
            .filter(|(of, number, _)| (*of, *number) == (kind, call));
        of.map(|(_, _, text)| text.as_str()).collect()
    }

    /// The bytes behind the last text or thought in front of the calls.
    pub fn front_of_calls(&self) -> usize {
        let parts = self
            .ended
            .parts()
            .iter()
            .take_while(|part| part.kind != PartKind::Call);
        parts.last().map_or(0, |part| part.span.end)
    }

    pub fn calls(&self) -> usize {
        self.deltas
            .iter()
            .filter(|(kind, ..)| *kind == DeltaKind::ToolName)
            .count()
    }

    /// Puts a text in the place of all of a field.
    pub fn replace(&mut self, kind: DeltaKind, call: usize, text: &str) {
        let is_it = |(of, number, _): &(DeltaKind, usize, String)| (*of, *number) == (kind, call);
        let calls = self
            .deltas
            .iter()
            .position(|(kind, ..)| kind.is_of_call())
            .unwrap_or(self.deltas.len());
        let front = if kind == DeltaKind::Content { calls } else { 0 };
        let at = self.deltas.iter().position(is_it).unwrap_or(front);
        self.deltas.retain(|delta| !is_it(delta));
        let cut = (0..=text.len() / 2)
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(0);
        let said = [&text[..cut], &text[cut..]].map(|text| (kind, call, text.to_owned()));
        self.deltas.splice(
            at..at,
            said.into_iter().filter(|(_, _, text)| !text.is_empty()),
        );
    }

    /// Drops the calls.
    pub fn drop_calls(&mut self) {
        self.deltas.retain(|(kind, ..)| !kind.is_of_call());
    }

    /// Makes the answer of the deltas.
    pub fn write(&mut self) {
        let mut options = AnswerOptions::default();
        (options.id, options.created) = ("answer-1".into(), 7);
        options.request = self.request.clone();
        let mut ended = self.ended.clone();
        ended.message.content = self.text(DeltaKind::Content, 0);
        ended.message.reasoning_content = self.text(DeltaKind::Reasoning, 0);
        let calls = 0..self.calls();
        let calls = calls.map(|call| {
            let [name, arguments, id] = [
                DeltaKind::ToolName,
                DeltaKind::ToolArguments,
                DeltaKind::ToolId,
            ]
            .map(|kind| self.text(kind, call));
            ToolCall::new(name, arguments, id)
        });
        ended.message.tool_calls = calls.collect();
        let mut answer = Answer::new(self.api, options);
        let mut events = answer.begin(20).unwrap();
        for (kind, call, text) in &self.deltas {
            let delta = Delta {
                kind: *kind,
                call: *call,
                text,
                span: 0..text.len(),
            };
            events.extend(answer.deltas([delta].into_iter()).unwrap());
        }
        events.extend(answer.finish(&ended, &self.finish).unwrap());
        let data = |data: &str| serde_json::from_str(data).unwrap_or_else(|_| data.into());
        self.events = events
            .iter()
            .map(
                |Event {
                     name, data: text, ..
                 }| ((*name).to_owned(), data(text)),
            )
            .collect();
        self.body = answer.body(&ended, &self.finish);
    }

    pub fn written(&mut self) -> &Case {
        self.write();
        self
    }

    pub fn line(&self) -> Value {
        let mut line = json!({"request": self.request});
        if self.raw {
            let event = |(name, data): &(String, Value)| {
                let data = data
                    .as_str()
                    .map_or_else(|| data.to_string(), str::to_owned);
                let name = if name.is_empty() {
                    String::new()
                } else {
                    format!("event: {name}\n")
                };
                format!("{name}data: {data}\n\n")
            };
            line["stream"] = self.events.iter().map(event).collect::<String>().into();
        } else {
            line["events"] = self.events.iter().map(|(_, data)| data.clone()).collect();
        }
        if self.with_body {
            line["response"] = self.body.clone();
        }
        if self.with_output {
            line["output"] = self.output.as_str().into();
        }
        line
    }
}

fn owned(delta: Delta) -> (DeltaKind, usize, String) {
    (delta.kind, delta.call, delta.text.to_owned())
}

/// What the template writes behind the prompt, without the end of the turn.
fn rendered(
    template: &ChatTemplate,
    mut request: Request,
    message: &Message,
    params: &Params,
) -> Option<String> {
    request.add_generation_prompt = false;
    request.messages.push(message.clone());
    let whole = template.prompt(&request).ok()?;
    let output = whole.strip_prefix(&*params.prompt)?.trim_end();
    Some(
        output
            .strip_suffix(params.end_of_turn())
            .unwrap_or(output)
            .to_owned(),
    )
}
