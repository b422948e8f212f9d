//! Names of tools and arguments that are others, or not whole: all of their text is in the message.

use chatparse::stream::Ended;
use chatparse::{ChatTemplate, Request, Stream};
use serde_json::json;

use super::shown::feed;
use super::written::{Written, tool};

/// Names of no tool, the second in two parts.
const OTHERS: [&str; 2] = ["wk7pzq", "wk7pzq.vd3xj"];

/// What of a name is in no field, and how many outputs were looked at.
pub fn check(written: &Written) -> (Vec<String>, usize) {
    let (own, mut wrong, mut looked) = (written.output.as_str(), Vec::new(), 0);
    let mut look = |output: &str, words: &[&str]| {
        looked += 1;
        let read = |size: usize| {
            feed(
                Stream::new(&written.params.parser),
                output.as_bytes().chunks(size),
                false,
            )
        };
        match (read(1), read(output.len())) {
            (Ok((_, bytes)), Ok((_, whole))) if bytes != whole => {
                wrong.push(format!("{output:?}: {bytes:?}\n {whole:?}"))
            }
            (Ok((_, ended)), Ok(_)) => {
                let lost = words.iter().find(|word| !holds(&ended, word));
                wrong.extend(
                    lost.map(|word| format!("{word} of {output:?} is lost: {:?}", ended.message)),
                );
            }
            (bytes, whole) => wrong.extend([bytes.err(), whole.err()].into_iter().flatten()),
        }
    };
    for (name, arguments) in &written.calls {
        for (at, _) in own.match_indices(name) {
            for other in OTHERS {
                let output = format!("{}{other}{}", &own[..at], &own[at + name.len()..]);
                look(&output, &other.split('.').collect::<Vec<_>>());
            }
        }
        // The output ends behind the first letters of an argument's name.
        for key in arguments
            .as_object()
            .into_iter()
            .flatten()
            .map(|(key, _)| key)
        {
            look(&own[..own.find(key).map_or(0, |at| at + 4)], &[&key[..4]]);
        }
    }
    (wrong, looked)
}

/// What of a thought and a call, whose name is another one in one place, is read twice or not at
/// all.
pub fn check_thinking(template: &ChatTemplate) -> (Vec<String>, usize) {
    let call = json!({"type": "function", "id": "abc000000", "function": {"name": "get_weather", "arguments": "{\"town\": \"qz1a\"}"}});
    let said = json!({"role": "assistant", "content": "", "reasoning_content": "Hm.", "tool_calls": [call]});
    let rendered = |more: &[serde_json::Value], prompt: bool| {
        let messages = [&[json!({"role": "user", "content": "Well?"})], more].concat();
        let body = json!({"messages": messages, "tools": [tool("get_weather", &json!({"town": {"type": "string"}}))], "now": 0,
            "reasoning_format": "auto", "add_generation_prompt": prompt});
        template
            .params(&Request::from_json(&body).expect("it has the right shape"))
            .ok()
    };
    let Some((params, whole)) = rendered(&[], true).zip(rendered(&[said], false)) else {
        return (Vec::new(), 0);
    };
    let Some(own) = whole.prompt.strip_prefix(&*params.prompt) else {
        return (Vec::new(), 0);
    };
    let places: Vec<usize> = own.match_indices("get_weather").map(|(at, _)| at).collect();
    let wrong = places.iter().filter_map(|at| {
        let output = format!(
            "{}{}{}",
            &own[..*at],
            OTHERS[0],
            &own[at + "get_weather".len()..]
        );
        let read = |size: usize| {
            feed(
                Stream::new(&params.parser),
                output.as_bytes().chunks(size),
                false,
            )
        };
        let read = read(1).and_then(|(_, bytes)| Ok((bytes, read(output.len())?.1)));
        match read {
            Ok((bytes, whole)) if bytes == whole && holds(&whole, OTHERS[0]) => None,
            found => Some(format!("{output:?}: {found:?}")),
        }
    });
    (wrong.collect(), places.len())
}

fn holds(ended: &Ended, word: &str) -> bool {
    let message = &ended.message;
    let calls = message
        .tool_calls
        .iter()
        .flat_map(|call| [&call.name, &call.id, &call.arguments]);
    [&message.reasoning_content, &message.content]
        .into_iter()
        .chain(calls)
        .any(|text| text.contains(word))
}
