//! Templates that `lint` has tested.

use std::ffi::OsStr;

use chatparse::lint::{Report, Verdict};
use chatparse::{ChatTemplate, Place};
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome};
use crate::input::{self, Reading};
use crate::revised::Revised;

/// The result for one template.
pub struct Linted {
    pub name: String,
    pub found: Result<Report, Unusable>,
    /// Whether the vendor has replaced this revision.
    pub revised: Option<Revised>,
    /// The differences between the tokenizer and the template, if a tokenizer was checked.
    pub tokenizer: Option<Vec<Value>>,
}

/// A template that cannot be read.
pub struct Unusable {
    pub message: String,
    pub place: Option<Place>,
}

impl Linted {
    /// The laws that a template breaks with a fault; `None` if it passes or cannot be read.
    pub fn fault(&self) -> Option<String> {
        let names = self.found.as_ref().ok()?.laws(Verdict::Fault);
        Some(names).filter(|names| !names.is_empty())
    }

    /// The report as JSON, with the template's name.
    pub fn to_json(&self) -> Value {
        let mut json = match &self.found {
            Ok(report) => report.to_json(),
            Err(unusable) => json!({"error": unusable.message}),
        };
        json["template"] = self.name.as_str().into();
        if let Some(revised) = &self.revised {
            json["revised"] = json!(revised);
        }
        if let Some(found) = &self.tokenizer {
            json["tokenizer"] = json!(found);
        }
        json
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
