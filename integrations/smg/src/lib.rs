//! chatparse as a tool parser and a reasoning parser of SMG: one pair for all models, learnt from
//! the model's chat template.
//!
//! ```
//! use chatparse::ChatTemplate;
//! use chatparse_smg::Model;
//!
//! // In earnest: ChatTemplate::new, with the text of the model's template.
//! let model = Model::new("my-model", ChatTemplate::builtin("json-call").unwrap());
//!
//! let tools = tool_parser::ParserFactory::new();
//! let tool = model.clone();
//! tools.registry().register_parser("my-model", move || Box::new(tool.tool_parser()));
//! tools.registry().map_model("my-model*", "my-model");
//!
//! let reasoning = reasoning_parser::ParserFactory::new();
//! reasoning.registry().register_parser("my-model", move || Box::new(model.reasoning_parser()));
//! reasoning.registry().register_pattern("my-model", "my-model");
//! ```
#[path = "../../opening.rs"]
mod opening;

use async_trait::async_trait;
use chatparse::grammar::TriggerKind;
use chatparse::stream::OpenPart;
use chatparse::{ChatTemplate, Delta, DeltaKind, Request, Stream};
use openai_protocol::common::Tool;
use opening::Opening;
use reasoning_parser::{ParseError, ParserResult, ReasoningParser};
use tool_parser::types::{FunctionCall, StreamingParseResult, ToolCall, ToolCallItem};
use tool_parser::{ToolParser, errors::ParserError};

/// A tool that no text has.
const NAME: &str = "chatparse_any_tool";

/// A model that is served: make it once, when the model is loaded.
#[derive(Clone)]
pub struct Model {
    name: String,
    template: ChatTemplate,
}

impl Model {
    /// The model of this template.
    pub fn new(name: impl Into<String>, template: ChatTemplate) -> Model {
        Model {
            name: name.into(),
            template,
        }
    }

    /// The parser of the calls of one output. It follows a reasoning parser, ours or another:
    /// reasoning that is still there becomes text, without its markers.
    pub fn tool_parser(&self) -> Tools {
        Tools {
            model: self.clone(),
            stream: None,
            left: None,
        }
    }

    /// The parser of the reasoning of one output. What is no reasoning is left as it is, calls
    /// included.
    pub fn reasoning_parser(&self) -> Reasoning {
        Reasoning {
            model: self.clone(),
            opening: Opening::Nothing,
            stream: None,
            thinking: false,
        }
    }

    fn stream(&self, request: &Request, opening: Opening) -> Result<Stream, String> {
        let prompt =
            opening::prompt(&self.template, request, opening).map_err(|error| error.to_string())?;
        let prompt = prompt.ok_or_else(|| {
            format!(
                "the template of {} has no prompt that ends so: {opening:?}",
                self.name
            )
        })?;
        let params = self
            .template
            .parser_for(&prompt, request)
            .map_err(|error| error.to_string())?;
        Ok(opening::stream(&params))
    }

    fn of_tools(&self, tools: &[Tool]) -> Result<Stream, ParserError> {
        let mut request = Request::new(Vec::new());
        let tool = |Tool { function, .. }: &Tool| {
            let description = function.description.clone().unwrap_or_default();
            chatparse::Tool::new(&function.name, description, function.parameters.clone())
        };
        request.tools = tools.iter().map(tool).collect();
        self.stream(&request, Opening::Response)
            .map_err(ParserError::ParsingFailed)
    }
}

/// The parser of the calls of one output. The tools are those that come with its first piece.
pub struct Tools {
    model: Model,
    stream: Option<Stream>,
    /// What the end of the output has added to the calls, once the end was told.
    left: Option<Vec<ToolCallItem>>,
}

/// The text and the calls that deltas add.
fn told<'a>(deltas: impl Iterator<Item = Delta<'a>>) -> StreamingParseResult {
    let mut result = StreamingParseResult::default();
    for delta in deltas {
        let item = |name: Option<&str>, parameters: &str| ToolCallItem {
            tool_index: delta.call,
            name: name.map(str::to_owned),
            parameters: parameters.to_owned(),
        };
        match (delta.kind, result.calls.last_mut()) {
            (DeltaKind::Reasoning | DeltaKind::Content, _) => {
                result.normal_text.push_str(delta.text)
            }
            (DeltaKind::ToolName, _) => result.calls.push(item(Some(delta.text), "")),
            (DeltaKind::ToolArguments, Some(last)) if last.tool_index == delta.call => {
                last.parameters.push_str(delta.text)
            }
            (DeltaKind::ToolArguments, _) => result.calls.push(item(None, delta.text)),
            // SMG makes the ids, and knows from the next call, or the end, that a call is complete.
            _ => {}
        }
    }
    result
}

