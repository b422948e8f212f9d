//! Clients: events of a streamed answer put together to a body, with a look at their order.

use chatparse::api::{Api, Event};
use serde_json::{Map, Value, json};

use crate::data;

/// The body that the events come to.
pub fn put_together(api: Api, events: &[Event]) -> Value {
    match api {
        Api::ChatCompletions => chat(events),
        Api::Responses => responses(events),
        Api::Messages => messages(events),
        other => panic!("{other:?}"),
    }
}

fn chat(events: &[Event]) -> Value {
    let (last, chunks) = events.split_last().unwrap();
    assert_eq!((last.name, last.data.as_str()), ("", "[DONE]"));
    let mut message = Map::new();
    let (mut calls, mut body, mut reason) = (Vec::<Value>::new(), Value::Null, Value::Null);
    let mut incomplete = Value::Null;
    let mut logprobs = Vec::new();
    for event in chunks {
        assert_eq!(event.name, "");
        let mut chunk = data(event);
        assert_eq!(chunk["object"], "chat.completion.chunk");
        if let Some(usage) = chunk.get("usage") {
            assert_eq!(chunk["choices"], json!([]));
            body["usage"] = usage.clone();
            continue;
        }
        assert_eq!(
            reason,
            Value::Null,
            "nothing follows the finish reason but usage"
        );
        let mut choice = chunk["choices"][0].take();
        reason = choice["finish_reason"].take();
        if let Some(entries) = choice["logprobs"]["content"].as_array() {
            assert!(
                choice["delta"]["content"].is_string(),
                "log probabilities come with their text"
            );
            logprobs.extend_from_slice(entries);
        }
        if let Some(ids) = choice.get("incomplete_calls") {
            incomplete = ids.clone();
        }
        for (name, value) in choice["delta"].as_object().unwrap() {
            match (name.as_str(), value) {
                ("tool_calls", Value::Array(parts)) => {
                    parts.iter().for_each(|part| add_call(&mut calls, part))
                }
                ("role", _) => drop(message.insert("role".into(), value.clone())),
                (_, Value::Null) => {}
                (_, text) => append(&mut message, name, text.as_str().unwrap()),
            }
        }
        if body.is_null() {
            body = json!({"id": chunk["id"], "object": "chat.completion", "created": chunk["created"], "model": chunk["model"]});
            body["choices"] = json!([{"index": choice["index"], "logprobs": null}]);
        }
    }
    let content = if calls.is_empty() {
        json!("")
    } else {
        Value::Null
    };
    message.entry("content").or_insert(content);
    message.insert("refusal".into(), Value::Null);
    if !calls.is_empty() {
        message.insert("tool_calls".into(), calls.into());
    }
    body["choices"][0]["message"] = message.into();
    body["choices"][0]["finish_reason"] = reason;
    if !logprobs.is_empty() {
        body["choices"][0]["logprobs"] = json!({"content": logprobs, "refusal": null});
    }
    if !incomplete.is_null() {
        body["choices"][0]["incomplete_calls"] = incomplete;
    }
    body
}

fn add_call(calls: &mut Vec<Value>, part: &Value) {
    let index = part["index"].as_u64().unwrap() as usize;
    let (kind, text) = if part.get("custom").is_some() {
        ("custom", "input")
    } else {
        ("function", "arguments")
    };
    if index == calls.len() {
        assert_eq!(part["type"], kind);
        assert!(
            part["id"].is_string() && part[kind]["name"].is_string(),
            "a call begins with id and name: {part}"
        );
        let mut call = part.clone();
        call.as_object_mut().unwrap().remove("index");
        calls.push(call);
        return;
    }
    // Nothing but arguments is left to say.
    assert_eq!(
        part,
        &json!({"index": index, kind: {text: part[kind][text]}})
    );
    let call = calls[index][kind].as_object_mut().unwrap();
    append(call, text, part[kind][text].as_str().unwrap());
}

fn append(map: &mut Map<String, Value>, name: &str, text: &str) {
    match map.get_mut(name) {
        Some(Value::String(all)) => all.push_str(text),
        _ => drop(map.insert(name.into(), text.into())),
    }
}

