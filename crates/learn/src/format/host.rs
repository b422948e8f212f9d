//! What hosts are told that no render shows.

use super::{Constraint, Delimiter, Format, FormatSpec, Thinking};
use chatparse_grammar::Trigger;
use chatparse_message::ToolChoice;
use serde::Deserialize;

/// From where on a grammar constrains.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Constrains {
    /// From nowhere: there is no grammar.
    Never,
    /// From this text on.
    Word(String, Structured),
    /// From a match of this expression on.
    Pattern(String, Structured),
    /// From the tag of calls on; `bare`: also from the tag of each offered tool.
    Tools { bare: bool },
}

/// The responses that a grammar constrains from the first byte on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Structured {
    /// None.
    Never,
    /// Those with a schema that says something.
    Fields,
    /// Those with any schema.
    Any,
}

/// What hosts are told; `None`: as learnt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Host {
    /// The name of the format.
    pub name: Option<String>,
    pub constraint: Option<Constrains>,
    /// The preserved tokens, with spaces between them.
    pub tokens: Option<String>,
    /// The marker that opens reasoning, and its ends; empty: there is none.
    pub thinking: Option<Vec<String>>,
    /// The roles and what begins their turns.
    pub delimiters: Option<Vec<(String, String)>>,
    /// The opening of a message that is continued, and what is around its reasoning.
    pub continued: Option<[String; 3]>,
    /// Ends of the turn that the model may write as plain text, which does not stop the generation.
    pub stops: Vec<String>,
}

impl Host {
    pub fn tell(&'static self, spec: &FormatSpec, format: &mut Format) {
        if let Some(constraint) = &self.constraint {
            format.constraint = constraint.of(spec);
        }
        if let Some(tokens) = &self.tokens {
            format.preserved_tokens = tokens.split(' ').map(str::to_owned).collect();
        }
        if let Some(thinking) = &self.thinking {
            let (start, ends) = (thinking.first(), thinking.iter().skip(1).map(String::as_str));
            format.thinking = start.map(|start| Thinking::new(start, ends));
        }
        if let Some(delimiters) = &self.delimiters {
            format.delimiters = Delimiter::list(delimiters.iter().map(|(role, text)| (&**role, &**text)));
        }
        if !self.stops.is_empty() {
            format.additional_stops.clone_from(&self.stops);
        }
        format.name = self.name.as_deref();
    }
}

impl Constrains {
    fn of(&self, spec: &FormatSpec) -> Constraint {
        let (trigger, structured) = match self {
            Constrains::Never => return Constraint::Free,
            Constrains::Word(text, structured) => (Trigger::word(&**text), structured),
            Constrains::Pattern(text, structured) => (Trigger::pattern(&**text), structured),
            Constrains::Tools { bare } => {
                let lazy = spec.options.tool_choice == ToolChoice::Auto && !spec.tools().is_empty();
                let tools = spec.offered.iter().filter(|_| *bare).map(|tool| format!("<function={}>", tool.name));
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
