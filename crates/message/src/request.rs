//! Reads a chat-completions body as a [`Request`]: the fields, their types and their defaults.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::body::Body;
use super::fields::{Fields, choice, is_second};
use super::known::CHAT;
use super::known_tools::Given;
use super::read::{self, Tools, known_tools, message, response_format, tool_choice};
use super::{
    CallsInReasoning, Compat, Continuation, GrammarStyle, Leniency, Message, NearlyJson,
    OpeningAgain, OutputOptions, ReasoningFormat, Request, Roles, Written,
};
use chatparse_base::{Result, number};

impl Default for OutputOptions {
    /// Those of a request that says nothing.
    fn default() -> OutputOptions {
        Request::new(Vec::new()).output
    }
}

impl Request {
    /// A request of these messages, with all else as in [`Request::from_json`] where nothing is
    /// said.
    pub fn new(messages: Vec<Message>) -> Request {
        let nothing_said =
            Request::from_json(&json!({"messages": []})).expect("an empty body is a request");
        Request {
            messages,
            ..nothing_said
        }
    }

    /// Reads a request from JSON text.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if the text is not JSON, [`crate::ErrorKind::Limit`] if
    /// it nests too deep; otherwise as [`Request::from_json`].
    pub fn from_text(text: &str) -> Result<Request> {
        Request::from_text_with(text, "{}")
    }

    /// [`Request::from_json_with`] from JSON texts.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if a text is not JSON, [`crate::ErrorKind::Limit`] if
    /// one nests too deep; otherwise as [`Request::from_json_with`].
    pub fn from_text_with(body: &str, options: &str) -> Result<Request> {
        let fields = match number::read::<Body>(body) {
            Ok(Body(body)) => body?,
            // Parsing it as generic JSON gives a better error.
            Err(_) => number::parse(body, "the request")?,
        };
        Request::from_json_with(&fields, &number::parse(options, "options")?)
    }

    /// Reads a chat-completions body: `messages`, `tools`, `tool_choice`, `parallel_tool_calls`
    /// (default true), `response_format`, `reasoning_effort`, and these options: `reasoning_format`
    /// (default auto), `malformed_arguments`, `dialects`, `unknown_tools`, `calls_in_reasoning`,
    /// `bare_calls`, `opening_again`, `incomplete_calls`, `enable_thinking` (default true),
    /// `json_schema`, `grammar`, `grammar_style`, `add_generation_prompt` (default true), `append`,
    /// `compat`, `continue_final_message`, `chat_template_kwargs`, `force_pure_content`,
    /// `media_marker`, `now` and `plain` ([`super::PlainConversation`]: the template gets
    /// `messages`, `tools`, `documents` and `chat_template_kwargs` unchanged, and no other
    /// variables), `for_training` (`plain` is true by default, and `add_generation_prompt` false),
    /// `revealed_tools`, `roles`, `effort` and `hosted_tools`; and `notes`, texts for
    /// [`Request::notes`]. Null counts as missing. Other fields of the body are ignored, unless
    /// they change what the model sees, or the name is nearly that of a field that is read.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] naming the field, e.g.
    /// `messages[2].tool_calls[0].function.name`, and [`crate::ErrorKind::Limit`] for a name of a
    /// tool or an id of a call that is too long.
    pub fn from_json(body: &Value) -> Result<Request> {
        Request::read(&Fields::new(body, "")?, None)
    }

    /// Like [`Request::from_json`], with the host's options beside the client's body: an object
    /// with option fields, which replace fields of the body. So a host need not change the client's
    /// body.
    ///
    /// # Errors
    /// As there; and for an option that is not known.
    pub fn from_json_with(body: &Value, options: &Value) -> Result<Request> {
        Request::read_with(body, options, None)
    }

    /// `tools`: the tools of the body, whose own list is empty then. Known tools are taken, and
    /// each tool that may be remembered becomes [`Given::Known`].
    pub(super) fn read_with(
        body: &Value,
        options: &Value,
        tools: Option<&mut [Given]>,
    ) -> Result<Request> {
        let options = Fields::new(options, "options")?;
        let mut names = options.map.keys();
        if let Some(unknown) = names.find(|name| !OPTIONS.contains(&&***name)) {
            let known = OPTIONS.join(", ");
            let why = format!("there is no such option; there are {known}");
            return Err(options.refuse(unknown, &why));
        }
        Request::read(&Fields::new(body, "")?.under(options.map), tools)
    }

