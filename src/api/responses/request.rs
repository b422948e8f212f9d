//! Converts requests of the Responses API to chat-completions bodies.

use serde_json::Value;

use super::answer::SEAL;
use crate::api::fields::RESPONSES;
use crate::api::shared::{
    FROM_HERE_ON, Turn, add_parts, chat_body, deferred, is_callable, name_of, put, server_tools, set_effort, taken,
};
use chatparse_base::{Error, Result, number};
use chatparse_message::fields::{Fields, TextOrItems, ToolNames};
use chatparse_message::{ClientTool, TOOL_REFERENCE};

/// Converts a body to chat completions.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] with the name of the field that is wrong or not supported.
pub(in crate::api) fn to_chat(body: &Value) -> Result<Value> {
    let body = Fields::new(body, "")?;
    let (mut chat, notes) = chat_body(&body, &RESPONSES)?;
    let Conversation { messages, found, effort, format, compaction, mut notes, .. } = conversation(&body, notes)?;
    put(&mut chat, "messages", Some(messages));
    put(&mut chat, "max_completion_tokens", body.number("max_output_tokens")?);
    put(&mut chat, "compaction", compaction);
    if let Some(effort) = effort {
        set_effort(&effort, &mut chat);
    }
    put(&mut chat, "response_format", format);
    let mut names = ToolNames::default();
    let mut tools = tools(&body, "", &mut names, &mut notes)?;
    // Items may bring tools that the request does not list.
    tools.extend(found.into_iter().filter(|tool| names.read_found(tool)));
    if !tools.is_empty() {
        chat.insert("tools".to_owned(), tools.into());
        chat.insert("parallel_tool_calls".to_owned(), body.flag("parallel_tool_calls", true)?.into());
    }
    if let Some(choice) = body.get("tool_choice") {
        chat.insert("tool_choice".to_owned(), tool_choice(&body, choice)?);
    }
    put(&mut chat, "notes", Some(notes).filter(|notes| !notes.is_empty()));
    Ok(Value::Object(chat))
}

fn conversation(body: &Fields, notes: Vec<String>) -> Result<Conversation> {
    body.required("input")?;
    let mut conversation = Conversation { notes, ..Conversation::default() };
    conversation.configure(body)?;
    if let Some(instructions) = body.text("instructions")? {
        conversation.messages.push(json!({"role": "system", "content": instructions}));
    }
    match body.text_or_items("input")? {
        TextOrItems::Text(text) => conversation.messages.push(json!({"role": "user", "content": text})),
        TextOrItems::Items(items) => {
            for item in &items {
                conversation.item(item)?;
            }
        }
    }
    conversation.close();
    Ok(conversation)
}

/// The messages so far. The items of one turn of the model become one message.
#[derive(Default)]
struct Conversation {
    messages: Vec<Value>,
    /// The current turn of the model.
    turn: Option<Turn>,
    /// The tools that items bring, each in a list of its own if it has a namespace.
    found: Vec<Value>,
    /// How much the model should think, and the form of its answer: the last that was said.
    effort: Option<String>,
    format: Option<Value>,
    /// The item that asks for a compaction.
    compaction: Option<Value>,
    notes: Vec<String>,
}

impl Conversation {
    /// Reads the options of a body, or those from an item on.
    fn configure(&mut self, of: &Fields) -> Result<()> {
        if let Some(reasoning) = of.object("reasoning")?
            && let Some(effort) = reasoning.text("effort")?
        {
            self.effort = Some(effort.to_owned());
        }
        if let Some(text) = of.object("text")?
            && let Some(format) = text.object("format")?
        {
            self.format = Some(response_format(&format)?);
        }
        Ok(())
    }

