//! Finds what models wrote of a prompt: the assistant's turns and their parts, for training.
//!
//! The text that the template writes between the first and the last value of an answer was written
//! by the model. The turn begins where the prompt ends that it answers: a render of the messages
//! before it. It ends with what the template writes after its last value, whatever follows: a
//! render that stops there shows it, too. Neither is inside of a marker.

use chatparse_base::brackets;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::{Origin, Segment};
use crate::texts::{to_first_close, uncut};
use chatparse_base::find::{char_border_before, char_border_behind, shared};
use chatparse_base::limits::{SEGMENT_GLUE, SEGMENT_RENDERS};
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
    /// What the prompt has already written of the turn's text, such as the opening of the
    /// reasoning: before the first part.
    pub prefill: Range<usize>,
    /// The white space after the end.
    pub space: Range<usize>,
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
    /// [`Turn::prefill`]. Not among all parts.
    pub prefill: bool,
    /// [`Turn::space`]. Not among all parts.
    pub space: bool,
    /// Only the last turn.
    pub last_only: bool,
}

impl Default for MaskParts {
    /// All parts of all turns.
    fn default() -> Self {
        MaskParts {
            reasoning: true,
            content: true,
            calls: true,
            end: true,
            prefill: false,
            space: false,
            last_only: false,
        }
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

    /// Whether it has all that models write.
    fn is_all(&self) -> bool {
        self.reasoning && self.content && self.calls && self.end && !self.last_only
    }

    /// The ranges of a turn's parts that it has.
    fn ranges(self, turn: &Turn) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        if self.prefill {
            ranges.push(turn.prefill.clone());
        }
        for (part, bytes) in &turn.parts {
            if self.has(*part) {
                ranges.push(bytes.clone());
            }
        }
        if self.space {
            ranges.push(turn.space.clone());
        }
        ranges
    }
}

impl super::Segments {
    /// The bytes that a model should learn, as disjoint ranges in order. If the template has `{%
    /// generation %}` blocks, no byte outside of them; with all parts of all turns, exactly these
    /// blocks, whatever else they hold.
    pub fn mask(&self, parts: MaskParts) -> Vec<Range<usize>> {
        if !self.generation.is_empty() && parts.is_all() {
            return joined(self.generation.iter().cloned());
        }
        let from = if parts.last_only {
            self.turns.len().saturating_sub(1)
        } else {
            0
        };
        let turns = self.turns[from..].iter();
        let chosen = joined(turns.flat_map(|turn| parts.ranges(turn)));
        if self.generation.is_empty() {
            chosen
        } else {
            intersection(&self.generation, &chosen)
        }
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

/// A prompt whose turns are looked for.
pub(super) struct Known<'k> {
    pub prompt: &'k str,
    pub segments: &'k [Segment],
    /// The assistant's messages.
    pub messages: Vec<usize>,
    /// What prompts end with where the model begins.
    pub opening: &'k str,
    /// What prompts may have written of a turn there. No text is empty, here and below.
    pub prefills: Vec<&'k str>,
    /// Texts that end turns, the most likely first.
    pub ends: Vec<&'k str>,
    /// Texts that end calls.
    pub closers: Vec<&'k str>,
    /// Renders the first messages: as a prompt for the next one, or as they are.
    pub render: &'k dyn Fn(usize, bool) -> Option<String>,
    /// How many renders are left; `None` after one too many.
    pub left: Cell<Option<usize>>,
}

/// The maximum number of renders for the turns of a prompt.
pub(super) const RENDERS: usize = 2 * SEGMENT_RENDERS;

/// Where a turn is, in bytes of the prompt.
struct Extent {
    message: usize,
    /// The segments from its first value to its last.
    values: Range<usize>,
    begin: usize,
    /// What ends it.
    end: Range<usize>,
}

impl Known<'_> {
    fn render(&self, messages: usize, asks: bool) -> Option<String> {
        let left = self.left.get().and_then(|left| left.checked_sub(1));
        self.left.set(left);
        left.and_then(|_| (self.render)(messages, asks))
    }

    /// The conversation up to and with a message.
    fn closed(&self, message: usize) -> Option<String> {
        self.render(message + 1, false)
    }

