//! What templates write in their own ways between, before and after calls is read back: each small
//! template here renders a message, the end of the turn included, and the output is parsed whole
//! and in all kinds of pieces.

use crate::support::{check_streaming, parse};
use chatparse::{ChatTemplate, Request, Status};
use serde_json::{Value, json};

/// Turns `<|role|>…`, tools in front. `calls` writes the calls of a message and the end of its
/// turn, `next` whatever follows each message.
fn template(calls: &str, next: &str) -> ChatTemplate {
    let source = [
        "{%- for t in tools or [] -%}{{- t.function.name ~ '\\n' -}}{%- endfor -%}",
        "{%- for m in messages -%}{{- '<|' ~ m.role ~ '|>' ~ (m.content or '') -}}",
        "{%- if m.tool_calls -%}",
        calls,
        "{%- else -%}{{- '<|end|>' -}}{%- endif -%}",
        next,
        "{%- endfor -%}",
        "{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}",
    ];
    ChatTemplate::new(&source.concat(), "", "").expect("the template compiles")
}

/// A loop over the calls with `f` for the function.
fn each_call(body: &str) -> String {
    [
        "{%- for c in m.tool_calls -%}{%- set f = c.function -%}",
        body,
        "{%- endfor -%}",
    ]
    .concat()
}

fn body() -> Value {
    let properties = json!({
        "title": {"type": "string"},
        "guests": {"type": "array", "items": {"type": "string"}},
        "place": {"type": "object"},
        "open": {"type": "boolean"},
        "price": {"type": ["number", "null"]},
    });
    let tool = |name: &str, properties: Value| {
        let parameters = json!({"type": "object", "properties": properties});
        json!({"type": "function", "function": {"name": name, "description": "A tool.", "parameters": parameters}})
    };
    json!({
        "messages": [{"role": "user", "content": "Well?"}],
        "parallel_tool_calls": true,
        "tools": [tool("plan", properties), tool("now", json!({}))],
    })
}

fn conversations() -> Vec<Vec<(&'static str, Value)>> {
    let plan = || {
        let guests = json!(["Ann \"A\"", "Bo's", "C\nc"]);
        let place = json!({"lat": 47.5, "lon": -8, "tags": [null, {"x": []}]});
        (
            "plan",
            json!({"title": "Tea <1>", "guests": guests, "place": place, "open": false, "price": null}),
        )
    };
    let now = || ("now", json!({}));
    vec![
        vec![plan()],
        vec![now()],
        vec![now(), plan()],
        vec![plan(), plan(), now()],
    ]
}

