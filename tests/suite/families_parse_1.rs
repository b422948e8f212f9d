//! Dedicated formats, first part: Ministral 3, harmony, Muse Glimmer, Functionary 3.2. What their
//! built-in templates write is read back, and so are outputs that no template writes but models do;
//! each in one piece and cut in all other ways.

use crate::support::{check_streaming, parse};
use chatparse::internals::format::family_of;
use chatparse::{ChatTemplate, Params, Request, Status, builtin};
use serde_json::{Value, json};

const FAMILIES: [&str; 5] = [
    "ministral-3",
    "llm-jp-harmony",
    "gpt-oss",
    "muse-glimmer",
    "functionary-v3.2",
];

fn tools() -> Value {
    let tool = |name: &str, properties: Value, required: &[&str]| {
        let parameters = json!({"type": "object", "properties": properties, "required": required});
        json!({"type": "function", "function": {"name": name, "description": "A tool.", "parameters": parameters}})
    };
    json!([
        // One name begins with the other's.
        tool(
            "get",
            json!({"key": {"type": "string"}, "n": {"type": "integer"}}),
            &["key"]
        ),
        tool("get_all", json!({}), &[]),
        tool(
            "write",
            json!({"path": {"type": "string"}, "text": {"type": "string"}, "options": {"type": "object"}}),
            &["path", "text"]
        ),
    ])
}

fn message(reasoning: &str, content: &str, calls: &[(&str, Value)]) -> Value {
    let calls: Vec<Value> = calls
        .iter()
        .map(|(name, arguments)| json!({"name": name, "arguments": arguments, "id": ""}))
        .collect();
    json!({"reasoning": reasoning, "content": content, "calls": calls})
}

/// A request with the tools, unless `more` has others.
fn request(more: &Value) -> Request {
    let mut body = json!({
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Well?"}],
        "reasoning_format": "auto",
        "parallel_tool_calls": true,
        "tools": tools(),
    });
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    Request::from_json(&body).unwrap()
}

fn params(family: &str, more: &Value) -> Params {
    ChatTemplate::builtin(family)
        .unwrap()
        .params(&request(more))
        .unwrap_or_else(|error| panic!("{family}: {error}"))
}

/// What the family's template writes for a message, up to the end of the turn.
fn written(family: &str, said: &Value, more: &Value) -> String {
    let calls = said["calls"].as_array().unwrap().iter().map(|call| {
        let function = json!({"name": call["name"], "arguments": call["arguments"].to_string()});
        json!({"type": "function", "id": "1", "function": function})
    });
    let mut message = json!({"role": "assistant", "content": said["content"]});
    if said["reasoning"] != "" {
        message["reasoning_content"] = said["reasoning"].clone();
    }
    let calls: Vec<Value> = calls.collect();
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let template = ChatTemplate::builtin(family).unwrap();
    let mut request = request(more);
    let before = template.prompt(&request).unwrap();
    request.messages.extend(
        Request::from_json(&json!({"messages": [message]}))
            .unwrap()
            .messages,
    );
    request.add_generation_prompt = false;
    let all = template.prompt(&request).unwrap();
    let said = all
        .strip_prefix(&before)
        .unwrap_or_else(|| panic!("{family}: {all:?} begins with {before:?}"));
    said.strip_suffix(builtin::find(family).unwrap().eos)
        .unwrap_or(said)
        .to_owned()
}

/// Parses an output in every way; what is wrong with it.
fn check(
    family: &str,
    more: &Value,
    output: &str,
    expected: &Value,
    status: Status,
) -> Vec<String> {
    let parser = params(family, more).parser;
    let (message, ended) = parse(&parser, output.as_bytes(), false);
    let mut wrong = check_streaming(&parser, output.as_bytes(), status == Status::Complete);
    if message != *expected {
        wrong.push(format!("expected {expected}\n     got {message}"));
    }
    if ended != status {
        wrong.push(format!("the status is {}", ended.name()));
    }
    wrong
        .iter()
        .map(|wrong| format!("{family}, {more}: {output:?}\n  {wrong}"))
        .collect()
}

fn report(wrong: &[String]) {
    assert!(
        wrong.is_empty(),
        "{} failures:\n\n{}\n",
        wrong.len(),
        wrong.join("\n\n")
    );
}

/// Round trips of messages through the families' templates.
fn come_back(more: &Value, messages: &[Value]) {
    let mut wrong = Vec::new();
    for family in FAMILIES {
        for said in messages.iter().filter(|said| can_write(family, said, more)) {
            wrong.extend(check(
                family,
                more,
                &written(family, said, more),
                said,
                Status::Complete,
            ));
        }
    }
    report(&wrong);
}

