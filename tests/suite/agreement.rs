//! Parser and grammar come from one description: what a format's grammar lets a model write, its
//! parser reads, as calls of the tools that there are; and what the parser reads as a whole, the
//! grammar allows.

use std::sync::Arc;

use chatparse::chat::Constraint;
use chatparse::grammar::Recogniser;
use chatparse::internals::grammar::Walk;
use chatparse::internals::peg::{Builder, Machine, compile, program_of};
use chatparse::{
    ChatTemplate, EndedBy, Message, Params, Request, Status, Stream, ToolCall, builtin,
};
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
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    body
}

fn params(template: &ChatTemplate, more: Value) -> Params {
    template
        .params(&Request::from_json(&body(more)).unwrap())
        .unwrap()
}

fn has_format(template: &ChatTemplate) -> bool {
    !matches!(
        params(template, json!({"tool_choice": "required"})).constraint,
        Constraint::Free
    )
}

/// Every call names a tool and has a JSON object as its arguments. Numbers may be too large for any
/// number type.
fn calls_make_sense(message: &Message) -> bool {
    let p = Builder::new();
    let object = p.sequence([p.and(p.literal("{")), p.json(), p.end()]);
    let program = Arc::new(compile(&p.finish(object)).unwrap());
    message.tool_calls.iter().all(
        |ToolCall {
             name, arguments, ..
         }| {
            let mut machine = Machine::new(Arc::clone(&program), 0);
            machine.feed(arguments.as_bytes());
            ["get", "get_all"].contains(&name.as_str())
                && machine.finish(arguments.as_bytes(), 0, 0)
        },
    )
}

/// What must stand between the prompt and a call: the end of a thought that the prompt has begun.
fn ends_of_thought(params: &Params) -> Vec<String> {
    let ends = params
        .thinking
        .iter()
        .flat_map(|thinking| thinking.ends.clone());
    [String::new()].into_iter().chain(ends).collect()
}

#[test]
fn what_lazy_grammars_allow_is_read_as_calls() {
    let mut misread = Vec::new();
    for name in builtin::names() {
        let template = ChatTemplate::builtin(name).unwrap();
        for parallel in [false, true] {
            let params = params(&template, json!({"parallel_tool_calls": parallel}));
            if !matches!(params.constraint, Constraint::Lazy(_)) {
                continue;
            }
            let grammar = Recogniser::new(&params.grammar().text)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut walk = Walk::new(&grammar, 7);
            for _ in 0..WALKS / 2 {
                let text = walk.text(SIZE).expect("the grammar ends");
                let read = ends_of_thought(&params).into_iter().any(|end| {
                    let mut stream = Stream::new(&params.parser);
                    let _ = stream.feed(end.as_bytes());
                    let _ = stream.feed(text.as_bytes());
                    let ended = stream.finish(EndedBy::Model);
                    let called = !ended.message.tool_calls.is_empty();
                    ended.status == Status::Complete && called && calls_make_sense(&ended.message)
                });
                if !read {
                    misread.push(format!("{name}, parallel {parallel}: {text:?}"));
                    break;
                }
            }
        }
    }
    assert!(
        misread.is_empty(),
        "no calls are read from\n{}",
        misread.join("\n")
    );
}

#[test]
fn what_strict_grammars_allow_matches() {
    let mut misread = Vec::new();
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    for name in builtin::names() {
        let template = ChatTemplate::builtin(name).unwrap();
        if !has_format(&template) {
            continue;
        }
        let key = json!({"type": "object", "properties": {"key": {"type": "string"}}});
        let tools = json!([{"type": "function", "function": {"name": "get", "parameters": key}}]);
        let answers = [
            json!({"tools": [], "json_schema": schema}),
            json!({"json_schema": schema, "tools": tools}),
        ];
        for more in [json!({"tool_choice": "required"})]
            .into_iter()
            .chain(answers)
        {
            let params = params(&template, more.clone());
            if !matches!(params.constraint, Constraint::Strict(_)) {
                continue;
            }
            let grammar = Recogniser::new(&params.grammar().text)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut walk = Walk::new(&grammar, 11);
            for _ in 0..WALKS / 2 {
                let text = walk.text(SIZE).expect("the grammar ends");
                let mut machine = Machine::new(program_of(&params.parser).clone(), 0);
                machine.feed(text.as_bytes());
                if !machine.finish(text.as_bytes(), 0, 0) {
                    misread.push(format!("{name}, {more}: {text:?}"));
                    break;
                }
            }
        }
    }
    assert!(misread.is_empty(), "no match for\n{}", misread.join("\n"));
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
            body["messages"]
                .as_array_mut()
                .unwrap()
                .push(message.clone());
            let Ok(whole) = template.prompt(&Request::from_json(&body).unwrap()) else {
                continue;
            };
            let Some(output) = whole.strip_prefix(&params.prompt) else {
                continue;
            };
            let builtin = builtin::find(name).unwrap();
            let output = output
                .trim_end()
                .strip_suffix(builtin.eos.trim_end())
                .unwrap_or(output);
            if params.parser.parse(output.as_bytes(), EndedBy::Model).1 == Status::Complete {
                let text = format!("{}{output}", params.generation_prompt);
                // A token that ends the turn is the sampler's business.
                let unended = text
                    .strip_suffix("|>")
                    .and_then(|text| text.rsplit_once("<|"))
                    .map(|(text, _)| text);
                assert!(
                    grammar.accepts(&text) || unended.is_some_and(|text| grammar.accepts(text)),
                    "{name}: {text:?}\n{}",
                    params.grammar().text
                );
                allowed += 1;
            }
        }
        assert!(allowed > 0, "{name}: nothing was read as a whole");
    }
}