/// Renders and parses every conversation.
fn comes_back(template: &ChatTemplate) {
    let prompt = |body: &Value| {
        let request = Request::from_json(body).unwrap_or_else(|error| panic!("{error}"));
        template
            .params(&request)
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let params = prompt(&body());
    for calls in conversations() {
        for content in ["", "Let me see."] {
            let mut said = body();
            let written = calls.iter().enumerate().map(|(index, (name, arguments))| {
                json!({"type": "function", "id": format!("abc{index:06}"), "function": {"name": name, "arguments": arguments.to_string()}})
            });
            let message = json!({"role": "assistant", "content": content, "tool_calls": written.collect::<Vec<_>>()});
            said["messages"].as_array_mut().unwrap().push(message);
            said["add_generation_prompt"] = json!(false);
            let all = prompt(&said).prompt;
            let output = all
                .strip_prefix(&params.prompt)
                .unwrap_or_else(|| panic!("{all:?}"));
            let (message, status) = parse(&params.parser, output.as_bytes(), false);
            let parsed: Vec<_> = calls
                .iter()
                .map(|(name, arguments)| json!({"name": name, "arguments": arguments}))
                .collect();
            let mut message = message;
            for call in message["calls"].as_array_mut().unwrap() {
                let id = call.as_object_mut().unwrap().remove("id");
                // Where the template writes it, it is the call's.
                assert!(
                    id.is_some_and(|id| id == "" || output.contains(id.as_str().unwrap())),
                    "{output:?}"
                );
            }
            assert_eq!(
                message,
                json!({"reasoning": "", "content": content, "calls": parsed}),
                "{output:?}"
            );
            assert_eq!(status, Status::Complete, "{output:?}");
            assert_eq!(
                check_streaming(&params.parser, output.as_bytes(), true),
                [""; 0],
                "{output:?}"
            );
        }
    }
}

#[test]
fn json_calls_line_by_line() {
    let calls = each_call(
        "{{- '{\"name\": \"' ~ f.name ~ '\", \"arguments\": ' ~ f.arguments | tojson ~ '}\\n' -}}",
    );
    comes_back(&template(
        &[
            "{{- '<calls>\\n' -}}",
            &*calls,
            "{{- '</calls><|stop|>' -}}",
        ]
        .concat(),
        "",
    ));
}

#[test]
fn tagged_calls_side_by_side_with_python_values() {
    let argument = "{%- for k, v in f.arguments.items() -%}{{- '<arg name=\"' ~ k ~ '\">' ~ v ~ '</arg>\\n' -}}{%- endfor -%}";
    let call = [
        "{{- '<invoke name=\"' ~ f.name ~ '\">\\n' -}}",
        argument,
        "{{- '</invoke>\\n' -}}",
    ]
    .concat();
    comes_back(&template(
        &[
            "{{- '<calls>\\n' -}}",
            &*each_call(&call),
            "{{- '</calls><|end|>' -}}",
        ]
        .concat(),
        "",
    ));
}

#[test]
fn ids_before_names_and_a_next_turn_that_nobody_asked_for() {
    let call =
        "{{- '<call>' ~ c.id ~ '<name>' ~ f.name ~ '<args>' ~ f.arguments | tojson ~ '</call>' -}}";
    let calls = ["{{- '<calls>' -}}", &*each_call(call), "{{- '</calls>' -}}"].concat();
    let next =
        "{%- if loop.last and m.role == 'assistant' -%}{{- '<|next|>assistant' -}}{%- endif -%}";
    comes_back(&template(&calls, next));
}

/// What follows the id of a call with arguments is also in the next call: that call is not the id.
#[test]
fn an_id_ends_where_calls_without_arguments_go_on() {
    let value = "v if v is string else v | tojson";
    let arguments = format!(
        "{{%- for k, v in f.arguments.items() -%}}{{{{- '<key>' ~ k ~ '</key>' ~ ({value}) ~ '</value>' -}}}}{{%- endfor -%}}"
    );
    let call = [
        "{{- '<call>' ~ f.name ~ '#' ~ c.id ~ '->' -}}",
        &*arguments,
        "{{- '</call>' -}}",
    ];
    let calls = [&*each_call(&call.concat()), "{{- '<|end|>' -}}"].concat();
    comes_back(&template(&calls, ""));
}

#[test]
fn a_name_ends_where_a_character_stands_that_no_name_may_have() {
    for (behind_name, between) in [
        (";", ";"),
        ("&", " and "),
        ("|", "|"),
        ("/", ", "),
        ("->", "->"),
    ] {
        let argument = format!(
            "{{%- if not loop.first -%}}{{{{- '{between}' -}}}}{{%- endif -%}}{{{{- k ~ '=' ~ v | tojson -}}}}"
        );
        let argument = [
            "{%- for k, v in f.arguments.items() -%}",
            &argument,
            "{%- endfor -%}",
        ]
        .concat();
        let call = [
            &format!("{{{{- '<call>' ~ f.name ~ '{behind_name}' -}}}}"),
            &*argument,
            "{{- '</call>' -}}",
        ]
        .concat();
        comes_back(&template(
            &[&*each_call(&call), "{{- '<|end|>' -}}"].concat(),
            "",
        ));
    }
}