/// Functionary has no reasoning; harmony's templates leave out content next to reasoning and calls;
/// where Muse Glimmer owes a call, it does not say anything before.
fn can_write(family: &str, said: &Value, more: &Value) -> bool {
    let (thinks, says, calls) = (
        said["reasoning"] != "",
        said["content"] != "",
        said["calls"] != json!([]),
    );
    match family {
        "functionary-v3.2" => !thinks,
        "gpt-oss" | "llm-jp-harmony" => !(thinks && says && calls),
        "muse-glimmer" => !(says && more["tool_choice"] == "required"),
        _ => true,
    }
}

fn messages_without_calls() -> Vec<Value> {
    vec![
        message("", "It rains.", &[]),
        message("", "First line.\n\n  * second\n\tthird", &[]),
        message("", "Grüße, 世界 🌧️ – ﷽ e\u{301}", &[]),
        message(
            "",
            "a < b, <| [x], [THIN, [TOOL_, <|en, <|eo, >> > >>>, >>> 1 + 1, <|channel, </atem",
            &[],
        ),
        message("Look at\nthe sky.", "It rains.", &[]),
        message("if a < b && <b>c</b> then {\"x\": 1} <|e [/TH", "No.", &[]),
    ]
}

fn messages_with_calls() -> Vec<Value> {
    let code =
        "fn main() {\n    let s = \"<a href='x'>{}</a>\\n\";\n    println!(\"{s}\"); // 100 %\n}\n";
    let get = || ("get", json!({"key": "Oslo", "n": -12}));
    let options =
        json!({"deep": {"er": [1, -2.5e3, null, true, {"ü": "\"'\\\u{1F600}"}]}, "empty": {}});
    vec![
        message("", "", &[get()]),
        message("I need it.", "", &[get()]),
        message("", "Let me look.", &[get()]),
        message("Think.", "Both, then:", &[get()]),
        message("", "", &[("get_all", json!({}))]),
        message(
            "",
            "",
            &[("get", json!({"key": "世界 🌧️ \"quoted\" 'single' \\ back"}))],
        ),
        message(
            "",
            "",
            &[("write", json!({"path": "src/main.rs", "text": code}))],
        ),
        message(
            "",
            "",
            &[(
                "write",
                json!({"path": "a.html", "text": "<p class=\"x\">&amp; [ARGS] <|en</p>"}),
            )],
        ),
        message(
            "",
            "",
            &[(
                "write",
                json!({"path": "", "text": "x", "options": options}),
            )],
        ),
    ]
}

fn messages_with_several_calls() -> Vec<Value> {
    let get = || ("get", json!({"key": "a"}));
    let write = || ("write", json!({"path": "b", "text": "line\nline"}));
    let all = || ("get_all", json!({}));
    vec![
        message("", "", &[get(), write()]),
        message("Why.", "", &[all(), get(), get()]),
        message("", "First this.", &[write(), all()]),
    ]
}

#[test]
fn built_in_templates_are_of_their_families() {
    for name in FAMILIES {
        let family = if name == "llm-jp-harmony" {
            "gpt-oss"
        } else {
            name
        };
        assert_eq!(
            family_of(builtin::find(name).unwrap().source).map(|family| &*family.name),
            Some(family)
        );
    }
}

#[test]
fn messages_come_back() {
    for more in [
        json!({}),
        json!({"enable_thinking": false}),
        json!({"tools": []}),
        json!({"tool_choice": "none"}),
    ] {
        come_back(&more, &messages_without_calls());
    }
}

#[test]
fn calls_come_back() {
    for more in [
        json!({}),
        json!({"parallel_tool_calls": false}),
        json!({"enable_thinking": false}),
    ] {
        come_back(&more, &messages_with_calls());
    }
    come_back(&json!({}), &messages_with_several_calls());
}

#[test]
fn required_calls_come_back() {
    let more = json!({"tool_choice": "required"});
    come_back(&more, &messages_with_several_calls());
    come_back(&more, &messages_with_calls());
}

