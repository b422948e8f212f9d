//! Converts a request to the conversation of a render, with messages in the form that the template
//! takes. Follows llama.cpp.

use std::borrow::Cow;
use std::collections::HashMap;

use minijinja::value::Value as Engine;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::media;
use super::messages::{Messages, Shown};
use super::tools::Tools;
use crate::probe::caps::{Form, UNKNOWN, reads_field};
use crate::{Conversation, Host, Template, system_clock};
use chatparse_base::{Error, Result, number};
use chatparse_message::{
    Compat, Continuation, MalformedArguments, Media, Message, REASONING, Request, THINKING,
    TOOL_REFERENCE, ToolChoice, join_parts, text_part, thinking_part,
};

/// A request, converted for rendering.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// The input of the template, without the message that the model continues.
    pub conversation: Conversation,
    /// The part of the message that the model continues; never [`Continuation::Auto`].
    pub continuation: Continuation,
    /// The message that the model continues, if it is not empty.
    pub continued: Option<Message>,
    /// The media in the prompt, in order.
    pub media: Vec<Media>,
}

impl Prepared {
    /// Whether the prompt has each text of media as often as there are media with it.
    pub fn is_shown(&self, prompt: &str) -> bool {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        self.media
            .iter()
            .for_each(|media| *counts.entry(&media.text).or_default() += 1);
        counts
            .into_iter()
            .all(|(text, count)| prompt.matches(text).count() >= count)
    }
}

/// Requirements on messages that the template's source determines.
#[derive(Clone, Copy, Debug)]
pub struct Ways {
    /// StepFun's model reasons endlessly if a message ends in white space.
    trims: bool,
    /// Only templates with channels support the role `developer`.
    knows_developer: bool,
    /// The template shows deferred tools by itself.
    pub knows_deferred: bool,
}

/// Where a template reads reasoning, in addition to the usual field.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub enum ReasoningIn {
    /// In `reasoning_content`, or nowhere.
    Usual,
    /// Another field: one of [`REASONING`].
    Field(String),
    /// A part of the content, of the type `thinking`.
    Part,
    /// A content of blocks, of the types `thoughts` and `response`, which all answers of the
    /// conversation then have.
    Blocks,
}

/// A content of blocks, without those that are empty.
pub fn blocks(thought: &str, said: &str) -> Value {
    let mut blocks = vec![
        json!({"type": "thoughts", "text": thought}),
        json!({"type": "response", "text": said}),
    ];
    blocks.retain(|block| block["text"] != "");
    json!({"blocks": blocks})
}

impl ReasoningIn {
    /// `prompt` renders a conversation that ends with an assistant message.
    pub(crate) fn of(source: &str, prompt: impl Fn(&Value) -> Option<String>) -> Self {
        let [usual, others @ ..] = REASONING;
        if source.contains(usual) {
            return ReasoningIn::Usual;
        }
        let fields: Vec<&'static str> = others
            .into_iter()
            .filter(|field| reads_field(source, field))
            .collect();
        let mut part = json!({"role": "assistant", "content": thinking_first(TRIED[0], vec![text_part(TRIED[1])])});
        part["content"][0]["unknown"] = json!(UNKNOWN);
        let mut in_blocks = json!({"role": "assistant", "content": blocks(TRIED[0], TRIED[1])});
        in_blocks["content"]["unknown"] = json!(UNKNOWN);
        let shows = |message: &Value| {
            let prompt = prompt(message).unwrap_or_default();
            TRIED.iter().all(|text| prompt.contains(text)) && !prompt.contains(UNKNOWN)
        };
        let in_field = fields.iter().find(|field| {
            let mut message = json!({"role": "assistant", "content": TRIED[1]});
            message[**field] = json!(TRIED[0]);
            shows(&message)
        });
        if let Some(field) = in_field {
            ReasoningIn::Field((*field).to_owned())
        } else if fields.contains(&THINKING) && shows(&part) {
            ReasoningIn::Part
        } else if reads_field(source, "blocks") && shows(&in_blocks) {
            ReasoningIn::Blocks
        } else {
            // Not in these places; an unused field does no harm.
            let read = fields
                .into_iter()
                .find(|field| source.contains(&format!(".{field}")));
            read.map_or(ReasoningIn::Usual, |field| {
                ReasoningIn::Field(field.to_owned())
            })
        }
    }
}

