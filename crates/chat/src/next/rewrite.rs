//! Finds out why a template rewrites what was sent, and which message is concerned.

use super::{Session, Shown};
use crate::messages::Messages;
use chatparse_base::find::{char_border_before, shared};
use chatparse_message::Message;

/// The length of a text that is searched for elsewhere.
const LOOKED_FOR: usize = 48;

/// Why not all bytes that were sent stay.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rewrite {
    /// The first byte of what was sent (the prompt and the output) that the template changes:
    /// [`super::Next::kept`], unless the request says [`chatparse_message::Append::Always`].
    pub at: usize,
    /// The index of the message at that byte, from 0; the output's message follows those of the
    /// prompt. `None` if the byte is the template's, before all messages.
    pub message: Option<usize>,
    /// The reason.
    pub reason: Reason,
}

/// The maximum number of times that a prompt is searched for the texts of its messages.
const SEARCHED: usize = 64;

chatparse_base::names! {
    /// What changes once other messages follow.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Reason {
        /// The reasoning of an earlier turn is left out.
        Reasoning = "reasoning",
        /// The turn opens differently from the prompt, e.g. without an empty thought.
        Opening = "opening",
        /// The text that was sent occurs later, after other text.
        Moved = "moved",
        /// There is other text.
        Changed = "changed",
        /// The turn begins as it was sent, but the template renders the output differently: it
        /// leaves out a part of the message, or writes it in a form that cannot be matched with the
        /// output.
        Output = "output",
        /// The request does not go on from what was sent: see [`super::Session::follow`].
        Request = "request",
    }
}

impl Reason {
    /// A description.
    pub fn words(self) -> &'static str {
        match self {
            Reason::Reasoning => "the template leaves the reasoning of an earlier turn out",
            Reason::Opening => {
                "the template opens earlier turns differently from the generation prompt, so the cache is lost here"
            }
            Reason::Moved => "the template puts something in front of what was sent",
            Reason::Changed => "the template writes other text there",
            Reason::Output => "the template does not write the turn as the model did",
            Reason::Request => "the request does not go on from what was sent",
        }
    }
}

/// The rewrite, and the position in the render from which the template's text is used.
pub(super) fn find(session: &Session, shown: &Shown, output: &str) -> (Rewrite, usize) {
    let (before, render) = (session.rendered(), shown.render());
    let same = shared(before, render);
    let (lost, changed) = (&before[same..], &render[same..]);
    let messages = session.messages();
    let (mut from, mut at) = sent_at(session, same);
    let mut message = Some(messages.len());
    let reason;
    if lost.is_empty() {
        let written = shared(output, changed);
        (from, at) = (same + written, session.params.prompt.len() + written);
        reason = reason_for(&shown.message, changed, Reason::Output);
    } else if lost.len() <= session.params.generation_prompt.len() {
        reason = reason_for(&shown.message, changed, Reason::Opening);
    } else {
        let looked_for = &lost[..char_border_before(lost, LOOKED_FOR)];
        let other = if changed.contains(looked_for) {
            Reason::Moved
        } else {
            Reason::Changed
        };
        message = message_at(session, &messages, same);
        reason = match message.and_then(|index| messages.get(index)) {
            Some(message) => reason_for(&message, changed, other),
            None => other,
        };
    }
    let rewrite = Rewrite {
        at,
        message,
        reason,
    };
    (rewrite, from)
}

/// The positions in the render and in what was sent up to which both stay; the render is unchanged
/// up to `same`.
fn sent_at(session: &Session, same: usize) -> (usize, usize) {
    let mut turns = session.turns.iter();
    match turns.rfind(|turn| turn.rendered.start < same) {
        Some(turn) if same < turn.rendered.end => (turn.rendered.start, turn.sent.start),
        Some(turn) => (same, turn.sent.end + (same - turn.rendered.end)),
        None => (same, same),
    }
}

/// Why a render changes from this message on: it drops the message's reasoning, or the `other`
/// reason.
fn reason_for(message: &Message, render: &str, other: Reason) -> Reason {
    let thought = message.reasoning_content.trim();
    if render.contains(&thought[..char_border_before(thought, LOOKED_FOR)]) {
        other
    } else {
        Reason::Reasoning
    }
}

/// The index of the message at byte `at` of the rendered prompt: the first one whose texts end
/// after that byte. Messages are found by their texts, in order. `None` before all of them,
/// or if too many are not found.
fn message_at(session: &Session, messages: &Messages, at: usize) -> Option<usize> {
    let rendered = session.rendered();
    let (mut from, mut budget) = (0, SEARCHED * rendered.len());
    for index in 0..messages.len() {
        let Some(message) = messages.get(index) else {
            continue;
        };
        let content = message.text();
        let mut texts = vec![message.reasoning_content.trim(), content.trim()];
        texts.extend(message.tool_calls.iter().map(|call| &*call.name));
        texts.retain(|text| !text.is_empty());
        for text in texts {
            let found = rendered[from..].find(text);
            budget = budget.checked_sub(found.unwrap_or(rendered.len() - from))?;
            let Some(found) = found else { continue };
            if from == 0 && at < found {
                return None;
            }
            from += found + text.len();
        }
        if at < from {
            return Some(index);
        }
    }
    None
}
