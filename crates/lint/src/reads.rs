//! Messages that are read back: the laws `opens` and `read`, from the outcome of each message.

use std::rc::Rc;

use serde_json::Value;

use crate::bench::{Bench, around};
use crate::law::{Finding, Law};
use crate::{Case, Outcome};
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
        let first = cases.len();
        for thinking in Thinking::ALL {
            let mut case = Case {
                probe: probe.name,
                thinking,
                turn: String::new(),
                outcome: Outcome::Survives,
                is_fault: false,
                at: None,
                expected: String::new(),
                got: String::new(),
                place: None,
            };
            case.outcome = outcome(&mut reading, index, &mut case).unwrap_or_else(|error| {
                (case.got, case.place) = (error.reason().to_owned(), error.place().cloned());
                Outcome::Refused
            });
            case.is_fault = match case.outcome {
                Outcome::NoTurn => !opens_more(&probes, thinking),
                Outcome::Lost | Outcome::Rewritten | Outcome::Refused => true,
                _ => false,
            };
            cases.push(case);
        }
        // A turn that begins where the prompt ends with some thinking is a matter of that thinking.
        let same = &mut cases[first..];
        if same.iter().any(|case| case.outcome != Outcome::NoTurn) {
            let elsewhere = same
                .iter_mut()
                .filter(|case| case.outcome == Outcome::NoTurn);
            elsewhere.for_each(|case| case.is_fault = false);
        }
    }
    for case in &cases {
        match case.outcome {
            Outcome::Omitted | Outcome::Refused => {}
            Outcome::NoTurn => bench.ask(Law::Opens),
            _ => [Law::Opens, Law::Read]
                .into_iter()
                .for_each(|law| bench.ask(law)),
        }
    }
    causes(bench, &cases);
    cases
}

/// Whether the prompt has all that answers of this thinking begin with, and then more: a thought,
/// or a closed one, that the history does not show.
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
            let inside = common
                .char_indices()
                .rev()
                .take_while(|(_, c)| !brackets::closes(*c));
            let open = inside.filter(|(_, c)| brackets::opens(*c)).last();
            let common = &common[..open.map_or(common.len(), |(open, _)| open)];
            prompt.starts_with(common.trim_end())
        }
        None => case.rendered[at..].trim_start().starts_with(content),
    }
}

fn outcome(reading: &mut RoundTrip, probe: usize, to: &mut Case) -> Result<Outcome> {
    let probes = Rc::clone(&reading.probes);
    let thinking = to.thinking;
    let (asked, case) = (probes.asked(thinking)?, probes.case(probe, thinking)?);
    let (prompt, rendered) = (asked.prompt(), &case.rendered);
    if let Some(part) = case.omitted {
        part.clone_into(&mut to.expected);
    }
    if case.no_output {
        return Ok(Outcome::Omitted);
    }
    let Some(whole_turn) = probes.turn(probe, thinking) else {
        differ(to, prompt, rendered);
        return Ok(Outcome::NoTurn);
    };
    let read = reading.read(probe, thinking, &whole_turn)?;
    to.turn = read.turn;
    let got = &read.got.message;
    let render = |got: &Message| probes.render(&asked.request, &with_ids(got, &case.whole));
    if read.verdict != Verdict::Same {
        (to.expected, to.got) = (shown(&case.expected).to_string(), shown(got).to_string());
        if read.verdict == Verdict::Alike {
            return Ok(Outcome::Alike);
        }
        // Arguments that were cut off are not JSON.
        to.at = match render(got) {
            Ok(again) => Some(shared(rendered, &again)).filter(|_| *rendered != again),
            Err(_) => Some(prompt.len() + read.got.left_at.unwrap_or(0)),
        };
        return Ok(Outcome::Lost);
    }
    let again = render(got)?;
    if again == *rendered {
        let whole = case.omitted.map_or(Outcome::Survives, |_| Outcome::Omitted);
        return Ok(whole);
    }
    differ(to, rendered, &again);
    let mut trimmed = got.clone();
    for text in [&mut trimmed.content, &mut trimmed.reasoning_content] {
        *text = text.trim().to_owned();
    }
    Ok(if render(&trimmed)? == *rendered {
        Outcome::Spaced
    } else {
        Outcome::Rewritten
    })
}

