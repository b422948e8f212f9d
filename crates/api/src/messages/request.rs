//! Converts requests of the Messages API to chat-completions bodies.

use serde_json::{Map, Value};

use crate::fields::MESSAGES;
use crate::shared::{
    Chat, FROM_HERE_ON, Turn, full_name, function, kind_of, name_of, put, reference, taken, text,
    with_schema,
};
use chatparse_base::{Result, number};
use chatparse_message::fields::{Fields, TextOrItems, ToolNames};
use chatparse_message::{TOOL_REFERENCE, text_part, thinks};

/// Converts a body to chat completions.
///
/// # Errors
/// [`chatparse_base::ErrorKind::InvalidArgument`] with the name of the field that is wrong or not
/// supported.
pub fn to_chat(body: &Value) -> Result<Value> {
    let body = Fields::new(body, "")?;
    let mut chat = Chat::of(&body, &MESSAGES, "max_tokens")?;
    chat.set_effort(&body)?;
    if body.get("system").is_some() {
        chat.say("system", texts(&body, "system")?);
    }
    body.required("messages")?;
    let messages = body.items("messages")?;
    let last_user = messages
        .iter()
        .rposition(|message| message.map.get("role").is_some_and(|role| role == "user"));
    for (index, message) in messages.iter().enumerate() {
        // A later message of the user ends what counts until then.
        let is_over =
            message.text("clear_at")? == Some("next_user_message") && last_user > Some(index);
        if !is_over {
            chat.add(message)?;
        }
    }
    // An assistant message at the end is continued.
    if chat
        .messages
        .last()
        .is_some_and(|last| last["role"] == "assistant")
    {
        chat.put("continue_final_message", Some(true));
    }
    chat.put("stop", body.get("stop_sequences").cloned());
    if let Some(compaction) = body.get("compaction") {
        chat.compact(compaction.clone(), &body, "compaction");
    }
    output(&body, &mut chat)?;
    tools(&body, chat)
}

/// The beginning of the answer that the client has written: the text of the last message, if it is
/// the assistant's.
pub fn prefill(body: &Value) -> String {
    let last = body["messages"]
        .as_array()
        .and_then(|messages| messages.last());
    let last = last.filter(|last| last["role"] == "assistant");
    let text = last.and_then(|last| texts(&Fields::new(last, "").ok()?, "content").ok());
    text.unwrap_or_default()
}

/// Reads the options for thinking and for the format of the output.
fn output(body: &Fields, chat: &mut Chat) -> Result<()> {
    if body.object("thinking")?.is_some() {
        chat.put("enable_thinking", Some(thinks(body)?));
    }
    let config = body.object("output_config")?;
    let format = match &config {
        Some(config) => config.object("format")?,
        None => None,
    };
    // The older name of the field.
    let older = body.object("output_format")?;
    if let Some(format) = format.or(older) {
        if kind_of(&format)? != "json_schema" {
            return Err(format.unknown("type", "\"json_schema\""));
        }
        let schema =
            json!({"name": "answer", "schema": format.required("schema")?, "strict": true});
        chat.format = Some(json!({"type": "json_schema", "json_schema": schema}));
    }
    Ok(())
}

/// Reads the tools, and completes the body.
fn tools(body: &Fields, mut chat: Chat) -> Result<Value> {
    let (mut names, mut tools) = (ToolNames::default(), Vec::new());
    for given in &body.items("tools")? {
        if chat.is_callable(given)? {
            tools.push(tool(given, &mut names)?);
        }
    }
    let tools = chat.all_tools(tools, &mut names);
    let (mut parallel, mut choice) = (true, None);
    if let Some(given) = body.object("tool_choice")? {
        parallel = !given.flag("disable_parallel_tool_use", false)?;
        choice = Some(match kind_of(&given)? {
            kind @ ("auto" | "none") => kind.into(),
            "any" => "required".into(),
            "tool" => function(json!({"name": given.required_text("name")?})),
            _ => return Err(given.unknown("type", "\"auto\", \"any\", \"tool\" or \"none\"")),
        });
    }
    let mode = choice.clone().unwrap_or_else(|| "auto".into());
    if !chat.removed.is_empty() && mode.is_string() && mode != "none" {
        let mut left = Vec::new();
        for tool in &tools {
            let Some(name) = name_of(tool) else { continue };
            let namespace = tool["function"]["namespace"].as_str();
            if !chat.removed.contains(&full_name(namespace, name)) {
                left.push(function(json!({"name": name, "namespace": namespace})));
            }
        }
        choice = Some(match left.is_empty() {
            true => "none".into(),
            false => {
                json!({"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": left}})
            }
        });
    }
    Ok(chat.finish(tools, parallel, choice))
}

fn tool(tool: &Fields, names: &mut ToolNames) -> Result<Value> {
    // The request that is read of the body knows the tools of clients, and whether servers may run
    // others.
    if tool.text("type")?.is_some_and(|kind| kind != "custom") {
        names.add("", tool.text("name")?.unwrap_or_default());
        return Ok(Value::Object(tool.map.clone()));
    }
    let kept = [
        "name",
        "description",
        "namespace",
        "defer_loading",
        "strict",
        "input_examples",
    ];
    names.read(tool, tool.text("namespace")?.unwrap_or_default())?;
    with_schema(taken(tool, &kept), tool)
}