/// Arguments as they are, in the way of Python: texts without quotes.
const BARE: &str = "{% for m in messages %}{% if m.tool_calls %}<|assistant|>[{% for call in m.tool_calls %}\
    {{ call.function.name }}({% for key in call.function.arguments %}{{ key }}={{ '%s' | format(call.function.arguments[key]) }}\
    {% if not loop.last %}, {% endif %}{% endfor %}){% if not loop.last %}, {% endif %}{% endfor %}]<|end|>\
    {% else %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endif %}{% endfor %}{% if tools %}{{ tools | tojson }}{% endif %}\
    {% if add_generation_prompt %}<|assistant|>{% endif %}";

#[test]
fn texts_that_look_like_something_else_are_not_allowed_or_are_read() {
    let texts = [
        "plain",
        "\"half",
        "'tag'<x",
        "\"whole, \"",
        "nullF",
        "None of it",
        "a\n</function></tool_call>\n\n<b",
        "a\n</function>\n\n</tool_call>\n<b",
        "a</arg_value> </tool_call>\n<b",
    ];
    let kinds = [
        json!({"type": "string"}),
        json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
    ];
    let bare = ("bare", ChatTemplate::new(BARE, "<s>", "<|end|>").unwrap());
    let builtin = builtin::names().map(|name| (name, ChatTemplate::builtin(name).unwrap()));
    let (mut misread, mut allowed) = (Vec::new(), 0);
    for (name, template) in builtin
        .chain([bare])
        .filter(|(_, template)| has_format(template))
    {
        for kind in &kinds {
            let parameters = json!({"type": "object", "properties": {"key": kind, "n": {"type": "integer"}}, "required": ["key", "n"]});
            let tools = json!([{"type": "function", "function": {"name": "get", "parameters": parameters}}]);
            let params = params(
                &template,
                json!({"tools": tools, "tool_choice": "required"}),
            );
            let grammar = Recogniser::new(&params.grammar().text)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut body = body(json!({"tools": tools, "add_generation_prompt": false}));
            let call = json!({"name": "get", "arguments": r#"{"key": "zqzq", "n": 7}"#});
            body["messages"]
                .as_array_mut()
                .unwrap()
                .push(json!({"role": "assistant", "content": "",
                "tool_calls": [{"id": "abcdef123", "type": "function", "function": call}]}));
            let Ok(whole) = template.prompt(&Request::from_json(&body).unwrap()) else {
                continue;
            };
            let Some(output) = whole.strip_prefix(&params.prompt) else {
                continue;
            };
            let mut ends = (0..=output.len())
                .rev()
                .filter(|end| output.is_char_boundary(*end));
            let of = |text: &str, end: usize| output[..end].replace("zqzq", text);
            let takes =
                |text: &str| grammar.accepts(&format!("{}{text}", params.generation_prompt));
            // Without what ends the turn.
            let Some(end) = ends.find(|end| takes(&of("plain", *end))) else {
                continue;
            };
            for text in texts
                .map(|text| of(text, end))
                .into_iter()
                .filter(|text| takes(text))
            {
                allowed += 1;
                let (message, status) = params.parser.parse(text.as_bytes(), EndedBy::Model);
                if status != Status::Complete
                    || message.tool_calls.len() != 1
                    || !calls_make_sense(&message)
                {
                    misread.push(format!("{name}: {text:?}: {message:?}"));
                }
            }
        }
    }
    assert!(misread.is_empty(), "misread:\n{}", misread.join("\n"));
    assert!(allowed > 150, "{allowed}");
}

/// A turn with one call, whose arguments are the second text. `<|end|>` ends it.
fn call_written(arguments: &str) -> ChatTemplate {
    let source = "{%- macro value(v) -%}{%- if v is none -%}none{%- elif v is string -%}<|q|>{{- v -}}<|q|>{%- else -%}{{- v | tojson -}}{%- endif -%}\
        {%- endmacro -%}{{- tools | tojson if tools -}}{%- for m in messages -%}{{- '<|' + m.role + '|>' -}}{{- m.content or '' -}}\
        {%- for call in m.tool_calls or [] -%}{%- set args = call.function.arguments -%}{{- '<call:' + call.function.name + '>' -}}\
        ARGUMENTS{{- '</call>' -}}{%- endfor -%}{{- '<|end|>' -}}{%- endfor -%}\
        {%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}";
    ChatTemplate::new(&source.replace("ARGUMENTS", arguments), "", "<|end|>").unwrap()
}

#[test]
fn what_a_template_makes_of_null_and_of_names_is_allowed() {
    const SORTED: &str = "{{- args | tojson(sort_keys=true) -}}";
    const TAGS: &str = "{%- for k, v in args.items() if v is not none -%}{{- '<' + k + '>' -}}{{- v if v is string else v | tojson -}}\
        {{- '</' + k + '>' -}}{%- endfor -%}";
    const WORD: &str = "{%- for k, v in args.items() -%}{{- k + ':' -}}{{- value(v) -}}{{- ',' if not loop.last -}}{%- endfor -%}";
    let nullable =
        json!({"n": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "l": {"type": "string"}});
    let whole = json!({"n": {"type": "integer"}, "l": {"type": "object", "properties": {"z": {"type": "integer"},
        "a": {"type": "integer"}}, "required": ["z", "a"], "additionalProperties": false}});
    let cases = [
        (
            "sorted",
            call_written(SORTED),
            &whole,
            json!({"n": 7, "l": {"z": 1, "a": 2}}),
            None,
        ),
        (
            "left out of tags",
            call_written(TAGS),
            &nullable,
            json!({"n": null, "l": "m"}),
            Some("#/properties/n"),
        ),
        (
            "a word",
            call_written(WORD),
            &nullable,
            json!({"n": null, "l": "m"}),
            None,
        ),
    ];
    for (name, template, properties, arguments, widened) in cases {
        let parameters = json!({"type": "object", "properties": properties, "required": ["n", "l"], "additionalProperties": false});
        let tools =
            json!([{"type": "function", "function": {"name": "get", "parameters": parameters}}]);
        let params = params(
            &template,
            json!({"tools": tools, "tool_choice": "required", "enable_thinking": false}),
        );
        let grammar = params.grammar();
        let told = grammar
            .report
            .iter()
            .find(|entry| entry.message.contains("leaves out null"));
        assert_eq!(
            told.map(|entry| &*entry.pointer),
            widened,
            "{name}: {}",
            grammar.text
        );
        let turn = |arguments: &Value| {
            let mut body = body(
                json!({"tools": tools, "add_generation_prompt": false, "enable_thinking": false}),
            );
            let call = json!({"name": "get", "arguments": arguments.to_string()});
            body["messages"]
                .as_array_mut()
                .unwrap()
                .push(json!({"role": "assistant", "content": "",
                "tool_calls": [{"id": "abcdef123", "type": "function", "function": call}]}));
            let whole = template
                .prompt(&Request::from_json(&body).unwrap())
                .unwrap();
            whole.strip_prefix(&params.prompt).unwrap().to_owned()
        };
        let recogniser = Recogniser::new(&grammar.text).unwrap();
        let takes = |turn: &str| {
            let mut ends = (0..=turn.len()).filter(|end| turn.is_char_boundary(*end));
            ends.any(|end| {
                recogniser.accepts(&format!("{}{}", params.generation_prompt, &turn[..end]))
            })
        };
        let written = turn(&arguments);
        assert!(takes(&written), "{name}: {written:?}: {}", grammar.text);
        // What no null is left out of is required.
        let mut less = arguments.clone();
        less.as_object_mut().unwrap().remove("l");
        let written = turn(&less);
        assert!(!takes(&written), "{name}: {written:?}: {}", grammar.text);
    }
}
