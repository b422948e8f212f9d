//! One answer in the shape of an API, as events or as a body.

use std::ops::Range;

use serde_json::Value;

use super::ids::Ids;
use super::items::{Items, Step};
use super::wire::{AnswerOptions, Event, Finish, Reason};
use super::{Api, called, chat, failure, messages, responses};
use chatparse_base::{Error, Result};
use chatparse_stream::Delta;
use chatparse_stream::Ended;

/// One answer in the shape of an API: a stream's deltas as events, and a finished message as a
/// body.
///
/// A streamed answer is [`Answer::begin`], [`Answer::deltas`] for each piece, including what
/// [`chatparse_stream::Stream::finish`] adds, and [`Answer::finish`]. An answer that is not
/// streamed is [`Answer::body`] alone. Both have the same content.
///
/// **Ids of calls.** A call has the id that the model wrote in front of its arguments. If there is
/// none, or an earlier call of the answer has the same, the id is generated: see [`AnswerOptions`].
/// An id never changes once it was sent, so an id behind the arguments is used only in answers that
/// are not streamed.
///
/// **Calls that are cut off** are in the answer as far as they were written, as a client of a
/// streamed answer has received them. The finish reason is `length` or the like, also where the
/// host says that the model ended its turn inside of a call, and `incomplete_calls` has the ids of
/// calls without an end; Responses has the status of each item. In Messages, whose clients read
/// JSON, the arguments are a beginning of a JSON object at any time: they end with the first byte
/// that is not JSON, what is open there is closed, and control characters in texts are escaped. The
/// body has the same object.
///
/// **Calls of custom tools** have a text instead of arguments. It is sent in one piece, once it is
/// complete. Calls of tools that Responses knows by their type, such as `apply_patch`, are items of
/// their own there, which are sent with their end.
///
/// **Calls of tools in a namespace** have the tool's own name, and the namespace in a field of its
/// own.
///
/// **Stop texts of the client**, `stop` or `stop_sequences` of the request, cut the content where
/// they begin, wherever pieces end: see [`Answer::stopped`]. In reasoning and in calls they are
/// text.
///
/// An answer keeps the heads and bounds of what was sent, and for Responses the text of the open
/// item and of a custom call. The cost of a piece is linear in its bytes.
#[derive(Clone, Debug)]
pub struct Answer {
    api: Api,
    items: Items,
    chat: chat::Writer,
    responses: responses::Writer,
    messages: messages::Prefix,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    New,
    Begun,
    Finished,
}

impl Answer {
    /// An empty answer.
    pub fn new(api: Api, mut options: AnswerOptions) -> Answer {
        let (prefix, prefill) = match api {
            Api::ChatCompletions => ("chatcmpl-", String::new()),
            Api::Responses => ("resp_", String::new()),
            Api::Messages => ("msg_", messages::prefill(&options.request)),
        };
        if options.id.is_empty() {
            options.id = Ids::new("", options.seed, 0).id(prefix, 0);
        }
        if options.model.is_empty()
            && let Some(model) = options.request["model"].as_str()
        {
            options.model = model.to_owned();
        }
        let special = called::Special::of(api, &options.request);
        let chat = chat::Writer::new(&options);
        let items = Items::new(options, special, prefill);
        let (responses, messages) = Default::default();
        Answer {
            api,
            items,
            chat,
            responses,
            messages,
            stage: Stage::New,
        }
    }

    /// The API of the answer.
    pub fn api(&self) -> Api {
        self.api
    }

    /// Begins a streamed answer, and returns the first events. `input_tokens`: the prompt's, for
    /// Messages; other APIs report them at the end.
    ///
    /// # Errors
    /// [`chatparse_base::ErrorKind::InvalidArgument`] if it has already begun.
    pub fn begin(&mut self, input_tokens: u64) -> Result<Vec<Event>> {
        self.go(Stage::New, Stage::Begun)?;
        Ok(match self.api {
            Api::ChatCompletions => self.chat.begin(&self.items),
            Api::Responses => self.responses.begin(&self.items),
            Api::Messages => messages::begin(&self.items, input_tokens),
        })
    }

    /// Takes the log probability of a token, before the deltas of its text are passed. `span`: the
    /// bytes of the output that are the token's. `entry`: the object that the API has in
    /// `logprobs.content`. Those of the content's tokens are in the events and, after these, in the
    /// body of chat completions and Responses.
    pub fn token(&mut self, span: Range<usize>, entry: Value) {
        self.items.logprobs.fed.push_back((span, entry));
    }

