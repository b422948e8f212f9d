//! Reads the parts of a chat-completions body: messages with content and calls, tools, and the
//! choice of tools.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::client_tools::ClientTool;
use super::fields::{Fields, ToolNames, choice, is_second, wrong};
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
    // A tool may have nothing to say.
    let is_said = role == "tool" || refusal.is_some();
    if !is_said
        && !["content", "tool_calls", "function_call"]
            .iter()
            .any(|key| fields.map.contains_key(*key))
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
        tool_calls: fields
            .items("tool_calls")?
            .iter()
            .map(tool_call)
            .collect::<Result<_>>()?,
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
    match fields.get("content") {
        // A model's refusal replaces its content.
        None => message.content = refusal.unwrap_or_default().to_owned(),
        Some(Value::String(text)) => message.content = text.clone(),
        Some(Value::Array(_)) => {
            message.parts = fields
                .items("content")?
                .iter()
                .map(part)
                .collect::<Result<_>>()?
        }
        Some(other) => {
            return Err(wrong(
                &fields.path("content"),
                "a string or an array",
                other,
            ));
        }
    }
    Ok(message)
}

/// The fields of a message that are not read.
fn further(fields: &Fields) -> Map<String, Value> {
    let row = CHAT.row("request", "messages", fields);
    let given = fields.map.iter();
    let given = given.filter(|(name, value)| {
        row.is_none_or(|row| row.field(name).is_none()) && !value.is_null()
    });
    given
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The reasoning of a message, under any of the vendors' names.
fn reasoning(fields: &Fields) -> Result<String> {
    let [usual, others @ ..] = REASONING;
    let other = others
        .into_iter()
        .find_map(|name| fields.get(name)?.as_str());
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
    let kind = fields.required_text("type")?;
    let text = |kind: &str, name: &str| {
        Ok(Part {
            kind: kind.to_owned(),
            text: fields.required_text(name)?.to_owned(),
            source: None,
        })
    };
    match kind {
        "text" | "media_marker" => text(kind, "text"),
        "refusal" => text("text", "refusal"),
        THINKING => text(THINKING, THINKING),
        TOOL_REFERENCE => {
            let name = if fields.get("tool_name").is_some() {
                "tool_name"
            } else {
                "name"
            };
            text(TOOL_REFERENCE, name)
        }
        _ => match MEDIA.iter().find(|(_, names)| names.contains(&kind)) {
            Some((kind, _)) => {
                let source = Some(Arc::new(Value::Object(fields.map.clone())));
                Ok(Part {
                    kind: (*kind).to_owned(),
                    text: String::new(),
                    source,
                })
            }
            None => {
                let known: Vec<&str> = MEDIA
                    .iter()
                    .flat_map(|(_, names)| names.iter().copied())
                    .collect();
                let known = format!(
                    "text, refusal, thinking, tool_reference, media_marker, {}",
                    known.join(", ")
                );
                Err(fields.unknown("type", &known))
            }
        },
    }
}

fn tool_call(fields: &Fields) -> Result<ToolCall> {
    let id = fields.call_id("id")?.unwrap_or_default().to_owned();
    if fields.text("type")? == Some("custom") {
        let custom = fields.required_object("custom")?;
        let input = json!({CUSTOM_INPUT: custom.required_text("input")?});
        let (name, namespace) = (
            custom.required_text("name")?.to_owned(),
            namespace(fields, &custom)?.to_owned(),
        );
        return Ok(ToolCall {
            name,
            arguments: input.to_string(),
            id,
            namespace,
        });
    }
    let function = fields.function()?;
    let namespace = namespace(fields, &function)?.to_owned();
    Ok(ToolCall {
        namespace,
        ..called(&function, id)?
    })
}

/// The namespace of a tool or a call, which clients write beside or inside of its function.
fn namespace<'a>(outer: &Fields<'a>, inner: &Fields<'a>) -> Result<&'a str> {
    Ok(inner
        .text("namespace")?
        .or(outer.text("namespace")?)
        .unwrap_or_default())
}

fn called(function: &Fields, id: String) -> Result<ToolCall> {
    let arguments = function
        .map
        .get("arguments")
        .ok_or_else(|| function.refuse("arguments", "missing"))?;
    Ok(ToolCall {
        name: function.required_text("name")?.to_owned(),
        arguments: match arguments {
            Value::String(text) => text.clone(),
            other => number::write(other),
        },
        id,
        ..ToolCall::default()
    })
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

/// Reads the tools, `given` or those of the body; `keeps_hosted`: whether there may be some that a
/// server must run.
pub fn tools(body: &Fields, given: Option<&mut [Given]>, keeps_hosted: bool) -> Result<Tools> {
    let mut tools = Tools::default();
    let Some(given) = given else {
        body.items("tools")?
            .iter()
            .try_for_each(|given| tools.read_any(given, keeps_hosted))?;
        return Ok(tools);
    };
    for (index, one) in given.iter_mut().enumerate() {
        match one {
            Given::Known(tool) => {
                if !tools.names.add(&tool.namespace, &tool.name) {
                    return Err(Error::invalid(format!(
                        "tools[{index}]: there is another tool {:?}",
                        tool.name
                    )));
                }
                tools.offered.push(std::mem::take(tool));
            }
            Given::New(value) => {
                let (before, noted) = (tools.offered.len(), tools.notes.len());
                // The largest part is not copied.
                let is_function = value["type"] == "function";
                let parameters = value.pointer_mut("/function/parameters");
                let parameters = parameters
                    .filter(|it| is_function && !it.is_null())
                    .map(Value::take);
                tools.read_any(&body.item("tools", index, value)?, keeps_hosted)?;
                if let [tool] = &mut tools.offered[before..] {
                    tool.parameters =
                        parameters.map_or_else(|| Arc::clone(&tool.parameters), Arc::new);
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
        let (name, description) = (
            given.required_text("name")?,
            given.text("description")?.unwrap_or_default(),
        );
        given
            .items("tools")?
            .iter()
            .try_for_each(|inner| self.read(inner, name, description, keeps_hosted))
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
                let tool = self.named(given, &custom, namespace)?;
                Tool {
                    parameters: Arc::new(custom_parameters(&custom)?),
                    ..tool
                }
            }
            "function" => {
                let function = given.function()?;
                let parameters = function
                    .get("parameters")
                    .cloned()
                    .unwrap_or_else(|| json!({}));
                let tool = self.named(given, &function, namespace)?;
                Tool {
                    parameters: Arc::new(parameters),
                    more: more(function.map),
                    ..tool
                }
            }
            _ => match ClientTool::of(given)? {
                Some(known) => {
                    let function = known.function(given)?;
                    let tool = self.named(given, &given.instead(&function)?, namespace)?;
                    Tool {
                        parameters: Arc::new(function["parameters"].clone()),
                        ..tool
                    }
                }
                None if keeps_hosted => {
                    self.hosted.push(Value::Object(given.map.clone()));
                    return Ok(());
                }
                None => {
                    let why = "is run by a server; the option hosted_tools: \"keep\" leaves it to the host";
                    return Err(given.refuse("type", &format!("{kind:?} {why}")));
                }
            },
        };
        // Templates know no namespaces, so what is said of all tools is said of each.
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
            ..Tool::default()
        })
    }
}

/// The description of a tool, with the examples of its arguments, which no template shows by
/// themselves.
fn described(tool: &Fields) -> Result<String> {
    let mut text = tool.text_or_empty("description")?;
    let examples = tool.items("input_examples")?;
    for (index, example) in examples.iter().enumerate() {
        text += if index == 0 {
            "\nExamples of its arguments:\n"
        } else {
            "\n"
        };
        text += &number::write(&example.map.clone().into());
    }
    Ok(text.trim_start().to_owned())
}

fn more(function: &Map<String, Value>) -> Map<String, Value> {
    let given = MORE
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), function.get(*name)?.clone())));
    given.filter(|(_, value)| !value.is_null()).collect()
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
        let is_lark = is_second(&grammar, "syntax", ["regex", "lark"])?;
        let pattern = match is_lark {
            true => lark::pattern(definition).map_err(|why| grammar.refuse("definition", &why))?,
            false => definition.to_owned(),
        };
        input["pattern"] = json!(format!("^(?:{pattern})$"));
    }
    Ok(json!({"type": "object", "properties": {CUSTOM_INPUT: input}, "required": [CUSTOM_INPUT]}))
}

