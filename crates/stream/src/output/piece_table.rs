//! A text of the message that only grows. Text that is in the parsed text, with or without JSON
//! escapes, is kept as a range of it.
//!
//! Writing can be undone back to an earlier position. The undone text was shown and stays in the
//! table; it is *pending* until it is written again, and the new text must be equal.

use std::ops::Range;

use super::event::Text;
use chatparse_base::json_string::push_quoted;
use chatparse_peg::lossy;

/// The source of a slice of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Raw,
    Escaped,
    Owned,
}

type Slice = (Source, Range<usize>);

/// The number of slices that any text may have, and the minimum average length if it has more.
/// Shorter slices are copied, which is cheaper.
const SLICES: usize = 16;
const SLICE_BYTES: usize = 64;

#[derive(Clone, Debug, Default)]
pub(super) struct PieceTable {
    slices: Vec<Slice>,
    /// Bytes of all slices, before escaping: the next position to write.
    length: usize,
    /// Text that is not in the parsed text, or too short for a slice.
    owned: String,
    /// Text that was shown and undone, and how much of it has been written again.
    pending: String,
    confirmed: usize,
    checkpoint: Option<Box<Checkpoint>>,
}

/// A saved state of a table, without the unchanged parts.
#[derive(Clone, Debug)]
struct Checkpoint {
    /// Bytes of pending text.
    pending: usize,
    /// The lowest position that writing was undone to since; everything before it is unchanged.
    low: usize,
    /// The slices after that, last one first, each with its text if the table owned it.
    slices: Vec<(Slice, String)>,
}

impl PieceTable {
    /// Appends text or confirms pending text; new text is also written to `shown`. Returns `None`
    /// if the text contradicts the pending text, otherwise whether anything was new.
    pub fn append(&mut self, text: Text<'_>, shown: Option<&mut String>) -> Option<bool> {
        let length = text.bytes().len();
        if length == 0 {
            return Some(false);
        }
        let new = if self.is_confirmed() {
            if let Some(shown) = shown {
                text.write(shown);
            }
            true
        } else {
            self.append_pending(text, shown)?
        };
        match text {
            Text::Raw(_, at) if self.has_room(Source::Raw, at, length) => {
                self.add(Source::Raw, at..at + length)
            }
            Text::Escaped(_, at) if self.has_room(Source::Escaped, at, length) => {
                self.add(Source::Escaped, at..at + length)
            }
            _ => self.add_owned(text),
        }
        Some(new)
    }

    #[cold]
    fn append_pending(&mut self, text: Text<'_>, shown: Option<&mut String>) -> Option<bool> {
        let text = text.shown();
        let same = self.confirm(&text)?;
        if let Some(shown) = shown {
            shown.push_str(&text[same..]);
        }
        Some(same < text.len())
    }

    /// How much of a text was pending; `None` if the pending text differs.
    fn confirm(&mut self, text: &str) -> Option<usize> {
        let pending = &self.pending.as_bytes()[self.confirmed..];
        let same = pending.len().min(text.len());
        if pending[..same] != text.as_bytes()[..same] || !text.is_char_boundary(same) {
            return None;
        }
        self.confirmed += same;
        if self.confirmed == self.pending.len() {
            self.pending.clear();
            self.confirmed = 0;
        }
        Some(same)
    }

    /// Whether a text may become a slice of the parsed text.
    fn has_room(&self, source: Source, at: usize, length: usize) -> bool {
        let goes_on = matches!(self.slices.last(), Some((last, before)) if *last == source && before.end == at);
        goes_on || self.slices.len() < SLICES.max((self.length + length) / SLICE_BYTES)
    }

    fn add_owned(&mut self, text: Text<'_>) {
        let from = self.owned.len();
        text.write(&mut self.owned);
        self.add(Source::Owned, from..self.owned.len());
    }

    fn add(&mut self, source: Source, range: Range<usize>) {
        self.length += range.len();
        match self.slices.last_mut() {
            Some((last, before)) if *last == source && before.end == range.start => {
                before.end = range.end
            }
            _ => self.slices.push((source, range)),
        }
    }

    /// The whole text. Slices refer to the parsed text.
    pub fn text(&self, parsed: &[u8]) -> String {
        let mut text = String::with_capacity(self.length + self.pending.len());
        self.push_between(0..self.length, parsed, &mut text);
        text.push_str(&self.pending[self.confirmed..]);
        text
    }

