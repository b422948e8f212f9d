//! What users of chat layers suffer from and no case of `tests/cases/demand.toml` shows, each with the
//! number it has in our list of their reports: parsing (1.x) and streaming (2.x).

use crate::support::{check_streaming, shown};
use chatparse::grammar::{Fidelity, FidelityKind, Recogniser};
use chatparse::stream::Ended;
use chatparse::{
    ChatTemplate, DeltaKind, EndedBy, ErrorKind, Params, Request, Status, Stream, builtin,
};
use serde_json::{Value, json};

fn tool(name: &str, properties: Value, required: &[&str]) -> Value {
    let parameters = json!({"type": "object", "properties": properties, "required": required});
    json!({"type": "function", "function": {"name": name, "parameters": parameters}})
}

/// Params of a built-in template for these tools; `more` are further fields of the request.
fn params(template: &str, tools: Vec<Value>, more: &Value) -> Params {
    let mut body = json!({
        "messages": [{"role": "user", "content": "Hi"}],
        "reasoning_format": "auto",
        "parallel_tool_calls": true,
        "tools": tools,
    });
    for (key, value) in more.as_object().unwrap() {
        body[key] = value.clone();
    }
    ChatTemplate::builtin(template)
        .unwrap()
        .params(&Request::from_json(&body).unwrap())
        .unwrap()
}

/// Parses, and checks that the way the output is cut makes no difference.
#[track_caller]
fn read(params: &Params, output: impl AsRef<[u8]>) -> Ended {
    let output = output.as_ref();
    let wrong = check_streaming(&params.parser, output, false);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    params.parser.read(output, EndedBy::Model)
}

/// Reasoning, content, and each call's name and arguments.
#[track_caller]
fn says(ended: &Ended, reasoning: &str, content: &str, calls: &[(&str, Value)]) {
    let calls: Vec<Value> = calls
        .iter()
        .map(|(name, arguments)| json!({"name": name, "arguments": arguments}))
        .collect();
    let mut found = shown(&ended.message);
    for call in found["calls"].as_array_mut().unwrap() {
        call.as_object_mut().unwrap().remove("id");
    }
    assert_eq!(
        found,
        json!({"reasoning": reasoning, "content": content, "calls": calls}),
        "{ended:?}"
    );
}

fn glob() -> Vec<Value> {
    vec![tool(
        "Glob",
        json!({"path": {"type": "string"}, "pattern": {"type": "string"}}),
        &["pattern"],
    )]
}

#[test]
fn demand_1_1_what_is_wrong_after_a_call_is_told() {
    let params = params("json-call", glob(), &json!({}));
    let output = "<tool_call>\n{\"name\": \"Glob\", \"arguments\": {\"pattern\": \"*\"}}\n</tool_call> And {\"more\"";
    let ended = read(&params, output);
    assert_eq!(ended.left_at, output.find("\n</tool_call>"));
    let error = ended.strict(EndedBy::Model).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Parse);
    assert!(error.to_string().contains("from byte"), "{error}");
}

#[test]
fn demand_1_7_arguments_in_any_order() {
    let call = |arguments: &str| {
        format!("</think>\n\n<tool_call>\n<function=Glob>\n{arguments}</function>\n</tool_call>")
    };
    let argument = |name: &str, value: &str| format!("<parameter={name}>\n{value}\n</parameter>\n");
    let names: Vec<String> = (0..12).map(|at| format!("p{at}")).collect();
    let properties: Value = names
        .iter()
        .map(|name| (name.clone(), json!({"type": "string"})))
        .collect();
    let required: Vec<&str> = names.iter().map(String::as_str).collect();
    let many = params(
        "qwen3-coder",
        vec![tool("Glob", properties, &required)],
        &json!({"tool_choice": "required"}),
    );
    let reversed: String = names.iter().rev().map(|name| argument(name, "x")).collect();
    let ended = read(&many, call(&reversed));
    assert!(
        ended.status == Status::Complete && ended.calls()[0].valid,
        "{ended:?}"
    );
    let grammar = many.grammar();
    assert!(grammar.text.len() < 20_000, "{} bytes", grammar.text.len());
    // A grammar has up to five in any order.
    let in_order: String = names.iter().map(|name| argument(name, "x")).collect();
    let accepts = |arguments: &str| {
        Recogniser::new(&grammar.text).unwrap().accepts(&format!(
            "{}{}",
            many.generation_prompt,
            call(arguments)
        ))
    };
    assert!(
        accepts(&in_order) && !accepts(&reversed),
        "{}",
        grammar.text
    );
    let narrowed =
        |entry: &Fidelity| entry.kind == FidelityKind::Narrowed && entry.pointer == "#/required";
    assert!(grammar.report.iter().any(narrowed), "{:?}", grammar.report);
}

