//! MiniCPM5: calls as XML functions with parameters.

use super::has_all;
use crate::error::Result;
use crate::format::prompt::{Prompt, PromptInput, plain};

/// The instructions for tools and the tags of a call.
pub fn detect(source: &str) -> bool {
    has_all(source, &["Tool usage guidelines:", "<function name=\"", "<param name=\""])
}

/// As the template renders it.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    Ok(plain(input)?.continued(input, "<|im_start|>assistant\n<think>\n", "\n</think>\n\n"))
}
