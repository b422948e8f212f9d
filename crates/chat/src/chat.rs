//! The public entry point: a template, analysed once, turns each request into a prompt and a
//! parser.

mod config;
mod notes;
mod options;
mod stored;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::format_cache::{CompiledFormat, FormatCache};
use crate::grammar::Dialect;
use crate::prompts::Prompts;
use crate::proof::{self, Choice, ProbeSet, Proof, RoundTrip};
use crate::reader::{AnalyzedTemplate, Maker, Reader};
#[cfg(feature = "segments")]
use crate::segments::{self, Segments};
use crate::variables::Variables;
use chatparse_base::limits;
use chatparse_base::{Error, Result};
use chatparse_format::{Format, FormatSpec, applied_rules};
use chatparse_grammar::{Grammar, Matcher, Printed};
#[doc(inline)]
pub use chatparse_jinja::Caps;
use chatparse_jinja::{ReasoningIn, Template, laddered, offered};
use chatparse_learn::Writing;
use chatparse_learn::analysis::turn::TurnFormat;
use chatparse_learn::analysis::{Evidence, Layout, evidence};
use chatparse_message::{Compat, Continuation, KnownTools, Media, Request, ToolChoice};
use chatparse_response::{Engine, ExportedTemplate};
use chatparse_stream::{Ended, Parser, Stream};

pub use chatparse_format::{Constraint, Delimiter, Thinking};
pub use config::special_tokens;
pub use options::TemplateOptions;

/// A compiled chat template. It computes its caps, its analysis and its reader on first use.
/// Immutable; threads may share it. Clones share the same data.
///
/// ```
/// use chatparse::{ChatTemplate, Request};
/// let template = ChatTemplate::builtin("chatml").unwrap();
/// let request = Request::from_text(r#"{"messages": [{"role": "user", "content": "Hi"}]}"#)?;
/// let params = template.params(&request)?;
/// assert_eq!(params.prompt, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
/// let mut stream = params.stream();
/// let text: String = stream.feed(b"Hello!").map(|delta| delta.text).collect();
/// assert_eq!(text, "Hello!");
/// # Ok::<(), chatparse::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ChatTemplate(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    analyzed: Arc<AnalyzedTemplate>,
    /// The candidates for its reader.
    candidates: Vec<Arc<Reader>>,
    /// Renders the prompts of requests whose output is content alone.
    plain: Arc<Reader>,
    /// Whether the candidates are tested before one is chosen.
    prove: bool,
    /// Those of the model's vocabulary; empty where unknown.
    special_tokens: Vec<String>,
    choice: OnceLock<Choice>,
    proof: OnceLock<Proof>,
    formats: FormatCache,
    tools: KnownTools,
    variables: Variables,
}

/// The prompt and the parser for one request, with what else a host needs. Immutable; threads may
/// share it.
#[derive(Clone, Debug)]
pub struct Params {
    /// The name of the format, as hosts know it, e.g. `peg-native`.
    pub format: &'static str,
    /// The prompt, with the generation prompt and the text so far of a continued message.
    pub prompt: String,
    /// The end of the prompt that belongs to the assistant's turn. The parser includes it.
    pub generation_prompt: String,
    /// The media in the prompt, in order. Empty for a plain request, whose host renders the prompt
    /// itself.
    pub media: Vec<Media>,
    /// Whether and from where a grammar constrains the output.
    pub constraint: Constraint,
    /// Texts that the tokeniser must keep as single tokens and the detokeniser must print.
    pub preserved_tokens: Vec<String>,
    /// Texts that end the output, in addition to the end-of-turn token.
    pub additional_stops: Vec<String>,
    /// The markers of reasoning; `None` if the template has none.
    pub thinking: Option<Thinking>,
    /// The texts that begin the turns of each role in a prompt.
    pub delimiters: Vec<Delimiter>,
    /// The parser of the output.
    pub parser: Parser,
    /// What was changed of the messages because the template demands it (see
    /// [`Roles::Fit`](chatparse_message::Roles)), and options of the request that have no effect: a
    /// place or field, a colon, and a sentence.
    pub notes: Vec<String>,
    compiled: Arc<CompiledFormat>,
    writing: Arc<Writing>,
}

