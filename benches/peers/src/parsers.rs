//! The same work on each system: an output in pieces, each piece's deltas looked at.

use chatparse::{ChatTemplate, DeltaKind, Params, Request, Stream};
use dynamo_parsers_v2::{
    Tool, UnifiedParserEvent, UnifiedParserInit, UnifiedParserOutput, UnifiedParserStartingState,
    create_unified_parser_for_family,
};
use reasoning_parser::ReasoningParser;
use tool_parser::ToolParser;
use tool_parser::parsers::QwenXmlParser;
use tool_parser::{KimiK2Parser, MinimaxM3Parser, QwenParser};

use crate::cases::{Case, Parsed, Place, Smg};

/// The bytes of a piece: about what a token has.
pub const CHUNK: usize = 4;

pub type Run = Box<dyn Fn(&str) -> Option<Parsed>>;

pub fn ours(case: &Case) -> (ChatTemplate, Params) {
    let template = ChatTemplate::builtin(case.template).expect("a built-in template");
    let request = Request::from_json(&case.request()).expect("the request is well-formed");
    let params = template.params(&request).expect("the template takes it");
    (template, params)
}

/// chatparse, collecting the deltas as a client would.
pub fn chatparse(params: Params) -> Run {
    Box::new(move |output| {
        let mut parsed = Parsed::default();
        let mut stream = Stream::new(&params.parser);
        for chunk in output.as_bytes().chunks(CHUNK) {
            stream
                .feed(chunk)
                .for_each(|delta| take(&mut parsed, &delta));
        }
        stream.finish(false);
        stream.deltas().for_each(|delta| take(&mut parsed, &delta));
        Some(parsed)
    })
}

fn take(parsed: &mut Parsed, delta: &chatparse::Delta) {
    parsed.deltas += 1;
    match delta.kind {
        DeltaKind::Content => parsed.content.push_str(delta.text),
        DeltaKind::Reasoning => parsed.reasoning.push_str(delta.text),
        DeltaKind::ToolName => parsed.name.push_str(delta.text),
        DeltaKind::ToolArguments => parsed.arguments.push_str(delta.text),
        _ => {}
    }
}

pub fn dynamo(case: &Case) -> Option<Run> {
    let family = case.dynamo?;
    let tool = case.request()["tools"][0]["function"].clone();
    let tools = [Tool {
        name: "write_file".to_owned(),
        description: None,
        parameters: tool["parameters"].clone(),
        strict: None,
    }];
    let starting_state = match case.place {
        Place::Reasoning => UnifiedParserStartingState::None,
        _ => UnifiedParserStartingState::Response,
    };
    Some(Box::new(move |output| {
        let mut parser = create_unified_parser_for_family(family, &tools).ok()?;
        parser
            .initialize_request(UnifiedParserInit {
                starting_state,
                ..UnifiedParserInit::default()
            })
            .ok()?;
        let mut parsed = Parsed::default();
        let mut committed = UnifiedParserOutput::default();
        for chunk in chunks(output) {
            committed.events.clear();
            parser.parse_into(chunk, &mut committed).ok()?;
            take_events(&mut parsed, &committed.events);
        }
        take_events(&mut parsed, &parser.finish().ok()?.events);
        Some(parsed)
    }))
}

fn take_events(parsed: &mut Parsed, events: &[UnifiedParserEvent]) {
    parsed.deltas += events.len();
    for event in events {
        match event {
            UnifiedParserEvent::Text(text) => parsed.content.push_str(text),
            UnifiedParserEvent::Reasoning(text) => parsed.reasoning.push_str(text),
            UnifiedParserEvent::ToolCall(call) => {
                parsed
                    .name
                    .push_str(call.name.as_deref().unwrap_or_default());
                parsed.arguments.push_str(&call.arguments);
            }
            _ => {}
        }
    }
}

/// The outputs are ASCII.
fn chunks(output: &str) -> impl Iterator<Item = &str> {
    (0..output.len())
        .step_by(CHUNK)
        .map(move |at| &output[at..output.len().min(at + CHUNK)])
}

pub fn smg(case: &Case) -> Option<Run> {
    let parser = case.smg?;
    if parser == Smg::Qwen3Reasoning {
        return Some(Box::new(|output| {
            let mut parser = reasoning_parser::Qwen3Parser::new();
            let mut parsed = Parsed::default();
            let mut take = |result: reasoning_parser::ParserResult| {
                parsed.deltas += usize::from(!result.is_empty());
                parsed.content.push_str(&result.normal_text);
                parsed.reasoning.push_str(&result.reasoning_text);
            };
            for chunk in chunks(output) {
                take(parser.parse_reasoning_streaming_incremental(chunk).ok()?);
            }
            take(parser.flush().ok()?);
            Some(parsed)
        }));
    }
    let tools: Vec<openai_protocol::common::Tool> =
        serde_json::from_value(case.request()["tools"].clone()).expect("OpenAI's tools");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    Some(Box::new(move |output| {
        let mut parser: Box<dyn ToolParser> = match parser {
            Smg::QwenXml => Box::new(QwenXmlParser::new()),
            Smg::QwenJson => Box::new(QwenParser::new()),
            Smg::KimiK2 => Box::new(KimiK2Parser::new()),
            Smg::MinimaxM3 => Box::new(MinimaxM3Parser::new()),
            Smg::Qwen3Reasoning => return None,
        };
        runtime.block_on(async {
            let mut parsed = Parsed::default();
            for chunk in chunks(output) {
                let result = parser.parse_incremental(chunk, &tools).await.ok()?;
                parsed.deltas += result.calls.len() + usize::from(!result.normal_text.is_empty());
                parsed.content.push_str(&result.normal_text);
                for call in result.calls {
                    parsed
                        .name
                        .push_str(call.name.as_deref().unwrap_or_default());
                    parsed.arguments.push_str(&call.parameters);
                }
            }
            for call in parser.get_unstreamed_tool_args().unwrap_or_default() {
                parsed.arguments.push_str(&call.parameters);
            }
            Some(parsed)
        })
    }))
}
