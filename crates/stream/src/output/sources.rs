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
        let mut sources = Sources { prefill, ..Sources::default() };
        // How much of each text was assigned to parts.
        let (mut thought, mut said) = (0, 0);
        let mut parts: Vec<OutputPart> = Vec::new();
        let mut calls = Vec::new();
        for Place { kind, call, span: place } in places.iter() {
            let span = sources.in_output(&place);
            let (part, text, given) = match kind {
                // Reasoning of white space only is not shown.
                DeltaKind::Reasoning if message.reasoning_content.is_empty() => continue,
                DeltaKind::Reasoning => (PartKind::Reasoning, &message.reasoning_content, &mut thought),
                DeltaKind::Content => (PartKind::Content, &message.content, &mut said),
                _ => {
                    sources.places.add(kind, call, place);
                    if kind == DeltaKind::ToolName {
                        calls.push(parts.len());
                        parts.push(OutputPart { kind: PartKind::Call, call, text: 0..0, span });
                    } else if let Some(part) = calls.get(call).and_then(|index| parts.get_mut(*index)) {
                        part.span = part.span.start.min(span.start)..part.span.end.max(span.end);
                    }
                    continue;
                }
            };
            let from = std::mem::replace(given, end_of(text, *given, &parsed[place.clone()]));
            sources.places.add(kind, call, place);
            match parts.last_mut().filter(|last| last.kind == part) {
                Some(last) => (last.text.end, last.span.end) = (*given, last.span.end.max(span.end)),
                None => parts.push(OutputPart { kind: part, call: 0, text: from..*given, span }),
            }
        }
        for (kind, text) in [(PartKind::Reasoning, &message.reasoning_content), (PartKind::Content, &message.content)] {
            if let Some(last) = parts.iter_mut().rfind(|part| part.kind == kind) {
                last.text.end = text.len();
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
        fields.get(&(kind, call)).map_or(&[], Vec::as_slice)
    }

    /// What no field has of an output of this length, in order. `gone`: what is no part of the message.
    pub fn structure(&self, length: usize, gone: &[Range<usize>]) -> Vec<Range<usize>> {
        let fields = self.places.iter().map(|place| self.in_output(&place.span));
        let mut fields: Vec<Range<usize>> = fields.chain(gone.iter().cloned()).collect();
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

/// Where the part of a text ends that begins at `from` and came from these bytes.
fn end_of(text: &str, from: usize, bytes: &[u8]) -> usize {
    // A line break between two thoughts is in no place.
    let rest = &text.as_bytes()[from..];
    let is_apart = rest.starts_with(b"\n") && !rest.starts_with(bytes) && rest[1..].starts_with(bytes);
    let mut end = (from + usize::from(is_apart) + lossy(bytes).len()).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}
