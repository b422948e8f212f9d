//! LFM2 and LFM2.5: calls as a Python list between markers.

use super::has_all;
use crate::error::Result;
use crate::format::prompt::{Prompt, PromptInput, render_messages, with_thinking};

/// LFM2: the list of tools stands between markers.
pub fn detect(source: &str) -> bool {
    has_all(source, &["<|tool_list_start|>", "<|tool_list_end|>"])
}

/// LFM2.5: the list of tools stands in plain text.
pub fn detect_2_5(source: &str) -> bool {
    source.contains("List of tools: [") && !source.contains("<|tool_list_start|>")
}

/// As the template renders it: it looks for reasoning under `thinking`.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    let prompt = render_messages(input, with_thinking)?;
    Ok(prompt.continued(input, "<|im_start|>assistant\n<think>", "</think>"))
}
