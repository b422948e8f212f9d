//! Finds out what a template accepts, and what it demands, by rendering small conversations and
//! recording what it accesses.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::trace::{Trace, Usage, Use};
use crate::Caps;
use crate::env::Engine;
use crate::python::from_json::traced;
use crate::request::context::{EFFORT, NOW, OTHER_SWITCH, THINKS, preserve_reasoning};
use crate::request::effort::{LADDER, Level};
use chatparse_message::{REASONING, text_part};

/// A traced render: its output, unless it failed, and what the template accessed.
struct Trial {
    output: Option<String>,
    usage: std::sync::Arc<Usage>,
}

impl Trial {
    fn new(engine: &Engine, messages: Json, more: Json, text_at: Option<&'static str>) -> Trial {
        let usage = Usage::new(WATCHED, text_at);
        let mut variables = json!({"tools": [], "bos_token": "", "eos_token": "", "add_generation_prompt": true, NOW: 0});
        variables["messages"] = messages;
        for (name, value) in more.as_object().into_iter().flatten() {
            variables[name] = value.clone();
        }
        let context = traced(&variables, Trace::root(&usage));
        let output = context
            .ok()
            .and_then(|context| engine.try_with(context).ok());
        Trial { output, usage }
    }

    fn succeeded(&self) -> bool {
        self.output.is_some()
    }

    fn shows(&self, text: &str) -> bool {
        self.output
            .as_ref()
            .is_some_and(|output| output.contains(text))
    }

    fn read(&self, path: &str) -> bool {
        self.usage.recorded(path, Use::Read)
    }
}

/// The content of the first message.
const CONTENT: &str = "/messages/0/content";

/// In [`exchange`]: the calls, the second call's name, and an argument of the first one.
const CALLS: &str = "/messages/1/tool_calls";
const SECOND_CALL: &str = "/messages/1/tool_calls/1/function";
const ARGUMENT: &str = "/messages/1/tool_calls/0/function/arguments/arg";

/// The name of the tool in [`with_tool`].
const TOOL_NAME: &str = "/tools/0/function/name";

/// The variables of [`EFFORT`].
const VARIABLES: [&str; 2] = ["/reasoning_effort", "/reasoning_strength"];

/// The levels of effort that think, from the lowest.
pub(super) const LEVELS: &[&str] = LADDER.split_at(1).1;

/// All paths that trials trace.
const WATCHED: &[&str] = &[
    CONTENT,
    CALLS,
    SECOND_CALL,
    ARGUMENT,
    TOOL_NAME,
    VARIABLES[0],
    VARIABLES[1],
];

/// Runs the trial renders in order; later ones depend on the results of earlier ones. `source` is
/// the template's text.
pub fn find(engine: &Engine, source: &str) -> Caps {
    let (string_content, typed_content) = content(engine);
    let system = Trial::new(
        engine,
        json!([{"role": "system", "content": "System message"}, {"role": "user", "content": "User message"}]),
        Json::Null,
        None,
    );
    // A template cannot access a variable that its source does not name.
    let reasoning_effort =
        EFFORT.iter().any(|name| source.contains(name)) && looks_at_effort(engine);
    let mut caps = Caps {
        string_content,
        typed_content,
        system_role: system.read(CONTENT),
        reasoning_effort,
        reasoning_effort_levels: if reasoning_effort {
            effort_levels(engine)
        } else {
            Vec::new()
        },
        ..Caps::default()
    };
    if !renders_tools(engine, &mut caps)
        && let Some(field) = demanded_reasoning(engine, source, &caps)
    {
        caps.demanded_reasoning = Some(field.to_owned());
        renders_tools(engine, &mut caps);
    }
    caps.preserve_reasoning = keeps_reasoning(engine, &caps);
    caps
}

/// Whether content may be a string, and whether it may be a list of parts.
fn content(engine: &Engine) -> (bool, bool) {
    const MARKER: &str = "STRING_MARKER";
    let user = |content: Json| json!([{"role": "user", "content": content}]);
    let text = Trial::new(engine, user(json!(MARKER)), Json::Null, Some(CONTENT));
    let indexed = text.usage.recorded(CONTENT, Use::Index);
    // A template that indexes a string and does not render it does not support strings.
    let string = text.succeeded() && (!indexed || text.shows(MARKER));
    let mut typed = indexed;
    if text.usage.recorded(CONTENT, Use::IsString) {
        let parts = Trial::new(engine, user(json!([text_part(MARKER)])), Json::Null, None);
        typed |= parts.succeeded() && parts.usage.recorded(CONTENT, Use::Index);
    }
    (string, typed)
}

