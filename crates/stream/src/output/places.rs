//! The places of a message's texts in the parsed text: the deltas without their texts, in order.
//!
//! The list only grows. It is stored as numbers of variable length: two or three bytes where a text
//! continues after markup, nothing where it continues directly.

use std::ops::Range;

use crate::delta::DeltaKind;

/// A stretch of one part of the message. Positions are in the parsed text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub kind: DeltaKind,
    /// The call, from 0; 0 for the texts.
    pub call: usize,
    pub span: Range<usize>,
}

/// All of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// All but the last one: kind, distance from the end of the previous one, and length.
    written: Vec<u8>,
    at: Latest,
}

/// The current end of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Latest {
    /// The end of the last written place, and its call.
    end: usize,
    call: usize,
    place: Option<Place>,
}

/// A saved state.
#[derive(Clone, Debug)]
pub struct PlacesMark(usize, Latest);

/// Indexed by the number that is stored.
const KINDS: [DeltaKind; 5] = [
    DeltaKind::Reasoning,
    DeltaKind::Content,
    DeltaKind::ToolName,
    DeltaKind::ToolId,
    DeltaKind::ToolArguments,
];

/// Stored instead of a kind when another call begins.
const CALL: u64 = KINDS.len() as u64;

impl Places {
    /// Adds a place. Markup without bytes in the output has none.
    #[inline]
    pub fn add(&mut self, kind: DeltaKind, call: usize, span: Range<usize>) {
        match &mut self.at.place {
            Some(last) if last.span.end == span.start && last.kind == kind && last.call == call => {
                last.span.end = span.end;
            }
            _ if span.is_empty() => {}
            _ => self.begin(Place { kind, call, span }),
        }
    }

    #[cold]
    fn begin(&mut self, place: Place) {
        let Some(Place { kind, call, span }) = self.at.place.replace(place) else {
            return;
        };
        let Some(number) = KINDS.iter().position(|other| *other == kind) else {
            return;
        };
        if kind.is_of_call() && call != self.at.call {
            self.write(CALL);
            self.write(call as u64);
            self.at.call = call;
        }
        let step = span.start as i64 - self.at.end as i64;
        self.write((((step << 1) ^ (step >> 63)) as u64) << 3 | number as u64);
        self.write(span.len() as u64);
        self.at.end = span.end;
    }

    fn write(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.written.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.written.push(number as u8);
    }

    /// Saves the state, for [`Places::restore`].
    pub fn mark(&self) -> PlacesMark {
        PlacesMark(self.written.len(), self.at.clone())
    }

    /// Drops the places since.
    pub fn restore(&mut self, PlacesMark(written, at): PlacesMark) {
        self.written.truncate(written);
        self.at = at;
    }

    /// All places in order.
    pub fn iter(&self) -> impl Iterator<Item = Place> {
        let (mut written, mut end, mut at_hand) = (self.written.iter(), 0_usize, 0);
        let before = std::iter::from_fn(move || {
            let mut head = read(&mut written)?;
            if head == CALL {
                at_hand = read(&mut written)? as usize;
                head = read(&mut written)?;
            }
            let (kind, step) = (KINDS[(head & 7) as usize], head >> 3);
            let start =
                end.wrapping_add_signed(((step >> 1) as i64 ^ -((step & 1) as i64)) as isize);
            end = start + read(&mut written)? as usize;
            let call = if kind.is_of_call() { at_hand } else { 0 };
            Some(Place {
                kind,
                call,
                span: start..end,
            })
        });
        before.chain(self.at.place.clone())
    }
}

/// Reads a number of variable length.
fn read(written: &mut std::slice::Iter<'_, u8>) -> Option<u64> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = u64::from(*written.next()?);
        number |= (byte & 0x7F) << shift;
        shift += 7;
        if byte < 0x80 {
            return Some(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_was_added_is_there(
            places in prop::collection::vec((0..KINDS.len(), 0usize..3, 0usize..1 << 40, 0usize..300), 0..20), kept in 0usize..20,
        ) {
            let add = |to: &mut Places, (kind, call, start, length): (usize, usize, usize, usize)| {
                let kind = KINDS[kind];
                to.add(kind, if kind.is_of_call() { call } else { 0 }, start..start + length);
            };
            let mut added = Places::default();
            let mut all: Vec<Place> = Vec::new();
            for &(kind, call, start, length) in &places {
                add(&mut added, (kind, call, start, length));
                let call = if KINDS[kind].is_of_call() { call } else { 0 };
                let goes_on = all.last_mut().filter(|last| (last.kind, last.call, last.span.end) == (KINDS[kind], call, start));
                match goes_on {
                    _ if length == 0 => {}
                    Some(last) => last.span.end += length,
                    None => all.push(Place { kind: KINDS[kind], call, span: start..start + length }),
                }
            }
            prop_assert_eq!(added.iter().collect::<Vec<_>>(), all);

            let (before, behind) = places.split_at(kept.min(places.len()));
            let mut again = Places::default();
            before.iter().for_each(|place| add(&mut again, *place));
            let mark = again.mark();
            behind.iter().rev().for_each(|place| add(&mut again, *place));
            again.restore(mark);
            behind.iter().for_each(|place| add(&mut again, *place));
            prop_assert_eq!(again, added);
        }
    }
}
