//! The origins of a prompt's bytes, from the render that traced them.

use std::cell::OnceCell;
use std::ops::Range;

use serde_json::Value;

use super::json_text::json_values;
use super::marked::{Marked, read};
use super::punctuation::{covering, push_segment, with_punctuation};
use super::words::{is_keyword, is_type, is_word, names_members};
use super::{Origin, Segment};
use chatparse_base::find::shared;
use chatparse_base::number;
use chatparse_jinja::{Conversation, GENERATED, MIXED, TEMPLATE, Tools, Traced};
use chatparse_message::{Continuation, REASONING, Request};

/// Parts of a value, in order, each with its origin. Between them the value is the template's.
type Parts = Vec<(Range<usize>, Origin)>;

const ALL: Range<usize> = 0..usize::MAX;

/// The values of a render, with their origins in the request.
pub(super) struct Origins<'a> {
    pub request: &'a Request,
    pub conversation: &'a Conversation,
    /// The same messages with marks, and the values that these are of.
    pub marked: Option<(&'a Value, &'a [Marked])>,
    /// The tools as JSON.
    pub tools: OnceCell<Value>,
}

/// The segments of a prompt that begins as the render does, and its `{% generation %}` blocks.
pub(super) fn segments(
    prompt: &str,
    traced: &Traced,
    origins: &Origins,
) -> (Vec<Segment>, Vec<Range<usize>>) {
    let same = shared(&traced.text, prompt);
    let mut known: Vec<Option<Parts>> = vec![None; traced.sources.len()];
    let (mut found, mut blocks) = (Vec::new(), Vec::<Range<usize>>::new());
    let mut at = 0;
    for piece in &traced.pieces {
        let bytes = at..same.min(piece.end as usize);
        at = bytes.end.max(at);
        if bytes.is_empty() {
            continue;
        }
        if piece.from & GENERATED != 0 {
            match blocks.last_mut() {
                Some(last) if last.end == bytes.start => last.end = bytes.end,
                _ => blocks.push(bytes.clone()),
            }
        }
        match piece.from & !GENERATED {
            TEMPLATE => push_segment(&mut found, bytes, Origin::Template),
            MIXED => push_segment(&mut found, bytes, Origin::Unknown),
            from => {
                let (path, is_key) = &traced.sources[from as usize - 1];
                let parts = &mut known[from as usize - 1];
                let parts = parts.get_or_insert_with(|| origins.of(path, *is_key));
                push_parts(&mut found, bytes, piece.at as usize, parts);
            }
        }
    }
    origins.push_continued(&mut found, prompt, same);
    found.retain(|segment| segment.origin != Origin::Template);
    (covering(prompt, with_punctuation(prompt, found)), blocks)
}

/// Divides a stretch that shows the value from `at` on.
fn push_parts(found: &mut Vec<Segment>, bytes: Range<usize>, at: usize, parts: &Parts) {
    let mut start = bytes.start;
    let mut index = parts.partition_point(|(range, _)| range.end <= at);
    while start < bytes.end {
        let place = at + start - bytes.start;
        let (end, origin) = match parts.get(index) {
            Some((range, origin)) if range.start <= place => {
                index += 1;
                (range.end, origin.clone())
            }
            Some((range, _)) => (range.start, Origin::Template),
            None => (usize::MAX, Origin::Template),
        };
        let end = bytes.end.min(start.saturating_add(end - place));
        push_segment(found, start..end, origin);
        start = end;
    }
}

