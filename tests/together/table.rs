//! The options of a request: a row for each, with what it needs in order to matter and the values
//! that are not its default.

use serde_json::{Value, json};

use super::written::tool;

/// A request in the making.
pub type Body = Value;

/// What an option is about, which says where it has nothing to do: see [`super::idle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// What the model sees or must do.
    Turn,
    /// How calls are read.
    Calls,
    /// How reasoning is read.
    Reasoning,
    /// What the grammar is like.
    Grammar,
    /// What the prompt has of the messages.
    Messages,
}

/// A value that is not the default.
pub struct Choice {
    pub name: &'static str,
    pub set: fn(&mut Body),
}

/// A row of the table.
pub struct Row {
    pub name: &'static str,
    /// The fields of the request that it sets.
    pub fields: &'static [&'static str],
    pub about: About,
    /// Changes a request so that the option matters in it.
    pub setup: fn(&mut Body),
    pub choices: Vec<Choice>,
}

/// Fields that are no options of a turn, and why.
pub const NO_OPTION: &[(&str, &str)] = &[
    (
        "append",
        "says what the next turn does: tests/suite/next.rs",
    ),
    ("notes", "is what Params::notes begins with"),
    (
        "messages",
        "all other options go with them; the form of their content is the row `parts`",
    ),
];

pub const ANSWER: &str = r#"{"answer": "rain", "score": 4}"#;
pub const BEGUN: &str = "The answer is";
pub const BEGUN_ANSWER: &str = r#"{"answer": "ra"#;
pub const THOUGHT: &str = "Hm, I see.";

pub fn schema() -> Value {
    json!({"type": "object", "properties": {"answer": {"type": "string"}, "score": {"type": "integer"}},
           "required": ["answer", "score"], "additionalProperties": false})
}

pub fn base() -> Body {
    json!({"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Weather in Oslo?"}], "now": 1_787_400_000})
}

fn weather() -> Value {
    // What llama.cpp's rules of a schema and the faithful ones write otherwise.
    let days = json!({"type": "integer", "minimum": 0, "maximum": 99_999, "multipleOf": 1});
    tool(
        "get_weather",
        &json!({"qk1town": {"type": "string"}, "qk2days": days}),
    )
}

fn mail() -> Value {
    tool("send_mail", &json!({"qk4body": {"type": "string"}}))
}

/// Tools, unless there are some.
pub fn tools(body: &mut Body) {
    if body["tools"].is_null() {
        body["tools"] = json!([weather(), mail()]);
    }
}

/// Tools, and that one must be called.
fn required(body: &mut Body) {
    tools(body);
    body["tool_choice"] = "required".into();
}

fn nothing(_: &mut Body) {}

fn call(arguments: &str) -> Value {
    let function = json!({"name": "get_weather", "arguments": arguments});
    json!({"role": "assistant", "content": "", "tool_calls": [{"type": "function", "id": "call00001", "function": function}]})
}

/// A call and its result in front of the last message.
fn called(body: &mut Body, arguments: &str, result: Value) {
    tools(body);
    let result = json!({"role": "tool", "tool_call_id": "call00001", "name": "get_weather", "content": result});
    let earlier = [
        json!({"role": "user", "content": "In Rome?"}),
        call(arguments),
        result,
        json!({"role": "assistant", "content": "Rain."}),
    ];
    body["messages"]
        .as_array_mut()
        .unwrap()
        .splice(1..1, earlier);
}

