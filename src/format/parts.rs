//! The words that formats are written in: a builder of expressions that knows the tags, and fragments that several
//! formats share.

use std::ops::Deref;

use serde_json::Value;

use crate::peg::{Builder, ExprId};

use super::tag::Tag;

/// A [`Builder`] with chat words.
#[derive(Default)]
pub(super) struct Parts {
    builder: Builder,
}

impl Deref for Parts {
    type Target = Builder;

    fn deref(&self) -> &Builder {
        &self.builder
    }
}

impl Parts {
    /// Text of the reasoning.
    pub fn reasoning(&self, child: ExprId) -> ExprId {
        self.tag(Tag::Reasoning, child)
    }

    /// Text of the content.
    pub fn content(&self, child: ExprId) -> ExprId {
        self.tag(Tag::Content, child)
    }

    /// A region that counts only as a whole.
    fn whole(&self, tag: Tag, child: ExprId) -> ExprId {
        self.atomic(self.tag(tag, child))
    }

    /// The beginning of a call.
    pub fn tool_open(&self, child: ExprId) -> ExprId {
        self.whole(Tag::ToolOpen, child)
    }

    /// The end of a call.
    pub fn tool_close(&self, child: ExprId) -> ExprId {
        self.whole(Tag::ToolClose, child)
    }

    /// A call's name.
    pub fn tool_name(&self, name: &str) -> ExprId {
        self.whole(Tag::ToolName, self.literal(name))
    }

    /// A call's id.
    pub fn tool_id(&self, child: ExprId) -> ExprId {
        self.whole(Tag::ToolId, child)
    }

    /// A call's arguments as one JSON object.
    pub fn tool_args(&self, child: ExprId) -> ExprId {
        self.tag(Tag::ToolArgs, child)
    }

    /// An argument's name.
    pub fn arg_name(&self, name: &str) -> ExprId {
        self.whole(Tag::ArgName, self.literal(name))
    }

    /// An argument's value, written as JSON or as a Python literal.
    pub fn arg_json(&self, child: ExprId) -> ExprId {
        self.tag(Tag::ArgJson, child)
    }

    /// An argument's value, written as raw text.
    pub fn arg_text(&self, child: ExprId) -> ExprId {
        self.tag(Tag::ArgText, child)
    }

    /// The end of an argument's value.
    pub fn arg_close(&self, child: ExprId) -> ExprId {
        self.whole(Tag::ArgClose, child)
    }

    /// The name of an object's member, shown as it comes.
    pub fn key(&self, child: ExprId) -> ExprId {
        self.tag(Tag::Key, child)
    }

    /// An object made of argument names and values.
    pub fn object(&self, child: ExprId) -> ExprId {
        self.tag(Tag::Object, child)
    }

    /// An array made of argument values.
    pub fn array(&self, child: ExprId) -> ExprId {
        self.tag(Tag::Array, child)
    }

    /// What stands between two members or items.
    pub fn separator(&self, child: ExprId) -> ExprId {
        self.whole(Tag::Separator, child)
    }

    /// What comes before is markup, also where the output leaves the format right behind it.
    pub fn markup_ends(&self) -> ExprId {
        self.content(self.empty())
    }

    /// A marker whose outer white space the model may leave out, character by character.
    pub fn loose(&self, marker: &str) -> ExprId {
        let core = marker.trim_ascii();
        let (before, after) = match core {
            "" => (marker, ""),
            _ => {
                let start = marker.len() - marker.trim_ascii_start().len();
                (&marker[..start], &marker[start + core.len()..])
            }
        };
        let may = |text: &str| -> Vec<ExprId> { text.chars().map(|c| self.optional(self.literal(c))).collect() };
        let parts = may(before).into_iter().chain([self.literal(core)]).chain(may(after));
        self.sequence(parts.collect::<Vec<_>>())
    }

    /// What opens the assistant's turn, where the prompt ends with it.
    pub fn turn(&self, prefill: &str, opening: &str) -> ExprId {
        self.literal(if prefill.starts_with(opening) { opening } else { "" })
    }

    /// The part of the generation prompt that is always there: up to the opening of the reasoning, if it has one.
    pub fn prefix(&self, generation_prompt: &str, reasoning_start: &str) -> ExprId {
        let end = match reasoning_start {
            "" => None,
            start => generation_prompt.find(start),
        };
        self.literal(&generation_prompt[..end.unwrap_or(generation_prompt.len())])
    }

    /// A response that is one JSON value, in a code block or bare.
    pub fn response(&self, schema: &Value) -> ExprId {
        let value = self.content(self.schema(self.json(), "response-format-schema", schema.clone(), false));
        let value = self.rule("response-format", value);
        let block = self.spaced([self.literal("```json"), value, self.literal("```")]);
        self.sequence([self.space(), self.choice([block, value]), self.space()])
    }

    /// Sequence with white space between the parts.
    pub fn spaced(&self, parts: impl IntoIterator<Item = ExprId>) -> ExprId {
        let mut all = Vec::new();
        for part in parts {
            if !all.is_empty() {
                all.push(self.space());
            }
            all.push(part);
        }
        self.sequence(all)
    }
}
