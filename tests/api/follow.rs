//! A server that gets whole bodies finds in them what is new, whatever the client has made of what
//! it got.

use chatparse::api::{Api, Finish};
use chatparse::message::Request;
use chatparse::next::Reason;
use chatparse::{ChatTemplate, EndedBy, Message, Next, Session, builtin};
use serde_json::{Map, Value, json};

use crate::written::turn_of;
use crate::{APIS, Answer, options, with};

const SCHEMA: &str =
    r#"{"type": "object", "properties": {"key": {"type": "string"}, "n": {"type": "integer"}}}"#;

fn functions() -> Value {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    ["get", "put"]
        .map(|name| json!({"name": name, "description": "A tool.", "parameters": schema}))
        .into_iter()
        .collect()
}

/// The first body of a conversation, with instructions.
fn begin(api: Api) -> Value {
    let functions = functions();
    let functions = functions.as_array().unwrap().iter();
    let marked =
        |kind: &str| json!([{"type": kind, "text": "Q", "cache_control": {"type": "ephemeral"}}]);
    match api {
        Api::ChatCompletions => json!({
            "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": marked("text")}],
            "tools": functions.map(|function| json!({"type": "function", "function": function})).collect::<Value>(),
        }),
        Api::Responses => json!({
            "instructions": "S", "input": [{"role": "user", "content": [{"type": "input_text", "text": "Q"}]}],
            "tools": functions.map(|function| {
                let mut tool = function.clone();
                tool["type"] = "function".into();
                tool
            }).collect::<Value>(),
        }),
        _ => json!({
            "max_tokens": 99, "system": [{"type": "text", "text": "S", "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": marked("text")}],
            "tools": functions.map(|function| {
                json!({"name": function["name"], "description": "A tool.", "input_schema": function["parameters"]})
            }).collect::<Value>(),
        }),
    }
}

fn list(api: Api) -> &'static str {
    if api == Api::Responses {
        "input"
    } else {
        "messages"
    }
}

fn push(api: Api, body: &mut Value, message: Value) {
    body[list(api)].as_array_mut().unwrap().push(message);
}

/// The client's next body: the answer as it got it, and the results of its calls.
fn goes_on(api: Api, body: &mut Value, answer: &Value) {
    match api {
        Api::ChatCompletions => {
            let message = answer["choices"][0]["message"].clone();
            push(api, body, message.clone());
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                push(
                    api,
                    body,
                    json!({"role": "tool", "tool_call_id": call["id"], "content": call["function"]["name"]}),
                );
            }
        }
        Api::Responses => {
            let items = answer["output"].as_array().unwrap();
            items.iter().for_each(|item| push(api, body, item.clone()));
            for item in items.iter().filter(|item| item["type"] == "function_call") {
                let output = item["name"].clone();
                push(
                    api,
                    body,
                    json!({"type": "function_call_output", "call_id": item["call_id"], "output": output}),
                );
            }
        }
        _ => {
            push(
                api,
                body,
                json!({"role": "assistant", "content": answer["content"]}),
            );
            let blocks = answer["content"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|block| block["type"] == "tool_use");
            let results = blocks
                .map(|block| json!({"type": "tool_result", "tool_use_id": block["id"], "content": block["name"]}));
            let results: Value = results.collect();
            push(api, body, json!({"role": "user", "content": results}));
        }
    }
}

fn read(api: Api, body: &Value) -> Request {
    let mut chat = api.request(body).unwrap();
    // A host's options.
    chat["now"] = 1_787_400_000.into();
    Request::from_json(&chat).unwrap()
}

fn answered(api: Api, session: &Session, output: &str) -> Value {
    let ended = session
        .params
        .parser
        .read(output.as_bytes(), EndedBy::Model);
    Answer::new(api, options()).body(&ended, &Finish::default())
}

