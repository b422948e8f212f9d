//! Messages that are read back: the laws `opens` and `read`, from the outcome of each message.

use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::{Map, Value};

use crate::bench::{Bench, around};
use crate::law::{Finding, Law};
use crate::{Case, Difference, Outcome};
use chatparse_base::Result;
use chatparse_base::brackets;
use chatparse_base::find::shared;
use chatparse_chat::proof::{ProbeSet, RoundTrip, Thinking, Verdict, shown, with_ids};
use chatparse_message::Message;

/// Renders and reads all messages with each thinking, and reports the failures by their cause.
pub fn read(bench: &mut Bench) -> Vec<Case> {
    let mut reading = bench.template.probes();
    let probes = Rc::clone(&reading.probes);
    let mut cases = Vec::new();
    for (index, probe) in probes.probes().iter().enumerate() {
        for thinking in Thinking::ALL {
            let mut turn = String::new();
            let outcome = outcome(&mut reading, index, thinking, &mut turn);
            let outcome = outcome.unwrap_or_else(Outcome::Refused);
            let is_fault = match outcome {
                Outcome::NoTurn(_) => !opens_more(&probes, thinking),
                Outcome::Survives | Outcome::Omitted(_) => false,
                Outcome::Spaced(_) | Outcome::Alike(_) => false,
                _ => true,
            };
            cases.push(Case {
                probe: probe.name,
                thinking,
                turn,
                outcome,
                is_fault,
            });
        }
    }
    // A turn that begins where the prompt ends with some thinking is a matter of that thinking.
    for same in cases.chunk_by_mut(|a, b| a.probe == b.probe) {
        let is_one_way = same.iter().any(|case| !matches!(case.outcome, Outcome::NoTurn(_)));
        for case in same {
            case.is_fault &= !is_one_way || !matches!(case.outcome, Outcome::NoTurn(_));
        }
    }
    for cause in causes(&cases) {
        bench.add(finding(cause, &cases));
    }
    for case in &cases {
        match case.outcome {
            Outcome::Omitted(_) | Outcome::Refused(_) => {}
            Outcome::NoTurn(_) => bench.ask(Law::Opens),
            _ => {
                bench.ask(Law::Opens);
                bench.ask(Law::Read);
            }
        }
    }
    cases
}

/// Whether the prompt has all that answers of this thinking begin with, and then more: a thought, or
/// a closed one, that the history does not show.
fn opens_more(probes: &ProbeSet, thinking: Thinking) -> bool {
    let (Ok(asked), Ok(case)) = (probes.asked(thinking), probes.case(0, thinking)) else {
        return false;
    };
    let (prompt, content) = (asked.prompt(), &*case.whole.content);
    let at = shared(prompt, &case.rendered);
    if prompt[at..].trim().is_empty() {
        return false;
    }
    let mut calls = (1..probes.probes().len()).filter(|probe| probes.probes()[*probe].calls() > 0);
    let called = calls.find_map(|probe| probes.case(probe, thinking).ok());
    match called.filter(|called| !called.no_output) {
        // Markers of a call and of content may begin with the same bracket.
        Some(called) => {
            let common = &case.rendered[..shared(&case.rendered, &called.rendered)];
            let inside = common.char_indices().rev().take_while(|(_, c)| !brackets::closes(*c));
            let open = inside.filter(|(_, c)| brackets::opens(*c)).last();
            let common = &common[..open.map_or(common.len(), |(open, _)| open)];
            prompt.starts_with(common.trim_end())
        }
        None => case.rendered[at..].trim_start().starts_with(content),
    }
}

