//! Ling 3.0: roles in `<role>` sections, calls as tagged arguments.

use super::has_all;
use crate::error::Result;
use crate::format::prompt::{Prompt, PromptInput, plain};

/// Other templates with tagged arguments have no `<role>` sections.
pub fn detect(source: &str) -> bool {
    has_all(source, &["<role>ASSISTANT</role>", "<arg_key>"])
}

/// As the template renders it.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    Ok(plain(input)?.continued(input, "<role>ASSISTANT</role>\n<think>", "</think>"))
}
