//! Whether a request goes on from what was sent: a server gets the whole conversation each turn, and clients do not send it back as it was.
//!
//! Messages are compared as what they say. A text is equal to its parts, null to what is missing, arguments to the same JSON, and ids may
//! be others where results refer to the same calls; `cache_control` and other fields for no model do not count. What the client has
//! left out of a model's turn, its reasoning or the space around it, stays as it was sent.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{New, Next, Output, Reason, Rewrite, Session, turn};
use crate::messages::Messages;
use chatparse_base::find::shared;
use chatparse_base::{Result, number};
use chatparse_message::{Continuation, Message, OF_NO_MODEL, Request};

/// The first field in which a request differs from what was sent, and its message.
struct Differs {
    field: String,
    message: Option<usize>,
}

/// Where a request goes on from what was sent.
struct Place {
    /// The index of the first new message.
    first: usize,
    /// The ids of the output's calls: those that the model wrote, if it did, and those of the client.
    ids: Vec<(String, String)>,
    notes: Vec<String>,
}

impl Session {
    /// [`Session::next`] for a whole request, such as servers get each turn: its messages are those that were sent, the output, as the
    /// client sends it back, and new ones. Its tools and options are the next turn's; the clock stays that of the session.
    ///
    /// A request that does not go on from here, or whose options change the earlier prompt, is rendered as it is, as by
    /// [`ChatTemplate::session`](crate::ChatTemplate::session). Then [`Next::first`] is `None`, the reason is [`Reason::Request`], and a note
    /// of the params names the first field that differs. [`Next::kept`] is what prompt and output have in common with the new prompt, also with
    /// [`chatparse_message::Append::Always`].
    ///
    /// Costs what both conversations have in bytes, and two renders more where options differ.
    ///
    /// # Errors
    /// As [`ChatTemplate::params`](crate::ChatTemplate::params).
    pub fn follow(&self, output: &[u8], mut request: Request) -> Result<Next> {
        request.now = self.request.now;
        let text = std::str::from_utf8(output).unwrap_or_default();
        let output = Output { bytes: output, marks: None };
        let cut = turn::known_end(self, text);
        let read = cut.into_iter().chain([output.bytes.len()]).map(|cut| output.to(cut).read(&self.params.parser));
        let read = read.map(|ended| ended.map(|ended| ended.message)).collect::<Result<Vec<Message>>>()?;
        let place = match self.place(&read, &request) {
            Ok(place) => self.same_head(&request).map(|()| place),
            differs => differs,
        };
        let differs = match place {
            Ok(Place { first, ids, notes }) => {
                let mut new = New::of(request);
                new.messages = new.messages.after(first);
                new.messages.rename(&ids);
                new.ids = ids.into_iter().map(|(_, id)| id).collect();
                let mut next = self.next_of(output, &new)?;
                next.session.params.notes.extend(notes);
                return Ok(next);
            }
            Err(differs) => differs,
        };
        let mut session = self.template.session(request)?;
        let sent = [self.params.prompt.as_bytes(), output.bytes].concat();
        let kept = shared(&String::from_utf8_lossy(&sent), &session.params.prompt);
        session.params.notes.push(format!("{}: is not what was sent; the prompt is a new one", differs.field));
        let rewrite = Some(Rewrite { at: kept, message: differs.message, reason: Reason::Request });
        let message = read.into_iter().next_back().unwrap_or_default();
        Ok(Next { session, kept, rewrite, message, first: None })
    }

