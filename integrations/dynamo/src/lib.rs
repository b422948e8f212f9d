//! chatparse as a unified parser of Dynamo: one parser for each model, learnt from its chat
//! template.
//!
//! ```
//! use std::sync::LazyLock;
//!
//! use chatparse::ChatTemplate;
//! use chatparse_dynamo::Model;
//! use dynamo_parsers_v2::{Tool, UnifiedParser, register_unified_parser};
//!
//! // In earnest: ChatTemplate::new, with the text of the model's template.
//! static MODEL: LazyLock<Model> = LazyLock::new(|| Model::new(ChatTemplate::builtin("json-call").unwrap()));
//!
//! fn parser(tools: &[Tool]) -> anyhow::Result<Box<dyn UnifiedParser>> {
//!     Ok(Box::new(MODEL.parser(tools)))
//! }
//!
//! register_unified_parser("my-model", parser);
//! ```
mod guided;
#[path = "../../opening.rs"]
mod opening;

use std::sync::Arc;

use anyhow::{Result, bail};
use chatparse::{ChatTemplate, Delta, DeltaKind, EndedBy, Request, Stream};
use dynamo_parsers_v2::{
    MalformedToolCall, MalformedToolCallPolicy, Tool, ToolCallDelta, ToolCallPolicy, UnifiedParser,
    UnifiedParserContinuation, UnifiedParserInit, UnifiedParserOutput, UnifiedParserStartingState,
    UnifiedToolOutputMode,
};
use guided::Guided;
use opening::Opening;

/// A model that is served: make it once, when the model is loaded.
#[derive(Clone)]
pub struct Model {
    template: ChatTemplate,
    decode: Option<Arc<Decode>>,
}

type Decode = dyn Fn(&[u32]) -> Result<String> + Send + Sync;

impl Model {
    /// The model of this template.
    pub fn new(template: ChatTemplate) -> Model {
        Model {
            template,
            decode: None,
        }
    }

    /// The text of token ids, special tokens included: then what a prompt leaves open is read from
    /// the prompt itself. Without it, the starting state of the request says it.
    pub fn with_decode(
        mut self,
        decode: impl Fn(&[u32]) -> Result<String> + Send + Sync + 'static,
    ) -> Model {
        self.decode = Some(Arc::new(decode));
        self
    }

    /// The parser of one output.
    pub fn parser(&self, tools: &[Tool]) -> Chatparse {
        let tools = tools.iter().map(|tool| {
            let description = tool.description.clone().unwrap_or_default();
            chatparse::Tool::new(&tool.name, description, tool.parameters.clone())
        });
        let mut request = Request::new(Vec::new());
        request.tools = tools.collect();
        Chatparse {
            model: self.clone(),
            request,
            stream: None,
            told: Told::default(),
            policy: MalformedToolCallPolicy::default(),
            ended: false,
        }
    }
}

/// The parser of one output.
#[derive(Clone)]
pub struct Chatparse {
    model: Model,
    request: Request,
    /// From the first text on, or from where the prompt is known.
    stream: Option<Stream>,
    told: Told,
    policy: MalformedToolCallPolicy,
    ended: bool,
}

/// What is kept of the deltas.
#[derive(Clone, Default)]
struct Told {
    /// The models' ids of the calls.
    ids: Vec<Option<String>>,
    guided: Option<Guided>,
}

impl Chatparse {
    /// Takes the prompt as the host has rendered it, where the host has its text.
    pub fn initialize_prompt(&mut self, prompt: &str) -> Result<()> {
        let params = self.model.template.parser_for(prompt, &self.asked())?;
        (self.stream, self.ended) = (Some(opening::stream(&params)), false);
        Ok(())
    }

    /// Calls of guided decoding are no markup, so they are content to the stream.
    fn asked(&self) -> Request {
        let mut request = self.request.clone();
        if self.told.guided.is_some() {
            request.tools.clear();
        }
        request
    }

    fn open(&mut self, opening: Opening) -> Result<()> {
        match opening::prompt(&self.model.template, &self.asked(), opening)? {
            Some(prompt) => self.initialize_prompt(&prompt),
            None => bail!("the model's template has no prompt that ends so: {opening:?}"),
        }
    }
}

