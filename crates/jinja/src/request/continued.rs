//! A message that the model continues: the conversation is rendered with it, up to where its text ends. As transformers does.

use super::prepare::resolve;
use chatparse_message::{Continuation, Part, Request};

/// Follows the text that the model continues, with a blank by which trimming is detected.
const MARK: &str = "THE_CONTINUED_MESSAGE_ENDS_HERE";

/// Appends the mark to a text.
pub(super) fn mark(text: &mut String) {
    text.push_str(MARK);
    text.push(' ');
}

/// The request with its last message as one of the history, marked where the model continues it. `None` without a message.
pub fn whole(request: &Request) -> Option<Request> {
    let mut whole = request.clone();
    let last = whole.messages.last_mut()?;
    let part = resolve(std::mem::take(&mut whole.continuation), Some(&last.with_reasoning_apart()));
    whole.add_generation_prompt = false;
    if part == Continuation::Reasoning {
        *last = last.with_reasoning_apart().into_owned();
        mark(&mut last.reasoning_content);
    } else if last.parts.is_empty() {
        mark(&mut last.content);
    } else {
        // Behind media or a thought, the content goes on with a new text.
        if last.parts.last().is_some_and(|part| part.kind != "text") {
            let mut text = Part::default();
            text.kind = "text".into();
            last.parts.push(text);
        }
        last.parts.last_mut().into_iter().for_each(|part| mark(&mut part.text));
    }
    Some(whole)
}

/// The render up to the mark; without the white space in front of it if the template trims text. `None` if it does not show
/// the mark.
pub fn cut(mut prompt: String) -> Option<String> {
    let end = prompt.rfind(MARK)?;
    let keeps_blanks = prompt[end + MARK.len()..].starts_with(' ');
    prompt.truncate(end);
    if !keeps_blanks {
        prompt.truncate(prompt.trim_end().len());
    }
    Some(prompt)
}
