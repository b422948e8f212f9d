//! Finds the origin of each byte of a prompt.
//!
//! The render that made it traced them (`chatparse_jinja::Traced`): each byte has the value of the
//! conversation that it is of. `origins` finds that value in the request.

mod batch;
mod json_text;
mod marked;
mod origins;
mod punctuation;
mod tokens;
mod turns;
mod words;

use std::cell::{Cell, OnceCell};
use std::ops::Range;

use serde_json::Value;

use crate::messages::Messages as Texts;
use crate::reader::Reader;
pub use batch::in_threads;
use chatparse_base::Result;
use chatparse_base::find::shared;
use chatparse_jinja::{Conversation, Fit, Messages, Template, is_system};
use chatparse_learn::analysis::turn::TurnFormat;
use chatparse_message::{Continuation, Request};
use marked::{Marked, without_marks};
use origins::Origins;
pub use tokens::{Offsets, TokenLabel};
pub use turns::{MaskParts, Turn, TurnPart};

/// The origin of a part of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// The template's text, including special tokens, names of roles, and the keywords of JSON
    /// Schema.
    Template,
    /// A message of the request.
    Message {
        /// Its index.
        index: usize,
        /// The field, as a JSON pointer into the message as OpenAI writes it: `/content`,
        /// `/content/1/text`, `/reasoning_content`, `/tool_calls/0/id`,
        /// `/tool_calls/0/function/name`, `/tool_calls/0/function/arguments/city` (also where the
        /// arguments are JSON text).
        path: String,
    },
    /// A tool of the request, by its index.
    Tool(usize),
    /// A template variable that the request sets, by its name.
    Kwarg(String),
    /// Some value of the request; the template mixes several, and none is known to be that.
    Unknown,
}

/// A part of a prompt with one origin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Segment {
    /// The range in the prompt, in bytes.
    pub bytes: Range<usize>,
    /// The origin.
    pub origin: Origin,
}

/// A prompt with the origin of each of its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Segments {
    /// The prompt.
    pub prompt: String,
    /// In the order of the prompt. They cover it, none is empty, and adjacent ones have different
    /// origins.
    pub segments: Vec<Segment>,
    /// The ranges of the template's `{% generation %}` blocks, in bytes of the prompt, in order.
    pub generation: Vec<Range<usize>>,
    /// The assistant's turns in the prompt, in order.
    pub turns: Vec<Turn>,
    /// What ran out, if something did: then origins that could be found are unknown, or turns are
    /// missing.
    pub limit: Option<Limit>,
}

chatparse_base::names! {
    /// What ran out in search of the origins and turns of a prompt.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Limit {
        /// The renders that find where turns begin and end: they are told by the text around them.
        Turns = "turns",
    }
}

impl Limit {
    /// A description.
    pub fn words(self) -> &'static str {
        match self {
            Limit::Turns => {
                "the turns need more renders than are made: some begin or end where others do"
            }
        }
    }
}

impl Origin {
    /// Whether it is a value of the request.
    fn is_value(&self) -> bool {
        !matches!(self, Origin::Template | Origin::Unknown)
    }

    fn message(&self) -> Option<usize> {
        match self {
            Origin::Message { index, .. } => Some(*index),
            _ => None,
        }
    }

    /// A stable lower-case name of its kind: `template`, `message`, `tool`, `kwarg` or `unknown`.
    pub fn name(&self) -> &'static str {
        match self {
            Origin::Template => "template",
            Origin::Message { .. } => "message",
            Origin::Tool(_) => "tool",
            Origin::Kwarg(_) => "kwarg",
            Origin::Unknown => "unknown",
        }
    }
}

impl Segment {
    /// As JSON: `bytes` and `from`, the kind's name; for a message its index in `message`, its
    /// `field` and the whole `path`, with `part` and `call` for their indices; for a tool its index
    /// in `tool`; for a variable its name in `kwarg`.
    pub fn to_json(&self) -> Value {
        let mut json =
            json!({"bytes": [self.bytes.start, self.bytes.end], "from": self.origin.name()});
        match &self.origin {
            Origin::Message { index, path } => {
                json["message"] = json!(index);
                let mut steps = path.split('/').skip(1);
                let field = steps.next().unwrap_or_default();
                json["field"] = json!(field);
                let of_list = match field {
                    "content" => Some("part"),
                    "tool_calls" => Some("call"),
                    _ => None,
                };
                if let (Some(name), Some(Ok(item))) =
                    (of_list, steps.next().map(str::parse::<usize>))
                {
                    json[name] = json!(item);
                }
                json["path"] = json!(path);
            }
            Origin::Tool(index) => json["tool"] = json!(index),
            Origin::Kwarg(name) => json["kwarg"] = json!(name),
            Origin::Template | Origin::Unknown => {}
        }
        json
    }
}

