//! Learns the openings of a user's and an assistant's message.
//!
//! Adds a message to a conversation; the opening is what the render gains up to the message's text. Markers of reasoning are
//! removed from the assistant's opening, because they open a part of the turn. The end of the previous turn is removed from
//! the user's opening.

use super::context::{AnalysisContext, Pair};
use super::markup::{Markup, Segment, before_first, is_space, trim};
use super::probe::{Probe, REPLY, USER, USER_EARLIER};

pub(super) fn run(context: &mut AnalysisContext) {
    assistant(context);
    user(context);
}

fn assistant(context: &mut AnalysisContext) {
    let Some(pair) = context.pair(Probe::asked(), Probe::asked().reply()) else { return };
    let reasoning = &context.layout().reasoning;
    let mut opening = before_first(pair.diff().right, REPLY);
    for marker in [trim(&reasoning.start), trim(&reasoning.end)] {
        if !marker.is_empty() {
            opening = before_first(opening, marker);
        }
    }
    context.learn("a question / a question and a reply", &pair, |layout| layout.assistant_start = trim(opening).into());
}

fn user(context: &mut AnalysisContext) {
    // Many templates reject an empty conversation; a later question has the same opening.
    let later = || Probe::empty().user(USER_EARLIER).reply();
    let first = context.pair(Probe::empty(), Probe::asked()).map(|pair| ("nothing / a question", pair));
    let found = first.or_else(|| {
        let pair = context.pair(later(), later().user(USER))?;
        Some(("a reply / a reply and another question", pair))
    });
    let Some((question, pair)) = found else { return };
    let opening = user_opening(&pair);
    context.learn(question, &pair, |layout| layout.user_start = opening);
}

fn user_opening(pair: &Pair) -> String {
    let added = pair.diff().right;
    let added = added.split_once(REPLY).map_or(added, |(_, after)| after);
    let segments = Markup::new(before_first(added, USER)).segments();
    let mut opening = String::new();
    let mut opened = false;
    for segment in segments {
        let skipped = match segment {
            Segment::Marker(marker) => closes(marker),
            Segment::Text(text) => text.chars().all(is_space),
        };
        if opened || !skipped {
            opened |= matches!(segment, Segment::Marker(_));
            opening.push_str(segment.as_str());
        }
    }
    trim(&opening).into()
}

/// Whether a marker at the beginning of a turn looks like the end of the previous turn, as `<|im_end|>` does.
fn closes(marker: &str) -> bool {
    let marker = marker.to_ascii_lowercase();
    marker.contains("end") || marker.contains("close")
}
