//! The façade: a template, learnt once, turns each request into a prompt and a parser.

mod config;
mod options;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::Value;

use crate::analysis::Analysis;
use crate::analysis::turn::TurnFormat;
use crate::error::Result;
use crate::format::{FormatSpec, Prompt, auto};
use crate::format_cache::{CompiledFormat, FormatCache};
use crate::grammar::{self, Begins, Dialect, Grammar, Printed};
use crate::limits;
use crate::message::{Continuation, Media, Request};
use crate::parser::Parser;
use crate::proof::{self, Choice, Exam, Proof, Reading};
use crate::reader::{Prompts, Reader, Taught};
use crate::segments::{self, Segments};
use crate::template::{Caps, Template};

use config::Config;

pub use crate::format::{Constraint, Delimiter, Thinking};
pub use options::TemplateOptions;

/// A chat template: compiled, with its caps and, once somebody asks, its analysis and who reads it. Immutable; share it between
/// threads. A clone is the same template, and costs nothing.
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
#[derive(Clone, Debug)]
pub struct ChatTemplate(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    taught: Taught,
    /// Who may read it.
    candidates: Vec<Reader>,
    /// Whether they prove themselves before one of them is taken.
    prove: bool,
    choice: OnceLock<Choice>,
    proof: OnceLock<Proof>,
    formats: FormatCache,
    /// What was found out of the template, by what it was asked.
    noted: Mutex<VecDeque<(String, bool)>>,
}

