//! GPT-OSS: a turn is a row of messages, each on a channel: analysis (reasoning), commentary (calls) or final.

use crate::error::Result;
use crate::format::harmony;
use crate::format::prompt::{Prompt, PromptInput};

/// The channels.
pub fn detect(source: &str) -> bool {
    source.contains("<|channel|>")
}

/// As every Harmony template: reasoning under `thinking`, whole turns ended, continuation on the right channel.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    harmony::prompt(input)
}