#[async_trait]
impl ToolParser for Tools {
    /// Without the tools there are no calls.
    async fn parse_complete(&self, output: &str) -> Result<(String, Vec<ToolCall>), ParserError> {
        self.parse_complete_with_tools(output, &[]).await
    }

    async fn parse_complete_with_tools(
        &self,
        output: &str,
        tools: &[Tool],
    ) -> Result<(String, Vec<ToolCall>), ParserError> {
        let mut stream = self.model.of_tools(tools)?;
        let _ = stream.feed(output.as_bytes());
        let message = stream.finish(false).message;
        let calls = message.tool_calls.iter().map(|call| ToolCall {
            function: FunctionCall {
                name: call.name.clone(),
                arguments: call.arguments.clone(),
            },
        });
        Ok((
            message.reasoning_content.clone() + &message.text(),
            calls.collect(),
        ))
    }

    async fn parse_incremental(
        &mut self,
        chunk: &str,
        tools: &[Tool],
    ) -> Result<StreamingParseResult, ParserError> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => none.insert(self.model.of_tools(tools)?),
        };
        Ok(told(stream.feed(chunk.as_bytes())))
    }

    /// Whether the text has a text that calls begin with.
    fn has_tool_markers(&self, text: &str) -> bool {
        let mut request = Request::new(Vec::new());
        request.tools.push(chatparse::Tool::new(
            NAME,
            "",
            serde_json::json!({"type": "object"}),
        ));
        self.model
            .template
            .parser_for("", &request)
            .is_ok_and(|params| {
                params
                    .constraint
                    .triggers()
                    .iter()
                    .any(|trigger| match trigger.kind {
                        TriggerKind::Word => {
                            text.contains(trigger.value.split(NAME).next().unwrap_or_default())
                        }
                        _ => true,
                    })
            })
    }

    fn get_unstreamed_tool_args(&self) -> Option<Vec<ToolCallItem>> {
        if self.left.is_some() {
            return self.left.clone();
        }
        let mut stream = self.stream.clone()?;
        stream.finish(false);
        Some(told(stream.deltas()).calls)
    }

    fn take_unstreamed_normal_text(&mut self) -> String {
        let Some(stream) = self.stream.as_mut().filter(|_| self.left.is_none()) else {
            return String::new();
        };
        stream.finish(false);
        let StreamingParseResult { normal_text, calls } = told(stream.deltas());
        self.left = Some(calls);
        normal_text
    }

    fn reset(&mut self) {
        (self.stream, self.left) = (None, None);
    }
}

/// The parser of the reasoning of one output.
pub struct Reasoning {
    model: Model,
    opening: Opening,
    stream: Option<Stream>,
    thinking: bool,
}

impl Reasoning {
    fn begin(&self) -> Result<Stream, ParseError> {
        self.model
            .stream(&Request::new(Vec::new()), self.opening)
            .map_err(ParseError::ConfigError)
    }
}

fn split<'a>(deltas: impl Iterator<Item = Delta<'a>>) -> ParserResult {
    let mut result = ParserResult::default();
    for delta in deltas {
        match delta.kind {
            DeltaKind::Reasoning => result.reasoning_text.push_str(delta.text),
            DeltaKind::Content => result.normal_text.push_str(delta.text),
            _ => {}
        }
    }
    result
}

impl ReasoningParser for Reasoning {
    fn detect_and_parse_reasoning(&mut self, text: &str) -> Result<ParserResult, ParseError> {
        let mut stream = self.begin()?;
        let _ = stream.feed(text.as_bytes());
        let message = stream.finish(false).message;
        Ok(ParserResult::new(message.text(), message.reasoning_content))
    }

    fn parse_reasoning_streaming_incremental(
        &mut self,
        text: &str,
    ) -> Result<ParserResult, ParseError> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => self.begin()?,
        };
        let result = split(stream.feed(text.as_bytes()));
        self.thinking = match stream.state().part {
            OpenPart::Reasoning => true,
            // The text behind a marker shows what it was.
            OpenPart::Markup => self.thinking,
            _ => false,
        };
        self.stream = Some(stream);
        Ok(result)
    }

    fn flush(&mut self) -> Result<ParserResult, ParseError> {
        let Some(mut stream) = self.stream.take() else {
            return Ok(ParserResult::default());
        };
        stream.finish(false);
        Ok(split(stream.deltas()))
    }

    fn reset(&mut self) {
        (self.opening, self.stream, self.thinking) = (Opening::Nothing, None, false);
    }

    fn model_type(&self) -> &str {
        &self.model.name
    }

    fn requires_special_tokens(&self) -> bool {
        true
    }

    fn is_in_reasoning(&self) -> bool {
        self.thinking
    }

    fn mark_reasoning_started(&mut self) {
        (self.opening, self.thinking) = (Opening::Reasoning, true);
    }

    /// Nothing to do: where reasoning has started, ours looks for no marker of its start.
    fn mark_think_start_stripped(&mut self) {}
}
