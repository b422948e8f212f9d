//! The vocabulary: messages, tools and requests as plain data. Imports nothing but `error`.

mod body;
mod delta;
pub(crate) mod fields;
mod openai;
mod read;
mod report;
mod request;

pub use delta::{Delta, DeltaKind};
pub use openai::chunk_delta;
pub(crate) use openai::{text_part, thinking_part};
pub use report::{CallOrigin, CallReport, Diagnostic, DiagnosticKind, OutputPart, PartKind, Report, Status};
pub(crate) use request::{OPTIONS, messages_from_json};

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What the reasoning of a message may be called; the first one that is there counts.
pub(crate) const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// The kind of a part that is reasoning, and the field that holds it.
pub(crate) const THINKING: &str = "thinking";

/// One message of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// `system`, `user`, `assistant`, `tool`, `developer`, or whatever the template knows.
    pub role: String,
    /// The text. Empty where [`Message::parts`] holds it.
    pub content: String,
    /// Typed content parts, in order; empty for plain text.
    pub parts: Vec<Part>,
    /// The model's reasoning, apart from the content.
    pub reasoning_content: String,
    /// Calls that an assistant message makes.
    pub tool_calls: Vec<ToolCall>,
    /// `name`: the tool's name in a tool result.
    pub name: String,
    /// `tool_call_id`: which call a tool result answers.
    pub tool_call_id: String,
}

impl Message {
    /// A message of text.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Self {
        Message { role: role.into(), content: content.into(), ..Message::default() }
    }

    /// Whether the message holds nothing but a role.
    pub fn is_empty(&self) -> bool {
        let texts = [&self.content, &self.reasoning_content, &self.name, &self.tool_call_id];
        texts.iter().all(|text| text.is_empty()) && self.parts.is_empty() && self.tool_calls.is_empty()
    }

    /// The message with the reasoning among its parts in [`Message::reasoning_content`], behind what is there; each on a line of its
    /// own.
    pub fn with_reasoning_apart(&self) -> Cow<'_, Message> {
        if self.parts.iter().all(|part| part.kind != THINKING) {
            return Cow::Borrowed(self);
        }
        let mut message = self.clone();
        let (thoughts, parts): (Vec<Part>, Vec<Part>) =
            std::mem::take(&mut message.parts).into_iter().partition(|part| part.kind == THINKING);
        message.parts = parts;
        let all = [&*self.reasoning_content].into_iter().chain(thoughts.iter().map(|part| &*part.text));
        message.reasoning_content = all.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
        Cow::Owned(message)
    }

    /// The content as one text: parts of kind `text` with a blank line between them.
    pub fn text(&self) -> String {
        if !self.content.is_empty() {
            return self.content.clone();
        }
        let texts = self.parts.iter().filter(|part| part.kind == "text").map(|part| part.text.as_str());
        texts.collect::<Vec<_>>().join("\n\n")
    }
}

/// Typed parts, as kind and text, as one text: each text on a line of its own, media markers right where they stand.
pub(crate) fn join_parts<'a>(parts: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut joined = String::new();
    let mut after_media = false;
    for (kind, text) in parts {
        if kind == "text" && !after_media && !joined.is_empty() {
            joined.push('\n');
        }
        after_media = kind != "text";
        joined.push_str(text);
    }
    joined
}

/// One typed part of a message's content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Part {
    /// `text`, `thinking` (reasoning between other parts), `media_marker`, or what media it holds: `image`, `audio`, `video` or
    /// `file`.
    pub kind: String,
    /// The text, the reasoning or the marker's text; empty for media.
    pub text: String,
    /// Media as the request has it, e.g. `{"type": "image_url", "image_url": {"url": ...}}`; `None` for other parts.
    pub source: Option<Arc<Value>>,
}

/// Media that a prompt wants: what the host gives its model at that place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Media {
    /// `image`, `audio`, `video` or `file`.
    pub kind: String,
    /// Index of its message in the request.
    pub message: usize,
    /// Index of its part in that message's content.
    pub part: usize,
    /// Whether the template wrote `text`, or the host's marker had to stand in.
    pub native: bool,
    /// What stands in the prompt for it.
    pub text: String,
    /// The part as the request has it.
    pub source: Arc<Value>,
}

/// One call of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolCall {
    /// The tool's name.
    pub name: String,
    /// The arguments as JSON text (a raw prefix of it where the output was cut off).
    pub arguments: String,
    /// The id, empty where the format has none.
    pub id: String,
}

impl ToolCall {
    /// A call: the tool's name, the arguments as JSON text, and the id, empty for none.
    pub fn new(name: impl Into<String>, arguments: impl Into<String>, id: impl Into<String>) -> Self {
        ToolCall { name: name.into(), arguments: arguments.into(), id: id.into() }
    }
}

/// A tool that the model may call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Tool {
    /// The function's name.
    pub name: String,
    /// What it does; may be empty.
    pub description: String,
    /// Its JSON schema as given; an empty object where the request had none.
    pub parameters: Arc<Value>,
    /// What else templates show of it: `strict` and `return`, where the request has them.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub more: Map<String, Value>,
}

impl Tool {
    /// A tool: its name, what it does, and the JSON schema of its arguments.
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        Tool { name: name.into(), description: description.into(), parameters: Arc::new(parameters), more: Map::new() }
    }
}

/// Whether the model may, must or must not call tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// At least one call.
    Required,
    /// No calls; tools are still rendered.
    None,
}

