//! Checks `unevaluatedProperties` and `unevaluatedItems`: the schemas for parts of a value that no other keyword evaluates.

use std::collections::HashSet;

use serde_json::Value;

use super::Checker;
use super::run::Verdict::{self, No, Open, Yes};
use super::run::{Run, Task};
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

impl<'a> Checker<'a> {
    pub fn unevaluated<'v>(&mut self, run: &mut Run<'a, 'v, '_>, keywords: Keywords<'a>, task: Task<'a, 'v>) {
        let (keyword, inside): (_, Vec<(Step<'v>, &'v Value)>) = match task.value {
            Value::Object(members) => {
                ("unevaluatedProperties", members.iter().map(|(name, member)| (Step::Key(name), member)).collect())
            }
            Value::Array(items) => {
                ("unevaluatedItems", items.iter().enumerate().map(|(at, item)| (Step::Item(at), item)).collect())
            }
            _ => return,
        };
        let Some(schema) = keywords.get(keyword) else { return };
        let Some(parts) = self.evaluated(run, keyword, inside.len(), task) else { return run.open() };
        for ((step, part), seen) in inside.into_iter().zip(parts.seen) {
            match (seen.max(parts.all), schema, step) {
                (Yes, ..) => {}
                (Open, ..) => run.open(),
                (No, Value::Bool(false), Step::Key(name)) => run.wrong(task.place, format!("must not have {name:?}")),
                (No, ..) => run.inside(schema, part, task, step),
            }
        }
    }

    /// Which of so many parts the schema of `task` evaluates, without its own `keyword`; `None` if it takes too many steps.
    fn evaluated<'v>(
        &mut self,
        run: &Run<'a, 'v, '_>,
        keyword: &str,
        count: usize,
        task: Task<'a, 'v>,
    ) -> Option<Parts> {
        let mut parts = Parts { seen: vec![No; count], all: No };
        // Schemas for the same value, and whether the value certainly matches them: a schema that it does not match
        // evaluates nothing.
        let mut open = vec![(task, Yes)];
        let mut known = HashSet::new();
        while let Some((mut next, certain)) = open.pop() {
            if !self.spend(1 + count) {
                return None;
            }
            if next.schema.is_boolean() || !known.insert((next.key(), certain)) {
                continue;
            }
            let is_own = known.len() == 1;
            let Some(keywords) = self.keywords(&mut next) else {
                parts.all = parts.all.max(Open);
                continue;
            };
            for target in self.document.targets(keywords, next.base, &mut self.steps) {
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
            self.see(run, &mut parts, keywords, next, certain);
            let also = |schema: &'a Value, certain| (next.with(schema, next.base), certain);
            open.extend(keywords.list("allOf").iter().map(|schema| also(schema, certain)));
            for schema in ["anyOf", "oneOf"].iter().flat_map(|key| keywords.list(key)) {
                let certain = certain.min(self.judge_with(run, schema, next));
                open.extend(Some(also(schema, certain)).filter(|_| certain != No));
            }
            if let Some(schema) = keywords.get("if") {
                let holds = self.judge_with(run, schema, next);
                for (schema, holds) in
                    [(Some(schema), holds), (keywords.get("then"), holds), (keywords.get("else"), holds.negated())]
                {
                    open.extend(schema.filter(|_| holds != No).map(|schema| also(schema, certain.min(holds))));
                }
            }
            if let Value::Object(members) = next.value {
                let dependent = keywords.map("dependentSchemas").chain(keywords.map("dependencies"));
                let there = dependent.filter(|(name, schema)| members.contains_key(*name) && !schema.is_array());
                open.extend(there.map(|(_, schema)| also(schema, certain)));
            }
        }
        Some(parts)
    }

    /// Adds the parts that keywords for single parts evaluate.
    fn see<'v>(
        &mut self,
        run: &Run<'a, 'v, '_>,
        parts: &mut Parts,
        keywords: Keywords<'a>,
        task: Task<'a, 'v>,
        certain: Verdict,
    ) {
        match task.value {
            Value::Object(_) if keywords.get("additionalProperties").is_some() => parts.all = parts.all.max(certain),
            Value::Object(members) => {
                for (index, name) in members.keys().enumerate() {
                    let described = self.described(keywords, name, |_| {});
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
                    // 2019-09 does not specify that these items count as evaluated; later drafts do.
                    let certain = if keywords.draft < Draft::NEWEST { Open } else { certain };
                    for (index, item) in items.iter().enumerate() {
                        let fits = self.judge_with(run, schema, Task { value: item, ..task });
                        parts.see(index, certain.min(fits));
                    }
                }
            }
            _ => {}
        }
    }
}
