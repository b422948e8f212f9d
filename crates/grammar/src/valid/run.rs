//! One run over all schemas that a value must match, and its result.

use std::collections::{HashSet, VecDeque};

use serde_json::Value;

use self::Verdict::{No, Open, Yes};
use super::Violation;
use crate::schema::{Base, Places, Step};
use chatparse_base::limits;

/// The result of checking a value against a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    No,
    /// No violation was found, but not everything was checked.
    Open,
    Yes,
}

impl Verdict {
    pub fn negated(self) -> Verdict {
        match self {
            No => Yes,
            Open => Open,
            Yes => No,
        }
    }
}

/// The violations, and the paths to the places checked.
pub struct Report<'v> {
    pub places: Places<'v>,
    pub found: Vec<Violation>,
}

impl Report<'_> {
    fn add(&mut self, place: usize, message: String) {
        let violation = Violation { pointer: self.places.pointer(place, ""), message };
        if !self.found.contains(&violation) {
            self.found.push(violation);
        }
    }
}

/// A schema, a value that must match it, and the places of both.
#[derive(Clone, Copy)]
pub struct Task<'a, 'v> {
    pub schema: &'a Value,
    pub base: Base,
    pub value: &'v Value,
    pub place: usize,
}

impl<'a, 'v> Task<'a, 'v> {
    /// The schema at the root of a document, and a whole value.
    pub fn new(schema: &'a Value, value: &'v Value) -> Self {
        Task { schema, base: Base::default(), value, place: 0 }
    }

    /// The same value with another schema.
    pub fn with(self, schema: &'a Value, base: Base) -> Self {
        Task { schema, base, ..self }
    }

    /// Identifies the task. The way to the schema is included only where it matters.
    pub fn key(&self) -> Key {
        (self.schema, self.value, self.base.way)
    }
}

pub type Key = (*const Value, *const Value, usize);

/// One run over all schemas that must hold together.
pub struct Run<'a, 'v, 'r> {
    pub queue: VecDeque<Task<'a, 'v>>,
    /// References that were followed, with their values: following one again adds nothing.
    pub followed: HashSet<Key>,
    pub report: Option<&'r mut Report<'v>>,
    pub verdict: Verdict,
    /// The number of alternatives around this run.
    pub depth: usize,
}

impl<'a, 'v> Run<'a, 'v, '_> {
    pub fn wrong(&mut self, place: usize, message: impl Into<String>) {
        self.verdict = No;
        if let Some(report) = &mut self.report {
            report.add(place, message.into());
        }
    }

    pub fn holds(&mut self, verdict: Verdict, place: usize, message: impl FnOnce() -> String) {
        match verdict {
            No => self.wrong(place, message()),
            other => self.verdict = self.verdict.min(other),
        }
    }

    /// Records that something could not be checked.
    pub fn open(&mut self) {
        self.verdict = self.verdict.min(Open);
    }

    /// Adds a schema for the same value; it is part of the schema of `task`.
    pub fn also(&mut self, schema: &'a Value, task: Task<'a, 'v>) {
        self.queue.push_back(task.with(schema, task.base));
    }

    /// Adds a schema for a value inside that of `task`; it is part of the schema of `task`.
    pub fn inside(&mut self, schema: &'a Value, value: &'v Value, task: Task<'a, 'v>, step: Step<'v>) {
        let place = self.report.as_mut().map_or(0, |report| report.places.add(task.place, step));
        self.queue.push_back(Task { schema, value, place, ..task });
    }

    pub fn is_over(&self) -> bool {
        match &self.report {
            None => self.verdict == No,
            Some(report) => report.found.len() >= limits::VIOLATIONS,
        }
    }
}
