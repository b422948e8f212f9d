//! Integers of more than 64 bits in the JSON text of a call's arguments: a JSON number of ours would round them.

use std::borrow::Cow;

use serde_json::Value as Json;

/// What stands before the digits of such an integer, as a JSON string. The character is for programs' own use; a host's text that
/// begins with it, and goes on like an integer, shows as one.
const MARK: char = '\u{fdd0}';

/// The least length of an integer that is longer than 64 bits.
const DIGITS: usize = 19;

/// Reads JSON, long integers as strings that [`integer`] knows.
pub(super) fn read(text: &str) -> serde_json::Result<Json> {
    let plain = serde_json::from_str(text)?;
    match marked(text) {
        Cow::Borrowed(_) => Ok(plain),
        Cow::Owned(marked) => serde_json::from_str(&marked),
    }
}

/// The integer that `text` stands for, if it does.
pub(super) fn integer(text: &str) -> Option<i128> {
    text.strip_prefix(MARK).and_then(long)
}

fn long(token: &str) -> Option<i128> {
    let digits = token.strip_prefix('-').unwrap_or(token);
    let is_long = digits.len() >= DIGITS && digits.bytes().all(|b| b.is_ascii_digit());
    token.parse().ok().filter(|_| is_long && token.parse::<i64>().is_err() && token.parse::<u64>().is_err())
}

/// The JSON text with its long integers as strings.
fn marked(text: &str) -> Cow<'_, str> {
    let numeric = |b: &u8| b.is_ascii_digit() || b"+-.eE".contains(b);
    let bytes = text.as_bytes();
    let (mut out, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(next) = token_start(bytes, at) {
        at = next;
        if bytes[at] == b'"' {
            at = string_end(bytes, at);
            continue;
        }
        let end = at + bytes[at..].iter().take_while(|b| numeric(b)).count();
        if long(&text[at..end]).is_some() {
            out.push_str(&text[copied..at]);
            out.extend(['"', MARK]);
            out.push_str(&text[at..end]);
            out.push('"');
            copied = end;
        }
        at = end;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Where the next string or number begins.
fn token_start(bytes: &[u8], from: usize) -> Option<usize> {
    let found = bytes.get(from..)?.iter().position(|b| matches!(b, b'"' | b'-' | b'0'..=b'9'))?;
    Some(from + found)
}

/// Where the string ends that begins at `start`.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_integers_are_kept() {
        let text =
            r#"{"a": [12345678901234567890123, -99999999999999999999], "b": "12345678901234567890123", "c": 1.5e3}"#;
        let read = read(text).unwrap();
        assert_eq!(read["a"][0].as_str().and_then(integer), Some(12_345_678_901_234_567_890_123));
        assert_eq!(read["a"][1].as_str().and_then(integer), Some(-99_999_999_999_999_999_999));
        assert_eq!((&read["b"], &read["c"]), (&json!("12345678901234567890123"), &json!(1500.0)));
    }

    #[test]
    fn others_are_what_they_were() {
        for text in [
            "18446744073709551615",
            "-9223372036854775808",
            "1e22",
            "123456789012345678901.5",
            "\"\\\"123456789012345678901\"",
        ] {
            assert_eq!(read(text).unwrap(), serde_json::from_str::<Json>(text).unwrap(), "{text}");
        }
        assert!(read("{12345678901234567890123: 1}").is_err());
        assert_eq!(integer("12345678901234567890123"), None);
        assert_eq!(integer("\u{fdd0}5"), None);
    }
}
