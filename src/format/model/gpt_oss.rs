//! GPT-OSS: a turn is a row of messages, each on a channel: analysis (reasoning), commentary (calls) or final.

use crate::error::Result;
use crate::format::harmony;
use crate::format::prompt::{Prompt, PromptInput};

/// The channels.
pub fn detect(source: &str) -> bool {
    source.contains("<|channel|>")
}

/// See [`harmony::prompt`].
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    harmony::prompt(input)
}
