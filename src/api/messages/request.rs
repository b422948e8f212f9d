//! Converts requests of the Messages API to chat-completions bodies.

use serde_json::{Map, Value};

use crate::api::shared::{chat_body, set_effort, taken};
use chatparse_base::{Result, number};
use chatparse_message::fields::{Fields, TextOrItems, ToolNames};
use chatparse_message::{OF_NO_MODEL, TOOL_REFERENCE};

/// Features that need a server which runs tools by itself.
const REFUSED: &[(&str, &str)] = &[
    ("container", "containers are not supported"),
    ("mcp_servers", "the tools of other servers are not supported; send them as tools"),
];

/// The fields of a body that are read here.
const OWN: &[&str] = &[
    "container",
    "max_tokens",
    "mcp_servers",
    "messages",
    "output_config",
    "stop_sequences",
    "system",
    "thinking",
    "tool_choice",
    "tools",
];

/// Converts a body to chat completions.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] with the name of the field that is wrong or not supported.
pub(in crate::api) fn to_chat(body: &Value) -> Result<Value> {
    let body = Fields::new(body, "")?;
    for (name, why) in REFUSED {
        if body.get(name).is_some_and(|value| value.as_array().is_none_or(|items| !items.is_empty())) {
            return Err(body.refuse(name, why));
        }
    }
    let mut chat = chat_body(&body, OWN)?;
    let mut messages = Vec::new();
    if body.get("system").is_some() {
        messages.push(json!({"role": "system", "content": text(&body, "system")?}));
    }
    body.required("messages")?;
    for said in body.items("messages")? {
        message(&said, &mut messages)?;
    }
    // An assistant message at the end is continued.
    if messages.last().is_some_and(|last| last["role"] == "assistant") {
        chat.insert("continue_final_message".to_owned(), true.into());
    }
    chat.insert("messages".to_owned(), messages.into());
    if let Some(limit) = body.number("max_tokens")? {
        chat.insert("max_completion_tokens".to_owned(), limit.into());
    }
    if let Some(stops) = body.get("stop_sequences") {
        chat.insert("stop".to_owned(), stops.clone());
    }
    output(&body, &mut chat)?;
    tools(&body, &mut chat)?;
    Ok(Value::Object(chat))
}

/// The beginning of the answer that the client has written: the text of the last message, if it is the assistant's.
pub(in crate::api) fn prefill(body: &Value) -> String {
    let last = body["messages"].as_array().and_then(|messages| messages.last());
    let last = last.filter(|last| last["role"] == "assistant");
    let text = last.and_then(|last| text(&Fields::new(last, "").ok()?, "content").ok());
    text.unwrap_or_default()
}

/// Reads the options for thinking and for the format of the output.
fn output(body: &Fields, chat: &mut Map<String, Value>) -> Result<()> {
    if let Some(thinking) = body.object("thinking")? {
        let on = match thinking.required_text("type")? {
            "enabled" | "adaptive" => true,
            "disabled" => false,
            _ => return Err(thinking.unknown("type", "\"enabled\", \"adaptive\" or \"disabled\"")),
        };
        chat.insert("enable_thinking".to_owned(), on.into());
    }
    let Some(config) = body.object("output_config")? else { return Ok(()) };
    if let Some(effort) = config.text("effort")? {
        set_effort(effort, chat);
    }
    if let Some(format) = config.object("format")? {
        if format.required_text("type")? != "json_schema" {
            return Err(format.unknown("type", "\"json_schema\""));
        }
        let schema = json!({"name": "answer", "schema": format.required("schema")?, "strict": true});
        chat.insert("response_format".to_owned(), json!({"type": "json_schema", "json_schema": schema}));
    }
    Ok(())
}

fn tools(body: &Fields, chat: &mut Map<String, Value>) -> Result<()> {
    let tools = body.items("tools")?;
    let mut parallel = true;
    if let Some(choice) = body.object("tool_choice")? {
        parallel = !choice.flag("disable_parallel_tool_use", false)?;
        let choice = match choice.required_text("type")? {
            "auto" => "auto".into(),
            "any" => "required".into(),
            "none" => "none".into(),
            "tool" => json!({"type": "function", "function": {"name": choice.required_text("name")?}}),
            _ => return Err(choice.unknown("type", "\"auto\", \"any\", \"tool\" or \"none\"")),
        };
        chat.insert("tool_choice".to_owned(), choice);
    }
    if !tools.is_empty() {
        let mut names = ToolNames::default();
        chat.insert("tools".to_owned(), tools.iter().map(|given| tool(given, &mut names)).collect::<Result<_>>()?);
        chat.insert("parallel_tool_calls".to_owned(), parallel.into());
    }
    Ok(())
}

