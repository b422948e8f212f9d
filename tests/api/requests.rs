//! Bodies of Responses and Messages as chat completions.

use chatparse::EndedBy;
use chatparse::api::Api;
use chatparse::message::{Request, ToolChoice};
use serde_json::{Value, json};

fn messages(api: Api, body: Value) -> Value {
    let chat = api.request(&body).unwrap();
    chat["messages"].clone()
}

fn of_input(input: Value) -> Value {
    messages(Api::Responses, json!({"input": input}))
}

fn of_messages(said: Value) -> Value {
    messages(Api::Messages, json!({"messages": said}))
}

#[test]
fn a_text_is_a_message_of_the_user() {
    let expected =
        json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]);
    assert_eq!(
        messages(
            Api::Responses,
            json!({"input": "Hi", "instructions": "Be brief."})
        ),
        expected
    );
    let body = json!({"system": "Be brief.", "messages": [{"role": "user", "content": "Hi"}]});
    assert_eq!(messages(Api::Messages, body), expected);
    let blocks = json!([{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "Be kind."}]);
    let said = messages(Api::Messages, json!({"system": blocks, "messages": []}));
    assert_eq!(
        said,
        json!([{"role": "system", "content": "Be brief.\n\nBe kind."}])
    );
}

#[test]
fn items_of_one_turn_of_the_model_are_one_message() {
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}", "id": "fc_1"});
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "4"});
    let text = |text: &str| {
        let part = json!({"type": "output_text", "text": text, "annotations": []});
        json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]})
    };
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": [],
        "content": [{"type": "reasoning_text", "text": "Why"}]});
    let summary = json!({"type": "reasoning", "id": "rs_2", "summary": [{"type": "summary_text", "text": "So"}]});
    let user = json!({"role": "user", "content": "Hi"});
    let sealed =
        json!({"type": "reasoning", "id": "rs_3", "summary": [], "encrypted_content": "x"});
    assert_eq!(of_input(json!([user, sealed, user])), json!([user, user]));
    let said = of_input(json!([
        user,
        reasoning,
        text("First. "),
        call("a"),
        text("Then."),
        call("b"),
        output("a"),
        output("b"),
        summary,
        text("Four."),
        text("Or five?"),
    ]));
    let of_call = |id: &str| json!({"type": "function", "id": id, "function": {"name": "f", "arguments": "{}"}});
    let expected = json!([
        user,
        {"role": "assistant", "content": "First. Then.", "reasoning_content": "Why", "tool_calls": [of_call("a"), of_call("b")]},
        {"role": "tool", "tool_call_id": "a", "content": "4"},
        {"role": "tool", "tool_call_id": "b", "content": "4"},
        {"role": "assistant", "content": "Four.", "reasoning_content": "So"},
        {"role": "assistant", "content": "Or five?"},
    ]);
    assert_eq!(said, expected);
}

#[test]
fn blocks_of_one_turn_of_the_model_are_one_message() {
    let said = of_messages(json!([
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Why", "signature": ""}, {"type": "redacted_thinking", "data": "x"},
            {"type": "text", "text": "First. "},
            {"type": "tool_use", "id": "a", "name": "f", "input": {"b": 1, "a": 2}}, {"type": "tool_use", "id": "b", "name": "f", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "4", "is_error": false},
            {"type": "tool_result", "tool_use_id": "b"},
            {"type": "text", "text": "And?"},
        ]},
    ]));
    let expected = json!([
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "First. ", "reasoning_content": "Why", "tool_calls": [
            {"type": "function", "id": "a", "function": {"name": "f", "arguments": "{\"b\":1,\"a\":2}"}},
            {"type": "function", "id": "b", "function": {"name": "f", "arguments": "{}"}},
        ]},
        {"role": "tool", "tool_call_id": "a", "content": "4"},
        {"role": "tool", "tool_call_id": "b", "content": ""},
        {"role": "user", "content": [{"type": "text", "text": "And?"}]},
    ]);
    assert_eq!(said, expected);
}

