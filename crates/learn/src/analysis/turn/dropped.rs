//! Finds reasoning that turns of the history do not show after the prompt: because the prompt has
//! closed it, because the template drops it, or because it never writes any. Five places show its
//! markers:
//!
//! - *the history*, if only the prompt rules reasoning out;
//! - *the prompt with thinking off and on*: one opens the reasoning, or the other writes an empty
//!   one;
//! - *a content with the end of reasoning in it*: a template that drops old reasoning drops what is
//!   before that end;
//! - *a marker that only the prompt ends with*: its mirror image closes the reasoning;
//! - *an instruction to the model* that names them as an empty block, `<think></think>`.

use super::super::diff::Diff;
use super::super::markup::{
    Segment, first_marker, is_blank, markers, segments, since_last_marker, trim,
};
use super::sample::{QUESTION, REPLY, Sample, SampleCall, Sampler, THOUGHT};
use super::{
    Edge, Glue, Reasoning,
    SlotKind::{self, Content, End, Prompt},
};
use chatparse_base::brackets::mirrored;
use chatparse_base::find::shared;
use chatparse_base::limits::REASONING_ENDS;

/// Finds the markers, and adds the edges from reasoning, which are those from the prompt.
pub fn find(sampler: &Sampler, source: &str, edges: &mut Vec<Edge>) -> Option<Reasoning> {
    let named = named(source);
    let reply = sampler.behind(&Sample::reply());
    let before_reply = reply
        .as_deref()
        .and_then(|turn| Some(turn.split_once(&*sampler.marks.mark(REPLY))?.0));
    let is_reasoning = |(start, close): &(String, String)| {
        let (start, close) = (trim(start), trim(close));
        // Text is no reasoning where the history has replies directly after its opening.
        let replies = before_reply.is_some_and(|text| text.rfind(start) > text.rfind(close));
        !start.is_empty() && !close.is_empty() && !replies
    };
    // The surest source first.
    let shown = around_thought(sampler).filter(is_reasoning);
    let sent = shown
        .or_else(|| in_history(sampler))
        .or_else(|| switched(sampler, source));
    let guessed = sent
        .or_else(|| cut_from_content(sampler, source))
        .or_else(|| opened(sampler));
    let (start, close) = guessed
        .or_else(|| named.first().map(|(start, end)| pair(start, end)))
        .filter(is_reasoning)?;
    reason_like_prompt(edges, &close);
    if let [(first, _), (open, end)] = named[..]
        && first == start
    {
        edges.push(Edge::new(SlotKind::Reasoning, open.into(), Content));
        edges.push(Edge::new(Content, end.into(), End));
    }
    let opening = behind_question(&sampler.prompt);
    Some(Reasoning::behind(opening, &start, &close))
}

fn pair(start: &str, end: &str) -> (String, String) {
    (start.to_owned(), end.to_owned())
}

/// What a prompt has after the question.
fn behind_question(prompt: &str) -> &str {
    prompt
        .rsplit_once(QUESTION)
        .map_or(prompt, |(_, behind)| behind)
}

/// Adds the edges from reasoning that the history does not show: those from the prompt, without
/// what they have up to its end.
pub fn reason_like_prompt(edges: &mut Vec<Edge>, close: &str) {
    let close = trim(close);
    let mut begins = edges.clone();
    begins.retain(|edge| edge.from == Prompt);
    for mut edge in begins {
        edge.from = SlotKind::Reasoning;
        if let Some(at) = edge.glue.head().find(close) {
            edge.glue = edge.glue.without_start(at + close.len());
        }
        edges.push(edge);
    }
}

/// The empty block of thoughts that the source names, and the one after it in the same line, which
/// is for the content.
fn named(source: &str) -> Vec<(&str, &str)> {
    for line in source.lines() {
        let mut blocks = Vec::new();
        for pair in segments(line).windows(2) {
            if let [Segment::Marker(open), Segment::Marker(close)] = *pair
                && mirrored(open).as_deref() == Some(close)
            {
                blocks.push((open, close));
            }
        }
        if blocks
            .first()
            .is_some_and(|(open, _)| open.contains("think"))
        {
            blocks.truncate(2);
            return blocks;
        }
    }
    Vec::new()
}

impl Reasoning {
    /// Reasoning with these markers after a prompt that ends with `opening`, and may have opened
    /// or closed it.
    pub fn behind(opening: &str, start: &str, close: &str) -> Reasoning {
        let opened = opening.rfind(trim(start)) > opening.rfind(trim(close));
        let open = if opened {
            Glue::default()
        } else {
            Glue::from(start)
        };
        Reasoning {
            start: trim(start).to_owned(),
            open,
            close: Glue::from(close),
            ..Reasoning::default()
        }
    }
}

