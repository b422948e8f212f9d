//! Namespaces of tools, in the prompt, in grammars, in what is read, and in answers.

use chatparse::api::{Api, Finish};
use chatparse::grammar::{Dialect, Recogniser};
use chatparse::message::Request;
use chatparse::{ChatTemplate, EndedBy, Params};
use serde_json::{Value, json};

use crate::{APIS, Answer, with};

fn body(api: Api, choice: &str) -> Value {
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let tool = |name: &str| match api {
        Api::ChatCompletions => {
            json!({"type": "function", "function": {"name": name, "parameters": schema}})
        }
        Api::Responses => json!({"type": "function", "name": name, "parameters": schema}),
        _ => json!({"name": name, "input_schema": schema}),
    };
    let spaced = |namespace: &str, name: &str| match api {
        Api::Messages => {
            let mut tool = tool(name);
            tool["namespace"] = namespace.into();
            tool
        }
        _ => {
            json!({"type": "namespace", "name": namespace, "description": "", "tools": [tool(name)]})
        }
    };
    let tools = json!([
        tool("plain"),
        spaced("functions", "wait"),
        spaced("team", "send")
    ]);
    let said = json!([{"role": "user", "content": "Q"}]);
    let mut body = json!({"tools": tools, "max_tokens": 9});
    body[if api == Api::Responses {
        "input"
    } else {
        "messages"
    }] = said;
    body["tool_choice"] = if api == Api::Messages {
        json!({"type": if choice == "auto" { "auto" } else { "any" }})
    } else {
        choice.into()
    };
    if api == Api::Responses {
        body.as_object_mut().unwrap().remove("max_tokens");
    }
    body
}

fn params(template: &ChatTemplate, api: Api, choice: &str) -> Params {
    template
        .params(&Request::from_json(&api.request(&body(api, choice)).unwrap()).unwrap())
        .unwrap()
}

/// The name and the namespace of the only call of an answer.
fn called(api: Api, params: &Params, output: &str) -> (Value, Value) {
    let ended = params.parser.read(output.as_bytes(), EndedBy::Model);
    let body = Answer::new(
        api,
        with(|options| options.request = self::body(api, "auto")),
    )
    .body(&ended, &Finish::default());
    let call = match api {
        Api::ChatCompletions => &body["choices"][0]["message"]["tool_calls"][0]["function"],
        Api::Responses => body["output"]
            .as_array()
            .unwrap()
            .iter()
            .find(|item| item["type"] == "function_call")
            .unwrap(),
        _ => body["content"]
            .as_array()
            .unwrap()
            .iter()
            .find(|block| block["type"] == "tool_use")
            .unwrap(),
    };
    (call["name"].clone(), call["namespace"].clone())
}

#[test]
fn harmony_has_recipients_of_each_namespace() {
    let template = ChatTemplate::builtin("gpt-oss").unwrap();
    let calls = [
        (" to=functions.plain", "plain", Value::Null),
        (" to=functions.wait", "wait", json!("functions")),
        (" to=team.send", "send", json!("team")),
        (" to=functions.team.send", "send", json!("team")),
    ];
    for api in APIS {
        for choice in ["auto", "required"] {
            let params = params(&template, api, choice);
            let shown = [
                "functions.plain {",
                "functions.wait {",
                "functions.team.send {",
            ];
            assert!(
                shown.iter().all(|tool| params.prompt.contains(tool)),
                "{}",
                params.prompt
            );
            let portable = params.grammar_as(Dialect::PortableGbnf).unwrap().text;
            let portable = Recogniser::new(&portable).unwrap();
            let allows = |output: &str| {
                let mut matcher = params.matcher().unwrap();
                let taken =
                    matcher.feed(output.as_bytes()).unwrap() == output.len() && matcher.may_end();
                assert_eq!(taken, portable.accepts(output), "{output:?}");
                taken
            };
            for (to, name, namespace) in &calls {
                let outputs = |value: &str| {
                    [
                        format!("{to}<|channel|>commentary json<|message|>{{\"n\": {value}}}"),
                        format!(
                            "<|channel|>commentary{to} <|constrain|>json<|message|>{{\"n\": {value}}}"
                        ),
                    ]
                };
                for (good, bad) in outputs("1").into_iter().zip(outputs("\"x\"")) {
                    assert!(allows(&good), "{api:?} {choice} {good:?}");
                    assert!(!allows(&bad), "{api:?} {choice} {bad:?}");
                    assert_eq!(
                        called(api, &params, &good),
                        (json!(name), namespace.clone()),
                        "{api:?} {good:?}"
                    );
                }
            }
            assert!(
                !allows(" to=functions.nope<|channel|>commentary json<|message|>{\"n\": 1}"),
                "{api:?} {choice}"
            );
            assert!(
                !allows(" to=team.nope<|channel|>commentary json<|message|>{\"n\": 1}"),
                "{api:?} {choice}"
            );
        }
    }
}

#[test]
fn other_templates_join_a_namespace_and_a_name() {
    for name in ["json-call", "qwen3-coder", "deepseek-v4.1", "seed-oss"] {
        let template = ChatTemplate::builtin(name).unwrap();
        for api in APIS {
            let params = params(&template, api, "auto");
            for joined in [["functions", "wait"], ["team", "send"]] {
                assert!(
                    params.prompt.contains(&joined.join(".")),
                    "{name}: {}",
                    params.prompt
                );
            }
        }
    }
}

#[test]
fn calls_of_many_namespaces_are_held() {
    let template = ChatTemplate::builtin("gpt-oss").unwrap();
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let tool = json!({"type": "function", "function": {"name": "send", "parameters": schema}});
    let spaced = |index: usize| json!({"type": "namespace", "name": format!("mcp__server_{index}__of_a_client"), "tools": [tool]});
    let tools: Value = (0..100).map(spaced).collect();
    let body = json!({"messages": [{"role": "user", "content": "Q"}], "tools": tools});
    let params = template
        .params(&Request::from_json(&body).unwrap())
        .unwrap();
    let held =
        |output: &str| params.matcher().unwrap().feed(output.as_bytes()).unwrap() < output.len();
    assert!(!held(
        "<|channel|>commentary to=mcp__server_42__of_a_client.send <|constrain|>json<|message|>{\"n\": 1}"
    ));
    assert!(held(
        "<|channel|>commentary to=mcp__server_42__of_a_client.nope <|constrain|>json<|message|>{\"n\": 1}"
    ));
    assert!(held(
        " to=mcp__server_420__of_a_client.send<|channel|>commentary json<|message|>{\"n\": 1}"
    ));
}

/// The ids of its calls have a namespace, as Harmony's recipients do.
#[test]
fn a_template_may_write_a_namespace_of_its_own_elsewhere() {
    let template = ChatTemplate::builtin("kimi-k2").unwrap();
    let output = "<|tool_calls_section_begin|><|tool_call_begin|>functions.wait:0<|tool_call_argument_begin|>{\"n\": 1}\
        <|tool_call_end|><|tool_calls_section_end|>";
    for api in APIS {
        let params = params(&template, api, "auto");
        assert_eq!(
            called(api, &params, output),
            (json!("wait"), json!("functions")),
            "{api:?}"
        );
        assert_eq!(
            params.matcher().unwrap().feed(output.as_bytes()).unwrap(),
            output.len(),
            "{api:?}"
        );
    }
}