fn outcome(
    reading: &mut RoundTrip,
    probe: usize,
    thinking: Thinking,
    turn: &mut String,
) -> Result<Outcome> {
    let probes = Rc::clone(&reading.probes);
    let (asked, case) = (probes.asked(thinking)?, probes.case(probe, thinking)?);
    let (prompt, rendered) = (asked.prompt(), &case.rendered);
    if case.no_output {
        return Ok(Outcome::Omitted(case.omitted.unwrap_or_default()));
    }
    let Some(whole_turn) = probes.turn(probe, thinking) else {
        return Ok(Outcome::NoTurn(
            difference(prompt, rendered).unwrap_or_default(),
        ));
    };
    let read = reading.read(probe, thinking, &whole_turn)?;
    *turn = read.turn;
    let got = &read.got.message;
    let render = |got: &Message| probes.render(&asked.request, &with_ids(got, &case.whole));
    match read.verdict {
        Verdict::Same => {}
        Verdict::Alike => return Ok(Outcome::Alike(between(None, &case.expected, got))),
        _ => {
            // Arguments that were cut off are not JSON.
            let at = match render(got) {
                Ok(again) => difference(rendered, &again).and_then(|difference| difference.at),
                Err(_) => Some(prompt.len() + read.got.left_at.unwrap_or(0)),
            };
            return Ok(Outcome::Lost(between(at, &case.whole, got)));
        }
    }
    let Some(changed) = difference(rendered, &render(got)?) else {
        return Ok(case.omitted.map_or(Outcome::Survives, Outcome::Omitted));
    };
    let spaced = render(&trimmed(got))? == *rendered;
    Ok(if spaced {
        Outcome::Spaced(changed)
    } else {
        Outcome::Rewritten(changed)
    })
}

/// The difference of two messages, which render to other bytes from `at` on.
fn between(at: Option<usize>, expected: &Message, got: &Message) -> Difference {
    Difference {
        at,
        expected: shown(expected).to_string(),
        got: shown(got).to_string(),
    }
}

fn trimmed(message: &Message) -> Message {
    let mut trimmed = message.clone();
    for text in [&mut trimmed.content, &mut trimmed.reasoning_content] {
        *text = text.trim().to_owned();
    }
    trimmed
}

/// The first difference between `got` and `expected`; additional text at the end of `got` is a
/// difference.
fn difference(expected: &str, got: &str) -> Option<Difference> {
    let at = shared(expected, got);
    let [expected_part, got_part] = [expected, got].map(|text| around(text, at));
    (at < expected.len() || at < got.len()).then_some(Difference {
        at: Some(at),
        expected: expected_part,
        got: got_part,
    })
}

/// Messages that fail for the same reason.
struct Cause<'c> {
    /// The reason, and a text that its messages share.
    meaning: String,
    mark: String,
    is_fault: bool,
    cases: Vec<&'c Case>,
}

