//! The next turn: what to append to a prompt and its output, so that the prefix that was sent stays
//! valid.
//!
//! A server keeps the state of the tokens that its model has read. If a host renders each prompt
//! from its messages, the prefix sometimes changes: a parsed message renders with other white space
//! or another order of keys than the model wrote, and templates drop the reasoning of earlier
//! turns. A [`Session`] holds what was sent. [`Session::next`] renders the whole conversation with
//! the parsed message and the new ones, and compares:
//!
//! ```text
//! sent:    prompt .............................. output .......... | append
//! render:  the same bytes (what was rendered)    the turn ........ | what ends the turn, new messages, opening
//! ```
//!
//! - `turn` finds the end of the turn in the render. The output stays as it was written.
//! - `rewrite` finds the reason if that is impossible, and the message concerned.
//!   [`Append::Always`] appends all the same: what is after the turn is told by a render in which
//!   the turn says something else.
//! - `follow` finds the new messages of a whole request.

mod follow;
mod rewrite;
mod turn;

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use crate::chat::{ChatTemplate, Params};
use crate::messages::Messages;
use crate::prompts::Prompts;
use chatparse_base::Result;
use chatparse_jinja::system_clock;
use chatparse_message::{Append, Continuation, Message, Request};
use chatparse_stream::{Ended, EndedBy, Parser, SpecialTokens, Status, Stream};

pub use rewrite::{Reason, Rewrite};

/// A conversation as it was sent: a prompt, and the outputs and messages after it. Immutable;
/// threads may share it, and it can be continued with any number of outputs.
///
/// ```
/// use chatparse::{ChatTemplate, Request};
/// let template = ChatTemplate::builtin("chatml").unwrap();
/// let request = Request::from_text(r#"{"messages": [{"role": "user", "content": "Hi"}]}"#)?;
/// let session = template.session(request)?;
/// let next = session.next(b"Hello!", &serde_json::json!([{"role": "user", "content": "Bye"}]))?;
/// assert_eq!(next.append(), "<|im_end|>\n<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n");
/// assert!(next.session.params.prompt.ends_with(&format!("assistant\nHello!{}", next.append())));
/// # Ok::<(), chatparse::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Session {
    /// The prompt to send, with outputs as they were written, and the parser of the next output.
    pub params: Params,
    pub(crate) template: ChatTemplate,
    /// The request with all messages so far, without one that the prompt has begun: the output
    /// completes it.
    pub(crate) request: Arc<Request>,
    /// The prompt as the template renders it, if it differs.
    rendered: Option<String>,
    /// The turns that were not written as the template writes them: the differences between the two
    /// prompts.
    turns: Vec<Turn>,
}

/// The end of a turn that was not written as the template writes it.
#[derive(Clone, Debug)]
struct Turn {
    rendered: Range<usize>,
    sent: Range<usize>,
}

/// The result of [`Session::next`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Next {
    /// The conversation with the output and the new messages. Its prompt is what was sent, up to
    /// [`Next::kept`], and then [`Next::append`].
    pub session: Session,
    /// The number of bytes of what was sent (the prompt and the output) that stay: all, unless
    /// there is a rewrite. With [`Append::Always`] all, except for half a character at the output's
    /// end.
    pub kept: usize,
    /// Why the template does not keep all bytes; `None` if it does. With [`Append::Always`] they
    /// stay all the same, and [`Session::rendered`] is what the template writes.
    pub rewrite: Option<Rewrite>,
    /// The parsed output: the message that was rendered.
    pub message: Message,
    /// The index of the first new message; `None` where a request does not go on from what was
    /// sent: see [`Session::follow`].
    pub first: Option<usize>,
}

impl Next {
    /// The text to send after the bytes that stay.
    pub fn append(&self) -> &str {
        &self.session.params.prompt[self.kept..]
    }
}

impl ChatTemplate {
    /// The prompt and the parser for a request, as [`ChatTemplate::params`], with the state to
    /// continue after the output. The template's clock is fixed for the session.
    ///
    /// # Errors
    /// As [`ChatTemplate::params`].
    pub fn session(&self, mut request: Request) -> Result<Session> {
        request.now = request.now.or_else(system_clock);
        let params = self.params(&request)?;
        Ok(self.session_of(params, request))
    }

