//! OpenAI chat-completions JSON in and out: the only place that knows the wire's field names.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    BareCalls, CallsInReasoning, Continuation, Delta, DeltaKind, Dialects, GrammarStyle, Leniency, MalformedArguments,
    Message, Part, PlainConversation, ReasoningFormat, Request, Tool, ToolCall, ToolChoice, UnknownTools,
};
use crate::error::{Error, Result};

/// An object of the request, and the path to it for errors.
struct Fields<'a> {
    map: &'a Map<String, Value>,
    /// Fields that count before those of `map`.
    over: Option<&'a Map<String, Value>>,
    path: String,
}

impl<'a> Fields<'a> {
    fn new(value: &'a Value, path: impl Into<String>) -> Result<Fields<'a>> {
        let path = path.into();
        match value {
            Value::Object(map) => Ok(Fields { map, over: None, path }),
            other => Err(wrong(&path, "an object", other)),
        }
    }

    fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// The field, where it is there and not null.
    fn get(&self, name: &str) -> Option<&'a Value> {
        let over = self.over.and_then(|over| over.get(name));
        over.or_else(|| self.map.get(name)).filter(|value| !value.is_null())
    }

    fn required(&self, name: &str) -> Result<&'a Value> {
        self.get(name).ok_or_else(|| Error::invalid(format!("{}: missing", self.path(name))))
    }

    fn text(&self, name: &str) -> Result<Option<&'a str>> {
        self.get(name).map(|value| value.as_str().ok_or_else(|| wrong(&self.path(name), "a string", value))).transpose()
    }

    fn required_text(&self, name: &str) -> Result<&'a str> {
        self.required(name)?;
        Ok(self.text(name)?.unwrap_or_default())
    }

    fn text_or_empty(&self, name: &str) -> Result<String> {
        Ok(self.text(name)?.unwrap_or_default().to_owned())
    }

    fn flag(&self, name: &str, other: bool) -> Result<bool> {
        match self.get(name) {
            None => Ok(other),
            Some(value) => value.as_bool().ok_or_else(|| wrong(&self.path(name), "true or false", value)),
        }
    }

    /// The items of an array and their paths; none where the field is missing.
    fn items(&self, name: &str) -> Result<Vec<Fields<'a>>> {
        let path = self.path(name);
        match self.get(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => {
                items.iter().enumerate().map(|(index, item)| Fields::new(item, format!("{path}[{index}]"))).collect()
            }
            Some(other) => Err(wrong(&path, "an array", other)),
        }
    }

    /// The `function` of a tool or a call, whose `type` must say that it is one.
    fn function(&self) -> Result<Fields<'a>> {
        let kind = self.required_text("type")?;
        if kind != "function" {
            return Err(Error::invalid(format!("{}: only \"function\" is supported, not {kind:?}", self.path("type"))));
        }
        Fields::new(self.required("function")?, self.path("function"))
    }
}

