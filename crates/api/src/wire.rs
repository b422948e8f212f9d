//! The common types of the three APIs' answers: events, finish reasons, and the host's options.

use serde_json::{Map, Value};

use chatparse_base::{Result, number};
use chatparse_message::fields::Fields;

/// One event of a streamed answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The name of the event, e.g. `response.output_text.delta`. Empty in chat completions, whose
    /// events have none.
    pub name: &'static str,
    /// JSON text on one line; in chat completions the last event's is `[DONE]`.
    pub data: String,
}

impl Event {
    pub(super) fn new(name: &'static str, data: &Value) -> Event {
        Event {
            name,
            data: number::write(data),
        }
    }

    /// An event whose data begin with its name, and have the fields of these objects.
    pub(super) fn typed(name: &'static str, first: Value, data: Value) -> Event {
        let mut all = Map::new();
        all.insert("type".to_owned(), name.into());
        for fields in [first, data] {
            if let Value::Object(fields) = fields {
                all.extend(fields);
            }
        }
        Event::new(name, &all.into())
    }

    /// The event in the format of server-sent events: `event: ...`, if it has a name, `data: ...`,
    /// and an empty line.
    pub fn sse(&self) -> String {
        let Event { name, data } = self;
        if name.is_empty() {
            format!("data: {data}\n\n")
        } else {
            format!("event: {name}\ndata: {data}\n\n")
        }
    }
}

/// Why the output ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The model ended its turn.
    #[default]
    Stop,
    /// A limit of tokens cut it off.
    Length,
    /// The model wrote this stop text of the client.
    StopSequence(String),
}

/// Numbers of tokens, as the host counts them.
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
        Usage {
            input,
            output,
            ..Usage::default()
        }
    }
}

/// How an answer ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finish {
    /// Why the output ended.
    pub reason: Reason,
    /// Numbers of tokens. Without them, chat completions and Responses leave the field out, and
    /// Messages, where it is required, has 0.
    pub usage: Option<Usage>,
}

impl Finish {
    /// An answer that ended for this reason, with what the host has counted.
    pub fn new(reason: Reason, usage: Option<Usage>) -> Finish {
        Finish { reason, usage }
    }

    /// Reads `{"reason": "stop", "stop_sequence": "...", "usage": {"input_tokens": 1,
    /// "output_tokens": 2, "cached_tokens": 0, "reasoning_tokens": 0}}`. All may be missing.
    /// `reason` is `stop` or `length`; a `stop_sequence` is the reason by itself.
    ///
    /// # Errors
    /// [`chatparse_base::ErrorKind::InvalidArgument`] with the name of the field.
    pub fn from_json(json: &Value) -> Result<Finish> {
        let fields = Fields::new(json, "end")?;
        let reason = match (fields.text("reason")?, fields.text("stop_sequence")?) {
            (None | Some("stop"), Some(text)) => Reason::StopSequence(text.to_owned()),
            (None | Some("stop"), None) => Reason::Stop,
            (Some("length"), _) => Reason::Length,
            _ => return Err(fields.unknown("reason", "\"stop\" or \"length\"")),
        };
        let usage = match fields.object("usage")? {
            Some(usage) => Some(Usage {
                input: number_of(&usage, "input_tokens")?,
                output: number_of(&usage, "output_tokens")?,
                cached: number_of(&usage, "cached_tokens")?,
                reasoning: number_of(&usage, "reasoning_tokens")?,
            }),
            None => None,
        };
        Ok(Finish { reason, usage })
    }

    pub(super) fn is_cut(&self) -> bool {
        self.reason == Reason::Length
    }
}

/// The host's options for an answer. Clients need ids of calls that are unique; the library uses
/// neither a clock nor random numbers, so set an `id` or a `seed` that no other answer has.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct AnswerOptions {
    /// The id of the answer. If empty, it is generated from `seed`.
    pub id: String,
    /// The name of the model. If empty, the one in the request.
    pub model: String,
    /// The creation time of the answer, in Unix seconds.
    pub created: u64,
    /// Generated ids depend on it, in addition to `id` and the index of the call.
    pub seed: u64,
    /// The prefix of generated ids of calls. Nine letters and digits follow, because some templates
    /// (Mistral's) accept no other ids.
    pub call_id_prefix: String,
    /// The index of the choice, from 0, in chat completions.
    pub choice: u64,
    /// Responses repeats neither the tools nor the instructions of the request, which are large and
    /// which few clients read.
    pub omit_request: bool,
    /// The client's body: Responses repeats fields of it. May be null.
    pub request: Value,
}

impl AnswerOptions {
    /// Reads an object with these fields, except `request`. All are optional.
    ///
    /// # Errors
    /// [`chatparse_base::ErrorKind::InvalidArgument`] with the name of the field.
    pub fn from_json(json: &Value) -> Result<AnswerOptions> {
        let fields = Fields::new(json, "options")?;
        Ok(AnswerOptions {
            id: fields.text_or_empty("id")?,
            model: fields.text_or_empty("model")?,
            created: number_of(&fields, "created")?,
            seed: number_of(&fields, "seed")?,
            call_id_prefix: fields.text_or_empty("call_id_prefix")?,
            choice: number_of(&fields, "choice")?,
            omit_request: fields.flag("omit_request", false)?,
            ..AnswerOptions::default()
        })
    }
}

/// A number, which is 0 if it is missing.
fn number_of(fields: &Fields, name: &str) -> Result<u64> {
    Ok(fields.number(name)?.unwrap_or_default())
}
