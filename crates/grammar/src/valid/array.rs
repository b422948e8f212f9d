//! Checks the keywords for arrays.

use std::collections::HashMap;

use serde_json::Value;

use super::Checker;
use super::run::Verdict::{self, No, Open, Yes};
use super::run::{Run, Task};
use super::scalar::{alike, counted, same};
use crate::schema::{Keywords, Step};

impl<'a> Checker<'a> {
    pub fn array<'v>(
        &mut self,
        run: &mut Run<'a, 'v, '_>,
        keywords: Keywords<'a>,
        items: &'v [Value],
        task: Task<'a, 'v>,
    ) {
        counted(run, keywords, ["minItems", "maxItems"], "item", items.len(), task.place);
        let (first, rest) = keywords.items();
        for (index, item) in items.iter().enumerate() {
            if !self.spend(1) {
                return run.open();
            }
            if let Some(schema) = first.get(index).or(rest) {
                run.inside(schema, item, task, Step::Item(index));
            }
        }
        if keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
            let verdict = self.unique(items);
            run.holds(verdict, task.place, || "must not have the same item twice".to_owned());
        }
        self.contains(run, keywords, items, task);
    }

    fn contains<'v>(
        &mut self,
        run: &mut Run<'a, 'v, '_>,
        keywords: Keywords<'a>,
        items: &'v [Value],
        task: Task<'a, 'v>,
    ) {
        let Some(schema) = keywords.get("contains") else { return };
        let least = keywords.get("minContains").and_then(Value::as_f64).unwrap_or(1.0);
        let most = keywords.get("maxContains").and_then(Value::as_f64).unwrap_or(f64::INFINITY);
        let (mut fit, mut may_fit) = (0.0, 0.0);
        for item in items {
            if fit > most || fit >= least && most == f64::INFINITY {
                break;
            }
            match self.judge_with(run, schema, Task { value: item, ..task }) {
                Yes => fit += 1.0,
                Open => may_fit += 1.0,
                No => {}
            }
        }
        let verdict = match () {
            () if fit > most || fit + may_fit < least => No,
            () if fit >= least && fit + may_fit <= most => Yes,
            () => Open,
        };
        run.holds(verdict, task.place, || {
            if fit > most {
                format!("must have at most {most} items that fit contains")
            } else {
                format!("must have at least {least} items that fit contains, not {fit}")
            }
        });
    }

    fn unique(&mut self, items: &[Value]) -> Verdict {
        // Groups items that may be equal.
        let mut groups: HashMap<u64, Vec<&Value>> = HashMap::new();
        for item in items {
            let Some(key) = alike(item, &mut self.steps) else { return Open };
            let others = groups.entry(key).or_default();
            for other in &*others {
                match same(other, item, || self.spend(1)) {
                    Yes => return No,
                    Open => return Open,
                    No => {}
                }
            }
            others.push(item);
        }
        Yes
    }
}
