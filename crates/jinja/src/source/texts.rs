//! The texts that a source has of its own: between tags, and in quotes inside of them.

use std::ops::Range;

use super::rewrite::token::{self, Token, find_tag};

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
    /// The parts of a source. What is not read as a tag is a text.
    pub fn of(source: &str) -> Self {
        let mut parts = SourceParts::default();
        let mut at = 0;
        while let Some(open) = find_tag(source, at) {
            parts.plain(source, at..open);
            at = match source.as_bytes()[open + 1] {
                b'#' => source[open..]
                    .find("#}")
                    .map_or(source.len(), |end| open + end + 2),
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
            match token {
                Token::None => {
                    return start + source[start..].chars().next().map_or(0, char::len_utf8);
                }
                Token::End(_) => {
                    self.tags.push(open..behind);
                    return behind;
                }
                Token::Literal => self.texts.extend(quoted(source, start..behind)),
                Token::Sign("(" | "[" | "{") => brackets += 1,
                Token::Sign(")" | "]" | "}") => brackets = brackets.saturating_sub(1),
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
        let Some(Token::Name(name)) = tokens
            .next()
            .filter(|_| source[tag.start..].starts_with("{%"))
        else {
            continue;
        };
        let opens = match name {
            // Nothing in it is a tag.
            "raw" => return None,
            "set" => {
                tokens.find(|token| matches!(token, Token::Sign("=" | "|")))
                    != Some(Token::Sign("="))
            }
            _ => ["if", "for", "macro", "call", "filter", "with", "generation"].contains(&name),
        };
        if opens {
            open.push((name, tag.start));
        } else if name.starts_with("end") {
            open.pop();
        }
    }
    open.pop()
}

#[cfg(test)]
mod tests {
    use super::super::rewrite::place;
    use super::*;

    #[test]
    fn texts_and_their_places() {
        // What is no tag is a text, also where it breaks in a character.
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
