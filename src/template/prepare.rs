//! From a request to the conversation that one render shows: the messages in the form that the template takes.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::exact;
use super::{Caps, Conversation, Template};
use crate::error::{Error, Result};
use crate::message::{Continuation, MalformedArguments, Message, Request, Tool, ToolChoice};

/// A request, ready to be rendered.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// What the template sees: without the message that the model continues.
    pub conversation: Conversation,
    /// Where the model continues; never [`Continuation::Auto`].
    pub continuation: Continuation,
    /// The message that the model continues, if it holds anything.
    pub continued: Option<Message>,
}

/// What a template's source alone says of how it wants its messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ways {
    /// StepFun loses itself in reasoning where a message ends in white space.
    trims: bool,
    /// Only templates with channels know a developer.
    knows_developer: bool,
    reasoning: ReasoningIn,
}

/// Where a template looks for reasoning, beside the usual field.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ReasoningIn {
    Usual,
    /// The field `thinking`.
    Thinking,
    /// A part of the content, of the type `thinking`.
    Part,
}

impl ReasoningIn {
    fn of(source: &str) -> Self {
        let has = |text: &str| source.contains(text);
        match (has("reasoning_content"), has("== 'thinking'") || has("== \"thinking\""), has(".thinking")) {
            (false, true, _) => ReasoningIn::Part,
            (false, false, true) => ReasoningIn::Thinking,
            _ => ReasoningIn::Usual,
        }
    }
}

impl Ways {
    pub(super) fn of(source: &str) -> Self {
        Ways {
            reasoning: ReasoningIn::of(source),
            trims: source.contains("You have access to the following functions in JSONSchema format"),
            knows_developer: source.contains("<|channel|>"),
        }
    }
}

/// Prepares `request` for `template`.
///
/// Errors: [`crate::ErrorKind::InvalidArgument`] where a grammar goes with tools, or where a call's arguments are no JSON
/// object and the request refuses such.
pub fn prepare(template: &Template, request: &Request) -> Result<Prepared> {
    if !request.tools.is_empty() && request.tool_choice != ToolChoice::None && !request.grammar.is_empty() {
        return Err(Error::invalid("grammar: cannot go with tools"));
    }
    let caps = template.caps();
    let continues = request.continuation != Continuation::None;
    let (last, shown) = match request.messages.split_last() {
        Some((last, shown)) if continues => (Some(last), shown),
        _ => (None, &request.messages[..]),
    };
    let mut messages = shown.iter().map(|message| message_json(message, template)).collect::<Vec<_>>();
    for (index, message) in messages.iter_mut().enumerate() {
        fit_arguments(message, index, template, request.malformed_arguments)?;
    }
    if !caps.system_role {
        fold_system_message(&mut messages);
    }
    let conversation = Conversation {
        messages: Arc::new(Value::Array(messages)),
        tools: Arc::new(tools_json(&request.tools)),
        enable_thinking: request.enable_thinking,
        add_generation_prompt: request.add_generation_prompt && !continues,
        extra: request.template_kwargs.clone(),
        now: request.now.unwrap_or_else(system_clock),
    };
    Ok(Prepared {
        conversation,
        continuation: resolve(request.continuation, last),
        continued: last.filter(|message| !message.is_empty()).cloned(),
    })
}

fn system_clock() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

/// A message that holds reasoning only is continued there, any other in its content.
fn resolve(continuation: Continuation, last: Option<&Message>) -> Continuation {
    match (continuation, last) {
        (Continuation::Auto, Some(message))
            if !message.reasoning_content.is_empty() && message.content.is_empty() && message.parts.is_empty() =>
        {
            Continuation::Reasoning
        }
        (Continuation::Auto, _) => Continuation::Content,
        (continuation, _) => continuation,
    }
}

fn tools_json(tools: &[Tool]) -> Value {
    if tools.is_empty() { Value::Null } else { tools.iter().map(Tool::to_json).collect() }
}

