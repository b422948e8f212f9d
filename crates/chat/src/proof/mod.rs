//! Tests how well a template's messages are read back, and which reader does it best.
//!
//! What was learnt of a template, or is known of its family, may be wrong. A proof renders messages
//! as the model would write them, parses them, and compares. They are other messages than those
//! that the analysis learns from: other words, other counts, values that look like values of other
//! types (`messages`).
//!
//! - `turns` renders them and finds the assistant's turn in each. A message that the template
//!   rejects, or whose turn cannot be found, does not count. Parts that the template leaves out are
//!   not expected back.
//! - `reading` parses a turn with one reader and compares. If the template renders two messages
//!   alike (e.g. without a null), either may come back.
//! - `choice` tests candidates until the best is certain: with a few rich messages first, and with
//!   more only if necessary. A template with one candidate needs no renders for it.
//!
//! A [`Proof`] is the complete test of one reader, made on request.

mod choice;
mod messages;
mod reading;
mod turns;

use std::rc::Rc;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

pub(crate) use choice::choose;
pub use choice::{Choice, Tried};
pub use messages::Thinking;
pub use reading::{RoundTrip, Verdict, shown, with_ids};
pub use turns::{ProbeSet, Turn};
pub(crate) use turns::{borders, is_one_marker, marker_at_end};

use crate::reader::Reader;
use chatparse_message::{Message, Request};
use chatparse_stream::Status;
use reading::Read;
use turns::Case;

/// How well a template's messages are read back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Proof {
    /// The reader's name.
    pub reader: &'static str,
    /// The number of messages that count: those that are rendered, and whose turn was found.
    pub cases: usize,
    /// The number of them with calls.
    pub with_calls: usize,
    /// The number of them that are read back.
    pub read_back: usize,
    /// The number of those whose turn is not in the reader's format: calls in other dialects are
    /// read too, but later, and grammars do not cover them.
    pub recovered: usize,
    /// The number of messages of calls alone, among those that are read in the format, that the
    /// grammar of required calls was asked about.
    pub grammar_cases: usize,
    /// The number of them that it takes, without any beginning that is no answer.
    pub grammar_right: usize,
    /// What it does with the first of the others: `refuses` or `takes`, and a text.
    pub grammar_fault: String,
    /// The number of messages that do not count because another one with the same render, names and
    /// keys comes back.
    pub alike: usize,
    /// The number of messages that do not count because their turn does not begin where the prompt
    /// ends.
    pub no_turn: usize,
    /// The number of messages that do not count because the template leaves out their content.
    pub omitted: usize,
    /// The number of messages that do not count because the template rejects them.
    pub refused: usize,
    /// The error for the first of them; empty if there is none.
    pub refusal: String,
    /// The messages that are not read back, in order.
    pub failures: Vec<Failure>,
}

/// A message that was not read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Failure {
    /// The name of the message, e.g. `parallel calls`.
    pub probe: &'static str,
    /// Its thinking.
    pub thinking: Thinking,
    /// The assistant's turn as the template writes it.
    pub turn: String,
    /// The expected message, as JSON.
    pub expected: String,
    /// The parsed message, as JSON.
    pub got: String,
    /// A short description of the difference.
    pub why: String,
    /// There is a call that was not expected like that.
    #[serde(skip)]
    pub misreads_calls: bool,
}

impl Proof {
    /// Whether at least one message counts, and all that count are read back.
    pub fn is_whole(&self) -> bool {
        self.cases > 0 && self.read_back == self.cases
    }

    /// Whether the template renders none of the messages.
    pub fn refuses_all(&self) -> bool {
        self.refused > 0 && self.cases + self.no_turn + self.omitted == 0
    }

    /// The proof as one JSON object, with the fields' names.
    pub fn to_json(&self) -> Value {
        json!(self)
    }

    /// Tests the message with this thinking, if its turn was found.
    fn ask(&mut self, reading: &mut RoundTrip, probe: usize, thinking: Thinking) {
        match reading.probes.case(probe, thinking) {
            Err(error) => {
                if self.refused == 0 {
                    self.refusal = error.to_string();
                }
                self.refused += 1;
            }
            Ok(Case {
                no_output: true, ..
            }) => self.omitted += 1,
            Ok(_) => match reading.probes.turn(probe, thinking) {
                Some(turn) => self.count(reading, probe, thinking, &turn),
                None => self.no_turn += 1,
            },
        }
    }

    /// Tests the message after the common beginning of its turn and the prompt's opening, if it
    /// needs that with any thinking.
    fn ask_behind_common(&mut self, reading: &mut RoundTrip, probe: usize) {
        if let Some((thinking, turn)) = reading.probes.turn_behind_common(probe) {
            self.no_turn -= 1;
            self.count(reading, probe, thinking, &turn);
        }
    }

