//! Parses rendered messages with one reader, and compares.

use serde_json::Value;

use super::messages::{THOUGHT_WORD, Thinking, WORD};
use super::turns::{Case, ProbeSet, RenderedProbe, Turn};
use crate::reader::Reader;
use chatparse_base::Result;
use chatparse_learn::format::FormatSpec;
use chatparse_learn::format::late::Want;
use chatparse_message::Message;
use chatparse_stream::{CallRules, Ended, Parser, Status};

/// A reader, and its parsers for the messages of one template.
pub(crate) struct RoundTrip {
    reader: Reader,
    /// By thinking, and by the opening of the turn.
    parsers: Vec<(Thinking, String, Result<Parser>)>,
}

/// The result for one message.
pub(crate) struct Read {
    /// The turn without its end.
    pub turn: String,
    /// The parsed message.
    pub got: Ended,
    /// The comparison with the expected message.
    pub verdict: Verdict,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The expected message.
    Same,
    /// Another message with the same render.
    Alike,
    /// Another message.
    Other,
}

impl Read {
    /// Whether the expected message was read in the format.
    pub fn is_clean(&self) -> bool {
        self.verdict == Verdict::Same && self.got.status == Status::Complete
    }
}

impl RoundTrip {
    pub fn new(reader: Reader) -> Self {
        RoundTrip { reader, parsers: Vec::new() }
    }

    /// Parses the message's turn up to each position where its end may begin, and returns the best result.
    pub fn read(&mut self, probes: &mut ProbeSet, probe: usize, thinking: Thinking, turn: &Turn) -> Result<Read> {
        let (asked, case) = (probes.asked(thinking), probes.case(probe, thinking));
        let (asked, case) =
            (asked.as_ref().as_ref().map_err(Clone::clone)?, case.as_ref().as_ref().map_err(Clone::clone)?);
        let parser = self.parser(probes, asked, thinking, &turn.opening)?;
        let mut best: Option<Read> = None;
        for &end in &turn.ends {
            let text = &turn.text[..end];
            let got = parser.read(text.as_bytes(), false, false)?;
            let verdict = if same(&got.message, &case.expected) { Verdict::Same } else { Verdict::Other };
            let read = Read { turn: text.to_owned(), got, verdict };
            if read.is_clean() {
                return Ok(read);
            }
            // If nothing is read well, the result for the longest end is the best one to report.
            if best.as_ref().is_none_or(|best| best.verdict == Verdict::Other && verdict == Verdict::Same) {
                best = Some(read);
            }
        }
        let mut read = best.expect("a turn may end where its text does");
        if read.verdict == Verdict::Other && alike(probes, asked, case, &read.got) {
            read.verdict = Verdict::Alike;
        }
        Ok(read)
    }

    fn parser(
        &mut self,
        probes: &ProbeSet,
        asked: &RenderedProbe,
        thinking: Thinking,
        opening: &str,
    ) -> Result<Parser> {
        let known = self.parsers.iter().find(|(mode, known, _)| (*mode, known.as_str()) == (thinking, opening));
        if let Some((_, _, parser)) = known {
            return parser.clone();
        }
        let own = &asked.prompts;
        let prefill = if opening == own.opening { &own.prompt.generation_prompt } else { opening };
        let source = probes.analyzed.template.source();
        let spec = FormatSpec { source, opening, prefill, ..FormatSpec::of(&asked.request) };
        let format = self.reader.format(probes.analyzed, &spec, Want::Whole);
        let (tools, call_keys) = (spec.tools().to_vec(), format.call_keys);
        let rules = CallRules { tools, call_keys, leniency: spec.leniency, ends: Vec::new() };
        let parser = Parser::with_rules(format.output, prefill, rules);
        self.parsers.push((thinking, opening.to_owned(), parser.clone()));
        parser
    }
}

/// Whether the template renders both messages alike, and the parsed one may be meant: it differs only in values that match
/// the tools' schemas, in characters of texts, or in which text is the reasoning.
fn alike(probes: &ProbeSet, asked: &RenderedProbe, case: &Case, got: &Ended) -> bool {
    let (expected, message) = (&case.expected, &got.message);
    let names = |message: &Message| message.tool_calls.iter().map(|call| call.name.clone()).collect::<Vec<_>>();
    let texts = |message: &Message| [&message.content, &message.reasoning_content].map(|text| text.trim().to_owned());
    let kinds =
        |texts: [String; 2]| texts.map(|text| (text.is_empty(), [WORD, THOUGHT_WORD].map(|word| text.contains(word))));
    let [content, reasoning] = texts(expected);
    let moved = texts(message) == [reasoning, content];
    names(message) == names(expected)
        && (moved || kinds(texts(message)) == kinds(texts(expected)))
        && got.calls().iter().all(|call| call.complete && call.known && call.valid)
        && probes.render(&asked.request, &with_ids(message, &case.whole)).is_ok_and(|again| again == case.rendered)
}

/// The message with the ids of another one, for ids that a host would generate.
pub(crate) fn with_ids(message: &Message, other: &Message) -> Message {
    let mut message = message.clone();
    for (call, known) in message.tool_calls.iter_mut().zip(&other.tool_calls) {
        call.id.clone_from(&known.id);
    }
    message
}

/// Whether two messages are equal apart from white space around texts and ids of calls.
fn same(a: &Message, b: &Message) -> bool {
    shown(a) == shown(b)
}

/// The parts of a message that are compared.
pub(crate) fn shown(message: &Message) -> Value {
    let calls = message.tool_calls.iter().map(|call| {
        let arguments = serde_json::from_str(&call.arguments).unwrap_or_else(|_| Value::from(&*call.arguments));
        json!({"name": call.name, "arguments": arguments})
    });
    let calls: Vec<Value> = calls.collect();
    json!({"content": message.content.trim(), "reasoning_content": message.reasoning_content.trim(), "tool_calls": calls})
}
