//! Converts JSON and Python literals to JSON, piece by piece: quotes become double quotes, line breaks inside them become
//! escapes, `True`, `False` and `None` become JSON's words. JSON is unchanged.

use chatparse_base::json_string::push_quoted;

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
}

const WORDS: [(&str, &str); 3] = [("True", "true"), ("False", "false"), ("None", "null")];

impl Literal {
    /// Appends the next piece of a value to `json`.
    pub fn feed(&mut self, piece: &str, json: &mut String) {
        for c in piece.chars() {
            match self.quote {
                Some(quote) => self.inside(c, quote, json),
                None => self.outside(c, json),
            }
        }
    }

    /// Closes the open string, if there is one. Returns whether there was one.
    pub fn end_string(&mut self) -> bool {
        self.quote.take().is_some()
    }

    /// How many bytes of an escape wait for those behind them.
    pub fn held(&self) -> usize {
        self.held
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
                '\'' if held == 1 => json.push(c),
                _ if held == 1 && c == 'u' || held > 1 && c.is_ascii_hexdigit() => {
                    if held == 5 {
                        json.extend(self.escape.iter().chain([&c]));
                    } else {
                        (self.escape[held], self.held) = (c, held + 1);
                    }
                }
                // Of an escape that JSON does not have, the backslash is one.
                _ => {
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
            '\0'..' ' => push_quoted(c.encode_utf8(&mut [0; 4]), json),
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
                self.quote = Some(c);
                json.push('"');
            }
            (_, Some(word)) => {
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
            ("['a\n\tb',\n1]", "[\"a\\n\\tb\",\n1]"),
        ] {
            let mut whole = String::new();
            Literal::default().feed(python, &mut whole);
            assert_eq!(whole, json);
            let (mut literal, mut pieces) = (Literal::default(), String::new());
            python.chars().for_each(|c| literal.feed(&c.to_string(), &mut pieces));
            assert_eq!(pieces, json, "character by character");
        }
    }
}
