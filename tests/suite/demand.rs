//! What users of chat layers suffer from, each with the number it has in our list of their reports:
//! parsing (1.x) and streaming (2.x). Prompts, schemas and hostile input have tests of their own.

use crate::support::{check_streaming, shown};
use chatparse::grammar::{Fidelity, FidelityKind, Recogniser};
use chatparse::message::DiagnosticKind;
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

fn has(ended: &Ended, kind: DiagnosticKind) -> bool {
    ended.diagnostics().iter().any(|found| found.kind == kind)
}

fn glob() -> Vec<Value> {
    vec![tool(
        "Glob",
        json!({"path": {"type": "string"}, "pattern": {"type": "string"}}),
        &["pattern"],
    )]
}

#[test]
fn demand_1_1_a_finished_answer_is_never_thrown_away() {
    let params = params("json-call", glob(), &json!({}));
    let ended = read(&params, "<think>\na</think>\n\nHello<think>");
    says(&ended, "a", "Hello<think>", &[]);
    let output = "<tool_call>\n{\"name\": \"Glob\", \"arguments\": {\"pattern\": \"*\"}}\n</tool_call> And {\"more\"";
    let ended = read(&params, output);
    says(
        &ended,
        "",
        " And {\"more\"",
        &[("Glob", json!({"pattern": "*"}))],
    );
    assert_eq!(
        (ended.status, ended.left_at),
        (
            Status::Recovered,
            Some(output.find("\n</tool_call>").unwrap())
        )
    );
    let error = params
        .parser
        .read(output.as_bytes(), EndedBy::Model)
        .strict(EndedBy::Model)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Parse);
    assert!(error.to_string().contains("from byte"), "{error}");
}

#[test]
fn demand_1_3_calls_inside_reasoning() {
    let call = |name: &str| {
        format!(
            "<tool_call>\n<function={name}>\n<parameter=pattern>\n1\n</parameter>\n</function>\n</tool_call>"
        )
    };
    let with = |policy: &str| {
        let tools = vec![
            glob().remove(0),
            tool("g", json!({"pattern": {"type": "string"}}), &[]),
        ];
        params("json-call", tools, &json!({"calls_in_reasoning": policy}))
    };
    let unclosed = format!("<think>\nplan\n{}", call("Glob"));
    let arguments = json!({"pattern": "1"});

    let ended = read(&with("at_end"), &unclosed);
    says(&ended, "plan", "", &[("Glob", arguments.clone())]);
    assert!(ended.status == Status::Recovered && has(&ended, DiagnosticKind::CallInReasoning));
    // The rehearsal is reasoning, the call behind it is the call.
    let own = "<tool_call>\n{\"name\": \"g\", \"arguments\": {\"pattern\": \"1\"}}\n</tool_call>";
    let ended = read(&with("at_end"), format!("{unclosed}\n</think>\n\n{own}"));
    says(
        &ended,
        &format!("plan\n{}\n", call("Glob")),
        "",
        &[("g", arguments.clone())],
    );
    let ended = read(&with("at_end"), "<think>\nuse `<tool_call>` tags");
    says(&ended, "use `<tool_call>` tags", "", &[]);
    // A call that was cut off is no call.
    let cut = with("at_end")
        .parser
        .read(unclosed.as_bytes(), EndedBy::Limit);
    assert!(
        cut.message.tool_calls.is_empty()
            && cut.message.reasoning_content.ends_with("</tool_call>")
    );

    says(
        &read(&with("off"), &unclosed),
        &unclosed["<think>\n".len()..],
        "",
        &[],
    );
    let ended = read(&with("always"), format!("{unclosed} so\n</think>\n\nDone"));
    says(&ended, "plan so\n", "Done", &[("Glob", arguments)]);
}

