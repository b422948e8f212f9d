//! The readers of a template's output: the candidates, and the format and prompt that each makes for a request.
//!
//! A [`Reader`] makes a [`Format`] for a request, and the prompt that belongs to it. [`crate::proof`] decides which of a
//! template's candidates is used, by what they read back.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use crate::messages::Messages;
use chatparse_base::find::shared;
use chatparse_base::{Error, ErrorKind, Result};
use chatparse_jinja::{Arranged, Fit, Prepared, Said, Template, cut, lost, offered, plain, prepare, resolve, whole};
use chatparse_learn::analysis::turn::{self, Edge, SlotKind, TurnFormat};
use chatparse_learn::analysis::{Around, Layout};
use chatparse_learn::format::late::{Parts, Source, Want};
use chatparse_learn::format::{
    Begun, Family, Format, FormatSpec, Prompt, PromptInput, Way, family_of, learnt, prompt, thought,
};
use chatparse_learn::response::ResponseTemplate;
use chatparse_message::{Compat, Continuation, Media, Message, Request, Roles, Tool};
use chatparse_peg::Arena;

/// A way to read the output of a template's model.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Reader {
    /// The hand-written format of a family of templates.
    Family(&'static Family),
    /// The learnt turn: [`TurnFormat`].
    Turn,
    /// The turn that a response template describes.
    Response,
}

