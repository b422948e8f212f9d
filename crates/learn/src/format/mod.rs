//! Descriptions of what a model may write, as expressions with tags.
//!
//! ```text
//! FormatSpec (request, prompt's end) ──┐
//! TurnFormat (learnt) ──▶ learnt ──────┼─▶ Format { output: Arena with Tags, constraint, stops, ... } ──▶ parser, grammar
//! template's source ─▶ model (family) ─┘
//! ```
//!
//! [`learnt`] builds the format from what was learnt of a template ([`crate::analysis::turn::TurnFormat`]); [`model`] has what
//! is known of families of templates. Both use `FormatBuilder` and share the ways to write calls (`calls`). The
//! parser and the grammar are made from the same description. A format depends only on its [`FormatSpec`] and the template,
//! so that equal ones are built once. `output` defines the effect of each tag on the message.

mod builder;
pub mod calls;
mod coverage;
mod glue;
mod harmony;
pub mod late;
pub mod learnt;
pub mod model;
pub mod prompt;
mod reasoning;
mod tag;
mod text;
pub mod thought;
pub mod wrappers;

use serde_json::Value;

pub use builder::FormatBuilder;
pub use calls::described as described_calls;
pub use model::Way;
pub use model::{Family, family_of};
pub use prompt::{Prompt, PromptInput};
pub use tag::Tag;

use crate::analysis::Layout;
use chatparse_grammar::Trigger;
use chatparse_message::{
    Compat, Continuation, GrammarStyle, JsonSpacing, Leniency, Message, ReasoningFormat, Request, Tool, ToolChoice,
};
use chatparse_peg::{Arena, Spacing};

/// Everything that a format may depend on, so that equal specs give equal formats.
#[derive(Clone, Copy, Debug)]
pub struct FormatSpec<'a> {
    /// The template's text.
    pub source: &'a str,
    /// The end of the prompt that opens the assistant's turn, as rendered.
    pub opening: &'a str,
    /// `opening` and the text so far of a continued message: the parser reads it before the output.
    pub prefill: &'a str,
    /// What the prefill has of a message that the model continues; `None` if it begins one.
    pub begun: Option<Begun>,
    /// The tools that the request offers, even if calls are not allowed: see [`FormatSpec::tools`].
    pub offered: &'a [Tool],
    /// Whether calls are allowed, required or forbidden.
    pub tool_choice: ToolChoice,
    /// Whether more than one call is allowed.
    pub parallel_tool_calls: bool,
    /// Whether content may stand in front of a required call.
    pub prose: bool,
    /// The white space in the JSON of a grammar.
    pub json_spacing: JsonSpacing,
    /// How reasoning is returned.
    pub reasoning_format: ReasoningFormat,
    /// The template variable `enable_thinking`.
    pub enable_thinking: bool,
    /// The schema of a structured response; `Null` if there is none.
    pub json_schema: &'a Value,
    /// How output is treated that deviates from the format.
    pub leniency: Leniency,
    /// How schemas are turned into grammar rules.
    pub grammar_style: GrammarStyle,
    /// Whose ways count: in llama.cpp's, no tool is called beside a structured response.
    pub compat: Compat,
    /// The values of variables that the turn was learnt under, as JSON; empty for none.
    pub variables: &'a str,
}

impl<'a> FormatSpec<'a> {
    /// The spec of a request without a template, with an empty prompt.
    pub fn of(request: &'a Request) -> Self {
        FormatSpec {
            source: "",
            opening: "",
            prefill: "",
            begun: None,
            offered: request.allowed_tools.as_deref().unwrap_or(&request.tools),
            tool_choice: request.tool_choice,
            parallel_tool_calls: request.parallel_tool_calls,
            prose: request.prose,
            json_spacing: request.json_spacing,
            reasoning_format: request.reasoning_format,
            enable_thinking: request.enable_thinking,
            json_schema: &request.json_schema,
            leniency: request.leniency,
            grammar_style: request.grammar_style,
            compat: request.compat,
            variables: "",
        }
    }

