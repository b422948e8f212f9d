//! Kimi K3: sections and calls in tags made of `<|open|>`, `<|sep|>` and `<|close|>`.

use super::has_all;
use crate::error::Result;
use crate::format::prompt::{Prompt, PromptInput, plain};

/// The markers that tags are made of.
pub fn detect(source: &str) -> bool {
    has_all(source, &["<|open|>", "<|close|>", "<|end_of_msg|>"])
}

/// As the template renders it.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    Ok(plain(input)?.continued(
        input,
        "<|open|>message role=\"assistant\"<|sep|><|open|>think<|sep|>",
        "<|close|>think<|sep|><|open|>response<|sep|>",
    ))
}
