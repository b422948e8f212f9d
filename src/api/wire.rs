//! What the three APIs share on the way out: events, how an answer ended, and what a host says of an answer.

use serde_json::Value;

use crate::error::Result;
use crate::message::fields::Fields;

/// One event of a streamed answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The name of the event, e.g. `response.output_text.delta`. Empty in chat completions, whose events have none.
    pub name: &'static str,
    /// JSON text on one line; in chat completions the last event's is `[DONE]`.
    pub data: String,
}

impl Event {
    pub(super) fn new(name: &'static str, data: &Value) -> Event {
        Event { name, data: data.to_string() }
    }

    /// The bytes that a server sends for it (server-sent events): `event: ...`, where it has a name, `data: ...`, and an empty line.
    pub fn sse(&self) -> String {
        let mut text = String::with_capacity(self.name.len() + self.data.len() + 18);
        if !self.name.is_empty() {
            text.push_str("event: ");
            text.push_str(self.name);
            text.push('\n');
        }
        text.push_str("data: ");
        text.push_str(&self.data);
        text.push_str("\n\n");
        text
    }
}

/// Why the model wrote no more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It ended its turn.
    #[default]
    Stop,
    /// A limit of tokens cut it off.
    Length,
    /// It wrote this text, one that the client had given to stop at.
    StopSequence(String),
}

/// Tokens, as the host counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens of the prompt.
    pub input: u64,
    /// Tokens that the model wrote.
    pub output: u64,
    /// Tokens of the prompt that came from a cache.
    pub cached: u64,
    /// Tokens of the output that were reasoning.
    pub reasoning: u64,
}

impl Usage {
    /// Tokens of the prompt, and tokens that the model wrote.
    pub fn new(input: u64, output: u64) -> Usage {
        Usage { input, output, ..Usage::default() }
    }
}

/// How an answer ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finish {
    /// Why the model wrote no more.
    pub reason: Reason,
    /// Tokens. Chat completions and Responses leave them out where the host has not counted; Messages, which must have them, says 0.
    pub usage: Option<Usage>,
}

impl Finish {
    /// An answer that ended for this reason, with what the host has counted.
    pub fn new(reason: Reason, usage: Option<Usage>) -> Finish {
        Finish { reason, usage }
    }

    /// Reads `{"reason": "stop", "stop_sequence": "...", "usage": {"input_tokens": 1, "output_tokens": 2, "cached_tokens": 0,
    /// "reasoning_tokens": 0}}`. All may be missing. `reason` is `stop` or `length`; a `stop_sequence` is the reason by itself.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] naming the field.
    pub fn from_json(json: &Value) -> Result<Finish> {
        let fields = Fields::new(json, "")?;
        let reason = match (fields.text("reason")?, fields.text("stop_sequence")?) {
            (None | Some("stop"), Some(text)) => Reason::StopSequence(text.to_owned()),
            (None | Some("stop"), None) => Reason::Stop,
            (Some("length"), _) => Reason::Length,
            _ => return Err(fields.unknown("reason", "\"stop\" or \"length\"")),
        };
        let usage = match fields.object("usage")? {
            None => None,
            Some(usage) => Some(Usage {
                input: usage.number("input_tokens")?.unwrap_or(0),
                output: usage.number("output_tokens")?.unwrap_or(0),
                cached: usage.number("cached_tokens")?.unwrap_or(0),
                reasoning: usage.number("reasoning_tokens")?.unwrap_or(0),
            }),
        };
        Ok(Finish { reason, usage })
    }

    pub(super) fn is_cut(&self) -> bool {
        self.reason == Reason::Length
    }
}

/// What a host says of an answer. An `id` or a `seed` that no other answer has makes the ids of its calls unlike those of any
/// other, which clients rely on: the library looks at no clock and makes nothing up by chance.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct AnswerOptions {
    /// The id of the answer. Empty: one made of `seed`.
    pub id: String,
    /// The name of the model. Empty: the one that the request asks for.
    pub model: String,
    /// When the answer was made, in Unix seconds.
    pub created: u64,
    /// What made ids are made of, besides `id` and the number of the call.
    pub seed: u64,
    /// What made ids of calls begin with. Nine letters and digits follow: some templates (Mistral's) render no other ids.
    pub call_id_prefix: String,
    /// Which of several choices of one request this is, from 0: the `index` in chat completions.
    pub choice: u64,
    /// The client's body, as it came: Responses repeats fields of it. Null where that does not matter.
    pub request: Value,
}

impl AnswerOptions {
    /// Reads an object with fields of these names but `request`. All may be missing.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] naming the field.
    pub fn from_json(json: &Value) -> Result<AnswerOptions> {
        let fields = Fields::new(json, "options")?;
        let text = |name| fields.text(name).map(|text| text.unwrap_or_default().to_owned());
        let number = |name| fields.number(name).map(Option::unwrap_or_default);
        Ok(AnswerOptions {
            id: text("id")?,
            model: text("model")?,
            created: number("created")?,
            seed: number("seed")?,
            call_id_prefix: text("call_id_prefix")?,
            choice: number("choice")?,
            request: Value::Null,
        })
    }
}