impl Reader {
    /// A stable lower-case name: that of the family, `turn`, or `response-template`.
    pub fn name(self) -> &'static str {
        match self {
            Reader::Family(family) => family.name,
            Reader::Turn => "turn",
            Reader::Response => "response-template",
        }
    }

    /// Whether it takes the template's prompts as they are, and knows nothing of other templates.
    pub fn is_learnt(self) -> bool {
        !matches!(self, Reader::Family(_))
    }

    /// Whether it reads what was learnt of the template.
    pub(crate) fn learns(self) -> bool {
        !matches!(self, Reader::Response | Reader::Family(Family { way: Way::Parser(_), .. }))
    }

    /// Whether the renders of its templates prove nothing.
    pub(crate) fn history_misleads(self) -> bool {
        matches!(self, Reader::Family(Family { history_misleads: true, .. }))
    }

    /// The format of the output, without what is built late, and how that is built.
    pub(crate) fn late_format(self, analyzed: &Arc<AnalyzedTemplate>, spec: &FormatSpec) -> (Format, Option<Parts>) {
        let format = self.format(analyzed, spec, Want::Late);
        let parts = format.parts.map(|(count, widest)| {
            let source = Late { reader: self, analyzed: Arc::clone(analyzed), kept: KeptSpec::new(spec) };
            Parts::new(count, widest, Arc::new(source))
        });
        (format, parts)
    }

    /// The format of the output.
    pub(crate) fn format(self, analyzed: &AnalyzedTemplate, spec: &FormatSpec, want: Want) -> Format {
        match self {
            Reader::Family(Family { way: Way::Parser(build), .. }) => build(spec, want),
            _ => {
                let turn = self.turn(analyzed, analyzed.turn_behind(spec.opening, spec.enable_thinking));
                let (tolerances, host) = match self {
                    Reader::Family(Family { way: Way::Row(row), .. }) => (row.tolerances, Some(row.host)),
                    _ => (
                        learnt::Tolerances {
                            late_thoughts: self.has_late_thoughts(analyzed) || turn.has_late_thoughts(),
                            ..learnt::Tolerances::NONE
                        },
                        None,
                    ),
                };
                let mut format = learnt::build(&turn, tolerances, self.layout(analyzed), spec, want);
                if let Some(host) = host {
                    host.tell(spec, &mut format);
                }
                format
            }
        }
    }

    /// How turns are written: as learnt, with what the family knows besides, or as the response template says.
    pub(crate) fn turn<'t>(self, analyzed: &'t AnalyzedTemplate, learnt: &'t TurnFormat) -> Cow<'t, TurnFormat> {
        match (self, &analyzed.response) {
            (Reader::Response, Some(response)) => Cow::Borrowed(&response.turn),
            (Reader::Family(Family { way: Way::Row(row), .. }), _) => {
                let mut turn = learnt.clone();
                (row.patch)(&mut turn);
                Cow::Owned(turn)
            }
            _ => Cow::Borrowed(learnt),
        }
    }

    /// What is around the reasoning of a message that is continued, in llama.cpp's way.
    fn around(self, analyzed: &AnalyzedTemplate) -> Around {
        let found = match self {
            Reader::Family(Family { way: Way::Row(row), .. }) => row.around(),
            Reader::Family(_) => None,
            _ => Some(analyzed.around.get_or_init(|| Around::of_template(&analyzed.template.probing())).clone()),
        };
        found.unwrap_or_else(|| Around::of_turn(&self.turn(analyzed, analyzed.turn(true))))
    }

    fn has_late_thoughts(self, analyzed: &AnalyzedTemplate) -> bool {
        matches!(self, Reader::Response) && analyzed.response.as_ref().is_some_and(|response| response.late_thoughts)
    }

    /// The same by llama.cpp's names.
    fn layout(self, analyzed: &AnalyzedTemplate) -> &Layout {
        match (self, &analyzed.response) {
            (Reader::Response, Some(response)) => &response.layout,
            _ => analyzed.layout(),
        }
    }

    /// The prompt of a request, with changed messages where the template demands it and the request allows it. `opening`: also compute
    /// the opening of the assistant's turn.
    pub(crate) fn fitted(
        self,
        analyzed: &AnalyzedTemplate,
        request: &Request,
        opening: bool,
    ) -> Result<(Prompts, Fit)> {
        let template = &analyzed.template;
        let render = |request: &Request| self.prompts(analyzed, template, request, opening);
        let lost = |request: &Request, prompts: &Prompts| {
            let marked = |marked: &Request| Some(self.prompts(analyzed, template, marked, false).ok()?.prompt.prompt);
            lost(template, request, &prompts.prompt.prompt, marked)
        };
        if request.roles == Roles::AsSent || request.messages.is_empty() || request.plain.is_some() {
            let mut prompts = render(request)?;
            if opening && request.plain.is_none() && request.compat == Compat::Off {
                prompts.notes = said_in_vain(lost(request, &prompts).into_iter().map(Said::place));
            }
            return Ok((prompts, Fit::default()));
        }
        let mut error = None;
        let found = Arranged::find(template, request, |request| {
            // Only what the template says may change with the messages.
            if error.as_ref().is_some_and(|error: &Error| error.kind() != ErrorKind::Template) {
                return None;
            }
            match render(request) {
                Ok(prompts) => {
                    let lost = lost(request, &prompts);
                    Some((prompts, lost))
                }
                Err(found) => {
                    error.get_or_insert(found);
                    None
                }
            }
        });
        let Some(Arranged { made: mut prompts, fitted, lost }) = found else {
            return Err(error.unwrap_or_else(|| Error::new(ErrorKind::Internal, "a prompt that no render made")));
        };
        prompts.notes = fitted.notes;
        // Media stand where the request has them.
        let mut places = HashMap::new();
        for (index, message) in request.messages.iter().enumerate() {
            let sources = message.parts.iter().enumerate().filter_map(|(part, it)| Some((part, it.source.as_ref()?)));
            places.extend(sources.map(|(part, source)| (Arc::as_ptr(source), (index, part))));
        }
        for media in &mut prompts.media {
            if let Some(place) = places.remove(&Arc::as_ptr(&media.source)) {
                (media.message, media.part) = place;
            }
        }
        let mut unseen: Vec<(usize, usize)> = places.into_values().collect();
        unseen.sort_unstable();
        let unseen = unseen.into_iter().map(|(message, part)| format!("messages[{message}].content[{part}]"));
        prompts.notes.extend(said_in_vain(lost.into_iter().map(Said::place).chain(unseen)));
        Ok((prompts, fitted.fit))
    }

    /// The prompt of a request as it was sent. `template` renders it: the learnt template, or a variant of it for probes.
    pub(crate) fn prompts(
        self,
        analyzed: &AnalyzedTemplate,
        template: &Template,
        request: &Request,
        opening: bool,
    ) -> Result<Prompts> {
        let request = &*self.asked(analyzed, template, request)?;
        if request.continuation != Continuation::None && (request.compat == Compat::Off || request.plain.is_some()) {
            match self.whole(analyzed, template, request, opening) {
                // What the template does not show of a message follows the generation prompt.
                Err(_) if request.plain.is_none() => {}
                whole => return whole,
            }
        }
        if request.plain.is_some() {
            let (prompt, media) = self.render(template, request, opening)?;
            return Ok(Prompts { media, ..self.begun(None, prompt, Continuation::None, None) });
        }
        let (prepared, prompt) = self.prepared(template, request, opening)?;
        if let Reader::Family(Family { prompt: Some(_), .. }) = self {
            let prompts = self.begun(None, prompt, prepared.continuation, prepared.continued.as_ref());
            return Ok(Prompts { media: prepared.media, ..prompts });
        }
        let opening = prompt.generation_prompt.clone();
        if request.force_pure_content {
            return Ok(Prompts { prompt, opening, media: prepared.media, ..Prompts::default() });
        }
        let prompt = prompt.continued_with(&prepared, |message, in_content| {
            let content = in_content.then(|| message.text());
            self.around(analyzed).continued(&opening, &message.reasoning_content, content.as_deref())
        });
        let prompts = self.begun(None, prompt, prepared.continuation, prepared.continued.as_ref());
        Ok(Prompts { opening, media: prepared.media, ..prompts })
    }

    /// A request as the template takes it, and its prompt. Where that has not all media, they are the host's marker.
    fn prepared(self, template: &Template, request: &Request, opening: bool) -> Result<(Prepared, Prompt)> {
        let mut native = true;
        loop {
            let mut prepared = prepare(template, request, native)?;
            // A continued message follows the opening.
            let opening = opening || prepared.continued.is_some();
            let input = PromptInput { template, prepared: &prepared, request, opening };
            let prompt = match self {
                Reader::Family(Family { prompt: Some(prompt), .. }) => prompt(&input)?,
                _ => prompt::plain(&input)?,
            };
            if prepared.is_shown(&prompt.prompt) || request.compat != Compat::Off {
                return Ok((prepared, prompt));
            }
            if !std::mem::take(&mut native) {
                // All of them are the marker by now.
                if !prompt.prompt.contains(&request.media_marker) {
                    prepared.media.clear();
                }
                return Ok((prepared, prompt));
            }
        }
    }

    fn render(self, template: &Template, request: &Request, opening: bool) -> Result<(Prompt, Vec<Media>)> {
        if let Some(given) = &request.plain {
            let (prompt, generation_prompt) = plain(template, request, given, opening)?;
            return Ok((Prompt { prompt, generation_prompt }, Vec::new()));
        }
        let (prepared, prompt) = self.prepared(template, request, opening)?;
        Ok((prompt, prepared.media))
    }

    /// A prompt that somebody else has rendered: its end shows the opening of the assistant's turn, and what that has of a
    /// message.
    pub(crate) fn given(self, analyzed: &AnalyzedTemplate, prompt: &str) -> Prompts {
        let turns = [true, false].map(|thinking| self.turn(analyzed, analyzed.turn(thinking)));
        let openings = || turns.iter().map(|turn| &*turn.opening).filter(|opening| !opening.is_empty());
        let longest =
            |fits: &dyn Fn(&str) -> bool| openings().filter(|opening| fits(opening)).max_by_key(|it| it.len());
        let (mut opening, mut begun) = (longest(&|opening| prompt.ends_with(opening)).unwrap_or_default(), None);
        let heads = openings().map(str::trim).chain(turns.iter().map(|turn| turn.delimiters.assistant.trim()));
        let places = heads.filter(|head| !head.is_empty()).filter_map(|head| Some((prompt.rfind(head)?, head)));
        let last = places.max_by_key(|(at, head)| (*at, std::cmp::Reverse(head.len())));
        if let Some((mut at, head)) = last.filter(|_| opening.is_empty()) {
            // Each part of a message may begin so.
            while let Some(earlier) = prompt[..at].rfind(head) {
                if turns[0].goes_past_message(head, &prompt[earlier + head.len()..at]) {
                    break;
                }
                at = earlier;
            }
            let tail = &prompt[at..];
            let known = longest(&|opening| tail.starts_with(opening)).unwrap_or(head);
            let turn = turns.iter().find(|turn| turn.opening == known).unwrap_or(&turns[0]);
            if !turn.goes_past_message(head, &tail[head.len()..]) {
                (opening, begun) = (tail, thought::begun(turn, self.layout(analyzed), tail, known));
            }
        }
        let prompt = Prompt { prompt: prompt.to_owned(), generation_prompt: opening.to_owned() };
        Prompts { opening: opening.to_owned(), prompt, begun, ..Prompts::default() }
    }

    /// The prompt that ends where the template ends the text of the last message; an error if it does not show it.
    fn whole(
        self,
        analyzed: &AnalyzedTemplate,
        template: &Template,
        request: &Request,
        opening: bool,
    ) -> Result<Prompts> {
        let (prompt, media) = self.render(template, &whole(request)?, false)?;
        let unseen = "continue_final_message: the template does not show the end of the last message";
        let prompt = cut(prompt.prompt).ok_or_else(|| Error::invalid(unseen))?;
        if !opening {
            let prompt = Prompt { prompt, ..Prompt::default() };
            return Ok(Prompts { prompt, media, ..Prompts::default() });
        }
        let mut earlier = request.clone();
        (earlier.continuation, earlier.add_generation_prompt) = (Continuation::None, true);
        let mut messages = Messages::take(&mut earlier);
        let last = messages.pop().unwrap_or_default();
        messages.put(&mut earlier);
        // If the earlier turns cannot be rendered alone, the beginning of this one is unknown.
        let begins = self.render(template, &earlier, true).map_or(prompt.len(), |(opened, _)| {
            let earlier = opened.prompt.strip_suffix(&*opened.generation_prompt);
            shared(earlier.unwrap_or(&opened.prompt), &prompt)
        });
        let generation_prompt = prompt[begins..].to_owned();
        let in_thought = resolve(request.continuation, Some(&last.with_reasoning_apart())) == Continuation::Reasoning;
        let part = if in_thought && request.plain.is_none() { Continuation::Reasoning } else { request.continuation };
        let analyzed = Some(analyzed).filter(|_| !request.force_pure_content);
        let prompts = self.begun(analyzed, Prompt { prompt, generation_prompt }, part, Some(&last));
        Ok(Prompts { media, ..prompts })
    }

    /// A prompt that may have begun a message. `analyzed`: its content may begin with reasoning.
    fn begun(
        self,
        analyzed: Option<&AnalyzedTemplate>,
        prompt: Prompt,
        part: Continuation,
        message: Option<&Message>,
    ) -> Prompts {
        let message = message.filter(|_| part != Continuation::None);
        let begun = message.map(|message| {
            let apart = analyzed.and_then(|analyzed| self.thought_apart(analyzed, message, part));
            let (message, part) = apart.as_ref().map_or((message, part), |(message, part)| (message, *part));
            Begun::find(&prompt.generation_prompt, message, part)
        });
        Prompts { opening: prompt.generation_prompt.clone(), prompt, begun, ..Prompts::default() }
    }

    /// The request as the template gets it: with the tools that the model knows by now, and with the reasoning of a message
    /// that is continued apart from its content, where the template shows it so.
    pub(crate) fn asked<'r>(
        self,
        analyzed: &AnalyzedTemplate,
        template: &Template,
        request: &'r Request,
    ) -> Result<Cow<'r, Request>> {
        let request = offered(template, request)?;
        let splits = request.compat == Compat::Off && !request.force_pure_content;
        let last = request.messages.last().filter(|_| splits);
        let apart = last.and_then(|last| self.thought_apart(analyzed, last, request.continuation));
        let Some((mut apart, part)) = apart else { return Ok(request) };
        let prompt_of = |last: &Message| {
            let mut split = Request::clone(&request);
            (*split.messages.last_mut()?, split.continuation) = (last.clone(), part);
            Some((self.whole(analyzed, template, &split, false).ok()?.prompt.prompt, split))
        };
        let shown = prompt_of(&apart);
        let thought = std::mem::take(&mut apart.reasoning_content);
        let shown = shown.filter(|(prompt, _)| {
            thought.is_empty() || prompt_of(&apart).is_none_or(|(without, _)| without != *prompt)
        });
        Ok(shown.map_or(request.clone(), |(_, split)| Cow::Owned(split)))
    }

    /// The message with the reasoning apart that its content begins with, between the template's markers, and the part that goes
    /// on: reasoning that is not closed, unless the request says the content.
    fn thought_apart(
        self,
        analyzed: &AnalyzedTemplate,
        message: &Message,
        part: Continuation,
    ) -> Option<(Message, Continuation)> {
        let text = message.parts.first().map_or(&message.content, |part| &part.text).trim_start();
        let continues = matches!(part, Continuation::Auto | Continuation::Content) && message.role == "assistant";
        if !continues || text.is_empty() || !message.reasoning_content.is_empty() {
            return None;
        }
        let (thought, content) =
            thought::split(&self.turn(analyzed, analyzed.turn(true)), self.layout(analyzed), text)?;
        let mut apart = message.clone();
        apart.reasoning_content = thought.to_owned();
        *apart.parts.first_mut().map_or(&mut apart.content, |part| &mut part.text) =
            content.unwrap_or_default().to_owned();
        match content {
            Some(_) => Some((apart, Continuation::Content)),
            None => Some((apart, Continuation::Reasoning)).filter(|_| part == Continuation::Auto),
        }
    }
}