fn part(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

/// A system message that is not the first: some templates raise on it.
fn system_last(body: &mut Body) {
    let messages = body["messages"].as_array_mut().unwrap();
    messages.insert(
        messages.len() - 1,
        json!({"role": "system", "content": "Be kind."}),
    );
}

/// The user's message as parts.
fn with_image(body: &mut Body) {
    let last = body["messages"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .rfind(|message| message["role"] == "user");
    last.unwrap()["content"] = json!([{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]);
}

/// A tool that a message reveals.
fn deferred(body: &mut Body) {
    let mut look = tool("look_up", &json!({"qk7word": {"type": "string"}}));
    look["function"]["defer_loading"] = true.into();
    tools(body);
    body["tools"].as_array_mut().unwrap().push(look);
    called(
        body,
        r#"{"qk1town": "Rome"}"#,
        json!([{"type": "tool_reference", "name": "look_up"}]),
    );
}

fn hosted(body: &mut Body) {
    tools(body);
    body["tools"]
        .as_array_mut()
        .unwrap()
        .push(json!({"type": "web_search"}));
}

/// The last message is the assistant's, begun.
fn begun(body: &mut Body, message: Value) {
    body["messages"].as_array_mut().unwrap().push(message);
}

macro_rules! choices {
    ($field:literal: $($value:expr),*) => {
        vec![$(Choice { name: stringify!($value), set: |body| body[$field] = json!($value) }),*]
    };
}

fn row(name: &'static str, about: About, setup: fn(&mut Body), choices: Vec<Choice>) -> Row {
    let fields: &'static [&'static str] = Box::leak(Box::new([name]));
    Row {
        name,
        fields,
        about,
        setup,
        choices,
    }
}

/// The table.
pub fn rows() -> Vec<Row> {
    let choice = |name, set| Choice { name, set };
    vec![
        row(
            "tools",
            About::Turn,
            nothing,
            vec![choice("two", tools), choice("deferred", deferred)],
        ),
        row(
            "response_format",
            About::Turn,
            nothing,
            vec![
                choice(
                    "json_schema",
                    |body| body["response_format"] = json!({"type": "json_schema", "json_schema": {"name": "r", "schema": schema()}}),
                ),
                choice("json_object", |body| {
                    body["response_format"] = json!({"type": "json_object"})
                }),
            ],
        ),
        row(
            "json_schema",
            About::Turn,
            nothing,
            vec![choice("schema", |body| body["json_schema"] = schema())],
        ),
        row(
            "grammar",
            About::Turn,
            nothing,
            vec![choice("own", |body| {
                body["grammar"] = "root ::= \"yes\" | \"no\"".into()
            })],
        ),
        row(
            "tool_choice",
            About::Turn,
            tools,
            vec![
                choice("required", |body| body["tool_choice"] = "required".into()),
                choice("none", |body| body["tool_choice"] = "none".into()),
                choice(
                    "named",
                    |body| {
                        body["tool_choice"] =
                            json!({"type": "function", "function": {"name": "get_weather"}})
                    },
                ),
                choice("allowed", |body| {
                    body["tool_choice"] = json!({"type": "allowed_tools", "allowed_tools": {"mode": "auto",
                "tools": [{"type": "function", "function": {"name": "get_weather"}}]}})
                }),
            ],
        ),
        Row {
            fields: &["thinking", "enable_thinking"],
            ..row(
                "thinking",
                About::Turn,
                nothing,
                vec![
                    choice("disabled", |body| {
                        body["thinking"] = json!({"type": "disabled"})
                    }),
                    choice("false", |body| body["enable_thinking"] = false.into()),
                ],
            )
        },
        row(
            "reasoning_effort",
            About::Turn,
            nothing,
            choices!("reasoning_effort": "high"),
        ),
        row(
            "chat_template_kwargs",
            About::Turn,
            nothing,
            vec![choice("qk9more", |body| {
                body["chat_template_kwargs"] = json!({"qk9more": true})
            })],
        ),
        row(
            "continue_final_message",
            About::Turn,
            nothing,
            vec![
                choice("content", |body| {
                    let schema =
                        !body["response_format"].is_null() || !body["json_schema"].is_null();
                    begun(
                        body,
                        json!({"role": "assistant", "content": if schema { BEGUN_ANSWER } else { BEGUN }}),
                    );
                    body["continue_final_message"] = true.into();
                }),
                choice("reasoning", |body| {
                    begun(
                        body,
                        json!({"role": "assistant", "content": "", "reasoning_content": THOUGHT}),
                    );
                    body["continue_final_message"] = "reasoning_content".into();
                }),
            ],
        ),
        row(
            "add_generation_prompt",
            About::Turn,
            nothing,
            choices!("add_generation_prompt": false),
        ),
        row(
            "parallel_tool_calls",
            About::Grammar,
            required,
            choices!("parallel_tool_calls": false),
        ),
        row("prose", About::Grammar, required, choices!("prose": true)),
        row(
            "json_spacing",
            About::Grammar,
            required,
            choices!("json_spacing": "free", "compact"),
        ),
        row(
            "grammar_style",
            About::Grammar,
            required,
            choices!("grammar_style": "llama.cpp", "llama.cpp-b10587"),
        ),
        row(
            "reasoning_format",
            About::Reasoning,
            nothing,
            choices!("reasoning_format": "none"),
        ),
        row(
            "opening_again",
            About::Reasoning,
            nothing,
            choices!("opening_again": "reasoning"),
        ),
        row(
            "calls_in_reasoning",
            About::Calls,
            tools,
            choices!("calls_in_reasoning": "off", "always", "llama.cpp"),
        ),
        row(
            "dialects",
            About::Calls,
            tools,
            choices!("dialects": "off", "always", "tail"),
        ),
        row(
            "unknown_tools",
            About::Calls,
            tools,
            choices!("unknown_tools": "content"),
        ),
        row(
            "bare_calls",
            About::Calls,
            tools,
            choices!("bare_calls": "off", "anywhere"),
        ),
        row(
            "incomplete_calls",
            About::Calls,
            tools,
            choices!("incomplete_calls": "drop", "content"),
        ),
        row(
            "nearly_json",
            About::Calls,
            tools,
            choices!("nearly_json": "keep"),
        ),
        row(
            "revealed_tools",
            About::Messages,
            deferred,
            choices!("revealed_tools": "listed"),
        ),
        row(
            "malformed_arguments",
            About::Messages,
            |body| called(body, "{\"qk1town\": ", json!("Rain.")),
            choices!("malformed_arguments": "empty", "error"),
        ),
        row(
            "media_marker",
            About::Messages,
            with_image,
            choices!("media_marker": "<pic>"),
        ),
        row(
            "hosted_tools",
            About::Turn,
            hosted,
            choices!("hosted_tools": "keep"),
        ),
        row(
            "roles",
            About::Messages,
            system_last,
            choices!("roles": "as_sent"),
        ),
        row(
            "effort",
            About::Messages,
            |body| body["reasoning_effort"] = "none".into(),
            choices!("effort": "as_sent"),
        ),
        row("now", About::Messages, nothing, choices!("now": 86_400)),
        row(
            "compat",
            About::Messages,
            nothing,
            choices!("compat": "llama.cpp"),
        ),
        row("plain", About::Messages, nothing, choices!("plain": true)),
        row(
            "for_training",
            About::Turn,
            nothing,
            choices!("for_training": true),
        ),
        row(
            "force_pure_content",
            About::Turn,
            nothing,
            choices!("force_pure_content": true),
        ),
        Row {
            fields: &[],
            ..row(
                "parts",
                About::Messages,
                nothing,
                vec![
                    choice("user", |body| {
                        let last = body["messages"]
                            .as_array_mut()
                            .unwrap()
                            .iter_mut()
                            .rfind(|message| message["role"] == "user");
                        last.unwrap()["content"] = part("How is the weather?");
                    }),
                    choice("system", |body| {
                        body["messages"][0]["content"] = part("Be short.")
                    }),
                    choice("tool", |body| {
                        called(body, r#"{"qk1town": "Rome"}"#, part("Rain."))
                    }),
                    choice("assistant", |body| {
                        let earlier = [
                            json!({"role": "user", "content": "In Rome?"}),
                            json!({"role": "assistant", "content": part("Rain.")}),
                        ];
                        body["messages"]
                            .as_array_mut()
                            .unwrap()
                            .splice(1..1, earlier);
                    }),
                    choice("image", with_image),
                ],
            )
        },
    ]
}
