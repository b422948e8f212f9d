//! What GPT-OSS and its dialects have in common.

use serde_json::Value;

use super::prompt::{Prompt, PromptInput, render_messages, with_thinking};
use crate::error::Result;

/// The template looks for reasoning under `thinking`, and takes it or content, not both, next to calls. A prompt that ends
/// with a whole turn ends it as a turn within a conversation, not as the model's last word.
pub(crate) fn prompt(input: &PromptInput) -> Result<Prompt> {
    let mut prompt = render_messages(input, |message| {
        let mut message = with_thinking(message);
        let calls = message.get("tool_calls").and_then(Value::as_array).is_some_and(|calls| !calls.is_empty());
        if calls && message.get("thinking").is_some() {
            message.as_object_mut().and_then(|map| map.shift_remove("content"));
        }
        message
    })?;
    if !input.prepared.conversation.add_generation_prompt {
        const LAST_WORD: &str = "<|return|>";
        if let Some(at) = prompt.prompt.rfind(LAST_WORD) {
            prompt.prompt.replace_range(at..at + LAST_WORD.len(), "<|end|>");
        }
    }
    let opening = "<|start|>assistant<|channel|>analysis<|message|>";
    Ok(prompt.continued(input, opening, "<|end|><|start|>assistant<|channel|>final<|message|>"))
}