fn wrong(path: &str, wanted: &str, got: &Value) -> Error {
    let got = match got {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    let path = if path.is_empty() { "the request" } else { path };
    Error::invalid(format!("{path}: must be {wanted}, not {got}"))
}

impl Request {
    /// Reads a request from JSON text.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] for text that is no JSON, and as [`Request::from_json`].
    pub fn from_text(text: &str) -> Result<Request> {
        let body =
            serde_json::from_str(text).map_err(|error| Error::invalid(format!("the request is no JSON: {error}")))?;
        Request::from_json(&body)
    }

    /// Reads a chat-completions body: `messages`, `tools`, `tool_choice`, `parallel_tool_calls` (default false), and our
    /// options `reasoning_format`, `malformed_arguments`, `dialects`, `unknown_tools`, `calls_in_reasoning`, `bare_calls`,
    /// `enable_thinking` (default true), `json_schema`, `grammar`, `grammar_style`, `add_generation_prompt` (default true),
    /// `continue_final_message`, `chat_template_kwargs`, `force_pure_content`, `now` and `plain`: the template sees `messages`, `tools`,
    /// `documents` and `chat_template_kwargs` as they are, and no other variable ([`PlainConversation`]).
    /// Null counts as missing, unknown fields are ignored.
    ///
    /// Errors: [`crate::ErrorKind::InvalidArgument`] naming the field, e.g. `messages[2].tool_calls[0].function.name`.
    pub fn from_json(body: &Value) -> Result<Request> {
        Request::read(&Fields::new(body, "")?)
    }

    /// [`Request::from_json`] with the host's options beside the client's body: an object of fields that are ours, each of which
    /// counts before the body's. So a host need not change what a client sent.
    ///
    /// Errors: as there; an option that is not known.
    pub fn from_json_with(body: &Value, options: &Value) -> Result<Request> {
        let options = Fields::new(options, "options")?;
        if let Some(unknown) = options.map.keys().find(|name| !OPTIONS.contains(&name.as_str())) {
            let message =
                format!("{}: there is no such option; there are {}", options.path(unknown), OPTIONS.join(", "));
            return Err(Error::invalid(message));
        }
        Request::read(&Fields { over: Some(options.map), ..Fields::new(body, "")? })
    }

    fn read(body: &Fields) -> Result<Request> {
        body.required("messages")?;
        let now = match body.get("now") {
            None => None,
            Some(value) => Some(value.as_i64().ok_or_else(|| wrong("now", "a whole number", value))?),
        };
        let mut template_kwargs = match body.get("chat_template_kwargs") {
            None => Map::new(),
            Some(value) => Fields::new(value, "chat_template_kwargs")?.map.clone(),
        };
        let plain = if body.flag("plain", false)? { Some(plain(body)?) } else { None };
        let (messages, tools) = match &plain {
            Some(plain) => (Vec::new(), known_tools(&plain.tools)),
            None => (
                body.items("messages")?.iter().map(message).collect::<Result<_>>()?,
                body.items("tools")?.iter().map(tool).collect::<Result<_>>()?,
            ),
        };
        let mut enable_thinking = body.flag("enable_thinking", true)?;
        if plain.is_some() {
            // The template sees what the request names; the parser knows what the template saw.
            if let Some(value) = body.get("enable_thinking") {
                template_kwargs.entry("enable_thinking").or_insert_with(|| value.clone());
            }
            enable_thinking = template_kwargs.get("enable_thinking").and_then(Value::as_bool).unwrap_or(true);
        }
        Ok(Request {
            messages,
            tools,
            plain,
            tool_choice: choice(body, "tool_choice", TOOL_CHOICES)?,
            parallel_tool_calls: body.flag("parallel_tool_calls", false)?,
            reasoning_format: choice(body, "reasoning_format", REASONING_FORMATS)?,
            malformed_arguments: choice(body, "malformed_arguments", MALFORMED_ARGUMENTS)?,
            leniency: Leniency {
                dialects: choice(body, "dialects", DIALECTS)?,
                unknown_tools: choice(body, "unknown_tools", UNKNOWN_TOOLS)?,
                calls_in_reasoning: choice(body, "calls_in_reasoning", CALLS_IN_REASONING)?,
                bare_calls: choice(body, "bare_calls", BARE_CALLS)?,
            },
            enable_thinking,
            json_schema: body.get("json_schema").cloned().unwrap_or_default(),
            grammar: body.text_or_empty("grammar")?,
            add_generation_prompt: body.flag("add_generation_prompt", true)?,
            continuation: match body.get("continue_final_message") {
                Some(Value::Bool(true)) => Continuation::Auto,
                Some(Value::String(part)) if part == "reasoning_content" => Continuation::Reasoning,
                Some(Value::String(part)) if part == "content" => Continuation::Content,
                _ => Continuation::None,
            },
            template_kwargs,
            grammar_style: choice(body, "grammar_style", GRAMMAR_STYLES)?,
            force_pure_content: body.flag("force_pure_content", false)?,
            now,
        })
    }
}

/// The fields that are ours, and not OpenAI's.
const OPTIONS: &[&str] = &[
    "add_generation_prompt",
    "bare_calls",
    "calls_in_reasoning",
    "chat_template_kwargs",
    "continue_final_message",
    "dialects",
    "enable_thinking",
    "force_pure_content",
    "grammar",
    "grammar_style",
    "json_schema",
    "malformed_arguments",
    "now",
    "plain",
    "reasoning_format",
    "unknown_tools",
];

const TOOL_CHOICES: &[(&str, ToolChoice)] =
    &[("auto", ToolChoice::Auto), ("required", ToolChoice::Required), ("none", ToolChoice::None)];

const REASONING_FORMATS: &[(&str, ReasoningFormat)] = &[
    ("none", ReasoningFormat::None),
    ("auto", ReasoningFormat::Auto),
    ("deepseek", ReasoningFormat::DeepSeek),
    ("deepseek-legacy", ReasoningFormat::DeepSeekLegacy),
];

const MALFORMED_ARGUMENTS: &[(&str, MalformedArguments)] =
    &[("keep", MalformedArguments::Keep), ("empty", MalformedArguments::Empty), ("error", MalformedArguments::Error)];

const DIALECTS: &[(&str, Dialects)] =
    &[("off", Dialects::Off), ("recover", Dialects::Recover), ("always", Dialects::Always)];

const UNKNOWN_TOOLS: &[(&str, UnknownTools)] = &[("call", UnknownTools::Call), ("content", UnknownTools::Content)];

const GRAMMAR_STYLES: &[(&str, GrammarStyle)] =
    &[("faithful", GrammarStyle::Faithful), ("llama.cpp", GrammarStyle::LlamaCpp)];

const BARE_CALLS: &[(&str, BareCalls)] =
    &[("off", BareCalls::Off), ("whole", BareCalls::Whole), ("anywhere", BareCalls::Anywhere)];

const CALLS_IN_REASONING: &[(&str, CallsInReasoning)] =
    &[("off", CallsInReasoning::Off), ("at_end", CallsInReasoning::AtEnd), ("always", CallsInReasoning::Always)];

fn choice<T: Copy + Default>(body: &Fields, name: &str, choices: &[(&str, T)]) -> Result<T> {
    let Some(text) = body.text(name)? else { return Ok(T::default()) };
    match choices.iter().find(|(known, _)| *known == text) {
        Some((_, choice)) => Ok(*choice),
        None => {
            let known: Vec<&str> = choices.iter().map(|(known, _)| *known).collect();
            Err(Error::invalid(format!("{name}: must be one of {}, not {text:?}", known.join(", "))))
        }
    }
}

fn message(fields: &Fields) -> Result<Message> {
    if !fields.map.contains_key("content") && !fields.map.contains_key("tool_calls") {
        return Err(Error::invalid(format!("{}: needs content or tool_calls", fields.path)));
    }
    let mut message = Message {
        role: fields.required_text("role")?.to_owned(),
        reasoning_content: reasoning(fields)?,
        tool_calls: fields.items("tool_calls")?.iter().map(tool_call).collect::<Result<_>>()?,
        name: fields.text_or_empty("name")?,
        tool_call_id: fields.text_or_empty("tool_call_id")?,
        ..Message::default()
    };
    match fields.get("content") {
        None => {}
        Some(Value::String(text)) => message.content = text.clone(),
        Some(Value::Array(_)) => message.parts = fields.items("content")?.iter().map(part).collect::<Result<_>>()?,
        Some(other) => return Err(wrong(&fields.path("content"), "a string or an array", other)),
    }
    Ok(message)
}

/// The reasoning of a message, which vendors call by other names, too.
fn reasoning(fields: &Fields) -> Result<String> {
    let other = ["thinking", "reasoning"].into_iter().find_map(|name| fields.get(name)?.as_str());
    Ok(fields.text("reasoning_content")?.or(other).unwrap_or_default().to_owned())
}

fn part(fields: &Fields) -> Result<Part> {
    let kind = fields.required_text("type")?;
    if kind != "text" && kind != "media_marker" {
        let path = fields.path("type");
        return Err(Error::invalid(format!("{path}: must be \"text\" or \"media_marker\", not {kind:?}")));
    }
    Ok(Part { kind: kind.to_owned(), text: fields.required_text("text")?.to_owned() })
}

fn tool_call(fields: &Fields) -> Result<ToolCall> {
    let function = fields.function()?;
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
        id: fields.text_or_empty("id")?,
    })
}

