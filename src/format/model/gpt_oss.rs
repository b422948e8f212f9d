//! GPT-OSS: a turn is a row of messages, each on a channel: analysis (reasoning), commentary (calls) or final.
//!
//! ```text
//! <|start|>assistant<|channel|>analysis<|message|>why<|end|>
//! <|start|>assistant<|channel|>commentary<|message|>text before calls<|end|>
//! <|start|>assistant to=functions.f<|channel|>commentary json<|message|>{"a": 1}<|call|>
//! ```
//! or, instead of the call, `<|start|>assistant<|channel|>final<|message|>text`; without the line ends. LLM-jp 4.1 writes it with
//! a space after every special token, and several calls:
//!
//! ```text
//! <|start|> assistant<|channel|> commentary to=functions.f <|constrain|> json<|message|> {"a": 1}<|end|>
//! <|start|> assistant<|channel|> commentary to=functions.g <|constrain|> json<|message|> {}<|call|>
//! ```
//!
//! Why it stays: the recipient of a call may also stand behind the channel, a header may come twice, and a model calls
//! tools that it was not given; the templates write one way only.

use crate::error::Result;
use crate::format::harmony::{self, Dialect};
use crate::format::prompt::{Prompt, PromptInput};
use crate::format::{Format, FormatSpec};

/// The channels.
pub fn detect(source: &str) -> bool {
    source.contains("<|channel|>")
}

/// See `harmony::prompt`.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    harmony::prompt(input)
}

/// See `harmony::build`. LLM-jp's template names its format.
pub fn build(spec: &FormatSpec) -> Format {
    let spaced = spec.source.contains("chat_format=llm-jp-harmony-v1");
    harmony::build(spec, if spaced { Dialect::LlmJp } else { Dialect::GptOss })
}