/// A note for each place that is not in the prompt, up to some.
fn said_in_vain(mut places: impl Iterator<Item = String>) -> Vec<String> {
    const NAMED: usize = 8;
    let mut notes: Vec<String> =
        places.by_ref().take(NAMED).map(|place| format!("{place}: not in the prompt")).collect();
    let more = places.count();
    notes.extend((more > 0).then(|| format!("messages: {more} more texts are not in the prompt")));
    notes
}

/// What a format for many tools is built of.
struct Late {
    reader: Reader,
    analyzed: Arc<AnalyzedTemplate>,
    kept: KeptSpec,
}

impl Late {
    fn spec(&self) -> FormatSpec<'_> {
        self.kept.spec(&self.analyzed)
    }
}

impl Source for Late {
    fn build(&self, want: Want) -> Arena {
        self.reader.format(&self.analyzed, &self.spec(), want).output
    }

    fn tool(&self, part: u32) -> (&Tool, u32) {
        let tools = self.spec().tools();
        (&tools[part as usize % tools.len()], part / tools.len() as u32)
    }

    fn alone(&self, part: u32, beside: bool) -> Arena {
        let (tool, call) = self.tool(part);
        // Its name begins with none of the tool's.
        let other = Tool::new(if tool.name.starts_with('a') { "b" } else { "a" }, "", json!({}));
        let both = [tool.clone(), other];
        let offered = if beside { &both[..] } else { &both[..1] };
        let spec = FormatSpec { offered, ..self.spec() };
        self.reader.format(&self.analyzed, &spec, Want::Part(call * offered.len() as u32)).output
    }
}

