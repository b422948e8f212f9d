//! Converts requests of the Responses API to chat-completions bodies.

use serde_json::{Map, Value};

use super::answer::SEAL;
use crate::fields::RESPONSES;
use crate::shared::{
    Chat, FROM_HERE_ON, field_of, full_name, function, kind_of, put, reference, taken, text,
};
use chatparse_base::{Result, number};
use chatparse_message::fields::{Fields, TextOrItems, ToolNames};
use chatparse_message::{ClientTool, text_part};

/// Converts a body to chat completions.
///
/// # Errors
/// [`chatparse_base::ErrorKind::InvalidArgument`] with the name of the field that is wrong or not
/// supported.
pub fn to_chat(body: &Value) -> Result<Value> {
    let body = Fields::new(body, "")?;
    let mut chat = Chat::of(&body, &RESPONSES, "max_output_tokens")?;
    body.required("input")?;
    chat.configure(&body)?;
    if let Some(instructions) = body.text("instructions")? {
        chat.say("system", instructions);
    }
    match body.text_or_items("input")? {
        TextOrItems::Text(text) => chat.say("user", text),
        TextOrItems::Items(items) => items.iter().try_for_each(|item| chat.item(item))?,
    }
    let mut names = ToolNames::default();
    let tools = chat.tools(&body, "", &mut names)?;
    let tools = chat.all_tools(tools, &mut names);
    let parallel = body.flag("parallel_tool_calls", true)?;
    let choice = body
        .get("tool_choice")
        .map(|choice| tool_choice(&body, choice))
        .transpose()?;
    Ok(chat.finish(tools, parallel, choice))
}