impl Origins<'_> {
    /// The parts of a value at this path of the conversation.
    fn of(&self, path: &str, is_key: bool) -> Parts {
        let mut steps = path.splitn(4, '/').skip(1);
        let owner = steps.next().unwrap_or_default();
        let index = steps.next().and_then(|index| index.parse::<usize>().ok());
        let rest = steps.next().unwrap_or_default();
        match (owner, index) {
            ("messages", Some(index)) => self.of_message(index, rest, is_key),
            ("tools", Some(_)) if self.is_word_of_schema(path, rest, is_key) => Vec::new(),
            ("tools", Some(index)) => vec![(ALL, Origin::Tool(index))],
            _ => vec![(ALL, Origin::Kwarg(owner.to_owned()))],
        }
    }

    /// Whether a value of a tool is a keyword of JSON Schema, which is the template's.
    fn is_word_of_schema(&self, path: &str, rest: &str, is_key: bool) -> bool {
        let mut keys = rest.rsplit('/').filter(|key| key.parse::<usize>().is_err());
        let last = keys.next().unwrap_or_default();
        let around = keys.next().unwrap_or_default();
        if names_members(around) {
            return false;
        }
        if is_key {
            return is_keyword(last);
        }
        let tools = self.tools.get_or_init(|| match &self.conversation.tools {
            Tools::Json(json) => Value::clone(json),
            Tools::Own(tools) => tools.iter().map(|tool| tool.to_json()).collect(),
        });
        let value = tools.pointer(path.strip_prefix("/tools").unwrap_or_default());
        last == "type" && value.and_then(Value::as_str).is_some_and(is_type)
    }

    fn of_message(&self, index: usize, rest: &str, is_key: bool) -> Parts {
        let place = format!("/{index}/{rest}");
        let value = self.conversation.messages.pointer(&place);
        let text = value.and_then(Value::as_str);
        let steps: Vec<&str> = rest.split('/').collect();
        if let (["tool_calls", call, more @ ..], None) = (&*steps, &self.request.plain) {
            return self.of_call(index, call, more, text, is_key);
        }
        let last = steps.last().copied().unwrap_or_default();
        let is_name = |text: &str| matches!(last, "type" | "role") && is_word(text);
        if is_key && is_word(last) || !is_key && text.is_none_or(is_name) {
            return Vec::new();
        }
        if let Some(given) = &self.request.plain {
            let is_added = given.messages.pointer(&place).is_none();
            let name = if is_added && REASONING.contains(&rest) {
                REASONING[0]
            } else {
                rest
            };
            return whole(index, format!("/{name}"));
        }
        let text = text.unwrap_or_default();
        let found = match self.marked {
            Some((messages, _)) => messages.pointer(&place).and_then(Value::as_str).map(read),
            None => None,
        };
        let places = found
            .filter(|(same, _)| same == text)
            .map(|(_, places)| places);
        let places = places.unwrap_or_default();
        if places.is_empty() {
            let owner = self.owner(index);
            return owner.map_or(vec![(ALL, Origin::Unknown)], |owner| {
                whole(owner, format!("/{rest}"))
            });
        }
        let mut parts = Parts::new();
        for (range, value) in places {
            // White space around a text is its own.
            let start = text[..range.start].trim_end().len();
            let end = text.len() - text[range.end..].trim_start().len();
            let from = parts.last().map_or(0, |(before, _)| before.end);
            parts.extend(
                self.origin(value)
                    .map(|origin| (from.max(start)..end, origin)),
            );
        }
        parts
    }

    /// The origin of a marked value.
    fn origin(&self, value: usize) -> Option<Origin> {
        let marked = self.marked.and_then(|(_, values)| values.get(value))?;
        Some(Origin::Message {
            index: marked.message,
            path: marked.path.clone(),
        })
    }

    /// The parts of a value in a call.
    fn of_call(
        &self,
        index: usize,
        call: &str,
        more: &[&str],
        text: Option<&str>,
        is_key: bool,
    ) -> Parts {
        let in_arguments = more.starts_with(&["function", "arguments"]);
        if more == ["type"] || is_key && (!in_arguments || more.len() == 2) {
            return Vec::new();
        }
        let name = self.marked.and_then(|(messages, values)| {
            let name = messages.pointer(&format!("/{index}/tool_calls/{call}/function/name"))?;
            let (_, places) = read(name.as_str()?);
            let (_, value) = places.first()?;
            values.get(*value)
        });
        let (message, call) = match name {
            Some(Marked {
                message,
                call: Some(call),
                ..
            }) => (*message, *call),
            _ => match self.owner(index) {
                Some(owner) => (owner, call.parse().unwrap_or_default()),
                None => return vec![(ALL, Origin::Unknown)],
            },
        };
        let path = [&["", "tool_calls", &call.to_string()], more]
            .concat()
            .join("/");
        match text.filter(|text| in_arguments && !is_key && is_container(text)) {
            Some(text) => parts_of_json(text, message, &path),
            None => whole(message, path),
        }
    }

    /// The message of the request that a message of the conversation is: the first one that it has
    /// a text of.
    fn owner(&self, index: usize) -> Option<usize> {
        let Some((messages, values)) = self.marked else {
            let count = self.conversation.messages.as_array().map_or(0, Vec::len);
            return (count == self.request.messages.len()).then_some(index);
        };
        let value = first_mark(messages.get(index)?)?;
        values.get(value).map(|marked| marked.message)
    }

    /// What follows the render of a message that the model continues.
    fn push_continued(&self, found: &mut Vec<Segment>, prompt: &str, from: usize) {
        let last = self.request.messages.len().saturating_sub(1);
        let message = self.request.messages.get(last);
        let is_continued = self.request.continuation != Continuation::None;
        let Some(message) = message.filter(|_| is_continued && from < prompt.len()) else {
            return;
        };
        let mut from = from;
        let thought = ("/reasoning_content", &message.reasoning_content);
        for (path, text) in [thought, ("/content", &message.text())] {
            if let Some(at) = prompt[from..].find(&**text).filter(|_| !text.is_empty()) {
                let start = from + at;
                from = start + text.len();
                let path = path.to_owned();
                push_segment(found, start..from, Origin::Message { index: last, path });
            }
        }
    }
}

/// All of a value, which is at this path of a message.
fn whole(index: usize, path: String) -> Parts {
    vec![(ALL, Origin::Message { index, path })]
}

/// The first mark in a message.
fn first_mark(json: &Value) -> Option<usize> {
    match json {
        Value::String(text) => read(text).1.first().map(|(_, value)| *value),
        Value::Array(items) => items.iter().find_map(first_mark),
        Value::Object(members) => members.values().find_map(first_mark),
        _ => None,
    }
}

/// Whether a text is JSON with values in it.
fn is_container(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && number::read::<Value>(text).is_ok()
}

/// The values in arguments that are JSON text.
fn parts_of_json(text: &str, index: usize, path: &str) -> Parts {
    let mut parts = Parts::new();
    for (range, pointer) in json_values(text) {
        let path = format!("{path}{pointer}");
        parts.push((range, Origin::Message { index, path }));
    }
    parts
}
