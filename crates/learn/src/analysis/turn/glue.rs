//! [`Glue`]: the text between two parts of a turn, with operations to compare and split pieces of
//! it.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::super::markup::{Segment, segments};
use chatparse_base::brackets;
use chatparse_base::find::{shared, shared_end};

/// Literal text between two parts. Some characters in it are placeholders for text that differs
/// from call to call.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Glue(SmolStr);

/// A piece of glue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GluePiece<'g> {
    /// Literal text.
    Text(&'g str),
    /// The tool's name, repeated.
    Name,
    /// The argument's name, repeated.
    Key,
    /// The number of the call.
    Counter,
    /// A word that means nothing.
    Word,
    /// Words and special tokens that mean nothing, or none.
    Any,
}

const NAME: char = '\u{e000}';
const KEY: char = '\u{e001}';
/// Stands for the number of the call in glue made from a text.
pub const COUNTER: char = '\u{e002}';
const WORD: char = '\u{e003}';
/// Stands for words that mean nothing in glue made from a text.
pub const ANY: char = '\u{e004}';
const SIGNS: [char; 5] = [NAME, KEY, COUNTER, WORD, ANY];
/// The first byte of each.
const SIGN_START: u8 = 0xEE;

/// Where the bracket at `open` is closed; the end of the text if it is not.
fn closed_at(text: &str, open: usize) -> usize {
    let close = text[open..].chars().next().and_then(brackets::closer);
    close
        .and_then(|close| Some(open + text[open..].find(close)? + close.len_utf8()))
        .unwrap_or(text.len())
}

impl Glue {
    /// Makes glue from rendered text; `None` if the text contains a placeholder character.
    /// `counters`: the numbers of the calls in front and after, in the template's counting.
    pub(super) fn new(
        text: &str,
        name: &str,
        key: &str,
        counters: Option<[usize; 2]>,
    ) -> Option<Glue> {
        if text.contains(SIGNS) {
            return None;
        }
        let mut glue = text.to_owned();
        for (echo, sign) in [(name, NAME), (key, KEY)] {
            if !echo.is_empty() {
                glue = glue.replace(echo, &sign.to_string());
            }
        }
        for number in counters.into_iter().flatten() {
            glue = with_counter(&glue, number);
        }
        Some(Glue(glue.into()))
    }

    /// The tool's name, repeated.
    pub fn name() -> Glue {
        NAME.to_string().into()
    }

    /// Its pieces, in order.
    pub fn pieces(&self) -> impl Iterator<Item = GluePiece<'_>> {
        self.0.split_inclusive(SIGNS).flat_map(|piece| {
            let sign = piece.chars().next_back().filter(|c| SIGNS.contains(c));
            let text = piece.trim_end_matches(SIGNS);
            let sign = sign.map(|sign| match sign {
                NAME => GluePiece::Name,
                KEY => GluePiece::Key,
                COUNTER => GluePiece::Counter,
                ANY => GluePiece::Any,
                _ => GluePiece::Word,
            });
            Some(GluePiece::Text(text))
                .filter(|_| !text.is_empty())
                .into_iter()
                .chain(sign)
        })
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it is empty or white space.
    pub fn is_blank(&self) -> bool {
        self.0.trim().is_empty()
    }

    /// For display: what differs from call to call is between `‹` and `›`.
    pub fn shown(&self) -> String {
        let pieces = self.pieces().map(|piece| match piece {
            GluePiece::Text(text) => text,
            GluePiece::Name => "‹name›",
            GluePiece::Key => "‹key›",
            GluePiece::Counter => "‹number›",
            GluePiece::Word => "‹word›",
            GluePiece::Any => "‹words›",
        });
        pieces.collect()
    }

    /// The text up to the first placeholder.
    pub fn head(&self) -> &str {
        self.literal()
            .unwrap_or_else(|| self.0.split(SIGNS).next().unwrap_or_default())
    }