/// The items of one turn of the model become one message.
impl Chat {
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
                let kind = if kind == "function_call" { "function" } else { "custom" };
                let (id, name) = (item.required_call_id("call_id")?, item.required_text("name")?);
                let (said, namespace) = (item.required_text(field_of(kind))?, item.text("namespace")?);
                self.turn().call(kind, id, name, said, namespace);
                Ok(())
            }
            "function_call_output" | "custom_tool_call_output" => {
                let id = item.required_call_id("call_id")?;
                item.required("output")?;
                self.answer(id, content(item, "output")?);
                Ok(())
            }
            "additional_tools" => self.additional_tools(item),
            "configuration_update" => self.configure(item),
            "compaction_trigger" => {
                self.compact(item.map.clone(), item, "type");
                Ok(())
            }
            "mcp_list_tools" => self.server_tools(item, "server_label"),
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
        let arguments = number::write(&tool.in_order(item.required_object(field)?.map).into());
        self.turn().call(
            "function",
            call_id(item, "call_id")?,
            tool.name,
            &arguments,
            None,
        );
        Ok(())
    }

    fn client_output(&mut self, item: &Fields) -> Result<()> {
        let id = call_id(item, "call_id")?;
        let content = match item.get("output") {
            _ if item.get("tools").is_some() => {
                let mut references = Vec::new();
                for found in &item.items("tools")? {
                    self.find(found, true, &mut references)?;
                }
                references.into()
            }
            // The outputs of a shell are objects: the model sees all of them.
            Some(output) => text_of(output).into(),
            None => item.required_text("status")?.into(),
        };
        self.answer(id, content);
        Ok(())
    }

    /// Tools from here on. Before anybody has spoken, they are as those of the body; later, the
    /// item shows them, so that the earlier prompt stays.
    fn additional_tools(&mut self, item: &Fields) -> Result<()> {
        let is_first = self.turn.is_none()
            && (self.messages.iter())
                .all(|message| message["role"] == "system" || message["role"] == "developer");
        let mut shown = vec![text_part(FROM_HERE_ON)];
        for tool in &item.items("tools")? {
            self.find(tool, !is_first, &mut shown)?;
        }
        if !is_first && shown.len() > 1 {
            self.add_parts(shown);
        }
        Ok(())
    }

    /// A tool that an item brings, or several of a namespace. `defers`: a reference reveals it.
    fn find(&mut self, found: &Fields, defers: bool, references: &mut Vec<Value>) -> Result<()> {
        let kind = kind_of(found)?;
        let (namespace, inner) = match kind {
            "namespace" => (Some(found.required_text("name")?), found.items("tools")?),
            _ => (found.text("namespace")?, Vec::new()),
        };
        for tool in if kind == "namespace" {
            &inner[..]
        } else {
            std::slice::from_ref(found)
        } {
            if !self.is_callable(tool)? {
                continue;
            }
            let converted = self.tool(tool, "", &mut ToolNames::default())?;
            let alone =
                (kind == "namespace").then(|| taken(found, &["type", "name", "description"]));
            let name = self.bring(converted, alone, defers);
            references.extend(name.map(|name| reference(&full_name(namespace, &name))));
        }
        Ok(())
    }

    fn server_call(&mut self, item: &Fields, id: &str) -> Result<()> {
        let (label, name) = (
            item.required_text("server_label")?,
            item.required_text("name")?,
        );
        self.turn().call(
            "function",
            id,
            name,
            item.required_text("arguments")?,
            Some(label),
        );
        Ok(())
    }

    /// Of a call that was allowed, the item behind has the output.
    fn approval(&mut self, item: &Fields) -> Result<()> {
        let id = item.required_call_id("approval_request_id")?;
        item.required("approve")?;
        if !item.flag("approve", false)? {
            let mut answer = "The user refused this call".to_owned();
            if let Some(reason) = item.text("reason")? {
                answer += &format!(": {reason}");
            }
            self.answer(id, answer.into());
        }
        Ok(())
    }

    fn server_answer(&mut self, item: &Fields) -> Result<()> {
        let id = call_id(item, "approval_request_id")?;
        if !self.turn().calls.iter().any(|call| call["id"] == id) {
            self.server_call(item, id)?;
        }
        let output = match item.get("error").or_else(|| item.get("output")) {
            Some(output) => text_of(output),
            None => return Ok(()),
        };
        self.answer(id, output.into());
        Ok(())
    }

    fn message(&mut self, item: &Fields) -> Result<()> {
        let role = item.required_text("role")?;
        item.required("content")?;
        match role {
            "assistant" => {
                let text = text(
                    item,
                    "content",
                    &["output_text", "input_text", "text", "refusal"],
                    "",
                )?;
                // A text behind a call belongs to the same turn.
                if self
                    .turn
                    .as_ref()
                    .is_some_and(|turn| turn.content.is_some() && turn.calls.is_empty())
                {
                    self.close();
                }
                let phase = item.text("phase")?.map(str::to_owned);
                let turn = self.turn();
                turn.content.get_or_insert_default().push_str(&text);
                turn.phase = phase;
            }
            "user" => self.say(role, content(item, "content")?),
            "system" | "developer" => {
                self.instruct(
                    role,
                    &text(item, "content", &["input_text", "text"], "\n\n")?,
                );
            }
            _ => {
                return Err(item.unknown(
                    "role",
                    "\"user\", \"assistant\", \"system\" or \"developer\"",
                ));
            }
        }
        Ok(())
    }

    /// Further instructions at the beginning of the conversation are appended to the first, because
    /// few templates accept two.
    fn instruct(&mut self, role: &str, text: &str) {
        if let (None, [first]) = (&self.turn, &mut self.messages[..])
            && first["role"] == "system"
            && let Value::String(instructions) = &mut first["content"]
        {
            instructions.push_str("\n\n");
            instructions.push_str(text);
        } else {
            self.say(role, text);
        }
    }

    fn reasoning(&mut self, item: &Fields) -> Result<()> {
        let mut reasoning = text(item, "content", &["reasoning_text", "text"], "\n\n")?;
        if reasoning.is_empty() {
            reasoning = match item
                .text("encrypted_content")?
                .and_then(|sealed| sealed.strip_prefix(SEAL))
            {
                Some(own) => own.to_owned(),
                None => text(item, "summary", &["summary_text"], "\n\n")?,
            };
        }
        if reasoning.is_empty() {
            if item.get("encrypted_content").is_some() {
                self.note(
                    item,
                    "encrypted_content",
                    "only who has sealed it can read it",
                );
            }
            return Ok(());
        }
        // Reasoning begins a turn, except between a preamble and its calls.
        if let Some(turn) = &self.turn {
            let is_preamble = turn.phase.as_deref() == Some("commentary");
            if turn.content.is_some() && !is_preamble || !turn.calls.is_empty() {
                self.close();
            }
        }
        self.turn().reasoning.push_str(&reasoning);
        Ok(())
    }

    /// The tools at a field `tools`, with a namespace that may be empty.
    fn tools(&mut self, list: &Fields, inside: &str, names: &mut ToolNames) -> Result<Vec<Value>> {
        let mut tools = Vec::new();
        for given in &list.items("tools")? {
            if self.is_callable(given)? {
                tools.push(self.tool(given, inside, names)?);
            }
        }
        Ok(tools)
    }

    /// A tool, listed in a namespace or, if that is empty, in none.
    fn tool(&mut self, tool: &Fields, inside: &str, names: &mut ToolNames) -> Result<Value> {
        let kind = kind_of(tool)?;
        match kind {
            "function" | "custom" => {}
            "namespace" => {
                let mut list = taken(tool, &["type", "name", "description"]);
                put(
                    &mut list,
                    "tools",
                    Some(self.tools(tool, tool.required_text("name")?, names)?),
                );
                return Ok(list.into());
            }
            // The request that is read of the body knows the tools of clients, and whether servers
            // may run others.
            _ => {
                names.add(inside, tool.text("name")?.unwrap_or(kind));
                return Ok(Value::Object(tool.map.clone()));
            }
        }
        names.read(tool, tool.text("namespace")?.unwrap_or(inside))?;
        let mut inner = taken(
            tool,
            &[
                "name",
                "description",
                "namespace",
                "defer_loading",
                "input_examples",
            ],
        );
        if kind == "function" {
            inner.extend(taken(tool, &["parameters", "strict"]));
        } else if let Some(format) = tool.object("format")? {
            let mut taken_format = taken(&format, &["type"]);
            // In chat completions, the grammar is one object deeper.
            if kind_of(&format)? == "grammar" {
                put(
                    &mut taken_format,
                    "grammar",
                    Some(taken(&format, &["syntax", "definition"])),
                );
            }
            put(&mut inner, "format", Some(taken_format));
        }
        Ok(json!({"type": kind, kind: inner}))
    }
}

