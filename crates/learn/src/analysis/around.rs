//! The texts around reasoning as llama.cpp's analysis finds them, for continued messages: by their
//! shape, in renders of a turn and of the prompt with thinking off and on.

use std::sync::Arc;

use super::turn::sample::{QUESTION, REPLY, THOUGHT, Words, call_json, render, tools};
use super::turn::{Reasoning, SlotKind, TurnFormat, ValueKind};
use chatparse_jinja::Template;
use serde_json::Value;

/// The texts around reasoning in a message that is continued.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// Replaces the prompt's opening, unless it is empty.
    opening: &'static str,
    /// The opening of reasoning; empty if there is none.
    start: String,
    /// What closes it, and what opens the content.
    end: String,
    /// How many bytes of `start` a prompt has that opens reasoning itself.
    begins: usize,
}

/// How many bytes of a prompt's end are looked for in the other.
const TAIL: usize = 64;

impl Around {
    /// Reasoning between `start` and `end`, after this opening.
    pub fn new(opening: &'static str, start: &str, end: &str) -> Around {
        Around {
            opening,
            start: start.to_owned(),
            end: end.to_owned(),
            begins: start.trim_end().len(),
        }
    }

    /// As a turn has it, whose content llama.cpp opens, too.
    pub fn of_turn(turn: &TurnFormat) -> Around {
        let reasoning = turn.reasoning.as_ref().filter(|it| !it.start.is_empty());
        let Some(Reasoning {
            start,
            open,
            close,
            shown,
            ..
        }) = reasoning
        else {
            return Around::new(
                "",
                "",
                turn.text_between(SlotKind::Prompt, SlotKind::Content),
            );
        };
        let end = turn.text_between(SlotKind::Reasoning, SlotKind::Content);
        let end = [close.head(), end].concat();
        if !open.is_blank() {
            return Around::new("", open.head().trim_start(), &end);
        }
        // The white space that the prompt has after the marker belongs to the opening.
        let begun = turn.opening.rfind(&**start).filter(|_| *shown);
        let space = begun.map_or("", |at| blank(&turn.opening[at + start.len()..]));
        Around::new("", &[start, space].concat(), &end)
    }

    /// As a template renders it.
    pub fn of_template(template: &Template) -> Around {
        let answer = json!({"role": "assistant", "content": REPLY, "reasoning_content": THOUGHT});
        let (none, tools) = (Arc::default(), Arc::new(tools()));
        let mut found = Around::of_answer(template, &answer, &none, true).unwrap_or_default();
        let prompts =
            [false, true].map(|thinks| render(template, json!([question()]), &none, thinks, true));
        if let [Some(off), Some(on)] = prompts {
            found.complete(&off, &on);
        }
        if template.caps().tool_calls
            && Around::of_answer(template, &answer, &tools, true).is_none()
        {
            let call = Words::default().call(&[ValueKind::Text, ValueKind::Integer]);
            let mut calling = answer.clone();
            calling["content"] = json!(null);
            calling["tool_calls"] = json!([call_json(template, 0, call.object())]);
            if let Some(mut in_calls) = Around::of_answer(template, &calling, &tools, false) {
                in_calls.fill(&found.start, "");
                found = in_calls;
            }
        }
        // Two ways of templates that llama.cpp tells by their sources.
        let source = template.source();
        let splits = source.contains("content.split('</think>')")
            && !["reasoning_content", "<SPECIAL_12>"]
                .iter()
                .any(|text| source.contains(text));
        if source.contains("Write your thoughts between <think></think>")
            || splits && found == Around::default()
        {
            found.fill("<think>", "</think>");
        }
        if found.start.is_empty() {
            found.end.clear();
        }
        found.begins = found.start.len();
        found
    }

    /// Around the thought of an answer in a history.
    fn of_answer(
        template: &Template,
        answer: &Value,
        tools: &Arc<Value>,
        spaced: bool,
    ) -> Option<Around> {
        let messages = json!([question(), answer]);
        Around::find(&render(template, messages, tools, true, false)?, spaced)
    }

    /// Around the thought in a history. `spaced`: white space before the closing marker belongs to
    /// it.
    fn find(history: &str, spaced: bool) -> Option<Around> {
        let (before, behind) = history.split_once(THOUGHT)?;
        let space = blank(behind).len();
        let close = marker(&behind[space..]).map_or(0, |length| space + length);
        let end = match close {
            0 => "",
            _ => &behind[..close + blank(&behind[close..]).len()],
        };
        let start = [('<', '>'), ('[', ']')].iter().find_map(|(open, close)| {
            let inside = before.trim_end().strip_suffix(*close)?;
            let from = inside.rfind(*close).map_or(0, |at| at + 1);
            Some(&before[from + inside[from..].find(*open)?..])
        });
        Some(match start.filter(|_| close > 0) {
            Some(start) if spaced => Around::new("", start, end),
            start => Around::new("", start.unwrap_or_default(), end.trim_start()),
        })
    }

    /// With what the prompt opens reasoning, or closes it, where the history does not show that.
    fn complete(&mut self, off: &str, on: &str) {
        if let Some(opens) = on
            .strip_prefix(off)
            .filter(|opens| !opens.trim().is_empty())
        {
            self.fill(opens, "");
        } else if let Some(closes) = off
            .strip_prefix(on)
            .filter(|closes| !closes.trim().is_empty())
        {
            match markers(off)[..] {
                [.., start, close] if close == closes.trim() && self.end.is_empty() => {
                    self.fill(start, closes)
                }
                _ => self.fill("", closes),
            }
        } else {
            for (base, longer) in [(on, off), (off, on)] {
                let tail = (base.len().saturating_sub(TAIL)..)
                    .find(|at| base.is_char_boundary(*at))
                    .unwrap_or(0);
                if let Some((_, more)) = longer.rsplit_once(&base[tail..])
                    && let [start, end] = markers(more)[..]
                {
                    return self.fill(start, end);
                }
            }
        }
    }

    /// Sets what is empty.
    fn fill(&mut self, start: &str, end: &str) {
        for (known, found) in [(&mut self.start, start), (&mut self.end, end)] {
            if known.is_empty() {
                found.clone_into(known);
            }
        }
    }

    /// The end of the prompt that continues a message: the opening, up to where it opens reasoning,
    /// and the message so far.
    pub fn continued(&self, opening: &str, reasoning: &str, content: Option<&str>) -> String {
        let Around {
            start, end, begins, ..
        } = self;
        let opening = if self.opening.is_empty() {
            opening
        } else {
            self.opening
        };
        let begun = opening
            .find(&start[..*begins])
            .filter(|_| *begins > 0)
            .unwrap_or(opening.len());
        let reasoning = if start.is_empty() { "" } else { reasoning };
        let content = content.or(start.is_empty().then_some(""));
        let [end, content] = content.map_or(["", ""], |content| [&**end, content]);
        [&opening[..begun], start, reasoning, end, content].concat()
    }
}

fn question() -> Value {
    json!({"role": "user", "content": QUESTION})
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
    while let Some(at) = rest.find(['<', '['])
        && let Some(length) = marker(&rest[at..])
    {
        found.push(&rest[at..at + length]);
        rest = &rest[at + length..];
    }
    found
}
