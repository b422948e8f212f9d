//! The readers of a template's output: the candidates, and how each says that the model writes.
//!
//! A [`Reader`] makes a [`Writing`]: of what was learnt, of that and a family's row, or of a
//! response template. [`crate::proof`] decides which of a template's candidates is used, by what
//! they read back.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use chatparse_base::{Error, Result};
use chatparse_jinja::Template;
use chatparse_learn::analysis::turn::{self, Edge, SlotKind, TurnFormat};
use chatparse_learn::analysis::{Around, Layout};
use chatparse_learn::{Family, Prompt, PromptInput, Writing, family_of};

use chatparse_response::ResponseTemplate;

/// A way to read the output of a template's model. It makes its writings on first use; threads may
/// share it.
pub(crate) struct Reader {
    pub analyzed: Arc<AnalyzedTemplate>,
    maker: Maker,
    /// With thinking off, and on.
    writings: [OnceLock<Arc<Writing>>; 2],
    around: OnceLock<Around>,
}

/// The source of a reader's writings.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Maker {
    /// What was learnt, and the row of a family.
    Family(&'static Family),
    /// What was learnt.
    Learning,
    /// What the response template says.
    Response,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Reader {
    pub fn new(analyzed: &Arc<AnalyzedTemplate>, maker: Maker) -> Reader {
        Reader {
            analyzed: Arc::clone(analyzed),
            maker,
            writings: Default::default(),
            around: OnceLock::new(),
        }
    }

    /// A stable lower-case name: that of the family, `turn`, or `response-template`.
    pub fn name(&self) -> &'static str {
        match self.maker {
            Maker::Family(family) => &family.name,
            Maker::Learning => "turn",
            Maker::Response => "response-template",
        }
    }

    pub fn template(&self) -> &Template {
        &self.analyzed.template
    }

    fn family(&self) -> Option<&'static Family> {
        match self.maker {
            Maker::Family(family) => Some(family),
            _ => None,
        }
    }

    /// Whether it takes the template's prompts as they are, and knows nothing of other templates.
    pub fn is_learnt(&self) -> bool {
        self.family().is_none()
    }

    /// Whether it reads what a response template says.
    pub fn is_response(&self) -> bool {
        matches!(self.maker, Maker::Response)
    }

    /// Whether it reads what was learnt of the template.
    pub fn learns(&self) -> bool {
        match self.maker {
            Maker::Family(family) => family.harmony.is_none(),
            Maker::Learning => true,
            Maker::Response => false,
        }
    }

    /// Whether the renders of its templates prove nothing.
    pub fn history_misleads(&self) -> bool {
        self.family().is_some_and(|family| family.history_misleads)
    }

    /// Whether a family describes turns as `learnt` does, in the template's own prompts, perhaps
    /// with further ways to join their parts: then it reads all that `learnt` does.
    pub fn adds_to(&self, learnt: &Reader) -> bool {
        if self.is_learnt() || !self.learns() || self.own_prompt().is_some() || !learnt.is_learnt()
        {
            return false;
        }
        let (mut turn, learnt) = (self.writing(true).turn.clone(), &learnt.writing(true).turn);
        turn.edges.truncate(learnt.edges.len());
        turn == *learnt
    }

    /// How the family renders prompts, where it does not leave that to the template.
    pub fn own_prompt(&self) -> Option<fn(&PromptInput) -> Result<Prompt>> {
        self.family()?.prompt()
    }

    /// How the model writes turns with thinking on or off.
    pub fn writing(&self, thinking: bool) -> &Arc<Writing> {
        let analyzed = &self.analyzed;
        let thinks = analyzed.thinks(thinking);
        self.writings[usize::from(thinks)].get_or_init(|| {
            let mut writing = match (self.maker, &analyzed.response) {
                (Maker::Response, Some(response)) => {
                    let mut writing = Writing::learnt(response.turn.clone());
                    writing.tolerances.late_thoughts |= response.late_thoughts;
                    writing.tolerances.joins_thoughts = true;
                    writing
                }
                (Maker::Family(family), _) => family.writing(analyzed.turn(thinks).clone()),
                _ => Writing::learnt(analyzed.turn(thinks).clone()),
            };
            writing.tolerances.ends.clone_from(&analyzed.ends);
            if !thinks {
                writing.layout = Arc::clone(&self.writing(true).layout);
            }
            Arc::new(writing)
        })
    }

    /// How the model writes turns after this opening: with the thinking that produces the opening,
    /// or otherwise as requested.
    pub fn writing_after(&self, opening: &str, thinking: bool) -> &Arc<Writing> {
        let asked = self.analyzed.turn(thinking);
        let other = asked.opening != opening && self.analyzed.turn(!thinking).opening == opening;
        self.writing(thinking != other)
    }

    /// What is around the reasoning of a message that is continued, in llama.cpp's way.
    pub fn around(&self) -> &Around {
        self.around.get_or_init(|| {
            let writing = self.writing(true);
            match (writing.around(), self.is_learnt()) {
                (Some(around), _) => around,
                (None, true) => Around::of_template(&self.template().probing()),
                (None, false) => Around::of_turn(&writing.turn),
            }
        })
    }

    /// The turn by llama.cpp's names.
    pub fn layout(&self) -> &Layout {
        &self.writing(true).layout
    }

    /// The ends of outputs that are told, and what the template ends turns with, also up to each of
    /// its markers; or each token that it ends some with.
    pub fn all_ends(&self, thinking: bool) -> Vec<String> {
        let turn = &self.writing(thinking).turn;
        let mut ends = self.analyzed.ends.clone();
        let end = turn.end.head();
        for marker in turn.end.marker_spans() {
            let rest = end[marker.end..].trim_start();
            ends.push(end[..end.len() - rest.len()].to_owned());
        }
        ends.push(end.to_owned());
        for Edge { to, glue, .. } in &turn.edges {
            if turn.end.is_blank() && *to == SlotKind::End && turn.is_stop(glue) {
                ends.push(glue.head().to_owned());
            }
        }
        ends
    }
}