/// The texts around a thought in the history: what a reply without one does not have.
fn around_thought(sampler: &Sampler) -> Option<(String, String)> {
    let [with, without] = [true, false]
        .map(|thinks| sampler.behind(&Sample::new(thinks, true, Vec::new()).checked()));
    let (with, without, reply) = (with?, without?, sampler.marks.mark(REPLY));
    let (before, after) = with.split_once(&sampler.marks.mark(THOUGHT))?;
    let (between, lead) = (after.split_once(&reply)?.0, without.split_once(&reply)?.0);
    let [before, between, lead] = [before, between, lead].map(Glue::from);
    let start = before.without_start(Glue::common_start([&before, &lead]).head().len());
    let close = between.strip_suffix(&Glue::common_end([&between, &lead]))?;
    Some(pair(
        start.head(),
        close.up_to_first_marker().head().trim_end(),
    ))
}

/// The markers next to a thought in the history.
fn in_history(sampler: &Sampler) -> Option<(String, String)> {
    let thought = sampler.marks.mark(THOUGHT);
    [Vec::new(), vec![SampleCall::default()]]
        .into_iter()
        .find_map(|calls| {
            let turn = sampler.behind(&Sample::new(true, calls.is_empty(), calls).checked())?;
            let (before, after) = turn.split_once(&thought)?;
            let end = markers(after).first()?.end;
            Some(pair(since_last_marker(before)?, &after[..end]))
        })
}

/// The markers that differ in the prompts with thinking off and on.
fn switched(sampler: &Sampler, source: &str) -> Option<(String, String)> {
    if !source.contains("enable_thinking") {
        return None;
    }
    let other = sampler.switched_prompt()?;
    let (off, on) = if sampler.thinking {
        (&other, &sampler.prompt)
    } else {
        (&sampler.prompt, &other)
    };
    // The switch may also change what precedes the question, e.g. a line of the system message.
    let (off, on) = (behind_question(off), behind_question(on));
    let Diff { left, right, .. } = Diff::between(off, on);
    Some(match (trim(left), trim(right)) {
        ("", added) => {
            let end = mirrored(added).filter(|_| !added.is_empty() && trim(on).ends_with(added))?;
            pair(right, &end)
        }
        (added, "") if !trim(off).ends_with(added) => return None,
        (added, "") => match (&*inked_segments(added), &*inked_segments(off)) {
            ([Segment::Marker(start), Segment::Marker(end)], _) => pair(start, end),
            // The marker before the one that ends the prompt.
            (_, [.., Segment::Marker(start), end]) if end.as_str() == added => pair(start, left),
            _ => return None,
        },
        // Both begin otherwise, and end with an opening and with its end.
        _ => {
            let start = since_last_marker(trim(on))?;
            let end = mirrored(start).filter(|end| trim(off).ends_with(end))?;
            pair(start, &end)
        }
    })
}

/// A marker that the prompt adds to what begins the history's turns, and its mirror image.
fn opened(sampler: &Sampler) -> Option<(String, String)> {
    let turn = sampler.behind(&Sample::reply())?;
    let (head, start) = sampler.opening.split_at(shared(&turn, &sampler.opening));
    let end = mirrored(trim(start)).filter(|_| !trim(head).is_empty())?;
    Some(pair(trim(start), &end))
}

/// A content that is cut after the end of reasoning. The source names the text at which it cuts.
fn cut_from_content(sampler: &Sampler, source: &str) -> Option<(String, String)> {
    let mut ends: Vec<&str> = Vec::new();
    for (at, _) in source.match_indices("split(") {
        let argument = &source[at + "split(".len()..];
        let quote = argument.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let Some(end) = quote.and_then(|quote| argument[1..].split(quote).next()) else {
            continue;
        };
        if ends.len() < REASONING_ENDS && first_marker(end) == Some(end) && !ends.contains(&end) {
            ends.push(end);
        }
    }
    ends.into_iter().find_map(|end| {
        let history = sampler.history(&format!("{THOUGHT}{end}{REPLY}"))?;
        if !history.contains(REPLY) || history.contains(THOUGHT) {
            return None;
        }
        // The beginning of a block that ends with this tag, or else the prompt's last marker.
        let start = end.replacen('/', "", 1);
        if mirrored(&start).as_deref() == Some(end) {
            return Some(pair(&start, end));
        }
        let last = *markers(&sampler.opening).last()?;
        Some(pair(&sampler.opening[last.start..last.end], end))
    })
}

/// The segments of `text` that are not white space.
fn inked_segments(text: &str) -> Vec<Segment<'_>> {
    let mut segments = segments(text);
    segments.retain(|segment| !is_blank(segment.as_str()));
    segments
}
