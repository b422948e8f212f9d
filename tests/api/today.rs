//! What clients of today send: items and blocks that bring tools and settings amid a conversation,
//! and their notes.

use chatparse::api::Api;
use chatparse::message::{Request, ToolChoice};
use chatparse::{ChatTemplate, Params};
use serde_json::{Value, json};

fn chat(api: Api, body: &Value) -> Value {
    api.request(body)
        .unwrap_or_else(|error| panic!("{body}: {error}"))
}

fn params(name: &str, api: Api, body: &Value) -> Params {
    let request =
        Request::from_json_with(&chat(api, body), &json!({"hosted_tools": "keep"})).unwrap();
    ChatTemplate::builtin(name)
        .unwrap()
        .params(&request)
        .unwrap()
}

fn error(api: Api, body: &Value) -> String {
    api.request(body).unwrap_err().to_string()
}

fn of_input(input: Value) -> Value {
    json!({"input": input})
}

fn of_user(blocks: Value) -> Value {
    json!({"max_tokens": 9, "messages": [{"role": "user", "content": blocks}]})
}

#[test]
fn a_typo_in_a_nested_object_is_an_error_that_names_both() {
    let user = |part: Value| of_input(json!([{"role": "user", "content": [part]}]));
    let said = json!([{"role": "user", "content": "Hi"}]);
    for (api, body, expected) in [
        (
            Api::Responses,
            json!({"input": "Hi", "reasoning": {"efort": "low"}}),
            "reasoning.efort: there is no such field; did you mean effort?",
        ),
        (
            Api::Responses,
            json!({"input": "Hi", "text": {"fromat": {}}}),
            "text.fromat: there is no such field; did you mean format?",
        ),
        (
            Api::Responses,
            json!({"input": "Hi", "text": {"format": {"type": "json_schema", "name": "a", "schema": {}, "stirct": true}}}),
            "text.format.stirct: there is no such field; did you mean strict?",
        ),
        (
            Api::Responses,
            user(json!({"type": "input_image", "imageUrl": "u"})),
            "input[0].content[0].imageUrl: there is no such field; did you mean image_url?",
        ),
        (
            Api::Responses,
            of_input(
                json!([{"type": "function_call", "callId": "a", "name": "f", "arguments": "{}"}]),
            ),
            "input[0].callId: there is no such field; did you mean call_id?",
        ),
        (
            Api::Messages,
            json!({"messages": said, "output_config": {"efort": "low"}}),
            "output_config.efort: there is no such field; did you mean effort?",
        ),
        (
            Api::Messages,
            of_user(json!([{"type": "tool_result", "tool_use_id": "a", "is_eror": true}])),
            "messages[0].content[0].is_eror: there is no such field; did you mean is_error?",
        ),
        (
            Api::Messages,
            of_user(
                json!([{"type": "image", "source": {"type": "base64", "mediaType": "image/png", "data": ""}}]),
            ),
            "messages[0].content[0].source.mediaType: there is no such field; did you mean media_type?",
        ),
        (
            Api::Messages,
            json!({"messages": said, "tools": [{"name": "f", "input_schema": {}, "inputschema": {}}]}),
            "tools[0].inputschema: there is no such field; did you mean input_schema?",
        ),
    ] {
        assert_eq!(error(api, &body), expected);
    }
    for (body, expected) in [
        (
            json!({"messages": said, "response_format": {"type": "json_schema", "json_schema": {"shcema": {}}}}),
            "response_format.json_schema.shcema: there is no such field; did you mean schema?",
        ),
        (
            json!({"messages": [{"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{}", "Arguments": "{}"}}]}]}),
            "messages[0].tool_calls[0].function.Arguments: there is no such field; did you mean arguments?",
        ),
        (
            json!({"messages": said, "max_token": 1}),
            "max_token: there is no such field; did you mean max_tokens?",
        ),
    ] {
        assert_eq!(Request::from_json(&body).unwrap_err().to_string(), expected);
    }
}

