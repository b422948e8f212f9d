//! Tests a template for its author: renders messages of all kinds, parses them, and renders the
//! results again.
//!
//! - **In:** a template.
//! - **Out:** a [`Report`] of findings, each with the renders that show it.
//! - **Never:** it changes no template, and reports nothing that no render shows.
//!
//! If the render with the assistant's message begins with the prompt, the rest is the assistant's
//! turn. Parsing the turn must give the message, and the parsed message must render to the same
//! bytes; otherwise a server that keeps the state of its model would have to process the prompt
//! again from the first byte that differs. Whether prompts stay unchanged when other messages
//! follow is reported separately, for each kind of turn.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[macro_use]
extern crate chatparse_base;

mod finding;
mod rules;

use std::rc::Rc;

use serde::Serialize;
use serde_json::Value;

use chatparse_base::find::{char_border_behind, shared};
use chatparse_base::{Error, Result};
use chatparse_chat::chat::ChatTemplate;
use chatparse_chat::next::Preserving;
use chatparse_chat::proof::{RoundTrip, Verdict, shown, with_ids};
use chatparse_chat::segments::Origin;
use chatparse_message::{Message, Request};

pub use finding::{Finding, Rule, Shown};

pub use chatparse_chat::proof::Thinking;

/// Bytes of text around a difference in the report.
const CONTEXT: usize = 30;

/// The results of all probes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Each message with each thinking, in a fixed order.
    pub cases: Vec<Case>,
    /// What the template does to calls, parts and tokens: faults, and notes.
    pub findings: Vec<Finding>,
    /// Whether prompts only grow, for each kind of turn, with and without reasoning. If they do
    /// not, that is not a fault, but it costs a host that keeps the state of its model.
    pub next: Vec<Preserving>,
    /// Texts of a prompt whose origin is unknown, because the template changes values in a way that
    /// cannot be followed. A host that makes special tokens of the template's text only treats them
    /// as a user's text. `None` if the template rejects the conversation that shows it.
    pub untraced: Option<Vec<String>>,
    /// How well the template's own response template does, if it has one.
    pub response_template: Option<Described>,
}

