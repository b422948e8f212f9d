//! Messages that a prompt has begun, and outputs of any kind, however they come. What outputs are read
//! as, the cases of `tests/cases` say.

use std::sync::LazyLock;

use crate::support::check_streaming;
use chatparse::grammar::Recogniser;
use chatparse::{ChatTemplate, EndedBy, Params, Parser, Request, builtin};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn tools() -> Value {
    let tool = |name: &str, properties: Value, required: &[&str]| {
        let parameters = json!({"type": "object", "properties": properties, "required": required});
        json!({"type": "function", "function": {"name": name, "description": "A tool.", "parameters": parameters}})
    };
    json!([
        tool(
            "get_weather",
            json!({"city": {"type": "string"}, "days": {"type": "integer"}}),
            &["city"]
        ),
        tool(
            "write_file",
            json!({"path": {"type": "string"}, "text": {"type": "string"}, "options": {"type": "object"}}),
            &["path", "text"]
        ),
        tool("now", json!({}), &[]),
    ])
}

/// A request with one question, and with what `more` adds to the body.
fn body(more: Value) -> Value {
    let mut body = json!({
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Well?"}],
        "reasoning_format": "auto",
        "parallel_tool_calls": true,
    });
    let more: Map<String, Value> = serde_json::from_value(more).unwrap();
    body.as_object_mut().unwrap().extend(more);
    body
}

fn request(body: &Value) -> Request {
    Request::from_json(body).unwrap_or_else(|error| panic!("{error}"))
}

