//! Converts requests and answers of the common server APIs: OpenAI's chat completions and Responses, and Anthropic's
//! Messages.
//!
//! The library's own form is chat completions: [`Api::request`] converts a body of another API to it, and
//! [`crate::Request::from_json`] reads it. An [`Answer`] converts a stream's deltas to events, and a finished message to a
//! body. HTTP routes, the counting of tokens and stopping are up to the server.
//!
//! ```
//! use chatparse::api::{Answer, AnswerOptions, Api, Event, Finish};
//! use chatparse::{ChatTemplate, Request, Stream};
//!
//! let body = serde_json::json!({"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "Hi"}]});
//! let request = Request::from_json(&Api::Messages.request(&body)?)?;
//! let params = ChatTemplate::builtin("chatml").expect("it is built in").params(&request)?;
//!
//! let mut options = AnswerOptions::default();
//! options.seed = 4;
//! options.request = body;
//! let mut answer = Answer::new(Api::Messages, options);
//! let mut stream = Stream::new(&params.parser);
//! let mut sent: String = answer.begin(12)?.iter().map(Event::sse).collect();
//! for piece in ["Hello", " you."] {
//!     sent.extend(answer.deltas(stream.feed(piece.as_bytes()))?.iter().map(Event::sse));
//! }
//! let ended = stream.finish(false);
//! sent.extend(answer.deltas(stream.deltas())?.iter().map(Event::sse));
//! sent.extend(answer.finish(&ended, &Finish::default())?.iter().map(Event::sse));
//! assert!(sent.starts_with("event: message_start\ndata: {") && sent.contains("\"stop_reason\":\"end_turn\""));
//! assert_eq!(answer.body(&ended, &Finish::default())["content"][0]["text"], "Hello you.");
//! # Ok::<(), chatparse::Error>(())
//! ```

mod answer;
mod called;
mod chat;
mod failure;
pub(crate) mod fields;
mod ids;
mod items;
mod messages;
mod responses;
mod shared;
mod wire;

pub use answer::Answer;
pub use failure::http_status;
pub use wire::{AnswerOptions, Event, Finish, Reason, Usage};

use serde_json::Value;

use chatparse_base::Result;

/// An API of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Api {
    /// OpenAI's `/v1/chat/completions`.
    ChatCompletions,
    /// OpenAI's `/v1/responses`.
    Responses,
    /// Anthropic's `/v1/messages`.
    Messages,
}

impl Api {
    /// Converts a body of this API to chat completions; a chat-completions body is unchanged.
    ///
    /// In Responses and Messages, several calls are allowed unless the body forbids them, as in these APIs. This library's
    /// options and those of samplers keep their names; the limit of tokens becomes `max_completion_tokens`. Fields that a
    /// model does not see are dropped; `notes` names those that ask for what is not done, and `compaction` is there if the
    /// client asks for one. The cost is linear in the body.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] with the name of the field that is wrong or not supported, e.g.
    /// `input[3].type`, and [`crate::ErrorKind::Limit`] for a name or an id that is too long. Fields that are copied are
    /// checked by [`crate::Request::from_json`] later.
    pub fn request(self, body: &Value) -> Result<Value> {
        match self {
            Api::ChatCompletions => Ok(body.clone()),
            Api::Responses => responses::to_chat(body),
            Api::Messages => messages::to_chat(body),
        }
    }

    /// The prefix of answer ids.
    fn id_prefix(self) -> &'static str {
        match self {
            Api::ChatCompletions => "chatcmpl-",
            Api::Responses => "resp_",
            Api::Messages => "msg_",
        }
    }
}
