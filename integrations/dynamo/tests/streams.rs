//! Outputs of our own, cut at every place.
use std::sync::LazyLock;

use anyhow::Result;
use chatparse::ChatTemplate;
use chatparse_dynamo::{Chatparse, Model};
use dynamo_parsers_v2::{
    InvalidGuidedPayload, InvalidGuidedPayloadPolicy, MalformedToolCall, MalformedToolCallPolicy,
    Tool, ToolCallPolicy, UnifiedEvent, UnifiedParser, UnifiedParserExt, UnifiedParserInit,
    UnifiedParserOutput, UnifiedParserStartingState, UnifiedToolOutputMode,
    create_unified_parser_for_family, register_unified_parser,
};
use serde_json::{Value, json};

const CALL: &str =
    "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Tromsø\"}}\n</tool_call>";

fn model() -> Model {
    static MODEL: LazyLock<Model> =
        LazyLock::new(|| Model::new(ChatTemplate::builtin("json-call").unwrap()));
    MODEL.clone()
}

fn parser() -> Chatparse {
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    model().parser(&[Tool {
        name: "weather".into(),
        description: None,
        parameters,
        strict: None,
    }])
}

fn init(state: UnifiedParserStartingState) -> UnifiedParserInit {
    UnifiedParserInit {
        starting_state: state,
        ..UnifiedParserInit::default()
    }
}

fn reasoning(text: &str) -> UnifiedEvent {
    UnifiedEvent::Reasoning { text: text.into() }
}

fn text(text: &str) -> UnifiedEvent {
    UnifiedEvent::Text { text: text.into() }
}

fn call(arguments: Value) -> UnifiedEvent {
    UnifiedEvent::ToolCall {
        name: "weather".into(),
        arguments,
    }
}

fn fed(parser: &mut dyn UnifiedParser, pieces: &[&str]) -> Result<Vec<UnifiedEvent>> {
    let mut output = UnifiedParserOutput::default();
    for piece in pieces {
        parser.parse_into(piece, &mut output)?;
    }
    output.append(&mut parser.finish_at_eos()?);
    Ok(output.assembled())
}

#[test]
fn every_cut_gives_the_same_events() {
    use UnifiedParserStartingState::{None, Reasoning, Response};
    let cases = [
        (
            None,
            format!("<think>\nSée.\n</think>\n\nI look.\n{CALL}\n{CALL}"),
            vec![
                reasoning("Sée.\n"),
                text("I look."),
                call(json!({"city": "Tromsø"})),
                call(json!({"city": "Tromsø"})),
            ],
        ),
        (
            Reasoning,
            format!("Sée.\n</think>\n\n{CALL}"),
            vec![reasoning("Sée.\n"), call(json!({"city": "Tromsø"}))],
        ),
        (
            Response,
            "It is < 7 °C.".to_owned(),
            vec![text("It is < 7 °C.")],
        ),
        (None, String::new(), vec![]),
    ];
    for (state, output, expected) in cases {
        let cuts: Vec<usize> = output
            .char_indices()
            .map(|(at, _)| at)
            .chain([output.len()])
            .collect();
        for at in cuts {
            let mut parser = parser();
            parser.initialize_request(init(state)).unwrap();
            let (begin, rest) = output.split_at(at);
            assert_eq!(
                fed(&mut parser, &[begin, rest]).unwrap(),
                expected,
                "{output:?} at {at}"
            );
        }
    }
}

#[test]
fn a_prompt_of_tokens_says_what_it_leaves_open() {
    let prompts = |ids: &[u32]| {
        Ok(format!(
            "<|im_start|>assistant\n{}",
            if ids == [1] { "<think>\n" } else { "" }
        ))
    };
    for (ids, expected) in [(vec![1], reasoning("So.")), (vec![2], text("So."))] {
        let mut parser = model().with_decode(prompts).parser(&[]);
        parser.initialize(&ids).unwrap();
        assert_eq!(fed(&mut parser, &["So."]).unwrap(), [expected]);
    }
}

