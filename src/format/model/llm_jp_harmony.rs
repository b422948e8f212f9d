//! LLM-jp 4.1: GPT-OSS's format, with a space after every special token and parallel calls.

use crate::error::Result;
use crate::format::harmony;
use crate::format::prompt::{Prompt, PromptInput};

/// The template names its format.
pub fn detect(source: &str) -> bool {
    source.contains("chat_format=llm-jp-harmony-v1")
}

/// As every Harmony template: reasoning under `thinking`, whole turns ended, continuation on the right channel.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    harmony::prompt(input)
}
