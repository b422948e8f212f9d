//! Prints the findings of `lint` as SARIF 2.1.0, for code hosts and editors.

use std::path::Path;

use chatparse::Place;
use chatparse::lint::{Outcome, Rule};
use serde_json::{Value, json};

use crate::causes::causes;
use crate::linted::{Linted, Unusable};

/// The kinds of findings.
const RULES: &[(&str, &str)] = &[
    (
        "unusable",
        "The template does not compile, or shows no message.",
    ),
    ("refused", "The template raises an error."),
    ("lost", "Another message is read than was written."),
    (
        "rewritten",
        "The message is read, but renders to other bytes.",
    ),
    (
        "no-turn",
        "The message does not begin where the prompt ends.",
    ),
    ("spaced", "A text is read with white space around it."),
    (
        "alike",
        "The template writes another message alike, and that one is read.",
    ),
    ("omitted", "The template leaves a part of the message out."),
];

/// One run over all templates.
pub fn log(all: &[Linted]) -> Value {
    let findings = Rule::ALL.iter().map(|rule| (rule.id(), rule.effect()));
    let mut rules = Vec::new();
    for (id, text) in RULES.iter().copied().chain(findings) {
        rules.push(json!({"id": id, "shortDescription": {"text": text}}));
    }
    let driver =
        json!({"name": "chatparse", "semanticVersion": env!("CARGO_PKG_VERSION"), "rules": rules});
    let results: Vec<Value> = all.iter().flat_map(results).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    })
}

fn results(linted: &Linted) -> Vec<Value> {
    let name = &linted.name;
    let report = match &linted.found {
        Ok(report) if !report.renders_nothing() => report,
        Ok(_) => {
            let text = "the template renders none of the messages".into();
            return vec![result(name, "unusable", true, text, None)];
        }
        Err(Unusable { message, place }) => {
            return vec![result(
                name,
                "unusable",
                true,
                message.clone(),
                place.as_ref(),
            )];
        }
    };
    let mut results = Vec::new();
    for cause in causes(report) {
        let (error, place) = match &cause.cases[0].outcome {
            Outcome::Refused(error) => (format!(": {}", error.reason()), error.place()),
            _ => (String::new(), None),
        };
        let text = format!(
            "{}{error} ({} of {}: {})",
            cause.meaning,
            cause.cases.len(),
            report.cases.len(),
            cause.messages(report)
        );
        let rule = cause.name.replace('_', "-");
        results.push(result(name, &rule, cause.is_fault, text, place));
    }
    for found in &report.findings {
        let text = format!("{} {}", found.message, found.rule.effect());
        let (rule, place) = (found.rule.id(), found.places.last());
        results.push(result(name, rule, found.is_fault, text, place));
    }
    results
}

/// A result of SARIF. `name`: of the template.
fn result(name: &str, rule: &str, is_fault: bool, text: String, place: Option<&Place>) -> Value {
    let mut location = json!({"artifactLocation": {"uri": uri(name)}});
    // The lines of a template in a JSON file are not those of the file.
    if let Some(place) = place.filter(|_| !name.ends_with(".json")) {
        location["region"] = json!({"startLine": place.line});
        if let Some(column) = place.column {
            location["region"]["startColumn"] = column.into();
        }
    }
    let level = if is_fault { "error" } else { "note" };
    json!({"ruleId": rule, "level": level, "message": {"text": text}, "locations": [{"physicalLocation": location}]})
}

/// A file as a relative or absolute URI; other inputs get a separate scheme.
fn uri(name: &str) -> String {
    let mut path = String::new();
    for byte in name.bytes() {
        match byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            true => path.push(byte.into()),
            false => path += &format!("%{byte:02X}"),
        }
    }
    match chatparse::builtin::find(name) {
        Some(_) => format!("builtin:{path}"),
        None if Path::new(name).is_absolute() => format!("file://{path}"),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_uris() {
        assert_eq!(uri("a b/é.jinja"), "a%20b/%C3%A9.jinja");
        assert_eq!(uri("/a#.jinja"), "file:///a%23.jinja");
        assert_eq!(uri("chatml"), "builtin:chatml");
    }
}
