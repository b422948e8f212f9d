//! What the analysis learns from the templates of real models, against a snapshot of all fields.
//!
//! The templates are not part of this repository: the test looks for them next to it and is silent where they are
//! not. The snapshot, `layouts.jsonl`, has one line per template with the fields that differ from an empty layout.
//! It agrees with what llama.cpp 0.6.0 learns. `UPDATE_SNAPSHOTS=1` rewrites it; review the difference.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use chatparse::analysis::{Layout, analyze};
use chatparse::template::Template;
use serde_json::{Map, Value, json};

/// The templates that have a format of their own, so that nothing is read from what is learnt about them.
const DEDICATED: &[&str] = &[
    "Cohere2MoE",
    "GigaChat3-10B-A1.8B",
    "Kimi-K2-Instruct",
    "Kimi-K2-Thinking",
    "Kimi-K3",
    "LFM2-8B-A1B",
    "LFM2.5-8B-A1B",
    "LFM2.5-Instruct",
    "MiniMax-M3",
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
    "Qwen3-Coder",
    "Qwen3.5-4B",
    "StepFun3.5-Flash",
    "deepseek-ai-DeepSeek-V3.2",
    "deepseek-ai-DeepSeek-V4",
    "deepseek-ai-DeepSeek-V4-Flash-0731",
    "google-gemma-4-31B-it",
    "google-gemma-4-31B-it-interleaved",
    "inclusionai-ling-3.0-flash",
    "meetkai-functionary-medium-v3.2",
    "mistralai-Ministral-3-14B-Reasoning-2512",
    "moonshotai-Kimi-K2",
    "muse-glimmer",
    "openai-gpt-oss-120b",
    "openbmb-MiniCPM5-1B",
    "unsloth-mistral-Devstral-Small-2507",
];

fn learnt(path: &Path) -> Value {
    let source = fs::read_to_string(path).expect("the template is text");
    let layout = analyze(&Template::new(&source, "<BOS>", "<EOS>").expect("the template compiles")).layout;
    let set = layout.fields().into_iter().zip(Layout::default().fields()).filter(|(field, unset)| field != unset);
    Value::Object(set.map(|((name, value), _)| (name.to_string(), value)).collect::<Map<_, _>>())
}

#[test]
fn layouts_of_real_templates() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Ok(folder) = fs::read_dir(here.join("../shared/templates")) else {
        println!("skipped: no templates next to the repository");
        return;
    };
    let found: BTreeMap<String, Value> = folder
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jinja"))
        .map(|path| (path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), path))
        .filter(|(name, _)| !DEDICATED.contains(&name.as_str()))
        .map(|(name, path)| (name, learnt(&path)))
        .collect();

    let snapshot = here.join("tests/layouts.jsonl");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        let lines = found.iter().map(|(name, layout)| format!("{}\n", json!({"template": name, "layout": layout})));
        fs::write(&snapshot, lines.collect::<String>()).expect("the snapshot can be written");
        return;
    }
    let known = fs::read_to_string(&snapshot).expect("the snapshot is there");
    for line in known.lines() {
        let row: Value = serde_json::from_str(line).expect("a line of the snapshot is JSON");
        let name = row["template"].as_str().expect("a row names its template");
        if let Some(layout) = found.get(name) {
            assert_eq!(layout, &row["layout"], "{name}");
        }
    }
}
