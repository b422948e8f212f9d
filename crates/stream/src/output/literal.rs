//! Converts JSON, Python literals and text that is nearly JSON to JSON, piece by piece: quotes
//! become double quotes, line breaks inside them become escapes, `True`, `False` and `None` become
//! JSON's words, comments and a comma after the last item are left out. JSON and any other text are
//! unchanged. A word waits until it is known to be Python's. Which quote closes a string, the
//! format knows.

use chatparse_base::json_string::{push_quoted, push_quoted_char};
use chatparse_peg::lossy;

/// The state between two pieces of a value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Literal {
    quote: Option<char>,
    /// The characters of an escape inside a string that is not whole: a backslash, a letter,
    /// digits.
    escape: [u8; 10],
    held: usize,
    /// The bytes of joined lines that no text has followed yet: they belong to the next text.
    joined: usize,
    /// The value is of a call of Python, whose escapes count.
    python: bool,
    /// The last character was part of a word.
    in_word: bool,
    /// A Python word, and how much of it was read: it waits for the next character.
    word: Option<(usize, usize)>,
    /// White space, a comma and comments wait: the comma may be the last, and nothing may follow.
    pub mends: bool,
    /// How many bytes wait so.
    gap: usize,
    comma: bool,
    comment: Comment,
    /// The deviations from JSON: bits of [`MENDED`].
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

/// The deviations that may be mended.
pub(super) const MENDED: [&str; 6] = [
    "control characters in strings",
    "escapes that JSON does not have",
    "Python's words and quotes",
    "a comma behind the last item",
    "comments",
    "arrays or objects as texts",
];
const CONTROL: u8 = 1;
const ESCAPE: u8 = 1 << 1;
const PYTHON: u8 = 1 << 2;
const COMMA: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;
pub(super) const JSON_TEXT: u8 = 1 << 5;

const WORDS: [(&str, &str); 3] = [("True", "true"), ("False", "false"), ("None", "null")];

impl Literal {
    /// Reads a value; `mends`: one that may be nearly JSON. `quoted`: inside of a string. `python`:
    /// with Python's escapes.
    pub fn new(mends: bool, quoted: bool, python: bool) -> Self {
        Literal {
            mends: mends || python,
            quote: quoted.then_some('"'),
            python,
            ..Literal::default()
        }
    }

    /// Appends the next piece of a value to `json`. `before`: the text before it.
    pub fn feed(&mut self, before: &[u8], piece: &str, json: &mut String) {
        let mut gap = (self.gap, 0);
        for (at, c) in piece.char_indices() {
            if self.continues_word(c, json) {
            } else if let Some(quote) = self.quote {
                let shown = json.len();
                self.inside(c, quote, json);
                if json.len() > shown {
                    self.joined = 0;
                }
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

    /// Whether a character outside of strings waits for the next one.
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
                return c == ',' || c.is_ascii_whitespace();
            }
        };
        true
    }

    /// The waiting text ends before this character.
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

    /// The number of bytes that wait for the next ones: of an escape, of a word, or around a comma.
    pub fn held(&self) -> usize {
        self.joined + self.held + self.gap + self.word_held()
    }

    /// How many of them are of a word.
    pub fn word_held(&self) -> usize {
        self.word.map_or(0, |(_, read)| read)
    }

    /// Whether a character continues the waiting word. Before any other character the word ends.
    fn continues_word(&mut self, c: char, json: &mut String) -> bool {
        let Some((word, read)) = &mut self.word else {
            return false;
        };
        let continues = WORDS[*word].0[*read..].starts_with(c);
        *read += usize::from(continues);
        if !continues {
            self.end_word(is_of_word(c), json);
        }
        continues
    }

    /// Ends the waiting word: it is a word of Python, or is passed on as written.
    /// `longer`: more letters follow.
    pub fn end_word(&mut self, longer: bool, json: &mut String) {
        let Some((word, read)) = self.word.take() else {
            return;
        };
        let (python, translated) = WORDS[word];
        let is_word = read == python.len() && !longer;
        self.mended |= if is_word { PYTHON } else { 0 };
        json.push_str(if is_word { translated } else { &python[..read] });
    }

    /// Whether a string is open.
    pub fn in_string(&self) -> bool {
        self.quote.is_some()
    }

