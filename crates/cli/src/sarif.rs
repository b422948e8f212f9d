//! Prints the findings of `lint` as SARIF 2.1.0, for code hosts and editors.

use std::path::Path;

use chatparse::Place;
use chatparse::lint::{Outcome, Rule};
use serde_json::{Value, json};

use crate::causes::causes;
use crate::linted::Linted;

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
    let rules = RULES.iter().copied().chain(findings);
    let rules: Vec<Value> = rules
        .map(|(id, text)| json!({"id": id, "shortDescription": {"text": text}}))
        .collect();
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
    let result = |rule: &str, level: &str, text: String, place: Option<&Place>| {
        let mut location = json!({"artifactLocation": {"uri": uri(&linted.name)}});
        // The lines of a template in a JSON file are not those of the file.
        if let Some(place) = place.filter(|_| !linted.name.ends_with(".json")) {
            location["region"] = json!({"startLine": place.line});
            if let Some(column) = place.column {
                location["region"]["startColumn"] = column.into();
            }
        }
        json!({"ruleId": rule, "level": level, "message": {"text": text}, "locations": [{"physicalLocation": location}]})
    };
    let report = match &linted.found {
        Err(unusable) => {
            return vec![result(
                "unusable",
                "error",
                unusable.message.clone(),
                unusable.place.as_ref(),
            )];
        }
        Ok(report) => report,
    };
    if linted.renders_nothing() {
        return vec![result(
            "unusable",
            "error",
            "the template renders none of the messages".into(),
            None,
        )];
    }
    let found = causes(report).into_iter().map(|cause| {
        let (error, place) = match &cause.cases[0].outcome {
            Outcome::Refused(error) => (format!(": {}", error.reason()), error.place()),
            _ => (String::new(), None),
        };
        let count = cause.cases.len();
        let text = format!(
            "{}{error} ({count} of {}: {})",
            cause.meaning,
            report.cases.len(),
            cause.messages(report)
        );
        result(
            &cause.name.replace('_', "-"),
            if cause.is_fault { "error" } else { "note" },
            text,
            place,
        )
    });
    let findings = report.findings.iter().map(|found| {
        let text = format!("{} {}", found.message, found.rule.effect());
        result(
            found.rule.id(),
            if found.is_fault { "error" } else { "note" },
            text,
            found.places.last(),
        )
    });
    found.chain(findings).collect()
}

/// A file as a relative or absolute URI; other inputs get a separate scheme.
fn uri(name: &str) -> String {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let path: String = name
        .bytes()
        .map(|byte| {
            if safe(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect();
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
