//! Changes the texts and scalars of JSON text, and nothing else.

use std::ops::Range;

use chatparse_stream::Json;

/// A token of JSON text: the inside of a string, or a scalar.
#[derive(Clone, Copy)]
pub(super) enum Token<'t> {
    Text(&'t str),
    Scalar(&'t str),
}

/// Changes the keys, texts and scalars of the objects and arrays in valid JSON text. `change` gets
/// a pointer to each; a key has the pointer of its value.
pub(super) fn json_texts(json: &str, change: &mut dyn FnMut(Token, &str) -> String) -> String {
    let mut changes: Vec<(Range<usize>, String)> = Vec::new();
    let (mut walk, mut from) = (Json::default(), 0);
    for (at, c) in json.char_indices() {
        let behind = at + c.len_utf8();
        let (was_in_string, at_name) = (walk.in_string, walk.at_name);
        walk.read(&json[at..behind], &mut |walk, token| match c {
            '{' | '[' if token.len() == 1 => {}
            '"' => {
                let text = change(Token::Text(&json[from..at]), &walk.pointer);
                changes.push((from..at, text));
            }
            // A scalar ends before the character that follows it.
            _ => {
                let scalar = change(Token::Scalar(&json[at - token.len()..at]), &walk.pointer);
                changes.push((at - token.len()..at, scalar));
            }
        });
        if walk.in_string && !was_in_string {
            from = behind;
        } else if was_in_string && !walk.in_string && at_name {
            let text = change(Token::Text(&json[from..at]), &walk.pointer);
            changes.push((from..at, text));
        }
    }
    let (mut out, mut copied) = (String::with_capacity(json.len() * 2), 0);
    for (range, text) in changes {
        out.extend([&json[copied..range.start], &text]);
        copied = range.end;
    }
    out + &json[copied..]
}

/// A text without its outer white space, and the white space.
pub(super) fn outer_space(text: &str) -> (&str, &str, &str) {
    const SPACE: [&str; 4] = [" ", "\\n", "\\t", "\\r"];
    let mut inner = text;
    while let Some(rest) = SPACE.iter().find_map(|space| inner.strip_prefix(space)) {
        inner = rest;
    }
    let start = text.len() - inner.len();
    while let Some(rest) = SPACE.iter().find_map(|space| inner.strip_suffix(space)) {
        let slashes = rest.bytes().rev().take_while(|byte| *byte == b'\\').count();
        if slashes % 2 == 1 {
            break;
        }
        inner = rest;
    }
    (&text[..start], inner, &text[start + inner.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_its_form_and_each_token_its_pointer() {
        let json = r#" { "a/b" : [ 1, "x\" y" ,{"c":null}] ,"d":{}, "e": [] } "#;
        let mut seen = Vec::new();
        let same = json_texts(json, &mut |token, pointer| {
            let (Token::Text(text) | Token::Scalar(text)) = token;
            seen.push(format!("{pointer} {text}"));
            text.to_owned()
        });
        assert_eq!(same, json);
        let expected = [
            "/a~1b a/b",
            "/a~1b/0 1",
            "/a~1b/1 x\\\" y",
            "/a~1b/2/c c",
            "/a~1b/2/c null",
            "/d d",
            "/e e",
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn outer_space_of_json_texts_is_as_written() {
        assert_eq!(
            outer_space(" \\na b\\\\n\\n "),
            (" \\n", "a b\\\\n", "\\n ")
        );
        assert_eq!(outer_space("\\n"), ("\\n", "", ""));
    }
}
