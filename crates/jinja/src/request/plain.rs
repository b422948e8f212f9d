//! Renders the prompt like transformers: with the request's messages, tools and variables
//! unchanged.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{Conversation, Host, Template, system_clock};
use chatparse_base::Result;
use chatparse_message::{PlainConversation, REASONING, Request};

/// The prompt of `request` with the conversation `given`, and the generation prompt if `asked` is
/// set, which may take a second render.
///
/// # Errors
/// As [`Template::render_with_generation_prompt`].
pub fn plain(
    template: &Template,
    request: &Request,
    given: &PlainConversation,
    asked: bool,
) -> Result<(String, String)> {
    let conversation = plain_conversation(request, given);
    match asked {
        true => template.render_with_generation_prompt(&conversation),
        false => Ok((template.render(&conversation)?, String::new())),
    }
}

#[doc(hidden)]
pub fn plain_conversation(request: &Request, given: &PlainConversation) -> Conversation {
    let mut extra = request.template_kwargs.clone();
    extra
        .entry("documents")
        .or_insert_with(|| Value::clone(&given.documents));
    Conversation {
        messages: with_reasoning(&given.messages).into(),
        tools: Arc::clone(&given.tools).into(),
        enable_thinking: request.output.enable_thinking,
        add_generation_prompt: request.add_generation_prompt,
        host: Host::Transformers,
        extra,
        now: request.now.or_else(system_clock),
    }
}

/// A message's reasoning, under any of its names.
fn reasoning(message: &Value) -> Option<&Value> {
    REASONING
        .iter()
        .map(|name| &message[*name])
        .find(|thought| !thought.is_null())
}

/// The messages with their reasoning as both `reasoning_content` and `thinking`.
fn with_reasoning(messages: &Arc<Value>) -> Arc<Value> {
    let all = messages.as_array().into_iter().flatten();
    if all.clone().all(|message| reasoning(message).is_none()) {
        return Arc::clone(messages);
    }
    let named = |message: &Value| match (message, reasoning(message)) {
        (Value::Object(fields), Some(thought)) => {
            let mut named = Map::from_iter([("thinking".to_owned(), thought.clone())]);
            named.extend(fields.clone());
            named.insert("reasoning_content".to_owned(), thought.clone());
            Value::Object(named)
        }
        _ => message.clone(),
    };
    Arc::new(all.map(named).collect())
}
