//! Messages as a template writes them, and what of that is the assistant's turn.
//!
//! A prompt, and the same conversation with the assistant's message in it: where the second text begins with the first, the
//! rest is the turn, and what ends it. Where the end begins no render says: the model may write it as a token that no host
//! shows. But it does not depend on the message, so it lies within what a message of content and one of calls end with alike,
//! or it is one last marker.

use std::rc::Rc;

use super::messages::{self, Probe, THOUGHT_WORD, Thinking, WORD};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::PROBE_BYTES;
use crate::message::{Message, Request};
use crate::reader::{Prompts, Reader, Taught};
use crate::template::Template;

/// Longest marker that may end a turn, in bytes.
const MARKER: usize = 64;
/// Longest end of a turn that is looked at, in bytes, and most places in it where it may begin.
const END: usize = 200;
const ENDS: usize = 16;

/// All messages for a template, rendered as somebody asks for them, once for all readers that want the same prompts.
pub(crate) struct Exam<'t> {
    pub taught: &'t Taught,
    template: Template,
    /// Whose prompts these are.
    reader: Reader,
    probes: Vec<Probe>,
    asked: [Option<Rc<Result<Asked>>>; 3],
    /// In the order of the probes, and of [`Thinking::ALL`].
    cases: Vec<[Option<Rc<Result<Case>>>; 3]>,
}

/// A request that a message answers.
pub(crate) struct Asked {
    pub request: Request,
    pub prompts: Prompts,
}

/// A message, rendered.
pub(crate) struct Case {
    /// The message.
    pub whole: Message,
    /// The message less what the template leaves out.
    pub expected: Message,
    /// What the template leaves out: `reasoning`, `content` or `calls`.
    pub omitted: Option<&'static str>,
    /// What it leaves out cannot be missing: without it, this is another message, or none.
    pub mute: bool,
    /// The conversation.
    pub rendered: String,
    /// Where in it the turn begins, if it does where the prompt ends.
    pub begin: Option<usize>,
}

/// What the model writes.
pub(crate) struct Turn {
    /// What of the prompt opens it.
    pub opening: String,
    /// The turn and its end.
    pub text: String,
    /// Where the end may begin, the earliest place first.
    pub ends: Vec<usize>,
}

impl<'t> Exam<'t> {
    pub fn new(taught: &'t Taught, reader: Reader) -> Self {
        let probes = messages::sayable(&taught.template);
        let cases = probes.iter().map(|_| Default::default()).collect();
        Exam { taught, template: taught.template.probing(), reader, probes, asked: Default::default(), cases }
    }

    pub fn probes(&self) -> &[Probe] {
        &self.probes
    }

    /// The request whose answer is wanted in this way to think.
    pub fn asked(&mut self, thinking: Thinking) -> Rc<Result<Asked>> {
        let (taught, template, reader) = (self.taught, &self.template, self.reader);
        let asked = self.asked[thinking as usize].get_or_insert_with(|| {
            let request = messages::request(thinking);
            Rc::new(reader.prompts(taught, template, &request, true).map(|prompts| Asked { request, prompts }))
        });
        Rc::clone(asked)
    }

    /// The conversation that ends with `message`.
    pub fn render(&self, request: &Request, message: &Message) -> Result<String> {
        let prompts = self.reader.prompts(self.taught, &self.template, &messages::with(request, message), false)?;
        Ok(prompts.prompt.prompt)
    }

    /// The message in that way to think.
    pub fn case(&mut self, probe: usize, thinking: Thinking) -> Rc<Result<Case>> {
        if let Some(case) = &self.cases[probe][thinking as usize] {
            return Rc::clone(case);
        }
        let case = Rc::new(match &*self.asked(thinking) {
            Ok(asked) => self.new_case(asked, self.probes[probe].message(thinking)),
            Err(error) => Err(error.clone()),
        });
        self.cases[probe][thinking as usize].insert(case).clone()
    }

    fn new_case(&self, asked: &Asked, whole: Message) -> Result<Case> {
        let rendered = self.render(&asked.request, &whole)?;
        if rendered.len() > PROBE_BYTES {
            let message = format!("the template writes {} bytes for one short message", rendered.len());
            return Err(Error::new(ErrorKind::Limit, message));
        }
        let begin = rendered.starts_with(&asked.prompts.prompt.prompt).then_some(asked.prompts.prompt.prompt.len());
        // What a template leaves out cannot come back.
        let mut expected = whole.clone();
        let mut omitted = None;
        let prompt = &asked.prompts.prompt.prompt;
        let turn = &rendered[begin.unwrap_or_else(|| shared_markup(prompt, &rendered))..];
        for (part, text, word) in
            [("reasoning", &mut expected.reasoning_content, THOUGHT_WORD), ("content", &mut expected.content, WORD)]
        {
            if !text.is_empty() && !turn.contains(word) {
                omitted = Some(part);
                text.clear();
            }
        }
        let calls = expected.tool_calls.iter().all(|call| turn.contains(&call.name));
        if !calls {
            omitted = Some("calls");
        }
        let empty = [&expected.content, &expected.reasoning_content].map(String::is_empty) == [true; 2];
        let mute = !calls || empty && expected.tool_calls.is_empty();
        Ok(Case { whole, expected, omitted, mute, rendered, begin })
    }

