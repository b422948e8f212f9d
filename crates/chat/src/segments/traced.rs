//! A prototype: the segments of one traced render.

use std::ops::Range;

use chatparse_jinja::own::text::{GENERATED, MIXED, TEMPLATE};
use chatparse_jinja::{Conversation, Fit, plain_conversation, prepare};
use chatparse_message::{Message, REASONING, Request, THINKING};
use serde_json::Value;

use super::json_text::{Token, json_texts};
use super::marking::is_container;
use super::places::{covering, with_punctuation};
use super::words::{is_keyword, is_type, is_word, names_members};
use super::{Origin, Segment, Segments};
use crate::reader::Reader;

type Made<T> = Result<T, String>;

/// For each message that the template sees: the messages of the request whose texts it has, and how
/// many calls of the first one precede its own.
type Sent = Vec<(Vec<usize>, usize)>;

/// The parts of a value, each with its origin.
type Parts = Vec<(Range<usize>, Origin)>;

pub(crate) fn conversation(
    reader: &Reader,
    request: &Request,
    fit: Option<Fit>,
) -> Made<(Conversation, Sent)> {
    let template = reader.template();
    if let Some(given) = &request.plain {
        let conversation = plain_conversation(request, given);
        let count = conversation.messages.as_array().map_or(0, Vec::len);
        return Ok((
            conversation,
            (0..count).map(|index| (vec![index], 0)).collect(),
        ));
    }
    let fit = fit.unwrap_or_default();
    let fitted = fit.apply(template, request);
    let mut sent = fitted.sent().to_vec();
    if sent.is_empty() {
        sent = (0..request.messages.len())
            .map(|index| (vec![index], 0))
            .collect();
    }
    let asked = reader
        .asked(template, &fitted.request)
        .map_err(|error| error.to_string())?;
    let prepared = prepare(template, &asked, true).map_err(|error| error.to_string())?;
    let first = asked.messages.first();
    if !template.caps().system_role
        && first.is_some_and(|message| template_role(&message.role) == "system")
        && sent.len() > 1
    {
        let (first, _) = sent.remove(0);
        sent[0].0.splice(0..0, first);
    }
    Ok((prepared.conversation, sent))
}

fn template_role(role: &str) -> &str {
    if role == "developer" { "system" } else { role }
}

/// The segments of a request.
pub(crate) fn segments(reader: &Reader, request: &Request) -> Made<Segments> {
    let (_, fit) = reader
        .fitted(request, false)
        .map_err(|error| error.to_string())?;
    let with_ids = fit.with_ids(reader.template(), request, &mut Vec::new());
    let (conversation, sent) = conversation(reader, &with_ids, Some(fit.without_ids()))?;
    let rendered = reader.template().own_render(&conversation, true)?;
    let origins = Origins {
        request: &with_ids,
        conversation: &conversation,
        sent: &sent,
    };
    let mut known: Vec<Option<Parts>> = vec![None; rendered.sources.paths.len()];
    let mut found = Segments {
        prompt: rendered.text,
        ..Segments::default()
    };
    let mut at = 0;
    for piece in &rendered.pieces {
        let bytes = at..piece.end as usize;
        at = bytes.end;
        let from = piece.from & !GENERATED;
        if piece.from & GENERATED != 0 {
            match found.generation.last_mut() {
                Some(last) if last.end == bytes.start => last.end = bytes.end,
                _ => found.generation.push(bytes.clone()),
            }
        }
        if from == TEMPLATE || from == MIXED {
            let origin = if from == MIXED {
                Origin::Unknown
            } else {
                Origin::Template
            };
            push(&mut found.segments, bytes, origin);
            continue;
        }
        let index = from as usize - 1;
        let (path, is_key) = &rendered.sources.paths[index];
        let parts = known[index].get_or_insert_with(|| origins.of(path, *is_key));
        let length = bytes.len();
        let start = piece.at as usize;
        // A piece that is an escape has one place.
        let mut done = 0;
        while done < length {
            let place = start + done;
            let part = parts.iter().find(|(range, _)| range.contains(&place));
            let (end, origin) = match part {
                Some((range, origin)) => (range.end, origin.clone()),
                None => {
                    let next = parts
                        .iter()
                        .map(|(range, _)| range.start)
                        .filter(|start| *start > place)
                        .min();
                    (next.unwrap_or(usize::MAX), Origin::Template)
                }
            };
            let to = length.min(end.saturating_sub(start));
            push(
                &mut found.segments,
                bytes.start + done..bytes.start + to,
                origin,
            );
            done = to;
        }
    }
    found
        .segments
        .retain(|segment| segment.origin != Origin::Template);
    found.segments = with_punctuation(&found.prompt, found.segments);
    found.segments = covering(&found.prompt, found.segments);
    Ok(found)
}

fn push(segments: &mut Vec<Segment>, bytes: Range<usize>, origin: Origin) {
    match segments.last_mut() {
        _ if bytes.is_empty() => {}
        Some(last) if last.origin == origin => last.bytes.end = bytes.end,
        _ => segments.push(Segment { bytes, origin }),
    }
}

struct Origins<'a> {
    request: &'a Request,
    conversation: &'a Conversation,
    sent: &'a Sent,
}

const ALL: Range<usize> = 0..usize::MAX;

