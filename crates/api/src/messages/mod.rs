//! Anthropic's Messages API: messages of content blocks in, one message of content blocks out.

mod answer;
mod partial;
mod request;

pub(super) use answer::{begin, body, finish, ping, steps};
pub(super) use partial::{Prefix, object};
pub(super) use request::{prefill, to_chat};
