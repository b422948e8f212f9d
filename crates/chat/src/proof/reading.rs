//! Parses rendered messages with one reader, and compares.

use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value;

use super::messages::{THOUGHT_WORD, Thinking, WORD};
use super::turns::{Case, ProbeSet, RenderedProbe, Turn, arguments};
use crate::reader::Reader;
use chatparse_base::{Error, Result, sort};
use chatparse_format::late::Want;
use chatparse_format::{Constraint, FormatSpec, Opening, lower};
use chatparse_message::{Message, OutputOptions, ToolChoice};
use chatparse_stream::{CallRules, Ended, EndedBy, Parser, Status};

/// A reader, and its parsers for the messages of one template.
#[doc(hidden)]
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
#[doc(hidden)]
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
            let got = parser.read(text.as_bytes(), EndedBy::Model);
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
        for text in [[&read.turn, end, ""], [&read.turn, end, end]].map(|parts| parts.concat()) {
            let got = parser.read(text.as_bytes(), EndedBy::Model);
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
                let ended = parser.read(&turn.text.as_bytes()[..at], EndedBy::Model);
                if same(&ended.message, expected) {
                    return Some(String::new());
                }
                if !has_sound_calls(&ended) || ended.status != Status::Complete {
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
    let [content, reasoning] = texts(expected);
    let is_moved = texts(message) == [reasoning, content];
    if named(message) != named(expected)
        || !is_moved && texts(message).map(kind) != texts(expected).map(kind)
        || !has_sound_calls(got)
    {
        return false;
    }
    let again = probes.render(&asked.request, &with_ids(message, &case.whole));
    again.is_ok_and(|again| again == case.rendered)
}

/// Content and reasoning.
fn texts(message: &Message) -> [&str; 2] {
    [message.content.trim(), message.reasoning_content.trim()]
}

/// Whether a text is empty, and which of the messages' words it has.
fn kind(text: &str) -> [bool; 3] {
    [
        text.is_empty(),
        text.contains(WORD),
        text.contains(THOUGHT_WORD),
    ]
}

/// Whether all calls are complete, of tools that are offered, with arguments for them.
fn has_sound_calls(ended: &Ended) -> bool {
    let mut calls = ended.calls().iter();
    calls.all(|call| call.complete && call.known && call.valid)
}

/// The names of its calls, and the keys of their arguments, except of those that are null: a
/// template may leave them out.
fn named(message: &Message) -> Vec<(String, Vec<String>)> {
    let mut named = Vec::new();
    for call in &message.tool_calls {
        let mut arguments = arguments(call);
        arguments.retain(|_, value| !value.is_null());
        let mut keys: Vec<String> = arguments.into_iter().map(|(key, _)| key).collect();
        sort::sort(&mut keys);
        named.push((call.name.clone(), keys));
    }
    named
}

/// The message with the ids of another one, for ids that a host would generate.
#[doc(hidden)]
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
#[doc(hidden)]
pub fn shown(message: &Message) -> Value {
    let mut calls = Vec::new();
    for call in &message.tool_calls {
        let arguments =
            serde_json::from_str(&call.arguments).unwrap_or_else(|_| Value::from(&*call.arguments));
        calls.push(json!({"name": call.name, "arguments": arguments}));
    }
    json!({"content": message.content.trim(), "reasoning_content": message.reasoning_content.trim(), "tool_calls": calls})
}
