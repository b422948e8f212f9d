//! Messages, tools and requests as plain data, with their JSON forms. Most other modules use these
//! types.
//!
//! - **In:** the JSON of a request or a message, and the options of the host.
//! - **Out:** [`Request`], [`Message`], [`Tool`] and [`OutputOptions`], or an error that names the
//!   field.
//! - **Never:** it renders nothing, and decides nothing about formats.
#![forbid(unsafe_code)]

#[macro_use]
extern crate chatparse_base;

mod body;
mod client_tools;
pub mod fields;
mod known;
mod known_tools;
mod lark;
mod openai;
mod read;
mod renewed;
mod request;

pub use chatparse_base::json::Written;
pub use chatparse_base::{Error, ErrorKind, Result};
pub use client_tools::ClientTool;
pub use known::{CHAT, COMMON_TEXT, Kind, Row, Table};
pub use known_tools::KnownTools;
pub use openai::{text_part, thinking_part};
pub use request::{OPTIONS, messages_from_json, thinks};

use std::borrow::Cow;
use std::sync::Arc;

use chatparse_base::json;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The roles of messages that templates know.
pub const ROLES: [&str; 4] = ["system", "user", "assistant", "tool"];

/// The names of the field for a message's reasoning; the first one that is present is used.
pub const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// The kind of a part with reasoning, and the field of its text.
pub const THINKING: &str = "thinking";

/// The kind of a part that reveals a deferred tool, and its type in a request.
pub const TOOL_REFERENCE: &str = "tool_reference";

/// One message of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// `system`, `user`, `assistant`, `tool`, `developer`, or another role that the template
    /// accepts.
    pub role: String,
    /// The text. Empty if [`Message::parts`] is used.
    pub content: String,
    /// Typed content parts, in order; empty for plain text.
    pub parts: Vec<Part>,
    /// The model's reasoning, separate from the content.
    pub reasoning_content: String,
    /// Calls that an assistant message makes.
    pub tool_calls: Vec<ToolCall>,
    /// `name`: the tool's name in a tool result.
    pub name: String,
    /// `tool_call_id`: the call that a tool result answers.
    pub tool_call_id: String,
    /// Further fields of the request, which templates may read.
    pub more: Map<String, Value>,
}

impl Message {
    /// A message of text.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Self {
        Message {
            role: role.into(),
            content: content.into(),
            ..Message::default()
        }
    }

    /// Whether the message holds nothing but a role.
    pub fn is_empty(&self) -> bool {
        *self
            == Message {
                role: self.role.clone(),
                ..Message::default()
            }
    }

    /// The message with the reasoning parts moved to [`Message::reasoning_content`], after its
    /// text; each on a separate line.
    pub fn with_reasoning_apart(&self) -> Cow<'_, Message> {
        if self.parts.iter().all(|part| part.kind != THINKING) {
            return Cow::Borrowed(self);
        }
        let mut message = self.clone();
        message.parts.retain(|part| part.kind != THINKING);
        let thought = &mut message.reasoning_content;
        for part in &self.parts {
            if part.kind == THINKING && !part.text.is_empty() {
                thought.push_str(if thought.is_empty() { "" } else { "\n" });
                thought.push_str(&part.text);
            }
        }
        Cow::Owned(message)
    }

    /// The content as one text: the parts of kind `text`, separated by blank lines.
    pub fn text(&self) -> String {
        if !self.content.is_empty() {
            return self.content.clone();
        }
        let texts = self.parts.iter().filter(|part| part.kind == "text");
        texts
            .map(|part| &*part.text)
            .collect::<Vec<_>>()
            .join("\n\n")
    }
}

/// Concatenates typed parts, given by kind and text: each text on a separate line, media markers
/// without a line break.
pub fn join_parts<'a>(parts: impl Iterator<Item = (&'a str, &'a str)>) -> String {
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
    /// `text`, `thinking` (reasoning between other parts), `tool_reference` (reveals a deferred
    /// tool), `media_marker`, or the kind of media: `image`, `audio`, `video` or `file`.
    pub kind: String,
    /// The text, the reasoning, the name of the tool or the marker's text; empty for media.
    pub text: String,
    /// The JSON of media in the request, e.g. `{"type": "image_url", "image_url": {"url": ...}}`;
    /// `None` for other parts.
    pub source: Option<Arc<Value>>,
}