/// What one request needs. Immutable; share it between threads.
///
/// ```
/// use chatparse::chat::Constraint;
/// use chatparse::{ChatTemplate, Message, Request, Tool};
/// let mut request = Request::new(vec![Message::new("user", "Is it raining in Oslo?")]);
/// let schema = serde_json::json!({"type": "object", "properties": {"city": {"type": "string"}}});
/// request.tools.push(Tool::new("weather", "The weather of a city.", schema));
/// let params = ChatTemplate::builtin("json-call").unwrap().params(&request)?;
/// assert!(params.prompt.contains("weather")); // for the model
/// assert!(matches!(params.constraint, Constraint::Lazy(_))); // the sampler applies the grammar once a call begins
/// assert!(params.grammar().text.contains("root ::="));
/// assert!(params.preserved_tokens.iter().any(|token| token == "<tool_call>")); // for the tokeniser
/// # Ok::<(), chatparse::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Params {
    /// The name that hosts know this way of parsing by, e.g. `peg-native`.
    pub format: &'static str,
    /// The prompt, with the generation prompt and what a continued message has so far.
    pub prompt: String,
    /// The end of the prompt that is already the assistant's turn. The parser knows it.
    pub generation_prompt: String,
    /// The media that the prompt wants, in its order. Empty for a plain request, which the host renders by itself.
    pub media: Vec<Media>,
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
    /// The longest text that [`ChatTemplate::new`] takes, in bytes: a file of JSON. A template alone has a lower bound.
    pub const MAX_BYTES: usize = limits::CONFIG_BYTES;

    /// Compiles a template: Jinja text, or the text of a `tokenizer_config.json` or `chat_template.json` that holds it. `bos` and `eos`
    /// are the texts of the model's special tokens, empty for none or for those of the file.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Template`] where the source does not parse, [`crate::ErrorKind::Limit`] where it is too long,
    /// [`crate::ErrorKind::InvalidArgument`] for a JSON object without a template.
    pub fn new(source: &str, bos: &str, eos: &str) -> Result<Self> {
        let options = TemplateOptions { bos: bos.to_owned(), eos: eos.to_owned(), ..TemplateOptions::default() };
        ChatTemplate::with_options(source, &options)
    }

    /// Compiles a template that is to be taken in a certain way.
    ///
    /// # Errors
    /// As [`ChatTemplate::new`].
    pub fn with_options(source: &str, options: &TemplateOptions) -> Result<Self> {
        let TemplateOptions { name, bos, eos, learn_only, prove } = options;
        let config = Config::read(source, name)?;
        let template = match &config {
            Some(config) => {
                let bos = if bos.is_empty() { &config.bos } else { bos };
                let eos = if eos.is_empty() { &config.eos } else { eos };
                Template::new(&config.source, bos, eos)?
            }
            None => Template::new(source, bos, eos)?,
        };
        let taught = Taught::new(template, *learn_only);
        Ok(ChatTemplate(Arc::new(Shared {
            candidates: taught.candidates(),
            taught,
            prove: *prove,
            choice: OnceLock::new(),
            proof: OnceLock::new(),
            formats: FormatCache::default(),
            noted: Mutex::default(),
        })))
    }

    /// A template of our own by its name, e.g. `chatml`; [`crate::builtin::names`] lists them.
    pub fn builtin(name: &str) -> Option<Self> {
        let builtin = crate::builtin::find(name)?;
        Some(ChatTemplate::new(builtin.source, builtin.bos, builtin.eos).expect("built-in templates compile"))
    }

    /// The template's text.
    pub fn source(&self) -> &str {
        self.0.taught.template.source()
    }

    /// The text of the token that ends a turn; empty where it is not known.
    pub(crate) fn eos(&self) -> &str {
        self.0.taught.template.eos()
    }

    /// What the template accepts. The first call takes a few renders.
    pub fn caps(&self) -> &Caps {
        self.0.taught.template.caps()
    }

    /// What was learnt of the template, and how. The first call takes some thirty renders.
    pub fn analysis(&self) -> &Analysis {
        self.0.taught.analysis()
    }

    /// How the template writes an assistant's turn in this way to think, which [`Reader::Turn`] reads by; `None` where that
    /// could not be learnt. The first call takes some thirty renders.
    pub fn turn(&self, thinking: bool) -> Option<&TurnFormat> {
        self.0.taught.turn(thinking)
    }

    /// Who reads what the model writes. Where there are several candidates, the first call lets them read what the template renders
    /// until one of them has turned out best (some ten renders, where the first reads all of it), unless
    /// [`TemplateOptions::prove`] says no. [`ChatTemplate::params`] asks for it, so call this first to have that behind you.
    pub fn reader(&self) -> Reader {
        self.choice().reader
    }

    /// The same, with what the candidates have read.
    pub fn choice(&self) -> &Choice {
        self.0.choice.get_or_init(|| {
            let candidates = if self.0.prove { &self.0.candidates[..] } else { &self.0.candidates[..1] };
            proof::choose(&self.0.taught, candidates)
        })
    }

    /// The messages that the template writes, and its reader.
    pub(crate) fn exam(&self) -> (Exam<'_>, Reading) {
        (Exam::new(&self.0.taught, self.reader()), Reading::new(self.reader()))
    }

    /// Whether the template is what `question` asks for: what `ask` says, or said before.
    pub(crate) fn noted(&self, question: String, ask: impl FnOnce() -> bool) -> bool {
        let noted = || self.0.noted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, answer)) = noted().iter().find(|(known, _)| *known == question) {
            return *answer;
        }
        let answer = ask();
        let mut noted = noted();
        noted.push_front((question, answer));
        noted.truncate(limits::NOTED_ANSWERS);
        answer
    }

    /// How well the messages that the template writes are read back by [`ChatTemplate::reader`]. The first call renders and
    /// reads some sixty.
    pub fn proof(&self) -> &Proof {
        self.0.proof.get_or_init(|| proof::prove(&self.0.taught, self.reader()))
    }

    /// The prompt alone, for a caller that does not parse. No analysis is needed for it unless a message is continued, or the
    /// template may be one of a family that changes prompts.
    ///
    /// # Errors
    /// As [`ChatTemplate::params`].
    pub fn prompt(&self, request: &Request) -> Result<String> {
        let own =
            self.0.candidates.iter().all(|reader| reader.is_learnt()) && request.continuation == Continuation::None;
        let reader = if own || request.force_pure_content { Reader::Layout } else { self.reader() };
        Ok(reader.prompts(&self.0.taught, &self.0.taught.template, request, false)?.prompt.prompt)
    }

    /// The prompt of a request with the origin of each of its bytes: which of them are the template's, and which message, field, tool or
    /// variable the others are from. Takes two to forty renders, so ask only where somebody looks at it.
    ///
    /// # Errors
    /// As [`ChatTemplate::params`].
    pub fn segments(&self, request: &Request) -> Result<Segments> {
        segments::segments(&self.0.taught, self.reader_of(request), request)
    }

    /// Prompt and parser for one request.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Template`] where the template raises, [`crate::ErrorKind::InvalidArgument`] where the request does not fit it
    /// (a grammar beside tools, arguments of a call that it refuses), [`crate::ErrorKind::Schema`] where the
    /// schema of the response cannot be used, [`crate::ErrorKind::Limit`].
    pub fn params(&self, request: &Request) -> Result<Params> {
        self.params_of(request, self.prompts(request)?)
    }

    /// What the request puts in front of the output.
    pub(crate) fn prompts(&self, request: &Request) -> Result<Prompts> {
        self.reader_of(request).prompts(&self.0.taught, &self.0.taught.template, request, true)
    }

    /// The prompts of short conversations that ask how the template writes.
    pub(crate) fn probe(&self) -> impl Fn(&Request) -> Result<String> {
        let template = self.0.taught.template.probing();
        move |request| {
            let prompts = self.reader_of(request).prompts(&self.0.taught, &template, request, false)?;
            Ok(prompts.prompt.prompt)
        }
    }

    /// Nothing needs to be known where all is content.
    fn reader_of(&self, request: &Request) -> Reader {
        if request.force_pure_content { Reader::Layout } else { self.reader() }
    }

    /// What goes with the prompt of a request.
    pub(crate) fn params_of(&self, request: &Request, prompts: Prompts) -> Result<Params> {
        let reader = self.reader_of(request);
        let Prompts { prompt: Prompt { prompt, generation_prompt }, opening, continuation, media } = prompts;
        let spec = FormatSpec {
            source: self.source(),
            eos: self.0.taught.template.eos(),
            opening: &opening,
            prefill: &generation_prompt,
            continuation,
            ..FormatSpec::of(request)
        };
        let compiled = self.compiled(reader, &spec, request.force_pure_content)?;
        Ok(Params {
            format: compiled.name,
            prompt,
            media,
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
    fn compiled(&self, reader: Reader, spec: &FormatSpec, pure_content: bool) -> Result<Arc<CompiledFormat>> {
        let make = || {
            if let Some(schema) = spec.response_schema() {
                grammar::from_json_schema_as(schema, spec.grammar_style)?;
            }
            Ok(if pure_content { auto::pure_content(spec.opening) } else { reader.format(&self.0.taught, spec) })
        };
        if pure_content {
            return CompiledFormat::new(make()?, spec, Vec::new()).map(Arc::new);
        }
        self.0.formats.get_or_make(spec, make)
    }
}

impl Params {
    /// The grammar that constrains the output, as GBNF, and where it is not exactly what the schemas ask for. Empty text where
    /// nothing constrains it. Lazy ([`Constraint::Lazy`]) ones are about the text from a trigger on, others about the
    /// generation prompt with the output. Made by the first call.
    pub fn grammar(&self) -> &Arc<Grammar> {
        self.compiled.grammar()
    }

    /// The same in another dialect, about the output alone: lazy or not, it starts with the output's first byte, behind
    /// [`Params::generation_prompt`], and free text in front of a trigger is a part of it. Only [`Dialect::Gbnf`] is
    /// [`Params::grammar`] as it is, for an engine that knows triggers and the prompt. The report says what the dialect cannot say; what the
    /// grammar leaves of the schemas is in its own.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] with the reason where [`Dialect::StructuralTagOld`] does not fit,
    /// [`crate::ErrorKind::Limit`].
    pub fn grammar_as(&self, dialect: Dialect) -> Result<Printed> {
        let grammar = self.grammar();
        match &self.constraint {
            Constraint::Lazy(triggers) if dialect == Dialect::StructuralTagOld => {
                grammar::print_old_tag(self.parser.format(), triggers)
            }
            Constraint::Lazy(triggers) => grammar.print_output(dialect, Begins::At(triggers)),
            Constraint::Free | Constraint::Strict(_) => {
                grammar.print_output(dialect, Begins::Behind(self.parser.prefill()))
            }
        }
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
        let media = self.media.iter().map(|media| {
            let Media { kind, message, part, native, text, source } = media;
            json!({"kind": kind, "message": message, "part": part, "native": native, "text": text, "source": source})
        });
        let media: Vec<Value> = media.collect();
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
            "media": media,
        })
    }
}