    /// The client's stop text that has ended the content. The model need not write on: what follows
    /// is not in the answer, and the reason of the finish is [`Reason::StopSequence`].
    pub fn stopped(&self) -> Option<&str> {
        self.items.stops.found.as_deref()
    }

    /// Returns the events for a stream's deltas; empty if they add nothing visible.
    ///
    /// # Errors
    /// [`chatparse_base::ErrorKind::InvalidArgument`] if it has not begun or is finished, for
    /// deltas of a rollback, and for deltas that do not continue the previous ones. The answer must
    /// not be used after that.
    pub fn deltas<'a>(&mut self, deltas: impl Iterator<Item = Delta<'a>>) -> Result<Vec<Event>> {
        self.go(Stage::Begun, Stage::Begun)?;
        let steps = self.items.deltas(deltas)?;
        Ok(self.steps(&steps))
    }

    /// Ends a streamed answer, and returns the last events. `ended`: the result of the stream's
    /// `finish`, whose deltas must have been passed before.
    ///
    /// # Errors
    /// [`chatparse_base::ErrorKind::InvalidArgument`] if it has not begun or is finished.
    pub fn finish(&mut self, ended: &Ended, finish: &Finish) -> Result<Vec<Event>> {
        self.go(Stage::Begun, Stage::Finished)?;
        let finish = &real(&self.items, ended, finish);
        let steps = self.items.finish(finish.is_cut());
        let mut events = self.steps(&steps);
        events.extend(match self.api {
            Api::ChatCompletions => self.chat.finish(&self.items, finish),
            Api::Responses => self.responses.finish(&self.items, &ended.message, finish),
            Api::Messages => messages::finish(&self.items, finish),
        });
        Ok(events)
    }

    /// Ends a streamed answer after an error of the server, and returns the last events.
    /// `http_status`: the code that the server would have sent at the beginning.
    ///
    /// # Errors
    /// [`chatparse_base::ErrorKind::InvalidArgument`] if it has not begun or is finished: use
    /// [`Api::error_body`] then.
    pub fn fail(&mut self, http_status: u16, message: &str) -> Result<Vec<Event>> {
        self.go(Stage::Begun, Stage::Finished)?;
        let body = self.api.error_body(http_status, message);
        Ok(match self.api {
            Api::ChatCompletions => vec![Event::new("", &body), chat::done()],
            Api::Responses => {
                self.responses
                    .fail(&self.items, failure::kinds(http_status).0, message)
            }
            Api::Messages => vec![Event::new("error", &body)],
        })
    }

    /// An event that keeps the connection alive; only Messages has one.
    pub fn ping(&self) -> Vec<Event> {
        match self.api {
            Api::Messages => messages::ping(),
            _ => Vec::new(),
        }
    }

    /// The answer as one body. The cost is linear in the message.
    pub fn body(&self, ended: &Ended, finish: &Finish) -> Value {
        let mut items = self.items.clone();
        if self.stage == Stage::New {
            items.read(ended);
            items.finish(real(&items, ended, finish).is_cut());
        }
        let (items, finish) = (&items, &real(&items, ended, finish));
        match self.api {
            Api::ChatCompletions => chat::body(items, &ended.message, finish),
            Api::Responses => responses::body(items, &ended.message, finish),
            Api::Messages => messages::body(items, &ended.message, finish),
        }
    }

    fn steps(&mut self, steps: &[Step]) -> Vec<Event> {
        match self.api {
            Api::ChatCompletions => self.chat.steps(&mut self.items, steps),
            Api::Responses => self.responses.steps(&mut self.items, steps),
            Api::Messages => messages::steps(&mut self.messages, &self.items, steps),
        }
    }

    /// Moves the answer from one stage to the next, or says in which other stage it is.
    fn go(&mut self, from: Stage, to: Stage) -> Result<()> {
        match self.stage {
            now if now == from => {
                self.stage = to;
                Ok(())
            }
            Stage::New => Err(Error::invalid("answer: it has not begun")),
            Stage::Begun => Err(Error::invalid("answer: it has begun")),
            Stage::Finished => Err(Error::invalid("answer: it is finished")),
        }
    }
}

/// How an answer ended, whatever the host says: by a stop text, or inside of a call, which is then
/// cut off.
fn real(items: &Items, ended: &Ended, finish: &Finish) -> Finish {
    let reason = match &items.stops.found {
        Some(stop) => Reason::StopSequence(stop.clone()),
        None if ended.ends_in_call() => Reason::Length,
        None => finish.reason.clone(),
    };
    Finish {
        reason,
        usage: finish.usage,
    }
}
