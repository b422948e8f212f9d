//! Learns whether the model reasons before it answers, and between which markers.
//!
//! Three comparisons, each of which catches templates that the others miss:
//!
//! - *A reply without and with reasoning.* A template that keeps reasoning in the history renders both markers around it,
//!   `<think>…</think>`; or only the end marker, if reasoning begins without one.
//! - *An opened turn with thinking off and on.* A template that drops old reasoning still controls new reasoning in the
//!   generation prompt. With thinking on it opens the block (`<think>`), or with thinking off it writes an empty one
//!   (`<think></think>`).
//! - *Reasoning before a reply and before a call.* Some templates keep reasoning only in front of a call.

use super::context::{AnalysisContext, Pair};
use super::diff::Diff;
use super::layout::{ReasoningLayout, ReasoningMode};
use super::markup::{Markup, Segment, after_last, is_space, trim};
use super::probe::{Call, Probe, REPLY, THOUGHT};

/// Bytes at the end of one generation prompt that must occur in the other to count as the same place.
const ANCHOR: usize = 64;

pub(super) fn run(context: &mut AnalysisContext) {
    kept_in_history(context);
    switched_by_request(context);
    if context.template().caps().tool_calls {
        kept_for_calls(context);
    }
}

fn kept_in_history(context: &mut AnalysisContext) {
    let Some(pair) = context.pair(Probe::asked().reply(), Probe::asked().thought(REPLY)) else { return };
    if !pair.diff().right.contains(THOUGHT) {
        return;
    }
    let markup = Markup::new(&pair.b);
    let (start, end) = match markup.sites(THOUGHT).find_map(|site| Some((site.between()?, site.needle.end))) {
        // White space in front of the end marker belongs to it, because the model writes it there.
        Some(((before, after), thought_end)) => (markup.slice(before), markup.slice(thought_end..after.end)),
        None => match markup.sites(THOUGHT).next().and_then(|site| site.after) {
            Some(after) => ("", markup.slice(after)),
            None => return,
        },
    };
    context.learn("a reply without / with reasoning", &pair, |layout| {
        layout.reasoning.mode = ReasoningMode::TagBased;
        layout.reasoning.start = start.into();
        layout.reasoning.end = end.into();
    });
}

fn switched_by_request(context: &mut AnalysisContext) {
    let opened = |thinking| Probe::asked().turn_opened().thinking(thinking);
    let Some(pair) = context.pair(opened(false), opened(true)) else { return };
    let Some((start, end)) = markers_of_the_switch(&pair, &context.layout().reasoning) else { return };
    context.learn("an opened turn with thinking off / on", &pair, |layout| {
        let reasoning = &mut layout.reasoning;
        reasoning.mode = ReasoningMode::TagBased;
        if let Some(start) = start {
            reasoning.start = start.into();
        }
        if let Some(end) = end {
            reasoning.end = end.into();
        }
    });
}

/// The start and the end in `pair`, without those that are `known`.
fn markers_of_the_switch<'p>(pair: &'p Pair, known: &ReasoningLayout) -> Option<(Option<&'p str>, Option<&'p str>)> {
    let Diff { left: off, right: on, .. } = pair.diff();
    match (trim(off), trim(on)) {
        ("", "") => None,
        ("", added) => (trim(&pair.b).ends_with(added) && known.start.is_empty()).then_some((Some(on), None)),
        (added, "") if !trim(&pair.a).ends_with(added) || !known.end.is_empty() => None,
        (added, "") => match empty_block(added) {
            Some((start, end)) => Some((Some(start), Some(end))),
            None => Some((marker_before_last(&pair.a, added), Some(off))),
        },
        // The switch changes more than the end of the prompt, e.g. a line of the system message.
        _ => {
            let added = addition(&pair.b, &pair.a).into_iter().chain(addition(&pair.a, &pair.b));
            let (start, end) = added.filter_map(empty_block).next()?;
            Some((known.start.is_empty().then_some(start), known.end.is_empty().then_some(end)))
        }
    }
}

/// The two markers, if `text` consists of nothing else.
fn empty_block(text: &str) -> Option<(&str, &str)> {
    match inked_segments(text).as_slice() {
        [Segment::Marker(start), Segment::Marker(end)] => Some((start, end)),
        _ => None,
    }
}

/// The marker before `last`, if `last` is the final segment of `text` apart from white space.
fn marker_before_last<'a>(text: &'a str, last: &str) -> Option<&'a str> {
    match inked_segments(text).as_slice() {
        [.., Segment::Marker(start), end] if end.as_str() == last => Some(start),
        _ => None,
    }
}

/// The text that `longer` adds after the end of `base`.
fn addition<'a>(base: &str, longer: &'a str) -> Option<&'a str> {
    let from = base.len().saturating_sub(ANCHOR);
    let anchor = (from..=base.len()).find_map(|at| base.get(at..))?;
    after_last(longer, anchor)
}

/// The segments of `text` that are not white space.
fn inked_segments(text: &str) -> Vec<Segment<'_>> {
    let mut segments = Markup::new(text).segments();
    segments.retain(|segment| !segment.as_str().chars().all(is_space));
    segments
}

fn kept_for_calls(context: &mut AnalysisContext) {
    let reply = || Probe::asked_with_tools().thought(REPLY);
    let call = || Probe::asked_with_tools().thought_and_call(Call::FIRST);
    // If reasoning is kept always or never, one render decides it.
    let kept = context.shows(Probe::asked().thought(REPLY), THOUGHT);
    let settled = if kept { context.shows(reply(), THOUGHT) } else { !context.shows(call(), THOUGHT) };
    if settled {
        return;
    }
    let Some(pair) = context.pair(reply(), call()) else { return };
    if pair.a.contains(THOUGHT) || !pair.b.contains(THOUGHT) {
        return;
    }
    let markup = Markup::new(&pair.b);
    let both = markup.sites(THOUGHT).find_map(|site| site.between());
    let end_only = || markup.sites(THOUGHT).next().and_then(|site| site.after);
    let (start, end) = match both {
        Some((before, after)) => (Some(markup.slice(before)), markup.slice(after)),
        None => (None, end_only().map_or("", |after| markup.slice(after))),
    };
    context.learn("reasoning before a reply / before a call", &pair, |layout| {
        let reasoning = &mut layout.reasoning;
        reasoning.mode = ReasoningMode::ToolsOnly;
        if let Some(start) = start {
            reasoning.start = start.into();
        }
        reasoning.end = end.into();
    });
}