/// Media in a prompt: the host replaces its text by the media.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Media {
    /// `image`, `audio`, `video` or `file`.
    pub kind: String,
    /// Index of its message in the request.
    pub message: usize,
    /// Index of its part in that message's content.
    pub part: usize,
    /// Whether `text` is the template's; otherwise it is the host's marker.
    pub native: bool,
    /// The text in the prompt.
    pub text: String,
    /// The JSON of the part in the request.
    pub source: Arc<Value>,
}

/// One call of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolCall {
    /// The tool's name.
    pub name: String,
    /// The arguments as JSON text (the beginning of it if the output was cut off).
    pub arguments: String,
    /// The id, empty if the format has none.
    pub id: String,
    /// The namespace of the tool in a request; empty for none. In an output, it is a part of the
    /// name.
    pub namespace: String,
}

impl ToolCall {
    /// A call: the tool's name, the arguments as JSON text, and the id, empty for none.
    pub fn new(
        name: impl Into<String>,
        arguments: impl Into<String>,
        id: impl Into<String>,
    ) -> Self {
        ToolCall {
            name: name.into(),
            arguments: arguments.into(),
            id: id.into(),
            ..ToolCall::default()
        }
    }
}

/// A tool that the model may call.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Tool {
    /// The function's name.
    pub name: String,
    /// What it does; may be empty.
    pub description: String,
    /// The JSON schema of its parameters; an empty object if the request had none.
    pub parameters: Arc<Value>,
    /// Further fields that templates render: `strict` and `return`, if the request has them.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub more: Map<String, Value>,
    /// The namespace of its name; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Whether the model sees it only once a message reveals it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deferred: bool,
}

/// Tools whose JSON is written alike are equal. Those of a list that is sent again often have the
/// same parameters in memory.
impl PartialEq for Tool {
    fn eq(&self, other: &Tool) -> bool {
        self.head() == other.head()
            && (Arc::ptr_eq(&self.parameters, &other.parameters)
                || json::same(&self.parameters, &other.parameters))
            && json::same_members(&self.more, &other.more)
    }
}

impl Tool {
    /// A tool: its name, what it does, and the JSON schema of its arguments.
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        Tool {
            name: name.into(),
            description: description.into(),
            parameters: Arc::new(parameters),
            ..Tool::default()
        }
    }

    /// All but the parameters and the further fields.
    #[doc(hidden)]
    pub fn head(&self) -> (&str, &str, &str, bool) {
        // Each field is named, so that a new one is not forgotten.
        let Tool {
            name,
            description,
            namespace,
            deferred,
            parameters: _,
            more: _,
        } = self;
        (name, description, namespace, *deferred)
    }
}