/// The reasoning and the content of the trial message.
const TRIED: [&str; 2] = ["REASONING_MARKER", "CONTENT_MARKER"];

fn thinking_first(thought: &str, said: Vec<Value>) -> Value {
    [thinking_part(thought)].into_iter().chain(said).collect()
}

impl Ways {
    pub fn of(source: &str) -> Self {
        Ways {
            trims: source
                .contains("You have access to the following functions in JSONSchema format"),
            knows_developer: source.contains("<|channel|>"),
            knows_deferred: reads_field(source, "defer_loading")
                && reads_field(source, TOOL_REFERENCE),
        }
    }
}

impl Template {
    /// The name of a role in messages for the template.
    pub(super) fn role<'r>(&self, role: &'r str) -> &'r str {
        if role == "developer" && !self.ways.knows_developer {
            "system"
        } else {
            role
        }
    }
}

/// Converts `request` for `template`. `native`: media may have the text that the template writes
/// for them.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] where a grammar goes with tools, or where a call's
/// arguments are no JSON object and the request refuses such.
pub fn prepare(template: &Template, request: &Request, native: bool) -> Result<Prepared> {
    let callable = request.allowed_tools.as_ref().unwrap_or(&request.tools);
    if !callable.is_empty()
        && request.output.tool_choice != ToolChoice::None
        && !request.grammar.is_empty()
    {
        return Err(Error::invalid("grammar: cannot go with tools"));
    }
    let caps = template.caps();
    let continues = request.continuation != Continuation::None;
    let (last, shown) = match request.messages.split_last() {
        Some((last, shown)) if continues => (Some(last), shown),
        _ => (None, &request.messages[..]),
    };
    let last = last.map(Message::with_reasoning_apart);
    let mut media = Vec::new();
    let mut placed = |index: usize, message: &Message| {
        if let Some(texts) = texts(message, template, request.output.compat) {
            return Shown::Texts(texts);
        }
        if message.parts.iter().all(|part| part.source.is_none()) {
            return Shown::Json(message_json(message, template, request.output.compat));
        }
        let placed = media::placed(message, index, template, request, native, &mut media);
        Shown::Json(message_json(&placed, template, request.output.compat))
    };
    let mut messages: Vec<Shown> = shown
        .iter()
        .enumerate()
        .map(|(index, message)| placed(index, message))
        .collect();
    for (index, message) in messages.iter_mut().enumerate() {
        if let Shown::Json(message) = message {
            fit_arguments(message, index, template, request)?;
        }
    }
    if !caps.system_role {
        fold_system_message(&mut messages);
    }
    if *template.reasoning_in() == ReasoningIn::Blocks {
        write_blocks(&mut messages);
    }
    let conversation = Conversation {
        messages: Messages::new(messages),
        tools: Tools::Own(request.tools.as_slice().into()),
        enable_thinking: request.output.enable_thinking,
        add_generation_prompt: request.add_generation_prompt && !continues,
        host: if request.output.compat == Compat::LlamaCpp {
            Host::LlamaCpp
        } else {
            Host::Own
        },
        extra: request.template_kwargs.clone(),
        now: request.now.or_else(system_clock),
    };
    Ok(Prepared {
        conversation,
        continuation: resolve(request.continuation, last.as_deref()),
        continued: last
            .filter(|message| !message.is_empty())
            .map(Cow::into_owned),
        media,
    })
}