fn tool(tool: &Fields, names: &mut ToolNames) -> Result<Value> {
    // The request that is read of the body knows the tools of clients, and whether servers may run others.
    if tool.text("type")?.is_some_and(|kind| kind != "custom") {
        return Ok(Value::Object(tool.map.clone()));
    }
    let kept = ["name", "description", "namespace", "defer_loading", "strict"];
    tool.only(&[&["type", "input_schema"], &kept, OF_NO_MODEL])?;
    names.read(tool, tool.text("namespace")?.unwrap_or_default())?;
    let mut function = taken(tool, &kept);
    function.insert("parameters".to_owned(), tool.required("input_schema")?.clone());
    Ok(json!({"type": "function", "function": function}))
}

fn message(said: &Fields, messages: &mut Vec<Value>) -> Result<()> {
    said.required("content")?;
    match said.required_text("role")? {
        "user" => user(said, messages),
        "assistant" => assistant(said, messages),
        "system" => {
            messages.push(json!({"role": "system", "content": text(said, "content")?}));
            Ok(())
        }
        _ => Err(said.unknown("role", "\"user\", \"assistant\" or \"system\"")),
    }
}

/// Tool results become separate messages.
fn user(said: &Fields, messages: &mut Vec<Value>) -> Result<()> {
    let blocks = match said.text_or_items("content")? {
        TextOrItems::Text(text) => {
            messages.push(json!({"role": "user", "content": text}));
            return Ok(());
        }
        TextOrItems::Items(blocks) => blocks,
    };
    let mut parts = Vec::new();
    let flush = |parts: &mut Vec<Value>, messages: &mut Vec<Value>| {
        if !parts.is_empty() {
            messages.push(json!({"role": "user", "content": std::mem::take(parts)}));
        }
    };
    for block in &blocks {
        if block.required_text("type")? != "tool_result" {
            parts.push(part(block, "\"text\", \"image\", \"document\" or \"tool_result\"")?);
            continue;
        }
        flush(&mut parts, messages);
        let id = block.required_call_id("tool_use_id")?;
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": result(block)?}));
    }
    flush(&mut parts, messages);
    Ok(())
}

fn assistant(said: &Fields, messages: &mut Vec<Value>) -> Result<()> {
    let blocks = match said.text_or_items("content")? {
        TextOrItems::Text(text) => {
            messages.push(json!({"role": "assistant", "content": text}));
            return Ok(());
        }
        TextOrItems::Items(blocks) => blocks,
    };
    let mut turn = Turn::default();
    for block in &blocks {
        let kind = block.required_text("type")?;
        match kind {
            "text" => turn.content.push_str(block.required_text("text")?),
            "thinking" => turn.reasoning.push_str(block.required_text("thinking")?),
            // Only the server that wrote it can read it.
            "redacted_thinking" => {}
            "tool_use" | "server_tool_use" => turn.call(block, block.text("namespace")?)?,
            "mcp_tool_use" => turn.call(block, Some(block.required_text("server_name")?))?,
            "mcp_tool_result" | "tool_search_tool_result" => {
                messages.push(std::mem::take(&mut turn).message());
                let content = if kind == "mcp_tool_result" { result(block)? } else { search_result(block)? };
                messages.push(
                    json!({"role": "tool", "tool_call_id": block.required_call_id("tool_use_id")?, "content": content}),
                );
            }
            _ => return Err(block.unknown("type", OF_TURNS)),
        }
    }
    if !turn.is_empty() || messages.last().is_none_or(|last| last["role"] != "tool") {
        messages.push(turn.message());
    }
    Ok(())
}

/// The types of the blocks of a turn of the model, for the error.
const OF_TURNS: &str = "\"text\", \"thinking\", \"redacted_thinking\", \"tool_use\", \"server_tool_use\", \"mcp_tool_use\", \
                        \"mcp_tool_result\" or \"tool_search_tool_result\"";

/// What the model says between two results of tools: a server that runs tools has all of it in one message.
#[derive(Default)]
struct Turn {
    reasoning: String,
    content: String,
    calls: Vec<Value>,
}

