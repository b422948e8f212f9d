//! The façade: a template, learnt once, turns each request into a prompt and a parser.

mod options;

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use crate::analysis::{self, Analysis};
use crate::error::Result;
use crate::format::{
    Constraint, Delimiter, Family, FormatSpec, Prompt, PromptInput, Thinking, auto, family_of, prompt,
};
use crate::format_cache::{CompiledFormat, FormatCache};
use crate::grammar::{self, Grammar};
use crate::message::{Continuation, Request};
use crate::parser::Parser;
use crate::template::{Caps, Template, prepare};

pub use options::TemplateOptions;

/// A chat template: compiled, with its caps and, once somebody asks, its analysis. Immutable; share it between threads.
///
/// ```
/// use chatparse::{ChatTemplate, Request, Stream};
/// let template = ChatTemplate::builtin("chatml").unwrap();
/// let request = Request::from_text(r#"{"messages": [{"role": "user", "content": "Hi"}]}"#)?;
/// let params = template.params(&request)?;
/// assert_eq!(params.prompt, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
/// let mut stream = Stream::new(&params.parser);
/// let text: String = stream.feed(b"Hello!").map(|delta| delta.text).collect();
/// assert_eq!(text, "Hello!");
/// # Ok::<(), chatparse::Error>(())
/// ```
#[derive(Debug)]
pub struct ChatTemplate {
    template: Template,
    learn_only: bool,
    family: Option<&'static Family>,
    analysis: OnceLock<Analysis>,
    formats: FormatCache,
}

/// What one request needs. Immutable; share it between threads.
#[derive(Clone, Debug)]
pub struct Params {
    /// The name that hosts know this way of parsing by, e.g. `peg-native`.
    pub format: &'static str,
    /// The prompt, with the generation prompt and what a continued message has so far.
    pub prompt: String,
    /// The end of the prompt that is already the assistant's turn. The parser knows it.
    pub generation_prompt: String,
    /// Whether and where a grammar constrains the output.
    pub constraint: Constraint,
    /// Texts that the tokeniser must keep as single tokens and the detokeniser must print.
    pub preserved_tokens: Vec<String>,
    /// Texts that end the output besides the end-of-turn token.
    pub additional_stops: Vec<String>,
    /// The markers of reasoning; `None` where the template knows none.
    pub thinking: Option<Thinking>,
    /// How the turns of each role begin in a prompt.
    pub delimiters: Vec<Delimiter>,
    /// Parses the output.
    pub parser: Parser,
    compiled: Arc<CompiledFormat>,
}

impl ChatTemplate {
    /// Compiles a template. `bos` and `eos` are the texts of the model's special tokens, empty for none.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Template`] where the source does not parse, [`crate::ErrorKind::Limit`] where it is too long.
    pub fn new(source: &str, bos: &str, eos: &str) -> Result<Self> {
        let options = TemplateOptions { bos: bos.to_owned(), eos: eos.to_owned(), ..TemplateOptions::default() };
        ChatTemplate::with_options(source, &options)
    }

    /// Compiles a template that is to be taken in a certain way.
    ///
    /// # Errors
    /// As [`ChatTemplate::new`].
    pub fn with_options(source: &str, options: &TemplateOptions) -> Result<Self> {
        let TemplateOptions { bos, eos, learn_only } = options;
        let template = Template::new(source, bos, eos)?;
        let family = if *learn_only { None } else { family_of(template.source()) };
        Ok(ChatTemplate {
            template,
            learn_only: *learn_only,
            family,
            analysis: OnceLock::new(),
            formats: FormatCache::default(),
        })
    }

    /// A template of our own by its name, e.g. `chatml`; [`crate::builtin::names`] lists them.
    pub fn builtin(name: &str) -> Option<Self> {
        let builtin = crate::builtin::find(name)?;
        Some(ChatTemplate::new(builtin.source, builtin.bos, builtin.eos).expect("built-in templates compile"))
    }

    /// The template's text.
    pub fn source(&self) -> &str {
        self.template.source()
    }

    /// What the template accepts. The first call takes a few renders.
    pub fn caps(&self) -> &Caps {
        self.template.caps()
    }

    /// What was learnt of the template, and how. The first call takes some thirty renders.
    pub fn analysis(&self) -> &Analysis {
        self.analysis.get_or_init(|| analysis::analyze(&self.template, self.learn_only))
    }

    /// The prompt alone, for a caller that does not parse: no analysis is needed unless a message is continued.
    ///
    /// # Errors
    /// As [`ChatTemplate::params`].
    pub fn prompt(&self, request: &Request) -> Result<String> {
        Ok(self.prompts(request)?.prompt.prompt)
    }

