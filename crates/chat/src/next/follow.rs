//! Whether a request goes on from what was sent: servers get the whole conversation each turn, and
//! clients do not send it back as it was.
//!
//! Messages are compared as what they say. A text is equal to its parts on lines of their own, null
//! to what is missing, arguments to the same JSON, and ids may be others where results refer to the
//! same calls; `cache_control` and other fields for no model do not count. What the client has left
//! out of the model's turns, reasoning or white space, stays as it was sent.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{New, Next, Output, Reason, Rewrite, Session, turn};
use crate::messages::Messages;
use chatparse_base::find::shared;
use chatparse_base::{Result, number};
use chatparse_message::{CHAT, Continuation, Message, Request, join_parts};

/// The first field of a request that is not what was sent, and its message.
type Differs = (String, Option<usize>);

impl Session {
    /// [`Session::next`] for a whole request, such as servers get each turn: its messages are those
    /// that were sent, the output, as the client sends it back, and new ones. Its tools and options
    /// are the next turn's; the clock stays that of the session.
    ///
    /// A request that does not go on from here, or whose options change the earlier prompt, is
    /// rendered as it is, as by [`ChatTemplate::session`](crate::ChatTemplate::session). Then
    /// [`Next::first`] is `None`, the reason is [`Reason::Request`], and a note of the params names
    /// the first field that differs. [`Next::kept`] is what prompt and output have in common with
    /// the new prompt, also with [`chatparse_message::Append::Always`]. A note also names reasoning
    /// that the client has left out.
    ///
    /// Costs what both conversations have in bytes, and two renders more where options differ.
    ///
    /// # Errors
    /// As [`ChatTemplate::params`](crate::ChatTemplate::params).
    pub fn follow(&self, output: &[u8], mut request: Request) -> Result<Next> {
        request.now = self.request.now;
        let marked = Output::unmarked(output);
        let text = String::from_utf8_lossy(output);
        // The client has no token that ended the output, or its text.
        let cut = turn::known_end(self, &text).unwrap_or(output.len());
        let mut read = Message::default();
        let mut place = Err(Differs::default());
        for cut in [output.len(), cut.min(output.len())] {
            if place.is_err() {
                read = marked.to(cut).read(&self.params.parser)?.message;
                place = self.place(&read, &request);
            }
        }
        let place = place.and_then(|place| self.same_head(&request).map_or(Ok(place), Err));
        let (field, message) = match place {
            Ok((ids, notes)) => {
                let mut new = New::of(request);
                new.messages = new.messages.only(|index| index > self.messages().len());
                new.ids = ids;
                let mut next = self.next_of(marked, &new)?;
                next.session.params.notes.extend(notes);
                return Ok(next);
            }
            Err(differs) => differs,
        };
        let mut session = self.template.session(request)?;
        let kept = shared(
            &[&self.params.prompt, &*text].concat(),
            &session.params.prompt,
        );
        session.params.notes.push(format!(
            "{field}: is not what was sent, so the prompt is a new one"
        ));
        let rewrite = Some(Rewrite {
            at: kept,
            message,
            reason: Reason::Request,
        });
        Ok(Next {
            session,
            kept,
            rewrite,
            message: read,
            first: None,
        })
    }

    /// The ids that the client has for the calls of the output, and notes; or the first message
    /// that is not what was sent.
    fn place(
        &self,
        read: &Message,
        request: &Request,
    ) -> std::result::Result<(Vec<String>, Vec<String>), Differs> {
        let (sent, given) = (self.messages(), Messages::of(request));
        let (mut own_calls, mut calls, mut ids, mut notes) =
            (Calls::new(), Calls::new(), Vec::new(), Vec::new());
        for index in 0..=sent.len() {
            let field = format!("messages[{index}]");
            let own = if index < sent.len() {
                sent.get(index)
            } else {
                Some(read.clone())
            };
            let (Some(own), Some(other)) = (own, given.get(index)) else {
                return Err((field, Some(index)));
            };
            let calls_of_client = other.tool_calls.iter();
            ids = calls_of_client.map(|call| call.id.clone()).collect();
            let own = self.said(&own, index, &mut own_calls);
            let mut other = self.said(&other, index, &mut calls);
            if let Some(thought) = own.get(THOUGHT).filter(|_| !other.contains_key(THOUGHT)) {
                other.insert(THOUGHT.into(), thought.clone());
                notes.push(format!(
                    "{field}.{THOUGHT}: is left out; what was sent stays"
                ));
            }
            if let Some(name) = other_key(&own, &other) {
                return Err((format!("{field}.{name}"), Some(index)));
            }
        }
        Ok((ids, notes))
    }

