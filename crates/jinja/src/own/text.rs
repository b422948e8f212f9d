//! Texts that know whose bytes they have. A text without pieces is the template's, and costs what
//! a plain one does.

use std::ops::Range;
use std::sync::Arc;

use crate::budget;

/// Whose bytes: 0 is the template; others are numbers of the render's [`super::Sources`].
pub type From = u32;
pub const TEMPLATE: From = 0;
/// Some value's, but nobody knows which.
pub const MIXED: From = u32::MAX >> 1;
/// Set on the bytes of a `{% generation %}` block.
pub const GENERATED: From = 1 << 31;

/// A stretch of one origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it ends in the text.
    pub end: u32,
    pub from: From,
    /// Where its first byte is in the origin.
    pub at: u32,
}

#[derive(Debug, Default)]
struct Inner {
    text: String,
    /// They may end before the text, whose rest is the template's.
    pieces: Vec<Piece>,
    /// It is escaped, or marked so.
    is_safe: bool,
}

#[derive(Clone, Debug)]
pub struct Text(Arc<Inner>);

impl std::ops::Deref for Text {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0.text
    }
}

impl std::convert::From<String> for Text {
    fn from(text: String) -> Text {
        Text(Arc::new(Inner {
            text,
            ..Inner::default()
        }))
    }
}

impl std::convert::From<&str> for Text {
    fn from(text: &str) -> Text {
        text.to_owned().into()
    }
}

impl Text {
    /// Takes the text to write on; a copy where somebody else holds it.
    pub fn into_buf(self) -> Buf {
        match Arc::try_unwrap(self.0) {
            Ok(inner) => Buf {
                text: inner.text,
                pieces: inner.pieces,
            },
            Err(shared) => Buf {
                text: shared.text.clone(),
                pieces: shared.pieces.clone(),
            },
        }
    }

    /// A whole value.
    pub fn of(text: &str, from: From) -> Text {
        let mut buf = Buf::default();
        buf.push_from(text, from, 0);
        buf.text()
    }

    pub fn is_safe(&self) -> bool {
        self.0.is_safe
    }

    /// The same, marked as escaped.
    pub fn safe(&self) -> Text {
        Text(Arc::new(Inner {
            text: self.0.text.clone(),
            pieces: self.0.pieces.clone(),
            is_safe: true,
        }))
    }

    pub fn is_plain(&self) -> bool {
        self.0.pieces.is_empty()
    }

    /// The stretches of a part, each with its bytes, its origin and the place there.
    pub fn stretches(&self, part: Range<usize>) -> impl Iterator<Item = (Range<usize>, From, u32)> {
        let pieces = &self.0.pieces;
        let first = pieces.partition_point(|piece| piece.end as usize <= part.start);
        let mut start = first
            .checked_sub(1)
            .map_or(0, |last| pieces[last].end as usize);
        let rest = Piece {
            end: u32::MAX,
            from: TEMPLATE,
            at: 0,
        };
        let pieces = pieces[first..].iter().copied().chain([rest]);
        pieces.map_while(move |piece| {
            let bytes = start.max(part.start)..(piece.end as usize).min(part.end);
            let at = piece.at + (bytes.start - start.min(bytes.start)) as u32;
            start = piece.end as usize;
            (bytes.start < bytes.end).then_some((bytes, piece.from, at))
        })
    }

    pub fn part(&self, part: Range<usize>) -> Text {
        if part == (0..self.len()) {
            return self.clone();
        }
        let mut buf = Buf::default();
        buf.push_part(self, part);
        buf.text()
    }

    /// The text of a slice of this one.
    pub fn sub(&self, slice: &str) -> Text {
        self.part(self.range(slice))
    }

    pub fn range(&self, slice: &str) -> Range<usize> {
        let start = (slice.as_ptr() as usize).wrapping_sub(self.as_ptr() as usize);
        match slice.is_empty() || start > self.len() {
            true => 0..0,
            false => start..start + slice.len(),
        }
    }

