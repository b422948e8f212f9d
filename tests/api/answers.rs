//! What answers say, streamed and not.

use chatparse::api::{Answer, AnswerOptions, Api, Finish, Reason};
use chatparse::message::{Message, Request};
use chatparse::{ChatTemplate, EndedBy, Params, Stream, ToolCall, builtin as builtins};
use serde_json::{Value, json};

use crate::client::put_together;
use crate::{APIS, body, builtin, data, length, options, params, request, stop, streamed, with};

const CALLS: &str = "<think>\nWhy</think>\n\nFirst. <tool_call>\n{\"name\": \"get\", \"arguments\": {\"key\": \"a\", \"n\": 1}}\n</tool_call>\n\
                     <tool_call>\n{\"name\": \"get_all\", \"arguments\": {}}\n</tool_call>";

/// Outputs as a template writes them: less what it cannot render.
fn outputs(template: &ChatTemplate, prompt: &str) -> Vec<String> {
    let call = |name: &str, arguments: &str, id: &str| ToolCall::new(name, arguments, id);
    let first = call("get", r#"{"key": "a \"b\" </x>\n", "n": -12}"#, "abc123def");
    let messages = [
        ("Grüße, <b>you</b>! 😀", "", vec![]),
        ("Done.", "Let me see: 1 < 2.", vec![]),
        (
            "",
            "Why",
            vec![first.clone(), call("get_all", "{}", "abc123deg")],
        ),
        ("First.", "", vec![first]),
    ];
    let render = |(content, reasoning, tool_calls): (&str, &str, Vec<ToolCall>)| {
        let mut request =
            Request::from_json(&json!({"messages": [{"role": "user", "content": "Hi"}]})).unwrap();
        request.add_generation_prompt = false;
        let mut message = Message::new("assistant", content);
        message.reasoning_content = reasoning.into();
        message.tool_calls = tool_calls;
        request.messages.push(message);
        let whole = template.prompt(&request).ok()?;
        let shared = whole
            .bytes()
            .zip(prompt.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        whole.get(shared..).map(str::to_owned)
    };
    messages.into_iter().filter_map(render).collect()
}

/// A streamed answer in pieces of several sizes is its body.
fn check(
    name: &str,
    params: &Params,
    output: &[u8],
    finish: &Finish,
    options: &AnswerOptions,
) -> usize {
    let mut calls = 0;
    for api in APIS {
        let mut bodies = Vec::new();
        for piece in [1, 3, output.len()] {
            let mut answer = Answer::new(api, options.clone());
            let (events, ended) = streamed(&mut answer, params, output, piece, finish);
            let body = answer.body(&ended, finish);
            let seen = put_together(api, &events);
            assert_eq!(
                seen,
                body,
                "{name}, {api:?}, pieces of {piece}: {:?}",
                String::from_utf8_lossy(output)
            );
            calls += ended.message.tool_calls.len();
            bodies.push(body);
        }
        assert!(
            bodies.windows(2).all(|pair| pair[0] == pair[1]),
            "{name}, {api:?}: pieces make no difference"
        );
    }
    calls
}

#[test]
fn the_events_of_an_answer_come_to_its_body() {
    let mut calls = 0;
    for name in builtins::names() {
        let template = ChatTemplate::builtin(name).unwrap();
        let params = params(&template);
        let mut outputs = outputs(&template, &params.prompt);
        // Text behind calls, calls behind text, and all of it twice.
        let all = outputs.concat();
        outputs.extend([format!("{all} and {all}"), all]);
        for output in &outputs {
            // Whole, and cut off at some bytes, also inside of characters.
            let cuts = (0..output.len()).step_by(1 + output.len() / 7);
            for cut in cuts {
                calls += check(
                    name,
                    &params,
                    &output.as_bytes()[..cut],
                    &length(),
                    &options(),
                );
            }
            calls += check(name, &params, output.as_bytes(), &stop(), &options());
        }
    }
    assert!(calls > 1000);
}

#[test]
fn so_do_those_of_an_output_in_disorder() {
    let mut random = 1_u64;
    let mut below = |end: usize| {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (random >> 33) as usize % end
    };
    let rounds: usize = std::env::var("CHATPARSE_CASES").map_or(6, |cases| cases.parse().unwrap());
    let mut calls = 0;
    for name in builtins::names() {
        let template = ChatTemplate::builtin(name).unwrap();
        let plain = params(&template);
        let outputs = outputs(&template, &plain.prompt);
        for round in 0..rounds {
            let mut request = request();
            request["dialects"] = ["off", "recover", "always"][round % 3].into();
            request["calls_in_reasoning"] = ["off", "at_end", "always"][round / 3 % 3].into();
            let params = template
                .params(&Request::from_json(&request).unwrap())
                .unwrap();
            // Stretches of right outputs, one behind the other.
            let mut output = Vec::new();
            for _ in 0..=below(5) {
                let part = outputs[below(outputs.len())].as_bytes();
                let (a, b) = (below(part.len() + 1), below(part.len() + 1));
                output.extend_from_slice(if below(2) == 0 {
                    part
                } else {
                    &part[a.min(b)..a.max(b)]
                });
            }
            // A custom tool and one of a namespace, by the same names, in half of the rounds.
            let function = |name: &str| json!({"name": name, "parameters": {}});
            let special = json!({"stream_options": {"include_usage": true}, "tools": [
                {"type": "custom", "name": "get", "custom": {"name": "get"}},
                {"type": "function", "name": "all", "namespace": "get", "function": function("all")},
            ]});
            let options =
                with(|options| options.request = if below(2) == 0 { special } else { Value::Null });
            calls += check(
                name,
                &params,
                &output,
                &if below(3) == 0 { length() } else { stop() },
                &options,
            );
        }
    }
    assert!(calls > 100);
}

/// Pieces of arguments, many of which are not JSON where they stand.
const PIECES: [&str; 24] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\'",
    "\\d",
    "\\n",
    "\\u00e9",
    "\\ud83d",
    "\\ude00",
    "\n",
    "\u{1}",
    "é",
    "None",
    "true",
    "-1.5e3",
    "01",
    "\"key\": ",
    "\"a\"",
    " ",
];

#[test]
fn arguments_that_are_not_json_are_json_for_clients_of_messages() {
    let params = builtin("json-call");
    let mut state = 1_u64;
    let mut below = |count: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % count
    };
    for _ in 0..300 {
        let mut arguments = r#"{"key": "it is", "n": 12, "more": [{"x": null}, "\\"]}"#.to_owned();
        for _ in 0..1 + below(3) {
            let at = (0..=below(arguments.len() + 1))
                .rev()
                .find(|at| arguments.is_char_boundary(*at))
                .unwrap_or(0);
            arguments.insert_str(at, PIECES[below(PIECES.len())]);
        }
        let output =
            format!("<tool_call>\n{{\"name\": \"get\", \"arguments\": {arguments}}}\n</tool_call>");
        check(&output, &params, output.as_bytes(), &stop(), &options());
        let cut = below(output.len());
        check(
            &output,
            &params,
            &output.as_bytes()[..cut],
            &length(),
            &options(),
        );
    }
}