    /// Writes the text of the slices between two positions. The cost is linear in the text after
    /// the first one.
    fn push_between(&self, range: Range<usize>, parsed: &[u8], text: &mut String) {
        let (mut first, mut at) = (self.slices.len(), self.length);
        while at > range.start {
            first -= 1;
            at -= self.slices[first].1.len();
        }
        for (source, slice) in &self.slices[first..] {
            let within =
                |position: usize| slice.start + position.saturating_sub(at).min(slice.len());
            let bytes = within(range.start)..within(range.end);
            at += slice.len();
            match source {
                Source::Raw => text.push_str(&lossy(&parsed[bytes])),
                Source::Escaped => push_quoted(&lossy(&parsed[bytes]), text),
                Source::Owned => text.push_str(&self.owned[bytes]),
            }
        }
    }

    /// The text that is not in the parsed text.
    pub fn owned(&self) -> &str {
        &self.owned
    }

    /// The next position to write.
    pub fn position(&self) -> usize {
        self.length
    }

    /// Whether nothing is pending.
    pub fn is_confirmed(&self) -> bool {
        self.pending.is_empty()
    }

    /// Whether a text has more than is pending.
    pub fn is_exceeded_by(&self, text: Text<'_>) -> bool {
        self.is_confirmed() || text.shown().len() > self.pending.len() - self.confirmed
    }

    /// Undoes the text after this position, which becomes pending, and returns its length. The cost
    /// is linear in the pending text, which the parser reads again.
    pub fn undo(&mut self, position: usize, parsed: &[u8]) -> u64 {
        if position >= self.length {
            return 0;
        }
        let length = self.length - position;
        let mut pending = String::new();
        self.push_between(position..self.length, parsed, &mut pending);
        pending.push_str(&self.pending[self.confirmed..]);
        (self.pending, self.confirmed) = (pending, 0);
        if let Some(mut checkpoint) = self.checkpoint.take() {
            if position < checkpoint.low {
                self.truncate(checkpoint.low, |_| {});
                self.truncate(position, |dropped| checkpoint.slices.push(dropped));
                checkpoint.low = position;
            }
            self.checkpoint = Some(checkpoint);
        }
        self.truncate(position, |_| {});
        length as u64
    }

    /// Drops the slices after a position. Each is passed to `dropped`, with its text if the table
    /// owns it.
    fn truncate(&mut self, position: usize, mut dropped: impl FnMut((Slice, String))) {
        while self.length > position {
            let excess = self.length - position;
            let Some((source, slice)) = self.slices.last_mut() else {
                return;
            };
            let end = slice.end;
            slice.end -= excess.min(slice.len());
            self.length -= end - slice.end;
            let owned = if *source == Source::Owned {
                self.owned.split_off(slice.end)
            } else {
                String::new()
            };
            dropped(((*source, slice.end..end), owned));
            if slice.start == slice.end {
                self.slices.pop();
            }
        }
    }

    /// Accepts pending text as final: the next text is appended to it.
    pub fn settle(&mut self) {
        if !self.is_confirmed() {
            let pending = std::mem::take(&mut self.pending);
            let confirmed = std::mem::take(&mut self.confirmed);
            self.add_owned(Text::Owned(&pending[confirmed..]));
        }
    }

    /// Saves the state for [`PieceTable::rollback`].
    pub fn set_checkpoint(&mut self) {
        let pending = self.pending.len() - self.confirmed;
        self.checkpoint = Some(Box::new(Checkpoint {
            pending,
            low: self.length,
            slices: Vec::new(),
        }));
    }

    pub fn has_checkpoint(&self) -> bool {
        self.checkpoint.is_some()
    }

    pub fn clear_checkpoint(&mut self) {
        self.checkpoint = None;
    }

