//! What assistants say in these tests. None of it is what templates are asked to write while they
//! are learnt.

use serde_json::{Map, Value, json};

/// What is special about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text in one line, with nothing special in it.
    Text,
    /// Text with quotes and a backslash.
    Quotes,
    /// Text in several lines.
    Lines,
    /// Text with signs of markup.
    Markup,
    /// Text with signs that separate things.
    Signs,
    /// Text that looks like another value.
    Disguised,
    /// Text with nothing in it.
    Empty,
    /// Numbers and truth values.
    Number,
    Truth,
    Null,
    /// Arrays and objects, also in each other, also with nothing in them.
    Array,
    Object,
    Nested,
    EmptyArray,
    EmptyObject,
    /// Text in an array or object that would be special by itself.
    NestedQuotes,
}

/// Arguments and what is special about them. All are of the tool `plan`.
pub fn arguments() -> Vec<(Kind, Value)> {
    use Kind::*;
    vec![
        (Text, json!({"title": "Tea for two"})),
        (
            Text,
            json!({"title": "Grüße, 東京 🦀", "count": 4, "notes": "Ἀθῆναι"}),
        ),
        (
            Quotes,
            json!({"title": "say \"hi\", it's C:\\new\\", "count": 1}),
        ),
        (
            Quotes,
            json!({"count": 1, "notes": "\"quoted\" to the 'end'"}),
        ),
        (
            Lines,
            json!({"title": "one\ntwo\n\n\tthree: 3", "count": 12}),
        ),
        (Lines, json!({"title": "one\n  - two\n[x]\n"})),
        (
            Markup,
            json!({"title": "1 < 2 && <b>3</b> > <x y=\"z\"> {{ no }} [x] <", "count": 0}),
        ),
        (Markup, json!({"count": 0, "notes": "</b> at the end <"})),
        (
            Signs,
            json!({"title": "a, b; c=d: (e) | f & g", "count": 3, "notes": "x)"}),
        ),
        (Signs, json!({"title": "[a](b), \"c\": {d}", "count": 3})),
        (Disguised, json!({"title": "42", "notes": "true"})),
        (Disguised, json!({"title": "null", "notes": "[1, 2]"})),
        (Empty, json!({"title": "", "count": 5})),
        (Number, json!({"count": -7, "price": 2.5})),
        (Number, json!({"count": 0, "price": 1200, "notes": "zero"})),
        (Number, json!({"price": -0.125})),
        (Truth, json!({"open": false, "notes": "shut"})),
        // In another order than the tool has them.
        (
            Text,
            json!({"notes": "last", "open": false, "title": "first"}),
        ),
        (Truth, json!({"title": "ajar", "open": true})),
        (Null, json!({"limit": null})),
        (Null, json!({"limit": null, "notes": "none"})),
        (Array, json!({"count": 3, "guests": ["Ann", "Bo", "Cy"]})),
        (Array, json!({"guests": ["Dee"], "sizes": [1, 2.5, -3]})),
        (
            Object,
            json!({"place": {"street": "High", "number": 8}, "notes": "here"}),
        ),
        (Object, json!({"place": {"open": true}})),
        (
            Nested,
            json!({"place": {"at": {"lat": 47.5, "lon": -8}, "tags": ["a", "b"]}, "notes": "2"}),
        ),
        (
            Nested,
            json!({"place": {"rows": [{"x": 1}, {"x": 2, "y": [[3], [4, 5]]}]}}),
        ),
        (EmptyArray, json!({"count": 1, "guests": []})),
        (EmptyObject, json!({"count": 1, "place": {}})),
        (Nested, json!({"place": {"x": null, "y": [null, true]}})),
        (
            NestedQuotes,
            json!({"guests": ["Ann \"A\"", "Bo's", "C\nc", "}], <d>"], "place": {"x": "</b>\\"}}),
        ),
    ]
}

const THOUGHT: &str = "First, a look: is it \"odd\"?\n\nNo (1 < 2, é).";
const ANSWER: &str = "Fine, then.\n\n1. Let me *see* whether 1 < 2\n2. \"Done\" – ✓";

