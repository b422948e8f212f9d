//! The messages of a conversation, in shared pieces, so that a longer conversation shares the messages of a shorter one.

use std::sync::Arc;

use serde_json::Value;

use chatparse_base::{Error, Result, number};
use chatparse_jinja::Caps;
use chatparse_message::{Append, Continuation, Message, PlainConversation, Request, messages_from_json};

/// A request and its messages, including those added later.
#[derive(Clone, Debug)]
pub(super) struct History {
    /// The request without its messages.
    request: Arc<Request>,
    /// The messages, by turn.
    turns: Vec<Arc<New>>,
}

/// New messages, in the form of the request.
#[derive(Clone, Debug)]
pub(super) enum New {
    Prepared(Vec<Message>),
    /// For a plain request.
    Plain(Vec<Value>),
}

impl New {
    pub fn len(&self) -> usize {
        match self {
            New::Prepared(messages) => messages.len(),
            New::Plain(messages) => messages.len(),
        }
    }

    pub fn message(&self, index: usize) -> Option<Message> {
        match self {
            New::Prepared(messages) => messages.get(index).cloned(),
            New::Plain(messages) => Message::from_json(messages.get(index)?).ok(),
        }
    }

    /// Gives calls without an id the ids that the results among these messages refer to, in order.
    pub fn name_calls(&self, message: &mut Message) {
        let known: Vec<String> = message.tool_calls.iter().map(|call| call.id.clone()).collect();
        let answered: Vec<&str> = match self {
            New::Prepared(messages) => messages.iter().map(|message| message.tool_call_id.as_str()).collect(),
            New::Plain(messages) => messages.iter().filter_map(|message| message["tool_call_id"].as_str()).collect(),
        };
        let mut answered = answered.into_iter().filter(|id| !id.is_empty() && !known.iter().any(|known| known == id));
        for call in message.tool_calls.iter_mut().filter(|call| call.id.is_empty()) {
            call.id = answered.next().unwrap_or_default().to_owned();
        }
    }
}

impl History {
    /// Drops a message that the prompt has begun: the output completes it.
    pub fn new(mut request: Request) -> Self {
        let mut messages = match request.plain.take() {
            Some(PlainConversation { messages, tools, documents }) => {
                request.plain = Some(PlainConversation { messages: Arc::default(), tools, documents });
                let messages = Arc::unwrap_or_clone(messages);
                New::Plain(if let Value::Array(messages) = messages { messages } else { Vec::new() })
            }
            None => New::Prepared(std::mem::take(&mut request.messages)),
        };
        if std::mem::take(&mut request.continuation) != Continuation::None {
            match &mut messages {
                New::Prepared(messages) => drop(messages.pop()),
                New::Plain(messages) => drop(messages.pop()),
            }
            request.add_generation_prompt = true;
        }
        History { request: Arc::new(request), turns: vec![Arc::new(messages)] }
    }

    pub fn append(&self) -> Append {
        self.request.append
    }

    /// Reads new messages for this conversation.
    pub fn read(&self, messages: &Value) -> Result<New> {
        match (&self.request.plain, messages) {
            (Some(_), Value::Array(messages)) => Ok(New::Plain(messages.clone())),
            (Some(_), _) => Err(Error::invalid("messages: must be an array")),
            (None, messages) => messages_from_json(messages).map(New::Prepared),
        }
    }

    /// Appends the assistant's message and new messages.
    pub fn with(&self, message: &Message, new: &New, caps: &Caps) -> History {
        let turn = match new {
            New::Prepared(new) => New::Prepared([message].into_iter().chain(new).cloned().collect()),
            New::Plain(new) => New::Plain([plain(message, caps)].into_iter().chain(new.iter().cloned()).collect()),
        };
        let mut history = self.clone();
        history.turns.push(Arc::new(turn));
        history
    }

    /// The request that ends with the assistant's message, without a generation prompt.
    pub fn ending_with(&self, message: &Message, caps: &Caps) -> Request {
        let none = if self.request.plain.is_some() { New::Plain(Vec::new()) } else { New::Prepared(Vec::new()) };
        let mut request = self.with(message, &none, caps).request();
        request.add_generation_prompt = false;
        request
    }

    /// The conversation as one request.
    pub fn request(&self) -> Request {
        let mut request = Request::clone(&self.request);
        let mut all = Vec::new();
        for turn in &self.turns {
            match &**turn {
                New::Prepared(messages) => request.messages.extend(messages.iter().cloned()),
                New::Plain(messages) => all.extend(messages.iter().cloned()),
            }
        }
        if let Some(plain) = &mut request.plain {
            plain.messages = Arc::new(Value::Array(all));
        }
        request
    }

    /// The number of messages.
    pub fn len(&self) -> usize {
        self.turns.iter().map(|turn| turn.len()).sum()
    }

    /// The messages in order; `None` for a message of a plain request that cannot be read.
    pub fn messages(&self) -> impl Iterator<Item = Option<Message>> {
        self.turns.iter().flat_map(|turn| (0..turn.len()).map(|index| turn.message(index)))
    }
}

/// A message as for transformers: arguments in the form that the template takes.
fn plain(message: &Message, caps: &Caps) -> Value {
    let mut json = message.to_json();
    for call in json.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten() {
        let arguments = &mut call["function"]["arguments"];
        let read = arguments.as_str().and_then(|text| number::read::<Value>(text).ok());
        if let Some(object) = read.filter(|read| caps.object_arguments && read.is_object()) {
            *arguments = object;
        }
    }
    if message.tool_calls.is_empty() { json } else { with_type(json) }
}

/// OpenAI's form of a call has a type.
fn with_type(mut message: Value) -> Value {
    for call in message["tool_calls"].as_array_mut().into_iter().flatten() {
        call["type"] = json!("function");
    }
    message
}
