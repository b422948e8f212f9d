//! Finds what models wrote of a prompt: the assistant's turns and their parts, for training.
//!
//! The text that the template writes between the first and the last value of an answer was written by the model. The turn
//! begins behind the generation prompt of a render of the messages before it. It ends with the end of all turns
//! ([`chatparse_learn::analysis::turn`]), or with the host's end-of-turn token.

use std::collections::HashMap;
use std::ops::Range;

use super::{Origin, Segment};
use chatparse_base::find::{char_border_before, char_border_behind};
use chatparse_base::limits::{SEGMENT_GLUE, SEGMENT_RENDERS};
use chatparse_jinja::shared;
use chatparse_message::{REASONING, THINKING};

/// A part of a model's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TurnPart {
    /// The reasoning, with its markers.
    Reasoning,
    /// The content.
    Content,
    /// The calls, with the text around them.
    Calls,
    /// The end of the turn.
    End,
}

/// A turn of the assistant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Turn {
    /// Index of the message.
    pub message: usize,
    /// The ranges that the model wrote, in bytes of the prompt, in order.
    pub parts: Vec<(TurnPart, Range<usize>)>,
}

/// The parts of turns to include in a training mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MaskParts {
    /// [`TurnPart::Reasoning`].
    pub reasoning: bool,
    /// [`TurnPart::Content`].
    pub content: bool,
    /// [`TurnPart::Calls`].
    pub calls: bool,
    /// [`TurnPart::End`].
    pub end: bool,
    /// Only the last turn.
    pub last_only: bool,
}

impl Default for MaskParts {
    /// All parts of all turns.
    fn default() -> Self {
        MaskParts { reasoning: true, content: true, calls: true, end: true, last_only: false }
    }
}

impl MaskParts {
    fn has(&self, part: TurnPart) -> bool {
        match part {
            TurnPart::Reasoning => self.reasoning,
            TurnPart::Content => self.content,
            TurnPart::Calls => self.calls,
            TurnPart::End => self.end,
        }
    }
}

impl super::Segments {
    /// The bytes that a model should learn, as disjoint ranges in order. If the template has `{% generation %}` blocks, no
    /// byte outside of them; with all parts of all turns, exactly these blocks.
    pub fn mask(&self, parts: MaskParts) -> Vec<Range<usize>> {
        if !self.generation.is_empty() && parts == MaskParts::default() {
            return joined(self.generation.iter().cloned());
        }
        let from = if parts.last_only { self.turns.len().saturating_sub(1) } else { 0 };
        let chosen = self.turns[from..].iter().flat_map(|turn| &turn.parts).filter(|(part, _)| parts.has(*part));
        let chosen = joined(chosen.map(|(_, bytes)| bytes.clone()));
        if self.generation.is_empty() { chosen } else { intersection(&self.generation, &chosen) }
    }
}

/// Merges adjacent ranges.
fn joined(ranges: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    for range in ranges.filter(|range| !range.is_empty()) {
        match all.last_mut() {
            Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
            _ => all.push(range),
        }
    }
    all
}

fn intersection(a: &[Range<usize>], b: &[Range<usize>]) -> Vec<Range<usize>> {
    let (mut both, mut at) = (Vec::new(), 0);
    for range in a {
        while b.get(at).is_some_and(|other| other.end <= range.start) {
            at += 1;
        }
        let meets = b[at..].iter().take_while(|other| other.start < range.end);
        both.extend(meets.map(|other| other.start.max(range.start)..other.end.min(range.end)));
    }
    both
}

/// What is known of the turns.
pub(super) struct Known<'k> {
    pub prompt: &'k str,
    pub segments: &'k [Segment],
    /// The assistant's messages.
    pub messages: &'k [usize],
    /// Texts that end turns, the most likely first.
    pub ends: &'k [&'k str],
}

