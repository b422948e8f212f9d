//! Finds what models wrote of a prompt: the assistant's turns and their parts, for training.
//!
//! The text that the template writes between the first and the last value of an answer was written
//! by the model. The turn begins where the prompt ends that it answers: a render of the messages
//! before it. It ends with what the template writes behind its last value, whatever follows: a
//! render that stops there shows it, too. Neither is inside of a marker.

use chatparse_base::brackets;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::{Origin, Segment};
use crate::texts::{to_first_close, uncut};
use chatparse_base::find::{char_border_behind, shared};
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
    /// reasoning: in front of the first part.
    pub prefill: Range<usize>,
    /// The white space behind the end.
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

    fn of(self, turn: &Turn) -> impl Iterator<Item = Range<usize>> {
        let parts = turn
            .parts
            .iter()
            .filter(move |(part, _)| self.has(*part))
            .map(|(_, bytes)| bytes.clone());
        let prefill = self.prefill.then(|| turn.prefill.clone());
        prefill
            .into_iter()
            .chain(parts)
            .chain(self.space.then(|| turn.space.clone()))
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
        let chosen = joined(self.turns[from..].iter().flat_map(|turn| parts.of(turn)));
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

/// What is known of the turns.
pub(super) struct Known<'k> {
    pub prompt: &'k str,
    pub segments: &'k [Segment],
    /// The assistant's messages.
    pub messages: Vec<usize>,
    /// What prompts end with where the model begins.
    pub opening: &'k str,
    /// What prompts may have written of a turn there.
    pub prefills: &'k [&'k str],
    /// Texts that end turns, the most likely first.
    pub ends: Vec<&'k str>,
    /// Texts that end calls.
    pub closers: Vec<&'k str>,
}

