//! Checks `allOf`, and the keywords that need the verdict on a subschema and not its violations.

use super::run::Check;
use super::run::Verdict::{No, Open, Yes};

impl Check<'_, '_, '_, '_> {
    pub fn combined(&mut self) {
        let (keywords, value) = (self.keywords, self.task.value);
        for schema in keywords.list("allOf") {
            self.also(schema);
        }
        if let branches @ [_, ..] = keywords.list("anyOf") {
            let mut verdict = No;
            for schema in branches {
                verdict = verdict.max(self.judge(schema, value));
                if verdict == Yes {
                    break;
                }
            }
            self.holds(verdict, || "fits no schema of anyOf".to_owned());
        }
        if let branches @ [_, ..] = keywords.list("oneOf") {
            let (mut fit, mut open) = (0, 0);
            for schema in branches {
                match self.judge(schema, value) {
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
            self.holds(verdict, || {
                if fit == 0 {
                    "fits no schema of oneOf"
                } else {
                    "fits more than one schema of oneOf"
                }
                .to_owned()
            });
        }
        if let Some(schema) = keywords.get("not") {
            let verdict = self.judge(schema, value).negated();
            self.holds(verdict, || "fits the schema of not".to_owned());
        }
        let (then, otherwise) = (keywords.get("then"), keywords.get("else"));
        if let Some(schema) = keywords
            .get("if")
            .filter(|_| then.is_some() || otherwise.is_some())
        {
            let next = match self.judge(schema, value) {
                Yes => then,
                No => otherwise,
                Open => return self.run.open(),
            };
            next.into_iter().for_each(|schema| self.also(schema));
        }
    }
}
