//! Requests in the shape that coding agents send: every text is in the prompt, and what goes on
//! appends.

use chatparse::api::Api;
use chatparse::message::Request;
use chatparse::{ChatTemplate, Params};
use serde_json::{Value, json};

const TEMPLATES: [&str; 4] = ["json-call", "qwen3-coder", "gpt-oss", "deepseek-v3.1"];

fn params(name: &str, api: Api, body: &Value) -> Params {
    let chat = api
        .request(body)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let request = Request::from_json_with(&chat, &json!({"hosted_tools": "keep"})).unwrap();
    ChatTemplate::builtin(name)
        .unwrap()
        .params(&request)
        .unwrap()
}

/// Whether the prompt has each text, but for those that notes name as missing.
fn shows(name: &str, params: &Params, texts: &[&str]) {
    for text in texts {
        assert!(
            params.prompt.contains(text),
            "{name}: {text} is not in {}\n{:#?}",
            params.prompt,
            params.notes
        );
    }
}

fn text(text: &str) -> Value {
    json!({"type": "input_text", "text": text})
}

const PATCH: &str =
    "start: \"*** Begin\" LF hunk+ \"*** End\"\nhunk: \"+\" /[^\\n]*/ LF\nLF: \"\\n\"\n";

/// The first `count` items of three turns, as they stand in the body of Responses.
fn responses(count: usize, searched: bool) -> Value {
    let function = |name: &str, what: &str, deferred: bool| {
        let schema = json!({"type": "object", "additionalProperties": false, "required": ["cmd"],
            "properties": {"cmd": {"type": "string", "description": format!("{what} of a shell"), "encrypted": true}}});
        let mut tool = json!({"type": "function", "name": name, "description": what, "strict": false, "parameters": schema});
        if deferred {
            tool["defer_loading"] = true.into();
        }
        tool
    };
    let patch = json!({"type": "custom", "name": "apply_patch", "description": "Edits files.",
        "format": {"type": "grammar", "syntax": "lark", "definition": PATCH}});
    let wait = function("wait", "Waits long", false);
    let items = vec![
        json!({"type": "additional_tools", "id": "at_1", "role": "developer", "tools": [
            {"type": "namespace", "name": "shop", "description": "Of goods.", "tools": [wait, patch]},
        ]}),
        json!({"type": "message", "id": "msg_0", "role": "developer", "content": [text("Permissions: all."), text("Skills: none.")]}),
        json!({"type": "message", "role": "user", "content": [text("# AGENTS.md"), text("<environment>Linux</environment>")]}),
        json!({"type": "message", "role": "user", "content": [text("List the files."),
            {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "high"}]}),
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "Thought one."}], "encrypted_content": null}),
        json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": "commentary",
            "content": [{"type": "output_text", "text": "I look first.", "annotations": [], "logprobs": []}]}),
        json!({"type": "function_call", "id": "fc_1", "status": "completed", "call_id": "call_1", "name": "exec", "arguments": "{\"cmd\":\"ls -l\"}"}),
        json!({"type": "custom_tool_call", "id": "ctc_1", "status": "completed", "call_id": "call_2", "namespace": "shop", "name": "apply_patch", "input": "*** Begin\n+new line\n*** End"}),
        json!({"type": "function_call_output", "id": "fco_1", "call_id": "call_1", "output": "total 4"}),
        json!({"type": "custom_tool_call_output", "id": "cto_1", "call_id": "call_2", "output": [text("Patched."), text("One file.")]}),
        json!({"type": "message", "id": "msg_2", "role": "assistant", "status": "completed", "phase": "final_answer",
            "content": [{"type": "output_text", "text": "There is one file.", "annotations": []}]}),
        json!({"type": "message", "role": "user", "content": [text("Search for a tool.")]}),
        json!({"type": "tool_search_call", "id": "ts_1", "call_id": "call_3", "execution": "client", "status": "completed", "arguments": {"query": "weather"}}),
        json!({"type": "tool_search_output", "id": "tso_1", "call_id": "call_3", "status": "completed", "execution": "client",
            "tools": [{"type": "namespace", "name": "sky", "description": "Of weather.", "tools": [function("rain", "Tells of rain", true)]}]}),
        json!({"type": "message", "role": "user", "content": [text("Use it.")]}),
    ];
    json!({
        "model": "gpt-9", "stream": true, "store": false, "include": ["reasoning.encrypted_content"], "prompt_cache_key": "k",
        "client_metadata": {"a": "b"}, "tool_choice": "auto", "parallel_tool_calls": searched,
        "reasoning": {"effort": "low", "summary": "auto", "context": "all_turns"}, "text": {"verbosity": "low"},
        "tools": [
            function("exec", "Runs a command", false),
            {"type": "tool_search", "execution": "client", "description": "Finds tools.", "parameters": {"type": "object", "properties": {"query": {"type": "string"}}}},
            {"type": "web_search", "external_web_access": true, "search_content_types": []},
        ],
        "input": items[..count],
    })
}

