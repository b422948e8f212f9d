//! The next turn: what to append to a prompt and the output behind it, so that nothing that was sent is written anew.
//!
//! A server keeps what its model has read, and a host that renders each prompt from its messages changes that at times: a
//! parsed message renders with other white space or another order of keys than the model wrote, and templates drop the
//! reasoning of earlier turns. A [`Session`] knows what was sent. [`Session::next`] renders the whole conversation with the
//! message that was read and the new ones behind it, and compares:
//!
//! ```text
//! sent:    prompt .............................. output .......... | append
//! render:  the same bytes (what was rendered)    the turn ........ | what ends the turn, new messages, opening
//! ```
//!
//! * `history` holds the messages, and makes the requests.
//! * `turn` finds where in the render the turn ends. The output stays as it was written.
//! * `rewrite` says why it cannot be so, and of which message.
//! * `short` does with a short conversation, where that was found to tell the same.
//! * `preserve` asks a template by small conversations whether it ever is so.

mod history;
mod preserve;
mod rewrite;
mod short;
mod turn;

use serde_json::Value;

use crate::chat::{ChatTemplate, Params};
use crate::error::Result;
use crate::message::{Message, Request, Status};
use crate::reader::Prompts;
use crate::template::system_clock;

use history::{History, New};
pub use preserve::{Kind, Preserved, Preserving};
pub use rewrite::{Reason, Rewrite};

/// A conversation as far as it was sent: a prompt, and all that goes on behind it. Immutable; share it between threads, and
/// go on from it as often as there are outputs.
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
    /// The prompt as it is to be sent, with outputs as they were written, and what parses the next one.
    pub params: Params,
    template: ChatTemplate,
    history: History,
    /// The prompt as the template renders it, where that is another text.
    rendered: Option<String>,
    /// Where the two differ: turns whose output was written in another way than the template writes.
    turns: Vec<Turn>,
}

/// A turn that was written in another way than the template writes: where it ends.
#[derive(Clone, Debug)]
struct Turn {
    rendered: std::ops::Range<usize>,
    sent: std::ops::Range<usize>,
}

/// What comes behind an output.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Next {
    /// The conversation with the output and the new messages. Its prompt is what was sent up to [`Next::kept`], and then
    /// [`Next::append`].
    pub session: Session,
    /// How many bytes stand of what was sent, which is the prompt and the output: all of them, unless there is a rewrite.
    pub kept: usize,
    /// Why not all of them stand; `None` where they do.
    pub rewrite: Option<Rewrite>,
    /// Whether a short conversation was rendered, and not the whole one: see [`Session::next_learnt`].
    pub short: bool,
    /// What the output was read as: the message that the template was shown.
    pub message: Message,
}

impl Next {
    /// What is to be sent behind what stands.
    pub fn append(&self) -> &str {
        &self.session.params.prompt[self.kept..]
    }
}

impl ChatTemplate {
    /// Prompt and parser for one request, as [`ChatTemplate::params`], and what it takes to go on behind the output. The
    /// clock that the template sees stands still in it.
    ///
    /// # Errors
    /// As [`ChatTemplate::params`].
    pub fn session(&self, mut request: Request) -> Result<Session> {
        request.now = request.now.or_else(system_clock);
        let params = self.params(&request)?;
        let history = History::new(request);
        Ok(Session { params, template: self.clone(), history, rendered: None, turns: Vec::new() })
    }
}

impl Session {
    /// What to append behind `output`, the bytes that the model wrote behind the prompt, with or without the text of the
    /// token that ended them, to go on with `messages`, an array as in a request: results of tools, or what the user says.
    /// The output itself stays as it was written, if the template shows the same message at its place. It may have been cut
    /// off: what is open then is closed as the template closes it, arguments of a call included.
    ///
    /// Calls without ids have those that the results among `messages` answer, in their order.
    ///
    /// Takes a render of the whole conversation; where the output was written otherwise than the template writes, some more.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] where `messages` are none, naming the field; and as [`ChatTemplate::params`].
    pub fn next(&self, output: &[u8], messages: &Value) -> Result<Next> {
        self.next_whole(output, &self.history.read(messages)?)
    }

    /// The same at a cost that does not grow with what was said before, but for copies of the prompt: of the conversation,
    /// only the system's message, the user's last one and what is new are rendered. It is taken where the template was found
    /// to append the same in long conversations as in such a short one, and where this conversation is put together as those
    /// were, without markers of the template in its texts; [`Next::short`] tells. The first call for a template, or for other
    /// variables of it, takes some sixty short renders to find out. A template that only does something else after a good
    /// many more messages than those had is not found out: the whole is certain, this is learnt.
    ///
    /// # Errors
    /// As [`Session::next`].
    pub fn next_learnt(&self, output: &[u8], messages: &Value) -> Result<Next> {
        let new = self.history.read(messages)?;
        match short::next(self, output, &new) {
            Some(next) => Ok(next),
            None => self.next_whole(output, &new),
        }
    }

