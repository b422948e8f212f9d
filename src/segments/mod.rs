//! Whose text a prompt is: the origin of each of its bytes.
//!
//! From a request to [`Segments`]. The request is rendered once more with a label around each of its values
//! (`template::Labels`). Without its labels, that render must be the prompt; then the labels tell where each value stands. Where the template
//! looks into a value, a label may change what it writes: such values are found out (`choice`) and labelled in another way, or not at all. The
//! stretch that depends on a value without a label is unknown.

mod choice;
mod json_text;
mod marking;
mod places;
mod turns;
mod words;

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use crate::error::Result;
use crate::message::{Continuation, Request};
use crate::reader::{Reader, Taught};
use crate::template::Labels;
pub use turns::{MaskParts, Turn, TurnPart};

/// Where a part of a prompt comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// The template's own words, special tokens among them; also names of roles, and the words of JSON Schema.
    Template,
    /// A message of the request.
    Message {
        /// Its index.
        index: usize,
        /// The field, as a JSON pointer into the message as OpenAI writes it: `/content`, `/content/1/text`, `/reasoning_content`,
        /// `/tool_calls/0/id`, `/tool_calls/0/function/name`, `/tool_calls/0/function/arguments/city` (also where the arguments are JSON text).
        path: String,
    },
    /// A tool of the request, by its index.
    Tool(usize),
    /// A template variable that the request sets, by its name.
    Kwarg(String),
    /// Nobody knows: the template changes a value in a way that no label survives.
    Unknown,
}

/// A part of a prompt that comes from one place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Segment {
    /// Where it stands in the prompt, in bytes.
    pub bytes: Range<usize>,
    /// Where it comes from.
    pub origin: Origin,
}

/// A prompt with the origin of each of its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Segments {
    /// The prompt.
    pub prompt: String,
    /// In the order of the prompt. They cover it, none is empty, and neighbours have different origins.
    pub segments: Vec<Segment>,
    /// What stands in the template's `{% generation %}` blocks, in bytes of the prompt, in order.
    pub generation: Vec<Range<usize>>,
    /// The turns of the assistant that the prompt shows, in order.
    pub turns: Vec<Turn>,
}

impl Origin {
    /// A stable lower-case name of its kind: `template`, `message`, `tool`, `kwarg` or `unknown`.
    pub fn name(&self) -> &'static str {
        match self {
            Origin::Template => "template",
            Origin::Message { .. } => "message",
            Origin::Tool(_) => "tool",
            Origin::Kwarg(_) => "kwarg",
            Origin::Unknown => "unknown",
        }
    }
}

impl Segment {
    /// As JSON: `bytes` and `from`, the kind's name; of a message its index in `message`, its `field` and the whole `path`, with `part` and `call`
    /// for their indices; of a tool its index in `tool`, of a variable its name in `kwarg`.
    pub fn to_json(&self) -> Value {
        let mut json = json!({"bytes": [self.bytes.start, self.bytes.end], "from": self.origin.name()});
        match &self.origin {
            Origin::Message { index, path } => {
                json["message"] = json!(index);
                let mut steps = path.split('/').skip(1);
                let field = steps.next().unwrap_or_default();
                json["field"] = json!(field);
                let of_list = match field {
                    "content" => Some("part"),
                    "tool_calls" => Some("call"),
                    _ => None,
                };
                if let (Some(name), Some(Ok(item))) = (of_list, steps.next().map(str::parse::<usize>)) {
                    json[name] = json!(item);
                }
                json["path"] = json!(path);
            }
            Origin::Tool(index) => json["tool"] = json!(index),
            Origin::Kwarg(name) => json["kwarg"] = json!(name),
            Origin::Template | Origin::Unknown => {}
        }
        json
    }
}

/// The prompt of `request`, and where each byte of it comes from. Takes two renders, a third one where a value has white space around it, and more
/// where a label changes what the template writes: some forty at most.
pub(crate) fn segments(taught: &Taught, reader: Reader, request: &Request) -> Result<Segments> {
    let render = |template, request: &Request| Ok(reader.prompts(taught, template, request, false)?.prompt.prompt);
    let prompt: String = render(&taught.template, request)?;
    let texts = [taught.template.source(), taught.template.bos(), taught.template.eos(), &prompt];
    // What of the request is not in the prompt may have such letters; then a label is not whole, or there is one too many.
    let Some(labels) = Labels::unused_in(&texts) else {
        let segments = vec![Segment { bytes: 0..prompt.len(), origin: Origin::Unknown }];
        return Ok(Segments { prompt, segments, ..Segments::default() });
    };
    let labelled = taught.template.labelled(labels);
    let found = choice::choose(&prompt, labels, request, |request| render(&labelled, request).ok());
    let (segments, generation) = places::segments(&prompt, found);
    let messages = answers(request);
    let mut turns = Vec::new();
    if !messages.is_empty() {
        let end = taught.turn(request.enable_thinking).map(|turn| turn.end.head().trim()).unwrap_or_default();
        let ends = [end, taught.template.eos()];
        let known = turns::Known { prompt: &prompt, segments: &segments, messages: &messages, ends: &ends };
        turns = known.turns(|message| render(&taught.template, &until(request, message)).ok());
    }
    Ok(Segments { prompt, segments, generation, turns })
}

/// The assistant's messages.
fn answers(request: &Request) -> Vec<usize> {
    let roles: Vec<&str> = match &request.plain {
        Some(given) => {
            given.messages.as_array().into_iter().flatten().map(|m| m["role"].as_str().unwrap_or_default()).collect()
        }
        None => request.messages.iter().map(|message| message.role.as_str()).collect(),
    };
    (0..roles.len()).filter(|index| roles[*index] == "assistant").collect()
}

/// The request that asked for a message.
fn until(request: &Request, message: usize) -> Request {
    let mut before = Request { continuation: Continuation::None, add_generation_prompt: true, ..request.clone() };
    before.messages.truncate(message);
    if let Some(Value::Array(messages)) = before.plain.as_mut().map(|given| Arc::make_mut(&mut given.messages)) {
        messages.truncate(message);
    }
    before
}