#[test]
fn three_turns_of_an_agent_of_responses() {
    for name in TEMPLATES {
        let first = params(name, Api::Responses, &responses(4, false));
        let all = [
            "Permissions: all.",
            "Skills: none.",
            "# AGENTS.md",
            "<environment>Linux</environment>",
            "List the files.",
            "<__media__>",
            "exec",
            "Runs a command",
            "shop.wait",
            "Waits long",
            "shop.apply_patch",
            "Edits files.",
            "tool_search",
            "Of goods.",
        ];
        shows(name, &first, &all);
        assert!(!first.prompt.contains("Tells of rain"), "{name}");
        let step = params(name, Api::Responses, &responses(10, false));
        shows(name, &step, &all);
        shows(
            name,
            &step,
            &[
                "Thought one.",
                "I look first.",
                "ls -l",
                "+new line",
                "total 4",
                "Patched.",
                "One file.",
            ],
        );
        let turn = params(name, Api::Responses, &responses(12, false));
        shows(name, &turn, &["There is one file.", "Search for a tool."]);
        let last = params(name, Api::Responses, &responses(15, true));
        shows(
            name,
            &last,
            &[
                "weather",
                "Tells of rain",
                "sky.rain",
                "Of weather.",
                "Use it.",
            ],
        );
        // Nothing moves: what was said stands where it stood.
        for (before, after) in [(&first, &step), (&turn, &last)] {
            let stands = before
                .prompt
                .strip_suffix(&before.generation_prompt)
                .unwrap();
            assert!(
                after.prompt.starts_with(stands),
                "{name}:\n{}\n--\n{}",
                before.prompt,
                after.prompt
            );
        }
        let mut required = responses(15, true);
        required["tool_choice"] = "required".into();
        let grammar = params(name, Api::Responses, &required)
            .grammar()
            .text
            .clone();
        for part in ["exec", "rain", "*** Begin"] {
            assert!(grammar.contains(part), "{name}: {part}: {grammar}");
        }
    }
}

/// The first `count` messages of three turns, as they stand in the body of Messages; the last has
/// the mark for caches.
fn messages(count: usize) -> Value {
    let block = |text: &str| json!({"type": "text", "text": text});
    let mut said = vec![
        json!({"role": "user", "content": [block("<reminder>Be careful.</reminder>"), block("Read the file.")]}),
        json!({"role": "system", "content": "Environment: Linux.", "output_config": {"effort": "low"}}),
        json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Thought one.", "signature": "s"}, block("I read it."),
            {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "a.txt"}},
            {"type": "tool_use", "id": "toolu_2", "name": "Search", "input": {"query": "weather"}},
        ]}),
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "It is gone.", "is_error": true},
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": [block("Found:"), {"type": "tool_reference", "tool_name": "Rain"}]},
        ]}),
        json!({"role": "assistant", "content": [
            {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}, block("So it is."),
        ]}),
        json!({"role": "user", "content": [block("And now?")]}),
    ];
    said.truncate(count);
    if let Some(last) = said
        .last_mut()
        .and_then(|last| last["content"].as_array_mut()?.last_mut())
    {
        last["cache_control"] = json!({"type": "ephemeral"});
    }
    let schema = |name: &str| {
        json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false,
            "properties": {name: {"type": "string", "maxLength": 256}}, "required": [name]})
    };
    let tool = |name: &str, what: &str, field: &str| json!({"name": name, "description": what, "input_schema": schema(field)});
    let mut late = tool("Rain", "Tells of rain.", "day");
    late["defer_loading"] = true.into();
    late["input_examples"] = json!([{"day": "May 1"}]);
    json!({
        "model": "claude-9", "max_tokens": 32_000, "stream": true, "metadata": {"user_id": "u"}, "betas": ["x"],
        "system": [block("You are an agent."), {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "high"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "tools": [tool("Read", "Reads a file.", "path"), tool("Search", "Finds tools.", "query"), late],
        "messages": said,
    })
}

#[test]
fn three_turns_of_an_agent_of_messages() {
    for name in TEMPLATES {
        let first = params(name, Api::Messages, &messages(2));
        let all = [
            "You are an agent.",
            "Be brief.",
            "<reminder>Be careful.</reminder>",
            "Read the file.",
            "Environment: Linux.",
            "Reads a file.",
            "Finds tools.",
        ];
        shows(name, &first, &all);
        assert!(!first.prompt.contains("Tells of rain."), "{name}");
        let step = params(name, Api::Messages, &messages(4));
        shows(name, &step, &all);
        shows(
            name,
            &step,
            &[
                "Thought one.",
                "I read it.",
                "a.txt",
                "weather",
                "Error: It is gone.",
                "Found:",
                "Tells of rain.",
                "May 1",
            ],
        );
        let turn = params(name, Api::Messages, &messages(6));
        shows(name, &turn, &all);
        shows(name, &turn, &["So it is.", "And now?", "Tells of rain."]);
        let stands = first.prompt.strip_suffix(&first.generation_prompt).unwrap();
        assert!(
            step.prompt.starts_with(stands),
            "{name}:\n{}\n--\n{}",
            first.prompt,
            step.prompt
        );
        let mut required = messages(6);
        required["tool_choice"] = json!({"type": "any"});
        assert!(
            params(name, Api::Messages, &required)
                .grammar()
                .text
                .contains("Rain"),
            "{name}"
        );
        assert!(
            turn.notes
                .iter()
                .any(|note| note.starts_with("context_management: ")),
            "{name}: {:?}",
            turn.notes
        );
    }
    let effort = Api::Messages.request(&messages(2)).unwrap();
    assert_eq!(effort["reasoning_effort"], "low");
}
