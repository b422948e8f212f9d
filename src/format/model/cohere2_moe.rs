//! Cohere2 MoE: reasoning, text and calls each between markers of their own.

use super::has_all;
use crate::error::Result;
use crate::format::prompt::{Prompt, PromptInput, plain};

/// Older Cohere templates have no marker for text.
pub fn detect(source: &str) -> bool {
    has_all(source, &["<|START_TEXT|>", "<|START_ACTION|>"])
}

/// As the template renders it.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    Ok(plain(input)?.continued(
        input,
        "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|><|START_THINKING|>",
        "<|END_THINKING|><|START_TEXT|>",
    ))
}
