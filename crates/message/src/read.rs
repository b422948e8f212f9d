//! Reads the parts of a chat-completions body: messages with content and calls, tools, and the choice of tools.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::fields::{Fields, ToolNames, choice, wrong};
use super::{Message, Part, PlainConversation, REASONING, THINKING, Tool, ToolCall, ToolChoice};
use chatparse_base::{Error, Result};

pub(super) fn message(fields: &Fields) -> Result<Message> {
    let refusal = fields.text("refusal")?;
    if refusal.is_none() && !["content", "tool_calls", "function_call"].iter().any(|key| fields.map.contains_key(*key))
    {
        let what = match fields.get("audio") {
            Some(_) => "an earlier answer cannot be shown by its audio alone; its text goes into content",
            None => "needs content or tool_calls",
        };
        return Err(Error::invalid(format!("{}: {what}", fields.own_path())));
    }
    let mut message = Message {
        role: fields.required_text("role")?.to_owned(),
        reasoning_content: reasoning(fields)?,
        tool_calls: fields.items("tool_calls")?.iter().map(tool_call).collect::<Result<_>>()?,
        name: fields.text_or_empty("name")?,
        tool_call_id: fields.call_id("tool_call_id")?.unwrap_or_default().to_owned(),
        ..Message::default()
    };
    if let Some(call) = fields.object("function_call")? {
        message.tool_calls.push(called(&call, String::new())?);
    }
    match fields.get("content") {
        // A model's refusal replaces its content.
        None => message.content = refusal.unwrap_or_default().to_owned(),
        Some(Value::String(text)) => message.content = text.clone(),
        Some(Value::Array(_)) => message.parts = fields.items("content")?.iter().map(part).collect::<Result<_>>()?,
        Some(other) => return Err(wrong(&fields.path("content"), "a string or an array", other)),
    }
    Ok(message)
}

/// The reasoning of a message, under any of the vendors' names.
fn reasoning(fields: &Fields) -> Result<String> {
    let [usual, others @ ..] = REASONING;
    let other = others.into_iter().find_map(|name| fields.get(name)?.as_str());
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
        Ok(Part { kind: kind.to_owned(), text: fields.required_text(name)?.to_owned(), source: None })
    };
    match kind {
        "text" | "media_marker" => text(kind, "text"),
        "refusal" => text("text", "refusal"),
        THINKING => text(THINKING, THINKING),
        _ => match MEDIA.iter().find(|(_, names)| names.contains(&kind)) {
            Some((kind, _)) => {
                let source = Some(Arc::new(Value::Object(fields.map.clone())));
                Ok(Part { kind: (*kind).to_owned(), text: String::new(), source })
            }
            None => {
                let known: Vec<&str> = MEDIA.iter().flat_map(|(_, names)| names.iter().copied()).collect();
                let path = fields.path("type");
                let known = known.join(", ");
                Err(Error::invalid(format!(
                    "{path}: must be text, refusal, thinking, media_marker, {known}, not {kind:?}"
                )))
            }
        },
    }
}

fn tool_call(fields: &Fields) -> Result<ToolCall> {
    let id = fields.call_id("id")?.unwrap_or_default().to_owned();
    if fields.text("type")? == Some("custom") {
        let custom = fields.required_object("custom")?;
        let input = json!({CUSTOM_INPUT: custom.required_text("input")?});
        return Ok(ToolCall { name: custom.required_text("name")?.to_owned(), arguments: input.to_string(), id });
    }
    called(&fields.function()?, id)
}

fn called(function: &Fields, id: String) -> Result<ToolCall> {
    let arguments = function
        .map
        .get("arguments")
        .ok_or_else(|| Error::invalid(format!("{}: missing", function.path("arguments"))))?;
    Ok(ToolCall {
        name: function.required_text("name")?.to_owned(),
        arguments: match arguments {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        },
        id,
    })
}

/// The argument of a custom tool that holds its text.
const CUSTOM_INPUT: &str = "input";

/// Fields of a tool that templates render, besides name, description and parameters.
const MORE: [&str; 2] = ["strict", "return"];

/// The tools that are offered.
pub(super) fn tools(body: &Fields) -> Result<Vec<Tool>> {
    let (given, mut names) = (body.items("tools")?, ToolNames::default());
    given.iter().map(|given| tool(given, &mut names)).collect()
}

fn tool<'a>(fields: &'a Fields, names: &mut ToolNames<'a>) -> Result<Tool> {
    if fields.text("type")? == Some("custom") {
        return custom_tool(&fields.required_object("custom")?, names);
    }
    let function = fields.function()?;
    Ok(Tool {
        name: names.read(&function)?.to_owned(),
        description: function.text_or_empty("description")?,
        parameters: Arc::new(function.map.get("parameters").cloned().unwrap_or_else(|| json!({}))),
        more: more(function.map),
    })
}

