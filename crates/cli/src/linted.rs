//! A template that was tested by `lint`.

use std::ffi::OsStr;
use std::{fs, io};

use chatparse::lint::{self, Finding, Outcome, Report};
use chatparse::{ChatTemplate, Place, builtin};
use serde_json::Value;

use crate::causes::causes;
use crate::failure::Failure;
use crate::input::{self, Reading, Source};

/// The result for one template.
pub struct Linted {
    pub name: String,
    pub found: Result<Report, Unusable>,
    /// The edits that were written to the file, as unified diffs, with the rule that each mends.
    pub edits: Vec<(&'static str, String)>,
    /// What stands between the template and a tokenizer, if there is one.
    pub tokenizer: Option<Vec<Value>>,
}

/// Tells that of a template.
pub type Check = Box<dyn Fn(&ChatTemplate) -> Result<Option<Vec<Value>>, Failure>>;

/// Most edits of one file: each mends a finding, and none makes another.
const EDITS: usize = 16;

/// A template that cannot be read.
pub struct Unusable {
    pub message: String,
    pub place: Option<Place>,
}

impl Linted {
    pub fn of(word: &OsStr, fixes: bool, reading: &Reading, check: &Check) -> Result<Self, Failure> {
        let name = input::name(word);
        if fixes {
            can_be_written(word)?;
        }
        let (failure, place) = match input::source(word) {
            Ok(source) => match input::compile(&source, reading, None)? {
                Ok(template) => {
                    let tokenizer = check(&template)?;
                    let mut linted = Linted { name, found: Ok(lint::lint(&template)), edits: Vec::new(), tokenizer };
                    if fixes {
                        linted.fix(word, source, reading)?;
                    }
                    return Ok(linted);
                }
                Err(error) => (input::uncompiled(word, &source, &error), error.place().cloned()),
            },
            Err(failure) => (failure, None),
        };
        match failure {
            Failure::Failed(message) => {
                let found = Err(Unusable { message, place });
                Ok(Linted { name, found, edits: Vec::new(), tokenizer: None })
            }
            other => Err(other),
        }
    }

    /// Writes the edits of the findings to the file, one after the other: an edit may mend, or show, another finding.
    fn fix(&mut self, word: &OsStr, mut source: Source, reading: &Reading) -> Result<(), Failure> {
        let original = source.text.clone();
        while let Ok(report) = &self.found
            && self.edits.len() < EDITS
            && let Some(found) = report.findings.iter().find(|found| found.is_fault && found.patch.is_some())
            && let Some(patch) = &found.patch
        {
            self.edits.push((found.rule.id(), patch.diff.clone()));
            source.text.clone_from(&patch.source);
            match input::compile(&source, reading, None)? {
                Ok(template) => self.found = Ok(lint::lint(&template)),
                Err(error) => return Err(input::uncompiled(word, &source, &error)),
            }
        }
        if self.edits.is_empty() {
            return Ok(());
        }
        // As the file was: its line ends, and its last one.
        if original.ends_with('\n') {
            source.text.push('\n');
        }
        if original.contains("\r\n") {
            source.text = source.text.replace('\n', "\r\n");
        }
        let failed = |error: io::Error| Failure::Failed(format!("cannot write {}: {error}", self.name));
        fs::write(word, source.text).map_err(failed)
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
        // By outcome: messages of one outcome may have several causes.
        let mut outcomes: Vec<(&str, usize)> = Vec::new();
        for cause in causes(report).iter().filter(|cause| cause.is_fault) {
            match outcomes.iter_mut().find(|(name, _)| *name == cause.name) {
                Some((_, count)) => *count += cause.cases.len(),
                None => outcomes.push((cause.name, cause.cases.len())),
            }
        }
        let all = report.cases.len();
        let outcomes = outcomes.iter().map(|(name, count)| format!("{name} in {count} of {all} messages"));
        let faults: Vec<String> = outcomes.chain(faulty(report).map(|found| found.rule.id().to_owned())).collect();
        if !faults.is_empty() {
            return Some(faults.join(", "));
        }
        let described = report.response_template.as_ref().filter(|described| described.is_fault());
        described
            .map(|_| "its response template cannot be read, or reads back fewer messages than the reader in use".into())
    }
}

/// The findings that are faults.
pub fn faulty(report: &Report) -> impl Iterator<Item = &Finding> {
    report.findings.iter().filter(|found| found.is_fault)
}

/// An error for what `--fix` cannot write to.
fn can_be_written(word: &OsStr) -> Result<(), Failure> {
    let name = input::name(word);
    let why = match word.to_str() {
        _ if input::is_stdin(word) => "standard input cannot be written to; name a file",
        Some(known) if builtin::find(known).is_some() => "a built-in template cannot be written to; save it as a file",
        Some(file) if file.ends_with(".json") => {
            "--fix writes Jinja files only; apply the edit that lint prints to its chat_template, or save that as a file"
        }
        _ => return Ok(()),
    };
    Err(Failure::Usage(format!("{name}: {why}")))
}