    /// The template's text in front of the message.
    pub fn front(&self) -> &'a str {
        self.begun.map_or(self.opening, |begun| &self.prefill[..begun.front()])
    }

    /// What the prefill has of the content that the model continues.
    pub fn begun_content(&self) -> Option<&'a str> {
        self.begun?.content.map(|at| &self.prefill[at..])
    }

    /// The tools that may be called; empty if calls are not allowed.
    pub fn tools(&self) -> &'a [Tool] {
        if self.tool_choice == ToolChoice::None { &[] } else { self.offered }
    }

    /// Whether at least one call is required.
    pub fn call_required(&self) -> bool {
        self.tool_choice == ToolChoice::Required
    }

    /// Whether the grammar has only what is asked for and what the parser reads. llama.cpp's grammars have more.
    pub fn is_faithful(&self) -> bool {
        self.grammar_style == GrammarStyle::Faithful
    }

    /// Whether a grammar has no content in front of calls.
    pub fn calls_only(&self) -> bool {
        self.call_required() && !self.prose && self.is_faithful()
    }

    /// The white space in the JSON of a grammar, where the template writes JSON like this.
    pub fn spacing(&self, learnt: Spacing) -> Spacing {
        match self.json_spacing {
            _ if !self.is_faithful() || self.goes_on() => Spacing::Free,
            JsonSpacing::Template if self.response_object().is_none() => learnt,
            JsonSpacing::Compact => Spacing::COMPACT,
            _ => Spacing::Free,
        }
    }

    /// Whether the model goes on with content, which may have any white space.
    pub fn goes_on(&self) -> bool {
        self.begun_content().is_some_and(|text| !text.trim().is_empty())
    }

    /// Whether more than one call is allowed.
    pub fn parallel(&self) -> bool {
        self.parallel_tool_calls
    }

    /// Whether reasoning is separated from content.
    pub fn extract_reasoning(&self) -> bool {
        self.reasoning_format != ReasoningFormat::None
    }

    /// The schema of a structured response, if it is a non-empty object.
    pub fn response_schema(&self) -> Option<&'a Value> {
        self.response_object().filter(|schema| schema.as_object().is_some_and(|fields| !fields.is_empty()))
    }

    /// Like [`FormatSpec::response_schema`], but includes `{}` (any JSON). Where a call is required, there is no response.
    pub fn response_object(&self) -> Option<&'a Value> {
        let calls_only = self.call_or_response() && self.call_required();
        Some(self.json_schema).filter(|schema| schema.is_object() && !calls_only)
    }

    /// Whether a call may stand in place of a structured response.
    pub fn call_or_response(&self) -> bool {
        self.compat == Compat::Off && !self.tools().is_empty()
    }

    /// A constraint from `word` on, or from the beginning where the response is JSON.
    fn word_or_json(&self, word: &str) -> Constraint {
        self.constraint(self.response_object().is_some(), [Trigger::word(word)])
    }

    /// The constraint of a format with these triggers. `structured`: the response has a schema.
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

/// Where the prefill has the texts of a message that the model continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Its reasoning, if it is there: from, to.
    pub reasoning: Option<(usize, usize)>,
    /// Its content, up to the end; `None` if the model continues the reasoning.
    pub content: Option<usize>,
}

impl Begun {
    /// Finds the texts of `message`, whose `part` the model continues, in front of the prefill's end. A text that the template
    /// changes is part of the template's: the message has only what follows.
    pub fn find(prefill: &str, message: &Message, part: Continuation) -> Begun {
        let thought = message.reasoning_content.trim();
        if part == Continuation::Reasoning {
            let from = before(prefill, &message.reasoning_content).unwrap_or(prefill.len());
            return Begun { reasoning: Some((from, prefill.len())), content: None };
        }
        let texts = message.parts.iter().rev().take_while(|part| part.kind == "text").map(|part| &*part.text);
        let texts: Vec<&str> = if message.parts.is_empty() { vec![&message.content] } else { texts.collect() };
        let mut from = prefill.len();
        for text in texts {
            let rest = &prefill[..from];
            let Some(at) = before(rest, text).or_else(|| before(rest.trim_end(), text)) else { break };
            from = at;
        }
        let reasoning = prefill[..from].rfind(thought).filter(|_| !thought.is_empty());
        Begun { reasoning: reasoning.map(|at| (at, at + thought.len())), content: Some(from) }
    }

