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

use serde::Serialize;
use serde_json::Value;

use chatparse_base::Place;
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
    #[serde(rename = "fault")]
    pub is_fault: bool,
    /// The first byte of the rendered conversation that differs. `None`: two messages render alike,
    /// or nothing differs.
    pub at: Option<usize>,
    /// The expected text, with some text before the difference; or the message, as JSON; or the
    /// part that is left out.
    pub expected: String,
    /// What is there instead; or the error.
    pub got: String,
    /// The place of an error in the template.
    #[serde(skip)]
    pub place: Option<Place>,
}

chatparse_base::names! {
    /// The result of a case.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Outcome {
        /// The message is read back, and renders to the same bytes.
        Survives = "survives",
        /// The template leaves out a part of the message; the rest is read back.
        Omitted = "omitted",
        /// The message does not begin where the prompt ends, so what the model writes is unknown.
        NoTurn = "no_turn",
        /// The parsed message differs.
        Lost = "lost",
        /// The parsed message differs, but the template writes both alike, so no reader can tell
        /// which one was meant.
        Alike = "alike",
        /// The parsed message has additional white space around a text, and so renders to other
        /// bytes. A host that needs the same bytes must trim.
        Spaced = "spaced",
        /// The message is read back, but renders to other bytes.
        Rewritten = "rewritten",
        /// The template rejects the conversation.
        Refused = "refused",
    }
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

    /// The names of the laws with this result.
    pub fn laws(&self, verdict: Verdict) -> String {
        let mut laws = Vec::from(Law::ALL);
        laws.retain(|law| self.verdict(*law) == verdict);
        Vec::from_iter(laws.into_iter().map(Law::name)).join(", ")
    }

    /// The report as one JSON object: `faults` (the number of findings that are faults); `laws`, an
    /// object with the verdict for each law; `findings`, objects of [`Finding::to_json`]; and
    /// `cases`, objects with the fields of [`Case`], of which `is_fault` is `fault`.
    pub fn to_json(&self) -> Value {
        let laws = Law::ALL.map(|law| (law.name().to_owned(), json!(self.verdict(law))));
        json!({
            "faults": self.faulty().count(),
            "laws": laws.into_iter().collect::<Value>(),
            "findings": self.findings.iter().map(Finding::to_json).collect::<Value>(),
            "cases": self.cases,
        })
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