/// The causes of all results that need a remark, faults first.
fn causes(all: &[Case]) -> Vec<Cause<'_>> {
    let mut causes: Vec<Cause> = Vec::new();
    for case in all {
        let Some((meaning, mark)) = cause(&case.outcome) else {
            continue;
        };
        let is_fault = case.is_fault;
        let known = causes.iter_mut().find(|known| {
            (&known.meaning, &known.mark, known.is_fault) == (&meaning, &mark, is_fault)
        });
        match known {
            Some(known) => known.cases.push(case),
            None => causes.push(Cause {
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

/// The reason of an outcome, and a text that its messages share; `None` if it needs no remark.
fn cause(outcome: &Outcome) -> Option<(String, String)> {
    let (meaning, mark) = match outcome {
        // A part that the template leaves out is the matter of the law `shown`.
        Outcome::Survives | Outcome::Omitted(_) => return None,
        Outcome::NoTurn(Difference { expected, .. }) => {
            let from = expected.char_indices().nth_back(11);
            let end = expected[from.map_or(0, |(at, _)| at)..].to_owned();
            ("The prompt ends with text that the history does not have before the answer".into(), end)
        }
        Outcome::Lost(difference) => {
            let fields = differing(difference);
            (format!("Another message is read than was written; it differs in {fields}"), fields)
        }
        Outcome::Alike(difference) => {
            let fields = differing(difference);
            (format!("The template writes two messages alike, which differ in {fields}"), fields)
        }
        Outcome::Spaced(difference) => (
            "A text is read with white space around it; trim texts before they are rendered again".into(),
            next(difference),
        ),
        Outcome::Rewritten(difference) => (
            "The message is read, but renders to other bytes".into(),
            next(difference),
        ),
        Outcome::Refused(error) => (
            format!("The template raises an error: {}", error.reason()),
            error.message().to_owned(),
        ),
    };
    Some((meaning, mark))
}

/// The differing characters; the text after them belongs to the message.
fn next(Difference { expected, got, .. }: &Difference) -> String {
    let at = shared(expected, got);
    let [expected, got] = [expected, got].map(|text| text[at..].chars().next());
    format!("{expected:?}{got:?}")
}

/// The fields in which two messages differ, each of them JSON.
fn differing(Difference { expected, got, .. }: &Difference) -> String {
    let [expected, got]: [Value; 2] =
        [expected, got].map(|text| serde_json::from_str(text).unwrap_or_default());
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

/// A finding with the first message in full.
fn finding(cause: Cause, all: &[Case]) -> Finding {
    let first = cause.cases[0];
    let law = match first.outcome {
        Outcome::NoTurn(_) => Law::Opens,
        _ => Law::Read,
    };
    let count = format!("{} of {} messages", cause.cases.len(), all.len());
    let message = format!("{} ({count}: {}).", cause.meaning, named(&cause.cases, all));
    let mut finding = Finding::new(law, cause.is_fault, message);
    if let Outcome::Refused(error) = &first.outcome {
        finding.places = error.place().cloned().into_iter().collect();
    }
    if !first.turn.is_empty() {
        finding = finding.with("turn", &*first.turn);
    }
    match first.outcome.difference() {
        Some(Difference { expected, got, .. }) => finding.with("expected", expected).with("got", got),
        None => finding,
    }
}

/// The names of messages, with their thinking unless all of them fail.
fn named(cases: &[&Case], all: &[Case]) -> String {
    // Messages in a row that fail with the same thinking are listed together.
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for same in cases.chunk_by(|a, b| a.probe == b.probe) {
        let probe = same[0].probe;
        let mut thinking = String::new();
        if same.len() < all.iter().filter(|case| case.probe == probe).count() {
            let names: Vec<&str> = same.iter().map(|case| case.thinking.name()).collect();
            thinking = format!(" ({})", names.join(", "));
        }
        match groups.last_mut() {
            Some((last, probes)) if *last == thinking => probes.push(probe),
            _ => groups.push((thinking, vec![probe])),
        }
    }
    let count = all.chunk_by(|a, b| a.probe == b.probe).count();
    let mut listed = Vec::new();
    for (thinking, probes) in groups {
        listed.push(match probes.len() == count {
            true => "all".to_owned() + &thinking,
            false => probes.join(", ") + &thinking,
        });
    }
    listed.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_fail_alike_have_one_cause() {
        let mark = |expected: &str, got: &str| {
            let (expected, got) = (expected.to_owned(), got.to_owned());
            let difference = Difference { at: None, expected, got };
            [Outcome::Lost(difference.clone()), Outcome::Rewritten(difference)]
                .map(|outcome| cause(&outcome).unwrap().1)
        };
        assert_eq!(mark(r#"{"content":"a"}"#, r#"{"content":"b"}"#)[0], "content");
        let both = mark(r#"{"content":"a"}"#, r#"{"tool_calls":[]}"#);
        assert_eq!(both[0], "content, tool_calls");
        assert_eq!(mark("one\n\nA", "one\nA")[1], mark("other\n\nB", "other\nA")[1]);
        assert_ne!(mark("one\n", "one")[1], mark("one ", "one")[1]);
    }
}
