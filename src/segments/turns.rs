//! Finds what models wrote of a prompt: the assistant's turns and their parts, for training.
//!
//! The text that the template writes between the first and the last value of an answer was written by the model. The turn
//! begins behind the generation prompt of a render of the messages before it. It ends with the end of all turns
//! ([`chatparse_learn::analysis::turn`]), or with the host's end-of-turn token.

use std::collections::HashMap;
use std::ops::Range;

use super::{Origin, Segment};
use chatparse_base::find::char_border_behind;
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
    /// The turns of messages that are in the prompt. `asked`: returns the prompt that a message answers; `closed`: the
    /// conversation up to and with a message.
    pub fn turns(
        &self,
        asked: impl Fn(usize) -> Option<String>,
        closed: impl Fn(usize) -> Option<String>,
    ) -> Vec<Turn> {
        let mut shown: HashMap<usize, Range<usize>> = HashMap::new();
        for (at, segment) in self.segments.iter().enumerate() {
            if let Origin::Message { index, .. } = segment.origin {
                shown.entry(index).or_insert(at..at).end = at + 1;
            }
        }
        // The text around the values of a turn determines where it begins and ends, if that is known from another turn.
        let mut begins: HashMap<&str, usize> = HashMap::new();
        let mut ends: HashMap<(&str, bool), usize> = HashMap::new();
        let (mut last_asked, mut same) = (String::new(), 0);
        let mut from = 0;
        let mut turns = Vec::new();
        for &message in self.messages {
            let own = shown.get(&message).cloned();
            let is_known = |own: &Range<usize>| begins.contains_key(&self.prompt[self.glue(own.start.checked_sub(1))]);
            if !own.as_ref().is_some_and(is_known) && begins.len() < SEGMENT_RENDERS {
                last_asked = asked(message).unwrap_or_default();
                same = shared(&last_asked, self.prompt);
            }
            let (begin, last) = match &own {
                Some(own) => {
                    let glue = self.glue(own.start.checked_sub(1));
                    let begin = *begins
                        .entry(&self.prompt[glue.clone()])
                        .or_insert_with(|| self.begin(&last_asked, same, &glue) - glue.start);
                    // What another message's values divide from the turn is not the model's.
                    let is_other = |segment: &Segment| part_of(segment, message).is_none() && segment.origin.is_value();
                    let end = self.segments[own.clone()].iter().position(is_other).map_or(own.end, |at| own.start + at);
                    let is_own = |segment: &Segment| part_of(segment, message).is_some();
                    let last =
                        self.segments[own.start..end].iter().rposition(is_own).map_or(own.start, |at| own.start + at);
                    (glue.start + begin, Some(last))
                }
                // A turn without a value of its own begins where the prompt ends that it answers.
                None if same > from && last_asked.len() - same < OPENING => (self.border(&last_asked, 0..same), None),
                None => continue,
            };
            let start = last.map_or(begin, |last| self.segments[last].bytes.end);
            let gap = self.gap(start);
            let key = (&self.prompt[gap.clone()], gap.end == self.prompt.len());
            let renders = ends.len();
            let end = *ends.entry(key).or_insert_with(|| {
                let closed = if renders < SEGMENT_RENDERS { closed(message) } else { None };
                self.end(&closed.unwrap_or_default(), last.map(|last| &self.segments[last].bytes), &gap)
            });
            let own = own.map_or(0..0, |own| own.start..last.map_or(own.end, |last| last + 1));
            from = start + end;
            turns.push(self.turn(message, own, begin, start..start + end));
        }
        turns
    }

    /// The range of a segment of the template, by index; empty for other segments.
    fn glue(&self, index: Option<usize>) -> Range<usize> {
        match index.map(|index| &self.segments[index]) {
            Some(segment) if segment.origin == Origin::Template => segment.bytes.clone(),
            Some(segment) => segment.bytes.end..segment.bytes.end,
            None => 0..0,
        }
    }

    /// The template's text from here on.
    fn gap(&self, start: usize) -> Range<usize> {
        let at = self.segments.partition_point(|segment| segment.bytes.end <= start);
        match self.segments.get(at) {
            Some(segment) if segment.origin == Origin::Template => start..segment.bytes.end,
            _ => start..start,
        }
    }

    /// The end of a text, if other text follows in the prompt: not inside of a marker.
    fn border(&self, text: &str, range: Range<usize>) -> usize {
        if text.len() == range.end || self.prompt.len() == range.end {
            return range.end;
        }
        let is_border = |c: char| c.is_whitespace() || matches!(c, '>' | ']' | '}' | ')');
        let marker = self.prompt[range.clone()].rfind(['<', '[']).map(|at| range.start + at);
        let closed = self.prompt[range.clone()].rfind(is_border).map(|at| range.start + at);
        match marker {
            Some(marker) if closed.is_none_or(|closed| closed < marker) => marker,
            _ => range.end,
        }
    }

    /// Where the turn begins in the glue in front of it. `same`: the length of the common prefix of the prompt and `asked`.
    fn begin(&self, asked: &str, same: usize, glue: &Range<usize>) -> usize {
        if same >= glue.end {
            return glue.end;
        }
        if same >= glue.start {
            return self.border(asked, glue.start..same);
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

    /// The length of what the template writes behind a turn to end it: what it writes there, whatever follows. `closed`: the
    /// conversation up to the turn; `last`: the turn's last value.
    fn end(&self, closed: &str, last: Option<&Range<usize>>, gap: &Range<usize>) -> usize {
        let text = &self.prompt[gap.clone()];
        let rest = match last {
            _ if closed.get(..gap.start) == Some(&self.prompt[..gap.start]) => &closed[gap.start..],
            // The template has changed earlier text.
            Some(last) => closed.rfind(&self.prompt[last.clone()]).map_or("", |at| &closed[at + last.len()..]),
            None => "",
        };
        let same = shared(rest, text);
        let same = self.border(rest, gap.start..gap.start + same) - gap.start;
        let ended = text[..same].trim_end().len();
        if ended > 0 {
            return ended;
        }
        let known = self.ends.iter().filter(|end| !end.is_empty());
        known.filter_map(|end| Some(text.find(end)? + end.len())).next().unwrap_or(0)
    }

    /// The turn, with the text that ends it.
    fn turn(&self, message: usize, own: Range<usize>, begin: usize, behind: Range<usize>) -> Turn {
        let mut parts: Vec<(TurnPart, Range<usize>)> = Vec::new();
        let mut push = |part: TurnPart, bytes: Range<usize>| match parts.last_mut() {
            _ if bytes.is_empty() => {}
            Some((last, known)) if *last == part && known.end == bytes.start => known.end = bytes.end,
            _ => parts.push((part, bytes)),
        };
        let mut before = None;
        let mut at = begin;
        for segment in &self.segments[own] {
            let Some(part) = part_of(segment, message) else { continue };
            let glue = match (before, part) {
                (Some(TurnPart::Reasoning), _) => TurnPart::Reasoning,
                (Some(TurnPart::Calls), _) => TurnPart::Calls,
                (_, part) => part,
            };
            push(glue, at.min(segment.bytes.start)..segment.bytes.start);
            push(part, segment.bytes.clone());
            (before, at) = (Some(part), segment.bytes.end);
        }
        let text = &self.prompt[behind.clone()];
        let known = self.ends.iter().filter(|end| !end.is_empty()).filter_map(|end| text.find(end)).next();
        let start = match (known, before) {
            (Some(at), _) => at,
            // Behind calls there is their own end.
            (None, Some(TurnPart::Calls)) => text.len(),
            (None, _) => 0,
        };
        push(before.unwrap_or(TurnPart::Content), behind.start..behind.start + start);
        push(TurnPart::End, behind.start + start..behind.end);
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