/// A conversation up to the results of two calls: what was sent, the output, and the client's next
/// body.
fn called(api: Api, template: &ChatTemplate) -> Option<(Session, String, Value)> {
    let calls = [
        ("get".to_owned(), json!({"key": "a", "n": 1})),
        ("put".to_owned(), json!({"key": "b", "n": 2})),
    ];
    let tools: Value = functions()
        .as_array()
        .unwrap()
        .iter()
        .map(|it| json!({"type": "function", "function": it}))
        .collect();
    let mut body = begin(api);
    let session = template.session(read(api, &body)).ok()?;
    let (params, output) = [2, 1].into_iter().find_map(|count| {
        turn_of(
            template,
            &json!({"tools": tools}),
            &["", "Let me see."],
            &calls[..count],
        )
    })?;
    // The outputs of a template that opens its turns otherwise are none here.
    if !session.params.prompt.ends_with(&params.generation_prompt) {
        return None;
    }
    goes_on(api, &mut body, &answered(api, &session, &output));
    Some((session, output, body))
}

/// All cases: each template that is built in, each API.
fn each(mut check: impl FnMut(&str, Api, &Session, &str, Value)) {
    let mut tried = 0;
    for name in builtin::names() {
        let template = ChatTemplate::builtin(name).unwrap();
        for api in APIS {
            if let Some((session, output, body)) = called(api, &template) {
                tried += 1;
                check(name, api, &session, &output, body);
            }
        }
    }
    assert!(tried > 60, "{tried}");
}

fn template_of(name: &str) -> ChatTemplate {
    ChatTemplate::builtin(name).unwrap()
}

#[track_caller]
fn follows(session: &Session, output: &str, api: Api, body: &Value, of: &str) -> Next {
    let next = session.follow(output.as_bytes(), read(api, body)).unwrap();
    assert_eq!(
        next.first,
        Some(3),
        "{of}: {:?} {body:#}",
        next.session.params.notes
    );
    next
}

#[test]
fn what_is_new_in_a_body_is_found() {
    each(|name, api, session, output, mut body| {
        let of = format!("{name} {api:?}");
        let next = follows(session, output, api, &body, &of);
        let new: Value = read(api, &body).messages[3..]
            .iter()
            .map(Message::to_json)
            .collect();
        let same = session.next(output.as_bytes(), &new).unwrap();
        assert_eq!(
            (next.append(), next.kept, &next.rewrite),
            (same.append(), same.kept, &same.rewrite),
            "{of}"
        );
        // A second turn goes on from there.
        goes_on(api, &mut body, &answered(api, &next.session, "Fine."));
        push(api, &mut body, json!({"role": "user", "content": "More."}));
        let first = read(api, &body).messages.len() - 1;
        let third = next.session.follow(b"Fine.", read(api, &body)).unwrap();
        assert_eq!(
            third.first,
            Some(first),
            "{of}: {:?}",
            third.session.params.notes
        );
        // What was sent first goes on with both.
        assert_eq!(
            session
                .follow(output.as_bytes(), read(api, &body))
                .unwrap()
                .first,
            Some(3),
            "{of}"
        );
    });
}

/// Changes each object with this field.
fn at_each(value: &mut Value, name: &str, change: &impl Fn(&mut Map<String, Value>)) {
    match value {
        Value::Object(map) => {
            if map.contains_key(name) {
                change(map);
            }
            map.values_mut()
                .for_each(|value| at_each(value, name, change));
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| at_each(item, name, change)),
        _ => {}
    }
}