/// A field of a part that templates do not know. If it is rendered, the template prints the list of
/// parts.
pub const UNKNOWN: &str = "UNKNOWN_MARKER";

/// How the content of a role may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// As one text: of a list of parts not all is shown, or more than their texts.
    Text,
    /// As a list of parts.
    Parts,
    /// As a list of one text: a text is rendered letter by letter, and parts are printed as data.
    Item,
    /// A list is rendered as its texts are.
    Both,
    /// The trials show no content, or no way to give it.
    Unknown,
}

impl Form {
    /// Renders a text and a list of two, with tools and without; and where only the list is shown,
    /// lists of one.
    pub fn of(engine: &Engine, role: &str, caps: &Caps) -> Form {
        const MARKERS: [&str; 2] = ["TEXT_MARKER", "OTHER_MARKER"];
        let shown = |content: Json| {
            let prompts = prompts_of_role(engine, role, &content, caps);
            prompts.map(|prompt| prompt.filter(|prompt| prompt.contains(MARKERS[0])))
        };
        let (mut texts, mut parts) = (
            shown(json!(MARKERS[0])),
            shown(MARKERS.map(text_part).into_iter().collect()),
        );
        let tried = [0, 1].map(|index| [texts[index].take(), parts[index].take()]);
        let alike = |[text, parts]: &[Option<String>; 2]| {
            ["", " ", "\n", "\n\n"].into_iter().any(|between| {
                text.as_ref()
                    .map(|text| text.replace(MARKERS[0], &MARKERS.join(between)))
                    == *parts
            })
        };
        match tried
            .iter()
            .find(|[text, parts]| text.is_some() || parts.is_some())
        {
            None => Form::Unknown,
            Some([None, _]) => {
                let mut part = text_part(MARKERS[0]);
                part["unknown"] = json!(UNKNOWN);
                let is_data = shown(json!([part]))
                    .iter()
                    .flatten()
                    .any(|prompt| prompt.contains(UNKNOWN));
                // A text of one letter is then rendered as a list of it.
                let letter = |content: Json| prompts_of_role(engine, role, &content, caps);
                let is_item = || {
                    letter(json!("Q")) == letter(json!(["Q"]))
                        && shown(json!([MARKERS[0]]))[0].is_some()
                };
                match is_data {
                    false => Form::Parts,
                    true if is_item() => Form::Item,
                    true => Form::Unknown,
                }
            }
            _ if tried.iter().all(alike) => Form::Both,
            _ => Form::Text,
        }
    }
}

/// The prompts of a conversation in which this role says `content`: with a tool, and without.
pub fn prompts_of_role(
    engine: &Engine,
    role: &str,
    content: &Json,
    caps: &Caps,
) -> [Option<String>; 2] {
    [with_tool(), Json::Null]
        .map(|tools| Trial::new(engine, said(role, content.clone(), caps), tools, None).output)
}

/// A conversation in which this role says `content`.
fn said(role: &str, content: Json, caps: &Caps) -> Json {
    let user = json!({"role": "user", "content": caps.content("User message")});
    let message = json!({"role": role, "content": content});
    let messages = match role {
        "system" => json!([message, user]),
        "assistant" => json!([user, message, user]),
        "tool" => {
            let mut messages = exchange(&caps.arguments(json!({"arg": "value"})), 1, caps);
            messages[0]["content"] = user["content"].clone();
            messages[2]["content"] = message["content"].clone();
            messages[2]["name"] = json!("tool1");
            messages
                .as_array()
                .into_iter()
                .flatten()
                .take(3)
                .cloned()
                .collect()
        }
        _ => json!([message]),
    };
    completed(messages, caps)
}