/// A message with reasoning only is continued there, any other in its content.
pub fn resolve(continuation: Continuation, last: Option<&Message>) -> Continuation {
    match (continuation, last) {
        (Continuation::Auto, Some(message))
            if !message.reasoning_content.is_empty()
                && message.content.is_empty()
                && message.parts.is_empty() =>
        {
            Continuation::Reasoning
        }
        (Continuation::Auto, _) => Continuation::Content,
        (continuation, _) => continuation,
    }
}

/// The fields of a message that consists of texts, if the template takes them unchanged: equal to
/// the result of [`message_json`].
fn texts(
    message: &Message,
    template: &Template,
    compat: Compat,
) -> Option<Vec<(&'static str, Engine)>> {
    let is_usual = message.parts.is_empty()
        && message.tool_calls.is_empty()
        && message.more.is_empty()
        && !template.ways.trims;
    let reasons =
        !message.reasoning_content.is_empty() && *template.reasoning_in() != ReasoningIn::Usual;
    let role = template.role(&message.role);
    if !is_usual || reasons || template.caps().wants_parts() || is_listed(role, template, compat) {
        return None;
    }
    let texts = [("role", role), ("content", &message.content)]
        .into_iter()
        .chain(message.further_texts());
    let mut texts: Vec<(&'static str, Engine)> = texts
        .map(|(name, text)| (name, Engine::from(text)))
        .collect();
    let demanded = template
        .caps()
        .demanded_reasoning
        .as_deref()
        .filter(|_| role == "assistant");
    let missing = REASONING.into_iter().find(|field| demanded == Some(field));
    if let Some(field) = missing.filter(|field| texts.iter().all(|(name, _)| name != field)) {
        texts.push((field, Engine::from("")));
    }
    Some(texts)
}

fn message_json(message: &Message, template: &Template, compat: Compat) -> Value {
    let trimmed;
    let message = if template.ways.trims {
        trimmed = trim(message.clone());
        &trimmed
    } else {
        message
    };
    // Reasoning among the parts stays there if the template renders it there, and they do not
    // become one text.
    let apart = match template.reasoning_in() {
        ReasoningIn::Part if message.parts.iter().all(|part| part.kind != "media_marker") => {
            Cow::Borrowed(message)
        }
        _ => message.with_reasoning_apart(),
    };
    let message = &*apart;
    let mut json = message.to_json();
    let role = template.role(&message.role);
    json["role"] = json!(role);
    if let Some(content) = json.get_mut("content") {
        fit_content(content, role, template, compat);
    }
    if !message.reasoning_content.is_empty() {
        let thought = &message.reasoning_content;
        match template.reasoning_in() {
            ReasoningIn::Usual | ReasoningIn::Blocks => {}
            ReasoningIn::Field(name) => json[&**name] = json!(thought),
            ReasoningIn::Part => {
                let said = as_parts(&json["content"])
                    .into_iter()
                    .filter(|part| part["text"] != "");
                json["content"] = thinking_first(thought, said.collect());
            }
        }
    }
    template.caps().complete(&mut json);
    json
}

fn trim(mut message: Message) -> Message {
    let trim = |text: &mut String| {
        *text = text
            .trim_matches(|c: char| c.is_ascii_whitespace() || c == '\u{b}')
            .to_owned()
    };
    trim(&mut message.content);
    trim(&mut message.reasoning_content);
    message
        .parts
        .iter_mut()
        .filter(|part| part.kind == "text")
        .for_each(|part| trim(&mut part.text));
    message
}

/// Converts the content to the form that the template takes for this role; in llama.cpp's way, for
/// the user's. Parts with media stay.
fn fit_content(content: &mut Value, role: &str, template: &Template, compat: Compat) {
    let caps = template.caps();
    let form = || {
        if compat == Compat::LlamaCpp {
            Form::Unknown
        } else {
            template.form(role)
        }
    };
    if let Value::Array(parts) = content
        && parts.iter().all(is_text)
    {
        let is_one = parts.len() == 1;
        let joined = match form() {
            Form::Text | Form::Item => true,
            Form::Parts => false,
            Form::Both => is_one,
            Form::Unknown if compat == Compat::LlamaCpp => {
                caps.string_content && !caps.typed_content
            }
            Form::Unknown => is_one || !caps.wants_parts(),
        };
        if joined {
            let texts = parts
                .iter()
                .map(|part| ("text", part["text"].as_str().unwrap_or_default()));
            *content = Value::String(join_parts(texts));
        }
    }
    if let Value::String(text) = content
        && (is_listed(role, template, compat) || caps.wants_parts() && form() != Form::Text)
    {
        *content = json!([if form() == Form::Item {
            json!(text)
        } else {
            text_part(text)
        }]);
    }
}

/// Whether a text of this role is shown in a list only: the template goes through its letters.
fn is_listed(role: &str, template: &Template, compat: Compat) -> bool {
    compat == Compat::Off && matches!(template.form(role), Form::Parts | Form::Item)
}

fn is_text(part: &Value) -> bool {
    part["type"] == "text"
}

/// Merges a leading system message into the next message, or drops it if there is none.
fn fold_system_message(messages: &mut Vec<Shown>) {
    let first = messages.first().map(Shown::to_json).unwrap_or_default();
    if first["role"] != "system" {
        return;
    }
    messages.remove(0);
    if let Some(next) = messages.first_mut() {
        let mut json = next.to_json();
        json["content"] = match (&first["content"], &json["content"]) {
            (Value::String(system), Value::String(next)) => {
                Value::String(format!("{system}\n{next}"))
            }
            (system, next) => [system, next].into_iter().flat_map(as_parts).collect(),
        };
        *next = Shown::Json(json);
    }
}

fn as_parts(content: &Value) -> Vec<Value> {
    match content {
        Value::Array(parts) => parts.clone(),
        text => vec![text_part(text.as_str().unwrap_or_default())],
    }
}

/// Gives all answers a content of blocks, if one of them has reasoning.
fn write_blocks(messages: &mut [Shown]) {
    let mut answers = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let json = message.to_json();
        if json["role"] == "assistant" {
            answers.push((index, json));
        }
    }
    if answers
        .iter()
        .all(|(_, json)| json[REASONING[0]] == "" || json[REASONING[0]].is_null())
    {
        return;
    }
    for (index, mut json) in answers {
        let parts = as_parts(&json["content"]);
        let said = join_parts(
            parts
                .iter()
                .map(|part| ("text", part["text"].as_str().unwrap_or_default())),
        );
        json["content"] = blocks(json[REASONING[0]].as_str().unwrap_or_default(), &said);
        messages[index] = Shown::Json(json);
    }
}

/// Converts the arguments of each call to the form that the template takes: text, or the value in
/// the text.
fn fit_arguments(
    message: &mut Value,
    index: usize,
    template: &Template,
    request: &Request,
) -> Result<()> {
    let is_ours = request.output.compat == Compat::Off;
    let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
    for (call_index, call) in calls.into_iter().flatten().enumerate() {
        let arguments = &mut call["function"]["arguments"];
        let Some(text) = arguments.as_str() else {
            continue;
        };
        let read = number::read::<Value>(text);
        let caps = template.caps();
        let empty = match (&read, request.malformed_arguments) {
            (Ok(Value::Object(_)), _) => false,
            (Ok(Value::Null), _) if is_ours => true,
            (_, MalformedArguments::Empty) => true,
            (read, MalformedArguments::Error) => {
                let trouble = match read {
                    Ok(_) => "not a JSON object".to_owned(),
                    Err(error) => format!("not JSON: {error}"),
                };
                let path = format!("messages[{index}].tool_calls[{call_index}].function.arguments");
                return Err(Error::invalid(format!("{path}: {trouble}")));
            }
            _ if text.trim().is_empty() && (is_ours || caps.object_arguments) => true,
            _ => caps.tool_calls && !template.shows_any_arguments(),
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
