//! Reads a chat-completions body as a [`Request`]: the fields, their types and their defaults.

use serde_json::{Map, Value};

use super::body::Body;
use super::fields::{Fields, choice, is_second};
use super::known::CHAT;
use super::known_tools::Given;
use super::read::{Tools, known_tools, message, plain, response_format, tool_choice, tools};
use super::{
    CallsInReasoning, Compat, Continuation, GrammarStyle, Leniency, Message, NearlyJson,
    OpeningAgain, OutputOptions, ReasoningFormat, Request, Roles, Written,
};
use chatparse_base::{Error, Result, number};

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
    /// [`crate::ErrorKind::InvalidArgument`] if the text is not JSON; otherwise as
    /// [`Request::from_json`].
    pub fn from_text(text: &str) -> Result<Request> {
        Request::from_text_with(text, "{}")
    }

    /// [`Request::from_json_with`] from JSON texts.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if a text is not JSON; otherwise as
    /// [`Request::from_json_with`].
    pub fn from_text_with(body: &str, options: &str) -> Result<Request> {
        let fields = match number::read::<Body>(body) {
            Ok(body) => body.once()?,
            // Parsing it as generic JSON gives a better error.
            Err(_) => parsed(body, "request")?,
        };
        Request::from_json_with(&fields, &parsed(options, "options")?)
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
    /// with option fields, which replace those of the body. So a host need not change the client's
    /// body.
    ///
    /// # Errors
    /// As there; and for an option that is not known.
    pub fn from_json_with(body: &Value, options: &Value) -> Result<Request> {
        Request::read_with(body, options, None)
    }

    /// `tools`: those of the body, whose own list is empty then. Known ones are taken, and each
    /// that can be known becomes [`Given::Known`].
    pub(super) fn read_with(
        body: &Value,
        options: &Value,
        tools: Option<&mut [Given]>,
    ) -> Result<Request> {
        let options = Fields::new(options, "options")?;
        if let Some(unknown) = options
            .map
            .keys()
            .find(|name| !OPTIONS.contains(&name.as_str()))
        {
            let message = format!(
                "{}: there is no such option; there are {}",
                options.path(unknown),
                OPTIONS.join(", ")
            );
            return Err(Error::invalid(message));
        }
        Request::read(&Fields::new(body, "")?.under(options.map), tools)
    }

    fn read(body: &Fields, given: Option<&mut [Given]>) -> Result<Request> {
        body.required("messages")?;
        let for_training = body.flag("for_training", false)?;
        let is_plain = body.flag("plain", for_training)?;
        let said = body
            .get("notes")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let mut notes: Vec<String> = said
            .filter_map(|note| Some(note.as_str()?.to_owned()))
            .collect();
        CHAT.check_body(
            body,
            &[OPTIONS, if is_plain { &["documents"] } else { &[] }],
            &mut notes,
        )?;
        for name in ["response_format", "thinking", "tool_choice"] {
            CHAT.check_at("request", name, body, &mut notes)?;
        }
        let kwargs = body.object("chat_template_kwargs")?;
        let mut template_kwargs = kwargs.map_or_else(Map::new, |kwargs| kwargs.map.clone());
        let (
            messages,
            Tools {
                offered: tools,
                hosted,
                notes: of_tools,
                ..
            },
            plain,
        ) = if is_plain {
            let plain = plain(body)?;
            (
                Vec::new(),
                Tools {
                    offered: known_tools(&plain.tools),
                    ..Tools::default()
                },
                Some(plain),
            )
        } else {
            let messages = body.items("messages")?;
            let messages = messages
                .iter()
                .map(|said| message(said, &mut notes))
                .collect::<Result<_>>();
            let keeps_hosted = is_second(body, "hosted_tools", ["refuse", "keep"])?;
            (messages?, tools(body, given, keeps_hosted)?, None)
        };
        notes.extend(of_tools);
        let compat = choice(body, "compat", Compat::Off)?;
        let switch = thinks(body)?;
        let mut enable_thinking = body.flag("enable_thinking", switch)?;
        if plain.is_some() {
            // The request's value is for the template, the template's value for the parser.
            let said = body
                .get("enable_thinking")
                .cloned()
                .or_else(|| body.get("thinking").map(|_| switch.into()));
            if let Some(value) = said {
                template_kwargs.entry("enable_thinking").or_insert(value);
            }
            enable_thinking = template_kwargs
                .get("enable_thinking")
                .and_then(Value::as_bool)
                .unwrap_or(true);
        }
        let (tool_choice, allowed_tools) = tool_choice(body, &tools)?;
        let asked = response_format(body)?;
        let json_schema = match body.get("json_schema") {
            Some(schema) if !asked.is_null() && asked != *schema => {
                return Err(body.refuse("response_format", "json_schema asks for another answer"));
            }
            Some(schema) => schema.clone(),
            None => asked,
        };
        if let Some(effort) = body.text("reasoning_effort")? {
            template_kwargs
                .entry("reasoning_effort")
                .or_insert_with(|| effort.into());
        }
        let by_default = if plain.is_some() {
            Roles::AsSent
        } else {
            compat.choose(Roles::Fit, Roles::AsSent)
        };
        let roles = choice(body, "roles", by_default)?;
        if roles == Roles::Fit && plain.is_some() {
            return Err(Error::invalid(
                "roles: \"fit\" cannot go with a plain request, whose messages are as sent",
            ));
        }
        let output = OutputOptions {
            tool_choice,
            parallel_tool_calls: body.flag("parallel_tool_calls", compat.choose(true, false))?,
            prose: body.flag("prose", false)?,
            json_spacing: choice(body, "json_spacing", Default::default())?,
            reasoning_format: {
                let default = compat.choose(ReasoningFormat::Auto, ReasoningFormat::None);
                choice(body, "reasoning_format", default)?
            },
            leniency: Leniency {
                dialects: choice(body, "dialects", Default::default())?,
                unknown_tools: choice(body, "unknown_tools", Default::default())?,
                calls_in_reasoning: choice(
                    body,
                    "calls_in_reasoning",
                    compat.choose(CallsInReasoning::AtEnd, CallsInReasoning::LlamaCpp),
                )?,
                bare_calls: choice(body, "bare_calls", Default::default())?,
                opening_again: choice(
                    body,
                    "opening_again",
                    compat.choose(OpeningAgain::Marker, OpeningAgain::Reasoning),
                )?,
                incomplete_calls: choice(body, "incomplete_calls", Default::default())?,
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
            tools,
            notes,
            plain,
            roles,
            effort: choice(body, "effort", Default::default())?,
            output,
            allowed_tools,
            revealed_tools: choice(body, "revealed_tools", Default::default())?,
            hosted_tools: hosted,
            malformed_arguments: choice(body, "malformed_arguments", Default::default())?,
            grammar: body.text_or_empty("grammar")?,
            add_generation_prompt: body.flag("add_generation_prompt", !for_training)?,
            continuation: match body.get("continue_final_message") {
                Some(Value::Bool(true)) => Continuation::Auto,
                Some(Value::String(part)) if part == "reasoning_content" => Continuation::Reasoning,
                Some(Value::String(part)) if part == "content" => Continuation::Content,
                _ => Continuation::None,
            },
            media_marker: body
                .text("media_marker")?
                .unwrap_or("<__media__>")
                .to_owned(),
            append: choice(body, "append", Default::default())?,
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
    body.items("messages")?
        .iter()
        .map(|said| message(said, &mut Vec::new()))
        .collect()
}

fn parsed(text: &str, what: &str) -> Result<Value> {
    number::read(text).map_err(|error| {
        // What other languages print for numbers that JSON does not have.
        let line = text
            .split('\n')
            .nth(error.line().saturating_sub(1))
            .unwrap_or_default();
        let rest = line
            .get(error.column().saturating_sub(1)..)
            .unwrap_or_default();
        let no_number = ["NaN", "Infinity"]
            .into_iter()
            .find(|word| rest.starts_with(word));
        let why = no_number.map_or(String::new(), |word| format!("JSON has no {word}: "));
        Error::invalid(format!("the {what} is not JSON: {why}{error}"))
    })
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

/// The types of `thinking`, for the error.
pub const THINKING_TYPES: &str = "\"enabled\", \"adaptive\", \"disabled\" or \"between_tools\"";

/// Reads the switch of some vendors, `thinking`: `{"type": "enabled"}`, or a truth value.
fn thinks(body: &Fields) -> Result<bool> {
    if !body.get("thinking").is_some_and(Value::is_object) {
        return body.flag("thinking", true);
    }
    let thinking = body.required_object("thinking")?;
    match thinking.required_text("type")? {
        "enabled" | "adaptive" => Ok(true),
        "disabled" | "between_tools" => Ok(false),
        _ => Err(thinking.unknown("type", THINKING_TYPES)),
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
        let named = Regex::new(r#"(?:body\.\w+\(|choice\(body, )"(\w+)""#).unwrap();
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