/// A text, or another value as JSON.
fn text_of(output: &Value) -> String {
    output
        .as_str()
        .map_or_else(|| number::write(output), str::to_owned)
}

/// The content of a user's message or a tool result.
fn content(item: &Fields, name: &str) -> Result<Value> {
    match item.text_or_items(name)? {
        TextOrItems::Text(text) => Ok(text.into()),
        TextOrItems::Items(parts) => parts.iter().map(part).collect(),
    }
}

fn part(part: &Fields) -> Result<Value> {
    match kind_of(part)? {
        "input_text" | "output_text" | "text" => Ok(text_part(part.required_text("text")?)),
        "input_image" => {
            let mut image = Map::new();
            put(&mut image, "url", Some(part.required_text("image_url")?));
            put(&mut image, "detail", part.text("detail")?);
            Ok(json!({"type": "image_url", "image_url": image}))
        }
        "input_audio" => Ok(
            json!({"type": "input_audio", "input_audio": Value::clone(part.required("input_audio")?)}),
        ),
        "input_file" => {
            part.required("file_data")?;
            Ok(json!({"type": "file", "file": taken(part, &["file_data", "filename"])}))
        }
        _ => Err(part.unknown(
            "type",
            "\"input_text\", \"input_image\", \"input_audio\" or \"input_file\"",
        )),
    }
}

/// The id of a call, which some items have in a field of this name and others have as their own.
fn call_id<'a>(item: &Fields<'a>, name: &str) -> Result<&'a str> {
    match item.call_id(name)? {
        Some(id) => Ok(id),
        None => item.required_call_id("id"),
    }
}

fn tool_choice(body: &Fields, choice: &Value) -> Result<Value> {
    if let Some(name) = choice.as_str() {
        if ["auto", "required", "none"].contains(&name) {
            return Ok(choice.clone());
        }
        let form = json!({"type": "function", "name": name});
        return Err(body.unknown("tool_choice", &format!("auto, required, none or {form}")));
    }
    let choice = body.required_object("tool_choice")?;
    match kind_of(&choice)? {
        "function" | "custom" => named(&choice),
        "allowed_tools" => {
            let tools = choice.items("tools")?;
            let tools = tools.iter().map(|tool| match kind_of(tool)? {
                "function" | "custom" => named(tool),
                _ => Err(tool.unknown("type", "\"function\" or \"custom\"")),
            });
            let mut allowed = taken(&choice, &["mode"]);
            allowed.insert("tools".to_owned(), tools.collect::<Result<_>>()?);
            Ok(json!({"type": "allowed_tools", "allowed_tools": allowed}))
        }
        _ => match ClientTool::of(&choice)? {
            Some(tool) => Ok(function(json!({"name": tool.name}))),
            None => Err(choice.unknown(
                "type",
                "\"function\", \"custom\", \"allowed_tools\" or a tool of the client",
            )),
        },
    }
}

/// A tool, given its name.
fn named(choice: &Fields) -> Result<Value> {
    let kind = kind_of(choice)?;
    choice.required_text("name")?;
    choice.text("namespace")?;
    Ok(json!({"type": kind, kind: taken(choice, &["name", "namespace"])}))
}

fn response_format(format: &Fields) -> Result<Value> {
    match kind_of(format)? {
        kind @ ("text" | "json_object") => Ok(json!({"type": kind})),
        "json_schema" => {
            format.required("schema")?;
            let schema = taken(format, &["name", "description", "schema", "strict"]);
            Ok(json!({"type": "json_schema", "json_schema": schema}))
        }
        _ => Err(format.unknown("type", "\"text\", \"json_object\" or \"json_schema\"")),
    }
}
