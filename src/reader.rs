//! The readers of a template's output: the candidates, and the format and prompt that each makes for a request.
//!
//! A [`Reader`] makes a [`Format`] for a request, and the prompt that belongs to it. [`crate::proof`] decides which of a
//! template's candidates is used, by what they read back.

use std::sync::OnceLock;

use crate::analysis::Analysis;
use crate::analysis::turn::{self, Place, TurnFormat};
use crate::error::Result;
use crate::format::{Family, Format, FormatSpec, Prompt, PromptInput, Way, auto, family_of, learnt, prompt, thought};
use crate::message::{Continuation, Media, Request};
use crate::template::{Template, plain, prepare};

/// A way to read the output of a template's model.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Reader {
    /// The hand-written format of a family of templates.
    Family(&'static Family),
    /// The learnt layout: [`Analysis`].
    Layout,
    /// The learnt turn: [`TurnFormat`].
    Turn,
}

impl Reader {
    /// A stable lower-case name: that of the family, `layout` or `turn`.
    pub fn name(self) -> &'static str {
        match self {
            Reader::Family(family) => family.name,
            Reader::Layout => "layout",
            Reader::Turn => "turn",
        }
    }

    /// Whether all that it knows is from this template's renders.
    pub fn is_learnt(self) -> bool {
        !matches!(self, Reader::Family(_))
    }

    /// Whether the renders of its templates prove nothing.
    pub(crate) fn history_misleads(self) -> bool {
        matches!(self, Reader::Family(Family { history_misleads: true, .. }))
    }

    /// The format of the output.
    pub(crate) fn format(self, taught: &Taught, spec: &FormatSpec) -> Format {
        match self {
            Reader::Family(Family { way: Way::Parser(build), .. }) => build(spec),
            Reader::Family(Family { way: Way::Row(row), .. }) => {
                let turn = taught.turn_behind(spec.opening, spec.enable_thinking).cloned().unwrap_or_default();
                let mut turn = turn;
                (row.patch)(&mut turn);
                let mut format = learnt::build(&turn, row.tolerances, &taught.analysis().layout, spec);
                (row.host)(spec, &mut format);
                format
            }
            Reader::Layout => auto::build(&taught.analysis().layout, spec, taught.template.caps().tool_calls),
            Reader::Turn => match taught.turn_behind(spec.opening, spec.enable_thinking) {
                Some(turn) => learnt::build(turn, learnt::Tolerances::NONE, &taught.analysis().layout, spec),
                None => Reader::Layout.format(taught, spec),
            },
        }
    }

    /// The prompt of a request. `opening`: also compute the opening of the assistant's turn. `template` renders it: the
    /// learnt template, or a variant of it for probes.
    pub(crate) fn prompts(
        self,
        taught: &Taught,
        template: &Template,
        request: &Request,
        opening: bool,
    ) -> Result<Prompts> {
        if let Some(given) = &request.plain {
            let (prompt, generation_prompt) = plain(template, request, given, opening)?;
            let opening = generation_prompt.clone();
            let continuation = match request.continuation {
                Continuation::Auto => Continuation::Content,
                continuation => continuation,
            };
            let prompt = Prompt { prompt, generation_prompt };
            return Ok(Prompts { prompt, opening, continuation, media: Vec::new() });
        }
        let prepared = prepare(template, request)?;
        // A continued message follows the opening.
        let opening = opening || prepared.continued.is_some();
        let input = PromptInput { template, prepared: &prepared, request, opening };
        let continuation = if prepared.continued.is_some() { prepared.continuation } else { Continuation::None };
        let same = |prompt: Prompt| {
            let opening = prompt.generation_prompt.clone();
            Prompts { prompt, opening, continuation, media: prepared.media.clone() }
        };
        if let Reader::Family(Family { prompt: Some(prompt), .. }) = self {
            return prompt(&input).map(same);
        }
        let Prompts { prompt, opening, media, .. } = same(prompt::plain(&input)?);
        let opening = prompt::opening_of_content(&input, &prompt).unwrap_or(opening);
        if request.force_pure_content {
            return Ok(Prompts { prompt, opening, continuation, media });
        }
        let prompt = prompt.continued_with(&input, |message, in_content| {
            let content = in_content.then(|| message.text());
            let (layout, thought) = (&taught.analysis().layout, &message.reasoning_content);
            let mut turn = taught.turn_behind(&opening, request.enable_thinking).cloned();
            if let (Some(turn), Reader::Family(Family { way: Way::Row(row), .. })) = (&mut turn, self) {
                (row.patch)(turn);
            }
            match &turn {
                Some(turn) => thought::continued_prompt(turn, layout, &opening, thought, content.as_deref()),
                None => auto::continued_prompt(layout, &opening, thought, content.as_deref()),
            }
        });
        Ok(Prompts { prompt, opening, continuation, media })
    }
}

/// The prompt of a request and its parts.
#[derive(Debug)]
pub(crate) struct Prompts {
    pub prompt: Prompt,
    /// The opening of the assistant's turn, without a continued message.
    pub opening: String,
    pub continuation: Continuation,
    /// The media in the prompt, in order.
    pub media: Vec<Media>,
}

/// A template, and what is learnt of it on first use.
#[derive(Debug)]
pub(crate) struct Taught {
    pub template: Template,
    /// Uses only what the template shows.
    learn_only: bool,
    analysis: OnceLock<Analysis>,
    /// With thinking off, and on. A template without that switch has both as with thinking on.
    turns: [OnceLock<Option<TurnFormat>>; 2],
}

impl Taught {
    pub fn new(template: Template, learn_only: bool) -> Self {
        Taught { template, learn_only, analysis: OnceLock::new(), turns: Default::default() }
    }

    pub fn analysis(&self) -> &Analysis {
        self.analysis.get_or_init(|| self.turn(true).map(Analysis::of).unwrap_or_default())
    }

    /// How turns are written with thinking on or off; `None` if that could not be learnt.
    pub fn turn(&self, thinking: bool) -> Option<&TurnFormat> {
        let thinking = thinking || !self.template.knows_thinking_switch();
        self.turns[usize::from(thinking)].get_or_init(|| Some(turn::learn(&self.template.probing(), thinking))).as_ref()
    }

    /// How turns are written behind this opening: with the thinking that produces the opening, or otherwise as requested.
    fn turn_behind(&self, opening: &str, thinking: bool) -> Option<&TurnFormat> {
        let asked = self.turn(thinking).filter(|turn| turn.opening == opening);
        let other = || self.turn(!thinking).filter(|turn| turn.opening == opening);
        asked.or_else(other).or_else(|| self.turn(thinking)).or_else(|| self.turn(!thinking))
    }

    /// The candidates. On a tie the earlier one is used.
    pub fn candidates(&self) -> Vec<Reader> {
        let family = if self.learn_only { None } else { family_of(self.template.source()) };
        // A source may name what its template does not write.
        let writes = |marker: &str| {
            let turn = self.turn(true).filter(|turn| !turn.calls.is_empty());
            turn.is_none_or(|turn| {
                turn.edges.iter().any(|edge| edge.to == Place::Call && edge.glue.head().contains(marker))
            })
        };
        let family = family.filter(|family| match family.way {
            Way::Row(row) => writes(row.tolerances.calls_from),
            Way::Parser(_) => true,
        });
        family.map(Reader::Family).into_iter().chain([Reader::Turn]).collect()
    }
}
