//! White space around markers is free, or a diagnostic names the place where it is not.

use std::ops::Range;

use serde_json::Value;

use super::written::{Call, Written};

/// Markers that look like several.
const TOKENS: [&str; 2] = ["]<]minimax[>[", ">>>"];

/// What is wrong, and how many outputs were looked at.
pub fn check(name: &str, written: &Written, most: usize) -> (Vec<String>, usize) {
    let mut cases = Vec::new();
    let exempt = EXEMPT
        .iter()
        .filter(|(exempt, _)| *exempt == name)
        .flat_map(|(_, fronts)| *fronts);
    for place in places(written) {
        if exempt
            .clone()
            .any(|front| written.output[..place.start].ends_with(front))
        {
            continue;
        }
        let there = &written.output[place.clone()];
        let ways = [
            String::new(),
            " ".to_owned(),
            "\n".to_owned(),
            "  ".to_owned(),
            "\n\n".to_owned(),
            there.repeat(2),
        ];
        // Two words with nothing between them are another word.
        let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let [before, behind] = [&written.output[..place.start], &written.output[place.end..]];
        let needed =
            !there.is_empty() && word(before.chars().next_back()) && word(behind.chars().next());
        cases.extend(
            ways.into_iter()
                .filter(|new| new != there && !(needed && new.is_empty()))
                .map(|new| (place.clone(), new)),
        );
    }
    // Some of each kind, from all over the output.
    let stride = cases.len().div_ceil(most).max(1);
    let cases: Vec<_> = cases.into_iter().step_by(stride).collect();
    let wrong = cases
        .iter()
        .filter_map(|(place, new)| unread(written, place, new).err());
    (wrong.collect(), cases.len())
}

/// Where white space counts, by what is in front of it: `>>> ` is a prompt of Python's, which prose
/// shows. The others write the beginning of JSON next to a marker, and the text in front of calls
/// ends at both together.
const EXEMPT: &[(&str, &[&str])] = &[
    (
        "meetkai-functionary-medium-v3.2",
        &[">>>", ">>>get_weather", ">>>send_mail"],
    ),
    ("Apertus-8B-Instruct", &["["]),
    ("fireworks-ai-llama-3-firefunction-v2", &["functools", "["]),
    (
        "huggingface.js-CISCai_Mistral-7B-Instruct-v0.3-SOTA-GGUF",
        &[",", ":"],
    ),
    // The recipient is a name next to a sign.
    ("muse-glimmer", &[" to="]),
    ("ik_llama.cpp-deepseek-ai-DeepSeek-V4.1", &["｜"]),
    (
        "sglang-chat_template_tool_chat_template_deepseekr1",
        &["function", "begin｜>"],
    ),
    ("unsloth-Apriel-1.5", &["["]),
];

/// Where white space stands at a marker's edge or could: outside of values and quotes.
fn places(written: &Written) -> Vec<Range<usize>> {
    let (text, end) = (&written.output, written.end());
    let mut places = Vec::new();
    let mut at = written.spans[0].start;
    while at <= end {
        let before = text[..at].chars().next_back();
        let next = text[at..].chars().next();
        if next.is_some_and(char::is_whitespace) && written.is_markup(at) {
            let run = text[at..].len() - text[at..].trim_start().len();
            places.push(at..at + run);
            at += run;
            continue;
        } else if let Some(token) = TOKENS.iter().find(|token| text[at..].starts_with(**token)) {
            places.extend((!before.is_some_and(char::is_whitespace)).then_some(at..at));
            at += token.len();
            continue;
        } else {
            let begins = written.values.iter().any(|value| value.start == at)
                && !before.is_some_and(is_quote);
            let ends =
                written.values.iter().any(|value| value.end == at) && !next.is_some_and(is_quote);
            let inside = written
                .values
                .iter()
                .any(|value| value.start < at && at < value.end);
            let between = matches!(before, Some('>' | ']' | '}' | ')'))
                || matches!(next, Some('<' | '[' | '{' | '('));
            let quoted = written
                .values
                .iter()
                .any(|value| value.start == at || value.end == at);
            if (begins || ends || between && !inside && !quoted)
                && !before.is_some_and(char::is_whitespace)
            {
                places.push(at..at);
            }
        }
        at += text[at..].chars().next().map_or(1, char::len_utf8);
    }
    places
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '\\')
}

/// The error says how the output is read with `new` in that place.
fn unread(written: &Written, place: &Range<usize>, new: &str) -> Result<(), String> {
    let mut output = written.output.clone();
    output.replace_range(place.clone(), new);
    let (calls, ended) = written.read(&output);
    let (_, plain) = written.read(&written.output);
    let same = calls.len() == written.calls.len()
        && calls.iter().zip(&written.calls).all(|(a, b)| alike(a, b));
    let text = |ended: &chatparse::stream::Ended| ended.message.content.trim().to_owned();
    if same && text(&ended) == text(&plain) {
        return Ok(());
    }
    let around = place.start.saturating_sub(1)..place.start + new.len() + 1;
    if ended
        .diagnostics()
        .iter()
        .any(|found| found.span.start <= around.end && around.start <= found.span.end)
    {
        return Ok(());
    }
    Err(format!(
        "{:?} at {}: {:?}\n  is read as {ended:?}",
        new, place.start, output
    ))
}

/// Whether a call is that call: texts may have taken white space that nothing tells from their own.
fn alike(call: &Call, expected: &Call) -> bool {
    call.0 == expected.0 && alike_values(&call.1, &expected.1)
}

fn alike_values(value: &Value, expected: &Value) -> bool {
    match (value, expected) {
        (Value::String(a), Value::String(b)) => a.trim() == b,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike_values(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| alike_values(a, b)))
        }
        (a, b) => a == b,
    }
}
