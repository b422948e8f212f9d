//! Templates that `lint` has tested, and the words for what is wrong with them.

use std::ffi::OsStr;

use chatparse::lint::{Described, Finding, Report};
use chatparse::{ChatTemplate, Place};
use serde_json::Value;

use crate::failure::{Failure, Outcome};
use crate::input::{self, Reading};

/// The result for one template.
pub struct Linted {
    pub name: String,
    pub found: Result<Report, Unusable>,
    /// The differences between the tokenizer and the template, if a tokenizer was checked.
    pub tokenizer: Option<Vec<Value>>,
}

/// A template that cannot be read.
pub struct Unusable {
    pub message: String,
    pub place: Option<Place>,
}

impl Linted {
    /// A short description of what is wrong with a template that can be read.
    pub fn fault(&self) -> Option<String> {
        fault(self.found.as_ref().ok()?)
    }
}

/// Compiles a template that the command line names.
pub fn compiled(word: &OsStr, reading: &Reading) -> Outcome<Result<ChatTemplate, Unusable>> {
    let (failure, place) = match input::source(word) {
        Err(failure) => (failure, None),
        Ok(source) => match input::compile(&source, reading, Value::Null) {
            Ok(template) => return Ok(Ok(template)),
            Err(error) => (
                input::uncompiled(word, &source, &error),
                error.place().cloned(),
            ),
        },
    };
    match failure {
        Failure::Failed(message) => Ok(Err(Unusable { message, place })),
        other => Err(other),
    }
}

/// A short description of what is wrong, if anything is.
pub fn fault(report: &Report) -> Option<String> {
    if report.renders_nothing() {
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
    let mut faults = Vec::new();
    for (name, count) in outcomes {
        let (name, all) = (name.replace('_', " "), report.cases.len());
        faults.push(format!("{name} in {count} of {all} messages"));
    }
    faults.extend(faulty(report).map(|found| found.rule.id().to_owned()));
    if faults.is_empty()
        && report
            .response_template
            .as_ref()
            .is_some_and(Described::is_fault)
    {
        return Some(
            "its response template cannot be read, or reads back fewer messages than the reader in use"
                .into(),
        );
    }
    (!faults.is_empty()).then(|| faults.join(", "))
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
            let report = chatparse::lint::lint(&template);
            let count = report.fault_count();
            let is_faulty = fault(&report).is_some();
            assert_eq!(is_faulty, count > 0, "{count}: {}", template.source());
            failing += usize::from(count > 0);
        }
        assert!(failing > 0, "no template fails");
    }
}
