//! What a body of new messages changes of the request that it goes on from.

use serde_json::Value;

use super::Request;
use super::fields::{Fields, wrong};
use super::read::tool_choice;
use chatparse_base::Result;

/// Takes each field of `new` that the body has under this name.
macro_rules! take {
    ($next:ident, $new:ident, $fields:ident: $($name:literal $(| $other:literal)? $($field:ident).+),*) => {
        $(if $fields.get($name)$(.or($fields.get($other)))?.is_some() {
            $next.$($field).+ = $new.$($field).+;
        })*
    };
}

impl Request {
    /// The request of the next turn, with the new messages alone: fields of the body replace this request's, and so does each
    /// variable of `chat_template_kwargs`. A `tool_choice` may name a tool of either.
    ///
    /// # Errors
    /// As [`Request::from_json`]; and for `compat` and `for_training`, and where one of the two is plain and the other is not.
    pub fn renewed(&self, body: &Value) -> Result<Request> {
        let mut given = body.clone();
        let Some(map) = given.as_object_mut() else {
            return Err(wrong("messages", "an array, or an object that has messages", body));
        };
        let (is_plain, body) = (self.plain.is_some(), Fields::new(body, "")?);
        map.remove("tool_choice");
        let is_other = map.entry("plain").or_insert(is_plain.into()) != &is_plain;
        let other = ["compat", "for_training"].into_iter().find(|name| body.get(name).is_some());
        if let Some(name) = other.or(is_other.then_some("plain")) {
            return Err(body.refuse(name, "stays for all turns"));
        }
        let new = Request::from_json(&given)?;
        let mut next = Request { messages: new.messages, ..self.clone() };
        take!(next, new, body:
            "tools" tools, "tools" hosted_tools, "parallel_tool_calls" parallel_tool_calls, "prose" prose,
            "json_schema" | "response_format" json_schema, "json_spacing" json_spacing, "grammar" grammar,
            "grammar_style" grammar_style, "reasoning_format" reasoning_format, "roles" roles, "effort" effort,
            "malformed_arguments" malformed_arguments, "dialects" leniency.dialects,
            "unknown_tools" leniency.unknown_tools, "calls_in_reasoning" leniency.calls_in_reasoning,
            "bare_calls" leniency.bare_calls, "opening_again" leniency.opening_again,
            "incomplete_calls" leniency.incomplete_calls, "nearly_json" leniency.nearly_json,
            "thinking" | "enable_thinking" enable_thinking, "append" append,
            "add_generation_prompt" add_generation_prompt, "continue_final_message" continuation, "now" now,
            "media_marker" media_marker, "revealed_tools" revealed_tools, "force_pure_content" force_pure_content
        );
        next.template_kwargs.extend(new.template_kwargs);
        if let (Some(plain), Some(new)) = (&mut next.plain, new.plain) {
            plain.messages = new.messages;
            take!(plain, new, body: "tools" tools, "documents" documents);
            let thinks = next.template_kwargs.get("enable_thinking").and_then(Value::as_bool);
            next.enable_thinking = thinks.unwrap_or(next.enable_thinking);
        }
        match body.get("tool_choice") {
            Some(_) => (next.tool_choice, next.allowed_tools) = tool_choice(&body, &next.tools)?,
            None => {
                let same = |tool: &super::Tool| {
                    let mut all = next.tools.iter();
                    all.find(|other| (&other.namespace, &other.name) == (&tool.namespace, &tool.name)).cloned()
                };
                let allowed = next.allowed_tools.take();
                next.allowed_tools = allowed.map(|allowed| allowed.iter().filter_map(same).collect());
            }
        }
        Ok(next)
    }
}
