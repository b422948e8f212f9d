//! Stands for `tool_parser` in its own tests: what a parser whose template is here reads, ours
//! reads too.
#[path = "../../../log.rs"]
mod log;

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;
use chatparse_smg::Model;
use openai_protocol::common::{Function, Tool};
use serde_json::{Map, Value, json};
use theirs::errors::ParserResult;
use theirs::types::ToolCallItem;
pub use theirs::*;

pub mod parsers {
    pub use theirs::parsers::*;

    pub use super::QwenXmlParser;
}

struct Twin<T: ToolParser> {
    name: &'static str,
    template: &'static str,
    theirs: T,
    tools: Vec<Tool>,
    pieces: Vec<String>,
    said: StreamingParseResult,
}

impl<T: ToolParser> Twin<T> {
    fn new(name: &'static str, template: &'static str, theirs: T) -> Self {
        Twin { name, template, theirs, tools: Vec::new(), pieces: Vec::new(), said: StreamingParseResult::default() }
    }

    /// The stream is over: what both make of it.
    fn end(&mut self) {
        if self.pieces.is_empty() {
            return;
        }
        let mut said = std::mem::take(&mut self.said);
        said.calls.extend(self.theirs.get_unstreamed_tool_args().unwrap_or_default());
        said.normal_text += &self.theirs.take_unstreamed_normal_text();
        let (theirs, pieces) = (joined(&said), std::mem::take(&mut self.pieces));
        let given = json!({"tools": self.tools, "mode": "streamed"});
        log::note(self.name, &given, &pieces, &theirs, || {
            let tools = with_called(&self.tools, &theirs);
            let mut ours = Model::new(self.name, log::template(self.template)).tool_parser();
            let mut said = StreamingParseResult::default();
            for piece in &pieces {
                let result = at_once(ours.parse_incremental(piece, &tools)).unwrap();
                said.normal_text += &result.normal_text;
                said.calls.extend(result.calls);
            }
            said.calls.extend(ours.get_unstreamed_tool_args().unwrap_or_default());
            said.normal_text += &ours.take_unstreamed_normal_text();
            joined(&said)
        });
    }

    fn whole(&self, output: &str, tools: &[Tool], result: &ParserResult<(String, Vec<ToolCall>)>) {
        let told = |result: &ParserResult<(String, Vec<ToolCall>)>| match result {
            Ok((text, calls)) => {
                json!({"text": text, "calls": calls.iter().map(|call| read(&call.function.name, &call.function.arguments)).collect::<Vec<_>>()})
            }
            Err(error) => json!({"error": error.to_string()}),
        };
        let theirs = told(result);
        log::note(self.name, &json!({"tools": tools, "mode": "whole"}), &[output.to_owned()], &theirs, || {
            let ours = Model::new(self.name, log::template(self.template)).tool_parser();
            told(&at_once(ours.parse_complete_with_tools(output, &with_called(tools, &theirs))))
        });
    }
}

/// What a future gives that waits for nothing.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("a parser waits"),
    }
}

fn read(name: &str, arguments: &str) -> Value {
    json!({"name": name, "arguments": serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments))})
}

fn joined(said: &StreamingParseResult) -> Value {
    let mut calls: Vec<(String, String)> = Vec::new();
    for ToolCallItem { tool_index, name, parameters } in &said.calls {
        calls.resize(calls.len().max(tool_index + 1), Default::default());
        calls[*tool_index].0 += name.as_deref().unwrap_or_default();
        calls[*tool_index].1 += parameters;
    }
    json!({"text": said.normal_text, "calls": calls.iter().map(|(name, arguments)| read(name, arguments)).collect::<Vec<_>>()})
}

/// Theirs reads calls of tools that are not offered, so these are offered, too.
fn with_called(tools: &[Tool], theirs: &Value) -> Vec<Tool> {
    let mut tools = tools.to_vec();
    for call in theirs["calls"].as_array().into_iter().flatten() {
        let name = call["name"].as_str().unwrap();
        if tools.iter().all(|tool| tool.function.name != name) {
            let values = call["arguments"].as_object().into_iter().flatten();
            let types = values.map(|(key, value)| {
                (key.clone(), if value.is_string() { json!({"type": "string"}) } else { json!({}) })
            });
            let parameters = json!({"type": "object", "properties": types.collect::<Map<_, _>>()});
            let function = Function {
                name: name.to_owned(),
                description: None,
                parameters,
                strict: None,
                extra: Default::default(),
            };
            tools.push(Tool { tool_type: "function".to_owned(), function });
        }
    }
    tools
}

#[async_trait]
impl<T: ToolParser> ToolParser for Twin<T> {
    async fn parse_complete(&self, output: &str) -> ParserResult<(String, Vec<ToolCall>)> {
        let result = self.theirs.parse_complete(output).await;
        self.whole(output, &[], &result);
        result
    }

    async fn parse_complete_with_tools(&self, output: &str, tools: &[Tool]) -> ParserResult<(String, Vec<ToolCall>)> {
        let result = self.theirs.parse_complete_with_tools(output, tools).await;
        self.whole(output, tools, &result);
        result
    }

