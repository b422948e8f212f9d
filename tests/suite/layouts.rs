//! What the analysis learns from the templates of real models, against a snapshot of all fields.
//!
//! The templates are not part of this repository: the test looks for them next to it and is silent
//! where they are not. The snapshot, `layouts.jsonl`, has one line per template with the fields
//! that differ from an empty layout. It agrees with what llama.cpp 0.6.0 learns, but for the fields
//! that only we have. Templates with a dedicated format are not in it: nothing is read from what is
//! learnt about them. `UPDATE_SNAPSHOTS=1` rewrites the lines that are there; review the
//! difference.

use std::fs;
use std::path::Path;

use chatparse::internals::analysis::{Layout, analyze};
use chatparse::internals::template::Template;
use chatparse::{ChatTemplate, Request, TemplateOptions};
use serde_json::{Map, Value, json};

fn learnt(path: &Path) -> Value {
    let source = fs::read_to_string(path).expect("the template is text");
    let layout = analyze(&Template::new(&source, "<BOS>", "<EOS>").expect("the template compiles"));
    let unset = Layout::default().to_json();
    let Value::Object(fields) = layout.to_json() else {
        return Value::Null;
    };
    Value::Object(
        fields
            .into_iter()
            .filter(|(name, value)| *value != unset[name])
            .collect::<Map<_, _>>(),
    )
}

#[test]
fn layouts_of_real_templates() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let templates = here.join("../shared/templates");
    if !templates.is_dir() {
        println!("skipped: no templates next to the repository");
        return;
    }
    let path = here.join("tests/layouts.jsonl");
    let snapshot = fs::read_to_string(&path).expect("the snapshot is there");
    let update = std::env::var_os("UPDATE_SNAPSHOTS").is_some();
    let mut updated = String::new();
    for line in snapshot.lines() {
        let row: Value = serde_json::from_str(line).expect("a line of the snapshot is JSON");
        let name = row["template"].as_str().expect("a row names its template");
        let layout = learnt(&templates.join(format!("{name}.jinja")));
        assert!(
            update || layout == row["layout"],
            "{name}: {layout:#}\nis not {:#}",
            row["layout"]
        );
        updated += &format!("{}\n", json!({"template": name, "layout": layout}));
    }
    if update {
        fs::write(&path, updated).expect("the snapshot can be written");
    }
}

/// Pieces of what probes say; `crates/learn/src/analysis/turn/sample.rs` has the whole.
const SAID: &[&str] = &[
    "Vexing",
    "solved",
    "Jinxed",
    "first of all",
    "Quorzle",
    "vimp",
    "Blimzy",
    "trunfle",
    "fnalphq",
    "gnbetuq",
    "idq0",
    "idw0",
    "pebb",
    "qargo",
    "AA_",
    "_AA",
    "FF_",
    "_FF",
];

/// What of a template's layout, and of what it makes of a request, a probe has said.
fn said(source: &str, learn_only: bool) -> Vec<String> {
    let mut options = TemplateOptions::default();
    options.learn_only = learn_only;
    let template = ChatTemplate::with_options(source, &options).expect("the template compiles");
    let layout = template.layout();
    let is_said = |text: &str| SAID.iter().any(|piece| text.contains(piece));
    let mut texts: Vec<(String, String)> =
        vec![("layout".to_owned(), layout.to_json().to_string())];
    let tool = json!({"type": "function", "function": {"name": "weather", "description": "The weather.", "parameters":
        {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}});
    for (tools, enable_thinking) in [
        (json!([]), true),
        (json!([tool]), true),
        (json!([tool]), false),
    ] {
        let request = json!({"messages": [{"role": "user", "content": "Rain?"}], "tools": tools, "reasoning_format": "auto",
            "enable_thinking": enable_thinking, "now": 0});
        let Ok(params) = template.params(&Request::from_json(&request).expect("a request")) else {
            continue;
        };
        let json = params.to_json();
        let json = json.as_object().expect("an object").clone();
        texts.extend(
            json.into_iter()
                .filter(|(name, _)| name != "prompt")
                .map(|(name, value)| (name, value.to_string())),
        );
    }
    texts
        .into_iter()
        .filter(|(_, text)| is_said(text))
        .map(|(name, text)| format!("{name}: {text}"))
        .collect()
}

#[test]
fn no_word_of_a_probe_is_in_a_marker() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut wrong = Vec::new();
    let mut count = 0;
    for folder in [
        "templates",
        "../shared/templates",
        "../shared/templates-wild",
    ] {
        let Ok(entries) = fs::read_dir(here.join(folder)) else {
            println!("skipped: no {folder}");
            continue;
        };
        for path in entries.map(|entry| entry.expect("an entry").path()) {
            if path
                .extension()
                .is_none_or(|extension| extension != "jinja")
            {
                continue;
            }
            let source = fs::read_to_string(&path).expect("the template is text");
            for learn_only in [false, true] {
                let found = said(&source, learn_only);
                wrong.extend(
                    found.iter().map(|found| {
                        format!("{} (learn_only {learn_only}): {found}", path.display())
                    }),
                );
            }
            count += 1;
        }
    }
    assert!(count > 20, "{count} templates");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
