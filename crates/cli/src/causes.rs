//! Groups the results of `lint` by cause: messages that fail in the same way are one finding.

use std::collections::BTreeSet;

use chatparse::lint::{Case, Difference, Outcome, Report};
use serde_json::{Map, Value};

/// Messages that fail for the same reason.
pub struct Cause<'a> {
    /// The name of the outcome: `lost`, `no_turn`.
    pub name: &'static str,
    /// A description.
    pub meaning: String,
    /// A text that messages with this cause share, and others do not.
    mark: String,
    pub is_fault: bool,
    /// The first one is shown as the example.
    pub cases: Vec<&'a Case>,
}

impl Cause<'_> {
    /// The names of the messages, with their thinking unless all of them fail.
    pub fn messages(&self, report: &Report) -> String {
        // Messages in a row that fail with the same thinking are listed together.
        let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
        for same in self.cases.chunk_by(|a, b| a.probe == b.probe) {
            let probe = same[0].probe;
            let tried = report.cases.iter().filter(|case| case.probe == probe);
            let mut thinking = String::new();
            if same.len() < tried.count() {
                let names: Vec<&str> = same.iter().map(|case| case.thinking.name()).collect();
                thinking = format!(" ({})", names.join(", "));
            }
            match groups.last_mut() {
                Some((last, probes)) if *last == thinking => probes.push(probe),
                _ => groups.push((thinking, vec![probe])),
            }
        }
        let all = report.cases.chunk_by(|a, b| a.probe == b.probe).count();
        let mut listed = Vec::new();
        for (thinking, probes) in groups {
            listed.push(match probes.len() == all {
                true => "all".to_owned() + &thinking,
                false => probes.join(", ") + &thinking,
            });
        }
        listed.join("; ")
    }
}

/// The causes of all results that need a remark, faults first.
pub fn causes(report: &Report) -> Vec<Cause<'_>> {
    let faults: Vec<&Case> = report.faults().collect();
    let mut causes: Vec<Cause> = Vec::new();
    for case in &report.cases {
        let Some((meaning, mark)) = cause(&case.outcome) else {
            continue;
        };
        let (name, is_fault) = (case.outcome.name(), faults.contains(&case));
        match causes
            .iter_mut()
            .find(|known| known.mark == mark && (known.name, known.is_fault) == (name, is_fault))
        {
            Some(known) => known.cases.push(case),
            None => causes.push(Cause {
                name,
                meaning,
                mark,
                is_fault,
                cases: vec![case],
            }),
        }
    }
    causes.sort_by_key(|cause| !cause.is_fault);
    causes
}

/// The description of an outcome, and a text that identifies its cause; `None` if it needs no
/// remark.
fn cause(outcome: &Outcome) -> Option<(String, String)> {
    let (meaning, mark) = match outcome {
        Outcome::Survives => return None,
        Outcome::Omitted(part) => ("the template leaves out the ", (*part).to_owned()),
        Outcome::NoTurn(difference) => (
            "the message does not begin where the prompt ends, so what the model writes is not known",
            ending(&difference.expected),
        ),
        Outcome::Lost(difference) => (
            "another message is read than was written; it differs in ",
            differing(difference),
        ),
        Outcome::Alike(difference) => (
            "the template writes another message alike, and that one is read; they differ in ",
            differing(difference),
        ),
        Outcome::Spaced(difference) => (
            "a text is read with white space around it; trim texts before you render them again",
            next(difference),
        ),
        Outcome::Rewritten(difference) => (
            "the message is read, but renders to other bytes",
            next(difference),
        ),
        Outcome::Refused(error) => ("the template raises an error", error.message().to_owned()),
    };
    // Some descriptions end with the mark.
    let mut meaning = meaning.to_owned();
    if meaning.ends_with(' ') {
        meaning += &mark;
    }
    Some((meaning, mark))
}

/// The end of a prompt; its beginning differs between messages.
fn ending(text: &str) -> String {
    const CHARS: usize = 12;
    let from = text.char_indices().rev().nth(CHARS - 1);
    text[from.map_or(0, |(at, _)| at)..].to_owned()
}

/// The differing characters; the text after them belongs to the message.
fn next(Difference { expected, got, .. }: &Difference) -> String {
    let end = [None];
    let expected = expected.chars().map(Some).chain(end);
    let mut pairs = expected.zip(got.chars().map(Some).chain(end));
    let differs = pairs.find(|(a, b)| a != b);
    format!("{differs:?}")
}

/// The fields in which two messages differ, each of them JSON.
fn differing(Difference { expected, got, .. }: &Difference) -> String {
    let expected: Value = serde_json::from_str(expected).unwrap_or_default();
    let got: Value = serde_json::from_str(got).unwrap_or_default();
    let mut names = BTreeSet::new();
    for fields in [&expected, &got] {
        for name in fields.as_object().into_iter().flat_map(Map::keys) {
            if expected[name] != got[name] {
                names.insert(name.as_str());
            }
        }
    }
    Vec::from_iter(names).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_fail_alike_have_one_cause() {
        let difference = |expected: &str, got: &str| {
            let mut difference = Difference::default();
            (difference.expected, difference.got) = (expected.to_owned(), got.to_owned());
            difference
        };
        let lost =
            |expected: &str, got: &str| cause(&Outcome::Lost(difference(expected, got))).unwrap().1;
        assert_eq!(lost(r#"{"content":"a"}"#, r#"{"content":"b"}"#), "content");
        assert_eq!(
            lost(r#"{"content":"a"}"#, r#"{"tool_calls":[]}"#),
            "content, tool_calls"
        );
        let rewritten = |expected: &str, got: &str| next(&difference(expected, got));
        assert_eq!(
            rewritten("one\n\nA", "one\nA"),
            rewritten("other\n\nB", "other\nA")
        );
        assert_ne!(rewritten("one\n", "one"), rewritten("one ", "one"));
        assert_eq!(
            (&*ending("é<|assistant|>"), &*ending("é")),
            ("|assistant|>", "é")
        );
    }
}