/// A [`FormatSpec`] that lives as long as a parser.
struct KeptSpec {
    /// The options, and the tools without what they do.
    request: Request,
    opening: String,
    prefill: String,
    variables: String,
    begun: Option<Begun>,
}

impl KeptSpec {
    /// Names each field, so that a new one cannot be forgotten.
    fn new(spec: &FormatSpec) -> Self {
        let FormatSpec {
            source: _,
            opening,
            prefill,
            begun,
            offered,
            tool_choice,
            parallel_tool_calls,
            prose,
            json_spacing,
            reasoning_format,
            enable_thinking,
            json_schema,
            leniency,
            grammar_style,
            compat,
            variables,
        } = *spec;
        let bare = |tool: &Tool| {
            let mut bare = Tool::new(tool.name.clone(), "", Value::Null);
            bare.parameters = Arc::clone(&tool.parameters);
            bare
        };
        let mut request = Request::new(Vec::new());
        request.tools = offered.iter().map(bare).collect();
        (request.tool_choice, request.parallel_tool_calls, request.prose) = (tool_choice, parallel_tool_calls, prose);
        (request.json_spacing, request.reasoning_format) = (json_spacing, reasoning_format);
        (request.enable_thinking, request.json_schema) = (enable_thinking, json_schema.clone());
        (request.leniency, request.grammar_style, request.compat) = (leniency, grammar_style, compat);
        let [opening, prefill, variables] = [opening, prefill, variables].map(str::to_owned);
        KeptSpec { request, opening, prefill, variables, begun }
    }