    /// Where the request goes on; or the first message that is not what was sent. `read`: what the output may be read as.
    fn place(&self, read: &[Message], request: &Request) -> std::result::Result<Place, Differs> {
        if self.request.plain.is_some() != request.plain.is_some() {
            return Err(Differs { field: "plain".to_owned(), message: None });
        }
        let (sent, given) = (self.messages(), Messages::of(request));
        let mut place = Place { first: sent.len() + 1, ids: Vec::new(), notes: Vec::new() };
        let mut ids = Ids::default();
        for index in 0..place.first {
            let message = format!("messages[{index}]");
            let Some(theirs) = given.get(index) else {
                // A plain request may have what cannot be read.
                if index < given.len() && sent.is_same(&given, index) {
                    continue;
                }
                return Err(Differs { field: message, message: Some(index) });
            };
            let theirs = theirs.with_reasoning_apart();
            let own = if index < sent.len() { sent.get(index).into_iter().collect() } else { read.to_vec() };
            let mut other = None;
            let same = own.into_iter().find(|own| {
                let field = self.other_field(&own.with_reasoning_apart(), &theirs, &ids);
                let is_same = field.is_none();
                other = field;
                is_same
            });
            let Some(own) = same else {
                let field = other.map_or(message.clone(), |field| format!("{message}.{field}"));
                return Err(Differs { field, message: Some(index) });
            };
            let own = own.with_reasoning_apart();
            if theirs.reasoning_content.is_empty() && !own.reasoning_content.is_empty() {
                place.notes.push(format!("{message}.reasoning_content: is left out; what was sent stays"));
            }
            ids.add(&own, &theirs);
            let both = own.tool_calls.iter().zip(&theirs.tool_calls);
            place.ids = both.map(|(own, theirs)| (own.id.clone(), theirs.id.clone())).collect();
        }
        Ok(place)
    }

    /// The first field in which two messages do not say the same.
    fn other_field(&self, own: &Message, theirs: &Message, ids: &Ids) -> Option<String> {
        if own.role != theirs.role {
            return Some("role".to_owned());
        }
        if !theirs.reasoning_content.is_empty() && !same_words(&own.reasoning_content, &theirs.reasoning_content) {
            return Some("reasoning_content".to_owned());
        }
        let is_answer = own.role == "assistant";
        let [content, other] = [own, theirs].map(content);
        let is_same = match is_answer {
            true => same_words(&joined(&content), &joined(&other)),
            false => same_content(&content, &other),
        };
        if !is_same {
            return Some("content".to_owned());
        }
        if own.tool_calls.len() != theirs.tool_calls.len() {
            return Some("tool_calls".to_owned());
        }
        for (index, (own, theirs)) in own.tool_calls.iter().zip(&theirs.tool_calls).enumerate() {
            let [name, other] = [own, theirs].map(|call| self.template.joined_name(&call.namespace, &call.name));
            if name != other {
                return Some(format!("tool_calls[{index}].function.name"));
            }
            if arguments(&own.arguments) != arguments(&theirs.arguments) {
                return Some(format!("tool_calls[{index}].function.arguments"));
            }
        }
        if !ids.are_same(&own.tool_call_id, &theirs.tool_call_id) {
            return Some("tool_call_id".to_owned());
        }
        // A result is its call's, and an answer the model's.
        match own.role.as_str() {
            "assistant" => None,
            "tool" => other_key(&own.more, &theirs.more),
            _ if own.name != theirs.name => Some("name".to_owned()),
            _ => other_key(&own.more, &theirs.more),
        }
    }

    /// The option or the tool with which the template would have written another prompt.
    fn same_head(&self, request: &Request) -> std::result::Result<(), Differs> {
        let [own, theirs] = [&self.request, request].map(|request| {
            let mut options = request.clone();
            drop(Messages::take(&mut options));
            (options.add_generation_prompt, options.continuation) = (false, Continuation::None);
            options
        });
        let shown = |options: &Request| {
            let mut request = options.clone();
            self.messages().put(&mut request);
            self.template.prompts(&request).map(|prompts| prompts.prompt.prompt).ok()
        };
        if own == theirs || shown(&own) == shown(&theirs) {
            return Ok(());
        }
        let same = own.tools.iter().zip(&theirs.tools).take_while(|(own, theirs)| own == theirs).count();
        let field = match other_key(&own.template_kwargs, &theirs.template_kwargs) {
            Some(effort) if effort == "reasoning_effort" => effort,
            Some(name) => format!("chat_template_kwargs.{name}"),
            None if own.enable_thinking != theirs.enable_thinking => "enable_thinking".to_owned(),
            None if same < own.tools.len().max(theirs.tools.len()) => format!("tools[{same}]"),
            None => "options".to_owned(),
        };
        Err(Differs { field, message: None })
    }
}