#[test]
fn what_clients_change_without_a_word_does_not_count() {
    let marks = |body: &mut Value| {
        at_each(body, "cache_control", &|map| {
            drop(map.remove("cache_control"))
        })
    };
    let text = |body: &mut Value| {
        at_each(body, "content", &|map| {
            if let Some([part]) = map["content"].as_array().map(Vec::as_slice)
                && map.get("role").is_some_and(|role| role == "user")
                && part["text"].is_string()
            {
                map["content"] = part["text"].clone();
            }
        });
    };
    let parts = |body: &mut Value| {
        at_each(body, "content", &|map| {
            if map["content"] == "get" {
                map["content"] =
                    json!([{"type": "text", "text": "ge"}, {"type": "text", "text": "t"}]);
            }
        });
    };
    let arguments = |body: &mut Value| {
        at_each(body, "arguments", &|map| {
            let read: Value = serde_json::from_str(map["arguments"].as_str().unwrap()).unwrap();
            map["arguments"] = format!(" {read:#}").into();
        });
    };
    let ids = |body: &mut Value| {
        for name in ["id", "call_id", "tool_call_id", "tool_use_id"] {
            at_each(body, name, &|map| {
                let id = map[name]
                    .as_str()
                    .unwrap_or_default()
                    .chars()
                    .rev()
                    .collect::<String>();
                map.insert(name.into(), id.into());
            });
        }
    };
    let nothing = |body: &mut Value| {
        at_each(body, "content", &|map| {
            if map["content"].is_null() || map["content"] == "" {
                map.remove("content");
            }
        });
    };
    let further = |body: &mut Value| {
        at_each(body, "tool_calls", &|map| {
            drop(map.insert("annotations".into(), json!([])))
        })
    };
    let changes: [&dyn Fn(&mut Value); 7] =
        [&marks, &text, &parts, &arguments, &ids, &nothing, &further];
    each(|name, api, session, output, body| {
        let plain = follows(session, output, api, &body, name);
        for (index, change) in changes.iter().enumerate() {
            let mut body = body.clone();
            change(&mut body);
            let of = format!("{name} {api:?} {index}");
            let next = follows(session, output, api, &body, &of);
            // Parts and ids of new messages are theirs.
            if index != 2 && index != 4 {
                assert_eq!(
                    (next.append(), next.kept),
                    (plain.append(), plain.kept),
                    "{of}"
                );
            }
        }
    });
}

#[test]
fn reasoning_that_the_client_leaves_out_stays() {
    let mut thought = 0;
    each(|name, api, session, output, mut body| {
        let ended = session
            .params
            .parser
            .read(output.as_bytes(), EndedBy::Model);
        let whole = follows(session, output, api, &body, name);
        for kind in ["reasoning", "thinking"] {
            at_each(&mut body, "type", &|map| {
                if map["type"] == kind {
                    map.clear();
                }
            });
        }
        at_each(&mut body, "reasoning_content", &|map| {
            drop(map.remove("reasoning_content"))
        });
        at_each(&mut body, "role", &|map| {
            map.get_mut("content")
                .and_then(Value::as_array_mut)
                .into_iter()
                .for_each(|all| all.retain(|it| *it != json!({})));
        });
        body[list(api)]
            .as_array_mut()
            .unwrap()
            .retain(|item| *item != json!({}));
        let next = follows(session, output, api, &body, name);
        assert_eq!(
            (next.append(), next.kept),
            (whole.append(), whole.kept),
            "{name} {api:?}"
        );
        let is_said = next
            .session
            .params
            .notes
            .iter()
            .any(|note| note.starts_with("messages[2].reasoning_content: "));
        assert_eq!(
            is_said,
            !ended.message.reasoning_content.is_empty(),
            "{name} {api:?}"
        );
        thought += usize::from(is_said);
    });
    assert!(thought > 5, "{thought}");
}

#[test]
fn a_body_that_does_not_go_on_says_where_and_is_rendered() {
    each(|name, api, session, output, body| {
        let differs = |field: &str, message: Option<usize>, change: &dyn Fn(&mut Value)| {
            let mut body = body.clone();
            change(&mut body);
            let of = format!("{name} {api:?} {field}");
            let request = read(api, &body);
            let next = session.follow(output.as_bytes(), request.clone()).unwrap();
            let rewrite = next
                .rewrite
                .as_ref()
                .unwrap_or_else(|| panic!("{of}: it goes on"));
            assert_eq!(
                (next.first, rewrite.reason, rewrite.message),
                (None, Reason::Request, message),
                "{of}"
            );
            let says = |note: &String| note.starts_with(&format!("{field}: "));
            assert!(
                next.session.params.notes.iter().any(says),
                "{of}: {:?}",
                next.session.params.notes
            );
            let (prompt, sent) = (
                &next.session.params.prompt,
                format!("{}{output}", session.params.prompt),
            );
            assert!(
                prompt.starts_with(&sent[..next.kept]) && next.kept == rewrite.at,
                "{of}"
            );
            assert_eq!(
                *prompt,
                template_of(name).params(&request).unwrap().prompt,
                "{of}"
            );
        };
        let say = |old: &'static str, new: &'static str| {
            move |body: &mut Value| {
                let changed = body
                    .to_string()
                    .replace(&format!("\"{old}\""), &format!("\"{new}\""));
                *body = serde_json::from_str(&changed).unwrap();
            }
        };
        differs("messages[0].content", Some(0), &say("S", "T"));
        differs("messages[1].content", Some(1), &say("Q", "R"));
        let all = |body: &mut Value| *body = begin(api);
        differs("messages[2]", Some(2), &all);
        let answer = |body: &mut Value| {
            at_each(&mut body[list(api)], "name", &|map| {
                drop(map.insert("name".into(), "other".into()))
            });
        };
        differs("messages[2].tool_calls", Some(2), &answer);
        differs("tools[0]", None, &say("A tool.", "Another tool."));
    });
}