    fn spec<'a>(&'a self, analyzed: &'a AnalyzedTemplate) -> FormatSpec<'a> {
        FormatSpec {
            source: analyzed.template.source(),
            opening: &self.opening,
            prefill: &self.prefill,
            begun: self.begun,
            variables: &self.variables,
            ..FormatSpec::of(&self.request)
        }
    }
}

/// The prompt of a request and its parts.
#[derive(Debug, Default)]
pub(crate) struct Prompts {
    pub prompt: Prompt,
    /// The opening of the assistant's turn, without a continued message where that is known.
    pub opening: String,
    /// What it has of a message that the model continues.
    pub begun: Option<Begun>,
    /// The media in the prompt, in order.
    pub media: Vec<Media>,
    /// What was changed of the messages.
    pub notes: Vec<String>,
}

/// A template, and what is learnt of it on first use.
#[derive(Debug)]
pub(crate) struct AnalyzedTemplate {
    pub template: Template,
    /// The texts of the tokens that end the model's output, as far as they are told. None is empty.
    ends: Vec<String>,
    /// Uses only what the template shows.
    learn_only: bool,
    /// The turn of a response template.
    pub response: Option<Response>,
    /// Why the response template of a file cannot be read.
    pub response_fault: Option<Error>,
    layout: OnceLock<Layout>,
    around: OnceLock<Around>,
    /// With thinking off, and on. A template without that switch has both as with thinking on.
    turns: [OnceLock<TurnFormat>; 2],
}

