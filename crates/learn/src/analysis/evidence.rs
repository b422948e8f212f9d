//! The evidence for a learnt turn: for each part, two renders that show it. They are rendered when
//! somebody asks.

use serde::Serialize;
use serde_json::Value;

use super::diff::Diff;
use super::turn::sample::{QUESTION, REPLY, Sample, SampleCall, Sampler, Words};
use super::turn::{TurnFormat, ValueKind};
use chatparse_jinja::Template;

/// Shared text that is kept on either side of a difference, in characters.
const CONTEXT: usize = 60;
/// Longest difference that is kept, in characters.
const DIFFERENCE: usize = 600;

/// A part of a turn and its source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// The part by its name, as in [`TurnFormat::rows`], e.g. `reasoning`.
    pub field: String,
    /// How it is written, one text for each form.
    pub value: Value,
    /// The two renders that show it.
    #[serde(flatten)]
    pub source: Comparison,
}

/// Two renders that differ in one fact. Long texts are cut; `…` marks a cut.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The fact, e.g. `a reply without / with reasoning`.
    pub question: &'static str,
    /// The end of the text that both renders share before the difference.
    pub before: String,
    /// What only the first render has.
    pub left: String,
    /// What only the second render has.
    pub right: String,
    /// The start of the text that both renders share after it.
    pub after: String,
}

impl Evidence {
    /// The evidence as one flat JSON object.
    pub fn to_json(&self) -> Value {
        json!(self)
    }
}

/// The evidence for each part of a turn that has some, in the order of [`TurnFormat::rows`].
pub fn evidence(template: &Template, turn: &TurnFormat) -> Vec<Evidence> {
    let Some(sampler) = Sampler::new(template, true) else {
        return Vec::new();
    };
    let Value::Object(parts) = turn.to_json() else {
        return Vec::new();
    };
    let shown = parts.into_iter().filter_map(|(field, value)| {
        let (question, a, b) = pair(&sampler, &field).filter(|(_, a, b)| a != b)?;
        let Diff {
            prefix,
            left,
            right,
            suffix,
        } = Diff::between(&a, &b);
        let (before, after) = (tail(prefix, CONTEXT), head(suffix, CONTEXT));
        let (left, right) = (head(left, DIFFERENCE), head(right, DIFFERENCE));
        Some(Evidence {
            field,
            value,
            source: Comparison {
                question,
                before,
                left,
                right,
                after,
            },
        })
    });
    shown.collect()
}

/// A question about a part, and two renders that answer it.
fn pair(sampler: &Sampler, part: &str) -> Option<(&'static str, String, String)> {
    let empty = || vec![SampleCall::default()];
    let reply = || sampler.plain(&Sample::reply());
    let (question, a, b) = match part {
        "opening" => (
            "a conversation / its prompt",
            Some(sampler.bare.clone()),
            Some(sampler.prompt.clone()),
        ),
        "user" => (
            "nothing / a question",
            sampler.dialogue(&[]),
            sampler.dialogue(&[QUESTION]),
        ),
        "assistant" => (
            "a question / a question and a reply",
            sampler.dialogue(&[QUESTION]),
            sampler.dialogue(&[QUESTION, REPLY]),
        ),
        "reasoning" => {
            let of_reply = ("a reply without / with reasoning", true, Vec::new());
            let of_call = ("a call without / with reasoning", false, empty());
            // A template may show reasoning beside calls alone.
            for (question, speaks, calls) in [of_reply, of_call] {
                let [without, with] = [false, true]
                    .map(|thinks| sampler.plain(&Sample::new(thinks, speaks, calls.clone())));
                if let (Some(a), Some(b)) = (without, with)
                    && a != b
                {
                    return Some((question, a, b));
                }
            }
            (
                "a prompt with thinking off / on",
                sampler.switched_prompt(),
                Some(sampler.prompt.clone()),
            )
        }
        "end" => (
            "a question / a question and a reply",
            Some(sampler.bare.clone()),
            reply(),
        ),
        _ if part.ends_with("content") || part.starts_with("content") => (
            "a call / a reply and a call",
            calls(sampler, empty()),
            sampler
                .plain(&Sample::new(false, true, empty()))
                .or_else(reply),
        ),
        "call → call" => (
            "one call / two calls",
            calls(sampler, empty()),
            calls(sampler, vec![SampleCall::default(); 2]),
        ),
        _ if part.starts_with("argument: ") => {
            let mut kinds = ValueKind::ALL.into_iter();
            let kind = kinds.find(|kind| part.ends_with(kind.name()))?;
            (
                "a call without / with this argument",
                calls(sampler, empty()),
                calls(sampler, vec![Words::default().call(&[kind])]),
            )
        }
        _ => (
            "a reply / a call",
            reply(),
            calls(sampler, vec![Words::default().call(&[ValueKind::Text])]),
        ),
    };
    Some((question, a?, b?))
}

fn calls(sampler: &Sampler, calls: Vec<SampleCall>) -> Option<String> {
    sampler.plain(&Sample::of_calls(calls))
}

/// The first `most` characters of `text`.
fn head(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// The last `most` characters of `text`.
fn tail(text: &str, most: usize) -> String {
    match text.char_indices().nth_back(most) {
        Some((at, c)) => format!("…{}", &text[at + c.len_utf8()..]),
        None => text.to_string(),
    }
}
