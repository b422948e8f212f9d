//! Whether what a template writes is read back: messages of all kinds are rendered as the model would write them, parsed, and
//! rendered again.
//!
//! A prompt, and the same conversation with the assistant's message in it: where the second text begins with the first, the
//! rest is the assistant's turn. Parsing it must give the message, and the message must render to the same bytes: a host
//! that keeps what its model has read would otherwise have to read it again from the first byte that differs.

use serde_json::{Value, json};

use crate::chat::ChatTemplate;
use crate::error::Result;
use crate::message::{MalformedArguments, Message, Request, ToolCall};
use crate::stream::{Ended, Stream};

/// What the user says in all of them.
const QUESTION: &str = "Well, what is it?";
/// Stands in all contents, and as an argument's value in the simplest call.
const WORD: &str = "Quince";
/// Stands in all thoughts.
const THOUGHT_WORD: &str = "Medlar";
/// A thought.
const THOUGHT: &str = "Medlar: 2 < 3 & \"so\" on.\nThat is 5 — ünïcode 東京.";
/// Longest end of a turn that is looked for, in bytes.
const END: usize = 200;
/// Bytes of text shown around a difference.
const CONTEXT: usize = 30;

/// What came of all probes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Each message in each way to think, in a fixed order.
    pub cases: Vec<Case>,
}

/// One message, rendered and read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// What the message shows, e.g. `parallel calls`.
    pub probe: &'static str,
    /// How the model is asked to think.
    pub thinking: Thinking,
    /// The assistant's turn as the model would write it; empty where it is not known.
    pub turn: String,
    /// What was found.
    pub outcome: Outcome,
}

/// How the model is asked to think, and whether it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinking {
    /// It is asked not to.
    Off,
    /// It may, but the message has no reasoning.
    Silent,
    /// The message has reasoning.
    On,
}

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It comes back.
    Survives,
    /// The template leaves a part of the message out; the rest comes back. No fault of what is read.
    Unsaid(&'static str),
    /// The message does not begin where the prompt ends, so that nobody knows what the model writes. A fault where it is
    /// so for all ways to think.
    NoTurn(Difference),
    /// What is parsed is another message: as JSON, what was wanted and what came.
    Lost {
        /// The first byte of the conversation that the parsed message renders differently.
        at: Option<usize>,
        /// The message.
        wanted: String,
        /// What was parsed.
        got: String,
    },
    /// The message comes back with white space around a text, which renders to other bytes; without it, it renders to the
    /// same. No fault, but a host that wants the same bytes must trim.
    Spaced(Difference),
    /// The message comes back, but renders to other bytes.
    Rewritten(Difference),
    /// The template refuses the conversation, with this error.
    Refused(String),
}

/// Two texts that differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// The first byte that differs, counted from the start of the rendered conversation.
    pub at: usize,
    /// What stands there, with some text before it.
    pub wanted: String,
    /// What came instead, with the same text before it.
    pub got: String,
}

impl Report {
    /// The cases that a template's author must look at.
    pub fn faults(&self) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(|case| match case.outcome {
            Outcome::Survives | Outcome::Unsaid(_) | Outcome::Spaced(_) => false,
            Outcome::NoTurn(_) => {
                let mut same = self.cases.iter().filter(|other| other.probe == case.probe);
                same.all(|other| matches!(other.outcome, Outcome::NoTurn(_)))
            }
            _ => true,
        })
    }

    /// The report as one JSON object: `faults`, their number, and `cases`, each with `probe`, `thinking`, `turn`, `outcome` and
    /// what the outcome says more: `at`, `wanted`, `got`, `part` or `error`.
    pub fn to_json(&self) -> Value {
        let cases: Vec<Value> = self.cases.iter().map(Case::to_json).collect();
        json!({"faults": self.faults().count(), "cases": cases})
    }
}