    fn count(&mut self, reading: &mut RoundTrip, probe: usize, thinking: Thinking, turn: &Turn) {
        let read = reading.read(probe, thinking, turn);
        let is_alike = matches!(&read, Ok(read) if read.verdict == Verdict::Alike);
        self.alike += usize::from(is_alike);
        let probes = &reading.probes;
        let (Ok(case), false) = (probes.case(probe, thinking), is_alike) else {
            return;
        };
        self.cases += 1;
        self.with_calls += usize::from(probes.probes()[probe].calls() > 0);
        let mut misreads_calls = false;
        let (turn, got, why) = match read {
            Ok(read) if read.verdict == Verdict::Same => {
                self.read_back += 1;
                self.recovered += usize::from(read.got.status != Status::Complete);
                return;
            }
            Ok(read) => {
                misreads_calls = !read.got.message.tool_calls.is_empty()
                    && shown(&read.got.message)["tool_calls"]
                        != shown(&case.expected)["tool_calls"];
                (
                    read.turn.clone(),
                    shown(&read.got.message).to_string(),
                    why(&case.expected, &read),
                )
            }
            Err(error) => (turn.text.clone(), String::new(), error.to_string()),
        };
        let expected = shown(&case.expected).to_string();
        self.failures.push(Failure {
            probe: probes.probes()[probe].name,
            thinking,
            turn,
            expected,
            got,
            why,
            misreads_calls,
        });
    }

    /// Asks the grammar of required calls about a message of calls alone.
    fn ask_grammar(&mut self, reading: &mut RoundTrip, probe: usize, thinking: Thinking) {
        let probes = Rc::clone(&reading.probes);
        let (asked, case) = (probes.asked(thinking), probes.case(probe, thinking));
        let (Ok(asked), Ok(case), Some(turn)) = (asked, case, probes.turn(probe, thinking)) else {
            return;
        };
        if case.expected.tool_calls.is_empty()
            || !case.expected.content.is_empty()
            || !in_order(&asked.request, case)
        {
            return;
        }
        let Some(fault) = reading.grammar_fault(asked, thinking, &turn, &case.expected) else {
            return;
        };
        self.grammar_cases += 1;
        self.grammar_right += usize::from(fault.is_empty());
        if self.grammar_fault.is_empty() {
            self.grammar_fault = fault;
        }
    }
}

/// Whether all arguments are in the order of the tools' schemas: a grammar has no others of JSON.
fn in_order(request: &Request, case: &Case) -> bool {
    case.expected.tool_calls.iter().all(|call| {
        let tool = request.tools.iter().find(|tool| tool.name == call.name);
        let properties = tool
            .and_then(|tool| tool.parameters.get("properties"))
            .and_then(Value::as_object);
        let arguments = turns::arguments(call);
        let places = arguments
            .keys()
            .filter_map(|key| properties?.keys().position(|known| known == key));
        places.is_sorted()
    })
}

/// Tests a reader with all messages.
pub(crate) fn prove(reader: &Arc<Reader>) -> Proof {
    let mut reading = RoundTrip::new(reader, ProbeSet::new(reader));
    let mut proof = Proof {
        reader: reader.name(),
        ..Proof::default()
    };
    for probe in 0..reading.probes.probes().len() {
        for thinking in Thinking::ALL {
            let before = proof.read_back - proof.recovered;
            proof.ask(&mut reading, probe, thinking);
            if proof.read_back - proof.recovered > before {
                proof.ask_grammar(&mut reading, probe, thinking);
            }
        }
        proof.ask_behind_common(&mut reading, probe);
    }
    proof
}

/// Describes the difference.
fn why(expected: &Message, read: &Read) -> String {
    let got = &read.got.message;
    let (expected_calls, got_calls) = (expected.tool_calls.len(), got.tool_calls.len());
    let (a, b) = (shown(expected), shown(got));
    let mut wrong = Vec::new();
    if expected_calls != got_calls {
        wrong.push(format!("{got_calls} of {expected_calls} calls"));
    } else if let Some(call) =
        (0..expected_calls).find(|&call| a["tool_calls"][call] != b["tool_calls"][call])
    {
        let part = if expected.tool_calls[call].name == got.tool_calls[call].name {
            "arguments"
        } else {
            "name"
        };
        wrong.push(format!("the {part} of call {}", call + 1));
    }
    for (part, name) in [
        ("content", "the content"),
        ("reasoning_content", "the reasoning"),
    ] {
        if a[part] != b[part] {
            wrong.push(name.to_owned());
        }
    }
    let mut why = wrong.join(", ");
    if let Some(at) = read.got.left_at {
        why.push_str(&format!("; not in the format from byte {at} on"));
    }
    why
}
