//! Response templates: how the output of a checkpoint's model is read, as its
//! `tokenizer_config.json` may say (version 1 of the format that transformers reads).
//!
//! - **In:** a response template as JSON, or a learnt turn.
//! - **Out:** a turn, or a response template with the limits of what it says.
//! - **Never:** it renders nothing, and reads no output.
//!
//! ```text
//! JSON ──read──▶ ResponseTemplate ──turn──▶ TurnFormat (read)
//! TurnFormat (learnt) ──write──▶ ResponseTemplate ──▶ JSON, and the limits of what it can say
//! ```
//! A response template has a *field* for each part of a message. A field begins where its `open`
//! matches and ends where its `close` does; the text between goes through a parser of contents and
//! a `transform`. Inside a field only its own end is looked for. The field without an opening takes
//! what is in no other.

#![forbid(unsafe_code)]

#[macro_use]
extern crate chatparse_base;

mod calls;
mod engine;
mod expression;
mod pattern;
mod read;
mod turn;
mod view;
mod write;

use serde_json::{Map, Value};

pub use engine::Engine;
pub use view::Limit;
pub use write::{ExportedTemplate, write};

/// A response template.
#[derive(Clone, Debug, PartialEq)]
pub struct ResponseTemplate {
    /// What the prompt ends with where a turn begins. What follows it there belongs to the message.
    pub start: Anchor,
    /// The message without any field.
    pub defaults: Map<String, Value>,
    /// The fields, by the names of their parts of a message.
    pub fields: Vec<(String, Field)>,
}

/// A border of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// One of these texts.
    Texts(Vec<String>),
    /// A text that this expression matches.
    Pattern(String),
}

/// A field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Field {
    /// Its beginning; `None` for the field that takes all other text.
    pub open: Option<Anchor>,
    /// Its end; `None` if only the end of the output is.
    pub close: Option<Anchor>,
    /// The name of the parser of its text; empty for `text`.
    pub content: String,
    /// The parser's settings.
    pub content_args: Map<String, Value>,
    /// Whether each occurrence is an item of a list.
    pub repeats: bool,
    /// What joins the texts of all occurrences instead.
    pub join: Option<String>,
    /// Whether a message must have it.
    pub required: bool,
    /// The shape of its value in the message.
    pub transform: Option<Value>,
    /// Whether each item of its value has that shape.
    pub transform_each: bool,
}

impl ResponseTemplate {
    /// The template as transformers reads it.
    pub fn to_json(&self) -> Value {
        let mut json = json!({"version": 1, "defaults": self.defaults});
        self.start.put(&mut json, "start_anchor");
        json["fields"] = json!({});
        for (name, field) in &self.fields {
            json["fields"][name] = field.to_json();
        }
        json
    }
}

impl Field {
    /// The expression of an argument, if each is found by one.
    fn tag_pattern(&self) -> Option<&str> {
        self.content_args.get("tag_pattern")?.as_str()
    }

    fn to_json(&self) -> Value {
        let mut json = json!({});
        for (name, anchor) in [("open", &self.open), ("close", &self.close)] {
            if let Some(anchor) = anchor {
                anchor.put(&mut json, name);
            }
        }
        let content = if self.content.is_empty() {
            "text"
        } else {
            &self.content
        };
        for (name, value) in [
            ("content", json!(content)),
            (
                "content_args",
                json!(Some(&self.content_args).filter(|args| !args.is_empty())),
            ),
            ("repeats", json!(self.repeats.then_some(true))),
            ("transform_each", json!(self.transform_each.then_some(true))),
            ("optional", json!(self.required.then_some(false))),
            ("join", json!(self.join)),
            ("transform", json!(self.transform)),
        ] {
            if !value.is_null() {
                json[name] = value;
            }
        }
        json
    }
}

impl Anchor {
    fn put(&self, json: &mut Value, name: &str) {
        match self {
            Anchor::Texts(texts) => {
                json[name] = match &**texts {
                    [only] => json!(only),
                    texts => json!(texts),
                }
            }
            Anchor::Pattern(pattern) => json[format!("{name}_pattern")] = json!(pattern),
        }
    }
}
