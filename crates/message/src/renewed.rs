//! Changes a request by a body that has the new messages of the next turn.

use serde_json::Value;

use super::Request;
use super::fields::{Fields, wrong};
use super::read::tool_choice;
use chatparse_base::Result;

/// The options of this library that may change with a turn.
const OPTIONS: &[&str] = &[
    "chat_template_kwargs",
    "continue_final_message",
    "enable_thinking",
    "grammar",
    "hosted_tools",
    "json_schema",
];

impl Request {
    /// The request of the next turn, with the new messages alone: fields of the body replace this
    /// request's, and so does each variable of `chat_template_kwargs`. A `tool_choice` may name a
    /// tool of either.
    ///
    /// # Errors
    /// As [`Request::from_json`]; and for an option that says how requests are read, or outputs: it
    /// stays for all turns.
    pub fn renewed(&self, body: &Value) -> Result<Request> {
        let mut given = body.clone();
        let Some(map) = given.as_object_mut() else {
            return Err(wrong(
                "messages",
                "an array, or an object that has messages",
                body,
            ));
        };
        map.remove("tool_choice");
        map.insert("plain".to_owned(), self.plain.is_some().into());
        let new = Request::from_json(&given)?;
        let fields = Fields::new(body, "")?;
        let has = |name: &str| fields.get(name).is_some();
        for name in super::OPTIONS {
            if has(name) && !OPTIONS.contains(name) {
                return Err(fields.refuse(name, "stays for all turns"));
            }
        }
        let mut next = Request {
            messages: new.messages,
            notes: new.notes,
            ..self.clone()
        };
        next.template_kwargs.extend(new.template_kwargs);
        if let (Some(plain), Some(new)) = (&mut next.plain, new.plain) {
            plain.messages = new.messages;
            if has("tools") {
                plain.tools = new.tools;
            }
        }
        if has("tools") {
            (next.tools, next.hosted_tools) = (new.tools, new.hosted_tools);
        }
        if has("parallel_tool_calls") {
            next.output.parallel_tool_calls = new.output.parallel_tool_calls;
        }
        if has("response_format") || has("json_schema") {
            next.output.json_schema = new.output.json_schema;
        }
        if has("thinking")
            || has("enable_thinking")
            || self.plain.is_some() && has("chat_template_kwargs")
        {
            next.output.enable_thinking = new.output.enable_thinking;
        }
        if has("grammar") {
            next.grammar = new.grammar;
        }
        next.continuation = new.continuation;
        if has("tool_choice") {
            (next.output.tool_choice, next.allowed_tools) = tool_choice(&fields, &next.tools)?;
        }
        Ok(next)
    }
}