#[test]
fn what_is_not_known_in_a_nested_object_is_a_note_and_in_a_tool_an_error() {
    let body = of_input(
        json!([{"role": "user", "content": [{"type": "input_text", "text": "Hi", "weight": 2, "nothing": null}]}]),
    );
    let notes = params("chatml", Api::Responses, &body).notes;
    assert_eq!(
        notes,
        ["input[0].content[0].weight: is not known here, and no model sees it"]
    );
    let body = json!({"messages": [{"role": "user", "content": "Hi"}], "tools": [{"name": "f", "input_schema": {}, "samples": [1]}]});
    assert_eq!(
        error(Api::Messages, &body),
        "tools[0].samples: there is no such field, and what it says would be lost"
    );
    // Of a sampler.
    assert_eq!(
        chat(Api::Responses, &json!({"input": "Hi", "n_probs": 3})).get("notes"),
        None
    );
}

#[test]
fn tools_before_the_conversation_are_tools_of_the_request() {
    let function = json!({"type": "function", "name": "wait", "description": "Waits.", "parameters": {"type": "object", "properties": {}}, "strict": false});
    let patch = json!({"type": "custom", "name": "apply", "format": {"type": "grammar", "syntax": "regex", "definition": "[a-z]+"}});
    let space = json!({"type": "namespace", "name": "crm", "description": "Of customers.", "tools": [function, patch]});
    let body = json!({"instructions": "Be brief.", "tools": [{"type": "web_search"}], "input": [
        {"type": "additional_tools", "id": "at_1", "role": "developer", "tools": [space, {"type": "apply_patch"}, {"type": "shell"}, {"type": "image_generation"}]},
        {"role": "user", "content": "Hi"},
    ]});
    let chat = chat(Api::Responses, &body);
    let request = Request::from_json_with(&chat, &json!({"hosted_tools": "keep"})).unwrap();
    let tools: Vec<_> = request
        .tools
        .iter()
        .map(|tool| (&*tool.namespace, &*tool.name, tool.deferred))
        .collect();
    assert_eq!(
        tools,
        [
            ("crm", "wait", false),
            ("crm", "apply", false),
            ("", "apply_patch", false),
            ("", "shell", false)
        ]
    );
    assert_eq!(request.hosted_tools.len(), 2);
    assert_eq!(chat["messages"].as_array().unwrap().len(), 2);
    for name in ["json-call", "qwen3-coder", "gpt-oss"] {
        let prompt = params(name, Api::Responses, &body).prompt;
        assert!(
            prompt.contains("Of customers.") && prompt.contains("crm.wait"),
            "{name}: {prompt}"
        );
    }
}