    /// Prompt and parser for one request.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Template`] where the template raises, [`crate::ErrorKind::InvalidArgument`] where the request does not fit it
    /// (a grammar beside tools, arguments of a call that it refuses), [`crate::ErrorKind::Schema`] where the
    /// schema of the response cannot be used, [`crate::ErrorKind::Limit`].
    pub fn params(&self, request: &Request) -> Result<Params> {
        let Prompts { prompt: Prompt { prompt, generation_prompt }, opening, continuation } = self.prompts(request)?;
        let spec = FormatSpec {
            source: self.source(),
            opening: &opening,
            prefill: &generation_prompt,
            continuation,
            ..FormatSpec::of(request)
        };
        let compiled = self.compiled(&spec, request.force_pure_content)?;
        Ok(Params {
            format: compiled.name,
            prompt,
            constraint: compiled.constraint.clone(),
            preserved_tokens: compiled.preserved_tokens.clone(),
            additional_stops: compiled.additional_stops.clone(),
            thinking: compiled.thinking.clone(),
            delimiters: compiled.delimiters.clone(),
            parser: compiled.parser.clone(),
            generation_prompt,
            compiled,
        })
    }

    /// The way to parse what `spec` asks for: made once for requests that ask for the same.
    fn compiled(&self, spec: &FormatSpec, pure_content: bool) -> Result<Arc<CompiledFormat>> {
        let make = || {
            if let Some(schema) = spec.response_schema() {
                grammar::from_json_schema(schema)?;
            }
            Ok(match self.family {
                _ if pure_content => auto::pure_content(spec.opening),
                Some(family) => (family.build)(spec),
                None => auto::build(&self.analysis().layout, spec, self.caps().tool_calls),
            })
        };
        if pure_content {
            return CompiledFormat::new(make()?, spec, Vec::new()).map(Arc::new);
        }
        self.formats.get_or_make(spec, make)
    }

    fn prompts(&self, request: &Request) -> Result<Prompts> {
        let prepared = prepare(&self.template, request)?;
        let input = PromptInput { template: &self.template, prepared: &prepared, request };
        let continuation = if prepared.continued.is_some() { prepared.continuation } else { Continuation::None };
        let same = |prompt: Prompt| {
            let opening = prompt.generation_prompt.clone();
            Prompts { prompt, opening, continuation }
        };
        if request.force_pure_content {
            return prompt::plain(&input).map(same);
        }
        if let Some(family) = self.family {
            return (family.prompt)(&input).map(same);
        }
        let Prompts { prompt, opening, .. } = same(prompt::plain(&input)?);
        let prompt = prompt.continued_with(&input, |message, in_content| {
            let content = in_content.then(|| message.text());
            auto::continued_prompt(&self.analysis().layout, &opening, &message.reasoning_content, content.as_deref())
        });
        Ok(Prompts { prompt, opening, continuation })
    }
}

/// What a request puts in front of the output.
struct Prompts {
    prompt: Prompt,
    /// What opens the assistant's turn, without a message that is continued.
    opening: String,
    continuation: Continuation,
}

impl Params {
    /// The grammar that constrains the output, as GBNF, and where it is not exactly what the schemas ask for. Empty text where
    /// nothing constrains it. Lazy ([`Constraint::Lazy`]) ones are about the text from a trigger on, others about the
    /// generation prompt with the output. Made by the first call.
    pub fn grammar(&self) -> &Arc<Grammar> {
        self.compiled.grammar()
    }

    /// All of it as JSON, for hosts that read it as one text: strings, arrays and objects as the fields are named, with
    /// `grammar`, `grammar_lazy`, `grammar_triggers` and `grammar_report` for the constraint and `supports_thinking`, `thinking_start_tag` and
    /// `thinking_end_tags` for the reasoning.
    pub fn to_json(&self) -> Value {
        let grammar = self.grammar();
        let triggers = self.constraint.triggers().iter();
        let triggers: Vec<Value> = triggers.map(|t| json!({"type": t.kind.name(), "value": t.value})).collect();
        let report = grammar.report.iter().map(|entry| {
            let (schema, pointer, kind) = (&entry.schema, &entry.pointer, entry.kind.name());
            json!({"schema": schema, "pointer": pointer, "kind": kind, "message": entry.message})
        });
        let report: Vec<Value> = report.collect();
        let delimiters: Vec<Value> =
            self.delimiters.iter().map(|d| json!({"role": d.role, "delimiter": d.delimiter})).collect();
        let thinking = self.thinking.clone().unwrap_or_default();
        json!({
            "prompt": self.prompt,
            "generation_prompt": self.generation_prompt,
            "format": self.format,
            "grammar": grammar.text,
            "grammar_lazy": self.constraint.is_lazy(),
            "grammar_triggers": triggers,
            "grammar_report": report,
            "preserved_tokens": self.preserved_tokens,
            "additional_stops": self.additional_stops,
            "supports_thinking": self.thinking.is_some(),
            "thinking_start_tag": thinking.start,
            "thinking_end_tags": thinking.ends,
            "message_delimiters": delimiters,
        })
    }
}