#[test]
fn inputs_of_messages_end_with_the_first_byte_that_is_not_json() {
    let text = r#"{"a": [1, {"b": "x\"\\\ud83d\ude00"}, -25.5], "c": {"d": null, "e": true}, "f": "}", "g": []}"#;
    let cut = |behind: &str| &text[..text.find(behind).unwrap() + behind.len()];
    let deep = format!("{{\"a\": {}", "[".repeat(10_000));
    let cases = [
        (text, text),
        (cut("[1"), r#"{"a": []}"#),
        (cut("[1,"), r#"{"a": [1]}"#),
        (cut("{\"b\":"), r#"{"a": [1, {}]}"#),
        (cut("\"x"), r#"{"a": [1, {"b": "x"}]}"#),
        (cut("d83d"), r#"{"a": [1, {"b": "x\"\\"}]}"#),
        (cut("\"c\""), r#"{"a": [1, {"b": "x\"\\😀"}, -25.5]}"#),
        (r#"{"code": "it\'s"}"#, r#"{"code": "it"}"#),
        (r#"{"a": 1, "b": None}"#, r#"{"a": 1}"#),
        ("{\"a\": \"x\ny\"}", r#"{"a": "x\ny"}"#),
        (r#"{"a": "say "hi" now"}"#, r#"{"a": "say "}"#),
        (r#"{"a": "\ud83d", "b": 1}"#, r#"{"a": ""}"#),
        (r#"{"a": 01}"#, "{}"),
        ("{a: 1}", "{}"),
        ("{\"a\": [}", r#"{"a": []}"#),
    ];
    let keep = Request::from_json_with(&request(), &json!({"nearly_json": "keep"})).unwrap();
    let params = ChatTemplate::builtin("json-call")
        .unwrap()
        .params(&keep)
        .unwrap();
    let input = |arguments: &str| {
        let output = format!("<tool_call>\n{{\"name\": \"get\", \"arguments\": {arguments}");
        body(Api::Messages, &params, &output, &length())["content"][0]["input"].clone()
    };
    for (arguments, expected) in cases {
        assert_eq!(
            input(arguments),
            serde_json::from_str::<Value>(expected).unwrap(),
            "{arguments}"
        );
    }
    assert!(input(&deep)["a"].is_array());
}

#[test]
fn chat_completions() {
    let call = |index: usize, name: &str, arguments: &str| {
        let id =
            body(Api::ChatCompletions, &builtin("json-call"), CALLS, &stop())["choices"][0]["message"]["tool_calls"]
                [index]["id"]
                .clone();
        json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
    };
    let expected = json!({
        "id": "answer-1", "object": "chat.completion", "created": 7, "model": "m",
        "choices": [{
            "index": 0, "logprobs": null, "finish_reason": "tool_calls",
            "message": {
                "role": "assistant", "content": "First. ", "refusal": null, "reasoning_content": "Why",
                "tool_calls": [call(0, "get", "{\"key\": \"a\", \"n\": 1}"), call(1, "get_all", "{}")],
            },
        }],
        "usage": {
            "prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8,
            "prompt_tokens_details": {"cached_tokens": 1}, "completion_tokens_details": {"reasoning_tokens": 2},
        },
    });
    assert_eq!(
        body(Api::ChatCompletions, &builtin("json-call"), CALLS, &stop()),
        expected
    );
    let plain = body(
        Api::ChatCompletions,
        &builtin("json-call"),
        "Hello",
        &Finish::default(),
    );
    assert_eq!(plain["choices"][0]["finish_reason"], "stop");
    assert_eq!(
        plain["choices"][0]["message"],
        json!({"role": "assistant", "content": "Hello", "refusal": null})
    );
    assert_eq!(plain.get("usage"), None);
}

#[test]
fn responses() {
    let body = body(Api::Responses, &builtin("json-call"), CALLS, &stop());
    let types: Vec<&Value> = body["output"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["type"])
        .collect();
    assert_eq!(
        types,
        ["reasoning", "message", "function_call", "function_call"]
    );
    assert_eq!(
        body["output"][0]["content"],
        json!([{"type": "reasoning_text", "text": "Why"}])
    );
    let text =
        json!([{"type": "output_text", "text": "First. ", "annotations": [], "logprobs": []}]);
    assert_eq!(body["output"][1]["content"], text);
    assert_eq!(body["output"][2]["arguments"], "{\"key\": \"a\", \"n\": 1}");
    assert_eq!(
        (&body["status"], &body["incomplete_details"]),
        (&json!("completed"), &Value::Null)
    );
    assert_eq!(body["usage"]["input_tokens_details"]["cached_tokens"], 1);
}

#[test]
fn an_answer_of_responses_repeats_the_request() {
    let request = json!({
        "model": "asked", "input": "Hi", "instructions": "Be brief.", "temperature": 0.5, "tool_choice": "required",
        "tools": [{"type": "function", "name": "f", "parameters": {}}],
    });
    let mut options = AnswerOptions::default();
    options.request = request;
    let answer = Answer::new(Api::Responses, options);
    let ended = builtin("chatml").parser.read(b"Hello", EndedBy::Model);
    let body = answer.body(&ended, &stop());
    let of = |names: [&str; 5]| names.map(|name| body[name].clone());
    let seen = of([
        "model",
        "instructions",
        "temperature",
        "tool_choice",
        "parallel_tool_calls",
    ]);
    assert_eq!(
        seen,
        [
            json!("asked"),
            json!("Be brief."),
            json!(0.5),
            json!("required"),
            json!(true)
        ]
    );
    let tool = json!({"type": "function", "name": "f", "parameters": {}, "strict": null});
    assert_eq!(body["tools"], json!([tool]));
    assert!(body["id"].as_str().unwrap().starts_with("resp_"));
}

#[test]
fn messages() {
    let body = body(Api::Messages, &builtin("json-call"), CALLS, &stop());
    assert_eq!(
        body["content"][0],
        json!({"type": "thinking", "thinking": "Why", "signature": "chatparse"})
    );
    assert_eq!(
        body["content"][1],
        json!({"type": "text", "text": "First. "})
    );
    assert_eq!(body["content"][2]["input"], json!({"key": "a", "n": 1}));
    assert_eq!(body["content"][3]["name"], "get_all");
    assert_eq!(
        (&body["stop_reason"], &body["stop_sequence"]),
        (&json!("tool_use"), &Value::Null)
    );
    assert_eq!(
        (
            &body["usage"]["input_tokens"],
            &body["usage"]["cache_read_input_tokens"]
        ),
        (&json!(4), &json!(1))
    );
}

/// The answer and its body, in pieces of so many bytes, of a client that has asked so.
fn asked(api: Api, request: Value, output: &str, piece: usize) -> (Answer, Value) {
    let params = builtin("json-call");
    let mut answer = Answer::new(api, with(|options| options.request = request));
    let (events, ended) = streamed(&mut answer, &params, output.as_bytes(), piece, &stop());
    let body = answer.body(&ended, &stop());
    assert_eq!(put_together(api, &events), body);
    (answer, body)
}

#[test]
fn a_stop_text_of_the_client_cuts_the_content_wherever_pieces_end() {
    let thought = "<think>\nNo END.</think>\n\n";
    let call = "<tool_call>\n{\"name\": \"get\", \"arguments\": {\"key\": \"END\"}}\n</tool_call>";
    for (output, content, calls, stopped) in [
        (
            format!("{thought}One. E ENd EN{call}"),
            "One. E ENd EN",
            1,
            "",
        ),
        (format!("{thought}One. EEND Two."), "One. E", 0, "END"),
        (
            format!("{call}{thought}Grü😀 END{call}"),
            "\nGrü😀 ",
            1,
            "END",
        ),
        (format!("{thought}ä😀stop here"), "ä😀", 0, "stop"),
        (format!("{thought}All of it EN"), "All of it EN", 0, ""),
    ] {
        for api in [Api::ChatCompletions, Api::Messages] {
            let name = if api == Api::Messages {
                "stop_sequences"
            } else {
                "stop"
            };
            let request =
                json!({name: ["END", "stop", ""], "stream_options": {"include_usage": true}});
            let whole = {
                let ended = builtin("json-call")
                    .parser
                    .read(output.as_bytes(), EndedBy::Model);
                Answer::new(api, with(|options| options.request = request.clone()))
                    .body(&ended, &stop())
            };
            for piece in 1..output.len() {
                let (answer, body) = asked(api, request.clone(), &output, piece);
                assert_eq!(
                    answer.stopped().unwrap_or_default(),
                    stopped,
                    "{output}, {piece}"
                );
                assert_eq!(body, whole, "{output}, {piece}");
            }
            if api == Api::Messages {
                let blocks = whole["content"].as_array().unwrap();
                let texts = blocks
                    .iter()
                    .filter_map(|block| block["text"].as_str())
                    .collect::<String>();
                let used = blocks
                    .iter()
                    .filter(|block| block["type"] == "tool_use")
                    .count();
                assert_eq!((&*texts, used), (content, calls), "{output}");
                let reason = if stopped.is_empty() {
                    Value::Null
                } else {
                    stopped.into()
                };
                assert_eq!(whole["stop_sequence"], reason, "{output}");
            } else {
                let message = &whole["choices"][0]["message"];
                assert_eq!(
                    message["content"].as_str().unwrap_or_default(),
                    content,
                    "{output}"
                );
                assert_eq!(
                    message["tool_calls"].as_array().map_or(0, Vec::len),
                    calls,
                    "{output}"
                );
            }
        }
    }
}

#[test]
fn log_probabilities_are_those_of_the_tokens_of_the_content() {
    let tokens = [
        "<think>",
        "\nWhy",
        "</think>",
        "\n\n",
        "First",
        ". ",
        "<tool_call>",
        "\n{\"name\": \"get\", \"arguments\": {}}\n</tool_call>",
    ];
    for api in [Api::ChatCompletions, Api::Responses] {
        let params = builtin("json-call");
        let mut answer = Answer::new(api, options());
        let mut stream = Stream::new(&params.parser);
        let (mut events, mut at) = (answer.begin(5).unwrap(), 0);
        for token in tokens {
            answer.token(
                at..at + token.len(),
                json!({"token": token, "logprob": -0.5}),
            );
            events.extend(answer.deltas(stream.feed(token.as_bytes())).unwrap());
            at += token.len();
        }
        let ended = stream.finish(EndedBy::Model);
        events.extend(answer.deltas(stream.deltas()).unwrap());
        events.extend(answer.finish(&ended, &stop()).unwrap());
        let body = answer.body(&ended, &stop());
        assert_eq!(put_together(api, &events), body);
        let said = match api {
            Api::ChatCompletions => &body["choices"][0]["logprobs"]["content"],
            _ => &body["output"][1]["content"][0]["logprobs"],
        };
        let said: Vec<&str> = said
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["token"].as_str().unwrap())
            .collect();
        assert_eq!(said, ["First", ". "], "{api:?}");
    }
}

#[test]
fn reasoning_is_a_summary_and_sealed_where_a_client_of_responses_asks() {
    let output = "<think>\nWhy</think>\n\nSo.";
    let summary = json!([{"type": "summary_text", "text": "Why"}]);
    let content = json!([{"type": "reasoning_text", "text": "Why"}]);
    let include = json!(["reasoning.encrypted_content"]);
    for (request, shown, sealed) in [
        (json!({}), ("content", &content), false),
        (
            json!({"reasoning": {"summary": "auto"}}),
            ("summary", &summary),
            false,
        ),
        (json!({"include": include}), ("content", &content), true),
        (
            json!({"include": include, "reasoning": {"summary": "detailed"}}),
            ("summary", &summary),
            true,
        ),
    ] {
        let (_, body) = asked(Api::Responses, request, output, 3);
        let mut item = body["output"][0].clone();
        assert_eq!(&item[shown.0], shown.1);
        assert_eq!(item.get("encrypted_content").is_some(), sealed);
        // Some clients send back nothing but the seal.
        if sealed {
            item = json!({"type": "reasoning", "summary": [], "encrypted_content": item["encrypted_content"]});
        }
        let chat = Api::Responses
            .request(&json!({"input": [{"role": "user", "content": "Hi"}, item]}))
            .unwrap();
        assert_eq!(chat["messages"][1]["reasoning_content"], "Why");
    }
}

#[test]
fn an_answer_of_responses_need_not_repeat_the_request() {
    let request = json!({"input": "Hi", "instructions": "Be brief.", "temperature": 0.5, "tools": [{"type": "function", "name": "f"}]});
    let mut options = AnswerOptions::from_json(&json!({"omit_request": true})).unwrap();
    options.request = request;
    let ended = builtin("chatml").parser.read(b"Hello", EndedBy::Model);
    let body = Answer::new(Api::Responses, options).body(&ended, &stop());
    assert_eq!(
        (&body["tools"], &body["instructions"], &body["temperature"]),
        (&json!([]), &Value::Null, &json!(0.5))
    );
}

#[test]
fn why_an_answer_ended() {
    let stopped = Finish::new(Reason::StopSequence("###".into()), None);
    let params = builtin("json-call");
    let reasons = |output: &str, finish: &Finish| {
        let [chat, responses, messages] = APIS.map(|api| body(api, &params, output, finish));
        let chat = chat["choices"][0]["finish_reason"].clone();
        [
            chat,
            responses["status"].clone(),
            messages["stop_reason"].clone(),
            messages["stop_sequence"].clone(),
        ]
    };
    assert_eq!(
        reasons("Hello", &stop()),
        [
            "stop".into(),
            "completed".into(),
            "end_turn".into(),
            Value::Null
        ]
    );
    assert_eq!(
        reasons(CALLS, &stop()),
        [
            "tool_calls".into(),
            "completed".into(),
            "tool_use".into(),
            Value::Null
        ]
    );
    assert_eq!(
        reasons(CALLS, &length()),
        [
            "length".into(),
            "incomplete".into(),
            "max_tokens".into(),
            Value::Null
        ]
    );
    assert_eq!(
        reasons("Hello", &stopped),
        ["stop", "completed", "stop_sequence", "###"].map(Value::from)
    );
}

#[test]
fn a_call_that_is_cut_off_shows_as_far_as_it_came() {
    let params = builtin("json-call");
    let cut = "Wait. <tool_call>\n{\"name\": \"get\", \"arguments\": {\"n\": 1, \"key\": \"Os";
    let chat = body(Api::ChatCompletions, &params, cut, &length());
    assert_eq!(
        chat["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"],
        "{\"n\": 1, \"key\": \"Os"
    );
    let responses = body(Api::Responses, &params, cut, &length());
    assert_eq!(
        responses["incomplete_details"],
        json!({"reason": "max_output_tokens"})
    );
    let statuses = [0, 1].map(|index| responses["output"][index]["status"].clone());
    assert_eq!(statuses, ["completed", "incomplete"]);
    assert_eq!(
        body(Api::Messages, &params, cut, &length())["content"][1]["input"],
        json!({"n": 1, "key": "Os"})
    );
}

#[test]
fn a_call_of_a_custom_tool_has_its_text() {
    let chat = json!({"messages": [{"role": "user", "content": "Hi"}],
        "tools": [{"type": "custom", "custom": {"name": "shell"}}, {"type": "function", "function": {"name": "f"}}]});
    let responses = json!({"input": "Hi", "tools": [{"type": "custom", "name": "shell"}, {"type": "function", "name": "f"}]});
    let output = "<tool_call>\n{\"name\": \"shell\", \"arguments\": {\"input\": \"ls \\\"a\\\"\\n\"}}\n</tool_call>\n\
                  <tool_call>\n{\"name\": \"f\", \"arguments\": {\"input\": \"x\"}}\n</tool_call>";
    for (api, request) in [(Api::ChatCompletions, chat), (Api::Responses, responses)] {
        let body = Request::from_json(&api.request(&request).unwrap()).unwrap();
        let params = ChatTemplate::builtin("json-call")
            .unwrap()
            .params(&body)
            .unwrap();
        for (output, finish) in [
            (output, stop()),
            (&output[..output.find("\\n\"").unwrap() + 1], length()),
        ] {
            for piece in [1, 3, output.len()] {
                let mut answer =
                    Answer::new(api, with(|options| options.request = request.clone()));
                let (events, ended) =
                    streamed(&mut answer, &params, output.as_bytes(), piece, &finish);
                let mut body = answer.body(&ended, &finish);
                let mut seen = put_together(api, &events);
                // The request does not ask for usage.
                body.as_object_mut().unwrap().remove("usage");
                seen.as_object_mut().unwrap().remove("usage");
                assert_eq!(seen, body, "{api:?}, pieces of {piece}");
                let whole = finish == stop();
                let text = if whole { "ls \"a\"\n" } else { "ls \"a\"" };
                match api {
                    Api::ChatCompletions => {
                        let calls = &body["choices"][0]["message"]["tool_calls"];
                        assert_eq!(
                            (&calls[0]["type"], &calls[0]["custom"]),
                            (&json!("custom"), &json!({"name": "shell", "input": text}))
                        );
                        assert!(
                            !whole || calls[1]["function"]["arguments"] == "{\"input\": \"x\"}"
                        );
                    }
                    _ => {
                        let item = &body["output"][0];
                        assert_eq!(
                            (&item["type"], &item["input"]),
                            (&json!("custom_tool_call"), &json!(text))
                        );
                        assert!(!whole || body["output"][1]["arguments"] == "{\"input\": \"x\"}");
                    }
                }
            }
        }
    }
}

#[test]
fn usage_comes_where_a_client_asks_for_it() {
    let params = builtin("chatml");
    let chunks = |request: Value| {
        let mut answer = Answer::new(
            Api::ChatCompletions,
            with(|options| options.request = request),
        );
        let (events, _) = streamed(&mut answer, &params, b"Hi", 9, &stop());
        events
            .iter()
            .filter(|event| event.data.contains("\"usage\""))
            .count()
    };
    assert_eq!(chunks(Value::Null), 1);
    assert_eq!(chunks(json!({"stream": true})), 0);
    assert_eq!(
        chunks(json!({"stream": true, "stream_options": {"include_usage": true}})),
        1
    );
}

#[test]
fn what_the_client_wrote_of_the_answer_is_not_sent_back() {
    let trims = "{% for m in messages %}<{{ m.role }}>{{ m.content|trim }}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
    let templates = [
        ChatTemplate::builtin("chatml").unwrap(),
        ChatTemplate::new(trims, "", "").unwrap(),
    ];
    for (template, begun) in templates
        .iter()
        .flat_map(|one| [(one, "The best answer is ("), (one, "The best (answer)  ")])
    {
        let messages =
            json!([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": begun}]);
        let request = json!({"max_tokens": 9, "messages": messages});
        let chat = Request::from_json(&Api::Messages.request(&request).unwrap()).unwrap();
        let params = template.params(&chat).unwrap();
        assert!(params.prompt.ends_with(begun) || params.prompt.ends_with(begun.trim_end()));
        let options = with(|options| options.request = request);
        for piece in [1, 9] {
            let mut answer = Answer::new(Api::Messages, options.clone());
            let (events, ended) = streamed(&mut answer, &params, b"A), for sure.", piece, &stop());
            let body = answer.body(&ended, &stop());
            assert_eq!(
                body["content"],
                json!([{"type": "text", "text": "A), for sure."}]),
                "{begun}"
            );
            assert_eq!(put_together(Api::Messages, &events), body);
            assert_eq!(
                Answer::new(Api::Messages, options.clone()).body(&ended, &stop()),
                body
            );
        }
    }
}

#[test]
fn events_as_bytes() {
    let mut answer = Answer::new(Api::Messages, options());
    let start = answer.begin(5).unwrap();
    assert!(
        start[0]
            .sse()
            .starts_with("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{")
            && start[0].sse().ends_with("}\n\n")
    );
    assert_eq!(
        answer.ping()[0].sse(),
        "event: ping\ndata: {\"type\":\"ping\"}\n\n"
    );
    let mut answer = Answer::new(Api::ChatCompletions, options());
    let (events, _) = streamed(&mut answer, &builtin("chatml"), b"a\nb", 9, &stop());
    assert_eq!(events.last().unwrap().sse(), "data: [DONE]\n\n");
    assert!(events.iter().all(|event| event.sse().lines().count() == 2));
    assert_eq!(
        data(&events[1])["choices"][0]["delta"],
        json!({"content": "a\nb"})
    );
    assert_eq!(answer.ping(), []);
}

#[test]
fn a_call_of_a_namespace_has_its_parts() {
    let function = json!({"name": "look", "parameters": {"type": "object"}});
    let flat = json!({"type": "function", "name": "look", "parameters": {"type": "object"}});
    let chat = json!({"messages": [], "tools": [{"type": "namespace", "name": "crm", "tools": [{"type": "function", "function": function}]}]});
    let responses =
        json!({"input": "Hi", "tools": [{"type": "namespace", "name": "crm", "tools": [flat]}]});
    let messages = json!({"messages": [], "tools": [{"name": "look", "namespace": "crm", "input_schema": {"type": "object"}}]});
    let output = b"<tool_call>\n{\"name\": \"crm.look\", \"arguments\": {\"a\": 1}}\n</tool_call>";
    for (api, request) in [
        (Api::ChatCompletions, chat),
        (Api::Responses, responses),
        (Api::Messages, messages),
    ] {
        let body = Request::from_json(&api.request(&request).unwrap()).unwrap();
        let params = ChatTemplate::builtin("json-call")
            .unwrap()
            .params(&body)
            .unwrap();
        for piece in [1, output.len()] {
            let mut answer = Answer::new(api, with(|options| options.request = request.clone()));
            let (events, ended) = streamed(&mut answer, &params, output, piece, &Finish::default());
            assert!(ended.calls()[0].known);
            let body = answer.body(&ended, &Finish::default());
            assert_eq!(put_together(api, &events), body, "{api:?}");
            let call = match api {
                Api::ChatCompletions => &body["choices"][0]["message"]["tool_calls"][0]["function"],
                Api::Responses => &body["output"][0],
                _ => &body["content"][0],
            };
            assert_eq!(
                (&call["name"], &call["namespace"]),
                (&json!("look"), &json!("crm")),
                "{api:?}"
            );
        }
    }
}

#[test]
fn a_call_of_a_tool_that_responses_knows_is_an_item_of_its_own() {
    let request = json!({"input": "Hi", "tools": [{"type": "apply_patch"}, {"type": "shell"}]});
    let chat = Request::from_json(&Api::Responses.request(&request).unwrap()).unwrap();
    let params = ChatTemplate::builtin("json-call")
        .unwrap()
        .params(&chat)
        .unwrap();
    let output = "<tool_call>\n{\"name\": \"apply_patch\", \"arguments\": {\"type\": \"update_file\", \"path\": \"x\", \"diff\": \"+a\"}}\n</tool_call>\n\
                  <tool_call>\n{\"name\": \"shell\", \"arguments\": {\"commands\": [\"ls\"]}}\n</tool_call>";
    let cut = &output[..output.find("\"+a").unwrap()];
    for (output, finish) in [
        (output, Finish::default()),
        (cut, Finish::new(Reason::Length, None)),
    ] {
        for piece in [1, 5, output.len()] {
            let mut answer = Answer::new(
                Api::Responses,
                with(|options| options.request = request.clone()),
            );
            let (events, ended) = streamed(&mut answer, &params, output.as_bytes(), piece, &finish);
            let body = answer.body(&ended, &finish);
            assert_eq!(put_together(Api::Responses, &events), body);
            let patch = &body["output"][0];
            assert_eq!(
                (&patch["type"], &patch["operation"]["path"]),
                (&json!("apply_patch_call"), &json!("x"))
            );
            let is_whole = finish.reason == Reason::Stop;
            assert_eq!(
                patch["status"],
                if is_whole { "completed" } else { "incomplete" }
            );
            assert!(!is_whole || body["output"][1]["action"] == json!({"commands": ["ls"]}));
        }
    }
}

#[test]
fn every_shape_says_that_a_call_was_cut_whatever_becomes_of_it() {
    let cut = "Wait. <tool_call>\n{\"name\": \"get\", \"arguments\": {\"n\": 1, \"key\": \"Os";
    for policy in ["keep", "drop", "content"] {
        let mut asked = request();
        asked["incomplete_calls"] = policy.into();
        let params = ChatTemplate::builtin("json-call")
            .unwrap()
            .params(&Request::from_json(&asked).unwrap())
            .unwrap();
        for finish in [length(), stop()] {
            for (api, reason) in APIS.into_iter().zip(["length", "incomplete", "max_tokens"]) {
                let ended = params.parser.read(cut.as_bytes(), EndedBy::Model);
                let body = Answer::new(api, options()).body(&ended, &finish);
                let mut bodies = vec![body];
                // What was streamed cannot be taken back.
                if policy == "keep" {
                    let mut answer = Answer::new(api, options());
                    let (events, _) = streamed(&mut answer, &params, cut.as_bytes(), 3, &finish);
                    bodies.push(put_together(api, &events));
                    assert!(
                        api == Api::Responses || bodies[0].to_string().contains("incomplete_calls")
                    );
                }
                for body in bodies {
                    let seen = match api {
                        Api::ChatCompletions => &body["choices"][0]["finish_reason"],
                        Api::Responses => &body["status"],
                        _ => &body["stop_reason"],
                    };
                    assert_eq!(seen, reason, "{policy}, {api:?}");
                }
            }
        }
    }
}
