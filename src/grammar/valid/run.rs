//! One run over what a value must be all at once, and what it finds.

use std::collections::{HashSet, VecDeque};

use serde_json::Value;

use self::Verdict::{No, Open, Yes};
use super::Violation;
use crate::grammar::pointer::escaped;
use crate::limits;

/// How a value fits a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Yes,
    /// No violation was found, but not everything was checked.
    Open,
    No,
}

impl Verdict {
    fn and(self, other: Verdict) -> Verdict {
        match (self, other) {
            (No, _) | (_, No) => No,
            (Open, _) | (_, Open) => Open,
            (Yes, Yes) => Yes,
        }
    }
}

/// How one comes from a value to one inside it.
#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    Root,
    Name(&'a str),
    Index(usize),
}

/// What was found, and the ways to the places where something could be.
pub(super) struct Report<'a> {
    pub(super) places: Vec<(usize, Step<'a>)>,
    pub(super) found: Vec<Violation>,
}

impl<'a> Report<'a> {
    fn add(&mut self, place: usize, message: String) {
        let (mut at, mut steps) = (place, Vec::new());
        while at != 0 {
            let (parent, step) = self.places[at];
            steps.push(match step {
                Step::Root => String::new(),
                Step::Name(name) => format!("/{}", escaped(name)),
                Step::Index(index) => format!("/{index}"),
            });
            at = parent;
        }
        let violation = Violation { pointer: steps.into_iter().rev().collect(), message };
        if !self.found.contains(&violation) {
            self.found.push(violation);
        }
    }
}

/// A schema that a value must fit, and where the value stands.
pub(super) type Task<'a> = (&'a Value, &'a Value, usize);

/// One run over what must hold all at once.
pub(super) struct Run<'a, 'r> {
    pub(super) queue: VecDeque<Task<'a>>,
    /// References that were followed, with the value they are about: a circle of them says nothing new.
    pub(super) followed: HashSet<(*const Value, *const Value)>,
    pub(super) report: Option<&'r mut Report<'a>>,
    pub(super) verdict: Verdict,
    /// How many alternatives this run lies in.
    pub(super) depth: usize,
}

impl<'a> Run<'a, '_> {
    pub(super) fn wrong(&mut self, place: usize, message: impl Into<String>) {
        self.verdict = No;
        if let Some(report) = &mut self.report {
            report.add(place, message.into());
        }
    }

    pub(super) fn holds(&mut self, verdict: Verdict, place: usize, message: impl FnOnce() -> String) {
        match verdict {
            No => self.wrong(place, message()),
            other => self.verdict = self.verdict.and(other),
        }
    }

    /// Something could not be checked.
    pub(super) fn open(&mut self) {
        self.verdict = self.verdict.and(Open);
    }

    pub(super) fn inside(&mut self, schema: &'a Value, value: &'a Value, place: usize, step: Step<'a>) {
        let place = match &mut self.report {
            None => 0,
            Some(report) => {
                report.places.push((place, step));
                report.places.len() - 1
            }
        };
        self.queue.push_back((schema, value, place));
    }

    pub(super) fn is_over(&self) -> bool {
        match &self.report {
            None => self.verdict == No,
            Some(report) => report.found.len() >= limits::VIOLATIONS,
        }
    }
}
