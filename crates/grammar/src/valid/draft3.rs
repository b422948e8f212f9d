//! Checks the keywords of draft 3, in which types may be schemas.

use std::slice;

use serde_json::Value;

use super::Checker;
use super::run::Verdict::{self, No, Open};
use super::run::{Run, Task};
use super::scalar::{TYPES, is_of};
use crate::schema::{Draft, Keywords};

impl<'a> Checker<'a> {
    /// Checks `type`, `disallow` and `extends`.
    pub fn kind_in_draft_3<'v>(&mut self, run: &mut Run<'a, 'v, '_>, keywords: Keywords<'a>, task: Task<'a, 'v>) {
        if let Some(types) = keywords.get("type") {
            let verdict = self.of_one_type(run, types, task);
            run.holds(verdict, task.place, || format!("must be of the type {types}"));
        }
        if let Some(types) = keywords.get("disallow") {
            let verdict = self.of_one_type(run, types, task).negated();
            run.holds(verdict, task.place, || format!("must not be of the type {types}"));
        }
        for schema in either(keywords.get("extends")) {
            run.also(schema, task);
        }
    }

    fn of_one_type(&mut self, run: &Run<'a, '_, '_>, types: &'a Value, task: Task<'a, '_>) -> Verdict {
        let of_type = |one: &'a Value| match one {
            Value::String(name) if TYPES.iter().any(|(known, _)| known == name) => {
                is_of(task.value, name, Draft::Three)
            }
            Value::Object(_) => self.judge_with(run, one, task),
            // `any`, or an unknown type.
            one if one == "any" => Verdict::Yes,
            _ => Open,
        };
        either(Some(types)).iter().map(of_type).max().unwrap_or(No)
    }
}

/// A value that may be one thing or a list.
fn either(value: Option<&Value>) -> &[Value] {
    match value {
        Some(Value::Array(values)) => values,
        Some(value) => slice::from_ref(value),
        None => &[],
    }
}
