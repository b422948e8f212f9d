//! How a model writes: descriptions of outputs, as expressions with tags.
//!
//! ```text
//! FormatSpec (request, prompt's end) ──┐
//! Layout (learnt) ──▶ auto ────────────┼─▶ Format { output: Arena with Tags, constraint, stops, ... } ──▶ parser, grammar
//! template's source ─▶ model (family) ─┘
//! ```
//!
//! [`auto`] describes what was learnt of a template ([`crate::analysis::Layout`]); [`model`] has a file for each family of templates
//! that cannot be learnt. Both are written with `FormatBuilder` and share ways to write calls (`calls`). One description gives the
//! parser and the grammar. A format depends on its [`FormatSpec`] and the template, on nothing else, so equal ones are made once.
//! What a tag means for the message is said in `output`.

pub mod auto;
mod builder;
mod calls;
mod glue;
mod harmony;
pub mod learnt;
pub mod model;
pub mod prompt;
mod tag;
pub(crate) mod wrappers;

use serde_json::Value;

pub(crate) use builder::FormatBuilder;
pub use calls::described as described_calls;
pub(crate) use calls::members;
pub use model::{Family, family_of};
pub use prompt::{Prompt, PromptInput};
pub use tag::Tag;

use crate::analysis::Layout;
use crate::grammar::Trigger;
use crate::message::{Continuation, GrammarStyle, Leniency, ReasoningFormat, Request, Tool, ToolChoice};
use crate::peg::Arena;

/// What a format may know of a request: all that it may depend on, so that equal ones give equal formats.
#[derive(Clone, Copy, Debug)]
pub struct FormatSpec<'a> {
    /// The template's text.
    pub source: &'a str,
    /// The token that ends the model's turn; empty where it is not known.
    pub eos: &'a str,
    /// The end of the prompt that opens the assistant's turn, as the template renders it.
    pub opening: &'a str,
    /// The same with what a continued message has so far: what the parser reads before the output.
    pub prefill: &'a str,
    /// Where the model continues a message; never [`Continuation::Auto`], and `None` where there is nothing to continue.
    pub continuation: Continuation,
    /// The tools that the request allows, whether calls may be or not: see [`FormatSpec::tools`].
    pub offered: &'a [Tool],
    /// Whether calls may, must or must not be.
    pub tool_choice: ToolChoice,
    /// More than one call.
    pub parallel_tool_calls: bool,
    /// What happens to reasoning.
    pub reasoning_format: ReasoningFormat,
    /// The template variable of that name.
    pub enable_thinking: bool,
    /// The schema of a structured response; `Null` for none.
    pub json_schema: &'a Value,
    /// What becomes of output that is not quite in the format.
    pub leniency: Leniency,
    /// How the schemas become rules of the grammar.
    pub grammar_style: GrammarStyle,
}

impl<'a> FormatSpec<'a> {
    /// What a request wants of a format, by itself: of no template, with nothing in front of the output.
    pub fn of(request: &'a Request) -> Self {
        FormatSpec {
            source: "",
            eos: "",
            opening: "",
            prefill: "",
            continuation: Continuation::None,
            offered: request.allowed_tools.as_deref().unwrap_or(&request.tools),
            tool_choice: request.tool_choice,
            parallel_tool_calls: request.parallel_tool_calls,
            reasoning_format: request.reasoning_format,
            enable_thinking: request.enable_thinking,
            json_schema: &request.json_schema,
            leniency: request.leniency,
            grammar_style: request.grammar_style,
        }
    }