#[test]
fn further_instructions_at_the_beginning_join_the_first() {
    let said = messages(
        Api::Responses,
        json!({"instructions": "Be brief.", "input": [
            {"role": "developer", "content": [{"type": "input_text", "text": "Be kind."}]},
            {"role": "user", "content": "Hi"},
            {"role": "system", "content": "Be quick."},
        ]}),
    );
    let expected = json!([
        {"role": "system", "content": "Be brief.\n\nBe kind."},
        {"role": "user", "content": "Hi"},
        {"role": "system", "content": "Be quick."},
    ]);
    assert_eq!(said, expected);
    assert_eq!(
        of_input(json!([{"role": "developer", "content": "Be kind."}])),
        json!([{"role": "developer", "content": "Be kind."}])
    );
}

#[test]
fn media_are_parts() {
    let said = of_input(json!([{"role": "user", "content": [
        {"type": "input_text", "text": "What?"},
        {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "low"},
        {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
        {"type": "input_file", "file_data": "data:application/pdf;base64,AA==", "filename": "a.pdf"},
    ]}]));
    let expected = json!([
        {"type": "text", "text": "What?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": "low"}},
        {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,AA==", "filename": "a.pdf"}},
    ]);
    assert_eq!(said[0]["content"], expected);
    let pdf = json!({"type": "base64", "media_type": "application/pdf", "data": "AA=="});
    let said = of_messages(json!([{"role": "user", "content": [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "document", "source": pdf, "title": "a.pdf"},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "So it is."}},
    ]}]));
    let expected = json!([
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AA=="}},
        {"type": "text", "text": "So it is."},
    ]);
    assert_eq!(said[0]["content"], expected);
}

#[test]
fn tools_and_choices_of_responses() {
    let schema = json!({"type": "object", "properties": {}});
    let body = |choice: Value| {
        let tool = json!({"type": "function", "name": "f", "description": "F.", "parameters": schema, "strict": true});
        Api::Responses
            .request(&json!({"input": "Hi", "tools": [tool], "tool_choice": choice}))
            .unwrap()
    };
    let chat = body(json!("required"));
    let function = json!({"name": "f", "description": "F.", "parameters": schema, "strict": true});
    assert_eq!(
        chat["tools"],
        json!([{"type": "function", "function": function}])
    );
    assert_eq!(
        (&chat["tool_choice"], &chat["parallel_tool_calls"]),
        (&json!("required"), &json!(true))
    );
    let named = json!({"type": "function", "function": {"name": "f"}});
    assert_eq!(
        body(json!({"type": "function", "name": "f"}))["tool_choice"],
        named
    );
    let allowed = json!({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]});
    let expected =
        json!({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [named]}});
    assert_eq!(body(allowed)["tool_choice"], expected);
    let request = Request::from_json(&chat).unwrap();
    assert_eq!(
        (request.tools[0].name.as_str(), request.output.tool_choice),
        ("f", ToolChoice::Required)
    );
}

#[test]
fn custom_tools_of_responses() {
    let format = json!({"type": "grammar", "syntax": "regex", "definition": "[a-z]+"});
    let body = json!({
        "tools": [{"type": "custom", "name": "shell", "description": "Runs.", "format": format}],
        "tool_choice": {"type": "custom", "name": "shell"},
        "input": [
            {"role": "user", "content": "Hi"},
            {"type": "custom_tool_call", "call_id": "a", "name": "shell", "input": "ls"},
            {"type": "custom_tool_call_output", "call_id": "a", "output": "b.txt"},
        ],
    });
    let chat = Api::Responses.request(&body).unwrap();
    let grammar =
        json!({"type": "grammar", "grammar": {"syntax": "regex", "definition": "[a-z]+"}});
    let custom = json!({"name": "shell", "description": "Runs.", "format": grammar});
    assert_eq!(chat["tools"], json!([{"type": "custom", "custom": custom}]));
    assert_eq!(
        chat["tool_choice"],
        json!({"type": "custom", "custom": {"name": "shell"}})
    );
    let call = json!({"type": "custom", "id": "a", "custom": {"name": "shell", "input": "ls"}});
    assert_eq!(chat["messages"][1]["tool_calls"], json!([call]));
    assert_eq!(
        chat["messages"][2],
        json!({"role": "tool", "tool_call_id": "a", "content": "b.txt"})
    );
    let request = Request::from_json(&chat).unwrap();
    assert_eq!(
        request.messages[1].tool_calls[0].arguments,
        "{\"input\":\"ls\"}"
    );
}

