//! Probe conversations: what the template is asked to render, in words that do not occur in templates.
//!
//! A comparison needs two conversations that differ in one fact. To keep the difference sharp, no two words that may be at
//! the same place begin or end with the same character. Call ids begin alike, so that a split shows where an id starts. Ids
//! are nine letters and digits, because some templates require that.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::template::{Caps, Conversation};

/// The user's message.
pub(super) const USER: &str = "Umbrellas, please: which do you stock? U";
/// The user's earlier message.
pub(super) const USER_EARLIER: &str = "Windows, first: do you clean them? W";
/// The assistant's answer.
pub(super) const REPLY: &str = "All of them, as far as I can tell A";
/// The assistant's reasoning.
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
/// The common beginning of all ids.
pub(super) const ID_STEM: &str = "call";

/// The id of the first call.
pub(super) const ID: &str = "call00001";
const ID_OF_SECOND: &str = "call00002";
const ID_CHANGED: &str = "call99999";

/// Parts of the words above, which no template contains.
const PIECES: &[&str] = &[
    "Umbrellas",
    "do you stock",
    "Windows, first",
    "do you clean",
    "All of them",
    "as I can tell",
    "Reckoning",
    "on the shelf",
    "function_one",
    "function_two",
    "argument_one",
    "argument_two",
    VALUE,
    OTHER_VALUE,
    ID_ROOT,
    ID_CHANGED,
];

/// Whether `text` contains a word of a probe.
pub(super) fn has_probe_word(text: &str) -> bool {
    PIECES.iter().any(|piece| text.contains(piece))
}

/// A part of each call id, by which one is recognised.
pub(super) const ID_ROOT: &str = "call0000";

/// A tool call of a probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Call {
    function: &'static str,
    arguments: &'static [(&'static str, &'static str)],
    id: &'static str,
}

impl Call {
    /// The call that most probes make: two arguments, `VALUE` and `OTHER_VALUE`.
    pub(super) const FIRST: Call =
        Call { function: FUNCTION, arguments: &[(ARGUMENT, VALUE), (OTHER_ARGUMENT, OTHER_VALUE)], id: ID };
    /// The other function with the same arguments, and the id of a second call.
    pub(super) const SECOND: Call = Call { function: OTHER_FUNCTION, id: ID_OF_SECOND, ..Call::FIRST };
    /// The first call with another id.
    pub(super) const FIRST_WITH_OTHER_ID: Call = Call { id: ID_CHANGED, ..Call::FIRST };
    /// The first call with its first argument only.
    pub(super) const ONE_ARGUMENT: Call = Call { arguments: &[(ARGUMENT, VALUE)], ..Call::FIRST };
    /// The first call with its first argument only, and another value for it.
    pub(super) const ONE_ARGUMENT_CHANGED: Call = Call { arguments: &[(ARGUMENT, OTHER_VALUE)], ..Call::FIRST };
    /// The first call with its second argument only.
    pub(super) const OTHER_ARGUMENT_ONLY: Call = Call { arguments: &[(OTHER_ARGUMENT, OTHER_VALUE)], ..Call::FIRST };

    fn to_json(self) -> Value {
        let arguments = object(self.arguments.iter().map(|&(name, value)| (name, value.into())));
        let function = object([("name", self.function.into()), ("arguments", arguments)]);
        object([("id", self.id.into()), ("type", "function".into()), ("function", function)])
    }
}

fn object(pairs: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Value::Object(pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// A message.
#[derive(Clone, Debug, Default, PartialEq)]
struct Turn {
    role: &'static str,
    /// `None` is rendered as null.
    content: Option<&'static str>,
    thinks: bool,
    calls: Vec<Call>,
}

impl Turn {
    /// The message in the form that a template with `caps` takes.
    fn to_json(&self, caps: &Caps) -> Value {
        let content = self.content.map(|text| caps.content(text)).unwrap_or_default();
        let reasoning = self.thinks.then(|| ("reasoning_content", THOUGHT.into()));
        let calls = || ("tool_calls", self.calls.iter().map(|call| call.to_json()).collect());
        let calls = (!self.calls.is_empty()).then(calls);
        let fields = [("role", self.role.into()), ("content", content)];
        let mut message = object(fields.into_iter().chain(reasoning).chain(calls));
        caps.complete(&mut message);
        message
    }
}

/// A conversation under construction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Probe {
    turns: Vec<Turn>,
    offers_tools: bool,
    enable_thinking: bool,
    add_generation_prompt: bool,
}

impl Probe {
    /// No messages, no tools, thinking on, no generation prompt.
    pub(super) fn empty() -> Self {
        Probe { turns: Vec::new(), offers_tools: false, enable_thinking: true, add_generation_prompt: false }
    }

    /// A question of the user.
    pub(super) fn asked() -> Self {
        Probe::empty().user(USER)
    }

    /// A question of the user, and two tools.
    pub(super) fn asked_with_tools() -> Self {
        Probe { offers_tools: true, ..Probe::asked() }
    }

    /// A question of the user, and an assistant message with these calls.
    pub(super) fn calling(calls: &[Call]) -> Self {
        Probe::asked_with_tools().calls(calls)
    }

    pub(super) fn user(self, text: &'static str) -> Self {
        self.turn(Turn { role: "user", content: Some(text), ..Turn::default() })
    }

    /// Adds an assistant message with [`REPLY`].
    pub(super) fn reply(self) -> Self {
        self.assistant(Turn { content: Some(REPLY), ..Turn::default() })
    }

    /// Adds an assistant message with [`THOUGHT`] and `text`.
    pub(super) fn thought(self, text: &'static str) -> Self {
        self.assistant(Turn { content: Some(text), thinks: true, ..Turn::default() })
    }

    /// Adds an assistant message with calls and without content.
    pub(super) fn calls(self, calls: &[Call]) -> Self {
        self.assistant(Turn { content: Some(""), calls: calls.to_vec(), ..Turn::default() })
    }

    /// Adds an assistant message with [`THOUGHT`] and a call; its content is null.
    pub(super) fn thought_and_call(self, call: Call) -> Self {
        self.assistant(Turn { thinks: true, calls: vec![call], ..Turn::default() })
    }

    /// Sets the template variable `enable_thinking`.
    pub(super) fn thinking(self, enable_thinking: bool) -> Self {
        Probe { enable_thinking, ..self }
    }

    /// Adds the generation prompt.
    pub(super) fn turn_opened(self) -> Self {
        Probe { add_generation_prompt: true, ..self }
    }

    fn assistant(self, turn: Turn) -> Self {
        self.turn(Turn { role: "assistant", ..turn })
    }

    fn turn(mut self, turn: Turn) -> Self {
        self.turns.push(turn);
        self
    }

    /// The conversation in the form that a template with `caps` takes. `tools`: the tools, for probes that have some.
    pub(super) fn conversation(&self, caps: &Caps, tools: &Arc<Value>) -> Conversation {
        Conversation {
            plain: false,
            messages: self.turns.iter().map(|turn| turn.to_json(caps)).collect::<Value>().into(),
            tools: if self.offers_tools { tools.clone() } else { Arc::default() },
            enable_thinking: self.enable_thinking,
            add_generation_prompt: self.add_generation_prompt,
            extra: Map::new(),
            now: Some(0),
        }
    }
}

/// The tools of the probes.
pub(super) fn tools() -> Arc<Value> {
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
    Arc::new(vec![tool(FUNCTION, "Does one thing"), tool(OTHER_FUNCTION, "Does two things")].into())
}