/// What to do with the model's reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReasoningFormat {
    /// Leave it in the content.
    #[default]
    None,
    /// Extract it into `reasoning_content`.
    Auto,
    /// As [`ReasoningFormat::Auto`].
    DeepSeek,
    /// As [`ReasoningFormat::Auto`].
    DeepSeekLegacy,
}

/// Whether the last message is to be continued by the model, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Continuation {
    /// The model starts a new message.
    #[default]
    None,
    /// In the reasoning where the message has nothing else, otherwise in the content.
    Auto,
    /// In the reasoning.
    Reasoning,
    /// In the content.
    Content,
}

/// What a prompt shows for arguments of an earlier call that are no JSON object, as models at times write them and hosts keep
/// them: one such call must not spoil a conversation for good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MalformedArguments {
    /// Their text. Where the template takes arguments as an object: a JSON string, or `{}` for no text at all. `{}` also where
    /// the template would fail on the text or leave it out.
    #[default]
    Keep,
    /// `{}`.
    Empty,
    /// Nothing: the request is refused.
    Error,
}

/// Where calls are read that a model writes in another way than its template does, as models fall back to what they were
/// trained on before. Only where tools may be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Dialects {
    /// Nowhere: what is not in the template's format is content.
    Off,
    /// Once the output has left the format.
    #[default]
    Recover,
    /// In all content. Text that may become such a call waits until that is certain.
    Always,
}

/// What becomes of calls of tools that the request does not offer, where the format marks calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum UnknownTools {
    /// They are calls, and reported. Agents answer them with the tools that there are.
    #[default]
    Call,
    /// They are content.
    Content,
}

/// What becomes of calls inside reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallsInReasoning {
    /// They are reasoning.
    #[default]
    Off,
    /// They are calls if the output ends with them and the reasoning was not closed. What may be such a call waits.
    AtEnd,
    /// They are calls.
    Always,
}

/// Where a JSON object that reads like a call, and that no marker tells from what a model quotes, is a call. This is not about
/// templates whose own calls are such objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BareCalls {
    /// Nowhere.
    Off,
    /// Where the whole answer is nothing but calls of tools that are on offer. Such an answer shows at its end.
    #[default]
    Whole,
    /// Wherever other dialects are read.
    Anywhere,
}

/// What the opening of the reasoning is where the model writes it once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OpeningAgain {
    /// A marker: it is left out.
    #[default]
    Marker,
    /// Text of the reasoning.
    Reasoning,
}

/// What becomes of output that is not quite in the template's format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Leniency {
    /// Calls in other ways of writing them.
    pub dialects: Dialects,
    /// Calls of tools that nobody offered.
    pub unknown_tools: UnknownTools,
    /// Calls in reasoning.
    pub calls_in_reasoning: CallsInReasoning,
    /// Calls without a marker.
    #[serde(default)]
    pub bare_calls: BareCalls,
    /// Reasoning that is opened twice.
    #[serde(default)]
    pub opening_again: OpeningAgain,
}

/// How schemas become rules of a grammar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GrammarStyle {
    /// What the schema allows, as nearly as a grammar can.
    #[default]
    Faithful,
    /// The text that llama.cpp makes of the schema, from 0.5.0 on.
    LlamaCpp,
    /// The text of the versions before: as there, but `{}` is any object.
    LlamaCppB10587,
}

/// A conversation that nobody prepares for the template: JSON as the host has it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlainConversation {
    /// An array of messages with any fields.
    pub messages: Arc<Value>,
    /// An array of tools of any form, or `Null`.
    pub tools: Arc<Value>,
    /// An array of documents, or `Null`.
    pub documents: Arc<Value>,
}

/// A chat-completions request: what [`crate::chat`] needs to make a prompt and a parser.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// The conversation.
    pub messages: Vec<Message>,
    /// The tools on offer.
    pub tools: Vec<Tool>,
    /// May, must or must not.
    pub tool_choice: ToolChoice,
    /// Those of the tools that may be called; `None`: all of them. The template shows all.
    pub allowed_tools: Option<Vec<Tool>>,
    /// More than one call in a message.
    pub parallel_tool_calls: bool,
    /// What happens to reasoning.
    pub reasoning_format: ReasoningFormat,
    /// What to do with arguments in the history that are no JSON object.
    pub malformed_arguments: MalformedArguments,
    /// What becomes of output that is not quite in the template's format.
    pub leniency: Leniency,
    /// The template variable `enable_thinking`.
    pub enable_thinking: bool,
    /// Schema of a structured response; `Null` for none.
    pub json_schema: Value,
    /// The caller's own GBNF; empty for none. Cannot go with tools.
    pub grammar: String,
    /// Whether the prompt ends with the opening of the assistant's turn.
    pub add_generation_prompt: bool,
    /// Continue the last message instead of starting one.
    pub continuation: Continuation,
    /// What stands in the prompt for media that the template does not show.
    pub media_marker: String,
    /// Extra template variables; they win over ours.
    pub template_kwargs: Map<String, Value>,
    /// How schemas become rules of the grammar.
    pub grammar_style: GrammarStyle,
    /// The conversation as the template is to see it, instead of `messages`: transformers' way to a prompt. `tools` are what the
    /// parser knows.
    pub plain: Option<PlainConversation>,
    /// Learn nothing, parse everything as content.
    pub force_pure_content: bool,
    /// The only clock a template sees: Unix seconds, UTC. `None`: the system's clock, where it has one (WebAssembly has none
    /// without WASI, and a template that asks for the date is refused).
    pub now: Option<i64>,
}
