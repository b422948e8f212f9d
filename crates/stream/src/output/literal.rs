//! Converts JSON, Python literals and what is nearly JSON to JSON, piece by piece: quotes become double quotes, line breaks inside
//! them become escapes, `True`, `False` and `None` become JSON's words, comments and a comma behind the last item are left out. JSON
//! is unchanged.

use chatparse_base::json_string::push_quoted;
use chatparse_peg::lossy;

/// The state between two pieces of a value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Literal {
    quote: Option<char>,
    /// The characters of an escape inside a string that is not whole: a backslash, `u`, digits.
    escape: [char; 5],
    held: usize,
    /// The last character was part of a word.
    in_word: bool,
    /// The Python word that is being read, and how much of it was read.
    word: Option<(usize, usize)>,
    /// A comma and the white space and comments around it wait: it may be the last.
    pub mends: bool,
    /// How many bytes wait so.
    gap: usize,
    comma: bool,
    comment: Comment,
    /// What was no JSON: bits of [`MENDED`].
    pub mended: u8,
}

/// Where in a comment the text is, as far as it waits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Comment {
    #[default]
    None,
    Slash,
    Line,
    Block,
    Star,
    Behind,
}

/// What may be mended.
pub(super) const MENDED: [&str; 5] = [
    "control characters in strings",
    "escapes that JSON does not have",
    "Python's words and quotes",
    "a comma behind the last item",
    "comments",
];
const CONTROL: u8 = 1;
const ESCAPE: u8 = 1 << 1;
const PYTHON: u8 = 1 << 2;
const COMMA: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;

const WORDS: [(&str, &str); 3] = [("True", "true"), ("False", "false"), ("None", "null")];

impl Literal {
    /// Reads a value; `mends`: one that may be nearly JSON. `quoted`: inside of a string.
    pub fn new(mends: bool, quoted: bool) -> Self {
        Literal { mends, quote: quoted.then_some('"'), ..Literal::default() }
    }

    /// Appends the next piece of a value to `json`. `before`: what is in front of it.
    pub fn feed(&mut self, before: &[u8], piece: &str, json: &mut String) {
        let mut gap = (self.gap, 0);
        for (at, c) in piece.char_indices() {
            if let Some(quote) = self.quote {
                self.inside(c, quote, json);
            } else if self.mends && self.waits(c) {
                gap = if self.gap == 0 { (0, at) } else { gap };
                self.in_word = false;
                self.gap += c.len_utf8();
            } else {
                if self.gap > 0 {
                    let carried = &before[before.len().saturating_sub(gap.0)..];
                    self.end_gap(c, [&lossy(carried), &piece[gap.1..at]], json);
                }
                self.outside(c, json);
            }
        }
    }

    /// Whether a character outside of strings waits for what follows.
    fn waits(&mut self, c: char) -> bool {
        self.comment = match (self.comment, c) {
            (Comment::None | Comment::Behind, '/') => Comment::Slash,
            (Comment::Slash, '/') => Comment::Line,
            (Comment::Slash | Comment::Star, '*') if self.comment == Comment::Star => Comment::Star,
            (Comment::Slash, _) => Comment::Block,
            (Comment::Block, '*') => Comment::Star,
            (Comment::Star, '/') | (Comment::Line, '\n') => Comment::Behind,
            (Comment::Star, _) => Comment::Block,
            (Comment::Line | Comment::Block, _) => self.comment,
            (Comment::None | Comment::Behind, _) => {
                self.comma |= c == ',';
                return c == ',' || self.gap > 0 && c.is_ascii_whitespace();
            }
        };
        true
    }

    /// What waits ends in front of this character.
    fn end_gap(&mut self, c: char, gap: [&str; 2], json: &mut String) {
        let last = matches!(c, '}' | ']') && self.comma;
        self.mended |= if last { COMMA } else { 0 };
        match std::mem::take(&mut self.comment) {
            Comment::None if last => {}
            Comment::None => gap.iter().for_each(|text| json.push_str(text)),
            _ => {
                self.mended |= COMMENT;
                json.push_str(if self.comma && !last { "," } else { "" });
            }
        }
        (self.gap, self.comma) = (0, false);
    }

