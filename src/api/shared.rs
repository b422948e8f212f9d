//! What requests of Responses and Messages have in common on their way to chat completions.

use serde_json::{Map, Value};

use crate::message::OPTIONS;
use crate::message::fields::Fields;

/// Fields that mean the same in chat completions, besides the options of ours.
const SAME: &[&str] = &[
    "model",
    "stream",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "user",
    "metadata",
    "service_tier",
];

/// A chat-completions body with the fields of `body` that mean the same there.
pub(super) fn chat_body(body: &Fields) -> Map<String, Value> {
    [SAME, OPTIONS].into_iter().flat_map(|names| taken(body, names)).collect()
}

/// The fields of these names that are there.
pub(super) fn taken(from: &Fields, names: &[&str]) -> Map<String, Value> {
    names.iter().filter_map(|name| Some(((*name).to_owned(), from.get(name)?.clone()))).collect()
}

/// How much the model should think.
pub(super) fn set_effort(effort: &str, chat: &mut Map<String, Value>) {
    if effort == "none" {
        chat.entry("enable_thinking").or_insert(false.into());
    } else {
        chat.insert("reasoning_effort".to_owned(), effort.into());
    }
}