/// Agents load tools as they need them: the definition comes with the message that reveals it.
#[test]
fn tools_that_a_search_has_found_come_with_the_body() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let function =
        |name: &str| json!({"name": name, "description": "A tool.", "parameters": schema});
    let mut tried = 0;
    for name in builtin::names() {
        let template = ChatTemplate::builtin(name).unwrap();
        let search = json!({"type": "function", "function": {"name": "tool_search", "description": "Finds.", "parameters": schema}});
        let call = ("tool_search".to_owned(), json!({"key": "a"}));
        let Some((_, output)) = turn_of(&template, &json!({"tools": [search]}), &[""], &[call])
        else {
            continue;
        };
        for api in APIS {
            let mut body = begin(api);
            body["tools"] = match api {
                Api::ChatCompletions => json!([search]),
                Api::Responses => {
                    json!([{"type": "tool_search", "execution": "client", "description": "Finds.", "parameters": schema}])
                }
                _ => {
                    json!([{"name": "tool_search", "description": "Finds.", "input_schema": schema}])
                }
            };
            let session = template.session(read(api, &body)).unwrap();
            let ended = session
                .params
                .parser
                .read(output.as_bytes(), EndedBy::Model);
            let answer = Answer::new(api, with(|options| options.request = body.clone()))
                .body(&ended, &Finish::default());
            match api {
                Api::ChatCompletions => {
                    let message = answer["choices"][0]["message"].clone();
                    let id = message["tool_calls"][0]["id"].clone();
                    push(api, &mut body, message);
                    let found = json!([{"type": "tool_reference", "name": "late"}]);
                    push(
                        api,
                        &mut body,
                        json!({"role": "tool", "tool_call_id": id, "content": found}),
                    );
                    let late = json!({"type": "function", "defer_loading": true, "function": function("late")});
                    body["tools"].as_array_mut().unwrap().push(late);
                }
                Api::Responses => {
                    let items = answer["output"].as_array().unwrap();
                    items
                        .iter()
                        .for_each(|item| push(api, &mut body, item.clone()));
                    let mut late = function("late");
                    (late["type"], late["defer_loading"]) = ("function".into(), true.into());
                    let id = &items.last().unwrap()["call_id"];
                    let found = json!({"type": "tool_search_output", "call_id": id, "execution": "client", "tools": [late]});
                    push(api, &mut body, found);
                }
                _ => {
                    push(
                        api,
                        &mut body,
                        json!({"role": "assistant", "content": answer["content"]}),
                    );
                    let id = &answer["content"].as_array().unwrap().last().unwrap()["id"];
                    let found = json!([{"type": "tool_reference", "tool_name": "late"}]);
                    let result =
                        json!({"type": "tool_result", "tool_use_id": id, "content": found});
                    push(api, &mut body, json!({"role": "user", "content": [result]}));
                    let late =
                        json!({"name": "late", "input_schema": schema, "defer_loading": true});
                    body["tools"].as_array_mut().unwrap().push(late);
                }
            }
            let next = session.follow(output.as_bytes(), read(api, &body)).unwrap();
            let of = format!(
                "{name} {api:?}: {:?} {:?}",
                next.session.params.notes, next.rewrite
            );
            assert_eq!(next.first, Some(3), "{of}");
            assert!(next.append().contains("late"), "{of}");
            let plain = session.next(
                output.as_bytes(),
                &json!([{"role": "tool", "tool_call_id": "1", "content": "none"}]),
            );
            assert_eq!(next.kept, plain.unwrap().kept, "{of}");
            tried += 1;
        }
    }
    assert!(tried > 60, "{tried}");
}

