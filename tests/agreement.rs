//! Parser and grammar come from one description: what a format's grammar lets a model write, its parser reads, as calls of the
//! tools that there are; and what the parser reads as a whole, the grammar allows.

use chatparse::format::Constraint;
use chatparse::grammar::{Recogniser, Walk};
use chatparse::peg::Machine;
use chatparse::{ChatTemplate, Message, Params, Request, Status, Stream, ToolCall, builtin};
use serde_json::{Value, json};

const WALKS: u64 = 1000;
const SIZE: usize = 120;

fn body(more: Value) -> Value {
    let mut body = json!({
        "messages": [{"role": "user", "content": "Hi"}],
        "reasoning_format": "auto",
        "tools": [
            {"type": "function", "function": {"name": "get", "parameters": {"type": "object", "properties": {
                "key": {"type": "string"},
                "n": {"type": "integer", "minimum": -3, "maximum": 300},
                "deep": {"type": "object", "properties": {"list": {"type": "array", "items": {"type": "boolean"}}}},
                "mode": {"enum": ["fast", "slow"]}
            }, "required": ["n", "key"]}}},
            {"type": "function", "function": {"name": "get_all"}},
        ],
    });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

fn params(template: &ChatTemplate, more: Value) -> Params {
    template.params(&Request::from_json(&body(more)).unwrap()).unwrap()
}

fn has_format(template: &ChatTemplate) -> bool {
    !matches!(params(template, json!({"tool_choice": "required"})).constraint, Constraint::Free)
}

/// Every call names a tool and has a JSON object as its arguments.
fn calls_make_sense(message: &Message) -> bool {
    message.tool_calls.iter().all(|ToolCall { name, arguments, .. }| {
        // A grammar cannot pair the halves of a character; Rust's strings hold none that is alone.
        let whole = arguments.replace("\\ud", "\\u0").replace("\\uD", "\\u0");
        let arguments: Result<Value, _> = serde_json::from_str(&whole);
        ["get", "get_all"].contains(&name.as_str()) && arguments.is_ok_and(|arguments| arguments.is_object())
    })
}

/// What must stand between the prompt and a call: the end of a thought that the prompt has begun.
fn ends_of_thought(params: &Params) -> Vec<String> {
    let ends = params.thinking.iter().flat_map(|thinking| thinking.ends.clone());
    [String::new()].into_iter().chain(ends).collect()
}

#[test]
fn what_lazy_grammars_allow_is_read_as_calls() {
    for name in builtin::names() {
        let template = ChatTemplate::builtin(name).unwrap();
        for parallel in [false, true] {
            let params = params(&template, json!({"parallel_tool_calls": parallel}));
            if !matches!(params.constraint, Constraint::Lazy(_)) {
                continue;
            }
            let grammar = Recogniser::new(&params.grammar().text).unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut walk = Walk::new(&grammar, 7);
            for _ in 0..WALKS / 2 {
                let text = walk.text(SIZE).expect("the grammar ends");
                let read = ends_of_thought(&params).into_iter().any(|end| {
                    let mut stream = Stream::new(&params.parser);
                    let _ = stream.feed(end.as_bytes());
                    let _ = stream.feed(text.as_bytes());
                    let ended = stream.finish(false);
                    let called = !ended.message.tool_calls.is_empty();
                    ended.status == Status::Complete && called && calls_make_sense(&ended.message)
                });
                assert!(
                    read,
                    "{name}, parallel {parallel}: {text:?} is no call to {:?}",
                    params.parser.parse(text.as_bytes(), false, false)
                );
            }
        }
    }
}

#[test]
fn what_strict_grammars_allow_matches() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    for name in builtin::names() {
        let template = ChatTemplate::builtin(name).unwrap();
        if !has_format(&template) {
            continue;
        }
        for more in [json!({"tool_choice": "required"}), json!({"tools": [], "json_schema": schema})] {
            let params = params(&template, more.clone());
            if !matches!(params.constraint, Constraint::Strict(_)) {
                continue;
            }
            let grammar = Recogniser::new(&params.grammar().text).unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut walk = Walk::new(&grammar, 11);
            for _ in 0..WALKS / 2 {
                let text = walk.text(SIZE).expect("the grammar ends");
                let mut machine = Machine::new(params.parser.program().clone());
                machine.feed(text.as_bytes());
                assert!(machine.finish(0, 0), "{name}, {more}: {text:?}");
            }
        }
    }
}

#[test]
fn what_is_read_as_a_whole_is_allowed() {
    let call = |name: &str, arguments: &str| json!({"id": "abcdef123", "type": "function", "function": {"name": name, "arguments": arguments}});
    let messages = [
        json!({"role": "assistant", "content": "", "tool_calls": [call("get_all", "{}")]}),
        json!({"role": "assistant", "content": "", "tool_calls": [call("get", r#"{"key": "a \"b\" c", "n": 12}"#)]}),
        json!({"role": "assistant", "content": "", "reasoning_content": "Why not?", "tool_calls": [call("get_all", "{}")]}),
    ];
    for name in builtin::names() {
        let template = ChatTemplate::builtin(name).unwrap();
        if !has_format(&template) {
            continue;
        }
        let params = params(&template, json!({"tool_choice": "required"}));
        let grammar = Recogniser::new(&params.grammar().text).unwrap();
        let mut allowed = 0;
        for message in &messages {
            let mut body = body(json!({"add_generation_prompt": false}));
            body["messages"].as_array_mut().unwrap().push(message.clone());
            let Ok(whole) = template.prompt(&Request::from_json(&body).unwrap()) else { continue };
            let Some(output) = whole.strip_prefix(&params.prompt) else { continue };
            let builtin = builtin::find(name).unwrap();
            let output = output.trim_end().strip_suffix(builtin.eos.trim_end()).unwrap_or(output);
            if params.parser.parse(output.as_bytes(), false, false).unwrap().1 == Status::Complete {
                let text = format!("{}{output}", params.generation_prompt);
                assert!(grammar.accepts(&text), "{name}: {text:?}\n{}", params.grammar().text);
                allowed += 1;
            }
        }
        assert!(allowed > 0, "{name}: nothing was read as a whole");
    }
}
