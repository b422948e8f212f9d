//! Who reads what a template's model writes: the candidates, and what each makes of a request.
//!
//! A [`Reader`] is a way to get a [`Format`] for what a request wants, and the prompt that goes with it. Which of a template's
//! candidates is taken is decided in [`crate::proof`], by what they read back.

use std::sync::OnceLock;

use crate::analysis::turn::{self, TurnFormat};
use crate::analysis::{self, Analysis, Evidence, Source};
use crate::error::Result;
use crate::format::{Family, Format, FormatSpec, Prompt, PromptInput, auto, family_of, learnt, prompt};
use crate::message::{Continuation, Media, Request};
use crate::template::{Template, plain, prepare};

/// A way to read what a template's model writes.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Reader {
    /// The format of a family of templates, which is known and not learnt.
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

    /// Whether what it knows comes from this template's renders.
    pub fn is_learnt(self) -> bool {
        !matches!(self, Reader::Family(_))
    }

    /// Whether something is known of the model that no render shows.
    pub(crate) fn knows(self, taught: &Taught) -> bool {
        let known = |evidence: &Evidence| matches!(evidence.source, Source::Workaround { .. });
        match self {
            Reader::Family(_) => true,
            Reader::Layout => taught.analysis().evidence.iter().any(known),
            Reader::Turn => false,
        }
    }

    /// The format of the output.
    pub(crate) fn format(self, taught: &Taught, spec: &FormatSpec) -> Format {
        match self {
            Reader::Family(family) => (family.build)(spec),
            Reader::Layout => auto::build(&taught.analysis().layout, spec, taught.template.caps().tool_calls),
            Reader::Turn => match taught.turn_behind(spec.opening, spec.enable_thinking) {
                Some(turn) => learnt::build(turn, &taught.analysis().layout, spec),
                None => Reader::Layout.format(taught, spec),
            },
        }
    }

    /// What a request puts in front of the output. `opening`: not the prompt alone is wanted.
    /// `template` renders it: the taught one, or its like for probes.
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
        // What is continued stands behind the opening.
        let opening = opening || prepared.continued.is_some();
        let input = PromptInput { template, prepared: &prepared, request, opening };
        let continuation = if prepared.continued.is_some() { prepared.continuation } else { Continuation::None };
        let same = |prompt: Prompt| {
            let opening = prompt.generation_prompt.clone();
            Prompts { prompt, opening, continuation, media: prepared.media.clone() }
        };
        if let Reader::Family(family) = self {
            return (family.prompt)(&input).map(same);
        }
        let Prompts { prompt, opening, media, .. } = same(prompt::plain(&input)?);
        let opening = prompt::opening_of_content(&input, &prompt).unwrap_or(opening);
        if request.force_pure_content {
            return Ok(Prompts { prompt, opening, continuation, media });
        }
        let prompt = prompt.continued_with(&input, |message, in_content| {
            let content = in_content.then(|| message.text());
            let (layout, thought) = (&taught.analysis().layout, &message.reasoning_content);
            let turn = match self {
                Reader::Turn => taught.turn_behind(&opening, request.enable_thinking),
                _ => None,
            };
            match turn {
                Some(turn) => learnt::continued_prompt(turn, layout, &opening, thought, content.as_deref()),
                None => auto::continued_prompt(layout, &opening, thought, content.as_deref()),
            }
        });
        Ok(Prompts { prompt, opening, continuation, media })
    }
}

/// What a request puts in front of the output.
#[derive(Debug)]
pub(crate) struct Prompts {
    pub prompt: Prompt,
    /// What opens the assistant's turn, without a message that is continued.
    pub opening: String,
    pub continuation: Continuation,
    /// The media that the prompt wants, in its order.
    pub media: Vec<Media>,
}

/// A template, and what is learnt of it once somebody asks.
#[derive(Debug)]
pub(crate) struct Taught {
    pub template: Template,
    /// Nothing is known but what the template shows.
    learn_only: bool,
    analysis: OnceLock<Analysis>,
    /// With thinking off, and on; a template without that switch writes all of them as with thinking on.
    turns: [OnceLock<Option<TurnFormat>>; 2],
}

impl Taught {
    pub fn new(template: Template, learn_only: bool) -> Self {
        Taught { template, learn_only, analysis: OnceLock::new(), turns: Default::default() }
    }

    pub fn analysis(&self) -> &Analysis {
        self.analysis.get_or_init(|| analysis::analyze(&self.template.probing(), self.learn_only))
    }

    /// How turns are written in this way to think; `None` where that could not be learnt.
    pub fn turn(&self, thinking: bool) -> Option<&TurnFormat> {
        let thinking = thinking || !self.template.knows_thinking_switch();
        self.turns[usize::from(thinking)].get_or_init(|| turn::learn(&self.template.probing(), thinking)).as_ref()
    }

    /// How turns are written behind this opening: in the way to think that has it, or else in the one that is asked for.
    fn turn_behind(&self, opening: &str, thinking: bool) -> Option<&TurnFormat> {
        let asked = self.turn(thinking).filter(|turn| turn.opening == opening);
        let other = || self.turn(!thinking).filter(|turn| turn.opening == opening);
        asked.or_else(other).or_else(|| self.turn(thinking)).or_else(|| self.turn(!thinking))
    }

    /// Who may read it. On a tie the earlier one does.
    pub fn candidates(&self) -> Vec<Reader> {
        let family = if self.learn_only { None } else { family_of(self.template.source()) };
        family.map(Reader::Family).into_iter().chain([Reader::Layout, Reader::Turn]).collect()
    }
}