#[test]
fn tools_and_choices_of_messages() {
    let schema = json!({"type": "object", "properties": {}});
    let body = |choice: Value| {
        let tool = json!({"name": "f", "description": "F.", "input_schema": schema});
        Api::Messages
            .request(&json!({"messages": [], "tools": [tool], "tool_choice": choice}))
            .unwrap()
    };
    let chat = body(json!({"type": "any", "disable_parallel_tool_use": true}));
    let function = json!({"name": "f", "description": "F.", "parameters": schema});
    assert_eq!(
        chat["tools"],
        json!([{"type": "function", "function": function}])
    );
    assert_eq!(
        (&chat["tool_choice"], &chat["parallel_tool_calls"]),
        (&json!("required"), &json!(false))
    );
    let choices = ["auto", "none"].map(|kind| body(json!({"type": kind}))["tool_choice"].clone());
    assert_eq!(choices, ["auto", "none"]);
    let named = body(json!({"type": "tool", "name": "f"}));
    assert_eq!(
        named["tool_choice"],
        json!({"type": "function", "function": {"name": "f"}})
    );
    assert_eq!(named["parallel_tool_calls"], true);
}

#[test]
fn what_an_answer_should_look_like() {
    let schema = json!({"type": "object"});
    let format = json!({"type": "json_schema", "name": "a", "schema": schema, "strict": true});
    let chat = Api::Responses
        .request(&json!({
            "input": "Hi", "text": {"format": format}, "reasoning": {"effort": "low"}, "max_output_tokens": 9, "temperature": 0.5,
            "model": "m", "stream": true, "store": true, "include": ["x"],
        }))
        .unwrap();
    let expected = json!({
        "model": "m", "stream": true, "temperature": 0.5,
        "messages": [{"role": "user", "content": "Hi"}], "max_completion_tokens": 9,
        "reasoning_effort": "low",
        "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema, "strict": true}},
    });
    assert_eq!(chat, expected);
    let chat = Api::Messages
        .request(&json!({
            "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9, "stop_sequences": ["###"], "top_k": 3,
            "thinking": {"type": "disabled"}, "reasoning_format": "none",
            "output_config": {"effort": "max", "format": {"type": "json_schema", "schema": schema}},
        }))
        .unwrap();
    let expected = json!({
        "top_k": 3, "reasoning_format": "none", "messages": [{"role": "user", "content": "Hi"}], "max_completion_tokens": 9,
        "stop": ["###"], "enable_thinking": false, "reasoning_effort": "max",
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": true}},
    });
    assert_eq!(chat, expected);
    let none = Api::Responses
        .request(&json!({"input": "Hi", "reasoning": {"effort": "none"}}))
        .unwrap();
    assert_eq!(
        (&none["enable_thinking"], none.get("reasoning_effort")),
        (&json!(false), None)
    );
}

#[test]
fn a_message_of_the_model_at_the_end_is_continued() {
    let said = json!([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "I"}]);
    assert_eq!(
        Api::Messages.request(&json!({"messages": said})).unwrap()["continue_final_message"],
        true
    );
    assert_eq!(
        Api::Messages
            .request(&json!({"messages": [said[0]]}))
            .unwrap()
            .get("continue_final_message"),
        None
    );
}

#[test]
fn bodies_of_chat_completions_stay_as_they_are() {
    let body = json!({"messages": [], "whatever": 1});
    assert_eq!(Api::ChatCompletions.request(&body).unwrap(), body);
}

