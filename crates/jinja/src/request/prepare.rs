//! Converts a request to the conversation of a render, with messages in the form that the template
//! takes. Follows llama.cpp.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::media;
use super::messages::{Messages, Shown};
use super::said::Said;
use super::tools::Tools;
use crate::probe::caps::{Form, Trials, UNKNOWN, reads_field};
use crate::text::Text;
use crate::{Conversation, Host, Template, system_clock};
use chatparse_base::{Error, Result, json, number};
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
        for media in &self.media {
            *counts.entry(&media.text).or_default() += 1;
        }
        let mut counts = counts.into_iter();
        counts.all(|(text, count)| prompt.matches(text).count() >= count)
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

/// A content of blocks, without empty blocks.
pub fn blocks(thought: &str, said: &str) -> Value {
    let mut blocks = vec![
        json!({"type": "thoughts", "text": thought}),
        json!({"type": "response", "text": said}),
    ];
    blocks.retain(|block| block["text"] != "");
    json!({"blocks": blocks})
}

impl ReasoningIn {
    pub(crate) fn of(trials: &Trials) -> Self {
        let (source, [usual, others @ ..]) = (trials.source, REASONING);
        if source.contains(usual) {
            return ReasoningIn::Usual;
        }
        let mut fields = others.to_vec();
        fields.retain(|field| reads_field(source, field));
        for field in &fields {
            let mut message = json!({"role": "assistant", "content": TRIED[1]});
            message[*field] = json!(TRIED[0]);
            if shows_tried(trials, &message) {
                return ReasoningIn::Field((*field).to_owned());
            }
        }
        let mut message = json!({"role": "assistant", "content": thinking_first(TRIED[0], vec![text_part(TRIED[1])])});
        message["content"][0]["unknown"] = json!(UNKNOWN);
        if fields.contains(&THINKING) && shows_tried(trials, &message) {
            return ReasoningIn::Part;
        }
        message["content"] = blocks(TRIED[0], TRIED[1]);
        message["content"]["unknown"] = json!(UNKNOWN);
        if reads_field(source, "blocks") && shows_tried(trials, &message) {
            return ReasoningIn::Blocks;
        }
        // Not in these places; an unused field does no harm.
        fields.retain(|field| source.contains(&format!(".{field}")));
        match fields.first() {
            Some(field) => ReasoningIn::Field((*field).to_owned()),
            None => ReasoningIn::Usual,
        }
    }
}

/// The reasoning and the content of the trial message.
const TRIED: [&str; 2] = ["REASONING_MARKER", "CONTENT_MARKER"];

/// Whether the prompt of the trial message has both texts, and the message is not printed as data.
fn shows_tried(trials: &Trials, message: &Value) -> bool {
    let prompt = trials.prompt_with(message).unwrap_or_default();
    TRIED.iter().all(|text| prompt.contains(text)) && !prompt.contains(UNKNOWN)
}

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
/// [`crate::ErrorKind::InvalidArgument`] if the request has a grammar and tools, or refuses
/// arguments that are no JSON object and a call has some.
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
    let mut messages = Vec::with_capacity(shown.len());
    for (index, message) in shown.iter().enumerate() {
        if let Some(texts) = texts(message, template, request.output.compat) {
            messages.push(Shown::Texts(texts));
            continue;
        }
        let mut message = Cow::Borrowed(message);
        if message.parts.iter().any(|part| part.source.is_some()) {
            let placed = media::placed(&message, index, template, request, native, &mut media);
            message = Cow::Owned(placed);
        }
        let mut json = message_json(&message, template, request.output.compat);
        fit_arguments(&mut json, index, template, request)?;
        messages.push(Shown::Json(json));
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
    let Continuation::Auto = continuation else {
        return continuation;
    };
    let reasons = last.is_some_and(|last| {
        !last.reasoning_content.is_empty() && last.content.is_empty() && last.parts.is_empty()
    });
    if reasons {
        Continuation::Reasoning
    } else {
        Continuation::Content
    }
}

