//! Functionary 3.2: `>>>`, a recipient on the rest of the line, then what is for it: `all` or a tool.

use super::has_all;
use crate::error::Result;
use crate::format::prompt::{Prompt, PromptInput, plain};

/// The recipient for text, and the example in the instructions.
pub fn detect(source: &str) -> bool {
    has_all(source, &[">>>all", ">>>${recipient}"])
}

/// As the template renders it. The format has no reasoning: content alone is continued.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    Ok(plain(input)?.continued_with(input, |message, _| {
        format!("<|start_header_id|>assistant<|end_header_id|>\n\n>>>all\n{}", message.text())
    }))
}
