//! Whether a template's prompts begin with what was sent before, found with small conversations,
//! turn by turn.

use serde_json::Value;

use super::{Next, Rewrite, Session};
use crate::chat::ChatTemplate;
use crate::proof::{Thinking, asked};
use chatparse_base::Result;
use chatparse_base::find::shared;
use chatparse_message::{Message, ToolCall};

chatparse_base::names! {
    /// The kind of messages that follow an assistant's turn.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Kind {
        /// Results of tools.
        ToolStep = "tool step",
        /// A message of the user.
        UserTurn = "user turn",
    }
}

/// Whether prompts only grow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preserved {
    /// All bytes that were sent stay.
    Yes,
    /// The first rewrite.
    No(Rewrite),
    /// Unknown, because the template leaves out this part of the messages: `reasoning` or `calls`.
    Omitted(&'static str),
    /// The template rejects the conversation, with this error.
    Refused(String),
}

/// The result for one kind of turn, and one state of thinking.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Preserving {
    /// The kind of messages that follow the assistant's turns.
    pub kind: Kind,
    /// [`Thinking::On`]: the turns have reasoning. [`Thinking::Off`]: thinking is off.
    pub thinking: Thinking,
    /// Whether prompts only grow.
    pub preserved: Preserved,
}

impl Preserving {
    /// A JSON object: `kind`, `thinking`, `preserved` (`yes`, `no`, `omitted` or `refused`), and
    /// details: `at`, `message` and `reason`, or `part`, or `error`.
    pub fn to_json(&self) -> Value {
        let mut json = json!({"kind": self.kind, "thinking": self.thinking});
        match &self.preserved {
            Preserved::Yes => json["preserved"] = "yes".into(),
            Preserved::No(Rewrite {
                at,
                message,
                reason,
            }) => {
                json["preserved"] = "no".into();
                (json["at"], json["message"], json["reason"]) =
                    ((*at).into(), json!(message), json!(reason));
            }
            Preserved::Omitted(part) => {
                (json["preserved"], json["part"]) = ("omitted".into(), (*part).into())
            }
            Preserved::Refused(error) => {
                (json["preserved"], json["error"]) = ("refused".into(), error.as_str().into())
            }
        }
        json
    }
}

impl ChatTemplate {
    /// Whether each prompt begins with the previous one and the assistant's turn as the template
    /// writes it, in small conversations. Takes some twenty renders. For a given conversation use a
    /// [`Session`].
    pub fn preserves(&self, kind: Kind, thinking: Thinking) -> Preserved {
        if kind == Kind::ToolStep && !self.caps().tool_calls {
            return Preserved::Omitted("calls");
        }
        found(self, kind, thinking).unwrap_or_else(|error| Preserved::Refused(error.to_string()))
    }

    /// The same for each kind of turn, with and without reasoning.
    #[doc(hidden)]
    pub fn preserving(&self) -> Vec<Preserving> {
        let mut all = Vec::new();
        for kind in [Kind::ToolStep, Kind::UserTurn] {
            for thinking in [Thinking::Off, Thinking::On] {
                let preserved = self.preserves(kind, thinking);
                all.push(Preserving {
                    kind,
                    thinking,
                    preserved,
                });
            }
        }
        all
    }
}

fn found(template: &ChatTemplate, kind: Kind, thinking: Thinking) -> Result<Preserved> {
    let mut request = asked(thinking);
    if !template.caps().tool_calls {
        request.tools.clear();
    }
    let mut session = template.session(request)?;
    let steps: &[Kind] = match kind {
        Kind::ToolStep => &[Kind::ToolStep; 3],
        Kind::UserTurn if !template.caps().tool_calls => &[Kind::UserTurn; 3],
        Kind::UserTurn => &[
            Kind::UserTurn,
            Kind::UserTurn,
            Kind::ToolStep,
            Kind::UserTurn,
        ],
    };
    for (index, step) in steps.iter().enumerate() {
        let (message, new) = said(*step, index, thinking);
        let thought = message.reasoning_content.clone();
        let alone = session.ending_with(&message, &session.request)?;
        if !alone.contains(&thought) {
            return Ok(Preserved::Omitted("reasoning"));
        }
        let next = session.grown(message, &new, &alone)?;
        match next.rewrite {
            Some(rewrite) if *step == kind => return Ok(Preserved::No(rewrite)),
            _ => session = next.session,
        }
    }
    Ok(Preserved::Yes)
}

/// An assistant's message, and the messages that follow it.
fn said(kind: Kind, index: usize, thinking: Thinking) -> (Message, Value) {
    let mut message = Message::new("assistant", "");
    if thinking == Thinking::On {
        message.reasoning_content = format!("Medlar {index}: so it may be.");
    }
    // Nine letters and digits, because some templates require that.
    let id = format!("step{index:05}");
    match kind {
        Kind::ToolStep => {
            let arguments = json!({"text": format!("Quince {index}")}).to_string();
            message.tool_calls = vec![ToolCall::new("note", arguments, &id)];
            let result = format!("Fig {index}.");
            let new =
                json!([{"role": "tool", "name": "note", "tool_call_id": id, "content": result}]);
            (message, new)
        }
        Kind::UserTurn => {
            message.content = format!("Quince {index}.");
            let new = json!([{"role": "user", "content": format!("And fig {index}?")}]);
            (message, new)
        }
    }
}

impl Session {
    /// The session's result for the output that the template writes for `message`; `alone` is the
    /// conversation that ends with it.
    fn grown(&self, message: Message, new: &Value, alone: &str) -> Result<Next> {
        let shown = self.shown_as(message, &self.coming(new)?)?;
        let (Some(alone), Some(turn)) = (
            self.behind_rendered(alone),
            self.behind_rendered(shown.render()),
        ) else {
            return self.rewritten(shown, "");
        };
        // A host sends ids back that the model did not write: does the template write them into
        // earlier turns only?
        let mut ids = shown.message.tool_calls.iter().map(|call| call.id.as_str());
        if ids.any(|id| !alone.contains(id) && turn.contains(id)) {
            return self.next(alone.as_bytes(), new);
        }
        let output = turn[..shared(alone, turn)].to_owned();
        let said = &shown.message;
        let mut names = said.tool_calls.iter().map(|call| &call.name);
        if output.contains(&said.reasoning_content)
            && output.contains(&said.content)
            && names.all(|name| output.contains(name))
        {
            let end = shown.base + output.len();
            return self.appended(shown, &output, end);
        }
        self.rewritten(shown, alone)
    }
}