/// Makes enums of the values of options. Requests name the variants in snake case.
macro_rules! options {
    ($($(#[$about:meta])* enum $name:ident { $($(#[$of:meta])* $variant:ident,)* })*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum $name { $($(#[$of])* $variant,)* }
    )*};
}

options! {
    /// Where a template that does not know deferred tools shows one that a message reveals.
    enum RevealedTools {
        /// In the message that reveals it, so that what was sent before stays.
        #[default]
        Inline,
        /// In the list of tools, after the other tools.
        Listed,
    }

    /// Whether the model may, must or must not call tools.
    enum ToolChoice {
        /// Calls are allowed.
        #[default]
        Auto,
        /// At least one call is required.
        Required,
        /// Calls are forbidden; tools are still rendered.
        None,
    }

    /// How the model's reasoning is returned.
    enum ReasoningFormat {
        /// Leave it in the content.
        #[default]
        None,
        /// Separate it as `reasoning_content`.
        Auto,
        /// As [`ReasoningFormat::Auto`].
        #[serde(rename = "deepseek")]
        DeepSeek,
        /// As [`ReasoningFormat::Auto`].
        #[serde(rename = "deepseek-legacy")]
        DeepSeekLegacy,
    }

    /// The host whose ways apply where the library's own differ on purpose, and whose defaults
    /// missing options have.
    enum Compat {
        /// The library's. A continued message is rendered with the conversation, as transformers
        /// does it.
        #[default]
        Off,
        /// llama.cpp's. A continued message follows the generation prompt. Reasoning stays in the
        /// content, a grammar has one call, schemas become its text, and reasoning that opens again
        /// is reasoning. No tool can be called beside the schema of a response. Text parts are
        /// joined for all roles or for none.
        #[serde(rename = "llama.cpp")]
        LlamaCpp,
    }

    /// The text in a prompt for arguments of an earlier call that are not a JSON object. Models
    /// sometimes write such arguments, and hosts keep them in the history.
    enum MalformedArguments {
        /// Their text; as a JSON string if the template takes arguments as an object. `{}` for null
        /// and an empty text, and if the template would fail on the text or leave it out.
        #[default]
        Keep,
        /// `{}`.
        Empty,
        /// None: the request is rejected.
        Error,
    }

    /// Which outputs are searched for tool calls in dialects other than the template's format. Only
    /// if calls are allowed.
    enum Dialects {
        /// None: such calls are content.
        Off,
        /// Only the output after the place where it left the format.
        #[default]
        Recover,
        /// Also content that ends with them: calls with a marker, of offered tools, complete and
        /// valid, at the output's end. From the first such call on, the rest waits for the end of
        /// the output; elsewhere it stays text.
        Tail,
        /// All content. Text that may become a call is delayed until that is certain.
        Always,
    }

    /// How calls of tools that are not offered are read, if the format marks calls.
    enum UnknownTools {
        /// As calls, with a diagnostic. Agents can answer with the list of tools.
        #[default]
        Call,
        /// As content.
        Content,
    }

    /// How calls inside reasoning are read.
    enum CallsInReasoning {
        /// As reasoning.
        Off,
        /// Calls of offered tools as calls, if the output ends and the reasoning was not closed.
        /// From the first on, all waits for that.
        #[default]
        AtEnd,
        /// As calls.
        Always,
        /// As llama.cpp does: as calls at once with the models that it knows to write them so, else
        /// as reasoning.
        #[serde(rename = "llama.cpp")]
        LlamaCpp,
    }

    /// When a JSON object that looks like a call, but has no marker, is read as one. Does not apply
    /// to templates whose own calls are such objects.
    enum BareCalls {
        /// Never.
        Off,
        /// If the whole answer consists of calls of offered tools. Such an answer is delayed until
        /// its end.
        #[default]
        Whole,
        /// Wherever other dialects are read.
        Anywhere,
    }

    /// How arguments are read that are nearly JSON.
    enum NearlyJson {
        /// As the JSON that they are meant to be.
        #[default]
        Mend,
        /// As llama.cpp does: they do not fit the format, or stay as they are.
        Keep,
    }

    /// How a second opening of the reasoning is read.
    enum OpeningAgain {
        /// As a marker, which is dropped.
        #[default]
        Marker,
        /// As text of the reasoning.
        Reasoning,
    }

    /// The treatment of a call that is not complete when the output has ended.
    enum IncompleteCalls {
        /// It is a call, and its report says that it is not complete.
        #[default]
        Keep,
        /// It is not in the message that the parse ends with. A diagnostic has its bytes. Deltas
        /// have shown it.
        Drop,
        /// The text that the model wrote is content of that message.
        Content,
    }

    /// The prompt of the next turn if the template would change the text that was sent.
    enum Append {
        /// It has the template's prompt from there on.
        #[default]
        Template,
        /// It keeps the text that was sent, and appends the rest.
        Always,
    }

    /// The treatment of messages on which a template raises as they were sent, or whose texts it
    /// leaves out.
    enum Roles {
        /// Nothing: the template's error is the request's.
        AsSent,
        /// The fewest changes with which the prompt has all texts: ids of calls have the form that
        /// is demanded, results are in the order of their calls, several calls of a turn are turns,
        /// instructions are one, the user's or at the front, neighbours of one role are one, and
        /// turns are put where they are demanded.
        #[default]
        Fit,
    }

    /// The treatment of a level of reasoning effort that the template does not take.
    enum Effort {
        /// It is sent all the same.
        AsSent,
        /// `none` turns thinking off, and a level that is refused becomes the nearest one that is
        /// taken.
        #[default]
        Fit,
    }

    /// The white space in the JSON of a grammar.
    enum JsonSpacing {
        /// As the template writes it, where it writes JSON on one line and the grammar is the
        /// faithful one. Else free, and free in a request with a response schema, whose JSON no
        /// template shows.
        #[default]
        Template,
        /// A blank, a line break with an indentation, or none, wherever JSON allows it.
        Free,
        /// None.
        Compact,
    }
}

/// Whether and where the model continues the last message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Continuation {
    /// The model starts a new message.
    #[default]
    None,
    /// In the reasoning if the message has nothing else, otherwise in the content.
    Auto,
    /// In the reasoning.
    Reasoning,
    /// In the content.
    Content,
}

impl Compat {
    /// The value of these ways.
    fn choose<T>(self, ours: T, llama_cpp: T) -> T {
        match self {
            Compat::Off => ours,
            Compat::LlamaCpp => llama_cpp,
        }
    }
}

