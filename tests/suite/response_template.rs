//! Response templates: written of what was learnt, and read in its place.

use chatparse::response::Engine;
use chatparse::{
    ChatTemplate, EndedBy, ErrorKind, Message, Request, Stream, TemplateOptions, builtin,
};
use serde_json::{Value, json};

fn request() -> Request {
    let tool = json!({"type": "function", "function": {"name": "look_up", "parameters": {
        "type": "object", "properties": {"place": {"type": "string"}, "days": {"type": "integer"}}, "required": ["place"]}}});
    let body = json!({"messages": [{"role": "user", "content": "Hi"}], "tools": [tool], "reasoning_format": "auto"});
    Request::from_json(&body).unwrap()
}

/// What a template with this response template reads, byte by byte; the reader is the response
/// template.
fn read(source: &str, response_template: &Value, output: &str) -> Message {
    let mut options = TemplateOptions::default();
    options.response_template = response_template.clone();
    options.prove = false;
    let template = ChatTemplate::with_options(source, &options).unwrap();
    assert_eq!(template.reader(), "response-template");
    let params = template.params(&request()).unwrap();
    let mut stream = Stream::new(&params.parser);
    for byte in output.as_bytes().chunks(1) {
        stream.feed(byte).for_each(drop);
    }
    let ended = stream.finish(EndedBy::Model);
    assert_eq!(ended.status, chatparse::Status::Complete, "{output:?}");
    ended.message
}

fn field(open: &str, close: &str) -> Value {
    json!({"open": open, "close": close})
}

/// Reasoning in tags, and calls as JSON in tags.
fn tagged() -> Value {
    let mut calls = field("<tool_call>", "</tool_call>");
    calls["content"] = "json".into();
    calls["repeats"] = true.into();
    calls["transform"] = json!({"type": "function", "function": "{content}"});
    json!({
        "start_anchor": "<|im_start|>assistant\n",
        "defaults": {"role": "assistant"},
        "fields": {
            "reasoning_content": field("<think>", "</think>"),
            "tool_calls": calls,
            "content": {"close_pattern": r"<\|im_end\|>\s*"},
        },
    })
}