    /// The text after the last placeholder.
    pub fn tail(&self) -> &str {
        self.0.rsplit(SIGNS).next().unwrap_or_default()
    }

    /// The text up to the first placeholder, without white space around it.
    pub fn core(&self) -> &str {
        self.head().trim()
    }

    /// All of it, if it has no placeholders.
    pub fn literal(&self) -> Option<&str> {
        // A scan for the byte that placeholders begin with is much cheaper than one for the
        // characters.
        let none = !self.0.as_bytes().contains(&SIGN_START) || !self.0.contains(SIGNS);
        none.then_some(&self.0)
    }

    /// The markers in it that have a letter, and no placeholders.
    pub fn markers(&self) -> impl Iterator<Item = &str> {
        self.0
            .split(SIGNS)
            .flat_map(segments)
            .filter_map(|segment| match segment {
                Segment::Marker(marker) if marker.contains(char::is_alphabetic) => Some(marker),
                _ => None,
            })
    }

    /// Where its markers are. Markers with a word between them, like `<|close|>think<|sep|>`, are
    /// one. A last marker need not end.
    pub fn marker_spans(&self) -> Vec<Range<usize>> {
        let text = self.head();
        let mut spans: Vec<Range<usize>> = Vec::new();
        let mut at = 0;
        while let Some(start) = text[at..].find(brackets::opens).map(|start| at + start) {
            let between = &text[at..start];
            let inner = start + text[start..].chars().next().map_or(0, char::len_utf8);
            match spans.last_mut() {
                Some(last) if !between.is_empty() && between.chars().all(char::is_alphanumeric) => {
                    last.end = closed_at(text, start);
                }
                // A bracket between two tags belongs to both.
                Some(last) if between.is_empty() && text[inner..].starts_with(brackets::opens) => {
                    last.end = closed_at(text, inner);
                }
                _ => spans.push(start..closed_at(text, start)),
            }
            at = spans.last().map_or(text.len(), |last| last.end);
        }
        spans
    }

    /// The last marker of a text; empty if there is none.
    pub(super) fn last_marker(text: &str) -> &str {
        Glue::from(text)
            .marker_spans()
            .pop()
            .map_or("", |last| &text[last])
    }

    /// Whether it is one marker with a bar next to its bracket, as special tokens are.
    pub(super) fn is_token(&self) -> bool {
        let text = self.core();
        let inside = text.trim_start_matches(brackets::opens);
        self.markers().next() == Some(text) && inside.starts_with(brackets::is_bar)
    }

    /// The text of the first of its [`Glue::marker_spans`].
    pub fn first_marker(&self) -> Option<&str> {
        Some(&self.head()[self.marker_spans().first()?.clone()])
    }

    /// The text before the last marker, and the rest from that marker on.
    pub fn before_last_marker(&self) -> (Glue, Glue) {
        self.split_at(self.marker_spans().pop().map_or(0, |last| last.start))
    }

    /// Its first bytes and the rest, under the same condition as [`Glue::without_start`].
    pub fn split_at(&self, bytes: usize) -> (Glue, Glue) {
        (self.up_to(bytes), self.without_start(bytes))
    }

    /// The text up to the end of the first marker, or all of it if there is only one.
    pub fn up_to_first_marker(&self) -> Glue {
        match &*self.marker_spans() {
            [first, _, ..] => Glue(self.0[..first.end].into()),
            _ => self.clone(),
        }
    }

    /// The rest after the braces that it begins with; `None` if there are none.
    pub fn behind_braces(&self) -> Option<Glue> {
        let text = self.head().trim_start_matches('"');
        let run = text
            .find(|c: char| c != '}' && !c.is_whitespace())
            .unwrap_or(text.len());
        let braces = text[..run].rfind('}')?;
        Some(self.without_start(self.head().len() - text.len() + braces + 1))
    }

    /// The rest after this prefix.
    pub fn strip_prefix(&self, prefix: &Glue) -> Option<Glue> {
        self.0.strip_prefix(&*prefix.0).map(Glue::from)
    }

