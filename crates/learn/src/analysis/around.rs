//! What is around reasoning as llama.cpp's analysis finds it: it continues messages with these texts. They are found by their
//! shape, in renders of a turn and of the prompt with thinking off and on.

use std::sync::Arc;

use serde_json::Value;

use super::turn::sample::{QUESTION, REPLY, SampleCall, THOUGHT, Words, render, tools};
use super::turn::{Reasoning, SlotKind, TurnFormat, ValueKind};
use chatparse_jinja::Template;

/// The texts around reasoning in a message that is continued.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// What stands in place of the prompt's opening; empty if nothing does.
    opening: &'static str,
    /// The opening; empty if there is no reasoning.
    start: String,
    /// What closes it, and what opens the content.
    end: String,
    /// What of the opening a prompt has that opens reasoning itself.
    begins: usize,
}

/// How many bytes of a prompt's end are looked for in the other.
const TAIL: usize = 64;

impl Around {
    /// Between these, behind this opening.
    pub fn new(opening: &'static str, start: &str, end: &str) -> Around {
        Around { opening, start: start.to_owned(), end: end.to_owned(), begins: start.trim_end().len() }
    }

    /// As a turn has it, whose content llama.cpp opens, too.
    pub fn of_turn(turn: &TurnFormat) -> Around {
        let content = |from| turn.edges.iter().find(|edge| edge.from == from && edge.to == SlotKind::Content);
        let opens = |from| content(from).map_or("", |edge| edge.glue.head());
        let Some(Reasoning { start, open, close, shown }) = turn.reasoning.as_ref().filter(|it| !it.start.is_empty())
        else {
            return Around::new("", "", opens(SlotKind::Prompt));
        };
        let begun = turn.opening.rfind(&**start).filter(|_| *shown).map_or("", |at| &turn.opening[at + start.len()..]);
        let start = match open.is_blank() {
            true => format!("{start}{}", blank(begun)),
            false => open.head().trim_start().to_owned(),
        };
        Around::new("", &start, &[close.head(), opens(SlotKind::Reasoning)].concat())
    }

    /// As a template renders it.
    pub fn of_template(template: &Template) -> Around {
        let source = template.source();
        let said = |more: Value| {
            let mut answer = json!({"role": "assistant", "content": REPLY, "reasoning_content": THOUGHT});
            answer
                .as_object_mut()
                .into_iter()
                .for_each(|answer| answer.extend(more.as_object().cloned().unwrap_or_default()));
            json!([{"role": "user", "content": QUESTION}, answer])
        };
        let history = |more, tools: &Arc<Value>| render(template, said(more), tools, true, false).unwrap_or_default();
        let mut found = Around::find(&history(json!({}), &Arc::default()), true).unwrap_or_default();
        let question = || json!([{"role": "user", "content": QUESTION}]);
        if let [Some(off), Some(on)] =
            [false, true].map(|thinks| render(template, question(), &Arc::default(), thinks, true))
        {
            found.complete(&off, &on);
        }
        if template.caps().tool_calls {
            let tools = Arc::new(tools());
            let call = Words::default().call(&[ValueKind::Text, ValueKind::Integer]);
            let function = json!({"name": SampleCall::name(0), "arguments": call.object()});
            let calls = json!([{"type": "function", "id": SampleCall::id(template, 0), "function": function}]);
            let [answers, calls] =
                [json!({}), json!({"content": null, "tool_calls": calls})].map(|more| history(more, &tools));
            if let Some(with_calls) = Around::find(&calls, false).filter(|_| !answers.contains(THOUGHT)) {
                found = Around {
                    start: if with_calls.start.is_empty() { found.start } else { with_calls.start.clone() },
                    ..with_calls
                };
            }
        }
        // Two ways of templates that llama.cpp tells by their sources.
        let splits = source.contains("content.split('</think>')") && !source.contains("reasoning_content");
        let asks = source.contains("Write your thoughts between <think></think>");
        if asks || splits && found == Around::default() && !source.contains("<SPECIAL_12>") {
            found = Around::new("", "<think>", "</think>");
        }
        let end = if found.start.is_empty() { "" } else { &found.end };
        Around { begins: found.start.len(), ..Around::new("", &found.start, end) }
    }

