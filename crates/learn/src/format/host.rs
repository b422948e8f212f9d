//! What hosts are told that no render shows.

use super::{Constraint, Delimiter, Format, FormatSpec, Thinking};
use chatparse_grammar::Trigger;
use chatparse_message::ToolChoice;

/// From where on a grammar constrains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constrains {
    /// From nowhere: there is no grammar.
    Never,
    /// From this text on.
    Word(&'static str, Structured),
    /// From a match of this expression on.
    Pattern(&'static str, Structured),
    /// From the tag of calls on; `bare`: also from the tag of each offered tool.
    Tools { bare: bool },
}

/// The responses that a grammar constrains from the first byte on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structured {
    /// None.
    Never,
    /// Those with a schema that says something.
    Fields,
    /// Those with any schema.
    Any,
}

/// What hosts are told; `None`: as learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    /// The name of the format.
    pub name: Option<&'static str>,
    pub constraint: Option<Constrains>,
    /// The preserved tokens, with spaces between them.
    pub tokens: Option<&'static str>,
    /// The marker that opens reasoning, and its ends, if there is any.
    pub thinking: Option<Option<(&'static str, &'static [&'static str])>>,
    pub delimiters: Option<&'static [(&'static str, &'static str)]>,
    /// The opening of a message that is continued, and what is around its reasoning.
    pub continued: Option<[&'static str; 3]>,
    /// Ends of the turn that the model may write as plain text, which does not stop the generation.
    pub stops: &'static [&'static str],
}

impl Host {
    pub const LEARNT: Host = Host {
        name: None,
        constraint: None,
        tokens: None,
        thinking: None,
        delimiters: None,
        continued: None,
        stops: &[],
    };

    pub fn tell(&self, spec: &FormatSpec, format: &mut Format) {
        if let Some(constraint) = self.constraint {
            format.constraint = constraint.of(spec);
        }
        if let Some(tokens) = self.tokens {
            format.preserved_tokens = tokens.split(' ').map(str::to_owned).collect();
        }
        if let Some(thinking) = self.thinking {
            format.thinking = thinking.map(|(start, ends)| Thinking::new(start, ends.iter().copied()));
        }
        if let Some(delimiters) = self.delimiters {
            format.delimiters = Delimiter::list(delimiters.iter().copied());
        }
        if !self.stops.is_empty() {
            format.additional_stops = self.stops.iter().map(|stop| (*stop).to_owned()).collect();
        }
        format.name = self.name.unwrap_or(format.name);
    }
}

impl Default for Host {
    fn default() -> Host {
        Host::LEARNT
    }
}

impl Constrains {
    fn of(self, spec: &FormatSpec) -> Constraint {
        let (trigger, structured) = match self {
            Constrains::Never => return Constraint::Free,
            Constrains::Word(text, structured) => (Trigger::word(text), structured),
            Constrains::Pattern(text, structured) => (Trigger::pattern(text), structured),
            Constrains::Tools { bare } => {
                let lazy = spec.options.tool_choice == ToolChoice::Auto && !spec.tools().is_empty();
                let tools = spec.offered.iter().filter(|_| bare).map(|tool| format!("<function={}>", tool.name));
                let words = ["<tool_call>".to_owned()].into_iter().chain(tools).filter(|_| lazy);
                return spec.constraint(spec.response_schema().is_some(), words.map(Trigger::word));
            }
        };
        let structured = match structured {
            Structured::Never => false,
            Structured::Fields => spec.response_schema().is_some(),
            Structured::Any => spec.response_object().is_some(),
        };
        spec.constraint(structured, [trigger])
    }
}
