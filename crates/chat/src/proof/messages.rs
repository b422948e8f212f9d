//! The messages of a proof. The analysis learns from other messages.

use serde_json::Value;

use chatparse_jinja::{Caps, Template};
use chatparse_message::{MalformedArguments, Message, Request, ToolCall};

/// The user's message in all of them.
pub(super) const QUESTION: &str = "Well, what is it?";
/// What the user says after them, if anything.
pub(super) const FURTHER: &str = "Good, and what else?";
/// Part of each content, and the value of an argument in the simplest call.
pub(super) const WORD: &str = "Quince";
/// Part of each thought.
pub(super) const THOUGHT_WORD: &str = "Medlar";
/// A thought.
const THOUGHT: &str = "Medlar: 2 < 3 & \"so\" on.\nThat is 5 — ünïcode 東京.";

/// The name of the probe whose values look like values of other types.
const LOOK_ALIKES: &str = "values that look like others";

chatparse_base::names! {
    /// Whether thinking is on, and whether the message has reasoning.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Thinking {
        /// Thinking is off.
        Off = "off",
        /// Thinking is on, but the message has no reasoning.
        Silent = "silent",
        /// Thinking is on, and the message has reasoning.
        On = "on",
    }
}

/// A message to render: content, and the names and arguments of calls.
pub struct Probe {
    pub name: &'static str,
    content: &'static str,
    calls: Vec<(&'static str, Value)>,
    /// One of the few with many features.
    pub rich: bool,
}

impl Probe {
    pub fn calls(&self) -> usize {
        self.calls.len()
    }