    fn item(&mut self, item: &Fields) -> Result<()> {
        match item.text("type")?.unwrap_or("message") {
            "message" => self.message(item),
            "reasoning" => self.reasoning(item),
            kind @ ("function_call" | "custom_tool_call") => {
                let (kind, field) =
                    if kind == "function_call" { ("function", "arguments") } else { ("custom", "input") };
                let (id, name) = (item.required_call_id("call_id")?, item.required_text("name")?);
                let mut called = json!({"name": name, field: item.required_text(field)?});
                set_namespace(item, &mut called)?;
                self.turn().call(kind, id, called);
                Ok(())
            }
            "function_call_output" | "custom_tool_call_output" => {
                let id = item.required_call_id("call_id")?;
                item.required("output")?;
                let content = content(item, "output")?;
                self.push(json!({"role": "tool", "tool_call_id": id, "content": content}));
                Ok(())
            }
            "additional_tools" => self.additional_tools(item),
            "configuration_update" => self.configure(item),
            "compaction_trigger" => {
                self.compaction = Some(item.map.clone().into());
                self.notes.push(format!("{}: the host makes the compaction", item.path("type")));
                Ok(())
            }
            "mcp_list_tools" => server_tools(item, "server_label", &mut self.found),
            "mcp_approval_request" => self.server_call(item, item.required_call_id("id")?),
            "mcp_approval_response" => self.approval(item),
            "mcp_call" => self.server_answer(item),
            kind => match ClientTool::of_item(kind) {
                Some((tool, false)) => self.client_call(tool, item),
                Some((_, true)) => self.client_output(item),
                None => Err(item.unknown(
                    "type",
                    "\"message\", \"reasoning\", or a call or an output of a function, a custom tool, a tool of the client or an MCP server",
                )),
            },
        }
    }

    fn client_call(&mut self, tool: &ClientTool, item: &Fields) -> Result<()> {
        let (_, field) = tool.item.unwrap_or_default();
        let arguments = tool.in_order(item.required_object(field)?.map);
        let function = json!({"name": tool.name, "arguments": number::write(&arguments.into())});
        let id = call_id(item)?;
        self.turn().call("function", id, function);
        Ok(())
    }

    fn client_output(&mut self, item: &Fields) -> Result<()> {
        let id = call_id(item)?;
        let content: Value = if item.get("tools").is_some() {
            let mut references = Vec::new();
            for found in &item.items("tools")? {
                self.find(found, true, &mut references)?;
            }
            references.into()
        } else {
            match item.get("output") {
                Some(Value::String(text)) => text.as_str().into(),
                // The outputs of a shell are objects: the model sees all of them.
                Some(output) => number::write(output).into(),
                None => item.required_text("status")?.into(),
            }
        };
        self.push(json!({"role": "tool", "tool_call_id": id, "content": content}));
        Ok(())
    }

    /// Tools from here on. Before anybody has spoken, they are as those of the body; later, the item shows them, so that the
    /// earlier prompt stays.
    fn additional_tools(&mut self, item: &Fields) -> Result<()> {
        let is_told = |message: &Value| message["role"] == "system" || message["role"] == "developer";
        let is_first = self.turn.is_none() && self.messages.iter().all(is_told);
        let mut shown = vec![json!({"type": "text", "text": FROM_HERE_ON})];
        for tool in &item.items("tools")? {
            self.find(tool, !is_first, &mut shown)?;
        }
        if !is_first && shown.len() > 1 {
            self.close();
            add_parts(&mut self.messages, shown);
        }
        Ok(())
    }

