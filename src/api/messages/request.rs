//! Converts requests of the Messages API to chat-completions bodies.

use serde_json::{Map, Value};

use crate::api::fields::MESSAGES;
use crate::api::shared::{
    FROM_HERE_ON, Turn, add_parts, chat_body, deferred, is_callable, name_of, put, server_tools, set_effort, taken,
};
use chatparse_base::{Result, number};
use chatparse_message::fields::{Fields, TextOrItems, ToolNames};
use chatparse_message::{THINKING_TYPES, TOOL_REFERENCE, text_part};

/// Converts a body to chat completions.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] with the name of the field that is wrong or not supported.
pub(in crate::api) fn to_chat(body: &Value) -> Result<Value> {
    let body = Fields::new(body, "")?;
    let (mut chat, notes) = chat_body(&body, &MESSAGES)?;
    let mut conversation = Conversation { notes, ..Conversation::default() };
    conversation.configure(&body)?;
    if body.get("system").is_some() {
        conversation.messages.push(json!({"role": "system", "content": text(&body, "system")?}));
    }
    body.required("messages")?;
    let said = body.items("messages")?;
    let last_user = said.iter().rposition(|message| message.map.get("role").is_some_and(|role| role == "user"));
    for (index, message) in said.iter().enumerate() {
        // A later message of the user ends what counts until then.
        let is_over = message.text("clear_at")? == Some("next_user_message") && last_user > Some(index);
        if !is_over {
            conversation.message(message)?;
        }
    }
    // An assistant message at the end is continued.
    if conversation.messages.last().is_some_and(|last| last["role"] == "assistant") {
        chat.insert("continue_final_message".to_owned(), true.into());
    }
    put(&mut chat, "max_completion_tokens", body.number("max_tokens")?);
    put(&mut chat, "stop", body.get("stop_sequences").cloned());
    if let Some(compaction) = body.get("compaction") {
        put(&mut chat, "compaction", Some(compaction.clone()));
        conversation.notes.push("compaction: the host makes the compaction".to_owned());
    }
    output(&body, conversation.effort.take(), &mut chat)?;
    tools(&body, &mut conversation, &mut chat)?;
    put(&mut chat, "messages", Some(conversation.messages));
    put(&mut chat, "notes", Some(conversation.notes).filter(|notes| !notes.is_empty()));
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
fn output(body: &Fields, effort: Option<String>, chat: &mut Map<String, Value>) -> Result<()> {
    if let Some(thinking) = body.object("thinking")? {
        let on = match thinking.required_text("type")? {
            "enabled" | "adaptive" => true,
            "disabled" | "between_tools" => false,
            _ => return Err(thinking.unknown("type", THINKING_TYPES)),
        };
        chat.insert("enable_thinking".to_owned(), on.into());
    }
    if let Some(effort) = effort {
        set_effort(&effort, chat);
    }
    let config = body.object("output_config")?;
    let format = match &config {
        Some(config) => config.object("format")?,
        None => None,
    };
    // The older name of the field.
    let older = body.object("output_format")?;
    if let Some(format) = format.or(older) {
        if format.required_text("type")? != "json_schema" {
            return Err(format.unknown("type", "\"json_schema\""));
        }
        let schema = json!({"name": "answer", "schema": format.required("schema")?, "strict": true});
        chat.insert("response_format".to_owned(), json!({"type": "json_schema", "json_schema": schema}));
    }
    Ok(())
}

fn tools(body: &Fields, said: &mut Conversation, chat: &mut Map<String, Value>) -> Result<()> {
    let (mut names, mut tools) = (ToolNames::default(), Vec::new());
    for given in &body.items("tools")? {
        if is_callable(given, &mut said.notes)? {
            tools.push(tool(given, &mut names)?);
        }
    }
    // Messages may bring tools that the request does not list.
    tools.extend(said.found.drain(..).filter(|tool| names.read_found(tool)));
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
    let choice = chat.get("tool_choice").cloned().unwrap_or_else(|| "auto".into());
    if !said.removed.is_empty() && choice.is_string() && choice != "none" {
        let mut left = Vec::new();
        for tool in &tools {
            let Some(name) = name_of(tool) else { continue };
            let namespace = tool["function"]["namespace"].as_str();
            let full = namespace.map_or_else(|| name.to_owned(), |namespace| format!("{namespace}.{name}"));
            if !said.removed.contains(&full) {
                let function = json!({"name": name, "namespace": namespace});
                left.push(json!({"type": "function", "function": function}));
            }
        }
        let allowed = json!({"type": "allowed_tools", "allowed_tools": {"mode": choice, "tools": left}});
        chat.insert("tool_choice".to_owned(), if left.is_empty() { "none".into() } else { allowed });
    }
    if !tools.is_empty() {
        chat.insert("tools".to_owned(), tools.into());
        chat.insert("parallel_tool_calls".to_owned(), parallel.into());
    }
    Ok(())
}

fn tool(tool: &Fields, names: &mut ToolNames) -> Result<Value> {
    // The request that is read of the body knows the tools of clients, and whether servers may run others.
    if tool.text("type")?.is_some_and(|kind| kind != "custom") {
        names.add("", tool.text("name")?.unwrap_or_default());
        return Ok(Value::Object(tool.map.clone()));
    }
    let kept = ["name", "description", "namespace", "defer_loading", "strict", "input_examples"];
    names.read(tool, tool.text("namespace")?.unwrap_or_default())?;
    let mut function = taken(tool, &kept);
    function.insert("parameters".to_owned(), tool.required("input_schema")?.clone());
    Ok(json!({"type": "function", "function": function}))
}

/// What the messages say.
#[derive(Default)]
struct Conversation {
    messages: Vec<Value>,
    /// The tools that they bring.
    found: Vec<Value>,
    /// The names of tools that may not be called any more.
    removed: Vec<String>,
    /// How much the model should think, from a message on.
    effort: Option<String>,
    notes: Vec<String>,
}

impl Conversation {
    /// Reads how much the model should think, in all, or from a message on; and whether anything is said of it.
    fn configure(&mut self, of: &Fields) -> Result<bool> {
        let Some(config) = of.object("output_config")? else { return Ok(false) };
        self.effort = config.text("effort")?.map(str::to_owned).or(self.effort.take());
        Ok(!config.map.is_empty())
    }

    fn message(&mut self, said: &Fields) -> Result<()> {
        let role = said.required_text("role")?;
        if !self.configure(said)? {
            said.required("content")?;
        }
        let blocks = match said.text_or_items("content")? {
            TextOrItems::Text(text) if ["user", "assistant", "system"].contains(&role) => {
                self.messages.push(json!({"role": role, "content": text}));
                return Ok(());
            }
            TextOrItems::Text(_) => Vec::new(),
            TextOrItems::Items(blocks) => blocks,
        };
        match role {
            "user" => self.user(&blocks),
            "assistant" => self.assistant(&blocks),
            "system" => self.system(&blocks),
            _ => Err(said.unknown("role", "\"user\", \"assistant\" or \"system\"")),
        }
    }

    fn system(&mut self, blocks: &[Fields]) -> Result<()> {
        let mut texts = Vec::new();
        for block in blocks {
            match block.required_text("type")? {
                "text" => texts.push(block.required_text("text")?),
                "tool_addition" | "tool_removal" => self.changed(block)?,
                _ => return Err(block.unknown("type", "\"text\", \"tool_addition\" or \"tool_removal\"")),
            }
        }
        if !texts.is_empty() {
            self.messages.push(json!({"role": "system", "content": texts.join("\n\n")}));
        }
        Ok(())
    }

    /// A change of the tools from here on, and what the model reads of it.
    fn change(&mut self, block: &Fields, parts: &mut Vec<Value>) -> Result<()> {
        let adds = block.required_text("type")? == "tool_addition";
        let tool = block.required_object("tool")?;
        let name = match tool.required_text("type")? {
            "tool_definition" if adds => {
                let definition = tool.required_object("definition")?;
                if !is_callable(&definition, &mut self.notes)? {
                    return Ok(());
                }
                let converted = self::tool(&definition, &mut ToolNames::default())?;
                let Some(name) = name_of(&converted).map(str::to_owned) else {
                    // The host has the tools that a server runs.
                    self.found.push(converted);
                    return Ok(());
                };
                self.found.push(deferred(converted));
                name
            }
            "tool_reference" => tool.required_text("name")?.to_owned(),
            "mcp_tool_reference" => format!("{}.{}", tool.required_text("server_name")?, tool.required_text("name")?),
            _ => return Err(tool.unknown("type", "\"tool_reference\", \"mcp_tool_reference\" or \"tool_definition\"")),
        };
        self.removed.retain(|removed| *removed != name);
        if adds {
            parts.push(json!({"type": "text", "text": FROM_HERE_ON}));
            parts.push(json!({"type": TOOL_REFERENCE, "name": name}));
        } else {
            let why = "cannot be called any more; the prompt still shows it";
            self.notes.push(format!("{}: the tool {name:?} {why}", block.path("tool")));
            parts.push(json!({"type": "text", "text": format!("From here on, the tool {name} cannot be called.")}));
            self.removed.push(name);
        }
        Ok(())
    }

    /// The same, after what was said before.
    fn changed(&mut self, block: &Fields) -> Result<()> {
        let mut parts = Vec::new();
        self.change(block, &mut parts)?;
        add_parts(&mut self.messages, parts);
        Ok(())
    }

    fn flush(&mut self, parts: &mut Vec<Value>) {
        if !parts.is_empty() {
            self.messages.push(json!({"role": "user", "content": std::mem::take(parts)}));
        }
    }

    /// Tool results become separate messages.
    fn user(&mut self, blocks: &[Fields]) -> Result<()> {
        let mut parts = Vec::new();
        for block in blocks {
            match block.required_text("type")? {
                "tool_result" => {
                    self.flush(&mut parts);
                    let id = block.required_call_id("tool_use_id")?;
                    self.messages.push(json!({"role": "tool", "tool_call_id": id, "content": result(block)?}));
                }
                "tool_addition" | "tool_removal" => {
                    self.flush(&mut parts);
                    self.changed(block)?;
                }
                // What was said before, in short; there is none where that failed.
                "compaction" => parts.extend(block.text("content")?.map(text_part)),
                _ => part(block, &mut parts)?,
            }
        }
        self.flush(&mut parts);
        Ok(())
    }

    fn assistant(&mut self, blocks: &[Fields]) -> Result<()> {
        let mut turn = Turn::default();
        for block in blocks {
            let kind = block.required_text("type")?;
            match kind {
                "text" => turn.content.get_or_insert_default().push_str(block.required_text("text")?),
                "thinking" => turn.reasoning.push_str(block.required_text("thinking")?),
                // Only the server that wrote it can read it; a change of the model is no model's business.
                "redacted_thinking" | "fallback" => {}
                "tool_use" | "server_tool_use" => call(&mut turn, block, block.text("namespace")?)?,
                "mcp_tool_use" => call(&mut turn, block, Some(block.required_text("server_name")?))?,
                "mcp_tool_result" | "tool_search_tool_result" => {
                    self.messages.push(std::mem::take(&mut turn).message());
                    let content = if kind == "mcp_tool_result" { result(block)? } else { search_result(block)? };
                    let id = block.required_call_id("tool_use_id")?;
                    self.messages.push(json!({"role": "tool", "tool_call_id": id, "content": content}));
                }
                "tool_addition" | "tool_removal" | "compaction" => {
                    if !turn.is_empty() {
                        self.messages.push(std::mem::take(&mut turn).message());
                    }
                    if kind != "compaction" {
                        self.changed(block)?;
                    }
                    let summary = block.text("content")?;
                    self.messages.extend(summary.map(|summary| json!({"role": "user", "content": summary})));
                }
                "mcp_tool_listing" => server_tools(block, "mcp_server_name", &mut self.found)?,
                _ => return Err(block.unknown("type", OF_TURNS)),
            }
        }
        if !turn.is_empty() || self.messages.last().is_none_or(|last| last["role"] != "tool") {
            self.messages.push(turn.message());
        }
        Ok(())
    }
}

/// The types of the blocks of a user, for the error.
const OF_USERS: &str =
    "\"text\", \"image\", \"document\", \"search_result\", \"tool_result\" or, in a result, \"tool_reference\"";

/// The types of the blocks of a turn of the model, for the error.
const OF_TURNS: &str = "\"text\", \"thinking\", \"redacted_thinking\", \"tool_use\", \"server_tool_use\", \"mcp_tool_use\", \
                        \"mcp_tool_result\" or \"tool_search_tool_result\"";

/// Adds a call to a turn: a server that runs tools has all of it in one message.
fn call(turn: &mut Turn, block: &Fields, namespace: Option<&str>) -> Result<()> {
    let (id, name) = (block.required_call_id("id")?, block.required_text("name")?);
    let input = match block.object("input")? {
        Some(input) => number::write(&input.map.clone().into()),
        None => "{}".to_owned(),
    };
    let mut function = json!({"name": name, "arguments": input});
    if let Some(namespace) = namespace {
        function["namespace"] = namespace.into();
    }
    turn.call("function", id, function);
    Ok(())
}

/// The content of the result of a call. That it failed is said where its first word does not say so.
fn result(block: &Fields) -> Result<Value> {
    const FAILED: &str = "Error:";
    let says_so = |text: &str| text.split_whitespace().next().is_some_and(|word| word.to_lowercase().contains("error"));
    let failed = block.flag("is_error", false)?;
    match block.text_or_items("content")? {
        TextOrItems::Text(text) if failed && !says_so(text) => Ok(format!("{FAILED} {text}").into()),
        TextOrItems::Text(text) => Ok(text.into()),
        TextOrItems::Items(blocks) if blocks.is_empty() => Ok(if failed { FAILED } else { "" }.into()),
        TextOrItems::Items(blocks) => {
            let mut parts = Vec::new();
            for block in &blocks {
                result_part(block, &mut parts)?;
            }
            if failed && !parts[0]["text"].as_str().is_some_and(says_so) {
                parts.insert(0, text_part(FAILED));
            }
            Ok(parts.into())
        }
    }
}

/// What a search of the server's has found, or why it found nothing.
fn search_result(block: &Fields) -> Result<Value> {
    let found = block.required_object("content")?;
    match found.required_text("type")? {
        "tool_search_tool_search_result" => {
            let mut parts = Vec::new();
            for reference in &found.items("tool_references")? {
                result_part(reference, &mut parts)?;
            }
            Ok(parts.into())
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

/// Adds a block of a user's message or a tool result.
fn part(block: &Fields, parts: &mut Vec<Value>) -> Result<()> {
    match block.required_text("type")? {
        "text" => parts.push(text_part(block.required_text("text")?)),
        "image" => {
            let url = location(&block.required_object("source")?)?;
            parts.push(json!({"type": "image_url", "image_url": {"url": url}}));
        }
        "document" => document(block, parts)?,
        "search_result" => {
            let (title, source) = (block.required_text("title")?, block.required_text("source")?);
            parts.push(text_part(&[title, source, &text(block, "content")?].join("\n")));
        }
        _ => return Err(block.unknown("type", OF_USERS)),
    }
    Ok(())
}

/// Adds a block of a tool result, which may reveal a tool.
fn result_part(block: &Fields, parts: &mut Vec<Value>) -> Result<()> {
    match block.required_text("type")? {
        TOOL_REFERENCE => parts.push(json!({"type": TOOL_REFERENCE, "name": block.required_text("tool_name")?})),
        _ => part(block, parts)?,
    }
    Ok(())
}

/// Adds a document: its title and what is said of it, and then itself.
fn document(block: &Fields, parts: &mut Vec<Value>) -> Result<()> {
    let source = block.required_object("source")?;
    let (title, context, kind) = (block.text("title")?, block.text("context")?, source.required_text("type")?);
    // A file has its title as its name.
    let heads = [title.filter(|_| kind != "base64"), context].into_iter().flatten();
    parts.extend(heads.map(text_part));
    match kind {
        "text" => parts.push(text_part(source.required_text("data")?)),
        "content" => match source.text_or_items("content")? {
            TextOrItems::Text(text) => parts.push(text_part(text)),
            TextOrItems::Items(blocks) => blocks.iter().try_for_each(|block| part(block, parts))?,
        },
        "base64" => {
            let mut file = Map::new();
            if let Some(title) = title {
                file.insert("filename".to_owned(), title.into());
            }
            file.insert("file_data".to_owned(), location(&source)?.into());
            parts.push(json!({"type": "file", "file": file}));
        }
        _ => return Err(source.unknown("type", "\"base64\", \"text\" or \"content\"")),
    }
    Ok(())
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