    /// The turns of messages that are in the prompt.
    pub fn turns(&self) -> Vec<Turn> {
        // Offsets by the template's text around turns: equal text is not searched again.
        let mut begins: HashMap<String, usize> = HashMap::new();
        // Inside of the prompt, and at its end.
        let mut all_ends: [HashMap<String, usize>; 2] = Default::default();
        let mut shown: HashMap<usize, Range<usize>> = HashMap::new();
        for (at, segment) in self.segments.iter().enumerate() {
            if let Some(index) = segment.origin.message() {
                shown.entry(index).or_insert(at..at).end = at + 1;
            }
        }
        let (mut last_asked, mut same) = (String::new(), 0);
        let mut from = 0;
        let mut turns = Vec::new();
        for &message in &self.messages {
            let own = shown.get(&message).cloned();
            // The text around the values of a turn determines where it begins and ends, if that is
            // known from another turn.
            let glue = own.as_ref().map(|own| self.glue(own.start.checked_sub(1)));
            let text = glue.as_ref().map(|glue| &self.prompt[glue.clone()]);
            let begun = text.and_then(|text| begins.get(text).copied());
            if begun.is_none() {
                last_asked = self.render(message, true).unwrap_or_default();
                same = shared(&last_asked, self.prompt);
            }
            let begin = match (&glue, begun) {
                (Some(glue), Some(begun)) => glue.start + begun,
                (Some(glue), None) => {
                    let begin = self.begin(&last_asked, same, glue);
                    let text = text.unwrap_or_default().to_owned();
                    begins.insert(text, begin - glue.start);
                    begin
                }
                // A turn without a value of its own begins where the prompt ends that it answers.
                (None, _) if same > from && last_asked.len() - same < OPENING => {
                    self.border(&last_asked, 0..same)
                }
                (None, _) => continue,
            };
            let pieces = match own {
                Some(own) => self.pieces(message, own),
                None => vec![Range::default()],
            };
            for (number, values) in pieces.into_iter().enumerate() {
                let begin = if number == 0 {
                    begin
                } else {
                    self.segments[values.start].bytes.start
                };
                let last = self.segments[values.clone()].last();
                let last = last.map(|last| &last.bytes);
                let start = last.map_or(begin, |last| last.end);
                let gap = self.gap(start);
                let text = &self.prompt[gap.clone()];
                let ends = &mut all_ends[usize::from(gap.end == self.prompt.len())];
                let end = match ends.get(text) {
                    Some(end) => *end,
                    None => {
                        let closed = self.closed(message).unwrap_or_default();
                        let end = self.end(&closed, last, &gap);
                        ends.insert(text.to_owned(), end);
                        end
                    }
                };
                from = start + end;
                turns.push(Extent {
                    message,
                    values,
                    begin,
                    end: start..from,
                });
            }
        }
        self.without_results(&mut turns);
        let mut all: Vec<Turn> = Vec::new();
        for turn in turns {
            let turn = self.turn(turn);
            match all.last_mut().filter(|last| last.message == turn.message) {
                Some(last) => {
                    last.parts.extend(turn.parts);
                    last.space = turn.space;
                }
                None => all.push(turn),
            }
        }
        all
    }

    /// The values of a message that the model wrote, as ranges of segments: values of other
    /// messages divide them. So does a result that names the call again; the closed conversation
    /// has no results.
    fn pieces(&self, message: usize, own: Range<usize>) -> Vec<Range<usize>> {
        let mut pieces: Vec<Range<usize>> = Vec::new();
        let mut names: Vec<&str> = Vec::new();
        let mut goes_on = false;
        for at in own {
            let segment = &self.segments[at];
            match &segment.origin {
                Origin::Message { index, path } if *index == message => {
                    if path.ends_with("/function/name") {
                        let before = &self.prompt[..segment.bytes.end];
                        if names.contains(&path.as_str())
                            && !self
                                .closed(message)
                                .is_some_and(|text| text.starts_with(before))
                        {
                            goes_on = false;
                            continue;
                        }
                        names.push(path);
                    }
                    match pieces.last_mut().filter(|_| goes_on) {
                        Some(piece) => piece.end = at + 1,
                        None => pieces.push(at..at + 1),
                    }
                    goes_on = true;
                }
                Origin::Template | Origin::Unknown => {}
                _ => goes_on = false,
            }
        }
        pieces
    }