/// The fields of a message that consists of texts, if the template takes them unchanged: equal to
/// the result of [`message_json`].
fn texts(
    message: &Message,
    template: &Template,
    compat: Compat,
) -> Option<Vec<(&'static str, Text)>> {
    let is_usual = message.parts.is_empty()
        && message.tool_calls.is_empty()
        && message.more.is_empty()
        && !template.ways.trims;
    let reasons =
        !message.reasoning_content.is_empty() && *template.reasoning_in() != ReasoningIn::Usual;
    let role = template.role(&message.role);
    let caps = template.caps();
    if !is_usual
        || reasons
        || caps.wants_parts()
        || role == "assistant" && caps.demanded_reasoning.is_some()
        || matches!(form(role, template, compat), Form::Parts | Form::Item)
    {
        return None;
    }
    let mut texts: Vec<(&'static str, Text)> = vec![
        ("role", role.into()),
        ("content", message.content.as_str().into()),
    ];
    texts.extend(
        message
            .further_texts()
            .map(|(name, text)| (name, text.into())),
    );
    Some(texts)
}

fn message_json(message: &Message, template: &Template, compat: Compat) -> Value {
    let mut message = Cow::Borrowed(message);
    if template.ways.trims {
        trim(message.to_mut());
    }
    // Reasoning among the parts stays there if the template renders it there, and the parts do not
    // become one text.
    let message = match template.reasoning_in() {
        ReasoningIn::Part if message.parts.iter().all(|part| part.kind != "media_marker") => {
            message.clone()
        }
        _ => message.with_reasoning_apart(),
    };
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
                let mut parts = as_parts(&json["content"]);
                parts.retain(|part| part["text"] != "");
                json["content"] = thinking_first(thought, parts);
            }
        }
    }
    template.caps().complete(&mut json);
    json
}

fn trim(message: &mut Message) {
    let parts = message.parts.iter_mut().filter(|part| part.kind == "text");
    let texts = [&mut message.content, &mut message.reasoning_content];
    for text in texts.into_iter().chain(parts.map(|part| &mut part.text)) {
        *text = text
            .trim_matches(|c: char| c.is_ascii_whitespace() || c == '\u{b}')
            .to_owned();
    }
}

/// Converts the content to the form that the template takes for this role; in llama.cpp's way, for
/// the user's. Parts with media stay.
fn fit_content(content: &mut Value, role: &str, template: &Template, compat: Compat) {
    let caps = template.caps();
    if let Value::Array(parts) = content
        && parts.iter().all(|part| part["type"] == "text")
    {
        let is_one = parts.len() == 1;
        let joined = match form(role, template, compat) {
            Form::Text | Form::Item => true,
            Form::Parts => false,
            Form::Both => is_one,
            Form::Unknown if compat == Compat::LlamaCpp => {
                caps.string_content && !caps.typed_content
            }
            Form::Unknown => is_one || !caps.wants_parts(),
        };
        if joined {
            *content = joined_texts(parts).into();
        }
    }
    if let Value::String(text) = content {
        *content = match form(role, template, compat) {
            Form::Item => json!([text]),
            Form::Parts => json!([text_part(text)]),
            Form::Both | Form::Unknown if caps.wants_parts() => json!([text_part(text)]),
            _ => return,
        };
    }
}

/// How a text of this role may be given; in llama.cpp's way, no role differs.
fn form(role: &str, template: &Template, compat: Compat) -> Form {
    match compat {
        Compat::LlamaCpp => Form::Unknown,
        _ => template.form(role),
    }
}

fn joined_texts(parts: &[Value]) -> String {
    let texts = parts.iter().map(|part| part["text"].as_str());
    join_parts(texts.map(|text| ("text", text.unwrap_or_default())))
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
        let said = joined_texts(&as_parts(&json["content"]));
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
                let why = match read {
                    Ok(_) => "not a JSON object".to_owned(),
                    Err(error) => format!("not JSON: {}", json::fault(error)),
                };
                let path = Said::Call(index, call_index).place();
                return Err(Error::invalid(format!("{path}: {why}")));
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
