//! Descriptions of what a model may write, as expressions with tags.
//!
//! - **In:** a `Writing`, and the options, opening and tools of a request.
//! - **Out:** a [`Format`]: expressions with tags, from which parser and grammar come.
//! - **Never:** it sees no template and starts no learner.
//!
//! ```text
//! learning ───────────┐
//! a family's row ─────┼─▶ Writing ──┐
//! a response template ┘             ├─▶ lower ──▶ Format { output: Arena with Tags, constraint, stops, ... } ──▶ parser, grammar
//! OutputOptions, Opening, tools ────┘
//! ```
//!
//! A [`Writing`](chatparse_learn::Writing) says how the model writes; [`lower()`] alone reads it,
//! by `learnt` or `harmony`, which use `FormatBuilder` and share the ways to write calls (`calls`).
//! `learn` has the families. The parser and the grammar are made from the same description. A
//! format depends only on its writing and its [`FormatSpec`], so that equal ones are built once.
//! `output` defines the effect of each tag on the message.

#![forbid(unsafe_code)]

mod builder;
pub mod calls;
mod channels;
mod coverage;
mod fragments;
mod glue;
mod harmony;
mod host;
pub mod late;
mod learnt;
mod lower;
pub mod opening;
pub mod parts;
mod reasoning;
pub mod rules;
mod sites;
mod tag;
mod text;
pub mod thought;
pub mod wrappers;
pub mod written;

use serde::Serialize;
use serde_json::Value;

pub use builder::FormatBuilder;
pub use calls::described as described_calls;
pub use lower::{Resolved, applied_rules, lower};
pub use opening::{Begun, Opening};
pub use tag::Tag;

use chatparse_grammar::Trigger;
use chatparse_learn::analysis::Layout;
use chatparse_message::{
    Compat, GrammarStyle, JsonSpacing, OutputOptions, ReasoningFormat, Request, Tool, ToolChoice,
};
use chatparse_peg::{Arena, Spacing};

/// What a [`Writing`](chatparse_learn::Writing) is lowered for: with it, everything that a format
/// depends on. Equal specs give equal formats.
#[derive(Clone, Copy, Debug)]
pub struct FormatSpec<'a> {
    /// How outputs are read and constrained.
    pub options: &'a OutputOptions,
    /// Where the prompt leaves the message.
    pub opening: &'a Opening,
    /// The tools that the request offers, even if calls are not allowed: see [`FormatSpec::tools`].
    pub offered: &'a [Tool],
}

impl<'a> FormatSpec<'a> {
    /// The spec of a request whose prompt ends so.
    pub fn of(request: &'a Request, opening: &'a Opening) -> Self {
        let offered = request.allowed_tools.as_deref().unwrap_or(&request.tools);
        FormatSpec {
            options: &request.output,
            opening,
            offered,
        }
    }

    /// The tools that may be called; empty if calls are not allowed.
    pub fn tools(&self) -> &'a [Tool] {
        if self.options.tool_choice == ToolChoice::None {
            &[]
        } else {
            self.offered
        }
    }

    /// Whether at least one call is required.
    pub fn call_required(&self) -> bool {
        self.options.tool_choice == ToolChoice::Required
    }

    /// Whether the grammar has only what is asked for and what the parser reads. llama.cpp's
    /// grammars have more.
    pub fn is_faithful(&self) -> bool {
        self.options.grammar_style == GrammarStyle::Faithful
    }

    /// Whether a grammar has no content before calls.
    pub fn calls_only(&self) -> bool {
        self.call_required() && !self.options.prose && self.is_faithful()
    }

    /// The white space in the JSON of a grammar, where the template writes JSON like this.
    pub fn spacing(&self, learnt: Spacing) -> Spacing {
        match self.options.json_spacing {
            _ if !self.is_faithful() || self.opening.goes_on() => Spacing::Free,
            JsonSpacing::Template if self.response_object().is_none() => learnt,
            JsonSpacing::Compact => Spacing::COMPACT,
            _ => Spacing::Free,
        }
    }

    /// Whether more than one call is allowed.
    pub fn parallel(&self) -> bool {
        self.options.parallel_tool_calls
    }

    /// Whether reasoning is separated from content.
    pub fn extract_reasoning(&self) -> bool {
        self.options.reasoning_format != ReasoningFormat::None
    }

    /// What reasoning is: of the content, if it is not separated.
    pub fn thought_tag(&self) -> Tag {
        if self.extract_reasoning() {
            Tag::Reasoning
        } else {
            Tag::Content
        }
    }

    /// The schema of a structured response, if it is a non-empty object.
    pub fn response_schema(&self) -> Option<&'a Value> {
        self.response_object()
            .filter(|schema| schema.as_object().is_some_and(|fields| !fields.is_empty()))
    }

    /// Like [`FormatSpec::response_schema`], but includes `{}` (any JSON). Where a call is
    /// required, there is no response.
    pub fn response_object(&self) -> Option<&'a Value> {
        let calls_only = self.call_or_response() && self.call_required();
        Some(&*self.options.json_schema).filter(|schema| schema.is_object() && !calls_only)
    }

    /// Whether a call may be in place of a structured response.
    pub fn call_or_response(&self) -> bool {
        self.is_own() && !self.tools().is_empty()
    }

    /// Whether the library's ways hold where llama.cpp's differ.
    pub fn is_own(&self) -> bool {
        self.options.compat == Compat::Off
    }

    /// The constraint of a format with these triggers. `structured`: the response has a schema.
    fn constraint(
        &self,
        structured: bool,
        triggers: impl IntoIterator<Item = Trigger>,
    ) -> Constraint {
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

/// The description of an output, and what a host needs with it.
#[derive(Clone, Debug, Default)]
pub struct Format {
    /// The name that a family has for it.
    pub name: Option<&'static str>,
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
    /// The parts that the output is linked with: how many, and how wide. None: there are none.
    pub parts: Option<(u32, u32)>,
}

impl Format {
    /// Its name, as hosts know it.
    pub fn name(&self) -> &'static str {
        self.name.unwrap_or("peg-native")
    }

    /// A format in which all output after the prompt's opening is content.
    pub fn content_only(opening: &str) -> Format {
        let p = FormatBuilder::default();
        let root = p.spaced([p.literal(opening), p.content(p.rest())]);
        Format {
            output: p.finish(root),
            ..Format::default()
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
        Some(Thinking::new(
            reasoning.start.trim(),
            Some(reasoning.end.trim()).filter(|end| !end.is_empty()),
        ))
    }

    fn new<'a>(start: &str, ends: impl IntoIterator<Item = &'a str>) -> Self {
        Thinking {
            start: start.to_owned(),
            ends: ends.into_iter().map(str::to_owned).collect(),
        }
    }
}

/// The beginning of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
        let openings = [
            ("assistant", &*layout.assistant_start),
            ("user", &*layout.user_start),
        ];
        Delimiter::list(openings.into_iter().filter(|(_, text)| !text.is_empty()))
    }

    /// A list of roles and texts.
    fn list<'a>(rows: impl IntoIterator<Item = (&'static str, &'a str)>) -> Vec<Delimiter> {
        rows.into_iter()
            .map(|(role, delimiter)| Delimiter {
                role,
                delimiter: delimiter.to_owned(),
            })
            .collect()
    }
}