#[test]
fn tools_amid_a_conversation_leave_the_earlier_prompt_as_it_was() {
    let late = json!({"type": "function", "name": "late", "description": "Comes late.", "parameters": {"type": "object", "properties": {"when": {"type": "string"}}}, "strict": false});
    let early = json!({"type": "function", "name": "early", "description": "Is there.", "parameters": {"type": "object", "properties": {}}, "strict": false});
    let items = [
        json!({"role": "user", "content": "Hi"}),
        json!({"type": "function_call", "call_id": "a", "name": "early", "arguments": "{}"}),
        json!({"type": "function_call_output", "call_id": "a", "output": "Fine."}),
        json!({"type": "additional_tools", "role": "developer", "tools": [{"type": "namespace", "name": "ns", "description": "Of it.", "tools": [late]}]}),
        json!({"role": "user", "content": "And now?"}),
    ];
    let of = |count: usize| json!({"tools": [early], "add_generation_prompt": false, "input": items[..count]});
    for name in ["json-call", "qwen3-coder", "gpt-oss", "deepseek-v3.1"] {
        let [before, after] = [2, 5].map(|count| params(name, Api::Responses, &of(count)));
        assert!(
            after.prompt.starts_with(&before.prompt),
            "{name}: {}\n{}",
            before.prompt,
            after.prompt
        );
        let added = &after.prompt[before.prompt.len()..];
        assert!(
            added.contains("Comes late.") && added.contains("there are also these tools"),
            "{name}: {added}"
        );
        let mut required = of(5);
        required["tool_choice"] = "required".into();
        required["add_generation_prompt"] = true.into();
        let params = params(name, Api::Responses, &required);
        assert!(params.grammar().text.contains("late"), "{name}");
    }
    // As in Messages.
    let tool =
        json!({"name": "late", "description": "Comes late.", "input_schema": {"type": "object"}});
    let added =
        json!({"type": "tool_addition", "tool": {"type": "tool_definition", "definition": tool}});
    let body = json!({"max_tokens": 9, "messages": [
        {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"},
        {"role": "system", "content": [{"type": "text", "text": "News."}, added]},
        {"role": "user", "content": "And now?"},
    ]});
    let params = params("json-call", Api::Messages, &body);
    assert!(
        params.prompt.contains("News.") && params.prompt.contains("Comes late."),
        "{}",
        params.prompt
    );
}

#[test]
fn a_removed_tool_is_shown_and_cannot_be_called() {
    let tool =
        |name: &str| json!({"name": name, "input_schema": {"type": "object", "properties": {}}});
    let change = |kind: &str, name: &str| json!({"role": "system", "content": [{"type": kind, "tool": {"type": "tool_reference", "name": name}}]});
    let body = |more: Vec<Value>, choice: Value| {
        let mut said = vec![
            json!({"role": "user", "content": "Hi"}),
            json!({"role": "assistant", "content": "Ho"}),
        ];
        said.extend(more);
        said.push(json!({"role": "user", "content": "Now"}));
        json!({"max_tokens": 9, "tools": [tool("first"), tool("second"), {"type": "bash_20250124", "name": "bash"}], "tool_choice": choice, "messages": said})
    };
    let any = json!({"type": "any"});
    let params = params(
        "json-call",
        Api::Messages,
        &body(
            vec![
                change("tool_removal", "second"),
                change("tool_removal", "bash"),
            ],
            any.clone(),
        ),
    );
    let grammar = &params.grammar().text;
    assert!(
        grammar.contains("first") && !grammar.contains("second") && !grammar.contains("bash"),
        "{grammar}"
    );
    assert!(
        params.prompt.contains("\"second\"")
            && params.prompt.contains("the tool second cannot be called"),
        "{}",
        params.prompt
    );
    assert!(
        params.notes[0]
            .starts_with("messages[2].content[0].tool: the tool \"second\" cannot be called"),
        "{:?}",
        params.notes
    );
    let again = chat(
        Api::Messages,
        &body(
            vec![
                change("tool_removal", "second"),
                change("tool_addition", "second"),
            ],
            any.clone(),
        ),
    );
    assert_eq!(again["tool_choice"], "required");
    let none = ["first", "second", "bash"].map(|name| change("tool_removal", name));
    let request = Request::from_json(&chat(Api::Messages, &body(none.to_vec(), any))).unwrap();
    assert_eq!(request.output.tool_choice, ToolChoice::None);
}

#[test]
fn the_last_configuration_counts() {
    let format = json!({"type": "json_schema", "name": "a", "schema": {"type": "object"}});
    let body = json!({"reasoning": {"effort": "none"}, "input": [
        {"role": "user", "content": "Hi"},
        {"type": "configuration_update", "reasoning": {"effort": "low"}},
        {"type": "configuration_update", "reasoning": {"effort": "high"}, "text": {"format": format}},
    ]});
    let converted = chat(Api::Responses, &body);
    assert_eq!(
        (
            &converted["reasoning_effort"],
            converted.get("enable_thinking")
        ),
        (&json!("high"), None)
    );
    assert_eq!(converted["response_format"]["json_schema"]["name"], "a");
    let said = |config: Value| {
        json!({"max_tokens": 9, "output_config": {"effort": "high"}, "messages": [
            {"role": "user", "content": "Hi"}, {"role": "system", "output_config": config},
        ]})
    };
    let converted = chat(Api::Messages, &said(json!({"effort": "low"})));
    assert_eq!(converted["reasoning_effort"], "low");
    assert_eq!(
        converted["messages"],
        json!([{"role": "user", "content": "Hi"}])
    );
    assert_eq!(
        error(Api::Messages, &said(json!({}))),
        "messages[1].content: missing"
    );
}

#[test]
fn what_is_no_longer_meant_for_the_model_is_not_said() {
    let body = |last: &str| {
        json!({"max_tokens": 9, "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "system", "content": "Once.", "clear_at": "next_user_message"},
            {"role": "system", "content": "Always.", "clear_at": "never"},
            {"role": "assistant", "content": "Ho"}, {"role": last, "content": "Now"},
        ]})
    };
    for (last, expected) in [("user", false), ("system", true)] {
        let said = chat(Api::Messages, &body(last))["messages"].to_string();
        assert!(
            said.contains("Always.") && said.contains("Once.") == expected,
            "{said}"
        );
    }
}