impl Known<'_> {
    /// The turns of messages that are in the prompt. `asked`: returns the prompt that a message answers.
    pub fn turns(&self, asked: impl Fn(usize) -> Option<String>) -> Vec<Turn> {
        let mut shown: HashMap<usize, Range<usize>> = HashMap::new();
        for (at, segment) in self.segments.iter().enumerate() {
            if let Origin::Message { index, .. } = segment.origin {
                shown.entry(index).or_insert(at..at).end = at + 1;
            }
        }
        // The text between two messages determines where the second begins, if that is known from another pair.
        let mut begins: HashMap<&str, usize> = HashMap::new();
        let (mut last_asked, mut same) = (String::new(), 0);
        let turn = |message: &usize| {
            let own = shown.get(message)?.clone();
            let glue = self.glue(own.start.checked_sub(1));
            let renders = begins.len();
            let begin = *begins.entry(&self.prompt[glue.clone()]).or_insert_with(|| {
                if renders < SEGMENT_RENDERS {
                    last_asked = asked(*message).unwrap_or_default();
                    same = shared(&last_asked, self.prompt);
                }
                self.begin(&last_asked, same, &glue) - glue.start
            });
            Some(self.turn(*message, own, glue.start + begin))
        };
        self.messages.iter().filter_map(turn).collect()
    }

    /// The range of a segment of the template, by index; empty for other segments.
    fn glue(&self, index: Option<usize>) -> Range<usize> {
        match index.map(|index| &self.segments[index]) {
            Some(segment) if segment.origin == Origin::Template => segment.bytes.clone(),
            Some(segment) => segment.bytes.end..segment.bytes.end,
            None => 0..0,
        }
    }

    /// Where the turn begins in the glue in front of it. `same`: the length of the common prefix of the prompt and `asked`.
    fn begin(&self, asked: &str, same: usize, glue: &Range<usize>) -> usize {
        if same >= glue.start {
            return char_border_before(self.prompt, same.min(glue.end));
        }
        // The template has changed earlier text: search for the end of the prompt that the turn answers.
        let from = char_border_behind(self.prompt, glue.start.max(glue.end.saturating_sub(SEGMENT_GLUE)));
        let text = &self.prompt[from..glue.end];
        let tails = asked.char_indices().rev().take(OPENING).map(|(at, _)| &asked[at..]);
        let found = tails
            .filter_map(|tail| Some((text.rfind(tail)? + tail.len(), tail.len())))
            .max_by_key(|(_, length)| *length);
        from + found.filter(|(_, length)| *length > 1).map_or(text.len(), |(end, _)| end)
    }

    fn turn(&self, message: usize, own: Range<usize>, begin: usize) -> Turn {
        let mut parts: Vec<(TurnPart, Range<usize>)> = Vec::new();
        let mut push = |part: TurnPart, bytes: Range<usize>| match parts.last_mut() {
            _ if bytes.is_empty() => {}
            Some((last, known)) if *last == part && known.end == bytes.start => known.end = bytes.end,
            _ => parts.push((part, bytes)),
        };
        let mut before = None;
        let mut at = begin;
        for segment in &self.segments[own.clone()] {
            let Some(part) = part_of(segment, message) else {
                // Segments of other origins divide the turn, together with the text around them.
                if segment.origin != Origin::Template && segment.origin != Origin::Unknown {
                    at = usize::MAX;
                }
                continue;
            };
            let glue = match (before, part) {
                (Some(TurnPart::Reasoning), _) => TurnPart::Reasoning,
                (Some(TurnPart::Calls), _) => TurnPart::Calls,
                (_, part) => part,
            };
            push(glue, at.min(segment.bytes.start)..segment.bytes.start);
            push(part, segment.bytes.clone());
            (before, at) = (Some(part), segment.bytes.end);
        }
        let behind = match self.segments.get(own.end) {
            Some(segment) if segment.origin == Origin::Template => &self.prompt[segment.bytes.clone()],
            _ => "",
        };
        let ends = self.ends.iter().filter(|end| !end.is_empty());
        if let Some((start, end)) = ends.filter_map(|end| Some((behind.find(end)?, end.len()))).next() {
            push(before.unwrap_or(TurnPart::Content), at..at + start);
            push(TurnPart::End, at + start..at + start + end);
        }
        Turn { message, parts }
    }
}

/// The maximum length of the end of a prompt that is searched for, in characters.
const OPENING: usize = 200;

/// The part of the turn that a segment is, if it belongs to this message.
fn part_of(segment: &Segment, message: usize) -> Option<TurnPart> {
    let Origin::Message { index, path } = &segment.origin else { return None };
    let mut fields = path.split('/').skip(1);
    let (field, last) = (fields.next()?, fields.last());
    (*index == message).then_some(match field {
        _ if REASONING.contains(&field) => TurnPart::Reasoning,
        "content" if last == Some(THINKING) => TurnPart::Reasoning,
        "tool_calls" | "function_call" => TurnPart::Calls,
        _ => TurnPart::Content,
    })
}