fn tool(fields: &Fields) -> Result<Tool> {
    let function = fields.function()?;
    Ok(Tool {
        name: function.required_text("name")?.to_owned(),
        description: function.text_or_empty("description")?,
        parameters: Arc::new(function.map.get("parameters").cloned().unwrap_or_else(|| json!({}))),
    })
}

/// The conversation as the template is to see it: each part must be an object, of any form.
fn plain(body: &Fields) -> Result<PlainConversation> {
    let given = |name: &str| {
        body.items(name)?;
        Ok(Arc::new(body.get(name).cloned().unwrap_or_default()))
    };
    Ok(PlainConversation { messages: given("messages")?, tools: given("tools")?, documents: given("documents")? })
}

/// Those of a template's tools that the parser can know: with a name, inside of a `function` or not.
fn known_tools(tools: &Value) -> Vec<Tool> {
    let known = |given: &Value| {
        let function = given.get("function").filter(|function| function.is_object()).unwrap_or(given);
        Some(Tool {
            name: function.get("name")?.as_str()?.to_owned(),
            description: function.get("description").and_then(Value::as_str).unwrap_or_default().to_owned(),
            parameters: Arc::new(function.get("parameters").cloned().unwrap_or_else(|| json!({}))),
        })
    };
    tools.as_array().into_iter().flatten().filter_map(known).collect()
}

