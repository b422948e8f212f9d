//! Params for a request (two tools, three messages), on a template that has been analysed: `cargo bench --bench apply`
//!
//! Runs over the built-in templates and, where `../shared/templates` is there, over those; the best of fifty runs each.

use std::path::Path;
use std::time::Instant;

use chatparse::{ChatTemplate, Request, builtin};

const REQUEST: &str = r#"{
    "messages": [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "Hello!"},
        {"role": "user", "content": "What is the weather in Oslo?"}
    ],
    "reasoning_format": "auto",
    "tools": [
        {"type": "function", "function": {"name": "get_weather", "description": "The weather in a city", "parameters":
            {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}}},
        {"type": "function", "function": {"name": "write_file", "description": "Writes a file", "parameters":
            {"type": "object", "properties": {"path": {"type": "string"}, "text": {"type": "string"}}, "required": ["path"]}}}
    ]
}"#;

fn main() {
    let builtins = builtin::BUILTINS.iter().map(|b| (b.name.to_owned(), b.source.to_owned()));
    report("built-in templates", builtins.collect());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/templates");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("no ../shared/templates: only the built-in ones were measured");
        return;
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let named =
        paths.filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), std::fs::read_to_string(&path).ok()?)));
    report("../shared/templates", named.collect());
}

fn report(title: &str, templates: Vec<(String, String)>) {
    let request = Request::from_text(REQUEST).expect("the request is well-formed");
    let mut rows = Vec::new();
    for (name, source) in templates {
        let template = ChatTemplate::new(&source, "<s>", "</s>").expect("the template compiles");
        let start = Instant::now();
        template.analysis();
        let analysis = start.elapsed().as_secs_f64() * 1e6;
        let time = || {
            let start = Instant::now();
            let params = template.params(&request);
            (start.elapsed().as_secs_f64() * 1e6, params.is_ok())
        };
        let runs: Vec<_> = (0..50).map(|_| time()).collect();
        if runs.iter().all(|(_, fits)| *fits) {
            rows.push((runs.iter().map(|(time, _)| *time).fold(f64::MAX, f64::min), analysis, name));
        }
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    println!("{title}: {} that take the request", rows.len());
    for (params, analysis, name) in &rows {
        println!("  {params:8.1} µs   analysis once {analysis:9.1} µs   {name}");
    }
    if let Some((median, ..)) = rows.get(rows.len() / 2) {
        println!("  median {median:.1} µs");
    }
}
