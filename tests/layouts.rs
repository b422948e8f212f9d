//! What the analysis learns from the templates of real models, against a snapshot of all fields.
//!
//! The templates are not part of this repository: the test looks for them next to it and is silent where they are
//! not. The snapshot, `layouts.jsonl`, has one line per template with the fields that differ from an empty layout.
//! It agrees with what llama.cpp 0.6.0 learns, but for the fields that only we have. Templates with a dedicated format are not in it: nothing is read from
//! what is learnt about them. `UPDATE_SNAPSHOTS=1` rewrites the lines that are there; review the difference.

use std::fs;
use std::path::Path;

use chatparse::analysis::{Layout, analyze};
use chatparse::template::Template;
use serde_json::{Map, Value, json};

fn learnt(path: &Path) -> Value {
    let source = fs::read_to_string(path).expect("the template is text");
    let layout = analyze(&Template::new(&source, "<BOS>", "<EOS>").expect("the template compiles"), false).layout;
    let set = layout.fields().into_iter().zip(Layout::default().fields()).filter(|(field, unset)| field != unset);
    Value::Object(set.map(|((name, value), _)| (name.to_string(), value)).collect::<Map<_, _>>())
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
        assert!(update || layout == row["layout"], "{name}: {layout:#}\nis not {:#}", row["layout"]);
        updated += &format!("{}\n", json!({"template": name, "layout": layout}));
    }
    if update {
        fs::write(&path, updated).expect("the snapshot can be written");
    }
}