impl Case {
    fn to_json(&self) -> Value {
        let mut json = json!({
            "probe": self.probe,
            "thinking": self.thinking.name(),
            "turn": self.turn,
            "outcome": self.outcome.name(),
        });
        match &self.outcome {
            Outcome::Survives => {}
            Outcome::Unsaid(part) => json["part"] = (*part).into(),
            Outcome::Refused(error) => json["error"] = error.as_str().into(),
            Outcome::NoTurn(Difference { at, wanted, got })
            | Outcome::Spaced(Difference { at, wanted, got })
            | Outcome::Rewritten(Difference { at, wanted, got }) => {
                (json["at"], json["wanted"], json["got"]) = ((*at).into(), wanted.as_str().into(), got.as_str().into());
            }
            Outcome::Lost { at, wanted, got } => {
                (json["at"], json["wanted"], json["got"]) = ((*at).into(), wanted.as_str().into(), got.as_str().into());
            }
        }
        json
    }
}

impl Thinking {
    const ALL: [Thinking; 3] = [Thinking::Off, Thinking::Silent, Thinking::On];

    /// A stable lower-case name.
    pub fn name(self) -> &'static str {
        match self {
            Thinking::Off => "off",
            Thinking::Silent => "silent",
            Thinking::On => "on",
        }
    }
}

impl Outcome {
    /// A stable lower-case name, e.g. `no_turn`.
    pub fn name(&self) -> &'static str {
        match self {
            Outcome::Survives => "survives",
            Outcome::Unsaid(_) => "unsaid",
            Outcome::NoTurn(_) => "no_turn",
            Outcome::Lost { .. } => "lost",
            Outcome::Spaced(_) => "spaced",
            Outcome::Rewritten(_) => "rewritten",
            Outcome::Refused(_) => "refused",
        }
    }
}

/// A message to ask a template for: content, and the names and arguments of calls.
struct Probe {
    name: &'static str,
    content: &'static str,
    calls: Vec<(&'static str, Value)>,
}

/// The first two are the simplest of their kind.
fn probes() -> Vec<Probe> {
    let probe = |name, content, calls| Probe { name, content, calls };
    let text = |text: &str| ("note", json!({"text": text}));
    let all = || json!({"text": "Tea", "count": 3, "price": 2.5, "open": true, "gone": null, "list": ["a", "b"], "deep": {"x": 1}});
    let special = "\"double\" 'single' \\ back\\n <b> & {curly} [square] `tick`\n\ttab";
    vec![
        probe("content", WORD, vec![]),
        probe("one call", "", vec![text(WORD)]),
        probe("content with markup", "# Quince\n\n- <b> & \"c\" {d} [e]\n\n```\n\\n\n```\nEnd.", vec![]),
        probe("content in unicode", "Quince — 東京 🎉 e\u{301}", vec![]),
        probe("a call with content", "Quince? Let me see.", vec![text("Tea")]),
        probe("parallel calls", "", vec![text("Tea"), ("now", json!({})), text("Cake")]),
        probe("no arguments", "", vec![("now", json!({}))]),
        probe("values of all types", "", vec![("note", all())]),
        probe(
            "other values",
            "",
            vec![("note", json!({"open": false, "count": -1, "price": 0, "list": [], "deep": {}}))],
        ),
        probe(
            "nested values",
            "",
            vec![("note", json!({"deep": {"a": {"b": [{"c": null}, [true, "d\"e"]]}, "f": [[], {}, [[0.5]]]}}))],
        ),
        probe("a text with special characters", "", vec![text(special)]),
        probe("a text in unicode", "", vec![text("Zürich — 東京 🎉 e\u{301}")]),
        probe("a text that looks like JSON", "", vec![text("{\"a\": [1, true]}")]),
        probe("a text that looks like a number", "", vec![text("12")]),
        probe("an empty text", "", vec![text("")]),
        probe("a text in lines", "", vec![text("def f(x):\n    return {'a': [x, \"\\n\"]}\n")]),
    ]
}

fn tools() -> Value {
    let tool = |name: &str, properties: Value| {
        let parameters = json!({"type": "object", "properties": properties});
        json!({"type": "function", "function": {"name": name, "description": "A tool.", "parameters": parameters}})
    };
    let properties = json!({
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "price": {"type": "number"},
        "open": {"type": "boolean"},
        "gone": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "list": {"type": "array", "items": {"type": "string"}},
        "deep": {"type": "object"},
    });
    json!([tool("note", properties), tool("now", json!({}))])
}

/// Renders and reads back a fixed set of messages.
pub fn lint(template: &ChatTemplate) -> Report {
    let mut linter = Linter { template, ends: [None, None] };
    let probes = probes();
    let caps = template.caps();
    let sayable = |probe: &&Probe| match probe.calls.len() {
        0 => true,
        1 => caps.tool_calls,
        _ => caps.tool_calls && caps.parallel_tool_calls,
    };
    let mut cases = Vec::new();
    for probe in probes.iter().filter(sayable) {
        for thinking in Thinking::ALL {
            cases.push(linter.case(probe, thinking));
        }
    }
    Report { cases }
}

struct Linter<'t> {
    template: &'t ChatTemplate,
    /// What follows a message of content and one of calls, as far as it is no part of the format: the end of the turn.
    ends: [Option<String>; 2],
}

