//! Whether what a template writes is read back: messages of all kinds are rendered as the model would write them, parsed, and
//! rendered again.
//!
//! A prompt, and the same conversation with the assistant's message in it: where the second text begins with the first, the
//! rest is the assistant's turn. Parsing it must give the message, and the message must render to the same bytes: a host
//! that keeps what its model has read would otherwise have to read it again from the first byte that differs. Whether that is so
//! once other messages follow is told apart, for each kind of turn.

use serde_json::Value;

use crate::chat::ChatTemplate;
use crate::error::{Error, Result};
use crate::message::{Message, Request};
use crate::next::{Kind, Preserving};
use crate::proof::{Exam, Reading, Verdict, shown, with_ids};
use crate::segments::Origin;

pub use crate::proof::Thinking;

/// Bytes of text shown around a difference.
const CONTEXT: usize = 30;

/// What came of all probes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Each message in each way to think, in a fixed order.
    pub cases: Vec<Case>,
    /// Whether prompts only grow, for each kind of turn, without reasoning and with it. What does not is no fault, but costs
    /// a host that keeps what its model has read.
    pub next: Vec<Preserving>,
    /// Texts of a prompt that cannot be told apart from what a user wrote, because the template changes values in a way that cannot be followed. A
    /// host that makes special tokens of the template's text alone takes them for a user's.
    pub untraced: Vec<String>,
}

/// One message, rendered and read back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Case {
    /// What the message shows, e.g. `parallel calls`.
    pub probe: &'static str,
    /// How the model is asked to think.
    pub thinking: Thinking,
    /// The assistant's turn as the model would write it; empty where it is not known.
    pub turn: String,
    /// What was found.
    pub outcome: Outcome,
}

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It comes back.
    Survives,
    /// The template leaves a part of the message out; the rest comes back. No fault of what is read.
    Omitted(&'static str),
    /// The message does not begin where the prompt ends, so that nobody knows what the model writes. A fault where it is
    /// so for all ways to think.
    NoTurn(Difference),
    /// What is parsed is another message: as JSON, what was wanted and what came.
    Lost {
        /// The first byte of the conversation that the parsed message renders differently.
        at: Option<usize>,
        /// The message.
        expected: String,
        /// What was parsed.
        got: String,
    },
    /// The message comes back with white space around a text, which renders to other bytes; without it, it renders to the
    /// same. No fault, but a host that wants the same bytes must trim.
    Spaced(Difference),
    /// The message comes back, but renders to other bytes.
    Rewritten(Difference),
    /// The template refuses the conversation, with this error.
    Refused(Error),
}

/// Two texts that differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The first byte that differs, counted from the start of the rendered conversation.
    pub at: usize,
    /// What stands there, with some text before it.
    pub expected: String,
    /// What came instead, with the same text before it.
    pub got: String,
}

impl Report {
    /// The cases that a template's author must look at.
    pub fn faults(&self) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(|case| match case.outcome {
            Outcome::Survives | Outcome::Omitted(_) | Outcome::Spaced(_) => false,
            Outcome::NoTurn(_) => {
                let mut same = self.cases.iter().filter(|other| other.probe == case.probe);
                same.all(|other| matches!(other.outcome, Outcome::NoTurn(_)))
            }
            _ => true,
        })
    }

    /// The report as one JSON object: `faults`, their number, and `cases`, each with `probe`, `thinking`, `turn`, `outcome` and
    /// what the outcome says more: `at`, `expected`, `got`, `part` or `error`; `next`, objects as of [`Preserving::to_json`]; and `untraced`, texts.
    pub fn to_json(&self) -> Value {
        let cases: Vec<Value> = self.cases.iter().map(Case::to_json).collect();
        let next: Vec<Value> = self.next.iter().map(Preserving::to_json).collect();
        json!({"faults": self.faults().count(), "cases": cases, "next": next, "untraced": self.untraced})
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
            Outcome::Survives => {}
            Outcome::Omitted(part) => json["part"] = (*part).into(),
            Outcome::Refused(error) => json["error"] = error.message().into(),
            Outcome::NoTurn(Difference { at, expected, got })
            | Outcome::Spaced(Difference { at, expected, got })
            | Outcome::Rewritten(Difference { at, expected, got }) => {
                (json["at"], json["expected"], json["got"]) =
                    ((*at).into(), expected.as_str().into(), got.as_str().into());
            }
            Outcome::Lost { at, expected, got } => {
                (json["at"], json["expected"], json["got"]) =
                    ((*at).into(), expected.as_str().into(), got.as_str().into());
            }
        }
        json
    }
}

impl Outcome {
    /// A stable lower-case name, e.g. `no_turn`.
    pub fn name(&self) -> &'static str {
        match self {
            Outcome::Survives => "survives",
            Outcome::Omitted(_) => "omitted",
            Outcome::NoTurn(_) => "no_turn",
            Outcome::Lost { .. } => "lost",
            Outcome::Spaced(_) => "spaced",
            Outcome::Rewritten(_) => "rewritten",
            Outcome::Refused(_) => "refused",
        }
    }
}

