//! Reads the parts of a chat-completions body: messages with content and calls, tools, and the
//! choice of tools.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::client_tools::ClientTool;
use super::fields::{Fields, TextOrItems, ToolNames, choice, is_second};
use super::known::CHAT;
use super::known_tools::Given;
use super::{
    Message, Part, PlainConversation, REASONING, THINKING, TOOL_REFERENCE, Tool, ToolCall,
    ToolChoice, lark,
};
use chatparse_base::{Error, Result, number};

pub fn message(fields: &Fields, notes: &mut Vec<String>) -> Result<Message> {
    CHAT.check("request", "messages", fields, notes)?;
    let refusal = fields.text("refusal")?;
    let role = fields.required_text("role")?;
    let says = |key: &&str| fields.map.contains_key(*key);
    // A tool may have nothing to say.
    if role != "tool"
        && refusal.is_none()
        && !["content", "tool_calls", "function_call"].iter().any(says)
    {
        let what = match fields.get("audio") {
            Some(_) => {
                "an earlier answer cannot be shown by its audio alone; its text goes into content"
            }
            None => "needs content or tool_calls",
        };
        return Err(Error::invalid(format!("{}: {what}", fields.own_path())));
    }
    let mut message = Message {
        role: role.to_owned(),
        reasoning_content: reasoning(fields)?,
        tool_calls: fields.each("tool_calls", tool_call)?,
        name: fields.text_or_empty("name")?,
        tool_call_id: fields
            .call_id("tool_call_id")?
            .unwrap_or_default()
            .to_owned(),
        more: further(fields),
        ..Message::default()
    };
    if let Some(call) = fields.object("function_call")? {
        message.tool_calls.push(called(&call, String::new())?);
    }
    match fields.text_or_items("content")? {
        TextOrItems::Text(text) => message.content = text.to_owned(),
        // A model's refusal replaces its content.
        TextOrItems::Items(_) if fields.get("content").is_none() => {
            message.content = refusal.unwrap_or_default().to_owned();
        }
        TextOrItems::Items(parts) => {
            message.parts = parts.iter().map(part).collect::<Result<_>>()?
        }
    }
    Ok(message)
}

/// The fields of a message that are not read.
fn further(fields: &Fields) -> Map<String, Value> {
    let row = CHAT.row("request", "messages", fields);
    let mut further = Map::new();
    for (name, value) in fields.map {
        if !value.is_null() && row.is_none_or(|row| row.field(name).is_none()) {
            further.insert(name.clone(), value.clone());
        }
    }
    further
}

/// The reasoning of a message, under any of the vendors' names.
fn reasoning(fields: &Fields) -> Result<String> {
    let [usual, others @ ..] = REASONING;
    let mut others = others.into_iter();
    let other = others.find_map(|name| fields.get(name)?.as_str());
    Ok(fields.text(usual)?.or(other).unwrap_or_default().to_owned())
}

/// The types of media parts in requests, and their kinds.
const MEDIA: &[(&str, &[&str])] = &[
    ("image", &["image", "image_url", "input_image"]),
    ("audio", &["audio", "audio_url", "input_audio"]),
    ("video", &["video", "video_url", "input_video"]),
    ("file", &["file", "input_file"]),
];

fn part(fields: &Fields) -> Result<Part> {
    let mut kind = fields.required_text("type")?;
    let text_field = match kind {
        "text" | "media_marker" => "text",
        "refusal" | THINKING => kind,
        TOOL_REFERENCE if fields.get("tool_name").is_some() => "tool_name",
        TOOL_REFERENCE => "name",
        _ => return media(fields, kind),
    };
    if kind == "refusal" {
        kind = "text";
    }
    Ok(Part {
        kind: kind.to_owned(),
        text: fields.required_text(text_field)?.to_owned(),
        source: None,
    })
}

fn media(fields: &Fields, name: &str) -> Result<Part> {
    let Some((kind, _)) = MEDIA.iter().find(|(_, names)| names.contains(&name)) else {
        let mut known = "text, refusal, thinking, tool_reference, media_marker".to_owned();
        for (_, names) in MEDIA {
            known = known + ", " + &names.join(", ");
        }
        return Err(fields.unknown("type", &known));
    };
    Ok(Part {
        kind: (*kind).to_owned(),
        text: String::new(),
        source: Some(Arc::new(fields.map.clone().into())),
    })
}

fn tool_call(fields: &Fields) -> Result<ToolCall> {
    let id = fields.call_id("id")?.unwrap_or_default().to_owned();
    if fields.text("type")? == Some("custom") {
        let custom = fields.required_object("custom")?;
        return Ok(ToolCall {
            arguments: json!({CUSTOM_INPUT: custom.required_text("input")?}).to_string(),
            name: custom.required_text("name")?.to_owned(),
            namespace: namespace(fields, &custom)?.to_owned(),
            id,
        });
    }
    let function = fields.function()?;
    Ok(ToolCall {
        namespace: namespace(fields, &function)?.to_owned(),
        ..called(&function, id)?
    })
}

