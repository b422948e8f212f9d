//! Jinja text to prompt text: the only user of the template engine.

use serde_json::{Map, Value};

use crate::error::Result;

/// What a template accepts, found by trial renders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caps {
    pub string_content: bool,
    pub typed_content: bool,
    pub tools: bool,
    pub tool_calls: bool,
    pub parallel_tool_calls: bool,
    pub system_role: bool,
    pub preserve_reasoning: bool,
    pub reasoning_effort: bool,
    pub object_arguments: bool,
}

/// What one render shows the template.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// An array of OpenAI messages, already prepared for the template.
    pub messages: Value,
    /// An array of OpenAI tools, or `Null`.
    pub tools: Value,
    pub enable_thinking: bool,
    pub add_generation_prompt: bool,
    /// Further template variables; they win over all others but `add_generation_prompt`.
    pub extra: Map<String, Value>,
    /// Unix seconds, UTC.
    pub now: i64,
}

/// A compiled template, its special tokens and its caps. Immutable and shared by threads.
pub struct Template {}

impl Template {
    pub fn new(_source: &str, _bos: &str, _eos: &str) -> Result<Template> {
        todo!()
    }
    pub fn source(&self) -> &str {
        todo!()
    }
    pub fn bos(&self) -> &str {
        todo!()
    }
    pub fn eos(&self) -> &str {
        todo!()
    }
    pub fn caps(&self) -> &Caps {
        todo!()
    }
    /// The conversation as prompt text.
    pub fn render(&self, _conversation: &Conversation) -> Result<String> {
        todo!()
    }
    /// What the generation prompt adds: the render with it, after the prefix it shares with the render without it.
    pub fn generation_prompt(&self, _conversation: &Conversation) -> Result<String> {
        todo!()
    }
}
