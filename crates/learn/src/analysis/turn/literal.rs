//! Reads a JSON value or a Python literal at the start of a text.

use serde_json::{Map, Value};

use chatparse_base::limits::JSON_DEPTH;
use chatparse_base::number;

/// The value at the start of `text`, and its length in bytes.
pub fn read(text: &str) -> Option<(Value, usize)> {
    let mut rest = text;
    let value = value(&mut rest, 0)?;
    Some((value, text.len() - rest.len()))
}

/// Whether the rest begins with this text, which is then after.
fn skip(rest: &mut &str, text: &str) -> bool {
    let behind = rest.strip_prefix(text);
    *rest = behind.unwrap_or(rest);
    behind.is_some()
}

/// The same with white space around the text.
fn skip_spaced(rest: &mut &str, text: &str) -> bool {
    *rest = rest.trim_start();
    let skipped = skip(rest, text);
    *rest = if skipped { rest.trim_start() } else { rest };
    skipped
}

fn value(rest: &mut &str, depth: usize) -> Option<Value> {
    const WORDS: [(&str, Value); 6] = [
        ("true", Value::Bool(true)),
        ("false", Value::Bool(false)),
        ("null", Value::Null),
        ("True", Value::Bool(true)),
        ("False", Value::Bool(false)),
        ("None", Value::Null),
    ];
    if depth > JSON_DEPTH {
        return None;
    }
    match rest.chars().next()? {
        '{' => {
            let mut members = Map::new();
            items(rest, "}", |rest| {
                let name = string(rest)?;
                skip_spaced(rest, ":").then_some(())?;
                members.insert(name, value(rest, depth + 1)?);
                Some(())
            })?;
            Some(members.into())
        }
        '[' => {
            let mut values = Vec::new();
            items(rest, "]", |rest| {
                values.push(value(rest, depth + 1)?);
                Some(())
            })?;
            Some(values.into())
        }
        '"' | '\'' => string(rest).map(Value::String),
        '-' | '0'..='9' => {
            let digits = rest
                .split(|c: char| !matches!(c, '-' | '+' | '.' | 'e' | 'E' | '0'..='9'))
                .next()?;
            *rest = &rest[digits.len()..];
            number::read(digits).ok()
        }
        _ => WORDS
            .into_iter()
            .find(|(word, _)| skip(rest, word))
            .map(|(_, value)| value),
    }
}

/// Reads items from the opening bracket to the closing one.
fn items(
    rest: &mut &str,
    close: &str,
    mut item: impl FnMut(&mut &str) -> Option<()>,
) -> Option<()> {
    *rest = rest[1..].trim_start();
    if skip(rest, close) {
        return Some(());
    }
    loop {
        item(rest)?;
        if skip_spaced(rest, ",") {
            continue;
        }
        return skip(rest, close).then_some(());
    }
}

fn string(rest: &mut &str) -> Option<String> {
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut chars = rest.char_indices().skip(1);
    // JSON's reader decodes the escapes.
    let mut json = String::from('"');
    loop {
        match chars.next()? {
            (_, '\\') => match chars.next()?.1 {
                '\'' => json.push('\''),
                escaped => json.extend(['\\', escaped]),
            },
            (at, c) if c == quote => {
                *rest = &rest[at + 1..];
                json.push('"');
                return serde_json::from_str(&json).ok();
            }
            (_, '"') => json.push_str("\\\""),
            // Templates escape quotes and not line breaks.
            (_, '\n') => json.push_str("\\n"),
            (_, '\0'..' ') => return None,
            (_, c) => json.push(c),
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn json_and_python() {
        let text =
            r#"{"a": [1, -2.5, true, null], 'b': {'c': 'it\'s "x"', "d": [None, False]}} and more"#;
        let (value, length) = read(text).unwrap();
        assert_eq!(
            value,
            json!({"a": [1, -2.5, true, null], "b": {"c": "it's \"x\"", "d": [null, false]}})
        );
        assert_eq!(&text[length..], " and more");
        for broken in ["", "{", "[1", "{'a'}", "'a", "nul", "\"a\tb\""] {
            assert_eq!(read(broken), None, "{broken}");
        }
        assert_eq!(read(&"[".repeat(100_000)), None);
    }
}
