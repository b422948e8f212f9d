//! Texts as JSON strings.

use std::fmt::Write;

use smol_str::{SmolStr, format_smolstr};

use crate::find::{find_to_escape, find_to_escape_ascii};

/// A text as a JSON string.
pub(crate) fn quoted(text: &str) -> SmolStr {
    if find_to_escape(text.as_bytes()).is_none() {
        return format_smolstr!("\"{text}\"");
    }
    let mut out = String::with_capacity(text.len() + 8);
    push_json_string(text, &mut out, false);
    out.into()
}

/// Adds a text as a JSON string. With `ascii`, whatever is not printable ASCII is escaped, too.
pub(crate) fn push_json_string(text: &str, out: &mut String, ascii: bool) {
    out.push('"');
    if ascii {
        escape(text, out, find_to_escape_ascii)
    } else {
        push_quoted(text, out)
    }
    out.push('"');
}

/// Adds a text as it stands inside a JSON string.
pub(crate) fn push_quoted(text: &str, out: &mut String) {
    escape(text, out, find_to_escape);
}

/// The same for one character.
pub(crate) fn push_quoted_char(c: char, out: &mut String) {
    if matches!(c, '\0'..' ' | '"' | '\\') { push_escape(c, out) } else { out.push(c) }
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
            assert!(ascii.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{ascii}");
            assert_eq!(serde_json::from_str::<String>(&ascii).unwrap(), text);
        }
    }
}