/// What the messages say.
impl Chat {
    /// Reads how much the model should think, in all, or from a message on; and whether anything is
    /// said of it.
    fn set_effort(&mut self, of: &Fields) -> Result<bool> {
        let Some(config) = of.object("output_config")? else {
            return Ok(false);
        };
        if let Some(effort) = config.text("effort")? {
            self.effort = Some(effort.to_owned());
        }
        Ok(!config.map.is_empty())
    }

    fn add(&mut self, said: &Fields) -> Result<()> {
        let role = said.required_text("role")?;
        if !self.set_effort(said)? {
            said.required("content")?;
        }
        let blocks = match said.text_or_items("content")? {
            TextOrItems::Text(text) if ["user", "assistant", "system"].contains(&role) => {
                self.say(role, text);
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
            match kind_of(block)? {
                "text" => texts.push(block.required_text("text")?),
                "tool_addition" | "tool_removal" => self.change(block)?,
                _ => {
                    return Err(
                        block.unknown("type", "\"text\", \"tool_addition\" or \"tool_removal\"")
                    );
                }
            }
        }
        if !texts.is_empty() {
            self.say("system", texts.join("\n\n"));
        }
        Ok(())
    }

    /// A change of the tools from here on, and what the model reads of it, after what was said
    /// before.
    fn change(&mut self, block: &Fields) -> Result<()> {
        let adds = kind_of(block)? == "tool_addition";
        let tool = block.required_object("tool")?;
        let name = match kind_of(&tool)? {
            "tool_definition" if adds => {
                let definition = tool.required_object("definition")?;
                if !self.is_callable(&definition)? {
                    return Ok(());
                }
                let converted = self::tool(&definition, &mut ToolNames::default())?;
                // The host has the tools that a server runs.
                let Some(name) = self.bring(converted, None, true) else {
                    return Ok(());
                };
                name
            }
            "tool_reference" => tool.required_text("name")?.to_owned(),
            "mcp_tool_reference" => full_name(
                Some(tool.required_text("server_name")?),
                tool.required_text("name")?,
            ),
            _ => {
                return Err(tool.unknown(
                    "type",
                    "\"tool_reference\", \"mcp_tool_reference\" or \"tool_definition\"",
                ));
            }
        };
        self.removed.retain(|removed| *removed != name);
        if adds {
            self.add_parts(vec![text_part(FROM_HERE_ON), reference(&name)]);
        } else {
            let why =
                format!("the tool {name:?} cannot be called any more; the prompt still shows it");
            self.note(block, "tool", &why);
            let told = text_part(&format!("From here on, the tool {name} cannot be called."));
            self.add_parts(vec![told]);
            self.removed.push(name);
        }
        Ok(())
    }

    fn flush(&mut self, parts: &mut Vec<Value>) {
        if !parts.is_empty() {
            self.say("user", std::mem::take(parts));
        }
    }

    /// Tool results become separate messages.
    fn user(&mut self, blocks: &[Fields]) -> Result<()> {
        let mut parts = Vec::new();
        for block in blocks {
            match kind_of(block)? {
                "tool_result" => {
                    self.flush(&mut parts);
                    self.answer(block.required_call_id("tool_use_id")?, result(block)?);
                }
                "tool_addition" | "tool_removal" => {
                    self.flush(&mut parts);
                    self.change(block)?;
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
        for block in blocks {
            let kind = kind_of(block)?;
            match kind {
                "text" => {
                    let text = block.required_text("text")?;
                    let content = &mut self.turn().content;
                    content.get_or_insert_default().push_str(text);
                }
                "thinking" => {
                    let thought = block.required_text("thinking")?;
                    self.turn().reasoning.push_str(thought);
                }
                // Only the server that wrote it can read it; a change of the model is no model's
                // business.
                "redacted_thinking" | "fallback" => {}
                "tool_use" | "server_tool_use" => {
                    call(self.turn(), block, block.text("namespace")?)?
                }
                "mcp_tool_use" => call(
                    self.turn(),
                    block,
                    Some(block.required_text("server_name")?),
                )?,
                "mcp_tool_result" | "tool_search_tool_result" => {
                    let content = if kind == "mcp_tool_result" {
                        result(block)?
                    } else {
                        search_result(block)?
                    };
                    self.answer(block.required_call_id("tool_use_id")?, content);
                }
                "tool_addition" | "tool_removal" => self.change(block)?,
                "compaction" => {
                    self.close();
                    if let Some(summary) = block.text("content")? {
                        self.say("user", summary);
                    }
                }
                "mcp_tool_listing" => self.server_tools(block, "mcp_server_name")?,
                _ => return Err(block.unknown("type", OF_TURNS)),
            }
        }
        // What has nothing for the model is a message all the same, except after a result.
        if self
            .messages
            .last()
            .is_none_or(|last| last["role"] != "tool")
        {
            self.turn();
        }
        self.close();
        Ok(())
    }
}

/// The types of the blocks of a user, for the error.
const OF_USERS: &str = "\"text\", \"image\", \"document\", \"search_result\", \"tool_result\" or, in a result, \"tool_reference\"";

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
    turn.call("function", id, name, &input, namespace);
    Ok(())
}

/// The content of the result of a call. That it failed is said where its first word does not say
/// so.
fn result(block: &Fields) -> Result<Value> {
    const FAILED: &str = "Error:";
    let failed = block.flag("is_error", false)?;
    match block.text_or_items("content")? {
        TextOrItems::Text(text) if failed && !says_error(text) => {
            Ok(format!("{FAILED} {text}").into())
        }
        TextOrItems::Text(text) => Ok(text.into()),
        TextOrItems::Items(blocks) if blocks.is_empty() => {
            Ok(if failed { FAILED } else { "" }.into())
        }
        TextOrItems::Items(blocks) => {
            let mut parts = Vec::new();
            for block in &blocks {
                result_part(block, &mut parts)?;
            }
            if failed && !parts[0]["text"].as_str().is_some_and(says_error) {
                parts.insert(0, text_part(FAILED));
            }
            Ok(parts.into())
        }
    }
}

/// Whether the first word of a text says that a call failed.
fn says_error(text: &str) -> bool {
    text.split_whitespace()
        .next()
        .is_some_and(|word| word.to_lowercase().contains("error"))
}

/// What a search of the server's has found, or why it found nothing.
fn search_result(block: &Fields) -> Result<Value> {
    let found = block.required_object("content")?;
    match kind_of(&found)? {
        "tool_search_tool_search_result" => {
            let mut parts = Vec::new();
            for reference in &found.items("tool_references")? {
                result_part(reference, &mut parts)?;
            }
            Ok(parts.into())
        }
        "tool_search_tool_result_error" => Ok(found.required_text("error_code")?.into()),
        _ => Err(found.unknown(
            "type",
            "\"tool_search_tool_search_result\" or \"tool_search_tool_result_error\"",
        )),
    }
}

/// A text, or the texts of text blocks.
fn texts(said: &Fields, name: &str) -> Result<String> {
    text(said, name, &["text"], "\n\n")
}

/// Adds a block of a user's message or a tool result.
fn part(block: &Fields, parts: &mut Vec<Value>) -> Result<()> {
    match kind_of(block)? {
        "text" => parts.push(text_part(block.required_text("text")?)),
        "image" => {
            let url = location(&block.required_object("source")?)?;
            parts.push(json!({"type": "image_url", "image_url": {"url": url}}));
        }
        "document" => document(block, parts)?,
        "search_result" => {
            let (title, source) = (
                block.required_text("title")?,
                block.required_text("source")?,
            );
            parts.push(text_part(
                &[title, source, &texts(block, "content")?].join("\n"),
            ));
        }
        _ => return Err(block.unknown("type", OF_USERS)),
    }
    Ok(())
}

/// Adds a block of a tool result, which may reveal a tool.
fn result_part(block: &Fields, parts: &mut Vec<Value>) -> Result<()> {
    match kind_of(block)? {
        TOOL_REFERENCE => parts.push(reference(block.required_text("tool_name")?)),
        _ => part(block, parts)?,
    }
    Ok(())
}

/// Adds a document: its title and what is said of it, and then itself.
fn document(block: &Fields, parts: &mut Vec<Value>) -> Result<()> {
    let source = block.required_object("source")?;
    let (title, context, kind) = (
        block.text("title")?,
        block.text("context")?,
        kind_of(&source)?,
    );
    // A file has its title as its name.
    let heads = [title.filter(|_| kind != "base64"), context]
        .into_iter()
        .flatten();
    parts.extend(heads.map(text_part));
    match kind {
        "text" => parts.push(text_part(source.required_text("data")?)),
        "content" => match source.text_or_items("content")? {
            TextOrItems::Text(text) => parts.push(text_part(text)),
            TextOrItems::Items(blocks) => blocks.iter().try_for_each(|block| part(block, parts))?,
        },
        "base64" => {
            let mut file = Map::new();
            put(&mut file, "filename", title);
            put(&mut file, "file_data", Some(location(&source)?));
            parts.push(json!({"type": "file", "file": file}));
        }
        _ => return Err(source.unknown("type", "\"base64\", \"text\" or \"content\"")),
    }
    Ok(())
}

/// The URL or data URL of an image or a document.
fn location(source: &Fields) -> Result<String> {
    match kind_of(source)? {
        "base64" => {
            let (kind, data) = (
                source.required_text("media_type")?,
                source.required_text("data")?,
            );
            Ok(format!("data:{kind};base64,{data}"))
        }
        "url" => Ok(source.required_text("url")?.to_owned()),
        _ => Err(source.unknown("type", "\"base64\" or \"url\"")),
    }
}
