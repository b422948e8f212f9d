//! GPT-OSS: a turn is a list of messages, each on a channel: analysis (reasoning), commentary (calls) or final.
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
//! Not learnt, because the recipient of a call may also be behind the channel, a header may occur twice, and models call
//! tools that they were not given. The templates render one of these ways only.

use crate::format::harmony::{self, Dialect};
use crate::format::late::Want;
use crate::format::{Format, FormatSpec};

/// Checks for the channels.
pub fn detect(source: &str) -> bool {
    source.contains("<|channel|>")
}

/// See `harmony::build`. LLM-jp's template is recognised by its name.
pub fn build(spec: &FormatSpec, want: Want) -> Format {
    let spaced = spec.source.contains("chat_format=llm-jp-harmony-v1");
    harmony::build(spec, want, if spaced { Dialect::LlmJp } else { Dialect::GptOss })
}
