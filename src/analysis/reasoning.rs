//! Reasoning: whether the model thinks before it answers, and between which markers.
//!
//! Three comparisons, each of which catches templates that the others miss:
//!
//! * *A reply without and with reasoning.* A template that keeps reasoning in the history shows both markers around
//!   it, `<think>…</think>`; or only an end, where reasoning opens without a word.
//! * *An opened turn with thinking off and on.* A template that forgets old reasoning still steers new reasoning in
//!   the generation prompt. With thinking on it opens the block (`<think>`), or with thinking off it writes one that
//!   is already closed (`<think></think>`).
//! * *Reasoning before a reply and before a call.* Some templates keep reasoning only where a call follows.

use super::evidence::{Pair, Study};
use super::layout::{Layout, ReasoningMode};
use super::markup::{Markup, Segment, is_space, trim};
use super::probe::{Call, Probe, REPLY, THOUGHT};

/// How much of a generation prompt's end must reappear in the other one to be taken for the same place, in bytes.
const ANCHOR: usize = 64;

pub(super) fn run(study: &mut Study) {
    kept_in_history(study);
    switched_by_request(study);
    if study.template().caps().tool_calls {
        kept_for_calls(study);
    }
}

fn kept_in_history(study: &mut Study) {
    let Some(pair) = study.pair(Probe::asked().reply(), Probe::asked().thought(REPLY)) else { return };
    if !pair.diff().right.contains(THOUGHT) {
        return;
    }
    let markup = Markup::new(&pair.b);
    let (start, end) = match markup.sites(THOUGHT).find_map(|site| Some((site.between()?, site.needle.end))) {
        // White space in front of the end marker belongs to it: the model will write it there.
        Some(((before, after), thought_end)) => (markup.slice(before), markup.slice(thought_end..after.end)),
        None => match markup.sites(THOUGHT).next().and_then(|site| site.after) {
            Some(after) => ("", markup.slice(after)),
            None => return,
        },
    };
    study.learn("a reply without / with reasoning", &pair, |layout| {
        layout.reasoning.mode = ReasoningMode::TagBased;
        layout.reasoning.start = start.into();
        layout.reasoning.end = end.into();
    });
}

fn switched_by_request(study: &mut Study) {
    let opened = |thinking| Probe::asked().turn_opened().thinking(thinking);
    let Some(pair) = study.pair(opened(false), opened(true)) else { return };
    let (off, on) = (pair.diff().left, pair.diff().right);
    let found = match (trim(off), trim(on)) {
        ("", "") => return,
        ("", added) if pair.b.ends_with(added) && study.layout().reasoning.start.is_empty() => {
            Block { start: Some(on.into()), end: None }
        }
        (added, "") if pair.a.ends_with(added) && study.layout().reasoning.end.is_empty() => {
            Block { start: marker_before_last(&pair.a, added), end: Some(off.into()) }
        }
        ("", _) | (_, "") => return,
        // The switch changes more than the end of the prompt, for instance a line of the system message.
        _ => match closed_block_at_the_end(&pair) {
            Some((start, end)) => {
                let known = &study.layout().reasoning;
                Block {
                    start: known.start.is_empty().then(|| start.into()),
                    end: known.end.is_empty().then(|| end.into()),
                }
            }
            None => return,
        },
    };
    study.learn("an opened turn with thinking off / on", &pair, |layout| found.put(layout));
}

/// The markers of a block, as far as a comparison shows them.
struct Block {
    start: Option<String>,
    end: Option<String>,
}

impl Block {
    fn put(self, layout: &mut Layout) {
        let reasoning = &mut layout.reasoning;
        reasoning.mode = ReasoningMode::TagBased;
        reasoning.start = self.start.unwrap_or_else(|| std::mem::take(&mut reasoning.start));
        reasoning.end = self.end.unwrap_or_else(|| std::mem::take(&mut reasoning.end));
    }
}

/// The marker before `last` where `last` is the final segment of `text`, white space aside.
fn marker_before_last(text: &str, last: &str) -> Option<String> {
    match inked_segments(text).as_slice() {
        [.., Segment::Marker(start), end] if end.as_str() == last => Some(start.to_string()),
        _ => None,
    }
}

/// Where one prompt ends as the other does and then adds exactly two markers, an empty block: those markers.
fn closed_block_at_the_end(pair: &Pair) -> Option<(&str, &str)> {
    let addition = |base: &str, longer: &'_ str| {
        let from = base.len().saturating_sub(ANCHOR);
        let anchor = (from..=base.len()).find_map(|at| base.get(at..))?;
        longer.rfind(anchor).map(|at| at + anchor.len())
    };
    [(&pair.b, &pair.a), (&pair.a, &pair.b)].into_iter().find_map(|(base, longer)| {
        let added = longer.get(addition(base, longer)?..)?;
        match inked_segments(trim(added)).as_slice() {
            [Segment::Marker(start), Segment::Marker(end)] => Some((*start, *end)),
            _ => None,
        }
    })
}

/// The segments of `text` that are more than white space.
fn inked_segments(text: &str) -> Vec<Segment<'_>> {
    let mut segments = Markup::new(text).segments();
    segments.retain(|segment| !segment.as_str().chars().all(is_space));
    segments
}

fn kept_for_calls(study: &mut Study) {
    let pair =
        study.pair(Probe::asked_with_tools().thought(REPLY), Probe::asked_with_tools().thought_and_call(Call::FIRST));
    let Some(pair) = pair else { return };
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
    study.learn("reasoning before a reply / before a call", &pair, |layout| {
        let reasoning = &mut layout.reasoning;
        reasoning.mode = ReasoningMode::ToolsOnly;
        if let Some(start) = start {
            reasoning.start = start.into();
        }
        reasoning.end = end.into();
    });
}