    /// What a message says, in one form for all ways to write it. Empty fields are not there.
    fn said(&self, message: &Message, index: usize, calls: &mut Calls) -> Map<String, Value> {
        let message = message.with_reasoning_apart();
        let is_answer = message.role == "assistant";
        let mut made = Vec::new();
        for (number, call) in message.tool_calls.iter().enumerate() {
            calls.insert(call.id.clone(), [index, number]);
            let jinja = self.template.jinja();
            let name = jinja.joined_name(&call.namespace, &call.name);
            made.push(json!([name, arguments(&call.arguments)]));
        }
        calls.remove("");
        let (mut texts, mut media) = (Vec::new(), Vec::new());
        for part in &message.parts {
            // Media has a place in the text.
            let text = part.source.as_ref().map_or(&*part.text, |_| "\u{fffc}");
            texts.push((&*part.kind, text));
            if let Some(Value::Object(source)) = part.source.as_deref() {
                media.push(json!([part.kind, unmarked(source)]));
            }
        }
        let text = [&*message.content, &join_parts(texts.into_iter())].concat();
        let answered = match calls.get(&message.tool_call_id) {
            Some(call) => json!(call),
            None => json!(message.tool_call_id),
        };
        // What APIs add to the model's turns is not what it wrote, and a result has its call's
        // name.
        let mut said = if is_answer {
            Map::new()
        } else {
            unmarked(&message.more)
        };
        let name = if matches!(&*message.role, "assistant" | "tool") {
            ""
        } else {
            &*message.name
        };
        let fields = [
            ("role", json!(message.role)),
            (
                "content",
                json!(if is_answer { inked(&text) } else { text }),
            ),
            (THOUGHT, json!(inked(&message.reasoning_content))),
            ("tool_calls", json!(made)),
            ("tool_call_id", answered),
            ("name", json!(name)),
            ("media", json!(media)),
        ];
        for (name, value) in fields {
            if value != "" && value != json!([]) {
                said.insert(name.to_owned(), value);
            }
        }
        said
    }

    /// The option or the tool with which the template would have written another prompt.
    fn same_head(&self, request: &Request) -> Option<Differs> {
        let [own, other] = [&*self.request, request].map(|request| {
            let mut options = request.clone();
            self.messages().put(&mut options);
            (options.add_generation_prompt, options.continuation) = (false, Continuation::None);
            options
        });
        if own == other {
            return None;
        }
        let [own_prompt, prompt] = [&own, &other].map(|options| {
            let prompts = self.template.prompts(options);
            prompts.ok().map(|prompts| prompts.prompt)
        });
        if own_prompt == prompt {
            return None;
        }
        let field = if let Some(name) = other_key(&own.template_kwargs, &other.template_kwargs) {
            format!("chat_template_kwargs.{name}")
        } else if own.output.enable_thinking != other.output.enable_thinking {
            "enable_thinking".to_owned()
        } else if own.tools != other.tools {
            let mut pairs = own.tools.iter().zip(&other.tools);
            let changed = pairs.position(|(own, other)| own != other);
            let least = own.tools.len().min(other.tools.len());
            format!("tools[{}]", changed.unwrap_or(least))
        } else {
            "options".to_owned()
        };
        Some((field, None))
    }
}

/// The name of a message's reasoning.
const THOUGHT: &str = "reasoning_content";

/// The numbers of messages and of their calls, by the ids of calls.
type Calls = HashMap<String, [usize; 2]>;

/// The text without white space.
fn inked(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Arguments as JSON, closed where they were cut off.
fn arguments(text: &str) -> Value {
    if text.trim().is_empty() {
        return json!({});
    }
    let closed = turn::closed(text);
    number::read(closed.as_deref().unwrap_or(text)).unwrap_or_else(|_| text.into())
}

/// An object without what models do not see.
fn unmarked(object: &Map<String, Value>) -> Map<String, Value> {
    let seen = object.iter().filter(|(name, _)| !CHAT.is_unseen(name));
    seen.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The first name under which two objects have other values.
fn other_key(own: &Map<String, Value>, other: &Map<String, Value>) -> Option<String> {
    let mut names = own.keys().chain(other.keys());
    names
        .find(|name| own.get(*name) != other.get(*name))
        .cloned()
}
