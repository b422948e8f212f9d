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
            Offsets::Bytes(offsets) => (offsets, None),
            Offsets::Chars(offsets) if self.prompt.is_ascii() => (offsets, None),
            Offsets::Chars(offsets) => {
                let starts = self.prompt.char_indices().map(|(at, _)| at);
                (
                    offsets,
                    Some(starts.chain([self.prompt.len()]).collect::<Vec<_>>()),
                )
            }
        };
        let last = starts
            .as_ref()
            .map_or(self.prompt.len(), |starts| starts.len() - 1);
        let byte = |at: usize| starts.as_ref().map_or(at, |starts| starts[at]);
        let labels = offsets.iter().enumerate().map(|(number, place)| {
            if place.start > place.end || place.end > last {
                let Range { start, end } = place;
                return Err(Error::invalid(format!(
                    "offsets[{number}]: {start}..{end} is not in the prompt, which ends at {last}"
                )));
            }
            Ok(self.token(byte(place.start)..byte(place.end), &mask))
        });
        labels.collect()
    }

    fn token(&self, bytes: Range<usize>, mask: &[Range<usize>]) -> TokenLabel<'_> {
        let meets = |other: &Range<usize>| other.start.max(bytes.start) < other.end.min(bytes.end);
        let first = self
            .segments
            .partition_point(|segment| segment.bytes.end <= bytes.start);
        // Neighbours differ: behind the template's text there is another's.
        let met = self.segments[first..]
            .iter()
            .take(2)
            .filter(|segment| meets(&segment.bytes));
        let origin = met
            .map(|segment| &segment.origin)
            .find(|origin| **origin != Origin::Template);
        let origin = origin.unwrap_or(&Origin::Template);
        let of_turn = || {
            let turn = self.turns.get(
                self.turns
                    .partition_point(|turn| turn.space.end <= bytes.start),
            )?;
            let part = turn.parts.get(
                turn.parts
                    .partition_point(|(_, part)| part.end <= bytes.start),
            );
            let is_own = part.is_some_and(|(_, part)| meets(part))
                || meets(&turn.prefill)
                || meets(&turn.space);
            is_own.then_some(turn.message)
        };
        let message = match origin {
            Origin::Template | Origin::Unknown => of_turn(),
            value => value.message(),
        };
        let sampled = mask
            .get(mask.partition_point(|range| range.end <= bytes.start))
            .is_some_and(meets);
        TokenLabel {
            origin,
            message,
            sampled,
        }
    }
}
