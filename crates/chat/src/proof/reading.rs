//! Parses rendered messages with one reader, and compares.

use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value;

use super::messages::{THOUGHT_WORD, Thinking, WORD};
use super::turns::{Case, ProbeSet, RenderedProbe, Turn, arguments};
use crate::reader::Reader;
use chatparse_base::{Error, Result};
use chatparse_format::late::Want;
use chatparse_format::{Constraint, FormatSpec, Opening, lower};
use chatparse_message::{Message, OutputOptions, ToolCall, ToolChoice};
use chatparse_stream::{CallRules, Ended, Parser, Status};

/// A reader, and its parsers for the messages of one template.
pub struct RoundTrip {
    reader: Arc<Reader>,
    /// The messages.
    pub probes: Rc<ProbeSet>,
    /// By thinking, by the opening of the turn, and by whether a call is required.
    parsers: Vec<(Thinking, String, ToolChoice, Result<Parser>)>,
}

/// The maximum number of beginnings of a turn that are read where its grammar takes them as whole.
const BEGINNINGS: usize = 32;

/// The result for one message.
pub struct Read {
    /// The turn without its end.
    pub turn: String,
    /// The parsed message.
    pub got: Ended,
    /// The comparison with the expected message.
    pub verdict: Verdict,
}

/// What came back of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
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
    /// `probes`: those with the reader's prompts.
    pub(crate) fn new(reader: &Arc<Reader>, probes: Rc<ProbeSet>) -> Self {
        RoundTrip {
            reader: Arc::clone(reader),
            probes,
            parsers: Vec::new(),
        }
    }

    /// Parses the message's turn up to each position where its end may begin, and returns the best
    /// result.
    pub fn read(&mut self, probe: usize, thinking: Thinking, turn: &Turn) -> Result<Read> {
        let probes = Rc::clone(&self.probes);
        let (asked, case) = (probes.asked(thinking)?, probes.case(probe, thinking)?);
        let parser = self.parser(asked, thinking, &turn.opening, ToolChoice::Auto)?;
        let mut best: Option<Read> = None;
        for &end in &turn.ends {
            let text = &turn.text[..end];
            let got = parser.read(text.as_bytes(), false, false)?;
            let verdict = if same(&got.message, &case.expected) {
                Verdict::Same
            } else {
                Verdict::Other
            };
            let read = Read {
                turn: text.to_owned(),
                got,
                verdict,
            };
            if read.is_clean() {
                return self.with_ends(&parser, thinking, read, &case.expected);
            }
            // If nothing is read well, the result for the longest end is the best one to report.
            if best
                .as_ref()
                .is_none_or(|best| best.verdict == Verdict::Other && verdict == Verdict::Same)
            {
                best = Some(read);
            }
        }
        let mut read = best.expect("a turn may end where its text does");
        if read.verdict == Verdict::Other && alike(&probes, asked, case, &read.got) {
            read.verdict = Verdict::Alike;
        }
        Ok(read)
    }

    /// The same message with the end of the turn, and with it twice, which hosts print that show
    /// special tokens: the first that is another message, or `read`.
    fn with_ends(
        &self,
        parser: &Parser,
        thinking: Thinking,
        read: Read,
        expected: &Message,
    ) -> Result<Read> {
        let end = &self.reader.writing(thinking != Thinking::Off).turn.end;
        let Some(end) = end.literal().filter(|end| !end.trim().is_empty()) else {
            return Ok(read);
        };
        for text in [
            format!("{}{end}", read.turn),
            format!("{}{end}{end}", read.turn),
        ] {
            let got = parser.read(text.as_bytes(), false, false)?;
            if !same(&got.message, expected) {
                return Ok(Read {
                    turn: text,
                    got,
                    verdict: Verdict::Other,
                });
            }
        }
        Ok(read)
    }

    /// What is wrong with the grammar of required calls at this turn of calls alone: it does not
    /// take the message, or takes a beginning that is no answer; empty if nothing is. `None` if
    /// nothing constrains such calls.
    pub fn grammar_fault(
        &mut self,
        asked: &RenderedProbe,
        thinking: Thinking,
        turn: &Turn,
        expected: &Message,
    ) -> Option<String> {
        let parser = self
            .parser(asked, thinking, &turn.opening, ToolChoice::Required)
            .ok()?;
        let mut matcher = parser.matcher().ok()?;
        let mut read = 0;
        for at in 0..=turn.text.len() {
            if matcher.may_end() && read < BEGINNINGS {
                let ended = parser
                    .read(&turn.text.as_bytes()[..at], false, false)
                    .ok()?;
                if same(&ended.message, expected) {
                    return Some(String::new());
                }
                let answers = ended
                    .calls()
                    .iter()
                    .all(|call| call.complete && call.known && call.valid);
                if !answers || ended.status != Status::Complete {
                    return Some(format!("takes {}", &turn.text[..at]));
                }
                read += 1;
            }
            let next = turn.text.as_bytes().get(at..=at).unwrap_or_default();
            if matcher.feed(next).ok()? == 0 {
                break;
            }
        }
        Some(format!("refuses {}", turn.text))
    }

    fn parser(
        &mut self,
        asked: &RenderedProbe,
        thinking: Thinking,
        opening: &str,
        tool_choice: ToolChoice,
    ) -> Result<Parser> {
        let key = (thinking, opening, tool_choice);
        let known = self
            .parsers
            .iter()
            .find(|(mode, known, choice, _)| (*mode, known.as_str(), *choice) == key);
        if let Some((.., parser)) = known {
            return parser.clone();
        }
        let own = &asked.prompts.opening;
        let prefill = if opening == own.text {
            &own.prefill
        } else {
            opening
        };
        let begins = Opening {
            prefill: prefill.to_owned(),
            ..Opening::of(opening)
        };
        let mut options = OutputOptions::clone(&asked.request.output);
        options.tool_choice = tool_choice;
        let spec = FormatSpec {
            options: &options,
            ..FormatSpec::of(&asked.request, &begins)
        };
        let writing = self.reader.writing_after(opening, options.enable_thinking);
        let format = lower(writing, &spec, Want::Whole);
        let (tools, call_keys) = (spec.tools().to_vec(), format.call_keys);
        let rules = CallRules {
            tools,
            call_keys,
            leniency: options.leniency,
            ends: Vec::new(),
        };
        let parser = match format.constraint {
            Constraint::Free if spec.call_required() => Err(Error::invalid("no grammar")),
            _ => Parser::with_rules(format.output, prefill, rules)
                .map(|parser| parser.ending(self.reader.all_ends(options.enable_thinking))),
        };
        self.parsers
            .push((thinking, opening.to_owned(), tool_choice, parser.clone()));
        parser
    }
}

