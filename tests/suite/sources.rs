//! Where the parts of a message came from: their order in the output, and the bytes of each field.

use chatparse::message::{OutputPart, PartKind};
use chatparse::stream::Ended;
use chatparse::{ChatTemplate, DeltaKind, EndedBy, Request, Status};
use serde_json::{Value, json};

fn read(template: &str, more: &Value, output: &[u8]) -> Ended {
    let mut body = json!({"messages": [{"role": "user", "content": "Hi"}], "reasoning_format": "auto", "parallel_tool_calls": true,
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}}}]});
    for (name, value) in more.as_object().expect("an object") {
        body[name] = value.clone();
    }
    let template = ChatTemplate::builtin(template).expect("it is built in");
    let params = template
        .params(&Request::from_json(&body).expect("a request"))
        .expect("it fits");
    params.parser.read(output, EndedBy::Model)
}

/// Kind, call, text of the message and text of the output.
fn parts<'a>(ended: &'a Ended, output: &'a [u8]) -> Vec<(PartKind, usize, &'a str, &'a [u8])> {
    let part = |OutputPart {
                    kind,
                    call,
                    text,
                    span,
                    ..
                }: &OutputPart| {
        let text = match kind {
            PartKind::Reasoning => &ended.message.reasoning_content[text.clone()],
            PartKind::Content => &ended.message.content[text.clone()],
            _ => "",
        };
        (*kind, *call, text, &output[span.clone()])
    };
    ended.parts().iter().map(part).collect()
}

fn written<'a>(ended: &Ended, output: &'a str, kind: DeltaKind, call: usize) -> Vec<&'a str> {
    ended
        .spans(kind, call)
        .iter()
        .map(|span| &output[span.clone()])
        .collect()
}

