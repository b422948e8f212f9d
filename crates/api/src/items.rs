//! Groups the deltas of a stream into items of an answer: stretches of reasoning and of text, and
//! calls, each with a beginning and an end.
//!
//! Holds the items' bounds and the heads of the calls, but no texts: those are in the finished
//! message.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use super::called::{self, Called, Special};
use super::ids::Ids;
use super::logprobs::Logprobs;
use super::stops::Stops;
use super::wire::AnswerOptions;
use chatparse_base::find::shared;
use chatparse_base::{Error, Result};
use chatparse_message::Message;
use chatparse_stream::{Delta, DeltaKind, Ended, PartKind};

/// The delta for a call's arguments that comes before the model has written any.
const BRACE: &str = "{";

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Reasoning,
    Content,
    /// A call, by its index.
    Call(usize),
}

/// One item of an answer.
#[derive(Clone, Debug)]
pub struct Item {
    pub part: Part,
    /// Its range in the message's reasoning or content; empty for a call.
    span: Range<usize>,
    /// Whether it is complete.
    pub whole: bool,
}

/// The part of a call that precedes its arguments.
#[derive(Clone, Debug)]
pub struct CallHead {
    pub tool: Called,
    pub id: String,
    pub item: usize,
}

impl CallHead {
    /// Whether its arguments are sent once they are complete.
    fn is_held(&self) -> bool {
        self.tool.custom || self.tool.client.is_some()
    }
}

/// A change of the item with index `.0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    Begin(usize),
    Text(usize, Cow<'a, str>),
    End(usize),
}

/// A call with a name; its id may follow.
#[derive(Clone, Debug)]
struct Waiting {
    name: String,
    id: String,
    /// The opening brace was passed already, ahead of the output.
    brace: bool,
}

/// All items so far.
#[derive(Clone, Debug, Default)]
pub struct Items {
    pub options: Arc<AnswerOptions>,
    pub logprobs: Logprobs,
    ids: Ids,
    pub items: Vec<Item>,
    pub calls: Vec<CallHead>,
    call_ids: HashSet<String>,
    waiting: Option<Waiting>,
    special: Special,
    /// The arguments of the open call, if they are sent at its end.
    held: String,
    open: Option<usize>,
    reasoning: usize,
    content: usize,
    /// The beginning of the answer that the client has written, and how much of it was repeated.
    prefill: String,
    skipped: usize,
    pub stops: Stops,
}

impl Items {
    /// No items. `prefill`: the beginning of the content that is not to be sent.
    pub fn new(options: AnswerOptions, special: Special, prefill: String) -> Items {
        Items {
            ids: Ids::new(&options.id, options.seed, options.choice),
            special,
            prefill,
            stops: Stops::of(&options.request),
            options: Arc::new(options),
            ..Items::default()
        }
    }

    /// The id of the item with this index.
    pub fn item_id(&self, index: usize) -> String {
        let prefix = match self.items[index].part {
            Part::Reasoning => "rs_",
            Part::Content => "msg_",
            Part::Call(call) if self.calls[call].tool.custom => "ctc_",
            Part::Call(_) => "fc_",
        };
        self.ids.id(prefix, index)
    }

