//! LLM-jp 4.1: GPT-OSS's format, with a space after every special token and parallel calls.
//!
//! ```text
//! <|start|> assistant<|channel|> analysis<|message|> why<|end|>
//! <|start|> assistant<|channel|> commentary to=functions.f <|constrain|> json<|message|> {"a": 1}<|end|>
//! <|start|> assistant<|channel|> commentary to=functions.g <|constrain|> json<|message|> {}<|call|>
//! ```
//! or, instead of the calls, `<|start|> assistant<|channel|> final<|message|> text`; without the line ends.

use crate::error::Result;
use crate::format::harmony::{self, Dialect};
use crate::format::prompt::{Prompt, PromptInput};
use crate::format::{Format, FormatSpec};

/// The template names its format.
pub fn detect(source: &str) -> bool {
    source.contains("chat_format=llm-jp-harmony-v1")
}

/// As every Harmony template: reasoning under `thinking`, whole turns ended, continuation on the right channel.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    harmony::prompt(input)
}

/// See `harmony::build`.
pub fn build(spec: &FormatSpec) -> Format {
    harmony::build(spec, Dialect::LlmJp)
}
