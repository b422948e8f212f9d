//! What a template writes by itself: a prompt whose values are one character each.

use std::ops::Range;

use serde_json::Value;

use crate::chat::ChatTemplate;
use crate::segments::{Origin, Segments};
use chatparse_base::{Error, ErrorKind, Result};
use chatparse_message::Request;

/// Stands for a value: U+FFFC, an object in a text.
pub const VALUE: char = '\u{fffc}';

/// The indices of the messages in the conversation.
pub const SYSTEM: usize = 0;
pub const USER: usize = 1;
pub const CALLS: usize = 2;
pub const ANSWER: usize = CALLS + 1;
/// The longest prompt that is looked at: the rules compare its markers with each other.
const BYTES: usize = 1 << 16;
/// In place of the index, for all results of calls.
const RESULT: usize = usize::MAX;

/// A prompt with a character for each value.
pub struct Skeleton {
    pub text: String,
    /// The place of each value in `text`, and its message; `None` for tools and the like.
    pub values: Vec<(usize, Option<usize>)>,
    /// The number of calls in the turn with calls.
    pub calls: usize,
}

impl Skeleton {
    /// The template's conversation: a system message, a question, calls, their results, an answer, and a further question.
    ///
    /// # Errors
    /// Those of the template, for one call as well as for two.
    pub fn of(template: &ChatTemplate) -> Result<Skeleton> {
        let of_calls = |calls| {
            let segments = template.segments(&request(calls)?)?;
            if segments.prompt.len() > BYTES {
                let message = format!("the prompt of a short conversation has {} bytes", segments.prompt.len());
                return Err(Error::new(ErrorKind::Limit, message));
            }
            Ok(Skeleton::new(&segments, calls))
        };
        of_calls(2).or_else(|_| of_calls(1))
    }

    fn new(segments: &Segments, calls: usize) -> Skeleton {
        let (mut text, mut values) = (String::new(), Vec::new());
        // Results may name the tool that was called: that is no part of the turn with calls.
        let turn = segments.turns.iter().find(|turn| turn.message == CALLS);
        let end = turn.and_then(|turn| turn.parts.last()).map_or(usize::MAX, |(_, bytes)| bytes.end);
        for segment in &segments.segments {
            let message = match &segment.origin {
                Origin::Template => {
                    text.push_str(&segments.prompt[segment.bytes.clone()]);
                    continue;
                }
                // The results stand between the calls and the answer, and are not counted.
                Origin::Message { index, .. } if *index > CALLS + calls => Some(index - calls),
                Origin::Message { index, .. } if *index > CALLS || *index == CALLS && segment.bytes.start >= end => {
                    Some(RESULT)
                }
                Origin::Message { index, .. } => Some(*index),
                // What the template changes stands by what it does not.
                Origin::Unknown => values.last().and_then(|(_, message): &(usize, Option<usize>)| *message),
                _ => None,
            };
            values.push((text.len(), message));
            text.push(VALUE);
        }
        Skeleton { text, values, calls }
    }

    /// The places of a message's values.
    pub fn values_of(&self, message: usize) -> impl Iterator<Item = usize> {
        self.values.iter().filter(move |(_, of)| *of == Some(message)).map(|(at, _)| *at)
    }

    /// From the first of a message's values to the last one, with it.
    pub fn extent(&self, message: usize) -> Option<Range<usize>> {
        let (first, last) = (self.values_of(message).min()?, self.values_of(message).max()?);
        Some(first..last + VALUE.len_utf8())
    }

    /// The template's text behind a message's last value, up to the next value.
    pub fn behind(&self, message: usize) -> Option<&str> {
        let from = self.extent(message)?.end;
        let rest = &self.text[from..];
        Some(&rest[..rest.find(VALUE)?])
    }

    /// The template's text in front of a message's first value.
    pub fn before(&self, message: usize) -> Option<&str> {
        let before = &self.text[..self.extent(message)?.start];
        Some(before.rsplit_once(VALUE).map_or(before, |(_, text)| text))
    }

    /// A part of the text, for people: at most so much around it.
    pub fn shown(&self, part: Range<usize>) -> String {
        const AROUND: usize = 60;
        let border = |at: usize| (0..=at.min(self.text.len())).rev().find(|at| self.text.is_char_boundary(*at));
        let from = border(part.start.saturating_sub(AROUND)).unwrap_or(0);
        let to = border(part.end.saturating_add(AROUND)).unwrap_or(self.text.len());
        self.text[from..to].replace(VALUE, "…")
    }
}

/// The prompts of the conversation, with one call and with two, where the template takes them.
pub fn prompts(template: &ChatTemplate) -> [Option<String>; 2] {
    [1, 2].map(|calls| template.prompt(&request(calls).ok()?).ok())
}

fn request(calls: usize) -> Result<Request> {
    let call = |id: &str, place: &str, days: i64| {
        let arguments = json!({"place": place, "days": days});
        json!({"id": id, "type": "function", "function": {"name": "look_up", "arguments": arguments}})
    };
    let result = |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "name": "look_up", "content": text});
    let tool = json!({"type": "function", "function": {"name": "look_up", "description": "Looks it up.", "parameters":
        {"type": "object", "properties": {"place": {"type": "string", "description": "Where"}, "days": {"type": "integer"}},
        "required": ["place"]}}});
    let all = [("call00001", call("call00001", "Porto Alegre", 3)), ("call00002", call("call00002", "Mumbai", 41))];
    let results = ["Rain, they say", "Dry as dust"];
    let mut messages = vec![
        json!({"role": "system", "content": "Be brief."}),
        json!({"role": "user", "content": "How is the weather?"}),
        json!({"role": "assistant", "content": "", "reasoning_content": "A tool knows.",
            "tool_calls": all[..calls].iter().map(|(_, call)| call.clone()).collect::<Vec<Value>>()}),
    ];
    messages.extend(all[..calls].iter().zip(results).map(|((id, _), text)| result(id, text)));
    messages.push(json!({"role": "assistant", "content": "It rains."}));
    messages.push(json!({"role": "user", "content": "Still?"}));
    Request::from_json(&json!({"tools": [tool], "now": 0, "parallel_tool_calls": true, "messages": messages}))
}