#[test]
fn what_models_write() {
    let get = |n: i64| [("get", json!({"key": "a", "n": n}))];
    let cases = [
        (
            "gpt-oss",
            "<|channel|>commentary<|message|>Hello",
            message("", "Hello", &[]),
        ),
        ("gpt-oss", "<|message|>Hello", message("", "Hello", &[])),
        (
            "gpt-oss",
            "<|channel|>analysis<|message|>Why",
            message("Why", "", &[]),
        ),
        (
            "gpt-oss",
            "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>analysis<|message|>b<|end|>\
             <|start|>assistant<|channel|>final <|constrain|>text<|message|>c<|end|>",
            message("a\nb", "c", &[]),
        ),
        (
            "gpt-oss",
            "<|channel|>commentary to=assistant<|channel|>analysis<|message|>Why<|end|>\
             <|start|>assistant<|channel|>commentary<|channel|>final<|message|>So",
            message("Why", "So", &[]),
        ),
        (
            "gpt-oss",
            "<|channel|>analysis<|message|>Why<|end|><|start|>assistant<|channel|>commentary\
             <|channel|>commentary to=functions.get <|constrain|>json<|message|>{\"key\": \"a\", \"n\": 1}<|call|>",
            message("Why", "", &get(1)),
        ),
        (
            "gpt-oss",
            " to=functions.get<|channel|>analysis <|constrain|>json<|message|>{\"key\": \"a\", \"n\": 1}",
            message("", "", &get(1)),
        ),
        (
            "gpt-oss",
            "<|channel|>commentary to=functions.get_all json<|message|>{}<|call|>",
            message("", "", &[("get_all", json!({}))]),
        ),
        (
            "llm-jp-harmony",
            "<|channel|>analysis<|message|>Why<|end|><|start|>assistant to=functions.get<|channel|>commentary\
             <|message|>{\"key\": \"a\", \"n\": 1}<|end|>",
            message("Why", "", &get(1)),
        ),
        (
            "llm-jp-harmony",
            "<|channel|>  final<|message|>  text",
            message("", " text", &[]),
        ),
        (
            "muse-glimmer",
            "<|message|>To whom?<|eot|>",
            message("", "To whom?", &[]),
        ),
        (
            "muse-glimmer",
            " to=self<|message|>Why",
            message("Why", "", &[]),
        ),
        (
            "muse-glimmer",
            " to=get<|message|><atem:function_calls><atem:invoke name=\"get\"><atem:parameter name=\"n\">1\
             </atem:parameter><atem:parameter name=\"key\">a</atem:parameter></atem:invoke></atem:function_calls>",
            message("", "", &get(1)),
        ),
        (
            "ministral-3",
            "[THINK]Why[/THINK]Text [TOOL_CALLS]get[ARGS]{\"key\": \"a\", \"n\": 1}\n[TOOL_CALLS]get_all[ARGS]{}\n",
            message(
                "Why",
                "Text ",
                &[("get", json!({"key": "a", "n": 1})), ("get_all", json!({}))],
            ),
        ),
        ("ministral-3", "[THINK]Why", message("Why", "", &[])),
        (
            "functionary-v3.2",
            "get\n{\"key\": \"a\", \"n\": 1}\n>>>get_all\n{}\n",
            message(
                "",
                "",
                &[("get", json!({"key": "a", "n": 1})), ("get_all", json!({}))],
            ),
        ),
    ];
    let cases = cases.iter().flat_map(|(family, output, expected)| {
        // Reasoning without an end.
        let status = if output.ends_with("Why") {
            Status::Partial
        } else {
            Status::Complete
        };
        check(family, &json!({}), output, expected, status)
    });
    report(&cases.collect::<Vec<_>>());
}

#[test]
fn calls_of_tools_that_were_not_given_are_text() {
    let more = json!({"tools": []});
    let call = " to=container.exec<|channel|>commentary<|message|>python3 -c 'print(1)'";
    let output = format!("<|channel|>analysis<|message|>Run it.<|end|><|start|>assistant{call}");
    report(&check(
        "gpt-oss",
        &more,
        &output,
        &message("Run it.", call, &[]),
        Status::Complete,
    ));
    let output = format!("{output}<|end|><|start|>assistant<|channel|>final<|message|>1");
    report(&check(
        "gpt-oss",
        &more,
        &output,
        &message("Run it.", &format!("{call}1"), &[]),
        Status::Complete,
    ));
}