/// Whether the template renders both messages alike, and the parsed one may be meant: it differs
/// only in values that match the tools' schemas, in characters of texts, or in which text is the
/// reasoning.
fn alike(probes: &ProbeSet, asked: &RenderedProbe, case: &Case, got: &Ended) -> bool {
    let (expected, message) = (&case.expected, &got.message);
    let texts = |message: &Message| {
        [&message.content, &message.reasoning_content].map(|text| text.trim().to_owned())
    };
    let kinds = |texts: [String; 2]| {
        texts.map(|text| {
            (
                text.is_empty(),
                [WORD, THOUGHT_WORD].map(|word| text.contains(word)),
            )
        })
    };
    let [content, reasoning] = texts(expected);
    let moved = texts(message) == [reasoning, content];
    named(message) == named(expected)
        && (moved || kinds(texts(message)) == kinds(texts(expected)))
        && got
            .calls()
            .iter()
            .all(|call| call.complete && call.known && call.valid)
        && probes
            .render(&asked.request, &with_ids(message, &case.whole))
            .is_ok_and(|again| again == case.rendered)
}

/// The names of its calls, and the keys of their arguments, except of those that are null: a
/// template may leave them out.
fn named(message: &Message) -> Vec<(String, Vec<String>)> {
    let keys = |call: &ToolCall| {
        let mut keys: Vec<String> = arguments(call)
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, _)| key)
            .collect();
        chatparse_base::sort::sort(&mut keys);
        keys
    };
    message
        .tool_calls
        .iter()
        .map(|call| (call.name.clone(), keys(call)))
        .collect()
}

/// The message with the ids of another one, for ids that a host would generate.
pub fn with_ids(message: &Message, other: &Message) -> Message {
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
pub fn shown(message: &Message) -> Value {
    let calls = message.tool_calls.iter().map(|call| {
        let arguments =
            serde_json::from_str(&call.arguments).unwrap_or_else(|_| Value::from(&*call.arguments));
        json!({"name": call.name, "arguments": arguments})
    });
    let calls: Vec<Value> = calls.collect();
    json!({"content": message.content.trim(), "reasoning_content": message.reasoning_content.trim(), "tool_calls": calls})
}