    fn front(&self) -> usize {
        self.reasoning.map(|(from, _)| from).or(self.content).unwrap_or_default()
    }
}

/// Where a text begins that ends here, with or without the white space around it.
fn before(rest: &str, text: &str) -> Option<usize> {
    let ways = [text, text.trim_end(), text.trim_start(), text.trim()];
    let at = |text: &str| rest.strip_suffix(text).map(str::len);
    if text.trim().is_empty() { Some(rest.len()) } else { ways.into_iter().find_map(at) }
}

/// The description of an output, and what a host needs with it.
#[derive(Clone, Debug)]
pub struct Format {
    /// The name of the format, as hosts know it.
    pub name: &'static str,
    /// The expressions for the output, generation prompt included.
    pub output: Arena,
    /// Whether and from where a grammar constrains the output.
    pub constraint: Constraint,
    /// Texts that the tokeniser must keep as single tokens.
    pub preserved_tokens: Vec<String>,
    /// Texts that end the output, in addition to the end-of-turn token.
    pub additional_stops: Vec<String>,
    /// Texts that an output may end with: told ones, and what the template ends turns with.
    pub ends: Vec<String>,
    /// The markers of reasoning; `None` if the template has none.
    pub thinking: Option<Thinking>,
    /// The texts that begin the turns of each role in a prompt.
    pub delimiters: Vec<Delimiter>,
    /// The keys of the name and of the arguments, if calls are JSON objects.
    pub call_keys: Option<[String; 2]>,
    /// The parts of the output that are built late: how many, and how wide. None: there are none.
    pub parts: Option<(u32, u32)>,
}

impl Format {
    /// A format in which all output behind the prompt's opening is content.
    pub fn content_only(opening: &str) -> Format {
        let p = FormatBuilder::default();
        let root = p.spaced([p.literal(opening), p.content(p.rest())]);
        Format { output: p.finish(root), ..Format::default() }
    }
}

impl Default for Format {
    fn default() -> Self {
        Format {
            name: "peg-native",
            output: Arena::default(),
            constraint: Constraint::Free,
            preserved_tokens: Vec::new(),
            additional_stops: Vec::new(),
            ends: Vec::new(),
            thinking: None,
            delimiters: Vec::new(),
            call_keys: None,
            parts: None,
        }
    }
}

/// Whether and from where a grammar constrains the output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Constraint {
    /// No grammar.
    #[default]
    Free,
    /// From the first byte on. The triggers are informative.
    Strict(Vec<Trigger>),
    /// From the first trigger on.
    Lazy(Vec<Trigger>),
}

impl Constraint {
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

/// The markers around reasoning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Thinking {
    /// The opening; may be empty.
    pub start: String,
    /// The texts that close it.
    pub ends: Vec<String>,
}

impl Thinking {
    /// The markers in a layout.
    fn of_layout(layout: &Layout) -> Option<Thinking> {
        let reasoning = layout.reasoning.as_ref()?;
        Some(Thinking::new(reasoning.start.trim(), Some(reasoning.end.trim()).filter(|end| !end.is_empty())))
    }

    fn new<'a>(start: &str, ends: impl IntoIterator<Item = &'a str>) -> Self {
        Thinking { start: start.to_owned(), ends: ends.into_iter().map(str::to_owned).collect() }
    }
}

/// The beginning of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delimiter {
    /// `user`, `assistant`, `system` or `tool`.
    pub role: &'static str,
    /// The text.
    pub delimiter: String,
}

impl Delimiter {
    /// The delimiters in a layout.
    fn of_layout(layout: &Layout) -> Vec<Delimiter> {
        let openings = [("assistant", &*layout.assistant_start), ("user", &*layout.user_start)];
        Delimiter::list(openings.into_iter().filter(|(_, text)| !text.is_empty()))
    }

    /// A list of roles and texts.
    fn list<'a>(rows: impl IntoIterator<Item = (&'static str, &'a str)>) -> Vec<Delimiter> {
        rows.into_iter().map(|(role, delimiter)| Delimiter { role, delimiter: delimiter.to_owned() }).collect()
    }
}
