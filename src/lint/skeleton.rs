//! What a template writes by itself: a prompt whose values are one character each.

use std::ops::Range;

use serde_json::Value;

use super::marker::{Marker, VALUE, markers};
use super::{BOS, EOS};
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
/// Characters around a change that tell where it is.
pub const AROUND: usize = 40;
/// In place of the index, for all results of calls.
pub const RESULT: usize = usize::MAX;
const QUESTION: &str = "How is the weather?";

/// Which conversation a prompt is of. Messages keep their indices where others are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub system: bool,
    pub tools: bool,
    /// Whether the request says that the model thinks; `None` if it says nothing.
    pub thinking: Option<bool>,
    /// The number of calls in the turn with calls; without any, there is neither the turn nor a result.
    pub calls: usize,
    /// The last message. Behind an answer, the prompt opens no turn.
    pub last: usize,
}

/// The whole conversation.
pub const WHOLE: Shape = Shape { system: true, tools: true, thinking: None, calls: 2, last: ANSWER + 1 };

/// A prompt with a character for each value.
pub struct Skeleton {
    pub text: String,
    /// The place of each value in `text`, and its message; `None` for tools and the like.
    pub values: Vec<(usize, Option<usize>)>,
    pub shape: Shape,
    prompt: String,
    /// Where segments begin, in `text` and in `prompt`.
    places: Vec<(usize, usize)>,
}

/// A text of a skeleton that should be another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub bytes: Range<usize>,
    pub text: String,
}

/// A prompt as it should be, up to white space, and what is to change for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub shape: Shape,
    prompt: String,
    pub changes: Vec<Gap>,
}

/// A change, and the template's text around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    pub from: String,
    pub to: String,
    /// What the template writes in front of it and behind it, up to the next value: the nearest characters, without white
    /// space.
    pub before: String,
    pub behind: String,
}

impl Wanted {
    /// Whether the template writes this prompt.
    pub fn is_of(&self, template: &ChatTemplate) -> bool {
        let marked = template.with_tokens(BOS, EOS);
        marked.is_ok_and(|marked| prompt(&marked, self.shape).is_some_and(|prompt| self.is(&prompt)))
    }

    /// Whether this is the prompt.
    pub fn is(&self, prompt: &str) -> bool {
        dense(prompt) == self.prompt
    }
}

/// A text without its white space.
fn dense(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
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
        let prompt = prompt(template, shape)?;
        let told = &prompt[..prompt.find(QUESTION)?];
        let known = markers(&self.text);
        let is_new = |marker: &Marker| known.iter().all(|known| known.kind != marker.kind);
        let new = told.len() <= BYTES && markers(told).iter().any(is_new);
        Skeleton::shaped(template, shape).ok().filter(|_| new)
    }

    pub fn shaped(template: &ChatTemplate, shape: Shape) -> Result<Skeleton> {
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
        let (mut text, mut values, mut places) = (String::new(), Vec::new(), Vec::new());
        let (calls, skipped) = (shape.calls, usize::from(!shape.system));
        // Results may name the tool that was called: that is no part of the turn with calls.
        let turn = segments.turns.iter().find(|turn| turn.message + skipped == CALLS);
        let end = turn.and_then(|turn| turn.parts.last()).map_or(usize::MAX, |(_, bytes)| bytes.end);
        for segment in &segments.segments {
            places.push((text.len(), segment.bytes.start));
            let index = match &segment.origin {
                Origin::Message { index, .. } if calls == 0 && index + skipped > USER => index + skipped + 1,
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
        places.push((text.len(), segments.prompt.len()));
        Skeleton { text, values, shape, prompt: segments.prompt, places }
    }

    /// The prompt with these changes of the template's texts, in order.
    pub fn with(&self, changes: Vec<Change>) -> Wanted {
        // Where a text and a value meet, both are told.
        let there = |at: usize| {
            let (text, prompt) = self.places[self.places.partition_point(|(text, _)| *text <= at).max(1) - 1];
            prompt + (at - text)
        };
        let mut prompt = self.prompt.clone();
        let mut gaps = Vec::new();
        for Change { bytes, text } in changes.into_iter().rev() {
            let from = &self.text[bytes.clone()];
            let near = |c: &char| !c.is_whitespace();
            let before = self.text[..bytes.start].chars().rev().take_while(|c| *c != VALUE).filter(near).take(AROUND);
            let before: Vec<char> = before.collect();
            let behind = self.text[bytes.end..].chars().take_while(|c| *c != VALUE).filter(near).take(AROUND);
            // The end of the last byte, as a value may follow.
            let end = if from.is_empty() { there(bytes.start) } else { there(bytes.start) + from.len() };
            if from.contains(VALUE) || !prompt.is_char_boundary(there(bytes.start)) || !prompt.is_char_boundary(end) {
                continue;
            }
            prompt.replace_range(there(bytes.start)..end, &text);
            gaps.push(Gap {
                from: from.to_owned(),
                to: text,
                before: before.iter().rev().collect(),
                behind: behind.collect(),
            });
        }
        gaps.reverse();
        Wanted { shape: self.shape, prompt: dense(&prompt), changes: gaps }
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

/// Conversations of all kinds, long ones first.
pub fn shapes() -> impl Iterator<Item = Shape> {
    let ends = [
        (2, ANSWER + 1),
        (1, ANSWER + 1),
        (0, ANSWER + 1),
        (2, RESULT),
        (1, RESULT),
        (1, ANSWER),
        (0, ANSWER),
        (0, USER),
    ];
    ends.into_iter().flat_map(|(calls, last)| {
        let of = |bits| (bits & 1 == 0, bits & 2 == 0, Some(bits & 4 == 0));
        (0..8).map(of).map(move |(system, tools, thinking)| Shape { system, tools, thinking, calls, last })
    })
}

/// The prompts of the conversation, with one call and with two, where the template takes them.
pub fn prompts(template: &ChatTemplate) -> [Option<String>; 2] {
    [1, 2].map(|calls| prompt(template, Shape { calls, ..WHOLE }))
}

pub fn prompt(template: &ChatTemplate, shape: Shape) -> Option<String> {
    template.prompt(&request(shape).ok()?).ok()
}

pub fn request(Shape { system, tools, thinking, calls, last }: Shape) -> Result<Request> {
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
    let mut messages: Vec<Value> =
        system.then(|| json!({"role": "system", "content": "Be brief."})).into_iter().collect();
    messages.push(json!({"role": "user", "content": QUESTION}));
    if calls > 0 {
        messages.push(json!({"role": "assistant", "content": "", "reasoning_content": "A tool knows.",
            "tool_calls": all[..calls].iter().map(|(_, call)| call.clone()).collect::<Vec<Value>>()}));
        messages.extend(all[..calls].iter().zip(results).map(|((id, _), text)| result(id, text)));
    }
    if last == ANSWER || last == ANSWER + 1 {
        messages.push(json!({"role": "assistant", "content": "It rains."}));
    }
    if last == ANSWER + 1 {
        messages.push(json!({"role": "user", "content": "Still?"}));
    }
    let mut body = json!({"now": 0, "parallel_tool_calls": true, "messages": messages,
        "add_generation_prompt": last != ANSWER});
    if tools {
        body["tools"] = json!([tool]);
    }
    if let Some(thinking) = thinking {
        body["enable_thinking"] = thinking.into();
    }
    Request::from_json(&body)
}
