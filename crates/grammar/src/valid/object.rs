//! Checks the keywords for objects.

use serde_json::Value;

use super::Checker;
use super::run::Verdict::{self, No, Open, Yes};
use super::run::{Run, Task};
use super::scalar::counted;
use crate::schema::{Draft, Fields, Keywords, Step};

impl<'a> Checker<'a> {
    pub fn object<'v>(
        &mut self,
        run: &mut Run<'a, 'v, '_>,
        keywords: Keywords<'a>,
        members: &'v Fields,
        task: Task<'a, 'v>,
    ) {
        counted(run, keywords, ["minProperties", "maxProperties"], "member", members.len(), task.place);
        self.required(run, keywords, members, task.place);
        let others = keywords.get("additionalProperties");
        for (name, member) in members {
            if !self.spend(1) {
                return run.open();
            }
            let described = self.described(keywords, name, |schema| run.inside(schema, member, task, Step::Key(name)));
            match others {
                None => {}
                Some(_) if described == Yes => {}
                Some(_) if described == Open => run.open(),
                Some(Value::Bool(false)) => run.wrong(task.place, format!("must not have {name:?}")),
                Some(schema) => run.inside(schema, member, task, Step::Key(name)),
            }
            if described == Open {
                run.open();
            }
        }
        self.names(run, keywords, members, task);
        self.dependent(run, keywords, members, task);
    }

    /// Calls `each` with the schemas for a name in `properties` and `patternProperties`. Returns whether there are any.
    pub fn described(&mut self, keywords: Keywords<'a>, name: &str, mut each: impl FnMut(&'a Value)) -> Verdict {
        let mut described = No;
        if let Some(schema) = keywords.get("properties").and_then(|properties| properties.as_object()?.get(name)) {
            described = Yes;
            each(schema);
        }
        for (pattern, schema) in keywords.map("patternProperties") {
            let matches = self.matches(pattern, name);
            described = described.max(matches);
            if matches == Yes {
                each(schema);
            }
        }
        described
    }

    fn required(&mut self, run: &mut Run<'a, '_, '_>, keywords: Keywords<'a>, members: &Fields, place: usize) {
        for name in keywords.required() {
            if !self.spend(1) || run.is_over() {
                return run.open();
            }
            if !members.contains_key(name) {
                run.wrong(place, format!("{name:?} is missing"));
            }
        }
    }

    fn names<'v>(&mut self, run: &mut Run<'a, 'v, '_>, keywords: Keywords<'a>, members: &Fields, task: Task<'a, 'v>) {
        let Some(schema) = keywords.get("propertyNames") else { return };
        for name in members.keys() {
            if run.is_over() {
                return;
            }
            let value = Value::String(name.clone());
            let named = Task { base: task.base, ..Task::new(schema, &value) };
            let verdict = self.judge(named, run.depth + 1, None);
            run.holds(verdict, task.place, || format!("must not have {name:?}: its name does not fit propertyNames"));
        }
    }

    /// Checks what must exist, or hold, if a member exists.
    fn dependent<'v>(
        &mut self,
        run: &mut Run<'a, 'v, '_>,
        keywords: Keywords<'a>,
        members: &Fields,
        task: Task<'a, 'v>,
    ) {
        for keyword in ["dependencies", "dependentRequired", "dependentSchemas"] {
            for (name, expected) in keywords.map(keyword) {
                if !self.spend(1) || run.is_over() {
                    return run.open();
                }
                if !members.contains_key(name) {
                    continue;
                }
                let others = match expected {
                    Value::Object(_) | Value::Bool(_) if keyword != "dependentRequired" => {
                        run.also(expected, task);
                        continue;
                    }
                    Value::Array(others) if keyword != "dependentSchemas" => &others[..],
                    Value::String(_) if keywords.draft == Draft::Three => std::slice::from_ref(expected),
                    _ => continue,
                };
                for other in others.iter().filter_map(Value::as_str) {
                    if !self.spend(1) {
                        return run.open();
                    }
                    if !members.contains_key(other) {
                        run.wrong(task.place, format!("{other:?} is missing, which {name:?} asks for"));
                    }
                }
            }
        }
    }
}
