//! What a row of a family is: what it adds to the learnt turn, and what hosts are told.

use super::{Family, Way};
use crate::analysis::Around;
use crate::analysis::turn::TurnFormat;
use crate::format::learnt::Tolerances;
use crate::format::{Constraint, Delimiter, Format, FormatSpec, Thinking};

/// What a family's row adds to the learnt turn.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// How the model deviates from what the template writes.
    pub tolerances: Tolerances,
    /// What the turn has that no render shows.
    pub patch: fn(&mut TurnFormat),
    /// What hosts are told otherwise than learnt.
    pub host: Host,
}

/// What hosts are told; `None`: as learnt.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// The name of the format.
    pub name: Option<&'static str>,
    pub constraint: Option<fn(&FormatSpec) -> Constraint>,
    /// The preserved tokens, with spaces between them.
    pub tokens: Option<&'static str>,
    /// The marker in front of reasoning, and its ends, if there is any.
    pub thinking: Option<Option<(&'static str, &'static [&'static str])>>,
    pub delimiters: Option<&'static [(&'static str, &'static str)]>,
    /// The opening of a message that is continued, and what is around its reasoning.
    pub continued: Option<[&'static str; 3]>,
    /// Ends of the turn that the model may write as plain text, which does not stop the generation.
    pub stops: &'static [&'static str],
}

impl Row {
    /// What is around the reasoning of a message that is continued; `None`: as learnt.
    pub fn around(&self) -> Option<Around> {
        let none = (self.host.thinking == Some(None)).then(Around::default);
        self.host.continued.map(|[opening, start, end]| Around::new(opening, start, end)).or(none)
    }
}

impl Host {
    pub const LEARNT: Host = Host {
        name: None,
        constraint: None,
        tokens: None,
        thinking: None,
        delimiters: None,
        continued: None,
        stops: &[],
    };

    pub fn tell(&self, spec: &FormatSpec, format: &mut Format) {
        if let Some(constraint) = self.constraint {
            format.constraint = constraint(spec);
        }
        if let Some(tokens) = self.tokens {
            format.preserved_tokens = tokens.split(' ').map(str::to_owned).collect();
        }
        if let Some(thinking) = self.thinking {
            format.thinking = thinking.map(|(start, ends)| Thinking::new(start, ends.iter().copied()));
        }
        if let Some(delimiters) = self.delimiters {
            format.delimiters = Delimiter::list(delimiters.iter().copied());
        }
        if !self.stops.is_empty() {
            format.additional_stops = self.stops.iter().map(|stop| (*stop).to_owned()).collect();
        }
        format.name = self.name.unwrap_or(format.name);
    }
}

pub(super) const LEARNT: Row = Row { tolerances: Tolerances::NONE, patch: |_| {}, host: Host::LEARNT };

pub(super) const fn row(name: &'static str, detect: fn(&str) -> bool, row: Row) -> Family {
    Family { name, detect, prompt: None, way: Way::Row(row), history_misleads: false }
}
