//! Finds the origin of each byte of a prompt.
//!
//! The request is rendered again with a label around each of its values
//! (`chatparse_jinja::Labels`), and each value changed in each of its characters (`change`).
//! Without its labels, that render must be as long as the prompt. Then the labels locate each
//! value, and a stretch that is the same in both is the template's. If the template inspects a
//! value, a label or a change may make another prompt: such values are found (`choice`) and
//! labelled in another way, changed one by one, or not at all. The range that depends on such a
//! value is unknown.

mod batch;
mod change;
mod choice;
mod json_text;
mod marking;
mod places;
mod tokens;
pub(crate) mod traced;
mod turns;
mod words;

use std::cell::Cell;
use std::ops::Range;

use serde_json::Value;

use crate::messages::Messages;
use crate::reader::Reader;
pub use batch::in_threads;
use chatparse_base::Result;
use chatparse_jinja::{Fit, Labels, Template, is_system};
use chatparse_learn::analysis::turn::TurnFormat;
use chatparse_message::{Continuation, Request};
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
    /// Unknown: the template changes a value so that its label is lost.
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
        /// The letters that labels are made of: the prompt has too many of them. All of it is
        /// unknown, and no turn is found.
        Labels = "labels",
        /// The numbers of labels: the request has too many values. Further ones are unknown.
        Values = "values",
        /// The renders that find values which the template inspects, or the words that are looked
        /// for one by one: what depends on further ones is unknown.
        Renders = "renders",
        /// The renders that find where turns begin and end: they are told by the text around them.
        Turns = "turns",
    }
}

impl Limit {
    /// A description.
    pub fn words(self) -> &'static str {
        match self {
            Limit::Labels => {
                "the prompt has the letters that labels are made of: all of it is unknown, and it has no turns"
            }
            Limit::Values => {
                "the request has more values than there are labels: further ones are unknown"
            }
            Limit::Renders => {
                "the template inspects more values than are tried one by one: further ones are unknown"
            }
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

/// The prompt of `request`, and the origin of each byte. Takes two renders, a third one if a value
/// has outer white space, two to four of parts for turns, and up to some eighty if the template
/// inspects values. Turns are found if they are asked for.
pub(crate) fn segments(reader: &Reader, request: &Request, turns: bool) -> Result<Segments> {
    let (prompts, fit) = reader.fitted(request, false)?;
    let asked = Asked {
        reader,
        fit: fit.without_ids(),
    };
    Ok(asked.labelled(
        &fit.with_ids(reader.template(), request, &mut Vec::new()),
        prompts.prompt,
        turns,
    ))
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

    /// The segments of a prompt as labels show them.
    fn labelled(&self, request: &Request, prompt: String, turns: bool) -> Segments {
        let template = self.reader.template();
        let texts = [template.source(), template.bos(), template.eos(), &prompt];
        // Values of the request that are not in the prompt may contain such letters; then a label
        // is damaged or superfluous.
        let Some(labels) = Labels::unused_in(&texts) else {
            return Segments {
                segments: vec![Segment {
                    bytes: 0..prompt.len(),
                    origin: Origin::Unknown,
                }],
                prompt,
                limit: Some(Limit::Labels),
                ..Segments::default()
            };
        };
        let labelled = template.labelled(labels);
        let render = |request: &Request| self.render(&labelled, request).ok();
        let found = choice::choose(&prompt, template.source(), labels, request, render);
        let limit = found.limit;
        let (segments, generation) = places::segments(&prompt, found);
        let mut segmented = Segments {
            prompt,
            segments,
            generation,
            limit,
            ..Segments::default()
        };
        if !turns {
            return segmented;
        }
        let prompt = &segmented.prompt;
        let is_open = request.add_generation_prompt || request.continuation != Continuation::None;
        let mut without = request.clone();
        let all = Messages::take(&mut without);
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
        segmented
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