/// Whether a conversation with calls is rendered at all. Finds out whether tools, calls and several
/// calls are, and whether a call's arguments are an object.
fn renders_tools(engine: &Engine, caps: &mut Caps) -> bool {
    let (parallel, objects) = calling(engine, &json!({"arg": "value"}), caps);
    let renders = objects.succeeded();
    caps.tools = !renders || objects.read(TOOL_NAME);
    caps.tool_calls = !renders || objects.read(CALLS);
    caps.object_arguments = renders && caps.tool_calls && objects.read(ARGUMENT);
    caps.parallel_tool_calls = renders && parallel;
    if caps.object_arguments {
        return true;
    }
    let (parallel, texts) = calling(engine, &json!(r#"{"arg": "value"}"#), caps);
    caps.tools &= texts.succeeded() && texts.read(TOOL_NAME);
    caps.tool_calls &= texts.succeeded() && texts.read(CALLS);
    caps.parallel_tool_calls = texts.succeeded() && parallel;
    renders || texts.succeeded()
}

/// A render of two calls, which answers the questions about one as well, or of one where the
/// template rejects two; and whether it reads the second.
fn calling(engine: &Engine, arguments: &Json, caps: &Caps) -> (bool, Trial) {
    let trial =
        |calls: usize| Trial::new(engine, exchange(arguments, calls, caps), with_tool(), None);
    let two = trial(2);
    let trial = if two.succeeded() { two } else { trial(1) };
    (trial.read(SECOND_CALL), trial)
}

/// The field of reasoning without which the template rejects assistant messages, and with which,
/// empty, it renders them.
fn demanded_reasoning(engine: &Engine, source: &str, caps: &Caps) -> Option<&'static str> {
    let mut fields = REASONING
        .into_iter()
        .filter(|field| reads_field(source, field))
        .peekable();
    fields.peek()?;
    let renders = |field: Option<&'static str>| {
        let mut answer = json!({"role": "assistant", "content": caps.content("Assistant message")});
        Caps {
            demanded_reasoning: field.map(str::to_owned),
            ..caps.clone()
        }
        .complete(&mut answer);
        let question = json!({"role": "user", "content": caps.content("User message")});
        prompt_of(engine, json!([question, answer])).is_some()
    };
    if renders(None) {
        None
    } else {
        fields.find(|field| renders(Some(field)))
    }
}

/// Whether the source has `name` as the name of a field: behind a dot, or as a whole text.
pub fn reads_field(source: &str, name: &str) -> bool {
    source.match_indices(name).any(|(at, _)| {
        let behind = source[at + name.len()..].chars().next();
        match source[..at].chars().next_back() {
            Some('.') => !behind.is_some_and(|c| c == '_' || c.is_alphanumeric()),
            Some(quote @ ('\'' | '"')) => behind == Some(quote),
            _ => false,
        }
    })
}

/// Whether arguments that are not JSON are rendered as they are.
pub fn shows_any_arguments(engine: &Engine, caps: &Caps) -> bool {
    const BROKEN: &str = "{BROKEN";
    Trial::new(engine, exchange(&json!(BROKEN), 1, caps), with_tool(), None).shows(BROKEN)
}

/// Whether the name of a result is rendered.
pub fn names_results(engine: &Engine, caps: &Caps) -> bool {
    const NAME: &str = "tool_of_result";
    let mut messages = exchange(&caps.arguments(json!({})), 1, caps);
    messages[2]["name"] = json!(NAME);
    Trial::new(engine, messages, with_tool(), None).shows(NAME)
}

/// Whether a call's id is rendered, and its name is not.
pub fn named_by_id(engine: &Engine, caps: &Caps) -> bool {
    let mut call = exchange(&caps.arguments(json!({})), 1, caps)[1].take();
    call["tool_calls"][0]["function"]["name"] = json!("tool_of_call");
    prompt_with(engine, &call)
        .is_some_and(|prompt| prompt.contains("call00001") && !prompt.contains("tool_of_call"))
}

/// The prompt for these messages, if the template renders them.
pub fn prompt_of(engine: &Engine, messages: Json) -> Option<String> {
    Trial::new(
        engine,
        messages,
        json!({"add_generation_prompt": false}),
        None,
    )
    .output
}

/// The prompt of a conversation that ends with this message.
pub fn prompt_with(engine: &Engine, message: &Json) -> Option<String> {
    prompt_of(
        engine,
        json!([{"role": "user", "content": "User message"}, message]),
    )
}

