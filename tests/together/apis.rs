//! A request as a body of the other APIs; `None` where they have no such field.

use chatparse::internals::request::OPTIONS;
use serde_json::{Map, Value, json};

use super::table::Body;

/// What all APIs have alike.
fn same(body: &Body, but: &[&str]) -> Map<String, Value> {
    let fields = body.as_object().unwrap().iter();
    let same = fields
        .filter(|(name, _)| OPTIONS.contains(&name.as_str()) && !but.contains(&name.as_str()));
    same.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// A content, with its parts changed.
fn parts(content: &Value, change: impl Fn(&Value) -> Option<Value>) -> Option<Value> {
    match content.as_array() {
        None => Some(content.clone()),
        Some(parts) => parts
            .iter()
            .map(change)
            .collect::<Option<Vec<Value>>>()
            .map(Value::from),
    }
}

fn functions(body: &Body, change: impl Fn(&Value) -> Value) -> Option<Value> {
    let tools = body["tools"].as_array()?.iter();
    Some(
        tools
            .map(|tool| {
                if tool["type"] == "function" {
                    change(&tool["function"])
                } else {
                    tool.clone()
                }
            })
            .collect(),
    )
}

pub fn messages(body: &Body) -> Option<Body> {
    let mut other = same(body, &["continue_final_message"]);
    let mut said = Vec::new();
    for message in body["messages"].as_array()? {
        let part = |part: &Value| match part["type"].as_str()? {
            "image_url" => Some(
                json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}),
            ),
            "tool_reference" => Some(json!({"type": "tool_reference", "tool_name": part["name"]})),
            _ => Some(part.clone()),
        };
        let content = parts(&message["content"], part)?;
        match message["role"].as_str()? {
            "system" => drop(other.insert("system".into(), content)),
            "tool" => said.push(json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": content}]})),
            "assistant" if !message["tool_calls"].is_null() => {
                let call = &message["tool_calls"][0];
                let input: Value = serde_json::from_str(call["function"]["arguments"].as_str()?).ok()?;
                let call =
                    json!({"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": input});
                said.push(json!({"role": "assistant", "content": [call]}));
            }
            _ if !message["reasoning_content"].is_null() => return None,
            role => said.push(json!({"role": role, "content": content})),
        }
    }
    other.insert("messages".into(), said.into());
    other.insert("max_tokens".into(), 9.into());
    let tool = |function: &Value| {
        let mut tool = function.clone();
        tool["input_schema"] = tool.as_object_mut().unwrap().remove("parameters").unwrap();
        tool
    };
    other.extend(functions(body, tool).map(|tools| ("tools".to_owned(), tools)));
    let mut choice = match &body["tool_choice"] {
        Value::Null => json!({"type": "auto"}),
        Value::String(choice) if choice == "required" => json!({"type": "any"}),
        Value::String(choice) => json!({"type": choice}),
        named if named["type"] == "function" => {
            json!({"type": "tool", "name": named["function"]["name"]})
        }
        _ => return None,
    };
    if body["parallel_tool_calls"] == false {
        choice["disable_parallel_tool_use"] = true.into();
    }
    other.insert("tool_choice".into(), choice);
    let mut output = json!({});
    match &body["response_format"] {
        Value::Null => {}
        format if format["type"] == "json_schema" => {
            output["format"] =
                json!({"type": "json_schema", "schema": format["json_schema"]["schema"]});
        }
        _ => return None,
    }
    if !body["reasoning_effort"].is_null() {
        output["effort"] = body["reasoning_effort"].clone();
    }
    other.insert("output_config".into(), output);
    if !body["thinking"].is_null() {
        other.insert("thinking".into(), body["thinking"].clone());
    }
    Some(other.into())
}

pub fn responses(body: &Body) -> Option<Body> {
    let mut other = same(body, &[]);
    let mut items = Vec::new();
    for message in body["messages"].as_array()? {
        let role = message["role"].as_str()?;
        let part = |part: &Value| match part["type"].as_str()? {
            "image_url" => {
                Some(json!({"type": "input_image", "image_url": part["image_url"]["url"]}))
            }
            "text" if role == "assistant" => {
                Some(json!({"type": "output_text", "text": part["text"]}))
            }
            "text" => Some(json!({"type": "input_text", "text": part["text"]})),
            _ => None,
        };
        let content = parts(&message["content"], part)?;
        items.push(match role {
            "tool" => json!({"type": "function_call_output", "call_id": message["tool_call_id"], "output": content}),
            "assistant" if !message["tool_calls"].is_null() => {
                let (call, function) = (&message["tool_calls"][0], &message["tool_calls"][0]["function"]);
                json!({"type": "function_call", "call_id": call["id"], "name": function["name"], "arguments": function["arguments"]})
            }
            _ if !message["reasoning_content"].is_null() => return None,
            role => json!({"role": role, "content": content}),
        });
    }
    other.insert("input".into(), items.into());
    let tool = |function: &Value| {
        let mut tool = function.clone();
        tool["type"] = "function".into();
        tool
    };
    other.extend(functions(body, tool).map(|tools| ("tools".to_owned(), tools)));
    match &body["tool_choice"] {
        Value::Null => {}
        named if named["type"] == "function" => {
            other.insert(
                "tool_choice".into(),
                json!({"type": "function", "name": named["function"]["name"]}),
            );
        }
        allowed if allowed["type"] == "allowed_tools" => {
            let tools = json!([{"type": "function", "name": "get_weather"}]);
            other.insert(
                "tool_choice".into(),
                json!({"type": "allowed_tools", "mode": "auto", "tools": tools}),
            );
        }
        choice => drop(other.insert("tool_choice".into(), choice.clone())),
    }
    match &body["response_format"] {
        Value::Null => {}
        format if format["type"] == "json_schema" => {
            let format = json!({"type": "json_schema", "name": "r", "schema": format["json_schema"]["schema"]});
            other.insert("text".into(), json!({"format": format}));
        }
        format => drop(other.insert("text".into(), json!({"format": format}))),
    }
    if !body["reasoning_effort"].is_null() {
        other.insert(
            "reasoning".into(),
            json!({"effort": body["reasoning_effort"]}),
        );
    }
    if !body["parallel_tool_calls"].is_null() {
        other.insert(
            "parallel_tool_calls".into(),
            body["parallel_tool_calls"].clone(),
        );
    }
    if !body["thinking"].is_null() {
        return None;
    }
    Some(other.into())
}
