//! The variables that one render sees.

use serde_json::Value as Json;

use crate::given::{Given, Variables};
use crate::memo::Memo;
use crate::probe::trace::Trace;
use crate::python::strftime;
use crate::text::TEMPLATE;
use crate::tree::{ASKS, Tree};
use crate::value::Value;
use crate::{Conversation, Host, Template};

const DATES: [(&str, &str); 2] = [("datetime", "%b %d %Y"), ("date_string", "%d %b %Y")];

/// Sets variables that a template names; later ones replace earlier ones.
struct Setter<'t> {
    tree: &'t Tree,
    given: Given,
    values: Vec<Option<Value>>,
}

impl Setter<'_> {
    fn set(&mut self, name: &str, make: impl FnOnce(&mut Given) -> Value) {
        if let Some(number) = self.tree.names.get(name) {
            self.values[*number as usize] = Some(make(&mut self.given));
        }
    }

    fn json(&mut self, name: &str, json: &Json, trace: &Trace) {
        self.set(name, |given| given.variable(name, json, trace));
    }
}

/// The variables of a trial render.
pub fn of_json(tree: &Tree, variables: &Json, trace: &Trace) -> Variables {
    let mut setter = Setter {
        tree,
        given: Given::default(),
        values: vec![None; tree.names.len()],
    };
    for (name, json) in variables.as_object().into_iter().flatten() {
        setter.json(name, json, trace);
    }
    (setter.values, setter.given.sources)
}

/// The variables of a conversation; `takes_none`: those that transformers always passes may be
/// none.
pub fn conversation(
    tree: &Tree,
    template: &Template,
    conversation: &Conversation,
    takes_none: bool,
    memo: Option<&Memo>,
    is_traced: bool,
) -> Variables {
    let is_plain = conversation.host == Host::Transformers;
    let passes_none = is_plain || conversation.host == Host::Own && takes_none;
    let trace = &Trace::default();
    let mut all = Setter {
        tree,
        given: Given::default(),
        values: vec![None; tree.names.len()],
    };
    if !is_plain {
        // Vendors name the same two switches differently: a value set under our name is set under
        // all names.
        if let Some(Json::Bool(keep)) = conversation.extra.get("preserve_reasoning") {
            for (name, value) in preserve_reasoning(*keep) {
                all.set(name, |_| value.into());
            }
        }
        all.set(THINKS, |_| conversation.enable_thinking.into());
        if let Some(now) = conversation.now {
            for (name, format) in DATES {
                all.set(name, |_| strftime::text(now, format).into());
            }
        }
    }
    all.given.sources.is_traced = is_traced;
    if let (false, Some(effort @ Json::String(_))) = (is_plain, conversation.extra.get(EFFORT[0])) {
        for name in EFFORT {
            all.json(name, effort, trace);
        }
    }
    all.set("messages", |given| conversation.messages.value(given));
    // If the tokeniser lacks the token, the variable stays undefined.
    for (name, text) in [("bos_token", template.bos()), ("eos_token", template.eos())] {
        if !is_plain || !text.is_empty() {
            all.set(name, |_| text.into());
        }
    }
    if passes_none || !conversation.tools.is_null() {
        all.set("tools", |given| conversation.tools.value(given, memo));
    }
    if passes_none {
        all.set("documents", |_| Value::None(TEMPLATE));
    }
    for (name, value) in &conversation.extra {
        all.json(name, value, trace);
    }
    if conversation.host != Host::LlamaCpp || conversation.add_generation_prompt {
        all.set(ASKS, |_| conversation.add_generation_prompt.into());
    }
    (all.values, all.given.sources)
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
