//! The readers of a template's output: the candidates, and the format and prompt that each makes for a request.
//!
//! A [`Reader`] makes a [`Format`] for a request, and the prompt that belongs to it. [`crate::proof`] decides which of a
//! template's candidates is used, by what they read back.

use std::sync::OnceLock;

use chatparse_base::Result;
use chatparse_jinja::{Template, offered, plain, prepare};
use chatparse_learn::analysis::Analysis;
use chatparse_learn::analysis::turn::{self, Spot, TurnFormat};
use chatparse_learn::format::{
    Family, Format, FormatSpec, Prompt, PromptInput, Way, family_of, learnt, prompt, thought,
};
use chatparse_message::{Continuation, Media, Request};

/// A way to read the output of a template's model.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Reader {
    /// The hand-written format of a family of templates.
    Family(&'static Family),
    /// The learnt turn: [`TurnFormat`].
    Turn,
}

impl Reader {
    /// A stable lower-case name: that of the family, or `turn`.
    pub fn name(self) -> &'static str {
        match self {
            Reader::Family(family) => family.name,
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
                let mut turn = taught.turn_behind(spec.opening, spec.enable_thinking).clone();
                (row.patch)(&mut turn);
                let mut format = learnt::build(&turn, row.tolerances, &taught.analysis().layout, spec);
                row.host.tell(spec, &mut format);
                format
            }
            Reader::Turn => {
                let turn = taught.turn_behind(spec.opening, spec.enable_thinking);
                learnt::build(turn, learnt::Tolerances::NONE, &taught.analysis().layout, spec)
            }
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
        let request = &*offered(template, request)?;
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
            let mut turn = taught.turn_behind(&opening, request.enable_thinking).clone();
            if let Reader::Family(Family { way: Way::Row(row), .. }) = self {
                (row.patch)(&mut turn);
            }
            thought::continued_prompt(&turn, layout, &opening, thought, content.as_deref())
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
    turns: [OnceLock<TurnFormat>; 2],
}

impl Taught {
    pub fn new(template: Template, learn_only: bool) -> Self {
        Taught { template, learn_only, analysis: OnceLock::new(), turns: Default::default() }
    }

    pub fn analysis(&self) -> &Analysis {
        self.analysis.get_or_init(|| Analysis::of(self.turn(true)))
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
            let mut calls = self.turn(true).edges.iter().filter(|edge| edge.to == Spot::Call).peekable();
            calls.peek().is_none() || calls.any(|edge| edge.glue.head().contains(marker))
        };
        let family = family.filter(|family| match family.way {
            Way::Row(row) => writes(row.tolerances.calls_from),
            Way::Parser(_) => true,
        });
        family.map(Reader::Family).into_iter().chain([Reader::Turn]).collect()
    }
}
