//! How a model writes: formats, as expressions with tags, and the way from captured regions to a message.
//!
//! [`auto`] turns a learnt [`crate::analysis::Layout`] into a [`Format`].

mod assemble;
pub mod auto;
mod draft;
mod harmony;
pub mod model;
mod parts;
pub mod prompt;
mod tag;

use serde_json::Value;

pub(crate) use assemble::Assembler;
pub use model::{Family, family_of};
pub use prompt::{Prompt, PromptInput};
pub use tag::Tag;

use crate::grammar::Trigger;
use crate::message::{ReasoningFormat, Request, Tool, ToolChoice};
use crate::peg::Arena;

/// What a format needs to know of a request.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The tools that may be called; empty where they are not to be called.
    pub tools: &'a [Tool],
    /// At least one call.
    pub call_required: bool,
    /// More than one call.
    pub parallel: bool,
    /// Whether reasoning is told from content.
    pub extract_reasoning: bool,
    /// The schema of a structured response.
    pub response_schema: Option<&'a Value>,
    /// The end of the prompt that opens the assistant's turn, as the template renders it.
    pub generation_prompt: &'a str,
}

impl<'a> Wanted<'a> {
    /// What `request` asks for.
    pub fn new(request: &'a Request, generation_prompt: &'a str) -> Self {
        let tools = if request.tool_choice == ToolChoice::None { &[] } else { request.tools.as_slice() };
        let schema = &request.json_schema;
        Wanted {
            tools,
            call_required: request.tool_choice == ToolChoice::Required,
            parallel: request.parallel_tool_calls,
            extract_reasoning: request.reasoning_format != ReasoningFormat::None,
            response_schema: schema.as_object().filter(|schema| !schema.is_empty()).map(|_| schema),
            generation_prompt,
        }
    }
}

/// The one description of an output, and what goes with it.
#[derive(Clone, Debug, Default)]
pub struct Format {
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

/// Whether a grammar constrains the output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Constraint {
    /// No grammar.
    #[default]
    Free,
    /// From the first byte on.
    Strict,
    /// From the first trigger on.
    Lazy(Vec<Trigger>),
}

/// The markers of reasoning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thinking {
    /// What opens it; may be empty.
    pub start: String,
    /// Any of these closes it.
    pub ends: Vec<String>,
}

/// What a turn begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delimiter {
    /// `user`, `assistant`, `system` or `tool`.
    pub role: &'static str,
    /// The text.
    pub delimiter: String,
}
