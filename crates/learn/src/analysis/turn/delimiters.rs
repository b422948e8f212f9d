//! Learns the openings of a user's and an assistant's message.
//!
//! Adds a message to a conversation; the opening is what the render gains up to the message's text. Markers of reasoning are
//! removed from the assistant's opening, because they open a part of the turn. The end of the previous turn is removed from
//! the user's opening.

use super::super::diff::Diff;
use super::super::markup::{Markup, Segment, after_last, before_first, is_space, trim};
use super::sample::{QUESTION, REPLY, Sampler};
use super::{Delimiters, Glue, SlotKind, TurnFormat};

/// What the user says before.
const EARLIER: &str = "Jinxed wombats, first of all";

/// Learns both, given the rest of the turn.
pub(super) fn learn(sampler: &Sampler, turn: &TurnFormat) -> Delimiters {
    let ask = Ask { sampler, turn };
    let user = ask.user().unwrap_or_default();
    let assistant = ask.assistant().filter(|opening| !opening.is_empty()).or_else(|| ask.unasked(&user));
    Delimiters { assistant: assistant.unwrap_or_default(), user }
}

struct Ask<'a> {
    sampler: &'a Sampler<'a>,
    turn: &'a TurnFormat,
}

impl Ask<'_> {
    fn assistant(&self) -> Option<String> {
        let (asked, answered) = (self.sampler.dialogue(&[QUESTION])?, self.sampler.dialogue(&[QUESTION, REPLY])?);
        let opening = before_first(Diff::between(&asked, &answered).right, REPLY);
        let Some(reasoning) = &self.turn.reasoning else { return Some(trim(opening).to_owned()) };
        let mut cut = opening;
        for marker in [&*reasoning.start, trim(reasoning.close.head())] {
            if !marker.is_empty() {
                cut = before_first(cut, marker);
            }
        }
        // What opens both the message and its reasoning is the message's.
        let opening = if trim(cut).is_empty() { opening } else { cut };
        Some(trim(opening).to_owned())
    }

    fn user(&self) -> Option<String> {
        // Many templates reject an empty conversation; a later question has the same opening.
        let first = self.sampler.dialogue(&[]).zip(self.sampler.dialogue(&[QUESTION]));
        let first = first.map(|(nothing, asked)| self.opening_of_question(&Diff::between(&nothing, &asked)));
        // The first message may bring a system prompt.
        if first.as_ref().is_some_and(|first| !first.contains('\n')) {
            return first;
        }
        let later = self.sampler.dialogue(&[EARLIER, REPLY]).zip(self.sampler.dialogue(&[EARLIER, REPLY, QUESTION]));
        let later = later.map(|(replied, asked)| self.opening_of_question(&Diff::between(&replied, &asked)));
        match (first, later) {
            (Some(first), Some(later)) if !first.ends_with(&*later) => Some(first),
            (first, later) => later.or(first),
        }
    }

    fn opening_of_question(&self, diff: &Diff) -> String {
        let added = diff.right.split_once(REPLY).map_or(diff.right, |(_, after)| after);
        let opening = before_first(added, QUESTION);
        // A marker in front of the addition that also ends it may as well begin it, like an answer's.
        let (before, added) = (Markup::new(diff.prefix).segments(), Markup::new(diff.right).segments());
        let shared = match (before.last(), added.last()) {
            (Some(Segment::Marker(before)), Some(Segment::Marker(last))) if before == last => *last,
            _ => "",
        };
        let begins = self.turn.opening.trim_start().starts_with(shared);
        let whole = [if begins { shared } else { "" }, opening].concat();
        let mut opening = String::new();
        let mut opened = false;
        for segment in Markup::new(&whole).segments() {
            let skipped = match segment {
                Segment::Marker(marker) => self.closes(marker),
                Segment::Text(text) => text.chars().all(is_space),
            };
            if opened || !skipped {
                opened |= matches!(segment, Segment::Marker(_));
                opening.push_str(segment.as_str());
            }
        }
        trim(&opening).to_owned()
    }

    /// Whether a marker at the beginning of a turn looks like the end of the previous turn, as `<|im_end|>` does.
    fn closes(&self, marker: &str) -> bool {
        let close = self.turn.edges.iter().find(|edge| edge.from == SlotKind::Content && edge.to == SlotKind::End);
        let end = close.map_or_else(Glue::default, |edge| edge.glue.and(&self.turn.end));
        let ends = Markup::new(end.head()).first_marker() == Some(marker);
        let marker = marker.to_ascii_lowercase();
        ends || marker.contains("end") || marker.contains("close")
    }

    /// The opening of a turn that the template writes behind every message, asked for or not. It begins like the user's.
    fn unasked(&self, user: &str) -> Option<String> {
        let begins = Markup::new(user).first_marker().filter(|_| self.turn.opening.is_empty())?;
        let asked = self.sampler.dialogue(&[QUESTION])?;
        let opening = after_last(after_last(&asked, QUESTION)?, begins)?;
        Some(format!("{begins}{}", opening.trim_end()))
    }
}