/// A conversation in which the assistant makes `calls` calls.
fn exchange(arguments: &Json, calls: usize, caps: &Caps) -> Json {
    let call = |index: usize| {
        let function = json!({"name": "tool1", "arguments": arguments});
        json!({"id": format!("call0000{index}"), "type": "function", "function": function})
    };
    let messages = json!([
        {"role": "user", "content": "User message"},
        {"role": "assistant", "content": "", "tool_calls": (1..=calls).map(call).collect::<Vec<_>>()},
        {"role": "tool", "content": "Tool response", "tool_call_id": "call00001"},
        {"role": "assistant", "content": "The tool response was 'tool response'"},
        {"role": "user", "content": "User message"},
    ]);
    completed(messages, caps)
}

/// The messages, with what the template demands of them.
fn completed(mut messages: Json, caps: &Caps) -> Json {
    messages
        .as_array_mut()
        .into_iter()
        .flatten()
        .for_each(|message| caps.complete(message));
    messages
}

fn with_tool() -> Json {
    json!({"tools": [{
        "name": "tool",
        "type": "function",
        "function": {
            "name": "tool1",
            "description": "Tool description",
            "parameters": {
                "type": "object",
                "properties": {"arg": {"type": "string", "description": "Arg description"}},
                "required": ["arg"],
            },
        },
    }]})
}

/// Whether reasoning before the last user message is rendered.
fn keeps_reasoning(engine: &Engine, caps: &Caps) -> bool {
    const MARKER: &str = "<REASONING_CONTENT_PLACEHOLDER>";
    let mut more = json!({THINKS: true});
    preserve_reasoning(true)
        .into_iter()
        .for_each(|(name, value)| more[name] = json!(value));
    let messages = json!([
        {"role": "user", "content": "User message"},
        {"role": "assistant", "content": "Assistant message", "reasoning_content": MARKER},
        {"role": "user", "content": "User message"},
        {"role": "assistant", "content": "Assistant message", "reasoning_content": "Reasoning content"},
        {"role": "user", "content": "User message"},
    ]);
    Trial::new(engine, completed(messages, caps), more, None).shows(MARKER)
}

/// A render of one message at this level of effort.
fn at_effort(engine: &Engine, level: &str) -> Trial {
    let mut more = json!({THINKS: true});
    EFFORT
        .into_iter()
        .for_each(|name| more[name] = json!(level));
    Trial::new(
        engine,
        json!([{"role": "user", "content": "User message"}]),
        more,
        None,
    )
}

fn looks_at_effort(engine: &Engine) -> bool {
    let trial = at_effort(engine, "low");
    VARIABLES.iter().any(|path| trial.read(path))
}

/// A word that is no level of effort.
const NO_LEVEL: &str = "REASONING_EFFORT_UNKNOWN";

/// What the template does with each level.
pub fn levels(engine: &Engine) -> [Level; LADDER.len()] {
    let unknown = at_effort(engine, NO_LEVEL).output;
    LADDER.map(|level| match at_effort(engine, level).output {
        None => Level::Refused,
        // A template that prints the word shows each in its own way.
        output if output == unknown => Level::Unknown,
        _ => Level::Known,
    })
}

/// Whether thinking is on by default, and [`OTHER_SWITCH`] turns it off.
pub fn has_other_switch(engine: &Engine) -> bool {
    let user = json!([{"role": "user", "content": "User message"}]);
    let [on, off] = [Json::Null, json!({OTHER_SWITCH: false})]
        .map(|more| Trial::new(engine, user.clone(), more, None).output);
    off.is_some() && on.is_some() && on != off
}

/// Whether a conversation without tools and documents renders if both are none, or would not in any
/// case.
pub fn takes_none(engine: &Engine) -> bool {
    let user = json!([{"role": "user", "content": "User message"}]);
    let renders = |more: Json| Trial::new(engine, user.clone(), more, None).succeeded();
    renders(json!({"tools": null, "documents": null})) || !renders(Json::Null)
}

/// The levels that are rendered otherwise than a word that is no level. Of levels that are rendered
/// alike, the highest.
fn effort_levels(engine: &Engine) -> Vec<String> {
    let unknown = at_effort(engine, NO_LEVEL).output;
    let mut found: Vec<(String, &str)> = Vec::new();
    for &level in LEVELS {
        let Some(output) = at_effort(engine, level)
            .output
            .filter(|output| Some(output) != unknown.as_ref())
        else {
            continue;
        };
        match found.iter_mut().find(|(before, _)| *before == output) {
            Some((_, alike)) => *alike = level,
            None => found.push((output, level)),
        }
    }
    found
        .into_iter()
        .map(|(_, level)| level.to_owned())
        .collect()
}