#[test]
fn demand_1_4_near_misses_are_calls() {
    let coder = |more: Value| params("qwen3-coder", glob(), &more);
    let pattern = |text: &str| [("Glob", json!({"pattern": text}))];
    let bare = "I'll look.\n<function=Glob>\n<parameter=pattern>\n*.md\n</parameter>\n</function>\n</tool_call>";
    let output = format!("</think>\n\n{bare}");
    says(
        &read(&coder(json!({"dialects": "always"})), &output),
        "",
        "I'll look.",
        &pattern("*.md"),
    );
    // A value that begins or ends on the line of its tags, and a tag that is closed twice.
    let lenient = params("json-call", glob(), &json!({"dialects": "always"}));
    for value in [
        "\nx</parameter>",
        "x\n</parameter>",
        "\nx\n</parameter>\n</parameter>",
    ] {
        let output = format!("<function=Glob>\n<parameter=pattern>{value}\n</function>");
        says(&read(&lenient, &output), "", "", &pattern("x"));
    }
    // The marker in front of an argument's name left out, or that of the call in its place; an end
    // that is there twice, or not at all.
    let tags = params("tag-arguments", glob(), &json!({}));
    let value = |more: &str| format!("pattern</arg_key>\n<arg_value>x</arg_value>{more}");
    for output in [
        format!("<tool_call>Glob{}", value("\n</tool_call>")),
        format!("<tool_call>Glob {}", value("</tool_call>")),
        format!("<tool_call>Glob\n<tool_call>{}", value("\n</tool_call>")),
        format!(
            "<tool_call>Glob\n<arg_key>{}",
            value("\n</arg_value></arg_value>\n</tool_call>")
        ),
    ] {
        let ended = read(&tags, &output);
        says(&ended, "", "", &pattern("x"));
        assert_eq!(ended.status, Status::Complete, "{output}");
    }
    let ended = read(
        &tags,
        format!(
            "<tool_call>Glob\n<arg_key>{0}<tool_call>Glob\n<arg_key>{0}</tool_call>",
            value("\n")
        ),
    );
    says(&ended, "", "", &[pattern("x"), pattern("x")].concat());
    assert!(ended.calls().iter().all(|call| call.complete), "{ended:?}");
    // A name that nothing follows is no call, nor is one that the schema does not list an argument.
    let free = params(
        "tag-arguments",
        vec![tool("Glob", json!({"path": {"type": "string"}}), &[])],
        &json!({}),
    );
    for output in [
        "I write <tool_call>Glob here",
        "<tool_call>Glob<tool_call> here",
        "<tool_call>Glob<tool_call>paths</arg_key>",
    ] {
        says(&read(&free, output), "", output, &[]);
    }
    // Headers with noise in them: text that is kept.
    for output in [
        "<|channel|>commentary?<|message|>..",
        "<|channel|>finalx<|message|>hi",
    ] {
        let ended = read(&params("gpt-oss", glob(), &json!({})), output);
        assert!(
            ended
                .message
                .content
                .contains(output.rsplit('>').next().unwrap()),
            "{ended:?}"
        );
    }
    let ended = read(
        &params("json-call", glob(), &json!({})),
        "<tool_call>\n{\"name\": \"Grep\", \"arguments\": {}}\n</tool_call>",
    );
    says(&ended, "", "", &[("Grep", json!({}))]);
    assert!(
        !ended.calls()[0].known
            && has(&ended, DiagnosticKind::UnknownTool)
            && ended.status == Status::Recovered
    );
}

#[test]
fn demand_1_6_content_is_not_taken_for_a_call() {
    let weather = vec![tool(
        "get_weather",
        json!({"city": {"type": "string"}}),
        &[],
    )];
    for (template, output) in [
        ("json-bare", "int main() { return 0; }"),
        ("lfm2", "x = [1, 2]"),
        ("json-bare", "{\"a\": 1}"),
    ] {
        says(
            &read(&params(template, weather.clone(), &json!({})), output),
            "",
            output,
            &[],
        );
    }
}

#[test]
fn demand_1_7_arguments_in_any_order() {
    let call = |arguments: &str| {
        format!("</think>\n\n<tool_call>\n<function=Glob>\n{arguments}</function>\n</tool_call>")
    };
    let argument = |name: &str, value: &str| format!("<parameter={name}>\n{value}\n</parameter>\n");
    let coder = params("qwen3-coder", glob(), &json!({}));
    let ended = read(
        &coder,
        call(&(argument("path", "a") + &argument("pattern", "b"))),
    );
    says(
        &ended,
        "",
        "",
        &[("Glob", json!({"path": "a", "pattern": "b"}))],
    );
    assert_eq!(ended.status, Status::Complete);

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

    let ended = read(
        &coder,
        call(&(argument("pattern", "a") + &argument("pattern", "b"))),
    );
    says(&ended, "", "", &[("Glob", json!({"pattern": "b"}))]);
    assert!(has(&ended, DiagnosticKind::DuplicateArgument));
}

#[test]
fn demand_1_8_a_truncated_call_is_not_whole() {
    let params = params(
        "json-call",
        vec![tool("w", json!({"path": {"type": "string"}}), &[])],
        &json!({}),
    );
    let output =
        "<tool_call>\n{\"name\": \"w\", \"arguments\": {\"path\": \"a\", \"content\": \"x\\u00";
    for cut_off in [false, true] {
        let ended = params
            .parser
            .read(output.as_bytes(), EndedBy::limit_if(cut_off));
        assert_eq!(
            ended.message.tool_calls[0].arguments,
            "{\"path\": \"a\", \"content\": \"x"
        );
        assert!(
            !ended.calls()[0].complete
                && !ended.calls()[0].valid
                && ended.status == Status::Partial
        );
        assert!(has(&ended, DiagnosticKind::UnfinishedCall));
    }
}

