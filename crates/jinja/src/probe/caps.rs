//! Finds out what a template accepts and demands: renders small conversations, and records the
//! values that the template accesses.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::trace::{Trace, Usage, Use};
use crate::Caps;
use crate::engine::{Engine, Way};
use crate::request::context::{self, EFFORT, OTHER_SWITCH, THINKS, preserve_reasoning};
use crate::request::effort::{LADDER, Level};
use chatparse_message::{REASONING, text_part};

/// The trial renders, on an engine with bounds of its own, with the capabilities that are known by
/// now.
pub struct Trials<'t> {
    pub engine: Engine,
    /// The template's text.
    pub source: &'t str,
    pub caps: Caps,
}

/// A traced render: its output, unless it failed, and the accesses of the template.
struct Trial {
    output: Option<String>,
    usage: Arc<Usage>,
}

impl Trial {
    fn succeeded(&self) -> bool {
        self.output.is_some()
    }

    fn shows(&self, text: &str) -> bool {
        let output = self.output.as_deref();
        output.is_some_and(|output| output.contains(text))
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

impl Trials<'_> {
    /// Renders messages with `more` variables.
    fn render(&self, messages: Json, more: Json) -> Trial {
        self.watched(messages, more, None)
    }

    /// The same, where accesses to the string at `text_at` are recorded as well.
    fn watched(&self, messages: Json, more: Json, text_at: Option<&'static str>) -> Trial {
        let usage = Usage::new(WATCHED, text_at);
        let mut variables =
            json!({"tools": [], "bos_token": "", "eos_token": "", "add_generation_prompt": true});
        variables["messages"] = messages;
        for (name, value) in more.as_object().into_iter().flatten() {
            variables[name] = value.clone();
        }
        let way = Way {
            now: Some(0),
            trial: Some(&usage),
            ..Way::default()
        };
        let trace = Trace::root(&usage);
        let rendered = self
            .engine
            .render(way, |tree| context::of_json(tree, &variables, &trace));
        Trial {
            output: rendered.ok().map(|rendered| rendered.text),
            usage,
        }
    }

    /// Finds the capabilities, with renders in order; later ones depend on the results of earlier
    /// ones.
    pub fn find(mut self) -> Caps {
        (self.caps.string_content, self.caps.typed_content) = self.content();
        let system = self.render(
            json!([{"role": "system", "content": "System message"}, asked()]),
            Json::Null,
        );
        self.caps.system_role = system.read(CONTENT);
        // A template cannot access a variable that its source does not name.
        if EFFORT.iter().any(|name| self.source.contains(name)) {
            let low = self.at_effort("low");
            self.caps.reasoning_effort = VARIABLES.iter().any(|path| low.read(path));
        }
        if self.caps.reasoning_effort {
            self.caps.reasoning_effort_levels = self.effort_levels();
        }
        if !self.renders_tools()
            && let Some(field) = self.demanded_reasoning()
        {
            self.caps.demanded_reasoning = Some(field.to_owned());
            self.renders_tools();
        }
        self.caps.preserve_reasoning = self.keeps_reasoning();
        self.caps
    }

    /// Whether content may be a string, and whether it may be a list of parts.
    fn content(&self) -> (bool, bool) {
        const MARKER: &str = "STRING_MARKER";
        let text = self.watched(user(json!(MARKER)), Json::Null, Some(CONTENT));
        let indexed = text.usage.recorded(CONTENT, Use::Index);
        // A template that indexes a string and does not render it does not support strings.
        let string = text.succeeded() && (!indexed || text.shows(MARKER));
        let mut typed = indexed;
        if text.usage.recorded(CONTENT, Use::IsString) {
            let parts = self.render(user(json!([text_part(MARKER)])), Json::Null);
            typed |= parts.succeeded() && parts.usage.recorded(CONTENT, Use::Index);
        }
        (string, typed)
    }

    /// The prompts of a conversation in which this role says `content`: with a tool, and without.
    pub fn prompts_of_role(&self, role: &str, content: &Json) -> [Option<String>; 2] {
        let messages = self.said(role, content);
        [with_tool(), Json::Null].map(|tools| self.render(messages.clone(), tools).output)
    }

    /// A conversation in which this role says `content`.
    fn said(&self, role: &str, content: &Json) -> Json {
        let asked = json!({"role": "user", "content": self.caps.content("User message")});
        let message = json!({"role": role, "content": content});
        let messages = match role {
            "system" => json!([message, asked]),
            "assistant" => json!([asked, message, asked]),
            "tool" => {
                let mut messages = self.exchange(&self.caps.arguments(json!({"arg": "value"})), 1);
                messages[0]["content"] = asked["content"].clone();
                messages[2]["content"] = content.clone();
                messages[2]["name"] = json!("tool1");
                if let Some(messages) = messages.as_array_mut() {
                    messages.truncate(3);
                }
                messages
            }
            _ => json!([message]),
        };
        self.completed(messages)
    }

    /// Whether a conversation with calls is rendered at all. Finds out whether tools, calls and
    /// several calls are, and whether a call's arguments are an object.
    fn renders_tools(&mut self) -> bool {
        let (parallel, objects) = self.calling(&json!({"arg": "value"}));
        let renders = objects.succeeded();
        let caps = &mut self.caps;
        caps.tools = !renders || objects.read(TOOL_NAME);
        caps.tool_calls = !renders || objects.read(CALLS);
        caps.object_arguments = renders && caps.tool_calls && objects.read(ARGUMENT);
        caps.parallel_tool_calls = renders && parallel;
        if caps.object_arguments {
            return true;
        }
        let (parallel, texts) = self.calling(&json!(r#"{"arg": "value"}"#));
        let caps = &mut self.caps;
        caps.tools &= texts.succeeded() && texts.read(TOOL_NAME);
        caps.tool_calls &= texts.succeeded() && texts.read(CALLS);
        caps.parallel_tool_calls = texts.succeeded() && parallel;
        renders || texts.succeeded()
    }

    /// A render of two calls, which answers the questions about one as well, or of one where the
    /// template rejects two; and whether it reads the second.
    fn calling(&self, arguments: &Json) -> (bool, Trial) {
        let mut trial = self.with_calls(arguments, 2);
        if !trial.succeeded() {
            trial = self.with_calls(arguments, 1);
        }
        (trial.read(SECOND_CALL), trial)
    }

    fn with_calls(&self, arguments: &Json, calls: usize) -> Trial {
        self.render(self.exchange(arguments, calls), with_tool())
    }

    /// The field of reasoning without which the template rejects assistant messages, and with
    /// which, empty, it renders them.
    fn demanded_reasoning(&self) -> Option<&'static str> {
        let mut fields = REASONING
            .into_iter()
            .filter(|field| reads_field(self.source, field))
            .peekable();
        fields.peek()?;
        if self.renders_answer_with(None) {
            return None;
        }
        fields.find(|field| self.renders_answer_with(Some(field)))
    }

    /// Whether an answer with this field of reasoning, which is empty, is rendered.
    fn renders_answer_with(&self, field: Option<&str>) -> bool {
        let mut answer =
            json!({"role": "assistant", "content": self.caps.content("Assistant message")});
        if let Some(field) = field {
            answer[field] = json!("");
        }
        let question = json!({"role": "user", "content": self.caps.content("User message")});
        self.prompt_of(json!([question, answer])).is_some()
    }

    /// Whether arguments that are not JSON are rendered as they are.
    pub fn shows_any_arguments(&self) -> bool {
        const BROKEN: &str = "{BROKEN";
        self.with_calls(&json!(BROKEN), 1).shows(BROKEN)
    }

    /// Whether the name of a result is rendered.
    pub fn names_results(&self) -> bool {
        const NAME: &str = "tool_of_result";
        let mut messages = self.exchange(&self.caps.arguments(json!({})), 1);
        messages[2]["name"] = json!(NAME);
        self.render(messages, with_tool()).shows(NAME)
    }

    /// Whether a call's id is rendered, and its name is not.
    pub fn named_by_id(&self) -> bool {
        let mut call = self.exchange(&self.caps.arguments(json!({})), 1)[1].take();
        call["tool_calls"][0]["function"]["name"] = json!("tool_of_call");
        self.prompt_with(&call)
            .is_some_and(|prompt| prompt.contains("call00001") && !prompt.contains("tool_of_call"))
    }

    /// The prompt for these messages, if the template renders them.
    fn prompt_of(&self, messages: Json) -> Option<String> {
        self.render(messages, json!({"add_generation_prompt": false}))
            .output
    }

    /// The prompt of a conversation that ends with this message.
    pub fn prompt_with(&self, message: &Json) -> Option<String> {
        self.prompt_of(json!([asked(), message]))
    }

    /// A conversation in which the assistant makes `calls` calls.
    fn exchange(&self, arguments: &Json, calls: usize) -> Json {
        let mut all = Vec::new();
        for index in 1..=calls {
            let function = json!({"name": "tool1", "arguments": arguments});
            all.push(
                json!({"id": format!("call0000{index}"), "type": "function", "function": function}),
            );
        }
        self.completed(json!([
            asked(),
            {"role": "assistant", "content": "", "tool_calls": all},
            {"role": "tool", "content": "Tool response", "tool_call_id": "call00001"},
            {"role": "assistant", "content": "The tool response was 'tool response'"},
            asked(),
        ]))
    }

    /// The messages, with the field that the template demands of them.
    fn completed(&self, mut messages: Json) -> Json {
        for message in messages.as_array_mut().into_iter().flatten() {
            self.caps.complete(message);
        }
        messages
    }

    /// Whether reasoning before the last user message is rendered.
    fn keeps_reasoning(&self) -> bool {
        const MARKER: &str = "<REASONING_CONTENT_PLACEHOLDER>";
        let mut more = json!({THINKS: true});
        for (name, value) in preserve_reasoning(true) {
            more[name] = json!(value);
        }
        let messages = json!([
            asked(),
            {"role": "assistant", "content": "Assistant message", "reasoning_content": MARKER},
            asked(),
            {"role": "assistant", "content": "Assistant message", "reasoning_content": "Reasoning content"},
            asked(),
        ]);
        self.render(self.completed(messages), more).shows(MARKER)
    }

    /// A render of one message at this level of effort.
    fn at_effort(&self, level: &str) -> Trial {
        let mut more = json!({THINKS: true});
        for name in EFFORT {
            more[name] = json!(level);
        }
        self.render(json!([asked()]), more)
    }

    /// How the template treats each level.
    pub fn levels(&self) -> [Level; LADDER.len()] {
        let unknown = self.at_effort(NO_LEVEL).output;
        LADDER.map(|level| match self.at_effort(level).output {
            None => Level::Refused,
            // A template that prints the word shows each in its own way.
            output if output == unknown => Level::Unknown,
            _ => Level::Known,
        })
    }

    /// The levels that are rendered otherwise than a word that is no level. Of levels that are
    /// rendered alike, the highest.
    fn effort_levels(&self) -> Vec<String> {
        let unknown = self.at_effort(NO_LEVEL).output;
        let mut shown: Vec<(String, String)> = Vec::new();
        for level in LEVELS {
            let output = self.at_effort(level).output;
            if output == unknown {
                continue;
            }
            let Some(output) = output else { continue };
            match shown.iter_mut().find(|(before, _)| *before == output) {
                Some((_, alike)) => *alike = (*level).to_owned(),
                None => shown.push((output, (*level).to_owned())),
            }
        }
        shown.into_iter().map(|(_, level)| level).collect()
    }

    /// Whether thinking is on by default, and [`OTHER_SWITCH`] turns it off.
    pub fn has_other_switch(&self) -> bool {
        let [on, off] = [Json::Null, json!({OTHER_SWITCH: false})]
            .map(|more| self.render(json!([asked()]), more).output);
        off.is_some() && on.is_some() && on != off
    }

    /// Whether a conversation without tools and documents renders if both are none, or would not in
    /// any case.
    pub fn takes_none(&self) -> bool {
        let messages = json!([asked()]);
        let none = json!({"tools": null, "documents": null});
        self.render(messages.clone(), none).succeeded()
            || !self.render(messages, Json::Null).succeeded()
    }

    /// How the content of a role may be given. Renders a text and a list of two, with tools and
    /// without; and where only the list is shown, lists of one.
    pub fn form(&self, role: &str) -> Form {
        let mut texts = self.shown(role, &json!(MARKERS[0]));
        let mut parts = self.shown(role, &MARKERS.map(text_part).into_iter().collect());
        let tried = [0, 1].map(|index| [texts[index].take(), parts[index].take()]);
        let mut shown = tried
            .iter()
            .filter(|[text, parts]| text.is_some() || parts.is_some());
        match shown.next() {
            None => Form::Unknown,
            Some([None, _]) => self.form_of_lists(role),
            _ if tried.iter().all(are_alike) => Form::Both,
            _ => Form::Text,
        }
    }

    /// The form of a role whose content is shown in lists only.
    fn form_of_lists(&self, role: &str) -> Form {
        let mut part = text_part(MARKERS[0]);
        part["unknown"] = json!(UNKNOWN);
        let prompts = self.shown(role, &json!([part]));
        if !prompts
            .iter()
            .flatten()
            .any(|prompt| prompt.contains(UNKNOWN))
        {
            return Form::Parts;
        }
        // A text of one letter is rendered as a list of the letter if its letters are the items.
        let [letter, list] =
            [json!("Q"), json!(["Q"])].map(|content| self.prompts_of_role(role, &content));
        match letter == list && self.shown(role, &json!([MARKERS[0]]))[0].is_some() {
            true => Form::Item,
            false => Form::Unknown,
        }
    }

    /// The prompts that show the first of [`MARKERS`] in `content`.
    fn shown(&self, role: &str, content: &Json) -> [Option<String>; 2] {
        let prompts = self.prompts_of_role(role, content);
        prompts.map(|prompt| prompt.filter(|prompt| prompt.contains(MARKERS[0])))
    }
}

/// The texts of content in trials of [`Form`].
const MARKERS: [&str; 2] = ["TEXT_MARKER", "OTHER_MARKER"];

/// Whether the prompt of a list has its texts where the prompt of a text has it.
fn are_alike([text, parts]: &[Option<String>; 2]) -> bool {
    ["", " ", "\n", "\n\n"].into_iter().any(|between| {
        let joined = MARKERS.join(between);
        text.as_ref().map(|text| text.replace(MARKERS[0], &joined)) == *parts
    })
}

/// The usual message of the user.
fn asked() -> Json {
    json!({"role": "user", "content": "User message"})
}

/// A conversation of one message.
fn user(content: Json) -> Json {
    json!([{"role": "user", "content": content}])
}

/// A word that is no level of effort.
const NO_LEVEL: &str = "REASONING_EFFORT_UNKNOWN";

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

/// Whether the source has `name` as the name of a field: after a dot, or as a whole text.
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
