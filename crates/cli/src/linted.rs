//! A template that was tested by `lint`.

use std::ffi::OsStr;

use chatparse::lint::{self, Finding, Report};
use chatparse::{ChatTemplate, Place};
use serde_json::Value;

use crate::failure::Failure;
use crate::input::{self, Reading};

/// The result for one template.
pub struct Linted {
    pub name: String,
    pub found: Result<Report, Unusable>,
    /// What stands between the template and a tokenizer, if there is one.
    pub tokenizer: Option<Vec<Value>>,
}

/// Tells that of a template.
pub type Check = Box<dyn Fn(&ChatTemplate) -> Result<Option<Vec<Value>>, Failure>>;

/// A template that cannot be read.
pub struct Unusable {
    pub message: String,
    pub place: Option<Place>,
}

impl Linted {
    pub fn of(word: &OsStr, reading: &Reading, check: &Check) -> Result<Self, Failure> {
        let name = input::name(word);
        let (failure, place) = match input::source(word) {
            Ok(source) => match input::compile(&source, reading, Value::Null) {
                Ok(template) => {
                    let tokenizer = check(&template)?;
                    return Ok(Linted {
                        name,
                        found: Ok(lint::lint(&template)),
                        tokenizer,
                    });
                }
                Err(error) => (
                    input::uncompiled(word, &source, &error),
                    error.place().cloned(),
                ),
            },
            Err(failure) => (failure, None),
        };
        match failure {
            Failure::Failed(message) => Ok(Linted {
                name,
                found: Err(Unusable { message, place }),
                tokenizer: None,
            }),
            other => Err(other),
        }
    }

    /// Whether no message is rendered by the template.
    pub fn renders_nothing(&self) -> bool {
        self.found.as_ref().is_ok_and(Report::renders_nothing)
    }

    /// A short description of what is wrong, if anything is.
    pub fn fault(&self) -> Option<String> {
        let Ok(report) = &self.found else { return None };
        if self.renders_nothing() {
            return Some("the template renders none of the messages".into());
        }
        let mut outcomes: Vec<(&str, usize)> = Vec::new();
        for case in report.faults() {
            let name = case.outcome.name();
            match outcomes.iter_mut().find(|(known, _)| *known == name) {
                Some((_, count)) => *count += 1,
                None => outcomes.push((name, 1)),
            }
        }
        let all = report.cases.len();
        let outcomes = outcomes.iter().map(|(name, count)| {
            format!("{} in {count} of {all} messages", name.replace('_', " "))
        });
        let faults: Vec<String> = outcomes
            .chain(faulty(report).map(|found| found.rule.id().to_owned()))
            .collect();
        if !faults.is_empty() {
            return Some(faults.join(", "));
        }
        let described = report
            .response_template
            .as_ref()
            .filter(|described| described.is_fault());
        described
            .map(|_| "its response template cannot be read, or reads back fewer messages than the reader in use".into())
    }
}

/// The findings that are faults.
pub fn faulty(report: &Report) -> impl Iterator<Item = &Finding> {
    report.findings.iter().filter(|found| found.is_fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_without_a_counted_fault_pass() {
        let own = chatparse::builtin::names()
            .map(|name| chatparse::builtin::find(name).unwrap().source.to_owned());
        let files = std::fs::read_dir("../../../shared/templates")
            .into_iter()
            .flatten();
        let files = files.filter_map(|file| std::fs::read_to_string(file.ok()?.path()).ok());
        let mut failing = 0;
        for template in own
            .chain(files)
            .filter_map(|source| ChatTemplate::new(&source, "", "").ok())
        {
            let report = lint::lint(&template);
            let (count, name) = (report.fault_count(), String::new());
            let fault = Linted {
                name,
                found: Ok(report),
                tokenizer: None,
            }
            .fault();
            assert_eq!(fault.is_some(), count > 0, "{count}: {}", template.source());
            failing += usize::from(count > 0);
        }
        assert!(failing > 0, "no template fails");
    }
}