#[test]
fn an_output_that_is_cut_off_has_no_call() {
    let mut parser = parser();
    assert_eq!(parser.parse_complete(&CALL[..CALL.len() - 20]).unwrap(), []);
    let mut parser = self::parser();
    let policy = ToolCallPolicy {
        malformed: MalformedToolCallPolicy::Reject,
        ..ToolCallPolicy::default()
    };
    parser.set_tool_call_policy(policy).unwrap();
    let error = fed(
        &mut parser,
        &["<tool_call>\n{\"name\": \"weather\", \"argu</tool_call>"],
    )
    .unwrap_err();
    assert!(error.is::<MalformedToolCall>(), "{error}");
}

#[test]
fn reset_gives_back_what_no_event_has() {
    let mut parser = parser();
    let mut output = UnifiedParserOutput::default();
    parser.parse_into("Yes.<tool_c", &mut output).unwrap();
    assert_eq!(
        (output.assembled(), parser.reset()),
        (vec![text("Yes.")], "<tool_c".to_owned())
    );
    assert_eq!(fed(&mut parser, &["No."]).unwrap(), [text("No.")]);
}

#[test]
fn outputs_go_on_from_where_one_stood() {
    let mut parser = parser();
    parser
        .parse_into("<think>\nSo", &mut UnifiedParserOutput::default())
        .unwrap();
    let state = parser.continuation().unwrap().unwrap();
    for (rest, expected) in [
        (" it is.", vec![reasoning(" it is.")]),
        ("</think>\n\nNo.", vec![text("No.")]),
    ] {
        assert_eq!(fed(&mut *state.fork().unwrap(), &[rest]).unwrap(), expected);
    }
    parser.finish().unwrap();
    assert!(parser.continuation().is_err());
}

#[test]
fn calls_of_guided_decoding_are_json() {
    use InvalidGuidedPayloadPolicy::{RecoverAsText, Reject};
    let oslo = || call(json!({"city": "Oslo"}));
    let cases = [
        (
            Some("weather"),
            Reject,
            r#"{"city": "Oslo"}"#,
            Ok(vec![oslo()]),
        ),
        (
            None,
            Reject,
            r#"[{"name": "weather", "parameters": {"city": "Oslo"}}]"#,
            Ok(vec![oslo()]),
        ),
        (
            None,
            Reject,
            r#" {"name": "weather"} "#,
            Ok(vec![call(json!({}))]),
        ),
        (
            None,
            Reject,
            r#"{"name": "weather", "arguments": 7}"#,
            Err(()),
        ),
        (Some("weather"), Reject, "Oslo", Err(())),
        (
            Some("weather"),
            RecoverAsText,
            "Oslo",
            Ok(vec![text("Oslo")]),
        ),
    ];
    for (tool, policy, output, expected) in cases {
        let mut parser = parser();
        let named_tool = tool.map(str::to_owned);
        let tool_output_mode = UnifiedToolOutputMode::GuidedJson { named_tool };
        let init = UnifiedParserInit {
            tool_output_mode,
            invalid_guided_payload: policy,
            ..UnifiedParserInit::default()
        };
        parser.initialize_request(init).unwrap();
        let read = fed(&mut parser, &["<think>\nSo.\n</think>\n\n", output]);
        match expected {
            Ok(expected) => assert_eq!(read.unwrap()[1..], expected, "{output}"),
            Err(()) => {
                assert!(read.unwrap_err().is::<InvalidGuidedPayload>(), "{output}");
                assert_eq!(parser.reset(), output);
            }
        }
    }
}

#[test]
fn dynamo_makes_it_by_its_name() {
    register_unified_parser("chatparse-test", |tools| {
        Ok(Box::new(model().parser(tools)))
    });
    let mut parser = create_unified_parser_for_family("chatparse-test", &[]).unwrap();
    assert!(parser.preserve_special_tokens());
    assert_eq!(parser.parse_complete("Yes.").unwrap(), [text("Yes.")]);
}
