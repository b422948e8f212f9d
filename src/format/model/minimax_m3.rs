//! MiniMax-M3: calls as XML whose every tag has a namespace token before it.

use super::has_all;
use crate::error::Result;
use crate::format::prompt::{Prompt, PromptInput, plain};

/// The namespace token and the tags of a call.
pub fn detect(source: &str) -> bool {
    has_all(source, &["]<]minimax[>[", "<tool_call>", "<invoke name="])
}

/// As the template renders it. A continuation opens the turn as the template does.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    let prompt = plain(input)?;
    let opening = format!("{}<mm:think>", prompt.generation_prompt);
    Ok(prompt.continued(input, &opening, "</mm:think>"))
}