#[test]
fn demand_1_9_values_have_the_types_of_the_schema() {
    let properties = json!({
        "flag": {"type": "boolean"},
        "maybe": {"type": ["string", "null"]},
        "text": {"type": "string"},
        "deep": {"type": "object", "properties": {"n": {"type": "number"}}},
    });
    let params = params("qwen3-coder", vec![tool("f", properties, &[])], &json!({}));
    let value = |name: &str, text: &str| {
        let call = format!(
            "<tool_call>\n<function=f>\n<parameter={name}>\n{text}\n</parameter>\n</function>\n</tool_call>"
        );
        let ended = read(&params, format!("</think>\n\n{call}"));
        serde_json::from_str::<Value>(&ended.message.tool_calls[0].arguments).unwrap()[name].clone()
    };
    assert_eq!(
        (value("flag", "True"), value("flag", "false")),
        (json!(true), json!(false))
    );
    assert_eq!(
        (value("maybe", "null"), value("maybe", "123")),
        (json!(null), json!("123"))
    );
    assert_eq!(
        (value("text", "007"), value("text", "a\n")),
        (json!("007"), json!("a\n"))
    );
    assert_eq!(
        value("deep", "{\"n\": -23.3e-6}")["n"].as_f64(),
        Some(-23.3e-6)
    );
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
    says(
        &read(&params, &output),
        "",
        "Two:",
        &[
            ("Glob", json!({"pattern": "a"})),
            ("Glob", json!({"pattern": "b"})),
        ],
    );
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

#[test]
fn a_name_that_json_escapes_is_read_in_both_ways() {
    let name = "say_\"hi\\";
    let params = params("json-call", vec![tool(name, json!({}), &[])], &json!({}));
    for written in [
        name.to_owned(),
        name.replace('\\', "\\\\").replace('"', "\\\""),
    ] {
        let output =
            format!("<tool_call>\n{{\"name\": \"{written}\", \"arguments\": {{}}}}\n</tool_call>");
        let ended = read(&params, &output);
        let calls: Vec<_> = ended
            .message
            .tool_calls
            .iter()
            .map(|call| (&*call.name, &*call.arguments))
            .collect();
        assert_eq!(
            (calls, ended.status),
            (vec![(name, "{}")], Status::Complete),
            "{output}"
        );
    }
}

#[test]
fn the_text_of_an_object_is_that_object_where_no_text_may_be() {
    let types = json!({"filter": {"type": "object"}, "list": {"type": ["array", "null"]}, "note": {"type": "string"}});
    let params = params("json-call", vec![tool("find", types, &[])], &json!({}));
    for (written, meant) in [
        (
            r#"{"filter": "{\"a\": [1, \"b\"]}", "note": "n"}"#,
            r#"{"filter": {"a": [1, "b"]}, "note": "n"}"#,
        ),
        (
            r#"{"note": "n" , "list"  :  "[1]"  }"#,
            r#"{"note": "n" , "list"  :  [1]  }"#,
        ),
        (
            r#"{'list': [], "filter": "{}",}"#,
            r#"{"list": [], "filter": {}}"#,
        ),
        (
            r#"{"filter": "{a}", "note": "{\"a\": 1}"}"#,
            r#"{"filter": "{a}", "note": "{\"a\": 1}"}"#,
        ),
        (
            r#"{"in": {"filter": "{}"}, "list": "none"}"#,
            r#"{"in": {"filter": "{}"}, "list": "none"}"#,
        ),
    ] {
        let output =
            format!("<tool_call>\n{{\"name\": \"find\", \"arguments\": {written}}}\n</tool_call>");
        let ended = read(&params, &output);
        assert_eq!(
            (&*ended.message.tool_calls[0].arguments, ended.status),
            (meant, Status::Complete)
        );
        let mended = ended
            .diagnostics()
            .iter()
            .any(|found| found.kind == DiagnosticKind::MendedArguments);
        assert_eq!(mended, written != meant, "{written}");
        let wrong = check_streaming(&params.parser, output.as_bytes(), true);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn the_end_of_the_turn_ends_content_that_lacks_its_own_end() {
    let params = params("kimi-k3", vec![tool("list", json!({}), &[])], &json!({}));
    let answer = |end: &str| {
        format!("<|close|>think<|sep|><|open|>response<|sep|>Fine.{end}<|close|>message<|sep|>")
    };
    for output in [
        answer(""),
        answer("<|close|>response<|sep|>"),
        answer("") + "<|end_of_msg|>",
    ] {
        let ended = read(&params, &output);
        assert_eq!(
            (&*ended.message.content, ended.status),
            ("Fine.", Status::Complete),
            "{output}"
        );
        let wrong = check_streaming(&params.parser, output.as_bytes(), true);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
