//! Names and values that begin like each other, or like a marker.

use chatparse::stream::Ended;
use chatparse::{ChatTemplate, Stream};
use serde_json::{Value, json};

use super::shown::feed;
use super::written::{Call, Written, calls, tool, turn};

/// What is wrong, and how many outputs were looked at.
pub fn check(template: &ChatTemplate, written: &Written, most: usize) -> (Vec<String>, usize) {
    let files = json!({"file": {"type": "string"}, "file_path": {"type": "string"}, "file_path_2": {"type": "integer"}});
    let names = [
        "get",
        "get_weather",
        "get_weather_now",
        "file",
        "tool",
        "tool_call",
        "function",
        "name",
    ];
    let tools: Value = names.iter().map(|name| tool(name, &files)).collect();
    let (mut wrong, mut looked) = (Vec::new(), 0);
    for call in said(written, &names, most) {
        // What a template writes in a way that nobody reads says nothing here.
        let Some((params, output)) = turn(template, &tools, std::slice::from_ref(&call)) else {
            continue;
        };
        looked += 1;
        let read = |size: usize| {
            feed(
                Stream::new(&params.parser),
                output.as_bytes().chunks(size),
                false,
            )
        };
        let same = |ended: &Ended| calls(&ended.message) == [call.clone()];
        match (read(1), read(output.len())) {
            (Ok((_, bytewise)), Ok((_, whole))) if bytewise == whole && same(&whole) => {}
            (bytewise, whole) => {
                let [bytewise, whole] = [bytewise, whole].map(|read| read.map(|(_, ended)| ended));
                wrong.push(format!(
                    "{output:?}\n  byte by byte {bytewise:?}\n  in one piece {whole:?}"
                ));
            }
        }
    }
    (wrong, looked)
}

/// Calls of one tool after the other, with values that begin like names and markers.
fn said(written: &Written, names: &[&str], most: usize) -> Vec<Call> {
    let mut values: Vec<String> = [
        "file",
        "file_path",
        "get",
        "get_weather(",
        "<",
        "</",
        "[",
        "{\"name\": ",
    ]
    .map(str::to_owned)
    .into();
    // What follows a value, as far as it is not whole.
    for pair in written.values.windows(2) {
        let behind = written.output[pair[0].end..pair[1].start].trim();
        let half = behind
            .char_indices()
            .nth(behind.chars().count() / 2)
            .map_or(0, |(at, _)| at);
        values.extend((half > 0).then(|| format!("a{}", &behind[..half])));
    }
    values.dedup();
    let value = |at: usize| Value::from(&*values[at % values.len()]);
    let arguments = |at: usize| match at % 3 {
        0 => json!({"file": value(at), "file_path": value(at + 1)}),
        1 => json!({"file_path": value(at), "file_path_2": 7}),
        _ => json!({"file": value(at)}),
    };
    let stride = values.len().div_ceil(most.max(1));
    let some = (0..values.len()).step_by(stride).zip(names.iter().cycle());
    some.map(|(at, name)| ((*name).to_owned(), arguments(at)))
        .collect()
}