    /// The session of these params of the request.
    #[doc(hidden)]
    pub fn session_of(&self, params: Params, mut request: Request) -> Session {
        if std::mem::take(&mut request.continuation) != Continuation::None {
            let mut messages = Messages::take(&mut request);
            messages.pop();
            messages.put(&mut request);
            request.add_generation_prompt = true;
        }
        let request = Arc::new(request);
        Session {
            params,
            template: self.clone(),
            request,
            rendered: None,
            turns: Vec::new(),
        }
    }
}

impl Session {
    /// Computes what to append after `output` in order to continue with `messages`. `output`: the
    /// bytes that the model wrote after the prompt, with or without the text of the token that
    /// ended them. `messages`: an array as in a request, such as results of tools, or the user's
    /// next message; or an object that has it in `messages`, and fields of a request that change
    /// with this turn, e.g. `tools`: see [`Request::renewed`]. The output stays as it was written,
    /// if the template renders the same message in its place. It may have been cut off: open parts
    /// are closed as the template closes them, including arguments of a call.
    ///
    /// Calls without ids get those that the results among `messages` refer to, in order.
    ///
    /// If the request says [`Append::Always`], the output stays also where the template would
    /// change what was sent. Then what ends the turn, the new messages and the opening of the next
    /// turn are appended as the template writes them, at the cost of one more render.
    ///
    /// Renders the whole conversation once, and a few more times if the output was not written as
    /// the template writes it. Where the template rewrites what was sent before the output, it
    /// takes two renders at most, and a third if arguments were cut off.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] with the name of the field if `messages` are invalid;
    /// otherwise as [`ChatTemplate::params`].
    pub fn next(&self, output: &[u8], messages: &Value) -> Result<Next> {
        self.next_of(Output::unmarked(output), &self.coming(messages)?)
    }

    /// [`Session::next`] where it is known which bytes of the output came from special tokens: see
    /// [`Stream::feed_marked`]. A marker that the output only quotes is text then.
    ///
    /// # Errors
    /// As [`Session::next`] and [`Stream::feed_marked`].
    pub fn next_marked(
        &self,
        output: &[u8],
        tokens: &SpecialTokens,
        spans: &[Range<usize>],
        messages: &Value,
    ) -> Result<Next> {
        let output = Output {
            bytes: output,
            marks: Some((tokens, spans)),
        };
        self.next_of(output, &self.coming(messages)?)
    }

    fn next_of(&self, output: Output, new: &New) -> Result<Next> {
        // A model that was stopped inside of a character has written half of it.
        let text = match std::str::from_utf8(output.bytes) {
            Ok(text) => text,
            Err(error) => {
                let shown = self.shown(output, new, false)?;
                return self.otherwise(
                    shown,
                    new,
                    &String::from_utf8_lossy(output.bytes),
                    error.valid_up_to(),
                );
            }
        };
        let stays = new.request.append == Append::Always;
        // No message has a token that ended its output.
        let known = turn::known_end(self, text);
        let cut = known
            .filter(|at| stays || output.is_token(*at))
            .unwrap_or(text.len());
        let shown = self.shown(output.to(cut), new, true)?;
        if let Some(end) = turn::end(self, &shown, text, cut) {
            return self.appended(shown, text, end);
        }
        // What was sent before the output is another text now, wherever the output ends.
        let is_other = self.behind_rendered(shown.render()).is_none();
        let others = if is_other || cut < text.len() {
            Vec::new()
        } else {
            turn::spelt_ends(self, text)
        };
        for cut in others
            .into_iter()
            .rev()
            .chain((shown.closed && !is_other).then_some(cut))
        {
            let shown = self.shown(output.to(cut), new, cut < text.len())?;
            if let Some(end) = turn::end(self, &shown, text, cut) {
                return self.appended(shown, text, end);
            }
        }
        // Only what stays has to be closed.
        let shown = if shown.closed && !stays {
            self.shown(output, new, false)?
        } else {
            shown
        };
        self.otherwise(shown, new, text, text.len())
    }

    /// The template of the conversation.
    #[doc(hidden)]
    pub fn template(&self) -> &ChatTemplate {
        &self.template
    }