#[test]
fn demand_1_10_broken_bytes() {
    let params = params("json-call", glob(), &json!({}));
    let mut output = b"<think>\na\xE6\x80=b\n</think>\n\n".to_vec();
    output.extend(b"<tool_call>\n{\"name\": \"Glob\", \"arguments\": {\"pattern\": \"\xE6\x80=\"}}\n</tool_call>");
    let ended = read(&params, &output);
    says(
        &ended,
        "a\u{fffd}=b\n",
        "",
        &[("Glob", json!({"pattern": "\u{fffd}="}))],
    );
    let mut stream = Stream::new(&params.parser);
    let shown: Vec<usize> = "😀"
        .bytes()
        .map(|byte| stream.feed(&[byte]).len())
        .collect();
    assert_eq!(shown, [0, 0, 0, 1]);
}

#[test]
fn demand_1_11_tools_do_not_change_how_reasoning_is_told() {
    let mut tried = 0;
    for name in builtin::names() {
        let [without, with] = [vec![], glob()].map(|tools| params(name, tools, &json!({})));
        let Some(thinking) = &without.thinking else {
            continue;
        };
        let Some(end) = thinking.ends.first() else {
            continue;
        };
        let opened = without
            .generation_prompt
            .trim_end()
            .ends_with(&*thinking.start)
            && !thinking.start.is_empty();
        let output = format!(
            "{}why{end}because",
            if opened { "" } else { &thinking.start }
        );
        let [without, with] =
            [without, with].map(|params| params.parser.read(output.as_bytes(), EndedBy::Model));
        assert_eq!(without.message, with.message, "{name}: {output:?}");
        tried += 1;
    }
    assert!(tried > 10, "{tried} templates with reasoning");
}

#[test]
fn demand_2_1_several_calls_in_one_piece() {
    let params = params("json-call", glob(), &json!({}));
    let call = |pattern: &str| {
        format!(
            "<tool_call>\n{{\"name\": \"Glob\", \"arguments\": {{\"pattern\": \"{pattern}\"}}}}\n</tool_call>"
        )
    };
    let mut stream = Stream::new(&params.parser);
    let output = format!("Two:\n{}\n{}", call("a"), call("b"));
    let names: Vec<usize> = stream
        .feed(output.as_bytes())
        .filter(|delta| delta.kind == DeltaKind::ToolName)
        .map(|delta| delta.call)
        .collect();
    assert_eq!(names, [0, 1]);
}

/// How far arguments lag behind the output: at most the longest marker.
#[test]
fn demand_2_2_arguments_come_as_they_are_written() {
    let text = "some text\\n".repeat(1000);
    let tagged = text.replace("\\n", "\n");
    let cases = [
        (
            "json-call",
            format!("<tool_call>\n{{\"name\": \"Glob\", \"arguments\": {{\"pattern\": \"{text}"),
        ),
        (
            "qwen3-coder",
            format!("</think>\n\n<tool_call>\n<function=Glob>\n<parameter=pattern>\n{tagged}"),
        ),
        (
            "kimi-k2",
            format!(
                "<|tool_calls_section_begin|><|tool_call_begin|>functions.Glob:0<|tool_call_argument_begin|>{{\"pattern\": \"{text}"
            ),
        ),
    ];
    for (template, output) in cases {
        let params = params(template, glob(), &json!({}));
        let mut stream = Stream::new(&params.parser);
        let (mut fed, mut named) = (0, false);
        for piece in output.as_bytes().chunks(4) {
            fed += piece.len();
            for delta in stream.feed(piece) {
                named |= delta.kind == DeltaKind::ToolName;
                assert!(
                    delta.span.is_empty()
                        || delta.kind != DeltaKind::ToolArguments
                        || delta.span.end + 16 >= fed,
                    "{template}: {delta:?} after {fed} bytes"
                );
            }
        }
        assert!(
            named && stream.message().tool_calls[0].arguments.len() > 10_000,
            "{template}"
        );
    }
}

#[test]
fn demand_2_3_events_in_order() {
    let params = params("json-call", glob(), &json!({}));
    let output = "<think>\nwhy\n</think>\n\nSo:\n<tool_call>\n{\"name\": \"Glob\", \"arguments\": {\"pattern\": \"*\"}}\n</tool_call>";
    let mut stream = Stream::new(&params.parser);
    let mut kinds: Vec<DeltaKind> = Vec::new();
    for byte in output.as_bytes().chunks(1) {
        kinds.extend(stream.feed(byte).map(|delta| delta.kind));
    }
    stream.finish(EndedBy::Model);
    kinds.extend(stream.deltas().map(|delta| delta.kind));
    kinds.dedup();
    use DeltaKind::*;
    assert_eq!(
        kinds,
        [Reasoning, Content, ToolName, ToolArguments, ToolEnd]
    );
}
