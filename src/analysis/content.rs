//! Learns whether the content is between markers.
//!
//! Compares a reply with a call and with a thought, both without content: what is missing there belongs to the content. If
//! the first difference is the reply alone, the content is bare, unless the second has more text in front of it. Otherwise
//! the longer of the two differences is searched for the reply between two markers.

use super::context::AnalysisContext;
use super::layout::{ContentMode, Layout, ReasoningMode};
use super::markup::{Markup, is_space, trim, trim_start};
use super::probe::{Call, Probe, REPLY};

pub(super) fn run(context: &mut AnalysisContext) {
    let reply = || Probe::asked_with_tools().reply();
    let Some(with_call) = context.pair(reply(), Probe::calling(&[Call::FIRST])) else { return };
    let Some(with_thought) = context.pair(reply(), Probe::asked_with_tools().thought("")) else { return };
    let (beside_call, beside_thought) = (with_call.diff().left, with_thought.diff().left);

    if trim(beside_call) == REPLY && stands_bare(beside_thought, context.layout()) {
        return;
    }
    let reasoning_end = &context.layout().reasoning.end;
    let after_reasoning = match beside_thought.split_once(reasoning_end.as_str()) {
        Some((_, after)) if !reasoning_end.is_empty() => after,
        _ => beside_thought,
    };
    let (text, pair) = if after_reasoning.len() > beside_call.len() {
        (after_reasoning, &with_thought)
    } else {
        (beside_call, &with_call)
    };
    let markup = Markup::new(text);
    let Some((before, after)) = markup.sites(REPLY).find_map(|site| site.between()) else { return };
    let question = "a reply / a call or a thought instead";
    context.learn(question, pair, |layout| {
        layout.content.mode = ContentMode::AlwaysWrapped;
        layout.content.start = markup.slice(before).into();
        layout.content.end = markup.slice(after).into();
    });
}

/// Whether the difference to a thought is not a sign of markers: it does not begin with a gap, which only a block that was
/// closed before the content leaves, or it is the end of reasoning that the content follows.
fn stands_bare(beside_thought: &str, layout: &Layout) -> bool {
    let reasoning = &layout.reasoning;
    let follows_reasoning = || {
        beside_thought.match_indices(&reasoning.end).any(|(at, end)| {
            let rest = &beside_thought[at + end.len()..];
            trim_start(rest).starts_with(REPLY)
        })
    };
    !beside_thought.starts_with(is_space)
        || reasoning.mode != ReasoningMode::None && !reasoning.end.is_empty() && follows_reasoning()
}
