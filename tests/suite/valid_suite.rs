//! The verdicts on instances that people labelled, as far as they lie next to the repository: those
//! of the JSON Schema Test Suite, and of MaskBench. What is valid is never called a violation. What
//! is invalid and not found is listed, with the reason, in `valid_suite.txt`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use chatparse::grammar::valid::check;
use serde_json::Value;

/// The id of a schema, and which of its instances.
type Id<'a> = (&'a str, usize);

/// Valid instances that are called violations all the same, each with the reason.
const WRONG: &[(Id, &str)] = &[];

/// Of one group of schemas.
#[derive(Default)]
struct Figures {
    valid: usize,
    flagged: usize,
    invalid: usize,
    found: usize,
}

#[test]
fn labelled_instances() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pack = here.join("../shared/parity/instances.jsonl.gz");
    if !pack.is_file() {
        println!("skipped: no labelled instances next to the repository");
        return;
    }
    let unpacked = Command::new("gzip")
        .arg("-dc")
        .arg(&pack)
        .output()
        .expect("gzip runs");
    assert!(
        unpacked.status.success(),
        "gzip: {}",
        String::from_utf8_lossy(&unpacked.stderr)
    );
    let cases = String::from_utf8(unpacked.stdout).expect("the pack is text");
    let cases: Vec<Value> = cases
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect();
    let mut figures: BTreeMap<String, Figures> = BTreeMap::new();
    let (mut flagged, mut missed) = (BTreeMap::new(), BTreeSet::new());
    for case in &cases {
        let schema = &case["in"]["schema"];
        let id = case["in"]["id"].as_str().expect("a case has an id");
        // A suite has drafts.
        let depth = if id.starts_with("suite") { 2 } else { 1 };
        let figures = figures
            .entry(id.split('/').take(depth).collect::<Vec<_>>().join("/"))
            .or_default();
        let labels = case["valid"].as_array().expect("a case has labels");
        for (index, label) in labels.iter().enumerate() {
            // Each instance stands there twice, with other white space.
            let text = case["in"]["texts"][2 * index]
                .as_str()
                .expect("an instance is a text");
            let value: Value = serde_json::from_str(text).expect("an instance is JSON");
            let found = check(schema, &value);
            match (
                label.as_bool().expect("a label is yes or no"),
                found.first(),
            ) {
                (true, None) => figures.valid += 1,
                (true, Some(first)) => {
                    figures.valid += 1;
                    figures.flagged += 1;
                    flagged.insert((id, index), first.clone());
                }
                (false, None) => {
                    figures.invalid += 1;
                    missed.insert((id, index));
                }
                (false, Some(_)) => {
                    figures.invalid += 1;
                    figures.found += 1;
                }
            }
        }
    }
    for (
        group,
        Figures {
            valid,
            flagged,
            invalid,
            found,
        },
    ) in &figures
    {
        println!(
            "{group}: {flagged} of {valid} valid ones flagged, {found} of {invalid} invalid ones found"
        );
    }
    let mut wrong = Vec::new();
    let allowed: BTreeSet<Id> = WRONG.iter().map(|(id, _)| *id).collect();
    for ((id, index), first) in flagged.iter().filter(|(id, _)| !allowed.contains(id)) {
        wrong.push(format!(
            "{id}\t{index}\tis valid, but {:?} {}",
            first.pointer, first.message
        ));
    }
    for (id, index) in allowed.iter().filter(|id| !flagged.contains_key(id)) {
        wrong.push(format!(
            "{id}\t{index}\tis not flagged any more: strike it from WRONG"
        ));
    }
    let listed: BTreeSet<Id> = include_str!("valid_suite.txt")
        .lines()
        .filter_map(listed)
        .collect();
    for (id, index) in missed.difference(&listed) {
        wrong.push(format!(
            "{id}\t{index}\tis invalid, which is not found, and not in valid_suite.txt"
        ));
    }
    for (id, index) in listed.difference(&missed) {
        wrong.push(format!(
            "{id}\t{index}\tis found: strike it from valid_suite.txt"
        ));
    }
    assert!(
        wrong.is_empty(),
        "{} instances:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// What a line of the list is about.
fn listed(line: &str) -> Option<Id<'_>> {
    if line.starts_with("# ") {
        return None;
    }
    let [id, index, why] = line.split('\t').collect::<Vec<_>>()[..] else {
        panic!("id, index, why: {line}")
    };
    assert!(!why.is_empty(), "no reason: {line}");
    Some((
        id,
        index.parse().unwrap_or_else(|_| panic!("no index: {line}")),
    ))
}
