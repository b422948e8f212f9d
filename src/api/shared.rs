//! The common part of converting Responses and Messages requests to chat completions.

use serde_json::{Map, Value};

use chatparse_base::Result;
use chatparse_message::fields::Fields;
use chatparse_message::{ClientTool, OPTIONS, Table, text_part};

/// Fields with the same meaning in chat completions, in addition to this library's options.
const SAME: &[&str] = &[
    "model",
    "stream",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "user",
    "metadata",
    "service_tier",
];

/// A chat-completions body with those fields of `body` that mean the same there; and the notes that its table has for it.
pub(super) fn chat_body(body: &Fields, table: &Table) -> Result<(Map<String, Value>, Vec<String>)> {
    let mut notes = Vec::new();
    table.check_body(body, &[OPTIONS], &mut notes)?;
    for (name, ..) in &table.0[0].fields {
        table.check_at("request", name, body, &mut notes)?;
    }
    Ok(([SAME, OPTIONS].into_iter().flat_map(|names| taken(body, names)).collect(), notes))
}

/// Whether the model may call a tool by itself, and now; if not, there is a note.
pub(super) fn is_callable(tool: &Fields, notes: &mut Vec<String>) -> Result<bool> {
    let callers = tool.get("allowed_callers").and_then(Value::as_array).filter(|callers| !callers.is_empty());
    let why = if callers.is_some_and(|callers| callers.iter().all(|caller| caller != "direct")) {
        ("allowed_callers", "programs would call it, and none runs here, so it is not offered")
    } else if tool.flag("async", false)? {
        ("async", "calls have their results in the next request, so it is not offered")
    } else if tool.text("type")? == Some("programmatic_tool_calling") {
        ("type", "no programs run here, so it is not offered")
    } else {
        return Ok(true);
    };
    notes.push(format!("{}: {}", tool.path(why.0), why.1));
    Ok(false)
}

/// The name of a tool in the form of chat completions; `None` if a server must run it.
pub(super) fn name_of(tool: &Value) -> Option<&str> {
    match tool.get(tool["type"].as_str()?) {
        Some(inner) => inner["name"].as_str(),
        None => {
            let known = ClientTool::of(&Fields::new(tool, "tool").ok()?).ok()??;
            tool["name"].as_str().or(Some(known.name))
        }
    }
}

/// Adds the tools of an MCP server, which the model may call from the beginning: a server lists them before it asks the model.
pub(super) fn server_tools(list: &Fields, server: &str, found: &mut Vec<Value>) -> Result<()> {
    let server = list.required_text(server)?;
    for tool in &list.items("tools")? {
        let mut function = taken(tool, &["name", "description"]);
        tool.required_text("name")?;
        function.insert("namespace".to_owned(), server.into());
        function.insert("parameters".to_owned(), tool.required("input_schema")?.clone());
        found.push(json!({"type": "function", "function": function}));
    }
    Ok(())
}

/// Adds parts to the last message, which is new to the model; or, where the model has spoken, a message of the user. Templates move
/// those of the system, and forget thoughts before those of the user.
pub(super) fn add_parts(messages: &mut Vec<Value>, parts: Vec<Value>) {
    match messages.last_mut() {
        _ if parts.is_empty() => {}
        Some(last) if last["role"] == "tool" || last["role"] == "user" => {
            let mut all = match last["content"].take() {
                Value::Array(all) => all,
                Value::String(text) => vec![text_part(&text)],
                _ => Vec::new(),
            };
            all.extend(parts);
            last["content"] = all.into();
        }
        _ => messages.push(json!({"role": "user", "content": parts})),
    }
}

/// What introduces tools amid a conversation.
pub(super) const FROM_HERE_ON: &str = "From here on, there are also these tools:";

/// The tool, which the model does not see until a message reveals it.
pub(super) fn deferred(mut tool: Value) -> Value {
    tool["defer_loading"] = true.into();
    tool
}

/// Copies the fields with these names, if present.
pub(super) fn taken(from: &Fields, names: &[&str]) -> Map<String, Value> {
    names.iter().filter_map(|name| Some(((*name).to_owned(), from.get(name)?.clone()))).collect()
}

/// Sets how much the model should think.
pub(super) fn set_effort(effort: &str, chat: &mut Map<String, Value>) {
    if effort == "none" {
        chat.entry("enable_thinking").or_insert(false.into());
    } else {
        chat.insert("reasoning_effort".to_owned(), effort.into());
    }
}

/// Sets a field of a chat-completions body, if there is a value.
pub(super) fn put(chat: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    chat.extend(value.map(|value| (name.to_owned(), value.into())));
}

/// What the model says between two results of tools.
#[derive(Default)]
pub(super) struct Turn {
    pub reasoning: String,
    pub content: Option<String>,
    /// The channel of the content, where a format has some.
    pub phase: Option<String>,
    pub calls: Vec<Value>,
}

impl Turn {
    pub fn is_empty(&self) -> bool {
        self.reasoning.is_empty() && self.content.as_deref().unwrap_or_default().is_empty() && self.calls.is_empty()
    }

    /// Adds a call of this `kind`: `function` or `custom`.
    pub fn call(&mut self, kind: &str, id: &str, called: Value) {
        self.calls.push(json!({"type": kind, "id": id, kind: called}));
    }

    pub fn message(self) -> Value {
        let mut message = Map::new();
        put(&mut message, "role", Some("assistant"));
        put(&mut message, "content", Some(self.content.unwrap_or_default()));
        put(&mut message, "reasoning_content", Some(self.reasoning).filter(|thought| !thought.is_empty()));
        match self.calls.is_empty() {
            true => put(&mut message, "phase", self.phase),
            false => put(&mut message, "tool_calls", Some(self.calls)),
        }
        message.into()
    }
}