    /// An item follows that is not in the text. Returns whether a comma waited for it.
    pub fn end_gap_at_item(&mut self) -> bool {
        (self.gap, self.comment) = (0, Comment::None);
        std::mem::take(&mut self.comma)
    }

    /// Closes the open string, if there is one. Returns whether there was one.
    pub fn end_string(&mut self) -> bool {
        self.quote.take().is_some()
    }

    /// How many bytes wait for those behind them: of an escape, or around a comma.
    pub fn held(&self) -> usize {
        self.held + self.gap
    }

    /// Whether a string is open.
    pub fn in_string(&self) -> bool {
        self.quote.is_some()
    }

    fn inside(&mut self, c: char, quote: char, json: &mut String) {
        if self.held > 0 {
            let held = std::mem::take(&mut self.held);
            match c {
                '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' if held == 1 => json.extend(['\\', c]),
                '\'' if held == 1 => {
                    self.mended |= ESCAPE;
                    json.push(c);
                }
                _ if held == 1 && c == 'u' || held > 1 && c.is_ascii_hexdigit() => {
                    if held == 5 {
                        json.extend(self.escape.iter().chain([&c]));
                    } else {
                        (self.escape[held], self.held) = (c, held + 1);
                    }
                }
                // Of an escape that JSON does not have, the backslash is one.
                _ => {
                    self.mended |= ESCAPE;
                    json.push('\\');
                    json.extend(&self.escape[..held]);
                    self.inside(c, quote, json);
                }
            }
            return;
        }
        match c {
            '\\' => (self.escape[0], self.held) = (c, 1),
            _ if c == quote => {
                self.quote = None;
                json.push('"');
            }
            '"' => json.push_str("\\\""),
            // Models break lines inside quotes; JSON does not.
            '\0'..' ' => {
                self.mended |= CONTROL;
                push_quoted(c.encode_utf8(&mut [0; 4]), json);
            }
            _ => json.push(c),
        }
    }

    fn outside(&mut self, c: char, json: &mut String) {
        if let Some((word, read)) = self.word {
            let (python, translated) = WORDS[word];
            if python[read..].starts_with(c) {
                json.push_str(&translated[read..=read]);
                self.word = Some((word, read + 1)).filter(|_| read + 1 < python.len());
                return;
            }
            self.word = None;
        }
        let begins = if self.in_word { None } else { WORDS.iter().position(|(python, _)| python.starts_with(c)) };
        self.in_word = c.is_ascii_alphanumeric() || c == '_';
        match (c, begins) {
            ('"' | '\'', _) => {
                self.mended |= if c == '"' { 0 } else { PYTHON };
                self.quote = Some(c);
                json.push('"');
            }
            ('\x0b' | '\x0c', _) => json.push(' '),
            (_, Some(word)) => {
                self.mended |= PYTHON;
                json.push_str(&WORDS[word].1[..1]);
                self.word = Some((word, 1));
            }
            _ => json.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_becomes_json_in_any_pieces() {
        for (python, json) in [
            ("{'a': True, \"b\": [None, False]}", "{\"a\": true, \"b\": [null, false]}"),
            (r#"'it\'s "so"\n'"#, r#""it's \"so\"\n""#),
            (r#"['\d\u00e9', "\'\u00\é\U"]"#, r#"["\\d\u00e9", "'\\u00\\é\\U"]"#),
            (r#"{"a": "True \" 'x'", "b": 1.5e3}"#, r#"{"a": "True \" 'x'", "b": 1.5e3}"#),
            ("[true, null, xTrue]", "[true, null, xTrue]"),
            ("[True,\n None ,False]", "[true,\n null ,false]"),
            ("['a\n\tb',\n1]", "[\"a\\n\\tb\",\n1]"),
            ("{\"a\": [1, 2,\n ], // x, }\n'b': /* * , **/ 'c' , }", "{\"a\": [1, 2],\"b\": \"c\" }"),
        ] {
            let mut whole = String::new();
            Literal::new(true, false).feed(b"", python, &mut whole);
            assert_eq!(whole, json);
            let (mut literal, mut pieces) = (Literal::new(true, false), String::new());
            let each = python.char_indices();
            each.for_each(|(at, c)| literal.feed(&python.as_bytes()[..at], &c.to_string(), &mut pieces));
            assert_eq!(pieces, json, "character by character");
        }
    }
}