fn message_json(message: &Message, template: &Template) -> Value {
    let trimmed;
    let message = if template.ways.trims {
        trimmed = trim(message.clone());
        &trimmed
    } else {
        message
    };
    let mut json = message.to_json();
    if let Some(content) = json.get_mut("content") {
        fit_content(content, template.caps());
    }
    if message.role == "developer" && !template.ways.knows_developer {
        json["role"] = json!("system");
    }
    if !message.reasoning_content.is_empty() {
        let thought = json!(message.reasoning_content);
        match template.ways.reasoning {
            ReasoningIn::Usual => {}
            ReasoningIn::Thinking => json["thinking"] = thought,
            ReasoningIn::Part => {
                let said = as_parts(&json["content"]).into_iter().filter(|part| part["text"] != "");
                json["content"] = [json!({"type": "thinking", "thinking": thought})].into_iter().chain(said).collect();
            }
        }
    }
    json
}

fn trim(mut message: Message) -> Message {
    let trim =
        |text: &mut String| *text = text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\u{b}').to_owned();
    trim(&mut message.content);
    trim(&mut message.reasoning_content);
    message.parts.iter_mut().filter(|part| part.kind == "text").for_each(|part| trim(&mut part.text));
    message
}

/// Content in the only form that the template takes, where it takes only one.
fn fit_content(content: &mut Value, caps: &Caps) {
    match content {
        Value::String(text) if caps.wants_parts() => {
            *content = json!([{"type": "text", "text": text}]);
        }
        Value::Array(parts) if caps.string_content && !caps.typed_content => {
            let field = |part: &'_ Value, name: &str| part[name].as_str().unwrap_or_default().to_owned();
            let parts: Vec<(String, String)> =
                parts.iter().map(|part| (field(part, "type"), field(part, "text"))).collect();
            let joined = crate::message::join_parts(parts.iter().map(|(kind, text)| (kind.as_str(), text.as_str())));
            *content = Value::String(joined);
        }
        _ => {}
    }
}

/// Merges a leading system message into the next one, or drops it where there is none.
fn fold_system_message(messages: &mut Vec<Value>) {
    if messages.first().is_none_or(|first| first["role"] != "system") {
        return;
    }
    let system = messages.remove(0);
    if let Some(next) = messages.first_mut() {
        next["content"] = match (&system["content"], &next["content"]) {
            (Value::String(system), Value::String(next)) => Value::String(format!("{system}\n{next}")),
            (system, next) => [system, next].into_iter().flat_map(as_parts).collect(),
        };
    }
}

fn as_parts(content: &Value) -> Vec<Value> {
    match content {
        Value::Array(parts) => parts.clone(),
        text => vec![json!({"type": "text", "text": text})],
    }
}

/// Each call's arguments in the form that the template takes: as text, or as what the text says.
fn fit_arguments(message: &mut Value, index: usize, template: &Template, policy: MalformedArguments) -> Result<()> {
    let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
    for (call_index, call) in calls.into_iter().flatten().enumerate() {
        let arguments = &mut call["function"]["arguments"];
        let Some(text) = arguments.as_str() else { continue };
        let read = exact::read(text);
        let caps = template.caps();
        let empty = match (&read, policy) {
            (Ok(Value::Object(_)), _) => false,
            (_, MalformedArguments::Empty) => true,
            (read, MalformedArguments::Error) => {
                let trouble = match read {
                    Ok(_) => "no JSON object".to_owned(),
                    Err(error) => format!("no JSON: {error}"),
                };
                let path = format!("messages[{index}].tool_calls[{call_index}].function.arguments");
                return Err(Error::invalid(format!("{path}: {trouble}")));
            }
            (_, MalformedArguments::Keep) => {
                caps.object_arguments && text.trim().is_empty() || caps.tool_calls && !template.shows_any_arguments()
            }
        };
        *arguments = match (caps.object_arguments, empty, read) {
            (true, true, _) => json!({}),
            (false, true, _) => json!("{}"),
            (true, false, Ok(read)) => read,
            _ => continue,
        };
    }
    Ok(())
}
