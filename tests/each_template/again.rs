//! Tools that are sent again: a template does not read them again, and gives what it gives for new
//! ones.

use chatparse::{ChatTemplate, Request};
use serde_json::{Value, json};

/// Tools that templates write in each of their ways.
fn tools() -> Vec<Value> {
    let functions = [
        json!({"name": "a", "description": "Says \"a\" & <b>.", "parameters": {"type": "object", "required": ["x"], "properties": {
            "x": {"type": "string", "description": "A text\nin lines", "enum": ["ü", "b"]},
            "y": {"type": ["integer", "null"], "default": 3}}}}),
        json!({"name": "b", "description": "", "parameters": {"type": "object", "properties": {}}}),
        json!({"name": "c", "description": "No parameters"}),
        json!({"name": "d", "description": "Deep", "strict": true, "parameters": {"type": "object", "$defs": {"p": {"type": "number"}},
            "properties": {"at": {"type": "object", "description": "A place", "properties": {"x": {"$ref": "#/$defs/p"}}, "required": ["x"]},
                "all": {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}},
                "any": {"anyOf": [{"type": "string"}, {"type": "null"}], "nullable": true}}}}),
        json!({"name": "e", "description": "As a", "parameters": {"type": "object", "properties": {"x": {"type": "string"}}}}),
    ];
    functions
        .into_iter()
        .map(|function| json!({"type": "function", "function": function}))
        .collect()
}

/// What is wrong, and how many requests were looked at.
pub fn check(template: &ChatTemplate) -> (Vec<String>, usize) {
    let all = tools();
    let mut changed = all.clone();
    changed[0]["function"]["description"] = json!("Says something else");
    changed[3]["function"]["parameters"]["required"] = json!(["at"]);
    let mut apart = all.clone();
    apart[1]["defer_loading"] = json!(true);
    apart[4] = json!({"type": "namespace", "name": "n", "description": "Some", "tools": [all[0]]});
    let reversed: Vec<Value> = all.iter().rev().cloned().collect();
    let twice = vec![all[0].clone(), all[1].clone(), all[0].clone()];
    let hosted = vec![
        all[0].clone(),
        json!({"type": "web_search_20250305", "name": "web_search"}),
        all[4].clone(),
    ];
    let wrong_one = vec![all[0].clone(), json!({"type": "function"})];
    let lists = [
        &all,
        &all,
        &changed,
        &reversed,
        &twice,
        &wrong_one,
        &hosted,
        &apart,
        &vec![all[2].clone()],
        &apart,
        &all,
    ];
    let options = [
        json!({}),
        json!({"enable_thinking": false, "add_generation_prompt": false}),
        json!({"chat_template_kwargs": {"range": 7, "dict": "x", "namespace": null, "tool": {"name": "z"}, "loop": 1}}),
        json!({"plain": true}),
        json!({"for_training": true}),
        json!({"tool_choice": "required", "parallel_tool_calls": true, "reasoning_effort": "low"}),
        json!({"tool_choice": {"type": "function", "function": {"name": "a"}}, "hosted_tools": "keep"}),
    ];
    let called = json!([{"id": "call00001", "type": "function", "function": {"name": "a", "arguments": "{\"x\": \"b\"}"}}]);
    let messages = json!([{"role": "user", "content": "tools, \"tools\": []"}, {"role": "assistant", "content": "", "tool_calls": called},
        {"role": "tool", "tool_call_id": "call00001", "name": "a", "content": "{}"}]);
    let (mut wrong, mut looked) = (Vec::new(), 0);
    for options in &options {
        for (index, tools) in lists.iter().enumerate() {
            let messages = if index % 2 == 0 {
                json!([{"role": "user", "content": "Hi"}])
            } else {
                messages.clone()
            };
            let mut body = json!({"messages": messages, "tools": tools, "now": 7});
            body.as_object_mut()
                .expect("it is one")
                .extend(options.as_object().expect("it is one").clone());
            let body = body.to_string();
            let body = if index % 3 == 0 {
                body.replace("},{", "} ,\n {")
                    .replacen("\"tools\":[{", "\"tools\" : [ {", 1)
            } else {
                body
            };
            let host = if index % 2 == 0 {
                "{\"json_spacing\": \"free\"}"
            } else {
                "{}"
            };
            let read = [
                template.request(&body, host),
                Request::from_text_with(&body, host),
            ];
            let prompts = read
                .each_ref()
                .map(|request| template.prompt(request.as_ref().map_err(Clone::clone)?));
            let [again, new] = prompts.map(|prompt| prompt.map_err(|error| error.to_string()));
            let [of_again, of_new] = read.map(|request| request.map_err(|error| error.to_string()));
            looked += 1;
            if of_again != of_new || again != new {
                wrong.push(format!("{body}\n  again {again:?}\n  new {new:?}"));
            }
        }
    }
    (wrong, looked)
}
