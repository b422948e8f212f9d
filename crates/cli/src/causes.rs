//! Groups the results of `lint` by cause: messages that fail in the same way are one finding.

use chatparse::lint::{Case, Difference, Outcome, Report};
use serde_json::Value;

/// Messages that fail for the same reason.
pub struct Cause<'a> {
    /// The name of the outcome: `lost`, `no_turn`.
    pub name: &'static str,
    /// A description.
    pub meaning: String,
    /// What messages that fail for this reason have in common.
    mark: String,
    pub is_fault: bool,
    /// The first one is shown as the example.
    pub cases: Vec<&'a Case>,
}

impl Cause<'_> {
    /// The names of the messages, with their thinking unless all of them fail.
    pub fn messages(&self, report: &Report) -> String {
        let all_of = |probe: &str| {
            report
                .cases
                .iter()
                .filter(|case| case.probe == probe)
                .count()
        };
        // By thinking.
        let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
        for same in self.cases.chunk_by(|a, b| a.probe == b.probe) {
            let ways: Vec<&str> = same.iter().map(|case| case.thinking.name()).collect();
            let all = ways.len() == all_of(same[0].probe);
            let ways = if all {
                String::new()
            } else {
                format!(" ({})", ways.join(", "))
            };
            match groups.last_mut() {
                Some((last, probes)) if *last == ways => probes.push(same[0].probe),
                _ => groups.push((ways, vec![same[0].probe])),
            }
        }
        let all = report.cases.chunk_by(|a, b| a.probe == b.probe).count();
        let names = |probes: &[&str]| {
            if probes.len() == all {
                "all".to_owned()
            } else {
                probes.join(", ")
            }
        };
        groups
            .iter()
            .map(|(ways, probes)| names(probes) + ways)
            .collect::<Vec<_>>()
            .join("; ")
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
    // Some descriptions end with what is common.
    Some((
        if meaning.ends_with(' ') {
            format!("{meaning}{mark}")
        } else {
            meaning.to_owned()
        },
        mark,
    ))
}

/// The end of a prompt; its beginning differs between messages.
fn ending(text: &str) -> String {
    const CHARS: usize = 12;
    let from = text
        .char_indices()
        .rev()
        .take(CHARS)
        .last()
        .map_or(0, |(at, _)| at);
    text[from..].to_owned()
}

/// The differing characters; the text after them belongs to the message.
fn next(Difference { expected, got, .. }: &Difference) -> String {
    let differs = expected
        .chars()
        .map(Some)
        .chain([None])
        .zip(got.chars().map(Some).chain([None]))
        .find(|(a, b)| a != b);
    format!("{differs:?}")
}

/// The fields in which two messages differ, each of them JSON.
fn differing(Difference { expected, got, .. }: &Difference) -> String {
    let fields = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let (expected, got) = (fields(expected), fields(got));
    let names = [&expected, &got]
        .into_iter()
        .filter_map(Value::as_object)
        .flat_map(|fields| fields.keys());
    let mut names: Vec<String> = names
        .filter(|name| expected[*name] != got[*name])
        .cloned()
        .collect();
    names.sort();
    names.dedup();
    names.join(", ")
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