/// The choice of tools, which may name some of those that are offered.
pub fn tool_choice(body: &Fields, offered: &[Tool]) -> Result<(ToolChoice, Option<Vec<Tool>>)> {
    if !body.get("tool_choice").is_some_and(Value::is_object) {
        let name = body.text("tool_choice")?;
        return choice(body, "tool_choice", ToolChoice::Auto)
            .map(|choice| (choice, None))
            .map_err(|_| {
                let form = json!({"type": "function", "function": {"name": name}});
                body.unknown("tool_choice", &format!("auto, required, none or {form}"))
            });
    }
    let given = body.required_object("tool_choice")?;
    if given.required_text("type")? != "allowed_tools" {
        return Ok((ToolChoice::Required, Some(vec![named(&given, offered)?])));
    }
    let allowed = given.required_object("allowed_tools")?;
    let must = is_second(&allowed, "mode", ["auto", "required"])?;
    let mode = if must {
        ToolChoice::Required
    } else {
        ToolChoice::Auto
    };
    let tools = allowed
        .items("tools")?
        .iter()
        .map(|tool| named(tool, offered))
        .collect::<Result<_>>()?;
    Ok((mode, Some(tools)))
}

/// The tool named by `{"type": "function", "function": {"name"}}`, or the same with `custom`.
fn named(given: &Fields, offered: &[Tool]) -> Result<Tool> {
    let is_custom = given.text("type")? == Some("custom");
    let function = if is_custom {
        given.required_object("custom")?
    } else {
        given.function()?
    };
    let (name, namespace) = (
        function.required_text("name")?,
        namespace(given, &function)?,
    );
    let found = offered
        .iter()
        .find(|tool| tool.name == name && (namespace.is_empty() || tool.namespace == namespace));
    found
        .cloned()
        .ok_or_else(|| function.refuse("name", &format!("there is no tool {name:?}")))
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
            let schema = format.required_object("json_schema")?;
            Ok(schema
                .get("schema")
                .cloned()
                .unwrap_or_else(|| json!({"type": "object"})))
        }
        _ => Err(format.unknown("type", "one of text, json_object, json_schema")),
    }
}

/// A conversation for the template, unchanged: each message must be an object, of any form.
pub fn plain(body: &Fields) -> Result<PlainConversation> {
    let given = |name: &str| {
        body.items(name)?;
        Ok(Arc::new(body.get(name).cloned().unwrap_or_default()))
    };
    Ok(PlainConversation {
        messages: given("messages")?,
        tools: given("tools")?,
        documents: given("documents")?,
    })
}

/// The tools of a plain request that the parser can use: those with a name, inside a `function` or
/// directly.
pub fn known_tools(tools: &Value) -> Vec<Tool> {
    let known = |given: &Value| {
        let function = given
            .get("function")
            .and_then(Value::as_object)
            .or_else(|| given.as_object())?;
        Some(Tool {
            name: function.get("name")?.as_str()?.to_owned(),
            description: function
                .get("description")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            parameters: Arc::new(
                function
                    .get("parameters")
                    .cloned()
                    .unwrap_or_else(|| json!({})),
            ),
            ..Tool::default()
        })
    };
    tools
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(known)
        .collect()
}
