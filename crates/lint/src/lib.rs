//! Tests a template for its author: each finding is a law about renders and reads that the template
//! breaks, with the smallest request that shows it.
//!
//! - **In:** a template.
//! - **Out:** a [`Report`] of findings, each with what is expected and what is there instead.
//! - **Never:** it changes no template, and reports nothing that no render shows.
//!
//! Requests are rendered as transformers does, without chatparse's repairs. Messages are read back
//! as chatparse reads them: if the render with the assistant's message begins with the prompt, the
//! rest is the assistant's turn. Parsing the turn must give the message, and the parsed message
//! must render to the same bytes; otherwise a server that keeps the state of its model would have
//! to process the prompt again from the first byte that differs.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[macro_use]
extern crate chatparse_base;

mod bench;
mod diff;
mod ends;
mod law;
mod reads;
mod rest;
mod said;
mod sent;

use serde_json::Value;

use chatparse_base::Error;
use chatparse_chat::chat::ChatTemplate;

use bench::Bench;

pub use diff::{Change, ChangeKind, diff};
pub use law::{Finding, Law, Shown};

pub use chatparse_chat::proof::Thinking;

/// The results of all laws.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Each message of the proof with each thinking, in a fixed order.
    pub cases: Vec<Case>,
    /// The broken laws, in the order of [`Law::ALL`], faults first.
    pub findings: Vec<Finding>,
    /// The laws that some render or read asked about. The others are about what the template does
    /// not have, or refuses.
    pub asked: Vec<Law>,
}

chatparse_base::names! {
    /// The result for one law.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Verdict {
        /// A finding is a fault.
        Fault = "fault",
        /// All findings are notes.
        Note = "note",
        /// No render shows that it does not hold.
        Holds = "holds",
        /// No render asked.
        NotAsked = "not asked",
    }
}

/// The result for one message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Case {
    /// The name of the message, e.g. `parallel calls`.
    pub probe: &'static str,
    /// Its thinking.
    pub thinking: Thinking,
    /// The assistant's turn as the model would write it; empty if unknown.
    pub turn: String,
    /// The result.
    pub outcome: Outcome,
    /// Whether the template's author should look at it.
    pub is_fault: bool,
}

/// The result of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The message is read back, and renders to the same bytes.
    Survives,
    /// The template leaves out this part of the message; the rest is read back. Not a fault of the
    /// reader.
    Omitted(&'static str),
    /// The message does not begin where the prompt ends, so what the model writes is unknown. A
    /// fault if that is the case with all thinking.
    NoTurn(Difference),
    /// The parsed message differs: the expected and the parsed one, as JSON.
    Lost(Difference),
    /// The parsed message differs, but the template writes both alike, so no reader can tell which
    /// one was meant: the expected and the parsed one, as JSON. Not a fault.
    Alike(Difference),
    /// The parsed message has additional white space around a text, and so renders to other bytes;
    /// without it, the render is the same. Not a fault, but a host that needs the same bytes must
    /// trim.
    Spaced(Difference),
    /// The message is read back, but renders to other bytes.
    Rewritten(Difference),
    /// The template rejects the conversation, with this error.
    Refused(Error),
}

/// A difference between two texts, or between two messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The first byte that differs, counted from the start of the rendered conversation. `None`:
    /// two messages render alike.
    pub at: Option<usize>,
    /// The expected text there, with some text before it; or the message.
    pub expected: String,
    /// The text that is there instead, with the same text before it; or the message.
    pub got: String,
}

impl Report {
    /// The cases that the template's author should look at.
    pub fn faults(&self) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(|case| case.is_fault)
    }

    /// The findings that are faults.
    pub fn faulty(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.is_fault)
    }

    /// The result for a law.
    pub fn verdict(&self, law: Law) -> Verdict {
        let mut found = self.findings.iter().filter(|finding| finding.law == law);
        match found.next() {
            // Faults come first.
            Some(finding) if finding.is_fault => Verdict::Fault,
            Some(_) => Verdict::Note,
            None if self.asked.contains(&law) => Verdict::Holds,
            None => Verdict::NotAsked,
        }
    }

    /// The report as one JSON object: `faults` (the number of findings that are faults); `laws`, an
    /// object with the verdict for each law; `findings`, objects of [`Finding::to_json`]; and
    /// `cases`, each with `probe`, `thinking`, `turn`, `outcome` and its details (`at`, `expected`,
    /// `got`, `part` or `error`).
    pub fn to_json(&self) -> Value {
        let laws = Law::ALL.map(|law| (law.name().to_owned(), json!(self.verdict(law))));
        json!({
            "faults": self.faulty().count(),
            "laws": laws.into_iter().collect::<Value>(),
            "findings": self.findings.iter().map(Finding::to_json).collect::<Value>(),
            "cases": self.cases.iter().map(Case::to_json).collect::<Value>(),
        })
    }
}

impl Case {
    fn to_json(&self) -> Value {
        let mut json = json!({
            "probe": self.probe,
            "thinking": self.thinking.name(),
            "turn": self.turn,
            "outcome": self.outcome.name(),
        });
        match &self.outcome {
            Outcome::Omitted(part) => json["part"] = (*part).into(),
            Outcome::Refused(error) => json["error"] = error.message().into(),
            outcome => {
                if let Some(Difference { at, expected, got }) = outcome.difference() {
                    (json["at"], json["expected"], json["got"]) =
                        (json!(at), json!(expected), json!(got));
                }
            }
        }
        json
    }
}

impl Outcome {
    /// A stable lower-case name, e.g. `no_turn`.
    pub fn name(&self) -> &'static str {
        self.parts().0
    }

    /// What differs, where something does.
    pub fn difference(&self) -> Option<&Difference> {
        self.parts().1
    }

    fn parts(&self) -> (&'static str, Option<&Difference>) {
        match self {
            Outcome::Survives => ("survives", None),
            Outcome::Omitted(_) => ("omitted", None),
            Outcome::NoTurn(difference) => ("no_turn", Some(difference)),
            Outcome::Lost(difference) => ("lost", Some(difference)),
            Outcome::Alike(difference) => ("alike", Some(difference)),
            Outcome::Spaced(difference) => ("spaced", Some(difference)),
            Outcome::Rewritten(difference) => ("rewritten", Some(difference)),
            Outcome::Refused(_) => ("refused", None),
        }
    }
}

/// Asks all laws about a template.
pub fn lint(template: &ChatTemplate) -> Report {
    let mut bench = Bench::new(template);
    said::shown(&mut bench);
    ends::ends(&mut bench);
    let cases = reads::read(&mut bench);
    rest::origins(&mut bench);
    rest::grows(&mut bench);
    sent::sent(&mut bench);
    rest::grammar(&mut bench);
    rest::effort(&mut bench);
    rest::vocabulary(&mut bench);
    rest::response(&mut bench);
    let (mut findings, asked) = (bench.findings, bench.asked);
    findings.sort_by_key(|finding| (finding.law, !finding.is_fault));
    Report {
        cases,
        findings,
        asked,
    }
}
