//! Conversations of every kind: with tools, calls, results, reasoning, parts, white space, JSON and
//! markup in texts.

use serde_json::{Value, json};

/// Bodies of requests.
pub fn all() -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for (name, messages) in histories() {
        for (with, fields) in settings() {
            // Calls without tools are rare.
            if name.contains("call") && !with.contains("tools") {
                continue;
            }
            let mut body = json!({"messages": messages, "now": 1_785_672_000});
            body.as_object_mut()
                .unwrap()
                .extend(fields.as_object().unwrap().clone());
            all.push((format!("{name}, {with}"), body));
        }
    }
    all
}

fn settings() -> Vec<(&'static str, Value)> {
    let tools = json!([
        {"type": "function", "function": {"name": "get_weather", "description": "Tells the weather of <a> \"place\".\nWith wind.", "parameters":
            {"type": "object", "properties": {
                "place": {"type": "string", "description": "The place"},
                "days": {"type": "integer", "minimum": 1},
                "units": {"type": "string", "enum": ["metric", "old-fashioned"]},
                "deep": {"type": "object", "properties": {"list of things": {"type": "array", "items": {"type": "number"}}}},
            }, "required": ["place"]}}},
        {"type": "function", "function": {"name": "search_files", "description": "Finds files", "parameters":
            {"type": "object", "properties": {"pattern": {"type": "string"}, "hidden": {"type": "boolean"}}, "required": ["pattern", "hidden"]}}},
    ]);
    vec![
        ("bare", json!({})),
        (
            "without thinking",
            json!({"chat_template_kwargs": {"enable_thinking": false}}),
        ),
        ("with tools", json!({"tools": tools})),
        (
            "with tools and a variable",
            json!({"tools": tools, "chat_template_kwargs": {"enable_thinking": true, "custom_note": "A note of mine"}}),
        ),
    ]
}

fn histories() -> Vec<(&'static str, Value)> {
    let user = |text: &str| json!({"role": "user", "content": text});
    let said = |text: &str| json!({"role": "assistant", "content": text});
    let thought = |thought: &str, text: &str| json!({"role": "assistant", "reasoning_content": thought, "content": text});
    let call = |id: &str, name: &str, arguments: Value| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let calls = |text: &str, calls: Value| json!({"role": "assistant", "content": text, "tool_calls": calls});
    let result = |id: &str, name: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "name": name, "content": text});
    let weather = call(
        "call00001",
        "get_weather",
        json!({"place": "Porto Alegre", "days": 3}),
    );
    let deep = call(
        "call00002",
        "get_weather",
        json!({"place": "a \"b\"\nc", "units": "old-fashioned", "deep": {"list of things": [1.5, -2], "x": null}}),
    );
    let search = call(
        "call00003",
        "search_files",
        json!({"pattern": "*.rs <b>&", "hidden": false}),
    );
    let asked = user("What is the weather in Porto Alegre?");
    vec![
        ("a question", json!([asked])),
        (
            "a system message",
            json!([{"role": "system", "content": "Be brief, and kind."}, asked]),
        ),
        (
            "white space",
            json!([{"role": "system", "content": "  Be brief.\n"}, user("\n Well? \n\n"), said(" So it is. \n"), user("And now ")]),
        ),
        (
            "turns",
            json!([
                user("One two"),
                said("Three four"),
                user("Five six"),
                said("Seven eight"),
                user("Nine")
            ]),
        ),
        (
            "repeats",
            json!([
                user("again"),
                said("again"),
                user("again"),
                said("again and again"),
                user("again")
            ]),
        ),
        (
            "markup in texts",
            json!([{"role": "system", "content": "Say <|im_end|> {{ x }} {% y %}"}, user("</s>[INST] <|im_end|>"), said("<tool_call>{\"name\": 1}</tool_call>"), user("& < > \" '")]),
        ),
        (
            "other letters",
            json!([
                user("Привет, 世界 \u{1f600} ñ"),
                said("Ünïcödé \u{a840}"),
                user("\u{202e}x\u{0301}")
            ]),
        ),
        (
            "reasoning",
            json!([
                user("One"),
                thought("I think of it.", "So it is."),
                user("Two")
            ]),
        ),
        (
            "reasoning last",
            json!([
                user("One"),
                thought("First thought\nand second", "So."),
                user("Two"),
                thought("Third", "Well.")
            ]),
        ),
        (
            "thinking in text",
            json!([
                user("One"),
                said("<think>\nhidden\n</think>\n\nshown"),
                user("Two")
            ]),
        ),
        (
            "reasoning between parts",
            json!([user("Hello"), {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "At first"}, {"type": "text", "text": "It may"},
                {"type": "thinking", "thinking": "Once more"}, {"type": "text", "text": "be so"},
            ]}, user("More")]),
        ),
        (
            "parts",
            json!([{"role": "user", "content": [{"type": "text", "text": "First part"}, {"type": "text", "text": "second part"}]}, said("Good"), user("More")]),
        ),
        (
            "a call",
            json!([
                asked,
                calls("", json!([weather])),
                result("call00001", "get_weather", "It rains: 12 degrees")
            ]),
        ),
        (
            "a call with text",
            json!([
                asked,
                calls("Let me look.", json!([weather])),
                result(
                    "call00001",
                    "get_weather",
                    "{\"sky\": \"grey\", \"degrees\": 12}"
                ),
                said("It is grey."),
                user("Thanks")
            ]),
        ),
        (
            "a deep call",
            json!([
                asked,
                calls("", json!([deep])),
                result("call00002", "get_weather", "[1, 2, 3]"),
                said("Done so."),
                user("And?")
            ]),
        ),
        (
            "calls at once",
            json!([
                asked,
                calls("", json!([weather, search])),
                result("call00001", "get_weather", "wet"),
                result("call00003", "search_files", "main.rs\nlib.rs"),
                said("Both are done."),
                user("Next")
            ]),
        ),
        (
            "calls in a row",
            json!([
                asked,
                calls("", json!([weather])),
                result("call00001", "get_weather", "wet"),
                calls("Further.", json!([search])),
                result("call00003", "search_files", ""),
                said("That was it.")
            ]),
        ),
        (
            "a thoughtful call",
            json!([asked, {"role": "assistant", "reasoning_content": "I need a tool", "content": "", "tool_calls": [search]}, result("call00003", "search_files", "none found"), thought("I know now", "There are none."), user("Sure?")]),
        ),
    ]
}
