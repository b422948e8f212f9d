//! Requests and answers in the shape of the APIs that servers speak: OpenAI's chat completions and Responses, and Anthropic's
//! Messages.
//!
//! The library's own shape is chat completions: [`Api::request`] turns a body of another API into one of these, which
//! [`crate::Request::from_json`] reads. An [`Answer`] turns a stream's deltas into events, and a finished message into a body.
//! Which HTTP route is which, what a request costs and when to stop stays with the server.
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
mod chat;
mod custom;
mod failure;
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

use crate::error::Result;

/// An API that a server speaks.
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
    /// The chat-completions body that asks for what a body of this API asks for; one of chat completions as it is.
    ///
    /// Of Responses and Messages, several calls are allowed unless the body says otherwise, as is usual there; options of ours, and of
    /// samplers, pass by their names; the limit of tokens is `max_completion_tokens`. Fields that are not known are left out. Costs as much as the body.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] naming the field that is wrong, or that cannot be had, e.g. `input[3].type`. What
    /// is passed on is looked at by [`crate::Request::from_json`].
    pub fn request(self, body: &Value) -> Result<Value> {
        match self {
            Api::ChatCompletions => Ok(body.clone()),
            Api::Responses => responses::to_chat(body),
            Api::Messages => messages::to_chat(body),
        }
    }

    /// What ids of answers begin with.
    fn id_prefix(self) -> &'static str {
        match self {
            Api::ChatCompletions => "chatcmpl-",
            Api::Responses => "resp_",
            Api::Messages => "msg_",
        }
    }
}