/// What a response template says of a turn.
#[derive(Debug)]
pub(crate) struct Response {
    pub turn: TurnFormat,
    layout: Layout,
    /// Whether thoughts may stand behind other parts.
    pub late_thoughts: bool,
    /// Whether the caller handed it over: then it is used on a tie.
    pub given: bool,
}

impl Response {
    pub fn new(turn: TurnFormat, late_thoughts: bool, given: bool) -> Response {
        Response { layout: Layout::of(&turn), turn, late_thoughts, given }
    }
}

impl AnalyzedTemplate {
    /// `ends`: the texts of tokens that end the model's output besides the template's.
    pub fn new(template: Template, ends: &[String], learn_only: bool) -> Self {
        let ends = [template.eos()].into_iter().chain(ends.iter().map(String::as_str)).filter(|end| !end.is_empty());
        AnalyzedTemplate {
            ends: ends.map(str::to_owned).collect(),
            template,
            learn_only,
            response: None,
            response_fault: None,
            layout: OnceLock::new(),
            around: OnceLock::new(),
            turns: Default::default(),
        }
    }

    /// One that was learnt before, with thinking off and on. `ends`: all of them.
    pub fn learnt(template: Template, ends: Vec<String>, learn_only: bool, turns: [TurnFormat; 2]) -> Self {
        AnalyzedTemplate { ends, turns: turns.map(OnceLock::from), ..AnalyzedTemplate::new(template, &[], learn_only) }
    }

