//! A text of the message that only ever grows. What stands in the parsed text, as it is or but for being quoted, is not kept
//! twice: the field knows where it is.

use std::borrow::Cow;
use std::ops::Range;

use super::literal::push_quoted;
use crate::peg::lossy;

/// A text to append.
#[derive(Clone, Copy, Debug)]
pub(super) enum Text<'a> {
    /// Bytes of the parsed text, and where they begin there.
    Read(&'a [u8], usize),
    /// The same as they stand inside a JSON string.
    Quoted(&'a [u8], usize),
    /// Words that are not written there.
    Own(&'a str),
}

impl<'a> Text<'a> {
    /// Before they are quoted.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Text::Read(bytes, _) | Text::Quoted(bytes, _) => bytes,
            Text::Own(words) => words.as_bytes(),
        }
    }

    pub fn is_blank(self) -> bool {
        self.bytes().iter().all(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t'))
    }

    pub fn words(self) -> Cow<'a, str> {
        match self {
            Text::Read(bytes, _) => lossy(bytes),
            Text::Own(words) => Cow::Borrowed(words),
            Text::Quoted(bytes, _) => {
                let mut quoted = String::new();
                push_quoted(&lossy(bytes), &mut quoted);
                Cow::Owned(quoted)
            }
        }
    }

    /// Writes the words behind what `out` has.
    pub fn write(self, out: &mut String) {
        match self {
            // As long as a token: quicker than to have a look at all of it first.
            Text::Read(bytes, _) if bytes.len() <= 8 && bytes.is_ascii() => {
                out.extend(bytes.iter().map(|byte| char::from(*byte)))
            }
            Text::Read(bytes, _) => out.push_str(&lossy(bytes)),
            Text::Quoted(bytes, _) => push_quoted(&lossy(bytes), out),
            Text::Own(words) => out.push_str(words),
        }
    }
}

/// Where a part of a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Read,
    Quoted,
    Own,
}

/// Parts that a text may have however short it is, and how long they must be on average where it has more. Otherwise it is
/// cheaper to keep it twice.
const PARTS: usize = 16;
const PART_BYTES: usize = 64;

/// The text. After the parser went back it is written again from its start, and must come out the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Field {
    parts: Vec<(Source, Range<usize>)>,
    /// Bytes of all parts.
    length: usize,
    /// What is not in the parsed text, or not worth a part of its own; also all that is to be confirmed.
    own: String,
    /// How much of `own` stood when the parser went back, and how much of that has been confirmed.
    old: usize,
    confirmed: usize,
}

impl Field {
    /// Appends, or confirms; what is new is also written to `news`. `None`: the text contradicts the old. Otherwise whether
    /// anything was new.
    pub fn append(&mut self, text: Text<'_>, news: Option<&mut String>) -> Option<bool> {
        if self.confirmed < self.old {
            return self.confirm(&text.words(), news);
        }
        let length = text.bytes().len();
        if length == 0 {
            return Some(false);
        }
        match text {
            Text::Read(_, at) if self.has_room(Source::Read, at, length) => self.add(Source::Read, at..at + length),
            Text::Quoted(_, at) if self.has_room(Source::Quoted, at, length) => {
                self.add(Source::Quoted, at..at + length)
            }
            _ => self.add_own(text),
        }
        if let Some(news) = news {
            text.write(news);
        }
        Some(true)
    }

    fn confirm(&mut self, words: &str, news: Option<&mut String>) -> Option<bool> {
        let old = &self.own.as_bytes()[self.confirmed..self.old];
        let same = old.len().min(words.len());
        if old[..same] != words.as_bytes()[..same] || !words.is_char_boundary(same) {
            return None;
        }
        self.confirmed += same;
        let new = &words[same..];
        if !new.is_empty() {
            self.add_own(Text::Own(new));
            news.into_iter().for_each(|news| news.push_str(new));
        }
        Some(!new.is_empty())
    }

    /// Whether a text may be left where it is.
    fn has_room(&self, source: Source, at: usize, length: usize) -> bool {
        let goes_on = matches!(self.parts.last(), Some((last, before)) if *last == source && before.end == at);
        goes_on || self.parts.len() < PARTS.max((self.length + length) / PART_BYTES)
    }