/// A template, and what is learnt of it on first use.
#[derive(Debug)]
pub(crate) struct AnalyzedTemplate {
    pub template: Template,
    /// The texts of the tokens that end the model's output, as far as they are told. None is empty.
    pub ends: Vec<String>,
    /// Uses only what the template shows.
    pub learn_only: bool,
    /// The turn of a response template.
    pub response: Option<Response>,
    /// Why the response template of a file cannot be read.
    pub response_fault: Option<Error>,
    /// With thinking off, and on. A template without that switch has both as with thinking on.
    pub turns: [OnceLock<TurnFormat>; 2],
}

/// What a response template says of a turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Response {
    pub turn: TurnFormat,
    /// Whether thoughts may follow other parts.
    pub late_thoughts: bool,
    /// Whether the caller handed it over: then it is used on a tie.
    pub given: bool,
}

impl AnalyzedTemplate {
    /// `ends`: the texts of tokens that end the model's output besides the template's.
    pub fn new(template: Template, ends: &[String], learn_only: bool) -> Self {
        let mut ends = [&[template.eos().to_owned()], ends].concat();
        ends.retain(|end| !end.is_empty());
        AnalyzedTemplate {
            ends,
            template,
            learn_only,
            response: None,
            response_fault: None,
            turns: Default::default(),
        }
    }

    /// Adds a response template. `given`: the caller handed it over. One of a file with a template
    /// that cannot be read is left out.
    pub fn with_response(mut self, json: &Value, given: bool) -> Result<Self> {
        let response = ResponseTemplate::from_json(json).and_then(|read| {
            Ok(Response {
                turn: read.turn()?,
                late_thoughts: read.has_late_thoughts(),
                given,
            })
        });
        match response {
            Ok(response) => self.response = Some(response),
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
        AnalyzedTemplate {
            ends: self.ends.clone(),
            ..AnalyzedTemplate::new(template, &[], self.learn_only)
        }
    }

    /// Whether the model thinks where the request says so, or not: a template without that switch
    /// has one way only.
    fn thinks(&self, thinking: bool) -> bool {
        thinking || !self.template.knows_thinking_switch()
    }

    /// How turns are written with thinking on or off.
    pub fn turn(&self, thinking: bool) -> &TurnFormat {
        let thinking = self.thinks(thinking);
        self.turns[usize::from(thinking)]
            .get_or_init(|| turn::learn(&self.template.probing(), thinking))
    }

    /// The candidates. On a tie the earlier one is used.
    pub fn candidates(self: &Arc<Self>) -> Vec<Arc<Reader>> {
        let mut makers = vec![Maker::Learning];
        if !self.learn_only
            && let Some(family) = family_of(self.template.source())
            && self.may_write_calls_from(&family.tolerances.calls_from)
        {
            makers.insert(0, Maker::Family(family));
        }
        if let Some(response) = &self.response {
            // Without a template, nothing was learnt.
            if self.template.source().trim().is_empty() {
                makers.clear();
            }
            let place = if response.given { 0 } else { makers.len() };
            makers.insert(place, Maker::Response);
        }
        let readers = makers.into_iter().map(|maker| Reader::new(self, maker));
        readers.map(Arc::new).collect()
    }

    /// Whether calls open with this marker, or none is written. The source may name a marker that
    /// its template does not write.
    fn may_write_calls_from(&self, marker: &str) -> bool {
        if marker.is_empty() {
            return true;
        }
        let edges = self.turn(true).edges.iter();
        let mut calls = edges.filter(|edge| edge.to == SlotKind::Call).peekable();
        calls.peek().is_none() || calls.any(|edge| edge.glue.head().contains(marker))
    }

    /// The candidate of this name; the one that reads what was learnt, if no candidate has it.
    pub fn reader_named(self: &Arc<Self>, name: &str) -> Option<Arc<Reader>> {
        let all = self.candidates();
        let named = all.iter().find(|reader| reader.name() == name);
        let learning = |reader: &&Arc<Reader>| matches!(reader.maker, Maker::Learning);
        named.or_else(|| all.iter().find(learning)).cloned()
    }
}
