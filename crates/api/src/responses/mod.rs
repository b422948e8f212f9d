//! OpenAI's Responses API: a list of items in, a list of items out.

mod answer;
mod request;

pub use answer::{Writer, body};
pub use request::to_chat;
