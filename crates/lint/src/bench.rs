//! Renders of small conversations, as transformers makes them, and what the laws found in them.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::law::{Finding, Law};
use chatparse_base::Result;
use chatparse_base::find::{char_border_behind, shared};
use chatparse_base::json_string::push_quoted;
use chatparse_chat::chat::{ChatTemplate, Params};
use chatparse_jinja::SourceParts;
use chatparse_message::Request;

/// Bytes before a difference, and characters of each side, that a finding shows.
const BEFORE: usize = 60;
const CHARS: usize = 160;

/// The user's text in all conversations, with characters that templates escape.
pub const ASKED: &str = "Quince \"jam\" & <b>it's</b> \\ é\n 5";
/// Other texts.
pub const ANSWERED: &str = "Medlar, I say.";
pub const TOLD: &str = "Loquat \"is\" & <i>it's</i> \\ ü\n 7";
pub const FURTHER: &str = "Damson now?";
/// The last value of each call.
pub const LAST: &str = "old one";

/// A template, and the findings so far.
pub struct Bench<'t> {
    pub template: &'t ChatTemplate,
    pub findings: Vec<Finding>,
    /// The laws that some render asked about.
    pub asked: Vec<Law>,
    /// Whether prompts have the tools of a request, and whether they have tools or calls, or the
    /// template asks for calls. Others are not made for them.
    pub lists_tools: bool,
    pub takes_tools: bool,
}

impl<'t> Bench<'t> {
    pub fn new(template: &'t ChatTemplate) -> Bench<'t> {
        let mut bench = Bench {
            template,
            findings: Vec::new(),
            asked: Vec::new(),
            lists_tools: false,
            takes_tools: false,
        };
        bench.lists_tools = bench.text(&with_tools(vec![user(ASKED)])).contains(NAME);
        let source = template.jinja().written();
        let parts = SourceParts::of(source);
        let mut tags = parts.tags.iter().map(|tag| &source[tag.clone()]);
        bench.takes_tools = bench.lists_tools
            || tags.any(|tag| tag.contains("tool_calls"))
            || bench.text(&with_tools(called())).contains("Azarole");
        bench
    }

    /// The prompt as transformers renders it.
    pub fn render(&self, request: &Value) -> Result<String> {
        self.template.prompt(&plain(self.template, request)?)
    }

    /// The prompt, or the error that the template raises.
    pub fn text(&self, request: &Value) -> String {
        let prompt = self.render(request);
        prompt.unwrap_or_else(|error| error.to_string())
    }

    /// A request with these messages, and with tools if the template takes any.
    pub fn request(&self, messages: Vec<Value>) -> Value {
        if self.takes_tools {
            with_tools(messages)
        } else {
            request(messages)
        }
    }

    /// The params of the smallest request, as chatparse makes them.
    pub fn params(&self) -> Option<Params> {
        let request = Request::from_json(&request(vec![user(ASKED)])).ok()?;
        self.template.params(&request).ok()
    }

    /// The prompt of a conversation that nothing is to follow.
    pub fn history(&self, messages: Vec<Value>) -> Result<String> {
        let mut request = self.request(messages);
        request["add_generation_prompt"] = false.into();
        self.render(&request)
    }

    /// Messages of all roles.
    pub fn everything(&self) -> Value {
        let mut messages = [vec![said("system", TOLD)], answered()].concat();
        if self.takes_tools {
            messages.extend([calls("", &["Azarole"]), result(0, TOLD)]);
        }
        self.request(messages)
    }

    pub fn ask(&mut self, law: Law) {
        if !self.asked.contains(&law) {
            self.asked.push(law);
        }
    }

    /// A finding about a request: both texts from before their first difference on.
    pub fn differ(
        &mut self,
        (law, is_fault, message): (Law, bool, &str),
        request: &Value,
        [expected, got]: [&str; 2],
    ) {
        let mut finding = Finding::new(law, is_fault, message);
        finding.request = request.clone();
        let at = shared(expected, got);
        let finding = finding.with("expected", around(expected, at));
        self.findings.push(finding.with("got", around(got, at)));
    }
}

/// A request that renders as in transformers. Tokens that nobody names are empty: a model has them,
/// and a template that adds them to a text would raise.
pub fn plain(template: &ChatTemplate, request: &Value) -> Result<Request> {
    let mut request = Request::from_json_with(request, &json!({"plain": true, "now": 0}))?;
    let jinja = template.jinja();
    for (name, token) in [("bos_token", jinja.bos()), ("eos_token", jinja.eos())] {
        if token.is_empty() {
            request.template_kwargs.insert(name.to_owned(), "".into());
        }
    }
    Ok(request)
}

/// A text as it is inside of a JSON string.
pub fn escaped(text: &str) -> String {
    let mut inside = String::new();
    push_quoted(text, &mut inside);
    inside
}

/// The last occurrence of a text, as it is or inside of JSON.
pub fn last(prompt: &str, text: &str) -> Option<Range<usize>> {
    let forms = [text.to_owned(), escaped(text)];
    forms.iter().find_map(|form| {
        let at = prompt.rfind(form)?;
        Some(at..at + form.len())
    })
}

/// A text from before this place on.
pub fn around(text: &str, at: usize) -> String {
    let from = char_border_behind(text, at.saturating_sub(BEFORE));
    text[from..].chars().take(CHARS).collect()
}

pub fn user(text: &str) -> Value {
    said("user", text)
}

pub fn answer(text: &str) -> Value {
    said("assistant", text)
}

pub fn said(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

/// The name of the first tool.
pub const NAME: &str = "pick_fruit";

/// An assistant's message with these calls of the first tool, each by its first argument. There is
/// one value of each type that templates write in their own way.
pub fn calls(content: &str, sorts: &[&str]) -> Value {
    let mut calls = Vec::new();
    for (index, sort) in sorts.iter().enumerate() {
        let arguments = json!({"sort": sort, "ripe": true, "crate": null, "weights": [3, 4.5], "from": {"tree": LAST}});
        let function = json!({"name": NAME, "arguments": arguments});
        calls.push(json!({"id": id(index), "type": "function", "function": function}));
    }
    json!({"role": "assistant", "content": content, "tool_calls": calls})
}

/// The result of the call with this index.
pub fn result(index: usize, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id(index), "name": NAME, "content": text})
}

