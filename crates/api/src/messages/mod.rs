//! Anthropic's Messages API: messages of content blocks in, one message of content blocks out.

mod answer;
mod partial;
mod request;

pub use answer::{begin, body, finish, ping, steps};
pub use partial::{Prefix, object};
pub use request::{prefill, to_chat};
