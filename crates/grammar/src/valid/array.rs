//! Checks the keywords for arrays.

use std::collections::HashMap;

use serde_json::Value;

use super::Checker;
use super::run::Check;
use super::run::Verdict::{self, No, Open, Yes};
use super::scalar::{alike, same};
use crate::schema::Step;

impl<'v> Check<'_, '_, '_, 'v> {
    pub fn array(&mut self, items: &'v [Value]) {
        self.counted(["minItems", "maxItems"], "item", items.len());
        let (first, rest) = self.keywords.items();
        for (index, item) in items.iter().enumerate() {
            if !self.checker.spend(1) {
                return self.run.open();
            }
            if let Some(schema) = first.get(index).or(rest) {
                self.inside(schema, item, Step::Item(index));
            }
        }
        if self.keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
            let verdict = self.checker.unique(items);
            self.holds(verdict, || "must not have the same item twice".to_owned());
        }
        self.contains(items);
    }

    fn contains(&mut self, items: &[Value]) {
        let keywords = self.keywords;
        let Some(schema) = keywords.get("contains") else {
            return;
        };
        let least = keywords.number("minContains").unwrap_or(1.0);
        let most = keywords.number("maxContains").unwrap_or(f64::INFINITY);
        let (mut fit, mut may_fit) = (0.0, 0.0);
        for item in items {
            if fit > most || fit >= least && most == f64::INFINITY {
                break;
            }
            match self.judge(schema, item) {
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
        self.holds(verdict, || {
            if fit > most {
                format!("must have at most {most} items that fit contains")
            } else {
                format!("must have at least {least} items that fit contains, not {fit}")
            }
        });
    }
}

impl Checker<'_> {
    fn unique(&mut self, items: &[Value]) -> Verdict {
        // Groups items that may be equal.
        let mut groups: HashMap<u64, Vec<&Value>> = HashMap::new();
        for item in items {
            let Some(key) = alike(item, &mut self.steps) else {
                return Open;
            };
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