/// A second try of a call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Retry {
    /// What is wrong, in one sentence for the model.
    pub tell: String,
    /// Prompt, grammar and parser of the one call.
    pub params: Params,
}

impl ChatTemplate {
    /// The longest text that [`ChatTemplate::new`] takes, in bytes: a file of JSON. A template
    /// alone has a lower bound.
    pub const MAX_BYTES: usize = limits::CONFIG_BYTES;

    /// Compiles a template: Jinja text, or the text of a `tokenizer_config.json` or
    /// `chat_template.json` that holds it, and perhaps a response template. `bos` and `eos` are the
    /// texts of the model's special tokens, empty for none or for those of the file.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Template`] for a syntax error, [`crate::ErrorKind::Limit`] if the source
    /// is too long, [`crate::ErrorKind::InvalidArgument`] for an empty source, a JSON object
    /// without a template, or a response template that cannot be read.
    pub fn new(source: &str, bos: &str, eos: &str) -> Result<Self> {
        let options = TemplateOptions {
            bos: bos.to_owned(),
            eos: eos.to_owned(),
            ..TemplateOptions::default()
        };
        ChatTemplate::with_options(source, &options)
    }

    /// Compiles a template with options.
    ///
    /// # Errors
    /// As [`ChatTemplate::new`].
    pub fn with_options(source: &str, options: &TemplateOptions) -> Result<Self> {
        let given = !options.response_template.is_null();
        let file = config::read(source, options)?;
        if file.is_none() && source.is_empty() && !given {
            return Err(Error::invalid("the template is empty"));
        }
        let (source, options) = file
            .as_ref()
            .map_or((source, options), |(source, options)| (source, options));
        let template = Template::new(source, &options.bos, &options.eos)?;
        let analyzed = AnalyzedTemplate::new(template, &options.ends, options.learn_only);
        let response = &options.response_template;
        let analyzed = if response.is_null() {
            analyzed
        } else {
            analyzed.with_response(response, given)?
        };
        Ok(ChatTemplate::analyzed(
            analyzed,
            options.prove,
            options.special_tokens.clone(),
        ))
    }

    fn analyzed(analyzed: AnalyzedTemplate, prove: bool, special_tokens: Vec<String>) -> Self {
        let analyzed = Arc::new(analyzed);
        ChatTemplate(Arc::new(Shared {
            candidates: analyzed.candidates(),
            plain: Arc::new(Reader::new(&analyzed, Maker::Learning)),
            analyzed,
            prove,
            special_tokens,
            choice: OnceLock::new(),
            proof: OnceLock::new(),
            formats: FormatCache::default(),
            tools: KnownTools::default(),
            variables: Variables::default(),
        }))
    }

    /// A built-in template by its name, e.g. `chatml`; [`chatparse_templates::names`] lists them.
    pub fn builtin(name: &str) -> Option<Self> {
        let builtin = chatparse_templates::find(name)?;
        Some(
            ChatTemplate::new(builtin.source, builtin.bos, builtin.eos)
                .expect("built-in templates compile"),
        )
    }

    /// The template's text.
    pub fn source(&self) -> &str {
        self.jinja().source()
    }

    /// The texts of the tokens that end the model's output, as far as they are told. None is empty.
    #[doc(hidden)]
    pub fn ends(&self) -> &[String] {
        &self.0.analyzed.ends
    }

    /// What renders.
    #[doc(hidden)]
    pub fn jinja(&self) -> &Template {
        &self.0.analyzed.template
    }

    /// The special tokens of the model's vocabulary; empty where unknown.
    #[doc(hidden)]
    pub fn special_tokens(&self) -> &[String] {
        &self.0.special_tokens
    }

    /// The template's capabilities. The first call takes a few renders.
    pub fn caps(&self) -> &Caps {
        self.jinja().caps()
    }

