//! OpenAI's Responses API: a list of items in, a list of items out.

mod answer;
mod request;

pub(super) use answer::{Writer, body};
pub(super) use request::to_chat;