/// Both texts from before their first difference on.
fn differ(case: &mut Case, expected: &str, got: &str) {
    let at = shared(expected, got);
    (case.at, case.expected, case.got) = (Some(at), around(expected, at), around(got, at));
}

/// Reports messages that fail for the same reason as one finding, with the first of them in full.
fn causes(bench: &mut Bench, all: &[Case]) {
    let mut causes: Vec<(String, String, Vec<&Case>)> = Vec::new();
    for case in all {
        let Some((meaning, mark)) = cause(case) else {
            continue;
        };
        let known = causes.iter_mut().find(|(known, shared, cases)| {
            (known, shared, cases[0].is_fault) == (&meaning, &mark, case.is_fault)
        });
        match known {
            Some((.., cases)) => cases.push(case),
            None => causes.push((meaning, mark, vec![case])),
        }
    }
    for (meaning, _, cases) in causes {
        let first = cases[0];
        let law = match first.outcome {
            Outcome::NoTurn => Law::Opens,
            _ => Law::Read,
        };
        let (count, names) = (cases.len(), named(&cases, all));
        let message = format!("{meaning} ({count} of {} messages: {names}).", all.len());
        let mut finding = Finding::new(law, first.is_fault, message);
        finding.places.extend(first.place.clone());
        for (from, text) in [
            ("turn", &first.turn),
            ("expected", &first.expected),
            ("got", &first.got),
        ] {
            if !text.is_empty() {
                finding = finding.with(from, text);
            }
        }
        bench.findings.push(finding);
    }
}

/// The reason of an outcome, and a text that its messages share; `None` if it needs no remark.
fn cause(case: &Case) -> Option<(String, String)> {
    // The characters that differ; the text after them belongs to the message.
    let at = shared(&case.expected, &case.got);
    let [expected, got] = [&case.expected, &case.got].map(|text| text[at..].chars().next());
    let differs = format!("{expected:?}{got:?}");
    let (meaning, mark) = match case.outcome {
        // A part that the template leaves out is the matter of the law `shown`.
        Outcome::Survives | Outcome::Omitted => return None,
        Outcome::NoTurn => {
            let from = case.expected.char_indices().nth_back(11);
            let end = case.expected[from.map_or(0, |(at, _)| at)..].to_owned();
            (
                "The prompt ends with text that the history does not have before the answer".into(),
                end,
            )
        }
        Outcome::Lost => (
            format!(
                "Another message is read than was written; it differs in {}",
                fields(case)
            ),
            String::new(),
        ),
        Outcome::Alike => (
            format!(
                "The template writes two messages alike, which differ in {}",
                fields(case)
            ),
            String::new(),
        ),
        Outcome::Spaced => (
            "A text is read with white space around it; trim texts before they are rendered again"
                .into(),
            differs,
        ),
        Outcome::Rewritten => (
            "The message is read, but renders to other bytes".into(),
            differs,
        ),
        Outcome::Refused => (
            format!("The template raises an error: {}", case.got),
            String::new(),
        ),
    };
    Some((meaning, mark))
}

/// The fields in which two messages differ, each of them JSON.
fn fields(case: &Case) -> String {
    let [expected, got]: [Value; 2] =
        [&case.expected, &case.got].map(|text| serde_json::from_str(text).unwrap_or_default());
    let names = ["content", "reasoning_content", "tool_calls"].into_iter();
    let differing = names.filter(|name| expected[name] != got[name]);
    Vec::from_iter(differing).join(", ")
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
        listed.push(if probes.len() == count {
            "all".to_owned() + &thinking
        } else {
            probes.join(", ") + &thinking
        });
    }
    listed.join("; ")
}