#[test]
fn structured_responses_are_content() {
    let more = json!({"tools": [], "json_schema": {"type": "object", "properties": {"answer": {"type": "integer"}}}});
    let value = "{\"answer\": 42}";
    let expected = message("Count.", value, &[]);
    let outputs = [
        (
            "ministral-3",
            format!("[THINK]Count.[/THINK]```json\n{value}\n```"),
        ),
        (
            "gpt-oss",
            format!(
                "<|channel|>analysis<|message|>Count.<|end|><|start|>assistant<|channel|>final <|constrain|>json\
                 <|message|>{value}"
            ),
        ),
        (
            "llm-jp-harmony",
            format!(
                "<|channel|> analysis<|message|> Count.<|end|><|start|> assistant<|channel|> final <|constrain|> json\
                 <|message|> {value}"
            ),
        ),
        (
            "muse-glimmer",
            format!(
                " to=self<|message|>Count.<|eom|><|start|>assistant to=user<|message|>```json\n{value}\n```<|eot|>"
            ),
        ),
        (
            "muse-glimmer",
            format!(" to=self<|message|>Count.<|eom|><|start|>assistant<|message|>{value}"),
        ),
    ];
    let cases = outputs
        .iter()
        .flat_map(|(family, output)| check(family, &more, output, &expected, Status::Complete));
    report(&cases.collect::<Vec<_>>());
}

#[test]
fn reasoning_stays_in_the_content_unless_it_is_asked_for() {
    let more = json!({"reasoning_format": "none"});
    let outputs = [
        (
            "ministral-3",
            "[THINK]Why?[/THINK]So.",
            "[THINK]Why?[/THINK]So.",
        ),
        (
            "gpt-oss",
            "<|channel|>analysis<|message|>Why?<|end|><|start|>assistant<|channel|>final<|message|>So.",
            "<|channel|>analysis<|message|>Why?<|end|>So.",
        ),
        (
            "muse-glimmer",
            " to=self<|message|>Why?<|eom|><|start|>assistant to=user<|message|>So.",
            " to=self<|message|>Why?<|eom|><|start|>assistant to=user<|message|>So.",
        ),
    ];
    let cases = outputs.iter().flat_map(|(family, output, content)| {
        check(
            family,
            &more,
            output,
            &message("", content, &[]),
            Status::Complete,
        )
    });
    report(&cases.collect::<Vec<_>>());
}

#[test]
fn what_does_not_fit_is_content() {
    let call = [("get_all", json!({}))];
    let cases = [
        (
            "ministral-3",
            "[TOOL_CALLS]other{}",
            message("", "[TOOL_CALLS]other{}", &[]),
        ),
        (
            "ministral-3",
            "[TOOL_CALLS]get_all[ARGS]{} and so on",
            message("", " and so on", &call),
        ),
        ("gpt-oss", "a <b", message("", "a <b", &[])),
        (
            "gpt-oss",
            " to=functions.get_alles<|message|>{}",
            message("", "", &[("get_alles", json!({}))]),
        ),
        (
            "functionary-v3.2",
            "get_all\n{} and so on",
            message("", " and so on", &call),
        ),
    ];
    // A marker of content may be missing.
    let bare = [
        ("functionary-v3.2", "plain text"),
        ("gpt-oss", "plain text"),
        ("llm-jp-harmony", "plain text"),
    ];
    let bare = bare.map(|(family, text)| (family, text, message("", text, &[])));
    let other = (
        "muse-glimmer",
        " to=other<|message|>text",
        message("other", "text", &[]),
    );
    let thought = "Well, <|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>";
    let [answer, calls] = [
        "final<|message|>so.",
        "commentary to=functions.get_all<|message|>{}",
    ];
    let behind = [
        (
            "gpt-oss",
            &*format!("{thought}{answer}"),
            message("Hm.", "Well, so.", &[]),
        ),
        (
            "gpt-oss",
            &format!(" {thought}{calls}"),
            message("Hm.", "Well, ", &call),
        ),
    ];
    let recovered = cases.iter().map(|case| (case, Status::Recovered));
    let cases = recovered
        .chain(
            bare.iter()
                .chain(&behind)
                .chain([&other])
                .map(|case| (case, Status::Complete)),
        )
        .flat_map(|((family, output, expected), status)| {
            check(family, &json!({}), output, expected, status)
        });
    report(&cases.collect::<Vec<_>>());
}

#[test]
fn messages_are_continued() {
    let mut wrong = Vec::new();
    for family in FAMILIES {
        let begun =
            json!({"role": "assistant", "content": "Once upon", "reasoning_content": "Tell."});
        let more = json!({"continue_final_message": true, "messages": [{"role": "user", "content": "Well?"}, begun]});
        let reasoning = if family == "functionary-v3.2" {
            ""
        } else {
            "Tell."
        };
        let expected = message(reasoning, "Once upon a time.", &[]);
        wrong.extend(check(
            family,
            &more,
            " a time.",
            &expected,
            Status::Complete,
        ));
    }
    report(&wrong);
}
