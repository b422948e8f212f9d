//! Sends arguments as what clients of the Messages API read: at any time the beginning of a JSON
//! object.

use chatparse_base::number;
use serde_json::{Map, Value};

use chatparse_base::json_string::push_quoted_char;
use chatparse_base::limits::JSON_DEPTH;

/// The longest number or word that is sent: Python's readers refuse numbers of more than 4,300
/// digits.
const WORD: usize = 4000;

/// The length of the longest escape: two halves of a pair of surrogates.
const ESCAPE: usize = 12;

/// The object in arguments, as a client has received it: up to the first byte that is not JSON, or
/// up to the end. A text value that has no end is closed there; what else has none is left out.
pub fn object(text: &str) -> Map<String, Value> {
    let mut prefix = Prefix::default();
    number::read(&(prefix.push(text) + &prefix.close())).unwrap_or_default()
}

/// What was sent of one object. It is sent only as far as closing brackets make JSON of it, so
/// names of members wait for their values, numbers and words for their ends. Control characters in
/// texts are escaped.
#[derive(Clone, Debug, Default)]
pub struct Prefix {
    at: At,
    /// What closes the open objects and arrays.
    open: Vec<char>,
    /// What was read and is not sent.
    held: String,
    /// Where in it a word or an escape begins.
    from: usize,
    /// What was sent ends inside of a text.
    in_text: bool,
}

/// What may follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    Start,
    /// A member, or the end of the object if it is the first one.
    Key {
        first: bool,
    },
    Colon,
    /// A value, or the end of the array if it is the first one.
    Value {
        first: bool,
    },
    /// More of a name, or of a text value.
    Text,
    Escape,
    Word,
    /// A comma, or the end of the object or array.
    After,
    /// Nothing: the object is whole, or is not JSON from here on.
    End,
}

impl Prefix {
    /// Reads more of the arguments, and returns what to send. Its cost is linear in the new text.
    pub fn push(&mut self, text: &str) -> String {
        let mut out = String::new();
        for c in text.chars() {
            if self.at == At::Word && (matches!(c, ',' | ']' | '}') || is_space(c)) {
                self.at = At::After;
                match serde_json::from_str::<Value>(&self.held[self.from..]) {
                    Ok(_) => out.push_str(&std::mem::take(&mut self.held)),
                    Err(_) => self.at = At::End,
                }
            }
            match self.next(c) {
                Some((at, sends)) => {
                    self.at = at;
                    if sends {
                        out.push_str(&std::mem::take(&mut self.held));
                    }
                }
                None => self.at = At::End,
            }
        }
        out
    }

    /// Ends the object, and returns what closes it.
    pub fn close(&mut self) -> String {
        let Prefix { open, in_text, .. } = std::mem::take(self);
        in_text
            .then_some('"')
            .into_iter()
            .chain(open.into_iter().rev())
            .collect()
    }

    /// What may follow the next character, and whether what was read can be sent with it; `None` if
    /// it is not JSON.
    fn next(&mut self, c: char) -> Option<(At, bool)> {
        if !matches!(self.at, At::Text | At::Escape) && is_space(c) {
            return Some((self.at, false));
        }
        if self.at == At::Text && c < ' ' {
            push_quoted_char(c, &mut self.held);
        } else {
            self.held.push(c);
        }
        let length = self.held.len();
        Some(match (self.at, c) {
            (At::Start, '{') | (At::Value { .. }, '{' | '[')
                if self.open.len() + 2 < JSON_DEPTH =>
            {
                let (at, close) = match c {
                    '{' => (At::Key { first: true }, '}'),
                    _ => (At::Value { first: true }, ']'),
                };
                self.open.push(close);
                (at, true)
            }
            (At::Key { .. }, '"') => (At::Text, false),
            (At::Colon, ':') => (At::Value { first: false }, false),
            (At::Value { .. }, '"') => {
                self.in_text = true;
                (At::Text, true)
            }
            (At::Value { .. }, '-' | '0'..='9' | 'a'..='z') => {
                self.from = length - 1;
                (At::Word, false)
            }
            (At::Word, _) if length - self.from < WORD => (At::Word, false),
            (At::After, ',') if self.open.last() == Some(&'}') => (At::Key { first: false }, false),
            (At::After, ',') => (At::Value { first: false }, false),
            (At::After | At::Key { first: true } | At::Value { first: true }, '}' | ']')
                if self.open.last() == Some(&c) =>
            {
                self.open.pop();
                (
                    if self.open.is_empty() {
                        At::End
                    } else {
                        At::After
                    },
                    true,
                )
            }
            (At::Text, '\\') => {
                self.from = length - 1;
                (At::Escape, false)
            }
            (At::Text, '"') if std::mem::take(&mut self.in_text) => (At::After, true),
            (At::Text, '"') => (At::Colon, false),
            (At::Text, _) => (At::Text, self.in_text),
            (At::Escape, _) => {
                let escape = &self.held[self.from..];
                let text = serde_json::from_str::<String>(&format!("\"{escape}\""));
                // Half a pair of surrogates is no text.
                match text.is_err() {
                    true if escape.starts_with("\\u") && escape.len() < ESCAPE => {
                        (At::Escape, false)
                    }
                    true => return None,
                    false => (At::Text, self.in_text),
                }
            }
            _ => return None,
        })
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\n' | '\r' | '\t')
}
