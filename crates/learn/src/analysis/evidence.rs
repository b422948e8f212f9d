//! The evidence for a learnt turn: for each part, two renders that show it. They are rendered when somebody asks.

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
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Evidence {
    /// The part by its name, as in [`TurnFormat::rows`], e.g. `reasoning`.
    pub field: String,
    /// How it is written, one text for each form.
    pub value: Value,
    /// The two renders that show it.
    pub source: Comparison,
}

/// Two renders that differ in one fact. Long texts are cut; `…` marks a cut.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
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

impl Comparison {
    /// What two renders show about a question.
    fn of(question: &'static str, a: &str, b: &str) -> Self {
        let Diff { prefix, left, right, suffix } = Diff::between(a, b);
        Comparison {
            question,
            before: tail(prefix, CONTEXT),
            left: head(left, DIFFERENCE),
            right: head(right, DIFFERENCE),
            after: head(suffix, CONTEXT),
        }
    }
}

impl Evidence {
    /// The evidence as one flat JSON object.
    pub fn to_json(&self) -> Value {
        let Comparison { question, before, left, right, after } = &self.source;
        json!({"field": self.field, "value": self.value, "question": question, "before": before, "left": left,
            "right": right, "after": after})
    }
}

/// The evidence for each part of a turn that has some, in the order of [`TurnFormat::rows`].
pub fn evidence(template: &Template, turn: &TurnFormat) -> Vec<Evidence> {
    let Some(sampler) = Sampler::new(template, true) else { return Vec::new() };
    let witness = Witness { sampler };
    let Value::Object(parts) = turn.to_json() else { return Vec::new() };
    let shown = |(field, value): (String, Value)| {
        let (question, a, b) = witness.pair(&field)?;
        (a != b).then(|| Evidence { field, value, source: Comparison::of(question, &a, &b) })
    };
    parts.into_iter().filter_map(shown).collect()
}

/// Renders pairs of conversations.
struct Witness<'t> {
    sampler: Sampler<'t>,
}

impl<'t> Witness<'t> {
    fn pair(&self, part: &str) -> Option<(&'static str, String, String)> {
        let text = |sample: Sample| self.sampler.plain(&sample);
        let calls = |calls: Vec<SampleCall>| Sample { calls, ..Sample::default() };
        let reply = || Sample { speaks: true, ..Sample::default() };
        let (question, a, b) = match part {
            "opening" => ("a conversation / its prompt", self.sampler.bare().to_owned(), self.sampler.prompt.clone()),
            "user" | "assistant" => return self.message(part),
            "reasoning" => return self.reasoning(),
            "end" => ("a question / a question and a reply", self.sampler.bare().to_owned(), text(reply())?),
            _ if part.ends_with("content") || part.starts_with("content") => {
                let (call, both) = (vec![SampleCall::default()], Sample { speaks: true, ..Sample::default() });
                let both = Sample { calls: call.clone(), ..both };
                ("a call / a reply and a call", text(calls(call))?, text(both).or_else(|| text(reply()))?)
            }
            "call → call" => {
                let one = || SampleCall::default();
                ("one call / two calls", text(calls(vec![one()]))?, text(calls(vec![one(), one()]))?)
            }
            _ if part.starts_with("argument: ") => {
                let kind = ValueKind::ALL.into_iter().find(|kind| part.ends_with(kind.name()))?;
                let call = |kinds: &[ValueKind]| calls(vec![Words::default().call(kinds)]);
                ("a call without / with this argument", text(call(&[]))?, text(call(&[kind]))?)
            }
            _ => ("a reply / a call", text(reply())?, text(calls(vec![Words::default().call(&[ValueKind::Text])]))?),
        };
        Some((question, a, b))
    }

    fn reasoning(&self) -> Option<(&'static str, String, String)> {
        let reply = |thinks| Sample { thinks, speaks: true, ..Sample::default() };
        let pair = self.sampler.plain(&reply(false)).zip(self.sampler.plain(&reply(true)));
        if let Some((a, b)) = pair.filter(|(a, b)| a != b) {
            return Some(("a reply without / with reasoning", a, b));
        }
        let call = |thinks| Sample { thinks, calls: vec![SampleCall::default()], ..Sample::default() };
        let pair = self.sampler.plain(&call(false)).zip(self.sampler.plain(&call(true)));
        if let Some((a, b)) = pair.filter(|(a, b)| a != b) {
            return Some(("a call without / with reasoning", a, b));
        }
        let (off, on) = (self.sampler.switched_prompt()?, self.sampler.prompt.clone());
        Some(("a prompt with thinking off / on", off, on))
    }

    fn message(&self, role: &str) -> Option<(&'static str, String, String)> {
        let asked = || self.sampler.dialogue(&[QUESTION]);
        match role {
            "assistant" => {
                Some(("a question / a question and a reply", asked()?, self.sampler.dialogue(&[QUESTION, REPLY])?))
            }
            _ => Some(("nothing / a question", self.sampler.dialogue(&[])?, asked()?)),
        }
    }
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