    async fn parse_incremental(&mut self, chunk: &str, tools: &[Tool]) -> ParserResult<StreamingParseResult> {
        self.tools = tools.to_vec();
        self.pieces.push(chunk.to_owned());
        let result = self.theirs.parse_incremental(chunk, tools).await;
        if let Ok(result) = &result {
            self.said.normal_text += &result.normal_text;
            self.said.calls.extend(result.calls.iter().cloned());
        }
        result
    }

    fn has_tool_markers(&self, text: &str) -> bool {
        self.theirs.has_tool_markers(text)
    }

    /// May be asked for again at the end: it takes nothing away.
    fn get_unstreamed_tool_args(&self) -> Option<Vec<ToolCallItem>> {
        self.theirs.get_unstreamed_tool_args()
    }

    fn take_unstreamed_normal_text(&mut self) -> String {
        let text = self.theirs.take_unstreamed_normal_text();
        self.said.normal_text += &text;
        text
    }

    fn reset(&mut self) {
        self.end();
        self.theirs.reset();
    }
}

impl<T: ToolParser> Drop for Twin<T> {
    fn drop(&mut self) {
        self.end();
    }
}

macro_rules! twins {
    ($($name:ident: $($make:ident = $template:literal),+;)+) => {
        $(
            pub struct $name(Twin<theirs::parsers::$name>);

            impl $name {
                $(
                    pub fn $make() -> Self {
                        $name(Twin::new(stringify!($name), $template, theirs::parsers::$name::$make()))
                    }
                )+
            }

            #[async_trait]
            impl ToolParser for $name {
                async fn parse_complete(&self, output: &str) -> ParserResult<(String, Vec<ToolCall>)> {
                    self.0.parse_complete(output).await
                }

                async fn parse_complete_with_tools(&self, output: &str, tools: &[Tool]) -> ParserResult<(String, Vec<ToolCall>)> {
                    self.0.parse_complete_with_tools(output, tools).await
                }

                async fn parse_incremental(&mut self, chunk: &str, tools: &[Tool]) -> ParserResult<StreamingParseResult> {
                    self.0.parse_incremental(chunk, tools).await
                }

                fn has_tool_markers(&self, text: &str) -> bool {
                    self.0.has_tool_markers(text)
                }

                fn get_unstreamed_tool_args(&self) -> Option<Vec<ToolCallItem>> {
                    self.0.get_unstreamed_tool_args()
                }

                fn take_unstreamed_normal_text(&mut self) -> String {
                    self.0.take_unstreamed_normal_text()
                }

                fn reset(&mut self) {
                    self.0.reset();
                }
            }
        )+
    };
}

twins! {
    CohereParser: new = "templates/CohereForAI-c4ai-command-r7b-12-2024-tool_use.jinja";
    DeepSeekParser: new = "templates/llama-cpp-deepseek-r1.jinja";
    DeepSeek31Parser: new = "templates/deepseek-ai-DeepSeek-V3.1.jinja";
    DeepSeekDsmlParser: v32 = "templates/deepseek-ai-DeepSeek-V3.2.jinja", v4 = "templates/deepseek-ai-DeepSeek-V4.jinja",
        v41 = "templates-wild/ik_llama.cpp-deepseek-ai-DeepSeek-V4.1.jinja";
    Gemma4Parser: new = "templates/google-gemma-4-31B-it.jinja";
    Glm4MoeParser: glm45 = "templates/GLM-4.6.jinja", glm47 = "templates/GLM-4.7-Flash.jinja";
    InklingParser: new = "templates-wild/miles-inkling.jinja";
    KimiK2Parser: new = "templates/Kimi-K2-Instruct.jinja";
    LlamaParser: new = "templates/meta-llama-Llama-3.2-3B-Instruct.jinja";
    MinimaxM2Parser: new = "templates/MiniMax-M2.jinja";
    MinimaxM3Parser: new = "templates/MiniMax-M3.jinja";
    MistralParser: new = "templates/mistralai-Mistral-Nemo-Instruct-2407.jinja";
    PythonicParser: new = "templates-wild/vllm-old-tool_chat_template_llama3.2_pythonic.jinja";
    QwenParser: new = "templates/Qwen-Qwen3-0.6B.jinja";
    QwenXmlParser: new = "templates/Qwen3-Coder.jinja";
}

/// What has nothing to do with reading.
macro_rules! forwards {
    ($($name:ident)+) => {
        $(
            impl $name {
                pub fn build_structural_tag(tools: &[Tool], at_least_one: bool) -> Value {
                    theirs::parsers::$name::build_structural_tag(tools, at_least_one)
                }
            }
        )+
    };
}

forwards! { Glm4MoeParser InklingParser MinimaxM3Parser MistralParser }

impl Glm4MoeParser {
    pub fn reasoning_prefix(start: GrammarStart) -> Option<Value> {
        theirs::parsers::Glm4MoeParser::reasoning_prefix(start)
    }
}

impl MinimaxM3Parser {
    pub fn reasoning_prefix(start: GrammarStart) -> Option<Value> {
        theirs::parsers::MinimaxM3Parser::reasoning_prefix(start)
    }
}
