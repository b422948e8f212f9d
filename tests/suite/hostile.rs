//! Bad input, through the façade: an error of the right kind that says what and where, or a
//! message; never a panic, never a hang. What templates can do is in `template.rs`, and what is
//! large in `properties/bounded`; here is all that a request and a model can.

use chatparse::{ChatTemplate, EndedBy, ErrorKind, Params, Request, Status, Stream};
use serde_json::{Value, json};

const TOOL: &str = r#"{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "string"}}}}}"#;

fn params(name: &str) -> Params {
    let body = format!(
        r#"{{"messages": [{{"role": "user", "content": "Hi"}}], "reasoning_format": "auto", "tools": [{TOOL}]}}"#
    );
    ChatTemplate::builtin(name)
        .unwrap()
        .params(&Request::from_text(&body).unwrap())
        .unwrap()
}

fn request_error(body: &str) -> String {
    let error = Request::from_text(body).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{body}");
    error.message().to_owned()
}

fn template_error(source: &str) -> chatparse::Error {
    let request =
        Request::from_text(r#"{"messages": [{"role": "user", "content": "Hi"}]}"#).unwrap();
    ChatTemplate::new(source, "", "")
        .and_then(|template| template.params(&request))
        .unwrap_err()
}

#[test]
fn templates_that_fail() {
    for (source, kind, says) in [
        ("{{ 'a' }}\n{% if %}", ErrorKind::Template, "line 2"),
        (
            "{{ raise_exception('users first') }}",
            ErrorKind::Template,
            "users first",
        ),
        (
            "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
            ErrorKind::Limit,
            "",
        ),
        (
            "{% for i in range(99999) %}{% for j in range(99999) %}{{ 'x' * 9999 }}{% endfor %}{% endfor %}",
            ErrorKind::Limit,
            "",
        ),
        (
            "{{ messages[0].content.nope() }}",
            ErrorKind::Template,
            "line 1",
        ),
    ] {
        let error = template_error(source);
        assert_eq!(error.kind(), kind, "{source}: {error}");
        assert!(error.message().contains(says), "{source}: {error}");
    }
    assert_eq!(
        template_error(&"x".repeat(2 << 20)).kind(),
        ErrorKind::Limit
    );
}

#[test]
fn requests_that_are_none() {
    assert!(request_error("").contains("not JSON"));
    assert!(request_error("[]").contains("must be an object"));
    assert!(request_error("{}").contains("messages"));
    assert!(request_error(r#"{"messages": 7}"#).contains("messages"));
    assert!(
        request_error(
            r#"{"messages": [{"role": "user", "content": "a"}, {"role": 1, "content": ""}]}"#
        )
        .contains("messages[1].role")
    );
    assert!(
        request_error(&format!("{{\"messages\": {}", "[".repeat(100_000))).contains("not JSON")
    );
}

#[test]
fn an_empty_conversation_and_an_empty_output() {
    let template = ChatTemplate::builtin("chatml").unwrap();
    let params = template
        .params(&Request::from_text(r#"{"messages": []}"#).unwrap())
        .unwrap();
    assert_eq!(params.prompt, "<|im_start|>assistant\n");
    let (message, status) = params.parser.parse(b"", EndedBy::Model);
    assert_eq!((message.content.as_str(), status), ("", Status::Complete));
}

#[test]
fn ten_megabytes_of_anything() {
    let params = params("json-call");
    let call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": \"";
    let outputs = [
        "a".repeat(10 << 20),
        "<".repeat(10 << 20),
        "<think>".repeat((10 << 20) / 7),
        format!("{call}{}", "\\\\".repeat(5 << 20)),
        format!("{call}{}", "[{\"".repeat(3 << 20)),
        "[".repeat(10 << 20),
        format!("<tool_call>\n{}", "{\"name\": ".repeat(1 << 20)),
    ];
    for output in outputs {
        let start = &output[..60];
        let mut stream = Stream::new(&params.parser);
        let fed: usize = output
            .as_bytes()
            .chunks(1 << 16)
            .map(|chunk| stream.feed(chunk).map(|d| d.text.len()).sum::<usize>())
            .sum();
        let ended = stream.finish(EndedBy::Model);
        let message = &ended.message;
        let kept = message.content.len() + message.reasoning_content.len();
        // What follows a call that broke off is reported in a diagnostic.
        let reported = ended
            .diagnostics()
            .iter()
            .map(|diagnostic| diagnostic.message.len());
        let reported: usize = reported
            .chain(message.tool_calls.iter().map(|call| call.arguments.len()))
            .sum();
        let arguments: usize = message
            .tool_calls
            .iter()
            .map(|call| call.arguments.len())
            .sum();
        assert!(
            kept + reported + 64 > output.len(),
            "{start}: {kept} + {reported} of {}",
            output.len()
        );
        assert!(
            fed <= kept + arguments + message.tool_calls.len(),
            "{start}"
        );
    }
}

#[test]
fn bytes_that_are_no_text() {
    for name in chatparse::builtin::names() {
        let params = params(name);
        let (message, status) = params
            .parser
            .parse(b"a\xFF\xFEb\x00c\xE6\x80", EndedBy::Model);
        let text = message.reasoning_content + &message.content;
        // Where the format needs more, the last character may, too.
        let all = "a\u{FFFD}\u{FFFD}b\0c\u{FFFD}";
        let whole = text == all
            || status == Status::Partial && all.strip_suffix('\u{FFFD}') == Some(&*text);
        assert!(whole, "{name}: {text:?}");
    }
}

#[test]
fn strict_callers_get_an_error_with_the_place() {
    let params = params("json-call");
    let output = b"Hello <tool_call>\noops";
    let ended = params.parser.read(output, EndedBy::Model);
    let error = ended.strict(EndedBy::Model).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Parse);
    let (message, status) = params.parser.parse(output, EndedBy::Model);
    assert_eq!(status, Status::Recovered);
    assert_eq!(message.content, "Hello <tool_call>\noops");
}

#[test]
fn small_stacks_do() {
    let work = || {
        let params = params("json-call");
        let deep = format!(
            "<tool_call>\n{{\"name\": \"f\", \"arguments\": {{\"x\": {}",
            "[".repeat(1 << 20)
        );
        params.parser.parse(deep.as_bytes(), EndedBy::Model).1
    };
    let thread = std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(work)
        .unwrap();
    assert_eq!(thread.join().unwrap(), Status::Recovered);
}

#[test]
fn an_output_that_never_comes() {
    for name in chatparse::builtin::names() {
        let params = params(name);
        let unfed = Stream::new(&params.parser).finish(EndedBy::Model);
        let mut fed = Stream::new(&params.parser);
        assert_eq!(fed.feed(b"").len(), 0, "{name}");
        assert_eq!(fed.finish(EndedBy::Model), unfed, "{name}");
        assert_eq!(unfed.message.content, "", "{name}");
    }
}

#[test]
fn two_hundred_tools_and_one_that_is_broken() {
    let tool = |i: usize| {
        let fields: Vec<String> = (0..20)
            .map(|n| format!(r#""field_{n}": {{"type": ["string", "null"], "maxLength": 9000}}"#))
            .collect();
        let fields = fields.join(", ");
        format!(
            r#"{{"type": "function", "function": {{"name": "tool_{i}", "parameters": {{"type": "object", "properties": {{{fields}}}}}}}}}"#
        )
    };
    let broken = r##"{"type": "function", "function": {"name": "broken", "parameters": {"type": "object", "properties": {"x": {"$ref": "#/nowhere"}}}}}"##;
    let tools: Vec<String> = (0..200).map(tool).chain([broken.to_owned()]).collect();
    let body = format!(
        r#"{{"messages": [{{"role": "user", "content": "Hi"}}], "tool_choice": "required", "tools": [{}]}}"#,
        tools.join(", ")
    );
    for name in ["json-call", "tag-arguments"] {
        let params = ChatTemplate::builtin(name)
            .unwrap()
            .params(&Request::from_text(&body).unwrap())
            .unwrap();
        let grammar = params.grammar();
        assert!(
            grammar.text.len() < 8 << 20,
            "{name}: {} bytes",
            grammar.text.len()
        );
        chatparse::grammar::Recogniser::new(&grammar.text).unwrap();
        let refused = |entry: &&chatparse::grammar::Fidelity| {
            entry.kind == chatparse::grammar::FidelityKind::Refused
        };
        let refused: Vec<_> = grammar.report.iter().filter(refused).collect();
        let tools: std::collections::BTreeSet<_> =
            refused.iter().map(|entry| &entry.pointer).collect();
        assert_eq!(
            tools.len(),
            1,
            "{name}: one tool degrades, alone: {refused:?}"
        );
        assert!(
            refused[0].message.contains("nowhere"),
            "{name}: {refused:?}"
        );
    }
}

#[test]
fn a_response_schema_that_cannot_be_used() {
    let template = ChatTemplate::builtin("chatml").unwrap();
    let body = r#"{"messages": [{"role": "user", "content": "Hi"}], "json_schema": {"properties": {"x": {"type": "banana"}}}}"#;
    let error = template
        .params(&Request::from_text(body).unwrap())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema);
    assert!(error.message().contains("#/properties/x"), "{error}");
}

/// Formats are lenient about what stands in their markup; a text that goes on to other markup is
/// not of it.
#[test]
fn text_that_could_pass_for_markup_is_kept() {
    for (name, output) in [
        (
            "kimi-k3",
            "<|close|>think<|sep|><|open|>tools<|sep|><|open|>call tool=\"f\"<lost|sep|><|close|>call<|sep|>",
        ),
        (
            "muse-glimmer",
            " to=f<|message|> lost <atem:function_calls><atem:invoke name=\"f\"></atem:invoke></atem:function_calls>",
        ),
        (
            "minimax-m3",
            "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"f\">]<]minimax[>[<y>]<]minimax[>[<z>1]<]minimax[>[</lost]<]minimax[>[</z>]<]minimax[>[</y>]<]minimax[>[</invoke>",
        ),
        (
            "json-call",
            "<tool_call>\n{\"name\": \"f\", \"arguments\": [\"lost\"]}\n</tool_call>",
        ),
        ("ministral-3", "[TOOL_CALLS]f[ARGS]\"lost\""),
        ("ministral-3", "[TOOL_CALLS]f[ARGS]not lost"),
        (
            "kimi-k2",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>[\"lost\"]",
        ),
    ] {
        let ended = params(name).parser.read(output.as_bytes(), EndedBy::Model);
        assert_eq!(ended.status, Status::Recovered, "{name}: {ended:?}");
        let arguments = ended.message.tool_calls.iter().map(|call| &call.arguments);
        let mut texts = arguments.chain([&ended.message.reasoning_content, &ended.message.content]);
        let text = if output.contains("not lost") {
            "not lost"
        } else {
            "lost"
        };
        assert!(texts.any(|found| found.contains(text)), "{name}: {ended:?}");
    }
}

#[test]
fn no_arguments_may_be_null() {
    let output = b"<tool_call>\n{\"name\": \"f\", \"arguments\": null}\n</tool_call>";
    let (message, status) = params("json-call").parser.parse(output, EndedBy::Model);
    assert_eq!(
        (&*message.tool_calls[0].arguments, status),
        ("{}", Status::Complete)
    );
}

/// The bytes of a stored template, as whoever knows how they are summed up can write them.
fn stored(body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let add = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let sum = body.bytes().fold(0xcbf2_9ce4_8422_2325, add);
    format!(
        "chatparse template {} {sum:016x}\n{body}",
        env!("CARGO_PKG_VERSION")
    )
    .into_bytes()
}

/// All places of a value, as pointers.
fn places(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    match value {
        Value::Array(items) => {
            (0..items.len()).for_each(|index| places(&items[index], &format!("{at}/{index}"), all))
        }
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, field)| places(field, &format!("{at}/{name}"), all)),
        _ => {}
    }
}

#[test]
fn stored_templates_that_were_changed_are_refused_or_used() {
    let template = ChatTemplate::builtin("tag-arguments").unwrap();
    let bytes = template.to_bytes();
    let refused = |bytes: &[u8], why: &str| {
        let error = ChatTemplate::from_bytes(bytes).unwrap_err();
        assert!(
            error.kind() == ErrorKind::InvalidArgument && error.message().contains(why),
            "{error}"
        );
    };
    for at in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        refused(&bytes, "");
    }
    refused(&bytes[..bytes.len() - 1], "damaged");
    refused(b"chatparse template 0.0.1 0", "another version");
    let text = std::str::from_utf8(&bytes).unwrap();
    let body: Value = serde_json::from_str(text.split_once('\n').unwrap().1).unwrap();
    assert_eq!(stored(&body), bytes);
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {}}}}});
    let request = json!({"messages": [{"role": "user", "content": "Hi"}], "tools": [tool]});
    let request = Request::from_json(&request).unwrap();
    let (mut all, mut used) = (Vec::new(), 0);
    places(&body, "", &mut all);
    let many = |value: Value| Value::from(vec![value; 65]);
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(""),
        json!("\u{e004}{% x"),
        json!([]),
        json!({}),
        many(json!([])),
    ];
    for at in &all {
        for value in values
            .iter()
            .cloned()
            .chain([many(body.pointer(at).unwrap().clone())])
        {
            let mut body = body.clone();
            *body.pointer_mut(at).unwrap() = value;
            let Ok(template) = ChatTemplate::from_bytes(&stored(&body)) else {
                continue;
            };
            used += 1;
            let Ok(params) = template.params(&request) else {
                continue;
            };
            let _ = params
                .parser
                .read(b"<think>a</think><tool_call>f", EndedBy::Limit);
        }
    }
    assert!(used > 100, "{used}");
}