    /// Adds the deltas of a stream.
    ///
    /// # Errors
    /// [`chatparse_base::ErrorKind::InvalidArgument`] for deltas of a rollback, and for deltas that
    /// do not continue the previous ones.
    pub fn deltas<'a>(&mut self, deltas: impl Iterator<Item = Delta<'a>>) -> Result<Vec<Step<'a>>> {
        let mut steps = Vec::new();
        for delta in deltas {
            if self.stops.found.is_some() {
                break;
            }
            self.logprobs.read(&delta);
            match delta.kind {
                DeltaKind::Reasoning if delta.text.is_empty() => {}
                DeltaKind::Reasoning => {
                    self.flush(&mut steps);
                    self.append(Part::Reasoning, delta.text.into(), &mut steps);
                }
                DeltaKind::Content => self.content(delta.text, &mut steps),
                DeltaKind::ToolName => {
                    self.flush(&mut steps);
                    self.settle(&mut steps);
                    if delta.call != self.calls.len() {
                        return Err(out_of_order(delta.call));
                    }
                    self.waiting = Some(Waiting {
                        name: delta.text.to_owned(),
                        id: String::new(),
                        brace: false,
                    });
                }
                DeltaKind::ToolId => {
                    // An id behind the arguments is too late: another one was sent.
                    if let Some(waiting) = &mut self.waiting {
                        delta.text.clone_into(&mut waiting.id);
                        self.settle(&mut steps);
                    }
                }
                DeltaKind::ToolArguments
                    if delta.text == BRACE && delta.span.is_empty() && self.hold_brace() => {}
                DeltaKind::ToolArguments | DeltaKind::ToolEnd => {
                    self.settle(&mut steps);
                    let Some(call) = self.calls.get(delta.call) else {
                        return Err(out_of_order(delta.call));
                    };
                    if delta.kind == DeltaKind::ToolEnd {
                        if self.open == Some(call.item) {
                            self.close(true, &mut steps);
                        }
                    } else if call.is_held() {
                        self.held.push_str(delta.text);
                    } else if !delta.text.is_empty() {
                        steps.push(Step::Text(call.item, delta.text.into()));
                    }
                }
                withdrawn => {
                    return Err(Error::invalid(format!(
                        "stream: {} removes text after a rollback; an answer cannot take back what was sent",
                        withdrawn.name()
                    )));
                }
            }
        }
        Ok(steps)
    }

    /// Ends the answer. `cut`: a limit cut it off.
    pub fn finish(&mut self, cut: bool) -> Vec<Step<'static>> {
        let mut steps = Vec::new();
        self.flush(&mut steps);
        self.settle(&mut steps);
        self.interrupt(cut, &mut steps);
        steps
    }

    /// Reads an output whose deltas were not passed, up to its end.
    pub fn read(&mut self, ended: &Ended) {
        let message = &ended.message;
        let mut deltas = Vec::new();
        for part in ended.parts() {
            let (kind, of) = match part.kind {
                PartKind::Reasoning => (DeltaKind::Reasoning, &message.reasoning_content),
                PartKind::Content => (DeltaKind::Content, &message.content),
                PartKind::Call => {
                    let (call, at) = (&message.tool_calls[part.call], part.call);
                    deltas.push((DeltaKind::ToolName, at, &*call.name));
                    deltas.push((DeltaKind::ToolId, at, &call.id));
                    if ended.calls()[at].complete {
                        deltas.push((DeltaKind::ToolEnd, at, ""));
                    }
                    continue;
                }
            };
            deltas.push((kind, 0, &of[part.text.clone()]));
        }
        let deltas = deltas.into_iter().map(|(kind, call, text)| Delta {
            kind,
            call,
            text,
            span: 0..0,
        });
        // They are in order, and there was no rollback.
        let read = self.deltas(deltas);
        debug_assert!(read.is_ok());
    }

    /// The reasoning and the content of a message, up to a stop text.
    pub fn texts<'a>(&self, message: &'a Message) -> (&'a str, &'a str) {
        let reasoning = message.reasoning_content.get(..self.reasoning);
        let content = message.content.get(..self.content);
        (reasoning.unwrap_or_default(), content.unwrap_or_default())
    }

    /// Names the calls that have no end, once all is read, if there are some.
    pub fn set_incomplete(&self, of: &mut Value) {
        let calls = self
            .calls
            .iter()
            .filter(|call| !self.items[call.item].whole);
        let ids: Vec<&str> = calls.map(|call| &*call.id).collect();
        if !ids.is_empty() {
            of["incomplete_calls"] = json!(ids);
        }
    }

    /// The text of an item in a message: reasoning, content, or a call's arguments.
    pub fn text_of<'a>(&self, item: &Item, message: &'a Message) -> Cow<'a, str> {
        let text = match item.part {
            Part::Reasoning => message.reasoning_content.get(item.span.clone()),
            Part::Content => message.content.get(item.span.clone()),
            Part::Call(index) => match message.tool_calls.get(index) {
                Some(call) if self.calls[index].tool.custom => {
                    return called::input(&call.arguments).into();
                }
                call => call.map(|call| call.arguments.as_str()),
            },
        };
        text.unwrap_or_default().into()
    }

    fn content<'a>(&mut self, mut text: &'a str, steps: &mut Vec<Step<'a>>) {
        if self.skipped < self.prefill.len() {
            let left = &self.prefill[self.skipped..];
            let same = shared(text, left);
            // Templates trim what the client has begun.
            let is_trimmed = left[same..].trim_ascii().is_empty();
            if same == text.len() || is_trimmed {
                text = &text[same..];
                self.content += same;
            }
            self.skipped = if text.is_empty() {
                self.skipped + same
            } else {
                self.prefill.len()
            };
        }
        let text = self.stops.push(text);
        self.append(Part::Content, text, steps);
    }

    /// Passes what was held of the content.
    fn flush(&mut self, steps: &mut Vec<Step>) {
        let held = self.stops.flush();
        self.append(Part::Content, held.into(), steps);
    }

    fn append<'a>(&mut self, part: Part, text: Cow<'a, str>, steps: &mut Vec<Step<'a>>) {
        if text.is_empty() {
            return;
        }
        self.settle(steps);
        let end = match part {
            Part::Reasoning => &mut self.reasoning,
            _ => &mut self.content,
        };
        let begin = *end;
        *end += text.len();
        let end = *end;
        if self.open.is_none_or(|open| self.items[open].part != part) {
            self.begin(part, begin..end, steps);
        }
        let item = self.items.len() - 1;
        self.items[item].span.end = end;
        steps.push(Step::Text(item, text));
    }

    /// Keeps the brace with the waiting call, if there is one.
    fn hold_brace(&mut self) -> bool {
        self.waiting
            .as_mut()
            .is_some_and(|waiting| !std::mem::replace(&mut waiting.brace, true))
    }

    /// Fixes the id of the waiting call.
    fn settle(&mut self, steps: &mut Vec<Step>) {
        let Some(Waiting {
            name,
            mut id,
            brace,
        }) = self.waiting.take()
        else {
            return;
        };
        let (call, item) = (self.calls.len(), self.items.len());
        // Models may repeat an id, but clients match results by it.
        if id.is_empty() || self.call_ids.contains(&id) {
            id = self.ids.id(&self.options.call_id_prefix, call);
        }
        self.call_ids.insert(id.clone());
        let head = CallHead {
            tool: self.special.called(&name),
            id,
            item,
        };
        let is_held = head.is_held();
        self.calls.push(head);
        self.begin(Part::Call(call), 0..0, steps);
        if brace && is_held {
            self.held.push_str(BRACE);
        } else if brace {
            steps.push(Step::Text(item, BRACE.into()));
        }
    }

    /// Ends the open item, which only a text may be then.
    fn interrupt(&mut self, cut: bool, steps: &mut Vec<Step>) {
        let open = self.open.map(|open| self.items[open].part);
        self.close(
            matches!(open, Some(Part::Reasoning | Part::Content)) && !cut,
            steps,
        );
    }

    fn begin(&mut self, part: Part, span: Range<usize>, steps: &mut Vec<Step>) {
        self.interrupt(false, steps);
        self.open = Some(self.items.len());
        steps.push(Step::Begin(self.items.len()));
        self.items.push(Item {
            part,
            span,
            whole: false,
        });
    }

    fn close(&mut self, whole: bool, steps: &mut Vec<Step>) {
        if let Some(open) = self.open.take() {
            self.items[open].whole = whole;
            if !self.held.is_empty() {
                let mut held = std::mem::take(&mut self.held);
                if let Part::Call(call) = self.items[open].part
                    && self.calls[call].tool.custom
                {
                    held = called::input(&held);
                }
                steps.push(Step::Text(open, held.into()));
            }
            steps.push(Step::End(open));
        }
    }
}

fn out_of_order(call: usize) -> Error {
    Error::invalid(format!(
        "stream: the deltas do not continue the previous ones, at call {call}; pass all deltas of one stream"
    ))
}