    /// The message, with reasoning for [`Thinking::On`].
    pub fn message(&self, template: &Template, thinking: Thinking) -> Message {
        let mut message = Message::new("assistant", self.content);
        if thinking == Thinking::On {
            message.reasoning_content = THOUGHT.to_owned();
        }
        for (index, (name, arguments)) in self.calls.iter().enumerate() {
            // Nine letters and digits, because some templates require that.
            let id = template.call_id(&format!("proof{index:04}"), name, index);
            let call = ToolCall::new(*name, arguments.to_string(), id);
            message.tool_calls.push(call);
        }
        message
    }
}

/// The messages that a template may be able to render, simple ones first.
pub(super) fn renderable(template: &Template) -> Vec<Probe> {
    let Caps {
        tool_calls,
        parallel_tool_calls,
        ..
    } = *template.caps();
    // The caps may be wrong because a trial failed for another reason. But a template that does not
    // name calls cannot render them.
    let unknown = !tool_calls && template.source().contains("tool_calls");
    let mut probes = all();
    probes.retain(|probe| match probe.calls() {
        0 => true,
        1 => tool_calls || unknown,
        _ => tool_calls && parallel_tool_calls || unknown,
    });
    // If only one call is allowed, its values must cover what several would.
    let several = probes.iter().any(|probe| probe.calls() > 1);
    for probe in &mut probes {
        probe.rich |= probe.name == LOOK_ALIKES && !several;
    }
    probes
}

fn all() -> Vec<Probe> {
    let look_alikes = json!({"text": "12", "count": 70000, "price": -8.5, "open": false, "gone": null, "list": ["null", "[x]", "a, b"], "deep": {"a": "x: y", "b": [1.25, null]}});
    let types = json!({"text": "Tea", "count": 3, "price": 2.5, "open": true, "gone": null, "list": ["a", "b"], "deep": {"x": 1}});
    let other_types = json!({"open": false, "count": -1, "price": 0, "list": [], "deep": {}});
    let nested =
        json!({"deep": {"a": {"b": [{"c": null}, [true, "d\"e"]]}, "f": [[], {}, [[0.5]]]}});
    let route = json!({"start": "Zürich, Bahnhofplatz 7", "via": ["Olten"], "end": "東京", "most_stops": 12, "slow": true});
    let (search, last) = (
        json!({"query": WORD, "page": 2}),
        json!({"text": "Tea", "count": 70}),
    );
    let special = "\"double\" 'single' \\ back\\n <b> & {curly} [square] `tick`\n\ttab";
    let code = "def f(x):\n    return {'a': [x, \"\\n\"]}\n";
    // Simple ones first.
    vec![
        probe("content", WORD, vec![]),
        probe("one call", "", vec![text(WORD)]),
        rich(probe(
            "content with markup",
            "# Quince\n\n- <b> & \"c\" {d} [e]\n\n```\n\\n\n```\nEnd.",
            vec![],
        )),
        probe("content in unicode", "Quince — 東京 🎉 e\u{301}", vec![]),
        probe(
            "a call with content",
            "Quince? Let me see.",
            vec![text("Tea")],
        ),
        probe("two calls", "", vec![text("Tea"), text("Cake")]),
        probe(
            "parallel calls",
            "",
            vec![text("Tea"), ("now", json!({})), text("Cake")],
        ),
        rich(probe(
            "all at once",
            "Quince, pears & \"figs\": one moment.",
            vec![
                ("note", look_alikes.clone()),
                ("now", json!({})),
                ("find_route", route.clone()),
            ],
        )),
        probe("no arguments", "", vec![("now", json!({}))]),
        probe("many arguments", "", vec![("find_route", route)]),
        probe("a number at the end", "", vec![("note", last.clone())]),
        probe("a number alone", "", vec![("note", json!({"count": 12}))]),
        probe(
            "with and without arguments",
            "",
            vec![("now", json!({})), ("note", last), ("now", json!({}))],
        ),
        probe(
            "a name with a dot and a dash",
            "",
            vec![("web.look-up", search)],
        ),
        probe("values of all types", "", vec![("note", types)]),
        probe("other values", "", vec![("note", other_types)]),
        probe(LOOK_ALIKES, "", vec![("note", look_alikes)]),
        probe("nested values", "", vec![("note", nested)]),
        rich(probe(
            "a text with special characters",
            "",
            vec![text(special)],
        )),
        probe(
            "a text in unicode",
            "",
            vec![text("Zürich — 東京 🎉 e\u{301}")],
        ),
        probe(
            "a text that looks like JSON",
            "",
            vec![text("{\"a\": [1, true]}")],
        ),
        probe("a text that looks like a number", "", vec![text("12")]),
        probe("a text that looks like null", "", vec![text("null")]),
        probe(
            "a text that looks like markup",
            "",
            vec![text("<b>x</b> [c]y[/c]")],
        ),
        probe("an empty text", "", vec![text("")]),
        probe("a text in lines", "", vec![text(code)]),
    ]
}

fn probe(name: &'static str, content: &'static str, calls: Vec<(&'static str, Value)>) -> Probe {
    Probe {
        name,
        content,
        calls,
        rich: false,
    }
}

fn rich(probe: Probe) -> Probe {
    Probe {
        rich: true,
        ..probe
    }
}

/// The call with a text.
fn text(text: &str) -> (&'static str, Value) {
    ("note", json!({"text": text}))
}

fn tool(name: &str, properties: Value) -> Value {
    let parameters = json!({"type": "object", "properties": properties});
    json!({"type": "function", "function": {"name": name, "description": "A tool.", "parameters": parameters}})
}

fn tools() -> Value {
    let note = json!({
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "price": {"type": "number"},
        "open": {"type": "boolean"},
        "gone": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "list": {"type": "array", "items": {"type": "string"}},
        "deep": {"type": "object"},
    });
    let route = json!({
        "start": {"type": "string"},
        "via": {"type": "array", "items": {"type": "string"}},
        "end": {"type": "string"},
        "most_stops": {"type": "integer"},
        "slow": {"type": "boolean"},
    });
    let search = json!({"query": {"type": "string"}, "page": {"type": "integer"}});
    json!([
        tool("note", note),
        tool("now", json!({})),
        tool("find_route", route),
        tool("web.look-up", search),
    ])
}

/// The question, with tools.
pub(super) fn asked(thinking: Thinking) -> Request {
    let request = Request::from_json(&json!({
        "messages": [{"role": "user", "content": QUESTION}],
        "tools": tools(),
        "parallel_tool_calls": true,
        "reasoning_format": "auto",
        "enable_thinking": thinking != Thinking::Off,
        "roles": "as_sent",
        "now": 0,
    }));
    request.expect("the request has the right shape")
}

/// The conversation that ends with the message, or with a further one of the user's.
pub(super) fn with(request: &Request, message: &Message, goes_on: bool) -> Request {
    let mut request = request.clone();
    request.messages.push(message.clone());
    request
        .messages
        .extend(goes_on.then(|| Message::new("user", FURTHER)));
    request.malformed_arguments = MalformedArguments::Error;
    request.add_generation_prompt = false;
    request
}