    fn add_own(&mut self, text: Text<'_>) {
        let from = self.own.len();
        text.write(&mut self.own);
        self.add(Source::Own, from..self.own.len());
    }

    fn add(&mut self, source: Source, range: Range<usize>) {
        self.length += range.len();
        match self.parts.last_mut() {
            Some((last, before)) if *last == source && before.end == range.start => before.end = range.end,
            _ => self.parts.push((source, range)),
        }
    }

    /// The text, of which parts may be in the parsed text.
    pub fn text(&self, parsed: &[u8]) -> String {
        let mut text = String::with_capacity(self.length);
        for (source, range) in &self.parts {
            match source {
                Source::Read => text.push_str(&lossy(&parsed[range.clone()])),
                Source::Quoted => push_quoted(&lossy(&parsed[range.clone()]), &mut text),
                Source::Own => text.push_str(&self.own[range.clone()]),
            }
        }
        text
    }

    /// What of the text is not left in the parsed text.
    pub fn own(&self) -> &str {
        &self.own
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether nothing was appended or confirmed since the parser went back.
    pub fn is_untouched(&self) -> bool {
        self.confirmed == 0 && (self.parts.is_empty() || self.old > 0)
    }

    /// Whether all that stood when the parser went back has been confirmed.
    pub fn is_confirmed(&self) -> bool {
        self.confirmed == self.old
    }

    /// The parser goes back: what stands is confirmed by what is written next.
    pub fn rewind(&mut self, parsed: &[u8]) {
        self.own = self.text(parsed);
        self.parts.clear();
        self.length = 0;
        self.old = self.own.len();
        self.confirmed = 0;
        if self.old > 0 {
            self.add(Source::Own, 0..self.old);
        }
    }

    /// What stands counts as confirmed.
    pub fn settle(&mut self) {
        self.confirmed = self.old;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_put_together_and_confirmed() {
        let parsed = "<a>one \"two\"\n\u{20ac}</a>".as_bytes();
        let (mut field, mut news) = (Field::default(), String::new());
        let mut append = |field: &mut Field, text| field.append(text, Some(&mut news));
        assert_eq!(append(&mut field, Text::Own("{")), Some(true));
        assert_eq!(append(&mut field, Text::Read(&parsed[3..5], 3)), Some(true));
        assert_eq!(append(&mut field, Text::Read(&parsed[5..7], 5)), Some(true));
        assert_eq!(append(&mut field, Text::Quoted(&parsed[7..13], 7)), Some(true));
        assert_eq!(append(&mut field, Text::Own("")), Some(false));
        assert_eq!(field.parts.len(), 3, "pieces that lie side by side are one part");
        let text = r#"{one \"two\"\n"#;
        assert_eq!(field.text(parsed), text);
        field.rewind(parsed);
        assert!(field.is_untouched());
        assert_eq!(append(&mut field, Text::Own("{o")), Some(false));
        assert_eq!(append(&mut field, Text::Own("x")), None);
        assert!(!field.is_confirmed());
        assert_eq!(append(&mut field, Text::Quoted(&parsed[4..16], 4)), Some(true));
        assert_eq!(append(&mut field, Text::Read(&parsed[16..], 16)), Some(true));
        assert_eq!(field.text(parsed), format!("{text}\u{20ac}</a>"));
        assert_eq!(news, format!("{text}\u{20ac}</a>"), "only what is new");
    }

    #[test]
    fn short_parts_are_not_worth_keeping() {
        let (mut field, mut all) = (Field::default(), String::new());
        let parsed = "<a>one</a>".repeat(1000);
        let mut append = |field: &mut Field, at: usize, length: usize| {
            let text = &parsed[at..at + length];
            all += &format!("{text},");
            field.append(Text::Read(text.as_bytes(), at), None);
            field.append(Text::Own(","), None);
        };
        (0..900).for_each(|item| append(&mut field, item * 10 + 3, 3));
        assert!(field.parts.len() <= 900 * 4 / PART_BYTES + 1, "{} parts", field.parts.len());
        let own = field.own.len();
        append(&mut field, 9_000, 1_000);
        assert_eq!(field.own.len(), own + 1, "a long one is");
        assert_eq!(field.text(parsed.as_bytes()), all);
    }
}