#[test]
fn a_client_that_wants_a_compaction_is_heard() {
    let body = of_input(
        json!([{"role": "user", "content": "Hi"}, {"type": "compaction_trigger", "id": "ct_1"}]),
    );
    let converted = chat(Api::Responses, &body);
    assert_eq!(
        converted["compaction"],
        json!({"type": "compaction_trigger", "id": "ct_1"})
    );
    assert_eq!(
        converted["messages"],
        json!([{"role": "user", "content": "Hi"}])
    );
    assert_eq!(
        params("chatml", Api::Responses, &body).notes,
        ["input[1].type: the host makes the compaction"]
    );
    let body = json!({"max_tokens": 9, "compaction": {"type": "summarize"}, "messages": [
        {"role": "user", "content": [{"type": "compaction", "content": "They met.", "signature": "x"}, {"type": "text", "text": "And?"}]},
    ]});
    let converted = chat(Api::Messages, &body);
    assert_eq!(converted["compaction"], json!({"type": "summarize"}));
    let parts = json!([{"type": "text", "text": "They met."}, {"type": "text", "text": "And?"}]);
    assert_eq!(
        converted["messages"],
        json!([{"role": "user", "content": parts}])
    );
}

#[test]
fn a_tool_that_the_model_cannot_call_is_not_offered() {
    let tool = |name: &str, more: Value| {
        let mut tool = json!({"type": "function", "name": name, "parameters": {}, "strict": false});
        tool.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        tool
    };
    let body = json!({"input": "Hi", "tools": [
        tool("plain", json!({"async": false, "allowed_callers": null})),
        tool("slow", json!({"async": true})),
        tool("inner", json!({"allowed_callers": ["programmatic"]})),
        tool("both", json!({"allowed_callers": ["programmatic", "direct"]})),
        {"type": "programmatic_tool_calling"},
        {"type": "shell", "environment": {"type": "local"}},
    ]});
    let params = params("json-call", Api::Responses, &body);
    let request = Request::from_json(&chat(Api::Responses, &body)).unwrap();
    assert_eq!(
        request
            .tools
            .iter()
            .map(|tool| &*tool.name)
            .collect::<Vec<_>>(),
        ["plain", "both", "shell"]
    );
    let fields: Vec<&str> = params
        .notes
        .iter()
        .filter_map(|note| Some(note.split_once(':')?.0))
        .collect();
    assert_eq!(
        fields,
        [
            "tools[1].async",
            "tools[2].allowed_callers",
            "tools[4].type"
        ]
    );
    let container = json!({"input": "Hi", "tools": [{"type": "shell", "environment": {"type": "container_auto"}}]});
    let refused = Request::from_json(&chat(Api::Responses, &container))
        .unwrap_err()
        .to_string();
    assert!(refused.contains("hosted_tools: \"keep\""), "{refused}");
}

#[test]
fn a_failed_call_says_so() {
    let result = |content: Value| {
        let block = json!({"type": "tool_result", "tool_use_id": "a", "content": content, "is_error": true});
        chat(Api::Messages, &of_user(json!([block])))["messages"][0]["content"].clone()
    };
    assert_eq!(result(json!("No such file")), "Error: No such file");
    assert_eq!(result(json!("TypeError: no")), "TypeError: no");
    assert_eq!(
        result(json!("<tool_use_error>no</tool_use_error>")),
        "<tool_use_error>no</tool_use_error>"
    );
    assert_eq!(result(json!([])), "Error:");
    assert_eq!(
        result(json!([{"type": "text", "text": "No"}])),
        json!([{"type": "text", "text": "Error:"}, {"type": "text", "text": "No"}])
    );
    let image = json!({"type": "image", "source": {"type": "url", "url": "u"}});
    assert_eq!(
        result(json!([image]))[0],
        json!({"type": "text", "text": "Error:"})
    );
}

