//! Calls where the format has none: in text that is not in the format, and, where the request asks for it, in content and in
//! reasoning.
//!
//! Such text has a description of its own ([`dialects`]), which runs on the same machine as a format. A [`FallbackParser`] runs
//! it and passes the events on to the message builder that the format's parser writes to.

mod dialects;
mod origin;
mod parser;
mod text;

use std::sync::{Arc, OnceLock};

use crate::message::{BareCalls, CallOrigin, CallsInReasoning, Dialects, Leniency, Tool};
use crate::output::Channel;
use crate::peg::{self, Arena, Program};
use text::Place;

pub(crate) use dialects::name as dialect_name;
pub(crate) use parser::{End, FallbackParser};

/// What a parser needs to read calls outside its format. The programs are made when the first output needs them.
#[derive(Debug)]
pub struct FallbackConfig {
    format: Arc<Arena>,
    /// The tools on offer. None: nothing is looked for.
    pub tools: Vec<Tool>,
    /// What is asked for.
    pub leniency: Leniency,
    /// How the model's turn ends where it spells that out.
    pub ends: Vec<String>,
    programs: [OnceLock<Option<Arc<Program>>>; Place::COUNT],
    /// Whether the format's own calls have a marker.
    marked: OnceLock<bool>,
}

impl FallbackConfig {
    /// For a format and a request with these tools, where the model's turn ends so.
    pub fn new(format: Arc<Arena>, tools: Vec<Tool>, leniency: Leniency, mut ends: Vec<String>) -> Self {
        ends.retain(|end| !end.trim().is_empty());
        FallbackConfig { format, tools, leniency, ends, programs: Default::default(), marked: OnceLock::new() }
    }

    /// What the output should look like.
    pub fn format(&self) -> &Arc<Arena> {
        &self.format
    }

    /// About what the programs take in memory that are there by now.
    pub(crate) fn bytes(&self) -> usize {
        let made = self.programs.iter().filter_map(|cell| cell.get()?.as_ref());
        made.map(|program| program.bytes()).sum()
    }

    /// A program for calls in `place`; `None` where there are none to look for, or where the tools are too many.
    fn program(&self, place: Place) -> Option<Arc<Program>> {
        let text = || text::text_with_calls(&self.format, &self.tools, self.leniency, &self.ends, place);
        let make = || peg::compile(&text()).ok();
        self.programs[place as usize]
            .get_or_init(|| if self.tools.is_empty() { None } else { make().map(Arc::new) })
            .clone()
    }

    /// Where a call comes from that was found where the format has none. `dialect`: the row of the table that it is written in.
    fn origin(&self, dialect: Option<u16>) -> CallOrigin {
        let marked = || *self.marked.get_or_init(|| origin::is_marked(&self.format, &self.tools));
        origin::of_found(dialect, marked)
    }

    /// What looks for calls in a region of the format that begins at `at`. `None` where the request does not ask for it. `begins`:
    /// there is nothing in front of it but reasoning.
    pub(crate) fn in_region(self: &Arc<Self>, channel: Channel, begins: bool, at: usize) -> Option<FallbackParser> {
        let place = match (channel, self.leniency.dialects, self.leniency.calls_in_reasoning) {
            (Channel::Content, Dialects::Always, _) => Place::Anywhere,
            (Channel::Content, Dialects::Recover, _) if begins && self.leniency.bare_calls != BareCalls::Off => {
                Place::Whole
            }
            (Channel::Reasoning, _, CallsInReasoning::Always) => Place::Anywhere,
            (Channel::Reasoning, _, CallsInReasoning::AtEnd) => Place::AtEnd,
            _ => return None,
        };
        FallbackParser::new(Arc::clone(self), channel, place, at)
    }

    /// What looks for calls in text that left the format at `at`. `None` where the request does not ask for it. `in_call`: a call
    /// broke off there; `called`: there is one in front.
    pub(crate) fn behind_format(self: &Arc<Self>, at: usize, in_call: bool, called: bool) -> Option<FallbackParser> {
        let place = match (in_call, called) {
            (true, _) => Place::InCall,
            (false, true) => Place::BehindCall,
            _ => Place::Anywhere,
        };
        let asked = in_call || self.leniency.dialects != Dialects::Off;
        asked.then(|| FallbackParser::new(Arc::clone(self), Channel::Content, place, at)).flatten()
    }
}