    /// The tools that may be called; empty where they are not to be called.
    pub fn tools(&self) -> &'a [Tool] {
        if self.tool_choice == ToolChoice::None { &[] } else { self.offered }
    }

    /// At least one call.
    pub fn call_required(&self) -> bool {
        self.tool_choice == ToolChoice::Required
    }

    /// More than one call.
    pub fn parallel(&self) -> bool {
        self.parallel_tool_calls
    }

    /// Whether reasoning is told from content.
    pub fn extract_reasoning(&self) -> bool {
        self.reasoning_format != ReasoningFormat::None
    }

    /// The schema of a structured response, an object that says something.
    pub fn response_schema(&self) -> Option<&'a Value> {
        self.response_object().filter(|schema| schema.as_object().is_some_and(|fields| !fields.is_empty()))
    }

    /// The same, but `{}` (any JSON) counts, too.
    pub fn response_object(&self) -> Option<&'a Value> {
        Some(self.json_schema).filter(|schema| schema.is_object())
    }

    /// The constraint of a format with these triggers. `structured`: the response follows a schema.
    fn constraint(&self, structured: bool, triggers: impl IntoIterator<Item = Trigger>) -> Constraint {
        let callable = !self.tools().is_empty();
        if structured || callable && self.call_required() {
            Constraint::Strict(triggers.into_iter().collect())
        } else if callable {
            Constraint::Lazy(triggers.into_iter().collect())
        } else {
            Constraint::Free
        }
    }
}

/// The one description of an output, and what goes with it.
#[derive(Clone, Debug)]
pub struct Format {
    /// The name that hosts know this way of parsing by.
    pub name: &'static str,
    /// What the output may look like, the generation prompt included.
    pub output: Arena,
    /// Whether a grammar constrains the output, and if so, how it starts.
    pub constraint: Constraint,
    /// Texts that must stay single tokens.
    pub preserved_tokens: Vec<String>,
    /// Texts that end the output besides the end-of-turn token.
    pub additional_stops: Vec<String>,
    /// What opens and closes reasoning; `None` where the template has none.
    pub thinking: Option<Thinking>,
    /// How the turns of each role begin in a prompt.
    pub delimiters: Vec<Delimiter>,
}

impl Default for Format {
    fn default() -> Self {
        Format {
            name: "peg-native",
            output: Arena::default(),
            constraint: Constraint::Free,
            preserved_tokens: Vec::new(),
            additional_stops: Vec::new(),
            thinking: None,
            delimiters: Vec::new(),
        }
    }
}

/// Whether a grammar constrains the output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Constraint {
    /// No grammar.
    #[default]
    Free,
    /// From the first byte on. The triggers are for hosts that want to know them all the same.
    Strict(Vec<Trigger>),
    /// From the first trigger on.
    Lazy(Vec<Trigger>),
}

impl Constraint {
    /// A grammar, lazy or not.
    fn grammar(lazy: bool, triggers: Vec<Trigger>) -> Self {
        if lazy { Constraint::Lazy(triggers) } else { Constraint::Strict(triggers) }
    }

    /// Whether the grammar starts at a trigger only.
    pub fn is_lazy(&self) -> bool {
        matches!(self, Constraint::Lazy(_))
    }

    /// The triggers.
    pub fn triggers(&self) -> &[Trigger] {
        match self {
            Constraint::Free => &[],
            Constraint::Strict(triggers) | Constraint::Lazy(triggers) => triggers,
        }
    }
}

/// The markers of reasoning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Thinking {
    /// What opens it; may be empty.
    pub start: String,
    /// Any of these closes it.
    pub ends: Vec<String>,
}

impl Thinking {
    fn new<'a>(start: &str, ends: impl IntoIterator<Item = &'a str>) -> Self {
        Thinking { start: start.to_owned(), ends: ends.into_iter().map(str::to_owned).collect() }
    }
}

/// What a turn begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delimiter {
    /// `user`, `assistant`, `system` or `tool`.
    pub role: &'static str,
    /// The text.
    pub delimiter: String,
}

impl Delimiter {
    /// The openings that a layout knows.
    fn of_layout(layout: &Layout) -> Vec<Delimiter> {
        let openings = [("assistant", &*layout.assistant_start), ("user", &*layout.user_start)];
        Delimiter::list(openings.into_iter().filter(|(_, text)| !text.is_empty()))
    }

    /// A list of roles and texts.
    fn list<'a>(rows: impl IntoIterator<Item = (&'static str, &'a str)>) -> Vec<Delimiter> {
        rows.into_iter().map(|(role, delimiter)| Delimiter { role, delimiter: delimiter.to_owned() }).collect()
    }
}
