//! Checks the keywords for objects.

use serde_json::Value;

use super::Checker;
use super::run::Check;
use super::run::Verdict::{self, No, Open, Yes};
use crate::schema::{Draft, Fields, Keywords, Step};

impl<'a> Checker<'a> {
    /// Calls `each` with the schemas for a name in `properties` and `patternProperties`. Returns
    /// whether there are any.
    pub fn described(
        &mut self,
        keywords: Keywords<'a>,
        name: &str,
        mut each: impl FnMut(&'a Value),
    ) -> Verdict {
        let mut described = No;
        if let Some(schema) = keywords
            .get("properties")
            .and_then(|properties| properties.as_object()?.get(name))
        {
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
}

impl<'a, 'v> Check<'_, '_, 'a, 'v> {
    pub fn object(&mut self, members: &'v Fields) {
        self.counted(["minProperties", "maxProperties"], "member", members.len());
        self.required(members);
        let others = self.keywords.get("additionalProperties");
        for (name, member) in members {
            if !self.checker.spend(1) {
                return self.run.open();
            }
            let mut found: Vec<&'a Value> = Vec::new();
            let described = self
                .checker
                .described(self.keywords, name, |schema| found.push(schema));
            match others {
                None => {}
                Some(_) if described == Yes => {}
                Some(_) if described == Open => self.run.open(),
                Some(Value::Bool(false)) => self.wrong(format!("must not have {name:?}")),
                Some(schema) => found.push(schema),
            }
            found
                .into_iter()
                .for_each(|schema| self.inside(schema, member, Step::Key(name)));
            if described == Open {
                self.run.open();
            }
        }
        self.names(members);
        self.dependent(members);
    }

    fn required(&mut self, members: &Fields) {
        for name in self.keywords.required() {
            if !self.checker.spend(1) || self.run.is_over() {
                return self.run.open();
            }
            if !members.contains_key(name) {
                self.wrong(format!("{name:?} is missing"));
            }
        }
    }

    fn names(&mut self, members: &Fields) {
        let Some(schema) = self.keywords.get("propertyNames") else {
            return;
        };
        for name in members.keys() {
            if self.run.is_over() {
                return;
            }
            let verdict = self.judge(schema, &Value::String(name.clone()));
            self.holds(verdict, || {
                format!("must not have {name:?}: its name does not fit propertyNames")
            });
        }
    }

    /// Checks what must exist, or hold, if a member exists.
    fn dependent(&mut self, members: &Fields) {
        for keyword in ["dependencies", "dependentRequired", "dependentSchemas"] {
            for (name, expected) in self.keywords.map(keyword) {
                if !self.checker.spend(1) || self.run.is_over() {
                    return self.run.open();
                }
                if !members.contains_key(name) {
                    continue;
                }
                let others = match expected {
                    Value::Object(_) | Value::Bool(_) if keyword != "dependentRequired" => {
                        self.also(expected);
                        continue;
                    }
                    Value::Array(others) if keyword != "dependentSchemas" => &others[..],
                    Value::String(_) if self.keywords.draft == Draft::Three => {
                        std::slice::from_ref(expected)
                    }
                    _ => continue,
                };
                for other in others.iter().filter_map(Value::as_str) {
                    if !self.checker.spend(1) {
                        return self.run.open();
                    }
                    if !members.contains_key(other) {
                        self.wrong(format!("{other:?} is missing, which {name:?} asks for"));
                    }
                }
            }
        }
    }
}