#[test]
fn errors_name_the_field() {
    let part = |part: Value| json!({"input": [{"role": "user", "content": [part]}]});
    let long = "i".repeat(1 << 20);
    let of_responses = [
        (json!([]), "the request: must be an object"),
        (json!({}), "input: missing"),
        (
            json!({"input": 7}),
            "input: must be a string or an array, not a number",
        ),
        (
            json!({"input": "Hi", "previous_response_id": "resp_1"}),
            "previous_response_id: answers are not kept here",
        ),
        (
            json!({"input": "Hi", "conversation": "c"}),
            "conversation: ",
        ),
        (json!({"input": "Hi", "prompt": {"id": "p"}}), "prompt: "),
        (json!({"input": "Hi", "background": true}), "background: "),
        (
            json!({"input": [{"role": "user", "content": "Hi"}, {"type": "item_reference", "id": "a"}]}),
            "input[1].type: items are not kept here; send the item itself",
        ),
        (
            json!({"input": [{"type": "compaction", "encrypted_content": "x"}]}),
            "input[0].type: only who has made it can read it",
        ),
        (
            json!({"input": [{"type": "program", "code": "1"}]}),
            "input[0].type: no programs run here; ",
        ),
        (
            json!({"input": [{"type": "odd"}]}),
            "input[0].type: must be \"message\", ",
        ),
        (
            json!({"input": [{"role": "tool", "content": "Hi"}]}),
            "input[0].role: must be ",
        ),
        (
            json!({"input": [{"role": "user"}]}),
            "input[0].content: missing",
        ),
        (
            json!({"input": [7]}),
            "input[0]: must be an object, not a number",
        ),
        (
            json!({"input": [{"type": "function_call", "call_id": "a", "name": "f"}]}),
            "input[0].arguments: missing",
        ),
        (
            json!({"input": [{"type": "function_call_output", "call_id": "a"}]}),
            "input[0].output: missing",
        ),
        (
            part(json!({"type": "input_image", "file_id": "f"})),
            "input[0].content[0].file_id: files are not kept here",
        ),
        (
            part(json!({"type": "input_file", "file_url": "f"})),
            "input[0].content[0].file_url: files are not kept here",
        ),
        (
            part(json!({"type": "computer_screenshot"})),
            "input[0].content[0].type: must be ",
        ),
        (
            json!({"input": "Hi", "tool_choice": {"type": "mcp"}}),
            "tool_choice.type: must be ",
        ),
        (
            json!({"input": "Hi", "text": {"format": {"type": "grammar"}}}),
            "text.format.type: must be ",
        ),
        (
            json!({"input": "Hi", "text": {"format": {"type": "json_schema"}}}),
            "text.format.schema: missing",
        ),
        (
            json!({"input": "Hi", "reasoning": {"effort": 1}}),
            "reasoning.effort: must be a string",
        ),
        (
            json!({"input": "Hi", "max_output_tokens": "many"}),
            "max_output_tokens: must be a whole number",
        ),
        (
            json!({"input": "Hi", "tools": [{"type": "function", "name": "f"}, {"type": "custom", "name": "f"}]}),
            "tools[1].name: there is another tool \"f\"",
        ),
        (
            json!({"input": "Hi", "tools": [{"type": "function", "name": ""}]}),
            "tools[0].name: must not be empty",
        ),
        (
            json!({"input": [{"type": "function_call", "call_id": long, "name": "f", "arguments": "{}"}]}),
            "input[0].call_id: must have at most ",
        ),
        (
            json!({"input": [{"type": "function_call_output", "call_id": long, "output": ""}]}),
            "input[0].call_id: must have at most ",
        ),
    ];
    let block = |block: Value| json!({"messages": [{"role": "user", "content": [block]}]});
    let of_messages = [
        (json!({}), "messages: missing"),
        (
            json!({"messages": [{"role": "tool", "content": ""}]}),
            "messages[0].role: must be ",
        ),
        (
            json!({"messages": [{"role": "user"}]}),
            "messages[0].content: missing",
        ),
        (
            json!({"messages": [], "system": [{"type": "image"}]}),
            "system[0].type: must be \"text\"",
        ),
        (
            block(json!({"type": "search_result"})),
            "messages[0].content[0].title: missing",
        ),
        (
            block(json!({"type": "odd"})),
            "messages[0].content[0].type: must be ",
        ),
        (
            block(json!({"type": "container_upload"})),
            "messages[0].content[0].type: files are not kept here",
        ),
        (
            block(json!({"type": "image", "source": {"type": "file", "file_id": "f"}})),
            "messages[0].content[0].source.type: files are not kept here",
        ),
        (
            block(json!({"type": "document", "source": {"type": "url", "url": "u"}})),
            "messages[0].content[0].source.type: must be ",
        ),
        (
            block(json!({"type": "tool_result", "content": "4"})),
            "messages[0].content[0].tool_use_id: missing",
        ),
        (
            block(json!({"type": "tool_result", "tool_use_id": "a", "content": [{"type": "x"}]})),
            "messages[0].content[0].content[0].type: must be ",
        ),
        (
            json!({"messages": [{"role": "assistant", "content": [{"type": "web_search_tool_result"}]}]}),
            "messages[0].content[0].type: is of a tool that a server runs",
        ),
        (
            json!({"messages": [], "tools": [{"name": "f"}]}),
            "tools[0].input_schema: missing",
        ),
        (
            json!({"messages": [], "tools": [{"name": "f", "input_schema": {}}, {"name": "f", "input_schema": {}}]}),
            "tools[1].name: there is another tool \"f\"",
        ),
        (
            json!({"messages": [], "tools": [{"name": long}]}),
            "tools[0].name: must have at most ",
        ),
        (
            json!({"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": long, "name": "f"}]}]}),
            "messages[0].content[0].id: must have at most ",
        ),
        (
            block(json!({"type": "tool_result", "tool_use_id": long, "content": ""})),
            "messages[0].content[0].tool_use_id: must have at most ",
        ),
        (
            json!({"messages": [], "tool_choice": {"type": "some"}}),
            "tool_choice.type: must be ",
        ),
        (
            json!({"messages": [], "thinking": {"type": "deep"}}),
            "thinking.type: must be ",
        ),
        (
            json!({"messages": [], "output_config": {"format": {"type": "text"}}}),
            "output_config.format.type: must be ",
        ),
        (
            json!({"messages": [], "mcp_servers": [{}]}),
            "mcp_servers: ",
        ),
    ];
    let all = of_responses
        .into_iter()
        .map(|(body, said)| (Api::Responses, body, said));
    for (api, body, said) in all.chain(
        of_messages
            .into_iter()
            .map(|(body, said)| (Api::Messages, body, said)),
    ) {
        let error = api.request(&body).unwrap_err();
        assert!(error.message().starts_with(said), "{body}: {error}");
    }
}

