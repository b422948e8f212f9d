//! The values in JSON text.

use std::ops::Range;

use chatparse_stream::Json;

/// The places of the keys, texts and scalars of the objects and arrays in valid JSON text, in
/// order, with a pointer to each; a key has the pointer of its value.
pub(super) fn json_values(json: &str) -> Vec<(Range<usize>, String)> {
    let mut found: Vec<(Range<usize>, String)> = Vec::new();
    let (mut walk, mut from) = (Json::default(), 0);
    for (at, c) in json.char_indices() {
        let behind = at + c.len_utf8();
        let (was_in_string, at_name) = (walk.in_string, walk.at_name);
        walk.read(&json[at..behind], &mut |walk, token| match c {
            '{' | '[' if token.len() == 1 => {}
            '"' => found.push((from..at, walk.pointer.clone())),
            // A scalar ends before the character that follows it.
            _ => found.push((at - token.len()..at, walk.pointer.clone())),
        });
        if walk.in_string && !was_in_string {
            from = behind;
        } else if was_in_string && !walk.in_string && at_name {
            found.push((from..at, walk.pointer.clone()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_of_json_has_its_pointer() {
        let json = r#" { "a/b" : [ 1, "x\" y" ,{"c":null}] ,"d":{}, "e": [] } "#;
        let seen = json_values(json).into_iter();
        let seen: Vec<String> = seen
            .map(|(range, at)| format!("{at} {}", &json[range]))
            .collect();
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
}
