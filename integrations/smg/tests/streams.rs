//! Outputs of our own, cut at every place, through both parsers as SMG calls them.
use std::sync::LazyLock;

use chatparse::ChatTemplate;
use chatparse_smg::Model;
use openai_protocol::common::Tool;
use reasoning_parser::ReasoningParser;
use tool_parser::ToolParser;

const CALL: &str =
    "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Tromsø\"}}\n</tool_call>";

fn model() -> Model {
    static MODEL: LazyLock<Model> =
        LazyLock::new(|| Model::new("a-model", ChatTemplate::builtin("json-call").unwrap()));
    MODEL.clone()
}

fn tools() -> Vec<Tool> {
    let parameters =
        serde_json::json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let function = serde_json::json!({"name": "weather", "parameters": parameters});
    vec![
        serde_json::from_value(serde_json::json!({"type": "function", "function": function}))
            .unwrap(),
    ]
}

#[derive(Debug, Default, PartialEq)]
struct Read {
    reasoning: String,
    text: String,
    calls: Vec<(String, String)>,
}

async fn read(pieces: &[&str], started: bool) -> Read {
    let (mut reasoning, mut tool, tools) =
        (model().reasoning_parser(), model().tool_parser(), tools());
    if started {
        reasoning.mark_reasoning_started();
        reasoning.mark_think_start_stripped();
    }
    let mut read = Read::default();
    let mut texts = Vec::new();
    for piece in pieces {
        texts.push(
            reasoning
                .parse_reasoning_streaming_incremental(piece)
                .unwrap(),
        );
    }
    texts.push(reasoning.flush().unwrap());
    assert!(reasoning.flush().unwrap().is_empty());
    let mut items = Vec::new();
    for text in texts {
        read.reasoning += &text.reasoning_text;
        let result = tool
            .parse_incremental(&text.normal_text, &tools)
            .await
            .unwrap();
        read.text += &result.normal_text;
        items.extend(result.calls);
    }
    items.extend(tool.get_unstreamed_tool_args().unwrap_or_default());
    read.text += &tool.take_unstreamed_normal_text();
    for item in items {
        match item.name {
            Some(name) => read.calls.push((name, item.parameters)),
            None => read.calls[item.tool_index].1 += &item.parameters,
        }
    }
    read
}

#[tokio::test]
async fn every_cut_gives_the_same() {
    let call = || ("weather".to_owned(), "{\"city\": \"Tromsø\"}".to_owned());
    let cases = [
        (
            false,
            format!("<think>\nSée.\n</think>\n\nI look.\n{CALL}\n{CALL}"),
            "Sée.\n",
            "I look.\n",
            vec![call(), call()],
        ),
        (
            true,
            format!("Sée.\n</think>\n\n{CALL}"),
            "Sée.\n",
            "",
            vec![call()],
        ),
        (
            false,
            "It is < 7 °C.".to_owned(),
            "",
            "It is < 7 °C.",
            vec![],
        ),
        (true, "So".to_owned(), "So", "", vec![]),
    ];
    for (started, output, reasoning, text, calls) in cases {
        let expected = Read {
            reasoning: reasoning.to_owned(),
            text: text.to_owned(),
            calls,
        };
        for at in output
            .char_indices()
            .map(|(at, _)| at)
            .chain([output.len()])
        {
            let (begin, rest) = output.split_at(at);
            assert_eq!(
                read(&[begin, rest], started).await,
                expected,
                "{output:?} at {at}"
            );
        }
    }
}

#[tokio::test]
async fn whole_outputs() {
    let output = format!("<think>\nSo.\n</think>\n\nI look.\n{CALL}");
    let split = model()
        .reasoning_parser()
        .detect_and_parse_reasoning(&output)
        .unwrap();
    assert_eq!(
        (&*split.reasoning_text, &*split.normal_text),
        ("So.\n", &*format!("I look.\n{CALL}"))
    );
    let parser = model().tool_parser();
    assert!(parser.has_tool_markers(&split.normal_text) && !parser.has_tool_markers("I look."));
    let (text, calls) = parser
        .parse_complete_with_tools(&split.normal_text, &tools())
        .await
        .unwrap();
    assert_eq!((&*text, calls.len()), ("I look.\n", 1));
    assert_eq!(
        (&*calls[0].function.name, &*calls[0].function.arguments),
        ("weather", "{\"city\": \"Tromsø\"}")
    );
}

#[tokio::test]
async fn the_end_is_told_once() {
    let mut parser = model().tool_parser();
    let first = parser
        .parse_incremental("Yes.<tool_c", &tools())
        .await
        .unwrap();
    assert_eq!((&*first.normal_text, first.calls.len()), ("Yes.", 0));
    assert_eq!(parser.take_unstreamed_normal_text(), "<tool_c");
    assert_eq!(parser.take_unstreamed_normal_text(), "");
    parser.reset();
    assert_eq!(
        parser
            .parse_incremental("No.", &tools())
            .await
            .unwrap()
            .normal_text,
        "No."
    );
}

#[test]
fn reasoning_says_where_it_stands() {
    let mut parser = model().reasoning_parser();
    for (piece, stands) in [
        ("<think>\nSo", true),
        (".\n</thi", true),
        ("nk>\n\nYes", false),
    ] {
        parser.parse_reasoning_streaming_incremental(piece).unwrap();
        assert_eq!(parser.is_in_reasoning(), stands, "{piece:?}");
    }
    assert!(parser.requires_special_tokens());
    assert_eq!(parser.model_type(), "a-model");
}

#[test]
fn smg_makes_them_by_the_models_name() {
    let tools = tool_parser::ParserFactory::new();
    tools
        .registry()
        .register_parser("chatparse", || Box::new(model().tool_parser()));
    tools.registry().map_model("a-model*", "chatparse");
    assert!(tools.registry().create_for_model("a-model-7b").is_some());
    let reasoning = reasoning_parser::ParserFactory::new();
    reasoning
        .registry()
        .register_parser("chatparse", || Box::new(model().reasoning_parser()));
    reasoning
        .registry()
        .register_pattern("a-model", "chatparse");
    assert_eq!(reasoning.create("a-model-7b").model_type(), "a-model");
}
