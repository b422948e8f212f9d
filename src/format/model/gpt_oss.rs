//! GPT-OSS: a turn is a row of messages, each on a channel: analysis (reasoning), commentary (calls) or final.
//!
//! ```text
//! <|start|>assistant<|channel|>analysis<|message|>why<|end|>
//! <|start|>assistant<|channel|>commentary<|message|>text before calls<|end|>
//! <|start|>assistant to=functions.f<|channel|>commentary json<|message|>{"a": 1}<|call|>
//! ```
//! or, instead of the call, `<|start|>assistant<|channel|>final<|message|>text`; without the line ends.

use crate::error::Result;
use crate::format::harmony::{self, Dialect};
use crate::format::prompt::{Prompt, PromptInput};
use crate::format::{Format, FormatSpec};

/// The channels.
pub fn detect(source: &str) -> bool {
    source.contains("<|channel|>")
}

/// As every Harmony template: reasoning under `thinking`, whole turns ended, continuation on the right channel.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    harmony::prompt(input)
}

/// See `harmony::build`.
pub fn build(spec: &FormatSpec) -> Format {
    harmony::build(spec, Dialect::GptOss)
}
