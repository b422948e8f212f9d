//! An output that is cut anywhere is closed, with the values that it has, or the reason is told.

use super::written::Written;
use chatparse::grammar::{Dialect, Recogniser};
use chatparse::stream::OpenPart;
use chatparse::{EndedBy, Status, Stream};
use serde_json::Value;

/// What is wrong, and how many cuts there are, and of those: closed, and where the grammar has not
/// what the template writes; how many are in names and values, and are told so.
pub fn check(written: &Written) -> (Vec<String>, [usize; 5]) {
    let (mut wrong, mut counts) = (Vec::new(), [0; 5]);
    let output = written.output.as_bytes();
    let parser = &written.params.parser;
    let mut stream = Stream::new(parser);
    for at in 0..=output.len() {
        counts[0] += 1;
        let closing = stream.close();
        let state = stream.state();
        if written
            .values
            .iter()
            .any(|value| value.start < at && at < value.end)
        {
            counts[3] += 1;
            counts[4] += usize::from(matches!(
                state.part,
                OpenPart::Name | OpenPart::Key | OpenPart::Value
            ));
        }
        let mut told = |what: &str| {
            if wrong.len() > 1 {
                return;
            }
            let (before, behind) = (output[..at].escape_ascii(), output[at..].escape_ascii());
            wrong.push(format!(
                "{what}: {before} | {behind}\n{closing:?} {state:?}"
            ));
        };
        // The schema is that of what is written there.
        let asked = stream
            .schema()
            .map(|schema| schema["type"].as_str().map(str::to_owned));
        let there = state.call.map(|call| {
            written.calls[call]
                .1
                .pointer(&state.pointer)
                .map(|value| kind(value).to_owned())
        });
        if asked != there {
            told(&format!("a schema of {asked:?} for {there:?}"));
        }
        // What must come next is not made up.
        let mut matcher = parser.matcher().unwrap();
        let _ = matcher.feed(&output[..at]);
        let forced = matcher.forced().len().min(closing.text.len());
        let (partial, _) = parser.parse(
            &[&output[..at], &closing.text.as_bytes()[..forced]].concat(),
            EndedBy::Limit,
        );
        if !closing.complete {
            // Up to what is missing, nothing is made up.
            let longer = [&output[..at], closing.text.as_bytes()].concat();
            let (longer, _) = parser.parse(&longer, EndedBy::Limit);
            let calls = longer.tool_calls.iter().zip(&partial.tool_calls);
            let mut same = calls.map(|(one, other)| {
                one.name == other.name && one.arguments.starts_with(&other.arguments)
            });
            if longer.tool_calls.len() != partial.tool_calls.len() || !same.all(|same| same) {
                told(&format!("made up: {partial:?} {longer:?}"));
            }
        }
        match closing.complete {
            true => {
                counts[1] += 1;
                let (message, status) = parser.parse(
                    &[&output[..at], closing.text.as_bytes()].concat(),
                    EndedBy::Model,
                );
                let same = message.tool_calls.len() == partial.tool_calls.len()
                    && message.content.trim().starts_with(partial.content.trim())
                    && message
                        .reasoning_content
                        .trim()
                        .starts_with(partial.reasoning_content.trim());
                let calls = message.tool_calls.iter().zip(&partial.tool_calls);
                let mut values = calls.map(|(now, before)| {
                    let arguments = now.arguments.strip_prefix(&*before.arguments);
                    now.name == before.name
                        && serde_json::from_str::<Value>(&now.arguments).is_ok()
                        && arguments.is_some_and(|rest| {
                            rest.chars().all(|c| "\"{}] \n".contains(c)) || !closing.text.is_empty()
                        })
                });
                if status != Status::Complete || !same || !values.all(|same| same) {
                    told(&format!("{status:?}, {:?}, {:?}", partial, message));
                }
            }
            false if closing.reason.is_empty() => told("no reason"),
            false if closing.reason.contains("format") => told("no end"),
            false => counts[2] += usize::from(closing.reason.contains("grammar")),
        }
        let _ = stream.feed(&output[at..output.len().min(at + 1)]);
    }
    (wrong, counts)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "string",
        Value::Number(_) => "integer",
        Value::Array(_) => "array",
        _ => "object",
    }
}

/// The grammar of what may follow takes the rest, at each cut, and nothing that is written wrongly.
/// What is wrong, and how many cuts there are, and how many damaged rests it took that the whole
/// grammar does not take.
pub fn check_rest(written: &Written) -> (Vec<String>, [usize; 2]) {
    let (mut wrong, mut counts) = (Vec::new(), [0; 2]);
    let mut matcher = written.params.matcher().unwrap();
    let output = written.output[..written.end()].trim_end();
    let mut whole = matcher.clone();
    let taken = whole.feed(output.as_bytes()).unwrap();
    let output = &output[..(0..=taken)
        .rev()
        .find(|at| output.is_char_boundary(*at))
        .unwrap()];
    let ends = {
        let mut whole = matcher.clone();
        whole.feed(output.as_bytes()).unwrap();
        whole.may_end()
    };
    let cuts: Vec<usize> = (0..=20)
        .map(|cut| cut * output.len() / 20)
        .filter(|at| output.is_char_boundary(*at))
        .collect();
    let mut from = 0;
    for at in cuts {
        matcher.feed(&output.as_bytes()[from..at]).unwrap();
        from = at;
        counts[0] += 1;
        let told = |what: &str| format!("{what}: {:?} | {:?}", &output[..at], &output[at..]);
        let grammar = matcher.grammar(Dialect::PortableGbnf).unwrap().text;
        let rest = match Recogniser::new(&grammar) {
            Ok(rest) => rest,
            Err(error) => {
                wrong.push(told(&format!("{error}\n{grammar}")));
                continue;
            }
        };
        let text = &output[at..];
        if !rest.prefix(text) || ends != rest.accepts(text) {
            wrong.push(told(&format!("not taken, {ends}\n{grammar}")));
        }
        for (place, c) in text.char_indices().step_by(7) {
            let damaged = format!(
                "{}{}{}",
                &text[..place],
                if c == '~' { '^' } else { '~' },
                &text[place + c.len_utf8()..]
            );
            if rest.prefix(&damaged) != matcher.can(damaged.as_bytes()) {
                counts[1] += 1;
                wrong.push(told(&format!("{damaged}: not as the whole\n{grammar}")));
            }
        }
        wrong.truncate(2);
    }
    (wrong, counts)
}