    /// Around the thought in a history. `spaced`: white space in front of what closes it is a part of that.
    fn find(history: &str, spaced: bool) -> Option<Around> {
        let (before, behind) = history.split_once(THOUGHT)?;
        let space = blank(behind);
        let close = marker(&behind[space.len()..]).map(|length| space.len() + length);
        let end = close.map_or("", |close| &behind[..close + blank(&behind[close..]).len()]);
        let opener = before.trim_end();
        let start = [('<', '>'), ('[', ']')].iter().find_map(|(open, close)| {
            let inside = opener.strip_suffix(*close)?;
            let from = inside.rfind(*close).map_or(0, |at| at + 1);
            Some(&before[from + inside[from..].find(*open)?..])
        });
        let start = start.filter(|_| !end.is_empty()).unwrap_or_default();
        Some(Around::new("", start, if spaced && !start.is_empty() { end } else { end.trim_start() }))
    }

    /// With what the prompt opens reasoning, or closes it, where the history does not show that.
    fn complete(&mut self, off: &str, on: &str) {
        let is_text = |text: &str| !text.trim().is_empty();
        if let Some(opens) = on.strip_prefix(off).filter(|opens| is_text(opens)) {
            if self.start.is_empty() {
                self.start = opens.to_owned();
            }
        } else if let Some(closes) = off.strip_prefix(on).filter(|closes| is_text(closes)) {
            if self.end.is_empty() {
                let markers = markers(off);
                if let [.., start, close] = &markers[..]
                    && *close == closes.trim()
                {
                    self.start = (*start).to_owned();
                }
                self.end = closes.to_owned();
            }
        } else {
            for (base, extended) in [(on, off), (off, on)] {
                let tail =
                    base.char_indices().map(|(at, _)| at).find(|at| base.len() - at <= TAIL).unwrap_or(base.len());
                let Some((_, more)) = extended.rsplit_once(&base[tail..]) else { continue };
                if let [start, end] = markers(more)[..]
                    && more.trim().starts_with(start)
                    && more.trim().ends_with(end)
                {
                    self.start = if self.start.is_empty() { start } else { &self.start }.to_owned();
                    self.end = if self.end.is_empty() { end } else { &self.end }.to_owned();
                    return;
                }
            }
        }
    }

    /// The end of the prompt that continues a message: behind the opening, up to where that opens reasoning.
    pub fn continued(&self, opening: &str, reasoning: &str, content: Option<&str>) -> String {
        let Around { start, end, begins, .. } = self;
        let opening = if self.opening.is_empty() { opening } else { self.opening };
        let begun = opening.find(&start[..*begins]).filter(|_| *begins > 0).unwrap_or(opening.len());
        let reasoning = if start.is_empty() { "" } else { reasoning };
        let content = content.or(start.is_empty().then_some(""));
        let [end, content] = content.map_or(["", ""], |content| [&**end, content]);
        [&opening[..begun], start, reasoning, end, content].concat()
    }
}

/// The white space that a text begins with.
fn blank(text: &str) -> &str {
    &text[..text.len() - text.trim_start().len()]
}

/// The length of the text in brackets that a text begins with.
fn marker(text: &str) -> Option<usize> {
    let close = match text.as_bytes().first()? {
        b'<' => '>',
        b'[' => ']',
        _ => return None,
    };
    Some(text.find(close)? + 1)
}

/// All texts in brackets.
fn markers(text: &str) -> Vec<&str> {
    let (mut rest, mut found) = (text, Vec::new());
    while let Some(at) = rest.find(['<', '[']) {
        rest = &rest[at..];
        let Some(length) = marker(rest) else { break };
        found.push(&rest[..length]);
        rest = &rest[length..];
    }
    found
}
