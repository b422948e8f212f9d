//! The messages of a request, in the form that it has: read, or as the host's JSON, which a plain
//! request passes on.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use chatparse_base::{Error, Result, number};
use chatparse_jinja::Caps;
use chatparse_message::{Message, Request, messages_from_json};

/// Messages in order: a request's, or others of the same form.
#[derive(Clone, Debug)]
pub(crate) enum Messages<'m> {
    Read(Cow<'m, [Message]>),
    Plain(Cow<'m, [Value]>),
}

impl<'m> Messages<'m> {
    /// Those of a request.
    pub fn of(request: &'m Request) -> Self {
        match &request.plain {
            None => Messages::Read((&request.messages).into()),
            Some(given) => {
                Messages::Plain(given.messages.as_array().map(Cow::from).unwrap_or_default())
            }
        }
    }

    /// Takes the messages out of a request.
    pub fn take(request: &mut Request) -> Self {
        match &mut request.plain {
            None => Messages::Read(std::mem::take(&mut request.messages).into()),
            Some(given) => Messages::Plain(
                match Arc::unwrap_or_clone(std::mem::take(&mut given.messages)) {
                    Value::Array(messages) => messages.into(),
                    _ => Cow::default(),
                },
            ),
        }
    }

    /// Gives a request of the same form these messages.
    pub fn put(self, request: &mut Request) {
        match (self, &mut request.plain) {
            (Messages::Plain(messages), Some(given)) => {
                given.messages = Arc::new(messages.into_owned().into())
            }
            (Messages::Read(messages), _) => request.messages = messages.into_owned(),
            (Messages::Plain(_), None) => {}
        }
    }

    /// Reads messages in the form of a request.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn read(request: &Request, messages: &'m Value) -> Result<Self> {
        match (&request.plain, messages) {
            (Some(_), Value::Array(messages)) => Ok(Messages::Plain(messages.into())),
            (Some(_), _) => Err(Error::invalid("messages: must be an array")),
            (None, messages) => {
                messages_from_json(messages).map(|read| Messages::Read(read.into()))
            }
        }
    }

    /// Those of some indices, in order.
    pub fn only(&self, wanted: impl Fn(usize) -> bool) -> Messages<'static> {
        fn some<T: Clone>(all: &[T], wanted: impl Fn(usize) -> bool) -> Cow<'static, [T]> {
            (0..all.len())
                .filter(|index| wanted(*index))
                .map(|index| all[index].clone())
                .collect()
        }
        match self {
            Messages::Read(messages) => Messages::Read(some(messages, wanted)),
            Messages::Plain(messages) => Messages::Plain(some(messages, wanted)),
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

    pub fn role(&self, index: usize) -> &str {
        match self {
            Messages::Read(messages) => &messages[index].role,
            Messages::Plain(messages) => messages[index]["role"].as_str().unwrap_or_default(),
        }
    }

    /// Takes the last one away.
    pub fn pop(&mut self) -> Option<Message> {
        match self {
            Messages::Read(messages) => messages.to_mut().pop(),
            Messages::Plain(messages) => messages
                .to_mut()
                .pop()
                .and_then(|last| Message::from_json(&last).ok()),
        }
    }

    /// Appends an assistant's message, as the template takes it, and others of the same form.
    pub fn extend(&mut self, message: &Message, others: &Messages, caps: &Caps) {
        match (self, others) {
            (Messages::Read(all), Messages::Read(others)) => {
                all.to_mut()
                    .extend([message].into_iter().chain(&**others).cloned());
            }
            (Messages::Plain(all), Messages::Plain(others)) => {
                all.to_mut().push(plain(message, caps));
                all.to_mut().extend_from_slice(others);
            }
            _ => {}
        }
    }

    /// Gives calls without an id the ids that the results among these messages refer to, in order.
    pub fn name_calls(&self, message: &mut Message) {
        let calls = &mut message.tool_calls;
        let mut unnamed = Vec::new();
        for index in 0..self.len() {
            let id = match self {
                Messages::Read(messages) => &messages[index].tool_call_id,
                Messages::Plain(messages) => messages[index]["tool_call_id"].as_str().unwrap_or(""),
            };
            if !id.is_empty() && calls.iter().all(|call| call.id != id) {
                unnamed.push(id.to_owned());
            }
        }
        let calls = calls.iter_mut().filter(|call| call.id.is_empty());
        for (call, id) in calls.zip(unnamed) {
            call.id = id;
        }
    }
}

/// A message as for transformers: arguments in the form that the template takes, and calls with a
/// type, as OpenAI has them.
fn plain(message: &Message, caps: &Caps) -> Value {
    let mut json = message.to_json();
    let Some(Value::Array(calls)) = json.get_mut("tool_calls") else {
        return json;
    };
    for call in calls {
        call["type"] = json!("function");
        let arguments = &mut call["function"]["arguments"];
        if caps.object_arguments
            && let Some(text) = arguments.as_str()
            && let Ok(read @ Value::Object(_)) = number::read(text)
        {
            *arguments = read;
        }
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use chatparse_message::ToolCall;

    #[test]
    fn calls_without_ids_get_those_of_their_results() {
        let mut message = Message::new("assistant", "");
        for id in ["", "own", ""] {
            message.tool_calls.push(ToolCall::new("look_up", "{}", id));
        }
        let results = json!([{"role": "tool", "tool_call_id": "own"}, {"role": "tool", "tool_call_id": "given"}]);
        let results = Messages::Plain(results.as_array().unwrap().into());
        results.name_calls(&mut message);
        let ids: Vec<&str> = message.tool_calls.iter().map(|call| &*call.id).collect();
        assert_eq!(ids, ["given", "own", ""]);
    }
}
