//! The tables of docs/requests.md are those that the program reads requests by.

use std::fmt::Write;

use chatparse::internals::request::{Kind, Row, Table, tables};

const BEGIN: &str =
    "<!-- tests/api/fields.rs writes this: UPDATE_SNAPSHOTS=1 cargo test --test api fields -->\n";
const END: &str = "<!-- until here -->\n";

type Known = (&'static str, Kind, &'static str);

/// The fields that the row does not share with all others.
fn own<'r>(table: &Table, row: &'r Row) -> Vec<&'r Known> {
    let all = &table.0.iter().find(|row| row.name == "all").unwrap().fields;
    let shared = if ["all", "request"].contains(&row.name) {
        0
    } else {
        all.len()
    };
    row.fields[..row.fields.len() - shared].iter().collect()
}

fn listed<'k>(fields: &[&'k Known], kind: Kind) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut last: Option<&'k str> = None;
    for (name, _, why) in fields.iter().copied().filter(|(_, its, _)| *its == kind) {
        let name = if *name == "*" {
            "all others".to_owned()
        } else {
            format!("`{name}`")
        };
        match parts.last_mut() {
            Some(part) if last == Some(why) => {
                *part = part.replacen(": ", &format!(", {name}: "), usize::from(!why.is_empty()))
            }
            _ => parts.push(if why.is_empty() {
                name.clone()
            } else {
                format!("{name}: {why}")
            }),
        }
        if why.is_empty() && last == Some(why) {
            parts.push(name);
        }
        last = Some(why);
    }
    parts.join(
        if fields
            .iter()
            .any(|(_, its, why)| *its == kind && !why.is_empty())
        {
            ". "
        } else {
            ", "
        },
    )
}

fn markdown() -> String {
    let mut text = String::new();
    for (api, table) in tables() {
        writeln!(
            text,
            "\n### {api}\n\n| object | is read | is for the host | no model sees it | has a note | is an error |"
        )
        .unwrap();
        text += "| --- | --- | --- | --- | --- | --- |\n";
        let mut done: Vec<Vec<&Known>> = Vec::new();
        for row in &table.0 {
            let fields = own(table, row);
            if done.contains(&fields) {
                continue;
            }
            let same = table.0.iter().filter(|other| own(table, other) == fields);
            let names = same
                .map(|row| format!("`{}`", row.name))
                .collect::<Vec<_>>()
                .join(", ");
            let kinds = [
                Kind::Read,
                Kind::Host,
                Kind::Unseen,
                Kind::Noted,
                Kind::Refused,
            ];
            let cells = kinds.map(|kind| listed(&fields, kind)).join(" | ");
            writeln!(text, "| {names} | {cells} |").unwrap();
            done.push(fields);
        }
    }
    text
}

#[test]
fn the_guide_has_the_tables_of_all_fields() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/requests.md");
    let guide = std::fs::read_to_string(path).unwrap();
    let (before, rest) = guide.split_once(BEGIN).unwrap();
    let (between, after) = rest.split_once(END).unwrap();
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(path, [before, BEGIN, &markdown(), END, after].concat()).unwrap();
    } else {
        assert!(
            between == markdown(),
            "docs/requests.md is out of date: UPDATE_SNAPSHOTS=1 writes it"
        );
    }
}

#[test]
fn no_field_has_two_rows() {
    for (api, table) in tables() {
        for row in &table.0 {
            let fields = own(table, row);
            for (index, (name, ..)) in fields.iter().enumerate() {
                let again = fields[..index].iter().any(|(other, ..)| other == name);
                assert!(
                    !again || row.name == "request" || *name == "*",
                    "{api}: {}.{name}",
                    row.name
                );
            }
        }
    }
}
