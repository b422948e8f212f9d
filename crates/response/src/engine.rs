//! The programs that read response templates, and what each of them takes.

use super::expression::{Part, ways};
use super::{Anchor, Field, ResponseTemplate};

chatparse_base::names! {
    /// A program that reads response templates.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Engine {
        /// transformers: the whole format.
        #[default]
        Transformers = "transformers",
        /// vLLM's server in Python: the fields `thinking`, `content` and `tool_calls`, of which
        /// texts are not joined.
        Vllm = "vllm",
        /// vLLM's server in Rust: also, expressions look neither ahead nor back, and the borders of
        /// fields begin with a text.
        VllmRust = "vllm-rust",
        /// SGLang: as vLLM in Python; a call that nothing closes is none.
        Sglang = "sglang",
    }
}

impl Engine {
    /// Whether it serves what it reads, in pieces.
    pub(super) fn serves(self) -> bool {
        self != Engine::Transformers
    }

    /// Whether its expressions look ahead and back.
    pub(super) fn looks(self) -> bool {
        self != Engine::VllmRust
    }

    /// The end of an output.
    pub(super) fn end(self) -> &'static str {
        if self.looks() { r"\Z" } else { r"\z" }
    }

    /// Whether it takes the expressions of a field.
    pub(super) fn takes(self, field: &Field) -> bool {
        if self.looks() {
            return true;
        }
        for border in [&field.open, &field.close] {
            if let Some(Anchor::Pattern(pattern)) = border
                && !(is_plain(pattern) && begins_with_text(pattern))
            {
                return false;
            }
        }
        let tag = field.tag_pattern().unwrap_or_default();
        // It takes one look ahead, at the end.
        let tag = match tag.split_once("(?=") {
            Some((before, ahead)) if !ahead.contains('(') => before,
            _ => tag,
        };
        is_plain(tag) && tag.matches("(?P<key>").count() <= 1
    }
}

/// Whether an expression has no sign of Python's that other engines do not know.
fn is_plain(pattern: &str) -> bool {
    ["(?=", "(?!", "(?<=", "(?<!", "(?&", "(?(", "(?P=", r"\Z"]
        .iter()
        .all(|sign| !pattern.contains(sign))
}

fn begins_with_text(pattern: &str) -> bool {
    ways(pattern, "").is_ok_and(|ways| {
        ways.iter().all(|way| match way.split_first() {
            Some((Part::Optional(inside), rest)) => has_text_first(inside) && has_text_first(rest),
            _ => has_text_first(way),
        })
    })
}

fn has_text_first(parts: &[Part]) -> bool {
    matches!(parts.first(), Some(Part::Text(text)) if !text.trim_start().is_empty())
}

impl ResponseTemplate {
    /// Whether thoughts may come after other parts.
    pub fn has_late_thoughts(&self) -> bool {
        self.fields
            .iter()
            .any(|(name, field)| super::turn::REASONING.contains(&&**name) && field.repeats)
    }
}