    /// The prompt as the template renders the conversation. It differs from that of
    /// [`Session::params`] where an output was not written as the template writes it, or where
    /// [`Append::Always`] kept what the template would change.
    pub fn rendered(&self) -> &str {
        self.rendered.as_deref().unwrap_or(&self.params.prompt)
    }

    /// The part of a render after that prompt, if the render begins with the prompt.
    fn behind_rendered<'t>(&self, render: &'t str) -> Option<&'t str> {
        render.strip_prefix(self.rendered())
    }

    /// Renders the parsed output and the new messages. `close`: completes arguments that were cut
    /// off.
    fn shown(&self, output: Output, new: &New, close: bool) -> Result<Shown> {
        let ended = output.read(&self.params.parser)?;
        let is_whole = ended.status == Status::Complete;
        let has_calls =
            !ended.message.tool_calls.is_empty() && ended.calls().iter().all(|call| call.complete);
        let mut message = ended.message;
        new.name_calls(&mut message);
        let mut closed = false;
        if close
            && !is_whole
            && let Some(call) = message.tool_calls.last_mut()
            && let Some(arguments) = turn::closed(&call.arguments)
        {
            (call.arguments, closed) = (arguments, true);
        }
        Ok(Shown {
            is_whole,
            has_calls,
            closed,
            ..self.shown_as(message, new)?
        })
    }

    /// The same for a parsed message.
    fn shown_as(&self, message: Message, new: &New) -> Result<Shown> {
        let request = self.with_turn(&message, new);
        let prompts = self.template.prompts(&request)?;
        let base = self.rendered().len();
        Ok(Shown {
            message,
            is_whole: true,
            has_calls: false,
            closed: false,
            request,
            prompts,
            base,
        })
    }

    /// Renders the conversation that ends with this message, with the options of a request.
    fn ending_with(&self, message: &Message, options: &Request) -> Result<String> {
        let mut new = New::of(options.clone());
        new.messages = new.messages.only(|_| false);
        let mut request = self.with_turn(message, &new);
        (request.add_generation_prompt, request.continuation) = (false, Continuation::None);
        Ok(self.template.prompts(&request)?.prompt)
    }

    /// The request with the assistant's message and new ones.
    fn with_turn(&self, message: &Message, new: &New) -> Request {
        let mut request = new.request.clone();
        let mut all = self.messages();
        all.extend(message, &new.messages, self.template.caps());
        all.put(&mut request);
        request
    }

    /// Reads the messages of the next turn, or a body that has them.
    fn coming(&self, messages: &Value) -> Result<New> {
        match messages {
            Value::Object(_) => Ok(New::of(self.request.renewed(messages)?)),
            _ => {
                let mut request = Request::clone(&self.request);
                Messages::read(&request, messages)?.put(&mut request);
                Ok(New::of(request))
            }
        }
    }

    fn messages(&self) -> Messages<'_> {
        Messages::of(&self.request)
    }

    /// Keeps the output as it was written, and appends the render from `end` on.
    fn appended(&self, shown: Shown, output: &str, end: usize) -> Result<Next> {
        let sent = self.params.prompt.len();
        let kept = sent + output.len();
        let mut turns = self.turns.clone();
        if shown.render()[shown.base..end] != *output {
            turns.push(Turn {
                rendered: shown.base..end,
                sent: sent..kept,
            });
        }
        self.with(shown, (self.sent(output), end), turns, kept, None)
    }

    /// Where the template changes what was sent; the output is text up to `valid`.
    fn otherwise(&self, shown: Shown, new: &New, output: &str, valid: usize) -> Result<Next> {
        match new.request.append {
            Append::Always => self.appended_anyway(shown, new, output, valid),
            _ => self.rewritten(shown, &output[..valid]),
        }
    }

    /// Uses the template's prompt from the first byte that differs.
    fn rewritten(&self, shown: Shown, output: &str) -> Result<Next> {
        let (rewrite, from) = rewrite::find(self, &shown, output);
        let mut front = self.sent(output);
        front.truncate(rewrite.at);
        let turns = self.turns_before(from);
        self.with(shown, (front, from), turns, rewrite.at, Some(rewrite))
    }

    /// Keeps what was sent, and appends what the template writes after the turn.
    fn appended_anyway(&self, shown: Shown, new: &New, output: &str, valid: usize) -> Result<Next> {
        let (rewrite, from) = rewrite::find(self, &shown, &output[..valid]);
        let end = turn::end_by_change(self, &shown, new, output)?;
        let sent = self.params.prompt.len();
        let mut turns = self.turns_before(from);
        turns.push(Turn {
            rendered: from.min(end)..end,
            sent: rewrite.at..sent + output.len(),
        });
        let prompt = (self.sent(output), end);
        self.with(shown, prompt, turns, sent + valid, Some(rewrite))
    }

    /// All that was sent, with this output.
    fn sent(&self, output: &str) -> String {
        [&self.params.prompt, output].concat()
    }

    /// The turns that end before this byte of the render.
    fn turns_before(&self, from: usize) -> Vec<Turn> {
        let mut turns = self.turns.clone();
        turns.retain(|turn| turn.rendered.end <= from);
        turns
    }

    /// The conversation that goes on with the prompt of this front and of the render from there on,
    /// whose first `kept` bytes were sent.
    fn with(
        &self,
        shown: Shown,
        (front, from): (String, usize),
        turns: Vec<Turn>,
        kept: usize,
        rewrite: Option<Rewrite>,
    ) -> Result<Next> {
        let prompt = front + &shown.render()[from..];
        let Shown {
            message,
            request,
            prompts,
            ..
        } = shown;
        let mut params = self.template.params_of(&request, prompts, "")?;
        let rendered = std::mem::replace(&mut params.prompt, prompt);
        let rendered = (rendered != params.prompt).then_some(rendered);
        let session = Session {
            rendered,
            turns,
            ..self.template.session_of(params, request)
        };
        Ok(Next {
            session,
            kept,
            rewrite,
            message,
            first: Some(self.messages().len() + 1),
        })
    }
}

