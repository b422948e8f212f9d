//! Checks `unevaluatedProperties` and `unevaluatedItems`: the schemas for parts of a value that no
//! other keyword evaluates.

use std::collections::HashSet;

use serde_json::Value;

use super::Checker;
use super::run::Verdict::{self, No, Open, Yes};
use super::run::{Check, Task};
use crate::schema::{Draft, Keywords, Step};

/// For each part of a value, whether a schema evaluates it.
struct Parts {
    seen: Vec<Verdict>,
    /// Whether a schema evaluates all of them.
    all: Verdict,
}

impl Parts {
    fn see(&mut self, index: usize, certain: Verdict) {
        self.seen[index] = self.seen[index].max(certain);
    }
}

impl<'a, 'v> Check<'_, '_, 'a, 'v> {
    pub fn unevaluated(&mut self) {
        let (keyword, inside): (_, Vec<(Step<'v>, &'v Value)>) = match self.task.value {
            Value::Object(members) => (
                "unevaluatedProperties",
                members
                    .iter()
                    .map(|(name, member)| (Step::Key(name), member))
                    .collect(),
            ),
            Value::Array(items) => (
                "unevaluatedItems",
                items
                    .iter()
                    .enumerate()
                    .map(|(at, item)| (Step::Item(at), item))
                    .collect(),
            ),
            _ => return,
        };
        let Some(schema) = self.keywords.get(keyword) else {
            return;
        };
        let Some(parts) = self.evaluated(keyword, inside.len()) else {
            return self.run.open();
        };
        for ((step, part), seen) in inside.into_iter().zip(parts.seen) {
            match (seen.max(parts.all), schema, step) {
                (Yes, ..) => {}
                (Open, ..) => self.run.open(),
                (No, Value::Bool(false), Step::Key(name)) => {
                    self.wrong(format!("must not have {name:?}"))
                }
                (No, ..) => self.inside(schema, part, step),
            }
        }
    }

    /// Which of so many parts the schema of `task` evaluates, without its own `keyword`; `None` if
    /// it takes too many steps.
    fn evaluated(&mut self, keyword: &str, count: usize) -> Option<Parts> {
        let mut parts = Parts {
            seen: vec![No; count],
            all: No,
        };
        // Schemas for the same value, and whether the value certainly matches them: a schema that
        // it does not match evaluates nothing.
        let mut open = vec![(self.task, Yes)];
        let mut known = HashSet::new();
        while let Some((mut next, certain)) = open.pop() {
            if !self.checker.spend(1 + count) {
                return None;
            }
            if next.schema.is_boolean() || !known.insert((next.key(), certain)) {
                continue;
            }
            let is_own = known.len() == 1;
            let Some(keywords) = self.checker.keywords(&mut next) else {
                parts.all = parts.all.max(Open);
                continue;
            };
            let Checker {
                document, steps, ..
            } = &mut *self.checker;
            for target in document.targets(keywords, next.base, steps) {
                match target {
                    Some((schema, base)) => open.push((next.with(schema, base), certain)),
                    None => parts.all = parts.all.max(Open),
                }
            }
            if keywords.draft.lone_ref() && keywords.fields.contains_key("$ref") {
                continue;
            }
            if !is_own && keywords.get(keyword).is_some() {
                parts.all = parts.all.max(certain);
            }
            self.see(&mut parts, keywords, next, certain);
            for schema in keywords.list("allOf") {
                open.push((next.with(schema, next.base), certain));
            }
            for schema in ["anyOf", "oneOf"].iter().flat_map(|key| keywords.list(key)) {
                let certain = certain.min(self.judge_at(schema, next));
                if certain != No {
                    open.push((next.with(schema, next.base), certain));
                }
            }
            if let Some(schema) = keywords.get("if") {
                let holds = self.judge_at(schema, next);
                for (schema, holds) in [
                    (Some(schema), holds),
                    (keywords.get("then"), holds),
                    (keywords.get("else"), holds.negated()),
                ] {
                    if let Some(schema) = schema.filter(|_| holds != No) {
                        open.push((next.with(schema, next.base), certain.min(holds)));
                    }
                }
            }
            if let Value::Object(members) = next.value {
                for key in ["dependentSchemas", "dependencies"] {
                    for (name, schema) in keywords.map(key) {
                        if members.contains_key(name) && !schema.is_array() {
                            open.push((next.with(schema, next.base), certain));
                        }
                    }
                }
            }
        }
        Some(parts)
    }

    /// Adds the parts that keywords for single parts evaluate.
    fn see(
        &mut self,
        parts: &mut Parts,
        keywords: Keywords<'a>,
        task: Task<'a, 'v>,
        certain: Verdict,
    ) {
        match task.value {
            Value::Object(_) if keywords.get("additionalProperties").is_some() => {
                parts.all = parts.all.max(certain)
            }
            Value::Object(members) => {
                for (index, name) in members.keys().enumerate() {
                    let described = self.checker.described(keywords, name, |_| {});
                    parts.see(index, certain.min(described));
                }
            }
            Value::Array(items) => {
                let (first, rest) = keywords.items();
                if rest.is_some() {
                    parts.all = parts.all.max(certain);
                }
                (0..first.len().min(items.len())).for_each(|index| parts.see(index, certain));
                if let Some(schema) = keywords.get("contains") {
                    // 2019-09 does not specify that these items count as evaluated; later drafts
                    // do.
                    let certain = if keywords.draft < Draft::NEWEST {
                        Open
                    } else {
                        certain
                    };
                    for (index, item) in items.iter().enumerate() {
                        let fits = self.judge_at(
                            schema,
                            Task {
                                value: item,
                                ..task
                            },
                        );
                        parts.see(index, certain.min(fits));
                    }
                }
            }
            _ => {}
        }
    }
}