    /// Cuts the text that only opens a result from the ends of turns with calls: the text after the
    /// last call, if it ends no other turn.
    fn without_results(&self, turns: &mut [Extent]) {
        let (mut calls, mut ends) = (Vec::new(), HashSet::new());
        for turn in turns {
            let last = self.segments[turn.values.clone()].last();
            if last.and_then(|last| part_of(last, turn.message)) == Some(TurnPart::Calls) {
                calls.push(turn);
            } else {
                ends.insert(&self.prompt[turn.end.clone()]);
            }
        }
        for turn in calls {
            let text = &self.prompt[turn.end.clone()];
            let closers = self.closers.iter();
            let places = closers.filter_map(|closer| Some(text.rfind(closer)? + closer.len()));
            let Some(close) = places.max() else {
                continue;
            };
            let rest = text[close..].trim();
            if !ends.is_empty()
                && !ends.iter().any(|end| end.contains(rest))
                && !self.ends.iter().any(|end| rest.contains(end))
            {
                turn.end.end = turn.end.start + close;
            }
        }
    }

    /// The range of a segment of the template, by index; empty for other segments.
    fn glue(&self, index: Option<usize>) -> Range<usize> {
        match index.map(|index| &self.segments[index]) {
            Some(segment) if segment.origin == Origin::Template => segment.bytes.clone(),
            Some(segment) => segment.bytes.end..segment.bytes.end,
            None => 0..0,
        }
    }

    /// The text from here on up to the next value.
    fn gap(&self, start: usize) -> Range<usize> {
        let segments = self.segments;
        let next = segments.partition_point(|segment| segment.bytes.end <= start);
        let mut end = start;
        for segment in &segments[next..] {
            if segment.origin.is_value() {
                break;
            }
            end = segment.bytes.end;
        }
        start..end
    }

    /// The end of a text that goes on otherwise in the prompt: before a marker that is not
    /// closed there.
    fn border(&self, text: &str, range: Range<usize>) -> usize {
        if text.len() == range.end || self.prompt.len() == range.end {
            return range.end;
        }
        range.start + uncut(&self.prompt[range])
    }

    /// What the prompt has written of a turn that begins here.
    fn prefill(&self, begin: usize) -> Range<usize> {
        let before = self.prompt[..begin].trim_end();
        let texts = self.prefills.iter();
        let before = texts.filter_map(|text| before.strip_suffix(text));
        before.map(str::len).min().unwrap_or(begin)..begin
    }

    /// The template's white space from here on.
    fn space(&self, start: usize) -> Range<usize> {
        let text = &self.prompt[self.gap(start)];
        start..start + text.len() - text.trim_start().len()
    }

    /// Where the turn begins in the glue before it. `same`: the length of the common prefix of
    /// the prompt and `asked`.
    fn begin(&self, asked: &str, same: usize, glue: &Range<usize>) -> usize {
        let begin = self.asked(asked, same, glue);
        // After a result some prompts have no opening, and conversations have one.
        let rest = &self.prompt[begin..glue.end];
        let inked = rest.trim_start();
        let mut openings = [self.opening, self.opening.trim()].into_iter();
        let opening = openings.find(|opening| !opening.is_empty() && inked.starts_with(opening));
        begin + opening.map_or(0, |opening| rest.len() - inked.len() + opening.len())
    }

    /// Where the prompt that the turn answers ends in the glue.
    fn asked(&self, asked: &str, same: usize, glue: &Range<usize>) -> usize {
        if same >= glue.end {
            return glue.end;
        }
        if same >= glue.start {
            return self.border(asked, glue.start..same);
        }
        // The template has changed earlier text: search for the end of the prompt that the turn
        // answers.
        let from = char_border_behind(
            self.prompt,
            glue.start.max(glue.end.saturating_sub(SEGMENT_GLUE)),
        );
        let text = &self.prompt[from..glue.end];
        // The turn may have another text than the last of the prompt.
        let mut end = asked.len();
        for _ in 0..OPENING {
            let Some((start, _)) = asked[..end].char_indices().nth_back(TAIL - 1) else {
                break;
            };
            if let Some(at) = text.rfind(&asked[start..end]) {
                let at = from + at + end - start;
                if end < asked.len() {
                    return self.border(asked, from..at);
                }
                return at;
            }
            end = char_border_before(asked, end - 1);
        }
        glue.end
    }

