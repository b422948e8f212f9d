//! Probe conversations: what the template is asked to render, in words that occur in no template.
//!
//! A comparison needs two conversations that differ in one fact. To keep the rest of a render from blurring the
//! difference, no two words that may stand at the same place begin or end with the same character, and call ids share
//! a beginning so that a split shows where an id starts. Ids are nine letters and digits: some templates insist.

use serde_json::{Map, Value, json};

use crate::template::{Caps, Conversation};

/// What the user says.
pub(super) const USER: &str = "Umbrellas, please: which do you stock? U";
/// What the user said before.
pub(super) const USER_EARLIER: &str = "Windows, first: do you clean them? W";
/// What the assistant answers.
pub(super) const REPLY: &str = "All of them, as far as I can tell A";
/// What the assistant thinks before it answers.
pub(super) const THOUGHT: &str = "Reckoning what is on the shelf R";
/// The function that most probes call.
pub(super) const FUNCTION: &str = "FF_function_one_FF";
/// Another function.
pub(super) const OTHER_FUNCTION: &str = "SS_function_two_SS";
/// The name of an argument, always a function's first.
pub(super) const ARGUMENT: &str = "AA_argument_one_AA";
/// The name of another argument, always after the first.
pub(super) const OTHER_ARGUMENT: &str = "BB_argument_two_BB";
/// The value of an argument.
pub(super) const VALUE: &str = "XXXX";
/// Another value.
pub(super) const OTHER_VALUE: &str = "YYYY";
/// What all ids begin with.
pub(super) const ID_STEM: &str = "call";

/// The id of the first call.
pub(super) const ID: &str = "call00001";
const ID_OF_SECOND: &str = "call00002";
const ID_CHANGED: &str = "call99999";

/// How an id that a probe gives to a call can be recognised, whichever call it is.
pub(super) const ID_ROOT: &str = "call0000";

/// A tool call of a probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    function: &'static str,
    arguments: &'static [(&'static str, &'static str)],
    id: &'static str,
}

impl Call {
    /// The call that most probes make: two arguments, `VALUE` and `OTHER_VALUE`.
    pub(super) const FIRST: Call =
        Call { function: FUNCTION, arguments: &[(ARGUMENT, VALUE), (OTHER_ARGUMENT, OTHER_VALUE)], id: ID };
    /// The same arguments for the other function, with the id of a second call.
    pub(super) const SECOND: Call = Call { function: OTHER_FUNCTION, id: ID_OF_SECOND, ..Call::FIRST };
    /// The first call by another id.
    pub(super) const FIRST_WITH_OTHER_ID: Call = Call { id: ID_CHANGED, ..Call::FIRST };
    /// The first call with its first argument only.
    pub(super) const ONE_ARGUMENT: Call = Call { arguments: &[(ARGUMENT, VALUE)], ..Call::FIRST };
    /// The first call with its first argument only, which has the other value.
    pub(super) const ONE_ARGUMENT_CHANGED: Call = Call { arguments: &[(ARGUMENT, OTHER_VALUE)], ..Call::FIRST };
    /// The first call with its second argument only.
    pub(super) const OTHER_ARGUMENT_ONLY: Call = Call { arguments: &[(OTHER_ARGUMENT, OTHER_VALUE)], ..Call::FIRST };

    fn to_json(self) -> Value {
        let arguments: Map<String, Value> =
            self.arguments.iter().map(|(name, value)| (name.to_string(), Value::from(*value))).collect();
        json!({
            "id": self.id,
            "type": "function",
            "function": {"name": self.function, "arguments": arguments},
        })
    }
}

/// A conversation under construction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Probe {
    messages: Vec<Value>,
    offers_tools: bool,
    enable_thinking: bool,
    add_generation_prompt: bool,
}

impl Probe {
    /// Nothing said yet, no tools, thinking on, no generation prompt.
    pub(super) fn empty() -> Self {
        Probe { messages: Vec::new(), offers_tools: false, enable_thinking: true, add_generation_prompt: false }
    }

    /// The user has asked.
    pub(super) fn asked() -> Self {
        Probe::empty().user(USER)
    }

    /// The user has asked and two tools are on offer.
    pub(super) fn asked_with_tools() -> Self {
        Probe { offers_tools: true, ..Probe::asked() }
    }

    pub(super) fn user(self, text: &str) -> Self {
        self.message(json!({"role": "user", "content": text}))
    }

    /// The assistant says [`REPLY`].
    pub(super) fn reply(self) -> Self {
        self.message(json!({"role": "assistant", "content": REPLY}))
    }

    /// The assistant thinks [`THOUGHT`], then says `text`.
    pub(super) fn thought(self, text: &str) -> Self {
        self.message(json!({"role": "assistant", "content": text, "reasoning_content": THOUGHT}))
    }

    /// The assistant calls tools and says nothing.
    pub(super) fn calls(self, calls: &[Call]) -> Self {
        let calls: Vec<Value> = calls.iter().map(|call| call.to_json()).collect();
        self.message(json!({"role": "assistant", "content": "", "tool_calls": calls}))
    }

    /// The assistant thinks [`THOUGHT`], then calls a tool; its content is null.
    pub(super) fn thought_and_call(self, call: Call) -> Self {
        self.message(json!({
            "role": "assistant",
            "content": null,
            "reasoning_content": THOUGHT,
            "tool_calls": [call.to_json()],
        }))
    }

    /// The template variable `enable_thinking`.
    pub(super) fn thinking(self, enable_thinking: bool) -> Self {
        Probe { enable_thinking, ..self }
    }

    /// The assistant's turn is opened.
    pub(super) fn turn_opened(self) -> Self {
        Probe { add_generation_prompt: true, ..self }
    }

    fn message(mut self, message: Value) -> Self {
        self.messages.push(message);
        self
    }

    /// The conversation as a template with `caps` wants it: text content in parts where it takes nothing else.
    pub(super) fn conversation(&self, caps: &Caps) -> Conversation {
        let mut messages = self.messages.clone();
        if caps.typed_content && !caps.string_content {
            for content in messages.iter_mut().filter_map(|message| message.get_mut("content")) {
                if content.is_string() {
                    *content = json!([{"type": "text", "text": content.take()}]);
                }
            }
        }
        Conversation {
            messages: Value::Array(messages),
            tools: if self.offers_tools { tools() } else { Value::Null },
            enable_thinking: self.enable_thinking,
            add_generation_prompt: self.add_generation_prompt,
            extra: Map::new(),
            now: 0,
        }
    }
}

fn tools() -> Value {
    let tool = |name: &str, description: &str| {
        json!({
            "type": "function",
            "function": {
                "name": name,
                "description": description,
                "parameters": {
                    "type": "object",
                    "properties": {
                        ARGUMENT: {"type": "string", "description": "One text"},
                        OTHER_ARGUMENT: {"type": "string", "description": "Two texts"},
                    },
                    "required": [],
                },
            },
        })
    };
    json!([tool(FUNCTION, "Does one thing"), tool(OTHER_FUNCTION, "Does two things")])
}