    fn inside(&mut self, c: char, quote: char, json: &mut String) {
        if self.held > 0 {
            match c {
                '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' if self.held == 1 => {
                    self.held = 0;
                    json.extend(['\\', c]);
                }
                '\'' | '\n' if self.held == 1 && (self.python || c == '\'') => {
                    self.held = 0;
                    self.mended |= ESCAPE;
                    // Python joins lines that end with a backslash.
                    match c {
                        '\n' => self.joined += 2,
                        _ => json.push('\''),
                    }
                }
                _ if self.continues_escape(c) => {
                    self.escape[self.held] = c as u8;
                    self.held += 1;
                    if self.held == self.escape_length().1 {
                        self.end_escape(json);
                    }
                }
                _ => {
                    self.end_escape(json);
                    self.inside(c, quote, json);
                }
            }
            return;
        }
        match c {
            '\\' => (self.escape[0], self.held) = (b'\\', 1),
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

    /// The base of the digits of the escape that waits, and its length with all of them.
    fn escape_length(&self) -> (u32, usize) {
        match self.escape[1] {
            b'u' => (16, 6),
            b'x' if self.python => (16, 4),
            b'U' if self.python => (16, 10),
            b'0'..=b'7' if self.python => (8, 4),
            _ => (0, 0),
        }
    }

    /// Whether a character is one more of the escape that waits.
    fn continues_escape(&mut self, c: char) -> bool {
        if self.held == 1 && c.is_ascii() {
            self.escape[1] = c as u8;
            return self.escape_length().0 > 0;
        }
        self.held > 1 && c.is_digit(self.escape_length().0)
    }

    /// Ends the waiting escape. An invalid one is text with its backslash. Returns its length.
    pub fn end_escape(&mut self, json: &mut String) -> usize {
        let length = std::mem::take(&mut self.held);
        let text = std::str::from_utf8(&self.escape[..length]).unwrap_or_default();
        let read = match self.escape_length() {
            _ if length < 2 => None,
            (8, _) => u32::from_str_radix(&text[1..], 8).ok(),
            // JSON has it, too.
            (16, 6) if length == 6 => {
                json.push_str(text);
                return length;
            }
            (16, whole) if length == whole => u32::from_str_radix(&text[2..], 16).ok(),
            _ => None,
        };
        self.mended |= if length > 0 { ESCAPE } else { 0 };
        match read.and_then(char::from_u32) {
            Some(c) => push_quoted_char(c, json),
            None => push_quoted(text, json),
        }
        length
    }

    fn outside(&mut self, c: char, json: &mut String) {
        let begins = WORDS
            .iter()
            .position(|(python, _)| !self.in_word && python.starts_with(c));
        self.in_word = is_of_word(c);
        match c {
            '"' | '\'' => {
                self.mended |= if c == '"' { 0 } else { PYTHON };
                self.quote = Some(c);
                json.push('"');
            }
            '\x0b' | '\x0c' => json.push(' '),
            _ if begins.is_some() => self.word = begins.map(|word| (word, 1)),
            _ => json.push(c),
        }
    }
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    /// What a text becomes in pieces that end at these places.
    fn read(text: &str, python: bool, ends: impl Iterator<Item = usize>) -> String {
        let (mut literal, mut json, mut from) =
            (Literal::new(true, false, python), String::new(), 0);
        for to in ends.chain([text.len()]) {
            literal.feed(&text.as_bytes()[..from], &text[from..to], &mut json);
            from = to;
        }
        literal.end_word(false, &mut json);
        json
    }

    fn read_in_any_pieces(text: &str, python: bool) -> String {
        let (whole, ends) = (
            read(text, python, [].into_iter()),
            text.char_indices().map(|(at, _)| at),
        );
        assert_eq!(
            read(text, python, ends.clone()),
            whole,
            "character by character"
        );
        for end in ends {
            assert_eq!(
                read(text, python, [end].into_iter()),
                whole,
                "cut at {end} of {text:?}"
            );
        }
        whole
    }

    #[test]
    fn python_becomes_json_in_any_pieces() {
        for (python, json) in [
            (
                "{'a': True, \"b\": [None, False]}",
                "{\"a\": true, \"b\": [null, false]}",
            ),
            (r#"'it\'s "so"\n'"#, r#""it's \"so\"\n""#),
            (
                r#"['\d\u00e9', "\'\u00\é\U"]"#,
                r#"["\\d\u00e9", "'\\u00\\é\\U"]"#,
            ),
            (
                r#"{"a": "True \" 'x'", "b": 1.5e3}"#,
                r#"{"a": "True \" 'x'", "b": 1.5e3}"#,
            ),
            ("[true, null, xTrue]", "[true, null, xTrue]"),
            (
                "[North, NaN, Nope, Nonesuch, True1, Fals, None, N",
                "[North, NaN, Nope, Nonesuch, True1, Fals, null, N",
            ),
            ("[True,\n None ,False]", "[true,\n null ,false]"),
            ("['a\n\tb',\n1]", "[\"a\\n\\tb\",\n1]"),
            (
                "{\"a\": [1, 2,\n ], // x, }\n'b': /* * , **/ 'c' , }",
                "{\"a\": [1, 2],\"b\":\"c\"}",
            ),
        ] {
            assert_eq!(read_in_any_pieces(python, false), json);
        }
    }

    #[test]
    fn escapes_of_python_in_any_pieces() {
        for (python, json) in [
            (r"'m\xf6tet \x0a\x22'", r#""mötet \n\"""#),
            (r"'\102\d\0a\12\18\400'", r#""B\\d\u0000a\n\u00018Ā""#),
            ("'one \\\nrow'", r#""one row""#),
            (
                r"'\U0001f600\u00e9\ud83d\ude00'",
                r#""😀\u00e9\ud83d\ude00""#,
            ),
            (
                r"['\xZ', '\x4', '\U0011ffff', '\1', '\N']",
                r#"["\\xZ", "\\x4", "\\U0011ffff", "\u0001", "\\N"]"#,
            ),
        ] {
            assert_eq!(read_in_any_pieces(python, true), json);
        }
        assert_eq!(read_in_any_pieces(r"'\xf6\102'", false), r#""\\xf6\\102""#);
    }

    proptest! {
        #[test]
        fn cuts_change_nothing(parts in vec(select(&["True", "No", "one", "Fal", "é", "'", "\"", "\\", "u0", "x4", "10", "n", ", ", "]", "//", "/*", "*/", "\n"]), 0..16)) {
            read_in_any_pieces(&parts.concat(), false);
            read_in_any_pieces(&parts.concat(), true);
        }
    }
}
