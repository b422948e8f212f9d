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

/// A text that counts as long as it is held.
#[derive(Debug, Default)]
struct Held {
    text: String,
    /// They may end before the text, whose rest is the template's.
    pieces: Vec<Piece>,
}

impl Drop for Held {
    fn drop(&mut self) {
        budget::release(self.text.len() + self.pieces.len() * size_of::<Piece>());
    }
}

#[derive(Debug, Default)]
struct Inner {
    held: Held,
    /// It is escaped, or marked so.
    is_safe: bool,
}

#[derive(Clone, Debug)]
pub struct Text(Arc<Inner>);

impl std::ops::Deref for Text {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0.held.text
    }
}

impl std::convert::From<String> for Text {
    fn from(text: String) -> Text {
        budget::take(text.len());
        let held = Held {
            text,
            pieces: Vec::new(),
        };
        Text::held(held, false)
    }
}

impl std::convert::From<&str> for Text {
    fn from(text: &str) -> Text {
        text.to_owned().into()
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        budget::note(self.len().min(other.len()) / budget::COMPARED);
        **self == **other
    }
}

impl Text {
    fn held(held: Held, is_safe: bool) -> Text {
        Text(Arc::new(Inner { held, is_safe }))
    }

    /// Takes the text to write on; a copy where somebody else holds it.
    pub fn into_buf(self) -> Buf {
        match Arc::try_unwrap(self.0) {
            Ok(inner) => Buf(inner.held),
            Err(shared) => {
                let shared = Text(shared);
                let mut buf = Buf::default();
                buf.push_text(&shared);
                buf
            }
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
    pub fn safe(self) -> Text {
        Text::held(self.into_buf().0, true)
    }

    /// Whether all of it is the template's.
    pub fn is_plain(&self) -> bool {
        self.0.held.pieces.is_empty()
    }

    /// The stretches of a part, each with its bytes, its origin and the place there.
    pub fn stretches(&self, part: Range<usize>) -> impl Iterator<Item = (Range<usize>, From, u32)> {
        let pieces = &self.0.held.pieces;
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
        let mut all = self.0.held.pieces.iter().map(|piece| piece.from);
        let mut known = all.clone().filter(|from| *from != TEMPLATE);
        match known.next() {
            None => TEMPLATE,
            Some(first) if all.all(|from| from == first || from == TEMPLATE) => first,
            Some(_) => MIXED,
        }
    }

    /// `changed`: this text with other letters. Where they are as many, each is that of its place;
    /// otherwise all are the one value's that the text has.
    pub fn with_letters(&self, changed: String) -> Text {
        if self.is_plain() {
            return changed.into();
        }
        let mut out = Buf::default();
        if self.chars().count() != changed.chars().count() {
            out.push_from(&changed, self.whole(), 0);
            return out.text();
        }
        let mut rest = &*changed;
        for (bytes, from, at) in self.stretches(0..self.len()) {
            let count = self[bytes].chars().count();
            let length = rest
                .char_indices()
                .nth(count)
                .map_or(rest.len(), |(at, _)| at);
            let (part, more) = rest.split_at(length);
            out.push_from(part, from, at);
            rest = more;
        }
        out.text()
    }
}

/// A text that is being written.
#[derive(Debug, Default)]
pub struct Buf(Held);

impl std::ops::Deref for Buf {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0.text
    }
}

impl Buf {
    pub fn with_capacity(bytes: usize) -> Buf {
        Buf(Held {
            text: String::with_capacity(bytes),
            pieces: Vec::new(),
        })
    }

    /// Appends text of the template. Without room it does not, and the render fails at its next
    /// step.
    #[inline]
    pub fn push(&mut self, text: &str) {
        if budget::grow(self.len(), text.len()) {
            self.0.text.push_str(text);
        }
    }

    /// Appends a text of the template so many times.
    pub fn fill(&mut self, text: &str, times: usize) {
        if budget::grow(self.len(), text.len().saturating_mul(times)) {
            self.0.text.extend(std::iter::repeat_n(text, times));
        }
    }

    /// Appends text with an origin, of which it is the part at `at`.
    pub fn push_from(&mut self, text: &str, from: From, at: u32) {
        let start = self.len() as u32;
        self.push(text);
        let end = self.len() as u32;
        if from == TEMPLATE || end == start {
            return;
        }
        let before = self.0.pieces.last().map_or(0, |last| last.end);
        if before < start {
            self.push_piece(start, TEMPLATE, 0);
        } else if let Some(last) = self.0.pieces.len().checked_sub(1) {
            let begin = last.checked_sub(1);
            let begin = begin.map_or(0, |last| self.0.pieces[last].end);
            let last = &mut self.0.pieces[last];
            if last.from == from && last.at + (last.end - begin) == at {
                last.end = end;
                return;
            }
        }
        self.push_piece(end, from, at);
    }

    fn push_piece(&mut self, end: u32, from: From, at: u32) {
        budget::take(size_of::<Piece>());
        self.0.pieces.push(Piece { end, from, at });
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

    /// Gives the word from `start` on another origin.
    pub fn relabel(&mut self, start: usize, from: From) {
        let tail = self.cut(start);
        let word = tail.range(tail.trim());
        self.push_part(&tail, 0..word.start);
        self.push_from(&tail[word.clone()], from, 0);
        self.push_part(&tail, word.end..tail.len());
    }

    /// Marks all bytes from `start` on as those of a block.
    pub fn generated(&mut self, start: usize) {
        let tail = self.cut(start);
        for (bytes, from, at) in tail.stretches(0..tail.len()) {
            self.push_from(&tail[bytes], from | GENERATED, at);
        }
    }

    /// Takes the text from `start` on.
    fn cut(&mut self, start: usize) -> Text {
        let Held { text, pieces } = &mut self.0;
        let first = pieces.partition_point(|piece| piece.end as usize <= start);
        let mut rest = pieces.split_off(first);
        let begin = pieces.last().map_or(0, |last| last.end);
        let before = start as u32 - begin.min(start as u32);
        if let Some(piece) = rest.first_mut() {
            if before > 0 {
                pieces.push(Piece {
                    end: start as u32,
                    ..*piece
                });
            }
            piece.at += before;
        }
        for piece in &mut rest {
            piece.end -= start as u32;
        }
        let held = Held {
            text: text.split_off(start),
            pieces: rest,
        };
        Text::held(held, false)
    }

    pub fn text(self) -> Text {
        Text::held(self.0, false)
    }

    pub fn parts(mut self) -> (String, Vec<Piece>) {
        let Held { text, pieces } = &mut self.0;
        (std::mem::take(text), std::mem::take(pieces))
    }
}
