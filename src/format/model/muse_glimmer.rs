//! Muse Glimmer: a turn is a row of messages, each to a recipient: itself (reasoning), the user, or a tool.

use super::has_all;
use crate::error::Result;
use crate::format::prompt::{Prompt, PromptInput};

/// What opens a message of the assistant; the model names the recipient.
const OPENING: &str = "<|start|>assistant";

/// The tags of calls, and the marker between messages.
pub fn detect(source: &str) -> bool {
    has_all(source, &["<atem:function_calls>", "<|eom|>"])
}

/// As the template renders it. The generation prompt is always the bare opening.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    let prompt = input.template.render(&input.prepared.conversation)?;
    let prompt = Prompt { prompt, generation_prompt: OPENING.to_owned() };
    Ok(prompt.continued(input, "<|start|>assistant to=self<|message|>", "<|eom|><|start|>assistant to=user<|message|>"))
}
