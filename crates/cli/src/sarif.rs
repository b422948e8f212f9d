//! Prints the findings of `lint` as SARIF 2.1.0, for code hosts and editors.

use std::path::Path;

use chatparse::Place;
use chatparse::lint::Law;
use serde_json::{Value, json};

use crate::linted::{Linted, Unusable};

/// One run over all templates.
pub fn log(all: &[Linted]) -> Value {
    let unusable = ("unusable", "The template can be read.");
    let laws = Law::ALL.map(|law| (law.name(), law.sentence()));
    let rules = [unusable].into_iter().chain(laws);
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
    let name = &linted.name;
    let report = match &linted.found {
        Ok(report) => report,
        Err(Unusable { message, place }) => {
            let (message, place) = (message.clone(), place.as_ref());
            return vec![result(name, "unusable", true, message, place)];
        }
    };
    let mut results = Vec::new();
    for found in &report.findings {
        let text = format!("{} {}", found.message, found.law.effect());
        let (law, place) = (found.law.name(), found.places.last());
        results.push(result(name, law, found.is_fault, text, place));
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
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            path.push(byte.into())
        } else {
            path += &format!("%{byte:02X}")
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
