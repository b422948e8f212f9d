//! What a template writes by itself: a prompt whose values are one character each.

use std::ops::Range;

use super::marker::{Marker, VALUE, markers};
use crate::chat::ChatTemplate;
use crate::segments::{Origin, Segments};
use chatparse_base::{Error, ErrorKind, Result};
use chatparse_message::Request;

/// The indices of the messages in the conversation.
pub const SYSTEM: usize = 0;
pub const USER: usize = 1;
pub const CALLS: usize = 2;
pub const ANSWER: usize = CALLS + 1;
/// The longest prompt that is looked at: the rules compare its markers with each other.
const BYTES: usize = 1 << 16;
/// The most markers that it may have, and the most different ones. Real ones have some forty kinds.
const MARKERS: usize = 1_000;
const KINDS: usize = 64;
/// In place of the index, for all results of calls.
pub const RESULT: usize = usize::MAX;
const QUESTION: &str = "How is the weather?";

/// Which conversation a prompt is of. Messages keep their indices where others are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub system: bool,
    /// The number of calls in the turn with calls.
    pub calls: usize,
}

/// The whole conversation.
pub const WHOLE: Shape = Shape { system: true, calls: 2 };

/// A prompt with a character for each value.
pub struct Skeleton {
    pub text: String,
    /// The place of each value in `text`, and its message; `None` for tools and the like.
    pub values: Vec<(usize, Option<usize>)>,
    pub shape: Shape,
}

impl Skeleton {
    /// The template's conversation: a system message, a question, calls, their results, an answer, and a further question.
    ///
    /// # Errors
    /// Those of the template, for one call as well as for two.
    pub fn of(template: &ChatTemplate) -> Result<Skeleton> {
        Skeleton::shaped(template, WHOLE).or_else(|_| Skeleton::shaped(template, Shape { calls: 1, ..WHOLE }))
    }

    /// The same without the system message, if the template writes a marker in front of the question that it does not
    /// write behind a system message.
    pub fn without_system(&self, template: &ChatTemplate) -> Option<Skeleton> {
        let shape = Shape { system: false, ..self.shape };
        let prompt = template.prompt(&request(shape).ok()?).ok()?;
        let told = &prompt[..prompt.find(QUESTION)?];
        let known = markers(&self.text);
        let is_new = |marker: &Marker| known.iter().all(|known| known.kind != marker.kind);
        let new = told.len() <= BYTES && markers(told).iter().any(is_new);
        Skeleton::shaped(template, shape).ok().filter(|_| new)
    }

    fn shaped(template: &ChatTemplate, shape: Shape) -> Result<Skeleton> {
        let segments = template.segments(&request(shape)?)?;
        let limit =
            |what: String| Error::new(ErrorKind::Limit, format!("the prompt of a short conversation has {what}"));
        if segments.prompt.len() > BYTES {
            return Err(limit(format!("{} bytes", segments.prompt.len())));
        }
        let found = markers(&segments.prompt);
        let kinds = chatparse_base::sort::set(found.iter().map(|marker| &*marker.kind));
        if found.len() > MARKERS || kinds.len() > KINDS {
            return Err(limit(format!("{} markers of {} kinds", found.len(), kinds.len())));
        }
        Ok(Skeleton::new(segments, shape))
    }

    fn new(segments: Segments, shape: Shape) -> Skeleton {
        let (mut text, mut values) = (String::new(), Vec::new());
        let (calls, skipped) = (shape.calls, usize::from(!shape.system));
        // Results may name the tool that was called: that is no part of the turn with calls.
        let turn = segments.turns.iter().find(|turn| turn.message + skipped == CALLS);
        let end = turn.and_then(|turn| turn.parts.last()).map_or(usize::MAX, |(_, bytes)| bytes.end);
        for segment in &segments.segments {
            let index = match &segment.origin {
                Origin::Message { index, .. } => index + skipped,
                _ => 0,
            };
            let message = match &segment.origin {
                Origin::Template => {
                    text.push_str(&segments.prompt[segment.bytes.clone()]);
                    continue;
                }
                // The results stand between the calls and the answer, and are not counted.
                Origin::Message { .. } if index > CALLS + calls => Some(index - calls),
                Origin::Message { .. } if index > CALLS || index == CALLS && segment.bytes.start >= end => Some(RESULT),
                Origin::Message { .. } => Some(index),
                // What the template changes stands by what it does not.
                Origin::Unknown => values.last().and_then(|(_, message): &(usize, Option<usize>)| *message),
                _ => None,
            };
            values.push((text.len(), message));
            text.push(VALUE);
        }
        Skeleton { text, values, shape }
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

pub fn request(Shape { system, calls }: Shape) -> Result<Request> {
    let call = |id: &str, place: &str, days: i64| {
        let arguments = json!({"place": place, "days": days});
        json!({"id": id, "type": "function", "function": {"name": "look_up", "arguments": arguments}})
    };
    let result = |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "name": "look_up", "content": text});
    let tool = json!({"type": "function", "function": {"name": "look_up", "description": "Looks it up.", "parameters":
        {"type": "object", "properties": {"place": {"type": "string", "description": "Where"}, "days": {"type": "integer"}},
        "required": ["place"]}}});
    let ids = ["call00001", "call00002"];
    let all = [call(ids[0], "Porto Alegre", 3), call(ids[1], "Mumbai", 41)];
    let mut messages = Vec::new();
    if system {
        messages.push(json!({"role": "system", "content": "Be brief."}));
    }
    messages.push(json!({"role": "user", "content": QUESTION}));
    messages.push(json!({"role": "assistant", "content": "", "reasoning_content": "A tool knows.",
        "tool_calls": all[..calls]}));
    let results = ids[..calls].iter().zip(["Rain, they say", "Dry as dust"]);
    messages.extend(results.map(|(id, text)| result(id, text)));
    messages.push(json!({"role": "assistant", "content": "It rains."}));
    messages.push(json!({"role": "user", "content": "Still?"}));
    let body = json!({"now": 0, "roles": "as_sent", "parallel_tool_calls": true, "messages": messages,
        "add_generation_prompt": true, "tools": [tool]});
    Request::from_json(&body)
}
