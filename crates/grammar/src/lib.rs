//! Grammars for constrained sampling, from JSON schemas and formats, as GBNF; their triggers; and
//! checks of texts against grammars and of values against schemas.
//!
//! - **In:** a JSON schema, or the expressions of a format.
//! - **Out:** rules as a tree, their GBNF with a report of differences, a [`Matcher`], verdicts on
//!   values and texts.
//! - **Never:** it reads no template, prints no notation except GBNF, and hides no difference from
//!   its report.
#![forbid(unsafe_code)]

#[macro_use]
extern crate chatparse_base;

mod faithful;
mod formats;
mod matcher;
mod output;
mod regular;
pub mod rules;
pub mod schema;
pub mod text;
pub mod valid;

pub use chatparse_base::{Error, ErrorKind, Result};
pub use faithful::Undeclared;
pub use formats::from_peg::{SectionRoot, TextSections, from_arena, linked};
pub use matcher::recogniser::Recogniser;
pub use matcher::{ByteSet, Matcher};
pub use output::{Notation, Printed, Start};
pub use rules::{Builder, Fidelity, FidelityKind, Grammar, Letter, Rule, Section, spelled};
#[cfg(feature = "sample")]
pub use text::sample::Walk;

use serde::Serialize;
use serde_json::Value;

/// The grammar of the JSON values that a schema allows, compact or pretty-printed.
///
/// # Errors
/// [`crate::ErrorKind::Schema`] for a schema that cannot be used, with a JSON pointer;
/// [`crate::ErrorKind::Limit`].
///
/// ```
/// let schema = serde_json::json!({"type": "integer", "minimum": 0, "maximum": 23});
/// let grammar = chatparse::grammar::from_json_schema(&schema)?;
/// assert!(grammar.text.contains("root ::= "));
/// assert!(grammar.report.is_empty());
/// # Ok::<(), chatparse::Error>(())
/// ```
pub fn from_json_schema(schema: &Value) -> Result<Grammar> {
    let mut builder = Builder::new();
    builder.add_schema("", schema)?;
    Ok(builder.finish())
}

/// A text or pattern at which a lazy grammar starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Trigger {
    /// How to read `value`.
    #[serde(rename = "type")]
    pub kind: TriggerKind,
    /// A word or a regular expression.
    pub value: String,
}

impl Trigger {
    /// A trigger at this text.
    pub fn word(value: impl Into<String>) -> Self {
        Trigger {
            kind: TriggerKind::Word,
            value: value.into(),
        }
    }

    /// A trigger at a match of this regular expression: the grammar starts at the first group that
    /// matched, or at the beginning of the match.
    pub fn pattern(value: impl Into<String>) -> Self {
        Trigger {
            kind: TriggerKind::Pattern,
            value: value.into(),
        }
    }
}

chatparse_base::names! {
    /// How a trigger's value is read.
    #[repr(u32)]
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TriggerKind {
        /// A text in the output.
        Word(1) = "word",
        /// A regular expression (ECMAScript) to search for in the output. The grammar applies from
        /// the match's first group that took part, or else from the start of the match.
        Pattern(2) = "pattern",
    }
}
