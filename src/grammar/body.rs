//! Rule bodies that their author wrote as GBNF.

use super::rule::Rule;
use crate::error::{Error, Result};

impl Rule {
    /// A body written as GBNF: one line, where literals may hold line breaks and blanks around it do not count. It may refer
    /// to rules that are added later.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] where the text is blank or would run into the rules around it: a line break or
    /// a comment, what is opened and never closed, a character that GBNF has no use for.
    pub fn gbnf(text: &str) -> Result<Rule> {
        let body = text.trim_ascii();
        let start = text.len() - text.trim_ascii_start().len();
        let refused = |why: &str, at: usize| Err(Error::invalid(format!("body: {why} at byte {}", start + at)));
        if body.is_empty() {
            return Err(Error::invalid("body: blank; an empty text is written \"\""));
        }
        let mut open = Vec::new();
        for piece in pieces(body) {
            match piece.text {
                "(" => open.push(piece.at),
                ")" if open.pop().is_none() => return refused("a parenthesis that closes nothing", piece.at),
                _ => {}
            }
            if let Some(fault) = piece.fault() {
                return refused(fault, piece.at);
            }
        }
        match open.pop() {
            Some(at) => refused(UNCLOSED, at),
            None => Ok(Rule::Gbnf(body.to_owned())),
        }
    }
}

const UNCLOSED: &str = "what is opened is never closed";

/// The names of rules in a body.
pub(super) fn names(body: &str) -> impl Iterator<Item = &str> {
    pieces(body).map(|piece| piece.text).filter(|text| text.starts_with(is_word))
}

/// A name, a literal, class, token or repetition with what encloses it, or a single character.
struct Piece<'a> {
    at: usize,
    text: &'a str,
    closed: bool,
}

impl Piece<'_> {
    fn fault(&self) -> Option<&'static str> {
        match self.text {
            _ if !self.closed => Some(UNCLOSED),
            // It would end the grammar for a reader written in C.
            text if text.contains('\0') => Some("a NUL"),
            text if !text.starts_with('"') && text.contains(['\n', '\r']) => Some("a line break outside of a literal"),
            "#" => Some("a comment"),
            text if text.chars().nth(1).is_some() || text.starts_with(means_something) => None,
            _ => Some("a character without a meaning"),
        }
    }
}

fn pieces(body: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &body[at..];
        let first = rest.chars().next()?;
        let end = match first {
            '"' => enclosed(rest, '"'),
            '[' => enclosed(rest, ']'),
            '<' => enclosed(rest, '>'),
            '{' => enclosed(rest, '}'),
            c if is_word(c) => Some(rest.find(|c| !is_word(c)).unwrap_or(rest.len())),
            c => Some(c.len_utf8()),
        };
        let piece = Piece { at, text: &rest[..end.unwrap_or(rest.len())], closed: end.is_some() };
        at += piece.text.len();
        Some(piece)
    })
}

/// Where the part that `text` begins with is closed; a backslash takes the character behind it along.
fn enclosed(text: &str, close: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == close && !escaped {
            return Some(at + close.len_utf8());
        }
        escaped = c == '\\' && !escaped;
    }
    None
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-'
}

fn means_something(c: char) -> bool {
    is_word(c) || matches!(c, ' ' | '\t' | '(' | ')' | '|' | '.' | '*' | '+' | '?' | '!')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_that_stay_on_their_line_pass_as_they_are() {
        for body in [
            r#""""#,
            r#""a" | [^"\]\n(] b-2{2,3} (c? "(" | .*)+ <think> !<[12]>"#,
            r#""\\" x "\"y""#,
            "\"line\nbreak\"",
            "\"# ü ::=\"",
        ] {
            assert_eq!(Rule::gbnf(body).map(|rule| rule.to_string()).as_deref(), Ok(body));
        }
        assert_eq!(Rule::gbnf(" \n a\n").unwrap().to_string(), "a");
    }

    #[test]
    fn bodies_that_would_run_into_others_are_refused() {
        for (body, says) in [
            ("", "blank"),
            (" \r\n\t", "blank"),
            ("a\nb ::= c", "a line break outside of a literal at byte 1"),
            ("(a\n| b)", "a line break outside of a literal at byte 2"),
            ("a{2,\n}", "a line break outside of a literal at byte 1"),
            ("b ::= c", "without a meaning at byte 2"),
            ("a_b", "without a meaning at byte 1"),
            ("a # b", "a comment at byte 2"),
            ("a \"b", "never closed at byte 2"),
            (r#""\""#, "never closed at byte 0"),
            ("a{2", "never closed at byte 1"),
            ("[a\\]", "never closed at byte 0"),
            ("(a (b)", "never closed at byte 0"),
            (" \n a)", "closes nothing at byte 4"),
            ("\"\0\"", "a NUL at byte 0"),
            ("ü", "without a meaning at byte 0"),
        ] {
            let error = Rule::gbnf(body).unwrap_err();
            assert!(error.message().contains(says), "{body:?}: {error}");
        }
    }

    #[test]
    fn names_are_the_words_outside_of_quotes() {
        let found: Vec<&str> = names(r#"a "b" | [c] (d-1){2,3} <e> .f*"#).collect();
        assert_eq!(found, ["a", "d-1", "f"]);
    }
}
