//! Writes texts as JSON strings, and reads the inside of JSON strings.

use std::fmt::Write;

use smol_str::{SmolStr, format_smolstr};

use crate::find::{find, find_to_escape, find_to_escape_ascii};

/// A text as a JSON string.
pub fn quoted(text: &str) -> SmolStr {
    if find_to_escape(text.as_bytes()).is_none() {
        return format_smolstr!("\"{text}\"");
    }
    let mut out = String::with_capacity(text.len() + 8);
    push_json_string(text, &mut out, false);
    out.into()
}

/// Appends a text as a JSON string. With `ascii`, everything except printable ASCII is escaped.
pub fn push_json_string(text: &str, out: &mut String, ascii: bool) {
    out.push('"');
    if ascii {
        escape(text, out, find_to_escape_ascii)
    } else {
        push_quoted(text, out)
    }
    out.push('"');
}

/// Appends a text in the form that it has inside a JSON string.
pub fn push_quoted(text: &str, out: &mut String) {
    escape(text, out, find_to_escape);
}

/// The same for one character.
pub fn push_quoted_char(c: char, out: &mut String) {
    if matches!(c, '\0'..' ' | '"' | '\\') {
        push_escape(c, out)
    } else {
        out.push(c)
    }
}

/// Appends the text inside a JSON string without its escapes, up to an incomplete escape at the
/// end. Returns the number of bytes read.
pub fn push_unquoted(text: &str, out: &mut String) -> usize {
    let mut at = 0;
    while let Some(slash) = find(b'\\', &text.as_bytes()[at..]) {
        out.push_str(&text[at..at + slash]);
        at += slash;
        let Some((c, length)) = escaped(&text[at..]) else {
            return at;
        };
        out.push(c);
        at += length;
    }
    out.push_str(&text[at..]);
    text.len()
}

/// The text inside a JSON string without its escapes.
pub fn unquoted(text: &str) -> String {
    let mut out = String::new();
    let read = push_unquoted(text, &mut out);
    out.push_str(&text[read..]);
    out
}

/// The character of the escape at the start of `text`, and its length; `None` if it is incomplete.
fn escaped(text: &str) -> Option<(char, usize)> {
    Some(match text[1..].chars().next()? {
        'n' => ('\n', 2),
        't' => ('\t', 2),
        'r' => ('\r', 2),
        'b' => ('\u{8}', 2),
        'f' => ('\u{c}', 2),
        'u' if text.len() < 6 => return None,
        'u' => match code_unit(text) {
            Some(unit) => return coded(unit, &text[6..]),
            // Not an escape of JSON: the backslash stays.
            None => ('\\', 1),
        },
        other => (other, 1 + other.len_utf8()),
    })
}

/// The character of an escape with this code unit: if it is half a character, `rest` may have the
/// other half.
fn coded(unit: u32, rest: &str) -> Option<(char, usize)> {
    let is_half = matches!(unit, 0xd800..=0xdbff);
    if is_half && rest.len() < 6 && b"\\u".starts_with(&rest.as_bytes()[..rest.len().min(2)]) {
        return None;
    }
    let (code, length) = match code_unit(rest) {
        Some(low @ 0xdc00..=0xdfff) if is_half => {
            (0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00), 12)
        }
        _ => (unit, 6),
    };
    let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    Some((c, length))
}

/// The number in the escape `\uXXXX` that a text begins with.
fn code_unit(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

fn escape(text: &str, out: &mut String, find: impl Fn(&[u8]) -> Option<usize>) {
    let mut rest = text;
    while let Some(at) = find(rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let mut chars = rest[at..].chars();
        push_escape(chars.next().unwrap_or_default(), out);
        rest = chars.as_str();
    }
    out.push_str(rest);
}

fn push_escape(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        c => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}").expect("a String takes all that is written to it");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn texts_are_quoted_as_json_quotes_them() {
        let all: String = ('\0'..='\u{a0}').chain("äß€😀\u{2028}".chars()).collect();
        for text in ["", "plain", "two\nlines", all.as_str()] {
            assert_eq!(quoted(text), Value::from(text).to_string());
            let mut ascii = String::new();
            push_json_string(text, &mut ascii, true);
            assert!(
                ascii.bytes().all(|byte| (b' '..=b'~').contains(&byte)),
                "{ascii}"
            );
            assert_eq!(serde_json::from_str::<String>(&ascii).unwrap(), text);
            // With any two pieces, the rest of the first is read before the second.
            let inside = &ascii[1..ascii.len() - 1];
            for cut in 0..=inside.len() {
                let mut back = String::new();
                let read = push_unquoted(&inside[..cut], &mut back);
                assert_eq!(
                    push_unquoted(&inside[read..], &mut back),
                    inside.len() - read
                );
                assert_eq!(back, text);
            }
        }
    }
}