/// The namespace of a tool or a call, which clients write beside or inside of its function.
fn namespace<'a>(outer: &Fields<'a>, inner: &Fields<'a>) -> Result<&'a str> {
    let own = inner.text("namespace")?;
    Ok(own.or(outer.text("namespace")?).unwrap_or_default())
}

fn called(function: &Fields, id: String) -> Result<ToolCall> {
    let arguments = match function.map.get("arguments") {
        None => return Err(function.refuse("arguments", "missing")),
        Some(Value::String(text)) => text.clone(),
        Some(other) => number::write(other),
    };
    Ok(ToolCall::new(
        function.required_text("name")?,
        arguments,
        id,
    ))
}

/// The argument of a custom tool that holds its text.
const CUSTOM_INPUT: &str = "input";

/// Fields of a tool that templates render, besides name, description and parameters.
const MORE: [&str; 2] = ["strict", "return"];

/// The tools of a request.
#[derive(Default)]
pub struct Tools {
    pub offered: Vec<Tool>,
    /// Those that a server must run, as they are.
    pub hosted: Vec<Value>,
    pub names: ToolNames,
    pub notes: Vec<String>,
}

/// Reads the tools: `given`, or the body's. `keeps_hosted`: tools that a server must run are
/// allowed.
pub fn tools(body: &Fields, given: Option<&mut [Given]>, keeps_hosted: bool) -> Result<Tools> {
    let mut tools = Tools::default();
    let Some(given) = given else {
        for tool in body.items("tools")? {
            tools.read_any(&tool, keeps_hosted)?;
        }
        return Ok(tools);
    };
    for (index, one) in given.iter_mut().enumerate() {
        match one {
            Given::Known(tool) => {
                if !tools.names.add(&tool.namespace, &tool.name) {
                    // The whole body is read again then, and says where.
                    return Err(body.refuse("tools", "one of them is there twice"));
                }
                tools.offered.push(std::mem::take(tool));
            }
            Given::New(value) => {
                let (before, noted) = (tools.offered.len(), tools.notes.len());
                // The largest part is not copied.
                let parameters = if value["type"] == "function" {
                    value.pointer_mut("/function/parameters").map(Value::take)
                } else {
                    None
                };
                tools.read_any(&body.item("tools", index, value)?, keeps_hosted)?;
                if let [tool] = &mut tools.offered[before..] {
                    if let Some(parameters) = parameters.filter(|given| !given.is_null()) {
                        tool.parameters = parameters.into();
                    }
                    if tools.notes.len() == noted {
                        *one = Given::Known(tool.clone());
                    }
                }
            }
        }
    }
    Ok(tools)
}

impl Tools {
    /// Reads a tool, or a namespace of tools.
    fn read_any(&mut self, given: &Fields, keeps_hosted: bool) -> Result<()> {
        CHAT.check("request", "tools", given, &mut self.notes)?;
        if given.text("type")? != Some("namespace") {
            return self.read(given, "", "", keeps_hosted);
        }
        let name = given.required_text("name")?;
        let description = given.text("description")?.unwrap_or_default();
        for inner in given.items("tools")? {
            self.read(&inner, name, description, keeps_hosted)?;
        }
        Ok(())
    }

    /// Reads a tool of a namespace with a description; both may be empty.
    fn read(
        &mut self,
        given: &Fields,
        namespace: &str,
        description: &str,
        keeps_hosted: bool,
    ) -> Result<()> {
        let kind = given.required_text("type")?;
        let mut tool = match kind {
            "custom" => {
                let custom = given.required_object("custom")?;
                let mut tool = self.named(given, &custom, namespace)?;
                tool.parameters = custom_parameters(&custom)?.into();
                tool
            }
            "function" => {
                let function = given.function()?;
                let mut tool = self.named(given, &function, namespace)?;
                for name in MORE {
                    if let Some(value) = function.get(name) {
                        tool.more.insert(name.to_owned(), value.clone());
                    }
                }
                tool
            }
            _ => match ClientTool::of(given)? {
                Some(known) => {
                    let function = known.function(given)?;
                    self.named(given, &given.instead(&function)?, namespace)?
                }
                None if keeps_hosted => {
                    self.hosted.push(given.map.clone().into());
                    return Ok(());
                }
                None => {
                    let why = "is run by a server; the option hosted_tools: \"keep\" leaves it to the host";
                    return Err(given.refuse("type", &format!("{kind:?} {why}")));
                }
            },
        };
        // Templates know no namespaces, so each tool has the description of its namespace.
        if !description.is_empty() {
            tool.description = format!("{description}\n{}", tool.description);
        }
        self.offered.push(tool);
        Ok(())
    }

    /// A tool with the fields that all kinds have.
    fn named(&mut self, outer: &Fields, inner: &Fields, inside: &str) -> Result<Tool> {
        let own = namespace(outer, inner)?;
        let namespace = if own.is_empty() { inside } else { own }.to_owned();
        Ok(Tool {
            name: self.names.read(inner, &namespace)?,
            description: described(inner)?,
            namespace,
            deferred: inner.flag("defer_loading", outer.flag("defer_loading", false)?)?,
            parameters: parameters(inner.get("parameters")).into(),
            ..Tool::default()
        })
    }
}

