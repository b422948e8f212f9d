//! A message that the model continues: the conversation is rendered with it, up to where its text
//! ends. As transformers does.

use std::sync::Arc;

use serde_json::Value;

use super::prepare::resolve;
use chatparse_base::{Error, Result};
use chatparse_message::{Continuation, Part, REASONING, Request};

/// Follows the text that the model continues, with a blank by which trimming is detected.
const MARK: &str = "THE_CONTINUED_MESSAGE_ENDS_HERE";

fn mark(text: &mut String) {
    text.push_str(MARK);
    text.push(' ');
}

/// White space before an empty text is the template's, so it is not trimmed.
fn mark_text(text: &mut String) {
    let is_empty = text.trim().is_empty();
    mark(text);
    text.push_str(if is_empty { MARK } else { "" });
}

/// The request with its last message as one of the history, marked where the model continues it.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] where there is no text that could be continued.
pub fn whole(request: &Request) -> Result<Request> {
    let mut whole = request.clone();
    let part = std::mem::take(&mut whole.continuation);
    whole.add_generation_prompt = false;
    let missing = || Error::invalid("continue_final_message: there is no message");
    if let Some(given) = &mut whole.plain {
        let last = Arc::make_mut(&mut given.messages)
            .as_array_mut()
            .and_then(|messages| messages.last_mut());
        let last = last.and_then(Value::as_object_mut).ok_or_else(missing)?;
        let fields: &[&str] = if part == Continuation::Reasoning {
            &REASONING
        } else {
            &["content"]
        };
        let texts = last
            .iter_mut()
            .filter(|(name, _)| fields.contains(&name.as_str()));
        if texts
            .filter_map(|(_, content)| last_text(content))
            .map(mark)
            .count()
            == 0
        {
            let message = format!(
                "continue_final_message: the last message has no {} of text",
                fields[0]
            );
            return Err(Error::invalid(message));
        }
        return Ok(whole);
    }
    let last = whole.messages.last_mut().ok_or_else(missing)?;
    if resolve(part, Some(&last.with_reasoning_apart())) == Continuation::Reasoning {
        *last = last.with_reasoning_apart().into_owned();
        mark_text(&mut last.reasoning_content);
    } else if last.parts.is_empty() {
        mark_text(&mut last.content);
    } else {
        // Behind media or a thought, the content goes on with a new text.
        if last.parts.last().is_some_and(|part| part.kind != "text") {
            let mut text = Part::default();
            text.kind = "text".into();
            last.parts.push(text);
        }
        last.parts
            .last_mut()
            .into_iter()
            .for_each(|part| mark_text(&mut part.text));
    }
    Ok(whole)
}

/// A text, or the text of the last part that has one.
fn last_text(content: &mut Value) -> Option<&mut String> {
    let text = match content {
        Value::Array(parts) => parts
            .iter_mut()
            .rev()
            .find_map(|part| part.get_mut("text"))?,
        text => text,
    };
    if let Value::String(text) = text {
        Some(text)
    } else {
        None
    }
}

/// The render up to the mark; without the white space before the mark if the template trims text.
/// `None` if it does not show the mark.
pub fn cut(mut prompt: String) -> Option<String> {
    let end = prompt
        .rfind(&format!("{MARK} {MARK}"))
        .or_else(|| prompt.rfind(MARK))?;
    let keeps_blanks = prompt[end + MARK.len()..].starts_with(' ');
    prompt.truncate(end);
    if !keeps_blanks {
        prompt.truncate(prompt.trim_end().len());
    }
    Some(prompt)
}