/// How well a response template reads the messages, beside the reader that is used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Described {
    /// The number of messages that count.
    pub cases: usize,
    /// The number of them that it reads back.
    pub read_back: usize,
    /// The number of them that the reader reads back.
    pub reader_reads_back: usize,
    /// The first message that is not read back, and why; empty if there is none.
    pub why: String,
    /// Why it cannot be read itself; empty if it can.
    pub error: String,
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
        self.cases.iter().filter(|case| match case.outcome {
            Outcome::Survives | Outcome::Omitted(_) | Outcome::Spaced(_) | Outcome::Alike(_) => {
                false
            }
            Outcome::NoTurn(_) => {
                let mut same = self.cases.iter().filter(|other| other.probe == case.probe);
                same.all(|other| matches!(other.outcome, Outcome::NoTurn(_)))
            }
            _ => true,
        })
    }

    /// Whether the template renders none of the messages, which is a fault.
    pub fn renders_nothing(&self) -> bool {
        let mut cases = self.cases.iter();
        cases.all(|case| matches!(case.outcome, Outcome::Omitted(_)))
    }

    /// The number of all faults: of messages, of findings, of the response template, and that
    /// nothing is rendered.
    pub fn fault_count(&self) -> usize {
        let findings = self.findings.iter().filter(|found| found.is_fault).count();
        let described = self.response_template.as_ref();
        let described = described.is_some_and(Described::is_fault);
        self.faults().count()
            + findings
            + usize::from(described)
            + usize::from(self.renders_nothing())
    }

    /// The report as one JSON object: `faults` (their number, [`Report::fault_count`]); `findings`,
    /// objects of [`Finding::to_json`]; `cases`, each with `probe`, `thinking`, `turn`, `outcome`
    /// and its details (`at`, `expected`, `got`, `part` or `error`); `next`, objects of
    /// [`Preserving::to_json`]; `untraced`, an array of texts or null; and `response_template`,
    /// null or an object with the fields of [`Described`].
    pub fn to_json(&self) -> Value {
        json!({
            "faults": self.fault_count(),
            "findings": self.findings.iter().map(Finding::to_json).collect::<Value>(),
            "cases": self.cases.iter().map(Case::to_json).collect::<Value>(),
            "next": self.next.iter().map(Preserving::to_json).collect::<Value>(),
            "untraced": self.untraced,
            "response_template": self.response_template,
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

impl Described {
    /// Whether it cannot be read, or reads back fewer messages than the reader in use.
    pub fn is_fault(&self) -> bool {
        !self.error.is_empty() || self.read_back < self.reader_reads_back
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

/// Tests a template with a fixed set of messages, and with small conversations turn by turn.
pub fn lint(template: &ChatTemplate) -> Report {
    let mut reading = template.probes();
    let probes = Rc::clone(&reading.probes);
    let mut cases = Vec::new();
    for probe in 0..probes.probes().len() {
        for thinking in Thinking::ALL {
            let mut turn = String::new();
            let outcome = outcome(&mut reading, probe, thinking, &mut turn);
            let outcome = outcome.unwrap_or_else(Outcome::Refused);
            cases.push(Case {
                probe: probes.probes()[probe].name,
                thinking,
                turn,
                outcome,
            });
        }
    }
    let findings = rules::findings(template, &cases, &probes);
    Report {
        cases,
        findings,
        next: template.preserving(),
        untraced: untraced(template),
        response_template: described(template),
    }
}

fn described(template: &ChatTemplate) -> Option<Described> {
    let mut described = Described {
        reader_reads_back: template.proof().read_back,
        ..Described::default()
    };
    match template.response_proof()? {
        Ok(proof) => {
            (described.cases, described.read_back) = (proof.cases, proof.read_back);
            described.why = proof.failures.first().map_or(String::new(), |first| {
                format!("{}: {}", first.probe, first.why)
            });
        }
        Err(error) => error.message().clone_into(&mut described.error),
    }
    Some(described)
}

/// A conversation with values of all kinds.
const CONVERSATION: &str = r#"{
    "now": 0, "roles": "as_sent", "parallel_tool_calls": true, "add_generation_prompt": true,
    "tools": [{"type": "function", "function": {"name": "look_up", "description": "Looks it up.", "parameters": {
        "type": "object", "required": ["place"],
        "properties": {"place": {"type": "string", "description": "Where"}, "days": {"type": "integer"}}
    }}}],
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "How is the weather?"},
        {"role": "assistant", "content": "", "reasoning_content": "A tool knows.", "tool_calls": [{
            "id": "call00001", "type": "function",
            "function": {"name": "look_up", "arguments": {"place": "Porto Alegre", "days": 3}}
        }]},
        {"role": "tool", "tool_call_id": "call00001", "name": "look_up", "content": "Rain, they say"},
        {"role": "assistant", "content": "It rains."},
        {"role": "user", "content": "Still?"}
    ]
}"#;

/// Texts of unknown origin in this conversation; `None` if the template rejects it.
fn untraced(template: &ChatTemplate) -> Option<Vec<String>> {
    let request = Request::from_text(CONVERSATION).ok()?;
    let found = template.segments(&request).ok()?;
    let mut unknown = Vec::new();
    for segment in found.segments {
        if segment.origin == Origin::Unknown {
            unknown.push(found.prompt[segment.bytes].to_owned());
        }
    }
    Some(unknown)
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
    if at == expected.len() && at == got.len() {
        return None;
    }
    let from = char_border_behind(expected, at.saturating_sub(CONTEXT));
    let around = [expected, got].map(|text| text[from..].chars().take(2 * CONTEXT).collect());
    let [expected, got] = around;
    Some(Difference {
        at: Some(at),
        expected,
        got,
    })
}
