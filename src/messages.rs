//! The messages of a request, in the form that it has: read, or as the host's JSON, which a plain request passes on.

use std::sync::Arc;

use serde_json::Value;

use chatparse_base::{Error, Result, number};
use chatparse_jinja::Caps;
use chatparse_message::{Message, Request, messages_from_json};

/// Messages in order.
#[derive(Clone, Debug)]
pub(crate) enum Messages {
    Read(Vec<Message>),
    Plain(Vec<Value>),
}

impl Messages {
    /// Takes the messages out of a request.
    pub fn take(request: &mut Request) -> Messages {
        match &mut request.plain {
            None => Messages::Read(std::mem::take(&mut request.messages)),
            Some(given) => Messages::Plain(match Arc::unwrap_or_clone(std::mem::take(&mut given.messages)) {
                Value::Array(messages) => messages,
                _ => Vec::new(),
            }),
        }
    }

    /// Gives a request of the same form these messages.
    pub fn put(self, request: &mut Request) {
        match (self, &mut request.plain) {
            (Messages::Plain(messages), Some(given)) => given.messages = Arc::new(messages.into()),
            (Messages::Read(messages), _) => request.messages = messages,
            (Messages::Plain(_), None) => {}
        }
    }

    /// Those of a request.
    pub fn of(request: &Request) -> Messages {
        match &request.plain {
            None => Messages::Read(request.messages.clone()),
            Some(given) => Messages::Plain(given.messages.as_array().cloned().unwrap_or_default()),
        }
    }

    /// Reads messages in the form of a request.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn read(request: &Request, messages: &Value) -> Result<Messages> {
        match (&request.plain, messages) {
            (Some(_), Value::Array(messages)) => Ok(Messages::Plain(messages.clone())),
            (Some(_), _) => Err(Error::invalid("messages: must be an array")),
            (None, messages) => messages_from_json(messages).map(Messages::Read),
        }
    }

    /// The roles of a request's messages.
    #[cfg(feature = "conversation")]
    pub fn roles(request: &Request) -> Vec<&str> {
        match &request.plain {
            None => request.messages.iter().map(|message| message.role.as_str()).collect(),
            Some(given) => {
                let all = given.messages.as_array().into_iter().flatten();
                all.map(|message| message["role"].as_str().unwrap_or_default()).collect()
            }
        }
    }

    /// Those of some indices of a request, in order.
    #[cfg(feature = "conversation")]
    pub fn only(request: &Request, wanted: impl Fn(usize) -> bool) -> Messages {
        fn some<T: Clone>(all: &[T], wanted: impl Fn(usize) -> bool) -> Vec<T> {
            (0..all.len()).filter(|index| wanted(*index)).map(|index| all[index].clone()).collect()
        }
        match &request.plain {
            None => Messages::Read(some(&request.messages, wanted)),
            Some(given) => Messages::Plain(given.messages.as_array().map_or_else(Vec::new, |all| some(all, wanted))),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Messages::Read(messages) => messages.len(),
            Messages::Plain(messages) => messages.len(),
        }
    }

    /// The message of this number; `None` also for one of a plain request that cannot be read.
    pub fn get(&self, index: usize) -> Option<Message> {
        match self {
            Messages::Read(messages) => messages.get(index).cloned(),
            Messages::Plain(messages) => Message::from_json(messages.get(index)?).ok(),
        }
    }

    /// How many messages a request has.
    pub fn count(request: &Request) -> usize {
        match &request.plain {
            None => request.messages.len(),
            Some(given) => given.messages.as_array().map_or(0, Vec::len),
        }
    }

    pub fn role(&self, index: usize) -> &str {
        match self {
            Messages::Read(messages) => &messages[index].role,
            Messages::Plain(messages) => messages[index]["role"].as_str().unwrap_or_default(),
        }
    }

    /// The first of them.
    pub fn first(&self, count: usize) -> Messages {
        match self {
            Messages::Read(messages) => Messages::Read(messages.iter().take(count).cloned().collect()),
            Messages::Plain(messages) => Messages::Plain(messages.iter().take(count).cloned().collect()),
        }
    }

    /// Those from this number on.
    pub fn after(self, count: usize) -> Messages {
        match self {
            Messages::Read(messages) => Messages::Read(messages.into_iter().skip(count).collect()),
            Messages::Plain(messages) => Messages::Plain(messages.into_iter().skip(count).collect()),
        }
    }

    /// Takes the last one away.
    pub fn pop(&mut self) -> Option<Message> {
        match self {
            Messages::Read(messages) => messages.pop(),
            Messages::Plain(messages) => messages.pop().and_then(|last| Message::from_json(&last).ok()),
        }
    }

    /// Appends an assistant's message, as the template takes it, and others of the same form.
    pub fn extend(&mut self, message: &Message, others: &Messages, caps: &Caps) {
        match (self, others) {
            (Messages::Read(all), Messages::Read(others)) => all.extend([message].into_iter().chain(others).cloned()),
            (Messages::Plain(all), Messages::Plain(others)) => {
                all.push(plain(message, caps));
                all.extend(others.iter().cloned());
            }
            _ => {}
        }
    }

    /// Gives calls without an id the ids that the results among these messages refer to, in order.
    pub fn name_calls(&self, message: &mut Message) {
        let known: Vec<String> = message.tool_calls.iter().map(|call| call.id.clone()).collect();
        let answered: Vec<&str> = match self {
            Messages::Read(messages) => messages.iter().map(|message| message.tool_call_id.as_str()).collect(),
            Messages::Plain(messages) => {
                messages.iter().filter_map(|message| message["tool_call_id"].as_str()).collect()
            }
        };
        let mut answered = answered.into_iter().filter(|id| !id.is_empty() && !known.iter().any(|known| known == id));
        for call in message.tool_calls.iter_mut().filter(|call| call.id.is_empty()) {
            call.id = answered.next().unwrap_or_default().to_owned();
        }
    }
}

/// A message as for transformers: arguments in the form that the template takes, and calls with a type, as OpenAI has them.
fn plain(message: &Message, caps: &Caps) -> Value {
    let mut json = message.to_json();
    for call in json.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten() {
        let arguments = &mut call["function"]["arguments"];
        let read = arguments.as_str().and_then(|text| number::read::<Value>(text).ok());
        if let Some(object) = read.filter(|read| caps.object_arguments && read.is_object()) {
            *arguments = object;
        }
        call["type"] = json!("function");
    }
    json
}
