//! Bodies of Responses and Messages as chat completions.

use chatparse::EndedBy;
use chatparse::api::Api;
use chatparse::message::Request;
use serde_json::{Value, json};

#[test]
fn ids_and_names_have_an_end() {
    let long = "i".repeat(1 << 20);
    let input = |item: Value| (Api::Responses, json!({"input": [item]}), "input[0].call_id");
    let said = |role: &str, block: Value| json!({"messages": [{"role": role, "content": [block]}]});
    for (api, body, place) in [
        input(json!({"type": "function_call", "call_id": long, "name": "f", "arguments": "{}"})),
        input(json!({"type": "function_call_output", "call_id": long, "output": ""})),
        (
            Api::Messages,
            json!({"messages": [], "tools": [{"name": long}]}),
            "tools[0].name",
        ),
        (
            Api::Messages,
            said(
                "assistant",
                json!({"type": "tool_use", "id": long, "name": "f"}),
            ),
            "messages[0].content[0].id",
        ),
        (
            Api::Messages,
            said(
                "user",
                json!({"type": "tool_result", "tool_use_id": long, "content": ""}),
            ),
            "messages[0].content[0].tool_use_id",
        ),
    ] {
        let error = api.request(&body).unwrap_err();
        let said = format!("{place}: must have at most ");
        assert!(error.message().starts_with(&said), "{error}");
    }
}

/// A body of each API with all that there may be in one.
fn full(api: Api) -> Value {
    match api {
        Api::Messages => json!({
            "model": "m", "max_tokens": 9, "stop_sequences": ["#"], "thinking": {"type": "enabled", "budget_tokens": 1024},
            "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {}}}, "chat_template_kwargs": {"a": 1},
            "system": [{"type": "text", "text": "Be brief."}], "container": null, "mcp_servers": [],
            "tools": [{"type": "custom", "name": "f", "description": "F.", "input_schema": {"type": "object"}}],
            "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": true},
            "messages": [
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": [
                    {"type": "text", "text": "Hi"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
                    {"type": "document", "title": "a", "source": {"type": "text", "data": "A"}},
                    {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AA=="}},
                ]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "Why", "signature": ""}, {"type": "text", "text": "So"},
                    {"type": "tool_use", "id": "a", "name": "f", "input": {"b": 1}},
                ]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "4"}]}]},
                {"role": "assistant", "content": "I"},
            ],
        }),
        _ => json!({
            "model": "m", "instructions": "Be brief.", "max_output_tokens": 9, "reasoning": {"effort": "low"}, "background": false,
            "text": {"format": {"type": "json_schema", "name": "a", "schema": {}}}, "chat_template_kwargs": {"a": 1},
            "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": true}],
            "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
            "parallel_tool_calls": true,
            "input": [
                {"role": "developer", "content": [{"type": "input_text", "text": "Be kind."}]},
                {"type": "message", "role": "user", "content": [
                    {"type": "input_text", "text": "Hi"}, {"type": "input_image", "image_url": "data:,", "detail": "low"},
                    {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}},
                    {"type": "input_file", "file_data": "data:,", "filename": "a"},
                ]},
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Why"}], "content": []},
                {"role": "assistant", "content": [{"type": "output_text", "text": "So"}, {"type": "refusal", "refusal": "No"}]},
                {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "4"}]},
            ],
        }),
    }
}

/// All places of a value, as JSON pointers.
fn places(value: &Value, at: &str, into: &mut Vec<String>) {
    into.push(at.to_owned());
    match value {
        Value::Object(map) => map
            .iter()
            .for_each(|(name, value)| places(value, &format!("{at}/{name}"), into)),
        Value::Array(items) => items
            .iter()
            .zip(0..)
            .for_each(|(item, n)| places(item, &format!("{at}/{n}"), into)),
        _ => {}
    }
}

#[test]
fn any_value_in_any_place_is_a_request_or_an_error_that_names_a_place() {
    let odd = [
        json!(null),
        json!(true),
        json!(-1.5),
        json!("odd"),
        json!([]),
        json!([7]),
        json!({}),
        json!([{"type": "odd"}]),
    ];
    let mut refused = 0;
    for api in [Api::Responses, Api::Messages] {
        let body = full(api);
        api.request(&body).unwrap();
        let mut all = Vec::new();
        places(&body, "", &mut all);
        for (place, odd) in all
            .iter()
            .flat_map(|place| odd.iter().map(move |odd| (place, odd)))
        {
            let mut body = body.clone();
            *body.pointer_mut(place).unwrap() = odd.clone();
            match api.request(&body) {
                Ok(chat) => assert!(chat["messages"].is_array(), "{place}: {odd}"),
                Err(error) => {
                    let (at, _) = error.message().split_once(": ").unwrap();
                    let names = at == "the request"
                        || body.pointer(&format!("/{}", pointer(at))).is_some()
                        || error.message().ends_with(": missing");
                    assert!(names, "{place}: {odd}: {error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 500, "{refused}");
}

/// `a[1].b` as `a/1/b`.
fn pointer(path: &str) -> String {
    path.replace(['.', '['], "/").replace(']', "")
}

#[test]
fn tools_and_a_schema_go_together_in_each_api() {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    let parameters = json!({"type": "object", "properties": {"key": {"type": "string"}}});
    let function = json!({"name": "get", "parameters": parameters});
    let format = json!({"type": "json_schema", "name": "a", "schema": schema});
    let bodies = [
        json!({"messages": [{"role": "user", "content": "Hi"}], "tools": [{"type": "function", "function": function}],
               "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}}),
        json!({"input": "Hi", "tools": [{"type": "function", "name": "get", "parameters": parameters}], "text": {"format": format}}),
        json!({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9, "tools": [{"name": "get", "input_schema": parameters}],
               "output_config": {"format": {"type": "json_schema", "schema": schema}}}),
    ];
    let template = chatparse::ChatTemplate::builtin("json-call").unwrap();
    for (api, body) in crate::APIS.into_iter().zip(bodies) {
        let request = Request::from_json(&api.request(&body).unwrap()).unwrap();
        let params = template.params(&request).unwrap();
        assert!(
            !params.constraint.is_lazy() && params.grammar().text.contains("get"),
            "{api:?}"
        );
        let read = |output: &str| {
            params
                .parser
                .read(output.as_bytes(), EndedBy::Model)
                .message
        };
        assert_eq!(read(r#"{"a": "b"}"#).content, r#"{"a": "b"}"#, "{api:?}");
        let called =
            read("<tool_call>\n{\"name\": \"get\", \"arguments\": {\"key\": \"k\"}}\n</tool_call>");
        assert_eq!(
            (called.tool_calls.len(), &*called.content),
            (1, ""),
            "{api:?}"
        );
    }
}
