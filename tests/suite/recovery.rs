//! Calls in other ways of writing them, in every way to cut the output: where they are read, and
//! where they are not.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::support::{check_streaming, parse};
use chatparse::internals::analysis::turn;
use chatparse::internals::brackets::is_marker;
use chatparse::internals::format::wrappers::THOUGHT;
use chatparse::internals::template::Template;
use chatparse::message::{Diagnostic, DiagnosticKind};
use chatparse::stream::Ended;
use chatparse::{ChatTemplate, DeltaKind, EndedBy, Params, Parser, Request, Status, builtin};
use serde_json::{Value, json};

fn params(template: &str, more: &Value) -> Params {
    let parameters = json!({"type": "object", "properties": {
        "path": {"type": "string"}, "line": {"type": "integer"}, "deep": {"type": "boolean"}}});
    let mut body = json!({
        "messages": [{"role": "user", "content": "Hi"}],
        "reasoning_format": "auto",
        "parallel_tool_calls": true,
        "tools": [
            {"type": "function", "function": {"name": "read", "parameters": parameters}},
            {"type": "function", "function": {"name": "list"}},
        ],
    });
    for (key, value) in more.as_object().unwrap() {
        body[key] = value.clone();
    }
    ChatTemplate::builtin(template)
        .unwrap()
        .params(&Request::from_json(&body).unwrap())
        .unwrap()
}

fn read(params: &Params, output: &str) -> Ended {
    params.parser.read(output.as_bytes(), EndedBy::Model)
}

