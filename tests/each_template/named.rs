//! Names of tools and arguments that are others, or not whole: all of their text is in the message.

use chatparse::Stream;
use chatparse::stream::Ended;

use super::shown::feed;
use super::written::Written;

/// Names of no tool, the second in two parts.
const OTHERS: [&str; 2] = ["wk7pzq", "wk7pzq.vd3xj"];

/// What of a name is in no field, and how many outputs were looked at.
pub fn check(written: &Written) -> (Vec<String>, usize) {
    let (own, mut wrong, mut looked) = (written.output.as_str(), Vec::new(), 0);
    let mut look = |output: &str, words: &[&str]| {
        looked += 1;
        let read = |size: usize| feed(Stream::new(&written.params.parser), output.as_bytes().chunks(size), false);
        match (read(1), read(output.len())) {
            (Ok((_, bytes)), Ok((_, whole))) if bytes != whole => {
                wrong.push(format!("{output:?}: {bytes:?}\n {whole:?}"))
            }
            (Ok((_, ended)), Ok(_)) => {
                let lost = words.iter().find(|word| !holds(&ended, word));
                wrong.extend(lost.map(|word| format!("{word} of {output:?} is lost: {:?}", ended.message)));
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
        for key in arguments.as_object().into_iter().flatten().map(|(key, _)| key) {
            look(&own[..own.find(key).map_or(0, |at| at + 4)], &[&key[..4]]);
        }
    }
    (wrong, looked)
}

fn holds(ended: &Ended, word: &str) -> bool {
    let message = &ended.message;
    let calls = message.tool_calls.iter().flat_map(|call| [&call.name, &call.id, &call.arguments]);
    [&message.reasoning_content, &message.content].into_iter().chain(calls).any(|text| text.contains(word))
}