#[test]
fn documents_search_results_and_examples_are_texts() {
    let content = json!([
        {"type": "document", "title": "Log", "context": "Of May", "source": {"type": "text", "media_type": "text/plain", "data": "It rained."}},
        {"type": "document", "title": "List", "source": {"type": "content", "content": [{"type": "text", "text": "One"}, {"type": "text", "text": "Two"}]}},
        {"type": "document", "source": {"type": "content", "content": "Bare"}},
        {"type": "search_result", "title": "Rain", "source": "https://example.org", "content": [{"type": "text", "text": "Much"}], "citations": {"enabled": true}},
    ]);
    let mut body = of_user(content);
    body["tools"] = json!([
        {"name": "f", "description": "F.", "input_schema": {"type": "object"}, "input_examples": [{"day": "May 1"}, {"day": "May 2"}]},
        {"type": "bash_20250124", "name": "bash", "input_examples": [{"command": "ls -l"}], "strict": true},
    ]);
    for name in ["json-call", "qwen3-coder", "deepseek-v3.1"] {
        let params = params(name, Api::Messages, &body);
        for text in [
            "Log",
            "Of May",
            "It rained.",
            "List",
            "One",
            "Two",
            "Bare",
            "Rain",
            "https://example.org",
            "Much",
            "May 1",
            "May 2",
            "ls -l",
        ] {
            assert!(
                params.prompt.contains(text),
                "{name}: {text}: {}",
                params.prompt
            );
        }
        assert_eq!(
            params.notes,
            ["messages[0].content[3].citations: answers have no citations here"],
            "{name}"
        );
    }
}

#[test]
fn older_and_newer_names_say_the_same() {
    let schema = json!({"type": "object", "properties": {}});
    let format = json!({"type": "json_schema", "schema": schema});
    let of = |name: &str, value: Value| {
        chat(
            Api::Messages,
            &json!({"max_tokens": 9, "messages": [], name: value}),
        )
    };
    assert_eq!(
        of("output_format", format.clone()),
        of("output_config", json!({"format": format}))
    );
    assert_eq!(
        of("thinking", json!({"type": "between_tools"})),
        of("thinking", json!({"type": "disabled"}))
    );
}

#[test]
fn what_no_model_sees_is_taken() {
    let body = json!({"max_tokens": 9, "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "metadata": {"user_id": "u"}, "speed": "fast", "betas": ["x"], "messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [
            {"type": "text", "text": "Ho"},
            {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}},
            {"type": "text", "text": "!"},
        ]},
        {"role": "user", "content": "So"},
    ]});
    let params = params("chatml", Api::Messages, &body);
    assert!(params.prompt.contains("Ho!"));
    assert_eq!(
        params.notes,
        ["context_management: the messages are as sent; the host may edit them"]
    );
    let listing = json!({"type": "mcp_tool_listing", "mcp_server_name": "crm", "tools": [{"name": "look", "input_schema": {"type": "object"}}]});
    let body = json!({"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [listing, {"type": "text", "text": "Ho"}]}, {"role": "user", "content": "So"}]});
    let tool = &Request::from_json(&chat(Api::Messages, &body))
        .unwrap()
        .tools[0];
    assert_eq!((&*tool.namespace, &*tool.name), ("crm", "look"));
}

#[test]
fn a_commentary_beside_a_call_is_a_preamble() {
    let commentary = json!({"role": "assistant", "phase": "commentary", "content": "I look."});
    let reasoning = json!({"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Why not."}]});
    for between in [
        vec![&commentary],
        vec![&reasoning, &commentary],
        vec![&commentary, &reasoning],
    ] {
        let mut items = vec![json!({"role": "user", "content": "Hi"})];
        items.extend(between.into_iter().cloned());
        items
            .push(json!({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}));
        items.push(json!({"type": "function_call_output", "call_id": "a", "output": "4"}));
        let prompt = params("gpt-oss", Api::Responses, &of_input(items.into())).prompt;
        assert!(
            prompt.contains("<|channel|>commentary<|message|>I look.<|end|>"),
            "{prompt}"
        );
    }
}