/// The schema of a tool's parameters, which may be missing.
fn parameters(given: Option<&Value>) -> Value {
    given.cloned().unwrap_or_else(|| json!({}))
}

/// The description of a tool, with the examples of its arguments, which no template shows by
/// themselves.
fn described(tool: &Fields) -> Result<String> {
    let mut text = tool.text_or_empty("description")?;
    let mut before = "\nExamples of its arguments:\n";
    for example in tool.items("input_examples")? {
        text += before;
        text += &number::write(&example.map.clone().into());
        before = "\n";
    }
    Ok(text.trim_start().to_owned())
}

/// A tool that takes a text becomes a function with one argument, so that templates can render it
/// and models can call it.
fn custom_parameters(custom: &Fields) -> Result<Value> {
    let mut input = json!({"type": "string"});
    let format = custom.object("format")?;
    if let Some(format) = &format
        && is_second(format, "type", ["text", "grammar"])?
    {
        let grammar = format.required_object("grammar")?;
        let definition = grammar.required_text("definition")?;
        let pattern = if is_second(&grammar, "syntax", ["regex", "lark"])? {
            lark::pattern(definition).map_err(|why| grammar.refuse("definition", &why))?
        } else {
            definition.to_owned()
        };
        input["pattern"] = json!(format!("^(?:{pattern})$"));
    }
    Ok(json!({"type": "object", "properties": {CUSTOM_INPUT: input}, "required": [CUSTOM_INPUT]}))
}

/// The choice of tools, which may name some of the offered tools.
pub fn tool_choice(body: &Fields, offered: &[Tool]) -> Result<(ToolChoice, Option<Vec<Tool>>)> {
    if !body.get("tool_choice").is_some_and(Value::is_object) {
        let name = body.text("tool_choice")?;
        let Ok(choice) = choice(body, "tool_choice", ToolChoice::Auto) else {
            let form = json!({"type": "function", "function": {"name": name}});
            return Err(body.unknown("tool_choice", &format!("auto, required, none or {form}")));
        };
        return Ok((choice, None));
    }
    let given = body.required_object("tool_choice")?;
    if given.required_text("type")? != "allowed_tools" {
        return Ok((ToolChoice::Required, Some(vec![named(&given, offered)?])));
    }
    let allowed = given.required_object("allowed_tools")?;
    let mode = if is_second(&allowed, "mode", ["auto", "required"])? {
        ToolChoice::Required
    } else {
        ToolChoice::Auto
    };
    Ok((
        mode,
        Some(allowed.each("tools", |tool| named(tool, offered))?),
    ))
}

/// The tool named by `{"type": "function", "function": {"name"}}`, or the same with `custom`.
fn named(given: &Fields, offered: &[Tool]) -> Result<Tool> {
    let is_custom = given.text("type")? == Some("custom");
    let function = if is_custom {
        given.required_object("custom")?
    } else {
        given.function()?
    };
    let name = function.required_text("name")?;
    let namespace = namespace(given, &function)?;
    for tool in offered {
        if tool.name == name && (namespace.is_empty() || tool.namespace == namespace) {
            return Ok(tool.clone());
        }
    }
    Err(function.refuse("name", &format!("there is no tool {name:?}")))
}

/// The schema of the answer in `response_format`; `Null` for any text.
pub fn response_format(body: &Fields) -> Result<Value> {
    let Some(format) = body.object("response_format")? else {
        return Ok(Value::Null);
    };
    match format.required_text("type")? {
        "text" => Ok(Value::Null),
        "json_object" => Ok(json!({"type": "object"})),
        "json_schema" => {
            let schema = format
                .required_object("json_schema")?
                .get("schema")
                .cloned();
            Ok(schema.unwrap_or_else(|| json!({"type": "object"})))
        }
        _ => Err(format.unknown("type", "one of text, json_object, json_schema")),
    }
}

/// A conversation for the template, unchanged: each message must be an object, of any form.
pub fn plain(body: &Fields) -> Result<PlainConversation> {
    let mut lists = [const { Value::Null }; 3];
    for (list, name) in lists.iter_mut().zip(["messages", "tools", "documents"]) {
        body.items(name)?;
        *list = body.get(name).cloned().unwrap_or_default();
    }
    let [messages, tools, documents] = lists.map(Arc::new);
    Ok(PlainConversation {
        messages,
        tools,
        documents,
    })
}

/// The tools of a plain request that the parser can use: tools with a name, inside a `function` or
/// directly.
pub fn known_tools(tools: &Value) -> Vec<Tool> {
    let mut known = Vec::new();
    for given in tools.as_array().into_iter().flatten() {
        let inner = &given["function"];
        let function = if inner.is_object() { inner } else { given };
        if let Some(name) = function["name"].as_str() {
            let description = function["description"].as_str().unwrap_or_default();
            known.push(Tool::new(
                name,
                description,
                parameters(function.get("parameters")),
            ));
        }
    }
    known
}