    /// How the template's model writes turns, by llama.cpp's names. The first call takes some
    /// thirty renders.
    #[doc(hidden)]
    pub fn layout(&self) -> &Layout {
        self.used().layout()
    }

    /// For each part of the learnt turn, two renders that show it. Each call renders them.
    #[doc(hidden)]
    pub fn evidence(&self) -> Vec<Evidence> {
        evidence(&self.jinja().probing(), self.0.analyzed.turn(true))
    }

    /// How the template's model writes an assistant's turn with thinking on or off: without the
    /// parts that could not be learnt. The first call takes some thirty renders.
    #[doc(hidden)]
    pub fn turn(&self, thinking: bool) -> &TurnFormat {
        &self.used().writing(thinking).turn
    }

    /// The name of the reader of the model's output: `turn` for a learnt format,
    /// `response-template`, or that of a template family. If there are several candidates, the
    /// first call tests them on messages that the template renders, until one is best (some ten
    /// renders if the first candidate reads all), unless [`TemplateOptions::prove`] is off.
    /// [`ChatTemplate::params`] needs it, so call this at startup to avoid the delay later.
    pub fn reader(&self) -> &'static str {
        self.used().name()
    }

    /// The names of the rules by which outputs are read that deviate from the template's text, in
    /// the order of an output.
    pub fn rules(&self) -> Vec<&'static str> {
        applied_rules(self.used().writing(true))
    }

    fn used(&self) -> &Arc<Reader> {
        &self.choice().reader
    }

    /// The reader, and the results of the candidates.
    pub fn choice(&self) -> &Choice {
        self.0.choice.get_or_init(|| {
            let candidates = &self.0.candidates;
            let tested = if self.0.prove { candidates.len() } else { 1 };
            let choice = proof::choose(&candidates[..tested]);
            log::info!("template: outputs are read by {}", choice.reader.name());
            choice
        })
    }

    /// How well the template's own response template reads the messages that it renders; `None` if
    /// there is none.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if it cannot be read.
    pub fn response_proof(&self) -> Option<Result<Proof>> {
        let fault = self.0.analyzed.response_fault.clone().map(Err);
        let by_response = self.0.candidates.iter().find(|reader| reader.is_response());
        fault.or_else(|| Some(Ok(proof::prove(by_response?))))
    }

    /// The messages that the template renders, and its reader.
    #[doc(hidden)]
    pub fn probes(&self) -> RoundTrip {
        RoundTrip::new(self.used(), ProbeSet::new(self.used()))
    }

    /// The texts that end outputs: those that were told, and those that the template ends turns
    /// with.
    #[doc(hidden)]
    pub fn turn_ends(&self) -> Vec<String> {
        self.used().all_ends(true)
    }

    /// Tests how well [`ChatTemplate::reader`] reads the messages that the template renders. The
    /// first call takes some sixty renders.
    pub fn proof(&self) -> &Proof {
        self.0.proof.get_or_init(|| {
            let proof = proof::prove(self.used());
            if proof.read_back < proof.cases || proof.cases == 0 {
                log::warn!(
                    "template: {} of {} test messages are read back",
                    proof.read_back,
                    proof.cases
                );
            }
            proof
        })
    }

    /// How the model's output is read, as a response template that transformers reads, and what
    /// that cannot say.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if no response template can say how the calls are
    /// written.
    pub fn response_template(&self) -> Result<ExportedTemplate> {
        self.response_template_for(Engine::Transformers)
    }

    /// The same within what this engine reads.
    ///
    /// # Errors
    /// As [`ChatTemplate::response_template`].
    pub fn response_template_for(&self, engine: Engine) -> Result<ExportedTemplate> {
        chatparse_response::write(self.turn(true), self.turn(false), self.ends(), engine)
    }

    /// The prompt alone, for callers that do not parse. It needs no analysis, unless a message is
    /// continued, or the template may belong to a family that changes prompts.
    ///
    /// # Errors
    /// As [`ChatTemplate::params`].
    pub fn prompt(&self, request: &Request) -> Result<String> {
        let request = &*self.laddered(request).0;
        let own = self.0.candidates.iter().all(|reader| reader.is_learnt())
            && request.continuation == Continuation::None;
        let reader = if own {
            Arc::clone(&self.0.candidates[0])
        } else {
            self.reader_for(request)
        };
        Ok(reader.fitted(request, false)?.0.prompt)
    }

    /// The prompt of a request with the origin of each of its bytes: the template, or a message and
    /// its field, a tool or a variable, and the turns of the assistant. Takes two to five renders,
    /// and up to some 160 if the template inspects values, so call it only if the result is needed.
    /// [`Segments::limit`] says if something ran out: a prompt that has letters of all the scripts
    /// that labels are made of (some hundred different ones of Yi, Vai and Phags-pa) may be unknown
    /// as a whole, and have no turns.
    ///
    /// # Errors
    /// As [`ChatTemplate::params`].
    #[cfg(feature = "segments")]
    pub fn segments(&self, request: &Request) -> Result<Segments> {
        self.segments_with(request, true)
    }

    /// The same with or without the turns.
    #[cfg(feature = "segments")]
    pub(crate) fn segments_with(&self, request: &Request, turns: bool) -> Result<Segments> {
        let request = &*self.laddered(request).0;
        let reader = self.reader_for(request);
        let request = &*reader.asked(reader.template(), request)?;
        segments::segments(&reader, request, turns)
    }

    /// [`ChatTemplate::segments`] of each request, in their order, on at most this many threads; 0:
    /// on as many as the machine runs at once. What threads share is read only, so the results do
    /// not depend on their number.
    #[cfg(feature = "segments")]
    pub fn segments_batch(&self, requests: &[Request], threads: usize) -> Vec<Result<Segments>> {
        segments::in_threads(requests.len(), threads, &|index| {
            self.segments(&requests[index])
        })
    }

    /// Reads a request as [`Request::from_text_with`] does. The template keeps tools, up to a
    /// bound, by their text. Those that are sent again are not read again, nor is their JSON
    /// written again: much of the time of a request with many tools.
    ///
    /// # Errors
    /// As there.
    pub fn request(&self, body: &str, options: &str) -> Result<Request> {
        self.0.tools.request(body, options)
    }

    /// Prompt and parser for one request.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Template`] if the template raises an error,
    /// [`crate::ErrorKind::InvalidArgument`] if the request is not possible with it (a grammar
    /// beside tools, invalid arguments of a call), [`crate::ErrorKind::Schema`] if the response
    /// schema cannot be used, [`crate::ErrorKind::Limit`].
    pub fn params(&self, request: &Request) -> Result<Params> {
        self.params_without(request, "")
    }

    /// The params of a prompt that the host has rendered itself: what its end leaves open,
    /// reasoning or a text that the message has already, is read from the prompt, and nothing is
    /// rendered. `request`: the tools and the options; its messages are not looked at.
    ///
    /// ```
    /// use chatparse::{ChatTemplate, EndedBy, Request, Stream};
    /// let template = ChatTemplate::builtin("json-call").unwrap();
    /// let prompt = "<|im_start|>user\nRain?<|im_end|>\n<|im_start|>assistant\n<think>\nLet me";
    /// let params = template.parser_for(prompt, &Request::new(Vec::new()))?;
    /// let (message, _) = params.parser.parse(b" see.\n</think>\n\nNo.", EndedBy::Model);
    /// assert_eq!((&*message.reasoning_content, &*message.content), ("Let me see.\n", "No."));
    /// # Ok::<(), chatparse::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`ChatTemplate::params`], but those of renders.
    pub fn parser_for(&self, prompt: &str, request: &Request) -> Result<Params> {
        let laddered = self.laddered(request).0;
        let prompts = self.reader_for(&laddered).given(prompt);
        self.params_of(request, prompts, "")
    }

    /// A second try of a call that is not valid: what to tell the model, and params whose grammar
    /// has this one call alone, of its tool, or of any where the model has named one that is not
    /// there. The prompt is the request's: add the call to its messages, and what to tell, as the
    /// result of the tool. `None` if the call is valid, or if there is none.
    ///
    /// ```
    /// use chatparse::{ChatTemplate, EndedBy, Request};
    /// let template = ChatTemplate::builtin("json-call").unwrap();
    /// let body = r#"{"messages": [{"role": "user", "content": "Rain?"}], "tools": [{"type": "function",
    ///    "function": {"name": "weather", "parameters": {"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]}}}]}"#;
    /// let request = Request::from_text(body)?;
    /// let output = b"<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"days\": \"two\"}}\n</tool_call>";
    /// let ended = template.params(&request)?.parser.read(output, EndedBy::Model);
    /// let retry = template.retry(&request, &ended, 0)?.unwrap();
    /// assert_eq!(retry.tell, r#"The call of "weather" is not valid: "/days" must be a whole number, not a string."#);
    /// assert!(!retry.params.constraint.is_lazy());
    /// # Ok::<(), chatparse::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`ChatTemplate::params`].
    pub fn retry(&self, request: &Request, ended: &Ended, call: usize) -> Result<Option<Retry>> {
        let Some(tell) = ended.retry(call) else {
            return Ok(None);
        };
        let name = &ended.message.tool_calls[call].name;
        let offered = request.allowed_tools.as_ref().unwrap_or(&request.tools);
        let mut again = request.clone();
        (again.output.tool_choice, again.output.parallel_tool_calls) =
            (ToolChoice::Required, false);
        if let Some(tool) = offered.iter().find(|tool| tool.name == *name) {
            again.allowed_tools = Some(vec![tool.clone()]);
        }
        Ok(Some(Retry {
            tell,
            params: self.params(&again)?,
        }))
    }

    /// The request with a level of effort that the template takes, and a note if that is another
    /// one.
    fn laddered<'r>(&self, request: &'r Request) -> (Cow<'r, Request>, Option<String>) {
        laddered(self.jinja(), request)
    }

    /// The prompt of the request, in parts.
    pub(crate) fn prompts(&self, request: &Request) -> Result<Prompts> {
        let request = &*self.laddered(request).0;
        Ok(self.reader_for(request).fitted(request, true)?.0)
    }

    /// The reader of a request's output: of what is learnt under the request's variables, if that
    /// is something else. No choice is necessary if all output is content.
    fn reader_for(&self, request: &Request) -> Arc<Reader> {
        if request.force_pure_content {
            return Arc::clone(&self.0.plain);
        }
        let (usual, variables) = (self.used(), &request.template_kwargs);
        let varied = if variables.is_empty() {
            None
        } else {
            self.0.variables.under(usual, variables)
        };
        varied.unwrap_or_else(|| Arc::clone(usual))
    }

    /// A request's params as if there were no rule of this name: for tests.
    ///
    /// # Errors
    /// As [`ChatTemplate::params`].
    #[doc(hidden)]
    pub fn params_without(&self, request: &Request, rule: &'static str) -> Result<Params> {
        self.params_of(request, self.prompts(request)?, rule)
    }

    /// Completes the prompt of a request to its [`Params`].
    /// `without`: the name of a rule that reads nothing; empty: all do.
    pub(crate) fn params_of(
        &self,
        request: &Request,
        prompts: Prompts,
        without: &'static str,
    ) -> Result<Params> {
        let (request, note) = self.laddered(request);
        let request = &*offered(self.jinja(), &request)?;
        let Prompts {
            prompt,
            opening,
            media,
            mut notes,
        } = prompts;
        let spec = FormatSpec::of(request, &opening);
        let reader = self.reader_for(request);
        let thinks = request.output.enable_thinking;
        let mut writing = Arc::clone(reader.writing_after(&opening.text, thinks));
        if !without.is_empty() {
            writing = Arc::new(writing.without(without));
        }
        let ends = || reader.all_ends(thinks);
        let compiled = if request.force_pure_content {
            Arc::new(CompiledFormat::pure_content(&spec, ends())?)
        } else {
            self.0.formats.get_or_make(&writing, &spec, ends)?
        };
        let Format {
            constraint,
            mut preserved_tokens,
            additional_stops,
            mut thinking,
            delimiters,
            ..
        } = compiled.format.clone();
        let free = constraint == Constraint::Free;
        notes.splice(..0, request.notes.iter().cloned());
        notes.extend(note);
        notes.extend(notes::notes(self.jinja(), request, &spec, &prompt, free));
        // llama.cpp sees no reasoning in blocks.
        if request.output.compat == Compat::LlamaCpp
            && *self.jinja().reasoning_in() == ReasoningIn::Blocks
            && let Some(Thinking { start, ends, .. }) = thinking.take()
        {
            preserved_tokens.retain(|token| *token != start && !ends.contains(token));
        }
        Ok(Params {
            format: compiled.format.name(),
            prompt,
            media,
            notes,
            constraint,
            preserved_tokens,
            additional_stops,
            thinking,
            delimiters,
            parser: compiled.parser.clone(),
            writing: Arc::clone(reader.writing(thinks)),
            generation_prompt: opening.prefill,
            compiled,
        })
    }
}