    /// The rest before this suffix.
    pub fn strip_suffix(&self, suffix: &Glue) -> Option<Glue> {
        self.0.strip_suffix(&*suffix.0).map(Glue::from)
    }

    /// Whether it begins with this text, apart from white space.
    pub fn begins_with(&self, text: &str) -> bool {
        self.head().trim_start().starts_with(text)
    }

    /// Whether it ends so.
    pub fn ends_with(&self, suffix: &Glue) -> bool {
        self.0.ends_with(&*suffix.0)
    }

    /// The glue without its first bytes, which must be literal text: where a stored turn has a
    /// placeholder there, nothing.
    pub fn without_start(&self, bytes: usize) -> Glue {
        Glue(self.0.get(bytes..).unwrap_or_default().into())
    }

    /// Its first bytes, under the same condition.
    pub fn up_to(&self, bytes: usize) -> Glue {
        Glue(self.0.get(..bytes).unwrap_or_default().into())
    }

    /// What is before the tool's name, after any word, and what is after the name, if it is
    /// repeated here.
    pub fn around_name(&self) -> Option<(Glue, Glue)> {
        let (before, behind) = self.0.split_once(NAME)?;
        Some((before.into(), behind.into()))
    }

    /// The parts before this text and from it on.
    pub fn split_before(&self, text: &str) -> Option<(Glue, Glue)> {
        Some(self.split_at(self.0.find(text)?))
    }

    /// Whether it has no placeholders.
    pub fn is_literal(&self) -> bool {
        self.literal().is_some()
    }

    /// Without the white space at its start.
    pub fn trim_start(&self) -> Glue {
        Glue(self.0.trim_start().into())
    }

    /// The common beginning, up to the border of a marker.
    pub fn common_start<'g>(glues: impl IntoIterator<Item = &'g Glue>) -> Glue {
        let all: Vec<&str> = glues.into_iter().map(|glue| &*glue.0).collect();
        let Some((first, others)) = all.split_first() else {
            return Glue::default();
        };
        let end = others
            .iter()
            .map(|other| shared(first, other))
            .min()
            .unwrap_or(first.len());
        let start = &first[..end];
        // Markers are not split. A marker in square brackets is a word that some of the glue
        // closes.
        let goes_on = all.iter().any(|glue| glue.len() > end);
        let in_word = |c: char| c.is_alphanumeric() || "/_- ".contains(c);
        let open = start
            .char_indices()
            .filter(|_| goes_on)
            .find(|open| match open {
                (at, '[') => {
                    start[at + 1..].chars().all(in_word)
                        && all
                            .iter()
                            .any(|glue| glue[end..].trim_start_matches(in_word).starts_with(']'))
                }
                (at, open) => {
                    brackets::closer(*open).is_some_and(|close| !start[*at..].contains(close))
                }
            });
        Glue(start[..open.map_or(end, |(at, _)| at)].into())
    }

    /// The common end, from the border of a marker or a line on.
    pub(super) fn common_end<'g>(glues: impl IntoIterator<Item = &'g Glue>) -> Glue {
        let mut glues = glues.into_iter().peekable();
        let Some(first) = glues.peek().copied() else {
            return Glue::default();
        };
        let same = Glue::same_end(glues);
        // Markers are not split.
        let (spans, before) = (first.marker_spans(), first.0.len() - same.len());
        let border = same.char_indices().find(|&(at, c)| {
            let (at, mut spans) = (before + at, spans.iter());
            let splits = spans.any(|span| span.start < at && at < span.end);
            (brackets::opens(c) || c == '\n') && !splits
        });
        Glue(border.map_or("", |(at, _)| &same[at..]).into())
    }

    /// The text that all of them end with.
    pub(super) fn same_end<'g>(mut glues: impl Iterator<Item = &'g Glue>) -> &'g str {
        let first = glues.next().map_or("", |first| &first.0);
        glues.fold(first, |same, glue| {
            &same[same.len() - shared_end(same, &glue.0)..]
        })
    }

    /// The rest after the call's number, if it begins with that.
    pub fn behind_counter(&self) -> Option<Glue> {
        self.0.strip_prefix(COUNTER).map(Glue::from)
    }

    /// Replaces the placeholders of names by these names.
    pub fn with_names(&self, name: &str, key: &str) -> Glue {
        Glue(self.0.replace(NAME, name).replace(KEY, key).into())
    }

    /// Concatenates two pieces of glue.
    pub fn and(&self, other: &Glue) -> Glue {
        Glue(SmolStr::from_iter([&*self.0, &*other.0]))
    }

    /// The common end of both, from the border of a marker on.
    pub(super) fn shared_end(a: &Glue, b: &Glue) -> Glue {
        let end = &a.0[a.0.len() - shared_end(&a.0, &b.0)..];
        // A bracket in the middle that nothing opens belongs to what differs.
        let first = end.find(|c| !"[]".contains(c) && (brackets::opens(c) || brackets::closes(c)));
        let behind = first.and_then(|at| end[at..].strip_prefix(brackets::closes));
        behind
            .filter(|behind| !behind.is_empty())
            .unwrap_or(end)
            .into()
    }

    /// Without the white space at its end.
    pub fn trim_end(&self) -> Glue {
        Glue(self.0.trim_end().into())
    }

    pub(super) fn chars(&self) -> std::str::Chars<'_> {
        self.0.chars()
    }
}

