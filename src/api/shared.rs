//! The common part of converting Responses and Messages requests to chat completions.

use serde_json::{Map, Value};

use chatparse_base::Result;
use chatparse_message::fields::Fields;
use chatparse_message::{OPTIONS, known_fields};

/// Fields with the same meaning in chat completions, in addition to this library's options.
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

/// A chat-completions body with those fields of `body` that mean the same there; `own`: other fields that its API has.
pub(super) fn chat_body(body: &Fields, own: &[&'static str]) -> Result<Map<String, Value>> {
    known_fields(body, &[SAME, OPTIONS, own])?;
    Ok([SAME, OPTIONS].into_iter().flat_map(|names| taken(body, names)).collect())
}

/// Copies the fields with these names, if present.
pub(super) fn taken(from: &Fields, names: &[&str]) -> Map<String, Value> {
    names.iter().filter_map(|name| Some(((*name).to_owned(), from.get(name)?.clone()))).collect()
}

/// Sets how much the model should think.
pub(super) fn set_effort(effort: &str, chat: &mut Map<String, Value>) {
    if effort == "none" {
        chat.entry("enable_thinking").or_insert(false.into());
    } else {
        chat.insert("reasoning_effort".to_owned(), effort.into());
    }
}
