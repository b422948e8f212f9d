//! The texts that a source has of its own: between tags, and in quotes inside of them.

use std::ops::Range;

use super::token::{self, Token, find_tag};

/// A text of a source as it is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    /// The text.
    pub text: String,
    /// Whether it is a text in quotes, not one between tags.
    pub is_quoted: bool,
    /// Where each byte of the text, and its end, is in the source.
    places: Vec<usize>,
}

impl SourceText {
    /// Where a byte of the text is in the source.
    pub fn place(&self, at: usize) -> usize {
        self.places[at]
    }
}

/// The parts of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceParts {
    /// Its texts, in order.
    pub texts: Vec<SourceText>,
    /// Its tags, in order; comments are none.
    pub tags: Vec<Range<usize>>,
}

impl SourceParts {
    /// The parts of a source. Everything that cannot be read as a tag is a text.
    pub fn of(source: &str) -> Self {
        let mut parts = SourceParts::default();
        let mut at = 0;
        while let Some(open) = find_tag(source, at) {
            parts.plain(source, at..open);
            at = match source.as_bytes()[open + 1] {
                b'#' => token::comment_end(source, open),
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
            self.texts.push(SourceText {
                text,
                is_quoted: false,
                places: (bytes.start..=bytes.end).collect(),
            });
        }
    }

    /// Reads a tag, and returns where it ends.
    fn tag(&mut self, source: &str, open: usize, end: &str) -> usize {
        let (mut at, mut brackets) = (open + 2, 0_usize);
        loop {
            let (token, start, behind) = token::next(source, at, end, brackets > 0);
            token.count_brackets(&mut brackets);
            match token {
                Token::None => {
                    return start + source[start..].chars().next().map_or(0, char::len_utf8);
                }
                Token::End(_) => {
                    self.tags.push(open..behind);
                    return behind;
                }
                Token::Literal => self.texts.extend(quoted(source, start..behind)),
                Token::Name(_) | Token::Sign(_) => {}
            }
            at = behind;
        }
    }
}

/// A string of a tag; `None` for a number.
fn quoted(source: &str, bytes: Range<usize>) -> Option<SourceText> {
    if !source[bytes.clone()].starts_with(['"', '\'']) {
        return None;
    }
    let (mut text, mut places) = (String::new(), Vec::new());
    let mut chars = source[bytes.start + 1..bytes.end - 1]
        .char_indices()
        .map(|(at, c)| (bytes.start + 1 + at, c));
    while let Some((at, c)) = chars.next() {
        let c = match c {
            '\\' => match chars.next().map(|(_, c)| c) {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                other => other.unwrap_or('\\'),
            },
            c => c,
        };
        text.push(c);
        places.resize(text.len(), at);
    }
    places.push(bytes.end - 1);
    Some(SourceText {
        text,
        is_quoted: true,
        places,
    })
}

/// The name of the innermost block that is open at the end of a source, and its position.
pub fn open_block(source: &str) -> Option<(&str, usize)> {
    let mut open = Vec::new();
    for tag in SourceParts::of(source).tags {
        let mut tokens = token::tokens(source, token::inside(source, tag.start), "%}");
        match tokens.next() {
            _ if !source[tag.start..].starts_with("{%") => {}
            // Nothing in it is a tag.
            Some(Token::Name("raw")) => return None,
            Some(Token::Name("set")) => {
                let sign = tokens.find(|token| matches!(token, Token::Sign("=" | "|")));
                if sign != Some(Token::Sign("=")) {
                    open.push(("set", tag.start));
                }
            }
            Some(Token::Name(
                name @ ("if" | "for" | "macro" | "call" | "filter" | "with" | "generation"),
            )) => open.push((name, tag.start)),
            Some(Token::Name(name)) if name.starts_with("end") => drop(open.pop()),
            _ => {}
        }
    }
    open.pop()
}

#[cfg(test)]
mod tests {
    use super::super::place;
    use super::*;

    #[test]
    fn texts_and_their_places() {
        // A tag that cannot be read is a text, even if it breaks in a character.
        assert_eq!(SourceParts::of("{{ \u{fffd}").tags, []);
        let source = "a{# 'b' #}{{- 'c\\n\\'' ~ d | upper ~ e.title() -}}\nf{% if g == \"h\" %}";
        let parts = SourceParts::of(source);
        let texts: Vec<&str> = parts.texts.iter().map(|text| &*text.text).collect();
        assert_eq!(texts, ["a", "c\n'", "\nf", "h"]);
        let quoted = &parts.texts[1];
        assert_eq!(&source[quoted.place(1)..quoted.place(3)], "\\n\\'");
        assert_eq!(parts.tags.len(), 2);
        let there = place(source, source.find("f{%").unwrap());
        assert_eq!(
            (there.line, there.column, &*there.excerpt),
            (2, Some(1), "f{% if g == \"h\" %}")
        );
    }
}