impl<T: AsRef<str>> From<T> for Glue {
    fn from(text: T) -> Glue {
        Glue(text.as_ref().into())
    }
}

/// Replaces each separate occurrence of `number` in `text` by the placeholder for the counter.
fn with_counter(text: &str, number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(&digits) {
        let inside = |c: char| c.is_alphanumeric() || c == '_' || SIGNS.contains(&c);
        out.push_str(before);
        if before.ends_with(inside) || after.starts_with(inside) {
            out.push_str(&digits)
        } else {
            out.push(COUNTER)
        }
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn echoes_and_counters_are_signs() {
        let of = |text| Glue::new(text, "f", "", Some([1, 1]));
        let glue = of("</f> 1 f1 x1:1").unwrap();
        assert_eq!(glue.shown(), "</‹name›> ‹number› ‹name›1 x1:‹number›");
        let pieces: Vec<GluePiece> = glue.pieces().collect();
        assert_eq!(
            pieces[..3],
            [
                GluePiece::Text("</"),
                GluePiece::Name,
                GluePiece::Text("> ")
            ]
        );
        assert_eq!(of("\u{e000}"), None);
    }

    #[test]
    fn starts_and_ends_keep_markers_whole() {
        let glues = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| Glue::from(*text))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            Glue::common_start(&glues(&["</p>\n<p>", "</p>\n</f>"])),
            "</p>\n".into()
        );
        assert_eq!(Glue::common_start(&glues(&["\", \"", "\"}"])), "\"".into());
        assert_eq!(Glue::common_start(&glues(&["<a>", "<a>"])), "<a>".into());
        assert_eq!(
            Glue::common_start(&glues(&["</p><", "</p></f>"])),
            "</p>".into()
        );
        assert_eq!(
            Glue::common_start(&glues(&["[/p]\n[", "[/p]\n[/f]"])),
            "[/p]\n".into()
        );
        assert_eq!(
            Glue::common_start(&glues(&["<a b=", "<a b="])),
            "<a b=".into()
        );
        assert_eq!(Glue::common_start(&glues(&["[\"", "["])), "[".into());
        assert_eq!(
            Glue::common_end(&glues(&["</x><eot>\n", "<eot>\n"])),
            "<eot>\n".into()
        );
        assert_eq!(Glue::common_end(&glues(&["</x>", "</s>"])), "".into());
    }
}
