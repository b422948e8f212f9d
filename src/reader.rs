//! Who reads what a template's model writes: the candidates, and what each makes of a request.
//!
//! A [`Reader`] is a way to get a [`Format`] for what a request wants, and the prompt that goes with it. Which of a template's
//! candidates is taken is decided in [`crate::proof`], by what they read back.

use std::sync::OnceLock;

use crate::analysis::{self, Analysis};
use crate::error::Result;
use crate::format::{Family, Format, FormatSpec, Prompt, PromptInput, auto, family_of, prompt};
use crate::message::{Continuation, Request};
use crate::template::{Template, prepare};

/// A way to read what a template's model writes.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Reader {
    /// The format of a family of templates, which is known and not learnt.
    Family(&'static Family),
    /// The learnt layout: [`Analysis::layout`].
    Layout,
}

impl Reader {
    /// A stable lower-case name: that of the family, or `layout`.
    pub fn name(self) -> &'static str {
        match self {
            Reader::Family(family) => family.name,
            Reader::Layout => "layout",
        }
    }

    /// Whether what it knows comes from this template's renders.
    pub fn is_learnt(self) -> bool {
        !matches!(self, Reader::Family(_))
    }

    /// The format of the output.
    pub(crate) fn format(self, taught: &Taught, spec: &FormatSpec) -> Format {
        match self {
            Reader::Family(family) => (family.build)(spec),
            Reader::Layout => auto::build(&taught.analysis().layout, spec, taught.template.caps().tool_calls),
        }
    }

    /// What a request puts in front of the output. `opening`: not the prompt alone is wanted.
    pub(crate) fn prompts(self, taught: &Taught, request: &Request, opening: bool) -> Result<Prompts> {
        let prepared = prepare(&taught.template, request)?;
        // What is continued stands behind the opening.
        let opening = opening || prepared.continued.is_some();
        let input = PromptInput { template: &taught.template, prepared: &prepared, request, opening };
        let continuation = if prepared.continued.is_some() { prepared.continuation } else { Continuation::None };
        let same = |prompt: Prompt| {
            let opening = prompt.generation_prompt.clone();
            Prompts { prompt, opening, continuation }
        };
        if let Reader::Family(family) = self {
            return (family.prompt)(&input).map(same);
        }
        let Prompts { prompt, opening, .. } = same(prompt::plain(&input)?);
        if request.force_pure_content {
            return Ok(Prompts { prompt, opening, continuation });
        }
        let prompt = prompt.continued_with(&input, |message, in_content| {
            let content = in_content.then(|| message.text());
            auto::continued_prompt(&taught.analysis().layout, &opening, &message.reasoning_content, content.as_deref())
        });
        Ok(Prompts { prompt, opening, continuation })
    }
}

/// What a request puts in front of the output.
#[derive(Debug)]
pub(crate) struct Prompts {
    pub prompt: Prompt,
    /// What opens the assistant's turn, without a message that is continued.
    pub opening: String,
    pub continuation: Continuation,
}

/// A template, and what is learnt of it once somebody asks.
#[derive(Debug)]
pub(crate) struct Taught {
    pub template: Template,
    /// Nothing is known but what the template shows.
    learn_only: bool,
    analysis: OnceLock<Analysis>,
}

impl Taught {
    pub fn new(template: Template, learn_only: bool) -> Self {
        Taught { template, learn_only, analysis: OnceLock::new() }
    }

    pub fn analysis(&self) -> &Analysis {
        self.analysis.get_or_init(|| analysis::analyze(&self.template, self.learn_only))
    }

    /// Who may read it. On a tie the earlier one does.
    pub fn candidates(&self) -> Vec<Reader> {
        let family = if self.learn_only { None } else { family_of(self.template.source()) };
        family.map(Reader::Family).into_iter().chain([Reader::Layout]).collect()
    }
}