    /// The length of what the template writes after a turn to end it: what it writes there,
    /// whatever follows. `closed`: the conversation up to the turn; `last`: the turn's last value.
    fn end(&self, closed: &str, last: Option<&Range<usize>>, gap: &Range<usize>) -> usize {
        let text = &self.prompt[gap.clone()];
        let rest = match last {
            _ if closed.get(..gap.start) == Some(&self.prompt[..gap.start]) => &closed[gap.start..],
            // The template has changed earlier text.
            Some(last) => closed
                .rfind(&self.prompt[last.clone()])
                .map_or("", |at| &closed[at + last.len()..]),
            None => "",
        };
        let same = shared(rest, text);
        let same = self.border(rest, gap.start..gap.start + same) - gap.start;
        let ended = text[..same].trim_end().len();
        if ended > 0 {
            // The last turn of a conversation may lack an end that others have.
            let rest = text[ended..].trim_start();
            return match self.known_end(rest) {
                Some(Range { start: 0, end }) if self.known_end(&text[..ended]).is_none() => {
                    text.len() - rest.len() + end
                }
                _ => ended,
            };
        }
        // Where another marker follows in each case, the first is the end.
        if let Some(end) = self.known_end(text) {
            return end.end;
        }
        let opening = self.opening.trim();
        let opens = !opening.is_empty() && text.trim_start().starts_with(opening);
        let mut both = [text, rest].into_iter().map(str::trim_start);
        if opens || !both.all(|text| text.starts_with(brackets::opens)) {
            return 0;
        }
        to_first_close(text).map_or(0, str::len)
    }

    /// The first of the known ends in a text.
    fn known_end(&self, text: &str) -> Option<Range<usize>> {
        let ends = self.ends.iter();
        let places = ends.filter_map(|end| text.find(end).map(|at| at..at + end.len()));
        places.min_by_key(|place| (place.start, std::cmp::Reverse(place.end)))
    }

    /// The turn, with the text that ends it.
    fn turn(&self, extent: Extent) -> Turn {
        let Extent {
            message,
            values,
            begin,
            end,
        } = extent;
        let mut parts: Vec<(TurnPart, Range<usize>)> = Vec::new();
        let mut before = None;
        let mut at = begin;
        for segment in &self.segments[values] {
            let Some(part) = part_of(segment, message) else {
                continue;
            };
            let glue = match (before, part) {
                (Some(TurnPart::Reasoning), _) => TurnPart::Reasoning,
                (Some(TurnPart::Calls), _) => TurnPart::Calls,
                (_, part) => part,
            };
            push_part(&mut parts, glue, at..segment.bytes.start);
            push_part(&mut parts, part, segment.bytes.clone());
            (before, at) = (Some(part), segment.bytes.end);
        }
        let text = &self.prompt[end.clone()];
        let middle = end.start
            + match (self.known_end(text), before) {
                (Some(known), _) => known.start,
                // Calls have an end of their own.
                (None, Some(TurnPart::Calls)) => text.len(),
                (None, _) => 0,
            };
        let last = before.unwrap_or(TurnPart::Content);
        push_part(&mut parts, last, end.start..middle);
        push_part(&mut parts, TurnPart::End, middle..end.end);
        Turn {
            message,
            parts,
            prefill: self.prefill(begin),
            space: self.space(end.end),
        }
    }
}

/// Appends a range to the last part if both are the same part, and adjacent.
fn push_part(parts: &mut Vec<(TurnPart, Range<usize>)>, part: TurnPart, bytes: Range<usize>) {
    match parts.last_mut() {
        _ if bytes.is_empty() => {}
        Some((last, known)) if *last == part && known.end == bytes.start => known.end = bytes.end,
        _ => parts.push((part, bytes)),
    }
}

/// The maximum length of the opening of a turn, in characters.
const OPENING: usize = 200;

/// How much of the end of a prompt is searched for, in characters.
const TAIL: usize = 12;

/// The part of the turn that a segment is, if it belongs to this message.
fn part_of(segment: &Segment, message: usize) -> Option<TurnPart> {
    let Origin::Message { index, path } = &segment.origin else {
        return None;
    };
    let mut fields = path.split('/').skip(1);
    let (field, last) = (fields.next()?, fields.last());
    (*index == message).then_some(match field {
        _ if REASONING.contains(&field) => TurnPart::Reasoning,
        "content" if last == Some(THINKING) => TurnPart::Reasoning,
        "tool_calls" | "function_call" => TurnPart::Calls,
        _ => TurnPart::Content,
    })
}
