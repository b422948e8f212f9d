//! GigaChat 3: messages between separators, calls as a message of their own.

use super::has_all;
use crate::error::Result;
use crate::format::prompt::{Prompt, PromptInput, plain};

/// The separators, without the call marker of other GigaChat templates.
pub fn detect(source: &str) -> bool {
    has_all(source, &["<|role_sep|>", "<|message_sep|>"]) && !source.contains("<|function_call|>")
}

/// As the template renders it. The format has no reasoning: content alone is continued.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    Ok(plain(input)?.continued_with(input, |message, _| format!("assistant<|role_sep|>\n{}", message.text())))
}
