//! The variables that one render sees.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use minijinja::Error;
use minijinja::value::Value;
use serde_json::{Map, Value as Json};

use super::Conversation;
use super::clock;
use super::opening::{self, Marks};
use super::trace::Trace;
use super::value::{from_json, traced};

/// The variable with the render's clock. No template can spell it.
pub(super) const NOW: &str = " now";

/// The context of a conversation. Later variables win over earlier ones of the same name.
pub(super) struct Variables<'c> {
    set: Vec<(&'c str, Value)>,
    /// What [`opening::NAME`] would be if the conversation asked for the opposite.
    other_opening: Value,
}

impl Variables<'_> {
    /// As the engine takes it.
    pub(super) fn value(self) -> Value {
        Value::from_pairs(self.set)
    }

    /// For a render that shows both prompts, and the marks that it leaves in an output that counts its bytes in `written`.
    pub(super) fn for_both(mut self, written: Arc<AtomicUsize>) -> (Value, Arc<Marks>) {
        let marks = Marks::new(written, std::mem::take(&mut self.other_opening));
        self.set.push((opening::MARKS, Value::from_dyn_object(marks.clone())));
        (self.value(), marks)
    }
}

/// The variables of a conversation.
pub(super) fn conversation<'c>(conversation: &'c Conversation, bos: &str, eos: &str) -> Result<Variables<'c>, Error> {
    let mut set: Vec<(&str, Value)> = Vec::new();
    set.extend(reasoning_aliases(&conversation.extra));
    set.push(("messages", from_json(&conversation.messages)?));
    set.push(("bos_token", Value::from(bos)));
    set.push(("eos_token", Value::from(eos)));
    set.push(("enable_thinking", Value::from(conversation.enable_thinking)));
    if !conversation.tools.is_null() {
        set.push(("tools", from_json(&conversation.tools)?));
    }
    set.push(("datetime", Value::from(clock::text(conversation.now, "%b %d %Y"))));
    set.push(("date_string", Value::from(clock::text(conversation.now, "%d %b %Y"))));
    for (name, value) in &conversation.extra {
        set.push((name, from_json(value)?));
    }
    let mut other_opening = Value::from(true);
    if conversation.add_generation_prompt {
        set.push((opening::NAME, Value::from(true)));
        other_opening = conversation.extra.get(opening::NAME).map(from_json).transpose()?.unwrap_or_default();
    }
    set.push((NOW, Value::from(conversation.now)));
    Ok(Variables { set, other_opening })
}

/// Vendors call the same two switches by different names: what a caller sets under ours holds for all of them.
fn reasoning_aliases(extra: &Map<String, Json>) -> Vec<(&'static str, Value)> {
    let mut set = Vec::new();
    if let Some(Json::Bool(keep)) = extra.get("preserve_reasoning") {
        set.extend(preserve_reasoning(*keep).map(|(name, value)| (name, Value::from(value))));
    }
    if let Some(Json::String(effort)) = extra.get("reasoning_effort") {
        set.extend(EFFORT.map(|name| (name, Value::from(effort.as_str()))));
    }
    set
}

/// The names of a level of effort.
pub(super) const EFFORT: [&str; 2] = ["reasoning_effort", "reasoning_strength"];

/// The names of the switch that keeps the reasoning of earlier turns.
pub(super) fn preserve_reasoning(keep: bool) -> [(&'static str, bool); 4] {
    [
        ("preserve_thinking", keep),
        ("clear_thinking", !keep),
        ("truncate_history_thinking", !keep),
        ("drop_thinking", !keep),
    ]
}

/// A context whose values report what the template does to them.
pub(super) fn trial(variables: &Map<String, Json>, trace: Trace) -> Result<Value, Error> {
    traced(&Json::Object(variables.clone()), Some(trace))
}