impl Origins<'_> {
    /// The origins of the parts of a value; the rest is the template's.
    fn of(&self, path: &str, is_key: bool) -> Parts {
        let mut steps = path.splitn(4, '/').skip(1);
        let (owner, index, rest) = (
            steps.next().unwrap_or_default(),
            steps.next(),
            steps.next().unwrap_or_default(),
        );
        let index = index.and_then(|index| index.parse::<usize>().ok());
        match (owner, index) {
            ("messages", Some(index)) => self.message(index, rest, is_key),
            ("tools", Some(index)) => {
                let mut keys = rest.rsplit('/');
                let last = keys.next().unwrap_or_default();
                let last = if last.parse::<usize>().is_ok() {
                    keys.next().unwrap_or_default()
                } else {
                    last
                };
                let around = keys.next().unwrap_or_default();
                let is_own = match is_key {
                    true => is_keyword(last) && !names_members(around),
                    false => {
                        let json = match &self.conversation.tools {
                            chatparse_jinja::Tools::Json(json) => Value::clone(json),
                            chatparse_jinja::Tools::Own(tools) => {
                                tools.iter().map(|tool| tool.to_json()).collect()
                            }
                        };
                        let value = json.pointer(path.strip_prefix("/tools").unwrap_or_default());
                        last == "type"
                            && !names_members(around)
                            && value.and_then(Value::as_str).is_some_and(is_type)
                    }
                };
                if is_own {
                    Vec::new()
                } else {
                    vec![(ALL, Origin::Tool(index))]
                }
            }
            _ => vec![(ALL, Origin::Kwarg(owner.to_owned()))],
        }
    }

    fn message(&self, index: usize, rest: &str, is_key: bool) -> Parts {
        let Some((sent, calls)) = self.sent.get(index) else {
            return Vec::new();
        };
        let Some(first) = sent.first() else {
            return Vec::new();
        };
        let origin = |index: usize, path: String| Origin::Message { index, path };
        let value = self
            .conversation
            .messages
            .pointer(&format!("/{index}/{rest}"));
        let text = value.and_then(Value::as_str);
        let steps: Vec<&str> = rest.split('/').collect();
        if let ["tool_calls", call, "function", "arguments", more @ ..] = &*steps {
            let call = call.parse::<usize>().unwrap_or_default() + calls;
            let mut path = format!("/tool_calls/{call}/function/arguments");
            for step in more {
                path = path + "/" + step;
            }
            return match text.filter(|text| !is_key && is_container(text)) {
                Some(text) => tokens(text, &path)
                    .into_iter()
                    .map(|(range, path)| (range, origin(*first, path)))
                    .collect(),
                None if more.is_empty() && is_key => Vec::new(),
                None => vec![(ALL, origin(*first, path))],
            };
        }
        let last = steps.last().copied().unwrap_or_default();
        if is_key {
            return if is_word(last) {
                Vec::new()
            } else {
                vec![(ALL, origin(*first, format!("/{rest}")))]
            };
        }
        let Some(text) = text else { return Vec::new() };
        if matches!(last, "type" | "role") && is_word(text) {
            return Vec::new();
        }
        if let Some(given) = &self.request.plain {
            let given = given.messages.pointer(&format!("/{index}/{rest}"));
            let name = if given.is_none() && REASONING.contains(&rest) {
                REASONING[0]
            } else {
                rest
            };
            return vec![(ALL, origin(*first, format!("/{name}")))];
        }
        if let ["tool_calls", call, more @ ..] = &*steps {
            let call = call.parse::<usize>().unwrap_or_default() + calls;
            return vec![(
                ALL,
                origin(*first, format!("/tool_calls/{call}/{}", more.join("/"))),
            )];
        }
        // The texts of the messages that this one has.
        let mut found = Vec::new();
        let mut from = 0;
        for index in sent {
            let Some(message) = self.request.messages.get(*index) else {
                continue;
            };
            for (path, part) in leaves(message) {
                let (path, part) = (path, part.trim());
                if part.is_empty() {
                    continue;
                }
                let is_thought = path == "/reasoning_content" || path.ends_with(THINKING);
                let asks_thought = REASONING.contains(&steps[0])
                    || last == THINKING
                    || steps.contains(&"blocks") && text == part;
                let fits = match steps[0] {
                    "content" => is_thought == asks_thought || path.starts_with("/content"),
                    field if REASONING.contains(&field) => is_thought,
                    field => path.strip_prefix('/') == Some(field),
                };
                if fits && let Some(at) = text[from..].find(part) {
                    let at = from + at;
                    found.push((at..at + part.len(), origin(*index, path)));
                    from = at + part.len();
                }
            }
        }
        // White space around a text is its own.
        if let [(range, _)] = &mut *found {
            *range = ALL;
        }
        if found.is_empty()
            && !sent.is_empty()
            && self
                .request
                .messages
                .get(*first)
                .is_some_and(|m| m.more.contains_key(steps[0]))
        {
            found.push((ALL, origin(*first, format!("/{rest}"))));
        }
        found
    }
}

fn leaves(message: &Message) -> Vec<(String, &str)> {
    let mut all = vec![
        ("/role".to_owned(), &*message.role),
        ("/reasoning_content".to_owned(), &*message.reasoning_content),
        ("/content".to_owned(), &*message.content),
    ];
    for (at, part) in message.parts.iter().enumerate() {
        let name = if part.kind == THINKING {
            THINKING
        } else {
            "text"
        };
        all.push((format!("/content/{at}/{name}"), &part.text));
    }
    all.push(("/name".to_owned(), &message.name));
    all.push(("/tool_call_id".to_owned(), &message.tool_call_id));
    all
}

/// The places of the keys, texts and scalars of JSON text, with their pointers.
fn tokens(text: &str, path: &str) -> Vec<(Range<usize>, String)> {
    let mut found = Vec::new();
    json_texts(text, &mut |token, pointer| {
        let (Token::Text(part) | Token::Scalar(part)) = token;
        let start = part.as_ptr() as usize - text.as_ptr() as usize;
        found.push((start..start + part.len(), format!("{path}{pointer}")));
        part.to_owned()
    });
    found
}
