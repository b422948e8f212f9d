//! Qwen3-Coder, Qwen3.5, Nemotron Nano 3 and StepFun 3.5: calls as XML functions whose parameters stand on lines of their own.

use super::has_all;
use crate::error::Result;
use crate::format::prompt::{Prompt, PromptInput, plain};

/// The tags of a call; templates that put no line breaks between them are of another family.
pub fn detect(source: &str) -> bool {
    has_all(source, &["<tool_call>", "<function=", "<parameter="])
        && !source.contains("'<tool_call><function=' ~ tool_call.name ~ '>'")
}

/// Whether the template's model reasons.
pub fn reasons(source: &str) -> bool {
    source.contains("<think>")
}

/// As the template renders it. Models that do not reason are continued in their content alone.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    const OPENING: &str = "<|im_start|>assistant\n";
    let prompt = plain(input)?;
    if reasons(input.template.source()) {
        return Ok(prompt.continued(input, &format!("{OPENING}<think>\n"), "\n</think>\n\n"));
    }
    Ok(prompt.continued_with(input, |message, in_content| {
        if in_content { format!("{OPENING}{}", message.text()) } else { OPENING.to_owned() }
    }))
}