    fn read(body: &Fields, given: Option<&mut [Given]>) -> Result<Request> {
        body.required("messages")?;
        let for_training = body.flag("for_training", false)?;
        let is_plain = body.flag("plain", for_training)?;
        let mut notes = Vec::new();
        if let Some(Value::Array(given)) = body.get("notes") {
            notes.extend(given.iter().filter_map(Value::as_str).map(str::to_owned));
        }
        let plain_fields: &[_] = if is_plain { &["documents"] } else { &[] };
        CHAT.check_body(body, &[OPTIONS, plain_fields], &mut notes)?;
        for name in ["response_format", "thinking", "tool_choice"] {
            CHAT.check_at("request", name, body, &mut notes)?;
        }
        // The conversation and the tools.
        let kwargs = body.object("chat_template_kwargs")?;
        let mut template_kwargs = kwargs.map_or_else(Map::new, |kwargs| kwargs.map.clone());
        let (mut messages, mut tools, mut plain) = (Vec::new(), Tools::default(), None);
        if is_plain {
            let conversation = read::plain(body)?;
            tools.offered = known_tools(&conversation.tools);
            plain = Some(conversation);
        } else {
            let items = body.items("messages")?;
            // A wrong option is reported before a fault of a message.
            let read: Result<_> = items.iter().map(|item| message(item, &mut notes)).collect();
            let keeps_hosted = is_second(body, "hosted_tools", ["refuse", "keep"])?;
            messages = read?;
            tools = read::tools(body, given, keeps_hosted)?;
            notes.append(&mut tools.notes);
        }
        // The switch of thinking, under its two names.
        let compat = choice(body, "compat", Compat::Off)?;
        let switch = thinks(body)?;
        let mut enable_thinking = body.flag("enable_thinking", switch)?;
        if is_plain {
            // The request's value is for the template, the template's value for the parser.
            let switched = body.get("thinking").map(|_| switch.into());
            if let Some(value) = body.get("enable_thinking").cloned().or(switched) {
                template_kwargs.entry("enable_thinking").or_insert(value);
            }
            let value = template_kwargs.get("enable_thinking");
            enable_thinking = value.and_then(Value::as_bool).unwrap_or(true);
        }
        // The calls and the schema that the answer must have.
        let (tool_choice, allowed_tools) = tool_choice(body, &tools.offered)?;
        let asked = response_format(body)?;
        let json_schema = match body.get("json_schema") {
            Some(schema) if !asked.is_null() && asked != *schema => {
                return Err(body.refuse("response_format", "json_schema asks for another answer"));
            }
            Some(schema) => schema.clone(),
            None => asked,
        };
        if let Some(effort) = body.text("reasoning_effort")? {
            let level = template_kwargs.entry("reasoning_effort");
            level.or_insert_with(|| effort.into());
        }
        let roles_by_default = if is_plain {
            Roles::AsSent
        } else {
            compat.choose(Roles::Fit, Roles::AsSent)
        };
        let roles = choice(body, "roles", roles_by_default)?;
        if roles == Roles::Fit && is_plain {
            let why = "\"fit\" cannot go with a plain request, whose messages are as sent";
            return Err(body.refuse("roles", why));
        }
        let output = OutputOptions {
            tool_choice,
            parallel_tool_calls: body.flag("parallel_tool_calls", compat.choose(true, false))?,
            prose: body.flag("prose", false)?,
            json_spacing: option(body, "json_spacing")?,
            reasoning_format: choice(
                body,
                "reasoning_format",
                compat.choose(ReasoningFormat::Auto, ReasoningFormat::None),
            )?,
            leniency: Leniency {
                dialects: option(body, "dialects")?,
                unknown_tools: option(body, "unknown_tools")?,
                calls_in_reasoning: choice(
                    body,
                    "calls_in_reasoning",
                    compat.choose(CallsInReasoning::AtEnd, CallsInReasoning::LlamaCpp),
                )?,
                bare_calls: option(body, "bare_calls")?,
                opening_again: choice(
                    body,
                    "opening_again",
                    compat.choose(OpeningAgain::Marker, OpeningAgain::Reasoning),
                )?,
                incomplete_calls: option(body, "incomplete_calls")?,
                nearly_json: choice(
                    body,
                    "nearly_json",
                    compat.choose(NearlyJson::Mend, NearlyJson::Keep),
                )?,
            },
            enable_thinking,
            json_schema: Written(json_schema),
            compat,
            grammar_style: choice(
                body,
                "grammar_style",
                compat.choose(GrammarStyle::Faithful, GrammarStyle::LlamaCpp),
            )?,
        };
        Ok(Request {
            messages,
            tools: tools.offered,
            notes,
            plain,
            roles,
            effort: option(body, "effort")?,
            output,
            allowed_tools,
            revealed_tools: option(body, "revealed_tools")?,
            hosted_tools: tools.hosted,
            malformed_arguments: option(body, "malformed_arguments")?,
            grammar: body.text_or_empty("grammar")?,
            add_generation_prompt: body.flag("add_generation_prompt", !for_training)?,
            continuation: match body.get("continue_final_message") {
                None | Some(Value::Bool(false)) => Continuation::None,
                Some(Value::Bool(true)) => Continuation::Auto,
                Some(part) if part == "reasoning_content" => Continuation::Reasoning,
                Some(part) if part == "content" => Continuation::Content,
                Some(_) => {
                    let known = "true, false, \"content\" or \"reasoning_content\"";
                    return Err(body.unknown("continue_final_message", known));
                }
            },
            media_marker: body
                .text("media_marker")?
                .unwrap_or("<__media__>")
                .to_owned(),
            append: option(body, "append")?,
            template_kwargs,
            force_pure_content: body.flag("force_pure_content", false)?,
            now: body.typed("now", "a whole number", Value::as_i64)?,
        })
    }
}

