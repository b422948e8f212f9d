//! Reads a JSON value or a Python literal at the start of a text.

use serde_json::{Map, Value};

use chatparse_base::limits::JSON_DEPTH;
use chatparse_base::number;

/// The value at the start of `text`, and its length in bytes.
pub fn read(text: &str) -> Option<(Value, usize)> {
    let mut reader = LiteralReader { text, at: 0 };
    let value = reader.value(0)?;
    Some((value, reader.at))
}

struct LiteralReader<'t> {
    text: &'t str,
    at: usize,
}

impl LiteralReader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip(&mut self, text: &str) -> bool {
        let skipped = self.rest().starts_with(text);
        self.at += if skipped { text.len() } else { 0 };
        skipped
    }

    fn space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
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
        match self.rest().chars().next()? {
            '{' => self.object(depth),
            '[' => self.array(depth),
            '"' | '\'' => self.string().map(Value::String),
            '-' | '0'..='9' => self.number(),
            _ => WORDS.into_iter().find(|(word, _)| self.skip(word)).map(|(_, value)| value),
        }
    }

    /// Reads items up to the closing bracket; the position is at the opening one.
    fn items(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.at += 1;
        self.space();
        if self.skip(close) {
            return Some(());
        }
        loop {
            item(self)?;
            self.space();
            if self.skip(close) {
                return Some(());
            }
            self.skip(",").then_some(())?;
            self.space();
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        let mut members = Map::new();
        self.items("}", |reader| {
            let name = reader.string()?;
            reader.space();
            reader.skip(":").then_some(())?;
            reader.space();
            let value = reader.value(depth + 1)?;
            members.insert(name, value);
            Some(())
        })?;
        Some(Value::Object(members))
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        let mut values = Vec::new();
        self.items("]", |reader| {
            values.push(reader.value(depth + 1)?);
            Some(())
        })?;
        Some(Value::Array(values))
    }

    fn number(&mut self) -> Option<Value> {
        let end = self.rest().find(|c| !matches!(c, '-' | '+' | '.' | 'e' | 'E' | '0'..='9'));
        let digits = &self.rest()[..end.unwrap_or(self.rest().len())];
        let number = number::read(digits).ok()?;
        self.at += digits.len();
        Some(number)
    }

    fn string(&mut self) -> Option<String> {
        let quote = self.rest().chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let mut chars = self.rest().char_indices().skip(1);
        // JSON's reader decodes the escapes.
        let mut json = String::from('"');
        let mut end = None;
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => match chars.next()?.1 {
                    '\'' => json.push('\''),
                    escaped => json.extend(['\\', escaped]),
                },
                _ if c == quote => {
                    end = Some(at + 1);
                    break;
                }
                '"' => json.push_str("\\\""),
                // Templates escape quotes and not line breaks.
                '\n' => json.push_str("\\n"),
                '\0'..' ' => return None,
                _ => json.push(c),
            }
        }
        json.push('"');
        self.at += end?;
        serde_json::from_str(&json).ok()
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn json_and_python() {
        let text = r#"{"a": [1, -2.5, true, null], 'b': {'c': 'it\'s "x"', "d": [None, False]}} and more"#;
        let (value, length) = read(text).unwrap();
        assert_eq!(value, json!({"a": [1, -2.5, true, null], "b": {"c": "it's \"x\"", "d": [null, false]}}));
        assert_eq!(&text[length..], " and more");
        for broken in ["", "{", "[1", "{'a'}", "'a", "nul", "\"a\tb\""] {
            assert_eq!(read(broken), None, "{broken}");
        }
        assert_eq!(read(&"[".repeat(100_000)), None);
    }
}