/// The messages and options that follow an output.
struct New {
    messages: Messages<'static>,
    /// The tools and options of the next turn, without messages.
    request: Request,
    /// The ids of the output's calls, as the client has them; empty if they are not known.
    ids: Vec<String>,
}

impl New {
    /// The messages of a request, and its options.
    fn of(mut request: Request) -> New {
        New {
            messages: Messages::take(&mut request),
            request,
            ids: Vec::new(),
        }
    }

    /// Gives calls without an id those that the client has, or that results refer to.
    fn name_calls(&self, message: &mut Message) {
        for (call, id) in message.tool_calls.iter_mut().zip(&self.ids) {
            if call.id.is_empty() {
                call.id.clone_from(id);
            }
        }
        self.messages.name_calls(message);
    }
}

/// An output, and the ranges of it that came from special tokens, if the host knows them.
#[derive(Clone, Copy)]
struct Output<'o> {
    bytes: &'o [u8],
    marks: Option<(&'o SpecialTokens, &'o [Range<usize>])>,
}

impl<'o> Output<'o> {
    fn unmarked(bytes: &'o [u8]) -> Self {
        Output { bytes, marks: None }
    }

    /// Whether its last special token begins there.
    fn is_token(self, at: usize) -> bool {
        let last = self.marks.and_then(|(_, spans)| spans.last());
        last.is_some_and(|span| span.start == at)
    }

    fn to(self, cut: usize) -> Self {
        Output {
            bytes: &self.bytes[..cut],
            ..self
        }
    }

    fn read(self, parser: &Parser) -> Result<Ended> {
        let Some((tokens, spans)) = self.marks else {
            return Ok(parser.read(self.bytes, EndedBy::Model));
        };
        let mut stream = Stream::new(parser);
        stream.set_special_tokens(tokens)?;
        // What was cut off may have ended with a token.
        let within = spans.partition_point(|span| span.end <= self.bytes.len());
        drop(stream.feed_marked(self.bytes, &spans[..within])?);
        Ok(stream.finish(EndedBy::Model))
    }
}

/// The render of the conversation with the output and the new messages.
struct Shown {
    message: Message,
    /// The output matches the format.
    is_whole: bool,
    /// It has calls, and they are complete.
    has_calls: bool,
    /// Arguments that were cut off were completed.
    closed: bool,
    request: Request,
    prompts: Prompts,
    /// Where the turn begins in the render, if the render begins like the previous prompt.
    base: usize,
}

impl Shown {
    fn render(&self) -> &str {
        &self.prompts.prompt
    }
}