fn responses(events: &[Event]) -> Value {
    let mut items: Vec<Value> = Vec::new();
    let mut texts: Vec<String> = Vec::new();
    let mut done: Vec<Value> = Vec::new();
    for (number, event) in events.iter().enumerate() {
        let event = (event.name, data(event));
        let (name, data) = (event.0, &event.1);
        assert_eq!(
            (&data["type"], &data["sequence_number"]),
            (&json!(name), &json!(number))
        );
        let of_open_item = || {
            assert_eq!(
                (&data["output_index"], done.len() + 1),
                (&json!(done.len()), items.len()),
                "{name}"
            );
            assert_eq!(data["item_id"], items[done.len()]["id"]);
        };
        match name.strip_prefix("response.").unwrap() {
            "created" | "in_progress" => {
                assert_eq!(number, usize::from(name == "response.in_progress"));
                assert_eq!(
                    (&data["response"]["status"], &data["response"]["output"]),
                    (&json!("in_progress"), &json!([]))
                );
            }
            "output_item.added" => {
                assert_eq!(
                    (&data["output_index"], done.len()),
                    (&json!(items.len()), items.len())
                );
                assert_eq!(data["item"]["status"], "in_progress");
                items.push(data["item"].clone());
                texts.push(String::new());
            }
            "content_part.added" | "reasoning_summary_part.added" => {
                of_open_item();
                assert_eq!(data["part"]["text"], "");
            }
            "output_text.delta"
            | "reasoning_text.delta"
            | "reasoning_summary_text.delta"
            | "function_call_arguments.delta"
            | "custom_tool_call_input.delta" => {
                of_open_item();
                texts
                    .last_mut()
                    .unwrap()
                    .push_str(data["delta"].as_str().unwrap());
            }
            "output_text.done" | "reasoning_text.done" | "reasoning_summary_text.done" => {
                of_open_item();
                assert_eq!(&data["text"], texts.last().unwrap());
            }
            "function_call_arguments.done" => {
                of_open_item();
                assert_eq!(&data["arguments"], texts.last().unwrap());
            }
            "custom_tool_call_input.done" => {
                of_open_item();
                assert_eq!(&data["input"], texts.last().unwrap());
            }
            "content_part.done" | "reasoning_summary_part.done" => {
                of_open_item();
                assert_eq!(&data["part"]["text"], texts.last().unwrap());
            }
            "output_item.done" => {
                let mut item = items.last().unwrap().clone();
                item["status"] = data["item"]["status"].clone();
                match item["type"].as_str().unwrap() {
                    "function_call" => item["arguments"] = json!(texts.last()),
                    "custom_tool_call" => item["input"] = json!(texts.last()),
                    "apply_patch_call" => item["operation"] = data["item"]["operation"].clone(),
                    "shell_call" => item["action"] = data["item"]["action"].clone(),
                    _ => {
                        for name in ["content", "summary", "encrypted_content"] {
                            data["item"]
                                .get(name)
                                .inspect(|value| item[name] = Value::clone(value));
                        }
                    }
                }
                assert_eq!(item, data["item"], "an item keeps what it was added with");
                done.push(item);
            }
            "completed" | "incomplete" => {
                assert_eq!(number + 1, events.len());
                assert_eq!(data["response"]["output"], json!(done));
                return data["response"].clone();
            }
            other => panic!("{other}"),
        }
    }
    panic!("the answer has no end");
}

fn messages(events: &[Event]) -> Value {
    let mut message = Value::Null;
    let mut inputs: Vec<String> = Vec::new();
    let mut open = false;
    for (number, event) in events.iter().enumerate() {
        let name = event.name;
        let mut data = data(event);
        assert_eq!(data["type"], name);
        let last = inputs.len().wrapping_sub(1);
        match name {
            "message_start" => {
                assert_eq!(number, 0);
                message = data["message"].take();
                assert_eq!(
                    (&message["usage"]["input_tokens"], &message["content"]),
                    (&json!(5), &json!([]))
                );
            }
            "content_block_start" => {
                assert_eq!((&data["index"], open), (&json!(inputs.len()), false));
                message["content"]
                    .as_array_mut()
                    .unwrap()
                    .push(data["content_block"].take());
                inputs.push(String::new());
                open = true;
            }
            "content_block_delta" => {
                assert_eq!((&data["index"], open), (&json!(last), true));
                let block = message["content"][last].as_object_mut().unwrap();
                let text = |name: &str| data["delta"][name].as_str().unwrap();
                match (
                    data["delta"]["type"].as_str().unwrap(),
                    block["type"].as_str().unwrap(),
                ) {
                    ("text_delta", "text") => append(block, "text", text("text")),
                    ("thinking_delta", "thinking") => append(block, "thinking", text("thinking")),
                    ("signature_delta", "thinking") => {
                        append(block, "signature", text("signature"))
                    }
                    ("input_json_delta", "tool_use") => inputs[last].push_str(text("partial_json")),
                    other => panic!("{other:?}"),
                }
            }
            "content_block_stop" => {
                assert_eq!((&data["index"], open), (&json!(last), true));
                open = false;
                if !inputs[last].is_empty() {
                    let input = serde_json::from_str::<Map<String, Value>>(&inputs[last]);
                    message["content"][last]["input"] = input.expect("a client reads JSON").into();
                }
            }
            "message_delta" => {
                message["stop_reason"] = data["delta"]["stop_reason"].take();
                message["stop_sequence"] = data["delta"]["stop_sequence"].take();
                message["usage"] = data["usage"].take();
                if let Some(ids) = data["delta"].get("incomplete_calls") {
                    message["incomplete_calls"] = ids.clone();
                }
            }
            "message_stop" => {
                assert_eq!((number + 1, open), (events.len(), false));
                return message;
            }
            other => panic!("{other}"),
        }
    }
    panic!("the answer has no end");
}