impl Linter<'_> {
    fn case(&mut self, probe: &Probe, thinking: Thinking) -> Case {
        let mut turn = String::new();
        let outcome =
            self.outcome(probe, thinking, &mut turn).unwrap_or_else(|error| Outcome::Refused(error.to_string()));
        Case { probe: probe.name, thinking, turn, outcome }
    }

    fn outcome(&mut self, probe: &Probe, thinking: Thinking, turn: &mut String) -> Result<Outcome> {
        let request = request(thinking)?;
        let whole = message(probe, thinking);
        let mut message = whole.clone();
        let params = self.template.params(&request)?;
        let rendered = self.template.prompt(&with(&request, &whole))?;
        // What a template leaves out cannot come back.
        let mut unsaid = None;
        for (part, text, word) in
            [("reasoning", &mut message.reasoning_content, THOUGHT_WORD), ("content", &mut message.content, WORD)]
        {
            if !text.is_empty() && !rendered.contains(word) {
                unsaid = Some(part);
                text.clear();
            }
        }
        let Some(rest) = rendered.strip_prefix(&*params.prompt) else {
            return Ok(Outcome::NoTurn(difference(&params.prompt, &rendered).unwrap_or_default()));
        };
        let parse = |text: &str| {
            let mut stream = Stream::new(&params.parser);
            let _ = stream.feed(text.as_bytes());
            stream.finish(false)
        };
        let end = &mut self.ends[usize::from(!probe.calls.is_empty())];
        if end.is_none() {
            let reads = |text: &str| same(&parse(text).message, &message);
            let exactly = |text: &str| reads(text) && parse(text).message.content == message.content;
            *end = end_of_turn(rest, exactly).or_else(|| end_of_turn(rest, reads));
        }
        let end = end.as_deref().unwrap_or_default();
        *turn = rest.strip_suffix(end).unwrap_or(rest).to_owned();

        let Ended { message: got, left_at, .. } = parse(turn);
        let render = |got: &Message| self.template.prompt(&with(&request, &with_ids(got, &message)));
        if !same(&got, &message) {
            // Arguments that were cut short are no JSON.
            let at = match render(&got) {
                Ok(again) => difference(&rendered, &again).map(|difference| difference.at),
                Err(_) => Some(params.prompt.len() + left_at.unwrap_or(0)),
            };
            let [wanted, got] = [&whole, &got].map(|message| shown(message).to_string());
            return Ok(Outcome::Lost { at, wanted, got });
        }
        let Some(changed) = difference(&rendered, &render(&got)?) else {
            return Ok(unsaid.map_or(Outcome::Survives, Outcome::Unsaid));
        };
        let spaced = render(&trimmed(&got))? == rendered;
        Ok(if spaced { Outcome::Spaced(changed) } else { Outcome::Rewritten(changed) })
    }
}