impl Params {
    /// A stream for the output, at its start: [`Stream::new`] with the parser.
    pub fn stream(&self) -> Stream {
        Stream::new(&self.parser)
    }

    /// What the template writes to end the assistant's turn, without outer white space; empty if
    /// nothing does, or if it is unknown. If it is no token that ends the output for the engine
    /// anyway, it is a stop, too.
    pub fn end_of_turn(&self) -> &str {
        self.writing.turn.end.head().trim()
    }

    /// The grammar that constrains the output, as GBNF, with a report on where it departs from the
    /// schemas. The text is empty if the output is unconstrained. A lazy grammar
    /// ([`Constraint::Lazy`]) begins at a trigger, others at the generation prompt. Built by the
    /// first call.
    pub fn grammar(&self) -> &Arc<Grammar> {
        self.compiled.grammar()
    }

    /// The grammar in another dialect, for the output only: it begins at the first byte after
    /// [`Params::generation_prompt`], and a lazy grammar includes the free text before a
    /// trigger. [`Dialect::Gbnf`] is the exception: it is the same as [`Params::grammar`], for an
    /// engine that uses the triggers and the prompt. The report lists what the dialect cannot
    /// express; departures from the schemas are in the grammar's own report. Printed by the first
    /// call, and remembered with the tools.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`]; [`crate::ErrorKind::InvalidArgument`] in a build without the
    /// feature `dialects`.
    pub fn grammar_as(&self, dialect: Dialect) -> Result<Printed> {
        self.compiled.grammar_as(dialect).clone()
    }