    /// Goes back to the checkpoint, which stays set. Returns the text that was shown since.
    pub fn rollback(&mut self, parsed: &[u8]) -> String {
        let Some(checkpoint) = self.checkpoint.take() else {
            return String::new();
        };
        let mut shown = String::new();
        self.push_between(checkpoint.low..self.length, parsed, &mut shown);
        shown.push_str(&self.pending[self.confirmed..]);
        self.truncate(checkpoint.low, |_| {});
        for ((source, slice), owned) in checkpoint.slices.into_iter().rev() {
            self.owned.push_str(&owned);
            self.add(source, slice);
        }
        let mut standing = String::new();
        self.push_between(checkpoint.low..self.length, parsed, &mut standing);
        let pending = standing.len()..standing.len() + checkpoint.pending;
        (self.pending, self.confirmed) = (shown[pending.clone()].to_owned(), 0);
        self.set_checkpoint();
        shown.split_off(pending.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARSED: &[u8] = "<a>one \"two\"\n\u{20ac}</a>".as_bytes();

    fn table(shown: &mut String) -> PieceTable {
        let mut table = PieceTable::default();
        for text in [
            Text::Owned("{"),
            Text::Raw(&PARSED[3..5], 3),
            Text::Raw(&PARSED[5..7], 5),
            Text::Escaped(&PARSED[7..13], 7),
        ] {
            assert_eq!(table.append(text, Some(shown)), Some(true));
        }
        assert_eq!(table.append(Text::Owned(""), Some(shown)), Some(false));
        assert_eq!(
            table.slices.len(),
            3,
            "slices that lie side by side are one"
        );
        table
    }

    #[test]
    fn what_was_taken_back_is_confirmed() {
        let mut shown = String::new();
        let mut table = table(&mut shown);
        let text = r#"{one \"two\"\n"#;
        assert_eq!(table.text(PARSED), text);
        table.undo(3, PARSED);
        assert_eq!((table.text(PARSED).as_str(), table.position()), (text, 3));
        assert_eq!(
            table.append(Text::Raw(b"e", 5), Some(&mut shown)),
            Some(false)
        );
        table.undo(2, PARSED);
        assert_eq!(table.append(Text::Owned("x"), Some(&mut shown)), None);
        assert!(!table.is_confirmed());
        assert_eq!(
            table.append(Text::Escaped(&PARSED[4..16], 4), Some(&mut shown)),
            Some(true)
        );
        assert_eq!(
            table.append(Text::Raw(&PARSED[16..], 16), Some(&mut shown)),
            Some(true)
        );
        assert_eq!(table.text(PARSED), format!("{text}\u{20ac}</a>"));
        assert_eq!(shown, format!("{text}\u{20ac}</a>"), "only what is new");
    }

    #[test]
    fn what_is_pending_may_stay() {
        let mut table = table(&mut String::new());
        table.undo(1, PARSED);
        table.settle();
        table.append(Text::Owned("!"), None);
        assert_eq!(table.text(PARSED), "{one \\\"two\\\"\\n!");
    }

    #[test]
    fn a_checkpoint_survives_what_is_taken_back() {
        let mut shown = String::new();
        for (before, behind) in [(11, 11), (11, 4), (11, 0), (4, 4), (4, 2), (4, 0)] {
            let mut table = table(&mut shown);
            let text = table.text(PARSED);
            table.undo(before, PARSED);
            let position = table.position();
            table.set_checkpoint();
            table.undo(behind, PARSED);
            let pending = table.pending.clone();
            table.append(Text::Owned(&pending), None);
            table.append(Text::Owned("more"), None);
            assert_eq!(table.rollback(PARSED), "more", "{before} {behind}");
            assert_eq!(table.text(PARSED), text);
            assert_eq!(
                (table.position(), table.pending.is_empty()),
                (position, position == 11)
            );
            assert_eq!(table.rollback(PARSED), "");
            assert_eq!(table.text(PARSED), text);
        }
    }

    #[test]
    fn short_slices_are_not_worth_keeping() {
        let (mut table, mut all) = (PieceTable::default(), String::new());
        let parsed = "<a>one</a>".repeat(1000);
        let mut append = |table: &mut PieceTable, at: usize, length: usize| {
            let text = &parsed[at..at + length];
            all += &format!("{text},");
            table.append(Text::Raw(text.as_bytes(), at), None);
            table.append(Text::Owned(","), None);
        };
        (0..900).for_each(|item| append(&mut table, item * 10 + 3, 3));
        assert!(
            table.slices.len() <= 900 * 4 / SLICE_BYTES + 1,
            "{} slices",
            table.slices.len()
        );
        let owned = table.owned.len();
        append(&mut table, 9_000, 1_000);
        assert_eq!(table.owned.len(), owned + 1, "a long one is");
        assert_eq!(table.text(parsed.as_bytes()), all);
    }
}
