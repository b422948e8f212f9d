//! Kimi K2: calls in a section of their own, each with an id that counts them.

use super::has_all;
use crate::error::Result;
use crate::format::prompt::{Prompt, PromptInput, plain};

/// The markers of the section and of a call.
pub fn detect(source: &str) -> bool {
    has_all(source, &["<|tool_calls_section_begin|>", "<|tool_call_begin|>"])
}

/// As the template renders it.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    Ok(plain(input)?.continued(input, "<|im_assistant|>assistant<|im_middle|><think>", "</think>"))
}
