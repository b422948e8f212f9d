//! Changes the texts and scalars of JSON text, and nothing else.

/// A token of JSON text: the inside of a string, or a scalar.
#[derive(Clone, Copy)]
pub(super) enum Token<'t> {
    Text(&'t str),
    Scalar(&'t str),
}

/// Changes the keys, texts and scalars of valid JSON text. `change` gets a pointer to each; a key has the pointer of its
/// value.
pub(super) fn json_texts(json: &str, change: &mut dyn FnMut(Token, &str) -> String) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let rest = json_value(json, &mut String::new(), &mut out, change);
    out.push_str(rest);
    out
}

/// Reads a value from the start of `json`, and returns the rest. The recursion is bounded, because serde_json has read the
/// text.
fn json_value<'j>(
    json: &'j str,
    pointer: &mut String,
    out: &mut String,
    change: &mut dyn FnMut(Token, &str) -> String,
) -> &'j str {
    let rest = space(json, out);
    let length = pointer.len();
    match rest.as_bytes().first() {
        Some(open @ (b'{' | b'[')) => {
            let is_object = *open == b'{';
            out.push(char::from(*open));
            let mut rest = space(&rest[1..], out);
            let mut index = 0;
            while !rest.starts_with(['}', ']']) && !rest.is_empty() {
                if let Some(behind) = rest.strip_prefix(',') {
                    out.push(',');
                    rest = space(behind, out);
                }
                if is_object {
                    let (key, behind) = string(rest);
                    let name = serde_json::from_str::<String>(&format!("\"{key}\"")).unwrap_or_default();
                    pointer.push('/');
                    pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                    push_text(out, &change(Token::Text(key), pointer));
                    rest = space(behind, out);
                    rest = rest.strip_prefix(':').unwrap_or(rest);
                    out.push(':');
                } else {
                    pointer.push_str(&format!("/{index}"));
                }
                rest = space(json_value(rest, pointer, out, change), out);
                pointer.truncate(length);
                index += 1;
            }
            out.push_str(rest.get(..1).unwrap_or_default());
            rest.get(1..).unwrap_or_default()
        }
        Some(b'"') => {
            let (text, behind) = string(rest);
            push_text(out, &change(Token::Text(text), pointer));
            behind
        }
        _ => {
            let end = rest.find([',', '}', ']', ' ', '\t', '\r', '\n']).unwrap_or(rest.len());
            out.push_str(&change(Token::Scalar(&rest[..end]), pointer));
            &rest[end..]
        }
    }
}

fn push_text(out: &mut String, text: &str) {
    out.push('"');
    out.push_str(text);
    out.push('"');
}

fn space<'j>(json: &'j str, out: &mut String) -> &'j str {
    let rest = json.trim_start_matches([' ', '\t', '\r', '\n']);
    out.push_str(&json[..json.len() - rest.len()]);
    rest
}

/// The inside of the string at the start of `json`, with its escapes, and the rest.
fn string(json: &str) -> (&str, &str) {
    let text = json.strip_prefix('"').unwrap_or(json);
    let mut escaped = false;
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    let end = end.unwrap_or(text.len());
    (&text[..end], text.get(end + 1..).unwrap_or_default())
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
        let expected = ["/a~1b a/b", "/a~1b/0 1", "/a~1b/1 x\\\" y", "/a~1b/2/c c", "/a~1b/2/c null", "/d d", "/e e"];
        assert_eq!(seen, expected);
    }

    #[test]
    fn outer_space_of_json_texts_is_as_written() {
        assert_eq!(outer_space(" \\na b\\\\n\\n "), (" \\n", "a b\\\\n", "\\n "));
        assert_eq!(outer_space("\\n"), ("\\n", "", ""));
    }
}
