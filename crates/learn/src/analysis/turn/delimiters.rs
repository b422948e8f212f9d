//! Learns the openings of a user's and an assistant's message.
//!
//! Adds a message to a conversation; the opening is what the render gains up to the message's text.
//! Markers of reasoning are removed from the assistant's opening, because they open a part of the
//! turn. The end of the previous turn is removed from the user's opening.

use super::super::diff::Diff;
use super::super::markup::{Segment, first_marker, is_blank, segments, trim};
use super::sample::{QUESTION, REPLY, Sampler};
use super::{Delimiters, SlotKind, TurnFormat};

/// What the user says before.
const EARLIER: &str = "Jinxed wombats, first of all";

/// Learns both, given the rest of the turn.
pub fn learn(sampler: &Sampler, turn: &TurnFormat) -> Delimiters {
    let ask = Ask { sampler, turn };
    let user = ask.user().unwrap_or_default();
    let assistant = ask
        .assistant()
        .filter(|opening| !opening.is_empty())
        .or_else(|| ask.unasked(&user));
    Delimiters {
        assistant: assistant.unwrap_or_default(),
        user,
    }
}

struct Ask<'a> {
    sampler: &'a Sampler<'a>,
    turn: &'a TurnFormat,
}

impl Ask<'_> {
    fn assistant(&self) -> Option<String> {
        let (asked, answered) = (
            self.sampler.dialogue(&[QUESTION])?,
            self.sampler.dialogue(&[QUESTION, REPLY])?,
        );
        let opening = before(Diff::between(&asked, &answered).right, REPLY);
        let mut cut = opening;
        if let Some(reasoning) = &self.turn.reasoning {
            for marker in [&*reasoning.start, trim(reasoning.close.head())] {
                cut = if marker.is_empty() {
                    cut
                } else {
                    before(cut, marker)
                };
            }
        }
        // What opens both the message and its reasoning is the message's.
        Some(trim(if is_blank(cut) { opening } else { cut }).to_owned())
    }

    fn user(&self) -> Option<String> {
        // Many templates reject an empty conversation; a later question has the same opening.
        let first = self.opening_of_question(&[], &[QUESTION]);
        // The first message may bring a system prompt.
        if first.as_ref().is_some_and(|first| !first.contains('\n')) {
            return first;
        }
        match (
            first,
            self.opening_of_question(&[EARLIER, REPLY], &[EARLIER, REPLY, QUESTION]),
        ) {
            (Some(first), Some(later)) if !first.ends_with(&*later) => Some(first),
            (first, later) => later.or(first),
        }
    }

    /// What opens the question that a longer dialogue ends with.
    fn opening_of_question(&self, shorter: &[&str], longer: &[&str]) -> Option<String> {
        let (shorter, longer) = (
            self.sampler.dialogue(shorter)?,
            self.sampler.dialogue(longer)?,
        );
        let Diff { prefix, right, .. } = Diff::between(&shorter, &longer);
        let opening = before(
            right.split_once(REPLY).map_or(right, |(_, after)| after),
            QUESTION,
        );
        // A marker before the addition that also ends it may as well begin it, like an
        // answer's.
        let shared = match (segments(prefix).last(), segments(right).last()) {
            (Some(Segment::Marker(before)), Some(Segment::Marker(last))) if before == last => *last,
            _ => "",
        };
        let begins = self.turn.opening.trim_start().starts_with(shared);
        let whole = [if begins { shared } else { "" }, opening].concat();
        let mut opening = String::new();
        let mut opened = false;
        for segment in segments(&whole) {
            let skipped = match segment {
                Segment::Marker(marker) => self.closes(marker),
                Segment::Text(text) => is_blank(text),
            };
            if opened || !skipped {
                opened |= matches!(segment, Segment::Marker(_));
                opening.push_str(segment.as_str());
            }
        }
        Some(trim(&opening).to_owned())
    }

    /// Whether a marker at the beginning of a turn looks like the end of the previous turn, as
    /// `<|im_end|>` does.
    fn closes(&self, marker: &str) -> bool {
        let mut closes = self.turn.glues([SlotKind::Content], SlotKind::End);
        let ends = closes
            .next()
            .is_some_and(|close| first_marker(close.and(&self.turn.end).head()) == Some(marker));
        let marker = marker.to_ascii_lowercase();
        ends || marker.contains("end") || marker.contains("close")
    }

    /// The opening of a turn that the template writes after every message, asked for or not. It
    /// begins like the user's.
    fn unasked(&self, user: &str) -> Option<String> {
        let begins = first_marker(user).filter(|_| self.turn.opening.is_empty())?;
        let asked = self.sampler.dialogue(&[QUESTION])?;
        let (_, opening) = asked.rsplit_once(QUESTION)?.1.rsplit_once(begins)?;
        Some(format!("{begins}{}", opening.trim_end()))
    }
}

/// A text up to another one in it; all of it if that is missing.
fn before<'a>(text: &'a str, end: &str) -> &'a str {
    text.split(end).next().unwrap_or_default()
}
