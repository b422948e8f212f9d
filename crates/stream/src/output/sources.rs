//! The sources of a message's parts in the output, in the order of the output and by field.

use std::collections::BTreeMap;
use std::ops::Range;

use super::places::{Place, Places};
use crate::delta::DeltaKind;
use crate::report::{OutputPart, PartKind};
use chatparse_message::Message;
use chatparse_peg::lossy;

/// Where the texts of a message came from, in bytes of the output.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sources {
    /// All parts, in the order of the output.
    pub parts: Vec<OutputPart>,
    /// The spans of each field, in the order of its text.
    fields: BTreeMap<(DeltaKind, usize), Vec<Range<usize>>>,
}

impl Sources {
    /// For a message whose texts are at these places of the parsed text, of which the first
    /// `prefill` bytes are not output.
    pub fn new(places: &Places, prefill: usize, message: &Message, parsed: &[u8]) -> Self {
        let Sources {
            mut parts,
            mut fields,
        } = Sources::default();
        // How much of each text was assigned to parts.
        let (mut thought, mut said) = (0, 0);
        let mut calls = Vec::new();
        for Place {
            kind,
            call,
            span: place,
        } in places.iter()
        {
            // Reasoning of white space only is not shown.
            if kind == DeltaKind::Reasoning && message.reasoning_content.is_empty() {
                continue;
            }
            let span = place.start.saturating_sub(prefill)..place.end.saturating_sub(prefill);
            let spans: &mut Vec<Range<usize>> = fields.entry((kind, call)).or_default();
            match spans.last_mut() {
                _ if span.is_empty() => {}
                Some(last) if last.end == span.start => last.end = span.end,
                _ => spans.push(span.clone()),
            }
            let (part, text, given) = match kind {
                DeltaKind::Reasoning => (
                    PartKind::Reasoning,
                    &message.reasoning_content,
                    &mut thought,
                ),
                DeltaKind::Content => (PartKind::Content, &message.content, &mut said),
                DeltaKind::ToolName => {
                    calls.push(parts.len());
                    parts.push(OutputPart {
                        kind: PartKind::Call,
                        call,
                        text: 0..0,
                        span,
                    });
                    continue;
                }
                _ => {
                    if let Some(part) = calls.get(call).and_then(|index| parts.get_mut(*index)) {
                        part.span = part.span.start.min(span.start)..part.span.end.max(span.end);
                    }
                    continue;
                }
            };
            let from = std::mem::replace(given, end_of(text, *given, &parsed[place]));
            match parts.last_mut().filter(|last| last.kind == part) {
                Some(last) => {
                    (last.text.end, last.span.end) = (*given, last.span.end.max(span.end))
                }
                None => parts.push(OutputPart {
                    kind: part,
                    call: 0,
                    text: from..*given,
                    span,
                }),
            }
        }
        for (kind, text) in [
            (PartKind::Reasoning, &message.reasoning_content),
            (PartKind::Content, &message.content),
        ] {
            if let Some(last) = parts.iter_mut().rfind(|part| part.kind == kind) {
                last.text.end = text.len();
            }
        }
        Sources { parts, fields }
    }

    /// The spans of one field.
    pub fn spans(&self, kind: DeltaKind, call: usize) -> &[Range<usize>] {
        self.fields.get(&(kind, call)).map_or(&[], Vec::as_slice)
    }

    /// The bytes of an output of this length that are in no field, in order. `gone`: the bytes that
    /// are no part of the message.
    pub fn structure(&self, length: usize, gone: &[Range<usize>]) -> Vec<Range<usize>> {
        let mut fields: Vec<Range<usize>> = self
            .fields
            .values()
            .flatten()
            .chain(gone)
            .cloned()
            .collect();
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
}

/// Where the part of a text ends that begins at `from` and came from these bytes.
fn end_of(text: &str, from: usize, bytes: &[u8]) -> usize {
    // A line break between two thoughts is in no place.
    let rest = &text.as_bytes()[from..];
    let is_apart =
        rest.starts_with(b"\n") && !rest.starts_with(bytes) && rest[1..].starts_with(bytes);
    let mut end = (from + usize::from(is_apart) + lossy(bytes).len()).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}