    /// What the model writes in that way to think; `None` where the turn does not begin where the prompt ends.
    pub fn turn(&mut self, probe: usize, thinking: Thinking) -> Option<Turn> {
        let (asked, case) = (self.asked(thinking), self.case(probe, thinking));
        let (Ok(asked), Ok(case)) = (&*asked, &*case) else { return None };
        Some(self.turn_from(probe, thinking, case.begin?, asked.prompts.opening.clone()))
    }

    /// The same where the turn begins nowhere where the prompt ends, however the model thinks: behind what the prompt's opening
    /// and the turn have in common, as if the prompt ended there.
    pub fn turn_behind_common(&mut self, probe: usize) -> Option<(Thinking, Turn)> {
        let cases = Thinking::ALL.map(|thinking| self.case(probe, thinking));
        if cases.iter().any(|case| matches!(&**case, Ok(Case { begin: Some(_), .. }))) {
            return None;
        }
        let thinking = Thinking::ALL.into_iter().rev().find(|thinking| cases[*thinking as usize].is_ok())?;
        let asked = self.asked(thinking);
        let (Ok(asked), Ok(case)) = (&*asked, &*cases[thinking as usize]) else { return None };
        if case.mute {
            return None;
        }
        let (prompt, opening) = (&asked.prompts.prompt.prompt, &asked.prompts.opening);
        let before = prompt.strip_suffix(opening.as_str())?;
        let turn = case.rendered.strip_prefix(before)?;
        let common = shared_markup(opening, turn);
        if common == 0 {
            return None;
        }
        let turn = self.turn_from(probe, thinking, before.len() + common, opening[..common].to_owned());
        Some((thinking, turn))
    }

    fn turn_from(&mut self, probe: usize, thinking: Thinking, begin: usize, opening: String) -> Turn {
        let case = self.case(probe, thinking);
        let text = case.as_ref().as_ref().map_or("", |case| &case.rendered[begin..]).to_owned();
        // A message of the other kind, or one that says something else.
        let calls = self.probes[probe].calls();
        let other = |of_calls: bool| {
            let kind = |&other: &usize| (self.probes[other].calls() > 0) == of_calls && other != probe;
            (0..self.probes.len()).filter(kind).max_by_key(|&other| self.probes[other].rich)
        };
        let beside = other(calls == 0).or_else(|| other(calls > 0)).map(|beside| self.case(beside, thinking));
        let beside = beside.as_deref().and_then(|case| case.as_ref().ok()).map(|case| case.rendered.as_str());
        let shared = beside.map(|beside| shared_end(&text, beside));
        let end = match shared {
            // What ends calls only can be read with them.
            Some(shared) if calls > 0 => shared,
            shared => shared.unwrap_or(0).max(last_marker(&text)),
        };
        let ends = ends(&text, end);
        Turn { opening, text, ends }
    }
}

/// How much of two texts is the same, no marker cut in two.
fn shared_markup(a: &str, b: &str) -> usize {
    let shared = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let border = |at: &usize| a.is_char_boundary(*at) && is_border(a, *at) && is_border(b, *at);
    (0..=shared).rev().find(border).unwrap_or(0)
}

/// How many bytes two texts end with alike.
fn shared_end(a: &str, b: &str) -> usize {
    a.bytes().rev().zip(b.bytes().rev()).take_while(|(a, b)| a == b).count()
}

/// Where in `text` its end may begin, the earliest place first: within the last `end` bytes.
fn ends(text: &str, end: usize) -> Vec<usize> {
    let from = text.len() - end.min(END);
    let borders = (from..=text.len()).filter(|&at| text.is_char_boundary(at) && is_border(text, at));
    borders.take(ENDS).collect()
}

/// How long the last marker is, with the white space around it.
fn last_marker(text: &str) -> usize {
    let inked = text.trim_end();
    let marker = inked.rfind(['<', '[']).filter(|&open| is_marker(&inked[open..])).unwrap_or(inked.len());
    text.len() - marker
}

/// Whether a marker or white space begins or ends at `at`, or the text does.
pub(crate) fn is_border(text: &str, at: usize) -> bool {
    let (before, after) = (text[..at].chars().next_back(), text[at..].chars().next());
    let (Some(before), Some(after)) = (before, after) else { return true };
    matches!(before, '>' | ']') || matches!(after, '<' | '[') || before.is_whitespace() != after.is_whitespace()
}

/// Whether `text` is one marker, as `<|im_end|>` is.
pub(crate) fn is_marker(text: &str) -> bool {
    let inside = text.strip_prefix('<').and_then(|text| text.strip_suffix('>'));
    let inside = inside.or_else(|| text.strip_prefix('[').and_then(|text| text.strip_suffix(']')));
    inside.is_some_and(|inside| {
        inside.len() <= MARKER && !inside.contains(|c: char| c.is_whitespace() || "\"'{}<>[]".contains(c))
    })
}