/// Renders and reads back a fixed set of messages, and renders small conversations turn by turn.
pub fn lint(template: &ChatTemplate) -> Report {
    let (mut exam, mut reading) = template.exam();
    let mut cases = Vec::new();
    for probe in 0..exam.probes().len() {
        for thinking in Thinking::ALL {
            let mut turn = String::new();
            let outcome = outcome(&mut exam, &mut reading, probe, thinking, &mut turn);
            let outcome = outcome.unwrap_or_else(Outcome::Refused);
            cases.push(Case { probe: exam.probes()[probe].name, thinking, turn, outcome });
        }
    }
    let ways = Kind::ALL.into_iter().flat_map(|kind| [Thinking::Off, Thinking::On].map(|thinking| (kind, thinking)));
    let next = ways.map(|(kind, thinking)| {
        let preserved = template.preserves(kind, thinking);
        Preserving { kind, thinking, preserved }
    });
    Report { cases, next: next.collect(), untraced: untraced(template) }
}

/// What cannot be traced in a conversation with values of all kinds; nothing where the template refuses it.
fn untraced(template: &ChatTemplate) -> Vec<String> {
    let call = json!({"id": "call00001", "type": "function", "function":
        {"name": "look_up", "arguments": {"place": "Porto Alegre", "days": 3, "tags": ["grey", true]}}});
    let tool = json!({"type": "function", "function": {"name": "look_up", "description": "Looks it up.", "parameters":
        {"type": "object", "properties": {"place": {"type": "string", "description": "Where"}}, "required": ["place"]}}});
    // The time is said, as in a proof: the report is the same on every day, and where there is no clock.
    let body = json!({"tools": [tool], "now": 0, "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "How is the weather?"},
        {"role": "assistant", "content": "", "reasoning_content": "A tool knows.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call00001", "name": "look_up", "content": "Rain, they say"},
        {"role": "assistant", "content": "It rains."},
        {"role": "user", "content": "Still?"},
    ]});
    let found = Request::from_json(&body).and_then(|request| template.segments(&request)).unwrap_or_default();
    let unknown = found.segments.iter().filter(|segment| segment.origin == Origin::Unknown);
    unknown.map(|segment| found.prompt[segment.bytes.clone()].to_owned()).collect()
}

fn outcome(
    exam: &mut Exam,
    reading: &mut Reading,
    probe: usize,
    thinking: Thinking,
    turn: &mut String,
) -> Result<Outcome> {
    let (asked, case) = (exam.asked(thinking), exam.case(probe, thinking));
    let asked = asked.as_ref().as_ref().map_err(Clone::clone)?;
    let case = case.as_ref().as_ref().map_err(Clone::clone)?;
    let (prompt, rendered) = (&asked.prompts.prompt.prompt, &case.rendered);
    if case.mute {
        return Ok(Outcome::Omitted(case.omitted.unwrap_or_default()));
    }
    let Some(whole_turn) = exam.turn(probe, thinking) else {
        return Ok(Outcome::NoTurn(difference(prompt, rendered).unwrap_or_default()));
    };
    let read = reading.read(exam, probe, thinking, &whole_turn)?;
    *turn = read.turn;
    let got = &read.got.message;
    let render = |got: &Message| exam.render(&asked.request, &with_ids(got, &case.whole));
    if read.verdict != Verdict::Same {
        // Arguments that were cut short are no JSON.
        let at = match render(got) {
            Ok(again) => difference(rendered, &again).map(|difference| difference.at),
            Err(_) => Some(prompt.len() + read.got.left_at.unwrap_or(0)),
        };
        let [expected, got] = [&case.whole, got].map(|message| shown(message).to_string());
        return Ok(Outcome::Lost { at, expected, got });
    }
    let Some(changed) = difference(rendered, &render(got)?) else {
        return Ok(case.omitted.map_or(Outcome::Survives, Outcome::Omitted));
    };
    let spaced = render(&trimmed(got))? == *rendered;
    Ok(if spaced { Outcome::Spaced(changed) } else { Outcome::Rewritten(changed) })
}

fn trimmed(message: &Message) -> Message {
    let [content, reasoning_content] =
        [&message.content, &message.reasoning_content].map(|text| text.trim().to_owned());
    Message { content, reasoning_content, ..message.clone() }
}

/// Where `got` is not `expected`; more text behind the end of `expected` is a difference.
fn difference(expected: &str, got: &str) -> Option<Difference> {
    let mut at = expected.bytes().zip(got.bytes()).take_while(|(a, b)| a == b).count();
    if at == expected.len() && at == got.len() {
        return None;
    }
    while !expected.is_char_boundary(at) || !got.is_char_boundary(at) {
        at -= 1;
    }
    let from = (at.saturating_sub(CONTEXT)..=at).find(|&from| expected.is_char_boundary(from)).unwrap_or(at);
    let around = |text: &str| text[from..].chars().take(2 * CONTEXT).collect();
    Some(Difference { at, expected: around(expected), got: around(got) })
}
