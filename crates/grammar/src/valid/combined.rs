//! Checks `allOf`, and the keywords that need the verdict on a subschema and not its violations.

use super::Checker;
use super::run::Verdict::{No, Open, Yes};
use super::run::{Run, Task};
use crate::schema::Keywords;

impl<'a> Checker<'a> {
    pub fn combined<'v>(&mut self, run: &mut Run<'a, 'v, '_>, keywords: Keywords<'a>, task: Task<'a, 'v>) {
        for schema in keywords.list("allOf") {
            run.also(schema, task);
        }
        if let branches @ [_, ..] = keywords.list("anyOf") {
            let mut verdict = No;
            for schema in branches {
                verdict = verdict.max(self.judge_with(run, schema, task));
                if verdict == Yes {
                    break;
                }
            }
            run.holds(verdict, task.place, || "fits no schema of anyOf".to_owned());
        }
        if let branches @ [_, ..] = keywords.list("oneOf") {
            let (mut fit, mut open) = (0, 0);
            for schema in branches {
                match self.judge_with(run, schema, task) {
                    Yes => fit += 1,
                    Open => open += 1,
                    No => {}
                }
                if fit > 1 {
                    break;
                }
            }
            let verdict = match (fit, open) {
                (0, 0) | (2.., _) => No,
                (1, 0) => Yes,
                _ => Open,
            };
            run.holds(verdict, task.place, || {
                if fit == 0 { "fits no schema of oneOf" } else { "fits more than one schema of oneOf" }.to_owned()
            });
        }
        if let Some(schema) = keywords.get("not") {
            let verdict = self.judge_with(run, schema, task).negated();
            run.holds(verdict, task.place, || "fits the schema of not".to_owned());
        }
        let (then, otherwise) = (keywords.get("then"), keywords.get("else"));
        if let Some(schema) = keywords.get("if").filter(|_| then.is_some() || otherwise.is_some()) {
            let next = match self.judge_with(run, schema, task) {
                Yes => then,
                No => otherwise,
                Open => return run.open(),
            };
            next.into_iter().for_each(|schema| run.also(schema, task));
        }
    }
}
