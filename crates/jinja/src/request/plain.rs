//! Renders the prompt like transformers: with the request's messages, tools and variables unchanged.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::request::continued::{cut, mark};
use crate::{Conversation, Template, shared, system_clock};
use chatparse_base::{Error, Result};
use chatparse_message::{Continuation, PlainConversation, REASONING, Request};

/// The prompt of `request` with the conversation `given`, and the generation prompt if `asked` is set, which may take a
/// second render.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] where there is no text that could be continued, or the template does not show it;
/// as [`Template::render_with_generation_prompt`].
pub fn plain(
    template: &Template,
    request: &Request,
    given: &PlainConversation,
    asked: bool,
) -> Result<(String, String)> {
    let continues = request.continuation != Continuation::None;
    let mut extra = request.template_kwargs.clone();
    extra.entry("documents").or_insert_with(|| Value::clone(&given.documents));
    let conversation = Conversation {
        messages: with_reasoning(&given.messages).into(),
        tools: Arc::clone(&given.tools),
        enable_thinking: request.enable_thinking,
        add_generation_prompt: request.add_generation_prompt && !continues,
        plain: true,
        extra,
        now: request.now.or_else(system_clock),
    };
    match (continues, asked) {
        (true, _) => continued(template, conversation, request.continuation),
        (false, true) => template.render_with_generation_prompt(&conversation),
        (false, false) => Ok((template.render(&conversation)?, String::new())),
    }
}

/// The render up to the end of the last message's text.
fn continued(template: &Template, conversation: Conversation, continuation: Continuation) -> Result<(String, String)> {
    let mut messages = Value::clone(&conversation.messages);
    let fields: &[&str] = if continuation == Continuation::Reasoning { &REASONING } else { &["content"] };
    let last = messages.as_array_mut().and_then(|messages| messages.last_mut()).and_then(Value::as_object_mut);
    let last = last.ok_or_else(|| Error::invalid("continue_final_message: there is no message"))?;
    let texts = last.iter_mut().filter(|(name, _)| fields.contains(&name.as_str()));
    if texts.map(|(_, text)| mark_content(text)).sum::<usize>() == 0 {
        return Err(Error::invalid(format!("continue_final_message: the last message has no {} of text", fields[0])));
    }
    let prompt = template.render(&Conversation { messages: messages.into(), ..conversation.clone() })?;
    let unseen = || Error::invalid("continue_final_message: the template does not show the end of the last message");
    let prompt = cut(prompt).ok_or_else(unseen)?;
    let before = conversation.messages.as_array().map_or(&[][..], |messages| &messages[..messages.len() - 1]);
    let messages = Value::from(before.to_vec()).into();
    let before = Conversation { messages, add_generation_prompt: true, ..conversation };
    // If the earlier turns cannot be rendered alone, the beginning of this one is unknown.
    let begins = match template.render_with_generation_prompt(&before) {
        Ok((opened, added)) => shared(&opened[..opened.len() - added.len()], &prompt),
        Err(_) => prompt.len(),
    };
    let generation_prompt = prompt[begins..].to_owned();
    Ok((prompt, generation_prompt))
}

/// Appends the mark to a text, or to the last text part. Returns the number of marks.
fn mark_content(content: &mut Value) -> usize {
    let text = match content {
        Value::Array(parts) => parts.iter_mut().rev().find_map(|part| part.get_mut("text")),
        text => Some(text),
    };
    match text {
        Some(Value::String(text)) => {
            mark(text);
            1
        }
        _ => 0,
    }
}

/// A message's reasoning, under any of its names.
fn reasoning(message: &Value) -> Option<&Value> {
    REASONING.iter().map(|name| &message[*name]).find(|thought| !thought.is_null())
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
