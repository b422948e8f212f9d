//! The sources of a message's parts in the output, in the order of the output and by field.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use super::places::{Place, Places};
use crate::delta::DeltaKind;
use crate::report::{OutputPart, PartKind};
use chatparse_message::Message;
use chatparse_peg::lossy;

/// The spans of each field.
type Fields = HashMap<(DeltaKind, usize), Vec<Range<usize>>>;

/// Where the texts of a message came from.
#[derive(Clone, Default)]
pub(crate) struct Sources {
    places: Places,
    prefill: usize,
    parts: Vec<OutputPart>,
    fields: OnceLock<Fields>,
}

impl Sources {
    /// For a message whose texts are at these places of the parsed text.
    pub fn new(places: Places, prefill: usize, message: &Message, parsed: &[u8]) -> Self {
        let mut sources = Sources { places, prefill, ..Sources::default() };
        let mut texts = [Text::new(&message.reasoning_content), Text::new(&message.content)];
        for place in sources.shown(message) {
            if let Some(channel) = channel(place.kind) {
                texts[channel].places += place.span.len();
            }
        }
        let mut parts: Vec<OutputPart> = Vec::new();
        let mut calls = Vec::new();
        for place in sources.shown(message) {
            let span = sources.in_output(&place.span);
            let Some(channel) = channel(place.kind) else {
                if place.kind == DeltaKind::ToolName {
                    calls.push(parts.len());
                    parts.push(OutputPart { kind: PartKind::Call, call: place.call, text: 0..0, span });
                } else if let Some(part) = calls.get(place.call).and_then(|index| parts.get_mut(*index)) {
                    part.span = part.span.start.min(span.start)..part.span.end.max(span.end);
                }
                continue;
            };
            let kind = [PartKind::Reasoning, PartKind::Content][channel];
            let text = texts[channel].next(&parsed[place.span]);
            match parts.last_mut().filter(|last| last.kind == kind) {
                Some(last) => (last.text.end, last.span.end) = (text.end, last.span.end.max(span.end)),
                None => parts.push(OutputPart { kind, call: 0, text, span }),
            }
        }
        for (kind, text) in [PartKind::Reasoning, PartKind::Content].into_iter().zip(texts) {
            if let Some(last) = parts.iter_mut().rfind(|part| part.kind == kind) {
                last.text.end = text.text.len();
            }
        }
        sources.parts = parts;
        sources
    }

    /// All parts, in the order of the output.
    pub fn parts(&self) -> &[OutputPart] {
        &self.parts
    }

    /// The spans of one field, in the order of its text. The first call computes those of all fields.
    pub fn spans(&self, kind: DeltaKind, call: usize) -> &[Range<usize>] {
        let fields = self.fields.get_or_init(|| {
            let mut fields = Fields::new();
            for place in self.places.iter() {
                let span = self.in_output(&place.span);
                let spans = fields.entry((place.kind, place.call)).or_default();
                match spans.last_mut() {
                    _ if span.is_empty() => {}
                    Some(last) if last.end == span.start => last.end = span.end,
                    _ => spans.push(span),
                }
            }
            fields
        });
        fields.get(&(kind, call)).filter(|_| self.shows(kind)).map_or(&[], Vec::as_slice)
    }

    /// What no field has of an output of this length, in order. `gone`: what is no part of the message.
    pub fn structure(&self, length: usize, gone: &[Range<usize>]) -> Vec<Range<usize>> {
        let fields = self.places.iter().filter(|place| self.shows(place.kind));
        let fields = fields.map(|place| self.in_output(&place.span)).chain(gone.iter().cloned());
        let mut fields: Vec<Range<usize>> = fields.collect();
        chatparse_base::sort::by_key(&mut fields, |span| span.start);
        let (mut structure, mut from) = (Vec::new(), 0);
        for field in fields.into_iter().chain(std::iter::once(length..length)) {
            if from < field.start {
                structure.push(from..field.start);
            }
            from = from.max(field.end);
        }
        structure
    }

    /// Reasoning of white space only is not shown.
    fn shows(&self, kind: DeltaKind) -> bool {
        kind != DeltaKind::Reasoning || self.parts.iter().any(|part| part.kind == PartKind::Reasoning)
    }

    fn shown(&self, message: &Message) -> impl Iterator<Item = Place> {
        let thinks = !message.reasoning_content.is_empty();
        self.places.iter().filter(move |place| thinks || place.kind != DeltaKind::Reasoning)
    }

    fn in_output(&self, range: &Range<usize>) -> Range<usize> {
        range.start.saturating_sub(self.prefill)..range.end.saturating_sub(self.prefill)
    }
}

impl PartialEq for Sources {
    /// The other fields are derived.
    fn eq(&self, other: &Self) -> bool {
        (&self.places, self.prefill, &self.parts) == (&other.places, other.prefill, &other.parts)
    }
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = self.places.iter().map(|Place { kind, call, span }| (kind.name(), call, span));
        f.debug_list().entries(places).finish()
    }
}

fn channel(kind: DeltaKind) -> Option<usize> {
    [DeltaKind::Reasoning, DeltaKind::Content].iter().position(|channel| *channel == kind)
}

/// A text of the message, and how much of it was assigned to parts.
struct Text<'a> {
    text: &'a str,
    given: usize,
    /// The bytes of all its places. Invalid bytes become longer in the text, so equal lengths mean that it has none.
    places: usize,
}

impl<'a> Text<'a> {
    fn new(text: &'a str) -> Self {
        Text { text, given: 0, places: 0 }
    }

    /// The next part of the text, which came from these bytes.
    fn next(&mut self, bytes: &[u8]) -> Range<usize> {
        // A line break between two thoughts is in no place.
        let rest = &self.text.as_bytes()[self.given..];
        let is_apart = rest.starts_with(b"\n") && !rest.starts_with(bytes) && rest[1..].starts_with(bytes);
        let from = self.given;
        let length = if self.places == self.text.len() { bytes.len() } else { lossy(bytes).len() };
        self.given = (from + usize::from(is_apart) + length).min(self.text.len());
        while !self.text.is_char_boundary(self.given) {
            self.given -= 1;
        }
        from..self.given
    }
}