    fn next_whole(&self, output: &[u8], new: &New) -> Result<Next> {
        // A model that was stopped inside of a character has written half of it.
        let text = match std::str::from_utf8(output) {
            Ok(text) => text,
            Err(error) => {
                let text = std::str::from_utf8(&output[..error.valid_up_to()]).unwrap_or_default();
                return self.rewritten(self.shown(output, new, false)?, text);
            }
        };
        let shown = self.shown(output, new, true)?;
        // What ended the turn may have been read as its content.
        let cut = turn::spelt_end(self, &shown, text).unwrap_or(text.len());
        let shown = if cut < text.len() { self.shown(&output[..cut], new, true)? } else { shown };
        if let Some(end) = turn::end(self, &shown, text, cut) {
            return self.appended(shown, text, end);
        }
        let others = if cut < text.len() { Vec::new() } else { turn::spelt_ends(self, text) };
        for cut in others.into_iter().rev().chain(shown.closed.then_some(cut)) {
            let shown = self.shown(&output[..cut], new, cut < text.len())?;
            if let Some(end) = turn::end(self, &shown, text, cut) {
                return self.appended(shown, text, end);
            }
        }
        let shown = if shown.closed { self.shown(output, new, false)? } else { shown };
        self.rewritten(shown, text)
    }

    /// The prompt as the template renders it.
    fn rendered(&self) -> &str {
        self.rendered.as_deref().unwrap_or(&self.params.prompt)
    }

    /// What a render has behind that prompt, if it begins with it.
    fn behind_rendered<'t>(&self, render: &'t str) -> Option<&'t str> {
        render.strip_prefix(self.rendered())
    }

    /// Shows the template what the output says, and the new messages behind it. `close`: arguments that were cut off are closed.
    fn shown(&self, output: &[u8], new: &New, close: bool) -> Result<Shown> {
        let ended = self.params.parser.read(output, false, false)?;
        let is_whole = ended.status == Status::Complete;
        let has_calls = !ended.message.tool_calls.is_empty() && ended.calls().iter().all(|call| call.complete);
        let mut message = ended.message;
        new.name_calls(&mut message);
        let last = message.tool_calls.last_mut().filter(|_| close && !is_whole);
        let closed = last.and_then(|call| Some((turn::closed(&call.arguments)?, call)));
        let is_closed = closed.is_some();
        if let Some((arguments, call)) = closed {
            call.arguments = arguments;
        }
        Ok(Shown { is_whole, has_calls, closed: is_closed, ..self.shown_as(message, new)? })
    }

    /// The same for what an output is read as.
    fn shown_as(&self, message: Message, new: &New) -> Result<Shown> {
        let history = self.history.with(&message, new, self.template.caps());
        let request = history.request();
        let prompts = self.template.prompts(&request)?;
        let base = self.rendered().len();
        Ok(Shown { message, is_whole: true, has_calls: false, closed: false, history, request, prompts, base })
    }

    /// The conversation that ends with this message, as the template renders it.
    fn ending_with(&self, message: &Message) -> Result<String> {
        let request = self.history.ending_with(message, self.template.caps());
        Ok(self.template.prompts(&request)?.prompt.prompt)
    }

    /// The output stays as it was written; the render goes on at `end`.
    fn appended(&self, shown: Shown, output: &str, end: usize) -> Result<Next> {
        let sent = self.params.prompt.len();
        let kept = sent + output.len();
        let written = &shown.render()[shown.base..end];
        let behind = &shown.render()[end..];
        let mut turns = self.turns.clone();
        if written != output {
            turns.push(Turn { rendered: shown.base..end, sent: sent..kept });
        }
        let prompt = [&self.params.prompt, output, behind].concat();
        let message = shown.message.clone();
        Ok(Next { session: self.with(shown, prompt, turns)?, kept, rewrite: None, short: false, message })
    }

    /// The template's own prompt, from the first byte on that is another one.
    fn rewritten(&self, shown: Shown, output: &str) -> Result<Next> {
        let (rewrite, from, kept) = rewrite::find(self, &shown, output);
        let sent = self.params.prompt.as_str();
        let stands = [sent, output].concat()[..kept].to_owned();
        let prompt = stands + &shown.render()[from..];
        let turns = self.turns.iter().filter(|turn| turn.rendered.end <= from).cloned().collect();
        let message = shown.message.clone();
        Ok(Next { session: self.with(shown, prompt, turns)?, kept, rewrite: Some(rewrite), short: false, message })
    }

    fn with(&self, shown: Shown, prompt: String, turns: Vec<Turn>) -> Result<Session> {
        let Shown { history, request, prompts, .. } = shown;
        let mut params = self.template.params_of(&request, prompts)?;
        let rendered = std::mem::replace(&mut params.prompt, prompt);
        let rendered = (rendered != params.prompt).then_some(rendered);
        Ok(Session { params, template: self.template.clone(), history, rendered, turns })
    }
}

/// The conversation with the output and the new messages, as the template renders it.
struct Shown {
    message: Message,
    /// The output is one that the format describes.
    is_whole: bool,
    /// It makes calls, and they are whole.
    has_calls: bool,
    /// Arguments that were cut off are closed.
    closed: bool,
    history: History,
    request: Request,
    prompts: Prompts,
    /// Where the turn begins in the render, if the render begins as the one before.
    base: usize,
}

impl Shown {
    fn render(&self) -> &str {
        &self.prompts.prompt.prompt
    }

    fn behind(&self, at: usize) -> &str {
        &self.render()[at..]
    }
}