impl Turn {
    fn is_empty(&self) -> bool {
        self.reasoning.is_empty() && self.content.is_empty() && self.calls.is_empty()
    }

    fn call(&mut self, block: &Fields, namespace: Option<&str>) -> Result<()> {
        let (id, name) = (block.required_call_id("id")?, block.required_text("name")?);
        let input = match block.object("input")? {
            Some(input) => number::write(&input.map.clone().into()),
            None => "{}".to_owned(),
        };
        let mut function = json!({"name": name, "arguments": input});
        if let Some(namespace) = namespace {
            function["namespace"] = namespace.into();
        }
        self.calls.push(json!({"type": "function", "id": id, "function": function}));
        Ok(())
    }

    fn message(self) -> Value {
        let mut message = json!({"role": "assistant", "content": self.content});
        if !self.reasoning.is_empty() {
            message["reasoning_content"] = self.reasoning.into();
        }
        if !self.calls.is_empty() {
            message["tool_calls"] = self.calls.into();
        }
        message
    }
}

/// The content of the result of a call.
fn result(block: &Fields) -> Result<Value> {
    match block.text_or_items("content")? {
        TextOrItems::Text(text) => Ok(text.into()),
        TextOrItems::Items(blocks) if blocks.is_empty() => Ok("".into()),
        TextOrItems::Items(blocks) => {
            let known = "\"text\", \"image\", \"document\" or \"tool_reference\"";
            blocks.iter().map(|block| result_part(block, known)).collect()
        }
    }
}

/// What a search of the server's has found, or why it found nothing.
fn search_result(block: &Fields) -> Result<Value> {
    let found = block.required_object("content")?;
    match found.required_text("type")? {
        "tool_search_tool_search_result" => {
            let references = found.items("tool_references")?;
            references.iter().map(|reference| result_part(reference, "\"tool_reference\"")).collect()
        }
        "tool_search_tool_result_error" => Ok(found.required_text("error_code")?.into()),
        _ => Err(found.unknown("type", "\"tool_search_tool_search_result\" or \"tool_search_tool_result_error\"")),
    }
}

/// A text, or the concatenation of text blocks.
fn text(said: &Fields, name: &str) -> Result<String> {
    match said.text_or_items(name)? {
        TextOrItems::Text(text) => Ok(text.to_owned()),
        TextOrItems::Items(blocks) => {
            let texts = blocks.iter().map(|block| match block.required_text("type")? {
                "text" => block.required_text("text"),
                _ => Err(block.unknown("type", "\"text\"")),
            });
            Ok(texts.collect::<Result<Vec<_>>>()?.join("\n\n"))
        }
    }
}

/// A block of a user's message or a tool result; `known`: the accepted types, for the error.
fn part(block: &Fields, known: &str) -> Result<Value> {
    match block.required_text("type")? {
        "text" => Ok(json!({"type": "text", "text": block.required_text("text")?})),
        "image" => {
            let url = location(&block.required_object("source")?)?;
            Ok(json!({"type": "image_url", "image_url": {"url": url}}))
        }
        "document" => document(block),
        _ => Err(block.unknown("type", known)),
    }
}

/// A block of a tool result, which may reveal a tool.
fn result_part(block: &Fields, known: &str) -> Result<Value> {
    match block.required_text("type")? {
        TOOL_REFERENCE => Ok(json!({"type": TOOL_REFERENCE, "name": block.required_text("tool_name")?})),
        _ => part(block, known),
    }
}

fn document(block: &Fields) -> Result<Value> {
    let source = block.required_object("source")?;
    match source.required_text("type")? {
        "text" => return Ok(json!({"type": "text", "text": source.required_text("data")?})),
        "base64" => {}
        _ => return Err(source.unknown("type", "\"base64\" or \"text\"")),
    }
    let mut file = Map::new();
    if let Some(title) = block.text("title")? {
        file.insert("filename".to_owned(), title.into());
    }
    file.insert("file_data".to_owned(), location(&source)?.into());
    Ok(json!({"type": "file", "file": file}))
}

/// The URL or data URL of an image or a document.
fn location(source: &Fields) -> Result<String> {
    match source.required_text("type")? {
        "base64" => {
            let (kind, data) = (source.required_text("media_type")?, source.required_text("data")?);
            Ok(format!("data:{kind};base64,{data}"))
        }
        "url" => Ok(source.required_text("url")?.to_owned()),
        _ => Err(source.unknown("type", "\"base64\" or \"url\"")),
    }
}