/// Reads an array of messages.
///
/// # Errors
/// As [`Request::from_json`].
pub fn messages_from_json(messages: &Value) -> Result<Vec<Message>> {
    let body = Map::from_iter([("messages".to_owned(), messages.clone())]).into();
    let body = Fields::new(&body, "")?;
    body.required("messages")?;
    body.each("messages", |item| message(item, &mut Vec::new()))
}

/// The choice of an option whose default is the same for all hosts.
fn option<T: DeserializeOwned + Default>(body: &Fields, name: &str) -> Result<T> {
    choice(body, name, T::default())
}

/// The fields that are options of this library and not OpenAI's.
pub const OPTIONS: &[&str] = &[
    "add_generation_prompt",
    "append",
    "bare_calls",
    "calls_in_reasoning",
    "chat_template_kwargs",
    "compat",
    "continue_final_message",
    "dialects",
    "effort",
    "enable_thinking",
    "for_training",
    "force_pure_content",
    "grammar",
    "grammar_style",
    "hosted_tools",
    "incomplete_calls",
    "json_schema",
    "json_spacing",
    "malformed_arguments",
    "media_marker",
    "nearly_json",
    "now",
    "opening_again",
    "plain",
    "prose",
    "reasoning_format",
    "revealed_tools",
    "roles",
    "unknown_tools",
];

/// Reads the switch of some vendors, `thinking`: `{"type": "enabled"}`, or a truth value.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] for another value or type.
pub fn thinks(body: &Fields) -> Result<bool> {
    if !body.get("thinking").is_some_and(Value::is_object) {
        return body.flag("thinking", true);
    }
    let thinking = body.required_object("thinking")?;
    match thinking.required_text("type")? {
        "enabled" | "adaptive" => Ok(true),
        "disabled" | "between_tools" => Ok(false),
        _ => {
            let known = "\"enabled\", \"adaptive\", \"disabled\" or \"between_tools\"";
            Err(thinking.unknown("type", known))
        }
    }
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;
    use crate::known::Kind;

    #[test]
    fn the_options_are_what_is_read() {
        let read = |name: &str, value: Value| {
            let mut body = json!({"messages": []});
            body[name] = value;
            Request::from_json(&body)
        };
        let bare = read("messages", json!([]));
        let values = [
            json!(7),
            json!("content"),
            json!(true),
            json!({"a": 1}),
            json!("fit"),
        ];
        for option in OPTIONS {
            assert!(
                values
                    .iter()
                    .any(|value| read(option, value.clone()) != bare),
                "{option} is not read"
            );
        }
        let named = Regex::new(r#"(?:body\.\w+\(|(?:choice|option)\(body, )"(\w+)""#).unwrap();
        let source = [include_str!("request.rs"), include_str!("read.rs")].concat();
        for name in named
            .captures_iter(&source)
            .map(|found| found.extract::<1>().1[0])
        {
            assert!(
                ["plain", "documents"].contains(&name)
                    || OPTIONS.contains(&name)
                    || CHAT.0[0]
                        .field(name)
                        .is_some_and(|(kind, _)| kind == Kind::Read),
                "{name} is no option"
            );
        }
    }
}
