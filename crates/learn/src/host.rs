//! What hosts are told of a family's formats that no render shows.

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
