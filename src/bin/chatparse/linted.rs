//! A template that was tested by `lint`.

use std::ffi::OsStr;

use chatparse::Place;
use chatparse::lint::{self, Outcome, Report};

use crate::args::Args;
use crate::failure::Failure;
use crate::input;

/// The result for one template.
pub struct Linted {
    pub name: String,
    pub found: Result<Report, Unusable>,
}

/// A template that cannot be read.
pub struct Unusable {
    pub message: String,
    pub place: Option<Place>,
}

impl Linted {
    pub fn of(word: &OsStr, args: &Args) -> Result<Self, Failure> {
        let name = input::name(word);
        let (failure, place) = match input::source(word) {
            Ok(source) => match input::compile(&source, args)? {
                Ok(template) => return Ok(Linted { name, found: Ok(lint::lint(&template)) }),
                Err(error) => (input::uncompiled(word, &source, &error), error.place().cloned()),
            },
            Err(failure) => (failure, None),
        };
        match failure {
            Failure::Failed(message) => Ok(Linted { name, found: Err(Unusable { message, place }) }),
            other => Err(other),
        }
    }

    /// Whether no message is rendered by the template.
    pub fn renders_nothing(&self) -> bool {
        self.found
            .as_ref()
            .is_ok_and(|report| report.cases.iter().all(|case| matches!(case.outcome, Outcome::Omitted(_))))
    }

    /// A short description of what is wrong, if anything is.
    pub fn fault(&self) -> Option<String> {
        let Ok(report) = &self.found else { return None };
        if self.renders_nothing() {
            return Some("the template renders none of the messages".into());
        }
        match (report.faults().count(), report.findings.len()) {
            (0, 1..) => {
                let rules: Vec<&str> = report.findings.iter().map(|found| found.rule.id()).collect();
                Some(rules.join(", "))
            }
            (0, 0) => {
                let described = report.response_template.as_ref().filter(|described| described.is_fault());
                described.map(|_| {
                    "its response template cannot be read, or reads back fewer messages than the reader in use".into()
                })
            }
            (faults, _) => Some(format!("{faults} of {} messages do not survive", report.cases.len())),
        }
    }
}