/// Nine letters and digits, because some templates require that.
fn id(index: usize) -> String {
    format!("fruit{index:04}")
}

pub fn request(messages: Vec<Value>) -> Value {
    json!({"messages": messages})
}

pub fn with_tools(messages: Vec<Value>) -> Value {
    let mut properties = Map::new();
    for (key, kind) in [
        ("sort", "string"),
        ("ripe", "boolean"),
        ("crate", "string"),
        ("weights", "array"),
        ("from", "object"),
    ] {
        let description = format!("Its {key}, Mirabelle");
        properties.insert(
            key.into(),
            json!({"type": kind, "description": description}),
        );
    }
    let mut tools = Vec::new();
    for (name, description, properties) in [
        (NAME, "Picks a Greengage", properties.into()),
        (
            "store_fruit",
            "Stores a Bullace",
            json!({"shelf": {"type": "integer"}}),
        ),
    ] {
        let parameters = json!({"type": "object", "properties": properties});
        let function = json!({"name": name, "description": description, "parameters": parameters});
        tools.push(json!({"type": "function", "function": function}));
    }
    json!({"messages": messages, "tools": tools, "parallel_tool_calls": true})
}

/// A question, an answer, and another question.
pub fn answered() -> Vec<Value> {
    vec![user(ASKED), answer(ANSWERED), user(FURTHER)]
}

/// A question, a call, and its result.
pub fn called() -> Vec<Value> {
    vec![user(ASKED), calls("", &["Azarole"]), result(0, TOLD)]
}

/// Conversations of all kinds, the smallest first, perhaps with tools.
pub fn conversations(tools: bool) -> Vec<Value> {
    let mut late = answered();
    late.insert(2, said("system", "Be a Medick."));
    let mut all = vec![
        request(vec![user(ASKED)]),
        request(vec![said("system", "Be a Sloe."), user(ASKED)]),
        request(vec![said("developer", "Be a Whortle."), user(ASKED)]),
        request(vec![user("Rowan?"), user(ASKED)]),
        request(answered()),
        request(late),
    ];
    if tools {
        let two = calls("", &["Azarole", "Kumquat"]);
        let beside = calls(ANSWERED, &["Azarole"]);
        let conversations = [
            vec![user(ASKED)],
            called(),
            vec![user(ASKED), beside, result(0, TOLD)],
            vec![user(ASKED), two, result(0, TOLD), result(1, "Rambutan")],
            [called(), answered()[1..].to_vec()].concat(),
        ];
        all.extend(conversations.into_iter().map(with_tools));
    }
    all
}