/// How output is read that deviates from the template's format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Leniency {
    /// Calls in other dialects.
    pub dialects: Dialects,
    /// Calls of tools that are not offered.
    pub unknown_tools: UnknownTools,
    /// Calls in reasoning.
    pub calls_in_reasoning: CallsInReasoning,
    /// Calls without a marker.
    #[serde(default)]
    pub bare_calls: BareCalls,
    /// A repeated opening of the reasoning.
    #[serde(default)]
    pub opening_again: OpeningAgain,
    /// Calls that are not complete at the end.
    #[serde(default)]
    pub incomplete_calls: IncompleteCalls,
    /// Arguments that are nearly JSON.
    #[serde(default)]
    pub nearly_json: NearlyJson,
}

/// How schemas are turned into grammar rules.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum GrammarStyle {
    /// Follow the schema as closely as a grammar can.
    #[default]
    Faithful = 1,
    /// Write the same text as llama.cpp from 0.5.0 on.
    #[serde(rename = "llama.cpp")]
    LlamaCpp = 2,
    /// Write the same text as llama.cpp before that, e.g. b10587: `{}` is any object.
    #[serde(rename = "llama.cpp-b10587")]
    LlamaCppB10587 = 3,
}

/// A conversation that is passed to the template unchanged: the host's JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct PlainConversation {
    /// An array of messages with any fields.
    pub messages: Arc<Value>,
    /// An array of tools of any form, or `Null`.
    pub tools: Arc<Value>,
    /// An array of documents, or `Null`.
    pub documents: Arc<Value>,
}

/// How outputs are read and constrained: all that a format depends on besides the template, the
/// tools and the prompt's end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct OutputOptions {
    /// Whether calls are allowed, required or forbidden.
    pub tool_choice: ToolChoice,
    /// Whether the grammar lets a message have more than one call. The parser reads any number of
    /// them.
    pub parallel_tool_calls: bool,
    /// Whether the grammar allows content before a required call, and a code block around a
    /// structured response. Otherwise either begins the message, or follows its reasoning.
    pub prose: bool,
    /// The white space in the JSON of the grammar.
    pub json_spacing: JsonSpacing,
    /// How reasoning is returned.
    pub reasoning_format: ReasoningFormat,
    /// The template variable `enable_thinking`.
    pub enable_thinking: bool,
    /// The schema of a structured response; `Null` if there is none. Where calls are allowed, a
    /// call may replace it.
    pub json_schema: Written,
    /// How output is read that deviates from the template's format.
    pub leniency: Leniency,
    /// How schemas are turned into grammar rules.
    pub grammar_style: GrammarStyle,
    /// Whose ways count.
    pub compat: Compat,
}

/// A chat-completions request: of which a template makes a prompt and a parser.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// The conversation.
    pub messages: Vec<Message>,
    /// The tools that are offered.
    pub tools: Vec<Tool>,
    /// The wishes of the client that nobody fulfils, as far as its body shows: the first notes of
    /// the params.
    pub notes: Vec<String>,
    /// How outputs are read and constrained.
    pub output: OutputOptions,
    /// The tools that may be called; `None`: all. The template renders all of them.
    pub allowed_tools: Option<Vec<Tool>>,
    /// Where deferred tools are shown once they are revealed.
    pub revealed_tools: RevealedTools,
    /// The tools that a server must run, as in the request. Templates do not see them.
    pub hosted_tools: Vec<Value>,
    /// The treatment of arguments in the history that are not a JSON object.
    pub malformed_arguments: MalformedArguments,
    /// The caller's GBNF; empty for none. Cannot be combined with tools.
    pub grammar: String,
    /// Whether the prompt ends with the opening of the assistant's turn.
    pub add_generation_prompt: bool,
    /// Whether and where to continue the last message instead of starting one.
    pub continuation: Continuation,
    /// Whether messages may be changed if the template raises on them, or leaves out their texts.
    pub roles: Roles,
    /// Whether the level of reasoning effort may be changed.
    pub effort: Effort,
    /// The text in the prompt for media that the template does not render.
    pub media_marker: String,
    /// Whether the next turn may change the text that was sent.
    pub append: Append,
    /// Extra template variables, which replace the computed ones.
    pub template_kwargs: Map<String, Value>,
    /// A conversation for the template that replaces `messages`, as with transformers. `tools` is
    /// then for the parser only.
    pub plain: Option<PlainConversation>,
    /// Skip the analysis, and read all output as content.
    pub force_pure_content: bool,
    /// The template's clock: Unix seconds, UTC. `None`: the system's clock, if there is one
    /// (WebAssembly has none without WASI, and a template that reads the date then fails).
    pub now: Option<i64>,
}