/// Checks the message and, whatever the chunks, that it is always the same.
#[track_caller]
fn check(params: &Params, output: &str, content: &str, calls: &[(&str, Value)]) {
    let (message, status) = parse(&params.parser, output.as_bytes(), false);
    let calls: Vec<Value> = calls
        .iter()
        .map(|(name, arguments)| json!({"name": name, "arguments": arguments}))
        .collect();
    let found: Vec<Value> = message["calls"].as_array().unwrap().clone();
    let found: Vec<Value> = found
        .into_iter()
        .map(|call| json!({"name": call["name"], "arguments": call["arguments"]}))
        .collect();
    assert_eq!(
        (message["content"].as_str().unwrap(), &found),
        (content, &calls),
        "{output:?}"
    );
    assert_eq!(status, Status::Recovered, "{output:?}");
    let wrong = check_streaming(&params.parser, output.as_bytes(), false);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each way to write a call of `read`, with its name; none of them is that of the template
/// `tag-json-id`.
const DIALECTS: &[(&str, &str)] = &[
    (
        "json-in-tags",
        r#"<tool_call>{"name": "read", "arguments": {"path": "a", "line": 2}}</tool_call>"#,
    ),
    (
        "json-in-tags",
        r#"<tool_call>{"arguments": {"path": "a", "line": 2}, "name": "read"}"#,
    ),
    (
        "json-in-tags",
        "<tool_call>\n{\"type\": \"function\", \"name\": \"read\", \"parameters\": {\"path\": \"a\", \"line\": 2}\n</tool_call>",
    ),
    (
        "qwen3-coder",
        "<tool_call>\n<function=read>\n<parameter=path>\na\n</parameter>\n<parameter=line>2</parameter>\n</function>\n</tool_call>",
    ),
    (
        "qwen3-coder",
        "<function=read><parameter=path>a</parameter></parameter><parameter=line>\n2\n</parameter></function>",
    ),
    (
        "qwen3-coder",
        "<function=read>{\"path\": \"a\", \"line\": 2}</function>",
    ),
    (
        "tag-invoke",
        "<tool_call>\n<invoke name=\"read\">\n<parameter name=\"path\">a</parameter>\n<parameter name=\"line\">2</parameter>\n</invoke></tool_call>",
    ),
    (
        "tag-invoke",
        "<invoke name=\"read\"><parameter name=\"line\">2</parameter><parameter name=\"path\">a</parameter></invoke>",
    ),
    (
        "kimi-k2",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{\"path\": \"a\", \"line\": 2}<|tool_call_end|><|tool_calls_section_end|>",
    ),
    (
        "kimi-k2-unprefixed",
        "<|tool_call_begin|>\nread<|tool_call_argument_begin|>\n{\"path\": \"a\", \"line\": 2}\n<|tool_call_end|>",
    ),
    (
        "deepseek-r1",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n```json\n{\"path\": \"a\", \"line\": 2}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    (
        "deepseek-r1-unbarred",
        "<tool▁calls▁begin>\n<tool▁call▁begin>\nfunction<tool▁sep>read\n```json\n{\"path\": \"a\", \"line\": 2}\n```\n<tool▁call▁end>\n<tool▁calls▁end>",
    ),
    (
        "deepseek-r1-function",
        "function<read>\n```json\n{\"path\": \"a\", \"line\": 2}\n```",
    ),
    (
        "deepseek-r1-list",
        "function\n```json\n{\"tools\": [{\"name\": \"read\", \"arguments\": {\"path\": \"a\", \"line\": 2}}]}\n```",
    ),
    (
        "deepseek-r1-tags",
        "<tool_call>\nfunction</think>read\n```json\n{\"path\": \"a\", \"line\": 2}\n```\n</tool_call>",
    ),
    (
        "harmony",
        "<|channel|>commentary to=functions.read <|constrain|>json<|message|>{\"path\": \"a\", \"line\": 2}<|call|>",
    ),
    (
        "harmony",
        "<|start|>assistant to=functions.read<|channel|>commentary? code<|message|>{\"path\": \"a\", \"line\": 2}<|end|>",
    ),
    (
        "inkling",
        "read<|content_invoke_tool_json|>{\"name\":\"read\",\"args\":{\"path\":\"a\",\"line\":2}}<|end_message|>",
    ),
    (
        "muse-glimmer",
        "to=read<|message|><atem:function_calls>\n<atem:invoke name=\"read\">\n<atem:parameter name=\"path\">a</atem:parameter>\n\
         <atem:parameter name=\"line\">2</atem:parameter>\n</atem:invoke>\n</atem:function_calls>",
    ),
    (
        "kimi-k3",
        "<|open|>tools<|sep|><|open|>call tool=\"read\" index=\"1\"<|sep|><|open|>argument key=\"path\" type=\"string\"<|sep|>a\
         <|close|>argument<|sep|><|open|>argument key=\"line\" type=\"number\"<|sep|>2<|close|>argument<|sep|><|close|>call<|sep|>\
         <|close|>tools<|sep|>",
    ),
    (
        "minimax-m3",
        "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"read\">]<]minimax[>[<path>a]<]minimax[>[</path>]<]minimax[>[<line>2\
         ]<]minimax[>[</line>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
    ),
];

/// Templates whose own format takes a part of such a call for all of it.
const APART: &[(&str, &str)] = &[
    ("json-bare", "deepseek-r1-list"),
    ("json-bare", "inkling"),
    ("ling-3", "minimax-m3"),
];

#[test]
fn each_dialect_is_read_by_every_template_that_has_free_content() {
    let call = ("read", json!({"path": "a", "line": 2}));
    let mut wrong = Vec::new();
    for template in builtin::names() {
        let params = params(
            template,
            &json!({"dialects": "always", "enable_thinking": false}),
        );
        if read(&params, "a text").message.content != "a text" {
            continue;
        }
        for (name, written) in DIALECTS {
            let ended = read(&params, &format!("I look.\n{written}"));
            let calls: Vec<_> = ended
                .message
                .tool_calls
                .iter()
                .map(|call| (&*call.name, &*call.arguments))
                .collect();
            let read = matches!(&*calls, [(name, arguments)] if *name == call.0 && serde_json::from_str::<Value>(arguments).is_ok_and(|all| all == call.1));
            let known = APART.contains(&(template, name));
            if (read && ended.message.content.trim_end() == "I look.") == known {
                wrong.push(format!(
                    "{template}, {name}: {:?} {calls:?}",
                    ended.message.content
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A call that nothing marks.
const BARE: &str = r#"{"name": "read", "arguments": {"path": "a", "line": 2}}"#;

/// What makes an output of the template `tag-json-id` leave its format.
const OFF_FORMAT: &str = "[TOOL_CALLS]no";

#[test]
fn each_dialect_is_read_once_the_output_has_left_the_format() {
    let params = params("tag-json-id", &json!({}));
    let call = ("read", json!({"path": "a", "line": 2}));
    for (name, written) in DIALECTS {
        let output = format!("{OFF_FORMAT} {written} More.");
        check(
            &params,
            &output,
            &format!("{OFF_FORMAT} More."),
            std::slice::from_ref(&call),
        );
        let ended = read(&params, &output);
        let found = ended
            .diagnostics()
            .iter()
            .find(|found| found.kind == DiagnosticKind::Dialect)
            .unwrap();
        assert_eq!(found.message, format!("a call in the format of {name}"));
        assert_eq!(found.call, Some(0));
        assert!(
            ended.calls()[0].complete && ended.calls()[0].known && ended.calls()[0].valid,
            "{written}: {ended:?}"
        );
    }
}

#[test]
fn dialects_are_read_nowhere_or_everywhere_as_the_request_says() {
    let (off, always) = (
        params("tag-json-id", &json!({"dialects": "off"})),
        params("tag-json-id", &json!({"dialects": "always"})),
    );
    let by_default = params("tag-json-id", &json!({}));
    let call = ("read", json!({"path": "a", "line": 2}));
    for (_, written) in DIALECTS {
        check(
            &off,
            &format!("{OFF_FORMAT} {written}"),
            &format!("{OFF_FORMAT} {written}"),
            &[],
        );
        let ended = read(&by_default, &format!("Text {written}"));
        assert_eq!(
            (ended.status, &*ended.message.content),
            (Status::Complete, &*format!("Text {written}"))
        );
        check(
            &always,
            &format!("Text\n{written}"),
            "Text",
            std::slice::from_ref(&call),
        );
    }
}

#[test]
fn several_calls_and_the_text_between_them() {
    let params = params("tag-json-id", &json!({}));
    let list = "<tool_call>{\"name\": \"list\", \"arguments\": {}}</tool_call>";
    let own = "[TOOL_CALLS]list[CALL_ID]abc123def[ARGS]{}";
    let none = json!({});
    let both = [("list", none.clone()), ("list", none)];
    check(
        &params,
        &format!("{OFF_FORMAT} {list}\nand\n{list} end"),
        &format!("{OFF_FORMAT}\nand end"),
        &both,
    );
    check(
        &params,
        &format!("{OFF_FORMAT} {list}{own}"),
        OFF_FORMAT,
        &both,
    );
    let two = "function\n```json\n{\"tools\": [{\"name\": \"list\", \"arguments\": {}}, {\"name\": \"list\", \"arguments\": {}}]}\n```";
    check(&params, &format!("{OFF_FORMAT} {two}"), OFF_FORMAT, &both);
}

#[test]
fn a_call_that_nothing_marks_counts_where_it_is_the_whole_answer() {
    let call = ("read", json!({"path": "a", "line": 2}));
    let by_default = params("tag-json-id", &json!({}));
    check(&by_default, BARE, "", std::slice::from_ref(&call));
    for quoted in [
        format!("Text {BARE}"),
        format!("{BARE} More."),
        format!("> {BARE}"),
    ] {
        assert_eq!(read(&by_default, &quoted).message.content, quoted);
    }
    check(
        &by_default,
        &format!("{OFF_FORMAT} {BARE} More."),
        &format!("{OFF_FORMAT} {BARE} More."),
        &[],
    );
    let anywhere = params("tag-json-id", &json!({"bare_calls": "anywhere"}));
    check(
        &anywhere,
        &format!("{OFF_FORMAT} {BARE} More."),
        &format!("{OFF_FORMAT} More."),
        std::slice::from_ref(&call),
    );
    let always = params(
        "tag-json-id",
        &json!({"bare_calls": "anywhere", "dialects": "always"}),
    );
    check(
        &always,
        &format!("Text {BARE} More."),
        "Text More.",
        &[call],
    );
    let off = params("tag-json-id", &json!({"bare_calls": "off"}));
    assert_eq!(read(&off, BARE).message.content, BARE);
}

#[test]
fn a_call_that_breaks_off_keeps_what_was_read_and_loses_nothing() {
    let params = params("tag-json-id", &json!({}));
    let output = format!(
        "{OFF_FORMAT} <tool_call>{{\"name\": \"read\", \"arguments\": {{\"path\": \"a\", oops}}}} then <function=list></function>"
    );
    check(
        &params,
        &output,
        OFF_FORMAT,
        &[
            ("read", json!("{\"path\": \"a\", oops}} then")),
            ("list", json!({})),
        ],
    );
    let ended = read(&params, &output);
    assert_eq!(
        ended
            .calls()
            .iter()
            .map(|call| call.complete)
            .collect::<Vec<_>>(),
        [false, true]
    );
    let found = ended
        .diagnostics()
        .iter()
        .find(|found| found.kind == DiagnosticKind::UnfinishedCall)
        .unwrap();
    assert_eq!(found.call, Some(0));
    let written = "<tool_call>{\"name\": \"read\", \"arguments\": {\"path\": \"a\", oops}} then";
    assert_eq!(&output[found.span.clone()], written);
}

#[test]
fn text_that_goes_on_where_a_call_was_shown_is_not_content_as_well() {
    let params = params("inkling", &json!({}));
    let output = "end_meread<|content_invoke_tool_json|>{\"name\":\"read\",\"args\":{\"path\":\"a\"}}<|ssage|>";
    let ended = read(&params, output);
    assert_eq!(ended.message.tool_calls.len(), 1, "{ended:?}");
    assert!(!ended.message.content.contains("path"), "{ended:?}");
}

#[test]
fn a_broken_call_keeps_its_text_in_its_arguments() {
    let json = "<tool_call>\n{\"name\": \"read\", \"arguments\": ARGUMENTS}\n</tool_call>";
    let tags = "<tool_call>\n<function=read>\nARGUMENTS\n</function>\n</tool_call>";
    for (template, call, arguments, kept) in [
        // JSON: the model's own bytes, without the markup around them.
        ("json-call", json, "[1, 2]", "[1, 2]"),
        ("json-call", json, "\"text\"", "\"text\""),
        ("json-call", json, "{\"path\": a}", "{\"path\": a}"),
        (
            "json-call",
            json,
            "{\"path\": \"a\"}, \"more\": 1",
            "{\"path\": \"a\"}, \"more\": 1",
        ),
        // One by one: what was read as JSON, and the rest.
        ("qwen3-coder", tags, "a plain text", "a plain text"),
        (
            "qwen3-coder",
            tags,
            "<parameter=line>\n12\n</parameter>\nand so on",
            "{\"line\":12and so on",
        ),
    ] {
        let thought = if template == "qwen3-coder" {
            "</think>\n\n"
        } else {
            ""
        };
        let output = thought.to_owned() + &call.replace("ARGUMENTS", arguments) + "\nText.";
        let params = params(template, &json!({}));
        let value = serde_json::from_str(kept).unwrap_or_else(|_| json!(kept));
        check(&params, &output, "\nText.", &[("read", value)]);
        let ended = read(&params, &output);
        let call = ended.calls()[0];
        assert!(
            !call.complete && !call.valid && ended.status == Status::Recovered,
            "{ended:?}"
        );
    }
}

#[test]
fn what_models_do_to_formats() {
    let read = |arguments: &str| vec![("read".to_owned(), arguments.to_owned())];
    let list = || vec![("list".to_owned(), "{}".to_owned())];
    let path = || read(r#"{"path":"a"}"#);
    for (template, output, reasoning, content, calls) in [
        // Headers that are not known, are written twice, or lack a part.
        (
            "gpt-oss",
            "<|channel|>commentary to=web.find <|constrain|>json<|message|>{}<|call|><|start|>assistant<|channel|>final<|message|>Done.",
            "web.find{}",
            "Done.",
            vec![],
        ),
        (
            "gpt-oss",
            "<|channel|>commentary <|constrain|>json<|message|>{}<|call|><|start|>assistant<|channel|>final<|message|>Done.",
            "{}",
            "Done.",
            vec![],
        ),
        (
            "gpt-oss",
            "<|channel|>analysis<|message|>Hm<|end|>It is 4.<|return|>",
            "Hm",
            "It is 4.",
            vec![],
        ),
        (
            "gpt-oss",
            "<|channel|>analysis<|message|>Hm<|end|>assistant<|channel|>final<|message|>4<|return|>",
            "Hm",
            "4",
            vec![],
        ),
        (
            "gpt-oss",
            "<|channel|>analysis<|message|>Hm<|end|><|start|><|channel|>final<|message|>4<|return|>",
            "Hm",
            "4",
            vec![],
        ),
        (
            "gpt-oss",
            "<|start|>assistant<|channel|>final<|message|>4<|return|>",
            "",
            "4",
            vec![],
        ),
        (
            "gpt-oss",
            " to=list<|channel|>commentary<|message|>{}<|call|>",
            "",
            "",
            list(),
        ),
        (
            "gpt-oss",
            "<|channel|>commentary to=functions.list<|message|>{}<|call|>commentary to=functions.list <|message|>{}<|call|>",
            "",
            "",
            [list(), list()].concat(),
        ),
        (
            "muse-glimmer",
            "<|message|><atem:function_calls>\n<atem:invoke name=\"read\">\n<atem:parameter name=\"path\">a</atem:parameter>\n</atem:invoke>\n</atem:function_calls>",
            "",
            "",
            path(),
        ),
        // Texts without quotes, or without the first.
        (
            "gemma-4",
            "<|tool_call>call:read{path:null,line:1}<tool_call|>",
            "",
            "",
            read(r#"{"path":null,"line":1}"#),
        ),
        (
            "gemma-4",
            "<|tool_call>call:read{path:a, b<|\"|>,line:1}<tool_call|>",
            "",
            "",
            read(r#"{"path":"a, b","line":1}"#),
        ),
        (
            "gemma-4",
            "<|tool_call>call:read{path:a}<tool_call|>",
            "",
            "",
            path(),
        ),
        // Line breaks with returns.
        (
            "qwen3-coder",
            "</think>\r\n\r\n<tool_call>\r\n<function=read>\r\n<parameter=path>\r\na\r\n</parameter>\r\n</function>\r\n</tool_call>",
            "",
            "",
            path(),
        ),
        // No section, or one that is misspelled; no end in front of that of the section.
        (
            "deepseek-v3.2",
            "</think>Hi.\n<｜DSML｜toolcalls>\n<｜DSML｜invoke name=\"list\">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
            "",
            "Hi.",
            list(),
        ),
        (
            "deepseek-v3.1",
            "</think>Hi.<｜tool▁call▁begin｜>list<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
            "",
            "Hi.",
            list(),
        ),
        (
            "hy-3",
            "<tool_calls:opensource>\n<tool_call:opensource>list\n</tool_calls:opensource>",
            "",
            "",
            list(),
        ),
    ] {
        let params = params(template, &json!({}));
        let ended = self::read(&params, output);
        let message = &ended.message;
        let found: Vec<_> = message
            .tool_calls
            .iter()
            .map(|call| (call.name.clone(), call.arguments.clone()))
            .collect();
        let got = (
            message.reasoning_content.trim(),
            message.content.trim(),
            found,
        );
        assert_eq!(got, (reasoning, content, calls), "{template}: {output:?}");
        let wrong = check_streaming(&params.parser, output.as_bytes(), false);
        assert!(wrong.is_empty(), "{output:?}: {}", wrong.join("\n"));
    }
}

#[test]
fn json_in_the_markers_of_another_format_is_a_call() {
    let json = "{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}";
    for (template, [open, close]) in [
        ("tag-arguments", ["<tool_call>", "</tool_call>"]),
        (
            "muse-glimmer",
            ["<atem:function_calls>\n", "\n</atem:function_calls>"],
        ),
    ] {
        let output = format!("{open}{json}{close}");
        let ended = read(&params(template, &json!({})), &output);
        let calls: Vec<_> = ended
            .message
            .tool_calls
            .iter()
            .map(|call| (&*call.name, &*call.arguments))
            .collect();
        assert_eq!(
            (&*ended.message.content, &*calls),
            ("", &[("read", "{\"path\": \"a\"}")][..]),
            "{template} {output:?}"
        );
    }
}

#[test]
fn the_bracket_around_calls_is_no_text_in_front_of_text() {
    let call = "{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}, \"id\": \"abc123456\"}";
    let params = params("json-array-ids", &json!({}));
    for text in [" Here, a[0].", "Here", "\n\nHere"] {
        let output = format!("[TOOL_CALLS][{call}]{text}");
        check(&params, &output, text, &[("read", json!({"path": "a"}))]);
    }
}

#[test]
fn what_only_looks_like_a_call_is_text() {
    let params = params("tag-json-id", &json!({}));
    for text in [
        "<tool_call> is a tag",
        "{\"name\": \"other\", \"arguments\": {}}",
        "{\"name\": \"read\"}",
        "{\"arguments\": \"text\", \"name\": \"read\"}",
        "function<T> and function\n```json\n{}\n```",
        "<|channel|>commentary?<|message|>..",
        "<|start|>assistant hm to=functions.read<|channel|>commentary{}",
        "a < b, <function = x>, <invoke>",
        "bytes {\u{0} } [1, 2]\n\n",
    ] {
        let output = format!("{OFF_FORMAT} {text}");
        check(&params, &output, &output, &[]);
    }
}

#[test]
fn unknown_tools_are_calls_or_content() {
    let written = "<tool_call>{\"name\": \"other\", \"arguments\": {\"x\": 1}}</tool_call>";
    let tagged = "<function=other><parameter=x>1</parameter><parameter=y>b</parameter></function>";
    let keep = params("tag-json-id", &json!({}));
    check(
        &keep,
        &format!("{OFF_FORMAT} {written}"),
        OFF_FORMAT,
        &[("other", json!({"x": 1}))],
    );
    check(
        &keep,
        &format!("{OFF_FORMAT} {tagged}"),
        OFF_FORMAT,
        &[("other", json!({"x": 1, "y": "b"}))],
    );
    assert!(!read(&keep, &format!("{OFF_FORMAT} {written}")).calls()[0].known);
    let content = params("tag-json-id", &json!({"unknown_tools": "content"}));
    for written in [written, tagged] {
        let output = format!("{OFF_FORMAT} {written}");
        check(&content, &output, &output, &[]);
    }
}

#[test]
fn broken_bytes_between_calls() {
    let params = params("tag-json-id", &json!({}));
    let mut output = format!("{OFF_FORMAT} ").into_bytes();
    output.extend(b"\xE6\x80 \xFF<tool_call>{\"name\": \"list\", \"arguments\": {}}\xF0\x9F");
    let ended = params.parser.read(&output, EndedBy::Model);
    assert_eq!(
        ended.message.content,
        format!("{OFF_FORMAT} \u{fffd} \u{fffd}\u{fffd}")
    );
    assert_eq!(ended.message.tool_calls.len(), 1);
    let wrong = check_streaming(&params.parser, &output, false);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a call is made of does not depend on how much of it had shown before it broke off.
#[test]
fn a_broken_call_comes_from_the_same_bytes_however_the_output_is_cut() {
    let params = params("minimax-m3", &json!({}));
    let tag = |text: &str| format!("]<]minimax[>[<{text}>");
    let [section, section_end] = ["tool_call", "/tool_call"].map(tag);
    let list = format!("{}{}", tag("invoke name=\"list\""), tag("/invoke"));
    let read = [
        tag("invoke name=\"read\""),
        tag("line") + "4" + &tag("/line"),
        tag("path") + &tag("/path"),
    ]
    .concat();
    let output = format!("{section}{list}{section_end}{section}{read}]<</invoke>{section_end}");
    check(
        &params,
        &output,
        "",
        &[
            ("list", json!({})),
            ("read", json!("{\"line\":4,\"path\":\"\"]<")),
        ],
    );
}

/// Such an output is the beginning of one that fits, so nothing of it is wrong; but nothing will
/// come that shows the rest.
#[test]
fn text_that_never_came_to_show_is_told_where_the_model_ended() {
    let params = params("tag-arguments", &json!({}));
    let value = "</arg_key>\n<arg_value>{\"l }</arg_value>\n<arg_val<arg_value>0E6</arg_value>\n</tool_call>";
    let output = format!("Text<tool_call>\nfoo\n<arg_key>a{value}");
    let broken = "{\"a\":{\"l }</arg_value>\n<arg_val<arg_value>0E6</arg_value>";
    check(&params, &output, "Text", &[("foo", json!(broken))]);
    // Half a name is text, unless more may come.
    let output = "Text<tool_call>\nli";
    for (cut_off, content, status) in [
        (false, output, Status::Recovered),
        (true, "Text", Status::Partial),
    ] {
        let ended = params
            .parser
            .read(output.as_bytes(), EndedBy::limit_if(cut_off));
        assert_eq!(
            (ended.message.content.as_str(), ended.status),
            (content, status)
        );
    }
}

/// The opening of the reasoning once more: behind one of the output, and behind one of the prompt.
#[test]
fn reasoning_opened_again() {
    let default = json!({});
    let as_text = json!({"opening_again": "reasoning"});
    for (template, name, in_prompt) in [
        ("json-call", "think", false),
        ("kimi-k2", "think", false),
        ("minimax-m3", "mm:think", false),
        ("tag-arguments", "think", false),
        ("deepseek-v3.2", "think", true),
        ("minicpm5", "think", true),
        ("qwen3-coder", "think", true),
    ] {
        let open = format!("<{name}>");
        let before = if in_prompt { "" } else { &open };
        let output = format!("{before}{open}Hm</{name}>Wait.");
        for (options, reasoning) in [(&default, "Hm".to_owned()), (&as_text, format!("{open}Hm"))] {
            let (message, _) = parse(&params(template, options).parser, output.as_bytes(), false);
            let found = (&message["reasoning"], &message["content"]);
            assert_eq!(
                found,
                (&json!(reasoning), &json!("Wait.")),
                "{template}, {options}"
            );
        }
    }
}

#[test]
fn calls_without_an_end_are_settled_as_the_host_asks() {
    let whole = "<tool_call>\n{\"name\": \"list\", \"arguments\": {}}\n</tool_call>";
    let half = "\n<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a";
    let list = || ("list", json!({}));
    let read_half = || ("read", json!("{\"path\": \"a"));
    for (option, before, content, calls) in [
        ("keep", whole, "Text", vec![list(), read_half()]),
        ("drop", whole, "Text", vec![list()]),
        // The end of the call before is not known to be read before the next one is.
        (
            "content",
            whole,
            &*format!("Text\n</tool_call>{half}"),
            vec![list()],
        ),
        ("keep", "", "Text", vec![read_half()]),
        ("drop", "", "Text", vec![]),
        ("content", "", &*format!("Text{half}"), vec![]),
    ] {
        let params = params("json-call", &json!({"incomplete_calls": option}));
        let output = format!("Text{before}{half}");
        let ended = params.parser.read(output.as_bytes(), EndedBy::Limit);
        let found = (
            &*ended.message.content,
            ended.message.tool_calls.len(),
            ended.calls().len(),
        );
        assert_eq!(
            found,
            (content, calls.len(), calls.len()),
            "{option} {ended:?}"
        );
        for (call, (name, arguments)) in ended.message.tool_calls.iter().zip(&calls) {
            let expected = arguments
                .as_str()
                .map_or_else(|| arguments.to_string(), str::to_owned);
            assert_eq!((&*call.name, &call.arguments), (*name, &expected));
        }
        // Its bytes are told, and what is content comes from there.
        let unfinished = ended
            .diagnostics()
            .iter()
            .find(|found| found.kind == DiagnosticKind::UnfinishedCall)
            .unwrap();
        assert!(
            output[unfinished.span.clone()].contains("read"),
            "{unfinished:?}"
        );
        let written = ended
            .spans(DeltaKind::Content, 0)
            .iter()
            .map(|span| &output[span.clone()]);
        assert_eq!(written.collect::<String>(), content);
    }
}

/// What models leave out, write twice or only mention, in formats that show it: the message, and
/// whether it counts as the format's.
#[test]
fn parts_that_lack_an_end_or_a_marker() {
    let header = |channel: &str| format!("<|start|>assistant<|channel|>{channel}<|message|>");
    let open = "<|channel|>analysis<|message|>";
    let like_a_call = "{\"name\": \"list\", \"arguments\": {}}";
    let path = || vec![("read", json!({"path": "a"}))];
    let invoke = "<atem:invoke name=\"read\">\n<atem:parameter name=\"path\">a</atem:parameter>\n</atem:invoke>\n";
    for (template, output, reasoning, content, calls) in [
        // A part ends where the next one opens; what the format marks as the answer is text.
        ("gpt-oss", format!("{open}Why{}Answer", header("final")), "Why", "Answer", vec![]),
        ("gpt-oss", format!("{open}Why<|end|>{}{like_a_call}", header("final")), "Why", like_a_call, vec![]),
        (
            "gpt-oss",
            "<|channel|>analysis<|message|>Why<|end|><|channel|>final<|message|>Answer<|return|>".to_owned(),
            "Why",
            "Answer",
            vec![],
        ),
        // Arguments, a marker in front of a value, all markers of arguments.
        ("json-call", "<tool_call>\n{\"name\": \"list\"}\n</tool_call>".to_owned(), "", "", vec![("list", json!({}))]),
        (
            "tag-arguments",
            "<tool_call>read\n<arg_key>path</arg_key>\na</arg_value>\n</tool_call>".to_owned(),
            "",
            "",
            path(),
        ),
        ("tag-arguments", "<tool_call>read\n{\"path\": \"a\"}\n</tool_call>".to_owned(), "", "", path()),
        // A quote inside a text of Python, which ends in front of what may follow.
        (
            "lfm2",
            "<|tool_call_start|>[read(path=\"a \"b\" c\", line=1)]<|tool_call_end|>".to_owned(),
            "",
            "",
            vec![("read", json!({"path": "a \"b\" c", "line": 1}))],
        ),
        // An id with its marker, the end of a value, a section without calls.
        ("tag-json-id", "[TOOL_CALLS]read[ARGS]{\"path\": \"a\"}".to_owned(), "", "", path()),
        (
            "tag-arguments",
            "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a\n</tool_call>".to_owned(),
            "",
            "",
            path(),
        ),
        (
            "qwen3-coder",
            "</think><tool_call>\n<function=read>\n<parameter=line>\n12\n</function>\n</tool_call>".to_owned(),
            "",
            "",
            vec![("read", json!({"line": 12}))],
        ),
        // The end of a call in front of more text is text.
        (
            "tag-arguments",
            "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a</tool_call>; b</arg_value>\n</tool_call>"
                .to_owned(),
            "",
            "",
            vec![("read", json!({"path": "a</tool_call>; b"}))],
        ),
        ("kimi-k2", "Text<|tool_calls_section_begin|><|tool_calls_section_end|>".to_owned(), "", "Text", vec![]),
        (
            "gemma-4",
            "<|channel>thought\nWhy\n<channel|><|channel>thought\nThen\n<channel|>Text".to_owned(),
            "Why\nThen\n",
            "Text",
            vec![],
        ),
        // Markers between calls, an end that comes twice, and the end of a message in front of
        // another one.
        (
            "gemma-4",
            "<|tool_call>call:read{path:<|\"|>a<|\"|>}call:read{path:<|\"|>a<|\"|>}<tool_call|><tool_call|>".to_owned(),
            "",
            "",
            [path(), path()].concat(),
        ),
        (
            "muse-glimmer",
            format!(
                " to=read<|message|><atem:function_calls>\n{invoke}{invoke}</atem:function_calls><|start|>assistant to=user\
                 <|message|>Text<|eot|>"
            ),
            "",
            "Text",
            [path(), path()].concat(),
        ),
    ] {
        let params = params(template, &json!({}));
        let (message, status) = parse(&params.parser, output.as_bytes(), false);
        let calls: Vec<Value> =
            calls.iter().map(|(name, arguments)| json!({"name": name, "arguments": arguments, "id": ""})).collect();
        assert_eq!(message, json!({"reasoning": reasoning, "content": content, "calls": calls}), "{template} {output}");
        assert_eq!(status, Status::Complete, "{template} {output}");
        let wrong = check_streaming(&params.parser, output.as_bytes(), false);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// The arguments of a tool that nobody offers must begin, or its marker is text.
#[test]
fn a_marker_that_is_only_mentioned_is_text() {
    let params = params("tag-json", &json!({}));
    let output = "Why.<|content|>Docs mention <function=name> together.";
    let message = read(&params, output).message;
    assert_eq!(
        (
            message.tool_calls.len(),
            message.content + &message.reasoning_content
        ),
        (0, output.to_owned())
    );
}

/// A model that forgets the wrapper of its calls writes its own keys, or those of others.
#[test]
fn bare_calls_have_the_keys_of_the_format_too() {
    let source = "{%- for m in messages -%}<|{{ m.role }}|>{{ m.content or '' }}{%- for c in m.tool_calls or [] -%}\n```tool\n\
        {\"tool\": \"{{ c.function.name }}\", \"input\": {{ c.function.arguments | tojson }}}\n```{%- endfor -%}<|end|>\
        {%- endfor -%}{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}{%- if tools %}{% endif -%}";
    let template = ChatTemplate::new(source, "", "").unwrap();
    let body = json!({"messages": [{"role": "user", "content": "Hi"}], "tools": [{"type": "function", "function": {"name": "read"}}]});
    let params = template
        .params(&Request::from_json(&body).unwrap())
        .unwrap();
    let call = |path: &str| ("read", json!({"path": path}));
    for output in [
        r#"{"tool": "read", "input": {"path": "a"}}"#,
        r#"{"input": {"path": "a"}, "tool": "read"}"#,
        r#"{"name": "read", "arguments": {"path": "a"}}"#,
        r#"<tool_call>{"tool": "read", "input": {"path": "a"}}</tool_call>"#,
    ] {
        check(&params, output, "", &[call("a")]);
    }
    let stored = Parser::from_text(&params.parser.to_text()).unwrap();
    let two =
        r#"{"tool": "read", "input": {"path": "a"}}, {"tool": "read", "input": {"path": "b"}}"#;
    assert_eq!(
        stored
            .read(two.as_bytes(), EndedBy::Model)
            .message
            .tool_calls
            .len(),
        2
    );
    // Text, as ever: a tool that is not offered, and an object in an answer.
    for text in [
        r#"{"tool": "write", "input": {}}"#,
        r#"So: {"tool": "read", "input": {}}"#,
    ] {
        assert_eq!(read(&params, text).message.content, text);
    }
    // Templates whose calls have other keys do not know these.
    let text = r#"{"tool": "read", "input": {}}"#;
    assert_eq!(
        read(&self::params("json-call", &json!({})), text)
            .message
            .content,
        text
    );
}

/// Two meanings of leaving a format: its first unusual byte, and the byte from which on it was
/// given up.
#[test]
fn where_an_output_left_its_format() {
    let params = params("json-call", &json!({}));
    let unknown = "<tool_call>\n{\"name\": \"none\", \"arguments\": {}}\n</tool_call>";
    let [at, end] = ["none", "\n</tool_call>"].map(|text| unknown.find(text).unwrap());
    for (output, given_up) in [
        (unknown.to_owned(), None),
        (format!("{unknown}\n<foo>"), Some(end)),
    ] {
        let ended = read(&params, &output);
        let kind = |kind| move |found: &&Diagnostic| found.kind == kind;
        let left = ended
            .diagnostics()
            .iter()
            .find(kind(DiagnosticKind::LeftFormat))
            .map(|found| found.span.start);
        assert_eq!(
            (ended.status, ended.left_at, left),
            (Status::Recovered, Some(at), given_up),
            "{output}"
        );
        assert!(
            ended
                .diagnostics()
                .iter()
                .any(|found| kind(DiagnosticKind::UnknownTool)(&found) && found.span.start == at)
        );
    }
}

/// A model that writes YAML as people do, where the template quotes each text.
#[test]
fn a_line_without_quotes_is_a_text() {
    let source = "{%- for m in messages -%}{{- '<|' ~ m.role ~ '|>\n' ~ (m.content or '') -}}{%- for c in m.tool_calls or [] -%}\
        {{- '\n---call\ntool: ' ~ c.function.name ~ '\nwith:' -}}{%- for k, v in c.function.arguments.items() -%}\
        {{- '\n  ' ~ k ~ ': ' ~ v | tojson -}}{%- endfor -%}{{- '\n---end' -}}{%- endfor -%}{{- '<|end|>\n' -}}{%- endfor -%}\
        {%- if add_generation_prompt -%}{{- '<|assistant|>\n' -}}{%- endif -%}{%- if tools -%}{%- endif -%}";
    let template = ChatTemplate::new(source, "", "").unwrap();
    let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}, "line": {"type": "integer"}}});
    let tool = json!({"type": "function", "function": {"name": "read", "parameters": parameters}});
    let request = json!({"messages": [{"role": "user", "content": "Hi"}], "tools": [tool]});
    let params = template
        .params(&Request::from_json(&request).unwrap())
        .unwrap();
    for (lines, expected) in [
        (
            "path: \"a b\"\n  line: 3",
            json!({"path": "a b", "line": 3}),
        ),
        ("path: a b\n  line: 3", json!({"path": "a b", "line": 3})),
        (
            "line: 3\n  path: a: \"b\", #c",
            json!({"line": 3, "path": "a: \"b\", #c"}),
        ),
        ("path: 3", json!({"path": "3"})),
        ("path: \n  line: 3", json!({"path": "", "line": 3})),
    ] {
        let output = format!("\n---call\ntool: read\nwith:\n  {lines}\n---end");
        let ended = read(&params, &output);
        let arguments: Value =
            serde_json::from_str(&ended.message.tool_calls[0].arguments).unwrap();
        assert_eq!(
            (arguments, ended.status),
            (expected, Status::Complete),
            "{output}"
        );
        let wrong = check_streaming(&params.parser, output.as_bytes(), true);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
    // What is quoted and not closed is no such line.
    let open = read(&params, "\n---call\ntool: read\nwith:\n  path: \"a\n---end");
    assert!(
        !open.calls()[0].complete
            && open.message.tool_calls[0]
                .arguments
                .starts_with("{\"path\":\"a")
    );
}

/// OpenAI's object around a call has the id behind it.
#[test]
fn an_id_behind_the_wrapper_of_a_call_is_its_id() {
    let call = r#"{"type": "function", "function": {"name": "read", "arguments": {"path": "a"}}, "id": "call_7"}"#;
    let own = format!("<tool_call>\n{call}\n</tool_call>");
    for (template, output) in [
        ("json-call", format!("[TOOL_CALLS][{call}]")),
        ("json-call", own),
        ("json-bare", call.replace("arguments", "parameters")),
    ] {
        let params = params(template, &json!({}));
        let message = read(&params, &output).message;
        assert_eq!(
            (&*message.tool_calls[0].id, &*message.content),
            ("call_7", ""),
            "{template}"
        );
        let wrong = check_streaming(&params.parser, output.as_bytes(), true);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// What opens calls is no content where the output ends behind it, whether or not a call may begin
/// with more than that.
#[test]
fn an_output_that_ends_where_a_call_opens_was_cut_off() {
    for (template, open) in [
        ("json-call", "<tool_call>"),
        ("qwen3-coder", "<tool_call>\n"),
        ("deepseek-v3.1", "<｜tool▁calls▁begin｜>"),
        ("deepseek-v3.2", "<｜DSML｜function_calls>\n"),
        ("minimax-m3", "]<]minimax[>[<tool_call>"),
        ("seed-oss", "<seed:tool_call>"),
    ] {
        let params = params(template, &json!({"enable_thinking": false}));
        let [cut, text] = ["", "!"].map(|behind| format!("It rains.{open}{behind}"));
        let ended = read(&params, &cut);
        assert_eq!(
            (&*ended.message.content, ended.status),
            ("It rains.", Status::Partial),
            "{template}"
        );
        assert_eq!(read(&params, &text).message.content, text, "{template}");
        for output in [cut, text] {
            let wrong = check_streaming(&params.parser, output.as_bytes(), false);
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        }
    }
}

/// A call is there once its tool's name has ended, also where more would say that it has begun.
/// Half of a name is content; half of a marker after a call is not.
#[test]
fn an_output_that_ends_after_the_name_of_a_tool_has_the_call() {
    for (template, open, close) in [
        (
            "json-call",
            "<tool_call>\n{\"name\": \"",
            "\", \"arguments\": {}}\n</tool_call>\n<tool_ca",
        ),
        ("tag-arguments", "<tool_call>", "\n</tool_call>\n<tool_ca"),
        (
            "k2-horizon",
            "<ifm|tool_calls>\n<ifm|tool_call>",
            "\n</ifm|tool_call>\n</ifm|tool_ca",
        ),
        (
            "seed-oss",
            "<seed:tool_call>\n<function=",
            ">\n</function>\n</seed:tool_ca",
        ),
    ] {
        let params = params(template, &json!({"enable_thinking": false}));
        let half = format!("{open}lis");
        assert_eq!(read(&params, &half).message.content, half, "{template}");
        for end in 1..=close.len() {
            let output = format!("{open}list{}", &close[..end]);
            let ended = read(&params, &output);
            let names: Vec<&str> = ended
                .message
                .tool_calls
                .iter()
                .map(|call| &*call.name)
                .collect();
            assert_eq!(
                (&names[..], &*ended.message.content),
                (&["list"][..], ""),
                "{template}: {output:?}"
            );
            let wrong = check_streaming(&params.parser, output.as_bytes(), false);
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        }
    }
}

/// In front of the template's own calls stands what other templates write there: wrappers, a list's
/// bracket, an empty thought or the end of one. Reasoning that a template does not know is text
/// with its markers.
#[test]
fn what_others_write_in_front_of_calls_is_no_content() {
    let bare = r#"{"name": "list", "parameters": {}}"#;
    let tagged = "<tool_call>\n<function=list>\n</function>\n</tool_call>";
    for (template, output, content) in [
        (
            "json-bare",
            format!("Look.\n[TOOL_CALLS][{bare}]"),
            "Look.\n",
        ),
        (
            "json-bare",
            format!("Look.\n<tool_calls>[{bare}]</tool_calls>"),
            "Look.\n",
        ),
        ("json-bare", format!("Look.\n</think>\n\n{bare}"), "Look.\n"),
        (
            "json-bare",
            format!("Look.\n<think>\n\n</think>\n\n<tool_call>\n{bare}\n</tool_call>"),
            "Look.\n",
        ),
        (
            "json-bare",
            format!("<think>Look.</think>{bare}"),
            "<think>Look.</think>",
        ),
        (
            "qwen3-coder",
            format!("Look.\n</think>\n{tagged}"),
            "Look.\n",
        ),
    ] {
        let params = params(template, &json!({"enable_thinking": false}));
        let message = read(&params, &output).message;
        assert_eq!(
            (&*message.content, message.tool_calls.len()),
            (content, 1),
            "{output:?}"
        );
        let wrong = check_streaming(&params.parser, output.as_bytes(), false);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn calls_at_the_end_of_the_content_are_calls_only_whole_and_alone() {
    let params = params("tag-json-id", &json!({"dialects": "tail"}));
    let call = ("read", json!({"path": "a", "line": 2}));
    for (name, written) in DIALECTS.iter().filter(|(name, _)| *name != "json-in-tags") {
        let calls = std::slice::from_ref(&call);
        check(&params, &format!("I look.\n{written}"), "I look.", calls);
        for text in [
            format!("I would write {written}, but need not."),
            format!("```\n{written}\n```\nis how."),
            format!("I look.\n{}", written.replacen("read", "no_tool", 1)),
            format!("I look.\n{}", written.replacen('2', "\"two\"", 1)),
        ] {
            let ended = read(&params, &text);
            assert_eq!(
                (ended.calls().len(), &*ended.message.content),
                (0, &*text),
                "{name}"
            );
        }
    }
}

/// What a template writes that is a dialect: calls with a marker, other than JSON with its usual
/// keys.
fn dialect_of(name: &str) -> Option<Value> {
    let builtin = builtin::find(name).unwrap();
    let template = Template::new(builtin.source, builtin.bos, builtin.eos).unwrap();
    let mut turn = turn::learn(&template.probing(), true);
    turn.edges
        .retain(|edge| edge.to == turn::SlotKind::Call || edge.from == turn::SlotKind::Call);
    turn.edges
        .iter_mut()
        .filter(|edge| edge.from != turn::SlotKind::Call)
        .for_each(|edge| edge.glue = edge.glue.trim_start());
    // A marker alone in front of JSON with its usual keys is a wrapper.
    let words = |edge: &turn::Edge| {
        edge.glue
            .head()
            .split_once('{')
            .is_some_and(|(before, _)| before.contains("> ") || before.contains("\n\n"))
    };
    let usual = turn
        .call_keys()
        .is_some_and(|[name, arguments]| name == "name" && arguments != "args");
    let usual = usual && !turn.edges.iter().any(words);
    let marked = turn
        .before_calls()
        .all(|glue| !glue.marker_spans().is_empty())
        || turn.marker_behind_names().is_some();
    // The parts of its headers are in any order: a row of its own.
    let harmony = turn
        .edges
        .iter()
        .any(|edge| edge.glue.head().contains("<|channel|>"));
    (!usual && !harmony && marked && !turn.calls.is_empty()).then(|| {
        (turn.opening, turn.delimiters, turn.stops) = Default::default();
        turn.spacing = Default::default();
        json!([name, starts_of(&turn), without_defaults(json!(turn))])
    })
}

/// A turn without the fields that say nothing; its edges and its reasoning have all.
fn without_defaults(mut turn: Value) -> Value {
    let says_nothing = |value: &Value| {
        let empty = [
            json!(""),
            json!([]),
            json!({}),
            json!(null),
            json!(false),
            json!("raw"),
            json!("free"),
        ];
        empty.contains(value)
    };
    match &mut turn {
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| *item = without_defaults(item.take())),
        Value::Object(fields) => {
            let has_all = ["shown", "quoted", "from"]
                .iter()
                .any(|field| fields.contains_key(*field));
            let shorter = std::mem::take(fields)
                .into_iter()
                .map(|(name, value)| (name, without_defaults(value)));
            *fields = shorter
                .filter(|(name, value)| has_all || name != "delimiters" && !says_nothing(value))
                .collect();
        }
        _ => {}
    }
    turn
}

/// The texts that such calls begin with: each marker in front of a name, as a model may leave out
/// those before it, and what opens and closes reasoning.
fn starts_of(turn: &turn::TurnFormat) -> Vec<String> {
    if turn.marker_behind_names().is_some() {
        return Vec::new();
    }
    let glues = turn
        .edges
        .iter()
        .filter(|edge| edge.to == turn::SlotKind::Call)
        .map(|edge| &edge.glue);
    let thoughts = turn
        .reasoning
        .iter()
        .flat_map(|thought| [&*thought.start, thought.open.head(), thought.close.head()]);
    let starts = glues
        .flat_map(markers)
        .chain(thoughts.map(|text| text.trim().to_owned()));
    let starts: BTreeSet<String> = starts
        .filter(|start| is_marker(start) && !THOUGHT.contains(&&**start))
        .collect();
    starts.into_iter().collect()
}

/// The markers in a text. A word in front of the first one belongs to it, and one behind the last
/// and behind one that stands there several times: without that it says nothing.
fn markers(glue: &turn::Glue) -> Vec<String> {
    let (text, spans) = (glue.head(), glue.marker_spans());
    let first = spans.first().map_or(0, |first| first.start);
    let ends = spans
        .iter()
        .skip(1)
        .map(|span| span.start)
        .chain([text.len()]);
    let marks = spans.iter().zip(ends).filter_map(|(span, end)| {
        let again = spans
            .iter()
            .filter(|other| text[(*other).clone()] == text[span.clone()])
            .count()
            > 1;
        let word = text[span.end..end].starts_with(char::is_alphanumeric);
        let end = if word && (again || end == text.len()) {
            end
        } else {
            span.end
        };
        let start = if span.start == first { 0 } else { span.start };
        (word || !again).then(|| text[start..end].trim().to_owned())
    });
    marks.collect()
}

#[test]
fn the_table_of_dialects_is_what_the_built_in_templates_write() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/stream/src/fallback/dialects.json");
    let learnt = builtin::names()
        .filter_map(dialect_of)
        .map(|row| row.to_string());
    // Rows of no template are written by hand, behind the others.
    let known: Vec<Value> = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let is_learnt = |row: &&Value| {
        row[0]
            .as_str()
            .is_some_and(|name| builtin::find(name).is_some())
    };
    let by_hand = known
        .iter()
        .filter(|row| !is_learnt(row))
        .map(Value::to_string);
    let rows: Vec<String> = learnt.chain(by_hand).collect();
    let text = format!("[\n{}\n]\n", rows.join(",\n"));
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        text,
        "UPDATE_SNAPSHOTS=1 writes it anew"
    );
}

#[test]
fn text_in_a_call_s_wrapper_is_content_and_the_end_of_that_is_none() {
    let params = params("qwen3-coder", &json!({"enable_thinking": false}));
    let call = "<tool_call>\n<function=list>\n</function>";
    for (text, content) in [
        (" CANARY </tool_call>", " CANARY "),
        (" CANARY </tool_call> more", " CANARY  more"),
        (
            " one </tool_call> two </tool_call>",
            " one  two </tool_call>",
        ),
    ] {
        check(
            &params,
            &format!("{call}{text}"),
            content,
            &[("list", json!({}))],
        );
    }
}

#[test]
fn line_breaks_between_tags_may_be_spelled_out() {
    let call = "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a\\n</arg_value>\n<arg_key>line</arg_key>\n<arg_value>2</arg_value>\n</tool_call>";
    for output in [call.to_owned(), "<tool_call>list\n</tool_call>".to_owned()] {
        let params = params("tag-arguments", &json!({}));
        let written = read(&params, &output).message;
        let spelled = read(&params, &output.replace('\n', "\\n")).message;
        assert_eq!(written.tool_calls.len(), 1, "{output:?}");
        assert_eq!(written.tool_calls, spelled.tool_calls, "{output:?}");
        let wrong = check_streaming(
            &params.parser,
            output.replace('\n', "\\n").as_bytes(),
            false,
        );
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// Calls as a list of Python's, without a marker.
const LIST: &str = "{%- for m in messages -%}{{- '<|' + m.role + '|>' -}}{{- m.content or '' -}}{%- if m.tool_calls -%}{{- '[' -}}\
    {%- for call in m.tool_calls -%}{{- call.function.name + '(' -}}{%- for k, v in call.function.arguments.items() -%}\
    {{- k + '=' + v | tojson -}}{{- ', ' if not loop.last -}}{%- endfor -%}{{- ')' -}}{{- ', ' if not loop.last -}}{%- endfor -%}\
    {{- ']' -}}{%- endif -%}{{- '<|end|>' -}}{%- endfor -%}{{- tools | tojson if tools -}}\
    {%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}";

#[test]
fn an_offered_call_shows_that_the_others_of_its_list_are_calls() {
    let template = ChatTemplate::new(LIST, "", "<|end|>").unwrap();
    let body = |more: Value| {
        let mut body = json!({"messages": [{"role": "user", "content": "Hi"}], "parallel_tool_calls": true, "tools": [
            {"type": "function", "function": {"name": "read", "parameters": {"type": "object",
                "properties": {"path": {"type": "string"}}}}}]});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        template
            .params(&Request::from_json(&body).unwrap())
            .unwrap()
    };
    let params = body(json!({}));
    let (known, other) = (("read", json!({"path": "a"})), ("other", json!({"x": 1})));
    check(
        &params,
        "[other(x=1), read(path='a')]",
        "",
        &[other.clone(), known.clone()],
    );
    check(
        &params,
        "[other(x=1), other(x=1), read(path='a')]",
        "",
        &[other.clone(), other.clone(), known.clone()],
    );
    check(
        &params,
        "[read(path='a'), other(x=1)]",
        "",
        &[known.clone(), other],
    );
    // Without an offered one it is text, and so is what only looks like a list.
    for text in [
        "[other(x=1)]",
        "[other(x=1), ",
        "[link](read(path='a'))",
        "See [other(x=1), read(path='a')].",
    ] {
        assert_eq!(read(&params, text).message.content, text);
    }
    let params = body(json!({"unknown_tools": "content"}));
    let text = "[other(x=1), read(path='a')]";
    assert_eq!(read(&params, text).message.content, text);
}

#[test]
fn the_recipient_of_a_message_is_no_content() {
    let params = params("muse-glimmer", &json!({}));
    let call = |name: &str| {
        format!(
            "<atem:function_calls><atem:invoke name=\"{name}\"></atem:invoke></atem:function_calls>"
        )
    };
    let thought = " to=self<|message|>z<|eom|><|start|>assistant to=x<|message|>";
    let answer = "<|eom|><|start|>assistant to=user<|message|>Done.";
    for (output, content, reasoning, name) in [
        (format!("{thought}{}", call("list")), "", "z\nx", "list"),
        (
            format!("{thought}{}{answer}", call("list")),
            "Done.",
            "z\nx",
            "list",
        ),
        (
            format!(" to=list.list<|message|>{}{answer}", call("list.list")),
            "Done.",
            "",
            "list",
        ),
        (format!("{thought}{}{answer}", call("x")), "Done.", "z", "x"),
        (
            format!(" to=x<|message|>Well.{answer}"),
            "Well.Done.",
            "x",
            "",
        ),
    ] {
        let message = read(&params, &output).message;
        let names: String = message.tool_calls.iter().map(|call| &*call.name).collect();
        assert_eq!(
            (&*message.content, &*message.reasoning_content, &*names),
            (content, reasoning, name),
            "{output}"
        );
        let wrong = check_streaming(&params.parser, output.as_bytes(), false);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn a_word_or_a_name_before_json_makes_it_a_call() {
    let list = r#"functools[{"name": "list", "arguments": {}}, {"name": "read", "arguments": {"path": "a"}}]"#;
    let both = [("list", json!({})), ("read", json!({"path": "a"}))];
    let named = "list\n{}\nread\n{\"path\": \"a\"}";
    for template in ["json-call", "json-bare"] {
        let params = params(template, &json!({"enable_thinking": false}));
        check(&params, list, "", &both);
        check(&params, named, "", &both);
        for text in ["unknown\n{}", "See list\n{}", "functools has none."] {
            assert_eq!(read(&params, text).message.content, text, "{template}");
        }
    }
}

#[test]
fn both_halves_of_a_pair_are_kept_or_none() {
    let call = "<tool_call>\n{\"name\": \"list\", \"arguments\": {}}\n</tool_call>";
    let params = params("json-call", &json!({}));
    let read_all = |output: String| {
        let wrong = check_streaming(&params.parser, output.as_bytes(), false);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        read(&params, &output)
    };
    for (behind, content, calls) in [(call, "", 2), ("Done.", "Done.", 1)] {
        let ended = read_all(format!(
            "<think>\nA.\n</think>\n\n{call}\n<think>\nNow b.\n</think>\n{behind}"
        ));
        assert_eq!(
            (&*ended.message.reasoning_content, &*ended.message.content),
            ("A.\nNow b.\n", content),
            "{behind}"
        );
        assert_eq!(ended.message.tool_calls.len(), calls);
    }
    let ended = read_all(format!("Shown:\n```json\n{call}\n```\nDone."));
    assert_eq!(ended.message.content, "Shown:\n```json\n```\nDone.");
    assert_eq!(ended.message.tool_calls.len(), 1);
}

/// One call, whose object the template closes on the line of its marker.
const TIGHT: &str = "{%- for m in messages -%}{{- '<|' + m.role + '|>' -}}{{- m.content or '' -}}{%- for call in m.tool_calls or [] -%}\
    {{- '<call>{\"name\": \"' + call.function.name + '\", \"arguments\": ' + call.function.arguments | tojson + '}</call>' -}}{%- endfor -%}\
    {{- '<|end|>' -}}{%- endfor -%}{{- tools | tojson if tools -}}{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}";

#[test]
fn a_marker_after_an_object_may_begin_a_line_and_a_header_may_end_an_output() {
    let template = ChatTemplate::new(TIGHT, "", "<|end|>").unwrap();
    let body = json!({"messages": [{"role": "user", "content": "Hi"}], "tools": [{"type": "function", "function": {"name": "read",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}}]});
    let params = template
        .params(&Request::from_json(&body).unwrap())
        .unwrap();
    let call = r#"<call>{"name": "read", "arguments": {"path": "a"}}"#;
    for output in [
        format!("{call}\n</call>"),
        format!("{call}</call><|end|><|assistant|>"),
    ] {
        let ended = params.parser.read(output.as_bytes(), EndedBy::Model);
        let call = &ended.message.tool_calls[0];
        assert_eq!(
            (&*call.arguments, &*ended.message.content),
            (r#"{"path": "a"}"#, ""),
            "{output:?}"
        );
        assert_eq!(ended.status, Status::Complete, "{output:?}");
        let wrong = check_streaming(&params.parser, output.as_bytes(), false);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
