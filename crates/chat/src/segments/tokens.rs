//! Labels of tokens: whose text each is, and whether a model wrote it.

use std::ops::Range;

use super::{MaskParts, Origin, Segments};
use chatparse_base::{Error, Result};

/// Where the tokens of a prompt are.
#[derive(Clone, Copy, Debug)]
pub enum Offsets<'o> {
    /// In bytes.
    Bytes(&'o [Range<usize>]),
    /// In characters, as tokenizers of transformers give them.
    Chars(&'o [Range<usize>]),
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenLabel<'s> {
    /// Whose text it is. Scaffold is [`Origin::Template`]; all else is body. A token that has bytes
    /// of a value is never the template's: it is that of the first one that it meets.
    pub origin: &'s Origin,
    /// The message: that which the value comes from, or that of the turn which the scaffold belongs
    /// to.
    pub message: Option<usize>,
    /// Whether the mask has a byte of it.
    pub sampled: bool,
}

impl TokenLabel<'_> {
    /// Whether it has text of a value, or may have some.
    pub fn is_body(&self) -> bool {
        *self.origin != Origin::Template
    }
}

impl Segments {
    /// Labels for the tokens at these places of the prompt, in their order; `parts` says what
    /// counts as sampled. Tokens may leave out text and may share some. One without any text is
    /// scaffold of no message.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`], with the token's number, for a place that is not in
    /// the prompt.
    pub fn tokens(&self, offsets: Offsets, parts: MaskParts) -> Result<Vec<TokenLabel<'_>>> {
        let mask = self.mask(parts);
        let (offsets, starts) = match offsets {
            Offsets::Chars(offsets) if !self.prompt.is_ascii() => {
                let starts = self.prompt.char_indices().map(|(at, _)| at);
                let starts: Vec<usize> = starts.chain([self.prompt.len()]).collect();
                (offsets, Some(starts))
            }
            Offsets::Bytes(offsets) | Offsets::Chars(offsets) => (offsets, None),
        };
        let starts = starts.as_ref();
        let last = starts.map_or(self.prompt.len(), |starts| starts.len() - 1);
        let labels = offsets.iter().enumerate().map(|(number, place)| {
            if place.start > place.end || place.end > last {
                let Range { start, end } = place;
                return Err(Error::invalid(format!(
                    "offsets[{number}]: {start}..{end} is not in the prompt, which ends at {last}"
                )));
            }
            let bytes = match starts {
                Some(starts) => starts[place.start]..starts[place.end],
                None => place.clone(),
            };
            Ok(self.token(bytes, &mask))
        });
        labels.collect()
    }

    fn token(&self, bytes: Range<usize>, mask: &[Range<usize>]) -> TokenLabel<'_> {
        let segments = &self.segments;
        let first = segments.partition_point(|segment| segment.bytes.end <= bytes.start);
        let mut origin = &Origin::Template;
        // Neighbours differ: after the template's text there is another origin.
        for segment in segments[first..].iter().take(2) {
            if *origin == Origin::Template && meet(&segment.bytes, &bytes) {
                origin = &segment.origin;
            }
        }
        let message = match origin {
            Origin::Template | Origin::Unknown => self.turn_with(&bytes),
            value => value.message(),
        };
        let next = mask.get(mask.partition_point(|range| range.end <= bytes.start));
        let sampled = next.is_some_and(|range| meet(range, &bytes));
        TokenLabel {
            origin,
            message,
            sampled,
        }
    }

    /// The message of the turn that has one of these bytes.
    fn turn_with(&self, bytes: &Range<usize>) -> Option<usize> {
        let turns = &self.turns;
        let turn = turns.get(turns.partition_point(|turn| turn.space.end <= bytes.start))?;
        let parts = &turn.parts;
        let part = parts.get(parts.partition_point(|(_, part)| part.end <= bytes.start));
        let is_own = part.is_some_and(|(_, part)| meet(part, bytes))
            || meet(&turn.prefill, bytes)
            || meet(&turn.space, bytes);
        is_own.then_some(turn.message)
    }
}

fn meet(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start.max(b.start) < a.end.min(b.end)
}
