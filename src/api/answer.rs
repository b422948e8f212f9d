//! One answer, from its first event to its last, or as a body.

use std::collections::HashSet;

use serde_json::Value;

use super::ids::Ids;
use super::items::{Items, Step};
use super::wire::{AnswerOptions, Event, Finish};
use super::{Api, chat, custom, failure, messages, responses};
use crate::error::{Error, Result};
use crate::message::Delta;
use crate::stream::Ended;

/// One answer in the shape of an API: a stream's deltas as events, and a finished message as a body.
///
/// A streamed answer is [`Answer::begin`], [`Answer::deltas`] for each piece, also for what [`crate::Stream::finish`] still adds, and
/// [`Answer::finish`]. One that is not streamed is [`Answer::body`] alone. Where both are asked for, they say the same.
///
/// **Ids of calls.** A call has the id that the model wrote in front of its arguments. Where it wrote none there, or one that an
/// earlier call of the answer has, the id is made: see [`AnswerOptions`]. An id never changes once it was shown, so one that the model
/// writes behind the arguments counts in answers that are not streamed only.
///
/// **Calls that are cut off** are in the answer as far as they came, as a client of a streamed one has seen them. The finish reason,
/// `length` or its like, tells. In Messages, whose body has no place for half an object, they have their whole members; arguments
/// that are no JSON object are `{}` there.
///
/// **Calls of custom tools** have their text and no arguments. It comes in one piece, once it is whole.
///
/// It keeps the heads and bounds of what it has shown, and of Responses the text of the item that is open, and that of a custom call; a piece costs its own
/// bytes.
#[derive(Clone, Debug)]
pub struct Answer {
    api: Api,
    options: AnswerOptions,
    items: Items,
    chat: chat::Writer,
    responses: responses::Writer,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    New,
    Begun,
    Finished,
}

impl Answer {
    /// An answer of which nothing is there.
    pub fn new(api: Api, mut options: AnswerOptions) -> Answer {
        if options.id.is_empty() {
            options.id = Ids::new("", options.seed, 0).id(api.id_prefix(), 0);
        }
        if options.model.is_empty() {
            options.model = options.request["model"].as_str().unwrap_or_default().to_owned();
        }
        let prefill = if api == Api::Messages { messages::prefill(&options.request) } else { String::new() };
        let custom_tools = if api == Api::Messages { HashSet::new() } else { custom::names(&options.request) };
        let items = Items::new(&options, custom_tools, prefill);
        let chat = if api == Api::ChatCompletions { chat::Writer::new(&options) } else { chat::Writer::default() };
        Answer { api, options, items, chat, responses: responses::Writer::default(), stage: Stage::New }
    }

    /// The API whose shape it has.
    pub fn api(&self) -> Api {
        self.api
    }

    /// The events that stand in front of everything else. `input_tokens`, those of the prompt, show in Messages; other APIs tell
    /// them at the end.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] where it has begun.
    pub fn begin(&mut self, input_tokens: u64) -> Result<Vec<Event>> {
        self.at(Stage::New)?;
        self.stage = Stage::Begun;
        Ok(match self.api {
            Api::ChatCompletions => self.chat.begin(&self.options),
            Api::Responses => self.responses.begin(&self.options),
            Api::Messages => messages::begin(&self.options, input_tokens),
        })
    }

    /// The events that tell of a stream's deltas; none where they add nothing that shows.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] where it has not begun or is finished, for deltas of a rollback, and for those that do not
    /// follow on those before. The answer is of no use then.
    pub fn deltas<'a>(&mut self, deltas: impl Iterator<Item = Delta<'a>>) -> Result<Vec<Event>> {
        self.at(Stage::Begun)?;
        let steps = self.items.deltas(deltas)?;
        Ok(self.steps(&steps))
    }

    /// The events of the end. `ended` is what the stream's `finish` gave; its deltas have been passed before.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] where it has not begun or is finished.
    pub fn finish(&mut self, ended: &Ended, finish: &Finish) -> Result<Vec<Event>> {
        self.at(Stage::Begun)?;
        self.stage = Stage::Finished;
        let steps = self.items.finish(finish.is_cut());
        let mut events = self.steps(&steps);
        let (options, items, message) = (&self.options, &self.items, &ended.message);
        events.extend(match self.api {
            Api::ChatCompletions => self.chat.finish(options, items, finish),
            Api::Responses => self.responses.finish(options, items, message, finish),
            Api::Messages => messages::finish(items, finish),
        });
        Ok(events)
    }

    /// The events of an answer that broke off for a reason of the server's: the last ones. `http_status` is what the server would
    /// have answered at the beginning.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] where it has not begun or is finished: then the body is [`Api::error_body`].
    pub fn fail(&mut self, http_status: u16, message: &str) -> Result<Vec<Event>> {
        self.at(Stage::Begun)?;
        self.stage = Stage::Finished;
        let body = self.api.error_body(http_status, message);
        Ok(match self.api {
            Api::ChatCompletions => vec![Event::new("", &body), chat::done()],
            Api::Responses => self.responses.fail(&self.options, failure::kinds(http_status).0, message),
            Api::Messages => vec![Event::new("error", &body)],
        })
    }

    /// An event that says nothing but that the server is alive; only Messages has one.
    pub fn ping(&self) -> Vec<Event> {
        if self.api == Api::Messages { messages::ping() } else { Vec::new() }
    }

    /// The answer as one body. Costs as much as the message.
    pub fn body(&self, ended: &Ended, finish: &Finish) -> Value {
        let mut read;
        let items = if self.stage == Stage::New {
            read = self.items.clone();
            read.read(ended, finish.is_cut());
            &read
        } else {
            &self.items
        };
        match self.api {
            Api::ChatCompletions => chat::body(&self.options, items, &ended.message, finish),
            Api::Responses => responses::body(&self.options, items, &ended.message, finish),
            Api::Messages => messages::body(&self.options, items, &ended.message, finish),
        }
    }

    fn steps(&mut self, steps: &[Step]) -> Vec<Event> {
        match self.api {
            Api::ChatCompletions => self.chat.steps(&self.options, &self.items, steps),
            Api::Responses => self.responses.steps(&self.items, steps),
            Api::Messages => messages::steps(&self.items, steps),
        }
    }

    fn at(&self, stage: Stage) -> Result<()> {
        match self.stage {
            now if now == stage => Ok(()),
            Stage::New => Err(Error::invalid("answer: it has not begun")),
            Stage::Begun => Err(Error::invalid("answer: it has begun")),
            Stage::Finished => Err(Error::invalid("answer: it is finished")),
        }
    }
}