    /// The one origin of all that is not the template's, if it is one.
    pub fn whole(&self) -> From {
        let mut all = self.0.pieces.iter().map(|piece| piece.from);
        let mut known = all.clone().filter(|from| *from != TEMPLATE);
        match known.next() {
            None => TEMPLATE,
            Some(first) if all.all(|from| from == first || from == TEMPLATE) => first,
            Some(_) => MIXED,
        }
    }

    /// `changed`: this text with other letters.
    pub fn with_letters(&self, changed: String) -> Text {
        let pieces = match self.whole() {
            TEMPLATE => Vec::new(),
            _ if changed.len() == self.len() && self.is_ascii() => self.0.pieces.clone(),
            from => vec![Piece {
                end: changed.len() as u32,
                from,
                at: 0,
            }],
        };
        Text(Arc::new(Inner {
            text: changed,
            pieces,
            is_safe: false,
        }))
    }
}

/// A text that is being written.
#[derive(Debug, Default)]
pub struct Buf {
    text: String,
    pieces: Vec<Piece>,
}

impl std::ops::Deref for Buf {
    type Target = str;
    fn deref(&self) -> &str {
        &self.text
    }
}

impl Buf {
    pub fn with_capacity(bytes: usize) -> Buf {
        Buf {
            text: String::with_capacity(bytes),
            pieces: Vec::new(),
        }
    }

    /// Appends text of the template.
    #[inline]
    pub fn push(&mut self, text: &str) {
        if budget::charge(text.len()).is_ok() {
            self.text.push_str(text);
        }
    }

    pub fn push_from(&mut self, text: &str, from: From, at: u32) {
        let start = self.text.len() as u32;
        // The render fails at its next step.
        if budget::charge(text.len()).is_err() {
            return;
        }
        self.text.push_str(text);
        if from == TEMPLATE || text.is_empty() {
            return;
        }
        let end = self.text.len() as u32;
        let before = self.pieces.last().map_or(0, |last| last.end);
        if before < start {
            self.pieces.push(Piece {
                end: start,
                from: TEMPLATE,
                at: 0,
            });
        } else if let Some(last) = self.pieces.len().checked_sub(1) {
            let begin = last.checked_sub(1).map_or(0, |last| self.pieces[last].end);
            let last = &mut self.pieces[last];
            if last.from == from && last.at + (last.end - begin) == at {
                last.end = end;
                return;
            }
        }
        self.pieces.push(Piece { end, from, at });
    }

    #[inline]
    pub fn push_text(&mut self, text: &Text) {
        match text.is_plain() {
            true => self.push(text),
            false => self.push_part(text, 0..text.len()),
        }
    }

    pub fn push_part(&mut self, text: &Text, part: Range<usize>) {
        if text.is_plain() {
            return self.push(&text[part]);
        }
        for (bytes, from, at) in text.stretches(part) {
            self.push_from(&text[bytes], from, at);
        }
    }

    /// Gives a word at the end another origin.
    pub fn relabel(&mut self, start: usize, from: From) {
        let whole = std::mem::take(self).text();
        self.push_part(&whole, 0..start);
        let word = whole[start..].trim();
        let bytes = whole.range(word);
        self.push_part(&whole, start..bytes.start);
        self.push_from(word, from, 0);
        self.push_part(&whole, bytes.end..whole.len());
    }

    /// Marks all bytes from here on as those of a block.
    pub fn generated(&mut self, start: usize) {
        let whole = std::mem::take(self).text();
        self.push_part(&whole, 0..start);
        for (bytes, from, at) in whole.stretches(start..whole.len()) {
            self.push_from(&whole[bytes], from | GENERATED, at);
        }
    }

    pub fn text(self) -> Text {
        Text(Arc::new(Inner {
            text: self.text,
            pieces: self.pieces,
            is_safe: false,
        }))
    }

    pub fn parts(self) -> (String, Vec<Piece>) {
        (self.text, self.pieces)
    }
}
