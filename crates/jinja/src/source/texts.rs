//! The texts that a source has of its own: between tags, and in quotes inside of them. For who edits a template.

use std::ops::Range;

use super::rewrite::token::{self, Token, find_tag};
use super::rewrite::{excerpt, line_and_column};
use chatparse_base::Place;

/// A text of a source as it is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    /// The text.
    pub text: String,
    /// The quote around it; `None` between tags.
    quote: Option<char>,
    /// Where each byte of the text, and its end, is in the source.
    places: Vec<usize>,
}

impl SourceText {
    /// Whether it is a text in quotes.
    pub fn is_quoted(&self) -> bool {
        self.quote.is_some()
    }

    /// Where a part of the text is in the source.
    pub fn bytes(&self, part: Range<usize>) -> Range<usize> {
        self.places[part.start]..self.places[part.end]
    }

    /// `text` as it is written at this place of the source.
    pub fn written(&self, text: &str) -> String {
        let Some(quote) = self.quote else { return text.to_owned() };
        let mut written = String::new();
        for c in text.chars() {
            match c {
                '\n' => written.push_str("\\n"),
                '\t' => written.push_str("\\t"),
                '\\' => written.push_str("\\\\"),
                c if c == quote => written.extend(['\\', c]),
                c => written.push(c),
            }
        }
        written
    }
}

/// The parts of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceParts {
    /// Its texts, in order.
    pub texts: Vec<SourceText>,
    /// Its tags, in order; comments are none.
    pub tags: Vec<Range<usize>>,
    /// Its filters and methods without arguments, e.g. `| upper`, with the name of each.
    pub filters: Vec<(String, Range<usize>)>,
}

impl SourceParts {
    /// The parts of a source that compiles. What is not read as a tag is a text.
    pub fn of(source: &str) -> Self {
        let mut parts = SourceParts::default();
        let mut at = 0;
        while let Some(open) = find_tag(source, at) {
            parts.plain(source, at..open);
            at = match source.as_bytes()[open + 1] {
                b'#' => source[open..].find("#}").map_or(source.len(), |end| open + end + 2),
                b'{' => parts.tag(source, open, "}}"),
                _ => parts.tag(source, open, "%}"),
            };
        }
        parts.plain(source, at..source.len());
        parts
    }

    fn plain(&mut self, source: &str, bytes: Range<usize>) {
        if !bytes.is_empty() {
            let text = source[bytes.clone()].to_owned();
            self.texts.push(SourceText { text, quote: None, places: (bytes.start..=bytes.end).collect() });
        }
    }

    /// Reads a tag, and returns where it ends.
    fn tag(&mut self, source: &str, open: usize, end: &str) -> usize {
        let (mut at, mut brackets) = (open + 2, 0_usize);
        // The last two tokens: a filter's name stands behind `|`.
        let mut before = [(Token::None, at), (Token::None, at)];
        loop {
            let (token, start, behind) = token::next(source, at, end, brackets > 0);
            match token {
                Token::None => return source.len().min(start + 1),
                Token::End(_) => {
                    self.tags.push(open..behind);
                    return behind;
                }
                Token::Literal => self.texts.extend(quoted(source, start..behind)),
                Token::Sign("(" | "[" | "{") => brackets += 1,
                Token::Sign(")" | "]" | "}") => {
                    brackets = brackets.saturating_sub(1);
                    if let ([(Token::Name(name), from), (Token::Sign("("), _)], ")") = (before, &source[start..behind])
                        && let Some(dot) =
                            source[..from].rfind('.').filter(|dot| source[dot + 1..from].trim().is_empty())
                    {
                        self.filters.push((name.to_owned(), dot..behind));
                    }
                }
                Token::Name(name) => {
                    if let (Token::Sign("|"), from) = before[1] {
                        self.filters.push((name.to_owned(), from..behind));
                    }
                }
                Token::Sign(_) => {}
            }
            before = [before[1], (token, start)];
            at = behind;
        }
    }
}

/// A string of a tag; `None` for a number.
fn quoted(source: &str, bytes: Range<usize>) -> Option<SourceText> {
    let quote = source[bytes.clone()].chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (mut text, mut places) = (String::new(), Vec::new());
    let mut chars = source[bytes.start + 1..bytes.end - 1].char_indices().map(|(at, c)| (bytes.start + 1 + at, c));
    while let Some((at, c)) = chars.next() {
        let c = match c {
            '\\' => match chars.next().map(|(_, c)| c) {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some(c) => c,
                None => '\\',
            },
            c => c,
        };
        text.push(c);
        places.resize(text.len(), at);
    }
    places.push(bytes.end - 1);
    Some(SourceText { text, quote: Some(quote), places })
}

/// The place of a byte of a source.
pub fn place(source: &str, at: usize) -> Place {
    let (line, column) = line_and_column(source, at);
    Place { line, column: Some(column), excerpt: excerpt(&source[at..]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_their_places() {
        let source = "a{# 'b' #}{{- 'c\\n\\'' ~ d | upper ~ e.title() -}}\nf{% if g == \"h\" %}";
        let parts = SourceParts::of(source);
        let texts: Vec<&str> = parts.texts.iter().map(|text| &*text.text).collect();
        assert_eq!(texts, ["a", "c\n'", "\nf", "h"]);
        let quoted = &parts.texts[1];
        assert_eq!((&source[quoted.bytes(1..3)], &*quoted.written("'\n")), ("\\n\\'", "\\'\\n"));
        let filters: Vec<(&str, &str)> =
            parts.filters.iter().map(|(name, bytes)| (&**name, &source[bytes.clone()])).collect();
        assert_eq!(filters, [("upper", "| upper"), ("title", ".title()")]);
        assert_eq!(parts.tags.len(), 2);
        let there = place(source, source.find("f{%").unwrap());
        assert_eq!((there.line, there.column, &*there.excerpt), (2, Some(1), "f{% if g == \"h\" %}"));
    }
}