    /// A tool that an item brings, or several of a namespace. `defers`: a reference reveals it.
    fn find(&mut self, found: &Fields, defers: bool, references: &mut Vec<Value>) -> Result<()> {
        let kind = found.required_text("type")?;
        let (namespace, inner) = match kind {
            "namespace" => (Some(found.required_text("name")?), found.items("tools")?),
            _ => (found.text("namespace")?, Vec::new()),
        };
        for tool in if kind == "namespace" { &inner[..] } else { std::slice::from_ref(found) } {
            if !is_callable(tool, &mut self.notes)? {
                continue;
            }
            let converted = self::tool(tool, "", &mut ToolNames::default(), &mut self.notes)?;
            let name = name_of(&converted).map(str::to_owned);
            let converted = if defers && name.is_some() { deferred(converted) } else { converted };
            if let Some(name) = name {
                let full = namespace.map_or_else(|| name.clone(), |namespace| format!("{namespace}.{name}"));
                references.push(json!({"type": TOOL_REFERENCE, "name": full}));
            }
            self.found.push(match kind {
                "namespace" => {
                    let mut alone = Value::Object(taken(found, &["type", "name", "description"]));
                    alone["tools"] = json!([converted]);
                    alone
                }
                _ => converted,
            });
        }
        Ok(())
    }

    fn server_call(&mut self, item: &Fields, id: &str) -> Result<()> {
        let (label, name) = (item.required_text("server_label")?, item.required_text("name")?);
        let function = json!({"namespace": label, "name": name, "arguments": item.required_text("arguments")?});
        self.turn().call("function", id, function);
        Ok(())
    }

    /// Of a call that was allowed, the item behind has the output.
    fn approval(&mut self, item: &Fields) -> Result<()> {
        let id = item.required_call_id("approval_request_id")?;
        item.required("approve")?;
        if !item.flag("approve", false)? {
            let why = item.text("reason")?.map_or_else(String::new, |reason| format!(": {reason}"));
            self.push(
                json!({"role": "tool", "tool_call_id": id, "content": format!("The user refused this call{why}")}),
            );
        }
        Ok(())
    }

    fn server_answer(&mut self, item: &Fields) -> Result<()> {
        let asked = item.call_id("approval_request_id")?;
        let id = asked.map_or_else(|| item.required_call_id("id"), Ok)?;
        if !self.turn().calls.iter().any(|call| call["id"] == id) {
            self.server_call(item, id)?;
        }
        let output = match item.get("error").or_else(|| item.get("output")) {
            Some(Value::String(text)) => text.clone(),
            Some(error) => number::write(error),
            None => return Ok(()),
        };
        self.push(json!({"role": "tool", "tool_call_id": id, "content": output}));
        Ok(())
    }

    fn message(&mut self, item: &Fields) -> Result<()> {
        let role = item.required_text("role")?;
        item.required("content")?;
        match role {
            "assistant" => {
                let text = text(item, "content", &["output_text", "input_text", "text", "refusal"], "")?;
                // A text behind a call belongs to the same turn.
                if self.turn.as_ref().is_some_and(|turn| turn.content.is_some() && turn.calls.is_empty()) {
                    self.close();
                }
                let phase = item.text("phase")?.map(str::to_owned);
                let turn = self.turn();
                turn.content.get_or_insert_default().push_str(&text);
                turn.phase = phase;
            }
            "user" => {
                let content = content(item, "content")?;
                self.push(json!({"role": role, "content": content}));
            }
            "system" | "developer" => {
                let text = text(item, "content", &["input_text", "text"], "\n\n")?;
                self.instruct(role, &text);
            }
            _ => return Err(item.unknown("role", "\"user\", \"assistant\", \"system\" or \"developer\"")),
        }
        Ok(())
    }

    /// Further instructions at the beginning of the conversation are appended to the first, because few templates accept
    /// two.
    fn instruct(&mut self, role: &str, text: &str) {
        if let (None, [first]) = (&self.turn, &mut self.messages[..])
            && first["role"] == "system"
            && let Value::String(instructions) = &mut first["content"]
        {
            instructions.push_str("\n\n");
            instructions.push_str(text);
        } else {
            self.push(json!({"role": role, "content": text}));
        }
    }