/// A turn of the assistant.
#[derive(Clone, Debug, Default)]
pub struct Said {
    pub reasoning: &'static str,
    pub content: &'static str,
    pub calls: Vec<(&'static str, Value)>,
}

/// Turns whose arguments are of no kind in `lost`, with reasoning if the template shows any.
pub fn said(lost: &[Kind], thinks: bool, parallel: bool) -> Vec<Said> {
    let good: Vec<Value> = arguments()
        .into_iter()
        .filter(|(kind, _)| !lost.contains(kind))
        .map(|(_, all)| all)
        .collect();
    let plan = |index: usize| ("plan", good[index % good.len()].clone());
    let now = || ("now", json!({}));
    let mut calls: Vec<Vec<(&str, Value)>> =
        (0..good.len()).map(|index| vec![plan(index)]).collect();
    calls.push(vec![now()]);
    if parallel {
        calls.extend([
            vec![now(), plan(1)],
            vec![plan(2), now()],
            vec![now(), now()],
            vec![plan(0), plan(0), now()],
        ]);
        calls.extend(
            (0..good.len()).map(|index| vec![plan(index), plan(index + 3), plan(index + 7)]),
        );
    }
    let mut all = Vec::new();
    for (nth, calls) in calls.into_iter().enumerate() {
        // Each way to begin now and then, all of them in the end.
        for (way, (reasoning, content)) in
            [("", ""), ("", ANSWER), (THOUGHT, ""), (THOUGHT, ANSWER)]
                .into_iter()
                .enumerate()
        {
            if (way == nth % 4 || way == (nth + 2) % 4) && (thinks || reasoning.is_empty()) {
                all.push(Said {
                    reasoning,
                    content,
                    calls: calls.clone(),
                });
            }
        }
    }
    for reasoning in ["", THOUGHT]
        .into_iter()
        .filter(|reasoning| thinks || reasoning.is_empty())
    {
        all.push(Said {
            reasoning,
            content: "Yes.",
            calls: Vec::new(),
        });
        all.push(Said {
            reasoning,
            content: ANSWER,
            calls: Vec::new(),
        });
    }
    all
}

/// The arguments of `plan` in their order.
const ORDER: [&str; 9] = [
    "title", "count", "price", "open", "limit", "guests", "sizes", "place", "notes",
];

impl Said {
    /// Whether all arguments come in the order of the tool, as grammars want them in objects.
    pub fn is_ordered(&self) -> bool {
        let place = |name: &String| ORDER.iter().position(|known| known == name);
        self.calls.iter().all(|(_, all)| {
            all.as_object()
                .is_none_or(|all| all.keys().map(place).is_sorted())
        })
    }

    /// As a message of a request.
    pub fn message(&self) -> Value {
        let mut message = json!({"role": "assistant", "content": self.content});
        if !self.reasoning.is_empty() {
            message["reasoning_content"] = json!(self.reasoning);
        }
        let call = |(index, (name, arguments)): (usize, &(&str, Value))| {
            let function = json!({"name": name, "arguments": arguments.to_string()});
            json!({"type": "function", "id": id(index), "function": function})
        };
        if !self.calls.is_empty() {
            message["tool_calls"] = self.calls.iter().enumerate().map(call).collect();
        }
        message
    }
}

/// The id of a turn's `index`th call.
pub fn id(index: usize) -> String {
    format!("k{index}Zq90t")
}

/// The tools on offer.
pub fn tools() -> Value {
    let properties = json!({
        "title": {"type": "string", "description": "What it is called"},
        "count": {"type": "integer"},
        "price": {"type": "number"},
        "open": {"type": "boolean"},
        "limit": {"type": ["integer", "null"]},
        "guests": {"type": "array", "items": {"type": "string"}},
        "sizes": {"type": "array", "items": {"type": "number"}},
        "place": {"type": "object"},
        "notes": {"type": "string"},
    });
    let tool = |name: &str, properties: Value| {
        let parameters = json!({"type": "object", "properties": properties});
        json!({"type": "function", "function": {"name": name, "description": "Does it.", "parameters": parameters}})
    };
    json!([tool("plan", properties), tool("now", json!({}))])
}

/// Arguments without those that are null.
pub fn without_nulls(arguments: &Value) -> Value {
    let members = arguments
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, value)| !value.is_null());
    members
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect::<Map<_, _>>()
        .into()
}