#[test]
fn options_that_the_prompt_does_not_show_may_differ() {
    let template = ChatTemplate::builtin("gpt-oss").unwrap();
    let (session, output, body) = called(Api::ChatCompletions, &template).unwrap();
    let asked = |name: &str, value: Value| {
        let mut body = body.clone();
        body[name] = value;
        session
            .follow(output.as_bytes(), read(Api::ChatCompletions, &body))
            .unwrap()
    };
    assert_eq!(asked("tool_choice", "required".into()).first, Some(3));
    assert_eq!(asked("reasoning_effort", "high".into()).first, Some(3));
    let mut later = read(Api::ChatCompletions, &body);
    later.now = Some(1_887_400_000);
    assert_eq!(
        session.follow(output.as_bytes(), later).unwrap().first,
        Some(3)
    );
}

#[test]
fn options_that_the_prompt_shows_are_compared() {
    let source = "{{ reasoning_effort or 'low' }}{{ mode or 'a' }}{{ '+' if enable_thinking else '-' }}\n\
        {% for m in messages %}[{{ m.role }}]{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}";
    let template = ChatTemplate::new(source, "", "").unwrap();
    let mut body = json!({"messages": [{"role": "user", "content": "Q"}]});
    let session = template.session(read(Api::ChatCompletions, &body)).unwrap();
    push(
        Api::ChatCompletions,
        &mut body,
        json!({"role": "assistant", "content": "Fine."}),
    );
    push(
        Api::ChatCompletions,
        &mut body,
        json!({"role": "user", "content": "More."}),
    );
    assert_eq!(
        session
            .follow(b"Fine.", read(Api::ChatCompletions, &body))
            .unwrap()
            .first,
        Some(2)
    );
    let changes = [
        (
            "reasoning_effort",
            json!("high"),
            "chat_template_kwargs.reasoning_effort",
        ),
        (
            "chat_template_kwargs",
            json!({"mode": "b"}),
            "chat_template_kwargs.mode",
        ),
        ("enable_thinking", json!(false), "enable_thinking"),
    ];
    for (name, value, field) in changes {
        let mut body = body.clone();
        body[name] = value;
        let next = session
            .follow(b"Fine.", read(Api::ChatCompletions, &body))
            .unwrap();
        assert_eq!(
            (next.first, next.rewrite.map(|rewrite| rewrite.message)),
            (None, Some(None)),
            "{field}"
        );
        let says = |note: &String| note.starts_with(&format!("{field}: "));
        assert!(
            next.session.params.notes.iter().any(says),
            "{:?}",
            next.session.params.notes
        );
    }
}

#[test]
fn a_conversation_that_does_not_end_costs_what_it_has() {
    let template = ChatTemplate::builtin("json-call").unwrap();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let call =
        json!({"id": "c", "type": "function", "function": {"name": "get", "arguments": deep}});
    let parts: Vec<Value> = (0..20_000)
        .map(|_| json!({"type": "text", "text": "\n"}))
        .collect();
    let mut body = json!({"messages": [
        {"role": "user", "content": parts},
        {"role": "assistant", "content": "", "tool_calls": vec![call; 50]},
        {"role": "tool", "tool_call_id": "c", "content": "\n".repeat(40_000)},
        {"role": "user", "content": "Q"},
    ]});
    let session = template.session(read(Api::ChatCompletions, &body)).unwrap();
    body["messages"][0]["content"] = "\n".repeat(39_999).into();
    push(
        Api::ChatCompletions,
        &mut body,
        json!({"role": "assistant", "content": "Fine."}),
    );
    let next = session
        .follow(b"Fine.", read(Api::ChatCompletions, &body))
        .unwrap();
    assert_eq!(next.first, Some(5));
}
