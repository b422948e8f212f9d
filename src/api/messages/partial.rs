//! Reads the complete members of a JSON object that was cut off.

use chatparse_base::number;
use serde_json::{Map, Value};

/// The object in `text`; if it was cut off, up to the last complete value. Anything else gives an empty object, because the
/// API has no place for it.
pub(in crate::api) fn object(text: &str) -> Map<String, Value> {
    let whole = number::read(text).ok().or_else(|| number::read(&closed(text)?).ok());
    match whole {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// The text up to the last position where closing the open brackets gives JSON, with those closed.
fn closed(text: &str) -> Option<String> {
    let mut open = Vec::new();
    // Where the text can end, and the number of open brackets there.
    let mut end = None;
    // The last token is a key, or may be one.
    let mut key = false;
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let next = at + 1;
        match bytes[at] {
            b'{' | b'[' => {
                open.push(if bytes[at] == b'{' { b'}' } else { b']' });
                key = bytes[at] == b'{';
                end = Some((next, open.len()));
            }
            b'}' | b']' => {
                open.pop();
                key = false;
                end = Some((next, open.len()));
            }
            b',' => key = open.last() == Some(&b'}'),
            b':' => key = false,
            b'"' => {
                let Some(length) = string_length(&bytes[next..]) else { break };
                at = next + length;
                if !key {
                    end = Some((at + 1, open.len()));
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            // A number or a word is complete if something follows it.
            _ => {
                let rest = &bytes[at..];
                let length =
                    rest.iter().position(|byte| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace());
                let Some(length) = length else { break };
                at += length - 1;
                end = Some((at + 1, open.len()));
            }
        }
        at += 1;
    }
    let (end, depth) = end?;
    let mut closed = text.get(..end)?.to_owned();
    closed.extend(open.get(..depth)?.iter().rev().map(|byte| char::from(*byte)));
    Some(closed)
}

/// The length up to the quote that closes a string, if there is one.
fn string_length(bytes: &[u8]) -> Option<usize> {
    let mut escaped = false;
    bytes.iter().position(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    })
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn of_an_object_that_breaks_off_its_whole_members_stay() {
        let text = r#"{"a": [1, {"b": "x\"\\"}, -25.5], "c": {"d": null, "e": true}, "f": "}"}"#;
        let seen: Vec<Value> = (0..=text.len()).map(|end| Value::Object(object(&text[..end]))).collect();
        assert_eq!(seen.last(), Some(&serde_json::from_str(text).unwrap()));
        let at = |part: &str| seen[text.find(part).unwrap() + part.len()].clone();
        assert_eq!(at("{"), json!({}));
        assert_eq!(at("[1"), json!({"a": []}));
        assert_eq!(at("[1,"), json!({"a": [1]}));
        assert_eq!(at("{\"b\":"), json!({"a": [1, {}]}));
        assert_eq!(at("\\\\\"}"), json!({"a": [1, {"b": "x\"\\"}]}));
        assert_eq!(at("\"c\""), json!({"a": [1, {"b": "x\"\\"}, -25.5]}));
        assert_eq!(at("tru")["c"], json!({"d": null}));
        assert_eq!(at("\"f\"")["c"], json!({"d": null, "e": true}));
        // With more text, members never disappear.
        for pair in seen.windows(2) {
            assert!(pair[0].to_string().len() <= pair[1].to_string().len(), "{} {}", pair[0], pair[1]);
        }
    }

    #[test]
    fn what_is_no_object_is_an_empty_one() {
        let deep = "[".repeat(100_000);
        for text in ["", "7", "[1]", "\"a\"", "{\"a\": 1}}", "}", "]{", "{]", "{\"a\" 1,", deep.as_str()] {
            assert_eq!(object(text), Map::new(), "{text:.20}");
        }
    }
}