/// Where the turns that were found begin in the text in front of their first value, and end in that
/// behind their last, in the prompt's midst and at its end: others of the same kind are alike.
#[derive(Default)]
struct Borders {
    begins: HashMap<String, usize>,
    ends: [HashMap<String, usize>; 2],
}

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
    /// The turns of messages that are in the prompt, and whether there were renders enough for all.
    /// `asked`: returns the prompt that a message answers; `closed`: the conversation up to and
    /// with a message.
    pub fn turns(
        &self,
        asked: impl Fn(usize) -> Option<String>,
        closed: impl Fn(usize) -> Option<String>,
    ) -> (Vec<Turn>, bool) {
        let mut found = Borders::default();
        let left = Cell::new(Some(2 * SEGMENT_RENDERS));
        let may_render = || {
            left.set(left.get().and_then(|left: usize| left.checked_sub(1)));
            left.get().is_some()
        };
        let asked = |message: usize| may_render().then(|| asked(message)).flatten();
        let closed = |message: usize| may_render().then(|| closed(message)).flatten();
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
            let begun = glue
                .as_ref()
                .and_then(|glue| found.begins.get(&self.prompt[glue.clone()]).copied());
            if begun.is_none() {
                last_asked = asked(message).unwrap_or_default();
                same = shared(&last_asked, self.prompt);
            }
            let begin = match &glue {
                Some(glue) => {
                    glue.start
                        + begun.unwrap_or_else(|| {
                            let begin = self.begin(&last_asked, same, glue) - glue.start;
                            found
                                .begins
                                .insert(self.prompt[glue.clone()].to_owned(), begin);
                            begin
                        })
                }
                // A turn without a value of its own begins where the prompt ends that it answers.
                None if same > from && last_asked.len() - same < OPENING => {
                    self.border(&last_asked, 0..same)
                }
                None => continue,
            };
            let pieces = own.map_or_else(
                || vec![Range::default()],
                |own| self.pieces(message, own, &closed),
            );
            for (number, values) in pieces.into_iter().enumerate() {
                let first = self
                    .segments
                    .get(values.start)
                    .map_or(begin, |first| first.bytes.start);
                let begin = if number == 0 { begin } else { first };
                let last = values
                    .clone()
                    .next_back()
                    .map(|last| &self.segments[last].bytes);
                let start = last.map_or(begin, |last| last.end);
                let gap = self.gap(start);
                let (text, is_last) = (&self.prompt[gap.clone()], gap.end == self.prompt.len());
                let ends = &mut found.ends[usize::from(is_last)];
                let end = ends.get(text).copied().unwrap_or_else(|| {
                    let end = self.end(&closed(message).unwrap_or_default(), last, &gap);
                    ends.insert(text.to_owned(), end);
                    end
                });
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
        (all, left.get().is_some())
    }

    /// The values of a message that the model wrote, as ranges of segments: values of others divide
    /// them. So does a result that names the call again; `closed` has no results.
    fn pieces(
        &self,
        message: usize,
        own: Range<usize>,
        closed: &dyn Fn(usize) -> Option<String>,
    ) -> Vec<Range<usize>> {
        let mut pieces: Vec<Range<usize>> = Vec::new();
        let mut names: Vec<&str> = Vec::new();
        let mut goes_on = false;
        for at in own {
            let segment = &self.segments[at];
            match &segment.origin {
                Origin::Message { index, path } if *index == message => {
                    let end = segment.bytes.end;
                    let is_in = |text: String| text.get(..end) == Some(&self.prompt[..end]);
                    let is_name = path.ends_with("/function/name");
                    if is_name
                        && names.contains(&path.as_str())
                        && !closed(message).is_some_and(is_in)
                    {
                        goes_on = false;
                        continue;
                    }
                    names.extend(is_name.then_some(path.as_str()));
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

    /// Takes from the ends of turns with calls what only opens a result: what is behind the last
    /// call and ends no other turn.
    fn without_results(&self, turns: &mut [Extent]) {
        let has_calls = |turn: &Extent| {
            let last = turn
                .values
                .clone()
                .next_back()
                .and_then(|last| part_of(&self.segments[last], turn.message));
            last == Some(TurnPart::Calls)
        };
        let (calls, others): (Vec<_>, Vec<_>) = turns.iter_mut().partition(|turn| has_calls(turn));
        let ends: HashSet<&str> = others
            .iter()
            .map(|turn| &self.prompt[turn.end.clone()])
            .collect();
        for turn in calls {
            let text = &self.prompt[turn.end.clone()];
            let closers = self.closers.iter().filter(|closer| !closer.is_empty());
            let Some(close) = closers
                .filter_map(|closer| Some(text.rfind(closer)? + closer.len()))
                .max()
            else {
                continue;
            };
            let rest = text[close..].trim();
            let is_end = |end: &&str| !end.is_empty() && rest.contains(*end);
            if !ends.is_empty()
                && !ends.iter().any(|end| end.contains(rest))
                && !self.ends.iter().any(is_end)
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
        let at = self
            .segments
            .partition_point(|segment| segment.bytes.end <= start);
        let behind = self.segments[at..]
            .iter()
            .take_while(|segment| !segment.origin.is_value())
            .last();
        start..behind.map_or(start, |segment| segment.bytes.end)
    }

    /// The end of a text that goes on otherwise in the prompt: in front of a marker that is not
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
        let written = self
            .prefills
            .iter()
            .filter(|text| !text.is_empty() && before.ends_with(**text));
        written
            .map(|text| before.len() - text.len())
            .min()
            .unwrap_or(begin)..begin
    }

    /// The template's white space from here on.
    fn space(&self, start: usize) -> Range<usize> {
        let text = &self.prompt[self.gap(start)];
        start..start + text.len() - text.trim_start().len()
    }

    /// Where the turn begins in the glue in front of it. `same`: the length of the common prefix of
    /// the prompt and `asked`.
    fn begin(&self, asked: &str, same: usize, glue: &Range<usize>) -> usize {
        let begin = self.asked(asked, same, glue);
        // Behind a result some prompts have no opening, and conversations have one.
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
        let ends = asked
            .char_indices()
            .rev()
            .map(|(at, c)| at + c.len_utf8())
            .take(OPENING);
        let found = ends.into_iter().find_map(|end| {
            let start = asked[..end].char_indices().rev().nth(TAIL - 1)?.0;
            Some((text.rfind(&asked[start..end])? + end - start, end))
        });
        match found {
            Some((at, end)) if end < asked.len() => self.border(asked, from..from + at),
            Some((at, _)) => from + at,
            None => glue.end,
        }
    }

    /// The length of what the template writes behind a turn to end it: what it writes there,
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
            let behind = text[ended..].trim_start();
            let more = self
                .known_end(behind)
                .filter(|end| end.start == 0 && self.known_end(&text[..ended]).is_none());
            return more.map_or(ended, |end| text.len() - behind.len() + end.end);
        }
        // Where another marker follows in each case, the first is the end.
        let opens =
            !self.opening.trim().is_empty() && text.trim_start().starts_with(self.opening.trim());
        let is_marker = |text: &str| text.trim_start().starts_with(brackets::opens);
        let first = if !opens && is_marker(text) && is_marker(rest) {
            to_first_close(text)
        } else {
            None
        };
        self.known_end(text)
            .map(|end| end.end)
            .or(first.map(str::len))
            .unwrap_or(0)
    }

    /// The first of the known ends in a text.
    fn known_end(&self, text: &str) -> Option<Range<usize>> {
        let place = |end: &&str| text.find(*end).map(|at| at..at + end.len());
        let found = self
            .ends
            .iter()
            .filter(|end| !end.is_empty())
            .filter_map(place);
        found.min_by_key(|place| (place.start, std::cmp::Reverse(place.end)))
    }

    /// The turn, with the text that ends it.
    fn turn(
        &self,
        Extent {
            message,
            values,
            begin,
            end: behind,
        }: Extent,
    ) -> Turn {
        let mut parts: Vec<(TurnPart, Range<usize>)> = Vec::new();
        let mut push = |part: TurnPart, bytes: Range<usize>| match parts.last_mut() {
            _ if bytes.is_empty() => {}
            Some((last, known)) if *last == part && known.end == bytes.start => {
                known.end = bytes.end
            }
            _ => parts.push((part, bytes)),
        };
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
            push(glue, at.min(segment.bytes.start)..segment.bytes.start);
            push(part, segment.bytes.clone());
            (before, at) = (Some(part), segment.bytes.end);
        }
        let text = &self.prompt[behind.clone()];
        let start = match (self.known_end(text), before) {
            (Some(end), _) => end.start,
            // Behind calls there is their own end.
            (None, Some(TurnPart::Calls)) => text.len(),
            (None, _) => 0,
        };
        push(
            before.unwrap_or(TurnPart::Content),
            behind.start..behind.start + start,
        );
        push(TurnPart::End, behind.start + start..behind.end);
        Turn {
            message,
            parts,
            prefill: self.prefill(begin),
            space: self.space(behind.end),
        }
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