impl Told {
    fn tell(&mut self, delta: &Delta<'_>, output: &mut UnifiedParserOutput) {
        let call = |name: Option<&str>, arguments: &str, complete: bool| {
            let (name, arguments) = (name.map(str::to_owned), arguments.to_owned());
            ToolCallDelta {
                tool_index: delta.call,
                name,
                arguments,
                complete,
            }
        };
        match (delta.kind, &mut self.guided) {
            (DeltaKind::Reasoning, _) => output.push_reasoning(delta.text),
            (DeltaKind::Content, Some(guided)) => guided.payload.push_str(delta.text),
            (DeltaKind::Content, None) => output.push_text(delta.text),
            (DeltaKind::ToolName, _) => output.push_call(call(Some(delta.text), "", false)),
            (DeltaKind::ToolArguments, _) => output.push_call(call(None, delta.text, false)),
            (DeltaKind::ToolEnd, _) => output.push_call(call(None, "", true)),
            (DeltaKind::ToolId, _) => {
                self.ids.resize(self.ids.len().max(delta.call + 1), None);
                self.ids[delta.call] = Some(delta.text.to_owned());
            }
            // Only a rollback withdraws.
            _ => {}
        }
    }
}

impl UnifiedParser for Chatparse {
    fn continuation(&mut self) -> Result<Option<Box<dyn UnifiedParserContinuation>>> {
        if self.ended {
            bail!("the output has ended");
        }
        Ok(Some(Box::new(Continuation(self.clone()))))
    }

    fn initialize_request(&mut self, init: UnifiedParserInit) -> Result<()> {
        self.told = Told::default();
        if let UnifiedToolOutputMode::GuidedJson { named_tool: tool } = init.tool_output_mode {
            let (policy, payload) = (init.invalid_guided_payload, String::new());
            self.told.guided = Some(Guided {
                tool,
                policy,
                payload,
            });
        }
        match (&self.model.decode, init.starting_state) {
            (Some(decode), _) if !init.prompt_token_ids.is_empty() => {
                let prompt = decode(&init.prompt_token_ids)?;
                self.initialize_prompt(&prompt)
            }
            (_, UnifiedParserStartingState::None) => self.open(Opening::Template),
            (_, UnifiedParserStartingState::Reasoning) => self.open(Opening::Reasoning),
            (_, UnifiedParserStartingState::Response) => self.open(Opening::Response),
        }
    }

    /// Values are framed as the template shows it, by each parameter's schema, whatever is asked
    /// for.
    fn set_tool_call_policy(&mut self, policy: ToolCallPolicy) -> Result<()> {
        self.policy = policy.malformed;
        Ok(())
    }

    fn parse_into(&mut self, delta: &str, output: &mut UnifiedParserOutput) -> Result<()> {
        if self.stream.is_none() {
            self.open(Opening::Template)?;
        }
        if let Some(stream) = &mut self.stream {
            stream
                .feed(delta.as_bytes())
                .for_each(|delta| self.told.tell(&delta, output));
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<UnifiedParserOutput> {
        let mut output = UnifiedParserOutput::default();
        self.parse_into("", &mut output)?;
        let Some(stream) = &mut self.stream else {
            return Ok(output);
        };
        let ended = stream.finish(EndedBy::Model);
        stream
            .deltas()
            .for_each(|delta| self.told.tell(&delta, &mut output));
        self.ended = true;
        if let Some(guided) = &mut self.told.guided {
            guided.end(&mut output)?;
        } else if self.policy == MalformedToolCallPolicy::Reject
            && ended.strict(EndedBy::Model).is_err()
        {
            return Err(MalformedToolCall {
                reason: "the output breaks the format of the model's template",
            }
            .into());
        }
        Ok(output)
    }

    fn reset(&mut self) -> String {
        self.told.ids.clear();
        self.ended = false;
        let mut left = self
            .told
            .guided
            .as_mut()
            .map(|guided| std::mem::take(&mut guided.payload))
            .unwrap_or_default();
        if let Some(stream) = &mut self.stream {
            left.push_str(&String::from_utf8_lossy(stream.pending()));
            stream.reset();
            let _ = stream.feed(b"");
        }
        left
    }

    fn preserve_special_tokens(&self) -> bool {
        true
    }

    fn tool_call_id(&self, tool_index: usize) -> Option<&str> {
        self.told.ids.get(tool_index)?.as_deref()
    }
}

/// A stream where it stood, for outputs that go on from there.
struct Continuation(Chatparse);

impl UnifiedParserContinuation for Continuation {
    fn fork(&self) -> Result<Box<dyn UnifiedParser>> {
        Ok(Box::new(self.0.clone()))
    }
}