#[test]
fn tools_that_a_server_runs_are_refused_or_kept() {
    for (api, kind) in [
        (Api::Responses, "web_search"),
        (Api::Messages, "web_search_20250305"),
    ] {
        let body =
            json!({"input": "Hi", "messages": [], "tools": [{"type": kind, "name": "web_search"}]});
        let mut chat = api.request(&body).unwrap();
        let error = Request::from_json(&chat).unwrap_err();
        assert!(error.message().starts_with("tools[0].type: "), "{error}");
        chat["hosted_tools"] = "keep".into();
        assert_eq!(
            json!(Request::from_json(&chat).unwrap().hosted_tools),
            body["tools"]
        );
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
fn deferred_tools_are_found_by_a_search() {
    let lazy = json!({"type": "function", "name": "lazy", "parameters": {"type": "object"}, "defer_loading": true});
    let space =
        json!({"type": "namespace", "name": "crm", "description": "Customers.", "tools": [lazy]});
    let search =
        json!({"type": "tool_search", "execution": "client", "parameters": {"type": "object"}});
    let body = json!({
        "tools": [search, lazy, space],
        "input": [
            {"role": "user", "content": "Hi"},
            {"type": "tool_search_call", "call_id": "a", "execution": "client", "arguments": {"goal": "x"}},
            {"type": "tool_search_output", "call_id": "a", "execution": "client", "tools": [lazy, space]},
            {"type": "function_call", "call_id": "b", "name": "lazy", "namespace": "crm", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "b", "output": "4"},
        ],
    });
    let chat = Api::Responses.request(&body).unwrap();
    let function = json!({"name": "tool_search", "arguments": "{\"goal\":\"x\"}"});
    assert_eq!(
        chat["messages"][1]["tool_calls"],
        json!([{"type": "function", "id": "a", "function": function}])
    );
    let references =
        ["lazy", "crm.lazy"].map(|name| json!({"type": "tool_reference", "name": name}));
    assert_eq!(chat["messages"][2]["content"], json!(references));
    assert_eq!(
        chat["messages"][3]["tool_calls"][0]["function"]["namespace"],
        "crm"
    );
    let request = Request::from_json(&chat).unwrap();
    let tools: Vec<_> = request
        .tools
        .iter()
        .map(|tool| (&*tool.namespace, &*tool.name, tool.deferred))
        .collect();
    assert_eq!(
        tools,
        [
            ("", "tool_search", false),
            ("", "lazy", true),
            ("crm", "lazy", true)
        ]
    );
    let prompt = chatparse::ChatTemplate::builtin("json-call")
        .unwrap()
        .prompt(&request)
        .unwrap();
    let (list, said) = prompt.split_at(prompt.find("Hi").unwrap());
    assert!(
        !list.contains("lazy") && said.contains("\"crm.lazy\""),
        "{prompt}"
    );
}

#[test]
fn what_an_mcp_server_ran_is_calls_and_results() {
    let listed =
        json!({"name": "find", "description": "Finds.", "input_schema": {"type": "object"}});
    let call = |id: &str| json!({"type": "mcp_call", "id": id, "server_label": "crm", "name": "find", "arguments": "{}", "output": "found"});
    let mut allowed = call("late");
    allowed["approval_request_id"] = "asked".into();
    let ask = |id: &str| json!({"type": "mcp_approval_request", "id": id, "server_label": "crm", "name": "find", "arguments": "{}"});
    let mut failed = call("b");
    failed["error"] = json!({"code": 7});
    let body = json!({
        "input": [
            {"role": "user", "content": "Hi"},
            {"type": "mcp_list_tools", "id": "l", "server_label": "crm", "tools": [listed]},
            call("a"), failed, ask("asked"),
            {"type": "mcp_approval_response", "approval_request_id": "asked", "approve": true},
            allowed, ask("never"),
            {"type": "mcp_approval_response", "approval_request_id": "never", "approve": false, "reason": "No."},
        ],
    });
    let chat = Api::Responses.request(&body).unwrap();
    let request = Request::from_json(&chat).unwrap();
    assert_eq!(
        (&*request.tools[0].namespace, &*request.tools[0].name),
        ("crm", "find")
    );
    let said = request
        .messages
        .iter()
        .flat_map(|message| match message.role.as_str() {
            "tool" => vec![format!("{}={}", message.tool_call_id, message.content)],
            _ => message
                .tool_calls
                .iter()
                .map(|call| format!("{}:{}.{}", call.id, call.namespace, call.name))
                .collect(),
        });
    let refused = "never=The user refused this call: No.";
    let all = [
        "a:crm.find",
        "a=found",
        "b:crm.find",
        "b={\"code\":7}",
        "asked:crm.find",
        "asked=found",
        "never:crm.find",
        refused,
    ];
    assert_eq!(said.collect::<Vec<_>>(), all);
}

#[test]
fn what_a_server_ran_in_a_turn_of_messages_splits_the_turn() {
    let reference = json!({"type": "tool_reference", "tool_name": "g"});
    let found = json!({"type": "tool_search_tool_search_result", "tool_references": [reference]});
    let body = json!({
        "tools": [{"name": "g", "input_schema": {"type": "object"}, "defer_loading": true}],
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [
                {"type": "text", "text": "Let me look."},
                {"type": "server_tool_use", "id": "a", "name": "tool_search_tool_regex", "input": {"query": "g"}},
                {"type": "tool_search_tool_result", "tool_use_id": "a", "content": found},
                {"type": "mcp_tool_use", "id": "b", "name": "h", "server_name": "crm", "input": {}},
                {"type": "mcp_tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "4"}]},
                {"type": "text", "text": "Four."},
            ]},
        ],
    });
    let chat = Api::Messages.request(&body).unwrap();
    let roles: Vec<_> = chat["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        roles,
        [
            "user",
            "assistant",
            "tool",
            "assistant",
            "tool",
            "assistant"
        ]
    );
    assert_eq!(
        chat["messages"][2]["content"],
        json!([{"type": "tool_reference", "name": "g"}])
    );
    assert_eq!(
        chat["messages"][3]["tool_calls"][0]["function"]["namespace"],
        "crm"
    );
    assert_eq!(chat["messages"][5]["content"], "Four.");
    Request::from_json(&chat).unwrap();
}

#[test]
fn a_tool_result_of_messages_reveals_a_tool() {
    let body = json!({
        "tools": [{"name": "f", "input_schema": {"type": "object"}}, {"name": "g", "input_schema": {"type": "object"}, "defer_loading": true}],
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "tool_reference", "tool_name": "g"}]}]},
        ],
    });
    let chat = Api::Messages.request(&body).unwrap();
    assert_eq!(
        chat["messages"][2]["content"],
        json!([{"type": "tool_reference", "name": "g"}])
    );
    let request = Request::from_json(&chat).unwrap();
    assert_eq!(
        request
            .tools
            .iter()
            .map(|tool| tool.deferred)
            .collect::<Vec<_>>(),
        [false, true]
    );
}