fn params(template: &ChatTemplate, body: &Value) -> Params {
    template
        .params(&request(body))
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_prompt_ends_with_the_message_that_is_continued() {
    for name in builtin::names() {
        let mut body = body(json!({"continue_final_message": true}));
        let begun = json!({"role": "assistant", "content": "Once upon"});
        body["messages"].as_array_mut().unwrap().push(begun);
        let prompt = params(&ChatTemplate::builtin(name).unwrap(), &body).prompt;
        assert!(prompt.ends_with("Once upon"), "{name}: {prompt:?}");
    }
}

/// No sampler sees a marker that the prompt has, so the grammar holds from there on.
#[test]
fn a_call_that_the_prompt_has_begun_is_held() {
    let template = ChatTemplate::builtin("json-call").unwrap();
    let mut body = body(json!({"continue_final_message": true, "tools": tools()}));
    let begun = "So:<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Os";
    body["messages"]
        .as_array_mut()
        .unwrap()
        .push(json!({"role": "assistant", "content": begun}));
    let params = params(&template, &body);
    assert!(params.prompt.ends_with(begun) && !params.constraint.is_lazy());
    let grammar = Recogniser::new(&params.grammar().text).unwrap();
    let held = |output: &str| grammar.accepts(&format!("{}{output}", params.parser.prefill()));
    assert!(held("lo\"}}\n</tool_call>") && !held("lo\"}}") && !held(" and so on."));
    let (message, _) = params.parser.parse(b"lo\"}}\n</tool_call>", EndedBy::Model);
    assert_eq!(
        (&*message.content, &*message.tool_calls[0].arguments),
        ("So:", "{\"city\": \"Oslo\"}")
    );
}

/// Outputs that no template describes, and some bytes that are no text. What they become may
/// change; that it does not depend on how they come may not.
#[test]
fn broken_outputs_are_the_same_however_they_come() {
    let outputs: &[&[u8]] = &[
        b"<tool_call>\n{\"name\": \"unknown\", \"arguments\": {}}\n</tool_call>",
        b"<tool_call>\n{\"name\": \"now\", \"arguments\": {]}\n</tool_call> and more",
        b"<tool_call>\n{\"name\": \"now\"}\n</tool_call>",
        b"<tool_call>now\n<arg_key>x</arg_key>\n</tool_call>",
        b"<tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"days\">1</parameter>\n</invoke>\n</tool_call>",
        b"<tool_call>\n<function:get_weather>\n<arg:city>\nOslo\n</arg>\n</function> stray </tool_call>",
        b"<tool_call><function=now>{}</function></tool_call>, then text",
        b"<|calls|>[{\"get_weather\": {\"city\": \"Oslo\"}}, {\"get_weather\": 7}]<|end_of_calls|>",
        b"[TOOL_CALLS][{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}, \"id\": 5}] x",
        b"[TOOL_CALLS]now[ARGS]{}[TOOL_CALLS]",
        b"<think>one</think><think>two</think><response>three</response><response>four</response>",
        b"</think></think></tool_call></response>",
        b"<tool_calls>[",
        b"{\"name\": \"now\", \"parameters\": {}} {\"name\": \"now\", \"parameters\": {}}",
        b"caf\xc3 \xff\xfe \xe4\xb8 \xf0\x9f\x8c\xa7 \0 \x1b[31m",
        b"<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"\xff\xe4\xb8\"}}\n</tool_call>",
    ];
    let mut failures = Vec::new();
    for name in builtin::names() {
        let template = ChatTemplate::builtin(name).unwrap();
        for required in [false, true] {
            let choice = if required { "required" } else { "auto" };
            let params = params(
                &template,
                &body(json!({"tools": tools(), "tool_choice": choice})),
            );
            for output in outputs {
                let text = String::from_utf8_lossy(output);
                let wrong = check_streaming(&params.parser, output, false);
                failures.extend(
                    wrong
                        .iter()
                        .map(|wrong| format!("{name}, {choice}: {text:?}\n  {wrong}")),
                );
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n\n{}\n",
        failures.len(),
        failures.join("\n\n")
    );
}

/// What outputs are made of.
const SCRAPS: &[&str] = &[
    "<think>",
    "</think>",
    "[THINK]",
    "[/THINK]",
    "\n",
    " ",
    "<tool_call>",
    "</tool_call>",
    "<tool_call>\n{\"name\": \"",
    "{\"name\": \"",
    "\", \"arguments\": ",
    "\", \"parameters\": ",
    "get_weather",
    "now",
    "{\"city\": \"Oslo\"}",
    "{}",
    "}",
    "}\n</tool_call>",
    "\"",
    ", \"id\": \"abcdef001\"}",
    "[",
    "]",
    ", ",
    "[TOOL_CALLS]",
    "[ARGS]",
    "[CALL_ID]",
    "<|calls|>[{\"",
    "\": ",
    "]<|end_of_calls|>",
    "<function=",
    "<function:",
    ">",
    "</function>",
    "<invoke name=\"",
    "\">\n",
    "<parameter name=\"city\">",
    "</parameter>\n",
    "</invoke>\n",
    "<arg:city>\n",
    "\n</arg>\n",
    "<arg_key>city</arg_key>\n<arg_value>",
    "</arg_value>\n",
    "<response>",
    "</response>",
    "<tool_calls>[",
    "]</tool_calls>",
    "<",
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>functions.now:0",
    "<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "<|open|>tools<|sep|>",
    "<|open|>call tool=\"get_weather\"<|sep|>",
    "<|open|>argument key=\"city\"<|sep|>",
    "<|close|>argument<|sep|>",
    "<|close|>call<|sep|>",
    "<|START_TEXT|>",
    "<|START_ACTION|>[{\"tool_name\": \"",
    "<|tool_call_start|>[get_weather(city='",
    "'",
    ")]<|tool_call_end|>",
    "<|message_sep|>\n\nfunction call<|role_sep|>\n",
    "word",
    "é🌧",
    "1",
];

/// A parser with tools for each built-in template.
static PARSERS: LazyLock<Vec<(&str, Parser)>> = LazyLock::new(|| {
    let body = body(json!({"tools": tools()}));
    let parser = |name| params(&ChatTemplate::builtin(name).unwrap(), &body).parser;
    builtin::names().map(|name| (name, parser(name))).collect()
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_output_is_the_same_however_it_comes(
        template in 0..PARSERS.len(),
        scraps in prop::collection::vec(prop::sample::select(SCRAPS), 1..16),
        broken in prop::option::weighted(0.2, (any::<prop::sample::Index>(), any::<u8>())),
    ) {
        let mut output = scraps.concat().into_bytes();
        if let Some((at, byte)) = broken.filter(|_| !output.is_empty()) {
            let at = at.index(output.len());
            output[at] = byte;
        }
        let (template, parser) = &PARSERS[template];
        let wrong = check_streaming(parser, &output, false);
        prop_assert!(wrong.is_empty(), "{template}: {:?}\n  {}", String::from_utf8_lossy(&output), wrong.join("\n  "));
    }
}