/// The prompt of `request`, and the origin of each byte. Takes one render more than the prompt, and
/// some for turns, if they are asked for.
pub(crate) fn segments(reader: &Reader, request: &Request, turns: bool) -> Result<Segments> {
    let (_, fit) = reader.fitted(request, false)?;
    let asked = Asked {
        reader,
        fit: fit.without_ids(),
    };
    let request = fit.with_ids(reader.template(), request, &mut Vec::new());
    asked.traced(&request, turns)
}

/// A reader whose prompts are divided into segments.
struct Asked<'a> {
    reader: &'a Reader,
    /// How messages are changed. Ids are changed by now.
    fit: Fit,
}

impl Asked<'_> {
    fn render(&self, template: &Template, request: &Request) -> Result<String> {
        let fitted = self.fit.apply(self.reader.template(), request).request;
        let prompts = self.reader.prompts(template, &fitted, false)?;
        Ok(prompts.prompt)
    }

    /// The messages of this conversation with the marks of the request's texts.
    fn marked(
        &self,
        request: &Request,
        conversation: &Conversation,
    ) -> Option<(Messages, Vec<Marked>)> {
        let (marked, values) = marked::mark(request).filter(|_| request.plain.is_none())?;
        let tracing = self.reader.template().tracing();
        let _ = self.render(&tracing, &marked);
        let mut renders = tracing
            .take_traced()
            .into_iter()
            .map(|(with, _)| with.messages);
        let messages = renders.find(|with| without_marks(with) == *conversation.messages)?;
        Some((messages, values))
    }

    /// The segments of a prompt.
    fn traced(&self, request: &Request, turns: bool) -> Result<Segments> {
        let template = self.reader.template();
        let tracing = template.tracing();
        let fitted = self.fit.apply(template, request);
        let prompt = self
            .reader
            .prompts(&tracing, &fitted.request, false)?
            .prompt;
        // Several renders may have been tried: the last one that is most like the prompt made it.
        let renders = tracing.take_traced();
        let made = renders
            .iter()
            .max_by_key(|(_, traced)| shared(&traced.text, &prompt));
        let mut segmented = Segments {
            prompt,
            ..Segments::default()
        };
        if let Some((conversation, traced)) = made {
            let marked = self.marked(request, conversation);
            let marked = marked.as_ref();
            let origins = Origins {
                request,
                conversation,
                marked: marked.map(|(messages, values)| (&**messages, &**values)),
                tools: OnceCell::new(),
            };
            let (segments, generation) = origins::segments(&segmented.prompt, traced, &origins);
            (segmented.segments, segmented.generation) = (segments, generation);
        }
        if !turns {
            return Ok(segmented);
        }
        let prompt = &segmented.prompt;
        let is_open = request.add_generation_prompt || request.continuation != Continuation::None;
        let mut without = request.clone();
        let all = Texts::take(&mut without);
        without.continuation = Continuation::None;
        let turn = &self.reader.writing(request.output.enable_thinking).turn;
        let prefills = [true, false].map(|thinking| prefill(&self.reader.writing(thinking).turn));
        let mut ends = vec![turn.end.head().trim()];
        ends.extend(self.reader.analyzed.ends.iter().map(String::as_str));
        ends.extend(turn.stops.iter().map(|stop| stop.trim()));
        let closers = turn.calls.iter().map(|form| form.close.head().trim());
        let mut known = turns::Known {
            prompt,
            segments: &segmented.segments,
            messages: (0..all.len())
                .filter(|index| all.role(*index) == "assistant")
                .collect(),
            opening: &turn.opening,
            prefills: prefills.to_vec(),
            ends,
            closers: closers.collect(),
            render: &|messages, asks| {
                if messages == all.len() && !asks && !is_open {
                    return Some(prompt.clone());
                }
                let mut before = without.clone();
                before.add_generation_prompt = asks;
                all.only(|index| index < messages).put(&mut before);
                if self.fit.moves_systems() {
                    let later = request.messages.iter().skip(messages);
                    let systems = later.filter(|message| is_system(message));
                    before.messages.extend(systems.cloned());
                }
                self.render(template, &before).ok()
            },
            left: Cell::new(Some(turns::RENDERS)),
        };
        for texts in [&mut known.prefills, &mut known.ends, &mut known.closers] {
            texts.retain(|text| !text.is_empty());
        }
        let turns = known.turns();
        if known.left.get().is_none() {
            segmented.limit.get_or_insert(Limit::Turns);
        }
        segmented.turns = turns;
        Ok(segmented)
    }
}

/// The part of the opening that belongs to the reasoning.
fn prefill(turn: &TurnFormat) -> &str {
    let start = turn
        .reasoning
        .as_ref()
        .map_or("", |reasoning| reasoning.start.trim());
    let at = turn.opening.rfind(start).filter(|_| !start.is_empty());
    at.map_or("", |at| turn.opening[at..].trim())
}
