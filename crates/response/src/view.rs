//! The turn as the fields of a response template see it, and texts as their borders.

use std::borrow::Borrow;

use serde::Serialize;

use super::pattern::{glue, text};
use super::{Anchor, Engine};
use chatparse_learn::analysis::turn::{Glue, SlotKind, TurnFormat};

/// What a response template cannot say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Limit {
    /// The field of the message.
    pub field: &'static str,
    /// What may be read otherwise there, and when.
    pub message: String,
}

/// What the fields have in common: the turn, as they see it.
pub struct Turn {
    /// The turn; its edges are without what ends the reasoning in front of them.
    pub turn: TurnFormat,
    /// Texts that end the turn.
    pub ends: Vec<String>,
    pub limits: Vec<Limit>,
    /// Who is to read it.
    pub engine: Engine,
}

impl Turn {
    /// An expression for what follows, which is not taken; nothing if the engine does not look
    /// ahead.
    pub fn ahead(&self, pattern: &str) -> String {
        if self.engine.looks() {
            format!("(?={pattern})")
        } else {
            String::new()
        }
    }

    pub fn limit(&mut self, field: &'static str, message: impl Into<String>) {
        self.limits.push(Limit {
            field,
            message: message.into(),
        });
    }

    /// These patterns, and those of the ends of the turn.
    pub fn with_ends(&self, mut patterns: Vec<String>) -> Vec<String> {
        patterns.extend(self.ends.iter().map(|end| text(end)));
        patterns
    }

    /// The texts that end a turn.
    pub fn ends_of_turn(&self, told: &[String]) -> Vec<String> {
        let behind = self.turn.glues([SlotKind::Content], SlotKind::End);
        let mut ends = Vec::new();
        for glue in [&self.turn.end].into_iter().chain(behind) {
            let spans = glue.marker_spans();
            let words = Some(glue.core()).filter(|_| spans.is_empty());
            // What follows the first marker may be the next turn's. Who has no place between fields
            // takes that for content.
            let most = if self.engine.looks() { 1 } else { spans.len() };
            let first = spans.into_iter().take(most).map(|span| &glue.head()[span]);
            ends.extend(words.into_iter().chain(first).map(str::to_owned));
        }
        ends.extend_from_slice(told);
        ends.extend(self.turn.stops.iter().map(|stop| stop.trim().to_owned()));
        distinct(ends)
    }
}

/// Texts without white space at their ends, as they are where they have none inside.
pub fn texts(texts: Vec<String>) -> Anchor {
    match texts.iter().any(|text| text.contains(['\n', '"'])) {
        true => Anchor::Pattern(
            texts
                .iter()
                .map(|each| text(each))
                .collect::<Vec<_>>()
                .join("|"),
        ),
        false => Anchor::Texts(texts),
    }
}

/// Patterns of glue without white space at its ends, the longest first.
pub fn patterns(glues: impl Iterator<Item = impl Borrow<Glue>>) -> Vec<String> {
    distinct(glues.map(|each| trimmed(each.borrow())).collect())
}

/// The pattern of glue without white space at its ends.
pub fn trimmed(each: &Glue) -> String {
    glue(&each.trim_start().trim_end())
}

/// Each text once and none that is empty, the longest first.
pub fn distinct(mut texts: Vec<String>) -> Vec<String> {
    texts.retain(|text| !text.is_empty());
    chatparse_base::sort::by_key(&mut texts, |text| {
        (std::cmp::Reverse(text.len()), text.clone())
    });
    texts.dedup();
    texts
}
