//! Ministral 3 and Magistral: reasoning as a typed part of the content, calls as a name and JSON arguments.

use serde_json::{Value, json};

use super::has_all;
use crate::error::Result;
use crate::format::prompt::{Prompt, PromptInput, render_messages};

/// Mistral Small 3.2 looks alike, but gives its calls ids.
pub fn detect(source: &str) -> bool {
    has_all(source, &["[SYSTEM_PROMPT]", "[TOOL_CALLS]", "[ARGS]"]) && !source.contains("[CALL_ID]")
}

/// System and assistant messages become typed parts; reasoning is the first of them.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    Ok(render_messages(input, typed)?.continued(input, "[THINK]", "[/THINK]"))
}

fn typed(message: &Value) -> Value {
    let mut message = message.clone();
    if message["role"] != "system" && message["role"] != "assistant" {
        return message;
    }
    let mut parts = Vec::new();
    let reasoning = message.as_object_mut().and_then(|map| map.shift_remove("reasoning_content"));
    if let Some(Value::String(reasoning)) = reasoning {
        parts.push(json!({"type": "thinking", "thinking": reasoning}));
    }
    match message.get("content") {
        Some(Value::String(text)) => parts.push(json!({"type": "text", "text": text})),
        Some(Value::Array(content)) => parts.extend(content.iter().cloned()),
        _ => {}
    }
    message["content"] = Value::Array(parts);
    message
}
