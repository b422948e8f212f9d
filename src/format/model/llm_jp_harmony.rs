//! LLM-jp 4.1: GPT-OSS's format, with a space after every special token and parallel calls.

use crate::error::Result;
use crate::format::harmony;
use crate::format::prompt::{Prompt, PromptInput};

/// The template names its format.
pub fn detect(source: &str) -> bool {
    source.contains("chat_format=llm-jp-harmony-v1")
}

/// See [`harmony::prompt`].
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    harmony::prompt(input)
}