#[test]
fn parts_are_in_the_order_of_the_output() {
    let output = "<think>\nOne.\n</think>\n\nTwo.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>\n\
        Three. <tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";
    let ended = read("json-call", &json!({}), output.as_bytes());
    let call = |arguments: &str| format!("f\", \"arguments\": {arguments}").into_bytes();
    let expected = [
        (PartKind::Reasoning, 0, "One.\n", b"One.\n".to_vec()),
        (PartKind::Content, 0, "Two.", b"Two.".to_vec()),
        (PartKind::Call, 0, "", call("{\"a\": 1}")),
        (PartKind::Content, 0, "\nThree.", b"\nThree.".to_vec()),
        (PartKind::Call, 1, "", call("{}")),
    ];
    let found = parts(&ended, output.as_bytes());
    let found: Vec<_> = found
        .into_iter()
        .map(|(kind, call, text, bytes)| (kind, call, text, bytes.to_vec()))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_model_thinks_on_behind_a_call() {
    let call = |a: u8| {
        format!(
            "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{{\"a\":{a}}}<|call|>"
        )
    };
    let thought = |text: &str| format!("<|channel|>analysis<|message|>{text}<|end|>");
    let answer = "<|start|>assistant<|channel|>final<|message|>Done.";
    let output = [
        &thought("One."),
        &*call(1),
        "<|start|>assistant",
        &thought("Two."),
        &call(2),
        answer,
    ]
    .concat();
    let ended = read("gpt-oss", &json!({}), output.as_bytes());
    let order: Vec<_> = ended
        .parts()
        .iter()
        .map(|part| (part.kind, part.call))
        .collect();
    use PartKind::{Call, Content, Reasoning};
    assert_eq!(
        order,
        [
            (Reasoning, 0),
            (Call, 0),
            (Reasoning, 0),
            (Call, 1),
            (Content, 0)
        ]
    );
    assert_eq!(
        written(&ended, &output, DeltaKind::Reasoning, 0),
        ["One.", "Two."]
    );
    assert_eq!(
        (ended.status, ended.message.content.as_str()),
        (Status::Complete, "Done.")
    );
}

/// Broken characters are longer in the message than in the output.
#[test]
fn parts_of_broken_text_are_whole() {
    let output = b"<think>\n\xFFa\xF0\x9F\n</think>\n\nb\xFE<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\xE2\x82";
    let ended = read("json-call", &json!({}), output);
    let texts: Vec<&str> = parts(&ended, output)
        .into_iter()
        .map(|(_, _, text, _)| text)
        .collect();
    assert_eq!(texts, ["\u{FFFD}a\u{FFFD}\n", "b\u{FFFD}", "", "\u{FFFD}"]);
}

#[test]
fn what_the_prompt_holds_is_nowhere_in_the_output() {
    let messages =
        json!([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Gr"}]);
    let output = "\u{FC}\u{DF}e";
    let ended = read(
        "json-call",
        &json!({"messages": messages, "continue_final_message": true, "tools": []}),
        output.as_bytes(),
    );
    assert_eq!(ended.status, Status::Complete);
    assert_eq!(
        parts(&ended, output.as_bytes()),
        [(PartKind::Content, 0, "Gr\u{FC}\u{DF}e", output.as_bytes())]
    );
    let ended = read(
        "json-call",
        &json!({"messages": messages, "continue_final_message": true, "tools": []}),
        b"",
    );
    assert_eq!(parts(&ended, b""), [(PartKind::Content, 0, "Gr", &b""[..])]);
    assert!(ended.spans(DeltaKind::Content, 0).is_empty());
}

/// White space alone is no reasoning, and nowhere.
#[test]
fn reasoning_that_does_not_show_has_no_part() {
    let ended = read("json-call", &json!({}), b"<think>\n \n</think>\n\nDone.");
    assert_eq!(ended.parts().len(), 1);
    assert!(ended.spans(DeltaKind::Reasoning, 0).is_empty());
}

#[test]
fn fields_come_from_their_own_bytes() {
    // The id has the name in it.
    let output = "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"a\": 1}<|tool_call_end|>\
        <|tool_calls_section_end|>";
    let ended = read("kimi-k2", &json!({}), output.as_bytes());
    let fields = |ended: &Ended, output: &str| {
        [
            DeltaKind::ToolName,
            DeltaKind::ToolId,
            DeltaKind::ToolArguments,
        ]
        .map(|kind| {
            written(ended, output, kind, 0)
                .into_iter()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
    };
    assert_eq!(
        fields(&ended, output),
        [["f"], ["functions.f:0"], ["{\"a\": 1}"]]
    );
    // Id and arguments stand in front of the name.
    let output = "{\"arguments\": {\"a\": 1}, \"name\": \"f\"}";
    let ended = read("json-call", &json!({}), output.as_bytes());
    assert_eq!(fields(&ended, output)[2], ["{\"a\": 1}"]);
    let output = "<tool_calls>[{\"id\": \"abc\", \"function\": {\"name\": \"f\", \"arguments\": {\"a\": 1}}}]</tool_calls>";
    let ended = read(
        "json-nested",
        &json!({"enable_thinking": false}),
        output.as_bytes(),
    );
    assert_eq!(fields(&ended, output), [["f"], ["abc"], ["{\"a\": 1}"]]);
    assert_eq!(ended.parts()[0].span, 21..74);
    // Arguments in tags.
    let pair = |name: &str, value: &str| {
        format!("<arg_key>{name}</arg_key>\n<arg_value>{value}</arg_value>\n")
    };
    let output = &format!(
        "<tool_call>f\n{}{}</tool_call>",
        pair("a", "1"),
        pair("b", "x\ny")
    );
    let ended = read("tag-arguments", &json!({}), output.as_bytes());
    assert_eq!(
        fields(&ended, output),
        [vec!["f"], vec![], vec!["a", "1", "b", "x\ny"]]
    );
    assert!(
        ended.spans(DeltaKind::ToolEnd, 0).is_empty()
            && ended.spans(DeltaKind::ToolName, 1).is_empty()
    );
}
