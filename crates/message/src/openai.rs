//! Messages, calls, tools and deltas as OpenAI's JSON.

use serde_json::{Map, Value};

use super::fields::Fields;
use super::{Message, Part, THINKING, TOOL_REFERENCE, Tool, ToolCall, join_parts, read};
use chatparse_base::Result;
use chatparse_base::json::put;

impl Message {
    /// Reads one OpenAI message.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] naming the field.
    pub fn from_json(json: &Value) -> Result<Message> {
        read::message(&Fields::new(json, "message")?, &mut Vec::new())
    }

    /// The message as OpenAI JSON: `role` and `content` always, the other fields unless they are
    /// empty. Typed parts are an array, unless media is among them: then they become one text. Text
    /// precedes parts if both exist.
    pub fn to_json(&self) -> Value {
        let mut map = Map::with_capacity(4);
        put(&mut map, "role", self.role.as_str().into());
        put(&mut map, "content", self.content_json());
        for (name, text) in self.further_texts() {
            put(&mut map, name, text.into());
        }
        if !self.tool_calls.is_empty() {
            let calls = self.tool_calls.iter().map(ToolCall::to_json);
            put(&mut map, "tool_calls", calls.collect());
        }
        map.extend(self.more.clone());
        map.into()
    }

    /// The non-empty text fields besides `role` and `content`.
    pub fn further_texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let texts = [
            ("reasoning_content", &*self.reasoning_content),
            ("name", &*self.name),
            ("tool_call_id", &*self.tool_call_id),
        ];
        texts.into_iter().filter(|(_, text)| !text.is_empty())
    }

    fn content_json(&self) -> Value {
        if self.parts.is_empty() || !self.content.is_empty() {
            return self.content.as_str().into();
        }
        if self.parts.iter().any(|part| part.kind == "media_marker") {
            let parts = self.parts.iter();
            return join_parts(parts.map(|part| (&*part.kind, &*part.text))).into();
        }
        self.parts.iter().map(Part::to_json).collect()
    }
}

impl Part {
    fn to_json(&self) -> Value {
        let text = &self.text;
        match &*self.kind {
            "text" => text_part(text),
            THINKING => thinking_part(text),
            TOOL_REFERENCE => json!({"type": TOOL_REFERENCE, "name": text, "tool_name": text}),
            media => json!({"type": media}),
        }
    }
}

/// A text as a content part.
pub fn text_part(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// Reasoning as a content part.
pub fn thinking_part(text: &str) -> Value {
    json!({"type": THINKING, THINKING: text})
}

impl ToolCall {
    /// The call as OpenAI JSON; `id` only if there is one.
    pub fn to_json(&self) -> Value {
        let mut call = json!({"type": "function", "function": {"name": self.name, "arguments": self.arguments}});
        if !self.id.is_empty() {
            call["id"] = json!(self.id);
        }
        call
    }
}

impl Tool {
    /// The tool as OpenAI JSON.
    pub fn to_json(&self) -> Value {
        // The value is cloned, because `json!` would serialise it.
        let mut tool = json!({"type": "function", "function": {"name": self.name, "description": self.description}});
        tool["function"]["parameters"] = Value::clone(&self.parameters);
        if let Some(function) = tool["function"].as_object_mut() {
            function.extend(self.more.clone());
        }
        if self.deferred {
            tool["defer_loading"] = true.into();
        }
        tool
    }
}
