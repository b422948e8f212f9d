//! One run over all schemas that a value must match, and its result.

use std::collections::{HashSet, VecDeque};

use serde_json::Value;

use self::Verdict::{No, Open, Yes};
use super::{Checker, Violation};
use crate::schema::{Base, Keywords, Places, Step};
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
        let violation = Violation {
            pointer: self.places.pointer(place, ""),
            message,
        };
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
        Task {
            schema,
            base: Base::default(),
            value,
            place: 0,
        }
    }

    /// The same value with another schema.
    pub fn with(self, schema: &'a Value, base: Base) -> Self {
        Task {
            schema,
            base,
            ..self
        }
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

impl Run<'_, '_, '_> {
    pub fn wrong(&mut self, place: usize, message: impl Into<String>) {
        self.verdict = No;
        if let Some(report) = &mut self.report {
            report.add(place, message.into());
        }
    }

    /// Records that something could not be checked.
    pub fn open(&mut self) {
        self.verdict = self.verdict.min(Open);
    }

    pub fn is_over(&self) -> bool {
        match &self.report {
            None => self.verdict == No,
            Some(report) => report.found.len() >= limits::VIOLATIONS,
        }
    }
}

/// A value, and the keywords of a schema that it must match.
pub struct Check<'c, 'r, 'a, 'v> {
    pub checker: &'c mut Checker<'a>,
    pub run: &'c mut Run<'a, 'v, 'r>,
    pub keywords: Keywords<'a>,
    pub task: Task<'a, 'v>,
}

impl<'a, 'v> Check<'_, '_, 'a, 'v> {
    pub fn wrong(&mut self, message: impl Into<String>) {
        self.run.wrong(self.task.place, message);
    }

    pub fn holds(&mut self, verdict: Verdict, message: impl FnOnce() -> String) {
        match verdict {
            No => self.wrong(message()),
            other => self.run.verdict = self.run.verdict.min(other),
        }
    }

    /// Adds a schema for the same value; it is part of this one.
    pub fn also(&mut self, schema: &'a Value) {
        self.run
            .queue
            .push_back(self.task.with(schema, self.task.base));
    }

    /// Adds a schema for a value inside of this one; it is part of this schema.
    pub fn inside(&mut self, schema: &'a Value, value: &'v Value, step: Step<'v>) {
        let task = self.task;
        let place = self
            .run
            .report
            .as_mut()
            .map_or(0, |report| report.places.add(task.place, step));
        self.run.queue.push_back(Task {
            schema,
            value,
            place,
            ..task
        });
    }

    /// Checks a value against a part of this schema, one level of alternatives deeper.
    pub fn judge(&mut self, schema: &'a Value, value: &Value) -> Verdict {
        self.judge_at(schema, Task { value, ..self.task })
    }

    /// The same of the schema of another task.
    pub fn judge_at(&mut self, schema: &'a Value, task: Task<'a, '_>) -> Verdict {
        self.checker.judge(
            Task {
                place: 0,
                ..task.with(schema, task.base)
            },
            self.run.depth + 1,
            None,
        )
    }
}