/// The calls that ids stand for, in what was sent and in a request.
#[derive(Default)]
struct Ids {
    calls: usize,
    own: HashMap<String, usize>,
    theirs: HashMap<String, usize>,
}

impl Ids {
    fn add(&mut self, own: &Message, theirs: &Message) {
        for (own, theirs) in own.tool_calls.iter().zip(&theirs.tool_calls) {
            self.own.insert(own.id.clone(), self.calls);
            self.theirs.insert(theirs.id.clone(), self.calls);
            self.calls += 1;
        }
    }

    fn are_same(&self, own: &str, theirs: &str) -> bool {
        let is_one_empty = own.is_empty() || theirs.is_empty();
        match (self.own.get(own), self.theirs.get(theirs)) {
            (None, None) => is_one_empty || own == theirs,
            (own, theirs) => is_one_empty || own == theirs,
        }
    }
}

/// A part of a content: its kind, its text, and the fields of media.
type Piece<'m> = (&'m str, &'m str, Option<&'m Value>);

/// The content as parts, none of them an empty text.
fn content(message: &Message) -> Vec<Piece<'_>> {
    let parts = message.parts.iter().map(|part| (&*part.kind, &*part.text, part.source.as_deref()));
    let all = [("text", &*message.content, None)].into_iter().chain(parts);
    all.filter(|(kind, text, _)| *kind != "text" || !text.is_empty()).collect()
}

fn joined(content: &[Piece]) -> String {
    content.iter().map(|(_, text, _)| *text).collect()
}

/// Whether two texts are the same, whatever space is in them.
fn same_words(a: &str, b: &str) -> bool {
    let [a, b] = [a, b].map(|text| text.chars().filter(|c| !c.is_whitespace()));
    a.eq(b)
}

/// Whether two contents say the same. A text may be in parts, at the ends of lines.
fn same_content(own: &[Piece], theirs: &[Piece]) -> bool {
    if own.len() == theirs.len() {
        return own.iter().zip(theirs).all(|((kind, text, source), (other_kind, other, other_source))| {
            let is_same = match (source.and_then(Value::as_object), other_source.and_then(Value::as_object)) {
                (Some(source), Some(other)) => other_key(source, other).is_none(),
                _ => source == other_source,
            };
            (kind, text) == (other_kind, other) && is_same
        });
    }
    let (whole, parts) = if own.len() < theirs.len() { (own, theirs) } else { (theirs, own) };
    let [("text", text, _)] = whole else { return false };
    let rest = parts.iter().try_fold(*text, |rest, (kind, part, _)| {
        let line = || rest.trim_start_matches('\n').strip_prefix(part.trim_start_matches('\n'));
        rest.strip_prefix(part).or_else(line).filter(|_| *kind == "text")
    });
    rest == Some("")
}

/// Arguments as JSON, closed where they were cut off.
fn arguments(text: &str) -> Value {
    let read = |text: &str| number::read(text).ok();
    let read = read(text).or_else(|| read(&turn::closed(text)?));
    read.unwrap_or_else(|| if text.trim().is_empty() { json!({}) } else { text.into() })
}

/// The first name under which two objects have other values, except for fields that models do not see.
fn other_key(own: &Map<String, Value>, theirs: &Map<String, Value>) -> Option<String> {
    let names = own.keys().chain(theirs.keys()).filter(|name| !OF_NO_MODEL.contains(&name.as_str()));
    names.into_iter().find(|name| own.get(*name) != theirs.get(*name)).cloned()
}
