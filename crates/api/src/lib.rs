//! Converts requests and answers of the common server APIs: OpenAI's chat completions and
//! Responses, and Anthropic's Messages.
//!
//! - **In:** a body of a server's API, and the deltas of a stream.
//! - **Out:** a body of chat completions, and that API's events and answers.
//! - **Never:** it opens no connection, counts no tokens, and reads no template.
//!
//! The library's own form is chat completions: [`Api::request`] converts a body of another API to
//! it, and [`Api::chat_body`] its text. An [`Answer`] converts a stream's deltas to events, and a
//! finished message to a body. HTTP routes, the counting of tokens and stopping are up to the
//! server.
//!
//! ```
//! use chatparse::api::{Answer, AnswerOptions, Api, Event, Finish};
//! use chatparse::{ChatTemplate, EndedBy, Stream};
//!
//! let template = ChatTemplate::builtin("chatml").expect("it is built in");
//! let body = r#"{"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "Hi"}]}"#;
//! let params = template.params(&template.request(&Api::Messages.chat_body(body)?, "{}")?)?;
//!
//! let mut options = AnswerOptions::default();
//! options.seed = 4;
//! options.request = serde_json::from_str(body).expect("it was read");
//! let mut answer = Answer::new(Api::Messages, options);
//! let mut stream = Stream::new(&params.parser);
//! let mut sent: String = answer.begin(12)?.iter().map(Event::sse).collect();
//! for piece in ["Hello", " you."] {
//!     sent.extend(answer.deltas(stream.feed(piece.as_bytes()))?.iter().map(Event::sse));
//! }
//! let ended = stream.finish(EndedBy::Model);
//! sent.extend(answer.deltas(stream.deltas())?.iter().map(Event::sse));
//! sent.extend(answer.finish(&ended, &Finish::default())?.iter().map(Event::sse));
//! assert!(sent.starts_with("event: message_start\ndata: {") && sent.contains("\"stop_reason\":\"end_turn\""));
//! assert_eq!(answer.body(&ended, &Finish::default())["content"][0]["text"], "Hello you.");
//! # Ok::<(), chatparse::Error>(())
//! ```

#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[macro_use]
extern crate chatparse_base;

mod answer;
mod called;
mod chat;
mod failure;
#[doc(hidden)]
pub mod fields;
mod ids;
mod items;
mod logprobs;
mod messages;
mod responses;
mod shared;
mod stops;
mod wire;

pub use answer::Answer;
pub use failure::http_status;
pub use wire::{AnswerOptions, Event, Finish, Reason, Usage};

use std::borrow::Cow;

use serde_json::Value;

use chatparse_base::{Result, number};

/// An API of servers.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Api {
    /// OpenAI's chat completions (`/v1/chat/completions`).
    ChatCompletions = 1,
    /// OpenAI's Responses (`/v1/responses`).
    Responses = 2,
    /// Anthropic's Messages (`/v1/messages`).
    Messages = 3,
}

impl Api {
    /// Converts a body of this API to chat completions; a chat-completions body is unchanged.
    ///
    /// In Responses and Messages, several calls are allowed unless the body forbids them, as in
    /// these APIs. This library's options and those of samplers keep their names; the limit of
    /// tokens becomes `max_completion_tokens`. Fields that a model does not see are dropped;
    /// `notes` names those that ask for what is not done, and `compaction` is there if the client
    /// asks for one. The cost is linear in the body.
    ///
    /// # Errors
    /// [`chatparse_base::ErrorKind::InvalidArgument`] with the name of the field that is wrong or
    /// not supported, e.g. `input[3].type`, and [`chatparse_base::ErrorKind::Limit`] for a name or
    /// an id that is too long. Fields that are copied are checked by
    /// [`chatparse_message::Request::from_json`] later.
    pub fn request(self, body: &Value) -> Result<Value> {
        match self {
            Api::ChatCompletions => Ok(body.clone()),
            Api::Responses => responses::to_chat(body),
            Api::Messages => messages::to_chat(body),
        }
    }

    /// The text of a body of chat completions, for the text of a body of this API.
    ///
    /// # Errors
    /// As [`Api::request`], and [`chatparse_base::ErrorKind::InvalidArgument`] for what is not
    /// JSON.
    pub fn chat_body(self, body: &str) -> Result<Cow<'_, str>> {
        if self == Api::ChatCompletions {
            return Ok(body.into());
        }
        let body = number::parse(body, "the request")?;
        Ok(number::write(&self.request(&body)?).into())
    }
}
