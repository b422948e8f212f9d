//! Checks the keywords of draft 3, in which types may be schemas.

use std::slice;

use serde_json::Value;

use super::run::Check;
use super::run::Verdict::{self, No, Open};
use super::scalar::{TYPES, is_of};
use crate::schema::Draft;

impl<'a> Check<'_, '_, 'a, '_> {
    /// Checks `type`, `disallow` and `extends`.
    pub fn kind_in_draft_3(&mut self) {
        if let Some(types) = self.keywords.get("type") {
            let verdict = self.of_one_type(types);
            self.holds(verdict, || format!("must be of the type {types}"));
        }
        if let Some(types) = self.keywords.get("disallow") {
            let verdict = self.of_one_type(types).negated();
            self.holds(verdict, || format!("must not be of the type {types}"));
        }
        for schema in either(self.keywords.get("extends")) {
            self.also(schema);
        }
    }

    fn of_one_type(&mut self, types: &'a Value) -> Verdict {
        let value = self.task.value;
        let mut verdict = No;
        for one in either(Some(types)) {
            verdict = verdict.max(match one {
                Value::String(name) if TYPES.iter().any(|(known, _)| known == name) => {
                    is_of(value, name, Draft::Three)
                }
                Value::Object(_) => self.judge(one, value),
                one if one == "any" => Verdict::Yes,
                // An unknown type.
                _ => Open,
            });
        }
        verdict
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