impl Message {
    /// Reads one OpenAI message.
    ///
    /// Errors: [`crate::ErrorKind::InvalidArgument`] naming the field.
    pub fn from_json(json: &Value) -> Result<Message> {
        message(&Fields::new(json, "message")?)
    }

    /// The message as OpenAI JSON: `role` and `content` always, the rest where it is not empty. Typed parts stay an array,
    /// unless media is among them: then they become one text. Text goes before parts where both are there.
    pub fn to_json(&self) -> Value {
        let mut map = Map::new();
        map.insert("role".to_owned(), json!(self.role));
        map.insert("content".to_owned(), self.content_json());
        let texts = [
            ("reasoning_content", &self.reasoning_content),
            ("name", &self.name),
            ("tool_call_id", &self.tool_call_id),
        ];
        for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            map.insert(name.to_owned(), json!(text));
        }
        if !self.tool_calls.is_empty() {
            map.insert("tool_calls".to_owned(), self.tool_calls.iter().map(ToolCall::to_json).collect());
        }
        Value::Object(map)
    }

    fn content_json(&self) -> Value {
        if self.parts.is_empty() || !self.content.is_empty() {
            return json!(self.content);
        }
        if self.parts.iter().any(|part| part.kind == "media_marker") {
            return json!(super::join_parts(self.parts.iter().map(|part| (part.kind.as_str(), part.text.as_str()))));
        }
        self.parts.iter().map(|part| json!({"type": part.kind, "text": part.text})).collect()
    }
}

/// Deltas as the `delta` object of one OpenAI chunk: texts of one field are joined, and each call they touch is one entry of
/// `tool_calls`, with its `index`; its `type` comes with its name. Empty where they add nothing.
pub fn chunk_delta<'a>(deltas: impl Iterator<Item = Delta<'a>>) -> Value {
    let mut chunk = Map::new();
    for delta in deltas {
        let field = match delta.kind {
            DeltaKind::Reasoning => "reasoning_content",
            DeltaKind::Content => "content",
            DeltaKind::ToolId => "id",
            DeltaKind::ToolName => "name",
            DeltaKind::ToolArguments => "arguments",
            _ => continue,
        };
        let fields = match delta.kind {
            DeltaKind::Reasoning | DeltaKind::Content => &mut chunk,
            _ => chunk_call(&mut chunk, &delta),
        };
        match fields.entry(field).or_insert_with(|| json!("")) {
            Value::String(text) => text.push_str(delta.text),
            other => *other = json!(delta.text),
        }
    }
    Value::Object(chunk)
}

/// Where a delta of a call goes: its entry, or the `function` in it.
fn chunk_call<'a>(chunk: &'a mut Map<String, Value>, delta: &Delta) -> &'a mut Map<String, Value> {
    let calls = chunk.entry("tool_calls").or_insert_with(|| json!([]));
    let calls = calls.as_array_mut().expect("made above");
    // Deltas come in the order of their calls.
    if calls.last().is_none_or(|call| call["index"] != delta.call) {
        calls.push(json!({"index": delta.call}));
    }
    let call = calls.last_mut().and_then(Value::as_object_mut).expect("made above");
    if delta.kind == DeltaKind::ToolId {
        return call;
    }
    if delta.kind == DeltaKind::ToolName {
        call.insert("type".to_owned(), json!("function"));
    }
    let function = call.entry("function").or_insert_with(|| json!({}));
    function.as_object_mut().expect("made above")
}

impl ToolCall {
    /// The call as OpenAI JSON; `id` only where there is one.
    pub fn to_json(&self) -> Value {
        let mut call = json!({"type": "function", "function": {"name": self.name, "arguments": self.arguments}});
        if !self.id.is_empty() {
            call["id"] = json!(self.id);
        }
        call
    }
}

impl Tool {
    /// The tool as OpenAI JSON.
    pub fn to_json(&self) -> Value {
        // The value is cloned: `json!` would serialise it.
        let mut tool = json!({"type": "function", "function": {"name": self.name, "description": self.description}});
        tool["function"]["parameters"] = Value::clone(&self.parameters);
        tool
    }
}