    /// Adds a response template. `given`: the caller handed it over. One of a file with a template that cannot be read is left out.
    pub fn with_response(mut self, json: &Value, given: bool) -> Result<Self> {
        match ResponseTemplate::from_json(json).and_then(|read| Ok((read.turn()?, read.has_late_thoughts()))) {
            Ok((turn, late_thoughts)) => {
                self.response = Some(Response::new(turn, late_thoughts, given));
            }
            Err(error) if given || self.template.source().trim().is_empty() => return Err(error),
            Err(error) => {
                log::warn!("template: {error}");
                self.response_fault = Some(error);
            }
        }
        Ok(self)
    }

    /// The same template, to be learnt under these variables.
    pub fn under(&self, variables: Map<String, Value>) -> Self {
        let template = self.template.under(variables);
        AnalyzedTemplate { ends: self.ends.clone(), ..AnalyzedTemplate::new(template, &[], self.learn_only) }
    }

    pub fn ends(&self) -> &[String] {
        &self.ends
    }

    /// The same, and what the template ends turns with, also up to each of its markers; or each token that it ends some with.
    pub fn all_ends(&self, thinking: bool) -> Vec<String> {
        let turn = self.turn(thinking);
        let end = turn.end.head();
        let behind = |marker: Range<usize>| end[marker.end..].trim_start();
        let markers = turn.end.marker_spans().into_iter().map(|marker| &end[..end.len() - behind(marker).len()]);
        let is_end = |edge: &&Edge| turn.end.is_blank() && edge.to == SlotKind::End && turn.is_stop(&edge.glue);
        let others = turn.edges.iter().filter(is_end).map(|edge| edge.glue.head());
        let learnt = markers.chain([end]).chain(others).map(str::to_owned);
        self.ends.iter().cloned().chain(learnt).collect()
    }

    /// Whether only what the template shows is used.
    pub fn learn_only(&self) -> bool {
        self.learn_only
    }

    /// The reader by a response template, if there is one.
    pub fn by_response(&self) -> Option<Reader> {
        self.response.as_ref().map(|_| Reader::Response)
    }

    /// How turns are written, by llama.cpp's names.
    pub fn layout(&self) -> &Layout {
        self.layout.get_or_init(|| Layout::of(self.turn(true)))
    }

    /// How turns are written with thinking on or off.
    pub fn turn(&self, thinking: bool) -> &TurnFormat {
        let thinking = thinking || !self.template.knows_thinking_switch();
        self.turns[usize::from(thinking)].get_or_init(|| turn::learn(&self.template.probing(), thinking))
    }

    /// How turns are written behind this opening: with the thinking that produces the opening, or otherwise as requested.
    fn turn_behind(&self, opening: &str, thinking: bool) -> &TurnFormat {
        let asked = self.turn(thinking);
        let other = || Some(self.turn(!thinking)).filter(|turn| turn.opening == opening);
        if asked.opening == opening { asked } else { other().unwrap_or(asked) }
    }

    /// The candidates. On a tie the earlier one is used.
    pub fn candidates(&self) -> Vec<Reader> {
        let family = if self.learn_only { None } else { family_of(self.template.source()) };
        // A source may name what its template does not write.
        let writes = |marker: &str| {
            let mut calls = self.turn(true).edges.iter().filter(|edge| edge.to == SlotKind::Call).peekable();
            calls.peek().is_none() || calls.any(|edge| edge.glue.head().contains(marker))
        };
        let family = family.filter(|family| match family.way {
            Way::Row(row) => writes(row.tolerances.calls_from),
            Way::Parser(_) => true,
        });
        let known = family.map(Reader::Family).into_iter().chain([Reader::Turn]);
        match &self.response {
            None => known.collect(),
            // Without a template, nothing was learnt.
            Some(_) if self.template.source().trim().is_empty() => vec![Reader::Response],
            Some(Response { given: true, .. }) => [Reader::Response].into_iter().chain(known).collect(),
            Some(_) => known.chain([Reader::Response]).collect(),
        }
    }
}