fn request(thinking: Thinking) -> Result<Request> {
    Request::from_json(&json!({
        "messages": [{"role": "user", "content": QUESTION}],
        "tools": tools(),
        "parallel_tool_calls": true,
        "reasoning_format": "auto",
        "enable_thinking": thinking != Thinking::Off,
        "now": 0,
    }))
}

/// The conversation with the message at its end.
fn with(request: &Request, message: &Message) -> Request {
    let messages = request.messages.iter().chain([message]).cloned().collect();
    let malformed_arguments = MalformedArguments::Error;
    Request { messages, malformed_arguments, add_generation_prompt: false, ..request.clone() }
}

fn message(probe: &Probe, thinking: Thinking) -> Message {
    let calls = probe.calls.iter().enumerate().map(|(index, (name, arguments))| ToolCall {
        name: (*name).to_owned(),
        arguments: arguments.to_string(),
        // Nine letters and digits: some templates insist.
        id: format!("lint{index:05}"),
    });
    Message {
        role: "assistant".to_owned(),
        content: probe.content.to_owned(),
        reasoning_content: if thinking == Thinking::On { THOUGHT.to_owned() } else { String::new() },
        tool_calls: calls.collect(),
        ..Message::default()
    }
}

/// The message with the ids of another one: where the model writes none, a host makes them up.
fn with_ids(message: &Message, other: &Message) -> Message {
    let mut message = message.clone();
    for (call, known) in message.tool_calls.iter_mut().zip(&other.tool_calls) {
        call.id.clone_from(&known.id);
    }
    message
}

fn trimmed(message: &Message) -> Message {
    let [content, reasoning_content] =
        [&message.content, &message.reasoning_content].map(|text| text.trim().to_owned());
    Message { content, reasoning_content, ..message.clone() }
}

/// The shortest end of `rest`, behind the last word of the probe, without which it `reads` well; what the model writes only
/// as a token, and what begins the next turn.
fn end_of_turn(rest: &str, reads: impl Fn(&str) -> bool) -> Option<String> {
    let word = rest.rfind(WORD)? + WORD.len();
    let cuts = (word..=rest.len()).rev().take(END).filter(|&cut| rest.is_char_boundary(cut));
    cuts.into_iter().find(|&cut| reads(&rest[..cut])).map(|cut| rest[cut..].to_owned())
}

/// Whether two messages say the same: white space around texts, and the ids of calls, do not count.
fn same(a: &Message, b: &Message) -> bool {
    shown(a) == shown(b)
}

fn shown(message: &Message) -> Value {
    let calls = message.tool_calls.iter().map(|call| {
        let arguments = serde_json::from_str(&call.arguments).unwrap_or_else(|_| Value::from(&*call.arguments));
        json!({"name": call.name, "arguments": arguments})
    });
    let calls: Vec<Value> = calls.collect();
    json!({"content": message.content.trim(), "reasoning_content": message.reasoning_content.trim(), "tool_calls": calls})
}

/// Where `got` is not `wanted`; more text behind the end of `wanted` is a difference.
fn difference(wanted: &str, got: &str) -> Option<Difference> {
    let mut at = wanted.bytes().zip(got.bytes()).take_while(|(a, b)| a == b).count();
    if at == wanted.len() && at == got.len() {
        return None;
    }
    while !wanted.is_char_boundary(at) || !got.is_char_boundary(at) {
        at -= 1;
    }
    let from = (at.saturating_sub(CONTEXT)..=at).find(|&from| wanted.is_char_boundary(from)).unwrap_or(at);
    let around = |text: &str| text[from..].chars().take(2 * CONTEXT).collect();
    Some(Difference { at, wanted: around(wanted), got: around(got) })
}