fn more(function: &Map<String, Value>) -> Map<String, Value> {
    let given = MORE.iter().filter_map(|name| Some(((*name).to_owned(), function.get(*name)?.clone())));
    given.filter(|(_, value)| !value.is_null()).collect()
}

/// A tool that takes a text becomes a function with one argument, so that templates can render it and models can call it.
fn custom_tool<'a>(custom: &Fields<'a>, names: &mut ToolNames<'a>) -> Result<Tool> {
    let mut input = json!({"type": "string"});
    let format = custom.object("format")?;
    let has_grammar = |format: &Fields| choice(format, "type", &[("text", false), ("grammar", true)], false);
    if let Some(format) = &format
        && has_grammar(format)?
    {
        let grammar = format.required_object("grammar")?;
        let syntax = grammar.required_text("syntax")?;
        if syntax != "regex" {
            let path = grammar.path("syntax");
            let message = format!("{path}: only \"regex\" is possible inside of a call's arguments, not {syntax:?}");
            return Err(Error::invalid(message));
        }
        input["pattern"] = json!(format!("^(?:{})$", grammar.required_text("definition")?));
    }
    let parameters = json!({"type": "object", "properties": {CUSTOM_INPUT: input}, "required": [CUSTOM_INPUT]});
    Ok(Tool {
        name: names.read(custom)?.to_owned(),
        description: custom.text_or_empty("description")?,
        parameters: Arc::new(parameters),
        more: Map::new(),
    })
}

const TOOL_CHOICES: &[(&str, ToolChoice)] =
    &[("auto", ToolChoice::Auto), ("required", ToolChoice::Required), ("none", ToolChoice::None)];

/// The choice of tools, which may name some of those that are offered.
pub(super) fn tool_choice(body: &Fields, offered: &[Tool]) -> Result<(ToolChoice, Option<Vec<Tool>>)> {
    if !body.get("tool_choice").is_some_and(Value::is_object) {
        return Ok((choice(body, "tool_choice", TOOL_CHOICES, ToolChoice::Auto)?, None));
    }
    let given = body.required_object("tool_choice")?;
    if given.required_text("type")? != "allowed_tools" {
        return Ok((ToolChoice::Required, Some(vec![named(&given, offered)?])));
    }
    let allowed = given.required_object("allowed_tools")?;
    let mode = choice(&allowed, "mode", &TOOL_CHOICES[..2], ToolChoice::Auto)?;
    let tools = allowed.items("tools")?.iter().map(|tool| named(tool, offered)).collect::<Result<_>>()?;
    Ok((mode, Some(tools)))
}

/// The tool named by `{"type": "function", "function": {"name"}}`, or the same with `custom`.
fn named(given: &Fields, offered: &[Tool]) -> Result<Tool> {
    let is_custom = given.text("type")? == Some("custom");
    let function = if is_custom { given.required_object("custom")? } else { given.function()? };
    let name = function.required_text("name")?;
    let found = offered.iter().find(|tool| tool.name == name);
    found.cloned().ok_or_else(|| Error::invalid(format!("{}: there is no tool {name:?}", function.path("name"))))
}

/// The schema of the answer in `response_format`; `Null` for any text.
pub(super) fn response_format(body: &Fields) -> Result<Value> {
    let Some(format) = body.object("response_format")? else { return Ok(Value::Null) };
    match format.required_text("type")? {
        "text" => Ok(Value::Null),
        "json_object" => Ok(json!({"type": "object"})),
        "json_schema" => {
            let schema = format.required_object("json_schema")?;
            Ok(schema.get("schema").cloned().unwrap_or_else(|| json!({"type": "object"})))
        }
        other => {
            let path = format.path("type");
            Err(Error::invalid(format!("{path}: must be one of text, json_object, json_schema, not {other:?}")))
        }
    }
}

/// A conversation for the template, unchanged: each message must be an object, of any form. `messages`: those that are not
/// in `body`.
pub(super) fn plain(body: &Fields, messages: Option<Value>) -> Result<PlainConversation> {
    let given = |name: &str| {
        body.items(name)?;
        Ok(Arc::new(body.get(name).cloned().unwrap_or_default()))
    };
    let messages = match messages {
        Some(messages) => Arc::new(messages),
        None => given("messages")?,
    };
    Ok(PlainConversation { messages, tools: given("tools")?, documents: given("documents")? })
}

/// The tools of a plain request that the parser can use: those with a name, inside a `function` or directly.
pub(super) fn known_tools(tools: &Value) -> Vec<Tool> {
    let known = |given: &Value| {
        let function = given.get("function").and_then(Value::as_object).or_else(|| given.as_object())?;
        Some(Tool {
            name: function.get("name")?.as_str()?.to_owned(),
            description: function.get("description").and_then(Value::as_str).unwrap_or_default().to_owned(),
            parameters: Arc::new(function.get("parameters").cloned().unwrap_or_else(|| json!({}))),
            more: Map::new(),
        })
    };
    tools.as_array().into_iter().flatten().filter_map(known).collect()
}