    fn reasoning(&mut self, item: &Fields) -> Result<()> {
        let mut reasoning = text(item, "content", &["reasoning_text", "text"], "\n\n")?;
        if reasoning.is_empty() {
            reasoning = match item.text("encrypted_content")?.and_then(|sealed| sealed.strip_prefix(SEAL)) {
                Some(own) => own.to_owned(),
                None => text(item, "summary", &["summary_text"], "\n\n")?,
            };
        }
        if reasoning.is_empty() {
            if item.get("encrypted_content").is_some() {
                self.notes.push(format!("{}: only who has sealed it can read it", item.path("encrypted_content")));
            }
            return Ok(());
        }
        // Reasoning begins a turn, except between a preamble and its calls.
        let is_preamble = |turn: &Turn| turn.phase.as_deref() == Some("commentary");
        let is_begun = |turn: &Turn| turn.content.is_some() && !is_preamble(turn) || !turn.calls.is_empty();
        if self.turn.as_ref().is_some_and(is_begun) {
            self.close();
        }
        self.turn().reasoning.push_str(&reasoning);
        Ok(())
    }

    fn turn(&mut self) -> &mut Turn {
        self.turn.get_or_insert_default()
    }

    fn push(&mut self, message: Value) {
        self.close();
        self.messages.push(message);
    }

    fn close(&mut self) {
        self.messages.extend(self.turn.take().map(Turn::message));
    }
}

/// A text, or the concatenation of text parts.
fn text(item: &Fields, name: &str, kinds: &[&str], between: &str) -> Result<String> {
    let parts = match item.text_or_items(name)? {
        TextOrItems::Text(text) => return Ok(text.to_owned()),
        TextOrItems::Items(parts) => parts,
    };
    let texts = parts.iter().map(|part| match part.required_text("type")? {
        "refusal" if kinds.contains(&"refusal") => part.required_text("refusal"),
        kind if kinds.contains(&kind) => part.required_text("text"),
        _ => Err(part.unknown("type", &format!("one of {}", kinds.join(", ")))),
    });
    Ok(texts.collect::<Result<Vec<_>>>()?.join(between))
}

/// The content of a user's message or a tool result.
fn content(item: &Fields, name: &str) -> Result<Value> {
    match item.text_or_items(name)? {
        TextOrItems::Text(text) => Ok(text.into()),
        TextOrItems::Items(parts) => parts.iter().map(part).collect(),
    }
}

fn part(part: &Fields) -> Result<Value> {
    match part.required_text("type")? {
        "input_text" | "output_text" | "text" => Ok(json!({"type": "text", "text": part.required_text("text")?})),
        "input_image" => {
            let mut image = json!({"url": part.required_text("image_url")?});
            if let Some(detail) = part.text("detail")? {
                image["detail"] = detail.into();
            }
            Ok(json!({"type": "image_url", "image_url": image}))
        }
        "input_audio" => Ok(json!({"type": "input_audio", "input_audio": Value::clone(part.required("input_audio")?)})),
        "input_file" => {
            part.required("file_data")?;
            Ok(json!({"type": "file", "file": taken(part, &["file_data", "filename"])}))
        }
        _ => Err(part.unknown("type", "\"input_text\", \"input_image\", \"input_audio\" or \"input_file\"")),
    }
}

/// The id of a call, which some items have under another name.
fn call_id<'a>(item: &Fields<'a>) -> Result<&'a str> {
    match item.call_id("call_id")? {
        Some(id) => Ok(id),
        None => item.required_call_id("id"),
    }
}

fn set_namespace(item: &Fields, function: &mut Value) -> Result<()> {
    if let Some(namespace) = item.text("namespace")? {
        function["namespace"] = namespace.into();
    }
    Ok(())
}

/// Fields of tools that stay as they are.
const KEPT: &[&str] = &["name", "description", "namespace", "defer_loading", "input_examples"];

/// The tools at a field `tools`, with a namespace that may be empty.
fn tools(list: &Fields, inside: &str, names: &mut ToolNames, notes: &mut Vec<String>) -> Result<Vec<Value>> {
    let mut tools = Vec::new();
    for given in &list.items("tools")? {
        if is_callable(given, notes)? {
            tools.push(tool(given, inside, names, notes)?);
        }
    }
    Ok(tools)
}