#[test]
fn what_was_learnt_is_written_and_read_again() {
    let source = builtin::find("json-call").unwrap().source;
    let written = ChatTemplate::builtin("json-call")
        .unwrap()
        .response_template()
        .unwrap();
    assert!(written.limits.is_empty(), "{:?}", written.limits);
    let json = written.template.to_json();
    assert_eq!(json["start_anchor"], "<|im_start|>assistant");
    assert_eq!(json["fields"]["reasoning_content"]["open"], "<think>");
    assert_eq!(json["fields"]["tool_calls"]["close"], "</tool_call>");
    let output = "<think>\nWhy.\n</think>\n\nSo.\n<tool_call>\n{\"name\": \"look_up\", \"arguments\": {\"place\": \"Oslo\"}}\n</tool_call>";
    let message = read(source, &json, output);
    assert_eq!(
        (&*message.reasoning_content, message.content.trim()),
        ("Why.", "So.")
    );
    assert_eq!(
        (
            &*message.tool_calls[0].name,
            &*message.tool_calls[0].arguments
        ),
        ("look_up", r#"{"place": "Oslo"}"#)
    );
}

#[test]
fn exports_name_what_they_cannot_say() {
    for name in builtin::names() {
        let report = ChatTemplate::builtin(name)
            .unwrap()
            .report(chatparse::ReportKind::ResponseTemplate);
        assert!(
            report["response_template"]["fields"]["content"].is_object(),
            "{name}: {report}"
        );
    }
    let tags = ChatTemplate::builtin("qwen3-coder")
        .unwrap()
        .response_template()
        .unwrap();
    assert!(
        tags.limits
            .iter()
            .any(|limit| limit.field == "tool_calls" && limit.message.contains("schemas"))
    );
}

/// Engines take the names of three fields, and texts that are not joined; one of them no group that
/// looks around.
#[test]
fn exports_fit_their_engines() {
    for name in builtin::names() {
        for engine in Engine::ALL.into_iter().skip(1) {
            let written = ChatTemplate::builtin(name)
                .unwrap()
                .response_template_for(engine)
                .unwrap();
            let json = written.template.to_json();
            for (field, value) in json["fields"].as_object().unwrap() {
                assert!(
                    ["thinking", "content", "tool_calls"].contains(&&**field),
                    "{name}: {field}"
                );
                assert!(
                    value["join"].is_null() || field == "tool_calls",
                    "{name}: {json:#}"
                );
            }
            let text = json.to_string();
            let looks = ["(?=", "(?!", "(?<=", "(?<!", r"\\Z"]
                .iter()
                .any(|sign| text.contains(sign));
            assert!(engine != Engine::VllmRust || !looks, "{name}: {json:#}");
            assert_eq!(engine.name().parse(), Ok(engine));
        }
    }
    // What that engine cannot have is told: a call that only a look ahead shows.
    let source = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls %}[{{ c.function.name }}({% for n, v in \
        c.function.arguments.items() %}{{ n }}={{ v | tojson }}{% if not loop.last %}, {% endif %}{% endfor %})]{% endfor %}<end>\
        {% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
    let written = ChatTemplate::new(source, "", "<end>")
        .unwrap()
        .response_template_for(Engine::VllmRust)
        .unwrap();
    assert!(
        written
            .limits
            .iter()
            .any(|limit| limit.field == "tool_calls"),
        "{:?}",
        written.limits
    );
}

/// Borders with any text, one that may be missing, blocks of thoughts, and calls in lists and
/// nested objects.
#[test]
fn borders_and_calls_of_many_kinds_are_read() {
    let calls = |open: Value, content: &str, transform: Value| {
        let mut calls = open;
        calls["content"] = content.into();
        calls["transform"] = transform;
        json!({"start_anchor": "<turn>", "fields": {"tool_calls": calls}})
    };
    let one = |message: &Message| {
        message
            .tool_calls
            .iter()
            .map(|call| (call.name.clone(), call.arguments.clone()))
            .collect::<Vec<_>>()
    };
    let captured = json!({"function": {"name": "{name}", "arguments": "{content}"}});
    // A header with words and tokens of which nobody needs to know.
    let header = json!({"open_pattern": r"<\|to\|>(?P<name>\w+).*?<\|text\|>", "close": "<|call|>", "repeats": true});
    let harmonic = calls(header, "json", captured);
    for words in ["", " <|as|>json", " code "] {
        let message = read(
            "",
            &harmonic,
            &format!("<|to|>look_up{words}<|text|>{{\"place\": \"Oslo\"}}<|call|>"),
        );
        assert_eq!(
            one(&message),
            [("look_up".into(), r#"{"place": "Oslo"}"#.into())],
            "{words:?}"
        );
    }
    let mut blocks = harmonic.clone();
    for (field, open) in [
        ("thinking", r"(?:<turn>)?[^<]*<\|why\|>"),
        ("content", r"(?:<turn>)?[^<]*<\|so\|>"),
    ] {
        blocks["fields"][field] =
            json!({"open_pattern": open, "close": "<|end|>", "repeats": true, "join": ""});
    }
    let message = read(
        "",
        &blocks,
        "<|why|>One.<|end|><turn><|why|>Two.<|end|><turn>me<|so|>So.<|end|>",
    );
    assert_eq!(
        (&*message.reasoning_content, &*message.content),
        ("One.Two.", "So.")
    );
    // Thoughts without a beginning.
    let thinks = json!({"start_anchor": "<turn>", "fields": {
        "thinking": {"open_pattern": r"(?:^|<think>\s*)", "close": "</think>"}, "content": {"open": "<so>", "close": "</so>"}}});
    let message = read("", &thinks, "Why.\n</think>\n\n<so>So.</so>");
    assert_eq!(
        (&*message.reasoning_content, &*message.content),
        ("Why.", "So.")
    );
    // Other members stand in front of the name.
    let list = calls(
        field("<do>", "</do>"),
        "json",
        json!({"function": {"name": "{tool_name}", "arguments": "{with}"}}),
    );
    let mut each = list.clone();
    each["fields"]["tool_calls"]["transform_each"] = true.into();
    let message = read(
        "",
        &each,
        r#"<do>[{"id": "0", "tool_name": "look_up", "with": {"place": "Oslo"}}]</do>"#,
    );
    assert_eq!(
        one(&message),
        [("look_up".into(), r#"{"place": "Oslo"}"#.into())]
    );
    each["fields"]["tool_calls"]["transform"] =
        json!({"function": {"name": "{f.n}", "arguments": "{f.a}"}});
    let message = read(
        "",
        &each,
        r#"<do>[{"f": {"n": "look_up", "a": {"place": "Oslo"}}}, {"f": {"n": "look_up", "a": {}}}]</do>"#,
    );
    assert_eq!(one(&message).len(), 2);
}

#[test]
fn a_response_template_needs_no_template() {
    let calls = "<think>Why.</think>So.<tool_call>{\"name\": \"look_up\", \"arguments\": {\"place\": \"Oslo\"}}</tool_call>";
    let message = read("", &tagged(), calls);
    assert_eq!(
        (
            &*message.reasoning_content,
            &*message.content,
            message.tool_calls.len()
        ),
        ("Why.", "So.", 1)
    );
    let file = json!({"response_template": tagged(), "eos_token": "<|im_end|>"}).to_string();
    assert_eq!(
        ChatTemplate::new(&file, "", "").unwrap().reader(),
        "response-template"
    );
}

#[test]
fn patterns_say_where_names_and_values_are() {
    let calls = |open: &str, more: Value| {
        let mut template = tagged();
        let shape =
            json!({"type": "function", "function": {"name": "{name}", "arguments": "{content}"}});
        template["fields"]["tool_calls"] = json!({"open_pattern": open, "close_pattern": r"</tool_call>\s*", "repeats": true, "transform": shape});
        for (name, value) in more.as_object().unwrap() {
            template["fields"]["tool_calls"][name] = value.clone();
        }
        template
    };
    let tag = r"<parameter=(?P<key>[^>\n]+)>\s*(?P<value>.*?)\s*</parameter>";
    let tags = calls(
        r"<tool_call>\s*<function=(?P<name>[^\n>]+)>",
        json!({"content": "xml-inline", "content_args": {"tag_pattern": tag}}),
    );
    let output = "<tool_call>\n<function=look_up>\n<parameter=place>\nOslo\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>";
    assert_eq!(
        read("", &tags, output).tool_calls[0].arguments,
        r#"{"place":"Oslo","days":3}"#
    );
    let json = calls(
        r#"<tool_call>(?P<name>\w+):\s*"#,
        json!({"content": "json"}),
    );
    let output = "<tool_call>look_up: {\"place\": \"Oslo\"}</tool_call>";
    assert_eq!(
        read("", &json, output).tool_calls[0].arguments,
        r#"{"place": "Oslo"}"#
    );
}

#[test]
fn the_proof_decides() {
    let source = builtin::find("json-call").unwrap().source;
    let mut other = tagged();
    other["fields"]["tool_calls"]["open"] = "<other>".into();
    let template = |response_template: &Value| {
        let mut options = TemplateOptions::default();
        options.response_template = response_template.clone();
        ChatTemplate::with_options(source, &options).unwrap()
    };
    assert_eq!(template(&tagged()).reader(), "response-template");
    assert_eq!(template(&other).reader(), "turn");
    let proof = template(&other).response_proof().unwrap().unwrap();
    assert!(proof.read_back < proof.cases, "{proof:?}");
    // That of a file is used only if it reads more, and one that cannot be read does no harm.
    let of_file = |response_template: Value| {
        let file =
            json!({"chat_template": source, "response_template": response_template}).to_string();
        ChatTemplate::new(&file, "", "").unwrap()
    };
    assert_eq!(of_file(tagged()).reader(), "turn");
    let broken = of_file(json!({"version": 2}));
    assert_eq!(broken.reader(), "turn");
    assert!(
        broken
            .response_proof()
            .unwrap()
            .unwrap_err()
            .message()
            .contains("version")
    );
    #[cfg(feature = "lint")]
    {
        use chatparse::lint::{Law, Verdict, lint};
        let verdict = |template: &ChatTemplate| lint(template).verdict(Law::Response);
        assert_eq!(verdict(&of_file(tagged())), Verdict::Holds);
        assert_eq!(
            [verdict(&of_file(other)), verdict(&broken)],
            [Verdict::Fault; 2]
        );
    }
}

#[test]
fn errors_name_the_place() {
    let with = |pointer: &str, value: Value| {
        let mut template = tagged();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        template.pointer_mut(parent).unwrap()[name] = value;
        template
    };
    let calls = "/fields/tool_calls";
    for (template, place) in [
        (json!([]), "response_template: "),
        (json!({"start_anchor": "a", "fields": {}}), ".fields: "),
        (with("/version", json!(2)), ".version: 2"),
        (with("/start_anchor", json!("")), ".start_anchor: "),
        (
            with("/start_anchor_pattern", json!("a")),
            ".start_anchor: there is",
        ),
        (
            with("/fields/summary", field("<s>", "</s>")),
            ".fields.summary: ",
        ),
        (
            with("/fields/content/opn", json!("a")),
            ".fields.content.opn: ",
        ),
        (
            with("/fields/content/content", json!("json")),
            ".fields.content.content: ",
        ),
        (
            with("/fields/reasoning_content/close", json!([1])),
            ".fields.reasoning_content.close: ",
        ),
        (
            with(&format!("{calls}/content"), json!("kv-lines")),
            ".fields.tool_calls.content: ",
        ),
        (
            with(&format!("{calls}/transform"), Value::Null),
            ".fields.tool_calls.transform: ",
        ),
        (
            with("/fields/content/close_pattern", json!("a(b|c")),
            ".fields.content.close_pattern: at byte 5",
        ),
        (
            with("/fields/content/close_pattern", json!("(?:".repeat(1000))),
            "nested too deeply",
        ),
        (
            with("/fields/content/close_pattern", json!("(a|b)".repeat(1000))),
            "too many choices",
        ),
        (
            with("/fields/content/close_pattern", json!("a".repeat(10_000))),
            "bytes, more than",
        ),
        (
            with("/fields/content/close_pattern", json!("[a-z]")),
            "at byte 0",
        ),
    ] {
        let mut options = TemplateOptions::default();
        options.response_template = template;
        let error = ChatTemplate::with_options("", &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains(place), "{place}: {error}");
    }
}

/// Hosts are told what a response template says, as they are told what was learnt.
#[test]
fn hosts_are_told() {
    let mut gemma = tagged();
    gemma["fields"]["content"]["close_pattern"] = r"(?:<\|im_end\|>|<\|pause\|>)\s*|$".into();
    let mut options = TemplateOptions::default();
    options.response_template = gemma;
    let params = ChatTemplate::with_options("", &options)
        .unwrap()
        .params(&request())
        .unwrap();
    assert_eq!(params.constraint.triggers()[0].value.trim(), "<tool_call>");
    assert_eq!(params.additional_stops, ["<|pause|>"]);
    let thinking = params.thinking.as_ref().unwrap();
    assert_eq!(
        (thinking.start.trim(), thinking.ends[0].trim()),
        ("<think>", "</think>")
    );
    for dialect in chatparse::grammar::Dialect::ALL {
        let printed = params.grammar_as(dialect).unwrap();
        assert!(
            printed.text.contains("tool_call") && printed.text.contains("look_up"),
            "{}",
            dialect.name()
        );
    }
}