#[test]
fn calls_of_tools_of_the_client_are_calls_of_functions() {
    let body = json!({
        "tools": [{"type": "apply_patch"}, {"type": "shell"}], "tool_choice": {"type": "apply_patch"},
        "input": [
            {"role": "user", "content": "Hi"},
            {"type": "apply_patch_call", "call_id": "a", "operation": {"type": "delete_file", "path": "x"}},
            {"type": "apply_patch_call_output", "call_id": "a", "status": "completed"},
            {"type": "shell_call", "call_id": "b", "action": {"commands": ["ls"]}},
            {"type": "shell_call_output", "call_id": "b", "output": [{"stdout": "y", "stderr": ""}]},
        ],
    });
    let chat = Api::Responses.request(&body).unwrap();
    let function =
        json!({"name": "apply_patch", "arguments": "{\"path\":\"x\",\"type\":\"delete_file\"}"});
    let seen = &chat["messages"][1]["tool_calls"][0]["function"];
    let parsed = |value: &Value| {
        serde_json::from_str::<Value>(value["arguments"].as_str().unwrap()).unwrap()
    };
    assert_eq!(
        (&seen["name"], parsed(seen)),
        (&function["name"], parsed(&function))
    );
    assert_eq!(chat["messages"][2]["content"], "completed");
    assert_eq!(
        chat["messages"][4]["content"],
        "[{\"stdout\":\"y\",\"stderr\":\"\"}]"
    );
    assert_eq!(
        chat["tool_choice"],
        json!({"type": "function", "function": {"name": "apply_patch"}})
    );
    assert_eq!(Request::from_json(&chat).unwrap().tools.len(), 2);
}

#[test]
fn a_slip_of_the_pen_is_named_in_each_api() {
    for (api, body) in [
        (
            Api::Responses,
            json!({"input": "Hi", "reasoning_fromat": "none"}),
        ),
        (
            Api::Messages,
            json!({"messages": [], "reasoning_fromat": "none"}),
        ),
    ] {
        let error = api.request(&body).unwrap_err();
        assert_eq!(
            error.message(),
            "reasoning_fromat: there is no such field; did you mean reasoning_format?"
        );
    }
    let error = Api::Responses
        .request(&json!({"input": "Hi", "intsructions": "Be brief."}))
        .unwrap_err();
    assert_eq!(
        error.message(),
        "intsructions: there is no such field; did you mean instructions?"
    );
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