/// A tool, listed in a namespace or, if that is empty, in none.
fn tool(tool: &Fields, inside: &str, names: &mut ToolNames, notes: &mut Vec<String>) -> Result<Value> {
    match tool.required_text("type")? {
        "function" => {}
        "custom" => return custom_tool(tool, inside, names),
        "namespace" => {
            let mut list = Value::Object(taken(tool, &["type", "name", "description"]));
            let inside = tool.required_text("name")?;
            list["tools"] = tools(tool, inside, names, notes)?.into();
            return Ok(list);
        }
        // The request that is read of the body knows the tools of clients, and whether servers may run others.
        kind => {
            names.add(inside, tool.text("name")?.unwrap_or(kind));
            return Ok(Value::Object(tool.map.clone()));
        }
    }
    names.read(tool, tool.text("namespace")?.unwrap_or(inside))?;
    let function = taken(tool, &[KEPT, &["parameters", "strict"]].concat());
    Ok(json!({"type": "function", "function": function}))
}

/// In chat completions, its grammar is one object deeper.
fn custom_tool(tool: &Fields, inside: &str, names: &mut ToolNames) -> Result<Value> {
    names.read(tool, tool.text("namespace")?.unwrap_or(inside))?;
    let mut custom = taken(tool, KEPT);
    if let Some(format) = tool.object("format")? {
        let kind = format.required_text("type")?;
        let mut inner = json!({"type": kind});
        if kind == "grammar" {
            inner["grammar"] = taken(&format, &["syntax", "definition"]).into();
        }
        custom.insert("format".to_owned(), inner);
    }
    Ok(json!({"type": "custom", "custom": custom}))
}

fn tool_choice(body: &Fields, choice: &Value) -> Result<Value> {
    if let Some(name) = choice.as_str() {
        let form = json!({"type": "function", "name": name});
        let unknown = || body.unknown("tool_choice", &format!("auto, required, none or {form}"));
        return ["auto", "required", "none"].contains(&name).then(|| choice.clone()).ok_or_else(unknown);
    }
    let choice = body.required_object("tool_choice")?;
    match choice.required_text("type")? {
        "function" | "custom" => named(&choice),
        "allowed_tools" => {
            let tools = choice.items("tools")?;
            let tools = tools.iter().map(|tool| match tool.required_text("type")? {
                "function" | "custom" => named(tool),
                _ => Err(tool.unknown("type", "\"function\" or \"custom\"")),
            });
            let mut allowed = taken(&choice, &["mode"]);
            allowed.insert("tools".to_owned(), tools.collect::<Result<_>>()?);
            Ok(json!({"type": "allowed_tools", "allowed_tools": allowed}))
        }
        _ => match ClientTool::of(&choice)? {
            Some(tool) => Ok(json!({"type": "function", "function": {"name": tool.name}})),
            None => Err(choice.unknown("type", "\"function\", \"custom\", \"allowed_tools\" or a tool of the client")),
        },
    }
}

/// A tool, given its name.
fn named(choice: &Fields) -> Result<Value> {
    let kind = choice.required_text("type")?;
    let mut inner = json!({"name": choice.required_text("name")?});
    set_namespace(choice, &mut inner)?;
    Ok(json!({"type": kind, kind: inner}))
}

fn response_format(format: &Fields) -> Result<Value> {
    match format.required_text("type")? {
        kind @ ("text" | "json_object") => Ok(json!({"type": kind})),
        "json_schema" => {
            format.required("schema")?;
            let schema = taken(format, &["name", "description", "schema", "strict"]);
            Ok(json!({"type": "json_schema", "json_schema": schema}))
        }
        _ => Err::<_, Error>(format.unknown("type", "\"text\", \"json_object\" or \"json_schema\"")),
    }
}
