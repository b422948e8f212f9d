//! The variables that one render sees.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use minijinja::value::{Enumerator, Object, Value};
use serde_json::Value as Json;

use crate::fault::Result;
use crate::probe::labels::Labels;
use crate::python::from_json::labelled;
use crate::python::memo::Memo;
use crate::python::ops::STRICT;
use crate::python::pydict::Map as Pairs;
use crate::python::strftime;
use crate::{Conversation, Host};

/// The variable that holds the render's clock. The space keeps templates from naming it.
pub const NOW: &str = " now";

/// The variable that asks for the opening of the assistant's turn.
pub const ASKS: &str = "add_generation_prompt";

/// How far a render has come, how often its template has read [`ASKS`], and how far it was then
/// for the first time.
#[derive(Debug, Default)]
pub struct Watch {
    written: AtomicUsize,
    reads: AtomicUsize,
    first: AtomicUsize,
}

impl Watch {
    /// Notes the length of the prompt so far.
    pub fn wrote(&self, length: usize) {
        self.written.store(length, Ordering::Relaxed);
    }

    fn read(&self) {
        if self.reads.fetch_add(1, Ordering::Relaxed) == 0 {
            self.first
                .store(self.written.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// The length of the prompt at the first read, and whether there was no other.
    pub fn read_at(&self) -> Option<(usize, bool)> {
        let reads = self.reads.load(Ordering::Relaxed);
        (reads > 0).then(|| (self.first.load(Ordering::Relaxed), reads == 1))
    }
}

/// All variables, by name.
#[derive(Debug)]
struct Root {
    set: Pairs,
    /// The time for rarely used variables, which are computed on access.
    now: Option<i64>,
    /// These variables, and their formats.
    dates: &'static [(&'static str, &'static str)],
    watch: Arc<Watch>,
}

const DATES: [(&str, &str); 2] = [("datetime", "%b %d %Y"), ("date_string", "%d %b %Y")];

impl Object for Root {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        if key == ASKS {
            self.watch.read();
        }
        self.set.get_by_str(key).or_else(|| match key {
            NOW => self.now.map(Value::from),
            _ => {
                let (_, format) = self.dates.iter().find(|(name, _)| *name == key)?;
                Some(match self.now {
                    Some(now) => Value::from(strftime::text(now, format)),
                    None => Value::from(strftime::missing(key)),
                })
            }
        })
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let dates = self
            .dates
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| self.set.get_by_str(name).is_none());
        Enumerator::Values(
            self.set
                .keys()
                .into_iter()
                .chain(dates.map(Value::from))
                .collect(),
        )
    }
}

/// The context of a conversation; `takes_none`: the variables that transformers always passes may
/// be none. `watch` notes each read of [`ASKS`].
pub fn conversation(
    conversation: &Conversation,
    bos: &str,
    eos: &str,
    takes_none: bool,
    labels: Option<&Labels>,
    memo: Option<&Memo>,
    watch: Arc<Watch>,
) -> Result<Value> {
    let is_plain = conversation.host == Host::Transformers;
    let passes_none = is_plain || conversation.host == Host::Own && takes_none;
    // Later variables replace earlier ones of the same name.
    let mut set: Vec<(&str, Value)> = Vec::with_capacity(13 + conversation.extra.len());
    if !is_plain {
        // Vendors name the same two switches differently: a value set under our name is set under
        // all names.
        if let Some(Json::Bool(keep)) = conversation.extra.get("preserve_reasoning") {
            set.extend(preserve_reasoning(*keep).map(|(name, value)| (name, Value::from(value))));
        }
        if let Some(Json::String(effort)) = conversation.extra.get(EFFORT[0]) {
            set.extend(EFFORT.map(|name| (name, Value::from(effort.as_str()))));
        }
        set.push((THINKS, Value::from(conversation.enable_thinking)));
    }
    set.push(("messages", conversation.messages.value(labels)?));
    // If the tokeniser lacks the token, the variable stays undefined.
    let tokens = [("bos_token", bos), ("eos_token", eos)]
        .into_iter()
        .filter(|(_, text)| !is_plain || !text.is_empty());
    set.extend(tokens.map(|(name, text)| (name, Value::from(text))));
    if passes_none || !conversation.tools.is_null() {
        set.push(("tools", conversation.tools.value(labels, memo)?));
    }
    if passes_none {
        set.push(("documents", Value::from(())));
    }
    if is_plain {
        set.push((STRICT, Value::from(true)));
    }
    for (name, value) in &conversation.extra {
        set.push((name, labelled(value, labels)?));
    }
    if conversation.host != Host::LlamaCpp || conversation.add_generation_prompt {
        set.push((ASKS, Value::from(conversation.add_generation_prompt)));
    }
    let set = Pairs::of(
        set.into_iter()
            .map(|(name, value)| (Value::from(name), value))
            .collect(),
    );
    let dates = if is_plain { &[][..] } else { &DATES };
    Ok(Value::from_object(Root {
        set,
        now: conversation.now,
        dates,
        watch,
    }))
}

/// The switch of thinking, and its name in templates that do not have that one.
pub const THINKS: &str = "enable_thinking";
pub const OTHER_SWITCH: &str = "thinking";

/// The names of the variable for the level of effort.
pub const EFFORT: [&str; 2] = ["reasoning_effort", "reasoning_strength"];

/// The names of the switch that keeps the reasoning of earlier turns.
pub fn preserve_reasoning(keep: bool) -> [(&'static str, bool); 4] {
    [
        ("preserve_thinking", keep),
        ("clear_thinking", !keep),
        ("truncate_history_thinking", !keep),
        ("drop_thinking", !keep),
    ]
}