    /// What the output is held to, as a machine that is fed the output from its first byte on:
    /// which bytes may come next, and which text must. With a lazy grammar, the text before a
    /// trigger is free. Without a grammar, any text is allowed. Each call builds it anew: keep it
    /// for the request, and clone it for others with the same tools and options.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`].
    pub fn matcher(&self) -> Result<Matcher> {
        self.grammar().matcher(self.compiled.start())
    }

    /// All fields as JSON, for hosts that read one text: strings, arrays and objects with the
    /// fields' names, with `grammar`, `grammar_lazy`, `grammar_triggers` and `grammar_report` for
    /// the constraint, and `supports_thinking`, `thinking_start_tag` and `thinking_end_tags` for
    /// the reasoning.
    pub fn to_json(&self) -> Value {
        let grammar = self.grammar();
        let thinking = self.thinking.clone().unwrap_or_default();
        json!({
            "prompt": self.prompt,
            "generation_prompt": self.generation_prompt,
            "format": self.format,
            "grammar": grammar.text,
            "grammar_lazy": self.constraint.is_lazy(),
            "grammar_triggers": self.constraint.triggers(),
            "grammar_report": grammar.report,
            "preserved_tokens": self.preserved_tokens,
            "additional_stops": self.additional_stops,
            "supports_thinking": self.thinking.is_some(),
            "thinking_start_tag": thinking.start,
            "thinking_end_tags": thinking.ends,
            "message_delimiters": self.delimiters,
            "end_of_turn": self.end_of_turn(),
            "media": self.media,
            "notes": self.notes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a request with 40 tools, of which all but these are always the same.
    fn many(template: &ChatTemplate, new: &[(&str, Value)], more: &Value) -> Params {
        let known: Vec<_> = (new.len()..40)
            .map(|at| (format!("tool_{at}"), json!({"path": {"type": "string"}})))
            .collect();
        let new = new
            .iter()
            .map(|(name, properties)| ((*name).to_owned(), properties.clone()));
        let tools = new.chain(known).map(|(name, properties)| {
            json!({"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}})
        });
        let mut body = json!({"messages": [{"role": "user", "content": "Hi"}], "tools": tools.collect::<Value>()});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        template
            .params(&Request::from_json(&body).unwrap())
            .unwrap()
    }

    fn call(params: &Params, name: &str) {
        let arguments = json!({"path": "a"});
        let output = format!(
            "<tool_call>\n{}\n</tool_call>",
            json!({"name": name, "arguments": arguments})
        );
        let ended = params
            .parser
            .read(output.as_bytes(), chatparse_stream::EndedBy::Model);
        assert_eq!(ended.message.tool_calls[0].name, name);
    }

    #[test]
    fn a_tool_is_compiled_once_whatever_tools_are_beside_it() {
        let template = ChatTemplate::builtin("json-call").unwrap();
        let text = json!({"path": {"type": "string"}});
        let first = many(&template, &[("a", text.clone())], &json!({}));
        let compiled = || template.0.formats.parts();
        assert_eq!(compiled(), 0);
        ["tool_1", "tool_7", "tool_8", "tool_7"]
            .into_iter()
            .for_each(|name| call(&first, name));
        assert_eq!(compiled(), 3);
        let others = [("b", text.clone()), ("c", json!({})), ("d", text)];
        let second = many(&template, &others, &json!({}));
        ["tool_7", "tool_8", "tool_9", "d"]
            .into_iter()
            .for_each(|name| call(&second, name));
        assert_eq!(compiled(), 5);
        // The same name with another schema, and other options.
        let changed = many(
            &template,
            &[
                ("a", json!({})),
                ("tool_1", json!({"path": {}, "all": {"type": "boolean"}})),
            ],
            &json!({}),
        );
        ["tool_1", "tool_8"]
            .into_iter()
            .for_each(|name| call(&changed, name));
        assert_eq!(compiled(), 6);
        call(
            &many(&template, &others, &json!({"tool_choice": "required"})),
            "tool_8",
        );
        assert_eq!(compiled(), 7);
    }

    #[test]
    fn no_tool_changes_what_is_kept_of_another() {
        let text = |template: &ChatTemplate, more: &[(&str, Value)]| {
            many(template, more, &json!({})).grammar().text.clone()
        };
        for name in ["qwen3-coder", "json-call", "tag-arguments"] {
            let (fresh, used) = (
                ChatTemplate::builtin(name).unwrap(),
                ChatTemplate::builtin(name).unwrap(),
            );
            // Rules of both have the same names.
            let tool = (
                "a",
                json!({"b-arg-c": {"type": "string"}, "b": {"type": "object"}}),
            );
            text(
                &used,
                &[("a-arg-b", json!({"c": {"enum": [1]}})), tool.clone()],
            );
            assert_eq!(
                text(&used, std::slice::from_ref(&tool)),
                text(&fresh, &[tool]),
                "{name}"
            );
        }
    }

    #[test]
    fn threads_share_what_is_compiled() {
        let template = ChatTemplate::builtin("json-call").unwrap();
        let read = |salt: &str| {
            let params = many(&template, &[(salt, json!({}))], &json!({}));
            (1..40).for_each(|at| call(&params, &format!("tool_{at}")));
        };
        std::thread::scope(|scope| {
            ["a", "b"]
                .map(|salt| scope.spawn(move || read(salt)))
                .map(drop)
        });
        assert_eq!(template.0.formats.parts(), 39);
        read("c");
        assert_eq!(template.0.formats.parts(), 39);
    }
}
